//! The frame of the page: head, contents, sections in order.

use strata_model::set::Kind;

use crate::html::{Escaped, Page};
use crate::{Curves, Report, curves, help, judged, models, overview, provenance, selection};

/// Figures, also where they stand alone.
const FIGURES: &str = include_str!("figures.css");
const STYLE: &str = include_str!("style.css");

/// Approximate number of points drawn on a page, for any number of models.
const POINTS: usize = 40_000;
/// Fewer points make no useful plot; more cannot be distinguished.
const POINTS_OF_PLOT: (usize, usize) = (40, 500);

/// See [`Report::html`].
pub(crate) fn page(report: &Report<'_>) -> String {
    let set = report.set;
    let title = set
        .spec
        .as_ref()
        .map_or("Performance models".to_owned(), |s| format!("Performance models of {}", s.path));
    let machine = set.platform.as_ref().or(report.samples.platform.as_ref()).map(provenance::machine);
    let mut page = begun(&title, machine.as_deref());
    page.add(format_args!("<nav aria-label=\"Contents\">\n<ul>\n"));
    let sections = [
        ("summary", "Summary", true),
        ("curves", "Predicted times", !report.curves.is_empty()),
        ("maps", "Who wins where", !report.maps.is_empty()),
        ("help", "Which samples would help", !report.help.is_empty()),
        ("models", "Models", !set.models.is_empty()),
        ("provenance", "Where this comes from", true),
    ];
    for (id, name, _) in sections.iter().filter(|(_, _, there)| *there) {
        page.add(format_args!("<li><a href=\"#{id}\">{name}</a></li>\n"));
    }
    page.add(format_args!("</ul>\n</nav>\n<main id=\"main\" tabindex=\"-1\">\n"));
    overview::summary(&mut page, report);
    judged::tables(&mut page, report.judged);
    if !report.curves.is_empty() {
        page.add(format_args!(
            "<section aria-labelledby=\"curves\">\n<h2 id=\"curves\">Predicted times</h2>\n"
        ));
        for curves in report.curves {
            curves::figure(&mut page, curves, report.judged);
        }
        page.add(format_args!("</section>\n"));
    }
    if !report.maps.is_empty() {
        page.add(format_args!("<section aria-labelledby=\"maps\">\n<h2 id=\"maps\">Who wins where</h2>\n"));
        for (index, map) in report.maps.iter().enumerate() {
            selection::map(&mut page, index, map, report.judged);
        }
        page.add(format_args!("</section>\n"));
    }
    if !report.help.is_empty() {
        help::section(&mut page, report.help);
    }
    if !set.models.is_empty() {
        page.add(format_args!("<section aria-labelledby=\"models\">\n<h2 id=\"models\">Models</h2>\n"));
        // A model has three plots of points, and one for each input.
        let plots =
            set.models.iter().filter(|m| m.kind == Kind::Fitted).map(|m| 2 + m.inputs.len()).sum::<usize>();
        let (least, most) = POINTS_OF_PLOT;
        let points = (POINTS / plots.max(1)).clamp(least, most);
        for model in &set.models {
            models::section(
                &mut page,
                (model, &set.kinds),
                report.fitted.iter().find(|f| f.model.name == model.name),
                points,
            );
        }
        page.add(format_args!("</section>\n"));
    }
    page.add(format_args!("</main>\n<footer>\n"));
    provenance::section(&mut page, report);
    page.add(format_args!("</footer>\n</body>\n</html>\n"));
    page.text
}

/// A page with its head.
fn begun(title: &str, about: Option<&str>) -> Page {
    let mut page = Page::default();
    page.add(format_args!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{0}</title>\n<style>\n{FIGURES}{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n<h1>{0}</h1>\n",
        Escaped(title)
    ));
    if let Some(about) = about {
        page.add(format_args!("<p>{}</p>\n", Escaped(about)));
    }
    page.add(format_args!("</header>\n"));
    page
}

/// A page of curves alone, of times that no model describes: a figure with its table for each, under
/// its library's name.
#[must_use]
pub fn figures(title: &str, about: &str, all: &[Curves]) -> String {
    let mut page = begun(title, Some(about));
    page.add(format_args!("<main id=\"main\" tabindex=\"-1\">\n"));
    for one in all {
        page.add(format_args!("<h2>{}</h2>\n", Escaped(&one.library)));
        curves::figure(&mut page, one, &[]);
    }
    page.add(format_args!("</main>\n</body>\n</html>\n"));
    page.text
}
