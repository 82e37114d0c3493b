//! Model sets: the text there and back, resolving, predicting, and errors.

use proptest::prelude::*;
use strata_model::codegen::toml_string;
use strata_model::set::{
    Axis, Contrast, Correction, Input, Kind, Library, LibraryCandidate, MAX_CHAIN, Mode, Model, ModelSet,
    Named, Nodes, ParameterRange, Step, Term, Verdict,
};
use strata_select::Source as _;

fn term(term: &str, coefficient: f64) -> Term {
    Term { term: term.into(), coefficient, std_error: 0.0, half_width: 0.0, relevant: coefficient != 0.0 }
}

fn input(name: &str, min: f64, max: f64) -> Input {
    Input { name: name.into(), min, max, integer: true }
}

fn fitted(name: &str, inputs: &[Input], terms: &[Term]) -> Model {
    Model {
        name: name.into(),
        inputs: inputs.to_vec(),
        terms: terms.to_vec(),
        nodes: Nodes::known(4),
        ..Model::default()
    }
}

fn factored(name: &str, inputs: &[Input], expression: &str) -> Model {
    let kind = Kind::Factored { expression: expression.into() };
    Model { name: name.into(), inputs: inputs.to_vec(), kind, ..Model::default() }
}

fn set(models: Vec<Model>) -> ModelSet {
    ModelSet { models, ..ModelSet::default() }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn candidate(name: &str, model: &str, arguments: &[&str]) -> LibraryCandidate {
    let (name, model) = (name.into(), model.into());
    LibraryCandidate { name, model, arguments: owned(arguments), ..LibraryCandidate::default() }
}

fn library(name: &str, inputs: &[&str], candidates: Vec<LibraryCandidate>) -> Library {
    Library { name: name.into(), inputs: owned(inputs), candidates, ..Library::default() }
}

fn range(name: &str, max: i64) -> ParameterRange {
    ParameterRange { name: name.into(), min: 1, max, step: Step::ONE, root: None, first: None, last: None }
}

/// Names are for people: they change neither what is computed nor what other texts mean, and one that
/// stands for nothing here is not explained.
#[test]
fn terms_are_shown_by_the_names_of_the_spec() {
    let named = |name: &str, value: &str| Named { name: name.into(), value: value.into() };
    let names = ["ceil(width/bits)", "ceil(width/ceil(width/bits))", "pow(2,ceil(width/ceil(width/bits)))"];
    let names = ["passes", "digit", "bins"].iter().zip(names).map(|(name, value)| named(name, value));
    let mut set = sorts();
    set.models[0].names = names.chain([named("share", "max(1,P/2)"), named("broken", "1 +")]).collect();
    assert_eq!(ModelSet::read(&set.to_text()).unwrap(), set);
    let model = &set.models[0];
    for (text, short) in [
        ("ceil(width/bits)*keys", "passes*keys"),
        ("min(keys,pow(2,ceil(width/ceil(width/bits))))", "min(keys,bins)"),
        ("max(0,ceil(width/ceil(width/bits))-8)", "max(0,digit-8)"),
        ("width/bits", "width/bits"),
        ("1 +", "1 +"),
    ] {
        assert_eq!(model.short(text), short);
    }
    assert_eq!(model.meanings(), ["passes = ceil(width/bits)"]);
    set.models[0].requires = vec!["pow(2,ceil(width/ceil(width/bits)))<=keys".into()];
    let all = ["passes = ceil(width/bits)", "digit = ceil(width/passes)", "bins = pow(2,digit)"];
    assert_eq!(set.models[0].meanings(), all);
    let mut without = set.clone();
    without.models[0].names.clear();
    let predict = |set: &ModelSet| set.resolve().unwrap().formula("Radix").unwrap().mean.clone();
    assert_eq!(predict(&set), predict(&without));
    let resolved = set.resolve().unwrap();
    assert!(
        resolved
            .validity(&set.models[0])
            .ends_with(&format!("requires bins<=keys, where {}", all.join(", ")))
    );
}

/// What a model calls is a value, not a time: its sign is the caller's matter.
#[test]
fn a_called_model_may_be_negative() {
    let set = set(vec![
        factored("Share", &[input("x", 0.0, 100.0)], "3-x"),
        fitted("Whole", &[input("x", 0.0, 10.0)], &[term("1", 20e-9), term("Share(x)", 1e-9)]),
    ]);
    let resolved = set.resolve().unwrap();
    let predicted = resolved.predict("Whole", 4, &[10.0]).unwrap();
    assert_eq!(Some(predicted.seconds.get()), resolved.seconds("Whole", 4, &[10.0]));
    assert!((predicted.seconds.get() / 13e-9 - 1.0).abs() < 1e-12);
    assert_eq!(resolved.extrapolates("Whole", 4, &[10.0]), Some(false));
    assert!(resolved.predict("Share", 4, &[10.0]).is_none(), "no time");
    for (term, factor) in
        [("x", "·x"), ("x>1", "·(x>1)"), ("x*(x>1)", "·x*(x>1)"), ("1", ""), ("x+1", "·(x+1)")]
    {
        assert_eq!(set.models[1].factor(term), factor);
    }
}

const SORTS: &str = include_str!("../sets/sorts.toml");

/// The CM-5's radix sort of Fig 5-4 in seconds of 33 MHz cycles, and a sample sort that calls it.
fn sorts() -> ModelSet {
    ModelSet::read(SORTS).unwrap()
}

#[test]
fn the_text_is_pinned_and_reads_back() {
    assert_eq!(sorts().to_text(), SORTS);
}

#[test]
fn a_candidate_whose_model_was_not_measured_keeps_its_place_and_predicts_nothing() {
    let mut set = sorts();
    let everything = (f64::NEG_INFINITY, f64::INFINITY);
    set.models[1] = Model {
        name: "Sample".into(),
        inputs: vec![input("keys", everything.0, everything.1)],
        kind: Kind::Unmeasured,
        reason: "it requires more nodes".into(),
        ..Model::default()
    };
    assert_eq!(ModelSet::read(&set.to_text()).unwrap(), set);
    let resolved = set.resolve().unwrap();
    assert_eq!(resolved.predict("Sample", 4, &[100.0]), None);
    assert_eq!(resolved.predict("Both", 4, &[100.0]), None);
    let library = resolved.library("sort").unwrap();
    assert_eq!(library.candidate("sample"), Some(1));
    assert_eq!(library.seconds(1, 4, &[100.0, 32.0], &[]), None);
    assert!(library.seconds(0, 4, &[100.0, 32.0], &[8]).is_some());
    assert_eq!(library.info().domain.nodes, (4, 4), "what is not known limits nothing");
    assert_eq!(library.info().domain.inputs[0], (1.0, 1e6));
    assert_eq!(set.models[1].quality(), "not known: it requires more nodes");
}

#[test]
fn a_set_written_by_hand_reads() {
    let text = "strata-models = 1\n[[models]]\nname = \"A\"\nterms = [{term = \"1\", coefficient = 1, relevant = true}]\n";
    let set = ModelSet::read(text).unwrap();
    assert_eq!(
        (set.models[0].verdict, set.models[0].mode, &set.models[0].kind),
        (Verdict::Unverified, Mode::Relative, &Kind::Fitted)
    );
    assert_eq!(set.resolve().unwrap().seconds("A", 7, &[]), Some(1.0));
}

#[test]
fn predicts_what_the_terms_say() {
    let resolved = sorts().resolve().unwrap();
    assert_eq!(
        resolved.formula("Radix").unwrap().mean.to_string(),
        "3.4e-7*2^bits+3e-7*(ceil(width/bits)*keys)"
    );
    let radix = 3.4e-7 * 256.0 + 3e-7 * (4.0 * 1000.0);
    assert_eq!(resolved.seconds("Radix", 4, &[1000.0, 8.0, 32.0]), Some(radix));
    let prediction = resolved.predict("Radix", 4, &[1000.0, 8.0, 32.0]).unwrap();
    assert_eq!(prediction.seconds.get(), radix);
    let variance = 1e-14 * 256.0_f64.powi(2) + 1e-18 * 4000.0_f64.powi(2) + 1e-10 * (radix / 1e-2).powi(2);
    assert!((prediction.half_width.get() / (2.0 * variance.sqrt()) - 1.0).abs() < 1e-12);
}

#[test]
fn predicts_nothing_where_nothing_was_measured() {
    let resolved = sorts().resolve().unwrap();
    let radix = |nodes, inputs: &[f64]| resolved.predict("Radix", nodes, inputs).is_some();
    assert!(radix(4, &[1.0, 1.0, 8.0]) && radix(4, &[1e6, 16.0, 64.0]));
    assert!(!radix(4, &[0.0, 8.0, 32.0]), "below the range");
    assert!(!radix(4, &[1e6 + 1.0, 8.0, 32.0]), "above the range");
    assert!(!radix(4, &[f64::NAN, 8.0, 32.0]));
    assert!(!radix(4, &[100.0, 16.0, 8.0]), "the requirement fails");
    assert!(!radix(5, &[100.0, 8.0, 32.0]) && !radix(0, &[100.0, 8.0, 32.0]), "another number of nodes");
    assert!(!radix(4, &[100.0, 8.0]) && !radix(4, &[100.0, 8.0, 32.0, 1.0]), "another number of inputs");
    assert_eq!(resolved.seconds("Rdix", 4, &[]), None);
    // Through a call: the range of the argument, the requirement and the number of nodes of the
    // called model.
    let outside =
        set([sorts().models, vec![factored("F", &[input("k", -1e9, 1e9)], "Radix(k*2,16,k)")]].concat())
            .resolve()
            .unwrap();
    assert!(outside.seconds("F", 4, &[32.0]).is_some());
    assert_eq!(outside.formula("F").unwrap().ranges, [(8.0, 64.0)]);
    assert_eq!(outside.seconds("F", 4, &[9.0]), None);
    assert_eq!(outside.seconds("F", 8, &[32.0]), None);
    assert_eq!(outside.formula("F").unwrap().nodes, Nodes::known(4));
    // Negative and infinite times, and models that predict nothing.
    let odd = set(vec![
        fitted("Negative", &[], &[term("1", -1.0)]),
        fitted("Endless", &[], &[term("1/0", 1.0)]),
        fitted("Ignorant", &[], &[term("1", 0.0)]),
    ]);
    let odd = odd.resolve().unwrap();
    for model in ["Negative", "Endless", "Ignorant"] {
        assert_eq!((odd.seconds(model, 4, &[]), odd.predict(model, 4, &[])), (None, None), "{model}");
    }
}

#[test]
fn sensitivities_give_the_intervals_that_coefficients_cause() {
    // Without noise, t²·g'Σg is the square of the half width, whether a model is fitted or calls
    // fitted ones.
    let mut quiet = sorts();
    for model in &mut quiet.models {
        model.noise_variance = 0.0;
    }
    quiet.models.push(factored("Twice", &[input("keys", 1.0, 1e6)], "2*Radix(keys,8,32)"));
    let resolved = quiet.resolve().unwrap();
    let covariance = |model: &Model, i: usize, j: usize| model.covariance.get(i).map_or(0.0, |row| row[j]);
    let spread = |model: &str, inputs: &[f64]| {
        let found = resolved.sensitivity(model, 4, inputs).unwrap();
        assert_eq!(Some(found.seconds), resolved.seconds(model, 4, inputs));
        let square = |(place, part): &(usize, Vec<f64>)| {
            let model = quiet.models.iter().find(|m| resolved.place(&m.name) == Some(*place)).unwrap();
            let kept: Vec<usize> = (0..model.terms.len()).filter(|j| model.terms[*j].relevant).collect();
            assert_eq!(kept.len(), part.len());
            let sum: f64 = (kept.iter().zip(part))
                .map(|(i, a)| {
                    a * kept.iter().zip(part).map(|(j, b)| covariance(model, *i, *j) * b).sum::<f64>()
                })
                .sum();
            model.t_quantile.powi(2) * sum
        };
        found.parts.iter().map(square).sum::<f64>().sqrt()
    };
    for (model, inputs) in [("Radix", &[4096.0, 8.0, 32.0][..]), ("Sample", &[4096.0]), ("Twice", &[4096.0])]
    {
        let half = resolved.predict(model, 4, inputs).unwrap().half_width.get();
        assert!(half > 0.0 && (spread(model, inputs) / half - 1.0).abs() < 1e-6, "{model}: {half}");
    }
    assert_eq!(resolved.sensitivity("Radix", 4, &[-1.0, 8.0, 32.0]), None);
    assert_eq!(resolved.sensitivity("None", 4, &[]), None);
    let library = resolved.library("sort").unwrap();
    let found = library.sensitivity(0, 4, &[4096.0, 32.0], &[8]).unwrap();
    let direct = resolved.sensitivity("Radix", 4, &[4096.0, 8.0, 32.0]).unwrap();
    assert_eq!(found.parts[0].0, direct.parts[0].0);
    assert!(found.parts[0].1.iter().zip(&direct.parts[0].1).all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs()));
}

#[test]
fn intervals_of_factored_models_add_in_squares() {
    let resolved = sorts().resolve().unwrap();
    let half = |model: &str, inputs: &[f64]| resolved.predict(model, 4, inputs).unwrap().half_width.get();
    let sample = half("Sample", &[5000.0]);
    assert!(
        (sample / half("Radix", &[64.0, 8.0, 32.0]) - 1.0).abs() < 1e-9,
        "the hybrid has no spread of its own here"
    );
    let expected = half("Radix", &[5000.0, 8.0, 32.0]).hypot(2.0 * sample);
    assert!((half("Both", &[5000.0]) / expected - 1.0).abs() < 1e-9);
    // A call inside a call passes its spread on.
    let chain = set([sorts().models, vec![factored("Chain", &[], "Sample(Radix(64,8,32)*1e6)")]].concat())
        .resolve()
        .unwrap();
    let chain = chain.predict("Chain", 4, &[]).unwrap().half_width.get();
    assert!(
        (chain / sample.hypot(half("Radix", &[64.0, 8.0, 32.0]) * 1e6 * 2e-7) - 1.0).abs() < 1e-6,
        "{chain}"
    );
}

#[test]
fn models_of_any_number_of_nodes_read_it() {
    let any = Model {
        nodes: Nodes::ANY,
        ..fitted("A", &[], &[term("logP", 1.0), term("P", 0.5), term("sqrtP", 1.0)])
    };
    let resolved = set(vec![any]).resolve().unwrap();
    assert_eq!(resolved.seconds("A", 16, &[]), Some(4.0 + 8.0 + 4.0));
    assert_eq!(resolved.seconds("A", 1, &[]), Some(1.5));
    let some = |min, max| Model { nodes: Nodes { min, max }, ..fitted("A", &[], &[term("logP", 1.0)]) };
    let resolved = set(vec![some(2, 6), factored("B", &[], "A()*2")]).resolve().unwrap();
    let at = |nodes| resolved.seconds("B", nodes, &[]);
    assert_eq!((at(1), at(2), at(6), at(7)), (None, Some(2.0), Some(2.0 * 6f64.log2()), None));
    let read = ModelSet::read(&set(vec![some(2, 6)]).to_text()).unwrap();
    assert_eq!(read.models[0].nodes, Nodes { min: 2, max: 6 });
    let text = set(vec![some(2, 6)]).to_text().replace("[2, 6]", "[6, 2]");
    assert!(ModelSet::read(&text).unwrap_err().to_string().contains("no numbers of nodes from 6 to 2"));
    let apart =
        set(vec![some(2, 6), Model { name: "C".into(), ..some(7, 8) }, factored("B", &[], "A()+C()")]);
    let error = apart.resolve().unwrap_err().to_string();
    assert!(
        error.contains("is valid for 2 to 6 nodes, but calls `C`, which was measured on 7 to 8 nodes"),
        "{error}"
    );
    let fixed = set(vec![fitted("A", &[], &[term("logP", 1.0)])]).resolve().unwrap();
    assert_eq!((fixed.seconds("A", 4, &[]), fixed.seconds("A", 16, &[])), (Some(2.0), None));
}

#[test]
fn a_library_runs_from_a_set() {
    let set = sorts();
    let resolved = set.resolve().unwrap();
    let library = resolved.library("sort").unwrap();
    let radix = library.candidate("radix").unwrap();
    let inputs = [1000.0, 32.0];
    assert_eq!(library.seconds(radix, 4, &inputs, &[8]), resolved.seconds("Radix", 4, &[1000.0, 8.0, 32.0]));
    let (ours, direct) = (
        library.predict(radix, 4, &inputs, &[8]).unwrap(),
        resolved.predict("Radix", 4, &[1000.0, 8.0, 32.0]).unwrap(),
    );
    assert_eq!(ours.seconds, direct.seconds);
    assert!((ours.half_width.get() / direct.half_width.get() - 1.0).abs() < 1e-9);
    assert_eq!(library.formula(radix).unwrap().ranges, [(1.0, 1e6), (8.0, 64.0), (1.0, 16.0)]);
    assert_eq!(library.seconds(radix, 4, &inputs, &[17]), None);
    assert_eq!(library.seconds(radix, 4, &inputs, &[]), None);
    assert_eq!(library.seconds(1, 4, &[63.0, 32.0], &[]), None, "the candidate's own requirement");
    assert!(library.seconds(1, 4, &[64.0, 32.0], &[]).is_some());
    assert_eq!(library.seconds(2, 4, &inputs, &[]), None);
    assert_eq!(library.predict(0, 4, &[0.0; 40], &[1; 40]), None);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let base = sorts;
    let with = |change: &dyn Fn(&mut ModelSet)| {
        let mut set = base();
        change(&mut set);
        set.resolve().unwrap_err().to_string()
    };
    let all = [
        with(&|s| s.models[0].name = "7".into()),
        with(&|s| s.models[0].name = "Sample".into()),
        with(&|s| s.models[0].name = "sqrt".into()),
        with(&|s| s.models[0].inputs[0].name = "logP".into()),
        with(&|s| s.models[0].inputs[0].name = "width".into()),
        with(&|s| s.models[0].inputs[0].min = f64::NAN),
        with(&|s| s.models[0].terms[2].term = "keys*".into()),
        with(&|s| s.models[0].terms[2].term = "kyes".into()),
        with(&|s| s.models[0].terms[2].coefficient = f64::INFINITY),
        with(&|s| drop(s.models[0].covariance.pop())),
        with(&|s| s.models[0].noise_variance = -1.0),
        with(&|s| s.models[0].requires = vec!["Both(keys)>1".into()]),
        with(&|s| s.models[1].terms[1].term = "Radix(64)".into()),
        with(&|s| s.models[1].terms[1].term = "Quick(64)".into()),
        with(&|s| s.models[1].nodes = Nodes::known(8)),
        with(&|s| s.libraries[0].candidates[1].model = "Quick".into()),
        with(&|s| s.libraries[0].candidates[0].arguments[1] = "bit".into()),
        with(&|s| s.libraries[0].candidates[0].parameters[0].min = 99),
        with(&|s| s.libraries[0].candidates[1].name = "radix".into()),
        with(&|s| s.libraries[0].inputs[1] = "keys".into()),
        with(&|s| s.libraries.push(s.libraries[0].clone())),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// `Radix` alone, corrected by a table over its first input.
fn corrected() -> ModelSet {
    let mut set = sorts();
    set.models.truncate(1);
    set.libraries[0].candidates.truncate(1);
    let inputs = &set.models[0].inputs;
    let knots = vec![inputs[0].min, inputs[0].max];
    let axes = vec![Axis { input: inputs[0].name.clone(), round: false, knots }];
    set.models[0].correction = Some(Correction { samples: 12, axes, factors: vec![1.0, 2.0] });
    set
}

#[test]
fn a_correction_multiplies_the_time_and_its_interval() {
    let (plain, set) = (sorts().resolve().unwrap(), corrected());
    let name = set.models[0].name.clone();
    let back = ModelSet::read(&set.to_text()).unwrap();
    assert_eq!(back.models[0].correction, set.models[0].correction);
    let resolved = back.resolve().unwrap();
    let mut inputs: Vec<f64> = set.models[0].inputs.iter().map(|input| input.min).collect();
    let nodes = set.models[0].nodes.max.min(4);
    for (first, factor) in [(set.models[0].inputs[0].min, 1.0), (set.models[0].inputs[0].max, 2.0)] {
        inputs[0] = first;
        let (before, after) = (plain.predict(&name, nodes, &inputs), resolved.predict(&name, nodes, &inputs));
        assert_eq!(after, before.unwrap().times(factor));
        let slope = |models: &strata_model::Resolved| {
            models.sensitivity(&name, nodes, &inputs).unwrap().parts[0].1[0]
        };
        assert_eq!(slope(&resolved), factor * slope(&plain));
    }
}

#[test]
fn a_correction_that_cannot_be_is_refused() {
    let with = |change: &dyn Fn(&mut Correction)| {
        let mut set = corrected();
        change(set.models[0].correction.as_mut().unwrap());
        set.resolve().unwrap_err().to_string()
    };
    let all = [
        with(&|c| c.axes[0].input = "other".into()),
        with(&|c| c.axes[0].knots.reverse()),
        with(&|c| c.axes.clear()),
        with(&|c| c.axes.push(c.axes[0].clone())),
        with(&|c| c.factors.truncate(1)),
        with(&|c| c.factors[0] = 0.0),
        {
            let mut set = corrected();
            let call =
                format!("{}({})", set.models[0].name, vec!["64"; set.models[0].inputs.len()].join(","));
            set.models.push(factored("Caller", &[], &call));
            set.resolve().unwrap_err().to_string()
        },
        {
            let mut set = corrected();
            set.models[0].contrast = Some(Contrast { deviation: -1.0, reach: 0.1 });
            set.resolve().unwrap_err().to_string()
        },
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn text_that_is_no_set_is_refused() {
    let message = |text: &str| ModelSet::read(text).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            message(""),
            message("strata-models = 2\n"),
            message("strata-models = 1\nmodels = 3\n"),
            message("strata-models = 1\n[[models]]\nnme = \"A\"\n"),
            message("strata-models = \n"),
        ]
        .join("\n----\n")
    );
}

#[test]
fn no_set_exhausts_the_stack_or_the_memory() {
    // A long chain, each model calling the one before.
    let chain = |length: usize| {
        let mut models = vec![fitted("M0", &[input("x", 0.0, 1.0)], &[term("x", 1.0)])];
        models.extend(
            (1..length)
                .map(|n| factored(&format!("M{n}"), &[input("x", 0.0, 1.0)], &format!("M{}(x)", n - 1))),
        );
        models
    };
    for reversed in [false, true] {
        let mut models = chain(10_000);
        if reversed {
            models.reverse();
        }
        // Names must be found quickly, too: this set is large.
        let error = set(models).resolve().unwrap_err().to_string();
        assert!(error.contains("call each other in a chain"), "{error}");
    }
    let resolved = set(chain(MAX_CHAIN)).resolve().unwrap();
    assert!(resolved.predict(&format!("M{}", MAX_CHAIN - 1), 4, &[0.5]).is_some());
    // Each model calls the one before twice: its size doubles.
    for body in ["M{}(x)+M{}(x+1)", "M{}(x+x)", "M{}(M{}(x))", "0*M{}(x)+Drop(M{}(x)+M{}(x+1))"] {
        let mut models = chain(1);
        models.push(fitted("Drop", &[input("x", 0.0, 1e9)], &[term("1", 1.0)]));
        models.extend((1..60).map(|n| {
            factored(&format!("M{n}"), &[input("x", 0.0, 1e9)], &body.replace("{}", &(n - 1).to_string()))
        }));
        match set(models).resolve() {
            Err(error) => assert!(
                error.to_string().contains("too large") || error.to_string().contains("one after"),
                "{error}"
            ),
            Ok(resolved) => assert!(resolved.predict("M59", 4, &[0.0]).is_some() || body.contains("M{}(M{}")),
        }
    }
    // Many inputs, terms and calls.
    let inputs: Vec<_> = (0..100).map(|n| input(&format!("x{n}"), 0.0, 1.0)).collect();
    assert!(set(vec![fitted("A", &inputs, &[])]).resolve().is_err());
    let terms: Vec<_> = (0..100).map(|n| term(&format!("x+{n}"), 1.0)).collect();
    assert!(set(vec![fitted("A", &[input("x", 0.0, 1.0)], &terms)]).resolve().is_err());
    let calls: Vec<_> = (0..100).map(|n| format!("M0({n})")).collect();
    assert!(set([chain(1), vec![factored("A", &[], &calls.join("+"))]].concat()).resolve().is_err());
}

#[test]
fn an_incumbent_that_is_no_way_is_refused() {
    let text = |incumbent: &str| {
        let library = format!(
            "[[libraries]]\nname = \"l\"\ninputs = []\nincumbent = {incumbent}\n\n[[libraries.candidates]]\nname = \"a\"\n\
             model = \"M\"\narguments = []\n"
        );
        format!("{}\n{library}", set(vec![factored("M", &[], "1")]).to_text())
    };
    let fault = |incumbent: &str| match ModelSet::read(&text(incumbent)) {
        Ok(set) => set.resolve().err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    assert_eq!(fault("{ candidate = \"a\", gain = 0.1 }"), None);
    for (incumbent, said) in [
        ("{ candidate = \"b\", gain = 0.1 }", "its incumbent `b` is no candidate"),
        ("{ candidate = \"a\", parameters = [3], gain = 0.1 }", "its incumbent `a` has 0 parameters"),
        ("{ candidate = \"a\", gain = 1.5 }", "a share from 0 to 1"),
        ("{ candidate = \"a\" }", "gain"),
    ] {
        assert!(
            fault(incumbent).is_some_and(|fault| fault.contains(said)),
            "{incumbent}: {:?}",
            fault(incumbent)
        );
    }
}

fn awkward() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<u64>().prop_map(f64::from_bits),
        Just(-0.0),
        Just(5e-324),
        Just(1e300),
        Just(0.1 + 0.2)
    ]
}

proptest! {
    /// Every key there is, with any numbers and texts.
    #[test]
    fn any_set_reads_back(floats in prop::collection::vec(awkward(), 64), counts in any::<[u32; 8]>(), text: String) {
        let template = include_str!("../sets/every-key.toml");
        let (mut floats, mut counts) = (floats.iter().cycle(), counts.iter().cycle());
        let mut all = String::new();
        for (place, part) in template.split('@').enumerate() {
            let (hole, rest) = part.split_at(usize::from(place > 0));
            all += &match hole {
                "f" => floats.next().map_or(String::new(), |f| if f.is_nan() { "nan".into() } else { format!("{f:?}") }),
                "n" => counts.next().map_or(String::new(), ToString::to_string),
                "s" => toml_string(&text),
                _ => String::new(),
            };
            all += rest;
        }
        let set = ModelSet::read(&all).unwrap();
        prop_assert_eq!(set.to_text(), all);
        let _ = set.resolve();
    }

    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![".{0,80}", "strata-models = 1\n(\\[\\[models\\]\\]\n|name = \"a\"\n|terms = \\[\\]\n|\\[platform\\]\n|.{0,20}\n){0,8}"]) {
        if let Ok(set) = ModelSet::read(&text) {
            let _ = set.resolve();
        }
    }
}

#[test]
fn verdicts_reach_the_candidates() {
    let judged =
        |name: &str, verdict| Model { verdict, ..fitted(name, &[input("x", 0.0, 9.0)], &[term("x", 1.0)]) };
    let mut set = set(vec![
        judged("Good", Verdict::Verified),
        judged("Bad", Verdict::Failed),
        judged("Dim", Verdict::Doubtful),
        factored("Both", &[input("x", 0.0, 9.0)], "Good(x)+Bad(x)"),
        factored("Over", &[input("x", 0.0, 9.0)], "Dim(x)+Good(x)"),
        factored("Alone", &[input("x", 0.0, 9.0)], "2*x"),
        // The samples of a hybrid model include the calls, so its own verdict counts.
        Model {
            verdict: Verdict::Verified,
            ..fitted("Hybrid", &[input("x", 0.0, 9.0)], &[term("Bad(x)", 2.0)])
        },
    ]);
    let candidate = |model: &str| candidate(&model.to_lowercase(), model, &["x"]);
    let names = ["Good", "Bad", "Dim", "Both", "Over", "Alone", "Hybrid"];
    set.libraries = vec![library("lib", &["x"], names.map(candidate).to_vec())];
    let resolved = set.resolve().unwrap();
    let library = resolved.library("lib").unwrap();
    let verdicts: Vec<Verdict> = (0..names.len()).map(|c| library.about(c).verdict).collect();
    use Verdict::*;
    assert_eq!(verdicts, [Verified, Failed, Doubtful, Failed, Doubtful, Unverified, Verified]);
}

#[test]
fn a_range_that_depends_on_the_problem_and_the_machine() {
    let make = |platform: &str, inputs: &[&str], first: Option<&str>, last: &str| {
        let mut set =
            set(vec![fitted("Par", &[input("n", 0.0, 99.0), input("t", 1.0, 64.0)], &[term("n/t", 1e-6)])]);
        set.platform = platform.parse().ok();
        let ends = (first.map(str::to_owned), Some(last.to_owned()));
        let parameters = vec![ParameterRange { first: ends.0, last: ends.1, ..range("t", 64) }];
        let par = LibraryCandidate { parameters, ..candidate("par", "Par", &[inputs[0], "t"]) };
        set.libraries = vec![library("work", inputs, vec![par])];
        assert_eq!(ModelSet::read(&set.to_text()).unwrap(), set);
        set.resolve().map(|resolved| resolved.library("work").unwrap().clone())
    };
    let machine = "threads nodes=4 cores=8 cpu=\"\" cache=\"L1d:32K\" os=linux arch=x86_64";
    let par = make(machine, &["n"], Some("P/2"), "min(cores, n)").unwrap();
    let range = |cores, n| par.range(0, 0, 4, cores, &[n]);
    assert_eq!((range(usize::MAX, 50.0), range(3, 50.0)), (Some((2, 8)), Some((2, 3))));
    assert_eq!((range(64, 4.5), range(64, 1.0)), (Some((2, 4)), Some((2, 1))));
    assert_eq!((par.range(0, 1, 4, 1, &[1.0]), par.range(0, 0, 4, 1, &[])), (None, None));
    // A predicted time respects the range of the measured machine.
    let seconds = |n, t| par.seconds(0, 4, &[n], &[t]).is_some();
    assert_eq!([1, 2, 8, 9].map(|t| seconds(50.0, t)), [false, true, true, false]);
    assert_eq!([4, 5].map(|t| seconds(4.5, t)), [true, false]);
    let cached = make(machine, &["n"], None, "cache1/4096").unwrap();
    assert_eq!(cached.range(0, 0, 1, 1, &[1.0]), Some((1, 8)));
    // A word that the machine lacks makes the range empty; without a limit of cores the declared
    // number counts.
    let unknown = make(&machine.replace("L1d:32K", ""), &["n"], None, "cache1/4096").unwrap();
    assert!(unknown.range(0, 0, 1, 1, &[1.0]).is_some_and(|(min, max)| min > max));
    assert_eq!(unknown.seconds(0, 4, &[50.0], &[1]), None);
    assert_eq!(make("", &["n"], None, "cores").unwrap().range(0, 0, 1, usize::MAX, &[1.0]), Some((1, 64)));
    let simulated = machine.replace("threads", "sim:cm5");
    assert_eq!(make(&simulated, &["n"], None, "cores").unwrap().range(0, 0, 4, 9, &[1.0]), Some((1, 4)));
    // An input of the name hides the machine's word.
    assert_eq!(make(machine, &["cores"], None, "cores").unwrap().range(0, 0, 4, 1, &[20.0]), Some((1, 20)));
    for (bad, what) in [("t", "`t`"), ("x", "`x`"), ("1 +", "the end of a range"), ("Par(1, 1)", "Par")] {
        let error = make(machine, &["n"], None, bad).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("candidate `par`"), "{error}");
    }
}

#[test]
fn a_candidate_that_needs_processes_predicts_only_there() {
    let on = |transport: &str, inputs: &[&str]| {
        let text = format!("{transport} nodes=4 cores=4 cpu=\"\" cache=\"\" os=linux arch=x86_64");
        let mut set = set(vec![fitted("Post", &[input("n", 0.0, 9.0)], &[term("n", 1e-6)])]);
        set.platform = text.parse().ok();
        let requires = owned(&["processes"]);
        let post = LibraryCandidate { requires, ..candidate("post", "Post", &inputs[..1]) };
        set.libraries = vec![library("send", inputs, vec![post])];
        let set = ModelSet::read(&set.to_text()).unwrap();
        set.resolve().unwrap().library("send").unwrap().seconds(0, 4, &[2.0], &[])
    };
    assert_eq!(on("mpi", &["n"]), Some(2e-6));
    assert_eq!((on("threads", &["n"]), on("sim:cm5", &["n"])), (None, None));
    assert_eq!(on("threads", &["processes"]), Some(2e-6), "an input's name goes before");
}
