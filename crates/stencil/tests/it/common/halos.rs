//! Random halos against a plain reference: one global array, with wrap-around.

use std::fmt::Debug;

use bytemuck::Pod;
use strata_runtime::{Error, Node};
use strata_stencil::{Halo, Way};

/// Numbers that depend on a seed only (Steele, Lea and Flood 2014: SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// A halo of the tests: equal on all nodes.
#[derive(Debug)]
struct Case<const R: usize> {
    grid: [usize; R],
    /// The extents of the nodes along each axis.
    extents: [Vec<usize>; R],
    widths: [[usize; 2]; R],
    periodic: [bool; R],
    corners: bool,
    way: Option<Way>,
    /// The axes from the innermost in memory, if they are not row by row.
    order: Option<[usize; R]>,
    /// Whether the program names neighbours instead of a grid.
    named: bool,
}

const WAYS: [Way; 5] = [Way::Packed, Way::Stored, Way::Transferred, Way::Persistent, Way::Typed];

impl<const R: usize> Case<R> {
    fn new(seed: u64, nodes: usize) -> Self {
        let mut random = Random(seed);
        let mut grid = [1; R];
        let mut rest = nodes;
        for factor in [2, 3, 5, 7] {
            while rest.is_multiple_of(factor) {
                grid[random.below(R)] *= factor;
                rest /= factor;
            }
        }
        grid[0] *= rest;
        let periodic = grid.map(|_| random.chance());
        let widths = grid.map(|_| [0; 2].map(|_: usize| random.below(if R < 3 { 4 } else { 3 })));
        let long = random.below(8) == 0 && R < 4;
        let extents = std::array::from_fn(|axis| {
            let least = widths[axis].into_iter().max().unwrap_or(0).max(1);
            let more = if long && axis + 1 == R { 40 } else { 4 };
            (0..grid[axis]).map(|_| least + random.below(more)).collect()
        });
        let mut order: [usize; R] = std::array::from_fn(|axis| axis);
        (1..R).for_each(|axis| order.swap(axis, random.below(axis + 1)));
        Self {
            grid,
            extents,
            widths,
            periodic,
            corners: random.chance(),
            way: WAYS.get(random.below(6)).copied(),
            order: (random.below(3) == 0).then_some(order),
            named: random.below(4) == 0,
        }
    }

    /// The position of a node in the grid.
    fn place(&self, rank: usize) -> [usize; R] {
        let mut rest = rank;
        let mut place = [0; R];
        for axis in (0..R).rev() {
            place[axis] = rest % self.grid[axis];
            rest /= self.grid[axis];
        }
        place
    }

    fn rank(&self, place: [usize; R]) -> usize {
        place.iter().zip(self.grid).fold(0, |rank, (at, nodes)| rank * nodes + at)
    }

    fn neighbours(&self, rank: usize) -> [[Option<usize>; 2]; R] {
        let place = self.place(rank);
        std::array::from_fn(|axis| {
            let (at, nodes) = (place[axis], self.grid[axis]);
            let to = |other| self.rank(std::array::from_fn(|a| if a == axis { other } else { place[a] }));
            let before = if at > 0 { Some(at - 1) } else { self.periodic[axis].then_some(nodes - 1) };
            let after = if at + 1 < nodes { Some(at + 1) } else { self.periodic[axis].then_some(0) };
            [before.map(to), after.map(to)]
        })
    }
}

/// The value of a field at a place of the global array.
fn value<T: Pod, const R: usize>(at: [usize; R], field: usize, round: usize) -> T {
    let mixed = at.iter().fold(field as u64 * 64 + round as u64, |word, at| Random(word ^ *at as u64).next());
    of_word(mixed)
}

/// Any value: the bytes of a word, over and over.
fn of_word<T: Pod>(word: u64) -> T {
    let mut value = T::zeroed();
    let bytes = word.to_ne_bytes();
    bytemuck::bytes_of_mut(&mut value)
        .iter_mut()
        .zip(bytes.iter().cycle())
        .for_each(|(to, from)| *to = *from);
    value
}

/// A node's arrays.
struct Mine<const R: usize> {
    strides: [usize; R],
    first: usize,
    len: usize,
}

/// Exchanges rows that are long enough to be sent from where they lie, in all ways.
pub(crate) fn long_rows(node: &mut Node) -> Result<(), Error> {
    let (extents, nodes) = ([3, 1100], node.size());
    let stride = extents[1] + 2;
    let value =
        |rank: usize, field: usize, at: usize| Random((((rank * 2 + field) << 20) | at) as u64).next();
    for way in WAYS {
        let rank = node.rank();
        let halo = Halo::around(extents).width(1).nodes([nodes, 1]).periodic([true, false]);
        let mut halo = halo.fields(2).way(way).prepare(node)?;
        let field = |field| -> Vec<u64> { (0..5 * stride).map(|at| value(rank, field, at)).collect() };
        let [mut first, mut second] = [0, 1].map(field);
        for _ in 0..3 {
            halo.exchange(node, [&mut first, &mut second])?;
        }
        halo.close(node);
        for (index, field) in [first, second].into_iter().enumerate() {
            for (at, got) in field.into_iter().enumerate() {
                let (row, column) = (at / stride, at % stride);
                let (from, there) = match row {
                    _ if column == 0 || column > extents[1] => (rank, at),
                    0 => ((rank + nodes - 1) % nodes, at + 3 * stride),
                    4 => ((rank + 1) % nodes, at - 3 * stride),
                    _ => (rank, at),
                };
                assert_eq!(got, value(from, index, there), "{way}, row {row}, column {column}");
            }
        }
    }
    Ok(())
}

/// Exchanges a random halo, and compares all elements with those of the global array.
pub(crate) fn check(node: &mut Node, seed: u64) -> Result<(), Error> {
    match seed % 4 {
        0 => of_rank::<1>(node, seed),
        1 => of_rank::<2>(node, seed),
        2 => of_rank::<3>(node, seed),
        _ => of_rank::<4>(node, seed),
    }
}

fn of_rank<const R: usize>(node: &mut Node, seed: u64) -> Result<(), Error> {
    let fields = Random(!seed).below(3);
    match seed / 4 % 4 {
        0 => of_type::<u8, R>(node, seed, fields),
        1 => of_type::<u32, R>(node, seed, fields),
        2 => of_type::<u64, R>(node, seed, fields),
        _ => of_type::<[u16; 3], R>(node, seed, fields),
    }
}

fn of_type<T: Pod + PartialEq + Debug, const R: usize>(
    node: &mut Node,
    seed: u64,
    fields: usize,
) -> Result<(), Error> {
    match fields {
        0 => compare::<T, R, 1>(node, seed),
        1 => compare::<T, R, 2>(node, seed),
        _ => compare::<T, R, 3>(node, seed),
    }
}

fn compare<T: Pod + PartialEq + Debug, const R: usize, const N: usize>(
    node: &mut Node,
    seed: u64,
) -> Result<(), Error> {
    let case = Case::<R>::new(seed, node.size());
    let (rank, place) = (node.rank(), case.place(node.rank()));
    let mut random = Random(seed.wrapping_mul(31).wrapping_add(rank as u64));
    let extents: [usize; R] = std::array::from_fn(|axis| case.extents[axis][place[axis]]);
    let whole: [usize; R] =
        std::array::from_fn(|axis| case.widths[axis][0] + extents[axis] + case.widths[axis][1]);
    let mut builder = Halo::<T>::around(extents).widths(case.widths).corners(case.corners).fields(N);
    builder = match case.named {
        true => builder.neighbours(case.neighbours(rank)),
        false => builder.periodic(case.periodic).nodes(case.grid),
    };
    if let Some(way) = case.way {
        builder = builder.way(way);
    }
    let befores = case.widths.map(|[before, _]| before);
    let mine = match case.order {
        Some(order) => {
            let (mut strides, mut next) = ([0; R], 1 + random.below(2));
            for axis in order {
                strides[axis] = next;
                // Axes of one element, too, lie in this order.
                next = next * whole[axis] + random.below(3) + 1;
            }
            let first = befores.iter().zip(strides).map(|(at, stride)| at * stride).sum::<usize>();
            let last: usize = whole.iter().zip(strides).map(|(all, stride)| (all - 1) * stride).sum();
            let (first, len) = (first + random.below(3), last + 1 + 5);
            builder = builder.strided(strides, first);
            Mine { strides, first, len }
        }
        None => {
            let pads = if random.chance() {
                [[0; 2]; R]
            } else {
                [[0; 2]; R].map(|p| p.map(|_: usize| random.below(3)))
            };
            let shape: [usize; R] = std::array::from_fn(|axis| whole[axis] + pads[axis][0] + pads[axis][1]);
            let at: [usize; R] = std::array::from_fn(|axis| befores[axis] + pads[axis][0]);
            if shape != whole {
                builder = builder.allocated(shape, at);
            }
            let mut strides = [1; R];
            (1..R).rev().for_each(|axis| strides[axis - 1] = strides[axis] * shape[axis]);
            let first = at.iter().zip(strides).map(|(at, stride)| at * stride).sum();
            Mine { strides, first, len: shape.iter().product() }
        }
    };
    let mut halo = builder.prepare(node)?;
    assert!(halo.to_string().contains("halo around"), "{halo}");
    let starts: [usize; R] = std::array::from_fn(|axis| case.extents[axis][..place[axis]].iter().sum());
    let totals: [usize; R] = std::array::from_fn(|axis| case.extents[axis].iter().sum());
    let neighbours = case.neighbours(rank);
    for round in 0..4 {
        let mut arrays: [Vec<T>; N] =
            std::array::from_fn(|_| (0..mine.len).map(|_| of_word(random.next())).collect());
        let mut expected = arrays.clone();
        for index in 0..whole.iter().product() {
            let mut rest: usize = index;
            let at: [usize; R] = std::array::from_fn(|axis| {
                let at = rest % whole[axis];
                rest /= whole[axis];
                at
            });
            // On which side of the interior, if it is not inside.
            let sides: [Option<usize>; R] = std::array::from_fn(|axis| match at[axis] {
                at if at < befores[axis] => Some(0),
                at if at >= befores[axis] + extents[axis] => Some(1),
                _ => None,
            });
            let outside = sides.iter().flatten().count();
            let comes = sides
                .iter()
                .enumerate()
                .all(|(axis, side)| side.is_none_or(|side| neighbours[axis][side].is_some()));
            let global: [usize; R] = std::array::from_fn(|axis| {
                (starts[axis] + at[axis] + totals[axis] - befores[axis]) % totals[axis]
            });
            let offset = (0..R).fold(mine.first as isize, |sum, axis| {
                sum + (at[axis] as isize - befores[axis] as isize) * mine.strides[axis] as isize
            }) as usize;
            for field in 0..N {
                let there = value(global, field, round);
                if outside == 0 {
                    arrays[field][offset] = there;
                }
                if comes && (outside < 2 || case.corners) {
                    expected[field][offset] = there;
                }
            }
        }
        if random.below(3) == 0 {
            // Some nodes come late.
            std::thread::yield_now();
        }
        let fields = arrays.each_mut().map(Vec::as_mut_slice);
        if round % 2 == 0 {
            halo.exchange(node, fields)?;
        } else {
            let under_way = halo.start(node, fields)?;
            for (field, expected) in expected.iter().enumerate().filter(|_| case.order.is_none()) {
                let row = &expected[mine.first..mine.first + extents[R - 1]];
                assert_eq!(under_way.row(field, &vec![0; R - 1]), row, "seed {seed}: {case:?}");
            }
            under_way.finish(node);
        }
        assert!(arrays == expected, "seed {seed}, node {rank}, round {round}: {case:?}\n{halo}");
        if round == 1 && case.periodic[0] {
            // Collectives in between do not disturb.
            assert_eq!(node.reduce_add(1u64), node.size() as u64);
        }
    }
    Ok(())
}

/// Exchanges parts of larger arrays, and the same as slices.
#[cfg(feature = "ndarray")]
pub(crate) fn views(node: &mut Node, way: Way) -> Result<(), Error> {
    use ndarray::{Array3, s};
    let rows = if node.size().is_multiple_of(2) { 2 } else { 1 };
    let grid = [node.size() / rows, 1, rows];
    let halo = || {
        let halo = Halo::<u32>::around([3, 4, 20]).widths([[1, 2], [2, 0], [1, 3]]).nodes(grid).way(way);
        halo.periodic([true, true, false]).corners(true).allocated([6, 7, 25], [1, 2, 2]).fields(2)
    };
    let number = |at: usize| (at * 7 + node.rank() * 100_003) as u32;
    let mut large = [0, 1].map(|field| {
        Array3::from_shape_fn((12, 7, 75), |(z, y, x)| number(field + 2 * (x + 75 * (y + 7 * z))))
    });
    // Every second plane, rows from the last to the first, every third element.
    let part = s![..;2, ..;-1, ..;3];
    let mut slices = large.each_ref().map(|array| array.slice(part).as_standard_layout().into_owned());
    let before = large.clone();
    let [a, b] = slices.each_mut().map(|array| array.as_slice_mut().unwrap());
    halo().prepare(node)?.exchange(node, [a, b])?;
    let mut of_views = halo().views().prepare(node)?;
    of_views.exchange_views(node, large.each_mut().map(|array| array.slice_mut(part)))?;
    for ((large, slices), before) in large.iter_mut().zip(&slices).zip(&before) {
        assert_eq!(large.slice(part), slices, "{grid:?} {way}");
        assert_ne!(large, before);
        // What is not in the views is as before.
        large.slice_mut(part).assign(&before.slice(part));
        assert_eq!(large, before);
    }
    let wrong = of_views.exchange_views(node, large.each_mut().map(|array| array.view_mut()));
    let told = "field 0 is a view of [12, 7, 75] elements: the halo was prepared for [6, 7, 25]";
    assert_eq!(wrong.unwrap_err().to_string(), told);
    let mut slices_only = halo().prepare(node)?;
    let refused = slices_only.exchange_views(node, large.each_mut().map(|array| array.slice_mut(part)));
    assert!(refused.unwrap_err().to_string().contains("prepared with `views`"));
    Ok(())
}
