//! Spools, full connections in simulated time, and connections on the circuits of a simulated
//! machine.

use crate::common::{self, Back, Both, Data, Pair, Return, by, fails, pair};
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Machine, prelude::*};
use strata_tcs::{App, Cell, RunOptions, Spool, Target, link, run, simulate};

/// What `program` returns in every way, and on simulated iWarp.
fn everywhere<T: Send + PartialEq + std::fmt::Debug>(
    depth: usize,
    program: impl Fn(&Pair<u32>, &mut Cell<'_>) -> Result<T, Error> + Sync,
) -> Vec<T> {
    let free = pair(&Target::crossbar(2), depth);
    let found = common::everywhere(&free.image, |cell| program(&free, cell));
    let iwarp = pair(&Target::iwarp(2, 1), depth);
    assert_eq!(simulate(&iwarp.image, |cell| program(&iwarp, cell)).unwrap().results, found);
    found
}

fn values(cell: usize, length: usize) -> Vec<u32> {
    (0..length as u32).map(|at| at * 3 + cell as u32).collect()
}

#[test]
fn more_than_fits_goes_both_ways_at_once() {
    for depth in [1, 64, 1000, 1 << 16] {
        for length in [0, 1, 13, 14, 5000] {
            let found = everywhere(depth, |pair, cell| {
                let me = cell.id();
                cell.phase::<Both, _>(|net| {
                    // Without spools both would wait for the other one to receive.
                    let (sends, receives): (Spool<u32>, Spool<u32>) = if me == 0 {
                        (
                            net.spool(pair.there, values(0, length)),
                            net.spool_receive(pair.back, vec![0; length]),
                        )
                    } else {
                        (
                            net.spool(pair.back, values(1, length)),
                            net.spool_receive(pair.there, vec![0; length]),
                        )
                    };
                    net.sync();
                    let theirs = net.finish(receives);
                    assert_eq!(net.finish(sends), values(me, length));
                    Ok(theirs == values(1 - me, length))
                })
            });
            assert_eq!(found, [true; 2], "{length} values, depth {depth}");
        }
    }
}

#[test]
fn messages_stay_in_order_and_a_phase_ends_with_its_spools() {
    let found = everywhere(32, |pair, cell| {
        let me = cell.id();
        let first = cell.phase::<Both, _>(|net| {
            if me == 1 {
                let mut seen = Vec::new();
                let early = net.spool_receive(pair.there, vec![0; 400]);
                // After the one in the background.
                seen.extend(net.receive_vec(pair.there));
                seen.extend(net.finish(early));
                seen.extend(net.receive_vec(pair.there));
                return Ok(seen);
            }
            let first = net.spool(pair.there, vec![1; 400]);
            let _left = net.spool(pair.there, vec![2; 3]);
            net.send(pair.there, &[3; 2]);
            assert_eq!(net.finish(first), [1; 400]);
            Ok(Vec::new())
        })?;
        // The other one was not finished by the program, and is all the same.
        cell.phase::<Return, _>(|net| {
            if me == 1 {
                net.send(pair.back, &[9]);
            } else {
                net.receive(pair.back, &mut [0]);
            }
            Ok(())
        })?;
        Ok(first)
    });
    let expected = [vec![2; 3], vec![1; 400], vec![3; 2]].concat();
    assert_eq!(found, [vec![], expected]);
}

/// What a parent has under way goes on while its children live.
#[test]
fn children_leave_their_parents_spools_alone() {
    let mut app = App::new("family");
    let (root, below) = (app.task("root", 2), app.task("below", 2));
    let there = app[root].connect::<u32, Data>(0, 1);
    app[root].depth(there, 64);
    app[root].set::<Both>();
    let back = app[below].connect::<u32, Back>(1, 0);
    app[below].set::<Return>();
    let child = app[root].child("child", below, &[0, 1]);
    for target in [Target::crossbar(2), Target::iwarp(2, 1)] {
        let image = link(&app, root, &target).unwrap();
        let program = |cell: &mut Cell<'_>| {
            cell.phase::<Both, _>(|net| {
                let me = net.id();
                let spool = match me {
                    0 => net.spool(there, values(0, 1000)),
                    _ => net.spool_receive(there, vec![0; 1000]),
                };
                net.start(child, |cell| {
                    cell.phase::<Return, _>(|net| {
                        let spool = match me {
                            0 => net.spool_receive(back, vec![0; 10]),
                            _ => net.spool(back, values(1, 10)),
                        };
                        Ok(net.finish(spool))
                    })
                })?;
                Ok(net.finish(spool) == values(0, 1000))
            })
        };
        for way in ["threads", "simulated"] {
            assert_eq!(by(way, &image, RunOptions::default(), program).unwrap(), [true; 2], "{way}");
        }
    }
}

#[test]
fn misuse_of_spools_is_named() {
    let pair = pair::<u32>(&Target::crossbar(2), 4096);
    let error = fails(&pair.image, |cell| {
        cell.phase::<Both, _>(|net| {
            if net.id() == 0 {
                net.send(pair.there, &[1, 2]);
            } else {
                let spool = net.spool_receive(pair.there, vec![0; 3]);
                net.finish(spool);
            }
            Ok(())
        })
    });
    assert!(error.contains("a message of 8 bytes came where 12 were to be received"), "{error}");
    let error = fails(&pair.image, |cell| {
        let mut kept = None;
        cell.phase::<Both, _>(|net| {
            if net.id() == 0 {
                kept = Some(net.spool(pair.there, vec![1]));
            } else {
                net.receive(pair.there, &mut [0]);
            }
            Ok(())
        })?;
        cell.phase::<Return, _>(|net| {
            if let Some(spool) = kept {
                net.finish(spool);
            }
            Ok(())
        })
    });
    assert!(error.contains("another phase than that in which it was started"), "{error}");
    let error = fails(&pair.image, |cell| {
        cell.phase::<Both, _>(|net| {
            let _ = net.spool(pair.there, vec![1]);
            Ok(())
        })
    });
    assert!(error.contains("none of it leaves cell 1"), "{error}");
}

/// Clocks of each cell, from where both have entered the phase.
fn clocks(depth: usize, program: impl Fn(&Pair<u32>, &mut strata_tcs::Net<'_, '_, Both>) + Sync) -> Vec<f64> {
    let pair = pair(&Target::iwarp(2, 1), depth);
    let run = simulate(&pair.image, |cell| {
        cell.phase::<Both, _>(|net| {
            let start = net.clocks();
            program(&pair, net);
            Ok(net.clocks() - start)
        })
    });
    run.unwrap().results
}

#[test]
fn spools_overlap_work_in_simulated_time() {
    const BYTES: usize = 7992;
    let transfer = 36.0 + 5.0 + BYTES as f64 / 1.998;
    let send = |pair: &Pair<u32>, net: &mut strata_tcs::Net<'_, '_, Both>, spools: bool| {
        if net.id() == 1 {
            return net.receive(pair.there, &mut [0; BYTES / 4]);
        }
        if spools {
            let spool = net.spool(pair.there, vec![0; BYTES / 4]);
            net.work(3000.0, || ());
            net.finish(spool);
        } else {
            net.send(pair.there, &[0; BYTES / 4]);
            net.work(3000.0, || ());
        }
    };
    let front = clocks(1 << 20, |pair, net| send(pair, net, false));
    let back = clocks(1 << 20, |pair, net| send(pair, net, true));
    assert!(
        (front[1] - transfer).abs() < 15.0 && (front[0] - (18.0 + 4000.0 + 3000.0)).abs() < 2.0,
        "{front:?}"
    );
    // 106 clocks start a spool, which takes 3 for a word (§3.1.3), and the rest of the work is hidden.
    let spooled = 0.75 * BYTES as f64;
    assert!((back[1] - (106.0 + 41.0 + spooled)).abs() < 15.0, "{back:?}");
    assert!((back[0] - (106.0 + 18.0 + spooled)).abs() < 2.0, "{back:?}");
}

#[test]
fn a_full_connection_holds_its_sender_in_simulated_time() {
    let late = |pair: &Pair<u32>, net: &mut strata_tcs::Net<'_, '_, Both>, spools: bool| {
        if net.id() == 0 {
            (0..4).for_each(|_| net.send(pair.there, &[0; 256]));
            return;
        }
        let taken: Vec<Spool<u32>> =
            (0..if spools { 4 } else { 0 }).map(|_| net.spool_receive(pair.there, vec![0; 256])).collect();
        net.work(100_000.0, || ());
        match taken.is_empty() {
            true => (0..4).for_each(|_| net.receive(pair.there, &mut [0; 256])),
            false => taken.into_iter().for_each(|spool| drop(net.finish(spool))),
        }
    };
    let (shallow, deep) = (clocks(2048, |p, n| late(p, n, false)), clocks(4096, |p, n| late(p, n, false)));
    assert!(shallow[0] > 100_000.0, "two of four messages fit: {shallow:?}");
    assert!(deep[0] < 3000.0, "all fit: {deep:?}");
    let taken = clocks(2048, |p, n| late(p, n, true));
    assert!(taken[0] < 3000.0, "spools take them out: {taken:?}");
}

#[test]
fn run_on_simulated_iwarp_takes_the_circuits_time() {
    let pair = pair(&Target::iwarp(2, 1), 4096);
    let program = |cell: &mut Cell<'_>| {
        cell.phase::<Both, _>(|net| {
            for _ in 0..10 {
                if net.id() == 0 {
                    net.send(pair.there, &[0; 100]);
                    net.receive(pair.back, &mut [0; 100]);
                } else {
                    net.receive(pair.there, &mut [0; 100]);
                    net.send(pair.back, &[0; 100]);
                }
            }
            Ok(())
        })?;
        cell.phase::<Return, _>(|_| Ok(()))?;
        Ok(cell.clocks())
    };
    let predicted = simulate(&pair.image, program).unwrap().results;
    let iwarp = SimulatedMachine::find("iwarp").unwrap();
    let ran = Machine::sim(&iwarp, 2).unwrap().run(|node| {
        let clocks = run(node, &pair.image, program)?;
        Ok((clocks, node.now().get() * 20e6))
    });
    for ((clocks, now), predicted) in ran.unwrap().results.into_iter().zip(&predicted) {
        assert_eq!(clocks, Some(*predicted));
        // The node's own clock has gone on with it.
        assert!(now >= *predicted, "{now}, {predicted}");
    }
}

#[test]
fn five_hundred_and_twelve_cells_run() {
    let cells = 512;
    let mut app = App::new("large");
    let root = app.task("large", cells);
    let next: Vec<_> =
        (0..cells).map(|cell| app[root].connect::<u32, Data>(cell, (cell + 1) % cells)).collect();
    app[root].connect::<u32, Back>(1, 0);
    app[root].set::<Both>();
    app[root].set::<Return>();
    let image = link(&app, root, &Target::iwarp(32, 16)).unwrap();
    let run = simulate(&image, |cell| {
        let me = cell.id();
        let mut value = [me as u32];
        cell.phase::<Both, _>(|net| {
            net.send(next[me], &value);
            net.receive(next[(me + cells - 1) % cells], &mut value);
            Ok(())
        })?;
        cell.phase::<Return, _>(|_| Ok(()))?;
        Ok(value[0] as usize)
    });
    let found = run.unwrap().results;
    assert!(found.iter().enumerate().all(|(me, value)| *value == (me + cells - 1) % cells));
}
