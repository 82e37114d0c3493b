//! Memory that all nodes of one host access directly, and memory that all nodes access by one-sided
//! transfers.

#![allow(unsafe_code, reason = "the MPI library allocates the memory, and tells where it lies")]

use super::{PIECE, WORLD, World, bytes, count, error_of, peer};
use crate::transport::{ExposedWords, OneSided, SharedWords};
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, Weak};

impl World {
    /// `words` zero words for each node, by rank, if all nodes run on one host and the library has
    /// such memory; otherwise `None`, on every node. Before, frees the windows of which no node
    /// holds words any more; the others stay until the process exits, so there are none on a
    /// communicator of a program that finalises MPI itself. Collective; MPI 3.1, §11.2.3.
    pub(in super::super) fn shared_words(&self, words: usize) -> Option<Vec<SharedWords>> {
        self.of_all(|world| world.allocate(words))
    }

    /// `words` zero words of this node that all nodes access by one-sided transfers, if the library
    /// has them; otherwise as [`shared_words`](Self::shared_words). Collective; MPI 3.1, §11.2.2.
    pub(in super::super) fn exposed_words(&'static self, words: usize) -> Option<ExposedWords> {
        let (own, transfers) = self.of_all(|world| world.expose(words))?;
        Some(ExposedWords::new(own, self.size, Box::new(transfers)))
    }

    /// What `allocate` has made, if it has on all nodes; frees windows of which no node holds words
    /// any more before.
    fn of_all<'a, T>(&'a self, allocate: impl FnOnce(&'a Self) -> Result<T, String>) -> Option<T> {
        if !matches!(WORLD.get(), Some(Ok(world)) if std::ptr::eq(world, self)) {
            return None;
        }
        self.free_unused();
        let made = allocate(self);
        // Every node has it, or none takes it.
        let failed = self.words_of_all(u64::from(made.is_err()));
        made.ok().filter(|_| failed.iter().all(|failed| *failed == 0))
    }

    /// A word of each node, by rank.
    fn words_of_all(&self, mine: u64) -> Vec<u64> {
        let mut all = vec![0; self.size];
        self.all_gather(
            &crate::transport::Call::plain(crate::transport::Action::Share, std::panic::Location::caller()),
            &mine.to_ne_bytes(),
            bytemuck::cast_slice_mut(&mut all),
        );
        all
    }

    /// Frees windows of which no node holds words any more, of the 64 oldest: nodes have the same
    /// windows in the same order. Collective.
    fn free_unused(&self) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = windows.iter().take(64).enumerate();
        let unused = unused.filter(|(_, window)| window.held.upgrade().is_none());
        let mine = unused.fold(0, |bits, (i, _)| bits | 1 << i);
        let all = self.words_of_all(mine).into_iter().fold(!0, |all: u64, node| all & node);
        for at in (0..64.min(windows.len())).rev().filter(|at| all & 1 << at != 0) {
            windows.remove(at).free();
        }
    }

    fn allocate(&self, words: usize) -> Result<Vec<SharedWords>, String> {
        // SAFETY: constants that the shim initialises when it is loaded.
        let (shared, no_info) = unsafe { (ffi::RSMPI_COMM_TYPE_SHARED, ffi::RSMPI_INFO_NULL) };
        let mut host = self.programs;
        // SAFETY: `programs` is a live communicator; the new one's handle is written to a variable
        // that outlives the call.
        attempt!(unsafe { MPI_Comm_split_type(self.programs, shared, peer(self.rank), no_info, &mut host) })?;
        let mut nodes: c_int = 0;
        // SAFETY: `host` was just created; the size is written to a variable that outlives the
        // call.
        attempt!(unsafe { MPI_Comm_size(host, &mut nodes) })?;
        if usize::try_from(nodes) != Ok(self.size) {
            // SAFETY: a live communicator in which nothing is in flight; all its nodes call this.
            attempt!(unsafe { MPI_Comm_free(&mut host) })?;
            return Err("the nodes run on several hosts".to_owned());
        }
        let bytes = ffi::MPI_Aint::try_from(8 * words).map_err(|error| error.to_string())?;
        let mut base: *mut c_void = std::ptr::null_mut();
        // SAFETY: a constant that the shim initialises when it is loaded.
        let mut window = unsafe { ffi::RSMPI_WIN_NULL };
        let place: *mut *mut c_void = &mut base;
        // SAFETY: `host` is a live communicator; MPI writes the address and the window's handle to
        // variables that outlive the call.
        attempt!(unsafe { MPI_Win_allocate_shared(bytes, 8, no_info, host, place.cast(), &mut window) })?;
        let held = Arc::new(Held);
        let created = Window { window, host, held: Arc::downgrade(&held) };
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).push(created);
        // SAFETY: the window was just created and is not locked; it stays so until it is freed.
        attempt!(unsafe { MPI_Win_lock_all(0, window) })?;
        let mut all = Vec::with_capacity(self.size);
        // As ranks of `host` are in the order of those of `programs`, they are the same.
        for rank in 0..self.size {
            let (mut length, mut unit): (ffi::MPI_Aint, c_int) = (0, 0);
            let mut base: *mut c_void = std::ptr::null_mut();
            let place: *mut *mut c_void = &mut base;
            // SAFETY: the window has shared memory of every rank; MPI writes to variables that
            // outlive the call.
            attempt!(unsafe {
                MPI_Win_shared_query(window, peer(rank), &mut length, &mut unit, place.cast())
            })?;
            let base: *const AtomicU64 = base.cast_const().cast();
            if length < bytes || base.is_null() || !base.is_aligned() {
                return Err("the library's shared memory is too short".to_owned());
            }
            // SAFETY: MPI has mapped `length` bytes there, aligned for words by the check above,
            // until the window is freed: when no node has `held` any more, with which the words go,
            // or when the process exits. All nodes access them as atomic words only.
            let memory = unsafe { std::slice::from_raw_parts(base, words) };
            let keep: Arc<dyn std::any::Any + Send + Sync> = Arc::<Held>::clone(&held);
            all.push(SharedWords::while_kept(memory, keep));
        }
        all[self.rank].iter().for_each(|word| word.store(0, Ordering::Relaxed));
        Ok(all)
    }

    fn expose(&'static self, words: usize) -> Result<(SharedWords, Transfers), String> {
        let bytes = ffi::MPI_Aint::try_from(8 * words).map_err(|error| error.to_string())?;
        // SAFETY: constants that the shim initialises when it is loaded.
        let (none, no_info, mut window) =
            unsafe { (ffi::RSMPI_COMM_NULL, ffi::RSMPI_INFO_NULL, ffi::RSMPI_WIN_NULL) };
        let mut base: *mut c_void = std::ptr::null_mut();
        let place: *mut *mut c_void = &mut base;
        // SAFETY: `programs` is a live communicator; MPI writes the address and the window's handle
        // to variables that outlive the call.
        attempt!(unsafe { MPI_Win_allocate(bytes, 1, no_info, self.programs, place.cast(), &mut window) })?;
        let held = Arc::new(Held);
        let created = Window { window, host: none, held: Arc::downgrade(&held) };
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).push(created);
        // SAFETY: the window was just created and is not locked; it stays so until it is freed.
        attempt!(unsafe { MPI_Win_lock_all(0, window) })?;
        let base: *const AtomicU64 = base.cast_const().cast();
        if words > 0 && (base.is_null() || !base.is_aligned()) {
            return Err("the library's memory is not aligned".to_owned());
        }
        let memory: &[AtomicU64] = match words {
            0 => &[],
            // SAFETY: MPI has allocated the words there, aligned by the check above, until the
            // window is freed: when no node has `held` any more, with which the words go, or when
            // the process exits. This process accesses them as atomic words only; transfers of
            // others access them from outside, or inside this thread's calls of MPI.
            _ => unsafe { std::slice::from_raw_parts(base, words) },
        };
        memory.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        let keep: Arc<dyn std::any::Any + Send + Sync> = Arc::<Held>::clone(&held);
        Ok((SharedWords::while_kept(memory, keep), Transfers { world: self, window, _held: held }))
    }

    /// Frees all windows, when the process exits.
    pub(super) fn free_windows(&self) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.drain(..).for_each(Window::free);
    }
}

/// One-sided transfers in a window that is locked as long as `held` is held.
struct Transfers {
    world: &'static World,
    window: ffi::MPI_Win,
    _held: Arc<Held>,
}

impl Transfers {
    /// Completes this node's transfers to or from `node`; MPI 3.1, §11.5.4.
    fn flush(&self, node: usize) {
        // SAFETY: the window is locked.
        sure!(self.world, unsafe { MPI_Win_flush(peer(node), self.window) });
    }
}

impl OneSided for Transfers {
    fn put(&self, to: usize, at: usize, from: &[u8]) {
        for (i, piece) in from.chunks(PIECE).enumerate() {
            let (place, at, length) = (piece.as_ptr(), offset(at + i * PIECE), count(piece.len()));
            // SAFETY: `piece` has `length` bytes, which are not freed before the flush below; the
            // caller has checked that the node's part of the window has them from `at` on.
            sure!(self.world, unsafe {
                MPI_Put(place.cast(), length, bytes(), peer(to), at, length, bytes(), self.window)
            });
        }
        self.flush(to);
    }

    fn get(&self, from: usize, at: usize, into: &mut [u8]) {
        for (i, piece) in into.chunks_mut(PIECE).enumerate() {
            let (place, at, length) = (piece.as_mut_ptr(), offset(at + i * PIECE), count(piece.len()));
            // SAFETY: as for `put`; the bytes are not accessed before the flush below.
            sure!(self.world, unsafe {
                MPI_Get(place.cast(), length, bytes(), peer(from), at, length, bytes(), self.window)
            });
        }
        self.flush(from);
    }
}

/// A place in a window.
fn offset(at: usize) -> ffi::MPI_Aint {
    ffi::MPI_Aint::try_from(at).unwrap_or(ffi::MPI_Aint::MAX)
}

/// What all words of a window keep.
struct Held;

/// Memory that several nodes access.
pub(super) struct Window {
    window: ffi::MPI_Win,
    /// The communicator of a host's nodes that was made for it; null for one of all nodes.
    host: ffi::MPI_Comm,
    /// Gone when this node holds no words of it.
    held: Weak<Held>,
}

impl Window {
    /// Frees it: collective, when no node accesses its memory any more.
    fn free(self) {
        let Self { mut window, mut host, .. } = self;
        // Errors are ignored: at the worst the memory stays until the process exits.
        // SAFETY: the window was locked when it was created; nothing is in flight in it.
        let _ = attempt!(unsafe { MPI_Win_unlock_all(window) });
        // SAFETY: the window is live and unlocked; no node holds words of it or runs a program, and
        // all nodes make this call, in the same order.
        let _ = attempt!(unsafe { MPI_Win_free(&mut window) });
        // SAFETY: a constant that the shim initialises when it is loaded.
        if host != unsafe { ffi::RSMPI_COMM_NULL } {
            // SAFETY: a live communicator in which nothing is in flight.
            let _ = attempt!(unsafe { MPI_Comm_free(&mut host) });
        }
    }
}
