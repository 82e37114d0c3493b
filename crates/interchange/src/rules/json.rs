//! Open MPI's rule files in JSON, which 6.0 reads.

use serde_json::{Map, Value};
use strata_model::did_you_mean;

use super::{Block, COLLECTIVES, Collective, CollectiveRules, Release, Rule, RuleFile};
use crate::place::{Problems, byte_of};

/// Reads a file; errors go to `problems`.
pub(super) fn read(text: &str, release: Release, problems: &mut Problems<'_>) -> RuleFile {
    if release < Release::V6_0 {
        problems.push(
            0,
            format!("Open MPI {release} reads no JSON; it ignores the file: write it for {release}"),
        );
        return RuleFile::default();
    }
    let document: Value = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            let at = byte_of(text, error.line(), error.column());
            problems.push(at, format!("this is not JSON: {error}"));
            return RuleFile::default();
        }
    };
    match file(&document, release) {
        Ok(file) => file,
        Err(Wrong { word, message }) => {
            let at = text.find(&format!("\"{word}\"")).unwrap_or(0);
            problems.push(at, message);
            RuleFile::default()
        }
    }
}

/// An error, at the first place of a word.
struct Wrong {
    word: String,
    message: String,
}

fn wrong<T>(word: &str, message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { word: word.to_owned(), message: message.into() })
}

/// Refuses names that the library does not know: one of them makes it drop the whole file.
fn only(object: &Map<String, Value>, known: &[&str]) -> Result<(), Wrong> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let meant = did_you_mean(key, known.iter().copied());
            wrong(key, format!("the library knows no `{key}` here{meant}, and drops the whole file"))
        }
    }
}

/// A whole number, `"inf"` for the greatest; `missing` where it is not given.
fn number(object: &Map<String, Value>, key: &str, missing: u64) -> Result<u64, Wrong> {
    match object.get(key) {
        None => Ok(missing),
        Some(Value::String(text)) if matches!(text.as_str(), "inf" | "Inf" | "INF") => Ok(u64::MAX),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(number),
            None => wrong(key, format!("`{key}` is a whole number or \"inf\", and not {value}")),
        },
    }
}

fn objects<'v>(value: Option<&'v Value>, key: &str) -> Result<Vec<&'v Map<String, Value>>, Wrong> {
    let list = value.and_then(Value::as_array);
    let all = list.and_then(|list| list.iter().map(Value::as_object).collect::<Option<Vec<_>>>());
    match all {
        Some(all) => Ok(all),
        None => wrong(key, format!("`{key}` is a list of objects")),
    }
}

fn file(document: &Value, release: Release) -> Result<RuleFile, Wrong> {
    let Some(top) = document.as_object() else { return wrong("", "the file is one object") };
    only(top, &["rule_file_version", "module", "collectives"])?;
    if top.get("rule_file_version").and_then(Value::as_u64) != Some(3) {
        return wrong("rule_file_version", "`rule_file_version` must be 3");
    }
    if top.get("module").and_then(Value::as_str) != Some("tuned") {
        return wrong("module", "`module` must be \"tuned\"");
    }
    let Some(all) = top.get("collectives").and_then(Value::as_object) else {
        return wrong("collectives", "`collectives` is an object with the rules of each collective");
    };
    let mut file = RuleFile::default();
    for (name, blocks) in all {
        let Some(collective) = COLLECTIVES.iter().find(|one| one.name == name) else {
            let meant = did_you_mean(name, COLLECTIVES.iter().map(|one| one.name));
            return wrong(
                name,
                format!("there is no collective `{name}`{meant}, and the library drops the whole file"),
            );
        };
        let blocks = objects(Some(blocks), name)?;
        let blocks =
            blocks.into_iter().map(|one| block(one, collective, release)).collect::<Result<_, _>>()?;
        file.collectives.push(CollectiveRules { collective, blocks });
    }
    file.collectives.sort_by_key(|one| one.collective.number);
    Ok(file)
}

fn block(object: &Map<String, Value>, of: &Collective, release: Release) -> Result<Block, Wrong> {
    only(object, &["comm_size_min", "comm_size_max", "comm_rank_distribution", "rules"])?;
    if let Some(spread) = object.get("comm_rank_distribution") {
        let known = ["any", "one-per-node", "single-node"];
        if !spread.as_str().is_some_and(|spread| known.contains(&spread)) {
            return wrong(
                "comm_rank_distribution",
                format!("`comm_rank_distribution` is one of {}, and not {spread}", known.join(", ")),
            );
        }
    }
    let (from, to) = (number(object, "comm_size_min", 0)?, number(object, "comm_size_max", u64::MAX)?);
    if from > to {
        return wrong("comm_size_max", format!("no communicator has {from} to {to} processes"));
    }
    let rules = objects(object.get("rules"), "rules")?;
    let rules = rules.into_iter().map(|one| rule(one, of, release)).collect::<Result<_, _>>()?;
    Ok(Block { from, to, rules })
}

fn rule(object: &Map<String, Value>, of: &Collective, release: Release) -> Result<Rule, Wrong> {
    only(object, &["msg_size_min", "msg_size_max", "alg", "faninout", "seg_size", "reqs"])?;
    let (from, to) = (number(object, "msg_size_min", 0)?, number(object, "msg_size_max", u64::MAX)?);
    if from > to {
        return wrong("msg_size_max", format!("no message of {} has {from} to {to} bytes", of.name));
    }
    number(object, "reqs", 0)?;
    let Some(name) = object.get("alg").and_then(Value::as_str) else {
        return wrong("alg", format!("a rule of {} lacks `alg`, the name of an algorithm", of.name));
    };
    let ignored = matches!(name, "ignore" | "auto");
    let found = of.known(release).find(|(_, known)| *known == name).map(|(number, _)| number);
    let algorithm = match found {
        _ if ignored => 0,
        Some(algorithm) => algorithm,
        None => {
            let names: Vec<&str> = of.known(release).map(|(_, name)| name).collect();
            let meant = did_you_mean(name, names.iter().copied());
            return wrong(
                name,
                format!(
                    "Open MPI {release} has no {} by `{name}`{meant}; it has {}",
                    of.name,
                    names.join(", ")
                ),
            );
        }
    };
    let (fanout, segment) = (number(object, "faninout", 0)?, number(object, "seg_size", 0)?);
    Ok(Rule { from, to, algorithm, fanout, segment })
}
