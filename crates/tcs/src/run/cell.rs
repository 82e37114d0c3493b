//! A cell of a task: the four control primitives, written once for all transports.

mod carry;
mod deposit;

pub(crate) use deposit::{Compiled, Sent};

use super::RunOptions;
use super::fabric::Fabric;
use super::net::Net;
use super::switch::{Mode, SwitchStep};
use crate::barrier::{Algorithm, Step};
use crate::describe::{Child, Input, Output, Set};
use crate::link::{Image, Instance};
use bytemuck::{Pod, cast_slice};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::rc::Rc;
use strata_runtime::{Error, Node};

/// A cell while it executes a task.
///
/// Every operation involves only the cells of one task: a switch, a start or an end needs no cell
/// outside the task (or its connected component).
pub struct Cell<'a> {
    node: &'a mut Node,
    image: &'a Image,
    fabric: Fabric,
    options: RunOptions,
    /// The stack of tasks that this cell executes, each started by the one before.
    frames: Vec<Frame>,
    /// Cycles, in a simulation.
    time: f64,
    /// True if the node's clock is the simulated machine's and must be kept in step.
    clocked: bool,
    tables: BTreeMap<(usize, usize, usize), Rc<Table>>,
}

#[derive(Clone)]
struct Frame {
    instance: usize,
    id: usize,
    /// The active set: its number, the part, and the part's connections.
    active: Option<(usize, usize, Rc<Table>)>,
}

/// A cell's own connections in a set, by their numbers in the task.
pub(super) type Table = Vec<Option<Active>>;

/// An active connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    /// Rate in bytes a cycle.
    pub(super) rate: f64,
    /// Latency in cycles from end to end.
    pub(super) latency: f64,
}

impl<'a> Cell<'a> {
    pub(super) fn new(
        node: &'a mut Node,
        image: &'a Image,
        fabric: Fabric,
        options: RunOptions,
        id: usize,
        clocked: bool,
    ) -> Self {
        let frames = vec![Frame { instance: 0, id, active: None }];
        let tables = BTreeMap::new();
        let mut this = Self { node, image, fabric, options, frames, time: 0.0, clocked, tables };
        this.absorb();
        this
    }

    /// Sets the node's clock to this cell's time.
    fn show(&mut self) {
        if self.clocked {
            self.node.circuit_pass_until(self.image.target.time(self.time));
        }
    }

    /// Advances this cell's time to at least the node's, which other work has advanced.
    pub(in crate::run) fn absorb(&mut self) {
        let now = self.node.circuit_time();
        if self.clocked && now > self.image.target.time(self.time) {
            self.time = now.seconds() * self.image.target.mhz * 1e6;
        }
    }

    /// This cell's number in the task that it executes.
    #[must_use]
    pub fn id(&self) -> usize {
        self.frame().id
    }

    /// The number of cells of the task.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.instance().cells.len()
    }

    /// The names of the children on the path from the root to the task.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.instance().path
    }

    /// Cycles since the program began: of the image's machine in a simulation, otherwise by the
    /// node's clock.
    #[must_use]
    pub fn clocks(&self) -> f64 {
        if self.options.simulated { self.time } else { self.node.now().get() * self.image.target.mhz * 1e6 }
    }

    /// Local work of `clocks` cycles: runs `f`, and in a simulation advances the time.
    pub fn work<R>(&mut self, clocks: f64, f: impl FnOnce() -> R) -> R {
        if self.options.simulated {
            self.time += clocks.max(0.0);
        }
        f()
    }

    /// In a simulation, waits until the cell's time is at least `clocks` cycles, as devices with a
    /// fixed pace do. Otherwise does nothing.
    pub fn until(&mut self, clocks: f64) {
        if self.options.simulated {
            self.time = self.time.max(clocks);
        }
    }

    /// A barrier of the task's cells.
    ///
    /// # Participation
    /// Collective over the task's cells.
    #[track_caller]
    pub fn sync(&mut self) {
        let own = self.instance().own;
        self.barrier(own);
    }

    /// Makes `S` the active set and runs `f`, which can use its connections. Nothing is switched if
    /// `S` is active already; it stays active afterwards.
    ///
    /// ```compile_fail,E0277
    /// # strata_tcs::communication! { networks { A, B } sets { One: A; Two: B; } }
    /// # fn program(cell: &mut strata_tcs::Cell<'_>, b: strata_tcs::Connection<u8, B>) {
    /// let _ = cell.phase::<One, _>(|net| {
    ///     net.send(b, &[1]);                          // B is not in One
    ///     Ok(())
    /// });
    /// # }
    /// ```
    ///
    /// The capability cannot leave `f`, and `f` cannot switch:
    ///
    /// ```compile_fail,E0599
    /// # strata_tcs::communication! { networks { A, B } sets { One: A; Two: B; } }
    /// # fn program(cell: &mut strata_tcs::Cell<'_>) {
    /// let _ = cell.phase::<One, _>(|net| net.phase::<Two, _>(|_| Ok(())));
    /// # }
    /// ```
    ///
    /// # Participation
    /// Collective over the task's cells, in the same order. The job ends if the task has not
    /// declared the set, or the linker has split it.
    ///
    /// # Errors
    /// None: an error returned by `f` ends the job, with the task and the cell in its message.
    #[track_caller]
    pub fn phase<S: Set, R>(
        &mut self,
        f: impl FnOnce(&mut Net<'_, 'a, S>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.phase_in(0, f)
    }

    /// As [`phase`](Self::phase), with the set numbered `index` of the family `S`.
    ///
    /// # Participation
    /// As [`phase`](Self::phase).
    ///
    /// # Errors
    /// As [`phase`](Self::phase).
    #[track_caller]
    pub fn phase_in<S: Set, R>(
        &mut self,
        index: usize,
        f: impl FnOnce(&mut Net<'_, 'a, S>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let set = self.set_of::<S>(index);
        let parts = self.instance().sets[set].parts.len();
        if parts > 1 {
            let name = &self.instance().sets[set].name;
            self.misuse(&format!("the linker has split set `{name}` into {parts} parts: use `phases`"));
        }
        self.switch_to(set, 0);
        self.checked(f)
    }

    /// As [`phase`](Self::phase), for a set that the linker may have split: runs `f` once for each
    /// part. [`Net::has`] is true for the connections of the current part.
    ///
    /// # Participation
    /// As [`phase`](Self::phase).
    ///
    /// # Errors
    /// As [`phase`](Self::phase).
    #[track_caller]
    pub fn phases<S: Set>(
        &mut self,
        f: impl FnMut(&mut Net<'_, 'a, S>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.phases_in(0, f)
    }

    /// As [`phases`](Self::phases), with the set numbered `index` of the family `S`.
    ///
    /// # Participation
    /// As [`phase`](Self::phase).
    ///
    /// # Errors
    /// As [`phase`](Self::phase).
    #[track_caller]
    pub fn phases_in<S: Set>(
        &mut self,
        index: usize,
        mut f: impl FnMut(&mut Net<'_, 'a, S>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let set = self.set_of::<S>(index);
        for part in 0..self.instance().sets[set].parts.len() {
            self.switch_to(set, part);
            self.checked(&mut f)?;
        }
        Ok(())
    }

    fn checked<S: Set, R>(
        &mut self,
        f: impl FnOnce(&mut Net<'_, 'a, S>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let before = self.newest_spool();
        let result = f(&mut Net::new(self));
        if let Err(error) = &result {
            self.fail(error);
        }
        self.finish_after(before);
        result
    }

    /// Starts a child, runs `f` as its program on this cell, and ends the child. This cell's own
    /// task is suspended on this cell meanwhile. The child's external ports are open from the
    /// start, and its first declared set is active: a child with one set needs no switch.
    ///
    /// # Participation
    /// Collective over the cells of the child's connected component: its own cells, and those of
    /// siblings joined to it by external connections. The job ends if the child is not one of the
    /// current task's, or this cell is not one of the child's cells.
    ///
    /// # Errors
    /// As [`phase`](Self::phase).
    #[track_caller]
    pub fn start<R>(
        &mut self,
        child: Child,
        f: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if child.parent != self.instance().task {
            self.misuse("the child is one of another task");
        }
        let machine = self.node.rank();
        let instance = self.instance().children[child.index];
        let started = &self.image.instances[instance];
        let component = started.component;
        let Some(id) = started.cells.iter().position(|cell| *cell == machine) else {
            let path = started.path.clone();
            self.misuse(&format!("this cell is not one of the child `{path}`"));
        };
        self.charge(self.image.target.task_change);
        self.frames.push(Frame { instance, id, active: None });
        let first = started.sets.first().map(|set| &set.parts).is_some_and(|parts| !parts.is_empty());
        let new = if first && self.options.check { self.own_connections(instance, 0, 0) } else { Vec::new() };
        // All cells of the component must have arrived before any sends, so a start needs a
        // barrier.
        let mode = if self.image.switch == Mode::Neighbour { Mode::Single } else { self.image.switch };
        self.switch(mode, component, &[], &new);
        if first {
            let table = self.table(instance, 0, 0);
            if let Some(frame) = self.frames.last_mut() {
                frame.active = Some((0, 0, table));
            }
        }
        let result = f(self);
        if let Err(error) = &result {
            self.fail(error);
        }
        self.barrier(component);
        self.charge(self.image.target.restore);
        self.frames.pop();
        result
    }

    /// Sends a message through an external port of the task.
    ///
    /// # Participation
    /// Local. The job ends if the port is not one of the task at this cell.
    #[track_caller]
    pub fn write<T: Pod>(&mut self, port: Output<T>, values: &[T]) {
        let (connection, active) = self.external(port.task, port.index, "output");
        self.send_bytes(connection, active, cast_slice(values));
    }

    /// Receives a message through an external port of the task; the message must be as long as
    /// `values`.
    ///
    /// # Participation
    /// As [`write`](Self::write).
    #[track_caller]
    pub fn read<T: Pod>(&mut self, port: Input<T>, values: &mut [T]) {
        let (connection, active) = self.external(port.task, port.index, "input");
        self.receive_into(connection, active, values);
    }

    /// Receives a message of any length through an external port of the task.
    ///
    /// # Participation
    /// As [`write`](Self::write).
    #[track_caller]
    pub fn read_vec<T: Pod>(&mut self, port: Input<T>) -> Vec<T> {
        let (connection, active) = self.external(port.task, port.index, "input");
        self.receive_all(connection, active)
    }

    /// Ends the job; the message names the task and the cell.
    #[track_caller]
    pub fn fail(&mut self, message: impl std::fmt::Display) -> ! {
        let (task, id) = (self.instance().path.clone(), self.id());
        self.node.fail(format!("task {task}, cell {id}: {message}"));
    }

    #[cold]
    #[track_caller]
    pub(super) fn misuse(&mut self, what: &str) -> ! {
        self.fail(what)
    }

    fn frame(&self) -> &Frame {
        match self.frames.last() {
            Some(frame) => frame,
            None => unreachable!("the root's frame is never popped"),
        }
    }

    fn instance(&self) -> &'a Instance {
        &self.image.instances[self.frame().instance]
    }

    fn charge(&mut self, clocks: f64) {
        if self.options.simulated {
            self.time += clocks;
        }
    }

    #[track_caller]
    fn set_of<S: Set>(&mut self, index: usize) -> usize {
        let found =
            self.instance().sets.iter().position(|set| set.tag == TypeId::of::<S>() && set.index == index);
        match found {
            Some(set) => set,
            None => self.misuse(&format!("the task has no set `{}`", crate::link::numbered(S::NAME, index))),
        }
    }

    #[track_caller]
    fn switch_to(&mut self, set: usize, part: usize) {
        if let Some((active, of, _)) = &self.frame().active
            && (*active, *of) == (set, part)
        {
            return;
        }
        let instance = self.frame().instance;
        let (old, new) = if self.options.check || self.image.switch == Mode::Neighbour {
            let active = self.frame().active.as_ref();
            let old = active.map(|(set, part, _)| self.own_connections(instance, *set, *part));
            (old.unwrap_or_default(), self.own_connections(instance, set, part))
        } else {
            (Vec::new(), Vec::new())
        };
        self.switch(self.image.switch, self.instance().own, &old, &new);
        let table = self.table(instance, set, part);
        if let Some(frame) = self.frames.last_mut() {
            frame.active = Some((set, part, table));
        }
    }

    /// The connections of a set's part that begin or end at this cell.
    fn own_connections(&self, instance: usize, set: usize, part: usize) -> Vec<usize> {
        let machine = self.node.rank();
        let ends = |number: &usize| {
            let linked = &self.image.connections[*number];
            linked.from == machine || linked.to == machine
        };
        let part = &self.image.instances[instance].sets[set].parts[part];
        part.connections.iter().map(|(number, _)| *number).filter(ends).collect()
    }

    fn table(&mut self, instance: usize, set: usize, part: usize) -> Rc<Table> {
        let image = self.image;
        let table = self.tables.entry((instance, set, part)).or_insert_with(|| {
            let of = &image.instances[instance];
            let part = &of.sets[set].parts[part];
            let mut table = Vec::new();
            for ((number, path), guarantee) in part.connections.iter().zip(&part.guaranteed) {
                let at = number - of.first;
                if table.len() <= at {
                    table.resize(at + 1, None);
                }
                table[at] =
                    Some(Active { rate: guarantee.rate, latency: image.target.hop * path.hops() as f64 });
            }
            Rc::new(table)
        });
        Rc::clone(table)
    }

    /// Carries out the steps of a switch from the old to the new connections at this cell.
    #[track_caller]
    fn switch(&mut self, mode: Mode, barrier: usize, old: &[usize], new: &[usize]) {
        let machine = self.node.rank();
        let ends = |numbers: &[usize], others: &[usize], into: bool| -> Vec<usize> {
            let keep = |number: &usize| {
                let linked = &self.image.connections[*number];
                !others.contains(number) && if into { linked.to == machine } else { linked.from == machine }
            };
            numbers.iter().copied().filter(keep).collect()
        };
        let (left, entered, leaving) = (ends(old, new, true), ends(new, old, true), ends(new, old, false));
        for step in mode.steps() {
            match step {
                SwitchStep::Barrier => self.barrier(barrier),
                // Each connection has its own buffers here, so messages under way need not be
                // drained.
                SwitchStep::Drain => {}
                SwitchStep::Arm => {
                    // A single cell has no connections to change.
                    if self.image.barriers[barrier].cells.len() > 1 {
                        self.charge(self.image.target.reconfigure);
                    }
                    if self.options.check {
                        self.check(&left, &entered);
                    }
                }
                SwitchStep::TellReady => entered.iter().for_each(|number| self.tell_ready(*number)),
                SwitchStep::AwaitReady => leaving.iter().for_each(|number| self.await_ready(*number)),
            }
        }
    }

    /// Checks that no data of the old set is unreceived and no data of the new set has arrived
    /// early.
    #[track_caller]
    fn check(&mut self, left: &[usize], entered: &[usize]) {
        if !self.clocked {
            self.node.poll();
        }
        let arrived = |number: &&usize| match &self.fabric {
            Fabric::Shared(shared) => shared.has_arrived(**number),
            Fabric::Messages(messages) => messages.has_arrived(**number),
        };
        let (over, early) = (left.iter().find(arrived).copied(), entered.iter().find(arrived).copied());
        let from = |number: usize| self.image.connections[number].from;
        if let Some(number) = over {
            let from = from(number);
            self.misuse(&format!(
                "a message from cell {from} of the machine was not received before the switch"
            ));
        }
        if let Some(number) = early {
            let from = from(number);
            self.misuse(&format!("data from cell {from} of the machine came before this cell had switched"));
        }
    }

    #[track_caller]
    fn barrier(&mut self, barrier: usize) {
        let image = self.image;
        let membership = &image.barriers[barrier];
        if membership.algorithm == Algorithm::Native {
            // All of the machine's cells take part, so there are no other nodes.
            self.show();
            if self.clocked {
                self.node.barrier();
                self.absorb();
            } else if self.options.simulated {
                self.time = self.node.reduce_max(self.time) + membership.clocks;
            } else {
                self.node.barrier();
            }
            return;
        }
        let messages = match &mut self.fabric {
            Fabric::Shared(shared) => return shared.barrier(self.node, barrier),
            Fabric::Messages(messages) => messages,
        };
        let machine = self.node.rank();
        let Some(member) = membership.cells.iter().position(|cell| *cell == machine) else { return };
        let steps = membership.schedule.steps(member);
        if steps.is_empty() {
            return;
        }
        let (target, costs) = (&image.target, &image.target.barrier);
        let dimensions =
            if let Algorithm::Rings(extents) = &membership.algorithm { extents.len() } else { 1 };
        let mut time = self.time + costs.startup + target.barrier_dimension * (dimensions - 1) as f64;
        for step in steps {
            match *step {
                Step::Send(to) => {
                    time += costs.send;
                    let to = membership.cells[to];
                    let hops = target.shape.distance(machine, to);
                    let arrival = time + costs.latency_over(hops);
                    messages.step(self.node, to, (barrier, member), time, arrival);
                }
                Step::Receive(from) => {
                    if self.clocked {
                        self.node.circuit_pass_until(target.time(time));
                    }
                    let sent = messages.await_step(self.node, barrier, from);
                    let hops = target.shape.distance(membership.cells[from], machine);
                    time = time.max(sent + costs.latency_over(hops)) + costs.receive;
                }
            }
        }
        self.time = time;
    }

    fn tell_ready(&mut self, number: usize) {
        let linked = &self.image.connections[number];
        let latency = self.readiness(number);
        match &mut self.fabric {
            Fabric::Shared(shared) => shared.tell_ready(number),
            Fabric::Messages(messages) => {
                self.time += self.image.target.barrier.send;
                messages.tell_ready(self.node, linked.from, number, self.time, self.time + latency);
            }
        }
    }

    #[track_caller]
    fn await_ready(&mut self, number: usize) {
        self.show();
        let latency = self.readiness(number);
        match &mut self.fabric {
            Fabric::Shared(shared) => shared.await_ready(self.node, number),
            Fabric::Messages(messages) => {
                let sent = messages.await_ready(self.node, number);
                self.time = self.time.max(sent + latency) + self.image.target.barrier.receive;
            }
        }
    }

    /// The latency of a readiness message between a connection's ends.
    fn readiness(&self, number: usize) -> f64 {
        let linked = &self.image.connections[number];
        let target = &self.image.target;
        target.barrier.latency_over(target.shape.distance(linked.from, linked.to))
    }
}
