//! Models as plain Python 3.

use strata_model::ModelSet;
use strata_model::expr::{Function, Row};
use strata_model::set::{Correction, SetError};

use super::interval::call;
use super::kinds::Enums;
use super::library::{Loop, PlainLibrary};
use super::plain::{Language, Returns, origin, resolve, used};

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

    const NODES: [&'static str; 3] = ["float(nodes)", "math.log2(nodes)", "math.sqrt(nodes)"];

    fn define(
        name: &str,
        doc: Option<[&str; 2]>,
        arguments: &[String],
        returns: Returns,
        body: &str,
    ) -> String {
        let list: String = arguments.iter().map(|a| format!(", {a}")).collect();
        let mut text = format!("\n\ndef {name}(nodes{list}):\n");
        if let Some(doc) = doc {
            let [first, validity] = doc.map(|line| line.replace('\\', "/").replace('"', "'"));
            text += &format!("    \"\"\"{first}.\n\n    Valid for {validity}.\n    \"\"\"\n");
        }
        if returns == Returns::Time {
            text += "    if not nodes > 0:\n        return None\n";
            // Whole numbers of any size become floats, as in the interpreter.
            text.extend(arguments.iter().map(|name| format!("    {name} = float({name})\n")));
        }
        text + body
    }

    fn bind(name: &str, value: &str) -> String {
        format!("    {name} = {value}\n")
    }

    fn bind_time(name: &str, call: &str) -> String {
        format!("    {name} = {call}\n    if {name} is None:\n        return None\n")
    }

    fn or_nan(call: &str) -> String {
        format!("_or_nan({call})")
    }

    fn guard(conditions: &[String]) -> String {
        let conditions = conditions.join("\n        and ");
        format!("    valid = (\n        {conditions}\n    )\n    if not valid:\n        return None\n")
    }

    fn give(value: &str) -> String {
        format!("    return {value}\n")
    }

    fn give_factor(values: &[String], correction: &Correction) -> String {
        let tuple = |items: &[f64]| {
            let items: String = items.iter().map(|item| format!("{}, ", Self::number(*item))).collect();
            format!("({})", items.trim_end())
        };
        let knots: Vec<String> = correction.axes.iter().map(|axis| tuple(&axis.knots)).collect();
        let each = correction.axes.last().map_or(1, |axis| axis.knots.len()).max(1);
        let rows = correction.factors.chunks(each).map(|row| {
            let row: String = row.iter().map(|factor| format!("{}, ", Self::number(*factor))).collect();
            format!("            {}\n", row.trim_end())
        });
        format!(
            "    return _factor(\n        ({},),\n        (\n            {},\n        ),\n        (\n{}        ),\n    )\n",
            values.join(", "),
            knots.join(",\n            "),
            rows.collect::<String>()
        )
    }

    fn give_time(addends: &[String]) -> String {
        format!("    return _seconds(\n        {}\n    )\n", addends.join("\n        + "))
    }
}

/// Helpers of operators. Where other languages compute infinity or NaN Python raises exceptions;
/// these helpers return the values.
const HELPERS: [(&str, &str); 9] = [
    (
        "_factor",
        "def _octaves(x):
    if x >= 1.0 / 65536.0:
        mantissa, exponent = math.frexp(x)
        return float(exponent - 1) + (2.0 * mantissa - 1.0)
    return x * 65536.0 - 17.0


def _factor(values, knots, factors):
    corners, shares = [0], []
    for value, k in zip(values, knots):
        if math.isnan(value):
            return math.nan
        before, after, share = 0, 0, 0.0
        if value >= k[-1]:
            before = after = len(k) - 1
        elif value > k[0]:
            while k[after] <= value:
                after += 1
            before = after - 1
            low, high = _octaves(k[before]), _octaves(k[after])
            share = (_octaves(value) - low) / (high - low)
        corners = [c * len(k) + side for c in corners for side in (before, after)]
        shares.append(share)
    values = [factors[c] for c in corners]
    for share in reversed(shares):
        values = [a + share * (b - a) for a, b in zip(values[::2], values[1::2])]
    return values[0]


",
    ),
    ("_holds", "def _holds(x):\n    return math.fabs(x) > 0.0\n\n\n"),
    ("_or_nan", "def _or_nan(x):\n    return math.nan if x is None else x\n\n\n"),
    (
        "_spread",
        "def _spread(above, below):\n    difference = (above - below) / 2.0\n    \
         return difference * difference if math.isfinite(difference) else 0.0\n\n\n",
    ),
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
/// time in seconds, `name_half_width`, half of its interval, and for each library
/// `library_choose`.
///
/// The functions return `None` where [`Resolved::seconds`](strata_model::Resolved::seconds) is
/// `None`. They use the platform's C library and may differ from the interpreter's in the last
/// bits.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn python(set: &ModelSet) -> Result<String, SetError> {
    let plain = resolve(set, Python::RESERVED)?;
    let mut body = plain.functions::<Python>();
    let enums = Enums::new(&set.kinds);
    body.extend(plain.libraries.iter().map(|library| choice(library, &enums)));
    let mut text: String = origin(set).iter().map(|line| format!("# {line}\n")).collect();
    text += "\"\"\"The time of each model in seconds; None where the model holds no longer.\n\n\
             Functions whose names end in _half_width give half of the 95 % interval of a new measurement.\n\"\"\"\n\n";
    text += if set.kinds.is_empty() { "import math\n\n\n" } else { "import enum\nimport math\n\n\n" };
    text += &enums.python();
    text += &used(&HELPERS, &body);
    let rows = Function::ALL.map(Function::row);
    text += &used(&rows.map(|row| (row.python.trim_end_matches("(@)"), row.python_helper)), &body);
    text += "def _seconds(seconds):\n    return seconds if 0.0 <= seconds < math.inf else None\n";
    Ok(text + &body)
}

fn choice(library: &PlainLibrary, enums: &Enums) -> String {
    let PlainLibrary { called, name, inputs, candidates, .. } = library;
    if let Some(why) = library.refused() {
        return format!("\n\n# {why}\n");
    }
    let list: String = inputs.iter().map(|input| format!(", {input}")).collect();
    let bound = |name: &str, least: Option<String>, greatest: Option<String>| {
        let least =
            least.map_or(name.to_owned(), |least| format!("{name} if {name} >= {least} else {least}"));
        match greatest {
            Some(greatest) => format!("({least}) if not {name} > {greatest} else {greatest}"),
            None => least,
        }
    };
    let (names, moved): (Vec<_>, Vec<_>) = library.nearest(&bound).into_iter().unzip();
    let named = inputs.iter().zip(&library.of);
    let named = named.filter_map(|(name, of)| Some(format!("    {name} = {}({name})\n", enums.class(of)?)));
    let nearest = named.collect::<String>()
        + &format!(
            "    asked = ({0},)\n    {0}, = {1},\n    covered = asked == ({0},)\n",
            names.join(", "),
            moved.join(", ")
        );
    let mut text = format!(
        "\n\ndef {name}_choose(nodes{list}):\n    \"\"\"The fastest candidate of library `{}`; None where none predicts.\n\n    \
         A tuple: its name, its parameters, its time and half of its interval in seconds, and whether this\n    \
         was measured: outside, all is that of the nearest point that was.\n    \
         Tries {} combinations of candidates and parameters.\n    \"\"\"\n{nearest}    least, choice = math.inf, None\n",
        called.replace('\\', "/").replace('"', "'"),
        library.combinations()
    );
    for candidate in candidates {
        let mut indent = String::from("    ");
        let mut ends = Vec::new();
        for (variable, range) in &candidate.parameters {
            let Loop { first, last, step: (operator, by) } = Loop::new(range);
            text += &format!("{indent}{variable} = {first}\n{indent}while {variable} <= {last}:\n");
            indent += "    ";
            ends.push(format!("{indent}{variable} {operator}= {by}\n"));
        }
        let arguments = candidate.arguments(inputs, &|_, variable| variable.to_owned());
        let (time, ratio) = (call(&candidate.model.name, &arguments), candidate.ratio);
        let half = format!("{}_half_width", candidate.model.name);
        let entries =
            candidate.parameters.iter().zip(candidate.model.formula.inputs.iter().skip(inputs.len()));
        let parameters: Vec<String> =
            entries.map(|((variable, _), called)| format!("{called:?}: {variable}")).collect();
        text += &format!(
            "{indent}seconds = {time}\n{indent}if seconds is not None and seconds * {ratio:?} < least:\n"
        );
        text += &format!("{indent}    least = seconds * {ratio:?}\n");
        text += &format!(
            "{indent}    choice = ({:?}, {{{}}}, seconds, {half})\n",
            candidate.called,
            parameters.join(", ")
        );
        text.extend(ends.iter().rev().map(String::as_str));
    }
    for candidate in candidates {
        let Some((values, gain)) = &candidate.incumbent else { continue };
        let arguments = candidate.arguments(inputs, &|k, _| values[k].to_string());
        let (time, ratio) = (call(&candidate.model.name, &arguments), candidate.ratio);
        let called = candidate.model.formula.inputs.iter().skip(inputs.len());
        let parameters: Vec<String> =
            called.zip(values).map(|(called, value)| format!("{called:?}: {value}")).collect();
        text += &format!(
            "    # It stays unless another promises this gain.\n    seconds = {time}\n    \
             if seconds is not None and least > {:?} * (seconds * {ratio:?}):\n        \
             choice = ({:?}, {{{}}}, seconds, {}_half_width)\n",
            1.0 - gain,
            candidate.called,
            parameters.join(", "),
            candidate.model.name
        );
    }
    let arguments: String = inputs.iter().map(|input| format!("{input}, ")).collect();
    text + &format!(
        "    if choice is None:\n        return None\n    candidate, parameters, seconds, half_width = choice\n    \
         return candidate, parameters, seconds, half_width(nodes, {arguments}*parameters.values()), covered\n"
    )
}
