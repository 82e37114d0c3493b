//! Messages that repeat, prepared once: their partners, lengths, and where they lie.

use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// The most bytes of a prepared message.
pub(crate) const LONGEST: usize = 1 << 30;

/// Numbers of prepared messages are below this.
pub(crate) const NUMBERS: usize = 1 << 14;

/// One end of a message that repeats: the other end has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The node that it goes to or comes from.
    pub node: usize,
    /// Tells it from the other messages between these two nodes; below 16,384.
    pub number: usize,
    /// Its elements.
    pub len: usize,
}

/// Messages of a transport that prepares them. Lengths are in bytes, and have been checked.
pub(crate) trait Repeating {
    /// Memory of an outgoing message; none is in flight.
    fn outgoing(&mut self, index: usize) -> &mut [u8];
    /// Memory of an incoming message; none is in flight.
    fn incoming(&self, index: usize) -> &[u8];
    /// Whether they are in flight.
    fn is_started(&self) -> bool;
    /// Starts all of them; none is in flight.
    fn start(&mut self);
    /// Whether all have gone and come; they are in flight until it says so.
    fn test(&mut self) -> bool;
}

/// As [`Repeating`], of messages that lie in pieces in the program's memory.
pub(crate) trait RepeatingPieces {
    /// Exchanges them between `memory`, which holds all pieces, and other nodes'; calls `idle`
    /// while it waits.
    fn exchange(&mut self, memory: &mut [u8], idle: &mut dyn FnMut());
}

/// Messages that repeat, with memory of their own ([`Node::prepare`](crate::Node::prepare)).
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
    /// There is no such message, or they are started and not completed.
    pub fn outgoing(&mut self, index: usize) -> &mut [T] {
        self.at_rest();
        bytemuck::cast_slice_mut(self.messages.outgoing(index))
    }

    /// What the incoming message of this index has brought.
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

/// One end of a message that repeats and lies in pieces, in the order in which they are sent; see
/// [`Repeated`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedPieces {
    /// The node that it goes to or comes from.
    pub node: usize,
    /// Tells it from the other messages between these two nodes; below 16,384.
    pub number: usize,
    /// The elements of the program's memory that it has.
    pub pieces: Vec<Range<usize>>,
}

/// Messages that repeat, each from and to pieces of the program's memory
/// ([`Node::prepare_pieces`](crate::Node::prepare_pieces)).
pub struct PreparedPieces<T> {
    pub(crate) messages: Box<dyn RepeatingPieces>,
    /// The elements that the memory has at least.
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
