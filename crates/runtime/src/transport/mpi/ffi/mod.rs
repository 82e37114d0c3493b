//! The calls of the MPI library that this transport makes: all of its unsafe code.
//!
//! rsmpi's own safe collectives tie neither the types nor the lengths of what is sent and received;
//! here both are slices whose lengths are checked before the library sees them. Every code that MPI
//! returns is polled at. An error has no remedy on one node, and memory that a request still uses
//! must not be given back, so it ends the job at once ([`World::die`]).
//!
//! Counts are `int` in MPI 3: what is longer goes in pieces of [`PIECE`] bytes.
//!
//! Here are the job itself and what is called once or for long data; [`post`] has the messages that
//! go to a ring of receives, [`requests`] the messages of one collective, [`region`] memory that
//! others write into.

#![allow(unsafe_code, reason = "this module and those under it are the ones that call the MPI library")]

use crate::transport::Call;
use crate::transport::header::{HEADER, Header};
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::fmt::Display;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The most bytes of one message; a multiple of every element's size, and well within `int`.
const PIECE: usize = 1 << 30;

/// The tag of blocks, and of all that goes to rings of receives: order does the rest.
const TAG: c_int = 1;

/// The tag of long puts.
const LONG: c_int = 2;

/// How long the launcher has to pass on why the job ends.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Bytes of the window in which a node shows where it is: a turn, then a header.
const WINDOW: usize = 8 + HEADER + 8;

/// The word of the window that holds the node's bit of the asynchronous or.
const BIT: usize = WINDOW / 8 - 1;

/// The job as MPI sees it; made once a process.
pub(super) struct World {
    rank: usize,
    size: usize,
    /// What programs communicate in.
    programs: ffi::MPI_Comm,
    /// What is sent straight into memory that is known to be there: vectors of collectives, long
    /// puts.
    pairs: ffi::MPI_Comm,
    /// What goes to rings of receives, by [`Lane`].
    lanes: [ffi::MPI_Comm; Lane::ALL.len()],
    /// What nodes that have left the program wait in.
    ends: ffi::MPI_Comm,
    window: ffi::MPI_Win,
    /// This node's part of the window: its turn, then the header of its call, as words.
    shown: &'static [AtomicU64; WINDOW / 8],
    /// Whether a program runs, so that leaving the process now would leave others waiting.
    running: AtomicBool,
}

// SAFETY: handles of MPI are plain numbers or addresses that any thread may use; MPI was asked for
// a level at which threads may take turns, and `World::enter` sees to it that they do.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// The messages that go to rings of receives; each kind has its own, so that none is found behind
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Packets of the request network.
    Request = 0,
    /// Packets of the reply network.
    Reply = 1,
    /// What transports tell each other, and short puts.
    Control = 2,
}

impl Lane {
    pub(super) const ALL: [Self; 3] = [Self::Request, Self::Reply, Self::Control];
}

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
    // SAFETY: the text has room for MPI_MAX_ERROR_STRING (at most 1024 in all implementations)
    // characters.
    let told = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let length = usize::try_from(length).unwrap_or(0).min(text.len());
    let text = if told == 0 { String::from_utf8_lossy(&text[..length]) } else { "no text".into() };
    Err(format!("{name} returned {code}: {text}"))
}

/// Calls an MPI function; `Err` where that returns an error. The caller writes `unsafe`, with its
/// reason.
macro_rules! attempt {
    (unsafe { $function:ident($($argument:expr),* $(,)?) }) => {
        // SAFETY: the caller's, who has written `unsafe`.
        error_of(unsafe { ffi::$function($($argument),*) }, stringify!($function))
    };
}

/// Calls an MPI function inside a collective: an error ends the job.
macro_rules! must {
    ($world:expr, $call:expr, unsafe { $($function:tt)+ }) => {
        if let Err(error) = attempt!(unsafe { $($function)+ }) {
            $world.die($world.rank, format_args!("{}: {error}", $call));
        }
    };
}

/// Calls an MPI function outside any collective: an error ends the job.
macro_rules! sure {
    ($world:expr, unsafe { $($function:tt)+ }) => {
        if let Err(error) = attempt!(unsafe { $($function)+ }) {
            $world.die($world.rank, error);
        }
    };
}

pub(super) mod post;
pub(super) mod region;
pub(super) mod requests;

/// A length as MPI wants it. Callers have cut to [`PIECE`] or refuse.
fn count(length: usize) -> c_int {
    c_int::try_from(length).unwrap_or(c_int::MAX)
}

/// A node's number as MPI wants it: it came from MPI.
fn peer(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
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
        // SAFETY: MPI takes null for the arguments (3.1, §8.7) and writes the level to a variable
        // that outlives the call; `OnceLock` lets one thread do this once.
        attempt!(unsafe { MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), wanted, &mut level) })?;
        if level < wanted {
            return Err("the MPI library does not let threads take turns (MPI_THREAD_SERIALIZED)".to_owned());
        }
        // SAFETY: constants that the shim defines when it is loaded.
        let (world, no_info, returns) =
            unsafe { (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_INFO_NULL, ffi::RSMPI_ERRORS_RETURN) };
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: MPI has been started; it writes the rank to a variable that outlives the call.
        attempt!(unsafe { MPI_Comm_rank(world, &mut rank) })?;
        // SAFETY: as for the rank.
        attempt!(unsafe { MPI_Comm_size(world, &mut size) })?;
        let (mut programs, mut ends, mut pairs, mut lanes) = (world, world, world, [world; 3]);
        for communicator in [&mut programs, &mut ends, &mut pairs].into_iter().chain(&mut lanes) {
            // SAFETY: MPI has been started; the copy's handle is written to a variable that
            // outlives the call.
            attempt!(unsafe { MPI_Comm_dup(world, communicator) })?;
            // SAFETY: the communicator has just been made, and the handler is one of MPI's own.
            attempt!(unsafe { MPI_Comm_set_errhandler(*communicator, returns) })?;
        }
        let mut base: *mut c_void = std::ptr::null_mut();
        // SAFETY: a constant that the shim defines when it is loaded.
        let mut window = unsafe { ffi::RSMPI_WIN_NULL };
        let base_place: *mut *mut c_void = &mut base;
        // SAFETY: `ends` is a live communicator; MPI writes the address and the window's handle to
        // variables that outlive the call.
        attempt!(unsafe {
            MPI_Win_allocate(WINDOW as ffi::MPI_Aint, 1, no_info, ends, base_place.cast(), &mut window)
        })?;
        // SAFETY: the window has just been made, and the handler is one of MPI's own.
        attempt!(unsafe { MPI_Win_set_errhandler(window, returns) })?;
        // SAFETY: MPI has allocated WINDOW bytes there, aligned for any type, and keeps them until
        // the window is freed at the process's end. All accesses are through these atomics or
        // through MPI, which reads on other nodes' behalf.
        let shown = unsafe { &*base.cast::<[AtomicU64; WINDOW / 8]>() };
        shown.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        // SAFETY: the window has just been made and is not locked.
        attempt!(unsafe { MPI_Win_lock_all(0, window) })?;
        // SAFETY: a live communicator, in which all nodes call this next.
        attempt!(unsafe { MPI_Barrier(ends) })?;
        // SAFETY: `finish` is a function of this module that takes nothing and does not unwind.
        if unsafe { atexit(finish) } != 0 {
            return Err("the system takes no function to call at the process's end".to_owned());
        }
        let (rank, size) = (usize::try_from(rank).unwrap_or(0), usize::try_from(size).unwrap_or(1));
        Ok(Self { rank, size, programs, pairs, lanes, ends, window, shown, running: AtomicBool::new(false) })
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
        // Launchers such as MPICH's drop what they have not yet passed on when a process aborts.
        std::thread::sleep(LAST_WORDS);
        // SAFETY: a constant that the shim defines when it is loaded; MPI has been started.
        let _ = unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
        std::process::abort();
    }

    /// Shows the other nodes which collective this node is about to enter, and that it is its
    /// `turn`th.
    pub(super) fn show(&self, turn: u64, header: &[u64]) {
        for (word, value) in self.shown[1..].iter().zip(header) {
            word.store(*value, Ordering::Relaxed);
        }
        self.shown[0].store(turn, Ordering::Release);
    }

    /// What node `rank` shows: its turn, and where it is.
    pub(super) fn look_at(&self, rank: usize) -> Result<(u64, Header), String> {
        let mut seen = [0u64; WINDOW / 8];
        // SAFETY: `seen` has WINDOW bytes and is not touched before the flush; the window has as
        // many on every node, and stays locked until the process ends.
        attempt!(unsafe {
            MPI_Get(
                seen.as_mut_ptr().cast(),
                count(WINDOW),
                bytes(),
                peer(rank),
                0,
                count(WINDOW),
                bytes(),
                self.window,
            )
        })?;
        // SAFETY: the window is locked; this completes the read above.
        attempt!(unsafe { MPI_Win_flush(peer(rank), self.window) })?;
        Ok((seen[0], Header::from_words(&seen[1..])))
    }

    /// Shows the other nodes this node's bit of the asynchronous or.
    pub(super) fn show_bit(&self, value: bool) {
        self.shown[BIT].store(u64::from(value), Ordering::Release);
    }

    /// The bit that node `rank` shows; needs nothing of that node's program.
    pub(super) fn bit_of(&self, rank: usize) -> Result<bool, String> {
        if rank == self.rank {
            return Ok(self.shown[BIT].load(Ordering::Relaxed) != 0);
        }
        let mut bit = 0u64;
        let (place, at): (*mut u64, ffi::MPI_Aint) = (&mut bit, 8 * BIT as ffi::MPI_Aint);
        // SAFETY: `bit` has 8 bytes and is not touched before the flush; so has the window at `at`
        // on every node.
        attempt!(unsafe { MPI_Get(place.cast(), 8, bytes(), peer(rank), at, 8, bytes(), self.window) })?;
        // SAFETY: the window is locked; this completes the read above.
        attempt!(unsafe { MPI_Win_flush(peer(rank), self.window) })?;
        Ok(bit != 0)
    }

    /// MPI 3.1, §5.3.
    pub(super) fn barrier(&self, call: &Call) {
        // SAFETY: `programs` is a live communicator until the process ends.
        must!(self, call, unsafe { MPI_Barrier(self.programs) });
    }

    /// MPI 3.1, §5.9.6: whether any node says so.
    pub(super) fn any(&self, call: &Call, mine: bool) -> bool {
        let (from, mut to) = (u32::from(mine), 0u32);
        // SAFETY: constants that the shim defines when it is loaded.
        let (word, or) = unsafe { (ffi::RSMPI_UINT32_T, ffi::RSMPI_BOR) };
        let (from_place, to_place): (*const u32, *mut u32) = (&from, &mut to);
        // SAFETY: one word is read from `from` and one written to `to`, which outlive the call.
        must!(self, call, unsafe {
            MPI_Allreduce(from_place.cast(), to_place.cast(), 1, word, or, self.programs)
        });
        to != 0
    }

    /// MPI 3.1, §5.7; in messages between pairs where it is too long for one call.
    pub(super) fn all_gather(&self, call: &Call, mine: &[u8], all: &mut [u8]) {
        assert_eq!(mine.len() * self.size, all.len(), "{call}");
        if mine.is_empty() {
            return;
        }
        if mine.len() <= PIECE {
            let (from, to, length) = (mine.as_ptr().cast(), all.as_mut_ptr().cast(), count(mine.len()));
            // SAFETY: `mine` has `length` bytes and `all` as many for each node, by the assertion;
            // both outlive the call.
            must!(self, call, unsafe {
                MPI_Allgather(from, length, bytes(), to, length, bytes(), self.programs)
            });
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
        // SAFETY: `from` and `to` have a word for each node, by the assertion; both outlive the
        // call.
        must!(self, call, unsafe { MPI_Alltoall(from, 1, word, to, 1, word, self.programs) });
    }

    /// Sends `send[i]` to node i and fills `receive[i]` from it, in place; MPI 3.1, §3.7. Both
    /// sides know the lengths: what is empty is not sent, and this node's own part is left alone.
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
                // SAFETY: `piece` has `length` bytes, borrowed until MPI_Waitall below has
                // returned; an error does not return.
                must!(self, call, unsafe {
                    MPI_Irecv(at, length, bytes(), peer(from), TAG, self.programs, &mut request)
                });
                requests.push(request);
            }
        }
        for to in others {
            for piece in send[to].chunks(PIECE) {
                let mut request = none;
                let (at, length) = (piece.as_ptr().cast(), count(piece.len()));
                // SAFETY: as for the receive: `piece` is borrowed until MPI_Waitall has returned.
                must!(self, call, unsafe {
                    MPI_Isend(at, length, bytes(), peer(to), TAG, self.programs, &mut request)
                });
                requests.push(request);
            }
        }
        // The slices are borrowed until here, and `must` does not return on an error: no request
        // outlives its memory.
        // SAFETY: as many requests as the vector holds, each made above and completed here once.
        must!(self, call, unsafe { MPI_Waitall(count(requests.len()), requests.as_mut_ptr(), ignore) });
    }
}

/// All nodes' coming to one point, which this one has come to.
pub(super) struct Gathering {
    request: ffi::MPI_Request,
    done: bool,
}

impl Gathering {
    /// MPI 3.1, §5.12.1, among nodes whose programs have ended.
    pub(super) fn start(world: &World) -> Self {
        // SAFETY: a constant that the shim defines when it is loaded.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: `ends` is a live communicator; the barrier reads and writes no memory of ours.
        sure!(world, unsafe { MPI_Ibarrier(world.ends, &mut request) });
        Self { request, done: false }
    }

    /// Whether all had come when last asked.
    pub(super) fn was_complete(&self) -> bool {
        self.done
    }

    /// Whether all have come.
    pub(super) fn is_complete(&mut self, world: &World) -> bool {
        if !self.done {
            self.done = is_done(world, &mut self.request);
        }
        self.done
    }
}

/// Whether a request is complete; then it is null.
fn is_done(world: &World, request: &mut ffi::MPI_Request) -> bool {
    let mut done: c_int = 0;
    // SAFETY: a constant that the shim defines when it is loaded.
    let ignore = unsafe { ffi::RSMPI_STATUS_IGNORE };
    // SAFETY: the request was made by MPI or is null, and is completed at most once, as MPI sets it
    // to null.
    sure!(world, unsafe { MPI_Test(request, &mut done, ignore) });
    done != 0
}

/// Called when the process exits: gives MPI up, or ends the job where the process leaves in
/// mid-program.
extern "C" fn finish() {
    let Some(Ok(world)) = WORLD.get() else { return };
    if world.running.load(Ordering::Acquire) {
        world.die(world.rank, "its process exited inside the program");
    }
    let mut window = world.window;
    // Nobody is left to be told of an error.
    // SAFETY: the window was locked when it was made, and no read of it is under way.
    let _ = attempt!(unsafe { MPI_Win_unlock_all(window) });
    // SAFETY: the window is live and unlocked; all nodes come here, at their processes' ends.
    let _ = attempt!(unsafe { MPI_Win_free(&mut window) });
    for mut communicator in [world.programs, world.ends, world.pairs].into_iter().chain(world.lanes) {
        // SAFETY: a live communicator of ours; no message in it is under way, as no program runs.
        let _ = attempt!(unsafe { MPI_Comm_free(&mut communicator) });
    }
    // SAFETY: all that this process has made of MPI is freed, and nothing calls it after its exit
    // function.
    let _ = attempt!(unsafe { MPI_Finalize() });
}
