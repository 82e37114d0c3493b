//! What `copy` does, whichever routine it takes.

use proptest::prelude::*;
use strata_copy::{
    Direction, Hint, Strided, copy, copy_hinted, copy_with, mover_for, pack, routines, unpack,
};

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

/// Under Miri a copy of ten thousand bytes takes about a second, so cases are few and short.
const CASES: u32 = if cfg!(miri) { 4 } else { 200 };
const LONGEST: usize = if cfg!(miri) { 6000 } else { 300_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]
    #[test]
    fn a_copy_is_equal(
        len in prop_oneof![0usize..5000, 5000usize..LONGEST],
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

/// Whether a process has run a test, and that one has passed.
fn has_passed(again: &std::process::Output) -> bool {
    again.status.success() && String::from_utf8_lossy(&again.stdout).contains("1 passed")
}

/// What a pin does can only be seen from a process that has one: this test starts itself again.
#[test]
fn a_pin_takes_one_routine_everywhere() {
    const ROLE: &str = "STRATA_CHILD";
    if let Ok(expected) = std::env::var(ROLE) {
        for hint in HINTS {
            for bytes in [3000, 1 << 20, 1 << 27] {
                assert_eq!(strata_copy::routine_for(hint, bytes, true).name(), expected);
            }
        }
        return;
    }
    let last = routines()[routines().len() - 1].name();
    for (pin, expected, says) in
        [(format!("sort=radix, copy={last}"), last, ""), ("copy=memcpy".to_owned(), "memcpy", "")]
    {
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["copies::a_pin_takes_one_routine_everywhere", "--exact", "--nocapture"])
            .env("STRATA_PIN", pin)
            .env(ROLE, expected)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(has_passed(&again) && said.contains(says), "{said}");
    }
    let again = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["copies::a_copy_is_equal", "--exact", "--nocapture"])
        .env("STRATA_PIN", "copy=memcopy")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(has_passed(&again) && said.contains("did you mean `memcpy`?"), "{said}");
}

/// As above, of packing and unpacking.
#[test]
fn a_pin_takes_one_mover_for_all_blocks() {
    const ROLE: &str = "STRATA_CHILD";
    if std::env::var_os(ROLE).is_some() {
        for block in [1, 24, 200, 1000] {
            for direction in [Direction::Pack, Direction::Unpack] {
                let strided = Strided { block, stride: 3000, count: 2 };
                assert_eq!(mover_for(direction, strided).name(), "moves");
                // Those that it does not move itself are copied.
                let (mut packed, mut spread) = (vec![0; 2 * block], vec![1; 6000]);
                pack(&mut packed, &spread, strided).unwrap();
                unpack(&mut spread, &packed, strided).unwrap();
                assert!(packed.iter().chain(&spread).all(|byte| *byte == 1));
            }
        }
        return;
    }
    for (pin, says) in [("copy_strided=moves", ""), ("copy_strided=movs", "did you mean `moves`?")] {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["copies::a_pin_takes_one_mover_for_all_blocks", "--exact", "--nocapture"]);
        let again = again.env("STRATA_PIN", pin).env(ROLE, "").output().unwrap();
        let said = String::from_utf8_lossy(&again.stderr).into_owned();
        assert_eq!((has_passed(&again), said.contains(says)), (says.is_empty(), true), "{said}");
    }
}
