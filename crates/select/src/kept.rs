//! A cache of choices, by classes of problems.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Explained, Library, table::MAX_PARAMETERS};

/// The bits of a candidate's index plus one, and of the number of its parameters.
const INDEX: u32 = 4;
const COUNT: u32 = 3;

/// The last chosen candidates of classes of problems: evaluating models takes as long as a thousand
/// operations, a look here as long as some ten. There are `N` places of one word, a power of two;
/// classes that share a place displace each other. A class keeps its candidate although models are
/// fitted anew later.
///
/// Two classes of problems of this library, whose one candidate has a parameter:
///
/// ```
/// # use strata_select::{Row, Table};
/// # use strata_select::table::{Domain, Entry, Model, Parameter, Prediction, Verdict};
/// use strata_select::{Kept, Library};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Summing {
///     Blocked { width: i64 },
/// }
/// # static BLOCKED: Model = Model::Computed {
/// #     seconds: |_, x| Some(1e-9 * x[0] + 2e-8 * x[0] / x[1] + 1e-12 * x[0] * x[1]),
/// #     predict: |nodes, x| Prediction::new(BLOCKED.seconds(nodes, x)?, 0.0),
/// # };
/// # static SUMMING: Table = Table {
/// #     library: "summing", spec: "", platform: "", digest: "", inputs: &["n"],
/// #     domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 1e9)] },
/// #     entries: &[Entry::new("blocked", Verdict::Unverified, 1.0, &BLOCKED)
/// #         .with(&[Parameter::new("width", 8, 1024).times(2)])],
/// # };
/// # impl Library for Summing {
/// #     type Rows = [Row; 1];
/// #     type Input = usize;
/// #     const TABLES: &'static [&'static Table] = &[&SUMMING];
/// #     fn candidate(_: usize, parameters: &[i64]) -> Option<Self> {
/// #         Some(Self::Blocked { width: *parameters.first()? })
/// #     }
/// # }
///
/// static KEPT: Kept<64> = Kept::new();
///
/// let way = |n: usize| KEPT.choose::<Summing>(n.max(1).ilog2(), n); // a class for each octave
/// assert_eq!(KEPT.get::<Summing>(10), None);
/// assert_eq!(way(1025), Summing::Blocked { width: 128 });
/// assert_eq!(KEPT.get(10), Some(Summing::Blocked { width: 128 }));
/// ```
#[derive(Debug)]
pub struct Kept<const N: usize>([AtomicU64; N]);

impl<const N: usize> Kept<N> {
    /// The number of bits of a class.
    pub const BITS: u32 = 28;

    /// An empty cache.
    #[must_use]
    pub const fn new() -> Self {
        assert!(N.is_power_of_two(), "the number of places must be a power of two");
        Self([const { AtomicU64::new(0) }; N])
    }

    /// The candidate that was chosen for problems of this class; all calls must be for one library.
    #[inline]
    pub fn get<L: Library>(&self, class: u32) -> Option<L> {
        let word = self.word(class)?;
        let count = (word >> INDEX & ((1 << COUNT) - 1)) as usize;
        let mut parameters = [0; MAX_PARAMETERS];
        let parameters = parameters.get_mut(..count)?;
        let bits = Self::bits(count);
        let mut rest = word >> (INDEX + COUNT);
        for parameter in parameters.iter_mut() {
            *parameter = (rest & ((1 << bits) - 1)) as i64;
            rest >>= bits;
        }
        L::candidate(index(word), parameters)
    }

    /// The index of the candidate that was chosen for problems of this class, of any library.
    #[inline]
    pub fn candidate(&self, class: u32) -> Option<usize> {
        self.word(class).map(index)
    }

    /// Keeps the candidate that was chosen for a class, by its index and parameters. Not all can be
    /// kept: only of classes below 2^28, only the first 15 of a library, and parameters from 0 to
    /// 2^29 - 1 if there is one; to 16,383 each of two, to 511 of three and to 127 of four.
    pub fn keep(&self, class: u32, candidate: usize, parameters: &[i64]) {
        let count = parameters.len();
        let bits = Self::bits(count);
        let fit = |value: &i64| (0..1 << bits).contains(value);
        let has_place = class >> Self::BITS == 0 && candidate < (1 << INDEX) - 1;
        if has_place && count <= MAX_PARAMETERS && parameters.iter().all(fit) {
            let packed = parameters.iter().rev().fold(0, |word, value| word << bits | value.cast_unsigned());
            let word = packed << (INDEX + COUNT) | (count as u64) << INDEX | (candidate as u64 + 1);
            self.place(class).store(u64::from(class) << (64 - Self::BITS) | word, Relaxed);
        }
    }

    /// The candidate that was chosen for problems of this class below 2^28, or else the one for
    /// `input`, which is kept if [`keep`](Self::keep) can. Pins and explanations are those of the
    /// first choice.
    #[inline]
    pub fn choose<L: Library>(&self, class: u32, input: L::Input) -> L {
        self.get(class).unwrap_or_else(|| {
            let Explained { candidate, choice, .. } = L::on(1).explain(input);
            self.keep(class, choice.index, &choice.parameters);
            candidate
        })
    }

    /// The bits of each of `count` parameters.
    #[inline]
    fn bits(count: usize) -> u32 {
        (64 - Self::BITS - INDEX - COUNT) / (count.max(1) as u32)
    }

    /// The word of a class, if its candidate is kept.
    #[inline]
    fn word(&self, class: u32) -> Option<u64> {
        let word = self.place(class).load(Relaxed);
        let kept = word >> (64 - Self::BITS) == u64::from(class) && word & ((1 << INDEX) - 1) > 0;
        kept.then_some(word)
    }

    /// The place of a class.
    #[inline]
    fn place(&self, class: u32) -> &AtomicU64 {
        let hash = class.wrapping_mul(0x9E37_79B9);
        &self.0[(hash >> 16) as usize % N]
    }
}

/// The index of the candidate in a word that has one.
#[inline]
fn index(word: u64) -> usize {
    (word & ((1 << INDEX) - 1)) as usize - 1
}

impl<const N: usize> Default for Kept<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Row, Table};

    /// An index, and parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Any(usize, [i64; MAX_PARAMETERS], usize);

    impl Library for Any {
        type Rows = [Row; 0];
        type Input = f64;
        const TABLES: &'static [&'static Table] = &[];
        const TABLE: &'static Table = &Table {
            library: "any",
            spec: "",
            platform: "",
            digest: "",
            inputs: &[],
            domain: crate::table::Domain { nodes: crate::table::Domain::ANY_NODES, inputs: &[] },
            entries: &[],
        };

        fn candidate(index: usize, parameters: &[i64]) -> Option<Self> {
            let mut all = [0; MAX_PARAMETERS];
            all.get_mut(..parameters.len())?.copy_from_slice(parameters);
            Some(Self(index, all, parameters.len()))
        }
    }

    #[test]
    fn what_fits_is_kept_and_what_does_not_is_asked_again() {
        let most = (1 << Kept::<1>::BITS) - 1;
        let kept: [&[i64]; 6] =
            [&[], &[0], &[(1 << 29) - 1], &[16_383, 1], &[511, 0, 511], &[127, 0, 1, 127]];
        for (index, parameters) in kept.into_iter().enumerate().chain([(14, &[5][..])]) {
            for class in [0, 1, most] {
                let one = Kept::<1>::new();
                assert_eq!((one.get::<Any>(class), one.candidate(class)), (None, None));
                one.keep(class, index, parameters);
                assert_eq!(one.get(class), Any::candidate(index, parameters), "{class}");
                assert_eq!(one.candidate(class), Some(index));
                assert_eq!(one.get::<Any>(class ^ 2), None);
            }
        }
        let refused: [(usize, &[i64]); 7] = [
            (15, &[]),
            (0, &[-1]),
            (0, &[1 << 29]),
            (0, &[16_384, 0]),
            (0, &[1, 512, 1]),
            (0, &[128, 0, 0, 0]),
            (0, &[0; MAX_PARAMETERS + 1]),
        ];
        for (index, parameters) in refused {
            let one = Kept::<1>::new();
            one.keep(3, index, parameters);
            assert_eq!(one.get::<Any>(3), None, "{index} {parameters:?}");
        }
    }
}
