//! Sending, polling and waiting.

use super::Node;
use crate::message::{Handlers, InOnePacket, LARGEST_MESSAGE, Request, WithBytes, packets, packets_with};
use crate::number::{NumberType, Op};
use crate::transport::{Action, Awaited, Call, Network, Networks, Operation, Packet, Part};
use bytemuck::{Pod, Zeroable as _};
use std::panic::Location;
use strata_model::sha256_hex;

impl Node {
    /// An empty list of handlers, to be filled and [installed](Self::install).
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn handlers(&self) -> Handlers {
        let (requests, replies) = self.inbox.handlers();
        Handlers::after(requests, replies)
    }

    /// Installs handlers: from now on this node receives messages for them whenever it polls or
    /// waits in any operation.
    ///
    /// Libraries may each install their own, one after the other. A program that uses only ports
    /// installs an empty list.
    ///
    /// # Participation
    /// Collective: all nodes install handlers of the same arguments in the same order; otherwise
    /// the job ends.
    #[track_caller]
    pub fn install(&mut self, handlers: Handlers) {
        let call = Call::plain(Action::Install, Location::caller());
        let (requests, replies) = self.inbox.handlers();
        if !handlers.follow(requests, replies) {
            self.misuse(&call, "other handlers were installed after `handlers()` was called for these");
        }
        let signatures =
            handlers.requests.iter().map(|(s, _)| *s).chain(handlers.replies.iter().map(|(s, _)| *s));
        let text: String = signatures.map(|s| format!("{} {}\n", s.arguments, s.bytes)).collect();
        let hash = sha256_hex(format!("{requests} {replies} {}\n{text}", handlers.requests.len()).as_bytes());
        let hash = u64::from_str_radix(hash.get(..15).unwrap_or("0"), 16).unwrap_or(0);
        let size = self.size();
        // Before the nodes agree: the first message may arrive together with the agreement.
        self.inbox.install(handlers, size);
        let same = self.agree_on(call, hash);
        if !same {
            self.misuse(&call, "the nodes install different handlers");
        }
    }

    /// Runs `pattern`, during which waiting nodes receive messages, as between
    /// [`install`](Self::install) and [`uninstall`](Self::uninstall): for libraries that use ports,
    /// whether or not the program has handlers installed.
    ///
    /// Unlike these two it needs no agreement. In return, when `pattern` ends on a node, everything
    /// that others send to it must have arrived, and its ports must be closed.
    ///
    /// # Participation
    /// Collective.
    pub fn receiving<T>(&mut self, pattern: impl FnOnce(&mut Self) -> T) -> T {
        let (requests, replies) = self.inbox.handlers();
        self.receiving_by(Handlers::after(requests, replies), pattern)
    }

    /// As [`receiving`](Self::receiving), with additional handlers that are installed meanwhile
    /// besides those of the program: for libraries that send messages of their own.
    ///
    /// The nodes' handlers are not compared. A node may send to them only after all nodes have
    /// begun `pattern`, for example after a barrier or reduction in it.
    ///
    /// # Participation
    /// Collective: the handlers must come from [`handlers`](Self::handlers), and no others may be
    /// installed meanwhile; otherwise the job ends.
    #[track_caller]
    pub fn receiving_by<T>(&mut self, handlers: Handlers, pattern: impl FnOnce(&mut Self) -> T) -> T {
        let receives = self.inbox.is_in_use();
        let (requests, replies) = self.inbox.handlers();
        if !handlers.follow(requests, replies) {
            let call = Call::plain(Action::Install, Location::caller());
            self.misuse(&call, "other handlers were installed after `handlers()` was called for these");
        }
        let added = !handlers.requests.is_empty() || !handlers.replies.is_empty();
        if !receives || added {
            let size = self.size();
            self.inbox.install(handlers, size);
        }
        let result = pattern(self);
        // Everything for this node has arrived; once everything that it sent has left, other nodes
        // need nothing more from it.
        if !receives {
            self.send_all_parts(Location::caller());
            self.inbox.clear();
            self.ended_receiving = true;
        } else if added {
            self.inbox.remove_after(requests, replies);
        }
        result
    }

    /// Waits until all parts of messages have left, if any may be waiting for room.
    fn send_all_parts(&mut self, place: &'static Location<'static>) {
        let call = Call::plain(Action::Send, place);
        let waits =
            |node: &mut Self| node.transport.simulated().is_some_and(|machine| !machine.all_parts_left());
        while self.may_go_on() && waits(self) {
            // A poll also sends parts.
            if self.poll_once() == 0 && waits(self) {
                self.pause(&call, Awaited::Packet);
            }
        }
    }

    /// Removes all handlers, after every message has been handled on all nodes: from now on waiting
    /// nodes do not receive, which is faster.
    ///
    /// # Participation
    /// Collective; no port may be open on any node, otherwise the job ends.
    #[track_caller]
    pub fn uninstall(&mut self) {
        let call = Call::plain(Action::Uninstall, Location::caller());
        if self.has_open_ports() {
            self.misuse(&call, "a port is open");
        }
        if !self.inbox.is_in_use() || !self.may_go_on() {
            return;
        }
        // No message is in flight when the counts of packets sent and received are equal twice in a
        // row: they are not taken at a single moment (Mattern, "Algorithms for distributed
        // termination detection", 1987).
        let mut before = None;
        loop {
            self.receive_all();
            let mut counts = [self.inbox.sent, self.inbox.taken];
            let sum = Operation::Reduce(NumberType::U64, Op::Add);
            self.combine_started(call, sum, bytemuck::cast_slice_mut(&mut counts));
            self.forget_result();
            if counts[0] == counts[1] && before == Some(counts) {
                break;
            }
            before = Some(counts);
        }
        self.inbox.clear();
    }

    /// The number of times that handlers were removed: if it is unchanged, a library can still use
    /// the handlers that it installed before.
    ///
    /// # Participation
    /// Local; equal on all nodes.
    #[must_use]
    pub fn handlers_removed(&self) -> u64 {
        self.inbox.cleared
    }

    /// True if `value` is equal on all nodes; returns after all have called it.
    pub(crate) fn agree_on(&mut self, call: Call, value: u64) -> bool {
        let mut both = [value, !value];
        self.combine_started(
            call,
            Operation::Reduce(NumberType::U64, Op::Max),
            bytemuck::cast_slice_mut(&mut both),
        );
        self.forget_result();
        both == [value, !value]
    }

    /// Sends a request to node `to`, which may be this one: `handler` will run there with
    /// `arguments`.
    ///
    /// Messages to one node arrive exactly once, in the order sent. While there is no room for the
    /// message, the node receives messages.
    ///
    /// # Participation
    /// Local. There must be a node `to`, and `handler` must be installed, otherwise the job ends.
    #[track_caller]
    #[inline]
    pub fn send<A: Pod>(&mut self, to: usize, handler: Request<A>, arguments: A) {
        let place = Location::caller();
        if to >= self.size() || usize::from(handler.number) >= self.inbox.handlers().0 {
            self.bad_send(to, &handler, place);
        }
        for packet in packets(handler.number, bytemuck::bytes_of(&arguments)) {
            if !self.try_send(Network::Request, to, &packet) {
                self.send_when_possible(to, &packet, place);
            }
        }
    }

    /// As [`send`](Self::send), with bytes besides the arguments, up to [`LARGEST_MESSAGE`] in all:
    /// for data whose destination the receiver derives from the arguments. An MPI transport moves
    /// them in messages of some 4 KiB.
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// use strata_runtime::prelude::*;
    ///
    /// let lengths = Machine::threads(2)?.run(|node| {
    ///     let length = Rc::new(Cell::new(0));
    ///     let mut handlers = node.handlers();
    ///     let seen = Rc::clone(&length);
    ///     let take = handlers.request_with_bytes(move |_, first: u64, bytes: &[u8]| {
    ///         assert_eq!(u64::from(bytes[0]), first);
    ///         seen.set(bytes.len());
    ///     });
    ///     node.install(handlers);
    ///     node.send_with_bytes(1 - node.rank(), take, 7, &[7; 1000]);
    ///     node.wait_until(|| length.get() > 0);
    ///     Ok(length.get())
    /// })?;
    /// assert_eq!(lengths, [1000; 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// As [`send`](Self::send); too many bytes end the job.
    #[track_caller]
    pub fn send_with_bytes<A: Pod>(
        &mut self,
        to: usize,
        handler: Request<WithBytes<A>>,
        arguments: A,
        bytes: &[u8],
    ) {
        let place = Location::caller();
        self.check_length::<A>(to, bytes, place);
        if to >= self.size() || usize::from(handler.number) >= self.inbox.handlers().0 {
            self.bad_send(to, &handler, place);
        }
        for packet in packets_with(handler.number, bytemuck::bytes_of(&arguments), bytes) {
            if !self.try_send(Network::Request, to, &packet) {
                self.send_when_possible(to, &packet, place);
            }
        }
    }

    /// Ends the job if arguments of `A` and these bytes together are too long.
    #[inline]
    pub(super) fn check_length<A>(&mut self, to: usize, bytes: &[u8], place: &'static Location<'static>) {
        let () = InOnePacket::<A>::CHECK;
        let length = size_of::<A>() + bytes.len();
        if length > LARGEST_MESSAGE {
            let call = Call::to(Action::Send, to, place);
            self.misuse(&call, &format!("a message of {length} bytes: at most {LARGEST_MESSAGE}"));
        }
    }

    #[cold]
    pub(super) fn bad_send(
        &mut self,
        to: usize,
        handler: &dyn std::fmt::Debug,
        place: &'static Location<'static>,
    ) -> ! {
        let call = Call::to(Action::Send, to, place);
        if to >= self.size() {
            let last = self.size() - 1;
            self.misuse(&call, &format!("there is no node {to}: nodes are 0 to {last}"));
        }
        self.misuse(&call, &format!("{handler:?} is not installed"));
    }

    #[cold]
    pub(super) fn send_when_possible(
        &mut self,
        to: usize,
        packet: &Packet,
        place: &'static Location<'static>,
    ) {
        let call = Call::to(Action::Send, to, place);
        while self.may_go_on() && !self.try_send(Network::Request, to, packet) {
            if self.receive_all() == 0 {
                self.pause(&call, Awaited::Room(Network::Request, to));
            }
        }
    }

    /// Receives until the networks are empty: the usual way to poll. Returns the number of messages
    /// whose handlers ran.
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn poll(&mut self) -> usize {
        self.receive_all()
    }

    /// Receives at most one packet from each network, and the arrived data of ports.
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn poll_once(&mut self) -> usize {
        self.data_arrived(Networks::Both) + self.receive(Network::Reply) + self.receive(Network::Request)
    }

    /// Receives at most one packet from `network`, and the arrived data of ports. If blocks arrive
    /// packet by packet (on simulated machines), such a packet counts as the network's.
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn poll_one(&mut self, network: Network) -> usize {
        self.data_arrived(Networks::Only(network)) + self.receive(network)
    }

    /// Receives from one network until it is empty.
    ///
    /// # Participation
    /// Local.
    pub fn poll_one_until_empty(&mut self, network: Network) -> usize {
        let mut total = 0;
        loop {
            match self.poll_one(network) {
                0 => return total,
                handled => total += handled,
            }
        }
    }

    /// Polls one network and, if it had a packet, receives from both until they are empty.
    ///
    /// The fastest way to poll in a loop: once for requests, once for replies (Brewer, manual,
    /// §6.2).
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn poll_one_then_all(&mut self, network: Network) -> usize {
        match self.poll_one(network) {
            0 => 0,
            handled => handled + self.receive_all(),
        }
    }

    /// Receives until `done` is true; `done` is evaluated after each message. Long waits yield the
    /// core.
    ///
    /// # Participation
    /// Local. A handler must make `done` true. If all nodes wait and no message is in flight, the
    /// job ends, and the error lists each node's call. If another node never sends the message but
    /// continues, this waits forever (or until the watchdog ends the job).
    #[track_caller]
    pub fn wait_until(&mut self, mut done: impl FnMut() -> bool) {
        let call = Call::plain(Action::WaitUntil, Location::caller());
        while self.may_go_on() && !done() {
            self.receive_or_pause(&call);
        }
    }

    /// Receives at most one packet from each network; if there is none, waits for an event.
    pub(super) fn receive_or_pause(&mut self, call: &Call) {
        if self.poll_once() == 0 {
            self.pause(call, Awaited::Packet);
        }
    }

    /// Receives until every node's program has ended: others may still send, and wait for replies.
    /// Completes a started collective first.
    pub(crate) fn leave(&mut self) {
        self.complete_current();
        self.complete_transfers();
        self.transport.leave();
        if self.inbox.is_in_use() {
            let call = Call::plain(Action::Leave, Location::caller());
            while !(self.transport.all_left() && self.inbox.outbox.is_empty()) {
                if self.poll_once() == 0 {
                    self.pause(&call, Awaited::AllLeft);
                }
            }
            self.receive_all();
        }
    }

    /// Receives until the networks are empty.
    pub(super) fn receive_all(&mut self) -> usize {
        let mut total = 0;
        loop {
            match self.poll_once() {
                0 => return total,
                handled => total += handled,
            }
        }
    }

    #[inline]
    fn packet_arrived(&mut self, network: Network, packet: &Packet) {
        self.inbox.taken += 1;
        if packet.handler >= crate::message::OWN {
            self.header_arrived(packet);
        } else if let Err(message) = self.inbox.handle(network, packet) {
            self.fail(message);
        }
    }

    /// Receives a packet from one network, or the arrived packets of a longer message, and runs its
    /// handler; returns 1 if there was one.
    #[inline]
    pub(super) fn receive(&mut self, network: Network) -> usize {
        if network == Network::Request && !self.inbox.outbox.is_empty() {
            self.send_replies();
            if !self.inbox.outbox.is_empty() {
                return 0;
            }
        }
        let mut packet = Packet::zeroed();
        if !self.transport.try_receive(network, &mut packet) {
            return 0;
        }
        self.packet_arrived(network, &packet);
        if packet.part() == Part::More && !self.is_simulated() {
            // The work of a waiting node between two packets takes longer than a packet.
            while packet.part() == Part::More && self.transport.try_receive(network, &mut packet) {
                self.packet_arrived(network, &packet);
            }
        }
        if network == Network::Request {
            self.send_replies();
        }
        1
    }

    /// Sends the replies of the request handled last, as long as there is room. It never waits: a
    /// node that waits for a collective must notice that it is complete, as other nodes may be
    /// blocked in it without polling. No other request is handled before the last reply has left,
    /// so memory stays bounded; replies are received meanwhile, because they cause no others.
    #[inline]
    fn send_replies(&mut self) {
        while let Some((to, packet)) = self.inbox.outbox.front().copied() {
            if !self.try_send(Network::Reply, to, &packet) {
                break;
            }
            self.inbox.outbox.pop_front();
        }
    }

    /// Sends a packet and counts it; false if there is no room now.
    #[inline]
    pub(super) fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool {
        let sent = self.transport.try_send(network, to, packet);
        self.inbox.sent += u64::from(sent);
        sent
    }

    /// Waits for an event, or for room for replies.
    pub(super) fn pause(&mut self, call: &Call, awaited: Awaited) {
        let networks =
            if self.inbox.outbox.is_empty() { Networks::Both } else { Networks::Only(Network::Reply) };
        self.transport.pause(call, networks, awaited);
    }
}
