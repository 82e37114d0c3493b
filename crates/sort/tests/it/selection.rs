//! What is chosen among the sorts, and what is refused.

use std::fmt::Write;
use strata_runtime::prelude::*;
use strata_select::Library;
use strata_sort::{
    Choice, Options, Pair, Pin, SelectError, Sort, SortError, profile, sort_with, sort_within,
};

fn choose(nodes: usize, keys: usize, options: &Options) -> Choice {
    let mut choices = Machine::threads(nodes)
        .unwrap()
        .run(|node| {
            let mut items = profile::keys(node, keys, 32, 1);
            let choice = sort_with(node, &mut items, options)?;
            assert!(items.is_sorted());
            Ok(choice)
        })
        .unwrap();
    let first = choices.remove(0);
    assert!(choices.iter().all(|choice| *choice == first), "all nodes choose alike");
    first
}

#[test]
fn few_keys_are_gathered_and_many_are_not_wherever_the_models_come_from() {
    for (nodes, many) in [(2, 1_000_000), (3, 1_000_000), (5, 300_000), (8, 300_000)] {
        for (keys, gathered) in [(0, true), (20, true), (many, false)] {
            assert_eq!(choose(nodes, keys, &Options::default()).name == "gather", gathered, "{nodes} {keys}");
        }
    }
}

#[test]
fn on_one_node_there_is_nothing_to_choose() {
    for keys in [0, 1, 5000] {
        let choice = choose(1, keys, &Options::default());
        assert!(choice.to_string().contains("nothing to choose"), "{choice}");
    }
}

#[test]
fn elements_of_another_size_are_ranked_but_no_time_is_predicted() {
    let choose = |machine: Machine| {
        machine.run(|node| {
            let keys: Vec<u64> = profile::keys(node, 1000, 32, 1);
            let mut pairs: Vec<Pair<u64, u64>> = keys.iter().map(|key| Pair::new(*key, !key)).collect();
            let of_pairs = sort_with(node, &mut pairs, &Options::default())?;
            assert!(pairs.iter().all(|pair| { pair.key } == !pair.value));
            let of_keys = sort_with(node, &mut keys.clone(), &Options::default())?;
            Ok((of_pairs, of_keys))
        })
    };
    for (of_pairs, of_keys) in choose(Machine::threads(3).unwrap()).unwrap() {
        assert_eq!((of_pairs.name, of_pairs.predicted), (of_keys.name, None));
        // Explanations are wrapped.
        assert!(of_pairs.to_string().replace("\n    ", " ").contains("elements of 8 bytes"), "{of_pairs}");
        assert!(of_pairs.distance >= 1.0, "{}", of_pairs.distance);
    }
}

#[test]
fn only_what_the_spec_allows_is_chosen() {
    for keys in [1 << 10, 1 << 14, 1 << 17] {
        let choice = choose(4, keys, &Options::default());
        let entry = &Sort::TABLE.entries[choice.index];
        for (parameter, value) in entry.parameters.iter().zip(&choice.parameters[..]) {
            match parameter.name {
                // Digits as even as they can be (eq. 43).
                "bits" => {
                    assert_eq!(*value as u32, 32u32.div_ceil(32u32.div_ceil(*value as u32)), "{choice}")
                }
                _ => assert!(parameter.contains(*value), "{choice}"),
            }
        }
    }
}

#[test]
fn pins_decide_or_are_refused() {
    let pin = |text: &str| Options::default().pin(Pin::parse(text).unwrap());
    let choice = choose(3, 50, &pin("sort=radix:11"));
    assert_eq!((choice.name, choice.parameters.as_slice(), choice.pinned), ("radix", &[11][..], true));
    assert_eq!(choose(2, 50, &pin("sort=sample")).name, "sample");
    assert_eq!(choose(1, 50, &pin("sort=gather")).name, "gather");

    let mut messages = String::new();
    for text in
        ["sort=bubble", "sort=radx", "sort=radix:17", "sort=gather:1", "sort=sample:39", "sorts=radix"]
    {
        let error = Machine::threads(2)
            .unwrap()
            .run(|node| Ok(sort_with(node, &mut vec![2u8, 1], &pin(text)).unwrap_err().to_string()))
            .unwrap();
        writeln!(messages, "{}", error[1]).unwrap();
    }
    let names: Vec<&str> = Sort::TABLE.entries.iter().map(|entry| entry.name).collect();
    let names = names.join(", ");
    assert_eq!(
        messages,
        format!(
            "`sort=bubble` pins a candidate that `sort` does not have; it has {names}\n\
         `sort=radx` pins a candidate that `sort` does not have (did you mean `radix`?); it has {names}\n\
         `sort=radix:17` does not suit the candidate: `bits` must lie in 2..=16, but it is 17\n\
         `sort=gather:1` does not suit the candidate: `gather` has 0 parameters, 1 are given\n\
         `sort=sample:39` does not suit the candidate: `oversample` must lie in 8..=64 step *2, but it is 39\n\
         `sorts=radix` pins a library that is not there: did you mean `sort`?\n"
        )
    );
}

#[test]
fn nodes_that_differ_are_told_so() {
    let errors = Machine::threads(3)
        .unwrap()
        .run(|node| {
            let pin = if node.rank() == 1 { "sort=gather" } else { "sort=sample" };
            let options = Options::default().pin(Pin::parse(pin).unwrap());
            let mut items = vec![3u32, 1, 2];
            let error = sort_with(node, &mut items, &options).unwrap_err();
            assert_eq!(items, [3, 1, 2]);
            Ok(matches!(error, SelectError::Unlike))
        })
        .unwrap();
    assert_eq!(errors, [true; 3]);
}

#[test]
fn a_file_that_is_missing_or_no_model_set_is_named() {
    let refused = |path: &std::path::Path| {
        let options = Options::default().models(path);
        let program =
            |node: &mut Node| Ok(sort_with(node, &mut vec![1u8], &options).unwrap_err().to_string());
        Machine::threads(2).unwrap().run(program).unwrap().remove(1)
    };
    let missing = refused("/nowhere/models.toml".as_ref());
    assert!(
        missing.contains("/nowhere/models.toml") && missing.contains("specc calibrate specs/sort"),
        "{missing}"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "strata-models = 1\nsamples_sha256 = \"\"\n").unwrap();
    let empty = refused(file.path());
    assert!(empty.contains("it has no library `sort`"), "{empty}");
}

#[test]
fn too_little_memory_is_an_error_everywhere_and_nothing_is_changed() {
    for nodes in [1, 2, 3, 5] {
        let run = Machine::threads(nodes).unwrap().run(|node| {
            let given = profile::keys(node, 5000, 32, 1);
            let mut items = given.clone();
            // One node is told less than the others.
            let bytes = if node.rank() == 0 { 1000 } else { usize::MAX };
            let error = sort_within(node, &mut items, &Options::default(), bytes).unwrap_err();
            assert_eq!(items, given);
            let SortError::Memory { need, limit } = error else { panic!("{error}") };
            assert!(limit == 1000 && need >= 8 * 5000, "{need}");
            sort_within(node, &mut items, &Options::default(), need)?;
            assert!(items.is_sorted());
            Ok((need, limit))
        });
        let all = run.unwrap();
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    }
}

#[test]
fn what_needs_too_much_memory_is_not_chosen() {
    let run = Machine::threads(4).unwrap().run(|node| {
        let mut items = profile::keys(node, 1000, 64, 1);
        let choice = sort_within(node, &mut items, &Options::default(), 8 * 8 * 1000);
        Ok(choice.map_err(Error::program)?.name)
    });
    assert!(run.unwrap().iter().all(|name| *name != "gather"));
}

#[test]
fn elements_that_come_in_order_only_move() {
    for nodes in [2, 3, 5] {
        let run = Machine::threads(nodes).unwrap().run(|node| {
            // Node 1 has none, the last most.
            let (rank, len) = (node.rank() as u64, if node.rank() == 1 { 0 } else { 10 * node.rank() + 5 });
            let ascending: Vec<u64> = (0..len as u64).map(|at| 1000 * rank + at / 2).collect();
            let descending: Vec<u64> = (0..len as u64).map(|at| u64::MAX - 1000 * rank - at).collect();
            let mut told = Vec::new();
            for (keys, ascends) in [(ascending, true), (descending, false)] {
                let all = node.all_to_all_v(
                    (0..node.size())
                        .map(|_| {
                            let mut block = Block::zeroed(keys.len());
                            block.copy_from_slice(&keys);
                            block
                        })
                        .collect(),
                );
                let mut expected: Vec<u64> = all.iter().flat_map(|part| part.iter().copied()).collect();
                expected.sort_unstable();
                let mut items = keys;
                let choice = sort_with(node, &mut items, &Options::default())?;
                let share = expected.len().div_ceil(node.size());
                let start = (node.rank() * share).min(expected.len());
                assert_eq!(items, expected[start..(start + share).min(expected.len())]);
                // Few that descend are gathered.
                let is_gathered = !ascends && expected.len() <= 128;
                told.push(choice.to_string().contains("come in order") != is_gathered);
            }
            Ok(told)
        });
        assert!(run.unwrap().concat().iter().all(|told| *told), "{nodes}");
    }
}
