//! Barriers as data: a list of messages to send and receive for each member.
//!
//! The same schedule is executed, priced and checked. A barrier is an all-to-all exchange of
//! arrivals: a member may leave when it knows that all have arrived and that all others will learn
//! it (Warfel 1996, §4.2). The algorithms are those of §4.3, and dissemination (Hensgen, Finkel and
//! Manber, "Two algorithms for barrier synchronization", 1988).

mod algorithms;
mod check;
mod price;
mod signal;

pub use check::{Checked, ScheduleError};
pub use price::{Costs, Outcome};
pub use signal::{Signal, Way};

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// The algorithm of a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// A token goes around a ring twice: the first round collects the arrivals, the second
    /// announces them.
    Token,
    /// N - 1 times, all members at once pass the arrivals that they have collected on around a
    /// ring.
    Ring,
    /// Rings in each dimension of a block in turn; holds the extents, whose product is N.
    Rings(Vec<usize>),
    /// Pairs exchange arrivals along each dimension of a hypercube; each member beyond the power of
    /// two sends to a buddy inside first and receives from it last.
    Hypercube,
    /// Arrivals are combined up a tree, and the result is sent down.
    Tree,
    /// In round k each member sends to the member 2^k further on.
    Dissemination,
    /// Every member signals on a channel that combines the signals and shows all members when the last
    /// has come, and that remembers it for each (Warfel 1996, class P1a): one message time.
    Combining,
    /// The same where members have no memory of what the channel has shown: a second channel tells that
    /// all have seen the first (P1c).
    CombiningTwice,
    /// Each member in turn tells all others over one channel (P1b): N message times.
    Broadcast,
    /// Arrivals are combined up a tree of private messages, and its root tells all at once (P1d): one
    /// message time more than the tree is high.
    TreeBroadcast,
    /// The machine's hardware barrier, of all cells.
    Native,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str("token"),
            Self::Ring => f.write_str("ring"),
            Self::Rings(extents) => {
                let extents: Vec<_> = extents.iter().map(ToString::to_string).collect();
                write!(f, "{} rings", extents.join("x"))
            }
            Self::Hypercube => f.write_str("hypercube"),
            Self::Tree => f.write_str("tree"),
            Self::Dissemination => f.write_str("dissemination"),
            Self::Combining => f.write_str("combining"),
            Self::CombiningTwice => f.write_str("combining, twice"),
            Self::Broadcast => f.write_str("broadcasts in turn"),
            Self::TreeBroadcast => f.write_str("tree and broadcast"),
            Self::Native => f.write_str("native"),
        }
    }
}

/// A step of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Sends an empty message to a member. Never waits.
    Send(usize),
    /// Waits for the next message of a member.
    Receive(usize),
}

/// The steps of each member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    steps: Vec<Vec<Step>>,
}

impl Schedule {
    /// Builds a schedule from lists of steps, one list a member. The schedule is not checked: see
    /// [`check`](Self::check).
    #[must_use]
    pub fn new(steps: Vec<Vec<Step>>) -> Self {
        Self { steps }
    }

    /// The number of members.
    #[must_use]
    pub fn members(&self) -> usize {
        self.steps.len()
    }

    /// A member's steps; empty if there is no such member.
    #[must_use]
    pub fn steps(&self, member: usize) -> &[Step] {
        self.steps.get(member).map_or(&[], Vec::as_slice)
    }

    /// Total number of messages.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.steps.iter().flatten().filter(|step| matches!(step, Step::Send(_))).count()
    }

    /// The largest number of members that send to the same member.
    #[must_use]
    pub fn peers(&self) -> usize {
        let senders = |steps: &Vec<Step>| {
            let mut from: Vec<usize> = steps
                .iter()
                .filter_map(|step| match step {
                    Step::Receive(from) => Some(*from),
                    Step::Send(_) => None,
                })
                .collect();
            from.sort_unstable();
            from.dedup();
            from.len()
        };
        self.steps.iter().map(senders).max().unwrap_or(0)
    }

    /// Carries out the steps, each when it can be: `step` has the member, the other member, and the
    /// message received or `None` to send one, which it returns.
    fn carry_out<M>(
        &self,
        mut step: impl FnMut(usize, usize, Option<M>) -> Option<M>,
    ) -> Result<(), ScheduleError> {
        let members = self.members();
        let mut next = vec![0; members];
        let mut sent: BTreeMap<(usize, usize), VecDeque<M>> = BTreeMap::new();
        // Members that can proceed; a waiting member is added by the message for which it waits.
        let mut ready: VecDeque<usize> = (0..members).collect();
        while let Some(member) = ready.pop_front() {
            while let Some(now) = self.steps(member).get(next[member]) {
                let (Step::Send(with) | Step::Receive(with)) = *now;
                if with >= members || with == member {
                    return Err(ScheduleError::NoMember { member, with, members });
                }
                if matches!(now, Step::Send(_)) {
                    sent.entry((member, with)).or_default().extend(step(member, with, None));
                    ready.push_back(with);
                } else {
                    let came = sent.get_mut(&(with, member)).and_then(VecDeque::pop_front);
                    let Some(came) = came else { break };
                    step(member, with, Some(came));
                }
                next[member] += 1;
            }
        }
        for (member, next) in next.into_iter().enumerate() {
            if let Some(Step::Receive(from) | Step::Send(from)) = self.steps(member).get(next) {
                return Err(ScheduleError::Stuck { member, from: *from });
            }
        }
        match sent.iter().find(|(_, messages)| !messages.is_empty()) {
            Some(((from, to), _)) => Err(ScheduleError::LeftOver { from: *from, to: *to }),
            None => Ok(()),
        }
    }
}

impl Algorithm {
    /// All algorithms of messages between two members, and rings in the dimensions of a block if
    /// `extents` are given. Those that need a [signal](Signal) or a hardware barrier of the machine are
    /// left out.
    #[must_use]
    pub fn all(extents: Option<&[usize]>) -> Vec<Self> {
        let mut all = vec![Self::Ring, Self::Token, Self::Tree, Self::Dissemination, Self::Hypercube];
        all.extend(extents.map(|extents| Self::Rings(extents.to_vec())));
        all
    }

    /// The schedule for `n` members; `None` for rings whose extents do not have `n` as product, and
    /// for [`Native`](Self::Native), which has no messages.
    #[must_use]
    pub fn schedule(&self, n: usize) -> Option<Schedule> {
        let steps = match self {
            Self::Native => return None,
            Self::Rings(extents) if extents.iter().product::<usize>() != n => return None,
            Self::Rings(extents) => algorithms::rings(extents),
            Self::Token => algorithms::token(n),
            Self::Ring => algorithms::rings(&[n]),
            Self::Hypercube => algorithms::hypercube(n),
            Self::Tree => algorithms::tree(n),
            Self::Dissemination => algorithms::dissemination(n),
            Self::Combining => algorithms::all_to_all(n, 1),
            Self::CombiningTwice => algorithms::all_to_all(n, 2),
            Self::Broadcast => algorithms::broadcasts(n),
            Self::TreeBroadcast => algorithms::tree_broadcast(n),
        };
        Some(Schedule { steps })
    }

    /// The transmissions of its schedule: what a channel tells all members at once counts once.
    #[must_use]
    pub fn transmissions(&self, schedule: &Schedule) -> usize {
        let members = schedule.members();
        match self {
            Self::Combining | Self::Broadcast | Self::TreeBroadcast if members > 1 => members,
            Self::CombiningTwice if members > 1 => 2 * members,
            _ => schedule.messages(),
        }
    }
}
