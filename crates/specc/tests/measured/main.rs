//! What builds and runs profiling programs: in one program, so that tests wait for a build or a
//! measurement beside each other.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

mod cargo_strata;
mod hosts;
mod install;
#[cfg(unix)]
mod launcher;
mod own_library;
mod profile;
mod smpi;
mod unread;
mod verify;
