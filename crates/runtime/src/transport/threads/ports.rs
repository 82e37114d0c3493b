//! Ports: memory of a node into which any node writes.
//!
//! A put copies directly to the final place; no code of the receiver's program runs. While a piece
//! is copied its writer holds the port's lock, so two writers never write the same memory at once,
//! and closing a port waits for at most one piece. Arrivals are counted at the port, and two levels
//! of bits lead to the ports with arrivals: a query without arrivals is one read.

#![allow(unsafe_code, reason = "copies into memory that the port's lock guards")]

use super::loan::Loan;
use super::sync::{
    AtomicU32, AtomicU64, AtomicUsize, Ordering, UNDER_LOOM, UnsafeCell, spin_loop, yield_now,
};
use crate::block::RawBlock;
use crate::transport;
use std::array;
use std::sync::OnceLock;

/// The most bytes copied under a port's lock: some microseconds.
const PIECE: usize = if UNDER_LOOM { 8 } else { 64 << 10 };
/// The ports of a node; under loom, few, because each execution of a model creates them anew.
const PORTS: usize = if UNDER_LOOM { 4 } else { transport::PORTS };
/// Ports that are allocated together, and share a word of bits.
const GROUP: usize = if UNDER_LOOM { 2 } else { 64 };
/// Spins before a writer that waits for a lock yields its core.
const SPINS: u32 = if UNDER_LOOM { 0 } else { 100 };

const CLOSED: u32 = 0;
const OPEN: u32 = 1;
const LOCKED: u32 = 2;

/// Why a put was rejected.
pub(super) enum Refusal {
    NotOpen,
    /// The port has only this many bytes.
    Short(usize),
}

#[repr(align(64))]
struct Port {
    state: AtomicU32,
    /// Number of arrived bytes not yet reported.
    arrived: AtomicUsize,
    memory: UnsafeCell<Option<Loan>>,
}

struct Group {
    /// A bit for each port with arrivals.
    news: AtomicU64,
    ports: [Port; GROUP],
}

/// The ports of one node.
#[repr(align(128))]
pub(super) struct Ports {
    /// A bit for each group with arrivals.
    news: AtomicU64,
    groups: [OnceLock<Box<Group>>; PORTS / GROUP],
}

// SAFETY: the memory of a port is accessed only by the thread that set its state to `LOCKED`
// (acquire), or by the owner while it is `CLOSED`; access is passed on by a release store of the
// state.
unsafe impl Sync for Port {}

impl Port {
    fn new() -> Self {
        Self { state: AtomicU32::new(CLOSED), arrived: AtomicUsize::new(0), memory: UnsafeCell::new(None) }
    }

    /// Locks the port; false if it is closed. The holder of the lock copies one piece and does not
    /// unwind.
    fn lock(&self) -> bool {
        let mut spins = 0;
        loop {
            match self.state.compare_exchange_weak(OPEN, LOCKED, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(CLOSED) => return false,
                Err(_) if spins < SPINS => {
                    spins += 1;
                    spin_loop();
                }
                Err(_) => yield_now(),
            }
        }
    }

    /// Copies `piece` by `copy`, which does not panic, to `offset`, where the port has at least
    /// `end` bytes.
    fn write(
        &self,
        offset: usize,
        piece: &[u8],
        end: Option<usize>,
        copy: impl Fn(&mut [u8], &[u8]),
    ) -> Result<(), Refusal> {
        if !self.lock() {
            return Err(Refusal::NotOpen);
        }
        // SAFETY: this thread holds the lock, so the memory exists and no other thread accesses its
        // bytes; `piece` is not part of them, as they belong to no program until the port is
        // closed. `end` was checked.
        let written = self.memory.with_mut(|memory| unsafe {
            match (*memory).as_ref().map(|loan| (loan.address(), loan.bytes())) {
                Some((address, bytes)) if end.is_some_and(|end| end <= bytes) => {
                    let place = std::slice::from_raw_parts_mut(address.add(offset), piece.len());
                    copy(place, piece);
                    self.arrived.fetch_add(piece.len(), Ordering::Release);
                    Ok(())
                }
                Some((_, bytes)) => Err(Refusal::Short(bytes)),
                None => Err(Refusal::NotOpen),
            }
        });
        self.state.store(OPEN, Ordering::Release);
        written
    }
}

impl Ports {
    pub(super) fn new() -> Self {
        Self { news: AtomicU64::new(0), groups: array::from_fn(|_| OnceLock::new()) }
    }

    /// Opens a port; returns the memory if there is no such port or it is open. Called by the
    /// owner.
    pub(super) fn open(&self, port: usize, memory: RawBlock) -> Result<(), RawBlock> {
        let Some(group) = self.groups.get(port / GROUP) else { return Err(memory) };
        let group = group.get_or_init(|| {
            Box::new(Group { news: AtomicU64::new(0), ports: array::from_fn(|_| Port::new()) })
        });
        let port = &group.ports[port % GROUP];
        if port.state.load(Ordering::Acquire) != CLOSED {
            return Err(memory);
        }
        // SAFETY: the port is closed, so no writer accesses it, and the owner is the caller.
        port.memory.with_mut(|place| unsafe { *place = Some(Loan::new(memory)) });
        port.arrived.store(0, Ordering::Relaxed);
        port.state.store(OPEN, Ordering::Release);
        Ok(())
    }

    /// Closes a port, after any piece that is being written. Called by the owner.
    pub(super) fn close(&self, port: usize) -> Option<RawBlock> {
        let port = self.port(port)?;
        if !port.lock() {
            return None;
        }
        // SAFETY: this thread holds the lock; once the memory is removed from the port no thread
        // accesses it.
        let memory = port.memory.with_mut(|place| unsafe { (*place).take().map(|loan| loan.end()) });
        port.state.store(CLOSED, Ordering::Release);
        memory
    }

    /// Writes `bytes` at `offset` of a port by a `copy` that does not panic, and calls `told` at the
    /// end, when there is an arrival to report.
    pub(super) fn put(
        &self,
        port: usize,
        offset: usize,
        bytes: &[u8],
        told: impl Fn(),
        copy: impl Fn(&mut [u8], &[u8]),
    ) -> Result<(), Refusal> {
        let number = port;
        let port = self.port(port).ok_or(Refusal::NotOpen)?;
        let end = offset.checked_add(bytes.len());
        if bytes.is_empty() {
            return port.write(offset, bytes, end, copy);
        }
        let mut at = offset;
        for piece in bytes.chunks(PIECE) {
            port.write(at, piece, end, &copy)?;
            at += piece.len();
            self.report(number);
        }
        // Once for each put: waking a sleeper costs as much as copying a piece. A node that polls
        // sees every piece.
        told();
        Ok(())
    }

    /// Sets the bits that lead to a port: its own first, so that its group's bit is never set too
    /// early.
    fn report(&self, port: usize) {
        if let Some(group) = self.groups.get(port / GROUP).and_then(OnceLock::get) {
            group.news.fetch_or(1 << (port % GROUP), Ordering::Release);
            self.news.fetch_or(1 << (port / GROUP), Ordering::Release);
        }
    }

    /// True if bytes may have arrived that were not reported. Called by the owner.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed) != 0
    }

    /// Reports the port and the number of bytes of all arrivals since the last call. Called by the
    /// owner.
    pub(super) fn arrivals(&self, report: &mut dyn FnMut(usize, usize)) {
        for group in bits(self.news.swap(0, Ordering::Acquire)) {
            let Some(ports) = self.groups[group].get() else { continue };
            for port in bits(ports.news.swap(0, Ordering::Acquire)) {
                let arrived = ports.ports[port].arrived.swap(0, Ordering::Acquire);
                if arrived > 0 && ports.ports[port].state.load(Ordering::Relaxed) != CLOSED {
                    report(group * GROUP + port, arrived);
                }
            }
        }
    }

    fn port(&self, port: usize) -> Option<&Port> {
        self.groups.get(port / GROUP)?.get().map(|group| &group.ports[port % GROUP])
    }
}

/// The indices of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::transport::threads::explore::{Seen, explore};
    use loom::thread::{JoinHandle, yield_now};
    use std::sync::Arc;

    const REPORTS: &str = "reports while a writer lives";

    /// Ports of which these are open, with `bytes` bytes each. They are opened before the writers
    /// begin, because loom does not know the order established by `OnceLock`.
    fn open(ports: &[usize], bytes: usize) -> Arc<Ports> {
        let opened = Arc::new(Ports::new());
        ports.iter().for_each(|port| assert!(opened.open(*port, RawBlock::zeroed(bytes)).is_ok()));
        opened
    }

    /// A thread that puts these bytes; its result is true if the port was open.
    fn writer(
        seen: &Arc<Seen>,
        ports: &Arc<Ports>,
        port: usize,
        offset: usize,
        bytes: &'static [u8],
    ) -> JoinHandle<bool> {
        let ports = Arc::clone(ports);
        seen.spawn(move || ports.put(port, offset, bytes, || {}, <[u8]>::copy_from_slice).is_ok())
    }

    /// Adds the arrived bytes of each port; returns true if there were any.
    fn look(ports: &Ports, arrived: &mut [usize]) -> bool {
        let mut found = false;
        if ports.has_news() {
            ports.arrivals(&mut |port, bytes| {
                arrived[port] += bytes;
                found = true;
            });
        }
        found
    }

    fn closed(ports: &Ports, port: usize) -> Option<Vec<u8>> {
        ports.close(port).map(|memory| memory.as_bytes().to_vec())
    }

    #[test]
    fn loom_each_byte_of_two_writers_is_reported_once() {
        explore(Some(3), REPORTS, |seen| {
            let ports = open(&[0], 2);
            let writers = [writer(seen, &ports, 0, 0, &[7]), writer(seen, &ports, 0, 1, &[8])];
            let mut arrived = [0];
            yield_now();
            if look(&ports, &mut arrived) {
                seen.event();
            }
            writers.into_iter().for_each(|writer| assert!(writer.join().unwrap()));
            look(&ports, &mut arrived);
            assert_eq!(arrived, [2]);
            assert_eq!(closed(&ports, 0).unwrap(), [7, 8]);
        });
    }

    #[test]
    fn loom_arrivals_in_two_groups_are_all_found() {
        explore(Some(3), REPORTS, |seen| {
            let ports = open(&[1, 2], 1);
            let writers = [writer(seen, &ports, 1, 0, &[7]), writer(seen, &ports, 2, 0, &[8])];
            let mut arrived = [0; 3];
            yield_now();
            if look(&ports, &mut arrived) {
                seen.event();
            }
            writers.into_iter().for_each(|writer| assert!(writer.join().unwrap()));
            look(&ports, &mut arrived);
            assert_eq!(arrived, [0, 1, 1]);
        });
    }

    #[test]
    fn loom_each_piece_of_a_long_put_is_reported_once() {
        explore(None, REPORTS, |seen| {
            let ports = open(&[0], 2 * PIECE);
            let writer = writer(seen, &ports, 0, 0, &[7; 2 * PIECE]);
            let mut arrived = [0];
            for _ in 0..2 {
                yield_now();
                if look(&ports, &mut arrived) {
                    seen.event();
                }
            }
            assert!(writer.join().unwrap());
            look(&ports, &mut arrived);
            assert_eq!(arrived, [2 * PIECE]);
        });
    }

    /// Bytes are reported for the memory that has them, and for no other.
    #[test]
    fn loom_a_port_is_closed_and_opened_again_during_a_put() {
        explore(None, "ports closed between the bytes and their report", |seen| {
            let ports = open(&[0], 1);
            let writer = writer(seen, &ports, 0, 0, &[7]);
            yield_now();
            let first = closed(&ports, 0).unwrap();
            if first == [7] {
                seen.event();
            }
            assert!(ports.open(0, RawBlock::zeroed(1)).is_ok());
            let mut arrived = [0];
            yield_now();
            look(&ports, &mut arrived);
            let came = writer.join().unwrap();
            look(&ports, &mut arrived);
            let second = closed(&ports, 0).unwrap();
            assert_eq!(came, first == [7] || second == [7]);
            assert_eq!(arrived, [usize::from(second == [7])]);
        });
    }
}
