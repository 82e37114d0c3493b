//! Repeated messages, which some transports prepare (MPI's persistent requests and derived
//! datatypes).

use super::Node;
use crate::transport::{
    Action, Call, LONGEST_PREPARED, NUMBERS, Prepared, PreparedPieces, Repeated, RepeatedPieces,
};
use bytemuck::Pod;
use std::ops::Range;
use std::panic::Location;

/// Tests of messages before the first poll: neighbours exchange at about the same time, and a poll
/// takes longer than a test.
const LOOKS: u32 = 32;

/// Counts down the tests that need no poll; false if there are none left.
fn looks_again(looks: &mut u32) -> bool {
    let again = *looks > 0;
    if again {
        *looks -= 1;
        std::hint::spin_loop();
    }
    again
}

impl Node {
    /// Prepares repeated messages, each with its own memory, if the transport supports that: with
    /// MPI's persistent requests (MPI 3.1, §3.9). Otherwise `None`, on every node.
    ///
    /// [`start`](Self::start_prepared) and [`complete`](Self::complete_prepared) then exchange all
    /// of them. Both ends of a message name the same number and length.
    ///
    /// # Participation
    /// Local. Both ends must be prepared, and started equally often.
    ///
    /// # Panics
    /// If there is no such node, a number is too great, or a message is longer than 1 GiB.
    pub fn prepare<T: Pod>(&mut self, sends: &[Repeated], receives: &[Repeated]) -> Option<Prepared<T>> {
        let in_bytes = |message: &Repeated| {
            let bytes = self.checked(message.node, message.number, message.len, size_of::<T>());
            Repeated { len: bytes, ..*message }
        };
        let sends: Vec<Repeated> = sends.iter().map(in_bytes).collect();
        let receives: Vec<Repeated> = receives.iter().map(in_bytes).collect();
        Some(Prepared::new(self.transport.extras().messages?.prepared(&sends, &receives)))
    }

    /// Starts all messages: the outgoing memory is sent, and incoming memory written.
    ///
    /// # Participation
    /// Local.
    ///
    /// # Panics
    /// If they are already started.
    pub fn start_prepared<T: Pod>(&mut self, messages: &mut Prepared<T>) {
        messages.at_rest();
        messages.messages.start();
    }

    /// Waits until all messages have been sent and received; receives other messages meanwhile.
    /// Returns at once if they are not started.
    ///
    /// # Participation
    /// Local. A message of another length than prepared ends the job.
    #[track_caller]
    pub fn complete_prepared<T: Pod>(&mut self, messages: &mut Prepared<T>) {
        let call = Call::plain(Action::CompletePrepared, Location::caller());
        let mut looks = LOOKS;
        while messages.messages.is_started() && !messages.messages.test() && self.may_go_on() {
            if !looks_again(&mut looks) {
                self.receive_or_pause(&call);
            }
        }
    }

    /// Prepares repeated messages, each from and to pieces of a memory that the program lends for
    /// each exchange, if the transport supports that: with MPI's derived datatypes (MPI 3.1, §4.1).
    /// Otherwise `None`, on every node.
    ///
    /// # Participation
    /// Local. Both ends must be prepared, with equally many elements, and exchanged equally often.
    ///
    /// # Panics
    /// As [`prepare`](Self::prepare), or if a received piece overlaps another piece.
    pub fn prepare_pieces<T: Pod>(
        &mut self,
        sends: &[RepeatedPieces],
        receives: &[RepeatedPieces],
    ) -> Option<PreparedPieces<T>> {
        let size = size_of::<T>();
        let in_bytes = |message: &RepeatedPieces| {
            let elements = message.pieces.iter().map(Range::len).sum();
            self.checked(message.node, message.number, elements, size);
            let pieces = message.pieces.iter().map(|piece| piece.start * size..piece.end * size).collect();
            RepeatedPieces { pieces, ..*message }
        };
        let all = || sends.iter().chain(receives).flat_map(|message| &message.pieces);
        let least = all().map(|piece| piece.end).max().unwrap_or(0);
        assert!(least.checked_mul(size).is_some(), "pieces end at element {least} of {size} bytes each");
        assert_disjoint(sends, receives);
        let sends: Vec<RepeatedPieces> = sends.iter().map(in_bytes).collect();
        let receives: Vec<RepeatedPieces> = receives.iter().map(in_bytes).collect();
        let messages = self.transport.extras().messages?.prepared_pieces(&sends, &receives);
        Some(PreparedPieces::new(messages, least))
    }

    /// Sends and receives all messages, from and to their pieces of `memory`; receives other
    /// messages meanwhile.
    ///
    /// # Participation
    /// Local. A message of another length than prepared ends the job.
    ///
    /// # Panics
    /// If `memory` does not have all pieces.
    #[track_caller]
    pub fn exchange_pieces<T: Pod>(&mut self, messages: &mut PreparedPieces<T>, memory: &mut [T]) {
        let (least, len) = (messages.least, memory.len());
        assert!(least <= len, "pieces end at element {least} of a memory of {len}");
        let call = Call::plain(Action::ExchangePieces, Location::caller());
        let mut looks = LOOKS;
        let mut idle = || {
            if !looks_again(&mut looks) {
                self.receive_or_pause(&call);
            }
        };
        messages.messages.exchange(bytemuck::cast_slice_mut(memory), &mut idle);
    }

    /// The bytes of a message of `len` elements of `size` bytes, after all checks.
    fn checked(&self, node: usize, number: usize, len: usize, size: usize) -> usize {
        let nodes = self.size();
        assert!(node < nodes, "a prepared message of node {node}: there are {nodes}");
        assert!(number < NUMBERS, "a prepared message of number {number}: they are below {NUMBERS}");
        let bytes = len.checked_mul(size).filter(|bytes| *bytes <= LONGEST_PREPARED);
        bytes.unwrap_or_else(|| {
            panic!("a prepared message of {len} elements: at most {LONGEST_PREPARED} bytes are sent")
        })
    }
}

/// Panics if a received piece overlaps another piece, sent or received.
fn assert_disjoint(sends: &[RepeatedPieces], receives: &[RepeatedPieces]) {
    let of = |messages: &[RepeatedPieces], comes: bool| -> Vec<(usize, usize, bool)> {
        let pieces = messages.iter().flat_map(|message| &message.pieces).filter(|piece| !piece.is_empty());
        pieces.map(|piece| (piece.start, piece.end, comes)).collect()
    };
    let mut all = of(sends, false);
    all.extend(of(receives, true));
    all.sort_unstable();
    let (mut read, mut written) = (0, 0);
    for (start, end, comes) in all {
        let before = if comes { read.max(written) } else { written };
        assert!(before <= start, "pieces overlap at element {start}, of which one is received");
        *(if comes { &mut written } else { &mut read }) = end.max(if comes { written } else { read });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    /// Pieces, each from one element to before another.
    fn pieces(node: usize, pieces: &[[usize; 2]]) -> RepeatedPieces {
        RepeatedPieces { node, number: 0, pieces: pieces.iter().map(|[from, to]| *from..*to).collect() }
    }

    #[test]
    fn nodes_of_threads_have_none() {
        let run = Machine::threads(2).unwrap().run(|node| {
            let ends = [Repeated { node: 1, number: 0, len: 3 }];
            let none = node.prepare::<u16>(&ends, &[]).is_none();
            Ok(none && node.prepare_pieces::<u16>(&[pieces(1, &[[0, 2]])], &[]).is_none())
        });
        assert_eq!(run.unwrap(), [true, true]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let told = |ask: fn(&mut Node)| {
            let run = Machine::threads(2).unwrap().run(|node| {
                ask(node);
                Ok(())
            });
            run.unwrap_err().to_string()
        };
        let error = told(|node| drop(node.prepare::<u8>(&[Repeated { node: 2, number: 0, len: 1 }], &[])));
        assert!(error.contains("a prepared message of node 2: there are 2"), "{error}");
        let error =
            told(|node| drop(node.prepare::<u8>(&[], &[Repeated { node: 1, number: 1 << 14, len: 1 }])));
        assert!(error.contains("number 16384: they are below 16384"), "{error}");
        let error =
            told(|node| drop(node.prepare::<u64>(&[], &[Repeated { node: 1, number: 0, len: usize::MAX }])));
        assert!(error.contains("at most 1073741824 bytes"), "{error}");
        let error =
            told(|node| drop(node.prepare_pieces::<u8>(&[pieces(1, &[[0, 9]])], &[pieces(1, &[[8, 10]])])));
        assert!(error.contains("overlap at element 8"), "{error}");
    }

    #[test]
    fn only_what_comes_must_lie_apart() {
        assert_disjoint(
            &[pieces(0, &[[0, 9], [3, 4]]), pieces(0, &[[0, 9]])],
            &[pieces(0, &[[9, 12], [20, 21]]), pieces(0, &[[12, 13]])],
        );
        assert_disjoint(&[], &[pieces(0, &[[5, 5], [4, 6]])]);
        for (sends, receives) in [
            (vec![[0, 4], [1, 9]], vec![[8, 9]]),
            (vec![], vec![[0, 3], [2, 4]]),
            (vec![[3, 4]], vec![[0, 9]]),
        ] {
            let clash =
                std::panic::catch_unwind(|| assert_disjoint(&[pieces(0, &sends)], &[pieces(0, &receives)]));
            assert!(clash.is_err(), "{sends:?} {receives:?}");
        }
    }
}
