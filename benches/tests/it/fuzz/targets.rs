//! Formats, and what holds for every input of each.

use std::fmt::Debug;

use strata_comet::{Results, formats, machine_file, report};
use strata_develop::drawing::{Flight, Timeline, perfetto};
use strata_develop::log::{Log, MAX_TEXT, Standing};
use strata_develop::trace::Trace;
use strata_fit::{Elimination, FitOptions, Robust, Search, Weights, emit as rust};
use strata_interchange::{Format, HoldOut, Selection, TimeColumn, emit, json_lines};
use strata_model::expr::{Program, parse as parse_expr};
use strata_model::samples::{Column, ModelSamples, Sample};
use strata_model::{ModelSet, Plan, Platform, Points, Samples, Seconds, SpecId, sha256_hex};
use strata_report::{Report, fit_json, residuals_to};
use strata_runtime::Machine;
use strata_select::{Pin, choice::Pins};
use strata_sim::platform::SimulatedMachine;
use strata_sim::topology::Graph;
use strata_tune::{Knob, Mode, Options, Tuner};

use specc::competition::Competition;
use specc::drive::On;
use specc::fitting::{Overrides, fit};
use specc::points::plan;
use specc::{curves, lang, map};

use super::specs::try_everything;

pub(crate) struct Target {
    /// Its name, and that of its folders.
    pub(crate) name: &'static str,
    /// Its share of the time, beside those of the others: inputs of some take long.
    pub(crate) share: u32,
    /// Panics where a law is broken. True if the input is one of the format.
    pub(crate) check: fn(&[u8]) -> bool,
}

impl Target {
    /// What is put into inputs, besides what all formats know: `words.txt`, a line a format, with tabs
    /// between.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut lines = include_str!("words.txt").lines().map(|line| line.split('\t'));
        let words = lines.find_map(|mut words| (words.next() == Some(self.name)).then_some(words));
        let plain = |word: &str| word.replace("\\n", "\n").replace("\\\\", "\\");
        words.into_iter().flatten().map(plain).collect()
    }
}

pub(crate) const TARGETS: [Target; 13] = [
    Target { name: "specs", share: 5, check: specs },
    Target { name: "models", share: 3, check: models },
    Target { name: "samples", share: 3, check: samples },
    Target { name: "imports", share: 3, check: imports },
    Target { name: "platforms", share: 1, check: platforms },
    Target { name: "plans", share: 1, check: plans },
    Target { name: "logs", share: 1, check: logs },
    Target { name: "traces", share: 1, check: traces },
    Target { name: "tuners", share: 1, check: tuners },
    Target { name: "comet", share: 1, check: comet },
    Target { name: "expressions", share: 1, check: expressions },
    Target { name: "pins", share: 1, check: pins },
    Target { name: "options", share: 1, check: options },
];

/// That what was printed of a value gives the same value.
#[track_caller]
fn same(one: &impl Debug, other: &impl Debug, text: &str) {
    // As text, so that NaN is equal to itself; zero is, whatever its sign.
    let plain = |value: &dyn Debug| {
        let ends = [",", " ", ")", "]", "}"].into_iter();
        ends.fold(format!("{value:?}"), |text, end| text.replace(&format!("-0.0{end}"), &format!("0.0{end}")))
    };
    let (one, other) = (plain(one), plain(other));
    if one != other {
        let at = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let part = |of: &str| {
            String::from_utf8_lossy(&of.as_bytes()[at.saturating_sub(60)..]).chars().take(160).collect()
        };
        let [one, other]: [String; 2] = [part(&one), part(&other)];
        panic!("read:    … {one}\nwritten: … {other}\nprinted as {text}");
    }
}

fn specs(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let accepted = try_everything(&text);
    let Ok(spec) = lang::load("any.spec", &text) else { return accepted };
    for model in &spec.models {
        let columns = model.columns();
        let row = Sample { seconds: 1e-6, values: vec![1.0; columns.len()], ..Sample::default() };
        let model =
            ModelSamples { name: model.name.clone(), columns, rows: vec![row], ..ModelSamples::default() };
        keeps_samples(&Samples { models: vec![model], ..Samples::default() });
    }
    if let Ok((run, _)) = plan(&spec, 4, 1, &Points::default())
        && run.models.iter().map(|model| model.points.len()).sum::<usize>() < 2000
    {
        let id = SpecId { path: "any.spec".to_owned(), sha256: sha256_hex(input) };
        let plan = Plan { spec: id, runs: vec![run] };
        let text = plan.to_text();
        same(&Plan::parse(&text, "plan.txt").expect("what was planned is read"), &plan, &text);
    }
    accepted
}

fn models(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let Ok(set) = ModelSet::read(&text) else { return false };
    keeps_models(&set);
    use_models(&set);
    true
}

/// A set that is written can be read.
fn keeps_models(set: &ModelSet) {
    let text = set.to_text();
    same(&ModelSet::read(&text).expect("a set that was written is read"), set, &text);
}

fn use_models(set: &ModelSet) {
    let Ok(resolved) = set.resolve() else { return };
    for model in &set.models {
        let at = |part: fn(&strata_model::set::Input) -> f64| -> Vec<f64> {
            model.inputs.iter().map(part).collect()
        };
        for inputs in
            [at(|input| input.min), at(|input| input.max), at(|input| input.min / 2.0 + input.max / 2.0)]
        {
            let predicted = resolved.predict(&model.name, set.nodes(), &inputs);
            assert!(predicted.is_none_or(|p| p.seconds.get().is_finite() && p.seconds.get() >= 0.0));
            let _ = resolved.sensitivity(&model.name, set.nodes(), &inputs);
            let _ = resolved.extrapolates(&model.name, set.nodes(), &inputs);
        }
        let _ = (model.quality(), resolved.formula(&model.name));
    }
    let one = std::slice::from_ref(set);
    for source in [rust::rust(one), rust::standalone(one, false)].into_iter().flatten() {
        syn::parse_file(&source).unwrap_or_else(|error| panic!("{error} in\n{source}"));
    }
    let _ = (emit::c(set, "strata"), emit::python(set));
    for library in resolved.libraries() {
        let Ok(competition) = Competition::new(set, library.name()) else { continue };
        let middle: Vec<f64> = (0..competition.inputs().len())
            .map(|input| competition.range(input))
            .map(|(low, high)| low / 2.0 + high / 2.0)
            .collect();
        for inputs in [vec![1.0; middle.len()], middle] {
            if let Ok(choice) = competition.choose(&inputs, None) {
                competition.odds(&inputs, &choice);
            }
            competition.predictions(&inputs);
        }
    }
}

fn samples(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    if let Ok(partial) = Samples::parse_partial(&text, "samples.txt") {
        assert!(partial.bytes <= text.len());
    }
    let _ = Samples::read(input, "samples.txt");
    let Ok(samples) = Samples::parse(&text, "samples.txt") else { return false };
    keeps_samples(&samples);
    keeps_results(&Results::of(&samples));
    let fitting = fit(&samples, String::new(), None, &Overrides::default());
    keeps_models(&fitting.set);
    use_models(&fitting.set);
    let competitions: Vec<Competition> = fitting
        .set
        .libraries
        .iter()
        .filter_map(|library| Competition::new(&fitting.set, &library.name).ok())
        .collect();
    let maps: Vec<_> = competitions.iter().filter_map(|one| map::compute(one, &[]).ok()).collect();
    let curves: Vec<_> = competitions.iter().flat_map(|one| curves::compute(one, &fitting.fitted)).collect();
    let (set, fitted, failures) = (&fitting.set, &fitting.fitted, &fitting.failures);
    let (maps, curves) = (&maps, &curves);
    let page =
        Report { set, samples: &samples, fitted, failures, maps, curves, judged: &[], help: &[] }.html();
    assert!(page.ends_with("</html>\n"), "the page has no end");
    serde_json::from_str::<serde_json::Value>(&fit_json(set)).expect("JSON");
    residuals_to(&mut Vec::new(), fitted).expect("writing to memory does not fail");
    true
}

/// Samples that are written can be read, but for the numbers of lines, and numbers of nodes that no
/// sample has. Rows go by their numbers of nodes.
fn keeps_samples(samples: &Samples) {
    let text = samples.to_text();
    let again = Samples::parse(&text, "samples.txt").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let mut rows = samples.models.iter().flat_map(|model| &model.rows);
    if samples.platform.is_some() && samples.node_counts().is_empty() && rows.next().is_some() {
        // All stands before the first platform line, and is written after it.
        return;
    }
    let kept = |samples: &Samples| {
        let mut samples = Samples { doubts: Vec::new(), ..samples.clone() };
        if let (Some(platform), Some(again)) = (&mut samples.platform, &again.platform) {
            platform.nodes = again.nodes;
        }
        for model in &mut samples.models {
            model.rows.iter_mut().for_each(|row| row.line = 0);
            model.rows.sort_by_key(|row| row.notes.nodes);
        }
        samples
    };
    same(&kept(&again), &kept(samples), &text);
}

fn imports(input: &[u8]) -> bool {
    let mut accepted = false;
    let selections = [
        Selection::default(),
        Selection { hold_out: Some(HoldOut::Share(0.2)), ..Selection::default() },
        Selection { model_columns: vec!["model".to_owned()], ..Selection::default() },
        Selection {
            time: Some(TimeColumn { name: "t".to_owned(), unit: strata_model::Unit::SECONDS, scale: 1e-3 }),
            ..Selection::default()
        },
    ];
    let detected = ["runs.csv", "runs.txt", "runs.json", "runs.jsonl", "platform.csv"];
    let named = Format::ALL.into_iter().map(|format| ("runs", Some(format)));
    for (file, format) in detected.into_iter().map(|file| (file, None)).chain(named) {
        for selection in &selections {
            match strata_interchange::read(input, file, format, selection) {
                Err(errors) => {
                    assert!(!errors.errors.is_empty());
                    assert!(errors.errors.iter().all(|error| error.line > 0 && error.column > 0), "{errors}");
                }
                Ok(imported) => {
                    accepted = true;
                    let samples = &imported.samples;
                    for model in &samples.models {
                        assert!(model.rows.iter().all(|row| row.values.len() == model.columns.len()));
                        if imported.format != Format::Strata {
                            assert!(
                                model.rows.iter().all(|row| row.seconds >= 0.0 && row.seconds.is_finite())
                            );
                            assert!(model.columns.iter().all(Column::is_input), "{:?}", model.columns);
                        }
                        let _ = json_lines(samples, Some(&model.name));
                    }
                    keeps_samples(samples);
                }
            }
        }
    }
    accepted
}

fn platforms(input: &[u8]) -> bool {
    match SimulatedMachine::parse("machine.toml", input) {
        Ok(machine) => {
            for nodes in [1, 2, 16] {
                let _ = Graph::new(&machine, nodes).map(|graph| (graph.diameter(), graph.bisection()));
                let _ = strata_sim::Figures::new(&machine, nodes);
            }
            true
        }
        Err(faults) => {
            assert!(!faults.faults.is_empty());
            for fault in &faults.faults {
                assert!(faults.text.get(fault.span.clone()).is_some(), "{fault:?}");
                let (line, column) = faults.place(fault);
                assert!(line >= 1 && column >= 1);
            }
            let _ = faults.to_string();
            false
        }
    }
}

fn plans(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let points = Points::parse(&text, "plan.txt").inspect(|points| {
        let text = points.to_text();
        same(&Points::parse(&text, "points.txt").expect("points that were written are read"), points, &text);
    });
    // Its first line has the hash of all others, which a mutation never meets.
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    let hashed = format!("strata-plan 1 sha256={}\n{rest}", sha256_hex(rest.as_bytes()));
    let accepted = [&text, &*hashed].map(|text| {
        Plan::parse(text, "plan.txt").is_ok_and(|plan| {
            let text = plan.to_text();
            same(&Plan::parse(&text, "plan.txt").expect("a plan that was written is read"), &plan, &text);
            true
        })
    });
    points.is_ok() || accepted.contains(&true)
}

fn logs(input: &[u8]) -> bool {
    let Ok(log) = Log::parse(input, "node-0000.log") else { return false };
    let text = log.to_string();
    // Longer texts are cut where they are written.
    if text.lines().all(|line| line.len() <= MAX_TEXT) {
        let again = Log::parse(text.as_bytes(), "again").expect("a log that was written is read");
        same(&again, &Log { torn: false, ..log.clone() }, &text);
    }
    let _ = strata_develop::log::standing::Report(&Standing::of_logs(&[log.clone(), log])).to_string();
    true
}

fn traces(input: &[u8]) -> bool {
    let Ok(trace) = Trace::parse(input, "node-0000.trace") else { return false };
    let text = trace.to_string();
    let again = Trace::parse(text.as_bytes(), "again").expect("a trace that was written is read");
    same(&again, &Trace { torn: false, ..trace.clone() }, &text);
    let timeline = Timeline::new(&[trace.clone(), trace]);
    let _ = timeline.totals();
    let _ = (timeline.state_graph(), timeline.flight_graph());
    let json = perfetto(&timeline);
    serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let _ = (Flight::packets(&timeline).most(), Flight::puts(&timeline).most());
    true
}

fn tuners(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let tuner = |mode: Mode, text: &str| {
        Tuner::for_team("fuzz", Options::of(mode), 1, Some(text)).expect("the options are right")
    };
    let mut used = tuner(Mode::Use("any".into()), &text);
    let mut one = tuner(Mode::Tune(None), &text);
    let accepted = one.notes().is_empty();
    let knob = Knob::new("block", 64, [16, 256, 1024]);
    for _ in 0..30 {
        one.pick(&knob);
        used.pick(&knob);
    }
    for tuner in [&one, &used] {
        let _ = tuner.report().to_string();
        assert!(tuner.graph_svg().ends_with("</svg>\n"));
    }
    let kept = one.state_text();
    let again = tuner(Mode::Tune(None), &kept);
    assert_eq!(again.notes(), [""; 0], "{kept}");
    accepted
}

fn comet(input: &[u8]) -> bool {
    let Ok(results) = serde_json::from_slice::<Results>(input) else { return false };
    keeps_results(&results);
    for kernel in &results.kernels {
        kernel.points.iter().for_each(|point| drop(report::notes(point)));
    }
    let _ = (report::table(&results), report::csv(&results), report::json_lines(&results));
    let _ = (formats::osu(&results), formats::imb(&results), report::rules(&results));
    if let Some(machine) = machine_file::platform(&results) {
        SimulatedMachine::parse("here.toml", machine.as_bytes()).unwrap_or_else(|faults| panic!("{faults}"));
    }
    true
}

/// Results that are written can be read.
fn keeps_results(results: &Results) {
    let text = results.to_json();
    let again: Results = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    same(&again, results, &text);
}

fn expressions(input: &[u8]) -> bool {
    const NAMES: [&str; 5] = ["x", "y", "P", "logP", "sqrtP"];
    let text = String::from_utf8_lossy(input);
    let expr = match parse_expr(&text) {
        Ok(expr) => expr,
        Err(error) => {
            assert!(text.get(error.span.start..error.span.end).is_some(), "{error:?}");
            return false;
        }
    };
    let printed = expr.to_string();
    same(&parse_expr(&printed).expect("what was printed is read").to_string(), &printed, &printed);
    assert_eq!(parse_expr(&printed).as_ref(), Ok(&expr), "{printed}");
    let _ = (expr.folded(), expr.measure(), expr.names(), expr.to_rust(&str::to_owned));
    for values in [[0.0, 1.0, 2.0, 1.0, 1.5], [-3.5, 1e308, 64.0, 6.0, 8.0]] {
        let value = |name: &str| NAMES.iter().position(|known| *known == name).map(|at| values[at]);
        let (tree, program) = (expr.eval(&value), Program::compile(&expr, &NAMES));
        if let (Ok(tree), Ok(program)) = (tree, program) {
            let compiled = program.eval(&values);
            assert!(tree == compiled || tree.is_nan() && compiled.is_nan(), "{printed}: {tree}, {compiled}");
        }
    }
    true
}

fn pins(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    match Pins::parse(&text) {
        Ok(pins) => {
            for pin in pins.iter() {
                let text = pin.to_string();
                assert_eq!(Pin::parse(&text), Ok(pin));
                assert_eq!(pins.get(pin.library), Some(pin));
            }
            let _ = pins.meant_for("sort");
            true
        }
        Err(error) => {
            let _ = error.to_string();
            false
        }
    }
}

/// Values of options and of environment variables.
fn options(input: &[u8]) -> bool {
    let text = &*String::from_utf8_lossy(input);
    let mut accepted = false;
    if let Ok(on) = text.parse::<On>() {
        assert_eq!(on.to_string().parse().as_ref(), Ok(&on));
        accepted = true;
    }
    if let Ok(options) = FitOptions::read(text) {
        let written = options.to_text();
        same(&FitOptions::read(&written).expect("options that were written are read"), &options, &written);
        accepted = true;
    }
    if let Ok(platform) = text.parse::<Platform>() {
        assert_eq!(platform.to_string().parse().as_ref(), Ok(&platform));
        accepted = true;
    }
    // A path could name a device.
    if !text.contains('/') {
        accepted |= text.parse::<Machine>().is_ok();
    }
    accepted |= text.parse::<Seconds>().is_ok_and(|seconds| seconds.to_string().parse::<Seconds>().is_ok());
    accepted |= text.parse::<TimeColumn>().is_ok_and(|column| column.scale > 0.0);
    accepted |= text.parse::<strata_select::table::Step>().is_ok();
    accepted |= Mode::parse(text).is_ok();
    let _ = (text.parse::<HoldOut>(), text.parse::<Format>(), text.parse::<Weights>());
    let _ = (text.parse::<Elimination>(), text.parse::<Robust>(), text.parse::<Search>());
    accepted
}
