//! Counters of completion: one of gets and puts of this node, and one of stores that arrive.

use crate::book::Book;
use crate::segment::STORE_COUNTERS;
use std::panic::Location;
use std::rc::Rc;

/// Counts gets and puts until they are complete, apart from all others (Split-C's counter of a
/// `get_ctr` or `put_ctr`).
///
/// Accesses are started [`on`](crate::Space::on) a counter, and
/// [`complete`](crate::Space::complete) waits for them and gives their destinations back. Several
/// counters may be in use at once, and be completed in any order: phases of one counter each that
/// overlap.
///
/// ```
/// use strata_global::{Counter, Space};
/// use strata_runtime::prelude::*;
///
/// let pairs = Machine::threads(3)?.run(|node| {
///     let mut space = Space::open(node, 1 << 10)?;
///     let ranks = space.alloc::<u32>(3)?;
///     space.write(ranks.at(space.rank()), 10 + space.rank() as u32);
///     space.barrier();
///     let (mut first, mut last) = (0, 0);
///     let (mut one, mut other) = (Counter::new(), Counter::new());
///     space.on(&mut one).get(&mut first, ranks.at(0));
///     space.on(&mut other).get(&mut last, ranks.at(2));
///     space.complete(one);                   // `first` is here; `last` may be under way
///     let double = 2 * first;
///     space.complete(other);
///     Ok((double, last))
/// })?;
/// assert_eq!(pairs, [(20, 12); 3]);
/// # Ok::<(), Error>(())
/// ```
///
/// The destination of a get is borrowed as long as the counter, and a counter ends with
/// [`complete`](crate::Space::complete): if it is dropped otherwise after use, except by a panic,
/// the job ends.
///
/// ```compile_fail,E0505
/// # use strata_global::{Counter, Global, Space};
/// fn early(space: &mut Space<'_>, p: Global<u64>) {
///     let mut value = 0;
///     let mut counter = Counter::new();
///     space.on(&mut counter).get(&mut value, p);
///     drop(value);
///     space.complete(counter);
/// }
/// ```
///
/// ```compile_fail,E0502
/// # use strata_global::{Counter, Global, Space};
/// fn not_completed(space: &mut Space<'_>, p: Global<u64>) {
///     let mut value = 0;
///     let mut counter = Counter::new();
///     space.on(&mut counter).get(&mut value, p);
///     println!("{value}");
/// }
/// ```
///
/// ```compile_fail,E0597
/// # use strata_global::{Counter, Global, Space};
/// fn gone(space: &mut Space<'_>, p: Global<u64>) {
///     let mut counter = Counter::new();
///     {
///         let mut value = 0;
///         space.on(&mut counter).get(&mut value, p);
///     }
///     space.complete(counter);
/// }
/// ```
#[derive(Default)]
pub struct Counter<'e> {
    /// Its number as a phase, once it has a pending access, and the book that counts them.
    pub(crate) open: Option<(usize, Rc<Book>)>,
    /// Awaited values and their destinations.
    pub(crate) gets: Vec<(usize, &'e mut [u8])>,
    /// True if it has written to shared memory directly.
    pub(crate) wrote: bool,
    /// For the checker: the nodes to which it has put.
    pub(crate) owners: Vec<usize>,
    /// Where it was used last, if not completed since.
    pub(crate) used: Option<&'static Location<'static>>,
}

impl Counter<'_> {
    /// A counter without accesses.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Drop for Counter<'_> {
    fn drop(&mut self) {
        if let Some((number, book)) = self.open.take() {
            // All have arrived unless a panic ended the phase.
            self.gets.retain_mut(|(value, into)| !book.take_value(*value, into));
            book.abandon(number, self.gets.iter().map(|(value, _)| *value).collect());
        }
        if let Some(place) = self.used.filter(|_| !std::thread::panicking()) {
            panic!("the counter that was used at {place} is dropped; it ends with Space::complete(counter)");
        }
    }
}

/// Counts the bytes of some stores apart from those of all others (Split-C's counter of a
/// `store_ctr`): a receiver can wait for those of one kind, or of one sender.
///
/// It is a number, with the same meaning on all nodes, usually a constant. Stores are made by
/// [`Space::stores`](crate::Space::stores). Stores without a counter are counted apart from those
/// of all counters.
///
/// ```
/// use strata_global::{Space, StoreCounter};
/// use strata_runtime::prelude::*;
///
/// const FROM_LEFT: StoreCounter = StoreCounter::new(0);
/// const FROM_RIGHT: StoreCounter = StoreCounter::new(1);
///
/// let cells = Machine::threads(3)?.run(|node| {
///     let mut space = Space::open(node, 1 << 10)?;
///     let (rank, nodes) = (space.rank(), space.size());
///     let edges = space.alloc_blocks::<u64>(nodes, 2)?;
///     let (left, right) = ((rank + nodes - 1) % nodes, (rank + 1) % nodes);
///     space.stores(FROM_LEFT).store(edges.first_of(right), rank as u64);
///     space.stores(FROM_RIGHT).store(edges.first_of(left) + 1, rank as u64);
///     space.stores(FROM_LEFT).sync(8);       // that of the left neighbour has come
///     let before = space.read(edges.first_of(rank));
///     space.stores(FROM_RIGHT).sync(8);
///     Ok((before, space.read(edges.first_of(rank) + 1)))
/// })?;
/// assert_eq!(cells, [(2, 1), (0, 2), (1, 0)]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreCounter {
    index: usize,
}

impl StoreCounter {
    /// Number of counters.
    pub const COUNT: usize = STORE_COUNTERS - 1;
    /// That of stores without a counter.
    pub(crate) const IMPLICIT: Self = Self { index: 0 };

    /// Counter number `number`, below [`COUNT`](Self::COUNT).
    ///
    /// # Panics
    /// If there is no such counter; for a constant that is an error of the compiler.
    #[must_use]
    pub const fn new(number: usize) -> Self {
        assert!(number < Self::COUNT, "counters of stores have the numbers 0 to 14");
        Self { index: number + 1 }
    }

    /// Its position among all counts.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.index
    }
}
