//! Finds cells that wait for each other for ever, and those that wait for a cell that has ended.
//!
//! A cell that has waited for a while sends a probe to the cell for which it waits. A cell that
//! waits itself adds its own wait and passes the probe on; one that has returned from its program
//! answers. A probe that comes back has gone around a circle of waits (Chandy, Misra and Haas,
//! "Distributed deadlock detection", 1983). The waits need not have been at one time, so the job
//! ends only when a second probe, sent after the first came back, finds the same ones; each cell
//! looks once more for what it awaits before it passes a probe on. A cell that works answers
//! nothing, however long.
//!
//! Simulated machines find such waits themselves, at once.

use super::{installed, place};
use crate::link::Image;
use bytemuck::{cast_slice, pod_collect_to_vec};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use strata_runtime::{
    Node,
    message::{Request, WithBytes},
};

/// The wait after which a cell sends its first probe; each further one comes after twice the time.
const PATIENCE: Duration = Duration::from_millis(10);

/// The most waits in a probe, so that it fits in a message.
const MOST: usize = 56;

/// Looks at the clock: one of so many polls.
const SELDOM: u32 = 64;

/// One cell's wait: the cell, the wait's number there, the last rendezvous, and what is awaited.
type Wait = [u64; 4];

#[derive(Clone, Copy, Debug)]
pub(super) enum Awaits {
    /// The others at a rendezvous.
    Step,
    /// A message on a connection.
    Message(usize),
    /// Room for a message on a connection.
    Room(usize),
    /// A receiver's readiness for a message on a connection.
    Ready(usize),
}

impl Awaits {
    fn word(self) -> u64 {
        let (kind, connection) = match self {
            Self::Step => (0, 0),
            Self::Message(connection) => (1, connection),
            Self::Room(connection) => (2, connection),
            Self::Ready(connection) => (3, connection),
        };
        (connection as u64) << 2 | kind
    }
}

/// Probes and answers from other cells.
#[derive(Default)]
pub(super) struct Letters {
    /// Probes, each with its round.
    probes: Vec<(u64, Vec<Wait>)>,
    /// Answers of ended cells: the round, the number of the wait, the cell, a digest of the probe.
    ends: Vec<[u64; 4]>,
}

/// What handlers and the cell share.
#[derive(Default)]
struct Shared {
    any: Cell<bool>,
    /// True while this cell has returned from its program.
    ended: Cell<bool>,
    /// The number of this cell's last wait.
    number: Cell<u64>,
    letters: RefCell<Letters>,
}

/// The request of probes and what they bring.
type Post = (Request<WithBytes<u64>>, Rc<Shared>);

/// A cell's watch over its waits.
pub(super) struct Watch<'a> {
    image: &'a Image,
    /// The name of the last rendezvous.
    place: u64,
    /// `None` where the machine finds waits for ever itself.
    post: Option<Post>,
    looks: Cell<u32>,
    next: Instant,
    pause: Duration,
    /// The last probe's round in this wait.
    round: u64,
    /// What probes of this wait have found: a digest of the waits, and the last round until then.
    found: Option<(u64, u64)>,
}

fn digest(waits: &[Wait]) -> u64 {
    waits.iter().flatten().fold(1, |all: u64, word| all.rotate_left(5).wrapping_mul(31) ^ word)
}

fn install(node: &mut Node) -> Post {
    let shared = Rc::<Shared>::default();
    let mut handlers = node.handlers();
    let ended = handlers.reply({
        let shared = Rc::clone(&shared);
        move |_, answer: [u64; 4]| {
            shared.letters.borrow_mut().ends.push(answer);
            shared.any.set(true);
        }
    });
    let probe = handlers.request_with_bytes({
        let shared = Rc::clone(&shared);
        move |node, round: u64, bytes| {
            let waits: Vec<Wait> = pod_collect_to_vec(bytes);
            match waits.first() {
                Some([first, number, ..]) if shared.ended.get() => {
                    let answer = [round, *number, node.rank() as u64, digest(&waits)];
                    node.reply_to(*first as usize, ended, answer);
                }
                _ => {
                    shared.letters.borrow_mut().probes.push((round, waits));
                    shared.any.set(true);
                }
            }
        }
    });
    node.install(handlers);
    (probe, shared)
}

impl<'a> Watch<'a> {
    /// Collective. `timed`: true if time is simulated.
    pub(super) fn new(node: &mut Node, image: &'a Image, timed: bool) -> Self {
        let mut post = None;
        if !timed && !node.is_simulated() && node.size() > 1 {
            let here = installed(node, install);
            // Letters of an earlier run are of waits that are over.
            here.1.letters.take();
            here.1.ended.set(false);
            post = Some(here);
        }
        let next = Instant::now();
        let looks = Cell::new(0);
        Self { image, place: 0, post, looks, next, pause: PATIENCE, round: 0, found: None }
    }

    pub(super) fn image(&self) -> &'a Image {
        self.image
    }

    #[inline]
    pub(super) fn come(&mut self, place: u64) {
        self.place = place;
    }

    /// This cell has returned from its program.
    pub(super) fn ends(&self) {
        if let Some((_, shared)) = &self.post {
            shared.ended.set(true);
        }
    }

    /// A wait begins, which is not a short one.
    pub(super) fn begin(&mut self) {
        let Some((_, shared)) = &self.post else { return };
        shared.number.set(shared.number.get() + 1);
        self.pause = PATIENCE;
        self.next = Instant::now() + PATIENCE;
        (self.round, self.found) = (0, None);
    }

    /// True if there is something to [attend](Self::attend) to.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        let Some((_, shared)) = &self.post else { return false };
        let looks = self.looks.get();
        self.looks.set(looks.wrapping_add(1));
        shared.any.get() || looks.is_multiple_of(SELDOM) && Instant::now() >= self.next
    }

    /// The letters that have come, for [`attend`](Self::attend); before it the cell looks once more
    /// for what it awaits.
    pub(super) fn take(&mut self) -> Letters {
        match &self.post {
            Some((_, shared)) if shared.any.replace(false) => shared.letters.take(),
            _ => Letters::default(),
        }
    }

    /// True if probes of two rounds have found the same waits, the second sent when the first had
    /// come back.
    fn is_found_again(&mut self, round: u64, digest: u64) -> bool {
        match self.found {
            Some((before, until)) if before == digest => round > until,
            _ => {
                self.found = Some((digest, self.round));
                false
            }
        }
    }

    /// Sends probes and passes them on, while this cell waits for cell `other`. Ends the job if the
    /// wait cannot end.
    #[track_caller]
    pub(super) fn attend(&mut self, node: &mut Node, (other, awaits): (usize, Awaits), letters: Letters) {
        let Some((probe, shared)) = self.post.clone() else { return };
        let (me, number) = (node.rank() as u64, shared.number.get());
        let mine = [me, number, self.place, awaits.word()];
        let send = |node: &mut Node, round: u64, waits: &[Wait]| {
            node.send_with_bytes(other, probe, round, cast_slice(waits));
        };
        for (round, mut waits) in letters.probes {
            let first = waits.first().copied().unwrap_or_default();
            if first[0] == me {
                if first == mine && self.is_found_again(round, digest(&waits)) {
                    self.fail_in_a_circle(node, &waits);
                }
            } else if waits.len() < MOST && waits.iter().all(|wait| wait[0] != me) {
                waits.push(mine);
                send(node, round, &waits);
            }
        }
        for [round, of, cell, digest] in letters.ends {
            if of == number && self.is_found_again(round, digest ^ !cell) {
                let wait = self.text(&mine);
                let through = if cell == other as u64 {
                    String::new()
                } else {
                    format!(" for cell {other}, and so in turn")
                };
                node.fail(format!("{wait}{through} for cell {cell}, which has ended its program"));
            }
        }
        if Instant::now() >= self.next {
            self.pause *= 2;
            self.next = Instant::now() + self.pause;
            self.round += 1;
            send(node, self.round, &[mine]);
        }
    }

    fn text(&self, wait: &Wait) -> String {
        let [cell, _, place, what] = *wait;
        let place = place::text(self.image, place);
        let name = self.image.connections.get((what >> 2) as usize).map_or("", |linked| &linked.name);
        match what & 3 {
            0 => format!("cell {cell} of the machine waits at {place}"),
            1 => format!("cell {cell} of the machine, past {place}, waits to receive from {name}"),
            2 => format!("cell {cell} of the machine, past {place}, waits to send on {name}"),
            _ => format!("cell {cell} of the machine waits at {place}, to send on {name},"),
        }
    }

    #[cold]
    #[track_caller]
    fn fail_in_a_circle(&self, node: &mut Node, waits: &[Wait]) -> ! {
        let texts: Vec<String> = waits.iter().map(|wait| self.text(wait)).collect();
        node.fail(format!("cells wait for each other: {}", texts.join("; ")));
    }

    /// Ends the job: another cell, if it is known cell `other`, has come to another rendezvous.
    #[cold]
    #[track_caller]
    pub(super) fn mismatch(&self, node: &mut Node, other: Option<usize>, theirs: u64) -> ! {
        let [mine, theirs] = [self.place, theirs].map(|word| place::text(self.image, word));
        let (me, other) = (node.rank(), other.map_or("another".to_owned(), |cell| format!("cell {cell}")));
        node.fail(format!(
            "cells are not at the same place: cell {me} of the machine is at {mine}, {other} at {theirs}"
        ));
    }

    /// Ends the job: a message was not received before a switch.
    #[cold]
    #[track_caller]
    pub(super) fn unread(&self, node: &mut Node, connection: usize) -> ! {
        let name = &self.image.connections[connection].name;
        let (me, place) = (node.rank(), place::text(self.image, self.place));
        node.fail(format!(
            "a message of {name} was not received before {place}; cell {me} of the machine has to receive it first"
        ));
    }
}
