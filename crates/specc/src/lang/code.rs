//! Rust code in canonical specs: as the author wrote it, moved as a whole to where its block
//! begins.

use super::lex::{Lexeme, lexeme};

const INDENT: usize = 4;

/// The code of a field of the one-line form. A comment at its end needs a line end, lest it hide
/// the next `@`.
pub(super) fn field(text: &str) -> String {
    let mut text = text.trim().to_owned();
    if lines(&text).1 {
        text.push('\n');
    }
    text
}

/// `word { code }`: on one line if the code is one line that fits.
pub(super) fn block(word: &str, text: &str, indent: usize, width: usize) -> String {
    let code = text.trim();
    if code.is_empty() {
        return format!("{word} {{}}");
    }
    let length = indent + word.len() + 5 + code.chars().count();
    let (inside, ends_in_comment) = lines(code);
    if !code.contains('\n') && !ends_in_comment && length <= width {
        return format!("{word} {{ {code} }}");
    }
    let begun_on_brace = !text[..text.len() - text.trim_start().len()].contains('\n');
    let first = text.len() - text.trim_start().len();
    let first_line = text[..first].rfind('\n').map_or(first, |n| n + 1);
    // Leading blanks of the first line are back, so that it counts like the others.
    let code = if begun_on_brace { code } else { text[first_line..].trim_end() };
    let depth = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let movable = |at: usize, line: &str| {
        !inside.contains(&at) && !line.trim().is_empty() && (at > 0 || !begun_on_brace)
    };
    let common = code
        .split('\n')
        .enumerate()
        .filter(|(at, line)| movable(*at, line))
        .map(|(_, line)| depth(line))
        .min();
    let common = common.unwrap_or(0);
    let mut out = format!("{word} {{\n");
    for (at, line) in code.split('\n').enumerate() {
        if inside.contains(&at) {
            out.push_str(line);
        } else if !line.trim().is_empty() {
            out.push_str(&" ".repeat(indent + INDENT));
            out.push_str(if movable(at, line) { &line[common..] } else { line });
        }
        out.push('\n');
    }
    out.push_str(&" ".repeat(indent));
    out.push('}');
    out
}

/// The numbers of the lines that begin inside a string or a comment, and whether the last lexeme is
/// a line comment.
fn lines(code: &str) -> (std::collections::BTreeSet<usize>, bool) {
    let (mut at, mut line, mut inside, mut comment) = (0, 0, std::collections::BTreeSet::new(), false);
    while at < code.len() {
        let (kind, end) = lexeme(code, at);
        let breaks = code[at..end].matches('\n').count();
        if matches!(kind, Lexeme::Text | Lexeme::BlockComment) {
            inside.extend(line + 1..=line + breaks);
        }
        comment = kind == Lexeme::LineComment;
        line += breaks;
        at = end;
    }
    (inside, comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_moves_as_a_whole_and_strings_stay() {
        let text = "\n  let a = \"x\n y\";\n    if a {\n\n    }\n";
        let once = block("task", text, 4, 100);
        assert_eq!(once, "task {\n        let a = \"x\n y\";\n          if a {\n\n          }\n    }");
        let inner = once.strip_prefix("task {").unwrap().strip_suffix('}').unwrap();
        assert_eq!(block("task", inner, 4, 100), once);
    }

    #[test]
    fn a_comment_at_the_end_keeps_its_line() {
        assert_eq!(block("task", " f() // now\n", 0, 100), "task {\n    f() // now\n}");
        assert_eq!(field(" f() // now\n"), "f() // now\n");
    }
}
