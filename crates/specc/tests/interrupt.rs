//! Ctrl-C in the middle of a run, and going on from there. A program of its own: the signal goes to
//! the whole process.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use specc::drive::{DriveError, On, RunOptions, build, profile};
use specc::lang::load;
use specc::profiling_program::emit;
use strata_model::{Plan, Points, Samples};

#[test]
fn what_was_measured_is_kept_and_gone_on_with() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/slow.spec");
    let text = std::fs::read_to_string(&path).unwrap();
    let spec =
        load(&path.to_string_lossy(), &text).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interrupt");
    let emitted = emit(&spec, &out, &[], false).unwrap();
    let program = build(&emitted, &On::Threads).unwrap();
    let output = out.join("samples.txt");
    let partial = out.join("samples.txt.partial");
    for file in [&output, &partial] {
        let _absent = std::fs::remove_file(file);
    }
    let (run, _) = specc::points::plan(&spec, 2, 1, &Points::default()).unwrap();
    let plan = Plan { spec: emitted.spec.clone(), runs: vec![run] };
    std::fs::write(out.join("plan.txt"), plan.to_text()).unwrap();
    let options = RunOptions {
        on: On::Threads,
        nodes: 2,
        hosts: None,
        launcher: None,
        budget: None,
        precision: None,
        most: None,
        plan: out.join("plan.txt"),
        resume: false,
        output: output.clone(),
        part: None,
        settings: Vec::new(),
    };
    let journal = partial.clone();
    let finger = std::thread::spawn(move || {
        let rows = |text: String| text.lines().filter(|line| line.contains("at=")).count();
        while std::fs::read_to_string(&journal).map_or(0, rows) < 5 {
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(Pid::this(), Signal::SIGINT).unwrap();
    });
    let error = profile(&program, &emitted, &options).unwrap_err();
    finger.join().unwrap();
    assert_eq!(error.exit_status(), 130);
    let DriveError::Interrupted { help } = &error else { panic!("{error:?}") };
    assert!(help.contains("samples.txt.partial") && help.contains("--resume"), "{help}");
    assert!(!output.exists());
    let kept = Samples::parse(&std::fs::read_to_string(&partial).unwrap(), "partial").unwrap();
    let before = kept.models[0].rows.len();
    assert!((5..25).contains(&before), "{before}");

    let samples = profile(&program, &emitted, &RunOptions { resume: true, ..options }).unwrap();
    let samples = Samples::parse(&std::fs::read_to_string(samples).unwrap(), "samples").unwrap();
    assert_eq!(samples.models[0].rows.len(), 25);
    assert!(samples.models[0].rows.iter().all(|row| row.notes.repeats >= 3));
    assert!(!partial.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_killed_ends_its_program_and_frees_its_folder() {
    ended("threads", Signal::SIGKILL);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interruption_does_not_wait_for_a_long_timing() {
    ended("threads", Signal::SIGINT);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs an MPI on this machine, and builds rsmpi: cargo test -p specc --test interrupt -- --ignored"]
fn what_is_killed_ends_all_nodes_under_mpirun() {
    ended("mpi", Signal::SIGKILL);
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_killed_while_it_builds_ends_the_compilers() {
    building_ended(Signal::SIGKILL, None, ":");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interruption_ends_the_compilers() {
    building_ended(Signal::SIGINT, Some(130), ":");
    building_ended(Signal::SIGTERM, Some(130), ":");
    // What ignores the signal, as its children then do, is killed with them.
    building_ended(Signal::SIGINT, Some(130), "trap '' INT");
}

/// Cargo is a script that starts a compiler of five minutes and waits for it.
#[cfg(target_os = "linux")]
fn building_ended(signal: Signal, status: Option<i32>, first: &str) {
    use std::os::unix::fs::PermissionsExt as _;

    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/long.spec");
    let folder = tempfile::tempdir().unwrap();
    let (cargo, ids) = (folder.path().join("cargo"), folder.path().join("ids"));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = build ] || exec '{}' \"$@\"\n{first}\n\
         sh -c \"echo $$ \\$\\$ >'{}'; exec sleep 300\"\necho\n",
        env!("CARGO"),
        ids.display()
    );
    std::fs::write(&cargo, script).unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut specc = Command::new(env!("CARGO_BIN_EXE_specc"));
    specc
        .args(["calibrate", "--only-samples"])
        .arg(&spec)
        .args(["--nodes", "2", "-o"])
        .arg(folder.path().join("out"));
    specc.env("CARGO", &cargo).stdout(Stdio::null()).stderr(Stdio::null());
    let mut specc = specc.spawn().unwrap();
    let ids = loop {
        // Both and the line end: it is written whole.
        if let Some(ids) = std::fs::read_to_string(&ids).ok().filter(|ids| ids.ends_with('\n')) {
            break ids;
        }
        assert!(specc.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    };
    kill(Pid::from_raw(specc.id().try_into().unwrap()), signal).unwrap();
    assert_eq!(specc.wait().unwrap().code(), status);
    // An ended process whose parent has ended may be left as a zombie where init does not care.
    let runs = |id: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    };
    let mut ids = ids.split_whitespace();
    assert_eq!(ids.clone().count(), 2);
    for _ in 0..200 {
        if !ids.clone().any(runs) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("cargo or its compiler runs on: {:?}", ids.find(|id| runs(id)));
}

/// A program that a signal ends leaves nothing running, and whoever works in a folder is alone
/// there.
#[cfg(target_os = "linux")]
fn ended(on: &str, signal: Signal) {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/long.spec");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ended").join(format!("{on}-{signal}"));
    let command = |what: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_specc"));
        command.arg(what).arg(&spec).args(["--nodes", "2", "-o"]).arg(&out).stdout(Stdio::null());
        if what == "calibrate" {
            command.args(["--only-samples", "--on", on]);
        }
        command
    };
    // The program that is measured, and mpirun: in the middle of a timing it looks at nothing else.
    let output = out.join("samples.txt");
    let runs = || {
        let lines = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = lines.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.any(|line| {
            let mut words = line.split(|byte| *byte == 0);
            words.any(|word| word == b"--end-with-stdin")
                && words.any(|word| word == output.as_os_str().as_bytes())
        })
    };
    let mut child = command("calibrate").stderr(Stdio::null()).spawn().unwrap();
    while !runs() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    for what in ["calibrate", "emit"] {
        let beside = command(what).output().unwrap();
        let said = String::from_utf8_lossy(&beside.stderr);
        assert_eq!(beside.status.code(), Some(2), "{said}");
        assert!(said.contains("another specc is at work in") && said.contains("ended"), "{said}");
    }
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), (signal == Signal::SIGINT).then_some(130));
    // A timing takes five minutes.
    let left = (0..600).find(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !runs()
    });
    assert!(left.is_some(), "the profiling program runs on");
    assert!(command("emit").status().unwrap().success());
}
