//! The words of the language, as the names of the grammar's rules list them.

use std::sync::LazyLock;

use super::parse::Rule;

static STATEMENTS: LazyLock<Vec<String>> = LazyLock::new(|| rules("_key"));
static OTHERS: LazyLock<Vec<String>> = LazyLock::new(|| rules("_word"));

/// The names of the rules that end so, without that.
fn rules(end: &str) -> Vec<String> {
    let word = |rule: &Rule| Some(format!("{rule:?}").strip_suffix(end)?.to_owned());
    Rule::all_rules().iter().filter_map(word).collect()
}

/// The words that begin the statements of a model.
pub(super) fn statements() -> impl Iterator<Item = &'static str> {
    STATEMENTS.iter().map(String::as_str)
}

/// All words; none can be a name in expressions.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    OTHERS.iter().map(String::as_str).chain(statements())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_words_are_named_by_them() {
        let grammar = include_str!("grammar.pest");
        for word in all() {
            assert!(grammar.contains(&format!("@{{ \"{word}\" ~ !tail }}")), "{word}");
        }
        let mark = |line: &str| line.starts_with("once ") || line.starts_with("hot ");
        let words = grammar.lines().filter(|line| line.ends_with("\" ~ !tail }") && !mark(line));
        assert_eq!(words.count(), all().count());
        assert!(statements().eq([
            "for", "let", "require", "setup", "task", "cleanup", "sample", "terms", "fit", "verify", "round",
            "repeat", "accept", "confidence"
        ]));
    }
}
