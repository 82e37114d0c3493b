//! Shared parts of messages: refused names, and counts.

use strata_select::table::closest;

/// The end of a message that refuses `name`: `` (did you mean `keys`?)`` if one of `known`
/// resembles it, otherwise empty.
///
/// ```
/// use strata_model::did_you_mean;
/// assert_eq!(did_you_mean("kyes", ["keys", "width"]), " (did you mean `keys`?)");
/// assert_eq!(did_you_mean("oversample", ["keys", "width"]), "");
/// ```
#[must_use]
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    closest(name, known).map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"))
}

/// A number with the right form of its noun.
///
/// ```
/// use strata_model::count;
/// assert_eq!(count(1, "node", "nodes"), "1 node");
/// assert_eq!(count(4, "node", "nodes"), "4 nodes");
/// ```
#[must_use]
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
