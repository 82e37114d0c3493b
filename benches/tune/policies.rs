//! Searches on made-up landscapes of 8 knobs with 35 options each, against the computed optimum.

use crate::Run;
use crate::landscape::{Landscape, final_time, quartiles};
use serde_json::{Value, json};
use strata_benches::columns;
use strata_tune::policy::{Generator, Quench, Search};

const SEEDS: u64 = 24;
const NEAR: f64 = 1.15;

pub(crate) fn measure(run: Run) -> Value {
    println!("## Searches: final time over the optimum, 8 knobs of 35 options\n");
    columns("policy | evaluations | quartiles | within 1.15, of 24 seeds");
    let half: Search =
        Search::Own(|space, budget| Box::new(Quench::new(space, budget, Generator::Rated).redraw(4)));
    let mut found = Vec::new();
    for (name, search) in [
        ("quenching, uniform options", Search::Quench(Generator::Uniform)),
        ("quenching, rated options", Search::Quench(Generator::Rated)),
        ("the same, half of the knobs at a time", half),
    ] {
        for evaluations in [150, 300, 500, 1500] {
            let seeds = (0..SEEDS).map(|seed| seed + 1000 * run.seed);
            let finals: Vec<f64> =
                seeds.map(|seed| final_time(&Landscape::new(seed), search, evaluations, seed)).collect();
            let near = finals.iter().filter(|time| **time <= NEAR).count();
            let [low, median, high] = quartiles(&finals);
            let range = format!("{low:.3}, {median:.3}, {high:.3}");
            println!("| {name} | {evaluations} | {range} | {near} |");
            found.push(json!({"policy": name, "evaluations": evaluations, "median": median, "near": near}));
        }
    }
    println!();
    Value::Array(found)
}
