//! The agreement of the nodes before they sort: the only values on which selection may depend.

use crate::Sort;
use crate::item::Item;
use crate::layout::Layout;
use crate::leading::Range;
use crate::work;
use strata_runtime::Node;

/// The order of the elements of all nodes, as far as one pass can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// No useful order.
    Any,
    /// They are sorted.
    Ascending,
    /// Each is above the next.
    Descending,
}

/// Flags in a length: the node's elements ascend, or descend.
const ASCENDS: u64 = 1 << 63;
const DESCENDS: u64 = 1 << 62;

/// A sorting problem, equal on every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The number of elements on each node.
    pub(crate) lens: Vec<usize>,
    /// The span of all keys.
    pub(crate) range: Range,
    /// The order of the elements.
    pub(crate) order: Order,
    /// The most elements that a node may have at the end; more than its share saves moving some.
    pub(crate) most: usize,
    /// True if all nodes gave the same `word`, see [`Problem::agree`].
    pub(crate) alike: bool,
    /// The layout of the sorted elements.
    layout: Layout,
}

impl Problem {
    /// Determines the problem with one exchange of (length and order, least, greatest), and checks
    /// that all nodes gave the same `word`.
    pub(crate) fn agree<T: Item>(node: &mut Node, items: &[T], word: u64) -> Self {
        let (least, greatest, ascend, descend) = work::copy::<T, _>(node, items.len(), || {
            let (least, greatest) = Range::bounds(items);
            // An order usually fails after a few elements.
            let ascend = items.is_sorted_by(|a, b| a.bits() <= b.bits());
            (least, greatest, ascend, !ascend && items.is_sorted_by(|a, b| a.bits() > b.bits()))
        });
        // A single element is in both orders.
        let ascends = if ascend { ASCENDS } else { 0 };
        let descends = if descend || items.len() < 2 { DESCENDS } else { 0 };
        let own = [items.len() as u64 | ascends | descends, least, greatest, word];
        // What nodes learn rides along.
        let all = match node.learns() {
            false => node.all_gather(&own),
            true => {
                let [first, second, third, fourth] = own;
                let learned = node.word_of::<Sort>();
                let mut all = node.all_gather(&[first, second, third, fourth, learned]);
                node.heard::<Sort>(all.chunks(5).map(|words| words[4]));
                (0..node.size()).for_each(|rank| all.copy_within(5 * rank..5 * rank + 4, 4 * rank));
                all.truncate(4 * node.size());
                all
            }
        };
        let (mut least, mut greatest, mut alike) = (u64::MAX, 0, true);
        let mut lens = Vec::with_capacity(node.size());
        let (mut ascending, mut descending) = (true, true);
        let mut before: Option<(u64, u64)> = None;
        for &[word, low, high, other] in all.as_chunks().0 {
            let len = word & !(ASCENDS | DESCENDS);
            lens.push(len as usize);
            if len > 0 {
                let (least, greatest) = before.unwrap_or((u64::MAX, 0));
                ascending &= word & ASCENDS > 0 && (before.is_none() || greatest <= low);
                descending &= word & DESCENDS > 0 && (before.is_none() || least > high);
                before = Some((low, high));
            }
            (least, greatest) = (least.min(low), greatest.max(high));
            alike &= other == all[3];
        }
        let order = match (ascending, descending) {
            (true, _) => Order::Ascending,
            (false, true) => Order::Descending,
            (false, false) => Order::Any,
        };
        let range = if least <= greatest { Range::new(least, greatest) } else { Range::new(0, 0) };
        let layout = Layout::new(lens.iter().sum(), lens.len());
        Self { lens, range, order, most: layout.share(), alike, layout }
    }

    pub(crate) fn nodes(&self) -> usize {
        self.lens.len()
    }

    /// The layout of the sorted elements.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// True if the nodes may keep these numbers of elements. For an even result they must be those
    /// of the layout.
    pub(crate) fn may_stay(&self, lens: &[usize]) -> bool {
        self.most > self.keys() && lens.iter().all(|len| *len <= self.most)
    }

    /// Elements per node: ⌈n/P⌉.
    pub(crate) fn keys(&self) -> usize {
        self.layout.share()
    }

    /// The most elements that any node has before the sort.
    pub(crate) fn largest(&self) -> usize {
        self.lens.iter().copied().max().unwrap_or(0)
    }

    /// The most elements that any node has before or after the sort.
    pub(crate) fn most_on_a_node(&self) -> usize {
        self.largest().max(self.keys())
    }
}
