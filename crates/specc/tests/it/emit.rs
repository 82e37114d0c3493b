//! The generated profiling programs, whole, and that they are the same every time.

use std::path::{Path, PathBuf};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use specc::drive::DriveError;
use specc::lang::load;
use specc::profiling_program::{EmitError, emit};

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
        let emitted = emit(&spec, &out, &[], false).unwrap();
        let first = text_of(&emitted.folder);
        insta::assert_snapshot!(first);
        for file in syn_files(&emitted.folder) {
            syn::parse_file(&file).unwrap();
        }
        let modified = |path: &str| emitted.folder.join(path).metadata().unwrap().modified().unwrap();
        let before = modified("src/main.rs");
        emit(&spec, &out, &[], false).unwrap();
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
        let emitted = emit(&spec, &out("versions").join(folder), &[], false).unwrap();
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
    let Err(EmitError::UnknownCrates { errors }) = emit(&spec, &out("unknown"), &[], false) else {
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
    assert!(matches!(emit(&spec, &out("nothing"), &[], false), Err(EmitError::NothingToMeasure { .. })));
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let spec = load("x.spec", "model A() { task { () } terms P }\n").unwrap();
    let out = out("foreign");
    std::fs::create_dir_all(out.join("profile")).unwrap();
    std::fs::write(out.join("profile/Cargo.toml"), "[package]\n").unwrap();
    assert!(matches!(emit(&spec, &out, &[], false), Err(EmitError::Foreign { .. })));
}

#[test]
fn models_that_are_gone_leave_no_module() {
    let out = out("gone");
    let two =
        load("x.spec", "model A() { task { () } terms P }\nmodel B() { task { () } terms P }\n").unwrap();
    assert!(emit(&two, &out, &[], false).unwrap().folder.join("src/m2_B.rs").is_file());
    let one = load("x.spec", "model A() { task { () } terms P }\n").unwrap();
    assert!(!emit(&one, &out, &[], false).unwrap().folder.join("src/m2_B.rs").exists());
}

/// What a spec imports as `data` is not the scratch memory.
#[test]
fn an_import_is_not_hidden_by_scratch_memory() {
    let hides = |line: &str| {
        let text = format!("{line}\nmodel A() {{ setup {{ let a = data; }} task {{ () }} terms P }}\n");
        let emitted = emit(&load("x.spec", &text).unwrap(), &out("imports"), &[], false).unwrap();
        text_of(&emitted.folder).contains("let (data, data2)")
    };
    for line in ["use std::{mem::data, fmt};", "use std::mem as data;"] {
        assert!(!hides(line), "{line}");
    }
    for line in ["use std::data::mem;", "use std::data as memory;", ""] {
        assert!(hides(line), "{line}");
    }
}

/// How they are drawn; those in code of the spec are in `depending.rs`.
#[test]
fn errors_before_and_after_building_read_well() {
    let path = || PathBuf::from("out/x.spec");
    let text = |text: &str| text.to_owned();
    let refused = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let uses = "use no_such::thing;\nuse rand::Rng;\nuse nor_this as x;\nmodel A() { task { () } terms P }\n";
    let mut unknown =
        emit(&load("crates/specc/tests/unknown.spec", uses).unwrap(), &out("drawn"), &[], false);
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

/// The lines of the manifest of a spec in a package whose workspace has another member.
fn manifest(name: &str, spec: &str, features: &[&str], alone: bool) -> Result<String, EmitError> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifests").join(name);
    for package in ["user", "other"] {
        std::fs::create_dir_all(folder.join(package).join("src")).unwrap();
        std::fs::write(folder.join(package).join("src/lib.rs"), "").unwrap();
    }
    let select = Path::new(env!("CARGO_MANIFEST_DIR")).join("../select").canonicalize().unwrap();
    let write = |path: &str, text: &str| std::fs::write(folder.join(path), text).unwrap();
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n");
    write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"user\", \"other\"]\nresolver = \"3\"\n[profile.release]\ndebug = 1\n\
         [profile.release.package]\nuser = { opt-level = 2 }\nother = { opt-level = 0 }\n\
         rand_core = { opt-level = 1 }\nserde_json = { opt-level = 0 }\n",
    );
    write(
        "user/Cargo.toml",
        &format!(
            "{}[features]\ndefault = [\"usual\"]\nusual = []\nfast = []\nfaster = []\n[dependencies]\n\
             rand = {{ version = \"0.10\", default-features = false, features = [\"std\"] }}\n\
             strata-select = {{ path = {select:?} }}\n",
            package("user")
        ),
    );
    write(
        "other/Cargo.toml",
        &format!(
            "{}[dependencies]\nrand = \"0.10\"\nserde_json = \"1.0\"\nuser = {{ path = \"../user\", features = [\"faster\"] }}\n",
            package("other")
        ),
    );
    std::fs::copy(select.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let name = folder.join("user/x.spec");
    std::fs::write(&name, spec).unwrap();
    let features: Vec<String> = features.iter().map(|feature| (*feature).to_owned()).collect();
    let spec = load(&name.to_string_lossy(), spec).unwrap();
    let emitted = emit(&spec, &folder.join("out"), &features, alone)?;
    let text = std::fs::read_to_string(emitted.folder.join("Cargo.toml")).unwrap();
    let (_, rest) = text.split_once("[workspace]\n\n").unwrap();
    let crates = select.parent().unwrap();
    let crates = pathdiff::diff_paths(crates, emitted.folder).unwrap();
    Ok(rest.replace(&*crates.to_string_lossy(), "CRATES"))
}

/// On one node and without need of the run-time: the harness, what the code names, and the named
/// features. What another member turns on is off, and settings are those of what is linked.
#[test]
fn a_manifest_has_what_its_spec_names_and_nothing_else() {
    let profile = "[profile.release]\ndebug = 1\npackage = { rand_core = { opt-level = 1 }, user = { opt-level = 2 } }\n";
    let alone = "strata-profile = { path = \"CRATES/profile\", default-features = false }\n";
    let spec = "use rand::Rng;\nmodel A(n) { for n in 1..=8 task { user::work(n) } }\n";
    let [version] = manifest("plain", spec, &[], true)
        .unwrap()
        .lines()
        .filter_map(|line| Some(line.strip_prefix("rand = { version = ")?.split(',').next()?.to_owned()))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let rand = format!("rand = {{ version = {version}, default-features = false, features = [\"std\"] }}\n");
    let user = |features: &str| format!("user = {{ path = \"../../user\"{features} }}\n");
    assert_eq!(
        manifest("plain", spec, &[], true).unwrap(),
        format!("[dependencies]\n{rand}{alone}{}\n{profile}", user(""))
    );
    // Of the spec, of the command line, of both.
    let fast = format!("features fast\n{spec}");
    for (spec, given, features) in [
        (&*fast, &[][..], ", features = [\"fast\"]"),
        (spec, &["user/fast"], ", features = [\"fast\"]"),
        (&fast, &["faster", "fast"], ", features = [\"fast\", \"faster\"]"),
    ] {
        let text = manifest("features", spec, given, true).unwrap();
        assert!(text.contains(&user(features)), "{text}");
    }
    let nodes =
        "[features]\nmpi = [\"strata-runtime/mpi\"]\nsim = [\"strata-runtime/sim\"]\n\n[dependencies]\n";
    let harness = "strata-profile = { path = \"CRATES/profile\" }\n";
    let runtime = "strata-runtime = { path = \"CRATES/runtime\", default-features = false }\n";
    let several = manifest("several", spec, &[], false).unwrap();
    assert_eq!(several, format!("{nodes}{rand}{harness}{runtime}{}\n{profile}", user("")));
    // Its code needs a node, though it runs on one alone.
    let needed = "model A(n) { for n in 1..=8 task { user::work(node, n) } }\n";
    let text = manifest("needed", needed, &[], true).unwrap();
    assert!(text.contains(harness) && text.contains(runtime), "{text}");
}

#[test]
fn features_that_there_are_not_are_shown_at_their_lines() {
    let spec = "features fats, user/fast, rand/no, none/x\nmodel A() { task { user::work(P) } }\n";
    let refused = |spec: &str, given: &[&str]| match manifest("refused", spec, given, true) {
        Err(EmitError::UnknownFeatures { errors }) => errors,
        other => panic!("{other:?}"),
    };
    let errors = refused(spec, &[]);
    let shown: Vec<_> = errors.iter().map(|error| (error.start(), error.help.clone().unwrap())).collect();
    assert_eq!(
        shown[0],
        (9, "there are user/fast, user/faster, user/usual (did you mean `fast`?)".to_owned())
    );
    assert!(shown[1].0 == 26 && shown[1].1.contains("rand/std"), "{shown:?}");
    assert_eq!(shown[2], (35, "there is no package `none`".to_owned()));
    let errors = refused("model A() { task { user::work(P) } }\n", &["slow"]);
    assert_eq!(errors[0].message, "--features: there is no feature `slow`");
}
