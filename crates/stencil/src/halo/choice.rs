//! The choice of the way in which a halo is exchanged.

use strata_runtime::Node;
use strata_runtime::select::{ALL, Selector};
use strata_select::choice::Note;

use super::HaloExchange;
use super::region::Region;
use super::shape::Shape;
use crate::exchange::{Phases, SENT};
use crate::{
    Way,
    halo::{HaloChoice, HaloError},
};

impl Way {
    /// The variant of a candidate for a program's own arrays.
    pub(crate) fn of_arrays(candidate: HaloExchange) -> Self {
        match candidate {
            HaloExchange::Packed => Self::Packed,
            HaloExchange::Stored => Self::Stored,
            HaloExchange::Persistent => Self::Persistent,
            HaloExchange::Typed => Self::Typed,
        }
    }
}

/// A way, and why it is taken.
pub(super) struct Taken {
    pub(super) way: Way,
    /// The choice by models or a pin.
    pub(super) choice: Option<HaloChoice>,
    /// A reason besides the choice, or without one.
    pub(super) reason: &'static str,
}

/// What a node sends to others in an exchange; of several nodes the largest of each number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    /// Messages, one for each side.
    messages: usize,
    bytes: usize,
    /// Contiguous pieces of the fields.
    rows: usize,
    /// Bytes of the longest message.
    longest: usize,
}

/// Number of words of a [`Traffic`].
pub(super) const WORDS: usize = 4;

impl Traffic {
    pub(super) fn new(shape: &Shape, phases: &Phases<Region>, rank: usize) -> Self {
        let areas = phases.iter().flatten().filter(|link| link.to != rank).map(|link| &link.areas[SENT]);
        areas.filter(|area| area.count() > 0).fold(Self::default(), |sum, area| {
            let bytes = area.count().saturating_mul(shape.fields).saturating_mul(shape.element);
            Self {
                messages: sum.messages + 1,
                bytes: sum.bytes.saturating_add(bytes),
                rows: sum.rows.saturating_add(area.repetitions().saturating_mul(shape.fields)),
                longest: sum.longest.max(bytes),
            }
        })
    }

    /// As words, to be gathered; [`largest`](Self::largest) reads them.
    pub(super) fn words(self) -> [u64; WORDS] {
        [self.messages, self.bytes, self.rows, self.longest].map(|number| number as u64)
    }

    /// The largest number of each kind that any node has.
    pub(super) fn largest<'a>(all: impl Iterator<Item = &'a [u64]>) -> Self {
        all.fold(Self::default(), |most, words| {
            let number = |at: usize| usize::try_from(words[at]).unwrap_or(usize::MAX);
            Self {
                messages: most.messages.max(number(0)),
                bytes: most.bytes.max(number(1)),
                rows: most.rows.max(number(2)),
                longest: most.longest.max(number(3)),
            }
        })
    }
}

impl Taken {
    fn packed(reason: &'static str) -> Self {
        Self { way: Way::Packed, choice: None, reason }
    }

    /// The way given by the program, or the one that a pin or models of this machine prefer; equal
    /// on all nodes for equal arguments. `traffic`: the largest of all nodes.
    pub(super) fn new(
        node: &mut Node,
        selector: &Selector<HaloExchange>,
        given: Option<Way>,
        fields: usize,
        traffic: Traffic,
    ) -> Result<Self, HaloError> {
        let Traffic { messages, bytes, rows, longest } = traffic;
        let prepared = |way| matches!(way, Way::Persistent | Way::Typed);
        let too_long = longest > strata_runtime::memory::LONGEST_PREPARED;
        match given {
            Some(way) if prepared(way) && too_long => return Ok(Self::packed(TOO_LONG)),
            Some(way) => return Ok(Self { way, choice: None, reason: "given by the program" }),
            None if !selector.decides(messages > 0) => {
                return Ok(Self::packed(if messages > 0 { ELSEWHERE } else { ALONE }));
            }
            None => {}
        }
        // A pin decides without messages, too.
        let [messages, fields, bytes, pieces] = [messages, fields, bytes, rows].map(|n| n.max(1) as f64);
        let (rows, row) = (pieces / (messages * fields), (bytes / pieces).max(SHORTEST_ROW));
        // Packed halos have models if any way has.
        let measured =
            selector.models().source.seconds(0, node.size(), &[messages, fields, rows, row], &[]).is_some();
        let most_rows = (LONGEST_MESSAGE / (fields * row)).floor().max(1.0);
        let (inputs, note) = ([messages, fields, rows.min(most_rows), row], Note::Nearest);
        let chosen = node.choose_by::<HaloExchange>(selector, &inputs, ALL, (!measured).then_some(note))?;
        let choice = *chosen.choice;
        match Way::of_arrays(chosen.candidate) {
            way if prepared(way) && too_long => Ok(Self::packed(TOO_LONG)),
            // Long puts may stall (as solvers take packed halos there); prepared messages do not.
            way if !(measured || choice.pinned || prepared(way)) => Ok(Self::packed(OUTSIDE)),
            way => Ok(Self { way, choice: Some(choice), reason: "" }),
        }
    }

    /// In place of datatypes, which need pieces of memory, persistent requests.
    pub(super) fn without_pieces(mut self) -> Self {
        if self.way == Way::Typed {
            self.way = Way::Persistent;
            self.reason = "in place of datatypes persistent requests: fields are views";
        }
        self
    }
}

/// The bytes of a row and of a message from and up to which `specs/stencil/halo` measures: shorter
/// rows count as these, longer messages are ranked as these.
const SHORTEST_ROW: f64 = 8.0;
const LONGEST_MESSAGE: f64 = (1 << 20) as f64;

const TOO_LONG: &str = "messages of more than 1 GiB are not prepared";
const ALONE: &str = "no node has another one as its neighbour";
const OUTSIDE: &str = "outside the range of the models";
const ELSEWHERE: &str = "no models of this machine; specc calibrate makes them";

#[cfg(test)]
mod tests {
    use super::super::shape::Axis;
    use super::*;

    #[test]
    fn what_is_sent_is_counted_by_messages_bytes_and_rows() {
        let axis = |place, extent, neighbours| Axis { extent, widths: [2, 1], neighbours, place };
        let axes =
            vec![axis(0, 6, [Some(1), None]), axis(1, 5, [Some(0); 2]), axis(2, 4, [Some(2), Some(3)])];
        let shape = Shape { axes, fields: 3, element: 8, corners: false };
        let traffic = Traffic::new(&shape, &shape.phases(&[56, 7, 1], 2 * 56 + 2 * 7 + 2), 0);
        // To node 1 five rows of 4; to nodes 2 and 3 30 rows of 1 and of 2. Node 0 is this node.
        let expected = Traffic { messages: 3, bytes: 110 * 24, rows: 65 * 3, longest: 60 * 24 };
        assert_eq!(traffic, expected);
        let other = Traffic { messages: 1, bytes: 1 << 40, rows: 3, longest: 1 << 40 };
        let words = [traffic, other].map(Traffic::words);
        let largest = Traffic::largest(words.iter().map(|words| &words[..]));
        assert_eq!(largest, Traffic { messages: 3, bytes: 1 << 40, rows: 195, longest: 1 << 40 });
    }
}
