//! Nodes as threads of one process.
//!
//! A node publishes its contribution to a collective in a slot, all nodes meet in a rendezvous, and
//! each reads the others' slots in rank order. Each node has two slots, used in alternate epochs,
//! which saves the second rendezvous for short values. Longer vectors are lent by address: each
//! node combines its share of the elements for all nodes in place, and a second rendezvous ends the
//! loan. Blocks change owner through one queue for each ordered pair of nodes. Split-phase
//! operations use the same rendezvous, tested instead of waited for. Packets have a queue for each
//! receiver and network; puts copy straight into the receiver's memory.
//!
//! # Why lending is sound
//! A blocking collective accesses lent memory only between two rendezvous in which all nodes take
//! part. A lender that waits for the first rendezvous unwinds only when it can no longer complete,
//! because a node has ended without arriving. A failure from elsewhere (the watchdog) is not a
//! reason to unwind, because a late node may still arrive and access the memory. Between the two
//! rendezvous a node runs only code of this module and cannot fail, and it waits for the second
//! rendezvous unconditionally.
//!
//! All nodes read the same slots at the first rendezvous, so all detect a mismatch together, before
//! any lent memory is accessed. Between the two rendezvous of a split-phase operation a node runs
//! its program, which may fail. So the lent memory is owned by the transport, and the job retains
//! it if the node does not see the second rendezvous complete. Blocking and split-phase calls do
//! not match each other: that is a mismatch like any other.

#![allow(unsafe_code, reason = "follows the addresses that nodes lend each other")]

mod bind;
mod combine;
mod doorbell;
#[cfg(all(test, loom))]
mod explore;
mod job;
mod lending;
mod loan;
mod pending;
mod ports;
mod queue;
mod rendezvous;
mod ring;
mod sync;
#[cfg(test)]
mod tests;
mod wait;
mod words;

pub use doorbell::Doorbell;
pub(crate) use job::run;
pub use lending::{LendingDesk, LentVec};
pub use words::SharedWords;

use crate::block::{Contents, RawBlock};
use crate::copy::Hint;
use crate::number::{NumberType, Op};
use crate::transport::{
    AbortHandle, Awaited, Boundary, Call, Collective, Endpoint, Extras, Failure, Network, Networks,
    Operation, Packet, Process, Scan, Shelf, Way,
};
#[cfg(feature = "tune")]
use crate::transport::{Action, Named, Tuned};
use job::{Job, Peers, RING, Unwinds};
use pending::PendingCollective;
use ports::Refusal;
use rendezvous::{Mode, SHORT};
use std::sync::Arc;
use std::time::Duration;
use sync::{Ordering, yield_now};

/// The most nodes of one process: each is a thread with a stack, and each pair of nodes may have a
/// queue.
pub(crate) const MOST: usize = 1024;

/// The most bytes that a put accepts at once.
const PUT: usize = 16 << 10;

/// Lengths of the pieces of a long put, each of which its receiver sees when it has arrived.
#[cfg(feature = "tune")]
const PIECES: [Named; 2] =
    [("pieces of 4 KiB", Way::Pieces(4 << 10)), ("pieces of 16 KiB", Way::Pieces(16 << 10))];

/// Number of pauses after which a wait for memory is long.
const LONG: u32 = 200;

/// The sleep of a node that waits long for memory that other nodes change without waking it.
const SHORT_SLEEP: Duration = Duration::from_micros(50);

/// One node's end of the threads transport.
pub(crate) struct Threads {
    job: Arc<Job>,
    rank: usize,
    /// The number of rendezvous at which this node has arrived; equal on all nodes at any
    /// rendezvous.
    epoch: u64,
    /// True if the node is in a blocking rendezvous, left one by unwinding, or has an operation in
    /// flight. A node that catches the unwinding must not arrive at another rendezvous: the
    /// alternation of slots and the count of arrivals require that every rendezvous was completed.
    busy: bool,
    /// The split-phase operation, from its start until it is finished.
    pending: Option<PendingCollective>,
    /// Number of packets received since the nodes that wait for room were last woken.
    taken: usize,
    /// This node's bit of the asynchronous or.
    bit: bool,
    /// The waits of all nodes when this one last looked, in a long wait for memory.
    waits: Option<Vec<u64>>,
    /// How long vectors are combined and copied.
    way: Way,
}

impl Threads {
    fn new(job: Arc<Job>, rank: usize) -> Self {
        Self {
            job,
            rank,
            epoch: 0,
            busy: false,
            pending: None,
            taken: 0,
            bit: true,
            waits: None,
            way: Way::Usual,
        }
    }

    /// Arrives at the next rendezvous, with `bytes` on the slot and the memory at `lent` lent until
    /// the following rendezvous.
    fn arrive(&mut self, call: &Call, mode: Mode, bytes: &[u8], lent: *mut u8) {
        self.epoch += 1;
        // SAFETY: `self` is node `rank`'s only transport, does not leave its thread, and has
        // completed every earlier rendezvous.
        unsafe { self.job.arrive(self.rank, self.epoch, call, mode, bytes, lent) };
    }

    /// Meets all nodes, with `bytes` on the slot and the memory at `lent` lent until the following
    /// rendezvous.
    fn rendezvous(&mut self, call: &Call, boundary: Boundary, bytes: &[u8], lent: *mut u8) {
        if self.busy {
            self.refuse(call);
        }
        self.notify_room();
        self.busy = true;
        self.arrive(call, Mode { started: false, boundary }, bytes, lent);
        let unwinds = if lent.is_null() { Unwinds::WhenFailed } else { Unwinds::WhenIncomplete };
        self.job.wait_for_all(self.rank, self.epoch, call, unwinds);
        self.busy = false;
    }

    /// Meets all nodes, and ends the job unless all made the same call.
    fn rendezvous_alike(&mut self, call: &Call, boundary: Boundary, bytes: &[u8], lent: *mut u8) {
        self.rendezvous(call, boundary, bytes, lent);
        self.check_alike();
    }

    /// Ends the job unless all made the same call.
    fn check_alike(&self) {
        // SAFETY: this node takes part in rendezvous `epoch`, all have arrived, and it has not
        // arrived at the next.
        if let Some(failure) = unsafe { self.job.mismatch(self.epoch) } {
            self.job.fail(failure);
        }
    }

    /// Ends a loan. Until then all nodes are in this module, so all arrive, whatever happens to the
    /// job.
    fn end_loan(&mut self, call: &Call) {
        self.arrive(call, Mode::default(), &[], std::ptr::null_mut());
        self.job.wait_for_all(self.rank, self.epoch, call, Unwinds::Never);
    }

    /// Unwinds from a call while this node cannot take part in a rendezvous.
    #[cold]
    fn refuse(&self, call: &Call) -> ! {
        if self.pending.is_some() {
            let message = format!("{call}: a split-phase operation is in flight; complete it first");
            self.job.fail(Failure { rank: self.rank, message });
        }
        self.job.unwind();
    }

    /// Wakes nodes that sleep until there is room for a packet to this node, if it has received
    /// any.
    fn notify_room(&mut self) {
        if self.taken > 0 {
            self.taken = 0;
            self.job.notify_room(self.rank);
        }
    }

    #[inline]
    fn in_place(&mut self, call: Call, operation: Operation, values: &mut [u8]) {
        match operation {
            Operation::Barrier => self.rendezvous(&call, Boundary::None, &[], std::ptr::null_mut()),
            Operation::Reduce(kind, op) => self.reduce(call, kind, op, values),
            Operation::Scan(scan) => self.scan(call, scan, values),
            Operation::Broadcast(root) => self.broadcast(call, root, values),
        }
    }

    fn reduce(&mut self, call: Call, kind: NumberType, op: Op, values: &mut [u8]) {
        let bytes = values.len();
        if bytes <= SHORT {
            self.rendezvous_alike(&call, Boundary::None, values, std::ptr::null_mut());
            self.reduce_short(kind, op, values);
            return;
        }
        if self.way == Way::Whole {
            return self.reduce_whole(call, kind, op, values);
        }
        self.rendezvous_alike(&call, Boundary::None, &[], values.as_mut_ptr());
        self.reduce_share(kind, op, self.share(bytes));
        self.end_loan(&call);
    }

    /// A reduction of a long vector in which this node combines all vectors for itself.
    #[cold]
    #[inline(never)]
    fn reduce_whole(&mut self, call: Call, kind: NumberType, op: Op, values: &mut [u8]) {
        let bytes = values.len();
        // Before the rendezvous: between the two no code may fail.
        let mut result = vec![0u64; bytes.div_ceil(8)];
        let result = &mut bytemuck::cast_slice_mut(&mut result)[..bytes];
        self.rendezvous_alike(&call, Boundary::None, &[], values.as_mut_ptr());
        self.reduce_all(kind, op, result);
        self.end_loan(&call);
        values.copy_from_slice(result);
    }

    /// Copies memory that another node has written.
    fn copy_received(&self, to: &mut [u8], from: &[u8]) {
        self.way.copy(Hint::RECEIVE, to, from);
    }

    fn scan(&mut self, call: Call, scan: Scan, values: &mut [u8]) {
        let bytes = values.len();
        let boundary = scan.boundary.unwrap_or_default();
        if bytes <= SHORT {
            self.rendezvous_alike(&call, boundary, values, std::ptr::null_mut());
            self.scan_short(scan, values);
            return;
        }
        self.rendezvous_alike(&call, boundary, &[], values.as_mut_ptr());
        self.scan_share(scan, self.share(bytes));
        self.end_loan(&call);
    }

    fn broadcast(&mut self, call: Call, root: usize, values: &mut [u8]) {
        let bytes = values.len();
        if bytes <= SHORT {
            let mine = if self.rank == root { &*values } else { &[] };
            self.rendezvous_alike(&call, Boundary::None, mine, std::ptr::null_mut());
            if let Some(roots) = self.brought(bytes).nth(root) {
                values.copy_from_slice(roots);
            }
            return;
        }
        self.rendezvous_alike(&call, Boundary::None, &[], values.as_mut_ptr());
        if self.rank != root {
            // SAFETY: the root lends this many bytes (the calls agree) until the next rendezvous,
            // and no node writes them.
            let roots = unsafe { std::slice::from_raw_parts(self.lent(root), bytes) };
            self.copy_received(values, roots);
        }
        self.end_loan(&call);
    }

    fn all_gather(&mut self, call: Call, mine: &[u8], all: &mut [u8]) {
        let bytes = mine.len();
        if bytes == 0 {
            self.rendezvous_alike(&call, Boundary::None, &[], std::ptr::null_mut());
        } else if bytes <= SHORT {
            self.rendezvous_alike(&call, Boundary::None, mine, std::ptr::null_mut());
            self.brought(bytes)
                .zip(all.chunks_exact_mut(bytes))
                .for_each(|(from, to)| to.copy_from_slice(from));
        } else {
            self.rendezvous_alike(&call, Boundary::None, &[], mine.as_ptr().cast_mut());
            for (rank, to) in all.chunks_exact_mut(bytes).enumerate() {
                // SAFETY: node `rank` lends this many bytes (the calls agree) until the next
                // rendezvous; no node writes them.
                let from = unsafe { std::slice::from_raw_parts(self.lent(rank), bytes) };
                self.copy_received(to, from);
            }
            self.end_loan(&call);
        }
    }

    fn exchange(&mut self, call: Call, blocks: &mut [RawBlock]) {
        self.rendezvous_alike(&call, Boundary::None, &[], std::ptr::null_mut());
        let (rank, size) = (self.rank, self.job.size());
        for to in (rank + 1..size).chain(0..rank) {
            let block = std::mem::take(&mut blocks[to]);
            // SAFETY: this is node `rank`.
            unsafe { self.job.send(rank, to, &call, block) };
        }
        for from in (0..rank).rev().chain((rank + 1..size).rev()) {
            // SAFETY: this is node `rank`.
            blocks[from] = unsafe { self.job.receive(from, rank, &call) };
        }
    }

    #[cold]
    fn refused(&self, call: &Call, to: usize, port: usize, end: String, refusal: &Refusal) -> ! {
        let (rank, message) = match refusal {
            Refusal::NotOpen => (self.rank, format!("{call}: node {to} has not opened port {port}")),
            Refusal::Short(bytes) => (
                self.rank,
                format!("{call}: {end} end past port {port} of node {to}, which has {bytes} bytes"),
            ),
        };
        self.job.fail(Failure { rank, message });
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.abandon(&self.job);
        }
    }
}

impl Endpoint for Threads {
    fn place(&self) -> (usize, usize) {
        (self.rank, self.job.size())
    }

    fn collective_by(&mut self, way: Way, call: Call, collective: Collective<'_>) {
        self.way = way;
        match collective {
            Collective::InPlace(operation, values) => self.in_place(call, operation, values),
            Collective::AllGather { mine, all } => self.all_gather(call, mine, all),
            Collective::Exchange(blocks) => self.exchange(call, blocks),
        }
    }

    fn start(&mut self, call: Call, operation: Operation, values: RawBlock) {
        self.start_pending(call, operation, values);
    }

    fn test(&mut self) -> bool {
        self.advance()
    }

    fn finish(&mut self) -> RawBlock {
        self.take_result()
    }

    #[inline]
    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool {
        let sent = self.job.packets(to, network).push(self.rank as u32, packet);
        if sent {
            self.job.tell(self.rank, to);
        }
        sent
    }

    #[inline]
    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool {
        // SAFETY: `self` is node `rank`'s only transport and does not leave its thread.
        if unsafe { self.job.take(self.rank, network, packet) } {
            // An occasional wake suffices: a node that waits for room has the whole queue ahead of
            // it.
            self.taken += 1;
            if self.taken == RING / 4 {
                self.notify_room();
            }
            return true;
        }
        self.notify_room();
        self.job.unwind_if_failed();
        false
    }

    fn open(&mut self, port: usize, memory: RawBlock) {
        if self.job.ports(self.rank).open(port, memory).is_err() {
            let message = format!("port {port} is open or does not exist");
            self.job.fail(Failure { rank: self.rank, message });
        }
    }

    fn close(&mut self, port: usize) -> Option<RawBlock> {
        self.job.ports(self.rank).close(port)
    }

    fn try_put(
        &mut self,
        call: &Call,
        to: usize,
        port: usize,
        offset: usize,
        contents: Contents<'_>,
    ) -> bool {
        self.put_by(Way::Usual, call, to, port, offset, contents);
        true
    }

    fn put_by(
        &mut self,
        way: Way,
        call: &Call,
        to: usize,
        port: usize,
        offset: usize,
        contents: Contents<'_>,
    ) {
        let bytes = contents.bytes;
        self.job.unwind_if_failed();
        let told = || self.job.tell(self.rank, to);
        let copy = |to: &mut [u8], from: &[u8]| way.copy(Hint::SEND, to, from);
        if let Err(refusal) = self.job.ports(to).put(port, offset, bytes, told, copy) {
            let end = format!("{} bytes at offset {offset}", bytes.len());
            self.refused(call, to, port, end, &refusal);
        }
    }

    #[inline]
    fn arrivals(&mut self, _networks: Networks, report: &mut dyn FnMut(usize, usize)) {
        let ports = self.job.ports(self.rank);
        if ports.has_news() {
            ports.arrivals(report);
        }
    }

    fn set_async_or(&mut self, value: bool) {
        if self.bit != value {
            self.bit = value;
            let count = self.job.async_or();
            if value {
                count.fetch_add(1, Ordering::Release);
            } else {
                count.fetch_sub(1, Ordering::Release);
            }
        }
    }

    fn async_or(&mut self) -> bool {
        self.job.unwind_if_failed();
        self.job.async_or().load(Ordering::Acquire) > 0
    }

    fn pause(&mut self, call: &Call, networks: Networks, awaited: Awaited) {
        self.notify_room();
        // An event may have occurred already, and a program may pause repeatedly without handling
        // it.
        self.job.unwind_if_failed();
        if networks == Networks::Only(Network::Reply) {
            // A handler's replies wait for room while another event is awaited: rare and short, and
            // no single wake-up covers both.
            yield_now();
            return;
        }
        let (job, rank) = (&*self.job, self.rank);
        let came = || {
            Network::BOTH.into_iter().any(|on| networks.has(on) && job.has_packet(rank, on))
                || job.ports(rank).has_news()
        };
        let wait = |peers: Option<Peers>, true_now: &dyn Fn() -> bool| {
            let ready = || came() || true_now();
            let check = || match peers {
                Some(peers) => job.check(rank, call, peers, &ready),
                None => job.unwind_if_failed(),
            };
            match awaited {
                Awaited::Room(network, to) => job.wait_for_room(rank, call, (network, to), ready, check),
                _ => job.sleep(rank, call, awaited, ready, check),
            }
        };
        match awaited {
            Awaited::Memory { pauses } => {
                if came() {
                    return;
                }
                job.polled(rank, call, pauses, &mut self.waits);
                job.unwind_if_failed();
                if pauses >= LONG {
                    std::thread::sleep(SHORT_SLEEP);
                } else {
                    yield_now();
                }
            }
            Awaited::Packet => wait((self.job.size() > 1).then_some(Peers::Anyone), &|| false),
            Awaited::Operation => wait(Some(Peers::All), &|| self.may_advance()),
            Awaited::Room(network, to) => {
                let packets = job.packets(to, network);
                wait(Some(Peers::Receiver(to)), &|| packets.has_room());
            }
            Awaited::PutRoom(_) => {}
            Awaited::AllLeft => wait(None, &|| job.all_left()),
        }
    }

    fn leave(&mut self) {
        self.notify_room();
        self.job.leave(self.rank);
    }

    fn all_left(&mut self) -> bool {
        self.job.unwind_if_failed();
        self.job.all_left()
    }

    fn fail(&mut self, failure: Failure) -> ! {
        self.job.fail(failure);
    }

    fn extras(&mut self) -> Extras<'_> {
        Extras {
            put_limit: PUT,
            process: Some(self),
            words: None,
            messages: None,
            library: None,
            simulated: None,
            #[cfg(feature = "tune")]
            ways: |action| match action {
                Action::Put => Way::copying().into_iter().chain(PIECES).collect(),
                Action::Broadcast | Action::AllGather => Way::copying(),
                Action::Reduce => vec![("whole vectors", Way::Whole)],
                _ => Vec::new(),
            },
        }
    }

    #[cfg(feature = "tune")]
    fn tuned(&mut self) -> Option<&mut dyn Tuned> {
        None
    }
}

impl Process for Threads {
    fn abort_handle(&self) -> AbortHandle {
        let job = Arc::clone(&self.job);
        Box::new(move |failure| job.record(failure))
    }

    fn doorbell(&self) -> Option<Doorbell> {
        self.job.doorbell(self.rank)
    }

    fn shelf(&self) -> &Shelf {
        self.job.shelf()
    }
}
