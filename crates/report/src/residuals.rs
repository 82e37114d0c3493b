//! The residual file: every sample beside the model's prediction.
//!
//! Text, one line a sample, fields separated by tabs; the first line names format and version, and
//! before each model a line `#` has the names of its columns:
//!
//! ```text
//! strata-residuals 1
//! # model  verify  observed  predicted  relative_error  length
//! CombineVector  -  5.784e-5  5.79e-5  -0.00103…  1
//! CombineVector  @  6.1532e-4  6.1e-4  0.00864…  431
//! ```
//!
//! `@` marks verification samples, times are in seconds, the relative error is (observed −
//! predicted)/observed, and numbers read back equal. Plotting programs can read the file directly.
//!
//! Source: Brewer (1994), §3.6.2: the fitter writes the residuals to a separate file, to improve
//! the terms of a model that fails.

use std::io::{self, Write};
use std::path::Path;

use strata_model::{number_text, write_atomically};

use strata_fit::Fitted;

/// Writes the residuals of all models to a file, atomically.
///
/// # Errors
/// Those of the file system.
pub fn write_residuals(path: &Path, fitted: &[Fitted]) -> io::Result<()> {
    write_atomically(path, |out| residuals_to(out, fitted))
}

/// Writes the residuals of all models.
///
/// # Errors
/// Those of `out`.
pub fn residuals_to(out: &mut dyn Write, fitted: &[Fitted]) -> io::Result<()> {
    writeln!(out, "strata-residuals 1")?;
    for Fitted { model, residuals, .. } in fitted {
        write!(out, "# model\tverify\tobserved\tpredicted\trelative_error")?;
        for input in &model.inputs {
            write!(out, "\t{}", input.name)?;
        }
        writeln!(out)?;
        for r in residuals {
            let mark = if r.verify { '@' } else { '-' };
            write!(out, "{}\t{mark}", model.name)?;
            for value in [r.observed, r.predicted, r.relative_error()].iter().chain(&r.inputs) {
                write!(out, "\t{}", number_text(*value))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
