//! Split-phase operations: the rendezvous of the blocking ones, as a state machine that each test
//! advances.
//!
//! A node arrives at the first rendezvous when it starts an operation. When all have arrived, a
//! short operation is complete at once; for a long one each node then combines its share, some
//! slices at each test, and arrives at a second rendezvous, which ends the loan. A test never
//! waits.

#![allow(unsafe_code, reason = "follows the addresses that nodes lend each other")]

use super::Threads;
use super::combine::SLICE;
use super::job::{Job, Peers};
use super::loan::Loan;
use super::rendezvous::{Mode, SHORT};
use super::sync::UNDER_LOOM;
use crate::block::RawBlock;
use crate::transport::{Boundary, Call, Failure, Operation};

/// The most bytes that one test reads: some microseconds.
const LOOK: usize = if UNDER_LOOM { 128 } else { 16 << 10 };

/// The state of an operation.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Waiting for all to arrive at the first rendezvous; this many nodes, counted from the first,
    /// have arrived.
    Coming(usize),
    /// Combining this range of this node's share.
    Combining(usize, usize),
    /// Waiting for all to arrive at the second rendezvous; this many nodes, counted from the first,
    /// have arrived.
    Parting(usize),
    Complete,
}

/// An operation in flight. Its memory is lent until it is complete.
pub(super) struct PendingCollective {
    call: Call,
    operation: Operation,
    stage: Stage,
    loan: Loan,
}

impl PendingCollective {
    /// Abandons an operation when the node leaves: others may still access its memory.
    pub(super) fn abandon(self, job: &Job) {
        if !matches!(self.stage, Stage::Complete) {
            job.retain(self.loan);
        }
    }
}

impl Threads {
    pub(super) fn start_pending(&mut self, call: Call, operation: Operation, values: RawBlock) {
        if self.busy {
            self.refuse(&call);
        }
        self.busy = true;
        self.notify_room();
        let boundary = match operation {
            Operation::Scan(scan) => scan.boundary.unwrap_or_default(),
            _ => Boundary::None,
        };
        let mode = Mode { started: true, boundary };
        if values.bytes > SHORT {
            let loan = Loan::new(values);
            let address = loan.address();
            self.pending = Some(PendingCollective { call, operation, stage: Stage::Coming(0), loan });
            self.arrive(&call, mode, &[], address);
        } else {
            let brings = match operation {
                Operation::Broadcast(root) => root == self.rank,
                _ => true,
            };
            let mine = if brings { values.as_bytes() } else { &[] };
            self.arrive(&call, mode, mine, std::ptr::null_mut());
            let loan = Loan::new(values);
            self.pending = Some(PendingCollective { call, operation, stage: Stage::Coming(0), loan });
        }
    }

    /// True if a test may advance the operation in flight.
    pub(super) fn may_advance(&self) -> bool {
        match self.pending.as_ref().map(|pending| pending.stage) {
            Some(Stage::Coming(seen) | Stage::Parting(seen)) => {
                self.job.all_arrived(self.epoch, &mut { seen })
            }
            _ => true,
        }
    }

    /// Advances the operation in flight as far as possible; returns true if it is complete.
    pub(super) fn advance(&mut self) -> bool {
        let Some(pending) = &mut self.pending else { return true };
        if let Stage::Coming(seen) | Stage::Parting(seen) = &mut pending.stage
            && !self.job.all_arrived(self.epoch, seen)
        {
            let call = pending.call;
            self.check_peers(&call);
            return false;
        }
        let (call, operation, bytes) = (pending.call, pending.operation, pending.loan.bytes());
        let address = pending.loan.address();
        match pending.stage {
            Stage::Coming(_) => {
                self.check_alike();
                if bytes <= SHORT {
                    // SAFETY: the memory is this node's, which lent none of it.
                    let values = unsafe { std::slice::from_raw_parts_mut(address, bytes) };
                    self.short_result(operation, values);
                    self.reach(Stage::Complete);
                    return true;
                }
                let share = match operation {
                    Operation::Broadcast(root) if root == self.rank => 0..0,
                    Operation::Broadcast(_) => 0..bytes,
                    _ => self.share(bytes),
                };
                self.combine(&call, operation, address, share.start, share.end)
            }
            Stage::Combining(at, end) => self.combine(&call, operation, address, at, end),
            Stage::Parting(_) => {
                self.reach(Stage::Complete);
                true
            }
            Stage::Complete => true,
        }
    }

    /// The memory of the operation in flight, which is complete.
    pub(super) fn take_result(&mut self) -> RawBlock {
        match self.pending.take() {
            Some(PendingCollective { stage: Stage::Complete, loan, .. }) => {
                self.busy = false;
                // SAFETY: all nodes arrived at the rendezvous that ended the loan.
                unsafe { loan.end() }
            }
            other => {
                self.pending = other;
                let message = "finishes a split-phase operation that is not complete".to_owned();
                self.job.fail(Failure { rank: self.rank, message });
            }
        }
    }

    /// Combines a limited number of slices of this node's share and, after the last, arrives at the
    /// second rendezvous. Returns true if the operation is complete.
    fn combine(
        &mut self,
        call: &Call,
        operation: Operation,
        address: *mut u8,
        at: usize,
        end: usize,
    ) -> bool {
        let most = match operation {
            Operation::Broadcast(_) => LOOK,
            _ => (LOOK / self.job.size()).clamp(SLICE / 8, 2 * SLICE) / 8 * 8,
        };
        let to = end.min(at + most);
        match operation {
            Operation::Reduce(kind, op) => self.reduce_share(kind, op, at..to),
            Operation::Scan(scan) => self.scan_share(scan, at..to),
            // SAFETY: the root lends this many bytes (the calls agree) until the next rendezvous,
            // and no node writes them; the memory at `address` is this node's, and no other node
            // accesses it. The root's own range is empty.
            Operation::Broadcast(root) => unsafe {
                address.add(at).copy_from_nonoverlapping(self.lent(root).add(at), to - at);
            },
            Operation::Barrier => {}
        }
        if to < end {
            self.reach(Stage::Combining(to, end));
            return false;
        }
        self.arrive(call, Mode { started: true, boundary: Boundary::None }, &[], std::ptr::null_mut());
        let mut seen = 0;
        let complete = self.job.all_arrived(self.epoch, &mut seen);
        self.reach(if complete { Stage::Complete } else { Stage::Parting(seen) });
        complete
    }

    /// The result of an operation that fits on the slots.
    fn short_result(&self, operation: Operation, values: &mut [u8]) {
        match operation {
            Operation::Barrier => {}
            Operation::Reduce(kind, op) => self.reduce_short(kind, op, values),
            Operation::Scan(scan) => self.scan_short(scan, values),
            Operation::Broadcast(root) => {
                if let Some(roots) = self.brought(values.len()).nth(root) {
                    values.copy_from_slice(roots);
                }
            }
        }
    }

    fn reach(&mut self, stage: Stage) {
        if let Some(pending) = &mut self.pending {
            pending.stage = stage;
        }
    }

    /// Unwinds if a node has left without arriving.
    fn check_peers(&self, call: &Call) {
        self.job.check(self.rank, call, Peers::All, &|| self.may_advance());
    }
}
