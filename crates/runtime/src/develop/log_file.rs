//! A node's log file.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use strata_develop::log::{ENDING, Entry, Head, OLD_ENDING, What};
use strata_develop::{node_file, nodes_with_files};

/// The size at which a file is renamed, replacing the previous one: a node's log takes at most
/// twice this size.
const MOST_BYTES: usize = 1 << 20;

/// A node's log. Each entry is one unbuffered write, so that written entries survive `kill -9`.
pub(crate) struct LogFile {
    head: Head,
    folder: PathBuf,
    file: File,
    bytes: usize,
    line: String,
}

impl LogFile {
    /// Begins a node's log, replacing that of an earlier job.
    pub(crate) fn create(folder: &Path, head: Head) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        forget_other_nodes(folder, head, ENDING)?;
        match fs::remove_file(node_file(folder, head.node, OLD_ENDING)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = open(folder, head.node)?;
        let mut log =
            Self { head, folder: folder.to_owned(), file, bytes: 0, line: String::with_capacity(4096) };
        log.begin()?;
        Ok(log)
    }

    /// Writes an entry. An error (for example a full disk) does not end the program.
    pub(crate) fn write<T: Display>(&mut self, at: u64, what: What<T>) {
        if self.bytes > MOST_BYTES {
            self.put_aside();
        }
        self.line.clear();
        // Writing to a string does not fail.
        let _ = Entry { at, what }.print(&mut self.line);
        self.append();
    }

    fn begin(&mut self) -> io::Result<()> {
        self.line.clear();
        let _ = self.head.print_log(&mut self.line);
        self.bytes = self.line.len();
        self.file.write_all(self.line.as_bytes())
    }

    fn append(&mut self) {
        if self.file.write_all(self.line.as_bytes()).is_ok() {
            self.bytes += self.line.len();
        }
    }

    fn put_aside(&mut self) {
        let current = node_file(&self.folder, self.head.node, ENDING);
        let renamed = fs::rename(&current, node_file(&self.folder, self.head.node, OLD_ENDING));
        if let (Ok(()), Ok(file)) = (renamed, open(&self.folder, self.head.node)) {
            self.file = file;
            let _ = self.begin();
        }
        // Otherwise the file grows for another round before the next attempt.
        self.bytes = self.bytes.min(MOST_BYTES / 2);
    }
}

fn open(folder: &Path, node: usize) -> io::Result<File> {
    OpenOptions::new().create(true).write(true).truncate(true).open(node_file(folder, node, ENDING))
}

/// On node 0, removes the files of nodes of an earlier job that this job does not have.
pub(super) fn forget_other_nodes(folder: &Path, head: Head, ending: &str) -> io::Result<()> {
    if head.node != 0 {
        return Ok(());
    }
    for node in nodes_with_files(folder, ending).map_err(io::Error::other)? {
        if node >= head.nodes {
            fs::remove_file(node_file(folder, node, ending))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_develop::log::Log;

    #[test]
    fn a_log_is_bounded_and_its_end_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let head = Head { node: 0, nodes: 1, began: 7 };
        fs::write(node_file(folder.path(), 3, ENDING), "of an earlier job").unwrap();
        let mut log = LogFile::create(folder.path(), head).unwrap();
        let last = 100_000;
        for i in 0..=last {
            log.write(i, What::Say(format_args!("message {i} of a program that talks a lot")));
        }
        let total: u64 =
            fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum();
        assert!(total < 2 * MOST_BYTES as u64 + 4096, "{total}");
        let logs = Log::read_folder(folder.path()).unwrap();
        assert_eq!(logs.len(), 1);
        let times: Vec<u64> = logs[0].entries.iter().map(|entry| entry.at).collect();
        assert!(times.len() > 10_000 && times.is_sorted_by(|a, b| a + 1 == *b));
        assert_eq!(times.last(), Some(&last));
    }
}
