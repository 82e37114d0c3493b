//! Collectives: nodes' contributions and results.
//!
//! Time and values are separate. The time of a collective is simulated by sending its messages
//! through the network (see [`steps`](super::steps)), or stated by the platform for its control
//! network. The values are kept here, in one place, and are combined in rank order with the same
//! functions as on threads, so results are equal to the last bit on all transports.

use super::rows::Row;
use crate::block::RawBlock;
use crate::transport::contributions::{CollectiveKind, Contributions};
use crate::transport::{Call, Failure, Operation};
use std::collections::BTreeMap;
use strata_sim::Time;

/// A collective that at least one node has entered and not all have left.
pub(super) struct Rendezvous {
    /// The first node to enter, and its call.
    first: (usize, Call),
    kind: CollectiveKind,
    /// The numbers of nodes that have entered, and that have left.
    come: usize,
    gone: usize,
    /// The time at which the last node entered, from which the control network counts.
    pub(super) last: Time,
    /// The time at which a root's values became available.
    pub(super) root: Option<Time>,
    all: Contributions,
    /// Blocks of an exchange, by sender.
    rows: Vec<Row>,
}

/// The collectives in progress, by number.
#[derive(Default)]
pub(super) struct Rendezvouses(BTreeMap<u64, Rendezvous>);

impl Rendezvouses {
    /// Node `rank` of `size` enters a collective. All must make the same call.
    pub(super) fn arrive(
        &mut self,
        epoch: u64,
        (rank, size): (usize, usize),
        call: Call,
        kind: CollectiveKind,
        now: Time,
    ) -> Result<&mut Rendezvous, Failure> {
        let rendezvous = self.0.entry(epoch).or_insert_with(|| Rendezvous::new((rank, call), kind, size));
        let (first, other) = rendezvous.first;
        if !call.agrees(other.what, other.root, other.length) {
            // Of two calls that differ, the node of higher rank is blamed, so that the message does
            // not depend on the order of arrival.
            let (rank, call, first, other) =
                if first < rank { (rank, call, first, other) } else { (first, other, rank, call) };
            return Err(Failure { rank, message: format!("{call}, but node {first} called {other}") });
        }
        rendezvous.come += 1;
        rendezvous.last = rendezvous.last.max(now);
        Ok(rendezvous)
    }

    pub(super) fn get(&self, epoch: u64) -> Option<&Rendezvous> {
        self.0.get(&epoch)
    }

    /// Lets one of `size` nodes take its result and leave.
    pub(super) fn go(&mut self, epoch: u64, size: usize, take: impl FnOnce(&mut Rendezvous)) {
        if let Some(rendezvous) = self.0.get_mut(&epoch) {
            take(rendezvous);
            rendezvous.gone += 1;
            if rendezvous.gone == size {
                self.0.remove(&epoch);
            }
        }
    }
}

impl Rendezvous {
    fn new(first: (usize, Call), kind: CollectiveKind, size: usize) -> Self {
        let rows = if kind == CollectiveKind::Exchange { size } else { 0 };
        Self {
            first,
            kind,
            come: 0,
            gone: 0,
            last: Time::ZERO,
            root: None,
            all: Contributions::default(),
            rows: (0..rows).map(|_| Row::default()).collect(),
        }
    }

    pub(super) fn is_full(&self, size: usize) -> bool {
        self.come == size
    }

    /// Node `rank` of `size` contributes its values.
    pub(super) fn bring(
        &mut self,
        kind: CollectiveKind,
        (rank, size): (usize, usize),
        values: &[u8],
        now: Time,
    ) {
        if kind == CollectiveKind::Operation(Operation::Broadcast(rank)) {
            self.root = Some(now);
        }
        self.all.bring(kind, (rank, size), values);
    }

    /// Node `rank` contributes its blocks to an exchange, one for each node.
    pub(super) fn bring_row(&mut self, rank: usize, row: Row) {
        if let Some(place) = self.rows.get_mut(rank) {
            *place = row;
        }
    }

    /// Node `rank` of `size` takes its result, when its messages have arrived.
    pub(super) fn take(&mut self, (rank, size): (usize, usize), values: &mut [u8]) {
        self.all.take(self.kind, (rank, size), values);
    }

    /// Node `rank` takes the blocks sent to it.
    pub(super) fn take_blocks(&mut self, rank: usize) -> Vec<RawBlock> {
        self.rows.iter_mut().map(|row| row.take(rank)).collect()
    }
}
