//! The program `strata-link`, and images that jobs load.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::path::Path;
use std::process::Command;
use strata_runtime::Machine;
use strata_tcs::patterns::Pattern;
use strata_tcs::{App, Connection, Description, FileError, Image, Options, Target, link_with, run};
use tempfile::{TempDir, tempdir};

strata_tcs::communication! {
    networks { Up, Down }
    sets { Collect: Up; Spread: Down; }
}

type Lanes<N> = Vec<Connection<u64, N>>;

/// Cells 1 to 3 send to cell 0 at a reserved rate, which then tells them something.
fn described(rate: f64) -> (Description, Lanes<Up>, Lanes<Down>) {
    let mut app = App::new("collect");
    let root = app.task("collect", 4);
    let up: Vec<_> = (1..4).map(|cell| app[root].connect(cell, 0)).collect();
    let down: Vec<_> = (1..4).map(|cell| app[root].connect(0, cell)).collect();
    up.iter().for_each(|connection| app[root].reserve(*connection, rate));
    app[root].set::<Collect>();
    app[root].set::<Spread>();
    (Description::new(app, root, Target::iwarp(2, 2)), up, down)
}

/// Runs it, expects the status, and gives standard output and standard error.
fn expect(status: i32, arguments: &[&str], folder: &Path) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_strata-link"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "strata-link {arguments:?}\n{out}\n{err}");
    (out, err)
}

/// One line, however it was wrapped.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folder with the description `collect.json`, and its image.
fn linked() -> (TempDir, Description) {
    let folder = tempdir().unwrap();
    let description = described(5e6).0;
    description.write(folder.path().join("collect.json")).unwrap();
    expect(0, &["collect.json", "-o", "collect.image"], folder.path());
    (folder, description)
}

#[test]
fn the_report_fits_a_screen_and_is_json_and_a_picture() {
    let (folder, description) = linked();
    let (out, err) = expect(0, &["collect.json", "--svg", "links.svg"], folder.path());
    assert_eq!(out.trim_end(), description.link().unwrap().report().to_string().trim_end());
    assert!(out.lines().all(|line| line.chars().count() <= 80) && err.is_empty(), "{out}{err}");
    assert!(fs::read_to_string(folder.path().join("links.svg")).unwrap().starts_with("<svg"));
    let (out, _) = expect(0, &["collect.json", "--json"], folder.path());
    assert_eq!(out.trim_end(), description.link().unwrap().report().json());
}

/// What is read is what was written: the digest is the same, and so is all that follows.
#[test]
fn a_job_runs_a_loaded_image() {
    let (folder, _) = linked();
    // As the job's program describes it, in another process than the one that has linked it.
    let (description, up, down) = described(5e6);
    let image = Image::load(folder.path().join("collect.image"), &description).unwrap();
    assert_eq!(image.report(), description.link().unwrap().report());
    let read = Description::read(folder.path().join("collect.json")).unwrap();
    assert_eq!(read.digest(), description.digest());
    let found = Machine::threads(4).unwrap().run(|node| {
        run(node, &image, |cell| {
            let (me, mut sum) = (cell.id(), [0]);
            cell.phase::<Collect, _>(|net| {
                match me {
                    0 => up.iter().for_each(|from| sum[0] += net.receive_vec(*from)[0]),
                    _ => net.send(up[me - 1], &[me as u64]),
                }
                Ok(())
            })?;
            cell.phase::<Spread, _>(|net| {
                match me {
                    0 => down.iter().for_each(|to| net.send(*to, &sum)),
                    _ => net.receive(down[me - 1], &mut sum),
                }
                Ok(sum[0])
            })
        })
    });
    assert_eq!(found.unwrap(), [Some(6); 4]);
}

/// Every kind of thing that a description can have.
#[test]
fn all_of_a_description_is_read_again() {
    let mut app = App::new("all");
    let root = app.task("root", 4);
    let (camera, screen) = (app.task("camera", 2), app.task("screen", 1));
    app[camera].output::<f32>("signal", 1);
    app[screen].input::<f32>("signal", 0);
    let exchange = Pattern::<u64>::transpose(&mut app, root, 2, 64);
    let camera = app[root].child("camera", camera, &[2, 3]);
    let screen = app[root].child("screen", screen, &[0]);
    let signal = app[root].wire(camera, "signal", screen, "signal");
    app[root].depth(signal, 64);
    assert_eq!(exchange.blocks(0), [1, 1]);
    let options = Options { split: true, congestion: Some(1), ..Options::default() };
    for target in [Target::iwarp(2, 2), Target::crossbar(4)] {
        let description = Description::new(app.clone(), root, target.clone()).with(options.clone());
        let folder = tempdir().unwrap();
        let (file, image) = (folder.path().join("all.json"), folder.path().join("all.image"));
        description.write(&file).unwrap();
        let read = Description::read(&file).unwrap();
        assert_eq!(read.digest(), description.digest());
        read.link().unwrap().write(&image, &read).unwrap();
        let loaded = Image::load(&image, &description).unwrap();
        let fresh = link_with(&app, root, &target, &options).unwrap();
        assert_eq!(loaded.report(), fresh.report());
        assert_eq!(format!("{loaded:?}"), format!("{:?}", description.link().unwrap()));
        // An image of something else has no place beside this description.
        let refused = fresh.write(&image, &description).unwrap_err().to_string();
        assert!(refused.contains("was not linked from this description"), "{refused}");
    }
}

#[test]
fn what_a_file_cannot_hold_is_refused_before_it_is_written() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("collect.json");
    let (description, ..) = described(f64::INFINITY);
    let refused = description.write(&file).unwrap_err().to_string();
    assert!(refused.contains("`collect`: a connection reserves inf bytes a second"), "{refused}");
    assert!(!file.exists());
}

#[test]
fn a_refusal_names_every_reason_and_leaves_no_image() {
    let folder = tempdir().unwrap();
    described(50e6).0.write(folder.path().join("collect.json")).unwrap();
    let (_, err) = expect(1, &["collect.json", "-o", "collect.image"], folder.path());
    assert!(line(&err).contains("collect.json: `collect` is refused"), "{err}");
    assert!(line(&err).contains("set `Collect` of `collect`"), "{err}");
    assert!(err.lines().all(|line| line.chars().count() <= 80), "{err}");
    assert!(!folder.path().join("collect.image").exists());
    // Where nothing was measured nothing is reserved, and what to do is said.
    let mut app = App::new("unknown");
    let root = app.task("unknown", 2);
    let up = app[root].connect::<u64, Up>(1, 0);
    app[root].reserve(up, 5e6);
    app[root].set::<Collect>();
    Description::new(app, root, Target::crossbar(2)).write(folder.path().join("unknown.json")).unwrap();
    let (_, err) = expect(1, &["unknown.json"], folder.path());
    assert!(line(&err).contains("`specc calibrate specs/tcs/bandwidth --upper 99%`"), "{err}");
}

#[test]
fn what_is_no_description_is_refused_with_its_place() {
    let (folder, description) = linked();
    let file = folder.path().join("wrong.json");
    let text = fs::read_to_string(folder.path().join("collect.json")).unwrap();
    for (wrong, said) in [
        (String::new(), "line 1"),
        (text[..text.len() / 2].to_owned(), "EOF while parsing"),
        (text.replace("\"strata-description\": 1", "\"strata-description\": 2"), "version 2"),
        (
            text.replacen("\"network\": 0", "\"network\": 9", 1),
            "connection 0 names network 9, and there are 2",
        ),
        (text.replacen("\"cells\": 4", "\"cells\": -4", 1), "invalid value"),
    ] {
        fs::write(&file, wrong).unwrap();
        let (_, err) = expect(1, &["wrong.json"], folder.path());
        assert!(line(&err).contains("wrong.json: no description") && line(&err).contains(said), "{err}");
    }
    expect(3, &["nowhere.json"], folder.path());
    expect(2, &["collect.json", "--draw"], folder.path());
    // The machine is part of the description.
    let other = Description::new(App::new("none"), described(1.0).0.root(), Target::crossbar(1));
    assert_ne!(other.digest(), description.digest());
}

#[test]
fn an_image_must_be_whole_and_of_its_description() {
    let (folder, description) = linked();
    let file = folder.path().join("collect.image");
    let whole = fs::read_to_string(&file).unwrap();
    let load = |text: &str| {
        fs::write(&file, text).unwrap();
        let error = Image::load(&file, &description);
        let status = i32::from(error.is_err());
        let (_, err) = expect(status, &["collect.json", "--verify", "collect.image"], folder.path());
        error.map(drop).inspect_err(|error| {
            // The paths differ.
            let said = error.to_string();
            let said = said.split_once("collect.image: ").map_or("", |(_, said)| said);
            assert!(line(&err).contains(&line(said)) && !said.is_empty(), "{err}");
        })
    };
    load(&whole).unwrap();
    // Torn anywhere: in its head, between both lines, in the image.
    for end in [0, 10, whole.find('\n').unwrap(), whole.find('\n').unwrap() + 2, whole.len() - 5] {
        let error = load(&whole[..end]).unwrap_err();
        assert!(matches!(error, FileError::NoImage { .. } | FileError::Torn { .. }), "{end}: {error}");
    }
    let changed = whole.replacen("\"congestion\":1", "\"congestion\":2", 1);
    assert_ne!(changed, whole);
    assert!(matches!(load(&changed).unwrap_err(), FileError::Changed { .. }));
    fs::write(&file, &whole).unwrap();
    for other in [described(6e6).0, described(5e6).0.with(Options { split: true, ..Options::default() })] {
        let error = Image::load(&file, &other).unwrap_err();
        assert!(matches!(error, FileError::OfAnother { .. }), "{error}");
        other.write(folder.path().join("other.json")).unwrap();
        let (_, err) = expect(1, &["other.json", "--verify", "collect.image"], folder.path());
        assert!(line(&err).contains("the image is of another description"), "{err}");
    }
}

#[test]
fn promises_are_held_to_a_report() {
    let (folder, _) = linked();
    let (report, _) = expect(0, &["collect.json", "--json"], folder.path());
    fs::write(folder.path().join("promised.json"), &report).unwrap();
    expect(0, &["collect.json", "--against", "promised.json"], folder.path());
    described(4e6).0.write(folder.path().join("less.json")).unwrap();
    let arguments = ["less.json", "--against", "promised.json", "-o", "less.image"];
    let (_, err) = expect(1, &arguments, folder.path());
    let said = line(&err);
    assert!(said.contains("less.json promises less than promised.json"), "{err}");
    assert!(said.contains("`collect`, set `Collect`, 1 -> 0: MB/s: 4.00, it was 5.00"), "{err}");
    assert!(!folder.path().join("less.image").exists());
    // The greatest latency is a promise, too.
    let longer = report.replacen("\"bound\": ", "\"bound\": 1.0e-3, \"old\": ", 1);
    fs::write(folder.path().join("promised.json"), longer).unwrap();
    let (_, err) = expect(1, &["collect.json", "--against", "promised.json"], folder.path());
    assert!(line(&err).contains("greatest latency in µs"), "{err}");
    fs::write(folder.path().join("promised.json"), "{}").unwrap();
    let (_, err) = expect(1, &["collect.json", "--against", "promised.json"], folder.path());
    assert!(line(&err).contains("promised.json: no report"), "{err}");
}

#[test]
fn the_help_fits_a_screen_and_has_examples() {
    let (out, _) = expect(0, &["--help"], Path::new("."));
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    assert!(line(&out).contains("Examples:") && line(&out).contains("Exit status: 0 linked"), "{out}");
}

/// The report that the tutorial shows.
#[test]
fn the_tutorial_shows_what_is_printed() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/connection-sets.md"));
    let page = page.unwrap();
    let mut app = App::new("collect");
    let root = app.task("collect", 2);
    let up = app[root].connect::<u64, Up>(1, 0);
    app[root].reserve(up, 5e6);
    app[root].set::<Collect>();
    let folder = tempdir().unwrap();
    Description::new(app, root, Target::iwarp(2, 1)).write(folder.path().join("collect.json")).unwrap();
    let (out, _) = expect(0, &["collect.json", "-o", "collect.image"], folder.path());
    let shown = format!("strata-link collect.json -o collect.image\n```\n\n```text\n{}\n```", out.trim_end());
    assert!(page.contains(&shown), "docs/connection-sets.md lacks\n{out}");
}
