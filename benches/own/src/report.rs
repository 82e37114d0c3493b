//! The table of all libraries, its notes and its summary.

use serde_json::{Map, Value, json};

use crate::judge::{NEARLY, Outcome, RIGHT, mean};
use crate::library::Entry;

/// One library's race, and what is known of its calibration.
pub struct Raced<'e> {
    /// The library.
    pub entry: &'e Entry,
    /// Its race.
    pub outcome: Outcome,
    /// The verdicts on its models.
    pub verdicts: String,
    /// The seconds of its calibration, with building; `None` if it was done before.
    pub calibration: Option<f64>,
    /// How many cores other programs kept busy meanwhile, where `specc` warned of it.
    pub busy: Option<f64>,
}

/// The head of the table.
pub const HEAD: &str = concat!(
    "          |       by models       |  old rule   | best constant |\n",
    "library   | right <5% mean  worst |  mean worst |  mean worst   | claim noise pr/me\n",
    "----------+-----------------------+-------------+---------------+------------------",
);

fn percent(share: f64) -> String {
    format!("{:.0}", 100.0 * share)
}

fn exact(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

impl Raced<'_> {
    /// A line of the table, in per cent.
    pub fn row(&self) -> String {
        let (ours, old) = (self.outcome.by_models(), self.outcome.by_old_rule());
        let best = self.outcome.best_constant();
        let (best_mean, best_worst) =
            best.as_ref().map_or((f64::NAN, f64::NAN), |(_, regrets)| (regrets.mean(), regrets.worst().1));
        format!(
            "{:<9} | {:>5} {:>3} {:>5} {:>5} | {:>5} {:>5} | {:>5} {:>5}   | {:>5} {:>5} {:>5.2}",
            self.entry.name,
            percent(ours.within(RIGHT)),
            percent(ours.within(NEARLY)),
            exact(ours.mean()),
            percent(ours.worst().1),
            exact(old.mean()),
            percent(old.worst().1),
            exact(best_mean),
            percent(best_worst),
            percent(self.outcome.claimed_and_right().0),
            exact(self.outcome.noise()),
            self.outcome.predicted_over_measured(),
        )
    }

    /// What the table has no room for, in lines.
    pub fn notes(&self) -> String {
        let ours = self.outcome.by_models();
        let (place, worst) = ours.worst();
        let way = |way| self.entry.describe(way);
        let fastest =
            self.outcome.times.get(place).and_then(crate::race::Times::fastest).map_or_else(String::new, way);
        let at = self.outcome.inputs.get(place).map_or_else(String::new, |x| self.entry.point(x));
        let taken = self.outcome.taken.get(place).map_or_else(String::new, |taken| way(taken[0]));
        let constant = self.outcome.best_constant().map_or_else(String::new, |best| way(best.0));
        let busy = self.busy.map_or_else(String::new, |busy| format!("; {busy:.1} cores taken by others"));
        format!(
            "{}: {}{busy}\n  3 ways: {} %; old: {}; best constant {constant}\n  worst +{} % at {at}: {taken}, fastest {fastest}",
            self.entry.name,
            self.verdicts,
            exact(self.outcome.by_few().mean()),
            self.entry.old_rule,
            percent(worst),
        )
    }

    /// Every way's two times at every input, as tab-separated values.
    pub fn timings(&self) -> String {
        let mut lines = "input\tway\teven\todd\ttaken\n".to_owned();
        for ((x, times), [chosen, old, _]) in
            self.outcome.inputs.iter().zip(&self.outcome.times).zip(&self.outcome.taken)
        {
            let [even, odd] = &times.halves;
            for ((way, even), odd) in times.ways.iter().zip(even).zip(odd) {
                let taken = match (way == chosen, way == old) {
                    (true, true) => "models, old",
                    (true, false) => "models",
                    (false, true) => "old",
                    (false, false) => "",
                };
                let (x, way) = (self.entry.point(x), self.entry.describe(*way));
                lines += &format!("{x}\t{way}\t{even:.4e}\t{odd:.4e}\t{taken}\n");
            }
        }
        lines
    }

    fn json(&self) -> Value {
        let (ours, old) = (self.outcome.by_models(), self.outcome.by_old_rule());
        let (claimed, right) = self.outcome.claimed_and_right();
        let (place, worst) = ours.worst();
        let best = self.outcome.best_constant();
        json!({
            "mean_regret": round(ours.mean()), "worst": round(worst), "right": round(ours.within(RIGHT)),
            "worst_at": self.outcome.inputs.get(place).map(|x| self.entry.point(x)),
            "within5": round(ours.within(NEARLY)), "old_mean": round(old.mean()),
            "old_worst": round(old.worst().1), "old_right": round(old.within(RIGHT)),
            "best_constant": best.as_ref().map(|best| self.entry.describe(best.0)),
            "best_constant_mean": best.as_ref().map(|best| round(best.1.mean())),
            "few_mean": round(self.outcome.by_few().mean()), "claimed": round(claimed), "right_where_claimed": round(right),
            "noise": round(self.outcome.noise()),
            "predicted_over_measured": round(self.outcome.predicted_over_measured()),
            "verdicts": self.verdicts, "calibration_seconds": self.calibration.map(round),
            "cores_taken": self.busy,
        })
    }
}

/// The last line's object: the figures of the goals over all libraries, then each library's.
pub fn summary(raced: &[Raced<'_>], seed: u64) -> Value {
    let models: Vec<_> = raced.iter().map(|raced| raced.outcome.by_models()).collect();
    let old: Vec<f64> = raced.iter().map(|raced| raced.outcome.by_old_rule().mean()).collect();
    let claims = raced.iter().map(|raced| raced.outcome.claimed_and_right());
    let claims: Vec<f64> =
        claims.map(|(claimed, right)| claimed - right).filter(|gap| gap.is_finite()).collect();
    let worst = models.iter().zip(raced).max_by(|a, b| a.0.mean().total_cmp(&b.0.mean()));
    let worse = models.iter().zip(&old).zip(raced).filter(|((ours, old), _)| ours.mean() > **old + 0.02);
    let worse: Vec<&str> = worse.map(|(_, raced)| raced.entry.name).collect();
    let few = |raced: &Raced<'_>| raced.outcome.by_few().mean() - raced.outcome.by_models().mean();
    let mut sorted = old.clone();
    sorted.sort_by(f64::total_cmp);
    let old_median = sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
    let libraries: Map<String, Value> =
        raced.iter().map(|raced| (raced.entry.name.to_owned(), raced.json())).collect();
    json!({
        "bench": "own", "seed": seed, "inputs": raced.first().map(|raced| raced.outcome.inputs.len()),
        "mean_regret": round(mean(models.iter().map(|regrets| regrets.mean()))),
        "worst_library": worst.map(|(_, raced)| raced.entry.name),
        "worst_library_regret": worst.map(|(regrets, _)| round(regrets.mean())),
        "right": round(mean(models.iter().map(|regrets| regrets.within(RIGHT)))),
        "within5": round(mean(models.iter().map(|regrets| regrets.within(NEARLY)))),
        "old_mean": round(mean(old.iter().copied())), "old_median": round(old_median), "worse_than_old": worse,
        "claimed_minus_right": round(mean(claims.iter().copied())),
        "claimed_apart_from_right": round(mean(claims.iter().map(|gap| gap.abs()))),
        "noise": round(mean(raced.iter().map(|raced| raced.outcome.noise()))),
        "few_minus_all": round(raced.iter().map(few).fold(f64::NEG_INFINITY, f64::max)),
        "libraries": libraries,
    })
}

/// The goals of issue 40, each with what was reached.
pub fn goals(summary: &Value) -> String {
    let number = |name: &str| summary.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let met = |met: bool| if met { "met" } else { "missed" };
    let worse = summary.get("worse_than_old").and_then(Value::as_array).map_or(0, Vec::len);
    let gap = number("claimed_minus_right");
    let name = summary.get("worst_library").and_then(Value::as_str).unwrap_or("");
    [
        format!(
            "mean regret {} %, at most 2: {}",
            exact(number("mean_regret")),
            met(number("mean_regret") <= 0.02)
        ),
        format!(
            "worst library {} % ({name}), at most 5: {}",
            exact(number("worst_library_regret")),
            met(number("worst_library_regret") <= 0.05)
        ),
        format!("worse than the old rule by more than 2 points: {worse}, at most 0: {}", met(worse == 0)),
        format!(
            "within 5 % {} %, at least 95: {}",
            percent(number("within5")),
            met(number("within5") >= 0.95)
        ),
        format!(
            "with at most 3 ways a library loses up to {} points more, at most 2: {}",
            exact(number("few_minus_all")),
            met(number("few_minus_all") <= 0.02)
        ),
        format!(
            "claimed minus right {} points, at most 5: {} (each library's, without its sign: {})",
            exact(gap),
            met(gap.abs() <= 0.05),
            exact(number("claimed_apart_from_right"))
        ),
    ]
    .join("\n")
}

fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
