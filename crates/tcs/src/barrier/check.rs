//! Checks a schedule by propagating the sets of members from which each member has heard.

use super::Schedule;
use thiserror::Error;

/// Properties of a correct schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Total number of messages.
    pub messages: usize,
    /// The longest chain of messages, each sent after the one before was received.
    pub rounds: usize,
}

/// Why a schedule is not a barrier.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum ScheduleError {
    /// A step names a member that does not exist, or the member itself.
    #[error("member {member} exchanges messages with {with}: there are {members} members")]
    NoMember { member: usize, with: usize, members: usize },
    /// A member waits for a message that is never sent.
    #[error("member {member} waits for ever for member {from}")]
    Stuck { member: usize, from: usize },
    /// A member leaves before it has heard, directly or not, from all members.
    #[error("member {member} leaves without knowing that member {of} has come")]
    Early { member: usize, of: usize },
    /// A message is never received, so the next barrier would receive it.
    #[error("a message from member {from} to member {to} is left over")]
    LeftOver { from: usize, to: usize },
}

struct Message {
    known: Vec<u64>,
    round: usize,
}

impl Schedule {
    /// Checks that this is a barrier: at its last step every member knows that all have arrived.
    /// Its messages leave before that step, so it also knows that all others will learn it.
    ///
    /// # Errors
    /// [`ScheduleError`] with the first fault found.
    pub fn check(&self) -> Result<Checked, ScheduleError> {
        let members = self.members();
        let mut known: Vec<Vec<u64>> = vec![vec![0; members.div_ceil(64)]; members];
        for (member, known) in known.iter_mut().enumerate() {
            known[member / 64] |= 1 << (member % 64);
        }
        let (mut round, mut messages) = (vec![0; members], 0);
        self.carry_out(|member, _, came: Option<Message>| match came {
            Some(message) => {
                round[member] = round[member].max(message.round);
                known[member].iter_mut().zip(&message.known).for_each(|(all, more)| *all |= more);
                None
            }
            None => {
                messages += 1;
                Some(Message { known: known[member].clone(), round: round[member] + 1 })
            }
        })?;
        for (member, known) in known.iter().enumerate() {
            if let Some(of) = (0..members).find(|of| known[of / 64] & (1 << (of % 64)) == 0) {
                return Err(ScheduleError::Early { member, of });
            }
        }
        Ok(Checked { messages, rounds: round.into_iter().max().unwrap_or(0) })
    }
}
