//! CoMet beside Intel's MPI benchmarks, on the same MPI: medians, and the time until they are
//! known.
//!
//!     python3 -m venv imb && imb/bin/pip install impi-rt impi-devel    # IMB-MPI1, its MPI, its compiler
//!     cargo bench -p strata-benches --bench imb -- imb
//!     make -C mpi-benchmarks IMB-MPI1 CC=mpicc CXX='mpicxx -DOMPI_SKIP_MPICXX'    # or its sources
//!     cargo bench -p strata-benches --bench imb -- mpi-benchmarks
//!
//! CoMet's kernels `library` do what `IMB-MPI1` does by default: fixed numbers of calls, collectives
//! one by one between untimed barriers, means over ranks. With Intel's MPI they are built with its
//! library, in a target folder of their own; a folder without `bin/mpiexec.hydra` has an `IMB-MPI1`
//! of the library of `mpicc`. `IMB-MPI1` prints one mean; it is started until the 95 % interval of
//! the median over its starts is as narrow as CoMet's of each size, or for ten seconds. Both take
//! turns, as a machine may be another one a minute later; ratios are medians over six turns, whose
//! range is their 95 % interval. Where Intel's benchmarks are not there, the race is skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Parser;
use strata_benches::{Timings, columns, machine, summary};

const PAIRS: [&str; 2] = ["PingPong", "PingPing"];
const ALL: [&str; 10] = [
    "Bcast", "Reduce", "Allreduce", "Reduce_scatter_block", "Gather", "Scatter", "Allgather", "Alltoall",
    "Alltoallv", "Barrier",
];

/// Microseconds by kernel and bytes.
type Table = BTreeMap<(String, u64), f64>;

#[derive(Parser)]
struct Arguments {
    /// With bin/IMB-MPI1: a virtual environment with impi-rt and impi-devel; or with IMB-MPI1, built
    /// by mpicc
    folder: Option<PathBuf>,
}

strata_benches::main!(|arguments: &Arguments| match &arguments.folder {
    Some(folder) => race(folder),
    None => {
        println!(
            "skipped: name a folder with bin/IMB-MPI1 (a virtual environment with impi-rt), as in \
                 `cargo bench -p strata-benches --bench imb -- FOLDER`"
        );
        summary(&serde_json::json!({ "bench": "imb", "skipped": true }));
        Ok(())
    }
});

/// Half of a 95 % interval over its median, at which both end.
const PRECISION: f64 = 0.05;

/// How long each may take in a turn, s.
const BUDGET: f64 = 10.0;

/// As many as the range of the ratios needs to be a 95 % interval.
const TURNS: usize = 6;

/// What one of the two has found.
struct Found {
    table: Table,
    seconds: f64,
    /// Rows that are not known so well.
    uncertain: usize,
}

fn race(folder: &Path) -> Result<(), String> {
    println!("{}\n", machine());
    let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    let output = tempfile::tempdir().map_err(|error| error.to_string())?;
    // Built before anything is timed.
    ours(&folder, output.path(), "1s")?;
    // By row, what both took in each turn, and the ratio of the two.
    let mut rows: BTreeMap<(String, u64), [Timings; 3]> = BTreeMap::new();
    let (mut seconds, mut uncertain): ([Timings; 2], [Timings; 2]) = Default::default();
    for turn in 0..TURNS {
        let budget = format!("{BUDGET}s");
        let (mine, theirs) = if turn % 2 == 0 {
            let mine = ours(&folder, output.path(), &budget)?;
            (mine, intel(&folder)?)
        } else {
            let theirs = intel(&folder)?;
            (ours(&folder, output.path(), &budget)?, theirs)
        };
        for (place, their) in &theirs.table {
            let Some(our) = mine.table.get(place) else { continue };
            let row = rows.entry(place.clone()).or_default();
            row.iter_mut().zip([*our, *their, our / their]).for_each(|(times, time)| times.push(time));
        }
        for (at, found) in [mine, theirs].iter().enumerate() {
            seconds[at].push(found.seconds);
            uncertain[at].push(found.uncertain as f64);
        }
    }
    columns("kernel | bytes | CoMet, µs | IMB-MPI1, µs | ratio | least and greatest");
    let mut ratios = Vec::new();
    for ((kernel, bytes), [our, their, ratio]) in &rows {
        ratios.push(ratio.median());
        println!(
            "| {kernel} | {bytes} | {:.2} | {:.2} | {:.2} | {:.2} to {:.2} |",
            our.median(),
            their.median(),
            ratio.median(),
            ratio.quantile(0.0),
            ratio.quantile(1.0)
        );
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    let is_near = |ratio: f64| (ratio - 1.0).abs() <= 0.05;
    let near = ratios.iter().filter(|ratio| is_near(**ratio)).count();
    let has_one = |ratio: &Timings| (ratio.quantile(0.0)..=ratio.quantile(1.0)).contains(&1.0);
    let explained = rows.values().filter(|[_, _, ratio]| is_near(ratio.median()) || has_one(ratio)).count();
    let [our_seconds, their_seconds] = seconds.each_ref().map(Timings::median);
    let [our_uncertain, their_uncertain] = uncertain.each_ref().map(Timings::median);
    println!(
        "\nMedians of {TURNS} turns: CoMet took {our_seconds:.1} s, with {our_uncertain} rows known worse \
         than ±5 %, IMB-MPI1 {their_seconds:.1} s, with {their_uncertain}. Of {} rows {near} are within 5 \
         %, {explained} within 5 % or with an interval that has 1",
        ratios.len()
    );
    summary(&serde_json::json!({
        "bench": "imb", "median_ratio": median, "rows": ratios.len(), "within_5_per_cent": near,
        "near_or_explained": explained,
        "comet_seconds": our_seconds, "imb_seconds": their_seconds,
        "comet_uncertain": our_uncertain, "imb_uncertain": their_uncertain,
    }));
    Ok(())
}

fn ours(folder: &Path, output: &Path, budget: &str) -> Result<Found, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "-p", "strata-comet", "--features", "cli"])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("comet does not build".to_owned());
    }
    // This program lies in target/release/deps.
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let release = here.parent().and_then(Path::parent).ok_or("this program lies nowhere")?;
    let mut command = Command::new(release.join("comet"));
    if is_intel(folder) {
        with_intel(&mut command, folder)?;
        command
            .env("MPICC", folder.join("bin/mpicc"))
            .env("STRATA_MPIRUN", folder.join("bin/mpiexec.hydra"))
            // mpi-sys does not notice that another MPI is meant.
            .env("CARGO_TARGET_DIR", release.with_file_name("imb"));
    }
    let sizes: Vec<String> = (0..=18).map(|bits| (1u64 << bits).to_string()).collect();
    command
        .args(["--on", "mpi", "--nodes", "2", "--kernels", "library", "--format", "imb"])
        .args(["--sizes", &sizes.join(","), "--budget", budget, "-o"])
        .arg(output);
    let (table, seconds) = timed(&mut command)?;
    let results = strata_comet::Results::read(output).map_err(|error| error.to_string())?;
    if let Some(contaminated) = &results.contaminated {
        println!("A run of CoMet is marked contaminated: {}\n", contaminated.reason);
    }
    let points = results.kernels.iter().flat_map(|kernel| &kernel.points);
    let uncertain = points.filter(|point| !point.belief.is_known(PRECISION)).count();
    Ok(Found { table, seconds, uncertain })
}

/// Intel's benchmarks with their usual numbers of repetitions, as often as it takes.
fn intel(folder: &Path) -> Result<Found, String> {
    let start = Instant::now();
    let mut starts: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
    loop {
        let mut command = if is_intel(folder) {
            let mut command = Command::new(folder.join("bin/mpiexec.hydra"));
            with_intel(&mut command, folder)?;
            command.args(["-n", "2", "IMB-MPI1"]);
            command
        } else {
            let mut command = Command::new("mpirun");
            // As for CoMet's own processes.
            command
                .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
                .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
                .env("OMPI_MCA_hwloc_base_binding_policy", "none")
                .env("OMPI_MCA_mpi_yield_when_idle", "0")
                .args(["-n", "2"])
                .arg(folder.join("IMB-MPI1"));
            command
        };
        command.args(["-msglog", "0:18", "-time", "0.1"]).args(PAIRS).args(ALL);
        for (place, time) in timed(&mut command)?.0 {
            starts.entry(place).or_default().push(time);
        }
        let belief = |times: &Vec<f64>| {
            let timing = |(at, seconds): (usize, &f64)| strata_model::samples::Timing {
                seconds: *seconds,
                moment: at as f64,
            };
            strata_comet::series::Belief::of(&times.iter().enumerate().map(timing).collect::<Vec<_>>())
        };
        let known = |times: &Vec<f64>| belief(times).is_some_and(|belief| belief.is_known(PRECISION));
        let uncertain = starts.values().filter(|times| !known(times)).count();
        let seconds = start.elapsed().as_secs_f64();
        if uncertain == 0 || seconds > BUDGET {
            let median = |(place, times): (&(String, u64), &Vec<f64>)| {
                belief(times).map(|belief| (place.clone(), belief.median))
            };
            return Ok(Found { table: starts.iter().filter_map(median).collect(), seconds, uncertain });
        }
    }
}

fn is_intel(folder: &Path) -> bool {
    folder.join("bin/mpiexec.hydra").is_file()
}

fn with_intel(command: &mut Command, folder: &Path) -> Result<(), String> {
    let mut libraries = vec![folder.join("lib"), folder.join("lib/libfabric")];
    let of = |name: &str| std::env::var_os(name).unwrap_or_default();
    libraries.extend(std::env::split_paths(&of("LD_LIBRARY_PATH")));
    let mut paths = vec![folder.join("bin")];
    paths.extend(std::env::split_paths(&of("PATH")));
    let join = |paths: Vec<PathBuf>| std::env::join_paths(paths).map_err(|error| error.to_string());
    command
        .env("I_MPI_ROOT", folder)
        .env("I_MPI_FABRICS", "shm")
        .env("PATH", join(paths)?)
        .env("LD_LIBRARY_PATH", join(libraries)?);
    Ok(())
}

fn timed(command: &mut Command) -> Result<(Table, f64), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let output = command.output().map_err(|error| format!("cannot start {name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok((read(&String::from_utf8_lossy(&output.stdout)), start.elapsed().as_secs_f64()))
}

/// The tables of Intel's format: the last column is the mean, but of two processes the third.
fn read(text: &str) -> Table {
    let mut table = Table::new();
    let mut kernel = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# Benchmarking ") {
            kernel = name.trim().to_owned();
            continue;
        }
        let numbers: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let value = match numbers[..] {
            _ if kernel.is_empty() || line.starts_with('#') => None,
            [bytes, _, time, _] if PAIRS.contains(&kernel.as_str()) => Some((bytes, time)),
            [_, _, _, time] if kernel == "Barrier" => Some((0.0, time)),
            [bytes, _, _, _, time] => Some((bytes, time)),
            _ => None,
        };
        if let Some((bytes, time)) = value {
            table.insert((kernel.clone(), bytes as u64), time);
        }
    }
    table
}
