//! What each mechanism of the CM-5's platform does to the experiments of chapter 7: the same
//! experiments on platforms without it.

use super::bulk::{Rounds, Way};
use super::{DELAY, NODES, UNEVEN, mean};
use strata_benches::{columns, jobs::platform, row};
use strata_runtime::simulation::SimulatedMachine;
use strata_sim::platform::Topology;

type Change = fn(&mut SimulatedMachine);

const CHANGES: [(&str, Change); 13] = [
    ("as its file says", |_| ()),
    ("one network for all packets", |cm5| cm5.link.networks = 1),
    ("packets of four words", |cm5| cm5.interface.header = 0),
    ("a place is free when the packet has been read", |cm5| cm5.interface.holds_place = true),
    ("timer interrupts at each node's own phase", interrupted_apart),
    ("no timer interrupts", |cm5| cm5.interrupts = None),
    ("one network, packets of four words", |cm5| {
        cm5.link.networks = 1;
        cm5.interface.header = 0;
    }),
    ("links ten times as fast", |cm5| {
        cm5.link.bandwidth *= 10.0;
        if let Topology::FatTree { bandwidths, .. } = &mut cm5.topology {
            bandwidths.iter_mut().for_each(|bandwidth| *bandwidth *= 10.0);
        }
    }),
    ("two packets behind each link", |cm5| cm5.link.buffer = 2),
    ("four places to receive into on each network", |cm5| cm5.interface.receive_queue = 4),
    ("one place to receive into, three packets behind each link", |cm5| {
        cm5.interface.receive_queue = 1;
        cm5.link.buffer = 3;
    }),
    ("as its file says, with time slices", |_| ()),
    ("a place free when read, interrupts by phase, time slices", |cm5| {
        cm5.interface.holds_place = true;
        interrupted_apart(cm5);
    }),
];

/// Seeds over which a figure of the first table is a mean.
const SEEDS: u64 = 4;

fn interrupted_apart(cm5: &mut SimulatedMachine) {
    if let Some(interrupts) = &mut cm5.interrupts {
        interrupts.together = false;
    }
}

/// Prints the table: megabytes a second of blocks of 1600 bytes, and with time slices those that a
/// timer of user time would show.
pub(crate) fn table() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    columns(
        "the CM-5 | barriers, not matched | matched | poll once | free, 32 shifts | 100 shifts | not matched | random targets | 8 in turn | packets a node, matched | free",
    );
    let step = |rank: usize, round: usize| (rank + round + 1) % NODES;
    let shifts = Rounds { rounds: NODES - 1, disturbed: true, ..Rounds::of(NODES, 1600, &step) };
    let kept = Rounds { barrier_every: 1, way: Way::Paced(DELAY), uneven: UNEVEN, ..shifts };
    let table = super::drawn();
    let drawn = |rank: usize, round: usize| table[rank * NODES + round];
    let free = Rounds { barrier_every: 0, ..kept };
    let random = Rounds { target: &drawn, ..free };
    let experiments = [
        Rounds { way: Way::PollAll, ..kept },
        kept,
        Rounds { way: Way::PollOnce(35.0), ..kept },
        Rounds { rounds: 32, ..free },
        Rounds { rounds: 100, ..free },
        Rounds { rounds: 100, way: Way::PollAll, ..free },
        random,
        Rounds { way: Way::Interleaved(8, DELAY), ..random },
    ];
    for (name, change) in CHANGES {
        let mut machine = cm5.clone();
        change(&mut machine);
        let dilated = name.ends_with("slices");
        let mut cells = vec![name.to_owned()];
        let (mut standing, mut bandwidths) = (Vec::new(), Vec::new());
        for experiment in experiments {
            let runs = (1..=SEEDS).map(|seed| experiment.run(&machine, seed)).collect::<Result<Vec<_>, _>>();
            let runs = runs.map_err(|error| error.to_string())?;
            let of = |run: &super::bulk::Run| run.bandwidth / if dilated { run.dilation } else { 1.0 };
            bandwidths.push(mean(&runs.iter().map(of).collect::<Vec<_>>()).0);
            standing.push(mean(&runs.iter().map(|run| run.standing).collect::<Vec<_>>()).0);
        }
        cells.extend(bandwidths.iter().map(|bandwidth| format!("{bandwidth:.2}")));
        cells.extend([standing[1], standing[4]].map(|standing| format!("{standing:.1}")));
        row(&cells);
    }
    Ok(())
}

/// Prints what becomes of shifts of 1600 bytes without barriers if nodes begin their first block at
/// the same time, or up to so many cycles apart: megabytes a second by the number of shifts, matched
/// and not.
pub(crate) fn apart() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    let step = |rank: usize, round: usize| (rank + round + 1) % NODES;
    columns("begun apart by, cycles | way | 32 shifts | 100 shifts | 400 shifts");
    for (apart, (name, way)) in [0.0, 1000.0, 5000.0]
        .into_iter()
        .flat_map(|apart| [("matched", Way::Paced(DELAY)), ("not", Way::PollAll)].map(|way| (apart, way)))
    {
        let mut cells = vec![format!("{apart}"), name.to_owned()];
        for rounds in [32, 100, 400] {
            let all = Rounds { disturbed: true, ..Rounds::of(NODES, 1600, &step) };
            let shifts = Rounds { rounds, way, uneven: UNEVEN, apart, ..all };
            let runs = (1..=2).map(|seed| shifts.bandwidth(&cm5, seed)).collect::<Result<Vec<_>, _>>();
            cells.push(format!("{:.2}", mean(&runs.map_err(|error| error.to_string())?).0));
        }
        row(&cells);
    }
    Ok(())
}
