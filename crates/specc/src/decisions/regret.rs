//! Regret: how much longer a choice takes than the fastest way timed.

use strata_model::samples::Sample;
use strata_model::set::{Constant, Regret};
use strata_model::{Samples, kind_text};
use strata_report::Judged;

use super::Taken;
use super::alternatives::Alternative;
use crate::competition::Competition;
use strata_fit::bootstrap::{interval_of_mean, mean};

/// The fewest timings that judge a way.
const LEAST: usize = 4;

/// The gains tried for an incumbent.
const GAINS: [f64; 7] = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0];

/// The least decrease of the mean loss by a rule, and the fewest inputs to find a rule from.
const LEAST_USE: f64 = 0.003;
const LEAST_INPUTS: usize = 8;

/// The time of a way from each half of its timings: the lower quartile, or the mean over its data.
pub(super) type Halves = [f64; 2];

/// The timings at one input.
pub(super) struct Timed {
    /// The input as text.
    at: String,
    /// Its values.
    inputs: Vec<f64>,
    /// The regret of each way.
    losses: Vec<f64>,
    /// Each way as a pin, with the time that the models expect.
    ways: Vec<(String, Option<f64>)>,
    /// The index of the chosen way.
    chosen: usize,
}

/// The timings at each input at which the way of `taken` was timed.
pub(super) fn timed(
    names: &[String],
    decisions: &[(Vec<f64>, Vec<Alternative>)],
    competition: &Competition,
    times: &Samples,
    taken: Taken<'_>,
) -> Vec<Timed> {
    let mut all = Vec::new();
    for (inputs, ways) in decisions {
        let timed: Vec<(&Alternative, Halves)> =
            ways.iter().filter_map(|way| Some((way, halves(way, times)?))).collect();
        let Some((candidate, parameters)) = taken(competition, inputs) else { continue };
        let is_chosen = |way: &Alternative| way.candidate == candidate && way.parameters == parameters;
        let Some(chosen) = timed.iter().position(|(way, _)| is_chosen(way)) else { continue };
        // The budget sufficed for the choice alone: that says nothing of what it loses.
        if timed.len() == 1 && ways.len() > 1 {
            continue;
        }
        let halves: Vec<Halves> = timed.iter().map(|(_, halves)| *halves).collect();
        let text = |name: &String, value: f64| kind_text(competition.kinds(), name, value);
        let place = names.iter().zip(inputs).map(|(name, value)| format!("{name}={}", text(name, *value)));
        let expected = |way: &Alternative| competition.expected(way.candidate, inputs, &way.parameters);
        all.push(Timed {
            at: place.collect::<Vec<_>>().join(", "),
            inputs: inputs.clone(),
            losses: (0..halves.len()).map(|at| regret(&halves, at)).collect(),
            ways: timed.iter().map(|(way, _)| (way.pin(competition), expected(way))).collect(),
            chosen,
        });
    }
    all
}

/// A way that is kept unless another promises more than a gain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    /// The way as a pin.
    pub(super) name: String,
    /// The gain.
    pub(super) gain: f64,
}

impl Timed {
    fn place(&self, name: &str) -> Option<usize> {
        self.ways.iter().position(|(way, _)| way == name)
    }

    /// The index of the way chosen with a rule, or without one.
    fn taken(&self, rule: Option<&Rule>) -> usize {
        let kept = rule.and_then(|rule| {
            let place = self.place(&rule.name)?;
            let (own, best) = (self.ways[place].1?, self.ways[self.chosen].1?);
            (best > (1.0 - rule.gain) * own).then_some(place)
        });
        kept.unwrap_or(self.chosen)
    }

    /// The regret of that choice.
    fn loss(&self, rule: Option<&Rule>) -> f64 {
        self.losses[self.taken(rule)]
    }
}

/// The rule with the least loss at these inputs; `None` if no rule is clearly better than the
/// models alone. Among gains with nearly the same loss the least is taken: with a greater one the way
/// would also be kept at inputs where the models are right to prefer another.
///
/// If the library names a `default`, only that way may be kept, and it is kept in any case.
pub(super) fn rule(timed: &[&Timed], default: Option<&str>) -> Option<Rule> {
    let mut names = default.map_or_else(|| everywhere(timed), |name| vec![name.to_owned()]);
    // A way that the spec's limit of ways leaves out has no expected time.
    let expected =
        |one: &&Timed, name: &str| one.place(name).is_some_and(|place| one.ways[place].1.is_some());
    names.retain(|name| timed.iter().any(|one| expected(one, name)));
    let losses = |rule: Option<&Rule>| timed.iter().map(|one| one.loss(rule)).collect::<Vec<_>>();
    let saved = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
    let alone = losses(None);
    let mut worthy: Vec<(f64, Rule)> = Vec::new();
    let rules = |name: &String| GAINS.map(|gain| Rule { name: name.clone(), gain });
    for rule in names.iter().flat_map(rules) {
        let saved = saved(&alone, &losses(Some(&rule)));
        let mean = mean(&saved);
        // Among so many rules, noise alone makes one look better.
        if default.is_some() || mean > LEAST_USE.max(standard_error(&saved)) {
            worthy.push((mean, rule));
        }
    }
    let best = worthy.iter().filter(|_| timed.len() >= LEAST_INPUTS).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let best = best.1.clone();
    let least = losses(Some(&best));
    // One standard error, as for the size of a tree (Breiman et al., CART, section 3.4.3).
    let about_as_little = |rule: &Rule| {
        let lost = saved(&losses(Some(rule)), &least);
        // A single input that differs has just one standard error.
        mean(&lost) <= (1.0 + 1e-9) * standard_error(&lost)
    };
    worthy.into_iter().map(|(_, rule)| rule).find(|rule| rule.name == best.name && about_as_little(rule))
}

/// The ways that were timed at every input.
fn everywhere(timed: &[&Timed]) -> Vec<String> {
    let Some(first) = timed.first() else { return Vec::new() };
    let names = first.ways.iter().map(|(name, _)| name.clone());
    names.filter(|name| timed.iter().all(|one| one.place(name).is_some())).collect()
}

/// The choice at each input. With `judged`, the rule for each input is found from the others alone,
/// so that no input judges a rule found from it.
pub(super) fn choices(timed: &[Timed], judged: bool, default: Option<&str>) -> Vec<usize> {
    let others = |at: usize| -> Vec<&Timed> {
        timed.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, one)| one).collect()
    };
    let own = |at: usize| if judged { rule(&others(at), default) } else { None };
    (0..timed.len()).map(|at| timed[at].taken(own(at).as_ref())).collect()
}

/// Each of these choices as an entry with its loss.
pub(super) fn each(library: &str, names: &[String], timed: &[Timed], choices: &[usize]) -> Vec<Judged> {
    let one = |(one, chosen): (&Timed, &usize)| Judged {
        library: library.to_owned(),
        inputs: names.iter().cloned().zip(one.inputs.iter().copied()).collect(),
        at: one.at.replace('=', " = "),
        chosen: one.ways[*chosen].0.clone(),
        loss: one.losses[*chosen],
    };
    timed.iter().zip(choices).map(one).collect()
}

/// The summary of the losses of these choices.
pub(super) fn of(timed: &[Timed], choices: &[usize], default: Option<&str>) -> Option<Regret> {
    let losses: Vec<f64> = timed.iter().zip(choices).map(|(one, chosen)| one.losses[*chosen]).collect();
    let worst = (0..losses.len()).max_by(|a, b| losses[*a].total_cmp(&losses[*b]))?;
    let all: Vec<&Timed> = timed.iter().collect();
    let constant = |name: String| {
        let losses: Vec<f64> = timed.iter().filter_map(|one| Some(one.losses[one.place(&name)?])).collect();
        Constant { name, mean: mean(&losses) }
    };
    Some(Regret {
        inputs: losses.len(),
        like: None,
        mean: mean(&losses),
        interval: interval_of_mean(&losses),
        worst: losses[worst],
        worst_at: timed[worst].at.clone(),
        before: default
            .filter(|name| all.iter().all(|one| one.place(name).is_some()))
            .map(|name| constant(name.to_owned())),
        constant: everywhere(&all).into_iter().map(constant).min_by(|a, b| a.mean.total_cmp(&b.mean)),
    })
}

/// The timings of a way, dealt to the two halves in turns.
pub(super) fn halves(way: &Alternative, times: &Samples) -> Option<Halves> {
    let inputs = &way.point.values[..way.inputs];
    let is_way = |row: &&Sample| row.values.get(..way.inputs) == Some(inputs);
    let row = times.model(&way.model)?.rows.iter().find(is_way)?;
    let mut timings = row.notes.timings.clone();
    if timings.is_empty() {
        // Simulated time is exact.
        return Some([row.seconds; 2]);
    }
    timings.sort_by(|a, b| a.moment.total_cmp(&b.moment));
    (timings.len() >= LEAST).then_some(())?;
    let by_mean = row.notes.draws > 0;
    // Two timings on the same data come after each other.
    let together = if by_mean { 2 } else { 1 };
    let half = |which: usize| {
        let own = timings.iter().enumerate().filter(|(at, _)| at / together % 2 == which);
        let mut seconds: Vec<f64> = own.map(|(_, timing)| timing.seconds).collect();
        if by_mean {
            return mean(&seconds);
        }
        seconds.sort_by(f64::total_cmp);
        seconds[(seconds.len() - 1) / 4]
    };
    Some([half(0), half(1)])
}

/// How much longer `chosen` takes than the fastest way. The way that is fastest in one half is
/// timed by the other half, so that noise does not favour it. The difference is relative to both
/// halves, as the mean of few draws of data may by chance be near zero.
fn regret(all: &[Halves], chosen: usize) -> f64 {
    let one = |judge: usize| {
        let fastest = all.iter().min_by(|a, b| a[1 - judge].total_cmp(&b[1 - judge]));
        let lost = |fastest: &Halves| 2.0 * (all[chosen][judge] - fastest[judge]) / (fastest[0] + fastest[1]);
        fastest.map_or(0.0, lost)
    };
    (one(0) + one(1)) / 2.0
}

/// The standard error of the mean.
fn standard_error(values: &[f64]) -> f64 {
    let (mean, count) = (mean(values), values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;
    use proptest::prelude::*;
    use strata_model::ModelSet;
    use strata_model::plan::PlanPoint;

    /// Noise alone makes one of several equal ways look the fastest, which must not count. The ways
    /// are the choice of the models and two constants.
    fn one(models: f64, constants: [f64; 2], promised: f64) -> Timed {
        let expected = [promised, 1.0, 1.0];
        let names = ["model:1", "a", "b"];
        Timed {
            at: String::new(),
            inputs: Vec::new(),
            losses: vec![models, constants[0], constants[1]],
            ways: names.iter().zip(expected).map(|(name, time)| ((*name).to_owned(), Some(time))).collect(),
            chosen: 0,
        }
    }

    fn judged(timed: &[Timed], judged: bool) -> Option<Regret> {
        of(timed, &choices(timed, judged, None), None)
    }

    /// Where the budget sufficed for the choice alone nothing is judged; a choice among one is.
    #[test]
    fn a_choice_is_judged_beside_another() {
        let model = |name| {
            format!(
                "[[models]]\nname = \"{name}\"\ninputs = [{{ name = \"n\", min = 1.0, max = 9.0 }}]\n\
                 terms = [{{ term = \"n\", coefficient = 1.0, relevant = true }}]\nt_quantile = 2.0\nmean_time = 1.0\n"
            )
        };
        let candidate = |name| {
            format!("[[libraries.candidates]]\nname = \"{name}\"\nmodel = \"{name}\"\narguments = [\"n\"]\n")
        };
        let [models, candidates] =
            [["A", "B"].map(model), ["A", "B"].map(candidate)].map(|both| both.concat());
        let library = "[[libraries]]\nname = \"l\"\ninputs = [\"n\"]\n";
        let text = format!("strata-models = 1\n{models}{library}{candidates}");
        let set = ModelSet::read(&text).unwrap();
        let competition = Competition::new(&set, "l").unwrap();
        let way = |candidate: usize| Alternative {
            candidate,
            parameters: Vec::new(),
            model: ["A", "B"][candidate].to_owned(),
            point: PlanPoint { values: vec![4.0], ..PlanPoint::default() },
            inputs: 1,
        };
        let times = |rows: &str| Samples::parse(&format!("strata-samples 1\n{rows}"), "samples").unwrap();
        let one = times("model A n\nA 4 4\nmodel B n\n");
        let both = times("model A n\nA 4 4\nmodel B n\nB 5 4\n");
        let judged = |ways: Vec<Alternative>, times| {
            let taken = |_: &Competition, _: &[f64]| Some((0, Vec::new()));
            timed(&["n".to_owned()], &[(vec![4.0], ways)], &competition, times, &taken).len()
        };
        assert_eq!(judged(vec![way(0), way(1)], &one), 0);
        assert_eq!(judged(vec![way(0), way(1)], &both), 1);
        assert_eq!(judged(vec![way(0)], &one), 1);
        // Half of the data let A end at once.
        let halves_of = |draws: &str| {
            let a = "& 1@1 1@2 9@3 9@4 1@5 1@6 9@7 9@8";
            halves(&way(0), &times(&format!("model A n\nA 5 4 ; repeats=8{draws}\n{a}\n")))
        };
        assert_eq!([halves_of(""), halves_of(" draws=4")], [Some([1.0, 1.0]), Some([1.0, 9.0])]);
    }

    #[test]
    fn where_models_lose_to_a_constant_it_stays_unless_they_promise_enough() {
        let poor: Vec<Timed> = (0..12).map(|_| one(0.2, [0.01, 0.3], 0.9)).collect();
        let all: Vec<&Timed> = poor.iter().collect();
        assert_eq!(rule(&all, None), Some(Rule { name: "a".into(), gain: 0.2 }));
        assert!((judged(&poor, true).unwrap().mean - 0.01).abs() < 1e-12);
        assert!((judged(&poor, false).unwrap().mean - 0.2).abs() < 1e-12);
        // These models are right at the inputs where they promise much.
        let mixed: Vec<Timed> = (0..12)
            .map(|at| if at % 3 == 0 { one(0.0, [3.0, 3.0], 0.25) } else { one(0.2, [0.01, 0.3], 0.9) })
            .collect();
        let found = rule(&mixed.iter().collect::<Vec<_>>(), None).unwrap();
        assert_eq!((found.name.as_str(), found.gain), ("a", 0.2));
        assert!(judged(&mixed, true).unwrap().worst < 0.02);
        let good: Vec<Timed> = (0..12).map(|_| one(0.001, [0.5, 0.3], 0.9)).collect();
        assert_eq!(rule(&good.iter().collect::<Vec<_>>(), None), None);
        // The `default` stays if no other way is known to be better.
        let kept = rule(&good.iter().collect::<Vec<_>>(), Some("b"));
        assert_eq!(kept, Some(Rule { name: "b".into(), gain: 0.02 }));
        assert_eq!(rule(&all[..5], None), None, "five inputs tell too little");
        // At one input of twelve a greater gain saves a little more, which may be noise; at four not.
        for (more, gain) in [(1, 0.2), (4, 0.5)] {
            let timed: Vec<Timed> =
                (0..12).map(|at| one(0.2, [0.01, 0.3], if at < more { 0.6 } else { 0.9 })).collect();
            let found = rule(&timed.iter().collect::<Vec<_>>(), None).unwrap();
            assert_eq!((found.name.as_str(), found.gain), ("a", gain), "{more}");
        }
        let mut left_out: Vec<Timed> = (0..12).map(|_| one(0.2, [0.01, 0.3], 0.9)).collect();
        left_out.iter_mut().for_each(|one| one.ways[1].1 = None);
        assert_eq!(rule(&left_out.iter().collect::<Vec<_>>(), Some("a")), None);
        // Differences as large as noise adopt nothing.
        let noisy: Vec<Timed> =
            (0..12).map(|at| one(if at % 2 == 0 { 0.31 } else { -0.3 }, [0.0, 0.0], 0.9)).collect();
        assert_eq!(rule(&noisy.iter().collect::<Vec<_>>(), None), None);
        assert_eq!(judged(&[], true), None);
    }

    #[test]
    fn noise_does_not_favour_the_fastest() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut losses = Vec::new();
        for _ in 0..400 {
            let mut noisy = || 1.0 + 0.05 * (random.random::<f64>() - 0.5);
            let all: Vec<Halves> = (0..10).map(|_| [noisy(), noisy()]).collect();
            losses.push(regret(&all, 0));
        }
        assert!(mean(&losses).abs() < 0.002, "{}", mean(&losses));
    }

    proptest! {
        #[test]
        fn what_is_exact_is_exact(times in prop::collection::vec(0.1..10.0_f64, 1..9), chosen in 0..9_usize) {
            let all: Vec<Halves> = times.iter().map(|time| [*time; 2]).collect();
            let chosen = chosen % all.len();
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!((regret(&all, chosen) - (times[chosen] / least - 1.0)).abs() < 1e-12);
        }
    }
}
