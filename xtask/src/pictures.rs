//! Pictures of reports for the guide: single figures of a page, as files that stand alone.

/// A figure of the report on committed samples: the folder of these, the figure's title, the file.
pub(crate) const PICTURES: &[(&str, &str, &str)] = &[
    ("examples/patterns/models", "Who wins in patterns", "docs/pictures/patterns.svg"),
    ("examples/own-library/models", "matmul: predicted time against n", "docs/pictures/report-times.svg"),
    ("models/epyc-2core-threads/sort", "Who wins in sort", "docs/pictures/report-map.svg"),
    (
        "examples/own-library/models",
        "Blocked: Observed against predicted time",
        "docs/pictures/report-observed.svg",
    ),
    ("examples/own-library/models", "Naive: Relative error against n", "docs/pictures/report-errors.svg"),
];

/// What the page's style sheet says of figures, for paper and for readers who have it dark.
const STYLE: &str = "<style>\n\
    text { font: 13px system-ui, sans-serif; fill: #1a1a1a; }\n\
    polyline { fill: none; }\n\
    .fitted { fill: #0072b2; opacity: .6; }\n\
    .page { fill: #fff; }\n\
    @media (prefers-color-scheme: dark) {\n\
    .page { fill: #0d1117; }\n\
    .label { fill: #e6edf3; }\n\
    polyline[stroke=\"#1A1A1A\"] { stroke: #8b949e; }\n\
    }\n\
    </style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";

/// The figure of this title in a report, with its colours in it.
pub(crate) fn picture(report: &str, title: &str) -> Option<String> {
    let named = report.find(&format!(">{title}</title>"))?;
    let begin = report[..named].rfind("<svg ")?;
    let end = named + report[named..].find("</svg>")? + "</svg>".len();
    let (tag, rest) = report[begin..end].split_once('>')?;
    Some(format!("{tag}>\n{STYLE}{}\n", rest.trim_start()))
}
