//! Movement of packets from queue to queue.

use super::events::EventKind;
use super::fifo::{List, NONE};
use super::{Network, NetworkEvent, Packet};
use crate::Time;
use crate::topology::Hop;
use chacha20::rand_core::Rng;

impl<T> Network<T> {
    /// A packet's head has reached the queue in which it has a place.
    pub(super) fn arrive(&mut self, at: Time, packet: u32) -> NetworkEvent {
        let fifo = self.packets[packet as usize].fifo;
        let first = self.push_packet(fifo, packet);
        let queue = &self.fifos[fifo as usize];
        if queue.at == NONE {
            let (node, channel) = self.node_and_channel(fifo);
            self.nodes[node].arrived[usize::from(channel.0)] += 1;
            return NetworkEvent::Arrived { node, channel };
        }
        // Otherwise another head is waiting or leaving.
        if first && queue.link == NONE {
            self.ask(at, fifo);
        }
        NetworkEvent::Moved
    }

    /// Called when a node has put a packet into its send queue.
    pub(super) fn enter(&mut self, at: Time, packet: u32) {
        let fifo = self.packets[packet as usize].fifo;
        let first = self.push_packet(fifo, packet);
        if first && self.fifos[fifo as usize].link == NONE {
            self.ask(at, fifo);
        }
    }

    /// Appends a packet to a queue; returns true if it is alone there.
    fn push_packet(&mut self, fifo: u32, packet: u32) -> bool {
        let queue = &mut self.fifos[fifo as usize].packets;
        let last = queue.last;
        queue.last = packet;
        if last == NONE {
            queue.first = packet;
        } else {
            self.packets[last as usize].next = packet;
        }
        self.packets[packet as usize].next = NONE;
        last == NONE
    }

    /// Removes a queue's first packet; its place stays occupied.
    pub(super) fn pop_packet(&mut self, fifo: u32) -> Option<u32> {
        let queue = &mut self.fifos[fifo as usize].packets;
        let first = queue.first;
        if first == NONE {
            return None;
        }
        queue.first = self.packets[first as usize].next;
        if queue.first == NONE {
            queue.last = NONE;
        }
        Some(first)
    }

    /// One of several equivalent links: the one wanted by the fewest packets, including the one on
    /// it; random among equals.
    fn choose(&mut self, hop: Hop, channel_offset: u32) -> Hop {
        let wanted = |number: u32| {
            let link = &self.links[number as usize];
            let is_full = self.fifos[(link.first_fifo + hop.lane + channel_offset) as usize].room == 0;
            link.waiting + u32::from(link.serving != NONE) + u32::from(is_full)
        };
        let all = hop.link..hop.link + hop.ways;
        let (mut least, mut first, mut count) = (u32::MAX, hop.link, 0u64);
        for number in all.clone() {
            match wanted(number) {
                less if less < least => (least, first, count) = (less, number, 1),
                equal if equal == least => count += 1,
                _ => {}
            }
        }
        if count <= 1 {
            return Hop { link: first, ways: 1, ..hop };
        }
        let drawn = (u64::from(self.random.next_u32()) * count) >> 32;
        let mut equal = all.filter(|number| wanted(*number) == least);
        Hop { link: equal.nth(drawn as usize).unwrap_or(first), ways: 1, ..hop }
    }

    /// A packet's next hop from the switch `place`, or from its node.
    pub(super) fn hop(&self, place: u32, packet: &Packet) -> Hop {
        let Packet { from, to, channel, .. } = *packet;
        let wires = self.graph.wires().len() as u32;
        if place == NONE && from == to {
            return Hop { link: self.networks * wires + to, lane: 0, ways: 1 };
        }
        let hop = if place == NONE { self.graph.first(from, to) } else { self.graph.next(place, to) };
        // There are one or two networks.
        Hop { link: (channel & (self.networks - 1)) * wires + hop.link, ..hop }
    }

    /// A queue's new head requests a place in the next queue, and the link to it.
    fn ask(&mut self, at: Time, fifo: u32) {
        let queue = &self.fifos[fifo as usize];
        let (place, head) = (queue.at, queue.packets.first as usize);
        let packet = &self.packets[head];
        let channel_offset = packet.channel * self.channel_stride;
        let mut hop = self.hop(place, packet);
        if hop.ways > 1 {
            hop = self.choose(hop, channel_offset);
        }
        self.fifos[fifo as usize].link = hop.link;
        let link = &mut self.links[hop.link as usize];
        link.waiting += 1;
        let into = link.first_fifo + hop.lane + channel_offset;
        self.packets[head].fifo = into;
        let target = &mut self.fifos[into as usize];
        if target.room > 0 {
            target.room -= 1;
            self.join(at, fifo);
        } else {
            let mut waiters = target.waiters;
            self.append(&mut waiters, fifo);
            self.fifos[into as usize].waiters = waiters;
        }
        let link = &mut self.links[hop.link as usize];
        link.most_waiting = link.most_waiting.max(link.waiting);
    }

    /// A queue whose head has a place in the next queue requests the link.
    fn join(&mut self, at: Time, fifo: u32) {
        let number = self.fifos[fifo as usize].link as usize;
        if self.links[number].serving == NONE {
            self.start(at, fifo);
        } else {
            let mut askers = self.links[number].askers;
            self.append(&mut askers, fifo);
            self.links[number].askers = askers;
        }
    }

    /// A queue's head starts on its idle link.
    fn start(&mut self, at: Time, fifo: u32) {
        let Some(number) = self.pop_packet(fifo) else { return };
        let link_number = self.fifos[fifo as usize].link;
        let link = &mut self.links[link_number as usize];
        let class = &self.classes[link.class as usize];
        let packet = &mut self.packets[number as usize];
        let bytes = packet.bytes.saturating_add(self.header) as u64;
        let left = (at + class.rate.time(bytes)).max(packet.tail);
        link.serving = fifo;
        link.waiting -= 1;
        link.packets += 1;
        link.bytes += bytes;
        link.busy += left - at;
        link.until = left;
        packet.tail = left + class.latency;
        let there = match (class.delivers, self.cut_through) {
            (true, _) => packet.tail + self.interface,
            (false, true) => at + class.latency,
            (false, false) => packet.tail,
        };
        self.events.push(left, EventKind::Free, link_number);
        self.events.push(there, EventKind::Head, number);
    }

    /// Called when a link's packet has left the queue behind it, which has a free place and perhaps
    /// a new head; the link can serve the next packet.
    pub(super) fn free(&mut self, at: Time, number: u32) -> NetworkEvent {
        let link = &mut self.links[number as usize];
        let fifo = link.serving;
        link.serving = NONE;
        let mut askers = link.askers;
        if let Some(next) = self.pop(&mut askers) {
            self.links[number as usize].askers = askers;
            self.start(at, next);
        }
        let queue = &mut self.fifos[fifo as usize];
        queue.link = NONE;
        let room_again = queue.at == NONE && queue.room == 0;
        if queue.packets.first != NONE {
            self.ask(at, fifo);
        }
        self.release(at, fifo);
        if room_again {
            let (sender, channel) = self.node_and_channel(fifo);
            NetworkEvent::Room { node: sender - self.nodes.len(), channel }
        } else {
            NetworkEvent::Moved
        }
    }

    /// Gives a free place in a queue to the queue that has waited longest.
    pub(super) fn release(&mut self, at: Time, fifo: u32) {
        let mut waiters = self.fifos[fifo as usize].waiters;
        if let Some(waiter) = self.pop(&mut waiters) {
            self.fifos[fifo as usize].waiters = waiters;
            self.join(at, waiter);
        } else {
            self.fifos[fifo as usize].room += 1;
        }
    }

    fn append(&mut self, list: &mut List, fifo: u32) {
        self.fifos[fifo as usize].next = NONE;
        if list.last == NONE {
            list.first = fifo;
        } else {
            self.fifos[list.last as usize].next = fifo;
        }
        list.last = fifo;
    }

    fn pop(&self, list: &mut List) -> Option<u32> {
        let first = list.first;
        if first == NONE {
            return None;
        }
        list.first = self.fifos[first as usize].next;
        if list.first == NONE {
            list.last = NONE;
        }
        Some(first)
    }
}
