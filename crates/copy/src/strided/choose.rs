//! Which mover blocks take.

use std::sync::OnceLock;

use super::movers::{CALLS, MOVES, WHOLE};
use super::{Mover, Strided, movers};
use crate::choose::{Known, best, in_use, key};

/// Whether blocks are gathered or scattered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// [`pack`](crate::pack).
    Pack,
    /// [`unpack`](crate::unpack).
    Unpack,
}

impl Direction {
    /// The measured situations, by their places in [`Models`](crate::Models): nobody says whether
    /// blocks are in a cache.
    const fn situations(self) -> [usize; 2] {
        match self {
            Self::Pack => [6, 7],
            Self::Unpack => [8, 9],
        }
    }
}

/// The mover that [`pack`](crate::pack) or [`unpack`](crate::unpack) takes for such blocks. Of 2048
/// bytes on that is `memcpy`, a call for each block, which there is one of the
/// [routine](crate::routine_for) for a copy of a block.
///
/// As with [`routine_for`](crate::routine_for), the first call for a kind of blocks evaluates
/// models, and later ones look the answer up.
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

/// Makes and keeps a choice. Threads that do so at once find the same.
#[cold]
#[inline(never)]
fn choose_first(direction: Direction, kind: Kind, place: &OnceLock<&'static Mover>) -> &'static Mover {
    place.get_or_init(|| pinned().unwrap_or_else(|| decide(in_use(), direction, kind)))
}

/// What models choose, as for a copy. Where nothing is known of this processor, blocks that the
/// compiler would move without a call if it knew their size are moved so.
fn decide(models: &dyn Known, direction: Direction, kind: Kind) -> &'static Mover {
    let situations = direction.situations();
    if models.names(situations[0]).is_empty() {
        return if MOVES.moves(kind.sizes()[2]) { &MOVES } else { &CALLS };
    }
    let points = kind.sizes().map(|size| [size as f64, kind.distance.stride(size) as f64]);
    let named = |name: &str| {
        let mut known = movers().iter().copied();
        known.find(|mover| mover.name() == name && kind.sizes().iter().all(|size| mover.moves(*size)))
    };
    best(models, &situations, &points, 0.0, named).unwrap_or(&CALLS)
}

/// The mover of `STRATA_PIN=copy_strided=NAME`. A name that this processor has no mover of is said
/// once on standard error: packing cannot fail by it.
pub(crate) fn pinned() -> Option<&'static Mover> {
    static PINNED: OnceLock<Option<&'static Mover>> = OnceLock::new();
    *PINNED.get_or_init(|| crate::choose::pinned_among("copy_strided", movers(), Mover::name))
}

/// Blocks that are moved alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    /// Quarters of powers of two of a block's bytes, counted.
    size: usize,
    distance: Distance,
}

/// How far apart blocks lie. What matters is which lines and pages they share, and whether they all
/// compete for the same places of a cache.
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
    /// Whole pages.
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

    /// A measured stride of this distance.
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
    /// Of blocks that are no routine's of their own.
    #[inline]
    fn of(strided: Strided) -> Option<Self> {
        let small = (1..WHOLE).contains(&strided.block);
        small.then(|| Self { size: key(strided.block) - key(1), distance: Distance::of(strided) })
    }

    /// The least, a middle and the greatest size.
    fn sizes(self) -> [usize; 3] {
        let (power, quarter) = (4 << (self.size / 4), 4 + self.size % 4);
        // In sixteenths of a byte.
        let (first, next) = (quarter * power, (quarter + 1) * power);
        let (first, last) = (first.div_ceil(16), (next - 1) / 16);
        [first, first.midpoint(last), last.max(first)]
    }
}

/// Sizes from 1 to `WHOLE`.
const SIZES: usize = key(WHOLE) - key(1);

/// By direction, distance and size.
static CHOSEN: [[[OnceLock<&'static Mover>; SIZES]; Distance::ALL.len()]; 2] =
    [const { [const { [const { OnceLock::new() }; SIZES] }; Distance::ALL.len()] }; 2];

/// Whether no block has been moved by a choice.
pub(crate) fn none_yet() -> bool {
    CHOSEN.iter().flatten().flatten().all(|place| place.get().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::tests::{entry, table_of};
    use crate::{Models, models};
    use strata_select::Table;

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

    /// Movers that take so many times as long as `memcpy`.
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

    /// What packing takes by these models of hot and of cold blocks.
    fn chosen(hot: &'static Table, cold: &'static Table, block: usize) -> &'static str {
        let rest: &Table = &models::threads_1::COPY_HOT;
        let all: Models = [rest, rest, rest, rest, rest, rest, hot, cold, rest, rest];
        let kind = Kind::of(Strided { block, stride: 3 * block, count: 9 }).unwrap();
        decide(&all, Direction::Pack, kind).name()
    }

    #[test]
    fn a_mover_is_taken_where_it_gains_and_loses_nowhere() {
        let (good, better, bad) = (table!(0.6, 1.0), table!(1.0, 0.5), table!(1.2, 1.0));
        assert_eq!(chosen(good, good, 24), "moves");
        assert_eq!(chosen(good, bad, 24), "memcpy", "cold blocks would lose");
        assert_eq!(chosen(table!(0.99, 1.0), good, 24), "moves", "it gains on average");
        // Movers are asked of sizes that they move themselves alone.
        assert_eq!(chosen(good, good, 200), "memcpy");
        assert_eq!(chosen(better, better, 8), "memcpy");
        if cfg!(target_arch = "x86_64") {
            assert_eq!(chosen(better, better, 24), "sse2_moves");
            assert_eq!(chosen(better, better, 200), "sse2_moves");
        }
    }

    #[test]
    fn without_models_small_blocks_are_moved_and_long_ones_copied() {
        struct Nothing;
        impl Known for Nothing {
            fn names(&self, _: usize) -> Vec<&str> {
                Vec::new()
            }
            fn models(&self, _: usize) -> Option<(&dyn strata_select::Source, usize)> {
                None
            }
        }
        for (block, expected) in
            [(1, "moves"), (24, "moves"), (127, "moves"), (200, "memcpy"), (2000, "memcpy")]
        {
            let kind = Kind::of(Strided { block, stride: 9000, count: 9 }).unwrap();
            assert_eq!(decide(&Nothing, Direction::Unpack, kind).name(), expected, "{block}");
        }
    }
}
