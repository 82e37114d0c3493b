//! How often the layout that models choose is the fastest one, on simulated machines of 1994: the
//! experiments of Brewer (1994), §4.4.2 and §5.2.
//!
//!     cargo bench -p strata-benches --bench stencil_accuracy
//!
//! `specc` fits two sets of models on each machine: `specs/stencil/thesis`, one short list of terms
//! and `specc`'s defaults (equation 33), and `specs/stencil/simulated`, long lists. Then, for grids
//! that it has not seen, an iteration of the layouts is simulated as a skeleton, and the choice is
//! compared with the fastest: among the thesis's layouts (one node, strips, squares, with
//! halos of one, each where the thesis's implementation takes the grid), and by the long lists also
//! among all shapes of blocks with halos of 1, 2, 4 and 8. Grids are drawn in three ways
//! ([`cells::Drawn`]), all by the seed.
//!
//! Models and simulated times are kept under `target/stencil-accuracy`, so a run that was ended goes
//! on where it was. The default is 16 nodes; `--whole` is the whole experiment, in hours.
//!
//! `--extra 25` also tries the extra rows and columns of boundary nodes on so many grids of each
//! machine, with models of `specs/stencil/edges` ([`extra`]), on the most of `--nodes`; `--cells 0`
//! does only that.

mod cells;
mod control;
mod extra;
mod target;

use clap::Parser;
use serde_json::{Value, json};
use strata_benches::accuracy::{Options, per_cent};
use strata_benches::columns;

use cells::{Cell, Drawn, Outcome};
use target::Target;

/// Machines, with right choices, mean penalty when wrong, worst penalty and expected penalty of the
/// thesis's tables 4-1 and 4-2, and the gain over squares of table 4-3, all in per cent.
const PLATFORMS: [(&str, [f64; 5]); 5] = [
    ("alewife", [99.50, 2.88, 16.25, 0.0141, 8.0]),
    ("paragon", [99.39, 3.09, 13.63, 0.0170, 21.0]),
    ("atm", [99.13, 1.43, 7.86, 0.0113, 90.0]),
    ("cm5", [99.72, 1.10, 5.45, 0.0032, 11.0]),
    (ALL, [99.42, 2.12, 16.25, 0.0114, f64::NAN]),
];

/// What stands for all machines together.
const ALL: &str = "all";

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    shared: Options,
    /// Grids on each machine and number of nodes, drawn in each of three ways
    #[arg(long, default_value_t = 60)]
    cells: usize,
    /// Chooses only by the thesis's terms: ours take much longer to measure on many nodes
    #[arg(long)]
    short: bool,
    /// Grids of each machine on which extra rows and columns are tried
    #[arg(long, value_name = "GRIDS", default_value_t = 0)]
    extra: usize,
    /// All of it: 16, 32 and 64 nodes, 500 grids in each way, 25 with extra rows
    #[arg(long)]
    whole: bool,
}

strata_benches::main!(run);

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Among the thesis's layouts, by its terms.
    Short,
    /// Among them by our terms.
    Long,
    /// Among all layouts.
    All,
}

impl By {
    const ALL: [Self; 3] = [Self::Short, Self::Long, Self::All];

    fn name(self) -> &'static str {
        match self {
            Self::Short => "the thesis's, its terms",
            Self::Long => "the thesis's, ours",
            Self::All => "all, ours",
        }
    }

    fn of(self, cell: &Cell) -> Option<Outcome> {
        match self {
            Self::Short => Some(cell.short),
            Self::Long => cell.long,
            Self::All => cell.all,
        }
    }
}

/// The outcomes on one machine, with a number of nodes.
struct Part {
    machine: String,
    nodes: usize,
    drawn: Drawn,
    by: By,
    outcomes: Vec<Outcome>,
    /// The mean gain over squares by the thesis's printed models, where squares take the grid.
    printed: Option<f64>,
}

fn run(options: &Arguments) -> Result<(), String> {
    let Options { nodes, platforms, seed } = &options.shared;
    let (nodes, cells, extra_grids) = match options.whole {
        true => (vec![16, 32, 64], 500, 25),
        false => (nodes.clone(), options.cells, options.extra),
    };
    let (mut parts, mut extras) = (Vec::new(), Vec::new());
    let most = nodes.iter().copied().max().unwrap_or(1);
    if cells > 0 {
        columns(
            "machine | nodes | grids | layouts, terms | number | right | thesis | mean penalty | thesis | worst | thesis | expected | thesis | always squares: right | gain over squares | by the thesis's models | thesis, 20 grids",
        );
    }
    for platform in platforms {
        for &nodes in &nodes {
            let target = Target::open(platform, nodes)?;
            if extra_grids > 0 && nodes == most {
                extras.extend(extra::judge(&target, extra_grids, *seed)?);
            }
            if cells == 0 {
                continue;
            }
            let short = target.models("thesis")?;
            let long = if options.short { None } else { Some(target.models("simulated")?) };
            for drawn in Drawn::ALL {
                let all = cells::judge(&target, &short, long.as_ref(), drawn, cells, *seed)?;
                for by in By::ALL {
                    let outcomes: Vec<Outcome> = all.iter().filter_map(|cell| by.of(cell)).collect();
                    if !outcomes.is_empty() {
                        let gains: Vec<f64> = all.iter().filter_map(|cell| cell.printed).collect();
                        let printed = gains.iter().sum::<f64>() / gains.len() as f64;
                        let printed = Some(printed).filter(|_| by == By::Short && !gains.is_empty());
                        let part = Part { machine: platform.clone(), nodes, drawn, by, outcomes, printed };
                        report(&part.machine, &nodes.to_string(), drawn.name(), by, &part.outcomes, printed);
                        parts.push(part);
                    }
                }
            }
        }
    }
    let of = |drawn: Option<Drawn>, by: By| -> Vec<Outcome> {
        let these =
            parts.iter().filter(|part| part.by == by && drawn.is_none_or(|drawn| part.drawn == drawn));
        these.flat_map(|part| part.outcomes.iter().copied()).collect()
    };
    let mut totals = serde_json::Map::new();
    for by in By::ALL {
        let all = of(None, by);
        if all.is_empty() {
            continue;
        }
        for drawn in Drawn::ALL {
            report(ALL, "", drawn.name(), by, &of(Some(drawn), by), None);
        }
        report(ALL, "", "all", by, &all, None);
        totals.insert(by.name().to_owned(), figures(&all));
    }
    if cells > 0 {
        control::report(*seed);
    }
    let extra_right = extra::report(&extras);
    let one = |part: &Part| {
        let mut all = figures(&part.outcomes);
        all["machine"] = json!(part.machine);
        all["nodes"] = json!(part.nodes);
        all["drawn"] = json!(part.drawn.name());
        all["by"] = json!(part.by.name());
        all["gain_by_printed_models"] = json!(part.printed);
        all
    };
    strata_benches::summary(&json!({
        "bench": "stencil_accuracy", "seed": seed, "nodes": nodes, "totals": totals,
        "extra_rows": extras.len(), "extra_rows_right": extra_right,
        "parts": parts.iter().map(one).collect::<Vec<_>>(),
    }));
    Ok(())
}

/// What came out, as shares.
fn figures(outcomes: &[Outcome]) -> Value {
    let summary = cells::summary(outcomes);
    json!({
        "grids": summary.cells, "right": summary.right, "expected_penalty": summary.expected,
        "mean_penalty": summary.mean, "worst_penalty": summary.worst,
        "squares_right": cells::squares_right(outcomes), "gain_over_squares": summary.gain,
    })
}

/// Prints a row, with the thesis's figures where its layouts compete; its gain is that on grids
/// drawn anywhere, with 64 nodes.
fn report(machine: &str, nodes: &str, drawn: &str, by: By, outcomes: &[Outcome], printed: Option<f64>) {
    let summary = cells::summary(outcomes);
    let thesis = PLATFORMS.iter().find(|(name, _)| *name == machine && by != By::All).map(|(_, all)| *all);
    let figure = |at: usize| {
        let value = thesis.map(|all| all[at]).filter(|value| value.is_finite());
        value.map_or("-".to_owned(), |value| format!("{value} %"))
    };
    let expected = format!("{:.4} %", 100.0 * summary.expected);
    let squares = cells::squares_right(outcomes).map_or("-".to_owned(), per_cent);
    let gain = if drawn == Drawn::Anywhere.name() && printed.is_some() { figure(4) } else { "-".into() };
    println!(
        "| {machine} | {nodes} | {drawn} | {} | {} | {} | {} | {} | {} | {} | {} | {expected} | {} | {squares} | {} | {} | {gain} |",
        by.name(),
        summary.cells,
        per_cent(summary.right),
        figure(0),
        per_cent(summary.mean),
        figure(1),
        per_cent(summary.worst),
        figure(2),
        figure(3),
        per_cent(summary.gain),
        printed.map_or("-".to_owned(), per_cent)
    );
}
