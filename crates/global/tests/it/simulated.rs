//! The primitives on a simulated CM-5, beside what Luna measured on the real one (1994, Table 4).

use strata_global::{Global, Space, Way};
use strata_runtime::{prelude::*, simulation::SimulatedMachine};

/// Accesses of one timing: so many that latency no longer shows in streams.
const TIMES: usize = 1000;

/// Microseconds of one access of node 0 to node 1, which receives meanwhile.
fn micros(access: impl Fn(&mut Space<'_>, Global<u64>) + Sync) -> Result<f64, Error> {
    let cm5 = SimulatedMachine::find("cm5")?;
    let run = Machine::sim(&cm5, 2)?.run(|node| {
        // A message for each access, as there.
        let mut space = Space::open_by(node, 1 << 12, Way::Messages)?;
        space.barrier();
        let start = space.now().get();
        if space.rank() == 0 {
            access(&mut space, Global::new(1, 8));
        }
        let seconds = space.now().get() - start;
        space.barrier();
        Ok(seconds * 1e6 / TIMES as f64)
    })?;
    Ok(run.results[0])
}

/// The machine's costs are those of `crates/sim/platforms/cm5.toml`. The time of a store is among its
/// inputs: when a place in a queue is free was chosen by it.
#[test]
fn primitives_take_what_they_took_on_a_cm5() -> Result<(), Error> {
    let store = micros(|space, p| (0..TIMES).for_each(|_| space.store(p, 1)))?;
    let put = micros(|space, p| space.phase(|phase| (0..TIMES).for_each(|_| phase.put(p, 1))))?;
    let get = micros(|space, p| {
        let mut values = vec![0; TIMES];
        space.phase(|phase| values.iter_mut().for_each(|value| phase.get(value, p)));
    })?;
    let read = micros(|space, p| (0..TIMES).for_each(|_| _ = space.read(p)))?;
    let write = micros(|space, p| (0..TIMES).for_each(|_| space.write(p, 1)))?;
    let rows = [
        ("store", store, 2.1),
        ("put", put, 4.1),
        ("get", get, 4.4),
        ("read", read, 14.0),
        ("write", write, 13.4),
    ];
    for (name, here, there) in rows {
        println!("{name:5} {here:6.2} µs, measured {there:4.1} µs: {:+.0} %", 100.0 * (here / there - 1.0));
        assert!((here / there - 1.0).abs() < 0.1, "{name}: {here} µs instead of {there} µs");
    }
    Ok(())
}

/// Models of the machine choose the kind of messages.
#[test]
fn small_writes_are_gathered_where_models_say_so() -> Result<(), Error> {
    for name in ["cm5", "paragon"] {
        let machine = SimulatedMachine::find(name)?;
        let ends = |way| -> Result<f64, Error> {
            let run = Machine::sim(&machine, 4)?.run(|node| {
                let mut space = match way {
                    Some(way) => Space::open_by(node, 1 << 12, way)?,
                    None => Space::open(node, 1 << 12)?,
                };
                let next = (space.rank() + 1) % space.size();
                space.barrier();
                let start = space.now().get();
                (0..200).for_each(|i| space.store(Global::<u64>::new(next, 16 * i), i));
                space.all_store_sync();
                Ok((space.way(), space.now().get() - start))
            })?;
            assert!(way.is_none_or(|way| run.results[0].0 == way));
            Ok(run.results[0].1)
        };
        let (each, gathered) = (ends(Some(Way::Messages))?, ends(Some(Way::Gathered))?);
        let chosen = ends(None)?;
        println!("{name}: {each:e} s, gathered {gathered:e} s, chosen {chosen:e} s");
        assert!(chosen <= 1.01 * each.min(gathered), "{name}: {each} {gathered} {chosen}");
    }
    Ok(())
}
