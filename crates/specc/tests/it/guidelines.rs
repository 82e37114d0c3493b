//! Guidelines of an MPI library's collectives, checked on samples that are made up.

use std::fmt::Write as _;
use std::fs;

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
    assert!(status == Some(0) && out.contains("no guideline is broken"), "{out}{err}");
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
