//! Costs of kernels: models of a set, compiled for evaluation.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use strata_model::set::{Nodes, SetError};
use strata_model::{ModelSet, Program};

/// The built-in kernels: `specs/kernels`, measured on one thread; written by `cargo xtask codegen`.
const BUILT_IN: &str = include_str!("kernels.toml");

/// A set of kernels.
#[derive(Debug)]
pub(crate) struct Kernels {
    /// The identity of the set of models.
    digest: String,
    all: BTreeMap<String, Kernel>,
}

#[derive(Debug)]
struct Kernel {
    inputs: Vec<String>,
    /// The measured range of each input.
    ranges: Vec<(f64, f64)>,
    program: Program,
}

impl PartialEq for Kernels {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Kernels {
    pub(crate) fn built_in() -> Arc<Self> {
        static KERNELS: OnceLock<Arc<Kernels>> = OnceLock::new();
        let none = || Self { digest: String::new(), all: BTreeMap::new() };
        // A test ensures that they can be read.
        let read = || ModelSet::read(BUILT_IN).and_then(|set| Self::new(&set)).unwrap_or_else(|_| none());
        Arc::clone(KERNELS.get_or_init(|| Arc::new(read())))
    }

    pub(crate) fn new(set: &ModelSet) -> Result<Self, SetError> {
        let resolved = set.resolve()?;
        let mut all = BTreeMap::new();
        for model in &set.models {
            let content =
                |message: String| SetError::Content { place: format!("model `{}`", model.name), message };
            let inputs: Vec<String> = model.inputs.iter().map(|input| input.name.clone()).collect();
            let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
            // Local work is the same for any number of nodes.
            let formula = resolved.formula(&model.name);
            let formula = formula.ok_or_else(|| content("it has no expression".to_owned()))?;
            let expression = Nodes::known(formula.nodes.min).fix(&formula.mean);
            let program =
                Program::compile(&expression, &names).map_err(|error| content(error.to_string()))?;
            let ranges = model.inputs.iter().map(|input| (input.min, input.max)).collect();
            all.insert(model.name.clone(), Kernel { inputs, ranges, program });
        }
        Ok(Self { digest: set.digest(), all })
    }

    /// The time of a kernel on the machine where it was measured, in seconds. The error names it
    /// and lists the existing ones.
    pub(super) fn seconds(&self, name: &str, inputs: &[f64]) -> Result<f64, String> {
        let Some(kernel) = self.all.get(name) else {
            let known: Vec<&str> = self.all.keys().map(String::as_str).collect();
            return Err(format!(
                "there is no kernel `{name}`: there are {}; STRATA_ON=sim:…,kernels=FILE takes others, calibrated on one thread",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            ));
        };
        kernel.seconds(inputs).map_err(|reason| format!("kernel `{name}` {reason}"))
    }
}

impl Kernel {
    fn seconds(&self, inputs: &[f64]) -> Result<f64, String> {
        if inputs.len() != self.inputs.len() {
            let (count, names) = (self.inputs.len(), self.inputs.join(", "));
            return Err(format!("has {count} inputs ({names}), not {}", inputs.len()));
        }
        let seconds = self.program.eval(inputs);
        if seconds.is_finite() && seconds > 0.0 {
            return Ok(seconds);
        }
        if inputs.iter().any(|input| !input.is_finite()) {
            return Err(format!("cannot have the inputs {inputs:?}"));
        }
        let measured = |(input, (least, most)): (&f64, &(f64, f64))| input.clamp(*least, *most);
        let nearest: Vec<f64> = inputs.iter().zip(&self.ranges).map(measured).collect();
        let seconds = self.program.eval(&nearest);
        if seconds.is_finite() {
            Ok(seconds.max(0.0))
        } else {
            Err(format!("takes {seconds} s for {inputs:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::set::{Input, Model, Term};

    /// 2·x − 3·y − 1 µs, measured for x from 8 to 16 and y from 1 to 4.
    fn set() -> ModelSet {
        let input = |name: &str, min, max| Input { name: name.to_owned(), min, max, integer: true };
        let term = |term: &str, coefficient| Term {
            term: term.to_owned(),
            coefficient,
            std_error: 0.0,
            half_width: 0.0,
            relevant: true,
        };
        let model = Model {
            name: "Fold".to_owned(),
            inputs: vec![input("x", 8.0, 16.0), input("y", 1.0, 4.0)],
            terms: vec![term("x", 2e-6), term("y*P", -3e-6), term("1", -1e-6)],
            nodes: Nodes::known(1),
            ..Model::default()
        };
        ModelSet { models: vec![model], ..ModelSet::default() }
    }

    #[test]
    fn sizes_beyond_what_was_measured_are_no_error() {
        let kernels = Kernels::new(&set()).unwrap();
        let microseconds = |x, y| (kernels.seconds("Fold", &[x, y]).unwrap() * 1e6).round();
        assert_eq!(microseconds(10.0, 2.0), 13.0);
        assert_eq!(microseconds(1000.0, 1.0), 1996.0);
        // Negative: uses the nearest measured point, x = 8 and y = 1.
        assert_eq!(microseconds(0.0, 0.0), 12.0);
        assert_eq!(microseconds(8.0, 100.0), 3.0);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let kernels = Kernels::new(&set()).unwrap();
        let error = |name, inputs: &[f64]| kernels.seconds(name, inputs).unwrap_err();
        assert_eq!(
            error("Spindle", &[1.0]),
            "there is no kernel `Spindle`: there are Fold; STRATA_ON=sim:…,kernels=FILE takes others, calibrated on one thread"
        );
        assert_eq!(error("Fold", &[1.0]), "kernel `Fold` has 2 inputs (x, y), not 1");
        assert!(error("Fold", &[f64::NAN, 1.0]).contains("NaN"));
    }

    #[test]
    fn the_built_in_kernels_cost_something_at_any_size() {
        let kernels = Kernels::built_in();
        let names: Vec<&str> = kernels.all.keys().map(String::as_str).collect();
        let expected =
            ["BinarySearch", "Clear", "Copy", "Histogram", "LocalSort", "Pack", "Scatter", "StencilSweep"];
        assert_eq!(names, expected);
        for (name, kernel) in &kernels.all {
            for exponent in 0..24 {
                let size = f64::from(1 << exponent);
                for other in [1.0, 2.0, 16.0, 64.0] {
                    let inputs: Vec<f64> = [size, other].into_iter().take(kernel.inputs.len()).collect();
                    let seconds = kernels.seconds(name, &inputs).unwrap();
                    assert!(
                        seconds > 0.0 && seconds < size * other * 1e-6 + 1e-3,
                        "{name}{inputs:?}: {seconds}"
                    );
                }
            }
        }
    }
}
