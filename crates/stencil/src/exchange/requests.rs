//! The exchange by messages that the transport has prepared, if it can: MPI's persistent requests
//! and derived datatypes.

use bytemuck::Pod;
use strata_runtime::{
    Node,
    memory::{Prepared, PreparedPieces, Repeated, RepeatedPieces},
};

use crate::Way;
use crate::exchange::{Arrays, Link, Numbers, Phases, RECEIVED, SENT, moving};

/// The messages of one phase of an exchange.
enum Phase<T> {
    /// Packed into separate memory; with the indices of the links sent and received.
    Persistent(Prepared<T>, [Vec<usize>; 2]),
    /// Sent from and received into the arrays directly, one array after the other.
    Typed(Vec<PreparedPieces<T>>),
}

/// The messages of all exchanges, by turn and phase; `None` for a phase without messages.
pub(crate) struct Requests<T>(Vec<Vec<Option<Phase<T>>>>);

/// True if an exchange in this way has prepared messages; equal on all nodes.
pub(crate) fn prepares<T: Pod>(node: &mut Node, way: Way) -> bool {
    matches!(way, Way::Persistent | Way::Typed) && node.prepare::<T>(&[], &[]).is_some()
}

impl<T: Pod> Requests<T> {
    /// Prepares messages for the links to other nodes. `None` for variants that need no messages,
    /// and if the transport has none.
    pub(crate) fn new<A, S: Arrays<T, A> + ?Sized>(
        node: &mut Node,
        arrays: &S,
        way: Way,
        numbers: Numbers,
        turns: &[Phases<A>],
    ) -> Option<Self> {
        if !prepares::<T>(node, way) {
            return None;
        }
        let of = |(turn, phases): (usize, &Phases<A>)| -> Vec<Option<Phase<T>>> {
            phases.iter().map(|links| phase(node, arrays, way, numbers, turn, links)).collect()
        };
        Some(Self(turns.iter().enumerate().map(of).collect()))
    }

    /// Sends and receives, or only packs and starts the messages.
    pub(crate) fn start<A, S: Arrays<T, A> + ?Sized>(
        &mut self,
        node: &mut Node,
        arrays: &S,
        [turn, phase]: [usize; 2],
        links: &[Link<A>],
    ) {
        if let Some(Phase::Persistent(messages, [sends, _])) = &mut self.0[turn][phase] {
            for (index, link) in sends.iter().enumerate() {
                let (into, area) = (messages.outgoing(index), &links[*link].areas[SENT]);
                moving::<T>(node, arrays.rows(area), into.len(), || arrays.pack(area, into));
            }
            node.start_prepared(messages);
        }
    }

    /// Waits until all messages have arrived, and copies them into the halo.
    pub(crate) fn finish<A, S: Arrays<T, A> + ?Sized>(
        &mut self,
        node: &mut Node,
        arrays: &mut S,
        [turn, phase]: [usize; 2],
        links: &[Link<A>],
    ) {
        match &mut self.0[turn][phase] {
            Some(Phase::Persistent(messages, [_, receives])) => {
                node.complete_prepared(messages);
                for (index, link) in receives.iter().enumerate() {
                    let (from, area) = (messages.incoming(index), &links[*link].areas[RECEIVED]);
                    moving::<T>(node, arrays.rows(area), from.len(), || arrays.unpack(area, from));
                }
            }
            Some(Phase::Typed(messages)) => {
                for (array, messages) in messages.iter_mut().enumerate() {
                    node.exchange_pieces(messages, arrays.memory(array));
                }
            }
            None => {}
        }
    }
}

/// The messages of one phase, if there are any.
fn phase<T: Pod, A, S: Arrays<T, A> + ?Sized>(
    node: &mut Node,
    arrays: &S,
    way: Way,
    numbers: Numbers,
    turn: usize,
    links: &[Link<A>],
) -> Option<Phase<T>> {
    let rank = node.rank();
    let some = |which: usize| -> Vec<usize> {
        let links = links.iter().enumerate();
        let some = links.filter(|(_, link)| link.to != rank && link.counts[which] > 0);
        some.map(|(index, _)| index).collect()
    };
    let [sends, receives] = [SENT, RECEIVED].map(some);
    if sends.is_empty() && receives.is_empty() {
        return None;
    }
    // A message has the number of the side at which it arrives.
    let number = |link: &Link<A>, which| numbers.message(link.side ^ usize::from(which == SENT), turn);
    if way == Way::Persistent {
        let ends = |which: usize, of: &[usize]| -> Vec<Repeated> {
            let end = |link: &Link<A>| Repeated {
                node: link.to,
                number: number(link, which),
                len: link.counts[which],
            };
            of.iter().map(|index| end(&links[*index])).collect()
        };
        let messages = node.prepare(&ends(SENT, &sends), &ends(RECEIVED, &receives))?;
        Some(Phase::Persistent(messages, [sends, receives]))
    } else {
        let ends = |which: usize, of: &[usize]| -> Vec<RepeatedPieces> {
            let end = |link: &Link<A>| RepeatedPieces {
                node: link.to,
                number: number(link, which),
                pieces: arrays.pieces(&link.areas[which]),
            };
            of.iter().map(|index| end(&links[*index])).collect()
        };
        // Messages with equal numbers arrive in the order in which they are sent.
        let one = |_| node.prepare_pieces(&ends(SENT, &sends), &ends(RECEIVED, &receives));
        (0..arrays.arrays()).map(one).collect::<Option<_>>().map(Phase::Typed)
    }
}
