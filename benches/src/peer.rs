//! A rival as processes of its own, which answer questions with seconds.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A peer that runs. Ends when it is dropped.
pub struct Peer {
    children: Vec<Child>,
    questions: Vec<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts the processes of a peer. All read the questions, the first answers them; it says
    /// `ready` before.
    ///
    /// # Errors
    /// Why there is none: a program that does not start, or its last words.
    pub fn start(commands: Vec<Command>) -> Result<Self, String> {
        let mut peer = Self::spawned(commands)?;
        match peer.line()?.as_str() {
            "ready" => Ok(peer),
            _ => Err(peer.last_words()),
        }
    }

    fn spawned(commands: Vec<Command>) -> Result<Self, String> {
        let (mut children, mut questions) = (Vec::new(), Vec::new());
        for mut command in commands {
            let name = command.get_program().to_string_lossy().into_owned();
            let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = pipes.spawn().map_err(|e| format!("cannot start {name}: {e}"))?;
            questions.extend(child.stdin.take());
            children.push(child);
        }
        let output = children.first_mut().and_then(|child| child.stdout.take());
        let answers = output.map(BufReader::new).ok_or("it has no output")?;
        Ok(Self { children, questions, answers })
    }

    /// The last line that it wrote as an error; it has ended.
    fn last_words(&mut self) -> String {
        self.questions.clear();
        let errors = self.children.first_mut().and_then(|child| child.stderr.take());
        let lines = errors.map(BufReader::new).into_iter().flat_map(|all| all.lines());
        lines
            .map_while(Result::ok)
            .filter(|line| !line.trim().is_empty())
            .last()
            .unwrap_or_else(|| "it ended".to_owned())
    }

    /// Starts one process that says a line of its own before it answers.
    ///
    /// # Errors
    /// As [`Peer::start`].
    pub fn greeted(command: Command) -> Result<(Self, String), String> {
        let mut peer = Self::spawned(vec![command])?;
        let greeting = peer.line()?;
        if greeting.is_empty() { Err(peer.last_words()) } else { Ok((peer, greeting)) }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| e.to_string())?;
        Ok(line.trim().to_owned())
    }

    /// The number with which it answers a question.
    ///
    /// # Errors
    /// Its last words.
    pub fn seconds(&mut self, question: &str) -> Result<f64, String> {
        let line = self.answer(question)?;
        line.parse().map_err(|_| self.last_words())
    }

    /// The line with which it answers a question.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn answer(&mut self, question: &str) -> Result<String, String> {
        for questions in &mut self.questions {
            writeln!(questions, "{question}").and_then(|()| questions.flush()).map_err(|e| e.to_string())?;
        }
        self.line()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // They end at the end of their input.
        self.questions.clear();
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}
