//! The functions of one model.

use std::collections::BTreeMap;

use strata_model::codegen::{Scope, markdown, one_line, snake};
use strata_model::expr::rust_number;
use strata_model::set::calls::{Site, name_calls, result_number};
use strata_model::set::{Check, FitSpread, Formula, Model, ModelSet, Nodes};
use strata_model::{Expr, Resolved, expr};

/// Names that functions and tables of emitted text must not take.
const RESERVED: [&str; 9] =
    ["within", "holds", "checked", "variance", "spread", "nodes", "inputs", "parameters", "m_"];
/// Names that variables must not take.
const LOCALS: [&str; 15] = [
    "nodes",
    "p",
    "log_p",
    "sqrt_p",
    "valid",
    "seconds",
    "sign",
    "square",
    "deviation",
    "from_fit",
    "by",
    "terms",
    "inputs",
    "parameters",
    "m_",
];
/// Lines are broken beyond this.
const WIDTH: usize = 100;

/// The functions of all models.
pub(super) struct Functions<'a> {
    resolved: &'a Resolved,
    names: BTreeMap<String, String>,
    pub(super) scope: Scope,
}

/// A model or candidate as what is emitted of it.
pub(super) struct Subject<'a> {
    formula: &'a Formula,
    doc: String,
    public: bool,
}

impl<'a> Subject<'a> {
    /// A model of the set.
    pub(super) fn model(resolved: &Resolved, model: &Model, formula: &'a Formula) -> Self {
        let doc = format!(
            "/// `{}`: {}.\n///\n/// Valid for {}.\n",
            one_line(&model.name),
            markdown(&model.quality()),
            markdown(&resolved.validity(model)),
        );
        Self { formula, doc, public: true }
    }

    /// A candidate of a library, whose time is that of a model.
    pub(super) fn candidate(formula: &'a Formula) -> Self {
        Self { formula, doc: String::new(), public: false }
    }
}

impl<'a> Functions<'a> {
    /// Gives every model its name in Rust.
    pub(super) fn name(set: &ModelSet, resolved: &'a Resolved) -> Self {
        let mut scope = Scope::with(&RESERVED);
        let names = set
            .models
            .iter()
            .map(|m| (m.name.clone(), scope.claim(&snake(&m.name), &["", "_seconds"])))
            .collect();
        Self { resolved, names, scope }
    }

    /// The name of a model's function, and what it computes.
    pub(super) fn of(&self, model: &str) -> Option<(&str, &Formula)> {
        self.names.get(model).map(String::as_str).zip(self.resolved.formula(model))
    }

    /// Both functions of a model.
    pub(super) fn of_model(&self, model: &Model, subject: &Subject<'_>) -> String {
        self.emit(self.names.get(&model.name).map_or("m_", String::as_str), subject)
    }

    /// Both functions, called `name` and `name_seconds`.
    pub(super) fn emit(&self, name: &str, s: &Subject<'_>) -> String {
        let locals = Locals::new(s);
        let visibility = if s.public { "pub " } else { "" };
        let must_use = if s.public { "#[must_use]\n" } else { "" };
        let quick_doc = if s.public {
            format!("/// The time of [`{name}`] in seconds, without its interval.\n")
        } else {
            String::new()
        };
        let mut text = String::new();
        text += &s.doc;
        text += must_use;
        let body = self.prediction(name, s, &locals);
        text += &format!("{visibility}fn {name}({}) -> Option<Prediction> {{\n", locals.parameters(&body));
        text += &body;
        text += "}\n\n";
        text += &quick_doc;
        text += must_use;
        let body = value(s, &locals, "seconds", "checked(seconds)");
        text += &format!("{visibility}fn {name}_seconds({}) -> Option<f64> {{\n", locals.parameters(&body));
        text += &body;
        text += "}\n\n";
        text
    }

    /// A function called `name` of a value that may have any sign.
    pub(super) fn signed(name: &str, s: &Subject<'_>) -> String {
        let locals = Locals::new(s);
        let body = value(s, &locals, "sign", "Some(sign)");
        format!("fn {name}({}) -> Option<f64> {{\n{body}}}\n\n", locals.parameters(&body))
    }

    /// The body of the function that tells the interval too.
    fn prediction(&self, name: &str, s: &Subject<'_>, locals: &Locals) -> String {
        let mut sites = Vec::new();
        let outer = name_calls(&s.formula.outer, &mut sites);
        let terms: Vec<Expr> = s.formula.terms.iter().map(|term| name_calls(term, &mut sites)).collect();
        let fit = Some(&s.formula.fit).filter(|_| !terms.is_empty());
        let seconds = format!("{name}_seconds({})?;\n", locals.arguments());
        if let (None, [site]) = (fit, &sites[..])
            && outer.as_name().is_some()
        {
            // Nothing but another model: so is its interval.
            let used: Vec<&Expr> = site.arguments.iter().collect();
            return format!(
                "    {seconds}{}    {}\n",
                locals.nodes_used_by(&used),
                self.call(site, "", locals)
            );
        }
        let mut code = format!("    let seconds = {seconds}");
        if fit.is_none() && sites.is_empty() {
            return code + "    Prediction::new(seconds, 0.0)\n";
        }
        let site_arguments = sites.iter().flat_map(|site| &site.arguments);
        let used: Vec<&Expr> =
            terms.iter().chain(site_arguments).chain((!sites.is_empty()).then_some(&outer)).collect();
        code += &locals.nodes_used_by(&used);
        for (k, site) in sites.iter().enumerate() {
            code += &format!("    let {} = {};\n", locals.prediction(k), self.call(site, "", locals) + "?");
            code += &format!("    let {} = {}.seconds.get();\n", locals.result(k), locals.prediction(k));
        }
        match fit {
            Some(fit) => {
                code += &fit_squares(fit, &terms, if sites.is_empty() { "" } else { "mut " }, locals)
            }
            None => code += "    let mut square = 0.0;\n    let mut deviation = 0.0;\n",
        }
        for k in 0..sites.len() {
            code += &self.shift(k, &sites, &outer, locals);
            for (sum, of) in [("square", "half_width"), ("deviation", "deviation")] {
                code += &format!("    {sum} += spread(shifted, {}.{of}.get());\n", locals.prediction(k));
            }
        }
        code + "    Prediction::new(seconds, square.sqrt())?.with_deviation(deviation.sqrt())\n"
    }

    /// A closure that tells the time if the result of call `k` were different.
    fn shift(&self, k: usize, sites: &[Site], outer: &Expr, locals: &Locals) -> String {
        let mut bindings = vec![(locals.result(k), format!("{} + by", locals.result(k)))];
        for (later, site) in sites.iter().enumerate().skip(k + 1).filter(|(_, site)| site.nested()) {
            let call = self.call(site, "_seconds", locals);
            bindings.push((locals.result(later), format!("{call}.unwrap_or(f64::NAN)")));
        }
        let mut result = locals.rust(outer);
        if let Some((_, value)) = bindings.pop_if(|(name, _)| *name == result) {
            result = value;
        }
        let lines: String =
            bindings.iter().map(|(name, value)| format!("        let {name} = {value};\n")).collect();
        format!("    let shifted = |by: f64| {{\n{lines}        {result}\n    }};\n")
    }

    /// A call of another model's function.
    fn call(&self, site: &Site, suffix: &str, locals: &Locals) -> String {
        let name = self.names.get(&site.model).map_or("m_", String::as_str);
        let arguments: String = site.arguments.iter().map(|a| format!(", {}", locals.rust(a))).collect();
        format!("{name}{suffix}(nodes{arguments})")
    }
}

/// The squares of the half width, t² (x'Σx + noise), and of the deviation, x'Σx + the model's own
/// error.
fn fit_squares(fit: &FitSpread, terms: &[Expr], mutable: &str, locals: &Locals) -> String {
    let relative = |share: f64| format!("{share:?} * seconds * seconds");
    let noise = if fit.relative { relative(fit.noise) } else { format!("{:?}", fit.noise) };
    let own = fit.own_error.map_or(noise.clone(), |own| relative(own * own));
    let mut code = String::new();
    if fit.covariance.is_empty() {
        code += "    let from_fit = 0.0;\n";
    } else {
        code += "    let terms = [\n";
        for term in terms {
            code += &format!("        {},\n", locals.rust(term));
        }
        code += "    ];\n    let covariance = [\n";
        for row in fit.covariance.chunks_exact(terms.len()) {
            let row: Vec<String> = row.iter().map(|c| format!("{c:?}")).collect();
            code += &format!("        [{}],\n", row.join(", "));
        }
        code += "    ];\n    let from_fit = variance(&terms, &covariance);\n";
    }
    let t = fit.t_quantile;
    code += &format!("    let {mutable}square = {:?} * (from_fit + {noise}).max(0.0);\n", t * t);
    code + &format!("    let {mutable}deviation = (from_fit + {own}).max(0.0);\n")
}

/// The body of a function of the value alone, which is bound to `name`.
fn value(s: &Subject<'_>, locals: &Locals, name: &str, result: &str) -> String {
    let mut conditions = vec![match (s.formula.nodes.fixed(), s.formula.nodes) {
        (Some(nodes), _) => format!("nodes == {nodes}"),
        (None, Nodes::ANY) => "nodes > 0".to_owned(),
        (None, Nodes { min, max }) => format!("({min}..={max}).contains(&nodes)"),
    }];
    for (input, (min, max)) in locals.inputs.iter().zip(&s.formula.ranges) {
        conditions.push(if *min == f64::NEG_INFINITY && *max == f64::INFINITY {
            format!("!{input}.is_nan()")
        } else {
            format!("within({input}, {}, {})", rust_number(*min), rust_number(*max))
        });
    }
    for check in s.formula.checks.iter().filter(|check| !always_passes(check, locals)) {
        conditions.push(match check {
            Check::Range { value, min, max } => {
                format!("within({}, {}, {})", locals.rust(value), rust_number(*min), rust_number(*max))
            }
            Check::Require(condition) => format!("holds({})", locals.rust(condition)),
        });
    }
    let checks = s.formula.checks.iter().filter(|check| !always_passes(check, locals)).map(Check::expr);
    let used: Vec<&Expr> = checks.chain([&s.formula.mean]).collect();
    let mut code = locals.nodes_used_by(&used);
    let line = format!("    let valid = {};\n", conditions.join(" && "));
    code += &if line.len() <= WIDTH + 1 {
        line
    } else {
        format!("    let valid = {};\n", conditions.join("\n        && "))
    };
    code += "    if !valid {\n        return None;\n    }\n";
    code += &sum(&format!("let {name} = "), &s.formula.mean, locals);
    code + &format!("    {result}\n")
}

/// Whether a check reads nothing and passes.
fn always_passes(check: &Check, locals: &Locals) -> bool {
    let expr = locals.nodes.fix(check.expr());
    expr.is_constant()
        && expr.eval(&|_| None).is_ok_and(|value| match check {
            Check::Range { min, max, .. } => *min <= value && value <= *max,
            Check::Require(_) => expr::holds(value),
        })
}

/// A statement with one expression; a long sum has a line for each addend.
fn sum(start: &str, expr: &Expr, locals: &Locals) -> String {
    use strata_model::expr::{BinaryOp, ExprKind};
    let line = format!("    {start}{};\n", locals.rust(expr));
    if line.len() <= WIDTH + 1 {
        return line;
    }
    let mut addends = Vec::new();
    let mut rest = &locals.nodes.fix(expr);
    while let ExprKind::Binary(BinaryOp::Add, left, right) = &rest.kind {
        // An addend that is a sum itself would lose its parentheses.
        let text = locals.rust(right);
        let is_sum = matches!(right.kind, ExprKind::Binary(BinaryOp::Add | BinaryOp::Subtract, ..));
        addends.push(if is_sum { format!("({text})") } else { text });
        rest = left;
    }
    addends.push(locals.rust(rest));
    addends.reverse();
    format!("    {start}{};\n", addends.join("\n        + "))
}

/// How the names of an expression are written in one function.
struct Locals {
    names: Vec<String>,
    inputs: Vec<String>,
    nodes: Nodes,
    results: Scope,
}

impl Locals {
    fn new(s: &Subject<'_>) -> Self {
        let mut scope = Scope::with(&LOCALS);
        let inputs = s.formula.inputs.iter().map(|name| scope.claim(&snake(name), &[""])).collect();
        Self { names: s.formula.inputs.clone(), inputs, nodes: s.formula.nodes, results: scope }
    }

    /// The parameters of a function; one that its body does not use says so.
    fn parameters(&self, body: &str) -> String {
        let uses =
            |name: &str| body.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        let parameter = |name: &String| format!(", {}{name}: f64", if uses(name) { "" } else { "_" });
        let inputs: String = self.inputs.iter().map(parameter).collect();
        format!("nodes: usize{inputs}")
    }

    fn arguments(&self) -> String {
        let inputs: String = self.inputs.iter().map(|i| format!(", {i}")).collect();
        format!("nodes{inputs}")
    }

    /// The variable that holds a call's seconds.
    fn result(&self, number: usize) -> String {
        self.results.clone().claim(&format!("call{number}"), &["", "_prediction"])
    }

    /// The variable that holds a call's prediction.
    fn prediction(&self, number: usize) -> String {
        self.result(number) + "_prediction"
    }

    /// Bindings for those of `P`, `logP`, `sqrtP` that expressions read.
    fn nodes_used_by(&self, used: &[&Expr]) -> String {
        if self.nodes.fixed().is_some() {
            return String::new();
        }
        let reads = |name: &str| used.iter().any(|e| e.names().contains(name));
        let bindings = [
            ("P", "p", "nodes as f64"),
            ("logP", "log_p", "(nodes as f64).log2()"),
            ("sqrtP", "sqrt_p", "(nodes as f64).sqrt()"),
        ];
        let lines = bindings.iter().filter(|(name, ..)| reads(name));
        lines.map(|(_, local, value)| format!("    let {local} = {value};\n")).collect()
    }

    fn rust(&self, expr: &Expr) -> String {
        self.nodes.fix(expr).to_rust(&|name| match (name, result_number(name)) {
            (_, Some(number)) => self.result(number),
            ("P", _) => "p".into(),
            ("logP", _) => "log_p".into(),
            ("sqrtP", _) => "sqrt_p".into(),
            _ => self.names.iter().position(|n| n == name).map_or("m_".into(), |i| self.inputs[i].clone()),
        })
    }
}

/// The helpers that the emitted functions call.
pub(super) fn helpers(body: &str) -> String {
    const HELPERS: [(&str, &str); 4] = [
        (
            "within(",
            "/// Whether a value lies in the range that was measured; not if it is no number.\n\
             fn within(value: f64, min: f64, max: f64) -> bool {\n    min <= value && value <= max\n}\n",
        ),
        (
            "checked(",
            "/// A time, if it is one.\n\
             fn checked(seconds: f64) -> Option<f64> {\n    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)\n}\n",
        ),
        (
            "variance(",
            "/// The variance of a prediction that the uncertain coefficients cause.\n\
             fn variance<const N: usize>(terms: &[f64; N], covariance: &[[f64; N]; N]) -> f64 {\n    \
             let row_sum = |row: &[f64; N]| row.iter().zip(terms).map(|(c, x)| c * x).sum::<f64>();\n    \
             covariance.iter().zip(terms).map(|(row, x)| x * row_sum(row)).sum()\n}\n",
        ),
        (
            "spread(",
            "/// The square of what the spread of one call adds to that of the whole.\n\
             fn spread(shifted: impl Fn(f64) -> f64, by: f64) -> f64 {\n    \
             let difference = (shifted(by) - shifted(-by)) / 2.0;\n    \
             if difference.is_finite() { difference * difference } else { 0.0 }\n}\n",
        ),
    ];
    let used: Vec<&str> =
        HELPERS.iter().filter(|(call, _)| body.contains(call)).map(|(_, text)| *text).collect();
    used.join("\n")
}
