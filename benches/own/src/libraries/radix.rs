//! Radix sort of 32-bit keys, the least digit first: digits of how many bits?

pub use crate::random::words as keys;

/// Sorts by digits of `bits` bits.
pub fn radix_sort(keys: &mut Vec<u32>, bits: u32) {
    let mut other = vec![0; keys.len()];
    let mut ends = vec![0usize; 1 << bits];
    let mask = (1u32 << bits) - 1;
    let mut shift = 0;
    while shift < 32 {
        ends.fill(0);
        for key in &*keys {
            ends[((key >> shift) & mask) as usize] += 1;
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        for key in keys.iter().rev() {
            let place = &mut ends[((key >> shift) & mask) as usize];
            *place -= 1;
            other[*place] = *key;
        }
        std::mem::swap(keys, &mut other);
        shift += bits;
    }
}
