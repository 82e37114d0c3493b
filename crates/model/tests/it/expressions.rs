//! The expression language: its meaning, its printed form, and its limits against hostile texts.

use std::collections::BTreeMap;

use proptest::prelude::*;
use strata_model::expr::{
    BinaryOp, Expr, ExprKind, Function, MAX_HEIGHT, MAX_NESTING, Span, UnaryOp, parse, parse_at,
};
use strata_model::{Program, number_text};

/// Each line of `expressions.txt`: its canonical text, its value where `x` is 5 if it reads no more, its
/// Rust, and whether it is a whole number where `i` is one; or the error at its place.
#[test]
fn texts_mean_what_mathematics_means() {
    let mut all = String::new();
    for text in include_str!("../expressions.txt").lines() {
        all += &match parse(text) {
            Ok(expr) => {
                let value = expr.eval(&|name| (name == "x").then_some(5.0));
                let value = value.map_or(String::new(), |value| format!(" = {value:?}"));
                let whole = if expr.is_integral(&|name| name == "i") { ", whole" } else { "" };
                let rust = expr.to_rust(&|name| name.to_owned());
                format!("{text}\n    {expr}{value}{whole}\n    {rust}\n")
            }
            Err(error) => {
                let Span { start, end } = error.span;
                assert!(start <= end && text.get(start..end).is_some(), "{text}: {error:?}");
                format!("{text}\n{}{} {error}\n", " ".repeat(start), "^".repeat((end - start).max(1)))
            }
        };
    }
    insta::assert_snapshot!(all);
}

#[test]
fn numbers_that_no_text_has_are_printed() {
    let odd = Expr::binary(BinaryOp::Power, Expr::number(-2.0), Expr::number(f64::INFINITY));
    assert_eq!(odd.to_string(), "(-2)^(1/0)");
    assert!(parse(&Expr::number(f64::NAN).to_string()).unwrap().eval(&|_| None).unwrap().is_nan());
}

#[test]
fn spans_count_from_the_offset() {
    let expr = parse_at(" a + bb * 3", 100).unwrap();
    assert_eq!(expr.span, Span { start: 101, end: 111 });
    let ExprKind::Binary(BinaryOp::Add, _, right) = &expr.kind else { panic!("{expr:?}") };
    assert_eq!(right.span, Span { start: 105, end: 111 });
    assert_eq!(parse_at("a+)", 10).unwrap_err().span, Span { start: 12, end: 13 });
}

#[test]
fn no_text_exhausts_the_stack() {
    let long = 100_000;
    let repeated =
        |before: &str, middle: &str, after: &str| before.repeat(long) + middle + &after.repeat(long);
    for text in [
        repeated("(", "1", ")"),
        repeated("(", "", ""),
        repeated("sqrt(", "1", ")"),
        repeated("max(1,", "1", ")"),
        repeated("-", "1", ""),
        repeated("!", "1", ""),
        repeated("2^", "1", ""),
        repeated("2^-", "1", ""),
        repeated("", "1", "+1"),
        repeated("", "1", "*x"),
        repeated("", "1", "&&1"),
        repeated("", "1", "-(1)"),
    ] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains("split the expression") || error.contains("expected"), "{error}");
    }
    // A wide tree is not deep.
    let wide = format!("max({}1)", "1,".repeat(long));
    assert_eq!(parse(&wide).unwrap().eval(&|_| None).unwrap(), 1.0);
    // The deepest allowed nesting works everywhere.
    let nested = "(".repeat(MAX_NESTING) + "1" + &")".repeat(MAX_NESTING);
    assert!(parse(&nested).is_ok());
    let tallest = "1".to_owned() + &"^x".repeat(MAX_HEIGHT - 1);
    let expr = parse(&tallest).unwrap();
    assert_eq!(expr.measure(), (2 * MAX_HEIGHT - 1, MAX_HEIGHT));
    assert_eq!(parse(&expr.to_string()).unwrap(), expr);
    assert_eq!(Program::compile(&expr, &["x"]).unwrap().eval(&[1.0]), 1.0);
    assert_eq!(expr.substitute(&|_| Some(Expr::number(1.0))).eval(&|_| None).unwrap(), 1.0);
    assert!(expr.to_rust(&|n| n.to_owned()).len() > MAX_HEIGHT);
}

#[test]
fn knows_what_it_reads() {
    let expr = parse("Square(w, h) + max(logP, w) * sqrtP").unwrap();
    assert_eq!(expr.names().into_iter().collect::<Vec<_>>(), ["h", "logP", "sqrtP", "w"]);
    assert_eq!(expr.calls().into_iter().collect::<Vec<_>>(), ["Square"]);
    assert!(parse("sqrt(2)+max(1,2)").unwrap().is_constant());
    assert!(!parse("Square(1)").unwrap().is_constant());
    let replaced = parse("a*b").unwrap().substitute(&|name| (name == "a").then(|| parse("x+1").unwrap()));
    assert_eq!(replaced.to_string(), "(x+1)*b");
}

#[test]
fn compile_errors_list_what_there_is() {
    let expr = parse("keys*widht").unwrap();
    let error = Program::compile(&expr, &["keys", "width"]).unwrap_err();
    assert_eq!(error.to_string(), "`widht` is not known here; known are keys, width");
    assert_eq!(error.span(), Some(Span { start: 5, end: 10 }));
    let call = Program::compile(&parse("Radix(1)").unwrap(), &[]).unwrap_err();
    assert!(call.to_string().starts_with("`Radix` is neither a built-in function (min, max,"), "{call}");
    assert!(Program::compile(&parse("x").unwrap(), &["x"]).unwrap().eval(&[]).is_nan());
}

#[test]
fn rust_computes_the_same() {
    // The texts on the right are what `texts_mean_what_mathematics_means` pins.
    let values = (3.7_f64, -1.25_f64, 9.0_f64, 11.0_f64, 32.0_f64, 13.0_f64, 2.3_f64);
    // The compiler folds powers of constants with another last digit than it computes.
    let (a, b, c, bits, width, i, x) = std::hint::black_box(values);
    let names =
        BTreeMap::from([("a", a), ("b", b), ("c", c), ("bits", bits), ("width", width), ("i", i), ("x", x)]);
    let tree = |text: &str| parse(text).unwrap().eval(&|name| names.get(name).copied()).unwrap();
    assert_eq!(tree("2^bits*ceil(width/bits)"), bits.exp2() * (width / bits).ceil());
    assert_eq!(tree("(a+b)^2/-c"), (a + b).powi(2) / (-c));
    assert_eq!(tree("x^3+x^0.5"), x.powi(3) + x.powf(0.5));
    assert_eq!(tree("(i+1)>>2"), ((i + 1.0) / 2.0_f64.exp2()).floor());
    assert_eq!(tree("(a<b)+1"), f64::from(a < b) + 1.0);
    assert_eq!(
        tree("a<b&&b<=c||!x"),
        f64::from(((a < b) && (b <= c)) || (1.0 - f64::from(x.abs() > 0.0) > 0.0))
    );
    assert_eq!(tree("(-2)^i"), (-2.0_f64).powf(i));
}

// ---------------------------------------------------------------------------------------------------------------------------

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        prop_oneof![0.0..1e6_f64, any::<f64>().prop_map(f64::abs), (0..100_u32).prop_map(f64::from)]
            .prop_filter("finite", |x| x.is_finite())
            .prop_map(Expr::number),
        prop::sample::select(vec!["x", "y", "z", "P", "logP"]).prop_map(Expr::name),
    ]
}

fn operator() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::*;
    prop::sample::select(vec![
        Or, And, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, ShiftLeft, ShiftRight, Add, Add,
        Add, Subtract, Subtract, Multiply, Multiply, Multiply, Divide, Remainder, Power,
    ])
}

/// Trees of every shape; with calls of models only if `models`.
fn tree(models: bool) -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(8, 64, 4, move |inner| {
        let function =
            (prop::sample::select(Function::ALL.to_vec()), prop::collection::vec(inner.clone(), 1..4));
        let function = function.prop_map(|(function, mut arguments)| {
            while !function.takes(arguments.len()) {
                if function.takes(1) {
                    arguments.truncate(1)
                } else {
                    arguments = vec![arguments[0].clone(), Expr::number(2.0)]
                }
            }
            Expr::new(ExprKind::Call { name: function.name().into(), arguments })
        });
        let model = prop::collection::vec(inner.clone(), 0..3)
            .prop_map(|arguments| Expr::new(ExprKind::Call { name: "Model".into(), arguments }));
        let unary = (any::<bool>(), inner.clone()).prop_map(|(not, a)| {
            Expr::new(ExprKind::Unary(if not { UnaryOp::Not } else { UnaryOp::Negate }, Box::new(a)))
        });
        let binary = (operator(), inner.clone(), inner).prop_map(|(op, a, b)| Expr::binary(op, a, b));
        prop_oneof![4 => binary, 1 => unary, 1 => function, u32::from(models) => model]
    })
}

/// Sums of products, as fits produce them.
fn linear() -> impl Strategy<Value = Expr> {
    let factor = || {
        prop::sample::select(vec!["x", "y", "z", "P", "logP", "max(0,x-3)", "2^y", "1.5", "x*y", "(2*x*y)"])
    };
    let product = (-10.0..10.0_f64, prop::collection::vec(factor(), 0..5), any::<bool>(), any::<bool>());
    let product = product.prop_map(|(c, factors, late, minus)| {
        let factors = factors.join("*");
        let text = match (factors.is_empty(), late) {
            (true, _) => number_text(c.abs()),
            (false, true) => format!("{}*({factors})", number_text(c.abs())),
            (false, false) => format!("{factors}*{}", number_text(c.abs())),
        };
        format!("{}{text}", if minus { "-" } else { "+" })
    });
    prop::collection::vec(product, 1..12)
        .prop_map(|addends| parse(&format!("0{}", addends.join(""))).unwrap())
}

fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

fn values() -> impl Strategy<Value = [f64; 5]> {
    let one = || prop_oneof![-100.0..100.0_f64, (0..64_i32).prop_map(f64::from), any::<f64>()];
    [one(), one(), one(), one(), one()]
}

const NAMES: [&str; 5] = ["x", "y", "z", "P", "logP"];

proptest! {
    /// The emitted Rust squares and cubes by `powi`, whose precision the standard library does not
    /// specify.
    #[test]
    fn small_powers_are_products(x: f64) {
        prop_assert!(same(x.powi(2), x * x) && same(x.powi(3), x * x * x));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn printed_text_reads_back(expr in tree(true)) {
        let text = expr.to_string();
        prop_assert!(!text.contains(' '));
        let back = parse(&text).unwrap();
        prop_assert_eq!(back.to_string(), text);
        prop_assert_eq!(back, expr);
    }

    #[test]
    fn program_and_tree_agree(expr in prop_oneof![tree(false), linear()], values in values()) {
        let expected = expr.eval(&|name| NAMES.iter().position(|n| *n == name).map(|at| values[at])).unwrap();
        let program = Program::compile(&expr, &NAMES).unwrap();
        prop_assert!(same(program.eval(&values), expected), "{} at {:?}: {} against {}", expr, values, program.eval(&values), expected);
        // The first evaluation leaves no trace.
        prop_assert!(same(program.eval(&values), expected));
    }

    #[test]
    fn substitution_is_evaluation(expr in tree(false), values in values()) {
        let lookup = |name: &str| NAMES.iter().position(|n| *n == name).map(|at| values[at]);
        let constant = expr.substitute(&|name| lookup(name).map(Expr::number));
        prop_assert!(constant.is_constant());
        // A literal exponent may be computed in another way than a variable one, with another last
        // bit.
        let (a, b) = (expr.eval(&lookup).unwrap(), constant.eval(&|_| None).unwrap());
        prop_assert!(same(a, b) || expr.to_string().contains(['^', '<', '>', '=', '!', '%', 'p', '&', '|', 'f', 'c']));
    }

    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![".{0,60}", "[-+*/^()a-c0-9.,!<>=&| ]{0,60}", "[-(^!a,)]{0,400}"]) {
        match parse(&text) {
            Ok(expr) => { prop_assert_eq!(parse(&expr.to_string()).unwrap(), expr); }
            Err(error) => {
                prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
                prop_assert!(text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end));
            }
        }
    }
}
