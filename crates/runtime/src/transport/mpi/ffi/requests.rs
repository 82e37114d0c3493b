//! The messages of one collective, and their memory.

#![allow(unsafe_code, reason = "requests read and write this module's memory")]

use super::{PIECE, World, bytes, count, error_of, peer};
use crate::block::RawBlock;
use mpi::ffi;
use std::ffi::c_int;
use std::ops::Range;

/// The most bytes that are sent without waiting for their receiver, in messages of [`PARCEL`]: a
/// longer message costs two exchanges more.
pub(in super::super) const EAGER: usize = 16 << 10;

/// The most bytes of a message that all libraries send at once (4 KiB), less their headers.
const PARCEL: usize = 3968;

/// Three pieces of memory, and messages between them and those of other nodes. While a message is
/// in flight the memory cannot be accessed otherwise; if dropped then, it is leaked instead of
/// freed.
pub(in super::super) struct Requests {
    world: &'static World,
    /// That of one of the collectives that may be in flight at once.
    communicator: ffi::MPI_Comm,
    tag: c_int,
    requests: Vec<ffi::MPI_Request>,
    frames: Vec<u64>,
    scratch: Vec<u64>,
    block: RawBlock,
    /// The values to combine: the block's bytes, or memory lent by a caller.
    values: *mut u8,
    length: usize,
}

/// One of the pieces of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Memory {
    /// Frames: each node's message to every other.
    Frames,
    /// The values to combine.
    Values,
    /// Space for other nodes' values.
    Scratch,
}

/// The three pieces of memory; borrowed when all messages have arrived.
pub(in super::super) struct Buffers<'a> {
    pub(in super::super) frames: &'a mut [u64],
    pub(in super::super) values: &'a mut [u8],
    pub(in super::super) scratch: &'a mut [u64],
}

/// The most bytes of one of the messages that carry so many.
fn piece(length: usize) -> usize {
    if length > EAGER { PIECE } else { PARCEL }
}

/// Ends the job when dropped: memory that messages may be using is about to be freed.
pub(super) struct Lent(pub(super) &'static World);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.die(self.0.rank, "panicked while messages used its memory");
    }
}

impl Requests {
    /// `number` is the same on all nodes and identifies the collective; `frames` is the number of
    /// words for frames.
    pub(in super::super) fn new(world: &'static World, number: usize, frames: usize) -> Self {
        let mut block = RawBlock::default();
        let values = block.as_bytes_mut().as_mut_ptr();
        let requests = Vec::with_capacity(2 * world.size());
        let (communicator, frames) = (world.collectives[number], vec![0; frames]);
        Self { world, communicator, tag: 0, requests, frames, scratch: Vec::new(), block, values, length: 0 }
    }

    /// The following messages are those of the collective with this hash, or compare hashes. MPI has
    /// 15 bits for tags at least (3.1, §8.1.2).
    pub(in super::super) fn begin(&mut self, hash: Option<u64>) {
        self.tag = hash.map_or(0, |hash| 1 + (hash >> 50) as c_int);
    }

    /// Takes the memory of the values to combine.
    pub(in super::super) fn load(&mut self, mut block: RawBlock) {
        assert!(self.requests.is_empty());
        let bytes = block.as_bytes_mut();
        (self.values, self.length) = (bytes.as_mut_ptr(), bytes.len());
        self.block = block;
    }

    /// Returns the memory of the values.
    pub(in super::super) fn unload(&mut self) -> RawBlock {
        assert!(self.requests.is_empty());
        self.length = 0;
        std::mem::take(&mut self.block)
    }

    /// The number of bytes of the loaded values; the only query that is allowed while messages are
    /// in flight.
    pub(in super::super) fn length(&self) -> usize {
        self.length
    }

    /// Lends it `values` while `whole` runs; at its end all messages must have arrived.
    pub(in super::super) fn lend<T>(
        values: &mut [u8],
        owner: &mut T,
        requests: impl Fn(&mut T) -> &mut Self,
        whole: impl FnOnce(&mut T),
    ) {
        let this = requests(owner);
        assert!(this.requests.is_empty() && this.length == 0);
        (this.values, this.length) = (values.as_mut_ptr(), values.len());
        let lent = Lent(this.world);
        whole(owner);
        let this = requests(owner);
        assert!(this.requests.is_empty());
        this.length = 0;
        std::mem::forget(lent);
    }

    /// Grows the scratch memory to at least this many bytes.
    pub(in super::super) fn reserve(&mut self, bytes: usize) {
        assert!(self.requests.is_empty());
        let words = bytes.div_ceil(8);
        if self.scratch.len() < words {
            self.scratch.resize(words, 0);
        }
    }

    /// The memory; all messages must have arrived.
    pub(in super::super) fn buffers(&mut self) -> Buffers<'_> {
        assert!(self.requests.is_empty());
        // SAFETY: no request uses the memory. It belongs to the block, which does not access it
        // otherwise, or is lent for longer than this borrow (`lend` clears the length before the
        // loan ends).
        let values = unsafe { std::slice::from_raw_parts_mut(self.values, self.length) };
        Buffers { frames: &mut self.frames, values, scratch: &mut self.scratch }
    }

    fn at(&mut self, memory: Memory, range: &Range<usize>) -> *mut u8 {
        let (base, length) = match memory {
            Memory::Frames => (self.frames.as_mut_ptr().cast(), self.frames.len() * 8),
            Memory::Scratch => (self.scratch.as_mut_ptr().cast(), self.scratch.len() * 8),
            Memory::Values => (self.values, self.length),
        };
        assert!(range.start <= range.end && range.end <= length);
        // SAFETY: within the memory, by the assertion above.
        unsafe { base.add(range.start) }
    }

    /// Sends bytes to node `to`. A short message is left to MPI: it has been sent at the return, for
    /// which at most the other node must be inside MPI, as a waiting one is.
    pub(in super::super) fn send(&mut self, memory: Memory, range: Range<usize>, to: usize) {
        let (world, tag, communicator) = (self.world, self.tag, self.communicator);
        let base = self.at(memory, &range);
        let length = range.len();
        if length <= PARCEL {
            // An empty message is also sent: it reports that this node has reached this round.
            // SAFETY: `at` asserts that the range is in the memory, which outlives the call.
            sure!(world, unsafe {
                MPI_Send(base.cast(), count(length), bytes(), peer(to), tag, communicator)
            });
            return;
        }
        let piece = piece(length);
        for from in (0..length).step_by(piece) {
            let (at, count) = (base.wrapping_add(from).cast(), count((length - from).min(piece)));
            // SAFETY: a constant that the shim initialises when it is loaded.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: `at` asserts that the range is in the memory, which lives until the request
            // is complete: the collective owns it or, if dropped earlier, leaks it; `Lent` guards
            // lent memory.
            sure!(world, unsafe { MPI_Isend(at, count, bytes(), peer(to), tag, communicator, &mut request) });
            self.requests.push(request);
        }
    }

    /// Receives bytes from node `from`; the length is that of the message.
    pub(in super::super) fn receive(&mut self, memory: Memory, range: Range<usize>, from: usize) {
        let (world, tag, communicator) = (self.world, self.tag, self.communicator);
        let base = self.at(memory, &range);
        let length = range.len();
        let piece = piece(length);
        for start in (0..length.max(1)).step_by(piece) {
            let (at, count) = (base.wrapping_add(start).cast(), count((length - start).min(piece)));
            // SAFETY: a constant that the shim initialises when it is loaded.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: as for sending, the memory lives until the request is complete; ranges of
            // receives do not overlap those of other requests.
            sure!(world, unsafe {
                MPI_Irecv(at, count, bytes(), peer(from), tag, communicator, &mut request)
            });
            self.requests.push(request);
        }
    }

    /// True if all messages have arrived; lets MPI make progress.
    #[inline]
    pub(in super::super) fn are_complete(&mut self) -> bool {
        if self.requests.is_empty() {
            return true;
        }
        let mut done: c_int = 0;
        // SAFETY: a constant that the shim initialises when it is loaded.
        let ignore = unsafe { ffi::RSMPI_STATUSES_IGNORE };
        let (length, requests) = (count(self.requests.len()), self.requests.as_mut_ptr());
        // SAFETY: as many requests as the vector holds, each created here; completed ones are
        // dropped below.
        sure!(self.world, unsafe { MPI_Testall(length, requests, &mut done, ignore) });
        if done != 0 {
            self.requests.clear();
        }
        done != 0
    }

    /// Waits until all messages have arrived.
    #[inline]
    pub(in super::super) fn wait(&mut self) {
        // SAFETY: a constant that the shim initialises when it is loaded.
        let ignore = unsafe { ffi::RSMPI_STATUSES_IGNORE };
        let (length, requests) = (count(self.requests.len()), self.requests.as_mut_ptr());
        // SAFETY: as many requests as the vector holds, each created here; all are dropped below.
        sure!(self.world, unsafe { MPI_Waitall(length, requests, ignore) });
        self.requests.clear();
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            std::mem::forget(std::mem::take(&mut self.frames));
            std::mem::forget(std::mem::take(&mut self.scratch));
            std::mem::forget(std::mem::take(&mut self.block));
        }
    }
}
