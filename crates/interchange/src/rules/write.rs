//! Rule files of Open MPI, written.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{AUTO, Chosen, Collective, Range, Release, Size};

/// The branches of `chain`, as long as `coll_tuned_bcast_algorithm_chain_fanout` is unset.
const CHAINS: u64 = 4;

/// The rules of a communicator size: from, algorithm's number, fan-out, segment, remark.
struct Line<'a> {
    from: u64,
    /// The least size above.
    to: u64,
    algorithm: u64,
    name: &'a str,
    fanout: u64,
    segment: u64,
    note: &'a str,
}

/// The rules as a file for a release of Open MPI: the classic form, from 6.0 on JSON. `header` are
/// lines of a comment; JSON has none.
///
/// A classic file acts on every communicator at least as large as a size that it lists. So sizes
/// with rules are followed by one that leaves all to the library.
///
/// # Errors
/// A message: a library is no collective that has rules, the release has no such algorithm, or a
/// parameter is none that a rule has (`fanout`, `segment`).
pub fn openmpi(chosen: &[Chosen], release: Release, header: &[String]) -> Result<String, String> {
    let mut all: Vec<(&Collective, u64, Vec<Line<'_>>)> = Vec::new();
    for one in chosen {
        let collective = Collective::named(&one.collective)?;
        let lines = one.ranges.iter().map(|range| line(range, one.processes, collective, release));
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        if all.iter().any(|(known, processes, _)| *known == collective && *processes == one.processes) {
            let (name, count) = (&one.collective, one.processes);
            return Err(format!("`{name}` on {count} processes comes twice: name each measurement once"));
        }
        if !lines.is_empty() {
            all.push((collective, one.processes, lines));
        }
    }
    all.sort_by_key(|(collective, processes, _)| (collective.number, *processes));
    let groups: Vec<&[_]> = all.chunk_by(|a, b| a.0 == b.0).collect();
    if release >= Release::V6_0 { Ok(json(&groups)) } else { Ok(classic(&groups, header)) }
}

fn line<'a>(
    range: &'a Range,
    processes: u64,
    collective: &Collective,
    release: Release,
) -> Result<Line<'a>, String> {
    if range.algorithm == AUTO {
        return Err(format!("`{AUTO}` is no algorithm"));
    }
    let algorithm = collective.algorithm(&range.algorithm, release)?;
    let mut line = Line {
        from: collective.compared(range.from, processes),
        to: collective.compared(range.to, processes),
        algorithm,
        name: collective.name_of(algorithm, release).unwrap_or_default(),
        fanout: 0,
        segment: 0,
        note: &range.note,
    };
    for (name, value) in &range.parameters {
        let to = match name.as_str() {
            "fanout" => &mut line.fanout,
            "segment" => &mut line.segment,
            _ => {
                return Err(format!(
                    "`{}` has a parameter `{name}`, but a rule has only `fanout` and `segment` (in bytes)",
                    range.algorithm
                ));
            }
        };
        *to = u64::try_from(*value).map_err(|_| format!("`{name}` is {value}, below zero"))?;
    }
    // Where a parameter forces a chain, it has four branches; where a rule does, as many as that says,
    // and one for 0.
    if line.name == "chain" && line.fanout == 0 {
        line.fanout = CHAINS;
    }
    if collective.size == Size::None {
        (line.from, line.to) = (0, u64::MAX);
    }
    Ok(line)
}

type Group<'g, 'a> = &'g [(&'g Collective, u64, Vec<Line<'a>>)];

fn classic(groups: &[Group<'_, '_>], header: &[String]) -> String {
    let mut text: String = header.iter().map(|line| format!("# {line}\n")).collect();
    if groups.is_empty() {
        // A file without any collective would be an error of the library.
        text += "# Nothing gains beyond the intervals: the library's own choices stay.\n";
        text +=
            "1  # collectives\n6  # barrier\n1  # communicator sizes\n1  # processes\n1  # rules\n0 0 0 0\n";
        return text;
    }
    let mut put = |value: String, what: &str| _ = writeln!(text, "{value:<22}# {what}");
    put(groups.len().to_string(), "collectives");
    for group in groups {
        let Some((collective, ..)) = group.first() else { continue };
        put(collective.number.to_string(), collective.name);
        // Each size, with its rules; without any the library decides.
        let mut sizes: Vec<(u64, Option<&[Line<'_>]>)> = vec![(1, None)];
        for (_, processes, lines) in *group {
            sizes.retain(|(size, _)| size != processes);
            sizes.push((*processes, Some(lines)));
            sizes.push((processes + 1, None));
        }
        put(sizes.len().to_string(), "communicator sizes");
        for (size, lines) in sizes {
            put(size.to_string(), if lines.is_some() { "processes" } else { "processes and more" });
            let mut rules: Vec<(String, String)> = Vec::new();
            let mut next = 0;
            for line in lines.unwrap_or_default() {
                if line.from > next {
                    rules.push((format!("{next} 0 0 0"), "as the library decides".to_owned()));
                }
                let Line { from, algorithm, fanout, segment, name, note, .. } = line;
                rules.push((format!("{from} {algorithm} {fanout} {segment}"), format!("{name}{note}")));
                next = line.to;
            }
            if next < u64::MAX {
                rules.push((format!("{next} 0 0 0"), "as the library decides".to_owned()));
            }
            put(rules.len().to_string(), "rules: bytes, algorithm, fan-out, segment");
            rules.iter().for_each(|(rule, what)| put(rule.clone(), what));
        }
    }
    text
}

fn json(groups: &[Group<'_, '_>]) -> String {
    let mut collectives = serde_json::Map::new();
    for group in groups {
        let Some((collective, ..)) = group.first() else { continue };
        let blocks = group.iter().map(|(_, processes, lines)| {
            let rules: Vec<Value> = lines.iter().map(json_rule).collect();
            json!({ "comm_size_min": processes, "comm_size_max": processes, "rules": rules })
        });
        collectives.insert(collective.name.to_owned(), Value::Array(blocks.collect()));
    }
    let document = json!({ "rule_file_version": 3, "module": "tuned", "collectives": collectives });
    format!("{document:#}\n")
}

fn json_rule(line: &Line<'_>) -> Value {
    let mut rule = json!({ "msg_size_min": line.from, "alg": line.name });
    rule["msg_size_max"] = match line.to {
        u64::MAX => json!("inf"),
        to => json!(to.saturating_sub(1)),
    };
    // `seg_size` is what the reader takes; Open MPI's own converter writes another name.
    if line.segment > 0 {
        rule["seg_size"] = json!(line.segment);
    }
    if line.fanout > 0 {
        rule["faninout"] = json!(line.fanout);
    }
    rule
}
