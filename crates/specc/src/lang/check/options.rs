//! Options of a model: `fit`, `verify`, `round`, `repeat`, `accept`, `confidence`.

use strata_model::closest;
use strata_model::expr::Span;
use strata_model::set::Mode;

use crate::lang::ast::Name;
use crate::lang::checked::{Limits, ModelOptions};
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// Sets one option.
pub(super) fn set(options: &mut ModelOptions, name: &Name, value: &Name) -> Result<(), CheckError> {
    match name.text.as_str() {
        "verify" => options.verify = count(value, 0, 100_000, "how many samples verify the fit")?,
        "repeat" => options.repeat = count(value, 1, 1000, "how often a point is timed at least")?,
        "accept" => {
            options.fit.accept =
                percentage(value, 0.01, 100.0, "the mean relative error up to which a model passes")?
        }
        "round" => {
            options.round =
                percentage(value, 0.0, 100.0, "how many of the samples that verify are at round inputs")?
        }
        "confidence" => {
            options.fit.confidence = percentage(value, 50.0, 99.99, "the confidence of intervals")?
        }
        _ => {
            let message = format!("there is no option `{}`", name.text);
            return Err(CheckError::new(ErrorCode::Unknown, message, name.span, "not known"));
        }
    }
    Ok(())
}

/// Sets a limit of a library's ways.
pub(super) fn limit(limits: &mut Limits, (name, value): &(Name, Name)) -> Result<(), CheckError> {
    match name.text.as_str() {
        "ways" => limits.ways = Some(count(value, 1, 24, "how many ways the models choose among")? as usize),
        _ => {
            let what = "by how much an input may be slower than with all ways";
            limits.slowdown = Some(percentage(value, 0.0, 1000.0, what)?);
        }
    }
    Ok(())
}

/// Takes in the parts of a `fit` statement; what is wrong with each.
pub(super) fn fit(options: &mut ModelOptions, parts: &[Vec<Name>]) -> Vec<CheckError> {
    let mut errors = Vec::new();
    let mut said: Vec<(&str, Span)> = Vec::new();
    for part in parts {
        let words: Vec<&str> = part.iter().map(|word| word.text.as_str()).collect();
        let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
        let span = Span { start: first.span.start, end: last.span.end };
        match options.fit.set(&words) {
            Ok(about) => {
                if let Some((_, earlier)) = said.iter().find(|(known, _)| *known == about) {
                    let message = format!("`fit` says twice how it is with {about}");
                    let error = CheckError::new(ErrorCode::Duplicate, message, span, "said again");
                    errors.push(error.label(*earlier, "first said here").help("keep one of them"));
                }
                options.says_search |= about == "the search";
                said.push((about, span));
            }
            Err(wrong) => {
                let word = part.get(wrong.word).unwrap_or(first);
                let error = CheckError::new(ErrorCode::Unknown, wrong.message, word.span, "not known here");
                let meant = closest(&word.text, wrong.expected.iter().copied());
                errors.push(match (meant, wrong.expected.is_empty()) {
                    (Some(meant), _) => error.help(format!("did you mean `{meant}`?")),
                    (None, false) => error.help(format!("there are {}", wrong.expected.join(", "))),
                    (None, true) => error,
                });
            }
        }
    }
    let of = |about: &str| said.iter().find(|(known, _)| *known == about).map(|(_, span)| *span);
    if options.fit.mode == Mode::Absolute
        && let Some(span) = of("weights")
    {
        let message =
            "weights say what relative errors are relative to, and this fit is `absolute`".to_owned();
        errors.push(
            CheckError::new(ErrorCode::Unknown, message, span, "of no effect").help("leave one of them out"),
        );
    }
    errors
}

fn count(value: &Name, least: u32, most: u32, what: &str) -> Result<u32, CheckError> {
    let number = value.text.replace('_', "").parse::<u32>().ok();
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let message = format!("`{}` is no whole number from {least} to {most}", value.text);
        CheckError::new(ErrorCode::Range, message, value.span, "out of range")
            .help(format!("the option says {what}"))
    })
}

/// A percentage from `least` to `most`, as a fraction.
fn percentage(value: &Name, least: f64, most: f64, what: &str) -> Result<f64, CheckError> {
    let digits = value.text.strip_suffix('%');
    let number = digits.and_then(|digits| digits.parse::<f64>().ok());
    number.filter(|number| (least..=most).contains(number)).map(|number| number / 100.0).ok_or_else(|| {
        let message = format!("`{}` is no percentage from {least}% to {most}%", value.text);
        let error = CheckError::new(ErrorCode::Range, message, value.span, "out of range");
        match (digits, value.text.parse::<f64>()) {
            (None, Ok(number)) if number > 0.0 && number < 1.0 => {
                error.help(format!("a fraction? write `{}%`: the option says {what}", number * 100.0))
            }
            (None, Ok(number)) => error.help(format!("write `{number}%`: the option says {what}")),
            _ => error.help(format!("the option says {what}")),
        }
    })
}
