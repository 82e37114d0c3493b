//! The report as a table.

use super::{ConnectionReport, Report};
use crate::target::Sure;
use std::fmt;

/// The most connections of a set that are listed; of longer lists only the extremes are printed.
const LISTED: usize = 16;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |clocks: f64| clocks / self.mhz;
        write!(f, "{} on {}: ", self.application, self.target)?;
        match (self.link_rate, self.sure) {
            (None, _) => {
                writeln!(f, "rates of links not known")?;
                writeln!(f, "nothing was measured, so no rate is guaranteed; costs are estimates")?;
            }
            (Some(rate), Sure::Described) => writeln!(f, "links of {:.2} MB/s", rate / 1e6)?,
            (Some(rate), sure) => {
                writeln!(f, "links of {:.2} MB/s", rate / 1e6)?;
                writeln!(f, "{sure}")?;
            }
        }
        for task in &self.tasks {
            write!(f, "\ntask {} on cells {}: ", task.task, ranges(&task.cells))?;
            if let (Some(start), Some(end)) = (task.start, task.end) {
                write!(f, "start {:.2} µs, end {:.2} µs, ", micros(start), micros(end))?;
            }
            writeln!(f, "switch {:.2} µs", micros(task.switch))?;
            for set in &task.sets {
                write!(f, "  set {}", set.set)?;
                if set.parts > 1 {
                    write!(f, ", part {} of {}", set.part + 1, set.parts)?;
                }
                let count = set.connections.len();
                write!(f, ": {count} connections, congestion {}", set.congestion)?;
                match set.throttle {
                    0 | 1 => writeln!(f)?,
                    most => writeln!(f, "; they share turns: feed each at 1/{most} of a link")?,
                }
                self.list(f, &set.connections)?;
            }
            if !task.external.is_empty() {
                writeln!(f, "  between its children: {} connections", task.external.len())?;
                self.list(f, &task.external)?;
            }
        }
        if !self.barriers.is_empty() {
            writeln!(f, "\nbarriers")?;
        }
        for barrier in &self.barriers {
            writeln!(
                f,
                "  {} of cells {}: {}{}, {} messages, {:.2} µs",
                barrier.id,
                ranges(&barrier.cells),
                barrier.algorithm,
                barrier.signal.as_ref().map_or_else(String::new, |signal| format!(" by {signal}")),
                barrier.messages,
                micros(barrier.clocks)
            )?;
        }
        Ok(())
    }
}

impl Report {
    fn list(&self, f: &mut fmt::Formatter<'_>, connections: &[ConnectionReport]) -> fmt::Result {
        for connection in connections.iter().take(LISTED) {
            write!(
                f,
                "    {:>3} -> {:<3} {} hops, congestion {}, ",
                connection.from, connection.to, connection.hops, connection.congestion,
            )?;
            match connection.rate {
                Some(rate) if rate < 1e9 => write!(f, "{:.2} MB/s", rate / 1e6)?,
                Some(rate) => write!(f, "{:.0} MB/s", rate / 1e6)?,
                None => write!(f, "no guarantee")?,
            }
            write!(f, "{}", if connection.reserved { " reserved" } else { "" })?;
            write!(f, ", latency {:.2}", connection.latency / self.mhz)?;
            match connection.bound {
                Some(bound) => writeln!(f, " to {} µs", three(bound / self.mhz))?,
                None => writeln!(f, " µs")?,
            }
        }
        let rest = connections.get(LISTED..).unwrap_or(&[]);
        if !rest.is_empty() {
            let least = rest.iter().filter_map(|c| c.rate).fold(f64::INFINITY, f64::min) / 1e6;
            let latency = rest.iter().map(|c| c.bound.unwrap_or(c.latency)).fold(0.0, f64::max) / self.mhz;
            let (count, latency) = (rest.len(), three(latency));
            let rate = if least.is_finite() { format!("{least:.2} MB/s") } else { "no rate".to_owned() };
            writeln!(f, "    and {count} more, of at least {rate}, latency up to {latency} µs")?;
        }
        Ok(())
    }
}

/// A number of microseconds in three digits, or all of those before the point.
fn three(micros: f64) -> String {
    let digits = if micros < 10.0 { 2 } else { usize::from(micros < 100.0) };
    format!("{micros:.digits$}")
}

/// `0-3, 7`.
pub(super) fn ranges(cells: &[usize]) -> String {
    let mut sorted = cells.to_vec();
    sorted.sort_unstable();
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for cell in sorted {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cell => *last = cell,
            _ => parts.push((cell, cell)),
        }
    }
    let text = parts.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    text.collect::<Vec<_>>().join(", ")
}
