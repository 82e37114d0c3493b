//! The enum of a library's candidates and the function that chooses among them.

use strata_model::Resolved;
use strata_model::codegen::{Scope, one_line, pascal, snake};
use strata_model::expr;
use strata_model::set::{Library, LibraryCandidate, ModelSet, ParameterRange, SetError};
use strata_select::Source as _;

use super::function::listed;
use super::library::table_name;

/// Names that types and variants must not take: imports of the emitted text, and the prelude's
/// names.
const TYPES: [&str; 12] =
    ["AsRef", "Err", "Explained", "Input", "Library", "None", "Ok", "Option", "Row", "Self", "Some", "Table"];

/// Of the names of all libraries, or of the candidates of one, those that cannot have their own name
/// in Rust, each with the one that it gets: `Option` is taken, and `fast` and `Fast` are both `Fast`.
#[must_use]
pub fn renamed<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<(&'a str, String)> {
    let mut scope = Scope::with(&TYPES);
    let all = names.into_iter().map(|name| (name, claim_type(&mut scope, name)));
    all.filter(|(name, claimed)| *claimed != pascal(name)).collect()
}

/// A field of a variant: its name, its type, and its value over the parameters `k0`, `k1`, ….
struct Field {
    name: String,
    kind: &'static str,
    value: String,
}

/// The libraries of all sets: for each the enum of its candidates, and the modules of the sets that
/// have models of it.
///
/// # Errors
/// A library differs between two of the sets.
pub(super) fn libraries(sets: &[ModelSet], modules: &[String]) -> Result<String, SetError> {
    let resolved = sets.iter().map(|set| Ok((set, set.resolve()?))).collect::<Result<Vec<_>, SetError>>()?;
    let mut types = Scope::with(&TYPES);
    let mut text = String::new();
    for (place, set) in sets.iter().enumerate() {
        let known = |name: &str| sets[..place].iter().find_map(|before| before.library(name));
        for one in &set.libraries {
            if let Some(before) = known(&one.name) {
                alike(before, one, &modules[place])?;
                continue;
            }
            let with = sets.iter().zip(modules).filter(|(other, _)| other.library(&one.name).is_some());
            let tables: Vec<String> =
                with.map(|(other, module)| format!("&{module}::{}", table_name(other, &one.name))).collect();
            let name = claim_type(&mut types, &one.name);
            let inputs = inputs(&mut types, &resolved, one, &name);
            text += &library(set, one, (&name, &inputs), &tables)?;
        }
    }
    Ok(text)
}

/// Refuses a library that differs between two sets.
fn alike(first: &Library, other: &Library, module: &str) -> Result<(), SetError> {
    let candidates = |library: &Library| -> Vec<_> {
        let candidates = library.candidates.iter();
        // If ends are expressions, their bounds are numbers of one machine.
        let range = |range: &ParameterRange| match range.is_constant() {
            true => range.clone(),
            false => ParameterRange { min: 0, max: 0, ..range.clone() },
        };
        let ranges = |one: &LibraryCandidate| one.parameters.iter().map(range).collect::<Vec<_>>();
        candidates.map(|one| (one.name.clone(), one.arguments.clone(), ranges(one))).collect()
    };
    if first.inputs == other.inputs && candidates(first) == candidates(other) {
        return Ok(());
    }
    Err(SetError::Content {
        place: format!("library `{}` of `{module}`", other.name),
        message: "it has other inputs, candidates or parameters than in the first model set: calibrate both \
                  by the same spec"
            .to_owned(),
    })
}

/// The inputs of a library: nothing, a number, or a struct with the name of the library. A number is
/// `usize` if its values are whole numbers in all sets, `i64` if some of them are negative; an input
/// that is one of a few names is an enum.
fn inputs(types: &mut Scope, sets: &[(&ModelSet, Resolved)], library: &Library, name: &str) -> String {
    let mut kinds = vec!["usize"; library.inputs.len()];
    for (set, resolved) in sets {
        let Some(models) = resolved.library(&library.name) else { continue };
        for ((kind, input), range) in kinds.iter_mut().zip(&library.inputs).zip(models.info().domain.inputs) {
            *kind = match *kind {
                _ if !models.takes_whole(set, input) => "f64",
                "usize" if range.0 < 0.0 => "i64",
                kind => kind,
            };
        }
    }
    let names = |input: &String| sets.iter().find_map(|(set, _)| set.kinds.get(input));
    let mut scope = Scope::default();
    let typed = |(input, kind): (&String, &str)| {
        let field = scope.claim(&snake(input), &[""]);
        let Some(names) = names(input) else { return format!("{field}: {kind}") };
        let mut variants = Scope::with(&TYPES);
        let names: Vec<String> = names.iter().map(|name| claim_type(&mut variants, name)).collect();
        format!("{field}: {} in [{}]", claim_type(types, &format!("{name}_{input}")), names.join(", "))
    };
    let typed: Vec<String> = library.inputs.iter().zip(kinds).map(typed).collect();
    match &typed[..] {
        [] => "()".to_owned(),
        [one] if !library.inputs.iter().any(|input| names(input).is_some()) => one.clone(),
        _ => format!("{} {{ {} }}", claim_type(types, &format!("{name}Input")), listed(&typed)),
    }
}

/// The declaration of a library; empty for one without candidates.
fn library(
    set: &ModelSet,
    library: &Library,
    (name, inputs): (&str, &str),
    tables: &[String],
) -> Result<String, SetError> {
    if library.candidates.is_empty() {
        return Ok(String::new());
    }
    let mut variants = Scope::with(&TYPES);
    let mut declared = String::new();
    for candidate in &library.candidates {
        let variant = claim_type(&mut variants, &candidate.name);
        let fields = fields(set, library, candidate)?;
        if fields.is_empty() {
            declared += &format!("    {variant},\n");
            continue;
        }
        let slots: Vec<String> = (0..candidate.parameters.len()).map(|i| format!("k{i}")).collect();
        let about = |field: &Field| format!("`{}`: {}", field.name, describe(&field.value, candidate));
        let value = |Field { name, kind, value }: &Field| format!("{name}: {kind} = {value}");
        declared += &format!(
            "    /// {}.\n    {variant}({}) {{ {} }},\n",
            fields.iter().map(about).collect::<Vec<_>>().join("; "),
            slots.join(", "),
            fields.iter().map(value).collect::<Vec<_>>().join(", "),
        );
    }
    Ok(format!(
        "library! {{\n    /// The candidates of library `{}`.\n    pub enum {name} {{\n{declared}    }}\n    \
         inputs {inputs};\n    tables [{}];\n}}\n\n",
        one_line(&library.name),
        listed(tables),
        declared = declared.replace("    ", "        ").replace("        \n", "\n"),
    ))
}

/// A field's value in the documentation.
fn describe(value: &str, candidate: &LibraryCandidate) -> String {
    let value = value.trim_end_matches(" as usize");
    match candidate.parameters.iter().enumerate().find(|(i, _)| value == format!("k{i}")) {
        Some((_, p)) => {
            let end = |text: &Option<String>, bound: i64| text.clone().unwrap_or_else(|| bound.to_string());
            let range = format!("{}..={}", end(&p.first, p.min), end(&p.last, p.max));
            if p.step == strata_select::table::Step::ONE { range } else { format!("{range} step {}", p.step) }
        }
        None => {
            let names: Vec<&str> = candidate.parameters.iter().map(|p| p.name.as_str()).collect();
            format!("the model's input, from {}", names.join(", "))
        }
    }
}

/// The values that an implementation needs: the model's arguments that follow from the parameters
/// alone, named as the model's inputs, and the parameters that these do not determine.
fn fields(set: &ModelSet, library: &Library, candidate: &LibraryCandidate) -> Result<Vec<Field>, SetError> {
    let place = |name: &str| candidate.parameters.iter().position(|p| p.name == *name);
    let mut scope = Scope::default();
    let mut fields = Vec::new();
    let mut told = vec![false; candidate.parameters.len()];
    let model = set.model(&candidate.model);
    for (at, text) in candidate.arguments.iter().enumerate() {
        let argument = expr::parse(text).map_err(|error| SetError::Content {
            place: format!("library `{}`, candidate `{}`", library.name, candidate.name),
            message: error.message,
        })?;
        let names = argument.names();
        let (Some(input), Some(first)) = (model.and_then(|m| m.inputs.get(at)), names.first()) else {
            continue;
        };
        let computed = argument.as_name().is_none() && names.iter().all(|name| place(name).is_some());
        if let (true, Some(first)) = (computed, place(first)) {
            let kind = if input.integer { whole(input.min >= 0.0) } else { "f64" };
            let value = argument.to_rust(&|name| format!("(k{} as f64)", place(name).unwrap_or_default()));
            let value = if input.integer { format!("({value}) as {kind}") } else { value };
            fields.push(Field { name: scope.claim(&snake(&input.name), &[""]), kind, value });
            told[first] |= names.len() == 1;
        }
    }
    for (at, parameter) in candidate.parameters.iter().enumerate().filter(|(at, _)| !told[*at]) {
        let name = scope.claim(&snake(&parameter.name), &[""]);
        let kind = whole(parameter.min >= 0);
        let cast = if kind == "i64" { "" } else { " as usize" };
        fields.push(Field { name, kind, value: format!("k{at}{cast}") });
    }
    Ok(fields)
}

/// The type of whole numbers of which none, or some, are negative.
fn whole(none: bool) -> &'static str {
    if none { "usize" } else { "i64" }
}

/// A free name of a type or variant; `Library2` where `Library` is taken.
fn claim_type(scope: &mut Scope, name: &str) -> String {
    let claimed = scope.claim(&pascal(name), &[""]);
    if claimed.contains('_') { scope.claim(&claimed.replace('_', ""), &[""]) } else { claimed }
}
