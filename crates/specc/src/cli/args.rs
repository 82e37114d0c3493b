//! The command line: its grammar, its help, and the values that it takes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use strata_fit::{Elimination, Robust, Search, Weights};
use strata_interchange::rules::{Kind, Release};
use strata_interchange::{Format, HoldOut, TimeColumn};
use strata_model::Kinds;
use strata_screen::Failure;

pub(super) use super::values::{Binding, Scaling, duration, node_count, percentage};
use crate::decisions::Like;
use crate::drive::Launcher;
use crate::lang::CheckedSpec;
use crate::thresholds::Limits;

use super::values::{Layout, PriceUnit, layout, model_set, prefix, share};

/// Compile performance-model specs into profiling programs, run them, fit models, and choose by
/// them.
///
/// A spec names the implementations of an operation and what their cost may depend on. `calibrate`
/// goes the whole way: it compiles the spec into a profiling program, runs it on this machine, fits
/// and verifies models, and writes them as TOML and as Rust.
///
/// Results go to standard output, progress and advice to standard error. Exit status: 0 done; 1 the
/// spec, the platform file, the samples or the fit is at fault; 2 wrong usage; 3 the machine failed
/// (disk, cargo, mpirun); 130 interrupted. `specc completions SHELL` and `specc man -o DIR` teach
/// the shell these commands.
#[derive(Debug, Parser)]
#[command(name = "specc", version, help_expected = true, max_term_width = 80)]
pub(super) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// One stage, or all of them.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check specs, or whether models, thresholds or constants still hold.
    ///
    /// Of specs every error of every file is shown, with its place. With `--models`, what committed
    /// models or constants choose is timed at fresh inputs beside what else could be. They hold as
    /// long as choices lose no more than is accepted, and models, compared with each other, take what
    /// they predict. Whether the spec or the sources of the measured code have changed since is said,
    /// too. Exit status then: 0 they hold; 1 they do not, and what moved is printed; 4 that cannot be
    /// told: the mean loss is above what is accepted, and noise may be why.
    Check(Box<Check>),
    /// Write the profiling program of a spec, without running it.
    ///
    /// It is a cargo package, with what it is to measure in `plan.txt`. In the output folder
    /// `STRATA_ON=threads:4 cargo run --release --manifest-path profile/Cargo.toml` measures it on 4
    /// nodes; `STRATA_ON=sim:cm5:16` takes `--features sim`, and mpirun `--features mpi`. `-- --help`
    /// shows the program's options. Loops that read `cache1`, `cache2`, `cache3` or `cores` are planned
    /// for this machine. A program for one node may have no other machines.
    ///
    /// With `--job` the script `job.sh` is written, too. As a job of a cluster it calibrates there,
    /// in the same output folder. Submitted again it goes on from the samples that there are, so that
    /// a time limit loses nothing, and adds another allocation. `sh job.sh build` compiles before, for
    /// compute nodes without a compiler.
    Emit {
        #[command(flatten)]
        specs: Specs,
        /// The numbers of nodes to plan for, `1,2,4`, or with hosts `2x8,4x4` (default: the number
        /// of cores).
        #[arg(long, value_delimiter = ',', value_parser = layout)]
        nodes: Vec<Layout>,
        #[command(flatten)]
        features: Features,
        #[command(flatten)]
        job: Job,
        /// Write no program: print the spec with all of its families, shared names and products
        /// written out, and with the defaults of each model.
        #[arg(long)]
        expand: bool,
        /// The folder to write to; made where it is missing.
        #[arg(short, long, value_name = "DIR", required_unless_present = "expand")]
        output: Option<PathBuf>,
    },
    /// Fit and verify models by samples, also those of other programs.
    Fit(Fit),
    /// Measure, fit, verify and report: all of it.
    Calibrate(Calibrate),
    /// Say which further samples would help choices most, for their time.
    ///
    /// The loss is the time by which the candidate that looks fastest is expected to exceed the one
    /// that is, because the coefficients of the models are uncertain, over the time and on average
    /// over the inputs. Of a model that is named by itself it is the half width of its predictions
    /// over the time.
    Advise(Advise),
    /// Choose the fastest candidate at given inputs, or predict the time of one model.
    Choose {
        /// A model set: the folder that `fit` or `calibrate` wrote, or its `models.toml`.
        #[arg(value_parser = model_set)]
        models: PathBuf,
        /// The name of a library, which chooses, or of a model.
        name: String,
        #[command(flatten)]
        at: At,
        #[command(flatten)]
        how: Choosing,
    },
    /// Say what moves a predicted time most: inputs, parameters, and the costs of the machine.
    ///
    /// A cost is the coefficient of a term of one of the models that the prediction is made of:
    /// `Send.constant` is the latency of `Send`, `Send.bytes` its time a byte. `+1 %` is the
    /// slope where a cause grows, in per cent of the time for one per cent, of the candidate taken
    /// there and between steps. A cost halved, an input doubled and `--set` are predicted anew, and a
    /// library chooses anew. Over ranges it is the median over the points, and the greatest with its
    /// place.
    Impact {
        /// A model set: the folder that `fit` or `calibrate` wrote, or its `models.toml`.
        #[arg(value_parser = model_set)]
        models: PathBuf,
        #[command(flatten)]
        impact: ImpactOf,
    },
    /// Write models as Rust, C or Python; samples as JSON lines.
    Export(Export),
    /// Show who wins where, and models: all, one library, or one model.
    ///
    /// Of a model: its terms with their coefficients, how well it fits and predicts, why it has its
    /// verdict, and where it holds. Of a library: the values of an input at which the choice changes.
    Show {
        /// A model set: the folder that `fit` or `calibrate` wrote, or its `models.toml`.
        #[arg(value_parser = model_set)]
        models: PathBuf,
        #[command(flatten)]
        what: ShowOf,
    },
    /// Say at which values the choice changes, as numbers for a program.
    ///
    /// For each: its 95 % interval, the range that loses under 2 %, the loss at half and at twice
    /// the value, and what GMP's `tuneup` would take of the same timings.
    /// `export --to thresholds` writes these numbers as Rust, C or JSON; `check --models FILE
    /// --thresholds` says whether they still hold.
    Thresholds {
        /// A model set: the folder that `fit` or `calibrate` wrote, or its `models.toml`. With the
        /// samples.txt of the fit beside it intervals are those of the samples.
        #[arg(value_parser = model_set)]
        models: PathBuf,
        #[command(flatten)]
        thresholds: ThresholdsOf,
    },
    /// Compare two runs, or two programs in turns: what got slower or faster, and where.
    ///
    /// Of two runs, at the points that both have measured the times are compared; the interval of the
    /// ratio (95 %) comes from a bootstrap over the points. Where they share too few points, the models
    /// of one predict the times at the points of the other. What is called slower or faster is so at a
    /// level that noise reaches for one of all models once in twenty comparisons. Which choices moved
    /// is said, too. Exit status: 0 compared; 1 slower than `--fail-above` allows; 2 the runs cannot be
    /// compared; 4 nothing could be told.
    ///
    /// With `--run` both are commands, which run in rounds, beside each other in random order. A
    /// benchmark's change is the ratio of its times B/A; its interval (95 %) comes from the scatter over
    /// rounds. Of all changes that are reported at most 5 % are noise on average; if nothing changed, one
    /// race in twenty reports any (Benjamini and Hochberg). Exit status then: 0 done, and nothing above
    /// `--fail-above`; 1 a command failed too often; 2 wrong usage; 3 slower than `--fail-above` allows;
    /// 4 that could not be decided; 130 interrupted.
    Compare(Compare),
    /// Look at simulated machines, built in or described by files; run a program there.
    Platform {
        #[command(subcommand)]
        command: PlatformCommand,
    },
    /// Print completions of this command line for a shell.
    ///
    /// In zsh they belong into a file `_specc` in a folder of `$fpath`, in fish into
    /// `~/.config/fish/completions/specc.fish`.
    #[command(hide = true)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages, one a command: `man specc-calibrate`.
    #[command(hide = true)]
    Man {
        #[command(flatten)]
        output: Output,
    },
}

/// Which program to run where.
#[derive(Debug, Args)]
pub(super) struct RunOf {
    /// The machine to run on: `threads`, `mpi`, a simulated one such as `sim:cm5` or `sim:FILE`, or
    /// `smpi:FILE`, an MPI job on a platform of SimGrid.
    #[arg(long)]
    pub(super) on: String,
    /// The number of nodes, `16`, or on how many hosts how many each, `2x8` (default: the number of
    /// cores).
    #[arg(long, value_parser = layout)]
    pub(super) nodes: Option<Layout>,
    /// What starts the job of `--on mpi`, a template as for `calibrate`.
    #[arg(long, value_name = "TEMPLATE")]
    pub(super) launcher: Option<Launcher>,
    /// The package (default: that of this folder).
    #[arg(long, value_name = "FILE")]
    pub(super) manifest_path: Option<PathBuf>,
    /// The binary (default: the only one of the package).
    #[arg(long, value_name = "NAME", conflicts_with = "example")]
    pub(super) bin: Option<String>,
    /// The example to run instead.
    #[arg(long, value_name = "NAME")]
    pub(super) example: Option<String>,
    /// Features of the package, such as that by which it uses MPI.
    #[arg(long, value_delimiter = ',', value_name = "FEATURE")]
    pub(super) features: Vec<String>,
    /// Arguments of the program.
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(super) arguments: Vec<OsString>,
}

/// What to do with platforms.
#[derive(Debug, Subcommand)]
pub(super) enum PlatformCommand {
    /// List the built-in platforms.
    List,
    /// Check platform files: every error of every file, with its place.
    Check {
        /// Platform files; `crates/sim/platforms/cm5.toml` of Strata is an example that explains
        /// itself.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show a platform's costs, its network, and what follows from them: LogGP's parameters, limits
    /// of bandwidth, a barrier.
    ///
    /// What follows is computed from the costs for a machine that is otherwise idle; nothing is
    /// simulated.
    Show {
        /// A built-in platform, or a platform file.
        #[arg(value_name = "NAME|FILE")]
        platform: String,
        /// The number of nodes.
        #[arg(long, default_value_t = 64, value_parser = node_count())]
        nodes: u32,
        /// Print JSON: seconds, hertz, bytes a second.
        #[arg(long)]
        json: bool,
    },
    /// Build and run a package's own program on threads, under MPI, or on a simulated machine.
    ///
    /// On `smpi:FILE` a program of MPI runs as it is, each process on a host of that platform of
    /// SimGrid, in simulated time and on this machine alone. Computing takes no time there; messages
    /// take what SimGrid's model says. Global variables are each process's own; threads must not
    /// call MPI; at most 1000 processes.
    Run(RunOf),
    /// Print the factors of kernels for a platform file: how much longer they take there, in the
    /// mean.
    Kernels {
        /// The model set of `specs/kernels` measured on that machine.
        #[arg(value_name = "MODELS", value_parser = model_set)]
        models: PathBuf,
        /// That of the machine on which the built-in models were measured: fit
        /// `models/epyc-2core-threads1/kernels/samples.txt`.
        #[arg(value_name = "REFERENCE", value_parser = model_set)]
        reference: PathBuf,
    },
}

/// How a library chooses.
#[derive(Debug, Args)]
pub(super) struct Choosing {
    /// Say why each other candidate was not taken.
    #[arg(long)]
    pub(super) explain: bool,
    /// Take this candidate, for example `radix:11` or `sort=radix:11`.
    #[arg(long, value_name = "CANDIDATE[:PARAMETER]")]
    pub(super) pin: Option<String>,
    /// Choose among candidates whose results equal those of this one to the bit, as `equal` in the
    /// spec says.
    #[arg(long, value_name = "CANDIDATE")]
    pub(super) equal_to: Option<String>,
}

/// What is asked of models.
#[derive(Debug, Args)]
pub(super) struct At {
    /// Its inputs, for example `keys=1000 width=32`.
    #[arg(value_name = "INPUT=VALUE")]
    pub(super) inputs: Vec<Binding>,
    /// The number of nodes, or hosts and nodes on each, `2x8` (default: the measured number, the
    /// largest if several).
    #[arg(long, value_parser = layout)]
    pub(super) nodes: Option<Layout>,
    /// Take the models that factored and hybrid ones call, and that call no others, from this set:
    /// what the program takes where that was measured. Said several times, the first that has a
    /// model counts.
    #[arg(long = "models", value_name = "FILE|DIR", value_parser = model_set)]
    pub(super) over: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Options of `show`.
#[derive(Debug, Args)]
pub(super) struct ShowOf {
    /// The name of a library or of a model (default: all of them; with what follows, the only
    /// library).
    pub(super) name: Option<String>,
    /// Inputs that are held fixed. Others beyond two are held at the middle of their range; a grid
    /// needs all beyond two.
    #[arg(value_name = "INPUT=VALUE")]
    pub(super) inputs: Vec<Binding>,
    /// The number of nodes, or hosts and nodes on each, `2x8` (default: the measured number, the
    /// largest if several).
    #[arg(long, value_parser = layout)]
    pub(super) nodes: Option<Layout>,
    /// The input along which the choice is followed (default: the one with the widest range).
    #[arg(long, value_name = "INPUT", conflicts_with = "grid")]
    pub(super) by: Option<String>,
    /// Draw a grid over the first two inputs that are free.
    #[arg(long)]
    pub(super) grid: bool,
    /// Print JSON: the grid and the crossings.
    #[arg(long, conflicts_with = "grid")]
    pub(super) json: bool,
}

/// Options of `impact`.
#[derive(Debug, Args)]
pub(super) struct ImpactOf {
    /// The name of a model or of a library.
    pub(super) name: String,
    /// Inputs that are held fixed, for example `keys=1000`; others take values all over their
    /// ranges.
    #[arg(value_name = "INPUT=VALUE")]
    pub(super) inputs: Vec<Binding>,
    /// The number of nodes, or hosts and nodes on each, `2x8` (default: the measured number, the
    /// largest if several).
    #[arg(long, value_parser = layout)]
    pub(super) nodes: Option<Layout>,
    /// What the time would be if a model, or one of its costs, were multiplied by a factor:
    /// `Send*=0.5`, `Send.bytes*=0.5`. Several count together.
    #[arg(long, value_name = "COST*=FACTOR")]
    pub(super) set: Vec<Scaling>,
    /// Print the derivatives as formulas, too; over ranges those of the first point.
    #[arg(long)]
    pub(super) formulas: bool,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Options of `thresholds`.
#[derive(Debug, Args)]
pub(super) struct ThresholdsOf {
    /// The library's name (default: all libraries).
    pub(super) library: Option<String>,
    /// The input along which the choice is followed (default: the one with the widest range).
    #[arg(long, value_name = "INPUT", conflicts_with_all = ["ways", "slowdown"])]
    pub(super) by: Option<String>,
    /// Inputs that are held fixed. Others beyond two are held at the middle of their range.
    #[arg(long, value_name = "INPUT=VALUE,…", value_delimiter = ',')]
    pub(super) at: Vec<Binding>,
    /// The number of nodes, or hosts and nodes on each, `2x8` (default: the measured number, the
    /// largest if several).
    #[arg(long, value_parser = layout)]
    pub(super) nodes: Option<Layout>,
    /// The samples of the fit, where they do not lie beside the models.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ways", "slowdown"])]
    pub(super) samples: Option<PathBuf>,
    #[command(flatten)]
    pub(super) few: FewWays,
    /// Choose among candidates whose results equal those of this one to the bit, as `equal` in the
    /// spec says.
    #[arg(long, value_name = "CANDIDATE")]
    pub(super) equal_to: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// To choose among few ways.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct FewWays {
    /// Choose among at most so many ways (candidates with values of their parameters), and say what
    /// that loses against all.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=24))]
    pub(super) ways: Option<u16>,
    /// Choose among the fewest ways with which no input loses more than this against all.
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub(super) slowdown: Option<f64>,
}

impl From<FewWays> for Limits {
    fn from(few: FewWays) -> Self {
        Self { ways: few.ways.map(usize::from), slowdown: few.slowdown }
    }
}

/// How runs are compared.
#[derive(Debug, Default, Args)]
pub struct CompareHow {
    /// Fail if a model, a region of its inputs, or a benchmark got slower by more than this with
    /// confidence: the lower end of the interval lies above it. Status 4 if nothing can be told.
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub fail_above: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What `compare` takes.
#[derive(Debug, Args)]
pub(super) struct Compare {
    /// The run before: a folder of `calibrate`, samples (as `fit` reads them), or a model set. With
    /// `--run`: the command, for the shell.
    #[arg(value_name = "A")]
    pub(super) before: String,
    /// The run after, or the command (default with `--git`: that before).
    #[arg(value_name = "B", required_unless_present = "git")]
    pub(super) after: Option<String>,
    /// Run two programs in turns, and say which of their benchmarks changed.
    #[arg(long)]
    pub(super) run: bool,
    #[command(flatten)]
    pub(super) how: CompareHow,
    #[command(flatten, next_help_heading = RUNNING)]
    pub(super) race: Race,
}

/// How two programs are run in turns.
#[derive(Debug, Args)]
pub(super) struct Race {
    /// Where times come from: `wall`, the time of the whole command, or the format of the
    /// benchmarks' results, `google-benchmark`, `go`, `criterion` or any other that `fit` reads.
    /// Default: `wall`, with `--results` what these are recognised as.
    #[arg(long, value_name = "FORMAT")]
    pub(super) from: Option<Source>,
    /// The file to which a command writes its results, or criterion's folder; said twice, that of A
    /// and that of B. Default: standard output. A file that a run does not write anew counts as
    /// none.
    #[arg(long, value_name = "FILE")]
    pub(super) results: Vec<PathBuf>,
    /// Names for the numbers in the names of benchmarks, or the columns of CSV that are inputs.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) inputs: Option<Vec<String>>,
    /// The column of CSV that holds the times, with its unit: `elapsed:ms`.
    #[arg(long, value_name = "COLUMN:UNIT")]
    pub(super) time: Option<TimeColumn>,
    /// The columns of CSV that name the benchmark of a row.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) model_column: Vec<String>,
    /// Run A at this revision of git, in a checkout that is kept in `.git/strata-race`, and B in this
    /// folder. Each runs once before, to build.
    #[arg(long, value_name = "BASE")]
    pub(super) git: Option<String>,
    /// The number of rounds, 6 to 1,000. With `--fail-above` half of them where then nothing can be
    /// slower by more, and with `--budget`, too, as many again until each benchmark is decided.
    #[arg(long, default_value_t = 11, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1000))]
    pub(super) rounds: u32,
    /// Begin no round that would end after this time.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
    /// Run A against a copy of it in all rounds, not in two alone, and say which changes that tells;
    /// status 4 if it tells any.
    #[arg(long)]
    pub(super) noop: bool,
    /// The seed of the random order and environments (default: drawn, and printed).
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Print Markdown, for a pull request.
    #[arg(long, conflicts_with = "json")]
    pub(super) markdown: bool,
}

/// Where the times of a command come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The clock.
    Wall,
    /// The results in a format.
    Results(Format),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "wall" { Ok(Self::Wall) } else { text.parse().map(Self::Results) }
    }
}

/// The specs to read.
#[derive(Debug, Args)]
pub(super) struct Specs {
    /// Spec files, or folders of `.spec` files; models of all files see each other.
    #[arg(required = true, value_name = "SPEC")]
    pub(super) specs: Vec<PathBuf>,
}

/// Where files are written.
#[derive(Debug, Args)]
pub(super) struct Output {
    /// The folder to write to; made where it is missing.
    #[arg(short, long = "output", value_name = "DIR")]
    pub(super) output: PathBuf,
}

/// How the code of a spec is built.
#[derive(Clone, Debug, Default, Args)]
pub struct Features {
    /// Features, besides those that are on by default and those that the spec names: of the package
    /// that the spec belongs to, or `CRATE/FEATURE`. The package's profile `release`, RUSTFLAGS and
    /// .cargo/config.toml count as always.
    #[arg(long, value_delimiter = ',', value_name = "FEATURE")]
    pub features: Vec<String>,
}

/// On what to measure, and for how long.
#[derive(Clone, Debug, Args)]
pub struct Target {
    /// The machine to measure on: `threads`, `mpi`, a simulated one, such as `sim:cm5` or `sim:FILE` (see `specc
    /// platform list`), with options as in `sim:cm5,seed=2,computing=skeleton`, or `smpi:FILE`, an
    /// MPI job on a platform of SimGrid. Default: `threads`, or what the spec names first.
    #[arg(long)]
    pub on: Option<String>,
    /// The number of nodes, or several, `1,2,4`, that are fitted together; `2x8` is 8 on each of 2
    /// hosts. Default: the number of cores, but 1 where the spec names neither `node` nor `P`.
    #[arg(long, value_delimiter = ',', value_parser = layout)]
    pub nodes: Vec<Layout>,
    /// What starts the jobs of `--on mpi`, such as `srun -n` with an `n` in braces, which is the
    /// number of nodes; of `--nodes 2x8`, `{hosts}` is 2 and `{per_host}` 8. Default: what
    /// STRATA_MPIRUN holds, or `mpirun`.
    #[arg(long, value_name = "TEMPLATE")]
    pub launcher: Option<Launcher>,
    /// How long to measure at most, for example `60s`, `500ms` or `5m`. Fitting and building come
    /// on top.
    #[arg(long, default_value = "45s", value_name = "TIME", value_parser = duration)]
    pub budget: Duration,
    /// Seed of the verification points and of the order of measuring.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Measure these points, as `advise -o` writes them, of the models that FILE names, instead of
    /// those of their loops. With `--resume`, besides what was measured before.
    #[arg(long, value_name = "FILE")]
    pub points: Option<PathBuf>,
    /// Go on from the samples of an interrupted run in the output folder.
    #[arg(long)]
    pub resume: bool,
    /// How the code is built.
    #[command(flatten)]
    pub features: Features,
    /// When measuring ends before the budget does.
    #[arg(skip)]
    pub precision: Option<f64>,
    /// The most timings of a point.
    #[arg(skip)]
    pub most: Option<usize>,
    /// Where the profiling program lies, if not in the output folder.
    #[arg(skip)]
    pub program: Option<PathBuf>,
    /// Environment variables of the profiling program, with their values.
    #[arg(skip)]
    pub settings: Vec<(&'static str, String)>,
}

/// A job of a cluster.
#[derive(Debug, Args)]
pub(super) struct Job {
    /// Also write a script that calibrates as a job of Slurm or PBS.
    #[arg(long, value_name = "SYSTEM", conflicts_with = "expand")]
    pub(super) job: Option<Scheduler>,
    /// With `--job`: what starts the processes, a template as for `calibrate`. Default: `srun -n`
    /// in Slurm, `mpiexec -n` in PBS, with what places them on hosts.
    #[arg(long, value_name = "TEMPLATE", requires = "job")]
    pub(super) launcher: Option<Launcher>,
    /// With `--job`: how long it measures at most; its time limit is 20 minutes more, for building.
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = duration)]
    pub(super) budget: Duration,
}

/// Where jobs are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Scheduler {
    /// Slurm, by `sbatch`.
    Slurm,
    /// PBS Professional or OpenPBS, by `qsub`.
    Pbs,
}

/// What `calibrate` takes.
#[derive(Debug, Args)]
pub(super) struct Calibrate {
    #[command(flatten)]
    pub(super) specs: Specs,
    #[command(flatten)]
    pub(super) target: Target,
    #[command(flatten)]
    pub(super) refining: Refining,
    #[command(flatten)]
    pub(super) how: How,
    #[command(flatten)]
    pub(super) output: Output,
    #[command(flatten)]
    pub(super) calls: Calls,
    /// Only measure: write `samples.txt`, and fit nothing.
    #[arg(long, conflicts_with_all = ["refine", "like", "keep", "install", "to", "json"])]
    pub(super) only_samples: bool,
    /// Leave everything as it is unless choices by the new models save time, beyond noise, over
    /// those by this model set. Both are timed at the same inputs.
    #[arg(long, value_name = "FILE")]
    pub(super) keep: Option<PathBuf>,
    /// Also put the models into this user's cache folder (XDG_CACHE_HOME, or ~/.cache), where every
    /// program that chooses through the run-time finds those of its machine, transport and number
    /// of nodes.
    ///
    /// They go before models that are compiled in; a file that STRATA_MODELS names goes before
    /// them. Models of other transports and numbers of nodes that are installed stay. Programs on
    /// simulated machines read no cache.
    #[arg(long)]
    pub(super) install: bool,
    #[command(flatten)]
    pub(super) add: Add,
    /// Print the fit as JSON instead of tables.
    #[arg(long)]
    pub(super) json: bool,
}

/// The inputs at which choices are judged.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Calls {
    /// Time what choices lose at the calls of this table (CSV with the names of the inputs, and
    /// `count`), or of a folder of tables LIBRARY.csv, as a program writes with
    /// STRATA_LOG_INPUTS=DIR. Default: at inputs drawn evenly over what was measured.
    #[arg(long, value_name = "FILE|DIR")]
    pub(super) like: Option<PathBuf>,
}

impl Calls {
    /// Reads the table or tables.
    ///
    /// # Errors
    /// See [`Like::read`].
    pub(super) fn read(&self, spec: &CheckedSpec) -> Result<Like, Failure> {
        let read = |path: &PathBuf| Like::read(path, spec).map_err(Failure::Fault);
        self.like.as_ref().map_or_else(|| Ok(Like::default()), read)
    }
}

/// Where the tables of several machines lie.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Add {
    /// Also put the models into this file of models in Rust, such as `src/models.rs`, or the
    /// `models.rs` of this folder, beside those of other machines. Those of this machine, transport
    /// and number of nodes are replaced. Programs take the models of the nearest machine.
    #[arg(long = "add", value_name = "FILE|DIR")]
    pub(super) to: Option<PathBuf>,
}

/// What `check` takes.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    pub(super) specs: Specs,
    /// Print a summary as JSON.
    #[arg(long, conflicts_with_all = ["fmt", "formatted", "rules", "guidelines"])]
    pub(super) json: bool,
    /// Format the specs in place.
    #[arg(long, conflicts_with = "mode")]
    pub(super) fmt: bool,
    /// Fail where a spec is not formatted as `--fmt` does it.
    #[arg(long, alias = "check", conflicts_with = "mode")]
    pub(super) formatted: bool,
    /// The files are rules of Open MPI for this release (`4.1`, `5.0`, `6.0`), of MPICH
    /// (`mpich-4.0`) or of Intel MPI (`intel-2021.18`), as `export --to openmpi-rules`,
    /// `mpich-json` and `intel-adjust` write them: check that the library would neither ignore
    /// them nor abort. With `--nodes`: run jobs of these numbers of processes, `2,4`, and compare the
    /// messages that they send with those of each rule's algorithm.
    #[arg(long, value_name = "RELEASE", group = "mode")]
    pub(super) rules: Option<Kind>,
    /// The files are samples of an MPI library's collectives, of `specs/comet/mpi` or in any form
    /// that `fit` reads: say where its own choice takes longer than the call for a greater size,
    /// or than other calls that do the same. The intervals hold together with 95 %.
    #[arg(long, group = "mode")]
    pub(super) guidelines: bool,
    /// Time what this model set chooses.
    #[arg(long, value_name = "FILE|DIR", group = "mode", requires = "output", value_parser = model_set)]
    pub(super) models: Option<PathBuf>,
    /// The folder to write to; made where it is missing.
    #[arg(short, long, value_name = "DIR", help_heading = HOLDING)]
    pub(super) output: Option<PathBuf>,
    #[command(flatten, next_help_heading = HOLDING)]
    pub(super) holding: Holding,
}

/// The headings of what goes with `check --models` and with `compare --run`.
pub(super) const HOLDING: &str = "With --models";
pub(super) const RUNNING: &str = "With --run";

/// What is checked beside models, its limits, and where it is timed.
#[derive(Debug, Args)]
pub(super) struct Holding {
    /// Check these thresholds or tables, as `export --to thresholds` wrote them (Rust, C or JSON),
    /// or rules of Open MPI, instead of the choices by the models.
    #[arg(long, value_name = "FILE")]
    pub(super) thresholds: Option<PathBuf>,
    /// Check a constant: this candidate with these parameters, taken everywhere.
    #[arg(long, value_name = "LIBRARY=CANDIDATE[:PARAMETER]", conflicts_with = "thresholds")]
    pub(super) constant: Option<String>,
    /// What choices may lose on average, or as much as was measured when they were calibrated;
    /// rules, what they may lose more than the library's own choice.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percentage)]
    pub(super) accept: f64,
    /// How many decisions of each library are timed.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) decisions: u32,
    #[command(flatten)]
    pub(super) calls: Calls,
    #[command(flatten)]
    pub(super) target: Target,
}

/// How to sample adaptively.
#[derive(Debug, Args)]
pub(super) struct Refining {
    /// Begin with a few points of the loops and go on with those that `advise` names, until every
    /// goal is reached or the budget is spent.
    #[arg(long)]
    pub(super) refine: bool,
    /// With `--refine`: the expected loss of a library's choices that is small enough.
    #[arg(long, value_name = "PERCENT", default_value = "0.05%", value_parser = percentage, requires = "refine")]
    pub(super) goal: f64,
    /// With `--refine`: how close the models that compete nowhere are to be known, as the half
    /// width of their predictions.
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percentage, requires = "refine")]
    pub(super) precision: f64,
}

/// What `advise` takes.
#[derive(Debug, Args)]
pub(super) struct Advise {
    /// A model set: the folder that `fit` or `calibrate` wrote, or its `models.toml`.
    #[arg(value_parser = model_set)]
    pub(super) models: PathBuf,
    /// The libraries and models to improve; where none is named, all libraries, or all models where
    /// there is no library.
    #[arg(value_name = "NAME")]
    pub(super) targets: Vec<String>,
    /// The spec that the models come from: its loops say what can be measured.
    #[arg(long, value_name = "SPEC", required = true)]
    pub(super) spec: Vec<PathBuf>,
    /// The samples that there are, where they do not lie beside the models: their points are not
    /// named again.
    #[arg(long, value_name = "FILE")]
    pub(super) samples: Option<PathBuf>,
    /// How many samples to name at most.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) count: u32,
    /// How long they may take to measure, for example `10s`.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Write the points to this file, for `calibrate --points`.
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// How samples are written that another program took.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Reading {
    /// The program whose results these are, where it is not recognised: `samples` (ours),
    /// `extra-p-text`, `extra-p-json`, `json-lines` (also TaLPas), `csv`, `google-benchmark`,
    /// `hyperfine`, `criterion`, `pytest-benchmark`, `jmh`, `go`, `osu`, `imb`, `nccl-tests`,
    /// `substrate`, `asv`, `benchmark-dot-net`, `kernel-tuner`, `starpu` or `nanobench`.
    #[arg(long = "from", visible_alias = "format", value_name = "FORMAT")]
    pub(super) format: Option<Format>,
    /// Which metric is the time, where a file has several.
    #[arg(long, value_name = "NAME", conflicts_with = "time")]
    pub(super) metric: Option<String>,
    /// The column of CSV that holds the times, or the metric, with its unit: `elapsed:ms`. Default
    /// in CSV: the column `time` or `seconds`, in s. A unit that is none of time (`ps`, `ns`, `us`,
    /// `ms`, `s`, `min`) is kept as it is: `cost:gas`. Said several times, each further column
    /// makes models of its own, `NAME_COLUMN`.
    #[arg(long, value_name = "COLUMN:UNIT")]
    pub(super) time: Vec<TimeColumn>,
    /// Which samples are held out for verification: a share of the points of each model, `20%`, or
    /// the rows of CSV in which this column is 1 (not 0). Default: as the file says.
    #[arg(long, value_name = "SHARE|COLUMN")]
    pub(super) hold_out: Option<HoldOut>,
    /// The column of CSV that names the model of a row, or several that do together. Default: the
    /// one that holds text; without one all rows are of the model with the file's name.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) model_column: Vec<String>,
    /// The columns of CSV that are inputs, instead of all others; or names for the numbers in the
    /// names of benchmarks, in their order: `--inputs n,width` for `sort/1024x64`.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) inputs: Option<Vec<String>>,
    /// An input that a file does not have, with the value that holds for all of it: `ranks=144`.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) set: Vec<Binding>,
    /// The machine that the samples are of, where they do not say: the name of its processor, as the
    /// system gives it, or any other. Thresholds of several machines are told apart by it.
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) machine: Option<String>,
    /// Whether times may be below zero.
    #[arg(skip)]
    pub(super) differences: bool,
    /// The spec's inputs that are one of a few names.
    #[arg(skip)]
    pub(super) kinds: Kinds,
}

/// What `export` takes.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// A model set, or samples in any format that `fit` reads. With `--to models`, `rust`,
    /// `rust-no-std` or `thresholds` several model sets, measured on different platforms by the
    /// same spec.
    #[arg(required = true, value_name = "SOURCE")]
    pub(super) sources: Vec<PathBuf>,
    /// What to write: models as `models` (the `models.rs` of `fit`, of several platforms), `rust`,
    /// `rust-no-std`, `c` (a header), `python`, `csv` (a row a term), or `json`, of which
    /// your own program or template engine makes a file: `models` as rows, and `benchmarks` as the
    /// templates of Substrate's `benchmark pallet` take them; samples as `samples` (ours) or
    /// `json-lines` (Extra-P's).
    ///
    /// Programs get the time of each model, half of its interval, and for each library a function
    /// that chooses; outside what was measured it ranks the candidates at the nearest point that
    /// was, and says so. In Rust, whose tables are those of `models`, these are for example
    /// `threads_4::RADIX_MODEL.predict(nodes, &[…])` and `Sort::choose(…)`.
    ///
    /// `thresholds` (Rust), `thresholds-c` and `thresholds-json` are numbers instead of models: for
    /// a library with one input a constant for each place where the choice changes, for several
    /// inputs a decision table, and `choose`, which compares whole numbers where the inputs are
    /// whole.
    ///
    /// `openmpi-rules` is a file by which Open MPI chooses the algorithms of collectives. A library
    /// of the models is a collective (`allreduce`), a candidate an algorithm, and the candidate
    /// `auto` the library's own choice, which stays where nothing is surely faster. `mpich-json` is
    /// the same for MPICH, written into the tree of its own choices (`--base`), and `intel-adjust`
    /// for Intel MPI, as variables for a shell.
    #[arg(long, value_name = "FORM")]
    pub(super) to: Form,
    /// With `--to openmpi-rules`: for which release, `4.1`, `5.0` or `6.0`.
    #[arg(long, value_name = "RELEASE")]
    pub(super) release: Option<Release>,
    /// With `--to mpich-json`: the tree of choices of the release, `maint/tuning/coll/mpir/generic.json`
    /// of its sources, which the file replaces.
    #[arg(long, value_name = "FILE", required_if_eq("to", "mpich-json"))]
    pub(super) base: Option<PathBuf>,
    /// With `--to openmpi-rules`, `mpich-json` and `intel-adjust`: what fewer, longer ranges may
    /// lose (default: 2 %).
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub(super) lose: Option<f64>,
    /// With `--to thresholds` and rules: inputs that are held fixed, `width=32`; with one left over
    /// there are constants instead of a table.
    #[arg(long, value_name = "INPUT=VALUE,…", value_delimiter = ',')]
    pub(super) at: Vec<Binding>,
    /// With `--to thresholds`.
    #[command(flatten)]
    pub(super) few: FewWays,
    /// With `--to thresholds` and rules: the library (default: all libraries).
    #[arg(long, value_name = "NAME")]
    pub(super) library: Option<String>,
    /// With `--to c` and `thresholds-c`: what all names begin with, so that one program can include
    /// the headers of several sets (default: `strata`).
    #[arg(long, value_name = "NAME", value_parser = prefix)]
    pub(super) prefix: Option<String>,
    /// Write whole numbers that are never below the model: each coefficient rounded up, sums that
    /// stay at the greatest number. With `--to rust`, `c`, `csv` and `json`.
    #[arg(long, value_name = "HOW")]
    pub(super) round: Option<Round>,
    /// The unit of these numbers: one of time, as `ns` (default for rounded times: `ps`), or any
    /// other with how many of it one of the model's own unit is (of times a second): `gas=2.5e9`.
    #[arg(long, value_name = "UNIT[=FACTOR]")]
    pub(super) unit: Option<PriceUnit>,
    /// The model whose samples are written (default: all of them).
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    #[command(flatten)]
    pub(super) reading: Reading,
    /// The file to write (default: standard output).
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

/// How coefficients are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Round {
    /// To the next greater whole number.
    Up,
}

/// What models or samples are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// The Rust that programs compile in to choose with `strata-select`.
    Models,
    /// The same followed by what evaluates it, a Rust module without dependencies.
    Rust,
    /// That for `no_std`, with the crate `libm`.
    RustNoStd,
    /// A C99 header.
    C,
    /// A Python 3 module.
    Python,
    /// Constants or a decision table, in Rust.
    Thresholds,
    /// The same as a C99 header.
    ThresholdsC,
    /// The same as JSON.
    ThresholdsJson,
    /// A rule file of Open MPI.
    OpenmpiRules,
    /// A tree of choices of MPICH.
    MpichJson,
    /// Variables `I_MPI_ADJUST_…` of Intel MPI.
    IntelAdjust,
    /// A row a term.
    Csv,
    /// The same as JSON, for files of your own.
    Json,
    /// Strata's samples.
    Samples,
    /// Extra-P's JSON lines.
    JsonLines,
}

/// Fitting options. They override the spec, and the fitting clauses stored in the samples.
#[derive(Clone, Debug, Args)]
pub(super) struct How {
    /// Minimise the absolute error instead of the relative one.
    #[arg(long)]
    pub(super) absolute: bool,
    /// Leave out the constant term.
    #[arg(long)]
    pub(super) no_constant: bool,
    /// Keep terms whose interval includes zero.
    #[arg(long)]
    pub(super) keep_all: bool,
    /// By what a term is irrelevant: `best-subset` (it is not in the best set of terms), `interval`
    /// or `confidence` (its interval includes zero, as in the thesis), or `aicc` (corrected Akaike
    /// criterion) (default: the spec's, `aicc` for a model by which a library chooses, or `best-subset`).
    #[arg(long, value_name = "BY")]
    pub(super) eliminate: Option<Elimination>,
    /// What relative errors are relative to: `predicted` times, which noise does not bias, or
    /// `measured` ones (as in the thesis) (default: the spec's, or `predicted`).
    #[arg(long, value_name = "TIMES", conflicts_with = "absolute")]
    pub(super) weights: Option<Weights>,
    /// Leave outliers out (`reject`), or not (`none`) (default: the spec's, or `reject`).
    #[arg(long, value_name = "HOW")]
    pub(super) robust: Option<Robust>,
    /// The mean relative error of verification up to which a model passes, for example `15%`
    /// (default: the spec's, or 10 %).
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub(super) accept: Option<f64>,
    /// Allow no negative coefficients: a cost cannot be negative.
    #[arg(long)]
    pub(super) nonnegative: bool,
    /// Fit a bound from above, for example `99%`: coefficients that are not negative and as small
    /// as can be, so that this share of fresh samples lies below with 95 % confidence. It takes
    /// samples that are held out, 299 for 99 %.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(super) upper: Option<f64>,
    /// When to search for terms that nobody named: `never`, `when-needed` (none are named, or those
    /// that are fail), or `always`, which is also what the option alone means (default: the
    /// spec's, `never` for a model by which a library chooses, or `when-needed`).
    #[arg(long, value_name = "WHEN", num_args = 0..=1, default_missing_value = "always")]
    pub(super) search: Option<Search>,
}

/// What `fit` takes. What it says counts more than what the spec says, or the samples with the
/// words of their spec.
#[derive(Debug, Args)]
pub(super) struct Fit {
    /// The samples: the `samples.txt` that `calibrate` wrote, a bare fragment with a structure line,
    /// Extra-P's text, JSON or JSON lines, or CSV. Several files, of several numbers of nodes, are
    /// fitted together.
    #[arg(required = true, value_name = "SAMPLES")]
    pub(super) samples: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) reading: Reading,
    /// The spec that the samples were taken for: its options, hybrid and factored models, and
    /// libraries count then.
    #[arg(long, value_name = "SPEC")]
    pub(super) spec: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) how: How,
    /// The column that holds the variance of each sample's time, in s².
    #[arg(long, value_name = "COLUMN")]
    pub(super) variance: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Also write `models.toml`, `models.rs`, `residuals.txt` and `report.html` to this folder.
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// Write `residuals.txt` of more than 100,000 samples, too.
    #[arg(long, requires = "output")]
    pub(super) residuals: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
