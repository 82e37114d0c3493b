//! A block's memory while other nodes may follow its address.

#![allow(unsafe_code, reason = "takes a vector apart and puts it together again")]

use crate::block::RawBlock;
use std::mem::ManuallyDrop;

/// A [`RawBlock`] taken apart, so that no reference to its memory exists while other nodes write
/// there.
pub(super) struct Loan {
    words: *mut u64,
    length: usize,
    capacity: usize,
    bytes: usize,
}

// SAFETY: it owns its memory, as the block did.
unsafe impl Send for Loan {}

impl Loan {
    pub(super) fn new(block: RawBlock) -> Self {
        let mut words = ManuallyDrop::new(block.words);
        Self {
            length: words.len(),
            capacity: words.capacity(),
            bytes: block.bytes,
            words: words.as_mut_ptr(),
        }
    }

    /// Where the memory begins.
    pub(super) fn address(&self) -> *mut u8 {
        self.words.cast()
    }

    /// How many bytes may be read and written there.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The block again.
    ///
    /// # Safety
    /// No other node follows the address any more.
    pub(super) unsafe fn end(self) -> RawBlock {
        let loan = ManuallyDrop::new(self);
        // SAFETY: these are the parts of the vector that was taken apart, put together once.
        let words = unsafe { Vec::from_raw_parts(loan.words, loan.length, loan.capacity) };
        RawBlock { words, bytes: loan.bytes, phantom: 0 }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // SAFETY: as in `end`, which does not come here. Whoever drops a loan knows that nobody
        // follows the address.
        drop(unsafe { Vec::from_raw_parts(self.words, self.length, self.capacity) });
    }
}
