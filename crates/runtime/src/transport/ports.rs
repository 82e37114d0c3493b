//! A node's open ports.

use crate::block::{Contents, RawBlock};
use crate::copy::{Hint, copy_hinted};
use std::collections::BTreeMap;

/// Ports and their arrivals.
#[derive(Default)]
pub(crate) struct Ports {
    open: BTreeMap<usize, RawBlock>,
    /// Port and bytes of arrivals not yet reported.
    arrived: Vec<(usize, usize)>,
}

impl Ports {
    pub(crate) fn open(&mut self, port: usize, memory: RawBlock) {
        self.open.insert(port, memory);
    }

    pub(crate) fn close(&mut self, port: usize) -> Option<RawBlock> {
        self.open.remove(&port)
    }

    /// Writes bytes that have arrived at this node, `rank`; the error describes the sender's fault.
    ///
    /// Phantoms, and data for the memory of a phantom, are counted but not written.
    pub(crate) fn write(
        &mut self,
        rank: usize,
        port: usize,
        offset: usize,
        contents: Contents<'_>,
    ) -> Result<(), String> {
        let (length, end) = (contents.len(), offset.saturating_add(contents.len()));
        let put = || format!("put {length} bytes at {offset} into port {port} of node {rank}, which");
        let Some(memory) = self.open.get_mut(&port) else { return Err(format!("{} is not open", put())) };
        if end > memory.size() {
            return Err(format!("{} has {} bytes", put(), memory.size()));
        }
        if contents.phantom == 0
            && let Some(place) = memory.as_bytes_mut().get_mut(offset..end)
        {
            copy_hinted(Hint::RECEIVE, place, contents.bytes);
        }
        match self.arrived.last_mut() {
            Some((last, sum)) if *last == port => *sum += length,
            _ => self.arrived.push((port, length)),
        }
        Ok(())
    }

    pub(crate) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(crate) fn has_news(&self) -> bool {
        !self.arrived.is_empty()
    }

    pub(crate) fn take_news(&mut self) -> Vec<(usize, usize)> {
        std::mem::take(&mut self.arrived)
    }
}
