//! Reduction and broadcast with the root at cell 0.

use super::forms::{Form, Kind};
use crate::describe::{App, Connection, TaskId};
use crate::link::schedule::Schedule;
use crate::run::{Cell, Sent};
use bytemuck::Pod;
use strata_runtime::{Block, Error};

crate::communication! {
    networks {
        /// From children to parents of a binomial tree.
        pub Up,
        /// From parents to children.
        pub Down
    }
    sets {
        /// Values are combined up the tree, and the result is sent down.
        pub Combine: Up, Down;
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
