//! The built-in platforms.

/// Names and texts, in their listed order: the four of the thesis, others of its time, then current
/// ones.
const BUILT_IN: [(&str, &str); 8] = [
    ("cm5", include_str!("../../platforms/cm5.toml")),
    ("alewife", include_str!("../../platforms/alewife.toml")),
    ("paragon", include_str!("../../platforms/paragon.toml")),
    ("atm", include_str!("../../platforms/atm.toml")),
    ("iwarp", include_str!("../../platforms/iwarp.toml")),
    ("ipsc860", include_str!("../../platforms/ipsc860.toml")),
    ("ethernet-25g", include_str!("../../platforms/ethernet-25g.toml")),
    ("infiniband-fat-tree", include_str!("../../platforms/infiniband-fat-tree.toml")),
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

pub(super) fn text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map(|(_, text)| *text)
}
