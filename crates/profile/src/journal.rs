//! The samples on disk: a journal during the run, the samples file at its end.
//!
//! Each new timing may change the result of its point, so the journal (`<output>.partial`) holds
//! single timings with their times, each flushed at once: an interruption loses at most one. The
//! journal is a samples file like any other. At the end the points are written in order (models as
//! in the spec, fit points before verification points, loop order), each with its timings, and
//! renamed to the output in one step. A run interrupted by a signal orders its journal the same
//! way. Either file can be resumed; a sample without its single timings is replaced by timings with
//! its median and spread.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use strata_model::plan::ModelPlan;
use strata_model::samples::{Notes, Ratio, Sample, Samples, SamplesWriter, SpecId, Timing};
use strata_model::{Platform, write_atomically};
use strata_select::say;

use super::run::{Job, Refusal};
use super::schedule::{PointIndex, Schedule, Summary};
use super::stats::stand_ins;
use super::{Failure, Point};

/// The journal of one run.
pub(crate) struct Journal {
    writer: SamplesWriter<File>,
    path: PathBuf,
    output: PathBuf,
    platform: Platform,
    spec: SpecId,
    names: Vec<String>,
    earlier: Ratios,
    given: Given,
    /// The moments at which the launches after the first began.
    launches: Vec<f64>,
    /// That of this one, until it has a timing.
    began: Option<f64>,
}

/// By model and point: the inputs that the task gave with the seconds.
type Given = BTreeMap<(usize, usize), Vec<f64>>;

/// Comparisons of points of an earlier run with variants of the call.
type Ratios = BTreeMap<(usize, usize), [Option<Ratio>; 2]>;

/// The lines of the samples file before a model's samples.
fn head(model: &ModelPlan, writer: &mut SamplesWriter<impl io::Write>) -> io::Result<()> {
    writer.model(&model.name, &model.columns)?;
    writer.fit(&model.name, &model.fit)
}

impl Journal {
    /// Begins a journal, or resumes an existing one and passes its timings to `schedule`.
    pub(crate) fn open(
        job: &Job<'_>,
        platform: &Platform,
        plans: &[ModelPlan],
        schedule: &mut Schedule,
    ) -> Result<Self, Refusal> {
        let path = job.settings.partial();
        let (mut earlier, mut given) = (Ratios::new(), Given::new());
        let (mut launches, mut began) = (Vec::new(), None);
        let file = if job.settings.resume && path.exists() {
            resume(
                job,
                &path,
                platform,
                plans,
                (schedule, &mut earlier, &mut given),
                (&mut launches, &mut began),
            )?
        } else {
            if job.settings.resume {
                say!("there is no {} to go on with; starting afresh", path.display());
            }
            begin(&path, platform, &job.spec, plans).map_err(|error| machine(&path, &error))?
        };
        Ok(Self {
            writer: SamplesWriter::new(file),
            path,
            output: job.settings.output.clone(),
            platform: platform.clone(),
            spec: job.spec.clone(),
            names: plans.iter().map(|plan| plan.name.clone()).collect(),
            earlier,
            given,
            launches,
            began,
        })
    }

    /// Appends one timing of a point, with the inputs that its task gave.
    pub(crate) fn timing(
        &mut self,
        place: PointIndex,
        plan: &ModelPlan,
        given: Vec<f64>,
        timing: Timing,
        preempted: bool,
    ) -> Result<(), Failure> {
        let summary = Summary {
            seconds: timing.seconds,
            spread: 0.0,
            draws: 0,
            preempted: u32::from(preempted),
            timings: vec![timing],
        };
        let sample = sample(plan, &plan.points[place.point], summary, Some(&given));
        self.given.insert((place.model, place.point), given);
        if let Some(began) = self.began.take() {
            self.launches.push(began);
            self.writer.launch(began).map_err(|error| unwritten(&self.path, &error))?;
        }
        let name = &self.names[place.model];
        self.writer.sample(name, &sample).map_err(|error| unwritten(&self.path, &error).into())
    }

    /// Writes the results in order, to the output if the run is complete, otherwise in place of the
    /// journal; returns the path.
    pub(crate) fn finish(
        self,
        plans: &[ModelPlan],
        schedule: &Schedule,
        ratios: &dyn Fn(PointIndex) -> [Option<Ratio>; 2],
        complete: bool,
    ) -> Result<PathBuf, Failure> {
        let target = if complete { &self.output } else { &self.path };
        write_atomically(target, |out| {
            let mut writer = SamplesWriter::new(out);
            writer.header(Some(&self.platform), Some(&self.spec))?;
            self.launches.iter().try_for_each(|moment| writer.launch(*moment))?;
            for (model, (plan, summaries)) in plans.iter().zip(schedule.summaries()).enumerate() {
                head(plan, &mut writer)?;
                for (index, (point, summary)) in plan.points.iter().zip(summaries).enumerate() {
                    let Some(summary) = summary else { continue };
                    let given = self.given.get(&(model, index));
                    let mut sample = sample(plan, point, summary, given);
                    let [hot, replayed] = ratios(PointIndex { model, point: index });
                    let earlier = self.earlier.get(&(model, index)).copied().unwrap_or_default();
                    sample.notes.hot = hot.or(earlier[0]);
                    sample.notes.replayed = replayed.or(earlier[1]);
                    writer.sample(&plan.name, &sample)?;
                }
            }
            Ok(())
        })
        .map_err(|error| format!("{error}; what was measured is in {}", self.path.display()))?;
        if complete {
            // The output is complete, so a journal that cannot be removed does no harm.
            let _untidy = std::fs::remove_file(&self.path);
        }
        Ok(target.clone())
    }
}

/// The place of a column among the inputs that the task gives; `None` if the plan knows it.
fn given_place(plan: &ModelPlan, column: usize) -> Option<usize> {
    plan.gives.iter().position(|given| *given == plan.columns[column].text)
}

/// The sample of a point. Simulated time is exact, and a single timing has no spread.
fn sample(plan: &ModelPlan, point: &Point, summary: Summary, given: Option<&Vec<f64>>) -> Sample {
    let Summary { seconds, spread, preempted, draws, timings } = summary;
    let repeats = timings.len() as u32;
    let timings = if timings.iter().all(|timing| timing.moment == 0.0) { Vec::new() } else { timings };
    // The `platform` line states the number of nodes.
    let notes = Notes {
        nodes: 0,
        at: point.at.clone(),
        repeats,
        spread,
        preempted,
        draws,
        timings,
        ..Notes::default()
    };
    let value = |(column, planned): (usize, &f64)| {
        given_place(plan, column).and_then(|place| given?.get(place).copied()).unwrap_or(*planned)
    };
    let values = point.values.iter().enumerate().map(value).collect();
    Sample { verify: point.verify, seconds, values, notes, line: 0 }
}

fn begin(path: &Path, platform: &Platform, spec: &SpecId, plans: &[ModelPlan]) -> io::Result<File> {
    // The file may be the only copy of another run's samples.
    if path.exists() {
        let mut old = path.as_os_str().to_owned();
        old.push(".old");
        std::fs::rename(path, &old)?;
        say!(
            "{} of an earlier run is now {}; --resume would have gone on with it",
            path.display(),
            Path::new(&old).display()
        );
    }
    let file = OpenOptions::new().create_new(true).append(true).open(path)?;
    let mut writer = SamplesWriter::new(file);
    writer.header(Some(platform), Some(spec))?;
    for plan in plans {
        head(plan, &mut writer)?;
    }
    Ok(writer.into_inner())
}

fn resume(
    job: &Job<'_>,
    path: &Path,
    platform: &Platform,
    plans: &[ModelPlan],
    (schedule, earlier, given): (&mut Schedule, &mut Ratios, &mut Given),
    (launches, began): (&mut Vec<f64>, &mut Option<f64>),
) -> Result<File, Refusal> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| machine(path, &error))?;
    let partial = Samples::parse_partial(&text, &shown.to_string()).map_err(|errors| {
        Refusal::Fault(format!("{errors}\nmend {shown}, or start afresh without --resume"))
    })?;
    let samples = partial.samples;
    if samples.spec.is_none() && samples.models.is_empty() {
        // The file ends within its header: it has no measurements.
        std::fs::remove_file(path).map_err(|error| machine(path, &error))?;
        return begin(path, platform, &job.spec, plans).map_err(|error| machine(path, &error));
    }
    let refuse = |why: String| {
        Err(Refusal::Fault(format!("cannot go on with {shown}: {why}; start afresh without --resume")))
    };
    match &samples.spec {
        None => return refuse("it does not say which spec it belongs to".to_owned()),
        Some(spec) if spec.sha256 != job.spec.sha256 => {
            return refuse(format!("the spec {} has changed since, or it belongs to another", spec.path));
        }
        Some(_) => {}
    }
    match &samples.platform {
        None => return refuse("it does not say on which machine it was measured".to_owned()),
        Some(other) => {
            if let Some(difference) = other.difference(platform) {
                return refuse(format!("it was measured on another machine, {difference}"));
            }
        }
    }
    let complete =
        plans.iter().all(|plan| samples.model(&plan.name).is_some_and(|m| m.columns == plan.columns));
    if !complete {
        // The header is incomplete; rows that follow it keep their meaning.
        if samples.models.iter().all(|model| model.rows.is_empty()) {
            std::fs::remove_file(path).map_err(|error| machine(path, &error))?;
            return begin(path, platform, &job.spec, plans).map_err(|error| machine(path, &error));
        }
        return refuse("its models are not those of the spec".to_owned());
    }
    let (restored, strange) = restore(&samples, plans, (schedule, earlier, given));
    if !job.settings.part {
        say!("going on with {restored} timings of {shown}");
    }
    if strange > 0 {
        say!(
            "{strange} of its samples belong to no point of this run (was the seed another?) and are left out"
        );
    }
    let file = OpenOptions::new().append(true).open(path).map_err(|error| machine(path, &error))?;
    file.set_len(partial.bytes as u64).map_err(|error| machine(path, &error))?;
    *launches = samples.launches;
    let last = schedule.latest();
    if last <= 0.0 {
        return Ok(file);
    }
    *began = Some(last);
    Ok(file)
}

/// Points with the same iteration variables and columns, and which of them is next.
#[derive(Default)]
struct Sharing {
    points: Vec<usize>,
    turn: usize,
}

/// Assigns the journal's timings to their points. Several points may be equal (verification points
/// are drawn with replacement); they share the timings evenly. Returns how many samples were used
/// and how many were not.
fn restore(
    samples: &Samples,
    plans: &[ModelPlan],
    (schedule, earlier, given): (&mut Schedule, &mut Ratios, &mut Given),
) -> (usize, usize) {
    let (mut taken, mut strange) = (0, 0);
    for (model, plan) in plans.iter().enumerate() {
        type Key<'a> = (bool, &'a [i64], Vec<u64>);
        // What the task gives is not planned.
        let planned = |(column, value): (usize, &f64)| match given_place(plan, column) {
            Some(_) => 0,
            None => value.to_bits(),
        };
        let bits = |values: &[f64]| values.iter().enumerate().map(planned).collect::<Vec<_>>();
        let mut places: BTreeMap<Key<'_>, Sharing> = BTreeMap::new();
        for (index, point) in plan.points.iter().enumerate() {
            let key = (point.verify, point.at.as_slice(), bits(&point.values));
            places.entry(key).or_default().points.push(index);
        }
        for row in samples.model(&plan.name).iter().flat_map(|model| &model.rows) {
            let key = (row.verify, row.notes.at.as_slice(), bits(&row.values));
            let Some(sharing) = places.get_mut(&key) else {
                strange += 1;
                continue;
            };
            taken += 1;
            if row.notes.draws > 0 {
                schedule.depends_on_data(model);
            }
            let place = PointIndex { model, point: sharing.points[sharing.turn % sharing.points.len()] };
            sharing.turn += 1;
            let mut gave: Vec<f64> = vec![0.0; plan.gives.len()];
            for (column, value) in row.values.iter().enumerate() {
                if let Some(gave) = given_place(plan, column).and_then(|at| gave.get_mut(at)) {
                    *gave = *value;
                }
            }
            given.insert((place.model, place.point), gave);
            let Notes { repeats, spread, preempted, timings, hot, replayed, .. } = &row.notes;
            if hot.is_some() || replayed.is_some() {
                earlier.insert((place.model, place.point), [*hot, *replayed]);
            }
            // A note without a number of repeats comes from another program: it counts as one
            // timing.
            let single = *repeats <= 1;
            if !single {
                schedule.lose(place, *preempted);
            }
            if !timings.is_empty() {
                timings.iter().for_each(|timing| schedule.restore(place, *timing, single && *preempted > 0));
                continue;
            }
            // A handwritten number must not exhaust the memory.
            let stand_ins = if single {
                vec![row.seconds]
            } else {
                stand_ins(row.seconds, *spread, (*repeats).min(1000))
            };
            for seconds in stand_ins {
                schedule.restore(place, Timing { seconds, moment: 0.0 }, single && *preempted > 0);
            }
        }
    }
    (taken, strange)
}

fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}; the samples before are kept, go on with --resume", path.display())
}

fn machine(path: &Path, error: &io::Error) -> Refusal {
    Refusal::Machine(format!("cannot use {}: {error}", path.display()).into())
}
