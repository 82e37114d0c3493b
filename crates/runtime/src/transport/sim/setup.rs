//! The parameters of a simulation.

use super::kernels::Kernels;
use crate::work::Computing;
use std::sync::Arc;
use strata_sim::platform::SimulatedMachine;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    pub(crate) platform: Arc<SimulatedMachine>,
    pub(crate) nodes: usize,
    pub(crate) seed: u64,
    /// Steps (of nodes and of the network) after which the simulation is stopped.
    pub(crate) steps: u64,
    pub(crate) kernels: Arc<Kernels>,
    pub(crate) computing: Computing,
    /// True if the operating system interrupts programs.
    pub(crate) disturbed: bool,
}
