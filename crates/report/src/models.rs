//! The section of one model: equation, coefficients, domain, plots.

use strata_model::set::{Kind, Model, Nodes};

use crate::histogram::Histogram;
use crate::html::{Escaped, Figure, Page};
use crate::overview::{Badge, list, r2_text};
use crate::plot::{self, Cloud, Plot, Point};
use crate::told;
use strata_fit::stats::confidence;
use strata_fit::{Fitted, Residual};
use strata_model::{Kinds, count, kind_text, percent};
use strata_select::normal::HALF_WIDTH;

/// Samples with the greatest errors that are listed.
const GREATEST: usize = 10;

/// The section of a model; its plots show at most `points` samples each.
pub(crate) fn section(
    page: &mut Page,
    (model, kinds): (&Model, &Kinds),
    fitted: Option<&Fitted>,
    points: usize,
) {
    let name = Escaped(&model.name);
    page.add(format_args!(
        "<section class=\"model\" aria-labelledby=\"model-{name}\">\n<h3 id=\"model-{name}\">{name}"
    ));
    match &model.kind {
        Kind::Factored { expression } => {
            page.add(format_args!(
                "</h3>\n<p>A formula over other models, never fitted.</p>\n<p class=\"equation\"><code>{name} = {}</code></p>\n",
                Escaped(expression)
            ));
            domain(page, (model, kinds));
        }
        Kind::Unmeasured => page.add(format_args!("</h3>\n<p>Not known: {}.</p>\n", Escaped(&model.reason))),
        Kind::Fitted => {
            page.add(format_args!(" {}</h3>\n", Badge(model.verdict)));
            if !model.reason.is_empty() {
                page.add(format_args!("<p>{}.</p>\n", Escaped(&capitalised(&model.reason))));
            }
            page.add(format_args!(
                "<p class=\"equation\"><code>{name} in {} {}",
                Escaped(model.unit.name()),
                relation(model)
            ));
            for summand in equation(model) {
                page.add(format_args!(" <span>{}</span>", Escaped(&summand)));
            }
            page.add(format_args!("</code></p>\n"));
            let meanings = model.meanings();
            if !meanings.is_empty() {
                let meanings = meanings.join(", ");
                page.add(format_args!("<p>Where <code>{}</code>.</p>\n", Escaped(&meanings)));
            }
            quality(page, model);
            if let Some(fitted) = fitted.filter(|f| !(f.warnings.is_empty() && f.notes.is_empty())) {
                list(page, fitted.warnings.iter().chain(&fitted.notes).map(String::as_str));
            }
            coefficients(page, model);
            domain(page, (model, kinds));
            plots(page, (model, kinds), fitted.map_or(&[], |f| &f.residuals), points);
        }
    }
    page.add(format_args!(
        "<p class=\"back\"><a href=\"#summary\">Back to the summary</a></p>\n</section>\n"
    ));
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(char::to_uppercase).into_iter().flatten().chain(chars).collect()
}

/// How what was measured lies to the terms.
fn relation(model: &Model) -> &'static str {
    if model.bound.is_some() { "&lt;=" } else { "=" }
}

/// The model as a sum of the terms kept, in its unit: the summands with their signs.
fn equation(model: &Model) -> Vec<String> {
    let mut summands = Vec::new();
    for (n, term) in model.terms.iter().filter(|t| t.coefficient != 0.0).enumerate() {
        let sign = match (n, term.coefficient < 0.0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => "+ ",
            (_, true) => "- ",
        };
        let factor = model.factor(&term.term);
        summands.push(format!("{sign}{:.3e}{factor}", term.coefficient.abs()));
    }
    if summands.is_empty() { vec!["0".into()] } else { summands }
}

/// The fit method of a model and the accuracy of its predictions.
fn quality(page: &mut Page, model: &Model) {
    let mut lines = vec![format!(
        "Fitted to {} samples by {} error: R² {}, mean relative error {}; rank {} of {} terms kept, condition {:.1e}.",
        model.samples,
        model.mode,
        r2_text(model.r2),
        percent(model.mre_fit),
        model.rank,
        model.terms.iter().filter(|t| t.coefficient != 0.0).count(),
        model.condition
    )];
    match (model.mre_verify, &model.verify_quantiles) {
        (Some(mre), Some(q)) => lines.push(format!(
            "Held out, {} samples: mean relative error {}; half of them within {}, nine in ten within {}, 19 in 20 within {}, all within {}.",
            model.verify_samples,
            percent(mre),
            percent(q.p50),
            percent(q.p90),
            percent(q.p95),
            percent(q.max)
        )),
        (Some(mre), None) => {
            lines.push(format!("Held out, {} samples: mean relative error {}.", model.verify_samples, percent(mre)));
        }
        (None, _) if model.verify_samples == 0 => lines.push("No samples were held out, so nothing verifies it.".into()),
        (None, _) => lines.push(format!("The {} samples held out have no relative error.", model.verify_samples)),
    }
    if let Some(coverage) = model.coverage {
        lines.push(format!(
            "{} of the held-out samples lie in the interval predicted for them.",
            percent(coverage)
        ));
    }
    page.add(format_args!("<p>{}</p>\n", Escaped(&lines.join(" "))));
}

fn coefficients(page: &mut Page, model: &Model) {
    if model.terms.is_empty() {
        return;
    }
    let share = confidence(model.t_quantile, model.samples.saturating_sub(model.rank));
    // The level is the one in the options; computing it back from the quantile leaves rounding.
    let level = share.map_or("Interval".into(), |c| format!("{} interval", percent((c * 1e4).round() / 1e4)));
    let unit = if model.unit.is_seconds() { "seconds" } else { model.unit.name() };
    page.begin_table(
        &format!("Coefficients of {}, in {unit} per unit of the term", model.name),
        &["Term", "#Coefficient", &format!("#{level}")],
    );
    for t in &model.terms {
        let term = model.short(&t.term);
        let term = Escaped(&term);
        if t.coefficient == 0.0 {
            page.add(format_args!(
                "<tr class=\"dropped\"><th scope=\"row\"><code>{term}</code></th><td class=\"n\">dropped</td><td class=\"n\">–</td></tr>\n"
            ));
            continue;
        }
        let interval = if t.half_width > 0.0 {
            format!("{:.3e} to {:.3e}", t.coefficient - t.half_width, t.coefficient + t.half_width)
        } else {
            "–".into()
        };
        page.add(format_args!(
            "<tr><th scope=\"row\"><code>{term}</code></th><td class=\"n\">{:.4e}</td><td class=\"n interval\">{interval}</td></tr>\n",
            t.coefficient
        ));
    }
    page.end_table();
}

/// The validity domain of the model.
fn domain(page: &mut Page, (model, kinds): (&Model, &Kinds)) {
    if !model.inputs.is_empty() {
        page.begin_table(
            &format!("Validity domain of {}: there is no prediction outside", model.name),
            &["Input", "#From", "#To", "Values"],
        );
        for input in &model.inputs {
            let values = match (input.min == input.max, input.integer) {
                (true, _) => "one only",
                (false, true) if kinds.contains_key(&input.name) => "names",
                (false, true) => "whole numbers",
                (false, false) => "any",
            };
            page.add(format_args!(
                "<tr><th scope=\"row\"><code>{}</code></th><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{values}</td></tr>\n",
                Escaped(&input.name),
                kind_text(kinds, &input.name, input.min),
                kind_text(kinds, &input.name, input.max)
            ));
        }
        page.end_table();
    }
    let mut limits = Vec::new();
    if model.nodes != Nodes::ANY {
        let nodes = model.nodes.to_string();
        limits.push(format!("Nodes: {}.", nodes.trim_end_matches(" nodes")));
    }
    if !model.requires.is_empty() {
        limits.push(format!(
            "Requires {}.",
            model.requires.iter().map(|text| model.short(text)).collect::<Vec<_>>().join(" and ")
        ));
    }
    if model.leverage_limit > 0.0 {
        limits.push(format!(
            "Leverage limit {:.3}: the greatest of a sample; a prediction above one and a half times of it extrapolates inside the ranges, and is said to.",
            model.leverage_limit
        ));
    }
    if !limits.is_empty() {
        page.add(format_args!("<p>{}</p>\n", Escaped(&limits.join(" "))));
    }
}

fn plots(page: &mut Page, (model, kinds): (&Model, &Kinds), residuals: &[Residual], most: usize) {
    if residuals.is_empty() {
        return;
    }
    let name = &model.name;
    let points = |x: &dyn Fn(&Residual) -> f64, y: &dyn Fn(&Residual, f64) -> f64| -> Vec<Point> {
        let point = |(sample, r): (usize, &Residual)| {
            let noise = [-1.0, 1.0].map(|sign| y(r, r.observed * (1.0 + sign * HALF_WIDTH * r.noise)));
            let noise = (noise[0].min(noise[1]), noise[0].max(noise[1]));
            let (verify, error) = (r.verify, r.relative_error());
            Point { verify, sample, x: x(r), y: y(r, r.observed), noise, error }
        };
        residuals.iter().enumerate().map(point).collect()
    };
    let error_of = |r: &Residual, observed: f64| {
        100.0 * if observed == r.predicted { 0.0 } else { (observed - r.predicted) / r.observed }
    };
    let error = |r: &Residual| 100.0 * r.relative_error();
    let worst =
        residuals.iter().map(|r| r.relative_error().abs()).filter(|e| e.is_finite()).fold(0.0, f64::max);
    let worst = format!("The greatest relative error is {}.", percent(worst));
    page.add(format_args!(
        "<p class=\"legend\">In the plots circles are samples that were fitted, triangles samples held out; relative error is \
         (observed - predicted) / observed. A bar is the noise of the sample: where it does not reach the line, the model is off. A pointer on a \
         sample tells its inputs.</p>\n<div class=\"figures\">\n"
    ));
    let mut show = |plot: Option<Plot>, title: &str, what: &str| {
        if let Some(plot) = plot {
            let caption = format!("{title}. {what}{}", omitted(&plot));
            let description = format!("{} of {} samples are drawn. {worst}", plot.drawn, plot.all);
            let title = format!("{name}: {title}");
            page.figure(&Figure {
                svg: &[plot.svg],
                title: &title,
                description: &description,
                caption: &caption,
            });
        }
    };
    let told = |sample: usize| residuals.get(sample).map_or(String::new(), |r| told(model, kinds, r));
    let cloud = |points| Cloud { points, most, told: &told };
    show(
        plot::observed_against_predicted(&cloud(points(&|r| r.predicted, &|_, observed| observed))),
        "Observed against predicted time",
        "On the line they agree.",
    );
    show(
        plot::errors_against_prediction(&cloud(points(&|r| r.predicted, &error_of))),
        "Relative error against predicted time",
        "A pattern means that a term is missing.",
    );
    for (i, input) in model.inputs.iter().enumerate() {
        let at = |r: &Residual| r.inputs.get(i).copied().unwrap_or(f64::NAN);
        let title = format!("Relative error against {}", input.name);
        let names = kinds.get(&input.name).map_or(&[][..], Vec::as_slice);
        show(plot::errors_against_input(&cloud(points(&at, &error_of)), &input.name, names), &title, "");
    }
    let held_out: Vec<f64> = residuals.iter().filter(|r| r.verify).map(error).collect();
    let histogram = Histogram::new(&held_out);
    if let Some((histogram, svg)) = histogram.and_then(|h| h.svg().map(|svg| (h, svg))) {
        let left_out = held_out.iter().filter(|e| !e.is_finite()).count();
        let left_out = if left_out == 0 {
            String::new()
        } else {
            format!(" {left_out} without a relative error are left out.")
        };
        page.figure(&Figure {
            svg: &[svg],
            title: &format!("{name}: errors of the samples held out"),
            description: &format!("Samples by relative error: {}.", histogram.description()),
            caption: &format!(
                "Errors of the {} samples held out. A model without bias has zero in the middle.{left_out}",
                held_out.len()
            ),
        });
    }
    page.add(format_args!("</div>\n"));
    greatest_errors(page, (model, kinds), residuals);
}

/// The samples that the model errs most at, for those who have no pointer.
fn greatest_errors(page: &mut Page, (model, kinds): (&Model, &Kinds), residuals: &[Residual]) {
    let mut worst: Vec<&Residual> = residuals.iter().collect();
    let by_error =
        |a: &&Residual, b: &&Residual| b.relative_error().abs().total_cmp(&a.relative_error().abs());
    if worst.len() > GREATEST {
        worst.select_nth_unstable_by(GREATEST, by_error);
        worst.truncate(GREATEST);
    }
    worst.sort_by(by_error);
    page.add(format_args!("<details>\n<summary>The samples with the greatest errors</summary>\n"));
    let caption = format!("{}: samples with the greatest relative errors", model.name);
    page.begin_table(&caption, &["Sample", "#Error"]);
    for r in worst.iter().take(GREATEST) {
        page.add(format_args!(
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td></tr>\n",
            Escaped(&told(model, kinds, r)),
            Escaped(&percent(r.relative_error()))
        ));
    }
    page.end_table();
    page.add(format_args!("</details>\n"));
}

/// The number of points that a plot leaves out, as the end of a caption; empty if it shows all.
fn omitted(plot: &Plot) -> String {
    let mut text = String::new();
    if plot.drawn < plot.visible {
        text.push_str(&format!(
            " {} of {} samples are drawn, those with the greatest errors among them.",
            plot.drawn, plot.visible
        ));
    }
    if plot.visible < plot.all {
        let hidden = count(plot.all - plot.visible, "sample", "samples");
        text.push_str(&format!(" {hidden} cannot be drawn on these axes."));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::set::Term;

    #[test]
    fn equations_read_as_sums() {
        let term = |term: &str, coefficient: f64| Term {
            term: term.into(),
            coefficient,
            std_error: 0.0,
            half_width: 0.0,
            relevant: coefficient != 0.0,
        };
        let of = |terms: Vec<Term>| equation(&Model { terms, ..Model::default() }).join(" ");
        assert_eq!(
            of(vec![
                term("1", -1e-6),
                term("n", 0.0),
                term("n*log2(n)", 2.5e-9),
                term("n-1", -3e-9),
                term("max(0,n-1)", 1e-9),
                term("n>8", 1e-9)
            ]),
            "-1.000e-6 + 2.500e-9·n*log2(n) - 3.000e-9·(n-1) + 1.000e-9·max(0,n-1) + 1.000e-9·(n>8)"
        );
        assert_eq!(of(Vec::new()), "0");
    }
}
