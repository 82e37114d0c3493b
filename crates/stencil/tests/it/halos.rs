//! Halos of a program's own arrays, on threads and simulated machines.
//!
//! The long version, of two minutes: `cargo test -p strata-stencil --test it long_random -- --ignored`.

use crate::common::halos::check;
use strata_runtime::{Computing, prelude::*, simulation::SimulatedMachine};
use strata_stencil::halo::HaloBuilder;
use strata_stencil::{Grid, Halo, Options, Pin, Way, halo::HaloError};

const NODES: [usize; 7] = [1, 2, 3, 4, 5, 6, 8];

fn nodes_of(seed: u64) -> usize {
    NODES[(seed / 16 % NODES.len() as u64) as usize]
}

fn on_threads(seeds: impl Iterator<Item = u64>) -> Result<(), Error> {
    for seed in seeds {
        Machine::threads(nodes_of(seed))?.run(|node| check(node, seed))?;
    }
    Ok(())
}

/// The seed is also that of the network, which delivers packets out of order.
fn on_simulated_machines(seeds: impl Iterator<Item = u64>) -> Result<(), Error> {
    let cm5 = SimulatedMachine::find("cm5")?;
    for seed in seeds {
        Machine::sim(&cm5, nodes_of(seed))?.seed(seed).run(|node| check(node, seed))?;
    }
    Ok(())
}

#[test]
fn random_halos_on_threads_are_the_global_array() -> Result<(), Error> {
    on_threads(0..300)
}

#[test]
fn random_halos_on_simulated_machines_are_the_global_array() -> Result<(), Error> {
    on_simulated_machines(1000..1300)
}

#[test]
#[ignore = "takes two minutes"]
fn long_random_halos_are_the_global_array() -> Result<(), Error> {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = since_1970.unwrap_or_default().as_secs() << 20;
    println!("seeds from {first}");
    let start = std::time::Instant::now();
    for seed in (first..).take_while(|_| start.elapsed().as_secs() < 120) {
        on_threads(seed..=seed)?;
        on_simulated_machines(seed..=seed)?;
    }
    Ok(())
}

/// The first error of a program on threads.
fn error_of(nodes: usize, program: impl Fn(&mut Node) -> Result<(), Error> + Sync) -> String {
    match Machine::threads(nodes).unwrap().run(program) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The error with which every one of the nodes is refused.
fn refused_on_all(
    nodes: usize,
    halo: impl Fn(usize) -> Result<HaloBuilder<f64, 2>, Error> + Sync,
) -> Vec<String> {
    let run = Machine::threads(nodes).unwrap().run(|node| {
        let told = match halo(node.rank())?.prepare(node) {
            Ok(halo) => halo.to_string(),
            Err(error) => error.to_string(),
        };
        // Nobody waits for a node that was refused.
        node.barrier();
        Ok(told)
    });
    run.unwrap()
}

#[test]
fn what_is_wrong_with_a_halo_is_said_on_every_node() {
    let told = |extents: [[usize; 2]; 3], width| {
        refused_on_all(3, move |rank| Ok(Halo::around(extents[rank]).width(width)))
    };
    let wide = "node 1 has 2 elements along axis 0, fewer than the halo of 3 of its neighbour: use fewer nodes \
                along this axis, or a narrower halo";
    assert_eq!(told([[4, 5], [2, 5], [4, 5]], 3), [wide; 3]);
    let unlike = "nodes 1 and 2 are neighbours along axis 0 and disagree: the extent of axis 1 is 5 on the first, 6 \
                  on the second";
    assert_eq!(told([[4, 5], [4, 5], [4, 6]], 1), [unlike; 3]);
    assert_eq!(
        told([[4, 5], [0, 5], [4, 5]], 1),
        [
            "the halo of node 1 was refused there",
            "an array of [0, 5] elements: at least one along each axis, and all within memory",
            "the halo of node 1 was refused there"
        ]
    );
    let one = |halo: fn(HaloBuilder<f64, 2>) -> HaloBuilder<f64, 2>| {
        let told = refused_on_all(2, move |_| Ok(halo(Halo::around([4, 6]).width(1))));
        assert_eq!(told[0], told[1]);
        told[0].clone()
    };
    assert!(
        one(|halo| halo.nodes([2, 2])).contains("a process grid of [2, 2] nodes: their product must be 2")
    );
    assert!(one(|halo| halo.nodes([0, 2])).contains("a process grid of [0, 2] nodes"));
    assert!(one(|halo| halo.fields(0)).contains("no fields"));
    assert!(
        one(|halo| halo.fields(1 << 60)).contains("fields of 48 elements each are more than memory can hold")
    );
    // Fewer bytes than addresses, and more than there is memory.
    assert!(!cfg!(target_os = "linux") || one(|halo| halo.fields(1 << 40)).contains("than memory can hold"));
    assert!(
        one(|halo| halo.allocated([6, 7], [1, 1]))
            .starts_with("axis 1 of the allocated array has 7 elements")
    );
    assert!(
        one(|halo| halo.allocated([6, 8], [0, 1]))
            .starts_with("axis 0 of the allocated array has 6 elements")
    );
    assert!(one(|halo| halo.strided([7, 1], 8)).starts_with("strides [7, 1]"), "a row has 8 elements");
    assert!(one(|halo| halo.strided([8, 1], 8)).starts_with("strides [8, 1]"), "the halo begins at -1");
    assert!(one(|halo| halo.strided([usize::MAX, 1], 8)).starts_with("strides"));
    assert!(one(|halo| halo.widths([[usize::MAX; 2]; 2])).starts_with("an array of [4, 6] elements"));
    assert!(one(|halo| halo.neighbours([[Some(2), None], [None; 2]])).contains("there are 2 nodes"));
    assert!(one(|halo| halo.neighbours([[Some(1), None], [None; 2]])).contains("is not named in return"));
    let axes = Machine::threads(1).unwrap().run(|node| {
        let told =
            [Halo::<u8>::around([]).prepare(node).err(), Halo::<u8>::around([2; 5]).prepare(node).err()];
        Ok(told.map(|error| error.map(|error| error.to_string())))
    });
    let expected = [0, 5].map(|axes| Some(format!("arrays of {axes} axes: halos have 1 to 4")));
    assert_eq!(axes.unwrap(), [expected]);
    let ways = refused_on_all(2, |rank| Ok(Halo::around([4, 6]).way([Way::Packed, Way::Stored][rank])));
    assert_eq!(
        ways,
        ["nodes 0 and 1 disagree: the way (0: by models) is 1 on the first, 2 on the second"; 2]
    );
}

#[test]
fn fields_that_do_not_suit_end_the_job() {
    let told = |program: fn(&mut Halo<f64>, &mut Node) -> Result<(), HaloError>| {
        error_of(2, move |node| {
            let mut halo =
                Halo::around([4, 6]).width(1).fields(1 + usize::from(node.size() > 2)).prepare(node)?;
            // The neighbour waits, and must not wait for ever.
            if node.rank() == 1 {
                Ok(program(&mut halo, node)?)
            } else {
                Ok(halo.exchange(node, [&mut [0.0; 48]])?)
            }
        })
    };
    let short = told(|halo, node| halo.exchange(node, [&mut [0.0; 47]]));
    assert!(short.contains("node 1: field 0 has 47 elements: the halo was prepared for 48"), "{short}");
    let two = told(|halo, node| halo.exchange(node, [&mut [0.0; 48], &mut [0.0; 48]]));
    assert!(two.contains("node 1: 2 fields to exchange: the halo was prepared for 1"), "{two}");
    let lost = told(|halo, node| {
        drop(halo.start(node, [&mut [0.0; 48]])?);
        halo.exchange(node, [&mut [0.0; 48]])
    });
    assert!(lost.contains("an exchange of this halo was started and never finished"), "{lost}");
    let panics = told(|_, _| panic!("out of luck"));
    assert!(panics.contains("out of luck"), "{panics}");
}

#[test]
fn several_halos_are_in_flight_at_once_and_their_ports_come_back() -> Result<(), Error> {
    Machine::threads(3)?.run(|node| {
        let next = (node.rank() + 1) % 3;
        for _ in 0..100 {
            let ring = || Halo::<u64>::around([4]).width(1).periodic([true]);
            let (mut a, mut b) = (ring().prepare(node)?, ring().prepare(node)?);
            let [mut of_a, mut of_b] = [10, 20].map(|word| [word + node.rank() as u64; 6]);
            let first = a.start(node, [&mut of_a])?;
            let second = b.start(node, [&mut of_b])?;
            second.finish(node);
            first.finish(node);
            assert_eq!((of_a[5], of_b[5]), (10 + next as u64, 20 + next as u64));
        }
        let mut all = Vec::new();
        let full = loop {
            match Halo::<u64>::around([4]).width(1).prepare(node) {
                Ok(halo) => all.push(halo),
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(full, "64 halos are in use: drop those that are not needed");
        // With halos open, solvers and other libraries go on as before.
        Grid::<f64>::new(40, 30).iterations(10).solve(node)?;
        all.into_iter().for_each(|halo| halo.close(node));
        node.uninstall();
        Ok(())
    })?;
    Ok(())
}

#[test]
fn a_skeleton_takes_the_time_of_the_whole() -> Result<(), Error> {
    let cm5 = SimulatedMachine::find("cm5")?;
    for way in [Way::Packed, Way::Stored, Way::Transferred] {
        let times = [Computing::Kernels, Computing::Skeleton].map(|computing| {
            let run = Machine::sim(&cm5, 4)?.computing(computing).run(|node| {
                let halo = Halo::around([20, 30]).widths([[2, 1], [1, 3]]).nodes([2, 2]).periodic([true; 2]);
                let mut halo = halo.corners(true).fields(2).way(way).prepare(node)?;
                let mut fields = [0; 2].map(|_| vec![0.0; if node.is_skeleton() { 0 } else { 23 * 34 }]);
                let start = node.now();
                for _ in 0..3 {
                    let [a, b] = &mut fields;
                    halo.exchange(node, [a, b])?;
                }
                Ok(node.now().get() - start.get())
            });
            Ok::<_, Error>(run?.results)
        });
        let [whole, skeleton] = times;
        assert_eq!(whole?, skeleton?, "{way}");
    }
    Ok(())
}

#[test]
fn a_halo_reports_its_messages_and_its_way() -> Result<(), Error> {
    let reports = Machine::threads(6)?.run(|node| {
        let halo =
            Halo::around([40, 50]).widths([[1, 1], [2, 0]]).nodes([2, 3]).periodic([true, false]).fields(2);
        let halo: Halo<f32> = halo.corners(true).way(Way::Stored).prepare(node)?;
        assert_eq!((halo.way(), halo.choice().is_none()), (Way::Stored, true));
        Ok((halo.neighbours(), halo.bytes(), halo.to_string()))
    })?;
    let (neighbours, bytes, text) = &reports[1];
    assert_eq!(neighbours, &[0, 2, 4]);
    assert_eq!(*bytes, [(2 * 52 + 40 * 2) * 2 * 4, (2 * 52 + 40 * 2) * 2 * 4]);
    assert_eq!(
        text,
        "halo around 40 by 50 elements of 4 bytes, 2 fields, with corners\n  \
         axis 0: 1 of node 4 before, 1 of node 4 after\n  \
         axis 1: 2 of node 0 before, 0 of node 2 after\n\
         node 1 sends 1472 bytes in 3 messages and receives 1472\n\
         stored: given by the program"
    );
    Ok(())
}

#[test]
fn long_rows_are_exchanged_from_where_they_lie() -> Result<(), Error> {
    let cm5 = SimulatedMachine::find("cm5")?;
    for nodes in [1, 2, 3, 5] {
        Machine::threads(nodes)?.run(crate::common::halos::long_rows)?;
        Machine::sim(&cm5, nodes)?.run(crate::common::halos::long_rows)?;
    }
    Ok(())
}

#[test]
fn a_halo_takes_a_pinned_way_and_says_why_it_takes_another() -> Result<(), Error> {
    let of = |nodes: usize, pin: &'static str| {
        let told = Machine::threads(nodes)?.run(|node| {
            let options = Options::default().pin(Pin::parse(pin)?);
            let mut cells = vec![node.rank() as u32; 6];
            let mut halo = Halo::around([4]).width(1).periodic([true]).options(options).prepare(node)?;
            halo.exchange(node, [&mut cells])?;
            assert_eq!(cells[0] as usize, (node.rank() + nodes - 1) % nodes);
            Ok((halo.way(), halo.to_string()))
        });
        Ok::<_, Error>(told?.remove(0))
    };
    for nodes in [1, 2, 3] {
        let (way, text) = of(nodes, "halo_exchange=stored")?;
        assert_eq!(way, Way::Stored, "{text}");
        assert!(text.contains("stored      taken"), "{text}");
    }
    let refused = of(2, "halo_exchange=typed").unwrap_err().to_string();
    assert!(refused.contains("needs nodes that are processes"), "{refused}");
    let (way, text) = of(1, "stencil_exchange=stored:0")?;
    assert_eq!(way, Way::Packed);
    assert!(text.ends_with("packed: no node has another one as its neighbour"), "{text}");
    Ok(())
}

/// By models of which packed halos take 2 ns a byte, and stored ones 10 µs and 1 ns a byte.
#[test]
fn models_choose_packed_halos_for_little_and_stored_ones_for_much() -> Result<(), Error> {
    let inputs = ["messages", "fields", "rows", "row"];
    let each = |each: &dyn Fn(&str) -> String| inputs.map(each).join(", ");
    let model = |name: &str, start: f64, byte: f64| {
        let inputs = each(&|input| format!("{{ name = \"{input}\", min = 1.0, max = 1e9 }}"));
        let term = |term: &str, coefficient: f64| {
            format!(
                "{{ term = \"{term}\", coefficient = {coefficient:e}, relevant = {} }}",
                coefficient > 0.0
            )
        };
        let terms = [term("1", start), term("messages*fields*rows*row", byte)].join(", ");
        format!("[[models]]\nname = \"{name}\"\ninputs = [{inputs}]\nterms = [{terms}]\nmean_time = 1e-5\n")
    };
    let names = each(&|input| format!("\"{input}\""));
    let candidate = |name: &str, model: &str| {
        let head = "[[libraries.candidates]]";
        format!("{head}\nname = \"{name}\"\nmodel = \"{model}\"\narguments = [{names}]\n")
    };
    let set = [
        "strata-models = 1\n".to_owned(),
        model("Packed", 0.0, 2e-9),
        model("Stored", 1e-5, 1e-9),
        format!("[[libraries]]\nname = \"halo_exchange\"\ninputs = [{names}]\n"),
        candidate("packed", "Packed"),
        candidate("stored", "Stored"),
    ];
    let file = tempfile::NamedTempFile::new().map_err(Error::program)?;
    std::fs::write(&file, set.concat()).map_err(Error::program)?;
    // Of so many numbers of 8 bytes in a row; one row goes to each of two neighbours.
    for (row, way) in [(10, Way::Packed), (500, Way::Packed), (1000, Way::Stored), (50_000, Way::Stored)] {
        let taken = Machine::threads(3)?.run(|node| {
            let halo = Halo::<f64>::around([4, row]).widths([[1, 1], [0, 0]]).periodic([true, false]);
            let halo = halo.nodes([3, 1]).options(Options::default().models(file.path())).prepare(node)?;
            Ok((halo.way(), halo.choice().is_some()))
        })?;
        assert_eq!(taken, [(way, true); 3], "rows of {row}");
    }
    Ok(())
}

#[cfg(feature = "ndarray")]
#[test]
fn views_of_large_elements_are_packed() -> Result<(), Error> {
    // One element is as long as a row that is sent from where it lies.
    type Large = [u64; 1024];
    for nodes in [1, 2, 3] {
        Machine::threads(nodes)?.run(|node| {
            let halo = Halo::<Large>::around([2]).width(1).periodic([true]).way(Way::Stored).views();
            let mut mine = ndarray::Array1::from_elem(4, [node.rank() as u64; 1024]);
            halo.prepare(node)?.exchange_views(node, [mine.view_mut()])?;
            let around = [(node.rank() + nodes - 1) % nodes, (node.rank() + 1) % nodes];
            assert_eq!([mine[0], mine[3]], around.map(|node| [node as u64; 1024]));
            Ok(())
        })?;
    }
    Ok(())
}

#[cfg(feature = "ndarray")]
#[test]
fn views_with_any_strides_are_exchanged_as_slices() -> Result<(), Error> {
    for (nodes, way) in [(1, Way::Packed), (2, Way::Stored), (4, Way::Transferred), (6, Way::Typed)] {
        Machine::threads(nodes)?.run(|node| crate::common::halos::views(node, way))?;
    }
    Ok(())
}
