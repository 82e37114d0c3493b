//! The messages of collectives that have arrived at a node.
//!
//! In an exchange every node receives from every other, so a message takes one bit.

use std::collections::{BTreeMap, VecDeque};

/// The arrived messages of the collectives that a node has not completed.
pub(super) struct Arrivals {
    /// The number of the first of these collectives.
    first: u64,
    /// By number; a node may receive messages of collectives that it has yet to enter.
    collectives: VecDeque<Messages>,
}

/// The arrived messages of one collective. Each node sends at most one to each other.
#[derive(Default)]
struct Messages {
    /// The senders whose message has arrived whole, as bits.
    whole: Vec<u64>,
    /// The number of arrived packets of a message that is not whole, by sender.
    begun: BTreeMap<usize, u32>,
}

impl Default for Arrivals {
    /// No messages; the first collective has number 1.
    fn default() -> Self {
        Self { first: 1, collectives: VecDeque::new() }
    }
}

impl Arrivals {
    /// One of the `packets` of a message has arrived.
    pub(super) fn came(&mut self, collective: u64, from: usize, packets: u32) {
        // All messages of a completed collective have arrived before.
        let Some(index) = collective.checked_sub(self.first) else { return };
        let index = index as usize;
        if index >= self.collectives.len() {
            self.collectives.resize_with(index + 1, Messages::default);
        }
        self.collectives[index].came(from, packets);
    }

    /// True if a node's message of a collective has arrived whole.
    pub(super) fn has(&self, collective: u64, from: usize) -> bool {
        let index = collective.checked_sub(self.first).map(|index| index as usize);
        let messages = index.and_then(|index| self.collectives.get(index));
        messages
            .and_then(|messages| messages.whole.get(from / 64))
            .is_some_and(|word| word & 1 << (from % 64) != 0)
    }

    /// The first of these collectives is complete.
    pub(super) fn completed(&mut self) {
        self.first += 1;
        self.collectives.pop_front();
    }
}

impl Messages {
    fn came(&mut self, from: usize, packets: u32) {
        if packets > 1 {
            let come = self.begun.entry(from).or_default();
            *come += 1;
            if *come < packets {
                return;
            }
            self.begun.remove(&from);
        }
        let word = from / 64;
        if word >= self.whole.len() {
            self.whole.resize(word + 1, 0);
        }
        self.whole[word] |= 1 << (from % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_arrived_with_all_its_packets() {
        let mut arrivals = Arrivals::default();
        for from in [0, 63, 64, 700] {
            arrivals.came(1, from, 2);
            assert!(!arrivals.has(1, from));
            arrivals.came(1, from, 2);
            assert!(arrivals.has(1, from) && !arrivals.has(2, from));
        }
        assert!(!arrivals.has(1, 1) && !arrivals.has(1, 5000));
    }

    #[test]
    fn messages_of_later_collectives_are_kept() {
        let mut arrivals = Arrivals::default();
        arrivals.came(3, 7, 1);
        arrivals.came(1, 2, 1);
        arrivals.completed();
        assert!(!arrivals.has(1, 2) && !arrivals.has(2, 7));
        arrivals.completed();
        assert!(arrivals.has(3, 7) && !arrivals.has(3, 2));
        arrivals.completed();
        arrivals.completed();
        assert!(!arrivals.has(3, 7));
        arrivals.came(5, 1, 1);
        assert!(arrivals.has(5, 1));
    }
}
