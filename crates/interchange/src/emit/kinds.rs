//! Inputs that are one of a few names, as enumerations: a name that does not exist does not compile.

use strata_model::Kinds;
use strata_model::codegen::{Scope, pascal, snake};

/// An input with its names, and how programs spell these.
pub(super) struct Kind {
    input: String,
    names: Vec<String>,
}

/// All of a set.
pub(super) struct Enums(Vec<Kind>);

impl Enums {
    pub(super) fn new(kinds: &Kinds) -> Self {
        let one = |(input, names): (&String, &Vec<String>)| {
            let mut own = Scope::default();
            let names: Vec<String> = names.iter().map(|name| own.claim(&snake(name), &[""])).collect();
            Kind { input: input.clone(), names }
        };
        Self(kinds.iter().map(one).collect())
    }

    /// The type of an input that has names, in C.
    pub(super) fn c_type(&self, input: &str, prefix: &str) -> Option<String> {
        self.find(input).map(|kind| format!("enum {prefix}_{}", snake(&kind.input)))
    }

    /// In Rust and Python.
    pub(super) fn class(&self, input: &str) -> Option<String> {
        self.find(input).map(|kind| pascal(&kind.input))
    }

    /// How many names an input has; 0 if it is a number.
    pub(super) fn count(&self, input: &str) -> usize {
        self.find(input).map_or(0, |kind| kind.names.len())
    }

    fn find(&self, input: &str) -> Option<&Kind> {
        self.0.iter().find(|kind| kind.input == input)
    }

    /// The enumerations of a header. Headers of one program share those of the same names; others
    /// under the same prefix do not compile.
    pub(super) fn c(&self, prefix: &str) -> String {
        let one = |kind: &Kind| {
            let name = format!("{prefix}_{}", snake(&kind.input));
            let guard = format!("{name}_of_{}", kind.names.join("_")).to_ascii_uppercase();
            let names: Vec<String> = kind.names.iter().map(|one| format!("{name}_{one}")).collect();
            let names = names.join(", ");
            format!("\n#ifndef {guard}\n#define {guard}\nenum {name} {{ {names} }};\n#endif\n")
        };
        self.0.iter().map(one).collect()
    }

    /// The classes of a module in Python.
    pub(super) fn python(&self) -> String {
        let one = |kind: &Kind| {
            let names = kind.names.iter().enumerate();
            let names = names.map(|(place, name)| format!("    {} = {place}\n", name.to_ascii_uppercase()));
            format!("class {}(enum.IntEnum):\n{}\n\n", pascal(&kind.input), names.collect::<String>())
        };
        self.0.iter().map(one).collect()
    }

    pub(super) fn rust(&self, input: &str) -> String {
        let Some(kind) = self.find(input) else { return String::new() };
        let names: Vec<String> = kind.names.iter().map(|name| pascal(name)).collect();
        format!(
            "\n/// What `{}` may be.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum {} {{ {} }}\n",
            strata_model::codegen::one_line(input),
            pascal(&kind.input),
            names.join(", ")
        )
    }
}
