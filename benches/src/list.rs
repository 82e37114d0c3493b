//! All benches but the overview of them.

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
    pub brief: Option<&'static [&'static str]>,
}

impl Bench {
    /// The command that runs it.
    pub fn command(&self) -> String {
        let feature = self.feature.map_or(String::new(), |feature| format!("--features {feature} "));
        format!("cargo bench -p strata-benches {feature}--bench {}", self.name)
    }

    const fn needs(self, feature: &'static str) -> Self {
        Self { feature: Some(feature), ..self }
    }

    const fn brief(self, arguments: &'static [&'static str]) -> Self {
        Self { brief: Some(arguments), ..self }
    }
}

const fn bench(name: &'static str, what: &'static str) -> Bench {
    Bench { name, what, feature: None, brief: None }
}

/// All of them, in the order of the table in `README.md`.
pub const BENCHES: [Bench; 38] = [
    bench("calibrate", "Calibrates every library under specs/ on this machine"),
    bench("choosing", "How long choices take: the first of a class, later ones").brief(&[]),
    bench("code_size", "How large programs are by all candidates, by one, alone"),
    bench("trust", "How right verdicts, intervals and choices are, on drawn costs"),
    bench("trust_machine", "How right choices are here, idle and under a load"),
    bench("own", "Choices of fourteen users' libraries beside their old rules"),
    bench("travel", "What choices lose on another machine, before and after a fit"),
    bench("cross", "Times and choices on a machine of which only costs are known")
        .brief(&["--machines", "8"]),
    bench("fit_arena", "Fits beside Extra-P and least squares"),
    bench("messages", "Messages, puts, collectives beside raw calls").brief(&[]),
    bench("collectives", "Barrier and reduce beside raw MPI").needs("mpi"),
    bench("simulation", "Brewer's experiments on simulated machines"),
    bench("simgrid", "The simulator beside SimGrid's SMPI"),
    bench("smpi", "Collectives on unseen platforms beside libraries' rules"),
    bench("simulator_speed", "Speed and memory of simulations"),
    bench("growth", "How cost grows with work and nodes, beside its law"),
    bench("sort_choice", "The chosen sort of several nodes beside each candidate"),
    bench("sort_accuracy", "How often the chosen sort is the fastest, simulated"),
    bench("sort_race", "The sort over distributions of keys beside gathering"),
    bench("sort_local", "The chosen sort of one node beside each candidate").brief(&["--rounds", "3"]),
    bench("stencil_regret", "How much slower the chosen layout is than the fastest"),
    bench("stencil_sweep", "Sweeps of a stencil beside a loop that moves memory"),
    bench("halo", "Halos of a program's own arrays beside raw MPI").needs("mpi"),
    bench("stencil_race", "The stencil beside Devito and PETSc"),
    bench("stencil_accuracy", "How often the chosen layout is the fastest, simulated"),
    bench("global", "Global memory on two threads beside plain accesses"),
    bench("global_race", "Global memory beside Lamellar"),
    bench("global_mpi", "Global memory on two processes of MPI").needs("mpi"),
    bench("global_overhead", "Global memory beside active messages"),
    bench("matmul", "A product of matrices on two nodes beside gemm"),
    bench("tcs", "Connection sets: the thesis's claims, and two threads"),
    bench("tcs_mpi", "Connections between two processes of MPI").needs("mpi"),
    bench("comet", "comet on simulated machines, where the truth is known"),
    bench("believe", "Whether figures of comet here can be believed"),
    bench("here", "Predictions by comet's figures beside measured times"),
    bench("imb", "comet beside Intel's MPI benchmarks"),
    bench("copies", "Chosen copies beside memcpy and each routine")
        .brief(&["--only", "exchange", "--rounds", "3"]),
    bench("tune", "What tuning costs, finds and gains").needs("tune"),
];

pub(crate) fn find(name: &str) -> Option<&'static Bench> {
    BENCHES.iter().find(|bench| bench.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::BENCHES;

    /// Cargo runs all with `bench = true` where none is named, so only the overview may be so.
    #[test]
    fn the_list_is_that_of_the_manifest() {
        let mut listed: BTreeMap<&str, Option<&str>> =
            BENCHES.iter().map(|bench| (bench.name, bench.feature)).collect();
        assert_eq!(listed.len(), BENCHES.len(), "a name is there twice");
        for target in include_str!("../Cargo.toml").split("[[bench]]").skip(1) {
            let value = |key: &str| target.lines().find_map(|line| line.strip_prefix(key));
            let name = value("name = ").unwrap_or_default().trim_matches('"');
            assert_eq!(value("harness = "), Some("false"), "{name}");
            if value("bench = ") != Some("false") {
                assert_eq!(name, "overview");
                continue;
            }
            let feature = value("required-features = ").map(|all| all.trim_matches(['[', ']', '"']));
            assert_eq!(listed.remove(name), Some(feature), "{name}");
        }
        assert!(listed.is_empty(), "not in Cargo.toml: {listed:?}");
    }

    #[test]
    fn a_line_of_the_list_fits_80_columns() {
        for bench in &BENCHES {
            assert!(18 + bench.what.len() <= 80, "{}", bench.name);
        }
    }
}
