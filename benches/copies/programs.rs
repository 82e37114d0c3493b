//! Sorts and stencils whose copies models choose, beside the same programs with `memcpy`.

use std::hint::black_box;
use std::process::Command;

use serde_json::{Value, json};
use strata_benches::{Timings, columns, race};
use strata_runtime::prelude::*;
use strata_stencil::Grid;

use crate::Settings;

/// Keys of a node, or points of an edge of the grid.
const PROGRAMS: [(&str, usize); 6] = [
    ("sort", 10_000),
    ("sort", 100_000),
    ("sort", 1_000_000),
    ("stencil", 200),
    ("stencil", 1000),
    ("stencil", 2000),
];
/// Seconds that a process measures.
const SECONDS: f64 = 0.15;
const ITERATIONS: u64 = 20;

/// What a process of its own measures, as a pin holds for all of it: the least quartile of the
/// seconds of one run of the program, on two threads.
pub(crate) fn alone(name: &str, size: usize) -> Result<f64, Error> {
    let sorts = name == "sort";
    let found = Machine::threads(2)?.run(move |node| {
        let keys = strata_sort::profile::keys(node, if sorts { size } else { 0 }, 64, 5);
        let mut times = Timings::default();
        let (mut runs, mut spent) = (0, 0.0);
        while runs < 5 || node.reduce_max(spent) < SECONDS {
            let mut keys = keys.clone();
            node.barrier();
            let start = node.now().get();
            if sorts {
                strata_sort::sort(node, &mut keys)?;
            } else {
                let grid = Grid::<f64>::new(size, size).iterations(ITERATIONS).solve(node)?;
                black_box(&grid);
            }
            let seconds = node.reduce_max(node.now().get() - start);
            times.push(seconds);
            spent += seconds;
            runs += 1;
        }
        Ok(times.quantile(0.25))
    })?;
    Ok(found.first().copied().unwrap_or(f64::NAN))
}

pub(crate) fn measure(settings: &Settings) -> Result<Value, Error> {
    let program = std::env::current_exe()?;
    columns("program | size | `memcpy` | over it, chosen copies | quartiles");
    let mut rates = Vec::new();
    for (name, size) in PROGRAMS {
        let first = settings.seed as usize * 1000;
        let timings = race(first..first + settings.rounds, 0, 2, |_, who| {
            let mut child = Command::new(&program);
            child.args(["--alone", name, &size.to_string()]).env_remove("STRATA_PIN");
            if who == 0 {
                child.env("STRATA_PIN", "copy=memcpy, copy_strided=memcpy");
            }
            let output = child.output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            text.trim()
                .parse()
                .map_err(|_| Error::program(format!("{name}: {}", String::from_utf8_lossy(&output.stderr))))
        })?;
        let (plain, ratio) = (&timings[0], timings[0].over(&timings[1]));
        println!(
            "| {name} | {size} | {:.3} ms | {:.3} | {:.3} to {:.3} |",
            plain.median() * 1e3,
            ratio.median(),
            ratio.quantile(0.25),
            ratio.quantile(0.75)
        );
        rates.push(json!({ "program": name, "size": size, "gain": ratio.median() }));
    }
    println!();
    Ok(Value::Array(rates))
}
