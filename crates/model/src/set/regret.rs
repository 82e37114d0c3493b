//! The losses of a library's choices.

use std::fmt;

use crate::percent;

/// The losses of choices against the fastest timed candidate, measured at fresh inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Regret {
    /// The number of inputs.
    pub inputs: usize,
    /// The mean over them of the time of the choice over that of the fastest candidate, less 1.
    pub mean: f64,
    /// The 95 % interval of the mean, by the scatter from input to input.
    pub interval: (f64, f64),
    /// The greatest loss.
    pub worst: f64,
    /// Where the greatest loss is, as text.
    pub worst_at: String,
    /// The candidate that would lose least if it were always taken.
    pub constant: Option<Constant>,
    /// The program's previous candidate, if the spec has it (`default`).
    pub before: Option<Constant>,
}

/// The candidate that stays unless the models predict another to be faster by enough; see
/// [`strata_select::Incumbent`].
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent {
    /// The candidate's name.
    pub candidate: String,
    /// Its parameters.
    pub parameters: Vec<i64>,
    /// The share of its expected time that another candidate must save, from 0 to 1.
    pub gain: f64,
}

/// `quick:64` is kept unless another way is predicted to save 10 %
impl fmt::Display for Incumbent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            self.parameters.iter().fold(self.candidate.clone(), |name, value| format!("{name}:{value}"));
        match self.gain {
            gain if gain < 1.0 => {
                write!(f, "`{name}` is kept unless another is predicted to save {}", percent(gain))
            }
            _ => write!(f, "`{name}` is always taken: by the models choices lost more"),
        }
    }
}

/// One candidate, taken at every input.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name as in a pin, `quick:16`.
    pub name: String,
    /// Its mean regret.
    pub mean: f64,
}

/// `choices lose 1.8 % (1.1 % to 2.9 %), at worst 9 % (n=1500), measured at 20 fresh inputs; always
/// `quick:64` loses 3.1 %`
impl fmt::Display for Regret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, mean, interval: (low, high), worst, worst_at, constant, before } = self;
        // A negative loss is noise.
        let [mean, low, high, worst] = [mean.max(0.0), *low, *high, *worst].map(percent);
        write!(
            f,
            "choices lose {mean} ({low} to {high}), at worst {worst} ({worst_at}), measured at {inputs} fresh inputs"
        )?;
        if let Some(Constant { name, mean }) = constant {
            write!(f, "; always `{name}` loses {}", percent(mean.max(0.0)))?;
        }
        match before {
            Some(Constant { name, mean }) => write!(f, ", `{name}`, as before, {}", percent(*mean)),
            None => Ok(()),
        }
    }
}
