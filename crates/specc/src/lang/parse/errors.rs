//! Syntax errors: the text that could not be read, in the words of the language.

use pest::Parser;
use pest::error::{Error as PestError, ErrorVariant, InputLocation};
use pest::iterators::Pair;

use strata_model::expr::Span;
use strata_model::{closest, did_you_mean};

use super::{Reader, Rule, SpecParser, child, span};
use crate::lang::ast::*;
use crate::lang::diagnostic::{CheckError, ErrorCode};
use crate::lang::words;

/// How many bytes after broken text are read to say what was found there.
const AHEAD: usize = 64;

impl Reader<'_> {
    /// Reports the parenthesis of a call that is not closed: a factored model's expression ends
    /// before it, at the name. Returns whether it is one.
    pub(super) fn unclosed(&mut self, pair: &Pair<'_, Rule>, file: &mut File) -> bool {
        let Span { start, .. } = span(pair);
        let Some(Item::Model(model)) = file.items.last_mut() else { return false };
        let follows = self.text[model.span.end..start].trim().is_empty();
        if !follows || !matches!(model.body, Body::Factored(_)) || !self.text[start..].starts_with('(') {
            return false;
        }
        // It would be closed before the line ends that has no other one open, or the next model
        // begins.
        let rest = &self.scan.shallow[start..];
        let end = ["\nmodel ", "\nlibrary ", "\nuse ", "\n{{"]
            .iter()
            .filter_map(|next| rest.find(next))
            .min()
            .unwrap_or(rest.len());
        let depth = rest[..end].chars().fold(0i64, |depth, c| match c {
            '(' => depth + 1,
            ')' => depth - 1,
            _ => depth,
        });
        if depth <= 0 {
            return false;
        }
        // What the name before it stands for is not known.
        model.complete = false;
        let here = Span { start, end: start + 1 };
        self.fail(here, "this parenthesis is not closed".to_owned(), "opened here");
        true
    }

    /// Reports text that is no `rule`, by trying to read it as one.
    pub(super) fn stray(&mut self, pair: &Pair<'_, Rule>, rule: Rule, expected: &str) {
        self.complete = false;
        // What is broken ends there or at the next word: reading on would cost time and tell
        // nothing.
        let Span { start, end } = span(pair);
        let mut end = (end + AHEAD).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        match SpecParser::parse(rule, &self.scan.shallow[start..end]) {
            Err(error) => self.pest_error(&error, start, expected),
            Ok(_) => {
                let end = start + self.text[start..].chars().next().map_or(0, char::len_utf8);
                self.fail(Span { start, end }, format!("expected {expected}"), "not expected here");
            }
        }
    }

    pub(super) fn fail(&mut self, span: Span, message: String, label: &str) {
        self.errors.push(CheckError::new(ErrorCode::Syntax, message, span, label));
        self.complete = false;
    }

    /// Says what was expected and found, in our words.
    pub(super) fn pest_error(&mut self, error: &PestError<Rule>, offset: usize, otherwise: &str) {
        let at = offset
            + match error.location {
                InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
            };
        let positives = match &error.variant {
            ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
            ErrorVariant::CustomError { .. } => &[],
        };
        let mut expected: Vec<&str> = Vec::new();
        for words in positives.iter().filter_map(|&rule| in_words(rule)) {
            if !expected.contains(&words) {
                expected.push(words);
            }
        }
        let words = expected.clone();
        let expected = match expected.split_last() {
            None => otherwise.to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
        };
        // What is missing at the end is missing after the last word.
        let at = at.min(self.text.trim_end().len());
        let rest = &self.text[at..];
        let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        let found = match &rest[..length] {
            blank if blank.trim().is_empty() => "the end of the file".to_owned(),
            text => format!("`{}`", text.escape_debug()),
        };
        let place =
            Span { start: at, end: at + if word > 0 || !rest.trim().is_empty() { length } else { 0 } };
        // Expected words are in backquotes. If none is, because the expectation is a description,
        // any word of the language may be meant.
        let quoted = words.iter().filter_map(|word| word.strip_prefix('`')?.strip_suffix('`'));
        let is_word = words::all().any(|word| word == &rest[..length]);
        let any = words::all().filter(|_| words.is_empty() && !is_word);
        let meant = did_you_mean(&rest[..length], quoted.chain(any));
        self.fail(place, format!("expected {expected}, found {found}{meant}"), "here");
        if let Some(help) = way_out(rest)
            && let Some(error) = self.errors.pop()
        {
            self.errors.push(error.help(help));
        }
    }

    pub(super) fn unknown(&mut self, pair: &Pair<'_, Rule>) {
        self.complete = false;
        let Some(word) = child(pair, Rule::unknown_line).and_then(|line| child(&line, Rule::identifier))
        else {
            return;
        };
        let message = format!("`{}` is not a statement of a model", word.as_str());
        let error = CheckError::new(ErrorCode::Unknown, message, span(&word), "not known");
        self.errors.push(error.help(match closest(word.as_str(), words::statements()) {
            _ if word.as_str() == "features" => AT_THE_HEAD.to_owned(),
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("a model has {}", words::statements().collect::<Vec<_>>().join(", ")),
        }));
    }
}

/// The remedy for a line of a file that stands in a model.
pub(super) const AT_THE_HEAD: &str = "it stands at the file's head, and holds for all of its models";

/// Where `on` and a machine stand behind a block that does not end: in it.
pub(super) fn misplaced_on(text: &str, end: usize) -> Option<Span> {
    let rest = text.get(end..)?;
    let at = end + rest.len() - rest.trim_start().len();
    let machine = text[at..].strip_prefix("on")?.strip_prefix([' ', '\t'])?.trim_start();
    let is_one = ["threads", "mpi", "sim"].iter().any(|word| machine.starts_with(word));
    is_one.then_some(Span { start: at, end: at + "on".len() })
}

/// How to write what other languages write as this text begins.
fn way_out(rest: &str) -> Option<&'static str> {
    let step = |rest: &str| rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
    if rest.starts_with(|c: char| c.is_alphabetic() && !c.is_ascii()) {
        Some("names are made of the letters a to z and A to Z, digits and `_`")
    } else if rest.starts_with("**") {
        Some("a power is `2^n` or `pow(2, n)`")
    } else if rest.strip_prefix("step").is_some_and(step) {
        Some("a step says how it advances: `step +2`, `step *2` or `step <<1`")
    } else {
        None
    }
}

/// What a rule is called in messages; `None` for what is clear from the others.
fn in_words(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::model | Rule::model_word => "`model`",
        Rule::library | Rule::library_word => "`library`",
        Rule::use_line | Rule::use_word => "`use`",
        Rule::line_model | Rule::line_start => "`{{`",
        Rule::line_end => "`}}`",
        Rule::at => "`@`",
        Rule::kinds => "`{` and names",
        Rule::identifier | Rule::input | Rule::member | Rule::head | Rule::single | Rule::reference => {
            "a name"
        }
        Rule::measured_on | Rule::on_word => "`on`",
        Rule::machine => "`threads`, `mpi` or `sim`",
        Rule::features | Rule::features_word => "`features`",
        Rule::feature => "a feature, `name` or `crate/name`",
        Rule::shared_let => "`let`",
        Rule::shared_terms => "`terms`",
        Rule::as_word | Rule::aliases => "`as`",
        Rule::by_word => "`by`",
        Rule::parameters | Rule::arguments | Rule::left => "`(`",
        Rule::right => "`)`",
        Rule::body | Rule::library_body | Rule::open => "`{`",
        Rule::close => "`}`",
        Rule::comma => "`,`",
        Rule::colon => "`:`",
        Rule::semicolon => "`;`",
        Rule::factored | Rule::equals => "`=`",
        Rule::hybrid | Rule::tilde => "`~`",
        Rule::expression
        | Rule::number
        | Rule::name
        | Rule::terms
        | Rule::listed
        | Rule::factors
        | Rule::bare => "an expression",
        Rule::operator => "an operator",
        Rule::range => "`..=`",
        Rule::root => "`root(…)`",
        Rule::code => "`{` and Rust code",
        Rule::in_word => "`in`",
        Rule::for_key | Rule::ranges => "`for`",
        Rule::step_word => "`step`",
        Rule::step | Rule::step_operator => "a step such as `*2`, `+3` or `<<1`",
        Rule::update | Rule::update_operator | Rule::increment => "an update such as `++`, `*=10` or `<<=1`",
        Rule::integer => "a whole number",
        Rule::option_value | Rule::fit_part => "a value",
        Rule::candidate | Rule::candidate_word => "`candidate`",
        Rule::incumbent | Rule::default_word => "`default`",
        Rule::limit | Rule::limit_name => "`ways` or `slowdown`",
        Rule::equal => "`equal`",
        Rule::given => "a parameter with its value, `cutoff = 16`",
        Rule::require_key | Rule::candidate_require => "`require`",
        Rule::binding | Rule::line_inputs | Rule::line_terms => "`name:expression`",
        Rule::line_loop | Rule::line_loops => "a loop such as `i 1 100 *=10`",
        Rule::use_tree => "a path",
        _ => return None,
    })
}
