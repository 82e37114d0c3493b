//! Messages of a cell: the connection that each takes, and its cost in simulated time.

use super::{Active, Cell};
use crate::run::fabric::Fabric;
use crate::run::messages::End;
use crate::run::sink::{Fixed, Sink};
use crate::run::spool::Transfer;
use bytemuck::{Pod, cast_slice_mut};

impl<'a> Cell<'a> {
    /// An internal connection, if it is active.
    #[inline]
    pub(in crate::run) fn active(&self, index: usize) -> Option<Active<'a>> {
        let (_, table) = self.frame().active.as_ref()?;
        table.get(index).copied().flatten()
    }

    /// The image's index of an internal connection.
    #[inline]
    #[track_caller]
    pub(in crate::run) fn number(&mut self, task: crate::describe::TaskId, index: usize) -> usize {
        if task != self.instance().task {
            self.misuse("the connection is one of another task");
        }
        self.instance().first + index
    }

    #[track_caller]
    pub(super) fn external(
        &mut self,
        task: crate::describe::TaskId,
        index: usize,
        kind: &str,
    ) -> (usize, Active<'a>) {
        if task != self.instance().task {
            self.misuse(&format!("the {kind} is one of another task"));
        }
        let number = self.instance().ports[index];
        let linked = &self.image.connections[number];
        let hops = linked.path.as_ref().map_or(0, crate::shape::Path::hops);
        let links = linked.path.as_ref().map_or(&[][..], |path| &path.links);
        let latency = self.image.target.hop * hops as f64;
        (number, Active { rate: linked.guarantee.share.unwrap_or(f64::INFINITY), links, latency })
    }

    #[inline]
    #[track_caller]
    pub(in crate::run) fn send_bytes(&mut self, connection: usize, active: Active<'a>, bytes: &[u8]) {
        let end = self.end(connection, active, true);
        if self.options.reservations {
            self.keeps(connection, bytes.len());
        }
        self.after_spools(connection, true);
        self.show();
        match &mut self.fabric {
            Fabric::Shared(shared) => shared.send(self.node, connection, bytes),
            Fabric::Messages(messages) => {
                let start = self.time + self.image.target.overhead / 2.0;
                self.time = messages.send(self.node, end, bytes, start);
            }
        }
    }

    #[inline]
    #[track_caller]
    fn receive_bytes(&mut self, connection: usize, active: Active<'a>, sink: &mut impl Sink) {
        let end = self.end(connection, active, false);
        self.after_spools(connection, false);
        self.show();
        match &mut self.fabric {
            Fabric::Shared(shared) => shared.receive(self.node, connection, sink),
            Fabric::Messages(messages) => {
                let came = messages.receive(self.node, end, self.time, sink);
                self.time = came + self.image.target.overhead / 2.0;
            }
        }
    }

    /// This cell's end of a connection that begins or ends here.
    #[inline]
    #[track_caller]
    fn end(&mut self, connection: usize, active: Active<'a>, sends: bool) -> End<'a> {
        let linked = &self.image.connections[connection];
        let (here, peer) = if sends { (linked.from, linked.to) } else { (linked.to, linked.from) };
        if here != self.node.rank() {
            self.not_here(connection, if sends { "leaves" } else { "leads to" });
        }
        End { connection, peer, depth: linked.depth, active }
    }

    /// Ends the job if a sender is further ahead of its reservation than its buffer's capacity. Of a
    /// longer message the capacity counts, and the rest comes in its time.
    #[cold]
    #[track_caller]
    fn keeps(&mut self, connection: usize, bytes: usize) {
        let image = self.image;
        let linked = &image.connections[connection];
        let Some(rate) = linked.rate else { return };
        if bytes < linked.shortest && !std::thread::panicking() {
            let (name, shortest) = (&linked.name, linked.shortest);
            let said =
                format!("a message of {bytes} bytes on {name}, whose shortest is of {shortest} (`shortest`)");
            self.misuse(&said);
        }
        let (depth, now) = (linked.depth as f64, self.image.target.seconds(self.clocks()));
        let (before, at) = self.ahead.get(&connection).copied().unwrap_or((0.0, now));
        let before = (before - rate * (now - at)).max(0.0);
        // The rounding of times.
        if before + (bytes as f64).min(depth) > depth + 1e-6 * depth + 1e-3 {
            let (name, depth) = (&linked.name, linked.depth);
            let said = format!(
                "{name} exceeds its reservation: {bytes} bytes where {before:.0} are ahead of {rate:.0} bytes a \
                 second, and {depth} may be (`depth`); send less, or reserve more"
            );
            self.misuse(&said);
        }
        self.ahead.insert(connection, (before + bytes as f64, now));
    }

    /// Starts a DMA transfer; returns its number.
    #[track_caller]
    pub(in crate::run) fn start_spool<T: Pod>(
        &mut self,
        connection: usize,
        active: Active<'a>,
        sends: bool,
        values: Vec<T>,
    ) -> u64 {
        let end = self.end(connection, active, sends);
        if sends && self.options.reservations {
            self.keeps(connection, size_of_val(values.as_slice()));
        }
        self.charge(self.image.target.spool);
        let start = self.time + if sends { self.image.target.overhead / 2.0 } else { 0.0 };
        let transfer = Transfer::new(end, sends, Box::new(values), start);
        self.show();
        let number = self.fabric.spools_mut().add(transfer);
        self.fabric.advance(self.node);
        number
    }

    /// Waits for a DMA transfer and removes it.
    #[track_caller]
    pub(in crate::run) fn end_spool(&mut self, number: u64) -> Option<Transfer<'a>> {
        self.show();
        self.fabric.wait_for_spool(self.node, number);
        let transfer = self.fabric.spools_mut().transfers.remove(&number)?;
        let rest = if transfer.sends { 0.0 } else { self.image.target.overhead / 2.0 };
        self.time = self.time.max(transfer.time + rest);
        let (came, room) = transfer.lengths();
        if came != room && !std::thread::panicking() {
            self.wrong_length(came, room);
        }
        Some(transfer)
    }

    /// The DMA transfer that was started last.
    pub(super) fn newest_spool(&self) -> u64 {
        self.fabric.spools().newest()
    }

    /// Waits for all DMA transfers started after `before`: a set must be idle before it is left.
    /// Earlier transfers belong to suspended tasks.
    #[track_caller]
    pub(super) fn finish_after(&mut self, before: u64) {
        loop {
            let Some(number) = self.fabric.spools().first_after(before) else { return };
            if self.end_spool(number).is_none() {
                return;
            }
        }
    }

    /// Keeps the messages of a connection in order: a foreground message waits for the connection's
    /// DMA transfers.
    #[inline]
    #[track_caller]
    fn after_spools(&mut self, connection: usize, sends: bool) {
        if self.fabric.spools().transfers.is_empty() {
            return;
        }
        let Some(number) = self.fabric.spools().last_of(connection, sends) else { return };
        self.show();
        self.fabric.wait_for_spool(self.node, number);
        let time = self.fabric.spools().transfers.get(&number).map_or(0.0, |transfer| transfer.time);
        self.time = self.time.max(time);
    }

    #[inline]
    #[track_caller]
    pub(in crate::run) fn receive_into<T: Pod>(
        &mut self,
        connection: usize,
        active: Active<'a>,
        values: &mut [T],
    ) {
        let room = size_of_val(values);
        let mut sink = Fixed::new(cast_slice_mut(values));
        self.receive_bytes(connection, active, &mut sink);
        if sink.came != room && !std::thread::panicking() {
            self.wrong_length(sink.came, room);
        }
    }

    #[cold]
    #[track_caller]
    fn wrong_length(&mut self, came: usize, room: usize) -> ! {
        self.misuse(&format!("a message of {came} bytes came where {room} were to be received"));
    }

    #[track_caller]
    pub(in crate::run) fn receive_all<T: Pod>(&mut self, connection: usize, active: Active<'a>) -> Vec<T> {
        let mut bytes: Vec<u8> = Vec::new();
        self.receive_bytes(connection, active, &mut bytes);
        if !bytes.len().is_multiple_of(size_of::<T>().max(1)) {
            let (length, size) = (bytes.len(), size_of::<T>());
            self.misuse(&format!(
                "a message of {length} bytes is no whole number of elements of {size} bytes"
            ));
        }
        let mut values = vec![T::zeroed(); bytes.len() / size_of::<T>().max(1)];
        cast_slice_mut(&mut values).copy_from_slice(&bytes);
        values
    }

    #[cold]
    #[track_caller]
    fn not_here(&mut self, connection: usize, what: &str) -> ! {
        let linked = &self.image.connections[connection];
        let (from, to) = (linked.from, linked.to);
        let me = self.node.rank();
        self.misuse(&format!(
            "a connection from cell {from} to cell {to} of the machine is used where none of it {what} cell {me}"
        ));
    }
}
