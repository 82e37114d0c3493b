//! Messages of a cell: which connection they take, and what they cost in simulated time.

use super::{Active, Cell};
use crate::run::fabric::Fabric;
use bytemuck::{Pod, cast_slice_mut};

impl Cell<'_> {
    /// An internal connection, if it is active.
    #[inline]
    pub(in crate::run) fn active(&self, index: usize) -> Option<Active> {
        let (_, _, table) = self.frame().active.as_ref()?;
        table.get(index).copied().flatten()
    }

    /// The image's number of an internal connection.
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
    ) -> (usize, Active) {
        if task != self.instance().task {
            self.misuse(&format!("the {kind} is one of another task"));
        }
        let number = self.instance().ports[index];
        let linked = &self.image.connections[number];
        let hops = linked.path.as_ref().map_or(0, crate::shape::Path::hops);
        (number, Active { rate: linked.guarantee.rate, hops })
    }

    #[inline]
    #[track_caller]
    pub(in crate::run) fn send_bytes(&mut self, connection: usize, active: Active, bytes: &[u8]) {
        let linked = &self.image.connections[connection];
        if linked.from != self.node.rank() {
            self.not_here(connection, "leaves");
        }
        match &mut self.fabric {
            Fabric::Shared(shared) => shared.send(self.node, connection, bytes),
            Fabric::Messages(messages) => {
                let half = self.image.target.overhead / 2.0;
                self.time += half + (bytes.len() as f64 / active.rate).floor();
                messages.send(self.node, (connection, linked.to), linked.depth, bytes, self.time);
            }
        }
    }

    #[inline]
    #[track_caller]
    fn receive_bytes(&mut self, connection: usize, active: Active, sink: &mut impl FnMut(&[u8])) {
        let linked = &self.image.connections[connection];
        if linked.to != self.node.rank() {
            self.not_here(connection, "leads to");
        }
        match &mut self.fabric {
            Fabric::Shared(shared) => shared.receive(self.node, connection, sink),
            Fabric::Messages(messages) => {
                let sent = messages.receive(self.node, (connection, linked.from), linked.depth, sink);
                let target = &self.image.target;
                self.time = self.time.max(sent + target.hop * active.hops as f64) + target.overhead / 2.0;
            }
        }
    }

    #[inline]
    #[track_caller]
    pub(in crate::run) fn receive_into<T: Pod>(
        &mut self,
        connection: usize,
        active: Active,
        values: &mut [T],
    ) {
        let bytes: &mut [u8] = cast_slice_mut(values);
        let (mut at, length) = (0, bytes.len());
        self.receive_bytes(connection, active, &mut |piece| {
            if let Some(room) = bytes.get_mut(at..at + piece.len()) {
                room.copy_from_slice(piece);
            }
            at += piece.len();
        });
        if at != length && !std::thread::panicking() {
            self.misuse(&format!("a message of {at} bytes came where {length} were to be received"));
        }
    }

    #[track_caller]
    pub(in crate::run) fn receive_all<T: Pod>(&mut self, connection: usize, active: Active) -> Vec<T> {
        let mut bytes = Vec::new();
        self.receive_bytes(connection, active, &mut |piece| bytes.extend_from_slice(piece));
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
