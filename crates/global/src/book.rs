//! What a node has under way: phases, and values that will come.

use crate::wire::MOST_UNDER_WAY;
use std::cell::{Cell, RefCell};

/// A value that other nodes' replies fill.
#[derive(Default)]
struct Value {
    bytes: Vec<u8>,
    missing: usize,
    phase: usize,
}

/// What this node has under way, and what has been stored here.
#[derive(Default)]
pub(crate) struct Book {
    /// Accesses of each phase that are not complete.
    phases: RefCell<Vec<usize>>,
    free_phases: RefCell<Vec<usize>>,
    values: RefCell<Vec<Value>>,
    free_values: RefCell<Vec<usize>>,
    /// All of them.
    pending: Cell<usize>,
    /// Bytes stored here by messages.
    stored: Cell<u64>,
}

impl Book {
    /// The number of a new phase; `None` if there are too many.
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

    /// Gives a phase's number back, if nothing of it is under way.
    pub(crate) fn close_phase(&self, phase: usize) -> bool {
        let empty = self.phases.borrow()[phase] == 0;
        if empty {
            self.free_phases.borrow_mut().push(phase);
        }
        empty
    }

    /// The accesses of a phase that are under way.
    pub(crate) fn pending_in(&self, phase: usize) -> usize {
        self.phases.borrow()[phase]
    }

    /// The accesses under way, of all phases.
    pub(crate) fn pending(&self) -> usize {
        self.pending.get()
    }

    /// All bytes stored here by messages.
    pub(crate) fn stored(&self) -> u64 {
        self.stored.get()
    }

    /// Bytes have been stored here by a message.
    pub(crate) fn has_stored(&self, bytes: u64) {
        self.stored.set(self.stored.get().wrapping_add(bytes));
    }

    /// An access of a phase begins.
    pub(crate) fn begin(&self, phase: usize) {
        self.phases.borrow_mut()[phase] += 1;
        self.pending.set(self.pending.get() + 1);
    }

    /// An access of a phase is complete.
    pub(crate) fn end(&self, phase: usize) {
        self.phases.borrow_mut()[phase] -= 1;
        self.pending.set(self.pending.get() - 1);
    }

    /// The number of a value of `bytes` bytes (at least 1) that will come; `None` if too many are
    /// under way.
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

    /// Copies a value that has come, and gives its number back; false if it has not.
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

    /// Gives the number of a value back that nobody waits for any more.
    pub(crate) fn forget_value(&self, number: usize) {
        self.free_values.borrow_mut().push(number);
    }

    /// The part of value `number` from byte `at` on has come.
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
