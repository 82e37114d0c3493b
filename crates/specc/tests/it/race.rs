//! A race that is interrupted; the others are in `console/races.console`.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::made_up::folder;

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let folder = folder(&[("bench.sh", "bench.sh")]);
    let mut specc = Command::new(env!("CARGO_BIN_EXE_specc"));
    specc.args([
        "compare",
        "--run",
        "sh bench.sh a 0 10",
        "sh bench.sh bb 11 10; sleep 0.1",
        "--from",
        "google",
    ]);
    specc.args(["--rounds", "1000"]).current_dir(folder.path()).env("COLUMNS", "80");
    let child = specc.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = || fs::read_to_string(folder.path().join("bb")).ok()?.trim().parse::<u32>().ok();
    while runs().is_none_or(|runs| runs < 10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(130), "{out}{err}");
    assert!(out.contains("where n >= 1,000") && err.contains("interrupted"), "{out}{err}");
}
