//! How cost grows with work and nodes, beside the law that it should follow.
//!
//!     cargo bench -p strata-benches [--features mpi] --bench growth
//!
//! A row takes a cost at several sizes and fits log cost = c + exponent · log size. Single-threaded
//! work is counted in the process's own processor time, so that a neighbour matters little; that of
//! threads and processes by the clock, as the median of batches. The law holds if all of the
//! exponent's 95 % interval lies below the law's and 0.3, as larger data are in slower caches; else
//! it does not if all of it lies above the law's and 0.1; otherwise the points do not tell.

mod tree;

use std::hint::black_box;
use std::time::{Duration, Instant};

use chacha20::ChaCha8Rng;
use clap::Parser;
use nix::time::{ClockId, clock_gettime};
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use strata_benches::{Timings, at_least, columns, jobs, machine};
use strata_fit::{FitOptions, fit_samples, stats::t_quantile};
use strata_model::set::{Library, LibraryCandidate, Model};
use strata_model::{ModelSet, Samples};
use strata_runtime::patterns::{Schedule, all_to_all};
use strata_runtime::prelude::*;
use strata_select::{Question, Row, choose_among};

#[derive(Parser)]
struct Arguments {
    /// Simulated nodes at most: 4 times more from point to point.
    #[arg(long, default_value = "4096", value_parser = at_least(64))]
    nodes: usize,
    /// Samples of a fit at most.
    #[arg(long, default_value = "100000", value_parser = at_least(10_000))]
    samples: usize,
    /// Only nodes that share the cores here, or processes on SimGrid's fat tree.
    #[arg(long, value_enum)]
    only: Option<Only>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Only {
    Cores,
    Tree,
}

struct Growth {
    what: &'static str,
    /// The quantity that is varied.
    over: &'static str,
    /// The exponent that it should have.
    law: f64,
    /// Sizes and costs in seconds.
    points: Vec<(f64, f64)>,
}

impl Growth {
    /// The exponent and the half width of its 95 % interval, by least squares.
    fn exponent(&self) -> (f64, f64) {
        let logs: Vec<(f64, f64)> = self.points.iter().map(|(size, cost)| (size.ln(), cost.ln())).collect();
        let count = logs.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
        let spread: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
        let slope = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
        let left: f64 = logs.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
        let freedom = logs.len().saturating_sub(2);
        let width =
            t_quantile(0.95, freedom).map_or(f64::NAN, |t| t * (left / freedom as f64 / spread).sqrt());
        (slope, width)
    }
}

strata_benches::main!(|arguments: &Arguments| {
    if strata_benches::is_rank() {
        return as_rank();
    }
    println!("{}\n", machine());
    let rows = match arguments.only {
        None => all(arguments)?,
        Some(Only::Cores) => on_shared_cores()?,
        Some(Only::Tree) => tree::rows()?,
    };
    report(&rows);
    Ok::<(), String>(())
});

fn all(arguments: &Arguments) -> Result<Vec<Growth>, String> {
    let mut rows = Vec::new();
    let four_fold = |most: usize| {
        std::iter::successors(Some(16), |size| Some(size * 4)).take_while(move |size| *size <= most)
    };
    let simulated = |what, platform: &str, most: usize, program: fn(&mut Node)| {
        let points = four_fold(most).map(|nodes| an_event(platform, nodes, program));
        Ok::<_, String>(Growth {
            what,
            over: "simulated nodes",
            law: 0.0,
            points: points.collect::<Result<_, _>>()?,
        })
    };
    // An event's time, so that the law does not depend on the algorithm.
    rows.push(simulated("event: barriers, a tree of messages", "paragon", arguments.nodes, |node| {
        (0..20).for_each(|_| node.barrier());
    })?);
    rows.push(simulated("event: all to all of 16 B", "cm5", 1024, |node| {
        let size = node.size();
        let mine = vec![1_u8; 16 * size];
        black_box(all_to_all(node, &mine, Block::zeroed(16 * size), Schedule::Library));
    })?);
    let sizes: Vec<usize> = std::iter::successors(Some(1_000), |size| Some(size * 10))
        .take_while(|size| *size <= arguments.samples)
        .flat_map(|size| [size, size * 3])
        .filter(|size| *size <= arguments.samples)
        .collect();
    let points = sizes.into_iter().map(|samples| Ok((samples as f64, fit(samples, 3)?)));
    rows.push(Growth {
        what: "fit of 3 inputs",
        over: "samples",
        law: 1.0,
        points: points.collect::<Result<_, String>>()?,
    });
    let points = [1, 2, 3, 4, 6, 8].map(|inputs| Ok((inputs as f64, fit(2_000, inputs)?)));
    rows.push(Growth {
        what: "fit of 2,000 samples",
        over: "inputs",
        law: 2.0,
        points: points.into_iter().collect::<Result<_, String>>()?,
    });
    let counts = [1, 3, 10, 30, 100, 300, 1000];
    let choices = counts.map(|models| choose(models).map(|times| (models as f64, times)));
    let choices: Vec<(f64, [f64; 2])> = choices.into_iter().collect::<Result<_, _>>()?;
    for (at, what) in ["reading a model set", "choosing among candidates"].into_iter().enumerate() {
        // Of few models the fixed cost dominates.
        let points = choices.iter().filter(|(models, _)| *models >= 10.0);
        let points = points.map(|(models, times)| (*models, times[at])).collect();
        rows.push(Growth { what, over: "models", law: 1.0, points });
    }
    rows.extend(on_shared_cores()?);
    rows.extend(tree::rows()?);
    let points = [12, 14, 16, 18, 20].map(|exponent| {
        let keys = 1_usize << exponent;
        // The law is n log n.
        let halvings = keys as f64 * f64::from(exponent);
        let seconds = processor(|| {
            let mut items: Vec<u64> =
                (0..keys as u64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)).collect();
            strata_sort::local::sort(black_box(&mut items));
        });
        (halvings, seconds)
    });
    rows.push(Growth { what: "local sort", over: "keys · log keys", law: 1.0, points: points.to_vec() });
    Ok(rows)
}

/// What nodes do, with the exponent that its cost should have.
type Operation = (&'static str, f64, fn(&mut Node));

/// Of nodes that share the cores of this machine.
const OPERATIONS: [Operation; 6] = [
    ("barrier", 1.0, Node::barrier),
    // Each node combines all contributions, in the order of ranks.
    ("sum of 8 B", 2.0, |node| {
        node.reduce_add(black_box(&mut [1.0_f64][..]));
    }),
    ("all-gather of 64 B each", 2.0, |node| {
        black_box(node.all_gather(&[0_u64; 8]));
    }),
    ("sort of 4,096 keys each", 1.0, |node| sort(node, 4096)),
    // Work that is shared: more nodes than cores pay by taking turns alone.
    ("sum of 65,536 values in all", 0.0, |node| {
        let mine = black_box(vec![1.0_f64; 65_536 / node.size()]);
        black_box(node.reduce_add(mine.iter().sum::<f64>()));
    }),
    ("sort of 65,536 keys in all", 0.0, |node| sort(node, 65_536 / node.size())),
];

fn sort(node: &mut Node, keys: usize) {
    let mine = 0..keys as u64;
    let mut keys: Vec<u64> =
        mine.map(|at| (at + node.rank() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let _ = black_box(strata_sort::sort(node, &mut keys));
}

/// The [`OPERATIONS`] on threads, and on processes of MPI where this program has it. With more nodes
/// than cores they take turns, as the laws assume.
fn on_shared_cores() -> Result<Vec<Growth>, String> {
    type Job = fn(usize) -> Result<Vec<f64>, String>;
    let jobs: [(&'static str, &[usize], Job); 1 + cfg!(feature = "mpi") as usize] = [
        ("threads on the same cores", &[2, 4, 5, 6, 8, 10, 12, 14, 16], on_threads),
        #[cfg(feature = "mpi")]
        ("processes on the same cores", &[2, 3, 4, 5, 6, 7, 8], on_processes),
    ];
    let mut rows = Vec::new();
    for (over, counts, job) in jobs {
        let at = |nodes: &usize| job(*nodes).map(|times| (*nodes as f64, times));
        let points: Vec<(f64, Vec<f64>)> = counts.iter().map(at).collect::<Result<_, String>>()?;
        rows.extend(OPERATIONS.iter().enumerate().map(|(which, (what, law, _))| {
            // Two nodes have a core each.
            let points = points.iter().filter(|(nodes, _)| *nodes > 2.0 || *law == 0.0);
            let points = points.map(|(nodes, times)| (*nodes, times[which])).collect();
            Growth { what, over, law: *law, points }
        }));
    }
    Ok(rows)
}

/// Processor time of one call in seconds: the least of several, of at least some milliseconds.
fn processor(mut work: impl FnMut()) -> f64 {
    let now = || clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
    let mut least = f64::INFINITY;
    let mut calls = 1;
    for _ in 0..5 {
        loop {
            let start = now();
            (0..calls).for_each(|_| work());
            let taken = (now() - start).as_secs_f64();
            if taken >= 0.005 {
                least = least.min(taken / f64::from(calls));
                break;
            }
            calls *= 2;
        }
    }
    least
}

/// The number of nodes, and the processor time of one event of `program` in seconds; the time that a
/// job without a program takes is subtracted.
fn an_event(platform: &str, nodes: usize, program: fn(&mut Node)) -> Result<(f64, f64), String> {
    let machine = jobs::platform(platform)?;
    let simulate = |program: &(dyn Fn(&mut Node) + Sync)| {
        let run = Machine::sim(&machine, nodes).and_then(|simulation| {
            simulation.run(|node| {
                program(node);
                Ok(())
            })
        });
        run.map(|run| run.steps).map_err(|error| error.to_string())
    };
    let (steps, idle) = (simulate(&program)?, simulate(&|_| ())?);
    let seconds = processor(|| _ = simulate(&program)) - processor(|| _ = simulate(&|_| ()));
    Ok((nodes as f64, seconds / steps.saturating_sub(idle).max(1) as f64))
}

/// Processor time of a fit of so many samples of a sum over so many inputs.
fn fit(samples: usize, inputs: usize) -> Result<f64, String> {
    let samples = made_up(samples, inputs)?;
    fitted(&samples)?;
    Ok(processor(|| _ = black_box(fitted(&samples))))
}

/// Samples of a sum over so many inputs, a fifth of them held out.
fn made_up(samples: usize, inputs: usize) -> Result<Samples, String> {
    let names: Vec<String> = (0..inputs).map(|input| format!("x{input}")).collect();
    let mut text = format!("M {}\n", names.join(" "));
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for sample in 0..samples {
        let values: Vec<f64> =
            (0..inputs).map(|_| random.random_range(0.0..10.0_f64).exp2().round()).collect();
        let seconds = (1e-6 + values.iter().sum::<f64>() * 1e-8) * random.random_range(0.975..1.025);
        let kept = if sample % 5 == 4 { "@" } else { "" };
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        text += &format!("{kept}M {seconds:e} {}\n", values.join(" "));
    }
    Samples::parse(&text, "made up").map_err(|error| error.to_string())
}

fn fitted(samples: &Samples) -> Result<Model, String> {
    let fitted = fit_samples(samples, &FitOptions::default()).remove(0);
    fitted.map(|fitted| fitted.model).map_err(|error| error.to_string())
}

/// Processor times of reading a set with a library of so many models, and of a choice among them.
fn choose(models: usize) -> Result<[f64; 2], String> {
    let model = fitted(&made_up(200, 1)?)?;
    let name = |number: usize| format!("M{number}");
    let candidate = |number| LibraryCandidate {
        name: name(number),
        model: name(number),
        arguments: vec!["x0".to_owned()],
        parameters: Vec::new(),
        requires: Vec::new(),
    };
    let library = Library {
        name: "growth".to_owned(),
        inputs: vec!["x0".to_owned()],
        candidates: (0..models).map(candidate).collect(),
        incumbent: None,
        equal: Vec::new(),
        regret: None,
    };
    let models = (0..models).map(|number| Model { name: name(number), ..model.clone() }).collect();
    let text = ModelSet { models, libraries: vec![library], ..ModelSet::default() }.to_text();
    let read = || ModelSet::read(&text).and_then(|set| set.resolve()).map_err(|error| error.to_string());
    let set = read()?;
    let library = set.library("growth").ok_or("the set has no library")?;
    let names: Vec<&'static str> =
        library.candidates().iter().map(|candidate| &*candidate.name.clone().leak()).collect();
    let rows: Vec<Row> = names.iter().map(|name| Row::new(name, &[])).collect();
    let ask = || {
        choose_among(("growth", "growth.spec"), rows.clone(), library, Question::new(1, &[300.0]), &|_| true)
    };
    ask().map_err(|error| error.to_string())?;
    Ok([processor(|| _ = black_box(read())), processor(|| _ = black_box(ask()))])
}

/// Median times of the [`OPERATIONS`], of batches that all nodes begin together.
fn times(node: &mut Node) -> Vec<f64> {
    const BATCH: u32 = 50;
    let mut times = Vec::new();
    for (_, _, operation) in OPERATIONS {
        let mut timings = Timings::default();
        for _ in 0..21 {
            node.barrier();
            let start = Instant::now();
            (0..BATCH).for_each(|_| operation(node));
            timings.push(start.elapsed().as_secs_f64() / f64::from(BATCH));
        }
        times.push(timings.median());
    }
    times
}

fn on_threads(nodes: usize) -> Result<Vec<f64>, String> {
    jobs::on_threads(nodes, |node| Ok(times(node)))
}

#[cfg(feature = "mpi")]
fn on_processes(nodes: usize) -> Result<Vec<f64>, String> {
    let results = strata_benches::mpirun(nodes)?;
    let times = results.first().and_then(|times| serde_json::from_value(times.clone()).ok());
    times.ok_or_else(|| format!("a job of {nodes} processes handed over no times"))
}

/// What a process of such a job does.
fn as_rank() -> Result<(), String> {
    let job = strata_runtime::launch(|node| {
        let times = times(node);
        if node.rank() == 0 {
            strata_benches::hand_over(&json!(times));
        }
        Ok(())
    });
    job.map(drop).map_err(|error| error.to_string())
}

fn report(rows: &[Growth]) {
    columns("what | over | from | to | cost there | and there | exponent | law | holds");
    let mut found = Vec::new();
    for growth in rows {
        let (exponent, width) = growth.exponent();
        let holds = match (exponent + width < growth.law + 0.3, exponent - width > growth.law + 0.1) {
            (true, _) => "yes",
            (false, true) => "no",
            (false, false) => "?",
        };
        let (first, last) = (growth.points[0], growth.points[growth.points.len() - 1]);
        let unit = if growth.over == tree::OVER { "laws" } else { "s" };
        println!(
            "| {} | {} | {} | {:.0} | {:.3e} {unit} | {:.3e} {unit} | {exponent:.2} ± {width:.2} | {} | {holds} |",
            growth.what, growth.over, first.0, last.0, first.1, last.1, growth.law
        );
        found.push(json!({
            "what": growth.what, "over": growth.over, "exponent": exponent, "half_width": width,
            "law": growth.law, "holds": holds, "points": growth.points,
        }));
    }
    strata_benches::summary(&json!({ "bench": "growth", "rows": found }));
}
