//! The harness end to end on threads, with a clock that only the tasks move.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use strata_model::samples::{ModelSamples, Samples};
use strata_runtime::Machine;
use tempfile::TempDir;

use super::run::{Job, Outcome, run};
use super::settings::Settings;
use super::signals::Interrupt;
use super::*;

thread_local! {
    /// Each node's time: it passes when a task says so.
    static TIME: Cell<f64> = const { Cell::new(0.0) };
}

struct Virtual;

impl Clock for Virtual {
    fn now(&mut self, _: &Node) -> f64 {
        TIME.get()
    }
}

fn spend(seconds: f64) {
    TIME.set(TIME.get() + seconds);
}

/// A model of one loop whose task takes `i` milliseconds on node 0, twice that on node 1, and so on.
struct Model {
    name: &'static str,
    stop: i64,
    verify: u32,
    timings: AtomicUsize,
    task: fn(&Model, &mut Node, &Scope, i64, &mut Bench) -> Result<(), Failure>,
    value: fn(i64) -> Option<f64>,
}

fn model(name: &'static str, stop: i64) -> Model {
    Model { name, stop, verify: 4, timings: AtomicUsize::new(0), task: steady, value: |i| Some(i as f64) }
}

fn steady(_: &Model, node: &mut Node, _: &Scope, i: i64, bench: &mut Bench) -> Result<(), Failure> {
    bench.timer.start(node);
    spend(1e-3 * i as f64 * (node.rank() + 1) as f64);
    bench.timer.stop(node);
    Ok(())
}

impl Profiled for Model {
    fn name(&self) -> &'static str {
        self.name
    }
    fn columns(&self) -> &'static [&'static str] {
        &["(i)", "i*logP"]
    }
    fn variables(&self) -> &'static [&'static str] {
        &["i"]
    }
    fn options(&self) -> Options {
        Options { verify: self.verify, ..Options::default() }
    }
    fn points(&self, _: &Scope, visit: &mut dyn FnMut(&[i64]) -> bool) {
        let mut i = 1;
        while i <= self.stop && visit(&[i]) {
            i *= 2;
        }
    }
    fn draw(&self, _: &Scope, random: &mut Random) -> Option<Vec<i64>> {
        Some(vec![random.between(1, self.stop)?])
    }
    fn contains(&self, _: &Scope, at: &[i64]) -> bool {
        matches!(at, [i] if (1..=self.stop).contains(i))
    }
    fn values(&self, scope: &Scope, at: &[i64]) -> Option<Vec<f64>> {
        let [_, log, _] = scope.constants();
        let i = (self.value)(at[0])?;
        Some(vec![i, i * log])
    }
    fn measure(&self, node: &mut Node, scope: &Scope, at: &[i64], bench: &mut Bench) -> Result<(), Failure> {
        if node.rank() == 0 {
            self.timings.fetch_add(1, Ordering::Relaxed);
        }
        (self.task)(self, node, scope, at[0], bench)
    }
}

struct Place {
    _folder: TempDir,
    output: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let output = folder.path().join("samples.txt");
        Self { _folder: folder, output }
    }
    fn partial(&self) -> PathBuf {
        self.output.with_extension("txt.partial")
    }
    fn settings(&self) -> Settings {
        Settings { output: self.output.clone(), ..Settings::default() }
    }
}

fn profile(
    nodes: usize,
    models: &[&dyn Profiled],
    settings: Settings,
    sha256: &str,
) -> Result<Outcome, Error> {
    let job = Job {
        clock: || Box::new(Virtual),
        ..Job::new("specs/test.spec", sha256, models, settings, Interrupt::default())
    };
    let outcomes = Machine::threads(nodes)?.run(|node| run(node, &job).map_err(Error::program))?;
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
    Ok(outcomes[0])
}

fn read(path: &Path) -> Samples {
    let text = std::fs::read_to_string(path).unwrap();
    Samples::parse(&text, "samples.txt").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn fit_points(model: &ModelSamples) -> Vec<i64> {
    model.rows.iter().filter(|row| !row.verify).map(|row| row.notes.at[0]).collect()
}

#[test]
fn every_point_is_a_row_in_order() {
    let place = Place::new();
    let (a, b) = (model("A", 64), model("B", 8));
    assert_eq!(profile(3, &[&a, &b], place.settings(), "ab").unwrap(), Outcome::Done);
    let samples = read(&place.output);
    assert_eq!(samples.spec.as_ref().map(|spec| spec.sha256.as_str()), Some("ab"));
    assert_eq!(samples.platform.as_ref().map(|platform| platform.nodes), Some(3));
    assert_eq!(samples.models.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["A", "B"]);
    assert_eq!(fit_points(&samples.models[0]), [1, 2, 4, 8, 16, 32, 64]);
    assert_eq!(fit_points(&samples.models[1]), [1, 2, 4, 8]);
    assert!(!samples.models[0].columns[0].candidate);
    for model in &samples.models {
        assert_eq!(model.rows.iter().filter(|row| row.verify).count(), 4);
        assert!(model.rows.iter().rev().take(4).all(|row| row.verify), "verification samples come last");
        for row in &model.rows {
            let i = row.notes.at[0] as f64;
            assert_eq!(row.values[0], i);
            assert_eq!(row.values[1], i * 3f64.log2());
            assert!((row.seconds / (3e-3 * i) - 1.0).abs() < 1e-9, "the slowest node counts: {row:?}");
            assert_eq!(row.notes.repeats, 3);
        }
    }
    assert!(!place.partial().exists());
}

#[test]
fn verification_points_lie_in_the_range_and_follow_the_seed() {
    let drawn = |seed| {
        let place = Place::new();
        let a = Model { verify: 40, ..model("A", 100) };
        profile(1, &[&a], Settings { seed, ..place.settings() }, "ab").unwrap();
        let rows = &read(&place.output).models[0].rows;
        rows.iter().filter(|row| row.verify).map(|row| row.notes.at[0]).collect::<Vec<_>>()
    };
    assert!(drawn(1).iter().all(|i| (1..=100).contains(i)));
    assert!(drawn(1).iter().any(|i| !(*i as u64).is_power_of_two()));
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn a_short_budget_leaves_points_out_and_is_kept() {
    let place = Place::new();
    let a = Model { verify: 20, ..model("A", 1 << 12) };
    let settings = Settings { budget: Some(10.0), ..place.settings() };
    assert_eq!(profile(2, &[&a], settings, "ab").unwrap(), Outcome::Done);
    let rows = &read(&place.output).models[0].rows;
    assert!((3..33).contains(&rows.len()), "{}", rows.len());
    // Node 0's time is half the slowest node's.
    let spent: f64 = rows.iter().map(|row| row.seconds / 2.0 * f64::from(row.notes.repeats)).sum();
    assert!(spent <= 10.0 + 4.1, "{spent}");
}

#[test]
fn a_panic_names_model_point_and_node_and_keeps_the_samples() {
    let place = Place::new();
    let a = model("A", 64);
    let b = Model {
        task: |model, node, scope, i, bench| {
            assert!(!(i == 8 && node.rank() == 1), "eight is too much");
            steady(model, node, scope, i, bench)
        },
        ..model("B", 8)
    };
    let error = profile(3, &[&a, &b], place.settings(), "ab").unwrap_err().to_string();
    assert!(
        error.contains("node 1") && error.contains("model B at i=8") && error.contains("eight is too much"),
        "{error}"
    );
    let kept = read(&place.partial());
    assert!(kept.models.iter().map(|model| model.rows.len()).sum::<usize>() > 0);
    assert!(!place.output.exists());
}

#[test]
fn an_error_of_the_code_ends_the_job_too() {
    let place = Place::new();
    let a = Model { task: |_, _, _, _, _| Ok("x".parse::<i64>().map(drop)?), ..model("A", 8) };
    let error = profile(2, &[&a], place.settings(), "ab").unwrap_err().to_string();
    assert!(error.contains("model A at i=1: invalid digit"), "{error}");
    let a = Model { task: |_, _, _, _, _| Ok(()), ..model("A", 8) };
    let error = profile(2, &[&a], place.settings(), "ab").unwrap_err().to_string();
    assert!(error.contains("left before the timing ended"), "{error}");
}

#[test]
fn a_torn_journal_is_gone_on_with() {
    let place = Place::new();
    let broken = Model {
        task: |model, node, scope, i, bench| {
            if model.timings.load(Ordering::Relaxed) > 12 {
                return Err("power cut".into());
            }
            steady(model, node, scope, i, bench)
        },
        ..model("A", 64)
    };
    assert!(profile(1, &[&broken], place.settings(), "ab").is_err());
    let journal = std::fs::read_to_string(place.partial()).unwrap();
    let rows = read(&place.partial()).models[0].rows.len();
    assert_eq!(rows, 12);
    std::fs::write(place.partial(), &journal[..journal.len() - 9]).unwrap();
    let again = model("A", 64);
    let settings = Settings { resume: true, ..place.settings() };
    assert_eq!(profile(1, &[&again], settings, "ab").unwrap(), Outcome::Done);
    let samples = read(&place.output);
    assert_eq!(samples.models[0].rows.len(), 11);
    assert!(samples.models[0].rows.iter().all(|row| row.notes.repeats == 3));
    assert_eq!(again.timings.load(Ordering::Relaxed), 33 - (rows - 1));
    assert!(!place.partial().exists());
}

#[test]
fn an_interrupted_run_is_ordered_and_gone_on_with() {
    let place = Place::new();
    let a = model("A", 64);
    let interrupt = Interrupt::default();
    interrupt.set();
    let models: [&dyn Profiled; 1] = [&a];
    let job = |resume, interrupt| Job {
        clock: || Box::new(Virtual),
        ..Job::new("specs/test.spec", "ab", &models, Settings { resume, ..place.settings() }, interrupt)
    };
    let first = job(false, interrupt);
    let machine = Machine::threads(2).unwrap();
    let outcome = machine.run(|node| run(node, &first).map_err(Error::program)).unwrap();
    assert_eq!(outcome, [Outcome::Interrupted; 2]);
    assert!(read(&place.partial()).models[0].rows.is_empty());
    let second = job(true, Interrupt::default());
    let outcome = machine.run(|node| run(node, &second).map_err(Error::program)).unwrap();
    assert_eq!(outcome, [Outcome::Done; 2]);
    assert_eq!(read(&place.output).models[0].rows.len(), 11);
}

#[test]
fn medians_of_an_earlier_run_are_not_measured_again() {
    let place = Place::new();
    let a = model("A", 64);
    profile(1, &[&a], place.settings(), "ab").unwrap();
    std::fs::rename(&place.output, place.partial()).unwrap();
    let before = read(&place.partial());
    let again = model("A", 64);
    profile(1, &[&again], Settings { resume: true, ..place.settings() }, "ab").unwrap();
    assert_eq!(again.timings.load(Ordering::Relaxed), 0);
    assert_eq!(read(&place.output), before);
}

#[test]
fn a_points_file_says_what_is_measured_and_more_points_add_to_it() {
    for nodes in [1, 3] {
        let place = Place::new();
        let points = place.output.with_file_name("points.txt");
        let (a, b) = (model("A", 64), model("B", 8));
        let settings = || Settings { points: Some(points.clone()), ..place.settings() };
        std::fs::write(&points, "strata-points 1\nspec s sha256=ab\nA 3\nA 50\n").unwrap();
        profile(nodes, &[&a, &b], settings(), "ab").unwrap();
        let first = read(&place.output);
        assert_eq!(fit_points(&first.models[0]), [3, 50]);
        assert_eq!(fit_points(&first.models[1]), [1, 2, 4, 8], "a model that is not named keeps its loops");
        assert_eq!(first.models[0].rows.len(), 2 + 4);
        // What was measured is not measured again.
        std::fs::rename(&place.output, place.partial()).unwrap();
        std::fs::write(&points, "strata-points 1\nA 3\nA 50\nA 7\n").unwrap();
        let (more, same) = (model("A", 64), model("B", 8));
        profile(nodes, &[&more, &same], Settings { resume: true, ..settings() }, "ab").unwrap();
        let second = read(&place.output);
        assert_eq!(fit_points(&second.models[0]), [3, 50, 7]);
        assert_eq!(more.timings.load(Ordering::Relaxed), 3);
        assert_eq!(same.timings.load(Ordering::Relaxed), 0);
        let times =
            |samples: &Samples| samples.models[1].rows.iter().map(|row| row.seconds).collect::<Vec<_>>();
        assert_eq!(times(&second), times(&first));
    }
}

#[test]
fn a_points_file_that_is_none_of_the_specs_is_refused() {
    let place = Place::new();
    let points = place.output.with_file_name("points.txt");
    let settings = || Settings { points: Some(points.clone()), ..place.settings() };
    assert_eq!(profile(2, &[&model("A", 64)], settings(), "ab").unwrap(), Outcome::Fault, "no such file");
    for text in
        ["", "strata-points 1\nspec s sha256=cd\nA 1\n", "strata-points 1\nB 1\n", "strata-points 1\nA 65\n"]
    {
        std::fs::write(&points, text).unwrap();
        assert_eq!(profile(2, &[&model("A", 64)], settings(), "ab").unwrap(), Outcome::Fault, "{text}");
    }
    std::fs::write(&points, b"strata-points 1\nA \xff\n").unwrap();
    assert_eq!(profile(3, &[&model("A", 64)], settings(), "ab").unwrap(), Outcome::Fault);
    assert!(!place.output.exists());
}

#[test]
fn a_journal_of_another_spec_or_machine_is_refused() {
    let place = Place::new();
    let a = model("A", 64);
    profile(1, &[&a], place.settings(), "ab").unwrap();
    std::fs::rename(&place.output, place.partial()).unwrap();
    let resume = || Settings { resume: true, ..place.settings() };
    assert_eq!(profile(1, &[&a], resume(), "cd").unwrap(), Outcome::Fault);
    assert_eq!(profile(2, &[&a], resume(), "ab").unwrap(), Outcome::Fault);
    assert_eq!(profile(1, &[&a, &model("B", 8)], resume(), "ab").unwrap(), Outcome::Fault);
    std::fs::write(place.partial(), "strata-samples 1\nmodel A (i) i*logP\nA what 1 2\nA 1 2 3\n").unwrap();
    assert_eq!(profile(1, &[&a], resume(), "ab").unwrap(), Outcome::Fault);
    assert!(place.partial().exists());
}

#[test]
fn a_fresh_run_does_not_destroy_an_old_journal() {
    let place = Place::new();
    std::fs::write(place.partial(), "precious").unwrap();
    profile(1, &[&model("A", 8)], place.settings(), "ab").unwrap();
    let old = place.output.with_extension("txt.partial.old");
    assert_eq!(std::fs::read_to_string(old).unwrap(), "precious");
}

#[test]
fn what_is_no_number_is_written_as_it_is() {
    let place = Place::new();
    let a = Model { value: |i| Some(if i == 4 { f64::NAN } else { 1.0 / (i - 2) as f64 }), ..model("A", 64) };
    let b = Model {
        task: |_, node, _, i, bench| {
            bench.timer.record(if i == 2 && node.rank() == 1 { f64::NAN } else { 0.5 });
            Ok(())
        },
        ..model("B", 8)
    };
    profile(2, &[&a, &b], place.settings(), "ab").unwrap();
    let samples = read(&place.output);
    assert_eq!(samples.models[0].rows[1].values[0], f64::INFINITY);
    assert!(samples.models[0].rows[2].values[0].is_nan());
    assert_eq!(samples.models[1].rows[0].seconds, 0.5);
    assert!(samples.models[1].rows[1].seconds.is_nan());
}

#[test]
fn what_a_require_excludes_is_not_in_the_file() {
    let place = Place::new();
    let a = Model { value: |i| (i >= 8).then_some(i as f64), ..model("A", 64) };
    profile(2, &[&a], place.settings(), "ab").unwrap();
    let rows = &read(&place.output).models[0].rows;
    assert_eq!(rows.len(), 4 + 4);
    assert!(rows.iter().all(|row| row.notes.at[0] >= 8));
    let nothing = Model { value: |_| None, ..model("A", 64) };
    assert_eq!(profile(2, &[&nothing], place.settings(), "ab").unwrap(), Outcome::Fault);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let place = Place::new();
    let settings = Settings { output: place.output.join("in/no/folder.txt"), ..place.settings() };
    let error = profile(2, &[&model("A", 8)], settings, "ab").unwrap_err().to_string();
    assert!(error.contains("folder.txt.partial"), "{error}");
}

#[test]
fn short_tasks_are_repeated_unless_once() {
    struct Short {
        once: bool,
        most: AtomicUsize,
    }
    impl Profiled for Short {
        fn name(&self) -> &'static str {
            "Short"
        }
        fn columns(&self) -> &'static [&'static str] {
            &[]
        }
        fn options(&self) -> Options {
            Options { verify: 1, repeat: 3, once: self.once }
        }
        fn points(&self, _: &Scope, visit: &mut dyn FnMut(&[i64]) -> bool) {
            visit(&[]);
        }
        fn draw(&self, _: &Scope, _: &mut Random) -> Option<Vec<i64>> {
            Some(vec![])
        }
        fn contains(&self, _: &Scope, at: &[i64]) -> bool {
            at.is_empty()
        }
        fn values(&self, _: &Scope, _: &[i64]) -> Option<Vec<f64>> {
            Some(vec![])
        }
        fn measure(&self, node: &mut Node, _: &Scope, _: &[i64], bench: &mut Bench) -> Result<(), Failure> {
            self.most.fetch_max(bench.timer.count() as usize, Ordering::Relaxed);
            bench.timer.start(node);
            for _ in 0..bench.timer.count() {
                std::hint::black_box(0);
            }
            bench.timer.stop(node);
            Ok(())
        }
    }
    for once in [false, true] {
        let place = Place::new();
        let short = Short { once, most: AtomicUsize::new(0) };
        let models: [&dyn Profiled; 1] = [&short];
        // The real clock: nothing takes less time than nothing.
        let job = Job::new("specs/test.spec", "ab", &models, place.settings(), Interrupt::default());
        Machine::threads(2).unwrap().run(|node| run(node, &job).map_err(Error::program)).unwrap();
        assert_eq!(short.most.load(Ordering::Relaxed) == 1, once);
        // Ten of its one place, and one to verify them.
        assert_eq!(read(&place.output).models[0].rows.len(), 11);
    }
}
