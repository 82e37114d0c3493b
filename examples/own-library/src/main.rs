//! `own-library SIZE…`: multiplies matrices of these sizes and says which way was taken, and why.

use std::process::ExitCode;

use own_library::{matrix, multiply};

fn main() -> ExitCode {
    for size in std::env::args().skip(1) {
        let rows = size.parse().ok().filter(|n| *n <= 10_000);
        let rows = rows.ok_or_else(|| format!("`{size}` is not a number of rows up to 10000"));
        match rows.map(|n| multiply(&matrix(n, 1), &matrix(n, 2))) {
            Ok((product, why)) => {
                println!("n = {size}, sum {}: {why}", product.values.iter().sum::<f64>() + 0.0)
            }
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
