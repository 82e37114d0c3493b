//! Words that several nodes access, for as long as anyone holds them.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Atomic words of one node that others access too: a part of this process's memory, or of memory
/// that processes of one host [share](crate::Node::share_words). Clones are of the same words,
/// which live as long as any of them.
#[derive(Clone)]
pub struct SharedWords {
    /// Valid as long as `keep`: lent only for as long as `self` is borrowed.
    words: &'static [AtomicU64],
    keep: Arc<dyn Any + Send + Sync>,
}

impl SharedWords {
    /// Words of this process, all zero.
    #[must_use]
    pub fn zeroed(words: usize) -> Self {
        let own: Arc<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
        // SAFETY: the words are `own`'s, which neither moves nor frees them while `keep` below
        // holds it, and `Self` lends them for no longer than it is borrowed itself.
        let words = unsafe { std::slice::from_raw_parts(own.as_ptr(), own.len()) };
        Self { words, keep: Arc::new(own) }
    }

    /// Words that stay valid until the last clone of `keep` is dropped.
    #[cfg(feature = "mpi")]
    pub(crate) fn while_kept(words: &'static [AtomicU64], keep: Arc<dyn Any + Send + Sync>) -> Self {
        Self { words, keep }
    }

    /// The first `at` words, and the rest.
    ///
    /// # Panics
    /// There are less than `at`.
    #[must_use]
    pub fn split_at(&self, at: usize) -> (Self, Self) {
        let (first, rest) = self.words.split_at(at);
        let part = |words| Self { words, keep: Arc::clone(&self.keep) };
        (part(first), part(rest))
    }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        self.words
    }
}

impl fmt::Debug for SharedWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shared words", self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn parts_keep_the_words_alive() {
        let (first, rest) = SharedWords::zeroed(5).split_at(2);
        assert_eq!((first.len(), rest.len()), (2, 3));
        drop(first);
        rest[2].store(7, Ordering::Relaxed);
        let clone = rest.clone();
        drop(rest);
        assert_eq!(clone[2].load(Ordering::Relaxed), 7);
    }
}
