//! Histogram of the errors of held-out samples.

use plotters::prelude::*;

use crate::marks::Marks;
use crate::plot::{Frame, INK, Named, SIZE, VERIFY, chart, draw, value_text};
use crate::scale::Scale;

/// Maximum number of bars, and of bar widths from zero to the last.
const MOST: f64 = 24.0;
const FURTHEST: f64 = 40.0;
/// The least width, in per cent; smaller errors count as exact.
const LEAST: f64 = 0.01;

/// Counts of values in ranges of equal width.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Histogram {
    /// The start of the first range, in widths.
    first: i64,
    width: f64,
    counts: Vec<usize>,
}

impl Histogram {
    /// A histogram of the finite values; `None` without any. Zero is an edge, so that signs are
    /// separated.
    ///
    /// The width is about that of Freedman and Diaconis (1981), 2 IQR / n^⅓, as a round number.
    pub(crate) fn new(values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        let spread = quantile(0.75) - quantile(0.25);
        let wanted = 2.0 * spread / (sorted.len() as f64).cbrt();
        let size = least.abs().max(most.abs());
        let width = round_up(wanted.max(1.1 * (most - least) / MOST).max(size / FURTHEST).max(LEAST));
        let bin = |value: f64| (value / width).floor() as i64;
        let (first, last) = (bin(least), bin(most));
        let mut counts = vec![0; (last - first + 1) as usize];
        for value in &sorted {
            counts[(bin(*value) - first) as usize] += 1;
        }
        Some(Self { first, width, counts })
    }

    /// The ranges with their counts.
    fn bars(&self) -> impl Iterator<Item = (f64, f64, usize)> {
        let edge = |k: usize| (self.first + k as i64) as f64 * self.width;
        self.counts.iter().enumerate().map(move |(k, count)| (edge(k), edge(k + 1), *count))
    }

    /// The ranges that are not empty, as text.
    pub(crate) fn description(&self) -> String {
        let text = |edge: f64| value_text(crate::scale::round_to(edge, 6));
        let bars = self.bars().filter(|(_, _, count)| *count > 0);
        let bars = bars.map(|(from, to, count)| format!("{} to {} %: {count}", text(from), text(to)));
        bars.collect::<Vec<_>>().join("; ")
    }

    /// Draws bars over relative errors in per cent.
    pub(crate) fn svg(&self) -> Option<String> {
        let (low, high) = (self.first as f64, (self.first + self.counts.len() as i64) as f64);
        // Zero is always included, so that a systematic error is visible.
        let (low, high) = (low.min(-1.0) - 0.5, high.max(1.0) + 0.5);
        let x = Scale::linear(low * self.width, high * self.width, value_text);
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let y = Scale::linear(0.0, 1.08 * most as f64, |count| {
            if count.fract() == 0.0 { value_text(count) } else { String::new() }
        });
        draw(SIZE, |root| {
            let named = |scale, name| Named { scale, name };
            let mut chart =
                chart(root, named(&x, "relative error, %"), named(&y, "held-out samples"), Frame::new(true))?;
            for (from, to, count) in self.bars().filter(|(_, _, count)| *count > 0) {
                let corners = [(from, 0.0), (to, count as f64)];
                chart.draw_series([Rectangle::new(corners, VERIFY.mix(0.75).filled())])?;
                chart.draw_series([Rectangle::new(corners, INK.stroke_width(1))])?;
            }
            chart.draw_series([PathElement::new(vec![(0.0, 0.0), (0.0, 1.08 * most as f64)], INK)])?;
            Ok(Marks::default())
        })
    }
}

/// The next number that is 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|digit| digit * unit).into_iter().find(|v| *v >= value).unwrap_or(10.0 * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bars_are_round_and_signs_stay_apart() {
        let histogram = Histogram::new(&[-3.0, -0.5, 0.5, 0.7, 1.1, 9.0, f64::INFINITY]).unwrap();
        assert_eq!(histogram.description(), "-4 to -2 %: 1; -2 to 0 %: 1; 0 to 2 %: 3; 8 to 10 %: 1");
        assert!(histogram.svg().unwrap().contains("held-out samples"));
        assert_eq!(Histogram::new(&[f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn every_value_is_in_one_of_few_bars(values in prop::collection::vec(-1e9..1e9f64, 1..80), scale in -12.0..3.0f64) {
            let values: Vec<f64> = values.iter().map(|v| v * 10f64.powf(scale)).collect();
            let histogram = Histogram::new(&values).unwrap();
            prop_assert_eq!(histogram.counts.iter().sum::<usize>(), values.len());
            prop_assert!(histogram.counts.len() <= 26, "{}", histogram.counts.len());
            prop_assert!(histogram.svg().is_some());
        }
    }
}
