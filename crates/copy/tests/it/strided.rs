//! Packing and unpacking are what loops over the blocks are.

use proptest::prelude::*;
use strata_copy::{Mover, Strided, StridedError, movers, pack, unpack};

/// By the chosen mover, or by one.
type Moved = fn(&mut [u8], &[u8], Strided, Option<&Mover>) -> Result<(), StridedError>;

const PACK: Moved = |to, from, strided, mover| match mover {
    None => pack(to, from, strided),
    Some(mover) => mover.pack(to, from, strided),
};
const UNPACK: Moved = |to, from, strided, mover| match mover {
    None => unpack(to, from, strided),
    Some(mover) => mover.unpack(to, from, strided),
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 400 }))]

    #[test]
    fn packing_takes_every_block_and_unpacking_puts_it_back(
        block in prop_oneof![0usize..=70, 71usize..=300, 301usize..=1100, 2000usize..2200],
        gap in prop_oneof![0usize..70, 300usize..5000],
        count in 0usize..20,
        before in 0usize..65,
        more in 0usize..9,
        chosen in any::<prop::sample::Index>(),
    ) {
        let ways: Vec<Option<&Mover>> =
            std::iter::once(None).chain(movers().iter().map(|mover| Some(*mover))).collect();
        let mover = *chosen.get(&ways);
        let strided = Strided { block, stride: block + gap, count };
        let span = strided.span().unwrap();
        let source: Vec<u8> = (0..before + span + more).map(|index| (index * 13 + index / 256) as u8).collect();
        let mut packed = vec![0; block * count];
        PACK(&mut packed, &source[before..], strided, mover).unwrap();
        for index in 0..count {
            let at = before + index * strided.stride;
            prop_assert_eq!(&packed[index * block..][..block], &source[at..][..block]);
        }
        let mut target = vec![0xEE; before + span + more];
        UNPACK(&mut target[before..], &packed, strided, mover).unwrap();
        for (index, byte) in target.iter().enumerate() {
            let inside = index.checked_sub(before).filter(|at| *at < span);
            let inside = inside.is_some_and(|at| at % strided.stride.max(1) < block);
            prop_assert_eq!(*byte, if inside { source[index] } else { 0xEE });
        }
    }
}

/// Every size up to the longest that vectors move, by every mover.
#[test]
fn every_mover_moves_every_size() {
    assert_eq!(movers()[0].name(), "memcpy");
    for mover in movers() {
        assert_eq!(Mover::named(mover.name()), Some(*mover));
        for block in 1..=1100 {
            let strided = Strided { block, stride: block + 3, count: 3 };
            let source: Vec<u8> =
                (0..strided.span().unwrap()).map(|index| (index * 7 + index / 251) as u8).collect();
            let (mut packed, mut spread) = (vec![0; 3 * block], vec![0; source.len()]);
            mover.pack(&mut packed, &source, strided).unwrap();
            mover.unpack(&mut spread, &packed, strided).unwrap();
            for at in [0, block + 3, 2 * (block + 3)] {
                assert_eq!(spread[at..at + block], source[at..at + block], "{mover:?}, {block} bytes");
            }
            let between = [block..block + 3, 2 * block + 3..2 * block + 6];
            assert!(between.into_iter().flatten().all(|at| spread[at] == 0), "{mover:?}, {block} bytes");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let mut to = [9u8; 12];
    let at = |block, stride, count| Strided { block, stride, count };
    let overlap = at(4, 3, 3);
    assert_eq!(pack(&mut to, &[1; 40], overlap), Err(StridedError::Overlap(overlap)));
    let short = at(4, 8, 3);
    assert_eq!(pack(&mut to, &[1; 19], short), Err(StridedError::Short(short, 19)));
    assert_eq!(pack(&mut to[..8], &[1; 20], short), Err(StridedError::Packed(short, 8)));
    assert_eq!(unpack(&mut to, &[1; 12], short), Err(StridedError::Short(short, 12)));
    let huge = at(4, usize::MAX / 2, 4);
    assert_eq!(pack(&mut to, &[1; 40], huge), Err(StridedError::Short(huge, 40)));
    assert_eq!(to, [9; 12]);
    assert!(pack(&mut to, &[1; 20], short).is_ok());
    assert_eq!(to, [1; 12]);
    let text = StridedError::Overlap(overlap).to_string();
    assert_eq!(text, "blocks of 4 bytes overlap at a stride of 3; make it at least 4");
}
