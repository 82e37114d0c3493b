//! Fourteen libraries as users write them, calibrated as the guide has it: what their models choose,
//! and their old rules, beside what else could be taken.
//!
//!     cargo bench -p strata-benches --bench own -- [--only NAME] [--round] [--budget 60s] [--race 40]
//!
//! `benches/own/README.md` says how, `benches/figures/own.md` what came of it.

use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use serde_json::{Map, Value, json};
use specc::competition::Competition;
use strata_benches::judge::{Judge, Timing, named};
use strata_benches::tool;

/// Up to this loss a choice counts as right, up to the second one as nearly right.
const RIGHT: f64 = 0.03;
const NEARLY: f64 = 0.05;

/// A way: a candidate and its parameters.
type Way = (&'static str, &'static [i64]);

/// A library by its spec, and its old rule: in words, and what it takes at inputs.
struct Library {
    name: &'static str,
    rule: &'static str,
    old: fn(&[f64]) -> Way,
}

const fn library(name: &'static str, rule: &'static str, old: fn(&[f64]) -> Way) -> Library {
    Library { name, rule, old }
}

/// First those of one function with a parameter.
const LIBRARIES: [Library; 14] = [
    library("quick", "cutoff 16", |_| ("quicksort", &[16])),
    library("merge", "runs of 32", |_| ("merge_sort", &[32])),
    library("radix", "digits of 8 bits", |_| ("radix_sort", &[8])),
    library("transpose", "blocks of 16", |_| ("blocked", &[16])),
    library("matmul", "blocks of 64", |_| ("blocked", &[64])),
    library("multiply", "school up to 32 limbs", |_| ("karatsuba", &[32])),
    library("grain", "pieces of 1024", |_| ("map", &[1024])),
    library("lookup", "linear up to n = 32 or m = 1, else hashed", |x| {
        (if x[0] <= 32.0 || x[1] == 1.0 { "linear" } else { "hashed" }, &[])
    }),
    library("filter", "branchy", |_| ("branchy", &[])),
    library("patterns", "aho-corasick: DFA up to 100 patterns", |x| {
        (if x[0] > 100.0 { "nfa" } else { "dfa" }, &[])
    }),
    library("fft", "rustfft: Rader up to a factor of 23", |x| {
        (if x[1] > 23.0 { "bluestein" } else { "rader" }, &[])
    }),
    library("sort", "rayon: par_sort_unstable (serial up to 2000)", |_| ("parallel", &[])),
    library("product", "gemm: serial up to 48*48*256", |x| {
        (if x[0] * x[1] * x[2] > 589_824.0 { "parallel" } else { "serial" }, &[])
    }),
    library("hash", "blake3: serial below 128 KiB", |x| {
        (if x[0] >= 131_072.0 { "parallel" } else { "serial" }, &[])
    }),
];

#[derive(Parser)]
struct Arguments {
    /// One library, or several
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = LIBRARIES.map(|library| library.name))]
    only: Vec<String>,
    /// What a calibration may take
    #[arg(long, value_name = "TIME", default_value = "60s")]
    budget: String,
    /// Inputs that are chosen for
    #[arg(long, default_value_t = 40, value_parser = strata_benches::at_least(1))]
    inputs: usize,
    /// Seconds for which the choices of a library are timed
    #[arg(long, value_name = "SECONDS", default_value_t = 40.0)]
    race: f64,
    /// Of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Half of the inputs are powers of two or multiples of 64
    #[arg(long)]
    round: bool,
    /// A trial: 5 s a calibration, 4 inputs
    #[arg(long)]
    quick: bool,
    /// Judges the models that an earlier run has left in target/own
    #[arg(long)]
    race_only: bool,
}

strata_benches::main!(run);

fn run(arguments: &Arguments) -> Result<(), String> {
    let wanted =
        |library: &&Library| arguments.only.is_empty() || arguments.only.iter().any(|o| o == library.name);
    let mut all = Vec::new();
    for library in LIBRARIES.iter().filter(wanted) {
        let raced = raced(library, arguments)?;
        eprintln!("{}", raced.row());
        all.push(raced);
    }
    println!("          |       by models       |  old rule   | best constant |");
    println!("library   | right <5% mean  worst |  mean worst |  mean worst   | claim pr/me");
    println!("----------+-----------------------+-------------+---------------+------------");
    all.iter().for_each(|raced| println!("{}", raced.row()));
    println!("in per cent; pr/me: mean of predicted over measured times\n");
    all.iter().for_each(|raced| println!("{}", raced.notes));
    strata_benches::summary(&summary(&all, arguments.seed));
    Ok(())
}

/// What came of a library; losses are means and the greatest.
struct Raced {
    name: &'static str,
    /// Of the choices by models.
    losses: Vec<f64>,
    old: [f64; 2],
    constant: [f64; 2],
    /// The mean probability that choices claim to be the fastest, and the share of these that are right.
    claimed: [f64; 2],
    predicted: f64,
    notes: String,
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Calibrates a library, and times its choices and its old rule.
fn raced(library: &Library, arguments: &Arguments) -> Result<Raced, String> {
    let Arguments { seed, round, quick, .. } = *arguments;
    let (name, root) = (library.name, tool::root());
    let (spec, folder) =
        (root.join(format!("benches/own/specs/{name}.spec")), root.join("target/own").join(name));
    let begun = Instant::now();
    if !arguments.race_only {
        let budget = if quick { "5s" } else { &arguments.budget };
        let words = ["calibrate", &spec.to_string_lossy(), "--nodes", "1", "--budget", budget];
        tool::specc_into(&folder, &words)?;
    }
    let calibration = begun.elapsed().as_secs_f64();
    let timing = Timing {
        nodes: 1,
        // The inputs differ from those of the calibration.
        seed: seed + (1 << 32),
        inputs: if quick { 4 } else { arguments.inputs },
        round: Some(if round { 0.5 } else { 0.0 }),
        seconds: if quick { 2.0 } else { arguments.race },
    };
    let old = |competition: &Competition, inputs: &[f64]| {
        let (candidate, parameters) = (library.old)(inputs);
        named(competition, candidate, parameters)
    };
    let models: PathBuf = folder.join("models.toml");
    let judge = Judge::time(&spec, &models, &folder, &timing, Some(&old))?;
    let [by_models, by_old] = [judge.compare(None)?, judge.compare(Some(&old))?];
    let [of_models, of_old] = [&by_models, &by_old].map(|compared| compared.regret.as_ref());
    let (of_models, of_old) = of_models.zip(of_old).ok_or("too little was timed")?;
    let constant = of_models.constant.as_ref().map_or("", |constant| &constant.name);
    let (candidate, parameters) = constant.split_once(':').unwrap_or((constant, ""));
    let parameters: Vec<i64> = parameters.split(':').filter_map(|value| value.parse().ok()).collect();
    let always = |competition: &Competition, _: &[f64]| named(competition, candidate, &parameters);
    let best = judge.compare(Some(&always)).ok().and_then(|compared| compared.regret);
    let competition = Competition::new(judge.set(), name).map_err(|error| error.to_string())?;
    let claim = |inputs: &[f64]| {
        let choice = competition.choose(inputs, None).ok()?;
        competition.odds(inputs, &choice).map(|odds| odds.fastest)
    };
    let losses = judge.losses();
    let claims: Vec<(f64, f64)> = losses
        .iter()
        .filter_map(|(inputs, loss)| Some((claim(inputs)?, f64::from(*loss <= RIGHT))))
        .collect();
    let verdicts: Vec<String> = judge.set().models.iter().map(|model| model.verdict.to_string()).collect();
    Ok(Raced {
        name,
        notes: format!(
            "{name}: {}; calibrated in {calibration:.0} s\n  old: {}; best constant {constant}\n  worst +{:.0} % at {}",
            verdicts.join(", "),
            library.rule,
            100.0 * of_models.worst,
            of_models.worst_at
        ),
        losses: losses.into_iter().map(|(_, loss)| loss).collect(),
        old: [of_old.mean, of_old.worst],
        constant: best.map_or([f64::NAN; 2], |best| [best.mean, best.worst]),
        claimed: [mean(claims.iter().map(|claim| claim.0)), mean(claims.iter().map(|claim| claim.1))],
        predicted: mean(by_models.moved.iter().map(|moved| 1.0 / moved.ratio)),
    })
}

impl Raced {
    fn mean(&self) -> f64 {
        mean(self.losses.iter().copied())
    }

    fn worst(&self) -> f64 {
        self.losses.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    fn within(&self, most: f64) -> f64 {
        mean(self.losses.iter().map(|loss| f64::from(*loss <= most)))
    }

    /// A line of the table, in per cent.
    fn row(&self) -> String {
        let percent = |share: f64| 100.0 * share;
        let [old, constant] = [self.old, self.constant].map(|both| both.map(percent));
        format!(
            "{:<9} | {:>5.0} {:>3.0} {:>5.1} {:>5.0} | {:>5.1} {:>5.0} | {:>5.1} {:>5.0}   | {:>5.0} {:>5.2}",
            self.name,
            percent(self.within(RIGHT)),
            percent(self.within(NEARLY)),
            percent(self.mean()),
            percent(self.worst()),
            old[0],
            old[1],
            constant[0],
            constant[1],
            percent(self.claimed[0]),
            self.predicted,
        )
    }
}

/// The figures over all libraries, then each library's.
fn summary(all: &[Raced], seed: u64) -> Value {
    let over = |of: &dyn Fn(&Raced) -> f64| mean(all.iter().map(of));
    let gap = |raced: &Raced| raced.claimed[0] - raced.claimed[1];
    let worst = all.iter().max_by(|a, b| a.mean().total_cmp(&b.mean()));
    let worse = all.iter().filter(|raced| raced.mean() > raced.old[0] + 0.02).map(|raced| raced.name);
    let one = |raced: &Raced| {
        let values = json!({
            "mean_regret": raced.mean(), "worst": raced.worst(), "right": raced.within(RIGHT),
            "within5": raced.within(NEARLY), "old": raced.old, "best_constant": raced.constant,
            "claimed_and_right": raced.claimed, "predicted_over_measured": raced.predicted,
        });
        (raced.name.to_owned(), values)
    };
    json!({
        "bench": "own", "seed": seed, "inputs": all.first().map(|raced| raced.losses.len()),
        "mean_regret": over(&Raced::mean),
        "worst_library": worst.map(|raced| raced.name), "worst_library_regret": worst.map(Raced::mean),
        "right": over(&|raced| raced.within(RIGHT)), "within5": over(&|raced| raced.within(NEARLY)),
        "old_mean": over(&|raced| raced.old[0]), "worse_than_old": worse.collect::<Vec<_>>(),
        "claimed_minus_right": over(&gap), "libraries": all.iter().map(one).collect::<Map<_, _>>(),
    })
}
