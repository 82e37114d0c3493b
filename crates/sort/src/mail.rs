//! Streams of elements that arrive in single packets, for algorithms that send a node few elements
//! at a time.
//!
//! A message of a whole block needs a header or an exchange of lengths first. A message of at most
//! 64 bytes is sent at once: its first word holds the destination of its elements (a stream of the
//! receiver, and an index in it), and its handler stores them there (Brewer 1994, §4.5.1 and
//! §6.1.2). With one key of eight bytes it is one packet even if packets hold four words, as on the
//! CM-5.

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use strata_runtime::{
    Node,
    message::{Reply, WithBytes},
};

/// Bytes of elements in a message: with its first word they fill a packet.
const BYTES: usize = 56;

/// Bits of a message's first word for the index of its first element; as many bits hold the length
/// of the stream plus one, or 0 if the receiver knows the length.
const BITS: u32 = 28;

/// The most elements of a stream.
pub(crate) const MOST: usize = (1 << BITS) - 2;

/// True if elements of `T` fit in packets.
pub(crate) const fn fits<T>() -> bool {
    size_of::<T>() <= BYTES
}

/// The received part of a stream.
#[derive(Clone, Default)]
struct Stream {
    bytes: Vec<u8>,
    arrived: usize,
    expected: Option<usize>,
}

/// The streams of a node, of elements of `T`.
pub(crate) struct Mail<T> {
    streams: Rc<RefCell<Vec<Stream>>>,
    message: Reply<WithBytes<u64>>,
    element: PhantomData<T>,
}

/// Runs `algorithm` with `streams` streams on this node.
///
/// It may send after all nodes have begun it, for example after a collective, and must have
/// received all streams when it ends. Collective.
pub(crate) fn with<T: Pod, R>(
    node: &mut Node,
    streams: usize,
    algorithm: impl FnOnce(&mut Node, &Mail<T>) -> R,
) -> R {
    let streams = Rc::new(RefCell::new(vec![Stream::default(); streams]));
    let mut handlers = node.handlers();
    let to_place = Rc::clone(&streams);
    let message = handlers.reply_with_bytes(move |_, head, bytes| {
        place::<T>(&mut to_place.borrow_mut(), head, bytes);
    });
    let mail = Mail { streams, message, element: PhantomData };
    node.receiving_by(handlers, |node| algorithm(node, &mail))
}

/// Stores the elements of a message at the destination in its first word.
fn place<T>(streams: &mut [Stream], head: u64, bytes: &[u8]) {
    let mask = (1 << BITS) - 1;
    let (index, length) = ((head & mask) as usize, (head >> BITS & mask) as usize);
    let Some(stream) = streams.get_mut((head >> (2 * BITS)) as usize) else { return };
    if let (Some(length), None) = (length.checked_sub(1), stream.expected) {
        stream.expect::<T>(length);
    }
    if let Some(to) = stream.bytes.get_mut(index * size_of::<T>()..).and_then(|to| to.get_mut(..bytes.len()))
    {
        to.copy_from_slice(bytes);
    }
    stream.arrived += bytes.len();
}

impl Stream {
    fn expect<T>(&mut self, length: usize) {
        self.bytes.resize(length * size_of::<T>(), 0);
        (self.arrived, self.expected) = (0, Some(length * size_of::<T>()));
    }
}

impl<T: Pod> Mail<T> {
    /// Tells this node the length of a stream.
    pub(crate) fn expect(&self, stream: usize, length: usize) {
        self.streams.borrow_mut()[stream].expect::<T>(length);
    }

    /// Sends one element to index `at` of a stream whose length the receiver knows.
    #[inline]
    pub(crate) fn put(&self, node: &mut Node, to: usize, stream: usize, at: usize, item: &T) {
        self.message(node, to, (stream as u64) << (2 * BITS) | at as u64, std::slice::from_ref(item));
    }

    /// Sends a whole stream, whose length the receiver does not know.
    pub(crate) fn send(&self, node: &mut Node, to: usize, stream: usize, items: &[T]) {
        let head = (stream as u64) << (2 * BITS) | (items.len() as u64 + 1) << BITS;
        let most = BYTES / size_of::<T>().max(1);
        for at in (0..items.len().max(1)).step_by(most) {
            let part = &items[at..items.len().min(at + most)];
            self.message(node, to, head | at as u64, part);
        }
    }

    #[inline]
    fn message(&self, node: &mut Node, to: usize, head: u64, items: &[T]) {
        let bytes: &[u8] = cast_slice(items);
        if to == node.rank() {
            place::<T>(&mut self.streams.borrow_mut(), head, bytes);
        } else {
            node.send_either_with_bytes(to, self.message, head, bytes);
        }
    }

    /// Receives until a stream is complete, and moves it to `items`.
    pub(crate) fn receive(&self, node: &mut Node, stream: usize, items: &mut Vec<T>) {
        node.wait_until(|| {
            let stream = &self.streams.borrow()[stream];
            stream.expected.is_some_and(|expected| stream.arrived >= expected)
        });
        let Stream { bytes, .. } = std::mem::take(&mut self.streams.borrow_mut()[stream]);
        items.resize(bytes.len() / size_of::<T>().max(1), T::zeroed());
        cast_slice_mut(items).copy_from_slice(&bytes);
    }
}
