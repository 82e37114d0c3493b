//! The program `comet`: what it refuses, and the forms in which it prints results.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use strata_comet::Results;
use strata_model::Samples;

/// The exit status, and what is said.
fn comet(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_comet"))
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "1000")
        .output()
        .expect("comet starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for (arguments, why) in [
        (&["--kernels", "ecko"][..], "did you mean"),
        (&["--nodes", "1"], "at least two"),
        (&["--nodes", "2", "--kernels", "transpose"], "it needs 4 nodes"),
        (&["--nodes", "8", "--kernels", "transpose"], "a square number"),
        (&["--sizes", "2G"], "from 0 to 1G"),
        (&["--repetitions", "0"], "1..=100000000"),
        (&["--warm-up", "3"], "--repetitions"),
        (&["--roots", "last"], "in-turn"),
        (&["--on", "sim:ipsc860", "--nodes", "2", "--kernels", "noise"], "nothing disturbs"),
        (&["--nodes", "65", "--kernels", "pairs", "--sizes", "2M"], "2080 pairs"),
        (&["--nodes", "2", "--kernels", "contention", "--sizes", "8"], "it needs 4 nodes"),
        (
            &["--on", "sim:ipsc860", "--nodes", "4", "--kernels", "contention", "--sizes", "8"],
            "shares a link",
        ),
        (&["--nodes", "4", "--kernels", "transpose", "--sizes", "100"], "8·(dim + 2)² bytes"),
        (&["--on", "mpi", "--nodes", "4", "--kernels", "contention", "--sizes", "8"], "--topology tells it"),
        (&["--nodes", "4", "--topology", "ring"], "topologies are"),
        (&["--on", "sim:ipsc860", "--nodes", "3"], "hypercube"),
        (&["--on", "smoke"], "is not a machine"),
    ] {
        let (status, _, told) = comet(&[arguments, &["-o", out]].concat());
        assert!(status == Some(2) && told.contains(why) && !told.contains("building"), "{status:?} {told}");
    }
    assert_eq!(comet(&[]).0, Some(2), "no folder");
    let (status, _, told) = comet(&["--read", out]);
    assert!(status == Some(3) && told.contains("`comet -o DIR` writes it"), "{status:?} {told}");
    fs::create_dir_all(out).unwrap();
    fs::write(Path::new(out).join("comet.json"), "{}").unwrap();
    let (status, _, told) = comet(&["--read", out]);
    assert!(status == Some(1) && told.contains("measure again"), "{status:?} {told}");
}

/// Writes the results and samples of a small run, `factor` times as slow.
fn write(folder: &Path, factor: f64) {
    let mut text = String::from(
        "strata-samples 1\nplatform threads nodes=2 cores=2 cpu=\"x\" cache=\"\" os=linux arch=any\n\
         model Echo bytes (hops)\n",
    );
    for exponent in 0..12 {
        let bytes = 1 << exponent;
        let seconds = factor * (1e-6 + 1e-9 * f64::from(bytes));
        text += &format!("Echo {seconds:e} {bytes} 1 ; at={bytes},1 repeats=9\n&");
        for k in 0..9 {
            text +=
                &format!(" {:.4e}@{}", seconds * (1.0 + 0.001 * f64::from(k)), f64::from(12 * k + exponent));
        }
        text.push('\n');
    }
    text += "model Barrier\nBarrier 2e-7 ; repeats=6\n&";
    (0..6).for_each(|k| text += &format!(" {:e}@{k}", factor * (2e-7 + 1e-10 * f64::from(k))));
    text.push('\n');
    fs::create_dir(folder).unwrap();
    let results = Results::of(&Samples::parse(&text, "made up").unwrap());
    fs::write(folder.join("comet.json"), results.to_json()).unwrap();
    fs::write(folder.join("samples.txt"), text).unwrap();
}

/// Samples of a kernel that does what other benchmarks do, in the forms of those.
fn of_library(folder: &Path, format: &str) -> String {
    let mut text = String::from(
        "strata-samples 1\nplatform mpi nodes=2 cores=2 cpu=\"x\" cache=\"\" os=linux arch=any\n\
         model LibraryPingPong bytes\n",
    );
    for bytes in [8, 64, 100_000] {
        text += &format!("LibraryPingPong 2e-6 {bytes} ; at={bytes} repeats=1\n& 2e-6@1 2e-6@2\n");
    }
    text += "model LibraryBroadcast bytes of\n";
    for (of, seconds) in ["1e-6", "2e-6", "3e-6"].into_iter().enumerate() {
        text += &format!("LibraryBroadcast {seconds} 8 {of} ; at=8,{of} repeats=1\n& {seconds}@1\n");
    }
    let results = Results::of(&Samples::parse(&text, "made up").unwrap());
    fs::write(folder.join("comet.json"), results.to_json()).unwrap();
    let (status, out, err) = comet(&["--read", folder.to_str().unwrap(), "--format", format]);
    assert_eq!(status, Some(0), "{err}");
    out
}

/// Readers of those benchmarks' files read them.
#[test]
fn what_is_printed_for_scripts_is_read_by_them() {
    use strata_interchange::{Format, Selection, read};
    let folder = tempfile::tempdir().unwrap();
    for (format, right) in [("osu", Format::Osu), ("imb", Format::Imb)] {
        let text = of_library(folder.path(), format);
        let read = read(text.as_bytes(), "results.txt", None, &Selection::default());
        let read = read.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        assert_eq!(read.format, right);
        let rows: usize = read.samples.models.iter().map(|model| model.rows.len()).sum();
        assert_eq!(rows, 4, "{text}");
    }
}

#[test]
fn results_print_in_the_forms_of_other_benchmarks() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    write(&old, 1.0);
    write(&new, 1.2);
    let show = |format: &str| {
        let (status, out, err) = comet(&["--read", old.to_str().unwrap(), "--format", format]);
        assert_eq!(status, Some(0), "{err}");
        out
    };
    let table = show("table");
    assert!(table.contains("t_startup 1.004 µs") && table.contains("n½ 1000 bytes"), "{table}");
    // Rows have no notes here, and fit as they are; all else wraps.
    let is_row = |line: &&str| line.starts_with("   ") || line.starts_with("  t_");
    assert!(table.lines().filter(is_row).all(|line| line.chars().count() <= 80), "{table}");
    for format in ["osu", "imb"] {
        let text = show(format);
        assert!(text.contains("--kernels library") && !text.contains("PingPong"), "{text}");
    }
    assert_eq!(show("csv").lines().count(), 14);
    assert!(show("json-lines").lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    assert!(serde_json::from_str::<serde_json::Value>(&show("json")).is_ok());
    let compare = |new: &Path, more: &[&str]| {
        let folders = ["--read", new.to_str().unwrap(), "--compare", old.to_str().unwrap()];
        comet(&[&folders, more].concat())
    };
    let (status, compared, told) = compare(&new, &["--fail-above", "10%"]);
    for told in ["Echo     20 % slower", "at 12 points of both", "Barrier  20 % slower", "by repeats"] {
        assert!(compared.contains(told), "{compared}");
    }
    assert!(status == Some(1) && told.contains("slower by more than 10 %"), "{told}");
    assert_eq!(compare(&new, &["--fail-above", "50%"]).0, Some(0));
    let (status, same, _) = compare(&old, &["--fail-above", "1%"]);
    assert!(status == Some(0) && same.matches("no change").count() == 2, "{same}");
}

/// Ctrl-C keeps what was measured, and the same command goes on with it.
#[cfg(unix)]
#[test]
#[ignore = "builds the benchmark: cargo test -p strata-comet --features cli --test program -- --ignored"]
fn an_interrupted_run_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_comet"));
        command.args(["--on", "threads", "--nodes", "2", "--kernels", "echo,barrier", "-o"]);
        command.arg(&out).args(arguments).stdout(std::process::Stdio::null());
        command
    };
    let mut child = command(&["--budget", "120s"]).spawn().unwrap();
    let partial = out.join("samples.txt.partial");
    let rows = || fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
    while rows() < 100 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let id = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(partial.is_file() && !out.join("comet.json").exists());
    let kept = Samples::parse_partial(&fs::read_to_string(&partial).unwrap(), "kept").unwrap().samples;
    let timings = |samples: &Samples| -> usize {
        samples.models.iter().flat_map(|model| &model.rows).map(|row| row.notes.timings.len()).sum()
    };
    assert!(timings(&kept) > 0);
    assert!(command(&["--budget", "3s", "--resume"]).status().unwrap().success());
    let all = Samples::parse(&fs::read_to_string(out.join("samples.txt")).unwrap(), "all").unwrap();
    assert!(timings(&all) >= timings(&kept), "{} of {}", timings(&all), timings(&kept));
    assert!(Results::read(&out).unwrap().kernel("Echo").is_some());
}
