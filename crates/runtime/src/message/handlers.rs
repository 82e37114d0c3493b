//! Handlers: their registration, and their contexts.

use super::LARGEST_MESSAGE;
use crate::transport::{PACKET, Packet, Part};
use bytemuck::Pod;
use std::any::type_name;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

/// The number of a handler of requests with arguments `A`, equal on all nodes that have installed
/// the same handlers.
pub struct Request<A> {
    pub(crate) number: u16,
    arguments: PhantomData<fn(A)>,
}

/// The number of a handler of replies with arguments `A`.
pub struct Reply<A> {
    pub(crate) number: u16,
    arguments: PhantomData<fn(A)>,
}

macro_rules! plain_number {
    ($t:ident) => {
        impl<A> Clone for $t<A> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<A> Copy for $t<A> {}
        impl<A> fmt::Debug for $t<A> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}<{}>({})", stringify!($t), type_name::<A>(), self.number)
            }
        }
    };
}
plain_number!(Request);
plain_number!(Reply);

/// The context of a request's handler: the sender, and replies.
pub struct Requested<'a> {
    pub(crate) from: usize,
    pub(crate) rank: usize,
    pub(crate) size: usize,
    pub(crate) replies: usize,
    pub(crate) outbox: &'a mut Outbox,
}

macro_rules! context {
    ($($t:ty)*) => {$(
        impl $t {
            /// The node that sent the message.
            #[must_use]
            pub fn from(&self) -> usize {
                self.from
            }

            /// This node's number.
            #[must_use]
            pub fn rank(&self) -> usize {
                self.rank
            }

            /// The number of nodes.
            #[must_use]
            pub fn size(&self) -> usize {
                self.size
            }
        }
    )*};
}
context!(Requested<'_> Replied);

impl Requested<'_> {
    /// Sends a reply to the node that sent the request. It is sent when the handler has returned.
    ///
    /// # Panics
    /// (which ends the job) if `handler` is not installed.
    pub fn reply<A: Pod>(&mut self, handler: Reply<A>, arguments: A) {
        self.reply_to(self.from, handler, arguments);
    }

    /// Sends a reply to any node, for example on behalf of another one.
    ///
    /// # Panics
    /// (which ends the job) if there is no node `to`, or `handler` is not installed.
    pub fn reply_to<A: Pod>(&mut self, to: usize, handler: Reply<A>, arguments: A) {
        let () = Fits::<A>::CHECK;
        assert!(to < self.size, "a reply to node {to}: nodes are 0 to {}", self.size - 1);
        assert!(usize::from(handler.number) < self.replies, "a reply to {handler:?}: it is not installed");
        for packet in packets(handler.number, bytemuck::bytes_of(&arguments)) {
            self.outbox.push_back((to, packet));
        }
    }

    /// As [`reply`](Self::reply), with bytes besides the arguments.
    ///
    /// # Panics
    /// (which ends the job) as `reply`, and if arguments and bytes are more than
    /// [`LARGEST_MESSAGE`] together.
    pub fn reply_with_bytes<A: Pod>(&mut self, handler: Reply<WithBytes<A>>, arguments: A, bytes: &[u8]) {
        let () = InOnePacket::<A>::CHECK;
        let length = size_of::<A>() + bytes.len();
        assert!(usize::from(handler.number) < self.replies, "a reply to {handler:?}: it is not installed");
        assert!(length <= LARGEST_MESSAGE, "a reply of {length} bytes: at most {LARGEST_MESSAGE}");
        for packet in packets_with(handler.number, bytemuck::bytes_of(&arguments), bytes) {
            self.outbox.push_back((self.from, packet));
        }
    }
}

/// The context of a reply's handler: the sender.
#[derive(Clone, Copy, Debug)]
pub struct Replied {
    pub(crate) from: usize,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

/// Replies that are sent when their handler has returned.
pub(crate) type Outbox = VecDeque<(usize, Packet)>;

/// Marks handlers whose messages have arguments `A`, of at most 64 bytes, and any number of bytes
/// besides; `Request<WithBytes<A>>` and `Reply<WithBytes<A>>` are their numbers.
pub struct WithBytes<A>(PhantomData<A>);

/// A handler of arguments as a transport delivers them; it knows their type.
pub(crate) type OnRequest = Box<dyn FnMut(&mut Requested<'_>, &[u8])>;
pub(crate) type OnReply = Box<dyn FnMut(&Replied, &[u8])>;

/// Handlers to be installed together; see [`Node::handlers`](crate::Node::handlers).
///
/// Handlers are closures on their node; they share state with the program through `Rc<Cell<_>>` and
/// the like:
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use strata_runtime::prelude::*;
///
/// let sums = Machine::threads(3)?.run(|node| {
///     let sum = Rc::new(Cell::new(0));
///     let mut handlers = node.handlers();
///     let add = handlers.reply({
///         let sum = Rc::clone(&sum);
///         move |_, value: u64| sum.set(sum.get() + value)
///     });
///     let double = handlers.request(move |context, value: u64| context.reply(add, 2 * value));
///     node.install(handlers);
///
///     for to in 0..node.size() {
///         node.send(to, double, 1 + node.rank() as u64);
///     }
///     let all = 2 * (1 + node.rank() as u64) * node.size() as u64;
///     node.wait_until(|| sum.get() == all);
///     Ok(sum.get())
/// })?;
/// assert_eq!(sums, [6, 12, 18]);
/// # Ok::<(), Error>(())
/// ```
pub struct Handlers {
    first_request: usize,
    first_reply: usize,
    pub(crate) requests: Vec<(Signature, OnRequest)>,
    pub(crate) replies: Vec<(Signature, OnReply)>,
}

/// The part of handlers that must be equal on all nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    pub(crate) arguments: &'static str,
    pub(crate) bytes: usize,
}

impl Signature {
    fn of<A>() -> Self {
        Self { arguments: type_name::<A>(), bytes: size_of::<A>() }
    }
}

impl Handlers {
    pub(crate) fn after(requests: usize, replies: usize) -> Self {
        Self { first_request: requests, first_reply: replies, requests: Vec::new(), replies: Vec::new() }
    }

    /// True if these handlers directly follow `requests` and `replies` installed handlers.
    pub(crate) fn follow(&self, requests: usize, replies: usize) -> bool {
        self.first_request == requests && self.first_reply == replies
    }

    /// Registers a handler of requests.
    ///
    /// `A` is plain data of at most 64 KiB: up to 64 bytes travel in one packet, more in several.
    ///
    /// # Panics
    /// If there are 32,000 handlers already.
    pub fn request<A: Pod>(
        &mut self,
        mut handler: impl FnMut(&mut Requested<'_>, A) + 'static,
    ) -> Request<A> {
        let () = Fits::<A>::CHECK;
        self.add_request(move |context, bytes| handler(context, read::<A>(bytes)))
    }

    /// Registers a handler of replies.
    ///
    /// # Panics
    /// If there are 32,000 handlers already.
    pub fn reply<A: Pod>(&mut self, mut handler: impl FnMut(&Replied, A) + 'static) -> Reply<A> {
        let () = Fits::<A>::CHECK;
        self.add_reply(move |context, bytes| handler(context, read::<A>(bytes)))
    }

    /// Registers a handler of requests with arguments of at most 64 bytes and any number of bytes,
    /// together at most 64 KiB ([`Node::send_with_bytes`](crate::Node::send_with_bytes)): for data
    /// whose destination the receiver derives from the arguments. The bytes have no alignment.
    ///
    /// # Panics
    /// If there are 32,000 handlers already.
    pub fn request_with_bytes<A: Pod>(
        &mut self,
        mut handler: impl FnMut(&mut Requested<'_>, A, &[u8]) + 'static,
    ) -> Request<WithBytes<A>> {
        let () = InOnePacket::<A>::CHECK;
        self.add_request(move |context, message| {
            let (arguments, bytes) = message.split_at(size_of::<A>());
            handler(context, read::<A>(arguments), bytes);
        })
    }

    /// Registers a handler of replies with arguments and any number of bytes, as
    /// [`request_with_bytes`](Self::request_with_bytes).
    ///
    /// # Panics
    /// If there are 32,000 handlers already.
    pub fn reply_with_bytes<A: Pod>(
        &mut self,
        mut handler: impl FnMut(&Replied, A, &[u8]) + 'static,
    ) -> Reply<WithBytes<A>> {
        let () = InOnePacket::<A>::CHECK;
        self.add_reply(move |context, message| {
            let (arguments, bytes) = message.split_at(size_of::<A>());
            handler(context, read::<A>(arguments), bytes);
        })
    }

    fn add_request<A>(&mut self, handler: impl FnMut(&mut Requested<'_>, &[u8]) + 'static) -> Request<A> {
        let number = number(self.first_request + self.requests.len());
        self.requests.push((Signature::of::<A>(), Box::new(handler)));
        Request { number, arguments: PhantomData }
    }

    fn add_reply<A>(&mut self, handler: impl FnMut(&Replied, &[u8]) + 'static) -> Reply<A> {
        let number = number(self.first_reply + self.replies.len());
        self.replies.push((Signature::of::<A>(), Box::new(handler)));
        Reply { number, arguments: PhantomData }
    }
}

/// Arguments with bytes besides them must fit in the first packet; checked at compile time.
pub(crate) struct InOnePacket<A>(PhantomData<A>);

impl<A> InOnePacket<A> {
    pub(crate) const CHECK: () =
        assert!(size_of::<A>() <= PACKET, "arguments of more than 64 bytes beside others");
}

/// The arguments' size is checked at compile time.
pub(crate) struct Fits<A>(PhantomData<A>);

impl<A> Fits<A> {
    pub(crate) const CHECK: () =
        assert!(size_of::<A>() <= LARGEST_MESSAGE, "arguments of more than 64 KiB: send them through a port");
}

/// Handler numbers from here on are the run-time's own.
pub(crate) const OWN: u16 = 65_000;

/// Marks, on the network of requests, a handler of replies, which sends nothing.
pub(crate) const QUIET: u16 = 1 << 15;

/// The most handlers of one kind: with [`QUIET`] their numbers are below [`OWN`].
const MOST: u16 = 32_000;

fn number(index: usize) -> u16 {
    match u16::try_from(index) {
        Ok(number) if number < MOST => number,
        _ => panic!("more than {MOST} handlers"),
    }
}

#[inline]
fn read<A: Pod>(bytes: &[u8]) -> A {
    // The sizes were compared on all nodes when the handlers were installed.
    bytemuck::pod_read_unaligned(bytes)
}

/// The packets of one message.
#[inline]
pub(crate) fn packets(handler: u16, bytes: &[u8]) -> impl Iterator<Item = Packet> {
    let whole = bytes.len();
    (0..count(whole)).map(move |i| {
        let end = whole.min((i + 1) * PACKET);
        Packet::new(handler, Part::of(i, count(whole)), whole, &bytes[i * PACKET..end])
    })
}

/// The packets of a message of arguments, of at most [`PACKET`] bytes, and bytes besides.
pub(crate) fn packets_with(handler: u16, arguments: &[u8], bytes: &[u8]) -> impl Iterator<Item = Packet> {
    let whole = arguments.len() + bytes.len();
    let (beside, rest) = bytes.split_at(bytes.len().min(PACKET - arguments.len()));
    let mut first = [0; PACKET];
    first[..arguments.len()].copy_from_slice(arguments);
    first[arguments.len()..][..beside.len()].copy_from_slice(beside);
    let length = arguments.len() + beside.len();
    let first = Packet::new(handler, Part::of(0, count(whole)), whole, &first[..length]);
    let rest = rest.chunks(PACKET).enumerate();
    std::iter::once(first)
        .chain(rest.map(move |(i, bytes)| Packet::new(handler, Part::of(i + 1, count(whole)), whole, bytes)))
}

/// The number of packets of a message of `whole` bytes.
fn count(whole: usize) -> usize {
    whole.div_ceil(PACKET).max(1)
}
