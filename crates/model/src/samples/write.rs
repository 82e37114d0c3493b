//! Samples to text, one at a time: an interrupted run keeps its samples.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Column, Notes, Ratio, Sample, Samples, SpecId, VERSION};
use crate::expr::is_name;
use crate::{Platform, Unit, number_text};

/// Writes a samples file line by line. Every sample is flushed, so an interruption loses none.
///
/// To continue an interrupted file, truncate it to [`Partial::bytes`](super::Partial), open it for
/// appending, and write samples without a header.
#[derive(Debug)]
pub struct SamplesWriter<W: Write> {
    out: W,
}

impl<W: Write> SamplesWriter<W> {
    /// A writer that has written nothing yet.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// The first lines of the file.
    ///
    /// # Errors
    /// Those of the output, and `InvalidInput` for a path that does not fit into a line.
    pub fn header(&mut self, platform: Option<&Platform>, spec: Option<&SpecId>) -> io::Result<()> {
        let mut text = format!("strata-samples {VERSION}\n");
        if let Some(platform) = platform {
            line(&mut text, format_args!("platform {platform}"));
        }
        if let Some(spec) = spec {
            let fits =
                spec.path.trim() == spec.path && !spec.path.contains(['\n', '\r']) && !spec.path.is_empty();
            let hash = !spec.sha256.is_empty() && spec.sha256.bytes().all(|b| b.is_ascii_alphanumeric());
            require(fits && hash, || {
                format!("the spec's path `{}` or its hash cannot be written in one line", spec.path)
            })?;
            line(&mut text, format_args!("spec {} sha256={}", spec.path, spec.sha256));
        }
        self.put(&text)
    }

    /// How many cores other programs kept busy while the nodes lacked them; not written for none.
    ///
    /// # Errors
    /// Those of the output.
    pub fn busy(&mut self, cores: f64) -> io::Result<()> {
        if cores > 0.0 { self.put(&format!("busy {}\n", number_text(cores))) } else { Ok(()) }
    }

    /// The moment at which a further launch of the program began.
    ///
    /// # Errors
    /// Those of the output.
    pub fn launch(&mut self, moment: f64) -> io::Result<()> {
        self.put(&format!("launch at={}\n", number_text(moment)))
    }

    /// A `platform` line: the samples below it were taken there. Only the numbers of nodes of a
    /// file may differ.
    ///
    /// # Errors
    /// Those of the output.
    pub fn platform(&mut self, platform: &Platform) -> io::Result<()> {
        self.put(&format!("platform {platform}\n"))
    }

    /// The structure line of a model, which comes before its samples.
    ///
    /// # Errors
    /// Those of the output, and `InvalidInput` for a name or column that does not read back.
    pub fn model(&mut self, name: &str, columns: &[Column]) -> io::Result<()> {
        check_name(name)?;
        let mut text = format!("model {name}");
        for column in columns {
            let plain =
                !column.text.is_empty() && !column.text.contains(|c: char| c.is_whitespace() || c == ';');
            require(plain, || {
                format!("a column must be an expression without spaces, but this is `{}`", column.text)
            })?;
            let _ = write!(text, " {column}");
        }
        text.push('\n');
        self.put(&text)
    }

    /// How a model that has its structure line is to be fitted; not written for an empty text.
    ///
    /// # Errors
    /// Those of the output, and `InvalidInput` for a name or text that does not read back.
    pub fn fit(&mut self, name: &str, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        check_name(name)?;
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ") == text && !text.contains(';');
        require(plain, || format!("a way to fit is words in one line, but this is `{text}`"))?;
        self.put(&format!("fit {name} {text}\n"))
    }

    /// The unit of a model that has its structure line; not written for seconds.
    ///
    /// # Errors
    /// Those of the output, and `InvalidInput` for a name that does not read back.
    pub fn unit(&mut self, name: &str, unit: &Unit) -> io::Result<()> {
        if unit.is_seconds() {
            return Ok(());
        }
        check_name(name)?;
        self.put(&format!("unit {name} {unit}\n"))
    }

    /// One sample of a model.
    ///
    /// # Errors
    /// Those of the output, and `InvalidInput` for a name that does not read back.
    pub fn sample(&mut self, name: &str, sample: &Sample) -> io::Result<()> {
        check_name(name)?;
        let mut text = String::new();
        push_sample(&mut text, name, sample);
        self.put(&text)
    }

    /// The output, everything written.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

fn require(holds: bool, message: impl FnOnce() -> String) -> io::Result<()> {
    if holds { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, message())) }
}

fn check_name(name: &str) -> io::Result<()> {
    require(is_name(name), || {
        format!("a model's name is a letter, then letters, digits and _, but this is `{name}`")
    })
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{content}");
}

fn push_sample(text: &mut String, name: &str, sample: &Sample) {
    if sample.verify {
        text.push('@');
    }
    text.push_str(name);
    text.push(' ');
    // Seconds always have an exponent, so that the column is readable over six decades.
    if sample.seconds.is_finite() {
        let _ = write!(text, "{:e}", sample.seconds);
    } else {
        // With a sign it cannot be a name: `model inf` would declare a column, of a model called
        // `model`.
        let seconds = number_text(sample.seconds);
        text.push_str(if seconds.starts_with('-') { "" } else { "+" });
        text.push_str(&seconds);
    }
    for value in &sample.values {
        text.push(' ');
        text.push_str(&number_text(*value));
    }
    push_notes(text, &sample.notes);
    text.push('\n');
    if !sample.notes.timings.is_empty() {
        text.push('&');
        for timing in &sample.notes.timings {
            let _ = write!(text, " {:e}@{}", timing.seconds, number_text(timing.moment));
        }
        text.push('\n');
    }
}

fn push_notes(text: &mut String, notes: &Notes) {
    let Notes { nodes: _, at, repeats, spread, preempted, draws, hot, replayed, timings: _ } = notes;
    let compared = [("hot", hot), ("replayed", replayed)];
    let nothing = compared.iter().all(|(_, ratio)| ratio.is_none());
    if at.is_empty() && *repeats == 0 && *spread == 0.0 && *preempted == 0 && *draws == 0 && nothing {
        return;
    }
    text.push_str(" ;");
    if !notes.at.is_empty() {
        let at: Vec<_> = notes.at.iter().map(i64::to_string).collect();
        let _ = write!(text, " at={}", at.join(","));
    }
    if notes.repeats != 0 {
        let _ = write!(text, " repeats={}", notes.repeats);
    }
    if notes.spread != 0.0 {
        let _ = write!(text, " spread={}", number_text(notes.spread));
    }
    if notes.preempted != 0 {
        let _ = write!(text, " preempted={}", notes.preempted);
    }
    if notes.draws != 0 {
        let _ = write!(text, " draws={}", notes.draws);
    }
    for (key, ratio) in compared {
        if let Some(Ratio { median, spread }) = ratio {
            let _ = write!(text, " {key}={},{}", number_text(*median), number_text(*spread));
        }
    }
}

pub(super) fn to_text(samples: &Samples) -> String {
    let mut writer = SamplesWriter::new(Vec::new());
    // Writing to a vector cannot fail; a name that does not read back is left out, as the writer
    // would refuse it.
    let mut numbers = samples.node_counts();
    let mut rows = samples.models.iter().flat_map(|model| &model.rows);
    if !numbers.is_empty() && rows.any(|row| row.notes.nodes == 0) {
        // Samples of an unknown number of nodes are before the first platform line.
        numbers.insert(0, 0);
    }
    let one = numbers.len() <= 1;
    let platform = samples.platform.as_ref().filter(|_| one).map(|platform| {
        // The platform may have more nodes than any sample.
        let nodes = numbers.first().copied().unwrap_or(platform.nodes);
        Platform { nodes, ..platform.clone() }
    });
    let _ = writer.header(platform.as_ref(), samples.spec.as_ref());
    let _ = writer.busy(samples.busy);
    for moment in &samples.launches {
        let _ = writer.launch(*moment);
    }
    for nodes in if one { &[0][..] } else { &numbers[..] } {
        if let (false, Some(platform)) = (one || *nodes == 0, &samples.platform) {
            let _ = writer.platform(&Platform { nodes: *nodes, ..platform.clone() });
        }
        for model in &samples.models {
            let rows = model.rows.iter().filter(|row| one || row.notes.nodes == *nodes);
            if writer.model(&model.name, &model.columns).is_err() {
                continue;
            }
            let _ = writer.unit(&model.name, &model.unit);
            let _ = writer.fit(&model.name, &model.fit);
            for sample in rows {
                let _ = writer.sample(&model.name, sample);
            }
        }
    }
    String::from_utf8(writer.into_inner()).unwrap_or_default()
}
