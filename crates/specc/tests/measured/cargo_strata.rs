//! `cargo strata`, from nothing to a package that chooses, outside the workspace and without
//! network.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{ROOT, release_profile, run, target};

/// Called as cargo calls it: exit status, standard output, standard error.
fn strata(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    run(folder, env!("CARGO_BIN_EXE_cargo-strata"), &[&["strata"], arguments].concat())
}

#[test]
fn a_new_package_calibrates_at_once_and_then_chooses() {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, told) = strata(folder.path(), &["new", "count-them"]);
    assert!(status == Some(0) && told.contains("cargo strata calibrate\n"), "{told}");
    let package = folder.path().join("count-them");
    assert_eq!(fs::read_to_string(package.join(".gitignore")).unwrap(), "/target\n");
    let profile = release_profile();
    let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
    fs::write(package.join("Cargo.toml"), format!("{manifest}\n{profile}\n")).unwrap();
    fs::copy(Path::new(ROOT).join("Cargo.lock"), package.join("Cargo.lock")).unwrap();

    // Of an earlier run.
    let _absent = fs::remove_dir_all(target().join("strata/count-them"));
    let (status, _, told) = strata(&package, &["show"]);
    assert!(status == Some(2) && told.contains("`cargo strata calibrate` writes it"), "{told}");

    let calibrate = ["calibrate", "--budget", "3s", "--add", "src"];
    fs::write(package.join("src/models.rs"), "pub enum Mine {}\n").unwrap();
    let (status, _, told) = strata(&package, &calibrate);
    assert!(status == Some(2) && told.contains("--to models"), "{told}");
    fs::remove_file(package.join("src/models.rs")).unwrap();
    let (status, out, told) = strata(&package, &calibrate);
    assert_eq!(status, Some(0), "{out}\n{told}");
    // What choices lose comes first, and a fit of the same samples keeps it.
    let lines: Vec<&str> = out.lines().map(str::trim_start).collect();
    assert!(
        lines[0].starts_with("distinct on 1 node, this machine") && lines[1].starts_with("choices lose "),
        "{out}"
    );
    assert!(lines.iter().any(|line| line.starts_with("by n ")) && out.contains("3 models: "), "{out}");
    assert!(
        told.contains("wrote src/models.rs") && !told.contains("cp ") && told.contains("next: see it"),
        "{told}"
    );
    let (status, out, _) = strata(&package, &["show"]);
    assert!(
        status == Some(0) && ["Pairs", "Sorted", "Marked"].iter().all(|model| out.contains(model)),
        "{out}"
    );
    let path = std::env::join_paths(
        std::iter::once(Path::new(env!("CARGO_BIN_EXE_cargo-strata")).parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let bench = Command::new(env!("CARGO"))
        .args(["bench", "--quiet", "--bench", "calibrate", "--", "--help"])
        .current_dir(&package)
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_NET_OFFLINE", "true")
        .env("PATH", path.unwrap())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&bench.stdout).into_owned();
    assert!(bench.status.success() && told.contains("Usage: cargo strata calibrate"), "{bench:?}");
    let made = target().join("strata/count-them");
    let fitted = folder.path().join("fitted");
    let of = |path: &Path| {
        let text = fs::read_to_string(path.join("models.toml")).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("regret") || line.starts_with("incumbent"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let samples = made.join("samples.txt").display().to_string();
    let out = fitted.display().to_string();
    let specc = env!("CARGO_BIN_EXE_specc");
    let (status, _, told) = run(&package, specc, &["fit", &samples, "--spec", "distinct.spec", "-o", &out]);
    assert_eq!(status, Some(0), "{told}");
    assert!(!of(&made).is_empty() && of(&made) == of(&fitted), "{:?} {:?}", of(&made), of(&fitted));
    let (status, out, told) = strata(&package.join("src"), &["show"]);
    assert!(status == Some(0) && out.contains("distinct"), "{out}\n{told}");
    let (status, out, _) = strata(&package, &["report"]);
    let page = Path::new(out.trim());
    assert!(status == Some(0) && page.is_file(), "{out}");

    // What its library says comes next.
    // A committed file of another machine gets the models of this one, too.
    let models = package.join("src/models.rs");
    let text = fs::read_to_string(&models).unwrap();
    assert_eq!(text, fs::read_to_string(page.with_file_name("models.rs")).unwrap());
    let elsewhere: String = text
        .split_inclusive('\n')
        .map(|line| {
            if line.contains(" cpu=") {
                line.replacen("nodes=1 cores=", "nodes=1 cores=9", 1)
            } else {
                line.to_owned()
            }
        })
        .collect();
    assert_ne!(elsewhere, text);
    fs::write(&models, &elsewhere).unwrap();
    let (status, _, told) = strata(&package, &calibrate);
    assert!(status == Some(0) && told.contains("which has those of 2 platforms"), "{told}");
    let both = fs::read_to_string(&models).unwrap();
    assert_eq!(both.matches("pub static DISTINCT: Table").count(), 2);
    let library = fs::read_to_string(package.join("src/lib.rs")).unwrap();
    let (before, hidden) = library.split_once("//\n// mod models;").unwrap();
    let (hidden, tests) = hidden.split_once("\n\n").unwrap();
    let shown: String = hidden
        .lines()
        .map(|line| line.strip_prefix("// ").unwrap_or(line))
        .fold("mod models;\n".to_owned(), |text, line| text + line + "\n");
    let check = "#[test]\nfn it_chooses() { assert_eq!(distinct(&numbers(100, 1)), sorted(&numbers(100, 1)));\n    \
         let why = Distinct::explain(100); assert_eq!(why.choice.note, None, \"{why}\"); }\n";
    fs::write(package.join("src/lib.rs"), format!("{before}\n{shown}\n{check}\n{tests}")).unwrap();
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let (status, out, told) = run(&package, &cargo, &["test", "--lib"]);
    assert!(status == Some(0) && out.contains("2 passed"), "{out}\n{told}");
}
