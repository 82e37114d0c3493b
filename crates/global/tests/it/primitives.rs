//! Each primitive where it is easily wrong, and what is refused; on shared memory and by messages.

use bytemuck::Pod;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use strata_global::{Change, Counter, Global, GlobalError, Space, StoreCounter, Way};
use strata_runtime::{prelude::*, simulation::SimulatedMachine};

const HEAP: usize = 1 << 14;

/// Runs a program on 1, 2, 3 and 7 nodes in both ways, and on a simulated machine.
fn everywhere(program: impl Fn(&mut Space<'_>) -> Result<(), Error> + Sync) {
    for nodes in [1, 2, 3, 7] {
        for way in [Way::Shared, Way::Messages] {
            let run = |node: &mut Node| {
                let mut space = Space::open_by(node, HEAP, way)?;
                assert!(space.way() == way);
                program(&mut space)
            };
            Machine::threads(nodes).unwrap().run(run).unwrap();
        }
        let cm5 = SimulatedMachine::find("cm5").unwrap();
        Machine::sim(&cm5, nodes).unwrap().run(|node| program(&mut Space::open(node, HEAP)?)).unwrap();
    }
}

/// The message with which a program of two nodes ends, for both ways.
fn refused(program: impl Fn(&mut Space<'_>) -> Result<(), Error> + Sync) -> [String; 2] {
    [Way::Shared, Way::Messages].map(|way| {
        let run = |node: &mut Node| program(&mut Space::open_by(node, HEAP, way)?);
        Machine::threads(2).unwrap().run(run).unwrap_err().to_string()
    })
}

#[test]
fn arrays_of_no_elements() {
    everywhere(|space| {
        for (blocks, block) in [(0, 1), (0, 0), (4, 0)] {
            let none = space.alloc_blocks::<u64>(blocks, block)?;
            assert!(none.is_empty() && space.mine(&none).next().is_none());
            let first = none.first_of(0);
            space.read_slice(first, &mut []);
            space.write_slice(first, &[]);
            space.store_slice(first, &[]);
            space.phase(|phase| {
                phase.get_slice(&mut [], first);
                phase.put_slice(first, &[]);
            });
            space.write(first.cast::<()>(), ());
            space.all_store_sync();
            space.store_sync(0);
            space.free(none);
        }
        Ok(())
    });
}

#[test]
fn a_full_heap_is_an_error_on_every_node() {
    everywhere(|space| {
        let nodes = space.size();
        let half = space.alloc::<[u8; 64]>(HEAP / 128 * nodes)?;
        let error = space.alloc::<u8>(nodes * HEAP / 2 + 1).unwrap_err();
        let (heap, free) = (HEAP as u64, HEAP as u64 / 2);
        assert_eq!(error, GlobalError::Full { asked: free + 1, heap, free, largest: free });
        assert!(matches!(
            space.alloc::<u64>(usize::MAX),
            Err(GlobalError::TooLong { .. } | GlobalError::Full { .. })
        ));
        let rest = space.alloc::<u8>(nodes * HEAP / 2)?;
        space.free(half);
        space.alloc::<u8>(nodes * HEAP / 2)?;
        space.free(rest);
        Ok(())
    });
}

#[test]
fn memory_that_is_allocated_again_is_zero() {
    everywhere(|space| {
        for round in 1..4u64 {
            let array = space.alloc::<[u64; 3]>(50)?;
            for (_, p) in space.mine(&array) {
                assert_eq!(space.read(p), [0; 3]);
            }
            space.barrier();
            // Stores that nobody waits for do not reach the next array.
            (0..50).for_each(|i| space.store(array.at(i), [round; 3]));
            space.free(array);
        }
        Ok(())
    });
}

#[test]
fn arrays_are_freed_only_when_all_access_is_complete() {
    everywhere(|space| {
        let array = space.alloc_blocks::<u64>(space.size(), 300)?;
        let me = space.rank();
        space.write_slice(array.first_of(me), &[me as u64 + 1; 300]);
        space.barrier();
        let next = (me + 1) % space.size();
        let mut values = [0; 300];
        space.phase(|phase| {
            phase.get_slice(&mut values, array.first_of(next));
            phase.free(array);
            phase.alloc::<[u8; 1024]>(7).map(drop)
        })?;
        assert_eq!(values, [next as u64 + 1; 300]);
        Ok(())
    });
}

/// A node that has left `all_store_sync` may store to one that has not: those bytes count for the
/// next time.
#[test]
fn early_leavers_lose_no_bytes() {
    everywhere(|space| {
        let nodes = space.size();
        let boxes = space.alloc_blocks::<u64>(nodes, nodes)?;
        for round in 1..200u64 {
            for to in 0..nodes {
                space.store(boxes.first_of(to) + space.rank() as i64, round);
            }
            if round % 3 == 0 {
                space.store_sync(8 * nodes as u64);
                space.barrier();
            } else {
                space.all_store_sync();
            }
            let own = boxes.first_of(space.rank());
            for from in 0..nodes {
                // Another node may be one round ahead.
                let seen = space.read(own + from as i64);
                assert!(seen == round || seen == round + 1, "round {round}: {seen}");
            }
        }
        Ok(())
    });
}

#[test]
fn atomic_operations_lose_nothing() {
    everywhere(|space| {
        let (nodes, me) = (space.size(), space.rank());
        let words = space.alloc::<u64>(3 * nodes)?;
        let (sum, lock, guarded) = (words.at(0), words.at(1), words.at(2));
        for _ in 0..20 {
            space.fetch_add(sum, 1);
            while !space.test_and_set(lock) {}
            let value = space.read(guarded);
            space.write(guarded, value + 1);
            assert_eq!(space.fetch(lock, Change::Set, 0), 1);
        }
        space.barrier();
        assert_eq!([space.read(sum), space.read(guarded)], [20 * nodes as u64; 2]);
        space.barrier();
        let bits = 1 << me;
        space.fetch(sum, Change::Set, !0);
        space.barrier();
        space.fetch(sum, Change::And, !bits);
        space.fetch(sum, Change::Xor, 1 << 40);
        space.store_change(sum, Change::Or, 0);
        space.all_store_sync();
        let flipped = if nodes % 2 == 1 { 1 << 40 } else { 0 };
        assert_eq!(space.read(sum), !((1u64 << nodes) - 1) ^ flipped);
        assert_eq!(space.compare_swap(sum, 5, 6), Err(!((1u64 << nodes) - 1) ^ flipped));
        Ok(())
    });
}

#[test]
fn procedures_at_one_owner_run_one_after_the_other() {
    everywhere(|space| {
        let push = space.procedure(|mut stack: [u32; 64], value: u32| {
            stack[0] += 1;
            stack[stack[0] as usize] = value;
            (stack, ())
        });
        let top = space.procedure(|stack: [u32; 64], (): ()| (stack, [stack[0]; 13]));
        let stack = space.alloc::<[u32; 64]>(space.size())?;
        let last = stack.at(space.size() - 1);
        (0..5).for_each(|_| space.at_owner(push, last, 7));
        space.barrier();
        assert_eq!(space.at_owner(top, last, ()), [5 * space.size() as u32; 13]);
        Ok(())
    });
}

/// Nodes wait for each other's writes by nothing but reading; a program that does so also notices
/// that another node has failed.
#[test]
fn values_may_be_waited_for_by_reading() {
    everywhere(|space| {
        let flags = space.alloc::<u64>(space.size())?;
        let (me, nodes) = (space.rank(), space.size());
        space.write(flags.at((me + 1) % nodes), 1);
        while space.read(flags.at(me)) == 0 {}
        Ok(())
    });
    for message in refused(|space| {
        let flag = space.alloc::<u64>(2)?.at(1);
        if space.rank() == 0 {
            return Err("no".into());
        }
        while space.read(flag) == 0 {}
        Ok(())
    }) {
        assert_eq!(message, "node 0: no");
    }
}

#[test]
fn a_panic_inside_a_phase_can_be_survived() {
    everywhere(|space| {
        let array = space.alloc_blocks::<u64>(space.size(), 200)?;
        let (me, next) = (space.rank(), (space.rank() + 1) % space.size());
        space.write_slice(array.first_of(me), &[me as u64 + 1; 200]);
        space.barrier();
        let mut values = [0; 200];
        let caught = catch_unwind(AssertUnwindSafe(|| {
            space.phase(|phase| {
                phase.get_slice(&mut values, array.first_of(next));
                phase.put(array.first_of(next) + 199, 77);
                std::panic::resume_unwind(Box::new("on purpose"));
            })
        }));
        assert!(caught.is_err());
        assert!(values == [0; 200] || values[..199] == [next as u64 + 1; 199]);
        let before = values;
        // What it had under way is complete after another phase.
        space.phase(|_| ());
        space.barrier();
        assert_eq!(space.read(array.first_of(me) + 199), 77);
        assert_eq!(values, before, "its destinations are no longer written");
        Ok(())
    });
    for message in refused(|space| {
        let p = Global::<u64>::new(1 - space.rank(), 0);
        let mut value = 0;
        space.phase(|phase| {
            phase.get(&mut value, p);
            assert!(phase.rank() == 0, "node 1 has had enough");
        });
        space.barrier();
        Ok(())
    }) {
        assert!(message.starts_with("node 1: panicked: node 1 has had enough"), "{message}");
    }
}

/// Neither the receiver's room nor the bytes are exhausted: senders wait.
fn flood(stores: u64) {
    for way in [Way::Shared, Way::Messages] {
        let run = |node: &mut Node| {
            let mut space = Space::open_by(node, HEAP, way)?;
            let sums = space.alloc::<u64>(64)?;
            let nodes = space.size() as u64;
            if space.rank() > 0 {
                for i in 0..stores {
                    space.store_change(sums.at(0), Change::Add, i);
                }
            } else {
                std::thread::sleep(Duration::from_millis(20));
                space.store_sync(8 * stores * (nodes - 1));
                assert_eq!(space.read(sums.at(0)), (nodes - 1) * (stores * (stores - 1) / 2));
            }
            Ok(())
        };
        Machine::threads(3).unwrap().run(run).unwrap();
    }
}

#[test]
fn receivers_that_do_not_poll_hold_senders_up() {
    flood(20_000);
}

/// `cargo test --release -p strata-global --test it primitives -- --ignored`
#[test]
#[ignore = "takes minutes where cores are few"]
fn receivers_that_do_not_poll_hold_ten_million_stores_up() {
    flood(10_000_000);
}

#[test]
fn more_gets_than_numbers() {
    for way in [Way::Shared, Way::Messages] {
        let run = |node: &mut Node| {
            let mut space = Space::open_by(node, 1 << 18, way)?;
            let array = space.alloc::<u64>(40_000)?;
            for (i, p) in space.mine(&array) {
                space.write(p, i as u64);
            }
            space.barrier();
            let mut values = vec![0; array.len()];
            space.phase(|phase| {
                values.iter_mut().enumerate().for_each(|(i, value)| phase.get(value, array.at(i)));
            });
            assert!(values.iter().zip(0..).all(|(value, i)| *value == i));
            Ok(())
        };
        Machine::threads(2).unwrap().run(run).unwrap();
    }
}

type Access = fn(&mut Space<'_>, Global<u64>);

/// A program that ends the job at one access.
fn refused_access<T: Pod>(access: impl Fn(&mut Space<'_>, Global<T>) + Sync, p: Global<T>) -> String {
    let [shared, messages] = refused(|space| {
        if space.rank() == 1 {
            access(space, p);
        }
        space.barrier();
        Ok(())
    });
    assert_eq!(shared, messages);
    assert!(shared.starts_with("node 1: ") && shared.contains("tests/it/primitives.rs:"), "{shared}");
    shared
}

#[test]
fn what_is_outside_is_named_with_node_and_place() {
    let end = Global::<u64>::new(0, HEAP as u64);
    let message = refused_access(|space, p| _ = space.read(p), end);
    let expected = "node 1: read of 8 bytes at offset 16384 of node 0: the heap of each node has 16384 \
                    bytes (at crates/global/tests/it/primitives.rs:";
    assert!(message.starts_with(expected), "{message}");
    let accesses: [(&str, Access); 12] = [
        ("write of 8", |space, p| space.write(p, 1)),
        ("store of 8", |space, p| space.store(p, 1)),
        ("store_slice of 16", |space, p| space.store_slice(p - 1, &[1; 2])),
        ("read_slice of 16", |space, p| space.read_slice(p - 1, &mut [0; 2])),
        ("write_slice of 16", |space, p| space.write_slice(p - 1, &[1; 2])),
        ("get of 8", |space, p| space.phase(|phase| phase.get(Box::leak(Box::new(0)), p))),
        ("put of 8", |space, p| space.phase(|phase| phase.put(p, 0))),
        ("get_slice of 16", |space, p| {
            space.phase(|phase| phase.get_slice(Box::leak(Box::new([0; 2])), p - 1))
        }),
        ("put_slice of 16", |space, p| space.phase(|phase| phase.put_slice(p - 1, &[0; 2]))),
        ("an atomic operation of 8", |space, p| _ = space.fetch_add(p, 1)),
        ("compare_swap of 8", |space, p| _ = space.compare_swap(p, 1, 2)),
        ("store_change of 8", |space, p| space.store_change(p, Change::Add, 2)),
    ];
    for (what, access) in accesses {
        let message = refused_access(access, end);
        assert!(message.starts_with(&format!("node 1: {what} bytes at offset ")), "{message}");
    }
    let message = refused_access(|space, p| space.write(p, 1), Global::<u64>::new(2, 0));
    assert!(message.contains("write at node 2: nodes are 0 to 1"), "{message}");
    let message = refused_access(|space, p| space.write(p - 2, 1), Global::<u64>::new(0, 8));
    assert!(message.contains("write of 8 bytes at an offset out of range of node 0"), "{message}");
    let message = refused_access(|space, p| _ = space.fetch_add(p, 1), Global::<u64>::new(0, 12));
    assert!(message.contains("an atomic operation at offset 12, which is no multiple of 8"), "{message}");
}

#[test]
fn nodes_that_differ_are_told() {
    for message in refused(|space| {
        let elements = 5 + space.rank();
        space.alloc::<u64>(elements)?;
        Ok(())
    }) {
        assert!(message.contains("alloc: the nodes call it with different arguments"), "{message}");
    }
    for message in refused(|space| {
        let (first, second) = (space.alloc::<u64>(2)?, space.alloc::<u64>(2)?);
        space.free(if space.rank() == 0 { first } else { second });
        Ok(())
    }) {
        assert!(message.contains("free: the nodes call it with different arguments"), "{message}");
    }
}

#[test]
fn bytes_that_never_come_are_counted() {
    // The other node has ended, or waits for something else: none will ever come.
    for (way, ends) in [Way::Shared, Way::Messages].into_iter().flat_map(|way| [(way, true), (way, false)]) {
        let run = |node: &mut Node| {
            let mut space = Space::open_by(node, HEAP, way)?;
            if space.rank() == 0 {
                space.store(Global::new(1, 0), [7u8; 5]);
                if ends {
                    return Ok(());
                }
                space.barrier();
            }
            space.store_sync(12);
            Ok(())
        };
        let message = Machine::threads(2).unwrap().run(run).unwrap_err().to_string();
        let other = if ends { "node 0 waits for the others to end" } else { "node 0 waits in barrier at" };
        let waits = "node 1 waits in store_sync of 12 bytes, of which 5 have come at";
        assert!(message.contains("deadlock"), "{message}");
        assert!(message.contains(waits) && message.contains(other), "{message}");
    }
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    let run = |node: &mut Node| {
        Space::open(node, HEAP)?.store_sync(12);
        Ok(())
    };
    let message = Machine::sim(&cm5, 2).unwrap().run(run).unwrap_err().to_string();
    assert!(message.contains("store_sync of 12 bytes, of which 0 have come"), "{message}");
}

#[test]
fn ways_that_do_not_exist_are_refused() {
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    let run = |node: &mut Node| {
        assert!(matches!(Space::open_by(node, HEAP, Way::Shared), Err(GlobalError::NotShared)));
        assert!(matches!(Space::open(node, usize::MAX), Err(GlobalError::TooLong { .. })));
        let mut space = Space::open(node, HEAP)?;
        assert_eq!(space.one_sided_from(64), Err(GlobalError::NotOneSided));
        Ok(())
    };
    Machine::sim(&cm5, 2).unwrap().run(run).unwrap();
}

/// Prints the way of a space of this process's environment, and how a store that nobody waits for
/// ends it.
#[test]
#[ignore = "a part of others"]
fn opened_by_the_environment() {
    let run = Machine::from_env().unwrap().run(|node| {
        let mut space = Space::open(node, HEAP)?;
        let word = space.alloc::<u64>(1)?.at(0);
        if space.rank() == 1 {
            space.store(word, 7);
        }
        space.barrier();
        space.poll();
        space.read(word);
        Ok(format!("{:?}", space.way()))
    });
    println!("ended: {run:?}");
}

#[test]
fn checking_and_the_way_are_separate_settings() {
    let opened = |settings: &[(&str, &str)]| {
        let mut program = std::process::Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "primitives::opened_by_the_environment", "--ignored", "--nocapture"]);
        let output = program.env("STRATA_ON", "threads:2").envs(settings.iter().copied()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let pin = |value| ("STRATA_PIN", value);
    let (check, sim) = (("STRATA_CHECK", "1"), ("STRATA_ON", "sim:cm5:2"));
    let remark = "STRATA_CHECK=1 checks accesses to global memory only where they are messages";
    for (settings, says) in [
        (&[][..], "\"Shared\""),
        (&[pin("global=shared")], "\"Shared\""),
        (&[pin("global=messages, global_stores=messages")], "\"Messages\""),
        (&[pin("global=messages, global_stores=gathered")], "\"Gathered\""),
        (&[check], "\"Shared\""),
        (&[("STRATA_CHECK", "0"), pin("global=messages, global_stores=messages")], "\"Messages\""),
        (&[check, pin("global=messages")], "node 1 has stored at offset 0, and no store_sync"),
        (&[check, pin("global=messages"), sim], "node 1 has stored at offset 0, and no store_sync"),
        (&[sim, pin("global=shared")], "the nodes do not share memory"),
        (&[pin("global=mesages")], "does not have (did you mean `messages`?); it has shared, messages"),
        (&[pin("global=messages:3")], "`global=messages:3` gives parameters"),
        (&[pin("globl=messages")], "a library that is not there: did you mean `global`?"),
        (&[pin("global=")], "`` is not the name of a candidate"),
        (&[pin("global=shared,global=messages")], "`global` is pinned twice"),
    ] {
        let (out, err) = opened(settings);
        assert!(out.contains("ended: ") && out.contains(says), "{settings:?}: {out}{err}");
        assert_eq!(err.matches(remark).count(), usize::from(settings == [check]), "{settings:?}: {err}");
        assert!(!err.contains("had no effect"), "{settings:?}: {err}");
    }
}

#[test]
fn the_checker_reports_what_is_not_synchronised() {
    let ends = |program: fn(&mut Space<'_>, Global<u64>)| {
        let run = |node: &mut Node| {
            let mut space = Space::open_checked(node, HEAP)?;
            let array = space.alloc_blocks::<u64>(2, 10)?;
            program(&mut space, array.first_of(1));
            space.barrier();
            space.free(array);
            Ok(())
        };
        Machine::threads(2).unwrap().run(run)
    };
    let told = |program| ends(program).unwrap_err().to_string();
    let message = told(|space, p| {
        let first = space.rank() == 0;
        space.phase(|phase| {
            if first {
                phase.put_slice(p, &[1; 9]);
                while !phase.is_complete() {}
            }
            phase.barrier();
            if !first {
                phase.read(p + 8);
            }
            phase.barrier();
        });
    });
    assert!(
        message.starts_with("node 1: read of its own heap: node 0 has a put under way at offset 64"),
        "{message}"
    );
    let message = told(|space, p| {
        if space.rank() == 0 {
            space.store_slice(p, &[1; 9]);
            space.fetch_add(p, 1);
        }
        space.barrier();
        if space.rank() == 1 {
            space.write(p + 9, 1);
            space.store(p + 8, 1);
        }
    });
    assert!(
        message.starts_with("node 1: store of its own heap: node 0 has stored at offset 64"),
        "{message}"
    );
    let message = told(|space, p| {
        if space.rank() == 0 {
            space.store_change(p, Change::Add, 1);
        }
    });
    assert!(message.starts_with("node 1: free of its own heap: node 0 has stored at offset 0"), "{message}");
    // Another counter's completion is not that of this one.
    let message = told(|space, p| {
        if space.rank() == 0 {
            let (mut one, mut other) = (Counter::new(), Counter::new());
            space.on(&mut one).put(p, 1);
            space.on(&mut other).put_slice(p.cast::<u8>() + 8, &[2; 40]);
            while !space.on(&mut one).is_complete() || !space.on(&mut other).is_complete() {}
            space.complete(other);
            space.barrier();
            space.barrier();
            space.complete(one);
        } else {
            space.barrier();
            assert_eq!(space.read(p + 1), u64::from_ne_bytes([2; 8]));
            space.read(p);
            space.barrier();
        }
    });
    assert!(
        message.starts_with("node 1: read of its own heap: node 0 has a put under way at offset 0"),
        "{message}"
    );
    let message = told(|space, p| {
        let (one, other) = (StoreCounter::new(2), StoreCounter::new(3));
        if space.rank() == 0 {
            space.stores(one).store(p, 1);
            space.stores(other).store_change(p + 1, Change::Add, 1);
        } else {
            space.stores(one).sync(8);
            space.read(p);
            while !space.stores(other).is_sync(0) {}
            space.stores(one).sync(0);
        }
        space.barrier();
        if space.rank() == 1 {
            space.stores(one).sync(0);
            space.store(p + 2, 1);
        }
        space.barrier();
        if space.rank() == 0 {
            space.stores(other).store(p + 3, 1);
            space.barrier();
        } else {
            space.barrier();
            space.poll();
            space.read(p + 3);
        }
    });
    assert!(
        message.starts_with("node 1: read of its own heap: node 0 has stored at offset 24 on counter 3"),
        "{message}"
    );
    // The same, synchronised.
    ends(|space, p| {
        if space.rank() == 0 {
            space.phase(|phase| phase.put(p, 1));
            space.write(p + 1, 1);
            space.store_slice(p + 2, &[1; 8]);
        } else {
            space.store_sync(64);
        }
        space.barrier();
        let own = p + 4;
        assert_eq!(space.read(own), 1);
        space.barrier();
        space.store_change(own, Change::Add, 1);
        if space.rank() == 1 {
            space.fetch_add(own, 1);
        }
        space.all_store_sync();
        space.barrier();
        assert_eq!([space.read(p), space.read(p + 1), space.read(own)], [1, 1, 4]);
    })
    .unwrap();
}

/// Luna 1994, §4.3.2: after `x = all_scan_add(x)` another node may not have stored its result yet.
#[test]
fn the_checker_reports_results_that_are_read_too_early() {
    let paragon = SimulatedMachine::find("paragon").unwrap();
    let ends = |barrier: bool, reader_is_first: bool| {
        let run = Machine::sim(&paragon, 3).unwrap().run(|node| {
            let mut space = Space::open_checked(node, HEAP)?;
            let sums = space.alloc::<u64>(space.size())?;
            let (rank, last) = (space.rank(), space.size() - 1);
            let sum = space.inclusive_scan(Op::Add, rank as u64 + 1);
            if (rank == 0) != reader_is_first {
                for _ in 0..100 {
                    space.compute(1e3, || ());
                    space.poll();
                }
            }
            if rank == last {
                space.write(sums.at(last), sum);
            }
            if barrier {
                space.barrier();
            }
            let mut value = 0;
            if rank == 0 {
                space.phase(|phase| phase.get(&mut value, sums.at(last)));
            }
            space.barrier();
            space.free(sums);
            Ok(value)
        });
        run.map(|run| run.results[0])
    };
    for reader_is_first in [false, true] {
        let message = ends(false, reader_is_first).unwrap_err().to_string();
        assert!(
            message.starts_with("node 2: ")
                && message.contains("node 0 reads offset 0 of this node, which writes there the result")
                && message.contains("barrier()"),
            "{message}"
        );
        assert_eq!(ends(true, reader_is_first).unwrap(), 6);
    }
}

#[test]
fn a_counter_ends_with_complete() {
    let messages = refused(|space| {
        let p = Global::<u64>::new(1, 0);
        let mut value = 0;
        let mut counter = Counter::new();
        space.on(&mut counter).get(&mut value, p);
        drop(counter);
        space.barrier();
        Ok(())
    });
    for message in messages {
        assert!(message.contains("the counter that was used at ") && message.contains("primitives.rs:"));
        assert!(message.contains("it ends with Space::complete(counter)"), "{message}");
    }
    // One that was not used, and one that a panic ends.
    everywhere(|space| {
        drop(Counter::new());
        let last = space.size() - 1;
        let p = Global::<u64>::new(last, 0);
        if space.rank() == last {
            space.write(p, 5);
        }
        space.barrier();
        let mut value = 0;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut counter = Counter::new();
            space.on(&mut counter).get(&mut value, p);
            space.on(&mut counter).put(p + 1, 6);
            panic!("a counter ends");
        }));
        assert!(ended.is_err() && [0, 5].contains(&value));
        space.phase(|phase| phase.get(&mut value, p));
        assert_eq!((value, space.read(p + 1)), (5, 6));
        space.barrier();
        Ok(())
    });
}

/// A counter is one of a space, and may be used again there after it was complete.
#[test]
fn counters_are_used_again_and_on_one_space() {
    everywhere(|space| {
        let p = Global::<u64>::new((space.rank() + 1) % space.size(), 0);
        let mut values = [0; 3];
        let mut counter = Counter::new();
        for (value, i) in values.iter_mut().zip(0..) {
            space.on(&mut counter).put(p + i, i as u64);
            space.on(&mut counter).sync();
            space.on(&mut counter).get(value, p + i);
        }
        space.complete(counter);
        assert_eq!(values, [0, 1, 2]);
        space.barrier();
        Ok(())
    });
    let ended = Machine::threads(2).unwrap().run(|node| {
        let mut counter = Counter::new();
        let mut space = Space::open_by(node, HEAP, Way::Messages)?;
        space.on(&mut counter).put(Global::<u64>::new(1, 0), 1);
        space.barrier();
        drop(space);
        let mut space = Space::open_by(node, HEAP, Way::Messages)?;
        space.on(&mut counter).put(Global::<u64>::new(1, 0), 1);
        space.complete(counter);
        Ok(())
    });
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("the counter has been used on another space"), "{message}");
}
