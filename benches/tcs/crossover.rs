//! Where sets and where messages are faster on simulated iWarp, and whether the choice by fitted
//! models finds it. The sizes lie between those that the models were calibrated with, which
//! `STRATA_MODELS` names; without it the models of threads that are compiled in rank the forms.

use crate::Error;
use serde_json::{Map, Value};
use strata_benches::{head, row};
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_tcs::Target;
use strata_tcs::patterns::{Form, Kind};
use strata_tcs::profile::Linked;

pub(crate) fn measure(quick: bool, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let iwarp = SimulatedMachine::find("iwarp").map_err(Error::program)?;
    let machines: &[usize] = if quick { &[4, 16] } else { &[4, 16, 64] };
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
    let (mut choices, mut right, mut lost) = (0, 0, 0.0f64);
    for kind in Kind::ALL {
        for cells in machines {
            let target = Target::simulated(&iwarp, *cells).ok_or_else(|| Error::program("no circuits"))?;
            let linked = Linked::new(kind, &target)?;
            let found = Machine::sim(&iwarp, *cells)?.run(|node| {
                let mut found = Vec::new();
                for bytes in sizes {
                    let sets = linked.clocks(node, Form::Sets, *bytes, 1)?;
                    let messages = linked.clocks(node, Form::Messages, *bytes, 1)?;
                    found.push((sets, messages, linked.choice(node, *bytes)?));
                }
                Ok(found)
            })?;
            let mut cells = vec![kind.to_string(), cells.to_string()];
            for (sets, messages, choice) in found.results.into_iter().next().unwrap_or_default() {
                let taken = if choice == Form::Sets { sets } else { messages };
                let best = sets.min(messages);
                choices += 1;
                right += usize::from(taken == best);
                lost += taken / best - 1.0;
                cells.push(format!("{:.2}{}", messages / sets, if taken == best { "" } else { "*" }));
            }
            row(&cells);
        }
    }
    println!(
        "\n{right} of {choices} choices are the faster; the mean loss is {:.2} %",
        100.0 * lost / choices as f64
    );
    summary.insert("choices".into(), choices.into());
    summary.insert("choices_right".into(), right.into());
    summary.insert("choices_mean_loss".into(), (lost / choices as f64).into());
    Ok(())
}
