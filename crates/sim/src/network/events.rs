//! Future events, ordered by time.

use crate::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    /// A requested wake of a node.
    Wake = 0,
    /// A packet's tail has left the queue before the link.
    Free = 1,
    /// A packet has reached the queue at the far end: its head, or all of it if it cannot continue
    /// before.
    Head = 2,
    /// A place in a receive queue is free.
    Place = 3,
}

/// An event: its time and kind, and the node, link or packet concerned. Two words, because the
/// compiler passes those in registers: an event that is stored in three pieces and loaded in one
/// waits for the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) time: Time,
    /// The kind, and 32 bits that say whom it concerns.
    what: u64,
}

impl Event {
    fn new(time: Time, kind: EventKind, id: u32) -> Self {
        Self { time, what: (kind as u64) << 32 | u64::from(id) }
    }

    /// The node, link, packet or queue.
    pub(super) fn id(self) -> u32 {
        self.what as u32
    }

    pub(super) fn kind(self) -> EventKind {
        match self.what >> 32 {
            0 => EventKind::Wake,
            1 => EventKind::Free,
            2 => EventKind::Head,
            _ => EventKind::Place,
        }
    }

    pub(super) fn word(self) -> u64 {
        self.what
    }
}

/// Bits of a digit of a time.
const DIGIT: u32 = 4;

/// Digits of a time.
const LEVELS: usize = (u64::BITS / DIGIT) as usize;

/// Values of a digit.
const DIGITS: usize = 1 << DIGIT;

/// A bucket of so many events is sorted; so many are a [batch](Events::batch).
pub(super) const SHORT: usize = 32;

/// An event is sorted in before so many others.
const MOST_LATER: usize = 48;

/// The future events: the earliest first, those of equal time in the order pushed.
///
/// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, *Faster Algorithms for the Shortest Path Problem*,
/// 1990) of two levels, digits and their values, before which the next few events are sorted. It
/// requires that no event is pushed for a time before that of the last one taken. The events before
/// the time `last` and at it are in `front`. The others are in the bucket of the highest digit in
/// which they differ from `last`, and of the value of that digit. When `front` is empty, the lowest
/// bucket is sorted into it if it is short; otherwise its events go to lower ones. Events of equal
/// time are always in one place, in the order pushed. They are consecutive in memory and need no
/// sequence number.
#[derive(Debug)]
pub(super) struct Events {
    /// The next events, sorted, those taken included.
    front: Vec<Event>,
    /// Events of `front` that have been taken.
    taken: usize,
    last: Time,
    /// Bit `l` is set if a bucket of level `l` has events.
    levels: u32,
    /// For each level, the buckets that have events, as bits.
    occupied: [u16; LEVELS],
    buckets: Vec<Bucket>,
    /// Memory of empty buckets, which have none: the last used is the likeliest to be in a cache.
    spare: Vec<Vec<Event>>,
}

#[derive(Debug)]
struct Bucket {
    events: Vec<Event>,
    /// The earliest of their times, if there are any.
    least: Time,
}

impl Default for Events {
    fn default() -> Self {
        let empty = || Bucket { events: Vec::new(), least: Time::NEVER };
        Self {
            front: Vec::new(),
            taken: 0,
            last: Time::ZERO,
            levels: 0,
            occupied: [0; LEVELS],
            buckets: (0..LEVELS * DIGITS).map(|_| empty()).collect(),
            spare: Vec::new(),
        }
    }
}

/// The highest digit in which two times differ.
fn level(one: Time, other: Time) -> usize {
    ((one.0 ^ other.0).ilog2() / DIGIT) as usize
}

impl Events {
    /// `time` must not be before that of the last event taken.
    pub(super) fn push(&mut self, time: Time, kind: EventKind, id: u32) {
        let event = Event::new(time, kind, id);
        if time > self.last {
            self.insert(event);
            return;
        }
        if self.taken > MOST_LATER && self.taken > self.front.len() / 2 {
            self.front.drain(..self.taken);
            self.taken = 0;
        }
        let later = self.front[self.taken..].iter().rev().take_while(|other| other.time > time).count();
        let at = self.front.len() - later;
        if later > MOST_LATER {
            // The later ones are no longer among the next few. The events in buckets that agreed with
            // `last` in the highest digit that changes no longer do.
            let digit = level(time, self.last);
            let mut moved = self.spare.pop().unwrap_or_default();
            while (self.levels.trailing_zeros() as usize) < digit {
                let Some((_, _, mut events)) = self.take_lowest() else { break };
                moved.append(&mut events);
                self.spare.push(events);
            }
            self.last = time;
            for number in at..self.front.len() {
                self.insert(self.front[number]);
            }
            self.front.truncate(at);
            moved.drain(..).for_each(|event| self.insert(event));
            self.spare.push(moved);
        }
        self.front.insert(at, event);
    }

    fn insert(&mut self, event: Event) {
        let level = level(event.time, self.last);
        let digit = (event.time.0 >> (level as u32 * DIGIT)) as usize % DIGITS;
        self.levels |= 1 << level;
        self.occupied[level] |= 1 << digit;
        let bucket = &mut self.buckets[level * DIGITS + digit];
        if bucket.events.is_empty() {
            bucket.events = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(MOST_LATER));
            bucket.least = event.time;
        }
        bucket.least = bucket.least.min(event.time);
        bucket.events.push(event);
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.taken == self.front.len() {
            self.fill()?;
        }
        let event = self.front[self.taken];
        self.taken += 1;
        Some(event)
    }

    /// The next events, as far as they are sorted: once for all of them, else none.
    pub(super) fn batch(&self) -> &[Event] {
        match self.taken % SHORT {
            1 => &self.front[self.taken..self.front.len().min(self.taken + SHORT)],
            _ => &[],
        }
    }

    /// Moves the next events to the front.
    fn fill(&mut self) -> Option<()> {
        self.front.clear();
        self.taken = 0;
        let (level, least, mut events) = self.take_lowest()?;
        if level == 0 || events.len() <= SHORT {
            // Its times differ in the lower digits only.
            self.last = Time(least.0 | ((1 << (level as u32 * DIGIT)) - 1));
            events.sort_by_key(|event| event.time);
            self.spare.push(std::mem::replace(&mut self.front, events));
            return Some(());
        }
        self.last = least;
        for event in events.drain(..) {
            if event.time == least {
                self.front.push(event);
            } else {
                self.insert(event);
            }
        }
        self.spare.push(events);
        Some(())
    }

    /// Empties the lowest bucket that has events: its level, their earliest time, and they.
    fn take_lowest(&mut self) -> Option<(usize, Time, Vec<Event>)> {
        let (level, number) = self.lowest()?;
        self.occupied[level] &= self.occupied[level] - 1;
        if self.occupied[level] == 0 {
            self.levels &= self.levels - 1;
        }
        let bucket = &mut self.buckets[number];
        Some((level, bucket.least, std::mem::take(&mut bucket.events)))
    }

    /// The level and the number of the lowest bucket that has events.
    fn lowest(&self) -> Option<(usize, usize)> {
        let level = self.levels.trailing_zeros() as usize;
        let digit = self.occupied.get(level)?.trailing_zeros() as usize;
        Some((level, level * DIGITS + digit))
    }

    pub(super) fn next(&self) -> Option<Time> {
        if let Some(event) = self.front.get(self.taken) {
            return Some(event.time);
        }
        self.lowest().map(|(_, number)| self.buckets[number].least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is done with the queue.
    #[derive(Clone, Copy, Debug)]
    enum Call {
        /// An event so long after the last one taken.
        Push(u64),
        /// So many events from that time on, each so long after the one before.
        Burst(u64, u64, u64),
        Pop(usize),
    }

    /// Compares with a stable sort by time.
    fn check(calls: impl IntoIterator<Item = Call>) -> Result<(), TestCaseError> {
        let (mut events, mut sorted) = (Events::default(), Vec::<Event>::new());
        let (mut now, mut id) = (Time::ZERO, 0);
        let mut push = |events: &mut Events, sorted: &mut Vec<Event>, time| {
            id += 1;
            let kind = [EventKind::Wake, EventKind::Free, EventKind::Head, EventKind::Place][id as usize % 4];
            let event = Event::new(time, kind, id);
            assert_eq!((event.kind(), event.id()), (kind, id));
            events.push(time, kind, id);
            sorted.insert(sorted.partition_point(|other| other.time <= time), event);
        };
        for call in calls {
            match call {
                Call::Push(later) => push(&mut events, &mut sorted, now + Time(later)),
                Call::Burst(later, each, count) => {
                    let times = (0..count).map(|one| now + Time(later) + Time(one * each));
                    times.for_each(|time| push(&mut events, &mut sorted, time));
                }
                Call::Pop(count) => {
                    for _ in 0..count {
                        let expected = (!sorted.is_empty()).then(|| sorted.remove(0));
                        prop_assert_eq!(events.pop(), expected);
                        now = expected.map_or(now, |event| event.time);
                    }
                }
            }
            prop_assert_eq!(events.next(), sorted.first().map(|event| event.time));
        }
        for event in sorted {
            prop_assert_eq!(events.pop(), Some(event));
        }
        prop_assert_eq!(events.pop(), None);
        Ok(())
    }

    /// Bursts after a gap, then earlier ones: the next events are cut twice, while others are in
    /// buckets.
    #[test]
    fn events_before_many_others_do_not_disorder_them() {
        let bursts = [0x1000, 0x2000, 0x2000, 0x1000].map(|later| Call::Burst(later, 1, 61));
        let begin = [Call::Push(0x10000), Call::Pop(1)];
        check(begin.into_iter().chain(bursts)).unwrap();
        let nodes = (0..256).map(|node| Call::Burst(0x10000 + 37 * node, 0, 1));
        let each = (0..4000).flat_map(|_| [Call::Pop(1), Call::Push(5000), Call::Push(900)]);
        check([Call::Push(7)].into_iter().chain(nodes).chain(each)).unwrap();
    }

    /// Numbers go up in the order of time.
    #[test]
    fn a_batch_is_what_is_taken_next() {
        let mut events = Events::default();
        (0..1000).for_each(|id| events.push(Time(u64::from(id) / 50), EventKind::Wake, id));
        let mut named = 0;
        while let Some(event) = events.pop() {
            let batch = events.batch();
            assert!(batch.iter().zip(event.id() + 1..).all(|(event, id)| event.id() == id));
            named += batch.len();
        }
        // All but the first of each batch, which begins anew with each time.
        assert_eq!(named, 1000 - 2 * 20 + 20);
    }

    proptest! {
        #[test]
        fn events_come_by_time_and_then_as_pushed(
            calls in prop::collection::vec(prop_oneof![
                4 => (0..4u64).prop_map(Call::Push),
                4 => (0..1_000_000u64).prop_map(Call::Push),
                1 => any::<u32>().prop_map(|later| Call::Push(u64::from(later) << 16)),
                4 => ((0..0x10_0000u64), (0..100u64), (1..150u64))
                    .prop_map(|(later, each, count)| Call::Burst(later, each, count)),
                8 => (1..100usize).prop_map(Call::Pop),
            ], 0..200),
        ) {
            check(calls)?;
        }
    }
}
