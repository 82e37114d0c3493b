//! The expression language: its meaning, its printed form, and its limits against hostile texts.

use std::collections::BTreeMap;

use proptest::prelude::*;
use strata_model::expr::{
    BinaryOp, Expr, ExprKind, Function, MAX_HEIGHT, MAX_NESTING, Span, UnaryOp, parse, parse_at,
};
use strata_model::{Program, number_text};

fn value(text: &str) -> f64 {
    parse(text).unwrap().eval(&|name| (name == "x").then_some(5.0)).unwrap()
}

#[test]
fn means_what_mathematics_means() {
    let cases: &[(&str, f64)] = &[
        ("1+2*3", 7.0),
        ("(1+2)*3", 9.0),
        ("10-3-2", 5.0),
        ("16/4/2", 2.0),
        ("2^3^2", 512.0),
        ("-2^2", -4.0),
        ("(-2)^2", 4.0),
        ("2^-1", 0.5),
        ("2^-1^2", 0.5),
        ("--x", 5.0),
        ("7%4", 3.0),
        ("-7%4", -3.0),
        ("1<<10", 1024.0),
        ("1000>>3", 125.0),
        ("1001>>3", 125.0),
        ("1<<2+1", 8.0),
        ("x==5", 1.0),
        ("x!=5", 0.0),
        ("!x", 0.0),
        ("!0 && x>=5 || 0", 1.0),
        ("1 || 0 && 0", 1.0),
        ("min(3,1,2)", 1.0),
        ("max(3, 1, 2)", 3.0),
        ("abs(-x)", 5.0),
        ("sqrt(16)+log2(8)+ln(1)+exp(0)", 8.0),
        ("pow(2, 10)", 1024.0),
        ("x^2+x^3", 150.0),
        ("ceil(1.2)+floor(1.8)", 3.0),
        ("65_536", 65536.0),
        ("1e-3*1E3", 1.0),
        ("1.5e+2", 150.0),
        ("(0/0)==(0/0)", 0.0),
        ("!(0/0)", 1.0),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), *expected, "{text}");
    }
}

#[test]
fn prints_the_canonical_text() {
    let cases = [
        ("length * logP", "length*logP"),
        ("max( 0 , keys - 32_768 )", "max(0,keys-32768)"),
        ("((a))", "a"),
        ("a-(b-c)", "a-(b-c)"),
        ("(a-b)-c", "a-b-c"),
        ("a*(b/c)", "a*(b/c)"),
        ("(2^3)^2", "(2^3)^2"),
        ("2^(3^2)", "2^3^2"),
        ("(-2)^2", "(-2)^2"),
        ("-(2^2)", "-2^2"),
        ("2^(-x)", "2^-x"),
        ("-(a+b)", "-(a+b)"),
        ("!(a&&b)", "!(a&&b)"),
        ("(a<b)==c", "(a<b)==c"),
        ("(a&&b)||c&&(d||e)", "a&&b||c&&(d||e)"),
        ("0.00001", "1e-5"),
        ("Radix(64, 8, 32)", "Radix(64,8,32)"),
        ("Now( )", "Now()"),
        ("a--b", "a--b"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).unwrap().to_string(), expected);
    }
    let odd = Expr::binary(BinaryOp::Power, Expr::number(-2.0), Expr::number(f64::INFINITY));
    assert_eq!(odd.to_string(), "(-2)^(1/0)");
    assert!(parse(&Expr::number(f64::NAN).to_string()).unwrap().eval(&|_| None).unwrap().is_nan());
}

#[test]
fn errors_name_the_place_and_the_way_out() {
    let texts = [
        "", "1+", "1 2", "(1", "1)", "max(1", "max(1,", "max(1)", "sqrt()", "sqrt(1,2)", "a<b<c", "a==b!=c",
        "min", "P(3)", "1e999", "a $ b", "a & b", "2x", "naïve", ".5", "a=b",
    ];
    let shown: Vec<_> = texts
        .iter()
        .map(|text| {
            let error = parse(text).unwrap_err();
            let Span { start, end } = error.span;
            assert!(
                start <= end
                    && end <= text.len()
                    && text.is_char_boundary(start)
                    && text.is_char_boundary(end)
            );
            format!("{text}\n{}{} {error}", " ".repeat(start), "^".repeat((end - start).max(1)))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
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
fn knows_whole_numbers() {
    let integral = |text: &str| parse(text).unwrap().is_integral(&|name| name == "i");
    for text in [
        "i", "2*i+1", "i%3", "1<<i", "i>>1", "2^i", "floor(x)", "ceil(x/2)", "min(i,3)", "P", "i==x", "!x",
        "abs(-i)",
    ] {
        assert!(integral(text), "{text}");
    }
    for text in
        ["x", "i/2", "2^-i", "sqrt(i)", "logP", "i+0.5", "1<<(0-i)", "min(i,x)", "Model(i)", "2^(i-3)"]
    {
        assert!(!integral(text), "{text}");
    }
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

/// rustc compiles the printed texts, so that both can be compared: see `rust_computes_the_same`.
#[test]
fn prints_rust() {
    let texts = [
        "length*logP",
        "max(0,keys-32768)",
        "2^bits*ceil(width/bits)",
        "(a+b)^2/-c",
        "x^3+x^0.5",
        "1<<i",
        "(i+1)>>2",
        "a<b&&b<=c||!d",
        "(a<b)+1",
        "-x^2",
        "(-2)^x",
        "min(a,b,3)%2",
        "abs(a-b)",
        "1e-300*a",
        "sqrt(ln(a)+exp(b))",
        "max(1/2,x)*floor(7/2)",
        "-(a*b)-(-1)*c",
        "(a<b)*x",
        "(i<<2)*x",
    ];
    let shown: Vec<_> = texts
        .iter()
        .map(|text| format!("{text}\n    {}", parse(text).unwrap().to_rust(&|n| n.to_owned())))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn rust_computes_the_same() {
    // The texts on the right are what `prints_rust` pins.
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
