//! What a checked spec means, written out: no families, shared names, products of lists or names of
//! sub-expressions, and every default said.
//!
//! Two specs with one such text measure, fit and choose the same, wherever their comments, line
//! breaks and names differ. So its hash is by what samples and model sets know their spec.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use strata_model::expr::{Expr, RESERVED};
use strata_model::platform::HOSTS;

use super::ast::{Code, Step};
use super::checked::{
    Binding, Candidate, CheckedSpec, Library, Limits, Measured, Model, ModelKind, ModelOptions,
};
use super::checked::{Parameter, Repeated, SpecFile, Timed};
use super::code::block;
use super::print::{INDENT, WIDTH, candidate, header, respaced, sign};
use super::wrap::{filled, wrapped};

impl CheckedSpec {
    /// The spec written out, with the documentation of its files, models and libraries.
    #[must_use]
    pub fn written_out(&self) -> String {
        self.text(true)
    }

    /// The text by which samples and model sets know the spec: what is measured, fitted and chosen,
    /// however it is written.
    pub(crate) fn meaning(&self) -> String {
        self.text(false)
    }

    /// Whether what is measured or chosen depends on the nodes: Rust code names `node`, or an
    /// expression P.
    #[must_use]
    pub fn uses_nodes(&self) -> bool {
        self.names(|word| word == "node" || RESERVED.contains(&word))
    }

    /// Whether what is measured comes from a crate of the project.
    #[must_use]
    pub fn uses_project(&self) -> bool {
        self.names(|word| word.starts_with("strata_"))
    }

    fn names(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.meaning().split(|c: char| !(c.is_alphanumeric() || c == '_')).any(is_meant)
    }

    fn text(&self, with_docs: bool) -> String {
        let mut out = String::new();
        let docs = |mark: &str, lines: &[String]| -> String {
            let lines = lines.iter().filter(|_| with_docs);
            lines.map(|line| format!("{mark} {line}").trim_end().to_owned() + "\n").collect()
        };
        for (index, file) in self.files.iter().enumerate() {
            out += &docs("//!", &file.docs);
            if with_docs && !file.on.is_empty() {
                let words: Vec<&str> = file.on.iter().map(|kind| kind.word()).collect();
                out += &format!("on {}\n", words.join(", "));
            }
            out += &features(file);
            out += &uses(file);
            let models = self.models.iter().filter(|model| model.file == index);
            let models = models.map(|model| {
                (model.span.start, docs("///", &model.docs) + &self.model_text(model, with_docs))
            });
            let libraries = self.libraries.iter().filter(|library| library.file == index);
            let libraries = libraries.map(|library| {
                (library.span.start, docs("///", &library.docs) + &self.library_text(library))
            });
            let mut items: Vec<(usize, String)> = models.chain(libraries).collect();
            items.sort_by_key(|(start, _)| *start);
            for (_, item) in items {
                if !out.is_empty() {
                    out.push('\n');
                }
                out += &item;
            }
        }
        out
    }

    /// A model; `readable`: without what a header says, so that it can be read again.
    fn model_text(&self, model: &Model, readable: bool) -> String {
        let inputs = self.header(model.inputs.iter().map(|input| input.name.as_str()));
        let head = format!("model {}({inputs})", model.name);
        let terms: Vec<String> = model.terms.iter().map(|term| written(&term.value)).collect();
        match &model.kind {
            ModelKind::Factored(expr) => wrapped(&format!("{head} = {}", written(expr)), 0, INDENT) + "\n",
            ModelKind::Unmeasured => filled(&format!("{head} ~"), &terms, 0) + "\n",
            ModelKind::Measured(measured) => {
                let by_header = |one: &&Binding| one.name == HOSTS && one.value.as_name() == Some(HOSTS);
                let bindings: Vec<&Binding> =
                    measured.bindings.iter().filter(|one| !(readable && by_header(one))).collect();
                let mut lines = measured_lines(measured, &bindings);
                let requires = model.requires.iter().map(|expr| line(&format!("require {}", written(expr))));
                let at = measured.loops.len() + bindings.len();
                lines.splice(at..at, requires);
                if !terms.is_empty() {
                    lines.push(filled("terms", &terms, INDENT));
                }
                lines.extend(options(&model.options));
                enclosed(&head, lines)
            }
        }
    }

    fn library_text(&self, library: &Library) -> String {
        let mut lines = Vec::new();
        if let Some((index, values)) = &library.incumbent
            && let Some(one) = library.candidates.get(*index)
        {
            let values = one.parameters.iter().zip(values);
            let given: Vec<String> = values.map(|(one, value)| format!("{} = {value}", one.name)).collect();
            let given = if given.is_empty() { String::new() } else { format!("({})", given.join(", ")) };
            lines.push(format!("default {}{given}", one.name));
        }
        let Limits { ways, slowdown } = library.limits;
        lines.extend(ways.map(|ways| format!("ways {ways}")));
        lines.extend(slowdown.map(|slowdown| percentage("slowdown", slowdown)));
        lines.extend(library.equal.iter().map(|group| format!("equal {{{}}}", group.join(", "))));
        lines.extend(library.candidates.iter().map(|one| self.candidate_text(one)));
        let inputs = self.header(library.inputs.iter().map(String::as_str));
        enclosed(&format!("library {}({inputs})", library.name), lines)
    }

    fn header<'a>(&'a self, inputs: impl Iterator<Item = &'a str>) -> String {
        header(inputs, &|input| Some(self.kinds.get(input)?.iter().map(String::as_str).collect()))
    }

    fn candidate_text(&self, one: &Candidate) -> String {
        let arguments: Vec<String> = one.arguments.iter().map(written).collect();
        let model = self.models.get(one.model).map_or("", |model| model.name.as_str());
        let head = format!("candidate {} = {model}({})", one.name, arguments.join(", "));
        let ranges = one.parameters.iter().map(parameter).collect();
        candidate(&head, ranges, one.requires.iter().map(written).collect())
    }
}

fn features(file: &SpecFile) -> String {
    let all: BTreeSet<String> = file.features.iter().map(|feature| feature.text.clone()).collect();
    let all: Vec<String> = all.into_iter().collect();
    if all.is_empty() { String::new() } else { filled("features", &all, 0) + "\n" }
}

fn uses(file: &SpecFile) -> String {
    file.uses.iter().map(|line| format!("{}\n", line.text)).collect()
}

fn measured_lines(measured: &Measured, bindings: &[&Binding]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for plan in &measured.loops {
        let Step { operator, by, .. } = plan.step;
        let (name, first, last) = (&plan.name, written(&plan.first), written(&plan.last));
        lines.push(line(&format!("for {name} in {first}..={last} step {}{by}", sign(operator))));
    }
    for one in bindings {
        lines.push(line(&format!("let {} = {}", one.name, written(&one.value))));
    }
    let rust = |word: &str, code: &Code| block(word, &code.written_out(), INDENT, WIDTH);
    let repeated = match &measured.work {
        Timed::Task { repeated, .. } => *repeated,
        Timed::Sample { .. } => Repeated::OnOneSetup,
    };
    let is_task = matches!(measured.work, Timed::Task { .. });
    let setup = if is_task && repeated == Repeated::OnOneSetup { "setup once" } else { "setup" };
    lines.extend(measured.setup.iter().map(|code| rust(setup, code)));
    lines.push(match &measured.work {
        Timed::Task { hot, code, .. } => {
            let once = if repeated == Repeated::Never { " once" } else { "" };
            rust(&format!("task{once}{}", if *hot { " hot" } else { "" }), code)
        }
        Timed::Sample { gives, code } => rust(format!("sample {}", gives.join(", ")).trim_end(), code),
    });
    lines.extend(measured.cleanup.iter().map(|code| rust("cleanup", code)));
    lines
}

/// An option with a percentage that reads back as this fraction.
fn percentage(part: &str, fraction: f64) -> String {
    let texts = (0..=12).map(|digits| format!("{:.digits$}", 100.0 * fraction));
    let exact = |text: &String| text.parse::<f64>().is_ok_and(|number| number / 100.0 == fraction);
    let text = texts.into_iter().find(exact).unwrap_or_else(|| (100.0 * fraction).to_string());
    format!("{part} {text}%")
}

/// Every option that may have another value elsewhere.
fn options(options: &ModelOptions) -> Vec<String> {
    let usual = ModelOptions::default();
    let text = options.fit.to_text();
    let mut parts: Vec<String> =
        text.split(", ").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    // Those whose default depends on whether a library chooses by the model are always said.
    for (word, usual) in [("eliminate", "best-subset"), ("search", "when-needed")] {
        let said = parts.iter().find(|part| part.starts_with(word)).cloned();
        parts.retain(|part| !part.starts_with(word));
        parts.push(said.unwrap_or_else(|| format!("{word} {usual}")));
    }
    parts.retain(|part| !part.starts_with("accept") && !part.starts_with("confidence"));
    let mut lines = vec![filled("fit", &parts, INDENT)];
    if options.fit.accept != usual.fit.accept {
        lines.push(percentage("accept", options.fit.accept));
    }
    if options.fit.confidence != usual.fit.confidence {
        lines.push(percentage("confidence", options.fit.confidence));
    }
    if options.verify != usual.verify {
        lines.push(format!("verify {}", options.verify));
    }
    if options.round != usual.round {
        lines.push(percentage("round", options.round));
    }
    if options.repeat != usual.repeat {
        lines.push(format!("repeat {}", options.repeat));
    }
    lines
}

fn parameter(one: &Parameter) -> String {
    let end = |end: &Option<Expr>, bound: i64| end.as_ref().map_or(bound.to_string(), written);
    let range = format!("{}..={}", end(&one.first, one.min), end(&one.last, one.max));
    match &one.root {
        Some(root) => format!("{} = root({range}, {})", one.name, written(root)),
        None => format!("{} in {range} step {}", one.name, one.step),
    }
}

fn written(expr: &Expr) -> String {
    respaced(&expr.to_string(), true)
}

/// One line of a block, broken if it is long.
fn line(text: &str) -> String {
    wrapped(text, INDENT, 2 * INDENT)
}

fn enclosed(head: &str, lines: Vec<String>) -> String {
    let mut out = wrapped(head, 0, INDENT) + " {\n";
    for text in lines {
        let _ = writeln!(out, "{:INDENT$}{text}", "");
    }
    out + "}\n"
}
