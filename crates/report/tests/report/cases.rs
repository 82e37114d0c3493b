//! What the tests make pages of.

use std::fmt::Write;

use strata_fit::{FitOptions, Fitted, fit_samples};
use strata_model::set::{Kind, Library, Model};
use strata_model::{ModelSet, Samples};
use strata_report::{Axis, Cell, Crossing, Curve, Curves, Help, Judged, Map, Measured, Report};
use strata_select::Odds;

/// Few samples, some of them for verification, of a machine and a spec with hostile names.
pub(crate) const SAMPLES: &str = "strata-samples 1\n\
    platform threads nodes=4 cores=2 cpu=\"A <b>&'fast' CPU\" cache=\"L1d:32K\" os=linux arch=x86_64\n\
    spec specs/a&b<c>.spec sha256=00ff\n\
    model Clear length logP length*logP max(0,length-100)\n\
    Clear 1.01e-6 10 2 20 0\nClear 2.0e-6 20 2 40 0\nClear 4.02e-6 40 2 80 0\nClear 8.0e-6 80 2 160 0 ; repeats=3 preempted=2\n\
    Clear 16.1e-6 160 2 320 60\nClear 32e-6 320 2 640 220\n@Clear 5.0e-6 50 2 100 0\n@Clear 21e-6 210 2 420 110\n";

/// Everything that a page is made of.
pub(crate) struct Case {
    pub(crate) set: ModelSet,
    pub(crate) samples: Samples,
    pub(crate) fitted: Vec<Fitted>,
    pub(crate) failures: Vec<String>,
    pub(crate) maps: Vec<Map>,
    pub(crate) curves: Vec<Curves>,
    pub(crate) judged: Vec<Judged>,
    pub(crate) help: Vec<Help>,
}

impl Case {
    /// The samples of a text, fitted by their columns.
    pub(crate) fn of(text: &str) -> Self {
        Self::fitted(text, &FitOptions::default())
    }

    pub(crate) fn fitted(text: &str, options: &FitOptions) -> Self {
        let samples = Samples::parse(text, "test").unwrap();
        let (mut fitted, mut failures) = (Vec::new(), Vec::new());
        for outcome in fit_samples(&samples, options) {
            match outcome {
                Ok(one) => fitted.push(one),
                Err(error) => failures.push(error.to_string()),
            }
        }
        let set = ModelSet {
            platform: samples.platform.clone(),
            spec: samples.spec.clone(),
            kinds: strata_model::Kinds::new(),
            samples_sha256: "ab".repeat(32),
            code_sha256: String::new(),
            busy: samples.busy,
            models: fitted.iter().map(|f| f.model.clone()).collect(),
            libraries: vec![Library {
                incumbent: None,
                equal: Vec::new(),
                regret: None,
                name: "clear".into(),
                inputs: vec!["length".into()],
                candidates: Vec::new(),
            }],
        };
        let (maps, curves, judged, help) = Default::default();
        Self { set, samples, fitted, failures, maps, curves, judged, help }
    }

    /// The page as a reader would search it: with plain spaces before per cent signs.
    pub(crate) fn text(&self) -> String {
        self.html().replace('\u{a0}', " ")
    }

    pub(crate) fn html(&self) -> String {
        let Self { set, samples, fitted, failures, maps, curves, judged, help } = self;
        Report { set, samples, fitted, failures, maps, curves, judged, help }.html()
    }
}

/// A small page with names that are markup.
pub(crate) fn hostile() -> Case {
    let judged = |library: &str, inputs: &[(&str, f64)], loss| Judged {
        library: library.into(),
        inputs: inputs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        at: inputs.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", "),
        chosen: "by<words>:7".into(),
        loss,
    };
    let judged = vec![
        judged("cl<ea>r", &[("length", 5.0), ("width", 7.0)], 0.01),
        judged("cl<ea>r", &[("length", 100.0), ("width", 9.0)], 0.3),
        judged("sort <i>", &[("keys <x>", 4096.0), ("width", 20.0)], 0.07),
    ];
    let help = Help {
        library: "cl<ea>r".into(),
        unsure: vec!["length = 4 to 6 (by<words> or by bytes)".into()],
        samples: vec!["Clear at e = 4".into(), "Clear at e = 7".into()],
        loss: Some((0.02, 0.01)),
    };
    Case { maps: vec![map()], curves: vec![curves()], judged, help: vec![help], ..Case::of(SAMPLES) }
}

fn crossing(at: f64, across: Option<f64>) -> Crossing {
    let (from, to) = ("by bytes".into(), "by<words>:4..7".into());
    Crossing { at, label: at.to_string(), across, seconds: Some(at * 1e-6), from, to }
}

/// Three candidates along one input: one predicts nothing beyond the middle, one nothing at all.
fn curves() -> Curves {
    let predicted = |n: i32, slope: f64| {
        let at = |k: i32| 2f64.powi(k);
        (0..n).map(|k| (at(k), slope * at(k), 0.2 * slope * at(k))).collect()
    };
    let told = |value: f64| format!("length = {value}, <logP> = 2: 2 µs, predicted 3 µs");
    let measured = |value: f64, seconds, verify| Measured { value, seconds, verify, told: told(value) };
    Curves {
        library: "cl<ea>r".into(),
        input: "length".into(),
        held: "width = 7".into(),
        curves: vec![
            Curve {
                candidate: "by<words>".into(),
                predicted: predicted(10, 1e-6),
                measured: vec![measured(2.0, 2.1e-6, false), measured(64.0, 6e-5, true)],
            },
            Curve { candidate: "by bytes".into(), predicted: predicted(5, 3e-6), measured: Vec::new() },
            Curve { candidate: "not measured".into(), predicted: Vec::new(), measured: Vec::new() },
        ],
        // Neighbours whose labels would overlap.
        crossings: vec![crossing(5.0, None), crossing(5.5, None), crossing(40.0, None)],
        caption: None,
    }
}

/// No models, no samples, and a map without cells.
pub(crate) fn empty() -> Case {
    let map = Map {
        cells: Vec::new(),
        y: Axis { name: "y".into(), values: Vec::new(), names: Vec::new() },
        ..map()
    };
    let (set, samples, fitted, failures, curves, judged, help) = Default::default();
    Case { set, samples, fitted, failures, maps: vec![map], curves, judged, help }
}

/// A model of each verdict, one that cannot be fitted, a formula, an input of one value, a long
/// name.
pub(crate) fn every_kind() -> Case {
    let mut text = String::from("strata-samples 1\n");
    let mut add = |name: &str, columns: &str, rows: &[(bool, f64, &[f64])]| {
        writeln!(text, "model {name} {columns}").unwrap();
        for (verify, seconds, values) in rows {
            let values: Vec<String> = values.iter().map(f64::to_string).collect();
            writeln!(text, "{}{name} {seconds:e} {}", if *verify { "@" } else { "" }, values.join(" "))
                .unwrap();
        }
    };
    let long = "an_input_whose_name_is_longer_than_any_label_that_a_plot_has_room_for";
    let line = |verify: bool, n: f64, off: f64| (verify, 1e-6 * (n + 3.0) * off, n);
    let rows: Vec<_> = (1..30).map(|i| line(i % 5 == 0, f64::from(i * i), 1.0)).collect();
    let rows: Vec<(bool, f64, &[f64])> =
        rows.iter().map(|(v, t, n)| (*v, *t, std::slice::from_ref(n))).collect();
    add("Verified", long, &rows);
    let unverified: Vec<_> = rows.iter().filter(|r| !r.0).copied().collect();
    add("Unverified", "n", &unverified);
    let failed: Vec<_> = rows.iter().map(|r| if r.0 { (true, r.1 * 2.0, r.2) } else { *r }).collect();
    add("Failed", "n", &failed);
    add("OneSample", "n", &rows[..1]);
    let constant: Vec<(bool, f64, [f64; 2])> = rows
        .iter()
        .enumerate()
        .map(|(i, r)| (r.0, r.1 * (1.0 + 0.01 * (i % 3) as f64), [r.2[0], 7.0]))
        .collect();
    let constant: Vec<_> = constant.iter().map(|(v, t, x)| (*v, *t, &x[..])).collect();
    add("OneValue", "n (width)", &constant);
    let mut case = Case::of(&text);
    let expression = "Verified(n) + 2*Unverified(n)".to_owned();
    case.set.models.push(Model {
        name: "Formula".into(),
        kind: Kind::Factored { expression },
        ..Model::default()
    });
    case
}

/// So many models of so many samples each, over three inputs.
pub(crate) fn many(models: usize, samples: usize) -> Case {
    let mut text = String::from("strata-samples 1\n");
    for model in 0..models {
        writeln!(text, "model Model{model} n m (k)").unwrap();
        for i in 0..samples {
            // Scattered without a random number: the fractional parts of multiples of the golden
            // section.
            let noise = 0.95 + 0.1 * (0.618_034 * (i + model) as f64).fract();
            let (n, m, k) = (1 + i % 97, 1 + i % 13, i);
            let mark = if i % 4 == 3 { "@" } else { "" };
            let seconds = 1e-6 * (5.0 + n as f64 + 20.0 * m as f64) * noise;
            writeln!(text, "{mark}Model{model} {seconds:e} {n} {m} {k}").unwrap();
        }
    }
    Case::of(&text)
}

/// A small map with names that are markup; one choice is not sure.
pub(crate) fn map() -> Map {
    let cell = |winner, fastest| Cell {
        winner,
        parameters: vec![11],
        tied: Vec::new(),
        seconds: Ok(1e-6),
        odds: Some(Odds { fastest, loss: 1e-7 }),
    };
    let first = Cell { seconds: Err("the first that <applies>".into()), odds: None, ..cell(1, 0.0) };
    Map {
        library: "sort <i>".into(),
        fixed: "P = 4 & more".into(),
        x: Axis { name: "keys <x>".into(), values: vec![16.0, 1024.0, 1_048_576.0], names: Vec::new() },
        y: Axis { name: "width".into(), values: vec![8.0, 64.0], names: Vec::new() },
        candidates: vec!["radix".into(), "sample".into()],
        parameters: vec![vec!["bits".into()], Vec::new()],
        cells: vec![
            vec![cell(0, 1.0), cell(1, 0.7), first],
            vec![cell(1, 0.99), cell(1, 0.95), cell(0, 1.0)],
        ],
        crossings: vec![crossing(900.0, Some(8.0))],
    }
}
