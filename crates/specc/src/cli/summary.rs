//! The first part of a screen: the loss of a library's choices, and the fastest candidates.

use anstyle::Style;
use strata_model::set::{Library, ModelSet};
use strata_model::{Platform, count, percent};
use strata_report::SURE;
use strata_screen::{JOINED, columns_of, shortened, styled, wrapped};
use strata_select::machine::Machine;

use crate::competition::Competition;
use crate::thresholds::places::{Crossings, Line, Segment, compute, places};
use crate::unknown_kind;

/// The greatest loss from segments left out to fit a line on the screen; beyond it the line wraps.
const SMALL: f64 = 0.02;
/// The most rows of a line, whatever the loss.
const ROWS: usize = 3;

/// A block for each library of the set, separated by blank lines; empty if there is none.
pub(super) fn libraries(set: &ModelSet, width: usize) -> String {
    let competing = set.libraries.iter().filter(|library| !library.candidates.is_empty());
    let block = |library: &Library| {
        let competition = Competition::new(set, &library.name).map_err(|error| error.to_string());
        let crossings = competition
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|competition| compute(competition, &[], None));
        let mut text = block(set, library, crossings.as_ref().ok(), width);
        for kind in library.inputs.iter().filter(|input| set.kinds.contains_key(*input)) {
            let lost =
                competition.as_ref().ok().and_then(|competition| unknown_kind::loss(competition, kind));
            let told = lost.map(|lost| {
                format!("  one candidate for every `{kind}` loses {}, by the models", percent(lost))
            });
            text += &told.map_or(String::new(), |told| format!("\n{}", wrapped(&told, width, "  ")));
        }
        // The reason why there is no map.
        let why = crossings.err().map(|why| wrapped(&format!("\n  no map: {why}"), width, "  "));
        text + &why.unwrap_or_default()
    };
    competing.map(block).collect::<Vec<_>>().join("\n\n")
}

/// A library's name and site, the loss of its choices, and the fastest candidates.
pub(super) fn block(
    set: &ModelSet,
    library: &Library,
    crossings: Option<&Crossings>,
    width: usize,
) -> String {
    let nodes = crossings.map_or_else(|| set.nodes(), |crossings| crossings.nodes);
    let place = set.platform.as_ref().map_or(String::new(), |platform| format!(", {}", place(platform)));
    let head = format!("{} on {}{place}", library.name, count(nodes, "node", "nodes"));
    let mut text = wrapped(&head, width, "    ");
    if let Some(regret) = &library.regret {
        // The second line begins with the place of the measurement.
        let told = regret.to_string().replace(", measured at ", "\n  measured at ");
        text += &format!("\n{}", wrapped(&format!("  {told}"), width, "  "));
        if let Some(kept) = &library.incumbent {
            text += &format!("\n{}", wrapped(&format!("  {kept}"), width, "  "));
        }
    }
    if let Some(crossings) = crossings {
        text += &format!("\n{}", winners(crossings, width));
    }
    text
}

/// The platform as text: `this machine (AMD EPYC, 2 cores)`.
fn place(platform: &Platform) -> String {
    if let Some(name) = platform.transport.strip_prefix("sim:") {
        return format!("simulated {name}");
    }
    if let Some(name) = platform.transport.strip_prefix("smpi:") {
        return format!("SimGrid's {name}, MPI");
    }
    let here = if platform.host() == *Machine::hosting(&platform.transport) {
        "this machine"
    } else {
        "another machine"
    };
    let mpi = if platform.has_processes() { ", MPI" } else { "" };
    let cpu = if platform.cpu.is_empty() { String::new() } else { format!("{}, ", platform.cpu) };
    format!("{here} ({cpu}{}{mpi})", count(platform.cores, "core", "cores"))
}

/// The ways along an input with their crossings, one line for each value of the second input, and a
/// legend of the signs.
pub(super) fn winners(crossings: &Crossings, width: usize) -> String {
    let value = |line: &Line| {
        let at = crossings.across.as_ref().zip(line.at);
        at.map_or(String::new(), |(input, at)| crossings.text(input, at))
    };
    let widest = crossings.lines.iter().map(|line| value(line).len()).max().unwrap_or(0);
    let input = match &crossings.across {
        Some(input) => format!("{} ", shortened(input, width / 4)),
        None => format!("by {}", shortened(&crossings.by, width / 4)),
    };
    let margin = columns_of(&input) + widest + 5;
    let (mut text, mut lost, mut shown) = (String::new(), 0.0_f64, Vec::new());
    for line in &crossings.lines {
        let (rows, segments, loss) = fitted(crossings, line, width.saturating_sub(margin).max(20));
        lost = lost.max(loss);
        shown.extend(segments);
        let rows = rows.replace('\n', &format!("\n{}", " ".repeat(margin)));
        text += &format!("  {input}{:>widest$}   {rows}\n", value(line));
    }
    if let Some(line) = &crossings.powers {
        let at = crossings.across.as_ref().zip(line.at);
        let at = at.map_or(String::new(), |(input, at)| {
            format!(", {} = {}", shortened(input, width / 4), crossings.text(input, at))
        });
        let head = format!("  at powers of two{at}   ");
        let margin = columns_of(&head);
        let (rows, segments, loss) = fitted(crossings, line, width.saturating_sub(margin).max(20));
        lost = lost.max(loss);
        shown.extend(segments);
        text += &format!("{head}{}\n", rows.replace('\n', &format!("\n{}", " ".repeat(margin))));
    }
    let legend = legend(crossings, &shown, lost);
    text += &wrapped(&format!("  {legend}"), width, "  ");
    text.truncate(text.trim_end().len());
    text
}

/// The most segments that fit, or the fewest that must be shown: their text, the segments, and the
/// loss from those left out.
fn fitted(crossings: &Crossings, line: &Line, width: usize) -> (String, Vec<Segment>, f64) {
    let mut most = line.segments.len();
    loop {
        let (segments, loss) = line.most_important(most);
        let text = ways(crossings, &segments, width);
        let rows = text.lines().count();
        let fewer = most.saturating_sub(1);
        let (less, more_loss) = line.most_important(fewer);
        let is_enough = rows <= 1 || rows <= ROWS && more_loss > SMALL;
        if is_enough || less.len() == segments.len() {
            return (text, segments, loss);
        }
        most = less.len();
    }
}

/// The ways with their crossings: `gather < 190 < radix:4`, wrapped before a crossing.
fn ways(crossings: &Crossings, segments: &[Segment], width: usize) -> String {
    let places = places(segments);
    let mut text = String::new();
    for (segment, place) in segments.iter().zip(std::iter::once(None).chain(places.iter().map(Some))) {
        if let Some(place) = place {
            text += &format!(" <{JOINED}{place}{JOINED}<{JOINED}");
        }
        text += &way(crossings, segment, width.saturating_sub(16));
    }
    wrapped(&text, width, "")
}

/// A way's name in its style, with `?` if it is not sure to be the fastest, and in parentheses if
/// no model covers it.
fn way(crossings: &Crossings, segment: &Segment, most: usize) -> String {
    let name = shortened(&crossings.name(&segment.way), most.max(12));
    match (&segment.way.beyond, segment.is_sure()) {
        (Some(_), _) => format!("({name})"),
        (None, true) => styled(name, Style::new().bold()),
        (None, false) => styled(format!("{name}?"), Style::new().dimmed()),
    }
}

/// The meaning of the signs of these segments.
fn legend(crossings: &Crossings, shown: &[Segment], lost: f64) -> String {
    let mut parts = Vec::new();
    let changes = shown.len() > crossings.lines.len();
    if crossings.across.is_some() {
        let what = if changes { "crossings by" } else { "the same for all" };
        parts.push(format!("{what} {}", crossings.by));
    }
    parts.extend(
        crossings.held.iter().map(|(input, value)| format!("{input} = {}", crossings.text(input, *value))),
    );
    if shown.iter().any(|segment| segment.way.beyond.is_none() && !segment.is_sure()) {
        parts.push(format!("? below {:.0} % sure", 100.0 * SURE));
    }
    if shown.iter().any(|segment| segment.way.values.iter().any(|(from, to)| from != to)) {
        parts.push(".. values that tie".to_owned());
    }
    let mut reasons: Vec<&str> = shown.iter().filter_map(|s| s.way.beyond.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    parts.extend(reasons.iter().map(|reason| format!("() {reason}")));
    if lost > 0.0 {
        parts.push(format!("what is left out would save up to {} where it wins", percent(lost)));
    }
    if parts.is_empty() { String::new() } else { format!("({})", parts.join("; ")) }
}
