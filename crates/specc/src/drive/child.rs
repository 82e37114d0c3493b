//! A program under our eyes: its lines as they come, and Ctrl-C passed on to it in order.
//!
//! The child gets a process group of its own, so that a Ctrl-C at the terminal reaches only us; we
//! pass on one signal. A second Ctrl-C kills the child, and so do some seconds in which it has not
//! ended. Were it to get two signals, it would take them for two Ctrl-C.
//!
//! We hold the other end of its standard input, never write to it, and let go when it has ended. A
//! profiling program ends with its input, so that it does not outlive us, however we end. Cargo and
//! its compilers do not, so their group has a guard: a shell that ends the group with its input.
//! (The system could do that itself by `PR_SET_PDEATHSIG`, but to set it between fork and exec
//! takes unsafe code, and it would not reach the compilers.)

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::interrupt::Interrupt;

/// How long a child has for its end after a signal; a profiling program takes 2 s of it at most.
const PATIENCE: Duration = Duration::from_secs(4);

/// A line of a child's output.
pub(super) enum Line {
    Out(String),
    Err(String),
}

/// How it ended.
pub(super) struct End {
    pub(super) status: ExitStatus,
    /// We were asked to stop while it ran.
    pub(super) interrupted: bool,
    /// How long it ran.
    pub(super) time: Duration,
}

/// The processes that end when `specc` is interrupted or killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The child, which ends its own children.
    Child,
    /// The child and all its descendants.
    Group,
}

/// Runs a command, giving each of its lines to `tell`.
pub(super) fn run(
    command: &mut Command,
    reach: Reach,
    interrupt: Interrupt,
    mut tell: impl FnMut(Line),
) -> std::io::Result<End> {
    // Before the child, so that there is no moment at which it is not guarded.
    let guard = if reach == Reach::Group { Guard::start() } else { None };
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, guard.as_ref().map_or(0, Guard::group));
    let before = interrupt.count();
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Held until the child has ended: `wait` would close it before.
    let mut input = child.stdin.take();
    let of_child = i32::try_from(child.id()).unwrap_or(0);
    let group = -guard.as_ref().map_or(of_child, Guard::group);
    let (sender, lines) = channel();
    if let Some(out) = child.stdout.take() {
        forward(out, sender.clone(), Line::Out);
    }
    if let Some(err) = child.stderr.take() {
        forward(err, sender.clone(), Line::Err);
    }
    drop(sender);
    let mut passed = 0;
    let mut asked_at = None;
    loop {
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => tell(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let asked = interrupt.count() - before;
        if asked > passed {
            passed = asked;
            // A kill goes to the whole group.
            match (asked, reach) {
                (1, Reach::Child) => signal(of_child, Signal::SIGINT),
                (1, Reach::Group) => signal(group, Signal::SIGINT),
                _ => signal(group, Signal::SIGKILL),
            }
        }
        // What the child has started may outlive it, or it may not pass the signal on, as `srun`
        // does not at the first one: the end of its input then ends the program.
        if passed > 0 {
            let asked_at = *asked_at.get_or_insert_with(Instant::now);
            let is_late = asked_at.elapsed() > PATIENCE;
            if is_late || child.try_wait()?.is_some() {
                input = None;
            }
            // Others need not end with their input, and may ignore the signal.
            if is_late && reach == Reach::Group && passed == 1 {
                passed += 1;
                signal(group, Signal::SIGKILL);
            }
        }
        // A grandchild may hold the pipes open after the child has gone.
        if passed > 1 && child.try_wait()?.is_some() {
            break;
        }
    }
    let status = child.wait()?;
    let time = start.elapsed();
    drop(input);
    Ok(End { status, interrupted: interrupt.count() > before, time })
}

/// Signals a process, or the group of the negative number.
fn signal(target: i32, signal: Signal) {
    // 0 would be our own group.
    if target != 0 {
        // The process may have ended already; then the signal has no effect.
        let _gone = kill(Pid::from_raw(target), signal);
    }
}

/// A shell that leads the group of a child. It waits for the end of its input, which comes when
/// this process ends, and then kills the group; it is ended before that where the child ends by
/// itself.
struct Guard(Child);

impl Guard {
    /// `None` where there is no shell: then nothing is guarded.
    #[cfg(unix)]
    fn start() -> Option<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read -r line; kill -KILL 0"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        shell.spawn().ok().map(Self)
    }

    #[cfg(not(unix))]
    fn start() -> Option<Self> {
        None
    }

    /// The number of the group.
    fn group(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap_or(0)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Killed before `wait` closes its input, so that it does nothing; a signal to the group may
        // have ended it before.
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

fn forward(from: impl Read + Send + 'static, to: Sender<Line>, kind: fn(String) -> Line) {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            if to.send(kind(text)).is_err() {
                return;
            }
            line.clear();
        }
    });
}
