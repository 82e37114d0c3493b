//! Models as LaTeX: an equation each, for `amsmath`.

use strata_model::ModelSet;
use strata_model::expr::{BinaryOp, Expr, ExprKind, Function, UnaryOp};
use strata_model::set::{Kind, SetError};

use super::plain::{PlainModel, origin, resolve};

/// The set as LaTeX for `\input`: for each model an equation of its time in seconds and the ranges
/// in which it is valid.
///
/// Equations and ranges only: the text computes nothing. The document must load `amsmath`.
/// Coefficients are rounded to four significant digits, for reading. A condition is in brackets, 1
/// where it holds and 0 otherwise (Iverson). A correction is only mentioned.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn latex(set: &ModelSet) -> Result<String, SetError> {
    let models = resolve(set, &[])?.models;
    let mut text: String = origin(set).iter().map(|line| format!("% {line}\n")).collect();
    text += "% Needs \\usepackage{amsmath}.\n";
    let all = models.iter().zip(&set.models);
    for (model, fitted) in all.filter(|(_, model)| model.kind != Kind::Unmeasured) {
        text += &equation(model, &fitted.name);
    }
    Ok(text)
}

fn equation(model: &PlainModel, name: &str) -> String {
    let arguments: Vec<String> = model.ranges().map(|(input, _)| variable(input)).collect();
    let head = format!("T_{{\\mathrm{{{}}}}}({})", escaped(name), arguments.join(", "));
    let mut addends = Vec::new();
    let formula = model.formula();
    let mut rest = &formula;
    while let ExprKind::Binary(BinaryOp::Add, left, right) = &rest.kind {
        addends.push(&**right);
        rest = left;
    }
    addends.push(rest);
    addends.reverse();
    let mut text = format!("\n% {}.\n\\begin{{equation*}}\n\\begin{{split}}\n{head} ={{}}&", model.doc[0]);
    for (place, addend) in addends.iter().enumerate() {
        let shown = operand(addend, SUM);
        let line = match (place, shown.strip_prefix('-')) {
            (0, _) => format!(" {shown}"),
            (_, Some(positive)) => format!(" \\\\\n&- {}", positive.trim_start()),
            (_, None) => format!(" \\\\\n&+ {shown}"),
        };
        text += &line;
    }
    if let Some(correction) = &model.formula.correction {
        let samples = correction.table.samples;
        text += &format!(
            " \\\\\n&\\text{{times a factor from a table by {samples} samples, which is not written here}}"
        );
    }
    let ranges: Vec<String> = model
        .ranges()
        .filter(|(_, (min, max))| min.is_finite() || max.is_finite())
        .map(|(input, (min, max))| format!("{} \\le {} \\le {}", number(min), variable(input), number(max)))
        .collect();
    if !ranges.is_empty() {
        text += &format!(" \\\\\n&\\text{{for }} {}", ranges.join(",\\ "));
    }
    text + "\n\\end{split}\n\\end{equation*}\n"
}

/// How tightly operators bind; a looser one inside a tighter one gets parentheses.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const ATOM: u8 = 3;

fn operand(expr: &Expr, least: u8) -> String {
    let (text, binds) = shown(expr);
    if binds < least { format!("\\left({text}\\right)") } else { text }
}

fn shown(expr: &Expr) -> (String, u8) {
    match &expr.kind {
        ExprKind::Number(value) => {
            let text = number(*value);
            let binds = if *value < 0.0 {
                SUM
            } else if text.contains("\\times") {
                PRODUCT
            } else {
                ATOM
            };
            (text, binds)
        }
        ExprKind::Name(name) => (variable(name), ATOM),
        ExprKind::Unary(UnaryOp::Negate, a) => (format!("-{}", operand(a, PRODUCT)), SUM),
        ExprKind::Unary(UnaryOp::Not, a) => (format!("[{} = 0]", operand(a, SUM)), ATOM),
        ExprKind::Binary(op, a, b) => binary(*op, a, b),
        ExprKind::Call { name, arguments } => call(name, arguments),
    }
}

fn binary(op: BinaryOp, a: &Expr, b: &Expr) -> (String, u8) {
    let sum = |e: &Expr| operand(e, SUM);
    let product = |e: &Expr| operand(e, PRODUCT);
    match op {
        BinaryOp::Add => (format!("{} + {}", sum(a), operand(b, PRODUCT)), SUM),
        BinaryOp::Subtract => (format!("{} - {}", sum(a), product(b)), SUM),
        // A negative first factor needs no parentheses.
        BinaryOp::Multiply => match a.as_number() {
            Some(c) if c < 0.0 => (format!("{} \\cdot {}", number(c), product(b)), SUM),
            _ => (format!("{} \\cdot {}", product(a), product(b)), PRODUCT),
        },
        BinaryOp::Divide => (format!("\\frac{{{}}}{{{}}}", sum(a), sum(b)), ATOM),
        BinaryOp::Remainder => (format!("\\left({} \\bmod {}\\right)", product(a), product(b)), ATOM),
        BinaryOp::Power => power(a, b),
        BinaryOp::ShiftLeft => (format!("{} \\cdot 2^{{{}}}", product(a), sum(b)), PRODUCT),
        BinaryOp::ShiftRight => {
            (format!("\\left\\lfloor \\frac{{{}}}{{2^{{{}}}}} \\right\\rfloor", sum(a), sum(b)), ATOM)
        }
        BinaryOp::And => (format!("[{} \\wedge {}]", sum(a), sum(b)), ATOM),
        BinaryOp::Or => (format!("[{} \\vee {}]", sum(a), sum(b)), ATOM),
        BinaryOp::Equal => (format!("[{} = {}]", sum(a), sum(b)), ATOM),
        BinaryOp::NotEqual => (format!("[{} \\ne {}]", sum(a), sum(b)), ATOM),
        BinaryOp::Less => (format!("[{} < {}]", sum(a), sum(b)), ATOM),
        BinaryOp::LessEqual => (format!("[{} \\le {}]", sum(a), sum(b)), ATOM),
        BinaryOp::Greater => (format!("[{} > {}]", sum(a), sum(b)), ATOM),
        BinaryOp::GreaterEqual => (format!("[{} \\ge {}]", sum(a), sum(b)), ATOM),
    }
}

fn power(base: &Expr, exponent: &Expr) -> (String, u8) {
    let simple = matches!(&base.kind, ExprKind::Name(_) | ExprKind::Number(_));
    let (text, _) = shown(base);
    let bare = simple && !text.contains(['\\', '-', '^']) || matches!(&base.kind, ExprKind::Name(_));
    let base = if bare { format!("{{{text}}}") } else { format!("\\left({text}\\right)") };
    (format!("{base}^{{{}}}", operand(exponent, SUM)), ATOM)
}

fn call(name: &str, arguments: &[Expr]) -> (String, u8) {
    let list: Vec<String> = arguments.iter().map(|a| operand(a, SUM)).collect();
    let list = list.join(", ");
    let text = match (Function::from_name(name), arguments) {
        (Some(Function::Pow), [a, b]) => return power(a, b),
        (Some(function), _) => function.row().latex.replace('@', &list),
        _ => format!("\\mathrm{{{}}}\\left({list}\\right)", escaped(name)),
    };
    (text, ATOM)
}

/// A name as LaTeX: one letter in italics, a word upright.
fn variable(name: &str) -> String {
    match name {
        "logP" => "\\log_2 P".into(),
        "sqrtP" => "\\sqrt{P}".into(),
        _ if name.chars().count() == 1 && name != "_" => name.into(),
        _ => format!("\\mathit{{{}}}", escaped(name)),
    }
}

fn escaped(name: &str) -> String {
    name.chars().flat_map(|c| (c == '_').then_some('\\').into_iter().chain([c])).collect()
}

/// Four significant digits; powers of ten where they are more readable.
fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => return "\\mathrm{NaN}".into(),
        f64::INFINITY => return "\\infty".into(),
        f64::NEG_INFINITY => return "-\\infty".into(),
        v if v.fract() == 0.0 && v.abs() < 1e7 => return format!("{v}"),
        _ => {}
    }
    let text = format!("{value:.3e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    match exponent {
        "0" => mantissa.to_owned(),
        "-1" | "-2" | "1" | "2" | "3" => format!("{}", text.parse::<f64>().unwrap_or(value)),
        _ => format!("{mantissa} \\times 10^{{{exponent}}}"),
    }
}
