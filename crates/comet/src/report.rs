//! Results as text: tables for people, and lines for programs.

use std::fmt::Write as _;

use strata_model::number_text;

use crate::curve::Estimate;
use crate::results::{KernelResult, LogGp, PointResult, Results};
use crate::suite::LeftOut;

/// The half-width above which the report calls a median uncertain.
const PRECISE: f64 = 0.05;

/// The least drift from the start to the end of a run that is reported.
const DRIFT: f64 = 0.1;

/// The whole report as text for people.
#[must_use]
pub fn table(results: &Results) -> String {
    let mut text = format!("{}\n", results.platform);
    for (name, part) in results.setup.parts() {
        let _ = writeln!(text, "{name}: {part}");
    }
    match &results.contaminated {
        Some(contaminated) => {
            let _ = writeln!(
                text,
                "CONTAMINATED: {}; measure again when the machine is idle",
                contaminated.reason
            );
        }
        None if results.simulated => text.push_str("simulated: times are exact\n"),
        None => text.push_str(
            "no sign of other programs during the run; what changes between runs, as where a virtual \
             machine's processors lie, a second run tells: --compare\n",
        ),
    }
    for kernel in &results.kernels {
        push_kernel(&mut text, kernel, results.simulated);
        if kernel.model == "Asynchronous" {
            push_gains(&mut text, results);
        }
    }
    if let Some(loggp) = &results.loggp {
        push_loggp(&mut text, loggp);
    }
    push_left_out(&mut text, results);
    text += "\nThe rules of Hoefler and Belli (SC'15), and how they are kept\n";
    for (rule, how) in rules(results) {
        let _ = writeln!(text, "  {rule}: {how}");
    }
    text
}

fn push_kernel(text: &mut String, kernel: &KernelResult, simulated: bool) {
    let _ = writeln!(text, "\n{}: {}", kernel.model, kernel.title);
    if !kernel.untold.is_empty() {
        let points = strata_model::count(kernel.untold.len(), "point", "points");
        let _ = writeln!(text, "  left out: {points}, which this clock is too coarse to time");
    }
    if kernel.points.is_empty() {
        return;
    }
    let others = kernel.points.first().map_or(0, |point| point.at.len().saturating_sub(1));
    let unit = if kernel.unit.is_empty() { "" } else { kernel.unit.as_str() };
    let size = |point: &PointResult| point.at.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
    let head = if others == 0 { unit.to_owned() } else { format!("{unit}, …") };
    if simulated {
        let _ = writeln!(text, "{head:>14} {:>9}", "time");
    } else {
        let _ = writeln!(
            text,
            "{head:>14} {:>9} {:>21} {:>5} {:>22}",
            "median", "95 % interval", "n", "5 % to 95 % of timings"
        );
    }
    if kernel.model == "Pair" {
        push_matrix(text, kernel);
        return;
    }
    for point in &kernel.points {
        let belief = &point.belief;
        let _ = write!(text, "{:>14} {:>9}", size(point), time(belief.median));
        if !simulated {
            let range = |a: f64, b: f64| format!("{} to {}", time(a), time(b));
            let _ = write!(
                text,
                " {:>21} {:>5} {:>22}",
                range(belief.low, belief.high),
                belief.timings,
                range(belief.quantiles[1], belief.quantiles[4])
            );
        }
        text.push('\n');
        let notes = if simulated { Vec::new() } else { notes(point) };
        if !notes.is_empty() {
            // Under the median that they are of.
            let _ = writeln!(text, "{:>14} {}", "", notes.join(", "));
        }
    }
    push_curve(text, kernel);
    push_noise(text, kernel);
    push_bisection(text, kernel);
    for one in &kernel.overlaps {
        let _ = writeln!(
            text,
            "  {} bytes: {} alone, {} of computing, {} together: {:.0} % of it hidden",
            one.bytes,
            time(one.alone),
            time(one.computing),
            time(one.both),
            100.0 * one.share()
        );
    }
}

/// Nodes whose times fit into 80 columns beside each other.
const COLUMNS: i64 = 9;

/// The times between all pairs of nodes, in µs, as a matrix for each size.
fn push_matrix(text: &mut String, kernel: &KernelResult) {
    for bytes in kernel.sizes() {
        let of_size = kernel.points.iter().filter(|point| point.at[0] == bytes);
        let all: Vec<(i64, i64, f64)> = of_size
            .filter_map(|point| match point.at[..] {
                [_, from, to] => Some((from, to, point.belief.median)),
                _ => None,
            })
            .collect();
        let nodes = all.iter().map(|(_, to, _)| to + 1).max().unwrap_or(0);
        let least = all.iter().min_by(|a, b| a.2.total_cmp(&b.2));
        let most = all.iter().max_by(|a, b| a.2.total_cmp(&b.2));
        if let (Some(least), Some(most)) = (least, most) {
            let _ = writeln!(
                text,
                "  {bytes} bytes: {} between {} and {} to {} between {} and {}",
                time(least.2),
                least.0,
                least.1,
                time(most.2),
                most.0,
                most.1
            );
        }
        if nodes > COLUMNS {
            continue;
        }
        let _ = write!(text, "{:>8}", "µs");
        (1..nodes).for_each(|to| _ = write!(text, "{to:>8}"));
        text.push('\n');
        for from in 0..nodes - 1 {
            let _ = write!(text, "{from:>8}");
            for to in 1..nodes {
                let found = all.iter().find(|(a, b, _)| (*a, *b) == (from, to));
                let shown = found.map_or(String::new(), |(_, _, t)| format!("{:.2}", 1e6 * t));
                let _ = write!(text, "{shown:>8}");
            }
            while text.ends_with(' ') {
                text.pop();
            }
            text.push('\n');
        }
    }
    if kernel.points.iter().any(|point| point.at[1..].iter().any(|node| *node >= COLUMNS)) {
        text.push_str("  each pair: comet.csv, and the pictures of pairs\n");
    }
}

/// What others take from a program.
fn push_noise(text: &mut String, kernel: &KernelResult) {
    if !matches!(kernel.model.as_str(), "FixedWork" | "FixedTime") {
        return;
    }
    for point in kernel.line() {
        let Some([least, mean, most]) = kernel.by_last(point) else { continue };
        let _ = writeln!(
            text,
            "  {} of {} µs: the mean is {:.2} % above the least, the greatest {:.2} times it",
            if kernel.model == "FixedWork" { "work" } else { "times" },
            point.at[0],
            100.0 * (mean / least - 1.0),
            most / least
        );
    }
}

/// The bandwidths of all nodes in pairs.
fn push_bisection(text: &mut String, kernel: &KernelResult) {
    if kernel.model != "Bisection" {
        return;
    }
    for bytes in kernel.sizes() {
        let of = |random: bool| -> Vec<f64> {
            let points = kernel.points.iter().filter(|point| point.at[0] == bytes);
            let points = points.filter(|point| (point.at.get(1) > Some(&0)) == random);
            points.map(|point| bytes as f64 / point.belief.median).collect()
        };
        let (halves, mut random) = (of(false), of(true));
        random.sort_by(f64::total_cmp);
        if let Some(rate) = halves.first() {
            let _ = write!(text, "  {bytes} bytes: {} half against half", bandwidth(*rate));
        }
        if let [least, .., most] = random[..] {
            let middle = random[random.len() / 2];
            let _ = write!(
                text,
                "; pairs at random {} to {}, median {}",
                bandwidth(least),
                bandwidth(most),
                bandwidth(middle)
            );
        }
        text.push('\n');
    }
}

/// Warnings about a point's timings that a reader of its median should know.
#[must_use]
pub fn notes(point: &PointResult) -> Vec<String> {
    let belief = &point.belief;
    let mut notes = Vec::new();
    if !belief.has_interval() {
        notes.push("too few timings for an interval: their range".to_owned());
    } else if belief.half_width() > PRECISE {
        notes.push(format!("known to ±{:.0} %", 100.0 * belief.half_width()));
    }
    if let Some((times, share)) = belief.two_speeds {
        notes.push(format!("two speeds: {:.0} % are {times:.2} times slower", 100.0 * share));
    }
    if belief.drift.abs() > DRIFT {
        notes.push(format!("drifted by {:+.0} %", 100.0 * belief.drift));
    }
    if belief.outliers > 0 {
        notes.push(format!("{} outliers", belief.outliers));
    }
    notes
}

fn push_curve(text: &mut String, kernel: &KernelResult) {
    let Some(curve) = &kernel.curve else { return };
    let each = if kernel.unit == "bytes" { "byte" } else { "element" };
    for piece in &curve.pieces {
        let _ = writeln!(
            text,
            "  {} to {} {}: t_startup {}, t_per_{each} {}",
            number_text(piece.from),
            number_text(piece.to),
            kernel.unit,
            estimate(piece.start),
            estimate(piece.per_byte)
        );
    }
    for hop in &kernel.per_hop {
        let _ = writeln!(
            text,
            "  each hop beyond the first, {} to {} {}: {}",
            number_text(hop.from),
            number_text(hop.to),
            kernel.unit,
            estimate(hop.seconds)
        );
    }
    for one in &kernel.breaks {
        let _ = writeln!(
            text,
            "  switches between {} and {} {}, where the time becomes {:.2} times as long",
            number_text(one.after),
            number_text(one.before),
            kernel.unit,
            one.jump
        );
    }
    if kernel.unit != "bytes" {
        return;
    }
    let mut facts = Vec::new();
    if matches!(
        kernel.model.as_str(),
        "LibraryWindow" | "LibraryBothWays" | "LibraryPairs" | "Stream" | "StreamBoth" | "Gap"
    ) {
        let all = kernel.points.iter();
        let least = all.map(|point| point.belief.median).fold(f64::INFINITY, f64::min);
        if least > 0.0 && least.is_finite() {
            facts.push(format!("most messages {:.3} million/s", 1e-6 / least));
        }
    }
    let whole = |size: f64| number_text(size.round());
    facts.extend(kernel.rate.map(|rate| format!("r∞ {}", bandwidth(rate))));
    facts.extend(kernel.half_size.map(|size| format!("n½ {} bytes", whole(size))));
    facts.extend(kernel.peak.map(|rate| format!("largest bandwidth {}", bandwidth(rate))));
    facts.extend(kernel.n50.map(|size| format!("N50 {} bytes", whole(size))));
    facts.extend(kernel.n90.map(|size| format!("N90 {} bytes", whole(size))));
    if !facts.is_empty() {
        let _ = writeln!(text, "  {}", facts.join(", "));
    }
}

/// The greatest gain of overlap for each size of messages.
fn push_gains(text: &mut String, results: &Results) {
    let mut sizes: Vec<i64> = results.gains.iter().map(|gain| gain.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for bytes in sizes {
        let of_size = results.gains.iter().filter(|gain| gain.bytes == bytes);
        let Some(best) = of_size.max_by(|a, b| a.share.value.total_cmp(&b.share.value)) else { continue };
        let [value, low, high] = [best.share.value, best.share.low, best.share.high].map(|x| 100.0 * x);
        let range = if low == high { String::new() } else { format!(" ({low:.1} to {high:.1})") };
        let _ = writeln!(
            text,
            "  computing {} numbers during {bytes} bytes, not after, saves {value:.1} %{range}",
            best.length
        );
    }
}

fn push_left_out(text: &mut String, results: &Results) {
    if results.left_out.is_empty() {
        return;
    }
    text.push_str("\nNot measured\n");
    for LeftOut { model, what, why } in &results.left_out {
        let what = match &**what {
            "" => String::new(),
            "hops" => ", the cost of a hop".to_owned(),
            sizes => format!(" at {sizes} bytes"),
        };
        let _ = writeln!(text, "  {model}{what}: {why}");
    }
}

fn push_loggp(text: &mut String, loggp: &LogGp) {
    let _ = writeln!(text, "\nLogGP, small messages of 8 bytes");
    for (name, value) in
        [("L", loggp.latency), ("o_s", loggp.o_s), ("o_r", loggp.o_r), ("g", loggp.g), ("G", loggp.gap_byte)]
    {
        let per = if name == "G" { " a byte" } else { "" };
        let _ = writeln!(text, "  {name:>3}  {}{per}", estimate(value));
    }
}

fn estimate(value: Estimate) -> String {
    if value.low == value.value && value.high == value.value {
        return time(value.value);
    }
    format!("{} ({} to {})", time(value.value), time(value.low), time(value.high))
}

/// A time to four digits with its unit; it may be negative.
fn time(seconds: f64) -> String {
    if seconds < 0.0 {
        return format!("-{}", time(-seconds));
    }
    if !seconds.is_finite() {
        return "-".to_owned();
    }
    let (value, unit) = match seconds {
        0.0 => return "0 s".to_owned(),
        s if s < 1e-9 => (s * 1e12, "ps"),
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value >= 1000.0 { 0 } else { 3 - value.max(1.0).log10().floor() as usize };
    format!("{value:.digits$} {unit}")
}

fn bandwidth(rate: f64) -> String {
    match rate {
        r if r >= 1e9 => format!("{:.2} GB/s", r / 1e9),
        r => format!("{:.2} MB/s", r / 1e6),
    }
}

/// Comma-separated values: one line a point, times in seconds.
#[must_use]
pub fn csv(results: &Results) -> String {
    let mut text =
        String::from("model,at,median,low,high,timings,q0,q5,q25,q75,q95,q100,outliers,drift,contaminated\n");
    for (kernel, point) in all(results) {
        let belief = &point.belief;
        let at = point.at.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
        let quantiles = belief.quantiles.map(number_text).join(",");
        let _ = writeln!(
            text,
            "{},{at},{},{},{},{},{quantiles},{},{},{}",
            kernel.model,
            number_text(belief.median),
            number_text(belief.low),
            number_text(belief.high),
            belief.timings,
            belief.outliers,
            number_text(belief.drift),
            u8::from(results.contaminated.is_some())
        );
    }
    text
}

/// JSON lines: one object a point, times in seconds.
#[must_use]
pub fn json_lines(results: &Results) -> String {
    let line = |(kernel, point): (&KernelResult, &PointResult)| {
        let contaminated = results.contaminated.is_some();
        let Ok(belief) = serde_json::to_value(&point.belief) else { return String::new() };
        let value = serde_json::json!({
            "model": kernel.model, "at": point.at, "unit": kernel.unit, "nodes": results.nodes,
            "belief": belief, "contaminated": contaminated,
        });
        format!("{value}\n")
    };
    all(results).map(line).collect()
}

fn all(results: &Results) -> impl Iterator<Item = (&KernelResult, &PointResult)> {
    results.kernels.iter().flat_map(|kernel| kernel.points.iter().map(move |point| (kernel, point)))
}

/// The twelve rules of Hoefler and Belli (SC'15), each with the way in which it is kept; the results
/// say how those without one are.
const RULES: [(&str, &str); 12] = [
    ("1. speed-ups name their base", "no speed-up is reported; times are absolute"),
    (
        "2. no subset without a reason",
        "all points that were measured are listed; kernels that do not suit the nodes are named",
    ),
    (
        "3. costs by the arithmetic mean, rates by the harmonic",
        "medians of times; bandwidths are bytes over the median",
    ),
    ("4. no averages of ratios", "none is taken, but of logarithms in comparisons"),
    ("5. say whether results are deterministic, give intervals", ""),
    ("6. no normality without a test", "order statistics only; the intervals of curves are bootstrapped"),
    (
        "7. compare by statistics, not by eye",
        "comparisons test the ratios of medians, all kernels together at 5 %",
    ),
    ("8. say whether the centre is the right measure", "quantiles 0, 5, 25, 75, 95 and 100 % of every point"),
    ("9. document everything that varies", ""),
    (
        "10. say how parallel time is measured",
        "on one node; no clocks are compared; a barrier before each timing",
    ),
    (
        "11. show bounds of what is possible",
        "start-up, time per byte, r∞ and LogGP bound what programs can reach",
    ),
    (
        "12. plot as much as helps, lines only where they mean something",
        "points with intervals; lines are the fitted pieces",
    ),
];

/// The twelve rules of Hoefler and Belli (SC'15), each with the way in which these results keep it.
#[must_use]
pub fn rules(results: &Results) -> Vec<(&'static str, String)> {
    let how = |(rule, how): (&'static str, &str)| {
        let how = match rule.split('.').next() {
            Some("5") if results.simulated => "simulated times are exact".to_owned(),
            Some("5") => {
                let wide = all(results).filter(|(_, point)| !point.belief.is_known(PRECISE)).count();
                format!("95 % intervals of all medians; {wide} are wider than ±5 %, or of too few timings")
            }
            Some("9") => {
                let setup = results.setup.parts().into_iter().map(|(name, part)| format!("; {name}: {part}"));
                let (platform, setup) = (&results.platform, setup.collect::<String>());
                let timings = results.timings();
                format!(
                    "{platform}{setup}; the specs, the points and all {timings} timings lie beside the report"
                )
            }
            _ => how.to_owned(),
        };
        (rule, how)
    };
    RULES.map(how).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_four_digits_and_a_unit() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (1.2345e-10, "123.5 ps"),
            (7.9e-5, "79.00 µs"),
            (4.1e-7, "410.0 ns"),
            (-2.5e-6, "-2.500 µs"),
            (12.0, "12.00 s"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
    #[test]
    fn whatever_a_file_claims_can_be_told() {
        let mut point = crate::results::PointResult::default();
        point.belief.timings = usize::MAX;
        let kernel = KernelResult { points: vec![point.clone(), point], ..KernelResult::default() };
        let results = Results { kernels: vec![kernel], ..Results::default() };
        let told = rules(&results).into_iter().find(|(rule, _)| rule.starts_with("9.")).unwrap().1;
        assert!(told.contains(&format!("all {} timings", usize::MAX)), "{told}");
    }
}
