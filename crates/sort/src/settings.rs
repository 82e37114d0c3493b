//! What decides besides the problem: a pin, and models; from options or from node 0's environment.

use crate::Options;
use crate::error::SortError;
use crate::library::{LIBRARY, Models, hash_of};
use strata_runtime::Node;
use strata_select::Pins;

/// What decides besides the problem.
pub(crate) struct Settings<'a> {
    pub(crate) pin: Option<String>,
    pub(crate) models: Option<&'a Models>,
}

impl<'a> Settings<'a> {
    /// Options go before node 0's environment.
    pub(crate) fn read(node: &Node, options: &'a Options) -> Result<Self, SortError> {
        let pin = match (&options.pin, node.setting("STRATA_PIN")) {
            (Some(pin), _) => Some(pin.clone()),
            (None, Some(text)) => {
                let pins = Pins::parse(text).map_err(|error| SortError::Pin(error.to_string()))?;
                pins.meant_for(LIBRARY).map(|pin| pin.to_string())
            }
            (None, None) => None,
        };
        let models = match (&options.models, node.setting("STRATA_MODELS")) {
            (Some(models), _) => Some(models),
            (None, Some(path)) => Some(Models::read_once(path)?),
            (None, None) => Models::builtin(),
        };
        models.map_or(Ok(()), |models| models.check(node))?;
        Ok(Self { pin, models })
    }

    /// A number that is equal on all nodes if they will choose alike.
    pub(crate) fn word(&self) -> u64 {
        let pin = self.pin.as_ref().map_or(0, |pin| hash_of(pin));
        // One more, so that no node in good order says what one in trouble says.
        (self.models.map_or(0, Models::hash).rotate_left(1) ^ pin) | 1
    }
}
