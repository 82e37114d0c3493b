//! Problems over a table's domain, and which timing of a candidate there promises most.

use std::vec;
use std::vec::Vec;

use super::scaled::{Local, Scaled};
use crate::{Question, Row, Source, Table, choice::Outcome, choose_among, normal, table::Parameters};

/// How many problems stand for the domain.
const PROBLEMS: usize = 96;

/// How many are drawn to find them: a `require` may leave few.
const DRAWN: usize = 40 * PROBLEMS;

/// Primes of the sequence, one an input; further inputs take them again.
const PRIMES: [usize; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// Problems spread over the domain, evenly in the logarithms of the inputs (Halton 1960); those
/// that no model covers are left out.
pub(super) fn problems(table: &Table, nodes: usize) -> Vec<Vec<f64>> {
    let covered = |problem: &[f64]| {
        (0..table.entries.len()).any(|candidate| {
            let least = Parameters::least(table.entries[candidate].parameters);
            table.seconds(candidate, nodes, problem, &least).is_some()
        })
    };
    let draw = |number: usize| -> Vec<f64> {
        let inputs = table.domain.inputs.iter().enumerate();
        inputs
            .map(|(input, (least, most))| {
                let at = halton(number + 1, PRIMES[input % PRIMES.len()]);
                between(*least, *most, at)
            })
            .collect()
    };
    (0..DRAWN).map(draw).filter(|problem| covered(problem)).take(PROBLEMS).collect()
}

fn between(least: f64, most: f64, at: f64) -> f64 {
    let (least, most) = (least.max(-1e15), most.min(1e15));
    let value = if least >= 1.0 {
        least * (most / least).powf(at)
    } else if least >= 0.0 {
        // From zero: as from 1, with zero itself among the least.
        (least + 1.0) * ((most + 1.0) / (least + 1.0)).powf(at) - 1.0
    } else {
        least + (most - least) * at
    };
    let whole = least.fract() == 0.0 && most.fract() == 0.0 && most - least >= 2.0;
    if whole { value.round() } else { value }.clamp(least, most)
}

/// The number with the digits of `number` to base `prime` mirrored at the point.
fn halton(mut number: usize, prime: usize) -> f64 {
    let (mut value, mut digit) = (0.0, 1.0);
    while number > 0 {
        digit /= prime as f64;
        value += digit * (number % prime) as f64;
        number /= prime;
    }
    value
}

/// A timing that may be taken.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) candidate: usize,
    pub(super) inputs: Vec<f64>,
    pub(super) parameters: Parameters,
    /// The predicted seconds.
    pub(super) seconds: f64,
}

/// A candidate with its best parameters for one problem.
#[derive(Debug)]
struct Contender {
    candidate: usize,
    parameters: Parameters,
    local: Local,
}

/// All candidates with a prediction for each problem, each with its best parameters.
#[derive(Debug)]
pub(super) struct Contest {
    problems: Vec<(Vec<f64>, Vec<Contender>)>,
    /// The candidate that is chosen for each.
    chosen: Vec<usize>,
}

impl Contest {
    pub(super) fn new(
        table: &'static Table,
        models: &Scaled,
        nodes: usize,
        problems: &[Vec<f64>],
        available: &[bool],
    ) -> Self {
        let with = |problem: &Vec<f64>| {
            let rows: Vec<Row> =
                table.entries.iter().map(|entry| Row::new(entry.name, entry.parameters)).collect();
            let question = Question { processes: true, ..Question::new(nodes, problem) };
            let applies = |candidate: usize| available.get(candidate).is_some_and(|is| *is);
            let choice = choose_among((table.library, table.spec), rows, models, question, &applies).ok()?;
            let contender = |(candidate, row): (usize, &Row)| {
                let parameters = match row.outcome {
                    Outcome::Taken => choice.parameters,
                    Outcome::Slower(_, parameters) => parameters,
                    _ => return None,
                };
                let local = models.local(candidate, nodes, problem, &parameters)?;
                Some(Contender { candidate, parameters, local })
            };
            let all: Vec<Contender> = choice.rows.iter().enumerate().filter_map(contender).collect();
            (all.len() > 1).then(|| ((problem.clone(), all), choice.index))
        };
        let (problems, chosen) = problems.iter().filter_map(with).unzip();
        Self { problems, chosen }
    }

    /// The choice for each problem.
    pub(super) fn choices(&self) -> impl Iterator<Item = Wanted> {
        let all = self.problems.iter().zip(&self.chosen);
        all.filter_map(|((problem, all), chosen)| {
            let taken = all.iter().find(|contender| contender.candidate == *chosen)?;
            Some(wanted(problem, taken))
        })
    }

    /// The same choice with the seconds that these models predict for its candidate.
    pub(super) fn predicted(&self, choice: &Wanted) -> Option<Wanted> {
        let (problem, all) = self.problems.iter().find(|(problem, _)| *problem == choice.inputs)?;
        let contender = all.iter().find(|contender| contender.candidate == choice.candidate)?;
        Some(Wanted { parameters: choice.parameters, ..wanted(problem, contender) })
    }

    /// The timing with the greatest expected loss to be saved per second, among those shorter than
    /// `longest` seconds; `usual` seconds are spent on a timing anyway. `None` where less than
    /// `least` is to be saved anywhere, a share of the time.
    pub(super) fn next(
        &self,
        models: &Scaled,
        longest: f64,
        usual: f64,
        least: f64,
    ) -> Option<(Wanted, Local)> {
        let mut best: Option<(f64, &[f64], &Contender)> = None;
        for (problem, all) in &self.problems {
            let first = all.iter().min_by(|a, b| a.local.log_seconds.total_cmp(&b.local.log_seconds))?;
            let own = models.covariance(&first.local, &first.local);
            for other in all.iter().filter(|other| other.candidate != first.candidate) {
                let apart = other.local.log_seconds - first.local.log_seconds;
                // Models of another machine may be wrong by a factor of 5, hardly by one of 50.
                if apart > 4.0 {
                    continue;
                }
                let theirs = models.covariance(&other.local, &other.local);
                let both = models.covariance(&first.local, &other.local);
                let deviation = (own + theirs - 2.0 * both).max(0.0).sqrt();
                let loss = gain_of_the_other(apart, deviation);
                if loss < least {
                    continue;
                }
                let timed = if theirs >= own { other } else { first };
                let seconds = timed.local.log_seconds.exp();
                if seconds > longest {
                    continue;
                }
                let score = loss / (seconds + usual);
                if best.is_none_or(|(before, ..)| score > before) {
                    best = Some((score, problem, timed));
                }
            }
        }
        let (_, problem, timed) = best?;
        Some((wanted(problem, timed), timed.local.clone()))
    }

    /// The shortest predicted timing: how long it takes shows how fast the machine is.
    pub(super) fn shortest_of(&self, candidate: usize) -> Option<(Wanted, Local)> {
        let of = |(problem, all): &(Vec<f64>, Vec<Contender>)| {
            let found = all.iter().find(|contender| contender.candidate == candidate)?;
            Some((wanted(problem, found), found.local.clone()))
        };
        let all = self.problems.iter().filter_map(of);
        all.min_by(|a, b| a.0.seconds.total_cmp(&b.0.seconds))
    }
}

fn wanted(problem: &[f64], contender: &Contender) -> Wanted {
    Wanted {
        candidate: contender.candidate,
        inputs: problem.to_vec(),
        parameters: contender.parameters,
        seconds: contender.local.log_seconds.exp(),
    }
}

/// The share of the first one's time that knowing both would save: E[(1 - e^D)⁺], where D, the
/// logarithm of the other's time over the first one's, is normal.
pub(super) fn gain_of_the_other(mean: f64, deviation: f64) -> f64 {
    if deviation < 1e-9 {
        return (1.0 - mean.exp()).max(0.0);
    }
    let whole = normal::above(mean / deviation);
    let part = (mean + 0.5 * deviation * deviation).exp()
        * normal::above((mean + deviation * deviation) / deviation);
    (whole - part).max(0.0)
}

/// Which candidates may be timed: at first all.
pub(super) fn all(table: &Table) -> Vec<bool> {
    vec![true; table.entries.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_may_gain_is_what_sums_say() {
        for (mean, deviation) in [(0.0, 0.1), (0.3, 0.2), (-0.2, 0.5), (1.0, 1.0), (0.1, 0.0), (-0.1, 0.0)] {
            let steps = 200_000;
            let sum: f64 = (0..steps)
                .map(|i| {
                    let z = -8.0 + 16.0 * (f64::from(i) + 0.5) / f64::from(steps);
                    let d: f64 = mean + deviation * z;
                    (1.0 - d.exp()).max(0.0) * (-0.5 * z * z).exp() / (std::f64::consts::TAU).sqrt()
                })
                .sum::<f64>()
                * 16.0
                / f64::from(steps);
            let found = gain_of_the_other(mean, deviation);
            assert!((found - sum).abs() < 1e-5, "{mean} {deviation}: {found}, not {sum}");
        }
    }

    #[test]
    fn values_are_inside_and_whole_where_the_ends_are() {
        for (least, most) in
            [(1.0, 64.0), (0.0, 1e6), (-5.0, 5.0), (0.5, 0.75), (7.0, 7.0), (1.0, f64::INFINITY)]
        {
            for number in 1..200 {
                let value = between(least, most, halton(number, 2));
                assert!((least..=most).contains(&value), "{least} {most}: {value}");
            }
        }
        assert_eq!(between(1.0, 1000.0, 0.5), 32.0);
        assert!((1..9).map(|number| halton(number, 2)).sum::<f64>() > 3.0);
    }
}
