//! A program under our eyes: its lines as they come, and Ctrl-C passed on to it in order.
//!
//! The child gets a process group of its own, so that a Ctrl-C at the terminal reaches only us; we
//! pass on one signal, and kill only when asked twice. Otherwise a child could get two and take the
//! second for impatience.
//!
//! We hold the other end of its standard input, never write to it, and let go when it has ended. A
//! profiling program ends with its input, so that it does not outlive us, however we end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::interrupt::Interrupt;

/// What a child says.
pub(super) enum Line {
    Out(String),
    Err(String),
}

/// How it ended.
pub(super) struct End {
    pub(super) status: ExitStatus,
    /// We were asked to stop while it ran.
    pub(super) interrupted: bool,
}

/// Runs a command, giving each of its lines to `tell`.
pub(super) fn run(
    command: &mut Command,
    interrupt: Interrupt,
    mut tell: impl FnMut(Line),
) -> std::io::Result<End> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let before = interrupt.count();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Held until the child has ended: `wait` would close it before.
    let input = child.stdin.take();
    let (sender, lines) = channel();
    if let Some(out) = child.stdout.take() {
        forward(out, sender.clone(), Line::Out);
    }
    if let Some(err) = child.stderr.take() {
        forward(err, sender.clone(), Line::Err);
    }
    drop(sender);
    let mut passed = 0;
    loop {
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => tell(line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let asked = interrupt.count() - before;
        if asked > passed {
            passed = asked;
            signal(&child, if asked == 1 { Signal::SIGINT } else { Signal::SIGKILL });
        }
        // A grandchild may hold the pipes open after the child has gone.
        if passed > 1 && child.try_wait()?.is_some() {
            break;
        }
    }
    let status = child.wait()?;
    drop(input);
    Ok(End { status, interrupted: interrupt.count() > before })
}

/// Signals the child; a kill goes to its whole group.
fn signal(child: &Child, signal: Signal) {
    let Ok(id) = i32::try_from(child.id()) else { return };
    let target = if signal == Signal::SIGKILL { -id } else { id };
    // It may have ended in the meantime; then there is nobody to tell.
    let _gone = kill(Pid::from_raw(target), signal);
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
