//! Every routine copies as `memcpy` does: all sizes, all alignments, and nothing beside.

use proptest::prelude::*;
use strata_copy::{DEFAULT, Routine, routines};

/// Bytes around a destination, which must not change.
const BESIDE: usize = 96;

/// Copies `len` bytes from `from_shift` to `to_shift` bytes after an aligned address, and compares
/// everything.
fn check(routine: &Routine, len: usize, from_shift: usize, to_shift: usize, seed: usize) {
    let byte = |index: usize| (index.wrapping_mul(31).wrapping_add(seed) >> 3) as u8 ^ index as u8;
    let mut source = vec![0u8; len + 192];
    let first = source.as_ptr().align_offset(64) + from_shift;
    let from = &mut source[first..first + len];
    from.iter_mut().enumerate().for_each(|(index, place)| *place = byte(index));
    let mut room = vec![0xA5u8; len + 192 + 2 * BESIDE];
    let start = room[BESIDE..].as_ptr().align_offset(64) + BESIDE + to_shift;
    routine.copy(&mut room[start..start + len], from);
    for (index, got) in room[start..start + len].iter().enumerate() {
        assert_eq!(*got, byte(index), "{routine:?}: byte {index} of {len}, {from_shift} to {to_shift}");
    }
    let beside = room[..start].iter().chain(&room[start + len..]);
    assert!(beside.copied().all(|byte| byte == 0xA5), "{routine:?} wrote beside {len} bytes at {to_shift}");
}

#[test]
fn small_sizes_and_all_misalignments() {
    for routine in routines() {
        for len in (0..=300).chain([511, 512, 513, 2047, 2048, 2112, 2113, 4096, 4160, 6200, 8191]) {
            for (from, to) in [(0, 0), (1, 0), (0, 1), (63, 63), (17, 40), (8, 16)] {
                check(routine, len, from, to, len);
            }
        }
        for shift in 0..64 {
            check(routine, 1000, shift, 0, 1);
            check(routine, 1000, 0, shift, 2);
            check(routine, 4500, 63 - shift, shift, 3);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_size_and_alignment(
        which in 0usize..38,
        len in prop_oneof![0usize..600, 0usize..20_000, 20_000usize..150_000],
        from in 0usize..64,
        to in 0usize..64,
        seed: u16,
    ) {
        check(routines()[which % routines().len()], len, from, to, usize::from(seed));
    }
}

#[test]
fn the_default_comes_first_and_names_are_unique() {
    assert_eq!(*routines()[0], DEFAULT);
    assert!(DEFAULT.is_default());
    for (index, routine) in routines().iter().enumerate() {
        assert_eq!(Routine::named(routine.name()), Some(*routine));
        assert!(routines()[..index].iter().all(|other| other != routine), "{routine:?} twice");
    }
    assert_eq!(Routine::named("no_such_routine"), None);
    // SSE2 is part of x86_64; elsewhere there is the default alone.
    assert_eq!(routines().len() >= 14, cfg!(target_arch = "x86_64"));
}

#[test]
fn different_lengths_are_refused() {
    for routine in routines() {
        let outcome = std::panic::catch_unwind(|| routine.copy(&mut [0; 300], &[1; 301]));
        assert!(outcome.is_err(), "{routine:?}");
        let outcome = std::panic::catch_unwind(|| routine.copy(&mut [0; 300], &[1; 200]));
        assert!(outcome.is_err(), "{routine:?}");
    }
}

/// A thread that sees a flag set after a copy sees what was copied, also after streaming stores.
#[test]
fn streamed_bytes_are_seen_by_who_sees_the_flag() {
    use std::sync::mpsc;
    for routine in routines() {
        let (send, receive) = mpsc::sync_channel::<Vec<u8>>(1);
        let reader = std::thread::spawn(move || {
            for (round, block) in receive.iter().enumerate() {
                assert!(block.iter().all(|byte| *byte == round as u8), "{routine:?}, round {round}");
            }
        });
        for round in 0..20u8 {
            let mut block = vec![0xFFu8; 10_000];
            routine.copy(&mut block, &[round; 10_000]);
            send.send(block).unwrap();
        }
        drop(send);
        reader.join().unwrap();
    }
}
