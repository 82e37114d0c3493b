//! The cost and the results of polls.

use super::payload::{COLLECTIVES, data, messages};
use crate::transport::Network;
use strata_sim::{Time, network::Channel};

/// A node's cached state of its queues. A poll reads the status register of one network (on the
/// CM-5, of its interface to that network) and so checks every queue of it; collectives show in
/// both registers. The state is cached until simulated time advances other than by polling and
/// receiving.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PollCache {
    /// The time at which the last poll, or reception, ended.
    pub(super) ended: Time,
    /// The networks whose registers are cached, as bits.
    words: u8,
    /// The channels queried since, as bits: querying one again is another poll.
    asked: u8,
}

/// The networks whose registers show a channel, as bits.
fn words(channel: Channel) -> u8 {
    let shows = |network| channel == COLLECTIVES || channel == messages(network) || channel == data(network);
    Network::BOTH
        .into_iter()
        .filter(|network| shows(*network))
        .fold(0, |bits, network| bits | 1 << network as u8)
}

impl PollCache {
    /// True if the cache shows, at the time `now`, that a channel is empty.
    pub(super) fn tells(&mut self, now: Time, channel: Channel) -> bool {
        let bit = 1 << channel.0;
        let tells = self.ended == now && self.words & words(channel) != 0 && self.asked & bit == 0;
        self.asked |= if tells { bit } else { 0 };
        tells
    }

    /// Records a poll from `start` to `end` of a channel that was empty, or whose packet has been
    /// received by then: it has also read the other queues of that network.
    pub(super) fn polled(&mut self, channel: Channel, (start, end): (Time, Time)) {
        if self.ended != start {
            *self = Self::default();
        }
        let word = words(channel).trailing_zeros();
        let network = Network::BOTH[word as usize];
        self.ended = end;
        self.words |= 1 << word;
        self.asked &= !(1 << messages(network).0 | 1 << data(network).0 | 1 << COLLECTIVES.0);
        self.asked |= 1 << channel.0;
    }
}
