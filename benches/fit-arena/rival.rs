//! Extra-P, in its own Python process for the whole run.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::json;

use super::contenders::{Answer, Question};

pub(crate) struct ExtraP {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    pub(crate) version: String,
    asked: usize,
}

#[derive(Deserialize)]
struct Hello {
    version: String,
}

#[derive(Deserialize)]
struct Reply {
    cell: usize,
    default: Outcome,
    refining: Outcome,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Outcome {
    Model { model: String, predictions: Vec<Option<f64>> },
    Failure { error: String },
}

impl ExtraP {
    /// Starts the `python3` of `PATH`.
    ///
    /// # Errors
    /// Why there is no Extra-P, and how to get one.
    pub(crate) fn start() -> Result<Self, String> {
        let help = |what: String| {
            format!("{what}; `pip install 'extrap==4.2.*'` and put the folder of that python3 first in PATH")
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/fit-arena/rival.py");
        let mut child = Command::new("python3")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| help(format!("python3: {e}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.ok_or_else(|| help("no pipe to Python".into()))?);
        let mut extrap = Self { child, input, output, version: String::new(), asked: 0 };
        let hello: Option<Hello> = extrap.line().and_then(|line| serde_json::from_str(&line).ok());
        extrap.version = hello.ok_or_else(|| help("python3 cannot import extrap".into()))?.version;
        Ok(extrap)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).ok().filter(|read| *read > 0).map(|_| line)
    }

    /// The results of the default modeler and of the refining one.
    pub(crate) fn ask(&mut self, question: &Question<'_>) -> [Answer; 2] {
        self.asked += 1;
        let failed = |text: &str| Answer { text: text.into(), ..Answer::default() };
        let request = json!({
            "cell": self.asked, "parameters": question.inputs, "points": question.points,
            "values": question.values, "test": question.tests,
        });
        let written = self.input.as_mut().is_some_and(|input| writeln!(input, "{request}").is_ok());
        let reply: Option<Reply> =
            if written { self.line().and_then(|line| serde_json::from_str(&line).ok()) } else { None };
        match reply {
            Some(reply) if reply.cell == self.asked => [reply.default, reply.refining].map(|o| match o {
                Outcome::Model { model, predictions } => Answer {
                    predictions: predictions.into_iter().map(|p| p.unwrap_or(f64::NAN)).collect(),
                    text: model,
                    ..Answer::default()
                },
                Outcome::Failure { error } => failed(&error),
            }),
            _ => [failed("Extra-P ended"), failed("Extra-P ended")],
        }
    }
}

impl Drop for ExtraP {
    fn drop(&mut self) {
        // Python ends at the end of its input.
        self.input = None;
        let _ = self.child.wait();
    }
}
