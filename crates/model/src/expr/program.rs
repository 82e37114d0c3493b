//! Compiled expressions, which a selector evaluates.
//!
//! A program is a short list of instructions over a register file on the stack. A sum of products,
//! the form of a fitted model, is one instruction. Evaluation allocates nothing; register numbers
//! are masked to the size of the file, so no access needs a check.

/// A compiled expression. See [`Program::compile`].
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) code: Vec<Instruction>,
    pub(super) products: Vec<Product>,
    pub(super) registers: Registers,
    pub(super) variables: usize,
    pub(super) result: u16,
}

/// The operation of one instruction on registers `a` and `b`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operator {
    Apply(super::op::Op),
    /// `a` plus the products from `first` up to `end`, from left to right.
    Sum {
        first: u32,
        end: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) operator: Operator,
    pub(super) to: u16,
    pub(super) a: u16,
    pub(super) b: u16,
}

/// `before * f0 * f1 * f2 * after`, from left to right. Missing factors are one, which changes no
/// bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    pub(super) before: f64,
    pub(super) after: f64,
    pub(super) factors: [u16; 3],
}

/// The register file before the first instruction: variables (filled in at each evaluation),
/// constants, intermediate values.
#[derive(Clone, Debug)]
pub(super) enum Registers {
    Small(Box<[f64; SMALL]>),
    Medium(Box<[f64; MEDIUM]>),
    Large(Box<[f64; LARGE]>),
}

const SMALL: usize = 16;
const MEDIUM: usize = 64;
/// The most registers of a program.
pub(super) const LARGE: usize = 2048;

impl Registers {
    /// `None` if there are too many.
    pub(super) fn new(values: &[f64], count: usize) -> Option<Self> {
        fn fill<const N: usize>(values: &[f64]) -> Box<[f64; N]> {
            let mut file = Box::new([0.0; N]);
            for (register, value) in file.iter_mut().zip(values) {
                *register = *value;
            }
            file
        }
        match count {
            c if c <= SMALL => Some(Self::Small(fill(values))),
            c if c <= MEDIUM => Some(Self::Medium(fill(values))),
            c if c <= LARGE => Some(Self::Large(fill(values))),
            _ => None,
        }
    }
}

impl Program {
    /// The value of the expression for these values of the variables, in the order in which
    /// [`compile`](Self::compile) named them.
    ///
    /// NaN if their number is not that of the variables. Allocates nothing and never panics.
    #[must_use]
    #[inline]
    pub fn eval(&self, values: &[f64]) -> f64 {
        self.eval_parts(values, &[], &[])
    }

    /// As [`eval`](Self::eval), with the values in three parts, which the caller need not copy
    /// together.
    #[inline]
    pub(crate) fn eval_parts(&self, first: &[f64], integers: &[i64], last: &[f64]) -> f64 {
        if first.len() + integers.len() + last.len() != self.variables {
            return f64::NAN;
        }
        match &self.registers {
            Registers::Small(file) => self.run(file, first, integers, last),
            Registers::Medium(file) => self.run(file, first, integers, last),
            Registers::Large(file) => self.run(file, first, integers, last),
        }
    }

    /// The number of values that [`eval`](Self::eval) takes.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.variables
    }

    #[inline]
    fn run<const N: usize>(&self, file: &[f64; N], first: &[f64], integers: &[i64], last: &[f64]) -> f64 {
        let mut r = *file;
        let mut variables = r.iter_mut();
        // The values are first in each zip, so that no register is consumed without a value.
        for (value, register) in first.iter().zip(variables.by_ref()) {
            *register = *value;
        }
        for (value, register) in integers.iter().zip(variables.by_ref()) {
            *register = *value as f64;
        }
        for (value, register) in last.iter().zip(variables) {
            *register = *value;
        }
        let at = |register: u16| usize::from(register) & (N - 1);
        for i in &self.code {
            let a = r[at(i.a)];
            r[at(i.to)] = match i.operator {
                Operator::Apply(op) => op.apply(a, r[at(i.b)]),
                Operator::Sum { first, end } => {
                    let products = self.products.get(first as usize..end as usize).unwrap_or_default();
                    products.iter().fold(a, |sum, p| {
                        let [f0, f1, f2] = p.factors;
                        sum + p.before * r[at(f0)] * r[at(f1)] * r[at(f2)] * p.after
                    })
                }
            };
        }
        r[at(self.result)]
    }
}
