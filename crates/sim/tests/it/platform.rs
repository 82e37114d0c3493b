//! Platform files: the built-in ones, what is refused, and that nothing panics.

use proptest::prelude::*;
use strata_sim::Time;
use strata_sim::platform::{FaultKind, Faults, MachineError, SimulatedMachine, Topology};
use strata_sim::topology::Graph;
use strata_sim::{Barrier, Figures};

const CM5: &str = include_str!("../../platforms/cm5.toml");

fn faults(text: &str) -> Faults {
    SimulatedMachine::parse("test.toml", text.as_bytes()).expect_err("it is refused")
}

/// The CM-5's file with the line of one key replaced.
fn with(key: &str, line: &str) -> String {
    let mut found = false;
    let lines = CM5.lines().map(|old| {
        let this = old.split_once(" =").is_some_and(|(before, _)| before == key);
        found |= this;
        if this { line } else { old }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    assert!(found, "{key}");
    text
}

/// The CM-5's file with another topology.
fn on(topology: &str) -> String {
    let (before, rest) = CM5.split_once("[topology]").expect("a topology");
    let (_, after) = rest.split_once("[link]").expect("links");
    format!("{before}[topology]\n{topology}\n[link]{after}")
}

fn marked(faults: &Faults) -> &str {
    &faults.text[faults.faults[0].span.clone()]
}

#[test]
fn built_in_platforms_are_right() {
    for name in SimulatedMachine::built_in() {
        let platform = SimulatedMachine::named(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(platform.name, name);
        assert_eq!(platform.sha256.len(), 64);
    }
    assert_eq!(SimulatedMachine::built_in().count(), 8);
}

#[test]
fn circuits_are_read_and_checked() {
    let iwarp = include_str!("../../platforms/iwarp.toml");
    let circuits = SimulatedMachine::named("iwarp").unwrap().circuits.unwrap();
    assert_eq!((circuits.overhead, circuits.hop, circuits.slots, circuits.barriers), (36.0, 5.0, 15, 4));
    assert_eq!(SimulatedMachine::named("cm5").unwrap().circuits, None);
    for (line, wrong, kind) in [
        ("slots = 15", "slots = 0", FaultKind::Range),
        ("spool_cycles = 106", "spool = 106", FaultKind::Missing),
        ("hop_cycles = 5", "hop_cycles = -5", FaultKind::Range),
        ("restore_cycles = 69", "restore_cycles = 69\nrestores = 1", FaultKind::Unknown),
    ] {
        let found = faults(&iwarp.replace(line, wrong));
        assert!(found.faults.iter().any(|fault| fault.kind == kind), "{wrong}: {found:?}");
    }
}

#[test]
fn the_cm5_is_brewers() {
    let cm5 = SimulatedMachine::named("cm5").unwrap();
    let cycle = 1.0 / cm5.cpu.frequency;
    let cycles = |time: Time| time.seconds() / cycle;
    let receive = cycles(cm5.interface.receive) + cycles(cm5.interface.dispatch);
    let send = cycles(cm5.interface.send);
    // Equations 46 to 48 of section 6.1.3; times are whole picoseconds.
    assert!((receive - 62.0).abs() < 1e-3, "{receive}");
    assert!((send + cycles(cm5.interface.failed_poll) - 37.0).abs() < 1e-3);
    assert!((16.0 / ((send + receive) * cycle) / 1e6 - 5.93).abs() < 0.01);
    assert!((16.0 / (receive * cycle) / 1e6 - 8.52).abs() < 0.01);
    // Figure 7-1, for 64 nodes in three levels.
    let Topology::FatTree { arity, parents, bandwidths } = cm5.topology else { panic!("a fat tree") };
    assert_eq!((arity, parents, bandwidths), (4, vec![2, 2, 4], vec![20e6]));
    let graph = Graph::new(&SimulatedMachine::named("cm5").unwrap(), 64).unwrap();
    assert_eq!((graph.bisection(), graph.diameter()), (160e6, 6));
    assert_eq!(cm5.control.map(|control| cycles(control.barrier).round()), Some(140.0));
}

/// Figure 6-6: what a request costs its sender, and a round trip over so many hops, in cycles.
#[test]
fn the_thesiss_models_come_out() {
    // Small messages of 16 bytes.
    let cases = [
        ("cm5", None, 404.2, 14.4),
        ("alewife", Some(33.0), 207.6, 2.552),
        ("paragon", Some(143.0), 302.5, 11.23),
        ("atm", Some(1130.0), 2032.0, 61.89),
    ];
    for (name, request, trip, hop) in cases {
        let platform = SimulatedMachine::named(name).unwrap();
        let cycles = |time: Time| time.seconds() * platform.cpu.frequency;
        let costs = platform.interface;
        if let Some(request) = request {
            // And a look at each network.
            let sum = cycles(costs.send) + cycles(costs.after_send) + 2.0 * cycles(costs.failed_poll);
            assert!((sum - request).abs() < 0.1, "{name}: {sum}");
        }
        let bytes = 16.0 + costs.header as f64;
        let wire = bytes / platform.link.bandwidth * platform.cpu.frequency;
        let way = [costs.send, costs.receive, costs.dispatch, costs.latency].map(cycles).iter().sum::<f64>();
        let sum = 2.0 * (way + wire + cycles(costs.failed_poll));
        assert!((sum - trip).abs() < 0.5, "{name}: {sum}");
        assert!((2.0 * cycles(platform.link.latency) - hop).abs() < 0.01, "{name}");
    }
}

/// Equations 47 and 48 and table 1 for the CM-5; the formulas for a machine without a control
/// network.
#[test]
fn figures_follow_from_the_costs() {
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-3;
    let cm5 = Figures::new(&SimulatedMachine::named("cm5").unwrap(), 64).unwrap();
    assert!(close(cm5.two_way, 16.0 / 89.0 * 33e6) && close(cm5.one_way, 16.0 / 62.0 * 33e6), "{cm5:?}");
    assert!(matches!(cm5.barrier, Barrier::Control(time) if close(time.seconds(), 140.0 / 33e6)));
    // Of the other 63 nodes 3 are two hops away, 12 four and 48 six.
    assert!(close(cm5.hops.0, (3.0 * 2.0 + 12.0 * 4.0 + 48.0 * 6.0) / 63.0));
    let way = |hops: f64| (70.1 + 7.2 * hops + 12.0 / 20.0 * 33.0) / 33e6;
    assert!(close(cm5.latency.0.seconds(), way(cm5.hops.0)) && close(cm5.latency.1.seconds(), way(6.0)));

    let alewife = SimulatedMachine::named("alewife").unwrap();
    let figures = Figures::new(&alewife, 16).unwrap();
    assert_eq!(figures.hops.1, 6);
    let round = figures.send + figures.latency.0 + figures.receive;
    assert_eq!(figures.barrier, Barrier::Dissemination(round.times(4)));
    assert!(close(figures.dma.unwrap(), 74.25e6 * 80.0 / 88.0) && cm5.dma.is_none());

    for name in SimulatedMachine::built_in() {
        let platform = SimulatedMachine::named(name).unwrap();
        for nodes in [1, 2, 4, 8, 64] {
            let figures = Figures::new(&platform, nodes).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(figures.nodes, nodes);
            assert!(figures.latency.0 <= figures.latency.1 && figures.hops.0 <= figures.hops.1 as f64);
            assert!(figures.two_way <= figures.one_way * 1.0001, "{name}: {figures:?}");
            if nodes == 1 {
                assert_eq!((figures.hops, figures.latency), ((0.0, 0), (Time::ZERO, Time::ZERO)));
            }
        }
    }
}

#[test]
fn units_are_read_as_they_say() {
    for line in ["send_us = 1", "send_ns = 1_000", "send_ns = 1e3", "send_cycles = 33", "send_cycles = 0x21"]
    {
        let platform = SimulatedMachine::parse("test", with("send_cycles", line).as_bytes()).unwrap();
        assert_eq!(platform.interface.send, Time(1_000_000), "{line}");
    }
    // The times of a fast processor's cycles, too, though `cpu` stands last.
    let (cpu, rest) = (CM5.find("[cpu]").unwrap(), CM5.find("# Section 6.1.3 measures").unwrap());
    let moved = format!("{}{}\n[cpu]\nfrequency_mhz = 66\nkernel_factor = 1\n", &CM5[..cpu], &CM5[rest..]);
    let platform = SimulatedMachine::parse("test", moved.as_bytes()).unwrap();
    assert_eq!(platform.interface.send, Time(409_091));
}

#[test]
fn what_is_wrong_is_refused_at_its_place() {
    use FaultKind::{Conflict, Missing, Range, Syntax, Type, Unknown};
    let cases = [
        ("frequency_mhz", "frequency_mhz = 0", Range, "0"),
        ("frequency_mhz", "frequency_mhz = nan", Range, "nan"),
        ("kernel_factor", "kernel_factor = -1", Range, "-1"),
        ("send_cycles", "send_cycles = -1", Range, "-1"),
        ("send_cycles", "send_cycles = inf", Range, "inf"),
        ("send_cycles", "send_us = 1e300", Range, "1e300"),
        ("send_cycles", "send_cycles = \"27\"", Type, "\"27\""),
        ("send_cycles", "send = 27", Missing, "interface"),
        ("send_cycles", "send_cycles = 27\nsend_ns = 100", Conflict, "send_ns"),
        ("send_cycles", "send_cycles = 27\nsend_cycles = 27", Syntax, "send_cycles"),
        ("send_byte_cycles", "send_byte_us = 1e8", Range, "interface"),
        ("packet_bytes", "packet_bytes = 0", Range, "0"),
        ("packet_bytes", "packet_bytes = 99999999999999999999", Range, "99999999999999999999"),
        ("packet_bytes", "packet_bytes = 16.0", Type, "16.0"),
        ("send_queue_packets", "send_queue_packets = 0", Range, "0"),
        ("buffer_packets", "buffer_packets = 0", Range, "0"),
        ("bandwidth_mb_per_s", "bandwidth_mb_per_s = 0", Range, "0"),
        ("bandwidth_mb_per_s", "bandwidth_mb_per_s = -inf", Range, "-inf"),
        ("arity", "arity = 1", Range, "1"),
        ("parents", "parents = []", Range, "[]"),
        ("parents", "parents = [2, 0]", Range, "0"),
        ("parents", "parents = 2", Type, "2"),
        ("bandwidths_mb_per_s", "bandwidths_mb_per_s = [nan]", Range, "nan"),
        ("kind", "kind = \"fattree\"", Unknown, "\"fattree\""),
        ("switching", "switching = \"wormhole\"", Unknown, "\"wormhole\""),
        ("pipelined", "pipelined = 1", Type, "1"),
        ("name", "name = \"two words\"", Range, "\"two words\""),
        ("Pack", "Pack = [655]", Range, "[655]"),
        ("Pack", "Pack = [655, -1]", Range, "-1"),
        ("name", "name = CM5", Syntax, "CM5"),
        ("barrier_cycles", "barier_cycles = 140", Missing, "control"),
    ];
    for (key, line, kind, place) in cases {
        let found = faults(&with(key, line));
        let first = &found.faults[0];
        assert_eq!((first.kind, marked(&found)), (kind, place), "{line}: {found}");
        assert!(!first.help.is_empty() && !first.label.is_empty(), "{line}");
    }
    for (topology, place) in [
        ("kind = \"mesh\"\nextents = [8, 0]", "0"),
        ("kind = \"mesh\"\nextents = [8]", "[8]"),
        ("kind = \"torus\"\nextents = [1048576, 1048576, 1048576]", "[1048576, 1048576, 1048576]"),
        ("kind = \"torus\"\nextents = [4, 4]\ndimensions = 2", "2"),
        ("kind = \"torus\"\ndimensions = 4", "4"),
        ("kind = \"switch\"\nbackplane_mb_per_s = 0", "0"),
        ("kind = \"hypercube\"\narity = 4", "arity"),
        (
            "kind = \"dragonfly\"\nnodes = 0\nswitches = 8\nglobal_links = 4\nglobal_bandwidth_mb_per_s = 1\nglobal_latency_ns = 1",
            "0",
        ),
    ] {
        let found = faults(&on(topology));
        assert_eq!((found.faults.len(), marked(&found)), (1, place), "{topology}: {found}");
    }
}

#[test]
fn all_faults_come_at_once_in_order() {
    let found =
        faults("name = \"\"\n[cpu]\nfrequency_mhz = 0\nfoo = 1\n[intrface]\n[link]\nlatency_ns = -1\n");
    let text = found.to_string();
    for said in [
        "test.toml:1:1: the file lacks `summary`; add `summary = ",
        "the file lacks the table `[interface]`",
        "the file lacks the table `[topology]`",
        "test.toml:1:8: this cannot be a platform's name",
        "test.toml:2:2: `[cpu]` lacks `kernel_factor`; add `kernel_factor = 1`",
        "test.toml:3:17: `frequency_mhz` is out of range",
        "test.toml:4:1: `[cpu]` has no key `foo`; leave it out: `[cpu]` has frequency_mhz, kernel_factor",
        "test.toml:5:2: the file has no key `intrface`; did you mean `interface`? the file has name, summary, cpu",
        "`[link]` lacks `bandwidth_mb_per_s`",
        "test.toml:7:14: `latency_ns` is out of range; a time is not negative",
    ] {
        assert!(text.contains(said), "{said}\n\n{text}");
    }
    assert!(found.faults.is_sorted_by_key(|fault| fault.span.start));
}

#[test]
fn unknown_keys_are_told_what_was_meant() {
    for (line, help) in [
        ("send = 27", "a time says its unit: `send_cycles`, `send_ns` or `send_us`"),
        ("send_queue = 2", "did you mean `send_queue_packets`?"),
        ("receive_ms = 1", "a time says its unit: `receive_cycles`, `receive_ns` or `receive_us`"),
        ("packets_bytes = 16", "did you mean `packet_bytes`? "),
        ("colour = 1", "leave it out: `[interface]` has send_cycles, send_byte_cycles, after_send_cycles, "),
    ] {
        let found = faults(&with("header_bytes", &format!("header_bytes = 4\n{line}")));
        assert!(found.faults.len() == 1 && found.faults[0].help.starts_with(help), "{line}: {found}");
    }
}

#[test]
fn what_is_no_text_is_told_by_its_line() {
    let found = SimulatedMachine::parse("x", b"name = \"a\"\nsummary = \"\xff\"").unwrap_err();
    assert_eq!(found.place(&found.faults[0]), (2, 12));
    assert_eq!(found.to_string(), "x:2:12: byte 22 is not UTF-8; save the file as UTF-8");
    assert!(SimulatedMachine::parse("x", &vec![b' '; 2 << 20]).is_err());
    assert!(faults(&format!("name = {}", "[".repeat(100_000))).faults.len() <= 2);
}

#[test]
fn platforms_are_found_by_name_or_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, with("name", "name = \"mine\"")).unwrap();
    assert_eq!(SimulatedMachine::find(path.to_str().unwrap()).unwrap().name, "mine");
    assert_eq!(SimulatedMachine::find("cm5").unwrap(), SimulatedMachine::named("cm5").unwrap());
    let unknown = SimulatedMachine::find("cm-5").unwrap_err();
    assert!(matches!(&unknown, MachineError::Unknown { meant: Some("cm5"), .. }), "{unknown}");
    assert_eq!(
        unknown.to_string(),
        "there is no platform `cm-5`: take one of cm5, alewife, paragon, atm, iwarp, ipsc860, ethernet-25g, \
         infiniband-fat-tree, or the path of a platform file (did you mean `cm5`?)"
    );
    for path in [folder.path().to_str().unwrap(), "./cm5", "nowhere.toml"] {
        assert!(matches!(SimulatedMachine::find(path), Err(MachineError::File { .. })), "{path}");
    }
}

#[test]
fn a_hash_tells_files_apart() {
    let other = SimulatedMachine::parse("test", with("send_cycles", "send_cycles = 28").as_bytes()).unwrap();
    assert_ne!(SimulatedMachine::named("cm5").unwrap().sha256, other.sha256);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Arbitrary bytes are refused; damaged files of platforms are in the tests of `specc`, `fuzz`.
    #[test]
    fn nothing_panics_on_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(SimulatedMachine::parse("bytes", &bytes).is_err());
    }
}

#[test]
fn a_look_that_takes_no_time_is_refused() {
    for line in ["failed_poll_cycles = 0", "failed_poll_ns = 0.0001"] {
        let text = faults(&with("failed_poll_cycles", line)).to_string();
        assert!(text.contains("would stand still"), "{text}");
    }
    assert!(
        SimulatedMachine::parse("one", with("failed_poll_cycles", "failed_poll_cycles = 1").as_bytes())
            .is_ok()
    );
}
