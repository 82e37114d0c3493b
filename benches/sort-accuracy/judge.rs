//! Single sorts, what models predict of them, and which of some is the fastest.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use strata_benches::accuracy::Times;
use strata_benches::sorts;
use strata_model::LibraryModels;
use strata_model::set::ParameterRange;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Machine, simulation::Simulation};
use strata_select::{Source as _, Step};
use strata_sort::profile;

/// Rivals that are predicted to take longer than the best by this factor are not simulated.
const HOPELESS: f64 = 1.25;

/// With fewer sets of keys no rival is out.
const FEWEST: usize = 6;

/// Rivals that are slower on average by more than so many standard errors are out.
const CERTAIN: f64 = 3.0;

/// A candidate of the library with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    pub(crate) name: String,
    pub(crate) parameters: Vec<i64>,
}

impl Way {
    pub(crate) fn new(name: &str, parameters: &[i64]) -> Self {
        Self { name: name.to_owned(), parameters: parameters.to_vec() }
    }

    /// Radix sort by digits of `bits` bits, made even as it does itself.
    pub(crate) fn radix(bits: i64, width: i64) -> Self {
        let ceil = |bits: i64, by: i64| (bits + by - 1) / by;
        Self::new("radix", &[ceil(width, ceil(width, bits)).max(2)])
    }
}

/// As in a pin: `radix:8`.
impl Display for Way {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.parameters.iter().try_for_each(|value| write!(f, ":{value}"))
    }
}

/// Models of sorts on a number of nodes.
pub(crate) struct Models<'m> {
    library: &'m LibraryModels,
    nodes: usize,
    /// All candidates with all values of their parameters.
    ways: Vec<(usize, Way)>,
}

/// What was predicted for a problem: the times of some ways, the least first.
pub(crate) type Predicted = Vec<(Way, f64)>;

impl<'m> Models<'m> {
    pub(crate) fn new(library: &'m LibraryModels, nodes: usize) -> Self {
        let mut ways = Vec::new();
        for (index, candidate) in library.candidates().iter().enumerate() {
            let mut all = vec![Vec::new()];
            for range in library.parameters(index) {
                let values = values(range);
                all = all
                    .iter()
                    .flat_map(|prefix: &Vec<i64>| values.iter().map(move |v| [&prefix[..], &[*v]].concat()))
                    .collect();
            }
            ways.extend(all.iter().map(|parameters| (index, Way::new(&candidate.name, parameters))));
        }
        Self { library, nodes, ways }
    }

    /// The predicted times of all ways that are covered, the least first.
    pub(crate) fn predicted(&self, keys: usize, width: i64) -> Predicted {
        let inputs = [keys as f64, width as f64];
        let seconds = |index, way: &Way| self.library.seconds(index, self.nodes, &inputs, &way.parameters);
        let mut all: Predicted =
            self.ways.iter().filter_map(|(index, way)| Some((way.clone(), seconds(*index, way)?))).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }

    /// The predicted time of one way. Of parameters that the models do not have, nothing depends.
    pub(crate) fn seconds(&self, way: &Way, keys: usize, width: i64) -> Option<f64> {
        let index = self.library.candidate(&way.name)?;
        let parameters = &way.parameters[..self.library.parameters(index).len()];
        self.library.seconds(index, self.nodes, &[keys as f64, width as f64], parameters)
    }
}

/// The values of a parameter.
fn values(range: &ParameterRange) -> Vec<i64> {
    let next = |value: &i64| match range.step {
        Step::Add(step) => value.checked_add(step),
        Step::Multiply(step) => value.checked_mul(step),
    };
    std::iter::successors(Some(range.min), next).take_while(|value| *value <= range.max).collect()
}

/// What a simulation says of a choice.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// Time of the choice over that of the fastest.
    pub(crate) ratio: f64,
    pub(crate) fastest: Way,
}

/// A simulated machine.
pub(crate) struct Judge {
    machine: Simulation,
    times: RefCell<Times>,
    /// The first seed of keys.
    seed: u64,
}

impl Judge {
    pub(crate) fn new(platform: &str, nodes: usize, seed: u64, times: Times) -> Result<Self, String> {
        let platform = SimulatedMachine::find(platform).map_err(|e| e.to_string())?;
        let machine = Machine::sim(&platform, nodes).map_err(|e| e.to_string())?;
        // Calibration takes the first seeds.
        Ok(Self { machine, times: RefCell::new(times), seed: (1 << 32) + (seed << 16) })
    }

    /// The simulated time of a sort of the `number`-th set of keys.
    pub(crate) fn simulate(&self, way: &Way, keys: usize, width: i64, number: usize) -> Result<f64, String> {
        let seed = self.seed + number as u64;
        let run = || {
            let sort = sorts::named(&way.name, &way.parameters).ok_or_else(|| format!("no sort `{way}`"))?;
            let run = self.machine.run(|node| {
                Ok(profile::seconds(node, keys, width as u32, seed..seed + 1, |node, items| {
                    sort.run(node, items);
                }))
            });
            Ok(run.map_err(|e| e.to_string())?.results[0])
        };
        self.times.borrow_mut().get(format!("{way} {keys} {width} {seed}"), run)
    }

    /// The mean of the first `sets` sets of keys.
    pub(crate) fn mean(&self, way: &Way, keys: usize, width: i64, sets: usize) -> Result<f64, String> {
        let times: Result<Vec<f64>, String> =
            (0..sets).map(|set| self.simulate(way, keys, width, set)).collect();
        Ok(mean(&times?))
    }

    /// Compares the first of `rivals`, the choice, with the fastest, over as many sets of keys as
    /// tell them apart, at most `most`.
    pub(crate) fn judge(
        &self,
        rivals: &Predicted,
        keys: usize,
        width: i64,
        most: usize,
    ) -> Result<Verdict, String> {
        let least = rivals.first().ok_or("no model covers the problem")?.1;
        let mut open: Vec<&Way> =
            rivals.iter().filter(|(_, s)| *s < HOPELESS * least).map(|(way, _)| way).collect();
        let mut times: BTreeMap<&Way, Vec<f64>> = BTreeMap::new();
        let choice = open[0];
        while open.len() > 1 && times.get(choice).map_or(0, Vec::len) < most {
            for way in &open {
                let all = times.entry(way).or_default();
                all.push(self.simulate(way, keys, width, all.len())?);
            }
            if times[choice].len() < FEWEST {
                continue;
            }
            let best =
                *open.iter().min_by(|a, b| mean(&times[*a]).total_cmp(&mean(&times[*b]))).unwrap_or(&choice);
            let best_times = times[best].clone();
            // The choice stays, to be compared.
            open.retain(|way| *way == best || *way == choice || !slower(&times[*way], &best_times));
            if best != choice && open.len() == 2 && slower(&times[choice], &best_times) {
                break;
            }
        }
        let Some(of_choice) = times.get(choice) else {
            return Ok(Verdict { ratio: 1.0, fastest: choice.clone() });
        };
        // Over the sets of keys that both had.
        let ratio = |way: &Way| mean(&of_choice[..times[way].len()]) / mean(&times[way]);
        let fastest = times.keys().max_by(|a, b| ratio(a).total_cmp(&ratio(b))).unwrap_or(&choice);
        Ok(Verdict { ratio: ratio(fastest).max(1.0), fastest: (*fastest).clone() })
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Whether `a` is slower than `b` on the same sets of keys, beyond chance.
fn slower(a: &[f64], b: &[f64]) -> bool {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let (n, middle) = (differences.len() as f64, mean(&differences));
    let variance = differences.iter().map(|d| (d - middle).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    middle > CERTAIN * (variance / n).sqrt() && middle > 0.0
}
