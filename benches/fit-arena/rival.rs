//! Extra-P, in its own Python process for the whole run.

use std::process::Command;

use serde::Deserialize;
use serde_json::json;
use strata_benches::peer::Peer;

use super::contenders::{Answer, Question};

pub(crate) struct ExtraP {
    peer: Peer,
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
        let mut python = Command::new("python3");
        python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/fit-arena/rival.py"));
        let (peer, hello) = Peer::greeted(python).map_err(help)?;
        let hello: Hello =
            serde_json::from_str(&hello).map_err(|_| help("python3 cannot import extrap".into()))?;
        Ok(Self { peer, version: hello.version, asked: 0 })
    }

    /// The results of the default modeler and of the refining one.
    pub(crate) fn ask(&mut self, question: &Question<'_>) -> [Answer; 2] {
        self.asked += 1;
        let failed = |text: &str| Answer { text: text.into(), ..Answer::default() };
        let request = json!({
            "cell": self.asked, "parameters": question.inputs, "points": question.points,
            "values": question.values, "test": question.tests,
        });
        let answer = self.peer.answer(&request.to_string());
        let reply: Option<Reply> = answer.ok().and_then(|line| serde_json::from_str(&line).ok());
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
