//! Figures of the thesis beside ours, as a picture of bars.

use std::fmt::Write as _;

/// A bar of the thesis beside one of ours, in MB/s; `None` where the thesis prints no figure.
pub(crate) struct Bar {
    pub(crate) name: &'static str,
    pub(crate) thesis: Option<f64>,
    pub(crate) ours: f64,
}

const WIDTH: usize = 720;
const LEFT: usize = 250;
const ROW: usize = 40;

/// The picture as SVG, readable by light and dark.
pub(crate) fn svg(title: &str, bars: &[Bar]) -> String {
    let most = bars.iter().flat_map(|bar| [bar.ours, bar.thesis.unwrap_or(0.0)]).fold(1.0, f64::max);
    let long = |value: f64| value / most * (WIDTH - LEFT - 70) as f64;
    let height = 60 + ROW * bars.len();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"14\" role=\"img\">\n<title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"10\" y=\"24\" font-weight=\"bold\">{title}</text>\n\
         <rect x=\"{LEFT}\" y=\"36\" width=\"12\" height=\"12\" fill=\"#999\"/>\
         <text x=\"{}\" y=\"47\">thesis</text>\n\
         <rect x=\"{}\" y=\"36\" width=\"12\" height=\"12\" fill=\"#0072b2\"/>\
         <text x=\"{}\" y=\"47\">simulated</text>\n",
        LEFT + 18,
        LEFT + 90,
        LEFT + 108,
    );
    for (place, Bar { name, thesis, ours }) in bars.iter().enumerate() {
        let y = 56 + ROW * place;
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LEFT - 8, y + 20);
        for (value, colour, y) in [(*thesis, "#999", y), (Some(*ours), "#0072b2", y + 15)] {
            let Some(value) = value else { continue };
            let _ = writeln!(
                text,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"13\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{}\" font-size=\"12\">{value:.2}</text>",
                long(value),
                LEFT as f64 + long(value) + 5.0,
                y + 11,
            );
        }
    }
    text.push_str("</svg>\n");
    text
}
