//! Two runs through the comparison of `specc`.

use std::collections::BTreeSet;
use std::path::Path;

use specc::cli::{CompareHow, compare};
use specc::compare::Run;
use strata_comet::Results;
use strata_comet::series::Belief;
use strata_model::Samples;
use strata_model::samples::{Sample, Timing};
use strata_screen::{Failure, tell};

/// The timings of a point as so many repeats: medians of consecutive ones, as neighbours in time
/// share the state of the machine. A kernel of few points is judged by their scatter.
const REPEATS: usize = 6;

/// Prints how the times have changed, and warns of what else may explain it.
///
/// # Errors
/// Samples cannot be read, the runs have no kernel in common, or times are longer than allowed.
pub(crate) fn compare(
    before: (&Path, &Results),
    after: (&Path, &Results),
    how: &CompareHow,
) -> Result<(), Failure> {
    doubts(before.1, after.1).iter().for_each(|doubt| tell!("warning: {doubt}"));
    let run = |(folder, results): (&Path, &Results)| {
        let path =
            if folder.is_dir() { folder.join("samples.txt") } else { folder.with_file_name("samples.txt") };
        let bytes = std::fs::read(&path).map_err(|error| Failure::file(&path, error))?;
        let mut samples = Samples::read(&*bytes, &path.display().to_string())
            .map_err(|error| Failure::Usage(error.to_string()))?;
        for model in &mut samples.models {
            model.rows = model.rows.iter().flat_map(|row| repeats(row, results.simulated)).collect();
        }
        Ok::<_, Failure>(Run { name: folder.display().to_string(), samples: Some(samples), ..Run::default() })
    };
    compare::runs(&run(before)?, &run(after)?, how)
}

fn repeats(row: &Sample, simulated: bool) -> Vec<Sample> {
    let mut timings: Vec<Timing> =
        row.notes.timings.iter().copied().filter(|timing| timing.seconds.is_finite()).collect();
    timings.sort_by(|a, b| a.moment.total_cmp(&b.moment));
    let medians: Vec<f64> = match timings.len() {
        // Simulated times are exact.
        0 if simulated => vec![row.seconds; REPEATS],
        few if few < REPEATS => vec![row.seconds],
        many => {
            let consecutive = timings.chunks(many.div_ceil(REPEATS));
            consecutive.filter_map(Belief::of).map(|belief| belief.median).collect()
        }
    };
    medians.into_iter().map(|seconds| Sample { seconds, ..row.clone() }).collect()
}

/// What else differs between the runs, and whether other programs disturbed them.
fn doubts(before: &Results, after: &Results) -> Vec<String> {
    let disturbed = |(name, results): (&str, &Results)| {
        let reason = &results.contaminated.as_ref()?.reason;
        Some(format!("the run {name} is contaminated: {reason}"))
    };
    let mut doubts: Vec<String> =
        [("before", before), ("after", after)].into_iter().filter_map(disturbed).collect();
    let [old, new] = [before, after].map(|results| results.setup.parts());
    let names: BTreeSet<&str> = old.iter().chain(&new).map(|(name, _)| *name).collect();
    for name in names {
        // Results of an older version lack the others.
        let nothing = (name == "fixed").then_some("nothing");
        let part = |parts: &[(&str, String)]| {
            let known = parts.iter().find(|(other, _)| *other == name).map(|(_, part)| part.clone());
            known.or(nothing.map(str::to_owned))
        };
        if let (Some(old), Some(new)) = (part(&old), part(&new))
            && old != new
        {
            doubts.push(format!("{name}: {old} before, {new} after"));
        }
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_comet::{Fixed, Setup};

    #[test]
    fn what_else_differs_is_said_where_both_runs_tell_it() {
        let of = |mpi: &str, roots_in_turn: bool| {
            let fixed = Fixed { roots_in_turn, ..Fixed::default() };
            Results { setup: Setup { mpi: mpi.into(), fixed, ..Setup::default() }, ..Results::default() }
        };
        assert_eq!(
            doubts(&of("Open MPI 4.1.4", false), &of("HYDRA 4.0.2", true)),
            ["MPI: Open MPI 4.1.4 before, HYDRA 4.0.2 after", "fixed: nothing before, roots in turn after"]
        );
        assert!(doubts(&of("", false), &of("Open MPI 4.1.4", false)).is_empty());
    }

    #[test]
    fn neighbours_in_time_are_one_repeat() {
        let timing = |k: u32| Timing { seconds: f64::from(1 + k / 4), moment: f64::from(k) };
        let mut row = Sample { seconds: 9.0, ..Sample::default() };
        row.notes.timings = (0..24).rev().map(timing).collect();
        let seconds = |row: &Sample, simulated| -> Vec<f64> {
            repeats(row, simulated).iter().map(|one| one.seconds).collect()
        };
        assert_eq!(seconds(&row, false), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        row.notes.timings.clear();
        assert_eq!((seconds(&row, false), seconds(&row, true)), (vec![9.0], vec![9.0; REPEATS]));
    }
}
