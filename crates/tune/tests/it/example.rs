//! The examples, as users run them.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The program, which `cargo test` builds beside its tests; `None` where only this test was built.
fn program(name: &str) -> Option<PathBuf> {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent()?.parent()?.join("examples").join(name);
    program.is_file().then_some(program)
}

fn run(program: &PathBuf, setting: Option<&str>, arguments: &[&str]) -> (Output, String, String) {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("STRATA_TUNE");
    if let Some(setting) = setting {
        command.env("STRATA_TUNE", setting);
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    (output, out, err)
}

#[test]
fn a_loop_with_a_knob() {
    let Some(program) = program("tune_loop") else {
        println!("skipped: cargo build -p strata-tune --examples");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (file, graph) = (folder.path().join("found.json"), folder.path().join("graph.svg"));
    let tune = format!("tune:{}", file.display());
    let (output, out, err) = run(&program, Some(&tune), &["--graph", graph.to_str().unwrap()]);
    assert!(output.status.success() && err.is_empty(), "{err}");
    assert!(out.starts_with("tune_loop: 1 call site, 1 interval, 1 with knobs\ntile at "), "{out}");
    assert!(out.contains("examples/tune_loop.rs:") && out.contains("evaluations by exhaustive"), "{out}");
    let drawn = std::fs::read_to_string(&graph).unwrap();
    assert!(drawn.contains("interval 1: "), "{drawn}");

    // A later run begins with what was found, and `use` tries nothing.
    let (_, later, err) = run(&program, Some(&tune), &[]);
    assert!(err.is_empty() && later.starts_with("tune_loop: "), "{err}{later}");
    let (output, used, _) = run(&program, Some(&format!("use:{}", file.display())), &["--json"]);
    assert!(output.status.success() && used.contains("\"intervals\": []"), "{used}");

    // A file that is cut short is ignored with a word, and written again.
    let text = std::fs::read(&file).unwrap();
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    let (output, _, err) = run(&program, Some(&tune), &[]);
    assert!(output.status.success(), "{err}");
    assert!(
        err.starts_with("strata: ") && err.ends_with("found.json is ignored: it is cut short\n"),
        "{err}"
    );
    assert!(std::fs::read(&file).unwrap().ends_with(b"}\n"));

    let (_, off, _) = run(&program, None, &[]);
    assert!(off.starts_with("tune_loop: 0 call sites"), "{off}");
    let (output, _, err) = run(&program, Some("tine"), &[]);
    assert!(!output.status.success());
    assert!(err.contains("STRATA_TUNE=tine: there is no `tine` (did you mean `tune`?); set off"), "{err}");
}

/// A command that sleeps for as many ms as a variable says.
#[test]
fn variables_of_a_command() {
    let Some(program) = program("tune_launch") else {
        println!("skipped: cargo build -p strata-tune --examples");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().join("found.json");
    let call = |knob: &str, command: &str| {
        let arguments =
            ["--prefix", "PAUSE_", "--runs", "300", "--keep", keep.to_str().unwrap(), "--knob", knob];
        run(&program, None, &[&arguments[..], &["--", "sh", "-c", command]].concat())
    };
    let (output, out, err) = call("S=0.02,0.002", "sleep $PAUSE_S");
    assert!(output.status.success(), "{err}");
    assert_eq!(out, "export PAUSE_S=0.002\n", "{err}");
    assert!(keep.is_file());
    let (output, _, err) = call("S=1,2", "exit $PAUSE_S");
    assert!(!output.status.success());
    assert!(err.contains("tune_launch: with PAUSE_S=1 the command ended with exit status: 1"), "{err}");
    let (output, _, err) = call("S=1", "true");
    assert!(output.status.code() == Some(2) && err.contains("at least two values"), "{err}");
}
