//! Prepares a model set for use: parses, checks, inlines and compiles it.

use std::collections::BTreeMap;

use super::check::{check_model, check_name, content, parse};
use super::compiled::{Compiled, Models};
use super::inline::{Check, FitSpread, Formula, Inliner, MAX_CHAIN};
use super::library::LibraryModels;
use super::{Corrected, Kind, Mode, Model, ModelSet, SetError};
use crate::Kinds;
use crate::Prediction;
use crate::expr::{BinaryOp, Expr};

/// The models of a set, ready to predict; [`set`](super) has an example.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub(super) models: Models,
    pub(super) kinds: Kinds,
    libraries: Vec<LibraryModels>,
}

impl ModelSet {
    /// Parses, checks and compiles every model and library.
    ///
    /// # Errors
    /// The first error, with its model or library: a name that is unknown or used twice, text that
    /// is not an expression, models that call each other in a circle, a covariance of another size
    /// than the terms, …
    pub fn resolve(&self) -> Result<Resolved, SetError> {
        let mut work =
            Resolving { set: self, order: Vec::new(), inlined: BTreeMap::new(), models: Vec::new() };
        for model in &self.models {
            check_name(&format!("model `{}`", model.name), &model.name)?;
            if self.models.iter().filter(|other| other.name == model.name).count() > 1 {
                return content(
                    &format!("model `{}`", model.name),
                    "there are two models of this name".into(),
                );
            }
        }
        for model in &self.models {
            work.visit(&model.name, &mut Vec::new())?;
        }
        let index = work.order.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect();
        let models = Models { compiled: work.models.into(), index, inlined: work.inlined };
        let mut resolved = Resolved { models, kinds: self.kinds.clone(), libraries: Vec::new() };
        for library in &self.libraries {
            if resolved.library(&library.name).is_some() {
                return content(
                    &format!("library `{}`", library.name),
                    "there are two libraries of this name".into(),
                );
            }
            let library = LibraryModels::new(&resolved.models, library, self.platform.as_ref())?;
            resolved.libraries.push(library);
        }
        Ok(resolved)
    }
}

impl Resolved {
    /// The predicted time in seconds and the 95 % interval of a new measurement.
    ///
    /// `None` for a model that does not exist, another number of inputs, outside the measured
    /// range, if a requirement of the model or of one that it calls fails, on an unmeasured number
    /// of nodes, and if the result is negative or not finite.
    ///
    /// The interval of a fitted model is t √(x'Σx + noise); that of a factored model is the root of
    /// the sum of squares of the contributions of the models that it calls, by finite differences.
    #[must_use]
    pub fn predict(&self, model: &str, nodes: usize, inputs: &[f64]) -> Option<Prediction> {
        self.find(model)?.predict(&self.models.compiled, nodes, inputs)
    }

    /// Whether a prediction extrapolates inside the measured ranges: its leverage is well above
    /// that of every sample, as in a corner of the ranges without measurements. `None` if
    /// [`predict`](Self::predict) is `None`.
    #[must_use]
    pub fn extrapolates(&self, model: &str, nodes: usize, inputs: &[f64]) -> Option<bool> {
        self.seconds(model, nodes, inputs)?;
        self.find(model)?.extrapolates(&self.models.compiled, nodes, inputs)
    }

    /// Only the predicted time, in seconds. Faster than [`predict`](Self::predict), with the same
    /// conditions.
    #[must_use]
    pub fn seconds(&self, model: &str, nodes: usize, inputs: &[f64]) -> Option<f64> {
        self.find(model)?.seconds(nodes, inputs, &[])
    }

    /// The formula of a model's predictions.
    #[must_use]
    pub fn formula(&self, model: &str) -> Option<&Formula> {
        Some(&self.find(model)?.formula)
    }

    /// The libraries, in the order of the set.
    #[must_use]
    pub fn libraries(&self) -> &[LibraryModels] {
        &self.libraries
    }

    /// The library of this name.
    #[must_use]
    pub fn library(&self, name: &str) -> Option<&LibraryModels> {
        self.libraries.iter().find(|library| library.name() == name)
    }

    fn find(&self, model: &str) -> Option<&Compiled> {
        self.models.find(model)
    }
}

fn linear(terms: &[(f64, Expr)]) -> Expr {
    let mut sum: Option<Expr> = None;
    for (coefficient, term) in terms {
        let coefficient = Expr::number(*coefficient);
        let addend = match term.as_number() {
            Some(1.0) => coefficient,
            _ => Expr::binary(BinaryOp::Multiply, coefficient, term.clone()),
        };
        sum = Some(match sum {
            Some(sum) => Expr::binary(BinaryOp::Add, sum, addend),
            None => addend,
        });
    }
    // A model without terms must not predict a time of zero.
    sum.unwrap_or_else(|| Expr::number(f64::NAN))
}

struct Resolving<'a> {
    set: &'a ModelSet,
    /// The names of the compiled models, in their order.
    order: Vec<String>,
    inlined: BTreeMap<String, Formula>,
    models: Vec<Compiled>,
}

impl Resolving<'_> {
    /// Compiles a model after those that it calls. `path`: the chain of its callers.
    fn visit(&mut self, name: &str, path: &mut Vec<String>) -> Result<(), SetError> {
        if self.inlined.contains_key(name) {
            return Ok(());
        }
        let place = format!("model `{name}`");
        if path.iter().any(|caller| caller == name) {
            return content(&place, format!("it calls itself: {} -> {name}", path.join(" -> ")));
        }
        if path.len() >= MAX_CHAIN {
            return content(&place, format!("more than {MAX_CHAIN} models call each other in a chain"));
        }
        let Some(model) = self.set.model(name) else {
            // The caller reports it, with its place.
            return Ok(());
        };
        check_model(&place, model)?;
        let terms = kept_terms(&place, model)?;
        let whole = match &model.kind {
            Kind::Factored { expression } => parse(&place, "the expression", expression)?,
            Kind::Fitted => linear(&terms),
            Kind::Unmeasured => Expr::number(f64::NAN),
        };
        let requires = model.requires.iter().map(|text| parse(&place, "the requirement", text));
        let requires = requires.collect::<Result<Vec<_>, _>>()?;
        path.push(name.to_owned());
        for called in [&whole].into_iter().chain(&requires).flat_map(Expr::calls) {
            self.visit(&called, path)?;
        }
        path.pop();
        let mut inliner = Inliner::new(&place, &self.inlined, model.nodes);
        let mean = inliner.inline(&whole)?;
        for condition in &requires {
            let condition = inliner.inline(condition)?;
            inliner.check(Check::Require(condition));
        }
        if inliner.chain > MAX_CHAIN {
            return content(&place, format!("more than {MAX_CHAIN} models call each other in a chain"));
        }
        inliner.take_correction(None)?;
        let fitted = terms.into_iter().filter(|_| model.kind == Kind::Fitted);
        let (coefficients, terms) = fitted.unzip();
        let formula = Formula {
            inputs: model.inputs.iter().map(|input| input.name.clone()).collect(),
            ranges: model.inputs.iter().map(|input| (input.min, input.max)).collect(),
            mean,
            correction: corrected(&place, model)?,
            contrast: model.contrast,
            outer: whole,
            terms,
            coefficients,
            fit: fit_spread(model),
            nodes: inliner.nodes,
            cost: inliner.cost,
            chain: inliner.chain,
            own_error: inliner.own_error.max(model.own_error),
            verdict: match model.kind {
                Kind::Fitted | Kind::Unmeasured => model.verdict,
                Kind::Factored { .. } => inliner.verdict.unwrap_or_default(),
            },
            checks: inliner.checks,
        };
        let index = |name: &str| self.order.iter().position(|known| known == name);
        let compiled = Compiled::new(formula, &place, &index)?;
        // With the ranges after compiling, which callers need.
        self.inlined.insert(name.to_owned(), compiled.formula.clone());
        self.order.push(name.to_owned());
        self.models.push(compiled);
        Ok(())
    }
}

fn kept_terms(place: &str, model: &Model) -> Result<Vec<(f64, Expr)>, SetError> {
    let mut kept = Vec::new();
    for term in &model.terms {
        let parsed = parse(place, "the term", &term.term)?;
        if term.relevant {
            kept.push((term.coefficient, parsed));
        }
    }
    Ok(kept)
}

fn corrected(place: &str, model: &Model) -> Result<Option<Corrected>, SetError> {
    let Some(table) = model.correction.clone() else { return Ok(None) };
    let at = table.axes.iter().map(|axis| parse(place, "the axis", &axis.value()));
    let at = at.collect::<Result<_, _>>()?;
    Ok(Some(Corrected { model: model.name.clone(), table: table.into(), at }))
}

fn fit_spread(model: &Model) -> FitSpread {
    if model.kind != Kind::Fitted {
        return FitSpread::default();
    }
    let kept: Vec<usize> = (0..model.terms.len()).filter(|place| model.terms[*place].relevant).collect();
    let covariance = if model.covariance.is_empty() {
        Vec::new()
    } else {
        kept.iter().flat_map(|row| kept.iter().map(|column| model.covariance[*row][*column])).collect()
    };
    // In relative mode a weight is y/ȳ, so the noise at ŷ is V (ŷ/ȳ)².
    let relative = model.mode == Mode::Relative && model.mean_time > 0.0;
    let noise = if relative {
        model.noise_variance / (model.mean_time * model.mean_time)
    } else {
        model.noise_variance
    };
    FitSpread {
        covariance,
        noise,
        relative,
        t_quantile: model.t_quantile,
        leverage_limit: model.leverage_limit,
        own_error: model.known_own_error(),
    }
}
