//! Exchanges of parts of arrays with neighbours, in several variants among which models choose: by
//! prepared messages if the transport has them ([`Requests`]), otherwise by puts into the
//! neighbours' ports.
//!
//! Each side has two ports that are used in turn, so that no barrier is needed. A neighbour sends
//! for exchange *k* + 2 only after it has received this node's data for exchange *k* + 1, and this
//! node sends that data only after the port of exchange *k* is open again. If data go only one way
//! between two nodes, one element goes the other way in their place.

pub(crate) mod models;
pub(crate) mod requests;
mod way;

use std::ops::Range;

use bytemuck::Pod;
use strata_runtime::{Block, Node, Work};

use requests::Requests;
pub use way::Way;

/// Arrays from and to which an exchange copies. `A` describes some of their elements: an area.
pub(crate) trait Arrays<T, A> {
    /// Number of elements of `area`, in all arrays.
    fn count(&self, area: &A) -> usize;

    /// Number of places of a row of `area`, next to each other in memory, and number of rows.
    fn rows(&self, area: &A) -> [usize; 2];

    /// True if [`Way::Stored`] sends the rows of `area` from where they lie, rather than packed.
    fn has_long_rows(&self, area: &A) -> bool;

    /// Copies the elements of `area` to `into`, one array after the other.
    fn pack(&self, area: &A, into: &mut [T]);

    /// Sets the elements of `area` to those that [`pack`](Self::pack) produced on another node.
    fn unpack(&mut self, area: &A, from: &[T]);

    fn arrays(&self) -> usize {
        1
    }

    /// The positions of the elements of `area` in the [`memory`](Self::memory) of an array, as
    /// contiguous pieces in the order of [`pack`](Self::pack).
    fn pieces(&self, area: &A) -> Vec<Range<usize>>;

    /// All elements of an array; empty if it has no memory.
    fn memory(&mut self, array: usize) -> &mut [T];
}

/// A side of a node's arrays, and the neighbour beyond it.
pub(crate) struct Link<A> {
    /// The number of the side. The neighbour's side has this number with the lowest bit inverted.
    pub(crate) side: usize,
    /// The neighbour; it may be this node.
    pub(crate) to: usize,
    /// The areas sent and received.
    pub(crate) areas: [A; 2],
    /// The elements of these areas.
    pub(crate) counts: [usize; 2],
    /// The elements that messages to and from another node have.
    wire: [usize; 2],
}

impl<A> Link<A> {
    pub(crate) fn new(side: usize, to: usize, areas: [A; 2]) -> Self {
        Self { side, to, areas, counts: [0; 2], wire: [0; 2] }
    }
}

/// The links of each phase of an exchange; a phase begins when the one before has ended.
pub(crate) type Phases<A> = Vec<Vec<Link<A>>>;

/// Indices of the areas of a [`Link`].
pub(crate) const SENT: usize = 0;
pub(crate) const RECEIVED: usize = 1;

/// The numbers of an exchange's ports and prepared messages: two of each for a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) first_port: usize,
    pub(crate) first_message: usize,
    pub(crate) sides: usize,
}

impl Numbers {
    /// The port for data from a side, in a turn.
    fn port(self, side: usize, turn: usize) -> usize {
        self.first_port + self.sides * turn + side
    }

    /// The number of the message from a side, in a turn.
    pub(crate) fn message(self, side: usize, turn: usize) -> usize {
        self.first_message + self.sides * turn + side
    }
}

/// Repeated exchanges with the neighbours.
pub(crate) struct Exchange<T, A> {
    /// The areas of one exchange after the other, over and over: one or two.
    turns: Vec<Phases<A>>,
    turn: usize,
    way: Way,
    numbers: Numbers,
    /// Memory for packing, by side; a single block if sides are sent one by one.
    outgoing: Vec<Block<T>>,
    /// The messages, if they are prepared; otherwise ports are open.
    requests: Option<Requests<T>>,
}

impl<T: Pod, A> Exchange<T, A> {
    /// Prepares exchanges of `turns`, which have the same links.
    ///
    /// # Participation
    /// Local. Waiting nodes must receive (see [`Node::receiving`]), and all nodes must have opened
    /// theirs before the first exchange if it [has ports](Self::has_ports).
    pub(crate) fn open<S: Arrays<T, A> + ?Sized>(
        node: &mut Node,
        arrays: &S,
        way: Way,
        numbers: Numbers,
        mut turns: Vec<Phases<A>>,
    ) -> Self {
        measure(arrays, &mut turns);
        let outgoing = (0..numbers.sides).map(|_| Block::default()).collect();
        let requests = Requests::new(node, arrays, way, numbers, &turns);
        let this = Self { turns, turn: 0, way, numbers, outgoing, requests };
        for (port, count) in this.ports(node.rank()) {
            let memory = node.block::<T>(count);
            expect(node, port, memory, count);
        }
        this
    }

    /// False if messages are prepared; equal on all nodes.
    pub(crate) fn has_ports(&self) -> bool {
        self.requests.is_none()
    }

    /// The phases of this turn.
    fn phases(&self) -> usize {
        self.turns[self.turn % self.turns.len()].len()
    }

    /// The links of a turn.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link<A>> {
        self.turns[self.turn % self.turns.len()].iter().flatten()
    }

    /// The open ports, and the elements that each of them receives.
    pub(crate) fn ports(&self, rank: usize) -> Vec<(usize, usize)> {
        let mut ports = Vec::new();
        for turn in if self.has_ports() { 0..2 } else { 0..0 } {
            let links = self.turns[turn % self.turns.len()].iter().flatten();
            let others = links.filter(|link| link.to != rank);
            ports.extend(others.map(|link| (self.numbers.port(link.side, turn), link.wire[RECEIVED])));
        }
        ports
    }

    /// Exchanges the areas of this turn.
    pub(crate) fn run<S: Arrays<T, A> + ?Sized>(&mut self, node: &mut Node, arrays: &mut S) {
        self.start(node, arrays);
        self.finish(node, arrays);
    }

    /// Begins an exchange: what the first phase sends is under way.
    pub(crate) fn start<S: Arrays<T, A> + ?Sized>(&mut self, node: &mut Node, arrays: &mut S) {
        if self.phases() > 0 {
            self.send(node, arrays, 0);
        }
    }

    /// Ends the exchange that was started.
    pub(crate) fn finish<S: Arrays<T, A> + ?Sized>(&mut self, node: &mut Node, arrays: &mut S) {
        for phase in 0..self.phases() {
            if phase > 0 {
                self.send(node, arrays, phase);
            }
            self.receive(node, arrays, phase);
        }
        self.turn = 1 - self.turn;
    }

    /// Sends what the links of a phase send.
    fn send<S: Arrays<T, A> + ?Sized>(&mut self, node: &mut Node, arrays: &mut S, phase: usize) {
        let turn = self.turn;
        let links = &self.turns[turn % self.turns.len()][phase];
        if let Some(requests) = &mut self.requests {
            requests.start(node, arrays, [turn % self.turns.len(), phase], links);
        }
        let mut transfers = Vec::new();
        for link in links {
            let (own, area) = (link.to == node.rank(), &link.areas[SENT]);
            if self.requests.is_some() && !own {
                continue;
            }
            let (count, wire, rows) = (link.counts[SENT], link.wire[SENT], arrays.rows(area));
            let beyond = self.numbers.port(link.side ^ 1, turn);
            if self.way == Way::Stored && !own && arrays.has_long_rows(area) {
                store(node, arrays, area, link.to, beyond);
                continue;
            }
            let place = if self.way == Way::Transferred { link.side } else { 0 };
            let mut block = std::mem::take(&mut self.outgoing[place]).reuse::<T>(wire);
            if node.is_skeleton() {
                block = node.block(wire);
            }
            moving::<T>(node, rows, count, || arrays.pack(area, &mut block[..count]));
            if own {
                let opposite = links.iter().find(|other| other.side == link.side ^ 1);
                if let Some(Link { areas: [_, area], .. }) = opposite {
                    moving::<T>(node, rows, count, || arrays.unpack(area, &block[..count]));
                }
            } else if self.way == Way::Transferred && wire > 0 {
                transfers.push((place, node.start_transfer(link.to, beyond, 0, block)));
                continue;
            } else if wire > 0 {
                node.put_block(link.to, beyond, 0, &block);
            }
            self.outgoing[place] = block;
        }
        for (place, transfer) in transfers {
            self.outgoing[place] = node.complete_transfer(transfer);
        }
    }

    /// Waits for what the links of a phase receive.
    fn receive<S: Arrays<T, A> + ?Sized>(&mut self, node: &mut Node, arrays: &mut S, phase: usize) {
        let turn = self.turn;
        let links = &self.turns[turn % self.turns.len()][phase];
        if let Some(requests) = &mut self.requests {
            return requests.finish(node, arrays, [turn % self.turns.len(), phase], links);
        }
        let rank = node.rank();
        for link in links.iter().filter(|link| link.to != rank) {
            let (area, port) = (&link.areas[RECEIVED], self.numbers.port(link.side, turn));
            let (count, wire) = (link.counts[RECEIVED], link.wire[RECEIVED]);
            if wire > 0 {
                node.wait_for_port(port);
            }
            let memory: Block<T> = node.close_port(port);
            moving::<T>(node, arrays.rows(area), count, || arrays.unpack(area, &memory[..count]));
            expect(node, port, memory, wire);
        }
    }

    /// Closes the ports.
    pub(crate) fn close(self, node: &mut Node) {
        for (port, _) in self.ports(node.rank()) {
            node.close_port::<T>(port);
        }
    }
}

/// Sets the lengths of all links.
fn measure<T, A, S: Arrays<T, A> + ?Sized>(arrays: &S, turns: &mut [Phases<A>]) {
    for link in turns.iter_mut().flatten().flatten() {
        link.counts = link.areas.each_ref().map(|area| arrays.count(area));
        link.wire = link.counts;
    }
    // The same link in all turns.
    for phase in 0..turns.first().map_or(0, Vec::len) {
        for index in 0..turns[0][phase].len() {
            let any = |which: usize| turns.iter().any(|phases| phases[phase][index].counts[which] > 0);
            if let Some(which) = [SENT, RECEIVED].into_iter().find(|which| !any(*which) && any(1 - which)) {
                turns.iter_mut().for_each(|phases| phases[phase][index].wire[which] = 1);
            }
        }
    }
}

/// Opens a port for `count` elements.
fn expect<T: Pod>(node: &mut Node, port: usize, memory: Block<T>, count: usize) {
    node.open_port(port, memory);
    if count > 0 {
        node.expect::<T>(port, count);
    }
}

/// Puts the elements of `area` into a port directly from the arrays.
fn store<T: Pod, A, S: Arrays<T, A> + ?Sized>(
    node: &mut Node,
    arrays: &mut S,
    area: &A,
    to: usize,
    port: usize,
) {
    let mut offset = 0;
    let pieces = arrays.pieces(area);
    for array in 0..arrays.arrays() {
        for piece in &pieces {
            match node.is_skeleton() {
                true => node.put_block(to, port, offset, &node.block::<T>(piece.len())),
                false => node.put(to, port, offset, &arrays.memory(array)[piece.clone()]),
            }
            offset += piece.len();
        }
    }
}

/// Copies `count` elements of these rows between a block and the arrays; simulated machines charge
/// for it.
pub(crate) fn moving<T>(node: &mut Node, [columns, rows]: [usize; 2], count: usize, copy: impl FnOnce()) {
    let words = count * size_of::<T>().div_ceil(WORD);
    if columns < rows {
        // The stride makes each element one cache line.
        let stride = 2 * (count / rows.max(1)) + 1;
        node.compute(Work::Kernel("Pack", &[words as f64, stride.max(9) as f64]), copy);
    } else {
        node.compute(Work::Kernel("stencil.Copy", &[(words * WORD) as f64]), copy);
    }
}

/// Kernels were measured with elements of 8 bytes.
const WORD: usize = 8;
