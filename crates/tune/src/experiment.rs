//! The experiment on one interval: baseline, search, gate, and then a watch.

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

/// Evaluations of the default before any other configuration is tried.
const BASELINE: u32 = 8;
/// Evaluations at the start that are not counted: the first iteration of a loop warms it up.
const WARM_UP: u32 = 1;
/// The loss, in baselines, after which a search must wait for its share of the time.
const GRACE: f64 = 2.0;
/// The charge for a slow option is capped at this factor.
const PREEMPTED: f64 = 50.0;
/// The confidence level of a watch.
const WATCH_CONFIDENCE: f64 = 0.999;
/// The most times that a search may begin again.
const REOPENED: u32 = 3;

/// Settings shared by all experiments of a tuner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) search: Search,
    pub(crate) budget: Option<u32>,
    pub(crate) loss: f64,
    pub(crate) confidence: f64,
    pub(crate) seed: u64,
    /// Mean number of executions between two that a watch compares.
    pub(crate) watch: u32,
    /// Ticks that timing one execution costs, its visits included.
    pub(crate) clock: f64,
    /// True to record times only.
    pub(crate) record: bool,
}

/// The state of an interval's experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The default is timed.
    Baseline,
    /// Configurations are tried.
    Search,
    /// The best configuration and the default are timed in turns.
    Gate,
    /// The best configuration has been adopted.
    Adopted,
    /// The default has been kept.
    Default,
}

/// The gain of an adopted configuration, as a share of the default's time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The share of the default's time that is saved; negative where it is slower.
    pub mean: f64,
    /// Half-width of the confidence interval.
    pub half_width: f64,
    /// Number of pairs of fresh timings.
    pub pairs: usize,
}

/// The experiments on one interval.
pub(crate) struct Experiment {
    space: Space,
    policy: Box<dyn Policy>,
    random: Random,
    rules: Rules,
    pub(crate) phase: Phase,
    /// The configuration in force, and the one planned for the next execution.
    config: Config,
    next: Option<Config>,
    /// True if the configuration in force is an alternative to the default, on purpose.
    other: bool,
    chosen: Config,
    pub(crate) stops: Vec<Stop>,
    warm_up: u32,
    /// True if a gate of an earlier run continues after the baseline.
    goes_on: bool,
    /// True if the last evaluation could not be compared, so that the next one uses the default.
    unknown: bool,
    gate: Gate,
    /// The time that a search may still lose.
    credit: f64,
    /// True if executions are timed; and the number of executions for which they will not be.
    timing: bool,
    idle: u32,
    /// Time of the current evaluation.
    spent: f64,
    /// The predicted time of the last evaluation with the default, and its number of executions.
    last_reference: f64,
    last_executions: f64,
    pub(crate) evaluations: u64,
    /// Ticks lost by trying alternatives, relative to the default.
    pub(crate) cost: f64,
    pub(crate) gain: Option<Gain>,
    /// Mean ticks of an execution with the default at the last comparison.
    usual: f64,
    /// The number of executions, and the visit of the program at which it last changed.
    seen: (f64, u64),
    pub(crate) tried: Vec<Vec<Tried>>,
    pub(crate) reopened: u32,
}

impl Experiment {
    /// An experiment on these knobs; `number` must be equal on all nodes and in all runs.
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

    /// The chosen configuration, as far as it is decided.
    pub(crate) fn chosen(&self) -> &Config {
        &self.chosen
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Begins an execution; returns true if it is to be timed. A planned change comes into force
    /// only now, and `changed` is called.
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
            // The caches still hold the other configuration's data, and a comparison must not
            // charge one configuration for the other.
            if matches!(self.phase, Phase::Gate | Phase::Adopted) {
                return false;
            }
        }
        self.timing
    }

    /// Ends an execution, which took `ticks` if it was timed. Returns the time of this evaluation.
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

    pub(crate) fn is_timing(&self) -> bool {
        self.timing
    }

    /// The mean time and number of timed executions of each stop, in this evaluation.
    pub(crate) fn batch(&self) -> impl Iterator<Item = (f64, u32)> {
        // Timings taken before a planned change do not belong to the change.
        let stops = self.stops.iter().map(|stop| (stop.sum / f64::from(stop.count.max(1)), stop.count));
        stops.map(|(mean, count)| if self.next.is_some() { (0.0, 0) } else { (mean, count) })
    }

    /// Completes an evaluation: learns from it and plans the next one.
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
        // An execution during which the node was preempted carries no information about the option.
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
                // A stop without a time of the default teaches nothing; time the default there now.
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

    /// Charges the tuner's own time to the search.
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

    /// A lower bound, in ticks, on the time saved by the adopted configuration over all executions
    /// so far.
    pub(crate) fn saved(&self) -> f64 {
        let gain = self.gain.filter(|_| self.phase == Phase::Adopted);
        gain.map_or(0.0, |gain| self.endings() * self.usual * (gain.mean - gain.half_width))
    }

    /// Returns to the default, whatever was adopted.
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

    /// Restarts the experiment, with the default.
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
