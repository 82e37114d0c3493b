//! A node's pending accesses: phases, and awaited values.

use crate::wire::MOST_UNDER_WAY;
use std::cell::{Cell, RefCell};

/// A value that replies from other nodes fill.
#[derive(Default)]
struct Value {
    bytes: Vec<u8>,
    missing: usize,
    phase: usize,
}

/// This node's pending accesses, and the count of bytes stored here.
#[derive(Default)]
pub(crate) struct Book {
    /// Number of incomplete accesses of each phase.
    phases: RefCell<Vec<usize>>,
    free_phases: RefCell<Vec<usize>>,
    values: RefCell<Vec<Value>>,
    free_values: RefCell<Vec<usize>>,
    /// Number of incomplete accesses of all phases.
    pending: Cell<usize>,
    /// Bytes stored here by messages.
    stored: Cell<u64>,
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

    /// Closes a phase if none of its accesses is pending; returns true if it did.
    pub(crate) fn close_phase(&self, phase: usize) -> bool {
        let empty = self.phases.borrow()[phase] == 0;
        if empty {
            self.free_phases.borrow_mut().push(phase);
        }
        empty
    }

    /// The number of pending accesses of a phase.
    pub(crate) fn pending_in(&self, phase: usize) -> usize {
        self.phases.borrow()[phase]
    }

    /// The number of pending accesses of all phases.
    pub(crate) fn pending(&self) -> usize {
        self.pending.get()
    }

    /// All bytes stored here by messages.
    pub(crate) fn stored(&self) -> u64 {
        self.stored.get()
    }

    /// Counts bytes that a message has stored here.
    pub(crate) fn has_stored(&self, bytes: u64) {
        self.stored.set(self.stored.get().wrapping_add(bytes));
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

    /// Frees the number of a value that is no longer awaited.
    pub(crate) fn forget_value(&self, number: usize) {
        self.free_values.borrow_mut().push(number);
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
