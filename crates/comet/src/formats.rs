//! The formats of other benchmarks, for the scripts that read them: OSU's micro-benchmarks (7.4)
//! and Intel's MPI benchmarks (2021.11). Only kernels that do what those programs do are printed:
//! those of `library`.

use std::fmt::Write as _;

use crate::results::{PointResult, Results};
use crate::suite::{WINDOW, calls};

/// What a program prints of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Times between two ranks.
    Pair,
    /// Bandwidths between two ranks, with messages in so many directions.
    Window(usize),
    /// Times of all ranks.
    Collective,
    /// The same without sizes.
    Barrier,
}

/// A test of another benchmark.
struct Test {
    /// The model that does it.
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

const TESTS: [Test; 12] = [
    test("LibraryPingPong", Kind::Pair, "OSU MPI Latency Test", "PingPong"),
    test("LibraryPingPing", Kind::Pair, "", "PingPing"),
    test("LibraryWindow", Kind::Window(1), "OSU MPI Bandwidth Test", ""),
    test("LibraryBothWays", Kind::Window(2), "OSU MPI Bi-Directional Bandwidth Test", ""),
    test("LibraryBroadcast", Kind::Collective, "OSU MPI Broadcast Latency Test", "Bcast"),
    test("LibraryReduce", Kind::Collective, "OSU MPI Reduce Latency Test", "Reduce"),
    test("LibraryAllReduce", Kind::Collective, "OSU MPI Allreduce Latency Test", "Allreduce"),
    test("LibraryGather", Kind::Collective, "OSU MPI Gather Latency Test", "Gather"),
    test("LibraryScatter", Kind::Collective, "OSU MPI Scatter Latency Test", "Scatter"),
    test("LibraryAllGather", Kind::Collective, "OSU MPI Allgather Latency Test", "Allgather"),
    test(
        "LibraryAllToAll",
        Kind::Collective,
        "OSU MPI All-to-All Personalized Exchange Latency Test",
        "Alltoall",
    ),
    test("LibraryBarrier", Kind::Barrier, "OSU MPI Barrier Latency Test", "Barrier"),
];

/// A line of a test: times in µs.
struct Line {
    bytes: i64,
    /// Calls in all timings.
    repetitions: usize,
    least: f64,
    mean: f64,
    greatest: f64,
}

impl Test {
    /// The lines of its kernel; none if it was not measured. Of a collective each needs the three
    /// times of all ranks.
    fn lines(&self, results: &Results) -> Vec<Line> {
        let Some(kernel) = results.kernel(self.model) else { return Vec::new() };
        let of = |point: &PointResult, of: i64| -> Option<f64> {
            let last = point.at.len().checked_sub(1)?;
            let same = |other: &&PointResult| other.at[..last] == point.at[..last] && other.at[last] == of;
            kernel.points.iter().find(same).map(|point| 1e6 * point.belief.median)
        };
        let line = |point: &PointResult| {
            let bytes = if self.kind == Kind::Barrier { 0 } else { *point.at.first()? };
            let [least, mean, greatest] = match self.kind {
                Kind::Pair | Kind::Window(_) => [1e6 * point.belief.median; 3],
                _ => [of(point, 0)?, of(point, 1)?, of(point, 2)?],
            };
            let repetitions = point.belief.timings.saturating_mul(calls(usize::try_from(bytes).ok()?));
            Some(Line { bytes, repetitions, least, mean, greatest })
        };
        // Its three points are one line.
        let most = if self.kind == Kind::Barrier { 1 } else { usize::MAX };
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
        if matches!(test.kind, Kind::Window(_)) {
            // As with its option `-b multiple`.
            let _ = writeln!(text, "# Window of {WINDOW} messages, each in memory of its own.");
        }
        let datatype = if test.osu.contains("educe") { "MPI_INT" } else { "MPI_CHAR" };
        let full = format!("{:>20}{:>20}{:>12}", "Min Latency(us)", "Max Latency(us)", "Iterations");
        match test.kind {
            Kind::Barrier => {
                let _ = writeln!(text, "# Avg Latency(us){full}");
            }
            kind => {
                let column =
                    if matches!(kind, Kind::Window(_)) { "Bandwidth (MB/s)" } else { "Avg Latency(us)" };
                let full = if kind == Kind::Collective { &*full } else { "" };
                let _ = writeln!(text, "# Datatype: {datatype}.\n{:<10}{column:>20}{full}", "# Size");
            }
        }
        for Line { bytes, repetitions, least, mean, greatest } in lines {
            let full = format!("{least:>20.2}{greatest:>20.2}{repetitions:>12}");
            let _ = match test.kind {
                Kind::Barrier => writeln!(text, "{mean:>17.2}{full}"),
                Kind::Collective => writeln!(text, "{bytes:<10}{mean:>20.2}{full}"),
                Kind::Pair => writeln!(text, "{bytes:<10}{mean:>20.2}"),
                // A message's part of the time is that of the messages of both directions.
                Kind::Window(_) => writeln!(text, "{bytes:<10}{:>20.2}", bytes as f64 / mean),
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
            Kind::Barrier => &["#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"],
            Kind::Collective => &["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"],
            Kind::Pair | Kind::Window(_) => &["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"],
        };
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
        for Line { bytes, repetitions, least, mean, greatest } in lines {
            let times = format!("{least:>13.2}{greatest:>13.2}{mean:>13.2}");
            let _ = match test.kind {
                Kind::Barrier => writeln!(text, "{repetitions:>13}{times}"),
                Kind::Collective => writeln!(text, "{bytes:>13}{repetitions:>13}{times}"),
                _ => writeln!(text, "{bytes:>13}{repetitions:>13}{mean:>13.2}{:>13.2}", bytes as f64 / mean),
            };
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
                kernel("LibraryAllReduce", collective.collect()),
                kernel("LibraryBarrier", (0..3).map(|of| point(&[of], 1e-6 * (of + 1) as f64)).collect()),
            ],
            ..Results::default()
        }
    }

    #[test]
    fn osu_has_its_titles_columns_and_widths() {
        let text = osu(&results());
        let expected = "
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size         Avg Latency(us)
8                         0.50
100000                   50.00

# OSU MPI Bandwidth Test v7.4
# Window of 64 messages, each in memory of its own.
# Datatype: MPI_CHAR.
# Size        Bandwidth (MB/s)
8                        32.00

# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_INT.
# Size         Avg Latency(us)     Min Latency(us)     Max Latency(us)  Iterations
8                        16.00                8.00               24.00        3000
16                       32.00               16.00               48.00        3000

# OSU MPI Barrier Latency Test v7.4
# Avg Latency(us)     Min Latency(us)     Max Latency(us)  Iterations
             2.00                1.00                3.00        3000
";
        assert_eq!(text.split_once("calls.\n").unwrap().1, expected);
    }

    #[test]
    fn imb_has_its_blocks_columns_and_widths() {
        let text = imb(&results());
        let expected = "
#---------------------------------------------------
# Benchmarking PingPong 
# #processes = 2 
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            8         3000         0.50        16.00
       100000          300        50.00      2000.00

#----------------------------------------------------------------
# Benchmarking Allreduce 
# #processes = 4 
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         3000         8.00        24.00        16.00
           16         3000        16.00        48.00        32.00

#---------------------------------------------------
# Benchmarking Barrier 
# #processes = 4 
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         3000         1.00         3.00         2.00
";
        assert_eq!(text.split_once("calls.\n").unwrap().1, expected);
    }

    #[test]
    fn other_kernels_are_no_tests_of_these_programs() {
        let mut results = results();
        results.kernels.retain(|kernel| !kernel.model.starts_with("Library"));
        for text in [osu(&results), imb(&results)] {
            assert!(text.lines().all(|line| line.starts_with('#')), "{text}");
            assert!(text.contains("--kernels library"), "{text}");
        }
    }
}
