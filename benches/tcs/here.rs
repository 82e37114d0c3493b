//! Whether the choice between sets and messages is right on this machine, by the models that are
//! compiled in. Of each block the forms are timed in turns; choices whose forms differ by less than
//! 5 % count as right.

use serde_json::{Map, Value};
use strata_benches::{columns, race};
use strata_runtime::prelude::*;
use strata_tcs::Target;
use strata_tcs::patterns::{Form, Kind};
use strata_tcs::profile::Linked;

/// A difference that does not count.
const NEAR: f64 = 0.05;

/// A pattern with blocks of some bytes: the seconds of sets and messages, and what is chosen.
pub(crate) struct Chosen {
    kind: Kind,
    bytes: usize,
    seconds: [f64; 2],
    form: Form,
}

impl Chosen {
    fn loss(&self) -> f64 {
        let [sets, messages] = self.seconds;
        let taken = if self.form == Form::Sets { sets } else { messages };
        taken / sets.min(messages) - 1.0
    }
}

/// Times both forms of all patterns on the cells of this machine. Collective.
pub(crate) fn choices(node: &mut Node, quick: bool) -> Result<Vec<Chosen>, Error> {
    let target = Target::here(node);
    let sizes: &[usize] = if quick { &[24, 3000] } else { &[6, 24, 100, 400, 1500, 6000, 24_000, 60_000] };
    let (rounds, times) = if quick { (3, 5) } else { (15, 20) };
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let linked = Linked::new(kind, &target)?;
        if linked.schedule().rounds == 0.0 {
            continue;
        }
        for bytes in sizes {
            let timings = race(0..rounds, 0, 2, |_, who| {
                Ok::<_, Error>(target.seconds(linked.clocks(node, Form::ALL[who], *bytes, times)?))
            })?;
            let seconds = [timings[0].median(), timings[1].median()];
            all.push(Chosen { kind, bytes: *bytes, seconds, form: linked.choice(node, *bytes)? });
        }
    }
    Ok(all)
}

/// Prints what the choices lose, and adds it to the summary under `name`.
pub(crate) fn print(all: &[Chosen], name: &str, summary: &mut Map<String, Value>) {
    columns("pattern | bytes | sets, us | messages, us | chosen | loses, %");
    for one in all {
        let [sets, messages] = one.seconds.map(|seconds| format!("{:.2}", seconds * 1e6));
        let form = if one.form == Form::Sets { "sets" } else { "messages" };
        let loss = format!("{:.1}", 100.0 * one.loss());
        println!("| {} | {} | {sets} | {messages} | {form} | {loss} |", one.kind, one.bytes);
    }
    let right = all.iter().filter(|one| one.loss() <= NEAR).count();
    let mean = all.iter().map(Chosen::loss).sum::<f64>() / all.len().max(1) as f64;
    let worst = all.iter().map(Chosen::loss).fold(0.0, f64::max);
    println!(
        "\n{right} of {} choices lose at most 5 %; the mean loss is {:.2} %, the worst {:.1} %\n",
        all.len(),
        100.0 * mean,
        100.0 * worst
    );
    summary.insert(format!("{name}_choices"), all.len().into());
    summary.insert(format!("{name}_right"), right.into());
    summary.insert(format!("{name}_mean_loss_percent"), (100.0 * mean).into());
    summary.insert(format!("{name}_worst_loss_percent"), (100.0 * worst).into());
}
