//! Which schedule for an all-to-all: by models that were measured on this machine.

use super::Schedule;
use crate::node::Node;
use strata_model::set::{SetError, Verdict};
use strata_model::{LibraryModels, ModelSet, Prediction};
use strata_select::{Candidate, Choice, ChooseError, Pins, Row, Source as _, choose};

/// The name of the library in `specs/strata`, in pins and in explanations.
const LIBRARY: &str = "all_to_all";

/// Models of the time of each [`Schedule`], from a model set that `specc calibrate specs/strata` wrote.
#[derive(Clone, Debug)]
pub struct Schedules(LibraryModels);

impl Schedules {
    /// The models of the library `all_to_all` over `bytes` in a set.
    ///
    /// # Participation
    /// Local; the nodes of a team have to take equal sets.
    ///
    /// # Errors
    /// [`SetError`] where the set has no such library, or its models do not hold together.
    pub fn from_set(set: &ModelSet) -> Result<Self, SetError> {
        let missing = |what: &str| SetError::Content {
            place: format!("library `{LIBRARY}`"),
            message: format!("{what}; calibrate with `specc calibrate specs/strata`"),
        };
        let library = set.library(LIBRARY).ok_or_else(|| missing("the set does not have it"))?;
        if library.inputs != ["bytes"] {
            return Err(missing("its one input has to be `bytes`"));
        }
        Ok(Self(LibraryModels::new(&set.resolve()?, library)?))
    }

    /// The schedule with the least predicted time for blocks of `bytes` from each node to each, and why. Where no model covers
    /// that, it is the transport's own. `STRATA_PIN=all_to_all=barriers` fixes it.
    ///
    /// # Participation
    /// Local: equal on all nodes for equal `bytes` and models.
    ///
    /// # Errors
    /// [`ChooseError`] where the pin names no schedule.
    pub fn choose<'n>(
        &self,
        node: &'n Node,
        bytes: usize,
    ) -> Result<(Schedule, Choice<[Row; 4]>), ChooseError<'n, [Row; 4]>> {
        let pins = node.setting("STRATA_PIN").and_then(|text| Pins::parse(text).ok()).unwrap_or_default();
        let question = Question { models: &self.0, nodes: node.size(), bytes: bytes as f64 };
        let candidates: [&dyn Candidate<Question<'_>, ()>; 4] =
            [&Schedule::Library, &Schedule::Free, &Schedule::Barriers, &Schedule::Interleaved];
        let choice = choose(LIBRARY, &candidates, &question, pins.get(LIBRARY))?;
        let order = [Schedule::Library, Schedule::Free, Schedule::Barriers, Schedule::Interleaved];
        Ok((order[choice.index], choice))
    }
}

/// What is asked of the models.
struct Question<'a> {
    models: &'a LibraryModels,
    nodes: usize,
    bytes: f64,
}

impl Candidate<Question<'_>, ()> for Schedule {
    fn name(&self) -> &'static str {
        match self {
            Self::Barriers => "barriers",
            Self::Free => "free",
            Self::Interleaved => "interleaved",
            Self::Library => "library",
        }
    }

    fn seconds(&self, question: &Question<'_>, _: &[i64]) -> Option<f64> {
        let Question { models, nodes, bytes } = question;
        models.seconds(models.candidate(self.name())?, *nodes, &[*bytes], &[])
    }

    fn predict(&self, question: &Question<'_>, _: &[i64]) -> Option<Prediction> {
        let Question { models, nodes, bytes } = question;
        models.predict(models.candidate(self.name())?, *nodes, &[*bytes], &[])
    }

    fn verdict(&self, question: &Question<'_>) -> Verdict {
        let models = question.models;
        models.candidate(self.name()).map_or(Verdict::Unverified, |candidate| models.verdict(candidate))
    }

    fn run(&self, (): (), _: &[i64]) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    /// Library is cheap to begin and dear by the byte; `free` the other way round; the others are not modelled.
    const SET: &str = r#"
strata-models = 1
[[models]]
name = "L"
inputs = [{ name = "bytes", min = 8.0, max = 100000.0, integer = true }]
terms = [{ term = "1", coefficient = 1e-6, std_error = 0.0, half_width = 0.0, relevant = true },
         { term = "bytes", coefficient = 2e-9, std_error = 0.0, half_width = 0.0, relevant = true }]
covariance = [[0.0, 0.0], [0.0, 0.0]]
[[models]]
name = "F"
inputs = [{ name = "bytes", min = 8.0, max = 100000.0, integer = true }]
terms = [{ term = "1", coefficient = 2e-6, std_error = 0.0, half_width = 0.0, relevant = true },
         { term = "bytes", coefficient = 1e-9, std_error = 0.0, half_width = 0.0, relevant = true }]
covariance = [[0.0, 0.0], [0.0, 0.0]]
[[libraries]]
name = "all_to_all"
inputs = ["bytes"]
candidates = [
    { name = "free", model = "F", arguments = ["bytes"], parameters = [], requires = [] },
    { name = "library", model = "L", arguments = ["bytes"], parameters = [], requires = [] },
]
"#;

    #[test]
    fn the_fastest_by_the_models_is_taken_and_the_transports_own_where_there_are_none() {
        let schedules = Schedules::from_set(&ModelSet::read(SET).unwrap()).unwrap();
        let taken = Machine::threads(2).unwrap().run(|node| {
            let take = |bytes| schedules.choose(node, bytes).unwrap().0;
            Ok([take(100), take(50_000), take(1 << 30)])
        });
        let wanted = [Schedule::Library, Schedule::Free, Schedule::Library];
        assert_eq!(taken.unwrap(), [wanted; 2]);
    }

    #[test]
    fn a_set_without_the_library_says_how_to_get_one() {
        let error = Schedules::from_set(&ModelSet::default()).unwrap_err().to_string();
        assert!(error.contains("all_to_all") && error.contains("specc calibrate specs/strata"), "{error}");
    }
}
