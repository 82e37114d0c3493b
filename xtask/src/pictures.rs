//! Pictures of reports for the guide: single figures of a page, as files that stand alone.

/// A figure of the report on committed samples: the folder of these, the figure's title, the file.
pub(crate) const PICTURES: &[(&str, &str, &str)] = &[
    ("examples/patterns/models", "Who wins in patterns", "docs/pictures/patterns.svg"),
    ("examples/own-library/models", "matmul: predicted time against n", "docs/pictures/report-times.svg"),
    ("models/xeon-2core-threads/sort", "Who wins in sort", "docs/pictures/report-map.svg"),
    (
        "examples/own-library/models",
        "Blocked: Observed against predicted time",
        "docs/pictures/report-observed.svg",
    ),
    ("examples/own-library/models", "Naive: Relative error against n", "docs/pictures/report-errors.svg"),
];

/// Where the style sheet of a report goes on to what is not of figures.
const OF_THE_PAGE: &str = "/* The page. */";

/// The figure of this title in a report, with its colours in it.
pub(crate) fn picture(report: &str, title: &str) -> Option<String> {
    let named = report.find(&format!(">{title}</title>"))?;
    let begin = report[..named].rfind("<svg ")?;
    let end = named + report[named..].find("</svg>")? + "</svg>".len();
    let (tag, rest) = report[begin..end].split_once('>')?;
    let (style, _) = report.split_once("<style>\n")?.1.split_once(OF_THE_PAGE)?;
    let paper = "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>";
    Some(format!("{tag}>\n<style>\n{style}</style>\n{paper}\n{}\n", rest.trim_start()))
}
