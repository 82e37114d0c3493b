//! Parsing of logs.

use std::fs;
use std::io;
use std::path::Path;

use super::{ENDING, Entry, Head, Log, OLD_ENDING, What};
use crate::node_files::{FolderError, LineError, Lines, node_file, nodes_with_files};

impl Log {
    /// Reads a log. An incomplete last line is ignored.
    ///
    /// # Errors
    /// The first bad line; `file` is only for the message.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Self, LineError> {
        let lines = Lines::of(bytes, file)?;
        let mut head = None;
        let mut entries = Vec::new();
        lines.each(file, |line, first| {
            if first {
                head = Some(Head::parse(line, "strata-log")?);
            } else {
                entries.push(entry(line)?);
            }
            Ok(())
        })?;
        // The first line has been read: `each` refuses a file without one.
        let head = head.unwrap_or(Head { node: 0, nodes: 1, began: 0 });
        Ok(Self { head, entries, torn: lines.torn })
    }

    /// Reads the logs of all nodes in `folder`, in rank order, each with the entries of its older
    /// file. A file without a complete line is treated as missing.
    ///
    /// # Errors
    /// The first fault of the folder, a file or a line.
    pub fn read_folder(folder: &Path) -> Result<Vec<Self>, FolderError> {
        let mut logs: Vec<Self> = Vec::new();
        for node in nodes_with_files(folder, ENDING)? {
            let Some(mut log) = read(&node_file(folder, node, ENDING))? else { continue };
            if log.head.node != node {
                let message = format!("node-{node:04}.log says that it is of node {}", log.head.node);
                return Err(FolderError::Together { path: folder.to_owned(), message });
            }
            if let Some(first) = logs.first()
                && first.head.nodes != log.head.nodes
            {
                let (one, other) = (first.head, log.head);
                let message = format!(
                    "node {} belongs to a job of {} nodes and node {} to one of {}: these are the logs of several jobs",
                    one.node, one.nodes, other.node, other.nodes
                );
                return Err(FolderError::Together { path: folder.to_owned(), message });
            }
            let old = node_file(folder, node, OLD_ENDING);
            // It belongs to an earlier job if the node's clock began at another time.
            if let Some(mut old) = read(&old)?.filter(|old| old.head == log.head) {
                old.entries.append(&mut log.entries);
                log.entries = old.entries;
            }
            logs.push(log);
        }
        if logs.is_empty() {
            return Err(FolderError::Empty {
                path: folder.to_owned(),
                ending: ENDING,
                variable: "STRATA_LOG",
            });
        }
        Ok(logs)
    }
}

/// Reads one file; `None` if it is not there or has no complete line.
fn read(path: &Path) -> Result<Option<Log>, FolderError> {
    match fs::read(path) {
        Ok(bytes) if !bytes.contains(&b'\n') => Ok(None),
        Ok(bytes) => Ok(Some(Log::parse(&bytes, &path.display().to_string())?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FolderError::Io { path: path.to_owned(), error }),
    }
}

fn entry(line: &str) -> Result<Entry, String> {
    let (at, rest) = line.split_once(' ').ok_or_else(|| format!("expected `TIME WORD …`, not `{line}`"))?;
    let at = at.parse().map_err(|_| format!("`{at}` is not a time in ns"))?;
    let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let alone = |what| {
        if rest.is_empty() {
            Ok(what)
        } else {
            Err(format!("nothing may follow `{word}`, but `{rest}` does"))
        }
    };
    let what = match word {
        "enter" => numbered(rest).map(|(number, call)| What::Enter { number, call })?,
        "start" => numbered(rest).map(|(number, call)| What::Start { number, call })?,
        "leave" => What::Leave { number: number(rest)? },
        "wait" => What::Wait(unescape(rest)?),
        "say" => What::Say(unescape(rest)?),
        "fail" => What::Fail(unescape(rest)?),
        "go" => alone(What::Go)?,
        "stop" => alone(What::Stop)?,
        "end" => alone(What::End)?,
        _ => return Err(format!("there is no entry `{word}`")),
    };
    Ok(Entry { at, what })
}

fn numbered(text: &str) -> Result<(u64, String), String> {
    let (digits, call) =
        text.split_once(' ').ok_or_else(|| format!("expected a number and a call, not `{text}`"))?;
    Ok((number(digits)?, unescape(call)?))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not the number of a collective"))
}

/// Reverses `char::escape_default` for control characters and backslashes.
fn unescape(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let mut characters = after.chars();
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            Some('\\') => plain.push('\\'),
            Some('u') => {
                let (digits, after) = characters
                    .as_str()
                    .strip_prefix('{')
                    .and_then(|digits| digits.split_once('}'))
                    .ok_or_else(|| format!("`\\u` must be `\\u{{…}}`, in `{text}`"))?;
                let character = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                plain.push(character.ok_or_else(|| format!("there is no character `\\u{{{digits}}}`"))?);
                rest = after;
                continue;
            }
            _ => return Err(format!("`\\` must be followed by n, r, t, u or \\, in `{text}`")),
        }
        rest = characters.as_str();
    }
    plain.push_str(rest);
    Ok(plain)
}
