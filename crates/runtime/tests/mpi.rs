//! The MPI transport: the same oracle as for threads, and its failures, on 1 to 4 processes; what the
//! MPI library does itself also on 5 and 8.
//!
//! Without `harness`: the program starts itself again under `mpirun`, with the name of the case, or
//! of cases that are set alike, in a variable, and reads what comes out. Ends with a line `N passed, N failed`.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

mod mpirun;
#[path = "it/oracle/mod.rs"]
mod oracle;

use mpirun::{CASE, Job};
use oracle::laws::{Does, LAWS, go_on};
use oracle::programs::{self, OPERATIONS, PROGRAMS, RANDOM};
use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::time::Duration;
use strata_runtime::memory::{Repeated, RepeatedPieces, SharedWords};
use strata_runtime::patterns::Schedule;
use strata_runtime::prelude::*;
use strata_runtime::select::Options;

/// A case: its name, on how many nodes it makes sense, what it runs, and what has to be said where
/// it has to fail.
struct Case {
    name: String,
    least: usize,
    /// Whether every collective is checked.
    check: &'static str,
    run: fn(&mut Node) -> Result<(), Error>,
    fails_with: &'static [&'static str],
}

/// A case that succeeds.
fn good(name: &str, least: usize, check: &'static str, run: fn(&mut Node) -> Result<(), Error>) -> Case {
    bad(name, least, check, &[], run)
}

/// A case that fails and says so.
fn bad(
    name: &str,
    least: usize,
    check: &'static str,
    fails_with: &'static [&'static str],
    run: fn(&mut Node) -> Result<(), Error>,
) -> Case {
    Case { name: name.to_owned(), least, check, run, fails_with }
}

/// The case with `STRATA_TUNE`.
const TUNED: &str = "tuned calls agree";

/// The cases in which the library does all collectives that it can, and their pin.
const BY_LIBRARY: &str = "by the library: ";
const PIN: &str = "broadcasts=mpi,reductions=mpi,scans=mpi";

/// The case with `STRATA_CALIBRATE`, and the one with a pin that no library has.
const FITTED: &str = "collectives fit themselves alike";
const FITTED_LATE: &str = "collectives fit themselves while messages are under way";
/// What the cases with `STRATA_LEARN` begin with.
const LEARNED: &str = "learned collectives";
const PINNED: &str = "a pin that suits no collective is named";

/// The cases that look at the variables, the folder or the threads of their process.
const SETTINGS: &str = "settings are node 0's";
const UNLIKE_CACHES: &str = "a damaged file in the cache of one host stops no program";
const OUTLIVED: &str = "a thread outlives the program with shared words";

/// Cases that succeed and need a job of their own.
const ALONE: [&str; 6] = [TUNED, FITTED, FITTED_LATE, SETTINGS, UNLIKE_CACHES, OUTLIVED];

impl Case {
    /// Whether one job can run both.
    fn goes_with(&self, other: &Self) -> bool {
        let alone = |case: &Self| !case.fails_with.is_empty() || ALONE.contains(&&*case.name);
        let set =
            |case: &Self| (case.check, case.name.starts_with(BY_LIBRARY), case.name.starts_with(LEARNED));
        !alone(self) && !alone(other) && set(self) == set(other)
    }
}

/// The laws of every transport, whether calls are compared or not, and those of MPI.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let laws = PROGRAMS.iter().flat_map(|law| {
        [("", "1"), ("unchecked: ", "0")]
            .map(|(how, check)| good(&format!("{how}{}", law.name), 1, check, law.run))
    });
    let by_library = PROGRAMS.iter().filter(|law| [OPERATIONS, RANDOM].contains(&law.name));
    let by_library = by_library.flat_map(|law| {
        ["0", "1"].map(|check| good(&format!("{BY_LIBRARY}{}, {check}", law.name), 1, check, law.run))
    });
    laws.chain(by_library).chain(of_mpi()).collect()
});

fn of_mpi() -> Vec<Case> {
    vec![
        bad(
            "by the library: lengths that differ are named",
            2,
            "0",
            &["node 1: reduce add of 501 i64 at ", "but node 0 called reduce add of 500 i64 at "],
            |node| {
                node.reduce_add(&mut [1i64; 500]);
                node.reduce_add(&mut vec![1i64; 500 + node.rank().min(1)]);
                Ok(())
            },
        ),
        bad(
            "by the library: a first call that differs is named",
            2,
            "0",
            &["node 1: reduce add of 500 u64 at ", "but node 0 called scan add of 500 u64 at "],
            |node| {
                match node.rank() {
                    1 => node.reduce_add(&mut [1u64; 500]),
                    _ => node.scan_add(&mut [1u64; 500]),
                }
                Ok(())
            },
        ),
        good(FITTED, 1, "0", fits),
        good(FITTED_LATE, 2, "0", fits_while_others_send),
        good("learned collectives agree", 1, "0", learns),
        good("learned collectives agree, checked", 1, "1", learns),
        good("learned collectives: random programs end", 1, "0", programs::random),
        bad(
            "learned collectives: lengths that differ are named",
            2,
            "0",
            &["node 1: reduce add of 501 i64 at ", "but node 0 called reduce add of 500 i64 at "],
            |node| {
                for _ in 0..50 {
                    node.reduce_add(&mut [1i64; 500]);
                }
                node.reduce_add(&mut vec![1i64; 500 + node.rank().min(1)]);
                Ok(())
            },
        ),
        bad(PINNED, 2, "0", &["reduce add of 500 u64 at ", "nothing"], |node| {
            node.reduce_add(&mut [1u64; 500]);
            Ok(())
        }),
        bad(
            "shared words that no memory holds are refused",
            1,
            "0",
            &["share_words at ", "2305843009213693960 words are more than memory can hold"],
            |node| go_on_after(node, |node| drop(node.share_words((1 << 61) + 8))),
        ),
        bad(
            "exposed words that no memory holds are refused",
            1,
            "0",
            &["expose_words at ", "2305843009213693960 words are more than memory can hold"],
            |node| go_on_after(node, |node| drop(node.expose_words((1 << 61) + 8))),
        ),
        good(OUTLIVED, 1, "0", |node| outlived(node.share_words(1 << 16).map(|mut all| all.swap_remove(0)))),
        bad(
            "a thread that outlives the program with exposed words is refused",
            1,
            "0",
            &["words of `expose_words` are held while the process exits"],
            |node| outlived(node.expose_words(1 << 16).map(|words| words.own().clone())),
        ),
        good("exposed words of any number are those of their node", 1, "0", exposes),
        bad(
            "unequal numbers of exposed words are named",
            2,
            "0",
            &["expose_words at ", " asks for "],
            |node| go_on_after(node, |node| drop(node.expose_words(8 << node.rank()))),
        ),
        good("late messages are waited for", 1, "0", late),
        good("nodes tune alike", 1, "1", |node| tunes(node, false)),
        bad(
            "nodes with different call sites cannot tune",
            2,
            "0",
            &["the call sites of this team's nodes differ", "set STRATA_TUNE=off"],
            |node| tunes(node, true),
        ),
        good(TUNED, 1, "0", tuned_calls),
        good("prepared messages repeat", 1, "0", repeats),
        // Some libraries tell how long it was.
        bad(
            "a prepared message that is too long is named",
            2,
            "0",
            &["node 0: sent ", " bytes as prepared message 5 to node 1, which expects 16"],
            |node| unlike(node, 3),
        ),
        bad(
            "a prepared message that is too short is named",
            2,
            "0",
            &["node 0: sent 8 bytes as prepared message 5 to node 1, which expects 16"],
            |node| unlike(node, 1),
        ),
        // `panicked: while it is lent` if the request came before the exchange, else `panicked while
        // messages used its memory`.
        bad("a panic while memory is lent ends the job", 2, "0", &["node 1: panicked"], |node| {
            let mut handlers = node.handlers();
            let request = handlers.request(|_, _: u8| panic!("while it is lent"));
            node.install(handlers);
            if node.rank() == 0 {
                node.send(1, request, 1);
                return go_on(node);
            }
            let receive = RepeatedPieces { node: 0, number: 0, pieces: std::iter::once(0..4).collect() };
            let mut pieces = node.prepare_pieces(&[], &[receive]).expect("MPI prepares messages");
            node.exchange_pieces(&mut pieces, &mut [0u32; 4]);
            Ok(())
        }),
        good("long vectors agree with the oracle", 1, "1", long_vectors),
        good(SETTINGS, 1, "1", settings),
        good(UNLIKE_CACHES, 2, "1", unlike_caches),
        bad(
            "a short broadcast beside another call ends the job, though its root has gone ahead",
            2,
            "0",
            &["node 1: reduce add of 3 u64 at ", "but node 0 called broadcast from node 0 of 2 "],
            |node| {
                node.barrier();
                match node.rank() {
                    0 => node.broadcast(0, &mut [1u64; 2]),
                    _ => node.reduce_add(&mut [1u64; 3]),
                }
                node.barrier();
                Ok(())
            },
        ),
        bad(
            "a process that exits is missed",
            2,
            "1",
            &["node 1: its process exited inside the program"],
            |node| if node.rank() == 1 { std::process::exit(0) } else { go_on(node) },
        ),
    ]
}

/// Messages that come after a node has computed for long.
fn late(node: &mut Node) -> Result<(), Error> {
    let pause = Duration::from_millis(2500 / node.size() as u64);
    oracle::messages::in_turn(node, 2, |_| std::thread::sleep(pause));
    Ok(())
}

/// A thread that nobody waits for reads the words until the process has ended.
fn outlived(words: Option<SharedWords>) -> Result<(), Error> {
    let words = words.ok_or_else(|| Error::program("there are no words"))?;
    std::thread::spawn(move || {
        loop {
            for word in words.iter() {
                std::hint::black_box(word.load(Ordering::Relaxed));
            }
        }
    });
    Ok(())
}

/// Each node reads and writes the words of the next, of odd numbers as well.
fn exposes(node: &mut Node) -> Result<(), Error> {
    let (rank, size) = (node.rank(), node.size());
    let next = (rank + 1) % size;
    let value = |of: usize, at: usize| (1000 * of + at) as u64;
    for words in 1..=9 {
        let exposed = node.expose_words(words).ok_or("there are no one-sided transfers")?;
        for (at, word) in exposed.own().iter().enumerate() {
            word.store(value(rank, at), Ordering::Relaxed);
        }
        node.barrier();
        let mut bytes = vec![0; 8 * words];
        exposed.get(next, 0, &mut bytes);
        let of_next: Vec<u8> = (0..words).flat_map(|at| value(next, at).to_ne_bytes()).collect();
        assert_eq!(bytes, of_next, "{words} words");
        node.barrier();
        exposed.put(next, 8 * (words - 1), &value(rank, 99).to_ne_bytes());
        node.barrier();
        let last = exposed.own()[words - 1].load(Ordering::Relaxed);
        assert_eq!(last, value((rank + size - 1) % size, 99), "{words} words");
    }
    Ok(())
}

fn go_on_after(node: &mut Node, first: fn(&mut Node)) -> Result<(), Error> {
    first(node);
    go_on(node)
}

/// By models that the nodes have fitted, of which all have the same.
fn fits(node: &mut Node) -> Result<(), Error> {
    use strata_runtime::trees::{Broadcasts, Reductions, Scans};
    programs::operations(node)?;
    let options = Options::default();
    let words = [
        node.selector::<Broadcasts>(&options)?.word(),
        node.selector::<Reductions>(&options)?.word(),
        node.selector::<Scans>(&options)?.word(),
    ];
    assert!(node.all_gather(&[words]).iter().all(|others| *others == words));
    Ok(())
}

/// The first node enters while the others still send to it, and wait for room.
fn fits_while_others_send(node: &mut Node) -> Result<(), Error> {
    let mut handlers = node.handlers();
    let count = handlers.request(|_, _: u64| ());
    node.install(handlers);
    if node.rank() > 0 {
        (0..3000).for_each(|i| node.send(0, count, i));
    }
    node.calibrate::<strata_runtime::trees::Scans>(Duration::from_millis(20));
    node.uninstall();
    programs::operations(node)
}

/// Around the ring, in both directions and of several lengths, several times; the memory of the
/// pieces moves between.
fn repeats(node: &mut Node) -> Result<(), Error> {
    let (me, size) = (node.rank(), node.size());
    let (next, last) = ((me + 1) % size, (me + size - 1) % size);
    let value = |from: usize, round: usize, at: usize| (1000 * round + 100 * from + at) as u32;
    for len in [0, 1, 7, 20_000] {
        // With one node or two, both neighbours are the same: numbers tell messages apart.
        let end = |node: usize, number: usize| Repeated { node, number, len };
        let mut whole = node
            .prepare(&[end(next, 1), end(last, 2)], &[end(last, 1), end(next, 2)])
            .ok_or("MPI prepares messages")?;
        let odd = |node: usize, number: usize, first: usize| RepeatedPieces {
            node,
            number,
            pieces: (0..len.min(500)).map(|at| first + 4 * at..first + 4 * at + 1).collect(),
        };
        // Of each four elements one goes each way, and one comes.
        let mut pieces = node
            .prepare_pieces(&[odd(next, 3, 0), odd(last, 4, 1)], &[odd(last, 3, 2), odd(next, 4, 3)])
            .ok_or("MPI prepares messages")?;
        let other = node.prepare::<u32>(&[end(next, 9)], &[end(last, 9)]).ok_or("MPI prepares messages")?;
        for round in 0..4 {
            for way in 0..2 {
                let filled = whole.outgoing(way).iter_mut().enumerate();
                filled.for_each(|(at, element)| *element = value(me + 50 * way, round, at));
            }
            node.start_prepared(&mut whole);
            if round == 2 {
                node.barrier();
            }
            node.complete_prepared(&mut whole);
            node.complete_prepared(&mut whole);
            for (way, from) in [last, next].into_iter().enumerate() {
                let came = whole.incoming(way).iter().enumerate();
                assert!({ came }.all(|(at, element)| *element == value(from + 50 * way, round, at)));
            }
            let mut memory: Vec<u32> = (0..4 * 500 + round).map(|at| value(me, round, at)).collect();
            let before = memory.clone();
            node.exchange_pieces(&mut pieces, &mut memory);
            for (at, element) in memory.iter().enumerate() {
                let expected = match at % 4 {
                    2 if at / 4 < len.min(500) => value(last, round, at - 2),
                    3 if at / 4 < len.min(500) => value(next, round, at - 2),
                    _ => before[at],
                };
                assert_eq!(*element, expected, "element {at} of {len}");
            }
        }
        // Nothing is in flight: what was never started is freed like the rest.
        drop(other);
    }
    Ok(())
}

/// Node 0 sends `len` elements where node 1 expects two.
fn unlike(node: &mut Node, len: usize) -> Result<(), Error> {
    let end = |node: usize, len: usize| Repeated { node, number: 5, len };
    let mut messages = match node.rank() {
        0 => node.prepare::<u64>(&[end(1, len)], &[]),
        1 => node.prepare::<u64>(&[], &[end(0, 2)]),
        _ => return go_on(node),
    }
    .ok_or("MPI prepares messages")?;
    node.start_prepared(&mut messages);
    node.complete_prepared(&mut messages);
    go_on(node)
}

fn long_vectors(node: &mut Node) -> Result<(), Error> {
    oracle::step(node, 1, 5, 40_001);
    oracle::step(node, 0, 6, 40_001);
    oracle::step(node, 4, 7, 40_001);
    oracle::step(node, 7, 8, 300_000);
    Ok(())
}

/// Collectives of several sizes, between which the ways change.
fn learns(node: &mut Node) -> Result<(), Error> {
    assert!(node.learns());
    let (rank, size) = (node.rank() as u64, node.size() as u64);
    for call in 0..400_u64 {
        let words = [24, 100, 700][(call / 4 % 3) as usize];
        let of = |rank: u64| (0..words).map(move |word| word * call + rank).collect::<Vec<u64>>();
        let sum = |ranks: u64| {
            (0..words).map(move |word| ranks * word * call + ranks * ranks.saturating_sub(1) / 2)
        };
        let mut values = of(rank);
        let expected = match call % 4 {
            0 => {
                node.broadcast((call % size) as usize, &mut values);
                of(call % size)
            }
            1 => {
                node.reduce_add(&mut values);
                sum(size).collect()
            }
            2 => {
                node.scan_add(&mut values);
                sum(rank).collect()
            }
            _ => {
                node.reduce_max(&mut values);
                of(size - 1)
            }
        };
        assert_eq!(values, expected, "call {call}");
    }
    let tried = node.tried_choices() as u64;
    assert!(tried > 0 || size == 1, "no call has tried another way");
    assert_eq!((node.reduce_min(tried), node.reduce_max(tried)), (tried, tried), "nodes differ");
    Ok(())
}

fn settings(node: &mut Node) -> Result<(), Error> {
    assert_eq!(node.setting(CASE), Some(SETTINGS));
    assert_eq!(node.setting("PATH"), None);
    assert_eq!(node.platform().transport, "mpi");
    Ok(())
}

const SCHEDULES: &str = include_str!("schedules.toml");

/// Each node has a folder, and so a cache, of its own, as on hosts of their own; that of node 1
/// holds models of a newer Strata.
fn unlike_caches(node: &mut Node) -> Result<(), Error> {
    let folder = tempfile::tempdir().map_err(Error::program)?;
    std::env::set_current_dir(folder.path()).map_err(Error::program)?;
    let mut set = strata_model::ModelSet::read(SCHEDULES).map_err(Error::program)?;
    set.platform = Some(node.platform());
    for file in strata_model::install(&set).map_err(Error::program)? {
        assert!(file.starts_with(HOME), "{}", file.display());
        if node.rank() == 1 {
            std::fs::write(file, "strata-models = 2\n").map_err(Error::program)?;
        }
    }
    for bytes in [64.0, 1e5] {
        let chosen = node.choose::<Schedule>(bytes, &Options::default())?;
        let seconds = chosen.choice.predicted.map_or(0, |time| time.seconds.get().to_bits());
        assert_eq!(node.reduce_max(seconds), node.reduce_min(seconds), "all by the same models");
    }
    std::env::set_current_dir(std::env::temp_dir()).map_err(Error::program)
}

/// What the names of further cases begin with: before the number of a law, and of a call that one node does not
/// make, to which [`RECEIVING`] is added; before the seeds of random programs.
const LAW: &str = "law ";
const UNMADE: &str = "unmade call ";
const RECEIVING: usize = 100;
const STUCK: &str = "stuck program ";
const HEALTHY: &str = "programs that wait ";

/// Waits for prepared messages of node 1, which sends none: found by their time, in 10 s.
const UNSENT: &str = "prepared messages that one node does not start";

fn unsent(node: &mut Node) -> Result<(), Error> {
    let end = |node: usize| Repeated { node, number: 1, len: 100 };
    let [from, to] = [node.size() - 1, 1].map(|by| (node.rank() + by) % node.size());
    let mut messages = node.prepare::<u64>(&[end(to)], &[end(from)]).ok_or("MPI prepares messages")?;
    if node.rank() == 1 {
        node.wait_until(|| false);
    }
    node.start_prepared(&mut messages);
    node.complete_prepared(&mut messages);
    node.barrier();
    Ok(())
}

/// A node of one of these cases, if this is one.
fn of_number(name: &str) -> Option<Result<Option<()>, Error>> {
    if name == UNSENT {
        return Some(launch(unsent));
    }
    let number = |begin: &str| name.strip_prefix(begin)?.parse::<usize>().ok();
    if let Some(number) = number(LAW) {
        return Some(launch(|node| LAWS[number].run(node)));
    }
    if let Some(number) = number(UNMADE) {
        let (_, call) = oracle::stuck::CALLS[number % RECEIVING];
        return Some(launch(|node| {
            oracle::stuck::in_call(node, call, number >= RECEIVING);
            Ok(())
        }));
    }
    if let Some(seed) = number(STUCK) {
        return Some(launch(|node| {
            oracle::stuck::program(node, seed as u64);
            Ok(())
        }));
    }
    let first = number(HEALTHY)? as u64;
    Some(launch(|node| {
        let mail = oracle::messages::Mail::new(node);
        let longest = Duration::from_millis(3000);
        (first..first + 20).for_each(|seed| oracle::stuck::healthy(node, &mail, seed, longest));
        Ok(())
    }))
}

/// The random programs of one seed, on one number of nodes.
fn random(begin: &'static str, seed: u64) -> Option<Job> {
    let nodes = mpirun::nodes(&[[2, 3, 5][seed as usize % 3]]).pop()?;
    Some(Job::new(format!("{begin}{seed}"), nodes, move || drive_random(begin, seed, nodes)))
}

/// Runs the random programs of one seed; what is wrong with what they did.
fn drive_random(begin: &str, seed: u64, nodes: usize) -> Result<(), String> {
    let check = [("STRATA_CHECK", if seed.is_multiple_of(3) { "1" } else { "0" })];
    let outcome = mpirun::run(&format!("{begin}{seed}"), nodes, &[], &check)?;
    match begin {
        STUCK => outcome.failed_with(&["node "]),
        _ => outcome.succeeded(),
    }
}

const IGNORED: &str = "--ignored";

/// Of the arguments of a test program only this one: to run what takes long, and nothing else.
fn long() -> bool {
    std::env::args().any(|argument| argument == IGNORED)
}

/// One node of some cases.
fn node(names: &str) -> Result<(), Error> {
    if let Some(result) = of_number(names) {
        return result.map(drop);
    }
    for name in mpirun::begun(names) {
        let case = CASES.iter().find(|case| case.name == name).ok_or("there is no such case")?;
        // Twice: a second program of one process goes on where the first has ended.
        for _ in 0..2 {
            if launch(case.run)?.is_some() {
                println!("node 0 is done");
            }
        }
    }
    Ok(())
}

/// The home of the cases, with the cache, in the folder where a process works.
const HOME: &str = "home-of-a-test";

/// The jobs of some cases on `nodes` processes.
fn jobs(nodes: usize, runs: impl Fn(&Case) -> bool) -> Vec<Job> {
    let mut together: Vec<Vec<&'static Case>> = Vec::new();
    for case in CASES.iter().filter(|case| runs(case)) {
        match together.iter_mut().find(|cases| cases[0].goes_with(case)) {
            Some(cases) => cases.push(case),
            None => together.push(vec![case]),
        }
    }
    let job = |cases: Vec<&'static Case>| {
        let names = cases.iter().map(|case| &*case.name).collect::<Vec<_>>().join(mpirun::THEN);
        let count = cases.len();
        let job = Job::new(names.clone(), nodes, move || drive(cases[0], &names, count, nodes));
        Job { cases: count, ..job }
    };
    together.into_iter().map(job).collect()
}

/// Runs `count` cases that are set as the first on `nodes` processes; what is wrong with what they
/// did.
fn drive(case: &Case, names: &str, count: usize, nodes: usize) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let tune = if case.name == TUNED {
        format!("tune:{}", folder.path().join("found.json").display())
    } else {
        "off".to_owned()
    };
    let cache = folder.path().to_string_lossy();
    let mut variables =
        vec![("STRATA_CHECK", case.check), ("STRATA_TUNE", &*tune), ("XDG_CACHE_HOME", ""), ("HOME", HOME)];
    match &*case.name {
        FITTED | FITTED_LATE => {
            variables.extend([("STRATA_CALIBRATE", "100ms"), ("XDG_CACHE_HOME", &*cache)])
        }
        name if name.starts_with(LEARNED) => variables.push(("STRATA_LEARN", "1")),
        PINNED => variables.push(("STRATA_PIN", "reductions=nothing")),
        name if name.starts_with(BY_LIBRARY) => variables.push(("STRATA_PIN", PIN)),
        _ => {}
    }
    let outcome = mpirun::run(names, nodes, if long() { &[IGNORED] } else { &[] }, &variables)?;
    if !case.fails_with.is_empty() {
        return outcome.failed_with(case.fails_with);
    }
    outcome.succeeded()?;
    if outcome.out.matches("node 0 is done").count() != 2 * count {
        return outcome.wrong("node 0 did not say once for each run that it is done");
    }
    Ok(())
}

fn main() -> ExitCode {
    if let Ok(names) = std::env::var(CASE) {
        return mpirun::exit(node(&names));
    }
    let mut all = Vec::new();
    if long() {
        for begin in [STUCK, HEALTHY] {
            oracle::stuck::for_seeds(0, true, |seed| {
                all.extend(random(begin, seed).map(|Job { name, nodes, run, .. }| {
                    let ended = run();
                    Job::new(name, nodes, || ended)
                }));
            });
        }
        let says = oracle::stuck::reported("complete_prepared at ");
        let run = move |nodes| mpirun::run(UNSENT, nodes, &[], &[])?.failed_with(&says);
        let nodes = mpirun::nodes(&[2, 3]).into_iter();
        all.extend(nodes.map(|nodes| Job::new(UNSENT, nodes, move || run(nodes))));
        all.extend(
            mpirun::nodes(&[3, 4]).into_iter().flat_map(|nodes| jobs(nodes, |case| case.name == TUNED)),
        );
        return mpirun::all(all);
    }
    all.extend((0..8).flat_map(|seed| random(STUCK, seed)));
    for nodes in mpirun::nodes(&[1, 2, 3, 4]) {
        // What ends a job on 3 nodes ends one on 4.
        all.extend(jobs(nodes, |case| nodes >= case.least && (nodes < 4 || case.fails_with.is_empty())));
    }
    for nodes in mpirun::nodes(&[5, 8]) {
        all.extend(jobs(nodes, |case| case.name.starts_with(BY_LIBRARY)));
    }
    for (number, law) in LAWS.iter().enumerate() {
        let unchecked = if matches!(law.2, Does::Checked(_)) { "1" } else { "0" };
        let on = mpirun::nodes(&[law.0.max(2), 3]).into_iter().zip(["1", unchecked]);
        all.extend(on.map(|(nodes, check)| {
            let name = format!("{LAW}{number}");
            Job::new(name.clone(), nodes, move || {
                mpirun::run(&name, nodes, &[], &[("STRATA_CHECK", check)])?.failed_with(law.1)
            })
        }));
    }
    for (number, (says, _)) in oracle::stuck::CALLS.into_iter().enumerate() {
        for number in [number, number + RECEIVING] {
            let name = format!("{UNMADE}{number}");
            all.push(Job::new(name.clone(), 2, move || {
                let outcome = mpirun::run(&name, 2, &[], &[("STRATA_CHECK", "0")])?;
                outcome.failed_with(&oracle::stuck::reported(says))
            }));
        }
    }
    let another = "the launcher of another MPI";
    all.push(Job::new(another, 2, || mpirun::by_another_launcher(&CASES[0].name)));
    mpirun::all(all)
}

/// Operations of the lengths that are tuned, each compared with what it should give.
fn tuned_calls(node: &mut Node) -> Result<(), Error> {
    // Many processes on few cores take long.
    for seed in 0..if node.size() <= 2 || long() { 60 } else { 15 } {
        for length in [700, 3000] {
            [1, 5, 7, 8, 9].into_iter().for_each(|what| oracle::step(node, what, seed, length));
        }
    }
    Ok(())
}

/// A loop with a knob, and one more on the last node if sites are to differ: all nodes take the
/// same.
fn tunes(node: &mut Node, different: bool) -> Result<(), Error> {
    use strata_tune::{Knob, Mode, Options};
    let file = std::env::temp_dir().join(format!("strata-tune-{}.json", std::process::id()));
    let options = Options { budget: Some(20), ..Options::of(Mode::Tune(Some(file.clone()))) };
    let (knob, other) = (Knob::new("rows", 1u64, [2, 3]), Knob::new("columns", 1u64, [2]));
    let mut tuner = node.tuner_with("test", options)?;
    for _ in 0..300 {
        let rows = *tuner.pick(node, &knob);
        if different && node.rank() + 1 == node.size() {
            tuner.pick(node, &other);
        }
        assert_eq!(node.reduce_max(rows), rows, "on all nodes the same");
        tuner.agree(node)?;
    }
    tuner.close(node)?;
    // Only node 0 has written one.
    let written = std::fs::remove_file(file).is_ok();
    assert_eq!(written, node.rank() == 0);
    Ok(())
}
