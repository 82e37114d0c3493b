//! Pages: what each node brings to a meeting, and how nodes know that all have come.
//!
//! A node has two pages and uses them in turn. It may write the page of turn t only when all others have read that
//! of turn t − 2; they have, because they attended turn t − 1 after it. So one meeting is enough for everything that
//! fits on a page.
//!
//! With a core for every node, each waits for every other node's page: one cache line moves from writer to reader,
//! and it brings the call and the first numbers with it. With more nodes than cores, P² reads by nodes that take turns on
//! a core would be the cost; there a counter is raised by each and the last one raises the turn that all wait for.

#![allow(unsafe_code, reason = "pages are shared memory; the meetings order their writes and reads")]

use crate::transport::{Boundary, Call};
use std::cell::UnsafeCell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// What fits on a page, in words.
const WORDS: usize = 27;

/// What fits on a page, in bytes.
pub(super) const SHORT: usize = WORDS * 8;

/// How a node comes to a meeting, besides its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Manner {
    /// With a split-phase operation.
    pub(super) started: bool,
    /// Where it stands in a segmented scan.
    pub(super) boundary: Boundary,
}

/// Where a page keeps the manner.
const MANNER: u32 = 56;
/// The bits of a page's length that are the call's.
const LENGTH: u64 = (1 << MANNER) - 1;

impl Manner {
    fn pack(self) -> u64 {
        (u64::from(self.started) | (self.boundary as u64) << 1) << MANNER
    }

    fn unpack(length: u64) -> Self {
        let packed = length >> MANNER;
        let boundary = match packed >> 1 {
            0 => Boundary::None,
            1 => Boundary::Element,
            _ => Boundary::Array,
        };
        Self { started: packed & 1 != 0, boundary }
    }
}

/// What a node brings to one meeting.
#[repr(C)]
struct Content {
    place: &'static Location<'static>,
    what: u32,
    root: u32,
    /// The call's length, with [`Manner`] in the uppermost byte.
    length: u64,
    /// What is lent, where it is too long for the page.
    lent: *mut u8,
    words: [u64; WORDS],
}

/// Four cache lines; the first holds the turn, the call and the first three words.
#[repr(C, align(64))]
struct Page {
    turn: AtomicU64,
    content: UnsafeCell<Content>,
}

/// One node's pages, apart from its neighbours'.
#[repr(align(128))]
pub(super) struct Pages([Page; 2]);

// SAFETY: the content of a page is written by its owner before it raises `turn` (a release store), read by others
// after they have seen that turn (acquire), and not written again until they have attended the next meeting (see
// the module's text). The pointer in it is followed under the rules of the folder's root module.
unsafe impl Sync for Pages {}
// SAFETY: nothing in a page belongs to a thread; the pointer is plain data here.
unsafe impl Send for Pages {}

impl Pages {
    pub(super) fn new() -> Self {
        let page = || Page {
            turn: AtomicU64::new(0),
            content: UnsafeCell::new(Content {
                place: Location::caller(),
                what: 0,
                root: 0,
                length: 0,
                lent: std::ptr::null_mut(),
                words: [0; WORDS],
            }),
        };
        Self([page(), page()])
    }

    fn page(&self, turn: u64) -> &Page {
        &self.0[(turn % 2) as usize]
    }

    /// Writes what the owner brings to meeting `turn`: at most [`SHORT`] bytes and perhaps a loan.
    ///
    /// # Safety
    /// The caller is the owner and has attended all meetings before `turn`.
    pub(super) unsafe fn write(&self, turn: u64, call: &Call, manner: Manner, bytes: &[u8], lent: *mut u8) {
        let page = self.page(turn);
        // SAFETY: the others have done with this page, as they attended meeting `turn - 1`; the caller is its owner.
        let content = unsafe { &mut *page.content.get() };
        content.place = call.place;
        content.what = call.what;
        content.root = call.root;
        content.length = call.length & LENGTH | manner.pack();
        content.lent = lent;
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut content.words);
        room[..bytes.len()].copy_from_slice(bytes);
        page.turn.store(turn, Ordering::Release);
    }

    /// Whether the owner has written what it brings to meeting `turn`.
    pub(super) fn is_written(&self, turn: u64) -> bool {
        self.page(turn).turn.load(Ordering::Acquire) >= turn
    }

    /// The call with which the owner came to meeting `turn`, and how.
    ///
    /// # Safety
    /// The caller attends meeting `turn`, all have come, and it has not gone to the next.
    pub(super) unsafe fn call(&self, turn: u64) -> (Call, Manner) {
        // SAFETY: written before the meeting, not written again before the next one is complete.
        let content = unsafe { &*self.page(turn).content.get() };
        let Content { place, what, root, length, .. } = *content;
        (Call { what, root, length: length & LENGTH, place }, Manner::unpack(length))
    }

    /// The first `bytes` bytes on the page.
    ///
    /// # Safety
    /// As for [`Pages::call`], for as long as the result lives.
    pub(super) unsafe fn short(&self, turn: u64, bytes: usize) -> &[u8] {
        // SAFETY: as above.
        let content = unsafe { &*self.page(turn).content.get() };
        &bytemuck::cast_slice(&content.words)[..bytes]
    }

    /// The address lent.
    ///
    /// # Safety
    /// As for [`Pages::call`].
    pub(super) unsafe fn lent(&self, turn: u64) -> *mut u8 {
        // SAFETY: as above.
        unsafe { (*self.page(turn).content.get()).lent }
    }
}
