//! Whether an input's round values take other times than the values beside them.

use std::collections::BTreeMap;

use strata_model::Expr;
use strata_model::expr::{KNEE, parse};
use strata_model::samples::ModelSamples;
use strata_model::set::multiple;
use strata_select::table::ROUND;

/// Its multiples are round; powers of two are among them.
const STEP: u64 = ROUND[0] as u64;
/// What the times of a pair must differ by, as a logarithm.
const NOTABLE: f64 = 0.1;
/// And in standard deviations of their noise.
const SURE: f64 = 4.0;
/// How many pairs must differ.
const LEAST: usize = 3;
/// The least noise of a time, as a logarithm: repeats in a row may all be alike.
const NOISE: f64 = 0.02;
/// Smaller values are not compared: at these a step of one is itself an effect.
const FROM: f64 = 48.0;

/// An input whose round values take other times.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Its name.
    pub input: String,
    /// The least round value that does.
    pub from: f64,
    /// The least and the greatest ratio of the times.
    pub ratios: (f64, f64),
}

impl std::fmt::Display for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { input, from, ratios: (low, high) } = self;
        write!(
            f,
            "round values of `{input}`, from {from} on, take {low:.2} to {high:.2} times as long as those beside them"
        )
    }
}

/// The inputs of these whose round values take other times than the values beside them, by pairs of
/// samples that are equal in all else.
#[must_use]
pub fn round_sensitive(samples: &ModelSamples, inputs: &[String]) -> Vec<Round> {
    let place = |name: &String| samples.columns.iter().position(|column| column.text == *name);
    let places: Vec<usize> = inputs.iter().filter_map(place).collect();
    let of = |(&input, name): (&usize, &String)| {
        // By the other inputs, then by this one: the logarithm of the time, and its noise.
        let mut all: BTreeMap<Vec<u64>, BTreeMap<u64, (f64, f64)>> = BTreeMap::new();
        for row in samples.rows.iter().filter(|row| !row.verify && row.seconds > 0.0) {
            let value = row.values[input];
            if value.fract() == 0.0 && value >= FROM - 1.0 {
                let others = places.iter().filter(|place| **place != input);
                let key = others.map(|place| row.values[*place].to_bits()).collect();
                let noise = (row.notes.spread / f64::from(row.notes.repeats.max(1)).sqrt()).max(NOISE);
                all.entry(key).or_default().insert(value as u64, (row.seconds.ln(), noise));
            }
        }
        let mut found: Vec<(u64, f64)> = Vec::new();
        for times in all.values() {
            for (value, (log, noise)) in times.iter().filter(|(value, _)| value.is_multiple_of(STEP)) {
                let beside = [value + 1, value - 1].iter().find_map(|beside| times.get(beside));
                let Some((other, of_other)) = beside else { continue };
                let apart = log - other;
                if apart.abs() > NOTABLE.max(SURE * noise.hypot(*of_other)) {
                    found.push((*value, apart));
                }
            }
        }
        let ratio = |apart: f64| apart.exp();
        let ratios = found.iter().map(|(_, apart)| ratio(*apart));
        (found.len() >= LEAST).then(|| Round {
            input: name.clone(),
            from: found.iter().map(|(value, _)| *value).min().unwrap_or_default() as f64,
            ratios: (ratios.clone().fold(f64::INFINITY, f64::min), ratios.fold(0.0, f64::max)),
        })
    };
    places.iter().zip(inputs).filter_map(of).collect()
}

/// The products of the terms with what is 1 at multiples of one of [`ROUND`], and 0 elsewhere; of a
/// model with parameters only at those of 64 and of 512, as its correction has the others.
#[must_use]
pub fn round_terms(terms: &[Expr], parameters: &[String], round: &[Round]) -> Vec<Expr> {
    let steps = if parameters.is_empty() { &ROUND[..] } else { &[ROUND[0], ROUND[3]] };
    let plain = |term: &&Expr| term.calls().is_empty() && !term.to_string().contains(KNEE);
    let kinds = round.iter().flat_map(|round| steps.iter().map(|step| multiple(&round.input, *step)));
    kinds
        .flat_map(|kind| {
            let products = terms.iter().filter(plain).map(move |term| format!("({term})*{kind}"));
            products.filter_map(|text| parse(&text).ok()).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::Samples;

    fn samples(longer: impl Fn(u64) -> f64) -> ModelSamples {
        let mut text = "model M n b\n".to_owned();
        for (place, n) in [64_u64, 65, 192, 193, 256, 257, 512, 513].into_iter().enumerate() {
            for b in [4_u64, 16] {
                let noise = 1.0 + 0.01 * ((place as u64 * 7 + b) % 5) as f64;
                text += &format!("M {:e} {n} {b}\n", 1e-9 * (n * n) as f64 * longer(n) * noise);
            }
        }
        Samples::parse(&text, "s").unwrap().models.remove(0)
    }

    #[test]
    fn round_values_that_take_longer_are_found_and_others_are_not() {
        let inputs = ["n".to_owned(), "b".to_owned()];
        let found = round_sensitive(&samples(|n| if n >= 192 && n % 64 == 0 { 2.0 } else { 1.0 }), &inputs);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].input.as_str(), found[0].from), ("n", 192.0));
        assert!(
            found[0].to_string().starts_with("round values of `n`, from 192 on, take 1."),
            "{}",
            found[0]
        );
        assert_eq!(round_sensitive(&samples(|_| 1.0), &inputs), []);
        // One pair alone is noise.
        assert_eq!(round_sensitive(&samples(|n| if n == 192 { 1.3 } else { 1.0 }), &inputs), []);
    }

    #[test]
    fn their_terms_are_products_that_are_zero_elsewhere() {
        let terms = ["n*n", "knee(n)*n"].map(|text| parse(text).unwrap());
        let round = Round { input: "n".into(), from: 64.0, ratios: (1.0, 2.0) };
        let terms = round_terms(&terms, &["b".to_owned()], &[round]);
        let values = |n: f64| -> Vec<f64> {
            terms
                .iter()
                .map(|term| strata_model::expr::Program::compile(term, &["n"]).unwrap().eval(&[n]))
                .collect()
        };
        assert_eq!(values(512.0), [262_144.0; 2]);
        assert_eq!(values(192.0), [36_864.0, 0.0]);
        assert_eq!([values(65.0), values(100.0)], [vec![0.0; 2], vec![0.0; 2]]);
    }
}
