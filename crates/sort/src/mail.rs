//! Streams of elements that arrive in single packets, for algorithms that send few elements to a
//! node at a time.
//!
//! A block that goes to all nodes begins with a header or an exchange of lengths. A message of at
//! most 64 bytes goes at once: it says where its elements belong (a stream of the receiver, and an
//! index in it), and its handler puts them there (Brewer 1994, §4.5.1 and §6.1.2). A short message
//! is one packet also where packets hold four words, as on the CM-5.

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use strata_runtime::{Node, Reply};

/// Bytes of elements in a short message, and in a long one.
const SHORT: usize = 8;
const LONG: usize = 56;

/// Bits of a message's first word for the index of its first element; as many hold the length of
/// the stream and one, or 0 where the receiver knows it.
const BITS: u32 = 28;

/// The most elements of a stream, and the most streams of a node.
pub(crate) const MOST: usize = (1 << BITS) - 2;
pub(crate) const STREAMS: usize = 1 << (64 - 2 * BITS);

/// Whether elements of `T` go in packets.
pub(crate) const fn fits<T>() -> bool {
    size_of::<T>() <= LONG
}

/// What has arrived of a stream.
#[derive(Clone, Default)]
struct Stream {
    bytes: Vec<u8>,
    arrived: usize,
    expected: Option<usize>,
}

/// The streams of a node, of elements of `T`.
pub(crate) struct Mail<T> {
    streams: Rc<RefCell<Vec<Stream>>>,
    short: Reply<[u64; 1 + SHORT / 8]>,
    long: Reply<[u64; 1 + LONG / 8]>,
    element: PhantomData<T>,
}

/// Runs `algorithm` with `streams` streams on this node.
///
/// It may send after all nodes have begun it, which a collective in it tells, and must have
/// received all streams in the end. Collective.
pub(crate) fn with<T: Pod, R>(
    node: &mut Node,
    streams: usize,
    algorithm: impl FnOnce(&mut Node, &Mail<T>) -> R,
) -> R {
    let streams = Rc::new(RefCell::new(vec![Stream::default(); streams]));
    let mut handlers = node.handlers();
    let (for_short, for_long) = (Rc::clone(&streams), Rc::clone(&streams));
    let short =
        handlers.reply(move |_, words: [u64; 1 + SHORT / 8]| place::<T>(&mut for_short.borrow_mut(), &words));
    let long =
        handlers.reply(move |_, words: [u64; 1 + LONG / 8]| place::<T>(&mut for_long.borrow_mut(), &words));
    let mail = Mail { streams, short, long, element: PhantomData };
    node.receiving_by(handlers, |node| algorithm(node, &mail))
}

/// Puts the elements of a message where its first word says.
fn place<T>(streams: &mut [Stream], words: &[u64]) {
    let mask = (1 << BITS) - 1;
    let (index, length) = ((words[0] & mask) as usize, (words[0] >> BITS & mask) as usize);
    let Some(stream) = streams.get_mut((words[0] >> (2 * BITS)) as usize) else { return };
    let from: &[u8] = cast_slice(&words[1..]);
    let mut count = 1;
    if let Some(length) = length.checked_sub(1) {
        if stream.expected.is_none() {
            stream.expect::<T>(length);
        }
        count = (from.len() / size_of::<T>().max(1)).min(length - index);
    }
    let bytes = count * size_of::<T>();
    if let Some(to) = stream.bytes.get_mut(index * size_of::<T>()..).and_then(|to| to.get_mut(..bytes)) {
        to.copy_from_slice(&from[..bytes]);
    }
    stream.arrived += count;
}

impl Stream {
    fn expect<T>(&mut self, length: usize) {
        self.bytes.resize(length * size_of::<T>(), 0);
        (self.arrived, self.expected) = (0, Some(length));
    }
}

impl<T: Pod> Mail<T> {
    /// From now on this node knows the length of a stream.
    pub(crate) fn expect(&self, stream: usize, length: usize) {
        self.streams.borrow_mut()[stream].expect::<T>(length);
    }

    /// Sends one element to index `at` of a stream whose length its receiver knows.
    #[inline]
    pub(crate) fn put(&self, node: &mut Node, to: usize, stream: usize, at: usize, item: &T) {
        self.message(node, to, (stream as u64) << (2 * BITS) | at as u64, std::slice::from_ref(item));
    }

    /// Sends a whole stream, whose length its receiver does not know.
    pub(crate) fn send(&self, node: &mut Node, to: usize, stream: usize, items: &[T]) {
        let head = (stream as u64) << (2 * BITS) | (items.len() as u64 + 1) << BITS;
        let size = size_of::<T>().max(1);
        let mut rest = items;
        loop {
            let short = rest.len() * size <= SHORT;
            let (now, later) = rest.split_at(rest.len().min(if short { SHORT } else { LONG } / size));
            self.message(node, to, head | (items.len() - rest.len()) as u64, now);
            rest = later;
            if rest.is_empty() {
                return;
            }
        }
    }

    #[inline]
    fn message(&self, node: &mut Node, to: usize, head: u64, items: &[T]) {
        let bytes: &[u8] = cast_slice(items);
        if to == node.rank() || bytes.len() > SHORT {
            let mut words = [head, 0, 0, 0, 0, 0, 0, 0];
            cast_slice_mut(&mut words[1..])[..bytes.len()].copy_from_slice(bytes);
            if to == node.rank() {
                return place::<T>(&mut self.streams.borrow_mut(), &words);
            }
            return node.send_either(to, self.long, words);
        }
        let mut words = [head, 0];
        cast_slice_mut(&mut words[1..])[..bytes.len()].copy_from_slice(bytes);
        node.send_either(to, self.short, words);
    }

    /// Receives until a stream is there, and moves it to `items`.
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
