//! Damaged and strange files: no reader panics or takes long, and what it accepts can be written
//! and read again.
//!
//! A [`Target`] is a format with its laws. Its seeds are files of the workspace and, for formats of
//! which the workspace keeps no file, those under `seeds/`. Inputs that once broke something stand
//! under `regressions/<target>/` and are tried first, each time.
//!
//! Files are mutated for 2 s with a fixed seed; `cargo test -p strata-benches --test it fuzz -- --ignored` does
//! it for a minute, on every core, with a new seed.
//!
//! An input that fails is made as small as it goes and written to `target/fuzz/`. So is the input
//! of the moment, as `running-N`, for the case that it ends the process.

mod mutate;
mod seeds;
#[path = "../../../../crates/specc/tests/any_spec/mod.rs"]
mod specs;
mod targets;

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use strata_model::sha256_hex;

use mutate::{Chance, LONGEST, mutate};
use targets::{TARGETS, Target};

/// Processor time that an input may take: a hundred times what the slowest sound one takes in a
/// build without optimisation.
const SLOW: Duration = Duration::from_secs(20);
/// An input that has not ended after so long never will.
const ENDLESS: Duration = Duration::from_secs(300);
/// How many inputs are tried to make one that fails smaller.
const SHRINKING: usize = 4000;
/// The most inputs that are kept for further mutations, beside the seeds.
const KEPT: usize = 200;

/// An input that broke a law.
struct Failure {
    target: &'static str,
    input: Vec<u8>,
    broken: Broken,
}

/// Which law, and where that was noticed: smaller inputs must break the same.
#[derive(Clone, Debug, Default)]
struct Broken {
    place: String,
    message: String,
}

thread_local! {
    /// Whether panics of this thread are expected, and kept instead of printed.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static CAUGHT: RefCell<Broken> = RefCell::default();
}

fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !WATCHED.get() {
                return usual(panic);
            }
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            let text = panic.payload().downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.payload().downcast_ref::<&str>().copied());
            let message = text.unwrap_or("a panic without words").to_owned();
            CAUGHT.set(Broken { place, message });
        }));
    });
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap()
}

/// Whether the input is one of the format. `Err`: it breaks a law.
fn try_one(target: &Target, input: &[u8]) -> Result<bool, Broken> {
    let begin = processor_time();
    WATCHED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.check)(input)));
    WATCHED.set(false);
    let took = processor_time() - begin;
    match outcome {
        Err(_) => Err(CAUGHT.take()),
        Ok(_) if took > SLOW => {
            let message = format!("{} bytes take {took:.1?} of processor time", input.len());
            Err(Broken { place: "the limit of time".to_owned(), message })
        }
        Ok(accepted) => Ok(accepted),
    }
}

/// Leaves out pieces, halves at first, then smaller ones, as long as the same law is broken.
fn shrink(target: &Target, input: &[u8], broken: &Broken) -> Vec<u8> {
    let mut least = input.to_vec();
    let mut tries = if broken.place.contains(':') { SHRINKING } else { 20 };
    let mut length = least.len() / 2;
    while length > 0 && tries > 0 {
        let before = least.len();
        let mut at = 0;
        while at < least.len() && tries > 0 {
            let mut less = least.clone();
            less.drain(at..(at + length).min(less.len()));
            tries -= 1;
            match try_one(target, &less) {
                Err(also) if also.place == broken.place => least = less,
                _ => at += length,
            }
        }
        // Pieces that now are beside each other may go, too.
        if least.len() == before || length > 1 {
            length /= 2;
        }
    }
    least
}

/// Where inputs are written, beside what cargo builds.
fn out_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("fuzz");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Makes an input smaller, writes it, and says what to do with it.
fn report(failure: &Failure) -> String {
    let Failure { target, input, broken } = failure;
    let path = out_folder().join(format!("{target}-{}", &sha256_hex(input)[..12]));
    std::fs::write(&path, input).unwrap();
    format!(
        "target `{target}`: {} bytes in {} break a law at {}:\n{}\nOnce it holds again, keep the file under \
         {}/{target}/.\n",
        input.len(),
        path.display(),
        broken.place,
        // The whole text is in the file.
        broken.message.chars().take(1000).collect::<String>(),
        regressions().display(),
    )
}

fn regressions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fuzz/regressions")
}

/// What became of a target's inputs.
struct Count {
    target: &'static str,
    inputs: u64,
    /// How many were read, not refused.
    accepted: u64,
    slowest: Duration,
}

/// What one thread has done.
#[derive(Default)]
struct Session {
    failures: Vec<Failure>,
    counts: Vec<Count>,
}

impl Session {
    /// Mutates the seeds of all targets, each for its share of the time.
    fn run(task: &Task, number: u64, done: &AtomicU64) -> Self {
        let Task { seed, time, clock, .. } = *task;
        let mut session = Self::default();
        let path = out_folder().join(format!("running-{}-{number}", std::process::id()));
        let mut running = File::create(&path).unwrap();
        let shares = TARGETS.iter().map(|target| target.share).sum::<u32>();
        for target in &TARGETS {
            let mut chance = Chance::new(seed.wrapping_add(number));
            let (mut pool, words) = (seeds::of(target.name), target.words());
            let originals = pool.len();
            let mut count = Count { target: target.name, inputs: 0, accepted: 0, slowest: Duration::ZERO };
            let begin = clock();
            while clock() - begin < time * target.share / shares {
                let mut input = chance.of(&pool).clone();
                mutate(&mut input, &pool, &words, &mut chance);
                running.rewind().unwrap();
                running.write_all(&input).unwrap();
                running.set_len(input.len() as u64).unwrap();
                let begin = processor_time();
                let outcome = try_one(target, &input);
                count.slowest = count.slowest.max(processor_time() - begin);
                count.inputs += 1;
                done.fetch_add(1, Ordering::Relaxed);
                match outcome {
                    Ok(false) => {}
                    Ok(true) => {
                        count.accepted += 1;
                        // Mutations of mutations go further, but not far: others take their place.
                        if pool.len() < originals + KEPT {
                            pool.push(input);
                        } else {
                            pool[originals + chance.below(KEPT)] = input;
                        }
                    }
                    Err(broken) => {
                        let input = shrink(target, &input, &broken);
                        session.failures.push(Failure { target: target.name, input, broken });
                        break;
                    }
                }
            }
            session.counts.push(count);
        }
        drop(running);
        std::fs::remove_file(path).unwrap();
        session
    }
}

/// What is to be done.
struct Task {
    seed: u64,
    time: Duration,
    /// What the time is of.
    clock: fn() -> Duration,
    threads: u64,
}

/// The threads, and what ends the process where one of them does not come back.
fn run_all(task: &Task) -> Vec<Session> {
    let done: Vec<AtomicU64> = (0..task.threads).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        let run = |(number, done)| scope.spawn(move || Session::run(task, number, done));
        let handles: Vec<_> = (0..task.threads).zip(&done).map(run).collect();
        let mut seen: Vec<(u64, Instant)> = vec![(u64::MAX, Instant::now()); handles.len()];
        while !handles.iter().all(|handle| handle.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            for (number, (now, last)) in done.iter().zip(&mut seen).enumerate() {
                let now = now.load(Ordering::Relaxed);
                if now != last.0 || handles[number].is_finished() {
                    *last = (now, Instant::now());
                } else if last.1.elapsed() > ENDLESS {
                    let name = format!("running-{}-{number}", std::process::id());
                    println!("an input has taken {ENDLESS:?}: {}", out_folder().join(name).display());
                    std::process::abort();
                }
            }
        }
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    })
}

/// Processor time, so that a busy machine tries as many inputs as an idle one.
#[test]
fn mutated_files_are_survived() {
    fuzz(&Task { seed: 1994, time: Duration::from_secs(2), clock: processor_time, threads: 1 });
}

#[test]
#[ignore = "takes a minute"]
fn mutated_files_are_survived_for_a_minute() {
    let clock = || UNIX_EPOCH.elapsed().unwrap();
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    fuzz(&Task { seed: clock().as_secs(), time: Duration::from_secs(60), clock, threads });
}

fn fuzz(task: &Task) {
    watch_panics();
    println!("{:?} on {} threads with seed {}", task.time, task.threads, task.seed);
    let sessions = run_all(task);
    for target in &TARGETS {
        let all = || sessions.iter().flat_map(|session| &session.counts).filter(|c| c.target == target.name);
        println!(
            "{:12} {:9} inputs, {:8} accepted, the slowest took {:.2?}",
            target.name,
            all().map(|count| count.inputs).sum::<u64>(),
            all().map(|count| count.accepted).sum::<u64>(),
            all().map(|count| count.slowest).max().unwrap_or_default(),
        );
    }
    let failures: Vec<String> = sessions.iter().flat_map(|session| &session.failures).map(report).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Every input that once broke something, and every seed.
#[test]
fn kept_inputs_are_survived() {
    watch_panics();
    let mut failures = Vec::new();
    for target in &TARGETS {
        let folder = regressions().join(target.name);
        // A target that has never failed has no folder.
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if let Err(broken) = try_one(target, &std::fs::read(&path).unwrap()) {
                failures.push(format!("{}: {}: {}", path.display(), broken.place, broken.message));
            }
        }
        let seeds = seeds::of(target.name);
        let longest = seeds.iter().map(Vec::len).max();
        assert!(longest < Some(LONGEST), "mutations of a seed of `{}` would be cut", target.name);
        let accepted = seeds.iter().filter(|seed| match try_one(target, seed) {
            Ok(accepted) => accepted,
            Err(broken) => {
                failures.push(format!("a seed of {}: {}: {}", target.name, broken.place, broken.message));
                false
            }
        });
        if accepted.count() == 0 {
            failures.push(format!("no seed of `{}` is of its format", target.name));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Folders without a target would never be read.
#[test]
fn every_folder_of_kept_inputs_is_a_target() {
    for entry in std::fs::read_dir(regressions()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(TARGETS.iter().any(|target| name == target.name), "{name:?}");
    }
}

/// A failure is found, made small, and told.
#[test]
fn a_failing_input_is_made_small() {
    watch_panics();
    let target = Target {
        name: "test",
        share: 1,
        check: |input| !input.windows(2).any(|two| two == b"!?") || panic!("two marks"),
    };
    let input = b"a long text in which two marks !? stand, and more after them".repeat(3);
    let broken = try_one(&target, &input).unwrap_err();
    assert_eq!(broken.message, "two marks");
    assert_eq!(shrink(&target, &input, &broken), b"!?");
    assert!(try_one(&target, b"!").unwrap());
}
