//! The manual: commands grouped by purpose, an example at the end of each, and the first steps.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};
use strata_screen::wrapped;

use super::args::{Cli, HOLDING, RUNNING};

/// All commands by purpose, in the order of the list.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Make models", &["calibrate", "check", "emit", "fit", "advise"]),
    ("Ask models", &["show", "choose", "thresholds", "compare", "impact"]),
    ("Exchange", &["export", "platform"]),
];

/// Example calls of each command, one a line.
const EXAMPLES: [(&str, &str); 14] = [
    (
        "calibrate",
        "specc calibrate specs/sort --on threads -o target/calibration
specc calibrate sort.spec --on mpi --nodes 2,4,8 --budget 5m -o here
specc calibrate sort.spec --resume --budget 2m -o here
specc calibrate sort.spec --only-samples --budget 60s -o measured
specc calibrate sort.spec --nodes 1 --add src/models.rs -o here",
    ),
    (
        "check",
        "specc check specs
specc check specs --fmt
specc check here/samples.txt --guidelines
specc check sort.spec --models models.toml -o target/check
specc check sort.spec --models m.toml --thresholds t.rs -o here
specc check sort.spec --models m.toml --constant sort=quick:64 -o here",
    ),
    (
        "emit",
        "specc emit sort.spec --nodes 4 -o program\nspecc emit sort.spec --nodes 1x8,2x8 --job slurm -o cluster",
    ),
    (
        "fit",
        "specc fit measured/samples.txt --spec sort.spec -o fitted
specc fit runs.csv --time elapsed:ms --hold-out 20% -o fitted
specc fit target/criterion --inputs n,width
specc fit runs.csv --time t:ns --time cost:gas --hold-out 50% --upper 99%",
    ),
    ("advise", "specc advise here/models.toml sort --spec sort.spec --count 20 -o points.txt"),
    (
        "show",
        "specc show here/models.toml
specc show here/models.toml Radix
specc show here/models.toml sort --by keys width=32
specc show here/models.toml sort --grid",
    ),
    (
        "thresholds",
        "specc thresholds here/models.toml sort
specc thresholds here/models.toml sort --by keys --at width=32
specc thresholds here/models.toml sort --slowdown 10%",
    ),
    (
        "compare",
        "specc compare old/ new/
specc compare old/samples.txt new/samples.txt --fail-above 3%
specc compare --run ./old ./new --from google --fail-above 3%
specc compare --run 'cargo bench' --git HEAD~1 --results target/criterion
specc compare --run ./gzip.sh ./zstd.sh --rounds 21 --noop",
    ),
    (
        "choose",
        "specc choose here/models.toml sort keys=4096 width=32 --explain
specc choose here/models.toml sort keys=4096 width=32 --pin sort=radix:8
specc choose here/models.toml Radix keys=4096 bits=8 width=32
specc choose here/models.toml Measured width=512 height=512 --models there",
    ),
    (
        "impact",
        "specc impact here/models.toml sort keys=4096 width=32
specc impact here/models.toml sort
specc impact here/models.toml Halo --set Put.bytes*=0.5",
    ),
    (
        "export",
        "specc export here/models.toml --to c --prefix sort -o sort.h
specc export threads/models.toml mpi/models.toml --to models -o models.rs
specc export models.toml --to thresholds --at width=32 -o thresholds.rs
specc export models.toml --to rust --round up --unit gas=2.5e9 -o gas.rs
specc export models.toml --to json --round up -o prices.json",
    ),
    (
        "platform",
        "specc platform list
specc platform show cm5 --nodes 32
specc platform run --on smpi:cluster.xml --nodes 64 --features mpi
specc platform run --on sim:cm5 --nodes 32 --example ring -- 100",
    ),
    ("completions", "specc completions bash > ~/.local/share/bash-completion/completions/specc"),
    ("man", "specc man -o ~/.local/share/man/man1"),
];

/// The message if no command was given.
pub(super) const BEGINNING: &str = "which command? `specc --help` lists them. To begin:
  cargo strata new counting && cd counting && cargo strata calibrate
      a library of three implementations with its spec, measured
  specc calibrate specs/sort --on threads -o target/calibration
      in a clone of Strata: when is which parallel sort faster?
  docs/first-library.md in that clone, the guide's first page";

/// The command line with its manual.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    let commands = listed(&command);
    for (name, examples) in EXAMPLES {
        let text = format!("{}:\n{}", heading(examples), indented(examples));
        command = command.mut_subcommand(name, |one| one.after_help(text));
    }
    // What is under a heading counts only with the option that the heading names.
    for (name, heading, option) in [("check", HOLDING, "models"), ("compare", RUNNING, "run")] {
        let needs = |one: Arg| match one.get_help_heading() == Some(heading) && one.get_id() != "nodes" {
            true => one.requires(option),
            false => one,
        };
        command = command.mut_subcommand(name, |one| one.mut_args(needs));
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}Options:\n{{options}}\n\nBegin with:\n  \
         cargo strata new counting && cd counting && cargo strata calibrate"
    ))
}

fn heading(examples: &str) -> &str {
    if examples.contains('\n') { "Examples" } else { "Example" }
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// The groups of commands, each command with the first sentence of its help.
fn listed(command: &Command) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{group}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let line = format!("  {name:10} {}", about.map(ToString::to_string).unwrap_or_default());
            let _ = writeln!(text, "{}", wrapped(&line, 80, "           "));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_an_example() {
        let command = command();
        for one in command.get_subcommands() {
            let name = one.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(groups, usize::from(!one.is_hide_set()), "{name}");
            assert_eq!(EXAMPLES.iter().filter(|(of, _)| *of == name).count(), 1, "{name}");
        }
        assert!(GROUPS.iter().map(|(_, names)| names.len()).sum::<usize>() <= 12);
    }

    #[test]
    fn every_example_is_a_command() {
        for line in EXAMPLES.iter().flat_map(|(_, examples)| examples.lines()) {
            let words = line.split(" > ").next().expect("a command").split_whitespace();
            if let Err(error) = command().try_get_matches_from(words) {
                panic!("{line}\n{error}");
            }
            assert!(line.len() + 2 <= 80, "{line}");
        }
    }

    #[test]
    fn the_list_of_commands_fits_the_screen() {
        let text = command().render_long_help().to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(
            text.contains("Make models:\n  calibrate ") && text.contains("Exchange:\n  export"),
            "{text}"
        );
    }
}
