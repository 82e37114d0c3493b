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
use strata_select::normal::HALF_WIDTH;

use crate::compare::median;
use crate::rules::LEAST_GAIN;

/// The probability that noise alone breaks any of the guidelines.
const LEVEL: f64 = 0.05;

/// To how many greater sizes a size is compared.
const GREATER: usize = 3;

/// The variance of a median over that of a mean, of normal noise.
const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// Which of the times of all processes is the slowest's, where an input says so.
const OF_SLOWEST: f64 = 2.0;

/// From so many times on the distance between their quartiles tells how much they scatter.
const MANY_TIMES: usize = 20;

/// The distance between the quartiles of normal values, in standard deviations.
const MIDDLE_HALF: f64 = 1.349;

/// The share of normal values from which the usual standard deviation is as well known as from the
/// quartiles of all.
const EFFICIENCY: f64 = 0.37;

/// So many free timings that an interval is that of normal noise, as the samples' own are.
const NORMAL_FREEDOM: usize = 1000;

/// The most launches that are advised.
const MOST_LAUNCHES: usize = 20;

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

/// The collectives, as models are named: without case, `_`, `Library` or `OSU` before and `Auto`
/// behind. Elsewhere than in our specs the size of `Reduce_scatter` is that of all blocks, so that its
/// name counts with `Auto` alone.
const COLLECTIVES: [(&str, &str); 10] = [
    ("allgather", "allgather"),
    ("allreduce", "allreduce"),
    ("alltoall", "alltoall"),
    ("bcast", "bcast"),
    ("broadcast", "bcast"),
    ("gather", "gather"),
    ("reduce", "reduce"),
    ("reducescatterauto", "reduce_scatter_block"),
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
    /// The interval of `ratio`, above 1. All intervals hold together with 95 %: where there are several
    /// launches, of any launch; of one launch, within it.
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
    /// How many more launches would make another guideline surely broken if the times scatter as they
    /// do; `None` with one launch, where this is not known, or if it would take too many.
    pub more: Option<usize>,
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
    /// Adds a sample of a file whose first launch has this number.
    fn add(&mut self, samples: &Samples, first: usize, row: &Sample) {
        let timings = row.notes.timings.iter().filter(|timing| timing.seconds > 0.0);
        let mut any = false;
        for timing in timings {
            any = true;
            let launch = first + samples.launch_of(timing.moment);
            self.launches.entry(launch).or_default().push(timing.seconds.ln());
        }
        if !any {
            self.launches.entry(first).or_default().push(row.seconds.ln());
            self.spread = self.spread.max(row.notes.spread);
        }
    }

    /// How much single times of a launch scatter.
    fn scatters(&self) -> impl Iterator<Item = f64> {
        self.launches.values().filter(|times| times.len() > 1).map(|times| deviation(times).0)
    }

    /// The variance of a launch's median by the launch's own times, at least that of times that scatter
    /// by `noise`, and its degrees of freedom, of which a single time has none.
    fn within(&self, launch: usize, noise: f64) -> (f64, usize) {
        let times = self.launches.get(&launch).map_or(&[][..], |times| times);
        let (own, freedom) = if times.len() > 1 { deviation(times) } else { (0.0, 0) };
        let variance = OF_MEDIAN * own.max(noise).powi(2) / times.len().max(1) as f64;
        let freedom = if self.spread > 0.0 { NORMAL_FREEDOM } else { freedom };
        (variance.max((self.spread / HALF_WIDTH).powi(2)), freedom)
    }
}

/// The standard deviation of at least two times, and its degrees of freedom. That of many does not
/// regard outliers.
fn deviation(times: &[f64]) -> (f64, usize) {
    let count = times.len();
    if count < MANY_TIMES {
        let mean = times.iter().sum::<f64>() / count as f64;
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        return ((squares / (count - 1) as f64).sqrt(), count - 1);
    }
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let last = count - 1;
    let freedom = (EFFICIENCY * last as f64) as usize;
    ((times[last - last / 4] - times[last / 4]) / MIDDLE_HALF, freedom)
}

/// The measured sizes of a collective.
type Sizes = BTreeMap<u64, Point>;

/// What samples have in common that are compared: the number of processes, and the values of all
/// inputs but the size.
type Group<'a> = (usize, Vec<(&'a str, u64)>);

/// A comparison before it is judged.
struct Comparison {
    bytes: u64,
    parts: Vec<Part>,
    /// The mean logarithm of the ratio.
    log: f64,
    /// Its variance by these times alone, and the degrees of freedom.
    variance: f64,
    freedom: usize,
    launches: usize,
}

/// Compares the times of the library's own choices in samples of its collectives; each file has its
/// own launches. A model is one of a collective if it has its name, as `AllreduceAuto`, `Allreduce`
/// or `LibraryAllReduce`, the input `bytes`, and times. Of models with an input `of` it takes the
/// times of the slowest process, where it is 2. Replacements by several calls take the number of
/// processes, from the platform or an input `ranks`.
///
/// # Errors
/// A message: no model is of a collective, nothing tells how much times scatter, or there are no two
/// calls to compare.
pub fn check(files: &[Samples]) -> Result<Found, String> {
    let mut groups: BTreeMap<Group<'_>, BTreeMap<&'static str, Sizes>> = BTreeMap::new();
    let mut found = Found::default();
    let mut first = 0;
    for samples in files {
        for model in samples.models.iter().filter(|model| model.unit.is_seconds()) {
            let Some(collective) = named(&model.name) else { continue };
            let place = |text: &str| model.columns.iter().position(|column| column.text == text);
            let (Some(bytes), of) = (place("bytes"), place("of")) else { continue };
            found.collectives.insert(collective);
            for row in model.rows.iter().filter(|row| row.seconds.is_finite() && row.seconds > 0.0) {
                if of.is_some_and(|of| row.values.get(of) != Some(&OF_SLOWEST)) {
                    continue;
                }
                let Some(size) = row.values.get(bytes).filter(|size| **size > 0.0) else { continue };
                let sizes = groups.entry(group(model, row)).or_default().entry(collective).or_default();
                sizes.entry(*size as u64).or_default().add(samples, first, row);
            }
        }
        first += samples.launches.len() + 1;
    }
    if groups.is_empty() {
        return Err(
            "no model is of a collective by the library's own choice: they are named as `AllreduceAuto` of \
                    `specs/comet/mpi` or by the collective alone, and have the input `bytes`"
                .to_owned(),
        );
    }
    let points = || groups.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values);
    let scatters: Vec<f64> = points().flat_map(Point::scatters).collect();
    let is_told = points().any(|point| point.spread > 0.0 || point.launches.len() > 1);
    if scatters.is_empty() && !is_told {
        return Err(
            "every size was measured once, so that nothing tells how much times scatter: measure again, and \
                    name both files"
                .to_owned(),
        );
    }
    let noise = if scatters.is_empty() { 0.0 } else { median(scatters) };
    let mut all: Vec<(&Group<'_>, &'static str, Vec<Comparison>)> = Vec::new();
    for (group, collectives) in &groups {
        for (collective, sizes) in collectives {
            all.push((group, collective, comparisons(group, collective, sizes, collectives, noise)));
        }
    }
    found.comparisons = all.iter().map(|(.., list)| list.len()).sum();
    if found.comparisons == 0 {
        let collectives: Vec<&str> = found.collectives.iter().copied().collect();
        return Err(format!(
            "no two calls of {} can be compared, so that nothing is known: measure several sizes of a collective, \
             each several times, or in several launches whose files are named together",
            collectives.join(", ")
        ));
    }
    found.launches = all.iter().flat_map(|(.., list)| list).map(|one| one.launches).min().unwrap_or(0);
    for (group, collective, list) in &all {
        let (broken, more) = broken(group.0, collective, list, found.comparisons);
        found.broken.extend(broken);
        found.more = [found.more, more].into_iter().flatten().min();
    }
    Ok(found)
}

/// The collective of a model's name.
fn named(model: &str) -> Option<&'static str> {
    let plain: String = model.chars().filter(|letter| *letter != '_').collect();
    let plain = plain.to_ascii_lowercase();
    let plain = ["library", "osu"].iter().find_map(|head| plain.strip_prefix(head)).unwrap_or(&plain);
    let (whole, plain) = (plain, plain.strip_suffix("auto").unwrap_or(plain));
    COLLECTIVES.iter().find(|(name, _)| *name == plain || *name == whole).map(|(_, collective)| *collective)
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
    noise: f64,
) -> Vec<Comparison> {
    let mut list = Vec::new();
    for (bytes, point) in sizes {
        for (greater, padded) in sizes.range(bytes + 1..).take(GREATER) {
            let part = Part { collective, bytes: *greater };
            list.extend(comparison(*bytes, point, vec![(part, padded)], noise));
        }
        let processes = group.0 as u64;
        if processes < 2 {
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

/// The ratio of a call's time to that of its replacement, in each launch that has measured both.
/// Ratios of several launches are judged by how they scatter, whatever differs between launches and
/// sizes; that of the only launch by its times. `None` without a launch of both, or of single times
/// in the only one.
fn comparison(bytes: u64, whole: &Point, parts: Vec<(Part, &Point)>, noise: f64) -> Option<Comparison> {
    let mid = |point: &Point, launch: usize| point.launches.get(&launch).cloned().map(median);
    let mut logs: Vec<f64> = Vec::new();
    let (mut within, mut least_freedom) = (0.0, usize::MAX);
    for launch in whole.launches.keys() {
        let times: Option<Vec<f64>> =
            parts.iter().map(|(_, point)| Some(mid(point, *launch)?.exp())).collect();
        let (Some(own), Some(times)) = (mid(whole, *launch), times) else { continue };
        let total: f64 = times.iter().sum();
        logs.push(own - total.ln());
        let others = parts.iter().zip(times).map(|((_, point), time)| (*point, time / total));
        for (point, weight) in others.chain([(whole, 1.0)]) {
            let (variance, freedom) = point.within(*launch, noise);
            within += weight.powi(2) * variance;
            least_freedom = least_freedom.min(freedom);
        }
    }
    let launches = logs.len();
    let count = launches as f64;
    let log = logs.iter().sum::<f64>() / count;
    let within = within / (count * count);
    let (variance, freedom) = match launches {
        0 => return None,
        1 if least_freedom == 0 => return None,
        1 => (within, least_freedom),
        _ => {
            let squares: f64 = logs.iter().map(|one| (one - log).powi(2)).sum();
            (within.max(squares / (count - 1.0) / count), launches - 1)
        }
    };
    let parts = parts.into_iter().map(|(part, _)| part).collect();
    Some(Comparison { bytes, parts, log, variance, freedom, launches })
}

/// The comparisons of a collective that are surely broken, of each size the greatest by padding and
/// the greatest by other calls; and how many more launches would make one sure that is not. `all` is
/// the number of all comparisons, which hold together.
fn broken(
    processes: usize,
    collective: &'static str,
    list: &[Comparison],
    all: usize,
) -> (Vec<Broken>, Option<usize>) {
    // By chance a few launches agree: the spread at one size is at least that of all sizes. Of
    // variances from few launches most are too small, and so is their median.
    let spreads = list.iter().filter(|one| one.launches > 1).map(|one| {
        let free = one.freedom as f64;
        one.variance * one.launches as f64 / (1.0 - 2.0 / (9.0 * free)).powi(3)
    });
    let spreads: Vec<f64> = spreads.collect();
    let pooled = if spreads.is_empty() { 0.0 } else { median(spreads) };
    let half = |of_one: f64, launches: usize, freedom: usize| {
        let quantile = t_quantile(1.0 - LEVEL / all.max(1) as f64, freedom)?;
        Some(quantile * (of_one / launches as f64).sqrt())
    };
    let mut found: BTreeMap<(bool, u64), Broken> = BTreeMap::new();
    let mut more: Option<usize> = None;
    for one in list.iter().filter(|one| one.log >= LEAST_GAIN.ln()) {
        let several = one.launches > 1;
        let of_one = (one.variance * one.launches as f64).max(if several { pooled } else { 0.0 });
        let Some(half) = half(of_one, one.launches, one.freedom).filter(|half| *half < one.log) else {
            let most = more.unwrap_or(MOST_LAUNCHES);
            let enough = |more: &usize| {
                let launches = one.launches + more;
                half(of_one, launches, launches - 1).is_some_and(|half| half < one.log)
            };
            more = if several { (1..most).find(enough).or(more) } else { more };
            continue;
        };
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
    (found.into_values().collect(), more)
}
