//! Memory that the system refuses: this program starts itself again, with a limit.

#![cfg(target_os = "linux")]
use std::process::Command;

use strata_comet as comet;
use strata_runtime::prelude::*;

/// What the test below starts as a program of its own.
#[test]
#[ignore = "a part of others"]
fn program() {
    let run = Machine::threads(2).unwrap().run(|node| Ok(comet::echo(node, 1 << 30, 1)));
    println!("ended: {run:?}");
}

/// A limit of the process, which the system's figures do not tell.
#[test]
fn memory_that_the_system_refuses_is_found() {
    let program = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 3000000 && exec \"$0\" --exact memory::program --ignored --nocapture"])
        .arg(program)
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
