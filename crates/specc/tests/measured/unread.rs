//! `specc` whose output nobody reads, as in `specc show models.toml | head -1`, or cannot be
//! written: it does its work, and its exit status is the usual one.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Where an output goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum To {
    /// A pipe that is read.
    Reader,
    /// A pipe whose reader has gone.
    Nobody,
    /// A file on a full disk.
    FullDisk,
}

impl To {
    fn open(self) -> Stdio {
        match self {
            Self::Reader => Stdio::piped(),
            Self::Nobody => {
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                writer.into()
            }
            Self::FullDisk => File::options().write(true).open("/dev/full").unwrap().into(),
        }
    }

    /// Those that cannot be written here.
    fn lossy() -> Vec<Self> {
        let full = Path::new("/dev/full").exists();
        if !full {
            println!("skipped: there is no /dev/full");
        }
        [Self::Nobody].into_iter().chain(full.then_some(Self::FullDisk)).collect()
    }
}

/// Runs `specc` in a folder.
fn specc(arguments: &[&str], folder: &Path, out: To, err: To) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_specc"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "1000")
        .env_remove("STRATA_MODELS");
    command.stdin(Stdio::null()).stdout(out.open()).stderr(err.open());
    command.spawn().and_then(Child::wait_with_output).unwrap()
}

/// Expects this exit status, no panic, and no temporary file left.
fn expect(status: i32, arguments: &[&str], folder: &Path, out: To, err: To) -> Output {
    let output = specc(arguments, folder, out, err);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    let how = format!("specc {arguments:?} to {out:?} and {err:?}: {}\n{said}", output.status);
    assert_eq!(output.status.code(), Some(status), "{how}");
    assert!(!said.contains("panicked"), "{how}");
    assert!(temporary(folder).is_empty(), "{how}{:?}", temporary(folder));
    output
}

/// Temporary files anywhere under a folder.
fn temporary(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let found = entries.flat_map(|entry| match entry.file_type().unwrap().is_dir() {
        true => temporary(&entry.path()),
        false => vec![entry.path().display().to_string()],
    });
    found.filter(|path| path.ends_with(".tmp")).collect()
}

/// Measures once and reads often.
#[test]
fn a_command_whose_output_is_lost_does_its_work() {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/install.spec");
    let spec = spec.to_str().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unread");
    fs::create_dir_all(&folder).unwrap();
    let calibrate = ["calibrate", spec, "--nodes", "2", "--budget", "1s", "-o", "out"];
    let models = folder.join("out/models.toml");
    // As `2>&1 | head -1`, whose reader has gone when the first line has come.
    for (out, err) in [(To::Reader, To::Reader), (To::Nobody, To::Nobody)]
        .into_iter()
        .chain(To::lossy().into_iter().map(|to| (To::Reader, to)))
    {
        let _absent = fs::remove_file(&models);
        expect(0, &calibrate, &folder, out, err);
        assert!(models.exists(), "{out:?} {err:?}");
    }
    // Of a model that nothing was held out for, a prediction warns.
    let bare = (1..=20).map(|n| format!("Gather {}e-7 {} 8\n", 2 * n + 1, 8 * n));
    let bare: String =
        ["strata-samples 1\nmodel Gather keys width\n".to_owned()].into_iter().chain(bare).collect();
    fs::write(folder.join("bare.txt"), bare).unwrap();
    let commands: [(i32, &[&str]); 12] = [
        (0, &["fit", "out/samples.txt", "--spec", spec, "-o", "again"]),
        (0, &["fit", "bare.txt", "-o", "bare"]),
        (0, &["choose", "bare/models.toml", "Gather", "keys=64", "width=8"]),
        (0, &["choose", "out/models.toml", "sort", "keys=64", "width=8", "--explain"]),
        (0, &["show", "out/models.toml"]),
        (0, &["check", spec]),
        (0, &["platform", "list"]),
        (0, &["completions", "bash"]),
        (0, &["--help"]),
        (2, &["sing"]),
        (2, &["choose", "out/models.toml", "Gather", "kes=64"]),
        (3, &["show", "none.toml"]),
    ];
    for (status, arguments) in commands {
        expect(status, arguments, &folder, To::Reader, To::Reader);
        for to in To::lossy() {
            expect(status, arguments, &folder, To::Reader, to);
        }
        // Whoever stops reading results has what they wanted.
        expect(status, arguments, &folder, To::Nobody, To::Reader);
        expect(status, arguments, &folder, To::Nobody, To::Nobody);
    }
    // Results that are wanted and lost are told.
    if To::lossy().contains(&To::FullDisk) {
        let output = expect(3, &["show", "out/models.toml"], &folder, To::FullDisk, To::Reader);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("cannot write to standard output"), "{said}");
    }
}
