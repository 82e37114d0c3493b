//! Slots: each node's contribution to a rendezvous, and the detection that all have arrived.
//!
//! A node has two slots, used in alternate epochs. It may write the slot of epoch t only when all
//! others have read that of epoch t − 2; they have, because they arrived at epoch t − 1 after
//! reading it. So one rendezvous suffices for values that fit on a slot.
//!
//! With a core for every node, each node waits for every other node's slot: one cache line moves
//! from writer to reader, and contains the call and the first numbers. With more nodes than cores,
//! P² reads by nodes that share a core would be too expensive. Each node then increments a counter,
//! and the last one sets the epoch for which all wait.

#![allow(unsafe_code, reason = "slots are shared memory; the rendezvous order their writes and reads")]

use super::sync::{AtomicU64, Ordering, UnsafeCell};
use crate::transport::{Boundary, Call};
use std::panic::Location;

/// Number of words that fit on a slot.
const WORDS: usize = 27;

/// Number of bytes that fit on a slot.
pub(super) const SHORT: usize = WORDS * 8;

/// The mode in which a node arrives at a rendezvous, besides its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mode {
    /// True for a split-phase operation.
    pub(super) started: bool,
    /// Its position in a segmented scan.
    pub(super) boundary: Boundary,
}

/// The position of the mode in a slot's length.
const MODE: u32 = 56;
/// The bits of a slot's length that belong to the call.
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

/// A node's contribution to one rendezvous.
#[repr(C)]
struct Content {
    place: &'static Location<'static>,
    what: u32,
    root: u32,
    /// The call's length, with [`Mode`] in the highest byte.
    length: u64,
    /// The lent memory of values too long for the slot.
    lent: *mut u8,
    words: [u64; WORDS],
}

/// Four cache lines; the first holds the epoch, the call and the first three words.
#[repr(C, align(64))]
struct Slot {
    epoch: AtomicU64,
    content: UnsafeCell<Content>,
}

/// One node's slots, on cache lines of their own.
#[repr(align(128))]
pub(super) struct Slots([Slot; 2]);

// SAFETY: the content of a slot is written by its owner before it raises `epoch` (a release store),
// read by others after they have seen that epoch (acquire), and not written again until they have
// arrived at the next rendezvous (see the module's text). The pointer in it is followed under the
// rules in `threads/mod.rs`.
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

    /// Writes the owner's contribution to rendezvous `epoch`: at most [`SHORT`] bytes and
    /// optionally a loan.
    ///
    /// # Safety
    /// The caller is the owner and has arrived at all rendezvous before `epoch`.
    pub(super) unsafe fn write(&self, epoch: u64, call: &Call, mode: Mode, bytes: &[u8], lent: *mut u8) {
        let slot = self.slot(epoch);
        slot.content.with_mut(|content| {
            // SAFETY: the other nodes no longer read this slot, as they arrived at rendezvous
            // `epoch - 1`; the caller is its owner.
            let content = unsafe { &mut *content };
            content.place = call.place;
            content.what = call.what;
            content.root = call.root;
            content.length = call.length & LENGTH | mode.pack();
            content.lent = lent;
            let room: &mut [u8] = bytemuck::cast_slice_mut(&mut content.words);
            room[..bytes.len()].copy_from_slice(bytes);
        });
        slot.epoch.store(epoch, Ordering::Release);
    }

    /// True if the owner has written its contribution to rendezvous `epoch`.
    pub(super) fn is_written(&self, epoch: u64) -> bool {
        self.slot(epoch).epoch.load(Ordering::Acquire) >= epoch
    }

    /// The call and the mode with which the owner arrived at rendezvous `epoch`.
    ///
    /// # Safety
    /// The caller takes part in rendezvous `epoch`, all have arrived, and it has not arrived at the
    /// next.
    pub(super) unsafe fn call(&self, epoch: u64) -> (Call, Mode) {
        // SAFETY: written before the rendezvous, not written again before the next one is complete.
        let content = self.slot(epoch).content.with(|content| unsafe { &*content });
        let Content { place, what, root, length, .. } = *content;
        (Call { what, root, length: length & LENGTH, place }, Mode::unpack(length))
    }

    /// The first `bytes` bytes on the slot.
    ///
    /// # Safety
    /// As for [`Slots::call`], for as long as the result lives.
    pub(super) unsafe fn short(&self, epoch: u64, bytes: usize) -> &[u8] {
        // SAFETY: written before the rendezvous, not written again before the next one is complete.
        let content = self.slot(epoch).content.with(|content| unsafe { &*content });
        &bytemuck::cast_slice(&content.words)[..bytes]
    }

    /// The address of the lent memory.
    ///
    /// # Safety
    /// As for [`Slots::call`].
    pub(super) unsafe fn lent(&self, epoch: u64) -> *mut u8 {
        // SAFETY: written before the rendezvous, not written again before the next one is complete.
        self.slot(epoch).content.with(|content| unsafe { (*content).lent })
    }
}
