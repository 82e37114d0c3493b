//! How far a model is to be trusted.

use core::fmt;

/// The result of verifying a model, best first. It informs people; no choice depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The verification error is at or below the limit, and nothing speaks against the model.
    Verified,
    /// The model is as good as these samples can show: its error exceeds the limit by no more than
    /// their noise may explain.
    WithinNoise,
    /// Residuals or samples give reasons for doubt, or the error cannot be compared with the limit.
    Doubtful,
    /// There were no samples for verification.
    #[default]
    Unverified,
    /// The error exceeds the limit by more than the noise of the samples, or a prediction is not a
    /// time.
    Failed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Verified => "verified",
            Self::WithinNoise => "verified within noise",
            Self::Doubtful => "doubtful",
            Self::Failed => "failed",
            Self::Unverified => "unverified",
        })
    }
}
