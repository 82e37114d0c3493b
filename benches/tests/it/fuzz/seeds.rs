//! Sound files to begin with.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use specc::lang::load;
use specc::points::plan;
use strata_comet::Results;
use strata_model::{Plan, Points, Samples, SpecId};

/// Longer files are cut, so that many inputs are tried.
const LONGEST: usize = 3 << 10;

/// The seeds of a target; never none.
pub(crate) fn of(target: &str) -> Vec<Vec<u8>> {
    let mut seeds: Vec<String> = match target {
        "specs" => files(".spec").iter().map(|path| cut(&text(path), "\n\n")).collect(),
        "models" => files("models.toml").iter().map(|path| cut(&text(path), "\n[[")).collect(),
        "samples" => files("samples.txt").iter().map(|path| thinned(&beginning(path))).collect(),
        "platforms" => files(".toml").iter().filter(|path| in_folder(path)).map(|path| text(path)).collect(),
        "plans" => plans(),
        "comet" => ["threads", "mpi"].map(comet).into(),
        _ => Vec::new(),
    };
    let own = here().join("seeds").join(target);
    if own.is_dir() {
        seeds.extend(walk(&own).iter().map(|path| text(path)));
    }
    // Short texts: each line of a file is a seed.
    if let Ok(lines) = fs::read_to_string(own.with_extension("txt")) {
        seeds.extend(lines.lines().map(str::to_owned));
    }
    seeds.push(String::new());
    seeds.into_iter().map(String::into_bytes).collect()
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fuzz")
}

fn in_folder(path: &Path) -> bool {
    path.parent()
        .and_then(Path::file_name)
        .is_some_and(|folder| folder == "platforms" || folder == "platform")
}

/// The files of the workspace whose names end so, in the order of their paths.
fn files(end: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["specs", "models", "examples", "crates"].map(|folder| root.join(folder));
    let all = folders.iter().flat_map(|folder| walk(folder));
    let mut found: Vec<PathBuf> =
        all.filter(|path| path.as_os_str().to_string_lossy().ends_with(end)).collect();
    found.sort();
    found
}

/// All files below a folder but those that cargo builds, and kept inputs.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_file() {
            paths.push(path);
        } else if kind.is_dir() && !path.ends_with("target") && !path.ends_with("regressions") {
            paths.extend(walk(&path));
        }
    }
    paths.sort();
    paths
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// The first lines of a long file.
fn beginning(path: &Path) -> String {
    let mut text = String::new();
    // Samples are ASCII: nothing is cut within a character.
    fs::File::open(path).unwrap().take(64 << 10).read_to_string(&mut text).unwrap();
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    text
}

/// As many whole parts as fit, but the first one at least: what follows it begins with `part`.
fn cut(text: &str, part: &str) -> String {
    let ends = text.match_indices(part).map(|(at, _)| at + 1).chain([text.len()]);
    let end = ends.clone().filter(|end| *end <= LONGEST).last().or_else(|| ends.clone().next());
    text[..end.unwrap_or(text.len())].to_owned()
}

/// The first lines, and of the first models some samples each.
fn thinned(samples: &str) -> String {
    const MODELS: usize = 2;
    const SAMPLES: usize = 7;
    let count = |model: &str| samples.lines().filter(|line| name(line) == model).count();
    let models: Vec<&str> =
        samples.lines().filter_map(|line| line.strip_prefix("model ")).map(first).take(MODELS).collect();
    let mut at = vec![0_usize; models.len()];
    let steps: Vec<usize> = models.iter().map(|model| count(model).div_ceil(SAMPLES)).collect();
    let mut keeps = false;
    let kept = samples.lines().filter(|line| {
        keeps = match first(line) {
            // The single timings of the sample above.
            "&" => keeps,
            "model" | "fit" => line.split(' ').nth(1).is_some_and(|model| models.contains(&model)),
            "strata-samples" | "platform" | "spec" => true,
            _ => models.iter().position(|model| *model == name(line)).is_some_and(|model| {
                at[model] += 1;
                at[model].is_multiple_of(steps[model])
            }),
        };
        keeps
    });
    kept.collect::<Vec<_>>().join("\n") + "\n"
}

/// The model of a sample.
fn name(line: &str) -> &str {
    first(line).trim_start_matches('@')
}

fn first(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// Plans of small specs.
fn plans() -> Vec<String> {
    let specs =
        ["pass/design.spec", "pass/typed.spec", "emit/nest.spec", "run/small.spec", "refine/stencil.spec"];
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/specc/tests");
    let planned = specs.iter().filter_map(|name| {
        let spec = load(name, &text(&tests.join(name))).unwrap();
        let (mut run, _) = plan(&spec, 4, 1, &Points::default()).ok()?;
        run.models.iter_mut().for_each(|model| model.points.truncate(12));
        let spec = SpecId { path: (*name).to_owned(), sha256: "0".repeat(64) };
        Some(Plan { spec, runs: vec![run] }.to_text())
    });
    planned.collect()
}

/// Results of the benchmark, of samples that lie on straight lines.
fn comet(transport: &str) -> String {
    let kernels = ["SendOverhead", "ReceiveOverhead", "Gap", "Echo", "EchoData", "Poll", "Barrier", "Reduce"];
    let mut text = format!(
        "strata-samples 1\nplatform {transport} nodes=2 cores=2 cpu=any cache=\"\" os=linux arch=x86_64\n"
    );
    for (kernel, name) in kernels.iter().enumerate() {
        let _ = writeln!(text, "model {name} (bytes)");
        for bytes in [8, 64, 512, 4096] {
            let seconds = (kernel + 1) as f64 * (1e-6 + 1e-9 * f64::from(bytes));
            let _ = writeln!(text, "{name} {seconds:e} {bytes} ; at={bytes},1 repeats=3");
            let timings = [0.9, 1.0, 1.2].map(|part| format!("{:e}@{part}", part * seconds));
            let _ = writeln!(text, "& {}", timings.join(" "));
        }
    }
    // In one line: half as long.
    serde_json::to_string(&Results::of(&Samples::parse(&text, "samples.txt").unwrap())).unwrap()
}
