//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use specc::cli::values::{duration, node_count, percentage};
use specc::drive::Launcher;

/// Measure how this machine communicates, by Ganapati's CoMet and what is expected today.
///
/// Prints for each kernel and size the median with its 95 % interval, start-up time and time per
/// byte of each protocol, where protocols switch, n½ and r∞, and LogGP's parameters. In the output
/// folder `comet.txt` is that report, `comet.json` holds it for programs, `comet.html` has the
/// curves, and `here.toml` describes the machine for `specc --on sim:FILE`; the samples and models of all
/// kernels lie there as after `specc calibrate`. A run that other programs disturbed is marked
/// CONTAMINATED.
///
/// Results go to standard output, progress to standard error. Exit status: 0 done; 1 results are at
/// fault, or slower than `--fail-above` allows; 2 wrong usage; 3 the machine failed (disk, cargo,
/// mpirun); 4 `--fail-above` can judge nothing; 130 interrupted.
#[derive(Clone, Debug, Parser)]
#[command(name = "comet", version, help_expected = true, max_term_width = 80, after_help = EXAMPLES)]
pub(crate) struct Comet {
    /// On what: `threads`, `mpi` (started by `mpirun`, or as `--launcher` says), `smpi:FILE`, or a
    /// simulated machine, such as `sim:ipsc860` or `sim:FILE`, with options as in
    /// `sim:FILE,computing=measured`.
    #[arg(long, default_value = "threads")]
    pub(crate) on: String,
    /// The number of nodes (default: the number of cores). Of several, as in `2,4,8,16,32`,
    /// each has an equal part of the budget and a folder of its own, and `nodes.txt` has the times of
    /// collectives over them.
    #[arg(long, value_delimiter = ',', value_name = "NUMBER", value_parser = node_count())]
    pub(crate) nodes: Vec<u32>,
    /// What starts the jobs of `--on mpi`, such as `srun -n` with an `n` in braces, which is the
    /// number of nodes. Default: what STRATA_MPIRUN holds, or `mpirun`.
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) launcher: Option<Launcher>,
    /// The folder to write to; made where it is missing.
    #[arg(short, long = "output", value_name = "DIR", required_unless_present = "read")]
    pub(crate) output: Option<PathBuf>,
    /// The kernels to measure, `echo,barrier`; `all` for every one. Default: the usual
    /// ones.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(crate) kernels: Vec<String>,
    /// Sizes of messages in bytes, `1,64,4K,1M`, up to 1G: these and no others, also as lengths of
    /// vectors, sides of matrices and loads. Default: from 1 to 256K.
    #[arg(long, value_delimiter = ',', value_name = "BYTES", value_parser = size)]
    pub(crate) sizes: Vec<i64>,
    /// The topology of the machine, which tells distances and shared links: `bus`, `crossbar`,
    /// `hypercube`, `mesh:4x4`, `torus:4x4x2`, or that of a platform. Simulated machines have
    /// theirs.
    #[arg(long, value_name = "NAME")]
    pub(crate) topology: Option<String>,
    /// How long to measure at most, for example `60s`. Building comes on top.
    #[arg(long, default_value = "45s", value_name = "TIME", value_parser = duration)]
    pub(crate) budget: Duration,
    /// End when the 95 % intervals of all medians are at most this wide on each side.
    #[arg(long, default_value = "5%", value_name = "PERCENT", value_parser = percentage)]
    pub(crate) precision: f64,
    /// The operations of one timing (default: as many as take 0.1 ms).
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) repetitions: Option<u32>,
    /// Untimed operations before each timing (default: 4, or a tenth).
    #[arg(long, value_name = "NUMBER", requires = "repetitions",
          value_parser = clap::value_parser!(u32).range(0..=100_000_000))]
    pub(crate) warm_up: Option<u32>,
    /// The root of collectives that have one, in the kernels that time all nodes: node 0, or each
    /// node in turn, so that no call finds its root's data in a cache or overtakes the one before.
    #[arg(long, default_value = "first", value_name = "WHICH")]
    pub(crate) roots: Roots,
    /// Seed of the order of measuring.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Go on from the samples of an interrupted run in the output folder.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Measure nothing: show the results in this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "resume", "kernels", "sizes", "topology"])]
    pub(crate) read: Option<PathBuf>,
    /// Also compare with the run in this folder, as `specc compare`: how much the times of each
    /// kernel have changed, and in which part of its sizes.
    #[arg(long, value_name = "DIR")]
    pub(crate) compare: Option<PathBuf>,
    /// Fail if a kernel, or a part of its sizes, got slower by more than this with confidence.
    #[arg(long, value_name = "PERCENT", value_parser = percentage, requires = "compare")]
    pub(crate) fail_above: Option<f64>,
    /// What to print: `table`, the columns of `osu` or of `imb` (Intel's), `csv`, `json` or
    /// `json-lines`.
    #[arg(long, default_value = "table", value_name = "FORM")]
    pub(crate) format: CometForm,
}

const EXAMPLES: &str = "Examples:
  comet --on threads --nodes 2 -o comet-here
  comet --on sim:ipsc860 --nodes 2,4,8,16,32 --kernels barrier,reduce -o nodes
  comet --on mpi --nodes 2 --kernels library -o comet-mpi
  comet --on mpi --launcher 'srun -n {n}' --nodes 2 -o comet-cluster
  comet --read comet-mpi --format osu
  comet --read NEW --compare OLD";

/// The roots of collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Roots {
    /// Node 0.
    First,
    /// Each node in turn.
    InTurn,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CometForm {
    /// For people.
    Table,
    /// As the OSU micro-benchmarks.
    Osu,
    /// As Intel's MPI benchmarks.
    Imb,
    /// Comma-separated values.
    Csv,
    /// One JSON document.
    Json,
    /// A JSON object for each point.
    JsonLines,
}

/// Reads a number of bytes, `1000`, `64K` or `1M`.
fn size(text: &str) -> Result<i64, String> {
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: Option<i64> = digits.replace('_', "").parse().ok();
    match number.and_then(|number| number.checked_mul(1 << shift)) {
        Some(bytes) if (0..=1 << 30).contains(&bytes) => Ok(bytes),
        _ => Err("a number of bytes from 0 to 1G, such as 64K".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Comet::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("64K"), Ok(65_536));
        assert_eq!(size("1G"), Ok(1 << 30));
        for bad in ["", "K", "-1", "2G", "1.5M", "9999999999999999999", "64 K"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
