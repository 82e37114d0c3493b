//! Jobs whose standard error cannot be written, as on a full disk or after `2>&1 | head -1`: what
//! is to be said there is lost, the job is not.

use crate::stderr::{Stderr, UNWRITABLE, run};
use std::thread::sleep;
use std::time::{Duration, Instant};
use strata_runtime::prelude::*;

/// Long enough that copies are chosen, and that nodes lend their memory between two rendezvous.
const LENGTH: usize = 1 << 17;

/// What the tests below start: node 0 prints the sum of what two nodes have copied.
#[test]
#[ignore = "a part of others"]
fn copies() {
    let sums = Machine::threads(2).unwrap().run(|node| {
        if node.rank() == 0 {
            strata_select::say!("it begins");
        }
        node.barrier();
        let mine = vec![node.rank() as u64 + 1; LENGTH];
        match &*std::env::var("CALL").unwrap() {
            "all_gather" => Ok(node.all_gather(&mine).iter().sum::<u64>()),
            "broadcast" => {
                let mut values = mine;
                node.broadcast(1, &mut values);
                Ok(values.iter().sum::<u64>())
            }
            "put" => {
                node.install(node.handlers());
                node.open_port(0, Block::<u64>::zeroed(LENGTH));
                node.expect::<u64>(0, LENGTH);
                node.barrier();
                node.put(1 - node.rank(), 0, 0, &mine);
                node.wait_for_port(0);
                Ok(node.close_port::<u64>(0).iter().sum::<u64>())
            }
            _ => Ok(node.rank() as u64),
        }
    });
    println!("sums {:?}", sums.unwrap());
}

#[test]
fn a_misspelt_pin_of_copies_keeps_no_node_waiting() {
    let n = LENGTH as u64;
    for (call, sums) in [("all_gather", [3 * n, 3 * n]), ("broadcast", [2 * n, 2 * n]), ("put", [2 * n, n])] {
        for how in UNWRITABLE {
            let settings = [("STRATA_PIN", "copy=misspelt, copy_strided=misspelt"), ("CALL", call)];
            let Some(end) = run("diagnostics::copies", &settings, how) else { continue };
            end.is(&format!("sums {sums:?}"), how);
        }
    }
}

/// The first copy may stand between two rendezvous, where a full pipe would let all nodes wait.
#[test]
fn a_misspelt_pin_of_copies_is_said_before_nodes_run() {
    for call in ["all_gather", "none"] {
        let settings = [("STRATA_PIN", "copy=misspelt, copy_strided=mooves"), ("CALL", call)];
        let end = run("diagnostics::copies", &settings, Stderr::Read).unwrap();
        end.is("sums ", Stderr::Read);
        let lines: Vec<&str> = end.err.lines().collect();
        let [copy, strided, "it begins"] = lines[..] else { panic!("{}", end.err) };
        assert!(copy.starts_with("strata: STRATA_PIN: `copy=misspelt` had no effect"), "{copy}");
        assert!(strided.starts_with("strata: STRATA_PIN: `copy_strided=mooves` had no effect"), "{strided}");
    }
}

/// So is a file of models that cannot be read, in one line for all libraries of copies.
#[test]
fn a_damaged_file_of_models_is_said_before_nodes_run() {
    let settings = [("STRATA_MODELS", "/nowhere/models.toml"), ("CALL", "all_gather")];
    let end = run("diagnostics::copies", &settings, Stderr::Read).unwrap();
    end.is("sums ", Stderr::Read);
    let lines: Vec<&str> = end.err.lines().collect();
    let [models, "it begins"] = lines[..] else { panic!("{}", end.err) };
    assert!(models.starts_with("strata: /nowhere/models.toml: No such file"), "{models}");
}

/// What the test below starts: a call that is at fault, in a destructor of a node that unwinds.
#[test]
#[ignore = "a part of others"]
fn misuse_in_a_destructor() {
    struct Last<'a>(&'a mut Node);
    impl Drop for Last<'_> {
        fn drop(&mut self) {
            self.0.broadcast_value(9, 1u8);
        }
    }
    let run = Machine::threads(2).unwrap().run(|node| -> Result<(), Error> {
        let _last = Last(node);
        panic!("a user's panic");
    });
    println!("{run:?}");
}

#[test]
fn a_fault_while_a_node_unwinds_is_named() {
    let end = run("diagnostics::misuse_in_a_destructor", &[], Stderr::Read).unwrap();
    assert!(end.status.is_some_and(|status| !status.success()), "{}", end.err);
    assert!(end.err.contains("a user's panic"), "{}", end.err);
    assert!(end.err.contains("broadcast from node 9 of 1 elements of 1 bytes at "), "{}", end.err);
    // Without standard error it ends all the same.
    for how in UNWRITABLE {
        let Some(end) = run("diagnostics::misuse_in_a_destructor", &[], how) else { continue };
        assert!(end.status.is_some_and(|status| !status.success()), "{how:?}");
    }
}

#[test]
fn remarks_on_settings_end_no_job() {
    let settings = [("STRATA_EXPLAN", "1"), ("STRATA_PIN", "srot=radix"), ("CALL", "none")];
    let end = run("diagnostics::copies", &settings, Stderr::Read).unwrap();
    assert!(end.err.contains("did you mean STRATA_EXPLAIN?"), "{}", end.err);
    assert!(end.err.contains("`srot=radix` had no effect"), "{}", end.err);
    for how in UNWRITABLE {
        let Some(end) = run("diagnostics::copies", &settings, how) else { continue };
        end.is("sums [0, 1]", how);
    }
}

/// What the test below starts: a node that neither waits nor ends, whose job only the end of the
/// process ends.
#[test]
#[ignore = "a part of others"]
fn neither_waits_nor_ends() {
    let _result = Machine::threads(2).unwrap().run(|node| {
        while node.rank() == 1 {
            sleep(Duration::from_millis(10));
        }
        node.barrier();
        Ok(())
    });
}

#[cfg(unix)]
#[test]
fn the_watchdog_ends_a_process_that_cannot_say_why() {
    use std::os::unix::process::ExitStatusExt as _;

    const ABORT: i32 = 6;
    for how in [Stderr::Read, Stderr::Closed, Stderr::FullDisk, Stderr::Stuck] {
        let began = Instant::now();
        let Some(end) = run("diagnostics::neither_waits_nor_ends", &[("STRATA_WATCHDOG", "300ms")], how)
        else {
            continue;
        };
        let signal = end.status.and_then(|status| status.signal());
        assert_eq!(signal, Some(ABORT), "{how:?}: {:?} after {:?}\n{}", end.status, began.elapsed(), end.err);
        let why = "a node neither waits nor ends, so the watchdog ends the process";
        assert_eq!(end.err.contains(why), how == Stderr::Read, "{how:?}: {}", end.err);
    }
}
