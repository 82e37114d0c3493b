//! The page itself.

use std::fmt::{self, Display, Write};

use strata_model::set::{Kind, Model, ModelSet, Verdict};
use strata_model::{Samples, number_text};

use super::map::{self, Map};
use super::plot::{self, Point};
use crate::Residual;
use crate::fit::percent;

const STYLE: &str = "\
:root{color-scheme:light}\
body{font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff;max-width:62rem;margin:0 auto;padding:1rem}\
h1,h2,h3{line-height:1.2}h2{border-bottom:1px solid #ccc;padding-bottom:.2rem;margin-top:2.2rem}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}\
th,td{padding:.25rem .7rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}\
.figures{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;flex:1 1 20rem;min-width:0}\
figcaption{font-size:.85rem;color:#444}svg{max-width:100%;height:auto;display:block}\
.verified{color:#0a5d2c}.failed{color:#a11212;font-weight:600}.unverified{color:#7a4b00}\
.key{display:inline-block;width:.9em;height:.9em;border:1px solid #888;vertical-align:-.1em}\
.dropped{color:#767676}dt{font-weight:600}dd{margin:0 0 .4rem 0;overflow-wrap:anywhere}\
@media print{figure,table{break-inside:avoid}}";

/// Text with everything that HTML could mistake for markup replaced, and control characters made visible.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() && c != '\n' && c != '\t' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The page as one self-contained HTML document.
///
/// `samples` tells where the numbers come from, `residuals` may hold those of all models in any order, and `maps` are
/// drawn in order; all three may be empty.
#[must_use]
pub fn html(set: &ModelSet, samples: &Samples, residuals: &[Residual], maps: &[Map]) -> String {
    let title = set
        .spec
        .as_ref()
        .map_or("Performance models".to_owned(), |s| format!("Performance models of {}", s.path));
    let mut page = Page(String::new());
    page.add(format_args!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
        Escaped(&title)
    ));
    summary(&mut page, set);
    for (index, map) in maps.iter().enumerate() {
        selection_map(&mut page, index, map);
    }
    for model in &set.models {
        let own: Vec<&Residual> = residuals.iter().filter(|r| r.model == model.name).collect();
        model_section(&mut page, model, &own);
    }
    provenance(&mut page, set, samples);
    page.add(format_args!("</main>\n</body>\n</html>\n"));
    page.0
}

/// The text under construction; writing to a string cannot fail.
struct Page(String);

impl Page {
    fn add(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.0.write_fmt(text);
    }
}

fn summary(page: &mut Page, set: &ModelSet) {
    let count =
        |verdict| set.models.iter().filter(|m| m.kind == Kind::Fitted && m.verdict == verdict).count();
    page.add(format_args!(
        "<p>{} verified, {} unverified, {} failed.</p>\n<h2 id=\"summary\">Summary</h2>\n<div class=\"scroll\"><table>\n\
         <thead><tr><th scope=\"col\">Model</th><th scope=\"col\">Terms kept</th><th scope=\"col\" class=\"n\">R²</th>\
         <th scope=\"col\" class=\"n\">MRE of fit</th><th scope=\"col\" class=\"n\">MRE of verification</th><th scope=\"col\">Verdict</th></tr></thead>\n<tbody>\n",
        count(Verdict::Verified),
        count(Verdict::Unverified),
        count(Verdict::Failed)
    ));
    for model in &set.models {
        page.add(format_args!(
            "<tr><td><a href=\"#model-{0}\"><code>{0}</code></a></td>",
            Escaped(&model.name)
        ));
        if let Kind::Factored { expression } = &model.kind {
            page.add(format_args!(
                "<td><code>{}</code></td><td></td><td></td><td></td><td>factored, never fitted</td></tr>\n",
                Escaped(expression)
            ));
            continue;
        }
        let kept: Vec<&str> =
            model.terms.iter().filter(|t| t.coefficient != 0.0).map(|t| t.term.as_str()).collect();
        page.add(format_args!(
            "<td><code>{}</code></td><td class=\"n\">{:.4}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"{4}\">{4}</td></tr>\n",
            Escaped(&kept.join(", ")),
            model.r2,
            percent(model.mre_fit),
            model.mre_verify.map_or("–".into(), percent),
            model.verdict
        ));
    }
    page.add(format_args!("</tbody>\n</table></div>\n"));
}

fn selection_map(page: &mut Page, index: usize, map: &Map) {
    page.add(format_args!("<h2 id=\"map-{index}\">Who wins: <code>{}</code></h2>\n", Escaped(&map.library)));
    if !map.fixed.is_empty() {
        page.add(format_args!("<p>At {}.</p>\n", Escaped(&map.fixed)));
    }
    let Some(svg) = map::svg(map) else {
        page.add(format_args!("<p>The map has no cells.</p>\n"));
        return;
    };
    let caption = format!(
        "The candidate predicted to be fastest for each {} and {}; numbers in the cells are its best parameters.",
        map.x.name, map.y.name
    );
    figure(page, &svg, &caption);
    page.add(format_args!("<ul>\n"));
    for ((candidate, parameters), (i, wins)) in map
        .candidates
        .iter()
        .zip(map.parameters.iter().chain(std::iter::repeat(&Vec::new())))
        .zip(map.wins().into_iter().enumerate())
    {
        let colour = Map::colour(i);
        let parameters = if parameters.is_empty() {
            String::new()
        } else {
            format!(" (parameters: {})", parameters.join(", "))
        };
        page.add(format_args!(
            "<li><span class=\"key\" style=\"background:#{:02x}{:02x}{:02x}\"></span> <code>{}</code>{} wins {wins} of {} cells</li>\n",
            colour.0,
            colour.1,
            colour.2,
            Escaped(candidate),
            Escaped(&parameters),
            map.x.values.len() * map.y.values.len()
        ));
    }
    page.add(format_args!("</ul>\n"));
}

fn model_section(page: &mut Page, model: &Model, residuals: &[&Residual]) {
    page.add(format_args!("<h2 id=\"model-{0}\"><code>{0}</code></h2>\n", Escaped(&model.name)));
    if let Kind::Factored { expression } = &model.kind {
        page.add(format_args!("<p>Factored: <code>{}</code></p>\n", Escaped(expression)));
        return;
    }
    page.add(format_args!(
        "<p><span class=\"{0}\">{0}</span>: {1}. {2} samples fitted by {3} error, {4} kept for verification; rank {5} of {6} terms kept, condition {7:.1e}.</p>\n",
        model.verdict,
        Escaped(&model.reason),
        model.samples,
        model.mode,
        model.verify_samples,
        model.rank,
        model.terms.iter().filter(|t| t.coefficient != 0.0).count(),
        model.condition
    ));
    page.add(format_args!(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Term</th><th scope=\"col\" class=\"n\">Coefficient, s</th>\
         <th scope=\"col\" class=\"n\">± half width</th></tr></thead>\n<tbody>\n"
    ));
    for t in &model.terms {
        if t.coefficient == 0.0 {
            page.add(format_args!(
                "<tr class=\"dropped\"><td><code>{}</code></td><td class=\"n\">dropped</td><td class=\"n\">–</td></tr>\n",
                Escaped(&t.term)
            ));
        } else {
            page.add(format_args!(
                "<tr><td><code>{}</code></td><td class=\"n\">{:.5e}</td><td class=\"n\">{:.2e}</td></tr>\n",
                Escaped(&t.term),
                t.coefficient,
                t.half_width
            ));
        }
    }
    page.add(format_args!("</tbody>\n</table></div>\n"));
    if !model.inputs.is_empty() {
        let ranges: Vec<String> = model
            .inputs
            .iter()
            .map(|i| format!("{} in {}..={}", i.name, number_text(i.min), number_text(i.max)))
            .chain((model.nodes > 0).then(|| format!("nodes = {}", model.nodes)))
            .chain(model.requires.iter().map(|r| format!("requires {r}")))
            .collect();
        page.add(format_args!("<p>Valid for <code>{}</code>.</p>\n", Escaped(&ranges.join(", "))));
    }
    plots(page, residuals);
}

fn plots(page: &mut Page, residuals: &[&Residual]) {
    let points = |y: fn(&Residual) -> f64| -> Vec<Point> {
        residuals.iter().map(|r| Point { verify: r.verify, x: r.predicted, y: y(r) }).collect()
    };
    let figures = [
        (
            plot::observed_against_predicted(&points(|r| r.observed)),
            "Observed against predicted time; on the line they agree. Circles were fitted, triangles kept for verification.",
        ),
        (
            plot::relative_errors(&points(|r| 100.0 * r.relative_error())),
            "Relative error against predicted time; a pattern means that a term is missing.",
        ),
    ];
    if figures.iter().all(|(svg, _)| svg.is_none()) {
        return;
    }
    page.add(format_args!("<div class=\"figures\">\n"));
    for (svg, caption) in figures {
        if let Some(svg) = svg {
            figure(page, &svg, caption);
        }
    }
    page.add(format_args!("</div>\n"));
}

/// A figure with its caption, which is also what a screen reader hears of the drawing.
fn figure(page: &mut Page, svg: &str, caption: &str) {
    let svg = svg.trim_start().replacen(
        "<svg ",
        &format!("<svg role=\"img\" aria-label=\"{}\" ", Escaped(caption)),
        1,
    );
    page.add(format_args!("<figure>\n{svg}<figcaption>{}</figcaption>\n</figure>\n", Escaped(caption)));
}

fn provenance(page: &mut Page, set: &ModelSet, samples: &Samples) {
    page.add(format_args!("<h2 id=\"provenance\">Where this comes from</h2>\n<dl>\n"));
    let mut item = |name: &str, value: &str| {
        page.add(format_args!("<dt>{name}</dt><dd><code>{}</code></dd>\n", Escaped(value)));
    };
    if let Some(platform) = set.platform.as_ref().or(samples.platform.as_ref()) {
        item("Machine", &platform.to_string());
    }
    if let Some(spec) = &set.spec {
        item("Spec", &format!("{} (sha256 {})", spec.path, spec.sha256));
    }
    if !set.samples_sha256.is_empty() {
        item("Samples", &format!("sha256 {}", set.samples_sha256));
    }
    let (mut fit, mut verify, mut preempted) = (0usize, 0usize, 0u64);
    for row in samples.models.iter().flat_map(|m| &m.rows) {
        if row.verify {
            verify += 1
        } else {
            fit += 1
        }
        preempted += u64::from(row.notes.preempted);
    }
    if fit + verify > 0 {
        item(
            "Counts",
            &format!(
                "{fit} samples to fit, {verify} to verify; {preempted} preempted timings were discarded"
            ),
        );
    }
    item("Model set", &format!("sha256 {}", set.digest()));
    item("Program", concat!("strata-fit ", env!("CARGO_PKG_VERSION")));
    page.add(format_args!("</dl>\n"));
}
