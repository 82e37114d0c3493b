//! Model set to TOML, the same text for equal sets: nodes and generated code compare its hash.
//!
//! Written by hand rather than through serde, for the layout: one line a term, one line a row of
//! the covariance.

use std::fmt::Write;

use crate::codegen::toml_string;

use super::{
    Bound, Constant, Correction, Incumbent, Input, Kind, Library, Model, ModelSet, Named, Nodes,
    ParameterRange, Regret, Step, Term, VERSION,
};

impl ModelSet {
    /// The set as TOML. Reads back equal, floats to the bit.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = Text(String::new());
        out.entry("strata-models", &VERSION.to_string());
        out.entry("samples_sha256", &toml_string(&self.samples_sha256));
        if !self.code_sha256.is_empty() {
            out.entry("code_sha256", &toml_string(&self.code_sha256));
        }
        if self.busy > 0.0 {
            out.float("busy", self.busy);
        }
        let kinds: Vec<_> = self.kinds.iter().collect();
        out.list("kinds", &kinds, |(input, names)| {
            format!("{{ input = {}, names = {} }}", toml_string(input), strings(names))
        });
        if let Some(p) = &self.platform {
            out.head("[platform]");
            out.entry("transport", &toml_string(&p.transport));
            out.entry("nodes", &p.nodes.to_string());
            if let Some(hosts) = p.hosts {
                out.entry("hosts", &toml_string(&hosts.to_string()));
            }
            out.entry("cpu", &toml_string(&p.cpu));
            out.entry("cores", &p.cores.to_string());
            out.entry("cache", &toml_string(&p.cache));
            out.entry("os", &toml_string(&p.os));
            out.entry("arch", &toml_string(&p.arch));
        }
        if let Some(spec) = &self.spec {
            out.head("[spec]");
            out.entry("path", &toml_string(&spec.path));
            out.entry("sha256", &toml_string(&spec.sha256));
        }
        for model in &self.models {
            out.model(model);
        }
        for library in &self.libraries {
            out.library(library);
        }
        out.0
    }
}

struct Text(String);

impl Text {
    fn head(&mut self, head: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "\n{head}\n");
    }

    fn entry(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn float(&mut self, key: &str, value: f64) {
        self.entry(key, &float(value));
    }

    fn count(&mut self, key: &str, value: usize) {
        self.entry(key, &value.to_string());
    }

    /// A list with one line for each item; an empty list is omitted.
    fn list<T>(&mut self, key: &str, items: &[T], show: impl Fn(&T) -> String) {
        if items.is_empty() {
            return;
        }
        let _ = writeln!(self.0, "{key} = [");
        for item in items {
            let _ = writeln!(self.0, "    {},", show(item));
        }
        self.0.push_str("]\n");
    }

    fn model(&mut self, model: &Model) {
        self.head("[[models]]");
        self.entry("name", &toml_string(&model.name));
        self.list("inputs", &model.inputs, input);
        self.list("requires", &model.requires, |text| toml_string(text));
        self.list("follows", &model.follows, named);
        self.list("names", &model.names, named);
        match &model.kind {
            Kind::Fitted => {}
            Kind::Factored { expression } => self.entry("expression", &toml_string(expression)),
            Kind::Unmeasured => self.entry("unmeasured", "true"),
        }
        if !model.unit.is_seconds() {
            self.entry("unit", &toml_string(model.unit.name()));
        }
        if let Some(bound) = &model.bound {
            self.entry("upper", &self::bound(bound));
        }
        self.entry("mode", &toml_string(&model.mode.to_string()));
        self.list("terms", &model.terms, term);
        if let Some(correction) = &model.correction {
            self.entry("correction", &correction_text(correction));
        }
        if let Some(contrast) = model.contrast {
            let (deviation, reach) = (float(contrast.deviation), float(contrast.reach));
            self.entry("contrast", &format!("{{ deviation = {deviation}, reach = {reach} }}"));
        }
        self.list("covariance", &model.covariance, |row| format!("[{}]", floats(row)));
        self.float("noise_variance", model.noise_variance);
        self.float("mean_time", model.mean_time);
        self.float("t_quantile", model.t_quantile);
        self.float("r2", model.r2);
        self.float("mre_fit", model.mre_fit);
        if let Some(mre) = model.mre_verify {
            self.float("mre_verify", mre);
        }
        if let Some(q) = model.verify_quantiles {
            let text = [("p50", q.p50), ("p90", q.p90), ("p95", q.p95), ("max", q.max)];
            let text: Vec<String> =
                text.iter().map(|(name, value)| format!("{name} = {}", float(*value))).collect();
            self.entry("verify_quantiles", &format!("{{ {} }}", text.join(", ")));
        }
        if let Some(coverage) = model.coverage {
            self.float("coverage", coverage);
        }
        // Values that no fit writes, such as a negative limit, are kept too.
        if model.leverage_limit != 0.0 {
            self.float("leverage_limit", model.leverage_limit);
        }
        self.count("samples", model.samples);
        self.count("verify_samples", model.verify_samples);
        if let Some(noise) = model.noise {
            self.float("noise", noise);
        }
        if model.own_error != 0.0 {
            self.float("own_error", model.own_error);
        }
        self.entry("verdict", &toml_string(&model.verdict.to_string()));
        self.entry("reason", &toml_string(&model.reason));
        self.list("doubts", &model.doubts, |text| toml_string(text));
        self.count("rank", model.rank);
        self.float("condition", model.condition);
        match (model.nodes, model.nodes.fixed()) {
            (Nodes::ANY, _) => self.count("nodes", 0),
            (_, Some(nodes)) => self.count("nodes", nodes),
            (Nodes { min, max }, None) => self.entry("nodes", &format!("[{min}, {max}]")),
        }
    }

    fn library(&mut self, library: &Library) {
        self.head("[[libraries]]");
        self.entry("name", &toml_string(&library.name));
        self.entry("inputs", &strings(&library.inputs));
        if let Some(Incumbent { candidate, parameters, gain }) = &library.incumbent {
            let (name, gain) = (toml_string(candidate), float(*gain));
            self.entry(
                "incumbent",
                &format!("{{ candidate = {name}, parameters = {parameters:?}, gain = {gain} }}"),
            );
        }
        self.list("equal", &library.equal, |group| strings(group));
        if let Some(regret) = &library.regret {
            self.entry("regret", &self::regret(regret));
        }
        for candidate in &library.candidates {
            self.head("[[libraries.candidates]]");
            self.entry("name", &toml_string(&candidate.name));
            self.entry("model", &toml_string(&candidate.model));
            self.entry("arguments", &strings(&candidate.arguments));
            self.list("parameters", &candidate.parameters, parameter);
            self.list("requires", &candidate.requires, |text| toml_string(text));
        }
    }
}

fn regret(regret: &Regret) -> String {
    let Regret { inputs, like, mean, interval: (low, high), worst, worst_at, constant, before } = regret;
    let way = |key: &str, way: &Option<Constant>| {
        way.as_ref().map_or(String::new(), |Constant { name, mean }| {
            format!(", {key} = {}, {key}_mean = {}", toml_string(name), float(*mean))
        })
    };
    let like = like.as_ref().map_or(String::new(), |file| format!(", like = {}", toml_string(file)));
    let constant = way("constant", constant) + &way("before", before) + &like;
    let [mean, low, high, worst] = [*mean, *low, *high, *worst].map(float);
    format!(
        "{{ inputs = {inputs}, mean = {mean}, low = {low}, high = {high}, worst = {worst}, worst_at = {}{constant} }}",
        toml_string(worst_at)
    )
}

fn bound(bound: &Bound) -> String {
    let Bound { share, confidence, samples, points, covered, fresh, above } = bound;
    let [share, confidence, covered, fresh, above] =
        [*share, *confidence, *covered, *fresh, *above].map(float);
    format!(
        "{{ share = {share}, confidence = {confidence}, samples = {samples}, points = {points}, covered = {covered}, \
         fresh = {fresh}, above = {above} }}"
    )
}

fn input(input: &Input) -> String {
    let Input { name, min, max, integer } = input;
    format!(
        "{{ name = {}, min = {}, max = {}, integer = {integer} }}",
        toml_string(name),
        float(*min),
        float(*max)
    )
}

fn named(Named { name, value }: &Named) -> String {
    format!("{{ name = {}, value = {} }}", toml_string(name), toml_string(value))
}

fn term(term: &Term) -> String {
    format!(
        "{{ term = {}, coefficient = {}, std_error = {}, half_width = {}, relevant = {} }}",
        toml_string(&term.term),
        float(term.coefficient),
        float(term.std_error),
        float(term.half_width),
        term.relevant
    )
}

/// A line for each run of factors along the last axis.
fn correction_text(correction: &Correction) -> String {
    let Correction { samples, axes, factors } = correction;
    let axis = |axis: &super::Axis| {
        let round = if axis.round { ", round = true" } else { "" };
        format!("{{ input = {}{round}, knots = [{}] }}", toml_string(&axis.input), floats(&axis.knots))
    };
    let shown: Vec<String> = axes.iter().map(axis).collect();
    let each = axes.last().map_or(1, |axis| axis.knots.len()).max(1);
    let rows: String = factors.chunks(each).map(|row| format!("    {},\n", floats(row))).collect();
    format!("{{ samples = {samples}, axes = [{}], factors = [\n{rows}] }}", shown.join(", "))
}

fn parameter(parameter: &ParameterRange) -> String {
    let ParameterRange { name, min, max, step, root, first, last } = parameter;
    let step = if *step == Step::ONE { String::new() } else { format!(", step = \"{step}\"") };
    let text = |key: &str, text: &Option<String>| {
        text.as_ref().map_or(String::new(), |text| format!(", {key} = {}", toml_string(text)))
    };
    let (root, first, last) = (text("root", root), text("first", first), text("last", last));
    format!("{{ name = {}, min = {min}, max = {max}{first}{last}{step}{root} }}", toml_string(name))
}

/// The shortest text that reads back to the same bits.
fn float(value: f64) -> String {
    if value.is_nan() { "nan".into() } else { format!("{value:?}") }
}

fn floats(values: &[f64]) -> String {
    values.iter().map(|value| float(*value)).collect::<Vec<_>>().join(", ")
}

fn strings(values: &[String]) -> String {
    format!("[{}]", values.iter().map(|value| toml_string(value)).collect::<Vec<_>>().join(", "))
}
