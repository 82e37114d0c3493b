//! `specc compare`: the changes between two runs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use strata_model::set::Verdict::Failed;
use strata_model::{
    ModelSet, Platform, Sha256, SpecId, count, grouped, kind_text, percent, rounded, sha256_hex,
};
use strata_screen::{Failure, print, shortened, tell, width, wrapped};

use super::args::{Compare, CompareHow, Reading};
use super::values::json_values;
use super::{choose, import_export, race, thresholds};
use crate::compare::{self, By, Change, LibraryChange, LineChange, ModelChange, Models, Part, Run, Verdict};
use crate::race::NAMED;
use crate::thresholds::intervals::Crossover;

const SAMPLES: &str = "samples.txt";
const MODELS: &str = "models.toml";

/// A ratio above this is printed as a factor, not as a percentage.
const MANY: f64 = 2.0;

/// The exit status if `--fail-above` can judge no model.
const NOTHING_JUDGED: u8 = 4;

/// `specc compare`.
pub(super) fn compare(asked: &Compare) -> Result<(), Failure> {
    let Compare { before, after, run, how, race } = asked;
    if *run {
        return race::race([before, after.as_ref().unwrap_or(before)], race, how);
    }
    let Some(after) = after else { return Err(Failure::Usage("the run after is missing".into())) };
    runs(&load(Path::new(before))?, &load(Path::new(after))?, how)
}

/// Compares two runs, prints the changes, and fails if they are greater than allowed.
///
/// # Errors
/// The runs have nothing in common, or times are longer than allowed.
pub fn runs(before: &Run, after: &Run, how: &CompareHow) -> Result<(), Failure> {
    report([before, after], compare::models(before, after).map_err(Failure::Usage)?, None, how)
}

/// Prints the changes of models and those of choices, and fails if times are longer than allowed;
/// of what was measured in rounds with what all of them share.
pub(super) fn report(
    [before, after]: [&Run; 2],
    models: Models,
    rounds: Option<Option<String>>,
    how: &CompareHow,
) -> Result<(), Failure> {
    let warnings = warnings(before, after, &models);
    let compared = Compared {
        models,
        libraries: compare::libraries(before, after).map_err(Failure::Usage)?,
        code: Code::of(before, after),
        common: None,
        warnings,
    };
    let is_same = rounds.is_some() && matches!(compared.code, Code::Same(_));
    let compared = Compared { common: rounds.unwrap_or_else(|| compared.shared()), ..compared };
    // What then differs is how it was built, or the machine.
    let judged = how.fail_above.filter(|_| !is_same);
    let too_slow = judged.map_or(Vec::new(), |share| compared.slower(share));
    if how.json {
        let mut value = compared.json();
        value["fails"] = json!(!too_slow.is_empty());
        print(value)?;
    } else {
        compared.warnings.iter().for_each(|warning| tell!("warning: {warning}"));
        print(compared.screen([before, after], width()))?;
    }
    match (too_slow.is_empty(), how.fail_above) {
        (false, Some(share)) => Err(Failure::Fault(slower_text(share, &too_slow))),
        (true, Some(_))
            if compared.models.changes.iter().all(|one| one.whole.verdict == Verdict::Unknown) =>
        {
            let models = count(compared.models.changes.len(), "model", "models");
            let why = "too few points of both, and too few repeats";
            Err(Failure::Stage(NOTHING_JUDGED, format!("no change of {models} can be told: {why}")))
        }
        _ => Ok(()),
    }
}

/// Loads a run from a folder with samples or models, or from such a file, with the files beside it
/// that belong to it.
///
/// An unreadable file is wrong usage here, because exit status 1 means that times got worse.
fn load(path: &Path) -> Result<Run, Failure> {
    read(path).map_err(|failure| match failure {
        Failure::Fault(why) => Failure::Usage(why),
        Failure::Machine(why) if !path.exists() => {
            Failure::Machine(format!("{why}; `compare --run` takes commands"))
        }
        other => other,
    })
}

fn read(path: &Path) -> Result<Run, Failure> {
    let name = path.display().to_string();
    if path.is_dir() {
        let there = |file: &str| Some(path.join(file)).filter(|file| file.is_file());
        let (samples, models) = (there(SAMPLES), there(MODELS));
        if samples.is_none() && models.is_none() {
            return Err(Failure::Usage(format!(
                "{name} has neither {SAMPLES} nor {MODELS}: name a folder that `specc calibrate` wrote, or a file"
            )));
        }
        return load_files(name, samples, models);
    }
    let is_set =
        std::fs::read(path).map_err(|error| Failure::file(path, error))?.starts_with(b"strata-models");
    if is_set {
        return load_files(name, None, Some(path.to_owned()));
    }
    let models = path.with_file_name(MODELS);
    let mut run = load_files(name, Some(path.to_owned()), None)?;
    let digest = std::fs::read(path).map(|bytes| sha256_hex(&bytes));
    if let (Ok(set), Ok(digest)) = (choose::read(&models), digest)
        && set.samples_sha256 == digest
    {
        run.evidence = thresholds::evidence(&models, &set, Some(path))?;
        run.set = Some(set);
    }
    Ok(run)
}

fn load_files(name: String, samples: Option<PathBuf>, models: Option<PathBuf>) -> Result<Run, Failure> {
    let mut run = Run { name, ..Run::default() };
    if let Some(models) = models {
        let set = choose::read(&models)?;
        run.evidence = thresholds::evidence(&models, &set, None)?;
        run.samples.clone_from(&run.evidence.samples);
        run.set = Some(set);
    }
    if let Some(samples) = samples {
        let imported = import_export::samples(&samples, &Reading::default(), &mut Sha256::default())?;
        imported.notes.iter().for_each(|note| tell!("warning: {note}"));
        run.samples = Some(imported.samples);
    }
    Ok(run)
}

/// Differences of the runs that may explain the changes, one message each.
fn warnings(before: &Run, after: &Run, models: &Models) -> Vec<String> {
    let mut warnings = Vec::new();
    let [old, new] = [before, after].map(platform);
    if let Some(difference) = old.zip(new).and_then(|(old, new)| old.difference(new)) {
        warnings.push(format!("the runs are of different machines or settings: {difference}"));
    }
    let [old, new] = [before, after].map(spec);
    if let Some((old, new)) = old.zip(new)
        && old.sha256 != new.sha256
    {
        warnings.push(format!(
            "the specs differ, {} in {} and {} in {}: the two files may measure different things",
            old.path, before.name, new.path, after.name
        ));
    }
    if models.changes.iter().any(|one| one.by == By::Repeats) {
        warnings.push(
            "repeats of one run do not show what differs between two runs of the same code: give several runs of \
             each in one file"
                .to_owned(),
        );
    }
    for run in [before, after] {
        let failed = run.set.iter().flat_map(|set| &set.models);
        let failed: Vec<&str> = failed.filter(|one| one.verdict == Failed).map(|one| &*one.name).collect();
        if !failed.is_empty() {
            let names = failed.join("`, `");
            warnings.push(format!(
                "`{names}` of {} failed verification: what is predicted may be wrong",
                run.name
            ));
        }
        let busy = run.samples.as_ref().map_or(0.0, |samples| samples.busy);
        let busy = busy.max(run.set.as_ref().map_or(0.0, |set| set.busy));
        if busy > 0.0 {
            warnings
                .push(format!("other programs kept {busy:.1} cores busy while {} was measured", run.name));
        }
    }
    warnings
}

fn platform(run: &Run) -> Option<&Platform> {
    let measured = run.samples.as_ref().and_then(|samples| samples.platform.as_ref());
    measured.or_else(|| run.set.as_ref()?.platform.as_ref())
}

fn spec(run: &Run) -> Option<&SpecId> {
    let measured = run.samples.as_ref().and_then(|samples| samples.spec.as_ref());
    measured.or_else(|| run.set.as_ref()?.spec.as_ref())
}

/// Whether the measured sources are the same in both runs.
#[derive(Clone)]
pub(super) enum Code {
    Same(String),
    Differs([String; 2]),
    Unknown,
}

impl Code {
    fn of(before: &Run, after: &Run) -> Self {
        let known = |run: &Run| {
            let hash = run.set.as_ref().map(|set: &ModelSet| set.code_sha256.clone()).unwrap_or_default();
            (!hash.is_empty()).then(|| hash.get(..8).unwrap_or(&hash).to_owned())
        };
        match [before, after].map(known) {
            [Some(old), Some(new)] if old == new => Self::Same(old),
            [Some(old), Some(new)] => Self::Differs([old, new]),
            _ => Self::Unknown,
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Same(hash) => Some(format!("the code measured is the same ({hash})")),
            Self::Differs([old, new]) => {
                Some(format!("the code measured differs: {old} before, {new} after"))
            }
            Self::Unknown => None,
        }
    }
}

/// The results of the comparison.
#[derive(Clone)]
pub(super) struct Compared {
    pub(super) models: Models,
    pub(super) libraries: Vec<LibraryChange>,
    pub(super) code: Code,
    /// The change that all models share.
    pub(super) common: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl Compared {
    /// A text for each model that is slower by more than `share`: the part where it is slowest.
    pub(super) fn slower(&self, share: f64) -> Vec<String> {
        let all = self.models.changes.iter().filter_map(|model| {
            let slower = model.changes().filter(|(_, change)| change.exceeds(share));
            let (part, change) = slower.max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio))?;
            let part = part.map_or(String::new(), |part| format!(" {}", where_text(part)));
            Some(format!("`{}` is {}{part}", named(&model.model), change_text(change)))
        });
        all.collect()
    }

    pub(super) fn screen(&self, runs: [&Run; 2], width: usize) -> String {
        let mut lines = vec![(0, format!("{} compared with {}", runs[1].name, runs[0].name))];
        lines.extend(self.code.text().map(|code| (0, code)));
        lines.extend(self.model_lines());
        let mut line = |indent: usize, text: &str| lines.push((indent, text.to_owned()));
        for library in &self.libraries {
            let nodes = count(library.nodes, "node", "nodes");
            line(0, &format!("{} by {} on {nodes}", library.library, library.by));
            for one in &library.lines {
                library_lines(library, one).iter().for_each(|(indent, text)| line(*indent, text));
            }
        }
        let sets = runs.iter().filter(|run| run.set.is_some()).count();
        if sets == 1 {
            let without = if runs[0].set.is_none() { runs[0] } else { runs[1] };
            line(0, &format!("choices are not compared: there are no models of {}", without.name));
        }
        folded(&lines, width)
    }

    /// The text lines about models, each with its indentation.
    pub(super) fn model_lines(&self) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        let mut line = |indent: usize, text: String| lines.push((indent, text));
        let names =
            self.models.changes.iter().map(|one| one.model.chars().count()).max().unwrap_or(0).min(24);
        for one in &self.models.changes {
            let ModelChange { model, by, whole, parts } = one;
            let model = named(model);
            let text = |part: &Part| format!("{} {}", change_text(&part.change), where_text(part));
            let mut texts: Vec<String> = parts.iter().flatten().map(text).collect();
            match by {
                By::Rounds if !texts.is_empty() => {}
                By::Rounds => texts.push(change_text(whole)),
                by => texts.insert(0, format!("{}, {}", change_text(whole), by_text(*by, whole.points))),
            }
            for (place, text) in texts.into_iter().enumerate() {
                match place {
                    0 => line(2, format!("{model:names$}  {text}")),
                    _ => line(names + 4, text),
                }
            }
        }
        self.models.left_out.iter().for_each(|left_out| line(2, format!("not compared: {left_out}")));
        if let Some(common) = &self.common {
            line(
                2,
                format!(
                    "all alike, {common}: the machine may be, or how it was built, rather than one change of the code"
                ),
            );
        }
        lines
    }

    /// The common change of all models, if they changed alike.
    fn shared(&self) -> Option<String> {
        let all: Vec<&Change> = self.models.changes.iter().map(|one| &one.whole).collect();
        let first = all.first().map(|change| change.verdict)?;
        let changed = matches!(first, Verdict::Slower | Verdict::Faster);
        let mut ratios: Vec<f64> = all.iter().map(|change| change.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let middle = ratios.get(ratios.len() / 2).copied()?;
        let holds = |change: &&Change| {
            change.verdict == first
                && change.interval.is_some_and(|(low, high)| low <= middle && middle <= high)
        };
        (changed && all.len() >= 3 && all.iter().all(holds)).then(|| amount(middle))
    }

    pub(super) fn json(&self) -> Value {
        let models = self.models.changes.iter().map(|one| {
            let mut value = json!(one);
            value["changed"] = json!(one.is_changed());
            value["parts"] = json!(one.parts.iter().flatten().collect::<Vec<_>>());
            value
        });
        json!({
            "code": match self.code { Code::Same(_) => json!("same"), Code::Differs(_) => json!("differs"), _ => Value::Null },
            "warnings": self.warnings,
            "models": models.collect::<Vec<_>>(),
            "not_compared": self.models.left_out,
            "libraries": self.libraries.iter().map(library_json).collect::<Vec<_>>(),
        })
    }
}

/// A name, shortened where it would not fit on a line.
pub(super) fn named(name: &str) -> String {
    shortened(name, NAMED)
}

/// The message on what is slower by more than `share`, a line each if there are several.
pub(super) fn slower_text(share: f64, slower: &[String]) -> String {
    let between = if slower.len() == 1 { " " } else { "\n  " };
    format!("slower by more than {}:{between}{}", percent(share), slower.join("\n  "))
}

/// Lines with their indentation, wrapped.
pub(super) fn folded(lines: &[(usize, String)], width: usize) -> String {
    let fold = |(indent, text): &(usize, String)| {
        wrapped(&format!("{}{text}", " ".repeat(*indent)), width, &" ".repeat(indent + 4))
    };
    lines.iter().map(fold).collect::<Vec<_>>().join("\n")
}

/// The change as text: `3.1 % slower`.
pub(super) fn amount(ratio: f64) -> String {
    match ratio {
        ratio if ratio > MANY => format!("{} times as long", rounded(ratio, 2)),
        ratio if ratio >= 1.0 => format!("{} slower", share(ratio - 1.0)),
        ratio => format!("{} faster", share(1.0 - ratio)),
    }
}

/// The change with its interval: `3.1 % slower (2.2 % to 4 %)`.
pub(super) fn change_text(change: &Change) -> String {
    let Change { ratio, interval, verdict, .. } = change;
    let Some((low, high)) = *interval else { return format!("{}, too few points to tell", amount(*ratio)) };
    let ends = (low, high);
    let [low, high] = match verdict {
        Verdict::Slower if *ratio > MANY => [low, high].map(|end| rounded(end, 2).to_string()),
        Verdict::Faster => [1.0 - high, 1.0 - low].map(share),
        _ => [low - 1.0, high - 1.0].map(share),
    };
    match verdict {
        // Over all models together noise may make such a change.
        Verdict::Same if ends.0 > 1.0 || ends.1 < 1.0 => {
            format!("perhaps {} ({low} to {high})", amount(*ratio))
        }
        // Beyond a factor of four nothing is known.
        Verdict::Same if ends.1 > 4.0 * ends.0 => format!("not known ({low} to {high})"),
        Verdict::Same | Verdict::Unknown => format!("no change ({low} to {high})"),
        _ => format!("{} ({low} to {high})", amount(*ratio)),
    }
}

/// A share in percent.
fn share(value: f64) -> String {
    percent((value * 1e4).round() / 1e4 + 0.0)
}

fn by_text(by: By, points: usize) -> String {
    let points = count(points, "point", "points");
    match by {
        By::Samples => format!("at {points} of both"),
        By::Predictions => format!("at {points}, one of the times predicted"),
        By::Models => format!("at {points}, both times predicted"),
        By::Repeats | By::Rounds => format!("by repeats at {points}"),
    }
}

/// The range of a part: `where n >= 4,096`.
pub(super) fn where_text(part: &Part) -> String {
    let (sign, value) = match (part.from, part.to) {
        (Some(from), _) => (">=", from),
        (None, to) => ("<=", to.unwrap_or_default()),
    };
    format!("where {} {sign} {}", part.input, number(value))
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { grouped(value, ',') } else { grouped(rounded(value, 5), ',') }
}

/// The ways with their crossovers: `few < 401 < some`.
fn chain(ways: &[String], crossovers: &[Crossover]) -> String {
    if crossovers.len() + 1 != ways.len() {
        return ways.join(", ");
    }
    let mut text = ways.first().cloned().unwrap_or_default();
    for (way, crossover) in ways.iter().skip(1).zip(crossovers) {
        text += &format!(" < {} < {way}", number(crossover.at));
    }
    text
}

/// The text lines about choices along a line, each with its indentation.
fn library_lines(library: &LibraryChange, one: &LineChange) -> Vec<(usize, String)> {
    let text = |name: &str, value: f64| match library.kinds.contains_key(name) {
        true => kind_text(&library.kinds, name, value),
        false => number(value),
    };
    let held: Vec<String> =
        one.at.iter().map(|(name, value)| format!("{name} = {}", text(name, *value))).collect();
    let at = if held.is_empty() { String::new() } else { format!("{}: ", held.join(", ")) };
    let now = chain(&one.after.0, &one.after.1);
    let how = match (one.is_changed(), one.differs()) {
        (true, _) => String::new(),
        (false, Some(how)) => format!("{how}, "),
        (false, None) => return vec![(2, format!("{at}as before, {now}"))],
    };
    let before = chain(&one.before.0, &one.before.1);
    let mut lines = vec![(2, format!("{at}{how}{now}")), (4, format!("before {before}"))];
    if let Some((mean, most, at)) = one.kept {
        lines.push((
            4,
            format!(
                "the choices before lose {} on average, up to {} at {} = {}",
                percent(mean),
                percent(most),
                library.by,
                number(at)
            ),
        ));
    }
    lines
}

fn library_json(library: &LibraryChange) -> Value {
    let side = |(ways, crossovers): &(Vec<String>, Vec<Crossover>)| {
        let one = |crossover: &Crossover| json!({ "at": crossover.at, "interval": crossover.interval.map(|(low, high)| [low, high]) });
        json!({ "ways": ways, "crossovers": crossovers.iter().map(one).collect::<Vec<_>>() })
    };
    let line = |one: &LineChange| {
        let held = json_values(&library.kinds, one.at.iter().map(|(name, value)| (&**name, *value)));
        let moved = one.crossovers.iter().map(|moved| {
            let [from, to] = &moved.between;
            json!({ "from": from, "to": to, "before": moved.at[0], "after": moved.at[1], "moved": moved.moved })
        });
        json!({
            "at": held,
            "changed": one.is_changed(),
            "perhaps": !one.is_changed() && one.differs().is_some(),
            "before": side(&one.before),
            "after": side(&one.after),
            "crossovers": moved.collect::<Vec<_>>(),
            "kept_loses": one.kept.map(|(mean, most, at)| json!({ "mean": mean, "most": most, "at": at })),
        })
    };
    json!({
        "library": library.library,
        "by": library.by,
        "nodes": library.nodes,
        "lines": library.lines.iter().map(line).collect::<Vec<_>>(),
    })
}
