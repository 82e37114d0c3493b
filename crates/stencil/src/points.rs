//! What iterations and exchanges need of a node's part of a problem, however it is stored.
//!
//! A part is a block of *cells* in columns and rows, with a halo around it. A cell is a point of a
//! grid of two dimensions, or a line of points of one of three. Coordinates count from the
//! outermost column and row of the halo.

use std::ops::Range;

use crate::{Side, Value};

/// A rectangle of cells: columns, and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) columns: Range<usize>,
    pub(crate) rows: Range<usize>,
}

/// A given value that is not finite: where, and what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bad {
    /// The face that it is of, by its index; an initial value otherwise.
    pub(crate) face: Option<usize>,
    /// Column, row and plane.
    pub(crate) place: [usize; 3],
    pub(crate) value: f64,
}

/// What sweeping a part costs on a simulated machine, in units of the kernel `StencilSweep`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    /// Kernels in a sweep.
    pub(crate) kernels: usize,
    /// Points of a cell.
    pub(crate) line: usize,
}

/// A node's part of a problem.
pub(crate) trait Points<T: Value> {
    /// Columns and rows of the block.
    fn size(&self) -> [usize; 2];

    /// The width of the halo.
    fn halo(&self) -> usize;

    /// Whether anything lies beyond that side but an edge of the grid.
    fn has_halo(&self, side: Side) -> bool;

    /// Whether a sweep reads the cells in the corners of its area.
    fn reads_corners(&self) -> bool {
        false
    }

    /// Sweeps of an iteration: its colours. Each uses up a layer of the halo.
    fn sweeps(&self) -> usize;

    /// Whether a sweep of one colour of two needs the other one's points only.
    fn needs_one_colour(&self) -> bool {
        false
    }

    /// How many sweeps are best done in one pass.
    fn longest_wave(&self) -> usize {
        usize::MAX
    }

    /// What a sweep costs.
    fn charge(&self) -> Charge;

    /// Sweeps `areas.len()` times, colours in turn from `first` on; returns the largest update but
    /// in the first `uncounted` sweeps, infinite where a value that counts is not finite.
    fn wave(&mut self, first: usize, areas: &[Area], uncounted: usize) -> T;

    /// The number of values of `area`, of one colour or all.
    fn count(&self, area: &Area, colour: Option<usize>) -> usize;

    /// Copies the values of `area` to `into`.
    fn pack(&self, area: &Area, colour: Option<usize>, into: &mut [T]);

    /// Where the values of `area` lie in the part's [`memory`](Self::memory), in the order of
    /// [`pack`](Self::pack), as contiguous pieces.
    fn pieces(&self, area: &Area, colour: Option<usize>) -> Vec<Range<usize>>;

    /// All values; empty where this part has no memory.
    fn memory(&mut self) -> &mut [T];

    /// Sets the values of `area` to what [`pack`](Self::pack) of their node made.
    fn unpack(&mut self, area: &Area, colour: Option<usize>, from: &[T]);

    /// The block without its halo, cell by cell; empty where it has no memory.
    fn values(&self) -> Vec<T>;

    /// The cells that a sweep computes if `valid` layers of the halo are valid before it.
    fn area(&self, valid: usize) -> Area {
        let more = |side: Side| if self.has_halo(side) { valid - 1 } else { 0 };
        let (halo, [width, height]) = (self.halo(), self.size());
        Area {
            columns: halo - more(Side::West)..halo + width + more(Side::East),
            rows: halo - more(Side::North)..halo + height + more(Side::South),
        }
    }
}

/// The cells of `area` next to no halo, and those at its sides that are.
pub(crate) fn split<T: Value>(part: &dyn Points<T>, area: &Area) -> (Area, [Area; 4]) {
    let next = |side| usize::from(part.has_halo(side));
    let inner = |all: &Range<usize>, [before, after]: [Side; 2]| {
        let start = all.start + next(before);
        start..(all.end - next(after)).max(start)
    };
    let columns = inner(&area.columns, [Side::West, Side::East]);
    let rows = inner(&area.rows, [Side::North, Side::South]);
    let border = [
        Area { columns: area.columns.start..columns.start, rows: area.rows.clone() },
        Area { columns: columns.end..area.columns.end, rows: area.rows.clone() },
        Area { columns: columns.clone(), rows: area.rows.start..rows.start },
        Area { columns: columns.clone(), rows: rows.end..area.rows.end },
    ];
    (Area { columns, rows }, border)
}

/// Which of a block's sides have anything beyond them but an edge of the grid of `cells`.
pub(crate) fn sides_with_halo(
    block: &[Range<usize>; 2],
    cells: [usize; 2],
    periodic: [bool; 2],
) -> [bool; 4] {
    Side::ALL.map(|side| {
        let direction = usize::from(!side.is_horizontal());
        let at_edge = match side {
            Side::West | Side::North => block[direction].start == 0,
            Side::East | Side::South => block[direction].end == cells[direction],
        };
        !at_edge || periodic[direction]
    })
}

/// `len` zeros.
///
/// # Errors
/// There is no room for them.
pub(crate) fn zeros<T: Value>(len: usize) -> Result<Vec<T>, ()> {
    let mut array = Vec::new();
    array.try_reserve_exact(len).map_err(|_| ())?;
    array.resize(len, T::default());
    Ok(array)
}
