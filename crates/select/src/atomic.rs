//! Files that are either whole or absent.
//!
//! A calibration that is interrupted, or a disk that fills up, must not leave half a model set
//! behind under its final name.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a temporary file beside the target, and renames it when all of it is on the disk.
///
/// Readers see the old content or the new one, never a part. On failure the temporary file is
/// removed; those of other processes, also of killed ones, stay. A symbolic link stays one: the
/// file that it names is replaced. A pipe, a terminal or `/dev/null` is written to and never
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
        hidden.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let temporary = path.with_file_name(hidden);
        match File::create_new(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < MAX_TAKEN => tried += 1,
            created => return created.map(|file| (temporary, file)),
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
            .map(|count| folder.join(format!(".models.toml.{}-{count}.tmp", std::process::id())))
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
