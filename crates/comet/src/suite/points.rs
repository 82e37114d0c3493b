//! The points of a run: which sizes each kernel is measured at, and which it leaves out.

use serde::{Deserialize, Serialize};
use strata_model::Points;

use super::{Ground, Kernel, Measured, Size, cost};

/// The largest size of a default run.
const USUAL: i64 = 262_144;

/// Rows of a node's block of a matrix.
const ROWS: [i64; 11] = [4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256];

/// Sizes of messages between all pairs of nodes: a short one, and a long one.
const BETWEEN: [i64; 2] = [8, 65_536];

/// Microseconds of work whose disturbances are measured.
const WORK: [i64; 3] = [10, 100, 1_000];

/// The most distances over which the echo is measured.
const DISTANCES: usize = 8;

/// Something that is not measured, and the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The model.
    pub model: String,
    /// The sizes, in bytes; empty for all of the model, or if it says `hops`.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// What a run measures.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The models; those without variables have no points.
    pub models: Vec<&'static str>,
    /// The points of the others.
    pub points: Points,
    /// What is left out of the kernels that were asked for.
    pub left_out: Vec<LeftOut>,
}

/// Message sizes of a default run: at most one and a half octaves apart, with additional ones
/// beside powers of two, where protocols tend to switch, and beyond the ends of pages.
#[must_use]
pub fn usual_sizes() -> Vec<i64> {
    let mut sizes: Vec<i64> =
        vec![1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 112, 128];
    let mut size = 128;
    while size < USUAL {
        sizes.extend([size + size / 2, 2 * size]);
        size *= 2;
    }
    sizes.extend([4_097, 8_193, 65_537]);
    sizes.sort_unstable();
    sizes
}

/// The sizes for messages of so many bytes, as a model counts them; `Err` is the reason why it has
/// no such message.
fn of_bytes(model: &Measured, bytes: i64) -> Result<i64, String> {
    let line = |each: &str| match bytes % 8 {
        0 => Ok(bytes / 8),
        _ => Err(format!("its messages are of 8 bytes for {each}")),
    };
    let size = match (model.model, model.size) {
        ("Shift" | "ShiftEast" | "Transpose", _) => {
            let side = (bytes.max(0) / 8).isqrt();
            match 8 * side * side == bytes {
                true => Ok(side - 2),
                false => Err("its messages are of 8·(dim + 2)² bytes".to_owned()),
            }
        }
        (name, _) if is_of_numbers(name, 4) && bytes % 4 != 0 => Err("its numbers have 4 bytes".to_owned()),
        (name, _) if is_of_numbers(name, 8) && bytes % 8 != 0 => Err("its numbers have 8 bytes".to_owned()),
        (_, Size::Rows) => line("each row"),
        (_, Size::Elements) => line("each number"),
        _ => Ok(bytes),
    }?;
    let (low, high) = model.range;
    let unit = if model.size == Size::Elements { "numbers" } else { model.size.unit() };
    match size {
        _ if (low..=high).contains(&size) => Ok(size),
        _ => Err(format!("it takes {low} to {high} {unit}")),
    }
}

/// True if messages of this model are numbers of so many bytes.
fn is_of_numbers(model: &str, bytes: i64) -> bool {
    match model {
        "EachReduce" | "EachScan" | "LibraryPut" | "LibraryGet" => bytes == 8,
        "LibraryReduce"
        | "LibraryAllReduce"
        | "LibraryReduceScatter"
        | "LibraryScan"
        | "OverlapReduce"
        | "OverlapAllReduce"
        | "OverlapReduceScatter" => bytes == 4,
        _ => false,
    }
}

/// The default sizes of a model.
fn usual(model: &Measured) -> Vec<i64> {
    let fine = matches!(model.model, "Echo" | "Exchange" | "Broadcast" | "RawEcho");
    let beside_load = matches!(model.model, "Contention" | "Synchronous" | "Asynchronous" | "EchoLate");
    let (low, high) = model.range;
    let sizes: Vec<i64> = match model.size {
        Size::None => Vec::new(),
        Size::Bytes if model.model == "EchoLarge" => vec![4 << 20],
        Size::Bytes if fine => usual_sizes(),
        Size::Bytes if matches!(model.model, "Pair" | "Bisection") => BETWEEN.to_vec(),
        // The last sizes give the time between bytes, without what a message takes.
        Size::Bytes if model.model == "Gap" => {
            (0..=16).map(|bits| 1 << bits).chain([24_576, 40_960, 49_152, 57_344]).collect()
        }
        Size::Bytes => {
            let powers = (0..=18).map(|bits| 1 << bits);
            powers.filter(|size: &i64| !beside_load || size.trailing_zeros().is_multiple_of(3)).collect()
        }
        // On both sides of the end of a page.
        Size::Elements => (0..=16).map(|bits| 1 << bits).chain([511, 513, 1_023, 1_025]).collect(),
        Size::Rows => ROWS.to_vec(),
        Size::Skew => vec![1, 4, 16, 64, 256],
        Size::Ranks | Size::Parts => vec![0, 1, 2],
        Size::Work => WORK.to_vec(),
    };
    sizes.into_iter().filter(|size| (low..=high).contains(size)).collect()
}

/// What these kernels measure on this machine: at these sizes of messages in bytes and no others,
/// or at the usual ones where there are none. `loads` are those of [`Contention`](super::Crossing)
/// in place of the sizes.
#[must_use]
pub fn plan(kernels: &[&'static Kernel], ground: &Ground, sizes: Option<&[i64]>, loads: &[i64]) -> Plan {
    let mut plan = Plan::default();
    let models = kernels.iter().flat_map(|kernel| kernel.models.iter().map(move |model| (*kernel, model)));
    for (kernel, model) in models {
        let name = model.model;
        let mut leave = |what: String, why: String| {
            plan.left_out.push(LeftOut { model: name.to_owned(), what, why });
        };
        if let Some(why) = ground.excludes(kernel, name) {
            leave(String::new(), why);
            continue;
        }
        let of_messages = match model.size {
            Size::None | Size::Skew | Size::Ranks | Size::Parts | Size::Work => false,
            // The computation alone has no message.
            _ => name != "Daxpy",
        };
        let single = match name {
            "EchoEmpty" => Some(0),
            "Reduce" | "MessageRoundTrip" => Some(8),
            _ => None,
        };
        let mut chosen = Vec::new();
        match sizes {
            Some(sizes) if of_messages => {
                let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
                for &bytes in sizes {
                    match of_bytes(model, bytes) {
                        Ok(size) => chosen.push(size),
                        Err(why) => match reasons.iter_mut().find(|(known, _)| *known == why) {
                            Some((_, all)) => all.push(bytes.to_string()),
                            None => reasons.push((why, vec![bytes.to_string()])),
                        },
                    }
                }
                reasons.into_iter().for_each(|(why, all)| leave(all.join(", "), why));
                if chosen.is_empty() {
                    continue;
                }
            }
            Some(sizes) if single.is_some_and(|bytes| !sizes.contains(&bytes)) => {
                let bytes = single.unwrap_or_default();
                leave(String::new(), format!("its messages have {bytes} bytes, which --sizes does not name"));
                continue;
            }
            _ => chosen = usual(model),
        }
        plan.models.push(name);
        let mut add = |at: &[i64]| _ = plan.points.add(name, at);
        match name {
            _ if model.size == Size::None => {}
            "Echo" => {
                let few = ground.peers.len() < 5;
                let far = |size: &&i64| {
                    let bits = size.trailing_zeros();
                    sizes.is_some() || size.count_ones() == 1 && (few || bits.is_multiple_of(3))
                };
                for (number, peer) in ground.peers.iter().take(DISTANCES).enumerate() {
                    let all = chosen.iter().filter(|size| number == 0 || far(size));
                    all.for_each(|size| add(&[*size, peer.hops, peer.node]));
                }
                if !ground.no_hops.is_empty() {
                    plan.left_out.push(LeftOut {
                        model: name.to_owned(),
                        what: "hops".to_owned(),
                        why: ground.no_hops.clone(),
                    });
                }
            }
            "Stream" | "StreamBoth" => {
                let most = (ground.nodes / 2) as i64;
                for pairs in std::iter::once(1).chain((most > 1).then_some(most)) {
                    chosen.iter().for_each(|size| add(&[*size, pairs]));
                }
            }
            "Pair" => {
                let nodes = ground.nodes as i64;
                for (from, to) in (0..nodes).flat_map(|from| (from + 1..nodes).map(move |to| (from, to))) {
                    chosen.iter().for_each(|size| add(&[*size, from, to]));
                }
            }
            // Two nodes are one pair, however they are divided.
            "Bisection" if ground.nodes < 4 => chosen.iter().for_each(|size| add(&[*size, 0])),
            "Contention" => {
                let Ok(crossing) = &ground.crossing else { continue };
                let nodes = [crossing.peer, crossing.source, crossing.sink].map(|node| node as i64);
                let loads = sizes.unwrap_or(loads);
                for load in std::iter::once(0).chain(loads.iter().copied().filter(|load| *load > 0)) {
                    chosen.iter().for_each(|size| add(&[*size, load, nodes[0], nodes[1], nodes[2]]));
                }
            }
            _ if !model.beside.is_empty() => {
                for other in model.beside {
                    chosen.iter().for_each(|size| add(&[*size, *other]));
                }
            }
            _ => chosen.iter().for_each(|size| add(&[*size])),
        }
    }
    plan
}

/// By how much the costs of points of one stage may differ.
const STAGE: f64 = 4.0;

/// The cheapest point of each model: a run goes on with the models with which it began.
#[must_use]
pub fn cheapest(points: &Points, nodes: usize) -> Points {
    let mut cheapest = Points::default();
    for model in points.models() {
        let cost = |at: &&Vec<i64>| cost(&model.model, at, nodes);
        if let Some(at) = model.points.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))) {
            cheapest.add(&model.model, at);
        }
    }
    cheapest
}

/// The points in stages, each of dearer ones, so that a budget that ends early has whole curves of
/// cheap points. The first stage has a point of every model.
#[must_use]
pub fn stages(points: &Points, nodes: usize) -> Vec<Vec<Costly>> {
    let first = cheapest(points, nodes);
    let all = points.models().iter().flat_map(|m| m.points.iter().map(|at| (m.model.as_str(), at)));
    let mut all: Vec<Costly> = all
        .map(|(model, at)| Costly {
            model: model.to_owned(),
            at: at.clone(),
            cost: cost(model, at, nodes),
            first: first.contains(model, at),
        })
        .collect();
    all.sort_by(|a, b| b.first.cmp(&a.first).then(a.cost.total_cmp(&b.cost)));
    let least = all.iter().find(|one| !one.first).map_or(0.0, |one| one.cost.max(1.0));
    let mut end = least * STAGE * STAGE;
    let mut stages = vec![Vec::new()];
    for one in all {
        if one.cost > end && !one.first {
            stages.push(Vec::new());
            end = one.cost * STAGE;
        }
        stages.last_mut().into_iter().for_each(|stage| stage.push(one.clone()));
    }
    stages
}

/// A point, and its relative cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Costly {
    /// The model.
    pub model: String,
    /// The values of its variables.
    pub at: Vec<i64>,
    /// The cost; see [`cost`].
    pub cost: f64,
    /// True for the cheapest point of each model.
    pub first: bool,
}

#[cfg(test)]
mod tests {
    use super::super::{Crossing, KERNELS, Peer};
    use super::*;

    fn ground() -> Ground {
        let peers = [(1, 1), (2, 3), (3, 7)].map(|(hops, node)| Peer { hops, node });
        Ground {
            peers: peers.to_vec(),
            no_hops: String::new(),
            crossing: Ok(Crossing { peer: 2, source: 1, sink: 6 }),
            ..Ground::unknown(8, false)
        }
    }

    fn all() -> Vec<&'static Kernel> {
        KERNELS.iter().collect()
    }

    /// Every kernel takes what was asked for, and nothing else.
    #[test]
    fn sizes_that_are_asked_for_are_measured_and_no_others() {
        let asked = [1, 3, 64, 100, 288, 486, 2_536, 5_000, 85_000, 1 << 20, 1 << 24];
        let plan = plan(&all(), &ground(), Some(&asked), &[377]);
        for model in plan.points.models() {
            let (_, known) = super::super::model_named(&model.model).unwrap();
            if matches!(known.size, Size::Skew | Size::Ranks | Size::Parts | Size::Work)
                || model.model == "Daxpy"
            {
                continue;
            }
            for at in &model.points {
                let bytes = match (model.model.as_str(), known.size) {
                    ("Shift" | "ShiftEast" | "Transpose", _) => 8 * (at[0] + 2) * (at[0] + 2),
                    (_, Size::Elements | Size::Rows) => 8 * at[0],
                    _ => at[0],
                };
                assert!(asked.contains(&bytes), "{} {at:?}", model.model);
                if model.model == "Contention" {
                    assert!(at[1] == 0 || asked.contains(&at[1]), "{at:?}");
                    assert_eq!(at[2..], [2, 1, 6]);
                }
            }
            // What is not measured is said.
            let left: Vec<i64> = plan
                .left_out
                .iter()
                .filter(|one| one.model == model.model)
                .flat_map(|one| one.what.split(", ").filter_map(|size| size.parse().ok()))
                .collect();
            let first: std::collections::BTreeSet<i64> = model.points.iter().map(|at| at[0]).collect();
            assert_eq!(first.len() + left.len(), asked.len(), "{}: {first:?}, {left:?}", model.model);
        }
        let of = |model: &str| plan.points.of(model).unwrap();
        assert!(of("Echo").contains(&vec![100, 1, 1]) && of("Echo").contains(&vec![64, 3, 7]));
        assert!(of("Broadcast").contains(&vec![100]) && of("Synchronous").contains(&vec![85_000, 4_096]));
        assert_eq!(of("ReduceVector"), [[8], [36], [317], [625], [10_625]]);
        assert_eq!(of("Guard"), [[8], [36]]);
        assert_eq!(of("Shift"), [[4], [23]], "8·6² and 8·25² bytes");
        assert_eq!(of("EchoLarge"), [[1 << 24]]);
        assert!(plan.models.contains(&"Barrier") && !plan.models.contains(&"EchoEmpty"));
        assert!(!plan.models.contains(&"Transpose"), "eight nodes are no square");
    }

    #[test]
    fn without_sizes_loads_are_those_given() {
        let plan = plan(&all(), &ground(), None, &[377, 3_425]);
        let loads: std::collections::BTreeSet<i64> =
            plan.points.of("Contention").unwrap().iter().map(|at| at[1]).collect();
        assert_eq!(loads.into_iter().collect::<Vec<_>>(), [0, 377, 3_425]);
        assert!(plan.points.of("Broadcast").unwrap().contains(&vec![96]));
        assert!(plan.models.contains(&"EchoEmpty"));
    }

    #[test]
    fn stages_grow_by_cost_until_all_points_are_there() {
        let points = plan(&all(), &ground(), None, &[377, 3_425]).points;
        let stages = stages(&points, 8);
        assert!(stages.len() > 4 && stages.iter().all(|stage| !stage.is_empty()));
        assert_eq!(stages.iter().map(Vec::len).sum::<usize>(), points.len());
        let echo = |stage: &[Costly]| -> Vec<i64> {
            stage.iter().filter(|one| one.model == "Echo").map(|one| one.at[0]).collect()
        };
        assert!(echo(&stages[0]).len() >= 5 && echo(&stages[0]).iter().max() < echo(&stages[2]).iter().max());
        let models = points.models().len();
        assert_eq!(stages[0].iter().filter(|one| one.first).count(), models);
    }
}
