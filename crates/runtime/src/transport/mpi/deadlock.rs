//! Ends a job whose nodes all wait, or have left, while nothing is in flight that would end a wait.
//!
//! E. W. Dijkstra's account of S. Safra's detection of termination (EWD 998, 1987): a token
//! circulates, and a node passes it on only while it waits. The token sums the packets and puts sent
//! less those received, and records whether a node has acted since the token's last visit. If no
//! node has acted in a round, all nodes waited at the moment at which it began, so that the sum, and
//! what the token has gathered of each node, are of that moment. Node 0 sends the token when it has
//! waited for a while. So it costs nothing while nodes work, and no node has to answer a query of a
//! node that waits.
//!
//! Messages of collectives are not counted: those to a node that never enters the collective stay
//! unreceived. Instead the token compares how many collectives each node has entered. A node that
//! waits in one can continue if the nodes from which it needs messages have entered as many, else it
//! needs a node that waits, too. Whether these have made the same calls, each node that waits long
//! finds for itself: [`Step::Compare`].
//!
//! Prepared messages, of which receivers cannot be asked, are given time by their length; whatever
//! else may look as if it were under way, [`LONGEST`].

use super::ffi::World;
use crate::clock::HostClock;
use crate::transport::deadlock::{Standing, explain};
use crate::transport::header::Header;
use crate::transport::{Awaited, Call, Failure};
use bytemuck::{Pod, Zeroable};

/// The time that node 0 waits before it sends the token, in ns. The second round without activity
/// is the proof.
const PATIENCE: u64 = 500_000_000;

/// The time without activity after which the job ends in any case, in ns.
const LONGEST: u64 = 300_000_000_000;

/// The time for which prepared messages may be in flight without a sign, and what is added for each
/// byte, in ns: 10 MB/s is less than any network in use, and 10 s bridge a lost packet.
const PREPARED: u64 = 10_000_000_000;
const PREPARED_BYTE: u64 = 100;

/// Greater than any turn.
const NEVER: u64 = u64::MAX;

/// The nodes from which a node that waits in a collective needs messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    All,
    /// Those of lower rank.
    Before,
    /// Those of higher rank.
    After,
}

/// A node's record of its own waiting.
pub(super) struct Detector {
    clock: HostClock,
    /// The numbers of messages and collectives when this node was last seen to wait, and where.
    done: (u64, u64, Option<Needs>),
    /// The time since which it has waited without further activity, in ns.
    since: u64,
    /// True if it has acted since it passed on the token.
    acted: bool,
    token: Option<Token>,
    /// The time at which it last compared the nodes' calls.
    compared: u64,
    /// On node 0: true if the token is in circulation.
    sent: bool,
    /// On node 0: the time at which the first round without activity began, in ns.
    quiet: Option<u64>,
    /// The published place of the wait.
    shown: Option<*const std::panic::Location<'static>>,
}

/// The token: what it has gathered of the nodes that it has visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Token {
    /// Packets and puts sent less those received, wrapping.
    balance: u64,
    /// 1 if a node has acted.
    acted: u64,
    /// 1 if a node waits for an event other than the end of all programs.
    waits: u64,
    /// The fewest collectives that a node has entered.
    least: u64,
    /// The least turn of a node that waits in a collective: that needs all nodes; that needs those
    /// before it, which have all entered it; that needs those after it, none of which is known not
    /// to have entered it.
    all: u64,
    before: u64,
    after: u64,
    /// The longest time that a node allows for its messages, in ns.
    allowed: u64,
}

/// What the token gathers of one node.
#[derive(Clone, Copy)]
struct Visit {
    balance: u64,
    acted: bool,
    waits: bool,
    turn: u64,
    /// Set if the node waits in the collective that it entered last.
    needs: Option<Needs>,
    allowed: u64,
}

/// The numbers of packets and puts that a node has sent and received since the job began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// The next action.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    /// Pass the token to the next node.
    Pass(Token),
    /// Compare the last calls of all nodes.
    Compare,
    /// No node can ever continue.
    Stuck,
}

impl Token {
    const NEW: Self = Self {
        balance: 0,
        acted: 0,
        waits: 0,
        least: NEVER,
        all: NEVER,
        before: NEVER,
        after: NEVER,
        allowed: 0,
    };

    /// The token after it has visited the next node, in rank order.
    fn and(mut self, node: Visit) -> Self {
        let Visit { balance, acted, waits, turn, needs, allowed } = node;
        self.balance = self.balance.wrapping_add(balance);
        self.acted |= u64::from(acted);
        self.waits |= u64::from(waits);
        self.allowed = self.allowed.max(allowed);
        if turn < self.after {
            self.after = NEVER;
        }
        match needs {
            Some(Needs::All) => self.all = self.all.min(turn),
            Some(Needs::Before) if turn <= self.least => self.before = self.before.min(turn),
            Some(Needs::After) => self.after = self.after.min(turn),
            Some(Needs::Before) | None => {}
        }
        self.least = self.least.min(turn);
        self
    }

    /// True if no node can continue, after a round of all nodes; `quiet` is the time without
    /// activity, in ns.
    fn is_stuck(&self, quiet: u64) -> bool {
        let all = if self.all <= self.least { self.all } else { NEVER };
        // No collective can continue.
        let none_is_free = all.min(self.before).min(self.after) == NEVER;
        let waits = self.acted == 0 && self.waits != 0;
        waits && (self.balance == 0 && none_is_free && quiet >= self.allowed || quiet >= LONGEST)
    }
}

impl Detector {
    pub(super) fn new() -> Self {
        Self {
            clock: HostClock::start(false),
            done: Default::default(),
            since: 0,
            acted: true,
            token: None,
            compared: 0,
            sent: false,
            quiet: None,
            shown: None,
        }
    }

    /// Stores the arrived token.
    pub(super) fn take(&mut self, token: Token) {
        self.token = Some(token);
    }

    /// Called when this node begins another wait than before, which its counts do not show.
    pub(super) fn waits_anew(&mut self) {
        self.since = 0;
    }

    /// Called when this node waits and has found no work.
    pub(super) fn idle(
        &mut self,
        world: &World,
        traffic: Traffic,
        needs: Option<Needs>,
        call: Option<&Call>,
        awaited: Awaited,
    ) -> Step {
        let waits = awaited != Awaited::AllLeft;
        let place = call.filter(|_| waits).map(|call| std::ptr::from_ref(call.place));
        if self.shown != place {
            self.shown = place;
            world.show_wait(call.filter(|_| waits).map(Header::new));
        }
        let prepared = world.prepared_bytes();
        let visit = Visit {
            balance: traffic.sent.wrapping_sub(traffic.received),
            acted: false,
            waits,
            turn: world.turn(),
            needs,
            allowed: prepared.map_or(0, |bytes| PREPARED + PREPARED_BYTE.saturating_mul(bytes)),
        };
        let messages = traffic.sent.wrapping_add(traffic.received);
        self.step((world.rank(), world.size()), messages, visit, self.clock.ns())
    }

    /// As [`idle`](Self::idle), for node `rank` of `size`, after so many `messages` in all; the
    /// visit does not know yet whether the node has acted.
    fn step(&mut self, (rank, size): (usize, usize), messages: u64, visit: Visit, now: u64) -> Step {
        let done = (messages, visit.turn, visit.needs);
        if done != self.done || self.since == 0 {
            (self.done, self.since, self.acted) = (done, now, true);
        }
        let waited = now.saturating_sub(self.since);
        let long = waited >= PATIENCE;
        if size == 1 {
            return if long && Token::NEW.and(visit).is_stuck(waited) { Step::Stuck } else { Step::Nothing };
        }
        match self.token.take() {
            Some(token) if rank == 0 => {
                self.sent = false;
                // The nodes have not acted since the round before, which had ended then.
                let quiet = *self.quiet.get_or_insert(self.since);
                self.since = now;
                if token.acted != 0 || self.acted {
                    self.quiet = None;
                    return Step::Nothing;
                }
                if token.is_stuck(now.saturating_sub(quiet)) { Step::Stuck } else { Step::Nothing }
            }
            None if rank == 0 && long && !self.sent => {
                (self.sent, self.acted) = (true, false);
                Step::Pass(Token::NEW.and(visit))
            }
            Some(token) => {
                let acted = std::mem::take(&mut self.acted);
                Step::Pass(token.and(Visit { acted, ..visit }))
            }
            None if long && visit.needs.is_some() && now.saturating_sub(self.compared) >= PATIENCE => {
                self.compared = now;
                Step::Compare
            }
            None => Step::Nothing,
        }
    }
}

/// The report of the calls in which all nodes wait, in a deadlock.
pub(super) fn report(world: &World) -> Result<Failure, String> {
    let standing = |rank: usize| {
        Ok((
            rank,
            world.wait_of(rank)?.map_or(Standing::Leaves, |header| Standing::Waits(format!("in {header}"))),
        ))
    };
    let standings = (0..world.size()).map(standing).collect::<Result<Vec<_>, String>>()?;
    let nobody = || Failure { rank: world.rank(), message: "deadlock, nothing is under way".to_owned() };
    Ok(explain(standings, "").unwrap_or_else(nobody))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// What a node does.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Does {
        Runs,
        WaitsForMessage,
        WaitsIn(Needs),
        Left,
    }

    struct Node {
        detector: Detector,
        traffic: Traffic,
        turn: u64,
        does: Does,
    }

    /// A program of messages that are sent, carried and received in any order, and of collectives
    /// whose messages arrive at any time: a node acts only when it runs, which a message or the end
    /// of a collective lets it do.
    struct Job {
        nodes: Vec<Node>,
        under_way: Vec<usize>,
        tokens: Vec<VecDeque<Token>>,
        now: u64,
    }

    /// The nodes that a collective needs, alike on all nodes.
    fn needs(turn: u64) -> Needs {
        [Needs::All, Needs::Before, Needs::After][(turn % 5).min(2) as usize]
    }

    impl Job {
        fn new(size: usize) -> Self {
            let (detector, traffic) = (Detector::new, Traffic::default());
            let node = || Node { detector: detector(), traffic, turn: 0, does: Does::Runs };
            Self {
                nodes: (0..size).map(|_| node()).collect(),
                under_way: vec![0; size],
                tokens: vec![VecDeque::new(); size],
                now: 1,
            }
        }

        fn may_end(&self, rank: usize) -> bool {
            let turn = self.nodes[rank].turn;
            let entered = |nodes: &[Node]| nodes.iter().all(|node| node.turn >= turn);
            match self.nodes[rank].does {
                Does::WaitsIn(Needs::All) => entered(&self.nodes),
                Does::WaitsIn(Needs::Before) => entered(&self.nodes[..rank]),
                Does::WaitsIn(Needs::After) => entered(&self.nodes[rank..]),
                _ => false,
            }
        }

        /// True if nothing will ever happen, and a node waits.
        fn is_stuck(&self) -> bool {
            let mut nodes = self.nodes.iter();
            self.under_way.iter().all(|messages| *messages == 0)
                && nodes.clone().all(|node| node.does != Does::Runs)
                && nodes.any(|node| node.does != Does::Left)
                && (0..self.nodes.len()).all(|rank| !self.may_end(rank))
        }

        /// Node `rank` takes one step; true if it detects the deadlock.
        fn step(&mut self, rank: usize, what: u8, to: usize) -> bool {
            let size = self.nodes.len();
            self.now += PATIENCE / 7;
            if let Some(token) = self.tokens[rank].pop_front() {
                self.nodes[rank].detector.take(token);
            }
            let may_end = self.may_end(rank);
            let Node { detector, traffic, turn, does } = &mut self.nodes[rank];
            match *does {
                Does::Runs => {
                    match what % 8 {
                        0 | 1 => {
                            traffic.sent += 1;
                            self.under_way[to % size] += 1;
                        }
                        2 | 3 => *does = Does::WaitsForMessage,
                        4 | 5 => {
                            *turn += 1;
                            *does = Does::WaitsIn(needs(*turn));
                        }
                        6 if to.is_multiple_of(16) => *does = Does::Left,
                        _ => {}
                    }
                    return false;
                }
                // A node receives messages also where it does not wait for them.
                _ if what.is_multiple_of(2) && self.under_way[rank] > 0 => {
                    self.under_way[rank] -= 1;
                    traffic.received += 1;
                    if *does == Does::WaitsForMessage {
                        *does = Does::Runs;
                    }
                    return false;
                }
                Does::WaitsIn(_) if may_end && what.is_multiple_of(3) => {
                    *does = Does::Runs;
                    return false;
                }
                _ => {}
            }
            // The node has polled; messages in flight to it have not arrived yet.
            let needs = if let Does::WaitsIn(needs) = *does { Some(needs) } else { None };
            let visit = Visit {
                balance: traffic.sent.wrapping_sub(traffic.received),
                acted: false,
                waits: *does != Does::Left,
                turn: *turn,
                needs,
                allowed: 0,
            };
            match detector.step((rank, size), traffic.sent + traffic.received, visit, self.now) {
                Step::Nothing | Step::Compare => false,
                Step::Stuck => true,
                Step::Pass(token) => {
                    self.tokens[(rank + 1) % size].push_back(token);
                    false
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn a_job_is_found_stuck_if_and_only_if_it_is(
            size in 1usize..6,
            steps in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..400),
        ) {
            let mut job = Job::new(size);
            for (rank, what, to) in steps {
                if job.step(usize::from(rank) % size, what, usize::from(to)) {
                    prop_assert!(job.is_stuck());
                    return Ok(());
                }
            }
            // After the running nodes wait and all messages are received, it must be detected.
            for round in 0..1500_u32 {
                for rank in 0..size {
                    let what = match job.nodes[rank].does {
                        Does::Runs => 2,
                        _ if round < 500 => 6 * (round % 3) as u8,
                        _ => 1,
                    };
                    if job.step(rank, what, 1) {
                        prop_assert!(job.is_stuck());
                        return Ok(());
                    }
                }
            }
            prop_assert!(!job.is_stuck(), "not found");
        }
    }

    const WAITS: Visit =
        Visit { balance: 0, acted: false, waits: true, turn: 3, needs: Some(Needs::All), allowed: 0 };

    #[test]
    fn what_may_be_in_flight_is_given_its_time_and_no_more() {
        let sent = Visit { allowed: PREPARED, needs: None, ..WAITS };
        assert!(!Token::NEW.and(sent).is_stuck(PREPARED - 1));
        assert!(Token::NEW.and(sent).is_stuck(PREPARED));
        let lost = Visit { balance: 1, ..WAITS };
        assert!(!Token::NEW.and(lost).is_stuck(LONGEST - 1));
        assert!(Token::NEW.and(lost).is_stuck(LONGEST));
        assert!(!Token::NEW.and(Visit { waits: false, ..lost }).is_stuck(LONGEST), "all have left");
    }
}
