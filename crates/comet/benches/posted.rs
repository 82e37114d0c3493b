//! What a posted receive of another communicator costs messages of an MPI library: the run-time
//! always has some posted, and benchmarks of MPI have none.
//!
//!     cargo bench -p strata-comet --features mpi --bench posted
//!
//! starts two processes by `mpirun`, or the command in `STRATA_MPIRUN`. Ping-pong and ping-ping as
//! `IMB-MPI1` defines them, with and without one receive that is posted all the while, in turns.

use std::process::{Command, ExitCode};
use std::time::Instant;

use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// Distinguishes a process that the launcher has started.
const INSIDE: &str = "STRATA_CHILD";

/// Timings of each variant.
const ROUNDS: usize = 60;

/// Operations of a timing.
const TIMES: usize = 200;

const SIZES: [usize; 6] = [64, 512, 1024, 4096, 16_384, 65_536];

fn main() -> ExitCode {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let launcher = std::env::var_os("STRATA_MPIRUN").unwrap_or_else(|| "mpirun".into());
    let started = std::env::current_exe()
        .and_then(|program| Command::new(launcher).args(["-n", "2"]).arg(program).env(INSIDE, "1").status());
    match started {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("posted: the launcher ended with {status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("posted: the launcher does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

fn inside() -> ExitCode {
    // As the run-time does it.
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Serialized) else {
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    if world.size() != 2 {
        eprintln!("posted: it takes two processes");
        return ExitCode::FAILURE;
    }
    let apart = world.duplicate();
    let first = world.rank() == 0;
    if first {
        println!("| operation | bytes | alone | beside a posted receive | ratio |\n|---|---|---|---|---|");
    }
    let mut most = [0.0f64; 2];
    for both in [false, true] {
        for bytes in SIZES {
            let mut seconds = [Vec::new(), Vec::new()];
            for round in 0..ROUNDS {
                for turn in 0..2 {
                    let posted = (round + turn) % 2 == 1;
                    let taken = if posted {
                        beside_posted(&apart, || timed(&world, both, bytes))
                    } else {
                        timed(&world, both, bytes)
                    };
                    seconds[usize::from(posted)].push(taken);
                }
            }
            let [alone, beside] = seconds.map(|mut seconds| {
                seconds.sort_by(f64::total_cmp);
                seconds[ROUNDS / 2] * 1e6
            });
            most[usize::from(both)] = most[usize::from(both)].max(beside / alone);
            if first {
                let name = if both { "ping-ping" } else { "ping-pong" };
                println!("| {name} | {bytes} | {alone:.2} µs | {beside:.2} µs | {:.2} |", beside / alone);
            }
        }
    }
    if first {
        let [pong, ping] = most;
        println!("\nsummary {{\"bench\":\"posted\",\"ping_ping_most\":{ping},\"ping_pong_most\":{pong}}}");
    }
    ExitCode::SUCCESS
}

/// Runs `f` while a receive is posted to which nothing comes until afterwards.
fn beside_posted(apart: &SimpleCommunicator, f: impl FnOnce() -> f64) -> f64 {
    let other = apart.process_at_rank(1 - apart.rank());
    let mut nothing = [0u8; 64];
    mpi::request::scope(|scope| {
        let posted = apart.any_process().immediate_receive_into(scope, &mut nothing[..]);
        let seconds = f();
        other.send(&[0u8; 1][..]);
        posted.wait();
        seconds
    })
}

/// Seconds of one operation of `bytes`: a message each way at once, or half of there and back.
fn timed(world: &SimpleCommunicator, both: bool, bytes: usize) -> f64 {
    let first = world.rank() == 0;
    let other = world.process_at_rank(1 - world.rank());
    let (mine, mut theirs) = (vec![1u8; bytes], vec![0u8; bytes]);
    let mut run = |times: usize| {
        for _ in 0..times {
            if both {
                mpi::request::scope(|scope| {
                    let sending = other.immediate_send(scope, &mine[..]);
                    other.receive_into(&mut theirs[..]);
                    sending.wait();
                });
            } else if first {
                other.send(&mine[..]);
                other.receive_into(&mut theirs[..]);
            } else {
                other.receive_into(&mut theirs[..]);
                other.send(&mine[..]);
            }
        }
    };
    world.barrier();
    run(TIMES / 10);
    #[allow(clippy::disallowed_methods, reason = "there is no run-time here whose clock could be asked")]
    let start = Instant::now();
    run(TIMES);
    let seconds = start.elapsed().as_secs_f64() / TIMES as f64;
    assert!(theirs.iter().all(|byte| *byte == 1), "the data arrived wrong");
    if both { seconds } else { seconds / 2.0 }
}
