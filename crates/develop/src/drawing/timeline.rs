//! All nodes' traces on one axis of time.

use std::collections::BTreeMap;

use crate::trace::{Event, STATES, Trace, What};

/// Part of a node's time, in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it begins, in ns.
    pub from: u64,
    /// When it ends, in ns; not before.
    pub to: u64,
    /// Index into [`Timeline::states`].
    pub state: usize,
}

/// A job's states and events, in ns since its first event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The names of all states, for those that have none `state 9`.
    pub states: Vec<String>,
    /// For each node its spans, in order; between them nothing was recorded.
    pub spans: Vec<Vec<Span>>,
    /// For each node its packets and puts, in order.
    pub events: Vec<Vec<Event>>,
    /// When the last event was.
    pub length: u64,
    /// The most by which the nodes' clocks may be apart after they were put in line; `None` if that
    /// is not known.
    pub bound: Option<u64>,
    /// Nodes whose trace has no end: they were killed, or the disk was full.
    pub torn: Vec<usize>,
}

impl Timeline {
    /// Puts traces in line: by the clock offsets that were measured, else by when the system's
    /// clocks say that the nodes' clocks showed zero.
    #[must_use]
    pub fn new(traces: &[Trace]) -> Self {
        let aligned = traces.iter().all(|trace| trace.clock.is_some());
        let zero = traces.iter().map(|trace| trace.head.began).min().unwrap_or(0);
        // i128: nothing that a file says may overflow.
        let time = |trace: &Trace, at: u64| {
            let shift = match trace.clock {
                Some(clock) if aligned => -i128::from(clock.offset),
                _ => i128::from(trace.head.began - zero),
            };
            i128::from(at) + shift
        };
        let times = || traces.iter().flat_map(|trace| trace.events.iter().map(|event| time(trace, event.at)));
        let first = times().min().unwrap_or(0);
        let since = |at: i128| u64::try_from(at - first).unwrap_or(u64::MAX);
        let mut timeline = Self {
            states: (0..STATES)
                .map(|i| {
                    let name = traces.iter().find_map(|trace| trace.states[i].clone());
                    name.unwrap_or_else(|| format!("state {i}"))
                })
                .collect(),
            length: times().max().map_or(0, since),
            bound: aligned.then(|| {
                let mut bounds: Vec<u64> = traces.iter().filter_map(|t| Some(t.clock?.bound)).collect();
                bounds.sort_unstable();
                // Between two nodes neither of which is node 0, both errors count.
                bounds.iter().rev().take(2).fold(0, |sum: u64, bound| sum.saturating_add(*bound))
            }),
            ..Self::default()
        };
        for trace in traces {
            let mut spans: Vec<Span> = Vec::new();
            let mut events = Vec::new();
            let mut open: Option<(u64, usize)> = None;
            let mut ended = false;
            for event in &trace.events {
                let at = since(time(trace, event.at));
                let next = match event.what {
                    What::State(state) => Some((at, usize::from(state))),
                    What::Off => None,
                    What::End => {
                        ended = true;
                        None
                    }
                    _ => {
                        events.push(Event { at, what: event.what });
                        continue;
                    }
                };
                close(&mut spans, open, at);
                open = next;
            }
            if let Some(last) = trace.events.last() {
                close(&mut spans, open, since(time(trace, last.at)));
            }
            if !ended {
                timeline.torn.push(trace.head.node);
            }
            timeline.spans.push(spans);
            timeline.events.push(events);
        }
        timeline
    }

    /// How long the nodes together were in each state, by state; states that never were are left
    /// out.
    #[must_use]
    pub fn totals(&self) -> BTreeMap<usize, u64> {
        let mut totals = BTreeMap::new();
        for span in self.spans.iter().flatten() {
            let total: &mut u64 = totals.entry(span.state).or_default();
            *total = total.saturating_add(span.to - span.from);
        }
        totals
    }
}

/// Ends the span that is open; those that take no time are left out.
fn close(spans: &mut Vec<Span>, open: Option<(u64, usize)>, to: u64) {
    if let Some((from, state)) = open
        && from < to
    {
        match spans.last_mut() {
            Some(last) if last.to == from && last.state == state => last.to = to,
            _ => spans.push(Span { from, to, state }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(node: usize, clock: Option<(i64, u64)>, events: &[(u64, What)]) -> Trace {
        let began = 1000 + 50 * node as u64;
        let mut text =
            format!("strata-trace 1 node={node} nodes=3 began={began}\nstate 0 idle\nstate 1 busy\n");
        if let Some((offset, bound)) = clock {
            text += &format!("clock {offset} {bound}\n");
        }
        for (at, what) in events {
            text += &format!("{}\n", Event { at: *at, what: *what });
        }
        Trace::parse(text.as_bytes(), "x").unwrap()
    }

    #[test]
    fn clocks_are_put_in_line() {
        let events = |shift: u64| {
            [
                (shift + 100, What::State(1)),
                (shift + 150, What::Sent { to: 1, bytes: 8 }),
                (shift + 300, What::State(0)),
                (shift + 300, What::State(1)),
                (shift + 400, What::End),
            ]
        };
        let traces = [
            trace(0, Some((0, 0)), &events(0)),
            trace(1, Some((70, 5)), &events(70)),
            trace(2, Some((-20, 9)), &events(0)),
        ];
        let timeline = Timeline::new(&traces);
        let busy = |from, to| Span { from, to, state: 1 };
        assert_eq!(timeline.spans, [[busy(0, 300)], [busy(0, 300)], [busy(20, 320)]]);
        assert_eq!(timeline.events[2], [Event { at: 70, what: What::Sent { to: 1, bytes: 8 } }]);
        assert_eq!((timeline.length, timeline.bound), (320, Some(14)));
        assert_eq!(timeline.totals(), BTreeMap::from([(1, 900)]));
        assert!(timeline.torn.is_empty());
    }

    #[test]
    fn without_offsets_the_systems_clocks_count_and_a_trace_without_end_is_named() {
        let events = [(0, What::State(1)), (10, What::Off), (30, What::State(0)), (40, What::State(1))];
        let timeline = Timeline::new(&[trace(0, None, &events), trace(1, Some((0, 1)), &events)]);
        let span = |from, to, state| Span { from, to, state };
        assert_eq!(timeline.spans[0], [span(0, 10, 1), span(30, 40, 0)]);
        assert_eq!(timeline.spans[1], [span(50, 60, 1), span(80, 90, 0)]);
        assert_eq!((timeline.bound, timeline.torn), (None, vec![0, 1]));
        assert_eq!(Timeline::new(&[]).length, 0);
    }

    #[test]
    fn times_at_the_ends_of_their_range_overflow_nothing() {
        let events = [(0, What::State(1)), (u64::MAX, What::State(0))];
        let traces =
            [trace(0, Some((i64::MAX, u64::MAX)), &events), trace(1, Some((i64::MIN, u64::MAX)), &events)];
        let timeline = Timeline::new(&traces);
        assert_eq!(timeline.length, u64::MAX);
        let _ = timeline.totals();
    }
}
