//! `cargo xtask mutants`: whether tests catch what they are there to catch: those under loom, and
//! those that would pass if what they are about never happened.
//!
//! Each list of mutations lies beside the code that they change; that of the threads transport
//! explains the words of a list. They are applied one at a time to a copy of the workspace in
//! `target/mutants`, so that an interruption leaves the sources as they were. Files that are
//! already equal there are not written, so that cargo builds again only what changed.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// Folders with a list, and their packages.
const LISTS: [(&str, &str); 7] = [
    ("crates/runtime/src/transport/threads", "strata-runtime"),
    ("crates/global/src", "strata-global"),
    ("crates/tcs/src/run", "strata-tcs"),
    ("crates/runtime/src/collectives", "strata-runtime"),
    ("crates/sort/src", "strata-sort"),
    ("crates/specc/src", "specc"),
    ("crates/stencil/src", "strata-stencil"),
];

/// The list's name in each folder.
const LIST: &str = "mutations.txt";

/// The copy of the workspace.
const COPY: &str = "target/mutants";

/// Shared with the loom tests of `cargo xtask test`, so that dependencies are built once.
const TARGET: &str = "target/loom";

/// Of tests that are not under loom.
const OTHER_TARGET: &str = "target/mutated";

/// A change of the sources that makes them wrong.
#[derive(Debug, Default)]
struct Mutation {
    package: &'static str,
    name: String,
    /// Below the workspace.
    file: PathBuf,
    /// The arguments of `cargo test` besides the package; empty: the library's tests under loom.
    program: String,
    /// A part of the names of the tests of which one must fail.
    test: String,
    find: Vec<String>,
    with: Vec<String>,
}

impl Mutation {
    /// The package, the program and the tests that pass without it: all of those under loom.
    fn tests(&self) -> (&'static str, &str, &str) {
        (self.package, &self.program, if self.program.is_empty() { "loom" } else { &self.test })
    }

    /// The mutated text. The other lines keep their numbers where possible: the compiler rebuilds
    /// functions whose lines have moved.
    ///
    /// # Errors
    /// The text to replace is not there exactly once.
    fn apply(&self, text: &str) -> Result<String, String> {
        let (bare, places) = without_indentation(text);
        let find = self.find.join("\n");
        let found: Vec<usize> = bare.match_indices(&find).map(|(at, _)| at).collect();
        let [at] = found[..] else {
            let count = found.len();
            return Err(format!("`{}`: {count} places of its text in {}", self.name, self.file.display()));
        };
        let lines = "\n".repeat(self.find.len().saturating_sub(self.with.len().max(1)));
        let with = self.with.join("\n") + &lines;
        Ok([&text[..places[at]], &with, &text[places[at + find.len()]..]].concat())
    }
}

/// A text without the indentation of its lines, and where each byte of it, and its end, was.
fn without_indentation(text: &str) -> (String, Vec<usize>) {
    let (mut bare, mut places, mut start) = (String::new(), Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let kept = line.trim_start_matches(' ');
        let end = start + line.len();
        bare.push_str(kept);
        places.extend(end - kept.len()..end);
        start = end;
    }
    places.push(start);
    (bare, places)
}

/// The mutations of a list in `folder`.
///
/// # Errors
/// A line that does not belong to a list, or a mutation that is not complete.
fn parse(text: &str, folder: &str, package: &'static str) -> Result<Vec<Mutation>, String> {
    let mut mutations: Vec<Mutation> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("{folder}/{LIST}:{}: `{line}`", number + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once(':').ok_or_else(wrong)?;
        let value = value.trim().to_owned();
        if key == "mutation" {
            mutations.push(Mutation { package, name: value, ..Mutation::default() });
            continue;
        }
        let mutation = mutations.last_mut().ok_or_else(wrong)?;
        match key {
            "file" => mutation.file = Path::new(folder).join(value),
            "program" => mutation.program = value,
            "test" => mutation.test = value,
            "find" => mutation.find.push(value),
            "with" => mutation.with.push(value),
            _ => return Err(wrong()),
        }
    }
    let is_tested = |m: &Mutation| m.test.contains("loom") || !(m.program.is_empty() || m.test.is_empty());
    let complete = |m: &Mutation| m.file.file_name().is_some() && is_tested(m) && !m.find.is_empty();
    match mutations.iter().find(|mutation| !complete(mutation)) {
        Some(mutation) => Err(format!("`{}` lacks its file, a test or its text", mutation.name)),
        None => Ok(mutations),
    }
}

/// Every mutation of every list below `workspace`.
fn lists(workspace: &Path) -> Result<Vec<Mutation>, String> {
    let mut all = Vec::new();
    for (folder, package) in LISTS {
        let path = workspace.join(folder).join(LIST);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        all.append(&mut parse(&text, folder, package)?);
    }
    Ok(all)
}

/// Applies every mutation and expects its tests to fail.
///
/// # Errors
/// As [`only`].
pub(crate) fn run() -> Result<(), String> {
    only("")
}

/// As [`run`], of the mutations whose names contain `part`.
///
/// # Errors
/// Mutations that no test catches, that cannot be applied or built, or tests that fail without one.
pub(crate) fn only(part: &str) -> Result<(), String> {
    let start = Instant::now();
    let workspace = std::env::current_dir().map_err(|e| e.to_string())?;
    let mut mutations = lists(&workspace)?;
    mutations.retain(|mutation| mutation.name.contains(part));
    let copy = workspace.join(COPY);
    copy_folder(&workspace, &copy)?;
    let programs: BTreeSet<(&str, &str, &str)> = mutations.iter().map(Mutation::tests).collect();
    for (package, program, test) in programs {
        unchanged(&workspace, &copy, package, program, test)?;
    }
    let (mut survived, mut wrong) = (Vec::new(), Vec::new());
    for mutation in &mutations {
        let begun = Instant::now();
        let outcome = try_one(mutation, &workspace, &copy);
        let seconds = begun.elapsed().as_secs_f64();
        let (word, why) = match outcome {
            Ok(Tests::Failed(why)) => ("caught", why),
            Ok(Tests::Passed) => {
                survived.push(mutation.name.as_str());
                ("SURVIVED", mutation.test.clone())
            }
            Err(message) => {
                wrong.push(mutation.name.as_str());
                ("ERROR", message)
            }
        };
        println!("{word:8}  {} ({seconds:.0} s): {why}", mutation.name);
    }
    println!(
        "summary {{\"mutations\":{},\"caught\":{},\"survived\":{survived:?},\"errors\":{wrong:?},\"seconds\":{:.0}}}",
        mutations.len(),
        mutations.len() - survived.len() - wrong.len(),
        start.elapsed().as_secs_f64()
    );
    match (survived.len(), wrong.len()) {
        (0, 0) => Ok(()),
        (survived, wrong) => Err(format!("mutations: {survived} survived, {wrong} could not be tried")),
    }
}

/// How tests ended.
enum Tests {
    Passed,
    /// With the first failure's message.
    Failed(String),
}

/// How the tests end with the mutation.
fn try_one(mutation: &Mutation, workspace: &Path, copy: &Path) -> Result<Tests, String> {
    let original = read(&workspace.join(&mutation.file))?;
    let text = String::from_utf8(original.clone()).map_err(|e| e.to_string())?;
    let place = copy.join(&mutation.file);
    fs::write(&place, mutation.apply(&text)?).map_err(|e| format!("{}: {e}", place.display()))?;
    let (package, program) = (mutation.package, &*mutation.program);
    let outcome = built(workspace, copy, package, program)
        .and_then(|()| tested(workspace, copy, package, program, &mutation.test));
    fs::write(&place, original).map_err(|e| format!("{}: {e}", place.display()))?;
    outcome
}

/// That tests pass as long as nothing is mutated.
fn unchanged(workspace: &Path, copy: &Path, package: &str, program: &str, test: &str) -> Result<(), String> {
    built(workspace, copy, package, program)?;
    match tested(workspace, copy, package, program, test)? {
        Tests::Passed => Ok(()),
        Tests::Failed(why) => Err(format!("`{test}` of {package} fails without a mutation: {why}")),
    }
}

/// A command that builds the tests of a package in the copy. Under loom only loom and other
/// dependencies are optimised: a package is built for each mutation, which takes longer than its tests.
fn cargo(workspace: &Path, copy: &Path, package: &str, program: &str) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(copy).args(["test", "-p", package]).env("CARGO_INCREMENTAL", "1");
    if !program.is_empty() {
        command.args(program.split(' ')).env("CARGO_TARGET_DIR", workspace.join(OTHER_TARGET));
        return command;
    }
    command.args(["--lib", "--release"]);
    for (_, package) in LISTS {
        command.arg("--config").arg(format!("profile.release.package.{package}.opt-level=0"));
    }
    command.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", workspace.join(TARGET));
    command
}

fn output(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|e| format!("{command:?}: {e}"))
}

fn built(workspace: &Path, copy: &Path, package: &str, program: &str) -> Result<(), String> {
    let done = output(cargo(workspace, copy, package, program).arg("--no-run"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("it does not compile:\n{}", String::from_utf8_lossy(&done.stderr)))
}

/// Runs the tests whose names contain `filter`; there is at least one.
fn tested(
    workspace: &Path,
    copy: &Path,
    package: &str,
    program: &str,
    filter: &str,
) -> Result<Tests, String> {
    let done = output(cargo(workspace, copy, package, program).args(["--", filter]))?;
    let text = String::from_utf8_lossy(&done.stdout);
    if text.contains("running 0 tests") {
        return Err(format!("no test of {package} has `{filter}` in its name"));
    }
    if done.status.success() {
        return Ok(Tests::Passed);
    }
    // A panic while another one unwinds aborts, before the tests' output is printed.
    let panic = text.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
    // Programs without a harness say so themselves.
    let panic = panic.or_else(|| text.lines().find(|line| line.starts_with("failed: ")));
    Ok(Tests::Failed(panic.map_or_else(|| "aborted".to_owned(), |line| line.chars().take(70).collect())))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Makes `to` contain the files of `from`, except what was built and what is hidden.
fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let told = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    fs::create_dir_all(to).map_err(|e| told(to, e))?;
    for entry in fs::read_dir(from).map_err(|e| told(from, e))? {
        let entry = entry.map_err(|e| told(from, e))?;
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (from, to) = (entry.path(), to.join(name));
        if from.is_dir() {
            copy_folder(&from, &to)?;
            continue;
        }
        let wanted = read(&from)?;
        let same = match fs::read(&to) {
            Ok(there) => there == wanted,
            Err(e) if e.kind() == ErrorKind::NotFound => false,
            Err(e) => return Err(told(&to, e)),
        };
        if !same {
            fs::write(&to, wanted).map_err(|e| told(&to, e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So that a change of the code that loses a mutation is seen where the code is tested.
    #[test]
    fn every_mutation_of_the_lists_can_be_applied() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mutations = lists(&workspace).unwrap();
        let mut names: Vec<_> = mutations.iter().map(|m| (m.package, &m.name)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), mutations.len(), "two of one name");
        for mutation in &mutations {
            let text = fs::read_to_string(workspace.join(&mutation.file)).unwrap();
            assert_ne!(mutation.apply(&text).unwrap(), text, "{}", mutation.name);
        }
    }

    #[test]
    fn text_is_replaced_where_it_is_once() {
        let list = "# A list.\n\nmutation: m\nfile: a.rs\ntest: loom_a\nfind: b\nfind: c(1)\nwith: d\n";
        let mutation = parse(list, "folder", "package").unwrap().remove(0);
        assert_eq!((mutation.package, mutation.file), ("package", PathBuf::from("folder/a.rs")));
        let mutation = parse(list, "folder", "package").unwrap().remove(0);
        assert_eq!(mutation.apply("  a\n    b\n      c(1)\n  e\n").unwrap(), "  a\n    d\n\n  e\n");
        assert_eq!(mutation.apply("b\nc(1)").unwrap(), "d\n");
        assert!(mutation.apply("b\nc(1)\nb\nc(1)\n").unwrap_err().contains("2 places"));
        assert!(mutation.apply("b\n").unwrap_err().contains("0 places"));
        for wrong in ["find: b\n", "mutation: m\n", "mutation: m\nfile: a.rs\ntest: a\nfind: b\n", "?\n"] {
            assert!(parse(wrong, "folder", "package").is_err(), "{wrong}");
        }
    }
}
