//! Ordinary messages between the cells of a task, for patterns that need no connections: blocks are
//! deposited in memory that their receiver has opened (Stricker's deposit messages; Warfel 1996,
//! §3.2.3).

use super::Cell;
use crate::link::schedule::Schedule;
use bytemuck::Pod;
use strata_runtime::Block;
use strata_runtime::select::{Options, SelectError, which};
use strata_select::Library;

/// The ports that these messages use, out of those for programs.
const PORTS: usize = 4070;

/// A block to send: the target cell of the task, and the elements to send from and to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) to: usize,
    pub(crate) from: usize,
    pub(crate) at: usize,
}

impl Cell<'_> {
    /// Sends blocks of `length` elements of `data`; returns `result` with the `expected` received
    /// elements. Collective over the task's cells.
    #[track_caller]
    pub(crate) fn deposit<T: Pod>(
        &mut self,
        (data, length): (&[T], usize),
        blocks: &[Sent],
        result: Block<T>,
        expected: usize,
    ) -> Block<T> {
        self.open_deposit(0, result, expected);
        self.sync();
        self.send_deposits(0, (data, length), blocks);
        self.close_deposit(0, expected)
    }

    #[track_caller]
    pub(crate) fn open_deposit<T: Pod>(&mut self, port: usize, memory: Block<T>, expected: usize) {
        self.node.open_port(PORTS + port, memory);
        if expected > 0 {
            self.node.expect::<T>(PORTS + port, expected);
        }
    }

    #[track_caller]
    pub(crate) fn send_deposits<T: Pod>(
        &mut self,
        port: usize,
        (data, length): (&[T], usize),
        blocks: &[Sent],
    ) {
        self.show();
        for block in blocks {
            let to = self.instance().cells[block.to];
            if let Some(values) = data.get(block.from..block.from + length) {
                self.node.put(to, PORTS + port, block.at, values);
            }
        }
        self.absorb();
    }

    /// Waits until all `expected` elements have arrived.
    #[track_caller]
    pub(crate) fn close_deposit<T: Pod>(&mut self, port: usize, expected: usize) -> Block<T> {
        self.show();
        if expected > 0 {
            self.node.wait_for_port(PORTS + port);
        }
        let memory = self.node.close_port(PORTS + port);
        self.absorb();
        memory
    }

    /// The best form of a pattern with this schedule for blocks of `bytes`, by models for as many
    /// nodes as the task has cells. Local: all cells choose the same. If time is simulated without
    /// the machine's network, only what goes `by_sets` applies.
    pub(crate) fn choose<L: Library>(
        &mut self,
        schedule: &Schedule,
        bytes: usize,
        by_sets: impl Fn(&L) -> bool,
    ) -> Result<L, SelectError> {
        let timed_apart = self.options.simulated && !self.clocked;
        let selector = self.node.selector::<L>(&Options::default())?;
        let cells = self.cells();
        let mut inputs = [bytes as f64; 1 + Schedule::LEN];
        inputs[1..].copy_from_slice(&schedule.numbers());
        let applies = which(|candidate: L| !timed_apart || by_sets(&candidate));
        Ok(self.node.choose_for(cells, &selector, &inputs, applies, None)?.candidate)
    }
}
