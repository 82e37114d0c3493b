//! The samples format: the thesis's own rows, torn and mistyped files, and the way there and back.

use proptest::prelude::*;
use strata_model::expr::is_name;
use strata_model::samples::{
    Column, ModelSamples, Notes, Ratio, Sample, Samples, SamplesWriter, SpecId, Timing, WORDS,
};
use strata_model::{Platform, number_text};

/// Brewer 1994, Fig 3-7, under its structure line.
const FIGURE_3_7: &str = "\
CombineVector length logP length*logP
CombineVector .00005784 1 4 4
CombineVector .00006927 2 4 8
CombineVector .00008853 4 4 16
CombineVector .00013707 8 4 32
CombineVector .00023070 16 4 64
CombineVector .00042423 32 4 128
CombineVector .00084327 64 4 256
CombineVector .00167703 128 4 512
CombineVector .00335283 256 4 1024
CombineVector .00669810 512 4 2048
CombineVector .01339074 1024 4 4096
CombineVector .02677662 2048 4 8192
@CombineVector .00061532 431 4 1724
@CombineVector .00010412 71 4 284
@CombineVector .01598114 11252 4 45008
@CombineVector .01332716 9383 4 37532
@CombineVector .01866778 13144 4 52576
";

#[test]
fn the_thesis_fragment_reads_as_printed() {
    for text in [
        FIGURE_3_7.to_owned(),
        format!("model {FIGURE_3_7}"),
        FIGURE_3_7.replace('\n', "\r\n"),
        format!("\u{feff}{FIGURE_3_7}"),
    ] {
        let samples = Samples::parse(&text, "fig-3-7").unwrap();
        assert_eq!(
            (samples.platform.is_none(), samples.spec.is_none(), samples.models.len()),
            (true, true, 1)
        );
        let model = samples.model("CombineVector").unwrap();
        let columns: Vec<_> = model.columns.iter().map(|column| column.text.as_str()).collect();
        assert_eq!(columns, ["length", "logP", "length*logP"]);
        assert_eq!(model.inputs().map(|(place, _)| place).collect::<Vec<_>>(), [0]);
        assert_eq!((model.rows.len(), model.rows.iter().filter(|row| row.verify).count()), (17, 5));
        let last = &model.rows[16];
        assert_eq!(
            (last.seconds, &last.values[..], last.line, last.verify),
            (0.01866778, &[13144.0, 4.0, 52576.0][..], 18, true)
        );
    }
    // A handwritten file without a line end after the last row.
    assert_eq!(Samples::parse(FIGURE_3_7.trim_end(), "fig-3-7").unwrap().models[0].rows.len(), 17);
}

#[test]
fn the_full_form_reads() {
    let text = "\
strata-samples 1
# by hand
platform threads nodes=4 cores=2 cpu=\"AMD EPYC; 7\" cache=\"L1d:32K\" os=linux arch=x86_64
spec specs/my sorts/radix.spec sha256=00ff

model Radix (keys) bits max(0,keys-32768) (2^bits)
Radix 1e-3 100 8 0 256 ; at=100,8 repeats=3 spread=0.021 preempted=1 hot=2.4,0.2
@Radix NaN 100 8 inf 256
";
    let samples = Samples::parse(text, "x").unwrap();
    assert_eq!(samples.platform.as_ref().unwrap().cpu, "AMD EPYC; 7");
    assert_eq!(
        samples.spec,
        Some(SpecId { path: "specs/my sorts/radix.spec".into(), sha256: "00ff".into() })
    );
    let model = &samples.models[0];
    let expected = [
        Column::input("keys"),
        Column::term("bits"),
        Column::term("max(0,keys-32768)"),
        Column::input("2^bits"),
    ];
    assert_eq!(model.columns, expected);
    assert_eq!(model.inputs().count(), 2);
    assert_eq!(
        model.rows[0].notes,
        Notes {
            nodes: 4,
            at: vec![100, 8],
            repeats: 3,
            spread: 0.021,
            preempted: 1,
            hot: Some(Ratio { median: 2.4, spread: 0.2 }),
            ..Notes::default()
        }
    );
    assert!(model.rows[1].seconds.is_nan() && model.rows[1].values[2].is_infinite());
}

#[test]
fn every_bad_line_is_named() {
    let mut all = String::new();
    for text in include_str!("../bad-rows.txt").split("==\n").skip(1) {
        all += &format!("==\n{text}\n{}\n", Samples::parse(text, "bad.txt").unwrap_err());
    }
    insta::assert_snapshot!(all);
}

#[test]
fn many_bad_lines_are_counted() {
    let errors = Samples::parse(&format!("model A x\n{}", "A x 1\n".repeat(50)), "f").unwrap_err();
    assert_eq!((errors.errors.len(), errors.errors[0].alike, errors.more), (1, 49, 0));
    assert!(errors.to_string().ends_with("(and 49 more like it)"));
    let others: String = (0..50).map(|i| format!("Other{i} 1 2\n")).collect();
    let errors = Samples::parse(&format!("model A x\n{others}"), "f").unwrap_err();
    assert_eq!((errors.errors.len(), errors.more), (20, 30));
    assert!(errors.to_string().ends_with("and 30 more bad lines"));
}

#[test]
fn torn_files_are_noticed() {
    let text = "strata-samples 1\nmodel A x\nA 1e-3 17\nA 2e-3 1";
    let error = Samples::parse(text, "a.txt").unwrap_err().to_string();
    assert_eq!(error, "a.txt:4:9: the file ends in the middle of this line: it was truncated; measure again");
    let partial = Samples::parse_partial(text, "a.txt").unwrap();
    assert!(partial.torn);
    assert_eq!((partial.samples.models[0].rows.len(), &text[partial.bytes..]), (1, "A 2e-3 1"));
    let whole = Samples::parse_partial(&text[..partial.bytes], "a.txt").unwrap();
    assert!(!whole.torn);
    // Only the last line may be torn.
    assert!(Samples::parse_partial("model A x\nA 1\nA 1 1\n", "a.txt").is_err());
    // An empty file can be continued, too.
    assert_eq!(Samples::parse_partial("", "a.txt").unwrap().samples, Samples::default());
}

#[test]
fn what_is_no_samples_file_is_refused() {
    let bytes = Samples::read(&b"model A x\nA \xff\xfe 1\n"[..], "f").unwrap_err().to_string();
    assert_eq!(bytes, "f:2:3: this is not text (UTF-8): is it a samples file?");
}

#[test]
fn the_writer_refuses_what_would_not_read_back() {
    let mut writer = SamplesWriter::new(Vec::new());
    assert!(writer.model("two words", &[]).is_err());
    assert!(writer.model("A", &[Column::term("a b")]).is_err());
    assert!(writer.sample("A\nB", &Sample::default()).is_err());
    let spec = SpecId { path: "a\nb".into(), sha256: "00".into() };
    assert!(writer.header(None, Some(&spec)).is_err());
    assert!(writer.into_inner().is_empty());
}

fn any_sample(columns: usize) -> impl Strategy<Value = Sample> {
    let notes = (prop::collection::vec(any::<i64>(), 0..3), any::<u32>(), 0.0..1e9_f64, any::<[u32; 2]>());
    let timing = (0.0..1.0_f64, 0.0..1e4_f64).prop_map(|(seconds, moment)| Timing { seconds, moment });
    let ratio = || {
        let ratio = (0.0..1e3_f64, 0.0..2.0_f64).prop_map(|(median, spread)| Ratio { median, spread });
        prop::option::of(ratio)
    };
    let notes = (notes, ratio(), ratio(), prop::collection::vec(timing, 0..4)).prop_map(
        |((at, repeats, spread, [preempted, draws]), hot, replayed, timings)| Notes {
            nodes: 0,
            at,
            repeats,
            spread,
            preempted,
            draws,
            hot,
            replayed,
            timings,
        },
    );
    let notes = prop_oneof![Just(Notes::default()), notes];
    (any::<bool>(), any::<f64>(), prop::collection::vec(any::<f64>(), columns), notes)
        .prop_map(|(verify, seconds, values, notes)| Sample { verify, seconds, values, notes, line: 0 })
}

#[test]
fn how_to_fit_is_said_once_and_a_model_may_be_called_fit() {
    let samples = Samples::parse("model M n\nfit M robust  huber\nfit M robust huber\nM 1 2\n", "f").unwrap();
    assert_eq!(samples.models[0].fit, "robust huber");
    let samples = Samples::parse("fit n\nfit 1 2\nfit 2 4\n", "f").unwrap();
    assert_eq!((samples.models[0].name.as_str(), samples.models[0].rows.len()), ("fit", 2));
}

#[test]
fn a_model_may_be_called_like_any_word_of_the_format() {
    let names: Vec<&str> = WORDS.into_iter().filter(|word| is_name(word)).collect();
    assert_eq!(names, ["platform", "spec", "busy", "launch", "model", "fit", "unit"]);
    let platform = "platform threads nodes=2 cores=2 cpu=x cache=\"\" os=linux arch=x";
    for name in names {
        // As a run writes it; the platform again, as in files of several numbers of nodes.
        let text = format!(
            "strata-samples 1\n{platform}\nspec 7 sha256=00\nmodel {name} n\nfit {name} absolute\n\
             {name} 1e-3 5 ; at=5 repeats=2\nlaunch at=2.5\n{platform}\n@{name} 2e-3 6\n{name} +inf 7\nmodel Other n\nOther 1 1\n"
        );
        let samples = Samples::parse(&text, "f").unwrap_or_else(|errors| panic!("{errors}"));
        let model = samples.model(name).unwrap();
        let seconds: Vec<f64> = model.rows.iter().map(|row| row.seconds).collect();
        assert_eq!((seconds, model.fit.as_str()), (vec![1e-3, 2e-3, f64::INFINITY], "absolute"), "{name}");
        assert_eq!(samples.launches, [2.5]);
        assert_eq!((samples.models.len(), samples.spec.as_ref().unwrap().path.as_str()), (2, "7"));
        assert_eq!(Samples::parse(&samples.to_text(), "f").unwrap().to_text(), samples.to_text());
    }
}

fn any_samples() -> impl Strategy<Value = Samples> {
    let model = (0..4_usize).prop_flat_map(|columns| {
        let fit = prop::sample::select(vec!["", "absolute", "relative, robust huber, search"]);
        (prop::collection::vec(any::<bool>(), columns), fit, prop::collection::vec(any_sample(columns), 0..6))
    });
    let platform = prop::option::of("\\PC{0,20}".prop_map(|cpu| Platform {
        transport: "mpi".into(),
        hosts: None,
        nodes: 3,
        cpu,
        cores: 2,
        cache: String::new(),
        os: "linux".into(),
        arch: "x86_64".into(),
    }));
    // The words that begin other lines, and names that could be numbers.
    let words = WORDS.into_iter().filter(|word| is_name(word)).chain(["inf", "NaN"]).collect::<Vec<_>>();
    let word = prop::sample::select(words).prop_map(str::to_owned);
    let names = prop::collection::btree_set(prop_oneof!["M[0-9]", word], 4);
    let busy = prop_oneof![Just(0.0), 0.1..8.0];
    let launches = prop::collection::vec(0.1..99.0, 0..3);
    let all = (platform, (busy, launches), names, prop::collection::vec(model, 1..4));
    all.prop_map(|(platform, (busy, mut launches), names, models)| {
        launches.sort_by(f64::total_cmp);
        let nodes = platform.as_ref().map_or(0, |platform| platform.nodes);
        let models = models.into_iter().zip(names).map(|((candidates, fit, mut rows), name)| {
            rows.iter_mut().for_each(|row: &mut Sample| row.notes.nodes = nodes);
            let texts = ["keys", "logP", "keys*logP", "max(0,keys-32768)"];
            let columns = candidates
                .into_iter()
                .zip(texts)
                .map(|(candidate, text)| Column { text: text.into(), candidate });
            // A model may be called `unit`, too.
            let unit = if rows.len() % 2 == 0 { "s" } else { "gas" }.parse().unwrap();
            ModelSamples { name, columns: columns.collect(), unit, fit: fit.into(), rows }
        });
        Samples { platform, spec: None, busy, launches, doubts: Vec::new(), models: models.collect() }
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(samples in any_samples()) {
        let text = samples.to_text();
        let back = Samples::parse(&text, "f").unwrap();
        prop_assert_eq!(back.to_text(), text);
        prop_assert_eq!(&back.platform, &samples.platform);
        for (ours, theirs) in samples.models.iter().zip(&back.models) {
            prop_assert_eq!((&ours.name, &ours.columns), (&theirs.name, &theirs.columns));
            prop_assert_eq!((&ours.fit, &ours.unit), (&theirs.fit, &theirs.unit));
            prop_assert_eq!(ours.rows.len(), theirs.rows.len());
            for (a, b) in ours.rows.iter().zip(&theirs.rows) {
                let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
                prop_assert_eq!(bits(a.seconds), bits(b.seconds));
                prop_assert!(a.values.iter().map(|v| bits(*v)).eq(b.values.iter().map(|v| bits(*v))));
                prop_assert_eq!((&a.notes, a.verify), (&b.notes, b.verify));
            }
        }
    }

    #[test]
    fn a_cut_anywhere_is_noticed_or_harmless(samples in any_samples(), cut in 0.0..1.0_f64) {
        let text = samples.to_text();
        let mut at = (text.len() as f64 * cut) as usize;
        while !text.is_char_boundary(at) { at -= 1; }
        let cut = &text[..at];
        if let Ok(read) = Samples::parse(cut, "f") {
            // Only a cut between two lines, which leaves whole samples, is accepted.
            prop_assert!(cut.ends_with('\n') || !cut.starts_with("strata-samples 1\n"), "{:?}", cut);
            let rows = |samples: &Samples| samples.models.iter().map(|m| m.rows.len()).sum::<usize>();
            prop_assert!(rows(&read) <= rows(&samples));
        }
        prop_assert!(Samples::parse_partial(cut, "f").is_ok());
    }

    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![".{0,80}", "(@|model |platform |spec |strata-samples |A |1 |x |;|at=|\\(|\n|é|sha256=){0,30}"]) {
        for result in [Samples::parse(&text, "f"), Samples::parse_partial(&text, "f").map(|partial| partial.samples)] {
            match result {
                Ok(samples) => { prop_assert!(samples.models.is_empty() || Samples::parse(&samples.to_text(), "f").is_ok()); }
                Err(errors) => prop_assert!(errors.errors.iter().all(|e| e.line >= 1 && e.column >= 1)),
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Samples::read(&bytes[..], "f");
    }
}

#[test]
fn single_timings_stand_below_their_sample() {
    let text = "M x\nM 2 5\n# slow from here on\n& 1@0.5 2@1.5 4e0@3\n@M 3 6\n";
    let samples = Samples::parse(text, "f").unwrap();
    let rows = &samples.models[0].rows;
    let timings: Vec<(f64, f64)> = rows[0].notes.timings.iter().map(|t| (t.seconds, t.moment)).collect();
    assert_eq!(timings, [(1.0, 0.5), (2.0, 1.5), (4.0, 3.0)]);
    assert!(rows[1].notes.timings.is_empty() && rows[1].verify);
}

#[test]
fn numbers_in_columns_are_short() {
    let row = Sample { seconds: 5.784e-5, values: vec![4.0, 0.5], ..Sample::default() };
    let mut writer = SamplesWriter::new(Vec::new());
    writer.sample("A", &row).unwrap();
    assert_eq!(String::from_utf8(writer.into_inner()).unwrap(), "A 5.784e-5 4 0.5\n");
    assert_eq!(number_text(1724.0), "1724");
}

#[test]
fn samples_of_several_numbers_of_nodes_stand_below_their_platforms() {
    let of = |nodes: usize, row: &str| {
        let head = format!("platform threads nodes={nodes} cores=2 cpu=x cache=\"\" os=linux arch=x\n");
        format!("strata-samples 1\n{head}model A n logP\nfit A absolute\n{row}\n")
    };
    let mut all = Samples::parse(&of(4, "A 2 1 2"), "a").unwrap();
    all.join(Samples::parse(&of(2, "@A 1 1 1"), "b").unwrap()).unwrap();
    assert_eq!((all.node_counts(), all.platform.as_ref().map(|p| p.nodes)), (vec![2, 4], Some(4)));
    let text = all.to_text();
    assert_eq!(text.matches("\nplatform threads nodes=").count(), 2, "{text}");
    let back = Samples::parse(&text, "all").unwrap();
    let rows: Vec<_> = back.models[0].rows.iter().map(|row| (row.notes.nodes, row.seconds)).collect();
    assert_eq!(rows, [(2, 1.0), (4, 2.0)]);
    assert_eq!(back.to_text(), text);

    let other = Samples::parse(&of(2, "A 1 1 1").replace("cores=2", "cores=3"), "c").unwrap();
    assert!(all.join(other).unwrap_err().contains("number of cores"));
    let other = Samples::parse(&of(2, "A 1 1 1").replace("n logP", "m logP"), "d").unwrap();
    assert!(all.join(other).unwrap_err().contains("columns of model `A`"));
    let bare = Samples::parse("A n logP\nA 1 1 1\n", "e").unwrap();
    assert!(all.join(bare).unwrap_err().contains("where it was measured"));
    assert_eq!(all.to_text(), text, "nothing of what was refused was added");
}

#[test]
fn a_unit_is_that_of_its_model() {
    let text = "strata-samples 1\nmodel A n\nunit A gas\nA 3e2 1\nmodel B n\nB 1e-6 1\n";
    let samples = Samples::parse(text, "f").unwrap();
    assert_eq!(samples.models.iter().map(|model| model.unit.name()).collect::<Vec<_>>(), ["gas", "s"]);
    assert_eq!(samples.to_text(), text);
    let mut samples = Samples::parse("model A n\nunit A gas\nA 3e2 1\n", "f").unwrap();
    let other = Samples::parse("model A n\nA 3e2 1\n", "f").unwrap();
    assert_eq!(samples.join(other), Err("the units of model `A` differ".into()));
}
