//! Kernels of the MPI library alone, by its own calls and without the run-time: the quantities of
//! MPI benchmarks, with which the run-time's messages are to be compared.
//!
//! On other transports, and without the feature `mpi`, every kernel is NaN.

use strata_runtime::Node;

#[cfg(feature = "mpi")]
pub use library::*;
#[cfg(not(feature = "mpi"))]
pub use nothing::*;

/// True if the nodes are processes of an MPI job.
fn is_mpi(node: &Node) -> bool {
    cfg!(feature = "mpi") && node.platform().has_processes()
}

#[cfg(not(feature = "mpi"))]
mod nothing {
    use super::{Node, is_mpi};

    fn none(node: &Node) -> f64 {
        debug_assert!(!is_mpi(node), "there is no MPI");
        f64::NAN
    }

    /// Half of the round-trip time of a message by `MPI_Send` and `MPI_Recv`, in seconds.
    pub fn raw_echo(node: &mut Node, _bytes: usize) -> f64 {
        none(node)
    }

    /// Simultaneous messages in both directions by `MPI_Isend` and `MPI_Recv`, in seconds.
    pub fn raw_exchange(node: &mut Node, _bytes: usize) -> f64 {
        none(node)
    }

    /// `MPI_Allreduce` of `length` numbers, in seconds.
    pub fn raw_reduce(node: &mut Node, _length: usize) -> f64 {
        none(node)
    }

    /// `MPI_Allgather` of `bytes` a node, in seconds.
    pub fn raw_all_gather(node: &mut Node, _bytes: usize) -> f64 {
        none(node)
    }

    /// `MPI_Alltoall` of `bytes` from each node to each, in seconds.
    pub fn raw_all_to_all(node: &mut Node, _bytes: usize) -> f64 {
        none(node)
    }

    /// `MPI_Barrier`, in seconds.
    pub fn raw_barrier(node: &mut Node) -> f64 {
        none(node)
    }
}

#[cfg(feature = "mpi")]
mod library {
    use mpi::collective::SystemOperation;
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::*;

    use super::super::mail::{expected, wrong_data};
    use super::super::measure::{TEST, time};
    use super::super::trial::spoils;
    use super::{Node, is_mpi};

    /// The other node of a pair.
    const PEER: usize = 1;

    /// The MPI world, if nodes are its processes.
    pub(in super::super) fn world(node: &Node) -> Option<SimpleCommunicator> {
        is_mpi(node).then(SimpleCommunicator::world)
    }

    /// The partner, on the two nodes of the pair.
    fn partner(node: &mut Node, kernel: &str) -> Option<usize> {
        if node.size() < 2 {
            node.fail(format!("{kernel}: it takes two nodes, and there is one"));
        }
        match node.rank() {
            TEST => Some(PEER),
            PEER => Some(TEST),
            _ => None,
        }
    }

    /// Ends the job if `bytes` is not the message of node `from`.
    fn check(node: &mut Node, kernel: &str, from: usize, bytes: &mut [u8]) {
        if spoils(node, kernel)
            && let Some(last) = bytes.last_mut()
        {
            *last ^= 1;
        }
        if let Some(at) = bytes.iter().enumerate().position(|(at, byte)| *byte != expected(from, at)) {
            wrong_data(node, kernel, &format!("byte {at} of {} from node {from}", bytes.len()));
        }
    }

    /// The message of a node.
    fn message(from: usize, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| expected(from, at)).collect()
    }

    /// Half of the round-trip time of a message by `MPI_Send` and `MPI_Recv`, in seconds; NaN on
    /// other transports.
    ///
    /// # Participation
    /// Collective. Wrong data end the job.
    pub fn raw_echo(node: &mut Node, bytes: usize) -> f64 {
        let Some(world) = world(node) else { return f64::NAN };
        let other = partner(node, "raw_echo");
        let (mine, mut theirs) = (message(node.rank(), bytes), vec![0u8; bytes]);
        let seconds = time(node, |node, _| {
            let Some(other) = other else { return };
            let process = world.process_at_rank(other as i32);
            if node.rank() == TEST {
                process.send(&mine[..]);
                process.receive_into(&mut theirs[..]);
            } else {
                process.receive_into(&mut theirs[..]);
                process.send(&mine[..]);
            }
        });
        if let Some(other) = other {
            check(node, "raw_echo", other, &mut theirs);
        }
        seconds / 2.0
    }

    /// Simultaneous messages in both directions by `MPI_Isend` and `MPI_Recv`, in seconds; NaN on
    /// other transports.
    ///
    /// # Participation
    /// As [`raw_echo`].
    pub fn raw_exchange(node: &mut Node, bytes: usize) -> f64 {
        let Some(world) = world(node) else { return f64::NAN };
        let other = partner(node, "raw_exchange");
        let (mine, mut theirs) = (message(node.rank(), bytes), vec![0u8; bytes]);
        let seconds = time(node, |_, _| {
            let Some(other) = other else { return };
            let process = world.process_at_rank(other as i32);
            mpi::request::scope(|scope| {
                let sending = process.immediate_send(scope, &mine[..]);
                process.receive_into(&mut theirs[..]);
                sending.wait();
            });
        });
        if let Some(other) = other {
            check(node, "raw_exchange", other, &mut theirs);
        }
        seconds
    }

    /// `MPI_Allreduce` of `length` numbers, in seconds; NaN on other transports.
    ///
    /// # Participation
    /// As [`raw_echo`].
    pub fn raw_reduce(node: &mut Node, length: usize) -> f64 {
        let Some(world) = world(node) else { return f64::NAN };
        let (mine, mut sums) = (vec![(node.rank() + 1) as f64; length], vec![0.0f64; length]);
        let seconds =
            time(node, |_, _| world.all_reduce_into(&mine[..], &mut sums[..], SystemOperation::sum()));
        let right = (node.size() * (node.size() + 1) / 2) as f64;
        if sums.iter().any(|sum| *sum != right) || spoils(node, "raw_reduce") {
            wrong_data(node, "raw_reduce", "the result of the collective");
        }
        seconds
    }

    /// `MPI_Allgather` of `bytes` a node, in seconds; NaN on other transports.
    ///
    /// # Participation
    /// As [`raw_echo`].
    pub fn raw_all_gather(node: &mut Node, bytes: usize) -> f64 {
        let Some(world) = world(node) else { return f64::NAN };
        let (mine, mut all) = (message(node.rank(), bytes), vec![0u8; bytes * node.size()]);
        let seconds = time(node, |_, _| world.all_gather_into(&mine[..], &mut all[..]));
        for (from, part) in all.chunks_mut(bytes.max(1)).enumerate() {
            check(node, "raw_all_gather", from, part);
        }
        seconds
    }

    /// `MPI_Alltoall` of `bytes` from each node to each, in seconds; NaN on other transports.
    ///
    /// # Participation
    /// As [`raw_echo`].
    pub fn raw_all_to_all(node: &mut Node, bytes: usize) -> f64 {
        let Some(world) = world(node) else { return f64::NAN };
        let mine: Vec<u8> = (0..node.size()).flat_map(|_| message(node.rank(), bytes)).collect();
        let mut all = vec![0u8; mine.len()];
        let seconds = time(node, |_, _| world.all_to_all_into(&mine[..], &mut all[..]));
        for (from, part) in all.chunks_mut(bytes.max(1)).enumerate() {
            check(node, "raw_all_to_all", from, part);
        }
        seconds
    }

    /// `MPI_Barrier`, in seconds; NaN on other transports.
    ///
    /// # Participation
    /// As [`raw_echo`].
    pub fn raw_barrier(node: &mut Node) -> f64 {
        let Some(world) = world(node) else { return f64::NAN };
        time(node, |_, _| world.barrier())
    }
}
