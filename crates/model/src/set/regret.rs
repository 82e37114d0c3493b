//! What the choices of a library lose.

use std::fmt;

use crate::percent;

/// What choices lose against the best of what was tried, measured at fresh inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Regret {
    /// Inputs at which it was decided.
    pub inputs: usize,
    /// The mean over them of the time of the choice over that of the fastest way, less 1.
    pub mean: f64,
    /// Between these the mean lies with 95 %, by the scatter from input to input.
    pub interval: (f64, f64),
    /// The greatest of them.
    pub worst: f64,
    /// Where that is, in words.
    pub worst_at: String,
    /// The way that would lose least if it were always taken.
    pub constant: Option<Constant>,
}

/// One way, taken at every input.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// As it is pinned, `quick:16`.
    pub name: String,
    /// Its mean regret.
    pub mean: f64,
}

/// `choices lose 1.8 % (1.1 % to 2.9 %), at worst 9 % (n=1500), at 20 fresh inputs; always
/// `quick:64` loses 3.1 %`
impl fmt::Display for Regret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, mean, interval: (low, high), worst, worst_at, constant } = self;
        let [mean, low, high, worst] = [*mean, *low, *high, *worst].map(percent);
        write!(
            f,
            "choices lose {mean} ({low} to {high}), at worst {worst} ({worst_at}), at {inputs} fresh inputs"
        )?;
        match constant {
            Some(Constant { name, mean }) => write!(f, "; always `{name}` loses {}", percent(*mean)),
            None => Ok(()),
        }
    }
}
