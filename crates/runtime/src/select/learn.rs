//! Choices of teams that learn from the times of a program's own calls (`STRATA_LEARN=1`).
//!
//! Node 0 has the [`Learner`]. What it decides about a class of problems, and how long a call took
//! on each of the other nodes, is one word in an exchange that the library makes anyway: a timed
//! call's time travels with the next exchange, and what follows from it with the one after that. All
//! nodes store what node 0 said, and choose by nothing else; they also count the calls of a class
//! alike, and so time the same ones.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use strata_select::{
    Library,
    choice::Outcome,
    learn::{Decided, Learner, Predicted},
};

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

    /// Takes the words of all nodes; `now` is a clock in seconds. Returns the class that node 0
    /// decided about.
    fn heard(&mut self, rank: usize, words: impl Iterator<Item = u64>, now: &dyn Fn() -> f64) -> Option<u64> {
        let mut words = words;
        let verdict = words.next().unwrap_or(0);
        let decided = (verdict != 0).then_some(verdict >> (64 - CLASS_BITS));
        if let Some(class) = decided {
            let candidate = |shift: u32| ((verdict >> shift) as usize & CANDIDATE).checked_sub(1);
            let (best, next) = (candidate(20), candidate(16));
            if let Some(class) = self.classes.get_mut(&class) {
                class.next = next.filter(|_| next != best);
                (class.best, class.interval) = (best, (verdict & 0xFFFF) as u32);
            }
        }
        self.verdict = 0;
        let Some(ended) = self.ended.take().filter(|_| rank == 0) else { return decided };
        let others = words.map(f64::from_bits).filter(|seconds| seconds.is_finite());
        let seconds = others.fold(ended.seconds, f64::max);
        let Ended { class, candidate, calls, predicted, .. } = ended;
        let next = self.learner.learn(class, candidate, (seconds, calls), || predicted, now);
        self.verdict = next.map_or(0, |next| encode(class, next));
        decided
    }

    /// The candidate for a call of a class, of those that can be used, instead of that of the
    /// models; and, if the call is timed, how many calls there were since the last timed one.
    /// `calls` counts this one and those before it that were made without this.
    fn begin(
        &mut self,
        (class, calls): (u64, u32),
        models: usize,
        usable: impl Fn(usize) -> bool,
    ) -> (usize, Option<u32>) {
        let full = self.classes.len() >= Learner::MOST_CLASSES;
        let new = Class { best: None, next: None, interval: 1, since: 0 };
        let known = match self.classes.get_mut(&class) {
            Some(known) => known,
            None if full => return (models, None),
            None => self.classes.entry(class).or_insert(new),
        };
        let wanted = known.next.take().or(known.best).filter(|wanted| usable(*wanted));
        known.since = known.since.saturating_add(calls);
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

/// A node's part where classes are a few numbered places and all candidates can always be used: the
/// most calls of a place are counted, and need nothing else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    team: Team,
    /// By place: how many calls pass from now on, and how many did so at the last look.
    left: Vec<(u16, u16)>,
    /// In how many of the next calls something travels of the last timed one.
    travelling: u8,
}

impl Places {
    /// On node 0: the predictions with which a place begins.
    pub(crate) fn expect(&mut self, place: usize, predicted: Vec<Predicted>) {
        let _ = self.team.learner.decide(place as u64, || predicted);
    }

    /// Counts a call of a place; true if it takes the [usual](Self::usual) candidate, is not timed,
    /// and has no word travel with it. Equal on all nodes, as all that follows.
    #[inline]
    pub(crate) fn passes(&mut self, place: usize) -> bool {
        let Some((left, _)) = self.left.get_mut(place).filter(|_| self.travelling == 0) else { return false };
        let passes = *left > 0;
        *left -= u16::from(passes);
        passes
    }

    /// The candidate for a call that does not pass, where the models choose one; and, if the call is
    /// timed, how many calls there were since the last timed one.
    pub(crate) fn begin(&mut self, place: usize, models: usize) -> (usize, Option<u32>) {
        if self.left.len() <= place {
            self.left.resize(place + 1, (0, 0));
        }
        let (left, before) = self.left[place];
        let class = (place as u64, u32::from(before - left) + 1);
        let begun = self.team.begin(class, models, |_| true);
        let pass = |known: &Class| match known.next {
            Some(_) => 0,
            None => known.interval.saturating_sub(known.since + 1).min(0xFFFF) as u16,
        };
        let pass = self.team.classes.get(&class.0).map_or(0xFFFF, pass);
        self.left[place] = (pass, pass);
        begun
    }

    /// The candidate of calls that pass.
    pub(crate) fn usual(&self, place: usize, models: usize) -> usize {
        self.team.classes.get(&(place as u64)).and_then(|known| known.best).unwrap_or(models)
    }

    /// True if a word travels with this call even if it is not timed.
    pub(crate) fn travels(&self) -> bool {
        self.travelling > 0
    }

    pub(crate) fn word(&self, rank: usize) -> u64 {
        self.team.word(rank)
    }

    /// Takes the words of all nodes that travelled with a call; `now` is a clock in seconds.
    pub(crate) fn heard(&mut self, rank: usize, words: impl Iterator<Item = u64>, now: &dyn Fn() -> f64) {
        let decided = self.team.heard(rank, words, now).map(|class| class as usize);
        if let Some((left, before)) = decided.and_then(|place| self.left.get_mut(place)) {
            // The next call of this place asks for its candidate.
            *before -= *left;
            *left = 0;
        }
        self.travelling = self.travelling.saturating_sub(1);
    }

    /// Takes this node's time of a timed call, one of `calls`: it travels with the next call, and
    /// what node 0 decides with the one after that.
    pub(crate) fn ended(&mut self, place: usize, candidate: usize, calls: u32, seconds: f64) {
        let (class, predicted) = (place as u64, Vec::new());
        self.team.ended = Some(Ended { class, candidate, calls, seconds, predicted });
        self.travelling = 2;
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
        let (index, timed) = team.begin((class, 1), models, |index| of(index).is_some());
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

    /// Calls of a team whose nodes differ in speed, and in what a clock says, of which a reading takes
    /// so long; returns the candidates, how many calls were timed, and in how many a word travelled or
    /// could have. With an odd seed classes are places, as those of collectives.
    fn play(
        seed: u64,
        nodes: usize,
        (calls, reading): (usize, f64),
        seconds: &dyn Fn(usize, usize) -> f64,
    ) -> (Vec<usize>, [usize; 2]) {
        let random = &mut Random(seed);
        let mut teams = vec![Places::default(); nodes];
        let (classes, by_place) = (1 + random.below(3), seed % 2 == 1);
        let time = std::cell::Cell::new(0.0);
        let now = &|| time.replace(time.get() + reading);
        let predicted = [1e-5_f64, 1.1e-5, 3e-5].map(|seconds| Some((seconds.ln(), 0.1))).to_vec();
        if by_place {
            (0..classes).for_each(|class| teams[0].expect(class, predicted.clone()));
        }
        let mut looks = [0; 2];
        let hear = |teams: &mut Vec<Places>| {
            let words: Vec<u64> = teams.iter().enumerate().map(|(rank, team)| team.word(rank)).collect();
            for (rank, team) in teams.iter_mut().enumerate() {
                team.heard(rank, words.iter().copied(), now);
            }
        };
        let taken = (0..calls).map(|call| {
            let class = random.below(classes);
            // Not all candidates can be used for each problem of a class.
            let without = random.below(20);
            if by_place {
                let passed: Vec<bool> = teams.iter_mut().map(|team| team.passes(class)).collect();
                assert!(passed.iter().all(|one| *one == passed[0]), "seed {seed}, call {call}");
                if passed[0] {
                    let usual = teams[0].usual(class, 0);
                    assert!(teams.iter().all(|team| team.usual(class, 0) == usual));
                    return usual;
                }
            } else {
                hear(&mut teams);
            }
            looks[1] += 1;
            let begin = |team: &mut Places| match by_place {
                true => team.begin(class, 0),
                false => team.team.begin((class as u64, 1), 0, |one| one != without),
            };
            let begun: Vec<_> = teams.iter_mut().map(begin).collect();
            assert!(begun.iter().all(|one| *one == begun[0]), "seed {seed}, call {call}: {begun:?}");
            let (candidate, timed) = begun[0];
            looks[0] += usize::from(timed.is_some());
            if by_place && (timed.is_some() || teams[0].travels()) {
                hear(&mut teams);
            }
            assert!(teams.iter().all(|team| team.team.classes == teams[0].team.classes));
            for team in teams.iter_mut().filter(|_| timed.is_some()) {
                let noise = [1.0, 1.0 + 0.2 * random.next(), f64::NAN, -1.0][random.below(100).min(3) % 4];
                let noise = if random.below(50) == 0 { noise } else { 1.0 + 0.1 * random.next() };
                let (calls, seconds) = (timed.unwrap_or(1), seconds(call, candidate) * noise);
                team.ended(class, candidate, calls, seconds);
                team.team.ended.iter_mut().for_each(|ended| ended.predicted.clone_from(&predicted));
            }
            candidate
        });
        (taken.collect(), looks)
    }

    fn agree(schedules: u64) {
        for seed in 0..schedules {
            let nodes = [1, 2, 3, 5, 8][seed as usize % 5];
            play(seed, nodes, (100, 0.0), &|call, candidate| {
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
            let (taken, _) = play(seed, 3, (600, 0.0), &|call, candidate| {
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
    fn calls_of_a_place_pass_but_for_a_few() {
        for seed in [1, 3, 5, 7] {
            let times = [1e-5, 1.1e-5, 3e-5];
            let (taken, [timed, looks]) = play(seed, 4, (20_000, 2.5e-7), &|_, candidate| times[candidate]);
            let spent: f64 = taken.iter().map(|one| times[*one]).sum();
            let lost = spent - 20_000.0 * times[0];
            // Of a timed call two readings, and what the learner takes; of each look 50 ns.
            let cost = timed as f64 * 3.5e-7 + looks as f64 * 5e-8;
            assert!(lost + cost <= 0.005 * spent, "seed {seed}: {timed}, {looks}, {lost:e}");
        }
    }

    #[test]
    fn a_word_says_what_was_put_into_it() {
        let mut team = Team::default();
        let class = (1 << CLASS_BITS) - 1;
        let _ = team.begin((class, 1), 0, |_| true);
        team.heard(1, [encode(class, Decided { best: 14, next: 3, interval: 70_000 })].into_iter(), &|| 0.0);
        let known = team.classes[&class];
        assert_eq!((known.best, known.next, known.interval), (Some(14), Some(3), 0xFFFF));
        assert_eq!(
            team.begin((class, 1), 0, |one| one != 3).0,
            0,
            "what cannot be used is that of the models"
        );
        assert_eq!(team.begin((class, 1), 0, |_| true).0, 14, "another one is tried once");
    }
}
