//! Prices as CSV, a row a term.

use csv::Writer;
use strata_model::number_text;

use super::{CONSTANT, Prices};

/// A row a term of a model, with what the model promises.
///
/// # Errors
/// A message; writing to memory does not fail.
pub fn csv(prices: &Prices) -> Result<String, String> {
    let mut out = Writer::from_writer(Vec::new());
    let wrong = |error: csv::Error| error.to_string();
    out.write_record(["model", "term", "coefficient", "unit", "upper", "confidence", "covered", "verdict"])
        .map_err(wrong)?;
    for price in &prices.rows {
        let of_bound = |value: fn(&strata_model::set::Bound) -> f64| {
            price.bound.as_ref().map_or(String::new(), |bound| number_text(value(bound)))
        };
        let base = (CONSTANT, price.base);
        let terms = price.terms.iter().map(|term| (&*term.text, term.coefficient));
        for (term, coefficient) in [base].into_iter().filter(|(_, base)| *base != 0.0).chain(terms) {
            out.write_record([
                &price.name,
                term,
                &number_text(coefficient),
                price.unit.name(),
                &of_bound(|bound| bound.share),
                &of_bound(|bound| bound.confidence),
                &of_bound(|bound| bound.covered),
                &price.verdict,
            ])
            .map_err(wrong)?;
        }
    }
    let bytes = out.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}
