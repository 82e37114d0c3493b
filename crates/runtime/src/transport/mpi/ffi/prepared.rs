//! Repeated messages: persistent requests, and derived datatypes.

#![allow(unsafe_code, reason = "requests read and write memory of this module, and memory lent to it")]

use super::requests::Lent;
use super::{World, bytes, count, error_of, peer};
use crate::transport::{Preparing, Repeated, RepeatedPieces, Repeating, RepeatingPieces};
use mpi::ffi;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// The tag of message number 0; tags of collectives are lower.
const FIRST_TAG: c_int = 1 << 14;

fn tag(number: usize) -> c_int {
    FIRST_TAG + count(number)
}

fn none() -> ffi::MPI_Request {
    // SAFETY: a constant that the shim initialises when it is loaded.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}

/// Requests, those of receives first, and the expected lengths of the receives.
struct Messages {
    world: &'static World,
    requests: Vec<ffi::MPI_Request>,
    statuses: Vec<ffi::MPI_Status>,
    /// The node, number and bytes of each receive.
    receives: Vec<Repeated>,
    /// The bytes of all messages.
    bytes: u64,
}

impl Messages {
    fn new(world: &'static World, receives: Vec<Repeated>, sends: &[Repeated]) -> Self {
        let all = receives.len() + sends.len();
        let bytes = receives.iter().chain(sends).map(|message| message.len as u64).sum();
        // SAFETY: plain numbers, for which zero is a valid value.
        let empty: ffi::MPI_Status = unsafe { std::mem::zeroed() };
        Self { world, requests: vec![none(); all], statuses: vec![empty; all], receives, bytes }
    }

    /// Called when they start.
    fn start(&self) {
        let [exchanges, bytes] = &self.world.prepared;
        exchanges.fetch_add(1, Relaxed);
        bytes.fetch_add(self.bytes, Relaxed);
    }

    /// True if all are complete, of messages that were started. A message whose length is not the expected one ends the job.
    fn test(&mut self) -> bool {
        let mut done: c_int = 0;
        let (all, world) = (count(self.requests.len()), self.world);
        let (requests, statuses) = (self.requests.as_mut_ptr(), self.statuses.as_mut_ptr());
        // SAFETY: as many requests and statuses as the vectors hold, each request created by this
        // module.
        let tested = attempt!(unsafe { MPI_Testall(all, requests, &mut done, statuses) });
        for (status, message) in self.statuses.iter().zip(&self.receives) {
            let mut came: c_int = 0;
            if tested.is_ok() && done != 0 {
                // SAFETY: the status of a complete receive; the count is written to a variable that
                // outlives the call.
                sure!(world, unsafe { MPI_Get_count(status, bytes(), &mut came) });
            } else if tested.is_ok() || status.MPI_ERROR == 0 {
                continue;
            }
            if usize::try_from(came) != Ok(message.len) {
                let Repeated { node, number, len } = *message;
                let length = if tested.is_ok() { format!("{came} bytes") } else { "more bytes".to_owned() };
                let reason = format_args!(
                    "sent {length} as prepared message {number} to node {}, which expects {len}",
                    world.rank
                );
                world.die(node, reason);
            }
        }
        if let Err(error) = tested {
            world.die(world.rank, error);
        }
        if done != 0 {
            let [exchanges, bytes] = &world.prepared;
            exchanges.fetch_sub(1, Relaxed);
            bytes.fetch_sub(self.bytes, Relaxed);
        }
        done != 0
    }
}

/// Messages with memory of their own. While they are in flight the memory is not accessed; if
/// dropped then, it is leaked instead of freed.
struct Persistent {
    messages: Messages,
    memory: *mut [u64],
    /// The byte range of each message in the memory.
    outgoing: Vec<Range<usize>>,
    incoming: Vec<Range<usize>>,
    started: bool,
}

impl Persistent {
    fn new(world: &'static World, sends: &[Repeated], receives: &[Repeated]) -> Self {
        let mut words = 0;
        // Each message begins at a cache line.
        let mut place = |message: &Repeated| {
            let start = 8 * words;
            words += message.len.div_ceil(64) * 8;
            start..start + message.len
        };
        let incoming: Vec<Range<usize>> = receives.iter().map(&mut place).collect();
        let outgoing: Vec<Range<usize>> = sends.iter().map(&mut place).collect();
        let memory = Box::into_raw(vec![0u64; words].into_boxed_slice());
        let messages = Messages::new(world, receives.to_vec(), sends);
        let mut this = Self { messages, memory, outgoing, incoming, started: false };
        for (index, message) in receives.iter().enumerate() {
            let (at, tag) = (this.at(&this.incoming[index]).cast(), tag(message.number));
            let (from, request) = (peer(message.node), &mut this.messages.requests[index]);
            // SAFETY: the bytes are in the memory, which lives until the request is freed, or is
            // leaked.
            sure!(world, unsafe {
                MPI_Recv_init(at, count(message.len), bytes(), from, tag, world.pairs, request)
            });
        }
        for (index, message) in sends.iter().enumerate() {
            let (at, tag) = (this.at(&this.outgoing[index]).cast_const().cast(), tag(message.number));
            let (to, request) = (peer(message.node), &mut this.messages.requests[receives.len() + index]);
            // SAFETY: as for receives.
            sure!(world, unsafe {
                MPI_Send_init(at, count(message.len), bytes(), to, tag, world.pairs, request)
            });
        }
        this
    }

    /// The address of bytes of the memory.
    fn at(&self, range: &Range<usize>) -> *mut u8 {
        assert!(range.start <= range.end && range.end <= 8 * self.memory.len());
        // SAFETY: within the allocation, by the assertion above.
        unsafe { self.memory.cast::<u8>().add(range.start) }
    }
}

impl Repeating for Persistent {
    fn outgoing(&mut self, index: usize) -> &mut [u8] {
        assert!(!self.started);
        let range = &self.outgoing[index];
        // SAFETY: `at` asserts that the bytes are in the memory; no request uses it, as none is
        // started, and no other reference to it exists, as `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.at(range), range.len()) }
    }

    fn incoming(&self, index: usize) -> &[u8] {
        assert!(!self.started);
        let range = &self.incoming[index];
        // SAFETY: as for outgoing messages; shared, as `self` is.
        unsafe { std::slice::from_raw_parts(self.at(range), range.len()) }
    }

    fn is_started(&self) -> bool {
        self.started
    }

    fn start(&mut self) {
        assert!(!self.started);
        self.started = true;
        self.messages.start();
        let requests = &mut self.messages.requests;
        let (all, requests) = (count(requests.len()), requests.as_mut_ptr());
        // SAFETY: as many persistent requests as the vector holds, none of them started; their
        // memory is not accessed before they are complete.
        sure!(self.messages.world, unsafe { MPI_Startall(all, requests) });
    }

    fn test(&mut self) -> bool {
        self.started = !self.messages.test();
        !self.started
    }
}

impl Drop for Persistent {
    fn drop(&mut self) {
        // Requests in flight use the memory; after the program's end there may be no MPI any more.
        if self.started || !self.messages.world.is_running() {
            return;
        }
        for request in &mut self.messages.requests {
            // SAFETY: a persistent request that is not started.
            sure!(self.messages.world, unsafe { MPI_Request_free(request) });
        }
        // SAFETY: created by `Box::into_raw` and freed once; its requests are gone.
        drop(unsafe { Box::from_raw(self.memory) });
    }
}

/// A datatype of pieces.
struct Shape {
    world: &'static World,
    datatype: ffi::MPI_Datatype,
    /// The byte of the memory from which its offsets count.
    start: usize,
    node: usize,
    number: usize,
}

impl Shape {
    fn new(world: &'static World, message: &RepeatedPieces) -> Self {
        let pieces = &message.pieces;
        let start = pieces.first().map_or(0, |piece| piece.start);
        let offset = |at: usize| at as ffi::MPI_Aint - start as ffi::MPI_Aint;
        let lengths: Vec<c_int> = pieces.iter().map(|piece| count(piece.len())).collect();
        let offsets: Vec<ffi::MPI_Aint> = pieces.iter().map(|piece| offset(piece.start)).collect();
        let stride = offsets.get(1).copied().unwrap_or(0);
        let even = lengths.iter().all(|length| *length == lengths[0])
            && offsets.iter().zip(0..).all(|(offset, index)| *offset == index * stride);
        let mut datatype = bytes();
        if let (true, Some(&length)) = (even, lengths.first()) {
            let all = count(pieces.len());
            // SAFETY: MPI writes the datatype's handle to a variable that outlives the call.
            sure!(world, unsafe { MPI_Type_create_hvector(all, length, stride, bytes(), &mut datatype) });
        } else {
            let (lengths, offsets, all) = (lengths.as_ptr(), offsets.as_ptr(), count(pieces.len()));
            // SAFETY: as many lengths and offsets as pieces, which MPI copies; it writes the
            // datatype's handle to a variable that outlives the call.
            sure!(world, unsafe { MPI_Type_create_hindexed(all, lengths, offsets, bytes(), &mut datatype) });
        }
        // SAFETY: a datatype that was just created.
        sure!(world, unsafe { MPI_Type_commit(&mut datatype) });
        Self { world, datatype, start, node: message.node, number: message.number }
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        if self.world.is_running() {
            // SAFETY: a datatype of this module's, freed once. Messages in flight keep it (MPI 3.1,
            // §4.1.9).
            sure!(self.world, unsafe { MPI_Type_free(&mut self.datatype) });
        }
    }
}

/// Messages between pieces of a memory and other nodes' pieces.
struct Typed {
    messages: Messages,
    /// Datatypes of receives, then of sends.
    shapes: Vec<Shape>,
    /// The least number of bytes of the memory.
    least: usize,
}

impl RepeatingPieces for Typed {
    fn exchange(&mut self, memory: &mut [u8], idle: &mut dyn FnMut()) {
        assert!(self.least <= memory.len());
        let (world, base) = (self.messages.world, memory.as_mut_ptr());
        // The memory is lent until all requests are complete.
        let lent = Lent(world);
        let receives = self.messages.receives.len();
        self.messages.start();
        for (index, shape) in self.shapes.iter().enumerate() {
            let (at, tag) = (base.wrapping_add(shape.start).cast(), tag(shape.number));
            let request = &mut self.messages.requests[index];
            if index < receives {
                // SAFETY: the pieces are in the memory, by the assertion above, which is borrowed
                // until the requests are complete; those of receives overlap no others, which
                // `Node` has checked.
                sure!(world, unsafe {
                    MPI_Irecv(at, 1, shape.datatype, peer(shape.node), tag, world.pairs, request)
                });
            } else {
                // SAFETY: as for receives.
                sure!(world, unsafe {
                    MPI_Isend(at.cast_const(), 1, shape.datatype, peer(shape.node), tag, world.pairs, request)
                });
            }
        }
        while !self.messages.test() {
            idle();
        }
        std::mem::forget(lent);
    }
}

impl Preparing for World {
    /// Messages by persistent requests.
    fn prepared(&'static self, sends: &[Repeated], receives: &[Repeated]) -> Box<dyn Repeating> {
        Box::new(Persistent::new(self, sends, receives))
    }

    /// Messages by derived datatypes.
    fn prepared_pieces(
        &'static self,
        sends: &[RepeatedPieces],
        receives: &[RepeatedPieces],
    ) -> Box<dyn RepeatingPieces> {
        let of = |message: &RepeatedPieces| Repeated {
            node: message.node,
            number: message.number,
            len: message.pieces.iter().map(Range::len).sum(),
        };
        let outgoing: Vec<Repeated> = sends.iter().map(of).collect();
        let messages = Messages::new(self, receives.iter().map(of).collect(), &outgoing);
        let all = || receives.iter().chain(sends);
        let least = all().flat_map(|message| &message.pieces).map(|piece| piece.end).max().unwrap_or(0);
        let shapes = all().map(|message| Shape::new(self, message)).collect();
        Box::new(Typed { messages, shapes, least })
    }
}
