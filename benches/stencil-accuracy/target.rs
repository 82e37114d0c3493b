//! One simulated machine with a number of nodes: its models, and times of layouts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use strata_model::{LibraryModels, ModelSet, Resolved};
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Computing, Machine, Node};
use strata_select::Source as _;
use strata_stencil::{Grid, Layout, profile};

/// A machine and its models.
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) nodes: usize,
    pub(crate) set: Resolved,
    /// The models with the thesis's terms.
    short: Option<Resolved>,
    platform: SimulatedMachine,
}

impl Target {
    /// Fits the models of a machine, unless that was done.
    pub(crate) fn open(root: &Path, name: &str, nodes: usize) -> Result<Self, String> {
        let this = Self::of(root, "stencil/simulated", name, nodes)?;
        this.set.library("stencil").ok_or("the models have no library `stencil`")?;
        let short = Self::of(root, "stencil/thesis", name, nodes)?.set;
        Ok(Self { short: Some(short), ..this })
    }

    /// As [`open`](Self::open), with the models of any spec.
    pub(crate) fn of(root: &Path, spec: &str, name: &str, nodes: usize) -> Result<Self, String> {
        let models = calibrate(root, spec, name, nodes)?;
        let text = std::fs::read_to_string(&models).map_err(|e| format!("{}: {e}", models.display()))?;
        let set = ModelSet::read(&text).and_then(|set| set.resolve()).map_err(|e| e.to_string())?;
        let platform = SimulatedMachine::find(name).map_err(|e| e.to_string())?;
        Ok(Self { name: name.to_owned(), nodes, set, short: None, platform })
    }

    fn library(&self) -> Option<&LibraryModels> {
        self.set.library("stencil")
    }

    /// Blocks in as many columns as rows, or twice as many.
    pub(crate) fn squares(&self) -> Layout {
        let columns = 1 << self.nodes.ilog2().div_ceil(2);
        Layout::new(columns, self.nodes / columns, 1)
    }

    /// The thesis's layouts: one node, vertical strips, squares.
    pub(crate) fn of_thesis(&self) -> [Layout; 3] {
        [Layout::ONE, Layout::new(self.nodes, 1, 1), self.squares()]
    }

    /// All layouts that compete, with their predicted times.
    pub(crate) fn predicted(&self, [width, height]: [usize; 2]) -> Vec<(Layout, f64)> {
        let inputs = [width as f64, height as f64, 1.0];
        let mut all = Vec::new();
        let Some(library) = self.library() else { return all };
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
        all
    }

    /// The layout of the thesis that its own terms predict to be the fastest.
    pub(crate) fn chosen_by_short(&self, [width, height]: [usize; 2]) -> Option<Layout> {
        let names = ["One", "Strips", "Squares"].into_iter().zip(self.of_thesis());
        let inputs = [width as f64, height as f64];
        let time = |name| self.short.as_ref()?.seconds(name, self.nodes, &inputs);
        let all = names.filter_map(|(name, layout)| Some((layout, time(name)?)));
        Some(all.min_by(|a, b| a.1.total_cmp(&b.1))?.0)
    }

    /// The predictions for the thesis's layouts, the least time first.
    pub(crate) fn predicted_of_thesis(&self, size: [usize; 2]) -> Vec<(Layout, f64)> {
        let few = self.of_thesis();
        let mut all = self.predicted(size);
        all.retain(|(layout, _)| few.contains(layout));
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }

    /// The simulated time of an iteration; NaN where the layout does not suit.
    pub(crate) fn simulate(&self, [width, height]: [usize; 2], layout: Layout) -> Result<f64, String> {
        let grid = move || Grid::new(width, height);
        self.run(move |node| profile::seconds_on(node, &grid(), layout, 1))
    }

    /// As [`simulate`](Self::simulate). Where two means of four iterations differ, as packets meet
    /// by chance, it is the mean of 40.
    pub(crate) fn simulate_mean(&self, [width, height]: [usize; 2], layout: Layout) -> Result<f64, String> {
        self.run(move |node| {
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

    /// What node 0 of a skeleton computes.
    fn run(&self, program: impl Fn(&mut Node) -> f64 + Sync) -> Result<f64, String> {
        let machine = Machine::sim(&self.platform, self.nodes).map_err(|e| e.to_string())?;
        let run = machine.computing(Computing::Skeleton).run(|node| Ok(program(node)));
        Ok(run.map_err(|e| e.to_string())?.results[0])
    }
}

fn calibrate(root: &Path, spec: &str, platform: &str, nodes: usize) -> Result<PathBuf, String> {
    let folder = root.join(format!("target/stencil-accuracy/{spec}-{platform}-{nodes}"));
    let models = folder.join("models.toml");
    if models.exists() {
        eprintln!("{}: taken as it is", models.display());
        return Ok(models);
    }
    eprintln!("calibrating on {platform} with {nodes} nodes");
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["run", "--release", "--quiet", "--package", "specc", "--", "calibrate"])
        .arg(format!("specs/{spec}"))
        .args(["--on", &format!("sim:{platform},computing=skeleton"), "--nodes", &nodes.to_string()])
        .args(["--budget", "1800s", "-o"])
        .arg(&folder)
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if status.success() { Ok(models) } else { Err(format!("specc calibrate ended with {status}")) }
}
