//! The terms that a search chooses from: products of powers and logarithms of the inputs, and breakpoints.
//!
//! Costs of algorithms and of messages are sums of few such products: Calotoiu et al., *Using automated performance
//! modeling to find scalability bugs in complex codes* (2013), §3.1, call it the performance model normal form. Here one
//! term may also hold only above a breakpoint, since protocols and caches change with size.

use nalgebra::DMatrix;
use strata_model::expr::{Expr, Program, parse};

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
/// Those of a factor of a product.
const FACTORS: [(f64, u8); 7] = [(0.0, 1), (0.5, 0), (1.0, 0), (1.0, 1), (2.0, 0), (-1.0, 0), (-0.5, 0)];
/// Those of a factor beside a breakpoint of another input.
const BESIDE: [(f64, u8); 3] = [(1.0, 0), (0.0, 1), (-1.0, 0)];
/// As many inputs as are multiplied.
const MAX_FACTORS: usize = 3;
/// As many distinct values of an input as breakpoints are tried between.
const MAX_BREAKS: usize = 40;
/// Fewer distinct values than this do not tell two pieces apart.
const LEAST_VALUES: usize = 6;

/// A candidate term.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) expr: Expr,
    /// Where it breaks.
    pub(super) breakpoint: Option<Break>,
    /// How rare such a term is among costs: 0 for powers and logarithms that are common, more for others.
    pub(super) rarity: f64,
}

impl Candidate {
    /// Lower for terms that are simpler: smooth ones, then jumps, then kinks.
    pub(super) fn rank(&self) -> u8 {
        match self.breakpoint {
            None => 0,
            Some(Break { continuous: false, .. }) => 1,
            Some(_) => 2,
        }
    }
}

/// A breakpoint: a term that is zero up to some value of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Break {
    /// Which input.
    pub(super) input: usize,
    /// Its value.
    pub(super) at: f64,
    /// The next value that was measured.
    pub(super) next: f64,
    /// Whether the term rises from zero rather than jumping.
    pub(super) continuous: bool,
}

/// What the samples say of an input.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) name: String,
    /// Its distinct values, rising.
    pub(super) values: Vec<f64>,
}

impl Input {
    pub(super) fn new(name: &str, values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        Self { name: name.to_owned(), values }
    }

    fn least(&self) -> f64 {
        self.values.first().copied().unwrap_or(0.0)
    }

    /// A power of the input times a power of its logarithm; `None` where that would not be a number, or not a cost.
    fn factor(&self, (power, log): (f64, u8)) -> Option<String> {
        let name = &self.name;
        let least = self.least();
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

/// Joins factors; those that are divided by come last.
fn product(factors: &[String]) -> String {
    let (over, plain): (Vec<&String>, Vec<&String>) = factors.iter().partition(|f| f.starts_with("1/"));
    let plain: Vec<&str> = plain.iter().map(|f| f.as_str()).collect();
    let mut text = if plain.is_empty() { "1".to_owned() } else { plain.join("*") };
    for f in over {
        text += &f[1..];
    }
    text
}

/// How many of its factors are rare: powers of logarithms, odd roots and powers, roots that are divided by.
fn rarity(text: &str) -> f64 {
    let rare = [")^2", "^1.5", "^(1/3)", "^(2/3)", "^3", "1/sqrt"];
    rare.iter().map(|r| text.matches(r).count() as f64).sum()
}

/// All candidates over the inputs that vary. `breaks`: whether some may hold above a breakpoint only.
pub(super) fn candidates(inputs: &[Input], constant: bool, breaks: bool) -> Vec<Candidate> {
    let mut texts: Vec<String> = Vec::new();
    let varying: Vec<&Input> = inputs.iter().filter(|i| i.values.len() > 1).collect();
    if constant {
        texts.push("1".to_owned());
    }
    for input in &varying {
        texts.extend(ALONE.iter().filter_map(|f| input.factor(*f)));
    }
    // Products of two, then of three.
    let mut open: Vec<(usize, Vec<String>)> = (0..varying.len())
        .flat_map(|i| FACTORS.iter().map(move |f| (i, *f)))
        .filter_map(|(i, f)| Some((i, vec![varying[i].factor(f)?])))
        .collect();
    for _ in 1..MAX_FACTORS {
        let mut longer = Vec::new();
        for (last, factors) in &open {
            for (i, input) in varying.iter().enumerate().skip(last + 1) {
                for factor in FACTORS.iter().filter_map(|f| input.factor(*f)) {
                    let mut factors = factors.clone();
                    factors.push(factor);
                    texts.push(product(&factors));
                    longer.push((i, factors));
                }
            }
        }
        open = longer;
    }
    let plain = |text: String| {
        let expr = parse(&text).ok()?;
        Some(Candidate { rarity: rarity(&text), expr, breakpoint: None })
    };
    let mut all: Vec<Candidate> = texts.into_iter().filter_map(plain).collect();
    if breaks {
        for (place, input) in inputs.iter().enumerate().filter(|(_, i)| i.values.len() >= LEAST_VALUES) {
            breaks_of(place, input, inputs, &mut all);
        }
    }
    all
}

/// Terms that begin at a breakpoint between two values of an input.
fn breaks_of(place: usize, input: &Input, inputs: &[Input], all: &mut Vec<Candidate>) {
    let gaps = input.values.len() - 1;
    let stride = gaps.div_ceil(MAX_BREAKS).max(1);
    let others: Vec<String> = (inputs.iter().enumerate())
        .filter(|(i, other)| *i != place && other.values.len() > 1)
        .flat_map(|(_, other)| BESIDE.iter().filter_map(|f| other.factor(*f)))
        .collect();
    for gap in (0..gaps).step_by(stride) {
        let breakpoint =
            Break { input: place, at: input.values[gap], next: input.values[gap + 1], continuous: false };
        // One sample beyond the last breakpoint says nothing of what holds there, one before the first neither.
        if gap == 0 || gap + 1 == gaps {
            continue;
        }
        all.extend(hinge(input, breakpoint));
        let step = format!("({}>{})", input.name, strata_model::number_text(breakpoint.at));
        let jumps = [step.clone(), format!("{}*{step}", input.name)];
        let beside: Vec<String> = (jumps.iter())
            .flat_map(|jump| others.iter().map(move |other| product(&[jump.clone(), other.clone()])))
            .collect();
        for text in jumps.into_iter().chain(beside) {
            let candidate = |expr| Candidate { expr, breakpoint: Some(breakpoint), rarity: rarity(&text) };
            all.extend(parse(&text).ok().map(candidate));
        }
    }
}

/// The term that rises from a breakpoint on.
pub(super) fn hinge(input: &Input, breakpoint: Break) -> Option<Candidate> {
    let text = format!("max(0,{}-{})", input.name, strata_model::number_text(breakpoint.at));
    let expr = parse(&text).ok()?;
    Some(Candidate { expr, breakpoint: Some(Break { continuous: true, ..breakpoint }), rarity: 0.0 })
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
