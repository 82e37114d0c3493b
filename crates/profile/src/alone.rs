//! The node of a program that runs on one, without the run-time.

use std::fmt;
use std::time::Instant;

use strata_model::platform::mpi_processes;
use strata_model::{Platform, Seconds, find_installed};

/// Why the program did not start, or not end as it should.
#[derive(Debug)]
pub(crate) struct Error(String);

impl Error {
    pub(crate) fn program(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The only node of a program.
#[derive(Debug)]
pub struct Node {
    start: Instant,
    platform: Platform,
}

/// How values of several nodes become one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Max,
}

impl Node {
    /// Its number, 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        0
    }

    /// The number of nodes, 1.
    #[must_use]
    pub fn size(&self) -> usize {
        1
    }

    /// The time since the program began.
    #[must_use]
    pub fn now(&self) -> Seconds {
        Seconds::new(self.start.elapsed().as_secs_f64()).unwrap_or_default()
    }

    pub(crate) fn is_simulated(&self) -> bool {
        false
    }

    pub(crate) fn platform(&self) -> Platform {
        self.platform.clone()
    }

    pub(crate) fn barrier(&mut self) {}

    pub(crate) fn broadcast<T>(&mut self, _root: usize, _values: &mut [T]) {}

    pub(crate) fn broadcast_value<T>(&mut self, _root: usize, value: T) -> T {
        value
    }

    pub(crate) fn reduce<T>(&mut self, _: Op, _values: &mut [T]) {}

    pub(crate) fn reduce_max<T>(&mut self, value: T) -> T {
        value
    }
}

/// Runs `program` on the one node.
///
/// # Errors
/// The program's; or the command that started this process asks for another machine.
pub(crate) fn launch<T>(program: impl Fn(&mut Node) -> Result<T, Error>) -> Result<Option<T>, Error> {
    let ways_out = "this program is for one node; run specc with the number that you want, --nodes";
    if let Some(on) = std::env::var_os("STRATA_ON").filter(|on| on != "threads:1") {
        return Err(Error(format!("STRATA_ON={}: {ways_out}", on.display())));
    }
    if let Some(processes) = mpi_processes().filter(|processes| *processes > 1) {
        return Err(Error(format!("this is one of {processes} processes: {ways_out}")));
    }
    find_installed();
    let mut node = Node { start: Instant::now(), platform: Platform::detect("threads", 1) };
    program(&mut node).map(Some)
}
