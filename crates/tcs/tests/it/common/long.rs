//! Random programs of long messages around a ring: every way to send and to receive, lengths around
//! all limits, cells that come early and late.

use strata_runtime::Error;
use strata_tcs::{App, Cell, Connection, Image, Target, link};

strata_tcs::communication! {
    networks { pub Around }
    sets { pub Turn: Around; }
}

/// Elements of four bytes.
const LENGTHS: [usize; 14] = [0, 1, 14, 15, 28, 29, 200, 1024, 1025, 1500, 4095, 4096, 4097, 20_000];

pub(crate) struct Long {
    pub(crate) image: Image,
    next: Vec<Connection<u32, Around>>,
}

pub(crate) fn long(cells: usize, depth: usize) -> Long {
    let mut app = App::new("long");
    let root = app.task("long", cells);
    let next: Vec<_> = (0..cells).map(|cell| app[root].connect(cell, (cell + 1) % cells)).collect();
    next.iter().for_each(|connection| app[root].depth(*connection, depth));
    app[root].set::<Turn>();
    Long { image: link(&app, root, &Target::crossbar(cells)).unwrap(), next }
}

/// A number of a sequence that all cells know.
fn chance(seed: u64, round: u64, what: u64) -> u64 {
    let mixed = (seed << 20 ^ round << 4 ^ what).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

impl Long {
    /// `rounds` rounds; returns a hash of what came.
    pub(crate) fn body(&self, cell: &mut Cell<'_>, seed: u64, rounds: u64) -> Result<u64, Error> {
        let (me, cells) = (cell.id(), cell.cells());
        let (to, from) = (self.next[me], self.next[(me + cells - 1) % cells]);
        cell.phase::<Turn, _>(|net| {
            let mut seen = 0u64;
            for round in 0..rounds {
                let length = LENGTHS[chance(seed, round, 0) as usize % LENGTHS.len()];
                let of = |cell: usize| -> Vec<u32> {
                    (0..length as u32).map(|at| at ^ (cell as u32 * 77 + round as u32)).collect()
                };
                let mut mine = of(me);
                if chance(seed, round, 1) % cells as u64 == me as u64 {
                    std::thread::sleep(std::time::Duration::from_micros(chance(seed, round, 2) % 300));
                }
                let came = match chance(seed, round, 3) % 4 {
                    // One after the other, around the ring.
                    0 if me == 0 => {
                        net.send(to, &mine);
                        net.receive(from, &mut mine);
                        mine
                    }
                    0 => {
                        let came = net.receive_vec(from);
                        net.send(to, &mine);
                        came
                    }
                    // All at once.
                    1 => {
                        let sends = net.spool(to, mine);
                        let came = net.receive_vec(from);
                        net.finish(sends);
                        came
                    }
                    2 => {
                        let comes = net.spool_receive(from, vec![0; length]);
                        net.send(to, &mine);
                        net.finish(comes)
                    }
                    _ => {
                        let (sends, comes) = (net.spool(to, mine), net.spool_receive(from, vec![0; length]));
                        net.finish(sends);
                        net.finish(comes)
                    }
                };
                assert_eq!(came, of((me + cells - 1) % cells), "seed {seed}, round {round}, cell {me}");
                let sum = came.iter().fold(0u64, |all, value| all.rotate_left(5) ^ u64::from(*value));
                seen = seen.wrapping_mul(31).wrapping_add(sum);
            }
            Ok(seen)
        })
    }
}
