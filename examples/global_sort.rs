//! Radix sort in global memory: each pass counts digits, scans the counts, and stores every key
//! where it belongs (Luna 1994, §6.2).
//!
//!     STRATA_ON=threads:2 cargo run --release -p strata-global --example global_sort -- --keys 100000
//!     STRATA_ON=sim:cm5:16 cargo run --release -p strata-global --example global_sort

use clap::Parser;
use rand::{RngExt as _, SeedableRng as _};
use strata_global::{Array, Space};
use strata_runtime::{Work, prelude::*};

/// On a simulated machine, the cycles of finding an element of a spread array: 1.24 µs on a CM-5
/// (Luna 1994, Table 7).
const INDEX: f64 = 41.0;

/// Sorts the keys of the first array, a block on each node, by digits of `bits` bits; returns the one
/// of the two that has the sorted keys.
pub(crate) fn sort<'a>(space: &mut Space<'_>, mut arrays: [&'a Array<u32>; 2], bits: u32) -> &'a Array<u32> {
    let bins = 1 << bits;
    for shift in (0..u32::BITS).step_by(bits as usize) {
        let [from, to] = arrays;
        let digit = |key: u32| (key >> shift) as usize & (bins - 1);
        let mut keys = vec![0; from.block_len()];
        space.read_slice(from.first_of(space.rank()), &mut keys);

        // How often each digit occurs here, on the nodes before, and on all.
        let mut counts = vec![0u64; bins];
        let work = [keys.len() as f64, bins as f64];
        space.compute_always(Work::Kernel("Histogram", &work), || {
            keys.iter().for_each(|key| counts[digit(*key)] += 1);
        });
        let mut places = counts.clone();
        space.scan(Op::Add, &mut places);
        space.reduce(Op::Add, &mut counts);

        // So the first place of this node's keys of each digit.
        let mut first = 0;
        for (place, count) in places.iter_mut().zip(counts) {
            *place += first;
            first += count;
        }
        for some in keys.chunks(8) {
            space.compute(INDEX * some.len() as f64, || ());
            // Others' stores: a node that computes and sends in turn would answer too few.
            space.poll();
            for key in some {
                let place = &mut places[digit(*key)];
                space.store(to.at(*place as usize), *key);
                *place += 1;
            }
        }
        space.all_store_sync();
        arrays = [to, from];
    }
    arrays[0]
}

/// Sorts `keys` random keys of each node; the seconds of the slowest node.
///
/// # Errors
/// The heap cannot be had, or the keys are not sorted.
pub(crate) fn seconds(node: &mut Node, keys: usize, bits: u32) -> Result<f64, Error> {
    let nodes = node.size();
    let mut space = Space::open(node, 8 * keys + 128)?;
    let (rank, mut random) = (space.rank(), chacha20::ChaCha8Rng::seed_from_u64(space.rank() as u64));
    let arrays = [space.alloc_blocks(nodes, keys)?, space.alloc_blocks(nodes, keys)?];
    let mut mine: Vec<u32> = (0..keys).map(|_| random.random()).collect();
    let sum = |keys: &[u32]| keys.iter().map(|key| u64::from(*key)).sum::<u64>();
    let before = sum(&mine);
    space.write_slice(arrays[0].first_of(rank), &mine);
    space.barrier();

    let start = space.now();
    let sorted = sort(&mut space, [&arrays[0], &arrays[1]], bits);
    let seconds = space.now().get() - start.get();

    let seconds = space.reduce_max(seconds);
    space.read_slice(sorted.first_of(rank), &mut mine);
    let mut edge = 0;
    if keys > 0 && rank > 0 {
        edge = space.read(sorted.at(rank * keys - 1));
    }
    let ordered = mine.is_sorted() && mine.first().is_none_or(|first| edge <= *first);
    let lost = sum(&mine).wrapping_sub(before);
    if space.reduce_add(u64::from(!ordered)) > 0 || space.reduce_add(lost) != 0 {
        return Err(Error::Program("the keys are not sorted".to_owned()));
    }
    Ok(seconds)
}

/// Sorts random keys by digits, with every key a store.
#[derive(Parser)]
struct Cli {
    /// Keys of 32 bits on each node.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    keys: usize,
    /// Bits of a digit.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=16))]
    bits: u32,
}

#[allow(dead_code, reason = "tests and benches include this file as a module")]
fn main() -> Result<(), Error> {
    let cli = Cli::parse();
    let line = launch(|node| {
        let seconds = seconds(node, cli.keys, cli.bits)?;
        let all = cli.keys * node.size();
        Ok(format!(
            "{all} keys in {:.3} ms: {:.3} million a second",
            1e3 * seconds,
            all as f64 / seconds / 1e6
        ))
    })?;
    line.iter().for_each(|line| println!("{line}"));
    Ok(())
}
