//! Node-local storage: state that a library keeps on each node between calls.

use super::Node;
use std::any::{Any, TypeId};

/// One value of each type in use; programs use few types, so a linear search is the fastest.
#[derive(Default)]
pub(super) struct Locals(Vec<(TypeId, Box<dyn Any>)>);

impl Locals {
    #[inline]
    fn get<T: Default + 'static>(&mut self) -> &mut T {
        let id = TypeId::of::<T>();
        let at = self.0.iter().position(|(of, _)| *of == id).unwrap_or_else(|| self.add::<T>());
        match self.0[at].1.downcast_mut() {
            Some(value) => value,
            None => unreachable!("stored under the id of its type"),
        }
    }

    #[cold]
    #[inline(never)]
    fn add<T: Default + 'static>(&mut self) -> usize {
        self.0.push((TypeId::of::<T>(), Box::new(T::default())));
        self.0.len() - 1
    }
}

impl Node {
    /// This node's value of type `T`: created by `T::default()` at first use, and kept until the
    /// node's program ends.
    ///
    /// Use it in place of `thread_local!`: all nodes of a simulated machine share one thread. A
    /// library declares a private type for its state, so that no other code can reach it. To use
    /// the value and the node at once, move it out with [`std::mem::take`] and put it back.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// #[derive(Default)]
    /// struct Calls(u32);
    ///
    /// let calls = Machine::threads(2)?.run(|node| {
    ///     node.local::<Calls>().0 += 1;
    ///     node.local::<Calls>().0 += 1;
    ///     Ok(node.local::<Calls>().0)
    /// })?;
    /// assert_eq!(calls, [2, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn local<T: Default + 'static>(&mut self) -> &mut T {
        self.locals.get()
    }
}
