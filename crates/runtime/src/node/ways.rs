//! Whether the run-time does a collective, or the library below it: Open MPI's broadcast, or ours.
//!
//! Both give the same result to the last bit and compare the nodes' calls first, or the library is
//! not asked: short values travel with the calls. The models of the libraries `broadcasts`,
//! `reductions` and `scans` decide, once for each of them and each class of sizes, a quarter of a
//! factor of two; a call then reads one byte of the node. Without models of this machine the
//! run-time does all.
//!
//! All nodes decide alike: before the first decision they compare their models and pins, and later
//! ones follow from these and the length of the call, which is equal on all nodes.
//!
//! With `STRATA_LEARN` the ways of broadcasts and reductions learn. A timed call is timed from the
//! moment when its calls had been compared, so that no node's time is that of waiting for another to
//! come. What a node has to say travels with the calls of later ones. Scans do not learn: where
//! nothing is checked, their calls go no further than their values, so no word comes to all nodes.

use super::Node;
use crate::select::{ALL, Options, Places, SelectError, Selector};
use crate::transport::{Call, Collective, Operation, Scan, Way};
use crate::trees::{Broadcasts, Reductions, Scans};
use bytemuck::{cast_slice, cast_slice_mut};
use std::rc::Rc;
use std::time::Instant;
use strata_select::{
    Library,
    choice::Note,
    learn::{Confidence, Gain, Learner, Predicted},
};

/// Classes of sizes: four in each factor of two, up to 2³² words.
const CLASSES: usize = 4 * 32;

/// The operations of which a library has its own.
#[derive(Clone, Copy)]
enum Choosing {
    Broadcasts,
    Reductions,
    Scans,
}

/// What is known about a class.
#[derive(Clone, Copy, Default, PartialEq)]
enum Taken {
    #[default]
    Unknown,
    OwnWay,
    Library,
}

/// A node's decisions.
pub(super) struct Ways {
    /// The bytes above which a library below the transport is asked, if there is one.
    above: Option<usize>,
    /// What is taken whatever the models say: while candidates are timed, or nodes agree.
    forced: Option<bool>,
    taken: [[Taken; CLASSES]; 3],
    /// The models that the nodes have compared.
    agreed: Option<Agreed>,
    /// What is learned about the ways, if choices learn: the run-time's is candidate 0.
    learning: Option<Box<Places>>,
    /// How many calls took another way than that of the models, to learn of it.
    tried: usize,
}

/// `None`: the nodes' models differ.
type Agreed = Option<(Rc<Selector<Broadcasts>>, Rc<Selector<Reductions>>, Rc<Selector<Scans>>)>;

impl Ways {
    pub(super) fn new(above: Option<usize>, learns: bool) -> Self {
        let learning = (learns && above.is_some()).then(Box::default);
        Self { above, forced: None, taken: [[Taken::Unknown; CLASSES]; 3], agreed: None, learning, tried: 0 }
    }
}

/// The place of a class of an operation among all.
fn place_of(which: Choosing, class: usize) -> usize {
    which as usize * CLASSES + class
}

fn class_of(words: usize) -> usize {
    let words = words.max(1);
    let octave = words.ilog2();
    let quarter = (if octave < 2 { words << (2 - octave) } else { words >> (octave - 2) }) & 3;
    (4 * octave as usize + quarter).min(CLASSES - 1)
}

/// The least number of words of a class.
fn least_of(class: usize) -> usize {
    (4 + class % 4) << (class / 4) >> 2
}

impl Node {
    /// True if a collective in place of so many bytes may have several ways; equal on all nodes.
    #[inline]
    pub(super) fn has_ways(&self, bytes: usize) -> bool {
        self.ways.above.is_some_and(|above| bytes > above)
    }

    /// A collective that [may have several ways](Self::has_ways), in that which is chosen.
    pub(super) fn in_a_way(&mut self, call: Call, operation: Operation, values: &mut [u8]) {
        let which = match operation {
            Operation::Broadcast(_) => Choosing::Broadcasts,
            Operation::Reduce(kind, _) if !kind.is_float() => Choosing::Reductions,
            Operation::Scan(Scan { kind, backward: false, boundary: None, .. }) if !kind.is_float() => {
                Choosing::Scans
            }
            // In rank order, or in segments.
            Operation::Reduce(..) | Operation::Scan(_) | Operation::Barrier => {
                return self.in_this_way(false, call, operation, values);
            }
        };
        if let Some(forced) = self.ways.forced {
            return self.in_this_way(forced, call, operation, values);
        }
        let class = class_of(values.len().div_ceil(8));
        let library = match self.ways.taken[which as usize][class] {
            Taken::Unknown => self.decide(&call, which, class),
            taken => taken == Taken::Library,
        };
        let agreed = &self.ways.agreed;
        let passes = |learning: &mut Box<Places>| {
            // Nothing is learned about what a pin decides, or where the nodes' models differ.
            let learns = match (agreed, which) {
                (Some(Some((broadcasts, ..))), Choosing::Broadcasts) => !broadcasts.is_pinned(),
                (Some(Some((_, reductions, _))), Choosing::Reductions) => !reductions.is_pinned(),
                _ => false,
            };
            !learns || learning.passes(place_of(which, class))
        };
        if self.ways.learning.as_mut().is_none_or(passes) {
            self.in_this_way(library, call, operation, values);
        } else {
            self.in_a_learned_way((which, class, library), call, operation, values);
        }
    }

    #[inline]
    fn in_this_way(&mut self, library: bool, call: Call, operation: Operation, values: &mut [u8]) {
        let way = if library { Way::Library } else { Way::Usual };
        self.transport.collective_by(way, call, Collective::InPlace(operation, values));
    }

    /// A call that is timed, tries another way, or has words of other calls travel with it.
    #[cold]
    #[inline(never)]
    fn in_a_learned_way(
        &mut self,
        (which, class, library): (Choosing, usize, bool),
        call: Call,
        operation: Operation,
        values: &mut [u8],
    ) {
        let Some(mut learning) = self.ways.learning.take() else {
            return self.in_this_way(library, call, operation, values);
        };
        let (rank, place) = (self.rank(), place_of(which, class));
        let (candidate, timed) = learning.begin(place, usize::from(library));
        self.ways.tried += usize::from(candidate != usize::from(library));
        let travels = timed.is_some() || learning.travels();
        if let Some(below) = self.transport.extras().library.filter(|_| travels) {
            below.riding.word = Some(learning.word(rank));
        }
        self.in_this_way(candidate == 1, call, operation, values);
        let ended = Instant::now();
        if let Some(below) = self.transport.extras().library.filter(|_| travels) {
            let riding = below.riding;
            let seconds = riding.met.map_or(0.0, |met| ended.saturating_duration_since(met).as_secs_f64());
            learning.heard(rank, riding.words.drain(..), &|| ended.elapsed().as_secs_f64());
            if let Some(calls) = timed {
                learning.ended(place, candidate, calls, seconds);
            }
        }
        let usual = learning.usual(place, usize::from(library)) == 1;
        self.ways.taken[which as usize][class] = if usual { Taken::Library } else { Taken::OwnWay };
        self.ways.learning = Some(learning);
    }

    #[cold]
    #[inline(never)]
    fn decide(&mut self, call: &Call, which: Choosing, class: usize) -> bool {
        let decided = self.agreed_ways(call).and_then(|agreed| {
            let Some((broadcasts, reductions, scans)) = agreed else { return Ok(false) };
            let place = place_of(which, class);
            match which {
                Choosing::Broadcasts => self.prefers_library(&broadcasts, class, place),
                Choosing::Reductions => self.prefers_library(&reductions, class, place),
                Choosing::Scans => self.prefers_library(&scans, class, place),
            }
        });
        match decided {
            Ok(library) => {
                self.ways.taken[which as usize][class] = if library { Taken::Library } else { Taken::OwnWay };
                library
            }
            Err(error) => self.misuse(call, &error.to_string()),
        }
    }

    fn prefers_library<L: Library>(
        &mut self,
        selector: &Selector<L>,
        class: usize,
        place: usize,
    ) -> Result<bool, SelectError> {
        let words = &[least_of(class) as f64];
        if !selector.decides(true) {
            // Models of another machine say nothing: both are as likely the faster one.
            self.learns_from(place, || vec![Learner::UNKNOWN; 2]);
            return Ok(false);
        }
        // Trees need handlers, and are not for single calls; a pin of them is for streams.
        let names = L::TABLE.entries.iter().enumerate().filter(|(_, entry)| entry.name != "trees");
        let whole = names.fold(0, |bits, (index, _)| bits | 1 << index);
        let applies = if selector.is_pinned() { ALL } else { whole };
        let chosen = self.choose_by(selector, words, applies, None)?;
        let choice = &chosen.choice;
        if choice.pinned {
            return Ok(choice.name == "mpi");
        }
        let predicted = choice.predicted(selector.models().source, self.size(), words);
        let of = |name: &str| L::TABLE.entries.iter().position(|entry| entry.name == name);
        let of = |name: &str| predicted.get(of(name)?).copied().flatten();
        let (own_way, other) = (of("transport"), of("mpi"));
        let gains = Gain::between(own_way, other).is_none_or(|gain| gain.suffices(Confidence::Sure));
        let library = gains && choice.name == "mpi" && matches!(choice.note, None | Some(Note::Nearest));
        self.learns_from(place, || match (own_way, other) {
            // What is not left for a small gain begins as good as the other.
            (Some((log, _)), Some((other, deviation))) if !library => {
                vec![own_way, Some((other.max(log), deviation))]
            }
            _ => vec![own_way, other],
        });
        Ok(library)
    }

    /// On node 0: the predictions with which learning about a place begins.
    fn learns_from(&mut self, place: usize, predicted: impl FnOnce() -> Vec<Predicted>) {
        let rank = self.rank();
        if let Some(learning) = self.ways.learning.as_mut().filter(|_| rank == 0) {
            learning.expect(place, predicted());
        }
    }

    /// The models by which nodes choose ways, compared at the first call, and fitted before if
    /// `STRATA_CALIBRATE` says so. Collective at the first call.
    fn agreed_ways(&mut self, call: &Call) -> Result<Agreed, SelectError> {
        if let Some(agreed) = &self.ways.agreed {
            return Ok(agreed.clone());
        }
        let agreed = self.with_way(false, |node| {
            if !node.inbox.is_in_use() {
                node.calibrate_streams_as_set();
            }
            node.compare_ways(call)
        })?;
        self.ways.agreed = Some(agreed.clone());
        Ok(agreed)
    }

    /// In the name of the program's call, so that calls that differ are found.
    fn compare_ways(&mut self, call: &Call) -> Result<Agreed, SelectError> {
        let options = Options::default().inner();
        loop {
            let (broadcasts, reductions, scans) = (
                self.selector::<Broadcasts>(&options),
                self.selector::<Reductions>(&options),
                self.selector::<Scans>(&options),
            );
            // Even if this node fails, the others wait for its words.
            let words = [
                broadcasts.as_ref().map_or(0, |selector| selector.word()),
                reductions.as_ref().map_or(0, |selector| selector.word()),
                scans.as_ref().map_or(0, |selector| selector.word()),
            ];
            let mut all = vec![[0; 3]; self.size()];
            let (mine, all_bytes) = (cast_slice(&words), cast_slice_mut(&mut all));
            self.transport.collective(*call, Collective::AllGather { mine, all: all_bytes });
            let alike = all.iter().all(|others| *others == words);
            if self.must_compare_again(alike) {
                continue;
            }
            let selectors = (broadcasts?, reductions?, scans?);
            return Ok(alike.then_some(selectors));
        }
    }

    /// Lets the collectives fit themselves now if they are to, as long as nothing else is timed.
    pub(crate) fn settle_ways(&mut self, call: &Call) {
        let settled = self.ways.agreed.is_some() || self.ways.forced.is_some();
        if self.ways.above.is_none() || !self.calibrates() || settled {
            return;
        }
        // Others may still wait for this node to receive; what follows waits in MPI.
        self.come_together(call);
        if let Err(error) = self.agreed_ways(call) {
            self.misuse(call, &error.to_string());
        }
    }

    /// Decides anew, by other models. Collective.
    pub(crate) fn forget_ways(&mut self) {
        self.ways.taken = [[Taken::Unknown; CLASSES]; 3];
        self.ways.agreed = None;
        self.ways.learning = self.ways.learning.take().map(|_| Box::default());
    }

    /// Runs `f`, with all collectives that the library can do done by it, or none. Collective.
    pub(crate) fn with_way<T>(&mut self, library: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.ways.forced.replace(library);
        let result = f(self);
        self.ways.forced = before;
        result
    }

    /// True if there is a library below the transport.
    pub(crate) fn has_library(&self) -> bool {
        self.ways.above.is_some()
    }

    /// How many collectives of this program were done in another way than that of the models, to learn
    /// whether it is faster: for tests.
    #[doc(hidden)]
    pub fn tried_ways(&self) -> usize {
        self.ways.tried
    }

    /// True if waiting nodes receive messages.
    pub(crate) fn is_receiving(&self) -> bool {
        self.inbox.is_in_use()
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, class_of, least_of};

    #[test]
    fn a_class_begins_with_its_least_size() {
        let mut last = 0;
        for words in 1..100_000 {
            let class = class_of(words);
            assert!(class >= last && least_of(class) <= words, "{words}");
            assert_eq!(class_of(least_of(class)), class, "{words}");
            last = class;
        }
        assert_eq!((class_of(0), class_of(usize::MAX)), (0, CLASSES - 1));
    }
}
