//! What the user sees on stderr meanwhile: a bar on a terminal, else a line now and then.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use strata_select::say;

/// Between two lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(5);

/// Progress of one stage.
pub(super) struct Status {
    bar: Option<ProgressBar>,
    title: String,
    last: Instant,
}

impl Status {
    /// A stage whose length is unknown.
    pub(super) fn spinner(title: &str) -> Self {
        let status = Self::new(title);
        if let Some(bar) = &status.bar {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        status
    }

    fn new(title: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_message(title.to_owned());
            bar
        });
        if bar.is_none() {
            say!("{title}");
        }
        Self { bar, title: title.to_owned(), last: Instant::now() }
    }

    /// What is at work within the stage.
    pub(super) fn detail(&mut self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {text}", self.title));
        } else if self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            say!("{}: {text}", self.title);
        }
    }

    /// A line that stays.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say!("{text}")),
            None => say!("{text}"),
        }
    }

    /// Ends the stage.
    pub(super) fn done(&mut self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if !text.is_empty() {
            say!("{text}");
        }
    }

    /// A line of the profiling program on its stdout; false if it is none of its progress lines.
    pub(super) fn machine(&mut self, line: &str) -> bool {
        let field = |name: &str| {
            line.split(' ')
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
                .and_then(|text| text.parse::<f64>().ok())
        };
        if line.starts_with("strata-expect ") {
            if let (Some(points), Some(elapsed), Some(seconds), Some(budget)) =
                (field("points"), field("elapsed"), field("seconds"), field("budget"))
            {
                self.say(&format!(
                    "all {points} points are timed after {}; repeats of them take until {} at most (budget {})",
                    human(elapsed),
                    human(seconds),
                    human(budget)
                ));
            }
            return true;
        }
        if !line.starts_with("strata-progress ") {
            return false;
        }
        if let (Some(begun), Some(points), Some(elapsed), Some(remaining)) =
            (field("begun"), field("points"), field("elapsed"), field("remaining"))
        {
            let model = line.split_once("model=").map_or("", |(_, model)| model);
            if let Some(bar) = &self.bar
                && bar.length().is_none()
                && let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}")
            {
                bar.set_style(style);
            }
            if let Some(bar) = &self.bar {
                bar.set_length(((elapsed + remaining) * 1000.0) as u64);
                bar.set_position((elapsed * 1000.0) as u64);
                bar.set_message(format!("{begun} of {points} points, {} left: {model}", human(remaining)));
            } else {
                let left = human(remaining);
                self.detail(&format!(
                    "{begun} of {points} points, {} gone, about {left} left",
                    human(elapsed)
                ));
            }
        }
        true
    }
}

/// Seconds for people.
fn human(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}
