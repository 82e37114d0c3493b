//! The memory of repeated use: no growth, and the same number of requests each time. Emitted Rust
//! allocates nothing.

// A program of its own, as its allocator is that of the whole program.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]
#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use nalgebra::{DMatrix, DVector};
use strata_fit::solve::solve;
use strata_fit::{FitOptions, Search, fit_samples};
use strata_model::Samples;
use strata_select::Kept;

#[allow(dead_code, missing_docs, unreachable_pub, reason = "models of a library that is not linked here")]
#[path = "../../sort/src/models.rs"]
mod sort;

#[allow(dead_code, missing_docs, unreachable_pub, reason = "models of a package that is not linked here")]
#[path = "../../../examples/own-library/src/multiply/models.rs"]
mod matmul;

/// The system's allocator, counting the requests of each thread and the bytes that it holds.
struct Counting;

thread_local! {
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTS.set(REQUESTS.get() + 1);
        HELD.set(HELD.get() + layout.size() as isize);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The requests of each of some rounds after the first, and the bytes that are still allocated.
fn rounds<T>(mut work: impl FnMut() -> T) -> (Vec<usize>, isize) {
    drop(work());
    let held = HELD.get();
    let mut requests = Vec::with_capacity(5);
    for _ in 0..5 {
        let before = REQUESTS.get();
        drop(work());
        requests.push(REQUESTS.get() - before);
    }
    let capacity = (requests.capacity() * size_of::<usize>()) as isize;
    (requests, HELD.get() - held - capacity)
}

#[test]
fn a_solve_leaves_nothing_behind() {
    for near in [0, 4, 9] {
        let share = 10f64.powi(-near);
        let wobble = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0;
        let a = DMatrix::from_fn(200, 6, |i, j| wobble(i, 0) + share * wobble(i, j + 1));
        let b = DVector::from_fn(200, |i, _| wobble(i, 9));
        let (requests, left) = rounds(|| solve(&a, &b).unwrap());
        assert_eq!(left, 0, "near {near}");
        assert!(requests.iter().all(|r| *r == requests[0] && *r > 0), "near {near}: {requests:?}");
    }
}

#[test]
fn a_fit_leaves_nothing_behind_with_terms_or_without() {
    for columns in ["n sqrt(n)", "(n)"] {
        let mut text = format!("model M {columns}\n");
        for i in 0..60usize {
            let n = f64::exp2(4.0 + (i / 5) as f64);
            let seconds = (1e-6 + 2e-9 * n) * (1.0 + 0.05 * ((i * 7919 % 101) as f64 / 101.0 - 0.5));
            let terms = if columns.contains("sqrt") { format!("{n} {}", n.sqrt()) } else { n.to_string() };
            text += &format!("{}M {seconds:e} {terms}\n", if i % 5 == 4 { "@" } else { "" });
        }
        let samples = Samples::parse(&text, "test").unwrap();
        let options = FitOptions { search: Search::WhenNeeded, ..FitOptions::default() };
        let (requests, left) = rounds(|| fit_samples(&samples, &options));
        assert_eq!(left, 0, "{columns}");
        assert!(requests.iter().all(|r| *r == requests[0] && *r > 0), "{columns}: {requests:?}");
    }
}

#[test]
fn emitted_rust_allocates_nothing() {
    let (requests, left) = rounds(|| {
        let seconds = sort::threads_4::RADIX_MODEL.seconds(4, &[4096.0, 11.0, 32.0]).unwrap();
        let prediction = sort::threads_4::RADIX_MODEL.predict(4, &[4096.0, 11.0, 32.0]).unwrap();
        assert!(
            seconds > 0.0 && sort::threads_4::SAMPLE_SORT_MODEL.predict(4, &[4096.0, 32.0, 16.0]).is_some()
        );
        assert!(
            sort::threads_4::GATHER_MODEL.predict(4, &[0.0, 32.0]).is_none(),
            "outside of what was measured"
        );
        prediction
    });
    assert_eq!((requests, left), (vec![0; 5], 0));
}

#[test]
fn choosing_from_compiled_in_models_allocates_nothing() {
    static KEPT: Kept<64> = Kept::new();
    let mut n = 4;
    let (requests, left) = rounds(|| {
        // The first round finds the models and the machine; each chooses at other problems.
        for _ in 0..50 {
            n += 1;
            let way = matmul::Matmul::choose(n);
            assert_eq!(KEPT.choose::<matmul::Matmul>(n as u32, n), way);
            assert_eq!(KEPT.get(n as u32), Some(way));
        }
    });
    assert_eq!((requests, left), (vec![0; 5], 0));
}
