//! The losses of a library's choices.

use std::fmt;

use crate::{count, percent};

/// The losses of choices against the fastest timed candidate, measured at fresh inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Regret {
    /// The number of inputs.
    pub inputs: usize,
    /// The file of calls that they were drawn from; by default evenly over the ranges.
    pub like: Option<String>,
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
/// [`strata_select::table::Incumbent`].
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

/// `choices lose 1.8 % (1.1 % to 2.9 %), at worst 9 % (n=1500), measured at 20 inputs drawn evenly;
/// always `quick:64` loses 3.1 %`
impl fmt::Display for Regret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, like, mean, interval: (low, high), worst, worst_at, constant, before } = self;
        // A negative loss is noise.
        let loss = |loss: f64| percent(loss.max(0.0));
        write!(f, "choices lose {}", loss(*mean))?;
        match *high > 0.0 {
            true => write!(f, " ({} to {})", loss(*low), loss(*high))?,
            false => f.write_str(", not distinguishable from the best")?,
        }
        if *worst > 0.0 {
            write!(f, ", at worst {} ({worst_at})", loss(*worst))?;
        }
        match like {
            Some(file) => write!(f, ", measured at {} of {file}", count(*inputs, "call", "calls"))?,
            None => write!(f, ", measured at {} drawn evenly", count(*inputs, "input", "inputs"))?,
        }
        if let Some(Constant { name, mean }) = constant {
            write!(f, "; always `{name}` loses {}", loss(*mean))?;
        }
        match before {
            Some(Constant { name, mean }) => write!(f, ", `{name}`, as before, {}", loss(*mean)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loss_is_negative_on_a_screen() {
        let of = |mean: f64, interval: (f64, f64), worst: f64, before: f64| {
            let constant = |mean| Some(Constant { name: "few".into(), mean });
            let worst_at = "n=7".into();
            let (constant, before) = (constant(-0.02), constant(before));
            Regret { inputs: 9, like: None, mean, interval, worst, worst_at, constant, before }.to_string()
        };
        assert_eq!(
            of(-0.01, (-0.015, -0.003), -0.001, -0.5),
            "choices lose 0 %, not distinguishable from the best, measured at 9 inputs drawn evenly; \
             always `few` loses 0 %, `few`, as before, 0 %"
        );
        assert!(
            of(0.01, (-0.003, 0.04), 0.2, 0.1)
                .starts_with("choices lose 1 % (0 % to 4 %), at worst 20 % (n=7)")
        );
        for (mean, interval) in [(-0.01, (-0.015, -0.003)), (-0.01, (-0.1, 0.2)), (0.1, (-0.1, 0.2))] {
            assert!(!of(mean, interval, -0.3, -0.4).contains('-'));
        }
    }
}
