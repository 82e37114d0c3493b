//! The generated profiling programs, whole, and that they are the same every time.

use std::path::{Path, PathBuf};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use specc::drive::DriveError;
use specc::emit::{EmitError, emit};
use specc::lang::load;

fn out(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("emit").join(name)
}

fn text_of(folder: &Path) -> String {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder.join("src")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .map(|file| {
            format!("==> {}\n{}", file.file_name().unwrap().display(), std::fs::read_to_string(file).unwrap())
        })
        .collect()
}

#[test]
fn programs_are_as_expected() {
    insta::glob!("../emit", "*.spec", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let spec =
            load(&path.to_string_lossy(), &text).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
        let out = out(&path.file_stem().unwrap().to_string_lossy());
        let emitted = emit(&spec, &out, &[]).unwrap();
        let first = text_of(&emitted.folder);
        insta::assert_snapshot!(first);
        for file in syn_files(&emitted.folder) {
            syn::parse_file(&file).unwrap();
        }
        let modified = |path: &str| emitted.folder.join(path).metadata().unwrap().modified().unwrap();
        let before = modified("src/main.rs");
        emit(&spec, &out, &[]).unwrap();
        assert_eq!(text_of(&emitted.folder), first, "emitted twice, the text differs");
        assert_eq!(modified("src/main.rs"), before, "what has not changed is not written again");
        let manifest = std::fs::read_to_string(emitted.folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]") && manifest.contains("[profile.release]"), "{manifest}");
        assert!(!manifest.contains(env!("CARGO_MANIFEST_DIR")), "an absolute path: {manifest}");
        assert!(emitted.folder.join("Cargo.lock").is_file());
    });
}

/// Cargo takes packages of one name and version in a build folder for the same: a changed spec with
/// another output folder was run with the program of the first.
#[test]
fn packages_of_other_text_have_another_version() {
    let version = |text: &str, folder: &str| {
        let spec = load("crates/specc/tests/versions.spec", text).unwrap();
        let emitted = emit(&spec, &out("versions").join(folder), &[]).unwrap();
        let manifest = std::fs::read_to_string(emitted.folder.join("Cargo.toml")).unwrap();
        manifest.lines().find(|line| line.starts_with("version = ")).unwrap().to_owned()
    };
    let (one, two) = ("model A() { task { () } terms P }\n", "model A() { task { (); } terms P }\n");
    assert_eq!(version(one, "a"), version(one, "b"));
    assert_ne!(version(one, "a"), version(two, "c"));
}

fn syn_files(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder.join("src")).unwrap();
    files.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn unknown_crates_are_shown_at_their_lines() {
    let text = "use no_such::thing;\nuse rand::Rng;\nuse nor_this as x;\nmodel A() { task { () } terms P }\n";
    let spec = load("crates/specc/tests/unknown.spec", text).unwrap();
    let Err(EmitError::UnknownCrates { errors }) = emit(&spec, &out("unknown"), &[]) else {
        panic!("accepted")
    };
    let messages = ["there is no crate `no_such`", "there is no crate `nor_this`"];
    assert_eq!(errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>(), messages);
    let (place, _) = errors[1].labels[0];
    assert_eq!((place.start, place.end - place.start), (text.find("use nor").unwrap(), 18));
    assert!(errors[0].help.as_ref().unwrap().contains("strata_runtime"));
}

#[test]
fn a_spec_without_tasks_has_nothing_to_profile() {
    let spec = load("sum.spec", "model A(x) = 2*x\n").unwrap();
    assert!(matches!(emit(&spec, &out("nothing"), &[]), Err(EmitError::NothingToMeasure { .. })));
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let spec = load("x.spec", "model A() { task { () } terms P }\n").unwrap();
    let out = out("foreign");
    std::fs::create_dir_all(out.join("profile")).unwrap();
    std::fs::write(out.join("profile/Cargo.toml"), "[package]\n").unwrap();
    assert!(matches!(emit(&spec, &out, &[]), Err(EmitError::Foreign { .. })));
}

#[test]
fn models_that_are_gone_leave_no_module() {
    let out = out("gone");
    let two =
        load("x.spec", "model A() { task { () } terms P }\nmodel B() { task { () } terms P }\n").unwrap();
    assert!(emit(&two, &out, &[]).unwrap().folder.join("src/m2_B.rs").is_file());
    let one = load("x.spec", "model A() { task { () } terms P }\n").unwrap();
    assert!(!emit(&one, &out, &[]).unwrap().folder.join("src/m2_B.rs").exists());
}

/// How they are drawn; those in code of the spec are in `depending.rs`.
#[test]
fn errors_before_and_after_building_read_well() {
    let path = || PathBuf::from("out/x.spec");
    let text = |text: &str| text.to_owned();
    let refused = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let uses = "use no_such::thing;\nuse rand::Rng;\nuse nor_this as x;\nmodel A() { task { () } terms P }\n";
    let mut unknown = emit(&load("crates/specc/tests/unknown.spec", uses).unwrap(), &out("drawn"), &[]);
    if let Err(EmitError::UnknownCrates { errors }) = &mut unknown {
        errors.iter_mut().for_each(|error| error.help = Some(text("these are the others")));
    }
    let mut errors: Vec<Box<dyn Diagnostic>> = vec![Box::new(unknown.unwrap_err())];
    for error in [
        EmitError::NothingToMeasure { spec: text("x.spec") },
        EmitError::NoWorkspace { spec: path() },
        EmitError::Metadata { manifest: path(), reason: text("why") },
        EmitError::NoRuntime { root: path() },
        EmitError::Foreign { path: path() },
        EmitError::File { path: path(), source: refused() },
    ] {
        errors.push(Box::new(error));
    }
    let help = || text("what is kept, and how to go on");
    for error in [
        DriveError::Usage { message: text("no nodes") },
        DriveError::Build { output: text("two\nlines") },
        DriveError::Start { program: text("mpirun"), reason: text("why"), help: help() },
        DriveError::Fault { message: text("a fault") },
        DriveError::Run { status: text("signal 9"), message: text("why"), help: help() },
        DriveError::Launch { command: text("srun"), status: text("1"), message: text("why"), help: help() },
        DriveError::File { what: "cannot read", path: path(), source: refused() },
        DriveError::Interrupted { help: help() },
    ] {
        errors.push(Box::new(error));
    }
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(80);
    let mut drawn = String::new();
    for error in &errors {
        handler.render_report(&mut drawn, error.as_ref()).unwrap();
    }
    insta::assert_snapshot!(drawn);
}
