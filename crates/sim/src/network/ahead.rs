//! Loads ahead of events.
//!
//! In a large network every event is at another place, and its loads miss the caches one after the
//! other, because each depends on the one before. The next events are known. What they will load is
//! loaded for many of them together, one step of the way after the other, so that the misses of a
//! step overlap (Chen, Ailamaki, Gibbons, Mowry, *Improving Hash Join Performance through
//! Prefetching*, 2004: group prefetching).

use super::events::{Event, EventKind, SHORT};
use super::fifo::NONE;
use super::{Network, Packet};
use crate::topology::Hop;

/// Smaller networks' links fit a core's cache.
const LARGE: usize = 1 << 14;

impl<T> Network<T> {
    /// In a large network the next events, each once; else none.
    fn batch(&self) -> &[Event] {
        if self.links.len() < LARGE { &[] } else { self.events.batch() }
    }

    /// Loads what the next events concern.
    pub(super) fn load_ahead(&self) {
        let batch = self.batch();
        if batch.is_empty() {
            return;
        }
        let link = |number: u32| &self.links[number as usize];
        // Its queue; for a woken node, which may send, its link.
        let first = |event: &Event| match event.kind() {
            EventKind::Wake => link(event.id()).class,
            EventKind::Place => event.id(),
            EventKind::Free => link(event.id()).serving,
            EventKind::Head => self.packets[event.id() as usize].fifo,
        };
        let fifo = |number: u32| self.fifos.get(number as usize);
        let mut sum = batch.iter().fold(0, |sum, event| sum ^ first(event));
        sum = batch.iter().fold(sum, |sum, event| sum ^ fifo(first(event)).map_or(0, |fifo| fifo.at));
        // Where heads go on: a link, and a queue at its far end.
        let next = |event: &&Event| {
            let packet = &self.packets[event.id() as usize];
            let at = fifo(packet.fifo).map(|fifo| fifo.at).filter(|at| *at != NONE)?;
            let Hop { link, lane, .. } = self.hop(at, packet);
            Some((link, lane + packet.channel * self.channel_stride))
        };
        let mut places = [None; SHORT];
        let heads = batch.iter().filter(|event| event.kind() == EventKind::Head);
        places.iter_mut().zip(heads).for_each(|(place, head)| *place = next(&head));
        let places = || places.iter().flatten();
        sum = places().fold(sum, |sum, (number, _)| sum ^ link(*number).first_fifo);
        let far = |number, queue| fifo(link(number).first_fifo + queue).map_or(0, |fifo| fifo.room);
        std::hint::black_box(places().fold(sum, |sum, (number, queue)| sum ^ far(*number, *queue)));
    }

    /// In a large network the nodes that the next events concern, once for many events, else none:
    /// for callers that load what they keep for each node.
    pub fn upcoming(&self) -> impl Iterator<Item = usize> {
        self.batch().iter().filter_map(|event| match event.kind() {
            EventKind::Wake => Some(event.id() as usize),
            EventKind::Head => {
                let Packet { to, fifo, .. } = self.packets[event.id() as usize];
                (self.fifos[fifo as usize].at == NONE).then_some(to as usize)
            }
            EventKind::Free | EventKind::Place => None,
        })
    }
}
