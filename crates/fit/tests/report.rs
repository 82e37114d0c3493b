//! The page, the residual file and the JSON, on a small set with hostile names.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use strata_fit::report::{Axis, Cell, Map, html};
use strata_fit::{Options, fit_samples, json::fit_json, residuals_to};
use strata_model::set::{Library, Model};
use strata_model::{ModelSet, Samples};

const SAMPLES: &str = "strata-samples 1\n\
    platform threads nodes=4 cores=2 cpu=\"A <b>&'fast' CPU\" cache=\"L1d:32K\" os=linux arch=x86_64\n\
    spec specs/a&b<c>.spec sha256=00ff\n\
    model Clear length logP length*logP max(0,length-100)\n\
    Clear 1.01e-6 10 2 20 0\nClear 2.0e-6 20 2 40 0\nClear 4.02e-6 40 2 80 0\nClear 8.0e-6 80 2 160 0 ; repeats=3 preempted=2\n\
    Clear 16.1e-6 160 2 320 60\nClear 32e-6 320 2 640 220\n@Clear 5.0e-6 50 2 100 0\n@Clear 21e-6 210 2 420 110\n";

fn set_of(samples: &Samples, models: Vec<Model>) -> ModelSet {
    ModelSet {
        platform: samples.platform.clone(),
        spec: samples.spec.clone(),
        samples_sha256: "ab".repeat(32),
        models,
        libraries: vec![Library {
            name: "clear".into(),
            inputs: vec!["length".into()],
            candidates: Vec::new(),
        }],
    }
}

fn map() -> Map {
    let cell = |winner| Some(Cell { winner, parameters: vec![11], seconds: 1e-6 });
    Map {
        library: "sort <i>".into(),
        fixed: "P = 4 & more".into(),
        x: Axis { name: "keys <x>".into(), values: vec![16.0, 1024.0, 1_048_576.0] },
        y: Axis { name: "width".into(), values: vec![8.0, 64.0] },
        candidates: vec!["radix".into(), "sample".into()],
        parameters: vec![vec!["bits".into()], Vec::new()],
        cells: vec![vec![cell(0), cell(1), None], vec![cell(1), cell(1), cell(0)]],
    }
}

/// Elements open and close in order; attributes are quoted; no stray `<` or `&`.
fn assert_well_formed(html: &str) {
    const VOID: [&str; 2] = ["meta", "br"];
    let body = html.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        for entity in rest[..at].split('&').skip(1) {
            let name = entity.split(';').next().unwrap();
            assert!(entity.contains(';') && name.len() <= 6, "bare & before {entity:?}");
        }
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert!(!tag.contains('<'), "{tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap().trim_end_matches('/');
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_page_is_well_formed_and_keeps_to_itself() {
    let samples = Samples::parse(SAMPLES, "test").unwrap();
    let fitted: Vec<_> = fit_samples(&samples, &Options::default()).into_iter().map(Result::unwrap).collect();
    let residuals: Vec<_> = fitted.iter().flat_map(|f| f.residuals.clone()).collect();
    let set = set_of(&samples, fitted.iter().map(|f| f.model.clone()).collect());
    let page = html(&set, &samples, &residuals, &[map()]);
    if let Ok(path) = std::env::var("STRATA_KEEP_REPORT") {
        std::fs::write(path, &page).unwrap();
    }
    assert_well_formed(&page);
    assert_eq!(page.matches("<svg ").count(), 3);
    for absent in ["<script", "<b>", "<i>", "href=\"http", "src=", "url(", "@import"] {
        assert!(!page.contains(absent), "{absent}");
    }
    for present in
        ["a&amp;b&lt;c&gt;.spec", "verified", "sha256 abab", "2 preempted timings", "keys &lt;x&gt;"]
    {
        assert!(page.contains(present), "{present}");
    }
    assert_eq!(page, html(&set, &samples, &residuals, &[map()]), "the page is reproducible");
}

#[test]
fn an_empty_set_still_makes_a_page() {
    let empty = Map { cells: Vec::new(), y: Axis { name: "y".into(), values: Vec::new() }, ..map() };
    let page = html(&ModelSet::default(), &Samples::default(), &[], &[empty]);
    assert_well_formed(&page);
    assert!(page.contains("The map has no cells"));
}

#[test]
fn residuals_are_a_table_that_reads_back() {
    let samples = Samples::parse(SAMPLES, "test").unwrap();
    let fitted: Vec<_> = fit_samples(&samples, &Options::default()).into_iter().map(Result::unwrap).collect();
    let mut out = Vec::new();
    residuals_to(&mut out, &fitted).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "strata-residuals 1");
    assert_eq!(lines[1], "# model\tverify\tobserved\tpredicted\trelative_error\tlength");
    assert_eq!(lines.len(), 2 + 8);
    let fields: Vec<&str> = lines[8].split('\t').collect();
    assert_eq!((fields[0], fields[1], fields[2], fields[5]), ("Clear", "@", "5e-6", "50"));
    assert_eq!(fields[3].parse::<f64>().unwrap(), fitted[0].residuals[6].predicted);
}

#[test]
fn json_holds_what_the_model_holds() {
    let samples = Samples::parse(SAMPLES, "test").unwrap();
    let fitted: Vec<_> = fit_samples(&samples, &Options::default()).into_iter().map(Result::unwrap).collect();
    let text = fit_json(fitted.iter().map(|f| &f.model));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (json, model) = (&value["models"][0], &fitted[0].model);
    assert_eq!((json["name"].as_str(), json["mode"].as_str()), (Some("Clear"), Some("relative")));
    assert_eq!((json["verified"].as_bool(), json["rank"].as_u64()), (Some(true), Some(model.rank as u64)));
    for (j, t) in json["terms"].as_array().unwrap().iter().zip(&model.terms) {
        assert_eq!(j["term"].as_str(), Some(t.term.as_str()));
        assert!(text.contains(&format!("\"coefficient\": {:?}", t.coefficient)), "{t:?} in {text}");
    }
    assert_eq!(json["mre_fit"].as_f64(), Some(model.mre_fit));
}
