//! `STRATA_PIN`: of libraries without models, and of libraries that the program never used.

use strata_select::{Pin, choice::Pins, say, table::closest};

use super::SelectError;
use crate::Node;

/// The libraries that this node has used.
#[derive(Default)]
struct Asked(Vec<&'static str>);

impl Node {
    /// Records that this program used a library.
    pub(super) fn asks(&mut self, library: &'static str) {
        let asked = &mut self.local::<Asked>().0;
        if !asked.contains(&library) {
            asked.push(library);
        }
    }

    /// The candidate, one of these, that `STRATA_PIN` names for a library without models; `None` if
    /// it is not pinned.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// # Machine::threads(1)?.run(|node| {
    /// let in_words = node.pinned("output", &["text", "binary"])? == Some("text");
    /// # assert!(!in_words); Ok(()) })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Local, with equal arguments; the setting is node 0's.
    ///
    /// # Errors
    /// If `STRATA_PIN` cannot be parsed, or pins something else for this library.
    pub fn pinned<'c>(
        &mut self,
        library: &'static str,
        candidates: &[&'c str],
    ) -> Result<Option<&'c str>, SelectError> {
        self.asks(library);
        let Some(text) = self.setting("STRATA_PIN") else { return Ok(None) };
        let pins = Pins::parse(text).map_err(|error| SelectError::Pin(error.to_string()))?;
        let Some(pin) = pins.meant_for(library) else { return Ok(None) };
        let reason = if pin.library != library {
            format!("pins a library that is not there: did you mean `{library}`?")
        } else if !pin.parameters.is_empty() {
            "gives parameters, and this library's candidates have none".to_owned()
        } else if let Some(known) = candidates.iter().find(|known| **known == pin.candidate) {
            return Ok(Some(known));
        } else {
            let meant = closest(pin.candidate, candidates.iter().copied());
            let meant = meant.map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"));
            format!(
                "pins a candidate that `{library}` does not have{meant}; it has {}",
                candidates.join(", ")
            )
        };
        Err(SelectError::Choose(format!("`{pin}` {reason}")))
    }

    /// Reports on node 0 the pins of libraries that were never used.
    pub(crate) fn report_pins(&mut self) {
        let asked = std::mem::take(&mut self.local::<Asked>().0);
        let Some(text) = self.setting("STRATA_PIN").filter(|_| self.rank() == 0) else { return };
        let libraries = if asked.is_empty() { "none".to_owned() } else { asked.join(", ") };
        match Pins::parse(text) {
            // A used library has already rejected it.
            Err(error) if asked.is_empty() => say!("strata: STRATA_PIN: {error}"),
            Err(_) => {}
            Ok(pins) => {
                // Copies, strided blocks and local sorts read their pins themselves, on each node.
                let local = ["copy", "copy_strided", "local_sort"];
                let used = |pin: &Pin<'_>| local.contains(&pin.library) || asked.contains(&pin.library);
                for pin in pins.iter().filter(|pin| !used(pin)) {
                    let meant = closest(pin.library, asked.iter().copied().chain(local));
                    let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                    say!(
                        "strata: STRATA_PIN: `{pin}` had no effect: this program chose nothing of library \
                         `{}`; it chose of {libraries}{meant}",
                        pin.library
                    );
                }
            }
        }
    }
}
