//! Which crates the code of a spec uses, and where they are.
//!
//! A spec belongs to the package whose folder holds it. Its code may use what that package's
//! workspace uses, from the same source, in the version and with the features that the workspace
//! has resolved, so that what is measured is what applications run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package};
use proc_macro2::{TokenStream, TokenTree};
use strata_model::codegen::toml_string;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::origin::Origin;
use super::{EmitError, relative_to};

/// First segments that name no crate of the workspace.
const BUILT_IN: [&str; 7] = ["std", "core", "alloc", "crate", "self", "super", "Self"];

/// The crates that every profiling program names.
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
    /// Crates by the name that code uses.
    crates: BTreeMap<String, Found>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    package: String,
    origin: Origin,
    /// Whether the package has default features, and they are in use.
    default: Option<bool>,
    /// The others that are in use.
    features: BTreeSet<String>,
    /// Whether it has a feature `mpi`, which a program on MPI then takes.
    mpi: bool,
}

impl Workspace {
    /// Finds the workspace of the spec file at `spec`: the package that contains it, else the one
    /// we are called in; with these features of it.
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

    /// Reads the workspace of a manifest, with these features of its package.
    ///
    /// # Errors
    /// Cargo cannot read it.
    pub fn read(manifest: &Path, features: &[String]) -> Result<Self, EmitError> {
        let folder = manifest.parent().unwrap_or(Path::new("."));
        // Everything that can be built here has been downloaded; only if that proves wrong, ask the
        // network.
        let mut failure = None;
        for offline in [true, false] {
            let mut command = MetadataCommand::new();
            command.manifest_path(manifest).features(CargoOpt::SomeFeatures(features.to_vec()));
            command.current_dir(folder);
            // Cargo takes it from where it is called.
            if let (Some(target), Ok(here)) = (std::env::var_os("CARGO_TARGET_DIR"), std::env::current_dir())
            {
                command.env("CARGO_TARGET_DIR", here.join(target));
            }
            let mut options = Vec::new();
            if let Some(host) = host() {
                options.extend(["--filter-platform".to_owned(), host]);
            }
            if offline {
                options.push("--offline".to_owned());
            }
            command.other_options(options);
            match command.exec() {
                Ok(metadata) => return Ok(Self::index(metadata, folder.to_owned())),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let reason = failure.map_or_else(String::new, |error| error.to_string());
        Err(EmitError::Metadata { manifest: manifest.to_owned(), reason })
    }

    fn index(metadata: Metadata, folder: PathBuf) -> Self {
        let mut crates: BTreeMap<String, Found> = BTreeMap::new();
        let features: BTreeMap<_, BTreeSet<String>> = metadata
            .resolve
            .iter()
            .flat_map(|resolve| &resolve.nodes)
            .map(|node| (&node.id, node.features.iter().map(|feature| feature.to_string()).collect()))
            .collect();
        let found = |package: &Package| {
            let mut features = features.get(&package.id).cloned().unwrap_or_default();
            let default = features.remove("default");
            Found {
                package: package.name.to_string(),
                origin: Origin::of(package),
                default: package.features.contains_key("default").then_some(default),
                features,
                mpi: package.features.contains_key("mpi"),
            }
        };
        let by_id: BTreeMap<_, _> = metadata.packages.iter().map(|package| (&package.id, package)).collect();
        // Of several versions the newest; but what members name themselves goes before, then the
        // members.
        let mut packages: Vec<&Package> = metadata.packages.iter().collect();
        packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        for package in packages {
            if let Some(library) = library(package) {
                crates.insert(library, found(package));
            }
        }
        let members: BTreeSet<_> = metadata.workspace_members.iter().collect();
        for node in
            metadata.resolve.iter().flat_map(|resolve| &resolve.nodes).filter(|n| members.contains(&n.id))
        {
            for dependency in &node.deps {
                if let Some(package) = by_id.get(&dependency.pkg) {
                    crates.insert(dependency.name.to_string(), found(package));
                }
            }
        }
        for package in metadata.workspace_packages() {
            if let Some(library) = library(package) {
                crates.insert(library, found(package));
            }
        }
        // A package that chooses depends on the selector alone; what only profiling programs need
        // comes from where that does.
        if let Some(known) = [RUNTIME, SELECTOR].iter().find_map(|name| crates.get(*name)).cloned() {
            for name in [RUNTIME, HARNESS] {
                if let Some(origin) = known.origin.sibling(name.trim_start_matches("strata_")) {
                    let package = name.replace('_', "-");
                    // The harness has none; the run-time's is always taken.
                    let found =
                        Found { package, origin, default: None, features: BTreeSet::new(), mpi: false };
                    crates.entry(name.to_owned()).or_insert(found);
                }
            }
        }
        Self { metadata, folder, crates }
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
        self.metadata.workspace_root.as_std_path()
    }

    /// The workspace's target folder.
    #[must_use]
    pub fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// The folder in which the workspace's crates are compiled, and whether cargo can put programs
    /// elsewhere (from 1.91 on).
    #[must_use]
    pub fn build_folder(&self) -> (&Path, bool) {
        match &self.metadata.build_directory {
            Some(folder) => (folder.as_std_path(), true),
            None => (self.metadata.target_directory.as_std_path(), false),
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
        let packages = self.metadata.workspace_packages();
        if let Some(program) = packages.iter().find(|package| package.name.replace('-', "_") == name) {
            return format!(
                "the package `{}` consists of programs alone, which other code cannot use; \
                 move what is to be measured into its library, `src/lib.rs`",
                program.name
            );
        }
        let members: Vec<String> = packages.into_iter().filter_map(library).collect();
        let members = if members.is_empty() { "no libraries".to_owned() } else { members.join(", ") };
        format!("the workspace has {members}; others must be dependencies of one of its packages")
    }

    /// What the feature `mpi` of a program that uses these crates stands for: the run-time's, and
    /// those of that name of the crates themselves.
    #[must_use]
    pub fn mpi_features(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let used = names.iter().filter_map(|name| Some((name, self.crates.get(name)?)));
        let own = used.filter(|(_, found)| found.mpi).map(|(name, found)| {
            let key = if found.package.replace('-', "_") == *name { &found.package } else { name };
            format!("{key}/mpi")
        });
        own.chain(["strata-runtime/mpi".to_owned()]).collect()
    }

    /// The lines of `[dependencies]` for these crates, in a manifest in `folder`; names that are no
    /// crates are left out.
    #[must_use]
    pub fn dependency_lines(&self, names: &BTreeSet<String>, folder: &Path) -> Vec<String> {
        names
            .iter()
            .filter_map(|name| Some((name, self.crates.get(name)?)))
            .map(|(name, found)| {
                let key = if found.package.replace('-', "_") == *name { &found.package } else { name };
                let mut fields = Vec::new();
                if key != &found.package {
                    fields.push(format!("package = {}", toml_string(&found.package)));
                }
                fields.extend(found.origin.fields(folder));
                if found.default == Some(false) {
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

    /// The tables of the workspace's manifest that say how to compile, `[profile.release]`, and
    /// where crates are, `[patch]`, for a manifest in `folder`: what is measured is to be built
    /// like the rest.
    #[must_use]
    pub fn inherited(&self, folder: &Path) -> String {
        let text = std::fs::read_to_string(self.root().join("Cargo.toml")).unwrap_or_default();
        let Ok(manifest) = DeTable::parse(&text) else { return String::new() };
        let (mut kept, unchanged) = (String::new(), |_: &str, value: &DeValue<'_>| inline(value));
        let profile =
            manifest.get_ref().get("profile").and_then(|profiles| profiles.get_ref().get("release"));
        if let Some(DeValue::Table(release)) = profile.map(Spanned::get_ref) {
            write_table(&mut kept, "profile.release", release, &unchanged);
        }
        if let Some(DeValue::Table(sources)) = manifest.get_ref().get("patch").map(Spanned::get_ref) {
            let moved = |key: &str, value: &DeValue<'_>| match value {
                DeValue::String(path) if key == "path" => {
                    toml_string(&relative_to(&self.root().join(path.as_ref()), folder))
                }
                value => inline(value),
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

/// A table of TOML with this head; `show` writes its values, given their keys.
fn write_table(
    out: &mut String,
    head: &str,
    table: &DeTable<'_>,
    show: &dyn Fn(&str, &DeValue<'_>) -> String,
) {
    *out += &format!("[{head}]\n");
    for (name, value) in table {
        *out += &format!("{} = {}\n", key(name), show(name.get_ref(), value.get_ref()));
    }
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
            let entry = |(name, value)| format!("{} = {}", key(name), inline(Spanned::get_ref(value)));
            format!("{{ {} }}", table.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn library(package: &Package) -> Option<String> {
    package
        .targets
        .iter()
        .find(|target| target.is_lib() || target.is_rlib())
        .map(|target| target.name.replace('-', "_"))
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
        assert_eq!(lines[1], "strata-runtime = { path = \"../../../crates/runtime\" }");
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
