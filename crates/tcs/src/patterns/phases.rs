//! Schedules of an all-to-all: every pair of cells occurs in exactly one phase.
//!
//! In a phase every cell sends at most once and receives at most once. On a torus whose rings have
//! 1, 2, 4 or 8 cells the phases are optimal: no link carries two messages of a phase, and only
//! links of the smallest rings are ever idle.

use crate::shape::{Path, Shape};

/// The messages of one phase: pairs of cells, sender first, with the path if the schedule depends
/// on it.
pub type Phase = Vec<(usize, usize, Option<Path>)>;

/// A ring's phases: the target of each source, with the direction if both are equally far.
///
/// Found by a randomised depth-first search for n² pairs in n phases, in which each link carries
/// one message; of four cells those in which no message passes through a cell where another one turns
/// ([`Target::shared_turns`](crate::Target::shared_turns)). The optimal exchanges of Warfel's "dragon
/// router" (1996, §6.4.2) are not printed.
const RING_2: &str = "1+ 0+ | 0. 1.";
const RING_4: &str = "0. 2+ 3+ 1+ | 1+ 3+ 2. 0+ | 2- 0- 1- 3. | 3- 1. 0- 2-";
const RING_8: &str = "3+ 5- 2. 7+ 1- 4- 6. 0+ | 4+ 1. 6- 2- 5+ 0+ 3- 7. | 6- 2+ 4+ 0- 7+ 3- 5- 1+ \
    | 5- 0- 1- 6+ 4. 2- 7+ 3+ | 2+ 7- 3+ 4+ 6+ 1- 0+ 5- | 7- 3+ 0- 5+ 2- 6+ 1+ 4- \
    | 0. 6- 5+ 1- 3- 7+ 4- 2+ | 1+ 4+ 7- 3. 0+ 5. 2- 6-";

/// The phases of a ring: the target of each source, and true for upwards.
fn ring(n: usize) -> Option<Vec<Vec<(usize, bool)>>> {
    let text = match n {
        1 => return Some(vec![vec![(0, true)]]),
        2 => RING_2,
        4 => RING_4,
        8 => RING_8,
        _ => return None,
    };
    let entry = |entry: &str| {
        let (target, way) = entry.split_at_checked(1)?;
        Some((target.parse().ok()?, way != "-"))
    };
    text.split('|').map(|phase| phase.split_whitespace().map(entry).collect()).collect()
}

/// The phases of a torus, rows first; phases in which cells send only to themselves are left out.
/// `None` if an extent is not 1, 2, 4 or 8.
#[must_use]
pub fn torus(width: usize, height: usize) -> Option<Vec<Phase>> {
    let (across, down) = (ring(width)?, ring(height)?);
    let shape = Shape::Torus { width, height };
    let mut phases = Vec::new();
    for rows in &down {
        for columns in &across {
            let message = |cell: usize| {
                let ((x, east), (y, south)) = (columns[cell % width], rows[cell / width]);
                let to = y * width + x;
                (to != cell).then(|| (cell, to, Some(shape.row_first(cell, to, east, south))))
            };
            let phase: Phase = (0..width * height).filter_map(message).collect();
            if !phase.is_empty() {
                phases.push(phase);
            }
        }
    }
    Some(phases)
}

/// N - 1 phases; in phase k every cell sends to the cell k further on, for any number of cells.
#[must_use]
pub fn shift(cells: usize) -> Vec<Phase> {
    let phase = |by: usize| (0..cells).map(|cell| (cell, (cell + by) % cells, None)).collect();
    (1..cells).map(phase).collect()
}

/// N - 1 phases in which pairs exchange. `None` unless the number of cells is a power of two.
#[must_use]
pub fn exclusive_or(cells: usize) -> Option<Vec<Phase>> {
    let phase = |with: usize| (0..cells).map(|cell| (cell, cell ^ with, None)).collect();
    cells.is_power_of_two().then(|| (1..cells).map(phase).collect())
}

/// The best known phases for a machine of this shape.
#[must_use]
pub fn best(shape: Shape, cells: usize) -> Vec<Phase> {
    match shape {
        Shape::Torus { width, height } if width * height == cells => torus(width, height),
        _ => None,
    }
    .or_else(|| exclusive_or(cells))
    .unwrap_or_else(|| shift(cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn check(phases: &[Phase], cells: usize) {
        let mut pairs = BTreeSet::new();
        for phase in phases {
            let (mut from, mut to) = (BTreeSet::new(), BTreeSet::new());
            for (source, target, _) in phase {
                assert!(from.insert(source) && to.insert(target), "twice in a phase");
                assert!(pairs.insert((*source, *target)) && source != target);
            }
        }
        assert_eq!(pairs.len(), cells * cells.saturating_sub(1));
    }

    #[test]
    fn every_pair_meets_once() {
        for cells in 0..=20 {
            check(&shift(cells), cells);
            if let Some(phases) = exclusive_or(cells) {
                check(&phases, cells);
            }
        }
    }

    #[test]
    fn no_link_of_a_torus_is_used_twice() {
        for (width, height, count) in
            [(1, 1, 0), (2, 2, 3), (4, 4, 16), (8, 8, 64), (8, 4, 32), (2, 8, 16), (1, 8, 8)]
        {
            let phases = torus(width, height).unwrap();
            check(&phases, width * height);
            assert_eq!(phases.len(), count, "{width}x{height}");
            let shape = Shape::Torus { width, height };
            for phase in &phases {
                let mut links = BTreeSet::new();
                for (from, to, path) in phase {
                    let path = path.as_ref().unwrap();
                    assert_eq!((path.cells[0], path.cells.last()), (*from, Some(to)));
                    assert_eq!(path.hops(), shape.distance(*from, *to));
                    assert!(path.links.iter().all(|link| links.insert(*link)), "a link twice");
                }
            }
        }
        assert_eq!(torus(3, 4), None);
    }
}
