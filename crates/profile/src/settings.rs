//! The profiling program's command line.

use std::path::PathBuf;
use strata_model::Seconds;

/// Budget in seconds if none is given.
pub(crate) const DEFAULT_BUDGET: f64 = 60.0;

/// The settings given by the user (or by `specc calibrate --only-samples`).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// The samples file; during the run its journal is beside it.
    pub(crate) output: PathBuf,
    /// Seconds for the whole run, if given.
    pub(crate) budget: Option<f64>,
    /// Sufficient relative half width of a median, if given: the run ends when all points have it.
    pub(crate) precision: Option<f64>,
    /// Timings after which a point is timed no more, if given.
    pub(crate) most: Option<usize>,
    /// The plan to measure.
    pub(crate) plan: PathBuf,
    /// Resume the journal of an interrupted run.
    pub(crate) resume: bool,
    /// Report progress as lines for a program on stdout, instead of sentences on stderr.
    pub(crate) machine: bool,
    /// End at the end of standard input.
    pub(crate) end_with_stdin: bool,
    /// One of several runs into the same file: do not report what the others measure.
    pub(crate) part: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            output: PathBuf::from("samples.txt"),
            budget: None,
            precision: None,
            most: None,
            plan: PathBuf::from("plan.txt"),
            resume: false,
            machine: false,
            end_with_stdin: false,
            part: false,
        }
    }
}

impl Settings {
    /// The journal of an unfinished run.
    pub(crate) fn partial(&self) -> PathBuf {
        let mut name = self.output.clone().into_os_string();
        name.push(".partial");
        PathBuf::from(name)
    }
}

/// The request of the command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    Run(Settings),
    Help,
}

pub(crate) const HELP: &str = "\
Measures the models of one spec and writes their samples.

Usage: [--plan plan.txt] [--output samples.txt] [--budget 60s] [--resume]

  --plan FILE     what to measure, as specc has written it
  --output FILE   the samples; an unfinished run leaves FILE.partial
  --budget TIME   time for all of it, such as 90, 90s, 500ms or 5m
  --precision P   end when the intervals of all medians are at most +-P, as 5%
  --most N        time no point more often than that
  --resume        go on with FILE.partial
  --progress      progress as lines on stdout, for programs
  --end-with-stdin
                  end when standard input does: when the program that holds its
                  other end has ended, or was killed
  --part          one of several runs into the same file: say nothing of the
                  timings before, nor of points that are left out

The environment says where: STRATA_ON=threads:4, or start it under mpirun; the
plan must have points for that number of nodes.
Exit status: 0 done; 1 the spec or the journal is at fault; 2 wrong usage;
3 the machine failed; 130 interrupted, what was measured is kept.";

/// Reads the command line.
///
/// # Errors
/// A sentence that names the fault.
pub(crate) fn parse(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Request, String> {
    use lexopt::prelude::*;
    let mut settings = Settings::default();
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Long("output") | Short('o') => settings.output = value(&mut parser)?.into(),
            Long("budget") => {
                let text = value(&mut parser)?;
                settings.budget = Some(text.to_str().and_then(duration).ok_or_else(|| {
                    format!("--budget {}: not a time; write it like 60s, 500ms or 5m", text.display())
                })?);
            }
            Long("precision") => {
                let text = value(&mut parser)?;
                settings.precision = Some(text.to_str().and_then(share).ok_or_else(|| {
                    format!("--precision {}: not a percentage; write it like 5%", text.display())
                })?);
            }
            Long("most") => {
                let text = value(&mut parser)?;
                let number = text.to_str().and_then(|text| text.parse().ok()).filter(|most| *most > 0);
                settings.most =
                    Some(number.ok_or_else(|| format!("--most {}: not a number", text.display()))?);
            }
            Long("plan") => settings.plan = value(&mut parser)?.into(),
            Long("resume") => settings.resume = true,
            Long("progress") => settings.machine = true,
            Long("end-with-stdin") => settings.end_with_stdin = true,
            Long("part") => settings.part = true,
            Long("help") | Short('h') => return Ok(Request::Help),
            other => return Err(other.unexpected().to_string()),
        }
    }
    if settings.output.as_os_str().is_empty() {
        return Err("--output needs the name of a file".to_owned());
    }
    Ok(Request::Run(settings))
}

fn value(parser: &mut lexopt::Parser) -> Result<std::ffi::OsString, String> {
    parser.value().map_err(|error| error.to_string())
}

/// Parses a time above zero.
fn duration(text: &str) -> Option<f64> {
    text.parse::<Seconds>().ok().map(Seconds::get).filter(|seconds| *seconds > 0.0)
}

/// Parses a percentage above zero.
fn share(text: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix('%')?.parse().ok()?;
    (number > 0.0 && number <= 100.0).then_some(number / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Request, String> {
        parse(arguments.iter().map(Into::into))
    }

    #[test]
    fn everything_can_be_set() {
        let settings = Settings {
            output: "out/s.txt".into(),
            budget: Some(90.0),
            precision: Some(0.02),
            most: Some(200),
            plan: "p.txt".into(),
            resume: true,
            machine: true,
            end_with_stdin: true,
            part: true,
        };
        assert_eq!(settings.partial(), PathBuf::from("out/s.txt.partial"));
        let arguments = [
            "--output", "out/s.txt", "--budget=1.5m", "--precision=2%", "--most=200", "--plan", "p.txt",
            "--resume", "--progress", "--end-with-stdin", "--part",
        ];
        assert_eq!(read(&arguments), Ok(Request::Run(settings)));
        assert_eq!(read(&[]), Ok(Request::Run(Settings::default())));
        assert_eq!(read(&["--help"]), Ok(Request::Help));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("60"), Some(60.0));
        assert_eq!(duration("500ms"), Some(0.5));
        assert_eq!(duration("2s"), Some(2.0));
        assert_eq!(duration("1h"), Some(3600.0));
        for bad in ["", "s", "-1s", "0", "inf", "NaN", "1d", "1e999"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn wrong_usage_is_named() {
        assert!(read(&["--budget", "soon"]).unwrap_err().contains("--budget soon: not a time"));
        assert!(read(&["--output", ""]).unwrap_err().contains("name of a file"));
        assert!(read(&["--speed"]).unwrap_err().contains("--speed"));
        assert!(read(&["--plan"]).is_err());
        for bad in [["--precision", "5"], ["--precision", "0%"], ["--most", "0"], ["--most", "x"]] {
            assert!(read(&bad).is_err(), "{bad:?}");
        }
    }
}
