//! Marks over a plot: samples and places that tell a pointer what they are, lines with their names.
//!
//! Their colours are those of `figures.css`, which knows candidates by the classes `s0` to `s7`.

use std::fmt::Write;

use crate::html::Escaped;

/// A place in a plot, in pixels.
pub(crate) type Place = (i32, i32);

/// Marks as SVG, in the order in which they are drawn.
#[derive(Default)]
pub(crate) struct Marks {
    pub(crate) svg: String,
}

impl Marks {
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.svg.write_fmt(text);
    }

    /// A sample: a circle if it was fitted, a triangle if it was held out.
    pub(crate) fn sample(&mut self, (x, y): Place, class: &str, verify: bool, told: &str) {
        let told = Escaped(told);
        if verify {
            self.add(format_args!(
                "<path class=\"{class}\" d=\"M{x} {}l4 7h-8z\"><title>{told}</title></path>\n",
                y - 4
            ));
        } else {
            self.add(format_args!(
                "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"3\"><title>{told}</title></circle>\n"
            ));
        }
    }

    /// A choice that was judged.
    pub(crate) fn square(&mut self, (x, y): Place, class: &str, told: &str) {
        let corner = (x - 4, y - 4);
        self.add(format_args!(
            "<path class=\"{class}\" d=\"M{} {}h8v8h-8z\"><title>{}</title></path>\n",
            corner.0,
            corner.1,
            Escaped(told)
        ));
    }

    /// A crossing.
    pub(crate) fn diamond(&mut self, (x, y): Place, class: &str, told: &str) {
        self.add(format_args!(
            "<path class=\"{class}\" d=\"M{x} {}l5 5l-5 5l-5 -5z\"><title>{}</title></path>\n",
            y - 5,
            Escaped(told)
        ));
    }

    /// A line from place to place.
    pub(crate) fn path(&mut self, class: &str, places: &[Place]) {
        let places: Vec<String> = places.iter().map(|(x, y)| format!("{x} {y}")).collect();
        self.add(format_args!("<path class=\"{class}\" d=\"M{}\"/>\n", places.join("L")));
    }

    /// A text whose middle line goes through the place; `anchor` is `start` or `middle`.
    pub(crate) fn text(&mut self, (x, y): Place, anchor: &str, class: &str, text: &str) {
        self.add(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" dy=\".35em\" text-anchor=\"{anchor}\">{}</text>\n",
            Escaped(text)
        ));
    }
}

/// The class of a candidate.
pub(crate) fn series(candidate: usize) -> String {
    format!("s{}", candidate % 8)
}

/// Middles of labels near the wanted ones, but so that labels of these sizes do not overlap and lie
/// inside the range; `None` for labels that find no room there.
pub(crate) fn apart(wanted: &[f64], sizes: &[f64], (low, high): (f64, f64)) -> Vec<Option<f64>> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut room = high - low;
    order.retain(|label| {
        let fits = sizes[*label] <= room;
        room -= if fits { sizes[*label] } else { 0.0 };
        fits
    });
    // Each as low as those below it allow, then, from the top, as high as those above it do.
    let mut middles = vec![None; wanted.len()];
    let mut end = low;
    for label in &order {
        let half = sizes[*label] / 2.0;
        let middle = wanted[*label].max(end + half);
        (middles[*label], end) = (Some(middle), middle + half);
    }
    let mut end = high;
    for label in order.iter().rev() {
        let half = sizes[*label] / 2.0;
        let middle = middles[*label].map_or(end - half, |middle: f64| middle.min(end - half));
        (middles[*label], end) = (Some(middle), middle - half);
    }
    middles
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_stay_where_they_are_unless_they_meet() {
        let at = |wanted: &[f64]| apart(wanted, &vec![10.0; wanted.len()], (0.0, 100.0));
        assert_eq!(at(&[80.0, 20.0]), [Some(80.0), Some(20.0)]);
        assert_eq!(at(&[20.0, 22.0, 60.0]), [Some(20.0), Some(30.0), Some(60.0)]);
        assert_eq!(at(&[99.0, 98.0, 0.0]), [Some(95.0), Some(85.0), Some(5.0)]);
        assert_eq!(apart(&[1.0, 2.0], &[60.0, 60.0], (0.0, 100.0)), [Some(30.0), None]);
    }

    proptest! {
        #[test]
        fn labels_never_overlap(wanted in prop::collection::vec(-10.0..110.0_f64, 0..12), size in 1.0..30.0_f64) {
            let placed = apart(&wanted, &vec![size; wanted.len()], (0.0, 100.0));
            let mut placed: Vec<f64> = placed.into_iter().flatten().collect();
            prop_assert_eq!(placed.len(), wanted.len().min((100.0 / size) as usize));
            placed.sort_by(f64::total_cmp);
            prop_assert!(placed.windows(2).all(|pair| pair[1] - pair[0] >= size - 1e-9));
            prop_assert!(placed.iter().all(|at| (size / 2.0 - 1e-9..=100.0 - size / 2.0 + 1e-9).contains(at)));
        }
    }
}
