//! The space: a node's view of all heaps.

use crate::array::Array;
use crate::checker::Marks;
use crate::error::GlobalError;
use crate::heap::Heap;
use crate::pointer::{BEYOND, Global};
use crate::segment::{Segment, WORD, word_of};
use crate::sync::{AtomicU64, Ordering, fence};
use crate::wire::{Book, MOST_UNDER_WAY, Served, Wire};
use bytemuck::Pod;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::Arc;
use strata_runtime::Node;

/// Blocking accesses between two polls: a program may wait for a value by reading it repeatedly.
const TURNS: u32 = 64;
/// Blocking accesses between two times that a node lets others have its core, if there are more
/// nodes than cores: what it waits for may be another node's to write.
const YIELDS: u32 = 1 << 12;

/// How a node accesses the heaps of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By loads and stores, as all nodes are threads of one process.
    Shared,
    /// By messages, which the owner of the memory handles when it polls or waits.
    Messages,
}

/// The heaps of all nodes, as one node sees them.
///
/// It is also the [`Node`] itself: collectives, messages and the rest are methods of the space.
pub struct Space<'n> {
    node: &'n mut Node,
    rank: usize,
    nodes: usize,
    /// The bytes of each node's heap.
    bytes: u64,
    own: Arc<Segment>,
    /// All heaps, by node, where memory is shared.
    segments: Vec<Arc<Segment>>,
    heap: Heap,
    pub(crate) served: Rc<Served>,
    pub(crate) wire: Wire,
    /// The phase of blocking accesses.
    blocking: usize,
    /// Phases that a panic ended, with the values that had not come.
    pub(crate) abandoned: Vec<(usize, Vec<usize>)>,
    /// Bytes stored directly in each node's heap; empty where memory is not shared.
    totals: Vec<u64>,
    /// Bytes that this node has stored anywhere, less those of stores known to be complete.
    sent: u64,
    /// Bytes stored here that have been waited for.
    consumed: u64,
    turns: u32,
    yields: bool,
}

impl Deref for Space<'_> {
    type Target = Node;
    fn deref(&self) -> &Node {
        self.node
    }
}

impl DerefMut for Space<'_> {
    fn deref_mut(&mut self) -> &mut Node {
        self.node
    }
}

impl<'n> Space<'n> {
    /// Opens a space in which every node has a heap of `bytes` bytes, initially zero. Nodes that
    /// are threads of one process share their memory; others exchange messages.
    ///
    /// # Settings
    /// Of node 0: `STRATA_GLOBAL=messages` takes messages where memory could be shared,
    /// `STRATA_CHECK=1` is [`open_checked`](Self::open_checked).
    ///
    /// # Participation
    /// Collective, with equal `bytes`; otherwise the job ends. The memory is kept until the node's
    /// program ends, also after the space is dropped: others may still access it.
    ///
    /// # Errors
    /// [`GlobalError::TooLong`] from 16 TiB on; [`GlobalError::Setting`].
    #[track_caller]
    pub fn open(node: &'n mut Node, bytes: usize) -> Result<Self, GlobalError> {
        if node.setting("STRATA_CHECK") == Some("1") {
            return Self::open_checked(node, bytes);
        }
        let way = match node.setting("STRATA_GLOBAL") {
            None => None,
            Some("shared") => Some(Way::Shared),
            Some("messages") => Some(Way::Messages),
            Some(other) => return Err(GlobalError::Setting(other.to_owned())),
        };
        Self::open_as(node, bytes, way, false)
    }

    /// As [`open`](Self::open), by messages, and with a checker: the job ends where a node accesses
    /// an element of its own heap to which another node has a put under way, or has stored without
    /// being waited for, and where such an array is freed.
    ///
    /// ```
    /// use strata_global::Space;
    /// use strata_runtime::prelude::*;
    ///
    /// let ended = Machine::threads(2)?.run(|node| {
    ///     let mut space = Space::open_checked(node, 64)?;
    ///     let word = space.alloc::<u64>(1)?.at(0);
    ///     if space.rank() == 1 {
    ///         space.store(word, 7);
    ///     }
    ///     space.barrier();                  // no wait for stores
    ///     space.poll();
    ///     Ok(space.read(word))
    /// });
    /// let message = ended.unwrap_err().to_string();
    /// assert!(message.contains("node 1 has stored at offset 0, and no store_sync"), "{message}");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// As [`open`](Self::open).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[track_caller]
    pub fn open_checked(node: &'n mut Node, bytes: usize) -> Result<Self, GlobalError> {
        Self::open_as(node, bytes, Some(Way::Messages), true)
    }

    /// As [`open`](Self::open), in this way if there is one, regardless of the setting.
    ///
    /// # Participation
    /// Collective, with equal arguments; otherwise the job ends.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`GlobalError::NotShared`] for [`Way::Shared`] on nodes that are
    /// not threads of one process.
    #[track_caller]
    pub fn open_by(node: &'n mut Node, bytes: usize, way: Way) -> Result<Self, GlobalError> {
        Self::open_as(node, bytes, Some(way), false)
    }

    #[track_caller]
    fn open_as(
        node: &'n mut Node,
        bytes: usize,
        way: Option<Way>,
        checked: bool,
    ) -> Result<Self, GlobalError> {
        if bytes as u64 >= BEYOND - u64::from(u16::MAX) {
            return Err(GlobalError::TooLong { elements: bytes, size: 1 });
        }
        let (rank, nodes) = (node.rank(), node.size());
        agree(node, "open", &[bytes as u64, way.map_or(2, |way| way as u64), checked.into()]);
        let bytes = bytes.next_multiple_of(64);
        let own = Arc::new(Segment::new(bytes, if way == Some(Way::Messages) { 0 } else { nodes }));
        let shared = if way == Some(Way::Messages) { None } else { node.share(Arc::clone(&own)) };
        if way == Some(Way::Shared) && shared.is_none() {
            return Err(GlobalError::NotShared);
        }
        let segments = shared.unwrap_or_default();
        let way = if segments.is_empty() { Way::Messages } else { Way::Shared };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let book = Rc::new(Book::default());
        let served = Rc::new(Served { segment: Arc::clone(&own), book, marks: checked.then(Marks::default) });
        let wire = Wire::install(node, &served);
        Ok(Self {
            rank,
            nodes,
            bytes: bytes as u64,
            totals: vec![0; segments.len()],
            segments,
            own,
            heap: Heap::new(bytes as u64),
            wire,
            // The first of a new book.
            blocking: served.book.open_phase().unwrap_or_default(),
            served,
            abandoned: Vec::new(),
            sent: 0,
            consumed: 0,
            turns: 0,
            yields: way == Way::Shared && nodes > cores,
            node,
        })
    }

    /// How this node accesses the heaps of others.
    #[must_use]
    pub fn way(&self) -> Way {
        if self.segments.is_empty() { Way::Messages } else { Way::Shared }
    }

    /// Allocates an array of `elements` elements, zero bytes, dealt out to the nodes one by one.
    ///
    /// # Participation
    /// Collective, with equal arguments; otherwise the job ends.
    ///
    /// # Errors
    /// [`GlobalError::Full`] or [`GlobalError::TooLong`], on every node.
    #[track_caller]
    pub fn alloc<T: Pod>(&mut self, elements: usize) -> Result<Array<T>, GlobalError> {
        self.alloc_blocks(elements, 1)
    }

    /// Allocates an array of `blocks` blocks of `block` elements each, dealt out to the nodes block
    /// by block: with as many blocks as nodes, each node has one.
    ///
    /// # Participation
    /// As [`alloc`](Self::alloc).
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    #[track_caller]
    pub fn alloc_blocks<T: Pod>(&mut self, blocks: usize, block: usize) -> Result<Array<T>, GlobalError> {
        let asked = Array::<T>::bytes(blocks, block, self.nodes);
        let base = asked.and_then(|bytes| self.heap.alloc(bytes));
        if let (Some(base), Some(bytes)) = (base, asked) {
            // Before the nodes agree: no node accesses the array before all have come.
            self.own.clear(base as usize, bytes as usize);
        }
        let of = [blocks as u64, block as u64, size_of::<T>() as u64, base.unwrap_or(BEYOND)];
        agree(self.node, "alloc", &of);
        let elements = blocks.div_ceil(self.nodes).saturating_mul(block);
        let asked = asked.ok_or(GlobalError::TooLong { elements, size: size_of::<T>() })?;
        let base = base.ok_or_else(|| {
            let (free, largest) = self.heap.left();
            GlobalError::Full { asked, heap: self.bytes, free, largest }
        })?;
        Ok(Array::new(base, blocks, block, self.nodes))
    }

    /// Frees an array, after every access that any node has started is complete, including stores.
    ///
    /// # Participation
    /// Collective; all nodes free the same array, otherwise the job ends.
    #[track_caller]
    pub fn free<T: Pod>(&mut self, array: Array<T>) {
        self.complete_pending();
        agree(self.node, "free", &[array.base]);
        while self.stores_under_way().0 != 0 {
            self.poll();
        }
        let length = array.len_of(self.rank) * size_of::<T>();
        if self.served.marks.is_some() {
            self.check_marks("free", array.first_of(self.rank).cast(), length, false);
        }
        if !self.heap.free(array.base) && self.going_on() {
            self.node.fail("free: the array is not one of this space");
        }
    }

    /// The elements of an array on this node, with their positions in the array.
    ///
    /// # Participation
    /// Local.
    pub fn mine<T>(&self, array: &Array<T>) -> impl Iterator<Item = (usize, Global<T>)> + use<T> {
        array.of(self.rank)
    }

    /// Reads an element and waits for it.
    ///
    /// # Participation
    /// Local. `p` must point into a heap; otherwise the job ends, with the pointer and the place of
    /// the call.
    #[track_caller]
    #[inline]
    pub fn read<T: Pod>(&mut self, p: Global<T>) -> T {
        if let Some(word) = self.word(p) {
            let mut value = T::zeroed();
            bytemuck::bytes_of_mut(&mut value).copy_from_slice(&word.load(Ordering::SeqCst).to_ne_bytes());
            self.turn();
            return value;
        }
        self.read_other(p)
    }

    #[track_caller]
    fn read_other<T: Pod>(&mut self, p: Global<T>) -> T {
        let at = self.check("read", p, 1);
        if let Some(segment) = self.direct(p.node()) {
            let value = segment.read(at);
            self.turn();
            return value;
        }
        let mut value = T::zeroed();
        self.read_far(p, bytemuck::bytes_of_mut(&mut value));
        value
    }

    /// Writes an element, and returns when it is written.
    ///
    /// # Participation
    /// As [`read`](Self::read).
    #[track_caller]
    #[inline]
    pub fn write<T: Pod>(&mut self, p: Global<T>, value: T) {
        if let Some(word) = self.word(p) {
            word.store(word_of(bytemuck::bytes_of(&value)), Ordering::SeqCst);
            self.turn();
            return;
        }
        self.write_other(p, value);
    }

    #[track_caller]
    fn write_other<T: Pod>(&mut self, p: Global<T>, value: T) {
        let at = self.check("write", p, 1);
        if let Some(segment) = self.direct(p.node()) {
            segment.write(at, &value, Ordering::SeqCst);
            self.turn();
            return;
        }
        self.write_far(p, bytemuck::bytes_of(&value));
    }

    /// Reads `values.len()` elements that follow each other from `p` on, and waits for them.
    ///
    /// # Participation
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn read_slice<T: Pod>(&mut self, p: Global<T>, values: &mut [T]) {
        let at = self.check("read_slice", p, values.len());
        let bytes = bytemuck::cast_slice_mut(values);
        match self.direct(p.node()) {
            Some(segment) => segment.read_bytes(at, bytes),
            None => self.read_far(p, bytes),
        }
    }

    /// Writes elements from `p` on, and returns when they are written.
    ///
    /// # Participation
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn write_slice<T: Pod>(&mut self, p: Global<T>, values: &[T]) {
        let at = self.check("write_slice", p, values.len());
        let bytes = bytemuck::cast_slice(values);
        match self.direct(p.node()) {
            Some(segment) => {
                segment.write_bytes(at, bytes);
                fence(Ordering::SeqCst);
            }
            None => self.write_far(p, bytes),
        }
    }

    /// The word at `p`, if it is one of memory that is shared, and an element is a word: the usual
    /// case, in which finding the word is the whole check. Otherwise `None`.
    #[inline]
    pub(crate) fn word<T>(&self, p: Global<T>) -> Option<&AtomicU64> {
        let at = p.offset() as usize;
        if size_of::<T>() != WORD || !at.is_multiple_of(WORD) {
            return None;
        }
        self.segments.get(p.node())?.words().get(at / WORD)
    }

    /// The heap of `node`, if this node can touch it itself: its own, and every one where memory is
    /// shared.
    #[inline]
    pub(crate) fn direct(&self, node: usize) -> Option<&Segment> {
        if node == self.rank { Some(&self.own) } else { self.segments.get(node).map(|segment| &**segment) }
    }

    /// Ends the job unless `elements` elements from `p` on lie in a heap; returns the offset.
    #[track_caller]
    #[inline]
    pub(crate) fn check<T>(&mut self, what: &str, p: Global<T>, elements: usize) -> usize {
        let end = p.offset().saturating_add((elements * size_of::<T>()) as u64);
        if p.node() >= self.nodes || end > self.bytes {
            self.outside(what, elements * size_of::<T>(), (p.node(), p.offset()));
        }
        if self.served.marks.is_some() {
            self.check_marks(what, p.cast(), elements * size_of::<T>(), false);
        }
        p.offset() as usize
    }

    /// As [`check`](Self::check), for a whole word.
    #[track_caller]
    #[inline]
    pub(crate) fn check_word<T>(&mut self, what: &str, p: Global<T>) -> usize {
        let end = p.offset().saturating_add(WORD as u64);
        if p.node() >= self.nodes || end > self.bytes {
            self.outside(what, WORD, (p.node(), p.offset()));
        }
        let at = p.offset() as usize;
        if self.served.marks.is_some() {
            self.check_marks(what, p.cast(), WORD, true);
        }
        if !at.is_multiple_of(WORD) {
            self.node.fail(format_args!("{what} at offset {at}, which is no multiple of {WORD}"));
        }
        at
    }

    /// Ends the job if this node may not access its own bytes at `p` now.
    #[cold]
    #[track_caller]
    fn check_marks(&mut self, what: &str, p: Global<u8>, bytes: usize, atomic: bool) {
        let marks = self.served.marks.as_ref().filter(|_| p.node() == self.rank);
        if let Some(reason) = marks.and_then(|marks| marks.reason(p.offset(), bytes, atomic)) {
            self.node.fail(format_args!("{what} of its own heap: {reason}"));
        }
    }

    #[cold]
    #[track_caller]
    fn outside(&mut self, what: &str, bytes: usize, (node, offset): (usize, u64)) -> ! {
        let (last, heap) = (self.nodes - 1, self.bytes);
        if node > last {
            self.node.fail(format_args!("{what} at node {node}: nodes are 0 to {last}"));
        }
        let offset =
            if offset == BEYOND { "an offset out of range".to_owned() } else { format!("offset {offset}") };
        self.node.fail(format_args!(
            "{what} of {bytes} bytes at {offset} of node {node}: the heap of each node has {heap} bytes"
        ));
    }

    /// A blocking access of this node's own or to shared memory is done. Now and then such accesses
    /// poll, so that a program may wait by them.
    #[inline]
    pub(crate) fn turn(&mut self) {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(TURNS) {
            self.take_turn();
        }
    }

    #[cold]
    fn take_turn(&mut self) {
        if self.poll() == 0 && self.yields && self.turns.is_multiple_of(YIELDS) {
            std::thread::yield_now();
        }
    }

    #[track_caller]
    fn read_far<T>(&mut self, p: Global<T>, bytes: &mut [u8]) {
        let length = bytes.len();
        self.value_far(bytes, |space, number| {
            let wire = space.wire;
            wire.read(space, p.node(), p.offset(), length, number);
        });
    }

    #[track_caller]
    fn write_far<T>(&mut self, p: Global<T>, bytes: &[u8]) {
        let (wire, phase) = (self.wire, self.blocking);
        let book = Rc::clone(&self.served.book);
        wire.put(self, &book, p.node(), p.offset(), bytes, phase);
        self.wait_until(|| book.pending_in(phase) == 0);
        if self.served.marks.is_some() {
            wire.end(self, &book, p.node(), phase);
            self.wait_until(|| book.pending_in(phase) == 0);
        }
    }

    /// Waits for a value that the message of `send` asks for.
    #[track_caller]
    pub(crate) fn value_far(&mut self, bytes: &mut [u8], send: impl FnOnce(&mut Self, usize)) {
        if bytes.is_empty() {
            return;
        }
        let number = self.await_value(self.blocking, bytes.len());
        send(self, number);
        let book = Rc::clone(&self.served.book);
        self.wait_until(|| book.take_value(number, bytes));
    }

    /// The number of a value that will come.
    #[track_caller]
    pub(crate) fn await_value(&mut self, phase: usize, bytes: usize) -> usize {
        match self.served.book.await_value(phase, bytes) {
            Some(number) => number,
            None => self.too_many(),
        }
    }

    #[cold]
    #[track_caller]
    pub(crate) fn too_many(&mut self) -> ! {
        self.node.fail(format_args!(
            "more than {MOST_UNDER_WAY} phases or gets under way in enclosing phases: end a phase earlier"
        ));
    }

    /// Waits for everything that this node has under way, but stores.
    #[track_caller]
    fn complete_pending(&mut self) {
        let book = Rc::clone(&self.served.book);
        self.wait_until(|| book.pending() == 0);
        self.reclaim();
    }

    /// Waits for what phases had under way that a panic ended.
    #[track_caller]
    #[inline]
    pub(crate) fn complete_abandoned(&mut self) {
        if !self.abandoned.is_empty() {
            let book = Rc::clone(&self.served.book);
            let phases: Vec<usize> = self.abandoned.iter().map(|(phase, _)| *phase).collect();
            self.wait_until(|| phases.iter().all(|phase| book.pending_in(*phase) == 0));
            self.reclaim();
        }
    }

    /// Takes back the numbers of phases that a panic ended, if nothing of them is under way.
    pub(crate) fn reclaim(&mut self) {
        let book = &self.served.book;
        self.abandoned.retain(|(phase, values)| {
            let over = book.close_phase(*phase);
            if over {
                values.iter().for_each(|value| book.forget_value(*value));
            }
            !over
        });
    }

    /// False while this node unwinds: collectives do nothing then.
    fn going_on(&self) -> bool {
        !std::thread::panicking()
    }
}

/// One-way stores.
impl Space<'_> {
    /// Writes an element one-way: nothing tells this node that it has arrived, only the receiver
    /// ([`store_sync`](Self::store_sync)) or all nodes together
    /// ([`all_store_sync`](Self::all_store_sync)).
    ///
    /// # Participation
    /// As [`read`](Self::read). While there is no room for a message, the node receives.
    #[track_caller]
    #[inline]
    pub fn store<T: Pod>(&mut self, p: Global<T>, value: T) {
        if let Some(word) = self.word(p) {
            word.store(word_of(bytemuck::bytes_of(&value)), Ordering::Relaxed);
            self.count_sent(WORD as u64);
            self.has_stored(p.node(), WORD as u64);
            return;
        }
        self.store_other(p, value);
    }

    #[track_caller]
    fn store_other<T: Pod>(&mut self, p: Global<T>, value: T) {
        let at = self.check("store", p, 1);
        let bytes = size_of::<T>() as u64;
        self.count_sent(bytes);
        if let Some(segment) = self.direct(p.node()) {
            segment.write(at, &value, Ordering::Relaxed);
            self.has_stored(p.node(), bytes);
        } else {
            self.store_far(p, bytemuck::bytes_of(&value));
        }
    }

    /// Writes elements from `p` on, one-way.
    ///
    /// # Participation
    /// As [`store`](Self::store).
    #[track_caller]
    pub fn store_slice<T: Pod>(&mut self, p: Global<T>, values: &[T]) {
        let at = self.check("store_slice", p, values.len());
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.count_sent(bytes.len() as u64);
        if let Some(segment) = self.direct(p.node()) {
            segment.write_bytes(at, bytes);
            self.has_stored(p.node(), bytes.len() as u64);
        } else {
            self.store_far(p, bytes);
        }
    }

    #[track_caller]
    fn store_far<T>(&mut self, p: Global<T>, bytes: &[u8]) {
        let wire = self.wire;
        wire.write(self, p.node(), p.offset(), bytes, crate::wire::STORED);
    }

    /// Waits until `bytes` more bytes have been stored here; those are then accounted for.
    ///
    /// # Participation
    /// Local. If the bytes never come, the watchdog ends the job and says how many have.
    #[track_caller]
    pub fn store_sync(&mut self, bytes: u64) {
        let (own, book, consumed) = (Arc::clone(&self.own), Rc::clone(&self.served.book), self.consumed);
        self.node.wait_for_bytes(bytes, || own.stored().wrapping_add(book.stored()).wrapping_sub(consumed));
        self.account(bytes);
    }

    /// Whether `bytes` more bytes have been stored here; those are then accounted for. Polls.
    ///
    /// # Participation
    /// Local.
    pub fn is_store_sync(&mut self, bytes: u64) -> bool {
        self.poll();
        let come = self.stored() >= bytes;
        if come {
            self.account(bytes);
        }
        come
    }

    /// Returns when all stores of all nodes have arrived.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn all_store_sync(&mut self) {
        loop {
            self.poll();
            let time = self.served.marks.as_ref().map(Marks::tick);
            let (under_way, stored) = self.stores_under_way();
            if under_way == 0 || !self.going_on() {
                // Exactly what was contributed: a node that has left may have stored here already
                // (Luna 1994, §4.1.1, where setting the counts to zero would lose its bytes).
                self.sent = 0;
                self.consumed = self.consumed.wrapping_add(stored);
                if let (Some(marks), Some(time)) = (&self.served.marks, time) {
                    marks.waited_for(time);
                }
                return;
            }
        }
    }

    /// The bytes of all nodes' stores that have not been seen to arrive, and those that have been
    /// stored here and not been accounted for; collective.
    #[track_caller]
    fn stores_under_way(&mut self) -> (u64, u64) {
        let stored = self.stored();
        let mine = self.sent.wrapping_sub(stored);
        (self.node.reduce_add(mine), stored)
    }

    /// Bytes stored here that have not been accounted for.
    fn stored(&self) -> u64 {
        self.own.stored().wrapping_add(self.served.book.stored()).wrapping_sub(self.consumed)
    }

    /// These bytes stored here have been waited for. Also taken from what this node has sent, so
    /// that the difference of both, which all nodes sum up, remains.
    fn account(&mut self, bytes: u64) {
        if let Some(marks) = &self.served.marks {
            marks.waited_for(marks.tick());
        }
        self.consumed = self.consumed.wrapping_add(bytes);
        self.sent = self.sent.wrapping_sub(bytes);
    }

    /// This node is about to store bytes.
    #[inline]
    pub(crate) fn count_sent(&mut self, bytes: u64) {
        self.sent = self.sent.wrapping_add(bytes);
    }

    /// Bytes have been written directly into the heap of node `to`.
    #[inline]
    pub(crate) fn has_stored(&mut self, to: usize, bytes: u64) {
        if let (Some(total), Some(segment)) = (self.totals.get_mut(to), self.segments.get(to)) {
            *total = total.wrapping_add(bytes);
            segment.has_stored(self.rank, *total);
        } else {
            self.served.stored(bytes);
        }
    }
}

/// Ends the job unless all nodes call with equal `words`; returns after all have called.
#[track_caller]
fn agree(node: &mut Node, what: &str, words: &[u64]) {
    let mut both: Vec<u64> = words.iter().flat_map(|word| [*word, !word]).collect();
    node.reduce_max(&mut both);
    let same = both.chunks_exact(2).zip(words).all(|(most, word)| most == [*word, !word]);
    if !same && !std::thread::panicking() {
        node.fail(format_args!("{what}: the nodes call it with different arguments"));
    }
}
