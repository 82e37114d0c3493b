//! Handles of described things: small copyable values that programs keep.

use super::Network;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// A task's definition in an [`App`](super::App).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId(pub(crate) usize);

/// A child of a task: another task, on some of the parent's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Child {
    pub(crate) parent: TaskId,
    pub(crate) index: usize,
}

/// A connection of messages of `T` in network `N`.
pub struct Connection<T, N: Network> {
    pub(crate) task: TaskId,
    pub(crate) index: usize,
    kind: PhantomData<fn() -> (T, N)>,
}

/// An external connection between two children of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    pub(crate) parent: TaskId,
    pub(crate) index: usize,
}

/// A connection that [`reserve`](super::Task::reserve) and [`depth`](super::Task::depth) take: an
/// internal one or a [`Wire`].
pub trait Reservable: Copy + fmt::Debug + sealed::Known {}

impl<T, N: Network> Reservable for Connection<T, N> {}
impl Reservable for Wire {}

pub(super) mod sealed {
    use super::{Connection, Network, TaskId, Wire};

    /// Where a task describes a connection.
    pub enum Place {
        Internal(usize),
        External(usize),
    }

    pub trait Known {
        /// The task that describes it, and where.
        fn place(&self) -> (TaskId, Place);
    }

    impl<T, N: Network> Known for Connection<T, N> {
        fn place(&self) -> (TaskId, Place) {
            (self.task, Place::Internal(self.index))
        }
    }

    impl Known for Wire {
        fn place(&self) -> (TaskId, Place) {
            (self.parent, Place::External(self.index))
        }
    }
}

/// An external port of a task that receives `T`.
pub struct Input<T> {
    pub(crate) task: TaskId,
    pub(crate) index: usize,
    kind: PhantomData<fn() -> T>,
}

/// An external port of a task that sends `T`.
pub struct Output<T> {
    pub(crate) task: TaskId,
    pub(crate) index: usize,
    kind: PhantomData<fn() -> T>,
}

macro_rules! handle {
    ($name:ident, $($parameter:ident $(: $bound:path)?),+) => {
        impl<$($parameter $(: $bound)?),+> $name<$($parameter),+> {
            pub(crate) fn new(task: TaskId, index: usize) -> Self {
                Self { task, index, kind: PhantomData }
            }
        }
        impl<$($parameter $(: $bound)?),+> Clone for $name<$($parameter),+> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<$($parameter $(: $bound)?),+> Copy for $name<$($parameter),+> {}
        impl<$($parameter $(: $bound)?),+> fmt::Debug for $name<$($parameter),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {} of task {}", stringify!($name), self.index, self.task.0)
            }
        }
    };
}
handle!(Connection, T, N: Network);
handle!(Input, T);
handle!(Output, T);
