//! What `specc comet` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::args::{duration, node_count, percentage};

/// What `comet` takes.
#[derive(Debug, Args)]
pub(in crate::cli) struct Comet {
    /// On what: `threads`, `mpi` (started by `mpirun`, or by what `STRATA_MPIRUN` names), or a
    /// simulated machine, such as `sim:ipsc860` or `sim:FILE`, with options as in
    /// `sim:FILE,computing=measured`.
    #[arg(long, default_value = "threads")]
    pub(in crate::cli) on: String,
    /// The number of nodes; the number of cores where it is left out.
    #[arg(long, value_parser = node_count())]
    pub(in crate::cli) nodes: Option<u32>,
    /// The folder to write to; made where it is missing.
    #[arg(short, long = "output", value_name = "DIR", required_unless_present = "read")]
    pub(in crate::cli) output: Option<PathBuf>,
    /// The kernels to measure, `echo,barrier`; `all` for all of them, the usual ones where it is
    /// left out.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(in crate::cli) kernels: Vec<String>,
    /// Sizes of messages in bytes, `1,64,4K,1M`, up to 1G; from 1 to 256K where it is left out.
    #[arg(long, value_delimiter = ',', value_name = "BYTES", value_parser = size)]
    pub(in crate::cli) sizes: Vec<i64>,
    /// How long to measure at most, for example `60s`. Building comes on top.
    #[arg(long, default_value = "45s", value_name = "TIME", value_parser = duration)]
    pub(in crate::cli) budget: Duration,
    /// End when the 95 % intervals of all medians are at most this wide on each side.
    #[arg(long, default_value = "5%", value_name = "PERCENT", value_parser = percentage)]
    pub(in crate::cli) precision: f64,
    /// Seed of the order of measuring.
    #[arg(long, default_value_t = 1)]
    pub(in crate::cli) seed: u64,
    /// Go on from the samples of an interrupted run in the output folder.
    #[arg(long)]
    pub(in crate::cli) resume: bool,
    /// Measure nothing: show the results in this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "resume", "kernels", "sizes"])]
    pub(in crate::cli) read: Option<PathBuf>,
    /// Also compare with the results in this folder: which medians have changed significantly.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) compare: Option<PathBuf>,
    /// What to print: `table`, the columns of `osu` or of `imb` (Intel's), `csv`, `json` or
    /// `json-lines`.
    #[arg(long, default_value = "table", value_name = "FORM")]
    pub(in crate::cli) format: CometForm,
}

/// How results of `comet` are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum CometForm {
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
