//! Which routine a copy takes.

use crate::{DEFAULT, Routine};

/// What a program knows about the caches, as far as it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// Whether the source is in a cache.
    pub source: Source,
    /// Whether the target is read soon.
    pub target: Target,
}

/// Whether a source is in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// It may be.
    #[default]
    Unknown,
    /// It was just used.
    Hot,
    /// It was not used for long.
    Cold,
}

/// Whether a target is read soon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// It may be.
    #[default]
    Unknown,
    /// Not by this thread: it is sent, or kept.
    Left,
    /// By this thread, at once.
    Read,
}

impl Hint {
    /// The source was just used.
    #[must_use]
    pub const fn hot(self) -> Self {
        Self { source: Source::Hot, ..self }
    }

    /// The source was not used for long.
    #[must_use]
    pub const fn cold(self) -> Self {
        Self { source: Source::Cold, ..self }
    }

    /// This thread does not read the target soon.
    #[must_use]
    pub const fn left(self) -> Self {
        Self { target: Target::Left, ..self }
    }

    /// This thread reads the target at once.
    #[must_use]
    pub const fn read(self) -> Self {
        Self { target: Target::Read, ..self }
    }
}

/// The routine that [`copy_hinted`](crate::copy_hinted) takes for so many bytes; `aligned` says
/// whether source and target lie a multiple of 64 bytes apart.
#[must_use]
pub fn routine_for(hint: Hint, bytes: usize, aligned: bool) -> &'static Routine {
    let _ = (hint, bytes, aligned);
    &DEFAULT
}
