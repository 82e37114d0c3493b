//! What is solved is the equation, what is wrong is said on every node.

use std::cell::RefCell;
use strata_runtime::{prelude::*, simulation::SimulatedMachine};
use strata_stencil::{
    Edge, Grid, Method, Options, Pin, Side, StencilError, layout::Layout, profile, snapshot::Snapshot,
};

/// The greatest error of a solved square of `n` points a side with u = e^x sin y on [0, 1]², which
/// is harmonic, with values at the edges, or with slopes at two of them.
fn error(node: &mut Node, n: usize, slopes: bool) -> Result<Option<f64>, Error> {
    let exact = |x: f64, y: f64| x.exp() * y.sin();
    // Points with slopes lie on the edge itself.
    let h = if slopes { 1.0 / n as f64 } else { 1.0 / (n as f64 + 1.0) };
    let (first, last) = if slopes { (0.0, 1.0) } else { (h, 1.0) };
    let at = |i: usize| first + i as f64 * h;
    let grid = Grid::<f64>::new(n, n).threshold(1e-13).iterations(20_000).omega(1.9);
    let grid = match slopes {
        false => grid.boundary(Side::West, Edge::values(|y| exact(0.0, at(y)))),
        // The outward normal points to the west: −∂u/∂x = −sin y at x = 0.
        true => grid.boundary(Side::West, Edge::slope(|y| -2.0 * h * exact(0.0, at(y)))),
    };
    let grid = match slopes {
        false => grid.boundary(Side::North, Edge::values(|x| exact(at(x), 0.0))),
        true => grid.boundary(Side::North, Edge::slope(|x| -2.0 * h * at(x).exp())),
    };
    let grid = grid
        .boundary(Side::East, Edge::values(|y| exact(last, at(y))))
        .boundary(Side::South, Edge::values(|x| exact(at(x), last)));
    let solution = grid.solve(node)?;
    assert!(solution.converged, "{solution}");
    Ok(solution.gather(node).map(|values| {
        let error = |(i, value): (usize, &f64)| (value - exact(at(i % n), at(i / n))).abs();
        values.iter().enumerate().map(error).fold(0.0, f64::max)
    }))
}

#[test]
fn errors_fall_with_the_square_of_the_spacing() {
    for slopes in [false, true] {
        let errors = Machine::threads(3)
            .unwrap()
            .run(|node| {
                [8, 16, 32].into_iter().map(|n| error(node, n, slopes)).collect::<Result<Vec<_>, _>>()
            })
            .unwrap();
        let errors: Vec<f64> = errors[0].iter().map(|error| error.unwrap()).collect();
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((1.7..2.2).contains(&order), "slopes {slopes}: order {order} of {errors:?}");
        }
    }
}

#[test]
fn over_relaxation_takes_fewer_iterations() {
    let iterations = |method, omega: Option<f64>| {
        let run = Machine::threads(2).unwrap().run(|node| {
            let grid = Grid::<f64>::new(40, 40).boundaries(Edge::value(1.0)).method(method).threshold(1e-8);
            let grid = omega.into_iter().fold(grid, |grid, omega| grid.omega(omega));
            Ok(grid.solve(node)?.iterations)
        });
        run.unwrap()[0]
    };
    let (jacobi, gauss, best) = (
        iterations(Method::Jacobi, None),
        iterations(Method::RedBlack, Some(1.0)),
        iterations(Method::RedBlack, None),
    );
    assert!(best * 10 < gauss && gauss * 3 < 2 * jacobi, "{jacobi} {gauss} {best}");
}

/// The error of a grid on three nodes.
fn refused(grid: impl Fn() -> Grid<'static, f64> + Sync) -> String {
    let run = Machine::threads(3).unwrap().run(|node| {
        let error = grid().solve(node).unwrap_err();
        // The job goes on: all nodes have it.
        node.barrier();
        Ok(error.to_string())
    });
    let errors = run.unwrap();
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    errors[0].clone()
}

#[test]
fn what_is_wrong_is_said_on_every_node() {
    let new = Grid::<f64>::new;
    let cases: [(String, &str); 25] = [
        (refused(|| new(0, 0)), "a grid of 0 by 0 points"),
        (refused(|| new(5, 0)), "a grid of 5 by 0 points"),
        (refused(|| new(usize::MAX, 2)), "at most 2^48"),
        (refused(|| new(1 << 24, 1 << 23).iterations(1)), "cannot allocate"),
        (refused(|| new(5, 5).omega(2.0)), "omega is 2: over-relaxation converges"),
        (refused(|| new(5, 5).omega(0.0)), "omega is 0"),
        (refused(|| new(5, 5).omega(f64::NAN)), "omega is NaN"),
        (refused(|| new(5, 5).omega(-0.5)), "omega is -0.5"),
        (refused(|| new(5, 5).omega(f64::INFINITY)), "omega is inf"),
        (refused(|| new(5, 5).omega(1.1).method(Method::Jacobi)), "Jacobi up to 1"),
        (refused(|| new(5, 5).weights(0.5, 0.5, 0.1, 0.1)), "their magnitudes add up to at most 1"),
        (refused(|| new(5, 5).weights(0.0, 0.0, 0.0, 0.0)), "and not to 0"),
        (refused(|| new(5, 5).weights(f64::NAN, 0.0, 0.0, 0.0)), "the weights of the neighbours are [NaN"),
        (refused(|| new(5, 5).threshold(-1.0)), "the threshold is -1"),
        (refused(|| new(5, 5).threshold(f64::NAN)), "the threshold is NaN"),
        (refused(|| new(0, 5)), "a grid of 0 by 5 points"),
        (
            refused(|| new(1, 10_000).initial(|_, y| if y == 9_999 { f64::NAN } else { 0.0 })),
            "at (0, 9999) is",
        ),
        (
            refused(|| new(2, 3).boundaries(Edge::value(f64::NEG_INFINITY))),
            "the value of the west edge at 0 is -inf",
        ),
        (refused(|| new(5, 6).boundary(Side::East, Edge::Periodic)), "the east edge is periodic"),
        (refused(|| new(5, 6).boundaries(Edge::Periodic)), "5 points around a periodic width"),
        (refused(|| new(5, 1).boundary(Side::South, Edge::insulated())), "the slope at the south edge"),
        (
            refused(|| new(90, 70).initial(|x, y| if (x, y) == (80, 61) { f64::NAN } else { 0.0 })),
            "at (80, 61) is NaN",
        ),
        (
            refused(|| new(90, 70).boundary(Side::West, Edge::values(|y| 1.0 / (y as f64 - 60.0)))),
            "the value of the west edge at 60 is inf",
        ),
        (refused(|| new(90, 70).initial(|_, _| f64::MAX)), "overflow at or before iteration 1:"),
        (
            // Infinite values have become no numbers before the first look.
            refused(|| new(90, 70).initial(|_, _| f64::MAX).check_every(60)),
            "overflow at or before iteration 60:",
        ),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}

#[test]
fn a_grid_beyond_memory_is_refused_before_it_is_touched() {
    // Each allocation alone would be granted.
    let Ok(text) = std::fs::read_to_string("/proc/meminfo") else { return };
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
    let bytes = 1024 * kilobytes.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap();
    let side = (1.5 * bytes as f64 / 8.0).sqrt() as usize;
    let error = |grid: fn(usize) -> Grid<'static, f64>| refused(move || grid(side));
    for text in
        [error(|side| Grid::new(side, side)), error(|side| Grid::new(side, side).update(|at| at.west))]
    {
        assert!(text.contains("cannot allocate") && text.contains("use more machines"), "{text}");
    }
}

#[test]
fn a_checkpoint_that_was_cut_short_or_is_of_another_grid_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("field.npy");
    let run = |nodes, size, resume: bool| {
        Machine::threads(nodes).unwrap().run(|node| {
            let before = resume.then(|| Snapshot::<f64>::read(&file)).transpose()?;
            let grid = Grid::new(size, 40).boundaries(Edge::value(1.0)).iterations(4);
            let grid = grid.initial(|x, y| before.as_ref().map_or(0.0, |before| before.at(x, y)));
            grid.solve(node)?.save(node, &file).map_err(Error::program)
        })
    };
    run(3, 30, false).unwrap();
    run(2, 30, true).unwrap();
    let larger = run(2, 31, true).unwrap_err().to_string();
    assert!(larger.contains("the initial value at (30, 0) is NaN"), "{larger}");
    let whole = std::fs::read(&file).unwrap();
    // The last point is no number.
    let mut damaged = whole.clone();
    let last = damaged.len() - 8;
    damaged[last..].copy_from_slice(&f64::NAN.to_le_bytes());
    std::fs::write(&file, damaged).unwrap();
    let error = run(2, 30, true).unwrap_err().to_string();
    assert!(error.contains("the initial value at (29, 39) is NaN"), "{error}");
    for (end, expected) in
        [(whole.len() - 1, "it was cut short"), (100, "ends within its header"), (0, "not a file of")]
    {
        std::fs::write(&file, &whole[..end]).unwrap();
        let error = run(2, 30, true).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("field.npy"), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    assert!(run(2, 30, true).unwrap_err().to_string().contains("field.npy"));
}

#[test]
fn grids_that_differ_are_refused() {
    let run = Machine::threads(3).unwrap().run(|node| {
        let grid = Grid::<f64>::new(10, 10 + node.rank() / 2);
        Ok(matches!(grid.solve(node), Err(StencilError::Unlike)))
    });
    assert_eq!(run.unwrap(), [true; 3]);
}

#[test]
fn a_node_lost_in_the_middle_ends_the_job_with_its_words() {
    let platform = SimulatedMachine::find("alewife").unwrap();
    let program = |node: &mut Node| {
        // Node 0 is asked for its progress, and is lost; node 2 never comes to the second grid.
        let grid = Grid::<f64>::new(40, 40).boundaries(Edge::value(1.0)).threshold(0.0).iterations(50);
        let grid = grid.progress(|state| assert!(state.iteration < 7, "struck by lightning"));
        if node.rank() == 2 && node.size() == 3 {
            return Err(Error::program("out of power"));
        }
        profile::solve(&grid, node, Layout::new(1, node.size(), 1))?;
        Ok(())
    };
    for nodes in [2, 3, 5] {
        let expected =
            if nodes == 3 { ("node 2", "out of power") } else { ("node 0", "struck by lightning") };
        let threads = Machine::threads(nodes).unwrap().run(program).map(drop).unwrap_err();
        let sim = Machine::sim(&platform, nodes).unwrap().run(program).map(drop).unwrap_err();
        for error in [threads.to_string(), sim.to_string()] {
            assert!(error.contains(expected.0) && error.contains(expected.1), "{error}");
        }
    }
}

#[test]
fn the_best_omega_is_that_of_the_weights() {
    let iterations = |weights: [f64; 4], omega: Option<f64>| {
        let run = Machine::threads(2).unwrap().run(|node| {
            let [west, east, north, south] = weights;
            let grid = Grid::<f64>::new(60, 60).boundaries(Edge::value(1.0)).threshold(1e-8);
            let grid = grid.weights(west, east, north, south);
            let solution = omega.into_iter().fold(grid, |grid, omega| grid.omega(omega)).solve(node)?;
            assert!(solution.converged, "{solution}");
            // Only if they add up to 1 a field of ones is a solution.
            Ok((solution.iterations, solution.values().iter().all(|value| (value - 1.0).abs() < 1e-5)))
        });
        run.unwrap()[0]
    };
    let along = [0.4, 0.4, 0.1, 0.1];
    let (best, ones) = iterations(along, None);
    assert!(ones && best * 5 < iterations(along, Some(1.0)).0, "{best}");
    assert!(!iterations([0.2; 4], None).1);
    assert_eq!(iterations([0.25; 4], Some(1.7)), iterations([0.25; 4], Some(1.7)));
}

#[test]
fn odd_shapes_are_solved() {
    for nodes in [1, 3, 4, 7] {
        Machine::threads(nodes)
            .unwrap()
            .run(|node| {
                for (width, height) in
                    [(1, 1), (1, 200), (200, 1), (2, 3), (31, 37), (10_000, 1), (1, 10_000), (5000, 2)]
                {
                    let grid =
                        Grid::<f64>::new(width, height).boundaries(Edge::value(1.0)).iterations(100_000);
                    let solution = grid.threshold(1e-9).solve(node)?;
                    assert!(solution.converged, "{solution}");
                    assert!(solution.values().iter().all(|value| (value - 1.0).abs() < 1e-3), "{solution}");
                }
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn a_threshold_that_is_not_reached_is_said_and_the_field_is_there() {
    let run = Machine::threads(2).unwrap().run(|node| {
        let seen = RefCell::new(Vec::new());
        let grid = Grid::<f64>::new(30, 30).boundaries(Edge::value(1.0)).threshold(0.0).iterations(10);
        let grid =
            grid.check_every(4).progress(|state| seen.borrow_mut().push((state.iteration, state.residual)));
        let solution = grid.solve(node)?;
        let seen = seen.take();
        if node.rank() == 0 {
            assert_eq!(seen.iter().map(|(iteration, _)| *iteration).collect::<Vec<_>>(), [4, 8, 10]);
            assert_eq!(seen[2].1, solution.residual);
        } else {
            assert_eq!(seen, []);
        }
        assert!(!solution.converged && solution.residual > 0.0 && solution.iterations == 10);
        assert!(solution.gather(node).is_none_or(|values| values.iter().any(|value| *value > 0.0)));
        Ok(solution.to_string())
    });
    assert!(run.unwrap()[0].contains("not converged: largest update"));
}

#[test]
fn pins_decide_or_are_refused() {
    let solve = |text: &'static str, width: usize| {
        Machine::threads(4).unwrap().run(move |node| {
            let options = Options::default().pin(Pin::parse(text)?);
            let grid = Grid::<f64>::new(width, 20).iterations(3);
            let solution = grid.solve_with(node, &options)?;
            let choice = solution.choice.as_ref().ok_or("a choice")?;
            assert!(choice.pinned);
            let Layout { columns, rows, halo, .. } = solution.layout;
            Ok(Layout::new(columns, rows, halo))
        })
    };
    let layout = |columns, rows, halo| Layout::new(columns, rows, halo);
    assert_eq!(solve("stencil=one", 20).unwrap()[0], Layout::ONE);
    assert_eq!(solve("stencil=columns:1:2", 20).unwrap()[3], layout(1, 4, 2));
    assert_eq!(solve("stencil=columns:2:4", 20).unwrap()[0], layout(2, 2, 4));
    assert_eq!(solve("stencil=rows:1:1", 20).unwrap()[0], layout(4, 1, 1));
    let refused = |text, width| solve(text, width).unwrap_err().to_string();
    assert!(refused("stencil=rows:1:8", 20).contains("no block is smaller than its halo"));
    assert!(
        refused("stencil=columns:8:1", 20).contains("does not suit a grid of 20 by 20 points on 4 nodes")
    );
    assert!(refused("stencil=columns:3:1", 20).contains("columns"));
    assert!(refused("stencil=squares", 20).contains("squares"));
    let run = Machine::threads(2).unwrap().run(|node| {
        let pin = Pin::parse("stencil_exchange=typed")?;
        let grid = Grid::<f64>::new(1000, 1000).iterations(1);
        Ok(grid.solve_with(node, &Options::default().pin(pin)).unwrap_err().to_string())
    });
    assert!(run.unwrap()[0].contains("needs nodes that are processes"));
}

#[test]
fn small_grids_stay_on_one_node_and_large_ones_do_not() {
    for nodes in [2, 4] {
        let run = Machine::threads(nodes).unwrap().run(|node| {
            let mut layouts = Vec::new();
            for size in [4, 1000] {
                let solution = Grid::<f64>::new(size, size).iterations(2).solve(node)?;
                layouts.push(solution.layout.nodes());
            }
            Ok(layouts)
        });
        assert_eq!(run.unwrap()[0], [1, nodes]);
    }
}

#[test]
fn a_layout_that_does_not_suit_is_refused() {
    let run = Machine::threads(2).unwrap().run(|node| {
        let layout = Layout::new(3, 1, 1);
        Ok(profile::solve(&Grid::<f64>::new(9, 9), node, layout).unwrap_err().to_string())
    });
    assert!(run.unwrap()[0].contains("3 by 1 blocks, halo 1 does not suit"));
}
