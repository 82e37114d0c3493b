//! Pointers: a node and an offset in its heap, in one word.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Bits of an offset in bytes; the other bits are the node's number.
pub(crate) const OFFSET_BITS: u32 = 44;
/// No heap is this long, so the value represents every offset that is out of range.
pub(crate) const BEYOND: u64 = (1 << OFFSET_BITS) - 1;
const MOST_NODES: u64 = (1 << (64 - OFFSET_BITS)) - 1;

/// A pointer to an element of any node's heap: the node, and an offset in bytes; 8 bytes.
///
/// It may be computed, copied and sent freely; each access checks whether it points into a heap.
/// Addition stays on the same node: `p + 1` is the next element there.
///
/// ```
/// use strata_global::Global;
/// let p = Global::<f32>::new(3, 40);
/// assert_eq!((p - 2, (p + 1).offset()), (Global::new(3, 32), 44));
/// assert_eq!(size_of_val(&p), 8);
/// ```
pub struct Global<T> {
    bits: u64,
    element: PhantomData<fn() -> T>,
}

impl<T> Global<T> {
    /// The element at `offset` bytes in the heap of node `node` (Split-C's `toglobal`).
    #[must_use]
    #[inline]
    pub fn new(node: usize, offset: u64) -> Self {
        let node = u64::try_from(node).unwrap_or(MOST_NODES).min(MOST_NODES);
        Self::from_bits(node << OFFSET_BITS | offset.min(BEYOND))
    }

    /// The node whose heap has the element.
    #[must_use]
    #[inline]
    pub fn node(self) -> usize {
        (self.bits >> OFFSET_BITS) as usize
    }

    /// The offset of the element in its heap, in bytes.
    #[must_use]
    #[inline]
    pub fn offset(self) -> u64 {
        self.bits & BEYOND
    }

    /// The same place, as an element of another type.
    #[must_use]
    pub fn cast<U>(self) -> Global<U> {
        Global::from_bits(self.bits)
    }

    /// The pointer as a number, to be sent or stored; valid on all nodes.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.bits
    }

    /// The pointer for a number made by [`to_bits`](Self::to_bits).
    #[must_use]
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        Self { bits, element: PhantomData }
    }

    /// `elements` further on node `node`; outside the range of offsets it points beyond any heap.
    #[inline]
    fn moved(self, node: usize, elements: i64) -> Self {
        let bytes = elements.checked_mul(size_of::<T>() as i64);
        // A negative offset becomes too large as an unsigned number.
        let offset = bytes.map(|bytes| self.offset().wrapping_add_signed(bytes));
        let inside = offset.filter(|offset| *offset < BEYOND && self.offset() < BEYOND);
        Self::new(node, inside.unwrap_or(BEYOND))
    }
}

impl<T> Add<i64> for Global<T> {
    type Output = Self;
    #[inline]
    fn add(self, elements: i64) -> Self {
        self.moved(self.node(), elements)
    }
}

/// A pointer that steps from node to node: after the last node comes the next element of node 0.
///
/// With P nodes, k steps from node n and offset a, for any sign of k, lead to node (n + k) mod P
/// and offset a + ⌊(n + k)/P⌋ · size of an element (Luna 1994, §2).
///
/// ```
/// use strata_global::{Global, Spread};
/// let p = Spread::<u64>::new(Global::new(1, 16), 3);
/// assert_eq!((p + 4).global(), Global::new(2, 24));
/// assert_eq!((p - 2).global(), Global::new(2, 8));
/// ```
pub struct Spread<T> {
    at: Global<T>,
    nodes: u32,
}

impl<T> Spread<T> {
    /// The spread pointer that points to `at`, of a job with `nodes` nodes (at least 1).
    #[must_use]
    pub fn new(at: Global<T>, nodes: usize) -> Self {
        Self { at, nodes: u32::try_from(nodes).unwrap_or(u32::MAX).max(1) }
    }

    /// The element to which it points.
    #[must_use]
    pub fn global(self) -> Global<T> {
        self.at
    }
}

impl<T> Add<i64> for Spread<T> {
    type Output = Self;
    #[inline]
    fn add(self, steps: i64) -> Self {
        let nodes = i64::from(self.nodes);
        let to = (self.at.node() as i64).saturating_add(steps);
        let node = to.rem_euclid(nodes) as usize;
        Self { at: self.at.moved(node, to.div_euclid(nodes)), ..self }
    }
}

macro_rules! pointer {
    ($t:ident, $key:expr) => {
        impl<T> Clone for $t<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $t<T> {}
        impl<T> PartialEq for $t<T> {
            fn eq(&self, other: &Self) -> bool {
                let key: fn(&Self) -> (u64, u32) = $key;
                key(self) == key(other)
            }
        }
        impl<T> Eq for $t<T> {}
        impl<T> fmt::Debug for $t<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let key: fn(&Self) -> (u64, u32) = $key;
                let at = Global::<T>::from_bits(key(self).0);
                write!(f, "{}({}, {})", stringify!($t), at.node(), at.offset())
            }
        }
        impl<T> Sub<i64> for $t<T> {
            type Output = Self;
            fn sub(self, steps: i64) -> Self {
                // Heaps are too short for the one number without a negation to matter.
                self.add(steps.checked_neg().unwrap_or(i64::MAX))
            }
        }
        impl<T> AddAssign<i64> for $t<T> {
            fn add_assign(&mut self, steps: i64) {
                *self = *self + steps;
            }
        }
        impl<T> SubAssign<i64> for $t<T> {
            fn sub_assign(&mut self, steps: i64) {
                *self = *self - steps;
            }
        }
    };
}
pointer!(Global, |p| (p.bits, 0));
pointer!(Spread, |p| (p.at.bits, p.nodes));

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with single steps, which need no division.
    #[test]
    fn spread_pointers_step_as_one_step_after_the_other() {
        for nodes in 1..=9usize {
            let start = Spread::<[u8; 3]>::new(Global::new(nodes / 2, 300), nodes);
            let (mut up, mut down) = (start, start);
            for steps in 1..=40i64 {
                let at = up.global();
                let next = if at.node() + 1 == nodes {
                    Global::new(0, at.offset() + 3)
                } else {
                    Global::new(at.node() + 1, at.offset())
                };
                up += 1;
                assert_eq!((up.global(), start + steps), (next, up));
                let at = down.global();
                let next = if at.node() == 0 {
                    Global::new(nodes - 1, at.offset() - 3)
                } else {
                    Global::new(at.node() - 1, at.offset())
                };
                down -= 1;
                assert_eq!((down.global(), start - steps), (next, down));
                assert_eq!(start + steps - steps, start);
            }
        }
    }

    #[test]
    fn what_leaves_the_range_stays_outside() {
        let p = Global::<u64>::new(1, 8);
        for far in [p - 2, p + i64::MAX, p - i64::MAX, p + i64::MIN, p - i64::MIN] {
            assert_eq!((far.node(), far.offset()), (1, BEYOND));
            assert_eq!((far + 1).offset(), BEYOND);
            assert_eq!((far - 1).offset(), BEYOND);
        }
        assert_eq!(Global::<u8>::new(usize::MAX, 0).node(), MOST_NODES as usize);
        assert_eq!((Spread::new(p, 3) - 6).global().offset(), BEYOND);
    }
}
