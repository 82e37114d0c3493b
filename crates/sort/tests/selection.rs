//! What is chosen, and what is refused: models compiled in, from a file, of another machine, and pins.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic, its helpers too")]

use std::fmt::Write;
use strata_model::Platform;
use strata_runtime::prelude::*;
use strata_select::{Domain, Entry, Outcome, Parameter, Pin, Prediction, Table, Verdict};
use strata_sort::{Choice, Models, Options, SortError, profile, sort_with};

/// Times of a machine on which radix sort with 8 bits wins from 1,000 keys a node, gathering below.
fn seconds(name: &str, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
    let [width, keys] = inputs else { return None };
    if !(16.0..=1e6).contains(keys) || *width > 64.0 {
        return None;
    }
    match name {
        "gather" => Some(1e-6 * keys / 1000.0),
        "radix" => Some(1e-6 + 1e-9 * (parameters[0] - 8).pow(2) as f64),
        _ => Some(1.0),
    }
}

fn entry(name: &'static str, parameters: &'static [Parameter]) -> Entry {
    macro_rules! times {
        ($name:literal) => {
            (
                |n, i, p| (n == 3).then(|| seconds($name, i, p)).flatten(),
                |n, i, p| (n == 3).then(|| Prediction::new(seconds($name, i, p)?, 1e-9)).flatten(),
            )
        };
    }
    type Times = (fn(usize, &[f64], &[i64]) -> Option<f64>, fn(usize, &[f64], &[i64]) -> Option<Prediction>);
    let (seconds, predict): Times = match name {
        "gather" => times!("gather"),
        "radix" => times!("radix"),
        _ => times!("sample"),
    };
    Entry { name, parameters, verdict: Verdict::Verified, seconds, predict }
}

/// The table above, measured on 3 nodes of `platform`.
fn table(platform: String) -> &'static Table {
    const BITS: &[Parameter] = &[Parameter::new("bits", 1, 16)];
    const OVERSAMPLE: &[Parameter] = &[Parameter::new("oversample", 8, 64)];
    let entries = vec![entry("radix", BITS), entry("sample", OVERSAMPLE), entry("gather", &[])];
    Box::leak(Box::new(Table {
        library: "sort",
        platform: platform.leak(),
        digest: "0123456789abcdef",
        inputs: &["width", "keys"],
        spec: "specs/sort",
        domain: Domain { nodes: (3, 3), inputs: &[(1.0, 64.0), (16.0, 1e6)] },
        entries: entries.leak(),
    }))
}

/// The models as if they had been measured on this very machine, with some of it changed.
fn models(change: fn(&mut Platform)) -> Models {
    let platform = Machine::threads(3).unwrap().run(|node| Ok(node.platform())).unwrap().remove(0);
    let mut platform = platform;
    change(&mut platform);
    Models::from_table(table(platform.to_string())).unwrap()
}

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
fn where_no_model_predicts_a_rule_decides_and_says_so() {
    const NOTHING: Entry = Entry {
        name: "radix",
        parameters: &[],
        verdict: Verdict::Verified,
        seconds: |_, _, _| None,
        predict: |_, _, _| None,
    };
    static TABLE: Table = Table {
        library: "sort",
        platform: "",
        digest: "",
        inputs: &["keys", "width"],
        spec: "",
        domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(0.0, 1e9), (0.0, 64.0)] },
        entries: &[NOTHING],
    };
    let nothing = Options::default().models(Models::from_table(&TABLE).unwrap());
    for (keys, name) in [(0, "gather"), (100, "gather"), (3000, "sample")] {
        let choice = choose(3, keys, &nothing);
        assert_eq!(choice.name, name);
        assert!(choice.to_string().contains("by rule of thumb"), "{choice}");
    }
    let choice = choose(1, 100, &Options::default());
    assert_eq!(choice.name, "local");
    assert!(choice.to_string().contains("nothing to choose"), "{choice}");
}

#[test]
fn models_of_this_machine_predict() {
    let options = Options::default().models(models(|_| ()));
    let small = choose(3, 100, &options);
    assert_eq!(small.name, "gather");
    let large = choose(3, 5000, &options);
    assert_eq!((large.name, large.parameters.as_slice()), ("radix", &[8][..]));
    assert!(large.predicted.is_some() && large.note.is_none());
    assert!(
        large.outcomes().any(|(name, outcome)| name == "gather" && matches!(outcome, Outcome::Slower(..)))
    );
}

#[test]
fn models_that_do_not_cover_the_problem_only_rank() {
    let elsewhere = Options::default().models(models(|platform| platform.cpu = "another".to_owned()));
    let here = Options::default().models(models(|_| ()));
    for (choice, name, why) in [
        (choose(3, 5000, &elsewhere), "radix", "another machine"),
        (choose(2, 5000, &here), "radix", "another number of nodes"),
        (choose(5, 50, &here), "gather", "another number of nodes"),
        (choose(3, 5, &here), "gather", "the nearest size"),
        (choose(1, 5, &here), "local", "nothing to choose"),
    ] {
        assert_eq!((choice.name, choice.predicted), (name, None));
        assert!(choice.to_string().contains(why), "{choice}");
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
    for text in ["sort=bubble", "sort=radix:17", "sort=gather:1", "sort=local"] {
        let error = Machine::threads(2)
            .unwrap()
            .run(|node| Ok(sort_with(node, &mut vec![2u8, 1], &pin(text)).unwrap_err().to_string()))
            .unwrap();
        writeln!(messages, "{}", error[1]).unwrap();
    }
    assert_eq!(
        messages,
        "`sort=bubble` pins a candidate that `sort` does not have; it has local, gather, radix, sample\n\
         `sort=radix:17` does not suit the candidate: `bits` must lie in 1..=16, but it is 17\n\
         `sort=gather:1` does not suit the candidate: `gather` has 0 parameters, 1 are given\n\
         `sort=local` pins a candidate that does not apply to this problem: unpin it, or pin another\n"
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
            Ok(matches!(error, SortError::Unlike))
        })
        .unwrap();
    assert_eq!(errors, [true; 3]);
}

#[test]
fn a_file_that_is_missing_or_no_model_set_is_named() {
    let missing = Models::read("/nowhere/models.toml").unwrap_err().to_string();
    assert!(missing.contains("/nowhere/models.toml") && missing.contains("specc calibrate"), "{missing}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "strata-models = 1\nsamples_sha256 = \"\"\n").unwrap();
    let empty = Models::read(file.path()).unwrap_err().to_string();
    assert!(empty.contains("it has no library `sort`"), "{empty}");
}
