//! Placement of the root task's cells.

use super::{LinkError, Placement};
use crate::describe::{App, Task};
use crate::target::Target;
use std::collections::BTreeSet;

/// Computes the machine's cell of each cell of the root task. `valid` is true if the application's
/// definitions are.
pub(super) fn place(
    app: &App,
    root: &Task,
    target: &Target,
    placement: &Placement,
    valid: bool,
) -> Result<Vec<usize>, LinkError> {
    let cells = root.cells;
    match placement {
        Placement::InOrder => Ok((0..cells).collect()),
        Placement::At(at) => {
            let wrong = |what: String| Err(LinkError::Placement { cells, what });
            if at.len() != cells {
                return wrong(format!("it has {}", at.len()));
            }
            if let Some(cell) = at.iter().find(|cell| **cell >= target.cells) {
                return wrong(format!("the machine has no cell {cell}"));
            }
            let mut seen = BTreeSet::new();
            match at.iter().find(|cell| !seen.insert(**cell)) {
                Some(cell) => wrong(format!("cell {cell} is in it twice")),
                None => Ok(at.clone()),
            }
        }
        Placement::Close if valid => Ok(close(target, cells, &traffic(app, root))),
        Placement::Close => Ok((0..cells).collect()),
    }
}

/// The traffic between the root's cells, in both directions, children's cells included.
fn traffic(app: &App, root: &Task) -> Vec<(usize, usize, f64)> {
    let mut all = Vec::new();
    let identity: Vec<usize> = (0..root.cells).collect();
    // Nested children multiply: visit no more than the limit on linked instances.
    let mut open = vec![(root, identity)];
    let mut seen = 0;
    while let Some((task, cells)) = open.pop() {
        seen += 1;
        if seen > super::expand::MOST {
            break;
        }
        let own = task.connections.iter();
        all.extend(own.map(|c| (cells[c.from], cells[c.to], c.rate.unwrap_or(1.0))));
        for child in &task.children {
            open.push((&app[child.task], child.at.iter().map(|cell| cells[*cell]).collect()));
        }
        for wire in &task.wires {
            let end = |(child, port): &(usize, String)| {
                let child = &task.children[*child];
                let port = app[child.task].ports.iter().find(|found| found.name == *port)?;
                Some(cells[child.at[port.cell]])
            };
            if let (Some(from), Some(to)) = (end(&wire.from), end(&wire.to)) {
                all.push((from, to, wire.rate.unwrap_or(1.0)));
            }
        }
    }
    all
}

/// Swaps pairs of the machine's cells while that reduces the traffic times distance.
fn close(target: &Target, cells: usize, traffic: &[(usize, usize, f64)]) -> Vec<usize> {
    let mut at: Vec<usize> = (0..target.cells).collect();
    let mut of = vec![Vec::new(); target.cells];
    for (from, to, weight) in traffic {
        of[*from].push((*to, *weight));
        of[*to].push((*from, *weight));
    }
    let cost = |at: &[usize], cell: usize| -> f64 {
        of[cell]
            .iter()
            .map(|(other, weight)| target.shape.distance(at[cell], at[*other]) as f64 * weight)
            .sum()
    };
    loop {
        let mut gained = false;
        for a in 0..cells {
            for b in a + 1..target.cells {
                let before = cost(&at, a) + cost(&at, b);
                at.swap(a, b);
                if cost(&at, a) + cost(&at, b) < before * (1.0 - 1e-9) {
                    gained = true;
                } else {
                    at.swap(a, b);
                }
            }
        }
        if !gained {
            at.truncate(cells);
            return at;
        }
    }
}
