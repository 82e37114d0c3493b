//! Files that are either whole or absent, read whole or not at all, and locked.
//!
//! A calibration that is interrupted, or a disk that fills up, must not leave half a model set behind
//! under its final name. What a program finds in a folder that others can write to may be a pipe, a
//! device or a link: none of them may make it wait, fill its memory, or change another file.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Reads a whole file, through links, of at most `most` bytes.
///
/// # Errors
/// The path is a pipe, a device or a folder; the file is longer; errors of the file system.
pub fn read_file(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    let too_long = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {most} bytes"));
    let suits = |file: &fs::Metadata| match file.len() {
        _ if !file.is_file() => Err(not_regular()),
        length if length > most => Err(too_long()),
        _ => Ok(()),
    };
    // Before it is opened, because opening a pipe waits for its writer.
    suits(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    suits(&file.metadata()?)?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")
}

/// The lock of a file, which is released when it is dropped, or by the operating system when the
/// process ends. The file stays, which does no harm.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// Takes the lock of the file at `path`, which is made if it is missing; `None` if another
    /// process has it. On file systems without locks every process gets it.
    ///
    /// # Errors
    /// The path is a link, a pipe, a device or a folder; errors of the file system.
    pub fn try_take(path: impl AsRef<Path>) -> io::Result<Option<Self>> {
        let file = open_own(path.as_ref())?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(_)) => Ok(Some(Self { _file: None })),
        }
    }
}

/// Opens a file that is this program's own to write, or makes it. Its content stays.
fn open_own(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true);
    // Follows no link.
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let there = fs::symlink_metadata(path)?;
    if !there.is_file() {
        return Err(not_regular());
    }
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let opened = file.metadata()?;
        if (opened.dev(), opened.ino()) != (there.dev(), there.ino()) {
            return Err(not_regular());
        }
    }
    Ok(file)
}

/// Writes a temporary file beside the target, and renames it when all of it is on the disk.
///
/// Readers see the old content or the new one, never a part. On failure the temporary file is
/// removed, and so are those that killed processes have left in the folder. A symbolic link stays
/// one: the file that it names is replaced. A pipe, a terminal or `/dev/null` is written to and never
/// replaced.
///
/// # Errors
///
/// Errors of `write` or of the file system, with the path in front and the same kind
/// (`StorageFull`, `PermissionDenied`, …).
pub fn write_atomically<F>(path: impl AsRef<Path>, write: F) -> io::Result<()>
where
    F: FnOnce(&mut dyn Write) -> io::Result<()>,
{
    let path = path.as_ref();
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()));
    // Fails if the file does not exist, and for a link to a missing file.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&real).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return write_through(&real, write).map_err(named);
    }
    if let Some(folder) = real.parent() {
        remove_abandoned(folder);
    }
    let (temporary, file) = create_beside(&real).map_err(named)?;
    let result = fill(file, write).and_then(|()| fs::rename(&temporary, &real));
    if result.is_err() {
        // The first error is reported: a failure to remove the file adds nothing to it.
        let _ = fs::remove_file(&temporary);
    }
    result.map_err(named)
}

/// Writes to a device or a pipe, which a rename would replace by a file.
fn write_through(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut device = BufWriter::new(File::options().write(true).open(path)?);
    write(&mut device)?;
    device.flush()
}

fn fill(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// A new file in the same folder, so that the rename stays inside one file system.
///
/// The process number alone does not make names unique: in containers that share a folder,
/// processes may have the same number, and a killed process leaves its file. A name that exists is
/// therefore skipped, and only a file created here is renamed or removed.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is not the name of a file"))?;
    let mut tried = 0;
    loop {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        hidden.push(format!(".{}-{count}{TEMPORARY}", std::process::id()));
        let temporary = path.with_file_name(hidden);
        match File::create_new(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < MAX_TAKEN => tried += 1,
            Err(error) => return Err(error),
            Ok(file) => {
                // A sign for others that it is in use; without locks nothing is removed.
                let _ = file.try_lock();
                return Ok((temporary, file));
            }
        }
    }
}

/// The end of the names of temporary files.
const TEMPORARY: &str = ".strata-tmp";

/// The age at which a temporary file that nobody has locked is abandoned.
const ABANDONED: Duration = Duration::from_secs(60);

/// Removes temporary files whose processes have ended. Failures are ignored: the files are only in
/// the way of those who look at the folder.
fn remove_abandoned(folder: &Path) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_str().is_some_and(|name| name.ends_with(TEMPORARY));
        // Of the entry itself, not of what a link names.
        let old = || {
            let file = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some(file.modified().ok()?.elapsed().ok()? >= ABANDONED)
        };
        if is_one && old() == Some(true) {
            let free = open_own(&entry.path()).is_ok_and(|file| file.try_lock().is_ok());
            if free {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// With so many names taken the folder itself is at fault.
const MAX_TAKEN: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("strata-model-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_whole_text_or_the_old_one() {
        let folder = folder("atomic");
        let path = folder.join("models.toml");
        write_atomically(&path, |w| w.write_all(b"first")).unwrap();
        let failed = write_atomically(&path, |w| {
            w.write_all(b"seco")?;
            Err(io::Error::new(io::ErrorKind::StorageFull, "no space"))
        });
        let error = failed.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("models.toml"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write_atomically(&path, |w| w.write_all(b"second")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a temporary file was left");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_of_others_are_neither_in_the_way_nor_touched() {
        let folder = folder("others");
        let path = folder.join("models.toml");
        // Files that a killed process of the same number has left, or another container writes.
        let others: Vec<PathBuf> = (0..200)
            .map(|count| folder.join(format!(".models.toml.{}-{count}{TEMPORARY}", std::process::id())))
            .collect();
        others.iter().for_each(|other| fs::write(other, "another's").unwrap());
        write_atomically(&path, |w| w.write_all(b"ours")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        write_atomically(&path, |_| Err(io::Error::other("no"))).unwrap_err();
        assert!(others.iter().all(|other| fs::read(other).unwrap() == b"another's"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 201, "a temporary file was left");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn temporary_files_of_ended_processes_are_removed_and_no_others() {
        let folder = folder("abandoned");
        let hour_old = |name: &str| {
            let path = folder.join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(std::time::SystemTime::now() - Duration::from_secs(3600)).unwrap();
            (path, file)
        };
        let names =
            [".a.toml.1-0.strata-tmp", ".b.txt.77-3.strata-tmp", ".in-use.1-1.strata-tmp", ".vim.1-0.tmp"];
        let files = names.map(hour_old);
        files[2].1.lock().unwrap();
        let young = folder.join(".young.1-0.strata-tmp");
        fs::write(&young, "just begun").unwrap();
        write_atomically(folder.join("c.toml"), |out| out.write_all(b"c")).unwrap();
        assert_eq!(files.map(|(path, _)| path.exists()), [false, false, true, true]);
        assert!(young.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_lock_is_exclusive_and_released_and_empties_no_file() {
        let folder = folder("lock");
        let (path, other) = (folder.join("lock"), folder.join("other"));
        fs::write(&path, "kept").unwrap();
        let first = Lock::try_take(&path).unwrap();
        assert!(first.is_some() && Lock::try_take(&path).unwrap().is_none());
        drop(first);
        assert!(Lock::try_take(&path).unwrap().is_some() && Lock::try_take(&other).unwrap().is_some());
        assert_eq!((fs::read(&path).unwrap(), fs::read(&other).unwrap()), (b"kept".to_vec(), Vec::new()));
        assert!(Lock::try_take(&folder).is_err() && Lock::try_take(folder.join("no/where")).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_are_read_up_to_their_limit() {
        let folder = folder("limit");
        let path = folder.join("file");
        fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read_file(&path, 100).unwrap(), [7; 100]);
        let error = read_file(&path, 99).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 99 bytes");
        // Of a length that is not known before, on Linux.
        assert!(!cfg!(target_os = "linux") || read_file("/proc/self/status", 10).is_err());
        assert!(read_file(&folder, 100).is_err());
        assert_eq!(read_file(folder.join("none"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Each of them would otherwise wait for ever, or read without end, or lock somebody else's file.
    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_links_are_refused() {
        let folder = folder("refused");
        let (pipe, link, victim) = (folder.join("pipe"), folder.join("link"), folder.join("victim"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::write(&victim, "another's").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        for path in [&*pipe, Path::new("/dev/zero")] {
            assert_eq!(read_file(path, 100).unwrap_err().to_string(), "it is no regular file");
            assert_eq!(Lock::try_take(path).unwrap_err().to_string(), "it is no regular file");
        }
        assert_eq!(read_file(&link, 100).unwrap(), b"another's", "what is only read may be a link");
        assert_eq!(Lock::try_take(&link).unwrap_err().to_string(), "it is no regular file");
        assert_eq!(fs::read(&victim).unwrap(), b"another's");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_path_that_is_no_file_is_refused() {
        assert!(write_atomically("/", |_| Ok(())).is_err());
        assert!(write_atomically("", |_| Ok(())).is_err());
        assert!(
            write_atomically("/nowhere/at/all/x.txt", |_| Ok(()))
                .unwrap_err()
                .to_string()
                .contains("/nowhere")
        );
    }

    /// A pipe stands for every device: a failing test would replace `/dev/null`.
    #[cfg(unix)]
    #[test]
    fn links_and_pipes_stay_what_they_are() {
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        let folder = folder("kinds");
        let (file, link, pipe) = (folder.join("file"), folder.join("link"), folder.join("pipe"));
        fs::write(&file, "old").unwrap();
        symlink("file", &link).unwrap();
        write_atomically(&link, |w| w.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");

        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write_atomically(&pipe, |w| w.write_all(b"through")).unwrap();
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), b"through");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "a temporary file was left");
        fs::remove_dir_all(folder).unwrap();
    }
}
