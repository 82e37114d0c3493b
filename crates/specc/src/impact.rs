//! What moves a predicted time: its inputs, the number of nodes, and the costs of the machine, which
//! are the coefficients of the fitted models that it is made of.
//!
//! The elasticity of a cause is by how many per cent the time moves if the cause grows by one per
//! cent. That of a coefficient is its share of the time; that of an input follows from the symbolic
//! derivative of the formula. What a finite change does (a cost halved, an input doubled) is
//! predicted anew, since another candidate may then be the fastest.
//!
//! Source: Brewer (1994), §8.1.1 (impact reports) and §8.1.2 (symbolic derivatives).

use serde::Serialize;
use strata_model::ModelSet;
use strata_model::expr::{Expr, RESERVED, node_values};
use strata_model::set::{Formula, Kind, Resolved, Sensitivity};

use crate::advise::places;
use crate::competition::Competition;

/// The step of an input for a formula that has no derivative, relative to the input.
const STEP: f64 = 1e-3;

/// Elasticities that differ by less are alike.
const ALIKE: f64 = 0.005;

/// What can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An input, a parameter of the candidate, or `P`.
    Input(String),
    /// All coefficients of a model.
    Model(String),
    /// The coefficient of a term, by its index.
    Term(String, usize),
}

impl Cause {
    /// Whether it is this cost, or one of its terms, or a whole of which this is a term.
    #[must_use]
    pub fn is_of(&self, cost: &Self) -> bool {
        let model = |cause: &Self| match cause {
            Self::Input(_) => None,
            Self::Model(name) | Self::Term(name, _) => Some(name.clone()),
        };
        self == cost
            || (matches!(self, Self::Model(_)) || matches!(cost, Self::Model(_)))
                && model(self).is_some()
                && model(self) == model(cost)
    }
}

/// A cause and what it does at each point where it takes part.
#[derive(Clone, Debug)]
pub struct Effect {
    /// What changes.
    pub cause: Cause,
    /// At each point, `None` where it takes no part.
    pub at: Vec<Option<Moved>>,
}

/// How a cause moves the time at one point.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Moved {
    /// The input's value; for a cost the seconds that it contributes.
    pub now: f64,
    /// The relative change of the time over the relative change of the cause.
    pub elasticity: f64,
    /// The relative change of the time where an input is doubled, or a cost halved; `None` where
    /// nothing is predicted then.
    pub changed: Option<f64>,
}

/// A prediction at one point.
#[derive(Clone, Debug)]
pub struct Point {
    /// The values of the inputs, in order.
    pub inputs: Vec<f64>,
    /// The predicted time, s.
    pub seconds: f64,
    /// For a library, the candidate taken and its parameters by name.
    pub taken: Option<(String, Vec<(String, i64)>)>,
}

/// A model or library whose time is asked for.
pub struct Subject<'a> {
    set: &'a ModelSet,
    resolved: Resolved,
    what: What,
    nodes: usize,
}

enum What {
    Model(String),
    Library(Box<Competition>),
}

/// What is known of one point.
struct Here<'s> {
    seconds: f64,
    formula: &'s Formula,
    /// The values of the formula's inputs.
    values: Vec<f64>,
    sensitivity: Sensitivity,
    /// The names of parameters with their values, and the candidate.
    taken: Option<(String, Vec<(String, i64)>)>,
}

impl<'a> Subject<'a> {
    /// The model or library `name` of a set on so many nodes; those that were measured without a
    /// number.
    ///
    /// # Errors
    /// The set is not valid, or has nothing of that name; a message.
    pub fn new(set: &'a ModelSet, name: &str, nodes: Option<usize>) -> Result<Self, String> {
        let resolved = set.resolve().map_err(|error| error.to_string())?;
        let what = if set.library(name).is_some() {
            let competition = Competition::new(set, name).map_err(|error| error.to_string())?;
            What::Library(Box::new(competition.on(nodes)))
        } else {
            match set.model(name) {
                Some(model) if model.kind != Kind::Unmeasured => What::Model(name.to_owned()),
                Some(model) => return Err(format!("`{name}` predicts nothing: {}", model.reason)),
                None => return Err(format!("there is no model or library `{name}`")),
            }
        };
        Ok(Self { set, resolved, what, nodes: nodes.unwrap_or_else(|| set.nodes()) })
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The names of the inputs.
    #[must_use]
    pub fn inputs(&self) -> Vec<String> {
        match &self.what {
            What::Library(competition) => competition.inputs().to_vec(),
            What::Model(name) => self
                .set
                .model(name)
                .map_or(Vec::new(), |model| model.inputs.iter().map(|input| input.name.clone()).collect()),
        }
    }

    /// Points at the given inputs, spread over the ranges of the others; those without a prediction
    /// are left out.
    ///
    /// # Errors
    /// The inputs that must be given, as no measurement limits them.
    pub fn points(&self, given: &[Option<f64>]) -> Result<Vec<Point>, Vec<String>> {
        let range = |at: usize| match &self.what {
            What::Library(competition) => (competition.range(at), competition.is_whole(at)),
            What::Model(name) => {
                let formula = self.resolved.formula(name);
                let range = formula.and_then(|formula| formula.ranges.get(at).copied());
                let whole = self.set.model(name).and_then(|model| model.inputs.get(at));
                (range.unwrap_or((f64::NAN, f64::NAN)), whole.is_some_and(|input| input.integer))
            }
        };
        let one = |(at, given): (usize, &Option<f64>)| match given {
            Some(value) => ((*value, *value), false),
            None => range(at),
        };
        let ranges: Vec<_> = given.iter().enumerate().map(one).collect();
        let point = |inputs: Vec<f64>| {
            let here = self.here(&inputs)?;
            Some(Point { seconds: here.seconds, taken: here.taken, inputs })
        };
        let endless = |((low, high), _): &((f64, f64), bool)| !low.is_finite() || !high.is_finite();
        let names = self.inputs().into_iter().zip(&ranges).filter(|(_, range)| endless(range));
        let places = places(&ranges).ok_or_else(|| names.map(|(name, _)| name).collect::<Vec<_>>())?;
        Ok(places.into_iter().filter_map(point).collect())
    }

    fn here(&self, inputs: &[f64]) -> Option<Here<'_>> {
        match &self.what {
            What::Model(name) => Some(Here {
                seconds: self.resolved.seconds(name, self.nodes, inputs)?,
                formula: self.resolved.formula(name)?,
                values: inputs.to_vec(),
                sensitivity: self.resolved.sensitivity(name, self.nodes, inputs)?,
                taken: None,
            }),
            What::Library(competition) => {
                let choice = competition.choose(inputs, None).ok()?;
                let at = competition.candidates().iter().position(|row| row.name == choice.name)?;
                let parameters = choice.parameters.to_vec();
                let named = competition.candidates()[at].declared.iter().map(|one| one.name.to_owned());
                let sensitivity = competition.sensitivity(at, inputs, &parameters)?;
                let values = parameters.iter().map(|value| *value as f64);
                Some(Here {
                    seconds: sensitivity.seconds,
                    formula: competition.formula(at)?,
                    values: inputs.iter().copied().chain(values).collect(),
                    sensitivity,
                    taken: Some((choice.name.to_owned(), named.zip(parameters.iter().copied()).collect())),
                })
            }
        }
    }

    /// What each cause does at these points, those that move the time most first.
    #[must_use]
    pub fn effects(&self, points: &[Point]) -> Vec<Effect> {
        let mut effects: Vec<Effect> = Vec::new();
        let mut add = |cause: Cause, place: usize, moved: Moved| {
            let of = effects.iter().position(|effect| effect.cause == cause).unwrap_or_else(|| {
                effects.push(Effect { cause, at: vec![None; points.len()] });
                effects.len() - 1
            });
            effects[of].at[place] = Some(moved);
        };
        for (place, point) in points.iter().enumerate() {
            let Some(here) = self.here(&point.inputs) else { continue };
            for (cause, moved) in self.by_inputs(&here, point).into_iter().chain(self.by_costs(&here)) {
                add(cause, place, moved);
            }
        }
        for effect in &mut effects {
            let factor = if matches!(effect.cause, Cause::Input(_)) { continue } else { 0.5 };
            let set = changed(self.set, &effect.cause, factor);
            let Ok(other) = Subject::new(&set, self.name(), Some(self.nodes)) else { continue };
            for (moved, point) in effect.at.iter_mut().zip(points) {
                if let Some(moved) = moved {
                    moved.changed = other.here(&point.inputs).map(|here| here.seconds / point.seconds - 1.0);
                }
            }
        }
        effects.sort_by(|a, b| b.greatest().total_cmp(&a.greatest()));
        // A model that costs what one of its terms does says nothing more.
        let is_a_term = |whole: &Effect| match &whole.cause {
            Cause::Model(name) => effects.iter().any(|effect| match &effect.cause {
                Cause::Term(model, _) => model == name && effect.is_like(whole),
                _ => false,
            }),
            _ => false,
        };
        let told: Vec<bool> = effects.iter().map(|effect| !is_a_term(effect)).collect();
        let mut told = told.into_iter();
        effects.retain(|_| told.next().unwrap_or(true));
        effects
    }

    /// The name of the model or library.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.what {
            What::Model(name) => name,
            What::Library(competition) => competition.name(),
        }
    }

    fn by_inputs(&self, here: &Here<'_>, point: &Point) -> Vec<(Cause, Moved)> {
        let names = here.formula.inputs.iter().map(String::as_str);
        let all = names.zip(here.values.iter().copied()).chain([(RESERVED[0], self.nodes as f64)]);
        let moved = |(at, (name, now)): (usize, (&str, f64))| {
            let elasticity = match derivative(here.formula, name) {
                Some(slope) => slope_at(&slope, here, self.nodes)? * now / here.seconds,
                None => {
                    let time = |factor: f64| self.with_input(point, at, now * factor, self.nodes);
                    (time(1.0 + STEP)? - time(1.0 - STEP)?) / (2.0 * STEP * here.seconds)
                }
            };
            // A parameter is chosen, not given.
            let doubled = if name == RESERVED[0] {
                self.with_input(point, usize::MAX, now, 2 * self.nodes)
            } else if at < point.inputs.len() {
                self.with_input(point, at, 2.0 * now, self.nodes)
            } else {
                None
            };
            let changed = doubled.map(|seconds| seconds / here.seconds - 1.0);
            Some((Cause::Input(name.to_owned()), Moved { now, elasticity, changed }))
        };
        // A kind is no quantity: it cannot be doubled.
        all.enumerate()
            .filter(|(_, (name, _))| !self.set.kinds.contains_key(*name))
            .filter_map(moved)
            .collect()
    }

    /// The time with another value of one input, or on other nodes.
    fn with_input(&self, point: &Point, at: usize, value: f64, nodes: usize) -> Option<f64> {
        let mut inputs = point.inputs.clone();
        if let Some(input) = inputs.get_mut(at) {
            *input = value;
        }
        match &self.what {
            What::Model(name) => self.resolved.seconds(name, nodes, &inputs),
            What::Library(_) if nodes != self.nodes => {
                Subject::new(self.set, self.name(), Some(nodes)).ok()?.here(&inputs).map(|here| here.seconds)
            }
            What::Library(_) => self.here(&inputs).map(|here| here.seconds),
        }
    }

    fn by_costs(&self, here: &Here<'_>) -> Vec<(Cause, Moved)> {
        let mut found = Vec::new();
        for (place, parts) in &here.sensitivity.parts {
            let Some(model) =
                self.set.models.iter().find(|one| self.resolved.place(&one.name) == Some(*place))
            else {
                continue;
            };
            let kept = model.terms.iter().enumerate().filter(|(_, term)| term.relevant);
            let mut whole = 0.0;
            let mut own = Vec::new();
            for ((index, term), slope) in kept.zip(parts) {
                let now = term.coefficient * slope;
                whole += now;
                own.push((Cause::Term(model.name.clone(), index), now));
            }
            // Of a model that is all of the time, only its terms say something.
            if own.len() > 1 && here.sensitivity.parts.len() > 1 && model.name != self.name() {
                own.push((Cause::Model(model.name.clone()), whole));
            }
            let moved = |now: f64| Moved { now, elasticity: now / here.seconds, changed: None };
            found.extend(own.into_iter().map(|(cause, now)| (cause, moved(now))));
        }
        found
    }

    /// The derivatives by each input and `P` where a point lies, as formulas; for a library, of the
    /// candidate taken there.
    #[must_use]
    pub fn formulas(&self, point: &Point) -> Vec<(String, Expr)> {
        let Some(here) = self.here(&point.inputs) else { return Vec::new() };
        let names = here.formula.inputs.iter().map(String::as_str).chain([RESERVED[0]]);
        let one = |name: &str| Some((name.to_owned(), derivative(here.formula, name)?));
        names.filter_map(one).collect()
    }
}

impl Effect {
    /// Whether both move the time alike at all points.
    fn is_like(&self, other: &Self) -> bool {
        let pairs = self.at.iter().flatten().zip(other.at.iter().flatten());
        pairs.map(|(a, b)| (a.elasticity - b.elasticity).abs()).fold(0.0, f64::max) < ALIKE
    }

    /// The greatest elasticity without its sign.
    #[must_use]
    pub fn greatest(&self) -> f64 {
        self.at.iter().flatten().map(|moved| moved.elasticity.abs()).fold(0.0, f64::max)
    }
}

/// The derivative of a formula; `None` if its terms alone do not give the time.
fn derivative(formula: &Formula, name: &str) -> Option<Expr> {
    if formula.correction.is_some() { None } else { formula.mean.derivative(name) }
}

fn slope_at(slope: &Expr, here: &Here<'_>, nodes: usize) -> Option<f64> {
    let value = |name: &str| {
        let input = here.formula.inputs.iter().position(|input| input == name);
        match input {
            Some(at) => here.values.get(at).copied(),
            None => Some(node_values(nodes)[RESERVED.iter().position(|reserved| *reserved == name)?]),
        }
    };
    slope.eval(&value).ok().filter(|slope| slope.is_finite())
}

/// A set in which a cost is multiplied by `factor`; an input changes nothing.
#[must_use]
pub fn changed(set: &ModelSet, cause: &Cause, factor: f64) -> ModelSet {
    let mut set = set.clone();
    let (Cause::Model(name) | Cause::Term(name, _)) = cause else { return set };
    for model in set.models.iter_mut().filter(|model| model.name == *name) {
        if let Kind::Factored { expression } = &mut model.kind {
            *expression = format!("{factor}*({expression})");
        }
        for (index, term) in model.terms.iter_mut().enumerate() {
            if !matches!(cause, Cause::Term(_, only) if *only != index) {
                term.coefficient *= factor;
            }
        }
    }
    set
}
