//! Short messages: receives posted in advance, and the memory from which messages are sent.
//!
//! Receives are posted for any source, and MPI matches a message with the oldest receive. So
//! testing the oldest of each lane suffices, and messages of one node stay in order (MPI 3.1,
//! §3.5).

#![allow(unsafe_code, reason = "requests write and read this module's memory")]

use super::{Lane, TAG, World, bytes, count, error_of, is_done, peer};
use mpi::ffi;
use std::ffi::c_int;

/// Requests that are awaited together at the end: SMPI takes a time with the cube of their number.
const AT_ONCE: usize = 16;

/// Words that requests may read or write at any time: no Rust reference to the whole ever exists.
/// They are freed only by [`Words::free`], so that unwinding cannot free them while a request uses
/// them.
struct Words(*mut [u64]);

impl Words {
    fn zeroed(words: usize) -> Self {
        Self(Box::into_raw(vec![0u64; words].into_boxed_slice()))
    }

    /// The address of slot `index` of slots of `each` words.
    fn slot(&self, index: usize, each: usize) -> *mut u64 {
        assert!((index + 1) * each <= self.0.len());
        // SAFETY: within the allocation, by the assertion above.
        unsafe { self.0.cast::<u64>().add(index * each) }
    }

    /// # Safety
    /// No request uses it.
    unsafe fn free(self) {
        // SAFETY: created by `Box::into_raw` and freed once, as `self` is consumed.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// One lane's receives.
struct Ring {
    communicator: ffi::MPI_Comm,
    requests: Vec<ffi::MPI_Request>,
    memory: Words,
    /// Number of words of a slot.
    each: usize,
    /// The index of the oldest receive.
    head: usize,
    /// The number of receives before it that are to be posted again.
    owed: usize,
}

impl Ring {
    /// Posts (again) the receive of `slot`.
    fn post(&mut self, world: &World, slot: usize) {
        let at = self.memory.slot(slot, self.each);
        // SAFETY: a constant that the shim initialises when it is loaded.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        // SAFETY: `slot` asserts that the slot is in the memory, which is freed only when all
        // requests are complete; the slot is not read before its receive is complete.
        sure!(world, unsafe {
            MPI_Irecv(
                at.cast(),
                count(self.each * 8),
                bytes(),
                any,
                TAG,
                self.communicator,
                &mut self.requests[slot],
            )
        });
    }

    /// Posts all receives again whose messages were taken.
    fn renew(&mut self, world: &World) {
        let size = self.requests.len();
        while self.owed > 0 {
            self.post(world, (self.head + size - self.owed) % size);
            self.owed -= 1;
        }
    }
}

/// The arrived messages of this node.
pub(in super::super) struct Inbox {
    world: &'static World,
    rings: [Ring; LANES],
    /// The oldest receive of each lane; null if it is complete.
    heads: [ffi::MPI_Request; LANES],
    /// The source of the message at the head of each lane, if one has arrived.
    sources: [Option<usize>; LANES],
}

const LANES: usize = Lane::ALL.len();

impl Inbox {
    /// Posts, for each lane, the given number of receives of the given number of words.
    pub(in super::super) fn new(world: &'static World, sizes: [(usize, usize); LANES]) -> Self {
        // SAFETY: a constant that the shim initialises when it is loaded.
        let none = unsafe { ffi::RSMPI_REQUEST_NULL };
        let ring = |lane: Lane| {
            let (slots, each) = sizes[lane as usize];
            let memory = Words::zeroed(slots * each);
            let communicator = world.lanes[lane as usize];
            let mut ring = Ring { communicator, requests: vec![none; slots], memory, each, head: 0, owed: 0 };
            (0..slots).for_each(|slot| ring.post(world, slot));
            ring
        };
        let rings = Lane::ALL.map(ring);
        let heads = std::array::from_fn(|lane| rings[lane].requests[0]);
        Self { world, rings, heads, sources: [None; LANES] }
    }

    /// Tests for arrived messages, and lets MPI make progress. True if there is a new one.
    #[inline]
    pub(in super::super) fn poll(&mut self) -> bool {
        // Not when they were taken: the sender may be waiting for a reply.
        self.rings.iter_mut().for_each(|ring| ring.renew(self.world));
        let (mut found, mut which) = (0, [0; LANES]);
        // SAFETY: plain numbers, for which zero is a valid value.
        let mut statuses: [ffi::MPI_Status; LANES] = unsafe { std::mem::zeroed() };
        let (heads, which_place) = (self.heads.as_mut_ptr(), which.as_mut_ptr());
        // SAFETY: the three arrays have LANES elements; each request is that at the head of its
        // ring, or null.
        sure!(self.world, unsafe {
            MPI_Testsome(LANES as c_int, heads, &mut found, which_place, statuses.as_mut_ptr())
        });
        // Negative (MPI_UNDEFINED) if all lanes have a message already.
        let found = usize::try_from(found).unwrap_or(0);
        for (index, status) in which.into_iter().zip(statuses).take(found) {
            let from = usize::try_from(status.MPI_SOURCE).unwrap_or(0);
            self.sources[usize::try_from(index).unwrap_or(0)] = Some(from);
        }
        found > 0
    }

    /// The sender and the words of the oldest message of a lane, if there is one.
    #[inline]
    pub(in super::super) fn head(&self, lane: Lane) -> Option<(usize, &[u64])> {
        let from = self.sources[lane as usize]?;
        let ring = &self.rings[lane as usize];
        let at = ring.memory.slot(ring.head, ring.each);
        // SAFETY: the slot's receive is complete, and is posted again only after `take`, which needs
        // `&mut self`.
        Some((from, unsafe { std::slice::from_raw_parts(at, ring.each) }))
    }

    /// Reuses the memory of the oldest message of a lane for the next receive.
    #[inline]
    pub(in super::super) fn take(&mut self, lane: Lane) {
        if self.sources[lane as usize].take().is_none() {
            return;
        }
        let ring = &mut self.rings[lane as usize];
        ring.head = (ring.head + 1) % ring.requests.len();
        ring.owed += 1;
        if 2 * ring.owed >= ring.requests.len() {
            ring.renew(self.world);
        }
        self.heads[lane as usize] = ring.requests[ring.head];
    }

    /// Ends all receives. No message is in flight to this node and none has arrived, so each
    /// receive is completed by a message of this node to itself (cancelling is the least reliable
    /// operation of the libraries).
    pub(in super::super) fn finish(self) {
        // SAFETY: a constant that the shim initialises when it is loaded.
        let (none, ignore) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_STATUSES_IGNORE) };
        let (world, me) = (self.world, peer(self.world.rank));
        for mut ring in self.rings {
            ring.renew(world);
            let mut sends = vec![none; ring.requests.len()];
            for send in &mut sends {
                // SAFETY: no bytes are read; the request is stored in a vector that outlives it.
                sure!(world, unsafe {
                    MPI_Isend(std::ptr::null(), 0, bytes(), me, TAG, ring.communicator, send)
                });
            }
            let pieces = ring.requests.chunks_mut(AT_ONCE).chain(sends.chunks_mut(AT_ONCE));
            for requests in pieces {
                // SAFETY: as many requests as the slice holds, each completed once.
                sure!(world, unsafe { MPI_Waitall(count(requests.len()), requests.as_mut_ptr(), ignore) });
            }
            // SAFETY: all of its receives are complete.
            unsafe { ring.memory.free() };
        }
    }
}

/// Memory from which messages are sent.
pub(in super::super) struct Outbox {
    world: &'static World,
    memory: Words,
    /// Number of words of a slot.
    each: usize,
    requests: Vec<ffi::MPI_Request>,
    /// The free slots, and those in use by a send.
    free: Vec<usize>,
    busy: Vec<usize>,
}

impl Outbox {
    /// `slots` slots of `each` words.
    pub(in super::super) fn new(world: &'static World, slots: usize, each: usize) -> Self {
        // SAFETY: a constant that the shim initialises when it is loaded.
        let none = unsafe { ffi::RSMPI_REQUEST_NULL };
        let (memory, requests) = (Words::zeroed(slots * each), vec![none; slots]);
        let (free, busy) = ((0..slots).collect(), Vec::with_capacity(slots));
        Self { world, memory, each, requests, free, busy }
    }

    /// True if a message can be sent now.
    #[inline]
    pub(in super::super) fn has_room(&mut self) -> bool {
        if self.free.is_empty() {
            let Self { world, requests, free, busy, .. } = self;
            busy.retain(|slot| {
                let done = is_done(world, &mut requests[*slot]);
                if done {
                    free.push(*slot);
                }
                !done
            });
        }
        !self.free.is_empty()
    }

    /// Sends the first `length` bytes that `fill` writes to node `to`; requires
    /// [`Outbox::has_room`].
    #[inline]
    pub(in super::super) fn send(
        &mut self,
        lane: Lane,
        to: usize,
        length: usize,
        fill: impl FnOnce(&mut [u64]),
    ) {
        let Some(slot) = self.free.pop() else { return };
        assert!(length <= self.each * 8);
        let at = self.memory.slot(slot, self.each);
        // SAFETY: the slot is free: no request uses it.
        fill(unsafe { std::slice::from_raw_parts_mut(at, self.each) });
        let (world, request) = (self.world, &mut self.requests[slot]);
        let communicator = world.lanes[lane as usize];
        // SAFETY: the slot has `length` bytes, by the assertion, and is not written again before
        // the request is complete.
        sure!(world, unsafe {
            MPI_Isend(at.cast(), count(length), bytes(), peer(to), TAG, communicator, request)
        });
        // Short messages are nearly always complete by now.
        if is_done(world, request) {
            self.free.push(slot);
        } else {
            self.busy.push(slot);
        }
    }

    /// Waits until all messages have been sent; this requires no more of this node.
    pub(in super::super) fn finish(mut self) {
        // SAFETY: a constant that the shim initialises when it is loaded.
        let ignore = unsafe { ffi::RSMPI_STATUSES_IGNORE };
        let requests = &mut self.requests;
        // SAFETY: as many requests as the vector holds; those of free slots are null.
        sure!(self.world, unsafe { MPI_Waitall(count(requests.len()), requests.as_mut_ptr(), ignore) });
        // SAFETY: all of its requests are complete.
        unsafe { self.memory.free() };
    }
}
