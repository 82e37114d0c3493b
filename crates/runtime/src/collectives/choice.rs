//! Whether the run-time does a collective, or the library below it: Open MPI's broadcast, or ours.
//!
//! Both give the same result to the last bit, and find calls that differ. The models of the
//! libraries `broadcasts`, `reductions` and `scans` decide, once for each of them and each class of
//! sizes, a quarter of a factor of two; a call then reads one byte of the node. Without models of
//! this machine the run-time does all.
//!
//! All nodes decide alike: before the first decision they compare their models and pins, and later
//! ones follow from these and the length of the call, which is equal on all nodes.
//!
//! With `STRATA_LEARN` the choices of broadcasts and reductions learn. A call is timed from when the
//! nodes' calls have been compared, which excludes the wait for a late node. Timings are piggybacked
//! on later calls. Scans do not learn: their messages do not reach all nodes, so there is nothing to
//! piggyback on.

use super::trees::{Broadcasts, Reductions, Scans};
use crate::node::Node;
use crate::select::{ALL, Options, Places, SelectError, Selector};
use crate::transport::{Call, Collective, Operation, Scan, Way};
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

/// Who does the collectives of a class.
#[derive(Clone, Copy, PartialEq)]
enum Decision {
    Unknown,
    RunTime,
    Library,
}

/// A node's decisions.
struct CollectiveChoice {
    /// True while the library does all that it can, false while it does nothing: for timings.
    forced: Option<bool>,
    taken: [[Decision; CLASSES]; 3],
    /// The models that the nodes have compared.
    agreed: Option<Agreed>,
    /// What is learned, if choices learn: the run-time is candidate 0.
    learning: Option<Box<Places>>,
    /// How many calls were done otherwise than the models say, to learn of it.
    tried: usize,
}

/// `None`: the nodes' models differ.
type Agreed = Option<(Rc<Selector<Broadcasts>>, Rc<Selector<Reductions>>, Rc<Selector<Scans>>)>;

impl Default for CollectiveChoice {
    fn default() -> Self {
        Self {
            forced: None,
            taken: [[Decision::Unknown; CLASSES]; 3],
            agreed: None,
            learning: None,
            tried: 0,
        }
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
    /// A collective of more bytes than `library_above`, done by the run-time or by the library.
    pub(super) fn run_chosen(&mut self, call: Call, operation: Operation, values: &mut [u8]) {
        let which = match operation {
            Operation::Broadcast(_) => Choosing::Broadcasts,
            Operation::Reduce(kind, _) if !kind.is_float() => Choosing::Reductions,
            Operation::Scan(Scan { kind, backward: false, boundary: None, .. }) if !kind.is_float() => {
                Choosing::Scans
            }
            // In rank order, or in segments.
            Operation::Reduce(..) | Operation::Scan(_) | Operation::Barrier => {
                return self.run_by(false, call, operation, values);
            }
        };
        let class = class_of(values.len().div_ceil(8));
        let mut choice = self.local::<CollectiveChoice>();
        if let Some(forced) = choice.forced {
            return self.run_by(forced, call, operation, values);
        }
        if choice.taken[which as usize][class] == Decision::Unknown {
            self.decide(&call, which, class);
            choice = self.local();
        }
        let CollectiveChoice { taken, agreed, learning, .. } = choice;
        let library = taken[which as usize][class] == Decision::Library;
        let passes = |learning: &mut Box<Places>| {
            // Nothing is learned about what a pin decides, or where the nodes' models differ.
            let learns = match (agreed, which) {
                (Some(Some((broadcasts, ..))), Choosing::Broadcasts) => !broadcasts.is_pinned(),
                (Some(Some((_, reductions, _))), Choosing::Reductions) => !reductions.is_pinned(),
                _ => false,
            };
            !learns || learning.passes(place_of(which, class))
        };
        if learning.as_mut().is_none_or(passes) {
            self.run_by(library, call, operation, values);
        } else {
            self.run_learning((which, class, library), call, operation, values);
        }
    }

    #[inline]
    fn run_by(&mut self, library: bool, call: Call, operation: Operation, values: &mut [u8]) {
        let way = if library { Way::Library } else { Way::Usual };
        self.transport.collective_by(way, call, Collective::InPlace(operation, values));
    }

    /// A call that is timed, tries the other candidate, or carries the timings of others.
    #[cold]
    #[inline(never)]
    fn run_learning(
        &mut self,
        (which, class, library): (Choosing, usize, bool),
        call: Call,
        operation: Operation,
        values: &mut [u8],
    ) {
        let choice = self.local::<CollectiveChoice>();
        let Some(mut learning) = choice.learning.take() else {
            return self.run_by(library, call, operation, values);
        };
        let place = place_of(which, class);
        let (candidate, timed) = learning.begin(place, usize::from(library));
        choice.tried += usize::from(candidate != usize::from(library));
        let rank = self.rank();
        let travels = timed.is_some() || learning.travels();
        if let Some(below) = self.transport.extras().library.filter(|_| travels) {
            below.piggyback.word = Some(learning.word(rank));
        }
        self.run_by(candidate == 1, call, operation, values);
        let ended = Instant::now();
        if let Some(below) = self.transport.extras().library.filter(|_| travels) {
            let piggyback = below.piggyback;
            let seconds = piggyback.met.map_or(0.0, |met| ended.saturating_duration_since(met).as_secs_f64());
            learning.heard(rank, piggyback.words.drain(..), &|| ended.elapsed().as_secs_f64());
            if let Some(calls) = timed {
                learning.ended(place, candidate, calls, seconds);
            }
        }
        let usual = learning.usual(place, usize::from(library)) == 1;
        let choice = self.local::<CollectiveChoice>();
        choice.taken[which as usize][class] = if usual { Decision::Library } else { Decision::RunTime };
        choice.learning = Some(learning);
    }

    #[cold]
    #[inline(never)]
    fn decide(&mut self, call: &Call, which: Choosing, class: usize) {
        let decided = self.agreed_models(call).and_then(|agreed| {
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
                let taken = if library { Decision::Library } else { Decision::RunTime };
                self.local::<CollectiveChoice>().taken[which as usize][class] = taken;
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
        // Compiled-in models are older than the run-time's own way.
        let own = self.transport.extras().library.map_or(0, |below| below.own);
        if 8 * least_of(class) <= own && selector.models().file.is_none() && !self.learns() {
            return Ok(false);
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
        if let Some(learning) = self.local::<CollectiveChoice>().learning.as_mut().filter(|_| rank == 0) {
            learning.expect(place, predicted());
        }
    }

    /// The models by which nodes choose, compared at the first call, and fitted before if
    /// `STRATA_CALIBRATE` says so. Collective at the first call.
    fn agreed_models(&mut self, call: &Call) -> Result<Agreed, SelectError> {
        if let Some(agreed) = &self.local::<CollectiveChoice>().agreed {
            return Ok(agreed.clone());
        }
        let agreed = self.with_library(false, |node| {
            if !node.is_receiving() {
                node.calibrate_streams_as_set();
            }
            node.compare_models(call)
        })?;
        // Calls are timed by the host's clock, which is not that of a simulated job.
        let learns = self.learns() && !self.is_simulated();
        let choice = self.local::<CollectiveChoice>();
        choice.learning = learns.then(Box::default);
        choice.agreed = Some(agreed.clone());
        Ok(agreed)
    }

    /// In the name of the program's call, so that calls that differ are found.
    fn compare_models(&mut self, call: &Call) -> Result<Agreed, SelectError> {
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
    pub(crate) fn settle_choices(&mut self, call: &Call) {
        if self.library_above.is_none() || !self.calibrates() {
            return;
        }
        let CollectiveChoice { agreed, forced, .. } = self.local();
        if agreed.is_some() || forced.is_some() {
            return;
        }
        // Others may still wait for this node to receive; what follows waits in MPI.
        self.come_together(call);
        if let Err(error) = self.agreed_models(call) {
            self.misuse(call, &error.to_string());
        }
    }

    /// Decides anew, by other models. Collective.
    pub(crate) fn forget_choices(&mut self) {
        let choice = self.local::<CollectiveChoice>();
        let (forced, tried) = (choice.forced, choice.tried);
        *choice = CollectiveChoice { forced, tried, ..CollectiveChoice::default() };
    }

    /// Runs `f`, with all collectives that the library can do done by it, or none. Collective.
    pub(crate) fn with_library<T>(&mut self, library: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.local::<CollectiveChoice>().forced.replace(library);
        let result = f(self);
        self.local::<CollectiveChoice>().forced = before;
        result
    }

    /// How many collectives of this program were done otherwise than the models say, to
    /// learn whether that is faster: for tests.
    #[doc(hidden)]
    pub fn tried_choices(&mut self) -> usize {
        self.local::<CollectiveChoice>().tried
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
