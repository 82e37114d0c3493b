//! What every table of models in this repository chooses for made-up problems, with all times to
//! the last bit: whoever changes how models are emitted or chosen among sees what else changes.
//!
//! `choices.snap` holds the answers, one line a problem. `INSTA_UPDATE=always` writes it again:
//!
//! ```text
//! INSTA_UPDATE=always cargo test -p strata-benches --test it choices
//! ```
//!
//! For each table stand first its domain and its candidates, in lines that begin with `#`: number,
//! name, verdict, bits of the expected ratio, parameters. Then, for each problem:
//!
//! 1. library, platform and number of the problem;
//! 2. number of nodes and inputs;
//! 3. the candidate taken, with its parameters;
//! 4. why there is no prediction: `nearest`, `nodes` (another number of them), or `none` where no
//!    model covers even the nearest point; otherwise `-`;
//! 5. the expected time of each candidate in order, as the bits of an `f64`, with its best
//!    parameters after `@` unless it was taken; `-` for one that no model covers;
//! 6. after `~`, the half width and the deviation of the taken candidate, and the mean over all
//!    candidates of their sum over the time; to six digits, as covariances may be rounded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use strata_select::{
    Library, Question, Source, Table,
    choice::{Note, Outcome},
    models::Models,
    table::{Parameter, Parameters},
};

/// Number of problems drawn for each table.
const PROBLEMS: u64 = 200;

/// The ends of an input that no model limits by itself, only together with parameters.
const UNLIMITED: (f64, f64) = (8.0, 400.0);

/// Where the answers are kept.
const SNAP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/choices.snap");

/// Generated files, and the libraries of each.
macro_rules! shipped {
    ($($module:ident $path:literal: $($library:ident),+;)+) => {
        $(
            #[allow(missing_docs, clippy::too_many_arguments, reason = "only the tables are used")]
            #[path = $path]
            mod $module;
        )+

        fn shipped() -> Vec<Shipped> {
            let mut all = Vec::new();
            $($(
                all.extend($module::$library::TABLES.iter().map(|table| Shipped {
                    file: $path,
                    name: stringify!($library),
                    table,
                    answer: answer::<$module::$library>,
                }));
            )+)+
            all
        }
    };
}

// Paths are relative to this file.
shipped! {
    copy "../../../crates/copy/src/models.rs": CopyCold, CopyColdRead, CopyHot, CopyHotRead;
    copy_exchange "../../../crates/copy/src/exchange_models.rs": CopyExchange, CopyExchangeUsed;
    copy_strided "../../../crates/copy/src/strided_models.rs": PackCold, PackHot, UnpackCold, UnpackHot;
    global_stores "../../../crates/global/src/stores_models.rs": GlobalStores;
    global_bulk "../../../crates/global/src/bulk_models.rs": GlobalBulk;
    matmul "../../../examples/matmul/src/models.rs": Product;
    trees "../../../crates/runtime/src/collectives/trees/models.rs": Broadcasts, Reductions, Scans;
    sort "../../../crates/sort/src/models.rs": Sort;
    sort_local "../../../crates/sort/src/local/models.rs": LocalSort;
    sort_rdst "../../../crates/sort/src/local/tuner/models.rs": RdstStep;
    stencil "../../../crates/stencil/src/models.rs": Stencil;
    stencil_exchange "../../../crates/stencil/src/exchange/models.rs": StencilWave, StencilExchange;
    stencil_halo "../../../crates/stencil/src/halo/models.rs": HaloExchange;
    tcs "../../../crates/tcs/src/patterns/models.rs":
        PatternScatter, PatternGather, PatternReduce, PatternExchange, PatternHalo, PatternTranspose,
        PatternRow, PatternColumn;
    own_library "../../../examples/own-library/src/multiply/models.rs": Matmul;
    patterns "../../../examples/patterns/src/models.rs": Patterns;
}

/// A table of a generated file.
struct Shipped {
    /// Relative to the folder of this file.
    file: &'static str,
    /// The library's type in it.
    name: &'static str,
    table: &'static Table,
    answer: fn(&'static Table, &Problem) -> Answer,
}

impl Shipped {
    /// The platform's transport and number of nodes: `threads/2`.
    fn platform(&self) -> String {
        let mut words = self.table.platform.split(' ');
        let transport = words.next().unwrap_or_default();
        format!("{transport}/{}", words.next().and_then(|word| word.strip_prefix("nodes=")).unwrap_or("?"))
    }
}

struct Random(u64);

impl Random {
    /// Another sequence for each problem of each table, whatever others there are.
    fn new(table: &str, problem: u64) -> Self {
        let hash = table.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(Self(hash.wrapping_add(problem)).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number from a range with both its ends.
    fn within(&mut self, least: u64, greatest: u64) -> u64 {
        least + ((u128::from(self.next()) * (u128::from(greatest - least) + 1)) >> 64) as u64
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.within(1, n) == 1
    }

    /// A whole number from a range with both its ends: by about its logarithm where positive, as
    /// the bits of a number are about its logarithm. The same on every machine, unlike powers.
    fn whole(&mut self, least: f64, greatest: f64) -> f64 {
        let greatest = greatest.min(least.max(1.0) * 1e9);
        let value = if least > 0.0 {
            f64::from_bits(self.within(least.to_bits(), greatest.to_bits()))
        } else {
            least + self.within(0, (greatest - least) as u64) as f64
        };
        value.round().clamp(least, greatest)
    }
}

struct Problem {
    nodes: usize,
    inputs: Vec<f64>,
}

impl Problem {
    /// The problem of this number. Of ten problems six lie inside the domain; one has about half
    /// its inputs at an end; one has a number of nodes outside; one has an input outside; and the
    /// last both, the others at an end.
    fn draw(shipped: &Shipped, number: u64) -> Self {
        let domain = shipped.table.domain;
        let random = &mut Random::new(&format!("{} {}", shipped.table.library, shipped.platform()), number);
        let (outside_nodes, outside_inputs, at_ends) = match number % 10 {
            0..=5 => (false, false, false),
            6 => (false, false, true),
            7 => (true, false, false),
            8 => (false, true, false),
            _ => (true, true, true),
        };
        let (least, greatest) = (domain.nodes.0 as u64, domain.nodes.1.min(64) as u64);
        let nodes = match outside_nodes {
            true if least > 1 && random.one_in(2) => random.within(1, least - 1),
            true => random.within(greatest + 1, 2 * greatest + 1),
            false => random.within(least, greatest),
        };
        let outside = random.within(0, domain.inputs.len() as u64 - 1) as usize;
        let mut inputs: Vec<f64> = Vec::new();
        for (index, (name, ends)) in shipped.table.inputs.iter().zip(domain.inputs).enumerate() {
            let finite = |end: f64, instead| if end.is_finite() { end } else { instead };
            let (least, greatest) = (finite(ends.0, UNLIMITED.0), finite(ends.1, UNLIMITED.1));
            // No more of these than of what stands first: else few models would apply.
            let greatest = match inputs.first() {
                Some(keys) if ["run", "distinct"].contains(name) => greatest.min(*keys).max(least),
                _ => greatest,
            };
            inputs.push(if outside_inputs && index == outside {
                let below = (least / 4.0).floor();
                if below < least && random.one_in(2) {
                    random.whole(below, least)
                } else {
                    random.whole(greatest, 4.0 * greatest)
                }
            } else if at_ends && random.one_in(2) {
                if random.one_in(2) { least } else { greatest }
            } else {
                random.whole(least, greatest)
            });
        }
        Self { nodes: nodes as usize, inputs }
    }
}

struct Answer {
    index: usize,
    /// The candidate taken, with its parameters: `Radix{bits:8}`.
    taken: String,
    note: Option<Note>,
    /// For each candidate its expected time and its best parameters.
    expected: Vec<Option<(f64, Parameters)>>,
}

/// Chooses as programs do, among all candidates.
fn answer<L: Library + Debug>(table: &'static Table, problem: &Problem) -> Answer {
    let processes = table.platform.starts_with("mpi ");
    let question = Question { processes, ..Question::new(problem.nodes, &problem.inputs) };
    let models = Models { source: table, file: None, note: None };
    let (taken, choice) = models.choose::<L>(question, &|_| true).unwrap();
    let expected = choice.outcomes().map(|(_, outcome)| match outcome {
        Outcome::Taken => choice.expected.map(|seconds| (seconds.get(), choice.parameters)),
        Outcome::Slower(seconds, parameters) => Some((seconds.get(), parameters)),
        Outcome::OutOfRange | Outcome::NeedsProcesses | Outcome::NoValue(_) => None,
        other => panic!("{}: {other:?} with neither a condition nor a pin", table.library),
    });
    let taken = format!("{taken:?}").replace(' ', "");
    Answer { index: choice.index, taken, note: choice.note, expected: expected.collect() }
}

/// The lines of a table: of itself, and of its problems.
fn describe(shipped: &Shipped, text: &mut String) {
    let Table { library, domain, entries, inputs, .. } = *shipped.table;
    let key = format!("{library} {}", shipped.platform());
    let file = shipped.file.trim_start_matches("../");
    let (least, greatest) = domain.nodes;
    let _ = write!(text, "# {key} {file} nodes {least}..={greatest}");
    for (name, (least, greatest)) in inputs.iter().zip(domain.inputs) {
        let _ = write!(text, " {name} {least}..={greatest}");
    }
    text.push('\n');
    for (index, entry) in entries.iter().enumerate() {
        let ratio = entry.expected_ratio.to_bits();
        let _ = write!(text, "# {key} {index} {} {:?} {ratio:016x}", entry.name, entry.verdict);
        for parameter in entry.parameters {
            let Parameter { name, root, .. } = parameter;
            let _ = write!(text, " {name} {parameter}{}", if root.is_some() { " root" } else { "" });
        }
        text.push('\n');
    }
    for number in 0..PROBLEMS {
        let problem = Problem::draw(shipped, number);
        let answer = (shipped.answer)(shipped.table, &problem);
        let _ = write!(text, "{key} {number} {}", problem.nodes);
        for input in &problem.inputs {
            let _ = write!(text, " {input}");
        }
        let note = match answer.note {
            _ if answer.expected.iter().all(Option::is_none) => "none",
            None => "-",
            Some(Note::Nearest) => "nearest",
            Some(Note::OtherNodes { .. }) => "nodes",
            Some(other) => panic!("{key} {number}: {other}"),
        };
        let _ = write!(text, " {} {note}", answer.taken);
        for (index, expected) in answer.expected.iter().enumerate() {
            match expected {
                None => text.push_str(" -"),
                Some((seconds, parameters)) => {
                    let _ = write!(text, " {:016x}", seconds.to_bits());
                    if index != answer.index && !parameters.is_empty() {
                        let values: Vec<String> = parameters.iter().map(i64::to_string).collect();
                        let _ = write!(text, "@{}", values.join(","));
                    }
                }
            }
        }
        let _ = writeln!(text, " ~{}", uncertainty(shipped.table, &problem, &answer));
    }
}

/// The last column of a problem. Checks as well that the two functions of each model agree, and
/// that there are no times outside the domain.
fn uncertainty(table: &Table, problem: &Problem, answer: &Answer) -> String {
    let Table { library, domain, .. } = *table;
    let mut inputs = problem.inputs.clone();
    let (nodes, distance) = domain.nearest(problem.nodes, &mut inputs);
    let (mut taken, mut sum, mut count) = (None, 0.0, 0);
    for (index, expected) in answer.expected.iter().enumerate() {
        let Some((_, parameters)) = expected else { continue };
        if distance > 0.0 {
            let outside = table.seconds(index, problem.nodes, &problem.inputs, parameters);
            assert_eq!(outside, None, "{library}: candidate {index} at {:?}", problem.inputs);
        }
        let seconds = table.seconds(index, nodes, &inputs, parameters).unwrap();
        let Some(predicted) = table.predict(index, nodes, &inputs, parameters) else { continue };
        assert_eq!(predicted.seconds.get().to_bits(), seconds.to_bits(), "{library}: candidate {index}");
        let (half_width, deviation) = (predicted.half_width.get(), predicted.deviation.get());
        if index == answer.index {
            taken = Some((half_width, deviation));
        }
        // A time of zero has none in proportion.
        if seconds > 0.0 {
            sum += (half_width + deviation) / seconds;
            count += 1;
        }
    }
    match taken {
        Some((half_width, deviation)) => {
            format!(" {half_width:.5e} {deviation:.5e} {:.5e}", sum / f64::from(count.max(1)))
        }
        None => String::from(" -"),
    }
}

/// The difference of two texts by their lines' keys; empty if there is none.
fn difference(kept: &str, found: &str) -> String {
    // Library, platform and number.
    fn by_key(text: &str) -> BTreeMap<(bool, &str, &str, u64), &str> {
        let mut lines = BTreeMap::new();
        for line in text.lines() {
            let about_table = line.starts_with('#');
            let mut words = line.trim_start_matches("# ").split(' ');
            let mut next = || words.next().unwrap_or_default();
            let (library, platform) = (next(), next());
            // The line of a table has its file here.
            let number = next().parse().unwrap_or(u64::MAX);
            let twice = lines.insert((!about_table, library, platform, number), line);
            assert_eq!(twice, None, "two lines have the key of `{line}`");
        }
        lines
    }
    let (kept, found) = (by_key(kept), by_key(found));
    let mut by_table = BTreeMap::<String, usize>::new();
    let (mut shown, mut total, mut other_candidates, mut only_uncertain) = (String::new(), 0, 0, 0);
    let mut factors = [0.0_f64; 2];
    let keys: BTreeSet<_> = kept.keys().chain(found.keys()).collect();
    for key in keys {
        let (old, new) = (kept.get(key), found.get(key));
        if old == new {
            continue;
        }
        total += 1;
        *by_table.entry(format!("{} {}", key.1, key.2)).or_default() += 1;
        if total <= 20 {
            for (sign, line) in [('-', old), ('+', new)] {
                let _ = line.map(|line| writeln!(shown, "{sign} {line}"));
            }
        }
        let (Some(old), Some(new)) = (old.and_then(|line| parts(line)), new.and_then(|line| parts(line)))
        else {
            continue;
        };
        other_candidates += usize::from(old.taken != new.taken);
        only_uncertain += usize::from(old.certain == new.certain);
        factors[0] = factors[0].max(apart(&old.expected, &new.expected));
        factors[1] = factors[1].max(apart(&old.uncertain, &new.uncertain));
    }
    if total == 0 {
        return String::new();
    }
    let mut text = format!("{total} lines differ; the first:\n{shown}by table:\n");
    for (table, count) in by_table {
        let _ = writeln!(text, "{count:6} {table}");
    }
    let [times, uncertain] = factors;
    let _ = writeln!(text, "of which in the candidate taken: {other_candidates}");
    let _ = writeln!(text, "of which only in half widths and deviations: {only_uncertain}");
    let _ = writeln!(text, "greatest relative difference of times: {times:.1e}");
    let _ = writeln!(text, "greatest relative difference of half widths and deviations: {uncertain:.1e}");
    text
}

struct Parts<'a> {
    /// All before `~`.
    certain: &'a str,
    /// The candidate taken.
    taken: Option<&'a str>,
    expected: Vec<f64>,
    uncertain: Vec<f64>,
}

fn parts(line: &str) -> Option<Parts<'_>> {
    let (certain, uncertain) = line.split_once(" ~ ")?;
    let bits = |word: &str| {
        let (bits, _) = word.split_once('@').unwrap_or((word, ""));
        (bits.len() == 16).then(|| u64::from_str_radix(bits, 16).ok())?.map(f64::from_bits)
    };
    let expected = certain.split(' ').filter_map(bits).collect();
    let uncertain = uncertain.split(' ').filter_map(|word| word.parse().ok()).collect();
    // What says why there is no prediction follows it.
    let is_note = |word: &str| ["-", "nearest", "nodes", "none"].contains(&word);
    let next = certain.split(' ').skip(1);
    let taken = certain.split(' ').zip(next).find_map(|(word, next)| is_note(next).then_some(word));
    Some(Parts { certain, taken, expected, uncertain })
}

/// The greatest relative difference of two rows of numbers; infinite if there are more of one.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let relative = |(a, b): (&f64, &f64)| if a == b { 0.0 } else { (a - b).abs() / a.abs().max(b.abs()) };
    a.iter().zip(b).map(relative).fold(0.0, f64::max)
}

// Logarithms and powers are the system's, which are not the same to the last bit everywhere.
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), ignore = "other logarithms")]
#[test]
fn every_table_chooses_as_before() {
    let mut found = String::new();
    for shipped in shipped() {
        describe(&shipped, &mut found);
    }
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        fs::write(SNAP, found).unwrap();
        return;
    }
    let kept = fs::read_to_string(SNAP).unwrap_or_default();
    let difference = difference(&kept, &found);
    if kept != found {
        let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("choices.snap");
        fs::write(&fresh, found).unwrap();
        panic!(
            "{}{SNAP} differs from {}; if that is meant:\n    \
             INSTA_UPDATE=always cargo test -p strata-benches --test it choices",
            if difference.is_empty() { "only the order of lines differs\n" } else { &difference },
            fresh.display(),
        );
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The generated files with tables, relative to the root, and their text.
fn generated() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let root = root();
    let mut folders: Vec<PathBuf> = ["benches", "crates", "examples"].map(|name| root.join(name)).into();
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).unwrap() {
            let item = item.unwrap();
            let (path, name) = (item.path(), item.file_name());
            if item.file_type().unwrap().is_dir() {
                // Folders of builds hold copies.
                if name != "target" && !name.as_encoded_bytes().starts_with(b".") {
                    folders.push(path);
                }
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            if text.starts_with("// @generated by `specc`") && libraries(&text).next().is_some() {
                let relative = path.strip_prefix(&root).unwrap().display().to_string();
                files.insert(relative, text);
            }
        }
    }
    files
}

fn libraries(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("    pub enum ")?.strip_suffix(" {"))
}

#[test]
fn no_table_is_left_out() {
    let files = generated();
    let mut in_files = BTreeSet::new();
    for (file, text) in &files {
        in_files.extend(libraries(text).map(|library| (file.as_str(), library)));
    }
    let shipped = shipped();
    let listed: BTreeSet<(&str, &str)> =
        shipped.iter().map(|shipped| (shipped.file.trim_start_matches("../"), shipped.name)).collect();
    let left_out: Vec<_> = in_files.difference(&listed).collect();
    assert!(left_out.is_empty(), "add to the list of libraries in choices.rs: {left_out:?}");
    let gone: Vec<_> = listed.difference(&in_files).collect();
    assert!(gone.is_empty(), "listed in choices.rs, but in no generated file: {gone:?}");
}

#[test]
#[ignore = "prints how large the generated files are"]
fn sizes() {
    let (mut lines, mut bytes) = (0, 0);
    for (file, text) in generated() {
        println!("{:6} lines, {:8} bytes: {file}", text.lines().count(), text.len());
        (lines, bytes) = (lines + text.lines().count(), bytes + text.len());
    }
    println!("{lines:6} lines, {bytes:8} bytes: all, {} tables", shipped().len());
}
