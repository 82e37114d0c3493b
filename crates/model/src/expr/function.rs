//! The built-in functions, one row each. A new function is a new row.

/// The properties of a function besides its value.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// How it is written in expressions.
    pub name: &'static str,
    /// The least and the greatest number of arguments.
    pub arguments: (usize, usize),
    /// When its value is a whole number.
    pub whole: Whole,
    /// The function rises in each argument if all are at least this (above it, if the value there
    /// is not finite); NaN if it does not rise.
    pub rises_from: f64,
    /// The method of `f64` in Rust that computes it, called on the first argument.
    pub method: &'static str,
    /// Its call in C, `@` for the arguments.
    pub c: &'static str,
    /// Its call in Python.
    pub python: &'static str,
    /// The definition that the call in Python needs, if any.
    pub python_helper: &'static str,
}

/// When the value of a function is a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Always.
    Always,
    /// Where all arguments are.
    OfWhole,
    /// Where the base is, and the exponent is too and not negative.
    Power,
    /// Not in general.
    No,
}

/// A range of counts of arguments: `1`, `2`, or `2..` for any number of them, folded from the left.
macro_rules! arguments {
    ($count:literal) => {
        ($count, $count)
    };
    ($least:literal ..) => {
        ($least, usize::MAX)
    };
}

macro_rules! functions {
    ($($variant:ident $name:literal ($($count:tt)+) |$a:ident, $b:ident| $value:expr, $whole:ident, $from:expr,
        $method:literal, $c:literal, $python:literal $helper:literal;)*) => {
        /// The built-in functions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum Function {
            $($variant),*
        }

        impl Function {
            /// All of them, in the order in which messages list them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The value for one argument or two; further arguments are folded from the left.
            #[inline(always)]
            pub(super) fn value(self, a: f64, b: f64) -> f64 {
                match self {
                    $(Self::$variant => {
                        let ($a, $b) = (a, b);
                        $value
                    })*
                }
            }

            /// Everything else about it.
            #[must_use]
            pub fn row(self) -> &'static Row {
                const ROWS: &[Row] = &[$(Row {
                    name: $name,
                    arguments: arguments!($($count)+),
                    whole: Whole::$whole,
                    rises_from: $from,
                    method: $method,
                    c: $c,
                    python: $python,
                    python_helper: $helper,
                }),*];
                &ROWS[self as usize]
            }
        }
    };
}

const EVERYWHERE: f64 = f64::NEG_INFINITY;
const NOWHERE: f64 = f64::NAN;

// Python raises exceptions where other languages compute infinity or NaN; the helpers compute them.
functions! {
    Min "min" (2..) |a, b| a.min(b), OfWhole, EVERYWHERE, "min", "fmin(@)",
        "_min(@)" "def _min(a, b):\n    return b if math.isnan(a) or b < a else a\n\n\n";
    Max "max" (2..) |a, b| a.max(b), OfWhole, EVERYWHERE, "max", "fmax(@)",
        "_max(@)" "def _max(a, b):\n    return b if math.isnan(a) or b > a else a\n\n\n";
    Abs "abs" (1) |a, _b| a.abs(), OfWhole, NOWHERE, "abs", "fabs(@)",
        "math.fabs(@)" "";
    Sqrt "sqrt" (1) |a, _b| a.sqrt(), No, 0.0, "sqrt", "sqrt(@)",
        "_sqrt(@)" "def _sqrt(x):\n    return math.nan if x < 0.0 else math.sqrt(x)\n\n\n";
    Log2 "log2" (1) |a, _b| a.log2(), No, 0.0, "log2", "log2(@)",
        "_log2(@)" "def _log2(x):\n    return math.log2(x) if x > 0.0 else -math.inf if x == 0.0 else math.nan\n\n\n";
    Ln "ln" (1) |a, _b| a.ln(), No, 0.0, "ln", "log(@)",
        "_ln(@)" "def _ln(x):\n    return math.log(x) if x > 0.0 else -math.inf if x == 0.0 else math.nan\n\n\n";
    Exp "exp" (1) |a, _b| a.exp(), No, EVERYWHERE, "exp", "exp(@)",
        "_exp(@)" "def _exp(x):\n    try:\n        return math.exp(x)\n    except OverflowError:\n        return math.inf\n\n\n";
    // Another name of the operator `^`.
    Pow "pow" (2) |a, b| a.powf(b), Power, NOWHERE, "powf", "pow(@)",
        "_pow(@)" "def _pow(a, b):\n    try:\n        return math.pow(a, b)\n    except ValueError:\n        odd = b % 2.0 == 1.0\n        return math.nan if a != 0.0 else math.copysign(math.inf, a) if odd else math.inf\n    except OverflowError:\n        return -math.inf if a < 0.0 and b % 2.0 == 1.0 else math.inf\n\n\n";
    Ceil "ceil" (1) |a, _b| a.ceil(), Always, EVERYWHERE, "ceil", "ceil(@)",
        "_ceil(@)" "def _ceil(x):\n    return math.copysign(float(math.ceil(x)), x) if math.isfinite(x) else x\n\n\n";
    Floor "floor" (1) |a, _b| a.floor(), Always, EVERYWHERE, "floor", "floor(@)",
        "_floor(@)" "def _floor(x):\n    return math.copysign(float(math.floor(x)), x) if math.isfinite(x) else x\n\n\n";
}

impl Function {
    /// The function of this name; `None` if a call of that name calls another model.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// How the function is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether the function takes `count` arguments.
    #[must_use]
    pub fn takes(self, count: usize) -> bool {
        let (least, most) = self.row().arguments;
        least <= count && count <= most
    }

    /// The value for these arguments; NaN for none.
    #[must_use]
    pub fn apply(self, arguments: &[f64]) -> f64 {
        match arguments {
            [] => f64::NAN,
            [a] => self.value(*a, 0.0),
            [first, others @ ..] => others.iter().fold(*first, |a, b| self.value(a, *b)),
        }
    }

    pub(super) fn arity(self) -> String {
        match self.row().arguments {
            (1, 1) => "1 argument".to_owned(),
            (least, usize::MAX) => format!("{least} or more arguments"),
            (count, _) => format!("{count} arguments"),
        }
    }
}
