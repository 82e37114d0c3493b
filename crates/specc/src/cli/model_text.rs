//! Models as text: a line on all of them, a line each, and the details of one.

use std::path::Path;

use strata_model::set::{Kind, Model, ModelSet, Term, Verdict};
use strata_model::{Resolved, count, percent};
use strata_screen::{
    self as screen, Failure, JOINED, columns_of, print, shortened, wrapped, wrapped_formula,
};

use super::{choose, summary};
use crate::competition::Competition;

/// The verdicts from the best to the worst, with their labels in counts.
const VERDICTS: [(Verdict, &str); 5] = [
    (Verdict::Verified, "verified"),
    (Verdict::WithinNoise, "within noise"),
    (Verdict::Unverified, "unverified"),
    (Verdict::Doubtful, "doubtful"),
    (Verdict::Failed, "failed"),
];

/// The most models named as not verified.
const NAMED: usize = 3;

/// A line on all models: `3 models: 2 verified, 1 within noise (Radix 8.5 %; why: specc show
/// models.toml Radix)`. `file`: the path of the set.
pub(super) fn summary(set: &ModelSet, file: Option<&Path>) -> String {
    let fitted = || set.models.iter().filter(|model| model.kind == Kind::Fitted);
    let mut counts = Vec::new();
    for (verdict, name) in VERDICTS {
        match fitted().filter(|model| model.verdict == verdict).count() {
            0 => {}
            n => counts.push(format!("{n} {name}")),
        }
    }
    let rank = |model: &Model| VERDICTS.iter().position(|(verdict, _)| *verdict == model.verdict);
    let mut doubted: Vec<&Model> = fitted().filter(|model| model.verdict != Verdict::Verified).collect();
    doubted.sort_by_key(|model| std::cmp::Reverse(rank(model)));
    if let Some(worst) = doubted.first() {
        let named = |model: &&Model| match model.mre_verify {
            Some(error) => format!("{} {}", model.name, percent(error)),
            None => model.name.clone(),
        };
        let mut parts: Vec<String> = doubted.iter().take(NAMED).map(named).collect();
        if doubted.len() > NAMED {
            parts.push(format!("{} more", doubted.len() - NAMED));
        }
        let why =
            file.map_or(String::new(), |file| format!("; why: specc show {} {}", file.display(), worst.name));
        if let Some(last) = counts.last_mut() {
            *last += &format!(" ({}{why})", parts.join(", "));
        }
    }
    let of = |known: fn(&Kind) -> bool| set.models.iter().filter(|model| known(&model.kind)).count();
    let others = [
        (of(|kind| matches!(kind, Kind::Factored { .. })), "computed from others"),
        (of(|kind| *kind == Kind::Unmeasured), "not measured"),
    ];
    counts.extend(others.into_iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")));
    format!("{}: {}", count(set.models.len(), "model", "models"), counts.join(", "))
}

/// A line a model: its name, verdict, error on held-out samples, and number of samples.
pub(super) fn lines(set: &ModelSet, width: usize) -> String {
    // For an upper bound, a distance to the samples below it is not an error.
    let bounds = set.models.iter().any(|model| model.bound.is_some());
    let held_out = if bounds { "held-out" } else { "held-out error" };
    let mut rows =
        vec![["model".to_owned(), "verdict".to_owned(), held_out.to_owned(), "samples".to_owned()]];
    let mut computed = Vec::new();
    for model in &set.models {
        match &model.kind {
            Kind::Fitted => rows.push([
                model.name.clone(),
                model.verdict.to_string(),
                match (model.bound, model.mre_verify) {
                    (Some(bound), _) => format!("{:.2} % below", 100.0 * bound.covered),
                    (None, Some(error)) => format!("{:.2} %", 100.0 * error),
                    (None, None) => "-".into(),
                },
                format!("{} + {}", model.samples, model.verify_samples),
            ]),
            Kind::Factored { expression } => computed.push((&model.name, format!("= {expression}"))),
            Kind::Unmeasured => computed.push((&model.name, "not measured".to_owned())),
        }
    }
    let column = |place: usize| rows.iter().map(|row| columns_of(&row[place])).max().unwrap_or(0);
    let (verdicts, errors, samples) = (column(1), column(2), column(3));
    let names = computed.iter().map(|(name, _)| columns_of(name)).max().unwrap_or(0).max(column(0));
    let names = names.min(width.saturating_sub(verdicts + errors + samples + 6).max(8));
    let mut text = String::new();
    for [name, verdict, error, sampled] in &rows[..if rows.len() > 1 { rows.len() } else { 0 }] {
        let name = shortened(name, names);
        let line = format!("{name:names$}  {verdict:verdicts$}  {error:>errors$}  {sampled:>samples$}");
        text += &format!("{}\n", line.trim_end());
    }
    for (name, what) in computed {
        let line = format!("{:names$}  {what}", shortened(name, names));
        text += &format!("{}\n", shortened(&line, width));
    }
    text.truncate(text.trim_end().len());
    text
}

/// Who wins where in each library, and a line a model.
pub(super) fn all(set: &ModelSet, path: &Path) -> Result<(), Failure> {
    for library in &set.libraries {
        // Where the candidates cannot compete, the library's block says why.
        if let Ok(competition) = Competition::new(set, &library.name) {
            choose::warn_of_failed(&competition, path);
            choose::warn_of_round(&competition);
        }
    }
    let (libraries, lines) = (summary::libraries(set, screen::width()), lines(set, screen::width()));
    let between = if libraries.is_empty() || lines.is_empty() { "" } else { "\n\n" };
    print(format_args!("{libraries}{between}{lines}"))
}

/// All about a model of the set.
pub(super) fn one(set: &ModelSet, path: &Path, model: &Model) -> Result<(), Failure> {
    let resolved = set.resolve().map_err(|error| Failure::Fault(format!("{}: {error}", path.display())))?;
    print(all_about(model, &resolved, screen::width()))
}

/// A model as a sum, one term a line, with its verification and other facts.
fn all_about(model: &Model, resolved: &Resolved, width: usize) -> String {
    let inputs: Vec<&str> = model.inputs.iter().map(|input| input.name.as_str()).collect();
    let mut text = wrapped(&head(model, &inputs.join(", ")), width, "    ");
    let mut add = |label: &str, what: &str| {
        let behind = " ".repeat(LABEL);
        let indent = if label.is_empty() { "    " } else { "" };
        let lines =
            wrapped_formula(what, width.saturating_sub(LABEL), indent).replace('\n', &format!("\n{behind}"));
        text += &format!("\n{label:<LABEL$}{lines}");
    };
    match &model.kind {
        Kind::Factored { expression } => add("", expression),
        Kind::Unmeasured => add("", &format!("not measured: {}", model.reason)),
        Kind::Fitted => {
            equation(model).iter().for_each(|line| add("", line));
            let dropped: Vec<String> = model
                .terms
                .iter()
                .filter(|term| !term.relevant)
                .map(|term| model.short(&term.term))
                .collect();
            if !dropped.is_empty() {
                add("dropped", &dropped.join(", "));
            }
            let meanings = model.meanings();
            if !meanings.is_empty() {
                add("where", &meanings.join(", "));
            }
            add("verdict", &if_any(&model.verdict.to_string(), &model.reason));
            model
                .doubts
                .iter()
                .filter(|doubt| !model.reason.contains(&**doubt))
                .for_each(|doubt| add("", doubt));
            add("R²", &format!("{:.4}", model.r2));
            add("MRE fit", &format!("{} of {}", percentage(model.mre_fit), samples(model.samples)));
            add("MRE verify", &verification(model));
            // The distance of a bound from the mean is not an error.
            if let Some(noise) = model.noise.filter(|_| model.bound.is_none()) {
                let own = percentage(model.own_error);
                add(
                    "noise",
                    &format!("{} of a sample; beyond it the model may be off by {own}", percentage(noise)),
                );
            }
            if let Some(correction) = &model.correction {
                add("correction", &format!("factors by {} of its parameters", samples(correction.samples)));
            }
            add(
                "matrix",
                &format!("rank {} of {}, condition {:.1e}", model.rank, model.terms.len(), model.condition),
            );
        }
    }
    add("domain", &resolved.validity(model));
    text
}

/// The left side of the equation: `Radix(keys, bits) =`, with the unit unless it is seconds; `≤`
/// for a bound.
fn head(model: &Model, inputs: &str) -> String {
    let unit = if model.unit.is_seconds() { String::new() } else { format!(" in {}", model.unit) };
    let relation = if model.bound.is_some() { "≤" } else { "=" };
    format!("{}({inputs}){unit} {relation}", model.name)
}

/// The width of the labels of [`all_about`], in columns.
const LABEL: usize = 12;

/// The text `MODEL: reason`, or only the name if there is no reason.
fn if_any(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}

fn samples(n: usize) -> String {
    count(n, "sample", "samples")
}

fn percentage(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

/// The error on held-out samples, and its distribution.
fn verification(model: &Model) -> String {
    let Some(error) = model.mre_verify else { return "nothing was held out".to_owned() };
    let mut text = format!("{} of {} held out", percentage(error), samples(model.verify_samples));
    if let Some(quantiles) = model.verify_quantiles {
        text += &format!(
            "; half below {}, nine in ten below {}, at most {}",
            percent(quantiles.p50),
            percent(quantiles.p90),
            percent(quantiles.max)
        );
    }
    if let Some(coverage) = model.coverage {
        text += &format!("; {} within their intervals", percent(coverage));
    }
    text
}

/// The kept terms with their coefficients and the half widths of these, one term a line.
fn equation(model: &Model) -> Vec<String> {
    let kept: Vec<&Term> = model.terms.iter().filter(|term| term.relevant).collect();
    let mut lines = Vec::new();
    for (n, term) in kept.iter().enumerate() {
        let sign = match (n, term.coefficient < 0.0) {
            (0, false) => "\u{a0}",
            (_, true) => "-",
            (_, false) => "+",
        };
        let factor = model.factor(&term.term);
        let width = match term.coefficient.abs() {
            size if size > 0.0 && term.half_width > 0.0 => {
                format!(" (±{JOINED}{})", percent(term.half_width / size))
            }
            _ => String::new(),
        };
        lines.push(format!("{sign}{JOINED}{:.3e}{factor}{width}", term.coefficient.abs()));
    }
    if let Some(correction) = &model.correction {
        lines.push(format!("× correction by {}", samples(correction.samples)));
    }
    if lines.is_empty() {
        lines.push("0, as no term was kept".to_owned());
    }
    lines
}
