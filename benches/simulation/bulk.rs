//! Blocks that all nodes send at once, and the resulting bandwidth.

use strata_model::Seconds;
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{
    Network,
    node::{Pacing, Transfer},
};

/// Data bytes of a packet of the CM-5.
const PACKET: usize = 16;

const NETWORKS: [Network; 2] = [Network::Request, Network::Reply];

/// How a node sends its blocks.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// `put`, which receives only where it finds no room.
    Put,
    /// `put` with pacing: after each packet it handles all arrived packets or, if there are none,
    /// waits for this many cycles.
    Paced(f64),
    /// Packet by packet, each followed by polls of one network, alternating, until it is empty.
    PollAll,
    /// Packet by packet, each followed by one poll of one network, alternating, and, if that
    /// failed, this many cycles.
    PollOnce(f64),
    /// This many transfers at a time, two packets of each in turn, with that pacing.
    Interleaved(usize, f64),
}

/// Blocks of equal length, one a round.
#[derive(Clone, Copy)]
pub(crate) struct Rounds<'a> {
    pub(crate) nodes: usize,
    /// The nodes below this one send.
    pub(crate) senders: usize,
    pub(crate) rounds: usize,
    /// Bytes of a block.
    pub(crate) bytes: usize,
    /// A barrier every this many rounds; 0 for none.
    pub(crate) barrier_every: usize,
    pub(crate) way: Way,
    /// The most cycles by which a node begins a block late; random.
    pub(crate) uneven: f64,
    /// The most cycles by which a node begins its first block late; random.
    pub(crate) apart: f64,
    /// Whether the machine's operating system interrupts the nodes.
    pub(crate) disturbed: bool,
    /// The target of a node in a round.
    pub(crate) target: &'a (dyn Fn(usize, usize) -> usize + Sync),
}

/// What came of it.
pub(crate) struct Run {
    /// Megabytes a second sent by each sender, by the cycle counter.
    pub(crate) bandwidth: f64,
    /// Packets in the network for each node, on average.
    pub(crate) standing: f64,
    /// The factor by which a timer of user time would show more.
    pub(crate) dilation: f64,
}

impl<'a> Rounds<'a> {
    /// One block of each of these nodes, begun at once on an undisturbed machine.
    pub(crate) fn of(nodes: usize, bytes: usize, target: &'a (dyn Fn(usize, usize) -> usize + Sync)) -> Self {
        let (senders, way) = (nodes, Way::PollOnce(0.0));
        Self {
            nodes,
            senders,
            rounds: 1,
            bytes,
            barrier_every: 0,
            way,
            uneven: 0.0,
            apart: 0.0,
            disturbed: false,
            target,
        }
    }

    /// Megabytes a second sent by each sender.
    pub(crate) fn bandwidth(&self, platform: &SimulatedMachine, seed: u64) -> Result<f64, Error> {
        self.run(platform, seed).map(|run| run.bandwidth)
    }

    /// Sends all blocks; the time is from the first start until the last node has received
    /// everything.
    pub(crate) fn run(&self, platform: &SimulatedMachine, seed: u64) -> Result<Run, Error> {
        let mut coming = vec![0; self.nodes];
        for rank in 0..self.senders {
            (0..self.rounds).for_each(|round| coming[(self.target)(rank, round)] += self.bytes);
        }
        let run = Machine::sim(platform, self.nodes)?.seed(seed).disturbed(self.disturbed).run(|node| {
            node.set_random_seed(strata_runtime::node::Seed::Number(seed << 32 | node.rank() as u64));
            node.install(node.handlers());
            node.open_port(1, Block::<u8>::zeroed(self.bytes));
            node.expect::<u8>(1, coming[node.rank()]);
            node.barrier();
            let start = node.now().get();
            if node.rank() < self.senders {
                self.send(node, platform);
            }
            if coming[node.rank()] > 0 {
                node.wait_for_port(1);
            }
            let end = node.now().get();
            node.barrier();
            node.close_port::<u8>(1);
            Ok((start, end))
        })?;
        let start = run.results.iter().map(|(start, _)| *start).fold(f64::INFINITY, f64::min);
        let end = run.results.iter().map(|(_, end)| *end).fold(0.0, f64::max);
        let bandwidth = (self.rounds * self.bytes) as f64 / (end - start) / 1e6;
        Ok(Run { bandwidth, standing: run.network.standing, dilation: run.dilation })
    }

    fn send(&self, node: &mut Node, platform: &SimulatedMachine) {
        let block = vec![node.rank() as u8; self.bytes];
        let target = |node: &Node, round| (self.target)(node.rank(), round);
        if let Way::Paced(delay) | Way::Interleaved(_, delay) = self.way {
            let seconds = |value| Seconds::new(value).unwrap_or_default();
            let delay = seconds(delay / platform.cpu.frequency);
            node.set_pacing(Some(Pacing::matched(seconds(0.0), delay, 0)));
        }
        if let Way::Interleaved(together, _) = self.way {
            for first in (0..self.rounds).step_by(together) {
                let start = |round| {
                    let to = target(node, round);
                    node.start_transfer(to, 1, 0, Block::from_slice(&block))
                };
                let transfers: Vec<Transfer<u8>> =
                    (first..self.rounds.min(first + together)).map(start).collect();
                node.complete_transfers();
                for transfer in transfers {
                    node.complete_transfer(transfer);
                }
            }
            return;
        }
        let random = |node: &mut Node, most: f64| {
            let late = (node.random() >> 11) as f64 * 2f64.powi(-53) * most;
            node.compute(late, || ());
        };
        // A draw more would change what nodes that begin together do.
        if self.apart > 0.0 {
            random(node, self.apart);
        }
        for round in 0..self.rounds {
            if self.barrier_every > 0 && round > 0 && round % self.barrier_every == 0 {
                node.barrier();
            }
            random(node, self.uneven);
            let to = target(node, round);
            let packets = block.chunks(PACKET).enumerate();
            match self.way {
                Way::Put | Way::Paced(_) | Way::Interleaved(..) => node.put(to, 1, 0, &block),
                Way::PollAll => packets.for_each(|(index, packet)| {
                    node.put(to, 1, index * PACKET, packet);
                    node.poll_one_until_empty(NETWORKS[index % 2]);
                }),
                Way::PollOnce(delay) => packets.for_each(|(index, packet)| {
                    node.put(to, 1, index * PACKET, packet);
                    if node.poll_one(NETWORKS[index % 2]) == 0 {
                        node.compute(delay, || ());
                    }
                }),
            }
        }
    }
}
