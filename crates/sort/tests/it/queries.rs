//! Questions about distributed elements, and sorting by comparison, against the sequential answers.

use crate::common::{Random, numbered, shapes};
use proptest::prelude::*;
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_sort::{
    Item, Pair,
    queries::{Splitters, is_sorted, rank_of, select_nth},
};

/// Asks everything about `parts` and compares.
fn ask(node: &mut Node, name: &str, parts: &[Vec<Pair<u64, u32>>]) -> Result<(), Error> {
    let mut expected = parts.concat();
    let was_sorted = expected.is_sorted_by_key(Item::bits);
    expected.sort_by_key(Item::bits);
    let mut items = parts[node.rank()].clone();
    let total = expected.len();
    let mut faults = Vec::new();
    if is_sorted(node, &items) != was_sorted {
        faults.push("is_sorted before".to_owned());
    }
    for n in [0, 1, total / 3, total.saturating_sub(1), total] {
        if select_nth(node, &items, n as u64) != expected.get(n).copied() {
            faults.push(format!("select_nth {n}"));
        }
    }
    strata_sort::sort(node, &mut items)?;
    if !is_sorted(node, &items) {
        faults.push("is_sorted after".to_owned());
    }
    let mut keys: Vec<u64> = expected.iter().step_by(total / 7 + 1).map(Item::bits).collect();
    keys.extend([0, 1, u64::MAX]);
    let ranks = rank_of(node, &items, &keys);
    let splitters = Splitters::of(node, &items);
    for (&key, &rank) in keys.iter().zip(&ranks) {
        if rank as usize != expected.partition_point(|item| item.bits() < key) {
            faults.push(format!("rank_of {key}"));
        }
        let here = items.iter().any(|item| item.bits() == key);
        if here && !splitters.nodes_of(key).any(|rank| rank == node.rank()) {
            faults.push(format!("nodes_of {key}"));
        }
    }
    let span = expected.first().zip(expected.last()).map(|(a, b)| (a.bits(), b.bits()));
    if splitters.span() != span {
        faults.push("span".to_owned());
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Error::program(format!("`{name}` on {} nodes: {}", node.size(), faults.join(", "))))
}

#[test]
fn questions_on_awkward_shapes() {
    for nodes in [1, 2, 3, 5, 8, 16] {
        let shapes = shapes(nodes);
        Machine::threads(nodes)
            .unwrap()
            .run(|node| shapes.iter().try_for_each(|(name, parts)| ask(node, name, &numbered(parts))))
            .unwrap();
    }
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    let shapes = shapes(33);
    let run = Machine::sim(&cm5, 33)
        .unwrap()
        .run(|node| shapes.iter().step_by(3).try_for_each(|(name, parts)| ask(node, name, &numbered(parts))));
    run.unwrap();
}

#[test]
fn byte_strings_are_sorted_by_comparison_stably() {
    for nodes in [1, 2, 3, 5, 8, 33] {
        let mut random = Random(nodes as u64);
        let mut word = |stems: u64| -> [u8; 24] {
            let mut text = [b'a'; 24];
            // Long common prefixes.
            text[20] = b'a' + (random.next() % stems) as u8;
            text[21..].copy_from_slice(&random.next().to_le_bytes()[..3]);
            text
        };
        let parts: Vec<Vec<[u8; 24]>> =
            (0..nodes).map(|r| (0..(r * 37) % 5 * 100).map(|_| word(3)).collect()).collect();
        // Only the stem is compared, so that what follows tells whether the sort is stable.
        let mut expected = parts.concat();
        expected.sort_by(|a, b| a[..21].cmp(&b[..21]));
        let run = Machine::threads(nodes).unwrap().run(|node| {
            let mut mine = parts[node.rank()].clone();
            strata_sort::sort_by(node, &mut mine, |a, b| a[..21].cmp(&b[..21]));
            Ok(mine)
        });
        let sorted = run.unwrap();
        assert_eq!(sorted.concat(), expected, "{nodes}");
        let share = expected.len().div_ceil(nodes);
        assert!(sorted.iter().all(|part| part.len() <= share));
    }
}

#[test]
fn floats_are_in_total_order_with_nans_of_both_signs_at_the_ends() {
    let values = [f64::NAN, -0.0, 0.0, -f64::NAN, f64::INFINITY, 1.5, f64::NEG_INFINITY, f64::MIN_POSITIVE];
    for nodes in [1, 2, 3, 5] {
        let run = Machine::threads(nodes).unwrap().run(|node| {
            let mut mine = values.to_vec();
            strata_sort::sort(node, &mut mine)?;
            assert!(is_sorted(node, &mine));
            Ok(mine)
        });
        let sorted = run.unwrap().concat();
        assert!(sorted.is_sorted_by(|a, b| a.total_cmp(b).is_le()), "{sorted:?}");
        assert!(sorted[0].is_nan() && sorted[sorted.len() - 1].is_nan());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_nth_of_any_keys(
        nodes in 1usize..=8,
        width in 1u32..=64,
        lens in proptest::collection::vec(0usize..60, 8),
        seed: u64,
        n in 0usize..500,
    ) {
        let mut random = Random(seed);
        let parts: Vec<Vec<u64>> =
            lens[..nodes].iter().map(|&len| (0..len).map(|_| random.next() >> (64 - width)).collect()).collect();
        let parts = numbered(&parts);
        let mut expected = parts.concat();
        expected.sort_by_key(Item::bits);
        let run = Machine::threads(nodes).unwrap().run(|node| Ok(select_nth(node, &parts[node.rank()], n as u64)));
        prop_assert!(run.unwrap().iter().all(|found| *found == expected.get(n).copied()));
    }
}
