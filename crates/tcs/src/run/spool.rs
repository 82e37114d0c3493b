//! DMA transfers ("spools"): they proceed while the cell does other work.
//!
//! On iWarp a spool is a DMA unit that streams a connection's data from or to memory (Warfel 1996,
//! §3.1). Here a cell advances them in every operation on its connections, and while it waits. In
//! simulated time a transfer costs the cell only its start.

use super::messages::End;
use super::ring::Loan;
use super::sink::Sink;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use strata_runtime::memory::LentVec;

/// A DMA transfer of the phase in which it was started: see [`Net::spool`](super::Net::spool).
#[derive(Debug)]
#[must_use = "`finish` gives the values back"]
pub struct Spool<T> {
    pub(super) number: u64,
    pub(super) of: PhantomData<T>,
}

/// Values of any type.
pub(super) trait Buffer {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    /// Lends its memory.
    fn lend(self: Box<Self>, loan: &Loan) -> Box<dyn Buffer>;
    /// Takes its memory back, if it is lent.
    fn take_back(self: Box<Self>) -> Box<dyn Buffer>;
}

impl<T: Pod> Buffer for Vec<T> {
    fn bytes(&self) -> &[u8] {
        cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        cast_slice_mut(self)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn lend(self: Box<Self>, loan: &Loan) -> Box<dyn Buffer> {
        Box::new(loan.desk.lend_vec(loan.number, *self))
    }

    fn take_back(self: Box<Self>) -> Box<dyn Buffer> {
        self
    }
}

/// Values whose memory is lent: none of it can be accessed.
impl<T: Pod> Buffer for LentVec<T> {
    fn bytes(&self) -> &[u8] {
        &[]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut []
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(LentVec::take_back(*self))
    }

    fn lend(self: Box<Self>, _: &Loan) -> Box<dyn Buffer> {
        self
    }

    fn take_back(self: Box<Self>) -> Box<dyn Buffer> {
        Box::new(LentVec::take_back(*self))
    }
}

/// The state of one DMA transfer.
pub(super) struct Transfer<'a> {
    pub(super) end: End<'a>,
    pub(super) sends: bool,
    buffer: Box<dyn Buffer>,
    /// The memory that is lent in place of a buffer of another length than the message: none.
    instead: Option<LentVec<u8>>,
    /// The port of a message that is put in one piece.
    pub(super) port: Option<usize>,
    /// True if such a message has been announced.
    pub(super) announced: bool,
    /// The loan of memory for the message, if it does not come in pieces.
    loan: Option<Loan>,
    /// Bytes moved so far.
    at: usize,
    pub(super) ended: bool,
    /// Its progress in simulated time: at first the start, at the end the arrival of the last byte.
    pub(super) time: f64,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(end: End<'a>, sends: bool, buffer: Box<dyn Buffer>, time: f64) -> Self {
        let (instead, loan, port, announced, at, ended) = Default::default();
        Self { end, sends, buffer, instead, port, announced, loan, at, ended, time }
    }

    /// The loan of memory for the message; `None` if it comes in pieces.
    pub(super) fn loan(&self) -> Option<&Loan> {
        self.loan.as_ref()
    }

    /// The message is written when its receiver has lent memory.
    pub(super) fn waits_for(&mut self, loan: Loan) {
        self.loan = Some(loan);
    }

    /// Lends the buffer to the sender of a message.
    pub(super) fn lend(&mut self, loan: Loan) {
        self.at += loan.bytes;
        if self.at == self.buffer.bytes().len() {
            let none = Box::new(Vec::<u8>::new());
            self.buffer = std::mem::replace(&mut self.buffer, none).lend(&loan);
        } else {
            self.instead = Some(loan.desk.lend_vec(loan.number, Vec::new()));
        }
        self.loan = Some(loan);
    }

    /// Takes the buffer back, which has been written.
    pub(super) fn take_back(&mut self) {
        (self.instead, self.loan) = (None, None);
        let none = Box::new(Vec::<u8>::new());
        self.buffer = std::mem::replace(&mut self.buffer, none).take_back();
        self.ended = true;
    }

    pub(super) fn rest(&self) -> &[u8] {
        self.buffer.bytes().get(self.at..).unwrap_or_default()
    }

    /// Records that bytes have left; the transfer ends with the last ones.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.at += bytes;
        self.ended = self.at >= self.buffer.bytes().len();
    }

    /// The bytes moved, and the bytes of the buffer.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.at, self.buffer.bytes().len())
    }

    pub(super) fn into_values<T: Pod>(self) -> Option<Vec<T>> {
        self.buffer.into_any().downcast().ok().map(|values| *values)
    }
}

impl Sink for Transfer<'_> {
    fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let from = self.at;
        self.at += bytes;
        self.buffer.bytes_mut().get_mut(from..self.at)
    }
}

/// The transfers of a phase, in the order in which they were started.
#[derive(Default)]
pub(super) struct Spools<'a> {
    pub(super) transfers: BTreeMap<u64, Transfer<'a>>,
    next: u64,
}

impl<'a> Spools<'a> {
    pub(super) fn add(&mut self, transfer: Transfer<'a>) -> u64 {
        self.next += 1;
        self.transfers.insert(self.next, transfer);
        self.next
    }

    /// The number of the transfer that was started last.
    pub(super) fn newest(&self) -> u64 {
        self.next
    }

    pub(super) fn first_after(&self, number: u64) -> Option<u64> {
        self.transfers.range(number + 1..).next().map(|(number, _)| *number)
    }

    /// The last unfinished transfer at an end of a connection.
    pub(super) fn last_of(&self, connection: usize, sends: bool) -> Option<u64> {
        let of = |transfer: &Transfer<'a>| {
            !transfer.ended && (transfer.end.connection, transfer.sends) == (connection, sends)
        };
        self.transfers.iter().rev().find(|(_, transfer)| of(transfer)).map(|(number, _)| *number)
    }

    /// The transfers that are first at their end of a connection: only these can move.
    pub(super) fn moving(&self) -> impl Iterator<Item = (u64, &Transfer<'a>)> {
        let open = self.transfers.iter().filter(|(_, transfer)| !transfer.ended);
        open.filter(|(number, transfer)| {
            let end = (transfer.end.connection, transfer.sends);
            let before = self.transfers.range(..**number);
            !before.into_iter().any(|(_, other)| !other.ended && (other.end.connection, other.sends) == end)
        })
        .map(|(number, transfer)| (*number, transfer))
    }
}
