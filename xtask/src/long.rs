//! What `cargo xtask test --long` runs besides: tools that see what tests alone do not. Those that
//! are not installed are skipped.

use std::fs::OpenOptions;
use std::io;
use std::process::{Command, Stdio};

use crate::steps::{Check, Tally};

/// Reads and writes beside memory, or after it was freed.
///
/// Left out are simulated nodes: they are safe code here, on stacks of the `generator` crate, and
/// would take as long as all others. Leaks are not looked for: that crate keeps some memory of each
/// thread.
const ADDRESS_SANITIZER: Check<'_> = Check {
    name: "AddressSanitizer",
    arguments: "+nightly test --target x86_64-unknown-linux-gnu --no-fail-fast -p strata-copy \
        -p strata-runtime --lib --test it --test allocation -- --skip sim",
    environment: &[
        ("RUSTFLAGS", "-Zsanitizer=address"),
        ("ASAN_OPTIONS", "detect_leaks=0"),
        ("CARGO_TARGET_DIR", "target/asan"),
        ("INSTA_UPDATE", "no"),
    ],
};

/// Undefined behaviour of any kind, on a processor without routines of its own: there is no assembly
/// and no `cpuid`. Miri is slow: the tests take few cases of each property there, and of the threads'
/// tests these are those in which nodes lend memory to each other, and one of them fails or leaves.
const MIRI: [Check<'_>; 2] = [
    // Left out are tests of system calls, of routines that this processor does not have, of
    // thousands of blocks, and one that starts itself again.
    Check {
        name: "copies under Miri",
        arguments: "+nightly miri test --target aarch64-unknown-linux-gnu -p strata-copy --lib \
            --test it -- --skip guard:: --skip routines:: --skip a_pin_takes_one \
            --skip every_mover_moves_every_size",
        environment: MIRI_ENVIRONMENT,
    },
    Check {
        name: "lending between threads under Miri",
        arguments: "+nightly miri test --target aarch64-unknown-linux-gnu -p strata-runtime \
            --lib -- lent_memory_outlives_a_failure_from_outside segments_are_those_of_the_manual \
            a_node_that_leaves_with_an_operation_in_flight_is_missed \
            puts_that_do_not_fit_name_both_nodes_and_the_port \
            puts_into_the_port_of_a_node_that_is_gone_harm_nobody",
        environment: MIRI_ENVIRONMENT,
    },
];

const MIRI_ENVIRONMENT: &[(&str, &str)] = &[
    // Tests read files and the clock.
    ("MIRIFLAGS", "-Zmiri-disable-isolation"),
    ("CARGO_TARGET_DIR", "target/miri"),
];

/// Damaged files, with a new seed.
const FUZZ: Check<'_> = Check {
    name: "a minute of damaged files",
    arguments: "test -p strata-benches --test it fuzz -- --ignored --nocapture",
    environment: &[],
};

/// Random programs that are stuck and that only wait long, and random halos against an oracle, for
/// two minutes each, from seeds that they print, and what the tests take fewer cases of.
const RANDOM: [Check<'_>; 3] = [
    Check {
        name: "random programs",
        arguments: "test -p strata-runtime --test it long_random -- --ignored",
        environment: &[],
    },
    Check {
        name: "random programs under MPI",
        arguments: "test -p strata-runtime --features mpi,tune --test mpi -- --ignored",
        environment: &[("CARGO_TARGET_DIR", "target/mpi")],
    },
    Check {
        name: "random halos",
        arguments: "test -p strata-stencil --test it long_random -- --ignored",
        environment: &[],
    },
];

/// What is run with a standard error that cannot be written: diagnostics there must change nothing.
/// Without `--nocapture` the harness would keep them.
const WITHOUT_STDERR: &[&str] =
    &["test", "--quiet", "-p", "strata-runtime", "--test", "it", "--", "threads::", "local::", "--nocapture"];

pub(crate) fn run(tally: &mut Tally) {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        tally.skip(ADDRESS_SANITIZER.name, 1, "it is set up for Linux on x86-64");
    } else if cargo_runs(&["+nightly", "--version"]) {
        tally.cargo(&ADDRESS_SANITIZER);
    } else {
        tally.skip(ADDRESS_SANITIZER.name, 1, "no nightly toolchain: `rustup toolchain install nightly`");
    }
    if cargo_runs(&["+nightly", "miri", "--version"]) {
        MIRI.iter().for_each(|step| tally.cargo(step));
    } else {
        let why = "not installed: `rustup component add --toolchain nightly miri rust-src`";
        tally.skip("Miri", MIRI.len(), why);
    }
    tally.cargo(&FUZZ);
    let ready = crate::mpi::missing().is_empty();
    RANDOM.iter().filter(|step| ready || !step.name.ends_with("MPI")).for_each(|step| tally.cargo(step));
    for (name, stderr) in [("standard error on a full disk", full as Stderr), ("a closed pipe", closed)] {
        println!("\n== {name} ==\n$ cargo {}", WITHOUT_STDERR.join(" "));
        tally.step(name, || without_stderr(stderr));
    }
    println!("\n== mutations ==\n$ cargo xtask mutants");
    tally.step("mutations", crate::mutants::run);
}

fn cargo_runs(arguments: &[&str]) -> bool {
    let silent = || Stdio::null();
    let mut command = Command::new("cargo");
    command.args(arguments).stdin(silent()).stdout(silent()).stderr(silent());
    command.status().is_ok_and(|status| status.success())
}

/// Makes what a process gets as its standard error.
type Stderr = fn() -> io::Result<Stdio>;

fn full() -> io::Result<Stdio> {
    Ok(OpenOptions::new().write(true).open("/dev/full")?.into())
}

/// A pipe that nobody reads any more, as after `2>&1 | head`. Programs whose standard error is closed
/// from the beginning are no different from others: Rust gives them `/dev/null`.
fn closed() -> io::Result<Stdio> {
    Ok(io::pipe()?.1.into())
}

/// Runs the tests; what they find stands on standard output.
fn without_stderr(stderr: Stderr) -> Result<(), String> {
    // Cargo writes to standard error where it builds: it does so before.
    let tests = WITHOUT_STDERR.split(|argument| *argument == "--").next().unwrap_or_default();
    let built = Command::new(env!("CARGO")).args(tests).arg("--no-run").status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("cannot build the tests".to_owned());
    }
    let stderr = stderr().map_err(|error| error.to_string())?;
    match Command::new(env!("CARGO")).args(WITHOUT_STDERR).stderr(stderr).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo ended with {status}")),
        Err(error) => Err(format!("cannot start cargo: {error}")),
    }
}
