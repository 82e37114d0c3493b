//! How far a model is to be trusted.

use core::fmt;

/// What verification found of a model, best first. It informs people; no choice depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Verdict {
    /// The verification error is at or below the limit, and nothing speaks against the model.
    Verified,
    /// The model is as good as these samples can tell: what its error exceeds the limit by may be their noise.
    #[cfg_attr(feature = "serde", serde(rename = "verified within noise"))]
    WithinNoise,
    /// Residuals or samples give reasons for doubt, or it cannot be told whether the error is within the limit.
    Doubtful,
    /// There was nothing to verify it with.
    #[default]
    Unverified,
    /// The model misses by more than the limit and the noise of the samples, or predicts what is no time.
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
