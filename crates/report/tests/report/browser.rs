//! The page in a real browser, headless: what it looks like at 360 and 1600 pixels, whether keys
//! reach it, what it reports.
//!
//! The pages are put into frames of a page of the test's own, whose script looks at them and writes
//! what is wrong into the document, which the browser then prints. Frames, as browsers have no
//! windows of 360 pixels.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cases::{Case, empty, every_kind, hostile, many, wide_map};

const CHECKS: &str = include_str!("checks.js");
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"];
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
    /// What it printed to its console.
    console: Vec<String>,
}

/// Opens the pages in the browser.
fn look(browser: &Path, pages: &[(&str, &str)]) -> Findings {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // A page in a script must not end the script.
    let pages = serde_json::to_string(pages).unwrap().replace("</", "<\\/").replace("<!--", "<\\!--");
    let wrapper = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Test</title></head><body>\n\
         <script>\nconst pages = {pages};\n{CHECKS}</script>\n</body></html>\n"
    );
    std::fs::write(at("test.html"), wrapper).unwrap();
    // Into files: nobody reads a pipe while the browser is waited for.
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args([
            "--disable-extensions",
            "--enable-logging=stderr",
            "--virtual-time-budget=60000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", at("profile").display()))
        .arg("--window-size=1800,1200")
        .arg(format!("file://{}", at("test.html").display()))
        .stdin(Stdio::null())
        .stdout(File::create(at("dom")).unwrap())
        .stderr(File::create(at("log")).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser takes longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
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
        console: log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
    }
}

#[test]
fn pages_look_right_on_a_telephone_and_on_a_wide_screen() {
    let Some(browser) = browser() else { return };
    let measured = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/epyc-2core-threads/sort/samples.txt");
    let measured = Case { maps: vec![wide_map()], ..Case::of(&std::fs::read_to_string(measured).unwrap()) };
    let cases =
        [("hostile", hostile()), ("empty", empty()), ("every kind", every_kind()), ("measured", measured)];
    let pages: Vec<(&str, String)> = cases.iter().map(|(name, case)| (*name, case.html())).collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(name, page)| (*name, page.as_str())).collect();
    let drawings: usize = pages.iter().map(|(_, page)| page.matches("<svg ").count()).sum();
    let found = look(&browser, &pages);
    assert!(found.problems.is_empty(), "{}", found.problems.join("\n"));
    assert!(found.console.is_empty(), "{}", found.console.join("\n"));
    assert_eq!(found.drawings as usize, 2 * drawings, "each at two widths");
}

#[test]
fn a_page_of_many_models_opens() {
    let Some(browser) = browser() else { return };
    let page = many(100, 60).html();
    let found = look(&browser, &[("many", &page)]);
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
    let label = "dy=\"0.76em\" text-anchor=\"middle\" class=\"label\">";
    let pages = [
        ("sideways", broken("<h2", "<div style=\"width:500px\">wide</div><h2"), "scrolls sideways"),
        ("narrow", broken("<svg role", "<svg style=\"width:0\" role"), "is not visible"),
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
    let found = look(&browser, &all);
    for (name, _, problem) in &pages {
        let told = found.problems.iter().any(|p| p.starts_with(name) && p.contains(problem));
        assert!(told, "{name}: {problem} is not among\n{}", found.problems.join("\n"));
    }
    // What a page may not do, the browser says on its console.
    let noisy = broken("</main>", "<script>1</script><img src=\"missing.png\" alt=\"\"></main>");
    let found = look(&browser, &[("noisy", &noisy)]);
    for refused in ["script", "missing.png"] {
        assert!(found.console.iter().any(|line| line.contains(refused)), "{refused}: {:?}", found.console);
    }
}
