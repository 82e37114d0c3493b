//! Searching for many patterns at once by the crate `aho-corasick`, which offers two automata: a
//! DFA searches fast and is slow to build, an NFA the reverse.

mod models;

use aho_corasick::{AhoCorasickBuilder, AhoCorasickKind};
use models::{Patterns, PatternsInput};

fn count(patterns: &[Vec<u8>], haystack: &[u8], kind: Option<AhoCorasickKind>) -> usize {
    let automaton = AhoCorasickBuilder::new().kind(kind).build(patterns);
    automaton.map_or(0, |automaton| automaton.find_iter(haystack).count())
}

/// How many matches there are, by a deterministic automaton.
pub fn dfa(patterns: &[Vec<u8>], haystack: &[u8]) -> usize {
    count(patterns, haystack, Some(AhoCorasickKind::DFA))
}

/// The same by a contiguous non-deterministic automaton.
pub fn nfa(patterns: &[Vec<u8>], haystack: &[u8]) -> usize {
    count(patterns, haystack, Some(AhoCorasickKind::ContiguousNFA))
}

/// The same by the crate's own rule: a DFA for at most 100 patterns.
pub fn by_the_crates_rule(patterns: &[Vec<u8>], haystack: &[u8]) -> usize {
    count(patterns, haystack, None)
}

/// The same by the automaton that models predict to be faster.
pub fn search(patterns: &[Vec<u8>], haystack: &[u8]) -> usize {
    match Patterns::choose(PatternsInput { p: patterns.len(), h: haystack.len() }) {
        Patterns::Dfa => dfa(patterns, haystack),
        Patterns::Nfa => nfa(patterns, haystack),
    }
}

/// So many lower-case letters, others for each `seed`.
fn text(length: usize, mut seed: u64) -> Vec<u8> {
    // SplitMix64 of Steele, Lea and Flood (2014).
    let mut next = || {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    (0..length).map(|_| b'a' + (next() % 26) as u8).collect()
}

/// `p` patterns of 8 letters.
pub fn patterns(p: usize, seed: u64) -> Vec<Vec<u8>> {
    text(8 * p, seed).chunks(8).map(<[u8]>::to_vec).collect()
}

/// `h` bytes in which some of the patterns occur.
pub fn haystack(h: usize, patterns: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut text = text(h, seed);
    for (place, pattern) in text.chunks_mut(512).zip(patterns.iter().cycle()) {
        if let Some(start) = place.get_mut(..pattern.len()) {
            start.copy_from_slice(pattern);
        }
    }
    text
}
