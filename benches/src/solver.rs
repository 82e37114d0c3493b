//! A sparse triangular system solved by handlers (Brewer 1994, figure 6-3): each row is computed
//! when its last input has arrived, and sent to the rows that need it.
//!
//! Rows are dealt to the nodes at random. A message carries one value to one row, four words in
//! all, and its handler stores it; a row's sum is taken in the order of its inputs, so that all
//! ways of sending give the same values to the bit, on any number of nodes.

use std::cell::RefCell;
use std::rc::Rc;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng};
use strata_runtime::prelude::*;
use strata_runtime::{
    Network,
    message::{Reply, Request},
};

/// Cycles of a multiplication, an addition and the loop around them, and of a row's division with
/// the look at its outputs. Chosen: the thesis prints neither.
const UPDATE: f64 = 20.0;
const DIVISION: f64 = 60.0;

/// What CMMD's `CMAML_request` takes longer than Strata's `SendLeftPollBoth`, and `CMAML_poll` than
/// `PollBothTilEmpty`, in cycles (Brewer, appendix A, table 1).
const SLOWER_SEND: f64 = 67.0 - 43.0;
const SLOWER_POLL: f64 = 45.0 - 22.0;

/// A lower triangular system of which each row needs a few of the rows before it.
pub struct System {
    rows: Vec<Row>,
    owners: Vec<usize>,
    /// The rows that need each row, with its place among their inputs.
    outputs: Vec<Vec<(u32, u32)>>,
}

struct Row {
    diagonal: f64,
    right: f64,
    /// The rows that it needs, with their factors.
    inputs: Vec<(u32, f64)>,
}

impl System {
    /// `size` rows for `nodes` nodes; a row needs up to four of the 512 before it, at random.
    pub fn random(size: usize, nodes: usize, seed: u64) -> Self {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let mut outputs = vec![Vec::new(); size];
        let rows = (0..size).map(|row| {
            let mut needed: Vec<u32> = match row {
                0 => Vec::new(),
                _ => {
                    let count = draw.random_range(1..=4);
                    (0..count).map(|_| draw.random_range(row.saturating_sub(512)..row) as u32).collect()
                }
            };
            needed.sort_unstable();
            needed.dedup();
            for (place, from) in needed.iter().enumerate() {
                outputs[*from as usize].push((row as u32, place as u32));
            }
            let inputs = needed.into_iter().map(|from| (from, draw.random_range(-0.5..0.5))).collect();
            Row { diagonal: draw.random_range(1.0..2.0), right: draw.random_range(-1.0..1.0), inputs }
        });
        let rows = rows.collect();
        let mut deal = ChaCha8Rng::seed_from_u64(seed + 1);
        let owners = (0..size).map(|_| deal.random_range(0..nodes)).collect();
        Self { rows, owners, outputs }
    }

    /// The values, computed one after the other.
    pub fn in_order(&self) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let inputs: Vec<f64> = row.inputs.iter().map(|(from, _)| values[*from as usize]).collect();
            values.push(row.value(&inputs));
        }
        values
    }

    fn owned_by(&self, node: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.rows.len()).filter(move |row| self.owners[*row] == node)
    }
}

impl Row {
    fn value(&self, inputs: &[f64]) -> f64 {
        let terms = self.inputs.iter().zip(inputs);
        terms.fold(self.right, |sum, ((_, factor), input)| sum - factor * input) / self.diagonal
    }
}

/// How values are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// On either network; both are polled until they are empty after each message (Strata).
    Either,
    /// On either network at CMMD's costs; one network is polled once after each message, which is
    /// too little (`CMAML_rpc`).
    FewPolls,
    /// On one network at CMMD's costs; both are polled once after each message (`CMAML_request`).
    OneNetwork,
    /// As `Either`, but a node computes its rows in a fixed order, and waits for each.
    Blocking,
}

impl Sending {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Either, Self::FewPolls, Self::OneNetwork, Self::Blocking];
}

/// Values that have arrived for the rows of a node.
struct Arrived {
    inputs: Vec<Vec<f64>>,
    missing: Vec<usize>,
    /// Rows of which no input is missing, in the order in which they became complete.
    ready: Vec<u32>,
    handled: usize,
}

impl Arrived {
    fn take(&mut self, row: u32, place: u32, value: f64) {
        let at = row as usize;
        self.inputs[at][place as usize] = value;
        self.missing[at] -= 1;
        self.handled += 1;
        if self.missing[at] == 0 {
            self.ready.push(row);
        }
    }
}

/// A row, the place among its inputs, and the two halves of a value: a packet.
type Message = [u32; 4];

/// Solves a system. Returns the seconds until the slowest node is done, and this node's rows.
///
/// # Participation
/// Collective, with equal arguments.
pub fn solve(node: &mut Node, system: &System, sending: Sending) -> (f64, Vec<(usize, f64)>) {
    let mine: Vec<usize> = system.owned_by(node.rank()).collect();
    let missing: Vec<usize> = system.rows.iter().map(|row| row.inputs.len()).collect();
    let arrived = Rc::new(RefCell::new(Arrived {
        inputs: missing.iter().map(|count| vec![0.0; *count]).collect(),
        ready: mine.iter().filter(|row| missing[**row] == 0).map(|row| *row as u32).collect(),
        missing,
        handled: 0,
    }));
    let mut handlers = node.handlers();
    let (by_either, by_one) = (Rc::clone(&arrived), Rc::clone(&arrived));
    let take = |all: &RefCell<Arrived>, [row, place, high, low]: Message| {
        let value = f64::from_bits(u64::from(high) << 32 | u64::from(low));
        all.borrow_mut().take(row, place, value);
    };
    let either = handlers.reply(move |_, message: Message| take(&by_either, message));
    let one = handlers.request(move |_, message: Message| take(&by_one, message));
    node.install(handlers);
    node.barrier();
    let start = node.now();

    let mut solver = Solver { system, sending, either, one, arrived, polled: Network::Reply };
    let mut values = Vec::with_capacity(mine.len());
    while values.len() < mine.len() {
        // Of a fixed order, the next; of others, the one that has waited least.
        let next = match sending {
            Sending::Blocking => {
                let row = mine[values.len()];
                solver.wait(node, |arrived| arrived.missing[row] == 0);
                row
            }
            _ => {
                solver.wait(node, |arrived| !arrived.ready.is_empty());
                solver.arrived.borrow_mut().ready.pop().map_or(mine[0], |row| row as usize)
            }
        };
        values.push((next, solver.compute(node, next)));
    }
    let seconds = node.reduce_max(node.now().get() - start.get());
    node.uninstall();
    (seconds, values)
}

/// A node's part of the solution.
struct Solver<'a> {
    system: &'a System,
    sending: Sending,
    either: Reply<Message>,
    one: Request<Message>,
    arrived: Rc<RefCell<Arrived>>,
    /// The network that was polled last.
    polled: Network,
}

impl Solver<'_> {
    fn wait(&mut self, node: &mut Node, done: impl Fn(&Arrived) -> bool) {
        let arrived = Rc::clone(&self.arrived);
        node.wait_until(|| done(&arrived.borrow()));
        self.charge_handled(node);
    }

    /// Charges for what the handlers did, which have no clock of their own.
    fn charge_handled(&mut self, node: &mut Node) {
        let handled = std::mem::take(&mut self.arrived.borrow_mut().handled);
        node.compute(UPDATE * handled as f64, || ());
    }

    /// Computes a row and sends it to the rows that need it.
    fn compute(&mut self, node: &mut Node, row: usize) -> f64 {
        let value = self.system.rows[row].value(&self.arrived.borrow().inputs[row]);
        node.compute(DIVISION, || ());
        for &(to, place) in &self.system.outputs[row] {
            let owner = self.system.owners[to as usize];
            if owner == node.rank() {
                self.arrived.borrow_mut().take(to, place, value);
                continue;
            }
            let bits = value.to_bits();
            let message = [to, place, (bits >> 32) as u32, bits as u32];
            match self.sending {
                Sending::OneNetwork => node.send(owner, self.one, message),
                _ => node.send_either(owner, self.either, message),
            }
            self.poll(node);
        }
        self.charge_handled(node);
        value
    }

    fn poll(&mut self, node: &mut Node) {
        match self.sending {
            Sending::Either | Sending::Blocking => {
                node.poll();
            }
            Sending::FewPolls => {
                self.polled = match self.polled {
                    Network::Request => Network::Reply,
                    Network::Reply => Network::Request,
                };
                node.poll_one(self.polled);
                node.compute(SLOWER_SEND + SLOWER_POLL, || ());
            }
            Sending::OneNetwork => {
                node.poll_once();
                node.compute(SLOWER_SEND + SLOWER_POLL, || ());
            }
        }
        self.charge_handled(node);
    }
}
