//! Machines that applications are linked for: their shape, budgets and costs.

use crate::barrier::{Costs, Signal, Way};
use crate::shape::Shape;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, OnceLock};
use strata_model::{ModelSet, Resolved};
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
    /// Bytes that a link carries in a cycle; `None` if that is not known: then no rate is guaranteed,
    /// a reservation is refused, and nothing can be simulated.
    pub link_rate: Option<f64>,
    /// Cycles for which a link is in use for a message besides its bytes. 0 where the links carry by
    /// themselves; on processors that share memory the cells at both ends carry.
    pub message: f64,
    /// Cycles after which a connection is served at the latest, besides `overhead` and `hop`: the
    /// latency of its service curve.
    pub wait: f64,
    /// How sure the rates of the links are.
    pub sure: Sure,
    /// Cycles that a connection takes at both ends together.
    pub overhead: f64,
    /// Cycles from a cell to the next.
    pub hop: f64,
    /// Cycles to start a DMA transfer.
    pub spool: f64,
    /// Cycles that such a transfer takes for a byte at least.
    #[serde(default)]
    pub spool_byte: f64,
    /// True if connections of a set that pass through a cell in which one of them turns share the
    /// bandwidth of a link there, as on iWarp (Warfel 1996, §3.1.5: "DQ contention"). Each such cell
    /// counts as a link more, whose number comes after all links' numbers.
    #[serde(default)]
    pub shared_turns: bool,
    /// Connections at a cell at once, including those that pass through; `None`: no limit.
    pub slots: Option<usize>,
    /// Barriers by the messages of `barrier` that may be pending at a cell; `None`: no limit. Those that
    /// are used least then go by other [signals](Self::signals).
    pub barriers: Option<usize>,
    /// Cells that may send barrier messages to one cell, in one barrier; `None`: no limit. For a
    /// barrier of the whole machine the limit applies to each dimension of the machine.
    pub barrier_peers: Option<usize>,
    /// The cycles of the machine's hardware barrier; `None` if it has none.
    pub native_barrier: Option<f64>,
    /// Costs of messages in barriers.
    pub barrier: Costs,
    /// Other signals for barriers than these messages, faster or slower ones: see [`Signal`].
    #[serde(default)]
    pub signals: Vec<Signal>,
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

/// The model of `specs/tcs/bandwidth`.
const STREAM: &str = "Stream";

/// Bytes of a message, messages and connections at which that model is asked. The first three tell the
/// cost of bytes and messages.
const STREAMS: [(usize, usize, usize); 8] = [
    (64, 1, 1),
    (65_536, 1, 1),
    (64, 16, 1),
    (64, 16, 4),
    (4096, 1, 1),
    (4096, 16, 4),
    (65_536, 16, 1),
    (65_536, 16, 4),
];

/// How sure the rates of a machine's links are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sure {
    /// They are the machine's by its description, as those of a simulated machine.
    #[default]
    Described,
    /// They are means of measurements: good for predictions, and no guarantee.
    Mean,
    /// They were measured, and hold for a share of all blocks.
    Measured {
        /// This share of the blocks is carried at least so fast; 0.99 is 99 %.
        share: f64,
        /// The probability that it is at least this share.
        confidence: f64,
        /// The number of held-out blocks by which that is known.
        blocks: usize,
        /// The share of them that was as fast as the other half of them promises.
        fresh: f64,
    },
}

impl fmt::Display for Sure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Described => f.write_str("as the machine is described"),
            Self::Mean => f.write_str("means of measurements, no guarantee"),
            Self::Measured { share, confidence, blocks, .. } => {
                let (share, confidence) = (100.0 * share, 100.0 * confidence);
                write!(f, "measured: {share} % of blocks, {confidence:.0} % sure, by {blocks} held-out ones")
            }
        }
    }
}

/// Why a set of models does not say what the links of a machine carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RatesError(String);

impl From<RatesError> for strata_runtime::Error {
    fn from(error: RatesError) -> Self {
        Self::program(error)
    }
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
        // Ordinary messages need no resources of the circuits.
        let (interface, cycles) = (&machine.interface, |time: Time| time.seconds() * frequency);
        let hop = cycles(machine.link.latency);
        let costs = Costs {
            startup: 0.0,
            send: cycles(interface.send) + cycles(interface.after_send),
            latency: cycles(interface.latency) + hop,
            receive: cycles(interface.receive) + cycles(interface.dispatch),
            hop,
        };
        let way = Way::Messages { costs };
        let messages = Signal { name: "ordinary messages".to_owned(), way, pending: None, whole: false };
        Some(Self {
            name: format!("{} of {cells}", machine.name),
            cells,
            shape,
            mhz: frequency * 1e-6,
            link_rate: Some(machine.link.bandwidth / frequency),
            message: 0.0,
            wait: 0.0,
            sure: Sure::Described,
            overhead: circuits.overhead,
            hop: circuits.hop,
            spool: circuits.spool,
            spool_byte: circuits.spool_word / 4.0,
            shared_turns: circuits.shared_turns,
            slots: Some(circuits.slots),
            barriers: Some(circuits.barriers),
            barrier_peers: Some(circuits.barrier_peers),
            native_barrier: machine.control.map(|control| control.barrier.seconds() * frequency),
            barrier,
            signals: vec![messages],
            barrier_dimension: circuits.barrier_dimension,
            reconfigure: circuits.reconfigure,
            task_change: circuits.task_change,
            restore: circuits.restore,
            machine: Some(Arc::new(machine.clone())),
        })
    }

    /// The machine that a program runs on: the cells of a simulated machine with reserved circuits,
    /// otherwise a [crossbar](Self::crossbar), [with the rates](Self::with_rates) of the model set
    /// that `STRATA_MODELS` names, if it has them.
    ///
    /// # Participation
    /// Local. The job ends if the file cannot be read, or its rates are not of so many nodes.
    #[must_use]
    pub fn here(node: &mut Node) -> Self {
        let platform = node.platform();
        let machine = platform.transport.strip_prefix("sim:").filter(|_| node.circuits().is_some());
        let machine = machine.and_then(|name| SimulatedMachine::find(name).ok());
        if let Some(target) = machine.and_then(|machine| Self::simulated(&machine, node.size())) {
            return target;
        }
        let measured = node.setting("STRATA_MODELS").map(|path| Self::of_file(path, node.size()));
        match measured.transpose() {
            Ok(target) => target.flatten().unwrap_or_else(|| Self::crossbar(node.size())),
            Err(message) => node.fail(message),
        }
    }

    /// A crossbar with the rates of the model set in a file; `None` if the set has none.
    fn of_file(path: &str, cells: usize) -> Result<Option<Self>, String> {
        let wrong = |reason: String| format!("STRATA_MODELS={path}: {reason}");
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let set = ModelSet::read(&text).map_err(|error| wrong(error.to_string()))?;
        if !set.models.iter().any(|model| model.name == STREAM) {
            return Ok(None);
        }
        Self::crossbar(cells).with_rates(&set).map(Some).map_err(|error| wrong(error.to_string()))
    }

    /// Cells that are equally far from each other, without budgets: threads of a process, or MPI
    /// processes. A cycle is one nanosecond; the costs are estimates for two threads on one chip.
    /// What its links carry is not known: [`with_rates`](Self::with_rates) has it from measurements.
    #[must_use]
    pub fn crossbar(cells: usize) -> Self {
        Self {
            name: format!("crossbar of {cells}"),
            cells,
            shape: Shape::Crossbar,
            mhz: 1000.0,
            link_rate: None,
            message: 0.0,
            wait: 0.0,
            sure: Sure::Described,
            overhead: 60.0,
            hop: 60.0,
            spool: 0.0,
            spool_byte: 0.0,
            shared_turns: false,
            slots: None,
            barriers: None,
            barrier_peers: None,
            native_barrier: None,
            barrier: Costs { startup: 20.0, send: 10.0, latency: 80.0, receive: 10.0, hop: 0.0 },
            signals: Vec::new(),
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
    /// assert!(target.link_rate.is_some_and(|rate| (rate - 10.0).abs() < 1e-6)); // bytes a ns
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
            link_rate: Some(link_rate),
            sure: Sure::Mean,
            overhead: transfer / 2.0,
            hop: transfer / 2.0,
            barrier,
            reconfigure: (switch? - ring(of)?).max(0.0),
            task_change: (start? - switch?).max(0.0),
            restore: (end? - ring(of)?).max(0.0),
            ..Self::crossbar(cells)
        })
    }

    /// The same machine with links whose rates were measured: by the model `Stream` of
    /// `specs/tcs/bandwidth`, which is a bound from above of the time of blocks while every cell sends
    /// and receives at once.
    ///
    /// # Errors
    /// If the model is missing, is not a bound (`--upper`), or was not measured on so many nodes.
    pub fn with_rates(self, models: &ModelSet) -> Result<Self, RatesError> {
        let how = format!(
            "`specc calibrate specs/tcs/bandwidth --upper 99% --nodes {}` measures it",
            self.cells.max(2)
        );
        let wrong = |what: &str| RatesError(format!("{what}; {how}"));
        let Some(model) = models.models.iter().find(|model| model.name == STREAM) else {
            return Err(wrong("the set has no model `Stream`"));
        };
        let Some(bound) = model.bound else {
            return Err(wrong("the model `Stream` is a mean, which guarantees nothing"));
        };
        let resolved = models.resolve().map_err(|error| RatesError(error.to_string()))?;
        let clocks = |bytes: usize, messages: usize, lanes: usize| {
            let inputs = [bytes, messages, lanes].map(|input| input as f64);
            let seconds = resolved.seconds(STREAM, self.cells.max(2), &inputs);
            seconds.map(|seconds| seconds * self.mhz * 1e6)
        };
        let all: Option<Vec<(f64, f64, f64)>> = STREAMS
            .iter()
            .map(|(bytes, messages, lanes)| {
                let count = (messages * lanes) as f64;
                clocks(*bytes, *messages, *lanes).map(|clocks| (count, count * *bytes as f64, clocks))
            })
            .collect();
        let Some(all) = all else {
            return Err(wrong(&format!(
                "the model `Stream` was not measured on {} nodes",
                self.cells.max(2)
            )));
        };
        // The model is wait + messages (message + bytes / rate); what it is above that is waited for.
        let [(_, short, at_short), (_, long, at_long), (few, _, _), (many, more, at_many)] =
            [all[0], all[1], all[0], all[2]];
        let byte = ((at_long - at_short) / (long - short)).max(0.0);
        let message = ((at_many - at_short - byte * (more - short)) / (many - few)).max(0.0);
        let wait = all.iter().map(|(count, bytes, clocks)| clocks - count * message - bytes * byte);
        let wait = wait.fold(0.0, f64::max);
        if !(byte > 0.0 && byte.is_finite() && message.is_finite() && wait.is_finite()) {
            return Err(wrong("by the model `Stream` bytes take no time"));
        }
        let sure = Sure::Measured {
            share: bound.share,
            confidence: bound.confidence,
            blocks: bound.samples,
            fresh: bound.fresh,
        };
        Ok(Self { link_rate: Some(1.0 / byte), message, wait, sure, ..self })
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
        self.shape.links(self.cells) + if self.shared_turns { self.cells } else { 0 }
    }

    /// The readable name of a link, or of the turns in a cell.
    pub(crate) fn link_name(&self, link: usize) -> String {
        match link.checked_sub(self.shape.links(self.cells)) {
            Some(cell) => format!("turns in cell {cell}"),
            None => self.shape.link_name(link, self.cells),
        }
    }

    /// Bytes a second that a link carries; `None` if that is not known.
    #[must_use]
    pub fn link_bandwidth(&self) -> Option<f64> {
        self.link_rate.map(|rate| rate * self.mhz * 1e6)
    }

    /// True if the rates of the links are known well enough to guarantee a part of them.
    #[must_use]
    pub fn guarantees(&self) -> bool {
        self.link_rate.is_some() && self.sure != Sure::Mean
    }

    /// Cycles that a message takes of its sender besides its time on a link; the receiver's are the
    /// same. What was measured has them in it.
    pub(crate) fn ends(&self) -> f64 {
        if matches!(self.sure, Sure::Measured { .. }) { 0.0 } else { self.overhead / 2.0 }
    }

    /// Bytes a second of a link that must be set aside for messages of `least` bytes to pass at `rate`
    /// bytes a second, one after the other; `rate` if none suffice.
    pub(crate) fn charged(&self, rate: f64, least: usize) -> f64 {
        let second = self.mhz * 1e6;
        let clocks = second / rate - self.ends() / least.max(1) as f64;
        self.charge(least) * if clocks > 0.0 { second / clocks } else { rate }
    }

    /// Bytes of a link that a message takes for each byte of it, if it is `least` bytes long: 1 where
    /// the links carry by themselves, more where each message takes time of its own.
    pub(crate) fn charge(&self, least: usize) -> f64 {
        1.0 + self.message * self.link_rate.unwrap_or(0.0) / least.max(1) as f64
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
            ("spool_byte", self.spool_byte),
            ("message", self.message),
            ("wait", self.wait),
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
        faults.extend(self.signals.iter().flat_map(Signal::faults));
        for (name, value) in [("mhz", self.mhz), ("link_rate", self.link_rate.unwrap_or(1.0))] {
            if !(value.is_finite() && value > 0.0) {
                faults.push(format!("{name} is {value}: it is a finite number above 0"));
            }
        }
        faults
    }

    pub(crate) fn host(&self) -> Option<SimulatedMachine> {
        let mut machine = self.machine.as_deref()?.clone();
        machine.topology = match self.shape {
            Shape::Crossbar => machine.topology,
            Shape::Mesh { width, height } => grid(width, height, false),
            Shape::Torus { width, height } => grid(width, height, true),
        };
        Some(machine)
    }

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
