//! The formats of other benchmarks, for the scripts that read them: OSU's micro-benchmarks (7.4)
//! and Intel's MPI benchmarks (2021.11). Only kernels that do what those programs do are printed:
//! those of `library`.

use std::fmt::Write as _;

use crate::results::{Overlap, PointResult, Results};
use crate::suite::{WINDOW, calls};

/// What a program prints of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Times between two ranks.
    Pair,
    /// Bandwidths between two ranks, with messages in so many directions.
    Window(usize),
    /// Bandwidths and rates of messages of all pairs of ranks.
    Pairs,
    /// Times of all pairs of ranks.
    PairsLatency,
    /// Times of one-sided transfers.
    OneSided,
    /// A non-blocking collective beside computing.
    Overlapped,
    /// Times of all ranks.
    Collective,
}

/// A test of another benchmark.
struct Test {
    model: &'static str,
    kind: Kind,
    /// Its title in OSU's benchmarks; empty if it is none of them.
    osu: &'static str,
    /// Its name in Intel's.
    imb: &'static str,
}

const fn test(model: &'static str, kind: Kind, osu: &'static str, imb: &'static str) -> Test {
    Test { model, kind, osu, imb }
}

const TESTS: [Test; 27] = [
    test("LibraryPingPong", Kind::Pair, "OSU MPI Latency Test", "PingPong"),
    test("LibraryPingPing", Kind::Pair, "", "PingPing"),
    test("LibraryWindow", Kind::Window(1), "OSU MPI Bandwidth Test", ""),
    test("LibraryBothWays", Kind::Window(2), "OSU MPI Bi-Directional Bandwidth Test", ""),
    test("LibraryPairs", Kind::Pairs, "OSU MPI Multiple Bandwidth / Message Rate Test", ""),
    test("LibraryPairsLatency", Kind::PairsLatency, "OSU MPI Multi Latency Test", ""),
    test("LibraryPut", Kind::OneSided, "OSU MPI_Put Latency Test", ""),
    test("LibraryGet", Kind::OneSided, "OSU MPI_Get latency Test", ""),
    test("LibraryBroadcast", Kind::Collective, "OSU MPI Broadcast Latency Test", "Bcast"),
    test("LibraryReduce", Kind::Collective, "OSU MPI Reduce Latency Test", "Reduce"),
    test("LibraryAllReduce", Kind::Collective, "OSU MPI Allreduce Latency Test", "Allreduce"),
    // OSU times `MPI_Reduce_scatter`, which is another call.
    test("LibraryReduceScatter", Kind::Collective, "", "Reduce_scatter_block"),
    test("LibraryGather", Kind::Collective, "OSU MPI Gather Latency Test", "Gather"),
    test("LibraryScatter", Kind::Collective, "OSU MPI Scatter Latency Test", "Scatter"),
    test("LibraryAllGather", Kind::Collective, "OSU MPI Allgather Latency Test", "Allgather"),
    test(
        "LibraryAllToAll",
        Kind::Collective,
        "OSU MPI All-to-All Personalized Exchange Latency Test",
        "Alltoall",
    ),
    test(
        "LibraryAllToAllV",
        Kind::Collective,
        "OSU MPI All-to-Allv Personalized Exchange Latency Test",
        "Alltoallv",
    ),
    test("LibraryBarrier", Kind::Collective, "OSU MPI Barrier Latency Test", "Barrier"),
    test("OverlapBroadcast", Kind::Overlapped, "OSU MPI Non-blocking Broadcast Latency Test", "Ibcast"),
    test("OverlapReduce", Kind::Overlapped, "OSU MPI Non-blocking Reduce Latency Test", "Ireduce"),
    test("OverlapAllReduce", Kind::Overlapped, "OSU MPI Non-blocking Allreduce Latency Test", "Iallreduce"),
    test("OverlapGather", Kind::Overlapped, "OSU MPI Non-blocking Gather Latency Test", "Igather"),
    test("OverlapScatter", Kind::Overlapped, "OSU MPI Non-blocking Scatter Latency Test", "Iscatter"),
    test("OverlapAllGather", Kind::Overlapped, "OSU MPI Non-blocking Allgather Latency Test", "Iallgather"),
    test("OverlapAllToAll", Kind::Overlapped, "OSU MPI Non-blocking All-to-All Latency Test", "Ialltoall"),
    test(
        "OverlapAllToAllV",
        Kind::Overlapped,
        "OSU MPI Non-blocking All-to-Allv Personalized Exchange Latency Test",
        "Ialltoallv",
    ),
    test("OverlapBarrier", Kind::Overlapped, "OSU MPI Non-blocking Barrier Latency Test", "Ibarrier"),
];

/// A line of a test: times in µs.
struct Line {
    bytes: i64,
    /// Calls in all timings.
    repetitions: usize,
    /// Of all ranks; of an overlapped collective itself alone, the computation alone, and both.
    least: f64,
    mean: f64,
    greatest: f64,
}

impl Line {
    /// Of an overlapped collective.
    fn overlap(&self) -> Overlap {
        let Self { bytes, least: alone, mean: computing, greatest: both, .. } = *self;
        Overlap { bytes, alone, computing, both }
    }
}

impl Test {
    fn has_sizes(&self) -> bool {
        !self.model.ends_with("Barrier")
    }

    /// The lines of its kernel; none if it was not measured. Of a collective each needs the three
    /// times of all ranks.
    fn lines(&self, results: &Results) -> Vec<Line> {
        let Some(kernel) = results.kernel(self.model) else { return Vec::new() };
        let line = |point: &PointResult| {
            let bytes = if self.has_sizes() { *point.at.first()? } else { 0 };
            let [least, mean, greatest] = match self.kind {
                Kind::Pair | Kind::Window(_) | Kind::Pairs | Kind::PairsLatency | Kind::OneSided => {
                    [point.belief.median; 3]
                }
                _ => kernel.by_last(point)?,
            }
            .map(|seconds| 1e6 * seconds);
            let usual = calls(usize::try_from(bytes).ok()?);
            let calls = results.setup.fixed.repetitions.unwrap_or(usual);
            let repetitions = point.belief.timings.saturating_mul(calls);
            Some(Line { bytes, repetitions, least, mean, greatest })
        };
        // Its three points are one line.
        let most = if self.has_sizes() { usize::MAX } else { 1 };
        kernel.line().filter_map(line).take(most).collect()
    }
}

/// Comments on what differs from the program that the format is of.
fn notes(results: &Results) -> String {
    let mut text = String::from("# Strata's CoMet: medians of timings, each the mean of many calls.\n");
    if let Some(contaminated) = &results.contaminated {
        let _ = writeln!(text, "# CONTAMINATED: {}", contaminated.reason);
    }
    if TESTS.iter().all(|test| test.lines(results).is_empty()) {
        text.push_str(
            "# No kernel of this run does what these programs do; measure with --on mpi --kernels library.\n",
        );
    }
    text
}

/// The format of the OSU micro-benchmarks; of collectives with the columns of their option `-f`.
#[must_use]
pub fn osu(results: &Results) -> String {
    let mut text = notes(results);
    for test in TESTS.iter().filter(|test| !test.osu.is_empty()) {
        let lines = test.lines(results);
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n# {} v7.4", test.osu);
        match test.kind {
            // As with its option `-b multiple`.
            Kind::Window(_) => {
                let _ = writeln!(text, "# Window of {WINDOW} messages, each in memory of its own.");
            }
            Kind::Pairs => {
                let pairs = results.nodes / 2;
                let _ = writeln!(text, "# [ pairs: {pairs} ] [ window size: {WINDOW} ]");
            }
            Kind::OneSided => {
                text.push_str("# Window creation: MPI_Win_allocate\n# Synchronization: MPI_Win_flush\n");
            }
            Kind::Overlapped => {
                text.push_str("# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n");
            }
            _ => {}
        }
        let datatype = if test.osu.contains("educe") { "MPI_INT" } else { "MPI_CHAR" };
        if test.has_sizes() {
            let _ = writeln!(text, "# Datatype: {datatype}.");
        }
        let columns: &[&str] = match test.kind {
            Kind::Window(_) => &["Bandwidth (MB/s)"],
            Kind::Pairs => &["MB/s", "Messages/s"],
            Kind::Overlapped => &["Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)"],
            Kind::OneSided => &["Latency (us)"],
            Kind::Pair | Kind::PairsLatency => &["Avg Latency(us)"],
            Kind::Collective => &["Avg Latency(us)", "Min Latency(us)", "Max Latency(us)"],
        };
        let wide = if test.kind == Kind::Overlapped { 18 } else { 20 };
        let mut head: String = columns.iter().map(|column| format!("{column:>wide$}")).collect();
        if test.kind == Kind::Collective {
            let _ = write!(head, "{:>12}", "Iterations");
        }
        let head = if test.has_sizes() {
            format!("{:<10}{head}", "# Size")
        } else {
            format!("# {}", head.trim_start())
        };
        let _ = writeln!(text, "{head}");
        for line in lines {
            let Line { bytes, repetitions, least, mean, greatest } = line;
            let size = if test.has_sizes() { format!("{bytes:<10}") } else { String::new() };
            let rate = bytes as f64 / mean;
            let _ = match test.kind {
                Kind::Collective => {
                    let width = if test.has_sizes() { 20 } else { 17 };
                    writeln!(text, "{size}{mean:>width$.2}{least:>20.2}{greatest:>20.2}{repetitions:>12}")
                }
                Kind::Pair | Kind::PairsLatency | Kind::OneSided => writeln!(text, "{size}{mean:>20.2}"),
                // A message's part of the time is that of the messages of both directions.
                Kind::Window(_) => writeln!(text, "{size}{rate:>20.2}"),
                Kind::Pairs => writeln!(text, "{size}{rate:>20.2}{:>20.2}", 1e6 / mean),
                Kind::Overlapped => {
                    let share = 100.0 * line.overlap().share();
                    let width = if test.has_sizes() { 18 } else { 13 };
                    writeln!(text, "{size}{greatest:>width$.2}{mean:>18.2}{least:>18.2}{share:>18.2}")
                }
            };
        }
    }
    text
}

/// The format of Intel's MPI benchmarks.
#[must_use]
pub fn imb(results: &Results) -> String {
    let mut text = notes(results);
    for test in TESTS.iter().filter(|test| !test.imb.is_empty()) {
        let lines = test.lines(results);
        if lines.is_empty() {
            continue;
        }
        let columns: &[&str] = match test.kind {
            Kind::Overlapped => {
                &["#bytes", "#repetitions", "t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", " overlap[%]"]
            }
            Kind::Collective => &["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"],
            _ => &["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"],
        };
        let columns = &columns[usize::from(!test.has_sizes())..];
        let rule = format!("#{}", "-".repeat(13 * columns.len() - 1));
        let pair = test.kind == Kind::Pair;
        let processes = if pair { 2 } else { results.nodes };
        let _ = writeln!(text, "\n{rule}\n# Benchmarking {} \n# #processes = {processes} ", test.imb);
        match results.nodes.saturating_sub(processes) {
            0 => {}
            1 => text.push_str("# ( 1 additional process waiting in MPI_Barrier)\n"),
            idle => _ = writeln!(text, "# ( {idle} additional processes waiting in MPI_Barrier)"),
        }
        let _ = writeln!(text, "{rule}");
        let head: String = columns.iter().map(|column| format!("{column:>13}")).collect();
        let _ = writeln!(text, "{head}");
        for line in lines {
            let Line { bytes, repetitions, least, mean, greatest } = line;
            let size = if test.has_sizes() { format!("{bytes:>13}") } else { String::new() };
            let times = match test.kind {
                Kind::Overlapped => {
                    // Intel's definition; OSU's is that of `Overlap`.
                    let (alone, computing, both) = (least, mean, greatest);
                    let share = ((alone + computing - both) / alone.max(computing)).clamp(0.0, 1.0);
                    format!("{both:>13.2}{alone:>13.2}{computing:>13.2}{:>13.2}", 100.0 * share)
                }
                Kind::Collective => format!("{least:>13.2}{greatest:>13.2}{mean:>13.2}"),
                _ => format!("{mean:>13.2}{:>13.2}", bytes as f64 / mean),
            };
            let _ = writeln!(text, "{size}{repetitions:>13}{times}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::KernelResult;
    use crate::series::Belief;

    /// Results of a made-up run of four ranks.
    fn results() -> Results {
        let point = |at: &[i64], seconds: f64| PointResult {
            at: at.to_vec(),
            belief: Belief { median: seconds, timings: 30, ..Belief::default() },
        };
        let kernel = |model: &str, points: Vec<PointResult>| KernelResult {
            model: model.to_owned(),
            points,
            ..KernelResult::default()
        };
        let collective = [8, 16].into_iter().flat_map(|bytes| {
            let times = [1e-6, 2e-6, 3e-6].into_iter().zip(0..);
            times.map(move |(time, of)| point(&[bytes, of], time * bytes as f64))
        });
        Results {
            nodes: 4,
            kernels: vec![
                kernel("Echo", vec![point(&[8, 1, 1], 9e-6)]),
                kernel("Broadcast", vec![point(&[8], 9e-6)]),
                kernel("LibraryPingPong", vec![point(&[8], 0.5e-6), point(&[100_000], 50e-6)]),
                kernel("LibraryWindow", vec![point(&[8], 0.25e-6)]),
                kernel("LibraryPairs", vec![point(&[8], 0.25e-6)]),
                kernel("LibraryPut", vec![point(&[8], 0.5e-6)]),
                kernel("LibraryAllReduce", collective.collect()),
                kernel("LibraryBarrier", (0..3).map(|of| point(&[of], 1e-6 * (of + 1) as f64)).collect()),
                kernel(
                    "OverlapBroadcast",
                    [4e-6, 5e-6, 6e-6].into_iter().zip(0..).map(|(s, of)| point(&[8, of], s)).collect(),
                ),
                kernel("OverlapBarrier", (0..3).map(|of| point(&[of], 1e-6 * (of + 1) as f64)).collect()),
            ],
            ..Results::default()
        }
    }

    #[test]
    fn both_have_their_titles_blocks_columns_and_widths() {
        for (text, expected) in [
            (osu(&results()), include_str!("../tests/formats/osu.txt")),
            (imb(&results()), include_str!("../tests/formats/imb.txt")),
        ] {
            assert_eq!(text.split_once("calls.\n").unwrap().1, expected);
        }
    }

    #[test]
    fn other_kernels_are_no_tests_of_these_programs() {
        let mut results = results();
        results
            .kernels
            .retain(|kernel| !kernel.model.starts_with("Library") && !kernel.model.starts_with("Overlap"));
        for text in [osu(&results), imb(&results)] {
            assert!(text.lines().all(|line| line.starts_with('#')), "{text}");
            assert!(text.contains("--kernels library"), "{text}");
        }
    }
}
