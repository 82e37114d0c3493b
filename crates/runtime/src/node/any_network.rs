//! Messages on either network, and puts that poll after every packet.

use super::Node;
use crate::message::{QUIET, Reply, WithBytes, packets, packets_with};
use crate::transport::{Action, Awaited, Call, Network, Packet, Part};
use bytemuck::{Pod, cast_slice};
use std::panic::Location;

impl Node {
    /// Sends a message whose handler sends nothing to node `to`, on whichever network has room:
    /// faster than [`send`](Self::send) if many messages need no answer (Brewer, manual, §6.1:
    /// `SendBothRLPollBoth`).
    ///
    /// Such messages may overtake each other and requests. While neither network has room, the node
    /// receives.
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// use strata_runtime::prelude::*;
    ///
    /// let sums = Machine::threads(2)?.run(|node| {
    ///     let sum = Rc::new(Cell::new(0));
    ///     let mut handlers = node.handlers();
    ///     let counted = Rc::clone(&sum);
    ///     let add = handlers.reply(move |_, value: u64| counted.set(counted.get() + value));
    ///     node.install(handlers);
    ///     for value in 1..=100 {
    ///         node.send_either(1 - node.rank(), add, value);
    ///     }
    ///     node.wait_until(|| sum.get() == 5050);
    ///     Ok(sum.get())
    /// })?;
    /// assert_eq!(sums, [5050; 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local. There must be a node `to`, and `handler` must be installed, otherwise the job ends.
    #[track_caller]
    pub fn send_either<A: Pod>(&mut self, to: usize, handler: Reply<A>, arguments: A) {
        let packets = packets(handler.number, bytemuck::bytes_of(&arguments));
        self.send_all_either(to, &handler, handler.number, packets, Location::caller());
    }

    /// As [`send_either`](Self::send_either), with bytes besides the arguments as in
    /// [`send_with_bytes`](Self::send_with_bytes). A message of more than 64 bytes in all takes the
    /// network of requests.
    ///
    /// # Participation
    /// As [`send_either`](Self::send_either); too many bytes end the job.
    #[track_caller]
    pub fn send_either_with_bytes<A: Pod>(
        &mut self,
        to: usize,
        handler: Reply<WithBytes<A>>,
        arguments: A,
        bytes: &[u8],
    ) {
        let place = Location::caller();
        self.check_length::<A>(to, bytes, place);
        let packets = packets_with(handler.number, bytemuck::bytes_of(&arguments), bytes);
        self.send_all_either(to, &handler, handler.number, packets, place);
    }

    #[inline]
    fn send_all_either(
        &mut self,
        to: usize,
        handler: &dyn std::fmt::Debug,
        number: u16,
        packets: impl Iterator<Item = Packet>,
        place: &'static Location<'static>,
    ) {
        if to >= self.size() || usize::from(number) >= self.inbox.handlers().1 {
            self.bad_send(to, handler, place);
        }
        let call = Call::to(Action::Send, to, place);
        let mut taken = None;
        for mut packet in packets {
            // A message of several packets takes the network of requests: while it waits for room,
            // handlers may send replies, which must not come between its packets.
            if packet.part() != Part::Whole {
                taken = Some(Network::Request);
            }
            loop {
                let first = self.inbox.next_network();
                let tried = taken.map_or([first, first.other()], |network| [network; 2]);
                let room = tried.into_iter().find(|network| {
                    packet.handler = match network {
                        Network::Request => number | QUIET,
                        Network::Reply => number,
                    };
                    self.try_send(*network, to, &packet)
                });
                if room.is_some() || !self.may_go_on() {
                    break;
                }
                // Room for replies becomes free without this node's help.
                if self.receive_all() == 0 {
                    self.pause(&call, Awaited::Room(taken.unwrap_or(Network::Reply), to));
                }
            }
        }
    }

    /// As [`put`](Self::put), but receives after every packet until the networks are empty, on any
    /// transport: handlers run while a long block is sent (Brewer, manual, §7:
    /// `SendBlockXferPollBoth`). `put` alone receives only if it finds no room, and may then leave
    /// messages for later.
    ///
    /// # Participation
    /// As [`put`](Self::put).
    #[track_caller]
    pub fn put_and_poll<T: Pod>(&mut self, to: usize, port: usize, offset: usize, values: &[T]) {
        let place = Location::caller();
        self.check_target(to, port, place);
        let call = Call::to(Action::Put, to, place);
        let offset = self.bytes_of_offset::<T>(&call, offset);
        let bytes: &[u8] = cast_slice(values);
        let mut sent = 0;
        while sent < bytes.len() && self.may_go_on() {
            let moved = self.put_packet(&call, to, port, offset, bytes.into(), &mut sent);
            if self.receive_all() == 0 && !moved {
                self.pause(&call, Awaited::PutRoom(to));
            }
        }
    }
}
