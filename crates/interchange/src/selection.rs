//! Which part of a file is read, and how.

use std::str::FromStr;

use strata_model::samples::Samples;
use strata_model::{Kinds, Seconds, Unit, sha256_hex};

/// The user's additions to the contents of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// The metric to read, in s, if a file of Extra-P has several.
    pub metric: Option<String>,
    /// The column of a CSV file that holds the times, or the metric, with its unit.
    pub time: Option<TimeColumn>,
    /// Further measures of the same runs. Each makes models of its own, whose names end in that of
    /// the measure.
    pub also: Vec<TimeColumn>,
    /// Which samples are held out for verification; if `None`, as in the file.
    pub hold_out: Option<HoldOut>,
    /// The columns of a CSV file whose cells together name the model of their row; if empty, the
    /// only column of text.
    pub model_columns: Vec<String>,
    /// The columns of a CSV file that are inputs; for results of benchmark programs, names for the
    /// unnamed numbers in a benchmark's name, in order.
    pub inputs: Option<Vec<String>>,
    /// Whether times may be below zero, as the differences of two may be.
    pub differences: bool,
    /// The inputs that are one of a few names: a column of a CSV file has these names as text.
    pub kinds: Kinds,
    /// Inputs that the file does not have, each with its value for the whole file.
    pub set: Vec<(String, f64)>,
}

/// A column or metric of times or other amounts, and its unit: `elapsed:ms`, `cost:gas`.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeColumn {
    /// Its name.
    pub name: String,
    /// The unit of what it becomes: seconds for all units of time.
    pub unit: Unit,
    /// How much of that one of the file's units is, above zero.
    pub scale: f64,
}

/// Units of time, each in s.
const TIMES: [(&str, f64); 8] = [
    ("ps", 1e-12),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    // The Greek letter, which looks the same.
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
];

/// Units of time as others write them, and those to write instead.
const SPELT: [(&str, &str); 9] = [
    ("picosec", "ps"),
    ("nanosec", "ns"),
    ("microsec", "us"),
    ("millisec", "ms"),
    ("psec", "ps"),
    ("nsec", "ns"),
    ("usec", "us"),
    ("msec", "ms"),
    ("minute", "min"),
];

impl FromStr for TimeColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| {
            let times = TIMES.map(|(name, _)| name).join(", ");
            Err(format!(
                "{why}; write COLUMN:UNIT with one of {times}, or any other word as a unit of its own"
            ))
        };
        let Some((name, unit)) = text.rsplit_once(':').filter(|(name, _)| !name.is_empty()) else {
            return wrong(format!("`{text}` does not say in which unit"));
        };
        if let Some(scale) = seconds_of(unit) {
            return Ok(Self { name: name.to_owned(), unit: Unit::SECONDS, scale });
        }
        if let Some(meant) = meant(unit) {
            return wrong(format!("`{unit}` is not a unit of time (did you mean `{meant}`?)"));
        }
        match unit.parse() {
            Ok(unit) => Ok(Self { name: name.to_owned(), unit, scale: 1.0 }),
            Err(_) => wrong(format!("`{unit}` is not a unit")),
        }
    }
}

/// A unit of time in s.
pub(crate) fn seconds_of(unit: &str) -> Option<f64> {
    let known = TIMES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    // Hours, and `m` for minutes.
    known.or_else(|| match unit {
        "m" | "h" => format!("1{unit}").parse::<Seconds>().ok().map(Seconds::get),
        _ => None,
    })
}

/// The unit of time that a longer word means: it is none of its own.
fn meant(unit: &str) -> Option<&'static str> {
    let lower = unit.to_ascii_lowercase();
    if let Some((_, short)) = SPELT.iter().find(|(long, _)| lower.starts_with(long)) {
        return Some(short);
    }
    match () {
        () if matches!(&*lower, "sec" | "secs" | "second" | "seconds") => Some("s"),
        () if matches!(&*lower, "hour" | "hours" | "hr" | "hrs") => Some("h"),
        () if lower.len() == 2 && lower != unit => {
            TIMES.iter().map(|(name, _)| *name).find(|name| *name == lower)
        }
        () => None,
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
        let time = |name: &str, scale| TimeColumn { name: name.into(), unit: Unit::SECONDS, scale };
        assert_eq!(ms("ms:ms"), Ok(time("ms", 1e-3)));
        assert_eq!(ms("std::time:us"), Ok(time("std::time", 1e-6)));
        assert_eq!(
            (ms("a:µs"), ms("a:ps"), ms("a:h")),
            (Ok(time("a", 1e-6)), Ok(time("a", 1e-12)), Ok(time("a", 3600.0)))
        );
        for unit in ["gas", "instructions", "bytes", "weight", "Gas", "ref_time", "count"] {
            let unit: Unit = unit.parse().unwrap();
            let other = TimeColumn { name: "c".into(), unit: unit.clone(), scale: 1.0 };
            assert_eq!(ms(&format!("c:{unit}")), Ok(other));
        }
        for (bad, say) in [
            ("ms", "does not say in which unit"),
            ("a:", "is not a unit"),
            (":ms", "does not say in which unit"),
            ("a:1", "is not a unit"),
            ("a:msec", "(did you mean `ms`?)"),
            ("a:nanoseconds", "(did you mean `ns`?)"),
            ("a:Seconds", "(did you mean `s`?)"),
            ("a:MS", "(did you mean `ms`?)"),
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
