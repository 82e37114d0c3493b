//! Control: what the thesis's printed models would reach on grids that are drawn as here, if each
//! erred by what is printed beside it. No better figure can be asked of ours, whose layouts are as
//! close to each other.

use chacha20::ChaCha8Rng;
use rand::SeedableRng as _;
use strata_benches::accuracy::{Cell, Summary, per_cent};
use strata_benches::thesis::{STENCILS, Stencil, erring};
use strata_benches::{columns, row};

use crate::cells::{CLOSE, Drawn};

/// Grids of each machine and way of drawing.
const GRIDS: usize = 20_000;

/// The thesis's largest machines.
pub(crate) const NODES: usize = 64;

/// The place of squares among the thesis's layouts.
const SQUARES: usize = 2;

/// The times of the layouts that take a grid, in microseconds: one node, strips, squares.
fn times(stencil: &Stencil, [width, height]: [usize; 2]) -> [f64; 3] {
    let takes = [true, height >= 128, width >= 16 && height >= 16];
    [0, 1, 2].map(|layout| match takes[layout] {
        // On one node thin grids take less than no time.
        true => stencil.microseconds(layout, [width, height]).max(1e-3),
        false => f64::INFINITY,
    })
}

/// The place of the least time.
fn least(times: &[f64; 3]) -> usize {
    (0..3).min_by(|a, b| times[*a].total_cmp(&times[*b])).unwrap_or(0)
}

/// By how much squares take longer than the best of the thesis's layouts, by its models; `None` where
/// squares do not take the grid.
pub(crate) fn gain(machine: &str, size: [usize; 2]) -> Option<f64> {
    let times = times(Stencil::of(machine).filter(|_| machine != "cm5")?, size);
    Some(times[SQUARES] / times[least(&times)] - 1.0).filter(|gain| gain.is_finite())
}

/// Choices by the printed models, where each layout takes a time that differs from its model at random.
fn judge(stencil: &Stencil, drawn: Drawn, random: &mut ChaCha8Rng) -> Vec<Cell> {
    let mut cells = Vec::new();
    while cells.len() < GRIDS {
        let modelled = times(stencil, drawn.draw(random));
        let mut sorted = modelled;
        sorted.sort_by(f64::total_cmp);
        if drawn == Drawn::Boundary && sorted[1] > sorted[0] * (1.0 + CLOSE) {
            continue;
        }
        let actual = [0, 1, 2].map(|layout| erring(modelled[layout], stencil.errors[layout], random));
        let best = actual[least(&actual)];
        let fixed = Some(actual[SQUARES] / best).filter(|ratio| ratio.is_finite());
        cells.push(Cell { ratio: actual[least(&modelled)] / best, fixed, weight: 1.0 });
    }
    cells
}

pub(crate) fn report(seed: u64) {
    println!("\nControl: the thesis's printed models with their printed errors, {NODES} nodes:\n");
    columns("machine | grids | right | mean penalty | worst | expected | gain over squares");
    let mut all = Vec::new();
    for stencil in STENCILS.iter().filter(|stencil| stencil.machine != "cm5") {
        for drawn in Drawn::ALL {
            let mut random = ChaCha8Rng::seed_from_u64(seed + 1000 * drawn as u64);
            let cells = judge(stencil, drawn, &mut random);
            print(stencil.machine, drawn.name(), &cells);
            all.extend(cells);
        }
    }
    print("all", "all", &all);
}

fn print(machine: &str, drawn: &str, cells: &[Cell]) {
    let Summary { right, mean, worst, expected, gain, .. } = Summary::of(cells);
    let figures = [right, mean, worst, expected, gain].map(per_cent);
    row(&[machine.to_owned(), drawn.to_owned()].into_iter().chain(figures).collect::<Vec<_>>());
}
