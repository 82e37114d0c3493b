//! The saved state of an experiment, and its continuation in a later run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Experiment, Gain, Phase, Tried, WATCH_CONFIDENCE};
use crate::gate::Gate;
use crate::policy::{Config, fits};

/// The state of an experiment in a file.
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
    pub(crate) fn save(&self) -> SavedExperiment {
        // If a run ends during the baseline, its gate is left to the next run.
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

    /// Continues an earlier run's experiment; `false` if the saved state does not fit.
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
            // The gate continues: each of its pairs is from one run, except perhaps the last. Every
            // run begins with a baseline.
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
