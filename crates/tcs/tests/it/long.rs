//! Long messages, which take other ways than short ones.

use crate::common::{everywhere, fails, long::long};
use std::time::Duration;
use strata_runtime::prelude::*;
use strata_tcs::{App, Connection, Image, Net, Target, link};

#[test]
fn random_programs_of_long_messages_agree_everywhere() {
    for (seed, depth) in [(1, 4096), (2, 64), (3, 100_000), (4, 5000), (5, 16_384)] {
        for cells in [2, 3, 5] {
            let long = long(cells, depth);
            everywhere(&long.image, |cell| long.body(cell, seed, 60));
        }
    }
}

strata_tcs::communication! {
    networks { Lane }
    sets { Only: Lane; }
}

type Lanes = [Connection<u8, Lane>; 2];

fn pair() -> (Image, Lanes) {
    let mut app = App::new("pair");
    let root = app.task("pair", 2);
    let lanes = [app[root].connect(0, 1), app[root].connect(1, 0)];
    app[root].set::<Only>();
    (link(&app, root, &Target::crossbar(2)).unwrap(), lanes)
}

/// The error of a program on two threads.
fn error(program: impl Fn(&Lanes, &mut Net<'_, '_, Only>) -> Result<(), Error> + Sync) -> String {
    let (image, lanes) = pair();
    fails(&image, |cell| cell.phase::<Only, _>(|net| program(&lanes, net)))
}

fn late() {
    std::thread::sleep(Duration::from_millis(5));
}

#[test]
fn a_long_message_of_another_length_is_named() {
    for room in [8, 9000, 20_001, 30_000] {
        for (sender_is_late, by_spool) in [(true, false), (false, false), (true, true), (false, true)] {
            let said = error(|lanes, net| {
                if (net.id() == 0) == sender_is_late {
                    late();
                }
                if net.id() == 0 {
                    net.send(lanes[0], &[7; 20_000]);
                } else if by_spool {
                    let comes = net.spool_receive(lanes[0], vec![0; room]);
                    net.finish(comes);
                } else {
                    net.receive(lanes[0], &mut vec![0; room]);
                }
                Ok(())
            });
            let expected = format!("a message of 20000 bytes came where {room} were to be received");
            assert!(said.contains(&expected), "{said}");
        }
    }
}

/// A short message comes where a long one is awaited: memory was lent for nothing.
#[test]
fn a_short_message_in_place_of_a_long_one_is_named() {
    let said = error(|lanes, net| {
        if net.id() == 0 {
            late();
            net.send(lanes[0], &[7; 100]);
            net.send(lanes[0], &[8; 20_000]);
        } else {
            net.receive(lanes[0], &mut [0; 20_000]);
        }
        Ok(())
    });
    assert!(said.contains("a message of 100 bytes came where 20000 were to be received"), "{said}");
}

#[test]
fn a_cell_that_fails_ends_the_other_ones_long_message() {
    for (fails, waits) in [(0, "receives"), (1, "sends")] {
        let said = error(|lanes, net| {
            if net.id() == fails {
                late();
                return Err(Error::program(format!("cell {fails} gives up")));
            }
            match net.id() {
                0 => net.send(lanes[0], &[7; 20_000]),
                _ => net.receive(lanes[0], &mut [0; 20_000]),
            }
            Ok(())
        });
        assert!(said.contains(&format!("cell {fails} gives up")), "the other one {waits}: {said}");
    }
}

#[test]
fn long_messages_to_each_other_at_once_are_a_circle_of_waits() {
    let said = error(|lanes, net| {
        net.send(lanes[net.id()], &[7; 20_000]);
        net.receive(lanes[1 - net.id()], &mut [0; 20_000]);
        Ok(())
    });
    assert!(said.contains("cells wait for each other") && said.contains("waits to send on"), "{said}");
}
