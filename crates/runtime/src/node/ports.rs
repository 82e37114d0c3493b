//! Ports: memory of one node into which others write (Brewer, manual, §7).
//!
//! A port counts the bytes that are still expected. Arriving data lower the count and headers raise
//! it, in any order; at zero the port is complete. The memory belongs to the run-time while the
//! port is open.

use super::Node;
use crate::block::{Block, Contents};
use crate::message::{OWN, Reply};
use crate::transport::{Action, Call, Endpoint, Network, Networks, Packet, Part, USER_PORTS};
use bytemuck::{Pod, cast_slice};
use std::collections::BTreeMap;
use std::panic::Location;

/// Words of a port for any use by the program.
pub const USER_WORDS: usize = 5;

/// The handler of headers.
const HEADER: u16 = OWN;

type OnComplete = Box<dyn FnMut(&mut Completed<'_>)>;

/// A node's open ports.
#[derive(Default)]
pub(super) struct Ports {
    open: BTreeMap<usize, Port>,
    /// The results of a poll; the memory is reused.
    arrived: Vec<(usize, usize)>,
}

#[derive(Default)]
struct Port {
    /// Announced bytes that have not arrived; negative if data arrived before their header.
    count: i64,
    /// The number of times that the count has reached zero, less the completions already waited
    /// for.
    completions: u64,
    handler: Option<OnComplete>,
    /// The handler named by a header, and the node that sent the header.
    named: Option<(u16, u32)>,
    user: [u64; USER_WORDS],
}

/// The context of a handler of complete ports.
pub struct Completed<'a> {
    port: usize,
    user: &'a mut [u64; USER_WORDS],
    transport: &'a mut dyn Endpoint,
    closed: bool,
}

impl Completed<'_> {
    /// The port's number.
    #[must_use]
    pub fn port(&self) -> usize {
        self.port
    }

    /// The port's words for any use by the program.
    pub fn user(&mut self) -> &mut [u64; USER_WORDS] {
        self.user
    }

    /// Closes the port and returns its memory; empty if it was closed before.
    pub fn close<T: Pod>(&mut self) -> Block<T> {
        self.closed = true;
        Block::from_raw(self.transport.close(self.port).unwrap_or_default())
    }
}

impl Node {
    /// Opens a port of this node: from now on any node may write into `memory`.
    ///
    /// ```
    /// use strata_runtime::prelude::*;
    ///
    /// let received = Machine::threads(2)?.run(|node| {
    ///     node.install(node.handlers());
    ///     node.open_port(0, Block::<u32>::zeroed(3));
    ///     node.expect::<u32>(0, 2);                       // two elements will come
    ///     node.barrier();                                 // both ports are open
    ///     node.put(1 - node.rank(), 0, 1, &[node.rank() as u32 + 7; 2]);
    ///     node.wait_for_port(0);
    ///     Ok(node.close_port::<u32>(0).to_vec())
    /// })?;
    /// assert_eq!(received, [[0, 8, 8], [0, 7, 7]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local. `port` must be below 4080 and not open, and handlers (or an empty list of them) must
    /// be [installed](Self::install); otherwise the job ends. Senders must know that the port is
    /// open, through a barrier or a message.
    #[track_caller]
    pub fn open_port<T: Pod>(&mut self, port: usize, memory: Block<T>) {
        let call = Call::to(Action::Put, self.rank(), Location::caller());
        if port >= USER_PORTS {
            self.no_such_port(&call, port);
        }
        if !self.inbox.is_in_use() {
            self.misuse(&call, &format!("port {port} before `install`: nodes that wait would not receive"));
        }
        if self.ports.open.contains_key(&port) {
            self.misuse(&call, &format!("port {port} is open already"));
        }
        self.ports.open.insert(port, Port::default());
        self.transport.open(port, memory.into_raw());
    }

    /// Closes a port of this node and returns its memory, with everything that has arrived.
    ///
    /// # Participation
    /// Local. The port must be open, otherwise the job ends. Data that arrive later end the job.
    #[track_caller]
    pub fn close_port<T: Pod>(&mut self, port: usize) -> Block<T> {
        match self.transport.close(port) {
            Some(memory) if self.ports.open.remove(&port).is_some() => Block::from_raw(memory),
            _ => self.not_open(port, Location::caller()),
        }
    }

    /// Announces `elements` elements of `T` to a port of this node, as a sender's header would.
    ///
    /// # Participation
    /// Local. The port must be open, otherwise the job ends.
    #[track_caller]
    pub fn expect<T: Pod>(&mut self, port: usize, elements: usize) {
        if !self.ports.open.contains_key(&port) {
            self.not_open(port, Location::caller());
        }
        self.count(port, bytes_of_elements::<T>(elements));
    }

    /// Sets a handler that runs on this node whenever the port is complete, inside the polling
    /// call.
    ///
    /// # Participation
    /// Local. The port must be open, otherwise the job ends.
    #[track_caller]
    pub fn on_complete(&mut self, port: usize, handler: impl FnMut(&mut Completed<'_>) + 'static) {
        match self.ports.open.get_mut(&port) {
            Some(state) => state.handler = Some(Box::new(handler)),
            None => self.not_open(port, Location::caller()),
        }
    }

    /// The words of a port for any use by the program; initially zero.
    ///
    /// # Participation
    /// Local. The port must be open, otherwise the job ends.
    #[track_caller]
    pub fn port_user(&mut self, port: usize) -> &mut [u64; USER_WORDS] {
        if !self.ports.open.contains_key(&port) {
            self.not_open(port, Location::caller());
        }
        &mut self.ports.open.entry(port).or_default().user
    }

    /// The announced bytes of a port that have not arrived; negative if data arrived before their
    /// header.
    ///
    /// # Participation
    /// Local. The port must be open, otherwise the job ends.
    #[track_caller]
    pub fn port_count(&mut self, port: usize) -> i64 {
        match self.ports.open.get(&port) {
            Some(state) => state.count,
            None => self.not_open(port, Location::caller()),
        }
    }

    /// Receives until the port's count has reached zero; each completion counts for one wait.
    ///
    /// # Participation
    /// Local. The port must be open, otherwise the job ends.
    #[track_caller]
    pub fn wait_for_port(&mut self, port: usize) {
        let place = Location::caller();
        let call = Call::to(Action::WaitForPort, port, place);
        while self.may_go_on() {
            match self.ports.open.get_mut(&port) {
                None => self.not_open(port, place),
                Some(state) if state.completions > 0 => {
                    state.completions -= 1;
                    return;
                }
                Some(_) => self.receive_or_pause(&call),
            }
        }
    }

    /// Announces `elements` elements of `T` to port `port` of node `to`. The data may arrive before
    /// or after it.
    ///
    /// # Participation
    /// Local. Node `to` must exist and its port be open, otherwise the job ends.
    #[track_caller]
    pub fn send_header<T: Pod>(&mut self, to: usize, port: usize, elements: usize) {
        self.send_header_naming::<T>(to, port, elements, 0, Location::caller());
    }

    /// As [`send_header`](Self::send_header); when the port is complete, `handler` runs on node
    /// `to` with the port's number, unless the port has a handler already (Brewer, manual, §7:
    /// `StrataXferHeaderHandler`).
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// use strata_runtime::prelude::*;
    ///
    /// let ports = Machine::threads(2)?.run(|node| {
    ///     let complete = Rc::new(Cell::new(0));
    ///     let seen = Rc::clone(&complete);
    ///     let mut handlers = node.handlers();
    ///     let done = handlers.reply(move |_, port: u64| seen.set(port));
    ///     node.install(handlers);
    ///     node.open_port(7, Block::<u32>::zeroed(2));
    ///     node.barrier();
    ///     let to = 1 - node.rank();
    ///     node.send_header_then::<u32>(to, 7, 2, done);
    ///     node.put(to, 7, 0, &[1u32, 2]);
    ///     node.wait_until(|| complete.get() == 7);
    ///     Ok(node.close_port::<u32>(7).to_vec())
    /// })?;
    /// assert_eq!(ports, [[1, 2], [1, 2]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// As [`send_header`](Self::send_header); `handler` must be installed.
    #[track_caller]
    pub fn send_header_then<T: Pod>(&mut self, to: usize, port: usize, elements: usize, handler: Reply<u64>) {
        let place = Location::caller();
        if usize::from(handler.number) >= self.inbox.handlers().1 {
            self.bad_send(to, &handler, place);
        }
        self.send_header_naming::<T>(to, port, elements, 1 + u64::from(handler.number), place);
    }

    /// `named` is a handler's number plus one, or 0 for none; it shares a word with the port, so
    /// that a header fits the CM-5's packets.
    fn send_header_naming<T: Pod>(
        &mut self,
        to: usize,
        port: usize,
        elements: usize,
        named: u64,
        place: &'static Location<'static>,
    ) {
        self.check_target(to, port, place);
        let bytes = bytes_of_elements::<T>(elements);
        let words = [port as u64 | named << 32, bytes.cast_unsigned()];
        let packet = Packet::new(HEADER, Part::Whole, 16, cast_slice(&words));
        if !self.try_send(Network::Request, to, &packet) {
            self.send_when_possible(to, &packet, place);
        }
    }

    /// Writes `values` into port `port` of node `to`, from element `offset` on, and lowers its
    /// count by their bytes.
    ///
    /// Returns when `values` may be reused; the data are then in flight or have arrived. Several
    /// nodes may write into one port; if they write the same elements, one of the values remains.
    ///
    /// # Participation
    /// Local. Node `to` must exist and its port be open and long enough, otherwise the job ends. On
    /// MPI a long put returns only after node `to` has called any operation of its node.
    #[track_caller]
    pub fn put<T: Pod>(&mut self, to: usize, port: usize, offset: usize, values: &[T]) {
        let place = Location::caller();
        let offset = self.bytes_of_offset::<T>(&Call::to(Action::Put, to, place), offset);
        self.put_contents(to, port, offset, cast_slice(values).into(), place);
    }

    /// As [`put`](Self::put) with a block's elements, or the number that it represents (see
    /// [`block`](Self::block)).
    ///
    /// # Participation
    /// As [`put`](Self::put).
    #[track_caller]
    pub fn put_block<T: Pod>(&mut self, to: usize, port: usize, offset: usize, block: &Block<T>) {
        let place = Location::caller();
        let offset = self.bytes_of_offset::<T>(&Call::to(Action::Put, to, place), offset);
        self.put_contents(to, port, offset, block.contents(), place);
    }

    fn put_contents(
        &mut self,
        to: usize,
        port: usize,
        offset: usize,
        contents: Contents<'_>,
        place: &'static Location<'static>,
    ) {
        self.check_target(to, port, place);
        if self.may_go_on() {
            self.put_all(&Call::to(Action::Put, to, place), to, port, offset, contents);
        }
    }

    /// The bytes before element `offset`. Strata's offsets may be negative, because its ports begin
    /// anywhere in their memory; an offset that results from a negative number is reported.
    pub(super) fn bytes_of_offset<T>(&mut self, call: &Call, offset: usize) -> usize {
        if let Ok(offset) = isize::try_from(offset) {
            return offset.unsigned_abs().saturating_mul(size_of::<T>());
        }
        let message = format!(
            "the offset {} is negative: offsets count from the first element of a port's memory",
            offset.cast_signed()
        );
        self.misuse(call, &message);
    }

    pub(super) fn has_open_ports(&self) -> bool {
        !self.ports.open.is_empty()
    }

    pub(super) fn check_target(&mut self, to: usize, port: usize, place: &'static Location<'static>) {
        if to >= self.size() || port >= USER_PORTS {
            let call = Call::to(Action::Put, to, place);
            self.check_root(&call, to);
            self.no_such_port(&call, port);
        }
    }

    #[cold]
    fn no_such_port(&mut self, call: &Call, port: usize) -> ! {
        self.misuse(call, &format!("there is no port {port}: ports are 0 to {}", USER_PORTS - 1));
    }

    /// Opens one of the run-time's own ports, in which `bytes` bytes will arrive.
    pub(crate) fn open_own<T: Pod>(&mut self, port: usize, memory: Block<T>, bytes: usize) {
        let count = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.ports.open.insert(port, Port { count, ..Port::default() });
        self.transport.open(port, memory.into_raw());
    }

    /// Waits for all bytes of one of the run-time's own ports, and closes it.
    pub(crate) fn close_own<T: Pod>(&mut self, call: &Call, port: usize) -> Block<T> {
        while self.may_go_on() && self.ports.open.get(&port).is_some_and(|state| state.count != 0) {
            self.receive_or_pause(call);
        }
        self.ports.open.remove(&port);
        Block::from_raw(self.transport.close(port).unwrap_or_default())
    }

    /// Counts the data that have arrived in ports; returns the number of ports.
    #[inline]
    pub(super) fn data_arrived(&mut self, networks: Networks) -> usize {
        if self.ports.open.is_empty() { 0 } else { self.count_arrivals(networks) }
    }

    fn count_arrivals(&mut self, networks: Networks) -> usize {
        let mut arrived = std::mem::take(&mut self.ports.arrived);
        self.transport.arrivals(networks, &mut |port, bytes| arrived.push((port, bytes)));
        let ports = arrived.len();
        for (port, bytes) in arrived.drain(..) {
            self.count(port, -i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        self.ports.arrived = arrived;
        ports
    }

    /// Handles an arrived header.
    #[cold]
    pub(super) fn header_arrived(&mut self, packet: &Packet) {
        let [word, bytes, ..] = packet.data;
        let (port, named) = (word & u64::from(u32::MAX), word >> 32);
        let port = usize::try_from(port).unwrap_or(usize::MAX);
        if !self.ports.open.contains_key(&port) {
            let from = packet.from;
            self.fail(format!("node {from} sent a header for port {port}, which is not open"));
        }
        if let (Some(state), Ok(named)) = (self.ports.open.get_mut(&port), u16::try_from(named))
            && named > 0
        {
            state.named.get_or_insert((named - 1, packet.from));
        }
        self.count(port, bytes.cast_signed());
    }

    /// Changes the count of a port, and completes the port if the count reaches zero.
    fn count(&mut self, port: usize, change: i64) {
        // Arrivals in a port that a handler has closed meanwhile are ignored.
        let Some(state) = self.ports.open.get_mut(&port) else { return };
        state.count += change;
        if state.count != 0 {
            return;
        }
        state.completions += 1;
        let Some(handler) = &mut state.handler else {
            if let Some((number, from)) = state.named {
                let mut packet = Packet::new(number, Part::Whole, 8, &(port as u64).to_ne_bytes());
                packet.from = from;
                if let Err(message) = self.inbox.handle(Network::Reply, &packet) {
                    self.fail(message);
                }
            }
            return;
        };
        let user = &mut state.user;
        let mut context = Completed { port, user, transport: &mut *self.transport, closed: false };
        handler(&mut context);
        if context.closed {
            self.ports.open.remove(&port);
        }
    }

    #[cold]
    fn not_open(&mut self, port: usize, place: &'static Location<'static>) -> ! {
        let call = Call::to(Action::Put, self.rank(), place);
        self.misuse(&call, &format!("port {port} of this node is not open"));
    }
}

fn bytes_of_elements<T>(elements: usize) -> i64 {
    i64::try_from(elements.saturating_mul(size_of::<T>())).unwrap_or(i64::MAX)
}
