//! What the time of a pattern depends on besides the bytes of a block.

use super::Image;
use crate::shape::{Path, Shape};
use std::collections::BTreeMap;

/// The schedule of a pattern as the linker made it, in numbers. Models of patterns are functions of
/// these numbers and of the bytes of a block, so that they hold for any cells, also of numbers
/// that were never measured.
///
/// All numbers are of one task, and equal on all of its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Sets that are switched to one after the other, each part of a split set counted.
    pub rounds: f64,
    /// The most blocks that one cell sends or receives.
    pub blocks: f64,
    /// Links between cells on the longest path of each round, in sum over the rounds.
    pub path: f64,
    /// Connections on the busiest link of each round, or in its busiest [turns](crate::Target::shared_turns),
    /// in sum over the rounds: so many blocks pass it one after the other.
    pub queue: f64,
    /// Blocks on the busiest link of each set, in sum over the sets, if they are sent as ordinary
    /// messages, which go along a row and then along a column.
    pub crowd: f64,
    /// Cycles of a barrier of the task's cells, as the linker computed them.
    pub barrier: f64,
}

impl Schedule {
    /// The number of its numbers.
    pub const LEN: usize = 6;

    /// Its numbers in the order of the fields, which is that of the models' inputs after the bytes.
    #[must_use]
    pub fn numbers(&self) -> [f64; Self::LEN] {
        let Self { rounds, blocks, path, queue, crowd, barrier } = *self;
        [rounds, blocks, path, queue, crowd, barrier]
    }

    /// Of these sets of an instance of the image.
    pub(crate) fn of(image: &Image, instance: usize, sets: impl IntoIterator<Item = usize>) -> Self {
        let target = &image.target;
        let of = &image.instances[instance];
        let mut this = Self { barrier: image.barriers[of.own].clocks, ..Self::default() };
        let mut ends: BTreeMap<(bool, usize), usize> = BTreeMap::new();
        for set in sets.into_iter().filter_map(|set| of.sets.get(set)) {
            let mut by_messages: BTreeMap<usize, usize> = BTreeMap::new();
            for part in &set.parts {
                let mut links: BTreeMap<usize, usize> = BTreeMap::new();
                let mut longest = 0;
                for (connection, path) in &part.connections {
                    longest = longest.max(path.hops());
                    count(&mut links, path);
                    let linked = &image.connections[*connection];
                    let direct = of_message(target.shape, linked.from, linked.to, target.cells);
                    count(&mut by_messages, &direct);
                    *ends.entry((true, linked.from)).or_default() += 1;
                    *ends.entry((false, linked.to)).or_default() += 1;
                }
                this.rounds += 1.0;
                this.path += longest as f64;
                this.queue += most(&links);
            }
            this.crowd += most(&by_messages);
        }
        this.blocks = most(&ends);
        this
    }
}

fn count(links: &mut BTreeMap<usize, usize>, path: &Path) {
    path.links.iter().for_each(|link| *links.entry(*link).or_default() += 1);
}

fn most<K>(counts: &BTreeMap<K, usize>) -> f64 {
    counts.values().max().map_or(0.0, |most| *most as f64)
}

/// The path of an ordinary message in a grid: the shorter way along its row, then along its column.
/// Where both ways around a torus are equally long, even positions go up and odd ones down.
fn of_message(shape: Shape, from: usize, to: usize, cells: usize) -> Path {
    let Some([width, height]) = shape.grid() else {
        return Path { links: vec![from, cells + to], cells: vec![from, to] };
    };
    let wraps = matches!(shape, Shape::Torus { .. });
    let up = |at: usize, to: usize, n: usize| match (to + n - at) % n {
        _ if !wraps => to > at,
        up if 2 * up == n => at.is_multiple_of(2),
        up => 2 * up < n,
    };
    let east = up(from % width, to % width, width);
    shape.row_first(from, to, east, up(from / width, to / width, height))
}

#[cfg(test)]
mod tests {
    use crate::patterns::Kind;
    use crate::profile::Linked;
    use crate::target::Target;

    fn of(kind: Kind, target: &Target) -> [f64; 5] {
        let linked = Linked::new(kind, target).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let [rounds, blocks, path, queue, crowd, barrier] = linked.schedule().numbers();
        assert!(barrier > 0.0 && barrier.is_finite(), "{kind}");
        [rounds, blocks, path, queue, crowd]
    }

    #[test]
    fn a_crossbar_has_a_round_for_each_phase_and_no_path_but_its_link() {
        let four = Target::crossbar(4);
        assert_eq!(of(Kind::Scatter, &four), [1.0, 3.0, 1.0, 3.0, 3.0]);
        assert_eq!(of(Kind::Gather, &four), [1.0, 3.0, 1.0, 3.0, 3.0]);
        assert_eq!(of(Kind::Exchange, &four), [3.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(of(Kind::Transpose, &four), [1.0; 5]);
    }

    #[test]
    fn a_torus_splits_what_exceeds_its_slots() {
        // 63 connections leave cell 0, which has 15 slots.
        let [rounds, blocks, path, queue, crowd] = of(Kind::Scatter, &Target::iwarp(8, 8));
        assert_eq!((rounds, blocks), (5.0, 63.0));
        assert!(path >= 8.0 && queue >= 63.0 / 4.0, "{path} {queue}");
        // Along its row first, half of the cells of the other seven columns and more are to one side.
        assert!((24.0..=40.0).contains(&crowd), "{crowd}");
        // Optimal phases use each link once, and turns of three connections; messages do not keep to their
        // paths.
        let [rounds, blocks, _, queue, crowd] = of(Kind::Exchange, &Target::iwarp(8, 8));
        assert_eq!((rounds, blocks, queue), (64.0, 63.0, 3.0 * 64.0));
        assert!(crowd > 64.0, "{crowd}");
        // Around a ring of 7 the blocks of a phase are shifted by up to 3 cells.
        let [rounds, blocks, path, queue, crowd] = of(Kind::Exchange, &Target::iwarp(7, 1));
        assert_eq!([rounds, blocks, path, queue, crowd], [6.0, 6.0, 12.0, 12.0, 12.0]);
        assert_eq!(of(Kind::Column, &Target::iwarp(7, 1)), [0.0; 5], "a column of one cell");
    }
}
