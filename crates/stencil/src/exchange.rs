//! The exchange of halos, in several variants among which models choose: by prepared messages if
//! the transport has them ([`Requests`]), otherwise by puts into the neighbours' ports.
//!
//! Each side has two ports that are used in turn, so that no barrier is needed. A neighbour sends
//! for exchange *k* + 2 only after it has received this node's data for exchange *k* + 1, and this
//! node sends that data only after the port of exchange *k* is open again.

use strata_runtime::{Block, Node, Work};

use crate::points::{Area, Points};
use crate::requests::Requests;
use crate::{Layout, Side, Value, Way};

/// The first of eight ports, below the run-time's own; programs use lower numbers.
const FIRST_PORT: usize = 4064;

/// The links of a block to its neighbours.
pub(crate) struct Exchange<T> {
    /// By side: the node beyond it, which may be this node.
    links: [Option<usize>; 4],
    /// The colour exchanged in each turn; `None` for both colours.
    colours: [Option<usize>; 2],
    turn: usize,
    way: Way,
    /// Memory for packing, by side; a single block if sides are sent one by one.
    outgoing: [Block<T>; 4],
    /// The messages, if they are prepared; otherwise ports are open.
    requests: Option<Requests<T>>,
}

/// The sides of each phase of an exchange. A halo of one layer needs no corners unless diagonal
/// neighbours count, so all four sides are exchanged at once. A wider halo needs them: columns are
/// exchanged first, then rows together with the columns' halos.
fn phases<T: Value>(part: &dyn Points<T>) -> &'static [&'static [Side]] {
    match corners(part) {
        false => &[&Side::ALL],
        true => &[&[Side::West, Side::East], &[Side::North, Side::South]],
    }
}

/// The port for data from a side, in a turn.
fn port(side: Side, turn: usize) -> usize {
    FIRST_PORT + 4 * turn + side as usize
}

impl<T: Value> Exchange<T> {
    /// Prepares exchanges of the colours in `colours`, one a turn.
    ///
    /// # Participation
    /// Collective, within [`Node::receiving`].
    pub(crate) fn open(
        node: &mut Node,
        part: &dyn Points<T>,
        layout: Layout,
        colours: [Option<usize>; 2],
    ) -> Self {
        let links = Side::ALL.map(|side| part.has_halo(side).then(|| neighbour(node.rank(), layout, side)));
        let way = layout.way;
        let mut this = Self { links, colours, turn: 0, way, outgoing: Default::default(), requests: None };
        let others: Vec<(Side, usize)> = this.others(node.rank()).collect();
        this.requests = Requests::new(node, part, way, &others, phases(part), colours);
        if this.requests.is_some() {
            return this;
        }
        for turn in [0, 1] {
            for &(side, _) in &others {
                let count = part.count(&incoming(part, side), colours[turn]);
                let memory = node.block::<T>(count);
                this.expect(node, port(side, turn), memory, count);
            }
        }
        // Ports must be open before the first put; a single block has none.
        if layout.nodes() > 1 {
            node.barrier();
        }
        this
    }

    /// The sides with a different node beyond.
    fn others(&self, rank: usize) -> impl Iterator<Item = (Side, usize)> + use<T> {
        let links = self.links;
        Side::ALL
            .into_iter()
            .filter_map(move |side| links[side as usize].filter(|to| *to != rank).map(|to| (side, to)))
    }

    fn expect(&mut self, node: &mut Node, port: usize, memory: Block<T>, count: usize) {
        node.open_port(port, memory);
        if count > 0 {
            node.expect::<T>(port, count);
        }
    }

    /// Fetches the neighbours' points of this turn's colours into the halo.
    pub(crate) fn run(&mut self, node: &mut Node, part: &mut dyn Points<T>) {
        for phase in 0..phases(part).len() {
            self.start(node, part, phase);
            self.finish(node, part, phase);
        }
        self.turn = 1 - self.turn;
    }

    /// As [`run`](Self::run) for a halo without corners; calls `between` while points are under
    /// way.
    pub(crate) fn run_while(
        &mut self,
        node: &mut Node,
        part: &mut dyn Points<T>,
        between: &mut dyn FnMut(&mut Node, &mut dyn Points<T>),
    ) {
        self.start(node, part, 0);
        between(node, part);
        self.finish(node, part, 0);
        self.turn = 1 - self.turn;
    }

    /// Sends to the neighbours at the sides of this phase.
    fn start(&mut self, node: &mut Node, part: &mut dyn Points<T>, phase: usize) {
        let colour = self.colours[self.turn];
        if let Some(requests) = &mut self.requests {
            requests.start(node, part, [self.turn, phase], colour);
        }
        let prepared = self.requests.is_some();
        let mut transfers = Vec::new();
        for &side in phases(part)[phase] {
            let Some(to) = self.links[side as usize] else { continue };
            if prepared && to != node.rank() {
                continue;
            }
            let area = outgoing(part, side);
            let (count, beyond) = (part.count(&area, colour), port(side.opposite(), self.turn));
            if self.way == Way::Stored && to != node.rank() && area.columns.len() >= LEAST_STORED {
                store(node, part, &area, colour, to, beyond);
                continue;
            }
            let place = if self.way == Way::Transferred { side as usize } else { 0 };
            let mut block = std::mem::take(&mut self.outgoing[place]).reuse::<T>(count);
            if node.is_skeleton() {
                block = node.block(count);
            }
            moving(node, &area, count, || part.pack(&area, colour, &mut block));
            if to == node.rank() {
                let area = incoming(part, side.opposite());
                moving(node, &area, count, || part.unpack(&area, colour, &block));
            } else if self.way == Way::Transferred && count > 0 {
                transfers.push((place, node.start_transfer(to, beyond, 0, block)));
                continue;
            } else if count > 0 {
                node.put_block(to, beyond, 0, &block);
            }
            self.outgoing[place] = block;
        }
        for (place, transfer) in transfers {
            self.outgoing[place] = node.complete_transfer(transfer);
        }
    }

    /// Waits for the neighbours at the sides of this phase.
    fn finish(&mut self, node: &mut Node, part: &mut dyn Points<T>, phase: usize) {
        let colour = self.colours[self.turn];
        if let Some(requests) = &mut self.requests {
            return requests.finish(node, part, [self.turn, phase], colour);
        }
        for &side in phases(part)[phase] {
            if self.links[side as usize].is_none_or(|to| to == node.rank()) {
                continue;
            }
            let area = incoming(part, side);
            let count = part.count(&area, colour);
            let port = port(side, self.turn);
            if count > 0 {
                node.wait_for_port(port);
            }
            let memory: Block<T> = node.close_port(port);
            moving(node, &area, count, || part.unpack(&area, colour, &memory));
            self.expect(node, port, memory, count);
        }
    }

    /// Closes the ports.
    pub(crate) fn close(self, node: &mut Node) {
        if self.requests.is_some() {
            return;
        }
        for turn in [0, 1] {
            for (side, _) in self.others(node.rank()) {
                node.close_port::<T>(port(side, turn));
            }
        }
    }
}

/// The least number of columns for which a row is put in place rather than packed.
const LEAST_STORED: usize = 16;

/// Puts the points of `area` into a port directly from the arrays.
fn store<T: Value>(
    node: &mut Node,
    part: &mut dyn Points<T>,
    area: &Area,
    colour: Option<usize>,
    to: usize,
    port: usize,
) {
    let mut offset = 0;
    for piece in part.pieces(area, colour) {
        let len = piece.len();
        match node.is_skeleton() {
            true => node.put_block(to, port, offset, &node.block::<T>(len)),
            false => node.put(to, port, offset, &part.memory()[piece]),
        }
        offset += len;
    }
}

/// Copies `count` elements between a block and the arrays; simulated machines charge for it.
pub(crate) fn moving(node: &mut Node, area: &Area, count: usize, copy: impl FnOnce()) {
    let rows = area.rows.len();
    if area.columns.len() < rows {
        // The stride makes each element one cache line.
        let stride = 2 * (count / rows.max(1)) + 1;
        node.compute(Work::Kernel("Pack", &[count as f64, stride.max(9) as f64]), copy);
    } else {
        node.compute(Work::Kernel("Copy", &[(count * size_of::<T64>()) as f64]), copy);
    }
}

/// Kernels were measured with elements of 8 bytes.
type T64 = f64;

/// The area of a halo.
pub(crate) fn incoming<T: Value>(part: &dyn Points<T>, side: Side) -> Area {
    let (halo, [width, height]) = (part.halo(), part.size());
    match side {
        Side::West => Area { columns: 0..halo, rows: halo..halo + height },
        Side::East => Area { columns: halo + width..2 * halo + width, rows: halo..halo + height },
        Side::North => Area { columns: across(part), rows: 0..halo },
        Side::South => Area { columns: across(part), rows: halo + height..2 * halo + height },
    }
}

/// The area that is a neighbour's halo.
pub(crate) fn outgoing<T: Value>(part: &dyn Points<T>, side: Side) -> Area {
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
fn across<T: Value>(part: &dyn Points<T>) -> std::ops::Range<usize> {
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
