//! Random programs of tasks and sets, right ones and ones with a fault planted at one cell.

use strata_runtime::Error;
use strata_tcs::switch::Mode;
use strata_tcs::{
    App, Cell, Child, Connection, Image, Input, Net, Options, Output, Set, Target, TaskId, link_with,
};

strata_tcs::communication! {
    networks { pub A, pub B }
    sets { pub One: A; pub Two: B; pub Three: A, B; }
}

/// Numbers that depend on a seed only (Steele, Lea and Flood, "SplitMix", 2014).
pub(crate) struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % end.max(1) as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}

/// A task as described: cells pass numbers around in rings of `A` and of `B`.
struct Described {
    a: Vec<Connection<u64, A>>,
    b: Vec<Connection<u64, B>>,
    cells: usize,
    /// Children that begin together, with the places of each in this task.
    groups: Vec<Vec<(Child, Vec<usize>, Described)>>,
    port: Option<Port>,
}

#[derive(Clone, Copy)]
enum Port {
    In(Input<u64>),
    Out(Output<u64>),
}

/// One step of a task.
struct Step {
    number: usize,
    what: What,
}

enum What {
    Sync,
    /// A phase of one of the three sets, and whether it switches.
    Phase(usize, bool),
    /// Children that begin together, with the steps of each.
    Start(usize, Vec<Vec<Step>>),
}

/// What one cell does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    Omits,
    SyncsFirst,
    TakesSet(usize),
    DoesNotSend,
    DoesNotReceive,
}

/// A random program, linked.
pub(crate) struct Planned {
    pub(crate) image: Image,
    root: Described,
    steps: Vec<Step>,
    /// At a step, at a cell of the machine.
    pub(crate) fault: Option<(usize, usize, Fault)>,
}

fn described(app: &mut App, random: &mut Random, task: TaskId, deep: usize, port: Option<Port>) -> Described {
    let cells = app[task].cells();
    let ring = |cell: usize| (cell + 1) % cells;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    if cells > 1 {
        a = (0..cells).map(|cell| app[task].connect(cell, ring(cell))).collect();
        b = (0..cells).map(|cell| app[task].connect(ring(cell), cell)).collect();
    }
    app[task].set::<One>();
    app[task].set::<Two>();
    app[task].set::<Three>();
    let mut groups = Vec::new();
    for _ in 0..if deep > 0 { random.below(3) } else { 0 } {
        // Some cells, in any order; with enough of them two children that a wire joins.
        let mut all: Vec<usize> = (0..cells).collect();
        let picked: Vec<usize> =
            (0..1 + random.below(cells)).map(|_| all.swap_remove(random.below(all.len()))).collect();
        let both = picked.len() > 1 && random.below(3) == 0;
        let cut = if both { 1 + random.below(picked.len() - 1) } else { picked.len() };
        let mut group = Vec::new();
        for (at, out) in [(&picked[..cut], true), (&picked[cut..], false)] {
            if at.is_empty() {
                continue;
            }
            let name = format!("t{}", app[task].name().len() + 10 * deep);
            let child_task = app.task(name, at.len());
            let port = both.then(|| match out {
                true => Port::Out(app[child_task].output("port", 0)),
                false => Port::In(app[child_task].input("port", 0)),
            });
            let of = described(app, random, child_task, deep - 1, port);
            let child = app[task].child(format!("c{}{}", groups.len(), group.len()), child_task, at);
            group.push((child, at.to_vec(), of));
        }
        if let [(from, ..), (to, ..)] = &group[..] {
            let (from, to) = (*from, *to);
            app[task].wire(from, "port", to, "port");
        }
        groups.push(group);
    }
    Described { a, b, cells, groups, port }
}

/// Random steps of a task, of which `active` is active at first.
fn steps(of: &Described, random: &mut Random, number: &mut usize, mut active: Option<usize>) -> Vec<Step> {
    let mut all = Vec::new();
    for _ in 0..1 + random.below(4) {
        *number += 1;
        let own = *number;
        let what = match random.below(4) {
            0 => What::Sync,
            1 if !of.groups.is_empty() => {
                let group = random.below(of.groups.len());
                let children = of.groups[group].iter();
                What::Start(
                    group,
                    children.map(|(_, _, child)| steps(child, random, number, Some(0))).collect(),
                )
            }
            _ => {
                let set = random.below(3);
                let switches = active != Some(set);
                active = Some(set);
                What::Phase(set, switches)
            }
        };
        all.push(Step { number: own, what });
    }
    all
}

/// Every fault that can be found, with its step and the machine's cell.
fn faults(
    of: &Described,
    cells: &[usize],
    steps: &[Step],
    inside: bool,
    all: &mut Vec<(usize, usize, Fault)>,
) {
    for step in steps {
        if let What::Start(group, of_children) = &step.what {
            let together: usize = of.groups[*group].iter().map(|(_, at, _)| at.len()).sum();
            for ((_, at, child), steps) in of.groups[*group].iter().zip(of_children) {
                let cells: Vec<usize> = at.iter().map(|at| cells[*at]).collect();
                if together > 1 {
                    all.extend(cells.iter().map(|cell| (step.number, *cell, Fault::Omits)));
                }
                faults(child, &cells, steps, true, all);
            }
        }
        if of.cells < 2 {
            continue;
        }
        for cell in cells {
            let mut add = |fault| all.push((step.number, *cell, fault));
            add(Fault::SyncsFirst);
            match step.what {
                What::Sync => add(Fault::Omits),
                What::Phase(set, switches) => {
                    add(Fault::DoesNotSend);
                    // At the program's end nobody asks what is left.
                    if inside {
                        add(Fault::DoesNotReceive);
                    }
                    if switches {
                        add(Fault::TakesSet((set + 1) % 3));
                        add(Fault::TakesSet((set + 2) % 3));
                    }
                }
                What::Start(..) => {}
            }
        }
    }
}

impl Planned {
    /// The program of a seed, on so many cells; with a fault if one is wanted and can be.
    pub(crate) fn new(seed: u64, cells: usize, mode: Mode, faulty: bool) -> Self {
        let mut random = Random(seed);
        let mut app = App::new("planned");
        let root_task = app.task("root", cells);
        let root = described(&mut app, &mut random, root_task, 2, None);
        let options = Options { switch: mode, ..Options::default() };
        let image = link_with(&app, root_task, &Target::crossbar(cells), &options).unwrap();
        let steps = steps(&root, &mut random, &mut 0, None);
        let mut all = Vec::new();
        faults(&root, &(0..cells).collect::<Vec<_>>(), &steps, false, &mut all);
        let fault = if faulty { random.one(&all).copied() } else { None };
        Self { image, root, steps, fault }
    }

    /// The program of a cell: a digest of all that it has received.
    pub(crate) fn body(&self, cell: &mut Cell<'_>) -> Result<u64, Error> {
        let (machine, mut seen) = (cell.id(), 1);
        self.run(cell, &self.root, &self.steps, machine, &mut seen)?;
        Ok(seen)
    }

    fn run(
        &self,
        cell: &mut Cell<'_>,
        of: &Described,
        steps: &[Step],
        machine: usize,
        seen: &mut u64,
    ) -> Result<(), Error> {
        let me = cell.id();
        if let Some(Port::Out(port)) = of.port
            && me == 0
        {
            cell.write(port, &[*seen]);
        }
        for step in steps {
            let fault = self.fault.filter(|(number, at, _)| (*number, *at) == (step.number, machine));
            let fault = fault.map(|(_, _, fault)| fault);
            if fault == Some(Fault::SyncsFirst) {
                cell.sync();
            }
            match &step.what {
                What::Sync | What::Start(..) if fault == Some(Fault::Omits) => {}
                What::Sync => cell.sync(),
                What::Phase(set, _) => {
                    let set = if let Some(Fault::TakesSet(other)) = fault { other } else { *set };
                    match set {
                        0 => cell.phase::<One, _>(|net| {
                            around(net, &of.a, false, fault, seen);
                            Ok(())
                        })?,
                        1 => cell.phase::<Two, _>(|net| {
                            around(net, &of.b, true, fault, seen);
                            Ok(())
                        })?,
                        _ => cell.phase::<Three, _>(|net| {
                            around(net, &of.b, true, fault, seen);
                            around(net, &of.a, false, None, seen);
                            Ok(())
                        })?,
                    }
                }
                What::Start(group, inner) => {
                    for ((child, at, below), steps) in of.groups[*group].iter().zip(inner) {
                        if at.contains(&me) {
                            cell.start(*child, |cell| self.run(cell, below, steps, machine, seen))?;
                        }
                    }
                }
            }
        }
        if let Some(Port::In(port)) = of.port
            && me == 0
        {
            let came = cell.read_vec(port);
            *seen = seen.wrapping_mul(31).wrapping_add(came[0]);
        }
        Ok(())
    }
}

/// Every cell passes what it has seen on to the next, or to the one before.
fn around<N: strata_tcs::Network, S: Set + strata_tcs::Contains<N>>(
    net: &mut Net<'_, '_, S>,
    ring: &[Connection<u64, N>],
    back: bool,
    fault: Option<Fault>,
    seen: &mut u64,
) {
    let (me, cells) = (net.id(), ring.len());
    if cells == 0 {
        return;
    }
    let before = (me + cells - 1) % cells;
    let (out, into) = if back { (ring[before], ring[me]) } else { (ring[me], ring[before]) };
    if fault != Some(Fault::DoesNotSend) {
        net.send(out, &[seen.wrapping_mul(31) + me as u64]);
    }
    if fault != Some(Fault::DoesNotReceive) {
        let mut came = [0];
        net.receive(into, &mut came);
        *seen = seen.rotate_left(7) ^ came[0];
    }
}
