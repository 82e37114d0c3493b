//! Times of collectives, from samples of `specs/comet/smpi`.

use std::path::Path;

use strata_model::Samples;

/// One of the specs.
pub(crate) struct Collective {
    pub(crate) name: &'static str,
    /// The candidates, as models name them.
    pub(crate) algorithms: &'static [&'static str],
}

pub(crate) const COLLECTIVES: [Collective; 4] = [
    Collective {
        name: "bcast",
        algorithms: &[
            "Flattree", "BinomialTree", "NtsBinary", "NtsLinear", "ScatterRingAllgather",
            "ScatterRdbAllgather", "OmpiPipeline",
        ],
    },
    Collective { name: "allreduce", algorithms: &["Rdb", "Lr", "Rab1", "RabRdb", "OmpiRingSegmented"] },
    Collective {
        name: "allgather",
        algorithms: &["Bruck", "Rdb", "Ring", "Pair", "OmpiNeighborexchange", "SpreadingSimple"],
    },
    Collective {
        name: "alltoall",
        algorithms: &["BasicLinear", "Bruck", "Pair", "Ring", "PairLightBarrier", "RingLightBarrier"],
    },
];

/// The libraries whose rules are compared.
pub(crate) const LIBRARIES: [&str; 4] = ["Ompi", "Mpich", "Mvapich2", "Impi"];

/// Bytes and seconds, by bytes.
type Curve = Vec<(f64, f64)>;

/// The times of one collective on one number of processes of a platform.
pub(crate) struct Times {
    pub(crate) nodes: usize,
    algorithms: Vec<Curve>,
    /// Of each library; empty where SMPI cannot run it.
    rules: Vec<Curve>,
}

impl Times {
    /// Reads the samples in a folder of that collective's.
    pub(crate) fn read(folder: &Path, collective: &Collective) -> Result<Self, String> {
        let path = folder.join(collective.name).join("samples.txt");
        let shown = path.display();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{shown}: {error}; the first lines of this bench's source make it"))?;
        let samples = Samples::parse(&text, &shown.to_string()).map_err(|error| error.to_string())?;
        let nodes = samples.platform.as_ref().map_or(0, |platform| platform.nodes);
        let mut prefix = collective.name.to_owned();
        prefix[..1].make_ascii_uppercase();
        let curve = |name: &str| -> Result<Curve, String> {
            let name = format!("{prefix}{name}");
            let model = samples.models.iter().find(|model| model.name == name);
            let rows = model.map(|model| &model.rows).filter(|rows| rows.len() > 1);
            let rows = rows.ok_or_else(|| format!("{shown}: no samples of `{name}`"))?;
            let mut curve: Curve = rows.iter().map(|row| (row.values[0], row.seconds)).collect();
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
            curve.dedup_by_key(|point| point.0);
            Ok(curve)
        };
        Ok(Self {
            nodes,
            algorithms: collective.algorithms.iter().map(|name| curve(name)).collect::<Result<_, _>>()?,
            rules: LIBRARIES.iter().map(|name| curve(&format!("By{name}")).unwrap_or_default()).collect(),
        })
    }

    /// All that was measured of an algorithm.
    pub(crate) fn curve(&self, algorithm: usize) -> &[(f64, f64)] {
        &self.algorithms[algorithm]
    }

    /// The sizes at which everything was measured.
    pub(crate) fn sizes(&self) -> Vec<f64> {
        let has = |curve: &Curve, bytes: f64| curve.iter().any(|point| point.0 == bytes);
        let all = || self.algorithms.iter().chain(self.rules.iter().filter(|curve| !curve.is_empty()));
        let sizes = self.algorithms[0].iter().map(|point| point.0);
        sizes.filter(|bytes| all().all(|curve| has(curve, *bytes))).collect()
    }

    /// The time of an algorithm, between measured sizes by a straight line of logarithms.
    pub(crate) fn of(&self, algorithm: usize, bytes: f64) -> f64 {
        between(&self.algorithms[algorithm], bytes)
    }

    /// The time of what a library's rules take, where SMPI can run them.
    pub(crate) fn by_rules(&self, library: usize, bytes: f64) -> Option<f64> {
        let curve = &self.rules[library];
        (!curve.is_empty()).then(|| between(curve, bytes))
    }

    /// The least time of all.
    pub(crate) fn least(&self, bytes: f64) -> f64 {
        let all = self.algorithms.iter().chain(self.rules.iter().filter(|curve| !curve.is_empty()));
        all.map(|curve| between(curve, bytes)).fold(f64::INFINITY, f64::min)
    }
}

fn between(curve: &Curve, bytes: f64) -> f64 {
    let after = curve.partition_point(|point| point.0 < bytes).clamp(1, curve.len() - 1);
    let (a, b) = (curve[after - 1], curve[after]);
    let share = (bytes / a.0).ln() / (b.0 / a.0).ln();
    a.1 * (b.1 / a.1).powf(share.clamp(0.0, 1.0))
}
