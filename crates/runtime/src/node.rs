//! What a program sees of the machine: its node.

use crate::block::{Block, RawBlock};
use crate::number::{Number, Op, Operand};
use crate::settings::Settings;
use crate::transport::{Action, Call, Failure, Scan, Transport};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use std::panic::Location;
use std::sync::Arc;
use strata_model::platform::Platform;
use strata_model::quantity::Seconds;

/// One of the nodes that run a program together.
///
/// Every node runs the same function with its own `Node`. Most methods are *collective*: every node calls them, in
/// the same order, with equal operations and lengths. A collective never fails on one node alone: where a node
/// panics, returns an error, leaves early or calls something else, the job ends on all nodes (a node that waits
/// unwinds quietly) and whoever started it gets one [`Error::Node`](crate::Error::Node) that names the node, the operation and its place.
///
/// Results are equal to the last bit on every node and from run to run: combining goes in rank order. Integers wrap.
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
    transport: Box<dyn Transport>,
    settings: Arc<Settings>,
    clock: Clock,
}

/// When the program began.
#[derive(Clone, Copy)]
pub(crate) struct Clock(std::time::Instant);

impl Clock {
    /// A clock that shows zero now.
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Node {
    pub(crate) fn new(transport: Box<dyn Transport>, settings: Arc<Settings>, clock: Clock) -> Self {
        Self { transport, settings, clock }
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

    /// Waits until every node has called it.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn barrier(&mut self) {
        if self.may_go_on() {
            self.transport.barrier(Call::plain(Action::Barrier, Location::caller()));
        }
    }

    /// Whether `value` is true on any node.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn global_or(&mut self, value: bool) -> bool {
        let mut any = u32::from(value);
        self.combine(Action::GlobalOr, Op::Or, std::slice::from_mut(&mut any), Location::caller());
        any != 0
    }

    /// Combines a number, or a vector element by element, over all nodes: a number is answered, a vector changed in
    /// place.
    ///
    /// Bitwise operations are for integers; with `f32` or `f64` they end the job.
    ///
    /// # Participation
    /// Collective, with equal `op` and vectors of equal length.
    #[track_caller]
    pub fn reduce<O: Operand>(&mut self, op: Op, operand: O) -> O::Output {
        let place = Location::caller();
        operand.apply(|values| self.combine(Action::Reduce, op, values, place))
    }

    /// [`reduce`](Self::reduce) with [`Op::Add`].
    #[track_caller]
    pub fn reduce_add<O: Operand>(&mut self, operand: O) -> O::Output {
        self.reduce(Op::Add, operand)
    }

    /// [`reduce`](Self::reduce) with [`Op::Min`].
    #[track_caller]
    pub fn reduce_min<O: Operand>(&mut self, operand: O) -> O::Output {
        self.reduce(Op::Min, operand)
    }

    /// [`reduce`](Self::reduce) with [`Op::Max`].
    #[track_caller]
    pub fn reduce_max<O: Operand>(&mut self, operand: O) -> O::Output {
        self.reduce(Op::Max, operand)
    }

    /// Combines what the nodes *before* this one have (exclusive scan); node 0 receives the identity of `op`.
    ///
    /// A number is answered, a vector changed in place.
    ///
    /// # Participation
    /// Collective, with equal `op` and vectors of equal length.
    #[track_caller]
    pub fn scan<O: Operand>(&mut self, op: Op, operand: O) -> O::Output {
        let place = Location::caller();
        operand.apply(|values| self.combine(Action::Scan, op, values, place))
    }

    /// [`scan`](Self::scan) with [`Op::Add`].
    #[track_caller]
    pub fn scan_add<O: Operand>(&mut self, operand: O) -> O::Output {
        self.scan(Op::Add, operand)
    }

    /// Replaces `values` on every node by those of node `root`.
    ///
    /// # Participation
    /// Collective, with equal `root` and equal lengths.
    #[track_caller]
    pub fn broadcast<T: Pod>(&mut self, root: usize, values: &mut [T]) {
        let place = Location::caller();
        let call = Call::moving(Action::Broadcast, size_of::<T>(), root, values.len(), place);
        if root >= self.size() {
            let last = self.size() - 1;
            self.misuse(&call, &format!("there is no such node: nodes are 0 to {last}"));
        }
        if self.may_go_on() {
            self.transport.broadcast(call, root, cast_slice_mut(values));
        }
    }

    /// Node `root`'s `value`, on every node.
    ///
    /// # Participation
    /// Collective, with equal `root`.
    #[track_caller]
    pub fn broadcast_value<T: Pod>(&mut self, root: usize, value: T) -> T {
        let mut value = value;
        self.broadcast(root, std::slice::from_mut(&mut value));
        value
    }

    /// Every node's `values`, one after the other in rank order.
    ///
    /// # Participation
    /// Collective, with equal lengths.
    #[track_caller]
    pub fn all_gather<T: Pod>(&mut self, values: &[T]) -> Vec<T> {
        let call = Call::moving(Action::AllGather, size_of::<T>(), 0, values.len(), Location::caller());
        let mut all = vec![T::zeroed(); values.len() * self.size()];
        if self.may_go_on() {
            self.transport.all_gather(call, cast_slice(values), cast_slice_mut(&mut all));
        }
        all
    }

    /// Sends `blocks[i]` to node i, and answers with the blocks received: the one at index i comes from node i.
    ///
    /// Blocks change owner: threads pass them on without copying. Lengths are free, and may be 0. The block for this
    /// node itself stays where it is.
    ///
    /// # Participation
    /// Collective, with one block for each node.
    #[track_caller]
    pub fn all_to_all_v<T: Pod>(&mut self, blocks: Vec<Block<T>>) -> Vec<Block<T>> {
        let call = Call::moving(Action::AllToAllV, size_of::<T>(), 0, 0, Location::caller());
        if blocks.len() != self.size() {
            self.misuse(&call, &format!("{} blocks for {} nodes", blocks.len(), self.size()));
        }
        let mut raw: Vec<RawBlock> = blocks.into_iter().map(Block::into_raw).collect();
        if self.may_go_on() {
            self.transport.exchange(call, &mut raw);
        }
        raw.into_iter().map(Block::from_raw).collect()
    }

    /// Local work, on the node itself: just `f`.
    ///
    /// Only a simulated machine looks at `work`, which is what it charges the node for: the number of elementary
    /// operations that `f` stands for.
    pub fn compute<T>(&mut self, work: f64, f: impl FnOnce() -> T) -> T {
        let _ = work;
        f()
    }

    /// The time since the program began; the clock only goes forward.
    #[must_use]
    pub fn now(&self) -> Seconds {
        Seconds::new(self.clock.0.elapsed().as_secs_f64()).unwrap_or_default()
    }

    /// The environment variable `name` of node 0, if it starts with `STRATA_`: equal on all nodes, so that they may
    /// decide by it together.
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

    /// The machine that this program runs on, as node 0 found it; models fitted on another one do not hold here.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.settings.platform.clone()
    }

    /// Ends the job on every node: this one cannot go on, and says why.
    #[track_caller]
    pub fn fail(&mut self, message: impl std::fmt::Display) -> ! {
        let place = Location::caller();
        let message = format!("{message} (at {}:{})", place.file(), place.line());
        self.transport.fail(Failure { rank: self.rank(), message });
    }

    fn combine<T: Number>(
        &mut self,
        action: Action,
        op: Op,
        values: &mut [T],
        place: &'static Location<'static>,
    ) {
        let call = Call::combine(action, T::KIND, op, values.len(), place);
        if !T::KIND.has(op) {
            self.misuse(&call, "bitwise operations are for integers");
        }
        if !self.may_go_on() {
            return;
        }
        if action == Action::Scan {
            self.transport.scan(call, Scan::forward(T::KIND, op), cast_slice_mut(values));
        } else {
            self.transport.reduce(call, T::KIND, op, cast_slice_mut(values));
        }
    }

    #[cold]
    fn misuse(&mut self, call: &Call, what: &str) -> ! {
        self.transport.fail(Failure { rank: self.rank(), message: format!("{call}: {what}") });
    }

    /// False while this node unwinds from a panic and a destructor calls a collective: the others will not come, and
    /// unwinding again would abort the process, so the call does nothing.
    #[inline]
    fn may_go_on(&self) -> bool {
        !std::thread::panicking()
    }
}
