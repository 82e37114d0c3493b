//! Collectives: nodes exchange their calls and short values in *frames*, and long vectors in
//! *shares*.
//!
//! Frames are exchanged as in the all-gather of Bruck et al. ("Efficient Algorithms for All-to-All
//! Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997). In round k a node
//! sends the 2ᵏ frames that it has gathered to the node 2ᵏ after it; after ⌈log₂ P⌉ rounds each
//! node has all frames. With frames of length zero this is the dissemination barrier (Hensgen,
//! Finkel and Manber, 1988). Each node combines the frames itself, in rank order, so that
//! floating-point results are equal to the last bit.
//!
//! Values too long for a frame are cut into shares, one a node: each node receives its share of all
//! vectors, combines them, and sends each node its result. 2n(P − 1)/P bytes leave and reach a
//! node, which is optimal for a reduce; a broadcast is similar (van de Geijn). If vectors are short
//! enough for it to be cheaper, all vectors are sent to all nodes. All frames have arrived before
//! that, so all nodes agree on the length.
//!
//! A scan in one segment needs only the values before a node. Unless all calls are checked, frames
//! that hold its values are sent no further than the last node, and no node waits for those after
//! it.
//!
//! Unless all calls are checked, a short broadcast goes one way, too, from its root along a binomial
//! tree, with the root's call before it, which each node compares with its own. One in
//! [`COMPARED_EVERY`] exchanges all calls, so that a root runs no further ahead.
//!
//! One state machine implements all this, driven by tests: for a whole collective until it is
//! complete, for a split-phase one step by step.

use super::deadlock::Needs;
use super::ffi::World;
use super::ffi::requests::{Buffers, Memory, Requests};
use crate::number::{self, NumberType, Op};
use crate::transport::header::{HEADER, Header};
use crate::transport::prefix;
use crate::transport::{Boundary, Call, Failure, Operation, Piggyback, Scan};
use bytemuck::{cast_slice, cast_slice_mut};
use std::ops::Range;
use std::time::Instant;

/// Number of words of a frame.
const FRAME: usize = 32;

/// Bytes of data that fit into a frame.
pub(super) const SHORT: usize = FRAME * 8 - HEADER;

/// The most bytes that a node receives if all vectors are sent to all nodes. Beyond this, copying
/// and combining would cost more than the second exchange of shares (Open MPI 4.1, 2 nodes).
const SMALL: usize = 16 << 10;

/// The tags of shares; rounds of frames have lower ones. Messages of another [form](Form) are
/// [`FORM`] apart.
const APART: usize = 70;
const BACK: usize = 71;
const FORM: usize = 100;

/// The most bytes of a message that all libraries send without waiting for its receiver.
const EAGER: usize = 4096;

/// Of so many collectives one compares the calls of all nodes, also if it is a short broadcast.
pub(super) const COMPARED_EVERY: u64 = 64;

/// The place in a frame of the turn of a broadcast that goes one way: without it, what a wrong call
/// left behind could be taken for the next one's.
const TURN: usize = HEADER / 8;

/// The state of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No collective is in flight.
    Idle,
    /// Frames of this round are in flight.
    Frames(usize),
    /// Shares are in flight to the nodes that combine them.
    Apart,
    /// Results are in flight.
    Back,
    /// Complete.
    Done,
}

/// What the frames of a collective look like. Those without a header have tags of their own for each
/// form, so that none is taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Number of words of one frame: none, one for a number without a header, or [`FRAME`].
    each: usize,
    direction: Direction,
}

impl Form {
    /// Of collectives that compare their calls.
    pub(super) const FRAMED: Self = Self { each: FRAME, direction: Direction::Round };

    fn number(self) -> usize {
        match self.direction {
            Direction::Out => 7,
            _ if self.each == FRAME => 0,
            direction => 1 + self.each + 2 * direction as usize,
        }
    }

    /// Whether a node may go on while others have not entered it: the root of a short broadcast.
    pub(super) fn goes_ahead(self) -> bool {
        self.direction == Direction::Out
    }

    /// The [shape](super::deadlock::Position::shape) of a collective of this form; `started` is
    /// true for a split-phase one.
    pub(super) fn shape(self, started: bool) -> u64 {
        1 << (2 * self.number() + usize::from(started))
    }
}

/// A state machine that runs one collective at a time.
pub(super) struct Collectives {
    world: &'static World,
    pub(super) requests: Requests,
    stage: Stage,
    operation: Operation,
    /// Whether long vectors are sent whole; `None` if that depends on their length.
    pub(super) whole: Option<bool>,
    form: Form,
    /// What travels in the frames of long vectors, whose values do not.
    pub(super) piggyback: Piggyback,
}

/// The direction in which frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// Around the ring: every node gets all frames.
    Round,
    /// From the first node to the last, and no further.
    Up,
    /// From the last node to the first.
    Down,
    /// From the root of a broadcast to all others.
    Out,
}

impl Collectives {
    /// `number` identifies one of the collectives that may be in flight at once.
    pub(super) fn new(world: &'static World, number: i32) -> Self {
        let requests = Requests::new(world, number, FRAME * world.size());
        Self {
            world,
            requests,
            stage: Stage::Idle,
            operation: Operation::Barrier,
            whole: None,
            form: Form::FRAMED,
            piggyback: Piggyback::default(),
        }
    }

    /// Starts to combine the loaded values by frames of [`Collectives::form`].
    pub(super) fn start(&mut self, header: &Header, operation: Operation, form: Form) {
        (self.operation, self.form) = (operation, form);
        let rides = self.requests.length() > SHORT && self.piggyback.word.is_some();
        let Buffers { frames, values, .. } = self.requests.buffers();
        if form.each < FRAME {
            cast_slice_mut::<u64, u8>(frames)[..values.len()].copy_from_slice(values);
        } else {
            let boundary = match operation {
                Operation::Scan(scan) => scan.boundary.unwrap_or_default(),
                _ => Boundary::None,
            };
            let short = if values.len() <= SHORT { &*values } else { &[] };
            fill(frames, header, boundary, short);
            if form.direction == Direction::Out {
                let words = values.len().div_ceil(8);
                frames.copy_within(TURN..TURN + words, TURN + 1);
                frames[TURN] = self.world.turn();
            }
            if rides {
                self.ride();
            }
        }
        self.round(0);
    }

    /// The form of an operation on `bytes` bytes. Without `checks` the calls of a barrier, and of a
    /// reduce or scan of one number, are not compared, and frames of a short scan or broadcast take
    /// one direction as long as no node waits for their receiver.
    pub(super) fn form(&self, call: &Call, operation: Operation, bytes: usize, checks: bool) -> Form {
        let bare = !checks
            && !is_segmented(operation)
            && match operation {
                Operation::Barrier => true,
                Operation::Reduce(..) | Operation::Scan(_) => call.length == 1,
                Operation::Broadcast(_) => false,
            };
        let each = if bare { bytes.div_ceil(8) } else { FRAME };
        let eager = bytes <= SHORT && 8 * each * self.world.size() <= EAGER;
        let direction = match operation {
            Operation::Scan(scan) if !checks && !is_segmented(operation) && eager => {
                if scan.backward {
                    Direction::Down
                } else {
                    Direction::Up
                }
            }
            Operation::Broadcast(_)
                if !checks
                    && bytes + 8 <= SHORT
                    && self.world.size() > 1
                    && !self.world.turn().is_multiple_of(COMPARED_EVERY) =>
            {
                Direction::Out
            }
            _ => Direction::Round,
        };
        Form { each, direction }
    }

    /// The nodes whose messages are needed to complete the collective in flight.
    pub(super) fn needs(&self) -> Needs {
        match self.form.direction {
            // Of those on the way from the root it may need any.
            Direction::Round | Direction::Out => Needs::All,
            Direction::Up => Needs::Before,
            Direction::Down => Needs::After,
        }
    }

    /// Starts to exchange calls, with `data` of at most [`SHORT`] bytes.
    pub(super) fn meet(&mut self, header: &Header, data: &[u8]) {
        self.operation = Operation::Barrier;
        self.form = Form::FRAMED;
        fill(self.requests.buffers().frames, header, Boundary::None, data);
        if data.is_empty() {
            self.ride();
        }
        self.round(0);
    }

    /// Writes the word that travels, if there is one, where a frame has no data.
    fn ride(&mut self) {
        if let Some(word) = self.piggyback.word {
            self.requests.buffers().frames[HEADER / 8] = word;
        }
    }

    /// True if the collective is complete; first advances it as far as possible.
    #[inline]
    pub(super) fn test(&mut self) -> Result<bool, Failure> {
        while self.stage != Stage::Done {
            if !self.requests.are_complete() {
                return Ok(false);
            }
            self.advance()?;
        }
        Ok(true)
    }

    /// Waits, in MPI, until the collective is complete.
    #[inline]
    pub(super) fn wait(&mut self) -> Result<(), Failure> {
        while self.stage != Stage::Done {
            self.requests.wait();
            self.advance()?;
        }
        Ok(())
    }

    /// Ends a complete collective.
    pub(super) fn end(&mut self) {
        self.stage = Stage::Idle;
    }

    /// The first `bytes` bytes of each node's frame data, in rank order.
    pub(super) fn brought(&mut self, bytes: usize) -> impl Iterator<Item = &[u8]> {
        let (size, each, places) = (self.world.size(), self.form.each, self.places());
        let frames = Frames { frames: self.requests.buffers().frames, places, each };
        (0..size).map(move |node| frames.data(node, bytes))
    }

    /// Advances the stage, all of whose messages have arrived.
    fn advance(&mut self) -> Result<(), Failure> {
        match self.stage {
            Stage::Frames(round) => {
                self.round(round + 1);
                if self.stage == Stage::Done {
                    self.framed()?;
                }
            }
            Stage::Apart => self.send_back(),
            Stage::Back => self.settle(),
            Stage::Idle | Stage::Done => self.stage = Stage::Done,
        }
        Ok(())
    }

    /// Sends and receives the frames of a round, if there is one.
    fn round(&mut self, round: usize) {
        let Form { each, direction } = self.form;
        if let (Direction::Out, Operation::Broadcast(root)) = (direction, self.operation) {
            return self.pass_down(root, round);
        }
        let (rank, size, each, tag) =
            (self.world.rank(), self.world.size(), each * 8, self.form.number() * FORM + round);
        let distance = 1 << round;
        if distance >= size {
            // A job of one node has no rounds: its first test finds no messages in flight.
            self.stage = if round == 0 { Stage::Frames(0) } else { Stage::Done };
            return;
        }
        self.stage = Stage::Frames(round);
        let (before, after) = ((rank + size - distance) % size, (rank + distance) % size);
        // The numbers of frames received from one node and sent to the other: those gathered that
        // the receiver lacks.
        let gathered = |there: usize| there.min(distance);
        let (from, coming) = match direction {
            Direction::Round | Direction::Out => (before, gathered(size - distance)),
            Direction::Up => (before, gathered((rank + 1).saturating_sub(distance))),
            Direction::Down => (after, gathered((size - rank).saturating_sub(distance))),
        };
        let (to, going) = match direction {
            Direction::Round | Direction::Out => (after, gathered(size - distance)),
            Direction::Up => (after, if rank + distance < size { gathered(rank + 1) } else { 0 }),
            Direction::Down => (before, if rank >= distance { gathered(size - rank) } else { 0 }),
        };
        if coming > 0 {
            self.requests.receive(Memory::Frames, distance * each..(distance + coming) * each, from, tag);
        }
        if going > 0 {
            self.requests.send(Memory::Frames, 0..going * each, to, tag);
        }
    }

    /// A short broadcast along a binomial tree: a node first receives, then sends.
    fn pass_down(&mut self, root: usize, round: usize) {
        let (rank, size, tag) = (self.world.rank(), self.world.size(), self.form.number() * FORM);
        let place = (rank + size - root) % size;
        // A node sends to those whose place differs from its own in one bit below its lowest.
        let lowest = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };
        let node = |place: usize| (root + place) % size;
        self.stage = if round < 2 { Stage::Frames(round) } else { Stage::Done };
        if round == 0 && place > 0 {
            self.requests.receive(Memory::Frames, 8 * FRAME..16 * FRAME, node(place - lowest), tag);
        }
        if round == 1 {
            let from = if place == 0 { 0 } else { 8 * FRAME };
            let to = from + 8 * (TURN + 1 + self.requests.length().div_ceil(8));
            let steps = (0..lowest.ilog2()).rev().map(|bit| 1 << bit);
            for step in steps.filter(|step| place + step < size) {
                self.requests.send(Memory::Frames, from..to, node(place + step), tag);
            }
        }
    }

    /// Takes the values of a broadcast that came from another node, one way.
    fn given(&mut self, root: usize) -> Result<(), Failure> {
        let rank = self.world.rank();
        let Buffers { frames, values, .. } = self.requests.buffers();
        let (own, of_root) = frames.split_at(FRAME);
        if !Header::words_agree(own, of_root) || own[TURN] != of_root[TURN] {
            return Err(unlike((rank, own), (root, of_root)));
        }
        values.copy_from_slice(&cast_slice(&of_root[TURN + 1..])[..values.len()]);
        Ok(())
    }

    /// The offsets of nodes' frames.
    fn places(&self) -> Places {
        let (rank, size) = (self.world.rank(), self.world.size());
        let (known, up) = match self.form.direction {
            Direction::Round | Direction::Out => ((0, size), true),
            Direction::Up => ((0, rank + 1), true),
            Direction::Down => ((rank, size), false),
        };
        Places { rank, size, up, known }
    }

    /// Called when all frames have arrived: compares them, and combines their values or sends
    /// shares.
    fn framed(&mut self) -> Result<(), Failure> {
        if let (Direction::Out, Operation::Broadcast(root)) = (self.form.direction, self.operation) {
            return if self.world.rank() == root { Ok(()) } else { self.given(root) };
        }
        let (places, each) = (self.places(), self.form.each);
        let Places { rank, size, .. } = places;
        let Buffers { frames, values, .. } = self.requests.buffers();
        let frames = Frames { frames, places, each };
        if each == FRAME {
            frames.compare()?;
            if self.piggyback.word.take().is_some() {
                self.piggyback.words.clear();
                self.piggyback.words.extend((0..size).map(|node| frames.of(node)[HEADER / 8]));
                self.piggyback.met = Some(Instant::now());
            }
            if values.len() > SHORT {
                self.send_apart();
                return Ok(());
            }
        }
        let length = values.len();
        match self.operation {
            _ if length == 0 => {}
            Operation::Barrier => {}
            Operation::Reduce(kind, op) => {
                values.copy_from_slice(frames.data(0, length));
                (1..size).for_each(|node| number::fold(kind, op, values, frames.data(node, length)));
            }
            Operation::Scan(scan) => {
                let boundary = |node| frames.boundary(scan, node);
                prefix::of_one(scan, rank, size, boundary, |node| frames.data(node, length), values);
            }
            Operation::Broadcast(root) => values.copy_from_slice(frames.data(root, length)),
        }
        Ok(())
    }

    /// The first and the last node of a scan.
    fn ends(&self, scan: Scan) -> (usize, usize) {
        let last = self.world.size() - 1;
        if scan.backward { (last, 0) } else { (0, last) }
    }

    /// True if all vectors are sent to all nodes, each of which combines them.
    fn is_small(&self) -> bool {
        let combines = matches!(self.operation, Operation::Reduce(..) | Operation::Scan(_));
        let small = || self.requests.length() * (self.world.size() - 1) <= SMALL;
        combines && self.whole.unwrap_or_else(small)
    }

    /// The share of node `node`: whole words, the same number except for the last shares.
    fn share(&self, node: usize) -> Range<usize> {
        let (bytes, size) = (self.requests.length(), self.world.size());
        if self.is_small() {
            return 0..bytes;
        }
        let each = bytes.div_ceil(8 * size) * 8;
        (node * each).min(bytes)..((node + 1) * each).min(bytes)
    }

    /// The offset in scratch memory of node `node`'s part of this node's share.
    fn part(&self, node: usize) -> Range<usize> {
        let mine = self.share(self.world.rank()).len();
        let each = mine.next_multiple_of(8);
        node * each..node * each + mine
    }

    /// The other nodes, beginning with the next one, so that nodes do not all begin with the same
    /// one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (rank, size) = (self.world.rank(), self.world.size());
        (rank + 1..size).chain(0..rank)
    }

    /// Sends each node its share of this node's values, and receives this node's share of theirs.
    fn send_apart(&mut self) {
        self.stage = Stage::Apart;
        let rank = self.world.rank();
        let mine = self.share(rank);
        match self.operation {
            Operation::Broadcast(root) if self.whole == Some(true) => return self.send_whole(root),
            Operation::Broadcast(root) => return self.scatter(root),
            Operation::Scan(scan) if self.world.size() == 2 => return self.pass_on(scan),
            _ => {}
        }
        let (operation, small) = (self.operation, self.is_small());
        let last = |scan| self.ends(scan).1;
        let last = if let Operation::Scan(scan) = operation { Some(last(scan)) } else { None };
        // No node needs the values of a scan's last node, nor, if every node combines for itself,
        // those of nodes after it.
        let goes = |from: usize, to: usize| match operation {
            Operation::Scan(scan) if small => (from > to) == scan.backward,
            _ => last != Some(from),
        };
        let room = self.part(self.world.size()).end;
        self.requests.reserve(room);
        let part = self.part(rank);
        let Buffers { values, scratch, .. } = self.requests.buffers();
        cast_slice_mut::<u64, u8>(scratch)[part].copy_from_slice(&values[mine.clone()]);
        for node in self.others() {
            if !mine.is_empty() && goes(node, rank) {
                let part = self.part(node);
                self.requests.receive(Memory::Scratch, part, node, APART);
            }
        }
        for node in self.others() {
            let share = self.share(node);
            if !share.is_empty() && goes(rank, node) {
                self.requests.send(Memory::Values, share, node, APART);
            }
        }
    }

    /// A scan of two nodes: the values of one are the result of the other, without combining.
    fn pass_on(&mut self, scan: Scan) {
        self.stage = Stage::Back;
        let (first, last) = self.ends(scan);
        let whole = 0..self.requests.length();
        if self.world.rank() == first {
            self.requests.send(Memory::Values, whole, last, BACK);
        } else {
            self.requests.receive(Memory::Values, whole, first, BACK);
        }
    }

    /// Called when all results have arrived.
    fn settle(&mut self) {
        self.stage = Stage::Done;
        if let Operation::Scan(scan) = self.operation {
            let begins = scan.boundary == Some(Boundary::Element);
            if begins || self.world.rank() == self.ends(scan).0 {
                number::fill_identity(scan.kind, scan.op, self.requests.buffers().values);
            }
        }
    }

    /// A broadcast by one message from the root to each node.
    fn send_whole(&mut self, root: usize) {
        self.stage = Stage::Back;
        let whole = 0..self.requests.length();
        if self.world.rank() == root {
            self.spread(whole, Memory::Values, None);
        } else {
            self.requests.receive(Memory::Values, whole, root, BACK);
        }
    }

    /// The first half of a broadcast: the root sends a share to each node; the root has no second
    /// half.
    fn scatter(&mut self, root: usize) {
        let rank = self.world.rank();
        if rank != root {
            let mine = self.share(rank);
            if !mine.is_empty() {
                self.requests.receive(Memory::Values, mine, root, APART);
            }
            return;
        }
        for node in self.others() {
            let share = self.share(node);
            if !share.is_empty() {
                self.requests.send(Memory::Values, share, node, APART);
            }
        }
        self.spread(self.share(rank), Memory::Values, None);
        self.stage = Stage::Back;
    }

    /// Sends a result to all other nodes except one.
    fn spread(&mut self, result: Range<usize>, memory: Memory, spared: Option<usize>) {
        for node in self.others().filter(|node| spared != Some(*node)) {
            if !result.is_empty() {
                self.requests.send(memory, result.clone(), node, BACK);
            }
        }
    }

    /// Receives the results from all nodes.
    fn collect(&mut self) {
        for node in self.others() {
            let share = self.share(node);
            if !share.is_empty() {
                self.requests.receive(Memory::Values, share, node, BACK);
            }
        }
    }

    /// Combines this node's share and sends the results.
    fn send_back(&mut self) {
        self.stage = Stage::Back;
        let (rank, size) = (self.world.rank(), self.world.size());
        let mine = self.share(rank);
        match self.operation {
            Operation::Barrier => {}
            Operation::Broadcast(root) => {
                self.collect();
                self.spread(mine, Memory::Values, Some(root));
            }
            Operation::Reduce(kind, op) => {
                let each = self.part(1).start;
                let length = mine.len();
                let Buffers { values, scratch, .. } = self.requests.buffers();
                let result = reduce(kind, op, cast_slice_mut(scratch), each, length, size);
                values[mine].copy_from_slice(result);
                if !self.is_small() {
                    self.collect();
                    self.spread(0..length, Memory::Scratch, None);
                }
            }
            Operation::Scan(scan) => self.send_prefixes(scan, &mine),
        }
    }

    /// Sends each node its own result of a scan.
    fn send_prefixes(&mut self, scan: Scan, mine: &Range<usize>) {
        let (places, each) = (self.places(), self.form.each);
        let Places { rank, size, .. } = places;
        let first = self.ends(scan).0;
        let (part, stride) = (self.part(rank), self.part(1).start);
        let Buffers { frames, values, scratch } = self.requests.buffers();
        let frames = Frames { frames, places, each };
        let scratch = cast_slice_mut::<u64, u8>(scratch);
        if !mine.is_empty() {
            prefix::of_all(scan, size, |node| frames.boundary(scan, node), scratch, stride, mine.len());
        }
        values[mine.clone()].copy_from_slice(&scratch[part]);
        if self.is_small() {
            return;
        }
        if rank != first {
            self.collect();
        }
        for node in self.others() {
            if !mine.is_empty() && node != first {
                let part = self.part(node);
                self.requests.send(Memory::Scratch, part, node, BACK);
            }
        }
    }
}

fn is_segmented(operation: Operation) -> bool {
    matches!(operation, Operation::Scan(Scan { boundary: Some(_), .. }))
}

/// Writes a frame.
fn fill(frames: &mut [u64], header: &Header, boundary: Boundary, data: &[u8]) {
    let (head, rest) = frames.split_at_mut(HEADER / 8);
    header.put(boundary, head);
    cast_slice_mut::<u64, u8>(rest)[..data.len()].copy_from_slice(data);
}

/// Combines `many` parts of `length` bytes, at intervals of `each`, into the first.
fn reduce(kind: NumberType, op: Op, parts: &mut [u8], each: usize, length: usize, many: usize) -> &[u8] {
    let (first, others) = parts.split_at_mut(each.min(parts.len()));
    let first = &mut first[..length];
    if length > 0 {
        for other in others.chunks(each).take(many - 1) {
            number::fold(kind, op, first, &other[..length]);
        }
    }
    first
}

/// The failure of a node whose call is not that of another one.
fn unlike((rank, own): (usize, &[u64]), (node, of_it): (usize, &[u64])) -> Failure {
    let when = if Header::words_agree(own, of_it) { " at another time" } else { "" };
    let (own, of_it) = (Header::from_words(own), Header::from_words(of_it));
    Failure { rank, message: format!("{own}, but node {node} called {of_it}{when}") }
}

/// The frames that a node has, in order: its own first, then those of the nodes before it if frames
/// are sent up, otherwise of the nodes after it.
#[derive(Clone, Copy)]
struct Places {
    rank: usize,
    size: usize,
    up: bool,
    /// The first known node, and the one after the last.
    known: (usize, usize),
}

/// All nodes' frames.
#[derive(Clone, Copy)]
struct Frames<'a> {
    frames: &'a [u64],
    places: Places,
    each: usize,
}

impl<'a> Frames<'a> {
    fn of(&self, node: usize) -> &'a [u64] {
        let Places { rank, size, up, .. } = self.places;
        let steps = if up { rank + size - node } else { node + size - rank };
        let place = steps % size;
        &self.frames[place * self.each..(place + 1) * self.each]
    }

    /// The first `bytes` bytes of a node's data.
    fn data(&self, node: usize, bytes: usize) -> &'a [u8] {
        let frame = self.of(node);
        let head = if self.each == FRAME { HEADER / 8 } else { 0 };
        &cast_slice(&frame[head..])[..bytes]
    }

    /// A node's boundary in a scan; irrelevant in a scan of one segment.
    fn boundary(&self, scan: Scan, node: usize) -> Boundary {
        if scan.boundary.is_some() { Header::boundary(self.of(node)) } else { Boundary::None }
    }

    /// The failure if not all known nodes made the same call.
    fn compare(&self) -> Result<(), Failure> {
        let (first, end) = self.places.known;
        let agrees = |node: &usize| Header::words_agree(self.of(first), self.of(*node));
        match (first..end).find(|node| !agrees(node)) {
            None => Ok(()),
            Some(rank) => Err(unlike((rank, self.of(rank)), (first, self.of(first)))),
        }
    }
}
