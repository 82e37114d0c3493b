//! Profiling programs really built and run, on two threads.

use std::path::{Path, PathBuf};

use specc::drive::{DriveError, On, RunOptions, build, profile};
use specc::lang::load;
use specc::points::plan;
use specc::profiling_program::{Emitted, emit};
use strata_model::samples::Samples;
use strata_model::{Plan, Points};

fn out(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("profile").join(name)
}

fn emitted(name: &str) -> Emitted {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run").join(name).with_extension("spec");
    let text = std::fs::read_to_string(&path).unwrap();
    let spec =
        load(&path.to_string_lossy(), &text).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    let emitted = emit(&spec, &out(name), &[], false).unwrap();
    let run = |nodes| plan(&spec, nodes, 1, &Points::default()).unwrap().0;
    let plan = Plan { spec: emitted.spec.clone(), runs: vec![run(2), run(3)] };
    // Atomically: tests that share a spec run at once.
    strata_model::write_atomically(out(name).join("plan.txt"), |file| {
        file.write_all(plan.to_text().as_bytes())
    })
    .unwrap();
    emitted
}

fn options(name: &str) -> RunOptions {
    let output = out(name).join("samples.txt");
    for suffix in ["txt", "txt.partial", "txt.partial.old"] {
        let _absent = std::fs::remove_file(output.with_extension(suffix));
    }
    RunOptions {
        on: On::Threads,
        nodes: 2,
        hosts: None,
        launcher: None,
        budget: Some(2.0),
        precision: None,
        most: None,
        plan: out(name).join("plan.txt"),
        resume: false,
        output,
        part: None,
        settings: Vec::new(),
    }
}

fn rendered(error: &DriveError) -> String {
    let mut text = String::new();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    miette::GraphicalReportHandler::new_themed(theme)
        .with_width(100)
        .render_report(&mut text, error)
        .unwrap();
    text
}

#[test]
fn a_small_spec_is_measured() {
    let emitted = emitted("small");
    let program = build(&emitted, &On::Threads).unwrap();
    assert!(program.executable.starts_with(out("small").canonicalize().unwrap()), "{program:?}");
    let options = options("small");
    let path = profile(&program, &emitted, &options).unwrap();
    assert_eq!(path, options.output);
    let text = std::fs::read_to_string(&path).unwrap();
    let samples = Samples::parse(&text, "samples.txt").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(samples.spec.as_ref(), Some(&emitted.spec));
    assert_eq!(emitted.spec.path, "crates/specc/tests/run/small.spec");
    let platform = samples.platform.unwrap();
    assert_eq!((platform.transport.as_str(), platform.nodes), ("threads", 2));
    let names: Vec<&str> = samples.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["ClearMemory", "Reduce", "Own"]);
    for model in &samples.models {
        assert!(!model.rows.is_empty(), "{text}");
        assert!(model.rows.iter().all(|row| row.seconds > 0.0 && row.seconds < 1.0), "{text}");
        assert!(model.rows.iter().all(|row| row.notes.repeats >= 1), "{text}");
    }
    let own = samples.models[2].rows.iter().map(|row| (row.verify, row.values[0], row.seconds));
    for (_, n, seconds) in own {
        assert!(n != 2.0, "a point that its require excludes was measured");
        assert!((seconds - 2e-3 * n).abs() < 1e-12, "the slowest node counts");
    }
    let columns: Vec<String> = samples.models[1].columns.iter().map(ToString::to_string).collect();
    assert_eq!(columns, ["length", "length*logP"]);
}

#[test]
fn what_a_sample_gives_is_a_column_of_the_samples() {
    let emitted = emitted("gives");
    let program = build(&emitted, &On::Threads).unwrap();
    let mut earlier = None;
    for _ in 0..2 {
        let mut options = options("gives");
        if let Some(text) = &earlier {
            // As after an interruption.
            std::fs::write(options.output.with_extension("txt.partial"), text).unwrap();
            options.resume = true;
        }
        let text = std::fs::read_to_string(profile(&program, &emitted, &options).unwrap()).unwrap();
        let samples =
            Samples::parse(&text, "samples.txt").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let columns: Vec<String> = samples.models[0].columns.iter().map(ToString::to_string).collect();
        assert_eq!(columns, ["bytes", "(distance)"], "the term that reads it is the fit's");
        assert_eq!(samples.models[0].rows.len(), 6);
        assert!(samples.models[0].rows.iter().all(|row| row.values[1] == 3.0), "{text}");
        earlier = Some(text);
    }
}

#[test]
fn compiler_errors_are_shown_in_the_spec() {
    let error = build(&emitted("wrong"), &On::Threads).unwrap_err();
    assert_eq!(error.exit_status(), 1);
    let text = rendered(&error);
    // The compiler's own words change from one release to the next; places and codes do not.
    let expected = [
        "4 errors in the Rust code of crates/specc/tests/run/wrong.spec",
        "rustc::E0432",
        "wrong.spec:2:5",
        "rustc::E0308",
        "wrong.spec:12:45",
        "expected `u32`, found `usize`",
        "rustc::E0599",
        "wrong.spec:14:14",
        "rustc::E0382",
        "wrong.spec:7:18",
        "`task once { … }`",
    ];
    for part in expected {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn a_panic_is_shown_in_the_spec_and_keeps_the_samples() {
    let emitted = emitted("panics");
    let program = build(&emitted, &On::Threads).unwrap();
    let options = options("panics");
    let error = profile(&program, &emitted, &options).unwrap_err();
    assert_eq!(error.exit_status(), 3);
    let DriveError::Run { message, help, .. } = &error else { panic!("{error:?}") };
    assert!(message.contains("node 1") && message.contains("model Panics at n="), "{message}");
    assert!(message.contains("three is a crowd"), "{message}");
    assert!(message.contains("panics.spec:5:9"), "{message}");
    assert!(help.contains("samples.txt.partial") && help.contains("--resume"), "{help}");
    let partial = std::fs::read_to_string(options.output.with_extension("txt.partial")).unwrap();
    assert!(Samples::parse(&partial, "partial").is_ok());
}

#[test]
fn a_task_that_returns_an_error_is_not_measured() {
    let emitted = emitted("fails");
    let program = build(&emitted, &On::Threads).unwrap();
    let error = profile(&program, &emitted, &options("fails")).unwrap_err();
    assert_eq!(error.exit_status(), 3);
    let DriveError::Run { message, help, .. } = &error else { panic!("{error:?}") };
    let place =
        ["3", "4"].map(|n| format!("model Fails at n={n}: the task returned an error: {n} is too many"));
    assert!(place.iter().any(|place| message.contains(place)), "{message}");
    assert!(help.contains("mend that, then go on"), "{help}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let emitted = emitted("small");
    let program = specc::drive::Program { executable: out("none").join("no-program"), on: On::Threads };
    let error = profile(&program, &emitted, &options("none")).unwrap_err();
    assert!(error.to_string().starts_with("cannot start"), "{error}");
    assert_eq!(error.exit_status(), 3);
}

#[test]
#[ignore = "needs an MPI on this machine, and builds rsmpi: cargo test -p specc --test measured -- --ignored"]
fn the_same_program_runs_under_mpirun() {
    let emitted = emitted("small");
    let program = build(&emitted, &On::Mpi).unwrap();
    let plan = out("small").join("plan.txt");
    let options = RunOptions { on: On::Mpi, nodes: 3, plan, ..options("mpi") };
    let path = profile(&program, &emitted, &options).unwrap();
    let samples = Samples::parse(&std::fs::read_to_string(path).unwrap(), "samples.txt").unwrap();
    let platform = samples.platform.unwrap();
    assert_eq!((platform.transport.as_str(), platform.nodes), ("mpi", 3));
    assert!(samples.models.iter().all(|model| !model.rows.is_empty()));
    let own = samples.models[2].rows.iter().map(|row| (row.values[0], row.seconds));
    for (n, seconds) in own {
        assert!((seconds - 3e-3 * n).abs() < 1e-12, "the slowest node counts");
    }
}
