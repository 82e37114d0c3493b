//! What is wrong with pins and files of models is told alike by all libraries, with the place and
//! the way out. Settings are read once a process, so each case is a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use specc::fitting::{Overrides, fit};
use specc::lang::load_paths;
use strata_copy::{Strided, pack};
use strata_matmul::Plan;
use strata_model::Samples;
use strata_runtime::prelude::*;
use strata_runtime::trees::Streams;
use strata_stencil::Grid;

/// A library, or a choice that cannot fail.
struct Library {
    /// As pins and model sets name it; several where one call chooses of several.
    name: &'static str,
    /// What a pin names: copies are one choice, by several libraries.
    pin: &'static str,
    /// The folder of its samples, in the root of the repository, with the name of a candidate.
    samples: (&'static str, &'static str),
    choose: Choose,
}

/// Where a library chooses.
enum Choose {
    /// On so many nodes, where a choice can end in an error.
    OnNodes(usize, fn(&mut Node) -> Result<(), Error>),
    /// On the node where its models were measured; it reports an error once and goes on.
    Alone(fn() -> Result<(), Error>),
}

use Choose::{Alone, OnNodes};

const LIBRARIES: [Library; 6] = [
    Library {
        name: "sort",
        pin: "sort",
        samples: ("models/xeon-2core-threads/sort", "sample"),
        choose: OnNodes(4, |node| {
            let mut keys: Vec<u64> = (0..1000).map(|i| i * 7919 % 1009).collect();
            strata_sort::sort(node, &mut keys).map(drop).map_err(Error::program)
        }),
    },
    Library {
        name: "stencil",
        pin: "stencil",
        samples: ("models/epyc-2core-threads/stencil", "columns"),
        choose: OnNodes(4, |node| Grid::<f64>::new(40, 30).solve(node).map(drop).map_err(Error::program)),
    },
    Library {
        name: "broadcasts",
        pin: "broadcasts",
        samples: ("models/xeon-2core-threads2/collectives", "trees"),
        choose: OnNodes(2, |node| {
            Streams::choose(node, 1)?.broadcast(node, 0, &mut [1_u64]);
            Ok(())
        }),
    },
    Library {
        name: "product",
        pin: "product",
        samples: ("models/xeon-2core-threads2/matmul", "panels"),
        choose: OnNodes(2, |node| Plan::choose(node, 600).map(drop).map_err(Error::program)),
    },
    Library {
        name: "local_sort",
        pin: "local_sort",
        samples: ("models/xeon-2core-threads1/sort/local", "leading"),
        choose: Alone(|| {
            let mut keys: Vec<u64> = (0..1000).map(|i| i * 7919 % 1009).collect();
            strata_sort::local::sort(&mut keys);
            assert!(keys.is_sorted());
            Ok(())
        }),
    },
    Library {
        name: "pack_hot",
        pin: "copy_strided",
        samples: ("models/epyc-2core-threads1/copy/strided", "moves"),
        choose: Alone(|| {
            let (from, mut to) = ([7_u8; 4000], [0_u8; 400]);
            pack(&mut to, &from, Strided { block: 40, stride: 400, count: 10 })?;
            assert_eq!(to, [7; 400]);
            Ok(())
        }),
    },
];

/// The part of the test that runs as a process of its own.
#[test]
#[ignore = "a part of the other test"]
fn child() {
    let Ok(name) = std::env::var("STRATA_CHILD") else { return };
    let library = LIBRARIES.iter().find(|library| library.name == name).unwrap();
    let chosen = match library.choose {
        OnNodes(nodes, program) => Machine::threads(nodes).and_then(|all| all.run(program)).map(drop),
        Alone(program) => {
            strata_model::find_installed();
            program()
        }
    };
    match chosen {
        Ok(()) => println!("chosen"),
        Err(error) => println!("refused: {error}"),
    }
}

/// What a library says with these settings, on both streams.
fn said(library: &Library, folder: &Path, settings: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "bad_input::child", "--ignored", "--nocapture"])
        .env("STRATA_CHILD", library.name);
    for name in ["STRATA_ON", "STRATA_PIN", "STRATA_MODELS", "STRATA_EXPLAIN"] {
        command.env_remove(name);
    }
    // Nothing that the user has installed.
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    let output = command.envs(settings.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", library.name);
    text.into_owned()
}

/// The model set of this version of the library on that machine. Nothing is fitted: its candidates
/// are unknown.
fn models(library: &Library) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join(library.samples.0).join("samples.txt")).unwrap();
    let header = &text[..text.find("\nmodel ").unwrap() + 1];
    let samples = Samples::read(header.as_bytes(), library.samples.0).unwrap();
    let spec = load_paths(&[root.join(&samples.spec.as_ref().unwrap().path)]).unwrap();
    fit(&samples, String::new(), Some(&spec), &Overrides::default()).set.to_text()
}

#[test]
fn every_library_tells_what_is_wrong_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    for library in &LIBRARIES {
        let Library { name, pin, samples: (_, candidate), .. } = *library;
        let result = if matches!(library.choose, OnNodes(..)) { "refused: " } else { "chosen" };
        let write = |text: &str| -> PathBuf {
            let path = folder.path().join(format!("{name}.toml"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let contains = |text: &str, words: &[&str]| {
            for word in words {
                assert!(text.contains(word), "{name}: no `{word}` in:\n{text}");
            }
        };

        // A pin that names nothing, or nearly something.
        let text = said(library, folder.path(), &[("STRATA_PIN", &format!("{pin}={candidate}s"))]);
        contains(&text, &[result, &format!("`{pin}={candidate}s`"), &format!("did you mean `{candidate}`?")]);

        // A table of another version of the spec.
        let renamed =
            models(library).replace(&format!("name = \"{candidate}\""), "name = \"of_another_version\"");
        let path = write(&renamed);
        let text = said(library, folder.path(), &[("STRATA_MODELS", path.to_str().unwrap())]);
        let file = path.display().to_string();
        contains(
            &text,
            &[result, &file, "`of_another_version` is not one of this program", "specc calibrate"],
        );

        // A file of another machine.
        let at = models(library).find("cpu = ").or(models(library).find("cpu=")).unwrap();
        let there = models(library);
        let (before, after) = there.split_at(at);
        let elsewhere =
            format!("{before}{}", after.replacen("EPYC", "Abacus", 1).replacen("Xeon", "Abacus", 1));
        let path = write(&elsewhere);
        let text = said(library, folder.path(), &[("STRATA_MODELS", path.to_str().unwrap())]);
        contains(&text, &[result, &file, "the processor differs", "Abacus", "specc calibrate"]);

        // No models of this machine or transport: what ranks is told where it is asked.
        let text = said(library, folder.path(), &[("STRATA_EXPLAIN", "1")]);
        contains(&text, &["chosen", "by the models that are compiled in"]);
    }
}
