//! What global memory costs over active messages: each access beside the run-time's own message of
//! the same kind, on a simulated CM-5, on threads and on MPI.
//!
//!     cargo bench -p strata-benches --features mpi --bench global_overhead
//!
//! Luna (1994, §7) claims less than 25 % over active messages on a CM-5. Simulated nodes pay for
//! messages alone, so there the overhead is that of longer messages.

#![forbid(unsafe_code)]

use clap::Parser;
use serde_json::json;
use strata_benches::jobs::asked_and_told;
use strata_benches::{Timings, at_least, head, jobs, machine, row};
use strata_global::{Global, Space, Way};
use strata_runtime::prelude::*;

/// Accesses of a stream.
const TIMES: usize = 1000;

/// An access, what it is compared with, and the ratio of Luna's Table 4 (CMAM).
const ACCESSES: [(&str, usize, f64); 8] = [
    ("active message, streamed", 0, 1.0),
    ("active message and answer, streamed", 1, 1.0),
    ("active message, there and back", 2, 1.0),
    ("store", 0, 2.1 / 1.6),
    ("get", 1, 4.4 / 3.4),
    ("put", 1, 4.1 / 3.4),
    ("read", 2, 14.0 / 13.1),
    ("write", 2, 13.4 / 13.1),
];
/// The overhead that Luna claims.
const CLAIM: f64 = 1.25;

#[derive(Parser)]
struct Arguments {
    /// Rounds of timings
    #[arg(long, default_value = "40", value_parser = at_least(1))]
    rounds: usize,
}

strata_benches::main!(race);

fn race(&Arguments { rounds }: &Arguments) -> Result<(), String> {
    #[cfg(feature = "mpi")]
    if strata_benches::is_rank() {
        if let Some(timings) = launch(|node| timings(node, rounds)).map_err(|error| error.to_string())? {
            let medians: Vec<f64> = timings.iter().map(Timings::median).collect();
            strata_benches::hand_over(&json!(medians));
        }
        return Ok(());
    }
    // Simulated times do not vary.
    let simulated = jobs::simulated(&jobs::platform("cm5")?, 2, |node| timings(node, 1))?.swap_remove(0);
    let threads = jobs::on_threads(2, |node| timings(node, rounds))?;
    let medians = |timings: &[Timings]| timings.iter().map(Timings::median).collect::<Vec<f64>>();
    let mut columns = vec![("sim:cm5", medians(&simulated)), ("threads", medians(&threads))];
    match processes()? {
        Some(times) => columns.push(("MPI", times)),
        None => eprintln!("MPI is left out: built without --features mpi"),
    }

    println!("2 nodes, by messages; {}\n", machine());
    let mut cells = vec!["access", "Luna"];
    cells.extend(columns.iter().flat_map(|(name, _)| [*name, "ratio"]));
    head(&cells);
    let (mut rows, mut inside, mut judged) = (serde_json::Map::new(), 0, 0);
    for (i, (name, to, luna)) in ACCESSES.iter().enumerate() {
        let mut cells = vec![(*name).to_owned(), format!("{luna:.2}")];
        let mut ratios = Vec::new();
        for (_, times) in &columns {
            let ratio = times[i] / times[*to];
            if i != *to {
                judged += 1;
                inside += usize::from(ratio < CLAIM);
            }
            let missed = if i != *to && ratio >= CLAIM { "**" } else { "" };
            cells.push(format!("{:.1} ns", 1e9 * times[i]));
            cells.push(format!("{missed}{ratio:.2}{missed}"));
            ratios.push(ratio);
        }
        row(&cells);
        rows.insert((*name).to_owned(), json!(ratios));
    }
    strata_benches::summary(&json!({
        "bench": "global_overhead", "below_claim": inside, "judged": judged,
        "ratios": rows,
    }));
    Ok(())
}

/// The times on two processes of MPI; `None` if built without.
#[allow(clippy::unnecessary_wraps, reason = "only without MPI")]
fn processes() -> Result<Option<Vec<f64>>, String> {
    #[cfg(feature = "mpi")]
    {
        let results = strata_benches::mpirun(2)?;
        let first = results.first().ok_or("the processes of MPI handed no times over")?;
        serde_json::from_value(first.clone()).map(Some).map_err(|error| error.to_string())
    }
    #[cfg(not(feature = "mpi"))]
    Ok(None)
}

/// Seconds of each access by node 0 to node 1, which receives meanwhile.
fn timings(node: &mut Node, rounds: usize) -> Result<Vec<Timings>, Error> {
    let (came, [ask, tell]) = asked_and_told(node);
    // One message for each access.
    let mut space = Space::open_by(node, 1 << 12, Way::Messages)?;
    let p = Global::<u64>::new(1, 8);
    let asked = |space: &mut Space<'_>, times: usize| {
        came.set(0);
        (0..times).for_each(|_| space.send(1, ask, [1; 2]));
        space.wait_until(|| came.get() == times);
    };
    strata_benches::race(0..rounds + 1, 1, ACCESSES.len(), |_, which| {
        space.barrier();
        let start = space.now();
        if space.rank() == 0 {
            match which {
                0 => (0..TIMES).for_each(|_| space.send(1, tell, [1; 2])),
                1 => asked(&mut space, TIMES),
                2 => (0..TIMES).for_each(|_| asked(&mut space, 1)),
                3 => (0..TIMES).for_each(|_| space.store(p, 1)),
                4 => {
                    let mut values = vec![0; TIMES];
                    space.phase(|phase| values.iter_mut().for_each(|value| phase.get(value, p)));
                }
                5 => space.phase(|phase| (0..TIMES).for_each(|_| phase.put(p, 1))),
                6 => (0..TIMES).for_each(|_| _ = space.read(p)),
                _ => (0..TIMES).for_each(|_| space.write(p, 1)),
            }
        }
        let seconds = space.now().get() - start.get();
        space.all_store_sync();
        Ok(seconds / TIMES as f64)
    })
}
