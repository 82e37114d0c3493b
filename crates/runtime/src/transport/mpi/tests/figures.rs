//! Speeds, beside those of the MPI library in the same run.

/// Prints them.
pub(super) fn figures() {}
