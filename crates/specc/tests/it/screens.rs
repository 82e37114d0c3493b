//! Every screen fits its terminal, and where there is none `COLUMNS`, or 80 columns; what no
//! terminal shows has no escape sequences.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::{OpenptyResult, Winsize, openpty};

use crate::made_up::{JOB, folder, json, project};

/// Runs it with so many `COLUMNS`; all that it prints.
fn on(columns: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_specc"))
        .args(arguments)
        .current_dir(folder)
        .env("COLUMNS", columns)
        .output()
        .expect("specc starts");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Runs it on a terminal of this width, with these settings; what the terminal is sent.
fn on_terminal(columns: u16, arguments: &[&str], folder: &Path, settings: &[(&str, &str)]) -> String {
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let OpenptyResult { master, slave } = openpty(&size, None).expect("a terminal");
    let other = || Stdio::from(slave.try_clone().expect("a descriptor"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_specc"));
    for unset in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "CI"] {
        command.env_remove(unset);
    }
    command.args(arguments).current_dir(folder).env("TERM", "xterm").envs(settings.iter().copied());
    let mut child = command.stdout(other()).stderr(other()).stdin(other()).spawn().expect("specc starts");
    // Both hold the terminal open, beside the child.
    drop((command, slave));
    let mut sent = Vec::new();
    // A terminal that all have closed reads as an error.
    let _closed = File::from(master).read_to_end(&mut sent);
    child.wait().expect("specc ends");
    String::from_utf8_lossy(&sent).replace("\r\n", "\n")
}

fn columns(line: &str) -> usize {
    line.chars().count()
}

/// Of a library with long names, three inputs and twelve candidates with parameters: one is the
/// fastest from each of several sizes on.
pub(crate) fn long_names() -> [String; 2] {
    let (mut spec, mut library) = (String::new(), String::new());
    let mut samples = String::from(
        "strata-samples 1\nplatform threads nodes=2 cores=2 cpu=\"a processor with quite a name\" \
         cache=\"\" os=linux arch=x86_64\n",
    );
    for k in 0..12 {
        let model = format!("ImplementationWithALongName{k}");
        writeln!(
            spec,
            "model {model}(elements, block, depth, width) {{\n for elements in 16..=65536 step *4\n \
             for block in 1..=64 step *4\n for depth in 1..=16 step *4\n \
             for width in 1..=4 step *4\n task {{ work(elements) }}\n \
             terms elements, block, depth, width, elements*block\n fit search never\n}}"
        )
        .expect("a string");
        writeln!(
            library,
            "candidate implementation_with_a_long_name_{k} = {model}(number_of_elements, block, depth_of_it, \
             width_of_each) for block in 1..=64"
        )
        .expect("a string");
        writeln!(samples, "model {model} elements block depth width elements*block").expect("a string");
        for (i, n) in (2..=8).map(|e| f64::from(1_u32 << (2 * e))).enumerate() {
            for (block, depth) in
                [(1.0, 1.0), (4.0, 4.0), (16.0, 16.0), (64.0, 4.0), (1.0, 16.0), (16.0, 1.0)]
            {
                let noise = 1.0 + 0.01 * (((i * 7919 + k * 31 + block as usize) % 13) as f64 - 6.0);
                let width = if depth > 4.0 { 4.0 } else { 1.0 };
                // Each start costs twice that of the one before, each element half.
                let start = 1e-6 * f64::from(1_u32 << k);
                let each = 1e-7 / f64::from(1_u32 << k);
                let seconds = (start + each * n + 1e-9 * (block + depth + width)) * noise;
                for mark in ["", "@"] {
                    writeln!(samples, "{mark}{model} {seconds:e} {n} {block} {depth} {width} {}", n * block)
                        .expect("a string");
                }
            }
        }
    }
    let all = format!(
        "{spec}library one_library_of_long_names(number_of_elements, depth_of_it, width_of_each) {{\n{library}}}\n"
    );
    [all, samples]
}

fn one_candidate() -> tempfile::TempDir {
    let folder = project();
    let spec = JOB.replace("    candidate flat = Flat(n)\n", "");
    fs::write(folder.path().join("job.spec"), spec).expect("written");
    folder
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let long = folder(&[("job.spec", "long spec"), ("samples.txt", "long samples")]);
    for (folder, model) in
        [(long, "ImplementationWithALongName7"), (one_candidate(), "Steps"), (project(), "Flat")]
    {
        let at = folder.path();
        let bad = "model A(n) {\n  for n in 8..=1\n  task { f(n) }\n}\nmodel A(k) = l\nlibrary x(n) { }\n";
        fs::write(at.join("bad.spec"), bad).expect("written");
        let mut seen = String::new();
        for width in ["60", "80", "200"] {
            let models = "out/models.toml";
            let library = if model.len() > 10 { "one_library_of_long_names" } else { "job" };
            let inputs: &[&str] = if model.len() > 10 {
                &["number_of_elements=1000", "depth_of_it=4", "width_of_each=4"]
            } else {
                &["n=1000"]
            };
            let choose = [&["choose", models, library, "--explain"][..], inputs].concat();
            let held = if model.len() > 10 { &inputs[2..] } else { &[] };
            let grid = [&["show", models, "--grid"][..], held].concat();
            for arguments in [
                &["fit", "samples.txt", "--spec", "job.spec", "-o", "out"][..],
                &["show", models],
                &grid,
                &["show", models, model],
                &choose,
                &["advise", models, "--spec", "job.spec"],
                &["advise", models, "--spec", "job.spec", model],
                &["choose", models, "nobody"],
                &["platform", "list"],
                &["platform", "show", "cm5"],
                &["check", "bad.spec"],
            ] {
                let shown = on(width, arguments, at);
                let most: usize = width.parse().expect("a number");
                assert!(!shown.is_empty() && !shown.contains('\u{1b}'), "{arguments:?}: {shown}");
                // The labels of drawn diagnostics do not wrap; these have space on 80 columns.
                let label = |line: &&str| most < 80 && line.contains('╰');
                let wide = shown.lines().find(|line| columns(line) > most && !label(line));
                assert_eq!(wide, None, "{arguments:?} at {width}\n{shown}");
                if arguments[0] == "show" {
                    seen += &shown;
                }
            }
        }
        assert!(seen.contains("┌") && seen.contains(" on 2 nodes"), "{seen}");
    }
}

#[test]
fn choices_stand_out_on_terminals_with_colours_and_nowhere_else() {
    let folder = project();
    let at = folder.path();
    json(at, "fit samples.txt --spec job.spec -o out --json");
    let map = ["show", "out/models.toml"];
    let plain = on("80", &map, at);
    let styled = on_terminal(80, &map, at, &[]);
    assert!(styled.contains("\u{1b}[1mflat\u{1b}[0m"), "{styled:?}");
    for setting in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
        assert_eq!(on_terminal(80, &map, at, &[setting]), plain, "{setting:?}");
    }
    assert_eq!(plain.lines().nth(1).map(str::trim_start), Some("by n   steps:1..2 < 380 < flat"), "{plain}");
    // A terminal's own width counts, not what COLUMNS says.
    let fit = ["fit", "samples.txt", "--spec", "job.spec", "-o", "an/output"];
    let narrow = on_terminal(50, &fit, at, &[("COLUMNS", "200"), ("NO_COLOR", "1")]);
    assert!(
        narrow.lines().all(|line| columns(line) <= 50) && narrow.contains("\n      ask it\n"),
        "{narrow}"
    );
    let wide = on_terminal(132, &fit, at, &[("NO_COLOR", "1")]);
    assert!(wide.lines().any(|line| columns(line) > 80), "{wide}");
}
