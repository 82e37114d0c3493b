//! What a node says of its arrays and neighbours, and the checks of all nodes' statements.

use std::ops::Range;

use super::HaloError;
use super::region::Region;
use crate::exchange::{Link, Phases};

/// The most axes of an array.
pub(super) const MOST_AXES: usize = 4;

/// One axis of a node's arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Axis {
    /// Interior elements.
    pub(super) extent: usize,
    /// Widths of the halo before and after them.
    pub(super) widths: [usize; 2],
    /// The nodes before and after this one, which may be this node.
    pub(super) neighbours: [Option<usize>; 2],
    /// Its place among the axes in memory, from the largest stride to the smallest.
    pub(super) place: usize,
}

/// What a node says of its halo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) axes: Vec<Axis>,
    pub(super) fields: usize,
    /// Bytes of an element.
    pub(super) element: usize,
    pub(super) corners: bool,
}

/// Number of words of a [`Shape`].
pub(super) const WORDS: usize = 4 + MOST_AXES * 6;

impl Shape {
    /// As words, to be gathered; [`from_words`](Self::from_words) reads them.
    pub(super) fn words(&self) -> [u64; WORDS] {
        let word = |number: usize| number as u64;
        let node = |node: Option<usize>| node.map_or(0, |node| word(node) + 1);
        let mut words = [0; WORDS];
        let head = [self.axes.len(), self.fields, self.element, usize::from(self.corners)];
        words[..4].copy_from_slice(&head.map(word));
        for (axis, to) in self.axes.iter().zip(words[4..].chunks_exact_mut(6)) {
            let Axis { extent, widths, neighbours: [before, after], place } = *axis;
            let [left, right] = widths.map(word);
            to.copy_from_slice(&[word(extent), left, right, node(before), node(after), word(place)]);
        }
        words
    }

    pub(super) fn from_words(words: &[u64]) -> Self {
        let number = |word: u64| usize::try_from(word).unwrap_or(usize::MAX);
        let axis = |from: &[u64]| Axis {
            extent: number(from[0]),
            widths: [number(from[1]), number(from[2])],
            neighbours: [from[3], from[4]].map(|node| number(node).checked_sub(1)),
            place: number(from[5]),
        };
        Self {
            axes: words[4..].chunks_exact(6).take(number(words[0])).map(axis).collect(),
            fields: number(words[1]),
            element: number(words[2]),
            corners: words[3] != 0,
        }
    }

    /// The axes in memory, the outermost first; each with its number.
    pub(super) fn in_memory(&self) -> Vec<(usize, Axis)> {
        let mut axes: Vec<(usize, Axis)> = self.axes.iter().copied().enumerate().collect();
        axes.sort_by_key(|(_, axis)| axis.place);
        axes
    }

    /// The links of each phase of an exchange. Without corners all sides are exchanged at once;
    /// otherwise one axis after the other, from the innermost, with the halos that have arrived.
    pub(super) fn phases(&self, strides: &[usize], origin: usize) -> Phases<Region> {
        let axes = self.in_memory();
        let strides: Vec<usize> = axes.iter().map(|(number, _)| strides[*number]).collect();
        let interior = |(_, axis): &(usize, Axis)| 0..axis.extent.cast_signed();
        let mut ranges: Vec<Range<isize>> = axes.iter().map(interior).collect();
        let mut phases = vec![Vec::new()];
        for (at, (_, axis)) in axes.iter().enumerate().rev() {
            let [before, after] = axis.widths.map(usize::cast_signed);
            let extent = axis.extent.cast_signed();
            let mut links = Vec::new();
            for (side, to) in axis.neighbours.iter().enumerate() {
                let Some(to) = *to else { continue };
                let area = |range: Range<isize>| {
                    let mut ranges = ranges.clone();
                    ranges[at] = range;
                    Region::new(&ranges, &strides, origin)
                };
                let areas = match side {
                    0 => [0..after, -before..0],
                    _ => [extent - before..extent, extent..extent + after],
                };
                links.push(Link::new(2 * at + side, to, areas.map(area)));
            }
            if self.corners {
                let [left, right] = axis.neighbours.map(|node| node.is_some());
                ranges[at] = if left { -before } else { 0 }..extent + if right { after } else { 0 };
                phases.push(links);
            } else {
                phases[0].append(&mut links);
            }
        }
        phases.retain(|links| !links.is_empty());
        phases
    }
}

/// Checks what all nodes say, by rank, and gives the axes the same order on all; equal on all nodes.
///
/// # Errors
/// The first contradiction.
pub(super) fn check(all: &mut [Shape]) -> Result<(), HaloError> {
    let Some(first) = all.first() else { return Ok(()) };
    for (node, shape) in all.iter().enumerate() {
        let kinds = |shape: &Shape| {
            [
                ("the number of axes", shape.axes.len() as u64),
                ("the number of fields", shape.fields as u64),
                ("the size of an element", shape.element as u64),
                ("the exchange of corners (1: yes)", u64::from(shape.corners)),
            ]
        };
        for ((what, mine), (_, other)) in kinds(first).into_iter().zip(kinds(shape)) {
            if mine != other {
                return Err(HaloError::Unlike { nodes: [0, node], what, values: [mine, other] });
            }
        }
    }
    agree_on_order(all)?;
    let all = &*all;
    for (node, shape) in all.iter().enumerate() {
        for (number, axis) in shape.axes.iter().enumerate() {
            for (side, to) in axis.neighbours.iter().enumerate() {
                if let Some(to) = *to {
                    check_neighbours(all, [node, to], number, side)?;
                }
            }
        }
    }
    Ok(())
}

/// Gives the axes the same order in memory on all nodes. An axis of one element on a node has any
/// place among the others there.
fn agree_on_order(all: &mut [Shape]) -> Result<(), HaloError> {
    let count = all.first().map_or(0, |shape| shape.axes.len());
    // The first node on which the first of two axes is the outer one, and both have more elements.
    let mut outer = [[None; MOST_AXES]; MOST_AXES];
    for (node, shape) in all.iter().enumerate() {
        let long = |axis: &Axis| axis.widths.iter().fold(axis.extent, |sum, w| sum.saturating_add(*w)) > 1;
        for (a, b) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
            let (first, second) = (&shape.axes[a], &shape.axes[b]);
            if long(first) && long(second) && first.place < second.place {
                outer[a][b].get_or_insert(node);
            }
        }
    }
    let order = |shape: &Shape| shape.axes.iter().fold(0, |word, axis| 10 * word + axis.place as u64);
    let mut left: Vec<usize> = (0..count).collect();
    for place in 0..count {
        let is_next = |axis: &usize| left.iter().all(|other| outer[*other][*axis].is_none());
        let Some(next) = left.iter().position(is_next) else {
            // Some two axes have one order here and another there, perhaps by way of others.
            let nodes: Vec<usize> =
                left.iter().flat_map(|a| left.iter().filter_map(|b| outer[*a][*b])).collect();
            let first = nodes.iter().copied().min().unwrap_or(0);
            let other = nodes.into_iter().find(|node| order(&all[*node]) != order(&all[first]));
            let nodes = [first, other.unwrap_or(first)];
            let values = nodes.map(|node| order(&all[node]));
            return Err(HaloError::Unlike { nodes, what: "the order of the axes in memory", values });
        };
        let axis = left.remove(next);
        all.iter_mut().for_each(|shape| shape.axes[axis].place = place);
    }
    Ok(())
}

/// Checks a node and its neighbour at a side of an axis.
fn check_neighbours(all: &[Shape], nodes: [usize; 2], number: usize, side: usize) -> Result<(), HaloError> {
    let [mine, other] = nodes.map(|node| &all[node]);
    let axis = number;
    if other.axes[axis].neighbours[1 - side] != Some(nodes[0]) {
        return Err(HaloError::OneWay { nodes, axis, after: side == 1 });
    }
    let same = |what: &dyn Fn() -> String, values: [usize; 2]| match values[0] == values[1] {
        true => Ok(()),
        false => Err(HaloError::Disagree { nodes, axis, what: what(), values }),
    };
    for (across, (a, b)) in mine.axes.iter().zip(&other.axes).enumerate() {
        for (side, name) in ["before", "after"].into_iter().enumerate() {
            let what = || format!("the width {name} axis {across}");
            if across == axis || mine.corners {
                same(&what, [a.widths[side], b.widths[side]])?;
            }
            if across != axis && mine.corners {
                let what = || format!("whether a neighbour is {name} along axis {across} (1: yes)");
                same(&what, [a, b].map(|axis| usize::from(axis.neighbours[side].is_some())))?;
            }
        }
        if across != axis {
            same(&|| format!("the extent of axis {across}"), [a.extent, b.extent])?;
        }
    }
    let Axis { extent, widths, .. } = mine.axes[axis];
    match widths[1 - side] {
        width if width > extent => Err(HaloError::Width { node: nodes[0], axis, width, extent }),
        _ => Ok(()),
    }
}

/// The neighbours of node `rank` in a grid of `nodes`, along each axis; the last axis varies
/// fastest.
pub(super) fn of_grid<const R: usize>(
    rank: usize,
    nodes: [usize; R],
    periodic: [bool; R],
) -> [[Option<usize>; 2]; R] {
    let mut neighbours = [[None; 2]; R];
    let mut step = 1;
    for axis in (0..R).rev() {
        let (count, at) = (nodes[axis], rank / step % nodes[axis]);
        let to = |other: usize| rank - at * step + other * step;
        let before = if at > 0 { Some(at - 1) } else { periodic[axis].then_some(count - 1) };
        let after = if at + 1 < count { Some(at + 1) } else { periodic[axis].then_some(0) };
        neighbours[axis] = [before, after].map(|other| other.map(to));
        step *= count;
    }
    neighbours
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes side by side along axis 0, with halos of two layers before and one after.
    fn pair() -> [Shape; 2] {
        [[None, Some(1)], [Some(0), None]].map(|neighbours| Shape {
            axes: vec![
                Axis { extent: 4, widths: [2, 1], neighbours, place: 0 },
                Axis { extent: 5, widths: [1, 1], neighbours: [None; 2], place: 1 },
            ],
            fields: 1,
            element: 8,
            corners: true,
        })
    }

    #[test]
    fn a_shape_survives_as_words() {
        pair().iter().for_each(|shape| assert_eq!(Shape::from_words(&shape.words()), *shape));
    }

    #[test]
    fn contradictions_name_both_nodes() {
        let told = |change: fn(&mut [Shape; 2])| {
            let mut shapes = pair();
            change(&mut shapes);
            check(&mut shapes).map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert_eq!(told(|_| ()), "");
        assert_eq!(
            told(|[_, b]| b.axes[1].extent = 6),
            "nodes 0 and 1 are neighbours along axis 0 and disagree: the extent of axis 1 is 5 on the first, \
             6 on the second"
        );
        assert_eq!(
            told(|[a, _]| a.axes[0].widths[1] = 3),
            "nodes 0 and 1 are neighbours along axis 0 and disagree: the width after axis 0 is 3 on the first, \
             1 on the second"
        );
        assert_eq!(
            told(|[_, b]| b.axes[0].neighbours[0] = None),
            "node 0 names node 1 as its neighbour after it along axis 0, and is not named in return"
        );
        assert_eq!(
            told(|[a, _]| a.axes[0].extent = 1),
            "node 0 has 1 elements along axis 0, fewer than the halo of 2 of its neighbour: use fewer nodes \
             along this axis, or a narrower halo"
        );
        assert_eq!(
            told(|[_, b]| b.fields = 2),
            "nodes 0 and 1 disagree: the number of fields is 1 on the first, 2 on the second"
        );
        assert!(told(|[a, _]| a.axes[1].neighbours = [Some(0); 2]).contains("whether a neighbour is before"));
    }

    /// Nodes whose axes have these extents and places in memory; the places that they agree on.
    fn ordered(nodes: &[&[(usize, usize)]]) -> Result<Vec<usize>, String> {
        let axis = |&(extent, place): &(usize, usize)| Axis { extent, place, ..Axis::default() };
        let shape = |axes: &&[(usize, usize)]| Shape {
            axes: axes.iter().map(axis).collect(),
            fields: 1,
            element: 1,
            corners: false,
        };
        let mut shapes: Vec<Shape> = nodes.iter().map(shape).collect();
        check(&mut shapes).map_err(|error| error.to_string())?;
        let places = |shape: &Shape| shape.axes.iter().map(|axis| axis.place).collect::<Vec<_>>();
        assert!(shapes.iter().all(|shape| places(shape) == places(&shapes[0])));
        Ok(places(&shapes[0]))
    }

    #[test]
    fn an_axis_of_one_element_has_any_place() {
        assert_eq!(ordered(&[&[(3, 1), (4, 0)], &[(1, 0), (4, 1)]]), Ok(vec![1, 0]));
        assert_eq!(ordered(&[&[(1, 1), (1, 0)], &[(1, 0), (9, 1)]]), Ok(vec![0, 1]));
        // The middle one's place follows from two nodes.
        let nodes: [&[(usize, usize)]; 2] = [&[(2, 2), (3, 1), (1, 0)], &[(1, 0), (3, 2), (5, 1)]];
        assert_eq!(ordered(&nodes), Ok(vec![2, 1, 0]));
        let unlike =
            "nodes 0 and 2 disagree: the order of the axes in memory is 1 on the first, 10 on the second";
        assert_eq!(
            ordered(&[&[(3, 0), (4, 1)], &[(1, 1), (4, 0)], &[(3, 1), (4, 0)]]),
            Err(unlike.to_owned())
        );
        // a outside b, b outside c, c outside a.
        let circle: [&[(usize, usize)]; 3] =
            [&[(2, 0), (2, 1), (1, 2)], &[(1, 2), (2, 0), (2, 1)], &[(2, 2), (1, 0), (2, 1)]];
        assert!(ordered(&circle).is_err());
    }

    #[test]
    fn a_grid_wraps_around_where_it_is_periodic() {
        assert_eq!(of_grid(3, [2, 3], [true, false]), [[Some(0), Some(0)], [None, Some(4)]]);
        assert_eq!(of_grid(1, [2, 3], [false, true]), [[None, Some(4)], [Some(0), Some(2)]]);
        assert_eq!(of_grid(0, [1], [true]), [[Some(0); 2]]);
    }
}
