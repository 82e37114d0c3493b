//! Chores of the workspace in place of shell scripts: `cargo xtask setup | test | package |
//! codegen | mutants | map | weight`.

#![forbid(unsafe_code)]

mod codegen;
mod licences;
mod long;
mod map;
mod mpi;
mod mutants;
mod package;
mod pictures;
#[cfg(test)]
mod prints;
mod sets;
#[cfg(test)]
mod soundness;
mod steps;
mod weight;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the Strata workspace.
///
/// Exit status: 0 done; 1 a step failed.
#[derive(Parser)]
#[command(arg_required_else_help = true, help_expected = true, max_term_width = 90)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Install Open MPI and libclang through the system's package manager, or say how to.
    Setup {
        /// Also SimGrid, on whose platforms `--on smpi:FILE` runs MPI programs.
        #[arg(long)]
        smpi: bool,
    },
    /// Check and test everything, MPI included: formatting, lints, documentation, generated code,
    /// tests.
    Test {
        /// Do not install anything: skip the MPI part where MPI is missing.
        #[arg(long)]
        no_install: bool,
        /// Only what belongs before every commit: formatting, licences, and the unit tests of all
        /// crates.
        #[arg(long, conflicts_with_all = ["no_install", "long"])]
        quick: bool,
        /// Only the tests of jobs, with MPICH beside Open MPI: built by `mpicc.mpich` in `target/mpich`
        /// and started by `mpirun.mpich`, as Debian's packages name them.
        #[arg(long, conflicts_with_all = ["no_install", "quick", "long"])]
        mpich: bool,
        /// Also what takes long: AddressSanitizer and Miri where a nightly toolchain has them, a
        /// minute of damaged files, and tests whose standard error cannot be written. 15 minutes
        /// more on two cores.
        #[arg(long)]
        long: bool,
    },
    /// Pack every crate that others may depend on, build it from its package, as `cargo publish`
    /// would, and from a registry of them install `specc`, make a library and calibrate it.
    Package,
    /// Write generated sources again from the committed samples and specs.
    Codegen {
        /// Write nothing; fail where a generated file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Break code, one listed mutation after the other in a copy, and fail where its tests do not
    /// notice: those under loom, and some others, of which two need an MPI. Takes some minutes.
    Mutants {
        /// Only mutations whose names contain this.
        only: Option<String>,
    },
    /// Print which crate stands on which, a floor a group, and circles of modules across folders.
    Map,
    /// Print the lines, public items and words of each folder, and the dependencies of specc; the
    /// tests fail where a total exceeds that in weight.toml.
    Weight {
        /// Write totals that fell into weight.toml.
        #[arg(long)]
        lower: bool,
        /// Build specc from nothing, in target/weight, and print the processor time. Minutes.
        #[arg(long)]
        build: bool,
    },
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().chore {
        Chore::Setup { smpi } => mpi::setup(smpi),
        Chore::Test { quick: true, .. } => steps::quick(),
        Chore::Test { mpich: true, .. } => steps::mpich(),
        Chore::Test { no_install, long, .. } => steps::test(no_install, long),
        Chore::Package => package::package(),
        Chore::Codegen { check } => codegen::run(check),
        Chore::Map => weight::files().and_then(|files| map::run(&files)),
        Chore::Weight { lower, build } => weight::run(lower, build),
        Chore::Mutants { only: None } => mutants::run(),
        Chore::Mutants { only: Some(part) } => mutants::only(&part),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
