//! Repeated messages, prepared once: their partners, lengths and positions.

use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// The most bytes of a prepared message: a longer one ends the job.
pub const LONGEST_PREPARED: usize = 1 << 30;

/// Numbers of prepared messages are less than this.
pub(crate) const NUMBERS: usize = 1 << 14;

/// One end of a repeated message: the other end has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The other end's node.
    pub node: usize,
    /// Distinguishes it from other messages between these two nodes; below 16,384.
    pub number: usize,
    /// Number of elements.
    pub len: usize,
}

/// The messages of a transport that prepares them. Lengths are in bytes, and are checked by the
/// caller.
pub(crate) trait Repeating {
    /// Memory of an outgoing message; none is in flight.
    fn outgoing(&mut self, index: usize) -> &mut [u8];
    /// Memory of an incoming message; none is in flight.
    fn incoming(&self, index: usize) -> &[u8];
    /// True if they are in flight.
    fn is_started(&self) -> bool;
    /// Starts all of them; none may be in flight.
    fn start(&mut self);
    /// True if all have been sent and received; until it returns true they are in flight.
    fn test(&mut self) -> bool;
}

/// As [`Repeating`], for messages in pieces of the program's memory.
pub(crate) trait RepeatingPieces {
    /// Exchanges them between `memory`, which has all pieces, and other nodes' memory; calls `idle`
    /// while it waits.
    fn exchange(&mut self, memory: &mut [u8], idle: &mut dyn FnMut());
}

/// Repeated messages with memory of their own ([`Node::prepare`](crate::Node::prepare)).
pub struct Prepared<T> {
    pub(crate) messages: Box<dyn Repeating>,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod> Prepared<T> {
    pub(crate) fn new(messages: Box<dyn Repeating>) -> Self {
        const { assert!(align_of::<T>() <= 8, "elements need an alignment of at most 8") };
        Self { messages, element: PhantomData }
    }

    /// The memory of an outgoing message, by its index.
    ///
    /// # Panics
    /// If there is no such message, or they are started and not completed.
    pub fn outgoing(&mut self, index: usize) -> &mut [T] {
        self.at_rest();
        bytemuck::cast_slice_mut(self.messages.outgoing(index))
    }

    /// The contents of the incoming message of this index.
    ///
    /// # Panics
    /// As [`outgoing`](Self::outgoing).
    #[must_use]
    pub fn incoming(&self, index: usize) -> &[T] {
        self.at_rest();
        bytemuck::cast_slice(self.messages.incoming(index))
    }

    pub(crate) fn at_rest(&self) {
        assert!(!self.messages.is_started(), "prepared messages are started and not completed");
    }
}

impl<T> fmt::Debug for Prepared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("started", &self.messages.is_started()).finish_non_exhaustive()
    }
}

/// One end of a repeated message in pieces, in the order in which they are sent; see [`Repeated`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedPieces {
    /// The other end's node.
    pub node: usize,
    /// Distinguishes it from other messages between these two nodes; below 16,384.
    pub number: usize,
    /// Its elements in the program's memory.
    pub pieces: Vec<Range<usize>>,
}

/// Repeated messages, each from and to pieces of the program's memory
/// ([`Node::prepare_pieces`](crate::Node::prepare_pieces)).
pub struct PreparedPieces<T> {
    pub(crate) messages: Box<dyn RepeatingPieces>,
    /// The least number of elements of the memory.
    pub(crate) least: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod> PreparedPieces<T> {
    pub(crate) fn new(messages: Box<dyn RepeatingPieces>, least: usize) -> Self {
        Self { messages, least, element: PhantomData }
    }
}

impl<T> fmt::Debug for PreparedPieces<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedPieces").field("least", &self.least).finish_non_exhaustive()
    }
}
