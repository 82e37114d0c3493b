//! Notes on samples of calls made in another way: back to back, or repeated on the same data.

use strata_model::samples::{Comparison, ModelSamples, Samples};

/// One sentence for each such kind of call for which the samples have a comparison.
pub(crate) fn notes(model: &ModelSamples) -> Vec<String> {
    let name = &model.name;
    let hot = model.hot().map(|found| {
        format!(
            "model `{name}`: a call between other work takes {} as long as one that follows another at once{}; \
             `task hot` measures the latter",
            times(&found),
            places(&found)
        )
    });
    let replayed = model.replayed().map(|found| {
        format!(
            "model `{name}`: a call on fresh data takes {} as long as one on the same data again{}",
            times(&found),
            places(&found)
        )
    });
    hot.into_iter().chain(replayed).collect()
}

/// The [`notes`] of all models.
pub(crate) fn all(samples: &Samples) -> impl Iterator<Item = String> {
    samples.models.iter().flat_map(notes)
}

fn times(found: &Comparison) -> String {
    format!("{:.1} times ({:.1} to {:.1})", found.ratio, found.low, found.high)
}

fn places(found: &Comparison) -> String {
    if found.points == found.of {
        String::new()
    } else {
        format!(" at {} of {} points", found.points, found.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_with_their_way_out() {
        let row = |n: u32, notes: &str| format!("Parallel 1e-5 {n} ; at={n} repeats=7 {notes}\n");
        let text = format!(
            "model Parallel n\n{}{}{}Parallel 1e-3 9\n",
            row(1, "hot=2.4,0.2 replayed=1.02,0.01"),
            row(2, "hot=2.4,0.2"),
            row(3, "hot=1.01,0.01")
        );
        let samples = Samples::parse(&text, "s").unwrap();
        let told: Vec<String> = all(&samples).collect();
        assert_eq!(
            told,
            [
                "model `Parallel`: a call between other work takes 2.4 times (1.9 to 2.9) as long as one that follows \
              another at once at 2 of 3 points; `task hot` measures the latter"
            ]
        );
        assert_eq!(Samples::parse(&samples.to_text(), "s").unwrap().models[0].hot(), samples.models[0].hot());
    }
}
