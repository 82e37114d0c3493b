//! A node's open ports.

use crate::block::{Contents, RawBlock};
use std::collections::BTreeMap;

/// Ports and what has arrived in them.
#[derive(Default)]
pub(super) struct Ports {
    open: BTreeMap<usize, RawBlock>,
    /// Port and bytes, not yet reported.
    arrived: Vec<(usize, usize)>,
}

impl Ports {
    pub(super) fn open(&mut self, port: usize, memory: RawBlock) {
        self.open.insert(port, memory);
    }

    pub(super) fn close(&mut self, port: usize) -> Option<RawBlock> {
        self.open.remove(&port)
    }

    /// Writes bytes that have arrived; else says why not.
    ///
    /// Phantoms, and what comes into the memory of one, are counted and not written.
    pub(super) fn write(&mut self, port: usize, offset: usize, contents: Contents<'_>) -> Result<(), String> {
        let Some(memory) = self.open.get_mut(&port) else { return Err("which is not open".to_owned()) };
        let (length, end) = (contents.len(), offset.saturating_add(contents.len()));
        if end > memory.size() {
            return Err(format!("which has {} bytes", memory.size()));
        }
        if contents.phantom == 0
            && let Some(place) = memory.as_bytes_mut().get_mut(offset..end)
        {
            place.copy_from_slice(contents.bytes);
        }
        match self.arrived.last_mut() {
            Some((last, sum)) if *last == port => *sum += length,
            _ => self.arrived.push((port, length)),
        }
        Ok(())
    }

    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn has_news(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// What has arrived since the last time.
    pub(super) fn take_news(&mut self) -> Vec<(usize, usize)> {
        std::mem::take(&mut self.arrived)
    }
}
