//! Choices on simulated costs: how often they are right, what they lose, and whether their claimed
//! odds are true.
//!
//!     cargo bench -p strata-benches --bench trust
//!
//! Deterministic.

use std::convert::Infallible;
use std::process::ExitCode;

use clap::Parser;
use strata_benches::trust::{KINDS, Tally, library};
use strata_benches::{head, row};

#[derive(Parser)]
struct Arguments {
    /// Libraries of each kind of noise
    #[arg(long, value_name = "COUNT", default_value_t = 40)]
    libraries: u64,
}

fn main() -> ExitCode {
    strata_benches::run(judge)
}

fn judge(&Arguments { libraries }: &Arguments) -> Result<(), Infallible> {
    head(&[
        "noise",
        "choices",
        "right",
        "regret mean",
        "worst",
        "calibration gap",
        "claimed loss / true",
        "verdicts right",
        "good failed",
        "bad passed",
    ]);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let line = |name: &str, t: &Tally| {
        row(&[
            name.to_owned(),
            t.choices.to_string(),
            percent(t.right as f64 / t.choices.max(1) as f64),
            percent(t.regret_mean()),
            percent(t.worst),
            percent(t.calibration_gap()),
            format!("{:.2}", t.loss.0 / t.loss.1),
            percent(t.verdict_right()),
            t.verdicts[2].to_string(),
            t.verdicts[3].to_string(),
        ]);
    };
    let mut all = Tally::default();
    for (kind, name) in KINDS.iter().enumerate() {
        let mut tally = Tally::default();
        (0..libraries).for_each(|seed| tally.add(&library(kind, 1000 + seed)));
        line(name, &tally);
        all.add(&tally);
    }
    line("all", &all);
    println!("\nClaimed probability of being the fastest, and the share that was.\n");
    head(&["claimed", "choices", "mean claim", "right"]);
    for (place, (count, claimed, right)) in all.bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0) {
        let mean = |sum: f64| percent(sum / *count as f64);
        row(&[
            format!("{} to {} %", 10 * place, 10 * place + 10),
            count.to_string(),
            mean(*claimed),
            mean(*right as f64),
        ]);
    }
    strata_benches::summary(&serde_json::json!({
        "verdict_right": all.verdict_right(),
        "calibration_gap": all.calibration_gap(),
        "regret_mean": all.regret_mean(),
        "regret_worst": all.worst,
    }));
    Ok(())
}
