//! Whether an MPI library's collectives keep the guidelines of self-consistent performance, by
//! measured times alone.
//!
//! A call must not take longer than other calls of the same library that do what it does: the call
//! for a greater message, with padding, or two calls one after the other. Where it does, a program
//! gains by calling those. The copies that padding may take are not counted.
//!
//! Source: Träff, Gropp and Thakur, "Self-consistent MPI performance guidelines", *IEEE TPDS* 21(5),
//! 2010; the replacements are those of Hunold and Carpen-Amarie, "Autotuning MPI collectives using
//! performance guidelines", HPC Asia 2018, as far as they need no more than the calls.

use std::collections::{BTreeMap, BTreeSet};

use strata_fit::stats::t_quantile;
use strata_model::Samples;
use strata_model::samples::{ModelSamples, Sample};

use crate::compare::median;

/// The probability that noise alone breaks any of the guidelines.
const LEVEL: f64 = 0.05;

/// To how many greater sizes a size is compared.
const GREATER: usize = 3;

/// The variance of a median over that of a mean, of normal noise.
const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// The half width of a 95 % interval, in standard deviations.
const NORMAL: f64 = 1.96;

/// The expected range of two and of three normal values, and the distance between their quartiles,
/// in standard deviations.
const RANGE_OF_TWO: f64 = 1.128;
const RANGE_OF_THREE: f64 = 1.693;
const MIDDLE_HALF: f64 = 1.349;

/// What a part of a replacement passes, where the call passes n bytes a process.
#[derive(Clone, Copy)]
enum Share {
    /// n.
    Same,
    /// n for each process.
    Times,
    /// n over the number of processes.
    Over,
}

use Share::{Over, Same, Times};

/// Calls that do what another does. The bytes are those that one process passes or, of
/// `reduce_scatter_block`, gets.
const REPLACEMENTS: [(&str, &[(&str, Share)]); 9] = [
    ("allreduce", &[("reduce", Same), ("bcast", Same)]),
    ("allreduce", &[("reduce_scatter_block", Over), ("allgather", Over)]),
    ("allgather", &[("gather", Same), ("bcast", Times)]),
    ("bcast", &[("scatter", Over), ("allgather", Over)]),
    ("gather", &[("allgather", Same)]),
    ("scatter", &[("bcast", Times)]),
    ("reduce", &[("allreduce", Same)]),
    ("reduce", &[("reduce_scatter_block", Over), ("gather", Over)]),
    ("reduce_scatter_block", &[("reduce", Times), ("scatter", Same)]),
];

/// The collectives, as models are named: without case, `_`, `Library`
/// or `OSU` before and `Auto` behind.
const COLLECTIVES: [(&str, &str); 11] = [
    ("allgather", "allgather"),
    ("allreduce", "allreduce"),
    ("alltoall", "alltoall"),
    ("bcast", "bcast"),
    ("broadcast", "bcast"),
    ("gather", "gather"),
    ("reduce", "reduce"),
    ("reducescatter", "reduce_scatter_block"),
    ("reducescatterblock", "reduce_scatter_block"),
    ("scan", "scan"),
    ("scatter", "scatter"),
];

/// A call of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The collective.
    pub collective: &'static str,
    /// The bytes that a process passes: the least measured size that suffices.
    pub bytes: u64,
}

/// A guideline that is broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The collective.
    pub collective: &'static str,
    /// The number of processes; 0 if it is not known.
    pub processes: usize,
    /// The bytes that a process passes.
    pub bytes: u64,
    /// What takes less time.
    pub cheaper: Vec<Part>,
    /// The time over that of `cheaper`.
    pub ratio: f64,
    /// The interval of `ratio`, above 1. All intervals hold together with 95 %.
    pub interval: (f64, f64),
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The collectives that were looked at.
    pub collectives: BTreeSet<&'static str>,
    /// How many comparisons were made.
    pub comparisons: usize,
    /// The launches that the least comparison has.
    pub launches: usize,
    /// What is broken, by processes, collective, whether by padding, and size.
    pub broken: Vec<Broken>,
}

/// The logarithms of the times at a size, by launch.
#[derive(Default)]
struct Point {
    launches: BTreeMap<usize, Vec<f64>>,
    /// The relative half width of the median's interval where a sample has no single timings.
    spread: f64,
}

impl Point {
    fn add(&mut self, samples: &Samples, row: &Sample) {
        let timings = row.notes.timings.iter().filter(|timing| timing.seconds > 0.0);
        let mut any = false;
        for timing in timings {
            any = true;
            let launch = samples.launch_of(timing.moment);
            self.launches.entry(launch).or_default().push(timing.seconds.ln());
        }
        if !any {
            self.launches.entry(0).or_default().push(row.seconds.ln());
            self.spread = self.spread.max(row.notes.spread);
        }
    }

    /// How much single times of a launch scatter, and how many are free.
    fn scatters(&self) -> impl Iterator<Item = (f64, usize)> {
        self.launches
            .values()
            .filter(|times| times.len() > 1)
            .map(|times| (deviation(times), times.len() - 1))
    }
}

/// The standard deviation of at least two times without regard to outliers: from their range, or of
/// four and more from the half in the middle.
fn deviation(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let last = times.len() - 1;
    match last {
        1 => (times[1] - times[0]) / RANGE_OF_TWO,
        2 => (times[2] - times[0]) / RANGE_OF_THREE,
        _ => (times[last - last / 4] - times[last / 4]) / MIDDLE_HALF,
    }
}

/// The measured sizes of a collective.
type Sizes = BTreeMap<u64, Point>;

/// What samples have in common that are compared: the number of processes, and the values of all
/// inputs but the size.
type Group<'a> = (usize, Vec<(&'a str, u64)>);

/// How much single times scatter over all sizes.
#[derive(Clone, Copy)]
struct Noise {
    deviation: f64,
    freedom: usize,
}

/// A comparison before it is judged.
struct Comparison {
    bytes: u64,
    parts: Vec<Part>,
    /// The mean logarithm of the ratio.
    log: f64,
    /// Its variance by these times alone, and the number of free ones.
    variance: f64,
    freedom: usize,
    launches: usize,
}

/// Compares the times of the library's own choices in samples of its collectives. A model is one of
/// a collective if it has its name, as `AllreduceAuto`, `Allreduce` or `LibraryAllReduce`, and the
/// input `bytes`. Replacements by several calls take the number of processes, from the platform or an
/// input `ranks`, and times of the slowest process: of models with an input `of`, those where it
/// is 2.
///
/// # Errors
/// A message: no model is of a collective, or nothing tells how much times scatter.
pub fn check(samples: &Samples) -> Result<Found, String> {
    let mut groups: BTreeMap<Group<'_>, BTreeMap<&'static str, Sizes>> = BTreeMap::new();
    let mut found = Found::default();
    for model in &samples.models {
        let Some(collective) = named(&model.name) else { continue };
        let Some(bytes) = model.columns.iter().position(|column| column.text == "bytes") else { continue };
        found.collectives.insert(collective);
        for row in model.rows.iter().filter(|row| row.seconds.is_finite() && row.seconds > 0.0) {
            let Some(size) = row.values.get(bytes).filter(|size| **size > 0.0) else { continue };
            let sizes = groups.entry(group(model, row)).or_default().entry(collective).or_default();
            sizes.entry(*size as u64).or_default().add(samples, row);
        }
    }
    if groups.is_empty() {
        return Err(
            "no model is of a collective by the library's own choice: they are named as `AllreduceAuto` of \
                    `specs/comet/mpi` or by the collective alone, and have the input `bytes`"
                .to_owned(),
        );
    }
    let points = || groups.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values);
    let scatters: Vec<(f64, usize)> = points().flat_map(Point::scatters).collect();
    let is_told = points().any(|point| point.spread > 0.0 || point.launches.len() > 1);
    if scatters.is_empty() && !is_told {
        return Err(
            "every size was measured once, so that nothing tells how much times scatter: measure again, and \
                    name both files"
                .to_owned(),
        );
    }
    let noise = Noise {
        deviation: if scatters.is_empty() { 0.0 } else { median(scatters.iter().map(|one| one.0).collect()) },
        freedom: scatters.iter().map(|one| one.1).sum(),
    };
    let mut all: Vec<(&Group<'_>, &'static str, Vec<Comparison>)> = Vec::new();
    for (group, collectives) in &groups {
        for (collective, sizes) in collectives {
            all.push((group, collective, comparisons(group, collective, sizes, collectives, noise)));
        }
    }
    found.comparisons = all.iter().map(|(.., list)| list.len()).sum();
    found.launches = all.iter().flat_map(|(.., list)| list).map(|one| one.launches).min().unwrap_or(0);
    for (group, collective, list) in &all {
        found.broken.extend(broken(group.0, collective, list, found.comparisons));
    }
    Ok(found)
}

/// The collective of a model's name.
fn named(model: &str) -> Option<&'static str> {
    let plain: String = model.chars().filter(|letter| *letter != '_').collect();
    let plain = plain.to_ascii_lowercase();
    let plain = ["library", "osu"].iter().find_map(|head| plain.strip_prefix(head)).unwrap_or(&plain);
    let plain = plain.strip_suffix("auto").unwrap_or(plain);
    COLLECTIVES.iter().find(|(name, _)| *name == plain).map(|(_, collective)| *collective)
}

fn group<'a>(model: &'a ModelSamples, row: &Sample) -> Group<'a> {
    let value = |place: usize| row.values.get(place).copied().unwrap_or(f64::NAN);
    let others = model.inputs().filter(|(_, column)| column.text != "bytes");
    let ranks = model.columns.iter().position(|column| column.text == "ranks").map(value);
    let processes = ranks.map_or(row.notes.nodes, |ranks| ranks as usize);
    let others = others.map(|(place, column)| (&*column.text, value(place).to_bits()));
    (processes, others.collect())
}

/// All comparisons of a collective.
fn comparisons(
    group: &Group<'_>,
    collective: &'static str,
    sizes: &Sizes,
    all: &BTreeMap<&'static str, Sizes>,
    noise: Noise,
) -> Vec<Comparison> {
    let mut list = Vec::new();
    for (bytes, point) in sizes {
        for (greater, padded) in sizes.range(bytes + 1..).take(GREATER) {
            let part = Part { collective, bytes: *greater };
            list.extend(comparison(*bytes, point, vec![(part, padded)], noise));
        }
        let is_slowest = |(name, value): &(&str, u64)| *name != "of" || *value == 2.0_f64.to_bits();
        let processes = group.0 as u64;
        if processes < 2 || !group.1.iter().all(is_slowest) {
            continue;
        }
        for (_, parts) in REPLACEMENTS.iter().filter(|(whole, _)| *whole == collective) {
            let parts = parts.iter().map(|(name, share)| {
                let least = match share {
                    Same => *bytes,
                    Times => bytes.checked_mul(processes)?,
                    Over => bytes.div_ceil(processes),
                };
                let (bytes, point) = all.get(name)?.range(least..).next()?;
                Some((Part { collective: name, bytes: *bytes }, point))
            });
            let parts: Option<Vec<_>> = parts.collect();
            list.extend(parts.and_then(|parts| comparison(*bytes, point, parts, noise)));
        }
    }
    list
}

/// The ratio of a call's time to that of its replacement: of launches that have measured both, or
/// within the only one.
fn comparison(bytes: u64, whole: &Point, parts: Vec<(Part, &Point)>, noise: Noise) -> Option<Comparison> {
    let is_common = |launch: &&usize| parts.iter().all(|(_, point)| point.launches.contains_key(launch));
    let launches: Vec<usize> = whole.launches.keys().filter(is_common).copied().collect();
    let mid = |point: &Point, launch: usize| point.launches.get(&launch).cloned().map(median);
    let ratio = |launch: usize| {
        let other: Option<f64> = parts.iter().map(|(_, point)| Some(mid(point, launch)?.exp())).sum();
        Some(mid(whole, launch)? - other?.ln())
    };
    let logs: Vec<f64> = launches.iter().filter_map(|launch| ratio(*launch)).collect();
    let count = logs.len();
    let log = logs.iter().sum::<f64>() / count as f64;
    let (variance, freedom) = match launches.as_slice() {
        [] => return None,
        [launch] => {
            let total: f64 = parts.iter().filter_map(|(_, point)| mid(point, *launch)).map(f64::exp).sum();
            let of = |point: &Point, weight: f64| {
                let times = point.launches.get(launch).map_or(&[][..], |times| times);
                let own = if times.len() > 1 { deviation(times) } else { 0.0 };
                // Few times tell little of their scatter: it is at least that of all sizes.
                let variance = OF_MEDIAN * own.max(noise.deviation).powi(2) / times.len().max(1) as f64;
                weight.powi(2) * variance.max((point.spread / NORMAL).powi(2))
            };
            let others =
                parts.iter().map(|(_, point)| of(point, mid(point, *launch).map_or(0.0, f64::exp) / total));
            (of(whole, 1.0) + others.sum::<f64>(), if noise.freedom == 0 { MANY } else { noise.freedom })
        }
        _ => {
            let squares: f64 = logs.iter().map(|one| (one - log).powi(2)).sum();
            (squares / (count - 1) as f64 / count as f64, count - 1)
        }
    };
    let parts = parts.into_iter().map(|(part, _)| part).collect();
    Some(Comparison { bytes, parts, log, variance, freedom, launches: count })
}

/// The comparisons of a collective that are surely broken, of each size the greatest by padding and
/// the greatest by other calls. `all` is the number of all comparisons, which hold together.
fn broken(processes: usize, collective: &'static str, list: &[Comparison], all: usize) -> Vec<Broken> {
    // Few launches tell little of the spread at one size: it is at least that of all sizes. Of
    // variances from few launches most are too small, and so is their median.
    let several = || list.iter().filter(|one| one.launches > 1);
    let spreads = several().map(|one| {
        let free = one.freedom as f64;
        one.variance * one.launches as f64 / (1.0 - 2.0 / (9.0 * free)).powi(3)
    });
    let spreads: Vec<f64> = spreads.collect();
    let pooled = if spreads.is_empty() { 0.0 } else { median(spreads) };
    // Comparisons share sizes: only one of each is independent.
    let sizes: BTreeSet<u64> = several().map(|one| one.bytes).collect();
    let mut found: BTreeMap<(bool, u64), Broken> = BTreeMap::new();
    for one in list {
        let (variance, freedom) = match one.launches {
            1 => (one.variance, one.freedom),
            launches => (one.variance.max(pooled / launches as f64), one.freedom * sizes.len().max(1)),
        };
        let Some(quantile) = t_quantile(1.0 - LEVEL / all.max(1) as f64, freedom) else { continue };
        let half = quantile * variance.sqrt();
        if one.log - half <= 0.0 {
            continue;
        }
        let by_padding = matches!(one.parts.as_slice(), [part] if part.collective == collective);
        let new = Broken {
            collective,
            processes,
            bytes: one.bytes,
            cheaper: one.parts.clone(),
            ratio: one.log.exp(),
            interval: ((one.log - half).exp(), (one.log + half).exp()),
        };
        match found.get(&(by_padding, one.bytes)) {
            Some(known) if known.ratio >= new.ratio => {}
            _ => _ = found.insert((by_padding, one.bytes), new),
        }
    }
    found.into_values().collect()
}

/// So many free timings that an interval is that of normal noise, as the samples' own are.
const MANY: usize = 1000;
