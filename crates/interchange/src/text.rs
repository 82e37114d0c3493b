//! Extra-P's text format.
//!
//! Lines begin with a keyword. `PARAMETER` names parameters; `POINTS` lists the measured points, in
//! parentheses where there are several parameters. After `REGION` (the call path) and `METRIC`,
//! each `DATA` line has the repeated values at the next point. `#` begins a comment line.

use crate::experiment::Experiment;
use crate::place::{Problems, offset, short};

/// The most parameters that Extra-P accepts in this format.
const MAX_PARAMETERS: usize = 4;

#[derive(Default)]
struct Reader {
    experiment: Experiment,
    points: Vec<Vec<f64>>,
    path: usize,
    metric: usize,
    /// The number of points of this region and metric that have data.
    next: usize,
    /// Where this region or metric begins.
    begins: usize,
}

pub(crate) fn read(text: &str, problems: &mut Problems<'_>) -> Option<Experiment> {
    let mut reader = Reader::default();
    // Data may precede any region or metric.
    reader.experiment.paths.number("");
    reader.experiment.metrics.number("time");
    for (index, line) in text.lines().enumerate() {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let at = offset(text, content);
        let (word, rest) =
            content.split_once(char::is_whitespace).unwrap_or((content, &content[content.len()..]));
        let rest = rest.trim();
        match word {
            "PARAMETER" => reader.parameters(text, rest, at, problems),
            "POINTS" => reader.points(text, rest, at, problems),
            "REGION" | "METRIC" => {
                reader.check_complete(problems);
                (reader.next, reader.begins) = (0, at);
                if word == "REGION" {
                    reader.path = reader.experiment.paths.number(rest);
                } else {
                    reader.metric = reader.experiment.metrics.number(rest);
                }
            }
            "DATA" => reader.data(rest, index + 1, at, problems),
            other => problems.push(
                at,
                format!(
                    "`{}` is not one of PARAMETER, POINTS, METRIC, REGION, DATA: is this Extra-P's text format?",
                    short(other)
                ),
            ),
        }
    }
    reader.check_complete(problems);
    if reader.experiment.parameters.is_empty() {
        problems.push(0, "no line names a parameter: put `PARAMETER NAME` first".into());
    }
    problems.is_empty().then_some(reader.experiment)
}

impl Reader {
    /// Refuses a region with fewer lines than points: the missing point is unknown, and the others
    /// would have wrong points.
    fn check_complete(&self, problems: &mut Problems<'_>) {
        if (1..self.points.len()).contains(&self.next) {
            let region = self.experiment.paths.text(self.path);
            let message = format!(
                "the region `{region}` has {} DATA lines for {} POINTS: which point is missing cannot be told; fill the \
                 line in, or take the region out",
                self.next,
                self.points.len()
            );
            problems.push(self.begins, message);
        }
    }

    fn parameters(&mut self, text: &str, rest: &str, at: usize, problems: &mut Problems<'_>) {
        if rest.is_empty() {
            problems.push(at, "the parameter's name is missing: `PARAMETER NAME`".into());
        }
        if !self.points.is_empty() {
            problems.push(at, "parameters must stand before POINTS".into());
        }
        for name in rest.split_whitespace() {
            let parameters = &mut self.experiment.parameters;
            if parameters.iter().any(|p| p == name) {
                problems.push(offset(text, name), format!("the parameter `{name}` stands here twice"));
            } else if parameters.len() == MAX_PARAMETERS {
                let message = format!(
                    "this format has at most {MAX_PARAMETERS} parameters; write the experiment as JSON lines"
                );
                problems.push(offset(text, name), message);
                return;
            } else {
                parameters.push(name.to_owned());
            }
        }
    }

    fn points(&mut self, text: &str, rest: &str, at: usize, problems: &mut Problems<'_>) {
        let parameters = &self.experiment.parameters;
        if parameters.is_empty() {
            return problems.push(at, "there is no PARAMETER above these points".into());
        }
        let groups: Vec<&str> = if rest.contains('(') {
            rest.split('(').skip(1).map(|group| group.split(')').next().unwrap_or_default()).collect()
        } else if parameters.len() == 1 {
            rest.split_whitespace().collect()
        } else {
            let message = format!(
                "with {} parameters a point is written in parentheses: `({})`",
                parameters.len(),
                parameters.join(" ")
            );
            return problems.push(offset(text, rest), message);
        };
        if groups.is_empty() {
            problems.push(at, "there is no point in this line".into());
        }
        for group in groups {
            let values: Vec<&str> = group.split([' ', '\t', ',']).filter(|v| !v.is_empty()).collect();
            if values.len() != parameters.len() {
                let message = format!(
                    "a point has {} values, one for each of {}, but here are {}",
                    parameters.len(),
                    parameters.join(", "),
                    values.len()
                );
                problems.push(offset(text, group), message);
                continue;
            }
            let named = values.iter().zip(parameters);
            let point: Vec<f64> =
                named.filter_map(|(v, p)| problems.number(v, format_args!("the value of `{p}`"))).collect();
            self.points.push(point);
        }
    }

    fn data(&mut self, rest: &str, line: usize, at: usize, problems: &mut Problems<'_>) {
        let Some(point) = self.points.get(self.next) else {
            // Reported once for a region, not once for a line.
            if self.next == self.points.len() {
                let message = format!(
                    "there are more DATA lines than the {} POINTS; begin the next region or metric with REGION or METRIC",
                    self.points.len()
                );
                problems.push(at, message);
            }
            self.next += 1;
            return;
        };
        self.next += 1;
        if rest.is_empty() {
            return problems.push(at, "there is no value in this line; write at least one".into());
        }
        for word in rest.split_whitespace() {
            if let Some(value) = problems.time(word, "the value") {
                let point = point.clone();
                let (path, metric) = (self.path, self.metric);
                self.experiment.measured(path, metric, point, value, (line, at));
            }
        }
    }
}
