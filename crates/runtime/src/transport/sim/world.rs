//! The state shared by all nodes of a simulation: the network, the wait of each node, and the node
//! that runs next.
//!
//! A node has its own clock and runs ahead of the network as long as it does not interact. Before
//! it accesses anything visible to others, all events up to its time are processed
//! ([`World::sync`]). So everything is processed in the order of (time, sequence), regardless of
//! the order in which nodes run.

use super::coroutine::suspend;
use super::kernels::Kernels;
use super::payload::{COLLECTIVES, Cargo, DMA, Payload, is_data};
use super::pending::InFlight;
use super::poll::PollCache;
use super::rendezvous::Rendezvouses;
use super::setup::Setup;
use super::shared::Shared;
use crate::block::Contents;
use crate::transport::ports::Ports;
use crate::transport::{Awaited, Call, Failure, Stop};
use crate::work::Computing;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;
use strata_sim::network::{Arrival, Channel, NetworkEvent};
use strata_sim::{Network, Time, platform::SimulatedMachine};

/// The events that end a node's wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) call: Call,
    pub(super) awaited: Awaited,
    /// A packet on one of these channels ends the wait, as bits.
    pub(super) channels: u8,
    /// Room in one of these channels' send queues ends the wait, as bits.
    pub(super) room: u8,
    /// The collective that the control network will complete.
    pub(super) epoch: Option<u64>,
    /// The wait ends at this time at the latest.
    pub(super) until: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum NodeState {
    /// The node runs its program.
    Runs,
    /// Suspended until this time.
    Due(Time),
    /// Suspended until an event.
    Waits(Wait),
    /// The node's program has ended.
    Ended,
}

/// A block that is sent without the processor.
#[derive(Debug)]
pub(super) struct Moving {
    pub(super) to: usize,
    pub(super) port: u32,
    pub(super) offset: usize,
    pub(super) cargo: Cargo,
    pub(super) sent: usize,
    /// The time at which the receiver grants a buffer for it.
    pub(super) ready: Time,
}

/// The part of a node that others see.
pub(super) struct Shown {
    pub(super) state: NodeState,
    pub(super) ports: Ports,
    /// Blocks that its DMA unit has yet to send.
    pub(super) moving: VecDeque<Moving>,
    /// Number of blocks that its DMA unit has received and its processor has not yet noticed.
    pub(super) brought: u64,
    /// True if it was woken while it did not wait for memory: it must poll again before it waits.
    pub(super) woken: bool,
}

pub(super) struct State {
    pub(super) network: Network<Payload>,
    pub(super) nodes: Vec<Shown>,
    pub(super) rendezvouses: Rendezvouses,
    /// Number of set bits of the asynchronous or.
    pub(super) bits: usize,
    /// Number of programs that have ended.
    pub(super) left: usize,
    pub(super) failure: Option<Failure>,
    /// The node that runs next, if a node has determined it.
    next: Option<usize>,
    /// Steps taken by nodes.
    steps: u64,
}

/// The result of processing the events up to a node's time.
pub(super) enum CaughtUp<'a> {
    /// The node has caught up.
    Now(RefMut<'a, State>),
    /// Another node runs first.
    Suspended,
    /// The job has ended.
    Failed,
}

pub(super) struct World {
    pub(super) platform: Arc<SimulatedMachine>,
    pub(super) kernels: Arc<Kernels>,
    pub(super) computing: Computing,
    pub(super) state: RefCell<State>,
    pub(super) clocks: Rc<[Cell<u64>]>,
    /// The number of steps after which the simulation is stopped.
    limit: u64,
    dma: bool,
    /// True if blocks wait for a buffer to be granted.
    requests: bool,
    /// What each node last saw of its queues.
    polls: Vec<Cell<PollCache>>,
    /// The collective of each node.
    pub(super) in_flight: Vec<RefCell<InFlight>>,
    /// Values that nodes exchange.
    pub(super) shared: RefCell<Shared>,
    /// The time of the next timer interrupt of each node, in ps; empty without interrupts.
    interrupts: Vec<Cell<u64>>,
}

impl World {
    pub(super) fn new(setup: &Setup, network: Network<Payload>) -> Self {
        let Setup { platform, kernels, computing, nodes, steps: limit, seed, disturbed } = setup.clone();
        let shown = || Shown {
            state: NodeState::Due(Time::ZERO),
            ports: Ports::default(),
            moving: VecDeque::new(),
            brought: 0,
            woken: false,
        };
        let mut state = State {
            network,
            nodes: (0..nodes).map(|_| shown()).collect(),
            rendezvouses: Rendezvouses::default(),
            bits: nodes,
            left: 0,
            failure: None,
            next: None,
            steps: 0,
        };
        (0..nodes).for_each(|node| state.network.schedule(Time::ZERO, node));
        let dma = platform.dma.is_some();
        let requests = platform.dma.is_some_and(|dma| dma.request_hop > Time::ZERO);
        let clocks = (0..nodes).map(|_| Cell::new(0)).collect();
        let first = platform.interrupts.filter(|_| disturbed).map(|timer| timer.first(nodes, seed));
        let interrupts = first.unwrap_or_default().into_iter().map(|first| Cell::new(first.0)).collect();
        let state = RefCell::new(state);
        let shared = RefCell::new(Shared::new(nodes));
        let polls = vec![Cell::default(); nodes];
        let in_flight = (0..nodes).map(|_| RefCell::default()).collect();
        Self {
            platform,
            kernels,
            computing,
            state,
            clocks,
            limit,
            dma,
            requests,
            polls,
            in_flight,
            shared,
            interrupts,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.clocks.len()
    }

    pub(super) fn time(&self, node: usize) -> Time {
        Time(self.clocks[node].get())
    }

    /// Keeps a node's processor busy for this long.
    pub(super) fn charge(&self, node: usize, time: Time) {
        let clock = &self.clocks[node];
        clock.set(clock.get().saturating_add(time.0));
        if !self.interrupts.is_empty() {
            self.interrupt(node);
        }
    }

    /// Charges for the timer interrupts up to a node's time.
    fn interrupt(&self, node: usize) {
        let (clock, next) = (&self.clocks[node], &self.interrupts[node]);
        let Some(timer) = self.platform.interrupts else { return };
        while next.get() <= clock.get() {
            clock.set(clock.get().saturating_add(timer.time.0));
            next.set(next.get().saturating_add(timer.every.0));
        }
    }

    /// Charges the timer interrupts that occurred while a node waited: the last may still occupy
    /// its processor.
    fn interrupt_waiting(&self, node: usize) {
        let (clock, next) = (&self.clocks[node], &self.interrupts[node]);
        let Some(timer) = self.platform.interrupts else { return };
        while next.get() <= clock.get() {
            clock.set(clock.get().max(next.get().saturating_add(timer.time.0)));
            next.set(next.get().saturating_add(timer.every.0));
        }
    }

    pub(super) fn poll_failed(&self, node: usize, channel: Channel) {
        let mut known = self.polls[node].get();
        let tells = known.tells(self.time(node), channel);
        self.polls[node].set(known);
        if !tells {
            self.spend_polling(node, channel, self.platform.interface.failed_poll);
        }
    }

    /// Charges for polling a channel and receiving what it contains.
    pub(super) fn spend_polling(&self, node: usize, channel: Channel, time: Time) {
        let start = self.time(node);
        self.charge(node, time);
        let mut known = self.polls[node].get();
        known.polled(channel, (start, self.time(node)));
        self.polls[node].set(known);
    }

    /// The number of packets for `bytes` bytes; one for zero.
    pub(super) fn packets(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(self.platform.interface.packet).max(1)).unwrap_or(u32::MAX)
    }

    /// Receives the next packet of a channel for a node that has caught up.
    pub(super) fn take(
        &self,
        mut state: RefMut<'_, State>,
        node: usize,
        channel: Channel,
    ) -> Option<Arrival<Payload>> {
        let interface = &self.platform.interface;
        let reading = |bytes: usize| interface.receive + interface.receive_byte.times(bytes as u64);
        let held = |bytes| if interface.holds_place { reading(bytes) } else { Time::ZERO };
        let arrival = state.network.receive_during(self.time(node), node, channel, held);
        drop(state);
        match &arrival {
            Some(arrival) => self.spend_polling(node, channel, reading(arrival.bytes)),
            None => self.poll_failed(node, channel),
        }
        arrival
    }

    /// Charges for combining values of this many bytes.
    pub(super) fn charge_combining(&self, node: usize, bytes: usize) {
        self.charge(node, self.platform.interface.combine_word.times(bytes.div_ceil(8) as u64));
    }

    /// Processes all events up to this node's time, other nodes' steps included.
    pub(super) fn sync(&self, node: usize) -> RefMut<'_, State> {
        match self.catch_up(node) {
            CaughtUp::Now(state) => state,
            CaughtUp::Suspended => {
                self.yield_to_others();
                self.state.borrow_mut()
            }
            CaughtUp::Failed => resume_unwind(Box::new(Stop)),
        }
    }

    /// As [`sync`](Self::sync), but returns if another node must run first. When this node is
    /// chosen again it has caught up: others may then have been woken at its time, but come after
    /// it.
    pub(super) fn catch_up(&self, node: usize) -> CaughtUp<'_> {
        let at = self.time(node);
        let mut state = self.state.borrow_mut();
        state.steps += 1;
        if state.steps + state.network.steps() > self.limit {
            let message = format!(
                "stopped after {} steps, at {at}: STRATA_ON=sim:…,steps=N allows more, if this program ends",
                self.limit
            );
            state.failure.get_or_insert(Failure { rank: node, message });
            return CaughtUp::Failed;
        }
        while state.network.next().is_some_and(|next| next <= at) {
            if let Some(other) = self.step(&mut state) {
                state.next = Some(other);
                state.nodes[node].state = NodeState::Due(at);
                state.network.schedule(at, node);
                return CaughtUp::Suspended;
            }
        }
        if state.failure.is_some() && !std::thread::panicking() {
            return CaughtUp::Failed;
        }
        CaughtUp::Now(state)
    }

    /// Suspends a node until the awaited event has occurred, or may have occurred.
    pub(super) fn wait(&self, node: usize, wait: Wait) {
        self.begin_wait(node, wait);
        self.yield_to_others();
        self.end_wait(node);
    }

    pub(super) fn begin_wait(&self, node: usize, wait: Wait) {
        let mut state = self.state.borrow_mut();
        state.nodes[node].state = NodeState::Waits(wait);
        if let Some(until) = wait.until {
            let until = until.max(self.time(node));
            state.network.schedule(until, node);
        }
    }

    /// A node that waited has been chosen to run.
    pub(super) fn end_wait(&self, node: usize) {
        let now = self.state.borrow().network.now();
        let clock = &self.clocks[node];
        clock.set(clock.get().max(now.0));
        if !self.interrupts.is_empty() {
            self.interrupt_waiting(node);
        }
    }

    /// Ends a node's wait for memory at `time` at the latest.
    pub(super) fn wake_memory(&self, node: usize, time: Time) {
        let mut state = self.state.borrow_mut();
        match &mut state.nodes[node].state {
            NodeState::Waits(wait) if matches!(wait.awaited, Awaited::Memory { .. }) => {
                if wait.until.is_none_or(|until| until > time) {
                    wait.until = Some(time);
                    state.network.schedule(time, node);
                }
            }
            // The node may be about to wait, after its last poll.
            _ => state.nodes[node].woken = true,
        }
    }

    /// Lets other nodes run. Unwinds if the job has ended meanwhile.
    pub(super) fn yield_to_others(&self) {
        // A node that unwinds is not resumed by others; it continues alone.
        if std::thread::panicking() {
            return;
        }
        suspend();
        if self.state.borrow().failure.is_some() {
            resume_unwind(Box::new(Stop));
        }
    }

    /// The node that runs next; `None` when no event is left.
    pub(super) fn next_node(&self) -> Option<usize> {
        let mut state = self.state.borrow_mut();
        if let Some(node) = state.next.take() {
            return Some(node);
        }
        while state.network.next().is_some() {
            if let Some(node) = self.step(&mut state) {
                return Some(node);
            }
        }
        None
    }

    /// Processes the next event; returns the node that then runs, if any.
    fn step(&self, state: &mut State) -> Option<usize> {
        let event = state.network.step()?;
        self.load_ahead(state);
        match event {
            NetworkEvent::Wake(node) => {
                let now = state.network.now();
                if self.requests {
                    self.pump(state, node);
                }
                // A node may already have been woken by another event.
                let is_due = match state.nodes[node].state {
                    NodeState::Due(at) => at == now,
                    NodeState::Waits(wait) => wait.until.is_some_and(|until| until <= now),
                    NodeState::Runs | NodeState::Ended => false,
                };
                if is_due {
                    state.nodes[node].state = NodeState::Runs;
                    return Some(node);
                }
            }
            NetworkEvent::Arrived { node, channel } => self.arrived(state, node, channel),
            NetworkEvent::Room { node, channel } => {
                if self.dma && is_data(channel) {
                    self.pump(state, node);
                }
                let bit = 1 << channel.0;
                state.wake_if(node, |wait| wait.room & bit != 0);
            }
            NetworkEvent::Moved => {}
        }
        None
    }

    /// Loads what the next events concern, as the network does.
    fn load_ahead(&self, state: &State) {
        let load = |node: usize| {
            let waits = matches!(state.nodes[node].state, NodeState::Waits(_));
            let collective = self.in_flight[node].try_borrow().is_ok_and(|collective| collective.loads());
            let queues =
                state.network.has_room(node, COLLECTIVES) ^ (state.network.arrived(node, COLLECTIVES) > 0);
            u64::from(waits ^ collective ^ queues) ^ self.time(node).0 ^ self.polls[node].get().ended.0
        };
        std::hint::black_box(state.network.upcoming().fold(0, |sum, node| sum ^ load(node)));
    }

    fn arrived(&self, state: &mut State, node: usize, channel: Channel) {
        // A node without ports never requests data; data that arrive all the same are detected
        // here.
        if is_data(channel) && (self.is_brought(channel) || !state.nodes[node].ports.are_open()) {
            state.take_data(node, channel);
        }
        let bit = 1 << channel.0;
        state.wake_if(node, |wait| wait.channels & bit != 0);
    }

    /// True if a receiver's DMA unit takes packets of a channel out of the network.
    pub(super) fn is_brought(&self, channel: Channel) -> bool {
        self.platform.dma.is_some_and(|dma| dma.receives_short || channel == DMA)
    }

    /// Sends the packets for which a node's DMA unit now has room.
    pub(super) fn pump(&self, state: &mut State, node: usize) {
        let limit = self.platform.interface.packet;
        while state.network.has_room(node, DMA) {
            let now = state.network.now();
            let Some(moving) = state.nodes[node].moving.front_mut() else { return };
            if moving.ready > now {
                return;
            }
            let all = moving.cargo.contents();
            let end = all.len().min(moving.sent + limit);
            let cargo = Cargo::from(all.part(moving.sent, end));
            let (length, last) = (end - moving.sent, end == all.len());
            let (to, port, offset) = (moving.to, moving.port, moving.offset + moving.sent);
            moving.sent = end;
            if last {
                state.nodes[node].moving.pop_front();
            }
            let payload = Payload::Put { port, offset, cargo, ends_block: last };
            // There is room, so this cannot fail.
            let _ = state.network.try_send(now, node, to, DMA, length, payload);
        }
    }

    /// Ends the job because of `failure`, unless it has ended already; this node unwinds.
    pub(super) fn fail(&self, failure: Failure) -> ! {
        self.state.borrow_mut().failure.get_or_insert(failure);
        resume_unwind(Box::new(Stop));
    }
}

impl State {
    /// True if an event that ends a wait has already occurred.
    pub(super) fn has_news(&self, node: usize, wait: &Wait) -> bool {
        let has = |channel: u8| self.network.arrived(node, Channel(channel)) > 0;
        let room = |channel: u8| self.network.has_room(node, Channel(channel));
        let bits = |mask: u8| (0..8).filter(move |bit| mask & (1 << bit) != 0);
        bits(wait.channels).any(has)
            || bits(wait.room).any(room)
            || self.nodes[node].ports.has_news()
            || (wait.awaited == Awaited::AllLeft && self.left == self.nodes.len())
    }

    /// Wakes a waiting node if `news` returns true.
    pub(super) fn wake_if(&mut self, node: usize, news: impl FnOnce(&Wait) -> bool) {
        if let NodeState::Waits(wait) = &self.nodes[node].state
            && news(wait)
        {
            let now = self.network.now();
            self.nodes[node].state = NodeState::Due(now);
            self.network.schedule(now, node);
        }
    }

    /// The control network completes a collective at time `done`: the nodes that wait for it then
    /// continue.
    pub(super) fn wake_at(&mut self, epoch: u64, done: Time) {
        for node in 0..self.nodes.len() {
            if let NodeState::Waits(wait) = &mut self.nodes[node].state
                && wait.epoch == Some(epoch)
            {
                wait.until = Some(done);
                self.network.schedule(done, node);
            }
        }
    }

    /// Empties a node's receive queue into its ports, without cost to its processor.
    pub(super) fn take_data(&mut self, node: usize, channel: Channel) {
        let now = self.network.now();
        while let Some(arrival) = self.network.receive(now, node, channel) {
            if let Payload::Put { port, offset, cargo, ends_block } = arrival.item {
                self.nodes[node].brought += u64::from(ends_block);
                self.deposit(arrival.from, node, port, offset, cargo.contents());
            }
        }
    }

    /// Writes arrived data into a port; ends the job if that is impossible.
    pub(super) fn deposit(
        &mut self,
        from: usize,
        node: usize,
        port: u32,
        offset: usize,
        contents: Contents<'_>,
    ) {
        if let Err(message) = self.nodes[node].ports.write(node, port as usize, offset, contents) {
            self.failure.get_or_insert(Failure { rank: from, message });
        }
    }
}
