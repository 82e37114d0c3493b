//! Ends a job whose nodes all wait for messages, or have left, while no message is in flight.
//!
//! E. W. Dijkstra's account of S. Safra's detection of termination (EWD 998, 1987): a token
//! circulates, and a node passes it on only while it waits. The token sums the messages sent less
//! those received, and records whether a node has acted since the token's last visit. If no node
//! has acted, and no message is in flight, no node can ever act again. Node 0 sends the token when
//! it has waited for a while. So it costs nothing while nodes work, and no node has to answer a
//! query of a node that waits.

use super::ffi::World;
use crate::clock::HostClock;
use crate::transport::deadlock::{Standing, explain};
use crate::transport::header::Header;
use crate::transport::{Awaited, Call, Failure};

/// The time that node 0 waits before it sends the token, in ns. The second round without activity
/// is the proof.
const PATIENCE: u64 = 500_000_000;

/// A node's record of its own waiting.
pub(super) struct Standstill {
    clock: HostClock,
    /// The numbers of messages and collectives when this node was last seen to wait.
    done: (u64, u64),
    /// The time since which it has waited without further activity, in ns.
    since: u64,
    /// True if it has acted since it passed on the token.
    acted: bool,
    token: Option<Token>,
    /// On node 0: true if the token is in circulation.
    sent: bool,
    /// The published place of the wait.
    shown: Option<*const std::panic::Location<'static>>,
}

/// The token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Messages sent less messages received, wrapping.
    balance: u64,
    /// True if a node has acted.
    acted: bool,
    /// True if a node waits for an event other than the end of all programs.
    waits: bool,
}

/// The numbers of messages that a node has sent and received since the job began.
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
    /// No node can ever continue.
    Stuck,
}

impl Token {
    /// The token as two words of a message.
    pub(super) fn words(self) -> [u64; 2] {
        [self.balance, u64::from(self.acted) | u64::from(self.waits) << 1]
    }

    pub(super) fn of_words([balance, flags]: [u64; 2]) -> Self {
        Self { balance, acted: flags & 1 != 0, waits: flags & 2 != 0 }
    }
}

impl Standstill {
    pub(super) fn new() -> Self {
        let clock = HostClock::start(false);
        Self { clock, done: (0, 0), since: 0, acted: true, token: None, sent: false, shown: None }
    }

    /// Stores the arrived token.
    pub(super) fn take(&mut self, token: Token) {
        self.token = Some(token);
    }

    /// Called when this node waits and has found no work.
    pub(super) fn idle(
        &mut self,
        world: &World,
        traffic: Traffic,
        call: Option<&Call>,
        awaited: Awaited,
    ) -> Step {
        let waits = awaited != Awaited::AllLeft;
        let now = self.clock.ns();
        let place = call.filter(|_| waits).map(|call| std::ptr::from_ref(call.place));
        let done = (traffic.sent.wrapping_add(traffic.received), world.turn());
        if done != self.done || self.since == 0 {
            (self.done, self.since, self.acted) = (done, now, true);
        }
        if self.shown != place {
            self.shown = place;
            world.show_wait(call.filter(|_| waits).map(Header::new));
        }
        self.step((world.rank(), world.size()), traffic, waits, now)
    }

    /// As [`idle`](Self::idle), for node `rank` of `size`.
    fn step(&mut self, (rank, size): (usize, usize), traffic: Traffic, waits: bool, now: u64) -> Step {
        let balance = traffic.sent.wrapping_sub(traffic.received);
        let long = now.saturating_sub(self.since) >= PATIENCE;
        if size == 1 {
            return if waits && long && balance == 0 { Step::Stuck } else { Step::Nothing };
        }
        match self.token.take() {
            Some(token) if rank == 0 => {
                self.sent = false;
                self.since = now;
                let none_acted = !token.acted && !self.acted;
                let stuck = none_acted && token.balance.wrapping_add(balance) == 0 && (token.waits || waits);
                if stuck { Step::Stuck } else { Step::Nothing }
            }
            None if rank == 0 && long && !self.sent => {
                (self.sent, self.acted) = (true, false);
                Step::Pass(Token { balance: 0, acted: false, waits })
            }
            Some(token) => {
                let acted = token.acted || std::mem::take(&mut self.acted);
                let balance = token.balance.wrapping_add(balance);
                Step::Pass(Token { balance, acted, waits: token.waits || waits })
            }
            None => Step::Nothing,
        }
    }
}

/// The report of the calls in which all nodes wait, at a standstill.
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

    /// A program of messages that are sent, carried and received in any order: a node acts only
    /// when it receives, except for those that run at the beginning.
    struct Job {
        nodes: Vec<(Standstill, Traffic, bool)>,
        under_way: Vec<VecDeque<usize>>,
        tokens: Vec<VecDeque<Token>>,
        now: u64,
    }

    impl Job {
        fn new(size: usize) -> Self {
            let node = || (Standstill::new(), Traffic::default(), true);
            Self {
                nodes: (0..size).map(|_| node()).collect(),
                under_way: vec![VecDeque::new(); size],
                tokens: vec![VecDeque::new(); size],
                now: 1,
            }
        }

        fn is_stuck(&self) -> bool {
            self.under_way.iter().all(VecDeque::is_empty) && self.nodes.iter().all(|(.., runs)| !runs)
        }

        /// Node `rank` takes one step; true if it detects the standstill.
        fn step(&mut self, rank: usize, what: u8, to: usize) -> bool {
            let size = self.nodes.len();
            self.now += PATIENCE / 7;
            if let Some(token) = self.tokens[rank].pop_front() {
                self.nodes[rank].0.take(token);
            }
            let (standstill, traffic, runs) = &mut self.nodes[rank];
            if *runs {
                match what % 3 {
                    0 => {
                        traffic.sent += 1;
                        self.under_way[to % size].push_back(rank);
                    }
                    _ => *runs = what % 3 == 2,
                }
                return false;
            }
            if what.is_multiple_of(2) && self.under_way[rank].pop_front().is_some() {
                traffic.received += 1;
                *runs = true;
                return false;
            }
            // The node has polled; messages in flight to it have not arrived yet.
            let done = (traffic.sent + traffic.received, 0);
            if done != standstill.done || standstill.since == 0 {
                (standstill.done, standstill.since, standstill.acted) = (done, self.now, true);
            }
            match standstill.step((rank, size), *traffic, true, self.now) {
                Step::Nothing => false,
                Step::Stuck => true,
                Step::Pass(token) => {
                    assert_eq!(Token::of_words(token.words()), token);
                    self.tokens[(rank + 1) % size].push_back(token);
                    false
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

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
            // After all messages are received and all nodes wait, the standstill must be detected.
            for round in 0..1000 {
                for rank in 0..size {
                    if job.step(rank, if round < 500 { 4 } else { 1 }, 0) {
                        prop_assert!(job.is_stuck());
                        return Ok(());
                    }
                }
            }
            prop_assert!(!job.is_stuck(), "not found");
        }
    }
}
