//! Models as prices: a row a model, in the unit of who takes them, rounded up to whole numbers.
//!
//! A coefficient that is rounded up never prices less than the model, and a sum of such terms
//! neither, as long as no term is negative.

mod functions;
mod json;
mod table;
mod whole;

use strata_model::expr::{Expr, parse};
use strata_model::set::{Bound, Input, Kind, Model, ModelSet};
use strata_model::{Platform, Unit};

use crate::selection::seconds_of;

pub use functions::{c, rust};
pub use json::json;
pub use table::csv;

/// The constant term.
const CONSTANT: &str = "1";

/// What prices are in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pricing {
    /// The unit, and how many of it one of the model's own unit is; `None`: the model's own, and of
    /// whole numbers of seconds ps. In a set of several measures it is that of the times.
    pub unit: Option<(Unit, f64)>,
    /// Whether coefficients are rounded up to whole numbers.
    pub round_up: bool,
}

/// The prices of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// A row a model, in the order of the set.
    pub rows: Vec<Price>,
    /// Models without a row, and why, a sentence each.
    pub left_out: Vec<String>,
    /// What the user should know, a sentence each.
    pub warnings: Vec<String>,
    /// The hash of the set.
    pub models_sha256: String,
    /// Where the samples were taken.
    pub platform: Option<Platform>,
    /// The path of the spec; empty if there is none.
    pub spec: String,
    /// Whether coefficients are whole numbers.
    pub whole: bool,
    /// Whether any model is of time.
    times: bool,
}

/// The price of one model: a base, and other terms with their coefficients.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The model's name.
    pub name: String,
    /// The unit of the coefficients.
    pub unit: Unit,
    /// The inputs and their measured ranges.
    pub inputs: Vec<Input>,
    /// The coefficient of the constant term.
    pub base: f64,
    /// The other terms.
    pub terms: Vec<PriceTerm>,
    /// What the model promises as a bound.
    pub bound: Option<Bound>,
    /// Its verdict.
    pub verdict: String,
    /// One of its own unit in seconds, if that is time.
    second: Option<f64>,
}

/// A term that is not constant.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceTerm {
    /// Its text.
    pub text: String,
    /// The same as an expression.
    pub expr: Expr,
    /// Its coefficient, above zero unless the model is no bound.
    pub coefficient: f64,
}

/// A coefficient that becomes more than this many times as great by rounding is told.
const DEARER: f64 = 1.5;

impl Prices {
    /// The prices of the models of a set.
    ///
    /// # Errors
    /// A message: a coefficient that is negative, or too great for a whole number.
    pub fn new(set: &ModelSet, pricing: &Pricing) -> Result<Self, String> {
        let mut prices = Self {
            rows: Vec::new(),
            left_out: Vec::new(),
            warnings: Vec::new(),
            models_sha256: set.digest(),
            platform: set.platform.clone(),
            spec: set.spec.as_ref().map_or(String::new(), |spec| spec.path.clone()),
            whole: pricing.round_up,
            times: set.models.iter().any(|model| model.kind == Kind::Fitted && model.unit.is_seconds()),
        };
        for model in &set.models {
            match simple(model, set) {
                Ok(terms) => {
                    let row = prices.price(model, terms, pricing)?;
                    prices.rows.push(row);
                }
                Err(why) => prices.left_out.push(format!("model `{}` has no row: {why}", model.name)),
            }
        }
        Ok(prices)
    }

    fn price(&mut self, model: &Model, terms: Vec<PriceTerm>, pricing: &Pricing) -> Result<Price, String> {
        let own = (model.unit.clone(), 1.0);
        let of_others =
            !self.times && pricing.unit.as_ref().is_some_and(|(unit, _)| seconds_of(unit.name()).is_none());
        let (unit, factor) = match &pricing.unit {
            Some(unit) if model.unit.is_seconds() || of_others => unit.clone(),
            None if pricing.round_up && model.unit.is_seconds() => (picoseconds(), 1e12),
            _ => own,
        };
        let mut row = Price {
            name: model.name.clone(),
            inputs: model.inputs.clone(),
            base: 0.0,
            terms: Vec::new(),
            bound: model.bound,
            verdict: model.verdict.to_string(),
            second: model.unit.is_seconds().then_some(factor),
            unit,
        };
        for mut term in terms {
            let exact = term.coefficient * factor;
            term.coefficient = if pricing.round_up { self.whole(model, &term.text, exact)? } else { exact };
            if term.text == CONSTANT {
                row.base = term.coefficient;
            } else {
                row.terms.push(term);
            }
        }
        if pricing.round_up && model.bound.is_none() {
            self.warnings.push(format!(
                "model `{}` is no bound: its rounded sum lies above the mean, not above the samples; fit with `--upper 99%`",
                model.name
            ));
        }
        Ok(row)
    }

    fn whole(&mut self, model: &Model, term: &str, exact: f64) -> Result<f64, String> {
        if exact < 0.0 {
            return Err(format!(
                "model `{}`: the coefficient of `{term}` is negative, so that a rounded sum is no bound; fit with `--upper` \
                 or `--nonnegative`",
                model.name
            ));
        }
        let nearest = exact.round();
        // The product with the unit is rounded itself.
        let is_whole = (exact - nearest).abs() <= 4.0 * f64::EPSILON * exact;
        let whole = if is_whole { nearest } else { exact.ceil() };
        // Greater ones have no exact double.
        const MOST: f64 = 9_007_199_254_740_992.0;
        if whole > MOST {
            return Err(format!(
                "model `{}`: the coefficient of `{term}` is {whole:e}, too great for a whole number: name a greater unit",
                model.name
            ));
        }
        if whole > DEARER * exact && exact > 0.0 {
            self.warnings.push(format!(
                "model `{}`: rounding up makes `{term}` {:.1} times as dear; a smaller unit loses less (`--unit`)",
                model.name,
                whole / exact
            ));
        }
        Ok(whole)
    }
}

/// Picoseconds, in which chains price time.
fn picoseconds() -> Unit {
    "ps".parse().unwrap_or_default()
}

/// The terms of a model that is a plain sum; why it is not one.
fn simple(model: &Model, set: &ModelSet) -> Result<Vec<PriceTerm>, String> {
    match &model.kind {
        Kind::Unmeasured => return Err(format!("it is not known, {}", model.reason)),
        Kind::Factored { .. } => return Err("it is a formula over other models".into()),
        Kind::Fitted if model.correction.is_some() => {
            return Err("it has a table of factors beside its terms".into());
        }
        Kind::Fitted => {}
    }
    let mut terms = Vec::new();
    for term in model.terms.iter().filter(|term| term.coefficient != 0.0) {
        let expr =
            parse(&term.term).map_err(|error| format!("its term `{}` is wrong: {error}", term.term))?;
        if let Some(callee) = expr.calls().iter().find(|name| set.model(name).is_some()) {
            return Err(format!("its term `{}` calls model `{callee}`", term.term));
        }
        terms.push(PriceTerm { text: term.term.clone(), expr, coefficient: term.coefficient });
    }
    Ok(terms)
}

impl Price {
    fn docs(&self) -> Vec<String> {
        let promise = self
            .bound
            .map_or("No bound: the mean.".to_owned(), |bound| format!("A bound: {}.", bound.promise()));
        let mut lines = vec![format!("In {}, {}. {promise}", self.unit, self.verdict)];
        let ranges: Vec<String> = (self.inputs.iter())
            .map(|input| {
                let [min, max] = [input.min, input.max].map(strata_model::number_text);
                format!("{} in {min}..={max}", input.name)
            })
            .collect();
        if !ranges.is_empty() {
            lines.push(format!("Measured for {}; beyond it is extrapolated.", ranges.join(", ")));
        }
        lines
    }
}

/// Where prices come from, in lines.
fn origin(prices: &Prices) -> Vec<String> {
    let mut lines =
        vec![format!("Generated by specc export of models {}; do not edit.", prices.models_sha256)];
    if !prices.spec.is_empty() {
        lines.push(format!("Spec: {}.", strata_model::codegen::one_line(&prices.spec)));
    }
    if let Some(platform) = &prices.platform {
        lines.push(format!("Measured on {}.", strata_model::codegen::one_line(&platform.to_string())));
    }
    lines
}
