//! Starts this test program again, as the processes of an MPI job, and looks at what comes out.

#![allow(dead_code, reason = "not every test program needs all of it")]

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Read;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The variable that tells a process which case it is in. Between tests and the processes that they
/// start; nothing that users set.
pub(crate) const CASE: &str = "STRATA_CHILD";

/// Between the names of cases that one job runs: to start and to end a job takes longer than most.
pub(crate) const THEN: &str = " | ";

/// Before the name of a case that begins.
const BEGINS: &str = "begins: ";

/// The cases of a process, each of which says that it begins.
pub(crate) fn begun(names: &str) -> impl Iterator<Item = &str> {
    names.split(THEN).inspect(|name| eprintln!("{BEGINS}{name}"))
}

/// A job, and what is wrong with what it did.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) nodes: usize,
    /// How many cases it counts for.
    pub(crate) cases: usize,
    pub(crate) run: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

impl Job {
    pub(crate) fn new(
        name: impl Into<String>,
        nodes: usize,
        run: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), nodes, cases: 1, run: Box::new(run) }
    }
}

/// Jobs of one case that succeeds, on several numbers of nodes.
pub(crate) fn on(all: &[usize], case: &'static str) -> impl Iterator<Item = Job> {
    let job = move |nodes| Job::new(case, nodes, move || run(case, nodes, &[], &[])?.succeeded());
    nodes(all).into_iter().map(job)
}

/// How a process ends.
pub(crate) fn exit<T>(ended: Result<T, impl Display>) -> ExitCode {
    if let Err(error) = &ended {
        eprintln!("{error}");
    }
    ExitCode::from(u8::from(ended.is_err()))
}

/// Runs the jobs of a test program, of those with an argument in their name if there is one, and counts
/// their cases. Without a launcher it says so and skips.
pub(crate) fn all(mut jobs: Vec<Job>) -> ExitCode {
    if let Some(part) = std::env::args().skip(1).find(|argument| !argument.starts_with('-')) {
        jobs.retain(|job| job.name.contains(&part));
    }
    if !is_there() {
        println!("skipped: there is no mpirun (Debian: apt-get install openmpi-bin)\n0 passed, 0 failed");
        return ExitCode::SUCCESS;
    }
    let cases: usize = jobs.iter().map(|job| job.cases).sum();
    let failed = run_all(jobs);
    failed.iter().for_each(|(_, what)| println!("failed: {what}"));
    let failed = failed.iter().map(|(cases, _)| cases).sum::<usize>();
    println!("{} passed, {failed} failed", cases - failed);
    ExitCode::from(u8::from(failed > 0))
}

/// Of the jobs that went wrong, how many cases each counts for, and what is wrong. They run two at a
/// time, as most of a job is waiting, but not those of libraries whose processes do not yield.
pub(crate) fn run_all(jobs: Vec<Job>) -> Vec<(usize, String)> {
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let failed = || {
        std::iter::from_fn(next)
            .filter_map(|Job { name, nodes, cases, run }| {
                run().err().map(|what| (cases, format!("{name} ({nodes} nodes): {what}")))
            })
            .collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let other = is_open_mpi().unwrap_or(false).then(|| scope.spawn(failed));
        let mut all = failed();
        all.extend(other.into_iter().flat_map(|thread| thread.join().expect("no job panics")));
        all
    })
}

/// What a job printed, and how it ended.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    /// An error with all that was printed.
    pub(crate) fn wrong(&self, what: &str) -> Result<(), String> {
        Err(format!("{what}\n--- stdout\n{}\n--- stderr\n{}", self.out, self.err))
    }

    /// Whether the job succeeded.
    pub(crate) fn succeeded(&self) -> Result<(), String> {
        if self.status.success() {
            return Ok(());
        }
        let last = self.err.lines().rev().find_map(|line| line.strip_prefix(BEGINS));
        self.wrong(&last.map_or("it failed".to_owned(), |last| format!("it failed; last began `{last}`")))
    }

    /// Whether the job failed, and said each of `texts` in a line of Strata's own.
    pub(crate) fn failed_with(&self, texts: &[&str]) -> Result<(), String> {
        if self.status.success() {
            return self.wrong("it did not fail");
        }
        let lines: Vec<&str> = self.err.lines().filter(|line| line.starts_with("strata: ")).collect();
        match texts.iter().find(|text| !lines.iter().any(|line| line.contains(**text))) {
            Some(text) => self.wrong(&format!("no line says `{text}`")),
            None => Ok(()),
        }
    }
}

/// The command that starts MPI jobs: that of the library which this program is linked with.
fn mpirun() -> OsString {
    std::env::var_os("STRATA_MPIRUN").unwrap_or_else(|| "mpirun".into())
}

/// The numbers of nodes to try: all, but of other libraries than Open MPI no more than there are
/// cores. Their processes do not yield to each other, so that more of them take very long.
pub(crate) fn nodes(all: &[usize]) -> Vec<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = if is_open_mpi().unwrap_or(true) { usize::MAX } else { cores };
    all.iter().copied().filter(|nodes| *nodes <= most).collect()
}

/// Whether the launcher is Open MPI's; `None` where there is none.
fn is_open_mpi() -> Option<bool> {
    let version = Command::new(mpirun()).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&version.stdout).contains("Open MPI"))
}

/// Whether MPI jobs can be started.
pub(crate) fn is_there() -> bool {
    is_open_mpi().is_some()
}

/// Starts this program as the launcher of an MPI does that it is not linked with: alone, beside the
/// word that there are two. That has to be refused.
pub(crate) fn by_another_launcher(case: &str) -> Result<(), String> {
    let open = is_open_mpi().ok_or("there is no launcher")?;
    // What the other one's launcher sets.
    let size = if open { "PMI_SIZE" } else { "OMPI_COMM_WORLD_SIZE" };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .env(CASE, case)
        .env(size, "2")
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let outcome = Outcome { status: output.status, out: text(&output.stdout), err: text(&output.stderr) };
    match outcome.err.contains("2 processes were started by the launcher of another MPI") {
        true if !outcome.status.success() => Ok(()),
        _ => outcome.wrong("it was not refused"),
    }
}

/// Runs this program with `arguments` as `nodes` processes, in case `case`, with `variables` set.
pub(crate) fn run(
    case: &str,
    nodes: usize,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<Outcome, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(mpirun())
        .args(["-n", &nodes.to_string()])
        .arg(program)
        .args(arguments)
        .env(CASE, case)
        .envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ("OMPI_MCA_hwloc_base_binding_policy", "none"),
            ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
            ("PRTE_MCA_hwloc_default_binding_policy", "none"),
            ("OMPI_MCA_osc", "sm"),
            ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
        ])
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // Read while it runs: a job that fills a pipe waits until there is room.
    let (out, err) = (text(child.stdout.take()), text(child.stderr.take()));
    let start = Instant::now();
    let mut stuck = false;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if start.elapsed() > Duration::from_secs(240) && !stuck {
            child.kill().map_err(|error| error.to_string())?;
            stuck = true;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let [out, err] = [out, err].map(|text| text.join().unwrap_or_default());
    let outcome = Outcome { status, out, err };
    if stuck {
        outcome.wrong("still running after 240 s")?;
    }
    Ok(outcome)
}

fn text(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a failure is worth showing.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
