//! What the linker grants and refuses.

use proptest::prelude::*;
use strata_model::ModelSet;
use strata_tcs::barrier::{Algorithm, Signal, Way};
use strata_tcs::{App, Image, LinkError, Options, Placement, Shape, Sure, Target, TaskId, link, link_with};

strata_tcs::communication! {
    networks { Data, More, Never }
    sets { Go: Data; Both: Data, More; Other: More; }
}

/// Cells that are equally far from each other, with links of 8 bytes a cycle by its description.
fn known(cells: usize) -> Target {
    Target { link_rate: Some(8.0), overhead: 0.0, hop: 10.0, ..Target::crossbar(cells) }
}

/// A machine without budgets.
fn mesh(width: usize, height: usize) -> Target {
    Target { cells: width * height, shape: Shape::Mesh { width, height }, ..known(1) }
}

/// A task of `cells` cells with these connections in one set.
fn star(cells: usize, pairs: &[(usize, usize)]) -> (App, TaskId) {
    let mut app = App::new("test");
    let root = app.task("root", cells);
    for (from, to) in pairs {
        app[root].connect::<f64, Data>(*from, *to);
    }
    app[root].set::<Go>();
    (app, root)
}

fn errors(app: &App, root: TaskId, target: &Target) -> Vec<LinkError> {
    link(app, root, target).err().map_or_else(Vec::new, |errors| errors.all().to_vec())
}

fn only(app: &App, root: TaskId, target: &Target) -> LinkError {
    let errors = errors(app, root, target);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    errors[0].clone()
}

/// The kinds of all errors, in order.
fn kinds(app: &App, root: TaskId, target: &Target) -> Vec<String> {
    let kind = |error: &LinkError| format!("{error:?}").split(' ').next().unwrap_or_default().to_owned();
    errors(app, root, target).iter().map(kind).collect()
}

fn congestion(image: &Image) -> usize {
    image.report().connections().map(|connection| connection.congestion).max().unwrap_or(0)
}

/// Fig 3.4: three cells of the bottom row to the middle of the top one. All rows first: a third of
/// the bandwidth; each over a link of its own: all of it.
#[test]
fn routes_of_figure_3_4_do_not_meet() {
    for (width, height) in [(3, 2), (3, 3)] {
        let bottom = (height - 1) * width;
        let (app, root) = star(width * height, &[(bottom, 1), (bottom + 1, 1), (bottom + 2, 1)]);
        for target in [mesh(width, height), Target { slots: None, ..Target::iwarp(width, height) }] {
            let image = link(&app, root, &target).unwrap();
            assert_eq!(congestion(&image), 1, "{}", image.report());
            let full = target.link_bandwidth();
            assert!(image.report().connections().all(|connection| connection.rate == full));
        }
        // What the left-hand side shows: all along their rows first.
        let rows_first = |from: usize| mesh(width, height).shape.paths(from, 1, width * height)[0].clone();
        let last = |from: usize| rows_first(from).links.last().copied();
        assert_eq!(last(bottom), last(bottom + 1));
        assert_eq!(last(bottom), last(bottom + 2));
    }
}

#[test]
fn rerouting_never_hurts_and_finds_what_order_hides() {
    // Each cell of a torus to the one opposite: 8 paths each.
    let pairs: Vec<_> = (0..16).map(|cell| (cell, (cell / 4 + 2) % 4 * 4 + (cell + 2) % 4)).collect();
    let (app, root) = star(16, &pairs);
    let target = Target { slots: None, ..Target::iwarp(4, 4) };
    let once = link_with(&app, root, &target, &Options { reroute: false, ..Options::default() }).unwrap();
    let again = link(&app, root, &target).unwrap();
    assert!(congestion(&again) <= congestion(&once));
    // 16 paths of 4 hops on 64 links: one each would be best.
    assert!(congestion(&again) <= 2, "{}", again.report());
}

#[test]
fn recursion_is_refused() {
    let mut app = App::new("test");
    let (a, b) = (app.task("a", 2), app.task("b", 2));
    app[a].child("b", b, &[0, 1]);
    app[b].child("a", a, &[1, 0]);
    let error = only(&app, a, &mesh(2, 1));
    assert_eq!(error, LinkError::Recursion { path: vec!["a".into(), "b".into(), "a".into()] });
    assert!(error.to_string().contains("a -> b -> a"));
    let mut app = App::new("test");
    let a = app.task("a", 1);
    app[a].child("itself", a, &[0]);
    assert_eq!(only(&app, a, &mesh(1, 1)), LinkError::Recursion { path: vec!["a".into(), "a".into()] });
}

#[test]
fn children_that_multiply_are_refused() {
    let mut app = App::new("test");
    let tasks: Vec<_> = (0..15).map(|level| app.task(format!("t{level}"), 1)).collect();
    for pair in tasks.windows(2) {
        app[pair[0]].child("a", pair[1], &[0]);
        app[pair[0]].child("b", pair[1], &[0]);
    }
    assert_eq!(only(&app, tasks[0], &mesh(1, 1)), LinkError::TooMany { most: 10_000 });
    assert!(link(&app, tasks[8], &mesh(1, 1)).is_ok());
}

#[test]
fn children_are_inside_their_parents_and_apart_where_wired() {
    let mut app = App::new("test");
    let (root, left, right) = (app.task("root", 3), app.task("left", 2), app.task("right", 2));
    app[left].output::<u32>("out", 1);
    app[right].input::<u32>("in", 0);
    let a = app[root].child("a", left, &[0, 1]);
    let b = app[root].child("b", right, &[1, 2]);
    app[root].wire(a, "out", b, "in");
    assert!(matches!(only(&app, root, &mesh(3, 1)), LinkError::Overlap { cell: 1, .. }));

    let mut app = App::new("test");
    let (root, child) = (app.task("root", 2), app.task("child", 2));
    app[root].child("outside", child, &[1, 2]);
    app[root].child("short", child, &[1]);
    app[root].child("twice", child, &[0, 0]);
    assert_eq!(kinds(&app, root, &mesh(2, 1)), ["OutsideParent", "Cells", "CellTwice"]);
}

#[test]
fn ports_are_bound_once_to_their_like() {
    let mut app = App::new("test");
    let (root, give, take) = (app.task("root", 2), app.task("give", 1), app.task("take", 1));
    app[give].output::<u32>("out", 0);
    app[take].input::<u32>("in", 0);
    app[take].input::<f64>("wide", 0);
    let a = app[root].child("a", give, &[0]);
    let b = app[root].child("b", take, &[1]);
    // Nothing is bound.
    assert_eq!(kinds(&app, root, &mesh(2, 1)), ["Unbound"; 3]);
    // Types differ, twice bound, no such port, wrong direction.
    app[root].wire(a, "out", b, "wide");
    app[root].wire(a, "out", b, "in");
    app[root].wire(a, "exit", b, "in");
    app[root].wire(b, "in", a, "out");
    // Both ends of each wire, the second and later times.
    let (twice, ends) = ("BoundTwice", "Direction");
    let expected = ["PortType", twice, "NoPort", twice, ends, ends, twice, twice];
    assert_eq!(kinds(&app, root, &mesh(2, 1)), expected);
    let text = link(&app, root, &mesh(2, 1)).unwrap_err().to_string();
    assert!(text.contains("has no port `exit`; it has `out`"), "{text}");
    assert!(text.contains("carries `u32`") && text.contains("carries `f64`"), "{text}");
}

#[test]
fn inherited_ports_are_at_the_same_cell() {
    let build = |at: usize, inward: bool| {
        let mut app = App::new("test");
        let root = app.task("root", 3);
        let (give, middle, inner) = (app.task("give", 1), app.task("middle", 2), app.task("inner", 1));
        app[give].output::<u32>("out", 0);
        app[middle].input::<u32>("in", 0);
        if inward {
            app[inner].input::<u32>("in", 0);
        } else {
            app[inner].output::<u32>("in", 0);
        }
        let deep = app[middle].child("deep", inner, &[at]);
        app[middle].inherit(deep, "in", "in");
        let a = app[root].child("a", give, &[0]);
        let b = app[root].child("b", middle, &[1, 2]);
        app[root].wire(a, "out", b, "in");
        (app, root)
    };
    let (app, root) = build(0, true);
    let image = link(&app, root, &mesh(3, 1)).unwrap();
    // One external connection, though two tasks use it; both siblings start together.
    assert_eq!(image.report().task("root").unwrap().external.len(), 1);
    assert_eq!(
        image.report().tasks.iter().map(|task| task.task.as_str()).collect::<Vec<_>>(),
        ["root", "root/a", "root/b", "root/b/deep"]
    );
    let (app, root) = build(1, true);
    assert!(matches!(only(&app, root, &mesh(3, 1)), LinkError::PortCell { at: 1, wanted: 0, .. }));
    let (app, root) = build(0, false);
    assert!(matches!(only(&app, root, &mesh(3, 1)), LinkError::Direction { .. }));
}

#[test]
fn budgets_are_kept_to_the_last() {
    // Cell 0 sends to five others, all of which it needs a slot for.
    let pairs: Vec<_> = (1..6).map(|to| (0, to)).collect();
    let (app, root) = star(6, &pairs);
    let with = |slots| Target { slots: Some(slots), ..Target::crossbar(6) };
    assert!(link(&app, root, &with(5)).is_ok());
    let error = only(&app, root, &with(4));
    assert_eq!(error, LinkError::Slots { cell: 0, task: "root".into(), set: "Go".into(), need: 5, have: 4 });

    // Two reservations on one link.
    let reserve = |rate: f64| {
        let mut app = App::new("test");
        let root = app.task("root", 3);
        let long = app[root].connect::<f64, Data>(0, 2);
        let short = app[root].connect::<f64, Data>(1, 2);
        app[root].set::<Go>();
        app[root].reserve(long, rate);
        app[root].reserve(short, 4e9);
        (app, root)
    };
    let (app, root) = reserve(4e9);
    let image = link(&app, root, &mesh(3, 1)).unwrap();
    assert!(
        image.report().connections().all(|connection| connection.rate == Some(4e9) && connection.reserved)
    );
    let (app, root) = reserve(4.001e9);
    assert!(matches!(only(&app, root, &mesh(3, 1)), LinkError::Bandwidth { need, .. } if need > 8e9));

    // A connection without a reservation needs something that is left.
    let (mut app, root) = reserve(4e9);
    app[root].connect::<f64, Data>(1, 2);
    assert!(matches!(only(&app, root, &mesh(3, 1)), LinkError::Starved { connection: 2, .. }));

    // Barriers: one more with each level.
    let nested = |levels: usize| {
        let mut app = App::new("test");
        let tasks: Vec<_> =
            (0..levels).map(|level| app.task(format!("t{level}"), levels + 1 - level)).collect();
        for level in 1..levels {
            let cells: Vec<_> = (0..=levels - level).collect();
            app[tasks[level - 1]].child("next", tasks[level], &cells);
        }
        (app, tasks[0])
    };
    let iwarp = Target::iwarp(8, 1);
    let (app, root) = nested(4);
    let image = link(&app, root, &iwarp).unwrap();
    let mut ids: Vec<_> = image.report().barriers.iter().map(|barrier| barrier.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3]);
    // A fifth goes by ordinary messages: that of the outermost task, which is used least (§9.2.1).
    let (app, root) = nested(5);
    let image = link(&app, root, &iwarp).unwrap();
    let slow: Vec<_> = image.report().barriers.iter().filter(|barrier| barrier.signal.is_some()).collect();
    assert!(matches!(&slow[..], [slow] if slow.cells.len() == 6 && slow.clocks > 500.0), "{slow:?}");
    assert!(image.report().to_string().contains("by ordinary messages, "));
    let mut ids: Vec<_> = image.report().barriers.iter().filter(|barrier| barrier.signal.is_none()).collect();
    ids.sort_by_key(|barrier| barrier.id);
    assert_eq!(ids.iter().map(|barrier| barrier.id).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let without = Target { signals: Vec::new(), ..iwarp };
    assert_eq!(only(&app, root, &without), LinkError::Barriers { cell: 0, need: 5, have: 4 });
}

/// A signal for barriers.
fn signal(way: Way, pending: Option<usize>, whole: bool) -> Signal {
    Signal { name: "wire".to_owned(), way, pending, whole }
}

/// Wires that combine (S1; S2 if channels take turns), as fast as told.
fn wires(settle: f64, channels: usize, memory: bool) -> Way {
    Way::Combining { settle, cell: 0.5, stage: 2.0, channels, turn: 3.0, memory }
}

/// The linker takes what is cheapest (§4.4): the times are those of §4.3.
#[test]
fn barriers_use_the_signals_that_a_machine_has() {
    let (app, root) = star(16, &[(0, 1)]);
    let of = |signals: Vec<Signal>, barrier| {
        let target = Target { signals, ..Target::iwarp(4, 4) };
        let image = link_with(&app, root, &target, &Options { barrier, ..Options::default() });
        image.map(|image| image.report().barriers[0].clone())
    };
    let chosen = |way: Way| {
        let found = of(vec![signal(way, Some(1), false)], None).unwrap();
        (found.algorithm, found.messages, found.clocks)
    };
    // 16 cells on the wire, in 4 stages: 10 + 8 + 8 clocks; with 4 channels 12 more.
    assert_eq!(chosen(wires(10.0, 1, true)), ("combining".to_owned(), 16, 26.0));
    assert_eq!(chosen(wires(10.0, 4, true)), ("combining".to_owned(), 16, 38.0));
    assert_eq!(chosen(wires(10.0, 1, false)), ("combining, twice".to_owned(), 32, 52.0));
    // N message times, or those of a tree and one more.
    let broadcast = |message, private| chosen(Way::Broadcast { message, private });
    assert_eq!(broadcast(3.0, false), ("broadcasts in turn".to_owned(), 16, 48.0));
    assert_eq!(broadcast(3.0, true), ("tree and broadcast".to_owned(), 16, 15.0));
    // A slow one is left: the machine's own rings take 242 clocks.
    assert_eq!(of(vec![signal(wires(300.0, 1, true), None, false)], None).unwrap().signal, None);
    // What is pinned takes the signal that has it, or none.
    let wire = || vec![signal(wires(300.0, 1, true), None, false)];
    assert_eq!(of(wire(), Some(Algorithm::Combining)).unwrap().signal.as_deref(), Some("wire"));
    assert!(of(wire(), Some(Algorithm::Broadcast)).is_err());
    let wrong = signal(wires(f64::NAN, 0, true), None, false);
    let said = of(vec![wrong], None).unwrap_err().to_string();
    assert!(said.contains("signal `wire` takes NaN cycles") && said.contains("has 0 channels"), "{said}");
}

/// Few fast barriers, for those that are used most: the innermost ones, and those that switch (§9.2.1).
#[test]
fn fast_barriers_go_to_where_they_are_used_most() {
    let mut app = App::new("loops");
    let (root, step, inner) = (app.task("root", 4), app.task("step", 4), app.task("inner", 3));
    let other = app.task("other", 2);
    app[root].child("step", step, &[0, 1, 2, 3]);
    app[step].child("inner", inner, &[0, 1, 2]);
    app[step].child("other", other, &[2, 3]);
    for task in [inner, other] {
        app[task].connect::<u8, Data>(0, 1);
        app[task].connect::<u8, More>(1, 0);
        app[task].set::<Go>();
    }
    // Only `inner` switches.
    app[inner].set::<Other>();
    app[other].set::<Both>();
    let fast = |pending, whole| vec![signal(wires(1.0, 1, true), Some(pending), whole)];
    let by_wire = |signals: Vec<Signal>| -> Vec<Vec<usize>> {
        let image = link(&app, root, &Target { signals, ..Target::iwarp(4, 1) }).unwrap();
        let fast = image.report().barriers.iter().filter(|barrier| barrier.signal.is_some());
        let mut cells: Vec<_> = fast
            .map(|barrier| {
                let mut cells = barrier.cells.clone();
                cells.sort_unstable();
                cells
            })
            .collect();
        cells.sort();
        cells
    };
    // One at a cell: that of three cells at cells 0 to 2, which leaves none there for others.
    assert_eq!(by_wire(fast(1, false)), [vec![0, 1, 2], vec![2, 3]]);
    assert_eq!(by_wire(fast(2, false)), [vec![0, 1, 2], vec![0, 1, 2, 3], vec![2, 3]]);
    // Of all cells, or none.
    assert_eq!(by_wire(fast(2, true)), [vec![0, 1, 2, 3]]);
}

/// Networks and sets of one name in two blocks of a function are two.
#[test]
fn networks_of_one_name_are_told_apart() {
    let mut app = App::new("test");
    let root = app.task("root", 2);
    {
        strata_tcs::communication! { networks { Up } sets { Send: Up; } }
        app[root].connect::<u8, Up>(0, 1);
        app[root].set::<Send>();
    }
    strata_tcs::communication! { networks { Up } sets { Send: Up; } }
    let back = app[root].connect::<u8, Up>(1, 0);
    app[root].set::<Send>();
    let image = link(&app, root, &Target::iwarp(2, 1)).unwrap();
    let from: Vec<Vec<usize>> = image.report().tasks[0]
        .sets
        .iter()
        .map(|set| set.connections.iter().map(|connection| connection.from).collect())
        .collect();
    assert_eq!(from, [[0], [1]]);
    let came = strata_tcs::simulate(&image, |cell| {
        let me = cell.id();
        cell.phase::<Send, _>(|net| {
            if me == 1 {
                net.send(back, &[7]);
            }
            Ok(if me == 0 { net.receive_vec(back)[0] } else { 0 })
        })
    });
    assert_eq!(came.unwrap().results, [7, 0]);
}

/// Where nothing was measured nothing is guaranteed, and nothing can be reserved.
#[test]
fn a_machine_of_unknown_rates_guarantees_nothing() {
    let (mut app, root) = star(3, &[(0, 1), (1, 2)]);
    let wanted = app[root].connect::<f64, Data>(2, 0);
    let unknown = Target::crossbar(3);
    let image = link(&app, root, &unknown).unwrap();
    let report = image.report();
    assert_eq!((report.link_rate, report.connections().find_map(|of| of.rate.or(of.bound))), (None, None));
    let text = report.to_string();
    assert!(
        text.contains("rates of links not known") && text.contains("congestion 1, no guarantee"),
        "{text}"
    );
    app[root].reserve(wanted, 5e6);
    let mean = Target { link_rate: Some(8.0), sure: Sure::Mean, ..Target::crossbar(3) };
    for (target, why) in [(unknown, "nothing was measured"), (mean, "means of measurements")] {
        let refused = only(&app, root, &target).to_string();
        let said = [why, "connection 2 reserves 5000000 bytes a second", "`Target::with_rates`"];
        assert!(said.iter().all(|said| refused.contains(said)), "{refused}");
    }
    assert!(link(&app, root, &known(3)).is_ok());
}

/// A model of blocks as `specc calibrate specs/tcs/bandwidth` fits it; a bound or a mean.
fn stream(bound: &str) -> ModelSet {
    let inputs = ["bytes", "messages", "lanes"]
        .map(|name| format!("{{ name = \"{name}\", min = 1.0, max = 65536.0, integer = true }}"));
    let terms = [("1", 1e-6), ("messages*lanes", 5e-8), ("messages*lanes*bytes", 2e-10)].map(|(term, value)| {
        format!(
            "{{ term = \"{term}\", coefficient = {value:e}, std_error = 0.0, half_width = 0.0, relevant = true }}"
        )
    });
    let zeros = ["[0.0, 0.0, 0.0]"; 3].join(", ");
    let text = format!(
        "strata-models = 1\n[[models]]\nname = \"Stream\"\ninputs = [{}]\n{bound}terms = [{}]\ncovariance = [{zeros}]\n",
        inputs.join(", "),
        terms.join(", ")
    );
    ModelSet::read(&text).unwrap()
}

/// Rates are those of the bound, with what it says about itself.
#[test]
fn measured_rates_are_guaranteed_with_how_sure_they_are() {
    let bound = "upper = { share = 0.99, confidence = 0.95, samples = 400, points = 40, covered = 0.995, \
                 fresh = 0.992, above = 1.2 }\n";
    let target = Target::crossbar(2).with_rates(&stream(bound)).unwrap();
    let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-6, "{found} {wanted}");
    near(target.link_bandwidth().unwrap(), 5e9);
    near(target.message, 50.0);
    near(target.wait, 1000.0);
    let mut app = App::new("test");
    let root = app.task("root", 2);
    let blocks = app[root].connect::<u8, Data>(0, 1);
    app[root].reserve(blocks, 1e9);
    app[root].shortest(blocks, 1000);
    app[root].connect::<u64, Data>(1, 0);
    app[root].set::<Go>();
    let image = link(&app, root, &target).unwrap();
    let report = image.report();
    let text = report.to_string();
    assert!(text.contains("\nmeasured: 99 % of blocks, 95 % sure, by 400 held-out ones\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let all: Vec<_> = report.connections().collect();
    // Alone on their links: a thousand bytes in 250 ns, a word in 51.6.
    near(all[0].bound.unwrap(), 1000.0 + 4096.0 * 0.25);
    near(all[1].rate.unwrap(), 8e9 / 51.6);
    near(all[1].bound.unwrap(), 1000.0 + 4096.0 / 8.0 * 51.6);
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["sure"]["measured"]["blocks"], 400);
    // What is no such model is refused, with the command.
    let empty = ModelSet::read("strata-models = 1\n").unwrap();
    for (set, why) in [(stream(""), "is a mean"), (empty, "has no model `Stream`")] {
        let refused = Target::crossbar(2).with_rates(&set).unwrap_err().to_string();
        assert!(refused.contains(why) && refused.contains("--upper 99% --nodes 2"), "{refused}");
    }
}

/// Messages take time of a measured link besides their bytes: one of 8 bytes here as long as 88.
#[test]
fn short_messages_are_charged_for() {
    let measured = Target { message: 10.0, ..known(2) };
    let linked = |rate: Option<f64>, long: bool| {
        let mut app = App::new("test");
        let root = app.task("root", 2);
        let (word, block) =
            (app[root].connect::<u64, Data>(0, 1), app[root].connect::<[u64; 128], Data>(0, 1));
        rate.inspect(
            |rate| if long { app[root].reserve(block, *rate) } else { app[root].reserve(word, *rate) },
        );
        app[root].set::<Go>();
        link(&app, root, &measured)
            .map(|image| image.report().connections().map(|of| of.rate).collect::<Vec<_>>())
    };
    let near =
        |found: Option<f64>, wanted: f64| assert!((found.unwrap() / wanted - 1.0).abs() < 1e-9, "{found:?}");
    let free = linked(None, false).unwrap();
    near(free[0], 4e9 / 11.0);
    near(free[1], 4e9 / (1.0 + 80.0 / 1024.0));
    let beside = linked(Some(0.5e9), false).unwrap();
    near(beside[1], (8e9 - 5.5e9) / (1.0 + 80.0 / 1024.0));
    assert!(linked(Some(0.8e9), false).is_err() && linked(Some(0.8e9), true).is_ok());
}

/// Children that share a cell never run at once, so that the greatest of them counts; those apart
/// count together (I8).
#[test]
fn what_may_run_at_once_shares_links() {
    let build = |second: &[usize]| {
        let mut app = App::new("test");
        let (root, child) = (app.task("root", 4), app.task("child", 2));
        app[child].connect::<f64, Data>(0, 1);
        app[child].set::<Go>();
        app[root].child("a", child, &[0, 3]);
        app[root].child("b", child, second);
        link(&app, root, &mesh(4, 1)).unwrap()
    };
    assert_eq!(congestion(&build(&[0, 2])), 1);
    assert_eq!(congestion(&build(&[1, 2])), 2);
}

#[test]
fn sets_that_do_not_fit_are_split() {
    // §6.2.2: one cell of 64 to all others, in phases of at most 8.
    let pairs: Vec<_> = (1..64).map(|to| (0, to)).collect();
    let (app, root) = star(64, &pairs);
    let target = Target { slots: Some(8), ..Target::iwarp(8, 8) };
    assert!(matches!(only(&app, root, &target), LinkError::Slots { need: 63, have: 8, .. }));
    let split = Options { split: true, ..Options::default() };
    let image = link_with(&app, root, &target, &split).unwrap();
    let parts: Vec<_> = image.report().task("root").unwrap().set("Go").collect();
    assert_eq!(parts.len(), 8, "63 connections of 8 at a time");
    assert_eq!(parts.iter().map(|part| part.connections.len()).sum::<usize>(), 63);
    assert!(parts.iter().all(|part| part.parts == 8 && part.connections.len() <= 8));
    // By congestion: one connection a link, of which a corner of a mesh has two.
    let once = Options { split: true, congestion: Some(1), ..Options::default() };
    let image = link_with(&app, root, &mesh(8, 8), &once).unwrap();
    assert_eq!(congestion(&image), 1);
}

#[test]
fn a_machine_that_cannot_be_is_refused() {
    let (app, root) = star(2, &[(0, 1)]);
    let refused = |target: Target, told: &str| {
        let found = errors(&app, root, &target);
        assert!(found.iter().any(|error| error.to_string().contains(told)), "{told}: {found:?}");
    };
    refused(Target { cells: 9, ..mesh(2, 2) }, "2 x 2 cells are not the 9 that it has");
    refused(Target { shape: Shape::Torus { width: usize::MAX, height: 2 }, ..mesh(2, 2) }, "are not the 4");
    refused(Target { link_rate: Some(f64::NAN), ..mesh(2, 2) }, "link_rate is NaN");
    refused(Target { mhz: 0.0, ..mesh(2, 2) }, "mhz is 0");
    refused(Target { task_change: f64::INFINITY, ..mesh(2, 2) }, "task_change is inf cycles");
    refused(Target { native_barrier: Some(-1.0), ..mesh(2, 2) }, "native_barrier is -1 cycles");

    let mut app = App::new("test");
    let root = app.task("root", 2);
    let connection = app[root].connect::<f64, Data>(0, 1);
    app[root].depth(connection, 1 << 45);
    app[root].set::<Go>();
    let found = errors(&app, root, &mesh(2, 1));
    assert!(found[0].to_string().contains("at most 1073741824 are set aside"), "{found:?}");
}

#[test]
fn sizes_and_places() {
    let (app, root) = star(0, &[]);
    assert_eq!(only(&app, root, &mesh(2, 1)), LinkError::NoCells { task: "root".into() });
    let (app, root) = star(1, &[]);
    let image = link(&app, root, &Target::iwarp(1, 1)).unwrap();
    assert_eq!(image.report().task("root").unwrap().switch, 0.0);
    let ring: Vec<_> = (0..512).map(|cell| (cell, (cell + 1) % 512)).collect();
    let (app, root) = star(512, &ring);
    assert!(link(&app, root, &Target::iwarp(32, 16)).is_ok());
    assert_eq!(
        only(&app, root, &Target::iwarp(8, 8)),
        LinkError::Machine { target: "iwarp 8x8".into(), need: 512, have: 64 }
    );

    let (app, root) = star(2, &[(0, 1), (2, 1), (1, 1)]);
    assert_eq!(kinds(&app, root, &mesh(2, 1)), ["NoCell", "ToItself"]);

    let (app, root) = star(3, &[(0, 1)]);
    let place = |at: &[usize]| Options { placement: Placement::At(at.to_vec()), ..Options::default() };
    for at in [&[0, 1][..], &[0, 1, 9], &[0, 1, 1]] {
        let refused = link_with(&app, root, &mesh(3, 3), &place(at)).unwrap_err();
        assert!(matches!(refused.all(), [LinkError::Placement { .. }]), "{at:?}: {refused}");
    }
    let far = link_with(&app, root, &mesh(3, 3), &place(&[0, 8, 4])).unwrap();
    assert_eq!(far.report().connections().next().unwrap().hops, 4);
}

#[test]
fn close_placement_brings_partners_together() {
    // A ring whose neighbours are far apart in order.
    let (app, root) = star(16, &(0..16).map(|i| (i * 7 % 16, (i + 1) * 7 % 16)).collect::<Vec<_>>());
    let hops = |placement| {
        let options = Options { placement, ..Options::default() };
        let image = link_with(&app, root, &Target { slots: None, ..Target::iwarp(4, 4) }, &options).unwrap();
        image.report().connections().map(|connection| connection.hops).sum::<usize>()
    };
    assert!(hops(Placement::Close) <= 20, "{} of {}", hops(Placement::Close), hops(Placement::InOrder));
    assert!(hops(Placement::Close) < hops(Placement::InOrder));
}

#[test]
fn what_is_never_active_or_said_of_others_is_told() {
    let mut app = App::new("test");
    let (root, other) = (app.task("root", 2), app.task("other", 2));
    let never = app[root].connect::<f64, Never>(0, 1);
    app[root].set::<Go>();
    app[other].reserve(never, 1.0);
    app[root].connect::<[u8; 0], Data>(0, 1);
    let rated = app[root].connect::<u8, Data>(0, 1);
    app[root].reserve(rated, f64::NAN);
    app[root].depth(rated, 0);
    app[root].input::<u8>("p", 7);
    app[root].input::<u8>("p", 0);
    let of_connections = ["Connection", "Connection", "Connection", "NeverActive"];
    let expected = [&["NoCell"][..], &of_connections, &["Twice", "Foreign", "Unbound", "Unbound"]].concat();
    assert_eq!(kinds(&app, root, &mesh(2, 1)), expected);
}

#[test]
fn barriers_are_chosen_by_cost_and_capacity() {
    let (app, root) = star(64, &[(0, 1)]);
    let of = |target: &Target, barrier| {
        let image = link_with(&app, root, target, &Options { barrier, ..Options::default() });
        image.map(|image| image.report().barriers[0].clone())
    };
    // One sender to a cell: rings only, in two dimensions as it is the whole machine.
    let iwarp = Target::iwarp(8, 8);
    let chosen = of(&iwarp, None).unwrap();
    assert_eq!(chosen.algorithm, "8x8 rings");
    assert!((chosen.clocks / 448.0 - 1.0).abs() < 0.01, "{chosen:?}");
    let ring = of(&iwarp, Some(Algorithm::Ring)).unwrap();
    assert!((ring.clocks / 800.0 - 1.0).abs() < 0.01, "{ring:?}");
    // More senders only by ordinary messages (Fig 4.21: 2532 clocks measured, 3270 predicted).
    let cube = of(&iwarp, Some(Algorithm::Hypercube)).unwrap();
    assert!(cube.signal.is_some() && (2532.0..3270.0).contains(&cube.clocks), "{cube:?}");
    let alone = Target { signals: Vec::new(), ..iwarp.clone() };
    let refused = of(&alone, Some(Algorithm::Hypercube)).unwrap_err();
    assert!(matches!(refused.all(), [LinkError::Algorithm { members: 64, .. }]), "{refused}");
    // Without that limit a logarithm wins; with a barrier of its own, the machine.
    let free = of(&Target::crossbar(64), None).unwrap();
    assert!(["hypercube", "dissemination"].contains(&free.algorithm.as_str()), "{free:?}");
    let native = Target { native_barrier: Some(1.0), ..Target::crossbar(64) };
    assert_eq!(of(&native, None).unwrap().algorithm, "native");
    assert!(of(&iwarp, Some(Algorithm::Native)).is_err());
}

proptest! {
    /// Whatever is described: no panic; and what is granted keeps to the machine.
    #[test]
    fn anything_links_or_is_refused(
        cells in 0usize..10,
        pairs in prop::collection::vec((0usize..10, 0usize..10, 0usize..3, prop::option::of(-1e6..3e7f64)), 0..30),
        slots in 1usize..12,
        split in any::<bool>(),
        wide in any::<bool>(),
    ) {
        let mut app = App::new("any");
        let root = app.task("root", cells);
        for (from, to, network, rate) in pairs {
            match network {
                0 => { let c = app[root].connect::<u8, Data>(from, to); rate.inspect(|r| app[root].reserve(c, *r)); }
                1 => { let c = app[root].connect::<u64, More>(from, to); rate.inspect(|r| app[root].reserve(c, *r)); }
                _ => { let c = app[root].connect_in::<u64, More>(from, to, 1); rate.inspect(|r| app[root].reserve(c, *r)); }
            }
        }
        app[root].set::<Go>();
        app[root].set::<Both>();
        for phase in 0..10 {
            app[root].set_in::<Other>(phase);
        }
        let target = Target { slots: Some(slots), ..if wide { Target::iwarp(9, 1) } else { Target::iwarp(3, 3) } };
        if let Ok(image) = link_with(&app, root, &target, &Options { split, ..Options::default() }) {
            for set in &image.report().tasks[0].sets {
                let mut at = [0; 9];
                set.connections.iter().flat_map(|c| &c.cells).for_each(|cell| at[*cell] += 1);
                prop_assert!(at.iter().all(|need| *need <= slots));
                let total = target.link_bandwidth().unwrap() * (1.0 + 1e-6);
                for connection in &set.connections {
                    let rate = connection.rate.unwrap();
                    prop_assert!(rate > 0.0 && rate <= total);
                }
            }
        }
    }
}

/// External connections reserve and have buffers as internal ones, with the same errors.
#[test]
fn external_connections_reserve_bandwidth() {
    let described = |rate: Option<f64>, depth: usize, beside: Option<f64>| {
        let mut app = App::new("film");
        let root = app.task("film", 2);
        let (camera, screen) = (app.task("camera", 1), app.task("screen", 1));
        app[camera].output::<u64>("signal", 0);
        app[screen].input::<u64>("signal", 0);
        let camera = app[root].child("camera", camera, &[0]);
        let screen = app[root].child("screen", screen, &[1]);
        let signal = app[root].wire(camera, "signal", screen, "signal");
        app[root].depth(signal, depth);
        if let Some(rate) = rate {
            app[root].reserve(signal, rate);
        }
        if let Some(beside) = beside {
            let own = app[root].connect::<u64, Data>(0, 1);
            app[root].reserve(own, beside);
            app[root].set::<Go>();
        }
        (app, root)
    };
    let (app, root) = described(Some(5e6), 64, None);
    let image = link(&app, root, &mesh(2, 1)).unwrap();
    let signal = image.report().tasks[0].external[0].clone();
    assert!(signal.reserved && signal.rate == Some(5e6) && signal.depth == 64, "{signal:?}");
    for (rate, depth) in [(Some(f64::NAN), 64), (Some(0.0), 64), (None, 0), (None, usize::MAX)] {
        let (app, root) = described(rate, depth, None);
        assert!(matches!(only(&app, root, &mesh(2, 1)), LinkError::External { wire: 0, .. }));
    }
    // More than its buffer lets pass until the first report of the receiver is back: 3/4 of 64 bytes in
    // 20 cycles of 1 ns.
    let (app, root) = described(Some(2.5e9), 64, None);
    let slow = only(&app, root, &mesh(2, 1));
    assert!(matches!(slow, LinkError::Window { depth: 64, need: 67.0, .. }), "{slow:?}");
    let (app, root) = described(Some(2.5e9), 67, None);
    assert!(link(&app, root, &mesh(2, 1)).is_ok());
    // Two reservations on one link, and one that leaves nothing. Everything beside it is exceeded.
    let (app, root) = described(Some(5e9), 4096, Some(4e9));
    let found = errors(&app, root, &mesh(2, 1));
    assert!(found.iter().all(|error| matches!(error, LinkError::Bandwidth { .. })), "{found:?}");
    let (app, root) = described(None, 64, Some(8e9));
    let found = errors(&app, root, &mesh(2, 1));
    let starved =
        |error: &LinkError| matches!(error, LinkError::External { what, .. } if what.contains("take all"));
    assert!(found.iter().any(starved), "{found:?}");
}
