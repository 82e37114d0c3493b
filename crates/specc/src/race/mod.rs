//! Two programs in turns: in which order they run, and what the rounds tell.
//!
//! A benchmark's change in a round is the logarithm of the ratio of its times, which were taken
//! beside each other; the interval comes from the scatter over rounds, so that all is in it that
//! differs between two runs of a program. What moves all benchmarks of a round alike is the
//! machine's, and taken out, unless it stands in all rounds. Where A was built twice, what differs
//! between builds of the same code is in the interval, too. Nothing is run here.

mod statistic;

use std::collections::{BTreeMap, BTreeSet};

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde::Serialize;

use strata_model::count;
use strata_screen::shortened;

use crate::compare::{By, Change, LEVEL, ModelChange, Part, Verdict, median};

pub use statistic::{Trimmed, limit};

/// The fewest rounds that tell anything.
pub const LEAST: usize = 6;

/// As many benchmarks show what all of a round share; where so many differ in their inputs alone,
/// they are not named one by one.
const TOGETHER: usize = 8;

/// The share of the benchmarks whose own interval (95 %) has a change that all share.
const ALIKE: f64 = 0.8;

/// The part of the level at which all benchmarks together are told to have changed.
const OF_ALL: f64 = 0.2;

/// No smaller change is told: two builds of the same code differ as much by where their functions
/// lie. It is the noise threshold of criterion, too.
const NOTABLE: f64 = 0.01;

/// The prior standard deviation between two builds of the same code, criterion's noise threshold, and
/// the number of observations that it counts for.
const OF_BUILDS: (f64, usize) = (0.01, 8);

/// The most bytes that the environment of a run is longer by: more than a page, so that the stack
/// begins anywhere (Mytkowicz et al., *Producing wrong data without doing anything obviously
/// wrong!*, 2009, §4).
const PADDING: usize = 8192;

/// The longest name that is written out in a message.
pub(crate) const NAMED: usize = 60;

/// As many benchmarks of too few rounds are named.
const SHOWN: usize = 3;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Who {
    /// The program before.
    A,
    /// The program after.
    B,
    /// The program before, once more.
    Copy,
}

/// A run of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What runs.
    pub who: Who,
    /// How many bytes its environment is longer.
    pub padding: usize,
}

/// The runs of so many rounds. `A` and `B` stand beside each other, the copy on the other side of
/// `A`; of each two rounds the first has a random order and the second the reverse. The rounds with
/// a copy are spread evenly.
#[must_use]
pub fn schedule(rounds: usize, copies: usize, seed: u64) -> Vec<Vec<Slot>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut reversed = false;
    let round = |round: usize| {
        reversed = if round.is_multiple_of(2) { random.random() } else { !reversed };
        let has_copy = (round + 1) * copies / rounds > round * copies / rounds;
        let mut order = [Who::Copy, Who::A, Who::B][usize::from(!has_copy)..].to_vec();
        if reversed {
            order.reverse();
        }
        order.iter().map(|who| Slot { who: *who, padding: random.random_range(0..PADDING) }).collect()
    };
    (0..rounds).map(round).collect()
}

/// The time of a benchmark in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Its name without its inputs.
    pub name: String,
    /// Its inputs.
    pub at: Vec<(String, f64)>,
    /// Its time in s, above zero.
    pub seconds: f64,
}

/// The times of one run, by the whole name of each benchmark.
pub type Times = BTreeMap<String, Time>;

/// The change of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// Its whole name.
    pub name: String,
    /// Its change over the rounds.
    pub change: Change,
    /// The least change, as a share, that would be told of it alone in half of such races.
    pub least: f64,
    stem: String,
    at: Vec<(String, f64)>,
    logs: Vec<Option<f64>>,
}

/// What rounds tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Each benchmark that both have in enough rounds.
    pub benchmarks: Vec<Benchmark>,
    /// Those of them that changed, by themselves or with others that are like them.
    pub changed: Vec<String>,
    /// The change that all share, if that is told.
    pub common: Option<Change>,
    /// The changes by benchmarks that are alike but for their inputs, and with where they begin.
    pub changes: Vec<ModelChange>,
    /// A message for each benchmark that cannot be judged.
    pub left_out: Vec<String>,
    /// Those of A that B has in no round.
    pub missing: Vec<String>,
}

/// Judges the rounds, each the times of `A` and of `B`. Of all changes that are told, at most 5 %
/// are noise on average; where nothing has changed, one race in twenty tells any.
///
/// `builds`: rounds of `A` and of another build of its code, in which all differs that may differ
/// between two builds; empty where the copy is no other build.
#[must_use]
pub fn judge(rounds: &[[&Times; 2]], builds: &[[&Times; 2]]) -> Judged {
    let between = between(builds);
    // What changed moves the median of all, and so seems to move the others.
    let first = judge_beside(rounds, &[], between);
    if first.changed.is_empty() || first.common.is_some() {
        first
    } else {
        judge_beside(rounds, &first.changed, between)
    }
}

/// The variance between builds of the same code, and the number of observations behind it. The
/// benchmarks of a group run the same code, and are one observation.
fn between(builds: &[[&Times; 2]]) -> Option<(f64, usize)> {
    let judged = judge_beside(builds, &[], None);
    let groups = groups(&judged.benchmarks);
    let apart: Vec<f64> =
        groups.iter().filter_map(|group| Some(pooled(&judged.benchmarks, group)?.middle.powi(2))).collect();
    let (usual, count) = OF_BUILDS;
    let values = count + apart.len();
    let sum = apart.iter().sum::<f64>() + count as f64 * usual.powi(2);
    (!apart.is_empty()).then_some((sum / values as f64, values))
}

/// As [`judge`]; `changed` are known to have changed.
fn judge_beside(rounds: &[[&Times; 2]], changed: &[String], between: Option<(f64, usize)>) -> Judged {
    let mut judged = Judged {
        benchmarks: vec![],
        changed: vec![],
        common: None,
        changes: vec![],
        left_out: vec![],
        missing: vec![],
    };
    let (mut only, mut few) = ([vec![], vec![]], vec![]);
    let names: BTreeSet<&String> = rounds.iter().flatten().flat_map(|times| times.keys()).collect();
    for name in names {
        let pair = |[a, b]: &[&Times; 2]| Some((b.get(name)?.seconds / a.get(name)?.seconds).ln());
        let logs: Vec<Option<f64>> = rounds.iter().map(pair).collect();
        let side = |side: usize| rounds.iter().find_map(|both| both[side].get(name));
        let (Some(time), Some(_)) = (side(0), side(1)) else {
            only[usize::from(side(0).is_none())].push(format!("`{}`", shortened(name, NAMED)));
            continue;
        };
        let there = logs.iter().flatten().count();
        if there < LEAST {
            few.push(format!("`{}` has {there} rounds, {LEAST} are the fewest", shortened(name, NAMED)));
            continue;
        }
        let (name, stem, at) = (name.clone(), time.name.clone(), time.at.clone());
        let change = Change { ratio: 1.0, interval: None, points: there, verdict: Verdict::Unknown };
        judged.benchmarks.push(Benchmark { name, change, least: 0.0, stem, at, logs });
    }
    let more = few.len().saturating_sub(SHOWN);
    judged.left_out.extend(few.into_iter().take(SHOWN));
    if more > 0 {
        judged
            .left_out
            .push(format!("{} more have fewer than {LEAST} rounds", count(more, "benchmark", "benchmarks")));
    }
    for (names, side) in only.iter().zip(["A", "B"]).filter(|(names, _)| !names.is_empty()) {
        judged.left_out.push(format!("{} in {side} alone", names.join(", ")));
    }
    judged.missing = std::mem::take(&mut only[0]);
    judged.common = take_common(&mut judged.benchmarks, rounds.len(), changed);
    let groups = groups(&judged.benchmarks);
    let widened = |trimmed: Trimmed| match between {
        Some((variance, values)) => trimmed.with(variance, values),
        None => trimmed,
    };
    let mut pieces: Vec<Vec<Piece>> = groups.iter().map(|group| pieces(&judged.benchmarks, group)).collect();
    pieces.iter_mut().flatten().for_each(|piece| piece.trimmed = widened(piece.trimmed));
    let single: Vec<Trimmed> =
        judged.benchmarks.iter().filter_map(|one| Some(widened(one.trimmed()?))).collect();
    let several = pieces.iter().flatten().filter(|piece| piece.members.len() > 1);
    let chances: Vec<f64> =
        single.iter().chain(several.map(|piece| &piece.trimmed)).map(Trimmed::chance).collect();
    let level = LEVEL * (1.0 - OF_ALL);
    let limit = limit(&chances, level);
    for (one, trimmed) in judged.benchmarks.iter_mut().zip(&single) {
        one.change = change_of(trimmed, one.change.points, limit);
        one.least = trimmed.reach(level / chances.len() as f64).exp_m1().max(NOTABLE);
    }
    for (group, pieces) in groups.iter().zip(&pieces) {
        let (changed, changes) = changes_of(&judged.benchmarks, group, pieces, limit);
        judged.changed.extend(changed.iter().map(|place| judged.benchmarks[*place].name.clone()));
        judged.changes.extend(changes);
    }
    judged
}

impl Benchmark {
    fn trimmed(&self) -> Option<Trimmed> {
        Trimmed::of(&self.logs.iter().flatten().copied().collect::<Vec<_>>())
    }

    /// How far it is from a ratio, in squares of its standard error.
    fn misfit(&self, ratio: f64) -> f64 {
        let far = |Trimmed { middle, error, .. }: Trimmed| (middle - ratio.ln()) / error.max(1e-9);
        self.trimmed().map_or(0.0, |trimmed| far(trimmed).powi(2))
    }
}

/// The change with its verdict, where what has at most the probability `limit` is told.
fn change_of(trimmed: &Trimmed, points: usize, limit: f64) -> Change {
    let (middle, reach) = (trimmed.middle, trimmed.reach(LEVEL));
    let verdict = match trimmed.chance() <= limit && middle.exp_m1().abs() >= NOTABLE {
        false => Verdict::Same,
        true if middle > 0.0 => Verdict::Slower,
        true => Verdict::Faster,
    };
    let interval = Some(((middle - reach).exp(), (middle + reach).exp()));
    Change { ratio: middle.exp(), interval, points, verdict }
}

/// The change that all benchmarks share, if it stands in all rounds; else what they share in each
/// round is noise of the machine, and taken out where the scatter is less without it.
fn take_common(all: &mut [Benchmark], rounds: usize, changed: &[String]) -> Option<Change> {
    if all.len() < TOGETHER {
        return None;
    }
    let shared = |round: usize| {
        let others = all.iter().filter(|one| !changed.contains(&one.name));
        let logs: Vec<f64> = others.filter_map(|one| one.logs[round]).collect();
        if logs.is_empty() { None } else { Some(median(logs)) }
    };
    let shared: Vec<Option<f64>> = (0..rounds).map(shared).collect();
    let known: Vec<f64> = shared.iter().flatten().copied().collect();
    let trimmed = Trimmed::of(&known)?;
    let common = change_of(&trimmed, known.len(), LEVEL * OF_ALL);
    if common.verdict != Verdict::Same {
        // If about half of the benchmarks changed, the median lies between both groups and is the
        // change of no benchmark.
        let has_it = |one: &&Benchmark| {
            let own = one.trimmed().map(|trimmed| change_of(&trimmed, 0, 0.0));
            let interval = own.and_then(|own| own.interval);
            interval.is_none_or(|(low, high)| low <= common.ratio && common.ratio <= high)
        };
        let others: Vec<&Benchmark> = all.iter().filter(|one| !changed.contains(&one.name)).collect();
        let alike = others.iter().copied().filter(has_it).count();
        return (ALIKE * others.len() as f64 <= alike as f64).then_some(common);
    }
    let scatter = |all: &[Benchmark]| -> f64 {
        let errors: Vec<f64> = all.iter().filter_map(|one| Some(one.trimmed()?.error)).collect();
        if errors.is_empty() { 0.0 } else { median(errors) }
    };
    let mut own = all.to_vec();
    for one in &mut own {
        one.logs
            .iter_mut()
            .zip(&shared)
            .for_each(|(log, shared)| *log = log.zip(*shared).map(|(l, s)| l - s));
    }
    if scatter(&own) < scatter(all) {
        all.clone_from_slice(&own);
    }
    None
}

/// The benchmarks that differ in the values of their inputs alone.
fn groups(all: &[Benchmark]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, one) in all.iter().enumerate() {
        let is_like = |other: &Benchmark| {
            one.stem == other.stem
                && one.at.iter().map(|(name, _)| name).eq(other.at.iter().map(|(name, _)| name))
        };
        match groups.iter_mut().find(|group| is_like(&all[group[0]])) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// Those of a group whose value of an input lies on one side of a place, or all of them.
struct Piece {
    members: Vec<usize>,
    /// The input, the values next to the place, and whether the members lie above it.
    cut: Option<(usize, [f64; 2], bool)>,
    trimmed: Trimmed,
}

fn pieces(all: &[Benchmark], group: &[usize]) -> Vec<Piece> {
    let mut cuts = vec![None];
    for input in 0..all[group[0]].at.len() {
        let mut values: Vec<f64> = group.iter().map(|place| all[*place].at[input].1).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        cuts.extend(
            values
                .windows(2)
                .flat_map(|two| [true, false].map(|above| Some((input, [two[0], two[1]], above)))),
        );
    }
    let piece = |cut: Option<(usize, [f64; 2], bool)>| {
        let is_in = |place: &usize| {
            cut.is_none_or(|(input, [low, _], above)| (all[*place].at[input].1 > low) == above)
        };
        let members: Vec<usize> = group.iter().copied().filter(is_in).collect();
        Some(Piece { trimmed: pooled(all, &members)?, members, cut })
    };
    cuts.into_iter().filter_map(piece).collect()
}

/// The members of a group that changed, and its changes: the piece that explains what is told best,
/// if one does, or of many members the one that is nearest to that; else each benchmark by itself.
fn changes_of(
    all: &[Benchmark],
    group: &[usize],
    pieces: &[Piece],
    limit: f64,
) -> (Vec<usize>, Vec<ModelChange>) {
    let is_told = |change: &Change| matches!(change.verdict, Verdict::Slower | Verdict::Faster);
    let first = &all[group[0]];
    let entry =
        |model: &str, whole, parts| ModelChange { model: model.to_owned(), by: By::Rounds, whole, parts };
    let of = |piece: &Piece| change_of(&piece.trimmed, first.change.points, limit);
    let mut best: Option<(f64, &Piece, Change)> = None;
    let mut nearest = best.clone();
    for piece in pieces {
        let change = of(piece);
        // What is told is within twice of the change, and what is not has it in its interval.
        let fits = |one: &Benchmark| match one.change.interval {
            Some((low, high)) if !is_told(&one.change) => low <= change.ratio && change.ratio <= high,
            _ => {
                one.change.verdict == change.verdict
                    && (0.5..=2.0).contains(&(one.change.ratio.ln() / change.ratio.ln()))
            }
        };
        let within = |place: &&usize| piece.members.contains(place);
        let misfit: f64 = group
            .iter()
            .map(|place| all[*place].misfit(if within(&place) { change.ratio } else { 1.0 }))
            .sum();
        let explains = piece.members.iter().all(|place| fits(&all[*place]))
            && group.iter().all(|place| within(&place) || !is_told(&all[*place].change));
        for kept in [Some(&mut nearest), explains.then_some(&mut best)].into_iter().flatten() {
            if is_told(&change) && kept.as_ref().is_none_or(|(least, ..)| misfit < *least) {
                *kept = Some((misfit, piece, change.clone()));
            }
        }
    }
    if group.len() >= TOGETHER {
        best = best.or(nearest);
    }
    let told: Vec<usize> = group.iter().copied().filter(|place| is_told(&all[*place].change)).collect();
    match (best, pieces) {
        (Some((_, piece, change)), [whole, ..]) if group.len() > 1 => {
            let parts = piece.cut.and_then(|(input, [low, high], above)| {
                let rest = pieces.iter().find(|other| other.cut == Some((input, [low, high], !above)))?;
                let rest = Change { verdict: Verdict::Same, ..of(rest) };
                let [below, beyond] = if above { [rest, change.clone()] } else { [change.clone(), rest] };
                let part = |from, to, change| Part { input: first.at[input].0.clone(), to, from, change };
                Some([part(None, Some(low), below), part(Some(high), None, beyond)])
            });
            let verdict = if parts.is_none() { change.verdict } else { Verdict::Same };
            (piece.members.clone(), vec![entry(&first.stem, Change { verdict, ..of(whole) }, parts)])
        }
        (None, [whole, ..]) if told.is_empty() && group.len() > 1 => {
            (told, vec![entry(&first.stem, Change { verdict: Verdict::Same, ..of(whole) }, None)])
        }
        _ => {
            let one = |place: &usize| entry(&all[*place].name, all[*place].change.clone(), None);
            (told, group.iter().map(one).collect())
        }
    }
}

/// The medians of these in each round.
fn pooled(all: &[Benchmark], members: &[usize]) -> Option<Trimmed> {
    let of = |round: usize| {
        let logs: Vec<f64> = members.iter().filter_map(|place| all[*place].logs[round]).collect();
        (!logs.is_empty()).then(|| median(logs))
    };
    Trimmed::of(&(0..all[*members.first()?].logs.len()).filter_map(of).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strata_model::{normal, number_text};

    use super::*;
    use strata_fit::bootstrap::mean;

    /// How much longer benchmark `name` with input `n` takes than in A.
    type Longer<'a> = &'a dyn Fn(&str, f64) -> f64;

    /// Rounds of 25 benchmarks, five functions at five sizes. One time in ten is up to twice as long,
    /// by other programs, and so is one whole run in seven; besides there is noise of 2 %.
    fn rounds(seed: u64, count: usize, longer: Longer<'_>) -> Vec<[Times; 2]> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut held_up = move |chance: f64| {
            let (is_it, by): (f64, f64) = (random.random(), random.random());
            let noise = 0.02 * normal::draw(random.random(), random.random());
            (noise, if is_it < chance { by.ln_1p() } else { 0.0 })
        };
        let mut run = |side: usize| {
            let (_, whole) = held_up(0.15);
            let mut times = Times::new();
            for name in ["chase", "divide", "hash", "search", "sum"] {
                for n in [10.0, 100.0, 1e3, 1e4, 1e5] {
                    let (noise, late) = held_up(0.1);
                    let longer = if side == 1 { longer(name, n) } else { 1.0 };
                    let seconds = 1e-9 * n * longer * (whole + noise + late).exp();
                    let at = vec![("n".to_owned(), n)];
                    let time = Time { name: name.to_owned(), at, seconds };
                    times.insert(format!("{name} n={}", number_text(n)), time);
                }
            }
            times
        };
        (0..count).map(|_| [run(0), run(1)]).collect()
    }

    fn judged(rounds: &[[Times; 2]]) -> Judged {
        judge(&rounds.iter().map(|[a, b]| [a, b]).collect::<Vec<_>>(), &[])
    }

    fn told(judged: &Judged) -> Vec<&ModelChange> {
        judged.changes.iter().filter(|one| one.is_changed()).collect()
    }

    #[test]
    fn a_change_of_half_of_them_is_not_said_of_all() {
        for seed in 0..10 {
            for changed in [["chase", "sum", "-"], ["chase", "divide", "sum"]] {
                let longer = |name: &str, _: f64| if changed.contains(&name) { 3.0 } else { 1.0 };
                assert_eq!(judged(&rounds(seed, 15, &longer)).common, None, "{seed} {changed:?}");
            }
            assert!(judged(&rounds(seed, 15, &|_, _| 3.0)).common.is_some(), "{seed}");
        }
    }

    #[test]
    fn noise_is_not_told_and_a_planted_change_is_with_its_place() {
        let trials = 100;
        let false_alarms = (0..trials).filter(|seed| {
            let judged = judged(&rounds(*seed, 11, &|_, _| 1.0));
            judged.common.is_some() || !told(&judged).is_empty()
        });
        let false_alarms = false_alarms.count();
        assert!(false_alarms <= 8, "{false_alarms} of {trials}");
        let (mut found, mut placed, mut student) = (0, 0, 0);
        for seed in 0..trials {
            let rounds =
                rounds(1000 + seed, 15, &|name, n| if name == "hash" && n >= 1e3 { 1.08 } else { 1.0 });
            let judged = judged(&rounds);
            let told = told(&judged);
            found += usize::from(told.iter().any(|one| one.model.starts_with("hash")));
            let from = |one: &ModelChange| one.parts.as_ref().and_then(|[_, high]| high.from);
            placed += usize::from(told.iter().any(|one| one.model == "hash" && from(one) == Some(1e3)));
            // Student's test of the same ratios, without what the rounds share taken out.
            let log = |[a, b]: &[Times; 2]| (b["hash n=10000"].seconds / a["hash n=10000"].seconds).ln();
            let logs: Vec<f64> = rounds.iter().map(log).collect();
            let middle = mean(&logs);
            let square: f64 = logs.iter().map(|log| (log - middle).powi(2)).sum();
            student += usize::from(middle / (square / (15.0 * 14.0)).sqrt() > 3.787);
        }
        assert!(found >= 90 && placed >= 65, "{found} found, {placed} with their place");
        assert!(student <= 10, "without trimming {student} of {trials}");
    }

    #[test]
    fn what_differs_between_builds_of_the_same_code_is_in_the_interval() {
        let pairs = |rounds: &[[Times; 2]], builds: &[[Times; 2]]| {
            let [rounds, builds] =
                [rounds, builds].map(|all| all.iter().map(|[a, b]| [a, b]).collect::<Vec<_>>());
            told(&judge(&rounds, &builds)).iter().map(|one| one.model.clone()).collect::<Vec<_>>()
        };
        let (mut without, mut with, mut found) = (0, 0, 0);
        for seed in 0..20 {
            let built = |by: f64| rounds(seed, 8, &move |name, _| if name == "hash" { by } else { 1.0 });
            let builds = rounds(100 + seed, 8, &|name, _| match name {
                "chase" => 1.06,
                "sum" => 0.95,
                _ => 1.0,
            });
            without += pairs(&built(1.05), &[]).len();
            with += pairs(&built(1.05), &builds).len();
            found += usize::from(pairs(&built(1.25), &builds) == ["hash"]);
        }
        assert!(without >= 8 && with <= 1 && found >= 18, "{without} without, {with} with, {found} found");
    }

    #[test]
    fn a_change_that_grows_is_told_once_of_many_and_one_by_one_of_few() {
        let run = |sizes: usize, seed: u64| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut side = |side: usize| {
                let time = |n: usize| {
                    let longer = 1.0 + 0.1 * (side * n) as f64;
                    let seconds = longer * (0.01 * normal::draw(random.random(), random.random())).exp();
                    let at = vec![("n".to_owned(), n as f64)];
                    (format!("sum n={n}"), Time { name: "sum".to_owned(), at, seconds })
                };
                let other = Time { name: "other".to_owned(), at: Vec::new(), seconds: 1.0 };
                (0..sizes).map(time).chain([("other".to_owned(), other)]).collect::<Times>()
            };
            let rounds: Vec<[Times; 2]> = (0..8).map(|_| [side(0), side(1)]).collect();
            told(&judged(&rounds)).iter().map(|one| one.model.clone()).collect::<Vec<_>>()
        };
        assert_eq!(run(12, 1), ["sum"]);
        assert!(run(5, 2).len() >= 3 && run(5, 2).iter().all(|name| name.starts_with("sum n=")));
    }

    #[test]
    fn what_all_share_is_told_once_and_named_so() {
        let of_all = judged(&rounds(3, 11, &|_, _| 1.5));
        assert!(
            of_all.common.as_ref().is_some_and(|common| common.verdict == Verdict::Slower),
            "{:?}",
            of_all.common
        );
        let of_one = judged(&rounds(4, 11, &|name, _| if name == "sum" { 1.5 } else { 1.0 }));
        assert_eq!(of_one.common, None);
        let told = told(&of_one);
        assert!(told.len() == 1 && told[0].model == "sum" && told[0].parts.is_none(), "{told:?}");
        assert!(told[0].whole.exceeds(0.3) && !told[0].whole.exceeds(0.5), "{told:?}");
    }

    #[test]
    fn what_is_missing_is_named_and_few_rounds_tell_nothing() {
        let mut all = rounds(5, 7, &|_, _| 2.0);
        for [a, b] in &mut all {
            a.remove("sum n=10");
            b.remove("hash n=10");
        }
        all[0][1].remove("chase n=10");
        all[1][1].remove("chase n=10");
        let some = judged(&all);
        assert_eq!(
            some.left_out,
            [
                "`chase n=10` has 5 rounds, 6 are the fewest",
                "`hash n=10` in A alone",
                "`sum n=10` in B alone"
            ]
        );
        assert_eq!(some.benchmarks.len(), 22);
        assert!(judged(&all[..5]).changes.is_empty());
        assert!(judged(&[]).changes.is_empty());
    }

    #[test]
    fn equal_times_are_no_change_and_small_ones_are_not_told() {
        let exactly = |by: f64| {
            let mut all = rounds(6, 6, &|_, _| 1.0);
            for [a, b] in &mut all {
                b.clone_from(a);
                b.values_mut().filter(|time| time.name == "sum").for_each(|time| time.seconds *= by);
            }
            told(&judged(&all)).len()
        };
        assert_eq!([exactly(1.0), exactly(1.009), exactly(1.011), exactly(0.98)], [0, 0, 1, 1]);
    }

    proptest! {
        #[test]
        fn a_and_b_stand_beside_each_other(rounds in 6..60_usize, share in 0..=10_usize, seed: u64) {
            let copies = rounds * share / 10;
            let plan = schedule(rounds, copies, seed);
            prop_assert_eq!(&plan, &schedule(rounds, copies, seed));
            prop_assert_eq!(plan.iter().filter(|round| round.len() == 3).count(), copies);
            for round in &plan {
                let place = |who: Who| round.iter().position(|slot| slot.who == who).unwrap();
                prop_assert_eq!(place(Who::A).abs_diff(place(Who::B)), 1);
                if round.len() == 3 {
                    prop_assert_eq!(place(Who::A), 1);
                }
            }
            let first = |round: &Vec<Slot>| {
                let place = |who: Who| round.iter().position(|slot| slot.who == who);
                place(Who::A) < place(Who::B)
            };
            for two in plan.chunks_exact(2) {
                prop_assert!(first(&two[0]) != first(&two[1]), "what runs first has no advantage");
            }
            prop_assert!(plan.iter().flatten().any(|slot| slot.padding != plan[0][0].padding));
        }
    }
}
