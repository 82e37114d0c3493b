//! What the nodes agree on before they sort: the only values on which selection may depend.

use crate::item::Item;
use crate::layout::Layout;
use crate::local::Range;
use crate::work;
use strata_runtime::Node;

/// A sorting problem, equal on every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// How many elements each node has.
    pub(crate) lens: Vec<usize>,
    /// The span of all keys.
    pub(crate) range: Range,
    /// Whether all nodes gave the same `word`, see [`Problem::agree`].
    pub(crate) alike: bool,
}

impl Problem {
    /// Determines the problem by one exchange of (length, least, greatest), and whether all nodes
    /// gave the same `word`.
    pub(crate) fn agree<T: Item>(node: &mut Node, items: &[T], word: u64) -> Self {
        let (least, greatest) = work::copy::<T, _>(node, items.len(), || Range::bounds(items));
        let all = node.all_gather(&[items.len() as u64, least, greatest, word]);
        let (mut least, mut greatest, mut alike) = (u64::MAX, 0, true);
        let mut lens = Vec::with_capacity(node.size());
        for &[len, low, high, other] in all.as_chunks().0 {
            lens.push(len as usize);
            (least, greatest) = (least.min(low), greatest.max(high));
            alike &= other == all[3];
        }
        let range = if least <= greatest { Range::new(least, greatest) } else { Range::new(0, 0) };
        Self { lens, range, alike }
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.lens.len()
    }

    /// The layout of the sorted elements.
    pub(crate) fn layout(&self) -> Layout {
        Layout::new(self.lens.iter().sum(), self.lens.len())
    }

    /// Elements per node: ⌈n/P⌉.
    pub(crate) fn keys(&self) -> usize {
        self.layout().share()
    }

    /// The most elements that any node has now.
    pub(crate) fn largest(&self) -> usize {
        self.lens.iter().copied().max().unwrap_or(0)
    }
}
