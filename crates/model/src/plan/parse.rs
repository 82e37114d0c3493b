//! Text to plan. A program writes and hashes plans, so parsing ends at the first error.

use super::{ModelPlan, Plan, PlanError, PlanPoint, Run, VERSION};
use crate::expr::is_name;
use crate::platform::MACHINE;
use crate::samples::{parse_column, parse_spec};
use crate::sha256_hex;

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// The first error in a line, or a hash that does not match. `file` is used only in the
    /// message.
    pub fn parse(text: &str, file: &str) -> Result<Self, PlanError> {
        let fail = |line, message| PlanError { file: file.to_owned(), line, message };
        let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
        version(head).map_err(|message| fail(1, message))?;
        if !head.ends_with(&format!(" sha256={}", sha256_hex(rest.as_bytes()))) {
            let message =
                "this is not the plan that specc wrote: it was changed or cut short; run specc again";
            return Err(fail(1, message.into()));
        }
        let mut plan = Self::default();
        for (at, line) in rest.lines().enumerate() {
            plan.line(line).map_err(|message| fail(at + 2, message))?;
        }
        Ok(plan)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let bad = || format!("a plan has no line like `{line}`");
        match header(line) {
            Some(("spec", rest)) => self.spec = parse_spec(rest).ok_or_else(bad)?,
            Some(("run", rest)) => self.runs.push(run(rest).ok_or_else(bad)?),
            Some(("model", rest)) => {
                let run = self.runs.last_mut().ok_or_else(bad)?;
                run.models.push(model(rest).ok_or_else(bad)?);
            }
            Some(("fit", rest)) => {
                let (name, fit) = rest.split_once(' ').ok_or_else(bad)?;
                let model = self.runs.last_mut().and_then(|run| run.models.last_mut());
                model.filter(|model| model.name == name).ok_or_else(bad)?.fit = fit.to_owned();
            }
            Some(_) => return Err(bad()),
            None => {
                let model = self.runs.last_mut().and_then(|run| run.models.last_mut()).ok_or_else(bad)?;
                let point = point(line, model).ok_or_else(bad)?;
                model.points.push(point);
            }
        }
        Ok(())
    }
}

/// The error in the first line, if any.
pub(super) fn version(line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    if words.next() != Some("strata-plan") {
        return Err(format!("the first line of a plan is `strata-plan {VERSION}`"));
    }
    match words.next() {
        Some(version) if version == VERSION.to_string() => Ok(()),
        other => Err(format!("this program reads version {VERSION} of plans, not `{}`", other.unwrap_or(""))),
    }
}

/// The words that begin the lines of a plan other than rows.
pub(super) const WORDS: [&str; 4] = ["spec", "run", "model", "fit"];

/// The first word and the rest of a line that is not a row. Models may have these names, but rows
/// have no `=`, and continue with whole numbers or `-` and not with the name of a model.
pub(super) fn header(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.split_once(char::is_whitespace)?;
    let named = || rest.split_whitespace().next().is_some_and(is_name);
    let header = rest.contains('=') || matches!(word, "model" | "fit") && named();
    (WORDS.contains(&word) && header).then(|| (word, rest.trim()))
}

fn run(text: &str) -> Option<Run> {
    let mut words = text.split_whitespace();
    let nodes = words.next()?.strip_prefix("nodes=")?.parse().ok()?;
    let seed = words.next()?.strip_prefix("seed=")?.parse().ok()?;
    let number = |word: &str| {
        let (name, value) = word.split_once('=').filter(|(name, _)| MACHINE.contains(name))?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    Some(Run { nodes, seed, machine: words.map(number).collect::<Option<_>>()?, models: Vec::new() })
}

fn model(text: &str) -> Option<ModelPlan> {
    let (head, columns) = text.split_once(" columns")?;
    let mut words = head.split_whitespace();
    let name = words.next().filter(|name| is_name(name))?;
    let mut model = ModelPlan { name: name.to_owned(), ..ModelPlan::default() };
    let names = |text: &str| text.split(',').map(str::to_owned).collect();
    for word in words {
        match word.split_once('=') {
            Some(("at", text)) => model.variables = names(text),
            Some(("let", text)) => model.bound = names(text),
            Some(("gives", text)) => model.gives = names(text),
            Some(("repeat", text)) => model.repeat = text.parse().ok()?,
            None if word == "once" => model.once = true,
            None if word == "hot" => model.hot = true,
            _ => return None,
        }
    }
    model.columns = columns.split_whitespace().map(parse_column).collect::<Result<_, _>>().ok()?;
    Some(model)
}

fn point(line: &str, model: &ModelPlan) -> Option<PlanPoint> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let verify = name.starts_with('@');
    let at = at(words.next()?)?;
    let mut numbers: Vec<f64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let fits = name.trim_start_matches('@') == model.name
        && at.len() == model.variables.len()
        && numbers.len() == model.bound.len() + model.columns.len();
    let values = numbers.split_off(model.bound.len().min(numbers.len()));
    fits.then_some(PlanPoint { verify, at, bound: numbers, values })
}

/// Values of iteration variables: `16,2`, or `-` for none.
pub(super) fn at(text: &str) -> Option<Vec<i64>> {
    if text == "-" {
        return Some(Vec::new());
    }
    text.split(',').map(|value| value.trim().parse().ok()).collect()
}
