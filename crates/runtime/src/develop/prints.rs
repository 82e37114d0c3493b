//! Queued printing: text may be queued anywhere, and is written when its node has time.

use std::fmt::{Display, Write as _};
use std::io::{self, Write as _};

/// The most bytes that are queued; further text is lost, and counted.
const ROOM: usize = 64 << 10;

/// A node's queue of text; allocates at first use, and never more than [`ROOM`].
#[derive(Debug, Default)]
pub(crate) struct Prints {
    text: String,
    messages: usize,
    lost: usize,
}

impl Prints {
    /// Queues a message of one or several lines; returns false if there was no room for it.
    pub(crate) fn push(&mut self, message: impl Display) -> bool {
        self.text.reserve_exact(ROOM - self.text.len());
        let before = self.text.len();
        let written = writeln!(Bounded(&mut self.text), "{message}");
        if written.is_err() {
            self.text.truncate(before);
            self.lost += 1;
        } else {
            self.messages += 1;
        }
        written.is_ok()
    }

    /// Writes the queue to standard output in one piece; returns the number of messages.
    pub(crate) fn flush(&mut self, rank: usize) -> usize {
        let messages = std::mem::take(&mut self.messages);
        let lost = std::mem::take(&mut self.lost);
        if messages + lost > 0 {
            let mut out = io::stdout().lock();
            // Ignored: the reader has closed the pipe.
            let _ = out.write_all(self.text.as_bytes());
            if lost > 0 {
                let _ = writeln!(
                    out,
                    "(node {rank}: {lost} more messages did not fit into the queue of {ROOM} bytes)"
                );
            }
            let _ = out.flush();
            self.text.clear();
        }
        messages
    }
}

/// Refuses text that would make the string reallocate.
struct Bounded<'a>(&'a mut String);

impl std::fmt::Write for Bounded<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > ROOM {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_nothing_grows() {
        let mut prints = Prints::default();
        assert!(prints.push("first"));
        let room = prints.text.capacity();
        let mut pushed = 1;
        while prints.push(format_args!("message {pushed}")) {
            pushed += 1;
        }
        assert!(prints.push("x") || prints.lost == 2);
        assert!(!prints.push("y".repeat(100)));
        assert_eq!(prints.text.capacity(), room);
        assert!(prints.text.len() > ROOM - 20 && prints.text.ends_with('\n'));
        assert_eq!(prints.text.lines().next(), Some("first"));
        assert_eq!(prints.text.lines().count(), prints.messages);
    }
}
