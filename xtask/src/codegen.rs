//! `cargo xtask codegen`: sources and pictures that are generated from committed samples, so that
//! they can be checked.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::pictures::{PICTURES, picture};

/// Samples of a reference platform, the spec they were taken for, and what is made from them.
struct Generated {
    spec: &'static str,
    folder: &'static str,
    /// Where a crate keeps the models that it is built with, as Rust or as TOML, if one does.
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
        source: Some("crates/sort/src/on_mpi.rs"),
    },
    Generated {
        spec: "specs/stencil",
        folder: "models/epyc-2core-threads/stencil",
        source: Some("crates/stencil/src/models.rs"),
    },
    Generated {
        spec: "specs/stencil-exchange",
        folder: "models/epyc-2core-threads/stencil-exchange",
        source: Some("crates/stencil/src/exchange_models.rs"),
    },
    Generated {
        spec: "specs/stencil",
        folder: "models/epyc-2core-mpi/stencil",
        source: Some("crates/stencil/src/on_mpi.rs"),
    },
    Generated {
        spec: "specs/stencil-exchange",
        folder: "models/epyc-2core-mpi/stencil-exchange",
        source: Some("crates/stencil/src/exchange_on_mpi.rs"),
    },
    Generated {
        spec: "specs/stencil-requests",
        folder: "models/epyc-2core-mpi/stencil-requests",
        source: Some("crates/stencil/src/requests_models.rs"),
    },
    Generated {
        spec: "specs/tcs",
        folder: "models/epyc-2core-threads/tcs",
        source: Some("crates/tcs/src/patterns/models.rs"),
    },
    Generated {
        spec: "specs/tcs",
        folder: "models/sim-iwarp-64/tcs",
        source: Some("crates/tcs/src/patterns/on_iwarp.rs"),
    },
    Generated {
        spec: "specs/copy",
        folder: "models/epyc-2core-threads1/copy",
        source: Some("crates/copy/src/models.rs"),
    },
    Generated {
        spec: "specs/copy-exchange",
        folder: "models/epyc-2core-threads2/copy-exchange",
        source: Some("crates/copy/src/exchange_models.rs"),
    },
    Generated {
        spec: "specs/copy-strided",
        folder: "models/epyc-2core-threads1/copy-strided",
        source: Some("crates/copy/src/strided_models.rs"),
    },
    Generated {
        spec: "specs/sort-local",
        folder: "models/xeon-2core-threads1/sort-local",
        source: Some("crates/sort/src/local/models.rs"),
    },
    Generated {
        spec: "specs/sort-rdst",
        folder: "models/xeon-2core-threads1/sort-rdst",
        source: Some("crates/sort/src/local/tuner/models.rs"),
    },
    Generated { spec: "specs/stencil-simulated", folder: "models/sim-alewife-16/stencil", source: None },
    Generated { spec: "specs/sort-simulated", folder: "models/sim-alewife-16/sort", source: None },
    Generated {
        spec: "examples/own-library/matmul.spec",
        folder: "examples/own-library/models",
        source: Some("examples/own-library/src/multiply/models.rs"),
    },
    Generated { spec: "specs/strata", folder: "models/epyc-2core-threads/strata", source: None },
    Generated { spec: "specs/strata", folder: "models/epyc-2core-mpi/strata", source: None },
    Generated { spec: "specs/global", folder: "models/epyc-2core-threads2/global", source: None },
    Generated { spec: "specs/global", folder: "models/epyc-2core-mpi/global", source: None },
    Generated { spec: "specs/global", folder: "models/sim-cm5-4/global", source: None },
    Generated { spec: "specs/global", folder: "models/sim-paragon-4/global", source: None },
    Generated {
        spec: "specs/global-stores",
        folder: "models/sim-paragon-8/global-stores",
        source: Some("crates/global/src/on_paragon.rs"),
    },
    Generated {
        spec: "specs/global-stores",
        folder: "models/sim-cm5-8/global-stores",
        source: Some("crates/global/src/on_cm5.rs"),
    },
    Generated {
        spec: "specs/global-stores",
        folder: "models/epyc-2core-mpi/global-stores",
        source: Some("crates/global/src/on_mpi.rs"),
    },
    Generated {
        spec: "specs/global-bulk",
        folder: "models/epyc-2core-mpi/global-bulk",
        source: Some("crates/global/src/on_mpi_bulk.rs"),
    },
    Generated {
        spec: "specs/matmul",
        folder: "models/xeon-2core-threads2/matmul",
        source: Some("crates/matmul/src/models.rs"),
    },
    Generated {
        spec: "specs/collectives",
        folder: "models/sim-paragon-16/collectives",
        source: Some("crates/runtime/src/trees/on_paragon.rs"),
    },
    Generated {
        spec: "specs/collectives",
        folder: "models/sim-cm5-16/collectives",
        source: Some("crates/runtime/src/trees/on_cm5.rs"),
    },
    Generated {
        spec: "specs/collectives",
        folder: "models/xeon-2core-mpi/collectives",
        source: Some("crates/runtime/src/trees/on_mpi.rs"),
    },
    Generated {
        spec: "specs/collectives",
        folder: "models/xeon-2core-threads2/collectives",
        source: Some("crates/runtime/src/trees/on_threads.rs"),
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
    let mut stale = Vec::new();
    for item in GENERATED {
        let scratch = format!("target/codegen/{}", item.folder);
        fs::create_dir_all(&scratch).map_err(|e| format!("{scratch}: {e}"))?;
        let samples = format!("{}/samples.txt", item.folder);
        let status = Command::new(env!("CARGO"))
            .args([
                "run",
                "--quiet",
                "--package",
                "specc",
                "--",
                "fit",
                &samples,
                "--spec",
                item.spec,
                "-o",
                &scratch,
            ])
            .stdout(std::process::Stdio::null())
            .status()
            .map_err(|e| format!("cannot start cargo: {e}"))?;
        if !status.success() {
            return Err(format!("specc fit {samples} ended with {status}"));
        }
        let made = |name: &str| format!("{scratch}/{name}");
        let kept = |name: &str| format!("{}/{name}", item.folder);
        let mut pairs = vec![(made("models.toml"), kept("models.toml"))];
        if let Some(source) = item.source {
            let name = if source.ends_with(".rs") { "models.rs" } else { "models.toml" };
            pairs.push((made(name), source.to_owned()));
        }
        for (fresh, kept) in pairs {
            let text = fs::read(&fresh).map_err(|e| format!("{fresh}: {e}"))?;
            stale.extend(renew(&kept, &text, check)?);
        }
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
