//! Ports: memory of one node that others write into (Brewer, manual, §7).
//!
//! A port has a count of bytes that are still to come. Data that arrive lower it, headers raise it,
//! in whatever order they come: when it reaches zero the port is complete. The memory belongs to
//! the run-time while the port is open.

use super::Node;
use crate::block::{Block, Contents};
use crate::message::OWN;
use crate::transport::{Action, Call, Endpoint, Network, Networks, Packet, Part, USER_PORTS};
use bytemuck::{Pod, cast_slice};
use std::collections::BTreeMap;
use std::panic::Location;

/// Words of a port that are free for any use.
pub const USER_WORDS: usize = 5;

/// The handler of headers.
const HEADER: u16 = OWN;

type OnComplete = Box<dyn FnMut(&mut Completed<'_>)>;

/// A node's open ports.
#[derive(Default)]
pub(super) struct Ports {
    open: BTreeMap<usize, Port>,
    /// What a poll finds; kept for its memory.
    arrived: Vec<(usize, usize)>,
}

#[derive(Default)]
struct Port {
    /// Bytes announced and not yet here; negative where data came before their header.
    count: i64,
    /// How often the count has come to zero, less the times that was waited for.
    completions: u64,
    handler: Option<OnComplete>,
    user: [u64; USER_WORDS],
}

/// What the handler of a complete port may do.
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

    /// The port's words that are free for any use.
    pub fn user(&mut self) -> &mut [u64; USER_WORDS] {
        self.user
    }

    /// Closes the port and takes its memory; empty if that was done before.
    pub fn close<T: Pod>(&mut self) -> Block<T> {
        self.closed = true;
        Block::from_raw(self.transport.close(self.port).unwrap_or_default())
    }
}

impl Node {
    /// Opens a port of this node: from now on any node may write into `memory`.
    ///
    /// # Participation
    /// Local. `port` is below 4080 and not open, and handlers, be it an empty list of them, were
    /// [installed](Self::install); else the job ends. A sender has to know that the port is open: a
    /// barrier tells it, or a message.
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

    /// Closes a port of this node and takes its memory back. What has arrived is in it.
    ///
    /// # Participation
    /// Local. The port is open, else the job ends. Data that arrive later end the job.
    #[track_caller]
    pub fn close_port<T: Pod>(&mut self, port: usize) -> Block<T> {
        match self.transport.close(port) {
            Some(memory) if self.ports.open.remove(&port).is_some() => Block::from_raw(memory),
            _ => self.not_open(port, Location::caller()),
        }
    }

    /// Announces `elements` elements of `T` to a port of this node: as if a sender's header had
    /// come.
    ///
    /// # Participation
    /// Local. The port is open, else the job ends.
    #[track_caller]
    pub fn expect<T: Pod>(&mut self, port: usize, elements: usize) {
        if !self.ports.open.contains_key(&port) {
            self.not_open(port, Location::caller());
        }
        self.count(port, bytes_of_elements::<T>(elements));
    }

    /// Sets what runs on this node whenever the port is complete, inside the call that polls.
    ///
    /// # Participation
    /// Local. The port is open, else the job ends.
    #[track_caller]
    pub fn on_complete(&mut self, port: usize, handler: impl FnMut(&mut Completed<'_>) + 'static) {
        match self.ports.open.get_mut(&port) {
            Some(state) => state.handler = Some(Box::new(handler)),
            None => self.not_open(port, Location::caller()),
        }
    }

    /// The words of a port that are free for any use; zero at first.
    ///
    /// # Participation
    /// Local. The port is open, else the job ends.
    #[track_caller]
    pub fn port_user(&mut self, port: usize) -> &mut [u64; USER_WORDS] {
        if !self.ports.open.contains_key(&port) {
            self.not_open(port, Location::caller());
        }
        &mut self.ports.open.entry(port).or_default().user
    }

    /// The bytes that were announced to a port and are not yet here; negative where data came
    /// before their header.
    ///
    /// # Participation
    /// Local. The port is open, else the job ends.
    #[track_caller]
    pub fn port_count(&mut self, port: usize) -> i64 {
        match self.ports.open.get(&port) {
            Some(state) => state.count,
            None => self.not_open(port, Location::caller()),
        }
    }

    /// Receives until the port's count has come to zero; each completion counts for one wait.
    ///
    /// # Participation
    /// Local. The port is open, else the job ends.
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

    /// Announces `elements` elements of `T` to port `port` of node `to`. The data may come before
    /// it or after it.
    ///
    /// # Participation
    /// Local. There is a node `to` whose port is open, else the job ends.
    #[track_caller]
    pub fn send_header<T: Pod>(&mut self, to: usize, port: usize, elements: usize) {
        let place = Location::caller();
        self.check_target(to, port, place);
        let bytes = bytes_of_elements::<T>(elements);
        let words = [port as u64, bytes.cast_unsigned()];
        let packet = Packet::new(HEADER, Part::Whole, 16, cast_slice(&words));
        if !self.try_send(Network::Request, to, &packet) {
            self.send_when_possible(to, &packet, place);
        }
    }

    /// Writes `values` into port `port` of node `to`, from element `offset` on, and lowers its
    /// count by their bytes.
    ///
    /// Returns when `values` may be reused; the data are then on their way or there. Several nodes
    /// may write into one port; where they write the same elements, one of them wins.
    ///
    /// # Participation
    /// Local. There is a node `to` whose port is open and long enough, else the job ends. On MPI
    /// node `to` has to call any operation of its node before a long put returns.
    #[track_caller]
    pub fn put<T: Pod>(&mut self, to: usize, port: usize, offset: usize, values: &[T]) {
        let place = Location::caller();
        let offset = offset.saturating_mul(size_of::<T>());
        self.put_contents(to, port, offset, cast_slice(values).into(), place);
    }

    /// As [`put`](Self::put) of a block's elements, or of as many as it stands for (see
    /// [`block`](Self::block)).
    ///
    /// # Participation
    /// As [`put`](Self::put).
    #[track_caller]
    pub fn put_block<T: Pod>(&mut self, to: usize, port: usize, offset: usize, block: &Block<T>) {
        let place = Location::caller();
        let offset = offset.saturating_mul(size_of::<T>());
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

    /// Opens a port of the run-time's own that `bytes` bytes will arrive in.
    pub(crate) fn open_own<T: Pod>(&mut self, port: usize, memory: Block<T>, bytes: usize) {
        let count = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.ports.open.insert(port, Port { count, ..Port::default() });
        self.transport.open(port, memory.into_raw());
    }

    /// Waits for all bytes of a port of the run-time's own, and closes it.
    pub(crate) fn close_own<T: Pod>(&mut self, call: &Call, port: usize) -> Block<T> {
        while self.may_go_on() && self.ports.open.get(&port).is_some_and(|state| state.count != 0) {
            self.receive_or_pause(call);
        }
        self.ports.open.remove(&port);
        Block::from_raw(self.transport.close(port).unwrap_or_default())
    }

    /// Counts what has arrived in ports; returns in how many of them.
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

    /// A header has come.
    #[cold]
    pub(super) fn header_arrived(&mut self, packet: &Packet) {
        let [port, bytes, ..] = packet.data;
        let port = usize::try_from(port).unwrap_or(usize::MAX);
        if !self.ports.open.contains_key(&port) {
            let from = packet.from;
            self.fail(format!("node {from} sent a header for port {port}, which is not open"));
        }
        self.count(port, bytes.cast_signed());
    }

    /// Changes the count of a port, and completes it where that comes to zero.
    fn count(&mut self, port: usize, change: i64) {
        // Arrivals in a port that a handler has closed since are of no interest.
        let Some(state) = self.ports.open.get_mut(&port) else { return };
        state.count += change;
        if state.count != 0 {
            return;
        }
        state.completions += 1;
        let Some(handler) = &mut state.handler else { return };
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
