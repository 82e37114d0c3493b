//! Prices as C functions of whole numbers.

use strata_model::codegen::{Scope, snake};

use super::whole::{Operation, Whole, sum};
use super::{Prices, origin};

/// What the functions are made of; `@` is the prefix.
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
    let mut scope = Scope::with(&helpers);
    for price in &prices.rows {
        let mut locals = Scope::with(&["int", "long", "double", "char", "short", "auto", "register", "void"]);
        let names: Vec<(&str, String)> = price
            .inputs
            .iter()
            .map(|input| (&*input.name, locals.claim(&snake(&input.name), &[""])))
            .collect();
        let name = |wanted: &str| {
            names
                .iter()
                .find(|(input, _)| *input == wanted)
                .map_or(wanted.to_owned(), |(_, name)| name.clone())
        };
        let sum = sum(price, &name)?;
        let arguments: Vec<String> = names.iter().map(|(_, name)| format!("uint64_t {name}")).collect();
        let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
        text.push('\n');
        price.docs().iter().for_each(|line| text += &format!("// {line}\n"));
        let function = scope.claim(&snake(&price.name), &[""]);
        text += &format!("static inline uint64_t {prefix}_{function}({arguments}) {{\n");
        let unused = names.iter().filter(|(_, name)| !super::rust::reads(&sum, name));
        unused.for_each(|(_, name)| text += &format!("    (void){name};\n"));
        text += &format!("    return {};\n}}\n", spelt(&sum, prefix));
    }
    Ok(text + "\n#endif\n")
}

fn spelt(expr: &Whole, prefix: &str) -> String {
    match expr {
        Whole::Number(value) => format!("UINT64_C({value})"),
        Whole::Name(name) => name.clone(),
        Whole::LogUp(value) => format!("{prefix}_log2_up({})", spelt(value, prefix)),
        Whole::Of(operation, a, b) => {
            let name = match operation {
                Operation::Add => "add",
                Operation::Subtract => "subtract",
                Operation::Multiply => "multiply",
                Operation::DivideUp => "divide_up",
                Operation::Greatest => "greatest",
                Operation::Least => "least",
            };
            format!("{prefix}_{name}({}, {})", spelt(a, prefix), spelt(b, prefix))
        }
    }
}
