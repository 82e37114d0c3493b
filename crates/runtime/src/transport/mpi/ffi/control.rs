//! The MPI library's control variables (MPI 3.1, §14.3.6).

use super::error_of;
use mpi::ffi;
use std::ffi::{CString, c_int};
use std::sync::OnceLock;

/// Sets a control variable of the MPI library that holds a whole number.
///
/// # Errors
/// The library has no such variable, or it holds something else, or cannot be set.
pub(crate) fn set(name: &str, value: i32) -> Result<(), String> {
    static BEGUN: OnceLock<Result<(), String>> = OnceLock::new();
    BEGUN
        .get_or_init(|| {
            let mut level: c_int = 0;
            // SAFETY: a constant that the shim initialises when it is loaded.
            let wanted = unsafe { ffi::RSMPI_THREAD_SERIALIZED };
            // SAFETY: the tools' interface may begin at any time; it writes to a variable that
            // outlives the call.
            attempt!(unsafe { MPI_T_init_thread(wanted, &mut level) })
        })
        .clone()?;
    let text = CString::new(name).map_err(|_| "a name holds no zero byte".to_owned())?;
    let mut index: c_int = 0;
    // SAFETY: the tools' interface has begun; the name ends with a zero, and the index outlives the
    // call.
    attempt!(unsafe { MPI_T_cvar_get_index(text.as_ptr(), &mut index) })
        .map_err(|_| format!("the MPI library has no variable `{name}`"))?;
    let (mut handle, mut count): (ffi::MPI_T_cvar_handle, c_int) = (std::ptr::null_mut(), 0);
    // SAFETY: the index is one of the library's; a variable that belongs to no object takes null,
    // and the other arguments outlive the call.
    attempt!(unsafe { MPI_T_cvar_handle_alloc(index, std::ptr::null_mut(), &mut handle, &mut count) })?;
    let outcome = if count == 1 {
        // Room for the longest of the types that hold one number.
        let words: [i32; 2] = [value, 0];
        // SAFETY: the handle is live, and the library reads one number of at most 8 bytes, which
        // outlive the call.
        attempt!(unsafe { MPI_T_cvar_write(handle, words.as_ptr().cast()) })
            .map_err(|error| format!("`{name}` cannot be set: {error}"))
    } else {
        Err(format!("`{name}` holds {count} values"))
    };
    // SAFETY: the handle is live, and not used after this.
    attempt!(unsafe { MPI_T_cvar_handle_free(&mut handle) })?;
    outcome
}
