//! Families: one text for several models, libraries or candidates.

use strata_model::expr::Span;
use strata_model::platform::MACHINE;

use super::words::{Words, snake};
use crate::lang::ast::{Family, Name, Part};
use crate::lang::check::{duplicate, value_name};
use crate::lang::diagnostic::{CheckError, ErrorCode};

/// A member: its name, and what the family's lists are called in it.
pub(super) struct Member {
    pub(super) name: Name,
    pub(super) words: Words,
}

/// The members of a name, the first list's words slowest; one where there is no family.
///
/// `outer` are the words of what encloses it. At most `most` members are written out.
pub(super) fn members(
    name: &Name,
    family: Option<&Family>,
    outer: &Words,
    most: usize,
    errors: &mut Vec<CheckError>,
) -> Vec<Member> {
    let Some(Family { parts, aliases }) = family else {
        return vec![Member { name: name.clone(), words: outer.clone() }];
    };
    let lists: Vec<&Vec<Name>> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Words(words) => Some(words),
            Part::Text(_) => None,
        })
        .collect();
    check_aliases(name, aliases, lists.len(), errors);
    let count = lists.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()));
    if count.is_none_or(|count| count > most) {
        let message = format!("this family has more than {most} members");
        let error = CheckError::new(ErrorCode::TooLarge, message, name.span, "too many");
        errors.push(error.help("divide the family, or its file"));
        return Vec::new();
    }
    let mut members = vec![(String::new(), Vec::new())];
    for part in parts {
        members = match part {
            Part::Text(text) => members.into_iter().map(|(name, chosen)| (name + text, chosen)).collect(),
            Part::Words(words) => {
                let with = |(name, chosen): (String, Vec<Name>), word: &Name| {
                    (name + &word.text, [chosen.as_slice(), std::slice::from_ref(word)].concat())
                };
                let each = |member: (String, Vec<Name>)| {
                    words.iter().map(|word| with(member.clone(), word)).collect::<Vec<_>>()
                };
                members.into_iter().flat_map(each).collect()
            }
        };
    }
    let member = |(text, chosen): (String, Vec<Name>)| {
        let mut words = outer.clone();
        aliases.iter().zip(&chosen).for_each(|(alias, word)| words.add(alias, &word.text));
        let span = match chosen.as_slice() {
            [one] => one.span,
            _ => name.span,
        };
        Member { name: Name { text, span }, words }
    };
    members.into_iter().map(member).collect()
}

fn check_aliases(name: &Name, aliases: &[Name], lists: usize, errors: &mut Vec<CheckError>) {
    if let (Some(first), Some(last)) = (aliases.first(), aliases.last())
        && aliases.len() != lists
    {
        let count =
            if aliases.len() == 1 { "one list".to_owned() } else { format!("{} lists", aliases.len()) };
        let message = format!("`as` names {count}, and `{}` has {lists}", name.text);
        let span = Span { start: first.span.start, end: last.span.end };
        let error = CheckError::new(ErrorCode::Arity, message, span, "one name for each list");
        errors
            .push(error.help("a list of words stands in braces: `{Pack, Unpack}{Hot, Cold} as way, state`"));
    }
    for (at, alias) in aliases.iter().enumerate() {
        if let Some(first) = aliases[..at].iter().find(|other| other.text == alias.text) {
            errors.push(duplicate("the list", alias, Some(first.span)));
        } else if snake(&alias.text) != alias.text {
            let message = format!("the name `{}` of a list is not written in small letters", alias.text);
            let error = CheckError::new(ErrorCode::Reserved, message, alias.span, "cannot be a name");
            errors.push(error.help(format!(
                "write `{}`; where it is read, `{}` in small letters and as a type are its words in these spellings",
                snake(&alias.text),
                snake(&alias.text)
            )));
        } else if MACHINE.contains(&alias.text.as_str()) {
            errors.push(of_machine(alias));
        } else {
            errors.extend(value_name(alias));
        }
    }
}

/// The error for a name of a family or a file that is a quantity of the machine.
pub(super) fn of_machine(name: &Name) -> CheckError {
    let message = format!("`{}` is a quantity of the machine", name.text);
    CheckError::new(ErrorCode::Reserved, message, name.span, "cannot be a name").help("choose another name")
}
