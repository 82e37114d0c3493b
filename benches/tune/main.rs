//! What tuning costs, finds and gains: the price of a visit (Borg 2006, §6.3.2), searches on
//! made-up landscapes, NAS MG and CG, which are not changed for it (§6.4), and
//! messages between two threads (§6.1).
//!
//!     cargo bench -p strata-benches --features tune --bench tune
//!
//! With `--features mpi,tune` the NAS kernels run on MPI, too. All but the policies need a quiet
//! machine with two cores.

#![forbid(unsafe_code)]

#[path = "../../crates/tune/tests/it/common/landscape.rs"]
mod landscape;
mod nas;
mod overhead;
mod ping;
mod policies;

use clap::Parser;
use serde_json::Map;
use strata_benches::machine;
use strata_benches::nas::{Class, Kernel};
use strata_runtime::Error;
use strata_tune::{Mode, Options};

#[derive(Parser)]
struct Arguments {
    /// Searches on made-up landscapes; all parts where none is named
    #[arg(long)]
    policies: bool,
    /// The price of a visit
    #[arg(long)]
    overhead: bool,
    /// NAS MG and CG, whose calls are tuned
    #[arg(long)]
    nas: bool,
    /// Messages between two threads
    #[arg(long)]
    ping: bool,
    /// The size of the NAS kernels
    #[arg(long, default_value = "a")]
    class: Class,
    /// Runs this NAS kernel only, here and now
    #[arg(long)]
    kernel: Option<Kernel>,
    #[command(flatten)]
    run: Run,
}

/// How long, and with which numbers.
#[derive(clap::Args, Clone, Copy)]
struct Run {
    /// A trial of few rounds
    #[arg(long)]
    quick: bool,
    /// Of the random numbers
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

strata_benches::main!(measure);

fn measure(arguments: &Arguments) -> Result<(), Error> {
    let &Arguments { policies, overhead, nas, ping, class, kernel, run } = arguments;
    if let Some(kernel) = kernel {
        return nas::kernel(kernel, class);
    }
    let all = ![policies, overhead, nas, ping].contains(&true);
    let mut summary = Map::new();
    println!("{}\n", machine());
    if all || policies {
        summary.insert("policies".into(), policies::measure(run));
    }
    if all || overhead {
        summary.insert("overhead".into(), overhead::measure(run)?);
    }
    if all || nas {
        summary.insert("nas".into(), nas::measure(run, class)?);
    }
    if all || ping {
        summary.insert("ping".into(), ping::measure(run)?);
    }
    strata_benches::summary(&summary.into());
    Ok(())
}

/// Options that tune, with what is found in a file.
fn tune(file: &std::path::Path, seed: u64) -> Options {
    Options { seed, ..Options::of(Mode::Tune(Some(file.to_owned()))) }
}
