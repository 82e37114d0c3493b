//! Quicksort that leaves short parts to insertion sort: below which length?

pub use crate::random::words as keys;

/// Sorts, parts of at most `cutoff` keys by insertion.
pub fn quicksort(keys: &mut [u32], cutoff: usize) {
    let mut rest = keys;
    while rest.len() > cutoff.max(2) {
        let middle = partition(rest);
        let (low, high) = rest.split_at_mut(middle);
        let high = &mut high[1..];
        // The shorter part by a call, so that the stack stays small.
        if low.len() < high.len() {
            quicksort(low, cutoff);
            rest = high;
        } else {
            quicksort(high, cutoff);
            rest = low;
        }
    }
    insertion_sort(rest);
}

/// Sorts by insertion.
pub fn insertion_sort(keys: &mut [u32]) {
    for end in 1..keys.len() {
        let key = keys[end];
        let mut at = end;
        while at > 0 && keys[at - 1] > key {
            keys[at] = keys[at - 1];
            at -= 1;
        }
        keys[at] = key;
    }
}

/// Moves the median of three keys to where it belongs; returns the place.
fn partition(keys: &mut [u32]) -> usize {
    let (middle, last) = (keys.len() / 2, keys.len() - 1);
    if keys[middle] < keys[0] {
        keys.swap(middle, 0);
    }
    if keys[last] < keys[0] {
        keys.swap(last, 0);
    }
    if keys[last] < keys[middle] {
        keys.swap(last, middle);
    }
    keys.swap(middle, last);
    let pivot = keys[last];
    let (mut low, mut high) = (0, last);
    loop {
        while keys[low] < pivot {
            low += 1;
        }
        high -= 1;
        while high > low && keys[high] > pivot {
            high -= 1;
        }
        if low >= high {
            break;
        }
        keys.swap(low, high);
        low += 1;
    }
    keys.swap(low, last);
    low
}
