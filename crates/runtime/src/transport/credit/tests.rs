//! Two nodes that send to each other on lanes, compared with the true state of the lanes.

use super::{Credits, PUT, REPLY, REQUEST};
use proptest::prelude::*;
use std::collections::VecDeque;

const LANES: [usize; 3] = [REQUEST, REPLY, PUT];

/// Counts are distinguished modulo this.
const WRAP: u64 = 1 << 16;

/// The limits of packets and puts: small ones are reached sooner.
const LIMITS: [u16; 3] = [8, 8, 6];

/// A message on a lane.
#[derive(Clone, Copy)]
struct Message {
    /// For packets: the counts as they are carried.
    counts: u32,
    /// For puts and credits: the counts.
    told: super::Counts,
    /// The counts without wrapping.
    truth: [u64; 3],
    /// False for a message with credits alone.
    is_put: bool,
    /// Number of replies that the receiver must send before it takes another request.
    replies: u32,
}

struct Node {
    credits: Credits,
    /// Messages for this node, by lane: some still in flight, the others visible to a poll.
    coming: [VecDeque<Message>; 3],
    arrived: [VecDeque<Message>; 3],
    /// Number of replies that this node owes.
    replies: u32,
    /// True if there is no room for messages with credits alone.
    mute: bool,
    /// Number of messages with credits alone that it has sent.
    tells: u64,
    /// Number of stale counts taken since the known count was last true, by kind.
    stale: [u64; 3],
}

struct Pair([Node; 2]);

impl Pair {
    /// The state after `start` messages of each kind in both directions.
    fn new(start: u64) -> Self {
        Self([0, 1].map(|_| {
            let mut credits = Credits::new(2, LIMITS[REQUEST], LIMITS[PUT]);
            for peer in &mut credits.peers {
                (peer.sent, peer.taken, peer.told) = ([start; 3], [start; 3], [start; 3]);
                peer.acknowledged = [start as u16; 3];
            }
            let (coming, arrived) = Default::default();
            Node { credits, coming, arrived, replies: 0, mute: false, tells: 0, stale: [0; 3] }
        }))
    }

    fn taken(&self, node: usize) -> [u64; 3] {
        LANES.map(|kind| self.0[node].credits.taken(kind, 1 - node))
    }

    fn sent(&self, node: usize, kind: usize) -> u64 {
        self.0[node].credits.sent(kind, 1 - node)
    }

    /// The true number of messages in flight from a node.
    fn in_flight(&self, node: usize, kind: usize) -> u64 {
        self.sent(node, kind) - self.taken(1 - node)[kind]
    }

    fn try_send(&mut self, node: usize, kind: usize, replies: u32) -> bool {
        let (truth, to) = (self.taken(node), 1 - node);
        let credits = &mut self.0[node].credits;
        if !credits.may_send(kind, to) {
            return false;
        }
        let mut message = Message { counts: 0, told: [0; 3], truth, is_put: kind == PUT, replies };
        if kind == PUT {
            credits.sent_put(to);
            message.told = credits.tell(to);
        } else {
            message.counts = credits.sent_packet(kind, to);
        }
        self.0[to].coming[kind].push_back(message);
        self.check();
        true
    }

    /// Sends the credits that a node owes, if there is room.
    fn pay(&mut self, node: usize) {
        let truth = self.taken(node);
        while !self.0[node].mute && self.0[node].credits.owes() {
            let to = self.0[node].credits.next_owed().unwrap();
            assert_eq!(to, 1 - node);
            self.0[node].tells += 1;
            let told = self.0[node].credits.tell(to);
            let message = Message { counts: 0, told, truth, is_put: false, replies: 0 };
            self.0[to].coming[PUT].push_back(message);
        }
    }

    fn arrive(&mut self, node: usize, lane: usize, count: usize) {
        let Node { coming, arrived, .. } = &mut self.0[node];
        let count = count.min(coming[lane].len());
        arrived[lane].extend(coming[lane].drain(..count));
    }

    /// Records which counts of a message are stale.
    fn note(&mut self, node: usize, message: &Message, kinds: &[usize]) {
        for kind in kinds {
            let is_stale = self.sent(node, *kind) - message.truth[*kind] >= WRAP;
            self.0[node].stale[*kind] += u64::from(is_stale);
        }
    }

    /// Takes the first packet of a network, if the node may: it takes no request while it owes a
    /// reply.
    fn take(&mut self, node: usize, network: usize) -> bool {
        if network == REQUEST && self.0[node].replies > 0 {
            return false;
        }
        let Some(message) = self.0[node].arrived[network].pop_front() else { return false };
        self.note(node, &message, &[REQUEST, REPLY]);
        self.0[node].replies += message.replies;
        if self.0[node].credits.took_packet(network, 1 - node, message.counts) {
            self.pay(node);
        }
        self.check();
        true
    }

    /// Takes all puts and credits.
    fn poll(&mut self, node: usize) -> bool {
        let mut any = false;
        while let Some(message) = self.0[node].arrived[PUT].pop_front() {
            any = true;
            self.note(node, &message, &LANES);
            self.0[node].credits.learn(1 - node, message.told);
            if message.is_put && self.0[node].credits.took_put(1 - node) {
                self.pay(node);
            }
            self.check();
        }
        self.pay(node);
        any
    }

    fn reply(&mut self, node: usize) -> bool {
        let mut any = false;
        while self.0[node].replies > 0 && self.try_send(node, REPLY, 0) {
            self.0[node].replies -= 1;
            any = true;
        }
        any
    }

    /// Sends `count` messages of a kind, each of which the other node takes at once. Packets for
    /// the sender stay in flight. Ends early if there is no room.
    fn stream(&mut self, node: usize, kind: usize, count: u64) {
        let to = 1 - node;
        for _ in 0..count {
            if !self.try_send(node, kind, 0) {
                self.arrive(node, PUT, usize::MAX);
                self.poll(node);
                if !self.try_send(node, kind, 0) {
                    return;
                }
            }
            self.arrive(to, kind, usize::MAX);
            if kind == PUT {
                self.poll(to);
            } else {
                while self.take(to, kind) {}
            }
        }
    }

    /// The number of messages that a node must send until the oldest count in flight to it is stale
    /// by `over`.
    fn until_stale(&self, node: usize, kind: usize, over: u64) -> u64 {
        let Node { coming, arrived, .. } = &self.0[node];
        let packets = [REQUEST, REPLY].into_iter().flat_map(|lane| arrived[lane].iter().chain(&coming[lane]));
        let oldest = packets.map(|message| message.truth[kind]).min();
        oldest.map_or(0, |oldest| (oldest + WRAP + over).saturating_sub(self.sent(node, kind)))
    }

    fn check(&mut self) {
        for node in [0, 1] {
            for (kind, limit) in LIMITS.into_iter().enumerate() {
                let known = self.0[node].credits.peers[1 - node].in_flight(kind);
                // A count above the number sent would have wrapped to a very large one.
                assert!(known <= limit, "node {node}, kind {kind}: {known} in flight");
                let truly = self.in_flight(node, kind);
                if u64::from(known) >= truly {
                    self.0[node].stale[kind] = 0;
                }
                let most = u64::from(limit) * (1 + self.0[node].stale[kind]);
                assert!(truly <= most, "node {node}, kind {kind}: {truly} of {most} on their way");
            }
        }
    }

    /// Both nodes poll, and send these `wanted` messages: all must get through.
    fn finish(&mut self, mut wanted: [[u32; 3]; 2]) {
        (self.0[0].mute, self.0[1].mute) = (false, false);
        loop {
            let mut any = false;
            for node in [0, 1] {
                LANES.into_iter().for_each(|lane| self.arrive(node, lane, usize::MAX));
                any |= self.poll(node);
                any |= self.reply(node);
                for kind in LANES {
                    // A node that waits for room for a reply sends nothing else.
                    while self.0[node].replies == 0
                        && wanted[node][kind] > 0
                        && self.try_send(node, kind, u32::from(kind == REQUEST))
                    {
                        wanted[node][kind] -= 1;
                        any = true;
                    }
                }
                while self.take(node, REPLY) || self.take(node, REQUEST) {
                    any = true;
                }
            }
            if !any {
                break;
            }
        }
        let [first, second] = [0, 1].map(|node: usize| self.0[node].credits.traffic());
        assert_eq!((first.0, first.1), (second.1, second.0), "sent here and received there");
        for node in [0, 1] {
            let Node { coming, arrived, replies, credits, .. } = &self.0[node];
            assert!(coming.iter().chain(arrived).all(VecDeque::is_empty), "node {node} takes no more");
            assert_eq!((*replies, wanted[node]), (0, [0; 3]), "node {node} cannot send");
            let peer = &credits.peers[1 - node];
            for (kind, limit) in LIMITS.into_iter().enumerate() {
                assert_eq!(self.in_flight(node, kind), 0);
                assert!(peer.in_flight(kind) < limit / 2, "node {node}, kind {kind}: credits are lost");
            }
        }
    }
}

/// A random event at one of the nodes.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// It sends as many messages as there is room for, each request with this number of replies.
    Send { kind: usize, count: u32, replies: u32 },
    /// Messages for it arrive on a lane.
    Arrive { lane: usize, count: usize },
    /// It takes packets of a network.
    Take { network: usize, count: u32 },
    /// It takes puts and credits, and sends the replies and credits that it owes.
    Turn,
    /// Sets whether it has no room for credits.
    Mute(bool),
    /// It sends many messages, each of which the other node takes at once.
    Stream { kind: usize, count: u64 },
    /// As `Stream`, until its unread messages are stale by this number.
    Outdate { kind: usize, over: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        60 => (0..3usize, 1..12u32, 0..3u32).prop_map(|(kind, count, replies)| {
            Event::Send { kind, count, replies: if kind == REQUEST { replies } else { 0 } }
        }),
        60 => (0..3usize, 1..12usize).prop_map(|(lane, count)| Event::Arrive { lane, count }),
        60 => (0..2usize, 1..12u32).prop_map(|(network, count)| Event::Take { network, count }),
        40 => Just(Event::Turn),
        10 => any::<bool>().prop_map(Event::Mute),
        1 => (0..3usize, 20_000..70_000u64).prop_map(|(kind, count)| Event::Stream { kind, count }),
        2 => (0..2usize, 0..24u64).prop_map(|(kind, over)| Event::Outdate { kind, over }),
    ]
}

fn happens(pair: &mut Pair, node: usize, event: Event) {
    match event {
        Event::Send { kind, count, replies } => {
            for _ in 0..count {
                // A node that owes a reply sends nothing else.
                if pair.0[node].replies > 0 || !pair.try_send(node, kind, replies) {
                    break;
                }
            }
        }
        Event::Arrive { lane, count } => pair.arrive(node, lane, count),
        Event::Take { network, count } => {
            for _ in 0..count {
                pair.take(node, network);
            }
        }
        Event::Turn => {
            pair.poll(node);
            pair.reply(node);
        }
        Event::Mute(mute) => pair.0[node].mute = mute,
        Event::Stream { kind, count } => pair.stream(node, kind, count),
        Event::Outdate { kind, over } => pair.stream(node, kind, pair.until_stale(node, kind, over)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Lanes delay and overtake each other, nodes lose turns, counts wrap and replies find no room.
    #[test]
    fn the_limit_holds_and_all_get_through(
        // Before, at and after a count wraps.
        start in prop_oneof![Just(0), WRAP - 30..WRAP + 2, Just(5 * WRAP / 2)],
        events in proptest::collection::vec((0..2usize, event()), 0..150),
        wanted in any::<[[u8; 3]; 2]>(),
    ) {
        let mut pair = Pair::new(start);
        for (node, event) in events {
            happens(&mut pair, node, event);
        }
        pair.finish(wanted.map(|of_node| of_node.map(u32::from)));
    }
}

/// At least half of 2^16 packets are sent while a packet with a count waits: the count must be
/// recognized as old.
#[test]
fn a_count_that_waited_long_is_old() {
    for count in [1 << 15, 40_000, WRAP - 9] {
        let mut pair = Pair::new(0);
        assert!(pair.try_send(1, REQUEST, 0));
        pair.stream(0, REPLY, count);
        assert_eq!(pair.sent(0, REPLY), count);
        pair.finish([[100; 3]; 2]);
    }
}

/// Node 1 has taken all replies and reported it by requests, which node 0 does not take while it
/// owes a reply.
#[test]
fn replies_taken_are_not_told_by_requests_alone() {
    let mut pair = Pair::new(0);
    assert!(pair.try_send(1, REQUEST, 1));
    for _ in 0..LIMITS[REPLY] {
        assert!(pair.try_send(0, REPLY, 0));
        pair.arrive(1, REPLY, 1);
        assert!(pair.take(1, REPLY));
        // Fails if credits for requests are used up.
        pair.try_send(1, REQUEST, 1);
    }
    pair.arrive(0, REQUEST, 1);
    assert!(pair.take(0, REQUEST));
    pair.finish([[0; 3]; 2]);
}

/// Each stale count may admit up to a limit more, as the bound states.
#[test]
fn stale_counts_add_up() {
    let mut pair = Pair::new(0);
    let (limit, requests) = (u64::from(LIMITS[REPLY]), u64::from(LIMITS[REQUEST]));
    for _ in 0..requests {
        pair.stream(0, REPLY, limit);
        assert!(pair.try_send(1, REQUEST, 0));
    }
    pair.stream(0, REPLY, WRAP - requests * limit);
    pair.arrive(0, PUT, usize::MAX);
    pair.poll(0);
    pair.arrive(0, REQUEST, usize::MAX);
    for stale in 0..=requests {
        while pair.try_send(0, REPLY, 0) {}
        assert_eq!(pair.in_flight(0, REPLY), (1 + stale) * limit);
        pair.take(0, REQUEST);
    }
    pair.finish([[100; 3]; 2]);
}

/// A separate message carries counts only if no other message does in time.
#[test]
fn counts_ride_on_messages() {
    for (kind, limit) in LIMITS.into_iter().enumerate() {
        let (mut one_way, mut both_ways) = (Pair::new(0), Pair::new(0));
        one_way.stream(0, kind, 100 * u64::from(limit));
        assert_eq!([one_way.0[0].tells, one_way.0[1].tells], [0, 200]);
        for _ in 0..100 {
            both_ways.stream(0, kind, 1);
            both_ways.stream(1, kind, 1);
        }
        assert_eq!([both_ways.0[0].tells, both_ways.0[1].tells], [0, 0]);
    }
}
