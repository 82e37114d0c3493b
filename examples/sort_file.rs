//! Sorts a file of integers, one a line, on all nodes together.
//!
//! Each node reads its part of the file, the team sorts, node 0 writes. The same program runs on
//! threads (`STRATA_ON=threads:4`) and, built with `--features mpi`, under `mpirun -n 4`; there the
//! nodes must see the same file.

use clap::Parser;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};
use strata_model::write_atomically;
use strata_runtime::prelude::*;
use strata_sort::{Options, Pin};

/// Sort a file of integers (one a line, -2^63 to 2^63 - 1; blank lines are skipped) on several
/// nodes.
///
/// STRATA_ON=threads:4 says on how many threads to run; without it one for each core.
/// STRATA_PIN=sort=radix:11, STRATA_EXPLAIN=1 and STRATA_MODELS=FILE do the same as the options.
///
/// Exit status: 0 done; 1 the input or an option's value is at fault; 2 wrong usage; 3 the machine
/// failed (reading, writing, starting the nodes).
#[derive(Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 90)]
struct Cli {
    /// The file to sort.
    input: PathBuf,
    /// The file to write; it is replaced only when all of it is on the disk. May be the input.
    output: PathBuf,
    /// Say on stderr which algorithm was chosen, and why.
    #[arg(long)]
    explain: bool,
    /// Take this algorithm: sort=radix:BITS, sort=sample:KEYS or sort=gather.
    #[arg(long, value_name = "PIN")]
    pin: Option<String>,
    /// Choose by the models of this file, made by `specc calibrate`.
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
}

/// What is at fault, as an exit status.
const INPUT: u8 = 1;
const MACHINE: u8 = 3;

/// The exit status of the failure; a node sets it before it fails.
static STATUS: AtomicU8 = AtomicU8::new(MACHINE);

fn main() -> ExitCode {
    let cli = Cli::parse();
    match launch(|node| sort_file(node, &cli)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sort_file: {error}");
            ExitCode::from(STATUS.load(Ordering::Relaxed))
        }
    }
}

/// A failure of this kind.
fn fault(status: u8) -> impl Fn(String) -> Error {
    move |message| {
        STATUS.store(status, Ordering::Relaxed);
        Error::program(message)
    }
}

fn sort_file(node: &mut Node, cli: &Cli) -> Result<(), Error> {
    let text = read_part(&cli.input, node.rank(), node.size())
        .map_err(|error| fault(MACHINE)(format!("cannot read {}: {error}", cli.input.display())))?;
    let before = node.scan_add(text.lines().count() as u64);
    let mut keys = parse(&text, before + 1)
        .map_err(|message| fault(INPUT)(format!("{}:{message}", cli.input.display())))?;
    drop(text);

    let mut options = Options::default();
    if let Some(pin) = &cli.pin {
        let pin = Pin::parse(pin).map_err(|error| fault(INPUT)(format!("--pin: {error}")))?;
        options = options.pin(pin);
    }
    if let Some(path) = &cli.models {
        options = options.models(path);
    }
    let choice =
        strata_sort::sort_with(node, &mut keys, &options).map_err(|error| fault(INPUT)(error.to_string()))?;
    if cli.explain && node.rank() == 0 {
        eprintln!("{choice}");
    }

    // Every node prints its numbers; node 0 joins the texts in rank order.
    let mut lines = String::with_capacity(12 * keys.len());
    keys.iter().for_each(|key| {
        lines.push_str(&key.to_string());
        lines.push('\n');
    });
    let mut blocks = vec![Block::default(); node.size()];
    blocks[0] = Block::from_slice(lines.as_bytes());
    let texts = node.all_to_all_v(blocks);
    if node.rank() == 0 {
        write_atomically(&cli.output, |file| texts.iter().try_for_each(|text| file.write_all(text)))
            .map_err(|error| fault(MACHINE)(error.to_string()))?;
    }
    // Nobody leaves before the file is written: a failure of node 0 must reach all.
    node.barrier();
    Ok(())
}

/// The lines that begin in the `rank`-th of `nodes` equal spans of the file.
fn read_part(path: &Path, rank: usize, nodes: usize) -> io::Result<String> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let bound = |rank: usize| (u128::from(len) * rank as u128 / nodes as u128) as u64;
    let (start, end) = (bound(rank), bound(rank + 1));
    let from = line_start(&mut file, start)?;
    let to = line_start(&mut file, end)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(to.saturating_sub(from)).read_to_end(&mut bytes)?;
    // What is not UTF-8 is no number either; the parser will name its line.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first place at or after `at` where a line begins, or the end of the file.
fn line_start(file: &mut File, at: u64) -> io::Result<u64> {
    if at == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(at - 1))?;
    let (mut place, mut buffer) = (at - 1, [0; 4096]);
    loop {
        let read = file.read(&mut buffer)?;
        if let Some(newline) = buffer[..read].iter().position(|&b| b == b'\n') {
            return Ok(place + newline as u64 + 1);
        }
        if read == 0 {
            return Ok(place);
        }
        place += read as u64;
    }
}

/// The numbers of `text`, whose first line has the number `first` in the file.
fn parse(text: &str, first: u64) -> Result<Vec<i64>, String> {
    let lines = text.lines().zip(first..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, number)| {
            let word = line.trim();
            word.parse().map_err(|error: std::num::ParseIntError| {
                let shown: String = word.chars().take(40).collect();
                match error.kind() {
                    std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                        format!(
                            "{number}: `{shown}` does not fit 64 bits; numbers are {} to {}",
                            i64::MIN,
                            i64::MAX
                        )
                    }
                    _ => format!("{number}: `{shown}` is not an integer; write one decimal number a line"),
                }
            })
        })
        .collect()
}
