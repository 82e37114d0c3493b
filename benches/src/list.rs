//! All benches but the overview of them: those of the manifest, with the comments there.

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// Its name in `Cargo.toml`.
    pub name: &'static str,
    /// What it shows.
    pub what: &'static str,
    /// The feature that it needs.
    pub feature: Option<&'static str>,
    /// With what it takes less than a minute, if the overview runs it.
    pub brief: Option<&'static str>,
}

impl Bench {
    /// The command that runs it.
    pub fn command(&self) -> String {
        let feature = self.feature.map_or(String::new(), |feature| format!("--features {feature} "));
        format!("cargo bench -p strata-benches {feature}--bench {}", self.name)
    }
}

/// All of them, in the order of the table in `README.md`.
pub fn benches() -> impl Iterator<Item = Bench> {
    let sections =
        include_str!("../Cargo.toml").split("\n\n").filter(|section| section.contains("[[bench]]"));
    let bench = |section: &'static str| {
        let value = |key: &str| section.lines().find_map(|line| line.strip_prefix(key));
        let text = |key: &str| value(key).map(|value| value.trim_matches(['[', ']', '"']));
        Bench {
            name: text("name = ").unwrap_or_default(),
            what: value("# ").unwrap_or_default(),
            feature: text("required-features = "),
            brief: value("# In short:").map(str::trim),
        }
    };
    sections.map(bench).filter(|bench| bench.name != "overview")
}

pub(crate) fn find(name: &str) -> Option<Bench> {
    benches().find(|bench| bench.name == name)
}

#[cfg(test)]
mod tests {
    use super::benches;

    /// Cargo runs all with `bench = true` where none is named, so only the overview may be so.
    #[test]
    fn each_bench_is_told_in_80_columns_and_run_by_name() {
        let manifest = include_str!("../Cargo.toml");
        let sections: Vec<&str> = manifest.split("[[bench]]").skip(1).collect();
        let by_name = sections.iter().filter(|section| section.contains("\nbench = false\n")).count();
        assert_eq!([benches().count(), by_name], [sections.len() - 1; 2], "an empty line is between benches");
        for bench in benches() {
            assert!(!bench.what.is_empty() && 18 + bench.what.len() <= 80, "{}", bench.name);
        }
    }
}
