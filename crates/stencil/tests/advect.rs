//! The two versions of `examples/advect_rsmpi.rs`, with a halo exchange by hand and with `Halo`:
//! the same bits on 1, 2, 4 and 6 processes, and few lines changed.
//!
//! `cargo test -p strata-stencil --features mpi --test advect`; without `mpirun` it says so and
//! skips.

// A program of its own, as each MPI process is one, which initialises MPI itself.

#[path = "../../../examples/advect_rsmpi.rs"]
#[allow(dead_code, reason = "an example has a `main`")]
mod by_hand;
#[path = "../../runtime/tests/mpirun/mod.rs"]
mod mpirun;
#[path = "../../../examples/advect_halo_rsmpi.rs"]
#[allow(dead_code, reason = "an example has a `main`")]
mod with_halo;

use mpi::traits::Communicator as _;
use mpirun::Job;
use std::process::ExitCode;
use strata_runtime::{Error, Machine, MpiNode, MpiNodes};
use strata_stencil::Halo;

/// Cases of a solver that keeps its node.
const FAILS: &str = "solver fails";
const OUTLIVES: &str = "solver outlives MPI";

/// The most lines that a program has to change.
const MOST_LINES: usize = 15;

fn main() -> ExitCode {
    if std::env::var_os(mpirun::CASE).is_some() {
        let case = std::env::var(mpirun::CASE).unwrap_or_default();
        return mpirun::exit(match &*case {
            "solver" => keep(),
            FAILS => fail(),
            OUTLIVES => outlive(),
            _ => compare(),
        });
    }
    let jobs = mpirun::on(&[1, 2, 4, 6], "advect").chain(mpirun::on(&[1, 2, 3, 5], "solver"));
    let of_two = |case, check: fn(mpirun::Outcome) -> Result<(), String>| {
        Job::new(case, 2, move || check(mpirun::run(case, 2, &[], &[])?))
    };
    let failing = [
        of_two(FAILS, |outcome| outcome.failed_with(&["node 1: the disk is full"])),
        of_two(OUTLIVES, |outcome| match outcome.err.contains("drop it before the universe") {
            true => outcome.succeeded(),
            false => outcome.wrong("it is not said"),
        }),
    ];
    mpirun::all(jobs.chain(failing).chain([Job::new("few lines", 1, few_lines)]).collect())
}

/// A program's solver with its node and halo as fields.
struct Solver {
    halo: Halo<u64>,
    node: MpiNode,
    cells: Vec<u64>,
}

impl Solver {
    fn new(nodes: MpiNodes, width: usize) -> Result<Self, Error> {
        let mut node = nodes.into_node()?;
        let cells = vec![node.rank() as u64; 4 + 2 * width];
        let halo = Halo::around([4]).width(width).periodic([true]).prepare(&mut node)?;
        Ok(Self { halo, node, cells })
    }

    /// The sum of this node's cells and halos.
    fn step(&mut self) -> Result<u64, Error> {
        self.halo.exchange(&mut self.node, [&mut self.cells])?;
        Ok(self.cells.iter().sum())
    }
}

/// One of the processes: two solvers that keep their nodes take turns, and go on after an error.
fn keep() -> Result<(), Error> {
    let universe = mpi::initialize().ok_or_else(|| Error::program("MPI is initialised already"))?;
    let world = universe.world();
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    for _ in 0..2 {
        let solver = |width| Solver::new(Machine::on_communicator(&world)?, width);
        let mut solvers = [solver(1)?, solver(2)?];
        for turn in 0..6 {
            let width = 1 + turn % 2;
            let expected = 4 * rank + width * ((rank + 1) % size + (rank + size - 1) % size);
            let [first, second] = &mut solvers;
            let mixed = first.halo.exchange(&mut second.node, [&mut first.cells]);
            if !mixed.is_err_and(|error| error.to_string().contains("prepared on another node")) {
                return Err(Error::program("a halo was exchanged on another solver's node"));
            }
            let found = solvers[turn as usize % 2].step()?;
            if found != expected {
                return Err(Error::program(format!("{found} in place of {expected}")));
            }
        }
        // The nodes disagree, all get an error, and the node goes on.
        let node = &mut solvers[1].node;
        let unlike = Halo::<u64>::around([4]).width(1).periodic([true]).fields(1 + rank as usize);
        let is_agreed = unlike.prepare(node).is_ok();
        if is_agreed != (size == 1) || node.reduce_add(1_u64) != size {
            return Err(Error::program(format!("unlike halos: {is_agreed}")));
        }
    }
    Ok(())
}

/// One of two processes: it tells its error, which ends the other's exchange.
fn fail() -> Result<(), Error> {
    let universe = mpi::initialize().ok_or_else(|| Error::program("MPI is initialised already"))?;
    let world = universe.world();
    let mut solver = Solver::new(Machine::on_communicator(&world)?, 1)?;
    if world.rank() == 1 {
        solver.node.fail("the disk is full");
    }
    solver.step().map(drop)
}

/// A process whose node outlives MPI.
fn outlive() -> Result<(), Error> {
    let universe = mpi::initialize().ok_or_else(|| Error::program("MPI is initialised already"))?;
    let node = Machine::on_communicator(&universe.world())?.into_node()?;
    drop(universe);
    drop(node);
    Ok(())
}

/// One of the processes: both versions on its communicator.
fn compare() -> Result<(), Error> {
    let universe = mpi::initialize().ok_or_else(|| Error::program("MPI is initialised already"))?;
    let world = universe.world();
    let by_hand = by_hand::advect(&world, 37);
    let with_halo = with_halo::advect(&world, 37)?;
    match by_hand.map(f64::to_bits) == with_halo.map(f64::to_bits) {
        true => Ok(()),
        false => Err(Error::program(format!("by hand {by_hand:?}, with a halo {with_halo:?}"))),
    }
}

/// The lines of the version with `Halo` that the other one lacks, without comments and indentation.
fn few_lines() -> Result<(), String> {
    let lines = |text: &'static str| -> Vec<&str> {
        let lines = text.lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect()
    };
    let by_hand = lines(include_str!("../../../examples/advect_rsmpi.rs"));
    let with_halo = lines(include_str!("../../../examples/advect_halo_rsmpi.rs"));
    let changed: Vec<&str> = with_halo.into_iter().filter(|line| !by_hand.contains(line)).collect();
    match changed.len() {
        0..=MOST_LINES => Ok(()),
        count => Err(format!("{count} lines are changed, more than {MOST_LINES}: {changed:#?}")),
    }
}
