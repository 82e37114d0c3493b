//! Memory into which other nodes write, and long messages directly into it.

#![allow(unsafe_code, reason = "requests write into this module's memory and read what is lent to it")]

use super::{LONG, PIECE, World, bytes, count, error_of, is_done, peer};
use crate::block::RawBlock;
use mpi::ffi;

/// A block into which receives may be writing. If dropped before they are complete, its memory is
/// leaked instead of freed.
pub(in super::super) struct Region {
    block: Option<RawBlock>,
    base: *mut u8,
    length: usize,
    /// Number of incomplete receives.
    receives: usize,
}

/// One long message in flight into a region.
pub(in super::super) struct Receive(ffi::MPI_Request);

impl Region {
    /// Takes over a block's memory.
    pub(in super::super) fn new(mut block: RawBlock) -> Self {
        let bytes = block.as_bytes_mut();
        let (base, length) = (bytes.as_mut_ptr(), bytes.len());
        Self { block: Some(block), base, length, receives: 0 }
    }

    pub(in super::super) fn len(&self) -> usize {
        self.length
    }

    /// True if no receive is in flight.
    pub(in super::super) fn is_quiet(&self) -> bool {
        self.receives == 0
    }

    fn at(&mut self, offset: usize, length: usize) -> *mut u8 {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: within the block, by the assertion above.
        unsafe { self.base.add(offset) }
    }

    /// Copies `from` to `offset`; the caller has checked that it fits.
    pub(in super::super) fn write(&mut self, offset: usize, from: &[u8]) {
        let at = self.at(offset, from.len());
        // SAFETY: `at` has space for them and no reference into the block exists; if a receive
        // writes there at the same time, the program has requested both.
        unsafe { std::ptr::copy(from.as_ptr(), at, from.len()) };
    }

    /// Receives the next long message of node `from`, of at most [`PIECE`] bytes, at `offset`.
    pub(in super::super) fn receive(
        &mut self,
        world: &World,
        from: usize,
        offset: usize,
        length: usize,
    ) -> Receive {
        // SAFETY: a constant that the shim initialises when it is loaded.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        let at = self.at(offset, length).cast();
        // SAFETY: `at` asserts that the bytes are in the block, whose memory is freed only when no
        // receive is in flight.
        sure!(world, unsafe {
            MPI_Irecv(at, count(length), bytes(), peer(from), LONG, world.pairs, &mut request)
        });
        self.receives += 1;
        Receive(request)
    }

    /// True if a receive into this region is complete; must not be called again after that.
    pub(in super::super) fn has(&mut self, world: &World, receive: &mut Receive) -> bool {
        let done = is_done(world, &mut receive.0);
        self.receives -= usize::from(done);
        done
    }

    /// The block, if no receive is in flight.
    pub(in super::super) fn into_block(mut self) -> Option<RawBlock> {
        if self.is_quiet() { self.block.take() } else { None }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if !self.is_quiet() {
            std::mem::forget(self.block.take());
        }
    }
}

/// Cuts a length into pieces: the offset and the length of each.
pub(in super::super) fn pieces(length: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..length).step_by(PIECE).map(move |from| (from, (length - from).min(PIECE)))
}

/// Ends the job when dropped: memory that a request reads is about to be freed.
struct Lent<'a>(&'a World);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.die(self.0.rank, "panicked while another node was reading its memory");
    }
}

impl World {
    /// Sends `from` to node `to`, in [`pieces`]; calls `meanwhile` until `from` may be reused.
    pub(in super::super) fn send_long(&self, to: usize, from: &[u8], mut meanwhile: impl FnMut()) {
        for (offset, length) in pieces(from.len()) {
            let at = from[offset..offset + length].as_ptr().cast();
            // SAFETY: a constant that the shim initialises when it is loaded.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            let lent = Lent(self);
            // SAFETY: `from` is borrowed until the loop below has found the send complete;
            // otherwise `Lent` ends the job.
            sure!(self, unsafe {
                MPI_Isend(at, count(length), bytes(), peer(to), LONG, self.pairs, &mut request)
            });
            while !is_done(self, &mut request) {
                meanwhile();
            }
            std::mem::forget(lent);
        }
    }
}
