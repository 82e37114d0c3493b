//! How much larger a program is by all candidates of a library than by one of them (Brewer 1994,
//! §4.6): this program sorts and solves, and counts the bytes of its own functions.
//!
//!     cargo bench -p strata-benches --bench code_size
//!
//! `nm` lists them. A candidate is what the module of its name has; everything else of the library,
//! and the run-time under it, is shared by all.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Map, json};
use strata_benches::{NoArguments, columns};
use strata_runtime::prelude::*;
use strata_stencil::Grid;

/// A library: its crate, and the modules that only one candidate uses.
struct Library {
    name: &'static str,
    of: &'static str,
    candidates: &'static [&'static str],
    /// What the thesis measured for its library, in times of a single candidate.
    thesis: f64,
}

const LIBRARIES: [Library; 2] = [
    Library {
        name: "sort",
        of: "strata_sort",
        candidates: &["gather", "radix", "sample", "histogram", "quick", "batcher", "packets"],
        thesis: 2.1,
    },
    // Layouts are numbers to the same code; two of the exchanges have code of their own.
    Library { name: "stencil", of: "strata_stencil", candidates: &["requests"], thesis: 2.9 },
];

strata_benches::main!(|_: &NoArguments| run());

fn run() -> Result<(), String> {
    use_them().map_err(|e| e.to_string())?;
    let functions = functions()?;
    let program: u64 = functions.iter().map(|(_, bytes)| bytes).sum();
    columns(
        "library | with all, KiB | with the smallest, KiB | times | with the largest, KiB | times | thesis",
    );
    let mut found = Map::new();
    for Library { name, of, candidates, thesis } in &LIBRARIES {
        let mut modules: BTreeMap<&str, u64> = BTreeMap::new();
        let mut all = 0;
        for (function, bytes) in &functions {
            if let Some(module) = module_of(function, of) {
                all += bytes;
                *modules.entry(module).or_default() += bytes;
            }
        }
        let own: Vec<u64> =
            candidates.iter().filter_map(|candidate| modules.get(candidate).copied()).collect();
        let (Some(least), Some(most)) = (own.iter().min(), own.iter().max()) else {
            return Err(format!("{name}: this program has no symbols of its candidates"));
        };
        let shared = all - own.iter().sum::<u64>();
        let with = |one: u64| shared + if own.len() > 1 { one } else { 0 };
        let kib = |bytes: u64| format!("{:.0}", bytes as f64 / 1024.0);
        let times = |one: u64| all as f64 / with(one) as f64;
        println!(
            "| {} | {} | {} | {:.2} | {} | {:.2} | {thesis} |",
            *name,
            kib(all),
            kib(with(*least)),
            times(*least),
            kib(with(*most)),
            times(*most)
        );
        found.insert((*name).to_owned(), json!({
            "bytes": all, "times_smallest": times(*least), "times_largest": times(*most), "modules": modules,
        }));
    }
    println!("\nThe whole program: {:.0} KiB of functions.", program as f64 / 1024.0);
    strata_benches::summary(&json!({ "bench": "code_size", "program_bytes": program, "libraries": found }));
    Ok(())
}

fn use_them() -> Result<(), Error> {
    let run = Machine::threads(2)?.run(|node| {
        let mut keys: Vec<u64> = (0..100_u64).map(|i| i * 7919 % 101).collect();
        strata_sort::sort(node, &mut keys).map_err(Error::program)?;
        let plate = Grid::<f64>::new(20, 10).iterations(2).solve(node).map_err(Error::program)?;
        Ok((keys.is_sorted(), plate.iterations))
    })?;
    if run.iter().all(|(sorted, _)| *sorted) { Ok(()) } else { Err(Error::program("keys are not sorted")) }
}

/// The functions of this program with their bytes.
fn functions() -> Result<Vec<(String, u64)>, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let listed = Command::new("nm").args(["--print-size", "--demangle"]).arg(&program).output();
    let listed = listed.map_err(|e| format!("cannot start nm, of binutils: {e}"))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let of = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let (_, bytes, kind, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let is_code = matches!(kind, "t" | "T" | "w" | "W");
        Some((name.to_owned(), u64::from_str_radix(bytes, 16).ok()?)).filter(|_| is_code)
    };
    Ok(text.lines().filter_map(of).collect())
}

/// The module of a crate that a function's name has first.
fn module_of<'a>(function: &'a str, of: &str) -> Option<&'a str> {
    let rest = function.split_once(of)?.1.strip_prefix("::")?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    Some(&rest[..end])
}
