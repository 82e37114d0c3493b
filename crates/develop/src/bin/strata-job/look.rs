//! What the commands print and write.

use std::fmt::Write as _;
use std::path::Path;

use strata_develop::FolderError;
use strata_develop::drawing::{Timeline, perfetto};
use strata_develop::log::standing::Report;
use strata_develop::log::{Log, Standing};
use strata_develop::trace::Trace;
use strata_model::{Seconds, count, write_atomically};
use strata_screen::{Failure, print, tell, width, wrapped};
use strata_tune::{TuneError, Tuner};

fn failure(error: FolderError) -> Failure {
    match error {
        FolderError::Io { .. } => Failure::Machine(error.to_string()),
        _ => Failure::Fault(error.to_string()),
    }
}

/// The last entries of each node, and who waits for whom.
pub(super) fn log(folder: &Path, last: usize) -> Result<(), Failure> {
    let logs = Log::read_folder(folder).map_err(failure)?;
    let mut text = String::new();
    let first = logs.iter().map(|log| log.head.began).min().unwrap_or(0);
    for log in &logs {
        for entry in &log.entries[log.entries.len().saturating_sub(last)..] {
            let at = (log.head.began - first).saturating_add(entry.at);
            let mut line = String::new();
            // Writing to a string does not fail.
            let _ = entry.print(&mut line);
            // As in the file, but for the time.
            let what = line.split_once(' ').map_or("", |(_, what)| what);
            let _ = write!(text, "node {:<4} {:>14.6} s  {what}", log.head.node, at as f64 * 1e-9);
        }
        if log.torn {
            let _ = writeln!(text, "node {:<4} (the last line is torn)", log.head.node);
        }
    }
    if let Some(log) = logs.first()
        && logs.len() < log.head.nodes
    {
        let there = |node: &usize| logs.iter().any(|log| log.head.node == *node);
        let missing: Vec<usize> = (0..log.head.nodes).filter(|node| !there(node)).collect();
        let missing = strata_develop::log::standing::nodes(&missing);
        let _ = writeln!(text, "of {missing} there is no log");
    }
    let _ = write!(text, "\n{}", Report(&Standing::of_logs(&logs)));
    print(wrapped(text.trim(), width(), "      "))
}

/// Draws traces, or tells how long nodes were in each state.
pub(super) fn trace(
    folder: &Path,
    svg: Option<&Path>,
    flight: Option<&Path>,
    json: Option<&Path>,
) -> Result<(), Failure> {
    let traces = Trace::read_folder(folder).map_err(failure)?;
    let timeline = Timeline::new(&traces);
    if !timeline.torn.is_empty() {
        tell!(
            "warning: the trace of {} has no end: the program was killed, or its disk was full",
            strata_develop::log::standing::nodes(&timeline.torn)
        );
    }
    let drawn = |text: Result<String, String>| {
        text.map_err(|message| Failure::Fault(format!("{}: {message}", folder.display())))
    };
    if let Some(file) = svg {
        write(file, &drawn(timeline.state_graph())?)?;
    }
    if let Some(file) = flight {
        write(file, &drawn(timeline.flight_graph())?)?;
    }
    if let Some(file) = json {
        write(file, &perfetto(&timeline))?;
    }
    if svg.or(flight).or(json).is_none() {
        print(wrapped(summary(&timeline).trim_end(), width(), "  "))?;
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    write_atomically(file, |out| out.write_all(text.as_bytes())).map_err(|e| Failure::Machine(e.to_string()))
}

fn summary(timeline: &Timeline) -> String {
    let seconds = |ns: u64| Seconds::new(ns as f64 * 1e-9).unwrap_or_default();
    let mut text = format!("{}, {}", count(timeline.spans.len(), "node", "nodes"), seconds(timeline.length));
    match timeline.bound {
        Some(0) => text.push_str(", one clock\n"),
        Some(bound) => text.push_str(&format!(", clocks in line to {}\n", seconds(bound))),
        None => text.push_str(", in line only by the system's clocks\n"),
    }
    let totals = timeline.totals();
    let all: u64 = totals.values().fold(0, |sum: u64, time| sum.saturating_add(*time));
    for (state, time) in totals {
        let name = timeline.states.get(state).map_or("?", String::as_str);
        let share = 100.0 * time as f64 / all.max(1) as f64;
        let _ = writeln!(text, "{name:<20} {share:>6.2} %  {}", seconds(time));
    }
    text
}

/// What a tuner has kept.
pub(super) fn tuned(file: &Path, json: bool, svg: Option<&Path>) -> Result<(), Failure> {
    let tuner = Tuner::look(file).map_err(|error| match error {
        TuneError::Read { .. } => Failure::Machine(error.to_string()),
        _ => Failure::Fault(error.to_string()),
    })?;
    let report = tuner.report();
    match svg {
        Some(to) => write(to, &tuner.graph_svg()),
        None if json => print(report.json()),
        None => print(wrapped(report.to_string().trim_end(), width(), "  ")),
    }
}
