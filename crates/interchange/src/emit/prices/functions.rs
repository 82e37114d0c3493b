//! Prices as functions of whole numbers, in C and Rust.

use strata_model::codegen::{Scope, snake};

use super::whole::{Operation, Whole, grouped, sum};
use super::{Price, Prices, origin};

struct Function {
    docs: Vec<String>,
    name: String,
    /// The arguments, and whether the sum reads them.
    arguments: Vec<(String, bool)>,
    sum: Whole,
}

/// The function of each model; `reserved` cannot be names of functions or arguments.
fn functions(prices: &Prices, reserved: [&[&str]; 2]) -> Result<Vec<Function>, String> {
    let mut scope = Scope::with(reserved[0]);
    let one = |price: &Price| {
        let mut locals = Scope::with(reserved[1]);
        let inputs: Vec<&str> = price.inputs.iter().map(|input| &*input.name).collect();
        let names: Vec<String> = inputs.iter().map(|input| locals.claim(&snake(input), &[""])).collect();
        let name = |wanted: &str| {
            let place = inputs.iter().position(|input| *input == wanted);
            place.map_or(wanted.to_owned(), |place| names[place].clone())
        };
        let sum = sum(price, &name)?;
        let arguments = names.iter().map(|name| (name.clone(), reads(&sum, name))).collect();
        Ok(Function { docs: price.docs(), name: scope.claim(&snake(&price.name), &[""]), arguments, sum })
    };
    prices.rows.iter().map(one).collect()
}

fn reads(expr: &Whole, variable: &str) -> bool {
    match expr {
        Whole::Number(_) => false,
        Whole::Name(name) => name == variable,
        Whole::Of(_, a, b) => reads(a, variable) || reads(b, variable),
        Whole::LogUp(a) => reads(a, variable),
    }
}

/// What is done with operands `@` and `#`, in C behind a prefix, and in Rust.
const OPERATIONS: [(Option<Operation>, [&str; 2]); 7] = [
    (Some(Operation::Add), ["_add(@, #)", "@.saturating_add(#)"]),
    (Some(Operation::Subtract), ["_subtract(@, #)", "@.saturating_sub(#)"]),
    (Some(Operation::Multiply), ["_multiply(@, #)", "@.saturating_mul(#)"]),
    (Some(Operation::DivideUp), ["_divide_up(@, #)", "@.div_ceil(#)"]),
    (Some(Operation::Greatest), ["_greatest(@, #)", "greatest(@, #)"]),
    (Some(Operation::Least), ["_least(@, #)", "least(@, #)"]),
    (None, ["_log2_up(@)", "log2_up(@)"]),
];

/// The expression in C, with what stands before names of functions, or in Rust.
fn spelt(expr: &Whole, c: Option<&str>) -> String {
    let (operation, operands) = match expr {
        Whole::Number(value) if c.is_some() => return format!("UINT64_C({value})"),
        Whole::Number(value) => return format!("{}_u64", grouped(*value)),
        Whole::Name(name) => return name.clone(),
        Whole::LogUp(a) => (None, [spelt(a, c), String::new()]),
        Whole::Of(of, a, b) => (Some(*of), [spelt(a, c), spelt(b, c)]),
    };
    let known = OPERATIONS.iter().find(|(known, _)| *known == operation);
    let text = known.map_or("", |(_, texts)| texts[usize::from(c.is_none())]);
    // Names hold neither sign.
    c.unwrap_or_default().to_owned() + &text.replace('@', &operands[0]).replace('#', &operands[1])
}

/// A module without dependencies, of a function a model; it stays at `u64::MAX` where a sum is
/// greater.
///
/// # Errors
/// A message: an input or a term that is not computed in whole numbers.
pub fn rust(prices: &Prices) -> Result<String, String> {
    let mut text: String = origin(prices).iter().map(|line| format!("// {line}\n")).collect();
    text += "// Whole numbers, rounded up; sums that are too great stay at u64::MAX.\n";
    for Function { docs, name, arguments, sum } in
        functions(prices, [&["log2_up", "greatest", "least"], &[]])?
    {
        let unused = |(name, read): &(String, bool)| format!("{}{name}: u64", if *read { "" } else { "_" });
        let arguments = arguments.iter().map(unused).collect::<Vec<_>>().join(", ");
        let docs: String = docs.iter().map(|line| format!("/// {line}\n")).collect();
        let body = spelt(&sum, None);
        text += &format!("\n{docs}#[must_use]\npub const fn {name}({arguments}) -> u64 {{\n    {body}\n}}\n");
    }
    for (name, definition) in [
        (
            "log2_up(",
            "\n/// The logarithm to base 2, rounded up; 0 of 0.\nconst fn log2_up(value: u64) -> u64 {\n    \
             if value <= 1 { 0 } else { (u64::BITS - (value - 1).leading_zeros()) as u64 }\n}\n",
        ),
        ("greatest(", "\nconst fn greatest(a: u64, b: u64) -> u64 {\n    if a > b { a } else { b }\n}\n"),
        ("least(", "\nconst fn least(a: u64, b: u64) -> u64 {\n    if a < b { a } else { b }\n}\n"),
    ] {
        text += if text.contains(name) { definition } else { "" };
    }
    Ok(text)
}

/// What the functions in C are made of; `@` is the prefix.
const HELPERS: &str = "
static inline uint64_t @_add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
static inline uint64_t @_subtract(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }
static inline uint64_t @_multiply(uint64_t a, uint64_t b) {
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}
static inline uint64_t @_divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
static inline uint64_t @_greatest(uint64_t a, uint64_t b) { return a > b ? a : b; }
static inline uint64_t @_least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t @_log2_up(uint64_t a) {
    uint64_t bits = 0;
    for (a = a > 1 ? a - 1 : 0; a != 0; a >>= 1) bits++;
    return bits;
}
";

/// A C99 header of a function a model; it stays at `UINT64_MAX` where a sum is greater. All names
/// begin with `prefix`.
///
/// # Errors
/// A message: an input or a term that is not computed in whole numbers.
pub fn c(prices: &Prices, prefix: &str) -> Result<String, String> {
    let guard = format!("{}_PRICES_H", prefix.to_ascii_uppercase());
    let mut text: String = origin(prices).iter().map(|line| format!("// {line}\n")).collect();
    text += "// Whole numbers, rounded up; sums that are too great stay at UINT64_MAX.\n";
    text += &format!("#ifndef {guard}\n#define {guard}\n#include <stdint.h>\n");
    text += &HELPERS.replace('@', prefix);
    let helpers = ["add", "subtract", "multiply", "divide_up", "greatest", "least", "log2_up"];
    let words = ["int", "long", "double", "char", "short", "auto", "register", "void"];
    for Function { docs, name, arguments, sum } in functions(prices, [&helpers, &words])? {
        let declared: Vec<String> = arguments.iter().map(|(name, _)| format!("uint64_t {name}")).collect();
        let declared = if declared.is_empty() { "void".to_owned() } else { declared.join(", ") };
        let docs: String = docs.iter().map(|line| format!("// {line}\n")).collect();
        let unused = arguments.iter().filter(|(_, read)| !read);
        let unused: String = unused.map(|(name, _)| format!("    (void){name};\n")).collect();
        let body = spelt(&sum, Some(prefix));
        text += &format!(
            "\n{docs}static inline uint64_t {prefix}_{name}({declared}) {{\n{unused}    return {body};\n}}\n"
        );
    }
    Ok(text + "\n#endif\n")
}
