//! What a program sees of the machine: its node.

mod composite;
mod global;
mod local;
mod messages;
mod ports;
mod random;
mod split;
mod transfers;

pub use ports::{Completed, USER_WORDS};
pub use random::Seed;
pub use split::{Payload, Pending};
pub(crate) use transfers::Piece;
pub use transfers::{Pacing, Transfer};

use crate::block::Block;
use crate::clock::{self, Clock};
use crate::develop::Notes;
use crate::message::Inbox;
use crate::settings::Settings;
use crate::transport::{Call, Endpoint, Failure};
use crate::work::{Charge, Computing, Work};
use bytemuck::Pod;
use ports::Ports;
use split::Split;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use strata_develop::log::What;
use strata_model::Seconds;
use strata_model::platform::Platform;
use transfers::Transfers;

/// One of the nodes that run a program together.
///
/// Every node runs the same function with its own `Node`. Most methods are *collective*: every node
/// calls them, in the same order, with equal operations and lengths. A collective never fails on
/// one node alone: where a node panics, returns an error, leaves early or calls something else, the
/// job ends on all nodes (a node that waits unwinds quietly) and whoever started it gets one
/// [`Error::Node`](crate::Error::Node) that names the node, the operation and its place.
///
/// Results are equal to the last bit on every node and from run to run: combining goes in rank
/// order. Integers wrap.
///
/// ```
/// use strata_runtime::prelude::*;
/// let sums = Machine::threads(4)?.run(|node| {
///     let before = node.scan(Op::Add, 10 * node.rank() as u64);   // exclusive: node 0 receives 0
///     Ok((before, node.reduce_add(1u64)))
/// })?;
/// assert_eq!(sums, [(0, 4), (0, 4), (10, 4), (30, 4)]);
/// # Ok::<(), Error>(())
/// ```
pub struct Node {
    transport: Box<dyn Endpoint>,
    settings: Arc<Settings>,
    clock: Clock,
    skeleton: bool,
    inbox: Inbox,
    split: Split,
    ports: Ports,
    transfers: Transfers,
    random: rand_chacha::ChaCha8Rng,
    locals: local::Locals,
    notes: Rc<Notes>,
}

impl Node {
    pub(crate) fn new(mut transport: Box<dyn Endpoint>, settings: Arc<Settings>, notes: Rc<Notes>) -> Self {
        let (rank, size) = (transport.rank(), transport.size());
        let computing = transport.simulated().map(|simulated| simulated.computing());
        Self {
            transport,
            settings,
            clock: notes.clock.clone(),
            skeleton: computing == Some(Computing::Skeleton),
            inbox: Inbox::new(rank),
            split: Split::default(),
            ports: Ports::default(),
            transfers: Transfers::new(rank, size),
            random: random::stream_of(rank),
            locals: local::Locals::default(),
            notes,
        }
    }

    /// This node's number, from 0 to `size() - 1`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// How many nodes there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.transport.size()
    }

    /// Local work, on the node itself: just `f`.
    ///
    /// Only a simulated machine uses `work`: it is what the node is charged for (see [`Work`]). One
    /// that is simulated as a [skeleton](crate::Computing::Skeleton) skips `f` and returns `T`'s
    /// default: results that decide what is communicated need
    /// [`compute_always`](Self::compute_always).
    ///
    /// # Participation
    /// Local. On a simulated machine a kernel that it does not know, or with other inputs than it
    /// has, ends the job.
    #[inline]
    #[track_caller]
    pub fn compute<'a, T: Default>(&mut self, work: impl Into<Work<'a>>, f: impl FnOnce() -> T) -> T {
        if self.is_skeleton() {
            self.charge(work.into());
            return T::default();
        }
        self.compute_always(work, f)
    }

    /// As [`compute`](Self::compute), but `f` is never left out: for results that what is
    /// communicated depends on.
    ///
    /// # Participation
    /// As [`compute`](Self::compute).
    #[inline]
    #[track_caller]
    pub fn compute_always<'a, T>(&mut self, work: impl Into<Work<'a>>, f: impl FnOnce() -> T) -> T {
        if !self.is_simulated() {
            return f();
        }
        if self.charge(work.into()) == Charge::Charged {
            return f();
        }
        let start = clock::thread_seconds();
        let result = f();
        if let Some(simulated) = self.transport.simulated() {
            simulated.charge_host(clock::thread_seconds() - start);
        }
        result
    }

    #[cold]
    #[track_caller]
    fn charge(&mut self, work: Work<'_>) -> Charge {
        match self.transport.simulated().map(|simulated| simulated.charge(work)) {
            Some(Ok(charge)) => charge,
            Some(Err(reason)) => self.fail(reason),
            None => Charge::Charged,
        }
    }

    /// Whether this is a node of a simulation that leaves computing out (see
    /// [`Computing::Skeleton`]).
    #[must_use]
    #[inline]
    pub fn is_skeleton(&self) -> bool {
        self.skeleton
    }

    /// A block of `len` elements, all zero bytes, for data that are computed and sent.
    ///
    /// Where [`is_skeleton`](Self::is_skeleton) it has no memory: it is an empty slice that stands
    /// for `len` [elements](Block::elements). As many are charged for when it is given to
    /// [`put_block`](Self::put_block), to [`start_transfer`](Self::start_transfer), to
    /// [`all_to_all_v`](Self::all_to_all_v) or to a collective that is started, and they arrive
    /// where the port opened with such a block has room for as many; nothing is stored. What goes
    /// by the slice, as [`put`](Self::put), sends nothing.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn block<T: Pod>(&self, len: usize) -> Block<T> {
        if self.is_skeleton() { Block::phantom(len) } else { Block::zeroed(len) }
    }

    /// The time since the program began; the clock only goes forward. On a simulated machine it is
    /// the node's own.
    #[must_use]
    pub fn now(&self) -> Seconds {
        self.clock.now()
    }

    /// Whether this is a node of a simulated machine: its time is simulated, and other nodes do not
    /// run meanwhile.
    #[must_use]
    #[inline]
    pub fn is_simulated(&self) -> bool {
        self.clock.is_simulated()
    }

    /// The environment variable `name` of node 0, if it starts with `STRATA_`: equal on all nodes,
    /// so that they may decide by it together.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// # Machine::threads(1)?.run(|node| {
    /// let explain = node.setting("STRATA_EXPLAIN") == Some("1");
    /// # assert!(!explain); Ok(()) })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.variable(name)
    }

    /// The machine that this program runs on, as node 0 found it; models fitted on another one do
    /// not hold here.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.settings.platform.clone()
    }

    /// Ends the job on every node: this one cannot go on, and says why.
    #[track_caller]
    pub fn fail(&mut self, message: impl std::fmt::Display) -> ! {
        let place = Location::caller();
        self.end_job(format!("{message} (at {}:{})", place.file(), place.line()));
    }

    #[cold]
    pub(crate) fn misuse(&mut self, call: &Call, what: &str) -> ! {
        self.end_job(format!("{call}: {what}"));
    }

    /// Ends the job; what was printed and recorded is written first, as the process may end with
    /// it.
    #[cold]
    fn end_job(&mut self, message: String) -> ! {
        self.notes.end(What::Fail(&message));
        self.transport.fail(Failure { rank: self.rank(), message });
    }

    /// What this node keeps about itself.
    pub(crate) fn notes(&self) -> &Rc<Notes> {
        &self.notes
    }

    /// False while this node unwinds from a panic and a destructor calls a collective: the others
    /// will not come, and unwinding again would abort the process, so the call does nothing.
    #[inline]
    pub(crate) fn may_go_on(&self) -> bool {
        !std::thread::panicking()
    }
}
