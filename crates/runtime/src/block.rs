//! Blocks: owned buffers that move between nodes.
//!
//! A block passed to [`Node::all_to_all_v`](crate::Node::all_to_all_v) then belongs to the
//! run-time, so that threads can pass it to another node without copying and MPI can send it in
//! place. Its memory is whole 64-bit words: any element type of alignment up to 8 fits, a block of
//! one type can be reused as one of another, and no byte of it is ever uninitialised.

use crate::copy::{Hint, copy_hinted};
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The bytes of `elements` elements of `T`: the only place where a length from a program becomes a
/// length of memory.
///
/// # Panics
/// If memory cannot hold them, as for a `Vec` of this capacity.
#[track_caller]
pub(crate) fn byte_length<T>(elements: usize) -> usize {
    let bytes = elements.checked_mul(size_of::<T>());
    match bytes.filter(|bytes| isize::try_from(*bytes).is_ok()) {
        Some(bytes) => bytes,
        None => panic!("{elements} elements of {} bytes are more than memory can hold", size_of::<T>()),
    }
}

/// The memory of a block, without its element type, as transports carry it.
#[derive(Clone, Default)]
pub(crate) struct RawBlock {
    /// The memory: `bytes` rounded up to whole words, or more if a longer block was shortened.
    pub(crate) words: Vec<u64>,
    /// The number of bytes in use.
    pub(crate) bytes: usize,
    /// The number of bytes that a phantom represents: the payload of a simulation with a size and
    /// no contents. A phantom has no memory and `bytes` is 0, so that code that ignores phantoms
    /// treats it as an empty block.
    pub(crate) phantom: usize,
}

/// Contents to send: bytes, or the number that a phantom represents.
#[derive(Clone, Copy)]
pub(crate) struct Contents<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) phantom: usize,
}

impl<'a> Contents<'a> {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.phantom
    }

    /// The bytes from `from` up to `end`, or fewer if there are fewer.
    pub(crate) fn part(&self, from: usize, end: usize) -> Self {
        let all = self.bytes.len();
        let end = end.min(self.len());
        Self {
            bytes: &self.bytes[from.min(all)..end.min(all)],
            phantom: if self.phantom > 0 { end.saturating_sub(from) } else { 0 },
        }
    }
}

impl<'a> From<&'a [u8]> for Contents<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, phantom: 0 }
    }
}

impl RawBlock {
    /// A block of zero bytes.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        Self { words: vec![0; bytes.div_ceil(8)], bytes, phantom: 0 }
    }

    /// A block that holds a copy of `bytes`.
    pub(crate) fn copy_of(bytes: &[u8]) -> Self {
        let mut block = Self::zeroed(bytes.len());
        copy_hinted(Hint::default().left(), block.as_bytes_mut(), bytes);
        block
    }

    /// A phantom that represents this many bytes and has no memory.
    pub(crate) fn phantom(bytes: usize) -> Self {
        Self { phantom: bytes, ..Self::default() }
    }

    /// The number of bytes that it has or represents.
    pub(crate) fn size(&self) -> usize {
        self.bytes + self.phantom
    }

    /// All of its contents, to be sent.
    pub(crate) fn contents(&self) -> Contents<'_> {
        Contents { bytes: self.as_bytes(), phantom: self.phantom }
    }

    /// Resizes it to `bytes` bytes of unspecified but initialised value. Allocates only to grow.
    pub(crate) fn hold(&mut self, bytes: usize) {
        if self.phantom > 0 {
            self.phantom = bytes;
            return;
        }
        let needed = bytes.div_ceil(8);
        if self.words.capacity() < needed {
            self.words = vec![0; needed];
        } else if self.words.len() < needed {
            self.words.resize(needed, 0);
        }
        self.bytes = bytes;
    }

    /// The bytes in use.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }

    /// The bytes in use.
    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

/// An owned buffer of `T` that moves between nodes.
///
/// ```
/// use strata_runtime::Block;
/// let mut block = Block::from_slice(&[3u32, 1, 2]);
/// block.sort();
/// assert_eq!(*block, [1, 2, 3]);
/// let bytes: Block<u8> = block.reuse(4);        // the same memory, other elements
/// assert_eq!(bytes.len(), 4);
/// ```
///
/// Elements whose alignment exceeds 8 do not compile:
///
/// ```compile_fail,E0080
/// let wide = strata_runtime::Block::<u128>::zeroed(1);
/// ```
pub struct Block<T> {
    raw: RawBlock,
    element: PhantomData<T>,
}

impl<T: Pod> Block<T> {
    const FITS: () =
        assert!(align_of::<T>() <= 8 && size_of::<T>() > 0, "a block holds elements of alignment 1 to 8");

    /// A block of `len` elements, all zero bytes.
    ///
    /// # Panics
    /// If memory cannot hold them.
    #[must_use]
    #[track_caller]
    pub fn zeroed(len: usize) -> Self {
        let () = Self::FITS;
        Self::from_raw(RawBlock::zeroed(byte_length::<T>(len)))
    }

    /// A block that holds a copy of `values`.
    #[must_use]
    pub fn from_slice(values: &[T]) -> Self {
        let () = Self::FITS;
        let bytes = size_of_val(values);
        let mut words = Vec::with_capacity(bytes.div_ceil(8));
        let (whole, rest) = bytemuck::cast_slice::<T, u8>(values).split_at(bytes / 8 * 8);
        match bytemuck::try_cast_slice::<u8, u64>(whole) {
            Ok(aligned) => words.extend_from_slice(aligned),
            Err(_) => words.extend(whole.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word))),
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            words.push(u64::from_ne_bytes(last));
        }
        Self::from_raw(RawBlock { words, bytes, phantom: 0 })
    }

    /// The same memory as a block of `len` elements of another type; does not allocate if it is
    /// long enough.
    ///
    /// The values of the elements are unspecified (but initialised): write them before reading.
    ///
    /// # Panics
    /// If memory cannot hold them.
    #[must_use]
    #[track_caller]
    pub fn reuse<U: Pod>(self, len: usize) -> Block<U> {
        let () = Block::<U>::FITS;
        let mut raw = self.raw;
        raw.hold(byte_length::<U>(len));
        Block::from_raw(raw)
    }

    /// Keeps the first `len` elements; does nothing if there are fewer.
    pub fn truncate(&mut self, len: usize) {
        let bytes = len.saturating_mul(size_of::<T>());
        self.raw.bytes = self.raw.bytes.min(bytes);
        self.raw.phantom = self.raw.phantom.min(bytes);
    }

    /// A phantom that represents `len` elements.
    pub(crate) fn phantom(len: usize) -> Self {
        let () = Self::FITS;
        Self::from_raw(RawBlock::phantom(len.saturating_mul(size_of::<T>())))
    }

    /// The number of elements that it has or, in a simulation without payloads, represents (see
    /// [`Node::block`](crate::Node::block)).
    #[must_use]
    pub fn elements(&self) -> usize {
        self.raw.size() / size_of::<T>()
    }

    /// All of it, to be sent.
    pub(crate) fn contents(&self) -> Contents<'_> {
        self.raw.contents()
    }

    /// The elements' bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.raw.as_bytes()
    }

    /// A block whose bytes are elements of `T`, as a transport delivered them.
    pub(crate) fn from_raw(raw: RawBlock) -> Self {
        Self { raw, element: PhantomData }
    }

    /// The memory, for a transport to carry.
    pub(crate) fn into_raw(self) -> RawBlock {
        self.raw
    }
}

impl<T: Pod> Deref for Block<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        let () = Self::FITS;
        bytemuck::cast_slice(self.bytes())
    }
}

impl<T: Pod> DerefMut for Block<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let () = Self::FITS;
        bytemuck::cast_slice_mut(self.raw.as_bytes_mut())
    }
}

impl<T> Clone for Block<T> {
    fn clone(&self) -> Self {
        Self { raw: self.raw.clone(), element: PhantomData }
    }
}

impl<T> Default for Block<T> {
    /// An empty block; does not allocate.
    fn default() -> Self {
        Self { raw: RawBlock::default(), element: PhantomData }
    }
}

impl<T: Pod> From<&[T]> for Block<T> {
    fn from(values: &[T]) -> Self {
        Self::from_slice(values)
    }
}

impl<T: Pod + PartialEq> PartialEq for Block<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Block<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
