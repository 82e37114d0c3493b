//! Rules for Intel MPI: what is written is read again, and what reading refuses.

use strata_interchange::rules::{Chosen, intel, read_intel};

use crate::mpich::chosen;

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
