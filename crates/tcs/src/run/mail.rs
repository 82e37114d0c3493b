//! Arrived messages of a node's connections and barriers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Data bytes in a small piece: with header and time it fills one packet.
const SMALL: usize = 48;

/// A piece of a message.
pub(super) struct Piece {
    pub(super) bytes: Bytes,
    pub(super) last: bool,
    /// How often the connection had become active when it was sent.
    pub(super) life: u64,
    pub(super) time: f64,
}

/// The bytes of a piece; short ones need no allocation.
pub(super) enum Bytes {
    Short([u8; SMALL], usize),
    Long(Vec<u8>),
    /// None yet: the announcement of a message of so many bytes, which is put in one piece.
    Announced(usize),
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        if bytes.len() > SMALL {
            return Self::Long(bytes.to_vec());
        }
        let mut short = [0; SMALL];
        short[..bytes.len()].copy_from_slice(bytes);
        Self::Short(short, bytes.len())
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Short(bytes, length) => &bytes[..*length],
            Self::Long(bytes) => bytes,
            Self::Announced(_) => &[],
        }
    }
}

/// A table indexed by connection number.
pub(super) struct ByConnection<T>(Vec<T>);

impl<T> Default for ByConnection<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> ByConnection<T> {
    #[inline]
    pub(super) fn of(&mut self, connection: usize) -> &mut T {
        if connection >= self.0.len() {
            self.0.resize_with(connection + 1, T::default);
        }
        &mut self.0[connection]
    }

    #[inline]
    pub(super) fn get(&self, connection: usize) -> Option<&T> {
        self.0.get(connection)
    }
}

/// The arrived messages of a node. All times are those of arrival.
#[derive(Default)]
pub(super) struct Inbox {
    /// The run whose messages are accepted; messages of earlier runs are ignored.
    pub(super) tag: u64,
    pub(super) pieces: ByConnection<VecDeque<Piece>>,
    /// Bytes that receivers have taken, by connection, with the time of arrival of each report.
    pub(super) taken: ByConnection<VecDeque<(u64, f64)>>,
    /// Ports that receivers have opened for announced messages, by connection.
    pub(super) opened: ByConnection<VecDeque<usize>>,
    /// Ports of this node in which a message has come whole.
    pub(super) whole: BTreeSet<usize>,
    /// Messages of barriers, by barrier and sender: times of sending, and the names of the
    /// [places](super::place) of the senders.
    pub(super) steps: BTreeMap<(usize, usize), VecDeque<(f64, u64)>>,
    /// Readiness for a set, by connection: as steps.
    pub(super) ready: BTreeMap<usize, VecDeque<(f64, u64)>>,
}

impl Inbox {
    pub(super) fn piece(&mut self, connection: usize, piece: Piece) {
        self.pieces.of(connection).push_back(piece);
    }

    pub(super) fn credit(&mut self, connection: usize, bytes: u64, time: f64) {
        self.taken.of(connection).push_back((bytes, time));
    }

    pub(super) fn step(&mut self, step: (usize, usize), sent: (f64, u64)) {
        self.steps.entry(step).or_default().push_back(sent);
    }

    pub(super) fn ready(&mut self, connection: usize, sent: (f64, u64)) {
        self.ready.entry(connection).or_default().push_back(sent);
    }
}

/// An inbox and a count of its insertions; a waiting node polls only the count.
#[derive(Default)]
pub(super) struct Mail {
    inbox: Mutex<Inbox>,
    arrivals: AtomicU64,
}

impl Mail {
    pub(super) fn of_run(tag: u64) -> Self {
        Self { inbox: Mutex::new(Inbox { tag, ..Inbox::default() }), arrivals: AtomicU64::default() }
    }

    /// No code panics while it holds the lock.
    #[inline]
    pub(super) fn open(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn put(&self, item: impl FnOnce(&mut Inbox)) {
        item(&mut self.open());
        self.arrivals.fetch_add(1, Ordering::Release);
    }

    #[inline]
    pub(super) fn arrivals(&self) -> u64 {
        self.arrivals.load(Ordering::Acquire)
    }
}
