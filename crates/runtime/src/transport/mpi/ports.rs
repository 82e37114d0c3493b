//! Ports: memory into which other nodes put, and the counts of arrived bytes.

use super::ffi::World;
use super::ffi::region::{Receive, Region, pieces};
use crate::block::RawBlock;
use crate::transport::PORTS;

/// An open port.
struct Port {
    region: Region,
    /// Number of arrived bytes that were not reported.
    arrived: usize,
}

/// A piece of a long put in flight into a port.
struct Coming {
    receive: Receive,
    from: usize,
    port: usize,
    /// Its bytes, and those of later puts by the same node to the same port, which count when this
    /// piece has arrived.
    bytes: usize,
}

/// All ports of a node.
pub(super) struct Ports {
    world: &'static World,
    /// The ports by number, up to the highest ever opened.
    ports: Vec<Option<Port>>,
    /// The number of open ports.
    open: usize,
    /// Ports with arrivals to report.
    news: Vec<usize>,
    /// Pieces in flight, in the order of their puts.
    coming: Vec<Coming>,
}

impl Ports {
    pub(super) fn new(world: &'static World) -> Self {
        let coming = Vec::with_capacity(world.size());
        Self { world, ports: Vec::new(), open: 0, news: Vec::with_capacity(16), coming }
    }

    pub(super) fn open(&mut self, port: usize, memory: RawBlock) {
        assert!(port < PORTS, "port {port}: there are {PORTS}");
        if self.ports.len() <= port {
            self.ports.resize_with(port + 1, || None);
        }
        let before = self.ports[port].replace(Port { region: Region::new(memory), arrived: 0 });
        self.open += usize::from(before.is_none());
    }

    /// Closes a port; no put into it may be in flight.
    pub(super) fn close(&mut self, port: usize) -> Option<RawBlock> {
        let port = self.ports.get_mut(port)?.take()?;
        self.open -= 1;
        port.region.into_block()
    }

    /// True if any port is open.
    pub(super) fn are_open(&self) -> bool {
        self.open > 0
    }

    /// True if a put into this port is in flight.
    pub(super) fn is_expecting(&self, port: usize) -> bool {
        self.ports.get(port).and_then(Option::as_ref).is_some_and(|port| !port.region.is_quiet())
    }

    /// True if no put is in flight into any port.
    pub(super) fn are_quiet(&self) -> bool {
        self.coming.is_empty()
    }

    /// The port into which node `from` writes; ends the job unless it is open and long enough.
    fn checked(&mut self, from: usize, port: usize, offset: usize, length: usize) -> &mut Port {
        let (world, rank) = (self.world, self.world.rank());
        let put = || format!("put {length} bytes at {offset} into port {port} of node {rank}, which");
        match self.ports.get_mut(port).and_then(Option::as_mut) {
            None => world.die(from, format_args!("{} is not open", put())),
            Some(found) => {
                let end = found.region.len();
                if offset.checked_add(length).is_none_or(|last| last > end) {
                    world.die(from, format_args!("{} has {end} bytes", put()));
                }
                found
            }
        }
    }

    /// Handles a put of node `from` with its data.
    pub(super) fn write(&mut self, from: usize, port: usize, offset: usize, bytes: &[u8]) {
        self.checked(from, port, offset, bytes.len()).region.write(offset, bytes);
        self.count(from, port, bytes.len(), self.coming.len());
    }

    /// Counts bytes, after the `before` pieces that the same node puts into the same port have
    /// arrived.
    fn count(&mut self, from: usize, port: usize, bytes: usize, before: usize) {
        let mut earlier = self.coming[..before].iter_mut().rev();
        if let Some(earlier) = earlier.find(|coming| coming.from == from && coming.port == port) {
            earlier.bytes += bytes;
        } else if let Some(found) = self.ports.get_mut(port).and_then(Option::as_mut) {
            if found.arrived == 0 && bytes > 0 {
                self.news.push(port);
            }
            found.arrived += bytes;
        }
    }

    /// Handles a put of node `from` whose data follow separately.
    pub(super) fn expect(&mut self, from: usize, port: usize, offset: usize, length: usize) {
        let world = self.world;
        for (start, bytes) in pieces(length) {
            let region = &mut self.checked(from, port, offset, length).region;
            let receive = region.receive(world, from, offset + start, bytes);
            self.coming.push(Coming { receive, from, port, bytes });
        }
    }

    /// Records completed pieces; returns true if there were any.
    #[inline]
    pub(super) fn receive(&mut self) -> bool {
        let mut any = false;
        let mut index = 0;
        while index < self.coming.len() {
            let Coming { receive, from, port, bytes } = &mut self.coming[index];
            let (from, number, bytes) = (*from, *port, *bytes);
            let port = self.ports.get_mut(number).and_then(Option::as_mut);
            if port.is_none_or(|port| port.region.has(self.world, receive)) {
                self.coming.remove(index);
                self.count(from, number, bytes, index);
                any = true;
            } else {
                index += 1;
            }
        }
        any
    }

    /// True if there are arrivals to report.
    pub(super) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Reports arrivals, port by port.
    pub(super) fn report(&mut self, report: &mut dyn FnMut(usize, usize)) {
        for number in self.news.drain(..) {
            if let Some(port) = self.ports.get_mut(number).and_then(Option::as_mut) {
                let arrived = std::mem::take(&mut port.arrived);
                if arrived > 0 {
                    report(number, arrived);
                }
            }
        }
    }
}
