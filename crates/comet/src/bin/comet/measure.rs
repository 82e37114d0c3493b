//! The benchmark, from its specs to the machine's parameters.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use specc::cli::machine_load::{Watch, cores};
use specc::cli::measure::{Campaign, join, measured, write};
use specc::cli::output_lock::Lock;
use specc::cli::{CompareHow, Features, MOST_RESIDUALS, Target, write_models};
use specc::drive::{Interrupt, On};
use specc::fitting::{self, Overrides};
use specc::lang::{CheckedSpec, load_paths};
use strata_comet::series::Contaminated;
use strata_comet::suite::{self, Costly, Ground, Kernel, LeftOut, Plan};
use strata_comet::{Fixed, Results, ResultsError, formats, machine_file, over_nodes, report};
use strata_model::{Points, Samples, count, sha256_hex};
use strata_report::figures;
use strata_screen::{Failure, print, tell, width, wrapped};

use crate::args::{Comet, CometForm, Roots};
use crate::setup::setup;
use crate::topology::ground;
use crate::{comparing, draw, source};

/// The most timings of a point: enough for its 5 and 95 % quantiles.
const MOST: usize = 100;

/// Launches of the profiling program among which the first timings of a point are divided: what a
/// process keeps, as where its memory lies, differs from launch to launch, and no interval of one
/// tells by how much.
const LAUNCHES: usize = 6;

/// Timings of a point in each of them.
const EACH: usize = 5;

/// Rounds in which the place of a break is looked for; each halves the gap between two sizes.
const ROUNDS: usize = 8;

/// The share of the budget that each such round may take.
const ROUND: f64 = 0.05;

/// The share of the budget that is kept for these rounds, and for what is uncertain after them.
const KEPT: f64 = 0.2;

/// The share of the budget for the echo alone, from whose curve other points follow: on a simulated
/// machine, where they are not measured again, and on a real one.
const FIRST: f64 = 0.3;
const PRELIMINARY: f64 = 0.03;

/// The least time in which more timings of all points tell something, s.
const WORTH: f64 = 1.0;

/// By how much the goal of the profiling program is made narrower where intervals that allow for
/// timings that depend on each other are wider than it knows.
const NARROWER: f64 = 0.6;

/// The narrowest goal beside that which was asked for.
const NARROWEST: f64 = 0.1;

/// Measures, or reads what was measured, and prints it.
///
/// # Errors
/// What was given suits no kernel, a file is at fault, or measuring failed.
pub(crate) fn comet(given: &Comet) -> Result<(), Failure> {
    let folder = given.read.as_ref().or(given.output.as_ref());
    let results = match (&given.read, &given.output) {
        (Some(folder), _) => read(folder)?,
        (None, Some(output)) => {
            let numbers: BTreeSet<u32> = given.nodes.iter().copied().collect();
            if numbers.len() > 1 {
                return over_nodes(given, &numbers, output);
            }
            let nodes = numbers.first().map_or_else(cores, |nodes| *nodes as usize);
            measure(given, &chosen(given)?, nodes, output, None)?
        }
        (None, None) => return Err(Failure::Usage("name a folder, -o DIR".into())),
    };
    let fits = |text: &str| wrapped(text.trim_end(), width(), "  ");
    let text = shown(&results, given.format);
    print(if given.format == CometForm::Table { fits(&text) } else { text.trim_end().to_owned() })?;
    let Some((before, after)) = given.compare.as_ref().zip(folder) else { return Ok(()) };
    let how = CompareHow { fail_above: given.fail_above, json: false };
    print("")?;
    comparing::compare((before, &read(before)?), (after, &results), &how)
}

fn over_nodes(given: &Comet, numbers: &BTreeSet<u32>, output: &Path) -> Result<(), Failure> {
    if given.compare.is_some() {
        let why = "--compare: measure one number of nodes, or compare their folders by --read";
        return Err(Failure::Usage(why.into()));
    }
    let kernels = chosen(given)?;
    let mut runs = Vec::new();
    for nodes in numbers {
        let one = Comet { budget: given.budget / numbers.len() as u32, ..given.clone() };
        tell!("{}:", count(*nodes as usize, "node", "nodes"));
        let folder = output.join(format!("nodes-{nodes}"));
        runs.push(measure(&one, &kernels, *nodes as usize, &folder, Some(output))?);
    }
    let points = over_nodes::over_nodes(&runs);
    let models: BTreeSet<&str> = points.iter().map(|one| one.model.as_str()).collect();
    let of_model = |model: &str| points.iter().filter(|one| one.model == model).collect::<Vec<_>>();
    let curves: Vec<_> = models.iter().filter_map(|model| draw::over_nodes(&of_model(model))).collect();
    let machine = runs.first().map_or("", |run| &run.platform);
    write(&output.join("nodes.html"), &figures("Times over numbers of nodes", machine, &curves))?;
    let all = over_nodes::table(&points);
    write(&output.join("nodes.txt"), &all)?;
    match given.format {
        CometForm::Table => print(all.trim_end()),
        format => runs.iter().try_for_each(|results| print(shown(results, format).trim_end())),
    }
}

fn read(folder: &Path) -> Result<Results, Failure> {
    Results::read(folder).map_err(|error| match error {
        ResultsError::File { .. } => Failure::Machine(error.to_string()),
        ResultsError::Text { .. } => Failure::Fault(error.to_string()),
    })
}

fn shown(results: &Results, format: CometForm) -> String {
    match format {
        CometForm::Table => report::table(results),
        CometForm::Osu => formats::osu(results),
        CometForm::Imb => formats::imb(results),
        CometForm::Csv => report::csv(results),
        CometForm::Json => results.to_json(),
        CometForm::JsonLines => report::json_lines(results),
    }
}

fn chosen(given: &Comet) -> Result<Vec<&'static Kernel>, Failure> {
    let names: Vec<&str> = suite::KERNELS.iter().map(|kernel| kernel.name).collect();
    for name in &given.kernels {
        if name != "all" && !names.contains(&name.as_str()) {
            let meant = strata_model::did_you_mean(name, names.iter().copied());
            return Err(Failure::Usage(format!(
                "--kernels {name}: there is no such kernel{meant}; there are {}",
                names.join(", ")
            )));
        }
    }
    let is_named = |wanted: &str| given.kernels.iter().any(|name| name == wanted);
    let every = is_named("all");
    let large = given.sizes.iter().any(|size| *size > 1 << 20);
    let wanted = |kernel: &&Kernel| {
        let usual = given.kernels.is_empty() && kernel.usual || every && kernel.name != "echo_large";
        let echo = given.kernels.is_empty() || every || is_named("echo");
        // Its loads are sizes that the echo's curve tells.
        let told = kernel.name == "echo" && given.sizes.is_empty() && is_named("contention");
        is_named(kernel.name) || usual || told || kernel.name == "echo_large" && large && echo
    };
    Ok(suite::KERNELS.iter().filter(wanted).collect())
}

/// Reports what is left out, one line a reason.
fn tell_left_out(left_out: &[LeftOut]) {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for one in left_out {
        let why = match &*one.what {
            "" => one.why.clone(),
            "hops" => format!("no cost of a hop: {}", one.why),
            sizes => format!("not at {sizes} bytes: {}", one.why),
        };
        match told.iter_mut().find(|(known, _)| *known == why) {
            Some((_, models)) => models.push(&one.model),
            None => told.push((why, vec![&one.model])),
        }
    }
    told.iter().for_each(|(why, models)| tell!("left out: {}: {why}", models.join(", ")));
}

struct Run<'a> {
    given: &'a Comet,
    campaign: Campaign<'a>,
    ground: Ground,
    plan: Plan,
    interrupt: Interrupt,
    /// Interruptions before this run.
    before: usize,
    start: Instant,
    /// Points of earlier runs in the same folder.
    earlier: Points,
    /// Whether samples are there from which to go on.
    begun: bool,
}

impl Run<'_> {
    fn interrupted(&self) -> bool {
        self.interrupt.count() > self.before
    }

    fn left(&self) -> f64 {
        self.given.budget.as_secs_f64() - self.start.elapsed().as_secs_f64()
    }

    /// Measures these points and the earlier ones for at most `seconds`.
    fn points(&mut self, points: &Points, seconds: f64) -> Result<Taken, Failure> {
        let mut all = points.clone();
        join(&mut all, &self.earlier);
        let path = self.campaign.points(&all, self.begun, (1e3 * seconds.max(1e-3)).round() / 1e3)?;
        self.begun = true;
        Taken::read(&path)
    }

    /// Measures points by their cost, so that a short budget gives whole curves of short messages.
    /// What is expected to take longer than is left of `budget` is not begun.
    fn by_cost(&mut self, points: &Points, budget: f64) -> Result<Taken, Failure> {
        let end = self.left() - budget;
        let stages = suite::stages(points, self.ground.nodes);
        let (mut chosen, mut taken, mut rate) = (Points::default(), None, 0.0f64);
        for (number, stage) in stages.iter().enumerate() {
            let seconds = self.left() - end;
            let mut sum = 0.0;
            let fits = |one: &&Costly| {
                sum += one.cost;
                one.first || sum * rate <= seconds
            };
            let stage: Vec<&Costly> = stage.iter().filter(fits).collect();
            if taken.is_some() && (seconds <= 0.0 || stage.is_empty() || self.interrupted()) {
                break;
            }
            stage.iter().for_each(|one| _ = chosen.add(&one.model, &one.at));
            self.campaign.part(format!("stage {} of {}", number + 1, stages.len()));
            let begun = self.left();
            taken = Some(self.points(&chosen, seconds)?);
            let cost: f64 = stage.iter().map(|one| one.cost).sum();
            rate = (begun - self.left()) / cost.max(1.0);
        }
        taken.ok_or_else(|| Failure::Machine("nothing was measured".into()))
    }

    /// Measures the curve of the echo, from which other points follow.
    fn echo(&mut self, simulated: bool) -> Result<Taken, Failure> {
        let mut echo = suite::cheapest(&self.plan.points, self.ground.nodes);
        let nearest = self.plan.points.of("Echo").unwrap_or_default().iter();
        nearest.filter(|at| at[1] == self.ground.peers[0].hops).for_each(|at| _ = echo.add("Echo", at));
        let budget = self.given.budget.as_secs_f64();
        let mut taken = if simulated {
            self.by_cost(&echo, FIRST * budget)?
        } else {
            self.points(&echo, PRELIMINARY * budget)?
        };
        if simulated {
            taken = self.refine(taken, true)?;
        }
        join(&mut self.earlier, &measured(&taken.samples));
        Ok(taken)
    }

    /// Measures what the results so far call for, beside all that was measured.
    fn refine(&mut self, mut taken: Taken, simulated: bool) -> Result<Taken, Failure> {
        let mut known = self.plan.points.clone();
        if simulated {
            // Only what is known to be cheap is measured with what is added.
            known = measured(&taken.samples);
        }
        for _ in 0..ROUNDS {
            let more = more_points(&taken.results, &known, !self.given.sizes.is_empty());
            let left = self.left();
            if more.is_empty() || left <= 0.0 || self.interrupted() {
                break;
            }
            join(&mut known, &more);
            join(&mut self.plan.points, &more);
            self.campaign.part("looking for breaks".to_owned());
            let round = ROUND * self.given.budget.as_secs_f64();
            taken = self.points(&known, if simulated { left } else { left.min(round) })?;
        }
        Ok(taken)
    }
}

/// The loads of contention: the sizes at which the echo reaches 50 and 90 % of its largest bandwidth
/// (Ganapati 1993, §3.3.6).
fn loads(results: &Results) -> Vec<i64> {
    let echo = results.kernel("Echo");
    let sizes = [echo.and_then(|echo| echo.n50), echo.and_then(|echo| echo.n90)];
    sizes.into_iter().flatten().map(|size| size.round() as i64).collect()
}

struct Taken {
    samples: Samples,
    digest: String,
    results: Results,
}

impl Taken {
    fn read(path: &PathBuf) -> Result<Self, Failure> {
        let bytes = std::fs::read(path).map_err(|e| Failure::file(path, e))?;
        let samples =
            Samples::read(&*bytes, &path.display().to_string()).map_err(|e| Failure::Fault(e.to_string()))?;
        let results = Results::of(&samples);
        Ok(Self { samples, digest: sha256_hex(&bytes), results })
    }
}

/// What the profiling program is told beside its plan.
fn settings(given: &Comet) -> Vec<(&'static str, String)> {
    let mut settings = Vec::new();
    settings.extend(given.repetitions.map(|count| (suite::REPETITIONS, count.to_string())));
    settings.extend(given.warm_up.map(|count| (suite::WARM_UP, count.to_string())));
    if given.roots == Roots::InTurn {
        settings.push((suite::ROOTS, suite::IN_TURN.to_owned()));
    }
    settings
}

/// Measures on one number of nodes. With `program` the profiling program of all kernels lies in that
/// folder, which several numbers of nodes share.
fn measure(
    given: &Comet,
    kernels: &[&'static Kernel],
    nodes: usize,
    output: &Path,
    program: Option<&Path>,
) -> Result<Results, Failure> {
    let on: On = given.on.parse().map_err(Failure::Usage)?;
    let ground = ground(&on, nodes, given.topology.as_deref()).map_err(Failure::Usage)?;
    let sizes = (!given.sizes.is_empty()).then_some(&given.sizes[..]);
    let plan = suite::plan(kernels, &ground, sizes, &[]);
    tell_left_out(&plan.left_out);
    if plan.models.is_empty() {
        return Err(Failure::Usage(format!(
            "no kernel is left on {}{}",
            count(nodes, "node", "nodes"),
            if nodes < 2 { "; communication takes at least two nodes, as in --nodes 2" } else { "" }
        )));
    }
    let is_left = |kernel: &&&Kernel| {
        program.is_some() || kernel.models.iter().any(|model| plan.models.contains(&model.model))
    };
    let kernels: Vec<&Kernel> = kernels.iter().filter(is_left).copied().collect();
    let _lock = Lock::take(output)?;
    let spec = load_paths(&source::files(&kernels, program.unwrap_or(output))?)?;
    let target = Target {
        on: Some(given.on.clone()),
        nodes: vec![(nodes as u32).into()],
        launcher: given.launcher.clone(),
        budget: given.budget,
        seed: given.seed,
        points: None,
        resume: given.resume,
        features: Features::default(),
        precision: Some(given.precision),
        most: Some(MOST),
        program: program.map(Path::to_owned),
        settings: settings(given),
    };
    let watch = Watch::start();
    let campaign = Campaign::new(&spec, &target, output)?;
    let earlier = if given.resume { campaign.earlier() } else { Points::default() };
    let interrupt = Interrupt::listen();
    let before = interrupt.count();
    let start = Instant::now();
    let begun = given.resume;
    let mut run = Run { given, campaign, ground, plan, interrupt, before, start, earlier, begun };
    let simulated = on.is_simulated();
    run.campaign.only(run.plan.models.iter().map(|model| (*model).to_owned()));
    if sizes.is_none() && run.plan.points.of("Echo").is_some() {
        let echo = run.echo(simulated)?;
        let all = suite::plan(&kernels, &run.ground, None, &loads(&echo.results));
        join(&mut run.plan.points, &all.points);
    }
    let points = run.plan.points.clone();
    let mut taken = if simulated {
        run.by_cost(&points, (1.0 - KEPT) * given.budget.as_secs_f64())?
    } else {
        launch(&mut run, &points)?
    };
    taken = run.refine(taken, simulated)?;
    let mut narrowed = 1.0;
    loop {
        let uncertain = taken.results.kernels.iter().flat_map(|kernel| &kernel.points);
        let uncertain = uncertain.filter(|point| !point.belief.is_known(given.precision)).count();
        if simulated || uncertain == 0 || run.left() < WORTH || run.interrupted() {
            break;
        }
        if narrowed * NARROWER >= NARROWEST {
            narrowed *= NARROWER;
            run.campaign.until(narrowed * given.precision, MOST);
        }
        let timings = taken.results.timings();
        run.campaign.part(format!("narrowing {}", count(uncertain, "interval", "intervals")));
        let (left, points) = (run.left(), run.plan.points.clone());
        taken = run.points(&points, left)?;
        // The profiling program knows no more points to time.
        if taken.results.timings() == timings {
            break;
        }
    }
    let Taken { samples, digest, mut results } = taken;
    // A load that never changes leaves no slow periods in the timings.
    if !simulated
        && results.contaminated.is_none()
        && let Some((reason, slowdown)) = watch.disturbed(nodes)
    {
        results.contaminated = Some(Contaminated { reason, slowdown });
    }
    results.setup = setup(&on, nodes, run.campaign.launcher()?.as_ref(), run.campaign.executable());
    results.setup.fixed = Fixed {
        repetitions: given.repetitions.map(|count| count as usize),
        warm_up: given.warm_up.map(|count| count as usize),
        roots_in_turn: given.roots == Roots::InTurn,
    };
    results.left_out = run.plan.left_out;
    keep(&spec, (&samples, digest), &results, output)?;
    if let Some(longer) = longer(&run.plan.points, &results, given.budget.as_secs_f64()) {
        tell!("{longer}");
    }
    tell!(
        "measured in {:.1?}; wrote comet.txt, comet.html, comet.json, comet.csv, rules.txt, here.toml and models to {}",
        start.elapsed(),
        output.display()
    );
    Ok(results)
}

/// How to go on if the budget was too short for all points; `None` if it was not.
fn longer(wanted: &Points, results: &Results, budget: f64) -> Option<String> {
    let is_there = |model: &str, at: &Vec<i64>| {
        let kernel = results.kernel(model);
        kernel.is_some_and(|k| k.points.iter().any(|point| point.at == *at) || k.untold.contains(at))
    };
    let models = wanted.models().iter();
    let missing = models.flat_map(|m| m.points.iter().filter(|at| !is_there(&m.model, at))).count();
    (missing > 0).then(|| {
        let enough = (3.0 * budget).ceil();
        format!(
            "the budget sufficed for {} of {} points, the cheap ones; more of them by the same command with \
             --resume --budget {enough}s",
            wanted.len() - missing,
            wanted.len()
        )
    })
}

/// Takes the first timings of all points in several launches, for all but what is kept of the
/// budget.
fn launch(run: &mut Run<'_>, points: &Points) -> Result<Taken, Failure> {
    let end = KEPT * run.given.budget.as_secs_f64();
    let mut taken = None;
    for number in 1..=LAUNCHES {
        let share = (run.left() - end) / (LAUNCHES + 1 - number) as f64;
        if taken.is_some() && (share <= 0.0 || run.interrupted()) {
            break;
        }
        run.campaign.until(NARROWEST * run.given.precision, EACH * number);
        // The first one of a run that is resumed says from what it goes on.
        if number > 1 || !run.given.resume {
            run.campaign.part(format!("launch {number} of {LAUNCHES}"));
        }
        taken = Some(run.points(points, share)?);
    }
    run.campaign.until(run.given.precision, MOST);
    taken.ok_or_else(|| Failure::Machine("nothing was launched".into()))
}

/// Points that the results so far call for: sizes of the echo, if none were `given`, and computations
/// that take as long as the exchange beside them.
fn more_points(results: &Results, points: &Points, given: bool) -> Points {
    let mut more = Points::default();
    if let Some(echo) = results.kernel("Echo").filter(|_| !given) {
        let nearest = echo.line().next().map(|point| point.at[1..].to_vec()).unwrap_or_default();
        for size in results.more_sizes() {
            let at: Vec<i64> = std::iter::once(size).chain(nearest.iter().copied()).collect();
            if !points.contains("Echo", &at) {
                more.add("Echo", &at);
            }
        }
    }
    for at in results.balanced() {
        for model in ["Synchronous", "Asynchronous"] {
            if !points.contains(model, &at) {
                more.add(model, &at);
            }
        }
    }
    more
}

/// Writes everything that came of a run.
fn keep(
    spec: &CheckedSpec,
    (samples, digest): (&Samples, String),
    results: &Results,
    output: &Path,
) -> Result<(), Failure> {
    let save = |name: &str, text: &str| write(&output.join(name), text);
    save("comet.json", &results.to_json())?;
    save("comet.txt", &report::table(results))?;
    save("comet.csv", &report::csv(results))?;
    let rules: String = report::rules(results).iter().map(|(rule, how)| format!("{rule}: {how}\n")).collect();
    save("rules.txt", &format!("Hoefler and Belli, SC'15, and how this report keeps their rules\n{rules}"))?;
    if let Some(text) = machine_file::platform(results) {
        save("here.toml", &text)?;
    }
    if let Some(text) = machine_file::simgrid(results) {
        save("here.xml", &text)?;
    }
    let (pairs, others): (Vec<_>, Vec<_>) = results.kernels.iter().partition(|one| one.model == "Pair");
    for (kernel, bytes) in
        pairs.iter().flat_map(|kernel| kernel.sizes().into_iter().map(move |b| (kernel, b)))
    {
        if let Some(svg) = draw::pairs(kernel, bytes) {
            save(&format!("pair-{bytes}.svg"), &svg)?;
        }
    }
    let curves: Vec<_> = others.into_iter().filter_map(draw::curve).collect();
    save("comet.html", &figures("How this machine communicates", &results.platform, &curves))?;
    let mut fitting = fitting::fit(samples, digest, Some(spec), &Overrides::default());
    // The benchmark's own figures do not depend on the models; what could not be fitted is told.
    let is_left_out = |failure: &str| {
        results
            .left_out
            .iter()
            .any(|one| one.what.is_empty() && failure.contains(&format!("`{}`", one.model)))
    };
    for failure in std::mem::take(&mut fitting.failures) {
        let failure = failure.to_string();
        if !is_left_out(&failure) {
            tell!("note: {failure}");
        }
    }
    write_models(output, &fitting, samples, (None, &[]), MOST_RESIDUALS)
}
