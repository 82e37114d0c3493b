//! A stream of random numbers for each node (Brewer, manual, §3.6).

use super::Node;
use chacha20::ChaCha8Rng;
use rand::{Rng as _, SeedableRng as _};

/// The seed of a node's stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// This number: the same stream in every run.
    Number(u64),
    /// The time and the node's number: a different stream in every run, and on every node.
    Time,
}

/// The node's number plus 1, as in Strata.
pub(super) fn stream_of(rank: usize) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(rank as u64 + 1)
}

impl Node {
    /// The next number of this node's stream, all 64 bits equally likely.
    ///
    /// Streams differ between nodes and are the same in every run, unless
    /// [seeded](Self::set_random_seed) otherwise.
    ///
    /// # Participation
    /// Local.
    pub fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// Restarts this node's stream; returns the seed, which reproduces it.
    ///
    /// ```
    /// use strata_runtime::{prelude::*, node::Seed};
    ///
    /// let drawn = Machine::threads(2)?.run(|node| {
    ///     node.set_random_seed(Seed::Number(7));
    ///     Ok(node.random())
    /// })?;
    /// assert_eq!(drawn[0], drawn[1]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local.
    pub fn set_random_seed(&mut self, seed: Seed) -> u64 {
        let seed = match seed {
            Seed::Number(number) => number,
            Seed::Time => {
                let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let time = since.map_or(0, |since| since.as_nanos() as u64);
                time.wrapping_mul(4096).wrapping_add(self.rank() as u64)
            }
        };
        self.random = ChaCha8Rng::seed_from_u64(seed);
        seed
    }
}
