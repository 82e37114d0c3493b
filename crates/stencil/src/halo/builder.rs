//! The description of a halo, and its preparation on all nodes.

use std::marker::PhantomData;
use std::rc::Rc;

use bytemuck::Pod;
use strata_runtime::Node;
use strata_runtime::select::{Options, SelectError, Selector};

use super::choice::{self, Taken, Traffic};
use super::region::Fields;
use super::shape::{Axis, MOST_AXES, Shape, WORDS, check, of_grid};
use super::{Halo, HaloError, HaloExchange, Places, slots};
use crate::exchange::{Exchange, Numbers};
use crate::{Way, exchange::requests, memory};

/// The places of elements in memory, as the program describes them.
#[derive(Clone, Copy, Debug)]
enum Memory<const R: usize> {
    /// Row by row, with exactly the halo around the interior.
    Tight,
    /// Row by row, of so many elements; the first interior element has this position.
    Allocated([usize; R], [usize; R]),
    /// Elements at these distances along each axis; the first interior element has this index.
    Strided([usize; R], usize),
}

/// The nodes around.
#[derive(Clone, Copy, Debug)]
enum Around<const R: usize> {
    Grid(Option<[usize; R]>, [bool; R]),
    Neighbours([[Option<usize>; 2]; R]),
}

/// The description of a halo; see [`Halo::around`].
#[must_use = "`prepare` makes a halo of it"]
#[derive(Clone, Debug)]
pub struct HaloBuilder<T, const R: usize> {
    extents: [usize; R],
    widths: [[usize; 2]; R],
    around: Around<R>,
    corners: bool,
    fields: usize,
    memory: Memory<R>,
    views: bool,
    way: Option<Way>,
    options: Options,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod, const R: usize> HaloBuilder<T, R> {
    pub(super) fn new(extents: [usize; R]) -> Self {
        Self {
            extents,
            widths: [[0; 2]; R],
            around: Around::Grid(None, [false; R]),
            corners: false,
            fields: 1,
            memory: Memory::Tight,
            views: false,
            way: None,
            options: Options::default(),
            element: PhantomData,
        }
    }

    /// Sets the width of the halo at all sides.
    pub fn width(self, layers: usize) -> Self {
        self.widths([[layers; 2]; R])
    }

    /// Sets the widths of the halo: before and after the interior, along each axis.
    pub fn widths(mut self, widths: [[usize; 2]; R]) -> Self {
        self.widths = widths;
        self
    }

    /// Sets the number of nodes along each axis. The rank of a node counts them row by row: the
    /// last axis varies fastest, as in MPI's Cartesian topologies.
    pub fn nodes(mut self, grid: [usize; R]) -> Self {
        let periodic = if let Around::Grid(_, periodic) = self.around { periodic } else { [false; R] };
        self.around = Around::Grid(Some(grid), periodic);
        self
    }

    /// Sets the axes along which the whole array is periodic: the nodes at both ends are
    /// neighbours, and a single one is its own neighbour.
    pub fn periodic(mut self, periodic: [bool; R]) -> Self {
        let grid = if let Around::Grid(grid, _) = self.around { grid } else { None };
        self.around = Around::Grid(grid, periodic);
        self
    }

    /// Sets the neighbours one by one, instead of a process grid: before and after this node along
    /// each axis. A node may be its own neighbour at both sides. There is no exchange at a side
    /// without a neighbour.
    pub fn neighbours(mut self, neighbours: [[Option<usize>; 2]; R]) -> Self {
        self.around = Around::Neighbours(neighbours);
        self
    }

    /// Sets whether the corners of the halo are filled, too: those that lie before or after the
    /// interior along several axes. Initially they are not. With corners the axes are exchanged one
    /// after the other.
    pub fn corners(mut self, corners: bool) -> Self {
        self.corners = corners;
        self
    }

    /// Sets the number of fields that are exchanged together, initially 1.
    pub fn fields(mut self, fields: usize) -> Self {
        self.fields = fields;
        self
    }

    /// Sets the shape of the allocated arrays, row by row, and the position of the first interior
    /// element. Initially they have exactly the halo around the interior.
    pub fn allocated(mut self, shape: [usize; R], first: [usize; R]) -> Self {
        self.memory = Memory::Allocated(shape, first);
        self
    }

    /// Sets the distances in memory between neighbouring elements along each axis, in elements, and
    /// the index of the first interior element, for example of an array in Fortran's order. The
    /// largest stride may be along any axis.
    pub fn strided(mut self, strides: [usize; R], first: usize) -> Self {
        self.memory = Memory::Strided(strides, first);
        self
    }

    /// Prepares for [`Halo::exchange_views`]: views are never sent as datatypes.
    #[cfg(feature = "ndarray")]
    pub fn views(mut self) -> Self {
        self.views = true;
        self
    }

    /// Sets the way of the exchange; the models then choose none.
    pub fn way(mut self, way: Way) -> Self {
        self.way = Some(way);
        self
    }

    /// Sets the options of the choice; see [`Options`].
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Compares the halos of all nodes, chooses the way of the exchange, and prepares the messages.
    ///
    /// Puts need nodes that receive while they wait, so an empty list of handlers is
    /// [installed](Node::install) unless messages are prepared by MPI.
    ///
    /// # Settings
    /// `STRATA_PIN=halo_exchange=stored` pins a way, `STRATA_MODELS` and `STRATA_EXPLAIN` are
    /// as for [`Grid::solve`](crate::Grid::solve). `STRATA_CALIBRATE=1s` fits the models to this
    /// machine at the first halo.
    ///
    /// # Participation
    /// Collective, with equal numbers of axes and fields, equal corners, grids, ways and options.
    ///
    /// # Errors
    /// See [`HaloError`]; every node gets an error.
    pub fn prepare(self, node: &mut Node) -> Result<Halo<T>, HaloError> {
        if node.size() > 1 {
            // Before this halo takes a slot, because a calibration prepares halos, too.
            node.calibrate_as_set::<HaloExchange>();
        }
        let mine = self.describe(node);
        let (selector, traffic, shape) = self.gather(node, &mine)?;
        let (_, places, (holder, _, numbers)) = mine?;
        let turns = vec![shape.phases(&places.strides, places.first)];
        let rank = node.rank();
        let taken = Taken::new(node, &selector, self.way, self.fields, traffic)?;
        let taken = if self.views { taken.without_pieces() } else { taken };
        let ports = node.size() > 1 && !requests::prepares::<T>(node, taken.way);
        if ports {
            let none = node.handlers();
            node.install(none);
        }
        // Lengths only: there are no arrays yet.
        let mut empty: Vec<&mut [T]> = (0..shape.fields).map(|_| Default::default()).collect();
        let exchange = Exchange::open(node, &Fields(&mut empty), taken.way, numbers, turns);
        slots::opened(node, &holder, exchange.ports(rank).into_iter().map(|(port, _)| port).collect());
        if ports {
            node.barrier();
        }
        Ok(Halo {
            shape,
            places,
            exchange,
            taken,
            rank,
            started: false,
            views: self.of_views(),
            slot: holder,
        })
    }

    /// What the nodes send at most, after their shapes were compared; the selector of the way; and
    /// this node's shape, with the order of axes that all nodes have.
    fn gather(
        &self,
        node: &mut Node,
        mine: &Result<(Shape, Places, Slot), HaloError>,
    ) -> Result<(Rc<Selector<HaloExchange>>, Traffic, Shape), HaloError> {
        let (selector, gathered) = loop {
            let selector = node.selector::<HaloExchange>(&self.options.clone().inner());
            // Even if this node fails, the exchange must take place, or the others would wait
            // forever.
            let mut words = [0; HEAD + WORDS];
            words[0] = selector.as_ref().map_or(0, |selector| selector.word());
            if let Ok((shape, places, (_, slot, _))) = mine {
                words[1] = 1 + *slot as u64;
                words[2] = self.way.map_or(0, |way| 1 + way as u64);
                words[3] = u64::from(self.views);
                let phases = shape.phases(&places.strides, places.first);
                let traffic = Traffic::new(shape, &phases, node.rank());
                words[TRAFFIC].copy_from_slice(&traffic.words());
                words[HEAD..].copy_from_slice(&shape.words());
            }
            let gathered = node.all_gather(&words);
            let alike = gathered.chunks_exact(HEAD + WORDS).all(|other| other[0] == words[0]);
            if !node.must_compare_again(alike) {
                break (selector, gathered);
            }
        };
        if let Err(error) = mine {
            return Err(error.clone());
        }
        let selector = selector?;
        let all = || gathered.chunks_exact(HEAD + WORDS);
        if let Some(refused) = all().position(|words| words[1] == 0) {
            return Err(HaloError::OnNode(refused));
        }
        if all().any(|words| words[0] != gathered[0]) {
            return Err(SelectError::Unlike.into());
        }
        let alike = [
            (1, "the number of halos in use"),
            (2, "the way (0: by models)"),
            (3, "whether fields are views (1: yes)"),
        ];
        for (at, what) in alike {
            if let Some(other) = all().position(|words| words[at] != gathered[at]) {
                let values = [gathered[at], gathered[other * (HEAD + WORDS) + at]];
                return Err(HaloError::Unlike { nodes: [0, other], what, values });
            }
        }
        let mut shapes: Vec<Shape> = all().map(|words| Shape::from_words(&words[HEAD..])).collect();
        check(&mut shapes)?;
        let traffic = Traffic::largest(all().map(|words| &words[TRAFFIC]));
        Ok((selector, traffic, shapes.swap_remove(node.rank())))
    }

    /// What this node says, if it holds by itself.
    fn describe(&self, node: &mut Node) -> Result<(Shape, Places, Slot), HaloError> {
        if !(1..=MOST_AXES).contains(&R) {
            return Err(HaloError::Axes(R));
        }
        if self.fields == 0 {
            return Err(HaloError::NoFields);
        }
        let places = self.places()?;
        let each = places.len.saturating_mul(size_of::<T>()).saturating_add(size_of::<&mut [T]>());
        let bytes = (each as u64).saturating_mul(self.fields as u64);
        // Of a skeleton only the lengths exist.
        if !node.is_skeleton() && memory::whole().is_some_and(|memory| bytes > memory) {
            return Err(HaloError::Memory { fields: self.fields, elements: places.len });
        }
        let (nodes, rank) = (node.size(), node.rank());
        let neighbours = match self.around {
            Around::Grid(grid, periodic) => {
                let grid =
                    grid.unwrap_or_else(|| std::array::from_fn(|axis| if axis == 0 { nodes } else { 1 }));
                if grid.iter().try_fold(1, |product: usize, along| product.checked_mul(*along)) != Some(nodes)
                {
                    return Err(HaloError::Grid { grid: grid.to_vec(), nodes });
                }
                of_grid(rank, grid, periodic)
            }
            Around::Neighbours(neighbours) => neighbours,
        };
        for (axis, sides) in neighbours.iter().enumerate() {
            if let Some(&neighbour) = sides.iter().flatten().find(|neighbour| **neighbour >= nodes) {
                return Err(HaloError::NoNode { axis, neighbour, nodes });
            }
        }
        let mut order: Vec<usize> = (0..R).collect();
        order.sort_by_key(|axis| std::cmp::Reverse(places.strides[*axis]));
        let axis = |axis: usize| Axis {
            extent: self.extents[axis],
            widths: self.widths[axis],
            neighbours: neighbours[axis],
            place: order.iter().position(|other| *other == axis).unwrap_or(axis),
        };
        let shape = Shape {
            axes: (0..R).map(axis).collect(),
            fields: self.fields,
            element: size_of::<T>(),
            corners: self.corners,
        };
        Ok((shape, places, slots::take(node)?))
    }

    /// For views, the allocated shape and the position of the first interior element.
    fn of_views(&self) -> Option<[Vec<usize>; 2]> {
        let (shape, first) = match self.memory {
            _ if !self.views => return None,
            Memory::Tight => {
                let whole = |axis: usize| self.widths[axis][0] + self.extents[axis] + self.widths[axis][1];
                (std::array::from_fn(whole), self.widths.map(|[before, _]| before))
            }
            Memory::Allocated(shape, first) => (shape, first),
            Memory::Strided(..) => return None,
        };
        Some([shape, first].map(|numbers: [usize; R]| numbers.to_vec()))
    }

    /// The places of all elements.
    fn places(&self) -> Result<Places, HaloError> {
        let too_large = || HaloError::Extents(self.extents.to_vec());
        if self.extents.contains(&0) {
            return Err(too_large());
        }
        let whole = |axis: usize| -> Option<usize> {
            let [before, after] = self.widths[axis];
            self.extents[axis].checked_add(before)?.checked_add(after)
        };
        let mut all = [0; R];
        for (axis, all) in all.iter_mut().enumerate() {
            *all = whole(axis).ok_or_else(too_large)?;
        }
        let (strides, first, exact) = match self.memory {
            Memory::Tight => {
                let first = self.widths.map(|[before, _]| before);
                row_by_row::<T, R>(all, first).ok_or_else(too_large)?
            }
            Memory::Allocated(shape, first) => {
                for axis in 0..R {
                    let (allocated, first, widths) = (shape[axis], first[axis], self.widths[axis]);
                    let extent = self.extents[axis];
                    let end = first.checked_add(extent).and_then(|end| end.checked_add(widths[1]));
                    if first < widths[0] || end.is_none_or(|end| end > allocated) {
                        return Err(HaloError::Room { axis, allocated, first, extent, widths });
                    }
                }
                row_by_row::<T, R>(shape, first).ok_or_else(too_large)?
            }
            Memory::Strided(strides, first) => (strides, first, None),
        };
        let refused = || HaloError::Strides { strides: strides.to_vec(), first };
        let mut order: Vec<usize> = (0..R).collect();
        order.sort_by_key(|axis| strides[*axis]);
        // The distance from the first to the last element of the axes so far, and of those before
        // the interior.
        let (mut span, mut before) = (0_usize, 0_usize);
        for axis in order {
            let stride = strides[axis];
            if all[axis] > 1 && stride <= span {
                return Err(refused());
            }
            let far = |elements: usize| elements.checked_mul(stride);
            span = far(all[axis] - 1).and_then(|more| span.checked_add(more)).ok_or_else(refused)?;
            before =
                far(self.widths[axis][0]).and_then(|more| before.checked_add(more)).ok_or_else(refused)?;
        }
        let start = first.checked_sub(before).ok_or_else(refused)?;
        let least = start.checked_add(span).and_then(|last| last.checked_add(1)).ok_or_else(refused)?;
        let elements = exact.unwrap_or(least);
        let bytes = elements.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_mul(self.fields));
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(HaloError::Memory { fields: self.fields, elements });
        }
        Ok(Places { strides: strides.to_vec(), first, len: elements, is_exact: exact.is_some() })
    }
}

/// A slot's holder, number and numbers.
type Slot = (Rc<()>, usize, Numbers);

/// Words before those of a shape: the selector's fingerprint, the slot, the given way, and whether
/// fields are views.
const HEAD: usize = TRAFFIC.end;

/// The words of a node's [`Traffic`].
const TRAFFIC: std::ops::Range<usize> = 4..4 + choice::WORDS;

/// The strides of an array row by row, the index of its element at `first`, and its length; `None`
/// if it is beyond memory.
fn row_by_row<T, const R: usize>(
    shape: [usize; R],
    first: [usize; R],
) -> Option<([usize; R], usize, Option<usize>)> {
    let mut strides = [1; R];
    let mut len = 1_usize;
    for axis in (0..R).rev() {
        strides[axis] = len;
        len = len.checked_mul(shape[axis])?;
    }
    isize::try_from(len.checked_mul(size_of::<T>())?).ok()?;
    let index = first.iter().zip(strides).map(|(at, stride)| at * stride).sum();
    Some((strides, index, Some(len)))
}
