//! The libraries. Their functions know nothing of Strata.

pub mod fft;
pub mod filter;
pub mod grain;
pub mod hash;
pub mod lookup;
pub mod matmul;
pub mod merge;
pub mod multiply;
pub mod patterns;
pub mod product;
pub mod quick;
pub mod radix;
pub mod sort;
pub mod transpose;

use crate::library::Entry;

/// All libraries: first those of one function with a parameter.
pub const LIBRARIES: [Entry; 14] = [
    Entry::of::<quick::Quick>(),
    Entry::of::<merge::Merge>(),
    Entry::of::<radix::Radix>(),
    Entry::of::<transpose::Transpose>(),
    Entry::of::<matmul::Matmul>(),
    Entry::of::<multiply::Multiply>(),
    Entry::of::<grain::Grain>(),
    Entry::of::<lookup::Lookup>(),
    Entry::of::<filter::Filter>(),
    Entry::of::<patterns::Patterns>(),
    Entry::of::<fft::Fft>(),
    Entry::of::<sort::Sort>(),
    Entry::of::<product::Product>(),
    Entry::of::<hash::Hash>(),
];
