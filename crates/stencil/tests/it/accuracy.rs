//! Choices on a simulated machine by models that `specc` fitted there: the layout that is taken is
//! hardly ever slower than the fastest, whatever the grid. `cargo bench --bench stencil_accuracy`
//! tries more machines and grids.

use std::path::Path;
use strata_runtime::{Computing, Simulation, prelude::*, simulation::SimulatedMachine};
use strata_stencil::{Grid, Layout, Options, Pin, profile};

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

/// The layout that `solve` takes of squares, and its values on node 0; `extra` sets the columns and
/// rows that nodes at edges have more.
fn squares(
    [width, height]: [usize; 2],
    extra: Option<[usize; 2]>,
    computing: Computing,
) -> (Layout, Option<Vec<f64>>) {
    let run = machine().computing(computing).run(|node| {
        let options = Options::default().pin(Pin::parse("stencil=columns:4:1").map_err(Error::program)?);
        let grid = Grid::<f64>::new(width, height).initial(|x, y| (x * 7 + y * 3) as f64).iterations(3);
        let grid = if let Some([x, y]) = extra { grid.extra(x, y) } else { grid };
        let solution = grid.solve_with(node, &options)?;
        Ok((solution.layout, solution.gather(node)))
    });
    run.unwrap().results.swap_remove(0)
}

#[test]
fn nodes_at_edges_get_more_points_only_where_that_is_no_slower_and_values_stay_equal() {
    for size in [[14, 14], [14, 46], [50, 50], [60, 90], [200, 200]] {
        let chosen = squares(size, None, Computing::Skeleton).0.extra;
        let time = |extra: [usize; 2]| {
            let layout = Layout { extra, ..Layout::squares(NODES) };
            let grid = || Grid::new(size[0], size[1]);
            machine().run(|node| Ok(profile::seconds_on(node, &grid(), layout, 1))).unwrap().results[0]
        };
        let (with, without) = (time(chosen), time([0; 2]));
        assert!(with <= without, "{size:?}: {chosen:?} takes {} of equal blocks", with / without);
    }
    let all = [None, Some([0, 0]), Some([1, 2])].map(|extra| squares([30, 30], extra, Computing::Kernels));
    assert_eq!((all[1].0.extra, all[2].0.extra), ([0, 0], [1, 2]), "what is set is taken");
    let [chosen, even, more] = all.map(|(_, values)| values);
    assert!(chosen.is_some() && chosen == even && even == more, "points are updated alike on any node");
}
