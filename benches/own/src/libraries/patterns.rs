//! Searching for `p` patterns in `h` bytes by `aho-corasick`: a DFA or a contiguous NFA, built and
//! used once. The crate takes a DFA for at most 100 patterns.

pub use ::patterns::{dfa, haystack, nfa, patterns};

use crate::library::{Candidate, Input, Library, Way};

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
