//! Brewer's experiments with communication (1994, sections 6.1.3, 6.3 and chapter 7) on simulated
//! machines, beside his figures; and Luna's tables of global memory (1994).
//!
//!     cargo bench -p strata-benches --bench simulation
//!     cargo bench -p strata-benches --bench simulation -- --luna
//!     cargo bench -p strata-benches --bench simulation -- --mechanisms
//!     cargo bench -p strata-benches --bench simulation -- --svg ../docs/pictures
//!     STRATA_TRACE=../target/flight cargo bench -p strata-benches --bench simulation -- --flight
//!
//! All times are simulated, so the table is the same on every host. Random results are means over
//! seeds.

mod bulk;
mod luna;
mod mechanisms;
mod models;
mod pictures;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bulk::{Rounds, Way};
use chacha20::ChaCha8Rng;
use clap::Parser;
use pictures::Bar;
use rand::{RngExt as _, SeedableRng};
use serde_json::{Value, json};
use strata_benches::columns;
use strata_benches::jobs::{platform, simulated};
use strata_benches::solver::{Sending, System, solve};
use strata_benches::thesis::{SORTS, STENCILS};

const NODES: usize = 64;

/// How our figure depends on the thesis's.
#[derive(Clone, Copy)]
enum Origin {
    /// A number of the machine's file was solved from that figure, or chosen for it: nothing is shown.
    Input,
    /// A sum of numbers of the file that have other sources, or a number that depends on no machine:
    /// it checks the file, not the simulation.
    Derived,
    /// Comes out of the simulation.
    Predicted,
}

impl Origin {
    const ALL: [Self; 3] = [Self::Input, Self::Derived, Self::Predicted];

    fn name(self) -> &'static str {
        ["input", "derived", "predicted"][self as usize]
    }
}

/// By origin: rows whose figure must lie in a range, and those of them where it does.
static JUDGED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
static INSIDE: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// Section 6.1.3: the delay of bandwidth matching, in cycles.
const DELAY: f64 = 28.0;

/// Prints a row that is predicted; `accepted` is the range required of ours, if any.
fn print(what: &str, section: &str, thesis: &str, ours: f64, digits: usize, accepted: Option<(f64, f64)>) {
    print_as(Origin::Predicted, what, section, thesis, ours, digits, accepted);
}

fn print_as(
    origin: Origin,
    what: &str,
    section: &str,
    thesis: &str,
    ours: f64,
    digits: usize,
    accepted: Option<(f64, f64)>,
) {
    let (range, within) = match accepted {
        Some((least, most)) => {
            let inside = (least..=most).contains(&ours);
            JUDGED[origin as usize].fetch_add(1, Relaxed);
            INSIDE[origin as usize].fetch_add(usize::from(inside), Relaxed);
            let within = if inside { "yes" } else { "**no**" };
            (format!("{least:.digits$} to {most:.digits$}"), within)
        }
        None => ("-".to_owned(), "-"),
    };
    let ours = format!("{ours:.digits$}");
    println!("| {what} | {section} | {thesis} | {ours} | {range} | {within} | {} |", origin.name());
}

/// As [`print`], accepting 10 % around the thesis's figure.
fn near(what: &str, section: &str, thesis: f64, ours: f64, digits: usize) {
    near_as(Origin::Predicted, what, section, thesis, ours, digits);
}

fn near_as(origin: Origin, what: &str, section: &str, thesis: f64, ours: f64, digits: usize) {
    let (a, b) = (thesis * 0.9, thesis * 1.1);
    print_as(origin, what, section, &format!("{thesis}"), ours, digits, Some((a.min(b), a.max(b))));
}

fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

/// A random target for each node in each round.
fn drawn() -> Vec<usize> {
    let mut draw = ChaCha8Rng::seed_from_u64(1);
    (0..NODES * NODES).map(|_| draw.random_range(0..NODES)).collect()
}

/// Draws the experiments of figures 6-4, 7-5 and 7-8 into a folder.
fn draw(folder: &str) -> Result<(), String> {
    let cm5 = platform("cm5")?;
    let by_four = |rank: usize, _| (rank + 4) % NODES;
    let step = |rank: usize, round: usize| (rank + round + 1) % NODES;
    let table = drawn();
    let random = |rank: usize, _| table[rank];
    let block = Rounds { way: Way::Paced(DELAY), uneven: UNEVEN, ..Rounds::of(NODES, 4096, &by_four) };
    let kept =
        Rounds { rounds: NODES - 1, bytes: 1600, barrier_every: 1, disturbed: true, target: &step, ..block };
    let bar = |name, thesis, rounds: Rounds<'_>| -> Result<Bar, String> {
        let runs = (1..=4).map(|seed| rounds.bandwidth(&cm5, seed)).collect::<Result<Vec<f64>, _>>();
        Ok(Bar { name, thesis, ours: mean(&runs.map_err(|error| error.to_string())?).0 })
    };
    let blocks = [
        bar("cyclic shift, not matched", None, Rounds { way: Way::PollAll, ..block })?,
        bar("cyclic shift, matched", Some(5.3), block)?,
        bar("cyclic shift, poll once", Some(5.93), Rounds { way: Way::PollOnce(DELAY), ..block })?,
        bar("random targets, matched", Some(5.3 / 3.6), Rounds { target: &random, ..block })?,
    ];
    let transposes = [
        bar("barriers, not matched", Some(4.85 / 1.3), Rounds { way: Way::PollAll, ..kept })?,
        bar("barriers, matched", Some(4.85), kept)?,
        bar("barriers, poll once", Some(5.33), Rounds { way: Way::PollOnce(35.0), ..kept })?,
        bar("no barriers, 32 shifts", Some(2.22), Rounds { rounds: 32, barrier_every: 0, ..kept })?,
        bar("no barriers, 100 shifts", Some(1.67), Rounds { rounds: 100, barrier_every: 0, ..kept })?,
    ];
    for (file, title, bars) in [
        ("cm5-blocks.svg", "Blocks of 4 kB among 64 nodes, MB/s a node", &blocks[..]),
        ("cm5-transposes.svg", "Shifts of 1600 B among 64 nodes, MB/s a node", &transposes[..]),
    ] {
        let path = std::path::Path::new(folder).join(file);
        std::fs::write(&path, pictures::svg(title, bars))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// Nodes in the picture of packets on their way.
const FLYING: usize = 16;

/// 60 shifts of 1600 bytes among 16 nodes without barriers, for a trace of them (figure 7-7).
fn flight() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    let step = |rank: usize, round: usize| (rank + round + 1) % FLYING;
    let (rounds, way, disturbed) = (60, Way::Paced(DELAY), true);
    let rounds = Rounds { rounds, way, uneven: UNEVEN, disturbed, ..Rounds::of(FLYING, 1600, &step) };
    let found = rounds.bandwidth(&cm5, 1).map_err(|error| error.to_string())?;
    eprintln!("{found:.2} MB/s; STRATA_TRACE=DIR keeps its trace");
    Ok(())
}

#[derive(Parser)]
struct Arguments {
    /// Draws the experiments of figures 6-4, 7-5 and 7-8 into a folder, and no more
    #[arg(long, value_name = "FOLDER")]
    svg: Option<String>,
    /// Shifts among 16 nodes, for a trace of them in STRATA_TRACE, and no more
    #[arg(long, conflicts_with = "svg")]
    flight: bool,
    /// Luna's tables, and no more
    #[arg(long, conflicts_with_all = ["svg", "flight", "mechanisms"])]
    luna: bool,
    /// The tables of the CM-5's mechanisms, in 8 minutes, and no more
    #[arg(long, conflicts_with_all = ["svg", "flight"])]
    mechanisms: bool,
}

strata_benches::main!(simulate);

fn simulate(arguments: &Arguments) -> Result<(), String> {
    if arguments.flight {
        return flight();
    }
    if let Some(folder) = &arguments.svg {
        return draw(folder);
    }
    if arguments.mechanisms {
        mechanisms::table()?;
        println!();
        return mechanisms::apart();
    }
    columns("experiment | thesis | its figure | ours | accepted | within | origin");
    if !arguments.luna {
        figures_4_9_10()?;
        figures_4_15_16()?;
        figure_6_6()?;
        figure_6_3()?;
        chapters()?;
    }
    luna::rows()?;
    let counts = Origin::ALL.map(|origin| {
        let count = |rows: &[AtomicUsize; 3]| rows[origin as usize].load(Relaxed);
        (origin.name().to_owned(), json!({ "inside": count(&INSIDE), "judged": count(&JUDGED) }))
    });
    strata_benches::summary(&Value::Object(counts.into_iter().collect()));
    Ok(())
}

/// What polling until empty gains by matching, in per cent. Figure 6-4 has 25 % for matching "with
/// optimal polling", which is to poll once, 10 % better than until empty, over CMMD; and without
/// matching Strata is slower than CMMD (section 6.1.3).
const UNTIL_EMPTY: (f64, f64) = (13.6, 35.0);

/// Bytes that a node sends in the transposes of figure 7-6, whatever the blocks: 32 of 1600.
const IN_ALL: usize = 32 * 1600;

/// The most cycles by which a node begins a block late, in chapter 7's experiments: most of 10,000
/// timings of one task were within 50 cycles (section 3.4).
const UNEVEN: f64 = 50.0;

/// A platform, and the thesis's coefficients: of `CombineVector` (0 where it has no such term), of
/// `Roundtrip`, `SendRequest` and `SendRPC`.
type Models = (&'static str, [f64; 4], [f64; 2], [f64; 2]);

const FIGURE_6_6: [Models; 4] = [
    ("cm5", [110.1, 47.5, 0.0, 0.0], [404.2, 14.4], [68.0, 44.0]),
    ("alewife", [181.5, 75.98, 288.3, 89.05], [207.6, 2.552], [33.0, 33.0]),
    ("paragon", [203.9, 78.23, 332.7, 89.82], [302.5, 11.23], [143.0, 142.3]),
    ("atm", [2678.0, 68.51, 0.0, 122.7], [2032.0, 61.89], [1130.0, 1131.0]),
];

/// The CM-5's control network is described by the manual's table 1, and as `pipelined` because the
/// thesis has no terms in log P. On the other machines the cost of a call is the mean of two of these
/// figures, and that of a word is taken from three.
fn combine_origin(platform: &str, term: &str) -> Origin {
    match (platform, term) {
        ("cm5", "1" | "length") => Origin::Derived,
        ("cm5", _) | ("alewife" | "paragon", "1") | (_, "length") => Origin::Input,
        _ => Origin::Predicted,
    }
}

fn figure_6_6() -> Result<(), String> {
    for (name, combine, round_trip, sends) in FIGURE_6_6 {
        let machine = platform(name)?;
        let found = models::combine_vector(&machine)?;
        for (index, term) in ["1", "length", "logP", "length logP"].into_iter().enumerate() {
            let ours = found.get(index).copied().unwrap_or(f64::NAN);
            let what = format!("`{name}` CombineVector, cycles per {term}");
            near_as(combine_origin(name, term), &what, "Fig 6-6", combine[index], ours, 1);
        }
        let found = models::round_trip(&machine)?;
        // At a switch all nodes are at the same distance.
        for (index, term) in ["1", "hop"].into_iter().enumerate().take(found.len()) {
            let what = format!("`{name}` Roundtrip, cycles per {term}");
            near_as(Origin::Input, &what, "Fig 6-6", round_trip[index], found[index], 2);
        }
        // One call here, two in the thesis, which differ only on the CM-5.
        let (ours, _) = models::send_request(&machine)?;
        let origin = if name == "cm5" { Origin::Derived } else { Origin::Input };
        for (model, thesis) in ["SendRequest", "SendRPC"].into_iter().zip(sends) {
            near_as(origin, &format!("`{name}` {model}, cycles"), "Fig 6-6", thesis, ours, 1);
        }
    }
    Ok(())
}

/// Rows of the solver's system: "a matrix with only 5300 rows" (Chong, Sharma, Brewer and Saltz, the
/// study of figure 6-3).
const ROWS: usize = 5300;

/// The solver by handlers: Strata's messages beside those of CMMD's two kinds.
fn figure_6_3() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    let seconds = |sending| -> Result<f64, String> {
        let mut all = Vec::new();
        for seed in 1..=5 {
            let system = System::random(ROWS, NODES, seed);
            all.push(simulated(&cm5, NODES, |node| Ok(solve(node, &system, sending).0))?[0]);
        }
        Ok(mean(&all).0)
    };
    let strata = seconds(Sending::Either)?;
    let (few, one) = (seconds(Sending::FewPolls)?, seconds(Sending::OneNetwork)?);
    // "Speedups of 1.5 to 2 times for a realistic sparse-matrix application" (section 6.4), of which
    // `CMAML_request` "performs the worst" (figure 6-3).
    let range = Some((1.5 * 0.9, 2.0 * 1.1));
    let what = "sparse solver, 64 nodes: faster than on one network at CMMD's costs by";
    print(what, "Fig 6-3", "1.5 to 2", one / strata, 2, range);
    let what = "sparse solver: faster than with few polls at CMMD's costs by";
    print(what, "Fig 6-3", "1.5 to 2", few / strata, 2, range);
    let what = "sparse solver: one network slower than few polls by";
    print(what, "Fig 6-3", "more than 1", one / few, 2, Some((1.0, f64::INFINITY)));
    let blocking = seconds(Sending::Blocking)? / strata;
    print("sparse solver: faster than rows in a fixed order by", "-", "-", blocking, 2, None);
    Ok(())
}

/// The stencil's models of chapter 4. Squares are an input: points, and what is moved at edges.
fn figures_4_9_10() -> Result<(), String> {
    for stencil in &STENCILS {
        let name = stencil.machine;
        let machine = platform(name)?;
        for (layout, columns, what, size) in
            [(2, 8, "squares", 1000), (2, 8, "squares", 200), (1, 1, "strips", 400), (0, 0, "one node", 64)]
        {
            let thesis = stencil.microseconds(layout, [size; 2]).round();
            let ours = models::iteration(&machine, columns, size)?;
            let origin = if layout == 2 { Origin::Input } else { Origin::Predicted };
            let what = format!("`{name}` stencil, {what}, {size} x {size}, us an iteration");
            let figure = if name == "cm5" || name == "alewife" { "Fig 4-9" } else { "Fig 4-10" };
            near_as(origin, &what, figure, thesis, ours, 0);
        }
    }
    Ok(())
}

/// Figures 4-15 and 4-16: radix sort by digits of 8 bits, and sample sort, of keys of 32 bits. What a
/// key costs sample sort on the first two machines is an input.
fn figures_4_15_16() -> Result<(), String> {
    for sorts in &SORTS {
        let name = sorts.machine;
        let machine = platform(name)?;
        for (label, bits, keys) in [("radix", Some(8), 1000), ("sample", None, 1000), ("sample", None, 8000)]
        {
            let ours = models::sorting(&machine, bits, keys)?;
            let solved = label == "sample" && keys == 8000 && ["cm5", "alewife"].contains(&name);
            let origin = if solved { Origin::Input } else { Origin::Predicted };
            let what = format!("`{name}` {label} sort, {keys} keys of 32 bits, us");
            let figure = if ["paragon", "atm"].contains(&name) { "Fig 4-15" } else { "Fig 4-16" };
            near_as(origin, &what, figure, sorts.microseconds(bits, keys, 32).round(), ours, 0);
        }
    }
    Ok(())
}

/// Sections 6.1.3 and chapter 7, on the CM-5.
fn chapters() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    let all = |rounds: Rounds<'_>, seeds: u64| -> Result<(f64, f64), String> {
        let bandwidths = (1..=seeds).map(|seed| rounds.bandwidth(&cm5, seed));
        let bandwidths = bandwidths.collect::<Result<Vec<f64>, _>>().map_err(|error| error.to_string())?;
        Ok(mean(&bandwidths))
    };

    // The manual's table 1, where no messages arrive.
    let (send, poll) = models::send_request(&cm5)?;
    let manual = [
        ("sending a message and polling both networks, cycles", 43.0, send),
        ("polling both networks until empty, cycles", 22.0, poll),
    ];
    for (what, thesis, ours) in manual {
        near_as(Origin::Derived, what, "manual, table 1", thesis, ours, 1);
    }
    // Figure 7-2 by the text of section 7.1.
    let held = |nodes| models::capacity(&cm5, nodes);
    let held = [held(16)?, held(32)?, held(64)?, held(128)?];
    // The lengths of its queues make up what the links do not hold.
    let what = "packets that a node of 64 can send while nobody receives";
    near_as(Origin::Input, what, "7.1", 10.0, held[2], 1);
    for (more, less, levels) in [(1, 0, "32 nodes against 16"), (3, 2, "128 nodes against 64")] {
        let what = format!("the same, {levels}: more by a factor of");
        print(&what, "Fig 7-2", "slightly more", held[more] / held[less], 2, Some((1.001, 1.25)));
    }

    let other = |rank: usize, _| 1 - rank;
    let pair = Rounds::of(2, 1 << 16, &other);
    let one_way = all(Rounds { senders: 1, way: Way::Put, ..pair }, 1)?.0;
    let within = |thesis: f64| Some((thesis * 0.99, thesis * 1.01));
    print_as(Origin::Input, "one way, MB/s: 16 B in 62 cycles", "eq 48", "8.52", one_way, 2, within(8.52));
    let two_way = all(pair, 1)?.0;
    let what = "both ways, poll once, MB/s: 16 B in 89 cycles";
    print_as(Origin::Input, what, "eq 47", "5.93", two_way, 2, within(5.93));

    let (mut best, mut plateau) = ((0.0, 0.0), Vec::new());
    for delay in 0..=60 {
        let way = Way::Paced(f64::from(delay).max(0.1));
        let found = all(Rounds { senders: 1, way, ..pair }, 1)?.0;
        plateau.push((f64::from(delay), found));
        if found > best.1 {
            best = (f64::from(delay), found);
        }
    }
    let longest =
        plateau.iter().rev().find(|(_, found)| *found > best.1 * 0.999).map_or(0.0, |(delay, _)| *delay);
    let what = "one way, the longest delay that costs nothing, cycles";
    print_as(Origin::Input, what, "eq 46", "25", longest, 0, Some((24.0, 26.0)));
    let (send, receive) = models::alone(&cm5)?;
    let pace = receive - send;
    let what = "receiving alone less sending alone, by models, cycles";
    print_as(Origin::Input, what, "eq 46", "25", pace, 1, Some((22.0, 28.0)));
    let skewed =
        |delay: f64| all(Rounds { way: Way::Paced(delay), uneven: 1000.0, bytes: 1 << 14, ..pair }, 10);
    let gain = |with: f64, without: f64| (with / without - 1.0) * 100.0;
    let (without, with) = (skewed(0.1)?.0, skewed(DELAY)?.0);
    let what = "both ways, poll until empty, begun apart: a delay of 28 cycles, %";
    print(what, "6.1.3", "above +13.6", gain(with, without), 1, Some(UNTIL_EMPTY));

    // "For the poll once case, there is no second poll and the extra delay has no effect."
    let idle = all(Rounds { way: Way::PollOnce(DELAY), ..pair }, 1)?.0;
    let what = "both ways, poll once: a delay of 28 cycles, %";
    print(what, "6.1.3", "no effect", gain(idle, two_way), 1, Some((-1.0, 1.0)));
    // Polling until empty "is more robust since it can recover from temporary congestion", which
    // "would lead to a stable queue" if nodes poll once: here one node begins up to 1000 cycles late.
    let standing = |rounds: Rounds<'_>, seeds: u64| -> Result<f64, String> {
        let runs = (1..=seeds).map(|seed| rounds.run(&cm5, seed).map(|run| run.standing));
        Ok(mean(&runs.collect::<Result<Vec<f64>, _>>().map_err(|error| error.to_string())?).0)
    };
    let skewed = |way| standing(Rounds { way, uneven: 1000.0, bytes: 1 << 14, ..pair }, 10);
    let queue = skewed(Way::PollOnce(DELAY))? / skewed(Way::Paced(DELAY))?;
    let what = "begun apart: packets in the network, poll once against until empty";
    print(what, "6.1.3", "more than 1", queue, 2, Some((1.1, f64::INFINITY)));

    let by_four = |rank: usize, _| (rank + 4) % NODES;
    let block = Rounds { way: Way::Paced(DELAY), uneven: UNEVEN, ..Rounds::of(NODES, 4096, &by_four) };
    let shift = all(block, 5)?.0;
    near("4 kB to a cyclic shift, matched, MB/s", "Fig 7-5", 5.3, shift, 2);
    let plain = all(Rounds { way: Way::PollAll, ..block }, 5)?.0;
    let what = "the same, matched against not, %";
    print(what, "Fig 6-4", "above +13.6", gain(shift, plain), 1, Some(UNTIL_EMPTY));
    let by_models = all(Rounds { way: Way::Paced(pace), ..block }, 5)?.0;
    let what = "the same, matched by the models against not, %";
    print(what, "Fig 6-4", "above +13.6", gain(by_models, plain), 1, Some(UNTIL_EMPTY));
    let once = all(Rounds { way: Way::PollOnce(DELAY), ..block }, 5)?.0;
    near("the same, poll once", "eq 47", 5.93, once, 2);
    let what = "the same, matched and polled once against not matched, %";
    print(what, "Fig 6-4", "above +25", gain(once, plain), 1, Some((25.0, 50.0)));
    let what = "the same, poll once against until empty, %";
    print(what, "6.1.3", "+11", gain(once, shift), 1, Some((5.0, 15.0)));
    let partner = |rank: usize, _| rank ^ 2;
    let exchange = all(Rounds { target: &partner, ..block }, 5)?.0;
    near("4 kB to the partner of an exchange (eq 50), matched, MB/s", "Fig 7-5", 5.3, exchange, 2);
    let targets = |seed| {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let targets: Vec<usize> = (0..NODES).map(|_| draw.random_range(0..NODES)).collect();
        targets
    };
    let count = |targets: Vec<usize>| {
        (0..NODES).map(|node| targets.iter().filter(|to| **to == node).count()).max().unwrap_or(0) as f64
    };
    let busiest: Vec<f64> = (1..=1000).map(|seed| count(targets(seed))).collect();
    let what = "busiest of 64 random targets, mean of 1000 draws";
    near_as(Origin::Derived, what, "Fig 7-4", 4.3, mean(&busiest).0, 2);
    let mut random = Vec::new();
    for seed in 1..=100 {
        let targets = targets(seed);
        let drawn = |rank: usize, _| targets[rank];
        random.push(all(Rounds { target: &drawn, ..block }, 1)?.0);
    }
    let what = "random targets slower than the shift, matched";
    print(what, "7.2", "3.6", shift / mean(&random).0, 2, Some((3.0, 4.5)));
    let what = "random targets slower than the shift, poll once";
    print(what, "7.2", "3.6", once / mean(&random).0, 2, Some((3.0, 4.5)));

    let step = |rank: usize, round: usize| (rank + round + 1) % NODES;
    // Interrupts come during all but short measurements, of which the median has none (section
    // 3.4).
    let transpose = Rounds { rounds: NODES - 1, target: &step, disturbed: true, ..block };
    // Figure 7-6: "with the same total amount of communication".
    let whole = |bytes| Rounds { bytes, rounds: IN_ALL / bytes, ..transpose };
    let mut unkept = Vec::new();
    for bytes in [16, 32, 64, 128, 512, 1600] {
        let free = all(whole(bytes), 5)?.0;
        unkept.push(free);
        if bytes == 32 {
            continue;
        }
        let kept = all(Rounds { barrier_every: 1, ..whole(bytes) }, 5)?.0;
        let range = if bytes <= 64 { (0.0, 2.0) } else { (2.0, 3.0) };
        let thesis = if bytes <= 64 { "below 2" } else { "2 to 3" };
        let what = format!("transpose of {bytes} B, matched: barriers faster by");
        print(&what, "7.3", thesis, kept / free, 2, Some(range));
    }
    let above = Some((1.0, f64::INFINITY));
    let humps = [
        ("blocks of 32 B against 16 B", unkept[1] / unkept[0]),
        ("64 B against 1600 B", unkept[2] / unkept[5]),
    ];
    for (what, faster) in humps {
        print(&format!("without barriers: {what}, faster by"), "7.3.2", "more than 1", faster, 2, above);
    }
    let every = |barrier_every: usize, bytes: usize| all(Rounds { barrier_every, ..whole(bytes) }, 5);
    let small = every(32, 16)?.0 / every(1, 16)?.0;
    let what = "transpose of 16 B: a barrier every 512 B, not every block, faster by";
    print(what, "7.3.2", "more than 1", small, 2, Some((1.0, f64::INFINITY)));
    // Equation 52: "the choice of 512 is relatively unimportant".
    for (bytes, limit) in [(64, 256), (64, 1024)] {
        let of = |limit: usize| every(limit / bytes, bytes);
        let what = format!("transpose of {bytes} B: a barrier every {limit} B, not every 512, faster by");
        print(&what, "7.3.2", "about 1", of(limit)?.0 / of(512)?.0, 2, Some((0.9, 1.1)));
    }
    // "The versions with barriers perform worse for small blocks because of the overhead."
    let small = every(1, 16)?.0 / every(1, 1600)?.0;
    let what = "a barrier every block: blocks of 16 B against 1600 B, faster by";
    print(what, "7.3.2", "below 1", small, 2, Some((0.0, 1.0)));
    // "We can just sum up the times for the individual phases and add in the fixed overhead for the
    // barriers": 140 cycles each.
    let bytes = 1600;
    let mut sum = (NODES - 2) as f64 * 140.0 / cm5.cpu.frequency;
    for by in 1..NODES {
        let target = |rank: usize, _| (rank + by) % NODES;
        let phase = Rounds { rounds: 1, bytes, target: &target, ..transpose };
        sum += bytes as f64 / (all(phase, 2)?.0 * 1e6);
    }
    let together = Rounds { bytes, barrier_every: 1, ..transpose };
    let whole_time = ((NODES - 1) * bytes) as f64 / (all(together, 5)?.0 * 1e6);
    let what = "transpose of 1600 B with barriers, against the sum of its shifts and barriers";
    print(what, "7.3", "1", whole_time / sum, 2, Some((0.9, 1.1)));
    let free = |rounds| all(Rounds { rounds, bytes: 1600, ..transpose }, 10);
    let (few, many) = (free(32)?.0, free(100)?.0);
    print("32 shifts of 1600 B without barriers, matched, MB/s", "7.3.2", "2.22", few, 2, None);
    print("100 shifts, MB/s", "7.3.2", "1.67", many, 2, None);
    print("100 shifts against 32", "7.3.2", "0.75", many / few, 2, Some((0.0, 0.95)));

    for bytes in [512, 1600] {
        let of = |way| all(Rounds { bytes, barrier_every: 1, way, ..transpose }, 10);
        let (plain, matched, once) = (of(Way::PollAll)?, of(Way::Paced(DELAY))?, of(Way::PollOnce(35.0))?);
        let name = format!("transpose of {bytes} B with barriers");
        let what = format!("{name}: matched, %");
        print(&what, "7.3.3", "+25 to +35", gain(matched.0, plain.0), 1, Some((20.0, 35.0)));
        let what = format!("{name}: standard deviation smaller by");
        print(&what, "7.3.3", "50", plain.1 / matched.1, 1, Some((10.0, f64::INFINITY)));
        // Its file has two networks, and interrupts of all nodes at once, as this would not fit else.
        let what = format!("{name}: poll once, MB/s");
        print_as(Origin::Input, &what, "7.3.3", "5.33", once.0, 2, Some((4.8, 5.93)));
        print(&format!("{name}: matched, MB/s"), "7.3.3", "4.85", matched.0, 2, Some((4.36, 5.33)));
        let what = format!("{name}: poll once against until empty, %");
        print(&what, "7.3.3", "+10", gain(once.0, matched.0), 1, Some((5.0, 15.0)));
        let what = format!("{name}: poll once, a delay of 35 against 28 cycles, %");
        let with_28 = of(Way::PollOnce(DELAY))?.0;
        print(&what, "7.3.3", "slightly above 0", gain(once.0, with_28), 1, Some((0.0, 5.0)));
    }
    // Matching "is much better" as it keeps "the network empty" (section 6.1.3), and if it polls once
    // "the network remains uncongested even though less polling occurs" (section 7.3.3).
    let standing = |way| standing(Rounds { bytes: 1600, barrier_every: 1, way, ..transpose }, 5);
    let full = standing(Way::PollAll)?;
    for (name, way) in [("matched", Way::Paced(DELAY)), ("poll once", Way::PollOnce(35.0))] {
        let what = format!("transpose of 1600 B with barriers: packets in the network, {name} against not");
        print(&what, "7.3.3", "below 1", standing(way)? / full, 2, Some((0.0, 1.0)));
    }
    // The effect of the tree: nodes of a switch that send to those of one other switch, or of two.
    for by in [16, 20] {
        let target = |rank: usize, _| (rank + by) % NODES;
        let found = all(Rounds { target: &target, ..block }, 5)?.0;
        print(&format!("4 kB to a cyclic shift by {by}, matched, MB/s"), "-", "-", found, 2, None);
    }
    for bytes in [16, 64] {
        let of = |way| all(Rounds { bytes, barrier_every: 1, way, ..transpose }, 5);
        let change = gain(of(Way::Paced(DELAY))?.0, of(Way::PollAll)?.0);
        let what = format!("transpose of {bytes} B with barriers: the delay, %");
        print(&what, "7.3.3", "below 0", change, 1, Some((-100.0, 0.0)));
    }

    let table = drawn();
    let drawn = |rank: usize, round: usize| table[rank * NODES + round];
    for bytes in [64, 1024] {
        for (name, section, thesis, target) in [
            ("random targets", "7.4.2", "1.8", &drawn as &(dyn Fn(usize, usize) -> usize + Sync)),
            ("transpose", "7.4.2", "2.1", &step),
        ] {
            let of = |way| all(Rounds { bytes, way, target, ..transpose }, 5);
            let (thesis, range) = match (name, bytes > 400) {
                (_, true) => (thesis, (1.5, 2.2)),
                ("transpose", false) => ("1.15", (1.15 * 0.9, 1.15 * 1.1)),
                (_, false) => ("about 1", (0.9, 1.1)),
            };
            for (how, together, alone) in [
                ("not matched", Way::Interleaved(8, 0.0), Way::Put),
                ("matched", Way::Interleaved(8, DELAY), Way::Paced(DELAY)),
            ] {
                let faster = of(together)?.0 / of(alone)?.0;
                let what = format!("{name} of {bytes} B, {how}: 8 transfers in turn faster by");
                print(&what, section, thesis, faster, 2, Some(range));
            }
        }
    }
    // Figure 7-9: "the dip at 128-byte transfers".
    let of = |bytes| {
        let way = Way::Interleaved(8, DELAY);
        all(Rounds { bytes, way, target: &drawn, ..transpose }, 5).map(|found| found.0)
    };
    let dip = of(128)?;
    for bytes in [64, 1024] {
        let what = format!("random targets, 8 transfers in turn: 128 B against {bytes} B, faster by");
        print(&what, "Fig 7-9", "below 1", dip / of(bytes)?, 2, Some((0.0, 1.0)));
    }
    // How many transfers at a time, and against the other patterns.
    let large = Rounds { bytes: 1024, rounds: NODES, ..transpose };
    let of = |together| all(Rounds { way: Way::Interleaved(together, DELAY), ..large }, 10);
    let eight = of(8)?.0;
    for (together, thesis, range) in [
        (2, "markedly below 1", (0.0, 0.95)),
        (4, "about 1", (0.95, 1.05)),
        (16, "about 1", (0.95, 1.05)),
        (32, "a few per cent", (1.0, 1.1)),
        (64, "a few per cent", (1.0, 1.1)),
    ] {
        let what = format!("transpose of 1024 B: {together} transfers in turn against 8, faster by");
        print(&what, "7.4.2", thesis, of(together)?.0 / eight, 2, Some(range));
    }
    let kept = all(Rounds { barrier_every: 1, ..large }, 5)?.0;
    let what = "transpose of 1024 B: barriers against 8 transfers in turn, faster by";
    print(what, "7.4.2", "more than 1", kept / eight, 2, above);
    // "The net improvement over CMMD without barriers is about 390%", where CMMD is another 1.67 / 1.43
    // slower than Strata without barriers.
    let best = Rounds { bytes: 1600, barrier_every: 1, way: Way::PollOnce(35.0), ..transpose };
    let what = "transpose of 1600 B, all together against 100 shifts, faster by";
    print(
        what,
        "7.3.3",
        "5.33 / 1.67",
        all(best, 5)?.0 / many,
        2,
        Some((5.33 / 1.67 * 0.9, 5.33 / 1.67 * 1.1)),
    );
    let unknown = all(Rounds { target: &drawn, bytes: 1600, ..transpose }, 5)?.0;
    print("random targets of 1600 B against 100 shifts", "7.4", "1", unknown / many, 2, Some((0.9, 1.1)));
    Ok(())
}
