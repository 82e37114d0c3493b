//! This crate as text.

/// The source text of this crate, which `specc export --to rust` appends to models so that they
/// need no crate: `lib`, then each module that does not need `std`, by its name.
pub const SOURCES: &[(&str, &str)] = &[
    ("lib", include_str!("lib.rs")),
    ("choice", include_str!("choice.rs")),
    ("choose", include_str!("choose.rs")),
    ("chooser", include_str!("chooser.rs")),
    ("closest", include_str!("closest.rs")),
    ("contrast", include_str!("contrast.rs")),
    ("correction", include_str!("correction.rs")),
    ("declare", include_str!("declare.rs")),
    ("error", include_str!("error.rs")),
    ("kept", include_str!("kept.rs")),
    ("library", include_str!("library.rs")),
    ("math", include_str!("math.rs")),
    ("model", include_str!("model.rs")),
    ("normal", include_str!("normal.rs")),
    ("odds", include_str!("odds.rs")),
    ("optimise", include_str!("optimise.rs")),
    ("parameter", include_str!("parameter.rs")),
    ("pin", include_str!("pin.rs")),
    ("quantity", include_str!("quantity.rs")),
    ("table", include_str!("table.rs")),
    ("verdict", include_str!("verdict.rs")),
    ("wrapping", include_str!("wrapping.rs")),
];

#[cfg(test)]
mod tests {
    use super::SOURCES;

    #[test]
    fn every_module_that_needs_no_std_is_there() {
        let lines: Vec<&str> = include_str!("lib.rs").lines().collect();
        let mut wanted = vec!["lib"];
        for pair in lines.windows(2) {
            let module = pair[1].trim_start_matches("pub ").strip_prefix("mod ");
            if let (Some(module), false) =
                (module, ["#[cfg(feature = \"std\")]", "#[doc(hidden)]"].contains(&pair[0]))
            {
                wanted.extend(module.strip_suffix(';'));
            }
        }
        assert_eq!(SOURCES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), wanted);
    }
}
