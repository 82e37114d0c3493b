//! `specc predict --on`: times and choices on a machine of which only the costs are known.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use strata_model::set::{Kind, Resolved};
use strata_model::{ModelSet, Prediction, Unit, count, number_text, percent};
use strata_screen::{Failure, columns_of, print, tell, width, wrapped};
use strata_select::choice::Outcome;
use strata_sim::platform::SimulatedMachine;

use super::args::Elsewhere;
use super::choosing::{no_such, placed, read, values};
use super::platforms;
use super::values::Layout;
use crate::competition::Competition;
use crate::cross::{COSTS, Costs, Predicted, predict};

/// Shares of a time that are told.
const NOTABLE: f64 = 0.05;

/// Intervals wider than this factor either way are not reported.
const UNKNOWN: f64 = 100.0;

/// A set of models, and the machine that it is of.
struct Known {
    path: PathBuf,
    set: ModelSet,
    machine: SimulatedMachine,
    /// Of these nodes.
    costs: Costs,
    resolved: Resolved,
    /// If a library is asked for.
    competition: Option<Competition>,
}

/// A candidate by its place, with its parameters; of a model the only one.
type Way = (usize, Vec<i64>);

/// A way, what it would take, and its times on the known machines.
struct Row {
    way: Way,
    label: String,
    times: Vec<f64>,
    predicted: Predicted,
}

/// `specc predict --on`.
pub(super) fn elsewhere(first: &Path, name: &str, asked: &Elsewhere) -> Result<(), Failure> {
    let Some(on) = &asked.on else { return Ok(()) };
    if asked.with.is_empty() {
        return Err(Failure::Usage(
            "--on predicts from the models of two machines or more: name a further set by `--with FILE`"
                .into(),
        ));
    }
    let here = SimulatedMachine::find(on).map_err(platforms::failure)?;
    let mut sets = Vec::new();
    for source in std::iter::once(first).chain(asked.with.iter().map(PathBuf::as_path)) {
        sets.push(source_of(source)?);
    }
    let nodes = asked.nodes.map_or_else(|| sets[0].1.nodes(), Layout::nodes);
    let costs = |machine: &SimulatedMachine| {
        Costs::of(machine, nodes).map_err(|error| Failure::Usage(format!("{}: {error}", machine.name)))
    };
    let at = costs(&here)?;
    let is_library = sets[0].1.library(name).is_some();
    let mut known = Vec::new();
    for (path, set, machine) in sets {
        let fault = |why: String| Failure::Fault(format!("{}: {why}", path.display()));
        let resolved = set.resolve().map_err(|error| fault(error.to_string()))?;
        let competition = if is_library && set.library(name).is_some() {
            Some(Competition::new(&set, name).map_err(|error| fault(error.to_string()))?.on(Some(nodes)))
        } else if set.model(name).is_some_and(|model| !is_library && model.kind != Kind::Unmeasured) {
            None
        } else {
            let libraries = set.libraries.iter().map(|library| library.name.as_str());
            let models = set.models.iter().filter(|model| !is_library && model.kind != Kind::Unmeasured);
            let all = libraries.chain(models.map(|model| model.name.as_str()));
            return Err(no_such(&path, if is_library { "library" } else { "model" }, name, all));
        };
        let costs = costs(&machine)?;
        if let Some(Known { path: other, .. }) = known.iter().find(|one: &&Known| one.costs == costs) {
            return Err(Failure::Usage(format!(
                "{} and {} are of machines with the same costs: name the platform file of each as `FILE@MACHINE`",
                other.display(),
                path.display()
            )));
        }
        known.push(Known { path, set, machine, costs, resolved, competition });
    }
    alike(&known, name)?;
    let names = inputs(&known[0], name);
    let what = format!("{} `{name}`", if is_library { "library" } else { "model" });
    let given = placed(&known[0].set, first, &names, &asked.inputs, asked.nodes)?;
    let given = values(&known[0].set, &what, &names, &given)?;
    let rows = rows(&known, name, nodes, &given, &at);
    if rows.is_empty() {
        let of: Vec<String> = known.iter().map(|one| one.path.display().to_string()).collect();
        return Err(Failure::Fault(format!(
            "`{name}` is not predicted there on {} by all of {}: `specc show` says what was measured",
            count(nodes, "node", "nodes"),
            of.join(", ")
        )));
    }
    let place: Vec<String> =
        names.iter().zip(&given).map(|(name, value)| format!("{name}={}", number_text(*value))).collect();
    let screen = Screen { name, nodes, place, here: &here, at, known: &known, rows };
    if asked.json {
        return print(screen.json());
    }
    print(screen.text(width()))?;
    if here.kernels.is_empty() && here.cpu.kernel_factor == 1.0 {
        tell!(
            "specc: {on} has no factors of kernels, so local work is taken to be as fast as where they were \
             calibrated; `specc platform kernels` makes them from a minute of measuring"
        );
    }
    Ok(())
}

/// The set, and the machine that it is of: that of `FILE@MACHINE`, or the built-in platform on which
/// it was measured.
fn source_of(source: &Path) -> Result<(PathBuf, ModelSet, SimulatedMachine), Failure> {
    let text = source.to_string_lossy();
    let (path, machine) = match text.rsplit_once('@') {
        Some((path, machine)) if !source.exists() => (PathBuf::from(path), Some(machine.to_owned())),
        _ => (source.to_owned(), None),
    };
    let set = read(&path)?;
    if let Some(machine) = machine {
        let machine = SimulatedMachine::find(&machine).map_err(platforms::failure)?;
        return Ok((path, set, machine));
    }
    let built_in = set.platform.as_ref().and_then(|platform| {
        let machine = SimulatedMachine::named(platform.transport.strip_prefix("sim:")?).ok()?;
        platform.cpu.contains(&machine.sha256).then_some(machine)
    });
    match built_in {
        Some(machine) => Ok((path, set, machine)),
        None => Err(Failure::Usage(format!(
            "the costs of the machine of {0} are not known: name its platform file, `{0}@FILE`, which `comet` writes \
             there",
            path.display()
        ))),
    }
}

/// Refuses sets of libraries or models that differ.
fn alike(known: &[Known], name: &str) -> Result<(), Failure> {
    let of = |one: &Known| {
        let candidates = one
            .competition
            .as_ref()
            .map(|competition| competition.candidates().iter().map(|row| row.name).collect::<Vec<_>>());
        (inputs(one, name), candidates.unwrap_or_default())
    };
    let (names, candidates) = of(&known[0]);
    for other in &known[1..] {
        let (others, rivals) = of(other);
        let differ = if others != names {
            Some(("inputs", names.join(", "), others.join(", ")))
        } else if rivals != candidates {
            Some(("candidates", candidates.join(", "), rivals.join(", ")))
        } else {
            None
        };
        if let Some((what, one, two)) = differ {
            return Err(Failure::Usage(format!(
                "`{name}` is not the same in {} ({what} {one}) and {} ({two}): calibrate both by one spec",
                known[0].path.display(),
                other.path.display()
            )));
        }
    }
    let unit = |one: &Known| one.set.model(name).map_or(Unit::SECONDS, |model| model.unit.clone());
    match known.iter().find(|one| one.competition.is_none() && !unit(one).is_seconds()) {
        Some(one) => {
            Err(Failure::Usage(format!("`{name}` is in {}: only times are predicted", unit(one).name())))
        }
        None => Ok(()),
    }
}

fn inputs(known: &Known, name: &str) -> Vec<String> {
    match (&known.competition, known.set.model(name)) {
        (Some(competition), _) => competition.inputs().to_vec(),
        (None, Some(model)) => model.inputs.iter().map(|input| input.name.clone()).collect(),
        (None, None) => Vec::new(),
    }
}

/// The predictions of all that is the best of its candidate on one of the machines and has a time on
/// all, the fastest first.
fn rows(known: &[Known], name: &str, nodes: usize, inputs: &[f64], here: &Costs) -> Vec<Row> {
    let mut ways: Vec<Way> = Vec::new();
    for one in known {
        let Some(competition) = &one.competition else {
            ways = vec![(0, Vec::new())];
            break;
        };
        let Ok(choice) = competition.choose(inputs, None) else { continue };
        for (candidate, (_, outcome)) in choice.outcomes().enumerate() {
            let parameters = match outcome {
                Outcome::Taken => choice.parameters,
                Outcome::Slower(_, parameters) => parameters,
                _ => continue,
            };
            let way = (candidate, parameters.to_vec());
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
    }
    let costs: Vec<Costs> = known.iter().map(|one| one.costs).collect();
    let row = |way: Way| {
        let time = |one: &Known| match &one.competition {
            Some(competition) => {
                let found = competition.prediction(way.0, inputs, &way.1)?;
                found.times(competition.expected(way.0, inputs, &way.1)? / found.seconds.get())
            }
            None => one.resolved.predict(name, nodes, inputs),
        };
        let times: Vec<Prediction> = known.iter().map(time).collect::<Option<_>>()?;
        let predicted = predict(&costs, &times, here)?;
        let times = times.iter().map(|time| time.seconds.get()).collect();
        let label = known[0].competition.as_ref().map_or(name.to_owned(), |competition| {
            let declared = &competition.candidates()[way.0];
            let named =
                declared.declared.iter().zip(&way.1).map(|(one, value)| format!("{} = {value}", one.name));
            let named: Vec<String> = named.collect();
            if named.is_empty() {
                declared.name.to_owned()
            } else {
                format!("{} ({})", declared.name, named.join(", "))
            }
        });
        Some(Row { way, label, times, predicted })
    };
    let mut rows: Vec<Row> = ways.into_iter().filter_map(row).collect();
    rows.sort_by(|a, b| a.predicted.seconds.total_cmp(&b.predicted.seconds));
    // Of each candidate the best.
    let mut seen = Vec::new();
    rows.retain(|row| {
        !seen.contains(&row.way.0) && {
            seen.push(row.way.0);
            true
        }
    });
    rows
}

struct Screen<'a> {
    name: &'a str,
    nodes: usize,
    /// The inputs, `keys=100`.
    place: Vec<String>,
    here: &'a SimulatedMachine,
    at: Costs,
    known: &'a [Known],
    rows: Vec<Row>,
}

/// How predictions for each known machine, left out, compare with its models.
struct LeftOut {
    right: usize,
    lost: f64,
    error: f64,
}

impl Screen<'_> {
    fn text(&self, width: usize) -> String {
        let best = &self.rows[0];
        let amount = |seconds: f64| Unit::SECONDS.amount(seconds);
        let is_library = self.known[0].competition.is_some();
        let by = if is_library { format!(", by {}", best.label) } else { String::new() };
        let place =
            if self.place.is_empty() { String::new() } else { format!(" at {}", self.place.join(" ")) };
        let unsure = if best.predicted.within < UNKNOWN { "" } else { "; not to be relied on" };
        let head = format!(
            "{}{place} on {} of {}: {}{by}{unsure}",
            self.name,
            count(self.nodes, "node", "nodes"),
            self.here.name,
            amount(best.predicted.seconds)
        );
        let mut lines = vec![["".to_owned(), "time".to_owned(), "95 of 100 cases".to_owned()]];
        for row in &self.rows {
            let Predicted { seconds, within, .. } = row.predicted;
            let interval = if within < UNKNOWN {
                format!("{} to {}", amount(seconds / within), amount(seconds * within))
            } else {
                "unknown".to_owned()
            };
            lines.push([row.label.clone(), amount(seconds), interval]);
        }
        let column = |at: usize| lines.iter().map(|line| columns_of(&line[at])).max().unwrap_or(0);
        let (first, second) = (column(0), column(1));
        let mut text = wrapped(&head, width, "  ") + "\n";
        for [label, time, interval] in &lines {
            text += &format!("\n{label:first$}  {time:>second$}  {interval}");
        }
        let LeftOut { right, lost, error } = self.left_out();
        let machines = self.known.len();
        let choices = if is_library {
            format!("{right} of {machines} choices are right, {} lost in the mean, and ", percent(lost))
        } else {
            String::new()
        };
        let sure = format!(
            "how sure: predicted from the others, each of the {machines} machines left out in turn: {choices}times \
             err by {}",
            percent(error)
        );
        text += &format!("\n\n{}", wrapped(&sure, width, "  "));
        let mut shares: Vec<(usize, f64)> = best.predicted.shares.iter().copied().enumerate().collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let told = shares.iter().filter(|(_, share)| *share >= NOTABLE);
        let told: Vec<String> =
            told.map(|(at, share)| format!("{} {:.0} %", COSTS[*at].0, 100.0 * share)).collect();
        let near = self
            .known
            .iter()
            .min_by(|a, b| a.costs.distance(&self.at).total_cmp(&b.costs.distance(&self.at)));
        let near = near.map_or(String::new(), |one| format!("; the nearest machine is {}", one.machine.name));
        let why = format!("why: of {} {}{near}", best.label, told.join(", "));
        text += &format!("\n{}", wrapped(&why, width, "  "));
        let beyond = self.beyond();
        if !beyond.is_empty() {
            let line = format!("beyond the known machines: {}", beyond.join(", "));
            text += &format!("\n{}", wrapped(&line, width, "  "));
        }
        text
    }

    fn left_out(&self) -> LeftOut {
        let machines = self.known.len();
        let (mut right, mut lost, mut error) = (0, 0.0, 0.0);
        for machine in 0..machines {
            let least = |time: &dyn Fn(&Row) -> f64| {
                self.rows
                    .iter()
                    .min_by(|a, b| time(a).total_cmp(&time(b)))
                    .map_or(f64::NAN, |row| row.times[machine])
            };
            let chosen = least(&|row| row.times[machine] * row.predicted.left_out[machine]);
            let fastest = least(&|row| row.times[machine]);
            right += usize::from(chosen <= fastest);
            lost += (chosen / fastest - 1.0) / machines as f64;
            let logs = self.rows.iter().map(|row| row.predicted.left_out[machine].ln().abs());
            error += logs.sum::<f64>() / (machines * self.rows.len()) as f64;
        }
        LeftOut { right, lost, error: error.exp_m1() }
    }

    /// Costs that are less or greater than those of all known machines.
    fn beyond(&self) -> Vec<String> {
        let one = |(at, (name, _)): (usize, &(&str, &str))| {
            let of = |costs: &Costs| costs.seconds()[at];
            let all = || self.known.iter().map(|one| of(&one.costs));
            let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
            let here = of(&self.at);
            if here < 0.99 * least {
                Some(format!("{name} ({:.2} of the least)", here / least))
            } else if here > 1.01 * most {
                Some(format!("{name} ({:.1} times the most)", here / most))
            } else {
                None
            }
        };
        COSTS.iter().enumerate().filter_map(one).collect()
    }

    fn json(&self) -> Value {
        let row = |row: &Row| {
            let Predicted { seconds, within, shares, left_out } = &row.predicted;
            let shares =
                COSTS.iter().zip(shares).map(|((name, _), share)| ((*name).to_owned(), json!(share)));
            json!({
                "candidate": row.label,
                "seconds": seconds,
                "lowest": seconds / within,
                "highest": seconds * within,
                "shares": shares.collect::<serde_json::Map<_, _>>(),
                "left_out": left_out,
            })
        };
        let LeftOut { right, lost, error } = self.left_out();
        json!({
            "name": self.name,
            "on": self.here.name,
            "nodes": self.nodes,
            "machines": self.known.iter().map(|one| one.machine.name.clone()).collect::<Vec<_>>(),
            "candidates": self.rows.iter().map(row).collect::<Vec<_>>(),
            "left_out": { "right": right, "lost": lost, "error": error },
            "beyond": self.beyond(),
        })
    }
}

/// `specc platform kernels`: the factors of kernels for a platform file, from models of them on that
/// machine and on the one that the built-in models are of.
pub(super) fn kernels(there: &Path, reference: &Path) -> Result<(), Failure> {
    let (one, other) = (read(there)?, read(reference)?);
    let mut lines = vec!["[kernels]".to_owned()];
    for model in one.models.iter().filter(|model| model.kind == Kind::Fitted && model.unit.is_seconds()) {
        let Some(base) = other.model(&model.name).filter(|base| base.inputs.len() == model.inputs.len())
        else {
            continue;
        };
        let ends = model.inputs.iter().zip(&base.inputs).map(|(a, b)| (a.min.max(b.min), a.max.min(b.max)));
        let ranges: Vec<((f64, f64), bool)> =
            ends.zip(&model.inputs).map(|(range, input)| (range, input.integer)).collect();
        let fault = |path: &Path| {
            let path = path.display().to_string();
            move |error: strata_model::set::SetError| Failure::Fault(format!("{path}: {error}"))
        };
        let (one, other) = (one.resolve().map_err(fault(there))?, other.resolve().map_err(fault(reference))?);
        let log = |point: Vec<f64>| {
            let time =
                |resolved: &Resolved| resolved.seconds(&model.name, 1, &point).filter(|time| *time > 0.0);
            Some((time(&one)? / time(&other)?).ln())
        };
        let logs: Vec<f64> =
            crate::advise::places(&ranges).unwrap_or_default().into_iter().filter_map(log).collect();
        if !logs.is_empty() {
            let factor = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            lines.push(format!("{} = {factor:.4}", model.name));
        }
    }
    if lines.len() == 1 {
        return Err(Failure::Usage(format!(
            "{} and {} have no model in common: both are of `specs/kernels`",
            there.display(),
            reference.display()
        )));
    }
    print(lines.join("\n"))
}
