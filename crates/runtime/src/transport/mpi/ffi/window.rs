//! Memory that all nodes of one host access directly.

#![allow(unsafe_code, reason = "the MPI library allocates the memory, and tells where it lies")]

use super::{WORLD, World, error_of, peer};
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

impl World {
    /// `words` zero words for each node, by rank, if all nodes run on one host and the library has
    /// such memory; otherwise `None`, on every node. It is kept until the process exits, so there
    /// is none on a communicator of a program that finalises MPI itself. Collective; MPI 3.1,
    /// §11.2.3.
    pub(in super::super) fn shared_words(&self, words: usize) -> Option<Vec<&'static [AtomicU64]>> {
        if !matches!(WORLD.get(), Some(Ok(world)) if std::ptr::eq(world, self)) {
            return None;
        }
        let made = self.allocate(words);
        // Every node has it, or none takes it.
        let failed = u64::from(made.is_err());
        let mut all = vec![0; self.size];
        self.all_gather(
            &crate::transport::Call::plain(crate::transport::Action::Share, std::panic::Location::caller()),
            &failed.to_ne_bytes(),
            bytemuck::cast_slice_mut(&mut all),
        );
        made.ok().filter(|_| all.iter().all(|failed: &u64| *failed == 0))
    }

    fn allocate(&self, words: usize) -> Result<Vec<&'static [AtomicU64]>, String> {
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
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).push((window, host));
        // SAFETY: the window was just created and is not locked; it stays so until the process
        // exits.
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
            // until the window is freed when the process exits. All nodes access them as atomic
            // words only.
            all.push(unsafe { std::slice::from_raw_parts(base, words) });
        }
        all[self.rank].iter().for_each(|word| word.store(0, Ordering::Relaxed));
        Ok(all)
    }

    /// Frees all windows of shared memory, when the process exits.
    pub(super) fn free_windows(&self) {
        for (mut window, mut host) in self.windows.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // Errors are ignored: nobody is left to handle them.
            // SAFETY: the window was locked when it was created; nothing is in flight in it.
            let _ = attempt!(unsafe { MPI_Win_unlock_all(window) });
            // SAFETY: the window is live and unlocked; no program runs that could access its
            // memory, and all nodes make this call when their processes exit, in the order of
            // creation.
            let _ = attempt!(unsafe { MPI_Win_free(&mut window) });
            // SAFETY: a live communicator in which nothing is in flight.
            let _ = attempt!(unsafe { MPI_Comm_free(&mut host) });
        }
    }
}
