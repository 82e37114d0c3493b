//! Starts a test of the same program again, as a process whose standard error cannot be written.

use std::io::{PipeReader, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A process that takes as long has hung.
const LIMIT: Duration = Duration::from_secs(60);

/// What standard error is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stderr {
    /// A pipe that is read.
    Read,
    /// A pipe whose reader has gone: a write fails with EPIPE.
    Closed,
    /// A file on a full disk: a write fails with ENOSPC.
    FullDisk,
    /// A full pipe that nobody reads: a write waits.
    Stuck,
}

/// Where no message can be written.
pub(crate) const UNWRITABLE: [Stderr; 2] = [Stderr::Closed, Stderr::FullDisk];

/// How a process ended.
pub(crate) struct End {
    /// `None`: it had to be killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl End {
    /// Panics unless the process succeeded and printed `result`.
    pub(crate) fn is(&self, result: &str, how: Stderr) {
        let succeeded = self.status.is_some_and(|status| status.success());
        assert!(succeeded && self.out.contains(result), "{how:?}: {:?}\n{}", self.status, self.out);
    }
}

/// Runs the ignored test `name` of this program with these settings; `None` where there is no such
/// standard error.
pub(crate) fn run(name: &str, settings: &[(&str, &str)], how: Stderr) -> Option<End> {
    // Held until the process has ended: a pipe without a reader is closed.
    let mut reader = None;
    let stderr = match how {
        Stderr::FullDisk => match std::fs::File::options().write(true).open("/dev/full") {
            Ok(full) => Stdio::from(full),
            Err(error) => {
                println!("skipped: /dev/full: {error}");
                return None;
            }
        },
        Stderr::Read | Stderr::Closed | Stderr::Stuck => {
            let (read, write) = std::io::pipe().unwrap();
            if how == Stderr::Stuck {
                fill(write.try_clone().unwrap());
            }
            reader = (how != Stderr::Closed).then_some(read);
            Stdio::from(write)
        }
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored", "--nocapture"]).envs(settings.iter().copied());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
    // It holds the other end of the pipe.
    drop(command);
    let out = std::thread::spawn({
        let out = child.stdout.take().unwrap();
        move || std::io::read_to_string(out).unwrap()
    });
    let read = |reader: PipeReader| std::thread::spawn(move || std::io::read_to_string(reader).unwrap());
    let err = reader.take_if(|_| how == Stderr::Read).map(read);
    let began = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            None if began.elapsed() < LIMIT => sleep(Duration::from_millis(10)),
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            status => break status,
        }
    };
    let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap();
    Some(End { status, out: text(out), err: err.map(text).unwrap_or_default() })
}

/// Fills a pipe; ends in a write that waits until the reader has gone.
fn fill(mut pipe: impl Write + Send + 'static) {
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    std::thread::spawn(move || {
        while pipe.write_all(&[b'.'; 512]).is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut before = 0;
    loop {
        sleep(Duration::from_millis(200));
        match written.load(Ordering::Relaxed) {
            now if now == before && now > 0 => return,
            now => before = now,
        }
    }
}
