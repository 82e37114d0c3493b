//! The threshold that GMP's `tuneup` computes from timings of both ways: the one with the least
//! summed relative loss (`analyze_dat` in GMP's `tune/tuneup.c`).

/// The times of both ways at one value of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Both {
    pub(super) at: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// The threshold from the timings alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuneup {
    /// The least timed value at which the second way should be taken; `None` if there is none.
    pub at: Option<f64>,
    /// The number of timed values.
    pub points: usize,
    /// The mean loss with this threshold at the timed values, as a share of the slower time.
    pub least: f64,
    /// The same with the threshold of the models.
    pub ours: f64,
}

/// The fewest values that give a threshold.
const LEAST: usize = 4;

/// Computes it from these timings and compares it with the threshold `ours`.
pub(super) fn of(timed: &[Both], ours: f64) -> Option<Tuneup> {
    let mut timed = timed.to_vec();
    timed.sort_by(|a, b| a.at.total_cmp(&b.at));
    (timed.len() >= LEAST).then_some(())?;
    let loss = |place: usize| {
        let one = |(at, both): (usize, &Both)| {
            let gained = (both.to - both.from) / both.to.max(both.from);
            if at < place { (-gained).max(0.0) } else { gained.max(0.0) }
        };
        timed.iter().enumerate().map(one).sum::<f64>() / timed.len() as f64
    };
    let best = (0..=timed.len()).min_by(|a, b| loss(*a).total_cmp(&loss(*b)))?;
    Some(Tuneup {
        at: timed.get(best).map(|both| both.at),
        points: timed.len(),
        least: loss(best),
        ours: loss(timed.partition_point(|both| both.at < ours)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(at: f64, from: f64, to: f64) -> Both {
        Both { at, from, to }
    }

    #[test]
    fn the_least_summed_loss_decides_and_not_the_first_value_at_which_it_is_faster() {
        // Noise makes the second way look faster at 2; the sum gives 8.
        let timed = [both(1.0, 1.0, 2.0), both(2.0, 1.0, 0.99), both(4.0, 1.0, 1.2), both(8.0, 2.0, 1.0)];
        let found = of(&timed, 4.0).unwrap();
        assert_eq!((found.at, found.points), (Some(8.0), 4));
        assert!((found.least - 0.01 / 4.0).abs() < 1e-12, "{found:?}");
        assert!((found.ours - (0.01 + 0.2 / 1.2) / 4.0).abs() < 1e-12, "{found:?}");
        let never = timed.map(|one| Both { to: 9.0, ..one });
        assert_eq!(of(&never, 100.0).unwrap().at, None);
        assert_eq!(of(&timed[..3], 4.0), None);
    }
}
