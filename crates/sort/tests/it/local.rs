//! The local sorts: every candidate and the chosen one, against the standard library's stable sort.

use crate::common::{Random, numbered, shapes};
use proptest::prelude::*;
use strata_sort::local::{self, Features, LocalSort};
use strata_sort::{Item, Pair};

/// Sorts by everything that can sort such elements.
fn check<T: Item + PartialEq + std::fmt::Debug>(name: &str, items: &[T]) {
    let mut expected = items.to_vec();
    expected.sort_by_key(Item::bits);
    let mut chosen = items.to_vec();
    local::sort(&mut chosen);
    assert!(chosen == expected, "`{name}` is sorted wrongly");
    for (candidate, by) in local::candidates::<T>() {
        let mut sorted = items.to_vec();
        assert!(local::sort_by(&mut sorted, by));
        assert!(sorted == expected, "`{name}` is sorted wrongly by {candidate}");
    }
}

#[test]
fn awkward_shapes_stably() {
    for nodes in [1, 3, 8] {
        for (name, parts) in shapes(nodes) {
            check(name, &parts.concat());
            check(name, &numbered(&parts).concat());
        }
    }
}

#[test]
fn every_type_of_key_at_every_size() {
    fn all<T: Item + PartialEq + std::fmt::Debug>(of: fn(u64) -> T) {
        let mut random = Random(3);
        for len in (0..12).chain([47, 95, 96, 97, 129, 300, 301, 1100, 5001, 9001]) {
            let items: Vec<T> = (0..len).map(|_| of(random.next())).collect();
            check(std::any::type_name::<T>(), &items);
        }
    }
    all(|x| x as u8);
    all(|x| x as u16);
    all(|x| x as u32);
    all(|x| x);
    all(|x| x as usize);
    all(|x| x as i8);
    all(|x| x as i16);
    all(|x| x as i32);
    all(|x| if x % 9 == 0 { i64::MIN } else { x as i64 });
    all(|x| x as isize);
    all(|x| f64::from(x as i32) / 7.0);
    all(|x| Pair::new(x as i8, [x as u8; 5]));
}

#[test]
fn floats_are_in_total_order() {
    let mut random = Random(9);
    let special = [f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
    for len in [10, 200, 6000] {
        let mut items: Vec<f64> =
            (0..len).map(|at| special.get(at % 11).copied().unwrap_or(random.next() as f64 - 1e19)).collect();
        let mut expected = items.clone();
        expected.sort_by(f64::total_cmp);
        local::sort(&mut items);
        assert!(items.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

#[test]
fn who_can_sort_what() {
    let names = |mut all: Vec<&'static str>| {
        all.retain(|name| ["stable", "unstable", "runs", "leading"].contains(name));
        all
    };
    let of_pairs: Vec<_> = local::candidates::<Pair<u64, u8>>().map(|(name, _)| name).collect();
    assert_eq!(of_pairs, ["stable", "runs", "leading"], "what keeps the order of equal keys");
    let of_floats: Vec<_> = local::candidates::<f32>().map(|(name, _)| name).collect();
    assert_eq!(of_floats, ["stable", "unstable", "runs", "leading"]);
    let of_numbers: Vec<_> = local::candidates::<u32>().map(|(name, _)| name).collect();
    assert_eq!(names(of_numbers.clone()), of_floats);
    for (name, there) in [
        ("radsort", cfg!(feature = "radsort")),
        ("rdst", cfg!(feature = "rdst")),
        ("voracious", cfg!(feature = "voracious")),
    ] {
        assert_eq!(of_numbers.contains(&name), there, "{name}");
    }
    let mut pairs = [Pair::new(2u8, 0u8), Pair::new(1, 0)];
    assert!(!local::sort_by(&mut pairs, LocalSort::Unstable));
    assert_eq!({ pairs[0].key }, 2, "they stay as they were");
}

#[test]
fn a_choice_has_reasons() {
    let features = Features { keys: 5000, width: 20, run: 1, ordered: false, distinct: 5000, skewed: false };
    let (candidate, choice) = local::choose::<u64>(features);
    assert!(local::candidates::<u64>().any(|(name, other)| name == choice.name && other == candidate));
    assert!(choice.to_string().starts_with("local_sort: "), "{choice}");
    let (candidate, _) = local::choose::<Pair<u64, u64>>(features);
    assert!(matches!(candidate, LocalSort::Stable | LocalSort::Runs | LocalSort::Leading), "{candidate:?}");
}

#[test]
fn long_runs_are_merged_and_short_ones_are_not() {
    let choose = |run| {
        local::choose::<u64>(Features {
            keys: 5000,
            width: 64,
            run,
            ordered: false,
            distinct: 5000,
            skewed: false,
        })
        .0
    };
    assert_eq!(choose(2500), LocalSort::Runs);
    assert_ne!(choose(8), LocalSort::Runs);
}

#[cfg(feature = "rdst")]
#[test]
fn rdst_sorts_by_what_models_choose() {
    use rdst::RadixSort as _;
    use strata_sort::local::ModelTuner;

    fn check<T: rdst::RadixKey + Copy + Ord + Send + Sync + std::fmt::Debug>(mut items: Vec<T>) {
        let mut expected = items.clone();
        expected.sort_unstable();
        items.radix_sort_builder().with_tuner(&ModelTuner).with_parallel(false).sort();
        assert_eq!(items, expected);
    }
    for (_, parts) in shapes(5) {
        let keys = parts.concat();
        check(keys.iter().map(|key| *key as u8).collect());
        check(keys.iter().map(|key| *key as i16).collect());
        check(keys.iter().map(|key| *key as u32).collect());
        check(keys.iter().map(|key| u128::from(*key) << 32).collect());
        check(keys);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_keys(
        width in 1u32..=64,
        base: u64,
        len in 0usize..3000,
        run in 1usize..400,
        distinct in 1u64..5000,
        seed: u64,
    ) {
        let mut random = Random(seed);
        let mut key = || base.saturating_add((random.next() % distinct).wrapping_mul(0x0123_4567_89AB_CDEF) >> (64 - width));
        let mut keys: Vec<u64> = (0..len).map(|_| key()).collect();
        keys.chunks_mut(run).for_each(<[u64]>::sort_unstable);
        check("any keys", &keys);
        check("any keys, numbered", &numbered(&[keys]).concat());
    }
}
