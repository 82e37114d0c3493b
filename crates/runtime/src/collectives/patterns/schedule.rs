//! The choice of a schedule for an all-to-all, by models of this machine.

use super::Schedule;
use strata_select::{
    Library, Row, Table,
    table::{Domain, Entry, Model, Verdict},
};

/// A schedule without a compiled-in model: the best one is known only on a calibrated machine.
const fn entry(name: &'static str) -> Entry {
    Entry::new(name, Verdict::Unverified, 1.0, &Model::Unknown)
}

/// The transport's own schedule is first: it is used without a model.
static SCHEDULES: Table = Table {
    library: "all_to_all",
    spec: "specs/strata",
    platform: "",
    digest: "",
    inputs: &["bytes"],
    domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(f64::NEG_INFINITY, f64::INFINITY)] },
    entries: &[entry("library"), entry("free"), entry("barriers"), entry("interleaved")],
};

/// The library `all_to_all` over the `bytes` of a block, for [`Node::choose`](crate::Node::choose).
/// No models are compiled in; without those of `specc calibrate specs/strata` the transport's own
/// schedule is used.
impl Library for Schedule {
    type Rows = [Row; 4];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&SCHEDULES];

    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Library, Self::Free, Self::Barriers, Self::Interleaved].get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, select::Options};

    const SET: &str = include_str!("../../../tests/schedules.toml");

    #[test]
    fn the_fastest_by_the_models_is_taken_and_beyond_them_as_at_the_nearest_size() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), SET).unwrap();
        let options = Options::default().models(file.path());
        let taken = Machine::threads(2).unwrap().run(|node| {
            let mut take = |bytes| node.choose::<Schedule>(bytes, &options).map(|chosen| chosen.candidate);
            Ok([take(100.0)?, take(50_000.0)?, take(1e9)?])
        });
        assert_eq!(taken.unwrap(), [[Schedule::Library, Schedule::Free, Schedule::Free]; 2]);
    }

    #[test]
    fn without_models_it_is_the_transports_own() {
        let taken = Machine::threads(3)
            .unwrap()
            .run(|node| {
                let chosen = node.choose::<Schedule>(64.0, &Options::default())?;
                Ok((chosen.candidate, chosen.choice.to_string()))
            })
            .unwrap();
        for (candidate, why) in taken {
            assert_eq!(candidate, Schedule::Library);
            assert!(why.contains("the first that applies: no model covers this problem"), "{why}");
        }
    }
}
