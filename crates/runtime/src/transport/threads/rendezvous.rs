//! Slots: what each node brings to a rendezvous, and how nodes know that all have come.
//!
//! A node has two slots and uses them in epoch. It may write the slot of epoch t only when all
//! others have read that of epoch t − 2; they have, because they attended epoch t − 1 after it. So
//! one rendezvous is enough for everything that fits on a slot.
//!
//! With a core for every node, each waits for every other node's slot: one cache line moves from
//! writer to reader, and it brings the call and the first numbers with it. With more nodes than
//! cores, P² reads by nodes that take turns on a core would be the cost; there a counter is raised
//! by each and the last one raises the epoch that all wait for.

#![allow(unsafe_code, reason = "slots are shared memory; the rendezvous order their writes and reads")]

use crate::transport::{Boundary, Call};
use std::cell::UnsafeCell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// What fits on a slot, in words.
const WORDS: usize = 27;

/// What fits on a slot, in bytes.
pub(super) const SHORT: usize = WORDS * 8;

/// How a node comes to a rendezvous, besides its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mode {
    /// With a split-phase operation.
    pub(super) started: bool,
    /// Where it stands in a segmented scan.
    pub(super) boundary: Boundary,
}

/// Where a slot keeps the mode.
const MODE: u32 = 56;
/// The bits of a slot's length that are the call's.
const LENGTH: u64 = (1 << MODE) - 1;

impl Mode {
    fn pack(self) -> u64 {
        (u64::from(self.started) | (self.boundary as u64) << 1) << MODE
    }

    fn unpack(length: u64) -> Self {
        let packed = length >> MODE;
        let boundary = match packed >> 1 {
            0 => Boundary::None,
            1 => Boundary::Element,
            _ => Boundary::Array,
        };
        Self { started: packed & 1 != 0, boundary }
    }
}

/// What a node brings to one rendezvous.
#[repr(C)]
struct Content {
    place: &'static Location<'static>,
    what: u32,
    root: u32,
    /// The call's length, with [`Mode`] in the uppermost byte.
    length: u64,
    /// What is lent, where it is too long for the slot.
    lent: *mut u8,
    words: [u64; WORDS],
}

/// Four cache lines; the first holds the epoch, the call and the first three words.
#[repr(C, align(64))]
struct Slot {
    epoch: AtomicU64,
    content: UnsafeCell<Content>,
}

/// One node's slots, apart from its neighbours'.
#[repr(align(128))]
pub(super) struct Slots([Slot; 2]);

// SAFETY: the content of a slot is written by its owner before it raises `epoch` (a release store),
// read by others after they have seen that epoch (acquire), and not written again until they have
// attended the next rendezvous (see the module's text). The pointer in it is followed under the
// rules of the folder's root module.
unsafe impl Sync for Slots {}
// SAFETY: nothing in a slot belongs to a thread; the pointer is plain data here.
unsafe impl Send for Slots {}

impl Slots {
    pub(super) fn new() -> Self {
        let slot = || Slot {
            epoch: AtomicU64::new(0),
            content: UnsafeCell::new(Content {
                place: Location::caller(),
                what: 0,
                root: 0,
                length: 0,
                lent: std::ptr::null_mut(),
                words: [0; WORDS],
            }),
        };
        Self([slot(), slot()])
    }

    fn slot(&self, epoch: u64) -> &Slot {
        &self.0[(epoch % 2) as usize]
    }

    /// Writes what the owner brings to rendezvous `epoch`: at most [`SHORT`] bytes and perhaps a
    /// loan.
    ///
    /// # Safety
    /// The caller is the owner and has attended all rendezvous before `epoch`.
    pub(super) unsafe fn write(&self, epoch: u64, call: &Call, mode: Mode, bytes: &[u8], lent: *mut u8) {
        let slot = self.slot(epoch);
        // SAFETY: the others have done with this slot, as they attended rendezvous `epoch - 1`; the
        // caller is its owner.
        let content = unsafe { &mut *slot.content.get() };
        content.place = call.place;
        content.what = call.what;
        content.root = call.root;
        content.length = call.length & LENGTH | mode.pack();
        content.lent = lent;
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut content.words);
        room[..bytes.len()].copy_from_slice(bytes);
        slot.epoch.store(epoch, Ordering::Release);
    }

    /// Whether the owner has written what it brings to rendezvous `epoch`.
    pub(super) fn is_written(&self, epoch: u64) -> bool {
        self.slot(epoch).epoch.load(Ordering::Acquire) >= epoch
    }

    /// The call with which the owner came to rendezvous `epoch`, and how.
    ///
    /// # Safety
    /// The caller attends rendezvous `epoch`, all have come, and it has not gone to the next.
    pub(super) unsafe fn call(&self, epoch: u64) -> (Call, Mode) {
        // SAFETY: written before the rendezvous, not written again before the next one is complete.
        let content = unsafe { &*self.slot(epoch).content.get() };
        let Content { place, what, root, length, .. } = *content;
        (Call { what, root, length: length & LENGTH, place }, Mode::unpack(length))
    }

    /// The first `bytes` bytes on the slot.
    ///
    /// # Safety
    /// As for [`Slots::call`], for as long as the result lives.
    pub(super) unsafe fn short(&self, epoch: u64, bytes: usize) -> &[u8] {
        // SAFETY: as above.
        let content = unsafe { &*self.slot(epoch).content.get() };
        &bytemuck::cast_slice(&content.words)[..bytes]
    }

    /// The address lent.
    ///
    /// # Safety
    /// As for [`Slots::call`].
    pub(super) unsafe fn lent(&self, epoch: u64) -> *mut u8 {
        // SAFETY: as above.
        unsafe { (*self.slot(epoch).content.get()).lent }
    }
}
