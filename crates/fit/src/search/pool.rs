//! The candidates of a search: products of powers and logarithms of the inputs, and breakpoints.
//!
//! Costs of algorithms and of messages are sums of a few such products: Calotoiu et al., *Using
//! automated performance modeling to find scalability bugs in complex codes* (2013), §3.1, call
//! this the performance model normal form. Here a term may also apply only above a breakpoint,
//! since protocols and caches change with size.
//!
//! Steep products, and those of a logarithm and a power of one input, are too many to be tried all:
//! a search grows them, factor by factor, from the products of its best sets ([`grown`]).

use nalgebra::DMatrix;
use strata_model::expr::{Expr, Program, parse};

use crate::knee::LEAST_PIECE;

/// The usual exponents and powers of the logarithm of one input alone.
const ALONE: [(f64, u8); 18] = [
    (0.0, 1),
    (0.0, 2),
    (0.5, 0),
    (0.5, 1),
    (1.0, 0),
    (1.0, 1),
    (1.0, 2),
    (1.5, 0),
    (1.5, 1),
    (2.0, 0),
    (2.0, 1),
    (3.0, 0),
    (3.0, 1),
    (1.0 / 3.0, 0),
    (2.0 / 3.0, 0),
    (-1.0, 0),
    (-0.5, 0),
    (-1.0, 1),
];
/// The same for a factor of a product of two; all but the last for one of three, and for an input
/// with fewer than [`BENT`] values.
const PAIRED: [(f64, u8); 8] =
    [(0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (2.0, 0), (-1.0, 0), (-0.5, 0), (1.5, 0)];
const FACTORS: &[(f64, u8)] = PAIRED.split_last().unwrap().1;
/// The usual powers of a factor of a grown product, rising.
const LADDER: [f64; 8] = [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0];
/// All powers: the usual ones, and those of Extra-P's default search space, by quarters and thirds.
/// With up to [`LOGS`] logarithms they are tried for an input whose values tell them apart: at
/// least so many over so wide a range.
const POWERS: [f64; 21] = [
    -1.0,
    -0.5,
    0.0,
    0.25,
    1.0 / 3.0,
    0.5,
    2.0 / 3.0,
    0.75,
    1.0,
    1.25,
    4.0 / 3.0,
    1.5,
    5.0 / 3.0,
    1.75,
    2.0,
    2.25,
    7.0 / 3.0,
    2.5,
    8.0 / 3.0,
    2.75,
    3.0,
];
const LOGS: u8 = 2;
const FINE_VALUES: usize = 5;
const FINE_RANGE: f64 = 8.0;
/// The additional complexity of an unusual factor.
const FINE_COMPLEXITY: u8 = 2;
/// How many of all powers a factor may grow by at once.
const REACH: usize = 2;
/// The same for a factor beside a breakpoint of another input.
const BESIDE: [(f64, u8); 3] = [(1.0, 0), (0.0, 1), (-1.0, 0)];
/// The least number of distinct values of an input for which steep powers of it are tried: with
/// fewer, every function fits equally well, and a steep one is far off outside them.
const BENT: usize = 3;
/// The most inputs of a product.
const MAX_FACTORS: usize = 3;
/// The most distinct values of an input between which breakpoints are tried.
const MAX_BREAKS: usize = 40;
/// The places of grown products, of usual factors and of others.
const GROWN: [usize; 2] = [usize::MAX - 1, usize::MAX];
/// The complexity of a hinge.
const HINGE: u8 = 4;

/// A factor of a product: an input to a power, times a power of its logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factor {
    input: usize,
    shape: (f64, u8),
}

/// A candidate term.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) expr: Expr,
    /// Its factors by rising input; none for the constant and beside a breakpoint.
    pub(super) factors: Vec<Factor>,
    /// Its functions of single inputs: the input, and a number of the function.
    pub(super) functions: Vec<(usize, u32)>,
    /// Its place among the candidates; grown ones are last.
    pub(super) place: usize,
    /// Where it breaks.
    pub(super) breakpoint: Option<Break>,
    /// 0 for the constant, 1 for an input by itself, more for terms with more parts or rare in
    /// costs.
    pub(super) complexity: u8,
}

/// A breakpoint: a term that is zero up to some value of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Break {
    /// Which input.
    pub(super) input: usize,
    /// Its value.
    pub(super) at: f64,
    /// The next measured value.
    pub(super) next: f64,
    /// Whether the term rises from zero rather than jumping.
    pub(super) continuous: bool,
}

/// An input in the samples.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) name: String,
    /// Its distinct values, rising.
    pub(super) values: Vec<f64>,
    /// Whether it is a parameter of candidates. Its effect then has no steps, because many of its
    /// values would tie, and does not begin at a step of another input, because the best value
    /// would jump.
    pub(super) parameter: bool,
}

impl Candidate {
    /// Whether it was grown and, if so, to unusual factors.
    pub(super) fn grown(&self) -> Option<bool> {
        (self.place >= GROWN[0]).then_some(self.place == GROWN[1])
    }
}

impl Factor {
    fn is_fine(self) -> bool {
        !ALONE.contains(&self.shape)
    }

    /// Whether products often have it.
    fn is_usual(self) -> bool {
        let (power, log) = self.shape;
        LADDER.contains(&power) && (log == 0 || log == 1 && power >= 0.0 && power.fract() == 0.0)
    }

    /// A number of its function.
    fn function(self) -> (usize, u32) {
        let (power, log) = self.shape;
        (self.input, (12.0 * (power + 4.0)).round() as u32 * 8 + u32::from(log))
    }
}

impl Input {
    pub(super) fn new(name: &str, values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        Self { name: name.to_owned(), values, parameter: false }
    }

    /// How many functions of it can be told apart, besides the constant.
    pub(super) fn bears(&self) -> usize {
        (self.values.len() / 2).max(1)
    }

    fn least(&self) -> f64 {
        self.values.first().copied().unwrap_or(0.0)
    }

    /// Whether its values tell all [`POWERS`] apart.
    fn is_fine(&self) -> bool {
        let greatest = self.values.last().copied().unwrap_or(0.0);
        self.values.len() >= FINE_VALUES && self.least() > 0.0 && greatest >= FINE_RANGE * self.least()
    }

    /// A power of the input times a power of its logarithm; `None` if that is not a number or not a
    /// cost, and if too few values were measured to distinguish it from a flatter one.
    fn factor(&self, (power, log): (f64, u8)) -> Option<String> {
        let name = &self.name;
        let least = self.least();
        if self.values.len() < BENT && !FACTORS.contains(&(power, log))
            || !ALONE.contains(&(power, log)) && !self.is_fine()
        {
            return None;
        }
        if log > 0 && least < 1.0 || power.fract() != 0.0 && least < 0.0 || power < 0.0 && least <= 0.0 {
            return None;
        }
        let power = match power {
            0.0 => String::new(),
            1.0 => name.clone(),
            0.5 => format!("sqrt({name})"),
            -1.0 => format!("1/{name}"),
            -0.5 => format!("1/sqrt({name})"),
            p if (2.0 * p).fract() == 0.0 => format!("{name}^{p}"),
            p if (4.0 * p).fract() == 0.0 => format!("{name}^({}/4)", 4.0 * p),
            p => format!("{name}^({}/3)", (3.0 * p).round()),
        };
        let log = match log {
            0 => String::new(),
            1 => format!("log2({name})"),
            p => format!("log2({name})^{p}"),
        };
        Some(match (power.is_empty(), log.is_empty()) {
            (false, false) if power.starts_with("1/") => format!("{log}{}", &power[1..]),
            (false, false) => format!("{power}*{log}"),
            _ => power + &log,
        })
    }
}

/// Joins factors; divisors come last.
fn product(factors: &[String]) -> String {
    let (over, plain): (Vec<&String>, Vec<&String>) = factors.iter().partition(|f| f.starts_with("1/"));
    let plain: Vec<&str> = plain.iter().map(|f| f.as_str()).collect();
    let mut text = if plain.is_empty() { "1".to_owned() } else { plain.join("*") };
    for f in over {
        text += &f[1..];
    }
    text
}

/// The parts of a term; powers of logarithms, odd roots and powers, and divisions by roots count
/// twice.
fn complexity(text: &str) -> u8 {
    let parts = ["*", "/", "log2", "sqrt", "^", ">", ")^2", "^1.5", "^(1/3)", "^(2/3)", "^3", "1/sqrt"];
    1 + parts.iter().map(|part| text.matches(part).count() as u8).sum::<u8>()
}

/// The product of some factors; `None` if an input does not have such a factor.
fn term(factors: Vec<Factor>, inputs: &[Input]) -> Option<Candidate> {
    let texts: Option<Vec<String>> = factors.iter().map(|f| inputs[f.input].factor(f.shape)).collect();
    let text = product(&texts?);
    let fine = factors.iter().filter(|f| f.is_fine()).count() as u8;
    let complexity = complexity(&text) + FINE_COMPLEXITY * fine;
    let functions = factors.iter().map(|f| f.function()).collect();
    Some(Candidate { expr: parse(&text).ok()?, factors, functions, place: 0, complexity, breakpoint: None })
}

fn varying(inputs: &[Input]) -> impl Iterator<Item = usize> {
    (0..inputs.len()).filter(|i| inputs[*i].values.len() > 1)
}

/// The candidates over the inputs that vary, the simplest first and at most `most`, and whether
/// some were left out.
pub(super) fn candidates(inputs: &[Input], constant: bool, most: usize) -> (Vec<Candidate>, bool) {
    let of =
        |input: usize, shapes: &'static [(f64, u8)]| shapes.iter().map(move |s| Factor { input, shape: *s });
    let mut all: Vec<Candidate> = Vec::new();
    if constant {
        all.extend(term(Vec::new(), inputs).map(|one| Candidate { complexity: 0, ..one }));
    }
    for input in varying(inputs) {
        let usual = of(input, &ALONE);
        let fine = POWERS.iter().flat_map(|power| (0..=LOGS).map(|log| (*power, log)));
        let fine = fine.filter(|s| s.0 >= 0.0 && *s != (0.0, 0)).map(|shape| Factor { input, shape });
        all.extend(usual.chain(fine.filter(|f| f.is_fine())).filter_map(|f| term(vec![f], inputs)));
    }
    // Products of two, then breakpoints, then products of three.
    let mut open: Vec<Vec<Factor>> = varying(inputs).flat_map(|i| of(i, &PAIRED)).map(|f| vec![f]).collect();
    for count in 2..=MAX_FACTORS {
        let mut longer = Vec::new();
        let shapes = if count == 2 { &PAIRED } else { FACTORS };
        open.retain(|factors| count == 2 || factors.iter().all(|f| FACTORS.contains(&f.shape)));
        'all: for factors in &open {
            let after = factors.last().map_or(0, |last| last.input + 1);
            for factor in varying(inputs).filter(|i| *i >= after).flat_map(|i| of(i, shapes)) {
                if all.len() > most {
                    break 'all;
                }
                let factors = [factors.as_slice(), &[factor]].concat();
                if let Some(product) = term(factors.clone(), inputs) {
                    all.push(product);
                    longer.push(factors);
                }
            }
        }
        open = longer;
        if count == 2 {
            let broken = inputs.iter().enumerate().filter(|(_, i)| i.values.len() >= 2 * LEAST_PIECE);
            broken.for_each(|(place, input)| breaks_of(place, input, inputs, most, &mut all));
        }
    }
    let cut = all.len() > most;
    all.truncate(most);
    all.iter_mut().enumerate().for_each(|(place, candidate)| candidate.place = place);
    (all, cut)
}

/// The products that differ from a term in one factor, another usual one, or a little more or less
/// of a power or of a logarithm, or have one factor more. Those among `known` are left out.
pub(super) fn grown(from: &Candidate, inputs: &[Input], known: &[Candidate]) -> Vec<Candidate> {
    let mut steps: Vec<Vec<Factor>> = Vec::new();
    for (place, factor) in from.factors.iter().enumerate() {
        let (power, _) = factor.shape;
        let usual = LADDER.iter().flat_map(|p| [(*p, 0), (*p, 1)]);
        let usual = usual.filter(|shape| Factor { shape: *shape, ..*factor }.is_usual());
        let below = POWERS.iter().rev().filter(|p| **p < power).take(REACH);
        let near = below.chain(POWERS.iter().filter(|p| **p >= power).take(1 + REACH));
        let near = near.flat_map(|p| (0..=LOGS).map(|log| (*p, log)));
        for shape in usual.chain(near).filter(|shape| *shape != factor.shape) {
            let mut factors = from.factors.clone();
            factors[place].shape = shape;
            factors.retain(|f| f.shape != (0.0, 0));
            steps.push(factors);
        }
    }
    if (1..MAX_FACTORS).contains(&from.factors.len()) {
        for input in varying(inputs).filter(|i| from.factors.iter().all(|f| f.input != *i)) {
            steps.extend(FACTORS.iter().map(|shape| {
                let mut factors = from.factors.clone();
                factors.push(Factor { input, shape: *shape });
                factors.sort_by_key(|f| f.input);
                factors
            }));
        }
    }
    steps.retain(|factors| {
        !factors.is_empty() && known.iter().all(|c| c.breakpoint.is_some() || c.factors != *factors)
    });
    let grown = steps.into_iter().filter_map(|factors| term(factors, inputs));
    grown
        .map(|term| {
            let unusual = term.factors.iter().any(|f| !f.is_usual());
            Candidate { place: GROWN[usize::from(unusual)], ..term }
        })
        .collect()
}

/// The number of products that can be grown, of usual factors and of all.
pub(super) fn growable(inputs: &[Input]) -> [f64; 2] {
    [false, true].map(|all| growable_of(inputs, all))
}

fn growable_of(inputs: &[Input], all: bool) -> f64 {
    // Sums of the products of one, two, ... inputs' numbers of factors.
    let mut products = [0.0; MAX_FACTORS];
    for input in inputs.iter().filter(|i| i.values.len() > 1) {
        let shapes = POWERS.iter().flat_map(|p| (0..=LOGS).map(|log| (*p, log)));
        let shapes = shapes.filter(|s| *s != (0.0, 0) && (all || Factor { input: 0, shape: *s }.is_usual()));
        let factors = shapes.filter(|s| input.factor(*s).is_some()).count() as f64;
        for count in (1..MAX_FACTORS).rev() {
            products[count] += factors * products[count - 1];
        }
        products[0] += factors;
    }
    products.iter().sum()
}

/// Terms that begin at a breakpoint between two values of an input.
fn breaks_of(place: usize, input: &Input, inputs: &[Input], most: usize, all: &mut Vec<Candidate>) {
    let gaps = input.values.len() - 1;
    let stride = gaps.div_ceil(MAX_BREAKS).max(1);
    let others: Vec<(String, Option<(usize, u32)>)> = (inputs.iter().enumerate())
        .filter(|(i, other)| *i != place && other.values.len() > 1 && !other.parameter)
        .flat_map(|(input, _)| BESIDE.iter().map(move |shape| Factor { input, shape: *shape }))
        .filter_map(|f| Some((inputs[f.input].factor(f.shape)?, Some(f.function()))))
        .collect();
    for gap in (LEAST_PIECE - 1..=gaps - LEAST_PIECE).step_by(stride) {
        if all.len() > most {
            return;
        }
        let breakpoint =
            Break { input: place, at: input.values[gap], next: input.values[gap + 1], continuous: false };
        // Functions of the place: a hinge, a step, and a step times the input.
        let number = |kind: u32| (place, 10_000 + 3 * gap as u32 + kind);
        all.extend(hinge(input, breakpoint).map(|c| Candidate { functions: vec![number(0)], ..c }));
        if input.parameter {
            continue;
        }
        let step = format!("({}>{})", input.name, strata_model::number_text(breakpoint.at));
        for (jump, kind) in [(step.clone(), 1), (format!("{}*{step}", input.name), 2)] {
            let alone = (jump.clone(), None);
            let beside = others.iter().map(|(other, f)| (product(&[jump.clone(), other.clone()]), *f));
            for (text, function) in std::iter::once(alone).chain(beside) {
                let functions = [number(kind)].into_iter().chain(function).collect();
                let complexity = complexity(&text);
                let term = parse(&text).ok().map(|expr| broken(expr, breakpoint, complexity));
                all.extend(term.map(|term| Candidate { functions, ..term }));
            }
        }
    }
}

/// The term that rises from a breakpoint.
pub(super) fn hinge(input: &Input, breakpoint: Break) -> Option<Candidate> {
    let text = format!("max(0,{}-{})", input.name, strata_model::number_text(breakpoint.at));
    let expr = parse(&text).ok()?;
    Some(broken(expr, Break { continuous: true, ..breakpoint }, HINGE))
}

fn broken(expr: Expr, breakpoint: Break, complexity: u8) -> Candidate {
    let (factors, functions) = (Vec::new(), Vec::new());
    Candidate { expr, factors, functions, place: 0, breakpoint: Some(breakpoint), complexity }
}

/// The values of terms at points; a term that is not finite everywhere is left out.
pub(super) fn evaluate(
    candidates: Vec<Candidate>,
    inputs: &[Input],
    points: &[Vec<f64>],
) -> (Vec<Candidate>, DMatrix<f64>) {
    let names: Vec<&str> = inputs.iter().map(|i| i.name.as_str()).collect();
    let mut kept = Vec::new();
    let mut values = Vec::new();
    for candidate in candidates {
        let Ok(program) = Program::compile(&candidate.expr, &names) else { continue };
        let start = values.len();
        values.extend(points.iter().map(|point| program.eval(point)));
        let column = &values[start..];
        if column.iter().all(|v| v.is_finite()) && column.iter().any(|v| *v != 0.0) {
            kept.push(candidate);
        } else {
            values.truncate(start);
        }
    }
    let matrix = DMatrix::from_vec(points.len(), kept.len(), values);
    (kept, matrix)
}
