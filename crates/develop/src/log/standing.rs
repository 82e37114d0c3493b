//! The state of each node of a job, and the nodes for which the others wait.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::{Log, What};
use strata_model::Seconds;

/// The most nodes that are listed one by one as missing.
const MOST_NAMED: usize = 8;

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The node.
    pub rank: usize,
    /// The last collective that it entered or started, from 1; 0 if none.
    pub number: u64,
    /// That collective's operation and place.
    pub call: String,
    /// Its activity.
    pub doing: Doing,
    /// The duration of this activity so far, in ns.
    pub since: u64,
}

/// A node's activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Waits in its last collective.
    Inside,
    /// Has started its last collective, and continues.
    Started,
    /// Has left its last collective, if any, and continues.
    Works,
    /// Waits for the named event.
    Waits(String),
    /// Its program has ended.
    Ended,
    /// The node ended because another node failed.
    Stopped,
    /// The node failed with this message.
    Failed(String),
}

impl Standing {
    /// The states at the nodes' last entries; durations end at the last entry of any node.
    #[must_use]
    pub fn of_logs(logs: &[Log]) -> Vec<Self> {
        let time = |log: &Log, at: u64| log.head.began.saturating_add(at);
        let ends = logs.iter().filter_map(|log| Some(time(log, log.entries.last()?.at)));
        let now = ends.max().unwrap_or(0);
        logs.iter()
            .map(|log| {
                let mut standing = Self {
                    rank: log.head.node,
                    number: 0,
                    call: String::new(),
                    doing: Doing::Works,
                    since: log.head.began,
                };
                for entry in &log.entries {
                    standing.take(&entry.what, time(log, entry.at));
                }
                standing.since = now.saturating_sub(standing.since);
                standing
            })
            .collect()
    }

    fn take(&mut self, what: &What, at: u64) {
        let doing = match what {
            What::Say(_) => return,
            What::Enter { number, call } | What::Start { number, call } => {
                self.number = *number;
                self.call.clone_from(call);
                if matches!(what, What::Enter { .. }) { Doing::Inside } else { Doing::Started }
            }
            What::Leave { number } => {
                self.number = self.number.max(*number);
                Doing::Works
            }
            // Completing a started collective counts as a wait in that collective.
            What::Wait(call) if self.doing == Doing::Started && *call == self.call => Doing::Inside,
            What::Wait(call) => Doing::Waits(call.clone()),
            What::Go => Doing::Works,
            What::Fail(message) => Doing::Failed(message.clone()),
            What::Stop if !matches!(self.doing, Doing::Failed(_)) => Doing::Stopped,
            What::Stop => return,
            What::End => Doing::Ended,
        };
        self.doing = doing;
        self.since = at;
    }

    /// The last collective: `barrier #17 at src/main.rs:10`.
    fn last(&self) -> String {
        named(&self.call, self.number)
    }

    /// The reason why it has not entered any collective after its last one.
    fn excuse(&self) -> String {
        let since = duration(self.since);
        match &self.doing {
            Doing::Inside => format!("it waits in {}", self.last()),
            Doing::Started => format!("it has started {}, {since} ago, and not completed it", self.last()),
            Doing::Waits(call) => format!("it has waited {since} in {call}"),
            Doing::Ended => format!("its program has ended, {since} ago"),
            Doing::Stopped => format!("it was stopped, {since} ago"),
            Doing::Failed(message) => format!("it failed: {message}"),
            Doing::Works if self.number == 0 => "it has been in no collective yet".to_owned(),
            Doing::Works => format!("last in {}, {since} ago", self.last()),
        }
    }
}

/// Inserts the number after the operation: `barrier #17 at src/main.rs:10`.
fn named(call: &str, number: u64) -> String {
    match call.split_once(" at ") {
        Some((operation, place)) => format!("{operation} #{number} at {place}"),
        None => format!("{call} #{number}"),
    }
}

fn duration(ns: u64) -> Seconds {
    Seconds::new(ns as f64 * 1e-9).unwrap_or_default()
}

/// `node 3`, or `nodes 0-2, 5`; ranks in order.
#[must_use]
pub fn nodes(ranks: &[usize]) -> String {
    let mut text = String::from(if ranks.len() == 1 { "node " } else { "nodes " });
    let mut at = 0;
    while at < ranks.len() {
        let run = ranks[at..].iter().zip(ranks[at]..).take_while(|(rank, next)| *rank == next).count();
        let comma = if at > 0 { ", " } else { "" };
        // Writing to a string does not fail. Two consecutive ranks are separated by a comma.
        let _ = if run > 2 {
            write!(text, "{comma}{}-{}", ranks[at], ranks[at + run - 1])
        } else {
            write!(text, "{comma}{}", ranks[at])
        };
        at += if run > 2 { run } else { 1 };
    }
    text
}

/// Describes all nodes' states for people: which nodes wait where, which are missing, which have
/// failed.
pub struct Report<'a>(pub &'a [Standing]);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for failed in self.0 {
            if let Doing::Failed(message) = &failed.doing {
                lines.push(format!("node {} failed: {message}", failed.rank));
            }
        }
        let mut told = vec![false; self.0.len()];
        self.collectives(&mut lines, &mut told);
        let mut waits: BTreeMap<&str, Vec<&Standing>> = BTreeMap::new();
        for (standing, told) in self.0.iter().zip(told) {
            if let (Doing::Waits(call), false) = (&standing.doing, told) {
                waits.entry(call).or_default().push(standing);
            }
        }
        for (call, who) in waits {
            let ranks: Vec<usize> = who.iter().map(|standing| standing.rank).collect();
            let longest = who.iter().map(|standing| standing.since).max().unwrap_or(0);
            lines.push(format!("{} {} in {call}, {}", nodes(&ranks), verb(&ranks), duration(longest)));
        }
        if lines.is_empty() {
            lines.push("no node waits".to_owned());
        }
        f.write_str(&lines.join("\n"))
    }
}

fn verb(ranks: &[usize]) -> &'static str {
    if ranks.len() == 1 { "waits" } else { "wait" }
}

impl Report<'_> {
    /// A line for each collective in which nodes wait; `told` becomes true for nodes named as
    /// missing.
    fn collectives(&self, lines: &mut Vec<String>, told: &mut [bool]) {
        let mut groups: BTreeMap<(u64, &str), Vec<usize>> = BTreeMap::new();
        for standing in self.0.iter().filter(|standing| standing.doing == Doing::Inside) {
            groups.entry((standing.number, &standing.call)).or_default().push(standing.rank);
        }
        let mut before = None;
        for ((number, call), ranks) in &groups {
            let mut line = format!("{} {} in {}", nodes(ranks), verb(ranks), named(call, *number));
            if before.replace(number) == Some(number) {
                line.push_str(", which cannot meet the one before");
            }
            let missing: Vec<usize> = (0..self.0.len()).filter(|i| self.0[*i].number < *number).collect();
            for &i in missing.iter().take(MOST_NAMED) {
                told[i] = true;
                let standing = &self.0[i];
                let _ = write!(line, "; node {} has not come: {}", standing.rank, standing.excuse());
            }
            if missing.len() > MOST_NAMED {
                let rest: Vec<usize> = missing[MOST_NAMED..].iter().map(|&i| self.0[i].rank).collect();
                missing.iter().for_each(|&i| told[i] = true);
                let _ =
                    write!(line, "; nor {} {}", if rest.len() == 1 { "has" } else { "have" }, nodes(&rest));
            }
            lines.push(line);
        }
    }
}
