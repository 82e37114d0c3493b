//! A job: the memory that its nodes share, their rendezvous, and the end of the job on all nodes
//! after a failure.

#![allow(unsafe_code, reason = "reads slots under the rendezvous' order")]

use super::bind::Cores;
use super::doorbell::Doorbell;
use super::loan::Loan;
use super::ports::Ports;
use super::queue::Queue;
use super::rendezvous::{Mode, Slots};
use super::ring::Ring;
use super::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, UNDER_LOOM};
use super::wait::{Parkers, Waiting};
use super::{MOST, Threads};
use crate::block::RawBlock;
use crate::error::Error;
use crate::transport::deadlock::{Standing, explain};
use crate::transport::{Awaited, Call, Endpoint, Failure, Network, Packet, Shelf, Stop, panic_text};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

/// Polls of memory between two looks at what the other nodes do: a fifth of a second, so that a
/// library that finds such a wait itself (connection sets) has the time to say it in its own terms.
const POLLS_BETWEEN: u32 = if cfg!(test) { 64 } else { 2048 };

/// Blocks in flight from one node to another. An exchange starts with a rendezvous, so there is
/// never more than one.
type Channel = Queue<RawBlock, 2>;

/// Packets queued at a node on one network: 32 KiB, the size of a first-level cache.
pub(super) const RING: usize = if UNDER_LOOM { 2 } else { 256 };
type Packets = Ring<RING>;

/// A node's stack. It has the usual size of a main thread's, so that code written for a main thread
/// runs on a node; the memory is only reserved.
const STACK: usize = 8 << 20;

/// The most nodes that each wait for every other's slot: an estimate, because each reads that many
/// cache lines.
const MOST_EAGER: usize = 16;

/// A cache line of its own for a value that many nodes poll.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// The nodes on which a waiting node depends.
#[derive(Clone, Copy)]
pub(super) enum Peers {
    /// All nodes, within their programs.
    All,
    /// This node, within its program.
    Node(usize),
    /// This node, while it receives packets.
    Receiver(usize),
    /// Any other node that can still send.
    Anyone,
}

/// The condition on which a node that waits for a rendezvous may unwind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwinds {
    /// As soon as the job has failed.
    WhenFailed,
    /// When the rendezvous can no longer complete. The node has lent memory of its program, and any
    /// node that finds the rendezvous complete accesses that memory, even in a failed job.
    WhenIncomplete,
    /// Never: all nodes are between two rendezvous of this module.
    Never,
}

/// The state shared by the nodes of one job.
pub(super) struct Job {
    slots: Box<[Slots]>,
    /// True if each node waits for every slot, instead of for `complete`.
    eager: bool,
    /// True if there are more nodes than cores. Determined before nodes are bound: the system
    /// reports one core to a bound thread.
    crowded: bool,
    /// The number of nodes that have arrived at the present rendezvous.
    arrived: Apart<AtomicUsize>,
    /// The number of the last rendezvous at which all have arrived.
    complete: Apart<AtomicU64>,
    parkers: Parkers,
    /// By node: the awaited event while it sleeps.
    waits: Box<[Noted]>,
    /// By node: rung when it has something to receive, or the job has failed.
    doorbells: Box<[Doorbell]>,
    /// From node i to node j at `i * size + j`, created at first use.
    channels: Box<[OnceLock<Box<Channel>>]>,
    /// Packets to node i on network j at `2 * i + j`, created at first use.
    rings: Box<[OnceLock<Box<Packets>>]>,
    /// Number of nodes that wait for room in these queues.
    waiters: Box<[AtomicUsize]>,
    ports: Box<[Ports]>,
    /// Number of set bits of the asynchronous or.
    async_or: Apart<AtomicUsize>,
    /// True for nodes whose programs have ended.
    left: Box<[AtomicBool]>,
    leavers: AtomicUsize,
    /// True for nodes that have dropped their transport.
    gone: Box<[AtomicBool]>,
    /// Memory lent by nodes that left with an operation in flight: others may still access it.
    retained: Mutex<Vec<Loan>>,
    /// Values that nodes exchange.
    shelf: Shelf,
    /// The failure that ended the job.
    failure: Mutex<Option<Failure>>,
    failed: AtomicBool,
}

/// The call and the awaited event of a node.
type Noted = Mutex<Option<(Call, Awaited)>>;

/// A wait of a node: the awaited event, and the peers that may end it.
struct Wait<'a, F> {
    job: &'a Job,
    rank: usize,
    call: &'a Call,
    awaited: Awaited,
    check: F,
}

impl<F: Fn()> Waiting for Wait<'_, F> {
    fn check(&self) {
        (self.check)();
    }

    fn note(&self) {
        let mut place = self.job.waits[self.rank].lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some((*self.call, self.awaited));
    }

    fn stuck(&self) {
        self.job.end_stuck();
    }
}

impl Job {
    fn new(nodes: usize) -> Self {
        Self::on_cores(nodes, thread::available_parallelism().map_or(1, usize::from))
    }

    /// A job of `nodes` nodes that share `cores` cores.
    pub(super) fn on_cores(nodes: usize, cores: usize) -> Self {
        Self {
            slots: (0..nodes).map(|_| Slots::new()).collect(),
            eager: nodes <= cores.min(MOST_EAGER),
            crowded: nodes > cores,
            arrived: Apart::default(),
            complete: Apart::default(),
            parkers: Parkers::new(nodes, nodes > cores),
            waits: (0..nodes).map(|_| Mutex::default()).collect(),
            doorbells: (0..nodes).map(|_| Doorbell::default()).collect(),
            channels: (0..nodes * nodes).map(|_| OnceLock::new()).collect(),
            rings: (0..2 * nodes).map(|_| OnceLock::new()).collect(),
            waiters: (0..2 * nodes).map(|_| AtomicUsize::new(0)).collect(),
            ports: (0..nodes).map(|_| Ports::new()).collect(),
            async_or: Apart(AtomicUsize::new(nodes)),
            left: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            leavers: AtomicUsize::new(0),
            gone: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            retained: Mutex::new(Vec::new()),
            shelf: Mutex::new(vec![None; nodes]),
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    /// Records that node `rank` arrives at rendezvous `epoch`.
    ///
    /// # Safety
    /// The caller is node `rank` and has arrived at all rendezvous before `epoch`.
    pub(super) unsafe fn arrive(
        &self,
        rank: usize,
        epoch: u64,
        call: &Call,
        mode: Mode,
        bytes: &[u8],
        lent: *mut u8,
    ) {
        // SAFETY: the caller's obligation is the same.
        unsafe { self.slots[rank].write(epoch, call, mode, bytes, lent) };
        if self.eager {
            self.parkers.wake_all();
        } else if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.size() {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.complete.0.store(epoch, Ordering::Release);
            self.parkers.wake_all();
        }
    }

    /// Node `rank`, which has arrived at rendezvous `epoch`, waits until all have, unless it
    /// unwinds.
    pub(super) fn wait_for_all(&self, rank: usize, epoch: u64, call: &Call, unwinds: Unwinds) {
        let wait = |ready: &dyn Fn() -> bool| match unwinds {
            Unwinds::WhenFailed => self.check(rank, call, Peers::All, ready),
            Unwinds::WhenIncomplete => self.unwind_if_incomplete(rank, epoch, call),
            Unwinds::Never => {}
        };
        if self.eager {
            for slots in &self.slots {
                let ready = || slots.is_written(epoch);
                self.sleep(rank, call, Awaited::Operation, ready, || wait(&ready));
            }
        } else {
            let ready = || self.complete.0.load(Ordering::Acquire) >= epoch;
            self.sleep(rank, call, Awaited::Operation, ready, || wait(&ready));
        }
    }

    /// True if all have arrived at rendezvous `epoch`; the first `seen` nodes are known to have
    /// arrived, and `seen` may grow.
    #[inline]
    pub(super) fn all_arrived(&self, epoch: u64, seen: &mut usize) -> bool {
        if self.eager {
            *seen += self.slots[*seen..].iter().take_while(|slots| slots.is_written(epoch)).count();
            *seen == self.size()
        } else {
            self.complete.0.load(Ordering::Acquire) >= epoch
        }
    }

    /// The slots of every node, in rank order.
    pub(super) fn slots(&self) -> &[Slots] {
        &self.slots
    }

    /// The failure to report if not all arrived at rendezvous `epoch` with the same call; equal on
    /// all nodes.
    ///
    /// # Safety
    /// The caller takes part in rendezvous `epoch`, all have arrived, and it has not arrived at the
    /// next.
    pub(super) unsafe fn mismatch(&self, epoch: u64) -> Option<Failure> {
        // SAFETY: the caller's obligation is the same.
        let mut calls = self.slots.iter().map(|slots| unsafe { slots.call(epoch) }).enumerate();
        let (_, (first, mode)) = calls.next()?;
        let agrees = |(other, how): &(Call, Mode)| {
            first.agrees(other.what, other.root, other.length) && mode.started == how.started
        };
        let (rank, (other, how)) = calls.find(|(_, other)| !agrees(other))?;
        if mode.started == how.started {
            return Some(other.differs(rank, &first));
        }
        let name = |started| if started { "split-phase" } else { "blocking" };
        let (how, mode) = (name(how.started), name(mode.started));
        let message = format!("{how} {other}, but node 0 called {mode} {first}");
        Some(Failure { rank, message })
    }

    /// Sends a block to node `to`.
    ///
    /// # Safety
    /// The caller is node `from`.
    pub(super) unsafe fn send(&self, from: usize, to: usize, call: &Call, mut block: RawBlock) {
        let channel = self.channel(from, to);
        // SAFETY: only node `from` pushes here.
        while let Err(back) = unsafe { channel.push(block) } {
            block = back;
            self.wait(from, call, Peers::Node(to), || !channel.is_full());
        }
        self.parkers.wake(to);
    }

    /// Waits for the next block from node `from`.
    ///
    /// # Safety
    /// The caller is node `to`.
    pub(super) unsafe fn receive(&self, from: usize, to: usize, call: &Call) -> RawBlock {
        let channel = self.channel(from, to);
        loop {
            // SAFETY: only node `to` pops here.
            if let Some(block) = unsafe { channel.pop() } {
                self.parkers.wake(from);
                return block;
            }
            self.wait(to, call, Peers::Node(from), || !channel.is_empty());
        }
    }

    fn channel(&self, from: usize, to: usize) -> &Channel {
        self.channels[from * self.size() + to].get_or_init(|| Box::new(Channel::new()))
    }

    #[inline]
    pub(super) fn packets(&self, to: usize, network: Network) -> &Packets {
        self.rings[2 * to + network as usize].get_or_init(|| Box::new(Packets::new()))
    }

    /// True if a packet waits for node `rank`, which is the caller.
    #[inline]
    pub(super) fn has_packet(&self, rank: usize, network: Network) -> bool {
        self.rings[2 * rank + network as usize].get().is_some_and(|packets| packets.has_packet())
    }

    /// Takes the next packet for node `rank`.
    ///
    /// # Safety
    /// The caller is node `rank`.
    #[inline]
    pub(super) unsafe fn take(&self, rank: usize, network: Network, packet: &mut Packet) -> bool {
        // SAFETY: only node `rank` receives packets here.
        self.rings[2 * rank + network as usize].get().is_some_and(|packets| unsafe { packets.pop(packet) })
    }

    /// Node `rank`, in `call`, waits until `ready`; `check` may unwind.
    #[inline]
    pub(super) fn sleep(
        &self,
        rank: usize,
        call: &Call,
        awaited: Awaited,
        ready: impl Fn() -> bool,
        check: impl Fn(),
    ) {
        if !self.parkers.spin(rank, &ready) {
            self.parkers.wait_long(rank, &ready, &Wait { job: self, rank, call, awaited, check });
        }
    }

    /// As [`sleep`](Self::sleep), for a `ready` that becomes true when there is room for a packet
    /// to node `to`.
    pub(super) fn wait_for_room(
        &self,
        rank: usize,
        call: &Call,
        (network, to): (Network, usize),
        ready: impl Fn() -> bool,
        check: impl Fn(),
    ) {
        let ring = 2 * to + network as usize;
        // Before the fence of the wait, like the parker's fields.
        self.waiters[ring].fetch_add(1, Ordering::Relaxed);
        let awaited = Awaited::Room(network, to);
        self.parkers.wait_for(rank, ring + 1, ready, &Wait { job: self, rank, call, awaited, check });
        self.waiters[ring].fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes the nodes that sleep until there is room at node `rank`, which has received packets.
    pub(super) fn notify_room(&self, rank: usize) {
        if !self.parkers.someone_sleeps() {
            return;
        }
        for ring in [2 * rank, 2 * rank + 1] {
            if self.waiters[ring].load(Ordering::Relaxed) > 0 {
                self.parkers.wake_awaiting(ring + 1);
            }
        }
    }

    /// Notifies node `to`, which may be `from` itself, that node `from` has made something visible
    /// that `to` receives.
    #[inline]
    pub(super) fn tell(&self, from: usize, to: usize) {
        if to != from {
            // This call includes the fence that the doorbell requires.
            self.parkers.wake(to);
        }
        self.doorbells[to].ring();
    }

    /// `None` if a node that accesses memory without pause would keep another one from its core.
    pub(super) fn doorbell(&self, node: usize) -> Option<Doorbell> {
        (!self.crowded).then(|| self.doorbells[node].clone())
    }

    pub(super) fn ports(&self, node: usize) -> &Ports {
        &self.ports[node]
    }

    /// Values that nodes exchange.
    pub(super) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// The counter of set bits of the asynchronous or.
    pub(super) fn async_or(&self) -> &AtomicUsize {
        &self.async_or.0
    }

    pub(super) fn retain(&self, loan: Loan) {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner).push(loan);
    }

    /// Waits until `ready`, which requires `peers` to act; unwinds if they no longer can.
    fn wait(&self, rank: usize, call: &Call, peers: Peers, ready: impl Fn() -> bool) {
        self.sleep(rank, call, Awaited::Operation, &ready, || self.check(rank, call, peers, &ready));
    }

    /// Unwinds if the job has failed, or if an awaited node has left. Once a node is seen to have
    /// left, all its earlier writes are visible, so a condition that is still false stays false.
    pub(super) fn check(&self, rank: usize, call: &Call, peers: Peers, ready: &dyn Fn() -> bool) {
        self.unwind_if_failed();
        if self.leavers.load(Ordering::Acquire) == 0 {
            return;
        }
        let left = |node: &usize| self.left[*node].load(Ordering::Acquire);
        let gone = |node: &usize| self.gone[*node].load(Ordering::Acquire);
        let missing = match peers {
            Peers::Node(node) => Some(node).filter(left),
            Peers::All => (0..self.size()).find(left),
            Peers::Receiver(node) => Some(node).filter(gone),
            Peers::Anyone => {
                let mut others = (0..self.size()).filter(|node| *node != rank);
                others.clone().all(|node| gone(&node)).then(|| others.next()).flatten()
            }
        };
        if let Some(missing) = missing
            && !ready()
        {
            let message = format!("left the program while node {rank} waits in {call}");
            self.fail(Failure { rank: missing, message });
        }
    }

    /// Called by node `rank` when it has polled memory in vain, `pauses` times before in this wait.
    /// Ends the job if no node can act any more; `before` are the waits that it saw last.
    pub(super) fn polled(&self, rank: usize, call: &Call, pauses: u32, before: &mut Option<Vec<u64>>) {
        self.parkers.polled(rank, pauses == 0);
        if !pauses.is_multiple_of(POLLS_BETWEEN) {
            return;
        }
        Wait { job: self, rank, call, awaited: Awaited::Memory { pauses }, check: || {} }.note();
        let unread = |node: usize| {
            Network::BOTH.into_iter().any(|on| self.has_packet(node, on)) || self.ports(node).has_news()
        };
        let now = self.parkers.idle_waits().filter(|_| !(0..self.size()).any(unread));
        if let (Some(before), Some(now)) = (&before, &now)
            && Parkers::stood_still(before, now)
        {
            self.end_stuck();
        }
        *before = now;
    }

    /// Unwinds if a node has ended without arriving at rendezvous `epoch`, which then never
    /// completes.
    fn unwind_if_incomplete(&self, rank: usize, epoch: u64, call: &Call) {
        if self.leavers.load(Ordering::Acquire) == 0 {
            return;
        }
        // A node writes its slot before it leaves, so a slot that is not written then never will
        // be.
        let missing =
            |node: &usize| self.left[*node].load(Ordering::Acquire) && !self.slots[*node].is_written(epoch);
        if let Some(missing) = (0..self.size()).find(missing) {
            let message = format!("left the program while node {rank} waits in {call}");
            self.fail(Failure { rank: missing, message });
        }
    }

    /// Unwinds if the job has failed, unless the node already unwinds and runs destructors.
    #[inline]
    pub(super) fn unwind_if_failed(&self) {
        if self.failed.load(Ordering::Acquire) && !thread::panicking() {
            self.unwind();
        }
    }

    /// Ends the job; the first failure is reported.
    pub(super) fn fail(&self, failure: Failure) -> ! {
        self.record(failure);
        self.unwind();
    }

    /// Leaves the node's program because the job has failed.
    pub(super) fn unwind(&self) -> ! {
        resume_unwind(Box::new(Stop));
    }

    /// Records the first failure; waiting nodes unwind.
    pub(super) fn record(&self, failure: Failure) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        self.failed.store(true, Ordering::Release);
        // This call includes the fence that the doorbells require.
        self.parkers.wake_all();
        self.doorbells.iter().for_each(Doorbell::ring);
    }

    #[cfg(all(test, loom))]
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records that node `rank`'s program has ended; calling this again has no effect.
    pub(super) fn leave(&self, rank: usize) {
        if !self.left[rank].swap(true, Ordering::Release) {
            self.leavers.fetch_add(1, Ordering::Release);
            self.parkers.wake_all();
        }
    }

    pub(super) fn all_left(&self) -> bool {
        self.leavers.load(Ordering::Acquire) == self.size()
    }

    /// Records that node `rank` will receive no more packets.
    pub(super) fn mark_gone(&self, rank: usize) {
        self.gone[rank].store(true, Ordering::Release);
        self.parkers.begin_wait(rank);
        self.leave(rank);
        self.parkers.wake_all();
        if self.parkers.count_parked() {
            self.end_stuck();
        }
    }

    /// Ends the job; all nodes sleep or are gone.
    #[cold]
    fn end_stuck(&self) {
        let standing = |rank: usize| match &*self.waits[rank].lock().unwrap_or_else(PoisonError::into_inner) {
            Some((call, awaited)) if !self.gone[rank].load(Ordering::Acquire) => {
                Standing::waits(call, *awaited)
            }
            _ => Standing::Ended,
        };
        let standings: Vec<_> = (0..self.size()).map(|rank| (rank, standing(rank))).collect();
        // `None` if all nodes are gone.
        if let Some(failure) = explain(standings, "") {
            self.record(failure);
        }
    }

    pub(super) fn enter(&self, rank: usize) {
        self.parkers.enter(rank);
    }

    /// Runs one node's program until it returns, fails or unwinds.
    fn node<T>(
        self: &Arc<Self>,
        rank: usize,
        program: impl FnOnce(Box<dyn Endpoint>) -> Result<T, Error>,
    ) -> Option<T> {
        self.enter(rank);
        let transport = Box::new(Threads::new(Arc::clone(self), rank));
        let result = match catch_unwind(AssertUnwindSafe(|| program(transport))) {
            Ok(Ok(result)) => Some(result),
            Ok(Err(error)) => {
                self.record(Failure { rank, message: error.to_string() });
                None
            }
            Err(payload) if payload.is::<Stop>() => None,
            Err(payload) => {
                self.record(Failure { rank, message: format!("panicked: {}", panic_text(&*payload)) });
                None
            }
        };
        // After the failure is recorded, so that this node's absence is not reported as the cause.
        self.mark_gone(rank);
        result
    }
}

/// Runs `program` on `nodes` threads; returns the results by rank.
pub(crate) fn run<T: Send>(
    nodes: usize,
    program: impl Fn(Box<dyn Endpoint>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if nodes == 0 || nodes > MOST {
        return Err(Error::Nodes { asked: nodes, most: MOST });
    }
    let job = Arc::new(Job::new(nodes));
    let cores = Cores::of_job(nodes);
    let (job, program, cores) = (&job, &program, &cores);
    let results: Vec<Option<T>> = thread::scope(|scope| {
        let start = |rank| {
            thread::Builder::new().name(format!("node {rank}")).stack_size(STACK).spawn_scoped(
                scope,
                move || {
                    cores.bind(rank);
                    job.node(rank, program)
                },
            )
        };
        let mut threads = Vec::with_capacity(nodes);
        for rank in 0..nodes {
            match start(rank) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    job.record(Failure { rank, message: format!("its thread did not start: {error}") });
                    (rank..nodes).for_each(|missing| job.mark_gone(missing));
                    break;
                }
            }
        }
        threads.into_iter().map(|thread| thread.join().unwrap_or(None)).collect()
    });
    match job.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(Failure { rank, message }) => Err(Error::Node { rank, message }),
        None => Ok(results.into_iter().flatten().collect()),
    }
}
