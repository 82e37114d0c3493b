//! What code in a spec can use: scratch memory, random numbers, Brewer's `clear_memory` (Table
//! 3-2).

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_select::transfer::fnv;

/// Words of each scratch buffer: 1 MiB.
const SCRATCH_WORDS: usize = 1 << 17;

/// The scratch buffers `data` and `data2`, one pair a node, allocated at first use.
#[derive(Debug, Default)]
pub struct Scratch {
    data: Vec<i64>,
    data2: Vec<i64>,
}

impl Scratch {
    /// Both buffers, each of 131,072 words. Their contents are those of earlier timings.
    pub fn buffers(&mut self) -> (&mut [i64], &mut [i64]) {
        for buffer in [&mut self.data, &mut self.data2] {
            if buffer.is_empty() {
                // Not zero, so that the pages exist before the first timing.
                buffer.resize(SCRATCH_WORDS, 1);
            }
        }
        (&mut self.data, &mut self.data2)
    }
}

/// Sets the first `bytes` bytes of `data` to zero.
///
/// # Panics
/// `data` is shorter than that.
#[inline(never)]
pub fn clear_memory(data: &mut [i64], bytes: usize) {
    let all: &mut [u8] = bytemuck::cast_slice_mut(data);
    let length = all.len();
    let Some(start) = all.get_mut(..bytes) else {
        panic!("clear_memory: {bytes} bytes asked for, but the buffer has only {length}");
    };
    start.fill(0);
    std::hint::black_box(start);
}

/// [`clear_memory`] under the name that the thesis prints, of `words` words of 4 bytes (Brewer
/// 1994, figure 3-3).
///
/// # Panics
/// As [`clear_memory`].
#[allow(non_snake_case, reason = "specs of the thesis call it so")]
#[inline]
pub fn ClearMemory(data: &mut [i64], words: usize) {
    clear_memory(data, words.saturating_mul(4));
}

/// A stream of random numbers, the same in every run with the same seed.
#[derive(Debug)]
pub struct Random {
    generator: ChaCha8Rng,
    /// Whether a number was drawn.
    drawn: bool,
    /// `Some` if [`Random::any`] repeats its first number; that number, once drawn.
    repeated: Option<Option<u64>>,
}

impl Random {
    /// The stream number `stream` of a model under `seed`.
    #[must_use]
    pub fn new(seed: u64, model: &str, stream: u64) -> Self {
        // So that models do not share their points.
        let mut generator = ChaCha8Rng::seed_from_u64(seed ^ fnv(model.bytes()));
        generator.set_stream(stream);
        Self { generator, drawn: false, repeated: None }
    }

    /// The same stream, whose [`any`](Self::any) repeats the first number.
    pub(crate) fn repeating(self) -> Self {
        Self { repeated: Some(None), ..self }
    }

    /// Whether a number was drawn.
    pub(crate) fn is_drawn(&self) -> bool {
        self.drawn
    }

    /// An integer in `[low, high]`, all equally likely; `None` if the range is empty.
    pub fn between(&mut self, low: i64, high: i64) -> Option<i64> {
        self.drawn = true;
        (low <= high).then(|| self.generator.random_range(low..=high))
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.drawn = true;
        match &mut self.repeated {
            Some(first) => *first.get_or_insert_with(|| self.generator.random()),
            None => self.generator.random(),
        }
    }

    /// An integer in `[low, high]`: Brewer's `Select`, called `random_in` in a spec.
    ///
    /// # Panics
    /// The range is empty.
    #[track_caller]
    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        self.between(low, high).unwrap_or_else(|| panic!("random_in({low}, {high}): the range is empty"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_stops_at_the_byte() {
        let mut data = [-1i64; 3];
        clear_memory(&mut data, 9);
        assert_eq!(data[0], 0);
        assert_eq!(data[1].to_ne_bytes()[..2], [0, 0xff]);
        assert_eq!(data[2], -1);
        clear_memory(&mut data, 24);
        assert_eq!(data, [0; 3]);
    }

    #[test]
    #[should_panic(expected = "25 bytes asked for, but the buffer has only 24")]
    fn clearing_beyond_the_buffer_says_so() {
        clear_memory(&mut [1; 3], 25);
    }

    #[test]
    fn streams_differ_by_seed_model_and_number() {
        let draw = |seed, model, stream| Random::new(seed, model, stream).within(0, i64::MAX);
        assert_eq!(draw(1, "A", 0), draw(1, "A", 0));
        assert_ne!(draw(1, "A", 0), draw(2, "A", 0));
        assert_ne!(draw(1, "A", 0), draw(1, "B", 0));
        assert_ne!(draw(1, "A", 0), draw(1, "A", 1));
        assert_eq!(Random::new(1, "A", 0).between(3, 2), None);
        assert_eq!(Random::new(1, "A", 0).between(3, 3), Some(3));
    }

    #[test]
    fn a_repeating_stream_gives_its_first_number_again() {
        let (mut usual, mut repeating) = (Random::new(1, "A", 0), Random::new(1, "A", 0).repeating());
        assert!(!repeating.is_drawn());
        let first = usual.any();
        assert_eq!([repeating.any(), repeating.any()], [first; 2]);
        assert!(repeating.is_drawn() && usual.any() != first);
    }
}
