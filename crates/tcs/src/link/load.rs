//! Upper bounds on the simultaneous use of links and cells.
//!
//! A task may run beside its parent's connections, its children, and siblings on other cells.
//! Children that share a cell never run at once: of children that pairwise share a cell, only the
//! one with the greatest use counts. The bound is sound. It is exact if all conflicts between
//! children form such groups.

use super::image::{Instance, Linked, Part};
use crate::shape::Path;

/// An upper bound on the simultaneous use of the machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    /// Connections without a reservation on each link.
    pub(super) shared: Vec<usize>,
    /// Bytes a second reserved on each link, with what messages take besides.
    pub(super) reserved: Vec<f64>,
    /// Connections with a reservation on each link.
    pub(super) reservations: Vec<usize>,
    /// Connections at each cell.
    pub(super) slots: Vec<usize>,
}

impl Load {
    pub(super) fn none(links: usize, cells: usize) -> Self {
        Self {
            shared: vec![0; links],
            reserved: vec![0.0; links],
            reservations: vec![0; links],
            slots: vec![0; cells],
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.by(other, |a, b| a + b, |a, b| a + b);
    }

    pub(super) fn at_least(&mut self, other: &Self) {
        self.by(other, usize::max, f64::max);
    }

    fn by(&mut self, other: &Self, count: fn(usize, usize) -> usize, rate: fn(f64, f64) -> f64) {
        let counts = [
            (&mut self.shared, &other.shared),
            (&mut self.reservations, &other.reservations),
            (&mut self.slots, &other.slots),
        ];
        for (own, other) in counts {
            own.iter_mut().zip(other).for_each(|(own, other)| *own = count(*own, *other));
        }
        self.reserved.iter_mut().zip(&other.reserved).for_each(|(own, other)| *own = rate(*own, *other));
    }

    pub(super) fn connection(&mut self, path: &Path, rate: Option<f64>) {
        for link in &path.links {
            match rate {
                Some(rate) => {
                    self.reserved[*link] += rate;
                    self.reservations[*link] += 1;
                }
                None => self.shared[*link] += 1,
            }
        }
        path.cells.iter().for_each(|cell| self.slots[*cell] += 1);
    }

    pub(super) fn remove(&mut self, path: &Path, rate: Option<f64>) {
        for link in &path.links {
            match rate {
                Some(rate) => {
                    self.reserved[*link] -= rate;
                    self.reservations[*link] -= 1;
                }
                None => self.shared[*link] -= 1,
            }
        }
        path.cells.iter().for_each(|cell| self.slots[*cell] -= 1);
    }

    pub(super) fn part(&mut self, part: &Part, connections: &[Linked]) {
        for (connection, path) in &part.connections {
            self.connection(path, connections[*connection].charged);
        }
    }

    /// Connections on a link.
    pub(super) fn on(&self, link: usize) -> usize {
        self.shared[link] + self.reservations[link]
    }
}

/// The bounds of all instances.
pub(super) struct Loads {
    /// Each instance's own sets: the greatest use.
    pub(super) sets: Vec<Load>,
    pub(super) wires: Vec<Load>,
    /// Its descendants.
    pub(super) below: Vec<Load>,
    /// Everything that may run beside it.
    pub(super) around: Vec<Load>,
}

impl Loads {
    pub(super) fn new(instances: &[Instance], connections: &[Linked], empty: &Load) -> Self {
        let none = || vec![empty.clone(); instances.len()];
        let mut this = Self { sets: none(), wires: none(), below: none(), around: none() };
        for (at, instance) in instances.iter().enumerate() {
            for part in instance.sets.iter().flat_map(|set| &set.parts) {
                let mut load = empty.clone();
                load.part(part, connections);
                this.sets[at].at_least(&load);
            }
            for wire in &instance.wires {
                let linked = &connections[*wire];
                if let Some(path) = &linked.path {
                    this.wires[at].connection(path, linked.charged);
                }
            }
        }
        // Children come after their parents.
        for at in (0..instances.len()).rev() {
            this.below[at] = this.at_once(instances, &instances[at].children, empty);
        }
        for at in 0..instances.len() {
            let mut common = this.around[at].clone();
            common.add(&this.sets[at]);
            common.add(&this.wires[at]);
            let children = &instances[at].children;
            for child in children {
                let beside = |other: &&usize| disjoint(&instances[*child], &instances[**other]);
                let others: Vec<usize> = children.iter().filter(beside).copied().collect();
                let mut around = common.clone();
                around.add(&this.at_once(instances, &others, empty));
                this.around[*child] = around;
            }
        }
        this
    }

    /// The use of an instance and its descendants.
    fn whole(&self, at: usize) -> Load {
        let mut whole = self.sets[at].clone();
        whole.add(&self.wires[at]);
        whole.add(&self.below[at]);
        whole
    }

    /// The greatest use of these children of one instance at once.
    fn at_once(&self, instances: &[Instance], of: &[usize], empty: &Load) -> Load {
        let mut groups: Vec<(Vec<usize>, Load)> = Vec::new();
        for at in of.iter().copied() {
            let meets = |other: &usize| !disjoint(&instances[at], &instances[*other]);
            let whole = self.whole(at);
            match groups.iter_mut().find(|(group, _)| group.iter().all(meets)) {
                Some((group, load)) => {
                    group.push(at);
                    load.at_least(&whole);
                }
                None => groups.push((vec![at], whole)),
            }
        }
        let mut all = empty.clone();
        groups.iter().for_each(|(_, load)| all.add(load));
        all
    }
}

fn disjoint(a: &Instance, b: &Instance) -> bool {
    !a.cells.iter().any(|cell| b.cells.contains(cell))
}
