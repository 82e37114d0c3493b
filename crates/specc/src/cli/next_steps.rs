//! The next steps after models are written.

use std::path::{Path, PathBuf};

use strata_model::{ModelSet, kind_text, rounded};
use strata_screen::{columns_of, wrapped};

use crate::competition::Competition;

/// How programs get the models.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// They read them when they start.
    ReadAtStart,
    /// They compile them in, once they are copied.
    Copied,
    /// They compile them in from where they were added.
    Added,
}

/// The next steps with the models in `folder`, one a line, or wrapped if too wide.
pub(super) fn steps(set: &ModelSet, folder: &Path, used: Use, width: usize) -> String {
    let folder = nearest(folder);
    let models = folder.join("models.toml");
    let models = models.display();
    let mut steps = vec![("see it", format!("open {}", folder.join("report.html").display()))];
    let library = set.libraries.iter().find(|library| !library.candidates.is_empty());
    match library.and_then(|library| Competition::new(set, &library.name).ok()) {
        Some(competition) => {
            let inputs = middle(&competition);
            let name = competition.name();
            steps.push(("ask it", format!("specc choose {models} {name}{inputs}")));
            match used {
                Use::ReadAtStart => steps.push(("use it", format!("STRATA_MODELS={models} PROGRAM"))),
                Use::Copied => {
                    steps.push(("use it", format!("cp {} src/", folder.join("models.rs").display())));
                }
                Use::Added => {}
            }
        }
        None => {
            let name = set.models.first().map_or("MODEL", |model| model.name.as_str());
            steps.push(("ask it", format!("specc show {models} {name}")));
        }
    }
    let lines = steps.iter().enumerate().map(|(place, (label, command))| {
        let head = if place == 0 { "next:" } else { "" };
        let line = format!("{head:5} {label}   {command}");
        let fits = columns_of(&line) <= width;
        if fits { line } else { format!("{head:5} {label}\n{}", continued(command, width)) }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A command wrapped over several lines for a shell.
fn continued(command: &str, width: usize) -> String {
    wrapped(&format!("        {command}"), width.saturating_sub(2), "  ").replace('\n', " \\\n")
}

/// The shorter of the path and the path relative to the current folder.
fn nearest(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let relative = here.filter(|_| path.is_absolute()).and_then(|here| pathdiff::diff_paths(path, here));
    match relative {
        Some(relative) if relative.as_os_str().len() < path.as_os_str().len() => relative,
        _ => path.to_owned(),
    }
}

/// The inputs in the middle of their ranges, as arguments: ` keys=2896 width=16`.
fn middle(competition: &Competition) -> String {
    let value = |input: usize| {
        let (low, high) = competition.range(input);
        let middle = if low > 0.0 { (low * high).sqrt() } else { 0.5 * (low + high) };
        let middle = if competition.is_whole(input) { middle.round() } else { rounded(middle, 3) };
        if middle.is_finite() {
            kind_text(competition.kinds(), &competition.inputs()[input], middle)
        } else {
            "VALUE".to_owned()
        }
    };
    let names = competition.inputs().iter().enumerate();
    names.map(|(input, name)| format!(" {name}={}", value(input))).collect()
}
