//! The benchmark, from its specs to the machine's parameters.

use std::path::{Path, PathBuf};
use std::time::Instant;

use specc::cli::folder::Lock;
use specc::cli::machine::{Watch, cores};
use specc::cli::measuring::{self, Campaign, join, write};
use specc::cli::{Features, Target, write_models};
use specc::drive::{Interrupt, On};
use specc::fitting::{self, Overrides};
use specc::lang::{CheckedSpec, load_paths};
use strata_comet::series::Contaminated;
use strata_comet::suite::{self, Kernel};
use strata_comet::{Results, ResultsError, compare, machine_file, report};
use strata_model::{Points, Samples, count};
use strata_screen::{Failure, print, tell, width, wrapped};

use crate::args::{Comet, CometForm};
use crate::{draw, source};

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

/// A break is known well enough where the sizes beside it are this close, as a share.
const CLOSE: f64 = 0.01;

/// The most breaks that are looked for.
const BREAKS: usize = 4;

/// The share of the budget that each such round may take.
const ROUND: f64 = 0.05;

/// The share of the budget that is kept for these rounds, and for what is uncertain after them.
const KEPT: f64 = 0.2;

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
    let results = match (&given.read, &given.output) {
        (Some(folder), _) => read(folder)?,
        (None, Some(output)) => measure(given, output)?,
        (None, None) => return Err(Failure::Usage("name a folder, -o DIR".into())),
    };
    let fits = |text: &str| wrapped(text.trim_end(), width(), "  ");
    let text = shown(&results, given.format);
    print(if given.format == CometForm::Table { fits(&text) } else { text.trim_end().to_owned() })?;
    if let Some(folder) = &given.compare {
        print(format_args!("\n{}", fits(&compare::compare(&read(folder)?, &results).to_text())))?;
    }
    Ok(())
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
        CometForm::Osu => report::osu(results),
        CometForm::Imb => report::imb(results),
        CometForm::Csv => report::csv(results),
        CometForm::Json => results.to_json(),
        CometForm::JsonLines => report::json_lines(results),
    }
}

/// The kernels that were asked for and suit the nodes; says which do not.
fn chosen(given: &Comet, nodes: usize, on: &On) -> Result<Vec<&'static Kernel>, Failure> {
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
    // `all` is the name of a kernel, too: alone it means every one.
    let every = given.kernels == ["all"];
    let large = given.sizes.iter().any(|size| *size > 1 << 20);
    let wanted = |kernel: &&Kernel| {
        let named = given.kernels.iter().any(|name| name == kernel.name);
        let usual = given.kernels.is_empty() && kernel.usual || every && kernel.name != "echo_large";
        let echo = given.kernels.is_empty() || every || given.kernels.iter().any(|name| name == "echo");
        named || usual || kernel.name == "echo_large" && large && echo
    };
    let mut kernels = Vec::new();
    for kernel in suite::KERNELS.iter().filter(wanted) {
        match kernel.refuses(nodes, *on == On::Mpi) {
            Some(why) => tell!("{} is left out: {why}", kernel.name),
            None => kernels.push(kernel),
        }
    }
    if kernels.is_empty() {
        return Err(Failure::Usage(format!(
            "no kernel is left on {}{}",
            count(nodes, "node", "nodes"),
            if nodes < 2 { "; communication takes at least two nodes, as in --nodes 2" } else { "" }
        )));
    }
    Ok(kernels)
}

fn measure(given: &Comet, output: &Path) -> Result<Results, Failure> {
    let nodes = given.nodes.map_or_else(cores, |nodes| nodes as usize);
    let on: On = given.on.parse().map_err(Failure::Usage)?;
    let kernels = chosen(given, nodes, &on)?;
    let sizes = if given.sizes.is_empty() { suite::usual_sizes() } else { given.sizes.clone() };
    let mut points = suite::points(&kernels, &sizes, nodes);
    if points.is_empty() && kernels.iter().all(|k| k.models.iter().any(|m| m.size != suite::Size::None)) {
        return Err(Failure::Usage("--sizes: these kernels have none of these sizes".into()));
    }
    let _lock = Lock::take(output)?;
    let spec = load_paths(&source::files(&kernels, output)?)?;
    let target = Target {
        on: given.on.clone(),
        nodes: vec![nodes as u32],
        budget: given.budget,
        seed: given.seed,
        points: None,
        resume: given.resume,
        features: Features::default(),
        precision: Some(given.precision),
        most: Some(MOST),
        program: None,
    };
    let watch = Watch::start();
    let mut campaign = Campaign::new(&spec, &target, output)?;
    if given.resume {
        join(&mut points, &campaign.earlier());
    }
    let start = Instant::now();
    let budget = given.budget.as_secs_f64();
    let simulated = matches!(on, On::Sim { .. });
    let interrupt = Interrupt::listen();
    let before = interrupt.count();
    let mut path = if simulated {
        campaign.points(&points, given.resume, budget)?
    } else {
        launch(&mut campaign, &points, given, &|| interrupt.count() > before)?
    };
    let (mut samples, mut bytes) = load(&path)?;
    let mut results = Results::of(&samples);
    for _ in 0..ROUNDS {
        let left = budget - start.elapsed().as_secs_f64();
        let more = narrower(&results, &points);
        if more.is_empty() || (left <= 0.0 && !simulated) || interrupt.count() > before {
            break;
        }
        join(&mut points, &more);
        campaign.part("looking for breaks".to_owned());
        path = campaign.points(&points, true, if simulated { budget } else { left.min(ROUND * budget) })?;
        (samples, bytes) = load(&path)?;
        results = Results::of(&samples);
    }
    let mut narrowed = 1.0;
    loop {
        let left = budget - start.elapsed().as_secs_f64();
        let uncertain = results.kernels.iter().flat_map(|kernel| &kernel.points);
        let uncertain = uncertain.filter(|point| !point.belief.is_known(given.precision)).count();
        if simulated || uncertain == 0 || left < WORTH || interrupt.count() > before {
            break;
        }
        if narrowed * NARROWER >= NARROWEST {
            narrowed *= NARROWER;
            campaign.until(narrowed * given.precision, MOST);
        }
        let known = results.timings();
        campaign.part(format!("narrowing {}", count(uncertain, "interval", "intervals")));
        path = campaign.points(&points, true, left)?;
        (samples, bytes) = load(&path)?;
        results = Results::of(&samples);
        // The profiling program knows no more points to time.
        if results.timings() == known {
            break;
        }
    }
    // A load that never changes leaves no slow periods in the timings.
    if !simulated
        && results.contaminated.is_none()
        && let Some((reason, slowdown)) = watch.disturbed(nodes)
    {
        results.contaminated = Some(Contaminated { reason, slowdown });
    }
    keep(&spec, (&samples, &bytes), &results, output)?;
    if let Some(longer) = measuring::longer(&target, output) {
        tell!("{longer}");
    }
    tell!(
        "measured in {:.1?}; wrote comet.txt, comet.json, comet.csv, rules.txt, curves, here.toml and models to {}",
        start.elapsed(),
        output.display()
    );
    Ok(results)
}

/// Takes the first timings of all points in several launches, for all but what is kept of the
/// budget; the path of the samples.
fn launch(
    campaign: &mut Campaign<'_>,
    points: &Points,
    given: &Comet,
    interrupted: &dyn Fn() -> bool,
) -> Result<PathBuf, Failure> {
    let (start, all) = (Instant::now(), (1.0 - KEPT) * given.budget.as_secs_f64());
    let mut path = None;
    for number in 1..=LAUNCHES {
        // Budgets are told in milliseconds.
        let share =
            ((all - start.elapsed().as_secs_f64()) / (LAUNCHES + 1 - number) as f64 * 1e3).round() / 1e3;
        if path.is_some() && (share <= 0.0 || interrupted()) {
            break;
        }
        campaign.until(NARROWEST * given.precision, EACH * number);
        // The first one of a run that is resumed says from what it goes on.
        if number > 1 || !given.resume {
            campaign.part(format!("launch {number} of {LAUNCHES}"));
        }
        path = Some(campaign.points(points, given.resume || number > 1, share.max(1e-3))?);
    }
    campaign.until(given.precision, MOST);
    path.ok_or_else(|| Failure::Machine("nothing was launched".into()))
}

fn load(path: &PathBuf) -> Result<(Samples, Vec<u8>), Failure> {
    let bytes = std::fs::read(path).map_err(|e| Failure::file(path, e))?;
    let samples =
        Samples::read(&*bytes, &path.display().to_string()).map_err(|e| Failure::Fault(e.to_string()))?;
    Ok((samples, bytes))
}

/// Sizes between those beside the largest breaks of the echo, where they are not close yet.
fn narrower(results: &Results, points: &Points) -> Points {
    let mut more = Points::default();
    let Some(echo) = results.kernel("Echo") else { return more };
    let mut breaks = echo.breaks.clone();
    breaks.sort_by(|a, b| (b.jump.ln().abs()).total_cmp(&a.jump.ln().abs()));
    for one in breaks.iter().take(BREAKS) {
        let middle = ((one.after * one.before).sqrt().round() as i64).clamp(1, 1 << 20);
        let wide = one.before - one.after > (CLOSE * one.after).max(1.0);
        if wide && !points.contains("Echo", &[middle, 1]) {
            more.add("Echo", &[middle, 1]);
        }
    }
    more
}

/// Writes everything that came of a run.
fn keep(
    spec: &CheckedSpec,
    (samples, bytes): (&Samples, &[u8]),
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
    for kernel in &results.kernels {
        if let Some(svg) = draw::curve(kernel) {
            save(&format!("{}.svg", kernel.model.to_lowercase()), &svg)?;
        }
    }
    let mut fitting = fitting::fit(samples, bytes, Some(spec), &Overrides::default());
    // The benchmark's own figures do not depend on the models; what could not be fitted is told.
    for failure in std::mem::take(&mut fitting.failures) {
        tell!("note: {failure}");
    }
    write_models(output, &fitting, samples, (None, &[]))
}
