//! What a look at the queues costs, and what it shows.

use super::payload::{COLLECTIVES, data, messages};
use crate::transport::Network;
use strata_sim::{Time, network::Channel};

/// What a node knows of its queues. Those of one network show in one word (on the CM-5, a status register of its interface to that network), so one
/// look is at all of them; collectives show in both words. A word is known until time passes that is not spent on looking and receiving.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PollCache {
    /// When the last look, or reception, ended.
    ended: Time,
    /// The networks whose words are known, as bits.
    words: u8,
    /// The channels that have been asked for since, as bits: to ask again is to look again.
    asked: u8,
}

/// The networks in whose words a channel shows, as bits.
fn words(channel: Channel) -> u8 {
    let shows = |network| channel == COLLECTIVES || channel == messages(network) || channel == data(network);
    Network::BOTH
        .into_iter()
        .filter(|network| shows(*network))
        .fold(0, |bits, network| bits | 1 << network as u8)
}

impl PollCache {
    /// Whether what is known at the time `now` tells that a channel has nothing, without another look.
    pub(super) fn tells(&mut self, now: Time, channel: Channel) -> bool {
        let bit = 1 << channel.0;
        let tells = self.ended == now && self.words & words(channel) != 0 && self.asked & bit == 0;
        self.asked |= if tells { bit } else { 0 };
        tells
    }

    /// A look from `start` to `end`, at a channel that was empty, or had a packet that was taken in by then: it has shown the other queues of that
    /// network too.
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
