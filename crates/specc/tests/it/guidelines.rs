//! Guidelines of an MPI library's collectives, checked on samples that are made up.

use std::fmt::Write as _;
use std::fs;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use specc::guidelines;
use strata_model::samples::{Column, ModelSamples, Notes, Sample, Timing};
use strata_model::{Samples, Unit};

/// Microseconds at a number of bytes.
type Times = fn(f64) -> f64;

/// Samples on 4 processes in so many launches, each time 3 timings at each size; `off` is by how
/// much a launch's times differ.
fn samples(models: &[(&str, Times)], launches: usize, off: f64) -> String {
    let mut text =
        "strata-samples 1\nplatform mpi nodes=4 cores=2 cpu=\"made up\" cache=\"\" os=linux arch=x86_64\n"
            .to_owned();
    for launch in 1..launches {
        writeln!(text, "launch at={}", 10 * launch).unwrap();
    }
    for (name, seconds) in models {
        writeln!(text, "model {name} bytes").unwrap();
        for exponent in 2..20 {
            let bytes = 1 << exponent;
            let time = seconds(f64::from(bytes)) * 1e-6;
            write!(text, "{name} {time:e} {bytes} ; at={exponent} repeats=3\n&").unwrap();
            for launch in 0..launches {
                let of_launch = if launch % 2 == 0 { 1.0 + off } else { 1.0 - off };
                for (at, scatter) in [0.99, 1.0, 1.01].into_iter().enumerate() {
                    let moment = 10 * launch + at + 1;
                    write!(text, " {:e}@{moment}", time * scatter * of_launch).unwrap();
                }
            }
            text.push('\n');
        }
    }
    text
}

fn check(files: &[(&str, String)]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let (status, out, err) =
        crate::specc(folder.path(), "80", &[&["check", "--guidelines"], &names[..]].concat());
    assert!(out.lines().chain(err.lines()).all(|line| line.chars().count() <= 80), "{out}{err}");
    (
        status,
        out.split_whitespace().collect::<Vec<_>>().join(" "),
        err.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

const LINEAR: Times = |bytes| 2.0 + bytes / 1000.0;

#[test]
fn consistent_times_break_no_guideline() {
    let models: [(&str, Times); 3] =
        [("AllreduceAuto", |bytes| 3.0 + bytes / 700.0), ("ReduceAuto", LINEAR), ("BcastAuto", LINEAR)];
    let (status, out, err) = check(&[("samples.txt", samples(&models, 3, 0.1))]);
    assert!(status == Some(0) && out.contains("no guideline is surely broken"), "{out}{err}");
    assert!(out.contains("allreduce, bcast, reduce") && out.contains("of 3 launches"), "{out}");
}

#[test]
fn a_greater_message_and_two_calls_are_found() {
    let models: [(&str, Times); 4] = [
        // From 8192 bytes on another algorithm is taken, and 4096 bytes take longer.
        ("AllreduceAuto", |bytes| if bytes < 8192.0 { 2.0 + bytes / 100.0 } else { 4.0 + bytes / 1000.0 }),
        ("ReduceAuto", LINEAR),
        ("BcastAuto", LINEAR),
        // Not the library's own choice.
        ("AllreduceRing", |bytes| 1e6 / bytes),
    ];
    let (status, out, err) = check(&[("samples.txt", samples(&models, 3, 0.1))]);
    assert_eq!(status, Some(1), "{out}{err}");
    // 42.96 over 12.192, and over 2 (2 + 4.096), which is the same.
    assert!(
        out.contains("to 4096 B: at 4096 B 3.52 times as long") && out.contains("as allreduce of 8192 B"),
        "{out}"
    );
    assert!(out.contains("as reduce of 4096 B and bcast of 4096 B"), "{out}");
    assert!(!out.contains("bcast on 4") && !out.contains("8192 B:"), "{out}");
    assert!(err.contains("guidelines are broken at") && err.contains("(allreduce, bcast, reduce,"), "{err}");

    let (status, out, err) = check(&[("samples.txt", samples(&models, 1, 0.0))]);
    assert!(status == Some(1) && err.contains("note: between launches times may differ"), "{out}{err}");
}

#[test]
fn what_launches_do_not_confirm_is_not_told() {
    // A greater message takes 5 % less in the mean; launches differ by more, each in its own way.
    let down: Times = |bytes| 10.0 * (1.0 - 0.05 * (bytes.log2() - 2.0) / 18.0);
    let text = samples(&[("BcastAuto", down)], 2, 0.0);
    let noisy: String = text
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let Some(timings) = line.strip_prefix("& ") else { return format!("{line}\n") };
            let factor = if number % 4 == 1 { 1.2 } else { 0.85 };
            let of = |(at, timing): (usize, &str)| {
                let (time, moment) = timing.split_once('@').unwrap();
                let time: f64 = time.parse().unwrap();
                format!(" {:e}@{moment}", if at < 3 { time * factor } else { time / factor })
            };
            format!("&{}\n", timings.split(' ').enumerate().map(of).collect::<String>())
        })
        .collect();
    let (status, out, err) = check(&[("samples.txt", noisy)]);
    assert_eq!(status, Some(0), "{out}{err}");
}

/// Simulated and rounded times do not scatter: what differs by less than 2 % is no finding.
#[test]
fn a_small_difference_is_not_told() {
    let without_scatter = |times: Times| {
        let text = samples(&[("BcastAuto", times)], 2, 0.0);
        let line = |line: &str| {
            let Some(timings) = line.strip_prefix("& ") else { return format!("{line}\n") };
            let first = timings.split('@').next().unwrap();
            let of = |timing: &str| format!(" {first}@{}", timing.split('@').nth(1).unwrap());
            format!("&{}\n", timings.split(' ').map(of).collect::<String>())
        };
        check(&[("samples.txt", text.lines().map(line).collect())])
    };
    let (status, out, err) = without_scatter(|bytes| if bytes == 64.0 { 10.1 } else { 10.0 });
    assert!(status == Some(0) && out.contains("no guideline is surely broken"), "{out}{err}");
    let (status, out, err) = without_scatter(|bytes| if bytes == 64.0 { 10.3 } else { 10.0 });
    assert!(status == Some(1) && out.contains("bcast on 4, 64 B: 1.03 times"), "{out}{err}");
}

/// Of three times of a run that of the slowest process is taken; counts are no times.
#[test]
fn times_of_the_slowest_process_are_taken() {
    let mut text = "strata-samples 1\nmodel LibraryAllReduce bytes of\n".to_owned();
    for (of, factor) in [(0, 9.0), (1, 9.0), (2, 4.0)] {
        for (bytes, time) in [(8, 10.0), (16, 10.0 * factor), (32, 10.0)] {
            write!(text, "LibraryAllReduce 1e-5 {bytes} {of} ; at={bytes},{of} repeats=5\n&").unwrap();
            for at in 0..5 {
                write!(text, " {:e}@{}", time * 1e-6 * (1.0 + 0.002 * f64::from(at)), at + 1).unwrap();
            }
            text.push('\n');
        }
    }
    let (status, out, err) = check(&[("samples.txt", text.clone())]);
    assert!(status == Some(1) && out.matches("16 B: 4.00 times").count() == 1, "{out}{err}");
    assert!(!out.contains("9.00") && err.contains("3 comparisons"), "{out}{err}");
    let counted = text.replace("bytes of\n", "bytes of\nunit LibraryAllReduce messages\n");
    let (status, out, err) = check(&[("samples.txt", counted)]);
    assert!(status == Some(1) && err.contains("no model is of a collective"), "{out}{err}");
}

#[test]
fn nothing_to_compare_is_an_error() {
    let text = samples(&[("BcastAuto", LINEAR)], 2, 0.0);
    let end = text.match_indices("BcastAuto ").nth(2).unwrap().0;
    let (status, out, err) = check(&[("samples.txt", text[..end].to_owned())]);
    assert!(status == Some(1) && out.is_empty() && err.contains("can be compared"), "{out}{err}");
}

#[test]
fn results_of_other_programs_are_read() {
    let imb = |factor: f64| {
        let rows: String = [4, 8, 16, 32, 64]
            .map(|bytes| {
                let time = factor * if bytes == 16 { 40.0 } else { 10.0 + f64::from(bytes) / 10.0 };
                format!("{bytes:>13} 1000 {0:>9.2} {time:>9.2} {0:>9.2}\n", time * 0.9)
            })
            .concat();
        format!(
            "# Benchmarking Allreduce\n# #processes = 4\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n{rows}\n"
        )
    };
    let head = "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n";
    let once = check(&[("a.txt", format!("{head}{}", imb(1.0)))]);
    assert!(once.0 == Some(1) && once.2.contains("every size was measured once"), "{once:?}");
    let (status, out, err) =
        check(&[("a.txt", format!("{head}{}", imb(1.0))), ("b.txt", format!("{head}{}", imb(1.02)))]);
    assert!(status == Some(1) && out.contains("allreduce on 4, 16 B: 3."), "{out}{err}");
    assert!(err.contains("of 2 launches"), "each file is a launch: {err}");
    // Of Intel's `Reduce_scatter` the size is that of all blocks.
    let whole = |factor: f64| format!("{head}{}", imb(factor).replace("Allreduce", "Reduce_scatter"));
    let (status, out, err) = check(&[("a.txt", whole(1.0)), ("b.txt", whole(1.02))]);
    assert!(status == Some(1) && err.contains("no model is of a collective"), "{out}{err}");
}

/// Nearly normal, of standard deviation 1.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// Samples in which nothing is to be found: a call takes as long for all sizes, and an allreduce as
/// long as a reduce and a broadcast. One size in five scatters five times as much, and in a launch
/// each collective is a little faster or slower.
fn equal(launches: usize, repeats: usize, random: &mut ChaCha8Rng) -> Samples {
    let models = [("AllreduceAuto", 2.0), ("ReduceAuto", 1.0), ("BcastAuto", 1.0)].map(|(name, time)| {
        let of_launch: Vec<f64> = (0..launches).map(|_| 0.05 * normal(random)).collect();
        let rows = (0..15).map(|size| {
            let noise = if size % 5 == 2 { 0.05 } else { 0.01 };
            let mut timings = Vec::new();
            for (launch, off) in of_launch.iter().enumerate() {
                // One launch knows its own times alone.
                let off = if launches > 1 { off + noise * normal(random) } else { 0.0 };
                timings.extend((0..repeats).map(|at| Timing {
                    seconds: time * 1e-5 * (off + noise * normal(random)).exp(),
                    moment: 10.0 * launch as f64 + 0.1 + 0.01 * at as f64,
                }));
            }
            let notes = Notes { at: vec![size], nodes: 4, timings, ..Notes::default() };
            Sample { seconds: time * 1e-5, values: vec![f64::from(4 << size)], notes, ..Sample::default() }
        });
        ModelSamples {
            name: name.to_owned(),
            columns: vec![Column::term("bytes")],
            unit: Unit::SECONDS,
            fit: String::new(),
            rows: rows.collect(),
        }
    });
    let launches = (1..launches).map(|launch| 10.0 * launch as f64).collect();
    Samples { models: models.into(), launches, ..Samples::default() }
}

/// All intervals hold together in 95 of 100 cases, also where sizes scatter unevenly.
#[test]
fn noise_alone_breaks_no_guideline() {
    let random = &mut ChaCha8Rng::seed_from_u64(11);
    for (launches, repeats) in [(1, 5), (1, 24), (2, 5), (3, 5), (6, 3)] {
        let all = 150;
        let is_broken = |_: &usize| {
            let found = guidelines::check(&[equal(launches, repeats, random)]).unwrap();
            assert!(found.comparisons > 100 && found.launches == launches, "{found:?}");
            !found.broken.is_empty()
        };
        let broken = (0..all).filter(is_broken).count();
        assert!(broken * 100 <= 7 * all, "{launches} launches of {repeats} timings: {broken} of {all}");
    }
}

/// With few launches little is sure; the note says how many would do, and with so many it is found.
#[test]
fn more_launches_make_sure() {
    let random = &mut ChaCha8Rng::seed_from_u64(12);
    let slow = |launches: usize, random: &mut ChaCha8Rng| {
        let mut samples = equal(launches, 5, random);
        let row = &mut samples.models[2].rows[6];
        row.notes.timings.iter_mut().for_each(|timing| timing.seconds *= 1.5);
        guidelines::check(&[samples]).unwrap()
    };
    let few = slow(2, random);
    assert!(few.broken.is_empty(), "{few:?}");
    let more = few.more.unwrap();
    assert!((1..=10).contains(&more), "{more}");
    let many = slow(12, random);
    assert!(many.broken.iter().any(|one| one.collective == "bcast" && one.bytes == 256), "{many:?}");
    let text = equal(2, 5, random).to_text();
    let (status, out, err) = check(&[("samples.txt", text)]);
    assert!(status == Some(0) && err.contains("2 launches are too few"), "{out}{err}");
}

#[test]
fn other_samples_are_refused() {
    let (status, _, err) = check(&[("samples.txt", samples(&[("Radix", LINEAR)], 2, 0.0))]);
    assert!(status == Some(1) && err.contains("no model is of a collective"), "{err}");
    let (status, _, err) = check(&[("spec.txt", "model A(n) {".to_owned())]);
    assert!(status == Some(1) && err.contains("spec.txt"), "{err}");
    let folder = tempfile::tempdir().unwrap();
    let (status, _, err) = crate::specc(folder.path(), "80", &["check", "missing.txt", "--guidelines"]);
    assert!(status == Some(3) && err.contains("missing.txt"), "{err}");
    let (status, _, _) = crate::specc(folder.path(), "80", &["check", "a", "--guidelines", "--rules", "4.1"]);
    assert_eq!(status, Some(2));
}
