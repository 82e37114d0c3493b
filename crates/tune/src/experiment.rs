//! What happens to one interval: baseline, search, gate, and then a watch.

mod pace;
mod saved;
mod timings;

use crate::gate::{Gate, Outcome, Verdict};
use crate::policy::{Config, Policy, Random, Search, Space, fits};
use rand::SeedableRng as _;
pub(crate) use saved::SavedExperiment;
use serde::{Deserialize, Serialize};
pub(crate) use timings::Stop;
pub use timings::Tried;

/// Evaluations of the default before anything else is tried.
const BASELINE: u32 = 8;
/// Evaluations at the begin that do not count: the first iteration of a loop starts it up.
const WARM_UP: u32 = 1;
/// How many times the baseline a search may lose before it has to wait for its share.
const GRACE: f64 = 2.0;
/// An option that is slower than this factor is charged for no more.
const PREEMPTED: f64 = 50.0;
/// The confidence that a watch needs.
const WATCH_CONFIDENCE: f64 = 0.999;
/// Searches that may begin again.
const REOPENED: u32 = 3;

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
}
