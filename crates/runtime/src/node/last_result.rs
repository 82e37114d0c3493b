//! The result of the last collective, for checkers of programs.

use super::Node;

/// The record of collectives.
#[derive(Default)]
pub(super) struct LastResult {
    /// The number of collectives that this node has left.
    left: u64,
    /// The result of the last collective on this node; empty if it has none.
    bytes: Vec<u8>,
}

impl Node {
    /// Records the results of collectives from now on, for [`last_result`](Self::last_result).
    ///
    /// # Participation
    /// Collective, so that numbers are equal; it does not wait.
    pub fn remember_results(&mut self) {
        self.last_result.get_or_insert_default();
    }

    /// The number of collectives that this node has left since
    /// [`remember_results`](Self::remember_results), and the bytes of the last one's result: none
    /// after a barrier. 0 and no bytes if results are not recorded.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn last_result(&self) -> (u64, &[u8]) {
        self.last_result.as_ref().map_or((0, &[]), |last| (last.left, &last.bytes))
    }

    /// Discards the result of the last collective, because it was a library's own and not the
    /// program's.
    ///
    /// # Participation
    /// Local.
    pub fn forget_result(&mut self) {
        if let Some(last) = &mut self.last_result {
            last.bytes.clear();
        }
    }

    /// Records that a collective has given this node `result`.
    #[inline]
    pub(crate) fn has_left(&mut self, result: &[u8]) {
        if self.last_result.is_some() {
            self.remember(result, 1);
        }
    }

    /// Replaces the recorded result of the last collective by the final `result`.
    #[inline]
    pub(crate) fn correct_result(&mut self, result: &[u8]) {
        if self.last_result.is_some() {
            self.remember(result, 0);
        }
    }

    #[cold]
    fn remember(&mut self, result: &[u8], more: u64) {
        if let Some(last) = &mut self.last_result {
            last.left += more;
            last.bytes.clear();
            last.bytes.extend_from_slice(result);
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
