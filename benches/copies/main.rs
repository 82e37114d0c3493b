//! Copies by `strata_copy` beside `memcpy` and the best of all routines, in turns.
//!
//!     cargo bench -p strata-benches --bench copies [-- --rounds 21 --seed 1 --only cells|exchange|strided|programs]
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

use std::process::ExitCode;

use lexopt::prelude::*;
use serde_json::json;
use strata_benches::machine;

/// What the command line says.
struct Settings {
    rounds: usize,
    seed: u64,
    only: Option<String>,
    /// One program, whose time is all that is printed.
    alone: Option<(String, usize)>,
}

fn main() -> ExitCode {
    let settings = match read() {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!(
                "copies: {error}; known are --rounds N, --seed N and --only cells|exchange|strided|programs"
            );
            return ExitCode::from(2);
        }
    };
    if let Some((name, size)) = &settings.alone {
        return match programs::alone(name, *size) {
            Ok(seconds) => {
                println!("{seconds:e}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("copies: {error}");
                ExitCode::FAILURE
            }
        };
    }
    println!("{}\n", machine());
    let wanted = |part| settings.only.as_deref().is_none_or(|only| only == part);
    let run = || -> Result<(), strata_runtime::Error> {
        let cells = if wanted("cells") { Some(cells::race(&settings)?) } else { None };
        let exchange = if wanted("exchange") { Some(exchange::race(&settings)?) } else { None };
        let strided = if wanted("strided") { Some(strided::race(&settings)?) } else { None };
        let programs = if wanted("programs") { Some(programs::race(&settings)?) } else { None };
        let parts = json!({ "cells": cells, "exchange": exchange, "strided": strided, "programs": programs });
        println!("summary {parts}");
        Ok(())
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("copies: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read() -> Result<Settings, lexopt::Error> {
    let mut settings = Settings { rounds: 21, seed: 1, only: None, alone: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("bench") => {}
            Long("rounds") => settings.rounds = parser.value()?.parse::<usize>()?.max(3),
            Long("seed") => settings.seed = parser.value()?.parse()?,
            Long("alone") => {
                settings.alone = Some((parser.value()?.string()?, parser.value()?.parse()?));
            }
            Long("only") => {
                let part = parser.value()?.string()?;
                if !["cells", "exchange", "strided", "programs"].contains(&part.as_str()) {
                    return Err(format!("no part `{part}`").into());
                }
                settings.only = Some(part);
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(settings)
}
