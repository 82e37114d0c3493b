//! Chooses the strided kernel for blocks.

use std::sync::OnceLock;

use super::movers::{CALLS, MOVES, WHOLE};
use super::{Mover, Strided, movers};
use crate::choose::key;
use crate::strided_models::{PackCold, PackHot, UnpackCold, UnpackHot};
use strata_select::{
    learn::{Situation, better_than},
    models::pinned,
};

/// The direction of a move: gathering or scattering blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// [`pack`](crate::pack).
    Pack,
    /// [`unpack`](crate::unpack).
    Unpack,
}

impl Direction {
    /// The measured situations with the models in use: it is unknown whether blocks are in a cache.
    pub(crate) fn situations(self) -> [Situation; 2] {
        match self {
            Self::Pack => [Situation::of::<PackHot>(1), Situation::of::<PackCold>(1)],
            Self::Unpack => [Situation::of::<UnpackHot>(1), Situation::of::<UnpackCold>(1)],
        }
    }
}

/// The strided kernel that [`pack`](crate::pack) or [`unpack`](crate::unpack) uses for such blocks.
/// From 2048 bytes on it is `memcpy`, a call for each block; the call is then to the
/// [routine](crate::routine_for) for one block.
///
/// As with [`routine_for`](crate::routine_for), the first call for a kind of blocks evaluates
/// models, and later calls read the cached choice.
#[inline]
#[must_use]
pub fn mover_for(direction: Direction, strided: Strided) -> &'static Mover {
    let Some(kind) = Kind::of(strided) else { return &CALLS };
    let place = &CHOSEN[direction as usize][kind.distance as usize][kind.size];
    match place.get() {
        Some(mover) => mover,
        None => choose_first(direction, kind, place),
    }
}

/// Makes and stores a choice. Threads that do so at once choose the same.
#[cold]
#[inline(never)]
fn choose_first(direction: Direction, kind: Kind, place: &OnceLock<&'static Mover>) -> &'static Mover {
    place.get_or_init(|| pinned_mover().unwrap_or_else(|| decide(&direction.situations(), direction, kind)))
}

/// The choice by models, as for a copy. Without models of this machine, `moves` is chosen for
/// blocks that the compiler would move without a call if it knew their size.
fn decide(situations: &[Situation], direction: Direction, kind: Kind) -> &'static Mover {
    let sizes = kind.sizes();
    let elsewhere = situations.iter().any(|situation| situation.models.note.is_some());
    let default = if elsewhere && MOVES.moves(sizes[2]) { &MOVES } else { &CALLS };
    let points = sizes.map(|size| [size as f64, kind.distance.stride(size) as f64]);
    let named = |name: &str| {
        let mut known = movers().iter().copied();
        known.find(|mover| mover.name() == name && sizes.iter().all(|size| mover.moves(*size)))
    };
    let what =
        format_args!("{direction:?} of blocks of {} to {} bytes, {:?}", sizes[0], sizes[2], kind.distance);
    let points = points.each_ref().map(<[f64; 2]>::as_slice);
    better_than(what, default.name(), situations, &points, 0.0, named).unwrap_or(default)
}

/// The strided kernel of `STRATA_PIN=copy_strided=NAME`.
pub(crate) fn pinned_mover() -> Option<&'static Mover> {
    static PINNED: OnceLock<Option<&'static Mover>> = OnceLock::new();
    *PINNED.get_or_init(|| Some(movers()[pinned("copy_strided", movers().iter().map(|mover| mover.name()))?]))
}

/// A class of blocks with the same choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    /// The quarter of a power of two of a block's bytes, as a number.
    size: usize,
    distance: Distance,
}

/// A class of strides. The classes differ in the lines and pages that blocks share, and in whether
/// all blocks compete for the same sets of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    /// Less than a cache line between them.
    Near,
    /// Less than a quarter of a page.
    Lines,
    /// Less than a page.
    InPage,
    /// At least a page.
    Pages,
    WholePages,
}

const PAGE: usize = 4096;

impl Distance {
    const ALL: [Self; 5] = [Self::Near, Self::Lines, Self::InPage, Self::Pages, Self::WholePages];

    #[inline]
    fn of(Strided { block, stride, .. }: Strided) -> Self {
        match stride - block.min(stride) {
            _ if stride.is_multiple_of(PAGE) => Self::WholePages,
            0..64 => Self::Near,
            64..1024 => Self::Lines,
            _ if stride < PAGE => Self::InPage,
            _ => Self::Pages,
        }
    }

    const fn stride(self, block: usize) -> usize {
        match self {
            Self::Near => block + 8,
            Self::Lines => block + 192,
            Self::InPage => block + 1224,
            Self::Pages => 2 * PAGE + 8,
            Self::WholePages => PAGE,
        }
    }
}

impl Kind {
    /// The class of blocks that are too short for a call of a routine each; `None` for longer ones.
    #[inline]
    fn of(strided: Strided) -> Option<Self> {
        let small = (1..WHOLE).contains(&strided.block);
        small.then(|| Self { size: key(strided.block) - key(1), distance: Distance::of(strided) })
    }

    /// The least, a middle and the greatest size.
    fn sizes(self) -> [usize; 3] {
        let (power, quarter) = (4 << (self.size / 4), 4 + self.size % 4);
        // In units of a sixteenth of a byte.
        let (first, next) = (quarter * power, (quarter + 1) * power);
        let (first, last) = (first.div_ceil(16), (next - 1) / 16);
        [first, first.midpoint(last), last.max(first)]
    }
}

/// Number of size classes, from 1 to `WHOLE` bytes.
const SIZES: usize = key(WHOLE) - key(1);

/// The choices, by direction, stride and size.
static CHOSEN: [[[OnceLock<&'static Mover>; SIZES]; Distance::ALL.len()]; 2] =
    [const { [const { [const { OnceLock::new() }; SIZES] }; Distance::ALL.len()] }; 2];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::tests::{entry, here, table_of};
    use strata_select::{Table, choice::Note, models::Models};

    #[test]
    fn every_block_has_a_kind_that_holds_its_size() {
        for block in 1..WHOLE {
            let kind = Kind::of(Strided { block, stride: 5000, count: 3 }).unwrap();
            assert!(kind.size < SIZES);
            let [least, middle, most] = kind.sizes();
            assert!(
                least <= block && block <= most && least <= middle && middle <= most,
                "{block}: {kind:?}"
            );
        }
        assert!(Kind::of(Strided { block: 0, stride: 9, count: 3 }).is_none());
        assert!(Kind::of(Strided { block: WHOLE, stride: 9000, count: 3 }).is_none());
    }

    #[test]
    fn a_measured_stride_is_of_its_distance() {
        for distance in Distance::ALL {
            for block in [1, 8, 100, 511, 2000] {
                let stride = distance.stride(block);
                assert_eq!(Distance::of(Strided { block, stride, count: 2 }), distance, "{block} {stride}");
            }
        }
        let touching = Strided { block: 8, stride: 8, count: 2 };
        assert_eq!(Distance::of(touching), Distance::Near);
    }

    /// Strided kernels whose predicted times are these multiples of `memcpy`'s.
    macro_rules! table {
        ($moves:expr, $sse2:expr) => {{
            static TABLE: Table = table_of(
                &["block", "stride"],
                &[
                    entry!("memcpy", 1.0, 0.02),
                    entry!("moves", $moves, 0.02),
                    entry!("sse2_moves", $sse2, 0.02),
                    entry!("of_another_machine", 0.1, 0.0),
                ],
            );
            &TABLE
        }};
    }

    /// The kernel chosen for packing by these models of hot and of cold blocks.
    fn chosen(hot: &'static Table, cold: &'static Table, block: usize) -> &'static str {
        let kind = Kind::of(Strided { block, stride: 3 * block, count: 9 }).unwrap();
        decide(&[here(hot), here(cold)], Direction::Pack, kind).name()
    }

    #[test]
    fn a_mover_is_taken_where_it_gains_and_loses_nowhere() {
        let (good, better, bad) = (table!(0.6, 1.0), table!(1.0, 0.5), table!(1.2, 1.0));
        assert_eq!(chosen(good, good, 24), "moves");
        assert_eq!(chosen(good, bad, 24), "memcpy", "cold blocks would lose");
        assert_eq!(chosen(table!(0.99, 1.0), good, 24), "moves", "it gains on average");
        // Predictions of a kernel count only for sizes that it moves itself.
        assert_eq!(chosen(good, good, 200), "memcpy");
        assert_eq!(chosen(better, better, 8), "memcpy");
        if cfg!(target_arch = "x86_64") {
            assert_eq!(chosen(better, better, 24), "sse2_moves");
            assert_eq!(chosen(better, better, 200), "sse2_moves");
        }
    }

    #[test]
    fn without_models_small_blocks_are_moved_and_long_ones_copied() {
        let table: &Table = table!(0.6, 0.5);
        let note = Some(Note::OtherMachine { spec: "specs/copy/strided", platform: "", differs: "" });
        let elsewhere = Situation { table, models: Models { source: table, file: None, note } };
        for (block, expected) in
            [(1, "moves"), (24, "moves"), (127, "moves"), (200, "memcpy"), (2000, "memcpy")]
        {
            let kind = Kind::of(Strided { block, stride: 9000, count: 9 }).unwrap();
            assert_eq!(decide(&[elsewhere; 2], Direction::Unpack, kind).name(), expected, "{block}");
        }
    }
}
