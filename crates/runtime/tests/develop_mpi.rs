//! Logs, watchdog and traces of jobs of MPI processes, also of one that is killed.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

mod mpirun;

use mpirun::{CASE, Job, Outcome};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use strata_develop::log::standing::Report;
use strata_develop::log::{Log, Standing};
use strata_develop::trace::Trace;
use strata_runtime::prelude::*;

/// How a case is run and what is looked at afterwards.
struct Case {
    name: &'static str,
    least: usize,
    run: fn(&mut Node) -> Result<(), Error>,
    variables: &'static [(&'static str, &'static str)],
    check: fn(&Outcome, &Path, usize) -> Result<(), String>,
}

const CASES: &[Case] = &[
    Case {
        name: "clocks are put in line",
        least: 1,
        run: |node| {
            let first = node.synchronise_clocks();
            // Processes start at different times; a barrier lets all go on at nearly the same one.
            node.barrier();
            let now = i64::try_from((node.now().get() * 1e9) as u64).unwrap_or(0) - first.offset;
            let bound = first.bound as i64;
            let earliest = node.reduce_min(now + bound);
            let latest = node.reduce_max(now - bound);
            // What is left is how long a barrier takes to let the last node go.
            if latest - earliest > 200_000_000 || (node.rank() == 0 && (first.offset, first.bound) != (0, 0))
            {
                return Err(Error::program(format!("{first:?}: {} ns apart", latest - earliest)));
            }
            Ok(())
        },
        variables: &[],
        check: |outcome, folder, nodes| {
            outcome.succeeded()?;
            let traces = Trace::read_folder(folder).map_err(|error| error.to_string())?;
            let bounded = traces.iter().filter(|trace| trace.clock.is_some()).count();
            if (traces.len(), bounded) == (nodes, nodes) {
                Ok(())
            } else {
                Err("clocks are missing".to_owned())
            }
        },
    },
    Case {
        name: "the watchdog names who has not come",
        least: 2,
        run: stuck,
        variables: &[("STRATA_WATCHDOG", "700ms")],
        check: |outcome, _, nodes| {
            let others = (0..nodes).filter(|node| *node != 1);
            let own: Vec<String> = others
                .map(|node| {
                    format!("node {node} waits in barrier #2 at crates/runtime/tests/develop_mpi.rs:")
                })
                .collect();
            outcome.failed_with(&own.iter().map(String::as_str).collect::<Vec<_>>())?;
            let missing = "node 1 has not come: last in reduce add of 1 u64 #1 at ";
            if outcome.err.contains(missing) { Ok(()) } else { outcome.wrong("nobody is missed") }
        },
    },
    Case {
        name: "the logs of a job of which one process was killed tell who was missing",
        least: 2,
        run: |node| {
            node.reduce_add(1u64);
            if node.rank() == 1 {
                std::thread::sleep(Duration::from_millis(500));
                node.log("about to be killed");
                let own = std::process::id().to_string();
                std::process::Command::new("kill").args(["-9", &own]).status()?;
            }
            node.barrier();
            Ok(())
        },
        variables: &[],
        check: |outcome, folder, _| {
            if outcome.status.success() {
                return outcome.wrong("it did not fail");
            }
            let logs = Log::read_folder(folder).map_err(|error| error.to_string())?;
            let report = Report(&Standing::of_logs(&logs)).to_string();
            let told = report.contains("wait")
                && report.contains("node 1 has not come: last in reduce add of 1 u64 #1 at ");
            if told { Ok(()) } else { Err(report) }
        },
    },
];

fn stuck(node: &mut Node) -> Result<(), Error> {
    node.reduce_add(1u64);
    if node.rank() == 1 {
        std::thread::sleep(Duration::from_secs(60));
    }
    node.barrier();
    Ok(())
}

fn drive(case: &Case, nodes: usize) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().display().to_string();
    let mut variables = vec![("STRATA_LOG", path.as_str()), ("STRATA_TRACE", path.as_str())];
    variables.extend(case.variables);
    (case.check)(&mpirun::run(case.name, nodes, &[], &variables)?, folder.path(), nodes)
}

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(CASE) {
        let case = CASES.iter().find(|case| case.name == name);
        return mpirun::exit(case.ok_or("there is no such case".into()).and_then(|case| launch(case.run)));
    }
    let of = |nodes: usize| {
        let cases = CASES.iter().filter(move |case| nodes >= case.least);
        cases.map(move |case| Job::new(case.name, nodes, move || drive(case, nodes)))
    };
    mpirun::all(mpirun::nodes(&[1, 2, 3]).into_iter().flat_map(of).collect())
}
