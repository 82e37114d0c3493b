//! `cargo xtask test`: every check of the workspace, one after the other, with a count at the end.

use std::cmp::Reverse;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{licences, long, mpi, weight};

/// What all steps build, and `codegen`, so that they share what is built: cargo builds dependencies
/// anew for each set of features and members.
const PLAIN: [&str; 3] = [
    "--workspace",
    "--features",
    "strata-runtime/tune,strata-comet/cli,strata-develop/cli,strata-tcs/cli,strata-benches/tune,\
     strata-stencil/ndarray",
];

/// The same with the members' MPI parts. After a change of the MPI library `cargo clean -p mpi-sys`:
/// its build script is not run again by itself.
const WITH_MPI: [&str; 3] = [
    "--workspace",
    "--features",
    "strata-runtime/tune,strata-comet/cli,strata-develop/cli,strata-tcs/cli,strata-benches/tune,\
     strata-stencil/ndarray,strata-runtime/mpi,strata-sort/mpi,strata-stencil/mpi,strata-global/mpi,\
     strata-tcs/mpi,strata-comet/mpi,strata-benches/mpi",
];

/// Members and features of a build on this machine: with MPI where it can be built.
pub(crate) fn built() -> [&'static str; 3] {
    if mpi::missing().is_empty() { WITH_MPI } else { PLAIN }
}

/// `--all-targets` would leave out the benches that `cargo bench` runs only by name.
const ALL_TARGETS: [&str; 6] = ["--lib", "--bins", "--tests", "--examples", "--bench", "*"];

/// Snapshots are compared, not written.
const AS_COMMITTED: [(&str, &str); 1] = [("INSTA_UPDATE", "no")];

/// Steps in which nothing of ours runs.
const BUILDING: [&str; 4] = ["lints", "lints without MPI", "tests, built", "documentation"];

const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

/// One command of the run.
pub(crate) struct Check<'a> {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'a [&'a str],
    pub(crate) environment: &'a [(&'a str, &'a str)],
}

const FORMAT: Check<'_> = Check { name: "format", arguments: &["fmt", "--all", "--check"], environment: &[] };

/// Steps that build something else, or nothing.
const OTHER: &[Check<'_>] = &[
    Check {
        name: "shared memory under loom",
        arguments: &[
            "test",
            "-p",
            "strata-runtime",
            "-p",
            "strata-global",
            "-p",
            "strata-tcs",
            "--lib",
            "--profile",
            "loom",
            "loom",
        ],
        environment: &[("RUSTFLAGS", "--cfg loom"), ("CARGO_TARGET_DIR", "target/loom")],
    },
    // Whether the packages can be built takes longer: `cargo xtask package`.
    Check {
        name: "packages",
        arguments: &[
            "package",
            "--workspace",
            "--exclude",
            "strata-benches",
            "--exclude",
            "strata-matmul",
            "--exclude",
            "strata-motion",
            "--exclude",
            "xtask",
            "--quiet",
            "--offline",
            "--allow-dirty",
            "--no-verify",
        ],
        environment: &[],
    },
    Check { name: "generated code", arguments: &["xtask", "codegen", "--check"], environment: &[] },
];

/// What has become of the steps.
#[derive(Default)]
pub(crate) struct Tally {
    failed: Vec<&'static str>,
    skipped: usize,
    /// What each step took.
    took: Vec<(&'static str, Duration)>,
}

impl Tally {
    /// Runs a step of cargo's.
    pub(crate) fn cargo(&mut self, step: &Check<'_>) {
        println!("\n== {} ==\n$ cargo {}", step.name, step.arguments.join(" "));
        // Another toolchain is rustup's to find.
        let other = step.arguments.first().is_some_and(|first| first.starts_with('+'));
        let mut command = Command::new(if other { "cargo" } else { env!("CARGO") });
        command.args(step.arguments).envs(step.environment.iter().copied());
        self.step(step.name, || match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("cargo ended with {status}")),
            Err(error) => Err(format!("cannot start cargo: {error}")),
        });
    }

    /// Runs a step of cargo's on the members and features of a [build](built).
    fn build(
        &mut self,
        name: &'static str,
        [command, build, rest]: [&[&str]; 3],
        environment: &[(&str, &str)],
    ) {
        let arguments = [command, build, rest].concat();
        self.cargo(&Check { name, arguments: &arguments, environment });
    }

    /// Runs a step whose heading has been printed, and counts it.
    pub(crate) fn step(&mut self, name: &'static str, run: impl FnOnce() -> Result<(), String>) {
        let start = Instant::now();
        let ended = run();
        let took = start.elapsed();
        self.took.push((name, took));
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
        let Self { failed, skipped, mut took } = self;
        took.sort_by_key(|(_, took)| Reverse(*took));
        println!("\n== the slowest first ==");
        took.iter().for_each(|(name, took)| println!("{:5} s  {name}", took.as_secs()));
        let all: Duration = took.iter().map(|(_, took)| took).sum();
        let building: Duration =
            took.iter().filter(|(name, _)| BUILDING.contains(name)).map(|(_, took)| took).sum();
        let share = 100.0 * building.as_secs_f64() / all.as_secs_f64().max(1e-9);
        println!("{:5} s, of which {share:.0} % only build", all.as_secs());
        println!("\n{} passed, {} failed, {skipped} skipped", took.len() - failed.len(), failed.len());
        if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
    }

    /// Leaves out `count` steps.
    pub(crate) fn skip(&mut self, what: &str, count: usize, why: &str) {
        println!("\n== {what}: skipped ==\n{why}");
        self.skipped += count;
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
    tally.build("lints", [&["clippy"], &build, &[&ALL_TARGETS[..], &DENY_WARNINGS].concat()], &[]);
    if long && mpi.is_ok() {
        let rest = [&["--lib", "--bins"][..], &DENY_WARNINGS].concat();
        tally.build("lints without MPI", [&["clippy"], &PLAIN, &rest], &[]);
    }
    tally.build("tests, built", [&["test"], &build, &["--no-run"]], &[]);
    tally.build("tests", [&["test"], &build, &["--no-fail-fast"]], &AS_COMMITTED);
    tally.build("documentation", [&["doc"], &build, &["--no-deps"]], &[("RUSTDOCFLAGS", "-D warnings")]);
    OTHER.iter().for_each(|step| tally.cargo(step));
    match mpi {
        Ok(()) => {
            let rest =
                ["--test", "interrupt", "--test", "it", "--test", "measured", "--", "--ignored", "mpirun"];
            tally.build("profiling with MPI", [&["test"], &build, &rest], &[]);
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
    tally.build("unit tests", [&["test"], &built(), &["--lib", "--bins", "--no-fail-fast"]], &AS_COMMITTED);
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
    let libraries = ["-p", "strata-sort", "-p", "strata-stencil", "-p", "strata-comet"];
    let with = [
        "--features",
        "strata-runtime/tune,strata-runtime/mpi,strata-sort/mpi,strata-stencil/mpi,strata-comet/mpi",
    ];
    let build = [&["-p", "strata-runtime"][..], &libraries, &with].concat();
    let communicator = ["--test", "communicator"];
    tally.build("communicators of MPICH", [&["test"], &build, &communicator], &environment);
    let build = [&libraries[..], &with].concat();
    let rest = ["--test", "mpi", "--test", "advect", "--no-fail-fast"];
    tally.build("jobs of MPICH", [&["test"], &build, &rest], &environment);
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
