//! `specc check --guidelines`: where an MPI library's own choice breaks a guideline.

use std::path::PathBuf;

use strata_model::{Samples, Sha256, count};
use strata_screen::{Failure, print, tell, width, wrapped};

use super::args::Reading;
use super::import_export;
use crate::guidelines::{self, Broken, Part};

/// Looks at samples of these files together.
pub(super) fn check(paths: &[PathBuf]) -> Result<(), Failure> {
    let mut files: Vec<Samples> = Vec::new();
    let mut all: Option<Samples> = None;
    for path in paths {
        let samples = import_export::samples(path, &Reading::default(), &mut Sha256::default())?.samples;
        // Files that are of one machine can be joined. They are looked at apart, since each is another
        // launch, also where it has no single timings that say so.
        match &mut all {
            None => all = Some(samples.clone()),
            Some(all) => all
                .join(samples.clone())
                .map_err(|why| Failure::Fault(format!("{}: {why}", path.display())))?,
        }
        files.push(samples);
    }
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(", ");
    let found = guidelines::check(&files).map_err(|why| Failure::Fault(format!("{names}: {why}")))?;
    for line in found.broken.chunk_by(is_alike).filter_map(line) {
        print(wrapped(&line, width(), "    "))?;
    }
    let collectives: Vec<&str> = found.collectives.iter().copied().collect();
    let compared = format!(
        "{}, {} of {}",
        collectives.join(", "),
        count(found.comparisons, "comparison", "comparisons"),
        count(found.launches, "launch", "launches")
    );
    if found.launches < 2 {
        tell!(
            "note: between launches times may differ by more than the intervals: `calibrate --resume` adds one"
        );
    }
    if let Some(more) = found.more {
        tell!(
            "note: a call may take longer than its replacement, of which {} too few to be sure: {} may be enough \
             (`calibrate --resume`)",
            if found.launches == 1 {
                "one launch is".to_owned()
            } else {
                format!("{} launches are", found.launches)
            },
            count(more, "more launch", "more launches")
        );
    }
    if found.broken.is_empty() {
        return print(wrapped(&format!("{compared}: no guideline is surely broken"), width(), "    "));
    }
    Err(Failure::Fault(format!(
        "{names}: guidelines are broken at {} ({compared})",
        count(found.broken.len(), "size", "sizes")
    )))
}

/// Whether two are told in one line.
fn is_alike(a: &Broken, b: &Broken) -> bool {
    let names = |one: &Broken| one.cheaper.iter().map(|part| part.collective).collect::<Vec<_>>();
    (a.collective, a.processes, names(a)) == (b.collective, b.processes, names(b))
}

/// Sizes at which the same is broken: the surest of them.
fn line(alike: &[Broken]) -> Option<String> {
    let surest = alike.iter().max_by(|a, b| a.interval.0.total_cmp(&b.interval.0))?;
    let Broken { collective, processes, bytes, cheaper, ratio, interval: (low, high) } = surest;
    let on = if *processes > 0 { format!(" on {processes}") } else { String::new() };
    let among = match alike {
        [first, .., last] => {
            format!(", {} sizes of {} to {} B: at {bytes} B", alike.len(), first.bytes, last.bytes)
        }
        _ => format!(", {bytes} B:"),
    };
    let part = |Part { collective, bytes }: &Part| format!("{collective} of {bytes} B");
    let parts: Vec<String> = cheaper.iter().map(part).collect();
    Some(format!(
        "{collective}{on}{among} {ratio:.2} times as long ({low:.2} to {high:.2}) as {}",
        parts.join(" and ")
    ))
}
