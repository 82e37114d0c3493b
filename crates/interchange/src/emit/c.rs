//! Models as a C99 header of `static inline` functions.

use strata_model::ModelSet;
use strata_model::expr::Row;
use strata_model::set::SetError;

use super::plain::{Language, PlainModel, origin, resolve, used};

struct C;

impl Language for C {
    const RESERVED: &'static [&'static str] = &[
        "auto",
        "case",
        "char",
        "default",
        "double",
        "float",
        "goto",
        "int",
        "long",
        "register",
        "restrict",
        "short",
        "signed",
        "sizeof",
        "switch",
        "typedef",
        "unsigned",
        "void",
        "volatile",
        "inline",
        "bool",
        "complex",
        "imaginary",
        "class",
        "new",
        "delete",
        "namespace",
        "template",
        "operator",
        "private",
        "public",
        "this",
        "fmod",
        "pow",
        "exp2",
        "fmin",
        "fmax",
        "fabs",
        "sqrt",
        "log2",
        "log",
        "exp",
        "ceil",
        "floor",
        "isfinite",
        "main",
        "holds",
        "square",
        "cube",
        "seconds",
        "linux",
        "unix",
    ];
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
            "holds" => "strata_holds",
            "square" => "strata_square",
            "cube" => "strata_cube",
            other => other,
        };
        format!("{name}({})", arguments.join(", "))
    }
}

const HELPERS: [(&str, &str); 3] = [
    ("strata_holds", "static inline int strata_holds(double value) { return fabs(value) > 0.0; }\n"),
    ("strata_square", "static inline double strata_square(double x) { return x * x; }\n"),
    ("strata_cube", "static inline double strata_cube(double x) { return x * x * x; }\n"),
];

/// The set as a C99 header: for each model its time in seconds, as
/// `static inline double strata_name(unsigned nodes, double inputs…)`.
///
/// NaN where [`Resolved::seconds`](strata_model::Resolved::seconds) is `None`: test it with
/// `isnan`. Links with the mathematics library (`-lm`), whose functions may differ from the
/// interpreter's in the last bits, as may the code of a compiler that contracts `a * b + c`.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn c(set: &ModelSet) -> Result<String, SetError> {
    let models = resolve(set, C::RESERVED)?;
    let body: String = models.iter().map(function).collect();
    let guard = format!("STRATA_MODELS_{}_H", set.digest()[..16].to_ascii_uppercase());
    let mut text: String =
        origin(set).iter().map(|line| format!("// {}\n", line.trim_end_matches('\\'))).collect();
    text += "//\n// Each function is the time of a model in seconds, NaN where the model holds no longer. C99; link with -lm.\n\n";
    text += &format!("#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n\n");
    text += &used(&HELPERS, &body);
    text += "// A time, or NaN.\nstatic inline double strata_seconds(double seconds) {\n    \
             return seconds >= 0.0 && seconds < INFINITY ? seconds : NAN;\n}\n";
    text += &body;
    Ok(text + &format!("\n#endif // {guard}\n"))
}

fn function(model: &PlainModel) -> String {
    let mut text = String::from("\n");
    let [quality, validity] = model.doc.each_ref().map(|line| line.trim_end_matches('\\'));
    text += &format!("// {quality}.\n// Valid for {validity}.\n");
    let arguments: String = model.arguments.iter().map(|a| format!(", double {a}")).collect();
    text += &format!("static inline double strata_{}(unsigned nodes{arguments}) {{\n", model.name);
    let locals =
        [("p", "(double)nodes"), ("log_p", "log2((double)nodes)"), ("sqrt_p", "sqrt((double)nodes)")];
    for ((name, value), _) in locals.iter().zip(model.reads_nodes()).filter(|(_, read)| *read) {
        text += &format!("    const double {name} = {value};\n");
    }
    let conditions = model.conditions::<C>().join("\n        && ");
    // A model that is a constant, or is never valid, does not read its arguments.
    for name in &model.arguments {
        text += &format!("    (void){name};\n");
    }
    text += &format!("    if (!({conditions})) {{\n        return NAN;\n    }}\n");
    text += &format!("    return strata_seconds({});\n}}\n", model.addends::<C>().join("\n        + "));
    text
}
