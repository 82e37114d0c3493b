//! Data that arrive wrong, and a clock that is coarse: this program starts itself again with the
//! environment that makes them so.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use std::process::Command;

use strata_comet as comet;
use strata_runtime::prelude::*;

/// What the tests below start as a program of its own: it reads its environment.
#[test]
#[ignore = "a part of others"]
fn program() {
    let run = Machine::threads(2).unwrap().run(|node| {
        let echo = comet::echo(node, 64, 1);
        if node.setting("STRATA_COMET_TICK").is_some() {
            return Ok(echo);
        }
        comet::broadcast(node, 64);
        comet::guard(node, 4);
        comet::get(node, 64).map_err(Error::program)?;
        Ok(echo)
    });
    match run {
        Ok(seconds) => println!("echo {:e}", seconds[0]),
        Err(error) => println!("error {error}"),
    }
}

fn with(name: &str, value: &str) -> String {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "program", "--ignored", "--nocapture"]).env(name, value);
    String::from_utf8_lossy(&program.output().unwrap().stdout).into_owned()
}

#[test]
fn wrong_data_are_found_and_named() {
    for (kernel, what) in [
        ("echo", "echo: wrong data on node"),
        ("broadcast", "broadcast: wrong data on node"),
        ("guard", "guard: wrong data on node"),
        ("get", "get: wrong data on node 0"),
    ] {
        let told = with("STRATA_COMET_SPOIL", kernel);
        assert!(told.contains("error ") && told.contains(what), "{kernel}: {told}");
    }
    assert!(with("STRATA_COMET_SPOIL", "nothing").contains("echo "));
}

#[test]
fn a_clock_of_10_ms_still_tells_microseconds() {
    let told = with("STRATA_COMET_TICK", "0.01");
    let seconds: f64 = told.lines().find_map(|line| line.strip_prefix("echo ")).unwrap().parse().unwrap();
    assert!(seconds > 1e-9 && seconds < 1e-2, "{seconds}");
}
