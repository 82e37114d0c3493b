//! A peer as a process of its own, which answers questions: a line `SIDE ITERATIONS` with seconds.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A peer that runs. Ends when it is dropped.
pub(crate) struct Peer {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Devito on so many threads; an error says why it is absent.
    pub(crate) fn devito(folder: &Path, threads: usize) -> Result<Self, String> {
        let program = folder.join("devito_peer.py");
        write(&program, include_str!("devito_peer.py"))?;
        let mut python = Command::new("python3");
        python.arg(program).env("OMP_NUM_THREADS", threads.to_string());
        Self::start(python)
    }

    /// PETSc on so many processes; an error says why it is absent.
    pub(crate) fn petsc(folder: &Path, processes: usize) -> Result<Self, String> {
        let (source, program) = (folder.join("petsc_peer.c"), folder.join("petsc_peer"));
        write(&source, include_str!("petsc_peer.c"))?;
        let flags = ["petsc", "PETSc"].iter().find_map(|name| {
            let output = Command::new("pkg-config").args(["--cflags", "--libs", name]).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
        });
        let flags = flags.ok_or("pkg-config does not know it (Debian: petsc-dev)")?;
        let compiled = Command::new("mpicc")
            .args(["-O3", "-march=native", "-o"])
            .args([&program, &source])
            .args(flags.split_whitespace())
            .output()
            .map_err(|e| format!("cannot start mpicc: {e}"))?;
        if !compiled.status.success() {
            return Err(format!("mpicc: {}", String::from_utf8_lossy(&compiled.stderr).trim()));
        }
        let mut job = Command::new("mpirun");
        job.args(["-n", &processes.to_string()])
            .arg(program)
            .envs(strata_benches::MPI_ENVIRONMENT.iter().copied());
        Self::start(job)
    }

    fn start(mut command: Command) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().map_err(|e| format!("cannot start {name}: {e}"))?;
        let questions = child.stdin.take();
        let answers = child.stdout.take().ok_or("it has no output")?;
        let mut peer = Self { child, questions, answers: BufReader::new(answers) };
        match peer.line()?.as_str() {
            "ready" => Ok(peer),
            _ => Err(peer.last_words()),
        }
    }

    /// The last line that it wrote as an error; it has ended.
    fn last_words(&mut self) -> String {
        self.questions = None;
        let lines = self.child.stderr.take().map(BufReader::new).into_iter().flat_map(|all| all.lines());
        lines
            .map_while(Result::ok)
            .filter(|line| !line.trim().is_empty())
            .last()
            .unwrap_or_else(|| "it ended".to_owned())
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| e.to_string())?;
        Ok(line.trim().to_owned())
    }

    /// The seconds of so many iterations on a square of `side` points.
    pub(crate) fn seconds(&mut self, side: usize, iterations: u64) -> Result<f64, String> {
        let questions = self.questions.as_mut().ok_or("it has ended")?;
        writeln!(questions, "{side} {iterations}")
            .and_then(|()| questions.flush())
            .map_err(|e| e.to_string())?;
        let line = self.line()?;
        line.parse().map_err(|_| self.last_words())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends at the end of its input.
        self.questions = None;
        let _ = self.child.wait();
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
