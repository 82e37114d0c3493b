//! Applications that run: on threads, by messages on a simulated machine, and in simulated time.

use crate::common::{Back, Both, CHECKED, Data, Go, Pair, Return, Tree, by, everywhere, fails, pair, shifts};
use std::time::Duration;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Machine, prelude::*};
use strata_tcs::barrier::{Algorithm, Signal, Way};
use strata_tcs::switch::Mode;
use strata_tcs::{App, Cell, Connection, Image, Options, RunOptions, Target, link, link_with, run, simulate};

#[test]
fn every_mode_carries_every_set() {
    for cells in [1, 2, 3, 5, 8] {
        for mode in Mode::ALL {
            let (image, program) = shifts(cells, mode, None);
            let found = everywhere(&image, |cell| program.body(cell, 7));
            assert_eq!(found, (0..cells).map(|cell| program.expected(cell, 7)).collect::<Vec<_>>(), "{mode}");
        }
        for algorithm in Algorithm::all(None) {
            let (image, program) = shifts(cells, Mode::Triple, Some(algorithm));
            let found = everywhere(&image, |cell| program.body(cell, 3));
            assert_eq!(found, (0..cells).map(|cell| program.expected(cell, 3)).collect::<Vec<_>>());
        }
    }
}

/// A ring on all cells of a machine, and a program that passes each cell's number on ten times with a
/// switch after each.
fn ring(target: Target) -> (Image, impl Fn(&mut Cell<'_>) -> Result<u64, Error> + Sync) {
    let cells = target.cells;
    let mut app = App::new("ring");
    let root = app.task("ring", cells);
    let connect = |cell| app[root].connect::<u64, Data>(cell, (cell + 1) % cells);
    let next: Vec<_> = (0..cells).map(connect).collect();
    app[root].connect::<u64, Back>(1, 0);
    app[root].set::<Go>();
    app[root].set::<Return>();
    let program = move |cell: &mut Cell<'_>| {
        let me = cell.id();
        let mut value = [me as u64];
        for _ in 0..10 {
            cell.phase::<Go, _>(|net| {
                net.send(next[me], &value);
                net.receive(next[(me + cells - 1) % cells], &mut value);
                Ok(())
            })?;
            cell.phase::<Return, _>(|_| Ok(()))?;
        }
        Ok(value[0])
    };
    (link(&app, root, &target).unwrap(), program)
}

#[test]
fn the_machines_own_barrier_takes_all_nodes() {
    let (image, program) = ring(Target { native_barrier: Some(1.0), ..Target::crossbar(3) });
    assert_eq!(image.report().barriers[0].algorithm, "native");
    assert_eq!(everywhere(&image, &program), [2, 0, 1]);
    // Whoever comes first waits for the last.
    let late = simulate(&image, |cell| {
        cell.work(100.0 * cell.id() as f64, || ());
        cell.sync();
        Ok(cell.clocks())
    });
    assert_eq!(late.unwrap().results, [201.0; 3]);
    let error = Machine::threads(4).unwrap().run(|node| run(node, &image, &program)).unwrap_err();
    assert!(error.to_string().contains("own barrier of 3 cells, and there are 4 nodes"), "{error}");
}

/// What a machine signals barriers by is carried out on every transport, and takes its time.
#[test]
fn barriers_by_other_signals_are_barriers() {
    let combining =
        |memory| Way::Combining { settle: 5.0, cell: 1.0, stage: 0.0, channels: 1, turn: 0.0, memory };
    let ways = [
        (combining(true), 10.0),
        (combining(false), 20.0),
        (Way::Broadcast { message: 3.0, private: false }, 15.0),
        (Way::Broadcast { message: 3.0, private: true }, 9.0),
    ];
    for (way, clocks) in ways {
        let signals = vec![Signal { name: "wire".to_owned(), way, pending: Some(1), whole: true }];
        let (image, program) = ring(Target { signals, ..Target::crossbar(5) });
        let chosen = &image.report().barriers[0];
        assert_eq!((chosen.clocks, chosen.signal.as_deref()), (clocks, Some("wire")));
        assert_eq!(everywhere(&image, program), [0, 1, 2, 3, 4]);
        let last = simulate(&image, |cell| {
            cell.work(100.0 * f64::from(u8::from(cell.id() == 4)), || ());
            cell.sync();
            Ok(cell.clocks())
        });
        assert!(last.unwrap().results.iter().all(|left| (100.0..=100.0 + clocks).contains(left)));
    }
}

#[test]
fn a_tree_of_tasks_with_wires_and_inherited_ports() {
    for values in [0, 1, 9] {
        let tree = Tree::new();
        let found = everywhere(&tree.image, |cell| tree.body(cell, values));
        assert_eq!(found, tree.expected(values));
    }
}

#[test]
fn messages_of_any_length_pass_any_depth() {
    for depth in [1, 56, 100, 4096] {
        let Pair { image, there, back } = pair::<u64>(&Target::crossbar(2), depth);
        let lengths = [0, 1, 6, 7, 8, 100, 254, 255, 3000];
        let found = everywhere(&image, |cell| {
            cell.phase::<Go, _>(|net| {
                for length in lengths {
                    let values: Vec<u64> = (0..length).map(|at| at * length).collect();
                    if net.id() == 0 {
                        net.send(there, &values);
                    } else {
                        assert_eq!(net.receive_vec(there), values);
                    }
                }
                Ok(())
            })?;
            // Afterwards the other set, the other way.
            cell.phase::<Return, _>(|net| {
                let mut value = [41];
                if net.id() == 1 {
                    net.send(back, &value);
                } else {
                    net.receive(back, &mut value);
                }
                Ok(value[0])
            })
        });
        assert_eq!(found, [41, 41]);
    }
}

/// The sender is at most a connection's depth ahead of a receiver that takes its time.
#[test]
fn a_full_connection_holds_its_sender() {
    let Pair { image, there, back } = pair::<u64>(&Target::crossbar(2), 560);
    let found = by("threads", &image, CHECKED, |cell| {
        cell.phase::<Both, _>(|net| {
            if net.id() == 1 {
                // Nothing is taken until the sender has had all the time it needs.
                std::thread::sleep(Duration::from_millis(30));
                let mut value = [0];
                (0..1000).for_each(|at| {
                    net.receive(there, &mut value);
                    assert_eq!(value, [at]);
                });
                net.send(back, &[1]);
                return Ok(0.0);
            }
            let start = net.clocks();
            (0..1000u64).for_each(|at| net.send(there, &[at]));
            let clocks = net.clocks() - start;
            net.receive(back, &mut [0]);
            Ok(clocks)
        })
    });
    // Lines of 56 bytes: 16 of 1000 fit. The rest had to wait for the receiver.
    assert!(found.unwrap()[0] > 10e6, "the sender did not wait");
}

/// Who waits, and where, is told.
#[test]
fn a_peer_that_never_reads_is_found() {
    let [crossbar, iwarp] = [Target::crossbar(2), Target::iwarp(2, 1)];
    for (way, target) in [("threads", &crossbar), ("cm5", &crossbar), ("iwarp", &iwarp)] {
        let Pair { image, there, .. } = pair::<u64>(target, 64);
        let error = by(way, &image, RunOptions::default(), |cell| {
            cell.phase::<Go, _>(|net| {
                if net.id() == 0 {
                    (0..1000u64).for_each(|at| net.send(there, &[at]));
                }
                Ok(())
            })
        });
        let error = error.unwrap_err();
        assert!(error.contains("node 0") && error.contains("run.rs"), "{way}: {error}");
    }
}

/// Cells in different sets or children are an error that names the places of both.
#[test]
fn cells_at_different_places_are_told_so() {
    let mut app = App::new("pair");
    let (root, one, two) = (app.task("pair", 2), app.task("one", 2), app.task("two", 2));
    let there = app[root].connect::<u64, Data>(0, 1);
    let back = app[root].connect::<u64, Back>(1, 0);
    app[root].set::<Go>();
    app[root].set::<Both>();
    let children = [("k", one), ("l", two)].map(|(name, task)| app[root].child(name, task, &[0, 1]));
    let alone = app[root].child("alone", one, &[1, 0]);
    let image = link(&app, root, &Target::crossbar(2)).unwrap();
    let places = |error: String, places: [&str; 2]| {
        assert!(error.contains("cells are not at the same place: cell "), "{error}");
        assert!(places.iter().all(|place| error.contains(place)), "{error}");
    };
    let error = fails(&image, |cell| match cell.id() {
        0 => cell.phase::<Go, _>(|_| Ok(())),
        _ => cell.phase::<Both, _>(|_| Ok(())),
    });
    places(error, ["switch 1 of `pair`, to set `Go`", "switch 1 of `pair`, to set `Both`"]);
    let error = fails(&image, |cell| {
        let me = cell.id();
        cell.start(children[me], |_| Ok(()))?;
        cell.start(children[1 - me], |_| Ok(()))
    });
    places(error, ["the start of `pair/k`", "the start of `pair/l`"]);
    let error = fails(&image, |cell| match cell.id() {
        0 => cell.start(alone, |_| Ok(())),
        _ => {
            (0..4).for_each(|_| cell.sync());
            Ok(())
        }
    });
    places(error, ["the start of `pair/alone`", "a barrier of `pair`"]);
    // Both receive first.
    let error = fails(&image, |cell| {
        cell.phase::<Both, _>(|net| {
            let mut value = [0];
            if net.id() == 0 {
                net.receive(back, &mut value);
                net.send(there, &value);
            } else {
                net.receive(there, &mut value);
                net.send(back, &value);
            }
            Ok(())
        })
    });
    assert!(error.contains("cells wait for each other: cell "), "{error}");
    assert!(["`Data` 0 -> 1 of `pair`", "`Back` 1 -> 0 of `pair`"].iter().all(|end| error.contains(end)));
    // A switch that one cell omits.
    let error = fails(&image, |cell| if cell.id() == 0 { cell.phase::<Go, _>(|_| Ok(())) } else { Ok(()) });
    assert!(error.contains("to set `Go` for cell 1, which has ended its program"), "{error}");
}

/// Whoever only takes long is waited for.
#[test]
fn a_cell_that_works_is_waited_for() {
    let Pair { image, there, .. } = pair::<u64>(&Target::crossbar(2), 64);
    let found = by("threads", &image, CHECKED, |cell| {
        cell.phase::<Go, _>(|net| {
            let mut value = [7];
            if net.id() == 0 {
                std::thread::sleep(Duration::from_millis(400));
                net.send(there, &value);
            } else {
                net.receive(there, &mut value);
            }
            Ok(value[0])
        })
    });
    assert_eq!(found.unwrap(), [7, 7]);
}

#[test]
fn errors_and_panics_end_the_whole_job() {
    let Pair { image, there, back } = pair::<u64>(&Target::crossbar(2), 4096);
    let error = fails(&image, |cell| {
        cell.phase::<Go, _>(|net| {
            if net.id() == 1 {
                return Err(Error::program("no more paper"));
            }
            net.send(there, &[1]);
            Ok(())
        })?;
        // Cell 0 waits for ever in the switch, were it not for the failure of cell 1.
        cell.phase::<Return, _>(|net| {
            net.receive(back, &mut [0]);
            Ok(())
        })
    });
    assert!(error.starts_with("node 1: task pair, cell 1: no more paper"), "{error}");
    let error = fails(&image, |cell| {
        assert!(cell.id() != 0, "a bug of cell 0");
        cell.sync();
        Ok(())
    });
    assert!(error.contains("node 0") && error.contains("a bug of cell 0"), "{error}");
    let tree = Tree::new();
    let error = fails(&tree.image, |cell| tree.failing(cell));
    assert!(error.contains("task root/middle/deep, cell 0: deep trouble"), "{error}");
}

#[test]
fn misuse_is_named() {
    let Pair { image, there, .. } = pair::<u64>(&Target::crossbar(2), 4096);
    let go = |f: fn(&mut strata_tcs::Net<'_, '_, Go>, Connection<u64, Data>)| {
        fails(&image, move |cell| {
            cell.phase::<Go, _>(|net| {
                f(net, there);
                Ok(())
            })?;
            cell.sync();
            cell.phase::<Return, _>(|_| Ok(()))
        })
    };
    // Both cells send; only one of them is the source.
    let error = go(|net, there| net.send(there, &[1]));
    assert!(error.contains("from cell 0 to cell 1") && error.contains("cell 1"), "{error}");
    let error = go(|net, there| {
        if net.id() == 0 {
            net.send(there, &[1]);
        } else {
            net.receive(there, &mut [0; 2]);
        }
    });
    assert!(error.contains("a message of 8 bytes came where 16 were to be received"), "{error}");
    let error = go(|net, there| {
        if net.id() == 0 {
            net.send(there, &[1]);
        }
    });
    assert!(error.contains("was not received before switch 2 of `pair`, to set `Return`"), "{error}");
    let error = fails(&image, |cell| cell.phase_in::<Go, _>(3, |_| Ok(())));
    assert!(error.contains("the task has no set `Go[3]`"), "{error}");
    // A connection of another task.
    let other = pair::<u64>(&Target::crossbar(2), 1).image;
    let mut app = App::new("more");
    let (_, second) = (app.task("first", 1), app.task("second", 2));
    let strange = app[second].connect::<u64, Data>(0, 1);
    app[second].set::<Go>();
    let error = fails(&other, |cell| {
        cell.phase::<Go, _>(|net| {
            net.send(strange, &[1]);
            Ok(())
        })
    });
    assert!(error.contains("the connection is one of another task"), "{error}");
    // Too few nodes.
    let error = Machine::threads(1).unwrap().run(|node| run(node, &image, |_| Ok(()))).unwrap_err();
    assert!(error.to_string().contains("there are 1 nodes; start 2"), "{error}");
}

/// Handlers are kept from run to run, and installed again after they were removed.
#[test]
fn many_runs_by_messages_leave_nothing_behind() {
    let (image, program) = shifts(3, Mode::Neighbour, None);
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    let found = Machine::sim(&cm5, 3).unwrap().run(|node| {
        let mut seen = Vec::new();
        for time in 0..50 {
            if time % 20 == 10 {
                node.uninstall();
            }
            seen.push(run(node, &image, |cell| program.body(cell, 2))?);
        }
        Ok(seen)
    });
    for (cell, seen) in found.unwrap().results.into_iter().enumerate() {
        assert_eq!(seen, vec![Some(program.expected(cell, 2)); 50]);
    }
}

#[test]
fn split_sets_run_part_by_part() {
    let mut app = App::new("scatter");
    let root = app.task("scatter", 6);
    let out: Vec<_> = (1..6).map(|cell| app[root].connect::<u64, Data>(0, cell)).collect();
    app[root].set::<Go>();
    let target = Target { slots: Some(2), ..Target::crossbar(6) };
    let image = link_with(&app, root, &target, &Options { split: true, ..Options::default() }).unwrap();
    let found = everywhere(&image, |cell| {
        let mut mine = [0];
        cell.phases::<Go>(|net| {
            for (to, connection) in out.iter().enumerate().filter(|(_, c)| net.has(**c)).collect::<Vec<_>>() {
                match net.id() {
                    0 => net.send(*connection, &[to as u64 + 101]),
                    id if id == to + 1 => net.receive(*connection, &mut mine),
                    _ => {}
                }
            }
            Ok(())
        })?;
        Ok(mine[0])
    });
    assert_eq!(found, [0, 101, 102, 103, 104, 105]);
    let error = fails(&image, |cell| cell.phase::<Go, _>(|_| Ok(())));
    assert!(error.contains("split set `Go` into 3 parts"), "{error}");
}

/// Figs 4.22, 5.1, 5.3 and 5.4: the rows of 4 and 64 cells gave the constants, those between judge.
#[test]
fn simulated_iwarp_takes_what_iwarp_took() {
    let rows = [
        ((2, 2), [97.0, 444.0, 575.0, 165.0]),
        ((4, 2), [146.0, 598.0, 725.0, 216.0]),
        ((4, 4), [242.0, 872.0, 1000.0, 310.0]),
        ((8, 4), [423.0, 1425.0, 1550.0, 489.0]),
        ((8, 8), [800.0, 2551.0, 2681.0, 870.0]),
    ];
    for ((width, height), measured) in rows {
        let cells = width * height;
        let mut app = App::new("primitives");
        let (root, task) = (app.task("root", cells), app.task("task", cells));
        app[root].connect::<u64, Data>(0, 1);
        app[root].connect::<u64, Back>(1, 0);
        app[root].set::<Go>();
        app[root].set::<Return>();
        let child = app[root].child("child", task, &(0..cells).collect::<Vec<_>>());
        let options = Options { barrier: Some(Algorithm::Ring), ..Options::default() };
        let image = link_with(&app, root, &Target::iwarp(width, height), &options).unwrap();
        let run = simulate(&image, |cell| {
            let mut clocks = vec![cell.clocks()];
            cell.sync();
            clocks.push(cell.clocks());
            cell.phase::<Go, _>(|_| Ok(()))?;
            clocks.push(cell.clocks());
            let inside = cell.start(child, |cell| Ok(cell.clocks()))?;
            clocks.extend([inside, cell.clocks()]);
            Ok(clocks.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>())
        });
        for ours in run.unwrap().results {
            for (ours, measured) in ours.iter().zip(measured) {
                assert!((ours / measured - 1.0).abs() <= 0.03, "{cells} cells: {ours}, measured {measured}");
            }
        }
        let report = image.report().task("root/child").unwrap().clone();
        assert!((report.start.unwrap() / measured[2] - 1.0).abs() <= 0.03);
        assert!((report.end.unwrap() / measured[3] - 1.0).abs() <= 0.03);
    }
}

/// §3.2.1: what the linker promises is what a transfer takes.
#[test]
fn a_simulated_transfer_takes_what_figure_3_7_predicts() {
    let mut app = App::new("line");
    let root = app.task("line", 8);
    let to: Vec<_> = (1..4).map(|cell| app[root].connect::<u8, Data>(0, cell)).collect();
    app[root].set::<Go>();
    let image = link(
        &app,
        root,
        &Target { shape: strata_tcs::Shape::Mesh { width: 8, height: 1 }, ..Target::iwarp(8, 1) },
    );
    let image = image.unwrap();
    // Three connections share the first link; each has all of it while the others are idle.
    for (cell, connection) in to.into_iter().enumerate().map(|(at, connection)| (at + 1, connection)) {
        for bytes in [4, 64, 4096] {
            let run = simulate(&image, |me| {
                me.phase::<Go, _>(|net| {
                    let start = net.clocks();
                    if net.id() == 0 {
                        net.send(connection, &vec![7; bytes]);
                    } else if net.id() == cell {
                        net.receive(connection, &mut vec![0; bytes]);
                    }
                    Ok(net.clocks() - start)
                })
            });
            // All leave the switch within the ring's skew.
            let expected = 36.0 + 5.0 * cell as f64 + (bytes as f64 / 1.998).floor();
            let found = run.unwrap().results[cell];
            assert!((found - expected).abs() < 15.0, "{bytes} bytes to cell {cell}: {found}, {expected}");
        }
    }
}

#[test]
fn simulated_time_does_not_depend_on_the_transport() {
    let (image, program) = shifts(5, Mode::Double, None);
    let options = RunOptions { simulated: true, check: true, ..RunOptions::default() };
    let clocks = |cell: &mut Cell<'_>| {
        program.body(cell, 5)?;
        Ok(cell.clocks())
    };
    let here = simulate(&image, clocks).unwrap();
    assert_eq!(by("threads", &image, options, clocks).unwrap(), here.results);
    assert_eq!(here, simulate(&image, clocks).unwrap());
    assert!(here.time() > 0.0);
}

/// §3.1.3: a link is shared by the connections that send, each at least at its guaranteed rate.
#[test]
fn connections_that_send_at_once_share_a_link() {
    let mut app = App::new("line");
    let root = app.task("line", 4);
    // All over the link from cell 1 to cell 2.
    let lanes: Vec<_> =
        [(0, 2), (1, 2), (1, 3)].map(|(from, to)| app[root].connect::<u8, Data>(from, to)).to_vec();
    app[root].reserve(lanes[0], 20e6);
    app[root].shortest(lanes[0], 4000);
    app[root].set::<Go>();
    let shape = strata_tcs::Shape::Mesh { width: 4, height: 1 };
    let image = link(&app, root, &Target { shape, spool_byte: 0.0, ..Target::iwarp(4, 1) }).unwrap();
    let bytes = 4000;
    // The clocks until the block of each connection has come, if these send at once.
    let took = |sends: &[usize]| -> Vec<f64> {
        let run = simulate(&image, |cell| {
            cell.phase::<Go, _>(|net| {
                let me = net.id();
                net.sync();
                let start = net.clocks();
                let spools: Vec<_> = [(2, 1)]
                    .into_iter()
                    .filter(|(lane, from)| me == *from && sends.contains(lane))
                    .map(|(lane, _)| net.spool(lanes[lane], vec![2; bytes]))
                    .collect();
                let ends = [(0, 2), (1, 2), (1, 3)].into_iter().enumerate();
                let ends: Vec<_> = ends.filter(|(lane, _)| sends.contains(lane)).collect();
                // By spools, as a cell would take one block after the other.
                let here = ends.iter().filter(|(_, (_, to))| me == *to);
                let here: Vec<_> =
                    here.map(|(lane, _)| (*lane, net.spool_receive(lanes[*lane], vec![0; bytes]))).collect();
                for (lane, _) in ends.iter().filter(|(lane, (from, _))| me == *from && *lane != 2) {
                    net.send(lanes[*lane], &vec![1; bytes]);
                }
                let mut at = Vec::new();
                for (lane, spool) in here {
                    net.finish(spool);
                    at.push((lane, net.clocks() - start));
                }
                spools.into_iter().for_each(|spool| drop(net.finish(spool)));
                Ok(at)
            })
        });
        let mut by_lane: Vec<(usize, f64)> = run.unwrap().results.into_iter().flatten().collect();
        by_lane.sort_unstable_by_key(|(lane, _)| *lane);
        by_lane.into_iter().map(|(_, clocks)| clocks).collect()
    };
    let whole = (bytes as f64 / 1.998).floor();
    let near = |clocks: f64, expected: f64| (clocks / expected - 1.0).abs() < 0.1;
    for alone in 0..3 {
        assert!(near(took(&[alone])[0], whole), "{alone} alone: {:?}, {whole}", took(&[alone]));
    }
    // 20 MB/s are half of the link and the other's share a quarter, so turns are two to one.
    let [reserved, other] = took(&[0, 1])[..] else { panic!("two blocks") };
    assert!(near(reserved, 1.5 * whole) && near(other, 2.0 * whole), "{reserved}, {other}, {whole}");
    // Never less than the guarantee: half of the link, and a quarter.
    let guaranteed =
        |lane: usize| whole * 39.96e6 / image.report().connections().nth(lane).unwrap().rate.unwrap();
    for (lane, clocks) in took(&[0, 1, 2]).into_iter().enumerate() {
        assert!(clocks <= 1.1 * guaranteed(lane) + 200.0, "{lane}: {clocks}, {}", guaranteed(lane));
    }
}
