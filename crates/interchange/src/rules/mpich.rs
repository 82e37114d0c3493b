//! Decision trees by which MPICH chooses the algorithms of collectives, checked and written.
//!
//! A file of `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE` replaces all that the library knows: of a
//! collective that it lacks the first call ends the job. So rules are written into the release's own
//! tree (`maint/tuning/coll/mpir/generic.json` of its sources), a copy of which decides wherever no
//! rule acts. The order of keys is the order of questions.
//!
//! Source: MPICH 4.0.2, `src/mpi/coll/src/csel.c`; what ends a job was tried with it.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use strata_model::did_you_mean;
use strata_model::mpich::{ALGORITHMS, Algorithm, COLLECTIVES, Collective, Needs, RELEASE};

use super::{Chosen, Range};
use crate::place::{Problems, byte_of, offset, utf8};
use strata_model::samples::SamplesErrors;

/// The greatest number that the library keeps.
const LARGEST: u64 = i32::MAX as u64;

/// So many objects inside each other the library reads (`json_tokener_parse`).
const DEEPEST: usize = 32;

/// The library maps the file and takes it for a string, which ends only where the last page has
/// bytes to spare.
const PAGE: usize = 4096;

/// A question or an algorithm, with what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Branch {
    key: String,
    /// Where it stands in its file.
    at: usize,
    then: Vec<Branch>,
}

impl Branch {
    fn new(key: impl Into<String>, then: Vec<Self>) -> Self {
        Self { key: key.into(), at: 0, then }
    }

    fn algorithm(&self) -> Option<&str> {
        self.key.strip_prefix("algorithm=")
    }
}

/// A decision tree of MPICH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    collectives: Vec<Branch>,
}

/// An object as it stands: keys in order, each with the text of its value.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
                    all.push(member);
                }
                Ok(Members(all))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// What a key asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks<'k> {
    /// A value against a number: what, the least value above.
    Below(&'k str, u64),
    /// A question without a number that needs something behind it.
    Partly(&'k str),
    /// One of two answers, or of a few: what, and which.
    Answer(&'k str, &'k str),
    /// All that remains.
    Any,
}

/// `None` if the library does not know the key; an error if its number is none.
fn asks(key: &str) -> Option<Result<Asks<'_>, String>> {
    // Behind `<` the library reads a number, whatever stands there.
    let is_any = |name: &str| !name.ends_with('<') && name != "collective";
    if key == "any" || key.strip_suffix("=any").is_some_and(is_any) {
        return Some(Ok(Asks::Any));
    }
    if matches!(key, "count<pow2" | "comm_size=pow2" | "comm_size=node_comm_size") {
        return Some(Ok(Asks::Partly(key)));
    }
    let answers: &[(&str, &[&str])] = &[
        ("comm_type", &["intra", "inter"]),
        ("comm_hierarchy", &["parent", "node_roots", "node", "flat"]),
        ("is_multi_threaded", &["yes", "no"]),
        ("is_commutative", &["yes", "no"]),
        ("is_sendbuf_inplace", &["yes", "no"]),
        ("is_op_built_in", &["yes", "no"]),
        ("is_block_regular", &["yes", "no"]),
        ("is_node_consecutive", &["yes", "no"]),
    ];
    if let Some((name, value)) = key.split_once('=').filter(|(name, _)| !name.ends_with('<')) {
        let (name, known) = answers.iter().find(|(known, _)| *known == name)?;
        return known.contains(&value).then_some(Ok(Asks::Answer(name, value)));
    }
    let (name, rest) = key.split_once('<')?;
    let (number, more) = rest.strip_prefix('=').map_or((rest, 0), |number| (number, 1));
    let is_known = match name {
        "count" => more == 1,
        "comm_size" | "comm_avg_ppn" | "avg_msg_size" | "total_msg_size" => true,
        _ => false,
    };
    if !is_known {
        return None;
    }
    let is_plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some(match number.parse::<u64>().ok().filter(|number| is_plain && *number <= LARGEST) {
        Some(number) => Ok(Asks::Below(name, number + more)),
        None => {
            Err(format!("`{number}` is no number from 0 to {LARGEST}, and the library takes another one"))
        }
    })
}

impl Tree {
    /// Reads a tree and checks it as MPICH 4.0 would, but for what ends a job there, which are errors
    /// here.
    ///
    /// # Errors
    /// Each with line and column: text that is no JSON, unknown questions, collectives and
    /// algorithms, questions that a collective does not answer, numbers beyond 31 bits, branches
    /// that are never reached, calls that no branch is for, and collectives that are missing.
    pub fn read(bytes: &[u8], file_name: &str) -> Result<Self, SamplesErrors> {
        let text = utf8(bytes, file_name)?;
        let mut problems = Problems::new(file_name, text);
        let collectives = match serde_json::from_str::<Members<'_>>(text) {
            Ok(members) => branches(text, members, 0, &mut problems),
            Err(error) => {
                let at = byte_of(text, error.line(), error.column());
                problems.push(at, format!("this is not a tree of MPICH in JSON: {error}"));
                Vec::new()
            }
        };
        if problems.is_empty() {
            check(&collectives, &mut problems);
        }
        if problems.is_empty() { Ok(Self { collectives }) } else { Err(problems.errors()) }
    }

    /// The names of the collectives, in the order of the file.
    pub fn collectives(&self) -> impl Iterator<Item = &str> {
        self.collectives.iter().filter_map(|branch| branch.key.strip_prefix("collective="))
    }

    /// The number of algorithms that it ends in.
    #[must_use]
    pub fn leaves(&self) -> usize {
        fn of(branches: &[Branch]) -> usize {
            branches.iter().map(|one| if one.algorithm().is_some() { 1 } else { of(&one.then) }).sum()
        }
        of(&self.collectives)
    }

    /// This tree with rules: the algorithm that was chosen for a size, and elsewhere what the tree
    /// says.
    ///
    /// # Errors
    /// A message: a library is no collective that can have rules, MPICH has no such algorithm, or it
    /// cannot be taken on so many processes, a size is beyond 31 bits, or a choice comes twice.
    pub fn with_rules(&self, chosen: &[Chosen]) -> Result<String, String> {
        let mut tree = self.clone();
        let mut names: Vec<&str> = chosen.iter().map(|one| one.collective.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let mut own: Vec<&Chosen> = chosen.iter().filter(|one| one.collective == name).collect();
            own.sort_by_key(|one| one.processes);
            if let Some(twice) = own.windows(2).find(|pair| pair[0].processes == pair[1].processes) {
                let count = twice[0].processes;
                return Err(format!("`{name}` on {count} processes comes twice: name each measurement once"));
            }
            let key = format!("collective={name}");
            let of_calls = tree.collectives.iter_mut().find(|branch| branch.key == key);
            let inside =
                of_calls.and_then(|one| one.then.iter_mut().find(|one| one.key == "comm_type=intra"));
            let Some(inside) = inside else {
                return Err(format!(
                    "the tree does not ask `comm_type=intra` of {name}, where rules would stand"
                ));
            };
            let library = inside.then.clone();
            let mut then = Vec::new();
            let mut next = 0;
            for one in own.into_iter().filter(|one| !one.ranges.is_empty()) {
                let processes = one.processes;
                if processes > next {
                    then.push(Branch::new(format!("comm_size<{processes}"), library.clone()));
                }
                then.push(Branch::new(format!("comm_size<={processes}"), sizes(one, &library)?));
                next = processes + 1;
            }
            if next > 0 {
                then.push(Branch::new("comm_size=any", library));
                inside.then = then;
            }
        }
        let mut text = String::new();
        write(&tree.collectives, 0, &mut text);
        text.push('\n');
        if text.len().is_multiple_of(PAGE) {
            text.push('\n');
        }
        Ok(text)
    }
}

/// The members of an object as branches.
fn branches(text: &str, members: Members<'_>, depth: usize, problems: &mut Problems<'_>) -> Vec<Branch> {
    let mut all: Vec<Branch> = Vec::new();
    for (key, value) in members.0 {
        let from = offset(text, value.get());
        let at = text[..from].rfind(&format!("\"{key}\"")).map_or(from, |at| at + 1);
        // The library takes no notice of blanks in keys.
        let key: String = key.chars().filter(|letter| !letter.is_whitespace()).collect();
        if all.iter().any(|known| known.key == key) {
            problems.push(at, format!("`{key}` stands here twice: the library keeps one of them"));
        }
        let then = match serde_json::from_str::<Members<'_>>(value.get()) {
            Ok(inner) if depth + 1 < DEEPEST => branches(text, inner, depth + 1, problems),
            Ok(_) => {
                problems.push(at, format!("objects are nested deeper than {DEEPEST}"));
                Vec::new()
            }
            Err(_) => {
                problems.push(at, format!("what follows `{key}` is no object, and the library ends the job"));
                Vec::new()
            }
        };
        all.push(Branch { key, at, then });
    }
    all
}

fn check(collectives: &[Branch], problems: &mut Problems<'_>) {
    for branch in collectives {
        let name = branch.key.strip_prefix("collective=");
        let found = name.and_then(|name| COLLECTIVES.iter().find(|one| one.name == name));
        match (name, found) {
            (_, Some(of)) => check_branches(branch, of, Guards::default(), problems),
            (Some(name), None) => {
                let meant = did_you_mean(name, COLLECTIVES.iter().map(|one| one.name));
                problems.push(
                    branch.at,
                    format!("MPICH {RELEASE} has no collective `{name}`{meant}, and ends the job"),
                );
            }
            (None, None) => {
                let message =
                    format!("`{}` where `collective=…` is expected: the library ends the job", branch.key);
                problems.push(branch.at, message);
            }
        }
    }
    let is_there =
        |name: &str| collectives.iter().any(|one| one.key.strip_prefix("collective=") == Some(name));
    let missing: Vec<&str> = COLLECTIVES.iter().map(|one| one.name).filter(|name| !is_there(name)).collect();
    if !missing.is_empty() && problems.is_empty() {
        let few = missing.iter().take(4).copied().collect::<Vec<_>>().join(", ");
        let more = if missing.len() > 4 { format!(" and {} more", missing.len() - 4) } else { String::new() };
        problems.push(
            0,
            format!(
                "the file replaces all that the library knows, and has nothing for {few}{more}: their first call ends \
                 the job. Write rules into the release's own tree (`export --base`)"
            ),
        );
    }
}

/// What an algorithm needs. Those that are not measured need nothing that is known, but for a
/// reduction that first shares the elements out.
fn needs(of: &Collective, algorithm: &str) -> Needs {
    let row = ALGORITHMS.iter().find(|row| row.collective == of.name && row.algorithm == algorithm);
    match row {
        Some(row) => row.needs,
        None if (of.name, algorithm) == ("reduce", "intra_reduce_scatter_gather") => Needs::Elements,
        None => Needs::Nothing,
    }
}

/// What the questions before have told of a call; `None` is not known.
#[derive(Clone, Copy)]
struct Guards {
    is_built_in: Option<bool>,
    is_in_place: Option<bool>,
    /// Of one group of processes, not between two.
    is_intra: Option<bool>,
    /// At least as many elements as the greatest power of two up to the number of processes.
    has_elements: bool,
    is_power_of_two: bool,
    /// The least and the greatest number of processes.
    processes: (u64, u64),
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            is_built_in: None,
            is_in_place: None,
            is_intra: None,
            has_elements: false,
            is_power_of_two: false,
            processes: (1, LARGEST),
        }
    }
}

impl Guards {
    /// What is known where a question is answered by yes, and where by no.
    fn ask(self, asked: Asks<'_>) -> (Self, Self) {
        let (mut yes, mut no) = (self, self);
        match asked {
            Asks::Answer("is_op_built_in", value) => {
                (yes.is_built_in, no.is_built_in) = (Some(value == "yes"), Some(value != "yes"));
            }
            Asks::Answer("is_sendbuf_inplace", value) => {
                (yes.is_in_place, no.is_in_place) = (Some(value == "yes"), Some(value != "yes"));
            }
            Asks::Answer("comm_type", value) => {
                (yes.is_intra, no.is_intra) = (Some(value == "intra"), Some(value != "intra"));
            }
            Asks::Partly("count<pow2") => no.has_elements = true,
            Asks::Partly("comm_size=pow2") => yes.is_power_of_two = true,
            Asks::Below("comm_size", number) => {
                yes.processes.1 = self.processes.1.min(number.saturating_sub(1));
                no.processes.0 = self.processes.0.max(number);
            }
            _ => {}
        }
        (yes, no)
    }

    fn is_power_of_two(self) -> bool {
        let (least, most) = self.processes;
        // Two powers of two follow each other only in 1 and 2.
        self.is_power_of_two || most == 2 || least == most && least.is_power_of_two()
    }
}

/// What follows a branch.
fn check_branches(parent: &Branch, of: &Collective, guards: Guards, problems: &mut Problems<'_>) {
    let Some(last) = parent.then.last() else {
        let message = format!("nothing follows `{}`, and the library ends the job", parent.key);
        return problems.push(parent.at, message);
    };
    if let Some(place) = parent.then.iter().position(|one| one.key.starts_with("algorithm=")) {
        if parent.then.len() > 1 {
            let other = &parent.then[usize::from(place == 0)];
            problems.push(other.at, format!("`{}` stands beside an algorithm and is never asked", other.key));
        }
        return check_algorithm(&parent.then[place], of, guards, problems);
    }
    let before = problems.is_empty();
    let mut rest = guards;
    let mut known: Vec<Asks<'_>> = Vec::new();
    for branch in &parent.then {
        let Branch { key, at, .. } = branch;
        if key.starts_with("composition=") {
            let message = format!(
                "`{key}`: compositions belong into the file of MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE, and this one ends the job"
            );
            problems.push(*at, message);
            continue;
        }
        let asked = match asks(key) {
            Some(Ok(asked)) => asked,
            Some(Err(why)) => {
                problems.push(*at, format!("`{key}`: {why}"));
                continue;
            }
            None => {
                problems.push(*at, format!("MPICH {RELEASE} does not know `{key}`, and ends the job"));
                continue;
            }
        };
        if let Asks::Below(name, _) | Asks::Answer(name, _) | Asks::Partly(name) = asked {
            let name = name.split('<').next().unwrap_or(name);
            let is_of_call = COLLECTIVES.iter().any(|one| one.tests.contains(&name));
            if is_of_call && !of.tests.contains(&name) {
                let has = of.tests.join(", ");
                let has = if has.is_empty() { String::new() } else { format!("; it has {has}") };
                problems.push(
                    *at,
                    format!("{} has no `{name}` in MPICH: its first call ends the job{has}", of.name),
                );
            }
        }
        let is_dead = known.iter().any(|earlier| match (*earlier, asked) {
            (Asks::Any, _) => true,
            (Asks::Below(one, below), Asks::Below(other, this)) => one == other && this <= below,
            _ => false,
        });
        if is_dead {
            problems.push(*at, format!("`{key}` is never reached: what stands before it covers it"));
        }
        let inside;
        (inside, rest) = rest.ask(asked);
        known.push(asked);
        check_branches(branch, of, inside, problems);
    }
    // What the last question leaves over has no algorithm.
    let is_whole = match known.last() {
        Some(Asks::Any) => true,
        Some(Asks::Answer(name, value)) => known.iter().any(|one| match one {
            Asks::Answer(other, earlier) if other == name && *name == "comm_hierarchy" => {
                (*earlier == "parent") != (*value == "parent")
            }
            Asks::Answer(other, earlier) => other == name && earlier != value,
            _ => false,
        }),
        _ => false,
    };
    if !is_whole && before && problems.is_empty() {
        let name = last.key.split(['=', '<']).next().unwrap_or_default();
        problems.push(
            last.at,
            format!(
                "a call that `{}` leaves over has no algorithm and ends the job: `{name}=any` must follow",
                last.key
            ),
        );
    }
}

fn check_algorithm(branch: &Branch, of: &Collective, guards: Guards, problems: &mut Problems<'_>) {
    let name = branch.algorithm().unwrap_or_default();
    if let Some(own) = of.algorithms.iter().find(|own| of.full(own) == name) {
        if let Some(why) = misplaced(of, own, guards) {
            problems.push(branch.at, format!("`{name}` {why}"));
        }
        return;
    }
    let all: Vec<String> = of.algorithms.iter().map(|own| of.full(own)).collect();
    let other = COLLECTIVES.iter().find(|one| one.algorithms.iter().any(|own| one.full(own) == name));
    let why = match other {
        Some(other) => format!(
            "`{name}` is an algorithm of {}, not of {}: the first call ends the job",
            other.name, of.name
        ),
        None => {
            let meant = did_you_mean(name, all.iter().map(String::as_str));
            format!("MPICH {RELEASE} has no {} by `{name}`{meant}, and ends the job", of.name)
        }
    };
    problems.push(branch.at, format!("{why}; it has {}", all.join(", ")));
}

/// Why an algorithm cannot stand where this is known of a call.
fn misplaced(of: &Collective, algorithm: &str, guards: Guards) -> Option<&'static str> {
    let has_inter = of.algorithms.iter().any(|own| own.starts_with("inter_"));
    if algorithm.starts_with("inter_") && guards.is_intra != Some(false) {
        return Some(
            "is for calls between two groups of processes and ends the job elsewhere: it must stand behind \
             `comm_type=inter`",
        );
    }
    // Some collectives are not called between groups, though the library's own tree says what then.
    if algorithm.starts_with("intra_") && has_inter && guards.is_intra == Some(false) {
        return Some(
            "is for calls in one group of processes and ends the job here: it must stand behind `comm_type=intra`",
        );
    }
    match needs(of, algorithm) {
        Needs::Elements if guards.is_built_in != Some(true) || !guards.has_elements => Some(
            "ends the job where there are fewer elements than processes, and takes MPI's own operations alone: it \
             must stand behind `is_op_built_in=yes` and, after `count<pow2`, `count=any`",
        ),
        Needs::PowerOfTwo if !guards.is_power_of_two() => Some(
            "takes a power of two of processes alone: it must stand behind `comm_size=pow2`, or sizes between \
             which is only such a number",
        ),
        Needs::TwoBuffers if guards.is_in_place != Some(false) => {
            Some("cannot work in place: it must stand behind `is_sendbuf_inplace=no`")
        }
        _ => None,
    }
}

/// The branches of one number of processes, by size.
fn sizes(chosen: &Chosen, library: &[Branch]) -> Result<Vec<Branch>, String> {
    let Chosen { collective, processes, ranges } = chosen;
    let of = COLLECTIVES.iter().find(|one| one.name == collective);
    let tests = of.map_or(&[][..], |of| &of.tests[..]);
    let (key, unit) = match () {
        () if tests.contains(&"avg_msg_size") => ("avg_msg_size", 1),
        () if tests.contains(&"total_msg_size") => ("total_msg_size", *processes),
        () => return Err(format!("MPICH's files have no sizes of {collective}")),
    };
    let compared = |bytes: u64| bytes.checked_mul(unit).filter(|bytes| *bytes <= LARGEST);
    let mut then = Vec::new();
    let mut next = 0;
    for range in ranges {
        let too_large = || format!("{collective}: a size of {} bytes is more than MPICH keeps", range.from);
        let from = compared(range.from).ok_or_else(too_large)?;
        if from > next {
            then.push(Branch::new(format!("{key}<{from}"), library.to_vec()));
        }
        let rule = rule(range, of, *processes, library)?;
        match compared(range.to) {
            Some(to) => {
                then.push(Branch::new(format!("{key}<{to}"), rule));
                next = to;
            }
            None => {
                then.push(Branch::new(format!("{key}=any"), rule));
                return Ok(then);
            }
        }
    }
    then.push(Branch::new(format!("{key}=any"), library.to_vec()));
    Ok(then)
}

/// An algorithm where it can be taken; elsewhere what the library takes.
fn rule(
    range: &Range,
    of: Option<&Collective>,
    processes: u64,
    library: &[Branch],
) -> Result<Vec<Branch>, String> {
    let collective = of.map_or("", |of| of.name);
    let row = Algorithm::named(collective, &range.algorithm)?;
    if let Some((name, _)) = range.parameters.first() {
        return Err(format!("`{}` has a parameter `{name}`, but the rules of MPICH have none", row.name));
    }
    let full = of.map_or_else(String::new, |of| of.full(row.algorithm));
    let leaf = vec![Branch::new(format!("algorithm={full}"), Vec::new())];
    let library = library.to_vec();
    Ok(match row.needs {
        Needs::Nothing => leaf,
        Needs::PowerOfTwo if processes.is_power_of_two() => leaf,
        Needs::PowerOfTwo => {
            return Err(format!(
                "MPICH has {collective} by `{}` for powers of two only, not on {processes}",
                row.name
            ));
        }
        Needs::TwoBuffers => {
            vec![Branch::new("is_sendbuf_inplace=yes", library), Branch::new("is_sendbuf_inplace=no", leaf)]
        }
        Needs::Elements => vec![
            Branch::new(
                "is_op_built_in=yes",
                vec![Branch::new("count<pow2", library.clone()), Branch::new("count=any", leaf)],
            ),
            Branch::new("is_op_built_in=no", library),
        ],
    })
}

/// JSON, an indented line for each branch; keys hold no character that JSON escapes.
fn write(branches: &[Branch], depth: usize, text: &mut String) {
    if branches.is_empty() {
        return text.push_str("{}");
    }
    text.push('{');
    for (number, branch) in branches.iter().enumerate() {
        text.push_str(if number > 0 { ",\n" } else { "\n" });
        text.extend(std::iter::repeat_n("  ", depth + 1));
        text.push_str(&serde_json::Value::from(&*branch.key).to_string());
        text.push_str(": ");
        write(&branch.then, depth + 1, text);
    }
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
    text.push('}');
}
