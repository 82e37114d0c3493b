//! Models as plain Python 3.

use strata_model::ModelSet;
use strata_model::expr::{Function, Row};
use strata_model::set::SetError;

use super::plain::{Language, PlainModel, origin, resolve, used};

struct Python;

impl Language for Python {
    const RESERVED: &'static [&'static str] = &[
        "and", "assert", "class", "def", "del", "elif", "except", "finally", "from", "global", "import",
        "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "with", "none", "float", "math",
    ];
    const AND: &'static str = "and";
    const OR: &'static str = "or";

    fn number(value: f64) -> String {
        match value {
            v if v.is_nan() => "math.nan".into(),
            f64::INFINITY => "math.inf".into(),
            f64::NEG_INFINITY => "-math.inf".into(),
            v => format!("{v:?}"),
        }
    }

    fn truth(condition: &str) -> String {
        format!("float({condition})")
    }

    fn divide(a: &str, b: &str) -> String {
        format!("_div({a}, {b})")
    }

    fn function(row: &Row, arguments: &str) -> String {
        row.python.replace('@', arguments)
    }

    fn call(name: &str, arguments: &[String]) -> String {
        format!("_{name}({})", arguments.join(", "))
    }
}

/// Helpers of operators. Python raises exceptions where other languages compute infinity or NaN;
/// these compute them too.
const HELPERS: [(&str, &str); 6] = [
    ("_holds", "def _holds(x):\n    return math.fabs(x) > 0.0\n\n\n"),
    ("_square", "def _square(x):\n    return x * x\n\n\n"),
    ("_cube", "def _cube(x):\n    return x * x * x\n\n\n"),
    (
        "_div",
        "def _div(a, b):\n    if b != 0.0:\n        return a / b\n    if a == 0.0 or math.isnan(a):\n        return math.nan\n    \
         return math.copysign(math.inf, a) * math.copysign(1.0, b)\n\n\n",
    ),
    (
        "_fmod",
        "def _fmod(a, b):\n    try:\n        return math.fmod(a, b)\n    except ValueError:\n        return math.nan\n\n\n",
    ),
    (
        "_exp2",
        "def _exp2(x):\n    try:\n        return math.pow(2.0, x)\n    except OverflowError:\n        return math.inf\n\n\n",
    ),
];

/// The set as a Python 3 module that needs only `math`: for each model `name(nodes, inputs…)`, its
/// time in seconds.
///
/// `None` where [`Resolved::seconds`](strata_model::Resolved::seconds) is. Functions are those of
/// the platform's C library and may differ from the interpreter's in the last bits.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn python(set: &ModelSet) -> Result<String, SetError> {
    let models = resolve(set, Python::RESERVED)?;
    let body: String = models.iter().map(function).collect();
    let mut text: String = origin(set).iter().map(|line| format!("# {line}\n")).collect();
    text += "\"\"\"The time of each model in seconds; None where the model holds no longer.\"\"\"\n\nimport math\n\n\n";
    text += &used(&HELPERS, &body);
    let rows = Function::ALL.map(Function::row);
    text += &used(&rows.map(|row| (row.python.trim_end_matches("(@)"), row.python_helper)), &body);
    text += "def _seconds(seconds):\n    return seconds if 0.0 <= seconds < math.inf else None\n";
    Ok(text + &body)
}

fn function(model: &PlainModel) -> String {
    let arguments: String = model.arguments.iter().map(|a| format!(", {a}")).collect();
    let mut text = format!("\n\ndef {}(nodes{arguments}):\n", model.name);
    let [quality, validity] = model.doc.each_ref().map(|line| line.replace('\\', "/").replace('"', "'"));
    text += &format!("    \"\"\"{quality}.\n\n    Valid for {validity}.\n    \"\"\"\n");
    text += "    if not nodes > 0:\n        return None\n";
    // Whole numbers of any size become floats, as in the interpreter.
    for name in &model.arguments {
        text += &format!("    {name} = float({name})\n");
    }
    let locals = [("p", "float(nodes)"), ("log_p", "math.log2(nodes)"), ("sqrt_p", "math.sqrt(nodes)")];
    for ((name, value), _) in locals.iter().zip(model.reads_nodes()).filter(|(_, read)| *read) {
        text += &format!("    {name} = {value}\n");
    }
    let conditions = model.conditions::<Python>().join("\n        and ");
    text += &format!("    valid = (\n        {conditions}\n    )\n    if not valid:\n        return None\n");
    text +=
        &format!("    return _seconds(\n        {}\n    )\n", model.addends::<Python>().join("\n        + "));
    text
}
