//! Models as a C99 header of `static inline` functions.

use strata_model::ModelSet;
use strata_model::expr::Row;
use strata_model::set::{Correction, SetError};

use super::interval::call;
use super::kinds::Enums;
use super::library::{Loop, PlainCandidate, PlainLibrary};
use super::plain::{Language, Returns, origin, resolve};

/// Words of C and C++, which name nothing in a header.
pub(super) const KEYWORDS: usize = 32;

/// The [`KEYWORDS`], and what the functions of a header call.
pub(super) const RESERVED: [&str; 56] = [
    "auto", "case", "char", "default", "double", "float", "goto", "int", "long", "register", "restrict",
    "short", "signed", "sizeof", "switch", "typedef", "unsigned", "void", "volatile", "inline", "bool",
    "class", "new", "delete", "namespace", "template", "operator", "private", "public", "this", "linux",
    "unix", "complex", "imaginary", "fmod", "pow", "exp2", "fmin", "fmax", "fabs", "sqrt", "log2", "log",
    "exp", "ceil", "floor", "isfinite", "main", "isnan", "helper_seconds", "helper_holds", "helper_square",
    "helper_cube", "helper_spread", "helper_factor", "helper_octaves",
];

struct C;

impl Language for C {
    const RESERVED: &'static [&'static str] = &RESERVED;
    const AND: &'static str = "&&";
    const OR: &'static str = "||";

    fn number(value: f64) -> String {
        match value {
            v if v.is_nan() => "NAN".into(),
            f64::INFINITY => "INFINITY".into(),
            f64::NEG_INFINITY => "-INFINITY".into(),
            v => format!("{v:?}"),
        }
    }

    fn truth(condition: &str) -> String {
        format!("(double)({condition})")
    }

    fn function(row: &Row, arguments: &str) -> String {
        row.c.replace('@', arguments)
    }

    fn call(name: &str, arguments: &[String]) -> String {
        let name = match name {
            "holds" | "square" | "cube" | "spread" => &format!("strata_helper_{name}"),
            other => other,
        };
        format!("{name}({})", arguments.join(", "))
    }

    const NODES: [&'static str; 3] = ["(double)nodes", "log2((double)nodes)", "sqrt((double)nodes)"];

    fn define(name: &str, doc: Option<[&str; 2]>, arguments: &[String], _: Returns, body: &str) -> String {
        let doc = doc.map_or(String::new(), |doc| {
            let [first, validity] = doc.map(|line| line.trim_end_matches('\\'));
            format!("// {first}.\n// Valid for {validity}.\n")
        });
        let parameters: String = arguments.iter().map(|a| format!(", double {a}")).collect();
        // A model that is a constant, or is never valid, does not read its arguments.
        let unread: String = arguments.iter().map(|name| format!("    (void){name};\n")).collect();
        format!(
            "\n{doc}static inline double {PREFIX}{name}(unsigned nodes{parameters}) {{\n    (void)nodes;\n{unread}{body}}}\n"
        )
    }

    fn bind(name: &str, value: &str) -> String {
        format!("    const double {name} = {value};\n")
    }

    fn rebind(name: &str, value: &str) -> String {
        format!("    {name} = {value};\n")
    }

    fn bind_time(name: &str, call: &str) -> String {
        format!(
            "    const double {name} = {PREFIX}{call};\n    if (isnan({name})) {{\n        return NAN;\n    }}\n"
        )
    }

    fn or_nan(call: &str) -> String {
        format!("{PREFIX}{call}")
    }

    fn guard(conditions: &[String]) -> String {
        format!("    if (!({})) {{\n        return NAN;\n    }}\n", conditions.join("\n        && "))
    }

    fn give(value: &str) -> String {
        format!("    return {value};\n")
    }

    fn give_time(addends: &[String]) -> String {
        format!("    return strata_helper_seconds({});\n", addends.join("\n        + "))
    }

    fn give_factor(values: &[String], correction: &Correction) -> String {
        let list = |numbers: &[f64]| {
            numbers.iter().map(|number| Self::number(*number)).collect::<Vec<_>>().join(", ")
        };
        let mut body = String::new();
        for (place, axis) in correction.axes.iter().enumerate() {
            body += &format!("    static const double knots_{place}[] = {{ {} }};\n", list(&axis.knots));
        }
        let each = correction.axes.last().map_or(1, |axis| axis.knots.len()).max(1);
        let rows: Vec<String> =
            correction.factors.chunks(each).map(|row| format!("        {}", list(row))).collect();
        let knots: Vec<String> = (0..values.len()).map(|place| format!("knots_{place}")).collect();
        let sizes: Vec<String> = correction.axes.iter().map(|axis| axis.knots.len().to_string()).collect();
        body += &format!(
            "    static const double factors[] = {{\n{}\n    }};\n    const double *knots[] = {{ {} }};\n    \
             const int sizes[] = {{ {} }};\n    const double values[] = {{ {} }};\n    \
             return strata_helper_factor({}, values, sizes, knots, factors);\n",
            rows.join(",\n"),
            knots.join(", "),
            sizes.join(", "),
            values.join(", "),
            values.len(),
        );
        body
    }

    fn own(call: &str) -> String {
        format!("{PREFIX}{call}")
    }
}

/// A placeholder for the prefix of all names until they are written: no C text has this character.
const PREFIX: char = '\u{1}';

/// The helpers that the functions call; several headers in one program share them.
const HELPERS: &str = "#ifndef STRATA_HELPERS
#define STRATA_HELPERS
// A time, or NaN.
static inline double strata_helper_seconds(double seconds) {
    return seconds >= 0.0 && seconds < INFINITY ? seconds : NAN;
}
static inline int strata_helper_holds(double value) { return fabs(value) > 0.0; }
static inline double strata_helper_square(double x) { return x * x; }
static inline double strata_helper_cube(double x) { return x * x * x; }
// The square of what the interval of one call adds to that of the whole.
static inline double strata_helper_spread(double above, double below) {
    const double difference = (above - below) / 2.0;
    return isfinite(difference) ? difference * difference : 0.0;
}
#endif // STRATA_HELPERS
";

/// The helpers that corrections call; see `strata_select::table::interpolate`.
const FACTOR: &str = "#ifndef STRATA_HELPER_FACTOR
#define STRATA_HELPER_FACTOR
// A logarithm to base 2, linear between powers of two, and below 1/65536 linear altogether.
static inline double strata_helper_octaves(double x) {
    if (x >= 1.0 / 65536.0) {
        int exponent;
        const double mantissa = frexp(x, &exponent);
        return (double)(exponent - 1) + (2.0 * mantissa - 1.0);
    }
    return x * 65536.0 - 17.0;
}
// The factor at these values, linear in their logarithms between the knots of each.
static inline double strata_helper_factor(int axes, const double *values, const int *sizes,
                                          const double *const *knots, const double *factors) {
    int corners[16] = { 0 };
    double shares[4] = { 0.0 }, corner[16];
    int count = 1;
    for (int axis = 0; axis < axes; axis++) {
        const double value = values[axis], *k = knots[axis];
        const int last = sizes[axis] - 1;
        int before = 0, after = 0;
        if (isnan(value)) {
            return NAN;
        }
        if (value >= k[last]) {
            before = after = last;
        } else if (value > k[0]) {
            while (k[after] <= value) {
                after++;
            }
            before = after - 1;
            const double low = strata_helper_octaves(k[before]), high = strata_helper_octaves(k[after]);
            shares[axis] = (strata_helper_octaves(value) - low) / (high - low);
        }
        for (int i = count - 1; i >= 0; i--) {
            const int offset = corners[i] * sizes[axis];
            corners[2 * i + 1] = offset + after;
            corners[2 * i] = offset + before;
        }
        count *= 2;
    }
    for (int i = 0; i < count; i++) {
        corner[i] = factors[corners[i]];
    }
    for (int axis = axes - 1; axis >= 0; axis--) {
        count /= 2;
        for (int i = 0; i < count; i++) {
            corner[i] = corner[2 * i] + shares[axis] * (corner[2 * i + 1] - corner[2 * i]);
        }
    }
    return corner[0];
}
#endif // STRATA_HELPER_FACTOR
";

/// The set as a C99 header: for each model its time in seconds, as `static inline double
/// PREFIX_name(unsigned nodes, double inputs…)`, half of its interval as `PREFIX_name_half_width`,
/// and for each library `PREFIX_library_choose`, which takes whole numbers as `size_t` and gives a
/// candidate of an enumeration with named parameters.
///
/// NaN where [`Resolved::seconds`](strata_model::Resolved::seconds) is `None`: test it with
/// `isnan`. Links with the mathematics library (`-lm`), whose functions may differ from the
/// interpreter's in the last bits, as may the code of a compiler that contracts `a * b + c`.
///
/// Headers of several sets can be included together if models of the same name have different
/// prefixes: a letter, then letters, digits and `_`.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn c(set: &ModelSet, prefix: &str) -> Result<String, SetError> {
    let plain = resolve(set, C::RESERVED)?;
    let guard = format!("{}_MODELS_{}_H", prefix, &set.digest()[..16]).to_ascii_uppercase();
    let mut text: String =
        origin(set).iter().map(|line| format!("// {}\n", line.trim_end_matches('\\'))).collect();
    text += "//\n// Each function is the time of a model in seconds, NaN where the model holds no\n\
             // longer; `_half_width` is half of the 95 % interval of a new measurement. C99; link with -lm.\n\n";
    text +=
        &format!("#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n#include <stddef.h>\n\n{HELPERS}");
    let functions = plain.functions::<C>();
    if functions.contains("strata_helper_factor(") {
        text += FACTOR;
    }
    let enums = Enums::new(&set.kinds);
    text += &enums.c(prefix);
    text += &functions;
    text.extend(plain.libraries.iter().map(|library| choice(library, &enums, prefix)));
    text += &format!("\n#endif // {guard}\n");
    Ok(text.replace(PREFIX, &format!("{prefix}_")))
}

/// The types and functions of a choice.
fn choice(library: &PlainLibrary, enums: &Enums, prefix: &str) -> String {
    let PlainLibrary { called, name, inputs, candidates, .. } = library;
    let comment = called.trim_end_matches('\\');
    if let Some(why) = library.refused() {
        return format!("\n// {}\n", why.trim_end_matches('\\'));
    }
    let constant = |candidate: &PlainCandidate| format!("{PREFIX}{name}_is_{}", candidate.name);
    let constants: Vec<String> = candidates.iter().map(constant).collect();
    let parameters = library.parameters();
    let mut text = format!(
        "\n// The candidates of library `{comment}`.\nenum {PREFIX}{name}_candidate {{ {PREFIX}{name}_none = -1, {} }};\n\n",
        constants.join(", ")
    );
    let (mut declared, mut none) = (String::new(), String::new());
    if !parameters.is_empty() {
        let fields: String = parameters.iter().map(|name| format!("    long long {name};\n")).collect();
        text += "// The parameters of all candidates; 0 in those without it.\n";
        text += &format!("struct {PREFIX}{name}_parameters {{\n{fields}}};\n\n");
        declared = format!("    struct {PREFIX}{name}_parameters parameters;\n");
        none = format!("{{ {} }}, ", vec!["0"; parameters.len()].join(", "));
    }
    text += &format!(
        "// The fastest candidate, its time and half of its interval in seconds.\ntypedef struct {{\n    \
         enum {PREFIX}{name}_candidate candidate; // `none` where none predicts\n{declared}    double seconds;\n    \
         double half_width;\n    \
         int covered; // zero outside what was measured: all is that of the nearest point that was\n}} {PREFIX}{name}_choice;\n\n"
    );
    // What was measured on one node is asked for without their number.
    let alone = library.nodes == (1, 1);
    let types = types(library, enums, prefix);
    let typed = inputs.iter().zip(&types).map(|(input, kind)| format!("{kind} {input}"));
    let arguments: Vec<String> =
        (!alone).then(|| "unsigned nodes".to_owned()).into_iter().chain(typed).collect();
    let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
    text += &format!("// Tries {} combinations of candidates and parameters.\n", library.combinations());
    text += &format!(
        "static inline {PREFIX}{name}_choice {PREFIX}{name}_choose({arguments}) {{\n    \
         {PREFIX}{name}_choice choice = {{ {PREFIX}{name}_none, {none}NAN, NAN, 1 }};\n    double least = INFINITY;\n"
    );
    if alone {
        text += "    const unsigned nodes = 1;\n";
    } else {
        text += &bounded("nodes", "unsigned", (library.nodes.0 as f64, library.nodes.1 as f64));
    }
    for (((input, of), kind), range) in inputs.iter().zip(&library.of).zip(&types).zip(&library.ranges) {
        if let count @ 1.. = enums.count(of) {
            text += &format!(
                "    if ((unsigned){input} >= {count}) {{\n        return choice; // no such name\n    }}\n"
            );
        }
        text += &bounded(input, kind, *range);
    }
    let numbers: Vec<String> = inputs.iter().map(|input| format!("(double){input}")).collect();
    let time = |candidate: &PlainCandidate, suffix: &str, spell: &dyn Fn(usize, &str) -> String| {
        let arguments = candidate.arguments(&numbers, spell);
        format!("{PREFIX}{}", call(&format!("{}{suffix}", candidate.model.name), &arguments))
    };
    // Takes a candidate with its parameters if that is better.
    let take = |candidate: &PlainCandidate, seconds: &str, better: &str, values: &[String]| {
        let mut text = format!("{{\n    const double seconds = {seconds};\n    if ({better}) {{\n");
        text += &format!("        least = seconds * {:?};\n", candidate.ratio);
        text += &format!(
            "        choice.candidate = {};\n        choice.seconds = seconds;\n",
            constant(candidate)
        );
        for parameter in &parameters {
            let own = candidate.parameters.iter().zip(values).find(|((name, _), _)| name == parameter);
            let value = own.map_or("0", |(_, value)| value);
            text += &format!("        choice.parameters.{parameter} = {value};\n");
        }
        text + "    }\n}\n"
    };
    for candidate in candidates {
        let names: Vec<String> = candidate.parameters.iter().map(|(name, _)| name.clone()).collect();
        let seconds = time(candidate, "", &|_, variable| format!("(double){variable}"));
        let better = format!("seconds * {:?} < least", candidate.ratio);
        let mut tried = take(candidate, &seconds, &better, &names);
        for (variable, range) in candidate.parameters.iter().rev() {
            let Loop { first, last, step: (operator, by) } = Loop::new(range);
            let head = format!(
                "for (long long {variable} = {first}; {variable} <= {last}; {variable} {operator}= {by})"
            );
            tried = format!("{head} {{\n{}}}\n", indented(&tried));
        }
        text += &indented(&tried);
    }
    for candidate in candidates {
        let Some((values, gain)) = &candidate.incumbent else { continue };
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        let seconds = time(candidate, "", &|k, _| format!("(double){}", values[k]));
        let better = format!("least > {:?} * (seconds * {:?})", 1.0 - gain, candidate.ratio);
        text += "    // It stays unless another promises this gain.\n";
        text += &indented(&take(candidate, &seconds, &better, &values));
    }
    for candidate in candidates {
        let half = time(candidate, "_half_width", &|_, name| format!("(double)choice.parameters.{name}"));
        let is = constant(candidate);
        text +=
            &format!("    if (choice.candidate == {is}) {{\n        choice.half_width = {half};\n    }}\n");
    }
    text += "    return choice;\n}\n\n// The name of a candidate; null for none.\n";
    text += &format!(
        "static inline const char *{PREFIX}{name}_name(enum {PREFIX}{name}_candidate candidate) {{\n    switch (candidate) {{\n"
    );
    for candidate in candidates {
        text += &format!("    case {}: return \"{}\";\n", constant(candidate), candidate.called);
    }
    text + "    default: return 0;\n    }\n}\n"
}

fn types(library: &PlainLibrary, enums: &Enums, prefix: &str) -> Vec<String> {
    let one = |((input, whole), (least, _)): ((&String, &bool), &(f64, f64))| {
        let number = match (whole, *least < 0.0) {
            (false, _) => "double",
            (true, true) => "long long",
            (true, false) => "size_t",
        };
        enums.c_type(input, prefix).unwrap_or_else(|| number.to_owned())
    };
    library.of.iter().zip(&library.whole).zip(&library.ranges).map(one).collect()
}

/// Moves a variable to the nearest value that was measured.
fn bounded(name: &str, kind: &str, (least, greatest): (f64, f64)) -> String {
    let outside = |condition: &str, bound: String| {
        let bound = if kind.starts_with("enum") { format!("({kind}){bound}") } else { bound };
        format!("    if ({condition}) {{\n        {name} = {bound};\n        choice.covered = 0;\n    }}\n")
    };
    let number = |value: f64| if kind == "double" { format!("{value:?}") } else { format!("{value:.0}") };
    let mut text = String::new();
    if kind == "double" && least.is_finite() {
        // Also what is not a number.
        text += &outside(&format!("!({name} >= {least:?})"), number(least));
    } else if least.is_finite() && least != 0.0 {
        text += &outside(&format!("{name} < {}", number(least.ceil())), number(least.ceil()));
    }
    // Greater bounds are no numbers of the type.
    let most = match kind {
        "double" => f64::MAX,
        "unsigned" => u32::MAX.into(),
        _ => 9e15,
    };
    if greatest <= most {
        let greatest = number(if kind == "double" { greatest } else { greatest.floor() });
        text += &outside(&format!("{name} > {greatest}"), greatest);
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
