//! Which crates the code of a spec uses, where they are, and with which features.
//!
//! A spec belongs to the package whose folder holds it. Its code may use what that package's
//! workspace uses, from the same source and in the same version, so that what is measured is what
//! applications run. Features are those that the package's manifest declares and those that the
//! spec names: what other members of the workspace turn on is not.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use strata_model::codegen::toml_string;
use strata_model::did_you_mean;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::origin::Origin;
use super::{EmitError, relative_to};
use crate::cargo::{self, Dependency, Metadata, Package, Resolved};

/// First segments that name no crate of the workspace.
const BUILT_IN: [&str; 7] = ["std", "core", "alloc", "crate", "self", "super", "Self"];

/// The crates of profiling programs: on one node the harness alone.
pub(super) const RUNTIME: &str = "strata_runtime";
pub(super) const HARNESS: &str = "strata_profile";

/// The crate that a package needs to choose by models.
const SELECTOR: &str = "strata_select";

/// The workspace that a spec belongs to.
#[derive(Debug)]
pub struct Workspace {
    metadata: Metadata,
    /// The folder of the manifest that it was found by.
    folder: PathBuf,
    /// The library of that manifest's package, if it has one.
    own: Option<String>,
    /// Crates by the name that code uses.
    crates: BTreeMap<String, Found>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    package: String,
    origin: Origin,
    /// Whether its default features are off.
    is_bare: bool,
    /// The others that are on.
    features: BTreeSet<String>,
    /// All that it has; `None` where cargo has not read its manifest.
    known: Option<BTreeSet<String>>,
}

impl Found {
    /// Its name in a manifest, if `name` is that in code.
    fn key<'a>(&'a self, name: &'a String) -> &'a String {
        if self.package.replace('-', "_") == *name { &self.package } else { name }
    }
}

impl Workspace {
    /// Finds the workspace of the spec file at `spec`: the package that contains it, else the one
    /// we are called in. Crates that are optional are found if these features need them.
    ///
    /// # Errors
    /// There is no such package, or cargo cannot read the workspace.
    pub fn containing(spec: &Path, features: &[String]) -> Result<Self, EmitError> {
        let here = std::env::current_dir().unwrap_or_default();
        let spec = here.join(spec);
        let manifest = [spec.parent().unwrap_or(&here), here.as_path()]
            .into_iter()
            .flat_map(Path::ancestors)
            .map(|folder| folder.join("Cargo.toml"))
            .find(|manifest| manifest.is_file())
            .ok_or_else(|| EmitError::NoWorkspace { spec: spec.clone() })?;
        Self::read(&manifest, features)
    }

    /// Reads the workspace of a manifest, as [`containing`](Self::containing).
    ///
    /// # Errors
    /// Cargo cannot read it.
    pub fn read(manifest: &Path, features: &[String]) -> Result<Self, EmitError> {
        let platform = host().map(|host| ["--filter-platform".to_owned(), host]);
        let platform: Vec<String> = platform.into_iter().flatten().collect();
        let offline = vec!["--offline".to_owned()];
        let features = match features {
            [] => Vec::new(),
            some => vec!["--features".to_owned(), some.join(",")],
        };
        // Everything that can be built here has been downloaded; only if that proves wrong, ask the
        // network. Features that cargo does not know are reported later, with their places.
        let mut failure = None;
        for arguments in [[&features, &offline], [&features, &Vec::new()], [&Vec::new(), &offline]] {
            let arguments = arguments.into_iter().flatten().chain(&platform).cloned().collect::<Vec<_>>();
            match cargo::metadata(Some(manifest), &arguments) {
                Ok(metadata) => return Ok(Self::index(metadata, manifest)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let reason = failure.unwrap_or_default();
        Err(EmitError::Metadata { manifest: manifest.to_owned(), reason })
    }

    fn index(metadata: Metadata, manifest: &Path) -> Self {
        let mut crates: BTreeMap<String, Found> = BTreeMap::new();
        let members: Vec<&Package> = metadata.members().collect();
        let is_own = |package: &Package| same_file(&package.manifest_path, manifest);
        let own = members.iter().copied().find(|package| is_own(package));
        let declared = |by: &[&Package], package: &Package| -> Vec<Dependency> {
            let all = by.iter().flat_map(|package| &package.dependencies);
            all.filter(|dependency| dependency.name == package.name).cloned().collect()
        };
        let found = |package: &Package| {
            let mut declarations = own.map_or_else(Vec::new, |own| declared(&[own], package));
            // A member has its own features, whatever the others turn on.
            if declarations.is_empty() && !metadata.workspace_members.contains(&package.id) {
                declarations = declared(&members, package);
            }
            Found {
                package: package.name.clone(),
                origin: Origin::of(package),
                is_bare: !declarations.is_empty()
                    && declarations.iter().all(|declaration| !declaration.uses_default_features),
                features: declarations.into_iter().flat_map(|declaration| declaration.features).collect(),
                known: Some(package.features.keys().cloned().collect()),
            }
        };
        let by_id: BTreeMap<_, _> = metadata.packages.iter().map(|package| (&package.id, package)).collect();
        // Of several versions the newest; but what members name themselves goes before, the spec's
        // own package last, then the members.
        let mut packages: Vec<&Package> = metadata.packages.iter().collect();
        packages.sort_by(|a, b| (&a.name, numbers(&a.version)).cmp(&(&b.name, numbers(&b.version))));
        for package in packages {
            if let Some(library) = package.library() {
                crates.insert(library, found(package));
            }
        }
        let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
        let mut nodes: Vec<_> = nodes.filter(|node| metadata.workspace_members.contains(&node.id)).collect();
        nodes.sort_by_key(|node| own.is_some_and(|own| own.id == node.id));
        for dependency in nodes.into_iter().flat_map(|node| &node.deps) {
            if let Some(package) = by_id.get(&dependency.pkg) {
                crates.insert(dependency.name.clone(), found(package));
            }
        }
        for package in &members {
            if let Some(library) = package.library() {
                crates.insert(library, found(package));
            }
        }
        // A package that chooses depends on the selector alone; what only profiling programs need
        // comes from where that does.
        if let Some(known) = [RUNTIME, SELECTOR].iter().find_map(|name| crates.get(*name)).cloned() {
            for name in [RUNTIME, HARNESS] {
                if let Some(origin) = known.origin.sibling(name.trim_start_matches("strata_")) {
                    let package = name.replace('_', "-");
                    let found =
                        Found { package, origin, is_bare: false, features: BTreeSet::new(), known: None };
                    crates.entry(name.to_owned()).or_insert(found);
                }
            }
        }
        let own = own.and_then(Package::library);
        let folder = manifest.parent().unwrap_or(Path::new(".")).to_owned();
        Self { metadata, folder, own, crates }
    }

    /// Turns on `feature`, or `crate/feature`. Without a crate it is one of the spec's own package;
    /// where that is a workspace alone, of those of its crates that are in use, `used`. Returns the
    /// crates that have it.
    ///
    /// # Errors
    /// A sentence that says where it could be, if no crate has it.
    pub(super) fn turn_on(
        &mut self,
        feature: &str,
        used: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, String> {
        let (of, feature) = match feature.split_once('/') {
            Some((package, feature)) => {
                let is_it = |name: &String, found: &Found| *name == package || found.package == package;
                let of = self.crates.iter().find(|(name, found)| is_it(name, found));
                let Some((name, _)) = of else {
                    let meant = did_you_mean(package, self.crates.values().map(|found| &*found.package));
                    return Err(format!("there is no package `{package}`{meant}"));
                };
                (BTreeSet::from([name.clone()]), feature)
            }
            None => (self.own.as_ref().map_or_else(|| used.clone(), |own| [own.clone()].into()), feature),
        };
        let mut takers = BTreeSet::new();
        let mut others = BTreeSet::new();
        for (name, found) in self.crates.iter_mut().filter(|(name, _)| of.contains(*name)) {
            if found.known.as_ref().is_none_or(|known| known.contains(feature)) {
                found.features.insert(feature.to_owned());
                takers.insert(name.clone());
            }
            let whole = |other: &String| (other.clone(), format!("{}/{other}", found.package));
            others.extend(found.known.iter().flatten().filter(|other| *other != "default").map(whole));
        }
        if !takers.is_empty() {
            return Ok(takers);
        }
        let meant = did_you_mean(feature, others.iter().map(|(other, _)| &**other));
        let others: Vec<String> = others.into_iter().map(|(_, whole)| whole).collect();
        Err(match others.is_empty() {
            true => "none of its crates has a feature: leave the line out".to_owned(),
            false => format!("there are {}{meant}", others.join(", ")),
        })
    }

    /// The folder of the package that the spec belongs to.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folders of those of these crates that come from folders.
    #[must_use]
    pub fn folders(&self, names: &BTreeSet<String>) -> BTreeSet<PathBuf> {
        let found = names.iter().filter_map(|name| self.crates.get(name));
        let folder = |found: &Found| match &found.origin {
            Origin::Path(folder) => Some(folder.clone()),
            Origin::Registry { .. } | Origin::Git { .. } => None,
        };
        found.filter_map(folder).collect()
    }

    /// The workspace's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.metadata.workspace_root
    }

    /// The workspace's target folder.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.metadata.target_directory
    }

    /// The folder in which the workspace's crates are compiled, and whether cargo can put programs
    /// elsewhere (from 1.91 on).
    #[must_use]
    pub fn build_folder(&self) -> (&Path, bool) {
        match &self.metadata.build_directory {
            Some(folder) => (folder, true),
            None => (&self.metadata.target_directory, false),
        }
    }

    /// Whether code may name the crate.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        BUILT_IN.contains(&name) || self.crates.contains_key(name)
    }

    /// Where code could find a crate `name` that is not known.
    #[must_use]
    pub fn advice(&self, name: &str) -> String {
        let packages: Vec<&Package> = self.metadata.members().collect();
        if let Some(program) = packages.iter().find(|package| package.name.replace('-', "_") == name) {
            return format!(
                "the package `{}` consists of programs alone, which other code cannot use; \
                 move what is to be measured into its library, `src/lib.rs`",
                program.name
            );
        }
        let members: Vec<String> = packages.into_iter().filter_map(Package::library).collect();
        let members = if members.is_empty() { "no libraries".to_owned() } else { members.join(", ") };
        format!("the workspace has {members}; others must be dependencies of one of its packages")
    }

    /// The features of a program that uses these crates: `mpi` stands for the run-time's and those
    /// of that name of the crates themselves, `sim` for the run-time's simulator. A program without
    /// the run-time has none.
    #[must_use]
    pub(super) fn program_features(&self, names: &BTreeSet<String>) -> String {
        if !names.contains(RUNTIME) {
            return String::new();
        }
        let has_mpi = |found: &Found| {
            found.known.as_ref().map_or(found.package == "strata-runtime", |known| known.contains("mpi"))
        };
        let used = names.iter().filter_map(|name| Some((name, self.crates.get(name)?)));
        let mpi = used.filter(|(_, found)| has_mpi(found));
        let mpi: BTreeSet<String> =
            mpi.map(|(name, found)| toml_string(&format!("{}/mpi", found.key(name)))).collect();
        let mpi: Vec<String> = mpi.into_iter().collect();
        format!("[features]\nmpi = [{}]\nsim = [\"strata-runtime/sim\"]\n\n", mpi.join(", "))
    }

    /// The lines of `[dependencies]` for these crates, in a manifest in `folder`; names that are no
    /// crates are left out.
    #[must_use]
    pub fn dependency_lines(&self, names: &BTreeSet<String>, folder: &Path) -> Vec<String> {
        let has_runtime = names.contains(RUNTIME);
        names
            .iter()
            .filter_map(|name| Some((name, self.crates.get(name)?)))
            .map(|(name, found)| {
                let key = found.key(name);
                let mut fields = Vec::new();
                if key != &found.package {
                    fields.push(format!("package = {}", toml_string(&found.package)));
                }
                fields.extend(found.origin.fields(folder));
                // The simulator is for simulated machines, and the harness's part for several nodes.
                if found.is_bare || name == RUNTIME || name == HARNESS && !has_runtime {
                    fields.push("default-features = false".to_owned());
                }
                if !found.features.is_empty() {
                    let features: Vec<_> = found.features.iter().map(|name| toml_string(name)).collect();
                    fields.push(format!("features = [{}]", features.join(", ")));
                }
                format!("{key} = {{ {} }}", fields.join(", "))
            })
            .collect()
    }

    /// The names of the packages that are linked into a program that uses these crates: by cargo's
    /// rules, since other members of the workspace may turn on more of them.
    fn linked(&self, names: &BTreeSet<String>) -> BTreeSet<&str> {
        let nodes = self.metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
        let nodes: BTreeMap<&str, &Resolved> = nodes.map(|node| (&*node.id, node)).collect();
        let packages = self.metadata.packages.iter().map(|package| (&*package.id, package));
        let packages: BTreeMap<&str, &Package> = packages.collect();
        // A package, and one of its features or, with an empty name, its dependencies.
        let mut left: Vec<(&Package, &str)> = Vec::new();
        for found in names.iter().filter_map(|name| self.crates.get(name)) {
            for package in packages.values().filter(|package| package.name == found.package) {
                left.extend(found.features.iter().map(|feature| (*package, &**feature)));
                left.push((package, ""));
                left.extend((!found.is_bare).then_some((*package, "default")));
            }
        }
        let mut done: BTreeSet<(&str, &str)> = BTreeSet::new();
        while let Some((package, feature)) = left.pop() {
            // Macros are parts of the compiler.
            if package.has_target("proc-macro") || !done.insert((&package.id, feature)) {
                continue;
            }
            let turned_on = package.features.get(feature).into_iter().flatten();
            let turned_on: Vec<(&str, Option<&str>)> = turned_on
                .map(|text| match (text.strip_prefix("dep:"), text.split_once('/')) {
                    (Some(dependency), _) => (dependency, Some("")),
                    (None, Some((of, feature))) => (of.trim_end_matches('?'), Some(feature)),
                    (None, None) => (&**text, None),
                })
                .collect();
            left.extend(turned_on.iter().filter(|(_, of)| of.is_none()).map(|(own, _)| (package, *own)));
            for dependency in package.dependencies.iter().filter(|dependency| dependency.kind.is_none()) {
                let own = dependency.rename.as_ref().unwrap_or(&dependency.name);
                let asked = turned_on.iter().filter(|(of, _)| of == own).filter_map(|(_, feature)| *feature);
                let mut asked = asked.peekable();
                let is_needed = feature.is_empty() && !dependency.optional || asked.peek().is_some();
                let below = nodes.get(&*package.id).filter(|_| is_needed).and_then(|node| {
                    let mut below = node.deps.iter().filter_map(|below| packages.get(&*below.pkg));
                    below.find(|below| below.name == dependency.name)
                });
                let Some(below) = below else { continue };
                let default = dependency.uses_default_features.then_some("default");
                let declared = dependency.features.iter().map(|feature| &**feature);
                left.extend(
                    declared.chain(default).chain(asked).chain([""]).map(|feature| (*below, feature)),
                );
            }
        }
        let linked = done.into_iter().filter(|(_, feature)| feature.is_empty());
        linked.filter_map(|(id, _)| packages.get(id)).map(|package| &*package.name).collect()
    }

    /// The tables of the workspace's manifest that say how to compile, `[profile.release]`, and
    /// where crates are, `[patch]`, for a manifest in `folder`: what is measured is to be built
    /// like the rest. Of settings for single packages those of what these crates link.
    #[must_use]
    pub fn inherited(&self, names: &BTreeSet<String>, folder: &Path) -> String {
        let text = std::fs::read_to_string(self.root().join("Cargo.toml")).unwrap_or_default();
        let Ok(manifest) = DeTable::parse(&text) else { return String::new() };
        let mut kept = String::new();
        let profile =
            manifest.get_ref().get("profile").and_then(|profiles| profiles.get_ref().get("release"));
        if let Some(DeValue::Table(release)) = profile.map(Spanned::get_ref) {
            let linked = self.linked(names);
            let shown = |name: &str, value: &DeValue<'_>| match value {
                DeValue::Table(packages) if name == "package" => {
                    let is_linked = |spec: &str| spec == "*" || linked.contains(package_of(spec));
                    let packages = packages.iter().filter(|(spec, _)| is_linked(spec.get_ref()));
                    let packages: Vec<String> = packages.map(entry).collect();
                    (!packages.is_empty()).then(|| format!("{{ {} }}", packages.join(", ")))
                }
                value => Some(inline(value)),
            };
            write_table(&mut kept, "profile.release", release, &shown);
        }
        if let Some(DeValue::Table(sources)) = manifest.get_ref().get("patch").map(Spanned::get_ref) {
            let moved = |key: &str, value: &DeValue<'_>| match value {
                DeValue::String(path) if key == "path" => {
                    Some(toml_string(&relative_to(&self.root().join(path.as_ref()), folder)))
                }
                value => Some(inline(value)),
            };
            for (source, crates) in sources {
                for (name, patch) in crates.get_ref().as_table().into_iter().flatten() {
                    let Some(patch) = patch.get_ref().as_table() else { continue };
                    let head = format!("patch.{}.{}", key(source), key(name));
                    write_table(&mut kept, &head, patch, &moved);
                }
            }
        }
        kept
    }
}

/// A table of TOML with this head; `show` writes its values, given their keys, or leaves them out.
fn write_table(
    out: &mut String,
    head: &str,
    table: &DeTable<'_>,
    show: &dyn Fn(&str, &DeValue<'_>) -> Option<String>,
) {
    *out += &format!("[{head}]\n");
    for (name, value) in table {
        if let Some(shown) = show(name.get_ref(), value.get_ref()) {
            *out += &format!("{} = {shown}\n", key(name));
        }
    }
}

fn entry((name, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)) -> String {
    format!("{} = {}", key(name), inline(value.get_ref()))
}

fn key(name: &Spanned<Cow<'_, str>>) -> String {
    let name = name.get_ref();
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if bare { name.to_string() } else { toml_string(name) }
}

/// A value of TOML on one line.
fn inline(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => toml_string(text),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| inline(value.get_ref())).collect();
            format!("[{}]", values.join(", "))
        }
        DeValue::Table(table) => {
            format!("{{ {} }}", table.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The name in a package's specification, such as `name@1.2` or `registry+URL#name@1.2`.
fn package_of(spec: &str) -> &str {
    let name = spec.rsplit(['#', '/']).next().unwrap_or(spec);
    name.split(['@', ':']).next().unwrap_or(name)
}

/// The numbers of a version, in order.
fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|number| number.parse().ok()).collect()
}

fn same_file(a: &Path, b: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    canonical(a) == canonical(b)
}

fn host() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

/// The first segments of all paths in a piece of Rust, even inside macros; some are crates, others
/// types or modules.
pub(crate) fn first_segments(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Ok(tokens) = code.parse::<TokenStream>() {
        walk(tokens, &mut found);
    }
    found
}

fn walk(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => walk(group.stream(), found),
            TokenTree::Ident(ident) => {
                let leads = at < 2 || !(colon(at - 1) && colon(at - 2)) || at == 2;
                if leads && colon(at + 1) && colon(at + 2) {
                    found.insert(ident.to_string());
                }
            }
            _ => {}
        }
    }
}

/// The crate that a `use` line begins with; `None` if it begins with a brace or does not parse.
pub(crate) fn crate_of_use(line: &str) -> Option<String> {
    let item: syn::ItemUse = syn::parse_str(line).ok()?;
    match item.tree {
        syn::UseTree::Path(path) => Some(path.ident.to_string()),
        syn::UseTree::Name(name) => Some(name.ident.to_string()),
        syn::UseTree::Rename(rename) => Some(rename.ident.to_string()),
        syn::UseTree::Glob(_) | syn::UseTree::Group(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_segments_are_found_everywhere() {
        let code = "strata_sort::sort(node, v); let x = vec![rand::random::<u8>(); 3]; a::b::c(); Vec::<f64>::new();";
        let names: Vec<_> = first_segments(code).into_iter().collect();
        assert_eq!(names, ["Vec", "a", "rand", "strata_sort"]);
        assert!(first_segments("no :: {").is_empty());
    }

    #[test]
    fn a_use_line_names_its_crate() {
        assert_eq!(crate_of_use("use strata_runtime::prelude::*;").as_deref(), Some("strata_runtime"));
        assert_eq!(crate_of_use("use rand as r;").as_deref(), Some("rand"));
        assert_eq!(crate_of_use("use {a::b, c};"), None);
    }

    #[test]
    fn the_workspace_knows_its_crates() {
        let workspace = Workspace::containing(Path::new("nowhere.spec"), &[]).unwrap();
        for name in ["strata_runtime", "strata_model", "rand", "std"] {
            assert!(workspace.knows(name), "{name}");
        }
        assert!(!workspace.knows("no_such_crate"));
        let names = ["rand", "strata_runtime", "Vec"].map(str::to_owned).into();
        let lines = workspace.dependency_lines(&names, &workspace.root().join("target/out/profile"));
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("rand = { version = \"="), "{lines:?}");
        let runtime = "strata-runtime = { path = \"../../../crates/runtime\", default-features = false }";
        assert_eq!(lines[1], runtime);
    }

    #[test]
    fn what_profiling_programs_need_is_found_beside_the_selector() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("");
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        let text =
            "[package]\nname = \"user\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[dependencies]\n";
        std::fs::write(folder.path().join("lib.rs"), "").unwrap();
        for given in ["select", "runtime"] {
            let line = format!("strata-{given} = {{ path = {:?} }}\n", crates.join(given));
            std::fs::write(&manifest, format!("{text}{line}")).unwrap();
            std::fs::copy(crates.join("../Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
            let workspace = Workspace::read(&manifest, &[]).unwrap();
            let names = [RUNTIME, HARNESS].map(str::to_owned).into();
            let lines = workspace.dependency_lines(&names, folder.path());
            assert!(lines[0].starts_with("strata-profile = { path =") && lines[0].contains("crates/profile"));
            assert!(lines[1].starts_with("strata-runtime = { path =") && lines[1].contains("crates/runtime"));
        }
    }
}
