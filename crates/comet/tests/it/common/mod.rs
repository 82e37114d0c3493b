//! All kernels once, on the nodes of a test.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use strata_comet as comet;
use strata_comet::suite::{KERNELS, Measured, Size};
use strata_runtime::{Error, Node};

/// Runs every kernel that suits the nodes at small sizes; each verifies its own data.
pub(crate) fn everything(node: &mut Node) -> Result<(), Error> {
    let (mpi, alone) = (node.platform().transport == "mpi", node.size() == 1);
    for kernel in KERNELS.iter().filter(|kernel| !(mpi && kernel.mpi && alone)) {
        let all: Vec<_> = kernel.models.iter().flat_map(|model| points(model, node)).collect();
        for (model, at) in all {
            let time = comet::measure(node, model, &at).unwrap_or_else(|| panic!("{model} has no kernel"));
            // A library may lack one-sided transfers.
            let is_told = match (kernel.mpi, mpi) {
                (true, false) => time.is_nan(),
                (true, true) if matches!(model, "LibraryPut" | "LibraryGet") && time.is_nan() => true,
                (true, true) => (time > 0.0) == (node.rank() == 0),
                (false, _) => node.rank() == 0 && time >= 0.0 || time == 0.0,
            };
            assert!(is_told, "{model} {at:?} on node {}: {time}", node.rank());
        }
    }
    if !mpi {
        assert!(comet::by_algorithm(node, comet::Call::AllReduce, "ring", 0, 64).is_nan());
        return Ok(());
    }
    if alone {
        return Ok(());
    }
    // The names are Open MPI's.
    if std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some() {
        for (call, algorithm, segment) in [
            (comet::Call::AllReduce, "recursive_doubling", 0),
            (comet::Call::AllReduce, "auto", 0),
            (comet::Call::Broadcast, "pipeline", 4096),
            (comet::Call::AllToAll, "modified_bruck", 0),
            (comet::Call::Barrier, "tree", 0),
        ] {
            let seconds = comet::by_algorithm(node, call, algorithm, segment, 20_000);
            assert!(node.rank() > 0 || seconds > 0.0, "{call:?} by {algorithm}: {seconds} s");
        }
    }
    if std::env::var("MPIR_CVAR_DEVICE_COLLECTIVES").is_ok_and(|device| device == "none") {
        for (call, algorithm) in [
            (comet::Call::AllReduce, "reduce_scatter_allgather"),
            (comet::Call::AllReduce, "auto"),
            (comet::Call::Broadcast, "scatter_ring_allgather"),
            (comet::Call::AllToAll, "brucks"),
            (comet::Call::AllGather, "ring"),
        ] {
            let seconds = comet::by_algorithm(node, call, algorithm, 0, 20_000);
            assert!(node.rank() > 0 || seconds > 0.0, "{call:?} by {algorithm}: {seconds} s");
        }
    }
    Ok(())
}

/// Where a model is tried on these nodes; nowhere if it is not defined there.
fn points(model: &'static Measured, node: &Node) -> Vec<(&'static str, Vec<i64>)> {
    let (size, name) = (node.size() as i64, model.model);
    // Of blocks so long a timing makes few calls: barriers between them take long on a loaded machine.
    let long = if node.is_simulated() { 4_000 } else { 80_000 };
    let sizes = |sizes: &[i64]| -> Vec<Vec<i64>> { sizes.iter().map(|size| vec![*size]).collect() };
    let with = |firsts: &[i64], seconds: &[i64]| -> Vec<Vec<i64>> {
        firsts.iter().flat_map(|first| seconds.iter().map(|second| vec![*first, *second])).collect()
    };
    let points = match (name, model.size) {
        (
            "EchoData" | "EchoLate" | "SendOverhead" | "ReceiveOverhead" | "Gap" | "Stream" | "StreamBoth"
            | "Bisection" | "Pair",
            _,
        ) if size < 2 => Vec::new(),
        ("Contention", _) if size < 4 => Vec::new(),
        ("Transpose", _) if !comet::Mesh::new(node.size()).is_square() => Vec::new(),
        ("Contention", _) => [0, 100, 3000].map(|load| vec![64, load, 2, 1, 3]).to_vec(),
        ("Echo", _) => (2..size).map(|peer| vec![64, 1, peer]).chain(sizes(&[0, 1, 100, 5000])).collect(),
        ("EchoLarge", _) => Vec::new(),
        ("EchoLate", _) => with(&[200], &[20]),
        ("Stream" | "StreamBoth", _) => with(&[1, 5000], &[1, size / 2]),
        ("Bisection", _) => with(&[1, 5000], &[0, 1, 2]),
        ("Pair", _) => vec![vec![1, size - 2, size - 1], vec![5000, size - 1, 0]],
        ("Synchronous" | "Asynchronous", _) => with(&[500], &[100]),
        ("EachBroadcast" | "LibraryBroadcast" | "OverlapBroadcast", _) => with(&[long], &[0, 1, 2]),
        (_, Size::None) => sizes(&[0]),
        (_, Size::Rows) => sizes(&[1, 2, 5, 33]),
        (_, Size::Skew) => sizes(&[30]),
        // Nothing disturbs a simulated machine.
        (_, Size::Work) if node.is_simulated() => Vec::new(),
        (_, Size::Work) => with(&[10], &[1, 2]),
        (_, Size::Ranks | Size::Parts) => sizes(&[1, 2]),
        (_, Size::Elements) => sizes(&[1, 777]),
        (_, Size::Bytes) if !model.beside.is_empty() => with(&[long], &[1]),
        (_, Size::Bytes) if name.starts_with("Library") || name.starts_with("Raw") => sizes(&[long]),
        ("Exchange" | "SendOverhead" | "ReceiveOverhead" | "Gap", _) => sizes(&[0, 1, 100, 101, 5000]),
        _ => sizes(&[1, 101, 4096, 10_000]),
    };
    points.into_iter().map(|at| (name, at)).collect()
}
