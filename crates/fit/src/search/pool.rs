//! The candidates of a search: products of powers and logarithms of the inputs, and breakpoints.
//!
//! Costs of algorithms and of messages are sums of a few such products: Calotoiu et al., *Using
//! automated performance modeling to find scalability bugs in complex codes* (2013), §3.1, call
//! this the performance model normal form. Here a term may also apply only above a breakpoint,
//! since protocols and caches change with size.

use nalgebra::DMatrix;
use strata_model::expr::{Expr, Program, parse};

use crate::knee::LEAST_PIECE;

/// Exponents and powers of the logarithm of one input alone.
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
/// The same for a factor of a product, and for an input with fewer than [`BENT`] values.
const FACTORS: [(f64, u8); 7] = [(0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (2.0, 0), (-1.0, 0), (-0.5, 0)];
/// The same for a factor beside a breakpoint of another input.
const BESIDE: [(f64, u8); 3] = [(1.0, 0), (0.0, 1), (-1.0, 0)];
/// The least number of distinct values of an input for which steep powers of it are tried: with
/// fewer, every function fits equally well, and a steep one is far off outside them.
const BENT: usize = 3;
/// The most inputs of a product.
const MAX_FACTORS: usize = 3;
/// The most distinct values of an input between which breakpoints are tried.
const MAX_BREAKS: usize = 40;
/// The complexity of a hinge.
const HINGE: u8 = 4;

/// A candidate term.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) expr: Expr,
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

impl Input {
    pub(super) fn new(name: &str, values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        Self { name: name.to_owned(), values, parameter: false }
    }

    fn least(&self) -> f64 {
        self.values.first().copied().unwrap_or(0.0)
    }

    /// A power of the input times a power of its logarithm; `None` if that is not a number or not a
    /// cost, and if too few values were measured to distinguish it from a flatter one.
    fn factor(&self, (power, log): (f64, u8)) -> Option<String> {
        let name = &self.name;
        let least = self.least();
        if self.values.len() < BENT && !FACTORS.contains(&(power, log)) {
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
            p if (p - 1.0 / 3.0).abs() < 1e-9 => format!("{name}^(1/3)"),
            p if (p - 2.0 / 3.0).abs() < 1e-9 => format!("{name}^(2/3)"),
            p => format!("{name}^{p}"),
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

/// The candidates over the inputs that vary, the simplest first and at most `most`, and whether
/// some were left out.
pub(super) fn candidates(inputs: &[Input], constant: bool, most: usize) -> (Vec<Candidate>, bool) {
    let varying: Vec<&Input> = inputs.iter().filter(|i| i.values.len() > 1).collect();
    let mut all: Vec<Candidate> = Vec::new();
    let plain = |text: String| {
        let complexity = complexity(&text);
        Some(Candidate { expr: parse(&text).ok()?, complexity, breakpoint: None })
    };
    if constant {
        all.extend(plain("1".to_owned()).map(|one| Candidate { complexity: 0, ..one }));
    }
    for input in &varying {
        all.extend(ALONE.iter().filter_map(|f| input.factor(*f)).filter_map(plain));
    }
    // Products of two, then breakpoints, then products of three.
    let mut open: Vec<(usize, Vec<String>)> = (0..varying.len())
        .flat_map(|i| FACTORS.iter().map(move |f| (i, *f)))
        .filter_map(|(i, f)| Some((i, vec![varying[i].factor(f)?])))
        .collect();
    for count in 2..=MAX_FACTORS {
        let mut longer = Vec::new();
        'all: for (last, factors) in &open {
            for (i, input) in varying.iter().enumerate().skip(last + 1) {
                for factor in FACTORS.iter().filter_map(|f| input.factor(*f)) {
                    if all.len() > most {
                        break 'all;
                    }
                    let mut factors = factors.clone();
                    factors.push(factor);
                    all.extend(plain(product(&factors)));
                    longer.push((i, factors));
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
    (all, cut)
}

/// Terms that begin at a breakpoint between two values of an input.
fn breaks_of(place: usize, input: &Input, inputs: &[Input], most: usize, all: &mut Vec<Candidate>) {
    let gaps = input.values.len() - 1;
    let stride = gaps.div_ceil(MAX_BREAKS).max(1);
    let others: Vec<String> = (inputs.iter().enumerate())
        .filter(|(i, other)| *i != place && other.values.len() > 1 && !other.parameter)
        .flat_map(|(_, other)| BESIDE.iter().filter_map(|f| other.factor(*f)))
        .collect();
    for gap in (LEAST_PIECE - 1..=gaps - LEAST_PIECE).step_by(stride) {
        if all.len() > most {
            return;
        }
        let breakpoint =
            Break { input: place, at: input.values[gap], next: input.values[gap + 1], continuous: false };
        all.extend(hinge(input, breakpoint));
        if input.parameter {
            continue;
        }
        let step = format!("({}>{})", input.name, strata_model::number_text(breakpoint.at));
        let jumps = [step.clone(), format!("{}*{step}", input.name)];
        let beside: Vec<String> = (jumps.iter())
            .flat_map(|jump| others.iter().map(move |other| product(&[jump.clone(), other.clone()])))
            .collect();
        for text in jumps.into_iter().chain(beside) {
            let complexity = complexity(&text);
            let candidate = |expr| Candidate { expr, breakpoint: Some(breakpoint), complexity };
            all.extend(parse(&text).ok().map(candidate));
        }
    }
}

/// The term that rises from a breakpoint.
pub(super) fn hinge(input: &Input, breakpoint: Break) -> Option<Candidate> {
    let text = format!("max(0,{}-{})", input.name, strata_model::number_text(breakpoint.at));
    let expr = parse(&text).ok()?;
    Some(Candidate { expr, breakpoint: Some(Break { continuous: true, ..breakpoint }), complexity: HINGE })
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
