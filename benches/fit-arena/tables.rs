//! The results, as Markdown.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};
use strata_benches::{columns, head, row};
use strata_model::write_atomically;

use super::{CONTENDERS, NOISE};

/// Terms above this share of the signal should be found.
const LARGE: f64 = 0.1;

/// Errors that exceed Extra-P's by this factor count as a loss.
const LOSS: f64 = 1.05;

/// One cell: the error of each contender, `None` where it did not run.
pub(crate) struct CellResult {
    pub(crate) shape: &'static str,
    pub(crate) noise: f64,
    pub(crate) seed: u64,
    pub(crate) errors: [Option<f64>; 6],
    /// New measurements inside the interval, intervals given, tests; with terms and without.
    pub(crate) covered: [[usize; 3]; 2],
    /// The share of each named term in the signal.
    pub(crate) shares: Vec<f64>,
    pub(crate) kept: Vec<bool>,
    pub(crate) texts: [String; 6],
}

impl CellResult {
    fn extrap(&self) -> Option<f64> {
        Some(self.errors[2]?.min(self.errors[3]?))
    }

    /// The error of a contender over Extra-P's better one.
    fn ratio(&self, contender: usize) -> Option<f64> {
        Some(self.errors[contender]? / self.extrap()?)
    }
}

#[derive(Default)]
pub(crate) struct Arena {
    pub(crate) inside: Vec<CellResult>,
    pub(crate) between: Vec<CellResult>,
    pub(crate) beyond: Vec<CellResult>,
}

impl Arena {
    pub(crate) fn print(&self) {
        println!(
            "Mean relative error inside the measured range, geometric mean over {} cells.\n",
            self.inside.len()
        );
        means(&self.inside);
        println!(
            "\nThe same at a value of an input that was held out, of six at most, {} cells.\n",
            self.between.len()
        );
        means(&self.between);
        println!(
            "\nThe same beyond it: measured for p up to 32, predicted for p = 512, {} cells.\n",
            self.beyond.len()
        );
        means(&self.beyond);
        println!();
        self.summary();
        println!("\nBy shape.\n");
        self.by_shape();
        println!("\nWorst cells against the better of Extra-P's two.\n");
        for contender in 0..2 {
            worst(&self.inside, contender);
            worst(&self.between, contender);
        }
    }

    /// The geometric mean errors of all contenders, inside the measured range and beyond it.
    pub(crate) fn found(&self) -> Value {
        let errors = |cells: &[CellResult]| -> Map<String, Value> {
            let mean = |c: usize| geometric(cells.iter().map(|r| r.errors[c]));
            CONTENDERS.iter().enumerate().map(|(c, (name, _))| ((*name).to_owned(), mean(c).into())).collect()
        };
        json!({
            "bench": "fit_arena", "cells": self.inside.len(), "errors_inside": errors(&self.inside),
            "cells_between": self.between.len(), "errors_between": errors(&self.between),
            "cells_beyond": self.beyond.len(), "errors_beyond": errors(&self.beyond),
        })
    }

    /// Every cell as a line of CSV: errors, terms, and the models found.
    pub(crate) fn write_cells(&self, path: &Path) -> io::Result<()> {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        write_atomically(path, |out| {
            let names: Vec<&str> = CONTENDERS.iter().map(|c| c.0).collect();
            let names = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
            writeln!(
                out,
                "part,shape,noise,seed,{names},null,kept null,large,dropped large,inside,intervals,inside of search,intervals of search,named,searched,\"Extra-P default\",\"Extra-P refining\""
            )?;
            let parts = [("inside", &self.inside), ("between", &self.between), ("beyond", &self.beyond)];
            for (part, r) in parts.into_iter().flat_map(|(part, cells)| cells.iter().map(move |r| (part, r)))
            {
                let count = |of: &dyn Fn(f64, bool) -> bool| {
                    r.shares.iter().zip(&r.kept).filter(|(s, k)| of(**s, **k)).count()
                };
                write!(out, "{part},{},{},{}", quoted(r.shape), r.noise, r.seed)?;
                for error in r.errors {
                    write!(out, ",{}", error.map_or(String::new(), |e| format!("{e:e}")))?;
                }
                let (null, kept) = (count(&|s, _| s == 0.0), count(&|s, k| s == 0.0 && k));
                let (large, dropped) = (count(&|s, _| s > LARGE), count(&|s, k| s > LARGE && !k));
                write!(out, ",{null},{kept},{large},{dropped}")?;
                for c in 0..2 {
                    write!(out, ",{},{}", r.covered[c][0], r.covered[c][1])?;
                }
                for text in &r.texts[..4] {
                    write!(out, ",{}", quoted(text))?;
                }
                writeln!(out)?;
            }
            Ok(())
        })
    }

    fn summary(&self) {
        columns(" | terms named | own search");
        let line = |what: &str, value: &dyn Fn(usize) -> Option<f64>| {
            let cell = |c| value(c).map_or("-".into(), |v| format!("{:.1} %", 100.0 * v));
            println!("| {what} | {} | {} |", cell(0), cell(1));
        };
        let share = |cells: &[CellResult], c: usize, limit: f64| {
            let ratios: Vec<f64> = cells.iter().filter_map(|cell| cell.ratio(c)).collect();
            let count = ratios.iter().filter(|r| **r > limit).count();
            (!ratios.is_empty()).then(|| count as f64 / ratios.len() as f64)
        };
        line("cells more than 5 % worse than Extra-P's better one", &|c| share(&self.inside, c, LOSS));
        line("the same at a held-out value", &|c| share(&self.between, c, LOSS));
        line("extrapolations not worse than Extra-P's better one", &|c| {
            Some(1.0 - share(&self.beyond, c, 1.0)?)
        });
        for noise in &NOISE[1..] {
            let what = format!("new measurements inside the 95 % interval, noise {} %", 100.0 * noise);
            line(&what, &|c| coverage(self.inside.iter().filter(|r| r.noise == *noise), c, 1));
        }
        line("new measurements inside the 95 % interval", &|c| {
            coverage(self.inside.iter().filter(|r| r.noise > 0.0), c, 1)
        });
        line("the same at a held-out value", &|c| {
            coverage(self.between.iter().filter(|r| r.noise > 0.0), c, 1)
        });
        line("tests inside the measured range without an answer", &|c| {
            let total: usize = self.inside.iter().map(|r| r.covered[c][2]).sum();
            let given: usize = self.inside.iter().map(|r| r.covered[c][1]).sum();
            (total > 0).then(|| 1.0 - given as f64 / total as f64)
        });
        let terms = || self.inside.iter().flat_map(|r| r.shares.iter().zip(&r.kept));
        let rate = |of: &dyn Fn(f64) -> bool, kept: bool| {
            let chosen: Vec<bool> = terms().filter(|(s, _)| of(**s)).map(|(_, k)| *k == kept).collect();
            (!chosen.is_empty()).then(|| chosen.iter().filter(|c| **c).count() as f64 / chosen.len() as f64)
        };
        let only_named = |v: Option<f64>| move |c: usize| v.filter(|_| c == 0);
        line("null terms kept", &only_named(rate(&|s| s == 0.0, true)));
        line("terms above 10 % of the signal dropped", &only_named(rate(&|s| s > LARGE, false)));
    }

    fn by_shape(&self) {
        let mut names: Vec<&str> = self.inside.iter().map(|r| r.shape).collect();
        names.dedup();
        let labels: Vec<&str> = std::iter::once("shape").chain(CONTENDERS.iter().map(|c| c.0)).collect();
        head(&[labels.as_slice(), &["nulls kept", "large dropped", "coverage", "of search"]].concat());
        for name in names {
            let cells: Vec<&CellResult> = self.inside.iter().filter(|r| r.shape == name).collect();
            let mut line = vec![name.to_owned()];
            line.extend((0..CONTENDERS.len()).map(|c| percent(geometric(cells.iter().map(|r| r.errors[c])))));
            let count = |f: &dyn Fn(f64, bool) -> bool| -> usize {
                cells.iter().flat_map(|r| r.shares.iter().zip(&r.kept)).filter(|(s, k)| f(**s, **k)).count()
            };
            line.push(format!("{}/{}", count(&|s, k| s == 0.0 && k), count(&|s, _| s == 0.0)));
            line.push(format!("{}/{}", count(&|s, k| s > LARGE && !k), count(&|s, _| s > LARGE)));
            for c in 0..2 {
                let noisy = cells.iter().copied().filter(|r| r.noise > 0.0);
                line.push(coverage(noisy, c, 1).map_or("-".into(), |v| format!("{:.1} %", 100.0 * v)));
            }
            row(&line);
        }
    }
}

/// A row a contender, a column a size of the noise.
fn means(cells: &[CellResult]) {
    let noises: Vec<String> = NOISE.iter().map(|n| format!("noise {} %", 100.0 * n)).collect();
    let mut labels = vec!["contender", "was told", "all"];
    labels.extend(noises.iter().map(String::as_str));
    labels.push("Extra-P's best is worse by");
    head(&labels);
    let all = |c: usize| geometric(cells.iter().map(|r| r.errors[c]));
    let best = all(2).zip(all(3)).map(|(a, b)| a.min(b));
    for (c, (name, told)) in CONTENDERS.iter().enumerate() {
        let mut line = vec![(*name).to_owned(), (*told).to_owned(), percent(all(c))];
        for noise in NOISE {
            line.push(percent(geometric(cells.iter().filter(|r| r.noise == noise).map(|r| r.errors[c]))));
        }
        line.push(best.zip(all(c)).map_or("-".into(), |(best, own)| format!("{:.3}x", best / own)));
        row(&line);
    }
}

/// The cells in which a contender of ours is furthest behind.
fn worst(cells: &[CellResult], contender: usize) {
    println!("{}:", CONTENDERS[contender].0);
    let mut order: Vec<(f64, &CellResult)> = cells
        .iter()
        .filter_map(|r| Some((r.ratio(contender)?, r)))
        .filter(|(ratio, _)| *ratio > LOSS)
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (ratio, r) in order.iter().take(15) {
        let better = if r.errors[2] <= r.errors[3] { 2 } else { 3 };
        println!(
            "- {:.2}x: {}, noise {} %, seed {}: {} against {}\n    ours    {}\n    Extra-P {}",
            ratio,
            r.shape,
            100.0 * r.noise,
            r.seed,
            percent(r.errors[contender]),
            percent(r.errors[better]),
            r.texts[contender],
            r.texts[better],
        );
    }
    println!();
}

/// The share of new measurements inside their interval, of those intervals that were given.
fn coverage<'a>(cells: impl Iterator<Item = &'a CellResult>, contender: usize, of: usize) -> Option<f64> {
    let counts = cells.map(|r| r.covered[contender]).fold([0, 0], |[a, b], c| [a + c[0], b + c[of]]);
    (counts[1] > 0).then(|| counts[0] as f64 / counts[1] as f64)
}

fn geometric(errors: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logs: Vec<f64> = errors.flatten().map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

fn percent(share: Option<f64>) -> String {
    match share {
        None => "-".into(),
        Some(share) if share < 1e-4 => format!("{:.1e} %", 100.0 * share),
        Some(share) => format!("{:.3} %", 100.0 * share),
    }
}
