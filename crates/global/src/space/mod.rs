//! The space: a node's view of all heaps.

mod access;
mod stores;

use crate::array::Array;
use crate::book::Book;
use crate::bulk::Bulk;
use crate::checker::Marks;
use crate::counter::StoreCounter;
use crate::error::GlobalError;
use crate::gather::{Gather, choose};
use crate::heap::Heap;
use crate::pointer::{BEYOND, Global};
use crate::segment::{STORE_COUNTERS, Segment, WORD};
use crate::sync::AtomicU64;
use crate::wire::{MOST_UNDER_WAY, Served, Wire};
use access::TURNS;
use bytemuck::Pod;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::{Arc, Once};
pub use stores::Stores;
use strata_runtime::{Node, memory::Doorbell};
use strata_select::say;

/// The variant of access to other nodes' heaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By loads and stores: all nodes are threads of one process, or processes of one host whose
    /// MPI library has shared windows.
    Shared,
    /// By messages, which the owner of the memory handles when it polls or waits.
    Messages,
    /// By messages; small puts and stores to one node are combined into one message until the
    /// node's next call of another kind.
    Gathered,
}

/// The heaps of all nodes, as one node sees them.
///
/// It is also the [`Node`] itself: collectives, messages and all other methods are methods of the
/// space.
pub struct Space<'n> {
    pub(crate) node: &'n mut Node,
    rank: usize,
    nodes: usize,
    /// The bytes of each node's heap.
    bytes: u64,
    own: Arc<Segment>,
    /// All heaps, by node, if memory is shared.
    peers: Vec<Peer>,
    /// The variant of bulk access if memory is not shared.
    pub(crate) bulk: Bulk,
    heap: Heap,
    pub(crate) served: Rc<Served>,
    pub(crate) wire: Wire,
    /// Buffered small writes, if they are gathered.
    pub(crate) gather: Option<Gather>,
    /// The phase of blocking accesses.
    blocking: usize,
    /// Bytes that this node has stored by messages, less those of all stores known to be complete;
    /// the bytes stored directly are in each peer's totals.
    sent: u64,
    /// Bytes stored here that have been waited for, by counter.
    consumed: [u64; STORE_COUNTERS],
    /// Rung if a poll may find a message. On transports without doorbells it is always rung.
    doorbell: Doorbell,
    /// The number of blocking accesses that found the doorbell rung; an access polls if
    /// `turns & turns_mask` is zero.
    turns: u32,
    turns_mask: u32,
    yields: bool,
}

/// The decision on bulk access if memory is not shared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    ByModels,
    /// Messages, unless the program requests otherwise.
    AsAsked,
    /// Messages: the checker would not see transfers.
    Checked,
}

/// The view of another node's heap for direct access. Its alignment makes its size a power of two,
/// so that indexing an array of views takes a shift instead of a multiplication.
#[repr(align(128))]
struct Peer {
    segment: Segment,
    /// Bytes stored there by this node, by counter.
    totals: [u64; STORE_COUNTERS],
}
const _: () = assert!(size_of::<Peer>().is_power_of_two());

impl Peer {
    /// Counts bytes that node `from`, this one, has written there.
    #[inline]
    fn count(&mut self, from: usize, counter: StoreCounter, bytes: u64) {
        if let Some(total) = self.totals.get_mut(counter.index()) {
            *total = total.wrapping_add(bytes);
            self.segment.has_stored(from, counter.index(), *total);
        }
    }
}

impl Deref for Space<'_> {
    type Target = Node;
    fn deref(&self) -> &Node {
        self.node
    }
}

impl DerefMut for Space<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Node {
        self.flush();
        self.node
    }
}

impl<'n> Space<'n> {
    /// Opens a space in which every node has a heap of `bytes` bytes, initially zero. Nodes that
    /// are threads of one process, or MPI processes of one host, share their memory; others
    /// exchange messages, whose variant models of this machine choose (library `global_stores`).
    ///
    /// # Settings
    /// Settings of node 0: `STRATA_PIN=global=messages` uses messages even if memory could be
    /// shared, and `global=shared` is an error if it cannot be. `STRATA_PIN=global_stores=gathered`
    /// (or `messages`) pins the variant of messages, and `STRATA_PIN=global_bulk=one_sided` (or
    /// `messages`) that of bulk access if the transport has one-sided transfers. `STRATA_CHECK=1`
    /// with `STRATA_PIN=global=messages` is [`open_checked`](Self::open_checked); without the pin
    /// no accesses are checked, which node 0 reports on standard error.
    ///
    /// # Participation
    /// Collective, with equal `bytes`; otherwise the job ends. The memory is kept until
    /// [`uninstall`](Node::uninstall), even after the space is dropped: others may still access it.
    ///
    /// # Errors
    /// [`GlobalError::TooLong`] from 16 TiB on; [`GlobalError::NotShared`] if shared memory is
    /// pinned but not available; [`GlobalError::Select`].
    #[track_caller]
    pub fn open(node: &'n mut Node, bytes: usize) -> Result<Self, GlobalError> {
        let pinned = node.pinned("global", &["shared", "messages"]);
        let pinned = pinned.map_err(|error| GlobalError::Select(error.to_string()))?;
        let by_messages = pinned == Some("messages");
        if node.is_on("STRATA_CHECK") {
            if by_messages {
                return Self::open_checked(node, bytes);
            }
            // Printed once, although a program may open many spaces.
            static TOLD: Once = Once::new();
            if node.rank() == 0 {
                TOLD.call_once(|| {
                    say!(
                        "strata: STRATA_CHECK=1 checks accesses to global memory only where they are messages: set \
                         STRATA_PIN=global=messages, too"
                    );
                });
            }
        }
        let way = match pinned {
            None => None,
            Some(_) if by_messages => Some(choose(node)?),
            Some(_) => Some(Way::Shared),
        };
        Self::open_as(node, bytes, way, Opening::ByModels)
    }

    /// As [`open`](Self::open), by messages and with a checker. The job ends if a node accesses an
    /// element of its own heap to which another node has a pending put or an unawaited store, or
    /// frees an array with such an element. It also ends if a node reads an element into which the
    /// owner writes the result of a collective, as in `x = scan(x)`, without a collective in
    /// between: nodes do not leave a collective at the same time.
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
        Self::open_as(node, bytes, Some(Way::Messages), Opening::Checked)
    }

    /// As [`open`](Self::open), with this variant if it is available, regardless of the setting;
    /// this applies to bulk access, too, unless [`one_sided_from`](Self::one_sided_from) changes
    /// it.
    ///
    /// # Participation
    /// Collective, with equal arguments; otherwise the job ends.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`GlobalError::NotShared`] for [`Way::Shared`] on nodes that
    /// cannot share memory.
    #[track_caller]
    pub fn open_by(node: &'n mut Node, bytes: usize, way: Way) -> Result<Self, GlobalError> {
        Self::open_as(node, bytes, Some(way), Opening::AsAsked)
    }

    #[track_caller]
    fn open_as(
        node: &'n mut Node,
        bytes: usize,
        way: Option<Way>,
        opening: Opening,
    ) -> Result<Self, GlobalError> {
        let checked = opening == Opening::Checked;
        if bytes as u64 >= BEYOND - u64::from(u16::MAX) {
            return Err(GlobalError::TooLong { elements: bytes, size: 1 });
        }
        let (rank, nodes) = (node.rank(), node.size());
        agree(node, "open", &[bytes as u64, way.map_or(3, |way| way as u64), checked.into()]);
        let bytes = bytes.next_multiple_of(64);
        let by_messages = matches!(way, Some(Way::Messages | Way::Gathered));
        let shared = if by_messages { None } else { shared_segments(node, bytes) };
        if way == Some(Way::Shared) && shared.is_none() {
            return Err(GlobalError::NotShared);
        }
        let own = shared.as_ref().and_then(|all| all.get(rank)).map(Arc::clone);
        let bulk = if own.is_some() || checked {
            Bulk::default()
        } else {
            Bulk::open(node, bytes, opening == Opening::ByModels)?
        };
        let own = own.or_else(|| bulk.own(bytes));
        let own = own.unwrap_or_else(|| Arc::new(Segment::new(bytes, 0)));
        let peers = shared
            .into_iter()
            .flatten()
            .map(|all| Peer { segment: Segment::clone(&all), totals: [0; STORE_COUNTERS] });
        let peers: Vec<Peer> = peers.collect();
        let gathered = match way {
            None if peers.is_empty() => choose(node)? == Way::Gathered,
            way => way == Some(Way::Gathered),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let doorbell = if peers.is_empty() { None } else { node.doorbell() };
        let yields = !peers.is_empty() && doorbell.is_none() && nodes > cores;
        let book = Rc::new(Book::default());
        let served = Rc::new(Served { segment: Arc::clone(&own), book, marks: checked.then(Marks::default) });
        if checked {
            node.remember_results();
        }
        let wire = Wire::install(node, &served);
        Ok(Self {
            rank,
            nodes,
            bytes: bytes as u64,
            peers,
            bulk,
            own,
            heap: Heap::new(bytes as u64),
            wire,
            // The first phase of a new book.
            blocking: served.book.open_phase().unwrap_or_default(),
            served,
            sent: 0,
            consumed: [0; STORE_COUNTERS],
            turns: 0,
            turns_mask: if doorbell.is_some() { 0 } else { TURNS - 1 },
            doorbell: doorbell.unwrap_or_default(),
            yields,
            gather: gathered.then(|| Gather::new(nodes)),
            node,
        })
    }

    /// The variant of access to other nodes' heaps.
    #[must_use]
    pub fn way(&self) -> Way {
        match (self.peers.is_empty(), &self.gather) {
            (false, _) => Way::Shared,
            (true, None) => Way::Messages,
            (true, Some(_)) => Way::Gathered,
        }
    }

    /// Sets the least number of bytes (at least 64) for which this node's reads, writes, puts and
    /// gets use one-sided transfers, in place of models of this machine (library `global_bulk`);
    /// `usize::MAX` disables them.
    ///
    /// # Participation
    /// Local.
    ///
    /// # Errors
    /// [`GlobalError::NotOneSided`] if the transport has no such transfers, or memory is shared so
    /// that none are needed.
    pub fn one_sided_from(&mut self, bytes: usize) -> Result<(), GlobalError> {
        self.bulk.one_sided_from(bytes)
    }

    /// Allocates an array of `elements` elements, zero bytes, assigned to the nodes one by one.
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

    /// Allocates an array of `blocks` blocks of `block` elements each, assigned to the nodes block
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
            // Before the nodes agree: no node accesses the array before all have arrived.
            self.own.clear(base as usize, bytes as usize);
        }
        let of = [blocks as u64, block as u64, size_of::<T>() as u64, base.unwrap_or(BEYOND)];
        self.flush();
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

    /// The word at `p`, if it is in shared memory and an element is a word: the usual case, in
    /// which finding the word is the whole check. Otherwise `None`.
    #[inline]
    pub(crate) fn word<T>(&self, p: Global<T>) -> Option<&AtomicU64> {
        let at = p.offset() as usize;
        if size_of::<T>() != WORD || !at.is_multiple_of(WORD) {
            return None;
        }
        self.peers.get(p.node())?.segment.words().get(at / WORD)
    }

    /// Stores or changes all bytes of the [`word`](Self::word) at `p` with `write`, and counts
    /// them on `counter`; false if there is no such word.
    #[inline]
    pub(crate) fn store_word<T>(
        &mut self,
        counter: StoreCounter,
        p: Global<T>,
        write: impl FnOnce(&AtomicU64),
    ) -> bool {
        let at = p.offset() as usize;
        if size_of::<T>() != WORD || !at.is_multiple_of(WORD) {
            return false;
        }
        let Some(peer) = self.peers.get_mut(p.node()) else { return false };
        let Some(word) = peer.segment.words().get(at / WORD) else { return false };
        write(word);
        peer.count(self.rank, counter, WORD as u64);
        true
    }

    /// The heap of `node`, if this node can access it directly: its own, and every heap in shared
    /// memory.
    #[inline]
    pub(crate) fn direct(&self, node: usize) -> Option<&Segment> {
        if node == self.rank { Some(&self.own) } else { self.peers.get(node).map(|peer| &peer.segment) }
    }

    /// Ends the job unless `elements` elements from `p` on are in a heap; returns the offset.
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

    /// Ends the job if this node is about to write the result of a collective into its own heap at
    /// `p`, and another node has read it there since that collective.
    #[inline]
    #[track_caller]
    pub(crate) fn check_result<T>(&mut self, what: &str, p: Global<T>, bytes: &[u8]) {
        if self.served.marks.is_some() && p.node() == self.rank && !bytes.is_empty() {
            self.check_result_of(what, p.offset(), bytes);
        }
    }

    #[cold]
    #[track_caller]
    fn check_result_of(&mut self, what: &str, at: u64, bytes: &[u8]) {
        let (left, last) = self.node.last_result();
        let is_result = last.chunks_exact(bytes.len()).any(|part| part == bytes);
        let marks = self.served.marks.as_ref().filter(|_| is_result);
        if let Some(Err(reason)) = marks.map(|marks| marks.writes_result(left, at, bytes.len())) {
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

    /// The number of a new awaited value.
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
            "more than {MOST_UNDER_WAY} phases, counters or gets under way: end a phase or complete a counter earlier"
        ));
    }

    /// Waits for all pending accesses of this node except stores.
    #[track_caller]
    fn complete_pending(&mut self) {
        let book = Rc::clone(&self.served.book);
        self.wait_until(|| book.pending() == 0);
        book.reclaim();
    }

    /// Waits for the pending accesses of phases that a panic ended.
    #[track_caller]
    #[inline]
    pub(crate) fn complete_abandoned(&mut self) {
        if !self.served.book.reclaim() {
            let book = Rc::clone(&self.served.book);
            self.wait_until(|| book.reclaim());
        }
    }

    /// False while this node unwinds: collectives then do nothing.
    fn going_on(&self) -> bool {
        !std::thread::panicking()
    }
}

/// A segment of `bytes` bytes on each node, all in memory that every node can access; `None`, on
/// every node, if there is no such memory.
#[track_caller]
fn shared_segments(node: &mut Node, bytes: usize) -> Option<Vec<Arc<Segment>>> {
    let nodes = node.size();
    #[cfg(not(all(test, loom)))]
    if let Some(windows) = node.share_words(Segment::window_words(bytes, nodes)) {
        let segment = |window| Arc::new(Segment::in_window(window, bytes));
        return Some(windows.iter().map(segment).collect());
    }
    node.share(Arc::new(Segment::new(bytes, nodes)))
}

/// Ends the job unless all nodes call with equal `words`; returns after all have called.
#[track_caller]
fn agree(node: &mut Node, what: &str, words: &[u64]) {
    let mut both: Vec<u64> = words.iter().flat_map(|word| [*word, !word]).collect();
    node.reduce_max(&mut both);
    // The result is not the program's.
    node.forget_result();
    let same = both.chunks_exact(2).zip(words).all(|(most, word)| most == [*word, !word]);
    if !same && !std::thread::panicking() {
        node.fail(format_args!("{what}: the nodes call it with different arguments"));
    }
}
