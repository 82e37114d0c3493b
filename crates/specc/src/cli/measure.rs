//! Measuring: writes and builds the profiling program, and runs it as often as needed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use strata_model::plan::{ModelPlan, PlanPoint, Run};
use strata_model::set::Model;
use strata_model::{Hosts, ModelSet, Plan, Platform, Points, Samples, Seconds, write_atomically};
use strata_report::Judged;
use strata_screen::{Failure, tell};

use super::args::Target;
use super::machine_load::{self, Watch};
use super::values::Layout;
use crate::competition::Competition;
use crate::decisions::{self, Decisions, Drawn, Held, Like, Saved};
use crate::drive::{self, DriveError, Launcher, On, PADDING, Program};
use crate::lang::CheckedSpec;
use crate::lang::checked::MachineKind;
use crate::points::{self, Site};
use crate::profiling_program::{self, Emitted};

/// Relative noise of a sample below which more time is not advised.
const NOTABLE: f64 = 0.01;

/// The file of timed decisions, beside the samples.
pub(super) const DECISIONS: &str = "decisions.txt";
const DECISIONS_PLAN: &str = "decisions-plan.txt";

/// The loss of each choice, and whether earlier models are kept.
#[derive(Default)]
pub(super) struct Decided {
    pub(super) judged: Vec<Judged>,
    pub(super) is_kept: bool,
    /// For how long they were timed.
    pub(super) seconds: f64,
}

impl Decided {
    /// Of new models.
    pub(super) fn of(judged: Vec<Judged>) -> Self {
        Self { judged, ..Self::default() }
    }
}

/// A profiling program that is ready to run.
pub struct Campaign<'a> {
    spec: &'a CheckedSpec,
    seed: u64,
    emitted: Emitted,
    program: Program,
    options: drive::RunOptions,
    /// The only models to measure, without points for verification; `None` for those of the spec.
    only: Option<BTreeSet<String>>,
    quiet: bool,
}

/// The default number of nodes of a spec: one, unless its work or its choices depend on the nodes.
pub(super) fn nodes_of(spec: &CheckedSpec) -> usize {
    if spec.uses_nodes() { machine_load::cores() } else { 1 }
}

impl Target {
    /// The machine: that of `--on`, or the first that the spec is measured on.
    fn machine(&self, spec: &CheckedSpec) -> Result<On, Failure> {
        let (kinds, usage) = (spec.on(), |why: String| Err(Failure::Usage(why)));
        let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
        let first = words.first().copied().unwrap_or(MachineKind::Threads.word());
        let given = self.on.as_deref();
        if given.is_none() && first == MachineKind::Sim.word() {
            return usage(format!("{}: say on which, {A_PLATFORM}", where_said(spec, &words)));
        }
        let on: On = given.unwrap_or(first).parse().map_err(Failure::Usage)?;
        if kinds.contains(&on.kind()) {
            return Ok(on);
        }
        let instead = if first == MachineKind::Sim.word() {
            A_PLATFORM.to_owned()
        } else {
            format!("as with `--on {first}`")
        };
        usage(format!("{}, not on {on}: measure it there, {instead}", where_said(spec, &words)))
    }

    /// The target with the number of nodes of these models, unless it names one.
    pub(super) fn like(&self, set: &ModelSet, spec: &CheckedSpec) -> Self {
        let first = spec.on().first().map(|kind| kind.word());
        let on = self.on.as_deref().or(first).and_then(|on| on.split([':', ',']).next());
        let known = set
            .platform
            .as_ref()
            .filter(|platform| self.nodes.is_empty() && platform.transport.split([':', ',']).next() == on);
        let hosts = |platform: &Platform| {
            let Hosts { min, max } = platform.hosts?;
            (min == max).then_some(min)
        };
        match known.and_then(|platform| Layout::known(platform.nodes, hosts(platform))) {
            Some(nodes) => Self { nodes: vec![nodes], ..self.clone() },
            None => self.clone(),
        }
    }
}

/// How to name a simulated machine.
const A_PLATFORM: &str = "as with `--on sim:cm5` (`specc platform list` names others)";

/// Which file says on what the spec is measured.
fn where_said(spec: &CheckedSpec, words: &[&str]) -> String {
    let file = spec.files.iter().find(|file| !file.on.is_empty());
    let name = file.map_or("the spec", |file| &file.name);
    format!("{name} is measured on {}", words.join(" or "))
}

impl<'a> Campaign<'a> {
    /// Writes and builds the profiling program of `spec` in `output`.
    ///
    /// # Errors
    /// The target is invalid, the spec cannot be measured on it, or the program cannot be built.
    pub fn new(spec: &'a CheckedSpec, target: &Target, output: &Path) -> Result<Self, Failure> {
        let options = drive::RunOptions {
            on: target.machine(spec)?,
            nodes: target.nodes.first().map_or_else(|| nodes_of(spec), |layout| layout.nodes()),
            hosts: target.nodes.first().and_then(|layout| layout.hosts()),
            launcher: target.launcher.clone(),
            budget: Some(target.budget.as_secs_f64()),
            precision: target.precision,
            most: target.most,
            plan: output.join("plan.txt"),
            resume: target.resume,
            output: output.join("samples.txt"),
            part: None,
            settings: target.settings.clone(),
        };
        options.check()?;
        let platform = options.on.platform(options.nodes, options.hosts);
        if target.points.is_none() {
            points::measurable(spec, platform.clone()).map_err(Failure::Fault)?;
        }
        // A number that the machine lacks is reported before anything is built.
        points::spaces(spec, platform).map_err(Failure::Fault)?;
        fs::create_dir_all(output).map_err(|e| Failure::file(output, e))?;
        // A program in a folder of its own serves other numbers of nodes, too.
        let alone = target.program.is_none() && options.nodes == 1 && options.on == On::Threads;
        let folder = target.program.as_deref().unwrap_or(output);
        let emitted = profiling_program::emit(spec, folder, &target.features.features, alone)?;
        let program = drive::build(&emitted, &options.on)?;
        Ok(Self { spec, seed: target.seed, emitted, program, options, only: None, quiet: false })
    }

    /// The profiling program.
    #[must_use]
    pub fn executable(&self) -> &Path {
        &self.program.executable
    }

    /// The site of the runs.
    pub(super) fn site(&self) -> Site {
        self.options.on.platform(self.options.nodes, self.options.hosts).into()
    }

    /// Sets the precision at which the timing of a point ends, and the most timings.
    pub fn until(&mut self, precision: f64, most: usize) {
        (self.options.precision, self.options.most) = (Some(precision), Some(most));
    }

    /// Measures nothing but these models at given points: no others of the spec, and no points for
    /// verification.
    pub fn only(&mut self, models: impl IntoIterator<Item = String>) {
        self.only = Some(models.into_iter().collect());
    }

    /// Sets a label for the runs that follow, such as `launch 2 of 6`.
    pub fn part(&mut self, part: String) {
        self.options.part = Some(part);
    }

    /// Makes the environment of the runs that follow longer by so many bytes; one of many runs, they
    /// are not announced.
    pub(super) fn pad(&mut self, bytes: usize) {
        self.quiet = true;
        self.options.settings.retain(|(name, _)| *name != PADDING);
        self.options.settings.push((PADDING, "x".repeat(bytes)));
    }

    /// The identity of the spec's text.
    pub(super) fn spec(&self) -> &strata_model::SpecId {
        &self.emitted.spec
    }

    /// Measures the points of the spec's loops; returns the path of the samples.
    pub(super) fn loops(&self) -> Result<PathBuf, Failure> {
        if self.options.resume {
            self.refuse_others()?;
            let planned = self.planned_before();
            if !planned.is_empty() {
                return self.besides_loops(planned);
            }
            return self.resuming(|| {
                self.announce()?;
                self.run(&Points::default(), &self.options)
            });
        }
        self.announce()?;
        self.run(&Points::default(), &self.options)
    }

    /// Goes on with the points of the loops and those that an earlier run was given.
    fn besides_loops(&self, mut points: Points) -> Result<PathBuf, Failure> {
        for space in points::spaces(self.spec, self.site()).map_err(Failure::Fault)? {
            for at in space.loops() {
                points.add(space.name(), &at);
            }
        }
        join(&mut points, &self.earlier());
        self.announce()?;
        self.points(&points, true, self.options.budget.unwrap_or(f64::INFINITY))
    }

    /// What starts the nodes, if they are processes of MPI.
    ///
    /// # Errors
    /// STRATA_MPIRUN is at fault.
    pub fn launcher(&self) -> Result<Option<Launcher>, Failure> {
        Ok(self.options.launcher()?)
    }

    /// Says what disturbs the runs, unless they are many.
    pub(super) fn announce(&self) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let drive::RunOptions { on, nodes, hosts, .. } = &self.options;
        machine_load::announce(on, nodes / hosts.unwrap_or(1).max(1), self.launcher()?.as_ref());
        Ok(())
    }

    /// Plans and measures.
    fn run(&self, given: &Points, options: &drive::RunOptions) -> Result<PathBuf, Failure> {
        let earlier = fs::read_to_string(&options.plan).ok().filter(|_| self.options.resume);
        let earlier = earlier.and_then(|text| Plan::parse(&text, "plan.txt").ok());
        let run = earlier.as_ref().and_then(|plan| plan.runs.first());
        let mut plan = plan(self.spec, &self.emitted, [self.site()], self.seed, (given, run))?;
        if let Some(only) = &self.only {
            for run in &mut plan.runs {
                run.models.retain(|model| only.contains(&model.name));
                run.models.iter_mut().for_each(|model| model.points.retain(|point| !point.verify));
            }
        }
        write(&options.plan, &plan.to_text())?;
        let others = Watch::start();
        let path = drive::profile(&self.program, &self.emitted, options)?;
        if let Some(note) = elsewhere(&path, options) {
            tell!("{note}");
        }
        if let Some(cores) = others.busy(&options.on, options.nodes / options.hosts.unwrap_or(1).max(1)) {
            mark_busy(&path, cores)?;
        }
        Ok(path)
    }

    /// Refuses to go on with samples of another spec.
    fn refuse_others(&self) -> Result<(), Failure> {
        for path in [self.partial(), self.options.output.clone()] {
            let text = fs::read_to_string(&path).unwrap_or_default();
            // What is damaged the program names with its line.
            let Ok(read) = Samples::parse_partial(&text, "samples") else { continue };
            if let Some(spec) = read.samples.spec.filter(|spec| spec.sha256 != self.emitted.spec.sha256) {
                return Err(Failure::Fault(format!(
                    "cannot go on with {}: the spec {} has changed since, or it belongs to another; start afresh \
                     without --resume",
                    path.display(),
                    spec.path
                )));
            }
        }
        Ok(())
    }

    /// Runs with the complete samples of an earlier run as the journal that it continues. Where it
    /// adds nothing to them, because it is refused, they stay complete.
    fn resuming(&self, run: impl FnOnce() -> Result<PathBuf, Failure>) -> Result<PathBuf, Failure> {
        let (partial, samples) = (self.partial(), &self.options.output);
        if partial.exists() || !samples.exists() {
            return run();
        }
        fs::rename(samples, &partial).map_err(|e| Failure::file(&partial, e))?;
        let length = || fs::metadata(&partial).ok().map(|file| file.len());
        let complete = length();
        run().inspect_err(|_| {
            if length() == complete && !samples.exists() {
                // The error is told; that of the file system would hide it.
                let _ = fs::rename(&partial, samples);
            }
        })
    }

    /// Measures these points, for at most `seconds`. With `more`, samples in the folder are kept if
    /// their points are among these.
    ///
    /// # Errors
    /// A file cannot be written, or the program fails.
    pub fn points(&self, points: &Points, more: bool, seconds: f64) -> Result<PathBuf, Failure> {
        // Before anything in the folder changes.
        if more {
            self.refuse_others()?;
        }
        points::plan(self.spec, self.site(), self.seed, points)
            .map_err(|why| Failure::Fault(why.join("\n")))?;
        let points = points.clone().with_spec(Some(self.emitted.spec.clone()));
        let path = self.options.output.with_file_name("points.txt");
        write(&path, &points.to_text())?;
        let run = || {
            let resume = more && self.partial().exists();
            let options = drive::RunOptions { resume, budget: Some(seconds), ..self.options.clone() };
            self.run(&points, &options)
        };
        if more {
            return self.resuming(run);
        }
        self.announce()?;
        run()
    }

    /// Measures the loss of the libraries' choices by `set`, for at most `seconds`, and writes it
    /// into the set; with `adopt` also the incumbents that lower it. Calls of `like` outside of what
    /// was measured are reported. The set becomes the `earlier` one, with its loss at the same inputs,
    /// unless its own choices of a library are better beyond noise.
    pub(super) fn decide(
        &self,
        set: &mut ModelSet,
        seconds: f64,
        (like, earlier): (&Like, Option<&ModelSet>),
    ) -> Result<Decided, Failure> {
        like.outside(set).iter().for_each(|note| tell!("warning: {note}"));
        let place = |set: &ModelSet| {
            let of = set.platform.as_ref()?;
            Some((of.host(), of.transport.clone(), of.nodes))
        };
        let is_of_here = |earlier: &&ModelSet| place(earlier) == place(set);
        if earlier.is_some_and(|earlier| !is_of_here(&earlier)) {
            tell!(
                "warning: the models of --keep are of another machine or number of nodes: the new ones are taken"
            );
        }
        let earlier = earlier.filter(is_of_here);
        let taken = |competition: &Competition, inputs: &[f64]| {
            let earlier = Competition::new(earlier?, competition.name()).ok()?;
            decisions::chosen(&earlier, inputs)
        };
        let held = Held { taken: &taken, at: &|_| Vec::new() };
        let timed = self.time_decisions(set, seconds, (decisions::INPUTS, like), earlier.map(|_| held))?;
        let Some((decisions, times)) = timed else { return Ok(Decided::default()) };
        let judged = decisions.judge(set, &times, true);
        let of = |judged| Decided { seconds: times.latest(), ..Decided::of(judged) };
        let Some(earlier) = earlier else { return Ok(of(judged)) };
        let mut kept = earlier.clone();
        let by_kept = decisions.judge(&mut kept, &times, false);
        let saved = decisions::saved(&by_kept, &judged);
        saved.iter().for_each(|one| tell!("note: {one}"));
        if saved.iter().any(Saved::is_gain) {
            return Ok(of(judged));
        }
        *set = kept;
        Ok(Decided { is_kept: true, ..of(by_kept) })
    }

    /// Times up to this many decisions of each library of `set`, for at most `seconds`; `None` if
    /// there are no decisions.
    pub(super) fn time_decisions(
        &self,
        set: &ModelSet,
        seconds: f64,
        (count, like): (usize, &Like),
        held: Option<Held<'_>>,
    ) -> Result<Option<(Decisions, Samples)>, Failure> {
        let drawn = Drawn { seed: self.seed, count, round: None, like };
        let (decisions, run) =
            decisions::plan(self.spec, &self.site(), set, drawn, held).map_err(Failure::Fault)?;
        if run.models.is_empty() {
            return Ok(None);
        }
        let options = drive::RunOptions {
            resume: false,
            budget: Some(seconds),
            plan: self.options.output.with_file_name(DECISIONS_PLAN),
            output: self.options.output.with_file_name(DECISIONS),
            part: Some("timing what choices lose".to_owned()),
            ..self.options.clone()
        };
        let plan = Plan { spec: self.emitted.spec.clone(), runs: vec![run] };
        write(&options.plan, &plan.to_text())?;
        let path = drive::profile(&self.program, &self.emitted, &options).map_err(|error| match error {
            // The choices to be timed follow from all samples: a run that goes on times them anew.
            DriveError::Interrupted { .. } => {
                let _ = fs::remove_file(drive::partial(&options.output));
                let help = format!(
                    "all samples are in {}; with --resume the same command times the choices",
                    self.options.output.display()
                );
                DriveError::Interrupted { help }
            }
            other => other,
        })?;
        let bytes = fs::read(&path).map_err(|e| Failure::file(&path, e))?;
        let times =
            Samples::read(&*bytes, &path.display().to_string()).map_err(|e| Failure::Fault(e.to_string()))?;
        Ok(Some((decisions, times)))
    }

    /// The points of an earlier run with this spec in the same folder, planned ones and measured
    /// ones.
    #[must_use]
    pub fn earlier(&self) -> Points {
        let mut points = self.planned_before();
        // If a file is unreadable here, the program will report it and stop.
        for path in [self.partial(), self.options.output.clone()] {
            if let Ok(read) =
                Samples::parse_partial(&fs::read_to_string(&path).unwrap_or_default(), "samples")
                && read.samples.spec.as_ref().is_some_and(|spec| spec.sha256 == self.emitted.spec.sha256)
            {
                join(&mut points, &measured(&read.samples));
                break;
            }
        }
        points
    }

    /// The points that a run of this spec into the folder was given.
    fn planned_before(&self) -> Points {
        let text = fs::read_to_string(self.options.output.with_file_name("points.txt"));
        let planned = Points::parse(&text.unwrap_or_default(), "points.txt").unwrap_or_default();
        let is_own = planned.spec.as_ref().is_some_and(|spec| spec.sha256 == self.emitted.spec.sha256);
        if is_own { planned } else { Points::default() }
    }

    fn partial(&self) -> PathBuf {
        drive::partial(&self.options.output)
    }
}

/// The plan of a profiling program for these numbers of nodes; notes go to standard error.
pub(super) fn plan(
    spec: &CheckedSpec,
    emitted: &Emitted,
    sites: impl IntoIterator<Item = Site>,
    seed: u64,
    (given, earlier): (&Points, Option<&Run>),
) -> Result<Plan, Failure> {
    let mut plan = Plan { spec: emitted.spec.clone(), runs: Vec::new() };
    for site in sites {
        let (run, notes) = points::plan_besides(spec, site, seed, given, earlier)
            .map_err(|faults| Failure::Fault(faults.join("\n")))?;
        notes.iter().for_each(|note| tell!("{note}"));
        plan.runs.push(run);
    }
    Ok(plan)
}

/// A note where the nodes ran on another number of hosts than was asked for; a spec that reads
/// `hosts` refuses that before.
fn elsewhere(samples: &Path, options: &drive::RunOptions) -> Option<String> {
    let asked = options.hosts.filter(|_| options.on == On::Mpi)?;
    let text = fs::read_to_string(samples).ok()?;
    let platform = text.lines().take(9).find_map(|line| line.strip_prefix("platform "))?;
    let ran = platform.parse::<Platform>().ok()?.all_hosts();
    (ran != Hosts::known(asked)).then(|| {
        format!(
            "warning: the nodes ran on {}, not on {asked} as --nodes {asked}x{} asks: the models hold there; \
             {{hosts}} and {{per_host}} of --launcher ask what starts them for hosts",
            if ran == Hosts::ONE { "1 host".to_owned() } else { format!("{ran} hosts") },
            options.nodes / asked.max(1)
        )
    })
}

/// Inserts the number of cores kept busy by other programs after the first line of samples.
fn mark_busy(path: &Path, cores: f64) -> Result<(), Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::file(path, e))?;
    let (first, rest) = text.split_at(text.find('\n').map_or(text.len(), |end| end + 1));
    // If the run continued an earlier one, the reader takes the higher of the two numbers.
    write(path, &format!("{first}busy {cores:.1}\n{rest}"))
}

/// Writes a text to a temporary file, then renames that.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_atomically(path, |out| out.write_all(text.as_bytes())).map_err(|e| Failure::Machine(e.to_string()))
}

/// Measures on one number of nodes into a folder; returns the path of the samples, and the
/// campaign.
type Measure<'m, 'a> = &'m dyn Fn(&Target, &Path) -> Result<(PathBuf, Campaign<'a>), Failure>;

/// Calls `measure` for each number of nodes; with several, each has its own folder and an equal
/// part of the budget. Returns the path of all samples together, and the campaign of the most nodes,
/// on which choices are judged, with its files beside that path.
pub(super) fn on_each<'a>(
    target: &Target,
    output: &Path,
    measure: Measure<'_, 'a>,
) -> Result<(PathBuf, Campaign<'a>), Failure> {
    let numbers: BTreeSet<Layout> = target.nodes.iter().copied().collect();
    // What is wrong with the last of them is said before the first is measured.
    for layout in &numbers {
        target.launcher.as_ref().map_or(Ok(()), |launcher| launcher.check(layout.hosts()))?;
    }
    let part = target.budget / numbers.len().max(1) as u32;
    let on = |nodes: Layout| -> Result<_, Failure> {
        let (nodes, budget, program) = (vec![nodes], part, Some(output.to_owned()));
        let at = output.join(format!("nodes-{}", nodes[0]));
        let (path, campaign) = measure(&Target { nodes, budget, program, ..target.clone() }, &at)?;
        let bytes = fs::read(&path).map_err(|e| Failure::file(&path, e))?;
        let samples = Samples::read(&*bytes, &path.display().to_string());
        Ok((path, samples.map_err(|e| Failure::Fault(e.to_string()))?, campaign))
    };
    let numbers: Vec<Layout> = numbers.into_iter().collect();
    let Some((first, others)) = numbers.split_first().filter(|(_, others)| !others.is_empty()) else {
        return measure(target, output);
    };
    let (_, mut all, mut campaign) = on(*first)?;
    for nodes in others {
        let (path, samples, more) = on(*nodes)?;
        all.join(samples)
            .map_err(|why| Failure::Fault(format!("{} cannot be joined: {why}", path.display())))?;
        campaign = more;
    }
    let path = output.join("samples.txt");
    write(&path, &all.to_text())?;
    campaign.options.output.clone_from(&path);
    Ok((path, campaign))
}

/// The measuring part of `specc calibrate`: returns the path of the samples.
pub(super) fn measure<'a>(
    spec: &'a CheckedSpec,
    target: &Target,
    output: &Path,
) -> Result<(PathBuf, Campaign<'a>), Failure> {
    let given = given(target)?;
    let campaign = Campaign::new(spec, target, output)?;
    Ok((once(&campaign, given, target)?, campaign))
}

/// Measures the points that are given, or those of the spec's loops; returns the path of the
/// samples.
pub(super) fn once(
    campaign: &Campaign<'_>,
    given: Option<Points>,
    target: &Target,
) -> Result<PathBuf, Failure> {
    let Some(mut points) = given else { return campaign.loops() };
    check(&points, campaign)?;
    if target.resume {
        join(&mut points, &campaign.earlier());
    }
    campaign.points(&points, target.resume, target.budget.as_secs_f64())
}

/// Judges the choices of `set` by the timed decisions of an earlier calibration, if they lie beside
/// its samples. Without them `specc fit` would lose an incumbent.
pub(super) fn judge_by_earlier(
    spec: &CheckedSpec,
    samples: &Path,
    set: &mut ModelSet,
) -> Result<Vec<Judged>, Failure> {
    let read = |name: &str| fs::read_to_string(samples.with_file_name(name)).ok();
    let Some((plan, times)) = read(DECISIONS_PLAN).zip(read(DECISIONS)) else { return Ok(Vec::new()) };
    let fault =
        |why: String| Failure::Fault(format!("{}: {why}", samples.with_file_name(DECISIONS).display()));
    let plan = Plan::parse(&plan, DECISIONS_PLAN).map_err(|e| fault(e.to_string()))?;
    let times = Samples::parse(&times, DECISIONS).map_err(|e| fault(e.to_string()))?;
    // Models of several layouts are judged on one of them.
    let (Some(run), Some(platform), Some(of_all)) = (plan.runs.first(), &times.platform, &set.platform)
    else {
        return Ok(Vec::new());
    };
    if times.spec.is_none() || times.spec != set.spec || of_all.as_used(platform) != *platform {
        return Ok(Vec::new());
    }
    let site = Site::from(platform.clone());
    let planned = |round| {
        let drawn = Drawn { seed: !run.seed, count: decisions::INPUTS, round, like: &Like::default() };
        let (decisions, planned) = decisions::plan(spec, &site, set, drawn, None)?;
        let timed = |model: &ModelPlan| {
            let earlier = run.models.iter().find(|earlier| earlier.name == model.name);
            let is_timed = |point: &&PlanPoint| earlier.is_some_and(|one| one.points.contains(point));
            model.points.iter().filter(is_timed).count()
        };
        Ok::<_, String>((decisions, planned.models.iter().map(timed).sum::<usize>()))
    };
    // Earlier decisions may have been drawn without round inputs.
    let (drawn, evenly) =
        planned(None).and_then(|drawn| Ok((drawn, planned(Some(0.0))?))).map_err(Failure::Fault)?;
    let (decisions, _) = if drawn.1 >= evenly.1 { drawn } else { evenly };
    Ok(decisions.judge(set, &times, true))
}

/// A sentence on how to continue if the budget was too short for all planned points; `None` if it
/// was not.
#[must_use]
pub fn longer(target: &Target, output: &Path) -> Option<String> {
    let folders = match target.nodes.iter().collect::<BTreeSet<_>>() {
        several if several.len() > 1 => several.iter().map(|n| output.join(format!("nodes-{n}"))).collect(),
        _ => vec![output.to_owned()],
    };
    let (mut planned, mut measured) = (0, 0);
    for folder in folders {
        let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let plan = Plan::parse(&text("plan.txt")?, "plan.txt").ok()?;
        planned +=
            plan.runs.iter().flat_map(|run| &run.models).map(|model| model.points.len()).sum::<usize>();
        let samples = Samples::parse(&text("samples.txt")?, "samples.txt").ok()?;
        measured += samples.models.iter().map(|model| model.rows.len()).sum::<usize>();
    }
    let budget = target.budget.as_secs_f64();
    // The points left out cost more than those measured, because cheap points are measured first.
    let enough = (2.0 * budget * planned as f64 / measured.max(1) as f64).ceil();
    (measured < planned).then(|| {
        format!(
            "the budget of {} sufficed for {measured} of {planned} points: go on with the same command and \
             --resume --budget {enough}s",
            Seconds::new(budget).unwrap_or_default()
        )
    })
}

/// What is said of a calibration that took less than its budget; nothing where time is simulated.
pub(super) fn ended(took: f64, budget: f64) -> Option<String> {
    (took > 0.0 && took < EARLY * budget).then(|| {
        let [took, budget] = [took, budget].map(|one| Seconds::new(one).unwrap_or_default());
        format!("ended after {took} of {budget}: further timings would make no point more certain")
    })
}

/// Up to this share of its budget a calibration ended early.
const EARLY: f64 = 0.9;

/// A sentence on how much more time would help the models of these samples; `None` if noise does
/// not limit them.
///
/// The half widths fall as one over the square root of the time, as long as all points take turns.
pub(super) fn more_time(samples: &Samples, set: &ModelSet) -> Option<String> {
    let noisy = |model: &&Model| model.noise.is_some_and(|noise| noise > model.own_error.max(NOTABLE));
    let most = set
        .models
        .iter()
        .filter(noisy)
        .max_by(|a, b| a.noise.unwrap_or(0.0).total_cmp(&b.noise.unwrap_or(0.0)))?;
    let more = (3.0 * samples.latest()).ceil();
    (more > 0.0).then(|| {
        format!(
            "noise is what limits {} most ({:.1} % of a sample): {} more would halve it, \
             with the same command and --resume --budget {more}s",
            most.name,
            100.0 * most.noise.unwrap_or(0.0),
            if more < 120.0 { format!("{more} s") } else { format!("{:.0} minutes", more / 60.0) },
        )
    })
}

/// The points given by `--points`.
pub(super) fn given(target: &Target) -> Result<Option<Points>, Failure> {
    let Some(path) = &target.points else { return Ok(None) };
    let bytes = fs::read(path).map_err(|e| Failure::file(path, e))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::Fault(format!("{}: this is not UTF-8 text", path.display())))?;
    let points =
        Points::parse(&text, &path.display().to_string()).map_err(|e| Failure::Fault(e.to_string()))?;
    Ok(Some(points))
}

/// Refuses points for another version of the spec.
pub(super) fn check(points: &Points, campaign: &Campaign<'_>) -> Result<(), Failure> {
    match &points.spec {
        Some(spec) if spec.sha256 != campaign.spec().sha256 => Err(Failure::Fault(format!(
            "the points were made for another version of {}; ask `specc advise` again",
            spec.path
        ))),
        _ => Ok(()),
    }
}

/// Adds the points of `others` to `points`.
pub fn join(points: &mut Points, others: &Points) {
    for model in others.models() {
        for at in &model.points {
            points.add(&model.model, at);
        }
    }
}

/// The points of the samples, without those for verification.
#[must_use]
pub fn measured(samples: &Samples) -> Points {
    let mut points = Points::default();
    for model in &samples.models {
        for row in model.rows.iter().filter(|row| !row.verify) {
            points.add(&model.name, &row.notes.at);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_left_is_told() {
        assert!(ended(31.2, 45.0).is_some_and(|note| note.starts_with("ended after 31.2 s of 45.0 s: ")));
        assert_eq!([ended(44.0, 45.0), ended(0.0, 45.0)], [None, None]);
    }

    #[test]
    fn samples_of_a_busy_machine_say_so_and_keep_the_worst() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("samples.txt");
        fs::write(&path, "strata-samples 1\nmodel A n\nA 1 2\n").expect("written");
        for (cores, told) in [(1.26, 1.3), (0.6, 1.3), (1.9, 1.9)] {
            mark_busy(&path, cores).unwrap_or_else(|_| panic!("{cores}"));
            let text = fs::read_to_string(&path).expect("written");
            assert!(text.starts_with("strata-samples 1\nbusy "), "{text}");
            assert_eq!(Samples::parse(&text, "s").map(|samples| samples.busy), Ok(told), "{text}");
        }
    }
}
