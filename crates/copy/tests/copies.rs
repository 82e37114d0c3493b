//! What `copy` does, whichever routine it takes.

use proptest::prelude::*;
use strata_copy::{Hint, copy, copy_hinted, copy_with, routines};

const HINTS: [Hint; 8] = [
    Hint { source: strata_copy::Source::Unknown, target: strata_copy::Target::Unknown },
    Hint::SEND,
    Hint::RECEIVE,
    Hint::RECEIVE.left(),
    Hint::RECEIVE.read(),
    Hint::SEND.cold(),
    Hint::SEND.hot().left(),
    Hint::SEND.cold().read(),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_copy_is_equal(
        len in prop_oneof![0usize..5000, 5000usize..300_000],
        shift in 0usize..64,
        hint in 0usize..8,
    ) {
        let source: Vec<u8> = (0..len + shift).map(|index| (index * 11 + index / 250) as u8).collect();
        let mut target = vec![0; len + 2];
        copy(&mut target[1..=len], &source[shift..]);
        prop_assert_eq!(&target[1..=len], &source[shift..]);
        prop_assert_eq!((target[0], target[len + 1]), (0, 0));
        target.fill(0);
        copy_hinted(HINTS[hint], &mut target[1..=len], &source[shift..]);
        prop_assert_eq!(&target[1..=len], &source[shift..]);
        prop_assert_eq!((target[0], target[len + 1]), (0, 0));
    }
}

#[test]
fn lengths_that_differ_are_refused() {
    for (to, from) in [(0, 1), (1, 0), (4096, 5000), (5000, 4096), (100_000, 99_999)] {
        let (mut target, source) = (vec![0; to], vec![1; from]);
        assert!(std::panic::catch_unwind(move || copy(&mut target, &source)).is_err(), "{to}, {from}");
    }
}

#[test]
fn nothing_is_copied_of_nothing() {
    copy(&mut [], &[]);
    routines().iter().for_each(|routine| copy_with(routine, &mut [], &[]));
}
