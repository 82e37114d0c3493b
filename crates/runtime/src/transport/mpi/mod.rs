//! Nodes as processes of an MPI job.
//!
//! The messages of collectives have tags by which only nodes that make the same calls receive them
//! ([`collectives`]). So lengths, roots, operations and orders that differ are detected before they do
//! harm. `STRATA_CHECK=1`, the default of builds with debug assertions, compares the calls before each
//! collective. Numbers are combined here, in rank order, with the same functions as on threads.
//!
//! Packets and puts go through [`connections`] and end in [`ports`].
//!
//! A failure is reported on standard error and aborts the job. Nodes publish their last calls in a
//! window of memory, at the cost of a few stores. A node that has waited long in a collective compares
//! them. A node that has left the program checks the calls of the others until all have left, because
//! a node that waits for it would wait forever. If all nodes wait, in any call, a token detects it
//! ([`deadlock`]).

mod collectives;
mod connections;
mod deadlock;
mod ffi;
mod ports;
mod shutdown;

#[cfg(test)]
mod tests;

use crate::block::{Contents, RawBlock};
use crate::error::Error;
use crate::number;
#[cfg(feature = "tune")]
use crate::transport::Tuned;
use crate::transport::header::Header;
use crate::transport::{
    Action, Awaited, Call, Collective, Endpoint, Extras, Failure, LOOKS, Library, Network, Networks,
    Operation, Packet, Scan, Way, panic_text,
};
use collectives::{COMPARED_EVERY, Collectives, SHORT, whole_below};
use connections::{Backoff, Connections};
use ffi::World;
pub(crate) use ffi::adopt::Adopted;
pub(crate) use ffi::control::set as set_variable;
use ffi::library::order_as_signed;
use ffi::requests::Requests;
pub(crate) use ffi::simulated_clock;
use shutdown::Shutdown;
use std::cell::RefCell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

/// Time for which a node that has detected another node's fault waits, so that the other can report
/// it first.
const COURTESY: Duration = Duration::from_secs(1);

/// Runs `program` as this process's node of the job. It gets the number of hosts, too.
pub(crate) fn run<T>(program: impl FnOnce(Box<dyn Endpoint>, usize) -> Result<T, Error>) -> Result<T, Error> {
    let world = World::get().map_err(start)?;
    let result = run_in(world, program);
    world.end_if_simulated();
    result
}

/// Runs `program` as this process's node of a communicator. It gets the number of hosts, too.
pub(crate) fn run_on<T>(
    nodes: &Adopted,
    program: impl FnOnce(Box<dyn Endpoint>, usize) -> Result<T, Error>,
) -> Result<T, Error> {
    run_in(nodes.world(), program)
}

/// Begins a program on this process's node of a communicator, with its number of hosts.
pub(crate) fn begin_on(nodes: &Adopted) -> Result<(Box<dyn Endpoint>, usize, Begun), Error> {
    begin(nodes.world())
}

fn start(reason: String) -> Error {
    Error::Start { transport: "mpi", reason }
}

fn run_in<T>(
    world: &'static World,
    program: impl FnOnce(Box<dyn Endpoint>, usize) -> Result<T, Error>,
) -> Result<T, Error> {
    let (node, hosts, begun) = begin(world)?;
    match catch_unwind(AssertUnwindSafe(|| program(node, hosts))) {
        Ok(Ok(result)) => {
            begun.end();
            Ok(result)
        }
        Ok(Err(error)) => begun.die(error),
        Err(payload) => begun.die(format_args!("panicked: {}", panic_text(&*payload))),
    }
}

fn begin(world: &'static World) -> Result<(Box<dyn Endpoint>, usize, Begun), Error> {
    if !world.enter() {
        return Err(start("this process is in an MPI program already".to_owned()));
    }
    let outside = Rc::new(RefCell::new(Outside {
        connections: Connections::new(world),
        shutdown: Shutdown::new(world),
    }));
    let node = Mpi::new(world, Rc::clone(&outside));
    Ok((Box::new(node), world.hosts(), Begun { world, outside }))
}

/// True if MPI has begun and not ended.
pub(crate) fn is_initialised() -> bool {
    ffi::adopt::is_initialised() == Ok(true)
}

/// A program of this process that has begun.
pub(crate) struct Begun {
    world: &'static World,
    outside: Rc<RefCell<Outside>>,
}

impl Begun {
    /// Ends the program, as all other nodes do, after it has dropped its endpoint.
    pub(crate) fn end(self) {
        // This is the last owner.
        if let Some(outside) = Rc::into_inner(self.outside) {
            outside.into_inner().end();
        }
        self.world.leave();
    }

    /// Ends the job on all nodes.
    pub(crate) fn die(&self, message: impl Display) -> ! {
        self.world.die(self.world.rank(), message)
    }
}

/// The state that continues after a program has dropped its node, because others may still be
/// sending to it.
struct Outside {
    connections: Connections,
    shutdown: Shutdown,
}

impl Outside {
    /// Ends this node's program, as all other nodes do.
    fn end(mut self) {
        let mut backoff = Backoff::default();
        self.shutdown.leave();
        while !self.shutdown.all_left() {
            if !self.connections.poll() {
                if backoff.is_sleeping() {
                    self.connections.idle(None, Awaited::AllLeft, None);
                }
                backoff.wait();
            }
        }
        // Others may have put data until now; after this no node sends any more.
        self.shutdown.leave_for_good();
        while !self.shutdown.all_left() {
            if !self.connections.poll() {
                backoff.wait();
            }
        }
        self.connections.finish(&Call::plain(Action::Leave, Location::caller()));
    }
}

/// One node's end of the MPI transport.
struct Mpi {
    world: &'static World,
    /// The number of collectives that this process has entered, and the hash of this program's.
    turn: u64,
    hash: u64,
    /// The previous call's header and place: in a loop most of it is unchanged.
    header: Header,
    place: Option<&'static Location<'static>>,
    /// True if the calls of every collective are compared first; equal on all nodes.
    checks: bool,
    /// The collective for which a caller waits, and the started one.
    whole: Collectives,
    started: Collectives,
    /// This node's values in collectives of the library; the memory is reused.
    mine: Vec<u64>,
    outside: Rc<RefCell<Outside>>,
    backoff: Backoff,
    /// The node whose bit of the asynchronous or was last found set.
    set: usize,
}

impl Mpi {
    /// Collective: if any node requests checks, all nodes check.
    #[track_caller]
    fn new(world: &'static World, outside: Rc<RefCell<Outside>>) -> Self {
        let wanted = std::env::var("STRATA_CHECK")
            .map_or(cfg!(debug_assertions), |value| !matches!(&*value, "" | "0"));
        let call = Call::plain(Action::GlobalOr, Location::caller());
        world.show_bit(true);
        Self {
            checks: world.any(&call, wanted),
            world,
            turn: world.turn(),
            hash: 0,
            header: Header::default(),
            place: None,
            whole: Collectives::new(world, 0),
            started: Collectives::new(world, 1),
            mine: Vec::new(),
            outside,
            backoff: Backoff::default(),
            set: 0,
        }
    }

    /// Publishes the current call of this node; true if the nodes compare their calls before it.
    fn enter(&mut self, call: &Call, started: bool) -> bool {
        self.turn += 1;
        if self.place.is_some_and(|place| std::ptr::eq(place, call.place)) {
            self.header.recall(call);
        } else {
            self.place = Some(call.place);
            self.header = Header::new(call);
        }
        self.header.start(started);
        self.hash = self.header.hash(self.hash);
        self.world.show(self.turn, &self.header);
        self.outside.borrow_mut().connections.enters();
        self.checks || self.turn.is_multiple_of(COMPARED_EVERY)
    }

    /// A whole collective that combines or moves `values`.
    fn combine(&mut self, call: &Call, operation: Operation, values: &mut [u8]) {
        let compares = self.enter(call, false);
        Requests::lend(
            values,
            self,
            |this| &mut this.whole.requests,
            |this| {
                this.whole.start(operation, this.hash, compares);
                this.complete(call);
            },
        );
    }

    fn all_gather(&mut self, call: Call, mine: &[u8], all: &mut [u8], by_messages: bool) {
        if mine.len() <= SHORT {
            let compares = self.enter(&call, false);
            self.whole.gather(mine, self.hash, compares);
            self.complete(&call);
            let parts = all.chunks_exact_mut(mine.len().max(1));
            return self
                .whole
                .gathered(mine.len())
                .zip(parts)
                .for_each(|(from, to)| to.copy_from_slice(from));
        }
        self.meet(&call);
        if by_messages {
            self.world.all_gather_by_messages(&call, mine, all);
        } else {
            self.world.all_gather(&call, mine, all);
        }
    }

    fn exchange(&mut self, call: Call, blocks: &mut [RawBlock], in_turn: bool) {
        self.meet(&call);
        let rank = self.world.rank();
        let leaving: Vec<u64> = blocks.iter().map(|block| block.bytes as u64).collect();
        let mut coming = vec![0; leaving.len()];
        self.world.all_to_all(&call, &leaving, &mut coming);
        coming[rank] = 0;
        let length = |bytes: &u64| usize::try_from(*bytes).unwrap_or(usize::MAX);
        let mut received: Vec<RawBlock> =
            coming.iter().map(|bytes| RawBlock::zeroed(length(bytes))).collect();
        let send: Vec<&[u8]> = blocks.iter().map(RawBlock::as_bytes).collect();
        let mut receive: Vec<&mut [u8]> = received.iter_mut().map(RawBlock::as_bytes_mut).collect();
        if in_turn {
            let size = send.len();
            for step in 1..size {
                // Empty parts are not sent.
                let (to, from) = ((rank + step) % size, (rank + size - step) % size);
                let (mut one, mut other) = (vec![&[][..]; size], Vec::with_capacity(size));
                one[to] = send[to];
                other.extend((0..size).map(|_| Default::default()));
                other[from] = std::mem::take(&mut receive[from]);
                self.world.exchange(&call, &one, &mut other);
            }
        } else {
            self.world.exchange(&call, &send, &mut receive);
        }
        std::mem::swap(&mut received[rank], &mut blocks[rank]);
        blocks.iter_mut().zip(received).for_each(|(block, new)| *block = new);
    }

    /// Enters a collective, and ends the job unless all nodes made the same call.
    fn meet(&mut self, call: &Call) {
        self.enter(call, false);
        self.whole.meet(self.hash);
        self.complete(call);
    }

    /// Waits until the whole collective in flight is complete. A node with open ports serves
    /// others' puts meanwhile, because a node that waits for its put cannot enter the collective.
    /// In a long wait it passes the token.
    fn complete(&mut self, call: &Call) {
        let serves = self.outside.borrow().connections.ports.are_open();
        let done = if simulated_clock().is_some() && !serves {
            // The library detects by itself that no simulated process can continue.
            self.whole.wait()
        } else {
            self.test_until_complete(call, serves)
        };
        match done {
            Ok(()) => self.whole.end(),
            Err(failure) => self.fail(failure),
        }
    }

    fn test_until_complete(&mut self, call: &Call, serves: bool) -> Result<(), Failure> {
        /// Tests before the first poll of a node without open ports: about a millisecond.
        const TESTS: u32 = 10_000;
        let (mut tests, mut backoff) = (0_u32, Backoff::default());
        while !self.whole.test()? {
            tests = tests.saturating_add(1);
            if serves || tests > TESTS {
                let connections = &mut self.outside.borrow_mut().connections;
                if !connections.poll() {
                    if tests > TESTS {
                        connections.idle(Some(call), Awaited::Operation, Some(self.whole.needs()));
                    }
                    if serves {
                        backoff.wait();
                    }
                }
            }
        }
        Ok(())
    }

    /// The library's collectives tell nothing about calls that differ, and do not return where a node
    /// makes another, so the nodes compare their calls first.
    fn by_library(&mut self, call: &Call, operation: Operation, values: &mut [u8]) {
        self.meet(call);
        if let Operation::Broadcast(root) = operation {
            return self.world.library_broadcast(call, root, values);
        }
        let words = values.len().div_ceil(8);
        if self.mine.len() < words {
            self.mine.resize(words, 0);
        }
        let mine = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut self.mine)[..values.len()];
        mine.copy_from_slice(values);
        match operation {
            Operation::Reduce(kind, op) => {
                order_as_signed(kind, op, mine);
                self.world.library_reduce(call, (kind, op), mine, values);
                order_as_signed(kind, op, values);
            }
            Operation::Scan(Scan { kind, op, .. }) => {
                order_as_signed(kind, op, mine);
                self.world.library_scan(call, (kind, op), mine, values);
                order_as_signed(kind, op, values);
                if self.world.rank() == 0 {
                    number::fill_identity(kind, op, values);
                }
            }
            // All nodes have met.
            Operation::Barrier | Operation::Broadcast(_) => {}
        }
    }
}

impl Endpoint for Mpi {
    fn place(&self) -> (usize, usize) {
        (self.world.rank(), self.world.size())
    }

    fn collective_by(&mut self, way: Way, call: Call, collective: Collective<'_>) {
        match collective {
            Collective::InPlace(operation, values) if way == Way::Library => {
                self.by_library(&call, operation, values);
            }
            Collective::InPlace(operation, values) => {
                self.whole.whole = match way {
                    Way::Whole => Some(true),
                    Way::Shares => Some(false),
                    _ => None,
                };
                self.combine(&call, operation, values);
            }
            Collective::AllGather { mine, all } => self.all_gather(call, mine, all, way == Way::InTurn),
            Collective::Exchange(blocks) => self.exchange(call, blocks, way == Way::InTurn),
        }
    }

    fn start(&mut self, call: Call, operation: Operation, values: RawBlock) {
        let compares = self.enter(&call, true);
        self.backoff.renew();
        self.started.requests.load(values);
        self.started.start(operation, self.hash, compares);
    }

    fn test(&mut self) -> bool {
        match self.started.test() {
            Ok(done) => done,
            Err(failure) => self.fail(failure),
        }
    }

    fn finish(&mut self) -> RawBlock {
        self.backoff.renew();
        self.started.end();
        self.started.requests.unload()
    }

    #[inline]
    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool {
        self.outside.borrow_mut().connections.try_send(network, to, packet)
    }

    #[inline]
    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool {
        let received = self.outside.borrow_mut().connections.try_receive(network, packet);
        if received {
            self.backoff.renew();
        }
        received
    }

    fn open(&mut self, port: usize, memory: RawBlock) {
        self.outside.borrow_mut().connections.ports.open(port, memory);
    }

    fn close(&mut self, port: usize) -> Option<RawBlock> {
        self.outside.borrow_mut().connections.close(port)
    }

    fn try_put(
        &mut self,
        call: &Call,
        to: usize,
        port: usize,
        offset: usize,
        contents: Contents<'_>,
    ) -> bool {
        self.outside.borrow_mut().connections.try_put(call, to, port, offset, contents.bytes)
    }

    fn put_by(&mut self, _: Way, call: &Call, to: usize, port: usize, offset: usize, contents: Contents<'_>) {
        self.outside.borrow_mut().connections.put(call, to, port, offset, contents.bytes);
    }

    fn arrivals(&mut self, _networks: Networks, report: &mut dyn FnMut(usize, usize)) {
        let connections = &mut self.outside.borrow_mut().connections;
        if connections.ports.are_open() {
            connections.poll();
            if connections.ports.has_news() {
                self.backoff.renew();
                connections.ports.report(report);
            }
        }
    }

    fn set_async_or(&mut self, value: bool) {
        self.world.show_bit(value);
    }

    /// Reads the other nodes' windows, without action of those nodes; first that of the node whose
    /// bit was last found set.
    fn async_or(&mut self) -> bool {
        let size = self.world.size();
        for rank in (self.set..size).chain(0..self.set) {
            match self.world.bit_of(rank) {
                Ok(false) => {}
                Ok(true) => {
                    self.set = rank;
                    return true;
                }
                Err(message) => self.fail(Failure { rank: self.world.rank(), message }),
            }
        }
        false
    }

    fn pause(&mut self, call: &Call, networks: Networks, awaited: Awaited) {
        if self.backoff.is_spinning() && !matches!(awaited, Awaited::Memory { .. }) {
            // The caller has just tried, and MPI made progress then: trying again is faster.
            return self.backoff.wait();
        }
        let Outside { connections, shutdown } = &mut *self.outside.borrow_mut();
        let mut news = connections.poll();
        news |=
            Network::BOTH.iter().any(|network| networks.has(*network) && connections.has_packet(*network));
        news |= connections.ports.has_news();
        // Others may need this node's part of a started collective, whatever it waits for.
        let complete = self.started.test().unwrap_or_else(|failure| blame(self.world, failure));
        news |= match awaited {
            Awaited::Packet | Awaited::Memory { .. } => false,
            Awaited::Operation => complete,
            Awaited::Room(network, to) => connections.has_room(network, to),
            Awaited::PutRoom(to) => connections.has_put_room(to),
            Awaited::AllLeft => shutdown.all_left(),
        };
        if news {
            self.backoff.renew();
            return;
        }
        if self.backoff.is_sleeping() {
            let needs = (awaited == Awaited::Operation).then(|| self.started.needs());
            connections.idle(Some(call), awaited, needs);
        }
        let mut looks = 1;
        if let Awaited::Memory { pauses } = awaited {
            if pauses == 0 {
                self.backoff.renew();
                connections.waits_anew();
            }
            // The caller has polled the memory itself.
            looks += LOOKS;
        }
        self.backoff.wait_after(looks);
    }

    fn extras(&mut self) -> Extras<'_> {
        Extras {
            put_limit: Connections::put_limit(),
            process: None,
            words: Some(self.world),
            messages: Some(self.world),
            library: Some(Library {
                above: SHORT,
                own: whole_below(self.world.size()),
                piggyback: &mut self.whole.piggyback,
            }),
            simulated: None,
            #[cfg(feature = "tune")]
            ways: |action| match action {
                // As long as a put without a message of its own for the data.
                Action::Put => vec![("pieces of 3968 bytes", Way::Pieces(Connections::put_limit()))],
                Action::Reduce
                | Action::Scan
                | Action::BackwardScan
                | Action::SegmentedScan
                | Action::SegmentedBackwardScan => {
                    vec![("whole vectors", Way::Whole), ("shares", Way::Shares)]
                }
                Action::Broadcast => vec![("whole vectors", Way::Whole)],
                Action::AllGather => vec![("messages", Way::InTurn)],
                Action::AllToAllV => vec![("one node at a time", Way::InTurn)],
                _ => Vec::new(),
            },
        }
    }

    #[cfg(feature = "tune")]
    fn tuned(&mut self) -> Option<&mut dyn Tuned> {
        None
    }

    fn leave(&mut self) {
        self.outside.borrow_mut().shutdown.leave();
    }

    fn all_left(&mut self) -> bool {
        let Outside { connections, shutdown } = &mut *self.outside.borrow_mut();
        connections.poll();
        shutdown.all_left()
    }

    fn fail(&mut self, failure: Failure) -> ! {
        blame(self.world, failure)
    }
}

/// Ends the job; first gives the other node time to report its own fault.
fn blame(world: &World, failure: Failure) -> ! {
    if failure.rank != world.rank() {
        std::thread::sleep(COURTESY);
    }
    world.die(failure.rank, failure.message);
}
