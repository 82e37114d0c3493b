//! What comes of calibrating libraries, for the bench `calibrate`.

use std::collections::BTreeMap;
use std::fmt;

use strata_model::set::{Kind, Verdict};
use strata_model::{ModelSet, count};
use strata_screen::wrapped;

/// The columns of what is told at the end.
const WIDTH: usize = 80;

/// What came of the libraries.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Those with a model that did not fail.
    pub calibrated: usize,
    /// The models' names by their verdicts.
    pub verdicts: BTreeMap<String, Vec<String>>,
    /// Those that are measured elsewhere, with the machines' words.
    pub left_out: Vec<(String, String)>,
    /// Those without.
    pub stopped: Vec<String>,
}

impl Outcome {
    /// Takes a library's set of models, if there is one; false if it is not calibrated, also where all of
    /// its models failed their verification.
    pub fn take(&mut self, folder: &str, models: Option<&str>) -> bool {
        let set = models.and_then(|text| ModelSet::read(text).ok());
        let fitted = set.iter().flat_map(|set| &set.models).filter(|model| model.kind == Kind::Fitted);
        let mut any =
            set.as_ref().is_some_and(|set| set.models.iter().all(|model| model.kind != Kind::Fitted));
        for model in fitted {
            any |= model.verdict != Verdict::Failed;
            self.verdicts.entry(model.verdict.to_string()).or_default().push(model.name.clone());
        }
        if any {
            self.calibrated += 1;
        } else {
            self.stopped.push(folder.to_owned());
        }
        any
    }
}

/// How many libraries and models, their verdicts, and by name what failed, stopped or was left out.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models = self.verdicts.values().map(Vec::len).sum();
        let libraries = count(self.calibrated, "library", "libraries");
        writeln!(f, "\n{libraries}, {} calibrated", count(models, "model", "models"))?;
        for (verdict, names) in &self.verdicts {
            let failed = *verdict == Verdict::Failed.to_string();
            let which = if failed { format!(": {}", names.join(", ")) } else { String::new() };
            writeln!(f, "{}", wrapped(&format!("{} {verdict}{which}", names.len()), WIDTH, "  "))?;
        }
        for (folder, machines) in &self.left_out {
            writeln!(f, "left out: {folder} is measured on {machines}")?;
        }
        for folder in &self.stopped {
            writeln!(f, "not calibrated: {folder}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    fn set(verdicts: &[&str]) -> String {
        let model = |(at, verdict): (usize, &&str)| {
            let term =
                "{ term = \"1\", coefficient = 1e-6, std_error = 0.0, half_width = 0.0, relevant = true }";
            format!(
                "[[models]]\nname = \"M{at}\"\ninputs = []\nterms = [{term}]\ncovariance = [[0.0]]\nverdict = \"{verdict}\"\n"
            )
        };
        let models: String = verdicts.iter().enumerate().map(model).collect();
        format!("strata-models = 1\n{models}")
    }

    #[test]
    fn a_library_all_of_whose_models_failed_is_not_calibrated() {
        let mut outcome = Outcome::default();
        assert!(outcome.take("specs/a", Some(&set(&["failed", "verified"]))));
        assert!(!outcome.take("specs/b", Some(&set(&["failed", "failed"]))));
        assert!(!outcome.take("specs/c", None) && !outcome.take("specs/d", Some("no models")));
        assert_eq!((outcome.calibrated, outcome.stopped.len()), (1, 3));
        let told = outcome.to_string();
        let said = ["1 library, 4 models calibrated", "3 failed: M0, M0, M1", "not calibrated: specs/b"];
        assert!(said.iter().all(|line| told.contains(line)), "{told}");
    }
}
