//! Memory that processes of one host share: each process creates its own, and the others map it
//! through the open files of its owner.
//!
//! The memory lasts until the last process has dropped the words. Linux only; on other systems
//! there is none, and nodes exchange messages.

#![allow(unsafe_code, reason = "words in memory that the kernel has mapped")]

use crate::transport::SharedWords;
#[cfg(target_os = "linux")]
use {
    crate::block::byte_length,
    memmap2::{MmapOptions, MmapRaw},
    std::fs::{File, OpenOptions},
    std::os::{fd::AsRawFd, unix::fs::MetadataExt},
    std::sync::Arc,
    std::sync::atomic::AtomicU64,
};

/// The location of a node's memory for other processes. All fields are zero if it has none.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Place {
    process: u64,
    /// The number of the open file of the process.
    descriptor: u64,
    /// The identity of the file: a process of another container may have the same number.
    device: u64,
    inode: u64,
}

/// Memory of this node that others can map while this value exists.
pub(super) struct Memory {
    place: Place,
    words: SharedWords,
    /// Kept open until the others have mapped it.
    #[cfg(target_os = "linux")]
    _file: File,
}

impl Place {
    pub(super) const NONE: Self = Self { process: 0, descriptor: 0, device: 0, inode: 0 };
}

impl Memory {
    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn words(&self) -> SharedWords {
        self.words.clone()
    }
}

#[cfg(not(target_os = "linux"))]
impl Memory {
    pub(super) fn create(_words: usize) -> Result<Self, String> {
        Err("processes share no memory on this system".to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
impl Place {
    pub(super) fn open(&self, _words: usize) -> Result<SharedWords, String> {
        Err("processes share no memory on this system".to_owned())
    }
}

#[cfg(target_os = "linux")]
impl Memory {
    /// Creates `words` zero words.
    pub(super) fn create(words: usize) -> Result<Self, String> {
        use nix::sys::memfd::{MFdFlags, memfd_create};
        let file = memfd_create("strata", MFdFlags::MFD_CLOEXEC).map_err(|error| error.to_string())?;
        let file = File::from(file);
        file.set_len(byte_length::<u64>(words).max(1) as u64).map_err(|error| error.to_string())?;
        let found = file.metadata().map_err(|error| error.to_string())?;
        let place = Place {
            process: u64::from(std::process::id()),
            descriptor: u64::try_from(file.as_raw_fd()).unwrap_or_default(),
            device: found.dev(),
            inode: found.ino(),
        };
        let words = map(&file, words)?;
        // Pages are placed near the processor that touches them first.
        words.iter().for_each(|word| word.store(0, std::sync::atomic::Ordering::Relaxed));
        Ok(Self { place, words, _file: file })
    }
}

#[cfg(target_os = "linux")]
impl Place {
    /// The words of another process of this host.
    pub(super) fn open(&self, words: usize) -> Result<SharedWords, String> {
        let path = format!("/proc/{}/fd/{}", self.process, self.descriptor);
        let told = |error: std::io::Error| format!("{path}: {error}");
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(told)?;
        let found = file.metadata().map_err(told)?;
        let same = (found.dev(), found.ino()) == (self.device, self.inode);
        if !same || found.len() < byte_length::<u64>(words) as u64 {
            return Err(format!("{path}: this is another file"));
        }
        map(&file, words)
    }
}

/// Maps the words of a file that has this number of them.
#[cfg(target_os = "linux")]
fn map(file: &File, words: usize) -> Result<SharedWords, String> {
    let length = byte_length::<u64>(words).max(1);
    let mapped: MmapRaw = MmapOptions::new().len(length).map_raw(file).map_err(|error| error.to_string())?;
    let base: *const AtomicU64 = mapped.as_ptr().cast();
    // SAFETY: `length` bytes are mapped there, aligned as pages are, until `mapped` is dropped, which
    // the words keep. The file is as long and is never shortened, as only processes of this job have
    // it open. All processes access it as atomic words.
    let memory = unsafe { std::slice::from_raw_parts(base, words) };
    Ok(SharedWords::while_kept(memory, Arc::new(mapped)))
}
