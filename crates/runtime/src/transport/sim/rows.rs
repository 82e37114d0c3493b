//! What a node brings to an exchange: its blocks, by receiver.
//!
//! Each of `n` nodes brings `n` blocks, so memory is needed for their square: a short block must
//! not cost more than its contents.

use crate::block::RawBlock;
use std::rc::Rc;

/// Rows whose blocks have up to this many bytes on average are kept as one piece of memory. A block
/// of its own needs about as much beside its contents.
const SHORT: usize = 64;

/// The lengths of a row of blocks, in bytes.
#[derive(Clone)]
pub(super) enum Lengths {
    /// All have this length.
    Equal(usize),
    /// The end of each when they are laid one after the other.
    Ends(Rc<[usize]>),
}

impl Lengths {
    pub(super) fn new(lengths: impl Iterator<Item = usize> + Clone) -> Self {
        let first = lengths.clone().next().unwrap_or(0);
        if lengths.clone().all(|length| length == first) {
            return Self::Equal(first);
        }
        let add = |end: &mut usize, length| {
            *end += length;
            Some(*end)
        };
        Self::Ends(lengths.scan(0, add).collect())
    }

    /// The length of the block for node `to`.
    pub(super) fn of(&self, to: usize) -> usize {
        let (start, end) = self.place(to);
        end - start
    }

    /// Where the block for node `to` lies if they are laid one after the other.
    fn place(&self, to: usize) -> (usize, usize) {
        match self {
            Self::Equal(length) => (to * length, (to + 1) * length),
            Self::Ends(ends) => (to.checked_sub(1).map_or(0, |before| ends[before]), ends[to]),
        }
    }
}

/// The blocks that one node brings.
#[derive(Default)]
pub(super) enum Row {
    /// It has not come yet.
    #[default]
    None,
    /// Short blocks, one after the other.
    Packed { bytes: Box<[u8]>, lengths: Lengths },
    /// Phantoms, which have lengths and no memory.
    Phantoms(Lengths),
    /// Blocks that are moved to their receivers.
    Blocks(Vec<RawBlock>),
}

impl Row {
    /// A row of these blocks; returns their lengths too.
    pub(super) fn new(blocks: Vec<RawBlock>) -> (Self, Lengths) {
        let lengths = Lengths::new(blocks.iter().map(RawBlock::size));
        let bytes: usize = blocks.iter().map(|block| block.bytes).sum();
        let phantoms: usize = blocks.iter().map(|block| block.phantom).sum();
        let row = if phantoms == 0 && bytes <= SHORT * blocks.len() {
            let mut packed = Vec::with_capacity(bytes);
            blocks.iter().for_each(|block| packed.extend_from_slice(block.as_bytes()));
            Self::Packed { bytes: packed.into(), lengths: lengths.clone() }
        } else if phantoms > 0 && blocks.iter().all(|block| block.phantom > 0) {
            Self::Phantoms(lengths.clone())
        } else {
            Self::Blocks(blocks)
        };
        (row, lengths)
    }

    pub(super) fn take(&mut self, to: usize) -> RawBlock {
        match self {
            Self::None => RawBlock::default(),
            Self::Packed { bytes, lengths } => {
                let (start, end) = lengths.place(to);
                RawBlock::copy_of(&bytes[start..end])
            }
            Self::Phantoms(lengths) => RawBlock::phantom(lengths.of(to)),
            Self::Blocks(blocks) => blocks.get_mut(to).map(std::mem::take).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(to: usize, bytes: usize) -> RawBlock {
        RawBlock::copy_of(&vec![to as u8; bytes])
    }

    /// What is taken is what was brought, whatever form it had meanwhile.
    fn comes_back(blocks: &[RawBlock]) -> Row {
        let (mut row, lengths) = Row::new(blocks.to_vec());
        for (to, block) in blocks.iter().enumerate() {
            assert_eq!(lengths.of(to), block.size());
            let taken = row.take(to);
            assert_eq!((taken.as_bytes(), taken.phantom), (block.as_bytes(), block.phantom));
        }
        row
    }

    #[test]
    fn blocks_come_back_as_they_were() {
        let short: Vec<RawBlock> = (0..5).map(|to| block(to, 16)).collect();
        let uneven: Vec<RawBlock> = (0..5).map(|to| block(to, to * 3)).collect();
        for row in [&short, &uneven, &Vec::new()] {
            assert!(matches!(comes_back(row), Row::Packed { .. }));
        }
        let long: Vec<RawBlock> = (0..3).map(|to| block(to, 400 * to)).collect();
        assert!(matches!(comes_back(&long), Row::Blocks(_)));
        let phantoms: Vec<RawBlock> = (1..4).map(RawBlock::phantom).collect();
        assert!(matches!(comes_back(&phantoms), Row::Phantoms(_)));
        let mixed = [block(0, 16), RawBlock::phantom(8), RawBlock::default()];
        assert!(matches!(comes_back(&mixed), Row::Blocks(_)));
    }

    #[test]
    fn equal_lengths_are_kept_as_one() {
        assert!(matches!(Lengths::new([7, 7, 7].into_iter()), Lengths::Equal(7)));
        assert!(matches!(Lengths::new([7, 7, 6].into_iter()), Lengths::Ends(_)));
        assert!(matches!(Lengths::new(std::iter::empty()), Lengths::Equal(0)));
    }
}
