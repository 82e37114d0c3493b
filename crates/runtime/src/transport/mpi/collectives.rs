//! Collectives as messages between nodes, whose *tags* compare the nodes' calls.
//!
//! A node keeps a hash of all collectives that it has called: their operations, roots and lengths, in
//! their order. A collective's messages have its first bits as their tag, so that a node whose calls
//! differ receives none of them. It then waits, and [names the first call that
//! differs](World::unlike). So messages hold nothing but values, and no node waits for another one
//! only to compare its call. In one of [`COMPARED_EVERY`] collectives, or in all if all calls are
//! checked, the nodes first exchange the whole hashes. Until then a node may run ahead of another.
//!
//! The operations:
//!
//! - *Gather*: in round k a node sends the 2ᵏ *frames* that it has gathered to the node 2ᵏ after it;
//!   after ⌈log₂ P⌉ rounds each node has all frames (Bruck et al., "Efficient Algorithms for
//!   All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997). With
//!   frames of length zero this is the dissemination barrier (Hensgen, Finkel and Manber, 1988). Each
//!   node combines the frames itself, in rank order, so that floating-point results are equal to the
//!   last bit.
//! - *Fold*: reductions of integers, whose order changes nothing, combine on the way, in as many
//!   rounds (the same authors, "global combine").
//! - *Chain*: a scan passes from each node to the next.
//! - *Tree*: a broadcast, along a binomial tree.
//! - *Shares*: longer vectors are cut into shares, one a node: each node receives its share of all
//!   vectors, combines them, and sends each node its result. 2n(P − 1)/P bytes leave and reach a node,
//!   which is optimal for a reduce; a broadcast is similar (van de Geijn). If vectors are short enough
//!   for it to be cheaper, all vectors are sent to all nodes.
//!
//! One state machine implements all this, driven by tests: for a whole collective until it is
//! complete, for a split-phase one step by step.

use super::deadlock::Needs;
use super::ffi::World;
use super::ffi::requests::{Buffers, EAGER, Memory, Requests};
use crate::number::{self, NumberType, Op};
use crate::transport::prefix;
use crate::transport::{Boundary, Failure, Operation, Piggyback, Scan};
use bytemuck::{cast_slice, cast_slice_mut};
use std::ops::Range;
use std::time::Instant;

/// Bytes of data of a frame.
pub(super) const SHORT: usize = 256;

/// The most bytes that a node receives if all vectors are sent to all nodes. Beyond this, copying
/// and combining would cost more than the second exchange of shares (Open MPI 4.1, 2 nodes).
const SMALL: usize = 16 << 10;

/// The most bytes of a vector that is sent whole in ⌈log₂ P⌉ rounds, or from node to node: Open MPI
/// 4.1 on 2 to 8 nodes, where this is no slower than what the library does.
pub(super) fn whole_below(size: usize) -> usize {
    (512 << 10) / size.max(8)
}

/// The most nodes of a chain: in more rounds than a tree has, but fewer messages.
const CHAIN: usize = 16;

/// Of so many collectives one compares the hashes of all nodes' calls.
pub(super) const COMPARED_EVERY: u64 = 256;

/// Words of a frame that compares calls: the hash, and the word that travels.
const COMPARED: usize = 2;

/// The state of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No collective is in flight.
    Idle,
    /// Hashes of this round are in flight.
    Comparing(usize),
    /// Messages of this step of the form are in flight.
    Step(usize),
    /// Shares are in flight to the nodes that combine them.
    Apart,
    /// Results are in flight.
    Back,
    /// Complete.
    Done,
}

/// How an operation is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Not at all: the nodes' calls are compared.
    Nothing,
    /// By frames of so many words.
    Gather(usize),
    Fold(NumberType, Op),
    Chain(Scan),
    /// From this root.
    Tree(usize),
    Shares,
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
    hash: u64,
    /// What travels with the hashes.
    pub(super) piggyback: Piggyback,
}

impl Collectives {
    /// `number` identifies one of the collectives that may be in flight at once.
    pub(super) fn new(world: &'static World, number: usize) -> Self {
        let frame = COMPARED + 1 + SHORT / 8;
        Self {
            world,
            requests: Requests::new(world, number, frame * world.size()),
            stage: Stage::Idle,
            operation: Operation::Barrier,
            whole: None,
            form: Form::Nothing,
            hash: 0,
            piggyback: Piggyback::default(),
        }
    }

    /// Starts to combine or move the loaded values. `hash` is that of all calls; it is first compared
    /// if the collective `compares`.
    pub(super) fn start(&mut self, operation: Operation, hash: u64, compares: bool) {
        self.operation = operation;
        self.form = self.form_of(operation, self.requests.length());
        if let Form::Gather(each @ 1..) = self.form {
            let from = self.frames();
            let Buffers { frames, values, .. } = self.requests.buffers();
            let head = usize::from(is_segmented(operation));
            if let Operation::Scan(Scan { boundary: Some(boundary), .. }) = operation {
                frames[from] = boundary as u64;
            }
            let short = if values.len() <= SHORT { &*values } else { &[] };
            cast_slice_mut(&mut frames[from + head..from + each])[..short.len()].copy_from_slice(short);
        }
        self.begin(hash, compares);
    }

    /// Starts to gather `data`, equally long on all nodes and at most [`SHORT`] bytes.
    pub(super) fn gather(&mut self, data: &[u8], hash: u64, compares: bool) {
        let (from, each) = (self.frames(), data.len().div_ceil(8));
        let frames = &mut self.requests.buffers().frames[from..from + each];
        cast_slice_mut(frames)[..data.len()].copy_from_slice(data);
        (self.operation, self.form) = (Operation::Barrier, Form::Gather(each));
        self.begin(hash, compares);
    }

    /// Starts to compare the nodes' calls, and to do nothing else.
    pub(super) fn meet(&mut self, hash: u64) {
        (self.operation, self.form) = (Operation::Barrier, Form::Nothing);
        self.begin(hash, true);
    }

    fn begin(&mut self, hash: u64, compares: bool) {
        self.hash = hash;
        if !compares && self.piggyback.word.is_none() {
            return self.step(0);
        }
        let frames = self.requests.buffers().frames;
        (frames[0], frames[1]) = (hash, self.piggyback.word.unwrap_or(0));
        self.stage = Stage::Comparing(0);
        self.requests.begin(None);
        self.round(0, COMPARED, 0);
    }

    /// The place of frames behind those that compare calls.
    fn frames(&self) -> usize {
        COMPARED * self.world.size()
    }

    fn form_of(&self, operation: Operation, bytes: usize) -> Form {
        let size = self.world.size();
        let whole = bytes <= whole_below(size) && (self.whole.is_none() || bytes <= SHORT);
        let words = bytes.div_ceil(8);
        match operation {
            _ if bytes == 0 => Form::Gather(0),
            Operation::Barrier => Form::Gather(0),
            Operation::Broadcast(root) if whole => Form::Tree(root),
            Operation::Reduce(kind, op) if whole && !kind.is_float() => Form::Fold(kind, op),
            Operation::Scan(scan) if size == 2 || whole && size <= CHAIN && scan.boundary.is_none() => {
                Form::Chain(scan)
            }
            Operation::Scan(Scan { boundary: Some(_), .. }) => {
                Form::Gather(1 + if bytes <= SHORT { words } else { 0 })
            }
            Operation::Reduce(..) | Operation::Scan(_) if bytes <= SHORT => Form::Gather(words),
            _ => Form::Shares,
        }
    }

    /// The nodes whose messages are needed to complete the collective in flight.
    pub(super) fn needs(&self) -> Needs {
        match self.form {
            // Those before it do not wait until it receives.
            Form::Chain(scan) if self.requests.length() <= EAGER => {
                if scan.backward {
                    Needs::After
                } else {
                    Needs::Before
                }
            }
            // Of those on the way from the root it may need any.
            _ => Needs::All,
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

    /// The first `bytes` bytes of each node's frame, in rank order.
    pub(super) fn gathered(&mut self, bytes: usize) -> impl Iterator<Item = &[u8]> {
        let size = self.world.size();
        let frames = self.frames_of(bytes.div_ceil(8));
        (0..size).map(move |node| frames.data(node, 0, bytes))
    }

    /// Advances the stage, all of whose messages have arrived.
    fn advance(&mut self) -> Result<(), Failure> {
        match self.stage {
            Stage::Comparing(round) => {
                self.stage = Stage::Comparing(round + 1);
                if !self.round(0, COMPARED, round + 1) {
                    self.compare()?;
                    self.step(0);
                }
            }
            Stage::Step(step) => self.step(step + 1),
            Stage::Apart => self.send_back(),
            Stage::Back => {
                self.stage = Stage::Done;
                if let Operation::Scan(scan) = self.operation
                    && self.world.rank() == self.ends(scan).0
                {
                    number::fill_identity(scan.kind, scan.op, self.requests.buffers().values);
                }
            }
            Stage::Idle | Stage::Done => self.stage = Stage::Done,
        }
        Ok(())
    }

    /// Compares the hashes of all nodes, and takes what has travelled with them.
    fn compare(&mut self) -> Result<(), Failure> {
        let frames = self.requests.buffers().frames;
        let mut all = frames[..COMPARED * self.world.size()].chunks(COMPARED);
        if all.any(|frame| frame[0] != self.hash) {
            let none = || {
                let message = "the nodes called different collectives, before the last ones".to_owned();
                Failure { rank: self.world.rank(), message }
            };
            return Err(self.world.unlike().unwrap_or_else(none));
        }
        if self.piggyback.word.take().is_some() {
            let (rank, size) = (self.world.rank(), self.world.size());
            let frames = Frames { frames: self.requests.buffers().frames, rank, size, each: COMPARED };
            self.piggyback.words.clear();
            self.piggyback.words.extend((0..size).map(|node| frames.of(node)[1]));
            self.piggyback.met = Some(Instant::now());
        }
        Ok(())
    }

    /// Sends and receives the frames of a round, of so many words from a place on; false if there is
    /// no such round.
    fn round(&mut self, from: usize, each: usize, round: usize) -> bool {
        let (rank, size) = (self.world.rank(), self.world.size());
        let distance = 1 << round;
        if distance >= size {
            return false;
        }
        let count = distance.min(size - distance);
        let bytes = |first: usize| 8 * (from + first * each)..8 * (from + (first + count) * each);
        self.requests.receive(Memory::Frames, bytes(distance), (rank + size - distance) % size);
        self.requests.send(Memory::Frames, bytes(0), (rank + distance) % size);
        true
    }

    /// Begins this step of the operation, after all messages of the one before it have arrived.
    fn step(&mut self, step: usize) {
        self.stage = Stage::Step(step);
        if step == 0 {
            self.requests.begin(Some(self.hash));
        }
        let goes_on = match self.form {
            Form::Nothing => false,
            Form::Gather(each) => self.round(self.frames(), each, step),
            Form::Fold(kind, op) => self.fold(kind, op, step),
            Form::Chain(scan) => self.pass_on(scan, step),
            Form::Tree(root) => self.pass_down(root, step),
            Form::Shares => false,
        };
        if goes_on {
            return;
        }
        self.stage = Stage::Done;
        match self.form {
            Form::Gather(each) => self.combine(each),
            Form::Shares => self.send_apart(),
            _ => {}
        }
    }

    /// A round of a reduction. A node holds the sum of its values and of those of the c nodes before
    /// it, and the sum of the latter. The nodes c or c + 1 before it hold the sums of as many before
    /// those: which of them, the next binary digit of P - 1 tells.
    fn fold(&mut self, kind: NumberType, op: Op, round: usize) -> bool {
        let (rank, size, length) = (self.world.rank(), self.world.size(), self.requests.length());
        let digits = (usize::BITS - (size - 1).leading_zeros()) as usize;
        let room = length.next_multiple_of(8);
        if round > 0 {
            let Buffers { values, scratch, .. } = self.requests.buffers();
            let (before, came) = cast_slice_mut::<u64, u8>(scratch).split_at_mut(room);
            let (before, came) = (&mut before[..length], &came[..length]);
            number::fold(kind, op, values, came);
            match round {
                // Never sent.
                _ if size.is_power_of_two() => {}
                1 => before.copy_from_slice(came),
                _ => number::fold(kind, op, before, came),
            }
        }
        if round == digits {
            return false;
        }
        let digit = |round: usize| (size - 1) >> (digits - 1 - round);
        let (count, odd) = (digit(round) >> 1, digit(round) & 1);
        let distance = count + odd;
        self.requests.reserve(2 * room);
        self.requests.receive(Memory::Scratch, room..room + length, (rank + size - distance) % size);
        let sent = if odd == 1 { Memory::Values } else { Memory::Scratch };
        self.requests.send(sent, 0..length, (rank + distance) % size);
        true
    }

    /// A scan from node to node: a node receives the result of those before it, and sends on what it
    /// gives with its own values.
    fn pass_on(&mut self, scan: Scan, step: usize) -> bool {
        let (rank, size, length) = (self.world.rank(), self.world.size(), self.requests.length());
        let (first, last) = self.ends(scan);
        let (before, after) =
            if scan.backward { (rank + 1, rank.wrapping_sub(1)) } else { (rank.wrapping_sub(1), rank + 1) };
        let room = length.next_multiple_of(8);
        let whole = 0..length;
        match step {
            0 if rank == last && size > 1 => self.requests.receive(Memory::Values, whole, before),
            0 if rank != first => {
                self.requests.reserve(2 * room);
                self.requests.receive(Memory::Scratch, whole, before);
            }
            1 if rank == first && size > 1 => self.requests.send(Memory::Values, whole, after),
            1 if rank != last => {
                let Buffers { values, scratch, .. } = self.requests.buffers();
                let (came, on) = cast_slice_mut::<u64, u8>(scratch).split_at_mut(room);
                on[..length].copy_from_slice(&came[..length]);
                number::fold(scan.kind, scan.op, &mut on[..length], values);
                values.copy_from_slice(&came[..length]);
                self.requests.send(Memory::Scratch, room..room + length, after);
            }
            0 | 1 => {}
            _ => {
                if rank == first || scan.boundary == Some(Boundary::Element) {
                    number::fill_identity(scan.kind, scan.op, self.requests.buffers().values);
                }
                return false;
            }
        }
        true
    }

    /// A broadcast along a binomial tree: a node first receives, then sends.
    fn pass_down(&mut self, root: usize, step: usize) -> bool {
        let (rank, size, whole) = (self.world.rank(), self.world.size(), 0..self.requests.length());
        let place = (rank + size - root) % size;
        // A node sends to those whose place differs from its own in one bit below its lowest.
        let lowest = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };
        let node = |place: usize| (root + place) % size;
        if step == 0 && place > 0 {
            self.requests.receive(Memory::Values, whole, node(place - lowest));
        } else if step == 1 {
            let steps = (0..lowest.ilog2()).rev().map(|bit| 1 << bit);
            for step in steps.filter(|step| place + step < size) {
                self.requests.send(Memory::Values, whole.clone(), node(place + step));
            }
        }
        step < 2
    }

    fn frames_of(&mut self, each: usize) -> Frames<'_> {
        let (rank, size, from) = (self.world.rank(), self.world.size(), self.frames());
        Frames { frames: &self.requests.buffers().frames[from..], rank, size, each }
    }

    /// Called when all frames have arrived: combines their values, or sends shares.
    fn combine(&mut self, each: usize) {
        let (rank, size, from) = (self.world.rank(), self.world.size(), self.frames());
        let Buffers { frames, values, .. } = self.requests.buffers();
        let frames = Frames { frames: &frames[from..], rank, size, each };
        let length = values.len();
        match self.operation {
            _ if length == 0 => {}
            Operation::Barrier | Operation::Broadcast(_) => {}
            _ if length > SHORT => self.send_apart(),
            Operation::Reduce(kind, op) => {
                values.copy_from_slice(frames.data(0, 0, length));
                (1..size).for_each(|node| number::fold(kind, op, values, frames.data(node, 0, length)));
            }
            Operation::Scan(scan) => {
                let (boundary, head) =
                    (|node| frames.boundary(scan, node), usize::from(scan.boundary.is_some()));
                prefix::of_one(scan, rank, size, boundary, |node| frames.data(node, head, length), values);
            }
        }
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
                self.requests.receive(Memory::Scratch, part, node);
            }
        }
        for node in self.others() {
            let share = self.share(node);
            if !share.is_empty() && goes(rank, node) {
                self.requests.send(Memory::Values, share, node);
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
            self.requests.receive(Memory::Values, whole, root);
        }
    }

    /// The first half of a broadcast: the root sends a share to each node; the root has no second
    /// half.
    fn scatter(&mut self, root: usize) {
        let rank = self.world.rank();
        if rank != root {
            let mine = self.share(rank);
            if !mine.is_empty() {
                self.requests.receive(Memory::Values, mine, root);
            }
            return;
        }
        for node in self.others() {
            let share = self.share(node);
            if !share.is_empty() {
                self.requests.send(Memory::Values, share, node);
            }
        }
        self.spread(self.share(rank), Memory::Values, None);
        self.stage = Stage::Back;
    }

    /// Sends a result to all other nodes except one.
    fn spread(&mut self, result: Range<usize>, memory: Memory, spared: Option<usize>) {
        for node in self.others().filter(|node| spared != Some(*node)) {
            if !result.is_empty() {
                self.requests.send(memory, result.clone(), node);
            }
        }
    }

    /// Receives the results from all nodes.
    fn collect(&mut self) {
        for node in self.others() {
            let share = self.share(node);
            if !share.is_empty() {
                self.requests.receive(Memory::Values, share, node);
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
        let (rank, size, from) = (self.world.rank(), self.world.size(), self.frames());
        let first = self.ends(scan).0;
        let (part, stride) = (self.part(rank), self.part(1).start);
        let Buffers { frames, values, scratch } = self.requests.buffers();
        let frames = Frames { frames: &frames[from..], rank, size, each: 1 };
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
                self.requests.send(Memory::Scratch, part, node);
            }
        }
    }
}

fn is_segmented(operation: Operation) -> bool {
    matches!(operation, Operation::Scan(Scan { boundary: Some(_), .. }))
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

/// All nodes' frames: this node's own first, then those of the nodes before it.
#[derive(Clone, Copy)]
struct Frames<'a> {
    frames: &'a [u64],
    rank: usize,
    size: usize,
    each: usize,
}

impl<'a> Frames<'a> {
    fn of(&self, node: usize) -> &'a [u64] {
        let place = (self.rank + self.size - node) % self.size;
        &self.frames[place * self.each..(place + 1) * self.each]
    }

    /// The first `bytes` bytes of a node's frame after so many words.
    fn data(&self, node: usize, after: usize, bytes: usize) -> &'a [u8] {
        &cast_slice(&self.of(node)[after..])[..bytes]
    }

    /// A node's boundary in a scan, the first word of its frame if there are segments.
    fn boundary(&self, scan: Scan, node: usize) -> Boundary {
        const ALL: [Boundary; 3] = [Boundary::None, Boundary::Element, Boundary::Array];
        scan.boundary.map_or(Boundary::None, |_| ALL[self.of(node)[0].min(2) as usize])
    }
}
