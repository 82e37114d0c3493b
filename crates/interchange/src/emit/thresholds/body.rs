//! What `choose` does, in text that C and Rust read alike but for a few words.

use super::{Branch, Rule, Table};

/// These words.
pub(super) struct Words<'a> {
    /// How an argument is left alone, `@`.
    pub(super) unused: &'a str,
    /// The number 1 where `@` holds, and 0 otherwise.
    pub(super) truth: &'a str,
    /// The variable `at`, and `cells` of which there are `@`, up to their values.
    pub(super) cells: &'a str,
    /// The end of the cells, and the statement that returns that at `at`.
    pub(super) looked_up: &'a str,
    /// A way as a value, and as a cell.
    pub(super) way: &'a dyn Fn(usize) -> String,
    pub(super) cell: &'a dyn Fn(usize) -> String,
    pub(super) number: &'a dyn Fn(f64) -> String,
    /// Whether no number is below zero.
    pub(super) unsigned: bool,
}

impl Words<'_> {
    /// The statements of a rule; `arguments`: the inputs as numbers of one type, `constants`: the
    /// names of the thresholds.
    pub(super) fn body(&self, rule: &Rule, arguments: &[String], constants: &[String]) -> String {
        let unused = |name: &String| format!("    {}\n", self.unused.replace('@', name));
        let give = |way: usize| format!("return {};\n", (self.way)(way));
        match rule {
            Rule::Line { first, steps } => {
                let mut text = String::new();
                let mut from = *first;
                for (step, name) in steps.iter().zip(constants) {
                    text += &format!("    if ({} < {name}) {{\n        {}    }}\n", arguments[0], give(from));
                    from = step.to;
                }
                if steps.is_empty() {
                    text.extend(arguments.iter().map(unused));
                }
                text + "    " + &give(from)
            }
            Rule::Table(table) if table.splits.is_empty() => {
                arguments.iter().map(unused).collect::<String>() + "    " + &give(table.only)
            }
            Rule::Table(table) => self.table(table, arguments),
        }
    }

    fn table(&self, table: &Table, arguments: &[String]) -> String {
        let Some(grid) = table.grid(arguments.len()) else {
            return self.asked(table, arguments, Branch::Split(0), (1, 1));
        };
        let row = grid.cuts.last().map_or(1, |cuts| cuts.len() + 1);
        let mut text = self.cells.replace('@', &grid.cells.len().to_string());
        for cells in grid.cells.chunks(row) {
            let cells: Vec<String> = cells.iter().map(|way| (self.cell)(*way)).collect();
            text += &format!("        {},\n", cells.join(", "));
        }
        let (end, result) = self.looked_up.split_once('@').unwrap_or_default();
        text += end;
        for (name, cuts) in arguments.iter().zip(&grid.cuts) {
            if cuts.is_empty() {
                text += &format!("    {}\n", self.unused.replace('@', name));
                continue;
            }
            text += &format!("    at = at * {}", cuts.len() + 1);
            for cut in cuts {
                let passed = format!("{name} >= {}", (self.number)(*cut));
                text += &format!("\n        + {}", self.truth.replace('@', &passed));
            }
            text += ";\n";
        }
        text + result
    }

    /// The questions from one on, of which this is the `count`th; each is asked once at most.
    fn asked(
        &self,
        table: &Table,
        arguments: &[String],
        branch: Branch,
        (count, depth): (usize, usize),
    ) -> String {
        let indent = "    ".repeat(depth);
        let (way, split) = match branch {
            Branch::Way(way) => (way, None),
            Branch::Split(at) => (table.only, table.splits.get(at).filter(|_| count <= table.splits.len())),
        };
        let Some(split) = split else { return format!("{indent}return {};\n", (self.way)(way)) };
        let (name, value) = (&arguments[split.input], (self.number)(split.below));
        let above = self.asked(table, arguments, split.then[1], (count + 1, depth));
        if self.unsigned && split.below <= 0.0 {
            return above;
        }
        let below = self.asked(table, arguments, split.then[0], (count + 1, depth + 1));
        format!("{indent}if ({name} < {value}) {{\n{below}{indent}}}\n{above}")
    }
}
