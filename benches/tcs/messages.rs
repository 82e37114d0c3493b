//! The baseline: patterns by ordinary messages on the simulated iWarp, whose links are shared
//! packet by packet by whoever sends.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Computing, prelude::*};

/// Clocks of an all-to-all of `bytes` from each of `cells` cells to each, each cell in a random
/// order of its own (§6.4.1).
pub(crate) fn all_to_all(cells: usize, bytes: usize, seed: u64) -> Result<f64, Error> {
    let iwarp = SimulatedMachine::find("iwarp")?;
    let simulation = Machine::sim(&iwarp, cells)?.seed(seed).computing(Computing::Skeleton);
    let run = simulation.run(|node| {
        node.install(node.handlers());
        let (me, size) = (node.rank(), node.size());
        let memory = node.block::<u8>(size * bytes);
        node.open_port(0, memory);
        node.expect::<u8>(0, (size - 1) * bytes);
        let mut order: Vec<usize> = (0..size).filter(|to| *to != me).collect();
        order.shuffle(&mut chacha20::ChaCha8Rng::seed_from_u64(seed * 1000 + me as u64));
        let block = node.block::<u8>(bytes);
        node.barrier();
        let start = node.now().get();
        for to in order {
            node.compute(40.0, || ());
            node.put_block(to, 0, me * bytes, &block);
        }
        node.wait_for_port(0);
        node.barrier();
        let seconds = node.now().get() - start;
        drop(node.close_port::<u8>(0));
        Ok(seconds)
    })?;
    Ok(run.results.into_iter().fold(0.0, f64::max) * 20e6)
}
