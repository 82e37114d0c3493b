//! The rivals: Devito and PETSc, which answer `SIDE ITERATIONS` with the seconds of so many
//! iterations on a square of `SIDE` points.

use std::path::Path;
use std::process::Command;

use strata_benches::peer::Peer;
use strata_benches::tool::write;

/// Devito on so many threads; an error says why it is absent.
pub(crate) fn devito(folder: &Path, threads: usize) -> Result<Peer, String> {
    let program = folder.join("devito_peer.py");
    write(&program, include_str!("devito_peer.py"))?;
    let mut python = Command::new("python3");
    python.arg(program).env("OMP_NUM_THREADS", threads.to_string());
    Peer::start(vec![python])
}

/// PETSc on so many processes; an error says why it is absent.
pub(crate) fn petsc(folder: &Path, processes: usize) -> Result<Peer, String> {
    let (source, program) = (folder.join("petsc_peer.c"), folder.join("petsc_peer"));
    write(&source, include_str!("petsc_peer.c"))?;
    let flags = ["petsc", "PETSc"].iter().find_map(|name| {
        let output = Command::new("pkg-config").args(["--cflags", "--libs", name]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    });
    let flags = flags.ok_or("pkg-config does not know it (Debian: petsc-dev)")?;
    let compiled = Command::new("mpicc")
        .args(["-O3", "-march=native", "-o"])
        .args([&program, &source])
        .args(flags.split_whitespace())
        .output()
        .map_err(|e| format!("cannot start mpicc: {e}"))?;
    if !compiled.status.success() {
        return Err(format!("mpicc: {}", String::from_utf8_lossy(&compiled.stderr).trim()));
    }
    let mut job = Command::new("mpirun");
    job.args(["-n", &processes.to_string()])
        .arg(program)
        .envs(strata_benches::MPI_ENVIRONMENT.iter().copied());
    Peer::start(vec![job])
}
