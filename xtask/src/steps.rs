//! `cargo xtask test`: every check of the workspace, with a count at the end.

use std::cmp::Reverse;
use std::io::{self, Read, Write};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::{licences, long, mpi, weight};

/// What all steps build, and `codegen`, so that they share what is built: cargo builds dependencies
/// anew for each set of features and members.
const PLAIN: &str = "--workspace --features \
    strata-runtime/tune,strata-comet/cli,strata-develop/cli,strata-tcs/cli,strata-benches/tune,\
    strata-stencil/ndarray,strata-hpc/copy,strata-hpc/global,strata-hpc/sim,strata-hpc/sort,\
    strata-hpc/stencil";

/// The same with the members' MPI parts. After a change of the MPI library `cargo clean -p mpi-sys`:
/// its build script is not run again by itself.
const WITH_MPI: &str = "--workspace --features \
    strata-runtime/tune,strata-comet/cli,strata-develop/cli,strata-tcs/cli,strata-benches/tune,\
    strata-stencil/ndarray,strata-hpc/copy,strata-hpc/global,strata-hpc/sim,strata-hpc/sort,\
    strata-hpc/stencil,strata-hpc/mpi,strata-runtime/mpi,strata-sort/mpi,strata-stencil/mpi,\
    strata-global/mpi,strata-tcs/mpi,strata-comet/mpi,strata-benches/mpi";

/// Members and features of a build on this machine: with MPI where it can be built.
pub(crate) fn built() -> &'static str {
    if mpi::missing().is_empty() { WITH_MPI } else { PLAIN }
}

/// `--all-targets` would leave out the benches that `cargo bench` runs only by name.
const LINTS: &str = "--lib --bins --tests --examples --bench * -- -D warnings";

/// Snapshots are compared, not written.
const AS_COMMITTED: [(&str, &str); 1] = [("INSTA_UPDATE", "no")];

/// Steps in which nothing of ours runs.
const BUILDING: [&str; 3] = ["lints", "lints without MPI", "tests, built"];

/// One command of the run.
#[derive(Clone, Copy)]
pub(crate) struct Check<'a> {
    pub(crate) name: &'static str,
    /// What follows `cargo`, of words without blanks.
    pub(crate) arguments: &'a str,
    pub(crate) environment: &'a [(&'a str, &'a str)],
}

const FORMAT: Check<'_> = Check { name: "format", arguments: "fmt --all --check", environment: &[] };

impl Check<'_> {
    fn heading(&self) -> String {
        format!("\n== {} ==\n$ cargo {}", self.name, self.arguments)
    }

    fn command(&self) -> Command {
        // Another toolchain is rustup's to find.
        let other = self.arguments.starts_with('+');
        let mut command = Command::new(if other { "cargo" } else { env!("CARGO") });
        command.args(self.arguments.split_whitespace()).envs(self.environment.iter().copied());
        command
    }

    /// Runs it on one core, and keeps what it prints.
    fn captured(&self) -> io::Result<(ExitStatus, Vec<u8>)> {
        let (mut reader, writer) = io::pipe()?;
        let mut command = self.command();
        command.env("CARGO_BUILD_JOBS", "1").stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // With it go our ends of the pipe.
        drop(command);
        let mut printed = Vec::new();
        reader.read_to_end(&mut printed)?;
        Ok((child.wait()?, printed))
    }
}

/// Steps that build something else, or nothing.
const OTHER: &[Check<'_>] = &[
    Check {
        name: "shared memory under loom",
        arguments: "test -p strata-runtime -p strata-global -p strata-tcs --lib --profile loom loom",
        environment: &[("RUSTFLAGS", "--cfg loom"), ("CARGO_TARGET_DIR", "target/loom")],
    },
    // Whether the packages can be built takes longer: `cargo xtask package`.
    Check {
        name: "packages",
        arguments: "package --workspace --exclude strata-benches --exclude strata-matmul \
            --exclude strata-motion --exclude xtask --quiet --offline --allow-dirty --no-verify",
        environment: &[],
    },
    Check { name: "generated code", arguments: "xtask codegen --check", environment: &[] },
];

/// What has become of the steps.
#[derive(Default)]
pub(crate) struct Tally {
    failed: Vec<&'static str>,
    skipped: usize,
    /// What each step took.
    took: Vec<(&'static str, Duration)>,
    /// The same of steps that ran while others did.
    beside: Vec<(&'static str, Duration)>,
}

impl Tally {
    /// Runs a step of cargo's.
    pub(crate) fn cargo(&mut self, step: &Check<'_>) {
        println!("{}", step.heading());
        self.step(step.name, || ended(step.command().status()));
    }

    /// The same, of these words.
    fn build(&mut self, name: &'static str, arguments: &str, environment: &[(&str, &str)]) {
        self.cargo(&Check { name, arguments, environment });
    }

    /// Runs steps of cargo's on one core beside `tests`, which leave cores idle: many wait, and each
    /// program ends with one. What the steps print comes after.
    fn beside(&mut self, steps: &[Check<'_>], tests: impl FnOnce(&mut Self)) {
        let all = || {
            let timed = steps.iter().map(|step| {
                let start = Instant::now();
                (step.captured(), start.elapsed())
            });
            timed.collect::<Vec<_>>()
        };
        let ran = std::thread::scope(|scope| {
            let others = scope.spawn(all);
            tests(self);
            others.join().expect("no step panics")
        });
        for (step, (outcome, took)) in steps.iter().zip(ran) {
            println!("{}", step.heading());
            let status = outcome.and_then(|(status, printed)| {
                io::stdout().write_all(&printed)?;
                Ok(status)
            });
            self.beside.push((step.name, took));
            self.count(step.name, took, ended(status));
        }
    }

    /// Runs a step whose heading has been printed, and counts it.
    pub(crate) fn step(&mut self, name: &'static str, run: impl FnOnce() -> Result<(), String>) {
        let start = Instant::now();
        let ended = run();
        let took = start.elapsed();
        self.took.push((name, took));
        self.count(name, took, ended);
    }

    fn count(&mut self, name: &'static str, took: Duration, ended: Result<(), String>) {
        match ended {
            Ok(()) => println!("-- {name}: ok in {took:.0?}"),
            Err(why) => {
                println!("-- {name}: FAILED in {took:.0?}: {why}");
                self.failed.push(name);
            }
        }
    }

    fn licences(&mut self) {
        println!("\n== licences of dependencies ==");
        self.step("licences of dependencies", licences::check);
    }

    fn end(self) -> Result<(), String> {
        let Self { failed, skipped, took, beside } = self;
        println!("\n== the slowest first ==");
        let mut steps: Vec<_> = took.iter().map(|(name, took)| (took, *name, "")).collect();
        steps.extend(beside.iter().map(|(name, took)| (took, *name, ", beside the tests")));
        steps.sort_by_key(|(took, ..)| Reverse(*took));
        steps.iter().for_each(|(took, name, beside)| println!("{:5} s  {name}{beside}", took.as_secs()));
        let all: Duration = took.iter().map(|(_, took)| took).sum();
        let building: Duration =
            took.iter().filter(|(name, _)| BUILDING.contains(name)).map(|(_, took)| took).sum();
        let share = 100.0 * building.as_secs_f64() / all.as_secs_f64().max(1e-9);
        println!("{:5} s, of which {share:.0} % only build", all.as_secs());
        println!("\n{} passed, {} failed, {skipped} skipped", steps.len() - failed.len(), failed.len());
        if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
    }

    /// Leaves out `count` steps.
    pub(crate) fn skip(&mut self, what: &str, count: usize, why: &str) {
        println!("\n== {what}: skipped ==\n{why}");
        self.skipped += count;
    }
}

/// How a command of cargo's ended.
fn ended(status: io::Result<ExitStatus>) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo ended with {status}")),
        Err(error) => Err(format!("cannot start cargo: {error}")),
    }
}

/// Runs every step, continues after a failure, and counts. `long`: also the [long ones](long::run).
///
/// # Errors
/// The names of the steps that failed.
pub(crate) fn test(no_install: bool, long: bool) -> Result<(), String> {
    let mut tally = Tally::default();
    tally.cargo(&FORMAT);
    tally.licences();
    println!("\n== weight ==");
    tally.step("weight", weight::check);
    let mpi = mpi_ready(no_install);
    let build = built();
    tally.build("lints", &format!("clippy {build} {LINTS}"), &[]);
    if long && mpi.is_ok() {
        tally.build("lints without MPI", &format!("clippy {PLAIN} --lib --bins -- -D warnings"), &[]);
    }
    tally.build("tests, built", &format!("test {build} --no-run"), &[]);
    let documentation = Check {
        name: "documentation",
        arguments: &format!("doc {build} --no-deps"),
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    };
    tally.beside(&[OTHER, &[documentation]].concat(), |tally| {
        tally.build("tests", &format!("test {build} --no-fail-fast"), &AS_COMMITTED);
    });
    match mpi {
        Ok(()) => {
            let rest = "--test interrupt --test it --test measured -- --ignored mpirun";
            tally.build("profiling with MPI", &format!("test {build} {rest}"), &[]);
        }
        Err(why) => tally.skip("MPI", 2, &why),
    }
    if long {
        long::run(&mut tally);
    }
    tally.end()
}

/// Runs what belongs before every commit.
///
/// # Errors
/// The names of the steps that failed.
pub(crate) fn quick() -> Result<(), String> {
    let mut tally = Tally::default();
    tally.cargo(&FORMAT);
    tally.licences();
    let tests = format!("test {} --lib --bins --no-fail-fast", built());
    tally.build("unit tests", &tests, &AS_COMMITTED);
    tally.end()
}

/// The tests of jobs with MPICH. What needs no job is not repeated.
///
/// # Errors
/// What is missing, or the names of the steps that failed.
pub(crate) fn mpich() -> Result<(), String> {
    mpi::mpich_ready()?;
    let [compiler, launcher] = mpi::MPICH;
    let mut tally = Tally::default();
    // Each test program starts itself again by the launcher. Calls of algorithms take the variable.
    let environment = [
        ("MPICC", compiler),
        ("STRATA_MPIRUN", launcher),
        ("CARGO_TARGET_DIR", "target/mpich"),
        ("MPIR_CVAR_DEVICE_COLLECTIVES", "none"),
    ];
    // The run-time's own suite is left out: one of its 84 cases fails (docs/mpi-clusters.md).
    let libraries = "-p strata-sort -p strata-stencil -p strata-comet";
    let with = "--features \
        strata-runtime/tune,strata-runtime/mpi,strata-sort/mpi,strata-stencil/mpi,strata-comet/mpi";
    let communicators = format!("test -p strata-runtime {libraries} {with} --test communicator");
    tally.build("communicators of MPICH", &communicators, &environment);
    let jobs = format!("test {libraries} {with} --test mpi --test advect --no-fail-fast");
    tally.build("jobs of MPICH", &jobs, &environment);
    tally.end()
}

fn mpi_ready(no_install: bool) -> Result<(), String> {
    if !no_install {
        return mpi::setup(false);
    }
    match mpi::missing() {
        missing if missing.is_empty() => Ok(()),
        missing => Err(format!("missing: {}; `cargo xtask setup` installs it", missing.join(", "))),
    }
}
