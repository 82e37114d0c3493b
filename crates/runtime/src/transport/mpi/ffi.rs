//! The calls of the MPI library that this transport makes: all of its unsafe code.
//!
//! rsmpi's own safe collectives tie neither the types nor the lengths of what is sent and received; here both are
//! slices whose lengths are checked before the library sees them. Every code that MPI returns is looked at. An error
//! inside a collective has no remedy on one node, and memory that a request still uses must not be given back, so it
//! ends the job at once ([`World::die`]).
//!
//! Counts are `int` in MPI 3: what is longer goes in pieces of [`PIECE`] bytes.

#![allow(unsafe_code, reason = "this is the one module that calls the MPI library")]

use super::header::{HEADER, Header};
use crate::number::{Kind, Op};
use crate::transport::Call;
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The most bytes of one message; a multiple of every element's size, and well within `int`.
const PIECE: usize = 1 << 30;

/// The tag of blocks; their order between two nodes does the rest.
const TAG: c_int = 1;

/// Bytes of the window in which a node shows where it is: a turn, then a header.
const WINDOW: usize = 8 + HEADER;

/// The job as MPI sees it; made once a process.
pub(super) struct World {
    rank: usize,
    size: usize,
    /// What programs communicate in.
    programs: ffi::MPI_Comm,
    /// What nodes that have left the program wait in.
    ends: ffi::MPI_Comm,
    window: ffi::MPI_Win,
    /// This node's part of the window: its turn, then the header of its call, as words.
    shown: &'static [AtomicU64; WINDOW / 8],
    /// Whether a program runs, so that leaving the process now would leave others waiting.
    running: AtomicBool,
}

// SAFETY: handles of MPI are plain numbers or addresses that any thread may use; MPI was asked for a level at which
// threads may take turns, and `World::enter` sees to it that they do.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

static WORLD: OnceLock<Result<World, String>> = OnceLock::new();

unsafe extern "C" {
    /// C11, 7.22.4.2: calls `function` when the process exits normally.
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// What an MPI call returned, as text; nothing for success.
fn error_of(code: c_int, name: &str) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    let mut text = [0u8; 2048];
    let mut length: c_int = 0;
    // SAFETY: the text has room for MPI_MAX_ERROR_STRING (at most 1024 in all implementations) characters.
    let told = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let length = usize::try_from(length).unwrap_or(0).min(text.len());
    let text = if told == 0 { String::from_utf8_lossy(&text[..length]) } else { "no text".into() };
    Err(format!("{name} returned {code}: {text}"))
}

/// Calls an MPI function and gives its result as `Result<(), String>`.
macro_rules! attempt {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: the pointers come from slices whose lengths are those passed, or from places that outlive the call;
        // handles are those that MPI has given.
        let code = unsafe { ffi::$function($($argument),*) };
        error_of(code, stringify!($function))
    }};
}

/// Calls an MPI function inside a collective: an error ends the job.
macro_rules! must {
    ($world:expr, $call:expr, $function:ident($($argument:expr),* $(,)?)) => {
        if let Err(error) = attempt!($function($($argument),*)) {
            $world.die($world.rank, format_args!("{}: {error}", $call));
        }
    };
}

/// A length as MPI wants it. Callers have cut to [`PIECE`] or refuse.
fn count(length: usize) -> c_int {
    c_int::try_from(length).unwrap_or(c_int::MAX)
}

/// A node's number as MPI wants it: it came from MPI.
fn peer(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

/// MPI's type for numbers of `kind` under `op`. Sums and products of signed integers are those of unsigned ones to
/// the bit, and there overflow is defined in C.
fn datatype(kind: Kind, op: Op) -> (ffi::MPI_Datatype, usize) {
    let wraps = matches!(op, Op::Add | Op::Multiply);
    // SAFETY: constants that the shim defines when it is loaded.
    unsafe {
        match kind {
            Kind::I32 if wraps => (ffi::RSMPI_UINT32_T, 4),
            Kind::I64 if wraps => (ffi::RSMPI_UINT64_T, 8),
            Kind::I32 => (ffi::RSMPI_INT32_T, 4),
            Kind::I64 => (ffi::RSMPI_INT64_T, 8),
            Kind::U32 => (ffi::RSMPI_UINT32_T, 4),
            Kind::U64 => (ffi::RSMPI_UINT64_T, 8),
            Kind::F32 => (ffi::RSMPI_FLOAT, 4),
            Kind::F64 => (ffi::RSMPI_DOUBLE, 8),
        }
    }
}

/// MPI's operation.
fn operation(op: Op) -> ffi::MPI_Op {
    // SAFETY: constants that the shim defines when it is loaded.
    unsafe {
        match op {
            Op::Add => ffi::RSMPI_SUM,
            Op::Multiply => ffi::RSMPI_PROD,
            Op::Min => ffi::RSMPI_MIN,
            Op::Max => ffi::RSMPI_MAX,
            Op::And => ffi::RSMPI_BAND,
            Op::Or => ffi::RSMPI_BOR,
            Op::Xor => ffi::RSMPI_BXOR,
        }
    }
}

/// MPI's type of a byte.
fn bytes() -> ffi::MPI_Datatype {
    // SAFETY: a constant that the shim defines when it is loaded.
    unsafe { ffi::RSMPI_UINT8_T }
}

impl World {
    /// The job this process belongs to; starts MPI at the first call.
    pub(super) fn get() -> Result<&'static Self, String> {
        WORLD.get_or_init(Self::start).as_ref().map_err(Clone::clone)
    }

    fn start() -> Result<Self, String> {
        let mut level: c_int = 0;
        // SAFETY: a constant that the shim defines when it is loaded.
        let wanted = unsafe { ffi::RSMPI_THREAD_SERIALIZED };
        attempt!(MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), wanted, &mut level))?;
        if level < wanted {
            return Err("the MPI library does not let threads take turns (MPI_THREAD_SERIALIZED)".to_owned());
        }
        // SAFETY: constants that the shim defines when it is loaded.
        let (world, no_info, returns) =
            unsafe { (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_INFO_NULL, ffi::RSMPI_ERRORS_RETURN) };
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        attempt!(MPI_Comm_rank(world, &mut rank))?;
        attempt!(MPI_Comm_size(world, &mut size))?;
        let (mut programs, mut ends) = (world, world);
        for communicator in [&mut programs, &mut ends] {
            attempt!(MPI_Comm_dup(world, communicator))?;
            attempt!(MPI_Comm_set_errhandler(*communicator, returns))?;
        }
        let mut base: *mut c_void = std::ptr::null_mut();
        // SAFETY: a constant that the shim defines when it is loaded.
        let mut window = unsafe { ffi::RSMPI_WIN_NULL };
        let base_place: *mut *mut c_void = &mut base;
        attempt!(MPI_Win_allocate(
            WINDOW as ffi::MPI_Aint,
            1,
            no_info,
            ends,
            base_place.cast(),
            &mut window
        ))?;
        attempt!(MPI_Win_set_errhandler(window, returns))?;
        // SAFETY: MPI has allocated WINDOW bytes there, aligned for any type, and keeps them until the window is freed
        // at the process's end. All accesses are through these atomics or through MPI, which reads on other nodes' behalf.
        let shown = unsafe { &*base.cast::<[AtomicU64; WINDOW / 8]>() };
        shown.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        attempt!(MPI_Win_lock_all(0, window))?;
        attempt!(MPI_Barrier(ends))?;
        // SAFETY: `finish` is a function of this module that takes nothing and does not unwind.
        if unsafe { atexit(finish) } != 0 {
            return Err("the system takes no function to call at the process's end".to_owned());
        }
        let (rank, size) = (usize::try_from(rank).unwrap_or(0), usize::try_from(size).unwrap_or(1));
        Ok(Self { rank, size, programs, ends, window, shown, running: AtomicBool::new(false) })
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// How many collectives this process has entered so far.
    pub(super) fn turn(&self) -> u64 {
        self.shown[0].load(Ordering::Relaxed)
    }

    /// Begins a program; false while another one runs.
    pub(super) fn enter(&self) -> bool {
        !self.running.swap(true, Ordering::Acquire)
    }

    /// Ends a program.
    pub(super) fn leave(&self) {
        self.running.store(false, Ordering::Release);
    }

    /// Says what has failed on node `rank`, and ends the job on all nodes.
    pub(super) fn die(&self, rank: usize, message: impl Display) -> ! {
        let text = format!("strata: node {rank}: {message}\n");
        // Nothing is left to be done about an error here.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        let _ = std::io::stdout().lock().flush();
        // SAFETY: a constant that the shim defines when it is loaded; MPI has been started.
        let _ = unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
        std::process::abort();
    }

    /// Shows the other nodes which collective this node is about to enter, and that it is its `turn`th.
    pub(super) fn show(&self, turn: u64, header: &[u64]) {
        for (word, value) in self.shown[1..].iter().zip(header) {
            word.store(*value, Ordering::Relaxed);
        }
        self.shown[0].store(turn, Ordering::Release);
    }

    /// What node `rank` shows: its turn, and where it is.
    fn look_at(&self, rank: usize) -> Result<(u64, Header), String> {
        let mut seen = [0u64; WINDOW / 8];
        attempt!(MPI_Get(
            seen.as_mut_ptr().cast(),
            count(WINDOW),
            bytes(),
            peer(rank),
            0,
            count(WINDOW),
            bytes(),
            self.window
        ))?;
        attempt!(MPI_Win_flush(peer(rank), self.window))?;
        Ok((seen[0], Header::from_words(&seen[1..])))
    }

    /// Waits until all nodes have left the program, this one after `turn` collectives. `Err` tells of a node that has entered
    /// a later collective, where it waits, or should have waited, for this one.
    pub(super) fn wait_for_all_to_leave(&self, turn: u64) -> Result<(), String> {
        // SAFETY: a constant that the shim defines when it is loaded.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        attempt!(MPI_Ibarrier(self.ends, &mut request))?;
        let mut done: c_int = 0;
        let mut round = 0u32;
        loop {
            // SAFETY: a constant that the shim defines when it is loaded.
            let ignore = unsafe { ffi::RSMPI_STATUS_IGNORE };
            attempt!(MPI_Test(&mut request, &mut done, ignore))?;
            round = round.saturating_add(1);
            // Looking at others costs a message each; nearly always all end together.
            if done != 0 || round.is_multiple_of(256) {
                for rank in (0..self.size).filter(|rank| *rank != self.rank) {
                    let (other, header) = self.look_at(rank)?;
                    if other > turn {
                        return Err(format!("left the program while node {rank} waits in {header}"));
                    }
                }
            }
            if done != 0 {
                // So that nobody begins another program while others still look.
                return attempt!(MPI_Barrier(self.ends));
            }
            if round < 1000 {
                std::thread::yield_now();
            } else {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }

    /// MPI 3.1, §5.3.
    pub(super) fn barrier(&self, call: &Call) {
        must!(self, call, MPI_Barrier(self.programs));
    }

    /// MPI 3.1, §5.9.6, for integers, whose order of combining does not show.
    pub(super) fn all_reduce(&self, call: &Call, kind: Kind, op: Op, from: &[u8], to: &mut [u8]) {
        assert_eq!(from.len(), to.len(), "{call}");
        let (datatype, each) = datatype(kind, op);
        let operation = operation(op);
        for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
            let count = count(from.len() / each);
            let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
            must!(self, call, MPI_Allreduce(from, to, count, datatype, operation, self.programs));
        }
    }

    /// MPI 3.1, §5.11.2, for integers; on node 0 `to` is left as it was.
    pub(super) fn exclusive_scan(&self, call: &Call, kind: Kind, op: Op, from: &[u8], to: &mut [u8]) {
        assert_eq!(from.len(), to.len(), "{call}");
        let (datatype, each) = datatype(kind, op);
        let operation = operation(op);
        for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
            let count = count(from.len() / each);
            let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
            must!(self, call, MPI_Exscan(from, to, count, datatype, operation, self.programs));
        }
    }

    /// MPI 3.1, §5.4.
    pub(super) fn broadcast(&self, call: &Call, root: usize, values: &mut [u8]) {
        for piece in values.chunks_mut(PIECE) {
            let (at, length) = (piece.as_mut_ptr().cast(), count(piece.len()));
            must!(self, call, MPI_Bcast(at, length, bytes(), peer(root), self.programs));
        }
    }

    /// MPI 3.1, §5.7; in messages between pairs where it is too long for one call.
    pub(super) fn all_gather(&self, call: &Call, mine: &[u8], all: &mut [u8]) {
        assert_eq!(mine.len() * self.size, all.len(), "{call}");
        if mine.is_empty() {
            return;
        }
        if mine.len() <= PIECE {
            let (from, to, length) = (mine.as_ptr().cast(), all.as_mut_ptr().cast(), count(mine.len()));
            must!(self, call, MPI_Allgather(from, length, bytes(), to, length, bytes(), self.programs));
            return;
        }
        let mut parts: Vec<&mut [u8]> = all.chunks_exact_mut(mine.len()).collect();
        parts[self.rank].copy_from_slice(mine);
        self.exchange(call, &vec![mine; self.size], &mut parts);
    }

    /// MPI 3.1, §5.8: one word from each node to each.
    pub(super) fn all_to_all(&self, call: &Call, from: &[u64], to: &mut [u64]) {
        assert_eq!((from.len(), to.len()), (self.size, self.size), "{call}");
        // SAFETY: a constant that the shim defines when it is loaded.
        let word = unsafe { ffi::RSMPI_UINT64_T };
        let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
        must!(self, call, MPI_Alltoall(from, 1, word, to, 1, word, self.programs));
    }

    /// Sends `send[i]` to node i and fills `receive[i]` from it, in place; MPI 3.1, §3.7. Both sides know the
    /// lengths: what is empty is not sent, and this node's own part is left alone.
    pub(super) fn exchange(&self, call: &Call, send: &[&[u8]], receive: &mut [&mut [u8]]) {
        assert_eq!((send.len(), receive.len()), (self.size, self.size), "{call}");
        let mut requests = Vec::with_capacity(2 * self.size);
        // SAFETY: a constant that the shim defines when it is loaded.
        let (none, ignore) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_STATUSES_IGNORE) };
        // The node after this one first, then the next, so that not all begin with the same.
        let others = (self.rank + 1..self.size).chain(0..self.rank);
        for from in others.clone().rev() {
            for piece in receive[from].chunks_mut(PIECE) {
                let mut request = none;
                let (at, length) = (piece.as_mut_ptr().cast(), count(piece.len()));
                must!(
                    self,
                    call,
                    MPI_Irecv(at, length, bytes(), peer(from), TAG, self.programs, &mut request)
                );
                requests.push(request);
            }
        }
        for to in others {
            for piece in send[to].chunks(PIECE) {
                let mut request = none;
                let (at, length) = (piece.as_ptr().cast(), count(piece.len()));
                must!(self, call, MPI_Isend(at, length, bytes(), peer(to), TAG, self.programs, &mut request));
                requests.push(request);
            }
        }
        // The slices are borrowed until here, and `must` does not return on an error: no request outlives its memory.
        must!(self, call, MPI_Waitall(count(requests.len()), requests.as_mut_ptr(), ignore));
    }
}

/// Called when the process exits: gives MPI up, or ends the job where the process leaves in mid-program.
extern "C" fn finish() {
    let Some(Ok(world)) = WORLD.get() else { return };
    if world.running.load(Ordering::Acquire) {
        world.die(world.rank, "its process exited inside the program");
    }
    let mut window = world.window;
    // Nobody is left to be told of an error.
    let _ = attempt!(MPI_Win_unlock_all(window));
    let _ = attempt!(MPI_Win_free(&mut window));
    for mut communicator in [world.programs, world.ends] {
        let _ = attempt!(MPI_Comm_free(&mut communicator));
    }
    let _ = attempt!(MPI_Finalize());
}
