//! Rules for Open MPI and MPICH, from models that are made up, and whether Open MPI obeys them.

use std::fs;
use std::process::{Command, Stdio};

use crate::made_up::{folder, head, library, model};
use specc::rules::obeyed::{self, Checked, Found};
use strata_interchange::rules::RuleFile;

const BYTES: &str = "{ name = \"bytes\", min = 4.0, max = 1048576.0, integer = true }";

/// On so many nodes the library's own choice takes 2000 ns + 1 ns a byte. Recursive doubling is
/// twice as fast for little, ring for much; the third never gains beyond its error.
pub(crate) fn set(nodes: usize, own_error: f64) -> String {
    let model =
        |name: &str, terms: &[(&str, f64)]| model(name, BYTES, terms) + &format!("own_error = {own_error}\n");
    let models = [
        model("Auto", &[("1", 2000.0), ("bytes", 1.0)]),
        model("Doubling", &[("1", 1000.0), ("bytes", 1.1)]),
        model("Ring", &[("1", 9000.0), ("bytes", 0.5)]),
        model("Linear", &[("1", 1900.0), ("bytes", 0.99)]),
    ];
    let candidates =
        [("auto", "Auto"), ("recursive_doubling", "Doubling"), ("ring", "Ring"), ("basic_linear", "Linear")];
    head("mpi", nodes, 2) + &models.concat() + &library("allreduce", &["bytes"], &candidates)
}

/// A tree of MPICH in which each collective has an algorithm for calls in one group and between two.
pub(crate) fn mpich_tree() -> String {
    let of = |of: &strata_model::mpich::Collective| {
        let leaf = |not: &str| {
            let own = of.algorithms.iter().find(|own| !own.starts_with(not)).unwrap_or(&of.algorithms[0]);
            format!("{{ \"algorithm={}\": {{}} }}", of.full(own))
        };
        let (intra, inter) = (leaf("inter_"), leaf("intra_"));
        let inside = format!("{{ \"comm_type=intra\": {intra}, \"comm_type=inter\": {inter} }}");
        format!("\"collective={}\": {inside}", of.name)
    };
    let all: Vec<String> = strata_model::mpich::COLLECTIVES.iter().map(of).collect();
    format!("{{\n{}\n}}\n", all.join(",\n"))
}

/// The release of Open MPI that is installed with its compiler; `None` without, with a message.
fn open_mpi() -> Option<&'static str> {
    let quiet = |program: &str| {
        let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let version =
        quiet("mpirun").filter(|said| said.contains("Open MPI")).filter(|_| quiet("mpicc").is_some());
    let found =
        version.and_then(|said| ["4.1", "5.0"].into_iter().find(|one| said.contains(&format!(") {one}"))));
    if found.is_none() {
        println!("skipped: there is no Open MPI 4.1 or 5.0 with mpicc");
    }
    found
}

#[test]
#[ignore = "starts MPI jobs: cargo test -p specc --test it -- --ignored mpirun"]
fn what_is_exported_is_obeyed_under_mpirun() {
    let Some(release) = open_mpi() else { return };
    let folder = folder(&[("4.toml", "collectives 4 0.02")]);
    let specc = |command: &str| {
        let command = command.replace("RELEASE", release);
        let (status, out, err) = crate::specc(folder.path(), "80", &command.split(' ').collect::<Vec<_>>());
        assert_eq!(status, Some(0), "{out}{err}");
        out
    };
    specc("export 4.toml --to openmpi-rules --release RELEASE -o rules.conf");
    let out = specc("check rules.conf --rules RELEASE --nodes 3,4");
    let line = |part: &str| out.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned();
    // On 3 processes the file leaves all to the library.
    assert!(line("on 3, from 0").contains("auto, as the library's own choice sends"), "{out}");
    assert!(line("ring").contains("obeyed") || line("ring").contains("own choice sends"), "{out}");
    assert!(!out.contains("NOT"), "{out}");
}

#[test]
#[ignore = "starts MPI jobs: cargo test -p specc --test it -- --ignored mpirun"]
fn other_messages_than_those_of_the_rule_are_found_under_mpirun() {
    let Some(release) = open_mpi() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.conf");
    let text = |algorithm: u32| format!("1\n2\n1\n4\n1\n0 {algorithm} 0 0\n");
    fs::write(&path, text(4)).unwrap();
    // The library reads the ring's file, and is asked whether it follows recursive doubling.
    let other = RuleFile::read(text(3).as_bytes(), "other", release.parse().unwrap()).unwrap();
    let found = obeyed::check(&path, &other, &[4]).unwrap();
    let [Checked { found: Found::Disobeyed { file, forced }, .. }] = &found[..] else { panic!("{found:?}") };
    assert_ne!(file, forced);
}
