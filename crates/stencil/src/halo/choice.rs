//! The choice of the way in which a halo is exchanged.

use strata_runtime::Node;
use strata_runtime::select::{ALL, Selector};
use strata_select::Note;

use super::HaloError;
use super::shape::Shape;
use crate::exchange_models::StencilExchange;
use crate::{ExchangeChoice, Way};

/// A way, and why it is taken.
pub(super) struct Taken {
    pub(super) way: Way,
    /// The choice by models or a pin.
    pub(super) choice: Option<ExchangeChoice>,
    /// A reason besides the choice, or without one.
    pub(super) reason: &'static str,
}

const UNLIKE: &str = "ranked by iterations of a solver with such halos";
const NEAREST: &str = "ranked by iterations of a solver with the most similar halos measured";

/// Messages of more bytes are not prepared.
const LONGEST: u128 = strata_runtime::LONGEST_PREPARED as u128;

impl Taken {
    fn packed(reason: &'static str) -> Self {
        Self { way: Way::Packed, choice: None, reason }
    }

    /// The way given by the program, or the one that the models prefer where they were measured
    /// with such blocks: on node 0, as all nodes must take the same.
    pub(super) fn new(
        node: &mut Node,
        selector: &Selector<StencilExchange>,
        given: Option<Way>,
        all: &[Shape],
    ) -> Result<Self, HaloError> {
        let longest = all.iter().map(Shape::longest_message).max().unwrap_or(0);
        let prepared = |way| matches!(way, Way::Persistent | Way::Typed);
        match given {
            Some(way) if prepared(way) && longest > LONGEST => return Ok(Self::packed(TOO_LONG)),
            Some(way) => return Ok(Self { way, choice: None, reason: "given by the program" }),
            None => {}
        }
        let like = all.first().and_then(Shape::inputs);
        if !selector.decides(like.is_some()) {
            return Ok(Self::packed(if like.is_some() { ELSEWHERE } else { ONLY_TWO }));
        }
        // A pin decides without inputs.
        let inputs = like.unwrap_or([0.0; 4]);
        let source = selector.models().source;
        // Packed halos have models if any way has.
        let covered = source.seconds(0, node.size(), &inputs, &[0]).is_some();
        let note = if covered { UNLIKE } else { NEAREST };
        let chosen = node.choose_by::<StencilExchange>(selector, &inputs, ALL, Some(Note::Other(note)))?;
        match Way::of(chosen.candidate).0 {
            way if prepared(way) && longest > LONGEST => Ok(Self::packed(TOO_LONG)),
            // Long puts may stall (as solvers take packed halos there); prepared messages do not.
            way if !(covered || chosen.choice.pinned || prepared(way)) => Ok(Self::packed(OUTSIDE)),
            way => Ok(Self { way, choice: Some(*chosen.choice), reason: "" }),
        }
    }

    /// In place of datatypes, which need pieces of memory, persistent requests.
    pub(super) fn without_pieces(mut self) -> Self {
        if self.way == Way::Typed {
            self.way = Way::Persistent;
            self.reason = "in place of datatypes persistent requests: fields are views";
        }
        self
    }

    /// In place of persistent requests, which pack, datatypes if all sides have `long_rows`: the
    /// arrays of the solvers whose exchanges were measured have none, as they keep colours apart.
    /// Both ends of a message of one field may differ in this.
    pub(super) fn with_long_rows(mut self, long_rows: bool) -> Self {
        let chosen = self.choice.is_some_and(|choice| !choice.pinned);
        if long_rows && chosen && self.way == Way::Persistent {
            self.way = Way::Typed;
            self.reason = "in its place datatypes, without packing: the sides have long rows";
        }
        self
    }
}

const TOO_LONG: &str = "messages of more than 1 GiB are not prepared";
const ONLY_TWO: &str = "no models of nodes along more than two axes, or not in a grid";
const OUTSIDE: &str = "outside the range of the models";
const ELSEWHERE: &str = "no models of this machine; specc calibrate makes them";

impl Shape {
    /// At least the bytes of the longest message.
    fn longest_message(&self) -> u128 {
        let whole = |axis: &super::shape::Axis| (axis.extent + axis.widths[0] + axis.widths[1]) as u128;
        let all: u128 = self.axes.iter().map(whole).product();
        let layer =
            |axis: &super::shape::Axis| all / whole(axis) * axis.widths[0].max(axis.widths[1]) as u128;
        self.axes.iter().map(layer).max().unwrap_or(0) * (self.fields * self.element) as u128
    }

    /// The inputs of the models: a block of numbers of 8 bytes whose sides are messages of about
    /// this length. Axes along which there is one node lengthen the elements. `None` if more than
    /// two are divided, or unknown.
    fn inputs(&self) -> Option<[f64; 4]> {
        let axes = self.in_memory();
        if axes.iter().any(|(_, axis)| axis.nodes == 0) {
            return None;
        }
        let (divided, whole): (Vec<_>, Vec<_>) = axes.iter().partition(|(_, axis)| axis.nodes > 1);
        let words = self.fields as f64 * self.element as f64 / 8.0;
        let line = whole.iter().map(|(_, axis)| axis.extent as f64).product::<f64>() * words;
        let innermost = axes.iter().rfind(|(_, axis)| axis.extent > 1 || axis.nodes > 1);
        let (width, height, columns) = match divided[..] {
            [(_, outer), (_, inner)] => {
                (inner.extent as f64 * line.sqrt(), outer.extent as f64 * line.sqrt(), inner.nodes)
            }
            // Vertical strips, whose sides are columns.
            [one] if innermost == Some(&one) => (one.1.extent as f64, line, one.1.nodes),
            // Horizontal ones, whose sides are rows.
            [(_, one)] => (line, one.extent as f64, 1),
            _ => return None,
        };
        let halo = self.axes.iter().filter(|axis| axis.nodes > 1).flat_map(|axis| axis.widths).max()?;
        Some([width.round(), height.round(), columns as f64, halo.max(1) as f64])
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Axis;
    use super::*;

    #[test]
    fn a_halo_is_likened_to_that_of_a_grid() {
        let inputs = |extents: &[usize], nodes: &[usize], widths: [usize; 2], fields: usize| {
            let axis = |(place, (extent, nodes)): (usize, (&usize, &usize))| Axis {
                extent: *extent,
                widths,
                neighbours: [None; 2],
                place,
                nodes: *nodes,
            };
            let axes = extents.iter().zip(nodes).enumerate().map(axis).collect();
            Shape { axes, fields, element: 8, corners: false }.inputs()
        };
        assert_eq!(inputs(&[60, 40], &[2, 4], [1, 1], 1), Some([40.0, 60.0, 4.0, 1.0]), "blocks");
        assert_eq!(inputs(&[60, 40], &[2, 1], [1, 2], 1), Some([40.0, 60.0, 1.0, 2.0]), "strips of rows");
        assert_eq!(inputs(&[60, 40], &[1, 2], [0, 3], 1), Some([40.0, 60.0, 2.0, 3.0]), "of columns");
        assert_eq!(inputs(&[60, 40], &[2, 1], [1, 1], 3), Some([120.0, 60.0, 1.0, 1.0]), "three fields");
        assert_eq!(inputs(&[30, 20, 16], &[2, 2, 1], [1, 1], 1), Some([80.0, 120.0, 2.0, 1.0]), "lines");
        assert_eq!(inputs(&[30, 20, 16], &[2, 2, 2], [1, 1], 1), None);
        assert_eq!(inputs(&[60, 40], &[0, 0], [1, 1], 1), None, "neighbours one by one");
        assert_eq!(inputs(&[60, 40], &[1, 1], [1, 1], 1), None, "one node");
    }
}
