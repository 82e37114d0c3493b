//! Choosing must not allocate: it runs inside the user's innermost calls.

#![allow(
    unsafe_code,
    reason = "counting allocations takes a global allocator, and that trait is unsafe to implement"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use strata_model::set::{Input, Library, LibraryCandidate, Model, ModelSet, ParameterRange, Step, Term};
use strata_model::{Program, expr};
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

fn set() -> ModelSet {
    let input = |name: &str| Input { name: name.into(), min: 1.0, max: 1e6, integer: true };
    let term = |term: &str, coefficient| Term {
        term: term.into(),
        coefficient,
        std_error: 0.0,
        half_width: 0.0,
        relevant: true,
    };
    let radix = Model {
        name: "Radix".into(),
        inputs: vec![input("keys"), input("bits"), input("width")],
        terms: vec![term("2^bits", 1e-6), term("ceil(width/bits)*keys*logP", 1e-6)],
        covariance: vec![vec![1e-20, 0.0], vec![0.0, 1e-20]],
        t_quantile: 2.0,
        ..Model::default()
    };
    let sample = Model {
        name: "Sample".into(),
        inputs: vec![input("keys")],
        terms: vec![term("Radix(64,8,32)", 1.0), term("keys", 2e-6)],
        requires: vec!["keys>=2".into()],
        ..Model::default()
    };
    let candidate = |name: &str, model: &str, arguments: &[&str], max| LibraryCandidate {
        name: name.into(),
        model: model.into(),
        arguments: arguments.iter().map(|a| (*a).to_owned()).collect(),
        parameters: if max > 0 {
            vec![ParameterRange {
                name: "bits".into(),
                min: 1,
                max,
                step: Step::ONE,
                root: None,
                first: None,
                last: None,
            }]
        } else {
            vec![]
        },
        requires: vec![],
    };
    let library = Library {
        incumbent: None,
        equal: Vec::new(),
        regret: None,
        name: "sort".into(),
        inputs: vec!["keys".into(), "width".into()],
        candidates: vec![
            candidate("radix", "Radix", &["keys", "bits", "width"], 16),
            candidate("sample", "Sample", &["keys*2"], 0),
            candidate("twice", "Radix", &["keys+1", "bits", "2*width"], 1000),
        ],
    };
    ModelSet { models: vec![radix, sample], libraries: vec![library], ..ModelSet::default() }
}

#[test]
fn choosing_and_predicting_allocate_nothing() {
    let resolved = set().resolve().unwrap();
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
