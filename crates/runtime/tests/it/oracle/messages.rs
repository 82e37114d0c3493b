//! Random programs of sends, collectives, polls and delays: everything arrives once, in the order
//! sent.

use super::mix;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use strata_runtime::prelude::*;
use strata_runtime::{Network, message::Request};

/// Arguments of more than one packet.
type Long = [u64; 21];

/// A node's correspondence.
pub(crate) struct Mail {
    short: Request<[u64; 2]>,
    long: Request<Long>,
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    /// By sender: how many of its messages have come.
    received: Vec<u64>,
    /// By target: how many of this node's messages it has answered, and the number of the last one.
    answered: Vec<u64>,
}

impl Mail {
    /// Installs the handlers: collective.
    pub(crate) fn new(node: &mut Node) -> Self {
        let size = node.size();
        let state = Rc::new(RefCell::new(State { received: vec![0; size], answered: vec![0; size] }));
        let mut handlers = node.handlers();
        let answer = handlers.reply({
            let state = Rc::clone(&state);
            move |context, number: u64| {
                let answered = &mut state.borrow_mut().answered[context.from()];
                assert_eq!(number, *answered, "answers keep their order");
                *answered += 1;
            }
        });
        let receive = |state: &Rc<RefCell<State>>, from: usize, number: u64| {
            let received = &mut state.borrow_mut().received[from];
            assert_eq!(number, *received, "messages keep their order, and come once");
            *received += 1;
        };
        let short = handlers.request({
            let state = Rc::clone(&state);
            move |context, [number, check]: [u64; 2]| {
                assert_eq!(check, mix(number, context.from(), context.rank()));
                receive(&state, context.from(), number);
                context.reply(answer, number);
            }
        });
        let long = handlers.request({
            let state = Rc::clone(&state);
            move |context, words: Long| {
                for (i, word) in words[1..].iter().enumerate() {
                    assert_eq!(*word, mix(words[0], context.from(), i));
                }
                receive(&state, context.from(), words[0]);
                context.reply(answer, words[0]);
            }
        });
        node.install(handlers);
        Self { short, long, state }
    }

    /// One random program. All nodes draw the same steps, and each its own sends, polls and delays
    /// in between.
    pub(crate) fn schedule(&self, node: &mut Node, seed: u64) {
        let (rank, size) = (node.rank(), node.size());
        {
            let mut state = self.state.borrow_mut();
            state.received.fill(0);
            state.answered.fill(0);
        }
        node.barrier();
        let mut sent = vec![0u64; size];
        for step in 0..1 + mix(seed, 0, 0) as usize % 6 {
            let word = mix(seed, usize::MAX, step);
            self.send_some(node, seed, step, &mut sent);
            let length = (word >> 8) as usize % 300;
            match word % 9 {
                0 => node.barrier(),
                1 => assert_eq!(node.reduce_add(1u64), size as u64),
                2 => {
                    let mut vector = vec![1u32; length];
                    node.scan_add(&mut vector);
                    assert!(vector.iter().all(|value| *value == rank as u32));
                }
                3 => {
                    let root = (word >> 20) as usize % size;
                    assert_eq!(node.broadcast_value(root, rank as u64), root as u64);
                }
                4 => assert_eq!(node.all_gather(&[rank]).len(), size),
                5 => {
                    let blocks = (0..size).map(|_| Block::from_slice(&vec![rank as u64; length])).collect();
                    assert_eq!(node.all_to_all_v::<u64>(blocks).len(), size);
                }
                6 => {
                    let pending = node.start_reduce(Op::Max, Block::from_slice(&vec![rank as u64; length]));
                    self.send_some(node, !seed, step, &mut sent);
                    assert!(node.complete(pending).iter().all(|value| *value == size as u64 - 1));
                }
                7 => {
                    let pending = node.start_barrier();
                    self.send_some(node, !seed, step, &mut sent);
                    while !node.query(&pending) {
                        node.poll_once();
                        super::give_way(node);
                    }
                    node.complete(pending);
                }
                _ => super::moving::patterns(node, word, length % 20),
            }
        }
        // Everything sent is answered; everything meant for this node has come.
        let state = &self.state;
        node.wait_until(|| state.borrow().answered == sent);
        let mut to_all = vec![0u64; size * size];
        to_all[rank * size..(rank + 1) * size].copy_from_slice(&sent);
        node.reduce_add(&mut to_all);
        let meant: Vec<u64> = (0..size).map(|from| to_all[from * size + rank]).collect();
        node.wait_until(|| state.borrow().received == meant);
        node.barrier();
        assert_eq!(state.borrow().received, meant);
    }

    fn send_some(&self, node: &mut Node, seed: u64, step: usize, sent: &mut [u64]) {
        let rank = node.rank();
        let word = mix(seed, rank, 1000 + step);
        // Now and then more than any buffer takes.
        let many = if word.is_multiple_of(97) { 3000 } else { word as usize % 12 };
        for i in 0..many {
            let word = mix(word, i, 0);
            let to = word as usize % sent.len();
            let number = sent[to];
            if word.is_multiple_of(13) {
                let mut words: Long = std::array::from_fn(|i| mix(number, rank, i.wrapping_sub(1)));
                words[0] = number;
                node.send(to, self.long, words);
            } else {
                node.send(to, self.short, [number, mix(number, rank, to)]);
            }
            sent[to] += 1;
            match word >> 32 & 63 {
                0 => super::give_way(node),
                1 if !node.is_simulated() => {
                    std::thread::sleep(std::time::Duration::from_micros(word >> 48 & 127))
                }
                2 => drop(node.poll()),
                3 => drop(node.poll_once()),
                4 => drop(node.poll_one(Network::Request)),
                5 => drop(node.poll_one_until_empty(Network::Reply)),
                6 => drop(node.poll_one_then_all(Network::Request)),
                _ => {}
            }
        }
    }
}

/// A message goes round the nodes, `rounds` times; each calls `before` before it passes it on. All
/// others wait meanwhile.
#[allow(dead_code, reason = "not every test program needs it")]
pub(crate) fn in_turn(node: &mut Node, rounds: u64, before: impl Fn(u64)) {
    let got = Rc::new(Cell::new(0));
    let mut handlers = node.handlers();
    let pass = handlers.request({
        let got = Rc::clone(&got);
        move |_, round: u64| got.set(round)
    });
    node.install(handlers);
    let next = (node.rank() + 1) % node.size();
    for round in 1..=rounds {
        if node.rank() > 0 {
            node.wait_until(|| got.get() == round);
        }
        before(round);
        node.send(next, pass, round);
        if node.rank() == 0 {
            node.wait_until(|| got.get() == round);
        }
    }
}
