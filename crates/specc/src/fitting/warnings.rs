//! Warnings about a successful fit: what the samples cannot show, and the work of other programs
//! during the measurement.

use strata_model::samples::ModelSamples;
use strata_model::set::{Kind, Model, Verdict};
use strata_model::{Samples, count};

use super::Fitting;

/// With fewer held-out samples a verdict means little.
const LEAST_HELD_OUT: usize = 5;

/// Warnings about imported samples: what they do not show.
pub(super) fn unseen(model: &ModelSamples) -> Vec<String> {
    let mut warnings = Vec::new();
    let name = &model.name;
    for (place, column) in model.inputs() {
        let mut values = model.rows.iter().filter_map(|row| row.values.get(place));
        if let Some(first) = values.next()
            && values.all(|value| value == first)
        {
            let input = &column.text;
            warnings.push(format!(
                "model `{name}`: `{input}` was {first} in all samples: nothing is known of its effect, and the model holds \
                 for {input}={first}"
            ));
        }
    }
    let held_out = model.rows.iter().filter(|row| row.verify).count();
    if (1..LEAST_HELD_OUT).contains(&held_out) {
        warnings.push(format!(
            "model `{name}`: {} verified it, which says little: hold out 5 or more",
            count(held_out, "sample", "samples")
        ));
    }
    warnings
}

/// The warnings of models with their names; equal warnings of several models are joined.
pub(super) fn of_several<'a>(warnings: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, warning) in warnings {
        let Some(text) = warning.strip_prefix(&format!("model `{name}`")) else {
            said.push((warning, Vec::new()));
            continue;
        };
        match said.iter_mut().find(|(other, models)| *other == text && !models.contains(&name)) {
            Some((_, models)) => models.push(name),
            None => said.push((text, vec![name])),
        }
    }
    let told = said.into_iter().map(|(text, models)| match models[..] {
        [] => text.to_owned(),
        [only] => format!("model `{only}`{text}"),
        [one, other] => format!("models `{one}` and `{other}`{text}"),
        [one, other, ref more @ ..] => {
            format!("models `{one}`, `{other}` and {}{text}", count(more.len(), "other", "others"))
        }
    });
    told.collect()
}

impl Fitting {
    /// Raises the uncertainty of models whose samples were taken while other programs kept cores
    /// busy that the nodes lacked. On a quiet machine one candidate may be faster by all of that
    /// time, and another, which has no use for the cores, not at all.
    pub(super) fn believe_less(&mut self, samples: &Samples) {
        let part = samples.taken_by_others();
        // Half of the range from no slowdown to a slowdown by all the time taken.
        let deviation = 0.5 * part / (1.0 - part);
        let cores = samples.platform.as_ref().map_or(1, |platform| platform.cores);
        let doubt = format!(
            "other programs kept {:.1} of {} busy while it was measured: on a quiet machine times and choices \
             may differ; calibrate again there",
            samples.busy,
            count(cores, "core", "cores")
        );
        self.doubt(|model| model.kind == Kind::Fitted, &doubt, deviation);
    }

    /// Makes some models doubtful, and adds to the relative deviation of their predictions.
    pub(super) fn doubt(&mut self, is_meant: impl Fn(&Model) -> bool, doubt: &str, deviation: f64) {
        let models = self.set.models.iter_mut().chain(self.fitted.iter_mut().map(|fitted| &mut fitted.model));
        for model in models.filter(|model| is_meant(model)) {
            model.own_error = model.own_error.hypot(deviation);
            if matches!(model.verdict, Verdict::Verified | Verdict::WithinNoise) {
                model.verdict = Verdict::Doubtful;
            }
            model.reason += &format!("; but {doubt}");
            model.doubts.push(doubt.to_owned());
        }
    }
}
