//! Results of benchmark programs: one file of each format as the program writes it, and one with a
//! fault: an aggregate, a rate, a number that is NaN, a missing number of ranks, the previous run.

use strata_interchange::{Format, Imported, Selection, read, read_criterion};

/// Reads it without naming its format.
fn good(name: &str, text: &str, format: Format) -> Imported {
    let imported = read(text.as_bytes(), name, None, &Selection::default());
    let imported = imported.unwrap_or_else(|errors| panic!("{name}: {errors}"));
    assert_eq!(imported.format, format, "{name}");
    imported
}

fn bad(name: &str, text: &str) -> String {
    read(text.as_bytes(), name, None, &Selection::default()).unwrap_err().to_string()
}

/// A model, its inputs, and its rows: values, then seconds in ns.
type Told = (String, Vec<String>, Vec<(Vec<f64>, f64)>);

fn told(imported: &Imported) -> Vec<Told> {
    let model = |model: &strata_model::samples::ModelSamples| {
        let inputs = model.columns.iter().map(|column| column.text.clone()).collect();
        let ns = |seconds: f64| (1e12 * seconds).round() / 1e3;
        let rows = model.rows.iter().map(|row| (row.values.clone(), ns(row.seconds))).collect();
        (model.name.clone(), inputs, rows)
    };
    imported.samples.models.iter().map(model).collect()
}

fn one(name: &str, inputs: &[&str], rows: &[(&[f64], f64)]) -> Told {
    let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
    (name.to_owned(), inputs, rows.iter().map(|(values, ns)| (values.to_vec(), *ns)).collect())
}

const GOOGLE: &str = r#"{"context": {"library_build_type": "debug", "cpu_scaling_enabled": false},
"benchmarks": [
 {"name": "BM_fold/n:64/w:2", "run_name": "BM_fold/n:64/w:2", "run_type": "iteration", "threads": 1,
  "iterations": 10, "real_time": 1.5, "cpu_time": NaN, "time_unit": "us"},
 {"name": "BM_copy/64/threads:1", "run_type": "iteration", "real_time": 20, "time_unit": "ns", "rate": Infinity},
 {"name": "BM_copy/64_mean", "run_name": "BM_copy/64", "run_type": "aggregate", "real_time": 7, "time_unit": "ns"},
 {"name": "BM_copy_BigO", "run_type": "aggregate", "real_coefficient": 1.2, "big_o": "N", "time_unit": "ns"},
 {"name": "BM_copy/128", "run_type": "iteration", "error_occurred": true, "error_message": "x"}]}"#;

#[test]
fn google_benchmark() {
    let imported = good("g.json", GOOGLE, Format::GoogleBenchmark);
    let expected =
        [one("BM_fold", &["n", "w"], &[(&[64.0, 2.0], 1500.0)]), one("BM_copy", &["n"], &[(&[64.0], 20.0)])];
    assert_eq!(told(&imported), expected);
    let notes = imported.notes.join("\n");
    for note in
        ["debug build", "2 rows are left out: they are aggregates", "1 row is left out: the benchmark failed"]
    {
        assert!(notes.contains(note), "{notes}");
    }
    let error = bad("g.json", &GOOGLE.replace("\"real_time\": 20", "\"real_time\": -20"));
    assert!(error.contains("g.json:5:") && error.contains("no time is below zero"), "{error}");
    let error = bad("g.json", &GOOGLE.replace("\"us\"", "\"furlongs\""));
    assert!(error.contains("`furlongs` is not a unit of time (Google Benchmark)"), "{error}");
    let aggregates = GOOGLE.replace("\"iteration\"", "\"aggregate\"");
    assert!(bad("g.json", &aggregates).contains("no measurement: they are aggregates"));
    assert!(bad("g.json", GOOGLE.split_at(300).0).contains("g.json:"), "cut short");
    // As redirected, with the output above the table.
    let csv = "2026-01-05T10:00:00\nRunning ./bench\nname,iterations,real_time,cpu_time,time_unit,bytes_per_second,\
               items_per_second,label,error_occurred,error_message\n\
               \"BM_fold/n:1024/w:2/real_time/threads:4\",51234,13.1,13.0,us,,,,,\n\
               \"BM_fold/n:1024/w:2_cv\",3,0.01,0.01,us,,,,,\n\"BM_fold/n:9/w:2\",,,,,,,,true,\"no\"\n";
    let imported = good("g.csv", csv, Format::GoogleBenchmark);
    let expected = one("BM_fold", &["n", "w", "threads"], &[(&[1024.0, 2.0, 4.0], 13_100.0)]);
    assert_eq!(told(&imported), [expected]);
}

const HYPERFINE: &str = r#"{"results":[
 {"command":"./sort --n 1000","mean":0.012,"stddev":null,"median":0.0119,"user":0.010,"system":0.001,"min":0.0117,
  "max":0.0131,"times":[0.5,0.25],"exit_codes":[0,0],"parameters":{"n":"1000","kind":"radix"}},
 {"command":"./sort --n 2000","mean":0.012,"median":0.0119,"times":[0.75,9.0],"exit_codes":[0,1],
  "parameters":{"n":"2000","kind":"radix"}}]}"#;

#[test]
fn hyperfine() {
    let imported = good("h.json", HYPERFINE, Format::Hyperfine);
    let rows: &[(&[f64], f64)] = &[(&[1000.0], 5e8), (&[1000.0], 2.5e8), (&[2000.0], 7.5e8)];
    assert_eq!(told(&imported), [one("sort_n_n", &["n"], rows)]);
    assert!(
        imported.notes.join("\n").contains("1 row is left out: the command failed"),
        "{:?}",
        imported.notes
    );
    let error = bad("h.json", &HYPERFINE.replace("0.25]", "\"soon\"]"));
    assert!(error.contains("h.json:3:") && error.contains("must be a number"), "{error}");
    let csv = "command,mean,stddev,median,user,system,min,max,parameter_n\n./sort 10,0.5,0.1,0.5,0.4,0.1,0.4,0.6,10\n";
    let imported = good("h.csv", csv, Format::Hyperfine);
    assert_eq!(told(&imported), [one("sort_n", &["n"], &[(&[10.0], 5e8)])]);
    assert!(imported.notes[0].contains("no single runs"), "{:?}", imported.notes);
    // A reference command has no cell for the parameter.
    let error = bad("h.csv", &format!("{csv}./other,0.5,0.1,0.5,0.4,0.1,0.4,0.6\n"));
    assert!(error.contains("h.csv:3:1") && error.contains("export JSON"), "{error}");
}

#[test]
fn criterion() {
    let csv = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n\
               rank,fenwick,16,,,3000,ns,100\nrank,fenwick,64,,,2,us,10\n";
    let imported = good("raw.csv", csv, Format::Criterion);
    assert_eq!(told(&imported), [one("rank_fenwick", &["n"], &[(&[16.0], 30.0), (&[64.0], 200.0)])]);
    let error = bad("raw.csv", &csv.replace(",us,10", ",us,0"));
    assert!(error.contains("raw.csv:3:1"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let none = read_criterion(folder.path(), &Selection::default()).unwrap_err();
    assert!(none.contains("no folder of criterion"), "{none}");
    for (run, times) in [("new", "[300.0,800.0]"), ("base", "[9e9,9e9]")] {
        let sample = format!("{{\"sampling_mode\":\"Linear\",\"iters\":[1.0,2.0],\"times\":{times}}}");
        write(&format!("fold/serial/1024x64/{run}/sample.json"), &sample);
        write(
            &format!("fold/serial/1024x64/{run}/benchmark.json"),
            r#"{"group_id":"fold","function_id":"serial","value_str":"1024x64","throughput":null}"#,
        );
    }
    let told_of = |selection: &Selection| told(&read_criterion(folder.path(), selection).unwrap());
    // Two numbers in one text are inputs only with `--inputs`.
    assert_eq!(told_of(&Selection::default())[0].0, "fold_serial_1024x64");
    let named = Selection { inputs: Some(vec!["n".into(), "width".into()]), ..Selection::default() };
    let rows: &[(&[f64], f64)] = &[(&[1024.0, 64.0], 300.0), (&[1024.0, 64.0], 400.0)];
    assert_eq!(told_of(&named), [one("fold_serial", &["n", "width"], rows)], "not of the run before");
    write("fold/serial/1024x64/new/sample.json", "{\"iters\":[0.0],\"times\":[1.0]}");
    assert!(read_criterion(folder.path(), &named).unwrap_err().contains("1024x64"));
}

#[test]
fn pytest_benchmark() {
    let text = r#"{"machine_info": {}, "benchmarks": [
      {"name": "test_sort[64-a]", "params": {"n": 64, "kind": "a"}, "stats": {"mean": 0.5, "data": [0.5, 1.5], "rounds": 2}},
      {"name": "test_sort[128-a]", "params": {"n": "128", "kind": "a"}, "stats": {"mean": 0.25, "stddev": 0.1}}]}"#;
    let imported = good("p.json", text, Format::Pytest);
    let rows: &[(&[f64], f64)] = &[(&[64.0], 5e8), (&[64.0], 1.5e9), (&[128.0], 2.5e8)];
    assert_eq!(told(&imported), [one("test_sort_a", &["n"], rows)]);
    assert!(imported.notes[0].contains("--benchmark-save-data"), "{:?}", imported.notes);
    assert!(bad("p.json", &text.replace("0.25", "null")).contains("must be a number"));
    let alike = text.replacen("\"params\"", "\"fullname\": \"a.py::test_sort[64-a]\", \"params\"", 1);
    let names: Vec<String> =
        told(&good("p.json", &alike, Format::Pytest)).into_iter().map(|told| told.0).collect();
    assert_eq!(names, ["a_py_test_sort_a", "test_sort_a"]);
}

#[test]
fn jmh() {
    let text = r#"[{"jmhVersion":"1.37","benchmark":"org.x.Sort.radix","mode":"avgt","params":{"size":"64"},
      "primaryMetric":{"score":2.0,"scoreError":"NaN","scoreUnit":"us/op","rawData":[[1.0,2.0],[3.0]]}},
     {"jmhVersion":"1.37","benchmark":"org.x.Sort.rate","mode":"thrpt","params":{"size":"64"},
      "primaryMetric":{"score":2.0,"scoreUnit":"ops/ms","rawData":[[2.0]]}}]"#;
    let imported = good("j.json", text, Format::Jmh);
    let radix: &[(&[f64], f64)] = &[(&[64.0], 1000.0), (&[64.0], 2000.0), (&[64.0], 3000.0)];
    let expected = [one("radix", &["size"], radix), one("rate", &["size"], &[(&[64.0], 5e5)])];
    assert_eq!(told(&imported), expected);
    assert!(imported.notes[0].contains("one fork"), "{:?}", imported.notes);
    assert!(bad("j.json", &text.replace("us/op", "B/op")).contains("neither a time an operation nor a rate"));
    assert!(bad("j.json", &text.replace("[[2.0]]", "[[0.0]]")).contains("a rate of zero"));
    let alike = text.replace("Sort.rate", "Merge.radix");
    let names: Vec<String> =
        told(&good("j.json", &alike, Format::Jmh)).into_iter().map(|told| told.0).collect();
    assert_eq!(names, ["Sort_radix", "Merge_radix"]);
}

#[test]
fn go() {
    let text = "goos: linux\npkg: x\nBenchmarkSort/kind=radix/n=1024-8   5000   23011 ns/op   0 B/op\n\
                BenchmarkSort/kind=radix/n=2048-8   5000   50 ns/op\nBenchmarkPrints\nBenchmarkRate-8  5  3 MB/s\nPASS\n";
    let imported = good("bench.txt", text, Format::Go);
    let rows: &[(&[f64], f64)] = &[(&[1024.0], 23_011.0), (&[2048.0], 50.0)];
    assert_eq!(told(&imported), [one("Sort_kind_radix", &["n"], rows)]);
    assert_eq!(
        imported.notes.iter().filter(|note| note.contains("left out")).count(),
        2,
        "{:?}",
        imported.notes
    );
    assert!(bad("bench.txt", &text.replace("50 ns/op", "NaN ns/op")).contains("bench.txt:4:"));
    // `-cpu 1,4`
    let text = "BenchmarkSort/n=64  5  40 ns/op\nBenchmarkSort/n=64-4  5  10 ns/op\n";
    let rows: &[(&[f64], f64)] = &[(&[64.0, 1.0], 40.0), (&[64.0, 4.0], 10.0)];
    assert_eq!(told(&good("bench.txt", text, Format::Go)), [one("Sort", &["n", "procs"], rows)]);
}

const OSU: &str = "# OSU MPI Allreduce Latency Test v7.5\n# Datatype: MPI_INT.\n# Size       Avg Latency(us)\n\
                   [host:1] UCX  INFO  SET\n4                       1.50\n8                       1.75\n";

#[test]
fn osu_and_imb() {
    let imported = good("osu.txt", OSU, Format::Osu);
    let rows: &[(&[f64], f64)] = &[(&[4.0], 1500.0), (&[8.0], 1750.0)];
    assert_eq!(told(&imported), [one("Allreduce", &["bytes"], rows)]);
    assert!(imported.notes.join("\n").contains("--set ranks=N"), "{:?}", imported.notes);
    let set = Selection { set: vec![("ranks".into(), 144.0)], ..Selection::default() };
    let imported = read(OSU.as_bytes(), "osu.txt", None, &set).unwrap();
    assert_eq!(told(&imported)[0].2[0], (vec![4.0, 144.0], 1500.0));
    // As `mpiexec -l` and `mpirun --tag-output` print it; other text in brackets stays.
    for tag in ["[0] ", "[1,0]<stdout>:"] {
        let tagged: String = OSU.lines().map(|line| format!("{tag}{line}\n")).collect();
        assert_eq!(read(tagged.as_bytes(), "osu.txt", None, &set).unwrap().samples, imported.samples);
    }
    assert!(bad("osu.txt", &OSU.replace("# OSU", "[a] # OSU")).contains("no format that is read"));
    assert!(bad("text", "hello world\n").contains("no format that is read"));
    good("s.txt", "[0] strata-samples 1\n[0] model A n\n[0] A 1 2\n", Format::Strata);
    let rate = OSU.replace("Avg Latency(us)", "Bandwidth (MB/s)");
    assert!(bad("osu.txt", &rate).contains("is a rate, not a time"));

    let imb = "# Benchmarking Alltoall\n# #processes = 36\n#\n\
               #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n 0 1000 0.03 0.04 0.03\n 1 1000 10 30 20\n\n\
               # Benchmarking Barrier\n# #processes = 36\n #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n 1000 1 3 2\n";
    let imported = good("imb.txt", imb, Format::Imb);
    let expected = [
        one("Alltoall", &["bytes", "ranks"], &[(&[1.0, 36.0], 30_000.0)]),
        one("Barrier", &["ranks"], &[(&[36.0], 3000.0)]),
    ];
    assert_eq!(told(&imported), expected, "the slowest rank's; nothing of 0 bytes");
    assert!(bad("imb.txt", &imb.replace("# #processes = 36\n", "")).contains("`# #processes = N`"));
}

#[test]
fn substrate_and_talpas() {
    let text = r#"[{"pallet":"pallet_toy","instance":"Toy","benchmark":"batch","time_results":[
      {"components":[["n",0],["m",9]],"extrinsic_time":9100,"storage_root_time":0,"reads":1},
      {"components":[["n",100],["m",9]],"extrinsic_time":59300,"reads":101}],"db_results":[]}]"#;
    let imported = good("bench.json", text, Format::Substrate);
    let rows: &[(&[f64], f64)] = &[(&[0.0, 9.0], 9100.0), (&[100.0, 9.0], 59_300.0)];
    assert_eq!(told(&imported), [one("pallet_toy_batch", &["n", "m"], rows)]);
    assert!(imported.notes.join("\n").contains("products of components cannot be told"));

    let text = "{\"parameters\":{\"n\":100};\"metric\":\"time\";\"callpath\":\"a;b\";\"value\":1.5e-7}\n\
                {\"parameters\":{\"n\":200};\"metric\":\"time\";\"callpath\":\"a;b\";\"value\":2.5e-7}\n";
    let imported = good("talpas.txt", text, Format::JsonLines);
    assert_eq!(told(&imported), [one("a_b", &["n"], &[(&[100.0], 150.0), (&[200.0], 250.0)])]);
    let error = bad("talpas.txt", &text.replace("2.5e-7", "NaN"));
    assert!(error.contains("talpas.txt:2:"), "{error}");
}

#[test]
fn benchmarks_of_one_file_may_differ_in_inputs_but_not_one_benchmark() {
    let text = GOOGLE.replace("BM_copy/64/threads:1", "BM_fold/64");
    let error = bad("g.json", &text);
    assert!(error.contains("g.json:5:") && error.contains("other inputs here than above"), "{error}");
}

/// A region that lost a line is refused, since the others would have wrong points.
#[test]
fn a_torn_region_names_both_counts() {
    let text = "PARAMETER n\nPOINTS 1 2 3\nREGION whole\nMETRIC time\nDATA 1\nDATA 2\nDATA 3\nREGION torn\nDATA 1\nDATA 3\n";
    let error = bad("t.txt", text);
    assert!(error.contains("t.txt:8:1") && error.contains("`torn` has 2 DATA lines for 3 POINTS"), "{error}");
}

#[test]
fn no_time_is_longer_than_a_century() {
    let error = bad("c.csv", "n,time\n1,1e-5\n2,8126544059662763008\n");
    assert!(error.contains("c.csv:3:1") && error.contains("longer than a century"), "{error}");
}

#[test]
fn statistics_are_no_inputs_of_csv() {
    let csv = "n,stddev,user,time\n1,0.1,0.2,5\n2,0.1,0.2,6\n";
    let error = bad("c.csv", csv);
    assert!(error.contains("`stddev`, `user` read like statistics") && error.contains("--inputs"), "{error}");
    let inputs = Selection { inputs: Some(vec!["n".into()]), ..Selection::default() };
    let imported = read(csv.as_bytes(), "c.csv", None, &inputs).unwrap();
    assert_eq!(told(&imported), [one("c", &["n"], &[(&[1.0], 5e9), (&[2.0], 6e9)])]);
    assert!(imported.notes.contains(&"the columns `stddev`, `user` are not used".to_owned()));
    let wrong = Selection { inputs: Some(vec!["m".into()]), ..Selection::default() };
    assert!(read(csv.as_bytes(), "c.csv", None, &wrong).unwrap_err().to_string().contains("no column `m`"));
}

proptest::proptest! {
    /// Every file is either read or refused.
    #[test]
    fn damaged_results_are_read_or_refused(at in 0usize..900, bytes in proptest::collection::vec(0u8..128, 0..6)) {
        for text in [GOOGLE, HYPERFINE, OSU] {
            let mut damaged = text.as_bytes().to_vec();
            let at = at.min(damaged.len());
            let end = (at + bytes.len()).min(damaged.len());
            damaged.splice(at..end, bytes.iter().copied());
            for format in Format::ALL {
                let _ = read(&damaged, "f", Some(format), &Selection::default());
            }
            let _ = read(&damaged, "f", None, &Selection::default());
        }
    }
}

/// The numbers of names, wherever they stand, and never without effect.
#[test]
fn inputs_take_the_numbers_of_names() {
    let of = |name: &str, inputs: &[&str]| {
        let row = |name: &str| format!("{{\"name\": \"{name}\", \"real_time\": 1, \"time_unit\": \"ns\"}}");
        let text = format!("{{\"context\": {{}}, \"benchmarks\": [{}]}}", row(name));
        let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
        let selection = Selection { inputs: Some(inputs), ..Selection::default() };
        let read = read(text.as_bytes(), "g.json", None, &selection).map_err(|errors| errors.to_string())?;
        let told = told(&read).remove(0);
        Ok::<_, String>((told.0, told.1, told.2[0].0.clone()))
    };
    for (name, inputs, model, values) in [
        ("random_100k", &["n"][..], "random", &[1e5][..]),
        ("sort2/1000/16/4", &["n", "batch", "threads"], "sort2", &[1000.0, 16.0, 4.0]),
        ("gemm/n=512,b=1", &["n", "b"], "gemm", &[512.0, 1.0]),
        ("gemm/512_1", &["n", "b"], "gemm", &[512.0, 1.0]),
        ("gemm_n512_b1", &["n", "b"], "gemm", &[512.0, 1.0]),
        ("copy/size=64KB", &["size"], "copy", &[65_536.0]),
        ("copy/64kB", &["size"], "copy", &[64_000.0]),
        ("copy/2^9", &["n"], "copy", &[512.0]),
        ("copy_1e3", &["n"], "copy", &[1e3]),
        ("gemm_m1_n16", &["n", "m"], "gemm", &[16.0, 1.0]),
        ("md5/1024/8_avx512", &["n", "w"], "md5_avx512", &[1024.0, 8.0]),
        ("sha256", &["n"], "sha", &[256.0]),
    ] {
        let names: Vec<String> = inputs.iter().map(|input| (*input).to_owned()).collect();
        assert_eq!(of(name, inputs), Ok((model.to_owned(), names, values.to_vec())), "{name}");
    }
    let why = of("fold", &["n"]).unwrap_err();
    assert!(why.contains("--inputs n: no name has a number of its own; the first is `fold`"), "{why}");
    // Without the option a word says what it would do.
    let row = |n: u32| format!("{{\"name\": \"fold_{n}k\", \"real_time\": 1, \"time_unit\": \"ns\"}}");
    let rows: Vec<String> = (1..=3).map(row).collect();
    let text = format!("{{\"context\": {{}}, \"benchmarks\": [{}]}}", rows.join(","));
    let notes = good("g.json", &text, Format::GoogleBenchmark).notes;
    assert!(notes.iter().any(|note| note.contains("3 benchmarks differ only in numbers")), "{notes:?}");
}

#[test]
fn airspeed_velocity() {
    let text = r#"{"result_columns": ["result", "params", "samples"], "version": 2, "results": {
      "s.Sort.time_sort": [[1e-6, 2e-6, NaN, 4e-6], [["64", "128"], ["'a'", "'b'"]], [[1e-6, 3e-6], null, null, [4e-6]]],
      "s.Sort.peakmem_sort": [[5.0], []]}}"#;
    let imported = good("a.json", text, Format::Asv);
    let rows = [&[(&[64.0][..], 1000.0), (&[64.0], 3000.0)][..], &[(&[64.0], 2000.0), (&[128.0], 4000.0)]];
    let [a, b] = ["a", "b"].map(|kind| format!("s_Sort_time_sort_{kind}"));
    assert_eq!(told(&imported), [one(&a, &["n"], rows[0]), one(&b, &["n"], rows[1])]);
    let notes = imported.notes.join("\n");
    assert!(notes.contains("they failed or were skipped") && notes.contains("measure no time"), "{notes}");
    assert!(bad("a.json", &text.replace("[\"result\",", "[7,")).contains("a.json:1:"));
}

#[test]
fn benchmark_dot_net() {
    let text = r#"{"HostEnvironmentInfo": {}, "Benchmarks": [
      {"Method": "Walk", "Parameters": "N=100&Kind=a", "Statistics": {"OriginalValues": [5.0, 6.0], "Mean": 5.5}},
      {"Method": "Walk", "Parameters": "N=200&Kind=a", "Statistics": {"Mean": 7}},
      {"Method": "Walk", "Parameters": "N=300&Kind=a", "Statistics": null}]}"#;
    let imported = good("b.json", text, Format::DotNet);
    let rows: &[(&[f64], f64)] = &[(&[100.0], 5.0), (&[100.0], 6.0), (&[200.0], 7.0)];
    assert_eq!(told(&imported), [one("Walk_Kind_a", &["N"], rows)]);
    assert!(bad("b.json", &text.replace("7}", "-7}")).contains("no time is below zero"));
    let csv = "\u{feff}Method,Job,LaunchCount,N,Mean,Error,StdDev,Allocated\n\
               Walk,Default,3,100,\"1,234.5 μs\",1 ns,1 ns,8 B\nWalk,Default,3,200,7 ns,1 ns,1 ns,8 B\n\
               Walk,Default,3,300,NA,NA,NA,NA\n";
    let imported = good("b.csv", csv, Format::DotNet);
    assert_eq!(told(&imported), [one("Walk", &["N"], &[(&[100.0], 1_234_500.0), (&[200.0], 7.0)])]);
    assert!(bad("b.csv", &csv.replace("7 ns", "7 parsecs")).contains("b.csv:3:1: `7 parsecs` is not a time"));
    // A decimal comma is one where semicolons separate cells, and elsewhere no thousand.
    let german = "Method;N;Mean;Error;StdDev\nSort;100;1,30 us;0 us;0 us\nSort;200;1.305,50 us;0 us;0 us\n";
    let rows: &[(&[f64], f64)] = &[(&[100.0], 1300.0), (&[200.0], 1_305_500.0)];
    assert_eq!(told(&good("b.csv", german, Format::DotNet)), [one("Sort", &["N"], rows)]);
    let torn = "Method,N,Mean,Error,StdDev\nSort,100,\"1,30 us\",0 us,0 us\n";
    assert!(bad("b.csv", torn).contains("`1,30 us` is not a time"));
    // Jobs, classes and texts tell rows of one method apart; a unit may stand in the header.
    let jobs = "Type,Method,Job,Affinity,Mode,N,Mean [us],Error [us],StdDev [us]\n\
                A,Sort,net8,0000000011,x,100,1.5,0,0\nA,Sort,net9,0000000011,x,100,2.5,0,0\n";
    let [old, new] = [("net8", 1500.0), ("net9", 2500.0)]
        .map(|(job, ns)| one(&format!("Sort_{job}"), &["N"], &[(&[100.0], ns)]));
    assert_eq!(told(&good("b.csv", jobs, Format::DotNet)), [old, new]);
    let jobs =
        text.replace("\"Method\"", "\"DisplayInfo\": \"A.Walk: JOB [..]\", \"Type\": \"A\", \"Method\"");
    let jobs = jobs.replacen("JOB", "net8", 1).replace("JOB", "net9");
    let names: Vec<String> =
        told(&good("b.json", &jobs, Format::DotNet)).into_iter().map(|told| told.0).collect();
    assert_eq!(names, ["Walk_net8_Kind_a", "Walk_net9_Kind_a"]);
}

#[test]
fn nccl_tests() {
    let text = "# nccl-tests version 2.18\n# Collective test starting: all_reduce_perf\n\
                #       size  count   type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong\n\
                #        (B)                            (us)\n\
                8  2  float  sum  -1  14.5  0.0  0.0  0  99  0.0  0.0  0\n16  4  float  sum  -1  15  0  0  0  99  0  0  0\n";
    let imported = good("n.txt", text, Format::Nccl);
    assert_eq!(told(&imported), [one("all_reduce", &["bytes"], &[(&[8.0], 14_500.0), (&[16.0], 15_000.0)])]);
    assert!(bad("n.txt", &text.replace("14.5", "much")).contains("n.txt:5:"));
}

/// What is no format says what is read, whatever its name; a table of names and numbers is CSV.
#[test]
fn what_is_no_format_says_what_is_read() {
    for (name, text) in [
        ("a.json", "{\"a\": 1}"),
        ("a.starpu", "# a codelet\n45\n1\n"),
        ("a.out", "2 1 36.94(0.55)\n"),
        ("a", "[]"),
    ] {
        let why = bad(name, text);
        assert!(
            why.contains("no format that is read (samples, ") && why.contains("CSV file with a header"),
            "{why}"
        );
    }
    let imported = good("a.out", "n;time\n1;2\n2;3\n", Format::Csv);
    assert_eq!(told(&imported), [one("a", &["n"], &[(&[1.0], 2e9), (&[2.0], 3e9)])]);
    // Samples with a fault have the message about it.
    assert!(bad("s.txt", "model Clear length\nClear much 1\n").contains("s.txt:2:"));
}

const KERNEL_TUNER: &str = r#"{
"device_name": "A4000", "kernel_name": "add", "problem_size": 1000, "tune_params_keys": ["x", "how"],
"tune_params": {"x": [32, 64], "how": ["a"]}, "objective": "time",
"cache": {
"32,a": {"x": 32, "how": "a", "time": 0.5, "times": [0.4, 0.6], "compile_time": 440.9},
"64,a": {"x": 64, "how": "a", "time": "InvalidConfig"},
"#;

#[test]
fn kernel_tuner_whose_file_is_still_open() {
    let expected = [one("add_a", &["x"], &[(&[32.0], 400_000.0), (&[32.0], 600_000.0)])];
    let imported = good("cache.json", KERNEL_TUNER, Format::KernelTuner);
    assert_eq!(told(&imported), expected);
    let notes = imported.notes.join("\n");
    assert!(notes.contains("tuning had not ended") && notes.contains("the configuration failed"), "{notes}");
    let closed = format!("{}}}}}", KERNEL_TUNER.trim_end().trim_end_matches(','));
    assert_eq!(told(&good("cache.json", &closed, Format::KernelTuner)), expected);
    let error = bad("cache.json", &KERNEL_TUNER.replace("\"times\": [0.4", "\"times\": [0.4;"));
    assert!(error.contains("cache.json:5:") && error.contains("Kernel Tuner's JSON"), "{error}");
}

const STARPU: &str = "##################\n# Performance Model Version\n45\n\n#####\n# Model for cpu0_impl0 (Comb0)\n\
    # number of entries\n2\n# not multiple-regression-base\n0\n\
    # hash\t\tsize\t\tflops\t\tmean (us)\tdev (us)\tsum\t\tsum2\t\tn\n\
    00005a10\t3145728\t2.7e+08\t4.1e+01\t2.1e+00\t3.3e+04\t1.3e+06\t812\n\
    0000b6dd\t28311552\t7.2e+09\t8.9e+03\t2.4e+04\t6.8e+05\t5.0e+10\t77\n";

#[test]
fn starpu() {
    let imported = good("codelet.45", STARPU, Format::StarPu);
    let rows: &[(&[f64], f64)] = &[(&[3_145_728.0, 2.7e8], 41_000.0), (&[28_311_552.0, 7.2e9], 8_900_000.0)];
    assert_eq!(told(&imported), [one("cpu0_impl0", &["size", "flops"], rows)]);
    assert!(imported.notes.iter().any(|note| note.contains("0000b6dd")), "{:?}", imported.notes);
    let error = bad("codelet.45", &STARPU.replace("4.1e+01", "nan"));
    assert!(error.contains("codelet.45:12:"), "{error}");
}

const NANOBENCH: &str = r#"{"results": [
 {"title": "maps", "name": "insert", "unit": "op", "batch": 1, "complexityN": 10, "median(elapsed)": 2e-7,
  "measurements": [{"iterations": 30, "elapsed": 1.5e-7}, {"iterations": 30, "elapsed": 2.5e-7}]},
 {"title": "maps", "name": "find", "complexityN": -1, "median(elapsed)": 3e-8, "measurements": []}]}"#;

#[test]
fn nanobench() {
    let imported = good("n.json", NANOBENCH, Format::Nanobench);
    let insert = one("insert", &["n"], &[(&[10.0], 150.0), (&[10.0], 250.0)]);
    assert_eq!(told(&imported), [insert, one("find", &[], &[(&[], 30.0)])]);
    let error = bad("n.json", &NANOBENCH.replace("1.5e-7", "-1.5e-7"));
    assert!(error.contains("n.json:2:") && error.contains("no time is below zero"), "{error}");
    let error = bad("n.json", &NANOBENCH[..180]);
    assert!(error.contains("truncated"), "{error}");
}
