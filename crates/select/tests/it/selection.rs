//! Selection: the winner and the reasons, pins, and the explanations as people read them.

use proptest::prelude::*;
use strata_select::{
    Choice, ChooseError, Explained, Input, Library, Pin, Question, Row, Source, Table,
    choice::{Chooser, Outcome, Rows as _},
    choose_among, library,
    models::Models,
    table::{
        About, Domain, Ends, Entry, Incumbent, Info, Model, Parameter, Parameters, Prediction, Root, Verdict,
    },
};

/// A candidate made of plain functions of one number.
#[derive(Clone)]
struct Plain {
    name: &'static str,
    applies: fn(&i64) -> bool,
    parameters: &'static [Parameter],
    seconds: fn(&i64, &[i64]) -> Option<f64>,
    verdict: Verdict,
}

/// Candidates for so many keys.
struct Plains<'a>(&'a [Plain], i64);

impl Source for Plains<'_> {
    fn seconds(&self, candidate: usize, _: usize, _: &[f64], parameters: &[i64]) -> Option<f64> {
        (self.0[candidate].seconds)(&self.1, parameters)
    }
    fn predict(&self, candidate: usize, _: usize, _: &[f64], parameters: &[i64]) -> Option<Prediction> {
        let seconds = (self.0[candidate].seconds)(&self.1, parameters)?;
        Prediction::new(seconds, seconds / 10.0)
    }
    fn about(&self, candidate: usize) -> About {
        About { verdict: self.0[candidate].verdict, ..About::default() }
    }
}

const fn fixed(name: &'static str, seconds: fn(&i64, &[i64]) -> Option<f64>) -> Plain {
    Plain { name, applies: |_| true, parameters: &[], seconds, verdict: Verdict::Verified }
}

const BITS: &[Parameter] = &[Parameter::new("bits", 1, 16)];

/// Fig 5-4 for 28-bit keys: over the digit width there are several minima.
const RADIX: Plain = Plain {
    name: "radix",
    applies: |_| true,
    parameters: BITS,
    seconds: |keys, p| {
        let bits = p[0] as f64;
        Some((11.41 * bits.exp2() + 9.92 * (28.0 / bits).ceil() * *keys as f64) * 1e-6)
    },
    verdict: Verdict::Verified,
};
/// Powers of two only.
const STEPPED: Plain = Plain {
    parameters: const { &[Parameter::new("oversample", 8, 64).times(2)] },
    ..fixed("stepped", |_, p| Some(1.0 + (p[0] as f64 - 39.0).abs()))
};
const SAMPLE: Plain =
    fixed("sample", |keys, _| (*keys < 100_000).then_some((26344.0 + 14.21 * *keys as f64) * 1e-6));
const GATHER: Plain =
    Plain { applies: |keys| *keys < 100, ..fixed("gather", |keys, _| Some(*keys as f64 * 1e-3)) };

fn sorts() -> [Plain; 3] {
    [RADIX, SAMPLE, GATHER]
}

type Rows = Vec<Row>;

fn pick<'p>(
    candidates: &[Plain],
    keys: i64,
    pin: Option<&'p str>,
) -> Result<Choice<Rows>, ChooseError<'p, Rows>> {
    let rows = candidates.iter().map(|one| Row::new(one.name, one.parameters)).collect();
    let question = Question { pin: pin.map(|pin| Pin::parse(pin).expect("a pin")), ..Question::new(1, &[]) };
    let applies = |index: usize| (candidates[index].applies)(&keys);
    choose_among(("sort", ""), rows, &Plains(candidates, keys), question, &applies)
}

/// Candidates with an incumbent that stays unless another promises a gain.
struct Kept<'a>(Plains<'a>, Incumbent);

impl Source for Kept<'_> {
    fn base(&self) -> Option<&dyn Source> {
        Some(&self.0)
    }
    fn seconds(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        self.0.seconds(candidate, nodes, inputs, parameters)
    }
    fn info(&self) -> Info<'_> {
        Info { incumbent: Some(self.1), ..self.0.info() }
    }
}

#[test]
fn an_incumbent_stays_unless_another_promises_its_gain() {
    let quick = Plain { parameters: BITS, ..fixed("quick", |_, p| Some(2.0 - p[0] as f64 / 16.0)) };
    let all = [quick, fixed("other", |keys, _| Some(*keys as f64)), fixed("nothing", |_, _| None)];
    let rows = || all.iter().map(|plain| Row::new(plain.name, plain.parameters)).collect::<Vec<_>>();
    let chosen = |keys: i64,
                  incumbent: (usize, &[i64], f64),
                  pin: Option<&'static str>,
                  applies: &dyn Fn(usize) -> bool| {
        let (candidate, parameters, gain) = incumbent;
        let kept = Incumbent { candidate, parameters: Parameters::new(parameters).unwrap(), gain };
        let pin = pin.map(|pin| Pin::parse(pin).unwrap());
        let question = Question { pin, ..Question::new(1, &[]) };
        let choice =
            choose_among(("any", ""), rows(), &Kept(Plains(&all, keys), kept), question, applies).unwrap();
        (choice.name, choice.parameters.to_vec(), choice.kept)
    };
    let always = |_| true;
    // The incumbent takes 1.5, its best value 1: a third less.
    assert_eq!(chosen(9, (0, &[8], 0.3), None, &always), ("quick", vec![16], None));
    assert_eq!(chosen(9, (0, &[8], 0.4), None, &always), ("quick", vec![8], Some(0.4)));
    // Another candidate, and one that is exactly as fast.
    assert_eq!(chosen(1, (0, &[16], 0.0), None, &always).0, "quick");
    assert_eq!(chosen(1, (1, &[], 0.1), None, &always), ("other", vec![], Some(0.1)));
    assert_eq!(chosen(9, (1, &[], 1.0), None, &always), ("other", vec![], Some(1.0)), "always");
    // In turn: the incumbent is the best; a pin; it does not apply; no model; no such candidate.
    assert_eq!(chosen(9, (0, &[16], 0.5), None, &always), ("quick", vec![16], None));
    assert_eq!(chosen(9, (0, &[8], 0.5), Some("any=other"), &always), ("other", vec![], None));
    assert_eq!(chosen(9, (0, &[8], 0.5), None, &|at| at == 1), ("other", vec![], None));
    for nowhere in [2, 3] {
        assert_eq!(chosen(9, (nowhere, &[], 0.5), None, &always), ("quick", vec![16], None));
    }
}

#[test]
fn the_digit_width_follows_the_thesis() {
    // Section 5.3: for few keys 4 bits, around 1000 a node it is 7, above 10, for large enough
    // sorts 14.
    for (keys, bits) in [(10, 4), (1000, 7), (3000, 10), (100_000, 14)] {
        let choice = pick(&[RADIX], keys, None).unwrap();
        assert_eq!(&*choice.parameters, [bits], "{keys} keys");
    }
}

#[test]
fn explanations_read_well() {
    let all = [
        pick(&sorts(), 50, None).unwrap().to_string(),
        pick(&sorts(), 10_000, None).unwrap().to_string(),
        pick(&sorts(), 200_000, None).unwrap().to_string(),
        pick(&sorts(), 200_000, Some("sort=sample")).unwrap().to_string(),
        pick(&sorts(), 50, Some("sort=radix:11")).unwrap().to_string(),
        pick(&sorts(), 50, Some("sort=radix")).unwrap().to_string(),
        pick(&[fixed("first", |_, _| Some(1e-3)), fixed("second", |_, _| Some(1e-3))], 1, None)
            .unwrap()
            .to_string(),
        pick(&[fixed("unknown", |_, _| None), fixed("strange", |_, _| Some(f64::NAN))], 1, None)
            .unwrap()
            .to_string(),
    ];
    insta::assert_snapshot!(all.join("\n\n"));
}

#[test]
fn errors_read_well() {
    let never = Plain { applies: |_| false, ..SAMPLE };
    let all = [
        pick(&[], 1, None),
        pick(&[never], 1, None),
        pick(&sorts(), 1, Some("sort=quick")),
        pick(&sorts(), 1, Some("sort=radix:17")),
        pick(&sorts(), 1, Some("sort=radix:1:2")),
        pick(&sorts(), 1, Some("sort=sample:1")),
        pick(&sorts(), 1000, Some("sort=gather")),
        pick(&[Plain { parameters: const { &[Parameter::new("a", 1, 2); 5] }, ..SAMPLE }], 1, None),
        pick(&sorts(), 1, Some("sort=gahter")),
        pick(&sorts(), 1, Some("srot=radix")),
        pick(&[STEPPED], 1, Some("sort=stepped:39")),
    ];
    insta::assert_snapshot!(all.map(|result| result.unwrap_err().to_string()).join("\n"));
}

#[test]
fn what_is_no_time_is_no_prediction() {
    for bad in [f64::NAN, f64::INFINITY, -1.0, f64::NEG_INFINITY] {
        let candidates: [Plain; 3] = [
            Plain {
                parameters: BITS,
                ..fixed("bad", |_, p| {
                    Some([f64::NAN, f64::INFINITY, -1.0, f64::NEG_INFINITY][p[0] as usize % 4])
                })
            },
            fixed("good", |_, _| Some(9.0)),
            fixed("none", |_, _| None),
        ];
        let choice = pick(&candidates, 1, None).unwrap();
        assert_eq!(choice.name, "good", "{bad}");
        let outcomes: Vec<_> = choice.outcomes().map(|(_, outcome)| outcome).collect();
        assert_eq!(outcomes, [Outcome::OutOfRange, Outcome::Taken, Outcome::OutOfRange]);
        assert_eq!(choice.runner_up, None);
    }
}

#[test]
fn no_verdict_excludes_a_candidate() {
    let of = |verdict, name, seconds| Plain { verdict, ..fixed(name, seconds) };
    let all =
        [Verdict::Verified, Verdict::WithinNoise, Verdict::Doubtful, Verdict::Unverified, Verdict::Failed];
    for quick in all {
        for slow in all {
            for turn in 0..2 {
                let mut candidates =
                    [of(quick, "quick", |_, _| Some(1e-6)), of(slow, "slow", |_, _| Some(1e-5))];
                candidates.rotate_left(turn);
                let choice = pick(&candidates, 1, None).unwrap();
                assert_eq!((choice.name, choice.verdict), ("quick", quick));
                let text = choice.to_string();
                assert!(text.contains("10.00 times as long"), "{text}");
                assert_eq!(text.contains("though its model failed"), quick == Verdict::Failed, "{text}");
            }
        }
    }
}

#[test]
fn odds_weigh_the_deviations_and_what_lies_outside_is_less_sure() {
    /// Times with these means and deviations; none where a mean is negative.
    struct Times([(f64, f64); 2]);
    impl Source for Times {
        fn seconds(&self, candidate: usize, _: usize, _: &[f64], _: &[i64]) -> Option<f64> {
            Some(self.0[candidate].0)
        }
        fn predict(&self, candidate: usize, _: usize, _: &[f64], _: &[i64]) -> Option<Prediction> {
            let (mean, deviation) = self.0[candidate];
            Prediction::new(mean, 9.0)?.with_deviation(deviation)
        }
    }
    let times = Times([(1.0, 0.05), (1.2, 0.05)]);
    let odds = |choice: &Choice<Rows>, times| choice.odds::<Times>(times, 1, &[]);
    let candidates = [fixed("quick", |_, _| Some(1.0)), fixed("slow", |_, _| Some(1.2))];
    let mut choice = pick(&candidates, 1, None).unwrap();
    let sure = odds(&choice, &times).unwrap();
    assert!(sure.fastest > 0.99 && sure.loss < 0.001, "{sure:?}");
    choice.distance = 1.0;
    let outside = odds(&choice, &times).unwrap();
    assert!(outside.fastest < 0.7 && outside.loss > 0.1, "{outside:?}");
    assert_eq!(odds(&pick(&candidates, 1, Some("sort=slow")).unwrap(), &times), None);
    assert_eq!(odds(&choice, &Times([(-1.0, 0.0); 2])), None);
}

#[test]
fn where_no_model_helps_the_first_that_applies_is_taken() {
    let candidates = [
        Plain { applies: |_| false, ..SAMPLE },
        Plain { parameters: BITS, ..fixed("second", |_, _| None) },
        fixed("third", |_, _| None),
    ];
    let choice = pick(&candidates, 1, None).unwrap();
    assert_eq!((choice.name, &*choice.parameters, choice.predicted), ("second", &[8][..], None));
}

#[test]
fn any_number_competes() {
    let mut many = vec![const { fixed("slow", |_, _| Some(2.0)) }; 100];
    many[70] = fixed("quick", |_, _| Some(1.0));
    let choice = pick(&many, 1, None).unwrap();
    assert_eq!((choice.name, choice.index, choice.outcomes().count()), ("quick", 70, 100));
}

#[test]
fn only_the_values_of_a_step_are_tried() {
    assert_eq!(*pick(&[STEPPED], 1, None).unwrap().parameters, [32]);
    let long = Plain {
        parameters: const { &[Parameter::new("a", 1, 1_000_000).plus(7)] },
        ..fixed("long", |_, p| Some((p[0] as f64 - 5003.0).abs()))
    };
    assert_eq!(*pick(&[long], 1, None).unwrap().parameters, [5006]);
}

#[test]
fn pins_of_other_libraries_do_not_matter() {
    assert!(!pick(&sorts(), 50, Some("stencil=strips")).unwrap().pinned);
}

#[test]
fn several_and_long_parameters_are_optimised() {
    const TWO: &[Parameter] = &[Parameter::new("a", 0, 1000), Parameter::new("b", -500, 500)];
    let bowl = Plain {
        parameters: TWO,
        ..fixed("bowl", |_, p| Some(1.0 + (p[0] as f64 - 77.0).powi(2) + (p[1] as f64 + 123.0).powi(2)))
    };
    assert_eq!(&*pick(&[bowl], 1, None).unwrap().parameters, [77, -123]);
    const HUGE: &[Parameter] = &[Parameter::new("a", i64::MIN, i64::MAX)];
    let far = Plain { parameters: HUGE, ..fixed("far", |_, p| Some((p[0] as f64 - 1e6).abs())) };
    assert_eq!(&*pick(&[far], 1, None).unwrap().parameters, [1_000_000]);
    const EMPTY: &[Parameter] = &[Parameter::new("a", 3, 2)];
    let none = Plain { parameters: EMPTY, ..fixed("none", |_, _| Some(1.0)) };
    assert_eq!(pick(&[none, SAMPLE], 1, None).unwrap().name, "sample");
}

proptest! {
    /// Compared with a plain search: the least time, the first of equals, the best parameter.
    #[test]
    fn the_best_wins(keys in 0..300_000_i64) {
        let choice = pick(&sorts(), keys, None).unwrap();
        let mut best = ("", f64::INFINITY, vec![]);
        for candidate in sorts().iter().filter(|c| (c.applies)(&keys)) {
            let tries: Vec<Vec<i64>> = if candidate.parameters.is_empty() { vec![vec![]] } else { (1..=16).map(|b| vec![b]).collect() };
            for parameters in tries {
                if let Some(seconds) = (candidate.seconds)(&keys, &parameters) && seconds < best.1 {
                    best = (candidate.name, seconds, parameters);
                }
            }
        }
        let least = best.1;
        prop_assert_eq!((choice.name, choice.predicted.unwrap().seconds.get(), choice.parameters.to_vec()), best);
        // Gather applies to few keys, and the model of sample covers up to 100,000: beyond that
        // there is no second candidate.
        prop_assert_eq!(choice.runner_up.is_some(), keys < 100_000);
        if let Some(runner_up) = choice.runner_up {
            prop_assert!(runner_up.index != choice.index && runner_up.seconds.get() >= least);
        }
    }
}

/// Extra rows of nodes at the edge of a grid (Brewer 1994, equations 38 to 40): the time of a saved
/// block transfer of `width` elements, in extra rows of `width` points. The inputs are the width,
/// the height, the two coefficients of a transfer and the time of a point.
const EXTRA: &[Parameter] =
    &[Parameter::new("halos", 1, 3), Parameter::new("rows", 0, 400).root(Root(spared))];

fn spared(_: usize, x: &[f64]) -> Option<f64> {
    let &[width, height, start, each, point, halos, rows] = x else { return None };
    let sweep = |height: f64| point * width * height;
    (width > 0.0).then(|| halos * (start + each * width) - (sweep(height + rows) - sweep(height)))
}

static EDGES: Table = Table {
    library: "edges",
    spec: "",
    platform: "",
    digest: "",
    inputs: &["width", "height", "start", "each", "point"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY); 5] },
    entries: &[Entry::new("balanced", Verdict::Verified, 1.0, &FEWER_HALOS).with(EXTRA)],
};

static FEWER_HALOS: Model =
    Model::Computed { seconds: |_, x| Some(4.0 - x[5]), predict: |_, x| Prediction::new(4.0 - x[5], 0.0) };

proptest! {
    #[test]
    fn a_parameter_by_root_is_that_of_equation_40(
        width in 1_u32..5000,
        height in 1_u32..5000,
        start in 0.0..1e6_f64,
        each in 0.0..100_f64,
        point in 0.01..100_f64,
    ) {
        let (width, height) = (f64::from(width), f64::from(height));
        let inputs = [width, height, start, each, point];
        let rows = <[Row; 1]>::of(&EDGES);
        let choice = choose_among(("edges", ""), rows, &EDGES, Question::new(64, &inputs), &|_| true).unwrap();
        let exact = 3.0 * (start + each * width) / (point * width);
        let [halos, rows] = choice.parameters[..] else { panic!("{choice}") };
        // The others are searched for the least time.
        prop_assert_eq!(halos, 3);
        let near = |value: f64| (value.floor() as i64).min(400);
        prop_assert!((near(exact * (1.0 - 1e-9))..=near(exact * (1.0 + 1e-9))).contains(&rows), "{rows} of {exact}");
    }
}

#[test]
fn roots_outside_their_range_are_its_ends() {
    let chosen = |inputs: [f64; 5], pin: Option<Pin<'static>>| {
        let question = Question { pin, ..Question::new(64, &inputs) };
        choose_among(("edges", ""), <[Row; 1]>::of(&EDGES), &EDGES, question, &|_| true).unwrap()
    };
    assert_eq!(chosen([10.0, 10.0, 0.0, 0.0, 1.0], None).parameters[..], [3, 0]);
    assert_eq!(chosen([10.0, 10.0, 1e9, 0.0, 1.0], None).parameters[..], [3, 400]);
    // Negative throughout.
    assert_eq!(chosen([10.0, 10.0, -1e9, 0.0, 1.0], None).parameters[..], [3, 0]);
    // No model predicts: the choice says that it is a guess.
    assert!(chosen([0.0, 10.0, 1.0, 1.0, 1.0], None).expected.is_none());
    // A pin takes any value of the range.
    let pin = Pin::parse("edges=balanced:1:77").unwrap();
    assert_eq!(chosen([10.0, 10.0, 0.0, 0.0, 1.0], Some(pin)).parameters[..], [1, 77]);
}

/// Two candidates that send; the second needs processes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sending {
    Put,
    Post,
}

static SENDING: Table = Table {
    library: "send",
    spec: "",
    platform: "",
    digest: "",
    inputs: &[],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[] },
    entries: &[
        Entry::new("put", Verdict::Verified, 1.0, &PUT),
        Entry::new("post", Verdict::Verified, 1.0, &POST).for_processes(),
    ],
};

static PUT: Model =
    Model::Computed { seconds: |_, _| Some(2e-6), predict: |_, _| Prediction::new(2e-6, 0.0) };
static POST: Model =
    Model::Computed { seconds: |_, _| Some(1e-6), predict: |_, _| Prediction::new(1e-6, 0.0) };

impl Library for Sending {
    type Rows = [Row; 2];
    type Input = ();
    const TABLES: &'static [&'static Table] = &[&SENDING];

    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Put, Self::Post].get(index).copied()
    }
}

#[test]
fn what_needs_processes_competes_only_where_nodes_are_processes() {
    let choose = |processes, pin: Option<&'static str>| {
        let pin = pin.map(|pin| Pin::parse(pin).unwrap());
        let models = Models { source: &SENDING, file: None, note: None };
        models.choose::<Sending>(Question { pin, processes, ..Question::new(2, &[]) }, &|_| true)
    };
    assert_eq!(choose(true, None).unwrap().0, Sending::Post);
    let (taken, choice) = choose(false, None).unwrap();
    assert_eq!((taken, choice.runner_up), (Sending::Put, None));
    assert!(choice.to_string().ends_with("post  not taken: needs nodes that are processes"), "{choice}");
    assert!(choose(true, Some("send=post")).unwrap().1.pinned);
    let (_, pinned) = choose(false, Some("send=put")).unwrap();
    assert!(pinned.to_string().ends_with("needs nodes that are processes"), "{pinned}");
    let refused = choose(false, Some("send=post")).unwrap_err().to_string();
    assert!(
        refused.contains("`send=post` pins a candidate that needs nodes that are processes"),
        "{refused}"
    );
}

/// Strides of 1 to 4 halve the time, and more.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Walking {
    Step,
    Stride(i64),
}

static WALKING: Table = Table {
    library: "walk",
    inputs: &["n"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 1e9)] },
    entries: &[
        Entry::new("step", Verdict::Verified, 1.0, &ALONE),
        Entry::new("stride", Verdict::Verified, 1.0, &PARALLEL).with(&[Parameter::new("length", 2, 4)]),
    ],
    ..SENDING
};

impl Library for Walking {
    type Rows = [Row; 2];
    type Input = usize;
    const TABLES: &'static [&'static Table] = &[&WALKING];

    fn candidate(index: usize, parameters: &[i64]) -> Option<Self> {
        match (index, parameters) {
            (0, []) => Some(Self::Step),
            (1, [length]) => Some(Self::Stride(*length)),
            _ => None,
        }
    }
}

#[test]
fn a_choice_cannot_fail_and_a_tool_learns_of_the_fault() {
    let step = |candidate| candidate == Walking::Step;
    let (step, stride): (&dyn Fn(_) -> bool, &dyn Fn(_) -> bool) = (&step, &|candidate| !step(candidate));
    for (pin, applies, taken, fault) in [
        ("", None, Walking::Stride(4), ""),
        ("walk=stride:3", None, Walking::Stride(3), ""),
        ("walk=strides", None, Walking::Stride(4), "did you mean `stride`?"),
        ("walk=stride:9", None, Walking::Stride(4), "must lie in 2..=4"),
        ("walk=stride:2:2", None, Walking::Stride(4), "has 1 parameters, 2 are given"),
        ("walk=stride:2", Some(step), Walking::Step, "does not apply to this problem"),
        ("walk=step", Some(stride), Walking::Stride(4), "does not apply to this problem"),
        ("", Some(stride), Walking::Stride(4), ""),
        ("", Some(&|_| false), Walking::Step, "no candidate of `walk` applies"),
        ("walk=step", Some(&|_| false), Walking::Step, "does not apply to this problem"),
    ] {
        let chooser = applies.into_iter().fold(Walking::on(1), Chooser::among);
        let chooser = if pin.is_empty() { chooser } else { chooser.pin(Pin::parse(pin).unwrap()) };
        let explained = chooser.explain(100);
        assert_eq!((explained.candidate, chooser.choose(100)), (taken, taken), "{pin} {fault}");
        assert_eq!(Walking::candidate(explained.choice.index, &explained.choice.parameters), Some(taken));
        match chooser.try_choose(100) {
            Ok((candidate, _)) => assert_eq!((candidate, fault), (taken, "")),
            Err(error) => assert!(error.to_string().contains(fault) && !fault.is_empty(), "{error}"),
        }
        assert_eq!(
            explained.to_string().contains("no candidate applies"),
            taken == Walking::Step && !fault.is_empty() && explained.choice.expected.is_none()
        );
    }
}

/// In parallel with so many threads, or alone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Working {
    Alone,
    Parallel(i64),
}

/// Measured with 8 cores: `threads in 2..=min(cores, n)`.
static WORKING: Table = Table {
    library: "work",
    spec: "",
    platform: "",
    digest: "",
    inputs: &["n"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 1e9)] },
    entries: &[
        Entry::new("alone", Verdict::Verified, 1.0, &ALONE),
        Entry::new("parallel", Verdict::Verified, 1.0, &PARALLEL)
            .with(&[Parameter::new("threads", 2, 8)
                .ends(Ends(|_, cores, x| Some((2.0, cores.min(8.0).min(*x.first()?)))))])
            .incumbent(&[6], 0.9),
    ],
};

static ALONE: Model =
    Model::Computed { seconds: |_, x| Some(x[0] * 1e-6), predict: |_, x| Prediction::new(x[0] * 1e-6, 0.0) };
static PARALLEL: Model = Model::Computed {
    seconds: |_, x| Some(x[0] * 1e-6 / x[1]),
    predict: |_, x| Prediction::new(x[0] * 1e-6 / x[1], 0.0),
};

impl Library for Working {
    type Rows = [Row; 2];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&WORKING];

    fn candidate(index: usize, parameters: &[i64]) -> Option<Self> {
        match (index, parameters) {
            (0, []) => Some(Self::Alone),
            (1, [threads]) => Some(Self::Parallel(*threads)),
            _ => None,
        }
    }
}

#[test]
fn a_range_of_the_problem_and_the_machine_is_kept_to() {
    let models = Models { source: &WORKING, file: None, note: None };
    let choose = |n: f64, cores, pin: Option<&'static str>| {
        let pin = pin.map(|pin| Pin::parse(pin).unwrap());
        models.choose::<Working>(Question { pin, cores, ..Question::new(1, &[n]) }, &|_| true)
    };
    let taken = |n, cores| choose(n, cores, None).unwrap().0;
    // The incumbent of 6 threads stays where its value is in the range.
    assert_eq!((taken(100.0, usize::MAX), taken(100.0, 6)), (Working::Parallel(6), Working::Parallel(6)));
    assert_eq!(taken(100.0, 4), Working::Parallel(4), "no more than there are");
    assert_eq!(taken(3.5, 64), Working::Parallel(3), "no more than the problem admits");
    assert_eq!(taken(2.0, 2), Working::Parallel(2));
    for (n, cores) in [(1.0, 8), (100.0, 1), (1.0, 1), (0.5, 1)] {
        let (taken, choice) = choose(n, cores, None).unwrap();
        assert_eq!((taken, choice.runner_up), (Working::Alone, None));
        let text = choice.to_string();
        assert!(text.ends_with("parallel  not taken: `threads` has no value for this problem"), "{text}");
    }
    assert_eq!(choose(100.0, 8, Some("work=parallel:8")).unwrap().0, Working::Parallel(8));
    let refused = choose(100.0, 4, Some("work=parallel:8")).unwrap_err().to_string();
    assert!(refused.ends_with("`threads` must lie in 2..=4, but it is 8"), "{refused}");
    let refused = choose(1.0, 4, Some("work=parallel")).unwrap_err().to_string();
    assert!(refused.contains("does not apply to this problem"), "{refused}");
    // A local choice uses the cores of this machine.
    let here = strata_select::machine::Machine::here().cores as i64;
    let local = Working::on(1).choose(100.0);
    assert_eq!(local, if here < 2 { Working::Alone } else { Working::Parallel(here.min(6)) });
}

#[test]
fn ends_are_rounded_into_what_bounds_them() {
    let parameter = Parameter::new("k", 1, 64);
    let within = |first, last| parameter.within((first, last));
    assert_eq!((within(2.5, 7.5), within(-9.0, 1e300)), ((3, 7), (1, 64)));
    assert_eq!((within(4.0, 4.0), within(-0.5, 0.5)), ((4, 4), (1, 0)));
    for (first, last) in [(f64::NAN, 4.0), (1.0, f64::NAN), (9.0, 4.0), (65.0, 70.0), (1.0, -1e300)] {
        let (min, max) = within(first, last);
        assert!(min > max, "{first} {last}");
    }
}

static TESTED: Table = Table {
    library: "tested",
    spec: "",
    platform: "",
    digest: "",
    inputs: &["n", "kind"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 1e9), (0.0, 1.0)] },
    entries: &[
        Entry::new("quick", Verdict::Unverified, 1.0, &QUICK),
        Entry::new("merge", Verdict::Unverified, 1.0, &MERGE),
    ],
};
static QUICK: Model = Model::Computed {
    seconds: |_, x| Some(if x[1] == 1.0 { 5e-9 * x[0] } else { 1e-9 * x[0] }),
    predict: |nodes, x| Prediction::new(QUICK.seconds(nodes, x)?, 0.0),
};
static MERGE: Model = Model::Computed {
    seconds: |_, x| Some(2e-9 * x[0]),
    predict: |nodes, x| Prediction::new(MERGE.seconds(nodes, x)?, 0.0),
};

library! {
    pub enum Tested {
        Quick,
        Merge,
    }
    inputs TestedInput { n: usize, kind: TestedKind in [Random, Sorted] };
    tables [&TESTED];
}

#[test]
fn an_input_that_is_one_of_a_few_names_is_an_enum() {
    let by = |kind| Tested::choose(TestedInput { n: 1000, kind });
    assert_eq!([TestedKind::Random, TestedKind::Sorted].map(by), [Tested::Quick, Tested::Merge]);
}
