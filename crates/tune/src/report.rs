//! The report: configurations tried and adopted, their gain and their cost, by interval.

use crate::experiment::{Experiment, Gain, Phase, Tried};
use crate::intervals::Interval;
use crate::tuner::Tuner;
use serde::{Deserialize, Serialize};
use std::fmt;
use strata_model::count;

/// The report of a run; `Display` prints it for people, serde serializes it for programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The program.
    pub program: String,
    /// Visits of call sites.
    pub visits: u64,
    /// Call sites.
    pub sites: usize,
    /// Pairs of sites that followed each other.
    pub edges: usize,
    /// The intervals of its loops, including those without a knob.
    pub intervals: Vec<IntervalReport>,
    /// Files that were used, and files that were ignored, with the reason.
    pub notes: Vec<String>,
}

/// An interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IntervalReport {
    /// Its call sites in order.
    pub sites: Vec<String>,
    /// Its ends.
    pub stops: Vec<StopReport>,
    /// State of the experiment.
    pub phase: Phase,
    /// The search policy.
    pub policy: String,
    /// Its knobs.
    pub knobs: Vec<KnobReport>,
    /// Number of evaluations, the default's included.
    pub evaluations: u64,
    /// The saving of the adopted or last compared configuration.
    pub gain: Option<Gain>,
    /// Seconds lost by trying alternatives, relative to the default; negative if they were faster.
    pub cost: f64,
    /// Number of restarts of the search because times had changed.
    pub reopened: u32,
}

/// An end of an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StopReport {
    /// The call site.
    pub site: String,
    /// Executions that ended there.
    pub endings: u64,
    /// The default's mean time in seconds; 0 if it has not been timed in this run.
    pub seconds: f64,
}

/// A knob at a call site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KnobReport {
    /// The call site.
    pub site: String,
    /// The name of the adopted option, or of the default.
    pub chosen: String,
    /// Its options, the default first.
    pub options: Vec<OptionReport>,
}

/// An option of a knob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OptionReport {
    /// Its name.
    pub name: String,
    /// Its measurements.
    #[serde(flatten)]
    pub tried: Tried,
}

impl Tuner {
    /// Notes about files that were ignored.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The report so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut notes = self.notes.clone();
        notes.extend(self.used.clone());
        if self.graph.full {
            notes
                .push("the program has more call sites than are tracked; the others take the default".into());
        }
        let intervals = self.intervals.iter().zip(&self.experiments);
        Report {
            program: self.program.clone(),
            visits: self.visits + self.idle.slept(),
            sites: self.graph.nodes.len() - 1,
            edges: self.graph.edges(),
            intervals: intervals.map(|(interval, experiment)| self.of(interval, experiment)).collect(),
            notes,
        }
    }

    pub(crate) fn site_name(&self, node: usize) -> String {
        self.graph.nodes[node].site.as_ref().map_or_else(|| "the begin".to_owned(), ToString::to_string)
    }

    fn of(&self, interval: &Interval, experiment: &Experiment) -> IntervalReport {
        let stops = interval.stops.iter().zip(&experiment.stops).map(|(node, stop)| StopReport {
            site: self.site_name(*node),
            endings: stop.endings,
            seconds: stop.default.mean * self.tick,
        });
        let knobs = self.knobs(interval).zip(&experiment.tried).zip(experiment.chosen());
        let knobs = knobs.map(|((node, tried), chosen)| {
            let labels = &self.graph.nodes[node].labels;
            let name =
                |option: usize| labels.get(option).cloned().unwrap_or_else(|| format!("option {option}"));
            KnobReport {
                site: self.site_name(node),
                chosen: name(usize::from(*chosen)),
                options: tried
                    .iter()
                    .enumerate()
                    .map(|(option, tried)| OptionReport { name: name(option), tried: *tried })
                    .collect(),
            }
        });
        IntervalReport {
            sites: interval.nodes.iter().map(|node| self.site_name(*node)).collect(),
            stops: stops.collect(),
            phase: experiment.phase,
            policy: experiment.policy_name().to_owned(),
            knobs: knobs.collect(),
            evaluations: experiment.evaluations,
            gain: experiment.gain,
            cost: experiment.cost * self.tick,
            reopened: experiment.reopened,
        }
    }
}

impl Report {
    /// The report as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The most options of a knob that are printed: the fastest ones.
const PRINTED: usize = 8;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_knobs: Vec<_> = self.intervals.iter().filter(|each| !each.knobs.is_empty()).collect();
        writeln!(
            f,
            "{}: {}, {}, {} with knobs",
            self.program,
            count(self.sites, "call site", "call sites"),
            count(self.intervals.len(), "interval", "intervals"),
            with_knobs.len()
        )?;
        for interval in with_knobs {
            write!(f, "{interval}")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

impl fmt::Display for IntervalReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.sites.join(", then "))?;
        let chosen: Vec<&str> = self.knobs.iter().map(|knob| &*knob.chosen).collect();
        let share = |value: f64| format!("{:.1} %", 100.0 * value);
        let gain = self.gain.map(|gain| {
            let word = if gain.mean < 0.0 { "slower" } else { "faster" };
            format!("{} ± {} {word}, {} pairs", share(gain.mean.abs()), share(gain.half_width), gain.pairs)
        });
        match (self.phase, gain) {
            (Phase::Adopted, Some(gain)) => writeln!(f, "  adopted {}: {gain}", chosen.join(", "))?,
            (Phase::Adopted, None) => writeln!(f, "  adopted {}", chosen.join(", "))?,
            (Phase::Default, Some(gain)) => writeln!(f, "  keeps the default: the best other was {gain}")?,
            (Phase::Default, None) => writeln!(f, "  keeps the default: nothing else was faster")?,
            (Phase::Baseline, _) => writeln!(f, "  the default is being timed")?,
            (Phase::Search, _) => writeln!(f, "  searching; the default until then")?,
            (Phase::Gate, _) => writeln!(f, "  comparing {} with the default", chosen.join(", "))?,
        }
        writeln!(
            f,
            "  {} by {}; tries took {} {}",
            count(self.evaluations as usize, "evaluation", "evaluations"),
            self.policy,
            seconds(self.cost.abs()),
            if self.cost < 0.0 { "less than the default" } else { "more than the default" }
        )?;
        for knob in &self.knobs {
            let mut tried: Vec<_> =
                knob.options.iter().filter(|option| option.tried.evaluations > 0).collect();
            tried.sort_by(|a, b| a.tried.mean.total_cmp(&b.tried.mean));
            if !tried.is_empty() {
                writeln!(f, "  {}: time relative to the default, mean (least), evaluations", knob.site)?;
            }
            for option in tried.iter().take(PRINTED) {
                let Tried { evaluations, mean, least } = option.tried;
                writeln!(f, "    {:<16} {mean:.3} ({least:.3}) {evaluations:>6}", option.name)?;
            }
            if tried.len() > PRINTED {
                writeln!(f, "    and {} more", tried.len() - PRINTED)?;
            }
        }
        Ok(())
    }
}

fn seconds(value: f64) -> String {
    match value {
        v if v >= 1.0 => format!("{v:.2} s"),
        v if v >= 1e-3 => format!("{:.2} ms", v * 1e3),
        v => format!("{:.1} µs", v * 1e6),
    }
}
