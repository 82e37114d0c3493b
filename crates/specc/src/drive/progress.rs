//! Progress on stderr: one line, redrawn in place on a terminal; nothing without a terminal, or on
//! one that cannot redraw (`TERM=dumb`).

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use strata_screen::tell;

/// Progress of one stage.
pub(super) struct Status {
    bar: Option<ProgressBar>,
    title: String,
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
        let can_redraw =
            std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        let bar = can_redraw.then(|| {
            let bar = ProgressBar::new_spinner();
            restyle(&bar, "{spinner} {wide_msg}");
            bar.set_message(title.to_owned());
            bar
        });
        Self { bar, title: title.to_owned() }
    }

    /// Shows the current activity within the stage.
    pub(super) fn detail(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}: {text}", self.title));
        }
    }

    /// A line that stays.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell!("{text}")),
            None => tell!("{text}"),
        }
    }

    /// Ends the stage.
    pub(super) fn done(&mut self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if !text.is_empty() {
            tell!("{text}");
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
            if let Some(bar) = &self.bar {
                if bar.length().is_none() {
                    // What does not fit the line is cut off.
                    restyle(bar, "{bar:24} {wide_msg}");
                }
                bar.set_length(((elapsed + remaining) * 1000.0) as u64);
                bar.set_position((elapsed * 1000.0) as u64);
                bar.set_message(format!("{begun} of {points} points, {} left: {model}", human(remaining)));
            }
        }
        true
    }
}

fn restyle(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Seconds for people.
fn human(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}
