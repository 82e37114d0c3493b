//! What OSU's micro-benchmarks and Intel's MPI benchmarks time, in their way: fixed numbers of
//! calls of the MPI library, collectives one by one between untimed barriers, and the least, mean
//! and greatest time of all ranks.
//!
//! NaN on other transports, and without the feature `mpi`.

#[cfg(not(feature = "mpi"))]
use strata_runtime::Node;

/// A call of the MPI library, or a pattern of calls between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `MPI_Send` and `MPI_Recv` there and back, halved.
    PingPong,
    /// `MPI_Isend`, `MPI_Recv` and `MPI_Wait` on both ranks at once.
    PingPing,
    /// 64 messages by `MPI_Isend`, each from memory of its own, and an answer; a message's part.
    Window,
    /// 64 messages each way at once; a message's part in both directions.
    BothWays,
    /// `MPI_Bcast` from rank 0.
    Broadcast,
    /// `MPI_Reduce` of `MPI_INT` to rank 0, sums.
    Reduce,
    /// `MPI_Allreduce` of `MPI_INT`, sums.
    AllReduce,
    /// `MPI_Gather` to rank 0.
    Gather,
    /// `MPI_Scatter` from rank 0.
    Scatter,
    /// `MPI_Allgather`.
    AllGather,
    /// `MPI_Alltoall`.
    AllToAll,
    /// `MPI_Barrier`.
    Barrier,
}

/// Seconds of a call with messages of `bytes`. For a collective, of the times of all ranks `of` = 0
/// selects the least, 1 the mean and 2 the greatest; between two ranks it is rank 0's time. NaN on
/// other transports.
///
/// # Participation
/// Collective, on at least two nodes. Wrong data end the job.
#[cfg(not(feature = "mpi"))]
pub fn library(_node: &mut Node, _call: Call, _bytes: usize, _of: usize) -> f64 {
    f64::NAN
}

#[cfg(feature = "mpi")]
pub use calls::library;

#[cfg(feature = "mpi")]
mod calls {
    use mpi::collective::SystemOperation;
    use mpi::request::scope;
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::*;
    use strata_runtime::Node;

    use super::super::mail::{expected, wrong_data};
    use super::super::measure::TEST;
    use super::super::raw::world;
    use super::super::trial::spoils;
    use super::Call;
    use crate::suite::{WINDOW, calls};

    /// The other rank of a pair.
    const PEER: usize = 1;

    /// One node's part in a kernel.
    struct Part<'n> {
        node: &'n mut Node,
        world: SimpleCommunicator,
        rank: usize,
        size: usize,
        bytes: usize,
        calls: usize,
    }

    /// See the version without MPI.
    pub fn library(node: &mut Node, call: Call, bytes: usize, of: usize) -> f64 {
        let Some(world) = world(node) else { return f64::NAN };
        let (rank, size) = (node.rank(), node.size());
        if size < 2 {
            node.fail("library: it takes two nodes, and there is one");
        }
        let part = Part { node, world, rank, size, bytes, calls: calls(bytes) };
        match call {
            Call::PingPong | Call::PingPing => part.pair(call),
            Call::Window | Call::BothWays => part.window(call),
            _ => part.collective(call, of),
        }
    }

    /// The message of a rank.
    fn message(from: usize, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| expected(from, at)).collect()
    }

    impl Part<'_> {
        /// Seconds of all counted calls after some that are not counted.
        fn all(&mut self, mut operation: impl FnMut(&SimpleCommunicator)) -> f64 {
            self.world.barrier();
            (0..self.warm()).for_each(|_| operation(&self.world));
            let start = self.node.now().get();
            (0..self.calls).for_each(|_| operation(&self.world));
            self.node.now().get() - start
        }

        /// Calls before those that are counted.
        fn warm(&self) -> usize {
            (self.calls / 10).max(2)
        }

        fn check(&mut self, from: usize, got: &[u8]) {
            let wrong = got.iter().enumerate().find(|(at, byte)| **byte != expected(from, *at));
            if let Some((at, byte)) = wrong {
                let (right, what) = (expected(from, at), got.len());
                wrong_data(
                    self.node,
                    "library",
                    &format!("byte {at} of {what} from rank {from} is {byte}, not {right}"),
                );
            }
            if spoils(self.node, "library") {
                wrong_data(self.node, "library", "a test says so");
            }
        }

        /// The partner, on the two ranks of the pair.
        fn partner(&self) -> Option<usize> {
            match self.rank {
                TEST => Some(PEER),
                PEER => Some(TEST),
                _ => None,
            }
        }

        fn pair(mut self, call: Call) -> f64 {
            let Some(other) = self.partner() else {
                self.world.barrier();
                return 0.0;
            };
            let (mine, mut theirs) = (message(self.rank, self.bytes), vec![0u8; self.bytes]);
            let first = self.rank == TEST;
            let seconds = self.all(|world| {
                let process = world.process_at_rank(other as i32);
                match call {
                    Call::PingPing => scope(|scope| {
                        let sending = process.immediate_send(scope, &mine[..]);
                        process.receive_into(&mut theirs[..]);
                        sending.wait();
                    }),
                    _ if first => {
                        process.send(&mine[..]);
                        process.receive_into(&mut theirs[..]);
                    }
                    _ => {
                        process.receive_into(&mut theirs[..]);
                        process.send(&mine[..]);
                    }
                }
            });
            self.check(other, &theirs);
            let ways = if call == Call::PingPing { 1.0 } else { 2.0 };
            if first { seconds / (ways * self.calls as f64) } else { 0.0 }
        }

        fn window(mut self, call: Call) -> f64 {
            let Some(other) = self.partner() else {
                self.world.barrier();
                return 0.0;
            };
            let bytes = self.bytes.max(1);
            let first = self.rank == TEST;
            let both = call == Call::BothWays;
            let (sends, receives) = (both || first, both || !first);
            let room = |here: bool| vec![0u8; if here { bytes * WINDOW } else { 0 }];
            let (mut mine, mut theirs) = (room(sends), room(receives));
            let from = self.rank;
            for part in mine.chunks_exact_mut(bytes) {
                part.iter_mut().enumerate().for_each(|(at, byte)| *byte = expected(from, at));
            }
            let mut answer = [0u8; 1];
            let seconds = self.all(|world| {
                let process = world.process_at_rank(other as i32);
                scope(|scope| {
                    let parts = theirs.chunks_exact_mut(bytes);
                    let receiving: Vec<_> =
                        parts.map(|part| process.immediate_receive_into(scope, part)).collect();
                    let parts = mine.chunks_exact(bytes);
                    let sending: Vec<_> = parts.map(|part| process.immediate_send(scope, part)).collect();
                    sending.into_iter().for_each(|request| _ = request.wait());
                    receiving.into_iter().for_each(|request| _ = request.wait());
                });
                match (both, first) {
                    (true, _) => {}
                    (false, true) => _ = process.receive_into(&mut answer[..]),
                    (false, false) => process.send(&answer[..]),
                }
            });
            for part in theirs.chunks_exact(bytes) {
                self.check(other, part);
            }
            let messages = WINDOW * self.calls * if both { 2 } else { 1 };
            if first { seconds / messages as f64 } else { 0.0 }
        }

        fn collective(mut self, call: Call, of: usize) -> f64 {
            let (rank, size, bytes) = (self.rank, self.size, self.bytes);
            let is_root = rank == TEST;
            let mine = message(rank, bytes);
            let to_all: Vec<u8> = (0..size).flat_map(|_| message(rank, bytes)).collect();
            let mut one = if is_root { mine.clone() } else { vec![0; bytes] };
            let mut all = vec![0u8; bytes * size];
            let numbers = vec![rank as i32 + 1; bytes / 4];
            let mut sums = vec![0i32; bytes / 4];
            let mut operation = |world: &SimpleCommunicator| {
                let root = world.process_at_rank(TEST as i32);
                let sum = SystemOperation::sum();
                match call {
                    Call::Broadcast => root.broadcast_into(&mut one[..]),
                    Call::Reduce if is_root => root.reduce_into_root(&numbers[..], &mut sums[..], sum),
                    Call::Reduce => root.reduce_into(&numbers[..], sum),
                    Call::AllReduce => world.all_reduce_into(&numbers[..], &mut sums[..], sum),
                    Call::Gather if is_root => root.gather_into_root(&mine[..], &mut all[..]),
                    Call::Gather => root.gather_into(&mine[..]),
                    Call::Scatter if is_root => root.scatter_into_root(&to_all[..], &mut one[..]),
                    Call::Scatter => root.scatter_into(&mut one[..]),
                    Call::AllGather => world.all_gather_into(&mine[..], &mut all[..]),
                    Call::AllToAll => world.all_to_all_into(&to_all[..], &mut all[..]),
                    _ => world.barrier(),
                }
            };
            self.world.barrier();
            let mut seconds = 0.0;
            for number in 0..self.warm() + self.calls {
                let start = self.node.now().get();
                operation(&self.world);
                let end = self.node.now().get();
                if number >= self.warm() {
                    seconds += end - start;
                }
                if call != Call::Barrier {
                    self.world.barrier();
                }
            }
            let own = seconds / self.calls as f64;
            match call {
                Call::Broadcast | Call::Scatter => self.check(TEST, &one),
                Call::Gather if !is_root => {}
                Call::Gather | Call::AllGather | Call::AllToAll => {
                    let parts = all.chunks_exact(bytes.max(1)).enumerate();
                    parts.for_each(|(from, part)| self.check(from, part));
                }
                Call::Reduce | Call::AllReduce => {
                    let right = (size * (size + 1) / 2) as i32;
                    if (is_root || call == Call::AllReduce) && sums.iter().any(|sum| *sum != right) {
                        wrong_data(self.node, "library", "the sums of the collective");
                    }
                }
                _ => {}
            }
            let over_ranks = match of {
                0 => self.node.reduce_min(own),
                1 => self.node.reduce_add(own) / size as f64,
                _ => self.node.reduce_max(own),
            };
            if is_root { over_ranks } else { 0.0 }
        }
    }
}
