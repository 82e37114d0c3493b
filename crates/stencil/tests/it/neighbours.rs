//! Nine points, functions of the user's, and volumes: equal to the bit to a sequential solver for
//! every layout and number of nodes, and as exact as their order says.

use strata_runtime::{Computing, Error, Machine, Node, simulation::SimulatedMachine};
use strata_stencil::{
    Edge, Grid, Method, Side, Solution, StencilError, Volume, edge::Face, layout::Layout, profile,
    snapshot::Snapshot,
};

/// What holds at a face.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Values,
    Slope,
    Periodic,
}
use At::{Periodic, Slope, Values};

/// How points are updated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nine,
    ByFour,
    ByNine,
    Six,
    BySix,
}

/// A problem; of two dimensions if its depth is 0.
#[derive(Clone, Debug)]
struct Case {
    size: [usize; 3],
    at: [At; 6],
    kind: Kind,
    method: Method,
}

const ITERATIONS: u64 = 4;
const OMEGA: f64 = 0.875;
/// Not symmetric, so that mistaken neighbours are found.
const NINE: [[f64; 3]; 3] = [[0.05, 0.2, 0.075], [0.15, 0.125, 0.1], [0.025, 0.2, 0.0625]];
const SIX: [f64; 6] = [0.1, 0.2, 0.15, 0.25, 0.05, 0.125];
const CORNERS: [f64; 4] = [1.5, -0.25, 0.75, 2.0];

fn initial([x, y, z]: [usize; 3]) -> f64 {
    ((x * 37 + y * 101 + z * 17) % 23) as f64 / 7.0 - 1.0
}

fn along(face: usize, [a, b]: [usize; 2]) -> f64 {
    ((a * 13 + b * 29 + face * 5) % 17) as f64 / 3.0 - 2.0
}

/// A source, so that positions matter.
fn source([x, y, z]: [usize; 3]) -> f64 {
    (x + 3 * y + 7 * z) as f64 / 64.0
}

impl Case {
    fn is_flat(&self) -> bool {
        self.size[2] == 0
    }

    fn settle(&self, node: &mut Node, layout: Layout) -> Result<Solution<f64>, StencilError> {
        let [width, height, depth] = self.size;
        if !self.is_flat() {
            let volume = Volume::new(width, height, depth).initial(|x, y, z| initial([x, y, z]));
            let volume = volume.method(self.method).omega(OMEGA).threshold(0.0).iterations(ITERATIONS);
            let volume = Face::ALL.into_iter().fold(volume, |volume, face| {
                let value = move |at| along(face as usize, at);
                volume.boundary(face, edge(self.at[face as usize], value))
            });
            let volume = match self.kind {
                Kind::Six => volume.weights(SIX),
                _ => volume.update(|at| {
                    let sides = (at.west - at.east) * 0.125 + (at.north - at.south) * 0.25;
                    sides + (at.top - at.bottom) * 0.0625 + 0.5 * at.here + source([at.x, at.y, at.z])
                }),
            };
            return profile::solve_volume(&volume, node, layout);
        }
        let grid = Grid::new(width, height).initial(|x, y| initial([x, y, 0]));
        let grid = grid.method(self.method).omega(OMEGA).iterations(ITERATIONS);
        // Without a threshold, waves go on from one iteration to the next.
        let grid = if layout.columns.is_multiple_of(2) { grid.threshold(0.0) } else { grid.no_threshold() };
        let grid = Side::ALL.into_iter().fold(grid, |grid, side| {
            grid.boundary(side, edge(self.at[side as usize], move |at| along(side as usize, [at, 0])))
        });
        let [a, b, c, d] = CORNERS;
        let grid = match self.kind {
            Kind::Nine => grid.weights_nine(NINE),
            Kind::ByFour => grid.update(|at| {
                0.25 * (at.west - at.east) + 0.125 * (at.north - at.south) + source([at.x, at.y, 0])
            }),
            _ => grid.corners(a, b, c, d).update_nine(|at| {
                let [[nw, n, ne], [w, here, e], [sw, s, se]] = at.around;
                0.125 * ((nw - ne) + (sw - se) + (n - s))
                    + 0.25 * (w - e)
                    + 0.5 * here
                    + source([at.x, at.y, 0])
            }),
        };
        profile::solve(&grid, node, layout)
    }

    /// A value in or one step around the problem, straight from what is said of edges.
    fn value(&self, points: &[f64], place: [isize; 3]) -> f64 {
        let size = self.size.map(|points| points.max(1) as isize);
        let out = |way: usize| !(0..size[way]).contains(&place[way]);
        // Which face lies beyond.
        let face = |way: usize| 2 * way + usize::from(place[way] >= 0);
        let position = |way: usize| match self.at[2 * way] {
            Periodic => place[way].rem_euclid(size[way]) as usize,
            _ => place[way].clamp(0, size[way] - 1) as usize,
        };
        let along_face = |way: usize| match way {
            0 => [position(1), position(2)],
            1 => [position(0), position(2)],
            _ => [position(0), position(1)],
        };
        if let Some(way) = (0..3).find(|way| out(*way) && self.at[face(*way)] == Slope) {
            let mut inside = place;
            inside[way] = if place[way] < 0 { 1 } else { size[way] - 2 };
            return self.value(points, inside) + along(face(way), along_face(way));
        }
        if let Some(way) = (0..3).find(|way| out(*way) && self.at[face(*way)] == Periodic) {
            let mut inside = place;
            inside[way] = place[way].rem_euclid(size[way]);
            return self.value(points, inside);
        }
        match [0, 1, 2].map(out) {
            [true, true, _] if self.kind == Kind::Nine => {
                let inside = |way: usize| if place[way] < 0 { 0 } else { size[way] - 1 };
                let beside = [[place[0], inside(1), 0], [inside(0), place[1], 0]];
                0.5 * (self.value(points, beside[0]) + self.value(points, beside[1]))
            }
            [true, true, _] => CORNERS[usize::from(place[0] >= 0) + 2 * usize::from(place[1] >= 0)],
            [true, ..] => along(face(0), along_face(0)),
            [_, true, _] => along(face(1), along_face(1)),
            [.., true] => along(face(2), along_face(2)),
            _ => points[((place[2] * size[1] + place[1]) * size[0] + place[0]) as usize],
        }
    }

    fn target(&self, points: &[f64], at: [usize; 3]) -> f64 {
        let near = |dx: isize, dy: isize, dz: isize| {
            self.value(points, [at[0] as isize + dx, at[1] as isize + dy, at[2] as isize + dz])
        };
        let [w, e, n, s] = [near(-1, 0, 0), near(1, 0, 0), near(0, -1, 0), near(0, 1, 0)];
        let here = near(0, 0, 0);
        if !self.is_flat() {
            let [t, b] = [near(0, 0, -1), near(0, 0, 1)];
            return match self.kind {
                Kind::Six => {
                    [w, e, n, s, t, b].iter().zip(SIX).fold(0.0, |sum, (v, weight)| sum + weight * v)
                }
                _ => (w - e) * 0.125 + (n - s) * 0.25 + (t - b) * 0.0625 + 0.5 * here + source(at),
            };
        }
        if self.kind == Kind::ByFour {
            return 0.25 * (w - e) + 0.125 * (n - s) + source(at);
        }
        let [nw, ne, sw, se] = [near(-1, -1, 0), near(1, -1, 0), near(-1, 1, 0), near(1, 1, 0)];
        if self.kind == Kind::ByNine {
            return 0.125 * ((nw - ne) + (sw - se) + (n - s)) + 0.25 * (w - e) + 0.5 * here + source(at);
        }
        let [[a, b, c], [d, m, f], [g, h, i]] = NINE;
        let pairs = [(d, w), (f, e), (b, n), (h, s), (a, nw), (c, ne), (g, sw), (i, se)];
        pairs.into_iter().fold(m * here, |sum, (weight, value)| sum + weight * value)
    }

    /// The points after all iterations, and the largest update of the last.
    fn expected(&self) -> (Vec<f64>, f64) {
        let [width, height, depth] = self.size.map(|points| points.max(1));
        let all =
            (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])));
        let mut points: Vec<f64> = all.clone().map(initial).collect();
        let colours = match (self.method, self.kind) {
            (Method::Jacobi, _) => 1,
            (_, Kind::Nine | Kind::ByNine) => 4,
            _ => 2,
        };
        let mut most = 0.0;
        for _ in 0..ITERATIONS {
            most = 0.0;
            for colour in 0..colours {
                let before = points.clone();
                for (place, [x, y, z]) in all.clone().enumerate() {
                    let own = match colours {
                        1 => 0,
                        2 => (x + y + z) % 2,
                        _ => x % 2 + 2 * (y % 2),
                    };
                    if own == colour {
                        let change = OMEGA * (self.target(&before, [x, y, z]) - before[place]);
                        points[place] = before[place] + change;
                        most = f64::max(most, change.abs());
                    }
                }
            }
        }
        (points, most)
    }
}

fn edge<'a, P: 'a>(at: At, value: impl Fn(P) -> f64 + 'a) -> Edge<'a, f64, P> {
    match at {
        Values => Edge::values(value),
        Slope => Edge::slope(value),
        Periodic => Edge::Periodic,
    }
}

/// All kinds and methods on a grid of this size, or a volume.
fn cases(size: [usize; 3]) -> Vec<Case> {
    let edges = [
        [Values; 6],
        [Slope; 6],
        [Values, Slope, Slope, Values, Slope, Values],
        [Periodic, Periodic, Values, Slope, Slope, Values],
        [Slope, Values, Periodic, Periodic, Values, Slope],
        [Values, Slope, Slope, Slope, Periodic, Periodic],
        [Periodic; 6],
    ];
    let kinds: &[Kind] =
        if size[2] == 0 { &[Kind::Nine, Kind::ByFour, Kind::ByNine] } else { &[Kind::Six, Kind::BySix] };
    let mut all = Vec::new();
    for at in edges {
        for &kind in kinds {
            all.extend([Method::RedBlack, Method::Jacobi].map(|method| Case { size, at, kind, method }));
        }
    }
    let ways = if size[2] == 0 { 0..2 } else { 0..3 };
    all.retain(|case| {
        let kinds = |way: usize| [case.at[2 * way], case.at[2 * way + 1]];
        let odd = |way: usize| size[way] % 2 == 1 && kinds(way)[0] == Periodic;
        let thin = |way: usize| size[way] < 2 && kinds(way).contains(&Slope);
        ways.clone().all(|way| !(thin(way) || odd(way) && case.method == Method::RedBlack))
    });
    all
}

/// Solves with layouts that suit, and compares. Returns how many did.
fn compare(node: &mut Node, case: &Case) -> Result<usize, Error> {
    let (expected, residual) = case.expected();
    let nodes = node.size();
    let blocks = (1..=nodes)
        .filter(|columns| nodes.is_multiple_of(*columns))
        .flat_map(|columns| [1, 2, 3, 4].map(|halo| Layout::new(columns, nodes / columns, halo)));
    let balanced = Layout { extra: [1, 1], ..Layout::new(1, nodes, 2) };
    let mut suited = 0;
    for layout in [Layout::ONE, balanced].into_iter().chain(blocks) {
        let solution = match case.settle(node, layout) {
            Err(StencilError::Layout(_)) => continue,
            other => other?,
        };
        suited += 1;
        assert_eq!((solution.iterations, solution.residual), (ITERATIONS, residual), "{layout} {case:?}");
        if let Some(points) = solution.gather(node) {
            assert!(points == expected, "{layout} {case:?}");
        }
    }
    Ok(suited)
}

const SIZES: [[usize; 3]; 7] =
    [[12, 10, 0], [7, 16, 0], [1, 9, 0], [13, 1, 0], [6, 8, 10], [5, 7, 4], [1, 9, 3]];

#[test]
fn every_layout_on_threads_is_the_sequential_solver() {
    for nodes in [1, 2, 3, 4, 6, 8, 16] {
        let suited = Machine::threads(nodes).unwrap().run(|node| {
            // Other cases with other numbers of nodes; many nodes take turns at few cores.
            let step = if node.size() > 4 { 13 } else { 4 };
            SIZES
                .into_iter()
                .flat_map(cases)
                .skip(node.size() % 4)
                .step_by(step)
                .try_fold(0, |sum, case| Ok(sum + compare(node, &case)?))
        });
        assert!(suited.unwrap()[0] > 20, "{nodes}");
    }
}

#[test]
fn every_layout_on_simulated_machines_is_the_sequential_solver() {
    for (platform, nodes) in
        [("cm5", 1), ("cm5", 2), ("atm", 3), ("cm5", 4), ("alewife", 6), ("paragon", 8), ("atm", 16)]
    {
        let platform = SimulatedMachine::find(platform).unwrap();
        let program = |node: &mut Node| {
            let all = [[12, 10, 0], [6, 8, 10]].into_iter().flat_map(cases);
            all.step_by(3).try_fold(0, |sum, case| Ok(sum + compare(node, &case)?))
        };
        let run =
            |computing| Machine::sim(&platform, nodes).unwrap().computing(computing).run(program).unwrap();
        assert!(run(Computing::Kernels).results[0] > 20, "{nodes}");
    }
}

#[test]
fn a_skeleton_takes_the_time_of_the_whole() {
    let platform = SimulatedMachine::find("paragon").unwrap();
    let program = |node: &mut Node| {
        for case in [[12, 10, 0], [6, 8, 10]].map(|size| cases(size)[4].clone()) {
            for layout in [Layout::ONE, Layout::new(2, 3, 2), Layout::new(1, 6, 1)] {
                case.settle(node, layout).ok();
            }
        }
        Ok(node.now())
    };
    let run = |computing| Machine::sim(&platform, 6).unwrap().computing(computing).run(program).unwrap();
    let (whole, skeleton) = (run(Computing::Kernels), run(Computing::Skeleton));
    assert_eq!((whole.times, whole.results), (skeleton.times, skeleton.results));
}

/// The orders by which errors fall from each number of points a side to the next.
fn orders(points: &[usize], error: impl Fn(&mut Node, usize) -> Result<f64, Error> + Sync) -> Vec<f64> {
    let errors = Machine::threads(2)
        .unwrap()
        .run(|node| points.iter().map(|n| error(node, *n)).collect::<Result<Vec<_>, _>>())
        .unwrap();
    let spacing = |n: usize| 1.0 / (n as f64 + 1.0);
    let pairs = errors[0].windows(2).zip(points.windows(2));
    pairs.map(|(e, n)| (e[0] / e[1]).ln() / (spacing(n[0]) / spacing(n[1])).ln()).collect()
}

/// The greatest error of a solution on node 0; 0 on others.
fn error_of(
    node: &mut Node,
    solution: &Solution<f64>,
    exact: impl Fn(usize, usize, usize) -> f64,
) -> Result<f64, Error> {
    assert!(solution.converged, "{solution}");
    let [width, height] = solution.size();
    let error =
        |(i, value): (usize, &f64)| (value - exact(i % width, i / width % height, i / width / height)).abs();
    let gathered = solution.gather(node).unwrap_or_default();
    Ok(gathered.iter().enumerate().map(error).fold(0.0, f64::max))
}

#[test]
fn errors_of_nine_points_fall_with_the_sixth_power_of_the_spacing() {
    let exact = |x: f64, y: f64| (2.0 * x).exp() * (2.0 * y).sin();
    let orders = orders(&[3, 5, 7], |node, n| {
        let h = 1.0 / (n as f64 + 1.0);
        let at = |i: usize| (i as f64 + 1.0) * h;
        let solution = Grid::<f64>::new(n, n)
            .weights_nine(Grid::<f64>::LAPLACE_NINE)
            .boundary(Side::West, Edge::values(|y| exact(0.0, at(y))))
            .boundary(Side::East, Edge::values(|y| exact(1.0, at(y))))
            .boundary(Side::North, Edge::values(|x| exact(at(x), 0.0)))
            .boundary(Side::South, Edge::values(|x| exact(at(x), 1.0)))
            .corners(exact(0.0, 0.0), exact(1.0, 0.0), exact(0.0, 1.0), exact(1.0, 1.0))
            .threshold(1e-15)
            .solve(node)?;
        error_of(node, &solution, |x, y, _| exact(at(x), at(y)))
    });
    assert!(orders.iter().all(|order| (5.6..6.4).contains(order)), "{orders:?}");
}

#[test]
fn errors_of_a_source_fall_with_the_square_of_the_spacing() {
    // −Δu = 5π² sin πx sin 2πy.
    let exact = |x: f64, y: f64| {
        let pi = std::f64::consts::PI;
        (pi * x).sin() * (2.0 * pi * y).sin()
    };
    for method in [Method::RedBlack, Method::Jacobi] {
        let orders = orders(&[9, 15, 23], |node, n| {
            let h = 1.0 / (n as f64 + 1.0);
            let at = |i: usize| (i as f64 + 1.0) * h;
            let strength = 5.0 * std::f64::consts::PI.powi(2) * h * h;
            let solution = Grid::<f64>::new(n, n)
                .update(|p| 0.25 * (p.west + p.east + p.north + p.south + strength * exact(at(p.x), at(p.y))))
                .omega(if method == Method::Jacobi { 1.0 } else { 1.7 })
                .method(method)
                .threshold(1e-13)
                .solve(node)?;
            error_of(node, &solution, |x, y, _| exact(at(x), at(y)))
        });
        assert!(orders.iter().all(|order| (1.9..2.1).contains(order)), "{method:?} {orders:?}");
    }
}

#[test]
fn errors_of_volumes_fall_with_the_square_of_the_spacing() {
    // Harmonic: 2² + 2² − (√8)² = 0.
    let exact = |x: f64, y: f64, z: f64| (2.0 * x + 2.0 * y).exp() * (8.0_f64.sqrt() * z).sin();
    for slope in [false, true] {
        let orders = orders(&[5, 11, 19], |node, n| {
            let h = 1.0 / (n as f64 + 1.0);
            let at = |i: usize| (i as f64 + 1.0) * h;
            // With a slope the first column lies on the face itself: a point more.
            let (width, first) = if slope { (n + 1, 0) } else { (n, 1) };
            let x_at = |i: usize| (i + first) as f64 * h;
            let values = |x: f64| Edge::values(move |[y, z]: [usize; 2]| exact(x, at(y), at(z)));
            let west = match slope {
                true => Edge::slope(move |[y, z]: [usize; 2]| -2.0 * h * 2.0 * exact(0.0, at(y), at(z))),
                false => values(0.0),
            };
            let solution = Volume::<f64>::new(width, n, n)
                .boundary(Face::West, west)
                .boundary(Face::East, values(1.0))
                .boundary(Face::North, Edge::values(move |[x, z]: [usize; 2]| exact(x_at(x), 0.0, at(z))))
                .boundary(Face::South, Edge::values(move |[x, z]: [usize; 2]| exact(x_at(x), 1.0, at(z))))
                .boundary(Face::Top, Edge::values(move |[x, y]: [usize; 2]| exact(x_at(x), at(y), 0.0)))
                .boundary(Face::Bottom, Edge::values(move |[x, y]: [usize; 2]| exact(x_at(x), at(y), 1.0)))
                .threshold(1e-12)
                .solve(node)?;
            error_of(node, &solution, |x, y, z| exact(x_at(x), at(y), at(z)))
        });
        assert!(orders.iter().all(|order| (1.7..2.2).contains(order)), "{slope} {orders:?}");
    }
}

#[test]
fn what_is_wrong_with_weights_functions_and_volumes_is_said_on_every_node() {
    let refused = |solve: fn(&mut Node) -> Result<Solution<f64>, StencilError>| {
        let errors = Machine::threads(3).unwrap().run(move |node| Ok(solve(node).unwrap_err().to_string()));
        let errors = errors.unwrap();
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        errors[0].clone()
    };
    let cases: [(String, &str); 10] = [
        (refused(|node| Volume::new(0, 4, 4).solve(node)), "a volume of 0 by 4 by 4 points"),
        (refused(|node| Volume::new(1 << 20, 1 << 20, 1 << 20).solve(node)), "at most 2^48"),
        (refused(|node| Volume::new(1 << 15, 1 << 16, 1 << 15).solve(node)), "cannot allocate"),
        (
            refused(|node| Volume::new(5, 4, 4).boundaries(Edge::Periodic).solve(node)),
            "5 points around a periodic width",
        ),
        (
            refused(|node| Volume::new(4, 4, 1).boundary(Face::Top, Edge::insulated()).solve(node)),
            "the slope at the top edge needs two points",
        ),
        (
            refused(|node| {
                let hole = |x, y, z| if [x, y, z] == [3, 4, 5] { f64::NAN } else { 0.0 };
                Volume::new(9, 9, 9).initial(hole).solve(node)
            }),
            "the initial value at (3, 4, 5) is NaN",
        ),
        (
            refused(|node| {
                let wall = Edge::values(|[x, z]: [usize; 2]| 1.0 / (x as f64 - 7.0) / (z as f64 + 1.0));
                Volume::new(9, 9, 9).boundary(Face::South, wall).solve(node)
            }),
            "the value of the south face at (7, 0) is inf",
        ),
        (
            refused(|node| Grid::new(9, 9).weights_nine([[0.2; 3]; 3]).solve(node)),
            "their magnitudes add up to at most 1",
        ),
        (
            refused(|node| {
                Grid::new(9, 9)
                    .weights_nine(Grid::<f64>::LAPLACE_NINE)
                    .corners(0.0, f64::NAN, 0.0, 0.0)
                    .solve(node)
            }),
            "the value of the north edge",
        ),
        (
            refused(|node| {
                Grid::new(90, 90).update(|at| if at.x + at.y == 150 { f64::NAN } else { 0.0 }).solve(node)
            }),
            "an update of your own must return finite numbers",
        ),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}

#[test]
fn volumes_are_saved_and_gone_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("room.npy");
    let room = || Volume::<f64>::new(7, 6, 5).boundaries(Edge::value(1.0)).no_threshold();
    let run = |nodes| Machine::threads(nodes).unwrap();
    let whole = run(1).run(|node| Ok(room().iterations(9).solve(node)?.gather(node))).unwrap();
    run(3)
        .run(|node| {
            let solution = profile::solve_volume(&room().iterations(4), node, Layout::new(3, 1, 2))?;
            solution.save(node, &file).map_err(Error::program)
        })
        .unwrap();
    let rest = run(4).run(|node| {
        let before = Snapshot::<f64>::read(&file)?;
        assert_eq!((before.size(), before.depth()), ([7, 6], 5));
        let room = room().initial(move |x, y, z| before.at_plane(x, y, z)).iterations(5);
        Ok(profile::solve_volume(&room, node, Layout::new(2, 2, 1))?.gather(node))
    });
    assert!(whole[0].is_some() && rest.unwrap()[0] == whole[0]);
}
