//! The interface of a node's part for iterations and exchanges, however the part is stored.
//!
//! A part is a block of *cells* in columns and rows, with a halo around it. A cell is a point of a
//! two-dimensional grid, or a line of points of a three-dimensional one. Coordinates count from the
//! outermost column and row of the halo.

use std::ops::Range;

use crate::{Side, Value};

/// A rectangle of cells: columns, and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) columns: Range<usize>,
    pub(crate) rows: Range<usize>,
}

/// A given value that is not finite, and its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bad {
    /// The index of the face that it belongs to; `None` for an initial value.
    pub(crate) face: Option<usize>,
    /// Column, row and plane.
    pub(crate) place: [usize; 3],
    pub(crate) value: f64,
}

/// The cost of sweeping a part on a simulated machine, in units of the kernel `StencilSweep`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    /// Kernels a sweep.
    pub(crate) kernels: usize,
    /// Points a cell.
    pub(crate) line: usize,
}

/// A node's part of a problem.
pub(crate) trait Points<T: Value> {
    /// Columns and rows of the block.
    fn size(&self) -> [usize; 2];

    /// The width of the halo.
    fn halo(&self) -> usize;

    /// False if there is only an edge of the grid beyond that side.
    fn has_halo(&self, side: Side) -> bool;

    /// True if a sweep reads the cells in the corners of its area.
    fn reads_corners(&self) -> bool {
        false
    }

    /// Number of sweeps of an iteration: its colours. Each sweep uses up a layer of the halo.
    fn sweeps(&self) -> usize;

    /// True if a sweep of one of two colours reads only points of the other.
    fn needs_one_colour(&self) -> bool {
        false
    }

    /// The best number of sweeps in one pass.
    fn longest_wave(&self) -> usize {
        usize::MAX
    }

    /// The cost of a sweep.
    fn charge(&self) -> Charge;

    /// Sweeps `areas.len()` times, with colours in turn from `first` on; returns the largest update
    /// of all but the first `uncounted` sweeps, or infinity if a counted value is not finite.
    fn wave(&mut self, first: usize, areas: &[Area], uncounted: usize) -> T;

    /// The number of values of `area`, of one colour or all.
    fn count(&self, area: &Area, colour: Option<usize>) -> usize;

    /// Copies the values of `area` to `into`.
    fn pack(&self, area: &Area, colour: Option<usize>, into: &mut [T]);

    /// The positions of the values of `area` in the part's [`memory`](Self::memory), as contiguous
    /// pieces in the order of [`pack`](Self::pack).
    fn pieces(&self, area: &Area, colour: Option<usize>) -> Vec<Range<usize>>;

    /// All values; empty if this part has no memory.
    fn memory(&mut self) -> &mut [T];

    /// Sets the values of `area` to those that [`pack`](Self::pack) produced on another node.
    fn unpack(&mut self, area: &Area, colour: Option<usize>, from: &[T]);

    /// The block without its halo, cell by cell; empty if it has no memory.
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

/// Splits `area` into the cells not next to a halo, and the cells next to the halo at each side.
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

/// The sides of a block that have more beyond them than an edge of the grid of `cells`.
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
/// If they cannot be allocated.
pub(crate) fn zeros<T: Value>(len: usize) -> Result<Vec<T>, ()> {
    let mut array = Vec::new();
    array.try_reserve_exact(len).map_err(|_| ())?;
    array.resize(len, T::default());
    Ok(array)
}
