//! Criterion's folder, of which the last run counts.

use strata_interchange::{Selection, read_criterion};

#[test]
fn the_last_run_of_a_folder_is_read() {
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
    let read = |selection: &Selection| read_criterion(folder.path(), selection).unwrap().samples;
    // Two numbers in one text are inputs only with `--inputs`.
    assert_eq!(read(&Selection::default()).models[0].name, "fold_serial_1024x64");
    let named = Selection { inputs: Some(vec!["n".into(), "width".into()]), ..Selection::default() };
    let [model] = &read(&named).models[..] else { panic!("one benchmark") };
    // Not of the run before.
    let rows = model.rows.iter().map(|row| (&row.values[..], (1e9 * row.seconds).round()));
    assert!(rows.eq([(&[1024.0, 64.0][..], 300.0), (&[1024.0, 64.0], 400.0)]), "{model:?}");
    write("fold/serial/1024x64/new/sample.json", "{\"iters\":[0.0],\"times\":[1.0]}");
    assert!(read_criterion(folder.path(), &named).unwrap_err().contains("1024x64"));
}
