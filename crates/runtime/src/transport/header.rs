//! A node's call as words that can be sent to other nodes.
//!
//! Processes share no addresses, so the header has the place of the call as text: its line and the
//! end of its file name.

use crate::transport::Call;
use std::fmt;

/// Number of bytes kept from the end of a file name.
const FILE: usize = 48;

pub(crate) const HEADER: usize = 24 + FILE;

/// A call without the address of its place.
#[derive(Clone, Copy, Default)]
pub(crate) struct Header([u64; HEADER / 8]);

impl Header {
    pub(crate) fn new(call: &Call) -> Self {
        let mut header = Self([0; HEADER / 8]);
        header.0[2] = u64::from(call.place.line());
        let file = call.place.file().as_bytes();
        let end = &file[file.len().saturating_sub(FILE)..];
        bytemuck::cast_slice_mut(&mut header.0[3..])[..end.len()].copy_from_slice(end);
        header.recall(call);
        header
    }

    /// Makes this the header of another call at the same place.
    pub(crate) fn recall(&mut self, call: &Call) {
        self.0[0] = u64::from(call.what) | u64::from(call.root) << 32;
        self.0[1] = call.length;
    }

    /// The words to send.
    pub(crate) fn words(&self) -> &[u64; HEADER / 8] {
        &self.0
    }

    /// A received header.
    pub(crate) fn from_words(words: &[u64]) -> Self {
        let mut header = Self([0; HEADER / 8]);
        header.0.iter_mut().zip(words).for_each(|(to, from)| *to = *from);
        header
    }

    /// Makes this the header of a split-phase call, or of a whole one.
    #[cfg(feature = "mpi")]
    pub(crate) fn start(&mut self, started: bool) {
        self.0[2] = u64::from(self.0[2] as u32) | u64::from(started) << 32;
    }

    /// The hash of all calls up to this one, from that up to the one before: multiplications by odd
    /// constants lose nothing, and take what differs to the higher bits, rotations to the lower ones.
    #[cfg(feature = "mpi")]
    pub(crate) fn hash(&self, before: u64) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(ODD).rotate_left(29);
        mix(mix(before, self.0[0]), self.0[1] ^ (self.0[2] >> 32) << 63).wrapping_mul(ODD)
    }

    /// True if the words of two nodes' calls can belong to the same collective.
    pub(crate) fn words_agree(one: &[u64], other: &[u64]) -> bool {
        one[..2] == other[..2] && one[2] >> 32 == other[2] >> 32
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file: &[u8] = bytemuck::cast_slice(&self.0[3..]);
        let file = String::from_utf8_lossy(file);
        Call::describe(f, self.0[0] as u32, (self.0[0] >> 32) as u32, self.0[1])?;
        write!(f, " at {}:{}", file.trim_end_matches('\0'), self.0[2] as u32)
    }
}
