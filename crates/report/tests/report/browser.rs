//! The page in a real browser, headless: what it looks like on a telephone, a tablet and a wide
//! screen, light and dark, whether keys reach it, what it reports.
//!
//! The pages are put into frames of a page of the test's own, whose script looks at them and writes
//! what is wrong into the document, which the browser then prints. Frames, as browsers have no
//! windows of 360 pixels. Pictures of a page in each of these states, and on paper, are written for
//! people to look at.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::cases::{Case, empty, every_kind, hostile, many, wide_map};

const CHECKS: &str = include_str!("checks.js");
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"];
/// The widths and colours that a page has to look right in.
const VIEWS: [(u32, &str); 6] =
    [(360, "light"), (360, "dark"), (800, "light"), (800, "dark"), (1400, "light"), (1400, "dark")];
/// Pages are cut here in pictures.
const HIGHEST: u64 = 12_000;
const LIMIT: Duration = Duration::from_secs(120);

/// The first browser that is on the path. Without one the reason is printed.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = BROWSERS
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: none of {} is installed", BROWSERS.join(", "));
    }
    found
}

/// What the browser finds in pages.
struct Findings {
    /// What is wrong, with the page and the width it is wrong at.
    problems: Vec<String>,
    /// How many drawings it looked at.
    drawings: u64,
    /// How high each page is in each view.
    heights: Vec<u64>,
    /// What it printed to its console.
    console: Vec<String>,
}

/// Runs the browser on a file in a folder, where its output is then in `dom` and `log`.
fn run(browser: &Path, folder: &Path, file: &str, arguments: &[String]) -> ExitStatus {
    let at = |name: &str| folder.join(name);
    // Into files: nobody reads a pipe while the browser is waited for.
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-extensions", "--enable-logging=stderr", "--virtual-time-budget=60000"])
        .args(arguments)
        .arg(format!("--user-data-dir={}", at("profile").display()))
        .arg(format!("file://{}", at(file).display()))
        .stdin(Stdio::null())
        .stdout(File::create(at("dom")).unwrap())
        .stderr(File::create(at("log")).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser takes longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Opens the pages in the browser, in each view.
fn look(browser: &Path, pages: &[(&str, &str)], views: &[(u32, &str)]) -> Findings {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // A page in a script must not end the script.
    let pages = serde_json::to_string(pages).unwrap().replace("</", "<\\/").replace("<!--", "<\\!--");
    let views = serde_json::to_string(views).unwrap();
    let wrapper = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Test</title></head><body>\n\
         <script>\nconst pages = {pages};\nconst views = {views};\n{CHECKS}</script>\n</body></html>\n"
    );
    std::fs::write(at("test.html"), wrapper).unwrap();
    let arguments = ["--dump-dom", "--window-size=1800,1200"].map(str::to_owned);
    let status = run(browser, folder.path(), "test.html", &arguments);
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(at(name)).unwrap()).into_owned();
    let (dom, log) = (read("dom"), read("log"));
    assert!(status.success(), "{} ends with {status}:\n{log}", browser.display());
    let json = dom.rsplit_once("<pre id=\"findings\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let json = json.unwrap_or_else(|| panic!("no findings:\n{log}")).0;
    let json =
        json.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let problems = found["problems"].as_array().unwrap().iter().map(|p| p.as_str().unwrap().to_owned());
    Findings {
        problems: problems.collect(),
        drawings: found["drawings"].as_u64().unwrap(),
        heights: found["heights"].as_array().unwrap().iter().map(|height| height.as_u64().unwrap()).collect(),
        console: log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
    }
}

/// Writes pictures of a page in each view, of these heights, and of its sheets of paper; their
/// folder.
fn pictures(browser: &Path, name: &str, page: &str, heights: &[u64]) -> PathBuf {
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&pictures).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page.html"), page).unwrap();
    let write = |file: &str, arguments: &[String], picture: &Path| {
        let _ = std::fs::remove_file(picture);
        let status = run(browser, folder.path(), file, arguments);
        assert!(status.success() && picture.is_file(), "{}: {status}", picture.display());
    };
    for ((width, scheme), height) in VIEWS.iter().zip(heights) {
        let height = height.min(&HIGHEST);
        let frame = format!(
            "<!DOCTYPE html>\n<body style=\"margin:0\"><iframe src=\"page.html\" style=\"border:0;display:block;\
             width:{width}px;height:{height}px;color-scheme:{scheme}\"></iframe></body>\n"
        );
        std::fs::write(folder.path().join("frame.html"), frame).unwrap();
        let picture = pictures.join(format!("{name}-{width}-{scheme}.png"));
        let arguments = [
            format!("--screenshot={}", picture.display()),
            format!("--window-size={},{height}", width.max(&500)),
            "--hide-scrollbars".to_owned(),
        ];
        write("frame.html", &arguments, &picture);
    }
    let sheets = pictures.join(format!("{name}-print.pdf"));
    write("page.html", &[format!("--print-to-pdf={}", sheets.display())], &sheets);
    pictures
}

#[test]
fn pages_look_right_on_every_screen() {
    let Some(browser) = browser() else { return };
    let measured = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/patterns/models/samples.txt");
    let measured = Case::of(&std::fs::read_to_string(measured).unwrap());
    let measured = Case { maps: vec![wide_map()], ..measured };
    let cases =
        [("hostile", hostile()), ("empty", empty()), ("every kind", every_kind()), ("measured", measured)];
    let pages: Vec<(&str, String)> = cases.iter().map(|(name, case)| (*name, case.html())).collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(name, page)| (*name, page.as_str())).collect();
    let drawings = |page: &str| page.matches("<svg ").count() - page.matches("<svg class=\"wide\"").count();
    let drawings: usize = pages.iter().map(|(_, page)| drawings(page)).sum();
    let found = look(&browser, &pages, &VIEWS);
    let written = pictures(&browser, pages[0].0, pages[0].1, &found.heights);
    eprintln!("pictures of a page are in {}", written.display());
    assert!(found.problems.is_empty(), "{}", found.problems.join("\n"));
    assert!(found.console.is_empty(), "{}", found.console.join("\n"));
    assert_eq!(found.drawings as usize, VIEWS.len() * drawings, "each in every view");
}

#[test]
fn a_page_of_many_models_opens() {
    let Some(browser) = browser() else { return };
    let page = many(100, 60).html();
    let found = look(&browser, &[("many", &page)], &[(360, "light"), (1400, "dark")]);
    assert!(found.problems.is_empty(), "{}", found.problems.join("\n"));
    assert!(found.console.is_empty(), "{}", found.console.join("\n"));
}

/// Were the browser blind, the other tests could not fail.
#[test]
fn what_is_wrong_is_found() {
    let Some(browser) = browser() else { return };
    let page = hostile().html();
    let broken = |from: &str, to: &str| {
        assert!(page.contains(from), "{from}");
        page.replacen(from, to, 1)
    };
    let label = "dy=\"0.76em\" text-anchor=\"middle\">";
    let pages = [
        ("sideways", broken("<h2", "<div style=\"width:500px\">wide</div><h2"), "scrolls sideways"),
        ("wide", broken("<p class=\"equation\"", "<p style=\"width:500px\""), "reaches beyond the page"),
        ("narrow", broken("<svg role", "<svg style=\"width:0\" role"), "is not visible"),
        ("neither", broken(".narrow { display: block !important; }", ""), "neither of its drawings"),
        ("small", broken("svg text { font: 14px", "svg text { font: 9px"), "the page's text 16"),
        (
            "scaled",
            broken("max-width: 100%; height: auto", "width: 250%; height: auto"),
            "the page's text 16",
        ),
        ("faint", broken("--soft: #4a4a4a", "--soft: #999"), "light: the contrast of"),
        ("dim", broken("--good: #7fd6a0", "--good: #0a5d2c"), "dark: the contrast of"),
        ("silent", broken("<title>from length = ", "<title>"), "does not tell its inputs"),
        ("nameless", broken("<title id=\"figure-1\">", "<title id=\"figure-x\">"), "points to nothing"),
        ("leap", broken("<h3", "<h5"), "follows a heading of level"),
        ("twice", broken("<h2 id=\"summary\"", "<h2 id=\"main\""), "stands twice"),
        (
            "meeting",
            broken(label, &format!("{label}a label as long as this one is meets its neighbours ")),
            "meet",
        ),
        ("black", broken("svg polyline { fill: none; }", ""), "is filled with black"),
        ("mouse only", broken("</style>", "a:focus-visible{outline:none}</style>"), "no outline"),
    ];
    let all: Vec<(&str, &str)> = pages.iter().map(|(name, page, _)| (*name, page.as_str())).collect();
    let found = look(&browser, &all, &[VIEWS[0], VIEWS[5]]);
    for (name, _, problem) in &pages {
        let told = found.problems.iter().any(|p| p.starts_with(name) && p.contains(problem));
        assert!(told, "{name}: {problem} is not among\n{}", found.problems.join("\n"));
    }
    // What a page may not do, the browser says on its console.
    let noisy = broken("</main>", "<script>1</script><img src=\"missing.png\" alt=\"\"></main>");
    let found = look(&browser, &[("noisy", &noisy)], &VIEWS[..1]);
    for refused in ["script", "missing.png"] {
        assert!(found.console.iter().any(|line| line.contains(refused)), "{refused}: {:?}", found.console);
    }
}
