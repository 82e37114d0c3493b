//! What times say of choices, without letting noise favour the way that looks fastest.

use crate::library::Way;
use crate::race::Times;

/// Up to this regret a choice counts as right.
pub const RIGHT: f64 = 0.03;

/// Up to this one as nearly right.
pub const NEARLY: f64 = 0.05;

impl Times {
    /// By how much a way takes longer than the fastest, over the time of the fastest: the fastest of
    /// one half is timed by the other, and the two regrets averaged. Below zero where that one was
    /// the fastest by noise only. `None` of a way that was not raced.
    pub fn regret(&self, way: Way) -> Option<f64> {
        let place = self.ways.iter().position(|other| *other == way)?;
        let [even, odd] = &self.halves;
        let of =
            |judging: &[f64], timing: &[f64]| Some(timing.get(place)? / timing.get(least(judging)?)? - 1.0);
        Some((of(even, odd)? + of(odd, even)?) / 2.0)
    }

    /// The fastest way by all timings.
    pub fn fastest(&self) -> Option<Way> {
        let [even, odd] = &self.halves;
        let both: Vec<f64> = even.iter().zip(odd).map(|(a, b)| a + b).collect();
        self.ways.get(least(&both)?).copied()
    }

    /// The time of a way, by all timings.
    pub fn seconds(&self, way: Way) -> Option<f64> {
        let place = self.ways.iter().position(|other| *other == way)?;
        Some((self.halves[0].get(place)? + self.halves[1].get(place)?) / 2.0)
    }

    /// The mean relative difference of the two halves.
    pub fn noise(&self) -> f64 {
        let [even, odd] = &self.halves;
        mean(even.iter().zip(odd).map(|(a, b)| (a / b).ln().abs()))
    }
}

fn least(times: &[f64]) -> Option<usize> {
    (0..times.len()).min_by(|a, b| times[*a].total_cmp(&times[*b]))
}

/// The mean; NaN of nothing.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The regrets of one rule over several inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Regrets(pub Vec<f64>);

impl Regrets {
    /// Their mean.
    pub fn mean(&self) -> f64 {
        mean(self.0.iter().copied())
    }

    /// The greatest, and where it is.
    pub fn worst(&self) -> (usize, f64) {
        let worst = self.0.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        worst.unwrap_or((0, f64::NAN))
    }

    /// The share of regrets up to this.
    pub fn within(&self, most: f64) -> f64 {
        mean(self.0.iter().map(|regret| f64::from(*regret <= most)))
    }
}

/// One library's race.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The inputs.
    pub inputs: Vec<Vec<usize>>,
    /// What was chosen there: by models, by the old rule, and by models of few ways.
    pub taken: Vec<[Way; 3]>,
    /// How probable it is that the choice is the fastest, where it says so.
    pub claimed: Vec<Option<f64>>,
    /// The time that the choice predicts.
    pub predicted: Vec<Option<f64>>,
    /// What was measured.
    pub times: Vec<Times>,
}

impl Outcome {
    /// The regrets of the choices by models.
    pub fn by_models(&self) -> Regrets {
        self.regrets(|input| self.taken[input][0])
    }

    /// The regrets of the old rule.
    pub fn by_old_rule(&self) -> Regrets {
        self.regrets(|input| self.taken[input][1])
    }

    /// The regrets of the choices by models among few ways.
    pub fn by_few(&self) -> Regrets {
        self.regrets(|input| self.taken[input][2])
    }

    /// The one way that had the least mean regret, and its regrets.
    pub fn best_constant(&self) -> Option<(Way, Regrets)> {
        let everywhere = |way: &&Way| self.times.iter().all(|times| times.ways.contains(way));
        let ways = self.times.first()?.ways.iter().filter(everywhere);
        let regrets = ways.map(|way| (*way, self.regrets(|_| *way)));
        regrets.min_by(|a, b| a.1.mean().total_cmp(&b.1.mean()))
    }

    /// The mean probability that choices claim, and the share of these that are right.
    pub fn claimed_and_right(&self) -> (f64, f64) {
        let regrets = self.by_models();
        let pairs = || {
            self.claimed.iter().zip(&regrets.0).filter_map(|(claimed, regret)| Some(((*claimed)?, regret)))
        };
        (mean(pairs().map(|pair| pair.0)), mean(pairs().map(|pair| f64::from(*pair.1 <= RIGHT))))
    }

    /// The median of predicted over measured times of what was chosen.
    pub fn predicted_over_measured(&self) -> f64 {
        let pairs = self.predicted.iter().zip(&self.times).zip(&self.taken);
        let mut ratios: Vec<f64> = pairs
            .filter_map(|((predicted, times), taken)| Some((*predicted)? / times.seconds(taken[0])?))
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The mean relative difference of the two halves of the timings.
    pub fn noise(&self) -> f64 {
        mean(self.times.iter().map(Times::noise))
    }

    fn regrets(&self, way: impl Fn(usize) -> Way) -> Regrets {
        let regret = |(input, times): (usize, &Times)| times.regret(way(input)).unwrap_or(f64::NAN);
        Regrets(self.times.iter().enumerate().map(regret).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::race::lower_quartile;

    /// Timings of ways whose true times are known: the truth with exponential noise above it.
    fn synthetic(truth: &[f64], noise: f64, rounds: usize, random: &mut Random) -> Times {
        let mut half = || {
            let mut quartile = |seconds: &f64| {
                let one = |_| seconds * (1.0 - noise * (1.0 - random.unit()).ln());
                let mut timings: Vec<f64> = (0..rounds).map(one).collect();
                lower_quartile(&mut timings)
            };
            truth.iter().map(&mut quartile).collect()
        };
        let halves = [half(), half()];
        Times { ways: (1..).map(Way::with).take(truth.len()).collect(), halves }
    }

    #[test]
    fn noise_does_not_favour_the_fastest() {
        let mut random = Random::new(1);
        let mean_regret = |truth: &[f64], way: i64, random: &mut Random| {
            let one = |_| synthetic(truth, 0.2, 8, random).regret(Way::with(way)).unwrap();
            mean((0..4000).map(one).collect::<Vec<_>>())
        };
        // Ten equal ways: the least of ten noisy times is 5 % below their mean; the regret is none.
        assert!(mean_regret(&[1.0; 10], 3, &mut random).abs() < 0.005);
        // A way that takes 1.2 times as long as nine others.
        let mut truth = [1.0; 10];
        truth[4] = 1.2;
        assert!((mean_regret(&truth, 5, &mut random) - 0.2).abs() < 0.01);
        // The fastest by far, and the others beside it.
        let truth = [1.0, 1.5, 2.0];
        assert!(mean_regret(&truth, 1, &mut random).abs() < 0.005);
        assert!((mean_regret(&truth, 3, &mut random) - 1.0).abs() < 0.02);
    }

    #[test]
    fn rules_are_compared_by_their_regrets() {
        let times = |a: f64, b: f64| Times {
            ways: vec![Way::with(1), Way::with(2)],
            halves: [vec![a, b], vec![a, b]],
        };
        let outcome = Outcome {
            inputs: vec![vec![1], vec![2]],
            taken: vec![[Way::with(1), Way::with(2), Way::with(2)], [Way::with(2); 3]],
            claimed: vec![Some(0.9), None],
            predicted: vec![Some(2.0), Some(3.0)],
            times: vec![times(1.0, 2.0), times(3.0, 2.0)],
        };
        assert_eq!(outcome.by_models().0, [0.0, 0.0]);
        assert_eq!(outcome.by_old_rule().worst(), (0, 1.0));
        assert_eq!((outcome.by_old_rule().within(RIGHT), outcome.by_few().worst()), (0.5, (0, 1.0)));
        let (way, regrets) = outcome.best_constant().unwrap();
        assert_eq!((way, regrets.mean()), (Way::with(1), 0.25));
        assert_eq!(outcome.claimed_and_right(), (0.9, 1.0));
        assert_eq!(outcome.predicted_over_measured(), 2.0);
        assert_eq!(outcome.noise(), 0.0);
        assert_eq!(outcome.times[0].regret(Way::with(3)), None);
    }
}
