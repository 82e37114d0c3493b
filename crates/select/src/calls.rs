//! A log of the problems that a program chooses for (`STRATA_LOG_INPUTS=FOLDER`), by which `specc
//! --like` judges choices.
//!
//! For each library a file has the inputs of at most 4,096 calls, each as likely as any other
//! (Vitter 1985, algorithm R), so that neither memory nor the file grows with the program. It is
//! written anew whenever the number of calls reaches a power of two, because nothing calls a library
//! when the program ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::string::{String, ToString as _};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::vec::Vec;
use std::{format, fs};

use crate::files::write_atomically;
use crate::output::say_once;
use crate::table::Table;

/// The most calls of a library that are kept.
const MOST: usize = 4096;

/// The calls of a library.
#[derive(Default)]
struct Calls {
    /// How many there were.
    count: u64,
    /// Their inputs; of more than [`MOST`] a random choice.
    kept: Vec<Vec<f64>>,
}

/// The folder of the log, if `STRATA_LOG_INPUTS` was set when it was first read.
pub(crate) fn folder() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let named = || std::env::var_os("STRATA_LOG_INPUTS").filter(|name| !name.is_empty());
    FOLDER.get_or_init(|| named().map(PathBuf::from)).as_ref()
}

/// Counts a call of a library, if calls are logged. A file that cannot be written is reported once.
///
/// Emitted libraries call it; others, and caches of choices, may.
pub fn count(table: &Table, inputs: &[f64]) {
    static CALLS: Mutex<BTreeMap<&'static str, Calls>> = Mutex::new(BTreeMap::new());
    let Some(folder) = folder() else { return };
    let mut all = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let calls = all.entry(table.library).or_default();
    calls.add(inputs);
    if calls.count.is_power_of_two() {
        let path = folder.join(format!("{}.csv", table.library));
        let text = calls.text(table.inputs);
        let written = fs::create_dir_all(folder)
            .and_then(|()| write_atomically(path, |file| file.write_all(text.as_bytes())));
        if let Err(error) = written {
            say_once(format!("strata: STRATA_LOG_INPUTS: {error}"));
        }
    }
}

impl Calls {
    fn add(&mut self, inputs: &[f64]) {
        self.count += 1;
        match self.kept.len() < MOST {
            true => self.kept.push(inputs.to_vec()),
            false => {
                let place = mixed(self.count) % self.count;
                if let Some(kept) = usize::try_from(place).ok().and_then(|place| self.kept.get_mut(place)) {
                    *kept = inputs.to_vec();
                }
            }
        }
    }

    /// A table of the inputs, with how often each is among those kept.
    fn text(&self, names: &[&str]) -> String {
        let mut counts: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        for inputs in &self.kept {
            *counts.entry(inputs.iter().map(f64::to_string).collect()).or_default() += 1;
        }
        let mut text = format!("{},count\n", names.join(","));
        for (inputs, count) in counts {
            text += &format!("{},{count}\n", inputs.join(","));
        }
        text
    }
}

/// A number without a pattern, from one with (Steele, Lea and Flood 2014, `SplitMix`).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_calls_each_part_is_kept_as_often() {
        let mut calls = Calls::default();
        (0..100_000).for_each(|n| calls.add(&[f64::from(n)]));
        assert_eq!((calls.count, calls.kept.len()), (100_000, MOST));
        for part in 0..4 {
            let share = calls.kept.iter().filter(|n| n[0] as u32 / 25_000 == part).count();
            assert!((900..1150).contains(&share), "{part}: {share}");
        }
    }

    #[test]
    fn equal_inputs_are_one_row() {
        let mut calls = Calls::default();
        [[3.0, 0.5], [7.0, 1.0], [3.0, 0.5]].iter().for_each(|inputs| calls.add(inputs));
        assert_eq!(calls.text(&["n", "share"]), "n,share,count\n3,0.5,2\n7,1,1\n");
    }
}
