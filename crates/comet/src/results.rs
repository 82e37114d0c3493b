//! Evaluates samples: a distribution of every point, curves, and the machine's parameters.

use std::path::Path;

use serde::{Deserialize, Serialize};
use strata_model::Samples;
use strata_model::samples::{ModelSamples, Timing};
use thiserror::Error;

use crate::curve::{Break, Curve, Estimate, LEAST, Measured};
use crate::series::{Belief, Contaminated, contaminated, median_of};
use crate::suite::{LeftOut, Size, model_named};

/// A size is known well enough where its neighbours are this close, as a share.
const CLOSE: f64 = 0.01;

/// Messages whose time between each other shows their bytes alone are as long as the longest one
/// divided by this.
const LONG: f64 = 3.0;

/// The most breaks that are looked for.
const BREAKS: usize = 4;

/// The version of the JSON format.
pub const VERSION: u32 = 1;

/// The results of a run of the benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`VERSION`].
    pub comet: u32,
    /// The machine, the transport and the number of nodes.
    pub platform: String,
    /// Number of nodes.
    pub nodes: usize,
    /// What else times depend on.
    #[serde(default)]
    pub setup: Setup,
    /// True if time was simulated and is therefore exact.
    pub simulated: bool,
    /// Set if other programs disturbed the run.
    pub contaminated: Option<Contaminated>,
    /// The results of each kernel's model.
    pub kernels: Vec<KernelResult>,
    /// LogGP's parameters, if the kernels that they need were measured.
    pub loggp: Option<LogGp>,
    /// What computing during an exchange saves.
    #[serde(default)]
    pub gains: Vec<Gain>,
    /// What was asked for and not measured, with the reasons.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

/// What times depend on besides the platform; empty where it is not known or does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// The command that starts MPI jobs, and its version.
    pub mpi: String,
    /// The file of the MPI library with which the profiling program is linked.
    pub library: String,
    /// The compiler's version.
    pub compiler: String,
    /// The version of the system's kernel.
    pub kernel: String,
    /// How clocks are governed.
    pub governor: String,
    /// What the user fixed: numbers of operations, and whether each node is the root in turn.
    pub fixed: Fixed,
    /// The host of each MPI process and the processors to which it is bound; of threads, those of
    /// all together.
    pub places: Vec<String>,
}

/// What the user fixed of every timing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fixed {
    /// Timed operations.
    pub repetitions: Option<usize>,
    /// Operations before them.
    pub warm_up: Option<usize>,
    /// True if each node is the root in turn.
    pub roots_in_turn: bool,
}

impl Fixed {
    fn text(self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.repetitions.map(|count| format!("{count} operations a timing")));
        parts.extend(self.warm_up.map(|count| format!("{count} before them")));
        parts.extend(self.roots_in_turn.then(|| "roots in turn".to_owned()));
        parts.join(", ")
    }
}

impl Setup {
    /// Its parts that are known, with their names.
    #[must_use]
    pub fn parts(&self) -> Vec<(&'static str, String)> {
        let mut runs: Vec<(String, usize)> = Vec::new();
        for place in &self.places {
            match runs.last_mut().filter(|(last, _)| last == place) {
                Some((_, count)) => *count += 1,
                None => runs.push((place.clone(), 1)),
            }
        }
        let place = |(place, count): (String, usize)| match count {
            1 => place,
            count => format!("{count} on {place}"),
        };
        let places = runs.into_iter().map(place).collect::<Vec<_>>().join("; ");
        let all = [
            ("MPI", self.mpi.clone()),
            ("MPI library", self.library.clone()),
            ("compiler", self.compiler.clone()),
            ("kernel", self.kernel.clone()),
            ("governor", self.governor.clone()),
            ("fixed", self.fixed.text()),
            ("places", places),
        ];
        all.into_iter().filter(|(_, part)| !part.is_empty()).collect()
    }
}

/// What computing during an exchange saves, compared with computing after it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Bytes of each message.
    pub bytes: i64,
    /// Numbers that are computed.
    pub length: i64,
    /// The saved share of the time.
    pub share: Estimate,
}

/// The results of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelResult {
    /// The name of the model, `Echo`.
    pub model: String,
    /// The timed operation.
    pub title: String,
    /// The unit of sizes: `bytes`, `elements`, `rows`; empty without a size.
    pub unit: String,
    /// Points, by size, then by the other variables.
    pub points: Vec<PointResult>,
    /// Points that the clock is too coarse to measure, by the values of their variables.
    #[serde(default)]
    pub untold: Vec<Vec<i64>>,
    /// The curve over sizes, at the least value of each other variable.
    pub curve: Option<Curve>,
    /// The boundaries of its pieces.
    pub breaks: Vec<Break>,
    /// r∞: the bandwidth of infinitely long messages, bytes a second.
    pub rate: Option<f64>,
    /// n½: the size at which half of r∞ is reached.
    pub half_size: Option<f64>,
    /// The largest measured bandwidth, bytes a second.
    pub peak: Option<f64>,
    /// N50: the size at which half of the largest bandwidth is reached.
    pub n50: Option<f64>,
    /// N90: the same for nine tenths.
    pub n90: Option<f64>,
    /// h: the cost of each hop beyond the first for sizes on each piece of the curve, in s.
    pub per_hop: Vec<PerHop>,
    /// Of a non-blocking collective: what computing during it saves.
    #[serde(default)]
    pub overlaps: Vec<Overlap>,
}

/// A non-blocking collective, a computation that takes about as long, and both at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Bytes of a block; 0 of a barrier.
    pub bytes: i64,
    /// The collective alone, s.
    pub alone: f64,
    /// The computation alone, s.
    pub computing: f64,
    /// Both at once, s.
    pub both: f64,
}

impl Overlap {
    /// The share of the collective's time that the computation hides, from 0 to 1, as OSU's
    /// benchmarks define it: what both take beyond the computation is not hidden.
    #[must_use]
    pub fn share(&self) -> f64 {
        (1.0 - (self.both - self.computing) / self.alone).clamp(0.0, 1.0)
    }
}

/// The cost of each hop beyond the first for a range of message sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PerHop {
    /// The least size.
    pub from: f64,
    /// The greatest size.
    pub to: f64,
    /// Seconds a hop.
    pub seconds: Estimate,
}

/// One point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// The values of the variables; the first one is the size.
    pub at: Vec<i64>,
    /// Its timings.
    pub belief: Belief,
}

/// The parameters of LogGP (Alexandrov, Ionescu, Schauser and Scheiman 1995). Times in seconds;
/// small messages have 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogGp {
    /// L: from the end of sending to the start of receiving.
    #[serde(rename = "L")]
    pub latency: Estimate,
    /// o of the sender.
    pub o_s: Estimate,
    /// o of the receiver.
    pub o_r: Estimate,
    /// g: the time between small messages in a stream.
    pub g: Estimate,
    /// G: the time between bytes of a long message.
    #[serde(rename = "G")]
    pub gap_byte: Estimate,
}

/// Why results cannot be read.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum ResultsError {
    /// The file cannot be read.
    #[error("{path}: {source}; `comet -o DIR` writes it")]
    File { path: String, source: std::io::Error },
    /// It was not written by `comet`.
    #[error("{path}: {reason}; it is no comet.json of this version, measure again with `comet -o DIR`")]
    Text { path: String, reason: String },
}

impl Results {
    /// Reads the results in `folder`, or in the file if `folder` is a file.
    ///
    /// # Errors
    /// If there are none, or they have another version.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let path = if folder.is_dir() { folder.join("comet.json") } else { folder.to_owned() };
        let shown = path.display().to_string();
        let bytes =
            std::fs::read(&path).map_err(|source| ResultsError::File { path: shown.clone(), source })?;
        // Also rejects a file that is not text.
        let results: Self = serde_json::from_slice(&bytes)
            .map_err(|error| ResultsError::Text { path: shown.clone(), reason: error.to_string() })?;
        if results.comet != VERSION {
            let reason = format!("its version is {}, not {VERSION}", results.comet);
            return Err(ResultsError::Text { path: shown, reason });
        }
        Ok(results)
    }

    /// The results as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers, texts and lists only, so that serialization cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The total number of timings. It cannot overflow, whatever the file contains.
    #[must_use]
    pub fn timings(&self) -> usize {
        let points = self.kernels.iter().flat_map(|kernel| &kernel.points);
        points.fold(0, |sum, point| sum.saturating_add(point.belief.timings))
    }

    /// The results of a model.
    #[must_use]
    pub fn kernel(&self, model: &str) -> Option<&KernelResult> {
        self.kernels.iter().find(|kernel| kernel.model == model)
    }

    /// The results of samples of the benchmark's specs; models of other specs are skipped.
    #[must_use]
    pub fn of(samples: &Samples) -> Self {
        let platform = samples.platform.as_ref();
        let simulated = platform.is_some_and(|platform| platform.transport.starts_with("sim"));
        let all: Vec<Vec<Timing>> = samples
            .models
            .iter()
            .flat_map(|model| model.rows.iter().map(|row| told(&row.notes.timings)))
            .collect();
        let kernels: Vec<KernelResult> = samples.models.iter().filter_map(KernelResult::of).collect();
        let mut results = Self {
            comet: VERSION,
            platform: platform.map(ToString::to_string).unwrap_or_default(),
            nodes: platform.map_or(0, |platform| platform.nodes),
            setup: Setup::default(),
            simulated,
            contaminated: if simulated { None } else { contaminated(&all) },
            kernels,
            loggp: None,
            gains: Vec::new(),
            left_out: Vec::new(),
        };
        results.loggp = results.parameters();
        results.gains = results.gains();
        results
    }

    /// The gain of overlap at each point of both orders.
    fn gains(&self) -> Vec<Gain> {
        let (Some(after), Some(during)) = (self.kernel("Synchronous"), self.kernel("Asynchronous")) else {
            return Vec::new();
        };
        let gain = |point: &PointResult| {
            let other = &after.points.iter().find(|other| other.at == point.at)?.belief;
            let &[bytes, length] = &point.at[..] else { return None };
            let share = |during: f64, after: f64| 1.0 - during / after;
            let (value, low, high) = (
                share(point.belief.median, other.median),
                share(point.belief.high, other.low),
                share(point.belief.low, other.high),
            );
            Some(Gain { bytes, length, share: Estimate { value, low, high } })
        };
        during.points.iter().filter_map(gain).collect()
    }

    /// Sizes of the echo between neighbouring ones that are not close yet: beside its largest breaks,
    /// and beside N50 and N90.
    #[must_use]
    pub fn more_sizes(&self) -> Vec<i64> {
        let Some(echo) = self.kernel("Echo") else { return Vec::new() };
        let mut breaks = echo.breaks.clone();
        breaks.sort_by(|a, b| (b.jump.ln().abs()).total_cmp(&a.jump.ln().abs()));
        let mut gaps: Vec<(f64, f64)> =
            breaks.iter().take(BREAKS).map(|one| (one.after, one.before)).collect();
        let sizes: Vec<f64> = echo.line().map(PointResult::size).collect();
        for size in [echo.n50, echo.n90].into_iter().flatten() {
            let above = sizes.partition_point(|known| *known < size);
            gaps.extend(above.checked_sub(1).and_then(|below| Some((sizes[below], *sizes.get(above)?))));
        }
        let wide = |(low, high): &(f64, f64)| high - low > (CLOSE * low).max(1.0);
        let middle = |(low, high): (f64, f64)| ((low * high).sqrt().round() as i64).clamp(1, 1 << 20);
        gaps.into_iter().filter(wide).map(middle).collect()
    }

    /// Points of overlap whose computation takes as long as the exchange, where it can save most.
    #[must_use]
    pub fn balanced(&self) -> Vec<Vec<i64>> {
        let alone = self.kernel("Daxpy").and_then(|kernel| kernel.line().last());
        let (Some(after), Some(alone)) = (self.kernel("Synchronous"), alone) else { return Vec::new() };
        let each = alone.belief.median / alone.size().max(1.0);
        let mut points = Vec::new();
        for point in after.line() {
            let length = (point.belief.median / each).round();
            // Two digits, so that a slightly different time gives the same point.
            let digits = 10f64.powf(length.max(1.0).log10().floor() - 1.0);
            let length = ((length / digits).round() * digits) as i64;
            if each > 0.0 && (1..=1 << 20).contains(&length) {
                points.push(vec![point.at[0], length]);
            }
        }
        points
    }

    /// LogGP's parameters: from small messages of 8 bytes, and for long ones from the last piece of
    /// the gaps' curve.
    fn parameters(&self) -> Option<LogGp> {
        let at = |model: &str| self.kernel(model)?.near(8.0);
        let (sent, received, gap) = (at("SendOverhead")?, at("ReceiveOverhead")?, at("Gap")?);
        let one_way = at("Echo")?;
        // One of the two polls of every reception finds nothing.
        let poll = self.kernel("Poll").and_then(|poll| poll.near(0.0)).unwrap_or_default();
        let look = Estimate { value: poll.value / 2.0, low: poll.low / 2.0, high: poll.high / 2.0 };
        let o_r = minus(received, look);
        let latency = minus(minus(one_way, sent), received);
        // Of short messages the last packet is a large part, which is not full.
        let gaps = self.kernel("Gap")?;
        let longest = gaps.line().map(PointResult::size).fold(0.0, f64::max);
        let long = gaps.measured().filter(|one| one.size >= longest / LONG).collect::<Vec<_>>();
        let curve = Curve::fit(&long).or_else(|| gaps.curve.clone())?;
        let gap_byte = curve.pieces.last()?.per_byte;
        Some(LogGp { latency, o_s: sent, o_r, g: gap, gap_byte })
    }
}

/// The timings that are numbers: a kernel returns NaN if its clock is too coarse.
fn told(timings: &[Timing]) -> Vec<Timing> {
    timings.iter().copied().filter(|timing| timing.seconds.is_finite()).collect()
}

/// The difference of two independent values, not below zero.
fn minus(a: Estimate, b: Estimate) -> Estimate {
    let value = a.value - b.value;
    let down = ((a.value - a.low).powi(2) + (b.high - b.value).powi(2)).sqrt();
    let up = ((a.high - a.value).powi(2) + (b.value - b.low).powi(2)).sqrt();
    Estimate { value: value.max(0.0), low: (value - down).max(0.0), high: (value + up).max(0.0) }
}

impl KernelResult {
    fn of(model: &ModelSamples) -> Option<Self> {
        let (_, measured) = model_named(&model.name)?;
        let mut points: Vec<(Vec<i64>, Vec<Timing>)> = Vec::new();
        for row in &model.rows {
            // A point on a simulated machine is timed once, and has no list of timings.
            let timings = match &row.notes.timings[..] {
                [] => vec![Timing { seconds: row.seconds, moment: 0.0 }],
                timings => timings.to_vec(),
            };
            let timings = told(&timings);
            match points.iter_mut().find(|(at, _)| *at == row.notes.at) {
                Some((_, all)) => all.extend(timings),
                None => points.push((row.notes.at.clone(), timings)),
            }
        }
        points.sort_by(|a, b| a.0.cmp(&b.0));
        let untold = points.iter().filter(|(_, timings)| timings.is_empty()).map(|(at, _)| at.clone());
        let untold = untold.collect();
        let points: Vec<PointResult> = points
            .into_iter()
            .filter_map(|(at, timings)| Some(PointResult { at, belief: Belief::of(&timings)? }))
            .collect();
        let mut result = Self {
            model: model.name.clone(),
            title: measured.title.to_owned(),
            unit: measured.size.unit().to_owned(),
            points,
            untold,
            ..Self::default()
        };
        if matches!(measured.size, Size::Bytes | Size::Elements) {
            // Overheads of a processor, and times of some nodes, are not a bandwidth.
            let overhead = matches!(measured.model, "SendOverhead" | "ReceiveOverhead");
            result.add_curve(!overhead && (!measured.of_all || measured.beside.is_empty()));
        }
        if measured.model.starts_with("Overlap") {
            result.overlaps = result.overlaps();
        }
        Some(result)
    }

    /// The sizes of its points, in ascending order.
    #[must_use]
    pub fn sizes(&self) -> Vec<i64> {
        let mut sizes: Vec<i64> = self.points.iter().filter_map(|point| point.at.first().copied()).collect();
        sizes.dedup();
        sizes
    }

    /// The times of one size by the last variable, from 0 on, if all `N` are there.
    pub(crate) fn by_last<const N: usize>(&self, point: &PointResult) -> Option<[f64; N]> {
        let last = point.at.len().checked_sub(1)?;
        let mut times = [0.0; N];
        for (of, time) in times.iter_mut().enumerate() {
            let same = |other: &&PointResult| {
                other.at.len() > last && other.at[..last] == point.at[..last] && other.at[last] == of as i64
            };
            *time = self.points.iter().find(same)?.belief.median;
        }
        Some(times)
    }

    fn overlaps(&self) -> Vec<Overlap> {
        let first = self.points.iter().filter(|point| point.at.last() == Some(&0));
        let overlap = |point: &PointResult| {
            let [alone, computing, both] = self.by_last(point)?;
            let bytes = if point.at.len() > 1 { point.at[0] } else { 0 };
            Some(Overlap { bytes, alone, computing, both })
        };
        first.filter_map(overlap).collect()
    }

    /// The points with the least values of the other variables, by size.
    pub fn line(&self) -> impl Iterator<Item = &PointResult> {
        let least = self.points.iter().map(PointResult::others).min();
        self.points.iter().filter(move |point| Some(point.others()) == least)
    }

    /// The time of the point nearest to a size, among those of [`line`](Self::line).
    #[must_use]
    pub fn near(&self, size: f64) -> Option<Estimate> {
        let apart = |point: &&PointResult| (point.size().max(0.5) / size.max(0.5)).ln().abs();
        let point = self.line().min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        let Belief { median, low, high, .. } = point.belief;
        Some(Estimate { value: median, low, high })
    }

    /// The points of [`line`](Self::line), for a curve.
    fn measured(&self) -> impl Iterator<Item = Measured> {
        self.line().map(|point| Measured {
            size: point.size(),
            seconds: point.belief.median,
            error: (point.belief.high - point.belief.low) / 3.92,
        })
    }

    fn add_curve(&mut self, has_bandwidth: bool) {
        let measured: Vec<Measured> = self.measured().collect();
        let Some(curve) = Curve::fit(&measured) else { return };
        self.breaks = curve.breaks();
        if !has_bandwidth {
            self.curve = Some(curve);
            return;
        }
        self.rate = curve.rate();
        self.half_size = curve.size_at(0.5);
        let bandwidth = |m: &Measured| m.size / m.seconds;
        let peak = measured.iter().map(bandwidth).fold(0.0, f64::max);
        if peak > 0.0 {
            self.peak = Some(peak);
            // By linear interpolation between the neighbouring sizes.
            let reaches = |share: f64| {
                let at = measured.iter().position(|m| bandwidth(m) >= share * peak)?;
                let Some(before) = at.checked_sub(1) else { return Some(measured[at].size) };
                let (a, b) = (&measured[before], &measured[at]);
                let part = (share * peak - bandwidth(a)) / (bandwidth(b) - bandwidth(a));
                Some(a.size + part * (b.size - a.size))
            };
            (self.n50, self.n90) = (reaches(0.5), reaches(0.9));
        }
        if self.model == "Echo" {
            self.per_hop = self.hops(&curve);
        }
        self.curve = Some(curve);
    }

    /// The cost of hops beyond those to the nearest node, on each piece, from points that differ
    /// only in their hops.
    fn hops(&self, curve: &Curve) -> Vec<PerHop> {
        let least = self.line().filter_map(|point| point.at.get(1).copied()).min().unwrap_or(1);
        let piece = |piece: &crate::curve::Piece| {
            let mut values: Vec<f64> = Vec::new();
            for far in self.points.iter().filter(|point| point.at.get(1).is_some_and(|hops| *hops > least)) {
                let Some(near) = self.line().find(|point| point.at[0] == far.at[0]) else { continue };
                if (piece.from..=piece.to).contains(&far.size()) {
                    let more = (far.at[1] - least) as f64;
                    values.push((far.belief.median - near.belief.median) / more);
                }
            }
            (values.len() >= LEAST).then(|| PerHop {
                from: piece.from,
                to: piece.to,
                seconds: median_of(values),
            })
        };
        curve.pieces.iter().filter_map(piece).collect()
    }
}

impl PointResult {
    /// The values of the variables other than the size.
    fn others(&self) -> &[i64] {
        self.at.get(1..).unwrap_or_default()
    }

    /// The size; 0 without one.
    #[must_use]
    pub fn size(&self) -> f64 {
        self.at.first().map_or(0.0, |size| *size as f64)
    }
}
