//! Data that arrive wrong, a clock that is coarse, and little memory: this program starts itself
//! again with the environment that makes them so.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use std::process::Command;

use strata_comet as comet;
use strata_runtime::prelude::*;

/// What the tests below start as a program of its own: it reads its environment.
#[test]
#[ignore = "a part of others"]
fn program() {
    let run = Machine::threads(2).unwrap().run(|node| {
        let bytes = node.setting("STRATA_COMET_BYTES").map_or(64, |text| text.parse().unwrap());
        let echo = comet::echo(node, bytes, 1);
        if node.setting("STRATA_COMET_TICK").is_some() {
            let overhead = comet::send_overhead(node, 8);
            return Ok([echo, overhead]);
        }
        comet::echo_data(node, 64);
        comet::broadcast(node, 64);
        comet::guard(node, 4);
        comet::get(node, 64).map_err(Error::program)?;
        Ok([echo, 0.0])
    });
    match run {
        Ok(seconds) => println!("echo {:e} {:e}", seconds[0][0], seconds[0][1]),
        Err(error) => println!("error {error}"),
    }
}

fn with(variables: &[(&str, &str)]) -> String {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "program", "--ignored", "--nocapture"]).envs(variables.iter().copied());
    String::from_utf8_lossy(&program.output().unwrap().stdout).into_owned()
}

#[test]
fn wrong_data_are_found_and_named() {
    for (kernel, what) in [
        ("echo", "echo: wrong data on node"),
        ("echo_data", "echo_data: wrong data on node"),
        ("broadcast", "broadcast: wrong data on node"),
        ("guard", "guard: wrong data on node"),
        ("get", "get: wrong data on node 0"),
    ] {
        let told = with(&[("STRATA_COMET_SPOIL", kernel)]);
        assert!(told.contains("error ") && told.contains(what), "{kernel}: {told}");
    }
    assert!(with(&[("STRATA_COMET_SPOIL", "nothing")]).contains("echo "));
}

/// What takes microseconds is repeated until it takes a second; what cannot be repeated between two
/// readings of the clock is left out.
#[test]
fn a_clock_of_10_ms_still_tells_microseconds() {
    let told = with(&[("STRATA_COMET_TICK", "0.01")]);
    let line = told.lines().find_map(|line| line.strip_prefix("echo ")).unwrap();
    let seconds: Vec<f64> = line.split(' ').map(|text| text.parse().unwrap()).collect();
    assert!(seconds[0] > 1e-9 && seconds[0] < 1e-2, "{seconds:?}");
    assert!(seconds[1].is_nan(), "{seconds:?}");
}

#[test]
fn long_messages_with_little_memory_are_refused_before_they_are_made() {
    let told = with(&[("STRATA_COMET_BYTES", "1073741824"), ("STRATA_COMET_MEMORY", "3000000000")]);
    assert!(
        told.contains("error node ")
            && told.contains(
                "echo: messages of 1073741824 bytes need 4096 MiB on all nodes, and 2861 MiB are free"
            )
            && told.contains("leave out sizes above 536870912 with --sizes"),
        "{told}"
    );
}

/// A limit of the process, which the system's figures do not tell.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_the_system_refuses_is_found_too() {
    let program = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 3000000 && exec \"$0\" --exact program --ignored --nocapture"])
        .arg(program)
        .env("STRATA_COMET_BYTES", "1073741824")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.contains(
            "echo: messages of 1073741824 bytes need 4096 MiB on all nodes, and the system refuses"
        ),
        "{told}"
    );
}
