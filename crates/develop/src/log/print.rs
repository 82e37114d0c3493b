//! Writing of log entries.

use std::fmt::{self, Display, Write};

use super::{Entry, Head, Log, What};

/// Maximum bytes of a text; longer ones are cut with `…`, so that lines have a bounded length.
pub const MAX_TEXT: usize = 1000;

impl<T: Display> Entry<T> {
    /// Writes the line, with its end.
    ///
    /// # Errors
    /// If writing to the output fails.
    pub fn print(&self, out: &mut impl Write) -> fmt::Result {
        write!(out, "{} ", self.at)?;
        match &self.what {
            What::Enter { number, call } => text(out, format_args!("enter {number} "), call),
            What::Start { number, call } => text(out, format_args!("start {number} "), call),
            What::Leave { number } => writeln!(out, "leave {number}"),
            What::Wait(call) => text(out, format_args!("wait "), call),
            What::Go => out.write_str("go\n"),
            What::Say(message) => text(out, format_args!("say "), message),
            What::Fail(message) => text(out, format_args!("fail "), message),
            What::Stop => out.write_str("stop\n"),
            What::End => out.write_str("end\n"),
        }
    }
}

impl Head {
    /// Writes the first line of a log.
    ///
    /// # Errors
    /// If writing to the output fails.
    pub fn print_log(&self, out: &mut impl Write) -> fmt::Result {
        self.print(out, "strata-log")
    }
}

impl Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.print_log(f)?;
        self.entries.iter().try_for_each(|entry| entry.print(f))
    }
}

fn text(out: &mut impl Write, before: fmt::Arguments<'_>, text: impl Display) -> fmt::Result {
    out.write_fmt(before)?;
    let mut escape = Escape { out, left: MAX_TEXT, cut: false };
    write!(escape, "{text}")?;
    out.write_char('\n')
}

/// Writes text within one line and within [`MAX_TEXT`].
struct Escape<'a, W> {
    out: &'a mut W,
    left: usize,
    cut: bool,
}

impl<W: Write> Write for Escape<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if self.cut {
                break;
            }
            let Some(left) = self.left.checked_sub(character.len_utf8()) else {
                self.cut = true;
                return self.out.write_char('…');
            };
            self.left = left;
            match character {
                '\\' => self.out.write_str("\\\\")?,
                // Tabs are escaped too: a viewer may expand them.
                _ if character.is_control() => write!(self.out, "{}", character.escape_default())?,
                _ => self.out.write_char(character)?,
            }
        }
        Ok(())
    }
}
