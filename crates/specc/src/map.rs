//! Selection maps: the fastest candidate over two inputs of a library (Brewer 1994, Figs 4-8 and
//! 4-13).

use strata_model::{count, kind_text};
use strata_report::{Axis, Cell, Map};
use strata_select::table::roundness;

use crate::competition::Competition;

/// The most values along an axis.
const MOST: usize = 24;

/// The choices on a grid over the first two inputs that `fixed` does not hold.
///
/// # Errors
/// A message: an input has no range, no input is free, or more than two are.
pub fn compute(competition: &Competition, fixed: &[(String, f64)]) -> Result<Map, String> {
    let names = competition.inputs();
    let held = |name: &String| fixed.iter().find(|(n, _)| n == name).map(|(_, value)| *value);
    let free: Vec<usize> = (0..names.len()).filter(|&i| held(&names[i]).is_none()).collect();
    let (x, y) = match free.as_slice() {
        [] => {
            return Err(format!(
                "all inputs of `{}` are held fixed; leave one or two free",
                competition.name()
            ));
        }
        [x] => (*x, None),
        [x, y] => (*x, Some(*y)),
        [_, _, more @ ..] => {
            let more: Vec<String> = more.iter().map(|&i| format!("{}=VALUE", names[i])).collect();
            return Err(format!("a map has two axes; hold the others fixed: {}", more.join(" ")));
        }
    };
    let axis = |input: usize| {
        let (low, high) = competition.range(input);
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(no_range(&names[input]));
        }
        let mut values = grid(low, high);
        // What round values choose, the others do not.
        for value in values.iter_mut().filter(|value| competition.is_round(input) && roundness(**value) > 0.0)
        {
            *value = if *value < high { *value + 1.0 } else { *value - 1.0 };
        }
        let kinds = competition.kinds().get(&names[input]).cloned().unwrap_or_default();
        Ok(Axis { name: names[input].clone(), values, names: kinds })
    };
    let x_axis = axis(x)?;
    let y_axis = match y {
        Some(y) => axis(y)?,
        None => Axis { name: String::new(), values: vec![0.0], names: Vec::new() },
    };
    let mut inputs: Vec<f64> = names.iter().map(|n| held(n).unwrap_or(0.0)).collect();
    let mut cells = Vec::new();
    for &y_value in &y_axis.values {
        let mut row = Vec::new();
        for &x_value in &x_axis.values {
            inputs[x] = x_value;
            if let Some(y) = y {
                inputs[y] = y_value;
            }
            let choice = competition.choose(&inputs, None).map_err(|e| e.to_string())?;
            let seconds = choice.predicted.map(|predicted| predicted.seconds.get());
            row.push(Cell {
                winner: choice.index,
                parameters: choice.parameters.to_vec(),
                tied: competition.tied(&inputs, &choice),
                seconds: seconds.ok_or_else(|| choice.reason().to_string()),
                odds: competition.odds(&inputs, &choice),
            });
        }
        cells.push(row);
    }
    let text = |name: &str, value: f64| kind_text(competition.kinds(), name, value);
    let held: Vec<String> =
        fixed.iter().map(|(name, value)| format!("{name} = {}", text(name, *value))).collect();
    let nodes = count(competition.nodes(), "node", "nodes");
    let candidates = competition.candidates();
    let parameters =
        candidates.iter().map(|row| row.declared.iter().map(|p| p.name.to_owned()).collect()).collect();
    Ok(Map {
        library: competition.name().to_owned(),
        fixed: std::iter::once(nodes).chain(held).collect::<Vec<_>>().join(", "),
        x: x_axis,
        y: y_axis,
        candidates: candidates.iter().map(|row| row.name.to_owned()).collect(),
        parameters,
        cells,
        crossings: Vec::new(),
    })
}

/// The message for an input without a range.
pub(crate) fn no_range(input: &str) -> String {
    format!("no model limits `{input}`, so there is no range to draw; hold it fixed")
}

/// Values from `low` to `high`: powers of two if the range spans several, else evenly spaced whole
/// numbers.
pub(crate) fn grid(low: f64, high: f64) -> Vec<f64> {
    let mut values = Vec::new();
    if low >= 0.0 && high >= 16.0 * low.max(1.0) {
        let octaves = (high / low.max(1.0)).log2();
        let step = (octaves / (MOST - 2) as f64).ceil().max(1.0);
        let mut exponent = low.max(1.0).log2().ceil();
        while exponent.exp2() <= high {
            values.push(exponent.exp2());
            exponent += step;
        }
    } else {
        // The step is a power of two, so that the values are round: 1, 2, 4, 8, …
        let step = ((high - low) / (MOST - 1) as f64).max(1.0).log2().ceil().exp2();
        let mut value = low.ceil();
        while value <= high && values.len() < MOST {
            values.push(value);
            value += step;
        }
    }
    if values.is_empty() {
        values.push(low);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::grid;

    #[test]
    fn wide_ranges_go_by_powers_of_two_and_narrow_ones_evenly() {
        assert_eq!(grid(8.0, 64.0), (2..=16).map(|v| f64::from(4 * v)).collect::<Vec<_>>());
        assert_eq!(grid(16.0, 1024.0), [16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0]);
        assert_eq!(grid(1.0, 4.0), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(grid(0.25, 0.5), [0.25]);
        assert_eq!(grid(7.0, 7.0), [7.0]);
        for (low, high) in [(1.0, 1e300), (0.0, 1e6), (5.0, 70.0), (-3.0, 90.0)] {
            let values = grid(low, high);
            assert!((1..=24).contains(&values.len()), "{low}..{high}: {}", values.len());
            assert!(values.iter().all(|v| (low..=high).contains(v)));
        }
    }
}
