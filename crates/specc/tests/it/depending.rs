//! Packages outside the workspace that get Strata from a git repository: what is emitted for their
//! specs comes from where they have it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// One place for all runs: cargo keeps a copy of every repository that it has seen.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("depending").join(name);
    let _absent = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

fn run(program: &str, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn succeed(program: &str, folder: &Path, arguments: &[&str]) -> String {
    let output = run(program, folder, arguments);
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Copies the folder without links, and without what was built in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten().filter(|entry| entry.file_name() != "target") {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// A branch of its own: without network cargo takes what it has last seen of one.
fn branch() -> String {
    format!("of/now-{}", std::process::id())
}

/// A repository with the crates as they are now, on [`branch`].
fn repository() -> PathBuf {
    let folder = scratch("strata");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    copy(&root.join("crates"), &folder.join("crates"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest.replace(", \"benches\", \"xtask\"", "")).unwrap();
    for arguments in [
        &["init", "--quiet", "--initial-branch", &branch()][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@a", "commit", "--quiet", "--message", "now"],
    ] {
        succeed("git", &folder, arguments);
    }
    folder
}

const SPEC: &str = "
use user::work;
model Work(n) {
    for n in 1..=8
    task { std::hint::black_box(work(n)); }
    terms n
}
";

/// A package with a spec, and with what its manifest says besides.
fn user(name: &str, source: &str, manifest: &str) -> PathBuf {
    let folder = scratch(name);
    fs::create_dir(folder.join("src")).unwrap();
    fs::write(folder.join("src").join(source), "pub fn work(n: usize) -> usize { n }\nfn main() {}\n")
        .unwrap();
    let head = "[package]\nname = \"user\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), format!("{head}{manifest}")).unwrap();
    fs::write(folder.join("work.spec"), SPEC).unwrap();
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    folder
}

#[test]
fn what_is_measured_is_built_as_the_package_is() {
    let strata = repository();
    let git = format!("git = \"file://{}\", branch = {:?}", strata.display(), branch());
    let manifest = format!(
        "[features]\nfast = []\nslow = []\ndefault = [\"slow\"]\n[dependencies]\n\
         strata-select = {{ {git}, default-features = false }}\n\
         [profile.release]\nopt-level = 2\n[patch.crates-io]\nlibm = {{ path = \"libm\" }}\n"
    );
    let folder = user("user", "lib.rs", &manifest);
    let libm = folder.join("libm/src");
    fs::create_dir_all(&libm).unwrap();
    fs::write(libm.join("lib.rs"), "").unwrap();
    let text = "[package]\nname = \"libm\"\nversion = \"0.2.99\"\nedition = \"2024\"\n";
    fs::write(folder.join("libm/Cargo.toml"), text).unwrap();

    succeed(env!("CARGO_BIN_EXE_specc"), &folder, &["emit", "work.spec", "--features", "fast", "-o", "out"]);
    let emitted = fs::read_to_string(folder.join("out/profile/Cargo.toml")).unwrap();
    for line in [
        &format!("strata-profile = {{ {git}, default-features = false }}"),
        "user = { path = \"../..\", features = [\"fast\"] }",
        "[profile.release]\nopt-level = 2\n",
        "[patch.crates-io.libm]\npath = \"../../libm\"\n",
    ] {
        assert!(emitted.contains(line), "no {line} in\n{emitted}");
    }
    let out = folder.join("out/profile");
    let tree = succeed(&cargo(), &out, &["tree", "--offline", "--prefix", "none", "--no-dedupe"]);
    let strata: std::collections::BTreeSet<&str> =
        tree.lines().filter(|line| line.starts_with("strata-")).collect();
    let sources: std::collections::BTreeSet<_> =
        strata.iter().filter_map(|line| line.split(' ').nth(2)).collect();
    assert!(strata.len() == 3 && sources.len() == 1, "{tree}");
    assert!(sources.iter().all(|source| source.starts_with("(file://")), "{tree}");
}

#[test]
fn a_package_without_a_library_is_told_so() {
    let select = Path::new(env!("CARGO_MANIFEST_DIR")).join("../select");
    let manifest = format!("[dependencies]\nstrata-select = {{ path = {select:?} }}\n");
    let folder = user("program", "main.rs", &manifest);
    let output = run(env!("CARGO_BIN_EXE_specc"), &folder, &["emit", "work.spec", "-o", "out"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    let words: Vec<&str> = told.split_whitespace().filter(|word| *word != "│").collect();
    assert!(words.join(" ").contains("the package `user` consists of programs alone"), "{told}");
}
