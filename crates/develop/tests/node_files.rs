//! Logs and traces: what is written reads back, whatever was torn, and nothing that is read makes
//! the reader panic.

use proptest::prelude::*;
use std::fs;
use strata_develop::log::standing::{Doing, Report, Standing, nodes};
use strata_develop::log::{self, Entry, Head, Log};
use strata_develop::trace::{self, ClockOffset, Event, Trace};

fn head() -> impl Strategy<Value = Head> {
    (1usize..2000, any::<u64>(), any::<prop::sample::Index>()).prop_map(|(nodes, began, node)| Head {
        node: node.index(nodes),
        nodes,
        began,
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    use log::What::*;
    let text =
        || prop_oneof!["\\PC{0,40}", any::<String>().prop_filter("short", |s| s.len() < log::MAX_TEXT)];
    let what = prop_oneof![
        (any::<u64>(), text()).prop_map(|(number, call)| Enter { number, call }),
        (any::<u64>(), text()).prop_map(|(number, call)| Start { number, call }),
        any::<u64>().prop_map(|number| Leave { number }),
        text().prop_map(Wait),
        Just(Go),
        text().prop_map(Say),
        text().prop_map(Fail),
        Just(Stop),
        Just(End),
    ];
    (any::<u64>(), what).prop_map(|(at, what)| Entry { at, what })
}

fn a_log() -> impl Strategy<Value = Log> {
    (head(), prop::collection::vec(entry(), 0..20)).prop_map(|(head, entries)| Log {
        head,
        entries,
        torn: false,
    })
}

fn a_trace() -> impl Strategy<Value = Trace> {
    use trace::What::*;
    let what = |nodes: u32| {
        prop_oneof![
            (0..trace::STATES as u8).prop_map(State),
            Just(Off),
            (0..nodes, any::<u32>()).prop_map(|(to, bytes)| Sent { to, bytes }),
            (0..nodes, any::<u32>()).prop_map(|(from, bytes)| Taken { from, bytes }),
            (0..nodes, any::<u64>()).prop_map(|(to, bytes)| Put { to, bytes }),
            any::<u64>().prop_map(|bytes| Arrived { bytes }),
            Just(End),
        ]
    };
    let clock = prop::option::of(
        (any::<i64>(), any::<u64>()).prop_map(|(offset, bound)| ClockOffset { offset, bound }),
    );
    (head(), clock, prop::collection::vec("[a-z][a-z é/]{0,8}[a-z]", trace::STATES)).prop_flat_map(
        move |(head, clock, names)| {
            prop::collection::vec((any::<u64>(), what(head.nodes as u32)), 0..20).prop_map(move |events| {
                let mut events: Vec<Event> =
                    events.into_iter().map(|(at, what)| Event { at, what }).collect();
                events.sort_by_key(|event| event.at);
                let states = std::array::from_fn(|i| Some(names[i].clone()));
                Trace { head, clock, states, events, torn: false }
            })
        },
    )
}

proptest! {
    #[test]
    fn logs_read_back(log in a_log()) {
        prop_assert_eq!(Log::parse(log.to_string().as_bytes(), "x"), Ok(log));
    }

    #[test]
    fn a_log_torn_anywhere_keeps_its_complete_lines(log in a_log(), cut in any::<prop::sample::Index>()) {
        let text = log.to_string();
        let torn = &text.as_bytes()[..cut.index(text.len()) + 1];
        let lines = torn.iter().filter(|byte| **byte == b'\n').count();
        match Log::parse(torn, "x") {
            Ok(read) => {
                prop_assert_eq!(read.head, log.head);
                prop_assert_eq!(&read.entries[..], &log.entries[..lines - 1]);
                prop_assert_eq!(read.torn, !torn.ends_with(b"\n"));
            }
            Err(error) => prop_assert!(lines == 0, "{}", error),
        }
    }

    #[test]
    fn traces_read_back(trace in a_trace()) {
        prop_assert_eq!(Trace::parse(trace.to_string().as_bytes(), "x"), Ok(trace));
    }

    #[test]
    fn a_trace_torn_anywhere_keeps_its_complete_lines(trace in a_trace(), cut in any::<prop::sample::Index>()) {
        let text = trace.to_string();
        let torn = &text.as_bytes()[..cut.index(text.len()) + 1];
        let lines = torn.iter().filter(|byte| **byte == b'\n').count();
        match Trace::parse(torn, "x") {
            Ok(read) => prop_assert!(trace.events.starts_with(&read.events)),
            Err(error) => prop_assert!(lines == 0, "{}", error),
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in any::<Vec<u8>>(),
        lines in prop::collection::vec("[0-9]{0,3} ?(enter|start|say|s|>|p|a|clock|state|end)? ?(\\PC|\\\\){0,12}", 0..6),
    ) {
        for head in ["", "strata-log 1 node=0 nodes=2 began=5\n", "strata-trace 1 node=0 nodes=2 began=5\n"] {
            let mut text = head.as_bytes().to_vec();
            text.extend(lines.join("\n").bytes());
            text.push(b'\n');
            text.extend(&bytes);
            if let Ok(log) = Log::parse(&text, "x") {
                let _ = Report(&Standing::of_logs(&[log])).to_string();
            }
            let _ = Trace::parse(&text, "x");
        }
    }

    #[test]
    fn a_report_names_every_node_that_waits_and_every_one_it_waits_for(numbers in prop::collection::vec((0u64..4, any::<bool>()), 1..9)) {
        let standings: Vec<Standing> = numbers.iter().enumerate().map(|(rank, &(number, inside))| Standing {
            rank,
            number,
            call: "barrier at a.rs:1".into(),
            doing: if inside && number > 0 { Doing::Inside } else { Doing::Works },
            since: 5,
        }).collect();
        let report = Report(&standings).to_string();
        let waits = |s: &Standing| s.doing == Doing::Inside;
        for standing in &standings {
            let waited_for = standings.iter().any(|other| waits(other) && other.number > standing.number);
            prop_assert_eq!(report.contains(&format!("node {} has not come", standing.rank)), waited_for);
        }
        prop_assert_eq!(report == "no node waits", !standings.iter().any(waits));
    }
}

const FIRST: &str = "strata-log 1 node=0 nodes=4 began=1000\n";

#[test]
fn bad_lines_are_named_with_their_place() {
    for (text, message) in [
        ("", "x:1: there is no complete line in this file"),
        ("strata-log 1 node=0 nodes=4 began=1", "x:1: there is no complete line in this file"),
        (
            "strata-samples 1\n",
            "x:1: the first line must be `strata-log 1 node=… nodes=… began=…`, not `strata-samples 1`",
        ),
        ("strata-log 2\n", "x:1: this program reads version 1 of the format, not `2`"),
        ("strata-log 1 node=4 nodes=4 began=1\n", "x:1: there is no node 4 of 4"),
        (&format!("{FIRST}soon go\n"), "x:2: `soon` is not a time in ns"),
        (&format!("{FIRST}1 go\n2 run\n"), "x:3: there is no entry `run`"),
        (&format!("{FIRST}1 go on\n"), "x:2: nothing may follow `go`, but `on` does"),
        (&format!("{FIRST}1 enter x barrier\n"), "x:2: `x` is not the number of a collective"),
        (&format!("{FIRST}1 say a\\b\n"), "x:2: `\\` must be followed by n, r, t, u or \\, in `a\\b`"),
    ] {
        assert_eq!(Log::parse(text.as_bytes(), "x").unwrap_err().to_string(), message, "{text}");
    }
    let first = "strata-trace 1 node=0 nodes=4 began=1000\nstate 0 idle\n";
    for (line, message) in [
        ("5 s 1", "x:3: state 1 has no name"),
        ("state 24 more", "x:3: states are 0 to 23, not 24"),
        (
            "state 1 ",
            "x:3: a state's name is 1 to 40 bytes in one line, with no space at its ends, but this is ``",
        ),
        ("7 > 4 8", "x:3: there is no node 4"),
        ("7 > 1", "x:3: there is no event `> 1`"),
        ("7 p 1 -8", "x:3: `-8` is not a length"),
        ("7 s 0\n6 s 0", "x:4: the time goes back, from 7 to 6"),
        ("clock 3", "x:3: expected `clock OFFSET BOUND`"),
    ] {
        let text = format!("{first}{line}\n");
        assert_eq!(Trace::parse(text.as_bytes(), "x").unwrap_err().to_string(), message, "{line}");
    }
}

#[test]
fn long_texts_are_cut_within_their_line() {
    let entry = Entry { at: 1, what: log::What::Say("ä\n".repeat(5000)) };
    let mut line = String::from(FIRST);
    entry.print(&mut line).unwrap();
    assert!(line.len() < FIRST.len() + 2 * log::MAX_TEXT + 20, "{}", line.len());
    let read = Log::parse(line.as_bytes(), "x").unwrap();
    let log::What::Say(text) = &read.entries[0].what else { panic!("{read:?}") };
    assert!(text.starts_with("ä\nä\n") && text.ends_with('…'), "{text}");
}

#[test]
fn a_folder_of_logs_tells_who_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let before = "10 enter 16 reduce add of 1 u64 at src/main.rs:9\n20 leave 16\n";
    for node in [0, 2, 3] {
        write(
            &format!("node-{node:04}.log"),
            &format!(
                "strata-log 1 node={node} nodes=4 began=1000\n{before}1000 enter 17 barrier at src/main.rs:10\n"
            ),
        );
    }
    write(
        "node-0001.log",
        "strata-log 1 node=1 nodes=4 began=1000\n20 leave 16\n12300000020 say there\n12300000030 ent",
    );
    write(
        "node-0001.old.log",
        "strata-log 1 node=1 nodes=4 began=1000\n10 enter 16 reduce add of 1 u64 at src/main.rs:9\n",
    );
    write("node-0002.old.log", "strata-log 1 node=2 nodes=4 began=7\n10 fail of an earlier job\n");
    write("unrelated.txt", "x");
    let logs = Log::read_folder(folder.path()).unwrap();
    assert_eq!(logs.iter().map(|log| log.torn).collect::<Vec<_>>(), [false, true, false, false]);
    assert_eq!(
        Report(&Standing::of_logs(&logs)).to_string(),
        "nodes 0, 2, 3 wait in barrier #17 at src/main.rs:10; node 1 has not come: last in reduce add of 1 u64 #16 at \
         src/main.rs:9, 12.3 s ago"
    );
    write("node-0003.log", "strata-log 1 node=3 nodes=5 began=1000\n");
    assert!(Log::read_folder(folder.path()).unwrap_err().to_string().ends_with(
        "node 0 belongs to a job of 4 nodes and node 3 to one of 5: these are the logs of several jobs"
    ));
}

#[test]
fn folders_that_hold_no_whole_job_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let log = Log::read_folder(path).unwrap_err().to_string();
    assert!(
        log.contains("there is no `node-NNNN.log` in this folder; a program run with STRATA_LOG="),
        "{log}"
    );
    let trace = |node: usize, nodes: usize, name: &str| {
        let text = format!("strata-trace 1 node={node} nodes={nodes} began=1\nstate 8 {name}\n5 s 8\n");
        fs::write(path.join(format!("node-{node:04}.trace")), text).unwrap();
        Trace::read_folder(path).map_err(|error| error.to_string())
    };
    assert!(Trace::read_folder(path).unwrap_err().to_string().contains("STRATA_TRACE"));
    assert!(trace(0, 3, "count").unwrap_err().ends_with("node 1 of 3 has no trace"));
    assert!(trace(2, 3, "count").unwrap_err().ends_with("node 1 of 3 has no trace"));
    assert_eq!(trace(1, 3, "count").unwrap().len(), 3);
    assert!(trace(1, 3, "send").unwrap_err().contains("state 8 is `count` on node 0 and `send` on node 1"));
    assert!(trace(1, 4, "count").unwrap_err().contains("these are the traces of several jobs"));
    assert!(Trace::read_folder(&path.join("nowhere")).unwrap_err().to_string().contains("nowhere: "));
}

#[test]
fn nodes_are_told_briefly() {
    assert_eq!(nodes(&[3]), "node 3");
    assert_eq!(nodes(&[0, 1]), "nodes 0, 1");
    assert_eq!(nodes(&[0, 1, 2, 5, 7, 8, 9]), "nodes 0-2, 5, 7-9");
}
