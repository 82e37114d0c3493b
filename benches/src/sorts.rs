//! The candidates of the library `sort` by their names, and where they are raced.

use clap::ValueEnum;
use strata_runtime::{Error, Machine, Node};
use strata_select::Library;
use strata_sort::{Choice, Sort};

/// The candidate of this name with these parameters, if there is one.
pub fn named(name: &str, parameters: &[i64]) -> Option<Sort> {
    let index = Sort::TABLE.entries.iter().position(|entry| entry.name == name)?;
    Sort::candidate(index, parameters)
}

/// A choice as in a pin.
pub fn pin(choice: &Choice) -> String {
    choice.parameters.iter().fold(choice.name.to_owned(), |text, value| format!("{text}:{value}"))
}

/// Where nodes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// Threads of this process.
    Threads,
    /// Processes of MPI, each of which starts this program.
    #[cfg(feature = "mpi")]
    Mpi,
}

/// Runs a program on each of these numbers of nodes.
///
/// # Errors
/// The program fails, or there is no `mpirun`.
pub fn on_each(
    on: On,
    nodes: &[usize],
    program: impl Fn(&mut Node) -> Result<(), Error> + Sync,
) -> Result<(), String> {
    if crate::is_rank() {
        return strata_runtime::launch(program).map(drop).map_err(|error| error.to_string());
    }
    println!("{}\n", crate::machine());
    for nodes in nodes {
        if on == On::Threads {
            let run = Machine::threads(*nodes).and_then(|machine| machine.run(&program));
            run.map_err(|error| error.to_string())?;
        } else {
            crate::mpirun(*nodes)?;
        }
    }
    Ok(())
}
