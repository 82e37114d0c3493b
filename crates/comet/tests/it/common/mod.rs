//! All kernels once, on the nodes of a test.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use strata_comet as comet;
use strata_runtime::{Error, Node};

/// Blocks of which a timing makes few calls: barriers between them take long on a loaded machine.
const LONG: usize = 80_000;

/// Runs every kernel that suits the nodes at small sizes; each verifies its own data.
pub(crate) fn everything(node: &mut Node) -> Result<(), Error> {
    let size = node.size();
    for bytes in [0, 1, 8, 100, 101, 5000] {
        comet::echo(node, bytes, 1);
        comet::exchange(node, bytes);
        if size == 1 {
            continue;
        }
        if bytes > 0 {
            comet::echo_data(node, bytes);
        }
        comet::send_overhead(node, bytes);
        comet::receive_overhead(node, bytes);
        comet::gap(node, bytes);
    }
    for peer in 2..size {
        comet::echo(node, 64, peer);
    }
    if size > 1 {
        comet::echo_late(node, 200, 20);
    }
    comet::poll(node);
    comet::fixed_work(node, 10, 1);
    comet::fixed_time(node, 1, 2);
    if size > 1 {
        for bytes in [1, 5000] {
            for pairs in [1, size / 2] {
                comet::stream(node, bytes, pairs);
                comet::stream_both(node, bytes, pairs);
            }
            for matching in [0, 1, 2] {
                comet::bisection(node, bytes, matching);
            }
            comet::pair(node, bytes, size - 2, size - 1);
            comet::pair(node, bytes, size - 1, 0);
        }
    }
    for collective in [
        comet::Collective::Broadcast,
        comet::Collective::Reduce,
        comet::Collective::Scan,
        comet::Collective::Gather,
        comet::Collective::Scatter,
        comet::Collective::AllGather,
        comet::Collective::AllToAll,
        comet::Collective::AllToAllV,
        comet::Collective::Barrier,
    ] {
        let bytes = if node.is_simulated() { 4_000 } else { LONG };
        let all: &[usize] = if collective == comet::Collective::Broadcast { &[0, 1, 2] } else { &[1] };
        let times: Vec<f64> = all.iter().map(|of| comet::each(node, collective, bytes, *of)).collect();
        let is_test = node.rank() == 0;
        assert!(times.iter().all(|time| is_test && *time >= 0.0 || *time == 0.0), "{collective:?} {times:?}");
    }
    for bytes in [1, 4096, 10_000] {
        comet::broadcast(node, bytes);
        comet::all_to_all(node, bytes);
        comet::all_gather(node, bytes);
        comet::put(node, bytes).map_err(Error::program)?;
        comet::get(node, bytes).map_err(Error::program)?;
        comet::store(node, bytes).map_err(Error::program)?;
    }
    comet::reduce(node);
    comet::reduce_vector(node, 1);
    comet::reduce_vector(node, 777);
    comet::barrier(node);
    comet::barrier_skewed(node, 30);
    for dim in [1, 2, 5, 33] {
        comet::guard(node, dim);
        comet::shift(node, dim, comet::Direction::North);
        comet::shift(node, dim, comet::Direction::East);
        comet::row_broadcast(node, dim);
        comet::column_broadcast(node, dim);
        if comet::Mesh::new(size).is_square() {
            comet::transpose(node, dim);
        }
    }
    for order in [comet::Order::Synchronous, comet::Order::Asynchronous, comet::Order::ComputationOnly] {
        comet::overlap(node, 500, 100, order);
    }
    comet::message_round_trip(node);
    if size > 1 && node.platform().transport == "mpi" {
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
        use comet::Call;
        let calls = [
            Call::PingPong,
            Call::PingPing,
            Call::Window,
            Call::BothWays,
            Call::Pairs,
            Call::PairsLatency,
            Call::Put,
            Call::Get,
            Call::Broadcast,
            Call::Reduce,
            Call::AllReduce,
            Call::ReduceScatter,
            Call::Scan,
            Call::Gather,
            Call::Scatter,
            Call::AllGather,
            Call::AllToAll,
            Call::AllToAllV,
            Call::Barrier,
        ];
        let is_test = node.rank() == 0;
        let is_told = |time: &f64| (*time > 0.0) == is_test;
        for call in calls {
            let all: &[usize] = if call == Call::Broadcast { &[0, 1, 2] } else { &[1] };
            let times: Vec<f64> = all.iter().map(|of| comet::library(node, call, LONG, *of)).collect();
            // A library may lack one-sided transfers.
            let lacks = matches!(call, Call::Put | Call::Get) && times[0].is_nan();
            assert!(lacks || times.iter().all(is_told), "{call:?} {times:?}");
        }
        for call in &calls[calls.iter().position(|call| *call == Call::Broadcast).unwrap()..] {
            let all: &[usize] = if *call == Call::Broadcast { &[0, 1, 2] } else { &[2] };
            let times: Vec<f64> =
                all.iter().map(|part| comet::overlapped(node, *call, LONG, *part)).collect();
            assert!(times.iter().all(is_told), "{call:?} {times:?}");
        }
        for call in [&calls[..2], &calls[8..]].concat() {
            let time = comet::raw(node, call, LONG);
            assert!(is_told(&time), "{call:?} {time}");
        }
    } else if node.platform().transport != "mpi" {
        let forced = comet::by_algorithm(node, comet::Call::AllReduce, "ring", 0, 64);
        assert!(forced.is_nan() && comet::raw(node, comet::Call::PingPong, 8).is_nan());
        assert!(comet::library(node, comet::Call::Gather, 8, 0).is_nan());
        assert!(comet::overlapped(node, comet::Call::Gather, 8, 0).is_nan());
    }
    if size >= 4 {
        for load in [0, 100, 3000] {
            comet::contention(node, 64, load, comet::suite::Crossing { peer: 2, source: 1, sink: 3 });
        }
    }
    Ok(())
}
