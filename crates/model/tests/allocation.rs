//! Choosing must not allocate: it runs inside the user's innermost calls.

#![allow(
    unsafe_code,
    reason = "counting allocations takes a global allocator, and that trait is unsafe to implement"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use strata_model::{ModelSet, Program, expr};
use strata_select::{Pin, Question, Row, choose_among, table::Parameter};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending does not count.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches a cell of this
// thread and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the pointer came from `System` with this layout, and the caller keeps the
        // contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = COUNT.get();
    let result = work();
    (result, COUNT.get() - before)
}

/// The first candidate has few values of its parameter, the third many, the second none.
const SET: &str = r#"strata-models = 1
[[models]]
name = "Radix"
inputs = [{ name = "keys", min = 1, max = 1e6 }, { name = "bits", min = 1, max = 1e6 },
    { name = "width", min = 1, max = 1e6 }]
terms = [{ term = "2^bits", coefficient = 1e-6, relevant = true },
    { term = "ceil(width/bits)*keys*logP", coefficient = 1e-6, relevant = true }]
covariance = [[1e-20, 0], [0, 1e-20]]
t_quantile = 2
[[models]]
name = "Sample"
inputs = [{ name = "keys", min = 1, max = 1e6 }]
terms = [{ term = "Radix(64,8,32)", coefficient = 1, relevant = true },
    { term = "keys", coefficient = 2e-6, relevant = true }]
requires = ["keys>=2"]
[[libraries]]
name = "sort"
inputs = ["keys", "width"]
candidates = [
    { name = "radix", model = "Radix", arguments = ["keys", "bits", "width"],
        parameters = [{ name = "bits", min = 1, max = 16 }] },
    { name = "sample", model = "Sample", arguments = ["keys*2"] },
    { name = "twice", model = "Radix", arguments = ["keys+1", "bits", "2*width"],
        parameters = [{ name = "bits", min = 1, max = 1000 }] },
]
"#;

#[test]
fn choosing_and_predicting_allocate_nothing() {
    let resolved = ModelSet::read(SET).unwrap().resolve().unwrap();
    let library = resolved.library("sort").unwrap();
    const SHORT: &[Parameter] = &[Parameter::new("bits", 1, 16)];
    const LONG: &[Parameter] = &[Parameter::new("bits", 1, 1000)];
    let rows = [Row::new("radix", SHORT), Row::new("sample", &[]), Row::new("twice", LONG)];
    let pin = Pin::parse("sort=twice").unwrap();
    for pin in [None, Some(pin)] {
        let question = Question { pin, ..Question::new(4, &[5000.0, 32.0]) };
        let (choice, count) = allocations(|| choose_among(("sort", ""), rows, library, question, &|_| true));
        assert!(choice.unwrap().predicted.is_some());
        assert_eq!(count, 0);
    }
    let (prediction, count) = allocations(|| resolved.predict("Sample", 4, &[5000.0]));
    assert!(prediction.is_some());
    assert_eq!(count, 0);
    let (_, count) = allocations(|| resolved.seconds("Radix", 4, &[5000.0, 8.0, 32.0]));
    assert_eq!(count, 0);
}

#[test]
fn evaluation_allocates_nothing() {
    let long = (0..200).map(|n| format!("max(x,{n})*y^{n}")).collect::<Vec<_>>().join("+");
    for text in ["1+x*y", &long] {
        let program = Program::compile(&expr::parse(text).unwrap(), &["x", "y"]).unwrap();
        let (_, count) = allocations(|| program.eval(&[1.0, 2.0]));
        assert_eq!(count, 0);
    }
    assert_eq!(allocations(|| vec![1]).1, 1, "the counter counts");
}
