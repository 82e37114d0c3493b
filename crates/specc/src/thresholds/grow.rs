//! Decision tables, grown from the losses of a library's ways at random points.
//!
//! First the [fewest ways](super::few) that suffice are picked. Then the inputs' ranges are split,
//! each time where a split saves most (Breiman et al. 1984, with lost time in place of misclassified points).
//! The result is the smallest of these tables with a small loss at other random points.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_interchange::emit::thresholds::{Branch, Rule, Split, Table};
use strata_select::Pin;

use super::few::{self, least};
use super::{Few, Limits, Loss, Taken, place};
use crate::competition::Competition;
use crate::decisions::{Calls, pin};
use crate::thresholds::places::{self, Scale};

/// The greatest mean loss of a table against the models.
pub const LOSS: f64 = 0.01;

/// The number of random points at which the loss is computed.
pub const POINTS: usize = 10_000;

/// The number of other random points from which the table is grown.
const GROWN: usize = 32_768;

/// The most splits that are tried.
const SPLITS: usize = 255;

/// The most ways from which those of the table are picked.
const TRIED: usize = 64;

/// The share of [`LOSS`] that a choice among the picked ways may lose.
const PICKED: f64 = 0.2;

/// The loss of a way that does not apply at a point, or that no model covers there.
pub const NEVER: f64 = 10.0;

/// Random points, and the losses of ways there.
struct Field {
    /// The free inputs of each point.
    values: Vec<Vec<f64>>,
    /// For each point the loss of each way.
    losses: Vec<Vec<f64>>,
}

/// Draws points and computes the times of ways there.
struct Asked<'a> {
    competition: &'a Competition,
    inputs: Vec<f64>,
    free: &'a [usize],
    scales: Vec<Scale>,
    /// Calls from which points are drawn instead.
    calls: Option<&'a Calls>,
}

/// The table of a library over the inputs `free`, of few ways if these are limited.
///
/// # Errors
/// A message: an input has no range, or no model covers the points.
pub(super) fn table(
    competition: &Competition,
    fixed: &[(String, f64)],
    free: &[usize],
    limits: Limits,
) -> Result<(Vec<Taken>, Rule), String> {
    let asked = Asked::new(competition, fixed, free)?;
    let Picked { tried, all, sets, met } = asked.pick(limits)?;
    let picked = &sets[met];
    let ways: Vec<Taken> = picked.iter().map(|place| tried[*place].clone()).collect();
    let losses: Vec<Vec<f64>> =
        all.losses.iter().map(|row| picked.iter().map(|place| row[*place]).collect()).collect();
    // What the ways lose themselves no table of them can save.
    let own = if limits.are_set() { Loss::of(&all.losses, picked).mean } else { 0.0 };
    let tree = Tree::grow(&Field { losses, ..all }, &asked.scales);
    let (points, chosen) = asked.points(2, POINTS);
    let table = tree.smallest(&asked.field(points, &chosen, &ways), own + LOSS);
    Ok(used(&ways, table))
}

/// The fewest ways of a library that suffice over the inputs that `fixed` does not hold, at `calls`
/// if there are any.
///
/// # Errors
/// As [`table`].
pub(super) fn few(
    competition: &Competition,
    fixed: &[(String, f64)],
    free: &[usize],
    limits: Limits,
    calls: Option<&Calls>,
) -> Result<Few, String> {
    let asked = Asked { calls, ..Asked::new(competition, fixed, free)? };
    let Picked { tried, sets, met, .. } = asked.pick(limits)?;
    let (points, chosen) = asked.points(2, POINTS);
    let field = asked.field(points, &chosen, &tried);
    let count = field.losses.len().max(1) as f64;
    let set = &sets[met];
    let is_best = |row: &[f64], way: usize| row[way] <= least(row, set);
    let share = |way: &usize| {
        let first = |row: &&Vec<f64>| set.iter().find(|way| is_best(row, **way)) == Some(way);
        field.losses.iter().filter(first).count() as f64 / count
    };
    let mut ways: Vec<(Taken, f64)> = set.iter().map(|way| (tried[*way].clone(), share(way))).collect();
    ways.sort_by(|a, b| b.1.total_cmp(&a.1));
    let loss = |at: usize| sets.get(at).map(|set| Loss::of(&field.losses, set));
    Ok(Few {
        ways,
        of: tried.len(),
        points: field.losses.len(),
        loss: loss(met).unwrap_or_default(),
        fewer: met.checked_sub(1).and_then(loss),
        more: loss(met + 1),
    })
}

/// The ways from which few are picked, what they lose, and the picked sets.
struct Picked {
    tried: Vec<Taken>,
    all: Field,
    sets: Vec<Vec<usize>>,
    /// The place of the set that meets the limits.
    met: usize,
}

impl<'a> Asked<'a> {
    fn new(competition: &'a Competition, fixed: &[(String, f64)], free: &'a [usize]) -> Result<Self, String> {
        let value =
            |name: &String| fixed.iter().find(|(held, _)| held == name).map_or(0.0, |(_, value)| *value);
        Ok(Self {
            competition,
            inputs: competition.inputs().iter().map(value).collect(),
            free,
            scales: free.iter().map(|input| places::scale(competition, *input)).collect::<Result<_, _>>()?,
            calls: None,
        })
    }

    fn pick(&self, limits: Limits) -> Result<Picked, String> {
        let (points, chosen) = self.points(1, GROWN);
        if points.is_empty() {
            let name = self.competition.name();
            return Err(format!("no model of `{name}` covers any of {GROWN} random points"));
        }
        let mut counted: Vec<(Taken, usize)> = Vec::new();
        for (way, _) in &chosen {
            match counted.iter_mut().find(|(known, _)| known == way) {
                Some((_, count)) => *count += 1,
                None => counted.push((way.clone(), 1)),
            }
        }
        counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counted.truncate(TRIED);
        let tried: Vec<Taken> = counted.into_iter().map(|(way, _)| way).collect();
        let all = self.field(points, &chosen, &tried);
        let (sets, met) = match limits.are_set() {
            true => few::sets(&all.losses, tried.len(), limits),
            false => (vec![few::added(&all.losses, tried.len(), PICKED * LOSS)], 0),
        };
        Ok(Picked { tried, all, sets, met })
    }

    /// Random points that a model covers, with the choice there and its time.
    fn points(&self, seed: u64, count: usize) -> (Vec<Vec<f64>>, Vec<(Taken, f64)>) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (mut points, mut chosen) = (Vec::new(), Vec::new());
        for number in 0..count as u64 {
            let called = self.calls.and_then(|calls| calls.draw(seed, number));
            let point: Vec<f64> = match called {
                Some(call) => self.free.iter().map(|input| call[*input]).collect(),
                None => self.scales.iter().map(|scale| scale.at(random.random())).collect(),
            };
            let Ok(choice) = self.competition.choose(&self.at(&point), None) else { continue };
            let Some(seconds) = choice.expected else { continue };
            chosen.push(((choice.index, choice.parameters.to_vec()), seconds.get()));
            points.push(point);
        }
        (points, chosen)
    }

    /// All inputs of the library, at a point of the free ones.
    fn at(&self, point: &[f64]) -> Vec<f64> {
        let mut inputs = self.inputs.clone();
        for (input, value) in self.free.iter().zip(point) {
            inputs[*input] = *value;
        }
        inputs
    }

    fn field(&self, values: Vec<Vec<f64>>, chosen: &[(Taken, f64)], ways: &[Taken]) -> Field {
        let lost = |(point, (_, best)): (&Vec<f64>, &(Taken, f64))| -> Vec<f64> {
            let inputs = self.at(point);
            ways.iter().map(|way| self.loss(&inputs, way, *best)).collect()
        };
        let losses = values.iter().zip(chosen).map(lost).collect();
        Field { values, losses }
    }

    fn loss(&self, inputs: &[f64], (candidate, parameters): &Taken, best: f64) -> f64 {
        let expected = self.competition.expected(*candidate, inputs, parameters);
        let Some(seconds) = expected.filter(|_| self.allows(inputs, *candidate, parameters)) else {
            return NEVER;
        };
        (seconds / best - 1.0).clamp(0.0, NEVER)
    }

    /// Whether a candidate with these parameters is allowed at the inputs.
    fn allows(&self, inputs: &[f64], candidate: usize, parameters: &[i64]) -> bool {
        let declared = self.competition.declared(candidate);
        if declared.is_none_or(|declared| declared.parameters.iter().all(|one| one.is_constant())) {
            return true;
        }
        let name = pin(self.competition.candidates()[candidate].name, parameters);
        let text = format!("{}={name}", self.competition.name());
        Pin::parse(&text).is_ok_and(|pin| self.competition.choose(inputs, Some(pin)).is_ok())
    }
}

/// The tables after each number of splits, as one tree.
struct Tree {
    nodes: Vec<Node>,
    splits: usize,
}

struct Node {
    /// The way of this node before it is split.
    way: usize,
    split: Option<Grown>,
}

#[derive(Clone, Copy)]
struct Grown {
    /// The number of earlier splits.
    order: usize,
    input: usize,
    below: f64,
    /// The indices of the nodes below and above.
    then: [usize; 2],
}

/// A possible split.
struct Possible {
    saved: f64,
    input: usize,
    below: f64,
}

impl Tree {
    fn grow(field: &Field, scales: &[Scale]) -> Self {
        let all: Vec<usize> = (0..field.values.len()).collect();
        let mut tree = Self { nodes: vec![Node { way: field.best(&all), split: None }], splits: 0 };
        let mut leaves = vec![(0, field.split(&all, scales), all)];
        while tree.splits < SPLITS {
            let saved =
                |possible: &Option<Possible>| possible.as_ref().map_or(0.0, |possible| possible.saved);
            let best = (0..leaves.len()).max_by(|a, b| saved(&leaves[*a].1).total_cmp(&saved(&leaves[*b].1)));
            let Some(best) = best.filter(|best| saved(&leaves[*best].1) > 0.0) else { break };
            let (node, possible, points) = leaves.swap_remove(best);
            let Some(Possible { input, below, .. }) = possible else { break };
            let (low, high): (Vec<usize>, Vec<usize>) =
                points.into_iter().partition(|point| field.values[*point][input] < below);
            let then = [tree.nodes.len(), tree.nodes.len() + 1];
            tree.nodes[node].split = Some(Grown { order: tree.splits, input, below, then });
            tree.splits += 1;
            for points in [low, high] {
                leaves.push((tree.nodes.len(), field.split(&points, scales), points.clone()));
                tree.nodes.push(Node { way: field.best(&points), split: None });
            }
        }
        tree
    }

    /// The smallest table with a mean loss up to `enough` in this field or, if there is none, the
    /// table with the least loss.
    fn smallest(&self, field: &Field, enough: f64) -> Table {
        let count = field.losses.len().max(1) as f64;
        let losses: Vec<(f64, f64)> = (0..=self.splits)
            .map(|size| {
                let all =
                    field.values.iter().zip(&field.losses).map(|(values, row)| row[self.way(values, size)]);
                all.fold((0.0, 0.0), |(sum, most): (f64, f64), loss| (sum + loss / count, most.max(loss)))
            })
            .collect();
        let size = losses
            .iter()
            .position(|(mean, _)| *mean <= enough)
            .or_else(|| (0..losses.len()).min_by(|a, b| losses[*a].0.total_cmp(&losses[*b].0)));
        let size = size.unwrap_or(0);
        let mut table = Table {
            only: self.nodes[0].way,
            splits: Vec::new(),
            loss: losses[size].0,
            worst: losses[size].1,
            points: field.values.len(),
        };
        if let Branch::Way(way) = self.write(0, size, &mut table.splits) {
            table.only = way;
        }
        table
    }

    /// The way at these values after `size` splits.
    fn way(&self, values: &[f64], size: usize) -> usize {
        let mut at = 0;
        while let Some(split) = self.nodes[at].split.filter(|split| split.order < size) {
            at = split.then[usize::from(values[split.input] >= split.below)];
        }
        self.nodes[at].way
    }

    /// Writes a node and its subtree.
    fn write(&self, node: usize, size: usize, splits: &mut Vec<Split>) -> Branch {
        let Some(grown) = self.nodes[node].split.filter(|split| split.order < size) else {
            return Branch::Way(self.nodes[node].way);
        };
        let place = splits.len();
        splits.push(Split { input: grown.input, below: grown.below, then: [Branch::Split(place); 2] });
        let then = grown.then.map(|node| self.write(node, size, splits));
        if let [Branch::Way(low), Branch::Way(high)] = then
            && low == high
        {
            splits.pop();
            return Branch::Way(low);
        }
        splits[place].then = then;
        Branch::Split(place)
    }
}

impl Field {
    fn sums<'a>(&self, points: impl Iterator<Item = &'a usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.losses.first().map_or(0, Vec::len)];
        for point in points {
            sums.iter_mut().zip(&self.losses[*point]).for_each(|(sum, loss)| *sum += loss);
        }
        sums
    }

    /// The way that loses least at these points.
    fn best(&self, points: &[usize]) -> usize {
        let sums = self.sums(points.iter());
        (0..sums.len()).min_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap_or(0)
    }

    /// The split of these points that should save most.
    ///
    /// If another way is better only in the middle of a range, one split alone saves nothing. So
    /// the best band of an input also counts, with half of what it saves, and the middle of the
    /// widest input with a little.
    fn split(&self, points: &[usize], scales: &[Scale]) -> Option<Possible> {
        let all = self.sums(points.iter());
        let taken = self.best(points);
        let together = all[taken];
        // Differences of sums have rounding errors.
        let least = 1e-9 * together;
        let mut best: Option<Possible> = None;
        let mut consider = |saved: f64, input: usize, below: f64| {
            if saved > least && best.as_ref().is_none_or(|best| saved > best.saved) {
                best = Some(Possible { saved, input, below });
            }
        };
        for (input, scale) in scales.iter().enumerate() {
            let mut sorted = points.to_vec();
            let value = |point: usize| self.values[point][input];
            sorted.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
            let mut bands: Vec<Band> = vec![Band::default(); all.len()];
            let mut low = vec![0.0; all.len()];
            let mut begins = scale.low;
            for (place, point) in sorted.iter().enumerate() {
                let row = &self.losses[*point];
                low.iter_mut().zip(row).for_each(|(low, loss)| *low += loss);
                for (band, loss) in bands.iter_mut().zip(row) {
                    band.gains += row[taken] - loss;
                }
                let here = value(*point);
                let next = sorted.get(place + 1).map(|next| value(*next));
                if next == Some(here) {
                    continue;
                }
                let ends = next.map(|next| between(scale, here, next));
                bands.iter_mut().for_each(|band| band.close(begins, ends));
                let Some(ends) = ends else { break };
                begins = ends;
                let smallest = |sums: &mut dyn Iterator<Item = f64>| sums.fold(f64::INFINITY, f64::min);
                let below = smallest(&mut low.iter().copied());
                let above = smallest(&mut all.iter().zip(&low).map(|(all, low)| all - low));
                consider(together - below - above, input, ends);
            }
            let inner = (value(sorted[0]), value(sorted[sorted.len() - 1]));
            for Band { most, from, to, .. } in bands {
                let is_inside = |at: &f64| *at > inner.0 && *at <= inner.1;
                if let Some(at) = [Some(from), to].into_iter().flatten().find(is_inside) {
                    consider(0.5 * most, input, at);
                }
            }
            if inner.0 < inner.1 {
                let share = scale.share(inner.0, inner.1).min(1.0);
                consider(MIDDLE * share * together, input, between(scale, inner.0, inner.1));
            }
        }
        best
    }
}

/// The share of the loss that a split in the middle of an input counts as saving.
const MIDDLE: f64 = 0.02;

/// The range of values in which another way saves most (found by Kadane's algorithm).
#[derive(Clone, Copy, Debug, Default)]
struct Band {
    /// The saving at the current value.
    gains: f64,
    /// The saving of the band that ends here, and its beginning.
    here: f64,
    begins: f64,
    /// The saving of the best band, and its ends; `None` for a band up to the end.
    most: f64,
    from: f64,
    to: Option<f64>,
}

impl Band {
    /// Adds the value between two splits to the bands.
    fn close(&mut self, begins: f64, ends: Option<f64>) {
        if self.here <= 0.0 {
            (self.here, self.begins) = (0.0, begins);
        }
        self.here += std::mem::take(&mut self.gains);
        if self.here > self.most {
            (self.most, self.from, self.to) = (self.here, self.begins, ends);
        }
    }
}

/// A value above `low` and at most `high`, near their middle.
fn between(scale: &Scale, low: f64, high: f64) -> f64 {
    let middle = if scale.is_wide() { (low * high).sqrt() } else { f64::midpoint(low, high) };
    let middle = if scale.whole { middle.ceil() } else { middle };
    if middle > low && middle <= high { middle } else { high }
}

/// The ways that a table uses, and the table with indices into these.
fn used(ways: &[Taken], mut table: Table) -> (Vec<Taken>, Rule) {
    let mut kept = Vec::new();
    let mut renamed = |way: usize| place(&mut kept, ways[way].clone());
    for split in &mut table.splits {
        for branch in &mut split.then {
            if let Branch::Way(way) = branch {
                *way = renamed(*way);
            }
        }
    }
    table.only = if table.splits.is_empty() { renamed(table.only) } else { 0 };
    (kept, Rule::Table(table))
}
