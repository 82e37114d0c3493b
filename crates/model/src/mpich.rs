//! The collectives and algorithms of MPICH 4.0, and what its files of rules may ask about a call.

use crate::did_you_mean;

/// The release that this is about.
pub const RELEASE: &str = "4.0";

/// A collective that files of rules know.
#[derive(Debug, PartialEq, Eq)]
pub struct Collective {
    /// Its name in `collective=`.
    pub name: &'static str,
    /// What can be asked of a call of it; other questions end the job.
    pub tests: &'static [&'static str],
    /// Its algorithms, without `MPIR_` and the collective's name.
    pub algorithms: &'static [&'static str],
}

impl Collective {
    /// `MPIR_Allreduce_intra_smp` for `intra_smp`.
    #[must_use]
    pub fn full(&self, algorithm: &str) -> String {
        let (first, rest) = self.name.split_at(1);
        format!("MPIR_{}{rest}_{algorithm}", first.to_ascii_uppercase())
    }
}

/// When an algorithm can be taken; otherwise it ends the job or gives wrong values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Always.
    Nothing,
    /// With an operation of MPI's own, and at least as many elements as the greatest power of two
    /// up to the number of processes.
    Elements,
    /// Where the number of processes is a power of two.
    PowerOfTwo,
    /// Not in place.
    TwoBuffers,
}

/// An algorithm that can be forced and written as a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its collective.
    pub collective: &'static str,
    /// Its name as a candidate.
    pub name: &'static str,
    /// Its number in `MPIR_CVAR_…_INTRA_ALGORITHM`.
    pub number: i32,
    /// Its name among [`Collective::algorithms`].
    pub algorithm: &'static str,
    /// When it can be taken.
    pub needs: Needs,
}

use Needs::{Elements, Nothing, PowerOfTwo, TwoBuffers};

const fn row(
    collective: &'static str,
    name: &'static str,
    number: i32,
    algorithm: &'static str,
    needs: Needs,
) -> Algorithm {
    Algorithm { collective, name, number, algorithm, needs }
}

/// The algorithms that are measured. The number is what MPICH 4.0.2 gives for the name in its
/// environment.
pub static ALGORITHMS: [Algorithm; 14] = [
    row("allgather", "brucks", 1, "intra_brucks", Nothing),
    row("allgather", "nb", 2, "allcomm_nb", Nothing),
    row("allgather", "recursive_doubling", 3, "intra_recursive_doubling", PowerOfTwo),
    row("allgather", "ring", 4, "intra_ring", Nothing),
    row("allreduce", "nb", 1, "allcomm_nb", Nothing),
    row("allreduce", "recursive_doubling", 3, "intra_recursive_doubling", Nothing),
    row("allreduce", "reduce_scatter_allgather", 4, "intra_reduce_scatter_allgather", Elements),
    row("alltoall", "brucks", 1, "intra_brucks", TwoBuffers),
    row("alltoall", "pairwise", 3, "intra_pairwise", TwoBuffers),
    row("alltoall", "scattered", 5, "intra_scattered", TwoBuffers),
    row("bcast", "binomial", 1, "intra_binomial", Nothing),
    row("bcast", "nb", 2, "allcomm_nb", Nothing),
    row(
        "bcast",
        "scatter_recursive_doubling_allgather",
        4,
        "intra_scatter_recursive_doubling_allgather",
        PowerOfTwo,
    ),
    row("bcast", "scatter_ring_allgather", 5, "intra_scatter_ring_allgather", Nothing),
];

impl Algorithm {
    /// The algorithm of a collective.
    ///
    /// # Errors
    /// A message: MPICH has none of this name.
    pub fn named(collective: &str, name: &str) -> Result<&'static Self, String> {
        let own = || ALGORITHMS.iter().filter(|one| one.collective == collective);
        own().find(|one| one.name == name).ok_or_else(|| {
            let names: Vec<&str> = own().map(|one| one.name).collect();
            if names.is_empty() {
                let mut known: Vec<&str> = ALGORITHMS.iter().map(|one| one.collective).collect();
                known.dedup();
                let known = known.join(", ");
                return format!(
                    "`{collective}` is no collective of which MPICH's algorithms are known; these are {known}"
                );
            }
            let meant = did_you_mean(name, names.iter().copied());
            format!("MPICH {RELEASE} has no {collective} by `{name}`{meant}; known are {}", names.join(", "))
        })
    }
}

/// Of gathers and scatters of blocks that differ, and of exchanges with neighbours, which do not block.
const LINEAR: &[&str] = &["allcomm_sched_linear", "allcomm_tsp_linear"];

/// All collectives, by name.
pub static COLLECTIVES: [Collective; 44] = [
    Collective {
        name: "allgather",
        tests: &["total_msg_size", "count"],
        algorithms: &[
            "allcomm_nb",
            "inter_local_gather_remote_bcast",
            "intra_brucks",
            "intra_recursive_doubling",
            "intra_ring",
        ],
    },
    Collective {
        name: "allgatherv",
        tests: &["total_msg_size", "count"],
        algorithms: &[
            "allcomm_nb",
            "inter_remote_gather_local_bcast",
            "intra_brucks",
            "intra_recursive_doubling",
            "intra_ring",
        ],
    },
    Collective {
        name: "allreduce",
        tests: &["avg_msg_size", "total_msg_size", "count", "is_commutative", "is_op_built_in"],
        algorithms: &[
            "allcomm_nb",
            "inter_reduce_exchange_bcast",
            "intra_recursive_doubling",
            "intra_reduce_scatter_allgather",
            "intra_smp",
        ],
    },
    Collective {
        name: "alltoall",
        tests: &["avg_msg_size", "total_msg_size", "is_sendbuf_inplace"],
        algorithms: &[
            "allcomm_nb",
            "inter_pairwise_exchange",
            "intra_brucks",
            "intra_pairwise",
            "intra_pairwise_sendrecv_replace",
            "intra_scattered",
        ],
    },
    Collective {
        name: "alltoallv",
        tests: &["total_msg_size", "is_sendbuf_inplace"],
        algorithms: &[
            "allcomm_nb",
            "inter_pairwise_exchange",
            "intra_pairwise_sendrecv_replace",
            "intra_scattered",
        ],
    },
    Collective {
        name: "alltoallw",
        tests: &["total_msg_size", "is_sendbuf_inplace"],
        algorithms: &[
            "allcomm_nb",
            "inter_pairwise_exchange",
            "intra_pairwise_sendrecv_replace",
            "intra_scattered",
        ],
    },
    Collective {
        name: "barrier",
        tests: &[],
        algorithms: &["allcomm_nb", "inter_bcast", "intra_dissemination", "intra_smp"],
    },
    Collective {
        name: "bcast",
        tests: &["avg_msg_size", "total_msg_size", "count"],
        algorithms: &[
            "allcomm_nb",
            "inter_remote_send_local_bcast",
            "intra_binomial",
            "intra_scatter_recursive_doubling_allgather",
            "intra_scatter_ring_allgather",
            "intra_smp",
        ],
    },
    Collective { name: "exscan", tests: &[], algorithms: &["allcomm_nb", "intra_recursive_doubling"] },
    Collective {
        name: "gather",
        tests: &["total_msg_size"],
        algorithms: &["allcomm_nb", "inter_linear", "inter_local_gather_remote_send", "intra_binomial"],
    },
    Collective { name: "gatherv", tests: &[], algorithms: &["allcomm_linear", "allcomm_nb"] },
    Collective {
        name: "iallgather",
        tests: &["total_msg_size", "count"],
        algorithms: &[
            "inter_sched_local_gather_remote_bcast",
            "intra_sched_brucks",
            "intra_sched_recursive_doubling",
            "intra_sched_ring",
            "intra_tsp_brucks",
            "intra_tsp_recexch_doubling",
            "intra_tsp_recexch_halving",
            "intra_tsp_ring",
        ],
    },
    Collective {
        name: "iallgatherv",
        tests: &["total_msg_size", "count"],
        algorithms: &[
            "inter_sched_remote_gather_local_bcast",
            "intra_sched_brucks",
            "intra_sched_recursive_doubling",
            "intra_sched_ring",
            "intra_tsp_brucks",
            "intra_tsp_recexch_doubling",
            "intra_tsp_recexch_halving",
            "intra_tsp_ring",
        ],
    },
    Collective {
        name: "iallreduce",
        tests: &["avg_msg_size", "total_msg_size", "count", "is_commutative", "is_op_built_in"],
        algorithms: &[
            "inter_sched_remote_reduce_local_bcast",
            "intra_sched_naive",
            "intra_sched_recursive_doubling",
            "intra_sched_reduce_scatter_allgather",
            "intra_sched_smp",
            "intra_tsp_recexch_multiple_buffer",
            "intra_tsp_recexch_reduce_scatter_recexch_allgatherv",
            "intra_tsp_recexch_single_buffer",
            "intra_tsp_ring",
            "intra_tsp_tree",
        ],
    },
    Collective {
        name: "ialltoall",
        tests: &["avg_msg_size", "total_msg_size", "is_sendbuf_inplace"],
        algorithms: &[
            "inter_sched_pairwise_exchange",
            "intra_sched_brucks",
            "intra_sched_inplace",
            "intra_sched_pairwise",
            "intra_sched_permuted_sendrecv",
            "intra_tsp_brucks",
            "intra_tsp_ring",
            "intra_tsp_scattered",
        ],
    },
    Collective {
        name: "ialltoallv",
        tests: &["total_msg_size", "is_sendbuf_inplace"],
        algorithms: &[
            "inter_sched_pairwise_exchange",
            "intra_sched_blocked",
            "intra_sched_inplace",
            "intra_tsp_blocked",
            "intra_tsp_inplace",
            "intra_tsp_scattered",
        ],
    },
    Collective {
        name: "ialltoallw",
        tests: &["total_msg_size", "is_sendbuf_inplace"],
        algorithms: &[
            "inter_sched_pairwise_exchange",
            "intra_sched_blocked",
            "intra_sched_inplace",
            "intra_tsp_blocked",
            "intra_tsp_inplace",
        ],
    },
    Collective {
        name: "ibarrier",
        tests: &[],
        algorithms: &["inter_sched_bcast", "intra_sched_recursive_doubling", "intra_tsp_recexch"],
    },
    Collective {
        name: "ibcast",
        tests: &["avg_msg_size", "total_msg_size"],
        algorithms: &[
            "inter_sched_flat",
            "intra_sched_binomial",
            "intra_sched_scatter_recursive_doubling_allgather",
            "intra_sched_scatter_ring_allgather",
            "intra_sched_smp",
            "intra_tsp_ring",
            "intra_tsp_scatterv_recexch_allgatherv",
            "intra_tsp_tree",
        ],
    },
    Collective { name: "iexscan", tests: &[], algorithms: &["intra_sched_recursive_doubling"] },
    Collective {
        name: "igather",
        tests: &["total_msg_size"],
        algorithms: &["inter_sched_long", "inter_sched_short", "intra_sched_binomial", "intra_tsp_tree"],
    },
    Collective { name: "igatherv", tests: &[], algorithms: LINEAR },
    Collective { name: "ineighbor_allgather", tests: &[], algorithms: LINEAR },
    Collective { name: "ineighbor_allgatherv", tests: &[], algorithms: LINEAR },
    Collective { name: "ineighbor_alltoall", tests: &[], algorithms: LINEAR },
    Collective { name: "ineighbor_alltoallv", tests: &[], algorithms: LINEAR },
    Collective { name: "ineighbor_alltoallw", tests: &[], algorithms: LINEAR },
    Collective {
        name: "ireduce",
        tests: &["avg_msg_size", "total_msg_size", "count", "is_commutative", "is_op_built_in"],
        algorithms: &[
            "inter_sched_local_reduce_remote_send",
            "intra_sched_binomial",
            "intra_sched_reduce_scatter_gather",
            "intra_sched_smp",
            "intra_tsp_ring",
            "intra_tsp_tree",
        ],
    },
    Collective {
        name: "ireduce_scatter",
        tests: &["total_msg_size", "count", "is_commutative", "is_block_regular"],
        algorithms: &[
            "inter_sched_remote_reduce_local_scatterv",
            "intra_sched_noncommutative",
            "intra_sched_pairwise",
            "intra_sched_recursive_doubling",
            "intra_sched_recursive_halving",
            "intra_tsp_recexch",
        ],
    },
    Collective {
        name: "ireduce_scatter_block",
        tests: &["total_msg_size", "count", "is_commutative"],
        algorithms: &[
            "inter_sched_remote_reduce_local_scatterv",
            "intra_sched_noncommutative",
            "intra_sched_pairwise",
            "intra_sched_recursive_doubling",
            "intra_sched_recursive_halving",
            "intra_tsp_recexch",
        ],
    },
    Collective {
        name: "iscan",
        tests: &[],
        algorithms: &["intra_sched_recursive_doubling", "intra_sched_smp", "intra_tsp_recursive_doubling"],
    },
    Collective {
        name: "iscatter",
        tests: &["total_msg_size"],
        algorithms: &[
            "inter_sched_linear",
            "inter_sched_remote_send_local_scatter",
            "intra_sched_binomial",
            "intra_tsp_tree",
        ],
    },
    Collective { name: "iscatterv", tests: &[], algorithms: LINEAR },
    Collective { name: "neighbor_allgather", tests: &[], algorithms: &["allcomm_nb"] },
    Collective { name: "neighbor_allgatherv", tests: &[], algorithms: &["allcomm_nb"] },
    Collective { name: "neighbor_alltoall", tests: &[], algorithms: &["allcomm_nb"] },
    Collective { name: "neighbor_alltoallv", tests: &[], algorithms: &["allcomm_nb"] },
    Collective { name: "neighbor_alltoallw", tests: &[], algorithms: &["allcomm_nb"] },
    Collective {
        name: "reduce",
        tests: &["avg_msg_size", "total_msg_size", "count", "is_commutative", "is_op_built_in"],
        algorithms: &[
            "allcomm_nb",
            "inter_local_reduce_remote_send",
            "intra_binomial",
            "intra_reduce_scatter_gather",
            "intra_smp",
        ],
    },
    Collective {
        name: "reduce_scatter",
        tests: &["total_msg_size", "count", "is_commutative", "is_block_regular"],
        algorithms: &[
            "allcomm_nb",
            "inter_remote_reduce_local_scatter",
            "intra_noncommutative",
            "intra_pairwise",
            "intra_recursive_doubling",
            "intra_recursive_halving",
        ],
    },
    Collective {
        name: "reduce_scatter_block",
        tests: &["total_msg_size", "count", "is_commutative"],
        algorithms: &[
            "allcomm_nb",
            "inter_remote_reduce_local_scatter",
            "intra_noncommutative",
            "intra_pairwise",
            "intra_recursive_doubling",
            "intra_recursive_halving",
        ],
    },
    Collective {
        name: "scan",
        tests: &[],
        algorithms: &["allcomm_nb", "intra_recursive_doubling", "intra_smp"],
    },
    Collective {
        name: "scatter",
        tests: &["total_msg_size"],
        algorithms: &["allcomm_nb", "inter_linear", "inter_remote_send_local_scatter", "intra_binomial"],
    },
    Collective { name: "scatterv", tests: &[], algorithms: &["allcomm_linear", "allcomm_nb"] },
];
