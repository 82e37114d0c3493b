//! Machines that applications are linked for: their shape, budgets and costs.

use crate::barrier::Costs;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use strata_model::Resolved;
use strata_runtime::Node;
use strata_runtime::simulation::{SimulatedMachine, Time, Topology};

/// A machine that an application is linked for. Times are in its cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: usize,
    /// Their interconnection.
    pub shape: Shape,
    /// Cycles per microsecond.
    pub mhz: f64,
    /// Bytes that a link carries in a cycle.
    pub link_rate: f64,
    /// Cycles that a connection takes at both ends together.
    pub overhead: f64,
    /// Cycles from a cell to the next.
    pub hop: f64,
    /// Cycles to start a DMA transfer.
    pub spool: f64,
    /// Connections at a cell at once, including those that pass through; `None`: no limit.
    pub slots: Option<usize>,
    /// Barriers that may be pending at a cell; `None`: no limit.
    pub barriers: Option<usize>,
    /// Cells that may send barrier messages to one cell, in one barrier; `None`: no limit. For a
    /// barrier of the whole machine the limit applies to each dimension of the machine.
    pub barrier_peers: Option<usize>,
    /// The cycles of the machine's hardware barrier; `None` if it has none.
    pub native_barrier: Option<f64>,
    /// Costs of messages in barriers.
    pub barrier: Costs,
    /// Extra cycles of a barrier by rings for each dimension after the first.
    pub barrier_dimension: f64,
    /// Cycles of a switch besides its barriers.
    pub reconfigure: f64,
    /// Cycles of a task's start besides its switch.
    pub task_change: f64,
    /// Cycles of a task's end besides its barrier.
    pub restore: f64,
    /// The simulated machine, if the target is one: it defines the costs of ordinary messages.
    /// Files have its name and the hash of its text.
    #[serde(with = "machine")]
    pub machine: Option<Arc<SimulatedMachine>>,
}

impl Target {
    /// iWarp: a torus of 20 MHz cells with 20 connections each (Warfel 1996, §3.1). Its costs, each
    /// with its source, are defined in the simulated machine `iwarp`.
    #[must_use]
    pub fn iwarp(width: usize, height: usize) -> Self {
        static IWARP: OnceLock<Target> = OnceLock::new();
        let iwarp = IWARP.get_or_init(|| {
            let machine = SimulatedMachine::named("iwarp").ok();
            match machine.and_then(|machine| Self::simulated(&machine, 1)) {
                Some(target) => target,
                None => unreachable!("it is built in, and has circuits"),
            }
        });
        let name = format!("iwarp {width}x{height}");
        let shape = Shape::Torus { width, height };
        Self { name, cells: width * height, shape, ..iwarp.clone() }
    }

    /// `cells` cells of a simulated machine; `None` if it has no reserved circuits. A grid of two
    /// dimensions keeps its shape; any other topology is treated as a crossbar.
    ///
    /// On nodes of that machine, an application's connections run on circuits, whose times these
    /// costs give, beside its ordinary messages.
    #[must_use]
    pub fn simulated(machine: &SimulatedMachine, cells: usize) -> Option<Self> {
        let circuits = machine.circuits?;
        let frequency = machine.cpu.frequency;
        let shape = match (&machine.topology, machine.topology.columns_and_rows(cells)) {
            (Topology::Mesh { wrap: true, .. }, Some([width, height])) => Shape::Torus { width, height },
            (_, Some([width, height])) => Shape::Mesh { width, height },
            _ => Shape::Crossbar,
        };
        let barrier = Costs {
            startup: circuits.barrier_startup,
            send: circuits.barrier_send,
            latency: circuits.barrier_latency,
            receive: circuits.barrier_receive,
            hop: circuits.hop,
        };
        Some(Self {
            name: format!("{} of {cells}", machine.name),
            cells,
            shape,
            mhz: frequency * 1e-6,
            link_rate: machine.link.bandwidth / frequency,
            overhead: circuits.overhead,
            hop: circuits.hop,
            spool: circuits.spool,
            slots: Some(circuits.slots),
            barriers: Some(circuits.barriers),
            barrier_peers: Some(circuits.barrier_peers),
            native_barrier: machine.control.map(|control| control.barrier.seconds() * frequency),
            barrier,
            barrier_dimension: circuits.barrier_dimension,
            reconfigure: circuits.reconfigure,
            task_change: circuits.task_change,
            restore: circuits.restore,
            machine: Some(Arc::new(machine.clone())),
        })
    }

    /// The machine that a program runs on: the cells of a simulated machine with reserved circuits,
    /// otherwise a [crossbar](Self::crossbar).
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn here(node: &mut Node) -> Self {
        let platform = node.platform();
        let machine = platform.transport.strip_prefix("sim:").filter(|_| node.circuits().is_some());
        let machine = machine.and_then(|name| SimulatedMachine::find(name).ok());
        let target = machine.and_then(|machine| Self::simulated(&machine, node.size()));
        target.unwrap_or_else(|| Self::crossbar(node.size()))
    }

    /// Cells that are equally far from each other, without budgets: threads of a process, or MPI
    /// processes. A cycle is one nanosecond; the costs are those of two threads on one chip, to be
    /// replaced by measured ones.
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
            spool: 0.0,
            slots: None,
            barriers: None,
            barrier_peers: None,
            native_barrier: None,
            barrier: Costs { startup: 20.0, send: 10.0, latency: 80.0, receive: 10.0, hop: 0.0 },
            barrier_dimension: 0.0,
            reconfigure: 50.0,
            task_change: 50.0,
            restore: 20.0,
            machine: None,
        }
    }

    /// Cells that are equally far from each other, with costs predicted by the models of
    /// `specs/tcs/primitives`: of threads or MPI processes of the machine where the models were
    /// fitted. `None` if models are missing.
    ///
    /// If only one number of nodes was measured, the predicted time of a barrier is that of its
    /// messages.
    ///
    /// ```
    /// use strata_model::ModelSet;
    /// use strata_tcs::Target;
    /// # let term = |(term, value): &(&str, f64)| {
    /// #     let zero = "std_error = 0.0, half_width = 0.0, relevant = true";
    /// #     format!("{{ term = \"{term}\", coefficient = {value:e}, {zero} }}")
    /// # };
    /// # let model = |name: &str, inputs: &str, terms: &[(&str, f64)]| {
    /// #     let row = format!("[{}]", vec!["0.0"; terms.len()].join(", "));
    /// #     let zeros = vec![row; terms.len()].join(", ");
    /// #     let terms = terms.iter().map(term).collect::<Vec<_>>().join(", ");
    /// #     let head = format!("[[models]]\nname = \"{name}\"\ninputs = [{inputs}]\n");
    /// #     format!("{head}terms = [{terms}]\ncovariance = [{zeros}]\n")
    /// # };
    /// # let of_nodes = |name, fixed| model(name, "", &[("1", fixed), ("P", 1e-7)]);
    /// # let bytes = "{ name = \"bytes\", min = 1.0, max = 65536.0, integer = true }";
    /// # let text = [
    /// #     "strata-models = 1\n".to_owned(),
    /// #     model("Message", bytes, &[("1", 1e-7), ("bytes", 1e-10)]),
    /// #     of_nodes("Ring", 1e-8),
    /// #     of_nodes("Switch", 5e-8),
    /// #     of_nodes("Start", 7e-8),
    /// #     of_nodes("End", 3e-8),
    /// # ]
    /// # .concat();
    /// let models = ModelSet::read(&text)?.resolve()?;         // of `specc calibrate specs/tcs/primitives`
    /// let target = Target::of_models(&models, 4).ok_or("models are missing")?;
    /// assert!((target.link_rate - 10.0).abs() < 1e-6);           // bytes a ns
    /// assert!((target.barrier.startup - 110.0).abs() < 1e-6);    // Ring(P) = 110 ns + (P - 1) 100 ns
    /// assert!((target.task_change - 20.0).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_models(models: &Resolved, cells: usize) -> Option<Self> {
        let clocks = |name: &str, nodes: usize, inputs: &[f64]| {
            models.seconds(name, nodes, inputs).map(|seconds| seconds * 1e9)
        };
        let message = |bytes: f64| clocks("Message", cells.max(2), &[bytes]);
        let link_rate = (65_536.0 - 4096.0) / (message(65_536.0)? - message(4096.0)?);
        let transfer = (message(8.0)? - 8.0 / link_rate).max(0.0);
        let ring = |nodes: usize| clocks("Ring", nodes, &[]);
        // A ring of N takes its start-up and N - 1 messages.
        let step = if cells > 2 { (ring(cells)? - ring(2)?) / (cells - 2) as f64 } else { ring(2)? }.max(0.0);
        let (startup, of) = ((ring(2)? - step).max(0.0), cells.max(2));
        let barrier =
            Costs { startup, send: step / 8.0, latency: step * 0.75, receive: step / 8.0, hop: 0.0 };
        let [switch, start, end] = ["Switch", "Start", "End"].map(|name| clocks(name, of, &[]));
        let good = link_rate > 0.0 && link_rate.is_finite();
        good.then_some(Self {
            name: format!("measured crossbar of {cells}"),
            link_rate,
            overhead: transfer / 2.0,
            hop: transfer / 2.0,
            barrier,
            reconfigure: (switch? - ring(of)?).max(0.0),
            task_change: (start? - switch?).max(0.0),
            restore: (end? - ring(of)?).max(0.0),
            ..Self::crossbar(cells)
        })
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

    /// Cycles from the start of a send to the end of its receipt: overhead, hops, and bytes at
    /// `rate` bytes a cycle (Warfel 1996, §3.2.1; the bytes take a whole number of cycles).
    #[must_use]
    pub fn transfer(&self, bytes: usize, hops: usize, rate: f64) -> f64 {
        self.overhead + self.hop * hops as f64 + (bytes as f64 / rate).floor()
    }

    /// Seconds of a number of cycles.
    #[must_use]
    pub fn seconds(&self, clocks: f64) -> f64 {
        clocks / (self.mhz * 1e6)
    }
}

impl Target {
    /// What cannot be about this description of a machine, in words.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Shape::Mesh { width, height } | Shape::Torus { width, height } = self.shape
            && width.checked_mul(height) != Some(self.cells)
        {
            faults.push(format!("{width} x {height} cells are not the {} that it has", self.cells));
        }
        let Costs { startup, send, latency, receive, hop } = self.barrier;
        let costs = [
            ("overhead", self.overhead),
            ("hop", self.hop),
            ("spool", self.spool),
            ("native_barrier", self.native_barrier.unwrap_or(0.0)),
            ("barrier.startup", startup),
            ("barrier.send", send),
            ("barrier.latency", latency),
            ("barrier.receive", receive),
            ("barrier.hop", hop),
            ("barrier_dimension", self.barrier_dimension),
            ("reconfigure", self.reconfigure),
            ("task_change", self.task_change),
            ("restore", self.restore),
        ];
        for (name, value) in costs {
            if !(value.is_finite() && value >= 0.0) {
                faults.push(format!("{name} is {value} cycles: it is a finite number, not below 0"));
            }
        }
        for (name, value) in [("mhz", self.mhz), ("link_rate", self.link_rate)] {
            if !(value.is_finite() && value > 0.0) {
                faults.push(format!("{name} is {value}: it is a finite number above 0"));
            }
        }
        faults
    }

    /// The simulated machine in this target's shape.
    pub(crate) fn host(&self) -> Option<SimulatedMachine> {
        let mut machine = self.machine.as_deref()?.clone();
        machine.topology = match self.shape {
            Shape::Crossbar => machine.topology,
            Shape::Mesh { width, height } => grid(width, height, false),
            Shape::Torus { width, height } => grid(width, height, true),
        };
        Some(machine)
    }

    /// A number of cycles as simulated time.
    pub(crate) fn time(&self, clocks: f64) -> Time {
        Time::from_seconds(self.seconds(clocks))
    }
}

fn grid(width: usize, height: usize, wrap: bool) -> Topology {
    Topology::Mesh { extents: Some(vec![width, height]), dimensions: 2, wrap }
}

/// A simulated machine in a file: its name, and the hash of its text.
mod machine {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;
    use strata_runtime::simulation::SimulatedMachine;

    #[derive(Serialize, Deserialize)]
    struct Named {
        name: String,
        sha256: String,
    }

    pub(super) fn serialize<S: Serializer>(
        machine: &Option<Arc<SimulatedMachine>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let named = |machine: &Arc<SimulatedMachine>| Named {
            name: machine.name.clone(),
            sha256: machine.sha256.clone(),
        };
        machine.as_ref().map(named).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<SimulatedMachine>>, D::Error> {
        let Some(Named { name, sha256 }) = Option::deserialize(deserializer)? else { return Ok(None) };
        let machine = SimulatedMachine::named(&name).map_err(D::Error::custom)?;
        if machine.sha256 != sha256 {
            return Err(D::Error::custom(format!(
                "the simulated machine `{name}` has changed since; write the description again"
            )));
        }
        Ok(Some(Arc::new(machine)))
    }
}
