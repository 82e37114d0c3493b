//! Reads what `comet -o DIR` has found of a machine, and predicts by it.
//!
//!     comet --on threads --nodes 2 -o comet-here
//!     cargo run -p strata-comet --example machine_parameters -- comet-here 4096

use std::path::PathBuf;
use std::process::ExitCode;

use strata_comet::{Results, ResultsError};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let folder: PathBuf = arguments.next().unwrap_or_else(|| "comet-here".to_owned()).into();
    let bytes = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(4096.0);
    match tell(&folder, bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn tell(folder: &std::path::Path, bytes: f64) -> Result<(), ResultsError> {
    let results = Results::read(folder)?;
    println!("{}", results.platform);
    if let Some(contaminated) = &results.contaminated {
        println!("do not believe this run: {}", contaminated.reason);
    }
    if let Some(echo) = results.kernel("Echo")
        && let Some(curve) = &echo.curve
    {
        println!("one way of {bytes} bytes: {:.2} µs", 1e6 * curve.seconds(bytes));
        for switch in &echo.breaks {
            println!("the protocol switches between {} and {} bytes", switch.after, switch.before);
        }
    }
    if let Some(loggp) = &results.loggp {
        // LogGP's time of a long message: o_s + L + (k - 1)·G + o_r.
        let time =
            loggp.o_s.value + loggp.latency.value + (bytes - 1.0) * loggp.gap_byte.value + loggp.o_r.value;
        println!("LogGP says {:.2} µs; o_s is {:.0} ns", 1e6 * time, 1e9 * loggp.o_s.value);
    }
    Ok(())
}
