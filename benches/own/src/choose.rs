//! Choices by the models of a file, as `STRATA_MODELS` has them, without a second build.

use std::path::Path;

use strata_model::{LibraryModels, ModelSet};
use strata_select::{Question, Row, choose_among};

use crate::library::{Entry, Way};

/// Chooses for one library.
pub struct Chooser {
    models: LibraryModels,
    rows: Vec<Row>,
    name: &'static str,
    /// Of each candidate of the file, its index in the library.
    places: Vec<usize>,
    verdicts: Vec<String>,
}

/// A choice, and what it says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// What was chosen.
    pub way: Way,
    /// The probability that it is the fastest.
    pub claimed: Option<f64>,
    /// The time that it is predicted to take.
    pub predicted: Option<f64>,
}

impl Chooser {
    /// By the models in a file.
    ///
    /// # Errors
    /// The file cannot be read, or is for another library.
    pub fn read(entry: &Entry, file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let set = ModelSet::read(&text).map_err(|error| error.to_string())?;
        let resolved = set.resolve().map_err(|error| error.to_string())?;
        let models = resolved.library(entry.name).ok_or_else(|| format!("no library `{}`", entry.name))?;
        let place = |name: &str| {
            let found = entry.candidates.iter().position(|candidate| candidate.name == name);
            found.ok_or_else(|| format!("`{name}` is no candidate of `{}`", entry.name))
        };
        let names = || models.candidates().iter().map(|candidate| candidate.name.as_str());
        let places = names().map(place).collect::<Result<Vec<_>, _>>()?;
        let rows = places.iter().enumerate().map(|(index, place)| {
            let of = models.parameters(index).iter();
            let of = of.map(|range| range.declared(range.name.clone().leak()));
            Row::new(entry.candidates[*place].name, of.collect::<Vec<_>>().leak())
        });
        let of = set.library(entry.name).map_or(&[][..], |library| &library.candidates);
        let verdict = |name: &String| set.model(name).map(|model| model.verdict.to_string());
        let verdicts = of.iter().filter_map(|candidate| verdict(&candidate.model)).collect();
        Ok(Self { rows: rows.collect(), models: models.clone(), name: entry.name, places, verdicts })
    }

    /// What the models choose for a problem.
    ///
    /// # Errors
    /// In words, those of [`choose_among`].
    pub fn choose(&self, x: &[usize]) -> Result<Chosen, String> {
        let inputs: Vec<f64> = x.iter().map(|value| *value as f64).collect();
        let question = Question::new(1, &inputs);
        let library = (self.name, "");
        let choice = choose_among(library, self.rows.clone(), &self.models, question, &|_| true);
        let choice = choice.map_err(|error| error.to_string())?;
        let candidate = self.places.get(choice.index).copied().unwrap_or(choice.index);
        Ok(Chosen {
            way: Way { candidate, parameter: choice.parameters.as_slice().first().copied() },
            claimed: choice.odds(&self.models, 1, &inputs).map(|odds| odds.fastest),
            predicted: choice.predicted.map(|predicted| predicted.seconds.get()),
        })
    }

    /// The verdicts on the candidates' models, in their order.
    pub fn verdicts(&self) -> String {
        self.verdicts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{Candidate, Input, Library};

    struct Matmul;

    impl Library for Matmul {
        const NAME: &'static str = "matmul";
        const OLD: &'static str = "naive";
        const INPUTS: &'static [Input] = &[Input::new("n", 4, 362)];
        // In another order than in the file.
        const CANDIDATES: &'static [Candidate] =
            &[Candidate::over("blocked", 8, 128), Candidate::new("naive"), Candidate::new("transposed")];
        type Problem = ();
        type Answer = ();

        fn problem(_: &[usize], _: u64) {}

        fn solve((): &mut (), _: Way) {}

        fn numbers((): &(), (): &()) -> Vec<f64> {
            Vec::new()
        }

        fn old(_: &[usize]) -> Way {
            Way::of(1)
        }
    }

    #[test]
    fn models_of_a_file_choose() {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-library/models/models.toml");
        let entry = Entry::of::<Matmul>();
        let chooser = Chooser::read(&entry, &file).unwrap();
        let chosen = chooser.choose(&[300]).unwrap();
        assert_eq!(entry.candidates[chosen.way.candidate].name, "blocked");
        assert!(chosen.way.parameter.is_some_and(|block| (8..=128).contains(&block)));
        assert!(chosen.claimed.is_some_and(|claimed| (0.0..=1.0).contains(&claimed)));
        assert!(chosen.predicted.is_some_and(|seconds| seconds > 0.0));
        assert_eq!(chooser.verdicts().split(", ").count(), 3);
        let other = Entry { name: "quick", ..entry };
        assert!(Chooser::read(&other, &file).is_err());
    }
}
