//! Open MPI's classic rule files: numbers divided by blanks.
//!
//! Open MPI reads them by `fscanf("%li")`. A number too many or too few shifts all that follow; the
//! library then aborts at the first call, or ignores the file without a word.

use super::{Block, COLLECTIVES, CollectiveRules, Release, Rule, RuleFile, Size};
use crate::place::{Problems, offset, short};

/// Begins a file of version 2.
const VERSION_2: &str = "rule-file-version-2";

#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// Reads the numbers one by one.
struct Reader<'a, 'p> {
    text: &'a str,
    release: Release,
    tokens: std::iter::Peekable<std::vec::IntoIter<Token<'a>>>,
    problems: &'p mut Problems<'a>,
}

/// After an error the meaning of further numbers is not known.
struct Lost;

/// Reads a file; errors go to `problems`.
pub(super) fn read<'a>(text: &'a str, release: Release, problems: &mut Problems<'a>) -> RuleFile {
    if release >= Release::V6_0 {
        problems.push(
            0,
            format!(
                "Open MPI {release} reads communicator sizes of classic files in another way (rules for 4 act \
                 on 0 to 3): write JSON, by `--release {release}`"
            ),
        );
        return RuleFile::default();
    }
    let (is_2, body) = match text.strip_prefix(VERSION_2) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut tokens = Vec::new();
    for (line, content) in body.lines().enumerate() {
        let kept = content.split('#').next().unwrap_or_default();
        tokens.extend(kept.split_whitespace().map(|text| Token { text, line }));
    }
    let mut reader = Reader { text, release, tokens: tokens.into_iter().peekable(), problems };
    let mut file = RuleFile::default();
    // The error is recorded.
    let _ = reader.file(is_2, &mut file);
    file
}

impl<'a> Reader<'a, '_> {
    fn fail<T>(&mut self, at: Option<Token<'a>>, message: String) -> Result<T, Lost> {
        let at = at.map_or(self.text.trim_end().len(), |token| offset(self.text, token.text));
        self.problems.push(at, message);
        Err(Lost)
    }

    /// The next number, from `least` to `most`.
    fn number(&mut self, what: &str, (least, most): (u64, u64)) -> Result<(u64, Token<'a>), Lost> {
        let Some(token) = self.tokens.next() else {
            return self.fail(None, format!("the file ends where {what} is expected"));
        };
        let found = short(token.text);
        if token.text == VERSION_2 {
            let rule = "must be the very first characters of the file, or the library ignores all of it";
            return self.fail(Some(token), format!("`{VERSION_2}` {rule}"));
        }
        let is_plain = token.text.bytes().all(|byte| byte.is_ascii_digit());
        if token.text.len() > 1 && token.text.starts_with('0') {
            let message = format!(
                "`{found}` is read as a number to another base than ten: write {what} without 0 before it"
            );
            return self.fail(Some(token), message);
        }
        let value = if is_plain { token.text.parse::<u64>().ok() } else { None };
        match value {
            Some(value) if (least..=most).contains(&value) => Ok((value, token)),
            _ => {
                let range =
                    if most >= LARGEST { format!("{least} or more") } else { format!("{least} to {most}") };
                self.fail(Some(token), format!("{what} is expected, {range}, and not `{found}`"))
            }
        }
    }

    fn file(&mut self, is_2: bool, file: &mut RuleFile) -> Result<(), Lost> {
        let most = COLLECTIVES.len() as u64;
        let (count, announced) = self.number("the number of collectives", (1, most))?;
        for _ in 0..count {
            let own = self.collective(is_2)?;
            if file.collectives.iter().any(|known| known.collective == own.0.collective) {
                let message =
                    format!("{} is listed twice: the second list is not used", own.0.collective.name);
                return self.fail(Some(own.1), message);
            }
            file.collectives.push(own.0);
        }
        if let Some(token) = self.tokens.next() {
            let line = announced.line + 1;
            let message = format!(
                "`{}` is one number too many: line {line} announces {count} collectives, and they have ended; a \
                 count before is too small",
                short(token.text)
            );
            return self.fail(Some(token), message);
        }
        Ok(())
    }

    fn collective(&mut self, is_2: bool) -> Result<(CollectiveRules, Token<'a>), Lost> {
        let most = COLLECTIVES.len() as u64 - 1;
        let (number, token) = self.number("the number of a collective", (0, most))?;
        let collective = &COLLECTIVES[number as usize];
        let name = collective.name;
        if collective.algorithms.is_empty() {
            return self.fail(Some(token), format!("{name} ({number}) has no algorithms to choose from"));
        }
        let what = format!("the number of communicator sizes of {name}");
        let (count, _) = self.number(&what, (1, LARGEST))?;
        let mut blocks: Vec<Block> = Vec::new();
        for _ in 0..count {
            let (size, token) = self.number(&format!("a communicator size of {name}"), (0, LARGEST))?;
            if let Some(before) = blocks.last_mut() {
                if size <= before.from {
                    let from = before.from;
                    let message =
                        format!("communicator size {size} of {name} follows {from}: they must rise");
                    return self.fail(Some(token), message);
                }
                before.to = size - 1;
            }
            let rules = self.rules(collective, size, is_2)?;
            blocks.push(Block { from: size, to: LARGEST, rules });
        }
        if let Some(first) = blocks.first_mut() {
            // Smaller communicators take the first block.
            first.from = 0;
        }
        Ok((CollectiveRules { collective, blocks }, token))
    }

    fn rules(&mut self, of: &super::Collective, size: u64, is_2: bool) -> Result<Vec<Rule>, Lost> {
        let name = of.name;
        let what = format!("the number of rules of {name} for communicators of {size}");
        let (count, token) = self.number(&what, (1, LARGEST))?;
        if of.size == Size::None && count > 1 {
            let message =
                format!("only the first rule of {name} ever acts, as its size is always 0: leave one");
            return self.fail(Some(token), message);
        }
        let mut rules: Vec<Rule> = Vec::new();
        for _ in 0..count {
            let (from, first) = self.number(&format!("the size of a rule of {name}"), (0, LARGEST))?;
            match rules.last_mut() {
                None if from != 0 => {
                    let message = format!(
                        "the first rule of {name} for communicators of {size} begins at {from}: it must begin at 0, \
                         or the library ignores the whole file"
                    );
                    return self.fail(Some(first), message);
                }
                Some(before) if from <= before.from => {
                    let message = format!(
                        "the rule from {from} follows the one from {}: sizes must rise, or it never acts",
                        before.from
                    );
                    return self.fail(Some(first), message);
                }
                Some(before) => before.to = from - 1,
                None => {}
            }
            let algorithms = of.known(self.release).map(|(number, _)| number).max().unwrap_or(0);
            let (algorithm, _) = self
                .number(&format!("the algorithm of {name} in Open MPI {}", self.release), (0, algorithms))?;
            let (fanout, _) = self.number("the fan-out", (0, LARGEST))?;
            let (segment, last) = self.number("the size of segments", (0, LARGEST))?;
            if last.line != first.line {
                let message = format!(
                    "this rule goes on in line {}: the numbers before it are shifted, by one too many or too few",
                    last.line + 1
                );
                return self.fail(Some(first), message);
            }
            let mut here = 0;
            while let Some(more) = self.tokens.next_if(|next| next.line == last.line) {
                here += 1;
                if !is_2 || here > 1 {
                    let four = if is_2 { "at most five" } else { "four" };
                    let message = format!(
                        "`{}` is one number too many: a rule has {four}{}",
                        short(more.text),
                        if is_2 {
                            ""
                        } else {
                            " (a fifth only where the file begins with `rule-file-version-2`)"
                        }
                    );
                    return self.fail(Some(more), message);
                }
            }
            rules.push(Rule { from, to: LARGEST, algorithm, fanout, segment });
        }
        Ok(rules)
    }
}

/// The greatest number that Open MPI's readers keep.
const LARGEST: u64 = i32::MAX as u64;
