//! Clocks: the machine's, that of an MPI library which simulates time, or a simulation's.

use nix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use strata_model::Seconds;
#[cfg(feature = "sim")]
use strata_sim::Time;

use strata_model::platform::usual_cost;

/// The start of the program by this machine's clock.
#[derive(Clone, Copy)]
pub(crate) struct HostClock {
    start: Instant,
    began: u64,
    shared: bool,
    /// The clock of an MPI library that simulates time, in s since the job began. Only the node's
    /// own thread may read it.
    simulated: Option<fn() -> f64>,
}

impl HostClock {
    /// A clock that shows zero now; `shared` if all nodes of the job use it.
    pub(crate) fn start(shared: bool) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), began: nanoseconds(since_1970), shared, simulated: None }
    }

    /// The clock that an MPI library simulates, one for all nodes.
    #[cfg(feature = "mpi")]
    pub(crate) fn simulated(read: fn() -> f64) -> Self {
        Self { began: 0, simulated: Some(read), ..Self::start(true) }
    }

    /// The time of the clock.
    #[inline]
    fn elapsed(&self) -> Duration {
        match self.simulated {
            None => self.start.elapsed(),
            Some(read) => Duration::try_from_secs_f64(read()).unwrap_or_default(),
        }
    }

    /// True if an MPI library simulates its time.
    #[inline]
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulated.is_some()
    }

    /// The time of the clock in ns.
    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        nanoseconds(self.elapsed())
    }
}

/// A node's clock.
#[derive(Clone)]
pub(crate) enum Clock {
    /// The clock of the process, the machine's or its MPI library's.
    Host(HostClock),
    /// The node's own simulated clock.
    Simulated(SimulatedClock),
}

/// The clock of a simulated node, in ps.
#[derive(Clone)]
pub(crate) struct SimulatedClock {
    /// Those of all nodes, side by side.
    pub(crate) times: Rc<[Cell<u64>]>,
    pub(crate) rank: usize,
    /// The cost of reading it: one cycle, so that a loop that only reads the clock sees it advance.
    pub(crate) cycle: u64,
}

impl SimulatedClock {
    fn time(&self) -> u64 {
        self.times[self.rank].get()
    }

    fn go_on(&self, time: u64) {
        self.times[self.rank].set(self.time().saturating_add(time));
    }
}

impl Clock {
    /// The time since the program began.
    #[inline]
    pub(crate) fn now(&self) -> Seconds {
        let seconds = match self {
            Self::Host(HostClock { simulated: Some(read), .. }) => read(),
            Self::Host(clock) => clock.start.elapsed().as_secs_f64(),
            Self::Simulated(clock) => {
                clock.go_on(clock.cycle);
                clock.time() as f64 * 1e-12
            }
        };
        Seconds::new(seconds).unwrap_or_default()
    }

    /// The time of the clock in ns.
    #[inline]
    pub(crate) fn ns(&self) -> u64 {
        match self {
            Self::Host(clock) => clock.ns(),
            Self::Simulated(clock) => clock.time() / 1000,
        }
    }

    /// The simulated time, without advancing the clock; zero if time is not simulated.
    #[cfg(feature = "sim")]
    pub(crate) fn simulated_time(&self) -> Time {
        match self {
            Self::Host(clock) if clock.is_simulated() => Time(clock.ns().saturating_mul(1000)),
            Self::Host(_) => Time::ZERO,
            Self::Simulated(clock) => Time(clock.time()),
        }
    }

    /// The time at which the clock showed zero, in ns since 1970 by the system's clock; 0 if time
    /// is simulated.
    pub(crate) fn began(&self) -> u64 {
        match self {
            Self::Host(clock) => clock.began,
            Self::Simulated(_) => 0,
        }
    }

    /// True if the clock shows the same time on all nodes of the job.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Self::Host(clock) => clock.shared,
            Self::Simulated(_) => true,
        }
    }

    /// True if time is simulated.
    #[inline]
    pub(crate) fn is_simulated(&self) -> bool {
        match self {
            Self::Host(clock) => clock.is_simulated(),
            Self::Simulated(_) => true,
        }
    }

    /// Idles for this long.
    pub(crate) fn idle(&self, time: Duration) {
        match self {
            Self::Host(clock) => {
                let start = clock.elapsed();
                while clock.elapsed().saturating_sub(start) < time {
                    std::hint::spin_loop();
                }
            }
            Self::Simulated(clock) => clock.go_on(nanoseconds(time).saturating_mul(1000)),
        }
    }
}

/// The processor time of this thread, in seconds; zero if the system does not report it.
pub(crate) fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0.0, |time| Duration::from(time).as_secs_f64())
}

/// The processor time that this thread has used since `start`, a reading of [`thread_seconds`],
/// without the cost of the readings: each is a system call, which takes longer than a short piece
/// of work.
pub(crate) fn thread_seconds_since(start: f64) -> f64 {
    static COST: OnceLock<f64> = OnceLock::new();
    let elapsed = thread_seconds() - start;
    let cost = COST.get_or_init(|| {
        usual_cost(|| {
            let start = thread_seconds();
            thread_seconds() - start
        })
    });
    (elapsed - cost).max(0.0)
}

/// 64 bits of nanoseconds suffice for 584 years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
