//! Rule files of Open MPI: what is written, and what reading refuses.

use proptest::prelude::*;
use strata_interchange::rules::{
    Chosen, Collective, Kind, Range, Release, RuleFile, Tree, openmpi, read_intel,
};

use crate::mpich::tree;

fn range(from: u64, to: u64, algorithm: &str, parameters: &[(&str, i64)]) -> Range {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Range {
        from,
        to,
        algorithm: algorithm.to_owned(),
        parameters,
        note: ": 1.30 times as fast (1.10 to 1.54)".into(),
    }
}

fn chosen(collective: &str, processes: u64, ranges: Vec<Range>) -> Chosen {
    Chosen { collective: collective.to_owned(), processes, ranges }
}

/// Choices of three collectives, out of order.
fn some() -> Vec<Chosen> {
    vec![
        chosen(
            "bcast",
            4,
            vec![
                range(2048, 65_536, "pipeline", &[("segment", 16_384)]),
                range(65_536, 1_048_577, "chain", &[]),
            ],
        ),
        chosen("allreduce", 4, vec![range(4, 4096, "recursive_doubling", &[])]),
        chosen("allreduce", 2, Vec::new()),
        chosen("alltoall", 2, vec![range(64, 1024, "linear_sync", &[])]),
        chosen("alltoall", 3, vec![range(1024, 4096, "pairwise", &[])]),
        chosen("barrier", 4, vec![range(0, u64::MAX, "tree", &[])]),
    ]
}

fn read(text: &str, release: Release) -> Result<RuleFile, String> {
    RuleFile::read(text.as_bytes(), "rules", release).map_err(|errors| errors.to_string())
}

fn classic() -> String {
    openmpi(&some(), Release::V4_1, &["of a test".to_owned()]).unwrap()
}

#[test]
fn files_are_written_as_libraries_read_them() {
    insta::assert_snapshot!("rules_classic", classic());
    insta::assert_snapshot!("rules_json", openmpi(&some(), Release::V6_0, &[]).unwrap());
}

#[test]
fn what_is_written_acts_where_it_was_chosen_and_nowhere_else() {
    for release in Release::ALL {
        let file = read(&openmpi(&some(), release, &[]).unwrap(), release).unwrap();
        let acts = |collective: &str, processes, size| {
            let rule = file.rule(collective, processes, size);
            rule.filter(|rule| rule.algorithm > 0).map(|rule| (rule.algorithm, rule.segment))
        };
        for (size, found) in
            [(2047, None), (2048, Some((3, 16_384))), (65_536, Some((2, 0))), (1_048_577, None)]
        {
            assert_eq!(acts("bcast", 4, size), found, "{release}: {size}");
        }
        for processes in [0, 1, 2, 3, 5, 8, 1000] {
            assert_eq!(acts("bcast", processes, 4096), None, "{release}: {processes}");
        }
        assert_eq!(acts("allreduce", 2, 64), None);
        // The sizes of rules are those of all processes together.
        assert_eq!(acts("alltoall", 2, 127), None);
        assert_eq!(acts("alltoall", 2, 128), Some((4, 0)));
        assert_eq!(acts("alltoall", 3, 3071), None);
        assert_eq!(acts("alltoall", 3, 3072), Some((2, 0)));
        assert_eq!(acts("barrier", 4, 0), Some((6, 0)));
    }
    for release in Release::ALL {
        let nothing = openmpi(&[], release, &[]).unwrap();
        let file = read(&nothing, release).unwrap();
        assert!(file.rule("allreduce", 4, 64).is_none(), "{nothing}");
        assert!(file.rule("barrier", 4, 0).is_none_or(|rule| rule.algorithm == 0), "{nothing}");
    }
}

#[test]
fn what_a_release_cannot_do_is_refused() {
    let with = |collective: &str, algorithm: &str, parameters: &[(&str, i64)], release| {
        openmpi(&[chosen(collective, 4, vec![range(0, 9, algorithm, parameters)])], release, &[]).unwrap_err()
    };
    let cases = [
        (with("allgather", "sparbit", &[], Release::V4_1), "it came with 5.0"),
        (with("reduce", "knomial", &[], Release::V5_0), "it came with 6.0"),
        (with("allreduce", "rabensiefner", &[], Release::V4_1), "`rabenseifner`"),
        (with("alreduce", "ring", &[], Release::V4_1), "`allreduce`"),
        (with("allgatherv", "ring", &[], Release::V4_1), "no collective for which rules are written"),
        (with("allreduce", "ring", &[("width", 4)], Release::V4_1), "a rule has only `fanout` and `segment`"),
        (with("allreduce", "ring", &[("segment", -4)], Release::V4_1), "below zero"),
        (with("allreduce", "auto", &[], Release::V4_1), "`auto` is no algorithm"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "{error}");
    }
    let twice = [some(), some()].concat();
    assert!(openmpi(&twice, Release::V4_1, &[]).unwrap_err().contains("comes twice"));
}

/// What ends a job, acts otherwise than it reads, or never acts.
#[test]
fn bad_files_are_refused_with_their_place() {
    let mut all = String::new();
    for line in include_str!("../rules.txt").lines().filter(|line| line.contains('|')) {
        let (head, text) = line.split_once('|').unwrap();
        let (release, collective) = head.split_once(' ').unwrap();
        let mut text = text.replace("\\n", "\n").replace("\\r", "\r");
        let kind: Kind = release.parse().unwrap();
        if kind == Kind::Mpich {
            let of = |part: &str| match part.split_once('>') {
                Some((name, rest)) if name.chars().all(|sign| sign.is_alphanumeric() || sign == '_') => {
                    format!("{{\"algorithm=MPIR_{name}\": {{}}}}{rest}")
                }
                _ => format!("<{part}"),
            };
            let mut parts = text.split('<');
            text = parts.next().unwrap_or_default().to_owned() + &parts.map(of).collect::<String>();
        }
        if !collective.is_empty() {
            text = tree(&[(collective, &text)]);
        }
        let read = match kind {
            Kind::OpenMpi(release) => RuleFile::read(text.as_bytes(), "rules", release).map(drop),
            Kind::Mpich => Tree::read(text.as_bytes(), "rules").map(drop),
            Kind::Intel => read_intel(text.as_bytes(), "rules").map(drop),
        };
        all += &format!("{line}\n    {}\n", read.err().map_or("reads".into(), |why| why.to_string()));
    }
    insta::assert_snapshot!(all);
    let error = RuleFile::read(b"1\n\xff", "rules", Release::V4_1).unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
}

#[test]
fn a_fifth_number_is_read_where_the_file_allows_it() {
    let text = "rule-file-version-2\n1\n3\n1\n4\n2\n0 1 0 0\n4096 4 0 0 8\n";
    let file = read(text, Release::V4_1).unwrap();
    assert_eq!(file.rule("alltoall", 4, 4096).unwrap().algorithm, 4);
    // Open MPI takes the first block for smaller communicators, too.
    assert_eq!(file.rule("alltoall", 2, 0).unwrap().algorithm, 1);
}

#[test]
fn a_number_too_many_or_too_few_is_found_everywhere() {
    let text = classic();
    let body: String =
        text.lines().map(|line| line.split('#').next().unwrap_or_default().to_owned() + "\n").collect();
    let places: Vec<(usize, usize)> = {
        let mut places = Vec::new();
        let mut from = None;
        for (at, byte) in body.bytes().enumerate() {
            match (byte.is_ascii_digit(), from) {
                (true, None) => from = Some(at),
                (false, Some(start)) => {
                    places.push((start, at));
                    from = None;
                }
                _ => {}
            }
        }
        places
    };
    assert!(places.len() > 80);
    for (from, to) in places {
        let fewer = format!("{}{}", &body[..from], &body[to..]);
        assert!(read(&fewer, Release::V4_1).is_err(), "without {from}..{to}:\n{fewer}");
        let more = format!("{} {}", &body[..to], &body[from..]);
        assert!(read(&more, Release::V4_1).is_err(), "twice {from}..{to}:\n{more}");
    }
}

/// Choices that can be written: ranges that rise.
fn choices() -> impl Strategy<Value = Vec<Chosen>> {
    let names = prop::sample::select(vec!["allreduce", "bcast", "reduce", "allgather", "alltoall", "gather"]);
    let cuts = prop::collection::btree_set(0..1_000_000_u64, 0..8);
    let one = (names, 2..40_u64, cuts, any::<u64>());
    prop::collection::vec(one, 0..6).prop_map(|all| {
        let mut kept: Vec<Chosen> = Vec::new();
        for (name, processes, cuts, mut random) in all {
            if kept.iter().any(|known| known.collective == name && known.processes == processes) {
                continue;
            }
            let algorithms: Vec<&str> =
                Collective::named(name).unwrap().known(Release::V4_1).map(|(_, name)| name).collect();
            let cuts: Vec<u64> = cuts.into_iter().collect();
            let ranges = cuts.chunks_exact(2).map(|pair| {
                random = random.rotate_left(7);
                range(pair[0], pair[1], algorithms[random as usize % algorithms.len()], &[])
            });
            kept.push(chosen(name, processes, ranges.collect()));
        }
        kept
    })
}

proptest! {
    #[test]
    fn a_written_file_reads_back_as_what_was_chosen(all in choices(), processes in 1..41_u64, bytes in 0..1_000_001_u64) {
        for release in [Release::V4_1, Release::V6_0] {
            let text = openmpi(&all, release, &[]).unwrap();
            let file = read(&text, release).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            for name in ["allreduce", "bcast", "reduce", "allgather", "alltoall", "gather"] {
                let of = Collective::named(name).unwrap();
                let own = all.iter().find(|one| one.collective == name && one.processes == processes);
                let range = own.and_then(|one| one.ranges.iter().find(|range| range.from <= bytes && bytes < range.to));
                let wanted = range.map_or(0, |range| of.algorithm(&range.algorithm, release).unwrap());
                let found = file.rule(name, processes, of.compared(bytes, processes)).map_or(0, |rule| rule.algorithm);
                prop_assert_eq!(found, wanted, "{} on {} by {}:\n{}", name, processes, bytes, text);
            }
        }
    }

    #[test]
    fn no_text_causes_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), numbers in "[0-9 \\n#-]{0,200}") {
        for release in Release::ALL {
            let _ = RuleFile::read(&bytes, "rules", release);
            let _ = read(&numbers, release);
        }
    }

    #[test]
    fn no_json_causes_a_panic(inner in "[\\[\\]{}:,\"a-z_0-9 ]{0,80}") {
        let text = format!("{{\"rule_file_version\":3,\"module\":\"tuned\",\"collectives\":{{\"allreduce\":{inner}}}}}");
        let _ = read(&text, Release::V6_0);
    }
}
