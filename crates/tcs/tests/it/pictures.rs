//! The pictures of `docs/connection-sets.md` are what the linker draws, and the output in the crate's
//! README is what its program prints.
//!
//! `INSTA_UPDATE=always cargo test -p strata-tcs --test it pictures` draws them again.

use strata_tcs::{App, Target, TaskId, link};

strata_tcs::communication! {
    networks { Up, Down }
    sets { Collect: Up; Spread: Down; }
}

/// The bottom row sends to the middle of the top one.
fn collect() -> (App, TaskId) {
    let mut app = App::new("collect");
    let root = app.task("collect", 9);
    for cell in [6, 7, 8] {
        app[root].connect::<f64, Up>(cell, 1);
    }
    app[root].set::<Collect>();
    (app, root)
}

#[test]
fn pictures_are_what_the_linker_draws() {
    let (mut app, root) = collect();
    for cell in (0..9).filter(|cell| *cell != 1) {
        app[root].connect::<f64, Down>(1, cell);
    }
    app[root].set::<Spread>();
    let image = link(&app, root, &Target::iwarp(3, 3)).unwrap();
    let root = image.report().task("collect").unwrap().clone();
    let congestion = |set| root.set(set).map(|part| part.congestion).collect::<Vec<_>>();
    assert_eq!((congestion("Collect"), congestion("Spread")), (vec![1], vec![2]));
    assert!(image.report().svg(None).is_some_and(|svg| svg.matches("<rect").count() == 10));
    assert_eq!(image.report().svg(Some(("collect", "Nothing"))), None);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    for (set, file) in [("Collect", "collect.svg"), ("Spread", "spread.svg")] {
        let drawn = image.report().svg(Some(("collect", set))).unwrap();
        let file = folder.join(file);
        if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
            std::fs::write(&file, &drawn).unwrap();
        }
        // A package of this crate alone has no docs.
        match std::fs::read_to_string(&file) {
            Ok(kept) => assert_eq!(kept, drawn, "{}: draw it again", file.display()),
            Err(error) => println!("skipped: {}: {error}", file.display()),
        }
    }
}

#[test]
fn the_readme_prints_what_its_program_does() {
    let (app, root) = collect();
    let report = link(&app, root, &Target::iwarp(3, 3)).unwrap().report().to_string();
    let readme = include_str!("../../README.md");
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("…\n").next()).unwrap();
    assert!(report.starts_with(shown), "the README shows\n{shown}\nand the program prints\n{report}");
}
