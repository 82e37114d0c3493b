//! A cell of a task: the four control primitives, written once for all transports.

mod carry;
mod deposit;

pub(crate) use deposit::Sent;

use super::RunOptions;
use super::fabric::Fabric;
use super::mail::What;
use super::net::Net;
use super::place::Place;
use crate::barrier::{Algorithm, Step};
use crate::describe::{Child, Input, Name, Output, Set};
use crate::link::schedule::Schedule;
use crate::link::{Image, Instance, Part};
use crate::switch::{Mode, SwitchStep};
use bytemuck::{Pod, cast_slice};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use strata_runtime::{Error, Node};

/// A cell while it executes a task.
///
/// Every operation involves only the cells of one task: a switch, a start or an end needs no cell
/// outside the task (or its connected component).
pub struct Cell<'a> {
    node: &'a mut Node,
    image: &'a Image,
    fabric: Fabric<'a>,
    options: RunOptions,
    /// The stack of tasks that this cell executes, each started by the one before.
    frames: Vec<Frame<'a>>,
    /// Cycles, in a simulation.
    time: f64,
    /// True if the node's clock is the simulated machine's and must be kept in step.
    clocked: bool,
    /// By instance, what was active before and what is then.
    changes: BTreeMap<(usize, Option<PartOf>, Option<PartOf>), Rc<Change<'a>>>,
    /// By connection with a reservation, where senders are checked: the bytes ahead of it, and when.
    ahead: BTreeMap<usize, (f64, f64)>,
    /// By instance and first set.
    schedules: BTreeMap<(usize, usize), Schedule>,
}

/// A set's number and a part of it.
type PartOf = (usize, usize);

/// What changes at this cell where a task's active set does.
#[derive(Debug)]
struct Change<'a> {
    /// The connections of the new set.
    table: Rc<Table<'a>>,
    /// Connections to this cell that are left.
    left: Vec<usize>,
    /// Connections to this cell that are entered.
    entered: Vec<usize>,
    /// Connections from this cell that are entered.
    opened: Vec<usize>,
}

#[derive(Clone)]
struct Frame<'a> {
    instance: usize,
    id: usize,
    /// The active set: its number, the part, and the part's connections.
    active: Option<(PartOf, Rc<Table<'a>>)>,
    /// How often it has switched.
    switches: u64,
}

/// A cell's own connections in a set, by their numbers in the task.
pub(super) type Table<'a> = Vec<Option<Active<'a>>>;

/// An active connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active<'a> {
    /// Guaranteed rate in bytes a cycle.
    pub(super) rate: f64,
    /// The links on its path.
    pub(super) links: &'a [usize],
    /// Latency in cycles from end to end.
    pub(super) latency: f64,
}

impl<'a> Cell<'a> {
    pub(super) fn new(
        node: &'a mut Node,
        image: &'a Image,
        fabric: Fabric<'a>,
        options: RunOptions,
        id: usize,
        clocked: bool,
    ) -> Self {
        let frames = vec![Frame { instance: 0, id, active: None, switches: 0 }];
        let (changes, schedules, ahead) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut this =
            Self { node, image, fabric, options, frames, time: 0.0, clocked, changes, ahead, schedules };
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
        let (own, place) = (self.instance().own, Place::Sync(self.frame().instance));
        self.barrier(own, place.word());
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
    /// Collective over the task's cells, in the same order. The job ends if the cells are not at the
    /// same place, if a message of the set that is left has not been received, if the task has not
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

    /// The schedule of a pattern whose phases are these sets of the family `S`.
    #[track_caller]
    pub(crate) fn schedule<S: Set>(&mut self, indices: Range<usize>) -> Schedule {
        let instance = self.frame().instance;
        let Some(first) = (!indices.is_empty()).then(|| self.set_of::<S>(indices.start)) else {
            return Schedule::of(self.image, instance, []);
        };
        if let Some(known) = self.schedules.get(&(instance, first)) {
            return *known;
        }
        let sets: Vec<usize> = indices.map(|index| self.set_of::<S>(index)).collect();
        let schedule = Schedule::of(self.image, instance, sets);
        self.schedules.insert((instance, first), schedule);
        schedule
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
        self.frames.push(Frame { instance, id, active: None, switches: 0 });
        let first = started.sets.first().is_some_and(|set| !set.parts.is_empty()).then_some((0, 0));
        // All cells of the component must have arrived before any sends, so a start needs a
        // barrier.
        let mode = if self.image.switch == Mode::Neighbour { Mode::Single } else { self.image.switch };
        let start = Place::Start(started.together).word();
        self.switch(mode, component, start, first);
        let result = f(self);
        if let Err(error) = &result {
            self.fail(error);
        }
        let end = Place::End(started.together).word();
        self.barrier(component, end);
        self.leave();
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

    /// This cell has returned from its program.
    pub(super) fn ends(&mut self) {
        self.fabric.watch().ends();
    }

    fn frame(&self) -> &Frame<'a> {
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
        let tag = Name::of_declared::<S>();
        let found = self.instance().sets.iter().position(|set| set.tag == tag && set.index == index);
        match found {
            Some(set) => set,
            None => self.misuse(&format!("the task has no set `{}`", crate::link::numbered(S::NAME, index))),
        }
    }

    #[track_caller]
    fn switch_to(&mut self, set: usize, part: usize) {
        let Frame { instance, ref active, switches: turn, .. } = *self.frame();
        if active.as_ref().is_some_and(|(active, _)| *active == (set, part)) {
            return;
        }
        let place = Place::Switch { instance, set, part, turn }.word();
        self.switch(self.image.switch, self.instance().own, place, Some((set, part)));
        if let Some(frame) = self.frames.last_mut() {
            frame.switches += 1;
        }
    }

    /// What changes at this cell if `new` becomes active in its task; or if the task ends, which
    /// leaves all of its sets.
    fn change(&mut self, new: Option<PartOf>) -> Rc<Change<'a>> {
        let Frame { instance, ref active, .. } = *self.frame();
        let old = active.as_ref().map(|(old, _)| *old);
        if let Some(change) = self.changes.get(&(instance, old, new)) {
            return Rc::clone(change);
        }
        let (image, machine) = (self.image, self.node.rank());
        let of = &image.instances[instance];
        let part_of = |part: Option<PartOf>| part.map(|(set, part)| &of.sets[set].parts[part]);
        let numbers = |parts: &mut dyn Iterator<Item = &Part>| -> Vec<usize> {
            parts.flat_map(|part| &part.connections).map(|(number, _)| *number).collect()
        };
        let (olds, news) = match new {
            Some(_) => (numbers(&mut part_of(old).into_iter()), numbers(&mut part_of(new).into_iter())),
            None => (numbers(&mut of.sets.iter().flat_map(|set| &set.parts)), Vec::new()),
        };
        let ends = |numbers: &[usize], others: &[usize], into: bool| -> Vec<usize> {
            let keep = |number: &usize| {
                let linked = &image.connections[*number];
                let end = if into { linked.to } else { linked.from };
                end == machine && !others.contains(number)
            };
            numbers.iter().copied().filter(keep).collect()
        };
        let mut table = Table::new();
        for ((number, path), guarantee) in
            part_of(new).into_iter().flat_map(|part| part.connections.iter().zip(&part.guaranteed))
        {
            let at = number - of.first;
            if table.len() <= at {
                table.resize(at + 1, None);
            }
            table[at] = Some(Active {
                rate: guarantee.share.unwrap_or(f64::INFINITY),
                links: &path.links,
                latency: image.target.hop * path.hops() as f64,
            });
        }
        let change = Rc::new(Change {
            table: Rc::new(table),
            left: ends(&olds, &news, true),
            entered: ends(&news, &olds, true),
            opened: ends(&news, &olds, false),
        });
        self.changes.insert((instance, old, new), Rc::clone(&change));
        change
    }

    /// A task ends at this cell: all that was sent to it has been received.
    #[track_caller]
    fn leave(&mut self) {
        let change = self.change(None);
        self.unread(&change.left);
        let parent = self.instance().parent;
        let wired = parent.map_or(&[][..], |parent| &self.image.instances[parent].wires);
        let machine = self.node.rank();
        let inward =
            |number: &&usize| wired.contains(number) && self.image.connections[**number].to == machine;
        let ports: Vec<usize> = self.instance().ports.iter().filter(inward).copied().collect();
        self.unread(&ports);
    }

    /// Ends the job if a message of these connections has not been received.
    #[track_caller]
    fn unread(&mut self, connections: &[usize]) {
        let unread = connections.iter().find(|number| self.fabric.has_arrived(**number));
        if let Some(number) = unread
            && !std::thread::panicking()
        {
            self.fabric.watch().unread(self.node, *number);
        }
    }

    /// Carries out the steps of a switch to `new` at this cell, at the rendezvous `place`.
    #[track_caller]
    fn switch(&mut self, mode: Mode, barrier: usize, place: u64, new: Option<PartOf>) {
        let change = self.change(new);
        for step in mode.steps() {
            match step {
                SwitchStep::Barrier => self.barrier(barrier, place),
                // Each connection has its own buffers here, so messages under way need not be
                // drained.
                SwitchStep::Drain => {}
                SwitchStep::Arm => {
                    // A single cell has no connections to change.
                    if self.image.barriers[barrier].cells.len() > 1 {
                        self.charge(self.image.target.reconfigure);
                    }
                    if self.options.check && !self.clocked {
                        self.node.poll();
                    }
                    if self.options.check {
                        self.early(&change.entered);
                    }
                    if let Fabric::Messages(messages) = &mut self.fabric {
                        change
                            .entered
                            .iter()
                            .chain(&change.opened)
                            .for_each(|number| messages.enter(*number));
                    }
                }
                SwitchStep::TellReady => {
                    change.entered.iter().for_each(|number| self.tell_ready(*number, place));
                }
                SwitchStep::AwaitReady => {
                    // No closure, so that the caller's place is known.
                    for number in &change.opened {
                        self.await_ready(*number, place);
                    }
                }
            }
        }
        // Only now have all cells sent what they do in the old set.
        self.unread(&change.left);
        if let (Some(frame), Some(new)) = (self.frames.last_mut(), new) {
            frame.active = Some((new, Rc::clone(&change.table)));
        }
    }

    /// Ends the job if data of a connection has arrived before this cell has switched to it.
    #[track_caller]
    fn early(&mut self, entered: &[usize]) {
        let early = entered.iter().find(|number| self.fabric.has_arrived(**number));
        if let Some(number) = early {
            let name = &self.image.connections[*number].name;
            self.misuse(&format!("data of {name} came before this cell had switched"));
        }
    }

    /// A barrier, at the rendezvous `place`.
    #[track_caller]
    fn barrier(&mut self, barrier: usize, place: u64) {
        let image = self.image;
        let membership = &image.barriers[barrier];
        if membership.algorithm == Algorithm::Native {
            return self.native(barrier, place);
        }
        let messages = match &mut self.fabric {
            Fabric::Shared(shared) => return shared.barrier(self.node, barrier, place),
            Fabric::Messages(messages) => messages,
        };
        let machine = self.node.rank();
        let Some(member) = membership.cells.iter().position(|cell| *cell == machine) else { return };
        let steps = membership.schedule.steps(member);
        if steps.is_empty() {
            return;
        }
        let (target, costs) = (&image.target, &membership.costs);
        let mut time = self.time + costs.startup + membership.more;
        for step in steps {
            match *step {
                Step::Send(to) => {
                    time += costs.send;
                    let to = membership.cells[to];
                    let hops = target.shape.distance(machine, to);
                    let arrival = time + costs.latency_over(hops);
                    let step = (What::Step, (barrier, member));
                    messages.tell_place(self.node, to, step, place, (time, arrival));
                }
                Step::Receive(from) => {
                    if self.clocked {
                        self.node.circuit_pass_until(target.time(time));
                    }
                    let other = membership.cells[from];
                    let sent = messages.await_place(self.node, other, (What::Step, (barrier, from)), place);
                    let hops = target.shape.distance(other, machine);
                    time = time.max(sent + costs.latency_over(hops)) + costs.receive;
                }
            }
        }
        self.time = time;
    }

    /// The machine's own barrier. All of its cells take part, so there are no other nodes.
    #[track_caller]
    fn native(&mut self, barrier: usize, place: u64) {
        self.fabric.watch().come(place);
        self.show();
        let (node, cells) = (&mut *self.node, &self.image.barriers[barrier].cells);
        let clocks = self.image.barriers[barrier].clocks;
        // Where time is simulated, names travel beside the barrier, from each cell to the next.
        if let Fabric::Messages(messages) = &mut self.fabric
            && self.options.simulated
        {
            let me = node.rank();
            let at = cells.iter().position(|cell| *cell == me).unwrap_or(0);
            let next = cells[(at + 1) % cells.len()];
            let step = |of: usize| (What::Step, (barrier, of));
            messages.tell_place(node, next, step(at), place, (self.time, self.time));
            if self.clocked {
                node.barrier();
            } else {
                self.time = node.reduce_max(self.time) + clocks;
            }
            let before = (at + cells.len() - 1) % cells.len();
            messages.await_place(node, cells[before], step(before), place);
        } else {
            let mut ends = [place, !place];
            node.reduce_max(&mut ends);
            if ends != [place, !place] {
                let theirs = if ends[0] == place { !ends[1] } else { ends[0] };
                self.fabric.watch().mismatch(self.node, None, theirs);
            }
        }
        self.absorb();
    }

    fn tell_ready(&mut self, number: usize, place: u64) {
        let linked = &self.image.connections[number];
        let latency = self.readiness(number);
        match &mut self.fabric {
            Fabric::Shared(shared) => shared.tell_ready(number, place),
            Fabric::Messages(messages) => {
                self.time += self.image.target.barrier.send;
                let (ready, times) = ((What::Ready, (number, 0)), (self.time, self.time + latency));
                messages.tell_place(self.node, linked.from, ready, place, times);
            }
        }
    }

    #[track_caller]
    fn await_ready(&mut self, number: usize, place: u64) {
        self.show();
        let latency = self.readiness(number);
        let to = self.image.connections[number].to;
        match &mut self.fabric {
            Fabric::Shared(shared) => shared.await_ready(self.node, (number, to), place),
            Fabric::Messages(messages) => {
                let sent = messages.await_place(self.node, to, (What::Ready, (number, 0)), place);
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
