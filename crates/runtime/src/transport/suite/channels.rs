//! The transport of the reference's packets: nodes are threads, and packets go through bounded
//! channels of the standard library.

use super::over_packets::Transport;
use crate::error::Error;
use crate::transport::{Failure, Network, Networks, Packet, Stop, panic_text};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Packets queued at a node on one network.
const ROOM: usize = 64;

/// The failure that ends a job.
#[derive(Default)]
struct End {
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl End {
    /// Records the first failure.
    fn record(&self, failure: Failure) {
        self.failure.lock().unwrap().get_or_insert(failure);
        self.failed.store(true, Ordering::Release);
    }
}

/// One node's channels, by network.
pub(super) struct Channels {
    rank: usize,
    senders: Arc<[[SyncSender<Packet>; 2]]>,
    receivers: [Receiver<Packet>; 2],
    end: Arc<End>,
}

impl Channels {
    fn unwind_if_failed(&self) {
        if self.end.failed.load(Ordering::Acquire) {
            resume_unwind(Box::new(Stop));
        }
    }
}

impl Transport for Channels {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.senders.len()
    }

    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool {
        let mut packet = *packet;
        packet.from = self.rank as u32;
        !matches!(self.senders[to][network as usize].try_send(packet), Err(TrySendError::Full(_)))
    }

    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool {
        match self.receivers[network as usize].try_recv() {
            Ok(received) => *packet = received,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                self.unwind_if_failed();
                return false;
            }
        }
        true
    }

    fn pause(&mut self, _: Networks) {
        self.unwind_if_failed();
        thread::sleep(Duration::from_micros(20));
    }

    fn fail(&mut self, failure: Failure) -> ! {
        self.end.record(failure);
        resume_unwind(Box::new(Stop));
    }
}

/// Runs a program on every node.
pub(super) fn run(nodes: usize, program: impl Fn(Channels) + Sync) -> Result<(), Error> {
    let end = Arc::new(End::default());
    let channels = (0..nodes).map(|_| {
        let [(s0, r0), (s1, r1)] = [sync_channel(ROOM), sync_channel(ROOM)];
        ([s0, s1], [r0, r1])
    });
    let (senders, receivers): (Vec<_>, Vec<_>) = channels.unzip();
    let senders: Arc<[_]> = senders.into();
    thread::scope(|scope| {
        for (rank, receivers) in receivers.into_iter().enumerate() {
            let (program, end) = (&program, &end);
            let node = Channels { rank, senders: Arc::clone(&senders), receivers, end: Arc::clone(end) };
            scope.spawn(move || {
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| program(node)))
                    && !payload.is::<Stop>()
                {
                    end.record(Failure { rank, message: format!("panicked: {}", panic_text(&*payload)) });
                }
            });
        }
    });
    let failure = end.failure.lock().unwrap().take();
    failure.map_or(Ok(()), |Failure { rank, message }| Err(Error::Node { rank, message }))
}
