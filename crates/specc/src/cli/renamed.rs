//! Commands by their names of earlier versions.

use std::ffi::OsString;

use strata_screen::tell;

/// Earlier names of commands, three of them of `cargo strata`; those of today, with their option.
const RENAMED: [(&str, &str, Option<&str>); 8] = [
    ("crossovers", "thresholds", None),
    ("fmt", "check", Some("--fmt")),
    ("map", "show", None),
    ("predict", "choose", None),
    ("profile", "calibrate", Some("--only-samples")),
    ("race", "compare", Some("--run")),
    ("regret", "check", Some("--accept=100%")),
    ("verify", "check", None),
];

/// The arguments of this process, with the name of the command at `place` as it is today.
pub(super) fn arguments(place: usize) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let given = arguments.get(place).and_then(|word| word.to_str());
    let known = |row: &str| place == 1 || ["crossovers", "map", "verify"].contains(&row);
    if let Some((earlier, now, option)) = RENAMED.iter().find(|row| given == Some(row.0) && known(row.0)) {
        let words: Vec<&str> = std::iter::once(*now).chain(*option).collect();
        tell!("note: `{earlier}` is `{}` now", words.join(" "));
        if *earlier == "verify"
            && let Some(rules) = arguments.iter_mut().find(|word| *word == "--rules")
        {
            *rules = "--thresholds".into();
        }
        arguments.splice(place..=place, words.into_iter().map(OsString::from));
    }
    arguments
}
