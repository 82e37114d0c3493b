//! Copies by `strata_copy` beside `memcpy` and the best of all routines, in turns.
//!
//!     cargo bench -p strata-benches --bench copies
//!
//! **Cells**: sizes from 8 B to 64 MiB, alignments, source hot or cold, target read or left. Each
//! routine is timed in a few rounds; the fastest of them, `memcpy`, [`copy`](strata_copy::copy) and
//! [`copy_hinted`](strata_copy::copy_hinted) then meet on fresh samples, as the fastest of many is
//! partly lucky. Sizes and alignments are none of those that the models were calibrated with.
//!
//! **Exchange**: two threads send blocks through slots that both map, one way (ping-ping) or to and
//! fro (ping-pong); the sender's block is written before, and the receiver's read after, or neither
//! (Borg 2006, §6.1). All pairs of the candidates are timed; the best pair, the best pair of equal
//! routines, the default and ours then meet on fresh samples.
//!
//! **Strided**: `pack` and `unpack` of hot and cold blocks beside a loop that copies each block and
//! the best of all movers, as above.
//!
//! **Programs**: sorts and stencils on two threads with chosen copies and with
//! `STRATA_PIN="copy=memcpy, copy_strided=memcpy"`, each in a process of its own, in turns.

mod cells;
mod exchange;
mod programs;
mod strided;

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use strata_benches::{at_least, machine};
use strata_runtime::Error;

#[derive(Parser)]
struct Settings {
    /// Rounds of timings
    #[arg(long, default_value = "21", value_parser = at_least(3))]
    rounds: usize,
    /// Of the order and of the data
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One part
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    /// One program, whose time is all that is printed.
    #[arg(long, num_args = 2, hide = true)]
    alone: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Part {
    Cells,
    Exchange,
    Strided,
    Programs,
}

strata_benches::main!(run);

fn run(settings: &Settings) -> Result<(), Error> {
    if let [name, size] = settings.alone.as_slice() {
        println!("{:e}", programs::alone(name, size.parse().map_err(Error::program)?)?);
        return Ok(());
    }
    println!("{}\n", machine());
    let part = |part, race: fn(&Settings) -> Result<Value, Error>| {
        settings.only.is_none_or(|only| only == part).then(|| race(settings)).transpose()
    };
    let cells = part(Part::Cells, cells::measure)?;
    let exchange = part(Part::Exchange, exchange::measure)?;
    let strided = part(Part::Strided, strided::measure)?;
    let programs = part(Part::Programs, programs::measure)?;
    strata_benches::summary(
        &json!({ "cells": cells, "exchange": exchange, "strided": strided, "programs": programs }),
    );
    Ok(())
}
