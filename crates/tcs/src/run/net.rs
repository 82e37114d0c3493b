//! The connections of the active set.

use super::cell::{Active, Cell};
use super::spool::{Spool, Transfer};
use crate::describe::{Child, Connection, Contains, Input, Network, Output, Set};
use bytemuck::Pod;
use std::marker::PhantomData;
use strata_runtime::Error;

/// The capability to use the set `S` of a task, while it is active: see [`Cell::phase`].
pub struct Net<'n, 'a, S> {
    cell: &'n mut Cell<'a>,
    set: PhantomData<S>,
}

impl<'n, 'a, S: Set> Net<'n, 'a, S> {
    pub(super) fn new(cell: &'n mut Cell<'a>) -> Self {
        Self { cell, set: PhantomData }
    }

    /// Sends a message. Returns when `values` may be reused; waits while the connection's buffer is
    /// full.
    ///
    /// # Participation
    /// Local. The job ends if the connection is not one of the task that leaves this cell, or, in a
    /// family, does not have the set's number.
    #[inline]
    #[track_caller]
    pub fn send<T: Pod, N: Network>(&mut self, connection: Connection<T, N>, values: &[T])
    where
        S: Contains<N>,
    {
        let (number, active) = self.active(connection);
        self.cell.send_bytes(number, active, bytemuck::cast_slice(values));
    }

    /// Receives a message, which must be as long as `values`; otherwise the job ends.
    ///
    /// # Participation
    /// Local, as [`send`](Self::send) at the connection's other end.
    #[inline]
    #[track_caller]
    pub fn receive<T: Pod, N: Network>(&mut self, connection: Connection<T, N>, values: &mut [T])
    where
        S: Contains<N>,
    {
        let (number, active) = self.active(connection);
        self.cell.receive_into(number, active, values);
    }

    /// Receives a message of any length.
    ///
    /// # Participation
    /// As [`receive`](Self::receive).
    #[track_caller]
    pub fn receive_vec<T: Pod, N: Network>(&mut self, connection: Connection<T, N>) -> Vec<T>
    where
        S: Contains<N>,
    {
        let (number, active) = self.active(connection);
        self.cell.receive_all(number, active)
    }

    /// Starts a DMA transfer that sends a message: returns at once, and the data leave while the
    /// cell uses other connections, works in simulated time, or waits. [`finish`](Self::finish)
    /// returns the values; the end of the phase waits for unfinished transfers. Messages of a
    /// connection stay in order.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// # use strata_tcs::{App, Target, link, run};
    /// # strata_tcs::communication! { networks { Across } sets { Swap: Across; } }
    /// # let mut app = App::new("swap");
    /// # let root = app.task("swap", 2);
    /// let lanes = [app[root].connect::<u64, Across>(0, 1), app[root].connect::<u64, Across>(1, 0)];
    /// app[root].set::<Swap>();
    /// let image = link(&app, root, &Target::crossbar(2))?;
    /// let found = Machine::threads(2)?.run(|node| {
    ///     run(node, &image, |cell| {
    ///         let me = cell.id();
    ///         cell.phase::<Swap, _>(|net| {
    ///             // More than can be under way, both ways at once.
    ///             let sends = net.spool(lanes[me], vec![me as u64; 10_000]);
    ///             let theirs = net.receive_vec(lanes[1 - me]);
    ///             let mine = net.finish(sends);
    ///             Ok((mine[0], theirs[9_999]))
    ///         })
    ///     })
    /// })?;
    /// assert_eq!(found, [Some((0, 1)), Some((1, 0))]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Participation
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn spool<T: Pod, N: Network>(&mut self, connection: Connection<T, N>, values: Vec<T>) -> Spool<T>
    where
        S: Contains<N>,
    {
        let (number, active) = self.active(connection);
        Spool { number: self.cell.start_spool(number, active, true, values), of: PhantomData }
    }

    /// Starts a DMA transfer that receives a message into `values`, which must have the message's
    /// length; [`finish`](Self::finish) returns them.
    ///
    /// # Participation
    /// As [`receive`](Self::receive).
    #[track_caller]
    pub fn spool_receive<T: Pod, N: Network>(
        &mut self,
        connection: Connection<T, N>,
        values: Vec<T>,
    ) -> Spool<T>
    where
        S: Contains<N>,
    {
        let (number, active) = self.active(connection);
        Spool { number: self.cell.start_spool(number, active, false, values), of: PhantomData }
    }

    /// Waits until a DMA transfer is complete, and returns its values.
    ///
    /// # Participation
    /// Local. The job ends if the transfer is not of this phase.
    #[track_caller]
    pub fn finish<T: Pod>(&mut self, spool: Spool<T>) -> Vec<T> {
        match self.cell.end_spool(spool.number).and_then(Transfer::into_values) {
            Some(values) => values,
            None if std::thread::panicking() => Vec::new(),
            None => {
                self.cell.misuse("a spool is finished in another phase than that in which it was started")
            }
        }
    }

    /// True if a connection is in the active part of the set. False only if the linker has split
    /// the set, or the connection has another number in its family.
    #[must_use]
    pub fn has<T, N: Network>(&self, connection: Connection<T, N>) -> bool
    where
        S: Contains<N>,
    {
        self.cell.active(connection.index).is_some()
    }

    #[inline]
    #[track_caller]
    fn active<T, N: Network>(&mut self, connection: Connection<T, N>) -> (usize, Active<'a>) {
        let number = self.cell.number(connection.task, connection.index);
        match self.cell.active(connection.index) {
            Some(active) => (number, active),
            None => self
                .cell
                .misuse("the connection is in another part, or has another number, than the active set"),
        }
    }

    /// As [`Cell::id`].
    #[must_use]
    pub fn id(&self) -> usize {
        self.cell.id()
    }

    /// As [`Cell::clocks`].
    #[must_use]
    pub fn clocks(&self) -> f64 {
        self.cell.clocks()
    }

    /// As [`Cell::work`].
    pub fn work<R>(&mut self, clocks: f64, f: impl FnOnce() -> R) -> R {
        self.cell.work(clocks, f)
    }

    /// As [`Cell::sync`].
    ///
    /// # Participation
    /// As for [`Cell::sync`].
    #[track_caller]
    pub fn sync(&mut self) {
        self.cell.sync();
    }

    /// As [`Cell::start`]; the set stays active in this task.
    ///
    /// # Participation
    /// As for [`Cell::start`].
    ///
    /// # Errors
    /// As for [`Cell::start`].
    #[track_caller]
    pub fn start<R>(
        &mut self,
        child: Child,
        f: impl FnOnce(&mut Cell<'a>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.cell.start(child, f)
    }

    /// As [`Cell::write`].
    ///
    /// # Participation
    /// As for [`Cell::write`].
    #[track_caller]
    pub fn write<T: Pod>(&mut self, port: Output<T>, values: &[T]) {
        self.cell.write(port, values);
    }

    /// As [`Cell::read`].
    ///
    /// # Participation
    /// As for [`Cell::read`].
    #[track_caller]
    pub fn read<T: Pod>(&mut self, port: Input<T>, values: &mut [T]) {
        self.cell.read(port, values);
    }
}
