//! A block's memory while other nodes may access it.

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

    /// The address of the memory.
    pub(super) fn address(&self) -> *mut u8 {
        self.words.cast()
    }

    /// The number of bytes that may be read and written there.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reassembles the block.
    ///
    /// # Safety
    /// No other node accesses the memory any more.
    pub(super) unsafe fn end(self) -> RawBlock {
        let loan = ManuallyDrop::new(self);
        // SAFETY: these are the parts of the vector that was taken apart, reassembled once.
        let words = unsafe { Vec::from_raw_parts(loan.words, loan.length, loan.capacity) };
        RawBlock { words, bytes: loan.bytes, phantom: 0 }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // SAFETY: as in `end`, which does not drop the loan. The code that drops a loan ensures
        // that no node accesses the memory.
        drop(unsafe { Vec::from_raw_parts(self.words, self.length, self.capacity) });
    }
}
