//! Tests of the harness end to end on threads, with a clock that only the tasks advance.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use strata_model::plan::{ModelPlan, Plan, Run};
use strata_model::samples::{Column, ModelSamples, Sample, Samples, SpecId};
use strata_runtime::Machine;
use tempfile::TempDir;

use super::run::{Job, Outcome, run};
use super::settings::Settings;
use super::signals::Interrupt;
use super::timer::{Clock, Timer, Usage};
use super::*;

thread_local! {
    /// Each node's time; tasks advance it.
    static TIME: Cell<f64> = const { Cell::new(0.0) };
}

/// A clock by functions: what it shows, and what the system tells of its use.
struct Virtual {
    now: fn() -> f64,
    usage: fn() -> Option<Usage>,
}

impl Clock for Virtual {
    fn now(&mut self, _: &Node) -> f64 {
        (self.now)()
    }
    fn usage(&mut self, _: &Node) -> Option<Usage> {
        (self.usage)()
    }
}

fn time() -> f64 {
    TIME.get()
}

/// One that shows this.
fn showing(now: fn() -> f64) -> Box<dyn Clock> {
    Box::new(Virtual { now, usage: || None })
}

/// One that shows [`time`], and of which this is told.
fn telling(usage: fn() -> Option<Usage>) -> Box<dyn Clock> {
    Box::new(Virtual { now: time, usage })
}

fn spend(seconds: f64) {
    TIME.set(TIME.get() + seconds);
}

/// A model of one loop whose task takes `i` milliseconds on node 0, twice that on node 1, and so
/// on.
struct Model {
    name: &'static str,
    stop: i64,
    verify: u32,
    timings: AtomicUsize,
    task: fn(&Model, &mut Node, i64, &mut Bench) -> Result<(), Failure>,
    value: fn(i64) -> f64,
}

fn model(name: &'static str, stop: i64) -> Model {
    Model { name, stop, verify: 4, timings: AtomicUsize::new(0), task: steady, value: |i| i as f64 }
}

fn steady(_: &Model, node: &mut Node, i: i64, bench: &mut Bench) -> Result<(), Failure> {
    bench.timer.start(node);
    spend(1e-3 * i as f64 * (node.rank() + 1) as f64);
    bench.timer.stop(node);
    Ok(())
}

impl Profiled for Model {
    fn name(&self) -> &'static str {
        self.name
    }
    fn measure(&self, node: &mut Node, point: &Point, bench: &mut Bench) -> Result<(), Failure> {
        if node.rank() == 0 {
            self.timings.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(point.bound, [point.at[0] as f64]);
        (self.task)(self, node, point.at[0], bench)
    }
}

impl Model {
    /// The powers of two up to `stop`, or the given points, then `verify` points for verification.
    fn plan(&self, nodes: usize, points: Option<&[i64]>) -> ModelPlan {
        let loops: Vec<i64> = (0..63).map(|e| 1 << e).take_while(|i| *i <= self.stop).collect();
        let point = |verify, i: i64| {
            let value = (self.value)(i);
            let values = vec![value, value * (nodes as f64).log2()];
            Point { verify, at: vec![i], bound: vec![i as f64], values }
        };
        let fitted = points.unwrap_or(&loops).iter().map(|i| point(false, *i));
        let verifying = (0..self.verify).map(|k| point(true, 1 + i64::from(k) * 7 % self.stop));
        ModelPlan {
            name: self.name.to_owned(),
            variables: vec!["i".to_owned()],
            bound: vec!["x".to_owned()],
            columns: vec![Column::input("i"), Column::term("i*logP")],
            repeat: 3,
            points: fitted.chain(verifying).collect(),
            ..ModelPlan::default()
        }
    }
}

fn spec(sha256: &str) -> SpecId {
    SpecId { path: "specs/test.spec".to_owned(), sha256: sha256.to_owned() }
}

fn write(path: &Path, sha256: &str, nodes: usize, models: Vec<ModelPlan>) {
    let plan = Plan { spec: spec(sha256), runs: vec![Run { nodes, seed: 1, machine: Vec::new(), models }] };
    std::fs::write(path, plan.to_text()).unwrap();
}

struct Scratch {
    _folder: TempDir,
    output: PathBuf,
}

impl Scratch {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let output = folder.path().join("samples.txt");
        Self { _folder: folder, output }
    }
    fn partial(&self) -> PathBuf {
        self.output.with_extension("txt.partial")
    }
    fn plan(&self) -> PathBuf {
        self.output.with_file_name("plan.txt")
    }
    fn settings(&self) -> Settings {
        Settings { output: self.output.clone(), plan: self.plan(), ..Settings::default() }
    }
}

fn profile(nodes: usize, models: &[&Model], settings: Settings, sha256: &str) -> Result<Outcome, Error> {
    write(&settings.plan, sha256, nodes, models.iter().map(|model| model.plan(nodes, None)).collect());
    follow(nodes, models, settings, sha256)
}

/// As [`profile`], with the existing plan.
fn follow(nodes: usize, models: &[&Model], settings: Settings, sha256: &str) -> Result<Outcome, Error> {
    let models: Vec<&dyn Profiled> = models.iter().map(|model| *model as &dyn Profiled).collect();
    let job = Job::new("specs/test.spec", sha256, &models, settings, Interrupt::default());
    done(nodes, Job { clock: || showing(time), between: None, ..job })
}

/// A model by its plan, on nodes with this clock.
fn by(
    nodes: usize,
    model: &dyn Profiled,
    plan: ModelPlan,
    settings: Settings,
    clock: fn() -> Box<dyn Clock>,
) {
    write(&settings.plan, "ab", nodes, vec![plan]);
    let models = [model];
    let job = Job::new("specs/test.spec", "ab", &models, settings, Interrupt::default());
    done(nodes, Job { clock, between: None, ..job }).unwrap();
}

/// How a job ends, on all nodes alike.
fn done(nodes: usize, job: Job<'_>) -> Result<Outcome, Error> {
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
    let scratch = Scratch::new();
    let (a, b) = (model("A", 64), model("B", 8));
    assert_eq!(profile(3, &[&a, &b], scratch.settings(), "ab").unwrap(), Outcome::Done);
    let samples = read(&scratch.output);
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
    assert!(!scratch.partial().exists());
}

#[test]
fn a_short_budget_leaves_points_out_and_is_kept() {
    let scratch = Scratch::new();
    let a = Model { verify: 20, ..model("A", 1 << 12) };
    let settings = Settings { budget: Some(10.0), ..scratch.settings() };
    assert_eq!(profile(2, &[&a], settings, "ab").unwrap(), Outcome::Done);
    let rows = &read(&scratch.output).models[0].rows;
    assert!((3..33).contains(&rows.len()), "{}", rows.len());
    // Node 0's time is half the slowest node's.
    let spent: f64 = rows.iter().map(|row| row.seconds / 2.0 * f64::from(row.notes.repeats)).sum();
    assert!(spent <= 10.0 + 4.1, "{spent}");
}

#[test]
fn a_panic_names_model_point_and_node_and_keeps_the_samples() {
    let scratch = Scratch::new();
    let a = model("A", 64);
    let b = Model {
        task: |model, node, i, bench| {
            assert!(!(i == 8 && node.rank() == 1), "eight is too much");
            steady(model, node, i, bench)
        },
        ..model("B", 8)
    };
    let error = profile(3, &[&a, &b], scratch.settings(), "ab").unwrap_err().to_string();
    assert!(
        error.contains("node 1") && error.contains("model B at i=8") && error.contains("eight is too much"),
        "{error}"
    );
    let kept = read(&scratch.partial());
    assert!(kept.models.iter().map(|model| model.rows.len()).sum::<usize>() > 0);
    assert!(!scratch.output.exists());
}

#[test]
fn an_error_of_the_code_ends_the_job_too() {
    let scratch = Scratch::new();
    let a = Model { task: |_, _, _, _| Ok("x".parse::<i64>().map(drop)?), ..model("A", 8) };
    let error = profile(2, &[&a], scratch.settings(), "ab").unwrap_err().to_string();
    assert!(error.contains("model A at i=1: invalid digit"), "{error}");
    let a = Model { task: |_, _, _, _| Ok(()), ..model("A", 8) };
    let error = profile(2, &[&a], scratch.settings(), "ab").unwrap_err().to_string();
    assert!(error.contains("left before the timing ended"), "{error}");
}

#[test]
fn a_torn_journal_is_gone_on_with() {
    // The file ends within the last timing, or within its sample, which is then lost.
    for (torn, kept) in [(9, 12), (30, 11)] {
        let scratch = Scratch::new();
        let broken = Model {
            task: |model, node, i, bench| {
                if model.timings.load(Ordering::Relaxed) > 12 {
                    return Err("power cut".into());
                }
                steady(model, node, i, bench)
            },
            ..model("A", 64)
        };
        assert!(profile(1, &[&broken], scratch.settings(), "ab").is_err());
        let journal = std::fs::read_to_string(scratch.partial()).unwrap();
        let rows = &read(&scratch.partial()).models[0].rows;
        assert_eq!(rows.len(), 12);
        assert!(rows[1..].iter().all(|row| row.notes.timings[0].moment > 0.0));
        std::fs::write(scratch.partial(), &journal[..journal.len() - torn]).unwrap();
        let again = model("A", 64);
        let settings = Settings { resume: true, ..scratch.settings() };
        assert_eq!(profile(1, &[&again], settings, "ab").unwrap(), Outcome::Done);
        let samples = read(&scratch.output);
        assert_eq!(samples.models[0].rows.len(), 11);
        assert!(samples.models[0].rows.iter().all(|row| row.notes.repeats == 3));
        assert_eq!(again.timings.load(Ordering::Relaxed), 33 - kept);
        assert!(!scratch.partial().exists());
    }
}

#[test]
fn an_interrupted_run_is_ordered_and_gone_on_with() {
    let scratch = Scratch::new();
    let a = model("A", 64);
    let interrupt = Interrupt::default();
    interrupt.set();
    write(&scratch.plan(), "ab", 2, vec![a.plan(2, None)]);
    let models: [&dyn Profiled; 1] = [&a];
    let job = |resume, interrupt| Job {
        clock: || showing(time),
        between: None,
        ..Job::new("specs/test.spec", "ab", &models, Settings { resume, ..scratch.settings() }, interrupt)
    };
    assert_eq!(done(2, job(false, interrupt)).unwrap(), Outcome::Interrupted);
    assert!(read(&scratch.partial()).models[0].rows.is_empty());
    assert_eq!(done(2, job(true, Interrupt::default())).unwrap(), Outcome::Done);
    assert_eq!(read(&scratch.output).models[0].rows.len(), 11);
}

#[test]
fn medians_of_an_earlier_run_are_not_measured_again() {
    let scratch = Scratch::new();
    let a = model("A", 64);
    profile(1, &[&a], scratch.settings(), "ab").unwrap();
    std::fs::rename(&scratch.output, scratch.partial()).unwrap();
    let before = read(&scratch.partial());
    let again = model("A", 64);
    profile(1, &[&again], Settings { resume: true, ..scratch.settings() }, "ab").unwrap();
    assert_eq!(again.timings.load(Ordering::Relaxed), 0);
    assert_eq!(read(&scratch.output), before);
}

/// Lines of plans and samples begin with such words too.
#[test]
fn a_model_may_be_called_like_a_word_of_the_files() {
    for name in ["platform", "spec", "model", "fit", "run"] {
        let scratch = Scratch::new();
        let a = model(name, 64);
        assert_eq!(profile(2, &[&a, &model("B", 8)], scratch.settings(), "ab").unwrap(), Outcome::Done);
        let measured = read(&scratch.output);
        assert_eq!(measured.models[0].name, name);
        assert_eq!(fit_points(&measured.models[0]), [1, 2, 4, 8, 16, 32, 64]);
        // The run continues from the measured points.
        std::fs::rename(&scratch.output, scratch.partial()).unwrap();
        let again = model(name, 64);
        let settings = Settings { resume: true, ..scratch.settings() };
        assert_eq!(profile(2, &[&again, &model("B", 8)], settings, "ab").unwrap(), Outcome::Done);
        assert_eq!(again.timings.load(Ordering::Relaxed), 0, "{name}");
        assert_eq!(read(&scratch.output), measured);
    }
}

#[test]
fn a_plan_with_more_points_adds_to_what_was_measured() {
    for nodes in [1, 3] {
        let scratch = Scratch::new();
        let (a, b) = (model("A", 64), model("B", 8));
        let plan = |points| vec![a.plan(nodes, Some(points)), b.plan(nodes, None)];
        write(&scratch.plan(), "ab", nodes, plan(&[3, 50]));
        follow(nodes, &[&a, &b], scratch.settings(), "ab").unwrap();
        let first = read(&scratch.output);
        assert_eq!(fit_points(&first.models[0]), [3, 50]);
        assert_eq!(first.models[0].rows.len(), 2 + 4);
        std::fs::rename(&scratch.output, scratch.partial()).unwrap();
        write(&scratch.plan(), "ab", nodes, plan(&[3, 50, 7]));
        let (more, same) = (model("A", 64), model("B", 8));
        follow(nodes, &[&more, &same], Settings { resume: true, ..scratch.settings() }, "ab").unwrap();
        let second = read(&scratch.output);
        assert_eq!(fit_points(&second.models[0]), [3, 50, 7]);
        // The other points are timed now and then beside the new one, but do not repeat their three
        // timings.
        let timed = (more.timings.load(Ordering::Relaxed), same.timings.load(Ordering::Relaxed));
        assert!((3..3 * 7).contains(&timed.0) && timed.1 < 3 * 8, "{timed:?}");
        let times =
            |samples: &Samples| samples.models[1].rows.iter().map(|row| row.seconds).collect::<Vec<_>>();
        assert_eq!(times(&second), times(&first));
    }
}

#[test]
fn a_plan_of_something_else_is_refused() {
    let scratch = Scratch::new();
    let (a, b) = (model("A", 64), model("B", 8));
    let refused = || {
        assert_eq!(follow(2, &[&a], scratch.settings(), "ab").unwrap(), Outcome::Fault);
    };
    refused();
    for (spec, nodes, model) in [("cd", 2, &a), ("ab", 3, &a), ("ab", 2, &b)] {
        write(&scratch.plan(), spec, nodes, vec![model.plan(nodes, None)]);
        refused();
    }
    write(&scratch.plan(), "ab", 2, vec![a.plan(2, None)]);
    let text = std::fs::read_to_string(scratch.plan()).unwrap();
    let changed = [text.replace("A 4 4", "A 5 4"), text[..text.len() - 1].to_owned(), String::new()];
    for changed in changed {
        std::fs::write(scratch.plan(), changed).unwrap();
        refused();
    }
    std::fs::write(scratch.plan(), b"strata-plan 1\nA \xff\n").unwrap();
    refused();
    assert!(!scratch.output.exists());
}

#[test]
fn a_plan_for_another_machine_is_refused() {
    let a = model("A", 8);
    let here = strata_model::Platform::detect("threads", 2).cores as f64;
    for (word, number, outcome) in [
        ("cores", here, Outcome::Done),
        ("cores", here + 1.0, Outcome::Fault),
        ("cache2", 1025.0, Outcome::Fault),
    ] {
        let scratch = Scratch::new();
        let machine = vec![(word.to_owned(), number)];
        let run = Run { nodes: 2, seed: 1, machine, models: vec![a.plan(2, None)] };
        let plan = Plan { spec: spec("ab"), runs: vec![run] };
        std::fs::write(scratch.plan(), plan.to_text()).unwrap();
        assert_eq!(follow(2, &[&a], scratch.settings(), "ab").unwrap(), outcome, "{word}={number}");
        assert_eq!(scratch.output.exists(), outcome == Outcome::Done);
    }
}

#[test]
fn a_journal_of_another_spec_or_machine_is_refused() {
    let scratch = Scratch::new();
    let a = model("A", 64);
    profile(1, &[&a], scratch.settings(), "ab").unwrap();
    std::fs::rename(&scratch.output, scratch.partial()).unwrap();
    let resume = || Settings { resume: true, ..scratch.settings() };
    assert_eq!(profile(1, &[&a], resume(), "cd").unwrap(), Outcome::Fault);
    assert_eq!(profile(2, &[&a], resume(), "ab").unwrap(), Outcome::Fault);
    assert_eq!(profile(1, &[&a, &model("B", 8)], resume(), "ab").unwrap(), Outcome::Fault);
    std::fs::write(scratch.partial(), "strata-samples 1\nmodel A (i) i*logP\nA what 1 2\nA 1 2 3\n").unwrap();
    assert_eq!(profile(1, &[&a], resume(), "ab").unwrap(), Outcome::Fault);
    assert!(scratch.partial().exists());
}

#[test]
fn a_fresh_run_does_not_destroy_an_old_journal() {
    let scratch = Scratch::new();
    std::fs::write(scratch.partial(), "precious").unwrap();
    profile(1, &[&model("A", 8)], scratch.settings(), "ab").unwrap();
    let old = scratch.output.with_extension("txt.partial.old");
    assert_eq!(std::fs::read_to_string(old).unwrap(), "precious");
}

#[test]
fn what_is_no_number_is_written_as_it_is() {
    let scratch = Scratch::new();
    let a = Model { value: |i| if i == 4 { f64::NAN } else { 1.0 / (i - 2) as f64 }, ..model("A", 64) };
    let b = Model {
        task: |_, node, i, bench| {
            bench.timer.record(if i == 2 && node.rank() == 1 { f64::NAN } else { 0.5 });
            Ok(())
        },
        ..model("B", 8)
    };
    profile(2, &[&a, &b], scratch.settings(), "ab").unwrap();
    let samples = read(&scratch.output);
    assert_eq!(samples.models[0].rows[1].values[0], f64::INFINITY);
    assert!(samples.models[0].rows[2].values[0].is_nan());
    assert_eq!(samples.models[1].rows[0].seconds, 0.5);
    assert!(samples.models[1].rows[1].seconds.is_nan());
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let scratch = Scratch::new();
    let settings = Settings { output: scratch.output.join("in/no/folder.txt"), ..scratch.settings() };
    let error = profile(2, &[&model("A", 8)], settings, "ab").unwrap_err().to_string();
    assert!(error.contains("folder.txt.partial"), "{error}");
}

/// As generated code runs a task with a setup for each repetition. A setup takes a thousand times
/// as long as the task here, so they are not all made at once.
#[test]
fn repetitions_have_setups_of_their_own_made_in_parts() {
    #[derive(Default)]
    struct Fresh {
        seeds: std::sync::Mutex<Vec<BTreeSet<u64>>>,
        most_at_once: AtomicUsize,
        most: AtomicUsize,
    }
    impl Profiled for Fresh {
        fn name(&self) -> &'static str {
            "Fresh"
        }
        fn measure(&self, node: &mut Node, _: &Point, bench: &mut Bench) -> Result<(), Failure> {
            let mut made = Vec::new();
            let (mut executed, mut seeds) = (0, BTreeSet::new());
            while bench.timer.again(node) {
                while bench.timer.wants(made.len(), node) {
                    spend(1e-3);
                    made.push(bench.seeds.any());
                }
                bench.timer.start(node);
                spend(1e-6 * made.len() as f64);
                bench.timer.stop_after(made.len(), node);
                executed += made.len();
                self.most_at_once.fetch_max(made.len(), Ordering::Relaxed);
                seeds.extend(made.drain(..));
            }
            assert_eq!(executed, bench.timer.count() as usize);
            assert_eq!(seeds.len(), executed, "each has a seed of its own");
            self.seeds.lock().unwrap().push(seeds);
            self.most.fetch_max(executed, Ordering::Relaxed);
            Ok(())
        }
    }
    fn coarse() -> f64 {
        spend(1e-8);
        (TIME.get() * 1e7).floor() * 1e-7
    }
    let scratch = Scratch::new();
    let fresh = Fresh::default();
    let points = vec![Point::default(), Point::default()];
    let plan = ModelPlan { name: "Fresh".to_owned(), repeat: 3, points, ..Default::default() };
    by(1, &fresh, plan, Settings { most: Some(3), ..scratch.settings() }, || showing(coarse));
    // A hundred ticks of a tenth of a microsecond; two setups fit into two milliseconds.
    let (most, at_once) = (fresh.most.into_inner(), fresh.most_at_once.into_inner());
    assert!((10..=100).contains(&most) && at_once <= 3, "{most} {at_once}");
    let mut seeds = fresh.seeds.into_inner().unwrap();
    let all = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(all - seeds.len(), 2, "the second timing of each point has the data of the first");
    let samples = read(&scratch.output);
    assert!(samples.models[0].rows.iter().all(|row| (row.seconds / 1e-6 - 1.0).abs() < 0.2));
}

#[test]
fn short_tasks_are_repeated_unless_once() {
    struct Short {
        most: AtomicUsize,
    }
    impl Profiled for Short {
        fn name(&self) -> &'static str {
            "Short"
        }
        fn measure(&self, node: &mut Node, _: &Point, bench: &mut Bench) -> Result<(), Failure> {
            self.most.fetch_max(bench.timer.count() as usize, Ordering::Relaxed);
            bench.timer.start(node);
            spend(1e-7 * f64::from(bench.timer.count()));
            bench.timer.stop(node);
            Ok(())
        }
    }
    /// Steps of a microsecond; each reading takes a tenth of one.
    fn coarse() -> f64 {
        spend(1e-7);
        (TIME.get() * 1e6).floor() * 1e-6
    }
    for once in [false, true] {
        let scratch = Scratch::new();
        let short = Short { most: AtomicUsize::new(0) };
        let points = [false, false, true].map(|verify| Point { verify, ..Point::default() }).to_vec();
        let plan = ModelPlan { name: "Short".to_owned(), repeat: 3, once, points, ..Default::default() };
        by(2, &short, plan, scratch.settings(), || showing(coarse));
        let most = short.most.load(Ordering::Relaxed);
        assert!(if once { most == 1 } else { (900..2000).contains(&most) }, "{most}");
        let rows = read(&scratch.output).models.remove(0).rows;
        assert_eq!(rows.len(), 3);
        assert!(once || rows.iter().all(|row| (row.seconds / 1e-7 - 1.0).abs() < 0.05), "{rows:?}");
    }
}

/// The machine runs at half its speed from this moment on.
fn run_on_a_machine_that_slows_down(from: f64) -> Samples {
    thread_local! {
        static FROM: Cell<f64> = const { Cell::new(0.0) };
    }
    let scratch = Scratch::new();
    let a = Model {
        verify: 20,
        task: |_, node, i, bench| {
            bench.timer.start(node);
            let slow = if TIME.get() < FROM.get() { 1.0 } else { 2.0 };
            spend(1e-4 * slow * i as f64);
            bench.timer.stop(node);
            Ok(())
        },
        ..model("A", 512)
    };
    write(&scratch.plan(), "ab", 1, vec![a.plan(1, None)]);
    let models: [&dyn Profiled; 1] = [&a];
    let settings = Settings { budget: Some(8.0), ..scratch.settings() };
    let job = Job {
        clock: || showing(time),
        between: None,
        ..Job::new("specs/test.spec", "ab", &models, settings, Interrupt::default())
    };
    let machine = Machine::threads(1).unwrap();
    machine
        .run(|node| {
            FROM.set(TIME.get() + from);
            run(node, &job).map_err(Error::program)
        })
        .unwrap();
    read(&scratch.output)
}

#[test]
fn a_speed_that_halves_is_seen_and_taken_out() {
    for from in [1.0, 2.0] {
        let rows = run_on_a_machine_that_slows_down(from).models.remove(0).rows;
        assert_eq!(rows.len(), 10 + 20);
        let slow: usize =
            rows.iter().flat_map(|row| &row.notes.timings).filter(|timing| timing.moment > from).count();
        assert!(slow > 20, "{slow} timings were slow");
        // All times are those of the fast machine; if it is fast for less than a quarter of the
        // run, those of the slow one.
        let speed = if from < 2.0 { 2.0 } else { 1.0 };
        for row in rows {
            let i = row.notes.at[0] as f64;
            assert!((row.seconds / (1e-4 * i * speed) - 1.0).abs() < 0.01, "{from}: {row:?}");
            assert!(row.notes.timings.len() == row.notes.repeats as usize);
            assert!(row.notes.timings.windows(2).all(|pair| pair[0].moment < pair[1].moment));
        }
    }
}

/// A search ends at what it looks for: its samples are means. Those of a task that reads all that is
/// drawn are not, and an earlier run's finding holds for its continuation.
#[test]
fn a_task_whose_time_depends_on_its_data_is_represented_by_the_mean() {
    let search = Model {
        task: |_, node, i, bench| {
            let place = bench.random.within(0, 2000) as f64 / 1000.0;
            bench.timer.start(node);
            spend(1e-4 * place * i as f64);
            bench.timer.stop(node);
            Ok(())
        },
        ..model("Search", 512)
    };
    let sum = Model {
        task: |_, node, i, bench| {
            bench.random.within(0, 2000);
            bench.timer.start(node);
            spend(1e-4 * i as f64);
            bench.timer.stop(node);
            Ok(())
        },
        ..model("Sum", 512)
    };
    for nodes in [1, 2] {
        let scratch = Scratch::new();
        let most = |most| Settings { most: Some(most), ..scratch.settings() };
        profile(nodes, &[&search, &sum], most(24), "ab").unwrap();
        let samples = read(&scratch.output);
        let [searches, sums] = [0, 1].map(|model| &samples.models[model].rows);
        let ratio = |row: &Sample| row.seconds / (1e-4 * row.notes.at[0] as f64);
        let mean = searches.iter().map(ratio).sum::<f64>() / searches.len() as f64;
        // The slowest of two nodes looks at two thirds of its data.
        let expected = [1.0, 4.0 / 3.0][nodes - 1];
        assert!((mean / expected - 1.0).abs() < 0.15, "{nodes}: {mean}");
        assert!(searches.iter().all(|row| (12..24).contains(&row.notes.draws)), "{searches:?}");
        assert!(sums.iter().all(|row| row.notes.draws == 0 && (ratio(row) - 1.0).abs() < 1e-9), "{sums:?}");
        std::fs::rename(&scratch.output, scratch.partial()).unwrap();
        profile(nodes, &[&search, &sum], Settings { resume: true, ..most(1) }, "ab").unwrap();
        assert!(read(&scratch.output).models[0].rows.iter().all(|row| row.notes.draws > 0));
    }
}

/// A short task that shares its node's core with threads of its own is not set aside.
#[test]
fn a_task_of_several_threads_is_not_preempted_by_them() {
    thread_local! {
        static USED: Cell<(i64, f64)> = const { Cell::new((0, 0.0)) };
    }
    fn usage() -> Option<Usage> {
        let (preempted, others) = USED.get();
        Some(Usage { preempted, others, ..Usage::default() })
    }
    for (others, set_aside) in [(0.0, true), (1e-3, false)] {
        let measured = Machine::threads(1).unwrap().run(|node| {
            let mut timer = Timer::new(telling(usage));
            timer.prepare(1);
            timer.start(node);
            spend(1e-3);
            USED.set((USED.get().0 + 1, USED.get().1 + others));
            timer.stop(node);
            let timing = timer.take().unwrap();
            Ok((timing.preempted, timing.seconds))
        });
        assert_eq!(measured.unwrap(), [(set_aside, 1e-3)]);
    }
}

#[test]
fn preempted_timings_are_set_aside_and_kept_in_the_journal() {
    thread_local! {
        static SWITCHES: Cell<i64> = const { Cell::new(0) };
    }
    let scratch = Scratch::new();
    let a = Model {
        task: |model, node, i, bench| {
            bench.timer.start(node);
            spend(1e-3 * i as f64);
            if model.timings.load(Ordering::Relaxed).is_multiple_of(3) {
                SWITCHES.set(SWITCHES.get() + 1);
                spend(2e-2);
            }
            bench.timer.stop(node);
            Ok(())
        },
        ..model("A", 64)
    };
    let settings = Settings { budget: Some(2.0), ..scratch.settings() };
    by(1, &a, a.plan(1, None), settings, || {
        telling(|| Some(Usage { preempted: SWITCHES.get(), ..Usage::default() }))
    });
    let rows = read(&scratch.output).models.remove(0).rows;
    assert!(rows.iter().any(|row| row.notes.preempted > 0));
    for row in rows {
        assert!((row.seconds / (1e-3 * row.notes.at[0] as f64) - 1.0).abs() < 1e-4, "{row:?}");
    }
}

/// Another program takes every second time slice; a task that waits by itself is timed unchanged.
#[test]
fn long_tasks_of_one_node_take_the_processors_time() {
    thread_local! {
        static SHARE: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
        static OTHERS: Cell<f64> = const { Cell::new(0.0) };
    }
    fn usage() -> Option<Usage> {
        let (preempted, waited) = SHARE.get();
        Some(Usage { preempted, waited, processor: TIME.get() / 2.0, others: OTHERS.get() })
    }
    // If it has threads of its own, they use the time for which it waits for a core.
    for (nodes, waits, others, seconds) in
        [(1, 0, 0.0, 1.0), (1, 1, 0.0, 2.0), (2, 0, 0.0, 2.0), (1, 0, 0.1, 1.0), (1, 0, 1.0, 2.0)]
    {
        let machine = Machine::threads(nodes).unwrap();
        let measured = machine.run(|node| {
            let mut timer = Timer::new(telling(usage));
            timer.prepare(1);
            timer.start(node);
            spend(2.0);
            SHARE.set((SHARE.get().0 + 20, SHARE.get().1 + waits));
            OTHERS.set(OTHERS.get() + others);
            timer.stop(node);
            let timing = timer.take().unwrap();
            assert!(!timing.preempted);
            Ok(timing.seconds)
        });
        for measured in measured.unwrap() {
            assert!((measured - seconds).abs() < 1e-9, "{nodes} {waits} {others}: {measured}");
        }
    }
}

/// A clock that other work advances: each reading takes ten microseconds.
fn ticking() -> f64 {
    spend(1e-5);
    TIME.get()
}

/// A task that takes 4 ms after other work, 2 ms right after a call, and 1 ms right after a call on
/// the same data.
struct Pool {
    calls: AtomicUsize,
}

thread_local! {
    /// When the pool was last used, and the seed of its data.
    static LAST: Cell<(f64, u64)> = const { Cell::new((0.0, 0)) };
}

impl Profiled for Pool {
    fn name(&self) -> &'static str {
        "Pool"
    }
    fn measure(&self, node: &mut Node, _: &Point, bench: &mut Bench) -> Result<(), Failure> {
        if node.rank() == 0 {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
        let seed = bench.seeds.any();
        bench.timer.start(node);
        let (then, data) = LAST.get();
        spend(if TIME.get() - then > 2e-4 {
            4e-3
        } else if seed == data {
            1e-3
        } else {
            2e-3
        });
        LAST.set((TIME.get(), seed));
        bench.timer.stop(node);
        Ok(())
    }
}

/// The samples of [`Pool`] at some points, and how often it was called.
fn pool(nodes: usize, hot: bool, settings: Settings) -> (ModelSamples, usize) {
    let pool = Pool { calls: AtomicUsize::new(0) };
    let models: [&dyn Profiled; 1] = [&pool];
    let points = (0..8).map(|i| Point { at: vec![i], values: vec![i as f64], ..Point::default() });
    let plan = ModelPlan {
        name: "Pool".to_owned(),
        variables: vec!["i".to_owned()],
        columns: vec![Column::input("i")],
        repeat: 3,
        hot,
        points: points.collect(),
        ..ModelPlan::default()
    };
    write(&settings.plan, "ab", nodes, vec![plan]);
    let output = settings.output.clone();
    let job = Job::new("specs/test.spec", "ab", &models, settings, Interrupt::default());
    done(nodes, Job { clock: || showing(ticking), between: Some(3e-4), ..job }).unwrap();
    (read(&output).models.remove(0), pool.calls.into_inner())
}

#[test]
fn a_timing_follows_other_work_and_is_compared_with_calls_made_otherwise() {
    for nodes in [1, 2, 3] {
        let scratch = Scratch::new();
        let settings = Settings { most: Some(8), ..scratch.settings() };
        let (model, calls) = pool(nodes, false, settings);
        assert_eq!(model.rows.len(), 8);
        for row in &model.rows {
            assert!((row.seconds / 4e-3 - 1.0).abs() < 0.05, "{nodes}: {row:?}");
        }
        let (hot, replayed) = (model.hot().unwrap(), model.replayed().unwrap());
        assert!((hot.ratio - 2.0).abs() < 0.1 && (replayed.ratio - 2.0).abs() < 0.1, "{hot:?} {replayed:?}");
        assert_eq!((hot.points, hot.of, replayed.of), (6, 6, 6));
        // At most 8 timings a point, at 6 points each with two hot calls and two replayed ones.
        assert!(calls <= 8 * 8 + 6 * 8 * 4, "{calls}");
        // A resumed run keeps the comparisons of the first run.
        std::fs::rename(&scratch.output, scratch.partial()).unwrap();
        let settings = Settings { resume: true, part: true, ..scratch.settings() };
        assert_eq!(pool(nodes, false, settings).0.hot(), Some(hot));
    }
}

#[test]
fn a_hot_task_follows_a_call_of_itself() {
    for nodes in [1, 2, 3] {
        let scratch = Scratch::new();
        let (model, _) = pool(nodes, true, Settings { most: Some(8), ..scratch.settings() });
        assert!(model.rows.iter().all(|row| (row.seconds / 2e-3 - 1.0).abs() < 0.05), "{:?}", model.rows);
        assert_eq!(model.hot(), None);
        assert!((model.replayed().unwrap().ratio - 2.0).abs() < 0.1);
    }
}

#[test]
fn other_work_counts_as_time_of_the_budget() {
    let scratch = Scratch::new();
    // Steady timings end early; this budget is too short for seven timings of each point.
    let settings = Settings { budget: Some(0.2), part: true, ..scratch.settings() };
    let (model, calls) = pool(1, false, settings);
    let moments = model.rows.iter().flat_map(|row| row.notes.timings.iter().map(|timing| timing.moment));
    let mut moments: Vec<f64> = moments.collect();
    moments.sort_by(f64::total_cmp);
    assert_eq!(moments.len(), calls, "a part compares nothing");
    assert!(moments.windows(2).all(|pair| pair[1] - pair[0] > 4.25e-3), "{moments:?}");
    // Calibrating a clock that ticks at each reading has used some of the budget.
    let most = ((0.2 - moments[0]) / (4e-3 + 3e-4)) as usize;
    assert!(calls <= most + 1 && calls > most * 3 / 4, "{calls} of {most}");
}

/// Nodes of real time, of which only the end is checked.
#[test]
fn calls_between_other_work_are_measured_on_threads() {
    for nodes in [1, 2, 3] {
        let scratch = Scratch::new();
        let a = Model {
            task: |_, node, i, bench| {
                let seed = bench.seeds.any();
                bench.timer.start(node);
                for _ in 0..bench.timer.count() {
                    std::hint::black_box((0..i as u64).fold(seed, |sum, k| sum.rotate_left(3) ^ k));
                }
                node.barrier();
                bench.timer.stop(node);
                Ok(())
            },
            ..model("A", 64)
        };
        let settings = Settings { budget: Some(2.0), most: Some(8), ..scratch.settings() };
        write(&settings.plan, "ab", nodes, vec![a.plan(nodes, None)]);
        let models: [&dyn Profiled; 1] = [&a];
        let job = Job::new("specs/test.spec", "ab", &models, settings, Interrupt::default());
        assert_eq!(done(nodes, job).unwrap(), Outcome::Done);
        let rows = read(&scratch.output).models.remove(0).rows;
        assert!(!rows.is_empty() && rows.iter().all(|row| row.seconds >= 0.0));
    }
}

#[test]
fn an_interrupt_during_other_work_ends_the_run_after_its_timing() {
    static INTERRUPT: std::sync::OnceLock<Interrupt> = std::sync::OnceLock::new();
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    /// Interrupts at the first reading after the third call, which is one of other work.
    fn interrupting() -> f64 {
        spend(1e-5);
        if CALLS.load(Ordering::Relaxed) == 3 {
            INTERRUPT.get().unwrap().set();
        }
        TIME.get()
    }
    let a = Model {
        task: |model, node, i, bench| {
            steady(model, node, i, bench)?;
            CALLS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        },
        ..model("A", 64)
    };
    let scratch = Scratch::new();
    let interrupt = INTERRUPT.get_or_init(Interrupt::default).clone();
    write(&scratch.plan(), "ab", 1, vec![a.plan(1, None)]);
    let models: [&dyn Profiled; 1] = [&a];
    let job = Job::new("specs/test.spec", "ab", &models, scratch.settings(), interrupt);
    let outcome = done(1, Job { clock: || showing(interrupting), between: Some(1e-3), ..job });
    assert_eq!((outcome.unwrap(), CALLS.load(Ordering::Relaxed)), (Outcome::Interrupted, 3));
}
