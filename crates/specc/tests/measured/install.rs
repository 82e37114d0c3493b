//! `specc calibrate --install`: from a spec to a program that chooses by what was installed.

use std::path::Path;
use std::process::Command;

use strata_runtime::Machine;

const NODES: usize = 2;

fn run(command: &mut Command, cache: &Path) -> (Option<i32>, String) {
    let clean = command
        .env_remove("STRATA_MODELS")
        .env_remove("STRATA_PIN")
        .env("XDG_CACHE_HOME", cache)
        .env("COLUMNS", "1000");
    let output = clean.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn calibrate(spec: &str, more: &[&str], cache: &Path) -> (Option<i32>, String) {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run").join(spec);
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("install");
    let mut command = Command::new(env!("CARGO_BIN_EXE_specc"));
    command.arg("calibrate").arg(spec).args(["--install", "--budget", "1s", "-o"]).arg(output).args(more);
    run(&mut command, cache)
}

/// What the test below starts as a program of its own: it reads its environment.
#[test]
#[ignore = "a part of another"]
fn program() {
    let sorted = Machine::threads(NODES).unwrap().run(|node| {
        let mut keys = vec![3_u64, 1, 2];
        strata_sort::sort(node, &mut keys)?;
        Ok(keys)
    });
    assert_eq!(sorted.unwrap(), [[1, 1, 2], [2, 3, 3]]);
}

/// What the program above says of its choice.
fn explained(cache: &tempfile::TempDir) -> String {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "install::program", "--ignored", "--nocapture"]).env("STRATA_EXPLAIN", "1");
    let (status, told) = run(&mut program, cache.path());
    assert_eq!(status, Some(0), "{told}");
    told
}

#[test]
fn programs_choose_by_installed_models_and_say_so() {
    let cache = tempfile::tempdir().unwrap();
    let first = explained(&cache);
    assert!(first.contains("by the models that are compiled in"), "{first}");
    let (status, told) = calibrate("install.spec", &["--nodes", "1,2"], cache.path());
    assert_eq!(status, Some(0), "{told}");
    let file = told.lines().find_map(|line| line.strip_prefix("installed ")).expect(&told);
    assert!(Path::new(file).starts_with(cache.path()) && file.ends_with("/sort/1-2.toml"), "{told}");
    let explained = explained(&cache);
    // A long path stands on a line of its own.
    let words: Vec<&str> = explained.split_whitespace().collect();
    assert!(words.join(" ").contains(&format!("by the models in {file}")), "{explained}");
    let radix = explained.lines().find(|line| line.trim_start().starts_with("radix ")).expect(&explained);
    assert!(radix.contains("not taken: excluded by its model's range"), "{explained}");

    for (nodes, cell, legend) in [("1", "   gather", false), ("5", "   (gather)", true)] {
        let map = Command::new(env!("CARGO_BIN_EXE_specc"))
            .args(["show", file, "--nodes", nodes])
            .output()
            .unwrap();
        let map = String::from_utf8(map.stdout).unwrap();
        assert!(map.contains(cell) && map.contains("() outside what was") == legend, "{map}");
    }

    // A newer Strata's file, or a damaged one, stops no sort.
    std::fs::write(file, "strata-models = 2\n").unwrap();
    let explained = self::explained(&cache);
    assert!(explained.contains("by the models that are compiled in"), "{explained}");
    assert_eq!(explained.matches(&format!("strata: {file}: ")).count(), 1, "{explained}");
}

/// What this process may use is the machine of its threads: a second machine with the same home.
#[cfg(target_os = "linux")]
#[test]
fn machines_that_share_a_home_find_their_own_models() {
    let one_core = |program: &Path| {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(program);
        command
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 || !one_core(Path::new("true")).status().is_ok_and(|status| status.success()) {
        println!("skipped: there is no second core, or no `taskset` to leave it out");
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let specc = Path::new(env!("CARGO_BIN_EXE_specc"));
    let install = |command: Command, output: &str| {
        let mut command = command;
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/install.spec");
        command.arg("calibrate").arg(spec).args(["--install", "--budget", "1s", "--nodes", "1,2", "-o"]);
        let (status, told) =
            run(command.arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(output)), cache.path());
        assert_eq!(status, Some(0), "{told}");
        told.lines().find_map(|line| line.strip_prefix("installed ")).expect(&told).to_owned()
    };
    let all = install(Command::new(specc), "install-all");
    let one = install(one_core(specc), "install-one");
    assert_ne!(all, one);
    assert!(Path::new(&all).is_file(), "the other's models replaced {all}");
    let explained = |command: Command| {
        let mut program = command;
        program.args(["--exact", "install::program", "--ignored", "--nocapture"]).env("STRATA_EXPLAIN", "1");
        let (status, told) = run(&mut program, cache.path());
        assert_eq!(status, Some(0), "{told}");
        told.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let program = std::env::current_exe().unwrap();
    for (told, file) in [(explained(Command::new(&program)), &all), (explained(one_core(&program)), &one)] {
        assert!(told.contains(&format!("by the models in {file}")), "{told}");
    }
}
