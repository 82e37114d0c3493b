//! MPI programs on platforms of SimGrid: a spec, and a package's own program.

use std::fs;
use std::path::{Path, PathBuf};

use strata_model::{ModelSet, Samples};

use super::{ROOT, run};

/// A fat tree of 16 hosts: `radical` their numbers, `bandwidth` that of links.
fn fat_tree(radical: &str, bandwidth: &str) -> String {
    format!(
        r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="tree" prefix="n" suffix="" radical="{radical}" speed="1Gf" bw="{bandwidth}" lat="1us"
         loopback_bw="6GBps" loopback_lat="0.3us" topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,1"/>
</platform>
"#
    )
}

/// A message around all nodes in turn, and what every node knows of the machine.
const SPEC: &str = include_str!("ring.spec");

/// A program that knows neither this project nor SimGrid: its greeting, its rank's part of a sum, a
/// status of its own.
const PROGRAM: &str = r#"use mpi::traits::*;
static CALLS: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
fn main() -> std::process::ExitCode {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    CALLS.fetch_add(1 + world.rank(), std::sync::atomic::Ordering::Relaxed);
    let (mine, mut sum) = (CALLS.load(std::sync::atomic::Ordering::Relaxed), 0);
    let before = mpi::time();
    world.all_reduce_into(&mine, &mut sum, mpi::collective::SystemOperation::sum());
    let took = mpi::time() - before;
    assert!(took < 1e-3 && (took > 1e-6 || world.size() == 1), "{took}");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if world.rank() == 0 {
        println!("{} ranks, sum {sum}, arguments {arguments:?}", world.size());
    }
    if arguments.iter().any(|word| word == "panic") && world.rank() == 1 {
        panic!("as asked for");
    }
    std::process::ExitCode::from(if arguments.iter().any(|word| word == "fail") { 7 } else { 0 })
}
"#;

/// As `comet` writes it of a measured network: o_s 0.3 µs, L 1 µs, o_r 0.5 µs, 2 ns a byte.
const SETTINGS: &str = include_str!("settings.xml");

/// Half of a round trip of messages of 8 and 10,000 bytes.
const PING: &str = r#"use mpi::traits::*;
fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    for bytes in [8usize, 10_000] {
        let mut data = vec![7u8; bytes];
        let other = world.process_at_rank(1 - world.rank());
        let begin = mpi::time();
        for _ in 0..10 {
            if world.rank() == 0 {
                other.send(&data[..]);
            }
            other.receive_into(&mut data[..]);
            if world.rank() == 1 {
                other.send(&data[..]);
            }
        }
        if world.rank() == 0 {
            println!("{}", (mpi::time() - begin) / 20.0);
        }
    }
}
"#;

fn specc(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    run(folder, env!("CARGO_BIN_EXE_specc"), arguments)
}

/// A folder in this package, whose code specs may call.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _absent = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn is_installed() -> bool {
    let installed = specc::drive::smpi::is_installed();
    if !installed {
        eprintln!("skipped: SimGrid is not installed; `cargo xtask setup --smpi` does it");
    }
    installed
}

#[test]
fn a_spec_is_measured_in_simulated_time_on_the_hosts_of_a_platform() {
    if !is_installed() {
        return;
    }
    let folder = folder("smpi");
    fs::write(folder.join("tree.xml"), fat_tree("0-15", "1GBps")).unwrap();
    fs::write(folder.join("ring.spec"), SPEC).unwrap();
    let calibrate = |output: &str| {
        let arguments = ["calibrate", "ring.spec", "--on", "smpi:tree.xml", "--nodes", "1x4,2x2,4x1,8"];
        let (status, _, told) =
            specc(&folder, &[&arguments[..], &["--budget", "60s", "-o", output]].concat());
        assert_eq!(status, Some(0), "{told}");
        let samples = fs::read_to_string(folder.join(output).join("samples.txt")).unwrap();
        Samples::parse(&samples, "samples.txt").unwrap()
    };
    let samples = calibrate("a");
    let platform = samples.platform.clone().unwrap();
    assert_eq!(platform.transport, "smpi:tree");
    assert!(platform.cpu.starts_with("SimGrid platform "), "{platform}");
    // Time is simulated, so that it is the same again.
    let times = |samples: &Samples| -> Vec<f64> {
        samples.models.iter().flat_map(|model| model.rows.iter().map(|row| row.seconds)).collect()
    };
    let again = calibrate("b");
    let (first, second) = (times(&samples), times(&again));
    assert_eq!(first.len(), second.len());
    for (first, second) in first.iter().zip(&second) {
        assert!((first - second).abs() <= 1e-6 * first, "{first} {second}");
    }
    let models = fs::read_to_string(folder.join("a/models.toml")).unwrap();
    let set = ModelSet::read(&models).unwrap();
    assert_eq!(set.models.len(), 1);
}

#[test]
fn a_package_runs_its_own_program_of_mpi() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let package = &folder.path().join("a ring");
    fs::create_dir(package).unwrap();
    fs::write(package.join("tree.xml"), fat_tree("0-15", "1GBps")).unwrap();
    fs::create_dir(package.join("src")).unwrap();
    fs::write(package.join("src/main.rs"), PROGRAM).unwrap();
    let workspace = fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap();
    let profile = workspace.split("\n\n").find(|part| part.starts_with("[profile.release]")).unwrap();
    let mpi = workspace.lines().find(|line| line.starts_with("mpi = ")).unwrap();
    fs::write(
        package.join("Cargo.toml"),
        format!(
            "[package]\nname = \"ring\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{mpi}\n\n[workspace]\n\n{profile}\n"
        ),
    )
    .unwrap();
    fs::copy(Path::new(ROOT).join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let run = |nodes: &str, rest: &[&str]| {
        specc(
            package,
            &[&["platform", "run", "--on", "smpi:tree.xml", "--nodes", nodes, "--"], rest].concat(),
        )
    };
    for (nodes, sum) in [("1", 1), ("5", 15), ("4x2", 36), ("16", 136)] {
        let (status, out, told) = run(nodes, &["--one", "two words"]);
        assert_eq!(status, Some(0), "{told}");
        let ranks = if nodes == "4x2" { "8" } else { nodes };
        assert_eq!(
            out,
            format!("{ranks} ranks, sum {sum}, arguments [\"--one\", \"two words\"]\n"),
            "{told}"
        );
    }
    fs::create_dir(package.join("src/bin")).unwrap();
    fs::write(package.join("src/bin/ping.rs"), PING).unwrap();
    fs::write(package.join("here.xml"), SETTINGS).unwrap();
    let (status, out, told) =
        specc(package, &["platform", "run", "--on", "smpi:here.xml", "--nodes", "2", "--bin", "ping"]);
    assert_eq!(status, Some(0), "{told}");
    let times: Vec<f64> = out.lines().map(|line| line.parse().unwrap()).collect();
    for (found, right) in times.iter().zip([1.8e-6 + 8.0 * 2e-9, 1.8e-6 + 10_000.0 * 2e-9]) {
        assert!((found / right - 1.0).abs() < 0.05, "{times:?}, {right}");
    }
    let (status, _, told) = run("2", &[]);
    assert!(status == Some(2) && told.contains("say `--bin NAME` with"), "{told}");
    fs::remove_file(package.join("src/bin/ping.rs")).unwrap();
    let (status, out, _) = run("2", &["--help", "--cfg=a:b"]);
    assert!(status == Some(0) && out.contains("[\"--help\", \"--cfg=a:b\"]"), "{out}");
    fs::write(package.join("src/main.rs"), PROGRAM.replace("ranks, sum", "ranks add up to")).unwrap();
    assert_eq!(run("2", &[]).1, "2 ranks add up to 3, arguments []\n");
    let (status, _, told) = run("2", &["fail"]);
    assert!(status == Some(7) && told.contains("the program ended with"), "{status:?} {told}");
    let (status, _, told) = run("2", &["panic"]);
    assert!(status == Some(101) && told.contains("as asked for"), "{status:?} {told}");
}

#[test]
fn what_cannot_run_is_refused_before_anything_is_built() {
    let folder = folder("smpi-refused");
    fs::write(folder.join("ring.spec"), SPEC).unwrap();
    let refused = |on: &str, nodes: &str| {
        let (status, _, told) =
            specc(&folder, &["calibrate", "ring.spec", "--on", on, "--nodes", nodes, "-o", "out"]);
        assert!(status == Some(2) || status == Some(3), "{status:?} {told}");
        assert!(!folder.join("out/samples.txt").exists());
        told.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
    };
    assert!(refused("smpi:none.xml", "2").contains("smpi:none.xml: No such file"));
    if !is_installed() {
        return;
    }
    fs::write(folder.join("tree.xml"), fat_tree("0-15", "1GBps")).unwrap();
    fs::write(folder.join("bad.xml"), fat_tree("0-15", "1Blub")).unwrap();
    fs::write(folder.join("few.xml"), fat_tree("0-7", "1GBps")).unwrap();
    let told = refused("smpi:bad.xml", "2");
    assert!(told.contains("SimGrid refuses it") && told.contains("unit"), "{told}");
    let told = refused("smpi:few.xml", "2");
    assert!(told.contains("SimGrid refuses it"), "{told}");
    let told = refused("smpi:tree.xml", "17");
    assert!(told.contains("`--nodes 16` takes one node on each, `--nodes 16x2` more"), "{told}");
}
