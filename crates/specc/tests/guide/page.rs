//! Fenced blocks of a page, and texts in which numbers may differ.

use regex::Regex;

/// A fenced block of a page.
pub(crate) struct Block<'a> {
    /// The first words behind the fence, without the path.
    pub(crate) kind: &'a str,
    /// The file that the block is the text of; empty if none.
    pub(crate) path: &'a str,
    /// The line of the page on which the block's text begins.
    pub(crate) line: usize,
    /// Every line with its end.
    pub(crate) text: String,
}

/// The fenced blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(info) => {
                inside = true;
                let (kind, path) = match info.rsplit_once(' ') {
                    Some((kind, path)) if path.contains('.') => (kind, path),
                    _ => (info, ""),
                };
                blocks.push(Block { kind, path, line: number + 2, text: String::new() });
            }
            None if inside => {
                if let Some(block) = blocks.last_mut() {
                    block.text += line;
                    block.text.push('\n');
                }
            }
            None => {}
        }
    }
    assert!(!inside, "a fence is not closed");
    blocks
}

/// Whether `text` is as `shown`, in which `…` stands for anything; else what is missing. Numbers
/// with their units, machines and runs of blanks are alike, and of a table only the first column
/// counts.
pub(crate) fn is_as_shown(shown: &str, text: &str) -> Result<(), String> {
    let (shown, text) = (plain(shown), plain(text));
    // A line of its own stands for any lines, none included.
    let shown = shown.replace("\n…\n", "…\n").replace("\n…", "…");
    let shown = shown.strip_prefix("…\n").map_or(shown.clone(), |rest| format!("…{rest}"));
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let mut rest = text.strip_prefix(first).ok_or(first)?;
    let last = parts.next_back();
    for part in parts {
        let at = rest.find(part).ok_or(part)?;
        rest = &rest[at + part.len()..];
    }
    match last {
        None if !rest.is_empty() => Err(format!("the end, before {rest}")),
        Some(last) if !rest.ends_with(last) => Err(format!("the end, {last}")),
        _ => Ok(()),
    }
}

/// Whether `text` is what is `shown`, to the last digit: the output of programs that print the same
/// on every machine.
pub(crate) fn is_exactly(shown: &str, text: &str) -> Result<(), String> {
    let lines =
        |text: &str| text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    match lines(shown) == lines(text) {
        true => Ok(()),
        false => Err(format!("every line of\n{shown}")),
    }
}

/// The text in the form in which it is compared.
fn plain(text: &str) -> String {
    let number = Regex::new(r"(^|\W)-?\d[\d.]*(,\d{3})*(e[+-]?\d+)?( ?([nµm]?s\b|%))?").expect("a pattern");
    let machine = Regex::new(r"(this|another) machine \(.+, \d+ cores").expect("a pattern");
    let is_rule = |c: char| ('─'..='╿').contains(&c);
    let lines = text.lines().map(|line| {
        let row = line.strip_prefix(is_rule);
        let line = row.map_or(line, |row| row.split(is_rule).next().unwrap_or_default());
        // Choices may be less sure than shown.
        let line = line.replace("? <", " <");
        let line = machine.replace_all(&line, "this machine (its processor, 2 cores");
        let words: Vec<&str> = line.trim_end_matches('?').split_whitespace().collect();
        number.replace_all(&words.join(" "), "$1#").into_owned()
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn numbers_may_differ_and_words_may_not() {
    let shown = "pairs  1.5e-3·n, 12 % of 34 samples\n…\n│ n ┆ 12.5 µs │\ntook … and ended.";
    for between in ["", "\nmore\nand more"] {
        let text =
            format!("pairs 7·n, 3.25 % of 9 samples{between}\n╞════╡\n│ n ┆ 4 s │\ntook long and ended.");
        assert_eq!(is_as_shown(shown, &text), Ok(()));
    }
    for (shown, text) in [
        ("taken", "lost"),
        ("taken", "taken\nlost"),
        ("log2(n)", "log10(n)"),
        ("a … c", "a b"),
        ("… c", "c d"),
    ] {
        assert!(is_as_shown(shown, text).is_err(), "{shown}");
    }
    assert_eq!(plain("a? < 61,000 < b?"), "a < # < b");
    assert_eq!(plain("12, 3 (-0.1 %)"), "#, # (#)");
    let here = "this machine (Intel(R) Xeon(R) Processor, 4 cores, MPI)";
    assert_eq!(plain(here), plain("another machine (AMD EPYC, 2 cores, MPI)"));
    assert_eq!(plain("in 45 s, log2(n) and 262.9ms."), "in #, log2(n) and #.");
}
