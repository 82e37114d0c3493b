//! Statistics of a network.

use crate::Time;
use std::fmt;

/// Links that are listed individually.
const NAMED: usize = 10;

/// Statistics of a network. Its text, for people, lists the busiest links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The time of the last step.
    pub time: Time,
    /// Each link, in the order of [`Graph::wires`](crate::topology::Graph::wires); with two
    /// networks, those of the second follow.
    pub links: Vec<LinkUse>,
    /// Each node.
    pub nodes: Vec<NodeUse>,
    /// Packets in the network for each node, send and receive queues included: the mean over time.
    pub standing: f64,
}

/// Statistics of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkUse {
    /// Its name for people.
    pub name: String,
    /// Packets whose transmission it has begun.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// How long it has been busy so far.
    pub busy: Time,
    /// `busy` as a share of the time until now: 0 to 1.
    pub utilisation: f64,
    /// The most packets that waited for it at the same time, whether for the link or for space at
    /// its far end.
    pub most_waiting: usize,
}

/// A node's packets, those to itself included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeUse {
    /// Put into its send queues.
    pub sent: u64,
    /// Taken out of its receive queues.
    pub received: u64,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent: u64 = self.nodes.iter().map(|node| node.sent).sum();
        let mut links: Vec<&LinkUse> = self.links.iter().filter(|link| link.packets > 0).collect();
        writeln!(f, "{sent} packets in {}; {} of {} links used", self.time, links.len(), self.links.len())?;
        // Ties keep the order of the links.
        links.sort_by_key(|link| std::cmp::Reverse(link.busy));
        for LinkUse { name, packets, bytes, utilisation, most_waiting, .. } in links.iter().take(NAMED) {
            let busy = 100.0 * utilisation;
            writeln!(
                f,
                "{busy:5.1} % busy: {name}, {packets} packets, {bytes} bytes, at most {most_waiting} waiting"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_links_come_first() {
        let link = |name: &str, busy| LinkUse {
            name: name.to_owned(),
            packets: busy,
            bytes: 20 * busy,
            busy: Time(busy),
            utilisation: busy as f64 / 100.0,
            most_waiting: 3,
        };
        let links = vec![link("a", 7), link("b", 50), link("c", 0)];
        let statistics = Statistics {
            time: Time(100),
            links,
            nodes: vec![NodeUse { sent: 57, received: 50 }],
            standing: 0.0,
        };
        let text = "57 packets in 100 ps; 2 of 3 links used\n \
            50.0 % busy: b, 50 packets, 1000 bytes, at most 3 waiting\n  \
            7.0 % busy: a, 7 packets, 140 bytes, at most 3 waiting\n";
        assert_eq!(statistics.to_string(), text);
    }
}
