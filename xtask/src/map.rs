//! `cargo xtask map`: which crate stands on which, and the circles of arrows between folders of one.
//!
//! Between crates no arrow runs back, as cargo refuses circles of dependencies. Inside a crate a
//! circle within one folder is read at once; `weight.toml` has the number of folders in others,
//! which may only fall.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// The modules at a crate's root, with those that each of them names.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Prints both.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn run(files: &[String]) -> Result<(), String> {
    let below = crates(files)?;
    let mut floors: BTreeMap<usize, Vec<&String>> = BTreeMap::new();
    below.keys().for_each(|name| floors.entry(floor(name, &below)).or_default().push(name));
    let mut text = String::new();
    for (floor, name) in floors.iter().rev().flat_map(|(floor, all)| all.iter().map(move |one| (floor, one)))
    {
        let mut line = format!("{floor}  {name:<12}");
        for one in &below[*name] {
            if line.len() + one.len() > 78 {
                let _ = writeln!(text, "{line}");
                line = " ".repeat(15);
            }
            line = format!("{line} {one}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str("\ncircles across folders:\n");
    for (name, folders) in circles(files)? {
        let _ = writeln!(text, "   {name:<12} {}", folders.join(", "));
    }
    // A reader may have gone.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

/// The number of folders in circles with others.
///
/// # Errors
/// As [`run`].
pub(crate) fn in_circles(files: &[String]) -> Result<usize, String> {
    Ok(circles(files)?.iter().map(|(_, folders)| folders.len()).sum())
}

/// Each crate with the crates of the workspace that it depends on.
fn crates(files: &[String]) -> Result<Arrows, String> {
    let mut all = Arrows::new();
    for path in files.iter().filter(|path| path.ends_with("/Cargo.toml")) {
        let Some(name) = path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let own = text.split("\n[").find(|part| part.starts_with("dependencies]")).unwrap_or_default();
        let names = own.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        let ours = names.filter_map(|one| one.strip_prefix("strata-").or((one == "specc").then_some(one)));
        all.insert(name.to_owned(), ours.map(str::to_owned).collect());
    }
    Ok(all)
}

/// One more than the highest floor below; the lowest is 0.
fn floor(name: &str, below: &Arrows) -> usize {
    below.get(name).into_iter().flatten().map(|one| floor(one, below) + 1).max().unwrap_or(0)
}

/// The circles with more than one folder, by crates.
fn circles(files: &[String]) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut sources: BTreeMap<&str, Vec<(Vec<&str>, String)>> = BTreeMap::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        let Some((name, inner)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        else {
            continue;
        };
        let inner = inner.trim_end_matches(".rs").trim_end_matches("/mod");
        let is_apart = |part: &str| ["bin", "main", "tests"].contains(&part);
        if !inner.split('/').any(is_apart) {
            let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            sources.entry(name).or_default().push((inner.split('/').collect(), text));
        }
    }
    let mut found = Vec::new();
    for (name, sources) in sources {
        let folders: BTreeSet<&str> =
            sources.iter().filter(|(path, _)| path.len() > 1).map(|(path, _)| path[0]).collect();
        let is_folder = |module: &String| folders.contains(module.as_str());
        let reached = reached(arrows(&sources));
        let mut seen = BTreeSet::new();
        for module in reached.keys() {
            let circle = reached[module].iter().filter(|other| reached[*other].contains(module));
            let circle: Vec<String> = circle.filter(|other| is_folder(other)).cloned().collect();
            if circle.len() > 1 && seen.insert(circle.clone()) {
                found.push((name.to_owned(), circle));
            }
        }
    }
    Ok(found)
}

/// Which module at the root names which, by the files of a crate: paths of modules, and texts.
fn arrows(sources: &[(Vec<&str>, String)]) -> Arrows {
    let modules: BTreeSet<&str> =
        sources.iter().map(|(path, _)| path[0]).filter(|one| *one != "lib").collect();
    // What the root exports is its module's.
    let root = sources.iter().find(|(path, _)| path[..] == ["lib"]).map_or("", |(_, text)| text);
    let mut exported = BTreeMap::new();
    let tokens = tokens(root);
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| **token == "use") {
        if let [module, ":", ":", rest @ ..] = &tokens[at + 1..]
            && modules.contains(module)
        {
            exported.extend(named(rest).into_iter().map(|name| (name, *module)));
        }
    }
    let mut all: Arrows = modules.iter().map(|module| ((*module).to_owned(), BTreeSet::new())).collect();
    for (path, text) in sources.iter().filter(|(path, _)| path[..] != ["lib"]) {
        // Tests stand at the end of a file.
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let tokens = self::tokens(code);
        let mut at = 0;
        while at < tokens.len() {
            let mut depth = if tokens[at] == "crate" { path.len() } else { 0 };
            let begin = at;
            while tokens[at..].starts_with(&["super", ":", ":"]) {
                (depth, at) = (depth + 1, at + 3);
            }
            at = if tokens[at..].starts_with(&["crate", ":", ":"]) { at + 3 } else { at.max(begin) };
            if at > begin && depth == path.len() {
                let names = named(&tokens[at..]).into_iter();
                let targets = names.filter_map(|name| modules.get(name).or_else(|| exported.get(name)));
                let targets = targets.filter(|module| **module != path[0]).map(|one| (*one).to_owned());
                all.entry(path[0].to_owned()).or_default().extend(targets);
            }
            at = at.max(begin + 1);
        }
    }
    all
}

/// The first name of a path, or those of a group `{a, b::c}`.
fn named<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let Some(("{", group)) = tokens.split_first().map(|(first, rest)| (*first, rest)) else {
        return tokens.first().copied().into_iter().collect();
    };
    let (mut depth, mut before, mut names) = (1, ",", Vec::new());
    for token in group {
        depth = depth + usize::from(*token == "{") - usize::from(*token == "}");
        if depth == 0 {
            break;
        }
        if depth == 1 && before == "," {
            names.push(*token);
        }
        before = token;
    }
    names
}

/// All that can be reached along arrows.
fn reached(mut arrows: Arrows) -> Arrows {
    loop {
        let farther = |to: &BTreeSet<String>| to.iter().flat_map(|one| &arrows[one]).cloned().collect();
        let next: Vec<BTreeSet<String>> = arrows.values().map(farther).collect();
        let before: usize = arrows.values().map(BTreeSet::len).sum();
        arrows.values_mut().zip(next).for_each(|(to, more)| to.extend(more));
        if arrows.values().map(BTreeSet::len).sum::<usize>() == before {
            return arrows;
        }
    }
}

/// The tokens of a source without blanks and comments. Strings are one token each.
pub(crate) fn tokens(source: &str) -> Vec<&str> {
    let mut at = 0;
    let all = tokenize(source, FrontmatterAllowed::No).map(|token| {
        let text = &source[at..at + token.len as usize];
        at += token.len as usize;
        (token.kind, text)
    });
    let meaning = all.filter(|(kind, _)| {
        !matches!(
            kind,
            TokenKind::Whitespace | TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
        )
    });
    meaning.map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_through_exports_groups_and_super() {
        let of = |sources: &[(&[&str], &str)]| {
            let sources: Vec<_> =
                sources.iter().map(|(path, text)| (path.to_vec(), (*text).to_owned())).collect();
            let reached = reached(arrows(&sources));
            reached["a"].contains("a")
        };
        let root: (&[&str], &str) = (&["lib"], "mod a; mod b; use std::fmt; pub use b::{inner::X, Thing};");
        for (in_a, back) in [
            ("use crate::b::X;", true),
            ("use crate::{c, b::X};", true),
            ("use super::super::b;", true),
            ("fn f() -> crate::Thing {}", true),
            ("fn f() -> crate::fmt::Error {}", false),
            ("use super::b::X;", false),
            ("// crate::b", false),
            ("use crate::{c::{b}};", false),
            ("#[cfg(test)]\nmod tests { use crate::b; }", false),
        ] {
            let b: (&[&str], &str) = (&["b"], "use super::a::inner::Y;");
            assert_eq!(of(&[root, (&["a", "inner"], in_a), b]), back, "{in_a}");
            assert!(!of(&[root, (&["a", "inner"], in_a), (&["b"], "")]), "{in_a}");
        }
    }

    #[test]
    fn a_crate_stands_above_all_that_it_names() {
        let below = |pairs: &[(&str, &[&str])]| -> Arrows {
            let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
            pairs.iter().map(|(name, all)| ((*name).to_owned(), set(all))).collect()
        };
        let all = below(&[("top", &["low", "mid"]), ("mid", &["low"]), ("low", &[])]);
        assert_eq!(["low", "mid", "top"].map(|name| floor(name, &all)), [0, 1, 2]);
    }
}
