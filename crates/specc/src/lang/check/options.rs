//! Options of a model: `fit`, `verify`, `repeat`, `accept`, `confidence`.

use crate::lang::ast::Name;
use crate::lang::diagnostic::{CheckError, ErrorCode, closest};
use crate::lang::plan::{FitMode, Options};

/// Sets one option.
pub(super) fn set(options: &mut Options, name: &Name, value: &Name) -> Result<(), CheckError> {
    match name.text.as_str() {
        "fit" => options.fit = fit(value)?,
        "verify" => options.verify = count(value, 0, 100_000, "how many samples verify the fit")?,
        "repeat" => options.repeat = count(value, 1, 1000, "how many timings a sample is the median of")?,
        "accept" => {
            options.accept =
                percentage(value, 0.0, 100.0, "the mean relative error up to which a model passes")?
        }
        "confidence" => options.confidence = percentage(value, 50.0, 99.99, "the confidence of intervals")?,
        _ => {
            let message = format!("there is no option `{}`", name.text);
            return Err(CheckError::new(ErrorCode::Unknown, message, name.span, "not known"));
        }
    }
    Ok(())
}

fn fit(value: &Name) -> Result<FitMode, CheckError> {
    match value.text.as_str() {
        "relative" => Ok(FitMode::Relative),
        "absolute" => Ok(FitMode::Absolute),
        other => {
            let message = format!("a model is fitted by `relative` or `absolute` error, not `{other}`");
            let meant = closest(other, ["relative", "absolute"]).unwrap_or("relative");
            let error = CheckError::new(ErrorCode::Unknown, message, value.span, "not known");
            Err(error.help(format!("write `fit {meant}`")))
        }
    }
}

fn count(value: &Name, least: u32, most: u32, what: &str) -> Result<u32, CheckError> {
    let number = value.text.replace('_', "").parse::<u32>().ok();
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let message = format!("`{}` is no whole number from {least} to {most}", value.text);
        CheckError::new(ErrorCode::Range, message, value.span, "out of range")
            .help(format!("the option says {what}"))
    })
}

/// A percentage above `least` and at most `most`, as a fraction.
fn percentage(value: &Name, least: f64, most: f64, what: &str) -> Result<f64, CheckError> {
    let digits = value.text.strip_suffix('%');
    let number = digits.and_then(|digits| digits.parse::<f64>().ok());
    number.filter(|number| *number > least && *number <= most).map(|number| number / 100.0).ok_or_else(|| {
        let message = format!("`{}` is no percentage above {least}% and up to {most}%", value.text);
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
