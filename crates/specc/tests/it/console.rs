//! The command line as a user meets it, in transcripts: what is typed, and what must be seen then.
//!
//! `console/*.console` are read line by line. Runs of blanks, and line ends, count as one blank.
//!
//! | a line | says |
//! | --- | --- |
//! | `## name` | a case begins, in an empty folder of its own |
//! | `+ path name` | a file of this path is made, whose text the tests make up |
//! | a fenced block behind a path | a file of this path and text |
//! | `$ command` | what `sh` runs; it succeeds, or ends with N if `# exit N` is behind it |
//! | `> text`, `! text` | this is on standard output, or on standard error |
//! | `~> text`, `~! text` | this is not; without a text nothing is there at all |
//! | `@ /a/0/b value` | standard output is JSON that has this value there, or one of `low..high` |
//! | `\| 80` | no line has more characters |
//! | `// text` | a remark |
//!
//! `$TESTS` is the folder `tests` of this crate.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::made_up;

/// What a command has printed.
#[derive(Default)]
struct Printed {
    out: String,
    err: String,
}

/// A case that is being played.
struct Case<'a> {
    name: &'a str,
    folder: tempfile::TempDir,
    printed: Printed,
}

/// A text with single blanks; those at the edge of a drawn message are none of it.
fn words(text: &str) -> String {
    text.split('\n')
        .flat_map(|line| line.trim_start_matches("  │").split_whitespace())
        .collect::<Vec<_>>()
        .join(" ")
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("a folder");
    std::fs::write(path, text).expect("written");
}

impl Case<'_> {
    /// Runs a command; the status counts.
    fn run(&mut self, line: &str) -> Result<(), String> {
        let status = line.rsplit_once("# exit ").map_or(Ok(0), |(_, status)| status.trim().parse());
        let programs = Path::new(env!("CARGO_BIN_EXE_specc")).parent().expect("it lies in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("TESTS", Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"))
            .env("CARGO_NET_OFFLINE", "true")
            .env_remove("STRATA_MPIRUN")
            .env("NO_COLOR", "1")
            // Wide enough for every message; a command that is to wrap its own sets it again.
            .env("COLUMNS", "1000")
            .output()
            .expect("sh starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.printed = Printed { out: text(&output.stdout), err: text(&output.stderr) };
        match (output.status.code(), status) {
            (Some(found), Ok(wanted)) if found == wanted => Ok(()),
            (found, wanted) => Err(format!("it ended with {found:?}, not {wanted:?}")),
        }
    }

    /// Whether what a line says of the last command is so.
    fn check(&self, line: &str) -> Result<(), String> {
        let Printed { out, err } = &self.printed;
        let (mark, text) = line.split_once(' ').unwrap_or((line, ""));
        let has = |printed: &str| words(printed).contains(&words(text));
        let is_so = match mark {
            ">" => has(out),
            "!" => has(err),
            "~>" | "~!" => {
                let printed = if mark == "~>" { out } else { err };
                if text.is_empty() { printed.is_empty() } else { !has(printed) }
            }
            "|" => {
                let most: usize = text.parse().map_err(|_| "`| N`: N is no number")?;
                out.lines().chain(err.lines()).all(|line| line.chars().count() <= most)
            }
            "@" => {
                let json: Value = serde_json::from_str(out).map_err(|error| error.to_string())?;
                let (at, wanted) = text.split_once(' ').ok_or("`@ /path value`: no value")?;
                let found = json.pointer(at).unwrap_or(&Value::Null);
                let is_so = match wanted.split_once("..").map(|(a, b)| (a.parse::<f64>(), b.parse::<f64>())) {
                    Some((Ok(low), Ok(high))) => found.as_f64().is_some_and(|f| (low..=high).contains(&f)),
                    _ => serde_json::from_str::<Value>(wanted).is_ok_and(|wanted| match wanted.as_f64() {
                        Some(number) => found.as_f64() == Some(number),
                        None => wanted == *found,
                    }),
                };
                return if is_so { Ok(()) } else { Err(format!("there is {found}")) };
            }
            _ => return Err("a transcript has no such line".to_owned()),
        };
        if is_so { Ok(()) } else { Err("it is not so".to_owned()) }
    }
}

/// Plays a transcript; every fault is told with its case, its line and what was printed.
fn play(path: &Path) {
    let text = std::fs::read_to_string(path).expect("a transcript");
    let begin =
        |name| Case { name, folder: tempfile::tempdir().expect("a folder"), printed: Printed::default() };
    let mut case = begin("none");
    let (mut faults, mut command, mut file) = (String::new(), String::new(), None::<(String, String)>);
    for (number, line) in text.lines().enumerate() {
        if let Some((path, text)) = &mut file {
            if line == "```" {
                write(case.folder.path(), path, text);
                file = None;
            } else {
                text.push_str(line);
                text.push('\n');
            }
            continue;
        }
        let is_so = match line.split_once(' ').unwrap_or((line, "")) {
            ("" | "//", _) => Ok(()),
            ("##", name) => {
                case = begin(name);
                Ok(())
            }
            ("+", made) => made.split_once(' ').ok_or("`+ path name`".to_owned()).and_then(|(path, name)| {
                let text = made_up::file(name).ok_or_else(|| format!("no file is called {name}"))?;
                write(case.folder.path(), path, &text);
                Ok(())
            }),
            ("$", line) => {
                command = line.to_owned();
                case.run(line)
            }
            (fence, _) if fence.starts_with("```") => {
                file = Some((fence[3..].to_owned(), String::new()));
                Ok(())
            }
            _ => case.check(line),
        };
        if let Err(why) = is_so {
            let Printed { out, err } = &case.printed;
            let (at, name) = (format!("{}:{}", path.display(), number + 1), case.name);
            let _ = writeln!(faults, "{at}: {name}: {line}\n{why}\n$ {command}\n{out}{err}");
        }
    }
    assert!(file.is_none(), "{}: a file is not closed", path.display());
    assert!(faults.is_empty(), "{faults}");
}

fn transcript(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/console").join(name).with_extension("console")
}

/// A test for each transcript, so that they run beside each other.
macro_rules! transcripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            play(&transcript(stringify!($name)));
        })*

        #[test]
        fn every_transcript_is_played() {
            let mut all = vec![$(transcript(stringify!($name))),*];
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/console");
            let mut there: Vec<PathBuf> =
                std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
            all.sort();
            there.sort();
            assert_eq!(all, there);
        }
    };
}

transcripts! {
    asking bounds compare elsewhere exports fitting foreign guidelines impact launchers nodes platform races rules
    specs thresholds trusted usage
}

/// The player itself finds what is not so.
#[test]
fn a_transcript_that_is_wrong_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wrong.console");
    for (line, fault) in [
        ("$ exit 2", "it ended with Some(2), not Ok(0)"),
        ("> b", "it is not so"),
        ("~> a", "it is not so"),
        ("! a", "it is not so"),
        ("~>", "it is not so"),
        ("| 4", "it is not so"),
        ("@ /a 1.5..2", "there is 1"),
        ("@ /a 2", "there is 1"),
        ("@ /b 1", "there is null"),
        ("+ x none", "no file is called none"),
        ("? a", "a transcript has no such line"),
    ] {
        let played = |line: &str| {
            let text =
                format!("## one\n```a.json\n{{\"a\":\n  1}}\n```\n$ cat a.json\n> {{\"a\": 1}}\n{line}\n");
            std::fs::write(&path, text).expect("written");
            std::panic::catch_unwind(|| play(&path))
                .map_err(|told| told.downcast::<String>().expect("a text"))
        };
        assert!(played("@ /a 0.5..1\n~!\n| 6\n~> b\n$ exit 3 # exit 3").is_ok());
        let told = played(line).expect_err(line);
        assert!(told.contains(fault) && told.contains(&format!("wrong.console:8: one: {line}")), "{told}");
    }
}
