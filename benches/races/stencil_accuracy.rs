//! How often the layout that models choose is the fastest one, on simulated machines of 1994: the
//! experiment of Brewer (1994), §4.4.2.
//!
//!     cargo bench -p strata-benches --bench stencil_accuracy [-- --nodes 16 --cells 100 --platforms cm5 --seed 7]
//!
//! `specc calibrate` fits the models of `specs/stencil-simulated` on each machine. Then, for grids
//! that it has not seen, an iteration of the layouts is simulated as a skeleton, and the choice is
//! compared with the fastest: first among the thesis's layouts (one node, vertical strips, squares,
//! with halos of one), then among all shapes of blocks with halos of 1, 2, 4 and 8. Half of the
//! grids are drawn anywhere, half where the two best of the thesis's layouts are predicted to be
//! close, all by the seed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use strata_benches::{head, row};
use strata_model::{LibraryModels, ModelSet};
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Computing, Machine, prelude::Error};
use strata_select::Source as _;
use strata_stencil::profile;

/// Machines, with right choices, mean penalty when wrong and worst penalty of the thesis's table
/// 4-1 and text, all in per cent.
const PLATFORMS: [(&str, [f64; 3]); 4] = [
    ("alewife", [99.50, 2.88, 16.25]),
    ("paragon", [99.39, 3.09, 13.63]),
    ("atm", [99.13, 1.43, 7.86]),
    ("cm5", [99.72, 1.10, 5.45]),
];

/// The longest side of a grid.
const LONGEST: usize = 2048;

/// Of all layouts those predicted to take longer than the best by this factor are not simulated.
const HOPELESS: f64 = 1.25;

/// Layouts are close if one is predicted to take longer by less than this share.
const CLOSE: f64 = 0.2;

/// Grids among which one with close layouts is looked for.
const DRAWN: usize = 1000;

/// A layout: columns of blocks, or 0 for node 0 alone; width of the halo.
type Layout = (usize, usize);

/// One grid.
#[derive(Clone, Copy)]
struct Cell {
    /// Time of the choice over that of the fastest.
    ratio: f64,
    /// Time of squares over that of the fastest, on grids drawn anywhere.
    square: Option<f64>,
}

struct Options {
    nodes: Vec<usize>,
    cells: usize,
    platforms: Vec<String>,
    seed: u64,
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("stencil_accuracy: {message}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        nodes: vec![16, 64],
        cells: 60,
        platforms: PLATFORMS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        seed: 4,
    };
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next().map_err(|e| e.to_string())? {
        let name = match &argument {
            lexopt::Arg::Long("bench") => continue,
            lexopt::Arg::Long(name @ ("nodes" | "cells" | "platforms" | "seed")) => (*name).to_owned(),
            other => {
                return Err(format!(
                    "{other:?}: there are --nodes 16,64, --cells 100, --platforms cm5,atm and --seed 4"
                ));
            }
        };
        let value = arguments.value().map_err(|e| e.to_string())?.to_string_lossy().into_owned();
        match name.as_str() {
            "nodes" => options.nodes = value.split(',').map(number).collect::<Result<_, _>>()?,
            "cells" => options.cells = number(&value)?,
            "seed" => options.seed = number(&value)? as u64,
            _ => options.platforms = value.split(',').map(str::to_owned).collect(),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let (mut few, mut family) = (Vec::new(), Vec::new());
    head(&[
        "machine",
        "nodes",
        "layouts",
        "grids",
        "right",
        "thesis",
        "mean penalty",
        "thesis",
        "worst",
        "thesis",
        "expected",
        "over always square",
    ]);
    for platform in &options.platforms {
        let thesis = PLATFORMS.iter().find(|(name, _)| name == platform).map(|(_, all)| *all);
        for &nodes in &options.nodes {
            let models = calibrate(root, platform, nodes)?;
            let text = std::fs::read_to_string(&models).map_err(|e| format!("{}: {e}", models.display()))?;
            let set = ModelSet::read(&text).and_then(|set| set.resolve()).map_err(|e| e.to_string())?;
            let library = set.library("stencil").ok_or("the models have no library `stencil`")?;
            let cells = cells(library, platform, nodes, options)?;
            for (layouts, thesis, all, one) in [
                ("the thesis's", thesis, &mut few, cells.iter().map(|cell| cell.0).collect::<Vec<_>>()),
                ("all", None, &mut family, cells.iter().map(|cell| cell.1).collect()),
            ] {
                report(&[platform, &nodes.to_string(), layouts], thesis, &Summary::of(&one));
                all.extend(one);
            }
        }
    }
    let (few, family) = (Summary::of(&few), Summary::of(&family));
    report(&["all", "", "the thesis's"], Some([99.42, 2.12, 16.25]), &few);
    report(&["all", "", "all"], None, &family);
    println!("\nExpected by the thesis: 0.0114 %. Extra rows of boundary nodes (§5.2) are not measured.");
    let summary = json!({
        "bench": "stencil_accuracy", "grids": few.grids,
        "right": few.right, "expected_penalty": few.expected, "mean_penalty": few.mean, "worst_penalty": few.worst,
        "gain_over_square": few.square,
        "family_right": family.right, "family_expected_penalty": family.expected,
        "family_mean_penalty": family.mean, "family_worst_penalty": family.worst,
    });
    println!("summary {summary}");
    Ok(())
}

/// Prints a row; `thesis` has its figures in per cent.
fn report(names: &[&str], thesis: Option<[f64; 3]>, summary: &Summary) {
    let per_cent = |share: f64| format!("{:.2} %", 100.0 * share);
    let [right, mean, worst] =
        [0, 1, 2].map(|at| thesis.map_or("-".to_owned(), |all| format!("{} %", all[at])));
    let mut cells: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    cells.extend([
        summary.grids.to_string(),
        per_cent(summary.right),
        right,
        per_cent(summary.mean),
        mean,
        per_cent(summary.worst),
        worst,
        format!("{:.4} %", 100.0 * summary.expected),
        per_cent(summary.square),
    ]);
    row(&cells);
}

/// What comes out over some grids, as shares.
struct Summary {
    grids: usize,
    right: f64,
    expected: f64,
    mean: f64,
    worst: f64,
    /// By how much always taking squares is slower, on the grids drawn anywhere.
    square: f64,
}

impl Summary {
    fn of(cells: &[Cell]) -> Self {
        let penalties = cells.iter().map(|cell| cell.ratio - 1.0);
        let wrong: Vec<f64> = penalties.filter(|penalty| *penalty > 0.0).collect();
        let share = |sum: f64, of: usize| if of == 0 { 0.0 } else { sum / of as f64 };
        let total = wrong.iter().fold(0.0, |sum, penalty| sum + penalty);
        let squares: Vec<f64> = cells.iter().filter_map(|cell| Some(cell.square? / cell.ratio)).collect();
        Self {
            grids: cells.len(),
            right: 1.0 - share(wrong.len() as f64, cells.len()),
            expected: share(total, cells.len()),
            mean: share(total, wrong.len()),
            worst: wrong.iter().copied().fold(0.0, f64::max),
            square: share(squares.iter().map(|ratio| ratio - 1.0).sum(), squares.len()),
        }
    }
}

/// Fits the models of a machine, unless that was done.
fn calibrate(root: &Path, platform: &str, nodes: usize) -> Result<PathBuf, String> {
    let folder = root.join(format!("target/stencil-accuracy/{platform}-{nodes}"));
    let models = folder.join("models.toml");
    if models.exists() {
        eprintln!("{}: taken as it is", models.display());
        return Ok(models);
    }
    eprintln!("calibrating on {platform} with {nodes} nodes");
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["run", "--release", "--quiet", "--package", "specc", "--", "calibrate"])
        .args(["specs/stencil-simulated", "--on", &format!("sim:{platform}"), "--nodes", &nodes.to_string()])
        .args(["--budget", "600s", "-o"])
        .arg(&folder)
        .env("STRATA_COMPUTE", "skeleton")
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if status.success() { Ok(models) } else { Err(format!("specc calibrate ended with {status}")) }
}

/// The layouts of `nodes` nodes that compete, with their predicted times.
fn predicted(library: &LibraryModels, nodes: usize, [width, height]: [usize; 2]) -> Vec<(Layout, f64)> {
    let inputs = [width as f64, height as f64, 1.0];
    let mut all = Vec::new();
    for (index, candidate) in library.candidates().iter().enumerate() {
        let mut offer = |layout, parameters: &[i64]| {
            all.extend(library.seconds(index, nodes, &inputs, parameters).map(|seconds| (layout, seconds)));
        };
        match candidate.name.as_str() {
            "columns" | "rows" => {
                for few in (0..=5).map(|exponent| 1 << exponent).filter(|few| few * few <= nodes) {
                    for halo in [1, 2, 4, 8] {
                        let columns = if candidate.name == "columns" { few } else { nodes / few };
                        offer((columns, halo), &[few as i64, halo as i64]);
                    }
                }
            }
            _ => offer((0, 1), &[]),
        }
    }
    all
}

/// Simulates the grids; for each the outcome among the thesis's layouts, and among all.
fn cells(
    library: &LibraryModels,
    platform: &str,
    nodes: usize,
    options: &Options,
) -> Result<Vec<(Cell, Cell)>, String> {
    let platform = SimulatedMachine::find(platform).map_err(|e| e.to_string())?;
    let mut random = ChaCha8Rng::seed_from_u64(options.seed + nodes as u64);
    let squares = (1 << nodes.ilog2().div_ceil(2), 1);
    let of_thesis = |layout: Layout| [(0, 1), (nodes, 1), squares].contains(&layout);
    let mut cells = Vec::new();
    for number in 0..options.cells {
        let mut draw = || [0; 2].map(|_| random.random_range(1..=LONGEST));
        let size = match number % 2 {
            0 => draw(),
            _ => (0..DRAWN)
                .map(|_| draw())
                .find(|size| {
                    let all = predicted(library, nodes, *size);
                    let mut few: Vec<f64> =
                        all.iter().filter(|(l, _)| of_thesis(*l)).map(|(_, s)| *s).collect();
                    few.sort_by(f64::total_cmp);
                    few.get(1).is_some_and(|second| second / few[0] < 1.0 + CLOSE)
                })
                .ok_or("no grid has two close layouts")?,
        };
        let predicted = predicted(library, nodes, size);
        let least = predicted.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
        // Layout, predicted and simulated time.
        let mut times = Vec::new();
        for (layout, seconds) in predicted {
            if of_thesis(layout) || seconds < HOPELESS * least {
                let simulated = simulate(&platform, nodes, size, layout).map_err(|e| e.to_string())?;
                times.push((layout, seconds, simulated));
            }
        }
        let few: Vec<_> = times.iter().copied().filter(|(layout, ..)| of_thesis(*layout)).collect();
        let judged = |times: &[(Layout, f64, f64)]| {
            let chosen = times.iter().min_by(|a, b| a.1.total_cmp(&b.1))?.2;
            let best = times.iter().map(|(.., simulated)| *simulated).fold(f64::INFINITY, f64::min);
            let square = times.iter().find(|(layout, ..)| *layout == squares).filter(|_| number % 2 == 0);
            Some(Cell { ratio: chosen / best, square: square.map(|(.., simulated)| simulated / best) })
        };
        cells.push(judged(&few).zip(judged(&times)).ok_or("nothing is predicted")?);
    }
    Ok(cells)
}

/// The simulated time of an iteration.
fn simulate(
    platform: &SimulatedMachine,
    nodes: usize,
    [width, height]: [usize; 2],
    (columns, halo): Layout,
) -> Result<f64, Error> {
    let machine = Machine::sim(platform, nodes)?.computing(Computing::Skeleton);
    Ok(machine.run(|node| Ok(profile::seconds(node, width, height, columns, halo, 1)))?.results[0])
}
