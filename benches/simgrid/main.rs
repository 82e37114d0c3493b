//! Compares our simulator with SimGrid's SMPI (Degomme and others, "Simulating MPI applications:
//! the SMPI approach", 2017) on machines with the same LogGP parameters (Alexandrov and others
//! 1995).
//!
//!     apt-get install libsimgrid-dev
//!     cargo bench -p strata-benches --bench simgrid
//!
//! Both sides send the same messages in the same order: ours by the run-time's collectives and puts
//! of one packet, SMPI by the explicit sends and receives of `exchange.c`. Both simulators are
//! deterministic, so the table is the same on every host. The bench fails where a judged time
//! differs by more than 10 %. Without SimGrid it prints only our times.
//!
//! # Parameters
//! | LogGP | ours | SMPI |
//! | LogGP | ours | SMPI |
//! |---|---|---|
//! | o, sender | `send`, before the packet leaves | `smpi/os`, before the flow starts |
//! | o, receiver | `receive`, when it is taken | `smpi/or`, when the receive is completed |
//! | L | `link.latency` of each link on the path, cut-through | `lat`, the sum over the links |
//! | G | `link.bandwidth`; header of 16 bytes | `bw`; SMPI counts an envelope of 16 bytes |
//! | g | none but o | none but o |
//!
//! All other parameters are neutral: our polls, dispatches, set-up of blocks and latency of
//! interfaces are 0 and our queues never fill; SMPI's factors by message size, TCP window and
//! acknowledgements are off, and messages are eager. In the fat tree our simulator chooses paths up
//! at random, SimGrid by the target (D-mod-k); all paths are equally long.
//!
//! # Contention
//! Where messages share a link, our simulator transmits one after the other, SimGrid all at once
//! with bandwidth in inverse proportion to their latencies. The judged patterns avoid this at the
//! senders: o is longer than a message occupies a link. The last two rows of each machine do not
//! avoid it and are not judged: they show the effect of the difference.

mod machine;
mod ours;
mod smpi;

use machine::{Costs, Machine, Topology};
use smpi::Smpi;
use strata_benches::{NoArguments, columns};

/// The limit of the difference of judged times.
const LIMIT: f64 = 0.10;

/// Communication patterns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Up a binomial tree and down again.
    Barrier,
    /// Down a binomial tree from node 0.
    Broadcast,
    /// A block to every other node, by cyclic shifts; then all are received.
    AllToAll,
    /// The same, each shift beginning when the block of the previous one has arrived.
    Shifts,
    /// A block to each of four neighbours on a square grid with periodic boundaries.
    Stencil,
}

impl Pattern {
    /// Its name in `exchange.c`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all-to-all",
            Self::Shifts => "shifts",
            Self::Stencil => "stencil",
        }
    }
}

/// One timed case.
pub(crate) struct Job {
    pub(crate) pattern: Pattern,
    /// Bytes of each message.
    pub(crate) bytes: usize,
    /// Rounds, one after the other.
    pub(crate) rounds: usize,
    /// Whether messages are short enough to leave one by one.
    judged: bool,
}

const fn job(pattern: Pattern, bytes: usize, rounds: usize, judged: bool) -> Job {
    Job { pattern, bytes, rounds, judged }
}

const JOBS: [Job; 8] = [
    job(Pattern::Barrier, 0, 10, true),
    job(Pattern::Broadcast, 8, 1, true),
    job(Pattern::Broadcast, 1024, 1, true),
    job(Pattern::AllToAll, 64, 1, true),
    job(Pattern::Shifts, 64, 1, true),
    job(Pattern::Stencil, 1024, 10, true),
    job(Pattern::Broadcast, 16384, 1, false),
    job(Pattern::Stencil, 16384, 10, false),
];

/// A machine whose processors take most of the time, and one whose network does.
const COSTS: [Costs; 2] = [
    Costs { send: 3000.0, receive: 4000.0, latency: 500.0, bandwidth: 500.0 },
    Costs { send: 300.0, receive: 200.0, latency: 2000.0, bandwidth: 4000.0 },
];

strata_benches::main!(|_: &NoArguments| race());

/// Prints the tables; fails where a judged time differs by more than the limit.
fn race() -> Result<(), String> {
    let smpi = Smpi::new()?;
    match smpi {
        Some(_) => println!("{}\n", Smpi::version()),
        None => println!("SimGrid is not installed: apt-get install libsimgrid-dev\n"),
    }
    let mut worst: Option<f64> = None;
    for costs in COSTS {
        let Costs { send, receive, latency, bandwidth } = costs;
        println!(
            "o {send} ns to send and {receive} ns to receive, {latency} ns a link, {bandwidth} MB/s a link\n"
        );
        columns("pattern | bytes | rounds | topology | nodes | ours, µs | SimGrid, µs | difference");
        for topology in [Topology::Crossbar, Topology::FatTree] {
            for nodes in [16, 64] {
                let machine = Machine { topology, costs, nodes };
                for job in &JOBS {
                    let difference = compare(&machine, job, smpi.as_ref())?.filter(|_| job.judged);
                    worst = worst.into_iter().chain(difference).reduce(f64::max);
                }
            }
        }
        println!();
    }
    strata_benches::summary(&serde_json::json!({ "bench": "simgrid", "worst_difference": worst }));
    match worst {
        Some(worst) if worst > LIMIT => {
            Err(format!("a judged time differs by more than {} %", LIMIT * 100.0))
        }
        _ => Ok(()),
    }
}

/// Prints a row; returns the size of the difference.
fn compare(machine: &Machine, job: &Job, smpi: Option<&Smpi>) -> Result<Option<f64>, String> {
    let ours = ours::time(machine, job)?;
    let theirs = smpi.map(|smpi| smpi.time(machine, job)).transpose()?;
    let difference = theirs.map(|theirs| ours / theirs - 1.0);
    let good = !job.judged || difference.is_none_or(|difference| difference.abs() <= LIMIT);
    let mark = match (job.judged, good) {
        (false, _) => " (links shared: not judged)",
        (true, true) => "",
        (true, false) => " **too much**",
    };
    let microseconds = |seconds: f64| format!("{:.3}", seconds * 1e6);
    println!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |",
        job.pattern.name(),
        job.bytes,
        job.rounds,
        machine.topology.name(),
        machine.nodes,
        microseconds(ours),
        theirs.map_or("-".into(), microseconds),
        difference.map_or("-".into(), |difference| format!("{:+.2} %{mark}", difference * 100.0))
    );
    Ok(difference.map(f64::abs))
}
