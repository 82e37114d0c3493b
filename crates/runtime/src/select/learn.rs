//! Choices of teams that learn from the times of a program's own calls (`STRATA_LEARN=1`).
//!
//! Node 0 has the [`Learner`]. What it decides about a class of problems, and how long a call took
//! on each of the other nodes, is one word in an exchange that the library makes anyway: a timed
//! call's time travels with the next exchange, and what follows from it with the one after that. All
//! nodes store what node 0 said, and choose by nothing else; they also count the calls of a class
//! alike, and so time the same ones.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use strata_select::{Decided, Learner, Library, Outcome, Predicted};

use super::{Chosen, Selector};
use crate::Node;

/// The bits of a class in a word; below them are the candidates and the interval.
const CLASS_BITS: u32 = 40;

/// A word has four bits for a candidate, or for none.
const CANDIDATE: usize = 15;
const _: () = assert!(Learner::MOST_CANDIDATES <= CANDIDATE);

/// What node 0 said last about a class, and the calls since then.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Class {
    /// The candidate to use; `None`: that of the models.
    best: Option<usize>,
    /// Another one for the next call alone.
    next: Option<usize>,
    /// After how many calls the next one is timed.
    interval: u32,
    since: u32,
}

/// A timed call that the team does not know of yet.
#[derive(Clone, Debug)]
struct Ended {
    class: u64,
    candidate: usize,
    calls: u32,
    seconds: f64,
    /// On node 0, for a new class.
    predicted: Vec<Predicted>,
}

/// A node's part in what its team learns about a library.
#[derive(Clone, Debug, Default)]
struct Team {
    classes: BTreeMap<u64, Class>,
    ended: Option<Ended>,
    /// On node 0.
    learner: Learner,
    /// On node 0: its word for the next exchange.
    verdict: u64,
}

/// Node 0's word about a class: the candidates plus one, and the interval.
fn encode(class: u64, Decided { best, next, interval }: Decided) -> u64 {
    let small = |candidate: usize| (candidate as u64 + 1) & (CANDIDATE as u64);
    class << (64 - CLASS_BITS) | small(best) << 20 | small(next) << 16 | u64::from(interval.clamp(1, 0xFFFF))
}

impl Team {
    /// The word that this node adds to the exchange.
    fn word(&self, rank: usize) -> u64 {
        match (rank, &self.ended) {
            (0, _) => self.verdict,
            (_, Some(ended)) => ended.seconds.to_bits(),
            (_, None) => 0,
        }
    }

    /// Takes the words of all nodes; `now` is a clock in seconds.
    fn heard(&mut self, rank: usize, words: impl Iterator<Item = u64>, now: &dyn Fn() -> f64) {
        let mut words = words;
        let verdict = words.next().unwrap_or(0);
        if verdict != 0 {
            let candidate = |shift: u32| ((verdict >> shift) as usize & CANDIDATE).checked_sub(1);
            let (best, next) = (candidate(20), candidate(16));
            if let Some(class) = self.classes.get_mut(&(verdict >> (64 - CLASS_BITS))) {
                class.next = next.filter(|_| next != best);
                (class.best, class.interval) = (best, (verdict & 0xFFFF) as u32);
            }
        }
        self.verdict = 0;
        let Some(ended) = self.ended.take().filter(|_| rank == 0) else { return };
        let others = words.map(f64::from_bits).filter(|seconds| seconds.is_finite());
        let seconds = others.fold(ended.seconds, f64::max);
        let Ended { class, candidate, calls, predicted, .. } = ended;
        let decided = self.learner.learn(class, candidate, (seconds, calls), || predicted, now);
        self.verdict = decided.map_or(0, |decided| encode(class, decided));
    }

    /// The candidate for a call of a class, of those that can be used, instead of that of the
    /// models; and, if the call is timed, how many calls there were since the last timed one.
    fn begin(&mut self, class: u64, models: usize, usable: impl Fn(usize) -> bool) -> (usize, Option<u32>) {
        let full = self.classes.len() >= Learner::MOST_CLASSES;
        let new = Class { best: None, next: None, interval: 1, since: 0 };
        let known = match self.classes.get_mut(&class) {
            Some(known) => known,
            None if full => return (models, None),
            None => self.classes.entry(class).or_insert(new),
        };
        let wanted = known.next.take().or(known.best).filter(|wanted| usable(*wanted));
        known.since += 1;
        let timed = known.since >= known.interval;
        let calls = known.since;
        if timed {
            known.since = 0;
            // Until node 0 decides about the class, each interval is twice the one before.
            known.interval = (2 * known.interval).min(0xFFFF);
        }
        (wanted.unwrap_or(models), timed.then_some(calls))
    }
}

/// A node's part for one library.
struct TeamOf<L: Library>(Team, PhantomData<L>);

impl<L: Library> Default for TeamOf<L> {
    fn default() -> Self {
        Self(Team::default(), PhantomData)
    }
}

impl Node {
    /// What this node adds to an exchange of words among all nodes, which the library makes before
    /// each choice, if choices [learn](Self::learns): one word. All words go to
    /// [`heard`](Self::heard).
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn word_of<L: Library>(&mut self) -> u64 {
        let rank = self.rank();
        self.local::<TeamOf<L>>().0.word(rank)
    }

    /// Takes the [words](Self::word_of) of all nodes, in the order of their ranks.
    ///
    /// # Participation
    /// Local, with equal words.
    pub fn heard<L: Library>(&mut self, words: impl Iterator<Item = u64>) {
        let rank = self.rank();
        let mut team = std::mem::take(&mut self.local::<TeamOf<L>>().0);
        team.heard(rank, words, &|| self.now().get());
        self.local::<TeamOf<L>>().0 = team;
    }

    /// Calls `run` with the candidate that was learned for problems of this class, if choices
    /// [learn](Self::learns), otherwise with the chosen one; takes the time of some calls. `class` gives
    /// a number for problems that should have the same candidate; `inputs` are those of the choice.
    /// Libraries of more than 15 candidates do not learn.
    ///
    /// # Participation
    /// Local: the candidate is equal on all nodes that took the same words and chose alike. All
    /// nodes make the same calls.
    pub fn run_learned<L: Library, R>(
        &mut self,
        selector: &Selector<L>,
        inputs: &[f64],
        class: impl FnOnce() -> u64,
        chosen: &Chosen<L>,
        run: impl FnOnce(&mut Self, L) -> R,
    ) -> R {
        // A word has room for so many candidates.
        let fits = L::TABLE.entries.len() <= Learner::MOST_CANDIDATES;
        if !self.learns() || chosen.choice.pinned || !fits {
            return run(self, chosen.candidate);
        }
        let class = class().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - CLASS_BITS);
        let of = |index: usize| match chosen.choice.outcomes().nth(index)?.1 {
            Outcome::Taken => Some(chosen.candidate),
            Outcome::Slower(_, parameters) => L::candidate(index, &parameters),
            _ => None,
        };
        let models = chosen.choice.index;
        let team = &mut self.local::<TeamOf<L>>().0;
        let (index, timed) = team.begin(class, models, |index| of(index).is_some());
        let candidate = of(index).unwrap_or(chosen.candidate);
        let Some(calls) = timed else { return run(self, candidate) };
        let start = self.now().get();
        let result = run(self, candidate);
        let seconds = self.now().get() - start;
        let is_new = self.rank() == 0 && self.local::<TeamOf<L>>().0.learner.best(class).is_none();
        let predicted = match is_new {
            true => chosen.choice.predicted(selector.models.source, self.size(), inputs),
            false => Vec::new(),
        };
        self.local::<TeamOf<L>>().0.ended =
            Some(Ended { class, candidate: index, calls, seconds, predicted });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 0 to 1, the same in every run.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn below(&mut self, limit: usize) -> usize {
            (self.next() * limit as f64) as usize
        }
    }

    /// Calls of a team whose nodes differ in speed, and in what a clock says; returns the candidates.
    fn play(seed: u64, nodes: usize, calls: usize, seconds: &dyn Fn(usize, usize) -> f64) -> Vec<usize> {
        let random = &mut Random(seed);
        let mut teams = vec![Team::default(); nodes];
        let classes = 1 + random.below(3);
        let taken = (0..calls).map(|call| {
            let words: Vec<u64> = teams.iter().enumerate().map(|(rank, team)| team.word(rank)).collect();
            let now = &|| 0.0;
            teams
                .iter_mut()
                .enumerate()
                .for_each(|(rank, team)| team.heard(rank, words.iter().copied(), now));
            let class = random.below(classes) as u64;
            // Not all candidates can be used for each problem of a class.
            let without = random.below(20);
            let begun: Vec<_> =
                teams.iter_mut().map(|team| team.begin(class, 0, |one| one != without)).collect();
            assert!(begun.iter().all(|one| *one == begun[0]), "seed {seed}, call {call}: {begun:?}");
            assert!(teams.iter().all(|team| team.classes == teams[0].classes));
            let (candidate, timed) = begun[0];
            for team in teams.iter_mut().filter(|_| timed.is_some()) {
                let noise = [1.0, 1.0 + 0.2 * random.next(), f64::NAN, -1.0][random.below(100).min(3) % 4];
                let noise = if random.below(50) == 0 { noise } else { 1.0 + 0.1 * random.next() };
                let predicted = [1e-5_f64, 1.1e-5, 3e-5].map(|seconds| Some((seconds.ln(), 0.1))).to_vec();
                let (calls, seconds) = (timed.unwrap_or(1), seconds(call, candidate) * noise);
                team.ended = Some(Ended { class, candidate, calls, seconds, predicted });
            }
            candidate
        });
        taken.collect()
    }

    fn agree(schedules: u64) {
        for seed in 0..schedules {
            let nodes = [1, 2, 3, 5, 8][seed as usize % 5];
            play(seed, nodes, 100, &|call, candidate| {
                [1e-5, 1.1e-5, 3e-5][candidate] * if candidate == 0 && call > 40 { 1.5 } else { 1.0 }
            });
        }
    }

    #[test]
    fn nodes_agree_whatever_their_clocks_say() {
        agree(300);
    }

    #[test]
    #[ignore = "long"]
    fn nodes_agree_in_ten_thousand_schedules() {
        agree(10_000);
    }

    #[test]
    fn a_candidate_that_slows_down_is_left() {
        for seed in 0..20 {
            let taken = play(seed, 3, 600, &|call, candidate| {
                [1e-5, 1.1e-5, 3e-5][candidate] * if candidate == 0 && call >= 300 { 1.5 } else { 1.0 }
            });
            let share = |calls: &[usize], of| {
                calls.iter().filter(|one| **one == of).count() as f64 / calls.len() as f64
            };
            assert!(share(&taken[..300], 0) > 0.9, "{taken:?}");
            assert!(share(&taken[500..], 1) > 0.8, "seed {seed}: {taken:?}");
        }
    }

    #[test]
    fn a_word_says_what_was_put_into_it() {
        let mut team = Team::default();
        let class = (1 << CLASS_BITS) - 1;
        let _ = team.begin(class, 0, |_| true);
        team.heard(1, [encode(class, Decided { best: 14, next: 3, interval: 70_000 })].into_iter(), &|| 0.0);
        let known = team.classes[&class];
        assert_eq!((known.best, known.next, known.interval), (Some(14), Some(3), 0xFFFF));
        assert_eq!(team.begin(class, 0, |one| one != 3).0, 0, "what cannot be used is that of the models");
        assert_eq!(team.begin(class, 0, |_| true).0, 14, "another one is tried once");
    }
}
