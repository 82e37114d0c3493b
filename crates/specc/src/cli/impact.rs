//! `specc impact`: what moves a predicted time, and what a faster machine would gain.

use std::path::Path;

use serde_json::{Value, json};
use strata_model::set::Model;
use strata_model::set::{Kind, Verdict};
use strata_model::{ModelSet, count, did_you_mean, kind_text, number_text, percent};
use strata_screen::{Failure, columns_of, print, tell, width, wrapped};

use super::args::{ImpactOf, Scaling};
use super::choose::{known, no_such, numbers, placed, read};
use super::values::Layout;
use crate::impact::{Cause, Effect, Moved, Point, Subject, changed};
use crate::lang::wrapped_to;

/// Causes that move the time by less for 1 % are counted, not listed, ...
const NOTABLE: f64 = 0.005;
/// ... as are those after so many.
const LISTED: usize = 12;

/// A column of a table is no narrower.
const LEAST_NAME: usize = 8;

/// `specc impact`.
pub(super) fn impact(path: &Path, asked: &ImpactOf) -> Result<(), Failure> {
    let set = read(path)?;
    let there = || {
        let libraries = set.libraries.iter().map(|library| library.name.as_str());
        libraries.chain(set.models.iter().map(|model| model.name.as_str()))
    };
    if !there().any(|name| name == asked.name) {
        return Err(no_such(path, "model or library", &asked.name, there()));
    }
    let nodes = asked.nodes.map(Layout::nodes);
    let fault = |why: String| Failure::Fault(format!("{}: {why}", path.display()));
    let subject = Subject::new(&set, &asked.name, nodes).map_err(fault)?;
    let names = subject.inputs();
    let inputs = placed(&set, path, &names, &asked.inputs, asked.nodes)?;
    known(&format!("`{}`", asked.name), &names, &inputs)?;
    let inputs = numbers(&set, &inputs)?;
    let value = |name: &String| inputs.iter().find(|(given, _)| given == name).map(|(_, value)| *value);
    let given: Vec<Option<f64>> = names.iter().map(value).collect();
    let points = subject.points(&given).map_err(|missing| {
        let these: Vec<String> = missing.iter().map(|name| format!("{name}=VALUE")).collect();
        Failure::Usage(format!("`{}` has no measured range: give {}", asked.name, these.join(" ")))
    })?;
    if points.is_empty() {
        let measured =
            set.model(&asked.name).zip(set.resolve().ok()).map_or(String::new(), |(model, resolved)| {
                format!("; it was measured for {}", resolved.validity(model))
            });
        return Err(Failure::Fault(format!(
            "`{}` predicts nothing there on {}{measured}",
            asked.name,
            count(subject.nodes(), "node", "nodes")
        )));
    }
    let screen = Screen { set: &set, subject: &subject, names, points: &points };
    let effects = subject.effects(&points);
    let scaled = screen.scaled(&asked.set, &effects)?;
    if asked.json {
        return print(screen.json(&effects, &scaled));
    }
    print(screen.text(&effects, &scaled, asked.formulas, width()))?;
    if let Some(doubtful) = screen.doubtful(&effects) {
        tell!("specc: {doubtful}");
    }
    Ok(())
}

struct Screen<'a> {
    set: &'a ModelSet,
    subject: &'a Subject<'a>,
    /// The inputs' names.
    names: Vec<String>,
    points: &'a [Point],
}

/// All changes of `--set` together: the points with their new predictions.
type Scaled = Vec<(Point, Option<Point>)>;

impl Screen<'_> {
    /// The predictions if all of these costs change; none where nothing is asked for.
    fn scaled(&self, asked: &[Scaling], effects: &[Effect]) -> Result<Scaled, Failure> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let mut set = self.set.clone();
        for one in asked {
            let cause = self.cause(one)?;
            // A candidate that is not taken may be, once it costs less.
            let is_model = self.set.model(self.subject.name()).is_some();
            if is_model && !effects.iter().any(|effect| effect.cause.is_of(&cause)) {
                let why = format!("it takes no part in `{}`", self.subject.name());
                return Err(Failure::Usage(format!("--set {}: {why}", one.cost)));
            }
            set = changed(&set, &cause, one.factor);
        }
        let fault = |why: String| Failure::Fault(format!("--set: {why}"));
        let other = Subject::new(&set, self.subject.name(), Some(self.subject.nodes())).map_err(fault)?;
        let again = |point: &Point| {
            let given: Vec<Option<f64>> = point.inputs.iter().map(|value| Some(*value)).collect();
            (point.clone(), other.points(&given).ok().and_then(|points| points.into_iter().next()))
        };
        Ok(self.points.iter().map(again).collect())
    }

    /// Whether this is how a term of the model asked for is told.
    fn own_term(&self, cost: &str) -> bool {
        let model = self.set.model(self.subject.name());
        model.is_some_and(|model| (0..model.terms.len()).any(|index| label(model, index) == cost))
    }

    /// The cost that a change names: `Send` or `Send.bytes`.
    fn cause(&self, one: &Scaling) -> Result<Cause, Failure> {
        let usage = |why: String| Err(Failure::Usage(format!("--set {}: {why}", one.cost)));
        let (name, term) = match one.cost.split_once('.') {
            Some((name, term)) if self.set.model(name).is_some() => (name, Some(term)),
            // A term of the model itself is told without its name.
            _ if self.own_term(&one.cost) => (self.subject.name(), Some(one.cost.as_str())),
            _ => (one.cost.as_str(), None),
        };
        let Some(model) = self.set.model(name) else {
            let all = self.set.models.iter().map(|model| model.name.as_str());
            return usage(format!("there is no model `{name}`{}", did_you_mean(name, all)));
        };
        let Some(term) = term else { return Ok(Cause::Model(name.to_owned())) };
        let label = |index: usize| label(model, index);
        match (0..model.terms.len()).find(|index| label(*index) == term || model.terms[*index].term == term) {
            Some(index) => Ok(Cause::Term(name.to_owned(), index)),
            None => {
                let kept = (0..model.terms.len()).filter(|index| model.terms[*index].relevant);
                let all: Vec<String> = kept.map(|index| format!("`{name}.{}`", label(index))).collect();
                usage(format!("`{name}` has no such term; it has {}", all.join(", ")))
            }
        }
    }

    /// What is told: the time, the inputs, the costs, the changes asked for.
    fn text(&self, effects: &[Effect], scaled: &Scaled, formulas: bool, width: usize) -> String {
        let mut text = wrapped(&self.head(), width, "  ");
        let (inputs, costs): (Vec<&Effect>, Vec<&Effect>) =
            effects.iter().partition(|effect| matches!(effect.cause, Cause::Input(_)));
        for (what, changed, effects) in [("input", "doubled", inputs), ("cost", "halved", costs)] {
            let told = effects.iter().take(LISTED).filter(|effect| effect.greatest() >= NOTABLE).count();
            if told > 0 {
                text += &format!("\n\n{}", self.table([what, changed], &effects[..told], width));
            }
            if let Some(next) = effects.get(told) {
                let line = match (effects.len() - told, next.greatest() < NOTABLE) {
                    (_, true) => format!("without effect: {}", self.labels(&effects[told..])),
                    (1, _) => format!("1 more: {:.2} % for 1 %", next.greatest()),
                    (more, _) => {
                        format!("{more} more: each at most {:.2} % for 1 % (--json has all)", next.greatest())
                    }
                };
                text += &format!("\n{}", wrapped(&line, width, "  "));
            }
        }
        for (before, after) in scaled.iter().take(1) {
            text += &format!("\n\n{}", wrapped(&self.changed(scaled, before, after.as_ref()), width, "  "));
        }
        if let Some(point) = self.points.first().filter(|_| formulas) {
            text.push('\n');
            for (name, slope) in self.subject.formulas(point) {
                let line = format!("d time / d {name} = {slope}");
                text += &format!("\n{}", wrapped_to(width, &line, 0, 4));
            }
        }
        text
    }

    fn head(&self) -> String {
        let nodes = count(self.subject.nodes(), "node", "nodes");
        let name = self.subject.name();
        match self.points {
            [point] => {
                let taken = taken(point).map_or(String::new(), |taken| format!(", by {taken}"));
                let at =
                    if point.inputs.is_empty() { String::new() } else { format!(" at {}", self.at(point)) };
                format!("{name}{at} on {nodes}: {}{taken}", self.amount(point.seconds))
            }
            points => {
                let times = || points.iter().map(|point| point.seconds);
                let (least, most) =
                    (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max));
                format!(
                    "{name} at {} points on {nodes}: {} to {}",
                    points.len(),
                    self.amount(least),
                    self.amount(most)
                )
            }
        }
    }

    fn amount(&self, seconds: f64) -> String {
        let model = self.set.model(self.subject.name());
        let unit = model.map_or(strata_model::Unit::SECONDS, |model| model.unit.clone());
        format!("{}{}", if seconds < 0.0 { "-" } else { "" }, unit.amount(seconds.abs()))
    }

    fn at(&self, point: &Point) -> String {
        let pairs = self.names.iter().zip(&point.inputs);
        let text = |name: &str, value: f64| match self.set.kinds.contains_key(name) {
            true => kind_text(&self.set.kinds, name, value),
            false => short(value),
        };
        pairs.map(|(name, value)| format!("{name}={}", text(name, *value))).collect::<Vec<_>>().join(" ")
    }

    /// The name of a cause as it is told.
    fn label(&self, cause: &Cause) -> String {
        match cause {
            Cause::Input(name) => name.clone(),
            Cause::Model(name) => name.clone(),
            Cause::Term(name, index) => {
                let term = self.set.model(name).map_or(String::new(), |model| label(model, *index));
                // Its own terms need no name before them.
                if name == self.subject.name() { term } else { format!("{name}.{term}") }
            }
        }
    }

    /// The names of causes, in one line.
    fn labels(&self, effects: &[&Effect]) -> String {
        effects.iter().map(|effect| self.label(&effect.cause)).collect::<Vec<_>>().join(", ")
    }

    /// The models that take part and are not verified, in a line.
    fn doubtful(&self, effects: &[Effect]) -> Option<String> {
        let part = |name: &str| {
            effects.iter().any(|effect| matches!(&effect.cause, Cause::Term(model, _) if model == name))
        };
        let models = self.set.models.iter().filter(|model| model.kind == Kind::Fitted && part(&model.name));
        let doubtful = models.filter(|model| model.verdict != Verdict::Verified);
        let all: Vec<String> =
            doubtful.map(|model| format!("`{}` is {}", model.name, model.verdict)).collect();
        (!all.is_empty()).then(|| format!("{}; `specc show` says why", all.join(", ")))
    }

    /// A row for each effect: at one point what it is now and what a change does, over several the
    /// median and the greatest effect with its place.
    fn table(&self, [what, changed]: [&str; 2], effects: &[&Effect], width: usize) -> String {
        let one = self.points.len() == 1;
        let mut rows = vec![if one {
            let now = if what == "cost" { "takes" } else { "now" };
            [what.to_owned(), now.to_owned(), "+1 %".to_owned(), changed.to_owned()]
        } else {
            [what.to_owned(), "+1 %, median".to_owned(), "most".to_owned(), "there".to_owned()]
        }];
        for effect in effects {
            let mut moved: Vec<(usize, Moved)> =
                effect.at.iter().enumerate().filter_map(|(at, moved)| Some((at, (*moved)?))).collect();
            moved.sort_by(|a, b| a.1.elasticity.abs().total_cmp(&b.1.elasticity.abs()));
            let Some((at, most)) = moved.last() else { continue };
            let label = self.label(&effect.cause);
            rows.push(if one {
                let now = if what == "cost" { self.amount(most.now) } else { short(most.now) };
                let changed = most.changed.map_or("-".to_owned(), signed);
                [label, now, by_one(most.elasticity), changed]
            } else {
                let median = moved[moved.len() / 2].1.elasticity;
                [label, by_one(median), by_one(most.elasticity), self.at(&self.points[*at])]
            });
        }
        let column = |place: usize| rows.iter().map(|row| columns_of(&row[place])).max().unwrap_or(0);
        let (second, third) = (column(1), column(2));
        let fixed = second + third + 6;
        let last = if one { column(3) } else { column(3).min(width / 3) };
        let names = column(0).min(width.saturating_sub(fixed + last).max(LEAST_NAME));
        let room = width.saturating_sub(fixed + names).max(LEAST_NAME);
        let row = |[name, second_text, third_text, fourth]: &[String; 4]| {
            let fourth = if one { format!("{fourth:>last$}") } else { wrapped(fourth, room, "") };
            let (name, mut there) = (wrapped_to(names, name, 0, 2), fourth.lines());
            let mut name = name.lines();
            let [name_text, there_text] = [name.next(), there.next()].map(Option::unwrap_or_default);
            let first =
                format!("{name_text:names$}  {second_text:>second$}  {third_text:>third$}  {there_text}");
            let mut lines = vec![first];
            // What takes more lines goes on in its own column.
            loop {
                let (name, there) = (name.next(), there.next());
                if name.is_none() && there.is_none() {
                    break;
                }
                let [name, there] = [name, there].map(Option::unwrap_or_default);
                lines.push(format!("{name:names$}{:fixed$}{there}", ""));
            }
            lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
        };
        rows.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    /// What all changes asked for do together.
    fn changed(&self, scaled: &Scaled, before: &Point, after: Option<&Point>) -> String {
        if self.points.len() == 1 {
            return match after {
                None => "with the changes nothing is predicted there".to_owned(),
                Some(after) => {
                    let by = signed(after.seconds / before.seconds - 1.0);
                    let taken = match (taken(before), taken(after)) {
                        (Some(one), Some(other)) if one != other => format!(", by {other} in place of {one}"),
                        _ => String::new(),
                    };
                    format!("with the changes {} ({by}){taken}", self.amount(after.seconds))
                }
            };
        }
        let mut ratios: Vec<f64> = scaled
            .iter()
            .filter_map(|(before, after)| Some(after.as_ref()?.seconds / before.seconds - 1.0))
            .collect();
        ratios.sort_by(f64::total_cmp);
        let others = scaled.iter().filter(|(before, after)| {
            after.as_ref().is_some_and(|after| taken(after).map(first) != taken(before).map(first))
        });
        let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else {
            return "with the changes nothing is predicted".to_owned();
        };
        let median = ratios[ratios.len() / 2];
        let chosen = match others.count() {
            0 => String::new(),
            n if n == scaled.len() => "; at all points another candidate is chosen".to_owned(),
            n => format!("; at {n} of {} points another candidate is chosen", scaled.len()),
        };
        format!("with the changes {} to {}, median {}{chosen}", signed(*least), signed(*most), signed(median))
    }

    fn json(&self, effects: &[Effect], scaled: &Scaled) -> Value {
        let point = |point: &Point| {
            let inputs = self.names.iter().cloned().zip(point.inputs.iter().map(|value| json!(value)));
            json!({
                "inputs": inputs.collect::<serde_json::Map<_, _>>(),
                "seconds": point.seconds,
                "taken": taken(point),
            })
        };
        let effect = |effect: &Effect| {
            let kind = if matches!(effect.cause, Cause::Input(_)) { "input" } else { "cost" };
            json!({
                "cause": self.label(&effect.cause),
                "kind": kind,
                "factor": if kind == "input" { 2.0 } else { 0.5 },
                "at": effect.at,
            })
        };
        let formulas = self.points.first().map_or(Vec::new(), |point| self.subject.formulas(point));
        json!({
            "name": self.subject.name(),
            "nodes": self.subject.nodes(),
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
            "effects": effects.iter().map(effect).collect::<Vec<_>>(),
            "changed": scaled.iter().map(|(_, after)| after.as_ref().map(point)).collect::<Vec<_>>(),
            "derivatives": formulas.into_iter().map(|(name, slope)| (name, json!(slope.to_string())))
                .collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// A term as it is told and named: `constant`, `bytes`.
fn label(model: &Model, index: usize) -> String {
    match model.terms.get(index).map(|term| model.short(&term.term)) {
        Some(text) if text == "1" => "constant".to_owned(),
        Some(text) => text,
        None => String::new(),
    }
}

/// The candidate of a library with its parameters.
fn taken(point: &Point) -> Option<String> {
    let (name, parameters) = point.taken.as_ref()?;
    let parameters: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    Some(if parameters.is_empty() { name.clone() } else { format!("{name} ({})", parameters.join(", ")) })
}

/// The candidate alone.
fn first(taken: String) -> String {
    taken.split(' ').next().unwrap_or_default().to_owned()
}

/// A change of the time for 1 % more.
fn by_one(elasticity: f64) -> String {
    let text = format!("{elasticity:+.2} %");
    if text.trim_start_matches(['+', '-']) == "0.00 %" { "0 %".to_owned() } else { text }
}

/// A relative change with its sign.
fn signed(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(change))
}

/// A value in at most four digits, if it has no more.
fn short(value: f64) -> String {
    if value.fract() == 0.0 { number_text(value) } else { format!("{value:.4}") }
}
