//! What `specc platform` prints, whole.

use std::path::Path;

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/platform");

#[test]
fn faults_read_well() {
    insta::glob!("../platform", "*.toml", |path| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let (status, out, err) = crate::specc(Path::new(HERE), "1000", &["platform", "check", name]);
        assert_eq!((status, &*out), (Some(1), ""));
        insta::assert_snapshot!(err);
    });
}

#[test]
fn the_cm5s_limits_are_shown() {
    let (status, out, err) = crate::specc(Path::new(HERE), "1000", &["platform", "show", "cm5"]);
    assert_eq!((status, &*err), (Some(0), ""));
    insta::assert_snapshot!(out);
}
