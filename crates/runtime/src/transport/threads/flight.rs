//! Split-phase operations: the meetings of the blocking ones, as a state that advances when it is looked at.
//!
//! A node comes to the first meeting when it starts an operation. When all have come a short operation is complete at once;
//! of a long one each node then combines its share, some slices at each look, and comes to a second meeting,
//! which ends the loan. A look never waits.

#![allow(unsafe_code, reason = "follows the addresses that nodes lend each other")]

use super::Threads;
use super::combine::SLICE;
use super::job::{Job, Whom};
use super::loan::Loan;
use super::meet::{Manner, SHORT};
use crate::block::RawBlock;
use crate::transport::{Boundary, Call, Failure, Operation};

/// The most bytes that one look reads: some microseconds.
const LOOK: usize = 16 << 10;

/// How far an operation is.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Until all have come to the first meeting, whose first so many nodes have.
    Coming(usize),
    /// Combining this node's share, from here to there.
    Combining(usize, usize),
    /// Until all have come to the second meeting.
    Parting(usize),
    Complete,
}

/// An operation in flight. Its memory is lent until it is complete.
pub(super) struct Flight {
    call: Call,
    operation: Operation,
    stage: Stage,
    loan: Loan,
}

impl Flight {
    /// Gives up an operation whose node goes: others may still follow the address of its memory.
    pub(super) fn abandon(self, job: &Job) {
        if !matches!(self.stage, Stage::Complete) {
            job.bury(self.loan);
        }
    }
}

impl Threads {
    /// Starts an operation.
    pub(super) fn take_off(&mut self, call: Call, operation: Operation, values: RawBlock) {
        if self.busy {
            self.refuse(&call);
        }
        self.busy = true;
        self.tell_of_room();
        let boundary = match operation {
            Operation::Scan(scan) => scan.boundary.unwrap_or_default(),
            _ => Boundary::None,
        };
        let manner = Manner { started: true, boundary };
        if values.bytes > SHORT {
            let loan = Loan::new(values);
            let address = loan.address();
            self.flight = Some(Flight { call, operation, stage: Stage::Coming(0), loan });
            self.come(&call, manner, &[], address);
        } else {
            let brings = match operation {
                Operation::Broadcast(root) => root == self.rank,
                _ => true,
            };
            let mine = if brings { values.as_bytes() } else { &[] };
            self.come(&call, manner, mine, std::ptr::null_mut());
            let loan = Loan::new(values);
            self.flight = Some(Flight { call, operation, stage: Stage::Coming(0), loan });
        }
    }

    /// Whether a look at the operation in flight may get it on.
    pub(super) fn may_advance(&self) -> bool {
        match self.flight.as_ref().map(|flight| flight.stage) {
            Some(Stage::Coming(seen) | Stage::Parting(seen)) => self.job.all_came(self.turn, &mut { seen }),
            _ => true,
        }
    }

    /// Does what can be done for the operation in flight; whether it is complete.
    pub(super) fn advance(&mut self) -> bool {
        let Some(flight) = &mut self.flight else { return true };
        let (call, operation, bytes) = (flight.call, flight.operation, flight.loan.bytes());
        let address = flight.loan.address();
        if let Stage::Coming(seen) | Stage::Parting(seen) = &mut flight.stage
            && !self.job.all_came(self.turn, seen)
        {
            self.look_around(&call);
            return false;
        }
        match flight.stage {
            Stage::Coming(_) => {
                self.check_alike();
                if bytes <= SHORT {
                    // SAFETY: the memory is this node's, and it lent none of it.
                    let values = unsafe { std::slice::from_raw_parts_mut(address, bytes) };
                    self.take_short(operation, values);
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
    pub(super) fn land(&mut self) -> RawBlock {
        match self.flight.take() {
            Some(Flight { stage: Stage::Complete, loan, .. }) => {
                self.busy = false;
                // SAFETY: all came to the meeting that ended the loan.
                unsafe { loan.end() }
            }
            other => {
                self.flight = other;
                let message = "finishes a split-phase operation that is not complete".to_owned();
                self.job.fail(Failure { rank: self.rank, message });
            }
        }
    }

    /// Combines at most some slices of this node's share and, after the last, comes to the second meeting. Whether the
    /// operation is complete.
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
            // SAFETY: the root lends as many bytes (the calls agree) until the next meeting, and nobody writes them; the
            // memory at `address` is this node's, and nobody follows its address. The root's own range is empty.
            Operation::Broadcast(root) => unsafe {
                address.add(at).copy_from_nonoverlapping(self.lent(root).add(at), to - at);
            },
            Operation::Barrier => {}
        }
        if to < end {
            self.reach(Stage::Combining(to, end));
            return false;
        }
        self.come(call, Manner { started: true, boundary: Boundary::None }, &[], std::ptr::null_mut());
        let mut seen = 0;
        let complete = self.job.all_came(self.turn, &mut seen);
        self.reach(if complete { Stage::Complete } else { Stage::Parting(seen) });
        complete
    }

    /// The result of an operation that fits on the pages.
    fn take_short(&self, operation: Operation, values: &mut [u8]) {
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
        if let Some(flight) = &mut self.flight {
            flight.stage = stage;
        }
    }

    /// Unwinds where those who have not come never will.
    fn look_around(&self, call: &Call) {
        self.job.patience(self.rank, call, Whom::Everyone, &|| self.may_advance());
    }
}
