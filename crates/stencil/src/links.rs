//! The links of a node's part of a problem to the neighbouring blocks, for exchanges of halos.

use std::ops::Range;

use strata_runtime::Node;

use crate::exchange::{Arrays, Exchange, Link, Numbers, Phases};
use crate::points::{Area, Points};
use crate::{Side, Value, layout::Layout};

/// An area, of one colour or of all.
pub(crate) type Coloured = (Area, Option<usize>);

/// The first of eight ports, below the run-time's own; programs use lower numbers.
pub(crate) const FIRST_PORT: usize = 4064;

/// Number of prepared messages; those of halos follow.
pub(crate) const MESSAGES: usize = 2 * Side::ALL.len();

/// The least columns of a row that is sent from where it lies rather than packed. The models of
/// `specs/stencil/exchange` were measured with this number.
const LONG_ROW_COLUMNS: usize = 16;

const NUMBERS: Numbers = Numbers { first_port: FIRST_PORT, first_message: 0, sides: Side::ALL.len() };

impl<'p, T: Value> Arrays<T, Coloured> for dyn Points<T> + 'p {
    fn count(&self, (area, colour): &Coloured) -> usize {
        Points::count(self, area, *colour)
    }

    fn rows(&self, (area, _): &Coloured) -> [usize; 2] {
        [area.columns.len(), area.rows.len()]
    }

    fn has_long_rows(&self, (area, _): &Coloured) -> bool {
        area.columns.len() >= LONG_ROW_COLUMNS
    }

    fn pack(&self, (area, colour): &Coloured, into: &mut [T]) {
        Points::pack(self, area, *colour, into);
    }

    fn unpack(&mut self, (area, colour): &Coloured, from: &[T]) {
        Points::unpack(self, area, *colour, from);
    }

    fn pieces(&self, (area, colour): &Coloured) -> Vec<Range<usize>> {
        Points::pieces(self, area, *colour)
    }

    fn memory(&mut self, _: usize) -> &mut [T] {
        Points::memory(self)
    }
}

/// Prepares exchanges of the colours in `colours`, one a turn.
///
/// # Participation
/// Collective, within [`Node::receiving`].
pub(crate) fn open<T: Value>(
    node: &mut Node,
    part: &dyn Points<T>,
    layout: Layout,
    colours: [Option<usize>; 2],
) -> Exchange<T, Coloured> {
    let turns = colours.map(|colour| phases(node.rank(), part, layout, colour));
    let exchange = Exchange::open(node, part, layout.way, NUMBERS, turns.into());
    // Ports must be open before the first put; a single block has none.
    if layout.nodes() > 1 && exchange.has_ports() {
        node.barrier();
    }
    exchange
}

/// The links of each phase of an exchange. A halo of one layer needs no corners unless diagonal
/// neighbours count, so all four sides are exchanged at once. A wider halo needs them: columns are
/// exchanged first, then rows together with the columns' halos.
fn phases<T: Value>(
    rank: usize,
    part: &dyn Points<T>,
    layout: Layout,
    colour: Option<usize>,
) -> Phases<Coloured> {
    let sides: &[&[Side]] = match corners(part) {
        false => &[&Side::ALL],
        true => &[&[Side::West, Side::East], &[Side::North, Side::South]],
    };
    let link = |side: &Side| {
        let areas = [outgoing(part, *side), incoming(part, *side)].map(|area| (area, colour));
        Link::new(*side as usize, neighbour(rank, layout, *side), areas)
    };
    let links = |sides: &&[Side]| sides.iter().filter(|side| part.has_halo(**side)).map(link).collect();
    sides.iter().map(links).collect()
}

/// The area of a halo.
fn incoming<T: Value>(part: &dyn Points<T>, side: Side) -> Area {
    let (halo, [width, height]) = (part.halo(), part.size());
    match side {
        Side::West => Area { columns: 0..halo, rows: halo..halo + height },
        Side::East => Area { columns: halo + width..2 * halo + width, rows: halo..halo + height },
        Side::North => Area { columns: across(part), rows: 0..halo },
        Side::South => Area { columns: across(part), rows: halo + height..2 * halo + height },
    }
}

/// The area that is a neighbour's halo.
fn outgoing<T: Value>(part: &dyn Points<T>, side: Side) -> Area {
    let (halo, [width, height]) = (part.halo(), part.size());
    match side {
        Side::West => Area { columns: halo..2 * halo, rows: halo..halo + height },
        Side::East => Area { columns: width..halo + width, rows: halo..halo + height },
        Side::North => Area { columns: across(part), rows: halo..2 * halo },
        Side::South => Area { columns: across(part), rows: height..halo + height },
    }
}

/// True if the corners of halos are needed.
fn corners<T: Value>(part: &dyn Points<T>) -> bool {
    part.halo() > 1 || part.reads_corners()
}

/// The columns of exchanged rows: including the halos' columns if corners are needed.
fn across<T: Value>(part: &dyn Points<T>) -> Range<usize> {
    let more = |side| if corners(part) && part.has_halo(side) { part.halo() } else { 0 };
    part.halo() - more(Side::West)..part.halo() + part.size()[0] + more(Side::East)
}

/// The node beyond a side of `rank`'s block, with wrap-around.
fn neighbour(rank: usize, layout: Layout, side: Side) -> usize {
    let Layout { columns, rows, .. } = layout;
    let (x, y) = (rank % columns, rank / columns);
    match side {
        Side::West => y * columns + (x + columns - 1) % columns,
        Side::East => y * columns + (x + 1) % columns,
        Side::North => (y + rows - 1) % rows * columns + x,
        Side::South => (y + 1) % rows * columns + x,
    }
}
