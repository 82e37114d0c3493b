//! Machines that applications are linked for: their shape, budgets and costs.

use crate::barrier::Costs;
use crate::shape::Shape;

/// A machine that an application is linked for. Times are in its clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: usize,
    /// How they are connected.
    pub shape: Shape,
    /// Clocks in a microsecond.
    pub mhz: f64,
    /// Bytes that a link carries in a clock.
    pub link_rate: f64,
    /// Clocks that a connection takes at both its ends together.
    pub overhead: f64,
    /// Clocks from a cell to the next.
    pub hop: f64,
    /// Connections at a cell at once, those passing through included; `None`: no limit.
    pub slots: Option<usize>,
    /// Barriers that may be pending at a cell; `None`: no limit.
    pub barriers: Option<usize>,
    /// Cells that may send barrier messages to one cell, in one barrier; `None`: no limit. For a
    /// barrier of the whole machine it counts for each dimension of the machine.
    pub barrier_peers: Option<usize>,
    /// Whether the machine has a barrier of its own, and the clocks that it takes.
    pub native_barrier: Option<f64>,
    /// Costs of messages in barriers.
    pub barrier: Costs,
    /// Clocks that a barrier by rings takes more for each dimension after the first.
    pub barrier_dimension: f64,
    /// Clocks of a switch besides its barriers.
    pub reconfigure: f64,
    /// Clocks of a task's start besides its switch.
    pub task_change: f64,
    /// Clocks of a task's end besides its barrier.
    pub restore: f64,
}

impl Target {
    /// iWarp: a torus of 20 MHz cells with 20 connections each (Warfel 1996, §3.1).
    ///
    /// A transfer takes 36 clocks, 5 for each cell, and one for 1.998 bytes (§3.2.1). Of a cell's 20
    /// hardware connections 5 serve barriers: 1 out, and 1 for each of 4 pending ones (§4.4); a
    /// barrier has one sender to each cell, which makes it a ring. The costs of barrier, switch,
    /// start and end lie on the lines through the measured rows of 4 and 64 cells (Figs 4.22, 5.1,
    /// 5.3, 5.4): `S + 11.72 (N - 1)`, 152 + three barriers, 130 + a switch, 69 + a barrier.
    #[must_use]
    pub fn iwarp(width: usize, height: usize) -> Self {
        Self {
            name: format!("iwarp {width}x{height}"),
            cells: width * height,
            shape: Shape::Torus { width, height },
            mhz: 20.0,
            link_rate: 1.998,
            overhead: 36.0,
            hop: 5.0,
            slots: Some(15),
            barriers: Some(4),
            barrier_peers: Some(1),
            native_barrier: None,
            // The sum of the three is the slope; 8.7 clocks of latency explain the skew of 64 cells
            // with one late (Fig 4.23: 547 = 8.7 · 63). The startup: 97 - 3 · 11.72.
            barrier: Costs { startup: 61.85, send: 1.51, latency: 8.7, receive: 1.51, hop: 5.0 },
            // Of the one that was measured: 448 clocks, 8x8 (Fig 4.22); the thesis does not explain it.
            barrier_dimension: 222.0,
            reconfigure: 152.0,
            task_change: 130.0,
            restore: 69.0,
        }
    }

    /// Cells that are equally far from each other, without budgets: threads of a process, or MPI
    /// processes. Clocks are nanoseconds; the costs are of two threads on one chip, to be replaced
    /// by measured ones.
    #[must_use]
    pub fn crossbar(cells: usize) -> Self {
        Self {
            name: format!("crossbar of {cells}"),
            cells,
            shape: Shape::Crossbar,
            mhz: 1000.0,
            link_rate: 8.0,
            overhead: 60.0,
            hop: 60.0,
            slots: None,
            barriers: None,
            barrier_peers: None,
            native_barrier: None,
            barrier: Costs { startup: 20.0, send: 10.0, latency: 80.0, receive: 10.0, hop: 0.0 },
            barrier_dimension: 0.0,
            reconfigure: 50.0,
            task_change: 50.0,
            restore: 20.0,
        }
    }

    /// The same machine with another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The number of links.
    #[must_use]
    pub fn links(&self) -> usize {
        self.shape.links(self.cells)
    }

    /// Bytes a second that a link carries.
    #[must_use]
    pub fn link_bandwidth(&self) -> f64 {
        self.link_rate * self.mhz * 1e6
    }

    /// Clocks from the start of a send to the end of its receipt: overhead, hops, and bytes at
    /// `rate` bytes a clock (Warfel 1996, §3.2.1; whole clocks for the bytes).
    #[must_use]
    pub fn transfer(&self, bytes: usize, hops: usize, rate: f64) -> f64 {
        self.overhead + self.hop * hops as f64 + (bytes as f64 / rate).floor()
    }

    /// Seconds of so many clocks.
    #[must_use]
    pub fn seconds(&self, clocks: f64) -> f64 {
        clocks / (self.mhz * 1e6)
    }
}
