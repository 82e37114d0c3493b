//! `cargo xtask package`: every crate packed, built from its package, and used from a registry as
//! somebody would who has nothing but cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `cargo package` leaves aside: nobody depends on these.
const OURS_ALONE: [&str; 8] = [
    "--exclude", "strata-benches", "--exclude", "strata-matmul", "--exclude", "strata-motion", "--exclude",
    "xtask",
];

/// Packs the libraries and programs, in their order, and builds each from its package; then
/// builds the program of `crates/strata`, installs `specc` in an empty home, makes a library and
/// calibrates it, all from a registry that holds the packages.
///
/// # Errors
/// A command that failed, or a file that cannot be written.
pub(crate) fn package() -> Result<(), String> {
    forget()?;
    let target = PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let target = target.join("packages");
    remove(&target)?;
    let package = ["package", "--workspace", "--allow-dirty", "--target-dir"];
    run(cargo().args(package).arg(&target).args(OURS_ALONE))?;
    play(&target)
}

/// Removes what cargo unpacked of our crates when they were packed before. Cargo takes it, and what
/// it built of it, for the crate of its version, though that may have changed since.
fn forget() -> Result<(), String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).unwrap_or_default();
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let named = |path: &Path, start: &str| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    for kind in ["src", "cache"] {
        // Registries without a host are those that `cargo package` makes.
        let registries = entries(&home.join("registry").join(kind)).filter(|folder| named(folder, "-"));
        for path in registries.flat_map(|folder| entries(&folder).collect::<Vec<_>>()) {
            if !named(&path, "strata-") && !named(&path, "specc-") {
                continue;
            }
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a file, or a folder and all in it, if it is there.
fn remove(path: &Path) -> Result<(), String> {
    let removed = match path {
        path if path.is_dir() => fs::remove_dir_all(path),
        path if path.exists() => fs::remove_file(path),
        _ => Ok(()),
    };
    removed.map_err(|e| format!("{}: {e}", path.display()))
}

/// The first steps of a newcomer, with a home in `target/packages/play`.
fn play(target: &Path) -> Result<(), String> {
    let folder = target.join("play");
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let home = folder.join("home");
    fs::create_dir_all(&home).map_err(|e| failed(&home, e))?;
    let [folder, home] = [folder, home].map(|path| path.canonicalize().map_err(|e| failed(&path, e)));
    let (folder, home) = (folder?, home?);

    // A folder of sources that takes the place of crates.io: what others published, and ours.
    let registry = folder.join("registry");
    run(cargo().args(["vendor", "--quiet", "--locked"]).arg(&registry).stdout(std::process::Stdio::null()))?;
    let packed = target.join("package");
    for entry in fs::read_dir(&packed).map_err(|e| failed(&packed, e))?.flatten() {
        let archive = entry.path();
        if archive.extension().is_none_or(|extension| extension != "crate") {
            continue;
        }
        run(Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(&registry))?;
        let sums = registry.join(archive.file_stem().unwrap_or_default()).join(".cargo-checksum.json");
        fs::write(&sums, "{\"files\":{},\"package\":null}\n").map_err(|e| failed(&sums, e))?;
    }
    let config = home.join("config.toml");
    let text = format!(
        "[source.crates-io]\nreplace-with = \"played\"\n[source.played]\ndirectory = {:?}\n",
        registry.display().to_string()
    );
    fs::write(&config, text).map_err(|e| failed(&config, e))?;

    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([home.join("bin")].into_iter().chain(std::env::split_paths(&path)))
        .map_err(|e| e.to_string())?;
    let newcomer = |folder: &Path| {
        let mut command = cargo();
        command.current_dir(folder).env("PATH", &path).env("CARGO_HOME", &home).env_remove("RUSTFLAGS");
        command.env_remove("CARGO_TARGET_DIR").env("CARGO_NET_OFFLINE", "true");
        command
    };
    run(newcomer(&folder).args(["install", "specc", "--debug"]))?;
    // Elsewhere: cargo makes what is new inside a workspace a member of it.
    let elsewhere = std::env::temp_dir().join(format!("strata-play-{}", std::process::id()));
    fs::create_dir_all(&elsewhere).map_err(|e| failed(&elsewhere, e))?;
    let first = elsewhere.join("first");
    let (sorted, readme) = (elsewhere.join("sorted"), Path::new("crates/strata/README.md"));
    let text = fs::read_to_string(readme).map_err(|e| failed(readme, e))?;
    let program = text.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let main = sorted.join("src/main.rs");
    let played = run(newcomer(&elsewhere).args(["new", "sorted"]))
        .and_then(|()| fs::write(&main, program.unwrap_or_default()).map_err(|e| failed(&main, e)))
        .and_then(|()| {
            let add = ["add", "strata-hpc", "--rename", "strata", "--features", "sort"];
            run(newcomer(&sorted).args(add))
        })
        .and_then(|()| run(newcomer(&sorted).arg("run")))
        .and_then(|()| run(newcomer(&elsewhere).args(["strata", "new", "first"])))
        .and_then(|()| run(newcomer(&first).args(["strata", "calibrate", "--budget", "5s"])))
        .and_then(|()| run(newcomer(&first).arg("test")));
    fs::remove_dir_all(&elsewhere).map_err(|e| failed(&elsewhere, e))?;
    played
}

fn cargo() -> Command {
    Command::new(env!("CARGO"))
}

fn run(command: &mut Command) -> Result<(), String> {
    let said = || {
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        format!("{} {}", command.get_program().to_string_lossy(), words.join(" "))
    };
    let said = said();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{said} ended with {status}")),
        Err(error) => Err(format!("cannot start {said}: {error}")),
    }
}
