//! Comparisons of a call with variants of it: at once after another call, or on the same data
//! again.

use super::{ModelSamples, Sample};

/// A time as a multiple of another of the same point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The median ratio of timings taken one after the other.
    pub median: f64,
    /// Half the width of the median's interval over the median.
    pub spread: f64,
}

impl Ratio {
    fn low(self) -> f64 {
        self.median * (1.0 - self.spread)
    }

    fn high(self) -> f64 {
        self.median * (1.0 + self.spread)
    }
}

/// How much longer or shorter a model's calls take than a variant, at the points where they differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The median ratio, and its interval.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The number of points at which they differ.
    pub points: usize,
    /// The number of points at which they were compared.
    pub of: usize,
}

/// Smaller differences are not reported.
const NOTABLE: f64 = 1.1;

/// The least number of differing points: at one of six, a difference beyond noise may be chance.
const LEAST_POINTS: usize = 2;

impl ModelSamples {
    /// Compares the calls with calls that follow another at once; `None` unless they differ at two
    /// points or more by a tenth beyond noise.
    #[must_use]
    pub fn hot(&self) -> Option<Comparison> {
        self.compare(|sample| sample.notes.hot)
    }

    /// Compares calls on fresh data with calls on the same data again; `None` as for
    /// [`hot`](Self::hot).
    #[must_use]
    pub fn replayed(&self) -> Option<Comparison> {
        self.compare(|sample| sample.notes.replayed)
    }

    fn compare(&self, of: impl Fn(&Sample) -> Option<Ratio>) -> Option<Comparison> {
        let all: Vec<Ratio> = self.rows.iter().filter_map(of).collect();
        let longer = |ratio: &&Ratio| ratio.low() > NOTABLE;
        let shorter = |ratio: &&Ratio| ratio.high() < 1.0 / NOTABLE;
        let longer: Vec<Ratio> = all.iter().filter(longer).copied().collect();
        let shorter: Vec<Ratio> = all.iter().filter(shorter).copied().collect();
        let different = if longer.len() >= shorter.len() { longer } else { shorter };
        (different.len() >= LEAST_POINTS).then(|| Comparison {
            ratio: median(different.iter().map(|ratio| ratio.median)),
            low: median(different.iter().map(|ratio| ratio.low())),
            high: median(different.iter().map(|ratio| ratio.high())),
            points: different.len(),
            of: all.len(),
        })
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    values.get(low).zip(values.get(high)).map_or(f64::NAN, |(low, high)| low / 2.0 + high / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Notes;

    fn model(ratios: &[(f64, f64)]) -> ModelSamples {
        let row = |&(median, spread): &(f64, f64)| Sample {
            notes: Notes { hot: Some(Ratio { median, spread }), ..Notes::default() },
            ..Sample::default()
        };
        let mut rows: Vec<Sample> = ratios.iter().map(row).collect();
        rows.push(Sample::default());
        ModelSamples { name: "M".into(), rows, ..ModelSamples::default() }
    }

    #[test]
    fn a_difference_is_told_where_it_is_beyond_noise_at_several_points() {
        let found = model(&[(3.0, 0.1), (2.0, 0.2), (2.4, 0.1), (1.05, 0.01), (1.3, 0.4)]).hot().unwrap();
        assert_eq!((found.ratio, found.points, found.of), (2.4, 3, 5));
        assert!(found.low < 2.4 && found.high > 2.4);
        assert_eq!(model(&[(3.0, 0.1), (1.0, 0.1)]).hot(), None, "one point may be chance");
        assert_eq!(model(&[(3.0, 0.9), (3.0, f64::INFINITY)]).hot(), None, "noise");
        assert_eq!(model(&[(1.02, 0.0), (0.98, 0.0)]).hot(), None);
        assert_eq!(model(&[(1.15, 0.06), (1.2, 0.1)]).hot(), None, "it may be less than a tenth");
        assert!(model(&[(0.5, 0.1), (0.6, 0.1)]).hot().unwrap().ratio < 0.6);
        assert_eq!(model(&[(3.0, 0.1), (3.0, 0.1)]).replayed(), None);
        assert_eq!(model(&[]).hot(), None);
    }
}
