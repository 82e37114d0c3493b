//! Plays a page: writes its files, runs its commands, compares what they print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tempfile::TempDir;

use crate::page::{blocks, is_as_shown, is_exactly};

/// A reader in an empty folder, with `specc` at hand and without a network.
pub(crate) struct Player {
    /// Removed at the end.
    _empty: TempDir,
    here: PathBuf,
    workspace: PathBuf,
    offline: &'static str,
}

impl Player {
    pub(crate) fn new() -> Self {
        let empty = tempfile::tempdir().expect("a temporary folder");
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let workspace = workspace.canonicalize().expect("the workspace is there");
        Self { here: empty.path().to_owned(), _empty: empty, workspace, offline: "true" }
    }

    /// Cargo may fetch.
    pub(crate) fn online(self) -> Self {
        Self { offline: "false", ..self }
    }

    /// Files and commands of a page, in order.
    pub(crate) fn play(&mut self, name: &str, page: &str) {
        for block in blocks(page) {
            if !block.path.is_empty() {
                let path = self.here.join(block.path);
                fs::create_dir_all(path.parent().expect("it lies in a folder")).expect(block.path);
                fs::write(path, &block.text).expect(block.path);
            }
            if block.kind == "sh" {
                fs::write(self.here.join("script.sh"), &block.text).expect("script.sh");
                self.run(
                    "sh -n script.sh",
                    "",
                    &format!("docs/{name}, block at line {}", block.line),
                    is_as_shown,
                );
            }
            let compare = match block.kind {
                "console" => is_as_shown,
                "console exact" => is_exactly,
                _ => continue,
            };
            for part in block.text.split("$ ").filter(|part| !part.is_empty()) {
                let (command, shown) = part.split_once('\n').expect("a line ends");
                let place = format!("docs/{name}, block at line {}: $ {command}", block.line);
                self.run(command, shown, &place, compare);
            }
        }
    }

    fn run(
        &mut self,
        command: &str,
        shown: &str,
        place: &str,
        compare: fn(&str, &str) -> Result<(), String>,
    ) {
        if let Some(folder) = command.strip_prefix("cd ") {
            self.here.push(folder);
            return;
        }
        if command.starts_with("cmake ") && Command::new("cmake").arg("--version").output().is_err() {
            println!("skipped, as cmake is not there: {place}");
            return;
        }
        // Versions as the workspace has them: what other tests have built serves here too, and what
        // the registry has published since is not needed.
        let lock = self.here.join("Cargo.lock");
        if self.here.join("Cargo.toml").is_file() && !lock.exists() {
            fs::copy(self.workspace.join("Cargo.lock"), lock).expect("Cargo.lock");
        }
        // The clone that lies beside the reader's folder.
        let line = command.replace("../strata", &self.workspace.to_string_lossy());
        let programs = Path::new(env!("CARGO_BIN_EXE_specc")).parent().expect("it lies in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let start = Instant::now();
        let output = Command::new("sh")
            .args(["-c", &format!("{line} 2>&1")])
            .current_dir(&self.here)
            .env("PATH", format!("{}:{path}", programs.display()))
            // In the workspace's folder and profile, for the same reason.
            .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join(".."))
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "4")
            .env("CARGO_NET_OFFLINE", self.offline)
            .env("CARGO_TERM_COLOR", "never")
            .env("NO_COLOR", "1")
            // As wide as what the pages show.
            .env("COLUMNS", "80")
            .env_remove("RUSTFLAGS")
            .output()
            .expect("sh starts");
        println!("{:6.1} s  {command}", start.elapsed().as_secs_f64());
        let text = String::from_utf8_lossy(&output.stdout);
        // What fails on purpose shows its message.
        assert!(output.status.success() || !shown.is_empty(), "{place}\n{}\n{text}", output.status);
        if let Err(missing) = compare(shown, &text) {
            panic!("{place}\nprinted\n{text}\nin which this is not as shown: {missing}");
        }
    }
}
