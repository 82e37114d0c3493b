//! The page, the residual file and the JSON, on a small set with hostile names.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod cases;

use strata_fit::{FitOptions, fit_samples};
use strata_model::set::{Mode, Verdict};
use strata_model::{ModelSet, Samples};
use strata_report::{Curves, figures, fit_json, residuals_to};

use cases::{Case, SAMPLES, empty, every_kind, hostile, many};

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
    let page = hostile().text();
    assert_well_formed(&page);
    // Curves for two widths; a map for both, with keys of two candidates, of the hatching and of
    // white; and the plots: against each other, the prediction, the input, counts.
    assert_eq!(page.matches("<svg ").count(), 2 + 2 + 4 + 4);
    for absent in ["<script", "<b>", "<i>", "href=\"http", "src=", "url(", "@import", "NaN"] {
        assert!(!page.contains(absent), "{absent}");
    }
    for present in ["a&amp;b&lt;c&gt;.spec", "verified", "sha256 abab", "2 were preempted", "keys &lt;x&gt;"]
    {
        assert!(page.contains(present), "{present}");
    }
    assert_eq!(page, hostile().text(), "the page is reproducible");
}

/// Times without models are not said to be predicted.
#[test]
fn measured_times_are_a_page_of_their_own() {
    let measured = Curves { caption: Some("As <measured>.".into()), ..hostile().curves.remove(0) };
    let page = figures("A & B", "here", std::slice::from_ref(&measured));
    assert_well_formed(&page);
    assert!(page.contains("As &lt;measured&gt;.") && page.contains("<h1>A &amp; B</h1>"));
    assert!(!page.to_lowercase().contains("predicted time") && hostile().text().contains("redicted time"));
}

#[test]
fn an_empty_set_still_makes_a_page() {
    let page = empty().text();
    assert_well_formed(&page);
    assert!(page.contains("The map has no cells") && page.contains("There are no models"));
}

#[test]
fn every_kind_of_model_has_what_is_to_be_said_of_it() {
    let case = every_kind();
    let page = case.text();
    assert_well_formed(&page);
    let section = |name: &str| {
        let from = page.find(&format!("<h3 id=\"model-{name}\"")).unwrap();
        &page[from..from + page[from..].find("</section>").unwrap()]
    };
    for (name, verdict) in [("Verified", "verified"), ("Unverified", "unverified"), ("Failed", "failed")] {
        let (text, link) = (section(name), format!("href=\"#model-{name}\""));
        assert!(page.contains(&link), "{link}");
        for part in [
            &format!("<span class=\"verdict {verdict}\">"),
            "class=\"equation\"",
            "95 % interval",
            "Validity domain",
            "Observed against predicted",
            "Relative error against",
        ] {
            assert!(text.contains(part), "{name}: {part}");
        }
        let histogram = text.contains("errors of the samples held out");
        assert_eq!(histogram, name != "Unverified", "{name}");
    }
    assert!(section("Unverified").contains("nothing verifies it"));
    assert!(section("OneValue").contains("one only"));
    assert!(section("Formula").contains("Verified(n) + 2*Unverified(n)"));
    // What cannot be fitted is told, though it has no section.
    assert!(!page.contains("model-OneSample") && page.contains("<strong>1</strong> without a fit"));
    assert!(page.contains("`OneSample`"), "{:?}", case.failures);
}

#[test]
fn doubts_stand_in_the_summary() {
    let mut case = hostile();
    case.set.models[0].verdict = Verdict::Doubtful;
    case.set.models[0].doubts = vec!["one <reason>".into(), "another".into()];
    let page = case.text();
    assert_well_formed(&page);
    assert!(page.contains("<strong>1</strong> doubtful"));
    assert!(page.contains("doubtful</span>: one &lt;reason&gt;; another</td>"));
}

#[test]
fn what_a_plot_cannot_show_is_told() {
    let times: String =
        (0..12).map(|n| format!("{}A {n}e-6 {n}\n", if n % 4 == 0 { "@" } else { "" })).collect();
    let options = FitOptions { mode: Mode::Absolute, ..FitOptions::default() };
    let page = Case::fitted(&format!("strata-samples 1\nmodel A n\n{times}"), &options).text();
    assert_well_formed(&page);
    assert!(page.contains("1 sample cannot be drawn on these axes"), "{page}");
}

#[test]
fn coefficients_have_their_intervals_and_dropped_terms_say_so() {
    let case = hostile();
    let page = case.text();
    let model = &case.set.models[0];
    let dropped = model.terms.iter().filter(|t| t.coefficient == 0.0).count();
    assert!(dropped > 0 && dropped < model.terms.len(), "the test wants both: {:?}", model.terms);
    assert_eq!(page.matches(">dropped<").count(), dropped);
    for t in model.terms.iter().filter(|t| t.coefficient != 0.0) {
        let interval =
            format!("{:.3e} to {:.3e}", t.coefficient - t.half_width, t.coefficient + t.half_width);
        assert!(page.contains(&interval), "{interval}");
    }
}

#[test]
fn unsure_choices_are_hatched_and_counted() {
    let mut case = hostile();
    let hatched = |case: &Case| case.text().matches("<polyline").count();
    let page = case.text();
    assert!(page.contains("In 1 of 5 fields (hatched)") && page.contains("cost 10 % of"), "{page}");
    assert!(page.contains("sample:11<br>1.00 µs<br>70 %"));
    let with = hatched(&case);
    for cell in case.maps[0].cells.iter_mut().flatten() {
        cell.odds = cell.odds.map(|odds| strata_select::Odds { fastest: 1.0, ..odds });
    }
    assert_eq!(hatched(&case), with - 2, "on wide and on narrow screens");
    let page = case.text();
    assert!(
        page.contains("Where a model covers the point it is the fastest with a probability of at least 95 %")
    );
    assert!(
        page.contains("white: the first that &lt;applies&gt;") && page.contains("sample:11<br>not measured")
    );
    for cell in case.maps[0].cells.iter_mut().flatten() {
        cell.odds = None;
    }
    assert!(case.text().contains("is not known"));
    for cell in case.maps[0].cells.iter_mut().flatten() {
        cell.seconds = Err("far away".into());
    }
    assert!(case.text().contains("No model covers any of these points"));
}

#[test]
fn curves_show_every_candidate_its_samples_and_where_none_predicts() {
    let mut case = hostile();
    let page = case.text();
    assert_well_formed(&page);
    assert!(page.contains("Predicted time against length at width = 7"));
    assert!(page.contains("cl&lt;ea&gt;r") && page.contains(">by&lt;words&gt;</text>"));
    assert!(!page.contains("not measured</text>") && !page.contains(">not measured</th>"));
    // The second candidate predicts at 16 and no more at 32.
    assert!(page.contains("16</th><td class=\"n\">16.0 µs</td><td class=\"n\">48.0 µs</td>"), "{page}");
    assert!(page.contains("32</th><td class=\"n\">32.0 µs</td><td class=\"n\">–</td>"));
    let told = |case: &Case| case.text().matches("by&lt;words&gt;: length = ").count();
    assert_eq!(told(&case), 2 * 2, "in the plots for wide and for narrow screens");
    case.curves[0].curves[0].measured.clear();
    assert_eq!(told(&case), 0);
    case.curves[0].curves.iter_mut().for_each(|curve| curve.predicted.clear());
    assert!(!case.text().contains("Predicted time against length"));
}

#[test]
fn plots_mark_crossings_and_judged_choices_and_samples_tell_their_inputs() {
    let page = hostile().text();
    assert!(page.contains("<title>from length = 5 on by&lt;words&gt;:4..7 instead of by bytes</title>"));
    assert!(page.contains(">5.5</text>") && page.contains(">40</text>"));
    assert!(page.contains("<title>length = 100, width = 9: choosing by&lt;words&gt;:7 lost 30 %</title>"));
    let lost = |what: &str| page.matches(&format!("<path class=\"{what}\"")).count();
    assert_eq!((lost("judged"), lost("lost")), (2, 2 * 2), "in the plots for wide and for narrow screens");
    assert!(page.contains("<title>length = 10: 1.01 µs, predicted 1.004 µs</title>"));
    // Without a pointer.
    assert!(page.contains("<th scope=\"row\">length = 100, width = 9</th>"));
    assert!(page.contains("<th scope=\"row\">length = 50: 5 µs, predicted"), "{page}");
    assert!(page.contains("width = 8: <code>by bytes &lt; 900 &lt; by&lt;words&gt;:4..7</code>"));
}

#[test]
fn it_is_told_which_samples_would_help() {
    let mut case = hostile();
    let page = case.text();
    assert!(
        page.contains("within noise at</p>\n<ul>\n<li>length = 4 to 6 (by&lt;words&gt; or by bytes)</li>")
    );
    assert!(
        page.contains("lose 2 % of the time; with the best samples")
            && page.contains("Clear at e = 4; Clear at e = 7, it is 1 %.")
    );
    case.help[0].loss = Some((1e-4, 1e-5));
    assert!(case.text().contains("less than 0.1 % of the time: hardly any is worth its time"));
    case.help[0].samples.clear();
    assert!(!case.text().contains("0.1 % of the time"));
    case.help.clear();
    assert!(!case.text().contains("samples would help"));
}

#[test]
fn very_many_samples_are_thinned_out_and_the_page_says_so() {
    let few = many(1, 400).text();
    assert!(!few.contains("those with the greatest errors among them"));
    let page = many(1, 4000).text();
    assert_well_formed(&page);
    assert!(page.contains("of 4000 samples are drawn, those with the greatest errors among them"));
    assert!(page.contains("Fitted to 3000 samples"), "tables count all");
    assert!(page.len() < 3 * few.len(), "{} against {}", page.len(), few.len());
    let hundreds = many(300, 60).text();
    assert_well_formed(&hundreds);
    assert!(hundreds.len() < 300 * 45_000, "{}", hundreds.len());
}

#[test]
fn residuals_are_a_table_that_reads_back() {
    let samples = Samples::parse(SAMPLES, "test").unwrap();
    let fitted: Vec<_> =
        fit_samples(&samples, &FitOptions::default()).into_iter().map(Result::unwrap).collect();
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
    let fitted: Vec<_> =
        fit_samples(&samples, &FitOptions::default()).into_iter().map(Result::unwrap).collect();
    let models = fitted.iter().map(|f| f.model.clone()).collect();
    let text = fit_json(&ModelSet { models, ..ModelSet::default() });
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
