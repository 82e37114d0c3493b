//! Transfers of blocks: several at a time, with interleaved packets, paced to the receiver.
//!
//! Nodes that send to the same node at once wait for each other, and all senders behind them wait,
//! too. Sending two packets of each transfer in turn spreads the load (Brewer, §7.3: 1.8 to 2.1
//! times the bandwidth where targets are not known beforehand); each node visits its targets in its
//! own random order.

use super::Node;
use crate::block::{Block, Contents, RawBlock};
use crate::transport::{Action, Awaited, Call, Network};
use bytemuck::Pod;
use chacha20::ChaCha8Rng;
use rand::{SeedableRng as _, seq::SliceRandom as _};
use std::cell::OnceCell;
use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;
use strata_model::set::Resolved;
use strata_model::{ModelSet, Seconds};

/// Packets of each transfer in a round (Brewer, manual, §8).
const IN_A_ROUND: usize = 2;

/// Packets that an empty network takes from a sender whose receiver does not receive (Brewer,
/// figure 7-2): shorter transfers are not paced, because pauses make them slower (§7.3.3).
const IN_NETWORK: usize = 10;

/// A started transfer; [`Node::complete_transfer`] returns its block.
#[must_use = "the block comes back by `complete_transfer`"]
#[derive(Debug)]
pub struct Transfer<T> {
    number: u64,
    element: PhantomData<fn() -> T>,
}

/// A transfer in progress.
struct Sending {
    number: u64,
    call: Call,
    to: usize,
    port: usize,
    /// The position of its first byte in the port.
    offset: usize,
    block: RawBlock,
    sent: usize,
    /// The callback that receives the block when all of it was sent.
    then: Option<Then>,
}

type Then = Box<dyn FnOnce(RawBlock)>;

/// A piece of a node's data for another node.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) to: usize,
    /// The position of its first byte in the port.
    pub(crate) offset: usize,
    pub(crate) bytes: &'a [u8],
}

/// A node's transfers.
pub(super) struct Transfers {
    started: u64,
    /// The transfers, by the position of their target in `order`, then by age.
    sending: Vec<Sending>,
    done: Vec<(u64, RawBlock)>,
    order: Order,
    pacing: Option<Pacing>,
    /// The pacing of patterns by models; `None` before the setting was read.
    by_models: Option<Option<Pacing>>,
    /// The network that was polled last for pacing.
    polled: Network,
}

impl Transfers {
    pub(super) fn new(rank: usize, size: usize) -> Self {
        Self {
            started: 0,
            sending: Vec::new(),
            done: Vec::new(),
            order: Order { rank, size, positions: OnceCell::new() },
            pacing: None,
            by_models: None,
            polled: Network::Reply,
        }
    }
}

/// A node's random order of all nodes. Made when it is first needed: all nodes together take a
/// number for each pair of nodes, which is a gigabyte for 16,384 simulated ones.
struct Order {
    rank: usize,
    size: usize,
    positions: OnceCell<Vec<u32>>,
}

impl Order {
    /// The position of each node.
    fn positions(&self) -> &[u32] {
        self.positions.get_or_init(|| {
            let mut positions: Vec<u32> = (0..u32::try_from(self.size).unwrap_or(u32::MAX)).collect();
            positions.shuffle(&mut ChaCha8Rng::seed_from_u64(self.rank as u64 + 1));
            positions
        })
    }
}

/// Bandwidth matching: a pause after each packet, so that a sender is no faster than its receiver
/// (Brewer, §6.1.3).
///
/// A sender that outruns its receiver fills the network's buffers, and all senders behind them
/// stall. The least pause that avoids this is the time to receive a packet less that to send one.
/// Pauses cost time if the buffers would have absorbed the transfer, so transfers that fit into
/// them are sent without pauses. Longer ones pause from their first packet on, because a network
/// that was filled once stays full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    delay: Duration,
    buffered: usize,
}

impl Pacing {
    /// The pacing for packets that take `send` to send and `receive` to receive, where `buffered`
    /// packets fit into the network.
    #[must_use]
    pub fn matched(send: Seconds, receive: Seconds, buffered: usize) -> Self {
        let delay = Duration::try_from_secs_f64(receive.get() - send.get()).unwrap_or_default();
        Self { delay, buffered }
    }

    /// The pacing by fitted models of full packets: `SendAlone()` and `ReceiveAlone()` of a model
    /// set, which `specc calibrate specs/matching` makes.
    ///
    /// `None` if the set does not have them, or they are not valid on `nodes` nodes.
    ///
    /// ```
    /// use strata_model::ModelSet;
    /// use strata_runtime::node::Pacing;
    ///
    /// let model = |name: &str, seconds: f64| format!(
    ///     "[[models]]\nname = \"{name}\"\ninputs = []\nterms = [{{ term = \"1\", coefficient = {seconds:e}, \
    ///      std_error = 0.0, half_width = 0.0, relevant = true }}]\ncovariance = [[0.0]]\n"
    /// );
    /// let text = format!("strata-models = 1\n{}{}", model("SendAlone", 1e-6), model("ReceiveAlone", 3e-6));
    /// let set = ModelSet::read(&text)?.resolve()?;
    /// let pacing = Pacing::of_models(&set, 4, 10).expect("both are there");
    /// assert_eq!(pacing.delay_in(10).as_nanos(), 0);
    /// assert_eq!(pacing.delay_in(11).as_nanos(), 2000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_models(models: &Resolved, nodes: usize, buffered: usize) -> Option<Self> {
        let seconds = |model| models.seconds(model, nodes, &[]).and_then(Seconds::new);
        Some(Self::matched(seconds("SendAlone")?, seconds("ReceiveAlone")?, buffered))
    }

    /// The pacing by the model set in a file; `None` if the set has no such models.
    fn of_file(path: &str, nodes: usize) -> Result<Option<Self>, String> {
        let wrong = |reason: String| format!("STRATA_MODELS={path}: {reason}");
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let set = ModelSet::read(&text).map_err(|error| wrong(error.to_string()))?;
        if !set.models.iter().any(|model| ["SendAlone", "ReceiveAlone"].contains(&&*model.name)) {
            return Ok(None);
        }
        let resolved = set.resolve().map_err(|error| wrong(error.to_string()))?;
        Self::of_models(&resolved, nodes, IN_NETWORK).map(Some).ok_or_else(|| {
            wrong(format!(
                "its models `SendAlone` and `ReceiveAlone` do not pace patterns of {nodes} nodes; \
                 `specc calibrate specs/matching --nodes {nodes} -o FOLDER` makes such models"
            ))
        })
    }

    /// The pause after each packet of a transfer of `packets` packets: none if they fit into the
    /// network.
    #[must_use]
    pub fn delay_in(&self, packets: usize) -> Duration {
        if packets <= self.buffered { Duration::ZERO } else { self.delay }
    }
}

impl Node {
    /// Runs a pattern of communication. It is paced by the models in the file of `STRATA_MODELS` if
    /// the file has them and the program has set no pacing.
    pub(crate) fn paced<T>(&mut self, pattern: impl FnOnce(&mut Self) -> T) -> T {
        if self.transfers.pacing.is_some() {
            return pattern(self);
        }
        let pacing = match self.transfers.by_models {
            Some(pacing) => pacing,
            None => {
                let nodes = self.size();
                let read = self.setting("STRATA_MODELS").map(|path| Pacing::of_file(path, nodes));
                match read.transpose() {
                    Ok(pacing) => *self.transfers.by_models.insert(pacing.flatten()),
                    Err(message) => self.fail(message),
                }
            }
        };
        self.transfers.pacing = pacing;
        let result = pattern(self);
        self.transfers.pacing = None;
        result
    }

    /// The most bytes of a block that one packet carries here; at most 4096.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn packet_bytes(&self) -> usize {
        self.put_limit.clamp(1, 4096)
    }

    /// Sets the pacing of [`put`](Self::put) and of transfers; `None`, the initial state, means no
    /// pauses.
    ///
    /// # Participation
    /// Local.
    pub fn set_pacing(&mut self, pacing: Option<Pacing>) {
        self.transfers.pacing = pacing;
    }

    /// Starts to write `block` into port `port` of node `to`, from element `offset` on.
    ///
    /// Packets are sent only in [`service_transfers`](Self::service_transfers) or one of the
    /// completing calls: start all transfers of a step, then complete them.
    ///
    /// ```
    /// use strata_runtime::prelude::*;
    ///
    /// let received = Machine::threads(3)?.run(|node| {
    ///     let (rank, size) = (node.rank(), node.size());
    ///     node.install(node.handlers());
    ///     node.open_port(0, Block::<u64>::zeroed(size));
    ///     node.expect::<u64>(0, size);
    ///     node.barrier();
    ///     // To each node a number, at the place of this one.
    ///     let block = |to| Block::from_slice(&[(10 * rank + to) as u64]);
    ///     let transfers: Vec<_> = (0..size).map(|to| node.start_transfer(to, 0, rank, block(to))).collect();
    ///     for transfer in transfers {
    ///         let _memory: Block<u64> = node.complete_transfer(transfer);
    ///     }
    ///     node.wait_for_port(0);
    ///     Ok(node.close_port::<u64>(0).to_vec())
    /// })?;
    /// assert_eq!(received[1], [1, 11, 21]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local. Node `to` must exist and its port be open and long enough, otherwise the job ends.
    #[track_caller]
    pub fn start_transfer<T: Pod>(
        &mut self,
        to: usize,
        port: usize,
        offset: usize,
        block: Block<T>,
    ) -> Transfer<T> {
        let number = self.start_sending(to, port, offset, block, None, Location::caller());
        Transfer { number, element: PhantomData }
    }

    /// As [`start_transfer`](Self::start_transfer); `then` receives the block when it was sent
    /// completely, inside the call that sent its last packet (Brewer, figure 7-10: `complete`).
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// use strata_runtime::prelude::*;
    ///
    /// let lengths = Machine::threads(2)?.run(|node| {
    ///     node.install(node.handlers());
    ///     node.open_port(0, Block::<u64>::zeroed(3));
    ///     node.expect::<u64>(0, 3);
    ///     node.barrier();
    ///     let length = Rc::new(Cell::new(0));
    ///     let sent = Rc::clone(&length);
    ///     let block = Block::from_slice(&[1u64, 2, 3]);
    ///     node.start_transfer_then(1 - node.rank(), 0, 0, block, move |block| sent.set(block.len()));
    ///     node.complete_transfers();
    ///     node.wait_for_port(0);
    ///     node.close_port::<u64>(0);
    ///     Ok(length.get())
    /// })?;
    /// assert_eq!(lengths, [3; 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// As [`start_transfer`](Self::start_transfer).
    #[track_caller]
    pub fn start_transfer_then<T: Pod>(
        &mut self,
        to: usize,
        port: usize,
        offset: usize,
        block: Block<T>,
        then: impl FnOnce(Block<T>) + 'static,
    ) {
        let then: Then = Box::new(|raw| then(Block::from_raw(raw)));
        self.start_sending(to, port, offset, block, Some(then), Location::caller());
    }

    fn start_sending<T: Pod>(
        &mut self,
        to: usize,
        port: usize,
        offset: usize,
        block: Block<T>,
        then: Option<Then>,
        place: &'static Location<'static>,
    ) -> u64 {
        self.check_target(to, port, place);
        let call = Call::to(Action::Put, to, place);
        let offset = self.bytes_of_offset::<T>(&call, offset);
        self.transfers.started += 1;
        let number = self.transfers.started;
        let sending = Sending { number, call, to, port, offset, block: block.into_raw(), sent: 0, then };
        let Transfers { sending: all, order, .. } = &mut self.transfers;
        let order = order.positions();
        let at = all.partition_point(|other| order[other.to] <= order[to]);
        all.insert(at, sending);
        number
    }

    /// Sends `2 * rounds` packets of every started transfer, two of each in turn, and receives in
    /// between. Returns the number of transfers not yet sent completely.
    ///
    /// # Participation
    /// Local.
    pub fn service_transfers(&mut self, rounds: usize) -> usize {
        for _ in 0..rounds {
            if self.transfers.sending.is_empty() {
                break;
            }
            self.send_a_round(None);
            self.receive_all();
        }
        self.transfers.sending.len()
    }

    /// Sends every started transfer completely.
    ///
    /// # Participation
    /// Local.
    pub fn complete_transfers(&mut self) {
        self.send_while(None, |transfers| !transfers.sending.is_empty());
    }

    /// Sends one transfer completely, and returns its block.
    ///
    /// # Participation
    /// Local.
    pub fn complete_transfer<T: Pod>(&mut self, transfer: Transfer<T>) -> Block<T> {
        let number = transfer.number;
        self.send_while(Some(number), |transfers| transfers.sending.iter().any(|s| s.number == number));
        let at = self.transfers.done.iter().position(|(done, _)| *done == number);
        // Missing only while this node unwinds.
        Block::from_raw(at.map(|at| self.transfers.done.swap_remove(at).1).unwrap_or_default())
    }

    /// The bytes of a transfer that have not yet been sent.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn remaining<T>(&self, transfer: &Transfer<T>) -> usize {
        let sending = self.transfers.sending.iter().find(|s| s.number == transfer.number);
        sending.map_or(0, |s| s.block.size() - s.sent)
    }

    fn send_while(&mut self, only: Option<u64>, unfinished: impl Fn(&Transfers) -> bool) {
        while self.may_go_on() && unfinished(&self.transfers) {
            let moved = self.send_a_round(only);
            if self.receive_all() == 0 && !moved {
                let first = self.transfers.sending.iter().find(|s| only.is_none_or(|only| only == s.number));
                if let Some(&Sending { call, to, .. }) = first {
                    self.pause(&call, Awaited::PutRoom(to));
                }
            }
        }
    }

    /// Sends two packets of each transfer, or of one; returns true if any found room.
    fn send_a_round(&mut self, only: Option<u64>) -> bool {
        let mut moved = false;
        // Sending receives messages, but receiving starts no transfer: the list does not change
        // meanwhile.
        let mut all = std::mem::take(&mut self.transfers.sending);
        for sending in &mut all {
            if only.is_some_and(|only| only != sending.number) {
                continue;
            }
            let Sending { call, to, port, offset, block, sent, .. } = sending;
            for _ in 0..IN_A_ROUND {
                moved |= self.put_packet(call, *to, *port, *offset, block.contents(), sent);
            }
        }
        let done = |sending: &mut Sending| {
            let is_done = sending.sent == sending.block.size();
            is_done && only.is_none_or(|only| only == sending.number)
        };
        for sending in all.extract_if(.., done) {
            match sending.then {
                Some(then) => then(sending.block),
                None => self.transfers.done.push((sending.number, sending.block)),
            }
            moved = true;
        }
        self.transfers.sending = all;
        moved
    }

    /// Sends pieces to the same port of their targets, `together` at a time, two packets of each in
    /// turn.
    pub(crate) fn put_interleaved(
        &mut self,
        call: &Call,
        port: usize,
        together: usize,
        pieces: &[Piece<'_>],
    ) {
        if !self.may_go_on() {
            return;
        }
        let mut pieces: Vec<(Piece<'_>, usize)> = pieces.iter().map(|piece| (*piece, 0)).collect();
        let order = self.transfers.order.positions();
        pieces.sort_by_key(|(piece, _)| order[piece.to]);
        for group in pieces.chunks_mut(together.max(1)) {
            loop {
                let (mut moved, mut left) = (false, None);
                for (piece, sent) in &mut *group {
                    for _ in 0..IN_A_ROUND {
                        moved |=
                            self.put_packet(call, piece.to, port, piece.offset, piece.bytes.into(), sent);
                    }
                    if *sent < piece.bytes.len() {
                        left = Some(piece.to);
                    }
                }
                let received = self.receive_all();
                match left {
                    None => break,
                    Some(to) if !moved && received == 0 => {
                        self.pause(call, Awaited::PutRoom(to));
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Sends the next packet of `all`, of which `sent` bytes have been sent, if there is one and
    /// there is room for it.
    pub(super) fn put_packet(
        &mut self,
        call: &Call,
        to: usize,
        port: usize,
        offset: usize,
        all: Contents<'_>,
        sent: &mut usize,
    ) -> bool {
        let limit = self.put_limit.max(1);
        let end = all.len().min(*sent + limit);
        let piece = all.part(*sent, end);
        let offset = offset + *sent;
        if piece.len() == 0 || !self.transport.try_put(call, to, port, offset, piece) {
            return false;
        }
        *sent = end;
        self.keep_pace(all.len().div_ceil(limit));
        true
    }

    /// Writes all of `all`, with the current pacing.
    pub(crate) fn put_all(&mut self, call: &Call, to: usize, port: usize, offset: usize, all: Contents<'_>) {
        if all.len() == 0 || !self.may_go_on() {
            return;
        }
        if self.transfers.pacing.is_none() {
            self.transport.put(call, to, port, offset, all);
            return;
        }
        let mut sent = 0;
        while sent < all.len() {
            if !self.put_packet(call, to, port, offset, all, &mut sent) && self.receive_all() == 0 {
                self.pause(call, Awaited::PutRoom(to));
            }
        }
    }

    /// Called after a packet: handles arrived packets or, if there are none, lets the receiver
    /// catch up (Brewer, §6.1.3). The networks alternate (Brewer, manual, §6.2: this is faster in a
    /// loop than polling both).
    ///
    /// Alternation also keeps nodes in step. Nodes that receive from both networks find the next
    /// packet whenever they have handled one, and send nothing meanwhile. They end up alternating
    /// between bursts of sending and receiving. The packets of a single network leave gaps.
    fn keep_pace(&mut self, packets: usize) {
        let Some(pacing) = self.transfers.pacing else { return };
        let delay = pacing.delay_in(packets);
        if delay.is_zero() {
            return;
        }
        let network = self.transfers.polled.other();
        self.transfers.polled = network;
        if self.poll_one_until_empty(network) == 0 {
            self.clock.idle(delay);
        }
    }
}
