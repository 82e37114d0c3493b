//! Bulk access by one-sided transfers, if the transport has them and models of this machine predict
//! that they are faster than messages.
//!
//! They need no action of the owner's program, and no copy with remote direct memory access. A
//! transfer is complete when its call returns, also in a phase.

use crate::bulk_models::GlobalBulk;
use crate::error::GlobalError;
use crate::segment::{Segment, WORD};
use std::sync::Arc;
use strata_runtime::select::Options;
use strata_runtime::{Node, memory::ExposedWords};

/// Shorter accesses use messages: elements of up to 8 bytes are accessed whole, in one order with
/// atomic operations.
const LEAST: usize = 64;

/// The sizes for which models are evaluated, as powers of two: one-sided transfers are used from
/// the least size on from which models choose them for every size.
const SIZES: std::ops::RangeInclusive<u32> = LEAST.ilog2()..=22;

/// The choice between messages and one-sided transfers for bulk.
#[derive(Debug)]
pub(crate) struct Bulk {
    exposed: Option<ExposedWords>,
    /// The least number of bytes for which one-sided transfers are used.
    from: usize,
}

impl Default for Bulk {
    fn default() -> Self {
        Self { exposed: None, from: usize::MAX }
    }
}

impl Bulk {
    /// Exposes a heap of `bytes` bytes if the transport can; collective.
    #[track_caller]
    pub(crate) fn open(node: &mut Node, bytes: usize, by_models: bool) -> Result<Self, GlobalError> {
        let exposed = node.expose_words(bytes.div_ceil(WORD));
        let mut from = usize::MAX;
        if exposed.is_some() && by_models {
            for size in SIZES.rev().map(|e| 1usize << e) {
                let chosen = node.choose::<GlobalBulk>(size, &Options::default());
                let chosen = chosen.map_err(|error| GlobalError::Select(error.to_string()))?;
                if chosen.candidate == GlobalBulk::Messages {
                    break;
                }
                from = size;
            }
        }
        Ok(Self { exposed, from })
    }

    /// The heap, if it is exposed.
    #[cfg(not(all(test, loom)))]
    pub(crate) fn own(&self, bytes: usize) -> Option<Arc<Segment>> {
        let exposed = self.exposed.as_ref()?;
        Some(Arc::new(Segment::in_window(exposed.own(), bytes)))
    }

    #[cfg(all(test, loom))]
    pub(crate) fn own(&self, _: usize) -> Option<Arc<Segment>> {
        None
    }

    /// The one-sided transfers, if an access to `bytes` bytes of another node's heap uses them.
    #[inline]
    pub(crate) fn one_sided(&self, bytes: usize) -> Option<&ExposedWords> {
        if bytes < self.from { None } else { self.exposed.as_ref() }
    }

    pub(crate) fn one_sided_from(&mut self, bytes: usize) -> Result<(), GlobalError> {
        if self.exposed.is_none() {
            return Err(GlobalError::NotOneSided);
        }
        self.from = bytes.max(LEAST);
        Ok(())
    }
}
