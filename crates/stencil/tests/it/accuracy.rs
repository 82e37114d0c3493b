//! Choices on a simulated machine by models that `specc` fitted there: the layout that is taken is
//! hardly ever slower than the fastest, whatever the grid. `cargo bench --bench stencil_accuracy`
//! tries more machines and grids.

use std::path::Path;
use strata_runtime::{
    Computing,
    prelude::*,
    simulation::{SimulatedMachine, Simulation},
};
use strata_stencil::{Grid, Options, Pin, layout::Layout, profile};

const NODES: usize = 16;

/// Width and height of grids of all shapes, which were not measured.
const SIZES: [[usize; 2]; 14] = [
    [5, 7],
    [40, 40],
    [70, 65],
    [150, 150],
    [300, 290],
    [1000, 1000],
    [2000, 100],
    [100, 2000],
    [1900, 40],
    [40, 1900],
    [2000, 10],
    [9, 1500],
    [600, 1300],
    [1700, 1900],
];

fn machine() -> Simulation {
    let alewife = SimulatedMachine::find("alewife").unwrap();
    Machine::sim(&alewife, NODES).unwrap().computing(Computing::Skeleton)
}

/// The layout that models choose.
fn chosen([width, height]: [usize; 2]) -> Layout {
    let models = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../models/sim-alewife-16/stencil/simulated/models.toml");
    let run = machine().run(|node| {
        let options = Options::default().models(&models);
        let solution = Grid::<f64>::new(width, height).iterations(1).solve_with(node, &options)?;
        assert!(solution.choice.is_some_and(|choice| choice.predicted.is_some()), "the models cover it");
        Ok(solution.layout)
    });
    run.unwrap().results[0]
}

/// The simulated time of an iteration; NaN where the layout does not suit.
fn seconds([width, height]: [usize; 2], columns: usize, halo: usize) -> f64 {
    machine().run(|node| Ok(profile::seconds(node, width, height, columns, halo, 1))).unwrap().results[0]
}

#[test]
fn the_layout_that_is_chosen_is_hardly_slower_than_the_fastest() {
    let mut penalties = Vec::new();
    for size in SIZES {
        let layout = chosen(size);
        let columns = if layout == Layout::ONE { 0 } else { layout.columns };
        let time = seconds(size, columns, layout.halo);
        let shapes = [1, 2, 4, 8, 16].into_iter().flat_map(|columns| [1, 2, 4].map(|halo| (columns, halo)));
        let all = shapes.chain([(0, 1)]).map(|(columns, halo)| seconds(size, columns, halo));
        // A minimum ignores NaN.
        let best = all.fold(time, f64::min);
        penalties.push(time / best - 1.0);
        assert!(time / best < 1.05, "{size:?}: {layout}, {:.1} % slower", 100.0 * (time / best - 1.0));
    }
    let mean = penalties.iter().sum::<f64>() / penalties.len() as f64;
    assert!(mean < 0.005, "{penalties:?}");
}

#[test]
fn points_at_edges_are_updated_alike_on_any_node() {
    let values = |extra: [usize; 2]| {
        let run = machine().computing(Computing::Kernels).run(|node| {
            let options = Options::default().pin(Pin::parse("stencil=columns:4:1")?);
            let grid = Grid::<f64>::new(30, 30).initial(|x, y| (x * 7 + y * 3) as f64).iterations(3);
            let solution = grid.extra(extra[0], extra[1]).solve_with(node, &options)?;
            assert_eq!(solution.layout.extra, extra, "what is set is taken");
            Ok(solution.gather(node))
        });
        run.unwrap().results.swap_remove(0)
    };
    let even = values([0, 0]);
    assert!(even.is_some() && even == values([1, 2]));
}
