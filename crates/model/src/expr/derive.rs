//! The derivative of an expression by one of its names.
//!
//! A comparison has the derivative 0; `ceil`, `floor` and `>>` have that of what they round, which is
//! how they rise over many steps. At a kink of `max`, `min` or `abs` it is that of one of the sides.

use super::ast::{BinaryOp, Expr, ExprKind, RESERVED, UnaryOp};
use super::function::Function;

impl Expr {
    /// The derivative by `name`, with constant parts computed. By `P` it follows `logP` and `sqrtP`
    /// too. `None` if a model is called, whose derivative this expression does not say.
    ///
    /// ```
    /// let time = strata_model::expr::parse("4 + 3*n*log2(n) + max(0, n - 64)")?;
    /// let slope = time.derivative("n").ok_or("a call")?;
    /// assert_eq!(slope.to_string(), "3*log2(n)+3*n*(1/(n*0.6931471805599453))+(n-64>0)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn derivative(&self, name: &str) -> Option<Self> {
        let of = |expr: &Self| expr.derivative(name);
        Some(match &self.kind {
            ExprKind::Number(_) => zero(),
            ExprKind::Name(own) => of_name(own, name),
            ExprKind::Unary(UnaryOp::Not, _) => zero(),
            ExprKind::Unary(UnaryOp::Negate, a) => negative(of(a)?),
            ExprKind::Binary(op, a, b) => binary(*op, a, b, of(a)?, of(b)?),
            ExprKind::Call { name: called, arguments } => {
                let function = Function::from_name(called)?;
                let slopes = arguments.iter().map(of).collect::<Option<Vec<_>>>()?;
                call(function, arguments, slopes)?
            }
        })
    }
}

fn zero() -> Expr {
    Expr::number(0.0)
}

fn is(expr: &Expr, value: f64) -> bool {
    expr.as_number() == Some(value)
}

fn negative(a: Expr) -> Expr {
    match a.as_number() {
        Some(value) => Expr::number(-value + 0.0),
        None => Expr::new(ExprKind::Unary(UnaryOp::Negate, Box::new(a))),
    }
}

fn plus(a: Expr, b: Expr) -> Expr {
    match (is(&a, 0.0), is(&b, 0.0)) {
        (true, _) => b,
        (_, true) => a,
        _ => Expr::binary(BinaryOp::Add, a, b).folded(),
    }
}

fn times(a: Expr, b: Expr) -> Expr {
    if is(&a, 0.0) || is(&b, 0.0) { zero() } else { Expr::binary(BinaryOp::Multiply, a, b).folded() }
}

fn over(a: Expr, b: Expr) -> Expr {
    if is(&a, 0.0) || is(&b, 1.0) { a } else { Expr::binary(BinaryOp::Divide, a, b).folded() }
}

fn function(function: Function, argument: &Expr) -> Expr {
    Expr::new(ExprKind::Call { name: function.name().to_owned(), arguments: vec![argument.clone()] })
}

fn of_name(own: &str, name: &str) -> Expr {
    let count = || Expr::name(RESERVED[0]);
    match (own, name == RESERVED[0]) {
        _ if own == name => Expr::number(1.0),
        ("logP", true) => over(Expr::number(1.0), times(count(), Expr::number(std::f64::consts::LN_2))),
        ("sqrtP", true) => over(Expr::number(0.5), Expr::name(own)),
        _ => zero(),
    }
}

/// The derivative of `a op b`, whose operands have the derivatives `da` and `db`.
fn binary(op: BinaryOp, a: &Expr, b: &Expr, da: Expr, db: Expr) -> Expr {
    use BinaryOp::*;
    match op {
        Or | And | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => zero(),
        Add => plus(da, db),
        Subtract => plus(da, negative(db)),
        Multiply => plus(times(da, b.clone()), times(a.clone(), db)),
        Divide if is(&db, 0.0) => over(da, b.clone()),
        Divide => {
            let top = plus(times(da, b.clone()), negative(times(a.clone(), db)));
            over(top, times(b.clone(), b.clone()))
        }
        // a − b·trunc(a/b), where trunc(a/b) is (a − a % b)/b.
        Remainder if is(&db, 0.0) => da,
        Remainder => {
            let rest = Expr::binary(Remainder, a.clone(), b.clone());
            let turns = over(Expr::binary(Subtract, a.clone(), rest), b.clone());
            plus(da, negative(times(turns, db)))
        }
        ShiftLeft => power_of(&Expr::number(2.0), b, zero(), db, a, da),
        ShiftRight => power_of(&Expr::number(0.5), b, zero(), db, a, da),
        Power => power_of(a, b, da, db, &Expr::number(1.0), zero()),
    }
}

/// The derivative of `factor * base ^ exponent`.
fn power_of(
    base: &Expr,
    exponent: &Expr,
    dbase: Expr,
    dexponent: Expr,
    factor: &Expr,
    dfactor: Expr,
) -> Expr {
    let power = |exponent: Expr| {
        if is(&exponent, 1.0) {
            base.clone()
        } else {
            Expr::binary(BinaryOp::Power, base.clone(), exponent).folded()
        }
    };
    let less = Expr::binary(BinaryOp::Subtract, exponent.clone(), Expr::number(1.0)).folded();
    let by_base = times(times(exponent.clone(), power(less)), dbase);
    let by_exponent = if is(&dexponent, 0.0) {
        zero()
    } else {
        times(times(power(exponent.clone()), function(Function::Ln, base).folded()), dexponent)
    };
    plus(times(dfactor, power(exponent.clone())), times(factor.clone(), plus(by_base, by_exponent)))
}

/// The derivative of a call, whose arguments have these derivatives; `None` if one is missing.
fn call(called: Function, arguments: &[Expr], mut slopes: Vec<Expr>) -> Option<Expr> {
    let a = arguments.first()?;
    if let Function::Min | Function::Max = called {
        // From the left, as the call is computed.
        let (mut value, mut slope) = (a.clone(), slopes.remove(0));
        let op = if called == Function::Max { BinaryOp::Greater } else { BinaryOp::Less };
        for (next, dnext) in arguments.iter().skip(1).zip(slopes) {
            let first = Expr::binary(op, value.clone(), next.clone());
            let second = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(first.clone())));
            // `max(0, x)` reads best as where x counts.
            slope = if is(&slope, 0.0) {
                times(dnext, Expr::binary(op, next.clone(), value.clone()))
            } else {
                plus(times(slope, first), times(dnext, second))
            };
            let both = vec![value, next.clone()];
            value = Expr::new(ExprKind::Call { name: called.name().to_owned(), arguments: both });
        }
        return Some(slope);
    }
    let da = slopes.remove(0);
    if is(&da, 0.0) && called != Function::Pow {
        return Some(zero());
    }
    Some(match called {
        Function::Ceil | Function::Floor => da,
        Function::Exp => times(da, function(called, a)),
        Function::Ln => over(da, a.clone()),
        Function::Log2 => over(da, times(a.clone(), Expr::number(std::f64::consts::LN_2))),
        Function::Sqrt => over(da, times(Expr::number(2.0), function(called, a))),
        Function::Abs => {
            let side = |op| Expr::binary(op, a.clone(), zero());
            let sign = Expr::binary(BinaryOp::Subtract, side(BinaryOp::Greater), side(BinaryOp::Less));
            times(da, sign)
        }
        Function::Pow => {
            let (b, db) = (arguments.get(1)?, slopes.pop()?);
            power_of(a, b, da, db, &Expr::number(1.0), zero())
        }
        // Handled above.
        Function::Min | Function::Max => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::expr::{node_values, parse};

    fn value(expr: &Expr, x: f64, nodes: f64) -> f64 {
        let [_, log, root] = node_values(nodes as usize);
        let read = |name: &str| match name {
            "x" => Some(x),
            "P" => Some(nodes),
            "logP" => Some(log),
            "sqrtP" => Some(root),
            _ => Some(3.0),
        };
        expr.eval(&read).unwrap()
    }

    #[test]
    fn derivatives_are_as_in_a_table() {
        for (text, slope) in [
            ("7", "0"),
            ("y", "0"),
            ("x", "1"),
            ("-x", "-1"),
            ("2*x + y", "2"),
            ("x*y/4", "y/4"),
            ("1/x", "-1/(x*x)"),
            ("x^3", "3*x^2"),
            ("x^2", "2*x"),
            ("max(0, x - 8)", "x-8>0"),
            ("ceil(x/8)*y", "y/8"),
            ("(x > 4)*x", "(x>4)"),
            ("1 << x", "2^x*0.6931471805599453"),
            ("x >> 3", "0.125"),
            ("x % 8", "1"),
        ] {
            let found = parse(text).unwrap().derivative("x").unwrap();
            let wanted = parse(slope).unwrap();
            assert_eq!(value(&found, 9.5, 4.0), value(&wanted, 9.5, 4.0), "{text}: {found}");
        }
        assert_eq!(parse("Send(x)").unwrap().derivative("x"), None);
    }

    #[test]
    fn the_number_of_nodes_has_three_names() {
        let time = parse("P + 5*logP + 7*sqrtP + x/P").unwrap();
        let slope = value(&time.derivative("P").unwrap(), 2.0, 16.0);
        let wanted = 1.0 + 5.0 / (16.0 * std::f64::consts::LN_2) + 7.0 / 8.0 - 2.0 / 256.0;
        assert!((slope - wanted).abs() < 1e-12, "{slope} {wanted}");
    }

    fn smooth() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![Just("x".to_owned()), Just("y".to_owned()), "[1-9]"];
        leaf.prop_recursive(4, 24, 3, |inner| {
            let two = (inner.clone(), inner.clone());
            prop_oneof![
                (two.clone(), prop_oneof![Just("+"), Just("-"), Just("*")])
                    .prop_map(|((a, b), op)| format!("({a}){op}({b})")),
                two.clone().prop_map(|(a, b)| format!("({a})/(1+({b})^2)")),
                two.clone().prop_map(|(a, b)| format!("max({a}, {b}, x*2)")),
                two.prop_map(|(a, b)| format!("min({a}, {b})")),
                inner.clone().prop_map(|a| format!("log2(1+abs({a}))")),
                inner.clone().prop_map(|a| format!("sqrt(2+abs({a}))")),
                inner.clone().prop_map(|a| format!("pow(1+abs({a}), 1/3)")),
                inner.clone().prop_map(|a| format!("exp(0-abs({a}))")),
                inner.prop_map(|a| format!("ln(1+({a})^2)")),
            ]
        })
    }

    proptest! {
        /// Where the slopes on both sides agree, the derivative is that slope.
        #[test]
        fn a_derivative_is_the_limit_of_quotients(text in smooth(), x in 0.3..5.0) {
            let expr = parse(&text).unwrap();
            let slope = value(&expr.derivative("x").unwrap(), x, 4.0);
            let step = 1e-5;
            let [left, here, right] = [x - step, x, x + step].map(|x| value(&expr, x, 4.0));
            let (before, after) = ((here - left) / step, (right - here) / step);
            let size = before.abs().max(after.abs()).max(here.abs()).max(1.0);
            prop_assume!(slope.is_finite() && size < 1e6 && (before - after).abs() < 1e-4 * size);
            prop_assert!((slope - (before + after) / 2.0).abs() < 1e-3 * size, "{} at {}: {} {}", text, x, slope, before);
        }
    }
}
