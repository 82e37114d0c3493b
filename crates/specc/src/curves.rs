//! The predictions of all candidates of a library along each of its inputs.

use strata_fit::Fitted;
use strata_model::kind_text;
use strata_report::{Curve, Curves, Measured};

use crate::competition::Competition;
use crate::map::grid;
use crate::thresholds::places;

/// The curves along each input whose range has more than one value; the other inputs are held in
/// the middle of theirs. Empty if any input has no range.
pub fn compute(competition: &Competition, fitted: &[Fitted]) -> Vec<Curves> {
    let ranges: Vec<(f64, f64)> = (0..competition.inputs().len()).map(|i| competition.range(i)).collect();
    if !ranges.iter().all(|(low, high)| low.is_finite() && high.is_finite() && low <= high) {
        return Vec::new();
    }
    let values: Vec<Vec<f64>> = ranges.iter().map(|(low, high)| grid(*low, *high)).collect();
    let middle: Vec<f64> = values.iter().map(|v| v[v.len() / 2]).collect();
    // Nothing lies between the names of a kind.
    let is_kind = |input: usize| competition.kinds().contains_key(&competition.inputs()[input]);
    let along = (0..values.len()).filter(|input| values[*input].len() > 1 && !is_kind(*input));
    let drawn = |input: usize| to_the_ends(&values[input], ranges[input]);
    along.map(|input| along_input(competition, fitted, input, &drawn(input), &middle)).collect()
}

/// Rising values with the ends of their range added, because samples reach the ends.
fn to_the_ends(values: &[f64], (low, high): (f64, f64)) -> Vec<f64> {
    let inside = values.iter().copied().filter(|value| low < *value && *value < high);
    std::iter::once(low).chain(inside).chain([high]).collect()
}

fn along_input(
    competition: &Competition,
    fitted: &[Fitted],
    input: usize,
    values: &[f64],
    middle: &[f64],
) -> Curves {
    let at = |value: f64| {
        let mut inputs = middle.to_vec();
        inputs[input] = value;
        competition.predictions(&inputs)
    };
    let predicted: Vec<Vec<_>> = values.iter().map(|value| at(*value)).collect();
    let curve = |(candidate, row): (usize, &strata_select::Row)| {
        let points = values.iter().zip(&predicted).filter_map(|(value, all)| {
            let predicted = all.get(candidate)?.as_ref()?;
            Some((*value, predicted.seconds.get(), predicted.half_width.get()))
        });
        let measured = || {
            let (model, arguments) = competition.arguments(candidate)?;
            let place = arguments.iter().position(|argument| *argument == Some(input))?;
            let fitted = fitted.iter().find(|fitted| fitted.model.name == model)?;
            let near = |r: &strata_fit::Residual| {
                let value = *r.inputs.get(place)?;
                let here = at(value).get(candidate)?.as_ref()?.seconds.get();
                let seconds = here * r.observed / r.predicted;
                let told = strata_report::told(&fitted.model, competition.kinds(), r);
                Some(Measured { value, seconds, verify: r.verify, told })
            };
            Some(fitted.residuals.iter().filter_map(near).collect())
        };
        Curve {
            candidate: row.name.to_owned(),
            predicted: points.collect(),
            measured: measured().unwrap_or_default(),
        }
    };
    let names = competition.inputs();
    let others = (0..names.len()).filter(|other| *other != input);
    let others: Vec<(String, f64)> = others.map(|other| (names[other].clone(), middle[other])).collect();
    let text = |name: &str, value: f64| kind_text(competition.kinds(), name, value);
    let held: Vec<String> =
        others.iter().map(|(name, value)| format!("{name} = {}", text(name, *value))).collect();
    let crossings = places::compute(competition, &others, Some(&names[input]));
    Curves {
        library: competition.name().to_owned(),
        input: names[input].clone(),
        held: held.join(", "),
        curves: competition.candidates().iter().enumerate().map(curve).collect(),
        crossings: crossings.map_or(Vec::new(), |crossings| {
            // Curves cross where the candidate changes, not where its parameters do.
            crossings.marks(competition, &|from, to| from.candidate != to.candidate)
        }),
        caption: None,
    }
}
