//! The exchange of halos of a program's own arrays.
//!
//! Each node has a block of a larger array and, around it, a *halo*: a copy of its neighbours'
//! outermost elements. [`Halo::around`] describes the block, [`HaloBuilder::prepare`] agrees on it
//! with the other nodes and prepares the messages once, and [`Halo::exchange`] fills the halo as
//! often as needed.
//!
//! ```
//! use strata_runtime::prelude::*;
//! use strata_stencil::Halo;
//!
//! let rows = Machine::threads(4)?.run(|node| {
//!     // 2 by 3 elements on each of 2 by 2 nodes; a halo of one around them, so 4 by 5 in memory.
//!     let mut mine = vec![node.rank() as f64; 4 * 5];
//!     let mut halo = Halo::around([2, 3]).width(1).nodes([2, 2]).periodic([true; 2]).prepare(node)?;
//!     halo.exchange(node, [&mut mine])?;
//!     Ok(mine[5..10].to_vec())
//! })?;
//! assert_eq!(rows[0], [1.0, 0.0, 0.0, 0.0, 1.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! [`Halo::start`] and [`InFlight::finish`] compute in between:
//!
//! ```
//! # use strata_runtime::prelude::*;
//! # use strata_stencil::Halo;
//! # let sums = Machine::threads(2)?.run(|node| {
//! let mut cells = vec![1u32; 10];
//! let mut halo = Halo::around([8]).width(1).prepare(node)?;
//! let under_way = halo.start(node, [&mut cells])?;
//! let inner: u32 = under_way.row(0, &[]).iter().sum();     // needs no halo
//! under_way.finish(node);
//! # Ok(inner + cells[0])
//! # })?;
//! # assert_eq!(sums, [9, 9]);
//! # Ok::<(), Error>(())
//! ```
//!
//! Meanwhile the fields are borrowed: a halo that has not arrived cannot be read,
//!
//! ```compile_fail,E0502
//! # use strata_runtime::prelude::*;
//! # use strata_stencil::Halo;
//! # Machine::threads(2)?.run(|node| {
//! # let mut cells = vec![1u32; 10];
//! # let mut halo = Halo::around([8]).width(1).prepare(node)?;
//! let under_way = halo.start(node, [&mut cells])?;
//! let early = cells[0];
//! under_way.finish(node);
//! # Ok(early) })?;
//! # Ok::<(), Error>(())
//! ```
//!
//! and a field cannot be freed:
//!
//! ```compile_fail,E0505
//! # use strata_runtime::prelude::*;
//! # use strata_stencil::Halo;
//! # Machine::threads(2)?.run(|node| {
//! # let mut cells = vec![1u32; 10];
//! # let mut halo = Halo::around([8]).width(1).prepare(node)?;
//! let under_way = halo.start(node, [&mut cells])?;
//! drop(cells);
//! under_way.finish(node);
//! # Ok(()) })?;
//! # Ok::<(), Error>(())
//! ```

mod builder;
mod choice;
mod error;
mod models;
mod region;
mod shape;
mod slots;
#[cfg(feature = "ndarray")]
mod views;

use std::fmt;
use std::rc::Rc;

use bytemuck::Pod;
use strata_runtime::Node;

pub use self::builder::HaloBuilder;
use self::choice::Taken;
pub use self::error::HaloError;
pub use self::models::HaloExchange;
use self::region::{Fields, Region};
use self::shape::Shape;
use crate::Way;
use crate::exchange::{Exchange, RECEIVED, SENT};

/// The choice of the way in which a [`Halo`] is exchanged, and the reasons for it.
pub type HaloChoice = strata_select::Choice<[strata_select::Row; 4]>;

/// Prepared exchanges of the halo around one or several arrays; see the [module](self).
///
/// `Display` reports the messages, the way and why it was taken.
pub struct Halo<T> {
    shape: Shape,
    places: Places,
    exchange: Exchange<T, Region>,
    taken: Taken,
    rank: usize,
    /// True if an exchange was started and not finished.
    started: bool,
    /// If fields may be views: their shape, and the position of the first interior element.
    #[cfg_attr(not(feature = "ndarray"), expect(dead_code, reason = "views are those of `ndarray`"))]
    views: Option<[Vec<usize>; 2]>,
    /// Held as long as the halo's ports and messages are in use.
    slot: Rc<()>,
}

/// The places of elements in memory.
#[derive(Clone, Debug)]
struct Places {
    /// Distance of neighbouring elements along each axis.
    strides: Vec<usize>,
    /// Index of the first interior element.
    first: usize,
    /// The length of a field; the least one if `is_exact` is false.
    len: usize,
    is_exact: bool,
}

impl<T: Pod> Halo<T> {
    /// Describes the halo around arrays of `extents` interior elements on this node, the innermost
    /// axis last: 1 to 4 axes, initially with widths of 0, not periodic, all nodes side by side
    /// along the first axis.
    pub fn around<const R: usize>(extents: [usize; R]) -> HaloBuilder<T, R> {
        HaloBuilder::new(extents)
    }

    /// Fills the halos of `fields`, with one message a side for all of them, unless the way sends
    /// from the arrays themselves ([`Way::Typed`], [`Way::Stored`]).
    ///
    /// # Participation
    /// Collective among neighbours: each node exchanges equally often.
    ///
    /// # Errors
    /// [`HaloError::Fields`], [`HaloError::Length`], [`HaloError::Unfinished`] or
    /// [`HaloError::OtherNode`], on this node alone: its neighbours wait, so return it from the
    /// program, or tell it by [`MpiNode::fail`], which ends the job.
    ///
    /// [`MpiNode::fail`]: https://docs.rs/strata-runtime/latest/strata_runtime/struct.MpiNode.html
    pub fn exchange<const N: usize>(
        &mut self,
        node: &mut Node,
        fields: [&mut [T]; N],
    ) -> Result<(), HaloError> {
        self.start(node, fields)?.finish(node);
        Ok(())
    }

    /// Starts an exchange; [`InFlight::finish`] waits for it. Of a halo with corners, the innermost
    /// axis is under way meanwhile, and the others follow.
    ///
    /// # Participation
    /// As [`exchange`](Self::exchange).
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    pub fn start<'h, 'f, const N: usize>(
        &'h mut self,
        node: &mut Node,
        mut fields: [&'f mut [T]; N],
    ) -> Result<InFlight<'h, 'f, T, N>, HaloError> {
        self.check(node, &fields.each_ref().map(|field| field.len()))?;
        self.started = true;
        self.exchange.start(node, &mut Fields(&mut fields));
        Ok(InFlight { halo: self, fields })
    }

    /// As [`exchange`](Self::exchange), without its checks: the fields must suit.
    pub(crate) fn exchange_all(&mut self, node: &mut Node, fields: &mut [&mut [T]]) {
        self.exchange.run(node, &mut Fields(fields));
    }

    /// Checks the lengths of fields.
    fn check(&self, node: &mut Node, lengths: &[usize]) -> Result<(), HaloError> {
        self.check_start(node, lengths.len())?;
        let Places { len: expected, is_exact, .. } = self.places;
        // The fields of a skeleton may have no memory.
        let wrong = |given: usize| given < expected || is_exact && given > expected;
        match lengths.iter().position(|len| wrong(*len)).filter(|_| !node.is_skeleton()) {
            Some(field) => Err(HaloError::Length { field, given: lengths[field], expected }),
            None => Ok(()),
        }
    }

    /// Checks that an exchange of so many fields may start.
    fn check_start(&self, node: &mut Node, given: usize) -> Result<(), HaloError> {
        match self.shape.fields {
            _ if !slots::is_of(node, &self.slot) => Err(HaloError::OtherNode),
            _ if self.started => Err(HaloError::Unfinished),
            expected if given != expected => Err(HaloError::Fields { given, expected }),
            _ => Ok(()),
        }
    }

    /// The way in which halos are exchanged.
    #[must_use]
    pub fn way(&self) -> Way {
        self.taken.way
    }

    /// The choice of the way by models or a pin; `None` if there was none.
    #[must_use]
    pub fn choice(&self) -> Option<&HaloChoice> {
        self.taken.choice.as_ref()
    }

    /// The nodes from which this one receives, each once, in order.
    #[must_use]
    pub fn neighbours(&self) -> Vec<usize> {
        let mut nodes: Vec<usize> = self.exchange.links().map(|link| link.to).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Bytes that an exchange sends to other nodes, and receives from them.
    #[must_use]
    pub fn bytes(&self) -> [usize; 2] {
        let others = self.exchange.links().filter(|link| link.to != self.rank);
        others.fold([0; 2], |sum, link| {
            [SENT, RECEIVED].map(|which| sum[which] + link.counts[which] * size_of::<T>())
        })
    }

    /// Closes the halo's ports: afterwards the program may [uninstall](Node::uninstall) its
    /// handlers. A halo that is dropped leaves this to the next one that is prepared.
    ///
    /// # Participation
    /// Local: every node closes its halo after its last exchange.
    pub fn close(self, node: &mut Node) {
        if !self.started {
            slots::close(node, &self.slot);
        }
    }
}

impl<T> Drop for Halo<T> {
    fn drop(&mut self) {
        if self.started {
            // Neighbours may still put into its ports, so that its slot stays taken.
            std::mem::forget(Rc::clone(&self.slot));
        }
    }
}

impl<T> fmt::Debug for Halo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, places, taken, started, .. } = self;
        f.debug_struct("Halo")
            .field("shape", shape)
            .field("places", places)
            .field("way", &taken.way)
            .field("started", started)
            .finish_non_exhaustive()
    }
}

impl<T: Pod> fmt::Display for Halo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { axes, fields, corners, .. } = &self.shape;
        let by = |numbers: Vec<String>| numbers.join(" by ");
        let extents = by(axes.iter().map(|axis| axis.extent.to_string()).collect());
        let corners = if *corners { ", with corners" } else { "" };
        let plural = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        writeln!(
            f,
            "halo around {extents} elements of {} bytes, {}{corners}",
            size_of::<T>(),
            plural(*fields, "field")
        )?;
        for (number, axis) in axes.iter().enumerate() {
            let [before, after] = [0, 1].map(|side| {
                let width = axis.widths[side];
                match axis.neighbours[side] {
                    Some(node) if node == self.rank => format!("{width} of itself"),
                    Some(node) => format!("{width} of node {node}"),
                    None => "none".to_owned(),
                }
            });
            writeln!(f, "  axis {number}: {before} before, {after} after")?;
        }
        let others = self.exchange.links().filter(|link| link.to != self.rank);
        let messages = others.filter(|link| link.counts[SENT] > 0).count();
        let [sent, received] = self.bytes();
        writeln!(
            f,
            "node {} sends {sent} bytes in {} and receives {received}",
            self.rank,
            plural(messages, "message")
        )?;
        match &self.taken.choice {
            Some(choice) if self.taken.reason.is_empty() => write!(f, "{choice}"),
            Some(choice) => write!(f, "{choice}\n{}", self.taken.reason),
            None => write!(f, "{}: {}", self.taken.way, self.taken.reason),
        }
    }
}

/// An exchange under way: the fields are borrowed until it is [finished](Self::finish).
///
/// If it is dropped instead, the halo cannot be used any more, and counts among those that a node
/// has at a time for good: what is under way to its ports must find them open.
#[must_use = "the halos arrive in `finish`"]
#[derive(Debug)]
pub struct InFlight<'h, 'f, T, const N: usize> {
    halo: &'h mut Halo<T>,
    fields: [&'f mut [T]; N],
}

impl<T: Pod, const N: usize> InFlight<'_, '_, T, N> {
    /// The interior elements of a row of a field: along the innermost axis, at the position `at` of
    /// the other axes, which counts from the first interior element. To be read while the halo is
    /// under way.
    ///
    /// # Panics
    /// If there is no such field or row, or the elements of the innermost axis are not contiguous.
    #[must_use]
    pub fn row(&self, field: usize, at: &[usize]) -> &[T] {
        let (axes, Places { strides, first, .. }) = (&self.halo.shape.axes, &self.halo.places);
        let Some((last, outer)) = axes.split_last() else { return &[] };
        let inside = at.len() == outer.len() && at.iter().zip(outer).all(|(at, axis)| *at < axis.extent);
        assert!(inside, "row {at:?} of an array of {} axes: there is none in the interior", axes.len());
        assert!(strides.ends_with(&[1]), "the elements of the innermost axis are not contiguous");
        let start = at.iter().zip(strides).fold(*first, |sum, (at, stride)| sum + at * stride);
        &self.fields[field][start..start + last.extent]
    }

    /// Waits until all halos have arrived.
    ///
    /// # Participation
    /// As [`Halo::exchange`].
    pub fn finish(mut self, node: &mut Node) {
        self.halo.exchange.finish(node, &mut Fields(&mut self.fields));
        self.halo.started = false;
    }
}
