//! A layer between node and transport that records every call and the nodes' positions, for log,
//! watchdog and trace.

use super::board::{Board, Doing, Position};
use super::reporter::Notes;
use super::state::State;
use crate::block::{Contents, RawBlock};
#[cfg(feature = "tune")]
use crate::transport::Tuned;
use crate::transport::{
    Action, Awaited, Call, Collective, Endpoint, Extras, Failure, Network, Networks, Operation, Packet, Way,
    pass_on,
};
use std::rc::Rc;
use std::sync::Arc;
use strata_develop::log::What;
use strata_develop::trace;

/// A transport under observation.
struct Observed {
    inner: Box<dyn Endpoint>,
    notes: Rc<Notes>,
    board: Option<Arc<Board>>,
    position: Position,
    /// The current wait: the awaited event of the node's repeated pauses. It ends when the event
    /// has occurred.
    pausing: Option<(Call, Awaited)>,
    rank: usize,
}

/// Puts the layer around `inner`.
pub(crate) fn observe(
    mut inner: Box<dyn Endpoint>,
    notes: &Rc<Notes>,
    board: Option<Arc<Board>>,
) -> Box<dyn Endpoint> {
    if let (Some(board), Some(process)) = (&board, inner.extras().process) {
        // Every node stores one; the first is kept.
        let _ = board.abort_handle.set(process.abort_handle());
    }
    let rank = inner.rank();
    let (notes, position) = (Rc::clone(notes), Position::default());
    Box::new(Observed { inner, notes, board, position, pausing: None, rank })
}

/// The state of a collective in the state graph.
fn state(call: &Call) -> State {
    match call.action() {
        Action::Barrier | Action::Install | Action::Uninstall => State::BARRIER,
        Action::Broadcast | Action::AllGather | Action::AllToAllV => State::MOVING,
        Action::CyclicShift | Action::Hypercube | Action::AllToAll | Action::UnknownTargets => State::MOVING,
        Action::GlobalOr
        | Action::Reduce
        | Action::Scan
        | Action::BackwardScan
        | Action::SegmentedScan
        | Action::SegmentedBackwardScan => State::COMBINING,
        _ => State::MESSAGES,
    }
}

impl Observed {
    fn is(&mut self, doing: Doing) {
        self.position.doing = doing;
        self.position.since = self.notes.clock.ns();
        if let Some(board) = &self.board {
            board.show(self.rank, self.position);
        }
    }

    /// The node enters a collective.
    fn enter(&mut self, call: &Call, started: bool) {
        self.no_longer_pausing();
        let number = self.position.number + 1;
        self.position.number = number;
        self.position.call = Some(*call);
        self.is(if started { Doing::Started } else { Doing::Inside });
        if self.notes.is_logged() {
            let what = if started { What::Start { number, call } } else { What::Enter { number, call } };
            self.notes.log(what);
        }
        if !started {
            self.notes.set_own(Some(state(call)));
        }
    }

    /// The collective is done.
    fn leave_collective(&mut self) {
        self.is(Doing::Works);
        self.notes.set_own(None);
        if self.notes.is_logged() {
            self.notes.log(What::<&str>::Leave { number: self.position.number });
        }
    }

    /// The node is about to pause; a wait begins at the first pause for a purpose.
    fn pauses(&mut self, call: &Call, awaited: Awaited) {
        if self.pausing.is_some_and(|(of, before)| awaited.goes_on_from(before) && of.is_at(call)) {
            return;
        }
        self.no_longer_pausing();
        self.pausing = Some((*call, awaited));
        // A node whose program has ended waits for no other node.
        if awaited == Awaited::AllLeft {
            return;
        }
        let inside = awaited == Awaited::Operation;
        self.is(if inside { Doing::Inside } else { Doing::Waits(*call) });
        if self.notes.is_logged() {
            // For a collective already started, the log repeats the entry made then.
            let call = if inside { self.position.call.as_ref().unwrap_or(call) } else { call };
            self.notes.log(What::Wait(call));
        }
        self.notes.set_own(Some(if inside { state(call) } else { State::MESSAGES }));
    }

    /// Records that the awaited event, or another one, has occurred.
    #[inline]
    fn came(&mut self, is_it: impl FnOnce(Awaited) -> bool) {
        if let Some((_, awaited)) = self.pausing
            && is_it(awaited)
        {
            self.no_longer_pausing();
        }
    }

    /// The node begins a put, which may wait for room.
    fn puts(&mut self, call: &Call, to: usize, bytes: usize) {
        self.pauses(call, Awaited::PutRoom(to));
        self.notes.record(trace::What::Put { to: to as u32, bytes: bytes as u64 });
    }

    fn no_longer_pausing(&mut self) {
        let Some((_, awaited)) = self.pausing.take() else { return };
        if awaited == Awaited::AllLeft {
            return;
        }
        // The collective is complete, but its result was not yet requested.
        self.is(if awaited == Awaited::Operation { Doing::Started } else { Doing::Works });
        self.notes.set_own(None);
        if awaited != Awaited::Operation && self.notes.is_logged() {
            self.notes.log(What::<&str>::Go);
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.is(if std::thread::panicking() { Doing::Stopped } else { Doing::Ended });
    }
}

impl Endpoint for Observed {
    fn place(&self) -> (usize, usize) {
        self.inner.place()
    }

    fn collective_by(&mut self, way: Way, call: Call, collective: Collective<'_>) {
        self.enter(&call, false);
        self.inner.collective_by(way, call, collective);
        self.leave_collective();
    }

    fn start(&mut self, call: Call, operation: Operation, values: RawBlock) {
        self.enter(&call, true);
        self.inner.start(call, operation, values);
    }

    fn test(&mut self) -> bool {
        let done = self.inner.test();
        if done {
            self.came(|awaited| awaited == Awaited::Operation);
        }
        done
    }

    fn finish(&mut self) -> RawBlock {
        let result = self.inner.finish();
        self.leave_collective();
        result
    }

    fn try_send(&mut self, network: Network, to: usize, packet: &Packet) -> bool {
        // Recorded before the packet is sent: a trace must not show a packet received before it was
        // sent.
        let sent = trace::What::Sent { to: to as u32, bytes: u32::from(packet.length) };
        let at = self.notes.is_traced().then(|| self.notes.clock.ns());
        let room = self.inner.try_send(network, to, packet);
        if room {
            if let Some(at) = at {
                self.notes.record_at(at, sent);
            }
            self.came(|awaited| awaited == Awaited::Room(network, to));
        }
        room
    }

    fn try_receive(&mut self, network: Network, packet: &mut Packet) -> bool {
        let taken = self.inner.try_receive(network, packet);
        if taken {
            self.notes.record(trace::What::Taken { from: packet.from, bytes: u32::from(packet.length) });
            self.came(|awaited| awaited == Awaited::Packet);
        }
        taken
    }

    fn try_put(
        &mut self,
        call: &Call,
        to: usize,
        port: usize,
        offset: usize,
        contents: Contents<'_>,
    ) -> bool {
        let at = self.notes.is_traced().then(|| self.notes.clock.ns());
        let room = self.inner.try_put(call, to, port, offset, contents);
        if room {
            if let Some(at) = at {
                self.notes.record_at(at, trace::What::Put { to: to as u32, bytes: contents.len() as u64 });
            }
            self.came(|awaited| awaited == Awaited::PutRoom(to));
        }
        room
    }

    fn put_by(
        &mut self,
        way: Way,
        call: &Call,
        to: usize,
        port: usize,
        offset: usize,
        contents: Contents<'_>,
    ) {
        self.puts(call, to, contents.len());
        self.inner.put_by(way, call, to, port, offset, contents);
        self.no_longer_pausing();
    }

    fn arrivals(&mut self, networks: Networks, report: &mut dyn FnMut(usize, usize)) {
        let mut arrived = 0;
        self.inner.arrivals(networks, &mut |port, bytes| {
            arrived += bytes;
            report(port, bytes);
        });
        if arrived > 0 {
            self.notes.record(trace::What::Arrived { bytes: arrived as u64 });
            self.came(|awaited| awaited == Awaited::Packet);
        }
    }

    fn pause(&mut self, call: &Call, networks: Networks, awaited: Awaited) {
        self.pauses(call, awaited);
        self.inner.pause(call, networks, awaited);
    }

    fn leave(&mut self) {
        self.no_longer_pausing();
        self.is(Doing::Ended);
        self.notes.log(What::<&str>::End);
        self.notes.set_own(Some(State::IDLE));
        self.inner.leave();
    }

    pass_on! {
        open(port: usize, memory: RawBlock);
        close(port: usize) -> Option<RawBlock>;
        set_async_or(value: bool);
        async_or() -> bool;
        all_left() -> bool;
        fail(failure: Failure) -> !;
    }

    fn extras(&mut self) -> Extras<'_> {
        self.inner.extras()
    }

    #[cfg(feature = "tune")]
    fn tuned(&mut self) -> Option<&mut dyn Tuned> {
        self.inner.tuned()
    }
}
