//! A node's open ports.

use crate::block::RawBlock;
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
    pub(super) fn write(&mut self, port: usize, offset: usize, bytes: &[u8]) -> Result<(), String> {
        let Some(memory) = self.open.get_mut(&port) else { return Err("which is not open".to_owned()) };
        let length = memory.bytes;
        let Some(place) = memory.as_bytes_mut().get_mut(offset..offset.saturating_add(bytes.len())) else {
            return Err(format!("which has {length} bytes"));
        };
        place.copy_from_slice(bytes);
        match self.arrived.last_mut() {
            Some((last, sum)) if *last == port => *sum += bytes.len(),
            _ => self.arrived.push((port, bytes.len())),
        }
        Ok(())
    }

    pub(super) fn has_news(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// What has arrived since the last time.
    pub(super) fn take_news(&mut self) -> Vec<(usize, usize)> {
        std::mem::take(&mut self.arrived)
    }
}
