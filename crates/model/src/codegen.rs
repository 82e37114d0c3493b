//! Shared helpers of emitters of program text: names, numbers and comments that cannot break the
//! surrounding text.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Words that cannot name a function or variable (Rust 2024, reserved ones included).
const KEYWORDS: &str = " abstract as async await become box break const continue crate do dyn else enum extern false \
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super \
    trait true try type typeof union unsafe unsized use virtual where while yield ";

/// The names taken in one scope.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    taken: BTreeSet<String>,
}

impl Scope {
    /// A scope in which these names are taken.
    pub fn with(taken: &[&str]) -> Self {
        Self { taken: taken.iter().map(|&name| name.to_owned()).collect() }
    }

    /// A name made from `wanted`. It and its forms with each of `suffixes` were free, and are then
    /// taken.
    pub fn claim(&mut self, wanted: &str, suffixes: &[&str]) -> String {
        let mut name = wanted.to_owned();
        let mut count = 1;
        let all = |name: &str| -> Vec<String> { suffixes.iter().map(|s| format!("{name}{s}")).collect() };
        while is_keyword(&name) || all(&name).iter().any(|n| self.taken.contains(n)) {
            count += 1;
            name = format!("{wanted}_{count}");
        }
        self.taken.extend(all(&name));
        name
    }
}

fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&format!(" {name} "))
}

/// `CombineVector` → `combine_vector`, `HTTPCost2` → `http_cost2`.
pub fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let after_lower = i > 0 && (chars[i - 1].is_ascii_lowercase() || chars[i - 1].is_ascii_digit());
        let before_lower = i > 0
            && chars[i - 1].is_ascii_uppercase()
            && chars.get(i + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_lower || before_lower) && !out.ends_with('_') {
            out.push('_');
        }
        out.push(if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '_' });
    }
    // `_` alone, and a name that begins with a digit, are no names; one that begins with `_` would
    // look unused.
    let out = out.trim_start_matches('_');
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        format!("m_{out}")
    } else {
        out.to_owned()
    }
}

/// The name in the spelling of types: `all_to_all` → `AllToAll`.
#[must_use]
pub fn pascal(name: &str) -> String {
    let snake = snake(name);
    let words = snake.split('_').filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// Text that stays on its line and does not end a code block.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.replace("```", "'''").replace(|c: char| c.is_control(), " ").trim_end().to_owned()
}

/// Text as a basic string of TOML 1.0.
#[must_use]
pub fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_becomes_snake_case() {
        for (from, to) in [
            ("CombineVector", "combine_vector"),
            ("HTTPCost2", "http_cost2"),
            ("already_snake", "already_snake"),
            ("N", "n"),
            ("logN", "log_n"),
            ("_", "m_"),
            ("__x", "x"),
            ("Radix14Bits", "radix14_bits"),
        ] {
            assert_eq!(snake(from), to);
        }
    }

    #[test]
    fn names_are_given_once() {
        let mut scope = Scope::with(&["half_width"]);
        let suffixes = ["", "_seconds"];
        assert_eq!(scope.claim("sort", &suffixes), "sort");
        assert_eq!(scope.claim("sort", &suffixes), "sort_2");
        assert_eq!(scope.claim("sort_seconds", &suffixes), "sort_seconds_2");
        assert_eq!(scope.claim("type", &suffixes), "type_2");
        assert_eq!(scope.claim("half_width", &suffixes), "half_width_2");
    }
}
