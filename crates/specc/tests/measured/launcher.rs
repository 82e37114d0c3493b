//! Launchers of MPI jobs as templates, by scripts that stand for a cluster's `srun` and start
//! `mpirun`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use strata_model::Samples;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Takes what Slurm's takes: `srun -N hosts --ntasks-per-node=each -n processes program …`.
const SRUN: &str = include_str!("srun.sh");

/// Ends a job as a time limit does, once the file in `LIMIT` has three samples.
const LIMITED: &str = include_str!("limited.sh");

fn limited() -> String {
    let (head, rest) = SRUN.split_once('\n').unwrap();
    format!("{head}\n{LIMITED}{}", rest.replace("START", "limited mpirun"))
}

/// A folder with a launcher of this name and text.
fn folder(name: &str, launcher: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("launcher").join(name);
    let _absent = fs::remove_dir_all(folder.join("bin"));
    let _absent = fs::remove_dir_all(folder.join("out"));
    fs::create_dir_all(folder.join("bin")).unwrap();
    let script = folder.join("bin").join(launcher);
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn specc(folder: &Path, spec: &str, arguments: &[&str]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(env!("CARGO_BIN_EXE_specc"));
    command
        .args(["calibrate", "--only-samples"])
        .arg(Path::new(ROOT).join("crates/specc/tests/run").join(spec))
        .args(arguments)
        .arg("-o")
        .arg(folder.join("out"))
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .env_remove("STRATA_MPIRUN")
        .env("CARGO_NET_OFFLINE", "true")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "1000")
        .stdin(Stdio::null());
    command
}

/// Exit status and what was said, without the frames of errors.
fn ended(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
    (output.status.code(), words.join(" "))
}

fn samples(folder: &Path, name: &str) -> Samples {
    Samples::parse(&fs::read_to_string(folder.join("out").join(name)).unwrap(), name).unwrap()
}

/// Whether there is an MPI to start jobs of.
fn is_there() -> bool {
    let there = |name: &str| Command::new(name).arg("--version").output().is_ok();
    let all = there("mpirun") && there("mpicc");
    if !all {
        println!("skipped: there is no mpirun or no mpicc");
    }
    all
}

#[test]
#[ignore = "needs an MPI on this machine, and builds rsmpi: cargo test -p specc --test measured -- --ignored"]
fn a_template_starts_jobs_of_mpirun() {
    if !is_there() {
        return;
    }
    let folder = folder("template", "srun", &SRUN.replace("START", "mpirun"));
    let template = "srun -N {hosts} --ntasks-per-node={per_host} -n {n}";
    let arguments = ["--on", "mpi", "--nodes", "1x1,1x3", "--launcher", template, "--budget", "3s"];
    let (status, said) = ended(&mut specc(&folder, "small.spec", &arguments));
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains(&format!("slurm 23.02.7, as `{template}`")), "{said}");
    let calls = fs::read_to_string(folder.join("bin/srun.calls")).unwrap();
    let calls: Vec<&str> = calls.lines().map(|line| line.split(" /").next().unwrap()).collect();
    assert_eq!(calls, ["-N 1 --ntasks-per-node=1 -n 1", "-N 1 --ntasks-per-node=3 -n 3"]);
    let measured = samples(&folder, "samples.txt");
    assert_eq!(measured.platform.unwrap().transport, "mpi");
    let own = measured.models.iter().find(|model| model.name == "Own").unwrap();
    let slowest = |row: &strata_model::samples::Sample| (row.seconds / row.values[0] * 1e3).round() as usize;
    assert!(own.rows.iter().all(|row| slowest(row) == row.notes.nodes), "the slowest node counts");

    // By the variable, and on another number of hosts than was asked for.
    let mut command = specc(&folder, "small.spec", &["--on", "mpi", "--nodes", "2x1", "--budget", "2s"]);
    let (status, said) = ended(command.env("STRATA_MPIRUN", template));
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("the nodes ran on 1 host, not on 2"), "{said}");
}

#[test]
#[ignore = "needs an MPI on this machine, and builds rsmpi: cargo test -p specc --test measured -- --ignored"]
fn a_launcher_that_fails_is_told_from_a_program_under_mpirun() {
    if !is_there() {
        return;
    }
    let folder = folder("fails", "srun", &SRUN.replace("START", "mpirun"));
    let run = |template: &str| {
        let arguments = ["--on", "mpi", "--nodes", "2", "--budget", "2s", "--launcher", template];
        ended(&mut specc(&folder, "small.spec", &arguments))
    };
    let (status, said) = run("srun --mem=9 -n {n}");
    assert_eq!(status, Some(3), "{said}");
    assert!(
        said.contains("`srun --mem=9 -n 2` ended with exit status: 1 before the profiling program began")
            && said.contains("program began: srun: unrecognized option '--mem=9'")
            && said.contains("the same words with `hostname` behind them"),
        "{said}"
    );
    // Each process alone, as by the launcher of another MPI.
    let alone = "sh -c 'for i in $(seq {n}); do \"$@\" || exit; done' -";
    let (status, said) = run(alone);
    assert!(status == Some(1) && said.contains("to another's each process is alone"), "{status:?} {said}");
}

#[test]
#[ignore = "needs an MPI on this machine, and builds rsmpi: cargo test -p specc --test measured -- --ignored"]
fn what_a_time_limit_ends_is_resumed_under_mpirun() {
    if !is_there() {
        return;
    }
    let folder = folder("limit", "srun", &limited());
    let partial = folder.join("out/samples.txt.partial");
    let arguments = ["--on", "mpi", "--nodes", "2", "--budget", "6s", "--launcher", "srun -n {n}"];
    let (status, said) = ended(specc(&folder, "slow.spec", &arguments).env("LIMIT", &partial));
    assert!(status == Some(3) && said.contains("run the same command with --resume"), "{status:?} {said}");
    let before = samples(&folder, "samples.txt.partial").models[0].rows.len();
    assert!(before > 0);
    let (status, said) = ended(specc(&folder, "slow.spec", &arguments).arg("--resume"));
    assert!(status == Some(0) && said.contains("going on with"), "{status:?} {said}");
    assert_eq!(samples(&folder, "samples.txt").models[0].rows.len(), 25);
}

#[test]
#[ignore = "needs an MPI on this machine, and builds rsmpi: cargo test -p specc --test measured -- --ignored"]
fn a_job_that_is_submitted_again_goes_on_under_mpirun() {
    if !is_there() {
        return;
    }
    let folder = folder("job", "srun", &limited());
    let out = folder.join("out");
    let spec = Path::new(ROOT).join("crates/specc/tests/run/slow.spec");
    let mut emit = Command::new(env!("CARGO_BIN_EXE_specc"));
    emit.arg("emit").arg(spec).args(["--job", "slurm", "--nodes", "1x2,1x3", "--budget", "6s", "-o"]);
    let (status, said) = ended(emit.arg(&out));
    assert_eq!(status, Some(0), "{said}");
    // What other tests have built needs not be built again.
    let script = fs::read_to_string(out.join("job.sh")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().display().to_string();
    fs::write(out.join("job.sh"), script.replace("\"$out/build\"", &target)).unwrap();
    let job = |arguments: &[&str], limit: &str| {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .arg(out.join("job.sh"))
            .args(arguments)
            .current_dir("/")
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .env("LIMIT", limit)
            .env("CARGO_NET_OFFLINE", "true")
            .env("NO_COLOR", "1")
            .env("COLUMNS", "1000");
        ended(&mut command)
    };
    let (status, said) = job(&["build"], "");
    assert_eq!(status, Some(0), "{said}");
    let built = || fs::metadata(out.join("profile/target/release/profile-slow")).unwrap().modified().unwrap();
    let before = built();
    let (status, said) = job(&[], &out.join("nodes-1x2/samples.txt.partial").display().to_string());
    assert_eq!(status, Some(3), "{said}");
    assert_eq!(built(), before, "it was built before");
    for again in [false, true] {
        let (status, said) = job(&[], "");
        assert!(status == Some(0) && said.contains("going on with"), "{again}: {said}");
        let models = fs::read_to_string(out.join("models.toml")).unwrap();
        assert!(models.contains("Slow"), "{models}");
    }
    let all = samples(&folder, "samples.txt");
    assert_eq!(all.models[0].rows.len(), 50);
    // Three jobs with 2 processes each and two with 3.
    assert_eq!(all.launches.len(), 4);
    let models = fs::read_to_string(out.join("models.toml")).unwrap();
    assert!(models.contains("launches times differ by"), "{models}");
}

/// As Slurm's, the launcher does not pass the first Ctrl-C on.
#[test]
#[ignore = "needs an MPI on this machine, and builds rsmpi: cargo test -p specc --test measured -- --ignored"]
fn a_launcher_that_keeps_a_signal_to_itself_does_not_delay_the_end_under_mpirun() {
    if !is_there() {
        return;
    }
    let deaf = SRUN.replace("START", "trap 'echo srun: interrupt >&2' INT\nmpirun");
    let folder = folder("deaf", "srun", &deaf);
    let arguments = ["--on", "mpi", "--nodes", "2", "--budget", "60s", "--launcher", "srun -n {n}"];
    let mut command = specc(&folder, "slow.spec", &arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let partial = folder.join("out/samples.txt.partial");
    let rows = |text: String| text.lines().filter(|line| line.contains("at=")).count();
    while fs::read_to_string(&partial).map_or(0, rows) < 3 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("--resume") && samples(&folder, "samples.txt.partial").models[0].rows.len() >= 3);
}
