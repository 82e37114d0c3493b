//! Simulated machines: the platform files that describe them, and their network, packet by packet.
//!
//! A [`SimulatedMachine`](platform::SimulatedMachine) is read from a file or built in. The
//! run-time's transport `sim` runs the nodes' programs on it; this crate does not depend on
//! programs.
#![forbid(unsafe_code)]

mod figures;
pub mod network;
pub mod platform;
mod time;
pub mod topology;

pub use figures::{Barrier, Figures};
pub use network::Network;
pub use time::Time;
