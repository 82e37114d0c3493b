//! Choices that were timed against other ways: what each of them lost.

use strata_model::percent;

use crate::html::{Escaped, Page};
use crate::marks::{Marks, Place};

/// A loss from here on is marked as one.
const LOST: f64 = 0.05;

/// A choice that was timed in turns with other ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The library.
    pub library: String,
    /// Its inputs there.
    pub inputs: Vec<(String, f64)>,
    /// The same as text, with the names of kinds.
    pub at: String,
    /// What was chosen, as it is pinned.
    pub chosen: String,
    /// The time of the choice over that of the fastest way, less 1.
    pub loss: f64,
}

impl Judged {
    pub(crate) fn value(&self, input: &str) -> Option<f64> {
        self.inputs.iter().find(|(name, _)| name == input).map(|(_, value)| *value)
    }

    /// The loss as text; a negative one is noise.
    fn lost(&self) -> String {
        percent(self.loss.max(0.0))
    }

    /// Marks it in a plot.
    pub(crate) fn mark(&self, marks: &mut Marks, place: Place) {
        let class = if self.loss < LOST { "judged" } else { "lost" };
        let told = format!("{}: choosing {} lost {}", self.at, self.chosen, self.lost());
        marks.square(place, class, &told);
    }
}

/// The choices of a library.
pub(crate) fn of<'a>(judged: &'a [Judged], library: &str) -> Vec<&'a Judged> {
    judged.iter().filter(|one| one.library == library).collect()
}

/// What the marks are, as the end of a caption; empty without any.
pub(crate) fn caption(judged: &[&Judged]) -> String {
    if judged.is_empty() {
        return String::new();
    }
    format!(
        " Squares are choices that were timed against other ways, filled if they lost {} or more.",
        percent(LOST)
    )
}

/// The choices of every library as tables, the greatest losses first.
pub(crate) fn tables(page: &mut Page, judged: &[Judged]) {
    let mut libraries: Vec<&str> = judged.iter().map(|one| one.library.as_str()).collect();
    libraries.dedup();
    for library in libraries {
        let mut judged = of(judged, library);
        judged.sort_by(|a, b| b.loss.total_cmp(&a.loss));
        page.add(format_args!(
            "<details>\n<summary>What each choice of {} lost</summary>\n",
            Escaped(library)
        ));
        page.begin_table(
            &format!("{library}: choices timed against other ways, the greatest loss first"),
            &["Inputs", "Choice", "#Loss"],
        );
        for one in judged {
            page.add(format_args!(
                "<tr><th scope=\"row\">{}</th><td><code>{}</code></td><td class=\"n\">{}</td></tr>\n",
                Escaped(&one.at),
                Escaped(&one.chosen),
                Escaped(&one.lost())
            ));
        }
        page.end_table();
        page.add(format_args!("</details>\n"));
    }
}
