//! The summary: how many models can be trusted, and the remarks on each.

use strata_model::set::{Kind, Model, Verdict};

use crate::Report;
use crate::html::{Escaped, Page};
use strata_model::percent;

/// The section of the summary.
pub(crate) fn summary(page: &mut Page, report: &Report<'_>) {
    let set = report.set;
    page.add(format_args!(
        "<section class=\"overview\" aria-labelledby=\"summary\">\n<h2 id=\"summary\">Summary</h2>\n<ul class=\"counts\">\n"
    ));
    let mut count = |number: usize, class: &str, name: &str| {
        if number > 0 {
            page.add(format_args!("<li class=\"{class}\"><strong>{number}</strong> {name}</li>\n"));
        }
    };
    let fitted = || set.models.iter().filter(|m| m.kind == Kind::Fitted);
    let verdicts =
        [Verdict::Verified, Verdict::WithinNoise, Verdict::Doubtful, Verdict::Unverified, Verdict::Failed];
    for verdict in verdicts {
        let name = verdict.to_string();
        count(fitted().filter(|m| m.verdict == verdict).count(), &name, &name);
    }
    let factored = |m: &&Model| matches!(m.kind, Kind::Factored { .. });
    count(set.models.iter().filter(factored).count(), "factored", "factored, never fitted");
    let unmeasured = set.models.iter().filter(|m| m.kind == Kind::Unmeasured).count();
    count(unmeasured, "unverified", "not measured");
    count(report.failures.len(), "failed", "without a fit");
    page.add(format_args!("</ul>\n"));
    for library in &set.libraries {
        if let Some(regret) = &library.regret {
            page.add(format_args!(
                "<p><strong>{}</strong>: {}.</p>\n",
                Escaped(&library.name),
                Escaped(&regret.to_string())
            ));
        }
    }
    for library in &set.libraries {
        if let Some(kept) = &library.incumbent {
            page.add(format_args!("<p>In {} {}.</p>\n", Escaped(&library.name), Escaped(&kept.to_string())));
        }
    }
    if !report.failures.is_empty() {
        page.add(format_args!("<p>Without a fit:</p>\n"));
        list(page, report.failures.iter().map(String::as_str));
    }
    if set.models.is_empty() {
        page.add(format_args!("<p>There are no models.</p>\n</section>\n"));
        return;
    }
    page.begin_table("Every model with its verdict. MRE is the mean relative error.", &COLUMNS);
    for model in &set.models {
        row(page, model);
    }
    page.end_table();
    page.add(format_args!("</section>\n"));
}

/// Of the table of all models.
const COLUMNS: [&str; 7] =
    ["Model", "Verdict", "#MRE of verification", "#MRE of fit", "#R²", "#Samples", "Terms kept"];

fn row(page: &mut Page, model: &Model) {
    page.add(format_args!("<tr><th scope=\"row\"><a href=\"#model-{0}\">{0}</a></th>", Escaped(&model.name)));
    if model.kind == Kind::Unmeasured {
        page.add(format_args!(
            "<td class=\"why\" colspan=\"6\">not known: {}</td></tr>\n",
            Escaped(&model.reason)
        ));
        return;
    }
    let cells = if let Kind::Factored { expression } = &model.kind {
        let none = "–".to_owned();
        [
            "factored".to_owned(),
            none.clone(),
            none.clone(),
            none.clone(),
            none,
            code(&format!("= {expression}")),
        ]
    } else {
        let why = match model.verdict {
            Verdict::Verified => String::new(),
            Verdict::Doubtful if !model.doubts.is_empty() => model.doubts.join("; "),
            _ => model.reason.clone(),
        };
        let why = if why.is_empty() { why } else { format!(": {why}") };
        let kept = model.terms.iter().filter(|t| t.coefficient != 0.0).map(|t| model.short(&t.term));
        [
            format!("{}{}", Badge(model.verdict), Escaped(&why)),
            Escaped(&model.mre_verify.map_or("–".into(), percent)).to_string(),
            Escaped(&percent(model.mre_fit)).to_string(),
            r2_text(model.r2),
            format!("{} + {}", model.samples, model.verify_samples),
            code(&kept.collect::<Vec<_>>().join(", ")),
        ]
    };
    // On a phone the cells of a model are below each other, each with its column's name.
    for (column, cell) in COLUMNS.iter().skip(1).zip(&cells) {
        let number = if column.starts_with('#') { " class=\"n\"" } else { "" };
        let column = Escaped(column.trim_start_matches('#'));
        page.add(format_args!("<td{number} data-column=\"{column}\">{cell}</td>"));
    }
    page.add(format_args!("</tr>\n"));
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", Escaped(text))
}

/// R² in four digits, without the minus sign that rounding may leave on a zero.
pub(crate) fn r2_text(r2: f64) -> String {
    format!("{:.4}", (r2 * 1e4).round() / 1e4 + 0.0)
}

/// A verdict as a word in its colour.
pub(crate) struct Badge(pub(crate) Verdict);

impl std::fmt::Display for Badge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<span class=\"verdict {0}\">{0}</span>", self.0)
    }
}

/// Texts as a list.
pub(crate) fn list<'a>(page: &mut Page, items: impl Iterator<Item = &'a str>) {
    page.add(format_args!("<ul>\n"));
    for item in items {
        page.add(format_args!("<li>{}</li>\n", Escaped(item)));
    }
    page.add(format_args!("</ul>\n"));
}
