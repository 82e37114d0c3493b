//! Go's benchmark text: `BenchmarkSort/kind=radix/n=1024-8   5000   23011 ns/op`.
//!
//! Source: Go proposal 14313. The number after the last `-` is GOMAXPROCS, absent if it is 1.
//! Repeats are repeated lines.

use super::Results;
use crate::place::{Problems, offset};

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    for line in text.lines().filter(|line| line.starts_with("Benchmark")) {
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
        let name = match name.rsplit_once('-') {
            Some((rest, processors)) if processors.parse::<u32>().is_ok() => rest,
            _ => name,
        };
        if name.is_empty() {
            problems.push(offset(text, line), "the benchmark has no name".to_owned());
            continue;
        }
        let (path, inputs) = results.named(name.split('/'), "/");
        results.sample(line, &path, &inputs, seconds);
    }
}
