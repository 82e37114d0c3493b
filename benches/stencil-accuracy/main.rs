//! How often the layout that models choose is the fastest one, on simulated machines of 1994: the
//! experiments of Brewer (1994), §4.4.2 and §5.2.
//!
//!     cargo bench -p strata-benches --bench stencil_accuracy
//!
//! `specc calibrate` fits the models of `specs/stencil/simulated` on each machine. Then, for grids
//! that it has not seen, an iteration of the layouts is simulated as a skeleton, and the choice is
//! compared with the fastest: first among the thesis's layouts (one node, vertical strips, squares,
//! with halos of one), then among all shapes of blocks with halos of 1, 2, 4 and 8. Half of the
//! grids are drawn anywhere, half where the two best of the thesis's layouts are predicted to be
//! close, all by the seed.
//!
//! `--extra 25` also tries the extra rows and columns of boundary nodes on so many grids of each
//! machine, with models of `specs/stencil/edges` ([`extra`]), and `--halos 25` widths of halos with
//! models of `specs/stencil/halos` ([`halos`]), both on the most of `--nodes`; `--cells 0` does
//! only that; `--map FOLDER` writes maps of who wins where and of the errors as JSON and SVG
//! ([`map`]).

mod cells;
mod extra;
mod halos;
mod map;
mod target;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;
use strata_benches::accuracy::Options;
use strata_benches::{head, row};

use cells::Summary;
use target::Target;

/// Machines, with right choices, mean penalty when wrong and worst penalty of the thesis's table
/// 4-1 and text, all in per cent.
const PLATFORMS: [(&str, [f64; 3]); 4] = [
    ("alewife", [99.50, 2.88, 16.25]),
    ("paragon", [99.39, 3.09, 13.63]),
    ("atm", [99.13, 1.43, 7.86]),
    ("cm5", [99.72, 1.10, 5.45]),
];

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    shared: Options,
    /// Grids on each machine and number of nodes
    #[arg(long, default_value_t = 60)]
    cells: usize,
    /// Grids of each machine on which extra rows and columns are tried
    #[arg(long, value_name = "GRIDS", default_value_t = 0)]
    extra: usize,
    /// Grids of each machine on which widths of halos are tried
    #[arg(long, value_name = "GRIDS", default_value_t = 0)]
    halos: usize,
    /// Where maps of the fastest layouts and of the errors go, as JSON and SVG
    #[arg(long, value_name = "FOLDER")]
    map: Option<PathBuf>,
}

fn main() -> ExitCode {
    strata_benches::run(run)
}

fn run(options: &Arguments) -> Result<(), String> {
    let Options { nodes: all_nodes, platforms, seed } = &options.shared;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let (mut few, mut short, mut family) = (Vec::new(), Vec::new(), Vec::new());
    let (mut extras, mut halos) = (Vec::new(), Vec::new());
    let mut parts = Vec::new();
    if options.cells > 0 {
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
            "square right",
        ]);
    }
    for platform in platforms {
        let thesis = PLATFORMS.iter().find(|(name, _)| name == platform).map(|(_, all)| *all);
        for &nodes in all_nodes {
            if options.extra > 0 && Some(&nodes) == all_nodes.iter().max() {
                let target = Target::of(root, "stencil/edges", platform, nodes)?;
                extras.extend(extra::judge(&target, options.extra, *seed)?);
            }
            if options.halos > 0 && Some(&nodes) == all_nodes.iter().max() {
                let target = Target::of(root, "stencil/halos", platform, nodes)?;
                halos.extend(halos::judge(&target, options.halos, *seed)?);
            }
            if options.cells == 0 {
                continue;
            }
            let target = Target::open(root, platform, nodes)?;
            let cells = cells::judge(&target, options.cells, *seed)?;
            if let Some(folder) = &options.map {
                map::write(folder, &target, &cells)?;
            }
            for (layouts, thesis, all, outcomes) in [
                ("the thesis's", thesis, &mut few, cells.iter().map(|cell| cell.few).collect::<Vec<_>>()),
                (
                    "the thesis's, its terms",
                    thesis,
                    &mut short,
                    cells.iter().map(|cell| cell.short).collect(),
                ),
                ("all", None, &mut family, cells.iter().map(|cell| cell.all).collect()),
            ] {
                let summary = Summary::of(&outcomes);
                report(&[platform, &nodes.to_string(), layouts], thesis, &summary);
                parts.push(json!({
                    "machine": platform, "nodes": nodes, "layouts": layouts, "grids": summary.grids,
                    "right": summary.right, "expected_penalty": summary.expected,
                    "worst_penalty": summary.worst,
                }));
                all.extend(outcomes);
            }
        }
    }
    let (few, short, family) = (Summary::of(&few), Summary::of(&short), Summary::of(&family));
    if options.cells > 0 {
        report(&["all", "", "the thesis's"], Some([99.42, 2.12, 16.25]), &few);
        report(&["all", "", "the thesis's, its terms"], Some([99.42, 2.12, 16.25]), &short);
        report(&["all", "", "all"], None, &family);
        println!("\nExpected by the thesis: 0.0114 %.");
    }
    let extra_right = extra::report(&extras);
    let halos_right = halos::report(&halos);
    // Of no grids nothing is right.
    let of_grids = |share: f64| (options.cells > 0).then_some(share);
    strata_benches::summary(&json!({
        "bench": "stencil_accuracy", "grids": few.grids, "seed": seed,
        "right": of_grids(few.right), "expected_penalty": of_grids(few.expected),
        "mean_penalty": of_grids(few.mean), "worst_penalty": of_grids(few.worst),
        "gain_over_square": of_grids(few.square), "square_right": of_grids(few.square_right),
        "right_by_short_terms": of_grids(short.right), "expected_penalty_by_short_terms": of_grids(short.expected), "extra_rows": extras.len(), "extra_rows_right": extra_right,
        "halos": halos.len(), "halos_right": halos_right,
        "family_right": of_grids(family.right), "family_expected_penalty": of_grids(family.expected),
        "family_mean_penalty": of_grids(family.mean), "family_worst_penalty": of_grids(family.worst), "parts": parts,
    }));
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
        per_cent(summary.square_right),
    ]);
    row(&cells);
}
