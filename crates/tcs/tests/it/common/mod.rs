//! Applications that tests run on every transport.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic, its helpers too")]

use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Error, Machine};
use strata_tcs::barrier::Algorithm;
use strata_tcs::switch::Mode;
use strata_tcs::{
    App, Cell, Child, Connection, Image, Input, Options, Output, RunOptions, Target, link, link_with,
    run_with, simulate,
};

#[allow(dead_code, reason = "only some of the programs that share this need it")]
pub(crate) mod long;
#[allow(dead_code, reason = "only some of the programs that share this need it")]
pub(crate) mod planned;

/// All checks that do not need reservations.
pub(crate) const CHECKED: RunOptions =
    RunOptions { simulated: false, check: true, reservations: false, apart: false };

/// What `program` returns on every cell, or what the error says: on `threads`, `simulated` in the
/// time of the image's machine, or by messages on a simulated machine of this name.
pub(crate) fn by<T: Send>(
    way: &str,
    image: &Image,
    options: RunOptions,
    program: impl Fn(&mut Cell<'_>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, String> {
    let nodes = image.cells();
    let found = match way {
        "simulated" => {
            return simulate(image, &program).map(|run| run.results).map_err(|error| error.to_string());
        }
        "threads" => Machine::threads(nodes)
            .and_then(|threads| threads.run(|node| run_with(node, image, options, &program))),
        machine => SimulatedMachine::find(machine).map_err(Error::from).and_then(|machine| {
            let run = Machine::sim(&machine, nodes)?.run(|node| run_with(node, image, options, &program))?;
            Ok(run.results)
        }),
    };
    found.map(|found| found.into_iter().flatten().collect()).map_err(|error| error.to_string())
}

/// What `program` returns on every cell, which is the same in every way.
#[allow(dead_code, reason = "only some of the programs that share this need it")]
pub(crate) fn everywhere<T: Send + PartialEq + std::fmt::Debug>(
    image: &Image,
    program: impl Fn(&mut Cell<'_>) -> Result<T, Error> + Sync,
) -> Vec<T> {
    let [threads, messages, simulated] =
        ["threads", "cm5", "simulated"].map(|way| by(way, image, CHECKED, &program).unwrap());
    assert_eq!(messages, threads);
    assert_eq!(simulated, threads);
    threads
}

/// What went wrong on threads, and where.
#[allow(dead_code, reason = "only some of the programs that share this need it")]
pub(crate) fn fails<T: Send>(
    image: &Image,
    program: impl Fn(&mut Cell<'_>) -> Result<T, Error> + Sync,
) -> String {
    by("threads", image, CHECKED, program).err().unwrap()
}

strata_tcs::communication! {
    networks { pub Up, pub Down, pub Data, pub Back }
    sets { pub Rise: Up; pub Fall: Down; pub Go: Data; pub Return: Back; pub Both: Data, Back; }
}

/// Two cells, and a connection each way.
#[allow(dead_code, reason = "only some of the programs that share this need it")]
pub(crate) struct Pair<T> {
    pub(crate) image: Image,
    pub(crate) there: Connection<T, Data>,
    pub(crate) back: Connection<T, Back>,
}

#[allow(dead_code, reason = "only some of the programs that share this need it")]
pub(crate) fn pair<T: bytemuck::Pod>(target: &Target, depth: usize) -> Pair<T> {
    let mut app = App::new("pair");
    let root = app.task("pair", 2);
    let (there, back) = (app[root].connect(0, 1), app[root].connect(1, 0));
    app[root].depth(there, depth);
    app[root].depth(back, depth);
    app[root].set::<Go>();
    app[root].set::<Return>();
    app[root].set::<Both>();
    Pair { image: link(&app, root, target).unwrap(), there, back }
}

/// Every cell passes a number on, up and down in turn.
pub(crate) struct Shifts {
    cells: usize,
    up: Vec<Connection<u64, Up>>,
    down: Vec<Connection<u64, Down>>,
}

pub(crate) fn shifts(cells: usize, mode: Mode, barrier: Option<Algorithm>) -> (Image, Shifts) {
    let mut app = App::new("shifts");
    let root = app.task("shifts", cells);
    let next = |cell: usize, by: usize| (cell + by) % cells;
    let (mut up, mut down) = (Vec::new(), Vec::new());
    if cells > 1 {
        up = (0..cells).map(|cell| app[root].connect(cell, next(cell, 1))).collect();
        down = (0..cells).map(|cell| app[root].connect(cell, next(cell, cells - 1))).collect();
    }
    app[root].set::<Rise>();
    app[root].set::<Fall>();
    let options = Options { switch: mode, barrier, ..Options::default() };
    (link_with(&app, root, &Target::crossbar(cells), &options).unwrap(), Shifts { cells, up, down })
}

impl Shifts {
    /// `rounds` rounds; each cell returns a hash of what it saw.
    pub(crate) fn body(&self, cell: &mut Cell<'_>, rounds: u64) -> Result<u64, Error> {
        let (me, last) = (cell.id(), self.cells - 1);
        let mut value = me as u64;
        let mut seen = 0u64;
        for round in 0..rounds {
            value = cell.phase::<Rise, _>(|net| {
                let mut came = [value];
                if last > 0 {
                    net.send(self.up[me], &[value]);
                    net.receive(self.up[(me + last) % self.cells], &mut came);
                }
                Ok(came[0] + round)
            })?;
            seen = seen.wrapping_mul(31).wrapping_add(value);
            value = cell.phase::<Fall, _>(|net| {
                let mut came = vec![value; 3];
                if last > 0 {
                    net.send(self.down[me], &[value, value + 1, value]);
                    net.receive(self.down[(me + 1) % self.cells], &mut came);
                }
                Ok(came[2] * 3)
            })?;
            seen = seen.wrapping_mul(31).wrapping_add(value);
        }
        Ok(seen)
    }

    /// Cell 0 sends to a cell that never reads, until it is stopped. The others come later to
    /// where they wait.
    #[allow(dead_code, reason = "only some of the tests that share this need it")]
    pub(crate) fn unread(&self, cell: &mut Cell<'_>) -> Result<(), Error> {
        cell.phase::<Rise, _>(|net| {
            while net.id() == 0 {
                net.send(self.up[0], &[0]);
            }
            std::thread::sleep(std::time::Duration::from_millis(700));
            Ok(())
        })
    }

    pub(crate) fn expected(&self, cell: usize, rounds: u64) -> u64 {
        let cells = self.cells;
        let mut values: Vec<u64> = (0..cells as u64).collect();
        let mut seen = 0u64;
        for round in 0..rounds {
            values = (0..cells).map(|cell| values[(cell + cells - 1) % cells] + round).collect();
            seen = seen.wrapping_mul(31).wrapping_add(values[cell]);
            values = (0..cells).map(|cell| values[(cell + 1) % cells] * 3).collect();
            seen = seen.wrapping_mul(31).wrapping_add(values[cell]);
        }
        seen
    }
}

/// A source, a task in the middle with a child that inherits its ports, and a sink: four cells, of
/// which the last but one has nothing to do with the ports.
pub(crate) struct Tree {
    pub(crate) image: Image,
    source: Child,
    middle: Child,
    sink: Child,
    deep: Child,
    give: Output<u64>,
    take: Input<u64>,
    deep_in: Input<u64>,
    deep_out: Output<u64>,
    inner: Connection<u64, Up>,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let mut app = App::new("tree");
        let root = app.task("root", 4);
        let (from, through, to) = (app.task("from", 1), app.task("through", 2), app.task("to", 1));
        let below = app.task("below", 2);
        let give = app[from].output("out", 0);
        let take = app[to].input("in", 0);
        app[through].input::<u64>("in", 0);
        app[through].output::<u64>("out", 1);
        let deep_in = app[below].input("in", 0);
        let deep_out = app[below].output("out", 1);
        let inner = app[below].connect::<u64, Up>(0, 1);
        app[below].set::<Rise>();
        let deep = app[through].child("deep", below, &[0, 1]);
        app[through].inherit(deep, "in", "in");
        app[through].inherit(deep, "out", "out");
        let source = app[root].child("source", from, &[3]);
        let middle = app[root].child("middle", through, &[1, 2]);
        let sink = app[root].child("sink", to, &[0]);
        app[root].wire(source, "out", middle, "in");
        app[root].wire(middle, "out", sink, "in");
        let image = link(&app, root, &Target::crossbar(4)).unwrap();
        Self { image, source, middle, sink, deep, give, take, deep_in, deep_out, inner }
    }

    /// `values` numbers through the tree, in two lives of its tasks.
    pub(crate) fn body(&self, cell: &mut Cell<'_>, values: u64) -> Result<u64, Error> {
        let mut sum = 0;
        for life in 0..2 {
            sum += match cell.id() {
                3 => cell.start(self.source, |cell| {
                    (0..values).for_each(|at| cell.write(self.give, &[at + life]));
                    Ok(0)
                })?,
                0 => cell.start(self.sink, |cell| {
                    Ok((0..values).map(|_| cell.read_vec(self.take)[0]).sum::<u64>())
                })?,
                _ => cell.start(self.middle, |cell| {
                    cell.start(self.deep, |cell| self.double(cell, values))?;
                    Ok(0)
                })?,
            };
        }
        Ok(sum)
    }

    fn double(&self, cell: &mut Cell<'_>, values: u64) -> Result<(), Error> {
        let me = cell.id();
        cell.phase::<Rise, _>(|net| {
            let mut value = [0];
            for _ in 0..values {
                if me == 0 {
                    net.read(self.deep_in, &mut value);
                    net.send(self.inner, &value);
                } else {
                    net.receive(self.inner, &mut value);
                    net.write(self.deep_out, &[2 * value[0]]);
                }
            }
            Ok(())
        })
    }

    pub(crate) fn failing(&self, cell: &mut Cell<'_>) -> Result<(), Error> {
        match cell.id() {
            3 => cell.start(self.source, |_| Ok(())),
            0 => cell.start(self.sink, |cell| {
                cell.read(self.take, &mut [0]);
                Ok(())
            }),
            _ => cell.start(self.middle, |cell| {
                cell.start(self.deep, |cell| match cell.id() {
                    0 => Err(Error::program("deep trouble")),
                    _ => Ok(()),
                })
            }),
        }
    }

    pub(crate) fn expected(&self, values: u64) -> Vec<u64> {
        let sum: u64 = (0..2).flat_map(|life| (0..values).map(move |at| 2 * (at + life))).sum();
        vec![sum, 0, 0, 0]
    }
}
