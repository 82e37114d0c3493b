//! What tests change: wrong data, a coarse clock, little memory, and more operations.

use strata_runtime::Node;

/// Faults of a node; none unless a test sets them.
#[derive(Clone, Copy, Default)]
pub(super) struct Trial {
    /// The kernel whose data are corrupted.
    spoilt: &'static str,
    /// The step of an artificially coarse clock in s; zero for the real clock.
    pub(super) tick: f64,
    /// Bytes of free memory, in place of the system's figure.
    pub(super) free: Option<u64>,
    /// The operations of one timing on a simulated machine.
    pub(super) operations: Option<usize>,
}

/// True if the data of this kernel are to be corrupted, to test the check.
pub(super) fn spoils(node: &mut Node, kernel: &str) -> bool {
    node.local::<Trial>().spoilt == kernel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocks, broadcast, echo, echo_data, get, guard, send_overhead};
    use strata_runtime::prelude::*;

    fn with<T: Send>(trial: Trial, program: fn(&mut Node) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        Machine::threads(2).unwrap().run(|node| {
            *node.local() = trial;
            program(node)
        })
    }

    #[test]
    fn wrong_data_are_found_and_named() {
        fn all(node: &mut Node) -> Result<(), Error> {
            echo(node, 64, 1);
            echo_data(node, 64);
            broadcast(node, 64);
            guard::<Blocks>(node, 4);
            get(node, 64).map(drop).map_err(Error::program)
        }
        for (spoilt, told) in [
            ("echo", "echo: wrong data on node"),
            ("echo_data", "echo_data: wrong data on node"),
            ("broadcast", "broadcast: wrong data on node"),
            ("guard", "guard: wrong data on node"),
            ("get", "get: wrong data on node 0"),
        ] {
            let error = with(Trial { spoilt, ..Trial::default() }, all).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        with(Trial { spoilt: "nothing", ..Trial::default() }, all).unwrap();
    }

    /// Operations of microseconds are repeated until they take a second; those that cannot be
    /// repeated between two readings of the clock are left out.
    #[test]
    fn a_clock_of_10_ms_still_tells_microseconds() {
        let run = || {
            let run = with(Trial { tick: 0.01, ..Trial::default() }, |node| {
                Ok([echo(node, 64, 1), send_overhead(node, 8)])
            });
            let [echo, overhead] = run.unwrap()[0];
            assert!(overhead.is_nan(), "{overhead}");
            echo
        };
        // On a loaded machine a run may obtain no valid time.
        let told = (0..10).map(|_| run()).find(|echo| !echo.is_nan());
        assert!(told.is_some_and(|echo| echo > 1e-9 && echo < 1e-2), "{told:?}");
    }

    #[test]
    fn long_messages_with_little_memory_are_refused_before_they_are_made() {
        let trial = Trial { free: Some(3_000_000_000), ..Trial::default() };
        let run = with(trial, |node| Ok(echo(node, 1 << 30, 1)));
        let error = run.unwrap_err().to_string();
        assert!(
            error.contains(
                "echo: messages of 1073741824 bytes need 4096 MiB on all nodes, and 2861 MiB are free"
            ) && error.contains("leave out sizes above 536870912 with --sizes"),
            "{error}"
        );
    }
}
