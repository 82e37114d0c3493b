//! Progress on stderr: one line, redrawn in place on a terminal; nothing without a terminal, or on
//! one that cannot redraw (`TERM=dumb`).

use std::io::{IsTerminal as _, Write as _};

use strata_screen::{tell, width_of_stderr};

/// The columns of the bar.
const BAR: usize = 24;

/// Progress of one stage.
pub(super) struct Status {
    title: String,
    /// What is shown; `None` where no line can be redrawn.
    line: Option<String>,
}

impl Status {
    /// A stage whose length is unknown.
    pub(super) fn new(title: &str) -> Self {
        let can_redraw =
            std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        let mut status = Self { title: title.to_owned(), line: can_redraw.then(String::new) };
        status.show(title.to_owned());
        status
    }

    /// Shows the current activity within the stage.
    pub(super) fn detail(&mut self, text: &str) {
        self.show(format!("{}: {text}", self.title));
    }

    /// A line that stays.
    pub(super) fn say(&mut self, text: &str) {
        let line = self.line.clone();
        self.show(String::new());
        tell!("{text}");
        self.show(line.unwrap_or_default());
    }

    /// Ends the stage.
    pub(super) fn done(&mut self, text: &str) {
        self.show(String::new());
        if !text.is_empty() {
            tell!("{text}");
        }
    }

    /// Redraws the line; what does not fit is cut off.
    fn show(&mut self, text: String) {
        let Some(line) = self.line.as_mut().filter(|line| **line != text) else { return };
        let shown: String = text.chars().take(width_of_stderr() - 1).collect();
        *line = text;
        // Its reader may be gone.
        let _unwritten = std::io::stderr().write_all(format!("\r\x1b[2K{shown}").as_bytes());
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
            let filled = (BAR as f64 * elapsed / (elapsed + remaining).max(f64::MIN_POSITIVE)) as usize;
            let bar = format!("{}{}", "█".repeat(filled.min(BAR)), "░".repeat(BAR.saturating_sub(filled)));
            self.show(format!("{bar} {begun} of {points} points, {} left: {model}", human(remaining)));
        }
        true
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.show(String::new());
    }
}

/// Seconds for people.
fn human(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}
