//! Long lines of canonical specs: where they are broken.

use super::print::{INDENT, SPACED, WIDTH, token};

/// `text`, which begins in `column`, broken into lines that are not too long, if there are places
/// for it. All but the first begin `indent` blanks from the left.
pub(super) fn wrapped(text: &str, column: usize, indent: usize) -> String {
    wrapped_to(WIDTH, text, column, indent)
}

/// As [`wrapped`], to lines of so many columns.
pub(crate) fn wrapped_to(width: usize, text: &str, column: usize, indent: usize) -> String {
    let (mut out, mut rest, mut column) = (String::new(), text, column);
    while rest.chars().nth(width.saturating_sub(column)).is_some() {
        let Some(at) = place(rest, width.saturating_sub(column)) else { break };
        out.push_str(rest[..at].trim_end());
        out.push('\n');
        out.push_str(&" ".repeat(indent));
        rest = rest[at..].trim_start();
        column = indent;
    }
    out + rest
}

/// `word a, b, c`, broken after commas into lines that are not too long.
pub(super) fn filled(word: &str, parts: &[String], indent: usize) -> String {
    let (mut text, mut column) = (word.to_owned(), indent + word.chars().count());
    for (at, part) in parts.iter().enumerate() {
        let comma = if at + 1 < parts.len() { "," } else { "" };
        let length = part.chars().count() + comma.len();
        if at > 0 && column + 1 + length > WIDTH {
            text.push('\n');
            text.push_str(&" ".repeat(indent + INDENT));
            column = indent + INDENT;
        } else {
            text.push(' ');
            column += 1;
        }
        let part = wrapped(&format!("{part}{comma}"), column, indent + 2 * INDENT);
        column = match part.rfind('\n') {
            Some(line) => part[line + 1..].chars().count(),
            None => column + part.chars().count(),
        };
        text.push_str(&part);
    }
    text
}

/// The precedence of an operator as a break point: lines break at lower values first.
fn tightness(operator: &str) -> Option<usize> {
    Some(match operator {
        "||" | "&&" => 1,
        "==" | "!=" | "<=" | ">=" | "<" | ">" => 2,
        "<<" | ">>" | "+" | "-" => 3,
        "*" | "/" | "%" => 4,
        _ => return None,
    })
}

/// Where `text` is broken: the loosest place in the second half of a line of `room` characters, else
/// the last one before, else the first one after. Never in its first word.
fn place(text: &str, room: usize) -> Option<usize> {
    let (mut at, mut column, mut depth) = (0, 0, 0_usize);
    let mut before = "(";
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    // Of the break points beyond the end of the line, only the first is used.
    while at < text.len() && (column <= room || places.is_empty()) {
        let blanks = text[at..].len() - text[at..].trim_start().len();
        at += blanks;
        column += blanks;
        if at == text.len() {
            break;
        }
        let token = &text[at..at + token(&text[at..])];
        match token {
            "(" | "{" => depth += 1,
            ")" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let operand = before != "(" && before != "," && tightness(before).is_none();
        let operator = tightness(token).filter(|_| operand && (blanks == 0 || SPACED.contains(&token)));
        let comma = (before == "," && blanks > 0).then_some(0);
        let word = (blanks > 0 && ["for", "require", "as", "by", "step"].contains(&token)).then_some(0);
        places.extend(comma.or(word).or(operator).map(|loose| (at, column, 10 * depth + loose)));
        at += token.len();
        column += token.chars().count();
        before = token;
    }
    let fits = |&&(_, column, _): &&(usize, usize, usize)| column <= room;
    let late = |&&(_, column, _): &&(usize, usize, usize)| 2 * column > room;
    let loosest = places.iter().filter(fits).filter(late).rev().min_by_key(|(_, _, tight)| *tight);
    let other = places.iter().rfind(|place| fits(place)).or(places.iter().find(|place| !fits(place)));
    loosest.or(other).map(|(at, ..)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_terms_are_broken_after_commas() {
        let parts: Vec<String> = (0..40).map(|i| format!("term{i}")).collect();
        let text = filled("terms", &parts, 4);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.matches("term").count(), 41);
    }

    #[test]
    fn expressions_are_broken_at_loose_places() {
        let sum = |name: &str| format!("{name}*ceil(width/columns)");
        let text = format!("let a = {}", ["first", "second", "third", "fourth", "fifth"].map(sum).join("+"));
        let broken = wrapped(&text, 4, 8);
        assert!(broken.lines().all(|line| line.chars().count() <= WIDTH), "{broken}");
        assert!(broken.lines().skip(1).all(|line| line.starts_with("        +")), "{broken}");
        let word = format!("let a = {}", "x".repeat(200));
        assert_eq!(wrapped(&word, 4, 8), word);
        assert_eq!(wrapped("for e in 1..=2 step *2", 90, 8), "for e in 1..=2\n        step *2");
    }
}
