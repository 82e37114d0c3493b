//! What helps to develop: logs, the watchdog, traces, printing, assertions; each also where the
//! program goes wrong.

use std::process::Command;
use std::time::Duration;
use strata_develop::log::standing::Report;
use strata_develop::log::{Log, Standing, What};
use strata_develop::trace::{self, Trace};
use strata_runtime::prelude::*;
use strata_runtime::{
    develop::{Development, State},
    ensure,
};

type Program = fn(&mut Node) -> Result<(), Error>;

const NODES: [usize; 5] = [1, 2, 3, 5, 8];

#[test]
fn a_log_has_every_collective_and_message_of_each_node() {
    for nodes in NODES {
        let folder = tempfile::tempdir().unwrap();
        let development = Development::default().log(folder.path().join("new"));
        let program = |node: &mut Node| {
            node.barrier();
            node.log(format_args!("hello\nfrom {}", node.rank()));
            Ok(node.reduce_add(1u64))
        };
        Machine::threads(nodes).unwrap().run_with(&development, program).unwrap();
        let logs = Log::read_folder(&folder.path().join("new")).unwrap();
        assert_eq!(logs.iter().map(|log| log.head.node).collect::<Vec<_>>(), (0..nodes).collect::<Vec<_>>());
        for log in logs {
            let what: Vec<What> = log.entries.into_iter().map(|entry| entry.what).collect();
            let [enter, leave, say, again, and_again, end] = &what[..] else { panic!("{what:?}") };
            let What::Enter { number: 1, call } = enter else { panic!("{enter:?}") };
            assert!(call.starts_with("barrier at ") && call.contains("tests/it/develop.rs:"), "{call}");
            assert_eq!(*leave, What::Leave { number: 1 });
            assert_eq!(*say, What::Say(format!("hello\nfrom {}", log.head.node)));
            let What::Enter { number: 2, call } = again else { panic!("{again:?}") };
            assert!(call.starts_with("reduce add of 1 u64 at "), "{call}");
            assert_eq!((and_again, end), (&What::Leave { number: 2 }, &What::End));
        }
    }
}

#[test]
fn a_log_has_the_failure_and_says_who_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let development = Development::default().log(folder.path());
    let fails: [Program; 3] = [|node| node.fail("no more"), |_| Err("no more".into()), |_| panic!("no more")];
    for fail in fails {
        let run = Machine::threads(3).unwrap().run_with(&development, |node| {
            if node.rank() == 1 {
                return fail(node);
            }
            node.barrier();
            Ok(())
        });
        let failure = run.unwrap_err().to_string();
        assert!(failure.starts_with("node 1: ") && failure.contains("no more"), "{failure}");
        let logs = Log::read_folder(folder.path()).unwrap();
        let report = Report(&Standing::of_logs(&logs)).to_string();
        assert!(report.starts_with("node 1 failed: ") && report.contains("no more"), "{report}");
        assert_eq!(logs[2].entries.last().map(|entry| &entry.what), Some(&What::Stop));
    }
}

#[test]
fn the_watchdog_names_those_who_wait_and_who_has_not_come() {
    let development = Development::default().watchdog(Duration::from_millis(200));
    for nodes in [2, 3, 5, 8] {
        let run = Machine::threads(nodes).unwrap().run_with(&development, |node| {
            node.reduce_add(1u64);
            if node.rank() != 1 {
                node.barrier();
            } else {
                std::thread::sleep(Duration::from_millis(900));
                node.barrier();
            }
            Ok(())
        });
        let error = run.unwrap_err();
        assert_eq!(error.rank(), Some(1));
        let text = error.to_string();
        let waiting: Vec<usize> = (0..nodes).filter(|rank| *rank != 1).collect();
        let waiting = strata_develop::log::standing::nodes(&waiting);
        assert!(
            text.starts_with(
                "node 1: has kept others waiting for more than 200 ms, and the watchdog ended the job:\n"
            ),
            "{text}"
        );
        assert!(text.contains(&format!("{waiting} wait")) && text.contains("in barrier #2 at "), "{text}");
        assert!(text.contains("node 1 has not come: last in reduce add of 1 u64 #1 at "), "{text}");
        assert_eq!(text.matches("tests/it/develop.rs:").count(), 2, "{text}");
    }
}

#[test]
fn the_watchdog_names_each_of_two_collectives_that_cannot_meet() {
    // Barriers do not look at what the others call, so on some transports such nodes wait for each
    // other for ever.
    let development = Development::default().watchdog(Duration::from_millis(100));
    let run = Machine::threads(3).unwrap().run_with(&development, |node| {
        if node.rank() == 2 {
            node.barrier();
        } else {
            node.reduce_add(1u64);
        }
        node.barrier();
        Ok(())
    });
    let text = run.unwrap_err().to_string();
    assert!(text.contains("reduce add of 1 u64") && text.contains("barrier"), "{text}");
}

#[test]
fn the_watchdog_leaves_a_job_alone_that_goes_on() {
    let development = Development::default().watchdog(Duration::from_secs(1));
    let run = Machine::threads(3).unwrap().run_with(&development, |node| {
        for _ in 0..150 {
            std::thread::sleep(Duration::from_millis(10));
            node.barrier();
        }
        Ok(())
    });
    run.unwrap();
}

#[test]
fn a_trace_has_the_states_of_each_node() {
    for nodes in NODES {
        let folder = tempfile::tempdir().unwrap();
        let development = Development::default().trace(folder.path());
        let program = |node: &mut Node| {
            let [count, send] = node.name_states(["count", "send"]);
            assert_eq!(node.set_state(count), State::BUSY);
            node.barrier();
            assert_eq!(node.set_state(send), count);
            assert!(node.record_states(false));
            node.set_state(State::IDLE);
            node.barrier();
            assert!(!node.record_states(true));
            node.write_trace();
            node.reduce_add(1.0);
            node.broadcast_value(0, 1u8);
            // The end is recorded all the same.
            node.record_states(false);
            Ok(())
        };
        Machine::threads(nodes).unwrap().run_with(&development, program).unwrap();
        for trace in Trace::read_folder(folder.path()).unwrap() {
            assert_eq!(trace.clock, Some(trace::ClockOffset { offset: 0, bound: 0 }));
            let names: Vec<&str> = trace
                .events
                .iter()
                .map(|event| match event.what {
                    trace::What::State(state) => trace.states[usize::from(state)].as_deref().unwrap(),
                    trace::What::Off => "off",
                    trace::What::End => "end",
                    _ => "other",
                })
                .collect();
            let written = ["barrier", "idle", "logging", "idle", "barrier", "idle"];
            let expected = [
                &["busy", "count", "barrier", "count", "send", "off", "idle"][..],
                &written[..],
                &["combining", "idle", "moving data", "idle", "off", "end"][..],
            ];
            assert_eq!(names, expected.concat());
        }
    }
}

#[test]
fn a_trace_larger_than_its_buffer_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let development = Development::default().trace(folder.path());
    let changes = 80_000;
    let program = |node: &mut Node| {
        for _ in 0..changes / 2 {
            node.set_state(State::IDLE);
            node.set_state(State::BUSY);
        }
        Ok(())
    };
    Machine::threads(2).unwrap().run_with(&development, program).unwrap();
    for trace in Trace::read_folder(folder.path()).unwrap() {
        let own = trace.events.iter().filter(|event| event.what == trace::What::State(0)).count();
        assert!((changes / 2..=changes / 2 + 4).contains(&own), "{own}");
        assert!(trace.events.iter().any(|event| event.what == trace::What::State(2)));
    }
}

#[test]
fn states_beyond_the_room_are_busy_and_bad_names_end_the_job() {
    Machine::threads(2)
        .unwrap()
        .run(|node| {
            let names = "abcdefghijklmnopq".split("").filter(|name| !name.is_empty()).collect::<Vec<_>>();
            let states = names.iter().map(|name| node.name_states([name])[0]).collect::<Vec<_>>();
            ensure!(node, states[16] == State::BUSY && states[15] != State::BUSY);
            ensure!(node, node.name_states(["a"])[0] == states[0]);
            Ok(())
        })
        .unwrap();
    for name in ["", " a", "two\nlines", &"x".repeat(41)] {
        let run = Machine::threads(2).unwrap().run(|node| {
            node.name_states([name]);
            Ok(())
        });
        let text = run.unwrap_err().to_string();
        for part in ["a state's name is 1 to 40 bytes in one line", "name_states at ", "tests/it/develop.rs:"]
        {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn an_assertion_names_node_condition_and_place() {
    let run = Machine::threads(3).unwrap().run(|node| {
        let (rank, limit) = (node.rank(), 1);
        ensure!(node, rank < 3);
        ensure!(node, rank <= limit, "rank {rank} of {}", node.size());
        node.barrier();
        Ok(())
    });
    let text = run.unwrap_err().to_string();
    assert!(text.starts_with("node 2: `rank <= limit` does not hold: rank 2 of 3 (at "), "{text}");
    assert!(text.contains("tests/it/develop.rs:"), "{text}");
}

#[test]
fn clocks_of_threads_are_one() {
    let offsets = Machine::threads(3).unwrap().run(|node| Ok(node.synchronise_clocks())).unwrap();
    assert_eq!(offsets, [strata_runtime::develop::ClockOffset::default(); 3]);
}

#[test]
fn folders_that_cannot_be_written_are_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for development in [Development::default().log(file.path()), Development::default().trace(file.path())] {
        let text = Machine::threads(2).unwrap().run_with(&development, |_| Ok(())).unwrap_err().to_string();
        assert!(text.contains(&format!("cannot write to {}", file.path().display())), "{text}");
    }
}

/// Runs the test `name` of this program again, as a process of its own in which `STRATA_CHILD`
/// is set.
fn child(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([&format!("develop::{name}"), "--exact", "--nocapture", "--test-threads=1"]);
    command.env("STRATA_CHILD", "1").env("STRATA_ON", "threads:4");
    command
}

fn is_child() -> bool {
    std::env::var_os("STRATA_CHILD").is_some()
}

#[test]
fn logs_of_a_job_that_was_killed_tell_who_was_missing() {
    if is_child() {
        let run = Machine::from_env().unwrap().run(|node| {
            node.reduce_add(1u64);
            if node.rank() == 2 {
                node.log("about to be lost");
                std::thread::sleep(Duration::from_secs(60));
            }
            node.barrier();
            Ok(())
        });
        return run.map(|_| ()).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut job = child("logs_of_a_job_that_was_killed_tell_who_was_missing")
        .env("STRATA_LOG", folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Until three nodes are in the barrier and one has said its last.
    let told = |job: &mut std::process::Child| {
        assert!(job.try_wait().unwrap().is_none(), "the job has ended");
        let logs = Log::read_folder(folder.path()).unwrap_or_default();
        let standings = Standing::of_logs(&logs);
        let inside = standings.iter().filter(|standing| standing.number == 2).count();
        let said = logs.iter().flat_map(|log| &log.entries).any(|e| matches!(e.what, What::Say(_)));
        inside == 3 && said
    };
    for _ in 0..2000 {
        if told(&mut job) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    job.kill().unwrap();
    job.wait().unwrap();
    let logs = Log::read_folder(folder.path()).unwrap();
    let report = Report(&Standing::of_logs(&logs)).to_string();
    assert!(report.starts_with("nodes 0, 1, 3 wait in barrier #2 at "), "{report}");
    assert!(report.contains("; node 2 has not come: last in reduce add of 1 u64 #1 at "), "{report}");
    assert_eq!(logs[2].entries.last().unwrap().what, What::Say("about to be lost".into()));
}

#[test]
fn a_node_that_never_waits_does_not_keep_the_process_from_ending() {
    if is_child() {
        let run = Machine::from_env().unwrap().run(|node| {
            if node.rank() == 3 {
                std::thread::sleep(Duration::from_secs(60));
            }
            node.barrier();
            Ok(())
        });
        return run.map(|_| ()).unwrap();
    }
    let output = child("a_node_that_never_waits_does_not_keep_the_process_from_ending")
        .env("STRATA_WATCHDOG", "200ms")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("nodes 0-2 wait in barrier #1 at "), "{text}");
    assert!(text.contains("node 3 has not come: it has been in no collective yet"), "{text}");
    assert!(text.contains("the watchdog ends the process"), "{text}");
}

#[test]
fn printed_lines_stay_whole_and_none_is_lost_in_silence() {
    const MESSAGES: usize = 4000;
    if is_child() {
        // The line that the test program has begun.
        println!();
        let run = Machine::from_env().unwrap().run(|node| {
            for i in 0..MESSAGES {
                node.print(format_args!("[node {} says {i:04}]", node.rank()));
                if i % 100 == 7 && node.rank() != 3 {
                    node.flush_prints();
                }
            }
            if node.rank() == 2 {
                return Err("so it ends".into());
            }
            Ok(())
        });
        assert!(run.is_err());
        return;
    }
    let output = child("printed_lines_stay_whole_and_none_is_lost_in_silence").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for node in 0..4 {
        let begins = format!("[node {node} says ");
        let said: Vec<usize> = text
            .lines()
            .filter_map(|line| line.strip_prefix(&begins)?.strip_suffix(']')?.parse().ok())
            .collect();
        assert_eq!(said.len(), text.matches(&begins).count(), "a line of node {node} is torn");
        assert!(said.is_sorted_by(|a, b| a + 1 == *b));
        if node == 3 {
            let lost = format!("(node 3: {} more messages did not fit", MESSAGES - said.len());
            assert!(text.contains(&lost), "{lost}\n{}", text.lines().last().unwrap_or(""));
        } else {
            assert_eq!(said.len(), MESSAGES);
        }
    }
}

#[test]
fn a_setting_that_is_no_time_is_explained() {
    if is_child() {
        let error = Machine::from_env().unwrap().run(|_| Ok(())).unwrap_err();
        println!("{error}");
        return;
    }
    for (value, message) in [
        ("soon", "STRATA_WATCHDOG=soon: unknown unit `soon`; use ns, us, ms, s, m or h"),
        ("-3s", "STRATA_WATCHDOG=-3s: `-3s` is not a time such as 60s"),
    ] {
        let output =
            child("a_setting_that_is_no_time_is_explained").env("STRATA_WATCHDOG", value).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn handlers_print_log_and_set_states() {
    let folder = tempfile::tempdir().unwrap();
    let development = Development::default().log(folder.path()).trace(folder.path());
    let program = |node: &mut Node| {
        let [handling] = node.name_states(["handling"]);
        let reporter = node.reporter();
        let mut handlers = node.handlers();
        let count = std::rc::Rc::new(std::cell::Cell::new(0));
        let hello = handlers.request({
            let count = std::rc::Rc::clone(&count);
            move |context, value: u64| {
                let before = reporter.set_state(handling);
                reporter.log(format_args!("{value} from node {}", context.from()));
                reporter.set_state(before);
                count.set(count.get() + 1);
            }
        });
        node.install(handlers);
        for to in 0..node.size() {
            node.send(to, hello, 7);
        }
        let size = node.size();
        node.wait_until(|| count.get() == size);
        Ok(())
    };
    for nodes in NODES {
        Machine::threads(nodes).unwrap().run_with(&development, program).unwrap();
        let logs = Log::read_folder(folder.path()).unwrap();
        for log in &logs {
            for from in 0..nodes {
                let said = What::Say(format!("7 from node {from}"));
                assert_eq!(log.entries.iter().filter(|entry| entry.what == said).count(), 1);
            }
        }
        assert_eq!(Report(&Standing::of_logs(&logs)).to_string(), "no node waits");
        let traces = Trace::read_folder(folder.path()).unwrap();
        let count = |is: fn(&trace::What) -> bool| {
            traces.iter().flat_map(|trace| &trace.events).filter(|event| is(&event.what)).count()
        };
        assert_eq!(count(|what| matches!(what, trace::What::Sent { bytes: 8, .. })), nodes * nodes);
        assert_eq!(count(|what| matches!(what, trace::What::Taken { bytes: 8, .. })), nodes * nodes);
    }
}

#[test]
fn the_watchdog_names_what_waits_for_messages_room_and_split_phase_collectives() {
    let cases: [(Program, &[&str]); 3] = [
        (
            |node| {
                let handlers = node.handlers();
                node.install(handlers);
                match node.rank() {
                    0 => node.wait_until(|| false),
                    // Where no node runs, the job ends without a watchdog.
                    2 => std::thread::sleep(Duration::from_millis(900)),
                    _ => {}
                }
                node.barrier();
                Ok(())
            },
            &["node 1 waits in barrier #2 at ", "has not come", " in wait_until at "],
        ),
        (
            |node| {
                node.barrier();
                if node.rank() == 2 {
                    std::thread::sleep(Duration::from_millis(700));
                } else {
                    let pending = node.start_barrier();
                    node.complete(pending);
                }
                Ok(())
            },
            &["nodes 0, 1 wait in barrier #2 at ", "node 2 has not come: last in barrier #1 at "],
        ),
        (
            |node| {
                let mut handlers = node.handlers();
                let take = handlers.request(|_, _: [u64; 8]| {});
                node.install(handlers);
                if node.rank() == 0 {
                    std::thread::sleep(Duration::from_millis(900));
                } else if node.rank() == 1 {
                    for _ in 0..1_000_000 {
                        node.send(0, take, [1; 8]);
                    }
                }
                Ok(())
            },
            &["node 1 waits in send to node 0 at "],
        ),
    ];
    for (program, messages) in cases {
        let development = Development::default().watchdog(Duration::from_millis(150));
        let error = Machine::threads(3).unwrap().run_with(&development, program).unwrap_err();
        for message in messages {
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}

#[test]
fn puts_are_traced_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let development = Development::default().trace(folder.path());
    let elements = 50_000;
    let program = |node: &mut Node| {
        let handlers = node.handlers();
        node.install(handlers);
        node.open_port(3, Block::<u32>::zeroed(elements));
        node.expect::<u32>(3, elements);
        node.barrier();
        let to = (node.rank() + 1) % node.size();
        node.put(to, 3, 0, &vec![1u32; elements]);
        node.wait_for_port(3);
        Ok(())
    };
    Machine::threads(3).unwrap().run_with(&development, program).unwrap();
    for trace in Trace::read_folder(folder.path()).unwrap() {
        let (mut put, mut arrived) = (0, 0);
        for event in &trace.events {
            match event.what {
                trace::What::Put { to, bytes } => {
                    assert_eq!(to as usize, (trace.head.node + 1) % 3);
                    put += bytes;
                }
                trace::What::Arrived { bytes } => arrived += bytes,
                _ => {}
            }
        }
        assert_eq!((put, arrived), (4 * elements as u64, 4 * elements as u64));
    }
}
