//! A node's pending accesses: phases, and awaited values.

use crate::segment::STORE_COUNTERS;
use crate::wire::MOST_UNDER_WAY;
use std::cell::{Cell, RefCell};

/// A value that replies from other nodes fill.
#[derive(Default)]
struct Value {
    bytes: Vec<u8>,
    missing: usize,
    phase: usize,
}

/// This node's pending accesses, and the counts of bytes stored here.
#[derive(Default)]
pub(crate) struct Book {
    /// Number of incomplete accesses of each phase.
    phases: RefCell<Vec<usize>>,
    free_phases: RefCell<Vec<usize>>,
    values: RefCell<Vec<Value>>,
    free_values: RefCell<Vec<usize>>,
    /// Phases ended by a panic, with the values that had not arrived.
    abandoned: RefCell<Vec<(usize, Vec<usize>)>>,
    /// Number of incomplete accesses of all phases.
    pending: Cell<usize>,
    /// Bytes stored here by messages, by counter.
    stored: [Cell<u64>; STORE_COUNTERS],
}

impl Book {
    /// Opens a phase and returns its number; `None` if there are too many.
    pub(crate) fn open_phase(&self) -> Option<usize> {
        let mut phases = self.phases.borrow_mut();
        if let Some(free) = self.free_phases.borrow_mut().pop() {
            return Some(free);
        }
        (phases.len() < MOST_UNDER_WAY).then(|| {
            phases.push(0);
            phases.len() - 1
        })
    }

    /// Ends a phase whose accesses may be pending, and gives up its values that have not arrived.
    pub(crate) fn abandon(&self, phase: usize, values: Vec<usize>) {
        self.abandoned.borrow_mut().push((phase, values));
        self.reclaim();
    }

    /// Frees the numbers of abandoned phases without pending accesses; true if no others are left.
    pub(crate) fn reclaim(&self) -> bool {
        let mut abandoned = self.abandoned.borrow_mut();
        abandoned.retain(|(phase, values)| {
            let over = self.close_phase(*phase);
            if over {
                self.free_values.borrow_mut().extend(values);
            }
            !over
        });
        abandoned.is_empty()
    }

    /// Closes a phase if none of its accesses is pending; returns true if it did.
    fn close_phase(&self, phase: usize) -> bool {
        let empty = self.phases.borrow()[phase] == 0;
        if empty {
            self.free_phases.borrow_mut().push(phase);
        }
        empty
    }

    pub(crate) fn pending_in(&self, phase: usize) -> usize {
        self.phases.borrow()[phase]
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending.get()
    }

    /// All bytes stored here by messages on a counter.
    pub(crate) fn stored(&self, counter: usize) -> u64 {
        self.stored.get(counter).map_or(0, Cell::get)
    }

    /// Counts bytes that a message has stored here.
    pub(crate) fn has_stored(&self, counter: usize, bytes: u64) {
        if let Some(stored) = self.stored.get(counter) {
            stored.set(stored.get().wrapping_add(bytes));
        }
    }

    /// Counts the start of an access of a phase.
    pub(crate) fn begin(&self, phase: usize) {
        self.phases.borrow_mut()[phase] += 1;
        self.pending.set(self.pending.get() + 1);
    }

    /// Counts the completion of an access of a phase.
    pub(crate) fn end(&self, phase: usize) {
        self.phases.borrow_mut()[phase] -= 1;
        self.pending.set(self.pending.get() - 1);
    }

    /// The number of a new awaited value of `bytes` bytes (at least 1); `None` if there are too
    /// many.
    pub(crate) fn await_value(&self, phase: usize, bytes: usize) -> Option<usize> {
        let mut values = self.values.borrow_mut();
        let number = self.free_values.borrow_mut().pop();
        let number = match number {
            Some(number) => number,
            None if values.len() < MOST_UNDER_WAY => {
                values.push(Value::default());
                values.len() - 1
            }
            None => return None,
        };
        let value = &mut values[number];
        value.bytes.clear();
        value.bytes.resize(bytes, 0);
        (value.missing, value.phase) = (bytes, phase);
        self.begin(phase);
        Some(number)
    }

    /// Copies an awaited value and frees its number, if the value has arrived; otherwise returns
    /// false.
    pub(crate) fn take_value(&self, number: usize, into: &mut [u8]) -> bool {
        let values = self.values.borrow();
        let value = &values[number];
        let complete = value.missing == 0;
        if complete {
            into.copy_from_slice(&value.bytes);
            self.free_values.borrow_mut().push(number);
        }
        complete
    }

    /// Fills a part of value `number`, from byte `at` on.
    pub(crate) fn came(&self, number: usize, at: usize, data: &[u8]) {
        let mut values = self.values.borrow_mut();
        let value = &mut values[number];
        value.bytes[at..at + data.len()].copy_from_slice(data);
        value.missing -= data.len();
        let (complete, phase) = (value.missing == 0, value.phase);
        drop(values);
        if complete {
            self.end(phase);
        }
    }
}
