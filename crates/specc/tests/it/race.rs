//! Races of commands whose times are made up, so that what must come out is known. No clock is
//! asserted.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// The exit status, standard output and standard error of `specc compare --run`.
fn race(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let ran = crate::specc(folder, "80", &[&["compare", "--run", "--seed", "7"], arguments].concat());
    let is_screen = !arguments.contains(&"--json") && !arguments.contains(&"--markdown");
    assert!(!is_screen || ran.1.lines().all(|line| line.chars().count() <= 80), "{}", ran.1);
    // Messages are looked for as if they stood on one line.
    (ran.0, ran.1, ran.2.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// `sh bench.sh NAME MORE NOISE`: ten benchmarks in Google Benchmark's form, `hash` slower by `MORE`
/// per cent from 1,000 on, with up to so many per mille of noise. It counts its runs in `NAME`.
const BENCH: &str = r#"
run=$(($(cat $1 2>/dev/null || echo 0) + 1)); echo $run >$1
echo '{ "context": {}, "benchmarks": ['
for n in 10 100 1000 10000 100000; do for name in sum hash; do
  draw=$(((run * 7919 + n * 31 + ${#1} * 104729 + ${#name} * 1299709) * 16807 % 2147483647))
  time=$((n * (1000000 + draw % 1000 * $3)))
  if [ $name = hash ] && [ $n -ge 1000 ]; then time=$((time + time / 100 * $2)); fi
  echo "$sep{\"name\": \"$name/$n\", \"run_type\": \"iteration\", \"real_time\": $time, \"time_unit\": \"ns\"}"
  sep=,
done; done
echo ']}'
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bench.sh"), BENCH).unwrap();
    folder
}

const SAME: [&str; 4] = ["sh bench.sh a 0 10", "sh bench.sh bb 0 10", "--from", "google"];
const SLOWER: [&str; 4] = ["sh bench.sh a 0 10", "sh bench.sh bb 11 10", "--from", "google"];

#[test]
fn what_is_the_same_passes_and_what_is_worth_the_race_stands_first() {
    let folder = folder();
    let (status, out, err) = race(folder.path(), &[&SAME[..], &["--fail-above", "3%"]].concat());
    assert!(status == Some(0) && out.contains("from A to B, in 6 rounds"), "ends early: {out}{err}");
    let (status, out, err) = race(folder.path(), &SAME);
    assert_eq!(status, Some(0), "{out}{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("A against a copy of it: ") && lines[0].ends_with("in 2 rounds"), "{out}");
    assert!(lines[1].starts_with("a change shows from ") && lines.len() == 3, "{out}");
    assert_eq!(lines[2], "0 of 10 benchmarks changed from A to B, in 11 rounds (seed 7)");
    assert!(err.ends_with("round 11 of 11"), "{err}");
    let (_, out, _) = race(folder.path(), &[&SAME[..], &["--noop", "--rounds", "6"]].concat());
    assert!(
        out.starts_with("A against a copy of it: no change of 10 benchmarks is reported, in 6 rounds"),
        "{out}"
    );
}

#[test]
fn what_is_slower_is_named_with_where_it_begins() {
    let folder = folder();
    let (status, out, err) = race(folder.path(), &[&SLOWER[..], &["--fail-above", "3%"]].concat());
    assert_eq!(status, Some(3), "{out}{err}");
    assert!(out.contains("3 of 10 benchmarks changed") && !out.contains("sum"), "{out}");
    assert!(out.contains("11 % slower (") && out.contains("where n >= 1,000"), "{out}");
    assert!(out.contains("  hash  no change (") && out.contains("where n <= 100"), "{out}");
    assert!(err.contains("slower by more than 3 %: `hash` is 11 % slower ("), "{err}");
    let (status, out, _) = race(folder.path(), &[&SLOWER[..], &["--fail-above", "20%"]].concat());
    assert_eq!(status, Some(0), "{out}");
    let other_way = [SLOWER[1], SLOWER[0], "--from", "google", "--fail-above", "3%"];
    let (status, out, _) = race(folder.path(), &other_way);
    assert!(status == Some(0) && out.contains("% faster (") && out.contains("where n >= 1,000"), "{out}");

    let (status, out, _) = race(folder.path(), &[&SLOWER[..], &["--json", "--fail-above", "3%"]].concat());
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, &value["fails"], &value["seed"]), (Some(3), &true.into(), &7.into()));
    let hash = value["models"].as_array().unwrap().iter().find(|one| one["model"] == "hash").unwrap();
    assert_eq!((&hash["by"], &hash["parts"][1]["from"]), (&"rounds".into(), &1000.0.into()));
    assert_eq!(value["benchmarks"].as_array().unwrap().len(), 10);
    assert_eq!(value["noop"]["rounds"], 2);
    let (_, out, _) = race(folder.path(), &[&SLOWER[..], &["--markdown"]].concat());
    assert!(out.starts_with("**3 of 10 benchmarks changed from A to B"), "{out}");
    assert!(out.contains("\n| `hash` | 11 % slower ("), "{out}");
    assert!(out.contains(") | where n >= 1,000 |\n") && out.contains("\n| `sum` | no change ("), "{out}");
}

#[test]
fn what_noise_hides_is_not_decided() {
    let folder = folder();
    let noisy = ["sh bench.sh a 0 900", "sh bench.sh bb 0 900", "--from", "google", "--fail-above", "3%"];
    let (status, out, err) = race(folder.path(), &noisy);
    assert_eq!(status, Some(4), "{out}{err}");
    assert!(out.contains("\n0 of 10 benchmarks changed"), "{out}");
    assert!(err.contains("not decided: `") && err.contains("by more than 3 %"), "{err}");
}

#[test]
fn a_race_that_ends_early_has_run_its_copies() {
    let folder = folder();
    let same = [SAME[0], SAME[1], "--from", "google", "--fail-above", "90%"];
    let (status, out, err) = race(folder.path(), &same);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("at most, in 2 rounds\n") && out.contains("from A to B, in 6 rounds"), "{out}");
}

#[test]
fn a_run_that_fails_is_named_and_the_other_rounds_are_kept() {
    let folder = folder();
    let at = |command: &str, run: u32, what: &str| {
        format!(
            "[ \"$(cat bb 2>/dev/null)\" != {} ] || {{ echo no luck >&2; echo {run} >bb; {what}; }}; {command}",
            run - 1
        )
    };
    let gone = |what: &str| {
        let _absent = fs::remove_file(folder.path().join("bb"));
        let command = at(SAME[1], 3, what);
        race(folder.path(), &[SAME[0], &command, "--from", "google"])
    };
    let (status, out, err) = gone("exit 9");
    assert_eq!(status, Some(0), "{err}");
    assert!(
        err.contains("round 3 does not count: B (`[")
            && err.contains("exit status: 9; it ended with no luck"),
        "{err}"
    );
    assert!(out.contains("in 10 rounds"), "{out}{err}");
    let (status, out, err) = gone("exit 0");
    assert!(status == Some(0) && out.contains("in 10 rounds"), "{out}{err}");
    assert!(err.contains("round 3 does not count") && err.contains("has no results"), "{err}");
    let (status, out, err) = race(folder.path(), &[SAME[0], "exit 1", "--from", "google"]);
    assert_eq!((status, &*out), (Some(1), ""), "{err}");
    assert!(err.contains("each of the first 3 rounds failed"), "{err}");
    assert!(err.contains("round 3 does not count: B (`exit 1`) failed"), "{err}");
    assert!(err.contains("it printed nothing") && !err.contains("round 4"), "{err}");
    let every_other = format!(
        "n=$(cat cc 2>/dev/null || echo 0); echo $((n + 1)) >cc; [ $((n % 2)) = 1 ] || exit 1; {}",
        SAME[1]
    );
    let (status, out, err) = race(folder.path(), &[SAME[0], &every_other, "--from", "google"]);
    assert_eq!((status, &*out), (Some(1), ""), "{err}");
    assert!(err.contains("5 of 11 rounds are left, and 6 are the fewest"), "{err}");
}

#[test]
fn an_old_file_is_not_read_as_a_new_one() {
    let folder = folder();
    let file = folder.path().join("out.json");
    let write = "sh bench.sh a 0 10 >out.json";
    let (status, out, err) = race(folder.path(), &[write, write, "--results", "out.json"]);
    assert!(status == Some(0) && out.contains("0 of 10"), "{out}{err}");
    assert!(file.exists());
    let (status, _, err) = race(folder.path(), &[write, "true", "--results", "out.json"]);
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("B (`true`) did not write ") && err.contains("out.json"), "{err}");
    // Of criterion's folder the last run is forgotten, and what it compares with is kept.
    let criterion = folder.path().join("criterion/sort/10");
    for run in ["new", "base"] {
        fs::create_dir_all(criterion.join(run)).unwrap();
        fs::write(criterion.join(run).join("benchmark.json"), r#"{"group_id": "sort", "value_str": "10"}"#)
            .unwrap();
        fs::write(criterion.join(run).join("sample.json"), r#"{"iters": [1, 2], "times": [10, 20]}"#)
            .unwrap();
    }
    let (status, _, err) = race(folder.path(), &["true", "true", "--results", "criterion"]);
    assert!(status == Some(1) && err.contains("A (`true`) has no results"), "{err}");
    assert!(criterion.join("base/benchmark.json").exists());
    let copy = "cp criterion/sort/10/base/benchmark.json criterion/sort/10/new";
    let (status, out, err) =
        race(folder.path(), &[copy, copy, "--results", "criterion", "--from", "criterion"]);
    assert!(status == Some(0) && out.contains("0 of 1 benchmark changed"), "{out}{err}");
}

#[test]
fn files_that_a_race_does_not_own_are_left_alone() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("notes.txt"), "precious").unwrap();
    let before = fs::metadata(at.join("notes.txt")).unwrap().modified().unwrap();
    let (status, _, err) = race(at, &["true", "true", "--results", "notes.txt"]);
    assert!(status == Some(1) && err.contains("did not write "), "{err}");
    assert_eq!(fs::read_to_string(at.join("notes.txt")).unwrap(), "precious");
    assert_eq!(fs::metadata(at.join("notes.txt")).unwrap().modified().unwrap(), before);
    let (status, _, err) = race(at, &["exit 1", "true", "--results", "notes.txt"]);
    assert_eq!(status, Some(1), "{err}");
    assert_eq!(fs::metadata(at.join("notes.txt")).unwrap().modified().unwrap(), before);
    // What is no file stays what it is, and a link out of criterion's folder is not followed.
    nix::unistd::mkfifo(&at.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (status, _, err) = race(at, &["true", "true", "--results", "pipe"]);
    assert!(status == Some(1) && err.contains("it is no file into which results can be written"), "{err}");
    assert!(at.join("pipe").exists());
    fs::create_dir_all(at.join("others/new")).unwrap();
    fs::write(at.join("others/new/benchmark.json"), "{}").unwrap();
    fs::create_dir(at.join("criterion")).unwrap();
    std::os::unix::fs::symlink(at.join("others"), at.join("criterion/link")).unwrap();
    race(at, &["true", "true", "--results", "criterion"]);
    assert!(at.join("others/new/benchmark.json").exists());
}

#[test]
fn long_names_fit_on_a_screen() {
    let folder = folder();
    let name = "x".repeat(100) + &"y".repeat(100);
    for (file, time) in [("a.csv", 1), ("b.csv", 2)] {
        fs::write(folder.path().join(file), format!("name,time\n{name},{time}\nb_{name},1\n")).unwrap();
    }
    let gate = ["cat a.csv", "cat b.csv", "--from", "csv", "--fail-above", "3%"];
    let (status, out, err) = race(folder.path(), &gate);
    assert!(status == Some(3) && out.contains("x…y"), "{out}{err}");
    assert!(!out.contains(&name) && !err.contains(&name), "{out}{err}");
}

/// B takes 0 to 6 % longer by turns, so that six rounds do not tell that it is not 4 % slower.
#[test]
fn rounds_go_on_until_it_is_decided_or_the_budget_is_spent() {
    let folder = folder();
    let b = "n=$(cat turn 2>/dev/null || echo 0); echo $((n+1)) >turn; \
             echo \"name,time\" ; echo \"x,$((1000 + n % 7 * 10))e-6\"";
    let a = "printf 'name,time\\nx,1e-3\\n'";
    let gate = ["--from", "csv", "--fail-above", "4%", "--rounds", "6"];
    let rounds = |more: &[&str]| {
        let _absent = fs::remove_file(folder.path().join("turn"));
        let (status, out, err) = race(folder.path(), &[&[a, b][..], &gate, more].concat());
        let turn = fs::read_to_string(folder.path().join("turn")).unwrap_or_default();
        (status, turn.trim().parse::<usize>().unwrap_or(0), format!("{out}{err}"))
    };
    let (status, few, told) = rounds(&[]);
    assert!(status == Some(4) && few == 6 && told.contains("`x` may be slower"), "{few} {told}");
    let (status, more, told) = rounds(&["--budget", "60s"]);
    assert!(status == Some(0) && [12, 24, 48].contains(&more), "{more} {told}");
    let (status, _, told) = rounds(&["--budget", "1ms"]);
    assert_eq!(status, Some(4), "{told}");
}

/// The copy of A takes twice as long as A, as a gate that cannot be believed would see it.
#[test]
fn a_gate_that_sees_changes_of_a_against_its_copy_does_not_decide() {
    let folder = folder();
    let script = "#!/bin/sh\ncase $0 in ./*) t=1;; *) t=2;; esac\nprintf \"name,time\\nx,${t}e-3\\n\"\n";
    let path = folder.path().join("csv");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let noop = ["./csv", "./csv", "--from", "csv", "--noop", "--rounds", "6"];
    let (status, out, err) = race(folder.path(), &noop);
    assert!(status == Some(4) && out.contains("false alarms, 1 of 1 benchmark"), "{out}{err}");
    assert!(err.contains("of A against a copy of it changes are reported, too: x"), "{err}");
    let (status, _, err) = race(folder.path(), &[&noop[..], &["--fail-above", "150%"]].concat());
    assert!(status != Some(4) || !err.contains("copy of it changes"), "{err}");
}

/// Both names become `a_b`, and B prints them the other way round.
#[test]
fn names_that_are_called_alike_are_paired_by_the_name_and_not_by_the_order() {
    let folder = folder();
    let line = |name: &str, ns: u32| {
        format!(
            "{{\"name\": \"{name}\", \"run_type\": \"iteration\", \"real_time\": {ns}, \"time_unit\": \"ns\"}}"
        )
    };
    let (one, two) = (line("a b", 100), line("a_b", 300));
    for (file, lines) in [("a.json", [&one, &two]), ("b.json", [&two, &one])] {
        let text = format!("{{ \"context\": {{}}, \"benchmarks\": [{},{}] }}", lines[0], lines[1]);
        fs::write(folder.path().join(file), text).unwrap();
    }
    let (status, out, err) = race(folder.path(), &["cat a.json", "cat b.json", "--from", "google"]);
    assert!(status == Some(0) && out.contains("0 of 2 benchmarks changed"), "{out}{err}");
    // Alone in B the second is called as the first is in A.
    fs::write(folder.path().join("b.json"), format!("{{ \"context\": {{}}, \"benchmarks\": [{two}] }}"))
        .unwrap();
    let (status, out, err) = race(folder.path(), &["cat a.json", "cat b.json", "--from", "google"]);
    assert!(status == Some(0) && out.contains("0 of 1 benchmark changed"), "{out}{err}");
    assert!(out.contains("`a b` in A alone"), "{out}{err}");
}

#[test]
fn what_does_not_run_in_b_does_not_pass() {
    let folder = folder();
    let less = "sh bench.sh bb 0 0 | grep -v 'sum/100000'";
    let gate = ["--from", "google", "--fail-above", "3%"];
    let (status, _, err) = race(folder.path(), &[&["sh bench.sh a 0 0", less][..], &gate].concat());
    assert!(status == Some(4) && err.contains("`sum n=100000` did not run in B"), "{err}");
    let none = "sh bench.sh a 0 0 | sed 's/real_time\": [0-9]*/real_time\": 0/'";
    let (status, _, err) = race(folder.path(), &[none, none, "--from", "google"]);
    assert!(status == Some(4) && err.contains("no benchmark can be compared"), "{err}");
    let (status, _, err) = race(folder.path(), &["sh bench.sh a 0 0", " "]);
    assert!(status == Some(2) && err.contains("a command is empty"), "{err}");
}

#[test]
fn the_clock_csv_and_a_copied_program_are_taken() {
    let folder = folder();
    let (status, out, err) = race(folder.path(), &["true", "cat", "--rounds", "6"]);
    assert!(status == Some(0) && out.contains("of 1 benchmark changed"), "{out}{err}");
    let script = "#!/bin/sh\necho $0 >>paths\necho ${#STRATA_PADDING} >>padding\nprintf 'name,n,time\\nx,1,1\\ny,1,2\\n'\n";
    fs::write(folder.path().join("csv"), script).unwrap();
    let path = folder.path().join("csv");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (status, out, err) =
        race(folder.path(), &["./csv", "./csv", "--from", "csv", "--model-column", "name", "--rounds", "8"]);
    assert!(status == Some(0) && out.contains("0 of 2 benchmarks changed"), "{out}{err}");
    fs::write(folder.path().join("two.csv"), "name,time\nfirst,1\nother,2\n").unwrap();
    let (status, out, err) = race(folder.path(), &["cat two.csv", "cat ./two.csv", "--from", "csv"]);
    assert!(status == Some(0) && out.contains("0 of 2 benchmarks changed"), "{out}{err}");
    let of = |file: &str| -> Vec<String> {
        fs::read_to_string(folder.path().join(file)).unwrap().lines().map(str::to_owned).collect()
    };
    let paths = of("paths");
    let copies: Vec<&String> = paths.iter().filter(|path| *path != "./csv").collect();
    assert!(paths.len() == 18 && copies.len() == 2 && !Path::new(copies[0]).exists(), "{paths:?}");
    let mut padding = of("padding");
    padding.sort();
    padding.dedup();
    assert!(padding.len() > 9, "{padding:?}");
}

#[test]
fn wrong_usage_says_what_is_right() {
    let folder = folder();
    for (arguments, what) in [
        (&["true"][..], "<B>"),
        (&["true", "true", "--rounds", "5"], "6..=1000"),
        (&["true", "true", "--from", "gogle"], "google-benchmark"),
        (&["true", "true", "--from", "wall", "--results", "x"], "--from wall"),
        (&["true", "true", "--json", "--markdown"], "--markdown"),
        (&["true", "--git", "HEAD"], "git"),
    ] {
        let (status, out, err) = race(folder.path(), arguments);
        assert!(status == Some(2) && out.is_empty() && err.contains(what), "{arguments:?}: {err}");
    }
    let (status, _, err) = race(folder.path(), &["true", "true", "--budget", "1ms"]);
    assert!(status == Some(4) && err.contains("6 are the fewest"), "{err}");
}

#[test]
fn a_base_of_git_is_built_once_and_kept() {
    let folder = folder();
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(words).current_dir(folder.path());
        assert!(git.stdout(Stdio::null()).status().unwrap().success());
    };
    git(&["init", "--quiet"]);
    fs::write(folder.path().join("run.sh"), "touch built; sh bench.sh a 0 10").unwrap();
    git(&["add", "run.sh", "bench.sh"]);
    git(&["commit", "--quiet", "-m", "before"]);
    fs::write(folder.path().join("run.sh"), "sh bench.sh bb 11 10").unwrap();
    for _ in 0..2 {
        let (status, out, err) = race(folder.path(), &["sh run.sh", "--git", "HEAD", "--from", "google"]);
        assert!(status == Some(0) && out.contains("where n >= 1,000"), "{out}{err}");
    }
    let kept = folder.path().join(".git/strata-race/tree");
    assert!(kept.join("built").exists() && !folder.path().join("built").exists());
    // Once to build, in eleven rounds, and twice as the copy; twice over.
    assert_eq!(fs::read_to_string(kept.join("a")).unwrap().trim(), "28");
    let (status, _, err) = race(folder.path(), &["sh run.sh", "--git", "nowhere"]);
    assert!(status == Some(2) && err.contains("`nowhere` is neither a folder nor a revision"), "{err}");
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let folder = folder();
    let mut specc = Command::new(env!("CARGO_BIN_EXE_specc"));
    specc.args([
        "compare",
        "--run",
        "sh bench.sh a 0 10",
        "sh bench.sh bb 11 10; sleep 0.1",
        "--from",
        "google",
    ]);
    specc.args(["--rounds", "1000"]).current_dir(folder.path()).env("COLUMNS", "80");
    let child = specc.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = || fs::read_to_string(folder.path().join("bb")).ok()?.trim().parse::<u32>().ok();
    while runs().is_none_or(|runs| runs < 10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(130), "{out}{err}");
    assert!(out.contains("where n >= 1,000") && err.contains("interrupted"), "{out}{err}");
}
