//! `examples/scaling.rs`, a sort and a solver, on 1 to 64 processes of a fat tree that SimGrid's
//! SMPI simulates, beside the law of each.
//!
//! Computing is charged with the processor time that it takes here, where 64 processes share the
//! caches. Without it the time is that of messages alone, the same on every host. A law has three
//! machine constants, none of which is fitted to it: the time of one process, and a short and a
//! long message of MPI alone between the first and the last process.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use specc::drive::{On, OwnProgram, smpi};
use strata_benches::columns;

use super::Growth;

/// The quantity that is varied; the cost of these rows is the time over the law's.
pub(crate) const OVER: &str = "processes on SimGrid's fat tree";

/// The tree has 16 hosts on a switch, and half of their bandwidth upwards.
const PLATFORM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/smpi/tree.xml");
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/strata/Cargo.toml");
const ON_A_SWITCH: f64 = 16.0;

/// As in the program.
const KEY_BYTES: f64 = 8.0 * (1_u64 << 22) as f64;
const SIDE: f64 = 1024.0;

const PROCESSES: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// As those of `specc platform run`, but that a time here is a time there.
const SETTINGS: [&str; 8] = [
    "--cfg=smpi/coll-selector:ompi",
    "--cfg=smpi/grow-injected-times:no",
    "--cfg=smpi/host-speed:1Gf",
    "--cfg=smpi/iprobe:1e-7",
    "--cfg=smpi/privatization:dlopen",
    "--cfg=smpi/test:1e-7",
    "--cfg=smpi/wtime:0",
    "--cfg=surf/precision:1e-9",
];

/// What the program prints, in seconds: a message of 8 B, one of 1 MiB, the sort, a step.
type Times = [f64; 4];

/// A program: its name, its place in [`Times`], and a setting.
const PROGRAMS: [(&str, usize, Option<&str>); 3] = [
    ("sort of 4 Mi keys, as chosen", 2, None),
    ("the same by sample sort", 2, Some("sort=sample:32")),
    ("step of Jacobi's method, 1024² points", 3, None),
];

/// The rows, if SimGrid is installed.
pub(crate) fn rows() -> Result<Vec<Growth>, String> {
    if !smpi::is_installed() {
        println!("Without SimGrid, no processes on its fat tree: cargo xtask setup --smpi\n");
        return Ok(Vec::new());
    }
    let program = OwnProgram {
        manifest: Some(MANIFEST.into()),
        name: Some("scaling".to_owned()),
        example: true,
        features: ["mpi", "sort", "stencil"].map(str::to_owned).into(),
    };
    let program =
        program.build(&On::Smpi { platform: PLATFORM.into() }).map_err(|error| error.to_string())?;
    columns("on a fat tree | processes | time, ms | law, ms | ratio | messages, µs | law, µs | ratio");
    let mut rows = Vec::new();
    for (what, which, pin) in PROGRAMS {
        let mut points = Vec::new();
        let alone = run(&program.executable, 1, true, pin)?[which];
        for processes in PROCESSES {
            let run = |computing| run(&program.executable, processes, computing, pin);
            let (time, messages) = (run(true)?[which], run(false)?);
            let p = processes as f64;
            let law = law(which, p, &messages);
            let (messages, expected) = (messages[which], alone / p + law);
            let ratios = [time / expected, messages / law];
            print!("| {what} | {processes} | {:.3} | {:.3} | {:.2} ", time * 1e3, expected * 1e3, ratios[0]);
            println!("| {:.1} | {:.1} | {:.2} |", messages * 1e6, law * 1e6, ratios[1]);
            points.push((p, time / expected));
        }
        rows.push(Growth { what, over: OVER, law: 0.0, points });
    }
    println!();
    Ok(rows)
}

/// The time of messages. Sort: what a process sends to others, by its link, or what those on a
/// switch send to other switches, by the links upwards; and a message for each halving of the
/// processes. Solver: a message and the bytes of four sides; and a message for each halving.
fn law(which: usize, p: f64, [short, long, ..]: &Times) -> f64 {
    let byte = (long - short) / (1_u64 << 20) as f64;
    let bytes = if which == 2 {
        let away = (1.0 - ON_A_SWITCH / p).max(0.0) * 2.0;
        KEY_BYTES / p * (1.0 - 1.0 / p).max(away)
    } else {
        // Columns of the grid of processes are at most its rows.
        let across = 2_f64.powf((p.log2() / 2.0).floor());
        8.0 * 2.0 * (SIDE / across + SIDE / (p / across))
    };
    let sides = if which == 2 { 0.0 } else { *short };
    bytes * byte + sides + p.log2() * short
}

/// What so many processes print.
fn run(program: &Path, processes: usize, computing: bool, pin: Option<&str>) -> Result<Times, String> {
    let mut hosts = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let names: String = (0..processes).map(|host| format!("n{host}\n")).collect();
    hosts.write_all(names.as_bytes()).map_err(|error| error.to_string())?;
    let mut command = Command::new("smpirun");
    command.args(["-np", &processes.to_string(), "-platform", PLATFORM, "-hostfile"]).arg(hosts.path());
    command.args(SETTINGS);
    command.arg(format!("--cfg=smpi/simulate-computation:{}", if computing { "yes" } else { "no" }));
    command.arg(program).env_remove("STRATA_ON");
    if let Some(pin) = pin {
        command.env("STRATA_PIN", pin);
    }
    let output = command.output().map_err(|error| format!("cannot start smpirun: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let times = text.trim().split_once(' ').and_then(|(_, times)| serde_json::from_str(times).ok());
    times.filter(|_| output.status.success()).ok_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{processes} processes on SimGrid ended with {}: {text}{errors}", output.status)
    })
}
