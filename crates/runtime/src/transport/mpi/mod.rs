//! Nodes as processes of an MPI job.
//!
//! A collective of one integer, and a barrier, is one call of the library's. Everything else begins with a *frame*:
//! every node sends every other the header of its call and, where it fits, all its data. So lengths, roots and
//! operations that differ are found before the library is trusted with them, and short vectors need no second call.
//! With `STRATA_CHECK=1`, which is where builds with debug assertions start from, every collective begins so.
//!
//! MPI leaves the order in which it combines open, so floating-point numbers are gathered and combined here, in rank
//! order: short ones by every node, long ones by shares, one share a node. Integers do not show the order.
//!
//! Whatever fails says so on standard error and aborts the job. A node that has left the program looks at where the
//! others are (they show it in a window of memory, at the cost of a few stores) until all have left: a node that
//! waits for it would wait for ever. What is *not* found without `STRATA_CHECK` is a node in a barrier, or in a
//! reduce or scan of one number, while another is in a collective of another kind.

mod ffi;
mod header;

use crate::block::RawBlock;
use crate::error::Error;
use crate::number::{self, Kind, Op};
use crate::transport::{
    Action, Awaited, Call, Failure, Network, Networks, Operation, Packet, Scan, Transport, panic_text,
};
use bytemuck::{cast_slice, cast_slice_mut};
use ffi::World;
use header::{HEADER, Header};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::Duration;

/// Words of a frame.
const FRAME: usize = 32;

/// Bytes of data that fit into a frame.
const SHORT: usize = FRAME * 8 - HEADER;

/// How long a node that has found another's fault waits, so that the other can say it first.
const COURTESY: Duration = Duration::from_secs(1);

/// Runs `program` as this process's node of the job.
pub(crate) fn run<T>(program: impl FnOnce(Box<dyn Transport>) -> Result<T, Error>) -> Result<T, Error> {
    let start = |reason| Error::Start { transport: "mpi", reason };
    let world = World::get().map_err(start)?;
    if !world.enter() {
        return Err(start("this process is in an MPI program already".to_owned()));
    }
    match catch_unwind(AssertUnwindSafe(|| program(Box::new(Mpi::new(world))))) {
        Ok(Ok(result)) => match world.wait_for_all_to_leave(world.turn()) {
            Ok(()) => {
                world.leave();
                Ok(result)
            }
            Err(error) => world.die(world.rank(), error),
        },
        Ok(Err(error)) => world.die(world.rank(), error),
        Err(payload) => world.die(world.rank(), format_args!("panicked: {}", panic_text(&*payload))),
    }
}

/// One node's end of the MPI transport.
struct Mpi {
    world: &'static World,
    /// How many collectives this process has entered.
    turn: u64,
    /// The header of the call before this one and where it was made: in a loop most of it stays.
    header: Header,
    place: Option<&'static Location<'static>>,
    /// This node's frame, then room for everybody's.
    frame: [u64; FRAME],
    frames: Vec<u64>,
    /// Every collective begins with a frame; equal on all nodes.
    checks: bool,
    /// Room for what long vectors need; grows, and stays.
    scratch: Vec<u64>,
}

impl Mpi {
    /// Collective: a node that wants checks has them on all.
    #[track_caller]
    fn new(world: &'static World) -> Self {
        let wanted = std::env::var("STRATA_CHECK").map_or(cfg!(debug_assertions), |value| value != "0");
        let mut checks = 0u32.to_ne_bytes();
        let call = Call::plain(Action::GlobalOr, Location::caller());
        world.all_reduce(&call, Kind::U32, Op::Or, &u32::from(wanted).to_ne_bytes(), &mut checks);
        Self {
            checks: checks != [0; 4],
            world,
            turn: world.turn(),
            header: Header::default(),
            place: None,
            frame: [0; FRAME],
            frames: vec![0; FRAME * world.size()],
            scratch: Vec::new(),
        }
    }

    /// Shows where this node is now.
    fn enter(&mut self, call: &Call) {
        self.turn += 1;
        if self.place.is_some_and(|place| std::ptr::eq(place, call.place)) {
            self.header.recall(call);
            self.world.show(self.turn, self.header.changing());
        } else {
            self.place = Some(call.place);
            self.header = Header::new(call);
            self.world.show(self.turn, self.header.words());
        }
    }

    /// Whether a call goes to the library without a frame.
    fn is_direct(&self, call: &Call) -> bool {
        call.length == 1 && !self.checks
    }

    /// Exchanges frames with `data` (at most [`SHORT`] bytes), and ends the job unless all nodes made the same call.
    fn meet(&mut self, call: &Call, data: &[u8]) {
        let (head, rest) = self.frame.split_at_mut(HEADER / 8);
        head.copy_from_slice(self.header.words());
        cast_slice_mut::<u64, u8>(rest)[..data.len()].copy_from_slice(data);
        self.world.all_gather(call, cast_slice(&self.frame), cast_slice_mut(&mut self.frames));
        let headers = || self.frames.chunks_exact(FRAME).map(Header::from_words);
        let Some(first) = headers().next() else { return };
        if let Some((rank, other)) = headers().enumerate().find(|(_, other)| !other.agrees(&first)) {
            self.fail(Failure { rank, message: format!("{other}, but node 0 called {first}") });
        }
    }

    /// The first `bytes` bytes that each node sent with the last frame, in rank order.
    fn brought(&self, bytes: usize) -> impl Iterator<Item = &[u8]> {
        self.frames.chunks_exact(FRAME).map(move |frame| &cast_slice(&frame[HEADER / 8..])[..bytes])
    }

    /// Every node's number, in rank order, for numbers that go to the library without a frame.
    fn gather<'a>(&'a mut self, call: &Call, value: &[u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let all = &mut cast_slice_mut::<u64, u8>(&mut self.frames)[..value.len() * self.world.size()];
        self.world.all_gather(call, value, all);
        all.chunks_exact(value.len())
    }

    /// Cuts a vector of `bytes` into shares of whole words, one a node.
    fn shares(&self, bytes: usize) -> Vec<Range<usize>> {
        let size = self.world.size();
        let each = bytes.div_ceil(8 * size) * 8;
        (0..size).map(|rank| (rank * each).min(bytes)..((rank + 1) * each).min(bytes)).collect()
    }

    /// Room for `bytes` bytes.
    fn room(scratch: &mut Vec<u64>, bytes: usize) -> &mut [u8] {
        let words = bytes.div_ceil(8);
        if scratch.len() < words {
            scratch.resize(words, 0);
        }
        &mut cast_slice_mut(scratch)[..bytes]
    }

    /// Combines a long vector by shares: each node receives its share of all, `combine`s it in place, and sends each
    /// node its part (the first part to all, if `spread`).
    fn by_shares(
        &mut self,
        call: &Call,
        values: &mut [u8],
        spread: bool,
        combine: impl FnOnce(&mut [&mut [u8]]),
    ) {
        let (rank, size) = (self.world.rank(), self.world.size());
        let shares = self.shares(values.len());
        let mine = shares[rank].clone();
        let room = Self::room(&mut self.scratch, mine.len() * size);
        let mut parts = split(room, std::iter::repeat_n(mine.len(), size));
        parts[rank].copy_from_slice(&values[mine]);
        let send: Vec<&[u8]> = shares.iter().map(|share| &values[share.clone()]).collect();
        self.world.exchange(call, &send, &mut parts);
        combine(&mut parts);
        let result: Vec<&[u8]> = (0..size).map(|rank| &*parts[if spread { 0 } else { rank }]).collect();
        let mut values = split(values, shares.iter().map(ExactSizeIterator::len));
        values[rank].copy_from_slice(result[rank]);
        self.world.exchange(call, &result, &mut values);
    }
}

/// Cuts `bytes` into pieces of the lengths given.
fn split(mut bytes: &mut [u8], lengths: impl Iterator<Item = usize>) -> Vec<&mut [u8]> {
    let cut = |length| {
        let (piece, rest) = std::mem::take(&mut bytes).split_at_mut(length);
        bytes = rest;
        piece
    };
    lengths.map(cut).collect()
}

/// Combines what the nodes brought into `values`, in rank order.
fn combine<'a>(kind: Kind, op: Op, values: &mut [u8], mut brought: impl Iterator<Item = &'a [u8]>) {
    match brought.next() {
        Some(first) => values.copy_from_slice(first),
        None => number::fill_identity(kind, op, values),
    }
    brought.for_each(|other| number::fold(kind, op, values, other));
}

impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.world.rank()
    }

    fn size(&self) -> usize {
        self.world.size()
    }

    fn barrier(&mut self, call: Call) {
        self.enter(&call);
        if self.checks {
            self.meet(&call, &[]);
        } else {
            self.world.barrier(&call);
        }
    }

    fn reduce(&mut self, call: Call, kind: Kind, op: Op, values: &mut [u8]) {
        self.enter(&call);
        if self.is_direct(&call) {
            if kind.is_float() {
                let all = self.gather(&call, values);
                combine(kind, op, values, all);
            } else {
                let room = Self::room(&mut self.frames, values.len());
                room.copy_from_slice(values);
                self.world.all_reduce(&call, kind, op, room, values);
            }
        } else if values.len() <= SHORT {
            self.meet(&call, values);
            combine(kind, op, values, self.brought(values.len()));
        } else if kind.is_float() {
            self.meet(&call, &[]);
            self.by_shares(&call, values, true, |parts| {
                if let [first, others @ ..] = parts {
                    others.iter().for_each(|other| number::fold(kind, op, first, other));
                }
            });
        } else {
            self.meet(&call, &[]);
            let room = Self::room(&mut self.scratch, values.len());
            room.copy_from_slice(values);
            self.world.all_reduce(&call, kind, op, room, values);
        }
    }

    fn scan(&mut self, call: Call, scan: Scan, values: &mut [u8]) {
        let Scan { kind, op, .. } = scan;
        self.enter(&call);
        let rank = self.world.rank();
        let native = !kind.is_float();
        if self.is_direct(&call) && !native {
            let all = self.gather(&call, values).take(rank);
            combine(kind, op, values, all);
        } else if !self.is_direct(&call) && values.len() <= SHORT {
            self.meet(&call, values);
            combine(kind, op, values, self.brought(values.len()).take(rank));
        } else if native {
            if !self.is_direct(&call) {
                self.meet(&call, &[]);
            }
            let room = Self::room(&mut self.scratch, values.len());
            room.copy_from_slice(values);
            self.world.exclusive_scan(&call, kind, op, room, values);
            if rank == 0 {
                number::fill_identity(kind, op, values);
            }
        } else {
            self.meet(&call, &[]);
            self.by_shares(&call, values, false, |parts| {
                if let [first, others @ ..] = parts {
                    let mut words = vec![0u64; first.len().div_ceil(8)];
                    let so_far = &mut cast_slice_mut::<u64, u8>(&mut words)[..first.len()];
                    so_far.copy_from_slice(first);
                    number::fill_identity(kind, op, first);
                    others.iter_mut().for_each(|other| number::carry(kind, op, so_far, other));
                }
            });
        }
    }

    fn broadcast(&mut self, call: Call, root: usize, values: &mut [u8]) {
        self.enter(&call);
        if values.len() <= SHORT {
            self.meet(&call, values);
            if let Some(roots) = self.brought(values.len()).nth(root) {
                values.copy_from_slice(roots);
            }
        } else {
            self.meet(&call, &[]);
            self.world.broadcast(&call, root, values);
        }
    }

    fn all_gather(&mut self, call: Call, mine: &[u8], all: &mut [u8]) {
        self.enter(&call);
        if mine.is_empty() {
            self.meet(&call, &[]);
        } else if mine.len() <= SHORT {
            self.meet(&call, mine);
            let parts = all.chunks_exact_mut(mine.len());
            self.brought(mine.len()).zip(parts).for_each(|(from, to)| to.copy_from_slice(from));
        } else {
            self.meet(&call, &[]);
            self.world.all_gather(&call, mine, all);
        }
    }

    fn exchange(&mut self, call: Call, blocks: &mut [RawBlock]) {
        self.enter(&call);
        self.meet(&call, &[]);
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
        self.world.exchange(&call, &send, &mut receive);
        std::mem::swap(&mut received[rank], &mut blocks[rank]);
        blocks.iter_mut().zip(received).for_each(|(block, new)| *block = new);
    }

    fn start(&mut self, _call: Call, _operation: Operation, _values: RawBlock) {
        todo!()
    }

    fn test(&mut self) -> bool {
        todo!()
    }

    fn finish(&mut self) -> RawBlock {
        todo!()
    }

    fn try_send(&mut self, _network: Network, _to: usize, _packet: &Packet) -> bool {
        todo!()
    }

    fn try_receive(&mut self, _network: Network, _packet: &mut Packet) -> bool {
        todo!()
    }

    fn open(&mut self, _port: usize, _memory: RawBlock) {
        todo!()
    }

    fn close(&mut self, _port: usize) -> Option<RawBlock> {
        todo!()
    }

    fn put_limit(&self) -> usize {
        todo!()
    }

    fn try_put(&mut self, _call: &Call, _to: usize, _port: usize, _offset: usize, _bytes: &[u8]) -> bool {
        todo!()
    }

    fn put(&mut self, _call: &Call, _to: usize, _port: usize, _offset: usize, _bytes: &[u8]) {
        todo!()
    }

    fn arrivals(&mut self, _report: &mut dyn FnMut(usize, usize)) {
        todo!()
    }

    fn set_async_or(&mut self, _value: bool) {
        todo!()
    }

    fn async_or(&mut self) -> bool {
        todo!()
    }

    fn pause(&mut self, _call: &Call, _networks: Networks, _awaited: Awaited) {
        todo!()
    }

    fn leave(&mut self) {
        todo!()
    }

    fn all_left(&mut self) -> bool {
        todo!()
    }

    fn fail(&mut self, failure: Failure) -> ! {
        if failure.rank != self.world.rank() {
            std::thread::sleep(COURTESY);
        }
        self.world.die(failure.rank, failure.message);
    }
}
