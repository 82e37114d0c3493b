//! Full calibrations of made-up machines, as tables.

use std::sync::OnceLock;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use strata_benches::fitted::entry;
use strata_fit::Search;
use strata_model::Program;
use strata_model::expr::parse;
use strata_model::samples::Sample;
use strata_select::{
    Table, normal,
    table::{Domain, Entry, Parameter, Parameters},
};

use super::machine::{LIBRARIES, Library, Machine};

/// The places of a library's candidates among those of all.
const FIRST: [usize; 3] = [0, 4, 8];

/// Points of a candidate, and timings of each.
const POINTS: usize = 80;
const SWEEPS: usize = 5;

/// The compiled terms of every candidate, the constant first.
fn programs(place: usize) -> &'static [Program] {
    static ALL: OnceLock<Vec<Vec<Program>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let of = |library: &Library| -> Vec<Vec<Program>> {
            let inputs: Vec<&str> = library.inputs.iter().map(|input| input.0).collect();
            let candidates = library.candidates.iter();
            candidates
                .map(|candidate| {
                    let names: Vec<&str> =
                        inputs.iter().copied().chain(candidate.parameter.map(|p| p.0)).collect();
                    let terms = std::iter::once(&"1").chain(candidate.terms);
                    let compiled =
                        terms.map(|term| Program::compile(&parse(term).expect(term), &names).expect(term));
                    compiled.collect()
                })
                .collect()
        };
        LIBRARIES.iter().flat_map(of).collect()
    });
    &all[place]
}

fn terms<const PLACE: usize>(_: usize, x: &[f64], to: &mut [f64]) -> Option<usize> {
    let programs = programs(PLACE);
    for (to, program) in to.get_mut(..programs.len())?.iter_mut().zip(programs) {
        *to = program.eval(x);
    }
    Some(programs.len())
}

const COMPUTE: [strata_select::table::Compute; 12] = [
    terms::<0>, terms::<1>, terms::<2>, terms::<3>, terms::<4>, terms::<5>, terms::<6>, terms::<7>,
    terms::<8>, terms::<9>, terms::<10>, terms::<11>,
];

/// Timings of a machine: log-normal noise, and a few that were interrupted.
pub(super) struct Clock(ChaCha8Rng);

impl Clock {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(super) fn time(&mut self, seconds: f64) -> f64 {
        let normal = normal::draw(self.0.random(), self.0.random());
        let slow = if self.0.random::<f64>() < 0.03 { 1.0 + 2.0 * self.0.random::<f64>() } else { 1.0 };
        seconds * slow * (0.04 * normal).exp()
    }

    /// A value between two, even in its logarithm, whole.
    pub(super) fn between(&mut self, least: f64, most: f64) -> f64 {
        (least * (most / least).powf(self.0.random::<f64>())).round().clamp(least, most)
    }
}

/// The models of a library measured on a machine at many points, as a table.
pub(super) fn calibrated(which: usize, machine: &Machine, seed: u64) -> Result<&'static Table, String> {
    let library = &LIBRARIES[which];
    let mut clock = Clock::new(seed);
    let mut entries = Vec::new();
    for (index, candidate) in library.candidates.iter().enumerate() {
        let names: Vec<&str> =
            library.inputs.iter().map(|input| input.0).chain(candidate.parameter.map(|p| p.0)).collect();
        let rows = (0..POINTS * SWEEPS).map(|row| {
            // The same points in each sweep.
            let mut point = Clock::new(1000 * which as u64 + row as u64 % POINTS as u64);
            let mut values: Vec<f64> =
                library.inputs.iter().map(|(_, least, most)| point.between(*least, *most)).collect();
            values.extend(candidate.parameter.map(|(_, least, most)| match which {
                0 => point.between(least as f64, most as f64),
                _ => point.between((least as f64).log2(), (most as f64).log2()).exp2(),
            }));
            let seconds = clock.time((library.cost)(machine, index, &values));
            Sample { values, seconds, line: row + 2, ..Sample::default() }
        });
        let how = (COMPUTE[FIRST[which] + index], 0.0025);
        let entry = entry(candidate.name, &names, candidate.terms, rows.collect(), how, Search::Never)?;
        let parameter = candidate.parameter.map(|(name, least, most)| {
            let parameter = Parameter::new(name, least, most);
            if which == 0 { parameter } else { parameter.times(2) }
        });
        entries.push(match parameter {
            Some(parameter) => entry.with(vec![parameter].leak()),
            None => entry,
        });
    }
    let inputs: Vec<&str> = library.inputs.iter().map(|input| input.0).collect();
    let ranges: Vec<(f64, f64)> = library.inputs.iter().map(|input| (input.1, input.2)).collect();
    Ok(Box::leak(Box::new(Table {
        library: library.name,
        spec: "",
        platform: "threads nodes=1 cores=2 cpu=\"made up\" cache=\"\" os=linux arch=x86_64",
        digest: "",
        inputs: inputs.leak(),
        domain: Domain { nodes: Domain::ANY_NODES, inputs: ranges.leak() },
        entries: entries.leak(),
    })))
}

/// The true least time of a problem over all candidates and parameters.
pub(super) fn least(which: usize, machine: &Machine, table: &Table, problem: &[f64]) -> f64 {
    let library = &LIBRARIES[which];
    let of = |(index, entry): (usize, &Entry)| {
        let values: Vec<Option<i64>> = match entry.parameters.first() {
            None => vec![None],
            Some(parameter) => parameter.values().map(Some).collect(),
        };
        let cost = |value: &Option<i64>| {
            let x: Vec<f64> = problem.iter().copied().chain(value.map(|value| value as f64)).collect();
            (library.cost)(machine, index, &x)
        };
        values.iter().map(cost).fold(f64::INFINITY, f64::min)
    };
    table.entries.iter().enumerate().map(of).fold(f64::INFINITY, f64::min)
}

/// The true time of a candidate with parameters.
pub(super) fn cost(
    which: usize,
    machine: &Machine,
    candidate: usize,
    problem: &[f64],
    parameters: &Parameters,
) -> f64 {
    let x: Vec<f64> = problem.iter().copied().chain(parameters.iter().map(|value| *value as f64)).collect();
    (LIBRARIES[which].cost)(machine, candidate, &x)
}
