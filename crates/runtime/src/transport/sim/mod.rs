//! The transport of a simulated machine.
//!
//! Each node is a coroutine with its own clock, in whole picoseconds. Local work is charged by
//! [`Node::compute`](crate::Node::compute); communication costs what the platform's file states,
//! and passes through the simulated network ([`strata_sim::Network`]) packet by packet. Everything
//! runs on one thread, so repeated simulations are identical to the bit.
//!
//! A processor pays for each packet that it sends or receives, for each failed poll, and for
//! combining. A waiting node notices an arrival at once. Nodes wait only for room in their own send
//! queue and for packets in their own receive queue: if a receiver does not poll, the network fills
//! and its senders stall.

mod arrivals;
mod assembly;
mod coroutine;
mod kernels;
mod payload;
mod pending;
mod poll;
mod rendezvous;
mod rows;
mod run;
mod setup;
mod shared;
mod steps;
mod world;

pub(crate) use kernels::Kernels;
pub(crate) use run::{Outcome, run};
pub(crate) use setup::Setup;

use crate::block::{Contents, RawBlock};
use crate::clock::SimulatedClock;
#[cfg(feature = "tune")]
use crate::transport::Tuned;
use crate::transport::contributions::CollectiveKind;
use crate::transport::{
    Awaited, Call, Collective, Endpoint, Extras, Failure, Network, Networks, Operation, PACKET, Packet,
    Simulated, Value, Way,
};
use crate::work::{Charge, Computing, Work};
use assembly::Assembly;
use payload::{COLLECTIVES, Payload, SHORT, all_data, data, messages};
use std::collections::VecDeque;
use std::rc::Rc;
use strata_sim::Time;
use strata_sim::network::{Arrival, Channel};
use strata_sim::platform::{Circuits, KernelTime, Topology};
use world::{Moving, NodeState, Wait, World};

/// Longer than any block, but small enough for additions.
const ALL_AT_ONCE: usize = usize::MAX / 4;

/// One node's end of the simulated machine.
struct Sim {
    world: Rc<World>,
    rank: usize,
    /// The network of the next packet for a port: they alternate (Brewer's manual, section 7: "sent
    /// on both networks").
    next_data_network: Network,
    /// The number of collectives that this node has entered.
    epoch: u64,
    /// Parts of messages for which the send queues had no room, with their targets, on each
    /// network.
    rest: [VecDeque<(usize, usize, Payload)>; 2],
    assembly: Assembly,
    bit: bool,
    left: Left,
}

/// The progress of a node's leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    No,
    /// It leaves when the remaining parts of its messages have been sent.
    Soon,
    Yes,
}

impl Sim {
    fn new(world: Rc<World>, rank: usize) -> Self {
        let overtakes = matches!(world.platform.topology, Topology::FatTree { .. });
        Self {
            world,
            rank,
            next_data_network: Network::Request,
            epoch: 0,
            rest: Default::default(),
            assembly: Assembly::new(overtakes),
            bit: true,
            left: Left::No,
        }
    }

    /// Keeps this node's processor busy for this long.
    fn spend(&self, time: Time) {
        self.world.charge(self.rank, time);
    }

    fn poll_failed(&mut self, channel: Channel) {
        self.world.poll_failed(self.rank, channel);
    }

    /// Charges for polling a channel and receiving what it contains.
    fn spend_polling(&mut self, channel: Channel, time: Time) {
        self.world.spend_polling(self.rank, channel, time);
    }

    /// Puts one packet into the send queue; returns it if there is no room.
    fn inject(&mut self, channel: Channel, to: usize, bytes: usize, payload: Payload) -> Result<(), Payload> {
        let world = Rc::clone(&self.world);
        if !world.state.borrow().network.has_room(self.rank, channel)
            && !world.sync(self.rank).network.has_room(self.rank, channel)
        {
            self.poll_failed(channel);
            return Err(payload);
        }
        let interface = &world.platform.interface;
        self.spend(interface.send + interface.send_byte.times(bytes as u64));
        let now = world.time(self.rank);
        world.sync(self.rank).network.try_send(now, self.rank, to, channel, bytes, payload)?;
        self.spend(interface.after_send);
        Ok(())
    }

    fn take(&mut self, channel: Channel) -> Option<Arrival<Payload>> {
        let state = self.world.sync(self.rank);
        self.world.take(state, self.rank, channel)
    }

    /// Sends parts of messages that had no room; returns true if none are left.
    fn send_rest(&mut self, network: Network) -> bool {
        while let Some((to, bytes, payload)) = self.rest[network as usize].pop_front() {
            if let Err(payload) = self.inject(messages(network), to, bytes, payload) {
                self.rest[network as usize].push_front((to, bytes, payload));
                return false;
            }
        }
        true
    }

    /// The channels on which parts of messages are left, as bits.
    fn rest_channels(&self) -> u8 {
        let left = |network: &Network| !self.rest[*network as usize].is_empty();
        Network::BOTH.into_iter().filter(left).fold(0, |bits, network| bits | 1 << messages(network).0)
    }

    /// Waits for packets on `channels` and for the `awaited` event.
    fn wait(&mut self, call: &Call, awaited: Awaited, channels: u8, room: u8) {
        let mut wait = Wait { call: *call, awaited, channels, room, epoch: None, until: None };
        match awaited {
            Awaited::Operation => {
                wait.channels |= 1 << COLLECTIVES.0;
            }
            Awaited::Room(network, _) => wait.room |= 1 << messages(network).0,
            Awaited::PutRoom(_) => wait.room |= all_data(),
            Awaited::Packet | Awaited::Memory { .. } | Awaited::AllLeft => {}
        }
        wait.room |= self.rest_channels();
        let mut state = self.world.sync(self.rank);
        if matches!(awaited, Awaited::Memory { .. }) && std::mem::take(&mut state.nodes[self.rank].woken) {
            return;
        }
        if awaited == Awaited::Operation {
            // Checked again here: other nodes may have run meanwhile, and the last event may have
            // occurred.
            self.add_obstacle(&state, &mut wait);
        }
        let news = state.has_news(self.rank, &wait);
        drop(state);
        if !news {
            self.world.wait(self.rank, wait);
        }
    }

    /// Receives one packet for a port from each of these networks that has one; returns true if any
    /// had.
    fn take_data(&mut self, networks: Networks) -> bool {
        let mut any = false;
        for network in Network::BOTH.into_iter().filter(|network| networks.has(*network)) {
            let Some(arrival) = self.take(data(network)) else { continue };
            any = true;
            if let Payload::Put { port, offset, cargo, .. } = arrival.item {
                self.spend_polling(data(network), self.world.platform.interface.dispatch);
                let mut state = self.world.state.borrow_mut();
                state.deposit(arrival.from, self.rank, port, offset, cargo.contents());
            }
        }
        any
    }

    /// Puts one packet for a port into a send queue; returns it if neither network has room.
    fn inject_data(&mut self, to: usize, bytes: usize, mut payload: Payload) -> Result<(), Payload> {
        let only_short = self.world.platform.dma.is_some_and(|dma| !dma.receives_short);
        for _ in Network::BOTH {
            let network = if only_short { SHORT } else { self.next_data_network };
            self.next_data_network = network.other();
            match self.inject(data(network), to, bytes, payload) {
                Ok(()) => return Ok(()),
                Err(back) => payload = back,
            }
        }
        Err(payload)
    }

    /// True if a block of this many bytes is sent without the processor.
    fn by_dma(&self, bytes: usize) -> bool {
        self.world.platform.dma.as_ref().is_some_and(|dma| bytes >= dma.least)
    }
}

impl Endpoint for Sim {
    fn place(&self) -> (usize, usize) {
        (self.rank, self.world.size())
    }

    fn collective_by(&mut self, _: Way, call: Call, collective: Collective<'_>) {
        match collective {
            Collective::InPlace(operation, values) => {
                self.arrive(call, CollectiveKind::Operation(operation), RawBlock::copy_of(values));
                self.complete();
                values.copy_from_slice(self.end().as_bytes());
            }
            Collective::AllGather { mine, all } => {
                self.arrive(call, CollectiveKind::Gather, RawBlock::copy_of(mine));
                self.complete();
                let (rank, size) = (self.rank, self.world.size());
                self.end_by(|rendezvous| rendezvous.take((rank, size), all));
            }
            Collective::Exchange(blocks) => {
                self.arrive_with_blocks(call, std::mem::take(blocks));
                self.complete();
                let rank = self.rank;
                self.end_by(|rendezvous| *blocks = rendezvous.take_blocks(rank));
            }
        }
    }

    fn start(&mut self, call: Call, operation: Operation, values: RawBlock) {
        self.arrive(call, CollectiveKind::Operation(operation), values);
        self.advance();
    }

    fn test(&mut self) -> bool {
        self.advance()
    }

    fn finish(&mut self) -> RawBlock {
        self.end()
    }

    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool {
        if !self.send_rest(network) {
            return false;
        }
        let bytes = packet.bytes().len();
        let each = self.world.platform.interface.packet;
        let parts = self.world.packets(bytes).min(PACKET as u32) as u16;
        let length = |part: usize| each.min(bytes - part * each);
        let mut sent = *packet;
        sent.from = self.rank as u32;
        let mut message = Some(Box::new(sent));
        // The number is used up only if the first part is sent.
        let number = self.assembly.number((network, to));
        let part = |number, message| Payload::Part { number, parts, message };
        let first = if parts == 1 { message.take() } else { None };
        if self.inject(messages(network), to, length(0), part(number, first)).is_err() {
            return false;
        }
        self.assembly.sent((network, to));
        for index in 1..usize::from(parts) {
            let message = if index + 1 == usize::from(parts) { message.take() } else { None };
            self.rest[network as usize].push_back((to, length(index), part(number, message)));
        }
        self.send_rest(network);
        true
    }

    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool {
        self.send_rest(network);
        let mut message = self.assembly.early(network);
        while message.is_none() {
            let Some(arrival) = self.take(messages(network)) else { return false };
            if let Payload::Part { number, parts, message: part } = arrival.item {
                message = self.assembly.came((network, arrival.from), number, parts, part);
            }
        }
        if let Some(message) = message {
            self.spend_polling(messages(network), self.world.platform.interface.dispatch);
            *packet = *message;
        }
        true
    }

    fn open(&mut self, port: usize, memory: RawBlock) {
        self.world.state.borrow_mut().nodes[self.rank].ports.open(port, memory);
    }

    fn close(&mut self, port: usize) -> Option<RawBlock> {
        let mut state = self.world.sync(self.rank);
        let memory = state.nodes[self.rank].ports.close(port);
        // Data that have already arrived are not requested.
        if !state.nodes[self.rank].ports.are_open() {
            Network::BOTH.into_iter().for_each(|network| state.take_data(self.rank, data(network)));
        }
        memory
    }

    fn try_put(&mut self, call: &Call, to: usize, port: usize, offset: usize, all: Contents<'_>) -> bool {
        let port = port as u32;
        if self.by_dma(all.len()) {
            let platform = &self.world.platform;
            let (setup, hop) =
                platform.dma.map_or((Time::ZERO, Time::ZERO), |dma| (dma.setup, dma.request_hop));
            let leaving = || Time::from_seconds(all.len() as f64 / platform.link.bandwidth);
            let after = platform.dma.and_then(|dma| Some(leaving() + dma.after?));
            self.spend(setup);
            let mut state = self.world.sync(self.rank);
            let granted = hop.times(state.network.graph().hops(self.rank, to) as u64);
            // A block without a request leaves at once.
            let ready = if granted == Time::ZERO { granted } else { self.world.time(self.rank) + granted };
            let moving = Moving { to, port, offset, cargo: all.into(), sent: 0, ready };
            state.nodes[self.rank].moving.push_back(moving);
            if granted > Time::ZERO {
                state.network.schedule(ready, self.rank);
            }
            self.world.pump(&mut state, self.rank);
            drop(state);
            self.spend(after.unwrap_or_default());
            return true;
        }
        let each = self.world.platform.interface.packet;
        let mut sent = 0;
        while sent < all.len() {
            let end = all.len().min(sent + each);
            let payload = Payload::Put {
                port,
                offset: offset + sent,
                cargo: all.part(sent, end).into(),
                ends_block: false,
            };
            if self.inject_data(to, end - sent, payload).is_ok() {
                sent = end;
            } else if sent == 0 {
                return false;
            } else {
                // Reached only for short blocks on a machine with a DMA unit. Data for this node
                // arrive without its processor, so it waits for room alone.
                self.wait(call, Awaited::PutRoom(to), 0, 0);
            }
        }
        true
    }

    fn put_by(&mut self, _: Way, call: &Call, to: usize, port: usize, offset: usize, all: Contents<'_>) {
        let interface = &self.world.platform.interface;
        let each = interface.packet;
        if all.len() > each {
            self.spend(interface.block_setup);
        }
        if self.by_dma(all.len()) {
            self.try_put(call, to, port, offset, all);
            return;
        }
        for sent in (0..all.len()).step_by(each) {
            while !self.try_put(call, to, port, offset + sent, all.part(sent, sent + each)) {
                if !self.take_data(Networks::Both) {
                    self.wait(call, Awaited::PutRoom(to), all_data(), 0);
                }
            }
        }
    }

    fn arrivals(&mut self, networks: Networks, report: &mut dyn FnMut(usize, usize)) {
        let dma = self.world.platform.dma;
        if dma.is_none_or(|dma| !dma.receives_short) {
            self.take_data(networks);
        } else {
            // The DMA unit has received them; its status is read with a network's status register.
            drop(self.world.sync(self.rank));
            let network = if networks.has(Network::Request) { Network::Request } else { Network::Reply };
            self.poll_failed(data(network));
        }
        if let Some(dma) = dma.filter(|dma| dma.receive > Time::ZERO) {
            let blocks = std::mem::take(&mut self.world.state.borrow_mut().nodes[self.rank].brought);
            self.spend_polling(data(Network::Request), dma.receive.times(blocks));
        }
        let news = self.world.state.borrow_mut().nodes[self.rank].ports.take_news();
        news.into_iter().for_each(|(port, bytes)| report(port, bytes));
    }

    fn set_async_or(&mut self, value: bool) {
        let mut state = self.world.sync(self.rank);
        if value != self.bit {
            state.bits = if value { state.bits + 1 } else { state.bits - 1 };
        }
        drop(state);
        self.bit = value;
        self.spend(self.world.platform.interface.failed_poll);
    }

    fn async_or(&mut self) -> bool {
        let any = self.world.sync(self.rank).bits > 0;
        self.spend(self.world.platform.interface.failed_poll);
        any
    }

    fn pause(&mut self, call: &Call, networks: Networks, awaited: Awaited) {
        if Network::BOTH.into_iter().any(|network| {
            let left = !self.rest[network as usize].is_empty();
            left && self.send_rest(network)
        }) {
            return;
        }
        let mut channels = all_data();
        for network in Network::BOTH.into_iter().filter(|network| networks.has(*network)) {
            channels |= 1 << messages(network).0;
        }
        if awaited == Awaited::Operation && self.has_pending() && self.advance() {
            return;
        }
        // A node that receives only replies has replies of its own to send.
        let room =
            if networks == Networks::Only(Network::Reply) { 1 << messages(Network::Reply).0 } else { 0 };
        self.wait(call, awaited, channels, room);
    }

    fn leave(&mut self) {
        self.left = Left::Soon;
        self.all_left();
    }

    fn all_left(&mut self) -> bool {
        let sent = Network::BOTH.map(|network| self.send_rest(network));
        let mut state = self.world.sync(self.rank);
        let nodes = state.nodes.len();
        if self.left == Left::Soon && sent == [true; 2] {
            self.left = Left::Yes;
            state.left += 1;
            if state.left == nodes {
                (0..nodes).for_each(|node| state.wake_if(node, |wait| wait.awaited == Awaited::AllLeft));
            }
        }
        state.left == nodes
    }

    fn fail(&mut self, failure: Failure) -> ! {
        self.world.fail(failure)
    }

    fn extras(&mut self) -> Extras<'_> {
        let platform = &self.world.platform;
        Extras {
            // A DMA unit takes the whole block at once.
            put_limit: if platform.dma.is_some() { ALL_AT_ONCE } else { platform.interface.packet },
            process: None,
            words: None,
            messages: None,
            library: None,
            simulated: Some(self),
            #[cfg(feature = "tune")]
            ways: Way::none,
        }
    }

    #[cfg(feature = "tune")]
    fn tuned(&mut self) -> Option<&mut dyn Tuned> {
        None
    }
}

impl Simulated for Sim {
    fn charge(&mut self, work: Work<'_>) -> Result<Charge, String> {
        let cpu = &self.world.platform.cpu;
        let seconds = match work {
            Work::Cycles(cycles) => cycles / cpu.frequency,
            Work::Kernel(..) if self.computing() == Computing::Measured => return Ok(Charge::Measure),
            Work::Kernel(name, inputs) => {
                let (platform, kernel) = (&self.world.platform, name.rsplit('.').next().unwrap_or(name));
                let modelled = self.world.kernels.seconds(kernel, inputs)?;
                match platform.kernels.get(name).or_else(|| platform.kernels.get(kernel)) {
                    Some(KernelTime::Cycles { call, each }) => {
                        (call + each * inputs.first().unwrap_or(&0.0)) / cpu.frequency
                    }
                    Some(KernelTime::Factor(factor)) => modelled * factor,
                    None => modelled * cpu.kernel_factor,
                }
            }
        };
        if !(seconds >= 0.0 && seconds.is_finite()) {
            return Err(format!("{work:?} takes {seconds} s"));
        }
        self.spend(Time::from_seconds(seconds));
        Ok(Charge::Charged)
    }

    fn charge_host(&mut self, seconds: f64) {
        self.spend(Time::from_seconds(seconds * self.world.platform.cpu.kernel_factor));
    }

    fn charge_combine_call(&mut self) {
        self.spend(self.world.platform.interface.combine_call);
    }

    fn charge_combining(&mut self, bytes: usize) {
        self.world.charge_combining(self.rank, bytes);
    }

    fn computing(&self) -> Computing {
        self.world.computing
    }

    fn circuits(&self) -> Option<Circuits> {
        self.world.platform.circuits
    }

    fn pass_until(&mut self, time: Time) {
        let now = self.world.time(self.rank);
        self.spend(time - now);
    }

    fn catch_up(&mut self) {
        drop(self.world.sync(self.rank));
    }

    fn wake(&mut self, to: usize, time: Time) {
        self.world.wake_memory(to, time);
    }

    fn place(&mut self, value: Value) -> u64 {
        let time = self.world.time(self.rank);
        let (round, last) = self.world.shared.borrow_mut().place(self.rank, value, time);
        if let Some(last) = last {
            (0..self.world.size()).for_each(|node| self.world.wake_memory(node, last));
        }
        round
    }

    fn is_placed(&mut self, round: u64) -> bool {
        self.world.shared.borrow().last(round).is_some()
    }

    fn take(&mut self, round: u64) -> Vec<Value> {
        let (values, last) = self.world.shared.borrow_mut().take(round);
        self.pass_until(last);
        values
    }

    fn all_parts_left(&self) -> bool {
        self.rest.iter().all(VecDeque::is_empty)
    }

    fn has_packets(&mut self) -> bool {
        let state = self.world.sync(self.rank);
        let messages = Network::BOTH.into_iter().fold(0, |bits, network| bits | 1 << messages(network).0);
        let channels = (0..8).filter(|channel| (all_data() | messages) & (1 << channel) != 0);
        channels.into_iter().any(|channel| state.network.arrived(self.rank, Channel(channel)) > 0)
            || state.nodes[self.rank].ports.has_news()
    }

    fn clock(&self) -> SimulatedClock {
        let cycle = Time::from_seconds(1.0 / self.world.platform.cpu.frequency).0.max(1);
        SimulatedClock { times: Rc::clone(&self.world.clocks), rank: self.rank, cycle }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        if let Ok(mut state) = self.world.state.try_borrow_mut() {
            state.nodes[self.rank].state = NodeState::Ended;
        }
    }
}
