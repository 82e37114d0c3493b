//! The exchange of halos by messages that the transport has prepared, if it can: MPI's persistent
//! requests and derived datatypes.

use strata_runtime::{Node, Prepared, PreparedPieces, Repeated, RepeatedPieces};

use crate::exchange::{incoming, moving, outgoing};
use crate::points::{Area, Points};
use crate::{Side, Value, Way};

/// A side and the node beyond it.
type Link = (Side, usize);

/// The messages of one phase of an exchange.
enum Phase<T> {
    /// Packed into separate memory; with the areas sent and received.
    Persistent(Prepared<T>, [Vec<Area>; 2]),
    /// Sent from and received into the arrays directly.
    Typed(PreparedPieces<T>),
}

/// The messages of all exchanges, by turn and phase; `None` for a phase without messages.
pub(crate) struct Requests<T>([Vec<Option<Phase<T>>>; 2]);

impl<T: Value> Requests<T> {
    /// Prepares messages to and from the nodes beyond `links`: one phase for each group of sides,
    /// with exchanges of the colours in `colours` in turn. `None` for variants that need no
    /// messages, and if the transport has none.
    pub(crate) fn new(
        node: &mut Node,
        part: &dyn Points<T>,
        way: Way,
        links: &[Link],
        phases: &[&[Side]],
        colours: [Option<usize>; 2],
    ) -> Option<Self> {
        if !matches!(way, Way::Persistent | Way::Typed) || node.prepare::<T>(&[], &[]).is_none() {
            return None;
        }
        Some(Self([0, 1].map(|turn| {
            let of = |sides: &&[Side]| {
                let links: Vec<Link> =
                    links.iter().copied().filter(|(side, _)| sides.contains(side)).collect();
                phase(node, part, way, &links, turn, colours[turn])
            };
            phases.iter().map(of).collect()
        })))
    }

    /// Sends and receives, or only packs and starts the messages.
    pub(crate) fn start(
        &mut self,
        node: &mut Node,
        part: &dyn Points<T>,
        [turn, phase]: [usize; 2],
        colour: Option<usize>,
    ) {
        if let Some(Phase::Persistent(messages, [sends, _])) = &mut self.0[turn][phase] {
            for (index, area) in sends.iter().enumerate() {
                let into = messages.outgoing(index);
                moving(node, area, into.len(), || part.pack(area, colour, into));
            }
            node.start_prepared(messages);
        }
    }

    /// Waits until all messages have arrived, and copies them into the halo.
    pub(crate) fn finish(
        &mut self,
        node: &mut Node,
        part: &mut dyn Points<T>,
        [turn, phase]: [usize; 2],
        colour: Option<usize>,
    ) {
        match &mut self.0[turn][phase] {
            Some(Phase::Persistent(messages, [_, receives])) => {
                node.complete_prepared(messages);
                for (index, area) in receives.iter().enumerate() {
                    let from = messages.incoming(index);
                    moving(node, area, from.len(), || part.unpack(area, colour, from));
                }
            }
            Some(Phase::Typed(messages)) => node.exchange_pieces(messages, part.memory()),
            None => {}
        }
    }
}

/// The messages of one phase, if there are any.
fn phase<T: Value>(
    node: &mut Node,
    part: &dyn Points<T>,
    way: Way,
    links: &[Link],
    turn: usize,
    colour: Option<usize>,
) -> Option<Phase<T>> {
    // A message has the number of the side at which it arrives.
    let number = |side: Side| 4 * turn + side as usize;
    let sends = links.iter().map(|(side, to)| (number(side.opposite()), *to, outgoing(part, *side)));
    let receives = links.iter().map(|(side, from)| (number(*side), *from, incoming(part, *side)));
    let some = |(_, _, area): &(usize, usize, Area)| part.count(area, colour) > 0;
    let sends: Vec<(usize, usize, Area)> = sends.filter(some).collect();
    let receives: Vec<(usize, usize, Area)> = receives.filter(some).collect();
    if sends.is_empty() && receives.is_empty() {
        return None;
    }
    if way == Way::Persistent {
        let ends = |messages: &[(usize, usize, Area)]| -> Vec<Repeated> {
            let end = |(number, node, area): &(usize, usize, Area)| Repeated {
                node: *node,
                number: *number,
                len: part.count(area, colour),
            };
            messages.iter().map(end).collect()
        };
        let messages = node.prepare(&ends(&sends), &ends(&receives))?;
        let areas = [sends, receives].map(|all| all.into_iter().map(|(_, _, area)| area).collect());
        Some(Phase::Persistent(messages, areas))
    } else {
        let ends = |messages: &[(usize, usize, Area)]| -> Vec<RepeatedPieces> {
            let end = |(number, node, area): &(usize, usize, Area)| RepeatedPieces {
                node: *node,
                number: *number,
                pieces: part.pieces(area, colour),
            };
            messages.iter().map(end).collect()
        };
        node.prepare_pieces(&ends(&sends), &ends(&receives)).map(Phase::Typed)
    }
}
