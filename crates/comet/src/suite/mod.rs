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
    /// One line about the timed operation.
    pub title: &'static str,
}

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
    Measured { model, size: Size::Bytes, range, title }
}

const fn rows(model: &'static str, title: &'static str) -> Measured {
    Measured { model, size: Size::Rows, range: (4, 256), title }
}

const fn single(model: &'static str, title: &'static str) -> Measured {
    Measured { model, size: Size::None, range: (0, 0), title }
}

const fn kernel(name: &'static str, spec: &'static str, nodes: usize, models: &'static [Measured]) -> Kernel {
    Kernel { name, spec, nodes, square: false, mpi: false, usual: true, models }
}

/// All kernels, in the order of the report.
pub const KERNELS: &[Kernel] = &[
    kernel(
        "echo",
        include_str!("../../specs/echo.spec"),
        2,
        &[
            bytes("Echo", (1, 1 << 20), "one way of a message, half of there and back"),
            single("EchoEmpty", "one way of a message without bytes"),
            bytes("EchoData", (1, 1 << 20), "one way of a message whose data are read and sent back"),
        ],
    ),
    kernel(
        "exchange",
        include_str!("../../specs/exchange.spec"),
        2,
        &[bytes("Exchange", (1, 1 << 20), "a message each way between two nodes")],
    ),
    kernel(
        "broadcast",
        include_str!("../../specs/broadcast.spec"),
        2,
        &[bytes("Broadcast", (1, 1 << 18), "a broadcast, and a barrier")],
    ),
    kernel(
        "reduce",
        include_str!("../../specs/reduce.spec"),
        2,
        &[
            single("Reduce", "the sum of a number over all nodes, on all nodes"),
            Measured {
                model: "ReduceVector",
                size: Size::Elements,
                range: (1, 32_768),
                title: "element-wise sums over all nodes, on all nodes",
            },
        ],
    ),
    kernel("barrier", include_str!("../../specs/barrier.spec"), 2, &[single("Barrier", "a barrier")]),
    kernel(
        "all_to_all",
        include_str!("../../specs/all_to_all.spec"),
        2,
        &[
            bytes("AllToAll", (1, 1 << 18), "a block from each node to each"),
            bytes("AllGather", (1, 1 << 18), "a block of each node to all"),
        ],
    ),
    kernel(
        "matrix",
        include_str!("../../specs/matrix.spec"),
        2,
        &[
            rows("Guard", "guards of a matrix in blocks"),
            rows("Shift", "blocks of a matrix one node further north"),
            rows("ShiftEast", "blocks of a matrix one node further east"),
            rows("RowBroadcast", "a row of a matrix to all blocks below"),
            rows("ColumnBroadcast", "a column of a matrix to all blocks beside"),
        ],
    ),
    Kernel {
        square: true,
        ..kernel(
            "transpose",
            include_str!("../../specs/transpose.spec"),
            4,
            &[rows("Transpose", "the transposition of a matrix in blocks")],
        )
    },
    kernel(
        "contention",
        include_str!("../../specs/contention.spec"),
        4,
        &[bytes("Contention", (1, 65_536), "one way of a message beside other traffic")],
    ),
    kernel(
        "overlap",
        include_str!("../../specs/overlap.spec"),
        2,
        &[
            bytes("Synchronous", (1, 1 << 18), "an exchange, then a computation"),
            bytes("Asynchronous", (1, 1 << 18), "a computation during an exchange"),
            Measured {
                model: "Daxpy",
                size: Size::Elements,
                range: (1, 1_048_576),
                title: "the computation alone",
            },
        ],
    ),
    kernel(
        "messages",
        include_str!("../../specs/messages.spec"),
        2,
        &[
            single("MessageRoundTrip", "an active message there and one back"),
            bytes("Put", (8, 1 << 18), "a write into another node's memory"),
            bytes("Get", (8, 1 << 18), "a read of another node's memory"),
            bytes("Store", (8, 1 << 18), "a one-way store, and a barrier"),
        ],
    ),
    kernel(
        "loggp",
        include_str!("../../specs/loggp.spec"),
        2,
        &[
            bytes("SendOverhead", (1, 65_536), "what sending keeps the sender busy"),
            bytes("ReceiveOverhead", (1, 65_536), "what receiving keeps the receiver busy"),
            bytes("Gap", (1, 65_536), "from one message to the next in a stream"),
            single("Poll", "a look at empty queues"),
        ],
    ),
    Kernel {
        usual: false,
        ..kernel(
            "late",
            include_str!("../../specs/late.spec"),
            2,
            &[
                bytes("EchoLate", (1, 1 << 20), "one way of a message whose receiver comes late"),
                Measured {
                    model: "BarrierSkewed",
                    size: Size::Skew,
                    range: (1, 256),
                    title: "a barrier that the test node reaches last",
                },
            ],
        )
    },
    Kernel {
        usual: false,
        ..kernel(
            "echo_large",
            include_str!("../../specs/echo_large.spec"),
            2,
            &[bytes("EchoLarge", ((1 << 20) + 1, 1 << 30), "one way of a large message")],
        )
    },
    Kernel {
        mpi: true,
        usual: false,
        ..kernel(
            "raw",
            include_str!("../../specs/raw.spec"),
            2,
            &[
                bytes("RawEcho", (1, 1 << 20), "MPI_Send and MPI_Recv there and back, halved"),
                bytes("RawExchange", (1, 1 << 20), "MPI_Isend and MPI_Recv each way at once"),
                Measured {
                    model: "RawReduce",
                    size: Size::Elements,
                    range: (1, 32_768),
                    title: "MPI_Allreduce, sums",
                },
                bytes("RawAllGather", (1, 1 << 18), "MPI_Allgather"),
                bytes("RawAllToAll", (1, 1 << 18), "MPI_Alltoall"),
                single("RawBarrier", "MPI_Barrier"),
            ],
        )
    },
    Kernel {
        mpi: true,
        usual: false,
        ..kernel(
            "library",
            include_str!("../../specs/library.spec"),
            2,
            &[
                bytes("LibraryPingPong", (1, 1 << 20), "MPI_Send and MPI_Recv there and back, halved"),
                bytes("LibraryPingPing", (1, 1 << 20), "MPI_Isend and MPI_Recv on both ranks at once"),
                bytes("LibraryWindow", (1, 1 << 20), "a message of 64 by MPI_Isend, before an answer"),
                bytes("LibraryBothWays", (1, 1 << 20), "a message of 64 each way at once"),
                bytes("LibraryBroadcast", (1, 1 << 18), "MPI_Bcast from rank 0"),
                bytes("LibraryReduce", (4, 1 << 18), "MPI_Reduce of MPI_INT to rank 0"),
                bytes("LibraryAllReduce", (4, 1 << 18), "MPI_Allreduce of MPI_INT"),
                bytes("LibraryGather", (1, 1 << 18), "MPI_Gather to rank 0"),
                bytes("LibraryScatter", (1, 1 << 18), "MPI_Scatter from rank 0"),
                bytes("LibraryAllGather", (1, 1 << 18), "MPI_Allgather"),
                bytes("LibraryAllToAll", (1, 1 << 18), "MPI_Alltoall"),
                Measured { model: "LibraryBarrier", size: Size::Ranks, range: (0, 2), title: "MPI_Barrier" },
            ],
        )
    },
];

/// Messages of a window, before the answer to all of them.
pub const WINDOW: usize = 64;

/// How often a timing of the kernel `library` calls the MPI library, with messages of so many
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
