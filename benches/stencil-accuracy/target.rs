//! One simulated machine with a number of nodes: its models, and times of layouts.

use std::cell::RefCell;

use strata_benches::accuracy::{Kept, Times};
use strata_benches::jobs::platform;
use strata_model::{LibraryModels, Resolved};
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Computing, Machine, Node};
use strata_select::Source as _;
use strata_stencil::{Grid, layout::Layout, profile};

/// A machine with a number of nodes; models are fitted, and times simulated, when they are asked
/// for.
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) nodes: usize,
    kept: Kept,
    times: RefCell<Times>,
    platform: SimulatedMachine,
}

/// A layout that competes, with a time.
pub(crate) type Timed = (Layout, f64);

impl Target {
    pub(crate) fn open(name: &str, nodes: usize) -> Result<Self, String> {
        let kept = Kept::of("stencil-accuracy", &format!("{name},computing=skeleton"), nodes);
        let times = RefCell::new(kept.times()?);
        let platform = platform(name)?;
        Ok(Self { name: name.to_owned(), nodes, kept, times, platform })
    }

    /// The models of `specs/stencil/SPEC` on this machine.
    pub(crate) fn models(&self, spec: &str) -> Result<Resolved, String> {
        eprintln!("{} with {} nodes: models of {spec}", self.name, self.nodes);
        self.kept.models(&format!("specs/stencil/{spec}"), "1800s")
    }

    pub(crate) fn squares(&self) -> Layout {
        Layout::squares(self.nodes)
    }

    /// The thesis's layouts: one node, strips whose edges are contiguous in memory, squares. Rows are
    /// contiguous here, and columns there: its vertical strips lie on their side.
    pub(crate) fn of_thesis(&self) -> [Layout; 3] {
        [Layout::ONE, Layout::new(1, self.nodes, 1), self.squares()]
    }

    /// Whether the thesis's implementation of one of its layouts takes a grid: two points a node in
    /// each direction that is divided (figures 4-9 and 4-10).
    pub(crate) fn takes(&self, layout: Layout, size: [usize; 2]) -> bool {
        let blocks = [layout.columns, layout.rows];
        [0, 1].into_iter().all(|way| blocks[way] == 1 || size[way] >= 2 * blocks[way])
    }

    /// The thesis's layouts that take a grid with the times that its own terms predict, the least
    /// first.
    pub(crate) fn predicted_by_short(&self, models: &Resolved, size: [usize; 2]) -> Vec<Timed> {
        let names = ["One", "Strips", "Squares"].into_iter().zip(self.of_thesis());
        let inputs = size.map(|points| points as f64);
        let all = names.filter(|(_, layout)| self.takes(*layout, size));
        sorted(all.filter_map(|(name, layout)| Some((layout, models.seconds(name, self.nodes, &inputs)?))))
    }

    /// All layouts that compete, with their predicted times, the least first.
    pub(crate) fn predicted(&self, library: &LibraryModels, [width, height]: [usize; 2]) -> Vec<Timed> {
        let inputs = [width as f64, height as f64, 1.0];
        let mut all = Vec::new();
        for (index, candidate) in library.candidates().iter().enumerate() {
            let mut offer = |layout, parameters: &[i64]| {
                let seconds = library.seconds(index, self.nodes, &inputs, parameters);
                all.extend(seconds.map(|seconds| (layout, seconds)));
            };
            let fewer = (0..=5).map(|exponent| 1 << exponent).filter(|few| few * few <= self.nodes);
            match candidate.name.as_str() {
                "columns" | "rows" => {
                    for few in fewer {
                        let columns = if candidate.name == "columns" { few } else { self.nodes / few };
                        for halo in [1, 2, 4, 8] {
                            let layout = Layout::new(columns, self.nodes / columns, halo);
                            offer(layout, &[few as i64, halo as i64]);
                        }
                    }
                }
                _ => offer(Layout::ONE, &[]),
            }
        }
        sorted(all.into_iter())
    }

    /// The simulated time of an iteration; NaN where the layout does not suit.
    pub(crate) fn simulate(&self, size: [usize; 2], layout: Layout) -> Result<f64, String> {
        let [width, height] = size;
        let grid = move || Grid::new(width, height);
        let program = move |node: &mut Node| profile::seconds_on(node, &grid(), layout, 1);
        self.kept(&format!("iteration {}", line(size, layout)), program)
    }

    /// As [`simulate`](Self::simulate). Where two means of four iterations differ, as packets meet
    /// by chance, it is the mean of 40.
    pub(crate) fn simulate_mean(&self, size: [usize; 2], layout: Layout) -> Result<f64, String> {
        self.kept(&format!("mean {}", line(size, layout)), move |node| {
            let [width, height] = size;
            let grid = |iterations| Grid::<f64>::new(width, height).threshold(0.0).iterations(iterations);
            let mut time = |iterations| {
                node.barrier();
                let start = node.now();
                let solved = profile::solve(&grid(iterations), node, layout).is_ok();
                let seconds = node.reduce_max(node.now().get() - start.get());
                if solved { seconds } else { f64::NAN }
            };
            let start = time(2);
            let [four, eight] = [time(6) - start, time(10) - start];
            match (eight - 2.0 * four).abs() < 1e-4 * eight {
                true => eight / 8.0,
                false => (time(42) - start) / 40.0,
            }
        })
    }

    /// What node 0 of a skeleton computes, unless it was simulated before.
    fn kept(&self, what: &str, program: impl Fn(&mut Node) -> f64 + Sync) -> Result<f64, String> {
        self.times.borrow_mut().get(what.to_owned(), || {
            let machine = Machine::sim(&self.platform, self.nodes).map_err(|e| e.to_string())?;
            let run = machine.computing(Computing::Skeleton).run(|node| Ok(program(node)));
            Ok(run.map_err(|e| e.to_string())?.results[0])
        })
    }
}

fn sorted(all: impl Iterator<Item = Timed>) -> Vec<Timed> {
    let mut all: Vec<Timed> = all.collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all
}

/// A grid and a layout by which a time is kept.
fn line([width, height]: [usize; 2], layout: Layout) -> String {
    let Layout { columns, rows, halo, extra: [x, y], .. } = layout;
    format!("{width} {height} {columns} {rows} {halo} {x} {y}")
}
