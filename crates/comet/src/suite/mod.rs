//! The kernels of the benchmark: their specs, requirements and sizes.

mod ground;
mod moved;
mod points;

pub use ground::{Crossing, Ground, Peer};
pub use moved::{Moved, cost, moved};
pub use points::{Costly, LeftOut, Plan, cheapest, plan, stages, usual_sizes};

/// The meaning of a model's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// No size.
    None,
    /// Bytes of one message.
    Bytes,
    /// Elements of 8 bytes of a vector.
    Elements,
    /// Rows or columns of a node's block.
    Rows,
    /// Microseconds between nodes.
    Skew,
    /// Which of all ranks' times: 0 the least, 1 the mean, 2 the greatest.
    Ranks,
    /// Of an operation and a computation: 0 the first alone, 1 the second alone, 2 both at once.
    Parts,
    /// Microseconds of undisturbed work.
    Work,
}

impl Size {
    /// The unit as text.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Bytes => "bytes",
            Self::Elements => "elements",
            Self::Rows => "rows",
            Self::Skew => "µs of skew",
            Self::Ranks => "least, mean, greatest of ranks",
            Self::Parts => "alone, computation, both",
            Self::Work => "µs of work",
        }
    }
}

/// One model of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Its name in the spec.
    pub model: &'static str,
    /// The meaning of its first variable.
    pub size: Size,
    /// The least and the greatest size of its loops.
    pub range: (i64, i64),
    /// The values of its second variable at which it is measured; empty if there is none, or if they
    /// depend on the machine.
    pub beside: &'static [i64],
    /// True if all nodes take part, so that its times over numbers of nodes mean something.
    pub of_all: bool,
    /// One line about the timed operation.
    pub title: &'static str,
}

impl Measured {
    const fn beside(self, beside: &'static [i64]) -> Self {
        Self { beside, ..self }
    }

    const fn of_all(self) -> Self {
        Self { of_all: true, ..self }
    }

    const fn sized(self, size: Size, range: (i64, i64)) -> Self {
        Self { size, range, ..self }
    }
}

/// Which of all nodes' times: see [`Size::Ranks`].
const RANKS: &[i64] = &[0, 1, 2];

/// Parts of an operation that is overlapped by computing: itself alone, the computation alone, both.
const PARTS: &[i64] = &[0, 1, 2];

/// Ways to divide all nodes into pairs: half against half, and at random.
const MATCHINGS: &[i64] = &[0, 1, 2, 3, 4, 5, 6, 7, 8];

/// Lengths of the computations beside messages.
const LENGTHS: &[i64] = &[1, 4_096, 65_536];

/// A spec of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name on the command line, and the name of its file without `.spec`.
    pub name: &'static str,
    /// The text of the spec.
    pub spec: &'static str,
    /// The least number of nodes.
    pub nodes: usize,
    /// True if the mesh of nodes must be square.
    pub square: bool,
    /// True if it needs MPI.
    pub mpi: bool,
    /// True if it is measured by default.
    pub usual: bool,
    /// Its models.
    pub models: &'static [Measured],
}

const fn bytes(model: &'static str, range: (i64, i64), title: &'static str) -> Measured {
    Measured { model, size: Size::Bytes, range, beside: &[], of_all: false, title }
}

/// A non-blocking collective and as much computation, each alone and both at once.
const fn overlapped(model: &'static str, least: i64, title: &'static str) -> Measured {
    bytes(model, (least, 1 << 18), title).beside(PARTS).of_all()
}

/// A collective of which the least, the mean and the greatest time of all nodes are measured.
const fn of_ranks(model: &'static str, range: (i64, i64), title: &'static str) -> Measured {
    bytes(model, range, title).beside(RANKS).of_all()
}

const fn rows(model: &'static str, title: &'static str) -> Measured {
    bytes(model, (4, 256), title).sized(Size::Rows, (4, 256)).of_all()
}

const fn elements(model: &'static str, range: (i64, i64), title: &'static str) -> Measured {
    bytes(model, range, title).sized(Size::Elements, range)
}

const fn single(model: &'static str, title: &'static str) -> Measured {
    bytes(model, (0, 0), title).sized(Size::None, (0, 0))
}

/// A kernel of this name that takes at least so many nodes, with its models.
macro_rules! kernel {
    ($name:literal, $nodes:literal, $($model:expr),+ $(,)?) => {
        Kernel {
            name: $name,
            spec: include_str!(concat!("../../specs/", $name, ".spec")),
            nodes: $nodes,
            square: false,
            mpi: false,
            usual: true,
            models: &[$($model),+],
        }
    };
}

/// All kernels, in the order of the report.
pub const KERNELS: &[Kernel] = &[
    kernel!(
        "echo",
        2,
        bytes("Echo", (1, 1 << 20), "one way of a message, half of there and back"),
        single("EchoEmpty", "one way of a message without bytes"),
        bytes("EchoData", (1, 1 << 20), "one way of a message whose data are read and sent back"),
    ),
    kernel!("exchange", 2, bytes("Exchange", (1, 1 << 20), "a message each way between two nodes")),
    kernel!("broadcast", 2, bytes("Broadcast", (1, 1 << 18), "a broadcast, and a barrier").of_all()),
    kernel!(
        "reduce",
        2,
        single("Reduce", "the sum of a number over all nodes, on all nodes").of_all(),
        elements("ReduceVector", (1, 32_768), "element-wise sums over all nodes, on all nodes").of_all(),
    ),
    kernel!("barrier", 2, single("Barrier", "a barrier").of_all()),
    kernel!(
        "all_to_all",
        2,
        bytes("AllToAll", (1, 1 << 18), "a block from each node to each").of_all(),
        bytes("AllGather", (1, 1 << 18), "a block of each node to all").of_all(),
    ),
    kernel!(
        "matrix",
        2,
        rows("Guard", "guards of a matrix in blocks"),
        rows("Shift", "blocks of a matrix one node further north"),
        rows("ShiftEast", "blocks of a matrix one node further east"),
        rows("RowBroadcast", "a row of a matrix to all blocks below"),
        rows("ColumnBroadcast", "a column of a matrix to all blocks beside"),
    ),
    kernel!("transpose", 4, rows("Transpose", "the transposition of a matrix in blocks")).square(),
    kernel!("contention", 4, bytes("Contention", (1, 65_536), "one way of a message beside other traffic")),
    kernel!(
        "overlap",
        2,
        bytes("Synchronous", (1, 1 << 18), "an exchange, then a computation").beside(LENGTHS),
        bytes("Asynchronous", (1, 1 << 18), "a computation during an exchange").beside(LENGTHS),
        elements("Daxpy", (1, 1_048_576), "the computation alone"),
    ),
    kernel!(
        "messages",
        2,
        single("MessageRoundTrip", "an active message there and one back"),
        bytes("Put", (8, 1 << 18), "a write into another node's memory"),
        bytes("Get", (8, 1 << 18), "a read of another node's memory"),
        bytes("Store", (8, 1 << 18), "a one-way store, and a barrier"),
    ),
    kernel!(
        "loggp",
        2,
        bytes("SendOverhead", (1, 65_536), "what sending keeps the sender busy"),
        bytes("ReceiveOverhead", (1, 65_536), "what receiving keeps the receiver busy"),
        bytes("Gap", (1, 65_536), "from one message to the next in a stream"),
        single("Poll", "a look at empty queues"),
    ),
    kernel!(
        "bandwidth",
        2,
        bytes("Stream", (1, 1 << 20), "a message of a window of 64, by so many pairs at once").of_all(),
        bytes("StreamBoth", (1, 1 << 20), "the same in both directions at once").of_all(),
    )
    .by_name(),
    kernel!(
        "pairs",
        2,
        bytes("Pair", (1, 1 << 20), "one way of a message between two nodes"),
        bytes("Bisection", (1, 1 << 20), "a message of a window of 64 each way, by pairs of all nodes")
            .beside(MATCHINGS)
            .of_all(),
    )
    .by_name(),
    kernel!(
        "collectives",
        2,
        of_ranks("EachBroadcast", (1, 1 << 18), "a broadcast from node 0"),
        of_ranks("EachReduce", (8, 1 << 18), "element-wise sums, on all nodes"),
        of_ranks("EachScan", (8, 1 << 18), "element-wise sums of all nodes before each"),
        of_ranks("EachGather", (1, 1 << 18), "a block of each node to node 0, by puts"),
        of_ranks("EachScatter", (1, 1 << 18), "a block from node 0 to each node, by puts"),
        of_ranks("EachAllGather", (1, 1 << 18), "a block of each node to all"),
        of_ranks("EachAllToAll", (1, 1 << 18), "a block from each node to each"),
        of_ranks("EachAllToAllV", (1, 1 << 18), "blocks whose lengths the receivers do not know"),
        single("EachBarrier", "a barrier").sized(Size::Ranks, (0, 2)).of_all(),
    )
    .by_name(),
    kernel!(
        "noise",
        1,
        single("FixedWork", "the same work again and again").sized(Size::Work, (1, 10_000)).beside(RANKS),
        single("FixedTime", "a unit of work, as many as fit into a time")
            .sized(Size::Work, (1, 10_000))
            .beside(RANKS),
    )
    .by_name(),
    kernel!(
        "late",
        2,
        bytes("EchoLate", (1, 1 << 20), "one way of a message whose receiver comes late").beside(&[20, 200]),
        single("BarrierSkewed", "a barrier that the test node reaches last").sized(Size::Skew, (1, 256)),
    )
    .by_name(),
    kernel!("echo_large", 2, bytes("EchoLarge", ((1 << 20) + 1, 1 << 30), "one way of a large message"))
        .by_name(),
    kernel!(
        "raw",
        2,
        bytes("RawEcho", (1, 1 << 20), "MPI_Send and MPI_Recv there and back, halved"),
        bytes("RawExchange", (1, 1 << 20), "MPI_Isend and MPI_Recv each way at once"),
        elements("RawReduce", (1, 32_768), "MPI_Allreduce, sums").of_all(),
        bytes("RawAllGather", (1, 1 << 18), "MPI_Allgather").of_all(),
        bytes("RawAllToAll", (1, 1 << 18), "MPI_Alltoall").of_all(),
        single("RawBarrier", "MPI_Barrier").of_all(),
    )
    .of_library(),
    kernel!(
        "library",
        2,
        bytes("LibraryPingPong", (1, 1 << 20), "MPI_Send and MPI_Recv there and back, halved"),
        bytes("LibraryPingPing", (1, 1 << 20), "MPI_Isend and MPI_Recv on both ranks at once"),
        bytes("LibraryWindow", (1, 1 << 20), "a message of 64 by MPI_Isend, before an answer"),
        bytes("LibraryBothWays", (1, 1 << 20), "a message of 64 each way at once"),
        bytes("LibraryPairs", (1, 1 << 20), "windows of 64 by MPI_Isend of all pairs at once").of_all(),
        bytes("LibraryPairsLatency", (1, 1 << 20), "MPI_Send and MPI_Recv of all pairs at once, halved")
            .of_all(),
        bytes("LibraryPut", (8, 1 << 20), "MPI_Put and its completion at the target"),
        bytes("LibraryGet", (8, 1 << 20), "MPI_Get and its completion"),
        of_ranks("LibraryBroadcast", (1, 1 << 18), "MPI_Bcast from rank 0"),
        of_ranks("LibraryReduce", (4, 1 << 18), "MPI_Reduce of MPI_INT to rank 0"),
        of_ranks("LibraryAllReduce", (4, 1 << 18), "MPI_Allreduce of MPI_INT"),
        of_ranks("LibraryReduceScatter", (4, 1 << 18), "MPI_Reduce_scatter_block of MPI_INT"),
        of_ranks("LibraryScan", (4, 1 << 18), "MPI_Scan of MPI_INT"),
        of_ranks("LibraryGather", (1, 1 << 18), "MPI_Gather to rank 0"),
        of_ranks("LibraryScatter", (1, 1 << 18), "MPI_Scatter from rank 0"),
        of_ranks("LibraryAllGather", (1, 1 << 18), "MPI_Allgather"),
        of_ranks("LibraryAllToAll", (1, 1 << 18), "MPI_Alltoall"),
        of_ranks("LibraryAllToAllV", (1, 1 << 18), "MPI_Alltoallv with equal counts"),
        single("LibraryBarrier", "MPI_Barrier").sized(Size::Ranks, (0, 2)).of_all(),
    )
    .of_library(),
    kernel!(
        "overlapped",
        2,
        overlapped("OverlapBroadcast", 1, "MPI_Ibcast from rank 0"),
        overlapped("OverlapReduce", 4, "MPI_Ireduce of MPI_INT to rank 0"),
        overlapped("OverlapAllReduce", 4, "MPI_Iallreduce of MPI_INT"),
        overlapped("OverlapReduceScatter", 4, "MPI_Ireduce_scatter_block of MPI_INT"),
        overlapped("OverlapGather", 1, "MPI_Igather to rank 0"),
        overlapped("OverlapScatter", 1, "MPI_Iscatter from rank 0"),
        overlapped("OverlapAllGather", 1, "MPI_Iallgather"),
        overlapped("OverlapAllToAll", 1, "MPI_Ialltoall"),
        overlapped("OverlapAllToAllV", 1, "MPI_Ialltoallv with equal counts"),
        single("OverlapBarrier", "MPI_Ibarrier").sized(Size::Parts, (0, 2)).of_all(),
    )
    .of_library(),
];

/// Messages of a window, before the answer to all of them.
pub const WINDOW: usize = 64;

/// The setting that fixes the number of timed operations of every timing.
pub const REPETITIONS: &str = "STRATA_COMET_REPETITIONS";

/// The setting that fixes the number of operations before them.
pub const WARM_UP: &str = "STRATA_COMET_WARM_UP";

/// The setting of roots: [`IN_TURN`], or node 0 always.
pub const ROOTS: &str = "STRATA_COMET_ROOTS";

/// Each node is the root in turn.
pub const IN_TURN: &str = "in-turn";

/// Operations before `calls` timed ones, in kernels that time as other benchmarks do.
#[must_use]
pub fn first_calls(calls: usize) -> usize {
    (calls / 10).max(2)
}

/// How often a timing of the kernels `library`, `overlapped` and `collectives` calls their operation, with messages of so many
/// bytes.
#[must_use]
pub fn calls(bytes: usize) -> usize {
    match bytes {
        0..=8_192 => 100,
        8_193..=65_536 => 30,
        _ => 10,
    }
}

/// The kernel of this name.
#[must_use]
pub fn kernel_named(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

/// The model of this name, and its kernel.
#[must_use]
pub fn model_named(name: &str) -> Option<(&'static Kernel, &'static Measured)> {
    let of = |kernel: &'static Kernel| kernel.models.iter().map(move |model| (kernel, model));
    KERNELS.iter().flat_map(of).find(|(_, model)| model.model == name)
}

impl Kernel {
    const fn square(self) -> Self {
        Self { square: true, ..self }
    }

    const fn by_name(self) -> Self {
        Self { usual: false, ..self }
    }

    const fn of_library(self) -> Self {
        Self { mpi: true, usual: false, ..self }
    }

    /// The reason why it cannot be measured on this many nodes, with or without MPI; `None` if it
    /// can.
    #[must_use]
    pub fn refuses(&self, nodes: usize, mpi: bool) -> Option<String> {
        if self.mpi && !mpi {
            return Some("it times the MPI library and needs `--on mpi`".to_owned());
        }
        if nodes < self.nodes {
            return Some(format!("it needs {} nodes, and there are {nodes}", self.nodes));
        }
        let square = nodes.is_power_of_two() && nodes.trailing_zeros().is_multiple_of(2)
            || nodes.isqrt() * nodes.isqrt() == nodes;
        (self.square && !square).then(|| format!("it needs a square number of nodes, and there are {nodes}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_of_every_spec_is_listed() {
        for kernel in KERNELS {
            let models: Vec<&str> = kernel
                .spec
                .lines()
                .filter_map(|line| line.strip_prefix("model "))
                .filter_map(|rest| rest.split('(').next())
                .collect();
            let listed: Vec<&str> = kernel.models.iter().map(|model| model.model).collect();
            assert_eq!(models, listed, "{}", kernel.name);
        }
    }

    #[test]
    fn what_a_kernel_needs_is_said() {
        let refuses = |name, nodes| kernel_named(name).unwrap().refuses(nodes, false).is_some();
        assert!(refuses("echo", 1) && !refuses("echo", 2));
        assert!(refuses("transpose", 8) && !refuses("transpose", 16) && !refuses("transpose", 9));
        assert!(refuses("contention", 2));
        assert!(refuses("raw", 2) && kernel_named("raw").unwrap().refuses(2, true).is_none());
    }
}
