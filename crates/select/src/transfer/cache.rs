//! Where timings are kept: in the user's cache folder, by machine, transport and library.
//!
//! Every calibration writes a file of its own, under a temporary name that is then renamed, and a
//! reader takes the union of the lines of all files, the oldest first. Processes that calibrate at
//! once therefore lose nothing; a lock lets only one of them time at once ([`lock`]), where the file
//! system has locks. A file is of one version of the models: its name begins with
//! their digest. Its last line counts and hashes the others, so that a torn file is told.
//!
//! A team of nodes has a transport of its own for each number of nodes ([`team`]). Its node 0 reads
//! the files of all libraries as one text ([`all_kept`]), which the other nodes get from it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};
use std::vec::Vec;
use std::{format, io};

use super::Point;
use crate::{
    Table,
    files::{Lock, read_file, write_atomically},
    machine::Machine,
    output::say_once,
    table::Parameters,
};

/// The first line of a file.
const HEAD: &str = "strata-timings 1";

/// From this many files on the next one replaces those that it contains.
const MANY: usize = 8;

/// The most lines of a file: a calibration takes at most some hundred timings.
const MOST_LINES: usize = 4096;

/// The most bytes of a library's files that are read, the newest first, and the most files.
const MOST_BYTES: u64 = 1 << 20;
const MOST_FILES: usize = 256;

/// `strata` in the user's cache folder, which is that in `XDG_CACHE_HOME`, or `~/.cache`; `None`
/// where neither that nor `HOME` is set. A path in `XDG_CACHE_HOME` that is relative is ignored (XDG
/// Base Directory Specification).
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    Some(cache.or_else(|| Some(variable("HOME")?.join(".cache")))?.join("strata"))
}

/// The FNV-1a hash of some bytes: equal in every build and on every machine.
#[must_use]
pub fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

/// The lines of a file that say what its timings are of.
fn head(table: &Table, machine: &Machine, transport: &str) -> String {
    let Table { library, digest, platform, .. } = table;
    format!(
        "{HEAD}\nmachine {machine}\ntransport {transport}\nlibrary {library}\nmodels {digest} of {platform}\n"
    )
}

/// A text as the name of a folder.
fn plain(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-")
}

/// The folder of the timings of all libraries below the user's cache folder.
fn transport_folder(cache: &Path, machine: &Machine, transport: &str) -> PathBuf {
    let machine = fnv(machine.to_string().bytes());
    cache.join("timings").join(format!("{machine:016x}")).join(plain(transport))
}

/// The folder of a library's timings.
fn folder(cache: &Path, table: &Table, machine: &Machine, transport: &str) -> PathBuf {
    transport_folder(cache, machine, transport).join(plain(table.library))
}

/// The beginning of the names of files of this version of the models.
fn version(table: &Table) -> String {
    format!("{:016x}-", fnv(table.digest.bytes().chain(table.platform.bytes())))
}

/// A timing as a line.
fn line(table: &Table, point: &Point) -> Option<String> {
    let mut line =
        format!("{:?} {} {}", point.seconds, point.nodes, table.entries.get(point.candidate)?.name);
    for value in point.parameters.iter() {
        write!(line, ":{value}").ok()?;
    }
    for input in &point.inputs {
        write!(line, " {input:?}").ok()?;
    }
    Some(line)
}

/// The timing of a line, if it fits the table.
fn point(table: &Table, line: &str) -> Option<Point> {
    let mut words = line.split(' ');
    let seconds = words.next()?.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0)?;
    let nodes = words.next()?.parse().ok()?;
    let mut named = words.next()?.split(':');
    let name = named.next()?;
    let candidate = table.entries.iter().position(|entry| entry.name == name)?;
    let mut parameters = Parameters::NONE;
    for value in named {
        parameters.push(value.parse().ok()?)?;
    }
    let inputs: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    let inputs = inputs.filter(|inputs| inputs.len() == table.inputs.len())?;
    let fits = parameters.len() == table.entries[candidate].parameters.len();
    fits.then_some(Point { candidate, nodes, inputs, parameters, seconds })
}

/// Adds those of the later lines that are not among the others yet.
fn add(lines: &mut Vec<String>, later: Vec<String>) {
    let known: BTreeSet<String> = lines.iter().cloned().collect();
    lines.extend(later.into_iter().filter(|line| !known.contains(line)));
}

/// Timings as the text of a file.
fn text(head: &str, lines: &[String]) -> String {
    let mut text = head.to_owned();
    for line in lines {
        text += line;
        text.push('\n');
    }
    let hash = fnv(text.bytes());
    let _ = writeln!(text, "end {} {hash:016x}", lines.len());
    text
}

/// What a reader says of a file whose last line does not fit the others.
const TORN: &str = "it is cut short or damaged";

/// A file without its last line, and how many timings that counts.
///
/// # Errors
/// A text that follows the file's name.
fn whole(text: &str) -> Result<(&str, usize), &'static str> {
    let without = text.strip_suffix('\n').ok_or(TORN)?;
    let start = without.rfind('\n').ok_or(TORN)? + 1;
    let (before, end) = without.split_at(start);
    let mut words = end.strip_prefix("end ").ok_or(TORN)?.split(' ');
    let count: usize = words.next().and_then(|word| word.parse().ok()).ok_or(TORN)?;
    let hash = words.next().and_then(|word| u64::from_str_radix(word, 16).ok()).ok_or(TORN)?;
    if fnv(before.bytes()) == hash { Ok((before, count)) } else { Err(TORN) }
}

/// The lines of a file's timings.
///
/// # Errors
/// A text that follows the file's name.
fn lines_of(text: &str, head: &str) -> Result<Vec<String>, &'static str> {
    let (before, count) = whole(text)?;
    let lines = before.strip_prefix(head).ok_or("it is of another machine or of other models")?;
    let lines: Vec<String> = lines.lines().take(MOST_LINES).map(str::to_owned).collect();
    if lines.len() == count { Ok(lines) } else { Err(TORN) }
}

/// The files of a library's timings: which they are, their lines, and the faults of the others.
#[derive(Debug, Default)]
struct Read {
    files: Vec<PathBuf>,
    lines: Vec<String>,
    faults: Vec<(PathBuf, String)>,
}

/// The files of a folder whose names `is_one`, the oldest first.
fn listed(folder: &Path, is_one: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let dated = entries.filter(|entry| entry.file_name().to_str().is_some_and(&is_one)).map(|entry| {
        let modified = fs::metadata(entry.path()).and_then(|file| file.modified());
        (modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path())
    });
    let mut files: Vec<(SystemTime, PathBuf)> = dated.collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}

fn read(folder: &Path, table: &Table, head: &str) -> Read {
    let mut all = Read::default();
    let version = version(table);
    let of_version = |name: &str| name.starts_with(&version) && name.ends_with(".txt");
    let mut found = Vec::new();
    let mut left = MOST_BYTES;
    for (count, path) in listed(folder, of_version).into_iter().rev().enumerate() {
        let text = if count < MOST_FILES { read_file(&path, left) } else { Err(too_many()) };
        let lines = match text {
            // Another process has replaced it by one that has its lines.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => Err(error.to_string()),
            Ok(bytes) => {
                left -= bytes.len() as u64;
                lines_of(&String::from_utf8_lossy(&bytes), head).map_err(str::to_owned)
            }
        };
        match lines {
            Ok(lines) => found.push((path, lines)),
            Err(fault) => all.faults.push((path, fault)),
        }
    }
    for (path, lines) in found.into_iter().rev() {
        add(&mut all.lines, lines);
        all.files.push(path);
    }
    all
}

fn too_many() -> io::Error {
    io::Error::other(format!("there are {MOST_FILES} newer ones"))
}

/// The kept timings of a library's candidates on this machine, as one text; `None` without any.
/// A file that cannot be used is reported once on standard error.
#[must_use]
pub fn kept_timings(table: &Table, transport: &str) -> Option<String> {
    kept_in(&cache_folder()?, table, Machine::hosting(transport), transport)
}

/// Whether a calibration of these models on this machine has ended, with timings or without.
pub(super) fn is_kept(table: &Table, transport: &str) -> bool {
    let machine = Machine::hosting(transport);
    let folder = |cache: PathBuf| folder(&cache, table, machine, transport);
    cache_folder()
        .is_some_and(|cache| !read(&folder(cache), table, &head(table, machine, transport)).files.is_empty())
}

fn say_unusable(path: &Path, fault: &str) {
    say_once(format!(
        "strata: {}: {fault}; its timings are ignored: remove the file, or calibrate again",
        path.display()
    ));
}

fn kept_in(cache: &Path, table: &Table, machine: &Machine, transport: &str) -> Option<String> {
    let head = head(table, machine, transport);
    let found = read(&folder(cache, table, machine, transport), table, &head);
    found.faults.iter().for_each(|(path, fault)| say_unusable(path, fault));
    (!found.lines.is_empty()).then(|| text(&head, &found.lines))
}

/// The name under which the timings of a team are kept: no other number of nodes reads them.
#[must_use]
pub fn team(transport: &str, nodes: usize) -> String {
    format!("{transport} nodes={nodes}")
}

/// The most bytes of all files of a team.
const MOST_OF_ALL: usize = 1 << 22;

/// The files of all libraries that were kept on this machine by such a [`team`], as one text for
/// [`kept_among`]. A file that cannot be used is reported once on standard error.
#[must_use]
pub fn all_kept(transport: &str) -> String {
    cache_folder().map_or(String::new(), |cache| all_in(&cache, Machine::hosting(transport), transport))
}

fn all_in(cache: &Path, machine: &Machine, transport: &str) -> String {
    let mut all = String::new();
    let libraries = listed(&transport_folder(cache, machine, transport), |_| true);
    for path in libraries.iter().flat_map(|folder| listed(folder, |name| name.ends_with(".txt"))) {
        let found = match read_file(&path, MOST_BYTES.min((MOST_OF_ALL - all.len()) as u64)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => Err(error.to_string()),
            Ok(bytes) => String::from_utf8(bytes)
                .map_err(|_| TORN.to_owned())
                .and_then(|text| whole(&text).map(drop).map_err(str::to_owned).map(|()| text)),
        };
        match found {
            Ok(text) => all += &text,
            Err(fault) => say_unusable(&path, &fault),
        }
    }
    all
}

/// The timings of a library's candidates among [`all_kept`] ones, as the text of one file; `None`
/// if no calibration of these models on this machine has ended. After one that changed no models
/// there are none in it.
#[must_use]
pub fn kept_among(table: &Table, machine: &Machine, transport: &str, all: &str) -> Option<String> {
    let head = head(table, machine, transport);
    let mut found: Option<Vec<String>> = None;
    let mut rest = all;
    while !rest.is_empty() {
        let end = rest.get(1..).unwrap_or_default().find(HEAD).map_or(rest.len(), |end| end + 1);
        let (file, others) = rest.split_at(end);
        if let Ok(lines) = lines_of(file, &head) {
            add(found.get_or_insert_default(), lines);
        }
        rest = others;
    }
    found.map(|lines| text(&head, &lines))
}

/// Timings as the text of one file, as [`kept_among`] makes it.
#[must_use]
pub fn timings_text(table: &Table, machine: &Machine, transport: &str, points: &[Point]) -> String {
    let lines: Vec<String> = points.iter().filter_map(|point| line(table, point)).collect();
    text(&head(table, machine, transport), &lines)
}

/// The timings in a text of [`kept_timings`] or [`kept_among`], as far as they are of this table.
#[must_use]
pub fn timings_of(table: &Table, text: &str) -> Vec<Point> {
    text.lines().filter_map(|line| point(table, line)).collect()
}

/// Keeps timings beside those of earlier calibrations; returns the file.
///
/// # Errors
/// There is no cache folder, or it cannot be written.
pub fn keep_timings(table: &Table, transport: &str, points: &[Point]) -> io::Result<PathBuf> {
    let none = || io::Error::other("there is no cache folder: neither XDG_CACHE_HOME nor HOME is set");
    keep_in(&cache_folder().ok_or_else(none)?, table, Machine::hosting(transport), transport, points)
}

fn keep_in(
    cache: &Path,
    table: &Table,
    machine: &Machine,
    transport: &str,
    points: &[Point],
) -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let head = head(table, machine, transport);
    let folder = folder(cache, table, machine, transport);
    fs::create_dir_all(&folder)?;
    let mut lines: Vec<String> = Vec::new();
    let before = read(&folder, table, &head);
    let replaced = if before.files.len() + 1 >= MANY { before.files } else { Vec::new() };
    if !replaced.is_empty() && points.len() + before.lines.len() <= MOST_LINES {
        lines = before.lines;
    }
    add(&mut lines, points.iter().filter_map(|point| line(table, point)).collect());
    let text = text(&head, &lines);
    // Processes of several hosts may share the folder and have the same number: the hash of the
    // contents tells them apart, and equal contents may replace each other.
    let number = COUNT.fetch_add(1, Relaxed);
    let name = format!("{}{:016x}-{}-{number}.txt", version(table), fnv(text.bytes()), std::process::id());
    let path = folder.join(name);
    write_atomically(&path, |out| out.write_all(text.as_bytes()))?;
    let kept: BTreeSet<&str> = text.lines().collect();
    for old in replaced.iter().filter(|old| **old != path) {
        let contained = read_file(old, MOST_BYTES).is_ok_and(|old| {
            let lines = lines_of(&String::from_utf8_lossy(&old), &head);
            lines.is_ok_and(|lines| lines.iter().all(|line| kept.contains(&**line)))
        });
        if contained {
            // A file that stays is read again, no more.
            let _ = fs::remove_file(old);
        }
    }
    Ok(path)
}

/// Takes the lock of calibrations of a library on this machine, for which it waits at most `longest`.
/// `None` without a lock: another process has it still, or none can be had.
pub(super) fn lock(table: &Table, transport: &str, longest: Duration) -> Option<Lock> {
    let folder = folder(&cache_folder()?, table, Machine::hosting(transport), transport);
    fs::create_dir_all(&folder).ok()?;
    let start = Instant::now();
    loop {
        match Lock::try_take(folder.join("calibrating")) {
            Ok(None) if start.elapsed() < longest => std::thread::sleep(Duration::from_millis(5)),
            Ok(lock) => return lock,
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Domain, Entry, Model, Parameter, Verdict};
    use std::thread;
    use std::vec;

    static TABLE: Table = Table {
        library: "any",
        spec: "any.spec",
        platform: "threads nodes=1 elsewhere",
        digest: "abc",
        inputs: &["n"],
        domain: Domain { nodes: (1, 1), inputs: &[(1.0, 9.0)] },
        entries: &[
            Entry::new("plain", Verdict::Verified, 1.0, &Model::Unknown),
            Entry::new("block", Verdict::Verified, 1.0, &Model::Unknown).with(&[Parameter::new("b", 1, 9)]),
        ],
    };

    fn points(seed: usize) -> Vec<Point> {
        let one = |i: usize| Point {
            candidate: i % 2,
            nodes: 1,
            inputs: vec![1.0 + i as f64],
            parameters: if i % 2 == 1 { Parameters::new(&[3]).unwrap() } else { Parameters::NONE },
            seconds: 1e-6 * (1.0 + i as f64) + 1e-9 * seed as f64,
        };
        (0..9).map(one).collect()
    }

    fn kept(cache: &Path, table: &Table) -> Vec<Point> {
        kept_in(cache, table, Machine::here(), "threads").map_or(Vec::new(), |text| timings_of(table, &text))
    }

    fn keep(cache: &Path, seed: usize) -> io::Result<PathBuf> {
        keep_in(cache, &TABLE, Machine::here(), "threads", &points(seed))
    }

    #[test]
    fn timings_read_back_and_many_writers_lose_nothing() {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(kept(cache.path(), &TABLE), []);
        keep(cache.path(), 0).unwrap();
        let mut back = kept(cache.path(), &TABLE);
        back.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        assert_eq!(back, points(0));
        thread::scope(|scope| {
            for writer in 1..9 {
                let cache = cache.path();
                scope.spawn(move || (0..8).for_each(|i| drop(keep(cache, 8 * writer + i).unwrap())));
            }
        });
        assert_eq!(kept(cache.path(), &TABLE).len(), 9 * 65);
        let folder = folder(cache.path(), &TABLE, Machine::here(), "threads");
        assert!(fs::read_dir(folder).unwrap().count() < 40, "contained files are removed");
    }

    #[test]
    fn what_is_torn_or_of_another_version_is_ignored() {
        let cache = tempfile::tempdir().unwrap();
        let path = keep(cache.path(), 0).unwrap();
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(kept(cache.path(), &TABLE), [], "{end}");
        }
        let mut flipped = whole.clone();
        for at in 0..whole.len() {
            flipped[at] ^= 1;
            fs::write(&path, &flipped).unwrap();
            assert_eq!(kept(cache.path(), &TABLE), [], "{at}");
            flipped[at] ^= 1;
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(kept(cache.path(), &TABLE).len(), 9);
        let newer = Table { digest: "abd", ..TABLE };
        assert_eq!(kept(cache.path(), &newer), []);
        keep_in(cache.path(), &newer, Machine::here(), "threads", &points(1)[..2]).unwrap();
        assert_eq!((kept(cache.path(), &newer).len(), kept(cache.path(), &TABLE).len()), (2, 9));
        let other = Machine { cpu: "Abacus".to_owned(), ..Machine::here().clone() };
        assert_eq!(kept_in(cache.path(), &TABLE, &other, "threads"), None);
    }

    #[test]
    fn a_team_reads_the_whole_files_of_all_libraries_and_takes_its_own() {
        static OTHER: Table = Table { library: "other", ..TABLE };
        let cache = tempfile::tempdir().unwrap();
        let machine = Machine::here();
        let (four, eight) = (team("threads", 4), team("threads", 8));
        let among = |table: &Table, team: &str| {
            let text = kept_among(table, machine, team, &all_in(cache.path(), machine, team))?;
            Some(timings_of(table, &text).len())
        };
        assert_eq!(among(&TABLE, &four), None);
        keep_in(cache.path(), &TABLE, machine, &four, &points(0)).unwrap();
        let torn = keep_in(cache.path(), &TABLE, machine, &four, &points(1)).unwrap();
        keep_in(cache.path(), &OTHER, machine, &four, &[]).unwrap();
        assert_eq!((among(&TABLE, &four), among(&OTHER, &four)), (Some(18), Some(0)));
        assert_eq!((among(&TABLE, &eight), among(&Table { digest: "abd", ..TABLE }, &four)), (None, None));
        let whole = fs::read(&torn).unwrap();
        for end in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(&torn, &whole[..end]).unwrap();
            assert_eq!((among(&TABLE, &four), among(&OTHER, &four)), (Some(9), Some(0)), "{end}");
        }
        // What is sent is what is read: the same text, in the same order.
        let text = all_in(cache.path(), machine, &four);
        let kept = kept_among(&TABLE, machine, &four, &text).unwrap();
        assert_eq!(kept, timings_text(&TABLE, machine, &four, &points(0)));
        for end in 0..text.len() {
            let _ = kept_among(&TABLE, machine, &four, &text[..end]);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let cache = tempfile::tempdir().unwrap();
        fs::write(cache.path().join("timings"), "a file in the way").unwrap();
        assert!(keep(cache.path(), 0).is_err());
        assert_eq!(kept(cache.path(), &TABLE), []);
    }
}
