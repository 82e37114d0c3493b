//! Results that need not be even: sorted, stable, and as even as was asked for.

use crate::common::{numbered, shapes};
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_sort::{Balance, Item, Options, Pin, SelectError, profile, sort_balanced};

/// Sorts `parts` and returns how many elements each node has; none if they are too many for the
/// algorithm.
fn lens(node: &mut Node, parts: &[Vec<u64>], pin: &str, balance: Balance) -> Result<Vec<usize>, Error> {
    let parts = numbered(parts);
    let mut items = parts[node.rank()].clone();
    let options = Options::default().pin(Pin::parse(pin).map_err(|e| Error::program(e.to_string()))?);
    match sort_balanced(node, &mut items, &options, balance) {
        Err(SelectError::Choose(reason)) if reason.contains("does not apply") => return Ok(Vec::new()),
        sorted => sorted?,
    };
    let lens: Vec<usize> = node.all_gather(&[items.len() as u64]).iter().map(|len| *len as usize).collect();
    let start = lens[..node.rank()].iter().sum();
    let mut expected = parts.concat();
    expected.sort_by_key(Item::bits);
    assert!(items.iter().eq(expected.iter().skip(start).take(items.len())), "{pin} {balance:?}");
    Ok(lens)
}

fn all_shapes(machine: &dyn Fn(usize) -> Machine, all_nodes: &[usize]) {
    for &nodes in all_nodes {
        let shapes = shapes(nodes);
        let pins: Vec<String> = profile::candidates(&[8]).map(|(name, _)| format!("sort={name}")).collect();
        let run = machine(nodes).run(|node| {
            for (name, parts) in &shapes {
                let share = parts.iter().map(Vec::len).sum::<usize>().div_ceil(nodes);
                for pin in &pins {
                    for (balance, most) in [
                        (Balance::Within(f64::NAN), share),
                        (Balance::Within(0.2), share + share / 5),
                        (Balance::AsItFalls, 2 * share + 1024),
                    ] {
                        let lens = lens(node, parts, pin, balance)?;
                        let largest = lens.iter().max().copied().unwrap_or(0);
                        assert!(largest <= most, "`{name}` by {pin}, {balance:?}: {lens:?}");
                    }
                }
            }
            Ok(())
        });
        run.unwrap();
    }
}

#[test]
fn no_node_has_more_than_allowed() {
    all_shapes(&|nodes| Machine::threads(nodes).unwrap(), &[1, 2, 5]);
}

/// How it falls is not even, or there would be nothing to gain.
#[test]
fn histogram_sort_saves_rounds_and_sample_sort_an_exchange() {
    for pin in ["sort=histogram", "sort=sample:8"] {
        let cm5 = Machine::sim(&SimulatedMachine::find("cm5").unwrap(), 8).unwrap();
        let time = |balance| {
            let run = cm5.run(|node| {
                let keys = profile::keys(node, 3000, 64, 1);
                let parts = node.all_gather(&keys);
                let parts: Vec<Vec<u64>> = parts.chunks(3000).map(<[u64]>::to_vec).collect();
                node.barrier();
                let start = node.now().get();
                let mut items = parts[node.rank()].clone();
                let options =
                    Options::default().pin(Pin::parse(pin).map_err(|e| Error::program(e.to_string()))?);
                sort_balanced(node, &mut items, &options, balance)?;
                node.barrier();
                Ok(node.now().get() - start)
            });
            run.unwrap().results[0]
        };
        let (even, loose) = (time(Balance::Even), time(Balance::AsItFalls));
        assert!(loose < even, "{pin}: {loose} {even}");
    }
}

#[test]
fn different_balances_are_an_error_on_every_node() {
    let run = Machine::threads(3).unwrap().run(|node| {
        let mut items = vec![3 - node.rank() as u64; 5];
        let balance = if node.rank() == 1 { Balance::AsItFalls } else { Balance::Even };
        let error = sort_balanced(node, &mut items, &Options::default(), balance).unwrap_err();
        assert!(matches!(error, SelectError::Unlike), "{error}");
        assert_eq!(items, [3 - node.rank() as u64; 5]);
        Ok(())
    });
    run.unwrap();
}

#[test]
fn already_sorted_elements_stay_where_they_are() {
    let run = Machine::threads(3).unwrap().run(|node| {
        let len = 10 + 5 * node.rank() as u64;
        let keys: Vec<u64> = (0..len).map(|at| 1000 * node.rank() as u64 + at).collect();
        let mut items = keys.clone();
        sort_balanced(node, &mut items, &Options::default(), Balance::AsItFalls)?;
        assert_eq!(items, keys);
        sort_balanced(node, &mut items, &Options::default(), Balance::Within(0.1))?;
        assert_eq!(items.len(), 15);
        Ok(())
    });
    run.unwrap();
}
