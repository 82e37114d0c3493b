//! Arrived messages of a node's connections and barriers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Data bytes in a small piece: with header and time it fills one packet.
const SMALL: usize = 48;

/// What one node tells another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A piece of a message, and not its last one.
    Piece,
    Last,
    /// A message of so many bytes will be put in one piece.
    Announced,
    /// So many bytes have been taken.
    Taken,
    /// This port is open for an announced message.
    Opened,
    /// A member's step of a barrier.
    Step,
    /// A receiver is ready.
    Ready,
}

impl What {
    const ALL: [Self; 7] =
        [Self::Piece, Self::Last, Self::Announced, Self::Taken, Self::Opened, Self::Step, Self::Ready];

    /// True if it has bytes of a message.
    pub(super) fn has_bytes(self) -> bool {
        self <= Self::Last
    }
}

/// A kind of items, and what they are of: a connection's number or a barrier's, and what tells its
/// items apart, which is how often the connection had become active, or the member whose step it is.
pub(super) type Key = (What, (usize, usize));

/// What one node tells another of a connection or of a barrier.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) key: Key,
    /// Bytes, a port, or the name of the sender's [place](super::place).
    pub(super) value: u64,
    /// The time of arrival; of a step and of readiness that of sending.
    pub(super) time: f64,
}

/// Bits of a tag, of a kind of items, and of the numbers of what they are of.
pub(super) const TAG: u32 = 16;
const WHAT: u32 = 3;
const BESIDE: u32 = 19;
const NUMBER: u32 = u64::BITS - TAG - WHAT - BESIDE;

impl Item {
    /// All but value and time, for the run with this tag.
    pub(super) fn head(&self, tag: u64) -> u64 {
        let (what, (number, beside)) = self.key;
        ((tag << WHAT | what as u64) << BESIDE | beside as u64) << NUMBER | number as u64
    }

    /// The item with this head, if it is of the run.
    fn of_run(run: u64, head: u64, value: u64, time: f64) -> Option<Self> {
        let bits = |from: u32, count: u32| (head >> from & ((1 << count) - 1)) as usize;
        let what = What::ALL.get(bits(NUMBER + BESIDE, WHAT)).filter(|_| head >> (u64::BITS - TAG) == run)?;
        Some(Self { key: (*what, (bits(0, NUMBER), bits(NUMBER, BESIDE))), value, time })
    }
}

/// A piece of a message.
pub(super) struct Piece {
    pub(super) bytes: Bytes,
    pub(super) last: bool,
    /// How often the connection had become active when it was sent.
    pub(super) life: usize,
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
    /// Steps and readiness, by kind and by what they are of: times of sending, and the names of the
    /// [places](super::place) of the senders.
    pub(super) places: BTreeMap<Key, VecDeque<(f64, u64)>>,
}

impl Inbox {
    fn take_in(&mut self, item: Item, bytes: &[u8]) {
        let Item { key, value, time } = item;
        let (what, (number, life)) = key;
        match what {
            What::Piece | What::Last | What::Announced => {
                let announced = what == What::Announced;
                let bytes = if announced { Bytes::Announced(value as usize) } else { bytes.into() };
                self.pieces.of(number).push_back(Piece { bytes, last: what != What::Piece, life, time });
            }
            What::Taken => self.taken.of(number).push_back((value, time)),
            What::Opened => self.opened.of(number).push_back(value as usize),
            What::Step | What::Ready => self.places.entry(key).or_default().push_back((time, value)),
        }
    }
}

/// An inbox and a count of its insertions; a waiting node polls only the count.
#[derive(Default)]
pub(super) struct Mail {
    inbox: Mutex<Inbox>,
    arrivals: AtomicU64,
}

impl Mail {
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

    /// Takes in what another node tells this one.
    pub(super) fn tell(&self, item: Item, bytes: &[u8]) {
        self.put(|inbox| inbox.take_in(item, bytes));
    }

    /// As [`tell`](Self::tell), if the item with this head is of the run.
    pub(super) fn came(&self, head: u64, value: u64, time: u64, bytes: &[u8]) {
        self.put(|inbox| {
            if let Some(item) = Item::of_run(inbox.tag, head, value, f64::from_bits(time)) {
                inbox.take_in(item, bytes);
            }
        });
    }

    #[inline]
    pub(super) fn arrivals(&self) -> u64 {
        self.arrivals.load(Ordering::Acquire)
    }
}
