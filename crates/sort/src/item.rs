//! Sortable elements: plain numbers, and records with a key.
//!
//! The algorithms use a key only through its *order-preserving bits*: an unsigned number that is
//! smaller exactly where the key is smaller. One implementation then serves signed and unsigned
//! integers, floats and pairs alike, and digits are shifts of that number.

use bytemuck::{Pod, Zeroable};

/// A key: plain data that maps to order-preserving bits.
///
/// `a.bits() < b.bits()` exactly if `a` sorts before `b`. Floats are ordered as by
/// [`f64::total_cmp`].
pub trait Key: Pod + Send + Sync {
    /// The key as an unsigned number of the same order.
    fn bits(self) -> u64;
}

/// An element that can be sorted: plain data with a key.
///
/// Implemented by every [`Key`] and by [`Pair`]. Your own record type needs one method:
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use strata_sort::{Item, Key};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// struct Particle { cell: u32, mass: f32 }
///
/// impl Item for Particle {
///     fn bits(&self) -> u64 { self.cell.bits() }
/// }
/// ```
pub trait Item: Pod + Send + Sync {
    /// True if elements of equal bits are indistinguishable, so that the sort may exchange them.
    ///
    /// Leave it `false` unless `bits` is one-to-one: with `false` the sort is stable.
    const PLAIN: bool = false;

    /// The element's key as an unsigned number of the same order.
    fn bits(&self) -> u64;
}

macro_rules! keys {
    ($($type:ty: |$key:ident| $bits:expr;)*) => {$(
        impl Key for $type {
            #[inline(always)]
            fn bits(self) -> u64 {
                let $key = self;
                $bits
            }
        }
        impl Item for $type {
            const PLAIN: bool = true;
            #[inline(always)]
            fn bits(&self) -> u64 {
                Key::bits(*self)
            }
        }
    )*};
}

keys! {
    u8: |k| u64::from(k);
    u16: |k| u64::from(k);
    u32: |k| u64::from(k);
    u64: |k| k;
    usize: |k| k as u64;
    i8: |k| u64::from((k as u8) ^ (1 << 7));
    i16: |k| u64::from((k as u16) ^ (1 << 15));
    i32: |k| u64::from((k as u32) ^ (1 << 31));
    i64: |k| (k as u64) ^ (1 << 63);
    isize: |k| (k as i64 as u64) ^ (1 << 63);
    f32: |k| { let b = k.to_bits(); u64::from(if b >> 31 == 1 { !b } else { b | 1 << 31 }) };
    f64: |k| { let b = k.to_bits(); if b >> 63 == 1 { !b } else { b | 1 << 63 } };
}

/// Byte strings of a fixed length of at most eight, in the order of dictionaries. Sort longer ones
/// with [`sort_by`](crate::sort_by), or by their first eight bytes as the key of a record.
macro_rules! bytes {
    ($($len:literal)*) => {$(
        impl Key for [u8; $len] {
            #[inline(always)]
            fn bits(self) -> u64 {
                self.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
            }
        }
        impl Item for [u8; $len] {
            const PLAIN: bool = true;
            #[inline(always)]
            fn bits(&self) -> u64 {
                Key::bits(*self)
            }
        }
    )*};
}

bytes! { 1 2 3 4 5 6 7 8 }

/// A key with a value that moves with it; sorted stably by the key alone.
///
/// Packed, so that no padding bytes are sent. Copy the fields out (`let k = pair.key`): references
/// to them do not compile.
#[repr(C, packed)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Pair<K, V> {
    /// The key that determines the order.
    pub key: K,
    /// The value that moves with the key.
    pub value: V,
}

impl<K: Key, V: Pod> Pair<K, V> {
    /// A pair of `key` and `value`.
    pub fn new(key: K, value: V) -> Self {
        Self { key, value }
    }
}

impl<K: Key, V: Pod> From<(K, V)> for Pair<K, V> {
    fn from((key, value): (K, V)) -> Self {
        Self { key, value }
    }
}

impl<K: Key, V: Pod> From<Pair<K, V>> for (K, V) {
    fn from(pair: Pair<K, V>) -> Self {
        (pair.key, pair.value)
    }
}

impl<K: Key + PartialEq, V: Pod + PartialEq> PartialEq for Pair<K, V> {
    fn eq(&self, other: &Self) -> bool {
        <(K, V)>::from(*self) == <(K, V)>::from(*other)
    }
}

impl<K: Key + std::fmt::Debug, V: Pod + std::fmt::Debug> std::fmt::Debug for Pair<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (key, value) = (*self).into();
        f.debug_struct("Pair").field("key", &key).field("value", &value).finish()
    }
}

impl<K: Key, V: Pod + Send + Sync> Item for Pair<K, V> {
    #[inline(always)]
    fn bits(&self) -> u64 {
        let key = self.key;
        key.bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps_order<K: Key>(sorted: &[K]) {
        assert!(sorted.windows(2).all(|w| w[0].bits() < w[1].bits()));
    }

    #[test]
    fn bits_keep_the_order_of_keys() {
        keeps_order(&[0u8, 1, 127, 128, 255]);
        keeps_order(&[i8::MIN, -1, 0, 1, i8::MAX]);
        keeps_order(&[i16::MIN, -1, 0, 1, i16::MAX]);
        keeps_order(&[i32::MIN, -1, 0, 1, i32::MAX]);
        keeps_order(&[i64::MIN, -1, 0, 1, i64::MAX]);
        keeps_order(&[isize::MIN, -1, 0, 1, isize::MAX]);
        keeps_order(&[0u64, 1, u64::MAX]);
        keeps_order(&[*b"\0\0\0", *b"\0\0a", *b"a\0\xFF", *b"aa\0", *b"b\0\0"]);
        keeps_order(&[*b"Erica M.", *b"Erica Mu", *b"\xFFrica Mu"]);
        keeps_order(&[f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN]);
        keeps_order(&[f32::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-30, 2.0, f32::INFINITY, f32::NAN]);
    }

    #[test]
    fn pairs_have_no_padding() {
        assert_eq!(size_of::<Pair<u64, u8>>(), 9);
        assert_eq!(<(u8, u64)>::from(Pair::new(3u8, 7u64)), (3, 7));
    }
}
