//! All calls of the MPI library by this transport: all of its unsafe code.
//!
//! rsmpi's safe collectives check neither the types nor the lengths of sent and received data; here
//! both are slices whose lengths are checked before the call. Every return code of MPI is checked.
//! An error has no remedy on one node, and memory that a request still uses must not be freed, so
//! an error ends the job at once ([`World::die`]).
//!
//! Counts are `int` in MPI 3: longer data are sent in pieces of [`PIECE`] bytes.
//!
//! This module has the job itself, and calls that are made once or for long data. [`post`] has the
//! messages to rings of receives, [`requests`] the messages of one collective, [`region`] memory
//! into which others write, [`host`] memory that the nodes of a host share, [`window`] memory of
//! one-sided transfers, [`prepared`] repeated messages, [`control`] the library's variables, and
//! [`library`](mod@library) its own collectives.

#![allow(unsafe_code, reason = "this module and those under it are the ones that call the MPI library")]

use crate::transport::header::{HEADER, Header};
use crate::transport::{Call, Failure};
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use strata_model::platform::mpi_processes;
use strata_select::say;

/// The most bytes of one message; a multiple of every element's size, and well below the limit of
/// `int`.
const PIECE: usize = 1 << 30;

/// The tag of blocks and of all messages to rings of receives, which are matched by their order.
const TAG: c_int = 1;

/// The tag of long puts.
const LONG: c_int = 2;

/// Time for the launcher to forward the reason for the end of the job.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The last calls of collectives that a node publishes, each with its number.
const CALLS: u64 = 64;
const CALL: usize = 1 + HEADER / 8;

/// Bytes of the window in which a node publishes its state: its turn, its bit of the asynchronous or,
/// whether it waits for messages and the header of that call, and its last collectives.
const WINDOW: usize = (8 * (FIRST_CALL + CALLS as usize * CALL)).next_multiple_of(LINE);

/// Windows are multiples of so many bytes, those of a line of the cache. Where a window of MPICH
/// 4.0.2 is no multiple of 16 bytes, other processes of the host access it at a wrong place.
const LINE: usize = 64;

/// The index of the window's word with the node's bit of the asynchronous or.
const BIT: usize = 1;

/// The index of the word that is set while the node waits for messages; the call follows.
const WAIT: usize = 2;

/// The index of the last collectives.
const FIRST_CALL: usize = WAIT + CALL;

/// The index of the collective of this number.
fn call_at(turn: u64) -> usize {
    FIRST_CALL + (turn % CALLS) as usize * CALL
}

/// The job as MPI sees it; created once a process.
pub(super) struct World {
    rank: usize,
    size: usize,
    programs: ffi::MPI_Comm,
    /// The communicator for messages directly into memory that is known to be ready: long puts.
    pairs: ffi::MPI_Comm,
    /// Those of the collectives that may be in flight at once.
    collectives: [ffi::MPI_Comm; 2],
    /// The communicators of messages to rings of receives, by [`Lane`].
    lanes: [ffi::MPI_Comm; Lane::ALL.len()],
    /// The communicator in which nodes wait after leaving the program.
    ends: ffi::MPI_Comm,
    window: ffi::MPI_Win,
    /// Memory that nodes expose to each other, in the order of its creation.
    windows: Mutex<Vec<window::Window>>,
    /// This node's part of the window.
    shown: &'static [AtomicU64; WINDOW / 8],
    /// True if a program runs: if the process exits then, it would leave others waiting.
    running: AtomicBool,
    /// The number of prepared exchanges in flight, and their bytes.
    prepared: [AtomicU64; 2],
}

// SAFETY: MPI's handles are plain numbers or addresses that any thread may use; MPI was initialised
// with a level that lets threads call it one at a time, and `World::enter` ensures that they do.
unsafe impl Sync for World {}
// SAFETY: as for `Sync`.
unsafe impl Send for World {}

/// The kinds of messages to rings of receives; each has its own lane, so that none waits behind
/// another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Packets of the request network.
    Request = 0,
    /// Packets of the reply network.
    Reply = 1,
    /// The transport's own control messages, and short puts.
    Control = 2,
}

impl Lane {
    pub(super) const ALL: [Self; 3] = [Self::Request, Self::Reply, Self::Control];
}

static WORLD: OnceLock<Result<World, String>> = OnceLock::new();

unsafe extern "C" {
    /// C11, 7.22.4.2: calls `function` when the process exits normally.
    fn atexit(function: extern "C" fn()) -> c_int;
    /// POSIX: ends the process at once.
    fn _exit(status: c_int) -> !;
}

/// The clock of the library, if it is SimGrid's SMPI: it simulates the processes of a job, and
/// their time, in one process of the system, each with its own copy of the program's variables.
pub(crate) fn simulated_clock() -> Option<fn() -> f64> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    fn read() -> f64 {
        // SAFETY: called between MPI's begin and its end, by the thread that runs all nodes.
        unsafe { ffi::MPI_Wtime() }
    }
    let found = *FOUND.get_or_init(|| library().starts_with("SMPI"));
    found.then_some(read as fn() -> f64)
}

/// Converts the return code of an MPI call: `Ok`, or the error's text.
fn error_of(code: c_int, name: &str) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    let mut text = [0u8; 2048];
    let mut length: c_int = 0;
    // SAFETY: the buffer has room for MPI_MAX_ERROR_STRING characters (at most 1024 in all
    // implementations), and both arguments outlive the call.
    let told = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let length = usize::try_from(length).unwrap_or(0).min(text.len());
    let text = if told == 0 { String::from_utf8_lossy(&text[..length]) } else { "no text".into() };
    Err(format!("{name} returned {code}: {text}"))
}

/// Calls an MPI function; `Err` if it returns an error. Callers write `unsafe` and state the
/// reason.
macro_rules! attempt {
    // SAFETY: a pattern, no block: callers write `unsafe` and state their reason.
    (unsafe { $function:ident($($argument:expr),* $(,)?) }) => {
        // SAFETY: stated by the caller of the macro, who has written `unsafe`.
        error_of(unsafe { ffi::$function($($argument),*) }, stringify!($function))
    };
}

/// Calls an MPI function inside a collective: an error ends the job.
macro_rules! must {
    // SAFETY: a pattern, no block: callers write `unsafe` and state their reason.
    ($world:expr, $call:expr, unsafe { $($function:tt)+ }) => {
        // SAFETY: stated by the caller of the macro, who has written `unsafe`.
        if let Err(error) = attempt!(unsafe { $($function)+ }) {
            $world.die($world.rank, format_args!("{}: {error}", $call));
        }
    };
}

/// Calls an MPI function outside any collective: an error ends the job.
macro_rules! sure {
    // SAFETY: a pattern, no block: callers write `unsafe` and state their reason.
    ($world:expr, unsafe { $($function:tt)+ }) => {
        // SAFETY: stated by the caller of the macro, who has written `unsafe`.
        if let Err(error) = attempt!(unsafe { $($function)+ }) {
            $world.die($world.rank, error);
        }
    };
}

pub(super) mod adopt;
pub(super) mod control;
mod host;
pub(super) mod library;
pub(super) mod post;
mod prepared;
pub(super) mod region;
pub(super) mod requests;
mod window;

/// Converts a length to MPI's `int`. Callers limit it to [`PIECE`].
fn count(length: usize) -> c_int {
    c_int::try_from(length).unwrap_or(c_int::MAX)
}

/// Converts a node's number to MPI's `int`, from which it came.
fn peer(rank: usize) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

/// MPI's type of a byte.
fn bytes() -> ffi::MPI_Datatype {
    // SAFETY: a constant that the shim initialises when it is loaded.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// The first line of the MPI library's version text.
fn library() -> String {
    // MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH and less elsewhere.
    let mut text = [0u8; 16 << 10];
    let mut length: c_int = 0;
    // SAFETY: the buffer has room for what any implementation writes, and both arguments outlive
    // the call.
    let told = unsafe { ffi::MPI_Get_library_version(text.as_mut_ptr().cast(), &mut length) };
    let length = if told == 0 { usize::try_from(length).unwrap_or(0).min(text.len()) } else { 0 };
    let text = String::from_utf8_lossy(&text[..length]);
    let line = text.lines().next().unwrap_or_default();
    line.split(", package").next().unwrap_or_default().trim().replace('\t', " ")
}

/// Rejects a job whose launcher belongs to another MPI than the library: for the library each
/// process is then a job of its own, and all processes would do the same work without
/// communicating.
fn agree(launched: Option<usize>, size: usize, library: &str) -> Result<(), String> {
    match launched {
        Some(launched) if launched > 1 && size == 1 => Err(format!(
            "{launched} processes were started by the launcher of another MPI than the one that this program is \
             linked with ({library}), to which each of them is alone; start it with that library's own, such as \
             `mpirun.openmpi`, `mpirun.mpich` or `srun --mpi=pmix` (`srun --mpi=list` names others), or build it with the other's compiler (`MPICC=mpicc.mpich`)"
        )),
        _ => Ok(()),
    }
}

impl World {
    /// The job of this process; initialises MPI at the first call.
    pub(super) fn get() -> Result<&'static Self, String> {
        let world = WORLD.get_or_init(Self::start).as_ref().map_err(Clone::clone)?;
        if simulated_clock().is_some() {
            adopt::is_initialised()
                .map_err(|ended| format!("{ended}: on SMPI a program can `launch` only once"))?;
        }
        Ok(world)
    }

    fn start() -> Result<Self, String> {
        if adopt::is_initialised()? {
            return Err("this program has initialised MPI itself: run on one of its communicators, by \
                        `Machine::on_communicator`"
                .to_owned());
        }
        let mut level: c_int = 0;
        // SAFETY: a constant that the shim initialises when it is loaded.
        let wanted = unsafe { ffi::RSMPI_THREAD_SERIALIZED };
        // SAFETY: MPI accepts null for the arguments (3.1, §8.7) and writes the level to a variable
        // that outlives the call; `OnceLock` lets one thread do this once.
        attempt!(unsafe { MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), wanted, &mut level) })?;
        // SMPI has one thread for all nodes.
        if level < wanted && simulated_clock().is_none() {
            return Err("the MPI library does not let threads take turns (MPI_THREAD_SERIALIZED)".to_owned());
        }
        // SAFETY: a constant that the shim initialises when it is loaded.
        let world = Self::on(unsafe { ffi::RSMPI_COMM_WORLD })?;
        agree(mpi_processes(), world.size, &library())?;
        // Simulated processes end before the process that simulates them.
        // SAFETY: `finish` is a function of this module that takes no arguments and does not
        // unwind.
        if simulated_clock().is_none() && unsafe { atexit(finish) } != 0 {
            return Err("the system takes no function to call at the process's end".to_owned());
        }
        Ok(world)
    }

    /// Creates the nodes of a communicator of MPI, which must be initialised. Collective over it.
    fn on(world: ffi::MPI_Comm) -> Result<Self, String> {
        // SAFETY: constants that the shim initialises when it is loaded.
        let (no_info, returns) = unsafe { (ffi::RSMPI_INFO_NULL, ffi::RSMPI_ERRORS_RETURN) };
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: MPI is initialised; it writes the rank to a variable that outlives the call.
        attempt!(unsafe { MPI_Comm_rank(world, &mut rank) })?;
        // SAFETY: MPI is initialised; it writes the size to a variable that outlives the call.
        attempt!(unsafe { MPI_Comm_size(world, &mut size) })?;
        let (mut programs, mut ends, mut pairs) = (world, world, world);
        let (mut collectives, mut lanes) = ([world; 2], [world; 3]);
        let single = [&mut programs, &mut ends, &mut pairs];
        for communicator in single.into_iter().chain(&mut collectives).chain(&mut lanes) {
            // SAFETY: MPI is initialised; the duplicate's handle is written to a variable that
            // outlives the call.
            attempt!(unsafe { MPI_Comm_dup(world, communicator) })?;
            // SAFETY: the communicator was just created, and the handler is one of MPI's own.
            attempt!(unsafe { MPI_Comm_set_errhandler(*communicator, returns) })?;
        }
        let mut base: *mut c_void = std::ptr::null_mut();
        // SAFETY: a constant that the shim initialises when it is loaded.
        let mut window = unsafe { ffi::RSMPI_WIN_NULL };
        let base_place: *mut *mut c_void = &mut base;
        // SAFETY: `ends` is a live communicator; MPI writes the address and the window's handle to
        // variables that outlive the call.
        attempt!(unsafe {
            MPI_Win_allocate(WINDOW as ffi::MPI_Aint, 1, no_info, ends, base_place.cast(), &mut window)
        })?;
        // SAFETY: the window was just created, and the handler is one of MPI's own.
        attempt!(unsafe { MPI_Win_set_errhandler(window, returns) })?;
        // SAFETY: MPI has allocated WINDOW bytes there, aligned for any type, and keeps them until
        // the window is freed when the process exits. All accesses are through these atomics or
        // through MPI, which reads for other nodes.
        let shown = unsafe { &*base.cast::<[AtomicU64; WINDOW / 8]>() };
        shown.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        // SAFETY: the window was just created and is not locked.
        attempt!(unsafe { MPI_Win_lock_all(0, window) })?;
        // SAFETY: a live communicator, in which all nodes make this call next.
        attempt!(unsafe { MPI_Barrier(ends) })?;
        let (rank, size) = (usize::try_from(rank).unwrap_or(0), usize::try_from(size).unwrap_or(1));
        Ok(Self {
            rank,
            size,
            programs,
            pairs,
            collectives,
            lanes,
            ends,
            window,
            windows: Mutex::default(),
            shown,
            running: AtomicBool::new(false),
            prepared: Default::default(),
        })
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The number of collectives that this process has entered.
    pub(super) fn turn(&self) -> u64 {
        self.shown[0].load(Ordering::Relaxed)
    }

    /// Frees what this node has created in MPI, at its end. Collective.
    fn free(&self) {
        let mut window = self.window;
        // Errors are ignored: nobody is left to handle them.
        // SAFETY: the window was locked when it was created, and no read of it is in flight.
        let _ = attempt!(unsafe { MPI_Win_unlock_all(window) });
        // SAFETY: the window is live and unlocked; all nodes make this call at their end.
        let _ = attempt!(unsafe { MPI_Win_free(&mut window) });
        let single = [self.programs, self.ends, self.pairs];
        for mut communicator in single.into_iter().chain(self.collectives).chain(self.lanes) {
            // SAFETY: a live communicator of ours; no message in it is in flight, as no program
            // runs.
            let _ = attempt!(unsafe { MPI_Comm_free(&mut communicator) });
        }
    }

    /// True if a program runs.
    fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// Begins a program; false if another one is running.
    pub(super) fn enter(&self) -> bool {
        !self.running.swap(true, Ordering::Acquire)
    }

    /// Ends MPI after the program of a simulated process, of which there can be no further one.
    pub(super) fn end_if_simulated(&self) {
        if simulated_clock().is_some() && !self.is_running() {
            finish();
        }
    }

    /// Ends a program.
    pub(super) fn leave(&self) {
        self.running.store(false, Ordering::Release);
    }

    /// Reports the failure of node `rank`, and ends the job on all nodes.
    pub(super) fn die(&self, rank: usize, message: impl Display) -> ! {
        say!("strata: node {rank}: {message}");
        // An error here is ignored: the job ends anyway.
        let _ = std::io::stdout().lock().flush();
        // Launchers such as MPICH's lose output that they have not yet forwarded when a process
        // aborts.
        std::thread::sleep(LAST_WORDS);
        if simulated_clock().is_some() {
            // SMPI would end the other nodes by exceptions, which must not pass through Rust.
            // SAFETY: no other thread writes what must be kept: files are written by this one.
            unsafe { _exit(1) };
        }
        // SAFETY: a constant that the shim initialises when it is loaded; MPI is initialised.
        let _ = unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
        std::process::abort();
    }

    /// Publishes the collective that this node is about to enter, with its number `turn`.
    #[inline]
    pub(super) fn show(&self, turn: u64, header: &Header) {
        let call = &self.shown[call_at(turn)..][..CALL];
        call[0].store(0, Ordering::Relaxed);
        for (word, value) in call[1..].iter().zip(header.words()) {
            word.store(*value, Ordering::Relaxed);
        }
        call[0].store(turn, Ordering::Release);
        self.shown[0].store(turn, Ordering::Release);
    }

    /// The first call of a node that is not that of the others, among the last collectives.
    pub(super) fn unlike(&self) -> Option<Failure> {
        let find = || {
            let all = (0..self.size).map(|rank| self.published(rank)).collect::<Result<Vec<_>, _>>().ok()?;
            let turns = (self.turn().saturating_sub(CALLS) + 1)..=self.turn();
            turns.into_iter().find_map(|turn| {
                let calls = all.iter().map(|seen| &seen[call_at(turn)..][..CALL]).enumerate();
                let mut calls =
                    calls.filter(|(_, call)| call[0] == turn).map(|(rank, call)| (rank, &call[1..]));
                let (node, first) = calls.next()?;
                let (rank, other) = calls.find(|(_, other)| !Header::words_agree(first, other))?;
                let (first, other) = (Header::from_words(first), Header::from_words(other));
                Some(Failure { rank, message: format!("{other}, but node {node} called {first}") })
            })
        };
        // A node that runs ahead may be writing what is read.
        find().filter(|found| find().is_some_and(|again| again.message == found.message))
    }

    /// Publishes the call in which this node waits for messages, or that it does not wait.
    pub(super) fn show_wait(&self, call: Option<Header>) {
        self.shown[WAIT].store(u64::from(call.is_some()), Ordering::Relaxed);
        let header = call.unwrap_or_default();
        for (word, value) in self.shown[WAIT + 1..].iter().zip(header.words()) {
            word.store(*value, Ordering::Relaxed);
        }
    }

    /// The call in which node `rank` waits for messages, if it does.
    pub(super) fn wait_of(&self, rank: usize) -> Result<Option<Header>, String> {
        let seen = self.published(rank)?;
        Ok((seen[WAIT] != 0).then(|| Header::from_words(&seen[WAIT + 1..])))
    }

    /// The published turn and call of node `rank`.
    pub(super) fn look_at(&self, rank: usize) -> Result<(u64, Header), String> {
        let seen = self.published(rank)?;
        Ok((seen[0], Header::from_words(&seen[call_at(seen[0])..][1..CALL])))
    }

    /// All published words of node `rank`.
    fn published(&self, rank: usize) -> Result<[u64; WINDOW / 8], String> {
        let mut seen = [0u64; WINDOW / 8];
        // SAFETY: `seen` has WINDOW bytes and is not accessed before the flush; the window has as
        // many on every node, and stays locked until the process exits.
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
        Ok(seen)
    }

    /// The bytes of this node's prepared messages in flight; `None` if there are none.
    pub(super) fn prepared_bytes(&self) -> Option<u64> {
        let [exchanges, bytes] = self.prepared.each_ref().map(|count| count.load(Ordering::Relaxed));
        (exchanges > 0).then_some(bytes)
    }

    /// Publishes this node's bit of the asynchronous or.
    pub(super) fn show_bit(&self, value: bool) {
        self.shown[BIT].store(u64::from(value), Ordering::Release);
    }

    /// The published bit of node `rank`; requires no action of that node's program.
    pub(super) fn bit_of(&self, rank: usize) -> Result<bool, String> {
        if rank == self.rank {
            return Ok(self.shown[BIT].load(Ordering::Relaxed) != 0);
        }
        let mut bit = 0u64;
        let (place, at): (*mut u64, ffi::MPI_Aint) = (&mut bit, 8 * BIT as ffi::MPI_Aint);
        // SAFETY: `bit` has 8 bytes and is not accessed before the flush; the window has 8 bytes at
        // `at` on every node.
        attempt!(unsafe { MPI_Get(place.cast(), 8, bytes(), peer(rank), at, 8, bytes(), self.window) })?;
        // SAFETY: the window is locked; this completes the read above.
        attempt!(unsafe { MPI_Win_flush(peer(rank), self.window) })?;
        Ok(bit != 0)
    }

    /// Logical or over all nodes; MPI 3.1, §5.9.6.
    pub(super) fn any(&self, call: &Call, mine: bool) -> bool {
        let (from, mut to) = (u32::from(mine), 0u32);
        // SAFETY: constants that the shim initialises when it is loaded.
        let (word, or) = unsafe { (ffi::RSMPI_UINT32_T, ffi::RSMPI_BOR) };
        let (from_place, to_place): (*const u32, *mut u32) = (&from, &mut to);
        // SAFETY: one word is read from `from` and one written to `to`, which outlive the call.
        must!(self, call, unsafe {
            MPI_Allreduce(from_place.cast(), to_place.cast(), 1, word, or, self.programs)
        });
        to != 0
    }

    /// All-gather; MPI 3.1, §5.7. Too long for one call, it uses messages between pairs.
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
        self.all_gather_by_messages(call, mine, all);
    }

    /// As [`World::all_gather`], by a message from each node to each; `mine` is not empty.
    pub(super) fn all_gather_by_messages(&self, call: &Call, mine: &[u8], all: &mut [u8]) {
        let mut parts: Vec<&mut [u8]> = all.chunks_exact_mut(mine.len()).collect();
        parts[self.rank].copy_from_slice(mine);
        self.exchange(call, &vec![mine; self.size], &mut parts);
    }

    /// Exchange of one word from each node to each; MPI 3.1, §5.8.
    pub(super) fn all_to_all(&self, call: &Call, from: &[u64], to: &mut [u64]) {
        assert_eq!((from.len(), to.len()), (self.size, self.size), "{call}");
        // SAFETY: a constant that the shim initialises when it is loaded.
        let word = unsafe { ffi::RSMPI_UINT64_T };
        let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
        // SAFETY: `from` and `to` have a word for each node, by the assertion; both outlive the
        // call.
        must!(self, call, unsafe { MPI_Alltoall(from, 1, word, to, 1, word, self.programs) });
    }

    /// Sends `send[i]` to node i and fills `receive[i]` from it, in place; MPI 3.1, §3.7. Both
    /// sides know the lengths: empty parts are not sent, and this node's own part is unchanged.
    pub(super) fn exchange(&self, call: &Call, send: &[&[u8]], receive: &mut [&mut [u8]]) {
        assert_eq!((send.len(), receive.len()), (self.size, self.size), "{call}");
        let mut requests = Vec::with_capacity(2 * self.size);
        // SAFETY: a constant that the shim initialises when it is loaded.
        let (none, ignore) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_STATUSES_IGNORE) };
        // Begins with the next node, so that nodes do not all begin with the same one.
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
                // SAFETY: `piece` has `length` bytes, borrowed until MPI_Waitall below has
                // returned.
                must!(self, call, unsafe {
                    MPI_Isend(at, length, bytes(), peer(to), TAG, self.programs, &mut request)
                });
                requests.push(request);
            }
        }
        // The slices are borrowed until here, and `must` does not return on an error: no request
        // outlives its memory.
        // SAFETY: as many requests as the vector holds, each created above and completed here once.
        must!(self, call, unsafe { MPI_Waitall(count(requests.len()), requests.as_mut_ptr(), ignore) });
    }
}

/// A barrier for leaving that this node has entered.
pub(super) struct Gathering {
    request: ffi::MPI_Request,
    done: bool,
}

impl Gathering {
    /// Starts a non-blocking barrier among nodes whose programs have ended; MPI 3.1, §5.12.1.
    pub(super) fn start(world: &World) -> Self {
        // SAFETY: a constant that the shim initialises when it is loaded.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: `ends` is a live communicator; the barrier does not access our memory.
        sure!(world, unsafe { MPI_Ibarrier(world.ends, &mut request) });
        Self { request, done: false }
    }

    /// True if all nodes had entered at the last test.
    pub(super) fn was_complete(&self) -> bool {
        self.done
    }

    /// True if all nodes have entered.
    pub(super) fn is_complete(&mut self, world: &World) -> bool {
        if !self.done {
            self.done = is_done(world, &mut self.request);
        }
        self.done
    }
}

/// True if a request is complete; it is then null.
fn is_done(world: &World, request: &mut ffi::MPI_Request) -> bool {
    let mut done: c_int = 0;
    // SAFETY: a constant that the shim initialises when it is loaded.
    let ignore = unsafe { ffi::RSMPI_STATUS_IGNORE };
    // SAFETY: the request was created by MPI or is null; MPI sets it to null on completion, so it
    // is completed at most once.
    sure!(world, unsafe { MPI_Test(request, &mut done, ignore) });
    done != 0
}

/// Called when the process exits: finalises MPI, or ends the job if the process exits while a
/// program runs.
extern "C" fn finish() {
    let Some(Ok(world)) = WORLD.get() else { return };
    if world.is_running() {
        world.die(world.rank, "its process exited inside the program");
    }
    world.free_windows();
    world.free();
    // SAFETY: everything that this process has created in MPI is freed, and nothing calls MPI after
    // this exit function.
    let _ = attempt!(unsafe { MPI_Finalize() });
}

#[cfg(test)]
mod tests {
    use super::agree;

    #[test]
    fn the_launcher_of_another_library_is_refused() {
        for (launched, size) in [(None, 1), (Some(1), 1), (Some(4), 4), (None, 4)] {
            assert_eq!(agree(launched, size, "any"), Ok(()));
        }
        let told = agree(Some(4), 1, "Open MPI v4.1.4").unwrap_err();
        assert!(told.contains("4 processes") && told.contains("(Open MPI v4.1.4)"), "{told}");
    }
}
