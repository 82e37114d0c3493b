//! Patterns with a root, cell 0: scatter and gather, reduction and broadcast.

use super::forms::{Form, Kind};
use crate::describe::{App, Connection, Contains, Set, TaskId};
use crate::link::schedule::Schedule;
use crate::run::{Cell, Net, Sent};
use bytemuck::Pod;
use strata_runtime::{Block, Error};

crate::communication! {
    networks {
        /// From the root to each cell.
        pub Out,
        /// From each cell to the root.
        pub In,
        /// From children to parents of a binomial tree.
        pub Up,
        /// From parents to children.
        pub Down
    }
    sets {
        /// The root gives each cell a block.
        pub Scatter: Out;
        /// Each cell gives the root a block.
        pub Gather: In;
        /// Both at once, where the machine has room for it.
        Star: Out, In;
        /// Values are combined up the tree, and the result is sent down.
        pub Combine: Up, Down;
    }
}

/// Scatter and gather, described in a task. The linker may split their sets, because the root has a
/// connection to every other cell.
#[derive(Clone, Debug)]
pub struct ScatterGather<T> {
    /// The connection to each cell, except the root.
    out: Vec<Connection<T, Out>>,
    into: Vec<Connection<T, In>>,
    /// Cycles of the root's work at each transfer, in simulations.
    local: f64,
}

impl<T: Pod> ScatterGather<T> {
    /// Describes both sets in `task`; `depth` is the buffer capacity of a connection in bytes.
    pub fn new(app: &mut App, task: TaskId, depth: usize) -> Self {
        let task = &mut app[task];
        let (mut out, mut into) = (Vec::new(), Vec::new());
        for cell in 1..task.cells() {
            out.push(task.connect(0, cell));
            into.push(task.connect(cell, 0));
            task.depth(out[cell - 1], depth);
            task.depth(into[cell - 1], depth);
        }
        task.set::<Scatter>();
        task.set::<Gather>();
        task.set::<Star>();
        Self { out, into, local: 0.0 }
    }

    /// Sets the root's work at each transfer in simulated time, in cycles, for example to wait until it
    /// has come.
    #[must_use]
    pub fn local(mut self, clocks: f64) -> Self {
        self.local = clocks;
        self
    }

    /// Sends the root's `blocks[i]` to cell i; returns this cell's block. Cells other than the root
    /// pass no blocks.
    ///
    /// # Participation
    /// Collective over the task's cells.
    ///
    /// # Errors
    /// If the root's number of blocks differs from the number of cells.
    #[track_caller]
    pub fn scatter(&self, cell: &mut Cell<'_>, mut blocks: Vec<Vec<T>>) -> Result<Vec<T>, Error> {
        let (me, cells) = (cell.id(), cell.cells());
        if me == 0 && blocks.len() != cells {
            return Err(Error::program(format!("{} blocks for {cells} cells", blocks.len())));
        }
        let mut mine = if me == 0 { blocks.remove(0) } else { Vec::new() };
        if cell.parts::<Star>() == 1 {
            cell.phase::<Star, _>(|net| {
                self.give(net, &blocks, &mut mine);
                Ok(())
            })?;
        } else {
            cell.phases::<Scatter>(|net| {
                self.give(net, &blocks, &mut mine);
                Ok(())
            })?;
        }
        Ok(mine)
    }

    #[track_caller]
    fn give<S: Set + Contains<Out>>(&self, net: &mut Net<'_, '_, S>, blocks: &[Vec<T>], mine: &mut Vec<T>) {
        let me = net.id();
        for (to, lane) in (1..).zip(&self.out) {
            if me == 0 && net.has(*lane) {
                net.send(*lane, &blocks[to - 1]);
                net.work(self.local, || ());
            } else if me == to && net.has(*lane) {
                *mine = net.receive_vec(*lane);
            }
        }
    }

    /// Collects all blocks at the root, by cell; other cells get none.
    ///
    /// # Participation
    /// Collective over the task's cells.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn gather(&self, cell: &mut Cell<'_>, mine: Vec<T>) -> Result<Vec<Vec<T>>, Error> {
        let me = cell.id();
        let mut all: Vec<Vec<T>> = vec![Vec::new(); if me == 0 { cell.cells() } else { 0 }];
        if cell.parts::<Star>() == 1 {
            cell.phase::<Star, _>(|net| {
                self.collect(net, &mine, &mut all);
                Ok(())
            })?;
        } else {
            cell.phases::<Gather>(|net| {
                self.collect(net, &mine, &mut all);
                Ok(())
            })?;
        }
        if let Some(own) = all.first_mut() {
            *own = mine;
        }
        Ok(all)
    }

    #[track_caller]
    fn collect<S: Set + Contains<In>>(&self, net: &mut Net<'_, '_, S>, mine: &[T], all: &mut [Vec<T>]) {
        let me = net.id();
        for (from, lane) in (1..).zip(&self.into) {
            if me == 0 && net.has(*lane) {
                all[from] = net.receive_vec(*lane);
                net.work(self.local, || ());
            } else if me == from && net.has(*lane) {
                net.send(*lane, mine);
            }
        }
    }
}

/// Reduction and broadcast by a binomial tree, described in a task.
#[derive(Clone, Debug)]
pub struct ReduceBroadcast<T> {
    /// By cell, except the root: the parent's number and the connections to it.
    parents: Vec<Option<Lanes<T>>>,
}

type Lanes<T> = (usize, Connection<T, Up>, Connection<T, Down>);

impl<T: Pod> ReduceBroadcast<T> {
    /// Describes the set in `task`.
    pub fn new(app: &mut App, task: TaskId, depth: usize) -> Self {
        let task = &mut app[task];
        task.use_messages();
        let mut parents = vec![None];
        for cell in 1..task.cells() {
            // The parent's number is the cell's without its lowest set bit.
            let parent = cell & (cell - 1);
            let (up, down) = (task.connect(cell, parent), task.connect(parent, cell));
            task.depth(up, depth);
            task.depth(down, depth);
            parents.push(Some((parent, up, down)));
        }
        task.set::<Combine>();
        Self { parents }
    }

    /// Its schedule, as the linker made it.
    ///
    /// # Participation
    /// Local. The job ends if it was described in another task.
    #[must_use]
    #[track_caller]
    pub fn schedule(&self, cell: &mut Cell<'_>) -> Schedule {
        cell.schedule::<Combine>(0..1)
    }

    /// Combines the values of all cells by element, and returns the result on all cells. It is the
    /// same to the bit on all cells, in both forms and in every run, because values are combined in
    /// a fixed order. Uses the [form](Kind::choose) that is predicted to be the fastest.
    ///
    /// # Participation
    /// Collective over the task's cells, with the same number of values on each.
    ///
    /// # Errors
    /// If a setting is invalid; different numbers of values end the job.
    #[track_caller]
    pub fn reduce(
        &self,
        cell: &mut Cell<'_>,
        values: &mut [T],
        combine: impl Fn(T, T) -> T,
    ) -> Result<(), Error> {
        let schedule = self.schedule(cell);
        let form = Kind::Reduce.choose(cell, &schedule, size_of_val(values))?;
        self.reduce_by(cell, form, values, combine)
    }

    /// As [`reduce`](Self::reduce), in this form.
    ///
    /// # Participation
    /// As [`reduce`](Self::reduce), with the same form on all cells.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn reduce_by(
        &self,
        cell: &mut Cell<'_>,
        form: Form,
        values: &mut [T],
        combine: impl Fn(T, T) -> T,
    ) -> Result<(), Error> {
        match form {
            Form::Sets => self.by_sets(cell, values, combine),
            Form::Messages => {
                self.by_messages(cell, values, combine);
                Ok(())
            }
        }
    }

    #[track_caller]
    fn by_sets(
        &self,
        cell: &mut Cell<'_>,
        values: &mut [T],
        combine: impl Fn(T, T) -> T,
    ) -> Result<(), Error> {
        let me = cell.id();
        let children = || self.parents.iter().flatten().filter(move |(parent, ..)| *parent == me);
        cell.phase::<Combine, _>(|net| {
            let mut other = values.to_vec();
            for (_, up, _) in children() {
                net.receive(*up, &mut other);
                add(values, &other, &combine);
            }
            if let Some((_, up, down)) = self.parents.get(me).copied().flatten() {
                net.send(up, values);
                net.receive(down, values);
            }
            // The largest subtree first.
            let below: Vec<_> = children().collect();
            below.iter().rev().for_each(|(_, _, down)| net.send(*down, values));
            Ok(())
        })
    }

    #[track_caller]
    fn by_messages(&self, cell: &mut Cell<'_>, values: &mut [T], combine: impl Fn(T, T) -> T) {
        let (me, length) = (cell.id(), values.len());
        let parent = self.parents.get(me).copied().flatten().map(|(parent, ..)| parent);
        let of = |cell: usize| (cell, self.parents.get(cell).copied().flatten().map(|(parent, ..)| parent));
        let children = |of_cell: usize| {
            (0..self.parents.len()).map(of).filter(move |(_, parent)| *parent == Some(of_cell))
        };
        let below: Vec<usize> = children(me).map(|(child, _)| child).collect();
        let whole = |to: usize, at: usize| [Sent { to, from: 0, at }];
        let (up, down) = (0, 1);
        cell.open_deposit(up, Block::<T>::zeroed(below.len() * length), below.len() * length);
        let told = if parent.is_some() { length } else { 0 };
        cell.open_deposit(down, Block::<T>::zeroed(told), told);
        cell.sync();
        if length > 0 {
            let came = cell.close_deposit::<T>(up, below.len() * length);
            came.chunks(length).for_each(|other| add(values, other, &combine));
            if let Some(parent) = parent {
                let place = children(parent).position(|(child, _)| child == me).unwrap_or(0);
                cell.send_deposits(up, (values, length), &whole(parent, place * length));
                values.copy_from_slice(&cell.close_deposit::<T>(down, length));
            } else {
                cell.close_deposit::<T>(down, 0);
            }
            below
                .iter()
                .rev()
                .for_each(|child| cell.send_deposits(down, (values, length), &whole(*child, 0)));
        } else {
            cell.close_deposit::<T>(up, 0);
            cell.close_deposit::<T>(down, 0);
        }
    }
}

fn add<T: Pod>(values: &mut [T], others: &[T], combine: &impl Fn(T, T) -> T) {
    values.iter_mut().zip(others).for_each(|(value, other)| *value = combine(*value, *other));
}
