//! How long choices by the shipped models take: the first of a class of problems, which evaluates
//! models, and later ones, which look the answer up.
//!
//!     cargo bench -p strata-benches --bench choosing

use std::hint::black_box;
use std::time::Instant;

use matmul::Matmul;
use serde_json::{Map, Value, json};
use strata_benches::NoArguments;
use strata_copy::{Hint, SHORT, routine_for};
use strata_runtime::prelude::*;
use strata_runtime::select::{ALL, Options};
use strata_select::Kept;
use strata_sort::Sort;
use strata_sort::local::{self, Features};

#[path = "../../examples/own-library/src/multiply/models.rs"]
mod matmul;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn once<T>(call: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(call());
    start.elapsed().as_secs_f64() * 1e9
}

/// The time of each of many calls, in nanoseconds: the median of rounds.
fn each<T>(mut call: impl FnMut(usize) -> T) -> f64 {
    const CALLS: usize = 1000;
    let round = |_| {
        once(|| {
            for number in 0..CALLS {
                black_box(call(number));
            }
        }) / CALLS as f64
    };
    median((0..101).map(round).collect())
}

fn features(keys: usize) -> Features {
    Features { keys, width: 50, run: 1, ordered: false, distinct: keys, skewed: false }
}

/// The first choice of all finds the models and what machine this is; then the first of each class,
/// and later ones.
fn local_sorts() -> [f64; 3] {
    let first = once(|| local::candidate_for::<u64>(features(1000)));
    let cold = median((5..40).map(|i| once(|| local::candidate_for::<u64>(features(1 << i >> 1)))).collect());
    [first, cold, each(|i| local::candidate_for::<u64>(features(1000 + i % 2)))]
}

fn copies() -> [f64; 3] {
    let hint = Hint::default();
    let first = once(|| routine_for(hint, SHORT, false));
    let cold = median(
        (0..60)
            .map(|i| once(|| routine_for(hint.hot(), (SHORT + SHORT / 4 * (i % 4)) << (i / 4), false)))
            .collect(),
    );
    [first, cold, each(|i| routine_for(hint, SHORT + i % 2, false))]
}

/// On one node of a team: cold where the problem changes each time, which is then in no cache.
fn team_sorts() -> Result<[f64; 3], Error> {
    let all = Machine::threads(2)?.run(|node| {
        let start = Instant::now();
        let selector = node.selector::<Sort>(&Options::default())?;
        let mut choose = |keys: usize| {
            let chosen = node.choose_by(&selector, &[keys as f64, 50.0], ALL, None);
            chosen.map(|chosen| chosen.candidate)
        };
        choose(1000)?;
        let first = start.elapsed().as_secs_f64() * 1e9;
        let cold = each(|i| choose(1000 + i).is_ok());
        Ok([first, cold, each(|_| choose(1000).is_ok())])
    })?;
    Ok(all[0])
}

/// A user's library, of three candidates, one of which has five values of a parameter. Cold where
/// the problem changes each time, kept by `Kept`.
fn own_library() -> [f64; 3] {
    static KEPT: Kept<64> = Kept::new();
    let first = once(|| Matmul::choose(100));
    let cold = each(|i| Matmul::choose(10 + i % 300));
    let kept = |n: usize| KEPT.choose::<Matmul>(n as u32, n);
    [first, cold, each(|i| kept(100 + i % 2))]
}

strata_benches::main!(|_: &NoArguments| all());

fn all() -> Result<(), Error> {
    let rows = [
        ("local sort", local_sorts()),
        ("copy", copies()),
        ("own library", own_library()),
        ("sort on nodes", team_sorts()?),
    ];
    println!("{:14} {:>16} {:>16} {:>16}", "choice", "first of all, us", "of a class, us", "later ones, ns");
    for (name, [first, cold, kept]) in rows {
        println!("{name:14} {:16.1} {:16.2} {kept:16.1}", first * 1e-3, cold * 1e-3);
    }
    let field = |(name, [first, cold, kept]): &(&str, [f64; 3])| {
        (name.replace(' ', "_"), json!({ "first_ns": first, "cold_ns": cold, "kept_ns": kept }))
    };
    let fields: Map<String, Value> = rows.iter().map(field).collect();
    strata_benches::summary(&fields.into());
    Ok(())
}
