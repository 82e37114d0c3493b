//! `say!` with a standard error that can be written, and with one that cannot. Each test starts
//! this program again, as a process of its own.

#![cfg(feature = "std")]
use std::process::{Command, Output, Stdio};

use strata_select::say;

/// The program that the tests below start.
#[test]
#[ignore = "a part of others"]
fn program() {
    let what = "formats";
    say!("it {what} {:?}, as `format!` does", 1.5);
    say!("two\nlines");
    println!("to the end");
}

fn run(stderr: Stdio) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["say::program", "--exact", "--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .and_then(|child| child.wait_with_output())
        .unwrap()
}

fn ends_well(output: &Output) {
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && out.contains("to the end"), "{}\n{out}", output.status);
}

#[test]
fn each_message_is_a_line() {
    let output = run(Stdio::piped());
    ends_well(&output);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "it formats 1.5, as `format!` does\ntwo\nlines\n");
}

#[test]
fn nobody_reads() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    ends_well(&run(writer.into()));
}

#[test]
fn the_disk_is_full() {
    match std::fs::File::options().write(true).open("/dev/full") {
        Ok(full) => ends_well(&run(full.into())),
        Err(error) => println!("skipped: /dev/full: {error}"),
    }
}
