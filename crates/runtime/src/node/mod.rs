//! The program's view of the machine: its node.

mod any_network;
#[cfg(feature = "sim")]
mod circuits;
mod develop;
mod last_result;
mod local;
mod messages;
mod ports;
mod prepared;
mod random;
mod shared;
mod split;
mod transfers;

#[cfg(feature = "sim")]
pub use circuits::Circuits;
pub use ports::{Completed, USER_WORDS};
pub use random::Seed;
pub use split::{Payload, Pending};
pub(crate) use transfers::Piece;
pub use transfers::{Pacing, Transfer};

use crate::block::Block;
use crate::clock::{self, Clock};
use crate::develop::Notes;
use crate::installed::Installed;
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
use strata_select::say;
use transfers::Transfers;

/// One of the nodes that run a program together.
///
/// Every node runs the same function with its own `Node`. Most methods are *collective*: every node
/// calls them, in the same order, with equal operations and lengths. A collective never fails on
/// one node alone: if a node panics, returns an error, leaves early or makes a different call, the
/// job ends on all nodes (waiting nodes unwind quietly). The caller that started the job gets one
/// [`Error::Node`](crate::Error::Node) that names the node, the operation and its place.
///
/// Results are equal to the last bit on every node and in every run: values are combined in rank
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
    pub(crate) transport: Box<dyn Endpoint>,
    rank: usize,
    size: usize,
    /// The bytes above which a library below the transport may do a collective, if there is one.
    pub(crate) library_above: Option<usize>,
    /// The most bytes of one put that may find no room.
    put_limit: usize,
    settings: Arc<Settings>,
    clock: Clock,
    skeleton: bool,
    learns: bool,
    calibrates: bool,
    pub(crate) installed: Installed,
    inbox: Inbox,
    /// True if a `receiving` has ended here that other nodes may still be in.
    pub(crate) ended_receiving: bool,
    split: Split,
    ports: Ports,
    transfers: Transfers,
    random: chacha20::ChaCha8Rng,
    locals: local::Locals,
    last_result: Option<last_result::LastResult>,
    notes: Rc<Notes>,
}

impl Node {
    pub(crate) fn new(mut transport: Box<dyn Endpoint>, settings: Arc<Settings>, notes: Rc<Notes>) -> Self {
        let (rank, size) = transport.place();
        let extras = transport.extras();
        let (put_limit, above) = (extras.put_limit, extras.library.map(|library| library.above));
        let computing = extras.simulated.map(|simulated| simulated.computing());
        let learns = settings.is_on("STRATA_LEARN");
        let calibrates = settings.is_on("STRATA_CALIBRATE");
        Self {
            transport,
            rank,
            size,
            library_above: above.filter(|_| size > 1),
            put_limit,
            settings,
            learns,
            calibrates,
            installed: Installed::default(),
            clock: notes.clock.clone(),
            skeleton: computing == Some(Computing::Skeleton),
            inbox: Inbox::new(rank),
            ended_receiving: false,
            split: Split::default(),
            ports: Ports::default(),
            transfers: Transfers::new(rank, size),
            random: random::stream_of(rank),
            locals: local::Locals::default(),
            last_result: None,
            notes,
        }
    }

    /// This node's number, from 0 to `size() - 1`.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of nodes.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Local work, on the node itself: runs `f`.
    ///
    /// Only a simulated machine uses `work`: the node is charged for it (see [`Work`]). A
    /// simulation as a [skeleton](crate::Computing::Skeleton) skips `f` and returns `T`'s default;
    /// results on which communication depends need [`compute_always`](Self::compute_always).
    ///
    /// # Participation
    /// Local. On a simulated machine an unknown kernel, or one with other inputs, ends the job.
    #[inline]
    #[track_caller]
    pub fn compute<'a, T: Default>(&mut self, work: impl Into<Work<'a>>, f: impl FnOnce() -> T) -> T {
        if self.is_skeleton() {
            self.charge(work.into());
            return T::default();
        }
        self.compute_always(work, f)
    }

    /// As [`compute`](Self::compute), but `f` is never skipped: for results on which communication
    /// depends.
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
            simulated.charge_host(clock::thread_seconds_since(start));
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

    /// Charges a simulated node for a call that combines values with messages.
    pub(crate) fn charge_combine_call(&mut self) {
        if let Some(simulated) = self.transport.simulated() {
            simulated.charge_combine_call();
        }
    }

    /// Charges a simulated node for combining values of `bytes` bytes.
    pub(crate) fn charge_combining(&mut self, bytes: usize) {
        if let Some(simulated) = self.transport.simulated() {
            simulated.charge_combining(bytes);
        }
    }

    /// True if this is a node of a simulation that skips computing (see [`Computing::Skeleton`]).
    #[must_use]
    #[inline]
    pub fn is_skeleton(&self) -> bool {
        self.skeleton
    }

    /// A block of `len` elements, all zero bytes, for data that are computed and sent.
    ///
    /// If [`is_skeleton`](Self::is_skeleton) is true, it has no memory: it is an empty slice that
    /// represents `len` [elements](Block::elements). The node is charged for all of them when it is
    /// passed to [`put_block`](Self::put_block), [`start_transfer`](Self::start_transfer),
    /// [`all_to_all_v`](Self::all_to_all_v) or a started collective. They arrive in a port that was
    /// opened with a block of as many represented elements; no data are stored. Methods that take a
    /// slice, such as [`put`](Self::put), send nothing.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn block<T: Pod>(&self, len: usize) -> Block<T> {
        if self.is_skeleton() { Block::phantom(len) } else { Block::zeroed(len) }
    }

    /// The time since the program began; monotonic. On a simulated machine it is the node's own
    /// clock.
    #[must_use]
    pub fn now(&self) -> Seconds {
        self.clock.now()
    }

    /// True if this is a node of a simulated machine: its time is simulated, and other nodes do not
    /// run meanwhile.
    #[must_use]
    #[inline]
    pub fn is_simulated(&self) -> bool {
        self.clock.is_simulated()
    }

    /// Sets a control variable of the MPI library that holds a whole number, in this process (MPI
    /// 3.1, §14.3.6): for example Open MPI's `coll_tuned_bcast_algorithm`, which later duplicates of
    /// a communicator obey.
    ///
    /// # Participation
    /// Local.
    ///
    /// # Errors
    /// [`Error::Program`](crate::Error::Program): nodes are no processes of an MPI job, or the
    /// library has no such variable, or it cannot be set.
    #[cfg(feature = "mpi")]
    pub fn set_mpi_variable(&mut self, name: &str, value: i32) -> Result<(), crate::Error> {
        if !self.platform().has_processes() {
            return Err(crate::Error::program("the nodes are no processes of an MPI job"));
        }
        crate::transport::mpi::set_variable(name, value).map_err(crate::Error::program)
    }

    /// The time of a simulated node's clock in ns, without advancing it.
    #[cfg(feature = "tune")]
    pub(crate) fn simulated_ns(&self) -> u64 {
        self.clock.ns()
    }

    /// Keeps what was found about this node's calls, if they are tuned.
    #[cfg(feature = "tune")]
    pub(crate) fn keep_tuning(&mut self) {
        if let Some(tuned) = self.transport.tuned() {
            tuned.keep();
        }
    }

    /// The environment variable `name` of node 0, if it starts with `STRATA_`: equal on all nodes,
    /// so that they make the same decisions.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// # Machine::threads(1)?.run(|node| {
    /// let models = node.setting("STRATA_MODELS");
    /// # assert!(models.is_none()); Ok(()) })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.variable(name)
    }

    /// True if the environment variable `name` of node 0 is set, and neither empty nor 0: used for
    /// `STRATA_EXPLAIN` and `STRATA_CHECK`.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// # Machine::threads(1)?.run(|node| {
    /// let explain = node.is_on("STRATA_EXPLAIN");
    /// # assert!(!explain); Ok(()) })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.settings.is_on(name)
    }

    /// The machine on which this program runs, as described by node 0; models fitted on another
    /// machine are not valid here.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.settings.platform.clone()
    }

    /// The number of hosts on which the nodes run, equal on all nodes: 1 for threads; on MPI so many
    /// as have memory of their own; on a simulated machine as its platform's table `[host]` and the
    /// command say, and otherwise the number of nodes. Hosts need not have equally many nodes.
    ///
    /// ```
    /// use strata_runtime::prelude::*;
    ///
    /// assert_eq!(Machine::threads(3)?.run(|node| Ok(node.hosts()))?, [1; 3]);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.settings.platform.all_hosts().max
    }

    /// True if choices learn from the times of calls: `STRATA_LEARN` of node 0 is set, and neither
    /// empty nor 0.
    #[must_use]
    #[inline]
    pub fn learns(&self) -> bool {
        self.learns
    }

    /// True if libraries fit themselves: `STRATA_CALIBRATE` of node 0 is set, and neither empty nor 0.
    #[must_use]
    #[inline]
    pub fn calibrates(&self) -> bool {
        self.calibrates
    }

    /// The timings that node 0 has kept for a team like this one, of all libraries.
    pub(crate) fn kept_timings(&self) -> &str {
        self.settings.timings()
    }

    /// Ends the job on every node, with this node's reason.
    #[track_caller]
    pub fn fail(&mut self, message: impl std::fmt::Display) -> ! {
        let place = Location::caller();
        self.end_job(format!("{message} (at {}:{})", place.file(), place.line()));
    }

    #[cold]
    pub(crate) fn misuse(&mut self, call: &Call, what: &str) -> ! {
        self.end_job(format!("{call}: {what}"));
    }

    /// Ends the job; first writes queued output and records, because the process may end with it.
    #[cold]
    fn end_job(&mut self, message: String) -> ! {
        self.notes.end(What::Fail(&message));
        if !self.may_go_on() {
            // A destructor has called this while the node unwinds, so it cannot unwind again: Rust
            // would abort without this message.
            say!("error: node {}: {message}; the node was failing already", self.rank());
            std::process::abort();
        }
        self.transport.fail(Failure { rank: self.rank(), message });
    }

    /// The node's records about itself.
    pub(crate) fn notes(&self) -> &Rc<Notes> {
        &self.notes
    }

    /// False while this node unwinds from a panic and a destructor calls a collective: the other
    /// nodes will not take part, and unwinding again would abort the process, so the call does
    /// nothing.
    #[inline]
    pub(crate) fn may_go_on(&self) -> bool {
        !std::thread::panicking()
    }
}
