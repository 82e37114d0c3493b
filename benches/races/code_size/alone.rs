//! Programs of one library alone, made in packages of their own as a user makes them: the bytes of
//! the stripped program, the time to build it, and the time of its first call.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use strata_benches::{Timings, columns};

struct Program {
    name: &'static str,
    /// The crates of the workspace that it names.
    crates: &'static [&'static str],
    /// What comes before `main`.
    uses: &'static str,
    /// Its one call, of which the first makes the first choice.
    call: &'static str,
}

const PROGRAMS: [Program; 4] = [
    Program { name: "nothing", crates: &[], uses: "", call: "std::hint::black_box(());" },
    Program {
        name: "strata-copy",
        crates: &["copy"],
        uses: "",
        call: "let (mut to, from) = (vec![0_u8; 4096], vec![1_u8; 4096]);
               strata_copy::copy(&mut to, &from);
               std::hint::black_box(to);",
    },
    Program {
        name: "strata-sort, one node",
        crates: &["sort"],
        uses: "",
        call: "let mut keys: Vec<u64> = (0..1000).map(|at| at * 7919 % 1009).collect();
               strata_sort::local::sort(&mut keys);
               std::hint::black_box(keys);",
    },
    Program {
        name: "strata-sort, two threads",
        crates: &["sort", "runtime"],
        uses: "use strata_runtime::prelude::*;",
        call: "Machine::threads(2).and_then(|machine| machine.run(|node| {
                   let mut keys: Vec<u64> = (0..1000).map(|at| at * 7919 % 1009).collect();
                   strata_sort::sort(node, &mut keys).map_err(Error::program)?;
                   Ok(keys.len())
               })).expect(\"threads\");",
    },
];

/// Starts of a program, of which the median is reported.
const STARTS: usize = 21;

/// Builds and starts the programs in `folder`; prints a table and returns its rows.
///
/// # Errors
/// A package cannot be written or built, or a program does not print what it should.
pub(crate) fn report(folder: &Path) -> Result<Vec<Value>, String> {
    let host = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    columns("program of | bytes, stripped | more | build, s | first call, µs | second, µs");
    let mut rows = Vec::new();
    let mut least = 0;
    for program in &PROGRAMS {
        let package = folder.join(program.name.replace([' ', ','], ""));
        write(&package, Path::new(host), program).map_err(|e| format!("{}: {e}", package.display()))?;
        let start = Instant::now();
        let status = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--target-dir", "target"])
            .current_dir(&package)
            .status();
        let status = status.map_err(|e| format!("cannot start cargo: {e}"))?;
        if !status.success() {
            return Err(format!("{}: cargo ended with {status}", package.display()));
        }
        let build = start.elapsed().as_secs_f64();
        let built = package.join("target/release/alone");
        let bytes = fs::metadata(&built).map_err(|e| format!("{}: {e}", built.display()))?.len();
        if program.crates.is_empty() {
            least = bytes;
        }
        let [first, second] = starts(&built)?;
        let micros = |times: &Timings| format!("{:.1}", 1e6 * times.median());
        println!(
            "| {} | {:.0} KiB | {:.0} KiB | {build:.1} | {} | {} |",
            program.name,
            bytes as f64 / 1024.0,
            bytes.saturating_sub(least) as f64 / 1024.0,
            micros(&first),
            micros(&second)
        );
        rows.push(json!({
            "program": program.name, "bytes": bytes, "build_seconds": build,
            "first_seconds": first.median(), "second_seconds": second.median(),
        }));
    }
    Ok(rows)
}

/// Writes the package of a program, with the versions of dependencies of the workspace `host`.
fn write(package: &Path, host: &Path, program: &Program) -> std::io::Result<()> {
    let Program { crates, uses, call, .. } = program;
    let need = |name: &&str| format!("strata-{name} = {{ path = {:?} }}\n", host.join("crates").join(name));
    let needs: String = crates.iter().map(need).collect();
    fs::create_dir_all(package.join("src"))?;
    fs::write(
        package.join("Cargo.toml"),
        format!(
            "[package]\nname = \"alone\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [profile.release]\nstrip = true\n\n[dependencies]\n{needs}"
        ),
    )?;
    fs::write(
        package.join("src/main.rs"),
        format!(
            "{uses}\n\nfn call() {{\n    {call}\n}}\n\nfn main() {{\n    for _ in 0..2 {{\n        \
             let start = std::time::Instant::now();\n        call();\n        \
             println!(\"{{}}\", start.elapsed().as_nanos());\n    }}\n}}\n"
        ),
    )?;
    fs::copy(host.join("Cargo.lock"), package.join("Cargo.lock")).map(drop)
}

/// Seconds of the first and of the second call of a program, each of several starts.
fn starts(program: &Path) -> Result<[Timings; 2], String> {
    let mut times: [Timings; 2] = Default::default();
    for _ in 0..STARTS {
        let output = Command::new(program).output();
        let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let printed: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
        let [first, second] = printed[..] else {
            return Err(format!("{}: it printed {text:?} instead of two times", program.display()));
        };
        times[0].push(first / 1e9);
        times[1].push(second / 1e9);
    }
    Ok(times)
}
