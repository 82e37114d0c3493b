//! `cargo xtask weight`: how much there is to read, to build and to maintain.
//!
//! `weight.toml` holds the last totals; the tests fail where lines, words, dependencies or folders in
//! circles rise above them. Lines are those of rustfmt, which the tests check, so that dense code is not lighter.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::map;

/// The file of the last values.
const FILE: &str = "weight.toml";

/// What is measured of each folder.
#[derive(Clone, Copy, Debug, Default)]
struct Folder {
    by_hand: usize,
    generated: usize,
    /// Public items of a crate's sources, and those whose names occur in no other folder.
    public: usize,
    unused: usize,
    words: usize,
}

impl Folder {
    fn lines(&self) -> usize {
        self.by_hand + self.generated
    }
}

/// What is measured of the workspace.
struct Weight {
    folders: BTreeMap<String, Folder>,
    dependencies: usize,
    /// Folders in circles; see [`map`].
    circles: usize,
    bytes: u64,
}

/// Prints the weight; with `lower` also writes totals that fell into the file; with `build` builds
/// `specc` anew and says what that took.
///
/// # Errors
/// Git, cargo or the file failed.
pub(crate) fn run(lower: bool, build: bool) -> Result<(), String> {
    let weight = Weight::measure()?;
    print!("{}", weight.table());
    let last = Last::read()?;
    println!("{}", last.compared(&weight));
    if lower {
        fs::write(FILE, last.lowered(&weight).text(&weight)).map_err(|error| format!("{FILE}: {error}"))?;
    }
    if build {
        println!("specc built in {:.0} core-seconds", core_seconds_of_specc()?);
    }
    Ok(())
}

/// Fails where a total exceeds its last value.
///
/// # Errors
/// The totals that rose, with the folders that grew most.
pub(crate) fn check() -> Result<(), String> {
    if !Path::new(".git").exists() {
        println!("no git repository: the files of the workspace are not known");
        return Ok(());
    }
    let weight = Weight::measure()?;
    let last = Last::read()?;
    println!("{}", last.compared(&weight));
    last.exceeded(&weight)
}

/// The standard output of a command.
fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The files of the workspace that exist.
///
/// # Errors
/// Git failed.
pub(crate) fn files() -> Result<Vec<String>, String> {
    let all = output("git", &["ls-files", "-z"])?;
    let exist = all.split_terminator('\0').filter(|path| Path::new(path).exists());
    Ok(exist.map(str::to_owned).collect())
}

/// The folder that a file counts to: a crate, bench or example, else the first folder.
fn folder_of(path: &str) -> String {
    let mut parts = path.split('/');
    let (first, second, third) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    match (first, second, third) {
        (_, None, _) => ".".to_owned(),
        ("crates" | "examples", Some(second), Some(_)) => format!("{first}/{second}"),
        _ => first.to_owned(),
    }
}

/// The name of a public item that a line declares.
fn public_item(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace().peekable();
    while words.next_if(|word| ["unsafe", "async", "extern", "\"C\""].contains(word)).is_some() {}
    let kind = words.next()?;
    let kind = if kind == "const" && words.next_if_eq(&"fn").is_some() { "fn" } else { kind };
    if !["fn", "struct", "enum", "trait", "type", "static", "const", "union"].contains(&kind) {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end]).filter(|name| !name.is_empty())
}

impl Weight {
    fn measure() -> Result<Self, String> {
        let mut folders: BTreeMap<String, Folder> = BTreeMap::new();
        let mut items: Vec<(String, String)> = Vec::new();
        let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut bytes = 0;
        let files = files()?;
        for path in &files {
            let Ok(content) = fs::read(path) else { continue };
            bytes += content.len() as u64;
            let name = folder_of(path);
            let folder = folders.entry(name.clone()).or_default();
            let text = String::from_utf8_lossy(&content);
            let is_rust = path.ends_with(".rs");
            if path.ends_with(".md") {
                folder.words += text.split_whitespace().count();
            }
            if is_rust {
                let generated = text.lines().take(3).any(|line| line.contains("@generated"));
                *(if generated { &mut folder.generated } else { &mut folder.by_hand }) +=
                    text.lines().count();
                if name.starts_with("crates/") && path[name.len()..].starts_with("/src/") {
                    items.extend(text.lines().filter_map(public_item).map(|i| (name.clone(), i.to_owned())));
                }
            }
            if is_rust || path.ends_with(".md") || path.ends_with(".spec") {
                let identifiers = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                for identifier in identifiers.filter(|word| !word.is_empty()) {
                    match users.get_mut(identifier) {
                        Some(users) if users.contains(&name) => {}
                        Some(users) => drop(users.insert(name.clone())),
                        None => drop(users.insert(identifier.to_owned(), BTreeSet::from([name.clone()]))),
                    }
                }
            }
        }
        for (folder, item) in items {
            let used = users.get(&item).is_some_and(|users| users.iter().any(|user| *user != folder));
            let folder = folders.entry(folder).or_default();
            folder.public += 1;
            folder.unused += usize::from(!used);
        }
        let tree = ["tree", "-p", "specc", "-e", "normal,build", "--prefix", "none", "--format", "{p}"];
        let tree = output(env!("CARGO"), &tree)?;
        let crates: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
        Ok(Self {
            folders,
            dependencies: crates.len().saturating_sub(1),
            circles: map::in_circles(&files)?,
            bytes,
        })
    }

    fn sum(&self, of: impl Fn(&Folder) -> usize) -> usize {
        self.folders.values().map(of).sum()
    }

    fn totals(&self) -> [usize; 4] {
        [self.sum(Folder::lines), self.sum(|folder| folder.words), self.dependencies, self.circles]
    }

    fn table(&self) -> String {
        let mut text =
            String::from("folder              Rust by hand  generated   public  unused elsewhere    words\n");
        let mut row = |name: &str, folder: &Folder| {
            let Folder { by_hand, generated, public, unused, words } = folder;
            let _ = writeln!(text, "{name:<20}{by_hand:>12}{generated:>11}{public:>9}{unused:>18}{words:>9}");
        };
        let mut folders: Vec<_> = self.folders.iter().collect();
        folders.sort_by_key(|(_, folder)| std::cmp::Reverse((folder.lines(), folder.words)));
        folders.into_iter().for_each(|(name, folder)| row(name, folder));
        let total = Folder {
            by_hand: self.sum(|f| f.by_hand),
            generated: self.sum(|f| f.generated),
            public: self.sum(|f| f.public),
            unused: self.sum(|f| f.unused),
            words: self.sum(|f| f.words),
        };
        row("all", &total);
        let megabytes = self.bytes as f64 / 1e6;
        let _ =
            writeln!(text, "dependencies of specc {}, tracked files {megabytes:.1} MB", self.dependencies);
        text
    }
}

/// The names of the totals in the file.
const TOTALS: [&str; 4] = ["lines", "words", "dependencies", "circles"];

/// The last values.
struct Last {
    /// Each with the reason of its last rise, as a comment.
    totals: [(usize, String); 4],
    /// Lines and words of each folder when the totals were written.
    folders: BTreeMap<String, [usize; 2]>,
}

impl Last {
    fn read() -> Result<Self, String> {
        let text = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        let mut last = Self { totals: Default::default(), folders: BTreeMap::new() };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| line.contains('=')) {
            let wrong = || format!("{FILE}:{}: not `name = numbers`", number + 1);
            let (name, values) = line.split_once('=').ok_or_else(wrong)?;
            let (values, why) = values.split_once('#').unwrap_or((values, ""));
            let name = name.trim().trim_matches('"');
            let values: Result<Vec<usize>, _> =
                values.trim().trim_matches(['[', ']']).split(',').map(|value| value.trim().parse()).collect();
            match (TOTALS.iter().position(|total| *total == name), &values.map_err(|_| wrong())?[..]) {
                (Some(total), [value]) => last.totals[total] = (*value, why.trim().to_owned()),
                (None, [lines, words]) => drop(last.folders.insert(name.to_owned(), [*lines, *words])),
                _ => return Err(wrong()),
            }
        }
        Ok(last)
    }

    fn compared(&self, weight: &Weight) -> String {
        let one = |(name, (now, (last, _))): (&&str, (usize, &(usize, String)))| {
            format!("{name} {now} ({:+})", now as i128 - *last as i128)
        };
        let pairs = weight.totals().into_iter().zip(&self.totals);
        TOTALS.iter().zip(pairs).map(one).collect::<Vec<_>>().join(", ")
    }

    /// # Errors
    /// A total has risen.
    fn exceeded(&self, weight: &Weight) -> Result<(), String> {
        let mut why = Vec::new();
        for (total, now) in weight.totals().into_iter().enumerate() {
            let last = self.totals[total].0;
            if now <= last {
                continue;
            }
            let mut grown: Vec<(i128, &String)> = Vec::new();
            for (name, folder) in weight.folders.iter().filter(|_| total < 2) {
                let now = [folder.lines(), folder.words][total] as i128;
                let before = self.folders.get(name).map_or(0, |last| last[total] as i128);
                grown.push((now - before, name));
            }
            grown.sort_by_key(|(more, _)| std::cmp::Reverse(*more));
            let most: Vec<String> =
                grown.iter().take(3).map(|(more, name)| format!("{name} {more:+}")).collect();
            let most = if most.is_empty() { String::new() } else { format!(" (most: {})", most.join(", ")) };
            why.push(format!("{} {now} exceed {last} of {FILE}{most}", TOTALS[total]));
        }
        if why.is_empty() { Ok(()) } else { Err(why.join("; ")) }
    }

    /// The lower one of the last and the measured totals.
    fn lowered(mut self, weight: &Weight) -> Self {
        for ((last, why), now) in self.totals.iter_mut().zip(weight.totals()) {
            if now < *last {
                (*last, *why) = (now, String::new());
            }
        }
        self
    }

    fn text(&self, weight: &Weight) -> String {
        let mut text = String::from(
            "# The last weight of the workspace: `cargo xtask test` fails where a total rises. `cargo xtask \
             weight\n# --lower` takes over what fell; what must rise is raised by hand, with the reason behind it.\n",
        );
        for (name, (value, why)) in TOTALS.iter().zip(&self.totals) {
            let why = if why.is_empty() { String::new() } else { format!(" # {why}") };
            let _ = writeln!(text, "{name} = {value}{why}");
        }
        text.push_str("\n# Lines of Rust and words of each folder.\n[folders]\n");
        for (name, folder) in &weight.folders {
            let _ = writeln!(text, "\"{name}\" = [{}, {}]", folder.lines(), folder.words);
        }
        text
    }
}

/// The processor time of a build of `specc` from nothing, in seconds.
fn core_seconds_of_specc() -> Result<f64, String> {
    let folder = "target/weight";
    if Path::new(folder).exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{folder}: {error}"))?;
    }
    let before = of_children()?;
    let build = ["build", "--release", "-p", "specc", "--target-dir", folder];
    output(env!("CARGO"), &build)?;
    Ok(of_children()? - before)
}

/// The processor time of this process's ended children, in seconds.
fn of_children() -> Result<f64, String> {
    /// Linux has 100 in a second on all architectures (`man 5 proc`, `sysconf(_SC_CLK_TCK)`).
    const TICKS: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").map_err(|error| format!("only on Linux: {error}"))?;
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    // User and system time are fields 16 and 17, of which the second ended with `)`.
    let ticks: Option<f64> =
        fields.split_whitespace().skip(13).take(2).map(|field| field.parse::<f64>().ok()).sum();
    ticks.map(|ticks| ticks / TICKS).ok_or_else(|| "/proc/self/stat has too few fields".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_items_are_found() {
        for (line, name) in [
            ("pub fn sort<T>(keys: &mut [T]) {", Some("sort")),
            ("    pub const fn new() -> Self {", Some("new")),
            ("pub unsafe extern \"C\" fn start()", Some("start")),
            ("pub const MOST: usize = 3;", Some("MOST")),
            ("pub struct Pair(f64);", Some("Pair")),
            ("pub(crate) fn sort()", None),
            ("pub use a::b;", None),
            ("    pub keys: usize,", None),
            ("// pub fn sort()", None),
        ] {
            assert_eq!(public_item(line), name, "{line}");
        }
        assert_eq!(folder_of("crates/fit/src/lib.rs"), "crates/fit");
        assert_eq!(folder_of("benches/own/main.rs"), "benches");
        assert_eq!(folder_of("README.md"), ".");
    }

    fn weight(lines: [usize; 2], words: usize) -> Weight {
        let folder = |by_hand| Folder { by_hand, words, ..Folder::default() };
        let folders = ["a", "b"].map(str::to_owned).into_iter().zip(lines.map(folder)).collect();
        Weight { folders, dependencies: 7, circles: 3, bytes: 0 }
    }

    #[test]
    fn a_total_that_rises_is_an_error_and_one_that_falls_is_taken_over() {
        let folders = [("a".to_owned(), [10, 5]), ("b".to_owned(), [20, 5])];
        let last = |totals: [usize; 4]| Last {
            totals: totals.map(|total| (total, "why".to_owned())),
            folders: BTreeMap::from(folders.clone()),
        };
        assert_eq!(last([30, 10, 7, 3]).exceeded(&weight([10, 20], 5)), Ok(()));
        // Lines that move between folders weigh nothing.
        assert_eq!(last([30, 10, 7, 3]).exceeded(&weight([20, 10], 5)), Ok(()));
        assert_eq!(
            last([30, 10, 6, 3]).exceeded(&weight([10, 24], 5)),
            Err("lines 34 exceed 30 of weight.toml (most: b +4, a +0); dependencies 7 exceed 6 of weight.toml"
                .to_owned())
        );
        let text = last([30, 12, 7, 3]).lowered(&weight([10, 24], 5)).text(&weight([10, 24], 5));
        assert!(text.contains("lines = 30 # why\nwords = 10\ndependencies = 7 # why\n"), "{text}");
        assert!(text.contains("\"b\" = [24, 5]\n"), "{text}");
    }
}
