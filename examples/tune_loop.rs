//! Finds the tile in which a matrix is transposed fastest, while it is transposed again and again.
//!
//!     STRATA_TUNE=tune cargo run --release -p strata-tune --example tune_loop
//!
//! A second run begins with what the first one has found. Without `STRATA_TUNE` nothing is tuned,
//! and the default is taken always. `--graph FILE` draws the loop as it was found, `--json` prints
//! the report for programs.

use strata_tune::{Knob, TuneError, Tuner};

fn main() -> Result<(), TuneError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let size = 512;
    let from: Vec<f64> = (0..size * size).map(|at| at as f64).collect();
    let mut to = vec![0.0; size * size];

    // The ten lines.
    let mut tuner = Tuner::from_env("tune_loop")?;
    let tile = Knob::new("tile", size, [4, 8, 16, 32, 64, 128]);
    for _ in 0..1000 {
        let tile = *tuner.pick(&tile);
        transpose(&from, &mut to, size, tile);
    }
    let graph = tuner.graph_svg();
    let report = tuner.close()?;

    assert!((0..size).all(|row| to[row * size] == from[row]), "whatever was tried, it is transposed");
    match &arguments[..] {
        [] => print!("{report}"),
        [option] if option == "--json" => println!("{}", report.json()),
        [option, file] if option == "--graph" => {
            let written = strata_model::write_atomically(file, |out| out.write_all(graph.as_bytes()));
            written.map_err(|source| TuneError::Write { source })?;
            print!("{report}");
        }
        other => eprintln!("`{}`: it is --graph FILE, or --json, or nothing", other.join(" ")),
    }
    Ok(())
}

/// Transposes a square matrix tile by tile.
fn transpose(from: &[f64], to: &mut [f64], size: usize, tile: usize) {
    for top in (0..size).step_by(tile) {
        for left in (0..size).step_by(tile) {
            for row in top..(top + tile).min(size) {
                for column in left..(left + tile).min(size) {
                    to[column * size + row] = from[row * size + column];
                }
            }
        }
    }
}
