//! Rules for MPICH: trees that are written, and what reading refuses.

use std::fmt::Write as _;

use strata_interchange::rules::{Chosen, Range, Tree};
use strata_model::mpich::{ALGORITHMS, COLLECTIVES};

/// A whole tree: each collective by its first algorithm for calls in one group and between two, but
/// those of which something is said.
pub(crate) fn tree(other: &[(&str, &str)]) -> String {
    let mut text = String::from("{\n");
    for (number, of) in COLLECTIVES.iter().enumerate() {
        let leaf = |not: &str| {
            let own = of.algorithms.iter().find(|own| !own.starts_with(not)).unwrap_or(&of.algorithms[0]);
            format!("{{\"algorithm={}\": {{}}}}", of.full(own))
        };
        let (intra, inter) = (leaf("inter_"), leaf("intra_"));
        let inside = other.iter().find(|(name, _)| *name == of.name).map(|(_, inside)| (*inside).to_owned());
        let inside = inside
            .unwrap_or_else(|| format!("{{\"comm_type=intra\": {intra}, \"comm_type=inter\": {inter}}}"));
        let comma = if number > 0 { ",\n" } else { "" };
        write!(text, "{comma}\"collective={}\": {inside}", of.name).unwrap();
    }
    text + "\n}\n"
}

fn read(text: &str) -> Result<Tree, String> {
    Tree::read(text.as_bytes(), "tree").map_err(|errors| errors.to_string())
}

pub(crate) fn chosen(collective: &str, processes: u64, ranges: &[(u64, u64, &str)]) -> Chosen {
    let range = |(from, to, algorithm): &(u64, u64, &str)| Range {
        from: *from,
        to: *to,
        algorithm: (*algorithm).to_owned(),
        parameters: Vec::new(),
        note: ": 2 times as fast".to_owned(),
    };
    Chosen { collective: collective.to_owned(), processes, ranges: ranges.iter().map(range).collect() }
}

#[test]
fn rules_stand_in_the_library_s_tree() {
    let base = read(&tree(&[])).unwrap();
    let all = [
        chosen(
            "allreduce",
            4,
            &[(4, 2048, "recursive_doubling"), (4096, 65_536, "reduce_scatter_allgather")],
        ),
        chosen("allreduce", 8, &[(4, 1024, "nb")]),
        chosen("allreduce", 16, &[]),
        chosen("allgather", 3, &[(8, 1 << 40, "ring")]),
        chosen("alltoall", 2, &[(4, 64, "pairwise")]),
    ];
    let text = base.with_rules(&all).unwrap();
    let only: String = text
        .lines()
        .skip_while(|line| !line.contains("collective=allgather\""))
        .take_while(|line| !line.contains("collective=alltoallv"))
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!("rules_mpich", only);
    // What is written is read again, and means the same with nothing added.
    let again = read(&text).unwrap();
    assert_eq!(again.with_rules(&[]).unwrap(), text);
    assert_eq!(base.collectives().count(), COLLECTIVES.len());
}

#[test]
fn every_algorithm_that_is_measured_can_be_a_rule() {
    let base = read(&tree(&[])).unwrap();
    for row in &ALGORITHMS {
        let text = base.with_rules(&[chosen(row.collective, 4, &[(4, 1024, row.name)])]).unwrap();
        read(&text).unwrap_or_else(|why| panic!("{row:?}: {why}"));
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let base = read(&tree(&[])).unwrap();
    let refused = |all: &[Chosen], told: &str| {
        let why = base.with_rules(all).unwrap_err();
        assert!(why.contains(told), "{why}");
    };
    refused(
        &[chosen("allreduce", 4, &[(4, 8, "rabenseifner")])],
        "MPICH 4.0 has no allreduce by `rabenseifner`",
    );
    refused(&[chosen("allgather", 3, &[(4, 8, "recursive_doubling")])], "for powers of two only, not on 3");
    refused(
        &[chosen("gather", 4, &[(4, 8, "binomial")])],
        "no collective of which MPICH's algorithms are known",
    );
    refused(&[chosen("sort", 4, &[(4, 8, "radix")])], "does not ask `comm_type=intra` of sort");
    refused(&[chosen("bcast", 4, &[(1 << 33, 1 << 34, "nb")])], "more than MPICH keeps");
    let twice = || chosen("bcast", 4, &[(4, 8, "nb")]);
    refused(&[twice(), twice()], "`bcast` on 4 processes comes twice");
    let mut cut = twice();
    cut.ranges[0].parameters.push(("segment".to_owned(), 1024));
    refused(&[cut], "the rules of MPICH have none");
    let bare = read(&tree(&[("bcast", "{\"algorithm=MPIR_Bcast_allcomm_nb\": {}}")])).unwrap();
    assert!(bare.with_rules(&[twice()]).unwrap_err().contains("comm_type=intra"));
}

/// The tree, the collective and so many more, the last of which names the algorithm and is empty.
#[test]
fn a_tree_is_as_deep_as_the_library_reads() {
    let nb = "{\"algorithm=MPIR_Allreduce_allcomm_nb\": {}}";
    let deep = |more| tree(&[("allreduce", &("{\"any\": ".repeat(more) + nb + &"}".repeat(more)))]);
    read(&deep(32 - 3)).unwrap();
    assert!(read(&deep(32 - 2)).unwrap_err().contains("nested deeper than 32"));
}

/// MPICH maps the file and reads a string, so that a whole number of pages would have no end.
#[test]
fn a_file_is_not_a_whole_number_of_pages() {
    let nb = "{\"algorithm=MPIR_Bcast_allcomm_nb\": {}}";
    let text = |zeros: usize| {
        let inside = format!("{{\"avg_msg_size<{}8\": {nb}, \"any\": {nb}}}", "0".repeat(zeros));
        read(&tree(&[("bcast", &inside)])).unwrap().with_rules(&[]).unwrap()
    };
    let lacks = 4096 - text(0).len() % 4096;
    let (before, whole, after) = (text(lacks - 1), text(lacks), text(lacks + 1));
    assert_eq!([&before, &whole, &after].map(|text| text.len() % 4096), [4095, 1, 1]);
    assert!(whole.ends_with("}\n\n") && !after.ends_with("\n\n"));
}
