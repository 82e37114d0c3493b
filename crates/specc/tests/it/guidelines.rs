//! Guidelines of an MPI library's collectives, checked on samples that are made up.

use std::fmt::Write as _;

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

const LINEAR: Times = |bytes| 2.0 + bytes / 1000.0;

/// The samples that transcripts name by these words.
pub(crate) fn made_up(what: &[&str]) -> Option<String> {
    let several = |models: &[(&str, Times)], launches: &str, off: &str| {
        Some(samples(models, launches.parse().ok()?, off.parse().ok()?))
    };
    match what {
        ["consistent", launches, off] => {
            let allreduce: Times = |bytes| 3.0 + bytes / 700.0;
            several(
                &[("AllreduceAuto", allreduce), ("ReduceAuto", LINEAR), ("BcastAuto", LINEAR)],
                launches,
                off,
            )
        }
        ["inconsistent", launches, off] => {
            let models: [(&str, Times); 4] =
                [
                    ("AllreduceAuto", |bytes| {
                        if bytes < 8192.0 { 2.0 + bytes / 100.0 } else { 4.0 + bytes / 1000.0 }
                    }),
                    ("ReduceAuto", LINEAR),
                    ("BcastAuto", LINEAR),
                    ("AllreduceRing", |bytes| 1e6 / bytes),
                ];
            several(&models, launches, off)
        }
        ["unconfirmed"] => Some(unconfirmed()),
        ["one", "percent"] => Some(without_scatter(|bytes| if bytes == 64.0 { 10.1 } else { 10.0 })),
        ["three", "percent"] => Some(without_scatter(|bytes| if bytes == 64.0 { 10.3 } else { 10.0 })),
        ["three", "times"] => Some(three_times()),
        ["one", "size"] => {
            let text = samples(&[("BcastAuto", LINEAR)], 2, 0.0);
            let end = text.match_indices("BcastAuto ").nth(2)?.0;
            Some(text[..end].to_owned())
        }
        ["other"] => Some(samples(&[("Radix", LINEAR)], 2, 0.0)),
        _ => None,
    }
}

/// A line of timings, each of which becomes another; other lines stay.
fn with_timings(text: &str, of: impl Fn(usize, usize, &str) -> String) -> String {
    let line = |(number, line): (usize, &str)| match line.strip_prefix("& ") {
        Some(timings) => {
            let timings = timings.split(' ').enumerate().map(|(at, timing)| of(number, at, timing));
            format!("&{}\n", timings.collect::<String>())
        }
        None => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}

/// A greater message takes 5 % less in the mean; launches differ by more, each in its own way.
fn unconfirmed() -> String {
    let down: Times = |bytes| 10.0 * (1.0 - 0.05 * (bytes.log2() - 2.0) / 18.0);
    with_timings(&samples(&[("BcastAuto", down)], 2, 0.0), |number, at, timing| {
        let factor = if number % 4 == 1 { 1.2 } else { 0.85 };
        let (time, moment) = timing.split_once('@').unwrap();
        let time: f64 = time.parse().unwrap();
        format!(" {:e}@{moment}", if at < 3 { time * factor } else { time / factor })
    })
}

/// Simulated and rounded times do not scatter.
fn without_scatter(times: Times) -> String {
    let text = samples(&[("BcastAuto", times)], 2, 0.0);
    let first = |number: usize| {
        let line = text.lines().nth(number).unwrap().strip_prefix("& ").unwrap();
        line.split('@').next().unwrap()
    };
    with_timings(&text, |number, _, timing| {
        format!(" {}@{}", first(number), timing.split('@').nth(1).unwrap())
    })
}

/// Three times of a run, `of` the processes: the least, the mean, the greatest.
fn three_times() -> String {
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
    text
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
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("samples.txt"), equal(2, 5, random).to_text()).unwrap();
    let (status, out, err) = crate::specc(folder.path(), "1000", &["check", "--guidelines", "samples.txt"]);
    assert!(status == Some(0) && err.contains("2 launches are too few"), "{out}{err}");
}
