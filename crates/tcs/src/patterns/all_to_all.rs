//! Personalised all-to-all: a block from every cell to every other one, one connection set a phase.

use super::phases::Phase;
use crate::describe::{App, Connection, TaskId};
use crate::run::Cell;
use bytemuck::Pod;
use strata_runtime::Error;

crate::communication! {
    networks {
        /// The connections of a phase.
        pub Lane
    }
    sets {
        /// A phase.
        pub Exchange: Lane;
    }
}

/// An all-to-all of blocks of `T`, described in a task: a connection set for each phase.
#[derive(Clone, Debug)]
pub struct AllToAll<T> {
    /// By phase and cell: the connection to send on and the one to receive on.
    lanes: Vec<Vec<[End<T>; 2]>>,
}

/// The other cell, and the connection.
type End<T> = Option<(usize, Connection<T, Lane>)>;

impl<T: Pod> AllToAll<T> {
    /// Describes the phases in `task`. `depth` is the buffer capacity in bytes: if it holds a whole
    /// block, cells wait for each other only in switches.
    pub fn new(app: &mut App, task: TaskId, phases: &[Phase], depth: usize) -> Self {
        let cells = app[task].cells();
        let lanes = phases.iter().enumerate().map(|(phase, messages)| {
            let mut lanes = vec![[None; 2]; cells];
            app[task].set_in::<Exchange>(phase);
            for (from, to, path) in messages {
                let lane = app[task].connect_in(phase, *from, *to);
                app[task].depth(lane, depth);
                if let Some(path) = path {
                    app[task].prefer(lane, path.clone());
                }
                lanes[*from][0] = Some((*to, lane));
                lanes[*to][1] = Some((*from, lane));
            }
            lanes
        });
        Self { lanes: lanes.collect() }
    }

    /// The number of phases.
    #[must_use]
    pub fn phases(&self) -> usize {
        self.lanes.len()
    }

    /// Sends `blocks[i]` to cell i; returns the received blocks, by sender. This cell's own block
    /// is kept.
    ///
    /// # Participation
    /// Collective over the task's cells. There must be one block for each cell.
    ///
    /// # Errors
    /// If the number of blocks differs from the number of cells.
    #[track_caller]
    pub fn exchange(&self, cell: &mut Cell<'_>, mut blocks: Vec<Vec<T>>) -> Result<Vec<Vec<T>>, Error> {
        let (me, cells) = (cell.id(), cell.cells());
        if blocks.len() != cells {
            return Err(Error::program(format!("{} blocks for {cells} cells", blocks.len())));
        }
        let mut came: Vec<Vec<T>> = (0..cells).map(|_| Vec::new()).collect();
        came[me] = std::mem::take(&mut blocks[me]);
        for (phase, lanes) in self.lanes.iter().enumerate() {
            let [out, into] = lanes[me];
            cell.phase_in::<Exchange, _>(phase, |net| {
                if let Some((to, lane)) = out {
                    net.send(lane, &blocks[to]);
                }
                if let Some((from, lane)) = into {
                    came[from] = net.receive_vec(lane);
                }
                Ok(())
            })?;
        }
        Ok(came)
    }
}
