//! The table of a library: its candidates with their parameters and times.

use strata_model::codegen::{Scope, snake};
use strata_model::expr::rust_number;
use strata_model::set::{Incumbent, Library, LibraryModels, ModelSet};

use super::function::{self, Functions};
use strata_select::{
    Source as _,
    table::{Contrast, Domain, Step},
};

/// The name of a library's table. The names of two libraries may differ in case only; their index
/// in the set then separates them.
pub(super) fn table_name(set: &ModelSet, library: &str) -> String {
    let prefix = snake(library);
    let before = set.libraries.iter().take_while(|other| other.name != library);
    let place = before.filter(|other| snake(&other.name) == prefix).count();
    let name = if place == 0 { prefix } else { format!("{prefix}_{}", place + 1) };
    name.to_ascii_uppercase()
}

/// The models of a library's candidates and the `pub static` table over them.
pub(super) fn table(
    set: &ModelSet,
    (library, models): (&Library, &LibraryModels),
    functions: &Functions<'_>,
    digest: &str,
) -> String {
    let table = table_name(set, &library.name);
    let prefix = table.to_ascii_lowercase();
    let mut scope: Scope = functions.scope.clone();
    let mut code = String::new();
    let mut entries = String::new();
    for (index, candidate) in library.candidates.iter().enumerate() {
        let wanted = format!("{prefix}_{}", snake(&candidate.name));
        let model = match models.formula(index) {
            Some(formula) => functions.equal(&candidate.model, formula).unwrap_or_else(|| {
                let name = scope.claim(&wanted, &["", "_seconds"]);
                code += &functions.emit(&name, formula, "");
                function::static_name(&name)
            }),
            None => continue,
        };
        let root = models.root(index).map(|formula| {
            let root = scope.claim(&format!("{wanted}_root"), &[""]);
            code += &function::signed(&root, formula);
            format!(".root(Root({root}))")
        });
        let parameters: Vec<String> = candidate
            .parameters
            .iter()
            .enumerate()
            .map(|(place, p)| {
                let step = match p.step {
                    Step::ONE => String::new(),
                    Step::Add(by) => format!(".plus({by})"),
                    Step::Multiply(by) => format!(".times({by})"),
                };
                let root = root.as_deref().filter(|_| p.root.is_some()).unwrap_or_default();
                let ends = models.ends(index, place).zip(models.formula(index)).map(|(ends, formula)| {
                    let name = scope.claim(&format!("{wanted}_{}_ends", snake(&p.name)), &[""]);
                    code += &function::ends(&name, formula, ends);
                    format!(".ends(Ends({name}))")
                });
                let ends = ends.unwrap_or_default();
                format!("Parameter::new({:?}, {}, {}){step}{root}{ends}", p.name, p.min, p.max)
            })
            .collect();
        let with = if parameters.is_empty() {
            String::new()
        } else {
            format!("\n            .with(&[{}])", parameters.join(", "))
        };
        let contrast = match models.about(index).contrast.filter(|_| !parameters.is_empty()) {
            Some(Contrast { deviation, reach }) => {
                format!("\n            .contrast({deviation:?}, {reach:?})")
            }
            None => String::new(),
        };
        let incumbent = library.incumbent.as_ref().filter(|one| one.candidate == candidate.name);
        let incumbent = incumbent.map_or(String::new(), |Incumbent { parameters, gain, .. }| {
            format!("\n            .incumbent(&{parameters:?}, {gain:?})")
        });
        let processes = if library.needs_processes(candidate) { ".for_processes()" } else { "" };
        entries += &format!(
            "        Entry::new({:?}, Verdict::{:?}, {:?}, &{model}){with}{contrast}{processes}{incumbent},\n",
            candidate.name,
            models.about(index).verdict,
            models.about(index).expected_ratio
        );
    }
    let strings: Vec<String> = library.inputs.iter().map(|i| format!("{i:?}")).collect();
    let domain = models.info().domain;
    let ranges =
        domain.inputs.iter().map(|(min, max)| format!("({}, {})", rust_number(*min), rust_number(*max)));
    let nodes = match domain.nodes {
        Domain::ANY_NODES => "Domain::ANY_NODES".into(),
        (min, max) => format!("({min}, {max})"),
    };
    let platform = set.platform.as_ref().map_or(String::new(), ToString::to_string);
    let entries = if entries.is_empty() { "&[]".to_owned() } else { format!("&[\n{entries}    ]") };
    code += &format!(
        "pub static {table}: Table = Table {{\n    library: {name:?},\n    \
         spec: {:?},\n    platform: {platform:?},\n    digest: {digest:?},\n    inputs: &[{}],\n    \
         domain: Domain {{ nodes: {nodes}, inputs: &[{}] }},\n    entries: {entries},\n}};\n\n",
        set.spec.as_ref().map_or("", |spec| &spec.path),
        strings.join(", "),
        ranges.collect::<Vec<_>>().join(", "),
        name = library.name,
    );
    code
}
