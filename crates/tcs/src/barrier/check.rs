//! Checks a schedule by carrying out who knows of whom.

use super::{Schedule, Step};
use std::collections::{BTreeMap, VecDeque};
use thiserror::Error;

/// What was found of a correct schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// All messages.
    pub messages: usize,
    /// The longest chain of messages, each sent after the one before was received.
    pub rounds: usize,
}

/// Why a schedule is no barrier.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A step names a member that does not exist, or its own.
    #[error("member {member} exchanges messages with {with}: there are {members} members")]
    NoMember {
        /// The member.
        member: usize,
        /// Whom it names.
        with: usize,
        /// How many there are.
        members: usize,
    },
    /// A member waits for a message that is never sent.
    #[error("member {member} waits for ever for member {from}")]
    Stuck {
        /// The member that waits.
        member: usize,
        /// For whom.
        from: usize,
    },
    /// A member leaves before it knows that all have come.
    #[error("member {member} leaves without knowing that member {of} has come")]
    Early {
        /// The member that leaves.
        member: usize,
        /// Of whom it does not know.
        of: usize,
    },
    /// A message is never received: it would be taken for one of the next barrier.
    #[error("a message from member {from} to member {to} is left over")]
    LeftOver {
        /// Its sender.
        from: usize,
        /// Its receiver.
        to: usize,
    },
}

struct Message {
    known: Vec<u64>,
    round: usize,
}

impl Schedule {
    /// Whether this is a barrier: at its last step every member knows that all have come. As it
    /// sends everything before, it then also knows that all others will know.
    ///
    /// # Errors
    /// [`ScheduleError`] with the first fault found.
    pub fn check(&self) -> Result<Checked, ScheduleError> {
        let members = self.members();
        let mut known: Vec<Vec<u64>> = vec![vec![0; members.div_ceil(64)]; members];
        for (member, known) in known.iter_mut().enumerate() {
            known[member / 64] |= 1 << (member % 64);
        }
        let mut next = vec![0; members];
        let mut round = vec![0; members];
        let mut sent: BTreeMap<(usize, usize), VecDeque<Message>> = BTreeMap::new();
        let mut messages = 0;
        // Members that may go on: a member that waits is woken by the message it waits for.
        let mut ready: VecDeque<usize> = (0..members).collect();
        while let Some(member) = ready.pop_front() {
            while let Some(step) = self.steps(member).get(next[member]) {
                let (Step::Send(with) | Step::Receive(with)) = *step;
                if with >= members || with == member {
                    return Err(ScheduleError::NoMember { member, with, members });
                }
                match step {
                    Step::Send(to) => {
                        let message = Message { known: known[member].clone(), round: round[member] + 1 };
                        sent.entry((member, *to)).or_default().push_back(message);
                        ready.push_back(*to);
                        messages += 1;
                    }
                    Step::Receive(from) => {
                        let Some(message) = sent.get_mut(&(*from, member)).and_then(VecDeque::pop_front)
                        else {
                            break;
                        };
                        round[member] = round[member].max(message.round);
                        known[member].iter_mut().zip(&message.known).for_each(|(all, more)| *all |= more);
                    }
                }
                next[member] += 1;
            }
        }
        for member in 0..members {
            if let Some(Step::Receive(from) | Step::Send(from)) = self.steps(member).get(next[member]) {
                return Err(ScheduleError::Stuck { member, from: *from });
            }
            let unknown = |of: &usize| known[member][of / 64] & (1 << (of % 64)) == 0;
            if let Some(of) = (0..members).find(unknown) {
                return Err(ScheduleError::Early { member, of });
            }
        }
        if let Some(((from, to), _)) = sent.iter().find(|(_, messages)| !messages.is_empty()) {
            return Err(ScheduleError::LeftOver { from: *from, to: *to });
        }
        Ok(Checked { messages, rounds: round.into_iter().max().unwrap_or(0) })
    }
}
