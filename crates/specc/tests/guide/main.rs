//! The guide in `docs/`: its specs are checked, its commands run, and every word of the language
//! has its place there.
//!
//! A fenced block says what it is: `spec` is checked as a whole file, `spec model` as statements of
//! a model; with a path behind (`rust src/main.rs`) the block is a file of the reader's package;
//! `console` holds commands after `$ ` and what they print, `console exact` to the last digit; `sh`
//! is a script, of which only the syntax is checked. Each page is played from an empty folder, beside which the clone of Strata
//! lies.

mod page;
mod player;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use page::{Block, blocks};
use player::Player;
use regex::Regex;
use specc::lang::load;
use strata_model::expr::{Function, KNEE, RESERVED};
use strata_model::platform::MACHINE;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The names and texts of all pages.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<_> = fs::read_dir(docs())
        .expect("docs/ is there")
        .filter_map(|entry| {
            let path = entry.expect("docs/ can be read").path();
            let name = path.file_name()?.to_str()?.to_owned();
            name.ends_with(".md").then(|| (name, fs::read_to_string(&path).expect("a page")))
        })
        .collect();
    pages.sort();
    pages
}

fn page(name: &str) -> String {
    fs::read_to_string(docs().join(name)).expect(name)
}

/// The specs of a page, each with the line at which it begins.
fn specs(page: &str) -> Vec<(usize, String)> {
    let whole = |Block { kind, line, text, .. }: Block<'_>| match kind {
        "spec" => Some((line, text)),
        "spec model" => {
            let input = if text.contains("for bytes") { "bytes" } else { "n" };
            // On the first line, so that places in errors are those of the page.
            Some((line, format!("model Example({input}) {{ {text}}}")))
        }
        _ => None,
    };
    blocks(page).into_iter().filter_map(whole).collect()
}

#[test]
fn every_spec_is_in_order() {
    let mut checked = 0;
    for (name, text) in pages() {
        for (line, spec) in specs(&text) {
            load(&format!("docs/{name}:{line}"), &spec).unwrap_or_else(|e| panic!("{}", e.render(false)));
            checked += 1;
        }
    }
    assert!(checked > 0);
}

/// Every word of the language, of `fit`, and every name that expressions know.
fn words() -> BTreeSet<String> {
    let grammar = include_str!("../../src/lang/grammar.pest").lines();
    let words = grammar.filter_map(|line| line.trim_end().strip_suffix("\" ~ !tail }")?.rsplit('"').next());
    let mut all: BTreeSet<String> = words.map(str::to_owned).collect();
    assert!(all.contains("once") && all.len() > 15, "{all:?}");
    let parts = |words: &[&str]| strata_fit::FitOptions::default().set(words).expect_err("no part").expected;
    for part in parts(&["?"]) {
        all.insert(part.to_owned());
        if ["robust", "weights", "eliminate", "search"].contains(&part) {
            all.extend(parts(&[part, "?"]).into_iter().map(str::to_owned));
        }
    }
    let functions = Function::ALL.iter().map(|function| function.name());
    all.extend(functions.chain(RESERVED).chain(MACHINE).chain([KNEE]).map(str::to_owned));
    all
}

fn without_comment(line: &str) -> String {
    format!("{}\n", line.split("//").next().unwrap_or_default())
}

#[test]
fn every_word_has_an_example() {
    let specs = specs(&page("spec-language.md"));
    let code: String = specs.iter().flat_map(|(_, spec)| spec.lines()).map(without_comment).collect();
    let is_used = |word: &String| Regex::new(&format!(r"\b{word}\b")).expect("a word").is_match(&code);
    let missing: Vec<String> = words().into_iter().filter(|word| !is_used(word)).collect();
    assert!(missing.is_empty(), "docs/spec-language.md has no example of {missing:?}");
}

/// Of every page and every manual of a crate.
#[test]
fn links_lead_to_files() {
    let root = docs().join("..");
    let crates =
        fs::read_dir(root.join("crates")).expect("crates/").filter_map(|entry| Some(entry.ok()?.path()));
    let folders = crates.chain([docs(), root.clone(), root.join("benches"), root.join("benches/figures")]);
    let folders = folders.chain(["own-library", "patterns"].map(|name| root.join("examples").join(name)));
    let link = Regex::new(r"\]\(([^)#:]+)(#[^)]*)?\)").expect("a pattern");
    let mut broken = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if entry.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&entry).expect("a page");
                let links = link.captures_iter(&text).map(|found| found[1].to_owned());
                broken.extend(
                    links.filter(|to| !folder.join(to).exists()).map(|to| format!("{entry:?}: {to}")),
                );
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_first_library_is_made_as_the_page_says() {
    Player::new().play("first-library.md", &page("first-library.md"));
}

/// As the page says, but with Strata from a repository instead of the clone beside the package.
#[test]
#[ignore = "compiles Strata once more: cargo test -p specc --test guide -- --ignored"]
fn a_first_library_is_made_with_strata_from_git() {
    // One place for all runs: cargo keeps a copy of every repository that it has seen.
    let clone = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide-strata.git");
    let _absent = fs::remove_dir_all(&clone);
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--bare"]).arg(docs().join("..")).arg(&clone);
    assert!(git.status().expect("git starts").success(), "the workspace is no repository");
    let page = page("first-library.md");
    let path = "--path ../strata/crates/select";
    assert!(page.contains(path));
    let page = page.replace(path, &format!("--git file://{}", clone.display()));
    Player::new().online().play("first-library.md", &page);
}

#[test]
fn a_package_in_fortran_says_what_is_missing_and_is_built_where_it_is_not() {
    let mut player = Player::new();
    let make = "$ cargo strata new --fortran counting\n…\n$ cd counting\n$ FC=none cargo test\n";
    player.play("none", &format!("```console\n{make}…cannot start none (…): install gfortran (…\n```\n"));
    if Command::new("gfortran").arg("--version").output().is_err() {
        println!("skipped: gfortran is not there");
        return;
    }
    player.play("none", "```console\n$ cargo test\n…all_ways_count_the_same … ok\n…\n```\n");
}

#[test]
fn the_other_pages_print_what_they_show() {
    for (name, text) in pages() {
        if name != "first-library.md" {
            Player::new().play(&name, &text);
        }
    }
}
