//! TOML to model set.

use serde::{Deserialize, Deserializer};

use super::{Kind, ModelSet, SetError, VERSION};

const KEY: &str = "strata-models";

impl ModelSet {
    /// Reads a model set.
    ///
    /// # Errors
    /// Text that is not TOML or not of this form (with line and column), and sets of another
    /// version. Whether the content makes sense (names, expressions, cycles) is for
    /// [`resolve`](Self::resolve) to say.
    pub fn read(text: &str) -> Result<Self, SetError> {
        let form =
            |error: toml::de::Error| SetError::Form { message: error.to_string().trim_end().to_owned() };
        let table: toml::Table = toml::from_str(text).map_err(form)?;
        match table.get(KEY) {
            Some(version) if version.as_integer() == Some(i64::from(VERSION)) => {}
            Some(version) => return Err(SetError::Version { found: version.to_string() }),
            None => {
                return Err(SetError::Form { message: format!("the line `{KEY} = {VERSION}` is missing") });
            }
        }
        // Once more from the text, not from the table: only so do errors know their place.
        toml::from_str(text).map_err(form)
    }
}

/// `expression = "…"` is a factored model, nothing a fitted one.
pub(super) fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    String::deserialize(deserializer).map(|expression| Kind::Factored { expression })
}
