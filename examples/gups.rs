//! Random access: every node changes words of a table that is spread over all nodes, and the rate
//! is that of changes per second (HPC Challenge's RandomAccess).
//!
//!     STRATA_ON=threads:2 cargo run --release -p strata-global --example gups -- --log2-words 20
//!     STRATA_ON=sim:cm5:64 cargo run --release -p strata-global --example gups -- --log2-words 14
//!
//! The changes are one-way exclusive ors: made twice, they leave the table as it was, which is the
//! test.

use clap::Parser;
use rand::{RngExt as _, SeedableRng as _};
use strata_global::{Array, Change, Space};
use strata_runtime::prelude::*;

/// Changes random words of a table spread over all nodes.
#[derive(Parser)]
struct Cli {
    /// The table has 2^N words of 8 bytes.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=40))]
    log2_words: u32,
    /// Changes for each word of the table.
    #[arg(long, value_name = "N", default_value_t = 4)]
    changes: usize,
}

fn main() -> Result<(), Error> {
    let cli = Cli::parse();
    let line = launch(|node| {
        let words = 1usize << cli.log2_words;
        let on_each = words.div_ceil(node.size()) * size_of::<u64>();
        let mut space = Space::open(node, on_each.next_multiple_of(64))?;
        let table = space.alloc::<u64>(words)?;
        for (i, p) in space.mine(&table) {
            space.write(p, i as u64);
        }
        let mine = (cli.changes * words).div_ceil(space.size());
        space.barrier();
        let start = space.now();
        change(&mut space, &table, mine);
        space.all_store_sync();
        let seconds = space.now().get() - start.get();
        let seconds = space.reduce_max(seconds);
        // Once more, which undoes it.
        change(&mut space, &table, mine);
        space.all_store_sync();
        let mut wrong = 0u64;
        for (i, p) in space.mine(&table) {
            wrong += u64::from(space.read(p) != i as u64);
        }
        let wrong = space.reduce_add(wrong);
        if wrong > 0 {
            return Err(Error::Program(format!("{wrong} words of the table are wrong")));
        }
        let all = mine * space.size();
        Ok(format!(
            "{all} changes in {:.3} ms: {:.3} million a second",
            1e3 * seconds,
            all as f64 / seconds / 1e6
        ))
    })?;
    line.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Changes `times` words, the same at every call.
fn change(space: &mut Space<'_>, table: &Array<u64>, times: usize) {
    let mut random = chacha20::ChaCha8Rng::seed_from_u64(space.rank() as u64);
    let mask = table.len() - 1;
    for _ in 0..times {
        let word: u64 = random.random();
        space.store_change(table.at(word as usize & mask), Change::Xor, word);
    }
}
