//! Searching for `p` patterns in `h` bytes by `aho-corasick`: a DFA or a contiguous NFA, built and
//! used once. The crate takes a DFA for at most 100 patterns.

use aho_corasick::{AhoCorasickBuilder, AhoCorasickKind};

use crate::Random;
use crate::library::{Candidate, Input, Library, Way};

/// So many bytes of lower-case letters.
#[must_use]
pub fn text(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..length).map(|_| b'a' + random.below(26) as u8).collect()
}

/// `p` patterns of 8 letters.
#[must_use]
pub fn patterns(p: usize, seed: u64) -> Vec<Vec<u8>> {
    text(8 * p, seed).chunks(8).map(<[u8]>::to_vec).collect()
}

/// `h` bytes in which some of the patterns occur.
#[must_use]
pub fn haystack(h: usize, patterns: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut text = text(h, seed);
    for (place, pattern) in text.chunks_mut(512).zip(patterns.iter().cycle()) {
        if let Some(start) = place.get_mut(..pattern.len()) {
            start.copy_from_slice(pattern);
        }
    }
    text
}

fn count(patterns: &[Vec<u8>], haystack: &[u8], kind: AhoCorasickKind) -> usize {
    let automaton = AhoCorasickBuilder::new().kind(Some(kind)).build(patterns);
    automaton.map_or(0, |automaton| automaton.find_iter(haystack).count())
}

/// How many matches there are, by a deterministic automaton.
#[must_use]
pub fn dfa(patterns: &[Vec<u8>], haystack: &[u8]) -> usize {
    count(patterns, haystack, AhoCorasickKind::DFA)
}

/// The same by a non-deterministic one.
#[must_use]
pub fn nfa(patterns: &[Vec<u8>], haystack: &[u8]) -> usize {
    count(patterns, haystack, AhoCorasickKind::ContiguousNFA)
}

/// The library.
pub struct Patterns;

impl Library for Patterns {
    const NAME: &'static str = "patterns";
    const OLD: &'static str = "aho-corasick: DFA up to 100 patterns";
    const INPUTS: &'static [Input] = &[Input::new("p", 1, 2048), Input::new("h", 1024, 1_048_576)];
    const CANDIDATES: &'static [Candidate] = &[Candidate::new("dfa"), Candidate::new("nfa")];
    type Problem = (Vec<Vec<u8>>, Vec<u8>);
    type Answer = usize;

    fn problem(x: &[usize], seed: u64) -> Self::Problem {
        let patterns = patterns(x[0], seed);
        let haystack = haystack(x[1], &patterns, seed ^ 1);
        (patterns, haystack)
    }

    fn solve((patterns, haystack): &mut Self::Problem, way: Way) -> usize {
        if way.candidate == 0 { dfa(patterns, haystack) } else { nfa(patterns, haystack) }
    }

    fn numbers(_: &Self::Problem, matches: &usize) -> Vec<f64> {
        vec![*matches as f64]
    }

    fn old(x: &[usize]) -> Way {
        Way::of(usize::from(x[0] > 100))
    }
}
