//! The report as a table.

use super::{ConnectionReport, Report};
use std::fmt;

/// The most connections of a set that are listed; of longer lists only the extremes are printed.
const LISTED: usize = 16;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |clocks: f64| clocks / self.mhz;
        writeln!(f, "{} on {}: links of {:.2} MB/s", self.application, self.target, self.link_rate / 1e6)?;
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
                writeln!(f, ": {count} connections, congestion {}", set.congestion)?;
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
                "  {} of cells {}: {}, {} messages, {:.2} µs",
                barrier.id,
                ranges(&barrier.cells),
                barrier.algorithm,
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
            writeln!(
                f,
                "    {:>3} -> {:<3} {} hops, congestion {}, {:.2} MB/s{}, latency {:.2} µs",
                connection.from,
                connection.to,
                connection.hops,
                connection.congestion,
                connection.rate / 1e6,
                if connection.reserved { " reserved" } else { "" },
                connection.latency / self.mhz
            )?;
        }
        let rest = connections.get(LISTED..).unwrap_or(&[]);
        if !rest.is_empty() {
            let least = rest.iter().map(|c| c.rate).fold(f64::INFINITY, f64::min) / 1e6;
            let latency = rest.iter().map(|c| c.latency).fold(0.0, f64::max) / self.mhz;
            let count = rest.len();
            writeln!(f, "    and {count} more, of at least {least:.2} MB/s, latency up to {latency:.2} µs")?;
        }
        Ok(())
    }
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
