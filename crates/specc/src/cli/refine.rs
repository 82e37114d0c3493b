//! `specc advise` and `specc calibrate --refine`: the most useful samples, and measuring them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Map, Value, json};
use strata_model::{Kinds, ModelSet, Points, Samples, Sha256, kind_text, write_atomically};
use strata_screen::{Failure, print, tell, width};

use super::args::{Advise, Reading, Refining, Target as On};
use super::measure::{self, Campaign};
use super::{choose, import_export, spec_files, tables, thresholds};
use crate::advise::{self, Advice, Limits, Target};
use crate::drive::Interrupt;
use crate::fitting::{self, Overrides};
use crate::lang::CheckedSpec;
use crate::points::{self, Site};
use crate::profiling_program;
use crate::refine::{self, End, Goals, Machine, Round};

/// `specc advise`.
pub(super) fn advise(args: &Advise) -> Result<(), Failure> {
    let spec = spec_files::load(&args.spec)?;
    let set = choose::read(&args.models)?;
    let identity = profiling_program::identity(&spec).ok();
    if let (Some(given), Some(fitted)) = (&identity, &set.spec)
        && given.sha256 != fitted.sha256
    {
        tell!(
            "warning: {} was fitted to another version of {}; if more than terms and options has changed, calibrate again",
            args.models.display(),
            fitted.path
        );
    }
    if !set.models.iter().any(|model| spec.models.iter().any(|own| own.name == model.name)) {
        let paths: Vec<String> = args.spec.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::Usage(format!(
            "{} has none of the models of {}; give the spec that they were fitted by",
            paths.join(", "),
            args.models.display()
        )));
    }
    let samples = match &args.samples {
        None => thresholds::evidence(&args.models, &set, None)?.samples,
        Some(path) => {
            Some(import_export::samples(path, &Reading::default(), &mut Sha256::default())?.samples)
        }
    };
    let measured = samples.as_ref().map_or_else(Points::default, measure::measured);
    let site = set.platform.clone().map_or_else(|| Site::from(set.nodes()), Site::from);
    let spaces = points::spaces(&spec, site).map_err(Failure::Fault)?;
    let targets = targets(&set, &args.targets, &args.models)?;
    let limits = Limits {
        count: args.count as usize,
        budget: args.budget.map_or(f64::INFINITY, |budget| budget.as_secs_f64()),
        goals: Vec::new(),
    };
    let advice = advise::advise(&set, None, &spaces, &targets, &measured, &limits)
        .map_err(|why| Failure::Fault(format!("{}: {why}", args.models.display())))?;
    for note in &advice.notes {
        tell!("warning: {note}");
    }
    if let Some(path) = &args.output {
        let points = advice.points().with_spec(identity);
        write_atomically(path, |out| out.write_all(points.to_text().as_bytes()))
            .map_err(|e| Failure::Machine(e.to_string()))?;
        tell!(
            "wrote {} points to {}; measure them with `specc calibrate SPEC -o DIR --points {} --resume`",
            points.len(),
            path.display(),
            path.display()
        );
    }
    if args.json {
        print(advice_json(&advice, &spec.kinds))
    } else {
        print(tables::advice_table(&advice, &spec.kinds, width()))
    }
}

/// The named targets; without names all libraries or, if there is none, all models.
fn targets(set: &ModelSet, named: &[String], path: &Path) -> Result<Vec<Target>, Failure> {
    if named.is_empty() {
        let libraries: Vec<Target> = set.libraries.iter().map(|l| Target::Library(l.name.clone())).collect();
        let models = || set.models.iter().map(|m| Target::Model(m.name.clone())).collect();
        return Ok(if libraries.is_empty() { models() } else { libraries });
    }
    let find = |name: &String| {
        if set.library(name).is_some() {
            Ok(Target::Library(name.clone()))
        } else if set.model(name).is_some() {
            Ok(Target::Model(name.clone()))
        } else {
            let libraries = set.libraries.iter().map(|l| l.name.as_str());
            let all = libraries.chain(set.models.iter().map(|m| m.name.as_str()));
            Err(choose::no_such(path, "library or model", name, all))
        }
    };
    named.iter().map(find).collect()
}

fn advice_json(advice: &Advice, kinds: &Kinds) -> Value {
    let target = |t: &advise::TargetLoss| {
        let kind = if matches!(t.target, Target::Library(_)) { "library" } else { "model" };
        json!({ "name": t.target.name(), "kind": kind, "before": t.before, "after": t.after })
    };
    let sample = |s: &advise::Advised| {
        let value = |name: &String, value: i64| match kinds.contains_key(name) {
            true => json!(kind_text(kinds, name, value as f64)),
            false => json!(value),
        };
        let at = s.at.iter().map(|(name, one)| (name.clone(), value(name, *one)));
        let at: Map<String, Value> = at.collect();
        json!({ "model": s.model, "at": at, "before": s.before, "after": s.after, "seconds": s.cost })
    };
    json!({
        "targets": advice.targets.iter().map(target).collect::<Vec<_>>(),
        "samples": advice.samples.iter().map(sample).collect::<Vec<_>>(),
    })
}

/// The first part of `specc calibrate --refine`: returns the path of the samples.
pub(super) fn refine<'a>(
    spec: &'a CheckedSpec,
    target: &On,
    refining: &Refining,
    output: &Path,
) -> Result<(PathBuf, Campaign<'a>), Failure> {
    let given = measure::given(target)?;
    let campaign = Campaign::new(spec, target, output)?;
    let spaces = points::spaces(spec, campaign.site()).map_err(Failure::Fault)?;
    let mut start = match given {
        Some(points) => {
            measure::check(&points, &campaign)?;
            points
        }
        None => refine::pilot(&spaces),
    };
    let earlier = if target.resume { campaign.earlier() } else { Points::default() };
    if !earlier.is_empty() {
        start = if target.points.is_some() { start } else { Points::default() };
        measure::join(&mut start, &earlier);
    }
    let verify: usize = spaces.iter().map(|space| space.verify() as usize).sum();
    let loops: usize = spaces.iter().map(|space| space.loops().len()).sum();
    let budget = target.budget.as_secs_f64();
    let interrupt = Interrupt::listen();
    let mut real = Real {
        campaign: &campaign,
        spec,
        more: target.resume,
        known: earlier.len(),
        // Each sample has the time that it would have if all points of the loops were measured.
        share: budget / (loops + verify).max(1) as f64,
        verify,
        left: budget,
        samples: None,
        interrupt,
        interrupts: interrupt.count(),
    };
    let goals = Goals { loss: refining.goal, precision: refining.precision };
    let end = refine::refine(spec, &spaces, start, goals, &mut real)?;
    let why = match end {
        End::Goal => "every goal is reached",
        End::Budget => "the budget is spent",
        End::Loops => "as many points are measured as the loops have",
        End::Rounds => "it does not get better",
    };
    let Some(path) = real.samples else {
        return Err(Failure::Usage("the budget is too short to measure anything".into()));
    };
    tell!("{why}; the loops have {loops} points");
    Ok((path, campaign))
}

/// The part of the budget for the first round.
const PILOT: f64 = 0.25;

/// The real machine.
struct Real<'a> {
    campaign: &'a Campaign<'a>,
    spec: &'a CheckedSpec,
    /// Whether samples in the folder are kept and continued.
    more: bool,
    /// The number of points that an earlier run has measured or planned.
    known: usize,
    /// The seconds for one sample.
    share: f64,
    /// The number of verification samples, which the first round measures too.
    verify: usize,
    /// The seconds left.
    left: f64,
    samples: Option<PathBuf>,
    interrupt: Interrupt,
    /// The number of interrupts when the refinement began.
    interrupts: usize,
}

impl Machine for Real<'_> {
    type Error = Failure;

    fn measure(&mut self, points: &Points, new: usize) -> Result<Option<Samples>, Failure> {
        // A running program handles an interrupt itself; between two programs only this test sees
        // it.
        if self.interrupt.count() > self.interrupts {
            return Err(Failure::Stage(
                130,
                "interrupted\nwhat was measured is kept in samples.txt; run the same command with --resume to go on".into(),
            ));
        }
        let mut seconds = self.share * (new.saturating_sub(self.known) + self.verify) as f64;
        if self.verify > 0 && self.known == 0 {
            // The first points lie at the ends of the loops, where samples take the most time.
            seconds = seconds.max(PILOT * self.left);
        }
        let seconds = seconds.min(self.left);
        if seconds <= 0.0 {
            return Ok(None);
        }
        let start = Instant::now();
        let path = self.campaign.points(points, self.more, seconds)?;
        self.left -= start.elapsed().as_secs_f64().max(seconds);
        self.more = true;
        (self.verify, self.known) = (0, 0);
        let bytes = fs::read(&path).map_err(|e| Failure::file(&path, e))?;
        let samples =
            Samples::read(&*bytes, &path.display().to_string()).map_err(|e| Failure::Fault(e.to_string()))?;
        self.samples = Some(path);
        // The load by other programs is cleared here: further samples cannot lower the uncertainty
        // that it adds.
        Ok(Some(Samples { busy: 0.0, ..samples }))
    }

    fn fit(&mut self, samples: &Samples, everything: bool) -> ModelSet {
        let how = if everything { Overrides::everything() } else { Overrides::of_few() };
        fitting::fit(samples, String::new(), Some(self.spec), &how).set
    }

    fn tell(&mut self, round: &Round) {
        let mut text = format!("round {}: {} samples", round.number, round.samples);
        for (target, loss, goal) in &round.targets {
            let what = match target {
                Target::Library(name) => format!("choosing in `{name}` loses"),
                Target::Model(name) => format!("`{name}` is known to"),
            };
            text.push_str(&format!("; {what} {:.3} % (goal {:.3} %)", 100.0 * loss, 100.0 * goal));
        }
        tell!("{text}");
        for note in &round.notes {
            tell!("warning: {note}");
        }
    }
}
