//! Nodes as threads of one process.
//!
//! A node publishes what it brings to a collective on a page of its own, all nodes meet, and each reads the others'
//! pages in rank order; two pages a node, used in turn, save the second meeting for everything short. Longer vectors
//! are lent by address: each node combines its share of the elements for all nodes in place, and a second meeting
//! ends the loan. Blocks change owner through one queue for each ordered pair of nodes.
//!
//! # Why lending is sound
//! An address is followed only between two meetings that all nodes attend, and in between a node runs no code but
//! this module's: it cannot fail, so no lender unwinds before all have finished. What every node reads on the pages
//! of the first meeting is the same, so all find a mismatch together, before any address has been followed.

#![allow(unsafe_code, reason = "follows the addresses that nodes lend each other")]

mod bind;
mod job;
mod meet;
mod queue;
mod wait;

pub(crate) use job::run;

use crate::block::RawBlock;
use crate::number::{self, Kind, Op};
use crate::transport::{Awaited, Call, Failure, Network, Networks, Operation, Packet, Scan, Transport};
use job::Job;
use meet::{Pages, SHORT};
use std::sync::Arc;

/// The most nodes that one process takes: each is a thread with a stack, and each pair of nodes may have a queue.
pub(crate) const MOST: usize = 1024;

/// Vectors are combined this many bytes at a time: the running result stays in the nearest cache.
const SLICE: usize = 4096;

/// One node's end of the threads transport.
pub(crate) struct Threads {
    job: Arc<Job>,
    rank: usize,
    /// How many meetings this node has attended; equal on all nodes at any meeting.
    turn: u64,
    /// In a meeting, or out of one by unwinding. A node that catches that must not come to another: the pages' turns,
    /// and the count of those who came, hold only for meetings that were attended to their end.
    meeting: bool,
}

impl Threads {
    fn new(job: Arc<Job>, rank: usize) -> Self {
        Self { job, rank, turn: 0, meeting: false }
    }

    /// Meets all nodes, bringing `bytes` and lending what stands at `lent` until the meeting after this one.
    fn meet(&mut self, call: &Call, bytes: &[u8], lent: *mut u8) {
        if self.meeting {
            self.job.unwind();
        }
        self.meeting = true;
        self.turn += 1;
        // SAFETY: `self` is node `rank`'s only transport, does not leave its thread, and has attended every meeting
        // before this one to its end.
        unsafe { self.job.meet(self.rank, self.turn, call, bytes, lent) };
        self.meeting = false;
    }

    /// Meets all nodes and ends the job unless all made the same call.
    fn meet_alike(&mut self, call: &Call, bytes: &[u8], lent: *mut u8) {
        self.meet(call, bytes, lent);
        // SAFETY: this node has just attended meeting `turn`.
        if let Some(failure) = unsafe { self.job.mismatch(self.turn, call) } {
            self.job.fail(failure);
        }
    }

    /// Ends a loan.
    fn part(&mut self, call: &Call) {
        self.meet(call, &[], std::ptr::null_mut());
    }

    /// What each node has brought to the present meeting, in rank order; `bytes` at most [`SHORT`].
    fn brought(&self, bytes: usize) -> impl Iterator<Item = &[u8]> {
        // SAFETY: the borrow of `self` ends before this node can go to the next meeting.
        self.job.pages().iter().map(move |pages| unsafe { pages.short(self.turn, bytes) })
    }

    /// What node `rank` has lent for the present meeting.
    fn lent(&self, rank: usize) -> *mut u8 {
        // SAFETY: this node has attended meeting `turn` and not the next.
        unsafe { Pages::lent(&self.job.pages()[rank], self.turn) }
    }

    /// The slices of this node's share of `bytes`, as offset and length; a share is a multiple of 8 bytes.
    fn share(&self, bytes: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let each = bytes.div_ceil(8 * self.job.size()) * 8;
        let end = ((self.rank + 1) * each).min(bytes);
        ((self.rank * each).min(bytes)..end).step_by(SLICE).map(move |at| (at, SLICE.min(end - at)))
    }

    /// Combines this node's share of what all have lent. `step` gets each node's part in rank order; `spread`
    /// says whether the result is for all nodes to have.
    fn combine(&self, bytes: usize, spread: bool, step: impl Fn(usize, &mut [u8], &mut [u8])) {
        let mut room = [0u64; SLICE / 8];
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut room);
        for (at, length) in self.share(bytes) {
            let so_far = &mut room[..length];
            for rank in 0..self.job.size() {
                // SAFETY: every node lends `bytes` bytes (their calls agree) until the next meeting; no other node
                // touches this node's share, and the owner keeps its hands off all of it.
                let part = unsafe { std::slice::from_raw_parts_mut(self.lent(rank).add(at), length) };
                step(rank, so_far, part);
            }
            if spread {
                for rank in 0..self.job.size() {
                    // SAFETY: as above; `so_far` is this node's own.
                    unsafe { self.lent(rank).add(at).copy_from_nonoverlapping(so_far.as_ptr(), length) };
                }
            }
        }
    }
}

impl Transport for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.job.size()
    }

    fn barrier(&mut self, call: Call) {
        self.meet(&call, &[], std::ptr::null_mut());
    }

    fn reduce(&mut self, call: Call, kind: Kind, op: Op, values: &mut [u8]) {
        let bytes = values.len();
        if bytes <= SHORT {
            self.meet_alike(&call, values, std::ptr::null_mut());
            let mut brought = self.brought(bytes);
            if let Some(first) = brought.next() {
                values.copy_from_slice(first);
            }
            brought.for_each(|other| number::fold(kind, op, values, other));
            return;
        }
        self.meet_alike(&call, &[], values.as_mut_ptr());
        self.combine(bytes, true, |rank, so_far, part| {
            if rank == 0 {
                so_far.copy_from_slice(part);
            } else {
                number::fold(kind, op, so_far, part);
            }
        });
        self.part(&call);
    }

    fn scan(&mut self, call: Call, scan: Scan, values: &mut [u8]) {
        let Scan { kind, op, .. } = scan;
        let bytes = values.len();
        if bytes <= SHORT {
            self.meet_alike(&call, values, std::ptr::null_mut());
            let mut before = self.brought(bytes).take(self.rank);
            match before.next() {
                Some(first) => values.copy_from_slice(first),
                None => number::fill_identity(kind, op, values),
            }
            before.for_each(|other| number::fold(kind, op, values, other));
            return;
        }
        self.meet_alike(&call, &[], values.as_mut_ptr());
        self.combine(bytes, false, |rank, so_far, part| {
            if rank == 0 {
                so_far.copy_from_slice(part);
                number::fill_identity(kind, op, part);
            } else {
                number::carry(kind, op, so_far, part);
            }
        });
        self.part(&call);
    }

    fn broadcast(&mut self, call: Call, root: usize, values: &mut [u8]) {
        let bytes = values.len();
        if bytes <= SHORT {
            let mine = if self.rank == root { &*values } else { &[] };
            self.meet_alike(&call, mine, std::ptr::null_mut());
            if let Some(roots) = self.brought(bytes).nth(root) {
                values.copy_from_slice(roots);
            }
            return;
        }
        self.meet_alike(&call, &[], values.as_mut_ptr());
        if self.rank != root {
            // SAFETY: the root lends as many bytes (the calls agree) until the next meeting, and nobody writes them.
            values.copy_from_slice(unsafe { std::slice::from_raw_parts(self.lent(root), bytes) });
        }
        self.part(&call);
    }

    fn all_gather(&mut self, call: Call, mine: &[u8], all: &mut [u8]) {
        let bytes = mine.len();
        if bytes == 0 {
            self.meet_alike(&call, &[], std::ptr::null_mut());
        } else if bytes <= SHORT {
            self.meet_alike(&call, mine, std::ptr::null_mut());
            self.brought(bytes)
                .zip(all.chunks_exact_mut(bytes))
                .for_each(|(from, to)| to.copy_from_slice(from));
        } else {
            self.meet_alike(&call, &[], mine.as_ptr().cast_mut());
            for (rank, to) in all.chunks_exact_mut(bytes).enumerate() {
                // SAFETY: node `rank` lends as many bytes (the calls agree) until the next meeting; nobody writes them.
                to.copy_from_slice(unsafe { std::slice::from_raw_parts(self.lent(rank), bytes) });
            }
            self.part(&call);
        }
    }

    fn exchange(&mut self, call: Call, blocks: &mut [RawBlock]) {
        self.meet_alike(&call, &[], std::ptr::null_mut());
        let (rank, size) = (self.rank, self.job.size());
        for to in (rank + 1..size).chain(0..rank) {
            let block = std::mem::take(&mut blocks[to]);
            // SAFETY: this is node `rank`.
            unsafe { self.job.send(rank, to, &call, block) };
        }
        for from in (0..rank).rev().chain((rank + 1..size).rev()) {
            // SAFETY: this is node `rank`.
            blocks[from] = unsafe { self.job.receive(from, rank, &call) };
        }
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
        self.job.fail(failure);
    }
}
