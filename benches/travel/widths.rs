//! How much the machines differ that the repository has models of: the widths of the prior.
//!
//! For each pair of tables of one library, the logarithm of the ratio of their predicted times is
//! split into parts: what all candidates share, what each adds, and what is left over the problems.

use strata_benches::columns;
use strata_select::{Library, Source, Table, table::Parameters};
use strata_sort::Sort;
use strata_stencil::{
    Stencil,
    layout::{StencilExchange, StencilWave},
};

use super::fitting::Clock;

/// Problems at which two tables are compared.
const PROBLEMS: usize = 400;

pub(super) fn run() -> Result<(), String> {
    columns("library | machines | all | each candidate | within a candidate");
    let mut parts = Vec::new();
    pairs::<Sort>(&mut parts);
    pairs::<Stencil>(&mut parts);
    pairs::<StencilWave>(&mut parts);
    pairs::<StencilExchange>(&mut parts);
    let root = |of: fn(&[f64; 3]) -> f64| {
        (parts.iter().map(|part| of(part).powi(2)).sum::<f64>() / parts.len().max(1) as f64).sqrt()
    };
    let all = [root(|part| part[0]), root(|part| part[1]), root(|part| part[2])];
    println!("| root mean square | | {} | {} | {} |", show(all[0]), show(all[1]), show(all[2]));
    strata_benches::summary(&serde_json::json!({ "widths": all }));
    Ok(())
}

fn show(part: f64) -> String {
    format!("{part:.2}")
}

fn name(table: &Table) -> String {
    let words: Vec<&str> = table.platform.split(' ').collect();
    let cpu = table.platform.split("cpu=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("");
    format!("{} {cpu}", words.first().unwrap_or(&""))
}

fn pairs<L: Library>(parts: &mut Vec<[f64; 3]>) {
    for (place, first) in L::TABLES.iter().enumerate() {
        for second in &L::TABLES[place + 1..] {
            if let Some(found) = compare(first, second) {
                let machines = format!("{} / {}", name(first), name(second));
                println!(
                    "| {} | {machines} | {} | {} | {} |",
                    first.library,
                    show(found[0]),
                    show(found[1]),
                    show(found[2])
                );
                parts.push(found);
            }
        }
    }
}

fn compare(first: &Table, second: &Table) -> Option<[f64; 3]> {
    let nodes = first.domain.nodes.1.min(second.domain.nodes.1);
    let mut draw = Clock::new(5);
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); first.entries.len()];
    for _ in 0..PROBLEMS {
        let problem: Vec<f64> = first
            .domain
            .inputs
            .iter()
            .zip(second.domain.inputs)
            .map(|(a, b)| draw.between(a.0.max(b.0).max(1.0), a.1.min(b.1)))
            .collect();
        for (candidate, entry) in first.entries.iter().enumerate() {
            let least = Parameters::least(entry.parameters);
            let of = |table: &Table| table.seconds(candidate, nodes, &problem, &least);
            if let (Some(a), Some(b)) = (of(first), of(second))
                && a > 0.0
                && b > 0.0
            {
                ratios[candidate].push((b / a).ln());
            }
        }
    }
    let ratios: Vec<Vec<f64>> = ratios.into_iter().filter(|some| some.len() > 10).collect();
    let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len() as f64;
    let scatter = |some: &[f64]| {
        let middle = mean(some);
        (some.iter().map(|one| (one - middle).powi(2)).sum::<f64>() / (some.len() as f64 - 1.0).max(1.0))
            .sqrt()
    };
    let means: Vec<f64> = ratios.iter().map(|some| mean(some)).collect();
    let within: Vec<f64> = ratios.iter().map(|some| scatter(some)).collect();
    let square = |some: &[f64]| (some.iter().map(|one| one * one).sum::<f64>() / some.len() as f64).sqrt();
    (means.len() > 1).then(|| [mean(&means).abs(), scatter(&means), square(&within)])
}
