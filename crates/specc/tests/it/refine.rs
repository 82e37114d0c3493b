//! Adaptive sampling against all points of the loops, on machines whose true costs are known: as
//! good a choice from at most half the samples.

use std::path::Path;

use specc::competition::Competition;
use specc::fitting::{self, Overrides};
use specc::lang::{CheckedSpec, load, load_paths};
use specc::points::{Space, evenly, spaces};
use specc::refine::{Goals, Machine, Round, pilot, refine};
use strata_fit::Search;
use strata_model::samples::{Column, ModelSamples, Notes, Sample};
use strata_model::{ModelSet, Platform, Points, Samples};

/// The true time of a model at its inputs; `None` where it has none.
type Truth<'a> = &'a dyn Fn(&str, &[f64]) -> Option<f64>;

/// A machine that is made up.
struct Made<'a> {
    spec: &'a CheckedSpec,
    spaces: Vec<Space<'a>>,
    truth: Truth<'a>,
    /// The deviation of a sample's time, as a share of it.
    noise: f64,
    seed: u64,
    /// The caches that its system tells of.
    caches: &'static str,
    /// It measures so many points and no more.
    most: usize,
    rounds: Vec<Round>,
    last: Samples,
}

const NODES: usize = 2;

/// Of the machine whose samples are the truth of the sort.
const CACHES: &str = "L1d:32K L1i:32K L2:512K L3:32M";

/// A number that looks random and follows from what it is given (SplitMix64).
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn uniform(seed: u64) -> f64 {
    (mix(seed) >> 11) as f64 / (1_u64 << 53) as f64
}

fn normal(seed: u64) -> f64 {
    let (a, b) = (uniform(seed).max(1e-300), uniform(seed ^ 0xABCD_EF01));
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

impl<'a> Made<'a> {
    fn new(spec: &'a CheckedSpec, truth: Truth<'a>, noise: f64, seed: u64) -> Self {
        let spaces = spaces(spec, NODES).unwrap();
        Self {
            spec,
            spaces,
            truth,
            noise,
            seed,
            caches: CACHES,
            most: usize::MAX,
            rounds: Vec::new(),
            last: Samples::default(),
        }
    }

    /// The same point has the same time whoever asks.
    fn row(&self, space: &Space<'_>, number: usize, at: &[i64], verify: bool) -> Option<Sample> {
        let inputs = space.inputs(at)?;
        let place =
            at.iter().fold(mix(self.seed) ^ mix(number as u64 + 77), |state, v| mix(state ^ *v as u64));
        let seconds =
            (self.truth)(space.name(), &inputs)? * (self.noise * normal(place ^ u64::from(verify))).exp();
        let notes = Notes { at: at.to_vec(), repeats: 7, ..Notes::default() };
        Some(Sample { verify, seconds, values: inputs, notes, line: 0 })
    }

    fn samples(&self, points: &Points) -> Samples {
        let platform = Platform {
            transport: "threads".into(),
            hosts: None,
            nodes: NODES,
            cpu: "made up".into(),
            cores: NODES,
            cache: self.caches.into(),
            os: "none".into(),
            arch: "none".into(),
        };
        let models = (self.spaces.iter().enumerate())
            .map(|(number, space)| {
                let inputs = &self.spec.model(space.name()).unwrap().inputs;
                let given = points.of(space.name()).unwrap_or_default();
                let mut rows: Vec<Sample> =
                    given.iter().filter_map(|at| self.row(space, number, at, false)).collect();
                let drawn = space.fill(400);
                let start = (mix(self.seed ^ 5) % 200) as usize;
                let drawn = drawn.iter().skip(start).filter_map(|at| self.row(space, number, at, true));
                rows.extend(drawn.take(20));
                ModelSamples {
                    unit: strata_model::Unit::SECONDS,
                    name: space.name().into(),
                    columns: inputs.iter().map(|i| Column::input(&i.name)).collect(),
                    fit: String::new(),
                    rows,
                }
            })
            .collect();
        Samples { platform: Some(platform), models, ..Samples::default() }
    }

    fn loops(&self) -> Points {
        let mut points = Points::default();
        for space in &self.spaces {
            space.loops().iter().for_each(|at| {
                points.add(space.name(), at);
            });
        }
        points
    }

    /// What is lost by choosing by the models that the samples give, as a share of the least time,
    /// on average over inputs that cover the ranges.
    fn judge(&self, samples: &Samples, how: &Overrides, library: &str) -> f64 {
        let set = fitting::fit(samples, String::new(), Some(self.spec), how).set;
        let competition = Competition::new(&set, library).unwrap();
        let candidates = &self.spec.library(library).unwrap().candidates;
        let (mut lost, mut count) = (0.0, 0);
        for k in 0..400 {
            let input = |i: usize| {
                let (low, high) = competition.range(i);
                let share = evenly(k + 1000, i, competition.inputs().len());
                (low * (high / low).powf(share)).round()
            };
            let inputs: Vec<f64> = (0..competition.inputs().len()).map(input).collect();
            let time = |candidate: usize, parameters: &[i64]| {
                let of = &candidates[candidate];
                let names = competition.inputs().iter().map(String::as_str);
                let names: Vec<&str> = names.chain(of.parameters.iter().map(|p| p.name.as_str())).collect();
                let values: Vec<f64> =
                    inputs.iter().copied().chain(parameters.iter().map(|p| *p as f64)).collect();
                let argument =
                    |e: &strata_model::Expr| strata_model::Program::compile(e, &names).unwrap().eval(&values);
                let arguments: Vec<f64> = of.arguments.iter().map(argument).collect();
                (self.truth)(&self.spec.models[of.model].name, &arguments)
            };
            let mut least = f64::INFINITY;
            for (candidate, of) in candidates.iter().enumerate() {
                let settings: Vec<Vec<i64>> = match of.parameters.as_slice() {
                    [] => vec![vec![]],
                    [p] => (p.min..=p.max).map(|v| vec![v]).collect(),
                    _ => unreachable!(),
                };
                let times = settings.iter().filter_map(|parameters| time(candidate, parameters));
                least = times.fold(least, f64::min);
            }
            let choice = competition.choose(&inputs, None).unwrap();
            // Where no model predicts, or the truth has no time, nothing is learnt of either.
            if choice.predicted.is_some()
                && let Some(taken) = time(choice.index, &choice.parameters)
            {
                lost += taken / least - 1.0;
                count += 1;
            }
        }
        assert!(count > 300, "{count}");
        lost / f64::from(count)
    }
}

impl Machine for Made<'_> {
    type Error = String;

    fn measure(&mut self, points: &Points, new: usize) -> Result<Option<Samples>, String> {
        assert!(new <= points.len());
        if points.len() > self.most {
            return Ok(None);
        }
        self.last = self.samples(points);
        Ok(Some(self.last.clone()))
    }

    fn fit(&mut self, samples: &Samples, everything: bool) -> ModelSet {
        let how = if everything { Overrides::everything() } else { Overrides::of_few() };
        fitting::fit(samples, String::new(), Some(self.spec), &how).set
    }

    fn tell(&mut self, round: &Round) {
        self.rounds.push(round.clone());
    }
}

/// What `specc calibrate --refine` goes for unless told otherwise.
const GOALS: Goals = Goals { loss: 0.0005, precision: 0.05 };

/// Mean over machines of some seeds.
#[derive(Debug, Default)]
struct Means {
    /// Points of the refinement over those of the loops.
    used: f64,
    /// What is lost by choosing with the refined models.
    refined: f64,
    /// With those of all points of the loops.
    loops: f64,
    /// With those of as many points of the loops, spread evenly, as the refinement has used.
    spread: f64,
}

/// Refines until `goals` are reached or half the points of the loops are used.
fn contest(
    spec: &CheckedSpec,
    library: &str,
    caches: &'static str,
    truth: Truth<'_>,
    noise: f64,
    goals: Goals,
) -> Means {
    const SEEDS: u64 = 3;
    let mut means = Means::default();
    for seed in 1..=SEEDS {
        let mut machine = Made { caches, ..Made::new(spec, truth, noise, seed) };
        let loops = machine.loops();
        machine.most = loops.len() / 2;
        let start = pilot(&machine.spaces);
        refine(spec, &spaces(spec, NODES).unwrap(), start, goals, &mut machine).unwrap();
        let used = machine.rounds.last().unwrap().samples;
        assert!(used <= loops.len() / 2);
        let mut spread = Points::default();
        let all: Vec<(&str, &Vec<i64>)> =
            loops.models().iter().flat_map(|m| m.points.iter().map(|at| (m.model.as_str(), at))).collect();
        for k in 0..used {
            let (model, at) = all[k * all.len() / used];
            spread.add(model, at);
        }
        let n = SEEDS as f64;
        means.used += used as f64 / loops.len() as f64 / n;
        means.refined += machine.judge(&machine.last, &Overrides::of_few(), library) / n;
        means.loops += machine.judge(&machine.samples(&loops), &Overrides::default(), library) / n;
        means.spread += machine.judge(&machine.samples(&spread), &Overrides::default(), library) / n;
    }
    println!(
        "{library}, noise {:.0} %, goal {:.0e}: {:.0} % of the points; lost {:.4} %, all loops {:.4} %, as many of them {:.4} %",
        100.0 * noise,
        goals.loss,
        100.0 * means.used,
        100.0 * means.refined,
        100.0 * means.loops,
        100.0 * means.spread
    );
    means
}

/// What sorts chosen from half the points lose at most where samples have 8 % noise.
const NOISY: f64 = 2e-3;

/// With half the points: as good as the loops, but for a hundredth of a percent of the time. Knees
/// need more points, as their places are less sure than the covariances know (known limits in
/// README): a spec that has some is chosen as well as its goal asks, or as from as many points of
/// the loops.
fn half_is_as_good(spec: &CheckedSpec, library: &str, truth: Truth<'_>, noise: f64) {
    let means = contest(spec, library, CACHES, truth, noise, Goals { loss: f64::MIN_POSITIVE, ..GOALS });
    // At 8 % noise the goal is not reached, and from points spread over the loops sorts are chosen
    // better (README's known limits): no more is lost than is told there.
    let goal = if noise > 0.05 { NOISY } else { GOALS.loss };
    let knees = if library == "sort" { means.spread.max(goal) } else { 0.0 };
    assert!(means.refined <= knees.max(1.25 * means.loops + 1e-4), "{means:?}");
}

/// With as few points as the goal asks for: no more lost than the loops lose and twice the goal;
/// with knees as above.
fn goals_are_kept(spec: &CheckedSpec, library: &str, caches: &'static str, truth: Truth<'_>, noise: f64) {
    let means = contest(spec, library, caches, truth, noise, GOALS);
    // At 8 % noise the goal is not reached, and from points spread over the loops sorts are chosen
    // better (README's known limits): no more is lost than is told there.
    let goal = if noise > 0.05 { NOISY } else { GOALS.loss };
    let knees = if library == "sort" { means.spread.max(goal) } else { 0.0 };
    assert!(means.refined <= knees.max(means.loops + 2.0 * GOALS.loss), "{means:?}");
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Calls `test` with the sort's spec and its true times: what the named terms make of the committed
/// samples.
fn with_the_sort(test: &dyn Fn(&CheckedSpec, Truth<'_>)) {
    let spec = load_paths(&[root().join("specs/sort")]).unwrap();
    let path = root().join("models/xeon-2core-threads/sort/samples.txt");
    let samples = Samples::parse(&std::fs::read_to_string(path).unwrap(), "samples.txt").unwrap();
    let named = Overrides { search: Some(Search::Never), ..Overrides::default() };
    let set = fitting::fit(&samples, String::new(), Some(&spec), &named).set;
    let truth = set.resolve().unwrap();
    test(&spec, &|model, inputs| truth.seconds(model, NODES, inputs));
}

#[test]
fn the_sort_is_chosen_as_well_from_half_the_samples() {
    with_the_sort(&|spec, time| {
        for noise in [0.02, 0.08] {
            half_is_as_good(spec, "sort", time, noise);
        }
        // Ripples that no term describes: what the goal foretells does not know of them, and half the
        // points do as well all the same.
        let ripples = |model: &str, inputs: &[f64]| {
            let ripple: f64 = inputs.iter().map(|x| (3.0 * x.ln()).sin()).sum();
            Some(time(model, inputs)? * (1.0 + 0.05 * ripple))
        };
        half_is_as_good(spec, "sort", &ripples, 0.03);
    });
}

#[test]
fn the_sort_is_chosen_as_well_as_its_goal_asks() {
    with_the_sort(&|spec, time| {
        // At 8 % noise the goal is not reached: that is the contest for half of the points.
        goals_are_kept(spec, "sort", CACHES, time, 0.02);
        // Where the system tells no caches, the terms that read them are left out.
        goals_are_kept(spec, "sort", "", time, 0.02);
    });
}

#[test]
fn the_stencil_is_chosen_as_well_from_half_the_samples() {
    let spec = load_paths(&[root().join("crates/specc/tests/refine/stencil.spec")]).unwrap();
    let time = |model: &str, x: &[f64]| {
        let (rows, columns) = (x[0], x[1]);
        let cells = rows * columns;
        let far = (cells - 131_072.0).max(0.0);
        Some(match model {
            "Interleaved" => 2e-7 + 4e-9 * rows + 1.1e-9 * cells + 0.9e-9 * far,
            "Split" => 3e-6 + 9e-9 * rows + 4e-9 * columns + 0.75e-9 * cells + 0.5e-9 * far,
            _ => {
                1e-6 + 5e-9 * rows
                    + 1.2e-8 * rows * (columns / x[2]).ceil()
                    + 0.8e-9 * cells
                    + 1.2e-12 * cells * x[2]
            }
        })
    };
    for noise in [0.02, 0.08] {
        half_is_as_good(&spec, "sor", &time, noise);
        goals_are_kept(&spec, "sor", CACHES, &time, noise);
    }
}

/// Where the number of nodes leaves one candidate nothing is chosen, and its model is refined for
/// what it predicts.
#[test]
fn a_candidate_that_is_left_alone_is_refined_for_its_model() {
    let text = "
        model Few(n) { for n in 1..=1000 step *2 task { () } }
        model Many(n) { for n in 1..=1000 step *2 task { () } }
        library work(n) {
            candidate few = Few(n)
            candidate many = Many(n) require P >= 8
        }";
    let spec = load("work.spec", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let mut machine = Made::new(&spec, &|_, inputs| Some(1e-6 + 1e-9 * inputs[0]), 0.02, 1);
    let start = pilot(&machine.spaces);
    refine(&spec, &spaces(&spec, NODES).unwrap(), start, GOALS, &mut machine).unwrap();
    let last = machine.rounds.last().unwrap();
    let targets: Vec<String> = last.targets.iter().map(|(target, ..)| format!("{target:?}")).collect();
    assert_eq!(targets, ["Model(\"Few\")"]);
}

/// Standard output and standard error of what must succeed.
fn specc(arguments: &[&str]) -> (String, String) {
    let (status, out, err) = crate::specc(root(), "1000", arguments);
    assert_eq!(status, Some(0), "specc {arguments:?}\n{out}\n{err}");
    (out, err)
}

#[test]
fn a_program_is_refined_and_gone_on_with() {
    let spec = root().join("crates/specc/tests/run/refine.spec");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refine");
    let _absent = std::fs::remove_dir_all(&folder);
    let (spec, out) = (spec.to_str().unwrap(), folder.to_str().unwrap());
    let read = || Samples::parse(&std::fs::read_to_string(folder.join("samples.txt")).unwrap(), "s").unwrap();
    let fitted = |samples: &Samples| {
        let rows = samples.models.iter().flat_map(|m| m.rows.iter().map(|row| (m.name.clone(), row.clone())));
        rows.filter(|(_, row)| !row.verify).map(|(name, row)| (name, row.notes.at)).collect::<Vec<_>>()
    };
    let common = ["calibrate", spec, "--on", "threads", "--nodes", "2", "--budget", "6s", "-o", out];
    let (_, err) = specc(&[&common[..], &["--refine"]].concat());
    assert!(
        err.contains("round 1: ") && err.contains("every goal is reached; the loops have 225 points"),
        "{err}"
    );
    let first = read();
    let count = fitted(&first).len();
    assert!((10..113).contains(&count), "{count}\n{err}");
    assert_eq!(first.models[1].fit, "weights measured, eliminate aicc, search never");
    // What was interrupted, in the middle of a run or between two, goes on from what there is.
    for name in ["samples.txt.partial", "samples.txt"] {
        std::fs::rename(folder.join("samples.txt"), folder.join(name)).unwrap();
        let (_, err) = specc(&[&common[..], &["--refine", "--resume"]].concat());
        assert!(err.contains("every goal is reached") && !err.contains("round 2"), "{err}");
        // On a busy machine it may ask for more.
        let again = fitted(&read());
        assert!(fitted(&first).iter().all(|one| again.contains(one)), "{again:?}");
    }
    let first = fitted(&read());
    // Advice is for what is not there yet, and is measured besides it.
    let models = folder.join("models.toml");
    let samples = folder.join("samples.txt");
    let plan = folder.join("plan.txt");
    let (models, samples, plan) =
        (models.to_str().unwrap(), samples.to_str().unwrap(), plan.to_str().unwrap());
    let advise = ["advise", models, "--spec", spec, "--samples", samples, "--count", "4", "-o", plan];
    let (table, _) = specc(&advise);
    assert!(table.contains("choosing in `job` is expected to lose"), "{table}");
    let points = Points::parse(&std::fs::read_to_string(plan).unwrap(), "plan").unwrap();
    assert_eq!(points.len(), 4);
    specc(&[&common[..], &["--points", plan, "--resume"]].concat());
    let more = fitted(&read());
    assert_eq!(more.len(), first.len() + 4);
    for model in points.models() {
        for at in &model.points {
            let there = (model.model.clone(), at.clone());
            assert!(more.contains(&there) && !first.contains(&there), "{there:?}");
        }
    }
    // A point that cannot be is refused before anything changes.
    let before = std::fs::read_to_string(samples).unwrap();
    std::fs::write(plan, points.to_text() + "Steps 99 99\n").unwrap();
    let given = [&common[..], &["--points", plan, "--resume"]].concat();
    let (status, _, err) = crate::specc(root(), "1000", &given);
    assert!(status != Some(0) && err.contains("99"), "{err}");
    assert_eq!(std::fs::read_to_string(samples).unwrap(), before);
    // Another spec is refused, and the samples stay what they are.
    let other = folder.join("other.spec");
    std::fs::write(&other, std::fs::read_to_string(spec).unwrap().replace("0..=24", "1..=24")).unwrap();
    let wrong =
        ["calibrate", other.to_str().unwrap(), "--on", "threads", "--nodes", "2", "-o", out, "--resume"];
    let (status, _, err) = crate::specc(root(), "1000", &wrong);
    assert!(status != Some(0) && err.contains("cannot go on"), "{err}");
    assert_eq!(std::fs::read_to_string(samples).unwrap(), before);
    // The points of the loops are measured besides those that were given.
    let (_, err) = specc(&[&common[..], &["--resume"]].concat());
    assert!(!err.contains("belong to no point"), "{err}");
    let all = fitted(&read());
    assert!(more.iter().all(|one| all.contains(one)), "{err}");
}
