//! No routine reads or writes beyond its slices: they end, and begin, at pages without access.
#![cfg(unix)]
#![allow(unsafe_code, reason = "maps pages whose neighbours cannot be accessed")]

use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use strata_copy::{Strided, movers, routines};

const PAGE: usize = 4096;

/// Pages between two that cannot be accessed.
struct Guarded {
    mapping: NonNull<std::ffi::c_void>,
    pages: usize,
}

impl Guarded {
    fn new(pages: usize) -> Self {
        let length = NonZeroUsize::new((pages + 2) * PAGE).expect("the system maps pages");
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_ANONYMOUS;
        // SAFETY: a new mapping that nothing else refers to; its middle is then made accessible.
        let mapping = unsafe { mmap_anonymous(None, length, ProtFlags::PROT_NONE, flags) }
            .expect("the system maps pages");
        // SAFETY: the pages lie inside the mapping.
        unsafe {
            let middle = mapping.byte_add(PAGE);
            mprotect(middle, pages * PAGE, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE)
                .expect("the system maps pages");
        }
        Self { mapping, pages }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let start = self.mapping.as_ptr().cast::<u8>().wrapping_add(PAGE);
        // SAFETY: the pages are accessible, zeroed, and borrowed through `self` alone.
        unsafe { std::slice::from_raw_parts_mut(start, self.pages * PAGE) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; nothing borrows it any more.
        unsafe { munmap(self.mapping, (self.pages + 2) * PAGE) }.expect("the system maps pages");
    }
}

#[test]
fn nothing_beyond_either_end_is_touched() {
    let pages = (16 * 1024_usize).div_ceil(PAGE).max(4);
    let (mut source, mut target) = (Guarded::new(pages), Guarded::new(pages));
    let all = source.bytes().len();
    source.bytes().iter_mut().enumerate().for_each(|(index, byte)| *byte = (index * 7 + index / 251) as u8);
    for routine in routines() {
        for len in (0..=260).chain([511, 2048, 2100, 4095, 4096, 4097, 6143, 8192, 12_289, all]) {
            for (from_end, to_end) in [(true, true), (false, false), (true, false), (false, true)] {
                let part = |end| if end { all - len..all } else { 0..len };
                target.bytes().fill(0);
                routine.copy(&mut target.bytes()[part(to_end)], &source.bytes()[part(from_end)]);
                let same = target.bytes()[part(to_end)] == source.bytes()[part(from_end)];
                assert!(same, "{routine:?}, {len} bytes, at the end: {from_end}, {to_end}");
            }
        }
    }
}

#[test]
fn no_mover_touches_anything_beyond_either_end() {
    const PAGES: usize = 4;
    let (mut spread, mut packed) = (Guarded::new(PAGES), Guarded::new(PAGES));
    let all = PAGES * PAGE;
    spread.bytes().iter_mut().enumerate().for_each(|(index, byte)| *byte = (index * 7 + index / 251) as u8);
    for mover in movers() {
        for block in (1..=260).chain([383, 500, 512, 1000, 1024]) {
            for (gap, count) in [(1, 1), (1, 7), (900, 5), (PAGE, 3)] {
                let strided = Strided { block, stride: block + gap, count };
                let span = strided.span().unwrap();
                if span > all {
                    continue;
                }
                for end in [false, true] {
                    let part = |len| if end { all - len..all } else { 0..len };
                    let (spread, packed) = (spread.bytes(), packed.bytes());
                    let packed = &mut packed[part(block * count)];
                    let spread = &mut spread[part(span)];
                    let before = spread.to_vec();
                    mover.pack(packed, spread, strided).unwrap();
                    mover.unpack(spread, packed, strided).unwrap();
                    assert!(spread == before, "{mover:?}, {strided:?}, at the end: {end}");
                }
            }
        }
    }
}
