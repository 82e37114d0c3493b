//! The recent choices of a library on a node: programs repeat queries, and evaluating models takes
//! as long as a short exchange of messages.
//!
//! Between two calls of a library other memory displaces what a choice reads, so a repeated one reads
//! little: of the [`Selector`](super::Selector) the first cache line, and the line of the choice.

use std::cell::RefCell;

use strata_select::{Library, choice::Note};

use super::Chosen;

/// How many choices a node keeps of a library; a power of two.
const RECENT: usize = 32;

/// All inputs of a choice by one selector.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Query {
    /// A fingerprint, as [`Selector::word`](super::Selector::word) is one of the models and pins.
    word: u64,
    /// The applicable candidates are compared themselves: one that does not apply would be wrong,
    /// not only slow.
    applies: u64,
}

impl Query {
    /// A note is known by the addresses of its texts: they are constants.
    #[inline]
    pub(super) fn new(word: u64, nodes: usize, inputs: &[f64], applies: u64, note: Option<Note>) -> Self {
        // The multiplier of Fibonacci hashing (Knuth, vol. 3, §6.4). The high bits of a product
        // depend on all bits of the factor, so they are brought down.
        let mix = |hash: u64, part: u64| {
            let product = (hash ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            product ^ product >> 32
        };
        let address = |text: &str| text.as_ptr().addr() as u64;
        let note = match note {
            None => 0,
            Some(Note::Nearest) => 1,
            Some(Note::OtherNodes { spec: text } | Note::Other(text)) => address(text),
            Some(Note::OtherMachine { spec, platform, differs }) => {
                [spec, platform, differs].into_iter().map(address).fold(2, mix)
            }
        };
        let numbers = inputs.iter().map(|input| input.to_bits());
        Self { word: numbers.fold(mix(mix(word, nodes as u64), note), mix), applies }
    }

    /// The applicable candidates.
    pub(super) fn applies(self) -> u64 {
        self.applies
    }

    fn place(self) -> usize {
        (self.word >> (64 - RECENT.ilog2())) as usize
    }
}

/// A choice and its query, in one cache line.
#[repr(align(64))]
struct Kept<L: Library> {
    query: Query,
    chosen: Chosen<L>,
}

/// The recent choices, each at the place of its query; queries of one place displace each other.
pub(super) struct Recent<L: Library>(RefCell<Box<[Option<Kept<L>>; RECENT]>>);

impl<L: Library> Default for Recent<L> {
    fn default() -> Self {
        Self(RefCell::new(Box::new([const { None }; RECENT])))
    }
}

impl<L: Library> Recent<L> {
    /// The choice for a query, if it is kept.
    #[inline]
    pub(super) fn get(&self, query: Query) -> Option<Chosen<L>> {
        let all = self.0.borrow();
        all[query.place()].as_ref().filter(|kept| kept.query == query).map(|kept| kept.chosen.clone())
    }

    /// Keeps a choice.
    pub(super) fn keep(&self, query: Query, chosen: Chosen<L>) {
        self.0.borrow_mut()[query.place()] = Some(Kept { query, chosen });
    }
}
