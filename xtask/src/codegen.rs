//! `cargo xtask codegen`: sources and pictures that are generated from committed samples, so that
//! they can be checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::pictures::{PICTURES, picture};
use crate::steps::BUILT;

/// Samples of a reference platform, the spec they were taken for, and what is made from them.
struct Generated {
    spec: &'static str,
    folder: &'static str,
    /// Where a crate keeps the models that it is built with, as Rust or as TOML, if one does; model
    /// sets of several platforms are one file of Rust, in this order.
    source: Option<&'static str>,
}

const GENERATED: &[Generated] = &[
    Generated {
        spec: "specs/sort",
        folder: "models/epyc-2core-threads/sort",
        source: Some("crates/sort/src/models.rs"),
    },
    Generated {
        spec: "specs/sort",
        folder: "models/epyc-2core-mpi/sort",
        source: Some("crates/sort/src/models.rs"),
    },
    Generated {
        spec: "specs/stencil",
        folder: "models/epyc-2core-threads/stencil",
        source: Some("crates/stencil/src/models.rs"),
    },
    Generated {
        spec: "specs/stencil/exchange",
        folder: "models/epyc-2core-threads/stencil/exchange",
        source: Some("crates/stencil/src/exchange_models.rs"),
    },
    Generated {
        spec: "specs/stencil",
        folder: "models/epyc-2core-mpi/stencil",
        source: Some("crates/stencil/src/models.rs"),
    },
    Generated {
        spec: "specs/stencil/exchange",
        folder: "models/epyc-2core-mpi/stencil/exchange",
        source: Some("crates/stencil/src/exchange_models.rs"),
    },
    Generated {
        spec: "specs/tcs",
        folder: "models/epyc-2core-threads/tcs",
        source: Some("crates/tcs/src/patterns/models.rs"),
    },
    Generated { spec: "specs/tcs", folder: "models/sim-iwarp-64/tcs", source: None },
    Generated {
        spec: "specs/copy",
        folder: "models/epyc-2core-threads1/copy",
        source: Some("crates/copy/src/models.rs"),
    },
    Generated {
        spec: "specs/copy/exchange",
        folder: "models/epyc-2core-threads2/copy/exchange",
        source: Some("crates/copy/src/exchange_models.rs"),
    },
    Generated {
        spec: "specs/copy/strided",
        folder: "models/epyc-2core-threads1/copy/strided",
        source: Some("crates/copy/src/strided_models.rs"),
    },
    Generated {
        spec: "specs/sort/local",
        folder: "models/xeon-2core-threads1/sort/local",
        source: Some("crates/sort/src/local/models.rs"),
    },
    Generated {
        spec: "specs/sort/rdst",
        folder: "models/xeon-2core-threads1/sort/rdst",
        source: Some("crates/sort/src/local/tuner/models.rs"),
    },
    Generated {
        spec: "specs/stencil/simulated",
        folder: "models/sim-alewife-16/stencil/simulated",
        source: None,
    },
    Generated { spec: "specs/sort/simulated", folder: "models/sim-alewife-16/sort/simulated", source: None },
    Generated {
        spec: "examples/own-library/matmul.spec",
        folder: "examples/own-library/models",
        source: Some("examples/own-library/src/multiply/models.rs"),
    },
    Generated {
        spec: "examples/patterns/patterns.spec",
        folder: "examples/patterns/models",
        source: Some("examples/patterns/src/models.rs"),
    },
    Generated { spec: "specs/strata", folder: "models/epyc-2core-threads/strata", source: None },
    Generated { spec: "specs/strata", folder: "models/epyc-2core-mpi/strata", source: None },
    Generated { spec: "specs/global", folder: "models/epyc-2core-threads2/global", source: None },
    Generated { spec: "specs/global", folder: "models/epyc-2core-mpi/global", source: None },
    Generated { spec: "specs/global", folder: "models/sim-cm5-4/global", source: None },
    Generated { spec: "specs/global", folder: "models/sim-paragon-4/global", source: None },
    Generated {
        spec: "specs/global/stores",
        folder: "models/sim-paragon-8/global/stores",
        source: Some("crates/global/src/stores_models.rs"),
    },
    Generated {
        spec: "specs/global/stores",
        folder: "models/sim-cm5-8/global/stores",
        source: Some("crates/global/src/stores_models.rs"),
    },
    Generated {
        spec: "specs/global/stores",
        folder: "models/epyc-2core-mpi/global/stores",
        source: Some("crates/global/src/stores_models.rs"),
    },
    Generated {
        spec: "specs/global/bulk",
        folder: "models/epyc-2core-mpi/global/bulk",
        source: Some("crates/global/src/bulk_models.rs"),
    },
    Generated {
        spec: "specs/matmul",
        folder: "models/xeon-2core-threads2/matmul",
        source: Some("examples/matmul/src/models.rs"),
    },
    Generated {
        spec: "specs/collectives",
        folder: "models/sim-paragon-16/collectives",
        source: Some("crates/runtime/src/trees/models.rs"),
    },
    Generated {
        spec: "specs/collectives",
        folder: "models/sim-cm5-16/collectives",
        source: Some("crates/runtime/src/trees/models.rs"),
    },
    Generated {
        spec: "specs/collectives",
        folder: "models/xeon-2core-mpi/collectives",
        source: Some("crates/runtime/src/trees/models.rs"),
    },
    Generated {
        spec: "specs/collectives",
        folder: "models/xeon-2core-threads2/collectives",
        source: Some("crates/runtime/src/trees/models.rs"),
    },
    Generated {
        spec: "specs/kernels",
        folder: "models/epyc-2core-threads1/kernels",
        source: Some("crates/runtime/src/transport/sim/kernels.toml"),
    },
];

/// Fits the committed samples again and writes the results, or with `check` compares them.
///
/// # Errors
/// A file that is out of date (with the command that repairs it), or a failure of `specc` or the
/// disk.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let specc = Specc::build()?;
    let made = |item: &Generated, name: &str| format!("target/codegen/{}/{name}", item.folder);
    on_all_cores(GENERATED, &|item| {
        let scratch = made(item, "");
        fs::create_dir_all(&scratch).map_err(|e| format!("{scratch}: {e}"))?;
        let samples = format!("{}/samples.txt", item.folder);
        specc.run(&["fit", &samples, "--spec", item.spec, "-o", &scratch])
    })?;
    let mut stale = Vec::new();
    for item in GENERATED {
        let text = read(&made(item, "models.toml"))?;
        stale.extend(renew(&format!("{}/models.toml", item.folder), &text, check)?);
    }
    let sources: BTreeSet<&str> = GENERATED.iter().filter_map(|item| item.source).collect();
    for source in sources {
        let of_source = || GENERATED.iter().filter(|item| item.source == Some(source));
        let sets: Vec<String> = of_source().map(|item| made(item, "models.toml")).collect();
        let fresh = match (&sets[..], of_source().next()) {
            ([_], Some(item)) if source.ends_with(".rs") => read(&made(item, "models.rs"))?,
            ([set], _) => read(set)?,
            (sets, _) => {
                let fresh = "target/codegen/models.rs";
                let sets = sets.iter().map(String::as_str);
                specc.run(
                    &["export", "--to", "models", "-o", fresh].into_iter().chain(sets).collect::<Vec<_>>(),
                )?;
                read(fresh)?
            }
        };
        stale.extend(renew(source, &fresh, check)?);
    }
    for (folder, title, kept) in PICTURES {
        let report = format!("target/codegen/{folder}/report.html");
        let html = fs::read_to_string(&report).map_err(|e| format!("{report}: {e}"))?;
        let picture = picture(&html, title).ok_or_else(|| format!("{report} has no figure `{title}`"))?;
        stale.extend(renew(kept, picture.as_bytes(), check)?);
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!("out of date: {}; run `cargo xtask codegen`", stale.join(", ")))
    }
}

/// Calls `work` with each item, so many at once as there are cores; the first error.
fn on_all_cores<T: Sync>(
    items: &[T],
    work: &(dyn Fn(&T) -> Result<(), String> + Sync),
) -> Result<(), String> {
    let left = Mutex::new(items.iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let one_after_the_other = || -> Result<(), String> {
        while let Some(item) = next() {
            work(item)?;
        }
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(one_after_the_other)).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
        ended.collect()
    })
}

/// The program, built as the tests build it.
struct Specc(PathBuf);

impl Specc {
    fn build() -> Result<Self, String> {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--bin", "specc"])
            .args(BUILT)
            .status()
            .map_err(|e| format!("cannot start cargo: {e}"))?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        let program = target.join("debug").join("specc");
        if status.success() { Ok(Self(program)) } else { Err(format!("cargo build ended with {status}")) }
    }

    fn run(&self, arguments: &[&str]) -> Result<(), String> {
        let status = Command::new(&self.0)
            .args(arguments)
            .stdout(std::process::Stdio::null())
            .status()
            .map_err(|e| format!("cannot start {}: {e}", self.0.display()))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("specc {} ended with {status}", arguments.join(" ")))
        }
    }
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{path}: {e}"))
}

/// Writes a file that is to have this text; with `check` it only names it if it has another.
fn renew(kept: &str, text: &[u8], check: bool) -> Result<Option<String>, String> {
    if fs::read(kept).is_ok_and(|old| old == text) {
        return Ok(None);
    }
    if check {
        return Ok(Some(kept.to_owned()));
    }
    write(Path::new(kept), text)?;
    println!("wrote {kept}");
    Ok(None)
}

fn write(path: &Path, text: &[u8]) -> Result<(), String> {
    let temporary = path.with_extension("new");
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|e| format!("{}: {e}", path.display()))
}
