//! The result of the last collective, for checkers of programs.

use super::Node;

/// What is remembered of collectives.
#[derive(Default)]
pub(super) struct Results {
    /// How many this node has left.
    left: u64,
    /// What the last of them gave this node; empty after one without a result.
    last: Vec<u8>,
}

impl Node {
    /// Remembers the results of collectives from now on, for [`last_result`](Self::last_result).
    ///
    /// # Participation
    /// Collective, so that numbers are equal; waits for nobody.
    pub fn remember_results(&mut self) {
        self.results.get_or_insert_default();
    }

    /// How many collectives this node has left since it [remembers](Self::remember_results) them,
    /// and the bytes that the last gave it: none after a barrier. 0 and none if it does not.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn last_result(&self) -> (u64, &[u8]) {
        self.results.as_ref().map_or((0, &[]), |results| (results.left, &results.last))
    }

    /// The last collective was a library's own: the program has no result of it.
    ///
    /// # Participation
    /// Local.
    pub fn forget_result(&mut self) {
        if let Some(results) = &mut self.results {
            results.last.clear();
        }
    }

    /// A collective has given this node `result`.
    #[inline]
    pub(super) fn has_left(&mut self, result: &[u8]) {
        if self.results.is_some() {
            self.remember(result, 1);
        }
    }

    /// What the last collective gave is `result` in the end.
    #[inline]
    pub(super) fn correct_result(&mut self, result: &[u8]) {
        if self.results.is_some() {
            self.remember(result, 0);
        }
    }

    #[cold]
    fn remember(&mut self, result: &[u8], more: u64) {
        if let Some(results) = &mut self.results {
            results.left += more;
            results.last.clear();
            results.last.extend_from_slice(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[test]
    fn the_last_result_is_that_of_the_last_collective() {
        let run = Machine::threads(3).unwrap().run(|node| {
            assert_eq!(node.last_result(), (0, &[][..]));
            node.remember_results();
            node.reduce_add(1u64);
            assert_eq!(node.last_result(), (1, &3u64.to_ne_bytes()[..]));
            let sum = node.inclusive_scan(Op::Add, 1u64);
            assert_eq!(node.last_result(), (2, &sum.to_ne_bytes()[..]));
            node.barrier();
            assert_eq!(node.last_result(), (3, &[][..]));
            let pending = node.start_scan(Op::Add, 1u64);
            let before = node.complete(pending);
            assert_eq!(node.last_result(), (4, &before.to_ne_bytes()[..]));
            node.install(node.handlers());
            let root = node.broadcast_value(2, node.rank() as u64);
            let (_, last) = node.last_result();
            assert_eq!((root, last), (2, &2u64.to_ne_bytes()[..]));
            node.forget_result();
            assert!(node.last_result().1.is_empty());
            node.uninstall();
            Ok(node.last_result().0)
        });
        let left = run.unwrap();
        assert!(left.iter().all(|count| *count == left[0]), "{left:?}");
    }
}
