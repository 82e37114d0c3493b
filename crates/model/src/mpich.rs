//! The collectives and algorithms of MPICH 4.0, and what its files of rules may ask about a call.

use std::sync::LazyLock;

use crate::did_you_mean;

/// The release that this is about.
pub const RELEASE: &str = "4.0";

/// A collective that files of rules know.
#[derive(Debug, PartialEq, Eq)]
pub struct Collective {
    /// Its name in `collective=`.
    pub name: &'static str,
    /// What can be asked of a call of it; other questions end the job.
    pub tests: Vec<&'static str>,
    /// Its algorithms, without `MPIR_` and the collective's name.
    pub algorithms: Vec<&'static str>,
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

/// All collectives, by name.
pub static COLLECTIVES: LazyLock<Vec<Collective>> = LazyLock::new(|| {
    let words = |words: Option<&'static str>| words.unwrap_or_default().split_ascii_whitespace().collect();
    // A line: the name, its tests, its algorithms.
    let read = |line: &'static str| {
        let mut parts = line.split(':');
        let name = parts.next().unwrap_or_default();
        Collective { name, tests: words(parts.next()), algorithms: words(parts.next()) }
    };
    include_str!("catalogues/mpich.txt").lines().map(read).collect()
});
