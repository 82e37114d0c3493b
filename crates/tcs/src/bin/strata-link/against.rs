//! Whether a description still promises what a report has promised.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use strata_screen::Failure;
use strata_tcs::Report;

/// A share by which a promise may differ: the rounding of its number.
const ROUNDING: f64 = 1e-9;

/// Which way a number is worse.
#[derive(Clone, Copy)]
enum Better {
    More,
    Less,
}

/// The promises of a report by what they are of, in words.
type Promises = BTreeMap<String, (f64, Better)>;

/// The promises of the report in a file that a newer one does not keep, in words.
pub(crate) fn worse(path: &Path, report: &Report) -> Result<Vec<String>, Failure> {
    let text = fs::read(path).map_err(|error| Failure::file(path, error))?;
    let no = |why: String| Failure::Fault(format!("{}: no report of `--json`: {why}", path.display()));
    let old: Value = serde_json::from_slice(&text).map_err(|error| no(error.to_string()))?;
    let new: Value = serde_json::from_str(&report.json()).map_err(|error| no(error.to_string()))?;
    let old = promises(&old).ok_or_else(|| no("tasks, connections or barriers are missing".to_owned()))?;
    let new = promises(&new).unwrap_or_default();
    let kept = |(what, (old, better)): (&String, &(f64, Better))| {
        let Some((new, _)) = new.get(what) else { return Some(format!("{what}: there is none any more")) };
        let worse = match better {
            Better::More => *new < old * (1.0 - ROUNDING),
            Better::Less => *new > old * (1.0 + ROUNDING),
        };
        worse.then(|| format!("{what}: {new:.2}, it was {old:.2}"))
    };
    Ok(old.iter().filter_map(kept).collect())
}

fn promises(report: &Value) -> Option<Promises> {
    let mut all = Promises::new();
    let mhz = report.get("mhz")?.as_f64()?;
    for task in report.get("tasks")?.as_array()? {
        let name = task.get("task")?.as_str()?;
        for what in ["start", "switch", "end"] {
            if let Some(clocks) = task.get(what).and_then(Value::as_f64) {
                all.insert(format!("{what} of `{name}` in µs"), (clocks / mhz, Better::Less));
            }
        }
        let external = task.get("external").into_iter().map(|list| (list, "external".to_owned()));
        let sets = task.get("sets").and_then(Value::as_array).into_iter().flatten();
        let sets = sets.filter_map(|set| {
            let name = format!("set `{}`", set.get("set")?.as_str()?);
            Some((set.get("connections")?, name))
        });
        for (list, place) in sets.chain(external) {
            for connection in list.as_array().into_iter().flatten() {
                let end = |end: &str| connection.get(end).and_then(Value::as_u64);
                let of = format!("`{name}`, {place}, {} -> {}", end("from")?, end("to")?);
                let number = |what: &str| connection.get(what).and_then(Value::as_f64);
                // Where nothing is guaranteed, rate and greatest latency are null.
                if let Some(rate) = number("rate") {
                    add(&mut all, format!("{of}: MB/s"), (rate / 1e6, Better::More));
                }
                for (field, what) in [("latency", "latency"), ("bound", "greatest latency")] {
                    if let Some(clocks) = number(field) {
                        add(&mut all, format!("{of}: {what} in µs"), (clocks / mhz, Better::Less));
                    }
                }
            }
        }
    }
    for barrier in report.get("barriers")?.as_array()? {
        let (cells, clocks) = (barrier.get("cells")?, barrier.get("clocks")?.as_f64()?);
        add(&mut all, format!("barrier of the cells {cells} in µs"), (clocks / mhz, Better::Less));
    }
    Some(all)
}

/// Adds a promise; of several connections between the same cells the later ones are numbered.
fn add(all: &mut Promises, what: String, promise: (f64, Better)) {
    let name = |number: usize| if number == 1 { what.clone() } else { format!("{what} ({number})") };
    let free = (1..).map(name).find(|name| !all.contains_key(name));
    all.insert(free.unwrap_or_default(), promise);
}
