//! `cargo xtask test`: every check of the workspace, one after the other, with a count at the end.

use std::process::Command;
use std::time::Instant;

use crate::{licences, long, mpi};

/// What all steps without MPI build, and `codegen`, so that they share what is built: cargo builds
/// dependencies anew for each set of features and members.
pub(crate) const BUILT: [&str; 3] =
    ["--workspace", "--features", "strata-runtime/tune,strata-comet/cli,strata-develop/cli"];

/// Features of the members that have an MPI part.
const MPI_FEATURES: &str = "strata-runtime/mpi,strata-runtime/tune,strata-sort/mpi,strata-stencil/mpi,\
    strata-global/mpi,strata-tcs/mpi,strata-comet/mpi,strata-benches/mpi,strata-benches/tune";

/// rsmpi's build script is not run again when the MPI library changes, so each library has its own
/// target folder.
const MPI_TARGET: &str = "target/openmpi";

/// One command of the run.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) arguments: &'static [&'static str],
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

const FORMAT: Check = Check { name: "format", arguments: &["fmt", "--all", "--check"], environment: &[] };

/// In the same build as all tests.
const UNITS: Check = Check {
    name: "unit tests",
    arguments: &["test", BUILT[0], BUILT[1], BUILT[2], "--lib", "--bins", "--no-fail-fast"],
    environment: &[("INSTA_UPDATE", "no")],
};

const PLAIN: &[Check] = &[
    Check {
        name: "lints",
        arguments: &["clippy", BUILT[0], BUILT[1], BUILT[2], "--all-targets", "--", "-D", "warnings"],
        environment: &[],
    },
    Check {
        name: "tests",
        arguments: &["test", BUILT[0], BUILT[1], BUILT[2], "--no-fail-fast"],
        environment: &[("INSTA_UPDATE", "no")],
    },
    Check {
        name: "documentation",
        arguments: &["doc", BUILT[0], BUILT[1], BUILT[2], "--no-deps"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
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

/// Only what differs with MPI: the members that have a part of it, and the tests of that part.
const WITH_MPI: &[Check] = &[
    Check {
        name: "lints with MPI",
        arguments: &[
            "clippy",
            "-p",
            "strata-runtime",
            "-p",
            "strata-sort",
            "-p",
            "strata-global",
            "-p",
            "strata-stencil",
            "-p",
            "strata-tcs",
            "-p",
            "strata-comet",
            "-p",
            "strata-benches",
            // `--all-targets` is without the benches that `cargo bench` runs only by name.
            "--lib",
            "--bins",
            "--tests",
            "--examples",
            "--bench",
            "*",
            "--features",
            MPI_FEATURES,
            "--",
            "-D",
            "warnings",
        ],
        environment: &[("CARGO_TARGET_DIR", MPI_TARGET)],
    },
    Check {
        name: "tests with MPI",
        arguments: &[
            "test",
            "--no-fail-fast",
            "-p",
            "strata-runtime",
            "-p",
            "strata-sort",
            "-p",
            "strata-global",
            "-p",
            "strata-stencil",
            "-p",
            "strata-tcs",
            "-p",
            "strata-comet",
            "--lib",
            "--test",
            "mpi",
            "--test",
            "develop_mpi",
            "--features",
            "strata-runtime/mpi,strata-runtime/tune,strata-sort/mpi,strata-stencil/mpi,\
             strata-global/mpi,strata-tcs/mpi,strata-comet/mpi",
            // All others have run without MPI.
            "mpi",
        ],
        environment: &[("CARGO_TARGET_DIR", MPI_TARGET), ("INSTA_UPDATE", "no")],
    },
    Check {
        name: "profiling with MPI",
        arguments: &[
            "test",
            BUILT[0],
            BUILT[1],
            BUILT[2],
            "--test",
            "interrupt",
            "--test",
            "profile",
            "--",
            "--ignored",
            "mpirun",
        ],
        environment: &[],
    },
];

/// What has become of the steps.
#[derive(Default)]
pub(crate) struct Tally {
    passed: usize,
    failed: Vec<&'static str>,
    skipped: usize,
}

impl Tally {
    /// Runs a step of cargo's.
    pub(crate) fn cargo(&mut self, step: &Check) {
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

    /// Runs a step whose heading has been printed, and counts it.
    pub(crate) fn step(&mut self, name: &'static str, run: impl FnOnce() -> Result<(), String>) {
        let start = Instant::now();
        let ended = run();
        let took = start.elapsed();
        match ended {
            Ok(()) => {
                println!("-- {name}: ok in {took:.0?}");
                self.passed += 1;
            }
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
        let Self { passed, failed, skipped } = self;
        println!("\n{passed} passed, {} failed, {skipped} skipped", failed.len());
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
    PLAIN.iter().for_each(|step| tally.cargo(step));
    match mpi_ready(no_install) {
        Ok(()) => WITH_MPI.iter().for_each(|step| tally.cargo(step)),
        Err(why) => tally.skip("MPI", WITH_MPI.len(), &why),
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
    tally.cargo(&UNITS);
    tally.end()
}

fn mpi_ready(no_install: bool) -> Result<(), String> {
    if !no_install {
        return mpi::setup();
    }
    match mpi::missing() {
        missing if missing.is_empty() => Ok(()),
        missing => Err(format!("missing: {}; `cargo xtask setup` installs it", missing.join(", "))),
    }
}
