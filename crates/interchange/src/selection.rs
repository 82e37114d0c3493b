//! Which part of a file is read, and how.

use std::str::FromStr;

use strata_model::samples::Samples;
use strata_model::{Seconds, did_you_mean, sha256_hex};

/// The user's additions to the contents of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// The metric to read, in s, if a file of Extra-P has several.
    pub metric: Option<String>,
    /// The column of a CSV file that holds the times, or the metric, with its unit.
    pub time: Option<TimeColumn>,
    /// Which samples are held out for verification; if `None`, as in the file.
    pub hold_out: Option<HoldOut>,
    /// The column of a CSV file whose cells name the model of their row.
    pub model_column: Option<String>,
    /// The columns of a CSV file that are inputs; for results of benchmark programs, names for the
    /// unnamed numbers in a benchmark's name, in order.
    pub inputs: Option<Vec<String>>,
    /// Inputs that the file does not have, each with its value for the whole file.
    pub set: Vec<(String, f64)>,
}

/// A column or metric of times, and its unit: `elapsed:ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeColumn {
    /// The name in the file.
    pub name: String,
    /// The unit in s, above zero.
    pub unit: f64,
}

impl FromStr for TimeColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const UNITS: [&str; 6] = ["ns", "us", "ms", "s", "m", "h"];
        let wrong = |why: String| Err(format!("{why}; write COLUMN:UNIT with one of {}", UNITS.join(", ")));
        let Some((name, unit)) = text.rsplit_once(':').filter(|(name, _)| !name.is_empty()) else {
            return wrong(format!("`{text}` does not say in which unit"));
        };
        match format!("1{unit}").parse::<Seconds>() {
            Ok(one) if !unit.is_empty() && !unit.contains(|c: char| c.is_ascii_digit() || c == '.') => {
                Ok(Self { name: name.to_owned(), unit: one.get() })
            }
            _ => wrong(format!("`{unit}` is not a unit of time{}", did_you_mean(unit, UNITS))),
        }
    }
}

/// Which samples are held out for verification.
#[derive(Clone, Debug, PartialEq)]
pub enum HoldOut {
    /// This share of the points of each model, above 0 and below 1. All samples of a point are held
    /// out together, because they share the disturbances of that point.
    Share(f64),
    /// The rows whose cell of this column is 1, not 0.
    Column(String),
}

impl FromStr for HoldOut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(percent) = text.strip_suffix('%') else {
            return match text.parse::<f64>() {
                Ok(_) => Err("a share is written with its sign, for example `20%`".into()),
                Err(_) => Ok(Self::Column(text.to_owned())),
            };
        };
        match percent.trim().parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(Self::Share(percent / 100.0)),
            _ => Err("a share is above 0% and below 100%, for example `20%`".into()),
        }
    }
}

/// Marks a share of the points of each model as held out.
///
/// The points with the least hashes are held out. A hash depends on the point's values alone, not
/// on the order of the file: a regular step through the file could coincide with the step of a
/// loop.
pub(crate) fn hold_out(samples: &mut Samples, share: f64) {
    for model in &mut samples.models {
        let hash = |values: &[f64]| sha256_hex(format!("{values:?}").as_bytes());
        let of_rows: Vec<String> = model.rows.iter().map(|row| hash(&row.values)).collect();
        let mut points: Vec<&String> = of_rows.iter().collect();
        points.sort();
        points.dedup();
        let many = (share * points.len() as f64).round() as usize;
        let first_kept = points.get(many).copied();
        for (row, hash) in model.rows.iter_mut().zip(&of_rows) {
            row.verify = first_kept.is_none_or(|kept| hash < kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        let ms = |text: &str| text.parse::<TimeColumn>();
        assert_eq!(ms("ms:ms"), Ok(TimeColumn { name: "ms".into(), unit: 1e-3 }));
        assert_eq!(ms("std::time:us"), Ok(TimeColumn { name: "std::time".into(), unit: 1e-6 }));
        for (bad, say) in [
            ("ms", "does not say in which unit"),
            ("a:", "is not a unit"),
            (":ms", "does not say in which unit"),
            ("a:1", "is not a unit"),
            ("a:msec", "(did you mean `ms`?)"),
        ] {
            assert!(ms(bad).unwrap_err().contains(say), "{bad}: {:?}", ms(bad));
        }
    }

    #[test]
    fn what_is_held_out_is_a_share_or_a_column() {
        assert_eq!("20%".parse(), Ok(HoldOut::Share(0.2)));
        assert_eq!("test".parse(), Ok(HoldOut::Column("test".into())));
        for bad in ["0.2", "20", "0%", "100%", "x%"] {
            assert!(bad.parse::<HoldOut>().is_err(), "{bad}");
        }
    }

    #[test]
    fn all_samples_of_a_point_are_held_out_together() {
        let text: String = (0..200).map(|i| format!("A 1e-6 {} {}\n", i % 10, i / 10 % 10)).collect();
        let mut samples = Samples::parse(&format!("model A n m\n{text}"), "s").unwrap();
        hold_out(&mut samples, 0.2);
        let rows = &samples.models[0].rows;
        assert_eq!(rows.iter().filter(|row| row.verify).count(), 40);
        for row in rows {
            assert!(rows.iter().all(|r| r.values != row.values || r.verify == row.verify));
        }
        // Several values of each input are held out.
        for input in 0..2 {
            let mut held: Vec<f64> = rows.iter().filter(|r| r.verify).map(|r| r.values[input]).collect();
            held.sort_by(f64::total_cmp);
            held.dedup();
            assert!(held.len() > 3, "{held:?}");
        }
    }
}
