//! Samples from and to other formats: the contents, every error with its place, and no panics.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use strata_interchange::{Format, Imported, Selection, json_lines, read};
use strata_model::expr::is_name;
use strata_model::samples::{self, Column, ModelSamples, Sample, Samples};

const TEXT: &str = "# a comment\nPARAMETER p n\n\nPOINTS ( 2 10 ) (4 10) ( 8 10.5)\nREGION main->solve\nMETRIC time\nDATA 1.0 1.1\nDATA 2\nDATA 4 4.5 4.25\n";
const JSON: &str = r#"{"parameters": ["p", "n"], "measurements": {"main->solve": {"time": [
    {"point": [2, 10], "values": [1.0, 1.1]},
    {"point": [4, 10], "values": [2]},
    {"point": [8, 10.5], "values": [4, 4.5, 4.25]}]}}}"#;
const OLD_JSON: &str = r#"{"parameters": [{"id": 2, "name": "n"}, {"id": 1, "name": "p"}],
  "callpaths": [{"id": 1, "name": "main->solve"}], "metrics": [{"id": 1, "name": "time"}],
  "coordinates": [
    {"id": 1, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": "2"}, {"parameter_id": 2, "parameter_value": 10}]},
    {"id": 2, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": 4}, {"parameter_id": 2, "parameter_value": 10}]},
    {"id": 3, "parameter_value_pairs": [{"parameter_id": 2, "parameter_value": 10.5}, {"parameter_id": 1, "parameter_value": 8}]}],
  "measurements": [
    {"id": 1, "coordinate_id": 1, "callpath_id": 1, "metric_id": 1, "value": 1.0},
    {"id": 2, "coordinate_id": 1, "callpath_id": 1, "metric_id": 1, "value": "1.1"},
    {"id": 3, "coordinate_id": 2, "callpath_id": 1, "metric_id": 1, "value": 2},
    {"id": 4, "coordinate_id": 3, "callpath_id": 1, "metric_id": 1, "value": 4},
    {"id": 5, "coordinate_id": 3, "callpath_id": 1, "metric_id": 1, "value": 4.5},
    {"id": 6, "coordinate_id": 3, "callpath_id": 1, "metric_id": 1, "value": 4.25}]}"#;
const LINES: &str = r#"{"params":{"p":2,"n":10},"callpath":"main->solve","metric":"time","value":[1.0,1.1]}

{"params":{"n":10,"p":4},"callpath":"main->solve","metric":"time","value":2}
{"params":{"p":8,"n":10.5},"callpath":"main->solve","metric":"time","value":4}
{"params":{"p":8,"n":10.5},"callpath":"main->solve","metric":"time","value":4.5}
{"params":{"p":8,"n":10.5},"callpath":"main->solve","metric":"time","value":4.25}
"#;
const CSV: &str = "p,Time,n\n2,1.0,10\n2,1.1,10\n\n4,2,10\n\"8\", 4 ,10.5\r\n8,4.5,10.5\n8,4.25,\"10.5\"\n";

fn ok(text: &str, file: &str) -> Imported {
    read(text.as_bytes(), file, None, &Selection::default()).unwrap_or_else(|e| panic!("{file}: {e}"))
}

fn errors(bytes: &[u8], file: &str) -> String {
    read(bytes, file, None, &Selection::default()).unwrap_err().to_string()
}

#[test]
fn every_format_gives_the_same_samples() {
    let expected = [
        (1.0, [2.0, 10.0]),
        (1.1, [2.0, 10.0]),
        (2.0, [4.0, 10.0]),
        (4.0, [8.0, 10.5]),
        (4.5, [8.0, 10.5]),
        (4.25, [8.0, 10.5]),
    ];
    for (text, file, format, model) in [
        (TEXT, "a.txt", Format::ExtraPText, "main_solve"),
        (JSON, "a.json", Format::ExtraPJson, "main_solve"),
        (OLD_JSON, "a", Format::ExtraPJson, "main_solve"),
        (LINES, "a.json", Format::JsonLines, "main_solve"),
        (CSV, "dir/main_solve.csv", Format::Csv, "main_solve"),
        (&CSV.replace(',', ";"), "main_solve.csv", Format::Csv, "main_solve"),
        (&CSV.replace(',', "\t"), "main_solve.tsv", Format::Csv, "main_solve"),
        (&format!("\u{feff}{CSV}"), "main_solve.csv", Format::Csv, "main_solve"),
    ] {
        let imported = ok(text, file);
        assert_eq!(imported.format, format, "{file}");
        let [m] = &imported.samples.models[..] else { panic!("{file}: {imported:?}") };
        assert_eq!(m.name, model, "{file}");
        assert_eq!(m.columns, [Column::input("p"), Column::input("n")], "{file}");
        let rows: Vec<(f64, [f64; 2])> =
            m.rows.iter().map(|r| (r.seconds, [r.values[0], r.values[1]])).collect();
        assert_eq!(rows, expected, "{file}");
        assert!(m.rows.iter().all(|r| r.line > 0 && !r.verify), "{file}");
        // The imported samples can be written as a samples file of Strata.
        let again = Samples::parse(&imported.samples.to_text(), "again").unwrap();
        assert_eq!(again.models[0].columns, m.columns);
    }
    assert_eq!(ok(CSV, "m.csv").samples.models[0].rows[4].line, 7, "lines are those of the file");
    assert_eq!(ok(TEXT, "a.txt").notes, ["call path `main->solve` is called `main_solve` here"]);
}

#[test]
fn many_bad_lines_are_counted_and_a_million_good_ones_read() {
    let bad: String =
        std::iter::once("n,time\n".to_owned()).chain((0..100).map(|i| format!("{i},x\n"))).collect();
    let said = errors(bad.as_bytes(), "x.csv");
    let one = "x.csv:2:3: `time` must be a number, but it is `x` (and 99 more like it)";
    assert_eq!(said, one);
    // They do not hide faults of other kinds.
    let said = errors(format!("{bad}100,-1\n101,\n102,-2\n").as_bytes(), "x.csv");
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            one,
            "x.csv:102:5: `time` is -1, but no time is below zero; repeat it or, if it is a difference of two times, give `specc fit --absolute` (and 1 more like it)",
            "x.csv:103:5: the cell of `time` is empty; fill it in or take the row out",
        ]
    );
    let latin = errors(b"n,time\n1,2\nK\xf6ln,3\n", "x.csv");
    assert!(latin.starts_with("x.csv:3:2: this is not UTF-8 text; convert the file"), "{latin}");
    let good: String =
        std::iter::once("n,time\n".to_owned()).chain((0..200_000).map(|i| format!("{i},1e-6\n"))).collect();
    assert_eq!(ok(&good, "x.csv").samples.models[0].rows.len(), 200_000);
}

/// A search of the columns before each column would take a minute.
#[test]
fn a_hundred_thousand_columns_are_refused_or_chosen_from() {
    let columns = 100_000;
    let distinct: String = (0..columns).map(|c| format!("c{c},")).collect();
    let names: String = (0..columns).map(|c| format!("c{},", c % 1000)).collect();
    // Distinct, but each is `c` without the characters that a name may not have.
    let alike: String =
        (0..columns).map(|c| format!("c{c:b},").replace('0', "-").replace('1', "+")).collect();
    let values = "1,".repeat(columns);
    for (names, wrong) in [
        (&distinct, "100000 inputs, and a model has at most 24: name those"),
        (&alike, "100000 inputs, and a model has at most 24: name those"),
        (&names, "two columns are named `c0`"),
    ] {
        let said = errors(format!("{names}time\n{values}2\n").as_bytes(), "wide.csv");
        assert!(said.contains(wrong) && said.len() < 5000, "{said}");
    }
    let two = Selection { inputs: Some(vec!["c7".to_owned(), "c99999".to_owned()]), ..Selection::default() };
    let text = format!("{distinct}time\n{values}2\n");
    let imported = read(text.as_bytes(), "wide.csv", None, &two).unwrap();
    assert_eq!(imported.samples.models[0].columns.len(), 2);
    assert!(
        imported.notes.iter().any(|note| note.contains("`c39`") && note.ends_with("99958 more are not used"))
    );
}

/// Imported samples can be written and read again, whatever their models are called.
#[test]
fn models_called_like_words_of_samples_files_are_written_and_read() {
    for name in samples::WORDS.into_iter().filter(|word| is_name(word)).chain(["run"]) {
        for (text, file) in [
            ("n,time\n1,2\n2,4\n".to_owned(), format!("{name}.csv")),
            (format!("n,time,of\n1,2,{name}\n2,4,{name}\n"), "x.csv".to_owned()),
            (format!("PARAMETER n\nPOINTS 1 2\nREGION {name}\nDATA 2\nDATA 4\n"), "x.txt".to_owned()),
            (JSON.replace("main->solve", name), "x.json".to_owned()),
            (LINES.replace("main->solve", name), "x.jsonl".to_owned()),
        ] {
            let read = ok(&text, &file).samples;
            assert_eq!(read.models[0].name, name, "{file}");
            let written = read.to_text();
            let again = Samples::parse(&written, "samples.txt").unwrap_or_else(|e| panic!("{e}\n{written}"));
            assert_eq!(again.models[0].rows.len(), read.models[0].rows.len());
            assert_eq!(again.to_text(), written);
        }
    }
}

#[test]
fn a_share_of_the_points_is_held_out_with_all_their_repeats() {
    let rows: String = (0..20).map(|n| format!("{n},{n}\n{n},{n}.5\n")).collect();
    let by = Selection { hold_out: Some("20%".parse().unwrap()), ..Selection::default() };
    let held = read(format!("n,time\n{rows}").as_bytes(), "runs.csv", None, &by).unwrap().samples;
    assert_eq!(held.to_text().matches("\n@runs").count(), 8);
}

fn samples() -> impl Strategy<Value = Samples> {
    let value = prop_oneof![-1e300..1e300, Just(0.0), Just(1e-300), (0u32..1_000_000).prop_map(f64::from)];
    let time = prop_oneof![0.0..1e3, Just(0.0), Just(1e-300), Just(3e9)];
    let rows = proptest::collection::vec((time, proptest::collection::vec(value, 3), any::<bool>()), 1..20);
    let names = proptest::sample::subsequence(vec!["n", "p", "width", "z_1"], 3).prop_shuffle();
    (rows, names).prop_map(|(rows, names)| {
        let columns = names.iter().map(|n| Column::input(*n)).collect();
        let row = |(line, (seconds, values, verify)): (usize, (f64, Vec<f64>, bool))| Sample {
            seconds,
            values,
            verify,
            line: line + 1,
            ..Sample::default()
        };
        let rows = rows.into_iter().enumerate().map(row).collect();
        Samples {
            models: vec![ModelSamples { name: "m".into(), columns, rows, ..ModelSamples::default() }],
            ..Samples::default()
        }
    })
}

proptest! {
    #[test]
    fn json_lines_read_back_to_the_bit(samples in samples()) {
        let text = json_lines(&samples, None).unwrap();
        let back = read(text.as_bytes(), "m.jsonl", None, &Selection::default()).unwrap();
        prop_assert_eq!(back.format, Format::JsonLines);
        prop_assert_eq!(&back.samples, &samples);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = read(&bytes, "a.b", None, &Selection::default());
    }
}

#[test]
fn models_that_extra_p_would_refuse_are_refused_here() {
    let samples = Samples::parse("model A n\nA 1 1\nA 1 2\nmodel B n\nB 1 1\nmodel C n\nC 1 2\nC 2 1\nmodel D logP\nD 1 2\nmodel E n\n", "s").unwrap();
    let said = |model: Option<&str>| json_lines(&samples, model).unwrap_err().to_string();
    assert!(said(None).starts_with("models `A` and `B` were not measured at the same points"));
    assert_eq!(said(Some("D")), "model `D` has no input, and Extra-P needs at least one");
    assert_eq!(said(Some("E")), "model `E` has no sample, and Extra-P needs at least one");
    assert_eq!(said(Some("F")), "there is no model `F`; there is A, B, C, D, E");
    assert_eq!(
        json_lines(&samples, Some("B")).unwrap(),
        "{\"params\":{\"n\":1.0},\"callpath\":\"B\",\"metric\":\"time\",\"value\":1.0}\n"
    );
    let nan = Samples::parse("model A n\nA NaN 1\n", "s").unwrap();
    assert_eq!(
        json_lines(&nan, None).unwrap_err().to_string(),
        "model `A`, line 2: NaN cannot be written as JSON; take the sample out"
    );
}

/// The Python that has Extra-P, if there is one.
fn extra_p() -> Option<&'static str> {
    let has = Command::new("python3").args(["-c", "import extrap.fileio"]).output();
    has.is_ok_and(|out| out.status.success()).then_some("python3")
}

#[test]
fn extra_p_reads_what_is_written_and_we_read_what_it_does() {
    let Some(python) = extra_p() else {
        eprintln!("skipped: the python3 of PATH has no Extra-P");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let both = "model A n p\nA 1.5e-6 1 2\nA 2.5e-6 2 2\n@A 3.5e-6 3 2\nA 1e-6 1 2\nmodel B n p\nB 1 3 2\nB 2 2 2\nB 4 1 2\n";
    let samples = Samples::parse(both, "both").unwrap();
    let path = folder.path().join("both.jsonl");
    std::fs::write(&path, json_lines(&samples, None).unwrap()).unwrap();
    let script = "import sys
from extrap.fileio.file_reader.json_file_reader import JsonFileReader
from extrap.fileio.file_reader.text_file_reader import TextFileReader
for kind, path in zip(sys.argv[1::2], sys.argv[2::2]):
    e = {'json': JsonFileReader, 'text': TextFileReader}[kind]().read_experiment(path)
    print([p.name for p in e.parameters], [m.name for m in e.metrics])
    for (path, metric), ms in e.measurements.items():
        for m in ms:
            print(path.name, [float(c) for c in m.coordinate], m.repetitions, float(m.mean))
";
    let run = |arguments: &[(&str, &Path)]| {
        let mut command = Command::new(python);
        command.args(["-c", script]);
        arguments.iter().for_each(|(kind, path)| {
            command.arg(kind).arg(path);
        });
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    assert_eq!(
        run(&[("json", &path)]),
        "['n', 'p'] ['time']\nA [1.0, 2.0] 2 1.25e-06\nA [2.0, 2.0] 1 2.5e-06\nA [3.0, 2.0] 1 3.5e-06\nB [3.0, 2.0] 1 1.0\nB [2.0, 2.0] 1 2.0\nB [1.0, 2.0] 1 4.0\n"
    );
    // Extra-P reads the texts of the tests above in the same way.
    let expected = "['p', 'n'] ['time']\nmain->solve [2.0, 10.0] 2 1.05\nmain->solve [4.0, 10.0] 1 2.0\nmain->solve [8.0, 10.5] 3 4.25\n";
    for (kind, text) in
        [("text", TEXT), ("json", JSON), ("json", LINES), ("json", &OLD_JSON.replace("\"1.1\"", "1.1"))]
    {
        let path = folder.path().join("given");
        std::fs::write(&path, text).unwrap();
        assert_eq!(run(&[(kind, &path)]), expected, "{text}");
    }
}

/// Rows of one point that differ by a text which is no input speak against any model of them; noise
/// does not, nor a text that follows the inputs.
#[test]
fn text_that_decides_the_time_is_a_doubt() {
    let doubts = |time: fn(u32, u32) -> f64, kind: fn(u32, u32) -> &'static str| {
        let mut text = "way,kind,n,time\n".to_owned();
        for (n, repeat) in (1..=8).flat_map(|n| (0..6).map(move |repeat| (n, repeat))) {
            let noise = 1.0 + f64::from((7 * n + 11 * repeat) % 5) / 100.0;
            text += &format!("a,{},{n},{}\n", kind(n, repeat), time(n, repeat) * noise);
        }
        let selection = Selection { model_columns: vec!["way".into()], ..Selection::default() };
        strata_interchange::read(text.as_bytes(), "t.csv", None, &selection).unwrap().samples.doubts
    };
    let by_repeat = |_: u32, repeat: u32| if repeat.is_multiple_of(2) { "x" } else { "y" };
    let slower = |n: u32, repeat: u32| f64::from(n) * if repeat.is_multiple_of(2) { 1.0 } else { 1.3 };
    let found = doubts(slower, by_repeat);
    assert!(found.len() == 1 && found[0].0 == "a", "{found:?}");
    assert!(
        found[0].1.contains("by `kind`") && found[0].1.contains("`--model-column way,kind`"),
        "{found:?}"
    );
    assert_eq!(doubts(|n, _| f64::from(n), by_repeat), []);
    assert_eq!(doubts(|n, _| f64::from(n), |n, _| if n.is_multiple_of(2) { "x" } else { "y" }), []);
}
