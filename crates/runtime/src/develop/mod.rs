//! Development aids: printing, logs, assertions, a watchdog, state traces (Brewer, manual, §9 and
//! §10).
//!
//! | setting | call | effect |
//! |---|---|---|
//! | | [`Node::print`] | queues text, also from handlers; printed on request and at the end |
//! | | [`ensure!`] | ends the job if a condition does not hold, with its place |
//! | `STRATA_LOG=DIR` | [`Development::log`] | writes each node's calls, for `strata-job log DIR` |
//! | `STRATA_WATCHDOG=30s` | [`Development::watchdog`] | a longer wait ends the job with a report |
//! | `STRATA_TRACE=DIR` | [`Development::trace`] | records states and packets, for `strata-job trace DIR` |
//!
//! All except printing and assertions is done by a layer between node and transport (`observed`)
//! that exists only if requested, so unused aids cost nothing.
//!
//! [`Node::print`]: crate::Node::print
//! [`ensure!`]: crate::ensure

mod board;
mod clocks;
mod log_file;
mod observed;
mod prints;
mod recorder;
mod reporter;
mod state;
mod watchdog;

pub use reporter::Reporter;
pub use state::State;
pub use strata_develop::trace::ClockOffset;

pub(crate) use board::Board;
pub(crate) use clocks::{Exchange, compare_clocks, synchronise};
pub(crate) use observed::observe;
pub(crate) use reporter::Notes;
pub(crate) use watchdog::Watchdog;

use crate::error::Error;
use crate::settings::Settings;
use std::path::PathBuf;
use std::time::Duration;
use strata_model::Seconds;

/// The observation of a job; by default there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Development {
    pub(crate) log: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) watchdog: Option<Duration>,
}

impl Development {
    /// Each node writes a [log](strata_develop::log) to `folder`, which is created if missing.
    #[must_use]
    pub fn log(mut self, folder: impl Into<PathBuf>) -> Self {
        self.log = Some(folder.into());
        self
    }

    /// Each node writes a [trace](strata_develop::trace) to `folder`, which is created if missing.
    #[must_use]
    pub fn trace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.trace = Some(folder.into());
        self
    }

    /// A wait that lasts longer than `limit` ends the job.
    ///
    /// On threads the failure names each node that waits and each that is missing. Waiting nodes
    /// are ended; a node that neither waits nor ends within the same time again (at least a second)
    /// ends the whole process. On MPI each process that has waited for too long reports its place
    /// on standard error, and aborts the job a second later.
    #[must_use]
    pub fn watchdog(mut self, limit: Duration) -> Self {
        self.watchdog = Some(limit);
        self
    }

    /// The settings of `STRATA_LOG`, `STRATA_TRACE` and `STRATA_WATCHDOG`.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let folder = |name| settings.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let watchdog = match settings.variable("STRATA_WATCHDOG") {
            None | Some("" | "0") => None,
            Some(value) => {
                let limit: Seconds = value.parse().map_err(|reason| Error::Setting {
                    name: "STRATA_WATCHDOG",
                    value: value.to_owned(),
                    reason,
                })?;
                // A time too long for a `Duration` never passes.
                Duration::try_from_secs_f64(limit.get()).ok()
            }
        };
        Ok(Self { log: folder("STRATA_LOG"), trace: folder("STRATA_TRACE"), watchdog })
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
