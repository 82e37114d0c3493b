//! The section on further samples: where choices are not sure, and what would make them surer.

use strata_model::percent;

use crate::html::{Escaped, Page};
use crate::overview::list;

/// A smaller loss is not worth more samples.
const SMALL: f64 = 0.001;

/// Which further samples would make the choices of a library surer.
#[derive(Clone, Debug, PartialEq)]
pub struct Help {
    /// The library.
    pub library: String,
    /// Where its choice is the fastest with a probability below [`SURE`](crate::SURE), in words.
    pub unsure: Vec<String>,
    /// The samples that lower the expected loss most, in words, the best first; may be empty.
    pub samples: Vec<String>,
    /// The expected loss of its choices, as a share of the time: now and with these samples.
    pub loss: Option<(f64, f64)>,
}

pub(crate) fn section(page: &mut Page, help: &[Help]) {
    page.add(format_args!(
        "<section aria-labelledby=\"help\">\n<h2 id=\"help\">Which samples would help</h2>\n"
    ));
    for Help { library, unsure, samples, loss } in help {
        let text = match &unsure[..] {
            [] => "no choice is known to be within noise but where one way gives place to the next.",
            _ => "which way is the fastest is within noise at",
        };
        page.add(format_args!("<p><strong>{}</strong>: {text}</p>\n", Escaped(library)));
        if !unsure.is_empty() {
            list(page, unsure.iter().map(String::as_str));
        }
        if let (Some((before, after)), [_, ..]) = (loss, &samples[..]) {
            let samples = samples.join("; ");
            let text = if *before < SMALL {
                format!(
                    "Of what more samples can improve, choices lose less than {} of the time: hardly any is worth its \
                     time. By the loops of the spec the best would be {samples}.",
                    percent(SMALL)
                )
            } else {
                format!(
                    "Of what more samples can improve, choices lose {} of the time; with the best samples by the loops \
                     of the spec, {samples}, it is {}.",
                    percent(*before),
                    percent(*after)
                )
            };
            page.add(format_args!("<p>{}</p>\n", Escaped(&text)));
        }
    }
    page.add(format_args!(
        "<p><code>specc advise models.toml --spec SPEC</code> names more, and writes them as points that \
         <code>specc calibrate --points</code> measures.</p>\n</section>\n"
    ));
}
