//! Thresholds as Rust that needs no crate.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use strata_model::codegen::{Scope, one_line, snake};
use strata_model::{Platform, grouped};

use super::super::kinds::Enums;
use super::body::Words;
use super::{LibraryThresholds, Rule, ThresholdInput, ThresholdWay, Thresholds, origin, with_json};

/// Thresholds of one machine or of several as Rust: for each library a module with a constant for
/// each place where the choice changes, `WAYS`, what can be chosen, and `choose`, which gives the
/// place among these.
///
/// Sets of several machines have a module each. Where their instruction sets differ, that of the
/// target is taken when it is compiled, and the first for others; else `choose` takes the machine,
/// which `machine(cpu, cores)` finds.
#[must_use]
pub fn rust(sets: &[Thresholds]) -> String {
    let mut text: String = origin(sets).iter().map(|line| format!("// {line}\n")).collect();
    let mut scope = Scope::default();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for library in sets.iter().flat_map(|set| &set.libraries) {
        if !done.insert(&library.library) {
            continue;
        }
        let mut all = Vec::new();
        for set in sets {
            let found = set.libraries.iter().find(|one| one.library == library.library);
            all.extend(found.map(|found| (found, set.platform.as_ref())));
        }
        // A name is in one set what it is in all.
        let kinds = sets.iter().flat_map(|set| set.kinds.clone()).collect();
        text += &module(&scope.claim(&snake(&library.library), &[""]), &all, &Enums::new(&kinds));
    }
    with_json(&text, sets)
}

/// A library, and where its thresholds were measured.
type Measured<'a> = (&'a LibraryThresholds, Option<&'a Platform>);

fn module(name: &str, all: &[Measured<'_>], enums: &Enums) -> String {
    let mut ways: Vec<ThresholdWay> = Vec::new();
    for way in all.iter().flat_map(|(one, _)| &one.ways) {
        if !ways.contains(way) {
            ways.push(way.clone());
        }
    }
    let Some((first, _)) = all.first() else { return String::new() };
    let mut body = format!(
        "/// What can be chosen: candidates with the values of their parameters.\n\
         pub const WAYS: [(&str, &[i64]); {}] = [\n",
        ways.len()
    );
    for way in &ways {
        let values: Vec<i64> = way.parameters.iter().map(|(_, value)| *value).collect();
        let _ = writeln!(body, "    ({:?}, &{values:?}),", one_line(&way.candidate));
    }
    body += "];\n";
    body.extend(first.inputs.iter().map(|input| enums.rust(&input.name)));
    match all {
        [(one, _)] => body += &rule(one, &ways, enums),
        several => body += &machines(several, &ways, enums),
    }
    format!(
        "\n/// {}.\n#[rustfmt::skip]\n#[allow(\n    clippy::all, clippy::pedantic, dead_code, unreachable_pub, unused_imports, unused_parens,\n    \
         reason = \"generated: who uses what is not known here\"\n)]\npub mod {name} {{\n{}}}\n",
        one_line(&first.title()),
        indented(&body)
    )
}

/// The modules of several machines, and what takes one of them.
fn machines(all: &[Measured<'_>], ways: &[ThresholdWay], enums: &Enums) -> String {
    let arches: BTreeSet<&str> = all.iter().filter_map(|(_, platform)| Some(&*(*platform)?.arch)).collect();
    let is_simulated = |(_, platform): &Measured<'_>| platform.is_some_and(Platform::is_simulated);
    let by_target = arches.len() == all.len() && !all.iter().any(is_simulated);
    let mut scope = Scope::with(&["choose", "machine"]);
    let classes = all.first().into_iter().flat_map(|(one, _)| &one.inputs);
    let classes = classes.filter_map(|input| enums.class(&input.name));
    let named_types: String = classes.map(|class| format!("use super::{class};\n")).collect();
    let mut named = Vec::new();
    let mut text = String::new();
    for (one, platform) in all {
        let wanted = match platform {
            Some(platform) if by_target => platform.arch.clone(),
            Some(platform) if platform.cores == 0 => platform.cpu.clone(),
            Some(platform) => format!("{} {} cores", platform.cpu, platform.cores),
            None => "measured".to_owned(),
        };
        let name = scope.claim(&squeezed(&snake(&wanted)), &[""]);
        let place = platform.map_or("an unknown machine".to_owned(), ToString::to_string);
        let _ = write!(
            text,
            "\n/// On {}.\npub mod {name} {{\n{}}}\n",
            one_line(&place),
            indented(&(named_types.clone() + &rule(one, ways, enums)))
        );
        named.push(name);
    }
    if by_target { text + &by_condition(all, &named) } else { text + &by_machine(all, &named, enums) }
}

/// What takes the module of the target: the one with most of its features, else the first.
fn by_condition(all: &[Measured<'_>], named: &[String]) -> String {
    let condition = |place: usize| {
        let arch = all[place].1.map_or("", |platform| &platform.arch);
        let (arch, features) = arch.split_once('+').unwrap_or((arch, ""));
        let features = features.split('+').filter(|feature| !feature.is_empty());
        let parts: Vec<String> = std::iter::once(format!("target_arch = {arch:?}"))
            .chain(features.map(|feature| format!("target_feature = {feature:?}")))
            .collect();
        (parts.len(), format!("all({})", parts.join(", ")))
    };
    let mut order: Vec<(usize, (usize, String))> =
        (0..all.len()).map(|place| (place, condition(place))).collect();
    order.sort_by_key(|(_, (parts, _))| std::cmp::Reverse(*parts));
    let mut text = String::from("\n");
    let mut before: Vec<String> = Vec::new();
    for (place, (_, condition)) in order {
        let others = before.join(", ");
        let condition_alone = match others.is_empty() {
            true => condition.clone(),
            false => format!("all({condition}, not(any({others})))"),
        };
        let _ = write!(text, "#[cfg({condition_alone})]\npub use self::{}::*;\n", named[place]);
        before.push(condition);
    }
    text + &format!("#[cfg(not(any({})))]\npub use self::{}::*;\n", before.join(", "), named[0])
}

/// `amd__epyc___9` as `amd_epyc_9`.
fn squeezed(name: &str) -> String {
    name.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

/// `MACHINES`, `machine` and the `choose` that takes one.
fn by_machine(all: &[Measured<'_>], named: &[String], enums: &Enums) -> String {
    let Some((first, _)) = all.first() else { return String::new() };
    let rows = all.iter().map(|(_, platform)| {
        let (cpu, cores) = platform.map_or(("", 0), |platform| (&*platform.cpu, platform.cores));
        format!("    ({:?}, {cores}),\n", one_line(cpu))
    });
    let mut text = format!(
        "\n/// The machines that were measured: processor and number of hardware threads.\n\
         pub const MACHINES: [(&str, usize); {}] = [\n{}];\n",
        all.len(),
        rows.collect::<String>()
    );
    text += "\n/// The place among `MACHINES` of the one that is most like this: with the same processor if\n\
             /// there is one, and then with the nearest number of hardware threads.\n\
             pub fn machine(cpu: &str, cores: usize) -> usize {\n    \
             let unlike = |(name, count): &(&str, usize)| (*name != cpu, count.abs_diff(cores));\n    \
             let mut nearest = 0;\n    for place in 1..MACHINES.len() {\n        \
             if unlike(&MACHINES[place]) < unlike(&MACHINES[nearest]) {\n            nearest = place;\n        }\n    }\n    \
             nearest\n}\n";
    let names = arguments(first);
    let declared: String = names
        .iter()
        .zip(&first.inputs)
        .map(|(name, input)| format!(", {name}: {}", typed(input, enums)))
        .collect();
    let _ = write!(
        text,
        "\n/// The place among `WAYS` of the one to take on one of `MACHINES`.\n#[inline]\n\
         pub const fn choose(machine: usize{declared}) -> usize {{\n    match machine {{\n"
    );
    for (place, ((one, _), name)) in all.iter().zip(named).enumerate() {
        let given: Vec<String> = names
            .iter()
            .zip(&one.inputs)
            .zip(&first.inputs)
            .map(|((name, own), shared)| match (kind(own), kind(shared)) {
                (own, shared) if own == shared => name.clone(),
                (own, _) => format!("{name} as {own}"),
            })
            .collect();
        let pattern = if place + 1 == all.len() { "_".to_owned() } else { place.to_string() };
        let _ = writeln!(text, "        {pattern} => {name}::choose({}),", given.join(", "));
    }
    text + "    }\n}\n"
}

/// The constants of a machine and its `choose`.
fn rule(one: &LibraryThresholds, ways: &[ThresholdWay], enums: &Enums) -> String {
    let place = |way: usize| ways.iter().position(|known| Some(known) == one.ways.get(way)).unwrap_or(0);
    let first = one.inputs.first().map_or("usize", kind);
    let kind = match &one.rule {
        Rule::Line { .. } => first,
        Rule::Table(_) if !one.is_whole() => "f64",
        Rule::Table(_) if one.inputs.iter().any(|input| input.low < 0.0) => "i64",
        Rule::Table(_) => "u64",
    };
    let mut text = String::new();
    let names = names(one);
    for (name, (from, step)) in names.iter().zip(one.chain()) {
        let interval = step.interval_text().map_or(String::new(), |text| format!(" // {text}"));
        let _ = write!(text, "\n/// `{}` below, `{}` from here on.\n", one.ways[from], one.ways[step.to]);
        let loss = step.loss_text();
        if !loss.is_empty() {
            let _ = writeln!(text, "///\n/// {}.", loss.replace("; ", ";\n/// "));
        }
        let _ = writeln!(text, "pub const {name}: {kind} = {};{interval}", number(step.at, kind));
    }
    if let Rule::Table(table) = &one.rule {
        let _ = write!(text, "\n// {}.\n", table.told().replace("; ", ";\n// "));
    }
    let words = Words {
        unused: "let _ = @;",
        truth: "(@) as usize",
        cells: "    const CELLS: [u8; @] = [\n",
        looked_up: "    ];\n    let mut at = 0;\n@    return CELLS[at] as usize;\n",
        way: &|way| place(way).to_string(),
        cell: &|way| place(way).to_string(),
        number: &|value| number(value, kind),
        unsigned: kind.starts_with('u'),
    };
    text + &choose_head(one, enums) + &words.body(&one.rule, &values(one, kind), &names) + "}\n"
}

/// The arguments as numbers of one type.
fn values(one: &LibraryThresholds, kind: &str) -> Vec<String> {
    let value = |(name, input): (String, &ThresholdInput)| match self::kind(input) {
        own if own == kind => name,
        _ => format!("({name} as {kind})"),
    };
    arguments(one).into_iter().zip(&one.inputs).map(value).collect()
}

fn choose_head(one: &LibraryThresholds, enums: &Enums) -> String {
    let declared = arguments(one).into_iter().zip(&one.inputs);
    let declared: Vec<String> =
        declared.map(|(name, input)| format!("{name}: {}", typed(input, enums))).collect();
    let numbers =
        arguments(one).into_iter().zip(&one.inputs).filter(|(_, input)| enums.count(&input.name) > 0);
    let numbers: String =
        numbers.map(|(name, input)| format!("    let {name} = {name} as u8 as {};\n", kind(input))).collect();
    format!(
        "\n/// The place among `WAYS` of the one to take. Measured with {}.\n#[inline]\n\
         pub const fn choose({}) -> usize {{\n{numbers}",
        one_line(&one.ranges()),
        declared.join(", ")
    )
}

fn arguments(one: &LibraryThresholds) -> Vec<String> {
    let mut scope = Scope::with(&["at", "machine", "choose"]);
    one.inputs.iter().map(|input| scope.claim(&snake(&input.name), &[""])).collect()
}

/// The names of the constants: the way that ends there, with its parameters where the candidate has
/// several ways.
fn names(one: &LibraryThresholds) -> Vec<String> {
    let mut scope = Scope::default();
    one.chain()
        .into_iter()
        .map(|(from, _)| {
            let way = &one.ways[from];
            let several = one.ways.iter().filter(|other| other.candidate == way.candidate).count() > 1;
            let name = if several { way.to_string().replace([':', '-'], "_") } else { way.candidate.clone() };
            scope.claim(&format!("{}_below", snake(&name)), &[""]).to_ascii_uppercase()
        })
        .collect()
}

fn typed(input: &ThresholdInput, enums: &Enums) -> String {
    enums.class(&input.name).unwrap_or_else(|| kind(input).to_owned())
}

/// The type of an input as a number.
fn kind(input: &ThresholdInput) -> &'static str {
    match input {
        ThresholdInput { whole: false, .. } => "f64",
        ThresholdInput { low, .. } if *low < 0.0 => "i64",
        // So that it fits targets of 32 bits.
        ThresholdInput { high, .. } if *high > f64::from(u32::MAX) => "u64",
        _ => "usize",
    }
}

fn number(value: f64, kind: &str) -> String {
    if kind == "f64" { format!("{value:?}") } else { grouped_whole(value) }
}

/// `1_184`, without an exponent however great it is.
fn grouped_whole(value: f64) -> String {
    if value.abs() < 1e15 { grouped(value, '_') } else { format!("{value:.0}") }
}

fn indented(text: &str) -> String {
    let text = text.trim_start_matches('\n');
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") };
    text.lines().map(line).collect()
}
