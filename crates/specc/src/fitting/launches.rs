//! What differs from launch to launch: where memory lies, which hosts an allocation has, how they are
//! connected. Timings of one launch share it, so that more of them tell nothing about it.
//!
//! The logarithms of the medians of each point's timings in each launch are the sum of an effect of
//! the point, one of the launch, and noise. The variance between launches is what the effects of
//! launches have beyond that of the noise: Searle, Casella and McCulloch, *Variance Components*
//! (1992), chapter 4.

use std::collections::BTreeMap;

use strata_fit::stats::t_quantile;
use strata_model::samples::ModelSamples;
use strata_model::set::{Kind, Model};
use strata_model::{Samples, count, percent};
use strata_select::normal::HALF_WIDTH;

use super::Fitting;
use crate::compare::median;

/// The least number of points that a launch must have in common with others.
const LEAST: usize = 3;

/// Rounds in which the effects of points and launches are fitted in turn.
const ROUNDS: usize = 50;

/// What the launches of a model show.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Between {
    launches: usize,
    /// The relative standard deviation between launches.
    spread: f64,
    /// The relative standard deviation of the time in another launch about the mean of these, wider
    /// for few launches as Student's intervals are.
    deviation: f64,
}

impl Fitting {
    /// Adds what differs between launches to the uncertainty of each model, and says so.
    pub(super) fn tell_launches_apart(&mut self, samples: &Samples) {
        if samples.launches.is_empty() {
            return;
        }
        let of = |name: &str| samples.model(name).and_then(|model| between(samples, model));
        let believe = |model: &mut Model| {
            let between = (model.kind == Kind::Fitted).then(|| of(&model.name)).flatten()?;
            model.own_error = model.own_error.hypot(between.deviation);
            let text = format!(
                "between {} times differ by ±{}, which its intervals cover{}",
                count(between.launches, "launch", "launches"),
                percent(between.spread),
                if between.launches == 2 { " (a third makes them much narrower)" } else { "" }
            );
            model.reason += &format!("; {text}");
            Some((between, text))
        };
        let mut told: Vec<(Between, String)> = Vec::new();
        for model in &mut self.set.models {
            told.extend(
                believe(model).map(|(between, text)| (between, format!("model `{}`: {text}", model.name))),
            );
        }
        for fitted in &mut self.fitted {
            believe(&mut fitted.model);
        }
        // One line for all: the greatest.
        let greatest = told.into_iter().max_by(|a, b| a.0.deviation.total_cmp(&b.0.deviation));
        if let Some((_, text)) = greatest.filter(|(between, _)| between.spread > 0.0)
            && let Some(first) = self.fitted.first_mut()
        {
            first.notes.push(text);
        }
    }
}

/// The effects of launches on a model's times; `None` if fewer than two have enough points in
/// common.
fn between(samples: &Samples, model: &ModelSamples) -> Option<Between> {
    type Point<'a> = (Vec<u64>, &'a [i64], usize);
    let mut times: BTreeMap<Point<'_>, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    for row in &model.rows {
        let values = row.values.iter().map(|value| value.to_bits()).collect();
        let point = times.entry((values, &row.notes.at, row.notes.nodes)).or_default();
        for timing in row.notes.timings.iter().filter(|timing| timing.seconds > 0.0) {
            point.entry(samples.launch_of(timing.moment)).or_default().push(timing.seconds.ln());
        }
    }
    let mut points: Vec<Vec<(usize, f64)>> = (times.into_values())
        .map(|launches| launches.into_iter().map(|(launch, times)| (launch, median(times))).collect())
        .collect();
    // Launches with few points tell little; without them points may have one launch alone.
    loop {
        points.retain(|point: &Vec<(usize, f64)>| point.len() > 1);
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        points.iter().flatten().for_each(|(launch, _)| *shared.entry(*launch).or_default() += 1);
        if shared.values().all(|count| *count >= LEAST) {
            break;
        }
        points.iter_mut().for_each(|point| point.retain(|(launch, _)| shared[launch] >= LEAST));
    }
    let mut effects: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
    points.iter().flatten().for_each(|(launch, _)| effects.entry(*launch).or_default().1 += 1);
    let launches = effects.len();
    if launches < 2 {
        return None;
    }
    let level = |point: &[(usize, f64)], effects: &BTreeMap<usize, (f64, usize)>| {
        point.iter().map(|(launch, time)| time - effects[launch].0).sum::<f64>() / point.len() as f64
    };
    for _ in 0..ROUNDS {
        let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
        for point in &points {
            let level = level(point, &effects);
            point.iter().for_each(|(launch, time)| *sums.entry(*launch).or_default() += time - level);
        }
        for (launch, (effect, count)) in &mut effects {
            *effect = sums[launch] / *count as f64;
        }
    }
    let groups = groups(&points);
    // Effects are known up to a constant of each group of launches with common points.
    let mut means: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (launch, (effect, _)) in &effects {
        let mean = means.entry(groups[launch]).or_default();
        *mean = (mean.0 + effect, mean.1 + 1.0);
    }
    let freedom = launches - means.len();
    let all: usize = points.iter().map(Vec::len).sum();
    let noise: f64 = points
        .iter()
        .flat_map(|point| {
            let level = level(point, &effects);
            point.iter().map(move |(launch, time)| (*launch, time - level))
        })
        .map(|(launch, rest)| (rest - effects[&launch].0).powi(2))
        .sum();
    let noise = noise / (all - points.len()).saturating_sub(freedom).max(1) as f64;
    let centred = effects.iter().map(|(launch, (effect, _))| {
        let (sum, count) = means[&groups[launch]];
        effect - sum / count
    });
    let square = centred.map(|effect| effect * effect).sum::<f64>() / freedom as f64;
    let of_noise = effects.values().map(|(_, count)| noise / *count as f64).sum::<f64>() / launches as f64;
    let spread = (square - of_noise).max(0.0).sqrt();
    let student = t_quantile(0.95, freedom)? / HALF_WIDTH;
    let deviation = student * spread * (1.0 + 1.0 / launches as f64).sqrt();
    Some(Between { launches, spread, deviation })
}

/// The group of each launch, by its least one: launches with common points are in one.
fn groups(points: &[Vec<(usize, f64)>]) -> BTreeMap<usize, usize> {
    let mut groups: BTreeMap<usize, usize> =
        points.iter().flatten().map(|(launch, _)| (*launch, *launch)).collect();
    for point in points {
        let Some(least) = point.iter().map(|(launch, _)| groups[launch]).min() else { continue };
        let joined: Vec<usize> = point.iter().map(|(launch, _)| groups[launch]).collect();
        groups.values_mut().filter(|group| joined.contains(group)).for_each(|group| *group = least);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::samples::{Column, Notes, Sample, Timing};

    /// Uniform numbers from -1 to 1, whose standard deviation is √⅓.
    struct Draw(u64);

    impl Draw {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        }

        /// Nearly normal, of standard deviation 1.
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.next()).sum::<f64>() / 2.0
        }
    }

    /// Samples of `points` points in launches with these effects, 5 timings in each.
    fn samples(effects: &[f64], points: usize, noise: f64, draw: &mut Draw) -> Samples {
        let rows = (0..points).map(|point| {
            let timings = effects.iter().enumerate().flat_map(|(launch, effect)| {
                let timing = |at: usize| Timing {
                    seconds: (1.0 + point as f64) * (effect + noise * draw.normal()).exp(),
                    moment: launch as f64 * 10.0 + 0.1 + at as f64,
                };
                (0..5).map(timing).collect::<Vec<_>>()
            });
            let timings = timings.collect();
            Sample {
                seconds: 1.0,
                values: vec![point as f64],
                notes: Notes { at: vec![point as i64], nodes: 2, timings, ..Notes::default() },
                ..Sample::default()
            }
        });
        let rows = rows.collect();
        let model = ModelSamples {
            name: "A".to_owned(),
            columns: vec![Column::term("n")],
            unit: strata_model::Unit::default(),
            fit: String::new(),
            rows,
        };
        let launches = (1..effects.len()).map(|launch| launch as f64 * 10.0).collect();
        Samples { models: vec![model], launches, ..Samples::default() }
    }

    fn of(samples: &Samples) -> Option<Between> {
        between(samples, &samples.models[0])
    }

    #[test]
    fn launches_differ_by_what_they_differ() {
        let draw = &mut Draw(1);
        let found = of(&samples(&[0.0, 0.1, -0.1, 0.05], 10, 0.01, draw)).unwrap();
        assert_eq!(found.launches, 4);
        assert!((0.07..0.1).contains(&found.spread), "{found:?}");
        assert!(found.deviation > found.spread);
        let found = of(&samples(&[0.0; 4], 10, 0.01, draw)).unwrap();
        assert!(found.spread < 0.005, "{found:?}");
        assert_eq!(of(&samples(&[0.0], 10, 0.01, draw)), None);
        assert_eq!(of(&samples(&[0.0, 0.3], 2, 0.01, draw)), None, "too few points");
    }

    /// The interval holds the time of a launch that it has not seen in 95 of 100 cases.
    #[test]
    fn intervals_hold_another_launch() {
        let draw = &mut Draw(7);
        for launches in [2, 3, 6] {
            let inside = (0..1000).filter(|_| {
                let effects: Vec<f64> = (0..launches).map(|_| 0.05 * draw.normal()).collect();
                let found = of(&samples(&effects, 8, 0.01, draw)).unwrap();
                let mean = effects.iter().sum::<f64>() / launches as f64;
                (0.05 * draw.normal() - mean).abs() <= HALF_WIDTH * found.deviation
            });
            let inside = inside.count();
            assert!((920..=980).contains(&inside), "{launches} launches: {inside} of 1000");
        }
    }

    #[test]
    fn joined_files_are_launches() {
        let draw = &mut Draw(3);
        let mut all = samples(&[0.0], 6, 0.01, draw);
        for effect in [0.2, -0.2] {
            all.join(samples(&[effect], 6, 0.01, draw)).unwrap();
        }
        assert_eq!(all.launches.len(), 2);
        let found = of(&all).unwrap();
        assert!(found.launches == 3 && (0.15..0.25).contains(&found.spread), "{found:?}");
        let again = Samples::parse(&all.to_text(), "joined").unwrap();
        assert_eq!(of(&again), Some(found));
    }

    #[test]
    fn launches_without_common_points_are_not_compared() {
        let draw = &mut Draw(5);
        let mut all = samples(&[0.0, 0.02], 5, 0.001, draw);
        let mut others = samples(&[0.5, 0.52], 5, 0.001, draw);
        others.models[0].rows.iter_mut().for_each(|row| row.notes.nodes = 4);
        all.join(others).unwrap();
        let found = of(&all).unwrap();
        assert!(found.launches == 4 && found.spread < 0.02, "{found:?}");
    }
}
