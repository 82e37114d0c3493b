//! Packing and unpacking are what loops over the blocks are.

use proptest::prelude::*;
use strata_copy::{Strided, StridedError, pack, unpack};

proptest! {
    #[test]
    fn packing_takes_every_block_and_unpacking_puts_it_back(
        block in prop_oneof![0usize..=70, Just(128), 2000usize..2200],
        gap in 0usize..70,
        count in 0usize..20,
        before in 0usize..9,
        more in 0usize..9,
    ) {
        let strided = Strided { block, stride: block + gap, count };
        let span = strided.span().unwrap();
        let source: Vec<u8> = (0..before + span + more).map(|index| (index * 13 + index / 256) as u8).collect();
        let mut packed = vec![0; block * count];
        pack(&mut packed, &source[before..], strided).unwrap();
        for index in 0..count {
            let at = before + index * strided.stride;
            prop_assert_eq!(&packed[index * block..][..block], &source[at..][..block]);
        }
        let mut target = vec![0xEE; before + span + more];
        unpack(&mut target[before..], &packed, strided).unwrap();
        for (index, byte) in target.iter().enumerate() {
            let inside = index.checked_sub(before).filter(|at| *at < span);
            let inside = inside.is_some_and(|at| at % strided.stride.max(1) < block);
            prop_assert_eq!(*byte, if inside { source[index] } else { 0xEE });
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
