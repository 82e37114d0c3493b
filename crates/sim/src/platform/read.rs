//! Reading of platform files: reports all faults at once, each with its place.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use strata_model::{closest, sha256_hex};
use toml::de::DeTable;

use super::error::{Fault, FaultKind, Faults, MachineError};
use super::fields::{self, Fields, record};
use super::{
    Circuits, Control, Cpu, Dma, Host, Interface, Interrupts, Link, SimulatedMachine, Slices, Topology,
    built_in,
};
use crate::Time;

/// The longest file, in bytes; anything longer is not a platform file.
const LONGEST: usize = 1 << 20;
/// The most nodes of a grid: the largest extent, and the largest product of extents.
const NODES: usize = 1 << 20;
/// The largest packet, data and header each, in bytes.
const PACKET: usize = 1 << 24;
/// Range of packets of a queue or buffer.
const QUEUE: RangeInclusive<usize> = 1..=1 << 20;
/// Range of factors of kernels.
const FACTORS: RangeInclusive<f64> = 1e-6..=1e6;
/// Range of children or parents of a switch, and of switches of a group.
const SWITCH: RangeInclusive<usize> = 1..=1 << 16;

impl SimulatedMachine {
    /// The names of the built-in platforms, in their order.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        built_in::names()
    }

    /// The built-in platform with this name.
    ///
    /// # Errors
    /// [`MachineError::Unknown`]: there is none; the error lists the existing ones.
    pub fn named(name: &str) -> Result<Self, MachineError> {
        let Some(text) = built_in::text(name) else {
            return Err(MachineError::Unknown { name: name.into(), meant: closest(name, built_in::names()) });
        };
        Ok(Self::parse(name, text.as_bytes())?)
    }

    /// The built-in platform with that name, otherwise the one in the file at that path. A file
    /// with the name of a built-in platform is given as `./NAME`.
    ///
    /// # Errors
    /// [`MachineError::Unknown`]: neither exists, and it does not look like a path; the error
    /// lists the names.
    /// [`MachineError::File`]: the file cannot be read. [`MachineError::Faults`]: it is not a
    /// platform.
    pub fn find(name_or_path: &str) -> Result<Self, MachineError> {
        let path = Path::new(name_or_path);
        let is_path = path.components().count() > 1 || name_or_path.ends_with(".toml") || path.exists();
        if built_in::text(name_or_path).is_some() || !is_path {
            return Self::named(name_or_path);
        }
        Self::read(path)
    }

    /// The platform in a file.
    ///
    /// # Errors
    /// [`MachineError::File`]: it cannot be read. [`MachineError::Faults`]: it is not a platform.
    pub fn read(path: &Path) -> Result<Self, MachineError> {
        let mut bytes = Vec::new();
        // Reads only enough to detect that it is too long: the path may name an endless device.
        File::open(path)
            .and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut bytes))
            .map_err(|source| MachineError::File { path: path.into(), source })?;
        Ok(Self::parse(&path.display().to_string(), &bytes)?)
    }

    /// The platform described by a file's bytes; `file` is its name in error messages.
    ///
    /// # Errors
    /// [`Faults`]: all faults.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, Faults> {
        let whole = |text: String, faults| Faults { file: file.into(), text, faults };
        if bytes.len() > LONGEST {
            let fault =
                syntax("the file is too long".into(), 0..0, "longer than 1 MiB", "is it a platform file?");
            return Err(whole(String::new(), vec![fault]));
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.valid_up_to();
                let text = String::from_utf8_lossy(bytes).into_owned();
                // Invalid bytes have been replaced by one character, which takes three bytes.
                let fault = syntax(
                    format!("byte {at} is not UTF-8"),
                    at..at + 3,
                    "this byte",
                    "save the file as UTF-8",
                );
                return Err(whole(text, vec![fault]));
            }
        };
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut faults: Vec<Fault> = errors.iter().map(|error| toml_fault(error, text.len())).collect();
        // If a part could not be read, it is unknown which keys are missing.
        if faults.is_empty() {
            let kept = RefCell::new(Vec::new());
            let platform = platform(table.get_ref(), sha256_hex(bytes), &kept);
            faults = kept.into_inner();
            if let (Some(platform), true) = (platform, faults.is_empty()) {
                return Ok(platform);
            }
        }
        faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
        // An unclosed delimiter is reported once for each level of nesting.
        faults.dedup();
        Err(whole(text.into(), faults))
    }
}

fn syntax(message: String, span: std::ops::Range<usize>, label: &str, help: &str) -> Fault {
    Fault { kind: FaultKind::Syntax, message, span, label: label.into(), help: help.into() }
}

fn toml_fault(error: &toml::de::Error, length: usize) -> Fault {
    let span = error.span().unwrap_or(length..length);
    let help = "a platform file is TOML: lines `key = value` below lines `[table]`";
    syntax(error.message().trim().replace('\n', ", "), span, "here", help)
}

fn platform(table: &DeTable<'_>, sha256: String, faults: &RefCell<Vec<Fault>>) -> Option<SimulatedMachine> {
    let mut file = Fields::of_file(table, faults);
    let name = name(&mut file);
    let summary = summary(&mut file);
    let cpu = file.table("cpu", "frequency_mhz = 33").and_then(cpu);
    // If the frequency is invalid, times in cycles are still checked, and discarded.
    file.set_frequency(cpu.map_or(1e9, |cpu| cpu.frequency));
    let interface = file.table("interface", "send_cycles = 27").and_then(interface);
    let topology = file.table("topology", "kind = \"fat-tree\"").and_then(topology);
    let host = file.optional_table("host").map(host);
    let link = file.table("link", "bandwidth_mb_per_s = 20").and_then(link);
    let control = file.optional_table("control").map(control);
    let dma = file.optional_table("dma").map(dma);
    let circuits = file.optional_table("circuits").map(Circuits::read);
    let interrupts = file.optional_table("interrupts").map(interrupts);
    let slices = file.optional_table("slices").map(slices);
    let kernels = file.optional_table("kernels").map(|table| table.kernels(FACTORS));
    file.finish();
    Some(SimulatedMachine {
        name: name?,
        summary: summary?,
        sha256,
        cpu: cpu?,
        interface: interface?,
        topology: topology?,
        host: or_none(host)?,
        link: link?,
        control: or_none(control)?,
        dma: or_none(dma)?,
        circuits: or_none(circuits)?,
        interrupts: or_none(interrupts)?,
        slices: or_none(slices)?,
        kernels: or_none(kernels)?.unwrap_or_default(),
    })
}

/// Keys that may be omitted, but not be invalid.
fn or_none<T>(table: Option<Option<T>>) -> Option<Option<T>> {
    match table {
        None => Some(None),
        Some(read) => read.map(Some),
    }
}

fn name(file: &mut Fields<'_>) -> Option<String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = |text: &str| (1..=64).contains(&text.len()) && text.chars().all(good);
    let label = "1 to 64 letters, digits, `-`, `_` or `.`";
    let help = "take a short word, for example `name = \"cm5\"`";
    line(file, ("name", "\"cm5\""), is_name, ["this cannot be a platform's name", label, help])
}

fn summary(file: &mut Fields<'_>) -> Option<String> {
    let is_line =
        |text: &str| !text.trim().is_empty() && text.len() <= 200 && !text.chars().any(char::is_control);
    let help = "say in a line what the machine is";
    let fault = ["the summary is not a line", "1 to 200 bytes, no line feeds", help];
    line(file, ("summary", "\"Thinking Machines CM-5\""), is_line, fault)
}

/// A text that is `good`; else a fault with this message, label and help.
fn line(
    file: &mut Fields<'_>,
    (key, example): (&str, &str),
    good: impl Fn(&str) -> bool,
    fault: [&str; 3],
) -> Option<String> {
    let (text, span) = file.text(key, example)?;
    if !good(text) {
        file.fault(FaultKind::Range, span, fault);
        return None;
    }
    Some(text.into())
}

fn cpu(mut table: Fields<'_>) -> Option<Cpu> {
    record!(table => Cpu {
        frequency: table.number("frequency_mhz", 0.001..=1e6, "33").map(|mhz| mhz * 1e6),
        kernel_factor: table.number("kernel_factor", FACTORS, "1"),
    })
}

fn interface(mut table: Fields<'_>) -> Option<Interface> {
    record!(table => Interface {
        send: table.time("send", "27"),
        send_byte: table.time("send_byte", "0"),
        after_send: table.time("after_send", "0"),
        receive: table.time("receive", "50"),
        receive_byte: table.time("receive_byte", "0"),
        failed_poll: table.time("failed_poll", "10"),
        dispatch: table.time("dispatch", "12"),
        block_setup: table.time("block_setup", "0"),
        combine_call: table.optional_time("combine_call", "190"),
        combine_word: table.time("combine_word", "10"),
        packet: table.count("packet_bytes", 1..=PACKET, "16"),
        header: table.count("header_bytes", 0..=PACKET, "4"),
        latency: table.time("latency", "0"),
        send_queue: table.count("send_queue_packets", QUEUE, "2"),
        receive_queue: table.count("receive_queue_packets", QUEUE, "2"),
        holds_place: table.or("holds_place", false, |table| table.flag("holds_place", "true")),
    } {
        check_interface(&table, [send_byte, receive_byte], packet, failed_poll);
    })
}

fn check_interface(
    table: &Fields<'_>,
    bytes: [Option<Time>; 2],
    packet: Option<usize>,
    failed_poll: Option<Time>,
) {
    for (byte, what) in bytes.into_iter().zip(["send_byte", "receive_byte"]) {
        let (Some(byte), Some(packet)) = (byte, packet) else { continue };
        if byte.times(packet as u64).seconds() > fields::LONGEST {
            let message = format!("`{what}` for each of `packet_bytes` makes more than 1000 s");
            let said = [&message, "of this interface", "make one of them smaller"];
            table.fault(FaultKind::Range, table.head(), said);
        }
    }
    if failed_poll == Some(Time::ZERO) {
        let message =
            "`failed_poll` takes no time: a node that polls until something comes would stand still";
        let help =
            "say what a look at empty queues costs; a cycle is the least, as in `failed_poll_cycles = 1`";
        table.fault(FaultKind::Range, table.head(), [message, "of this interface", help]);
    }
}

fn host(mut table: Fields<'_>) -> Option<Host> {
    record!(table => Host {
        nodes: table.count("nodes", SWITCH, "4"),
        bandwidth: table.bandwidth("bandwidth_mb_per_s", "10000"),
        latency: table.time("latency", "100"),
    })
}

fn link(mut table: Fields<'_>) -> Option<Link> {
    record!(table => Link {
        bandwidth: table.bandwidth("bandwidth_mb_per_s", "20"),
        latency: table.time("latency", "7"),
        buffer: table.count("buffer_packets", QUEUE, "1"),
        cut_through: table.word("switching", &[("cut-through", true), ("store-and-forward", false)]),
        networks: table.or("networks", 1, |table| table.count("networks", 1..=2, "2")),
    })
}

fn control(mut table: Fields<'_>) -> Option<Control> {
    record!(table => Control {
        barrier: table.time("barrier", "140"),
        combine: table.time("combine", "150"),
        combine_word: table.time("combine_word", "49"),
        broadcast: table.time("broadcast", "90"),
        broadcast_word: table.time("broadcast_word", "49"),
        pipelined: table.flag("pipelined", "true"),
    })
}

fn dma(mut table: Fields<'_>) -> Option<Dma> {
    record!(table => Dma {
        setup: table.time("setup", "100"),
        least: table.count("least_bytes", 1..=PACKET, "100"),
        after: table.optional_time("after", "100").map(|after| (after != Time::ZERO).then_some(after)),
        receive: table.optional_time("receive", "100"),
        request_hop: table.optional_time("request_hop", "100"),
        receives_short: table.or("receives_short", true, |table| table.flag("receives_short", "true")),
    })
}

fn interrupts(mut table: Fields<'_>) -> Option<Interrupts> {
    record!(table => Interrupts {
        every: table.time("every", "550000"),
        time: table.time("time", "1000"),
        together: table.flag("together", "true"),
    } {
        if let (Some(every), Some(time)) = (every, time)
            && time >= every
        {
            let label = "`time` is not shorter than `every`";
            let help = "for example `every_us = 16667` and `time_us = 30`";
            table.fault(FaultKind::Range, table.head(), ["interrupts leave the program no time", label, help]);
        }
    })
}

fn slices(mut table: Fields<'_>) -> Option<Slices> {
    record!(table => Slices {
        dilation: table.number("dilation", 0.0..=100.0, "0.21"),
        deviation: table.number("deviation", 0.0..=100.0, "0.1"),
        full: table.number("full_packets", 0.001..=1e6, "10"),
    })
}

/// Reads the keys of a topology besides its kind.
type ReadTopology = fn(&mut Fields<'_>) -> Option<Topology>;

const KINDS: [(&str, ReadTopology); 8] = [
    ("fat-tree", fat_tree),
    ("mesh", |table| grid(table, false)),
    ("torus", |table| grid(table, true)),
    ("hypercube", |_| Some(Topology::Hypercube)),
    ("dragonfly", dragonfly),
    ("crossbar", |_| Some(Topology::Crossbar)),
    ("switch", |table| Some(Topology::Switch { backplane: table.bandwidth("backplane_mb_per_s", "312")? })),
    ("bus", |_| Some(Topology::Bus)),
];

fn topology(mut table: Fields<'_>) -> Option<Topology> {
    // If the kind is unknown, so are its other keys.
    let read = table.word("kind", &KINDS)?;
    let topology = read(&mut table);
    table.finish();
    topology
}

fn fat_tree(table: &mut Fields<'_>) -> Option<Topology> {
    let arity = table.count("arity", 2..=*SWITCH.end(), "4");
    let parents = table.counts("parents", SWITCH, "[2, 2, 4]");
    let bandwidths = table.bandwidths("bandwidths_mb_per_s", "[20]");
    Some(Topology::FatTree { arity: arity?, parents: parents?, bandwidths: bandwidths? })
}

fn grid(table: &mut Fields<'_>, wrap: bool) -> Option<Topology> {
    let Some(at) = table.place("extents") else {
        let dimensions = table.count("dimensions", 2..=3, "2")?;
        return Some(Topology::Mesh { extents: None, dimensions, wrap });
    };
    let extents = table.counts("extents", 1..=NODES, "[8, 8]");
    let twice = table.place("dimensions");
    if twice.is_some() {
        // The key is known, although it is not used here.
        table.count("dimensions", 2..=3, "2");
    }
    let refuse = |kind, span, message: &str, label: &str, help: &str| {
        table.fault(kind, span, [message, label, help]);
        None
    };
    if let Some(twice) = twice {
        let help = "leave out `dimensions`";
        return refuse(
            FaultKind::Conflict,
            twice,
            "`extents` and `dimensions` say the same",
            "the second key",
            help,
        );
    }
    let extents = extents?;
    if !(2..=3).contains(&extents.len()) {
        let help = "for example `extents = [8, 8]`";
        return refuse(FaultKind::Range, at, "a grid has two or three dimensions", "not two or three", help);
    }
    let nodes = extents.iter().try_fold(1usize, |nodes, extent| nodes.checked_mul(*extent));
    if nodes.is_none_or(|nodes| nodes > NODES) {
        let help = format!("make them smaller: {NODES} nodes are the most");
        return refuse(FaultKind::Range, at, "the extents make too many nodes", "their product", &help);
    }
    Some(Topology::Mesh { dimensions: extents.len(), extents: Some(extents), wrap })
}

fn dragonfly(table: &mut Fields<'_>) -> Option<Topology> {
    let nodes = table.count("nodes", SWITCH, "4");
    let switches = table.count("switches", SWITCH, "8");
    let global = table.count("global_links", 0..=*SWITCH.end(), "4");
    let global_bandwidth = table.bandwidth("global_bandwidth_mb_per_s", "12500");
    let global_latency: Option<Time> = table.time("global_latency", "300");
    Some(Topology::Dragonfly {
        nodes: nodes?,
        switches: switches?,
        global: global?,
        global_bandwidth: global_bandwidth?,
        global_latency: global_latency?,
    })
}
