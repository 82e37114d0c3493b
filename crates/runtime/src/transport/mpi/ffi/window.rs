//! Memory that all nodes of one host access directly, and memory that all nodes access by one-sided
//! transfers.
//!
//! The memory of a host is not allocated by MPI, which frees its own when MPI is finalised even if
//! words are still held: a thread for which no node waits may access words while the process exits.
//! One-sided transfers are several times as fast into memory that MPI has allocated; a process that
//! still holds such words does not finalise MPI, but ends the job.

#![allow(unsafe_code, reason = "the MPI library allocates the memory, and tells where it lies")]

use super::{LINE, PIECE, WORLD, World, bytes, count, error_of, host, peer, simulated_clock};
use crate::block::byte_length;
use crate::transport::{Action, Call, ExposedWords, OneSided, SharedWords, Words};
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, Weak};

impl Words for World {
    /// For nodes of one host that has such memory.
    fn shared_words(&self, words: usize) -> Option<Vec<SharedWords>> {
        // Simulated nodes could share memory, but in no time.
        let apart = simulated_clock().map_or(Ok(()), |_| Err("the nodes are simulated".to_owned()));
        let own = apart.and_then(|()| self.is_one_host()).and_then(|()| host::Memory::create(words));
        let place = own.as_ref().map_or(host::Place::NONE, host::Memory::place);
        let places = self.gather(&place);
        let open = |own: &host::Memory| {
            let one = |(rank, place): (usize, &host::Place)| {
                if rank == self.rank { Ok(own.words()) } else { place.open(words) }
            };
            places.iter().enumerate().map(one).collect::<Result<Vec<SharedWords>, String>>()
        };
        let opened = own.as_ref().map_err(Clone::clone).and_then(open);
        // Each node keeps its file open until all nodes have opened it and arrived here.
        self.if_all_have(opened)
    }

    /// Windows of words that are held stay until the process exits, so there are none on a
    /// communicator of a program that finalises MPI itself (MPI 3.1, §11.2.2).
    fn exposed_words(&'static self, words: usize) -> Option<ExposedWords> {
        if !matches!(WORLD.get(), Some(Ok(world)) if std::ptr::eq(world, self)) {
            return None;
        }
        self.free_unused();
        let exposed = self.expose(words);
        let (own, transfers) = self.if_all_have(exposed)?;
        Some(ExposedWords::new(own, self.size, Box::new(transfers)))
    }
}

impl World {
    /// The value, if it was made on all nodes. Collective.
    fn if_all_have<T>(&self, made: Result<T, String>) -> Option<T> {
        let failed = self.gather(&u64::from(made.is_err()));
        made.ok().filter(|_| failed.iter().all(|failed| *failed == 0))
    }

    /// A value of each node, by rank. Collective.
    fn gather<T: bytemuck::Pod>(&self, mine: &T) -> Vec<T> {
        let mut all = vec![T::zeroed(); self.size];
        let call = Call::plain(Action::Share, Location::caller());
        self.all_gather(&call, bytemuck::bytes_of(mine), bytemuck::cast_slice_mut(&mut all));
        all
    }

    /// Frees windows whose words no node holds any more, among the 64 oldest: nodes have the same
    /// windows in the same order. Collective.
    fn free_unused(&self) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = windows.iter().take(64).enumerate();
        let unused = unused.filter(|(_, window)| window.held.upgrade().is_none());
        let mine = unused.fold(0u64, |bits, (i, _)| bits | 1 << i);
        let all = self.gather(&mine).into_iter().fold(!0, |all: u64, node| all & node);
        for at in (0..64.min(windows.len())).rev().filter(|at| all & 1 << at != 0) {
            windows.remove(at).free();
        }
    }

    /// Fails, on every node, unless all run on one host. Collective.
    fn is_one_host(&self) -> Result<(), String> {
        match self.nodes_of_host()? {
            nodes if nodes == self.size => Ok(()),
            _ => Err("the nodes run on several hosts".to_owned()),
        }
    }

    /// The number of hosts on which the nodes run, by their memory: processes of one host can share
    /// it. 1 if MPI does not say. Collective.
    pub(in super::super) fn hosts(&self) -> usize {
        let mine = self.nodes_of_host().ok().and_then(|nodes| u64::try_from(nodes).ok()).unwrap_or(0);
        let all = self.gather(&mine);
        if all.contains(&0) {
            return 1;
        }
        // Each node is that part of its host.
        let hosts: f64 = all.iter().map(|nodes| 1.0 / *nodes as f64).sum();
        (hosts.round() as usize).max(1)
    }

    /// The number of nodes on this one's host. Collective.
    fn nodes_of_host(&self) -> Result<usize, String> {
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
        // SAFETY: a live communicator in which nothing is in flight; all its nodes call this.
        attempt!(unsafe { MPI_Comm_free(&mut host) })?;
        usize::try_from(nodes).map_err(|error| error.to_string())
    }

    fn expose(&'static self, words: usize) -> Result<(SharedWords, Transfers), String> {
        let length = byte_length::<u64>(words).checked_next_multiple_of(LINE).unwrap_or(usize::MAX);
        let length = ffi::MPI_Aint::try_from(length).map_err(|error| error.to_string())?;
        // SAFETY: constants that the shim initialises when it is loaded.
        let (no_info, mut window) = unsafe { (ffi::RSMPI_INFO_NULL, ffi::RSMPI_WIN_NULL) };
        let mut base: *mut c_void = std::ptr::null_mut();
        let place: *mut *mut c_void = &mut base;
        // SAFETY: `programs` is a live communicator; MPI writes the address and the window's handle
        // to variables that outlive the call.
        attempt!(unsafe { MPI_Win_allocate(length, 1, no_info, self.programs, place.cast(), &mut window) })?;
        let held = Arc::new(Held);
        let created = Window { window, held: Arc::downgrade(&held) };
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).push(created);
        // SAFETY: a constant that the shim initialises when it is loaded.
        let returns = unsafe { ffi::RSMPI_ERRORS_RETURN };
        // SAFETY: the window was just created, and the handler is one of MPI's own.
        attempt!(unsafe { MPI_Win_set_errhandler(window, returns) })?;
        // SAFETY: the window was just created and is not locked; it stays so until it is freed.
        attempt!(unsafe { MPI_Win_lock_all(0, window) })?;
        let base: *const AtomicU64 = base.cast_const().cast();
        if words > 0 && (base.is_null() || !base.is_aligned()) {
            return Err("the library's memory is not aligned".to_owned());
        }
        let memory: &[AtomicU64] = match words {
            0 => &[],
            // SAFETY: MPI has allocated the words there, aligned by the check above, until the
            // window is freed or MPI is finalised: neither while this node has `held`, with which
            // the words go. This process accesses them as atomic words only; transfers of others
            // access them from outside, or inside this thread's calls of MPI.
            _ => unsafe { std::slice::from_raw_parts(base, words) },
        };
        memory.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        let keep: Arc<dyn std::any::Any + Send + Sync> = Arc::<Held>::clone(&held);
        Ok((SharedWords::while_kept(memory, keep), Transfers { world: self, window, _held: held }))
    }

    /// Frees all windows when the process exits; ends the job if this process still holds words of
    /// a window. Collective.
    pub(super) fn free_windows(&self) {
        let windows = std::mem::take(&mut *self.windows.lock().unwrap_or_else(PoisonError::into_inner));
        if windows.iter().any(|window| window.held.upgrade().is_some()) {
            self.die(
                self.rank,
                "words of `expose_words` are held while the process exits; drop them, and join threads that hold \
                 some, before `main` returns",
            );
        }
        windows.into_iter().for_each(Window::free);
    }
}

/// One-sided transfers in a window, which stays locked as long as `held` exists.
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

/// Converts a place in a window to MPI's type.
fn offset(at: usize) -> ffi::MPI_Aint {
    ffi::MPI_Aint::try_from(at).unwrap_or(ffi::MPI_Aint::MAX)
}

/// Owned by all words of a window and its transfers.
struct Held;

/// Memory of this node that others access.
pub(super) struct Window {
    window: ffi::MPI_Win,
    /// Dead when this node holds no words of the window.
    held: Weak<Held>,
}

impl Window {
    /// Frees the window: collective, when no node accesses its memory any more.
    fn free(self) {
        let mut window = self.window;
        // Errors are ignored: at the worst the memory stays until the process exits.
        // SAFETY: the window was locked when it was created; nothing is in flight in it.
        let _ = attempt!(unsafe { MPI_Win_unlock_all(window) });
        // SAFETY: the window is live and unlocked; no node holds words of it or runs a program, and
        // all nodes make this call, in the same order.
        let _ = attempt!(unsafe { MPI_Win_free(&mut window) });
    }
}
