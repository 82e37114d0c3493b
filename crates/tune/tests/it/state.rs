//! Files: what is kept, what is taken up, what is ignored with a word.

use crate::common::{Program, tune};
use std::path::PathBuf;
use strata_tune::{Mode, Options, Phase, TuneError, Tuner};

const COSTS: [f64; 5] = [5e4, 6e4, 4e4, 7e4, 5.5e4];

fn run(program: &mut Program, iterations: u32) -> Vec<u16> {
    let step = |_| {
        let option = program.call(1, 5);
        program.work(COSTS[usize::from(option)]);
        option
    };
    (0..iterations).map(step).collect()
}

/// What a run has found that adopted option 2.
fn adopted() -> String {
    let mut program = Program::new(tune(1));
    run(&mut program, 4000);
    assert_eq!(program.tuner.report().intervals[0].phase, Phase::Adopted);
    program.tuner.state_text()
}

#[test]
fn a_later_run_begins_with_what_was_adopted() {
    let mut program = Program::with(tune(2), Some(&adopted())).unwrap();
    assert_eq!(program.tuner.notes(), [""; 0]);
    let taken = run(&mut program, 1000);
    assert_eq!(taken[0], 2);
    let other = taken.iter().filter(|option| **option != 2).count();
    assert!(other > 0 && other < 20, "the default is compared now and then: {other}");
}

#[test]
fn a_search_goes_on_where_it_ended() {
    let mut text = None;
    for iterations in [3, 3, 200] {
        let mut program = Program::with(tune(1), text.as_deref()).unwrap();
        let taken = run(&mut program, iterations);
        assert!(iterations > 3 || taken.iter().all(|option| *option == 0), "too short to try anything");
        text = Some(program.tuner.state_text());
    }
    let mut evaluations = 0;
    for _ in 0..20 {
        let mut program = Program::with(tune(1), text.as_deref()).unwrap();
        run(&mut program, 100);
        let interval = program.tuner.report().intervals[0].clone();
        assert!(interval.evaluations > evaluations || interval.phase == Phase::Adopted);
        evaluations = interval.evaluations;
        text = Some(program.tuner.state_text());
    }
    let mut last = Program::with(tune(1), text.as_deref()).unwrap();
    run(&mut last, 1000);
    assert_eq!(last.tuner.report().intervals[0].knobs[0].chosen, "option 2", "{}", last.tuner.report());
}

/// Runs that are each too short for a gate, some for a baseline.
#[test]
fn a_gate_goes_on_where_it_ended() {
    let mut text = None;
    for turn in 0..120 {
        let mut program = Program::with(tune(1), text.as_deref()).unwrap();
        assert_eq!(program.tuner.notes(), [""; 0]);
        run(&mut program, if turn == 0 { 100 } else { 5 + turn % 30 });
        text = Some(program.tuner.state_text());
    }
    let mut last = Program::with(tune(1), text.as_deref()).unwrap();
    assert_eq!(run(&mut last, 1), [2], "{}", last.tuner.report());
}

#[test]
fn a_file_is_used_without_trying_anything() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.json");
    std::fs::write(&file, adopted()).unwrap();
    let mut program = Program::new(Options::of(Mode::Use(file.clone())));
    assert!(run(&mut program, 500).iter().all(|option| *option == 2));
    assert_eq!(program.call(77, 5), 0, "a site that the file does not know");
    let before = std::fs::read(&file).unwrap();
    program.tuner.close().unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), before, "and it is not written");
    // Of a program that was too short to find anything.
    let mut short = Program::new(tune(1));
    run(&mut short, 3);
    std::fs::write(&file, short.tuner.state_text()).unwrap();
    let mut program = Program::new(Options::of(Mode::Use(file)));
    assert!(run(&mut program, 10).iter().all(|option| *option == 0));
    assert_eq!(program.tuner.report().notes, ["0 choices other than the default, as found before"]);
    let missing = folder.path().join("nowhere.json");
    let error = Program::with(Options::of(Mode::Use(missing)), None).err().unwrap().to_string();
    assert!(
        error.starts_with("cannot read ") && error.contains("a run with STRATA_TUNE=tune:FILE"),
        "{error}"
    );
}

#[test]
fn what_does_not_fit_is_ignored_with_a_word() {
    let text = adopted();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}: {text}");
        text.replacen(from, to, 1)
    };
    let cut = text.len() - text.len() / 3;
    for (text, says) in [
        (String::new(), "it is cut short"),
        (text[..cut].to_owned(), "it is cut short"),
        ("not JSON".to_owned(), "it is not what a tuner writes"),
        ("[1, 2]".to_owned(), "it is not what a tuner writes"),
        (changed("\"strata_tune\":1", "\"strata_tune\":9"), "it is of format 9, and this is 1"),
        (changed("\"build\":\"", "\"build\":\"x"), "it is of another build of the program"),
        (changed("\"machine\":\"", "\"machine\":\"x"), "it is of another machine"),
        (changed("\"nodes\":1}", "\"nodes\":4}"), "it is of another number of nodes"),
        (changed("\"program\":\"made-up\"", "\"program\":\"other\""), "it is of the program `other`"),
        (changed("\"edges\":[[0,1,", "\"edges\":[[0,9,"), "it names sites that it does not have"),
        (changed("\"edges\":[[0,1,", "\"edges\":[[0,0,"), "it names sites that it does not have"),
    ] {
        let mut program = Program::with(tune(1), Some(&text)).unwrap();
        let [note] = program.tuner.notes() else { panic!("{:?}", program.tuner.notes()) };
        assert!(note.contains(" is ignored: ") && note.contains(says), "{note}");
        assert!(run(&mut program, 20).iter().all(|option| *option == 0));
    }
    // Of an interval only what does not fit is left out.
    for (from, to) in [("\"chosen\":[2]", "\"chosen\":[7]"), ("\"chosen\":[2]", "\"chosen\":[1,1]")] {
        let program = Program::with(tune(1), Some(&changed(from, to))).unwrap();
        assert_eq!(program.tuner.notes(), ["an interval's saved search does not fit and begins again"]);
    }
}

#[test]
fn files_are_written_whole_and_errors_name_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/folder/state.json");
    let program = Program::new(Options::of(Mode::Tune(Some(file.clone()))));
    program.tuner.close().unwrap();
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing temporary is left");
    let blocked = PathBuf::from("/proc/nowhere/state.json");
    let error = Tuner::new("x", Options::of(Mode::Tune(Some(blocked)))).unwrap().close().unwrap_err();
    assert!(matches!(error, TuneError::Write { .. }));
    assert!(error.to_string().ends_with("; STRATA_TUNE=tune:FILE names another file"), "{error}");
}

#[test]
fn options_out_of_range_are_refused() {
    for (loss, confidence) in [(0.0, 0.99), (f64::NAN, 0.99), (0.05, 1.0), (0.05, -1.0)] {
        let options = Options { loss, confidence, ..Options::default() };
        assert!(matches!(Tuner::new("x", options), Err(TuneError::Option { .. })));
    }
}

#[test]
fn a_file_can_be_looked_at_by_any_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.json");
    let mut program = Program::new(tune(1));
    for _ in 0..2000 {
        let option = program.call(1, 2);
        program.work(if option == 1 { 4e4 } else { 5e4 });
    }
    program.tuner.save(&file).unwrap();
    let report = Tuner::look(&file).unwrap().report();
    assert_eq!((report.program.as_str(), report.intervals[0].phase), ("made-up", Phase::Adopted));
    assert!(report.notes[0].ends_with("it is this one"), "{:?}", report.notes);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    let error = Tuner::look(&file).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("found.json: it is cut short; "), "{error}");
    let error = Tuner::look(&folder.path().join("none")).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("cannot read"), "{error}");
}
