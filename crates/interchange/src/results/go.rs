//! Go's benchmark text: `BenchmarkSort/kind=radix/n=1024-8   5000   23011 ns/op`.
//!
//! Source: Go proposal 14313. The number after the last `-` is GOMAXPROCS, absent if it is 1; where
//! it varies (`-cpu 1,2,4`), it is the input `procs`.
//! Repeats are repeated lines.

use std::collections::BTreeSet;

use super::Results;
use crate::place::{Problems, offset};

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let lines = || text.lines().filter(|line| line.starts_with("Benchmark"));
    let split = |name: &str| match name.rsplit_once('-') {
        Some((rest, processors)) if !rest.is_empty() => Some((rest.len(), processors.parse::<u32>().ok()?)),
        _ => None,
    };
    let processors = |name: &str| split(name).map_or(1, |(_, processors)| processors);
    let measured = lines().filter(|line| line.contains("ns/op"));
    let names = measured.filter_map(|line| line.split_whitespace().next());
    let varies = names.map(processors).collect::<BTreeSet<u32>>().len() > 1;
    for line in lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A benchmark that prints or fails has only its name on a line.
        let [name, _iterations, measured @ ..] = &words[..] else {
            results.leave_out("they have no measurement");
            continue;
        };
        let Some(time) = measured.chunks(2).find_map(|pair| match pair {
            [value, "ns/op"] => Some(*value),
            _ => None,
        }) else {
            results.leave_out("they have no `ns/op`");
            continue;
        };
        let Some(seconds) = results.time(time, "ns", problems) else { continue };
        let name = name.strip_prefix("Benchmark").unwrap_or(name);
        let processors = processors(name);
        let name = split(name).map_or(name, |(end, _)| &name[..end]);
        if name.is_empty() {
            problems.push(offset(text, line), "the benchmark has no name".to_owned());
            continue;
        }
        let (path, mut inputs) = results.named(name.split('/'), "/");
        if varies {
            inputs.push(("procs".to_owned(), f64::from(processors)));
        }
        results.sample(line, &path, &inputs, seconds);
    }
}
