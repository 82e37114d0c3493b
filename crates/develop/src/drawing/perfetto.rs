//! Traces in the JSON that Chrome's `about:tracing` and <https://ui.perfetto.dev> read (the Trace
//! Event Format).

use std::fmt::Write as _;

use serde_json::json;

use super::flight::Flight;
use super::timeline::Timeline;

/// The whole file: a thread a node with its states as slices, a counter a destination for what is
/// on its way.
#[must_use]
pub fn perfetto(timeline: &Timeline) -> String {
    let mut events =
        vec![json!({"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": "strata"}})];
    for (node, spans) in timeline.spans.iter().enumerate() {
        let name = format!("node {node}");
        events.push(json!({"ph": "M", "pid": 0, "tid": node, "name": "thread_name", "args": {"name": name}}));
        events.push(json!({"ph": "M", "pid": 0, "tid": node, "name": "thread_sort_index", "args": {"sort_index": node}}));
        for span in spans {
            let name = timeline.states.get(span.state).map_or("?", String::as_str);
            events.push(json!({
                "ph": "X", "pid": 0, "tid": node, "name": name, "cat": "state",
                "ts": microseconds(span.from), "dur": microseconds(span.to - span.from),
            }));
        }
    }
    for flight in [Flight::packets(timeline), Flight::puts(timeline)] {
        for (to, levels) in flight.to.iter().enumerate() {
            let name = format!("{} to node {to}", flight.unit);
            for (at, level) in levels {
                events.push(json!({
                    "ph": "C", "pid": 0, "name": name, "ts": microseconds(*at), "args": {"in flight": level},
                }));
            }
        }
    }
    // An event a line, so that the file can be looked at.
    let mut text = String::from("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
    for (i, event) in events.iter().enumerate() {
        let comma = if i + 1 < events.len() { "," } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{event}{comma}");
    }
    text.push_str("]}\n");
    text
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}
