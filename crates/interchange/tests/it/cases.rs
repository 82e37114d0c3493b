//! What is read of each file of `cases.txt`: models with their rows, notes, or every fault with its
//! place and a remedy.

use std::fmt::Write as _;

use strata_interchange::{Format, Imported, Selection, read};

const CASES: &str = include_str!("../cases.txt");

/// A file's name, its text, and whether it is read without its variations; then the variations.
type Case<'a> = (&'a str, String, bool, Vec<&'a str>);

fn cases() -> Vec<Case<'static>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for line in CASES.lines() {
        let begins = ["== ", "~~ "].map(|sign| line.strip_prefix(sign));
        match (begins, line.strip_prefix("-- "), cases.last_mut()) {
            ([Some(name), _] | [_, Some(name)], ..) => {
                cases.push((name, String::new(), begins[0].is_some(), Vec::new()));
            }
            (_, Some(variation), Some(case)) => case.3.push(variation),
            (_, _, Some(case)) => case.1 += &format!("{line}\n"),
            _ => {}
        }
    }
    cases
}

/// The text and the options of a variation.
fn varied(text: &str, variation: &str) -> (String, Selection) {
    let (options, edit) = variation.split_once('|').unwrap_or((variation, ""));
    let mut selection = Selection::default();
    let mut words = options.split_whitespace();
    while let Some(option) = words.next() {
        let mut value = || words.next().unwrap().to_owned();
        let list = |value: String| value.split(',').map(str::to_owned).collect();
        match option {
            "--absolute" => selection.differences = true,
            "--hold-out" => selection.hold_out = Some(value().parse().unwrap()),
            "--inputs" => selection.inputs = Some(list(value())),
            "--metric" => selection.metric = Some(value()),
            "--model-column" => selection.model_columns = list(value()),
            "--set" => {
                let (name, number) = value().split_once('=').map(|(a, b)| (a.to_owned(), b.parse())).unwrap();
                selection.set.push((name, number.unwrap()));
            }
            "--time" => selection.time = Some(value().parse().unwrap()),
            other => panic!("no option {other}"),
        }
    }
    let plain = |text: &str| text.replace("\\n", "\n").replace("\\t", "\t");
    let Some((from, to)) = edit.split_once(" =>") else { return (text.to_owned(), selection) };
    let (from, to) = (plain(&from[1..]), plain(to.strip_prefix(' ').unwrap_or(to)));
    assert!(text.contains(&from), "nothing to replace: {variation}");
    (text.replace(&from, &to), selection)
}

/// Models and inputs, rows with their times in ns, and notes.
fn told(imported: &Imported) -> String {
    let mut told = format!("{}\n", imported.format);
    for model in &imported.samples.models {
        let inputs: Vec<&str> = model.columns.iter().map(|column| &*column.text).collect();
        let _ = writeln!(told, "{}({})", model.name, inputs.join(", "));
        for row in &model.rows {
            let held_out = if row.verify { "@" } else { " " };
            let _ = writeln!(told, " {held_out}{:?}: {} ns", row.values, (1e12 * row.seconds).round() / 1e3);
        }
    }
    told.extend(imported.notes.iter().map(|note| format!("note: {note}\n")));
    told
}

#[test]
fn each_file_is_read_or_refused_with_a_place_and_a_way_out() {
    let mut all = String::new();
    for (name, text, alone, variations) in cases() {
        let _ = writeln!(all, "== {name}");
        for variation in alone.then_some("").into_iter().chain(variations) {
            let (text, selection) = varied(&text, variation);
            if !variation.is_empty() {
                let _ = writeln!(all, "-- {variation}");
            }
            match read(text.as_bytes(), name, None, &selection) {
                Ok(imported) => all += &told(&imported),
                Err(errors) => all += &format!("{errors}\n"),
            }
        }
    }
    insta::assert_snapshot!(all);
}

proptest::proptest! {
    /// Every file is either read or refused, whatever format it is said to have.
    #[test]
    fn damaged_files_are_read_or_refused(
        place in 0..cases().len(),
        at in 0usize..900,
        bytes in proptest::collection::vec(0u8..128, 0..6),
    ) {
        let (name, text, ..) = &cases()[place];
        let mut damaged = text.as_bytes().to_vec();
        let at = at.min(damaged.len());
        let end = (at + bytes.len()).min(damaged.len());
        damaged.splice(at..end, bytes.iter().copied());
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            let _ = read(&damaged, name, format, &Selection::default());
        }
    }
}
