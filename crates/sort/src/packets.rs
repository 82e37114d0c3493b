//! Radix sort that sends every key to its final place in a message of its own, as in the thesis
//! (Brewer 1994, §4.5.1, Fig. 4-11).
//!
//! Counts are shared as in [`radix`](crate::radix), which gives each key its position i among all
//! keys. A message carries it to (⌊i/k⌋, i mod k), k = ⌈n/P⌉. Two arrays are used in alternation.
//! Keys are not gathered into blocks before nor copied out of them afterwards, and nodes without
//! keys for each other exchange nothing. On the simulated CM-5 with 32 to 128 nodes it is the
//! fastest, by up to 20 %, for at most 128 keys a node of at most 24 bits; on the other machines
//! [`batcher`](crate::batcher) is faster for these.
//!
//! **Guarantee:** stable, exactly balanced after every pass, deterministic. **Precondition:**
//! elements of at most 56 bytes, and at most 2^28 - 2 on a node.

use crate::item::Item;
use crate::layout::{self, Layout};
use crate::leading::{self, Digit};
use crate::problem::Problem;
use crate::radix::{self, Counts};
use crate::{mail, work};
use strata_runtime::Node;

/// True if the elements can be counted, and fit in packets.
pub(crate) fn applies<T>(problem: &Problem) -> bool {
    radix::applies(problem) && mail::fits::<T>() && problem.keys() <= mail::MOST
}

/// Two arrays besides the elements, and the counts.
pub(crate) fn memory<T>(problem: &Problem, bits: u32) -> usize {
    3 * problem.keys() + radix::memory_of_counts::<T>(problem, bits)
}

/// Sorts by digits of at most `bits` bits. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem, bits: u32) {
    let (range, layout) = (problem.range, problem.layout());
    if problem.nodes() == 1 {
        return radix::sort(node, items, problem, bits);
    }
    let total = layout.total();
    let share = |node: &mut Node, counts: &[u32]| radix::share_counts(node, counts, total);
    let passes = run(node, items, layout, radix::even_digits(range, bits), false, share);
    if passes == 0 {
        // All keys are equal: they are sorted, but may be distributed unevenly.
        layout::rebalance(node, items, &problem.lens);
    }
}

/// Orders the elements by each of these digits, whose counts `share` sums over the nodes, and says by
/// how many they differ. `polls`: the node receives after each message, not only where it finds no room.
pub(crate) fn run<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    layout: Layout,
    digits: impl Iterator<Item = Digit>,
    polls: bool,
    share: impl Fn(&mut Node, &[u32]) -> Counts,
) -> usize {
    let (me, length) = (node.rank(), layout.share().max(1));
    mail::with::<T, usize>(node, 2, |node, mail| {
        let mut passes = 0;
        for digit in digits {
            let stream = passes % 2;
            // Before the counts are shared: afterwards all nodes know that this one is ready.
            mail.expect(stream, layout.len(me));
            let mut counts = vec![0; digit.bins()];
            work::histogram(node, items.len(), digit.bins(), || leading::count(items, digit, &mut counts));
            let known = share(node, &counts);
            if known.totals.iter().any(|&count| count == layout.total() as u64) {
                continue;
            }
            let mut base = 0;
            let next = known.totals.iter().zip(&known.before).map(|(total, before)| {
                base += total;
                (base - total + before) as usize
            });
            let mut next: Vec<usize> = next.collect();
            // As in counting, a key is read, and the count of its digit value read and written;
            // messages are charged separately.
            work::histogram(node, items.len(), digit.bins(), || ());
            for item in &*items {
                let numeral = digit.of(item);
                // Otherwise a node would wait for a message that no node sends.
                counts[numeral] = counts[numeral].checked_sub(1).expect("a key changed while it was sorted");
                let position = &mut next[numeral];
                mail.put(node, *position / length, stream, *position % length, item);
                *position += 1;
                if polls {
                    node.poll();
                }
            }
            mail.receive(node, stream, items);
            passes += 1;
        }
        passes
    })
}
