//! Commands by their names of earlier versions.

use std::ffi::OsString;

use strata_screen::tell;

/// Earlier names of commands, with those of today and the option that goes with them.
const RENAMED: [(&str, &str, Option<&str>); 8] = [
    ("crossovers", "thresholds", None),
    ("fmt", "check", Some("--fmt")),
    ("map", "show", None),
    ("predict", "choose", None),
    ("profile", "calibrate", Some("--only-samples")),
    ("race", "compare", Some("--run")),
    ("regret", "check", None),
    ("verify", "check", None),
];

/// The arguments of this process, with the name of the command at `place` as it is today.
pub(super) fn arguments(place: usize) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let given = arguments.get(place).and_then(|word| word.to_str());
    if let Some((earlier, now, option)) = RENAMED.iter().find(|row| given == Some(row.0)) {
        let words: Vec<&str> = std::iter::once(*now).chain(*option).collect();
        tell!("note: `{earlier}` is `{}` now", words.join(" "));
        arguments.splice(place..=place, words.into_iter().map(OsString::from));
    }
    arguments
}
