//! Writing of traces.

use std::fmt::{self, Display, Write};

use super::{ClockOffset, Event, Head, Trace, What};

impl Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match self.what {
            What::State(state) => write!(f, "{at} s {state}"),
            What::Off => write!(f, "{at} off"),
            What::Sent { to, bytes } => write!(f, "{at} > {to} {bytes}"),
            What::Taken { from, bytes } => write!(f, "{at} < {from} {bytes}"),
            What::Put { to, bytes } => write!(f, "{at} p {to} {bytes}"),
            What::Arrived { bytes } => write!(f, "{at} a {bytes}"),
            What::End => write!(f, "{at} end"),
        }
    }
}

impl Display for ClockOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clock {} {}", self.offset, self.bound)
    }
}

impl Head {
    /// Writes the first line of a trace.
    ///
    /// # Errors
    /// If writing to the output fails.
    pub fn print_trace(&self, out: &mut impl Write) -> fmt::Result {
        self.print(out, "strata-trace")
    }
}

impl Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.print_trace(f)?;
        if let Some(clock) = self.clock {
            writeln!(f, "{clock}")?;
        }
        for (number, name) in self.states.iter().enumerate() {
            if let Some(name) = name {
                writeln!(f, "state {number} {name}")?;
            }
        }
        self.events.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}
