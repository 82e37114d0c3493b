//! `specc compare --run`: two programs in turns.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use strata_interchange::{Imported, without_numbers};
use strata_model::{Sha256, count, number_text, percent, rounded};
use strata_screen::{Failure, print, tell, width};

use super::args::{CompareHow, Race, Reading, Source};
use super::compare::{Code, Compared, change_text, folded, named, slower_text, where_text};
use super::{import_export, revisions};
use crate::compare::{Change, ModelChange, Models, median};
use crate::drive::{Interrupt, shell};
use crate::race::{Judged, LEAST, Time, Times, Who, judge, schedule};
use strata_fit::bootstrap::mean;

/// The exit status where a benchmark is slower than `--fail-above` allows.
const SLOWER: u8 = 3;
/// The exit status where that could not be decided.
const UNDECIDED: u8 = 4;
const INTERRUPTED: u8 = 130;

/// The rounds with a copy of A that are made in any case.
const COPIES: usize = 2;

/// How often as many rounds are made again as there have been, until the budget is spent.
const LOOKS: u64 = 4;

/// Where as many rounds have failed and none has not, the others would, too.
const HOPELESS: usize = 3;

/// The last lines of a command that failed that are shown.
const SHOWN: usize = 5;

/// The times of a round, of A, of B and of the copy.
type Round = [Option<Times>; 3];

/// `specc compare --run`.
pub(super) fn race([a, b]: [&str; 2], args: &Race, how: &CompareHow) -> Result<(), Failure> {
    if args.results.len() > 2 {
        return Err(Failure::Usage("--results: one of both, or that of A and that of B".into()));
    }
    if args.from == Some(Source::Wall) && !args.results.is_empty() {
        return Err(Failure::Usage("--results: `--from wall` reads none".into()));
    }
    if [a, b].iter().any(|command| command.trim().is_empty()) {
        return Err(Failure::Usage("a command is empty".into()));
    }
    let seed = args.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 32);
    let here = std::env::current_dir().map_err(|error| Failure::file(Path::new("."), error))?;
    let base = args.git.as_ref().map(|base| revisions::kept(&here, base)).transpose();
    // Status 3 would say that B is slower.
    let base = base.map_err(|failure| match failure {
        Failure::Machine(why) => Failure::Usage(format!("--git: {why}")),
        other => other,
    })?;
    let before = base.as_ref().map_or(&here, |(folder, _)| folder).clone();
    let mut copy = Copied::of(a, &before);
    let commands = [(a, &before), (b, &here)];
    let interrupt = Interrupt::listen();
    let run = |who: Who, padding: usize, copy: Option<&Copied>| {
        let side = usize::from(who == Who::B);
        let (command, folder) = commands[side];
        let command = copy.filter(|_| who == Who::Copy).map_or(command, |copy| &copy.command);
        let results = args.results.get(side).or(args.results.first()).map(|results| folder.join(results));
        once(args, command, folder, results.as_deref(), padding, interrupt)
            .map_err(|why| format!("{} (`{command}`) {why}", if side == 0 { "A" } else { "B" }))
    };
    if base.is_some() {
        tell!("running A and B once, to build them");
        for who in [Who::A, Who::B] {
            run(who, 0, None).map_err(Failure::Fault)?;
        }
    }
    let rounds = args.rounds as usize;
    let (mut done, mut failed): (Vec<Round>, Vec<String>) = (Vec::new(), Vec::new());
    let (start, mut longest) = (Instant::now(), Duration::ZERO);
    // Where a race may end early, its copies have run.
    let early = rounds.div_ceil(2).max(LEAST);
    let mut parts = vec![(early, COPIES), (rounds - early, 0)];
    if how.fail_above.is_some() && args.budget.is_some() {
        // As many again, each time, as there have been.
        parts.extend((0..LOOKS).map(|look| (rounds << look, COPIES)));
    }
    let part = |(number, (length, copies)): (u64, (usize, usize))| {
        schedule(length, if args.noop { length } else { copies }, seed.wrapping_add(number))
    };
    let plan: Vec<_> = (0..).zip(parts).flat_map(part).collect();
    'rounds: for (number, slots) in (1..).zip(&plan) {
        let begun = start.elapsed();
        if interrupt.count() > 0 || args.budget.is_some_and(|budget| begun + longest > budget) {
            break;
        }
        // Each benchmark is judged where as many rounds again would follow, so seldom that it adds
        // few false alarms.
        if let Some(share) = how.fail_above
            && number > rounds
            && done.len() >= LEAST
            && (number - 1) % rounds == 0
            && ((number - 1) / rounds).is_power_of_two()
            && Shown::of(&done, Vec::new(), seed).open(share).is_empty()
        {
            break;
        }
        tell!("round {number} of {}", if number > rounds { plan.len() } else { rounds });
        let mut round = Round::default();
        for slot in slots {
            let mut ran = run(slot.who, slot.padding, copy.as_ref());
            if ran.is_err() && slot.who == Who::Copy && copy.take().is_some() {
                // A program may need what lies beside it.
                ran = run(slot.who, slot.padding, None);
            }
            match ran {
                Ok(Some(times)) => round[slot.who as usize] = Some(times),
                Ok(None) => break 'rounds,
                Err(why) => {
                    tell!("warning: round {number} does not count: {why}");
                    failed.push(format!("round {number}: {why}"));
                    if done.is_empty() && failed.len() == HOPELESS {
                        let why = format!("each of the first {HOPELESS} rounds failed, see above");
                        return Err(Failure::Fault(why));
                    }
                    if rounds < failed.len() + LEAST && done.len() < LEAST {
                        let few = rounds - failed.len();
                        return Err(Failure::Fault(format!(
                            "{few} of {rounds} rounds are left, and {LEAST} are the fewest"
                        )));
                    }
                    continue 'rounds;
                }
            }
        }
        done.push(round);
        // It ends early only if no change is reported, so that this adds no false alarm.
        if number == early
            && let Some(share) = how.fail_above
            && let early = Shown::of(&done, Vec::new(), seed)
            && done.len() >= LEAST
            && early.slower(share).is_empty()
            && early.undecided(share).is_none()
        {
            break;
        }
        longest = longest.max(start.elapsed() - begun);
    }
    let shown = Shown::of(&done, failed, seed);
    let stopped = interrupt.count() > 0;
    let few =
        |why: &str| format!("{why} after {}; {LEAST} are the fewest", count(done.len(), "round", "rounds"));
    if done.len() >= LEAST && shown.judged.benchmarks.is_empty() {
        let why = shown.judged.left_out.first().map_or("no time is above zero", |why| why);
        return Err(Failure::Stage(UNDECIDED, format!("no benchmark can be compared: {why}")));
    }
    if done.len() < LEAST {
        return Err(match stopped {
            true => Failure::Stage(INTERRUPTED, few("interrupted")),
            false => Failure::Stage(UNDECIDED, few("the budget was spent")),
        });
    }
    let outcome = how.fail_above.map(|share| (share, shown.slower(share)));
    if how.json {
        print(shown.json(outcome.as_ref().map(|(_, slower)| !slower.is_empty())))?;
    } else if args.markdown {
        print(shown.markdown())?;
    } else {
        print(shown.screen(width()))?;
    }
    let false_alarms = shown.false_alarms(how.fail_above);
    match outcome {
        _ if stopped => {
            Err(Failure::Stage(INTERRUPTED, format!("interrupted: this is of {} rounds", done.len())))
        }
        _ if !false_alarms.is_empty() => Err(Failure::Stage(
            UNDECIDED,
            format!(
                "not decided: of A against a copy of it changes are reported, too: {}",
                false_alarms.join(", ")
            ),
        )),
        Some((share, slower)) if !slower.is_empty() => {
            Err(Failure::Stage(SLOWER, slower_text(share, &slower)))
        }
        Some((share, _)) => match shown.undecided(share) {
            Some(why) => Err(Failure::Stage(UNDECIDED, why)),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// Runs a command once and reads its times; `None` where it was interrupted.
fn once(
    args: &Race,
    command: &str,
    folder: &Path,
    results: Option<&Path>,
    padding: usize,
    interrupt: Interrupt,
) -> Result<Option<Times>, String> {
    let fault = |results: &Path, error| format!("cannot begin: {}: {error}", results.display());
    let earlier = results.map(|results| Earlier::at(results).map_err(|error| fault(results, error)));
    let earlier = earlier.transpose()?;
    let ran = shell(command, folder, padding, interrupt);
    // Looked at however the command ended, so that a file that it did not write gets its time back.
    let is_old = results.zip(earlier).is_some_and(|(results, earlier)| earlier.is_there(results));
    let ran = ran.map_err(|error| format!("cannot start: {error}"))?;
    if ran.interrupted {
        return Ok(None);
    }
    let last = || {
        let all: Vec<&str> = if ran.err.trim().is_empty() { &ran.out } else { &ran.err }.lines().collect();
        let last = &all[all.len().saturating_sub(SHOWN)..];
        if last.is_empty() {
            "; it printed nothing".to_owned()
        } else {
            format!("; it ended with\n{}", last.join("\n"))
        }
    };
    if !ran.status.success() {
        return Err(format!("failed, {}{}", ran.status, last()));
    }
    let reading = |format| Reading {
        format,
        inputs: args.inputs.clone(),
        time: args.time.iter().cloned().collect(),
        model_column: args.model_column.clone(),
        ..Reading::default()
    };
    let format = match args.from {
        Some(Source::Results(format)) => Some(format),
        None if results.is_some() => None,
        None | Some(Source::Wall) => {
            let (name, seconds) = ("wall".to_owned(), ran.time.as_secs_f64());
            return Ok(Some(Times::from([(name.clone(), Time { name, at: Vec::new(), seconds })])));
        }
    };
    let read = match results {
        Some(results) if is_old || !results.exists() => {
            return Err(format!("did not write {}{}", results.display(), last()));
        }
        Some(results) => import_export::samples(results, &reading(format), &mut Sha256::default()),
        None => import_export::samples_in(ran.out.as_bytes(), "standard output", &reading(format)),
    };
    let samples = read.map_err(|failure| match failure {
        Failure::Fault(why) | Failure::Usage(why) | Failure::Machine(why) | Failure::Stage(_, why) => {
            format!("has no results that can be read: {why}{}", last())
        }
    })?;
    Ok(Some(times(&samples)))
}

/// Earlier results, which must not be read as new ones.
enum Earlier {
    None,
    /// The time of its last modification. It is set to 1970 before the run: a file that still has
    /// that time afterwards was not written. Its contents are not touched, because a mistyped path may
    /// be any file.
    File(SystemTime),
}

impl Earlier {
    fn at(results: &Path) -> std::io::Result<Self> {
        if results.is_dir() {
            return forget(results).map(|()| Self::None);
        }
        let about = match fs::metadata(results) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::None),
            about => about?,
        };
        if !about.is_file() {
            return Err(std::io::Error::other("it is no file into which results can be written"));
        }
        let written = about.modified()?;
        fs::File::options().append(true).open(results)?.set_modified(SystemTime::UNIX_EPOCH)?;
        Ok(Self::File(written))
    }

    /// Whether the file is the earlier one still, which then gets its time back.
    fn is_there(&self, results: &Path) -> bool {
        let Self::File(written) = self else { return false };
        let now = fs::metadata(results).and_then(|about| about.modified());
        if !now.is_ok_and(|now| now == SystemTime::UNIX_EPOCH) {
            return false;
        }
        let file = fs::File::options().append(true).open(results);
        let _no_matter = file.and_then(|file| file.set_modified(*written));
        true
    }
}

/// Removes in criterion's folder the mark of each benchmark's last run: what it compares with stays.
fn forget(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        match path.file_name().and_then(|name| name.to_str()) {
            // A symbolic link may lead anywhere.
            _ if !kind.is_dir() => {}
            Some("new") if path.join("benchmark.json").is_file() => {
                fs::remove_file(path.join("benchmark.json"))?
            }
            _ => forget(&path)?,
        }
    }
    Ok(())
}

/// The time of each benchmark of one run: the lower quartile of its repeats, since other programs only
/// add to them (Chen and Revels, *Robust benchmarking in noisy environments*, 2016, take the least).
/// Numbers in a name that has no inputs are inputs.
pub(super) fn times(read: &Imported) -> Times {
    let mut all: BTreeMap<String, (Time, Vec<f64>)> = BTreeMap::new();
    for model in &read.samples.models {
        // Of names that become one identifier, which one is which depends on the others.
        let own = read.names.get(&model.name).unwrap_or(&model.name);
        for row in model.rows.iter().filter(|row| row.seconds.is_finite() && row.seconds > 0.0) {
            // Our own samples have terms, too.
            let terms_alone = model.inputs().next().is_none();
            let columns = model.columns.iter().zip(&row.values);
            let columns =
                columns.filter(|(column, value)| value.is_finite() && (terms_alone || column.is_input()));
            let at: Vec<(String, f64)> =
                columns.map(|(column, value)| (column.text.clone(), *value)).collect();
            let mut whole = own.clone();
            at.iter().for_each(|(name, value)| whole += &format!(" {name}={}", number_text(*value)));
            let (name, at) = match without_numbers(own).filter(|_| at.is_empty()) {
                Some((rest, numbers)) => {
                    let input = |place: usize| {
                        if numbers.len() == 1 { "n".to_owned() } else { format!("n{}", place + 1) }
                    };
                    (rest, numbers.iter().enumerate().map(|(place, value)| (input(place), *value)).collect())
                }
                None => (own.clone(), at),
            };
            let name = name.trim_end_matches(['_', '/', '-', ' ']).to_owned();
            all.entry(whole)
                .or_insert_with(|| (Time { name, at, seconds: 0.0 }, Vec::new()))
                .1
                .push(row.seconds);
        }
    }
    let quartile = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len().div_ceil(4) - 1]
    };
    all.into_iter().map(|(whole, (time, all))| (whole, Time { seconds: quartile(all), ..time })).collect()
}

/// A copy of the program that a command begins with, at another path; removed on drop.
struct Copied {
    command: String,
    folder: PathBuf,
}

impl Copied {
    /// `None` where the command does not begin with the path of a file.
    fn of(command: &str, folder: &Path) -> Option<Self> {
        let (program, rest) = command.split_at(command.find(char::is_whitespace).unwrap_or(command.len()));
        let file = folder.join(program);
        let name = file
            .file_name()
            .filter(|_| program.contains('/') && !program.contains('\'') && file.is_file())?;
        let copies = std::env::temp_dir().join(format!("specc-race-{}", std::process::id()));
        let copy = copies.join(name);
        let made = Self { command: format!("'{}'{rest}", copy.display()), folder: copies };
        fs::create_dir_all(&made.folder).and_then(|()| fs::copy(&file, &copy)).ok()?;
        Some(made)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

/// What the rounds show.
struct Shown {
    seed: u64,
    judged: Judged,
    rounds: usize,
    /// The rounds with a copy, how far A is from it, and which of its changes would be told.
    copies: usize,
    apart: Vec<f64>,
    alarms: Option<Vec<ModelChange>>,
    compared: Compared,
}

impl Shown {
    fn of(done: &[Round], failed: Vec<String>, seed: u64) -> Self {
        let pairs = |other: usize| -> Vec<[&Times; 2]> {
            done.iter().filter_map(|round| Some([round[0].as_ref()?, round[other].as_ref()?])).collect()
        };
        let (judged, with_copy) = (judge(&pairs(1), &[]), pairs(2));
        let copies = with_copy.len();
        let names = with_copy.first().map_or(Vec::new(), |[a, _]| a.keys().collect());
        let apart = names.iter().filter_map(|name| {
            let log = |[a, copy]: &[&Times; 2]| Some((copy.get(*name)?.seconds / a.get(*name)?.seconds).ln());
            let logs: Vec<f64> = with_copy.iter().filter_map(log).collect();
            (!logs.is_empty()).then(|| mean(&logs).abs().exp_m1())
        });
        let apart = apart.collect();
        let alarms = (copies >= LEAST).then(|| {
            let judged = judge(&with_copy, &[]);
            judged.changes.into_iter().filter(ModelChange::is_changed).collect()
        });
        let models = Models { changes: judged.changes.clone(), left_out: judged.left_out.clone() };
        let compared = Compared {
            models,
            libraries: Vec::new(),
            code: Code::Unknown,
            common: judged.common.as_ref().map(change_text),
            warnings: failed,
        };
        Self { seed, judged, rounds: done.len(), copies, apart, alarms, compared }
    }

    /// A text for each benchmark, or group of them, that is slower by more than `share`.
    fn slower(&self, share: f64) -> Vec<String> {
        let all = self.judged.common.iter().filter(|change| change.exceeds(share));
        let all = all.map(|change| format!("all are {}", change_text(change)));
        all.chain(self.compared.slower(share)).collect()
    }

    /// The benchmarks of which it is told neither that they are slower nor that they are not slower
    /// by more than `share`.
    fn open(&self, share: f64) -> Vec<String> {
        let may = |change: &Change| change.interval.is_none_or(|(_, high)| high > 1.0 + share);
        let slower: Vec<&String> = match self.slower(share)[..] {
            [] => Vec::new(),
            _ => self.judged.changed.iter().collect(),
        };
        let all = self.judged.benchmarks.iter();
        let open = all.filter(|one| may(&one.change) && !slower.contains(&&one.name));
        open.map(|one| named(&one.name)).collect()
    }

    /// What is reported of A against its copy, and would fail this gate.
    fn false_alarms(&self, share: Option<f64>) -> Vec<String> {
        let fails = |one: &&ModelChange| {
            share.is_none_or(|share| one.changes().any(|(_, change)| change.exceeds(share)))
        };
        self.alarms.iter().flatten().filter(fails).map(|one| named(&one.model)).collect()
    }

    /// Why it cannot be said that no benchmark is slower by more than `share`.
    fn undecided(&self, share: f64) -> Option<String> {
        let open = self.open(share);
        let what = match &open[..] {
            [] if self.judged.missing.is_empty() => return None,
            [] => return Some(format!("not decided: {} did not run in B", self.judged.missing.join(", "))),
            [first] => format!("`{first}` may be slower"),
            [first, ..] => {
                format!("`{first}` and {} may be slower", count(open.len() - 1, "other", "others"))
            }
        };
        Some(format!(
            "not decided: {what} by more than {}; more rounds or a quieter machine tell",
            percent(share)
        ))
    }

    /// What the race itself is worth, and then the decision.
    fn head(&self) -> Vec<String> {
        let Self { judged, copies, apart, .. } = self;
        let all = count(judged.benchmarks.len(), "benchmark", "benchmarks");
        let rounds = |number| count(number, "round", "rounds");
        let shares = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            let most = values.last().copied()?;
            Some([median(values), most].map(|value| percent(rounded(value, 2))))
        };
        let mut lines = Vec::new();
        match &self.alarms {
            Some(alarms) if alarms.is_empty() => {
                lines.push(format!(
                    "A against a copy of it: no change of {all} is reported, in {}",
                    rounds(*copies)
                ));
            }
            Some(alarms) => lines.push(format!(
                "A against a copy of it: false alarms, {} of {all}, in {}: {}",
                alarms.len(),
                rounds(*copies),
                alarms.iter().map(|one| named(&one.model)).collect::<Vec<_>>().join(", ")
            )),
            None => lines.extend(shares(apart.clone()).map(|[middle, most]| {
                format!(
                    "A against a copy of it: {middle} apart (median), {most} at most, in {}",
                    rounds(*copies)
                )
            })),
        }
        lines.extend(shares(judged.benchmarks.iter().map(|one| one.least).collect()).map(
            |[middle, most]| {
                format!("a change shows from {middle} on (median of the benchmarks; {most} at worst)")
            },
        ));
        lines.push(format!(
            "{} of {all} changed from A to B, in {} (seed {})",
            judged.changed.len(),
            rounds(self.rounds),
            self.seed
        ));
        lines
    }

    fn screen(&self, width: usize) -> String {
        let changes = self.judged.changes.iter().filter(|one| one.is_changed()).cloned().collect();
        let left_out = self.judged.left_out.clone();
        let changed = Compared { models: Models { changes, left_out }, ..self.compared.clone() };
        let mut lines: Vec<(usize, String)> = self.head().into_iter().map(|line| (0, line)).collect();
        lines.extend(changed.model_lines());
        folded(&lines, width)
    }

    fn markdown(&self) -> String {
        let mut head = self.head();
        let mut lines = vec![format!("**{}**", head.pop().unwrap_or_default()), String::new()];
        lines.extend(head.iter().map(|line| format!("- {line}")));
        lines.extend(self.compared.common.iter().map(|common| format!("- all alike, {common}")));
        lines.extend(
            self.compared.warnings.iter().chain(&self.judged.left_out).map(|text| format!("- {text}")),
        );
        lines.extend([String::new(), "| benchmark | B against A | where |".into(), "|---|---|---|".into()]);
        for one in &self.judged.changes {
            for (part, change) in one.changes().filter(|(part, _)| part.is_some() || one.parts.is_none()) {
                let place = part.map_or(String::new(), where_text);
                lines.push(format!("| `{}` | {} | {place} |", one.model, change_text(change)));
            }
        }
        lines.join("\n")
    }

    fn json(&self, fails: Option<bool>) -> Value {
        let benchmarks = self.judged.benchmarks.iter().map(|one| {
            let mut value = json!(one.change);
            value["benchmark"] = json!(one.name);
            value["least_reported"] = json!(one.least);
            value
        });
        let mut value = self.compared.json();
        value["benchmarks"] = benchmarks.collect();
        value["rounds"] = json!(self.rounds);
        value["seed"] = json!(self.seed);
        value["common"] = json!(self.judged.common);
        value["noop"] = json!({ "rounds": self.copies, "apart": self.apart, "reported": self.alarms.as_ref().map(|all| all.iter().map(|one| &one.model).collect::<Vec<_>>()) });
        value["fails"] = json!(fails);
        value
    }
}
