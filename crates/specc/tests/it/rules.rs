//! Rules for Open MPI and MPICH, from models that are made up, and whether Open MPI obeys them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use specc::rules::obeyed::{self, Checked, Found};
use strata_interchange::rules::RuleFile;

fn specc(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    crate::specc(folder, "80", arguments)
}

/// A model whose time is the sum of these terms, in nanoseconds, with this share as its own error.
fn model(name: &str, terms: &[(&str, f64)], own_error: f64) -> String {
    let inputs = "{ name = \"bytes\", min = 4.0, max = 1048576.0, integer = true }";
    let mut model = format!("[[models]]\nname = \"{name}\"\ninputs = [{inputs}]\nterms = [\n");
    for (term, nanoseconds) in terms {
        let coefficient = nanoseconds * 1e-9;
        writeln!(model, "  {{ term = \"{term}\", coefficient = {coefficient:e}, relevant = true }},")
            .unwrap();
    }
    model + &format!("]\nt_quantile = 2.0\nmean_time = 1e-6\nown_error = {own_error}\n")
}

fn library(name: &str, candidates: &[(&str, &str)]) -> String {
    let mut library = format!("[[libraries]]\nname = \"{name}\"\ninputs = [\"bytes\"]\n");
    for (candidate, model) in candidates {
        let head = "[[libraries.candidates]]";
        writeln!(library, "{head}\nname = \"{candidate}\"\nmodel = \"{model}\"\narguments = [\"bytes\"]")
            .unwrap();
    }
    library
}

/// On so many nodes the library's own choice takes 2000 ns + 1 ns a byte. Recursive doubling is
/// twice as fast for little, ring for much; the third never gains beyond its error.
fn set(nodes: usize, own_error: f64) -> String {
    let head = format!(
        "strata-models = 1\n[platform]\ntransport = \"mpi\"\nnodes = {nodes}\ncpu = \"made up\"\ncores = 2\n\
         cache = \"\"\nos = \"linux\"\narch = \"x86_64\"\n"
    );
    let auto = [("1", 2000.0), ("bytes", 1.0)];
    let models = [
        model("Auto", &auto, own_error),
        model("Doubling", &[("1", 1000.0), ("bytes", 1.1)], own_error),
        model("Ring", &[("1", 9000.0), ("bytes", 0.5)], own_error),
        model("Linear", &[("1", 1900.0), ("bytes", 0.99)], own_error),
    ];
    let candidates =
        [("auto", "Auto"), ("recursive_doubling", "Doubling"), ("ring", "Ring"), ("basic_linear", "Linear")];
    head + &models.concat() + &library("allreduce", &candidates)
}

fn folder(own_error: f64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("2.toml"), set(2, own_error)).unwrap();
    fs::write(folder.path().join("4.toml"), set(4, own_error)).unwrap();
    folder
}

fn export(folder: &Path, more: &[&str]) -> String {
    let (status, out, err) = specc(folder, &[&["export", "4.toml", "--to"], more].concat());
    assert_eq!(status, Some(0), "{more:?}: {err}");
    out
}

/// The rules of a classic file: their numbers without remarks.
fn rules(text: &str) -> Vec<Vec<u64>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines
        .map(|line| line.split_whitespace().map(|number| number.parse().unwrap()).collect::<Vec<u64>>())
        .filter(|line| line.len() == 4)
        .collect()
}

#[test]
fn a_rule_is_where_the_gain_is_sure() {
    let folder = folder(0.02);
    let text = export(folder.path(), &["openmpi-rules", "--release", "4.1"]);
    let found = rules(&text);
    let algorithms: Vec<u64> = found.iter().map(|rule| rule[1]).collect();
    // Less than 4 bytes, recursive doubling, the library's own, ring, beyond; then from 5 processes.
    assert_eq!(algorithms, [0, 0, 3, 0, 4, 0, 0], "{text}");
    let ends: Vec<u64> = found.iter().map(|rule| rule[0]).collect();
    assert_eq!((ends[2], ends[5]), (4, 1_048_577), "{text}");
    // 1.1 n + 1000 is 6 % less than n + 2000 near 5800, and 0.5 n + 9000 near 15,900.
    assert!((4000..8000).contains(&ends[3]) && (14_000..21_000).contains(&ends[4]), "{text}");
    assert!(text.contains("times as fast"), "{text}");

    // The interval of no gain now reaches further than any gain.
    let unsure = self::folder(0.6);
    let text = export(unsure.path(), &["openmpi-rules", "--release", "4.1"]);
    assert!(rules(&text).iter().all(|rule| rule[1] == 0), "{text}");
    let (_, _, err) =
        specc(unsure.path(), &["export", "4.toml", "--to", "openmpi-rules", "--release", "4.1"]);
    let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(err.contains("all choices stay the library's own"), "{err}");
}

#[test]
fn several_numbers_of_processes_are_one_file() {
    let folder = folder(0.02);
    let (status, out, err) = specc(
        folder.path(),
        &["export", "2.toml", "4.toml", "--to", "openmpi-rules", "--release", "5.0", "-o", "rules.conf"],
    );
    assert_eq!(status, Some(0), "{out}{err}");
    let (status, out, err) = specc(folder.path(), &["check", "rules.conf", "--rules", "5.0"]);
    assert!(status == Some(0) && out.contains("rules for allreduce"), "{out}{err}");
    let json = export(folder.path(), &["openmpi-rules", "--release", "6.0"]);
    fs::write(folder.path().join("rules.json"), &json).unwrap();
    let (status, out, err) = specc(folder.path(), &["check", "rules.json", "--rules", "6.0"]);
    assert_eq!(status, Some(0), "{out}{err}");
    let (status, _, err) = specc(folder.path(), &["check", "rules.json", "--rules", "4.1"]);
    assert!(status == Some(1) && err.contains("rules.json:1:1"), "{err}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = folder(0.02);
    let refused = |command: &str, status, told: &str| crate::refused(folder.path(), command, status, told);
    refused("export 4.toml --to openmpi-rules", 2, "--release");
    // Another tool's measurements do not say the number of processes, and rules for one are none.
    let (head, rest) =
        set(4, 0.02).split_once("[platform]").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let foreign = head + &rest[rest.find("[[models]]").unwrap()..];
    fs::write(folder.path().join("foreign.toml"), foreign).unwrap();
    let foreign = "export foreign.toml --to openmpi-rules --release 4.1";
    refused(foreign, 2, "does not say on how many processes it was measured");
    refused("export 4.toml --to openmpi-rules --release 3.1", 2, "no release of Open MPI");
    refused("export 4.toml --to rust --release 4.1", 2, "is for `--to openmpi-rules`");
    refused("export 4.toml --to thresholds --lose 3%", 2, "`openmpi-rules`, `mpich-json` and `intel-adjust`");
    refused(
        "export 4.toml 4.toml --to openmpi-rules --release 4.1",
        2,
        "`allreduce` on 4 processes comes twice",
    );
    let without = set(4, 0.02).replace("name = \"auto\"", "name = \"own\"");
    fs::write(folder.path().join("without.toml"), without).unwrap();
    refused("export without.toml --to openmpi-rules --release 4.1", 2, "`allreduce` has no candidate `auto`");
    fs::write(folder.path().join("bad.conf"), "1\n2\n1\n4\n1\n0 3 0 0 0\n").unwrap();
    refused("check bad.conf --rules 4.1", 1, "bad.conf:6:9");
    refused("check missing.conf --rules 4.1", 3, "missing.conf");
    refused("check bad.conf --nodes 4", 2, "--rules");
}

/// A tree of MPICH in which each collective has an algorithm for calls in one group and between two.
fn mpich_tree() -> String {
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

#[test]
fn rules_of_mpich_stand_in_its_tree() {
    let folder = folder(0.02);
    let path = |name: &str| folder.path().join(name);
    fs::write(path("tree.json"), mpich_tree()).unwrap();
    // The candidates as MPICH calls them.
    let set = fs::read_to_string(path("4.toml")).unwrap();
    let set = set.replace("\"ring\"", "\"reduce_scatter_allgather\"").replace("\"basic_linear\"", "\"nb\"");
    fs::write(path("mpich.toml"), set).unwrap();
    let run = |arguments: &[&str]| {
        let (status, out, err) = specc(folder.path(), arguments);
        (status, out, err.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (status, text, err) = run(&["export", "mpich.toml", "--to", "mpich-json", "--base", "tree.json"]);
    assert_eq!(status, Some(0), "{err}");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let place = |part: &str| lines.iter().position(|line| line.contains(part)).unwrap_or(usize::MAX);
    assert!(place("comm_size<4") < place("comm_size<=4"), "{text}");
    assert!(place("MPIR_Allreduce_intra_recursive_doubling") < place("avg_msg_size<1048577"), "{text}");
    assert!(place("MPIR_Allreduce_intra_reduce_scatter_allgather") < usize::MAX, "{text}");
    fs::write(path("rules.json"), &text).unwrap();
    let (status, out, err) = run(&["check", "rules.json", "--rules", "mpich-4.0"]);
    assert!(status == Some(0) && out.contains("for 44 collectives"), "{out}{err}");

    let refused = |command: &str, status, told: &str| crate::refused(folder.path(), command, status, told);
    let to = "export mpich.toml --to mpich-json";
    refused(to, 2, "--base");
    refused(&format!("{to} --base missing.json"), 3, "missing.json");
    refused(&format!("{to} --base mpich.toml"), 1, "mpich.toml:1:1: this is not a tree of MPICH");
    refused(&format!("{to} --base tree.json --release 4.1"), 2, "that of `--base`");
    refused("export 4.toml --to mpich-json --base tree.json", 2, "has no allreduce by `ring`");
    refused("export 4.toml --to rust --base tree.json", 2, "`--base` is for");
    refused("check rules.json --rules mpich-4.3", 2, "no release of MPICH");
    refused("check rules.json --rules mpich-4.0 --nodes 2", 2, "counts messages");
    fs::write(path("few.json"), "{\"collective=bcast\": {\"algorithm=MPIR_Bcast_allcomm_nb\": {}}}").unwrap();
    refused("check few.json --rules mpich-4.0", 1, "the file replaces all that the library knows");
}

#[test]
fn rules_of_intel_are_variables() {
    let folder = folder(0.02);
    let path = |name: &str| folder.path().join(name);
    let set = fs::read_to_string(path("4.toml")).unwrap();
    let presets = [("\"recursive_doubling\"", "\"preset9\""), ("\"ring\"", "\"preset13\"")];
    let set = presets.iter().fold(set, |set, (name, preset)| set.replace(name, preset));
    fs::write(path("intel.toml"), set.replace("\"basic_linear\"", "\"preset3\"")).unwrap();
    let run = |arguments: &[&str]| {
        let (status, out, err) = specc(folder.path(), arguments);
        (status, out, err.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (status, text, err) = run(&["export", "intel.toml", "--to", "intel-adjust"]);
    assert_eq!(status, Some(0), "{err}");
    let line = text.lines().find(|line| line.starts_with("export")).unwrap_or_default();
    assert!(line.starts_with("export I_MPI_ADJUST_ALLREDUCE='0:0-3;9:4-"), "{text}");
    assert!(line.contains(";13:") && line.ends_with(";0:1048577-2147483647'"), "{text}");
    fs::write(path("adjust.sh"), &text).unwrap();
    let (status, out, err) = run(&["check", "adjust.sh", "--rules", "intel-2021.18"]);
    assert!(status == Some(0) && out.contains("entries for allreduce"), "{out}{err}");

    let refused = |command: &str, status, told: &str| crate::refused(folder.path(), command, status, told);
    refused("export 4.toml --to intel-adjust", 2, "`preset1` to `preset32`");
    refused("export intel.toml --to intel-adjust --release 4.1", 2, "of Intel MPI there is one");
    refused("check adjust.sh --rules intel-2019", 2, "no release of Intel MPI");
    refused("check adjust.sh --rules intel-2021.18 --nodes 2", 2, "counts messages");
    refused("check intel.toml --rules intel-2021.18", 1, "intel.toml:1:1");
    refused("check missing.sh --rules intel-2021.18", 3, "missing.sh");
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
    let folder = folder(0.02);
    let text = export(folder.path(), &["openmpi-rules", "--release", release]);
    fs::write(folder.path().join("rules.conf"), text).unwrap();
    let (status, out, err) =
        specc(folder.path(), &["check", "rules.conf", "--rules", release, "--nodes", "3,4"]);
    assert_eq!(status, Some(0), "{out}{err}");
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
