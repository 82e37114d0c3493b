//! The global address space beside Lamellar's atomic arrays, two nodes each, in one run.
//!
//!     cargo bench -p strata-benches --bench global_race
//!
//! Lamellar (crates.io `lamellar` 0.8, without default features, on-node shared memory) is built as
//! a package of its own in the target folder, where crates.io can be reached; else it is left out
//! with a word. Its processes poll while they wait, so in each round they are started for their
//! turn and end with it. Both sides count all of the histogram.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use strata_benches::peer::Peer;
use strata_benches::tool::write;
use strata_benches::{Timings, at_least, columns, machine, turns};
use strata_global::{Array, Change, Space, Way};
use strata_runtime::prelude::*;

/// Words of the array, half of them on each node.
const WORDS: usize = 1 << 20;
/// Words of a line of the cache.
const LINE: usize = 8;

/// What is done, how Lamellar's side calls it, and how often.
const ACCESSES: [(&str, &str, usize); 6] = [
    ("read, one after the other", "read", 20_000),
    ("store, streamed", "store", 20_000),
    ("fetch_add, one after the other", "fetch_add", 20_000),
    ("read by a message and its answer", "message", 200),
    ("random exclusive or (GUPS), both nodes", "gups", 500_000),
    ("histogram, both nodes", "histogram", 500_000),
];

const LAMELLAR: &str = "[package]\nname = \"lamellar-peer\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
    [workspace]\n\n[dependencies]\nlamellar = { version = \"0.8\", default-features = false }\n";

#[derive(Parser)]
struct Arguments {
    /// Rounds of timings
    #[arg(long, default_value = "7", value_parser = at_least(1))]
    rounds: usize,
}

strata_benches::main!(race);

fn race(&Arguments { rounds }: &Arguments) -> Result<(), String> {
    let lamellar = build().inspect_err(|reason| eprintln!("Lamellar is left out: {reason}")).ok();
    let sides = 1 + usize::from(lamellar.is_some());
    let mut timings = vec![[Timings::default(), Timings::default()]; ACCESSES.len()];
    for round in 0..rounds {
        for side in turns(round, sides) {
            let seconds = match &lamellar {
                Some(program) if side == 1 => theirs(program, round)?,
                _ => ours().map_err(|e| e.to_string())?,
            };
            timings.iter_mut().zip(seconds).for_each(|(timings, seconds)| timings[side].push(seconds));
        }
    }
    println!("2 nodes; {}\n", machine());
    columns("access | Strata | Lamellar | Lamellar : Strata");
    let mut summary = serde_json::Map::new();
    for ((name, key, _), [strata, peer]) in ACCESSES.iter().zip(&timings) {
        let ratio = (!peer.is_empty()).then(|| peer.median() / strata.median());
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        println!(
            "| {} | {strata} | {} | {} |",
            *name,
            or_dash(ratio.map(|_| peer.to_string())),
            or_dash(ratio.map(|ratio| format!("{ratio:.1}x")))
        );
        let lamellar = ratio.map(|_| peer.median());
        summary.insert(
            (*key).to_owned(),
            json!({"strata": strata.median(), "lamellar": lamellar, "ratio": ratio}),
        );
    }
    strata_benches::summary(&json!({"bench": "global_race", "accesses": summary}));
    Ok(())
}

/// Builds the program of Lamellar's side; its path.
fn build() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lamellar-peer");
    std::fs::create_dir_all(folder.join("src")).map_err(|e| format!("{}: {e}", folder.display()))?;
    write(&folder.join("Cargo.toml"), LAMELLAR)?;
    write(&folder.join("src/main.rs"), include_str!("lamellar_peer.rs"))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = folder.join("target");
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--target-dir"])
        .arg(&target)
        .current_dir(&folder)
        .output()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).trim().to_owned());
    }
    Ok(target.join("release/lamellar-peer"))
}

/// Seconds of each access with Lamellar, by processes of their own.
fn theirs(program: &Path, round: usize) -> Result<Vec<f64>, String> {
    let job = std::process::id() as usize * 1000 + round;
    let process = |rank: usize| {
        let mut command = Command::new(program);
        command.env("LAMELLAR_BACKEND", "shmem").env("LAMELLAR_NUM_PES", "2").env("LAMELLAR_THREADS", "1");
        command.env("LAMELLAR_PE_ID", rank.to_string()).env("LAMELLAR_JOB_ID", job.to_string());
        command.env("LAMELLAR_HEAP_SIZE", (1_u32 << 28).to_string());
        command
    };
    let mut peer = Peer::start(vec![process(0), process(1)])?;
    let mut ask = |(_, key, times): &(&str, &str, usize)| {
        // The first time warms up.
        peer.seconds(&format!("{key} {times}"))?;
        peer.seconds(&format!("{key} {times}"))
    };
    ACCESSES.iter().map(&mut ask).collect::<Result<_, _>>().map_err(|why| format!("Lamellar: {why}"))
}

/// Seconds of each access with Strata, on two threads.
fn ours() -> Result<Vec<f64>, Error> {
    let mut results = Machine::threads(2)?.run(|node| {
        let mut seconds = Vec::new();
        for way in [Way::Shared, Way::Messages] {
            let mut space = Space::open_by(node, 16 * WORDS, way)?;
            let (array, counts) = (space.alloc_blocks::<u64>(2, WORDS / 2)?, space.alloc::<u64>(WORDS)?);
            let mut counted = 0;
            for (_, key, times) in
                ACCESSES.iter().filter(|access| (access.1 == "message") == (way == Way::Messages))
            {
                time(&mut space, (&array, &counts), key, *times);
                seconds.push((*key, time(&mut space, (&array, &counts), key, *times)));
                counted += if *key == "histogram" { 4 * *times as u64 } else { 0 };
            }
            let mine: Vec<_> = space.mine(&counts).map(|(_, word)| word).collect();
            let sum = mine.into_iter().map(|word| space.read(word)).sum::<u64>();
            if space.reduce_add(sum) != counted {
                return Err(Error::Program("counts are lost".to_owned()));
            }
        }
        let of = |key: &str| seconds.iter().find(|(name, _)| *name == key).map_or(f64::NAN, |(_, s)| *s);
        Ok(ACCESSES.iter().map(|(_, key, _)| of(key)).collect::<Vec<f64>>())
    })?;
    Ok(results.swap_remove(0))
}

/// The seconds of one access, with what completes all.
fn time(space: &mut Space<'_>, (array, counts): (&Array<u64>, &Array<u64>), what: &str, times: usize) -> f64 {
    let far = WORDS / 2;
    let at = |i: usize| array.first_of(1) + ((i * LINE) % far) as i64;
    let mut random = chacha20::ChaCha8Rng::seed_from_u64(space.rank() as u64);
    let words: Vec<u64> = (0..times).map(|_| random.random()).collect();
    let here = space.rank() == 0;
    space.barrier();
    let start = space.now().get();
    match what {
        "histogram" => words.iter().for_each(|word| {
            space.store_change(counts.at(*word as usize % WORDS), Change::Add, 1);
        }),
        "gups" => words.iter().for_each(|word| {
            space.store_change(array.at(*word as usize % WORDS), Change::Xor, *word);
        }),
        "read" | "message" if here => {
            let sum: u64 = (0..times).map(|i| space.read(at(i))).fold(0, u64::wrapping_add);
            std::hint::black_box(sum);
        }
        "store" if here => (0..times).for_each(|i| space.store(at(i), 1)),
        "fetch_add" if here => {
            let sum: u64 = (0..times).map(|i| space.fetch_add(at(i), 1)).fold(0, u64::wrapping_add);
            std::hint::black_box(sum);
        }
        _ => {}
    }
    space.all_store_sync();
    space.barrier();
    (space.now().get() - start) / times as f64
}
