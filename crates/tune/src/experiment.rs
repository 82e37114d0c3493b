//! What happens to one interval: baseline, search, gate, and then a watch.

use crate::gate::{Gate, Outcome, Verdict};
use crate::policy::{Config, Policy, Random, Search, Space, fits, median};
use crate::stats::Moments;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Evaluations of the default before anything else is tried.
const BASELINE: u32 = 8;
/// Evaluations at the begin that do not count: the first iteration of a loop starts it up.
const WARM_UP: u32 = 1;
/// How many times the baseline a search may lose before it has to wait for its share.
const GRACE: f64 = 2.0;
/// An option that is slower than this factor is charged for no more.
const PREEMPTED: f64 = 50.0;
/// Evaluations after which a watch compares, and the confidence that it needs.
const WATCHED: usize = 30;
const WATCH_CONFIDENCE: f64 = 0.999;
/// By how much the default's time must have changed for a search to begin again.
const CHANGED: f64 = 1.5;
/// Searches that may begin again.
const REOPENED: u32 = 3;

/// Visits of a program after which a loop that has not run counts as left for good.
const LEFT: u64 = 100_000;

/// What every experiment of a tuner has in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) search: Search,
    pub(crate) budget: Option<u32>,
    pub(crate) loss: f64,
    pub(crate) confidence: f64,
    pub(crate) seed: u64,
    /// Executions between two of a watch, on average.
    pub(crate) watch: u32,
    /// Ticks that timing one execution takes, its visits included.
    pub(crate) clock: f64,
    /// Only times are recorded.
    pub(crate) record: bool,
}

/// How far an interval is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The default is timed.
    Baseline,
    /// Configurations are tried.
    Search,
    /// The best one and the default take turns.
    Gate,
    /// It has been adopted.
    Adopted,
    /// The default stays.
    Default,
}

/// By how much an adopted configuration is faster, as a share of the default's time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The share of the default's time that is saved; negative where it is slower.
    pub mean: f64,
    /// Half the width of its interval.
    pub half_width: f64,
    /// Pairs of fresh timings that say so.
    pub pairs: usize,
}

/// What is known of one option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Evaluations in which it took part.
    pub evaluations: u64,
    /// The mean of their times, relative to the default.
    pub mean: f64,
    /// The least of their times, relative to the default.
    pub least: f64,
}

/// The timings of executions that ended at one stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    /// All executions that ended there, timed or not.
    pub(crate) endings: u64,
    /// Times with the default.
    pub(crate) default: Moments,
    /// What times are relative to for the search: fixed, as it remembers them; 0 until it is known.
    reference: f64,
    /// Some of the default's times, and of those of the watch.
    before: Vec<f64>,
    recent: Vec<f64>,
    sum: f64,
    count: u32,
}

/// The experiments on one interval.
pub(crate) struct Experiment {
    space: Space,
    policy: Box<dyn Policy>,
    random: Random,
    rules: Rules,
    pub(crate) phase: Phase,
    /// What is in force; and what is to be, from the next execution on.
    config: Config,
    next: Option<Config>,
    /// Whether what is in force is not the default on purpose.
    other: bool,
    chosen: Config,
    pub(crate) stops: Vec<Stop>,
    warm_up: u32,
    /// Whether a gate of an earlier run goes on after the baseline.
    goes_on: bool,
    /// Whether the last evaluation could not be compared, so that the next one is of the default.
    unknown: bool,
    gate: Gate,
    /// Time that a search may lose.
    credit: f64,
    /// Whether executions are timed, and for how many they will not be.
    timing: bool,
    idle: u32,
    /// Time of the current evaluation.
    spent: f64,
    /// What the last evaluation would have taken with the default, and its executions.
    last_reference: f64,
    last_executions: f64,
    pub(crate) evaluations: u64,
    /// Time lost by what was tried, beyond the default's; in ticks.
    pub(crate) cost: f64,
    pub(crate) gain: Option<Gain>,
    /// The mean time of an execution with the default at the last comparison, in ticks.
    usual: f64,
    /// Executions, and at which visit of the program their number was last another one.
    seen: (f64, u64),
    pub(crate) tried: Vec<Vec<Tried>>,
    pub(crate) reopened: u32,
}

/// What a file keeps of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedExperiment {
    pub(crate) phase: Phase,
    pub(crate) chosen: Config,
    pub(crate) gain: Option<Gain>,
    #[serde(default)]
    pub(crate) usual: f64,
    pub(crate) evaluations: u64,
    pub(crate) cost: f64,
    pub(crate) reopened: u32,
    pub(crate) tried: Vec<Vec<Tried>>,
    pub(crate) policy: Value,
    pub(crate) gate: Option<Gate>,
}

impl Experiment {
    /// An experiment on these knobs; `number` is equal on all nodes and in all runs.
    pub(crate) fn new(space: Space, stops: usize, rules: Rules, number: u64) -> Self {
        let budget = rules.budget.unwrap_or_else(|| space.usual_budget());
        let config = space.default_config();
        let idle = space.options.iter().all(|count| *count == 1) && !rules.record;
        let mut made = Self {
            policy: rules.search.policy(&space, budget),
            random: Random::seed_from_u64(rules.seed ^ number),
            phase: if idle { Phase::Default } else { Phase::Baseline },
            chosen: config.clone(),
            config,
            next: None,
            other: false,
            stops: vec![Stop::default(); stops],
            warm_up: WARM_UP,
            unknown: false,
            goes_on: false,
            gate: Gate::new(rules.confidence),
            credit: 0.0,
            timing: !idle,
            idle: u32::MAX,
            spent: 0.0,
            last_reference: 0.0,
            last_executions: 0.0,
            evaluations: 0,
            cost: 0.0,
            gain: None,
            usual: 0.0,
            seen: (0.0, 0),
            tried: space.options.iter().map(|count| vec![Tried::default(); usize::from(*count)]).collect(),
            reopened: 0,
            rules,
            space,
        };
        made.next = Some(made.config.clone());
        made
    }

    pub(crate) fn policy_name(&self) -> &'static str {
        self.policy.name()
    }

    /// What is taken in the end, as far as that is known.
    pub(crate) fn chosen(&self) -> &Config {
        &self.chosen
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// An execution begins: whether it is to be timed. Only now a planned change comes into force;
    /// then `changed` is called.
    #[inline]
    pub(crate) fn begin(&mut self, team: bool, changed: impl FnOnce(&Config)) -> bool {
        if !self.timing && !team {
            self.rest();
        }
        if let Some(next) = self.next.take() {
            self.config = next;
            self.stops.iter_mut().for_each(|stop| (stop.sum, stop.count) = (0.0, 0));
            self.spent = 0.0;
            changed(&self.config);
            // What is in the caches is still the other configuration's doing; a comparison must not
            // charge one for the other.
            if matches!(self.phase, Phase::Gate | Phase::Adopted) {
                return false;
            }
        }
        self.timing
    }

    /// An execution, or on a team a step, passes without being timed.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.idle -= u32::from(self.idle != u32::MAX);
        if self.idle == 0 {
            self.timing = true;
            self.plan();
        }
    }

    /// An execution has ended, after `ticks` if it was timed. Returns the time of this evaluation.
    #[inline]
    pub(crate) fn end(&mut self, stop: usize, ticks: Option<u64>) -> f64 {
        let stop = &mut self.stops[stop];
        stop.endings += 1;
        if let Some(ticks) = ticks {
            stop.sum += ticks as f64;
            stop.count += 1;
            self.spent += ticks as f64;
        }
        self.spent
    }

    /// Whether executions are timed now.
    pub(crate) fn is_timing(&self) -> bool {
        self.timing
    }

    /// The mean time and number of timed executions of each stop, in this evaluation.
    pub(crate) fn batch(&self) -> impl Iterator<Item = (f64, u32)> {
        // What was timed before a change that is planned does not belong to it.
        let stops = self.stops.iter().map(|stop| (stop.sum / f64::from(stop.count.max(1)), stop.count));
        stops.map(|(mean, count)| if self.next.is_some() { (0.0, 0) } else { (mean, count) })
    }

    /// An evaluation is complete: learns from it and plans the next one.
    pub(crate) fn learn(&mut self, batch: &[(f64, u32)]) {
        self.stops.iter_mut().for_each(|stop| (stop.sum, stop.count) = (0.0, 0));
        self.spent = 0.0;
        if batch.iter().all(|(_, count)| *count == 0) {
            return;
        }
        if self.warm_up > 0 {
            self.warm_up -= 1;
            return;
        }
        let (mut time, mut mean_time, mut reference) = (0.0, 0.0, 0.0);
        for ((mean, count), stop) in batch.iter().zip(&self.stops).filter(|(_, stop)| stop.reference > 0.0) {
            time += f64::from(*count) * mean;
            mean_time += f64::from(*count) * stop.default.mean;
            reference += f64::from(*count) * stop.reference;
        }
        self.evaluations += 1;
        // An execution during which the node was preempted is no option's fault.
        let charged = time.min(PREEMPTED * reference);
        let executions: f64 = batch.iter().map(|(_, count)| f64::from(*count)).sum();
        self.credit += self.rules.loss * charged - self.rules.clock * executions;
        if self.other {
            self.cost += time - mean_time;
            self.credit -= charged - reference;
        }
        (self.last_reference, self.last_executions) = (reference, executions);
        let relative = (reference > 0.0).then_some(time / reference);
        let timed = batch.iter().enumerate().filter(|(_, (_, count))| *count > 0);
        let timed = timed.map(|(stop, (mean, count))| (stop, *mean, f64::from(*count)));
        match self.phase {
            Phase::Baseline => {
                timed.for_each(|(stop, mean, _)| self.stops[stop].push_default(mean));
                let count = self.stops.iter().map(|stop| stop.default.count).max().unwrap_or(0);
                if count >= u64::from(BASELINE) && !self.rules.record {
                    self.credit =
                        GRACE * batch.iter().map(|(mean, count)| mean * f64::from(*count)).sum::<f64>();
                    self.stops.iter_mut().for_each(|stop| stop.fix());
                    self.phase = if self.goes_on { Phase::Gate } else { Phase::Search };
                }
            }
            Phase::Search => match relative {
                Some(relative) if self.other => {
                    self.policy.learn(&mut self.random, &self.config, relative);
                    for (tried, option) in self.tried.iter_mut().zip(&self.config) {
                        tried[usize::from(*option)].push(relative);
                    }
                }
                // Of stops without a time of the default nothing is learned; now it is their turn.
                _ if !self.other => timed.for_each(|(stop, mean, _)| self.stops[stop].push_default(mean)),
                _ => self.unknown = true,
            },
            Phase::Gate => {
                self.gate.push(self.other, timed);
                match self.gate.verdict() {
                    Some(Verdict::Faster(outcome)) => self.settle(Phase::Adopted, Some(outcome)),
                    Some(Verdict::NotFaster(outcome)) => self.settle(Phase::Default, Some(outcome)),
                    None => {}
                }
            }
            Phase::Adopted => {
                self.gate.push(self.other, timed);
                match self.gate.verdict() {
                    Some(Verdict::NotFaster(outcome)) if outcome.slower => self.reopen(),
                    Some(_) => self.gate = Gate::short(WATCH_CONFIDENCE),
                    None => {}
                }
                self.pause();
            }
            Phase::Default => {
                timed.for_each(|(stop, mean, _)| self.stops[stop].recent.push(mean));
                if self.has_changed() {
                    self.reopen();
                }
                self.pause();
            }
        }
        self.plan();
    }

    /// What the tuner itself has taken, the search has lost.
    pub(crate) fn charge(&mut self, ticks: u64) {
        self.credit -= ticks as f64;
    }

    /// Plans the next evaluation.
    fn plan(&mut self) {
        if self.phase == Phase::Search && self.policy.is_done() {
            self.chosen = self.policy.best();
            if !fits(&self.space.options, &self.chosen) {
                self.chosen = self.space.default_config();
            }
            if self.chosen == self.space.default_config() {
                self.settle(Phase::Default, None);
            } else {
                self.gate = Gate::new(self.rules.confidence);
                self.phase = Phase::Gate;
            }
        }
        self.wait_for_credit();
        self.other = match self.phase {
            Phase::Baseline | Phase::Default => false,
            Phase::Search | Phase::Gate if !self.timing => false,
            Phase::Search => !std::mem::take(&mut self.unknown),
            Phase::Gate => self.gate.next(&mut self.random),
            // Between two evaluations of a watch.
            Phase::Adopted => !self.timing || self.gate.next(&mut self.random),
        };
        let mut next = std::mem::take(&mut self.chosen);
        self.chosen.clone_from(&next);
        match self.phase {
            _ if !self.other => next.fill(0),
            Phase::Search => {
                self.policy.next(&mut self.random, &mut next);
                if !fits(&self.space.options, &next) {
                    next.clone_from(&self.config);
                    next.fill(0);
                }
            }
            _ => {}
        }
        self.next = (next != self.config).then_some(next);
    }

    /// A search that has used up what it may lose rests, untimed and with the default, until its
    /// share of the time makes up for it.
    fn wait_for_credit(&mut self) {
        let between = self.phase == Phase::Search || self.phase == Phase::Gate && self.gate.is_even();
        if !between || !self.timing || self.credit > 0.0 || self.last_reference <= 0.0 {
            return;
        }
        let evaluations = -self.credit / (self.rules.loss * self.last_reference);
        let executions = (evaluations * self.last_executions).ceil().max(1.0);
        self.idle = executions.min(f64::from(u32::MAX - 1)) as u32;
        self.credit = f64::MIN_POSITIVE;
        self.timing = false;
    }

    /// Whether it times executions, and there are any.
    pub(crate) fn is_busy(&mut self, visits: u64) -> bool {
        let endings = self.endings();
        if endings != self.seen.0 {
            self.seen = (endings, visits);
        }
        self.timing && visits - self.seen.1 < LEFT
    }

    fn endings(&self) -> f64 {
        self.stops.iter().map(|stop| stop.endings as f64).sum()
    }

    /// The time that what was adopted saves in so many executions as there were, at least; in
    /// ticks.
    pub(crate) fn saved(&self) -> f64 {
        let gain = self.gain.filter(|_| self.phase == Phase::Adopted);
        gain.map_or(0.0, |gain| self.endings() * self.usual * (gain.mean - gain.half_width))
    }

    /// The default stays, whatever was adopted.
    pub(crate) fn give_up(&mut self) {
        if self.phase == Phase::Adopted {
            let gain = self.gain;
            self.settle(Phase::Default, None);
            self.gain = gain;
            self.plan();
            self.config.fill(0);
            self.next = None;
        }
    }

    /// For about how many visits this does not need any, if its executions so far took so many.
    pub(crate) fn idle_visits(&self, visits: f64) -> f64 {
        if self.idle == u32::MAX {
            f64::INFINITY
        } else {
            f64::from(self.idle) * visits / self.endings().max(1.0)
        }
    }

    /// Nothing was looked at for so many times as long as before.
    pub(crate) fn has_slept(&mut self, times: f64) {
        if self.idle != u32::MAX {
            let executions = (times * self.endings().max(1.0)) as u32;
            self.idle = self.idle.saturating_sub(executions).max(1);
        }
    }

    fn settle(&mut self, phase: Phase, outcome: Option<Outcome>) {
        if self.last_executions > 0.0 {
            self.usual = self.last_reference / self.last_executions;
        }
        self.gain =
            outcome.map(|found| Gain { mean: -found.mean, half_width: found.half_width, pairs: found.pairs });
        self.phase = phase;
        if phase == Phase::Default {
            self.chosen = self.space.default_config();
        }
        self.gate = Gate::short(WATCH_CONFIDENCE);
        self.pause();
    }

    /// No more timings for a while, by chance of how long: what the program does regularly must not
    /// meet always the same.
    fn pause(&mut self) {
        let settled = matches!(self.phase, Phase::Adopted | Phase::Default);
        if settled && self.gate.is_even() {
            self.timing = false;
            let watch = u64::from(self.rules.watch.max(1));
            self.idle = (watch / 2 + 1 + self.random.random_range(0..watch)) as u32;
        }
    }

    /// Whether the default's time has become another since the search ended: the middle half of its
    /// recent times is far from the middle half of those of before, which single disturbed
    /// executions do not decide.
    fn has_changed(&mut self) -> bool {
        let mut changed = false;
        for stop in self.stops.iter_mut().filter(|stop| stop.recent.len() >= WATCHED) {
            let recent = quartiles(&mut std::mem::take(&mut stop.recent));
            let before = quartiles(&mut stop.before);
            if let (Some(recent), Some(before)) = (recent, before) {
                changed |= recent[0] > CHANGED * before[1] || CHANGED * recent[1] < before[0];
            }
        }
        changed && self.reopened < REOPENED && self.space.options.iter().any(|count| *count > 1)
    }

    /// Begins again, with the default.
    fn reopen(&mut self) {
        if self.reopened >= REOPENED {
            self.settle(Phase::Default, None);
            return;
        }
        self.reopened += 1;
        let budget = self.rules.budget.unwrap_or_else(|| self.space.usual_budget());
        self.policy = self.rules.search.policy(&self.space, budget);
        for stop in &mut self.stops {
            *stop = Stop { endings: stop.endings, ..Stop::default() };
        }
        self.gain = None;
        self.goes_on = false;
        self.chosen = self.space.default_config();
        self.phase = Phase::Baseline;
        self.timing = true;
    }

    pub(crate) fn save(&self) -> SavedExperiment {
        // A run that was too short for more than a baseline leaves the gate to the next one.
        let phase = if self.phase == Phase::Baseline && self.goes_on { Phase::Gate } else { self.phase };
        SavedExperiment {
            phase,
            gate: (phase == Phase::Gate).then(|| self.gate.clone()),
            chosen: self.chosen.clone(),
            gain: self.gain,
            usual: self.usual,
            evaluations: self.evaluations,
            cost: self.cost,
            reopened: self.reopened,
            tried: self.tried.clone(),
            policy: if matches!(phase, Phase::Baseline | Phase::Search) {
                self.policy.save()
            } else {
                Value::Null
            },
        }
    }

    /// Goes on where an earlier run ended; `false` if what it saved does not fit.
    pub(crate) fn restore(&mut self, saved: SavedExperiment) -> bool {
        let shape = |tried: &[Vec<Tried>]| tried.iter().map(Vec::len).collect::<Vec<_>>();
        if !fits(&self.space.options, &saved.chosen) || shape(&saved.tried) != shape(&self.tried) {
            return false;
        }
        match saved.phase {
            Phase::Adopted | Phase::Default => {
                self.chosen = saved.chosen;
                self.phase = saved.phase;
                self.gate = Gate::short(WATCH_CONFIDENCE);
                self.pause();
                self.plan();
            }
            // A gate goes on: its pairs are of one run each, but perhaps the last. The baseline
            // comes first in every run.
            Phase::Gate if saved.gate.as_ref().is_some_and(|gate| gate.fits(self.stops.len())) => {
                self.chosen = saved.chosen;
                self.gate = saved.gate.unwrap_or_else(|| Gate::new(self.rules.confidence));
                self.goes_on = true;
            }
            Phase::Gate => return false,
            _ if saved.policy.is_null() || self.policy.restore(&saved.policy) => {}
            _ => return false,
        }
        (self.evaluations, self.cost, self.reopened) = (saved.evaluations, saved.cost, saved.reopened);
        (self.gain, self.usual, self.tried) = (saved.gain, saved.usual, saved.tried);
        true
    }
}

impl Stop {
    fn push_default(&mut self, time: f64) {
        self.default.push(time);
        if self.before.len() < WATCHED {
            self.before.push(time);
        }
        // More than a baseline: a stop that is first seen during the search.
        if self.reference == 0.0 && self.before.len() > BASELINE as usize {
            self.fix();
        }
    }

    /// From now on times are relative to the default's of before.
    fn fix(&mut self) {
        self.reference = if self.before.is_empty() { 0.0 } else { median(&self.before) };
    }
}

/// The lower and the upper quartile; `None` of few.
fn quartiles(times: &mut [f64]) -> Option<[f64; 2]> {
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[part * (times.len() - 1) / 4];
    (times.len() >= 4).then(|| [at(1), at(3)])
}

impl Tried {
    fn push(&mut self, relative: f64) {
        self.least = if self.evaluations == 0 { relative } else { self.least.min(relative) };
        self.evaluations += 1;
        self.mean += (relative - self.mean) / self.evaluations as f64;
    }
}
