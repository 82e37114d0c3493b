//! Searching for `p` patterns in `h` bytes by `aho-corasick`: a DFA or a contiguous NFA, built and
//! used once. The crate takes a DFA for at most 100 patterns.

pub use ::patterns::{dfa, haystack, nfa, patterns};

