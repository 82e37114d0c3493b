//! Where sets and where messages are faster on simulated iWarp, and whether the choice by fitted
//! models finds it: on numbers of cells that were calibrated, and on all others from 5 to 64. The
//! sizes lie between those that were calibrated. `STRATA_MODELS` names the models; without it those
//! of threads that are compiled in rank the forms.

use crate::Error;
use serde_json::{Map, Value};
use strata_benches::{columns, head, row};
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_tcs::Target;
use strata_tcs::patterns::{Form, Kind};
use strata_tcs::profile::Linked;

/// The numbers of cells with which `models/sim-iwarp-64/tcs` was calibrated.
const CALIBRATED: [usize; 15] = [4, 6, 8, 9, 12, 16, 20, 25, 27, 32, 36, 45, 48, 61, 64];

/// Those of [`CALIBRATED`] whose ratios are shown.
const SHOWN: [usize; 3] = [4, 16, 64];

/// A loss that counts as bad.
const BAD: f64 = 0.15;

#[derive(Clone, Copy, Default)]
struct Losses {
    choices: usize,
    right: usize,
    bad: usize,
    sum: f64,
    /// The greatest loss, with its cells and bytes.
    worst: (f64, usize, usize),
}

impl Losses {
    fn add(&mut self, loss: f64, cells: usize, bytes: usize) {
        self.choices += 1;
        self.right += usize::from(loss == 0.0);
        self.bad += usize::from(loss > BAD);
        self.sum += loss;
        if loss > self.worst.0 {
            self.worst = (loss, cells, bytes);
        }
    }

    fn join(&mut self, other: &Self) {
        self.choices += other.choices;
        self.right += other.right;
        self.bad += other.bad;
        self.sum += other.sum;
        if other.worst.0 > self.worst.0 {
            self.worst = other.worst;
        }
    }

    fn mean(&self) -> f64 {
        100.0 * self.sum / self.choices.max(1) as f64
    }

    fn cells(&self) -> Vec<String> {
        let (worst, cells, bytes) = self.worst;
        let place = if worst > 0.0 { format!(" ({cells} cells, {bytes} B)") } else { String::new() };
        vec![
            format!("{} of {}", self.right, self.choices),
            format!("{:.2}", self.mean()),
            format!("{:.1}{place}", 100.0 * worst),
            self.bad.to_string(),
        ]
    }

    fn summary(&self, of: &str, summary: &mut Map<String, Value>) {
        summary.insert(format!("{of}_choices"), self.choices.into());
        summary.insert(format!("{of}_right"), self.right.into());
        summary.insert(format!("{of}_above_15_percent"), self.bad.into());
        summary.insert(format!("{of}_mean_loss_percent"), self.mean().into());
        summary.insert(format!("{of}_worst_loss_percent"), (100.0 * self.worst.0).into());
    }
}

pub(crate) fn measure(quick: bool, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let iwarp = SimulatedMachine::find("iwarp")?;
    let machines: Vec<usize> = if quick { vec![4, 7, 16, 40] } else { (4..=64).collect() };
    let sizes: &[usize] =
        if quick { &[12, 300, 1500] } else { &[6, 12, 24, 48, 100, 200, 400, 700, 1500, 3000] };
    let models = std::env::var("STRATA_MODELS").unwrap_or_else(|_| "the models of threads".to_owned());
    println!(
        "\nPatterns on simulated iWarp, clocks of messages over clocks of sets; a star where the slower is chosen, \
         by {models}:\n"
    );
    let mut titles = vec!["pattern".to_owned(), "cells".to_owned()];
    titles.extend(sizes.iter().map(|bytes| format!("{bytes} B")));
    head(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    let mut losses = Vec::new();
    for kind in Kind::ALL {
        let (mut calibrated, mut others) = (Losses::default(), Losses::default());
        for cells in &machines {
            let target = Target::simulated(&iwarp, *cells).ok_or_else(|| Error::program("no circuits"))?;
            let linked = Linked::new(kind, &target)?;
            if linked.schedule().rounds == 0.0 {
                continue; // All blocks stay where they are.
            }
            let found = Machine::sim(&iwarp, *cells)?.run(|node| {
                let mut found = Vec::new();
                for bytes in sizes {
                    let sets = linked.clocks(node, Form::Sets, *bytes, 1)?;
                    let messages = linked.clocks(node, Form::Messages, *bytes, 1)?;
                    found.push((*bytes, sets, messages, linked.choice(node, *bytes)?));
                }
                Ok(found)
            })?;
            let of = if CALIBRATED.contains(cells) { &mut calibrated } else { &mut others };
            let mut shown = vec![kind.to_string(), cells.to_string()];
            for (bytes, sets, messages, choice) in found.results.into_iter().next().unwrap_or_default() {
                let taken = if choice == Form::Sets { sets } else { messages };
                let loss = taken / sets.min(messages) - 1.0;
                of.add(loss, *cells, bytes);
                shown.push(format!("{:.2}{}", messages / sets, if loss == 0.0 { "" } else { "*" }));
            }
            if SHOWN.contains(cells) {
                row(&shown);
            }
        }
        losses.push((kind.to_string(), calibrated, others));
    }
    println!("\nWhat the choices lose, %; above 15 %: how many:\n");
    columns("pattern | cells | right | mean | worst | above 15 %");
    let mut all = ("all".to_owned(), Losses::default(), Losses::default());
    for (_, calibrated, others) in &losses {
        all.1.join(calibrated);
        all.2.join(others);
    }
    losses.push(all.clone());
    for (kind, calibrated, others) in &losses {
        for (cells, of) in [("calibrated", calibrated), ("others", others)] {
            let mut shown = vec![kind.clone(), cells.to_owned()];
            shown.extend(of.cells());
            row(&shown);
        }
    }
    all.1.summary("calibrated", summary);
    all.2.summary("uncalibrated", summary);
    Ok(())
}
