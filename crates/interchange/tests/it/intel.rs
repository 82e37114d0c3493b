//! Rules for Intel MPI: what is written is read again, and what reading refuses.

use strata_interchange::rules::{Chosen, Range, intel, read_intel};

fn chosen(collective: &str, processes: u64, ranges: &[(u64, u64, &str)]) -> Chosen {
    let range = |(from, to, algorithm): &(u64, u64, &str)| Range {
        from: *from,
        to: *to,
        algorithm: (*algorithm).to_owned(),
        parameters: Vec::new(),
        note: ": 2 times as fast".to_owned(),
    };
    Chosen { collective: collective.to_owned(), processes, ranges: ranges.iter().map(range).collect() }
}

fn refused(text: &str) -> String {
    read_intel(text.as_bytes(), "adjust.sh").unwrap_err().to_string()
}

#[test]
fn sizes_follow_each_other_from_zero_to_the_greatest() {
    let all = [
        chosen("bcast", 4, &[(4, 2048, "preset7"), (4096, 65_537, "preset13")]),
        chosen("allreduce", 4, &[(0, u64::MAX, "preset2")]),
        chosen("alltoall", 4, &[]),
        chosen(
            "allgather",
            4,
            &[(8, 1024, "preset5"), (1024, 1 << 40, "preset6"), (1 << 40, u64::MAX, "preset1")],
        ),
    ];
    let text = intel(&all, &["models of a test".to_owned()]).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        lines,
        [
            "export I_MPI_ADJUST_ALLGATHER='0:0-7;5:8-1023;6:1024-2147483647'",
            "export I_MPI_ADJUST_ALLREDUCE='2:0-2147483647'",
            "export I_MPI_ADJUST_BCAST='0:0-3;7:4-2047;0:2048-4095;13:4096-65536;0:65537-2147483647'",
        ]
    );
    assert!(text.contains("# bcast from 4: preset7: 2 times as fast"), "{text}");
    let read = read_intel(text.as_bytes(), "adjust.sh").unwrap();
    assert_eq!(read, [("allgather", 3), ("allreduce", 1), ("bcast", 5)]);

    let text = intel(&[chosen("bcast", 4, &[])], &[]).unwrap();
    assert!(text.starts_with("# For Intel MPI 2021.18") && text.contains("\n# Nothing gains"), "{text}");
    // Numbers of processes at which nothing gains do not count.
    let of_four = intel(&[chosen("bcast", 2, &[]), chosen("reduce", 4, &[(0, 8, "preset1")])], &[]).unwrap();
    assert!(of_four.contains("# For jobs of 4 processes"), "{of_four}");
    assert_eq!(read_intel(text.as_bytes(), "adjust.sh").unwrap(), []);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let told = |all: &[Chosen]| intel(all, &[]).unwrap_err();
    let of = |collective: &str, processes: u64, algorithm: &str| {
        chosen(collective, processes, &[(4, 8, algorithm)])
    };
    assert!(
        told(&[of("bcast", 2, "preset1"), of("reduce", 4, "preset1")])
            .contains("calibrate 2 and 4 processes into sets")
    );
    assert!(told(&[of("bcast", 2, "preset1"), of("bcast", 2, "preset2")]).contains("comes twice"));
    assert!(
        told(&[of("scan", 2, "preset1")]).contains("no collective of which Intel MPI's presets are known")
    );
    assert!(told(&[of("bcast", 2, "binomial")]).contains("`preset1` to `preset22`"));
    let mut cut = of("bcast", 2, "preset1");
    cut.ranges[0].parameters.push(("segment".to_owned(), 4096));
    assert!(told(&[cut]).contains("a parameter `segment`"));
}

#[test]
fn what_the_library_ignores_or_obeys_otherwise_is_named() {
    // Each of these is without effect, or acts in another way than it reads, in 2021.18.
    for (value, told) in [
        ("23", "`23`: `23` is no preset"),
        ("x:3", "is no preset"),
        ("1:4-8", "sizes must rise without gaps, from 0 here"),
        ("1:0-8;2:10-2147483647", "from 9 here"),
        ("1:0-8;2:4-2147483647", "from 9 here"),
        ("1:0-8", "no entry is for the size 9"),
        ("1:8-0", "must rise"),
        ("1:0-4294967295", "ignores the whole variable"),
        ("1: 0 - 2147483647", "ignores the whole variable"),
        ("1;2:0-2147483647", "stands alone"),
        ("1:0-8@2-2;2:9-2147483647@2-2", "takes the first entry for all calls"),
        ("1:0-8;2:0-2147483647@2-2", "takes the first entry for all calls"),
        ("1:0-2147483647@0-3", "the number of processes 4"),
        ("1:0-8,9-2147483647", "an entry for each condition"),
        ("", "is no preset"),
        ("+7", "is no preset"),
    ] {
        let text = format!("# a comment\nexport I_MPI_ADJUST_BCAST='{value}'\n");
        let found = refused(&text);
        assert!(found.contains("adjust.sh:2:") && found.contains(told), "{value}: {found}");
    }
    assert!(refused("bcast 1\n").contains("adjust.sh:1:1: a line is"));
    assert!(refused("export I_MPI_ADJUST_SCAN=1\n").contains("no collective"));
    assert!(refused("export I_MPI_ADJUST_BCAST=1\nexport I_MPI_ADJUST_BCAST=2\n").contains("comes twice"));
    assert!(refused("\n").contains("there is no line"));
    // A shell would do something else with these.
    for line in ["I_MPI_ADJUST_BCAST='1'", "export I_MPI_ADJUST_BCAST=0:0-1;3:2-2147483647", "export x='1'"] {
        assert!(refused(line).contains("1:1: a line is"), "{line}");
    }
    assert!(refused("export I_MPI_ADJUST_bcast='1'").contains("in capitals"));
    assert!(refused("export I_MPI_ADJUST_BCAST='1'\r\n").contains("carriage return"));
    for value in
        ["3", "0:0-1;3:2-2147483647", "0:0-2147483647@0-1;3:0-2147483647@2-2;0:0-2147483647@3-2147483647"]
    {
        read_intel(format!("export I_MPI_ADJUST_BCAST=\"{value}\"").as_bytes(), "adjust.sh").unwrap();
    }
}
