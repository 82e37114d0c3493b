//! `specc fit`: its options, its errors, the files that it writes.

use super::*;

#[test]
fn samples_of_another_text_of_the_spec_are_told() {
    let folder = project();
    let at = folder.path();
    let samples = fs::read_to_string(at.join("samples.txt")).expect("read");
    let (head, rest) = samples.split_at(samples.find("model Steps").expect("the first model"));
    let spec = format!("spec job.spec sha256={}\n", "0".repeat(64));
    fs::write(at.join("samples.txt"), format!("{head}{spec}{rest}")).expect("written");
    let (_, err) = expect(0, &["fit", "samples.txt", "--spec", "job.spec"], at);
    assert!(err.contains("another version of job.spec"), "{err}");
}

#[test]
fn the_same_samples_give_the_same_files() {
    let folder = project();
    for out in ["one", "two"] {
        expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", out], folder.path());
    }
    for file in ["models.toml", "models.rs", "report.html", "residuals.txt"] {
        let read = |out: &str| fs::read(folder.path().join(out).join(file)).expect("written");
        assert_eq!(read("one"), read("two"), "{file}");
    }
}

/// Of round values those held out are others than those in pairs, which alone show the effect.
#[test]
fn round_values_that_take_longer_have_terms_and_a_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = "model Rows(n) { for n in 16..=1024 task { f(n) } terms n*n }
        model Lines(n) { for n in 16..=1024 task { f(n) } terms n*n }
        library sum(n) { candidate rows = Rows(n) candidate lines = Lines(n) }";
    fs::write(folder.path().join("sum.spec"), spec).expect("written");
    let collides = |n: u64| [64, 128, 256, 512].iter().filter(|step| n.is_multiple_of(**step)).count() as f64;
    let fitted =
        [17, 40, 90, 64, 65, 128, 129, 192, 193, 256, 257, 384, 385, 512, 513, 768, 769, 900, 1023, 1024];
    let held_out = [21, 33, 75, 100, 150, 200, 301, 320, 444, 448, 555, 666, 777, 960];
    let samples = |slower: f64| {
        let mut text = String::from("strata-samples 1\n");
        for (model, factor, slower) in [("Rows", 1.0, slower), ("Lines", 1.3, 0.0)] {
            text += &format!("model {model} n n*n\n");
            for (mark, n) in fitted.map(|n| ("", n)).into_iter().chain(held_out.map(|n| ("@", n))) {
                let noise = 1.0 + 0.002 * (n % 7) as f64;
                let seconds = 1e-9 * factor * (n * n) as f64 * (1.0 + slower * collides(n).powi(2)) * noise;
                text += &format!("{mark}{model} {seconds:e} {n} {}\n", n * n);
            }
        }
        fs::write(folder.path().join("samples.txt"), text).expect("written");
        expect(0, &["fit", "samples.txt", "--spec", "sum.spec", "-o", "out"], folder.path())
    };
    let (out, err) = samples(0.3);
    let models = fs::read_to_string(folder.path().join("out/models.toml")).expect("written");
    assert!(models.contains("n%64") && out.contains("at powers of two"), "{out}{err}");
    assert!(err.contains("round values of `n`, from 64 on, take 1.26 to 5.8"), "{err}");
    for (n, chosen) in [("511", "rows"), ("512", "lines"), ("513", "rows")] {
        let (out, _) = expect(0, &["choose", "out/models.toml", "sum", &format!("n={n}")], folder.path());
        assert!(out.starts_with(&format!("sum: {chosen}")), "{n}: {out}");
    }
    let (out, err) = samples(0.0);
    assert!(!out.contains("at powers of two") && !err.contains("round values"), "{out}{err}");
}

/// The file of an earlier fit does not stay beside models that it is not of.
#[test]
fn residuals_of_more_samples_than_anyone_reads_are_written_when_asked_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rows = (1..=100_001).map(|n| format!("M {}e-9 {n}\n", 1000 + 2 * n + n % 7));
    fs::write(folder.path().join("samples.txt"), format!("model M n\n{}", rows.collect::<String>()))
        .expect("written");
    let residuals = folder.path().join("out/residuals.txt");
    expect(0, &["fit", "samples.txt", "-o", "out", "--residuals"], folder.path());
    assert_eq!(fs::read_to_string(&residuals).expect("written").lines().count(), 100_003);
    let (_, err) = expect(0, &["fit", "samples.txt", "-o", "out"], folder.path());
    assert!(err.contains("no residuals.txt of 100001 samples without `--residuals`"), "{err}");
    assert!(!residuals.exists());
}

/// The samples of this example came with the times of its decisions.
#[test]
fn the_report_has_crossings_judged_choices_and_what_would_help() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/patterns");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().display().to_string();
    let arguments = ["fit", "models/samples.txt", "--spec", "patterns.spec", "-o", &out];
    expect(0, &arguments, &example);
    let page = fs::read_to_string(folder.path().join("report.html")).expect("written");
    let page = page.replace('\u{a0}', " ");
    for part in [
        // In the curves, and below the map.
        "on dfa instead of nfa</title>",
        "<li>h = 8Ki: <code>dfa &lt;",
        // A square, a row of the table.
        ": choosing nfa lost ",
        "<summary>What each choice of patterns lost</summary>",
        "which way is the fastest is within noise at",
        "Of what more samples can improve, choices lose",
        "the best would be ",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_bare_fragment_fits_without_a_spec() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The first rows of Brewer (1994), Fig 3-7.
    let fragment = "CombineVector length logP length*logP\nCombineVector .00005784 1 4 4\nCombineVector .00006927 2 4 8\n\
                    CombineVector .00008853 4 4 16\nCombineVector .00013707 8 4 32\nCombineVector .00023070 16 4 64\n\
                    CombineVector .00042423 32 4 128\n@CombineVector .00061532 47 4 188\n";
    fs::write(folder.path().join("fig.txt"), fragment).expect("written");
    let (out, _) = expect(0, &["fit", "fig.txt", "--json"], folder.path());
    let json: Value = serde_json::from_str(&out).expect("JSON");
    let model = &json["models"][0];
    assert_eq!((&model["name"], &model["mode"]), (&"CombineVector".into(), &"relative".into()));
    assert!(model["r2"].as_f64().is_some_and(|r2| r2 > 0.998), "{model}");
    // logP is 4 throughout: it cannot be told from the constant, nor length*logP from length.
    assert_eq!(model["rank"], 2);
}

#[test]
fn bad_samples_are_refused_with_file_and_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).expect("written");
    write("torn.txt", b"strata-samples 1\nmodel M n\nM 1e-6 1\nM 2e-6 2\nM 3e");
    write("bytes.txt", b"strata-samples 1\nmodel M n\nM 1e-6 \xff\n");
    write("few.txt", b"model M n\nM 1e-6 1\n");
    write("zero.txt", b"model M n\nM 1e-6 1\nM 0 2\nM 3e-6 3\nM 4e-6 4\n");
    write("nan.txt", b"model M n\nM 1e-6 1\nM 2e-6 NaN\nM 3e-6 3\nM 4e-6 4\n");
    for (file, say) in [
        ("torn.txt", "torn.txt:5"),
        ("bytes.txt", "UTF-8"),
        ("few.txt", "M"),
        ("zero.txt", "3"),
        ("nan.txt", "3"),
    ] {
        let (_, err) = expect(1, &["fit", file], folder.path());
        assert!(err.contains(say), "{file}: {err}");
    }
}

#[test]
fn predictions_beyond_the_samples_say_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    // Measured along both axes, never far out on both at once.
    let mut samples = String::from("model M a b a*b\n");
    for (i, n) in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].into_iter().enumerate() {
        let noise = 1.0 + 0.01 * (i % 3) as f64;
        for (a, b) in [(n, 1.0), (1.0, n), (n, 2.0), (2.0, n)] {
            writeln!(samples, "M {:e} {a} {b} {}", (1e-6 + 1e-8 * a * b) * noise, a * b).expect("a string");
        }
    }
    fs::write(at.join("samples.txt"), samples).expect("written");
    expect(0, &["fit", "samples.txt", "-o", "out", "--keep-all"], at);
    let (_, err) = expect(0, &["choose", "out/models.toml", "M", "a=4", "b=2"], at);
    assert!(!err.contains("extrapolates"), "{err}");
    let (out, err) = expect(0, &["choose", "out/models.toml", "M", "a=64", "b=64"], at);
    assert!(
        !out.is_empty() && err.contains("`M` extrapolates here: inside the measured ranges"),
        "{out}{err}"
    );
    // Outside the ranges there is no answer at all.
    let (out, err) = expect(1, &["choose", "out/models.toml", "M", "a=65", "b=1"], at);
    assert!(
        out.is_empty() && err.contains("predicts nothing here") && err.contains("a in 1..=64"),
        "{out}{err}"
    );
}

#[test]
fn flags_of_fit_do_what_they_say() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    // 1 µs + 10 ns·n - 1 ns·m, a term that is nothing, an outlier, and the variance of each time.
    let mut samples = String::from("model M n m k (v)\n");
    for i in 1..=40 {
        let (n, m, k) = (f64::from(i), f64::from(i * 7 % 11), f64::from(i * 5 % 3));
        let noise = 1.0 + 0.01 * (f64::from(i * 13 % 7) / 3.0 - 1.0);
        let outlier = if i == 20 { 3.0 } else { 1.0 };
        let seconds = (1e-6 + 1e-8 * n - 1e-9 * m) * noise * outlier;
        let mark = if i % 5 == 0 && i != 20 { "@" } else { "" };
        writeln!(samples, "{mark}M {seconds:e} {n} {m} {k} {:e}", (0.01 * seconds).powi(2))
            .expect("a string");
    }
    fs::write(at.join("samples.txt"), samples).expect("written");
    let fit = |flags: &[&str]| -> Value {
        let arguments = [&["fit", "samples.txt", "--json", "--search", "never"], flags].concat();
        let (out, _) = expect(0, &arguments, at);
        serde_json::from_str::<Value>(&out).expect("JSON")["models"][0].clone()
    };
    let terms = |model: &Value| -> Vec<(String, f64)> {
        let term = |t: &Value| {
            (t["term"].as_str().expect("a name").to_owned(), t["coefficient"].as_f64().expect("a number"))
        };
        model["terms"].as_array().expect("terms").iter().map(term).collect()
    };
    let coefficient =
        |model: &Value, name: &str| terms(model).into_iter().find(|t| t.0 == name).map_or(f64::NAN, |t| t.1);
    let plain = fit(&["--variance", "v"]);
    let verdict = |accept: &str| fit(&["--variance", "v", "--accept", accept])["verdict"].clone();
    assert_eq!((verdict("0.01%"), verdict("15%")), ("failed".into(), "verified".into()));
    assert_eq!((&plain["mode"], plain["samples"].as_u64()), (&"relative".into(), Some(33)));
    assert_eq!(fit(&["--variance", "v", "--absolute"])["mode"], "absolute");
    let without = fit(&["--variance", "v", "--no-constant", "--keep-all"]);
    assert!(terms(&without).iter().all(|t| t.0 != "1" && t.1 != 0.0), "{without}");
    let all = fit(&["--variance", "v", "--keep-all"]);
    assert!(terms(&all).len() == 4 && terms(&all).iter().all(|t| t.1 != 0.0), "{all}");
    assert!(terms(&plain).iter().any(|t| t.1 == 0.0), "something is irrelevant: {plain}");
    let positive = fit(&["--variance", "v", "--nonnegative", "--keep-all"]);
    assert!(terms(&positive).iter().all(|t| t.1 >= 0.0), "{positive}");
    // The outlier is three times too long: robust fits hardly see it.
    let robust = fit(&["--variance", "v", "--robust", "reject"]);
    assert!((coefficient(&robust, "n") / 1e-8 - 1.0).abs() < 0.1, "{robust}");
    assert_eq!(robust, plain);
    assert_ne!(fit(&["--variance", "v", "--robust", "none"]), plain);
    assert_eq!(fit(&["--variance", "v", "--eliminate", "aicc"])["samples"], 33);
    for (flags, say) in [
        (&["--robust", "tukey"][..], "reject"),
        (&["--robust", "huber"], "no more: `reject`"),
        (&["--eliminate", "luck"], "best-subset"),
        (&["--weights", "mine"], "predicted"),
        (&["--search", "often"], "when-needed"),
        (&["--weights", "predicted", "--absolute"], "cannot be used with"),
    ] {
        let (_, err) = expect(2, &[&["fit", "samples.txt"], flags].concat(), at);
        assert!(err.contains(say), "{flags:?}: {err}");
    }
    let (_, err) = expect(1, &["fit", "samples.txt", "--variance", "w"], at);
    assert!(err.contains("`w`"), "{err}");
}

#[test]
fn a_spec_says_how_to_fit_and_the_command_line_says_otherwise() {
    let folder = project();
    let at = folder.path();
    let spec = SPEC.replace("    terms n\n}", "    terms n\n    fit absolute, robust none\n    accept 5%\n}");
    fs::write(at.join("job.spec"), &spec).expect("written");
    let mode = |arguments: &[&str]| -> (Value, Value) {
        let (out, _) = expect(0, &[arguments, &["--json"]].concat(), at);
        let json: Value = serde_json::from_str(&out).expect("JSON");
        (json["models"][0]["mode"].clone(), json["models"][1]["mode"].clone())
    };
    let both = |a: &str, b: &str| (Value::from(a), Value::from(b));
    assert_eq!(mode(&["fit", "samples.txt", "--spec", "job.spec"]), both("relative", "absolute"));
    assert_eq!(mode(&["fit", "samples.txt"]), both("relative", "relative"));
    // Samples that carry the words of their spec need it no more.
    let samples = fs::read_to_string(at.join("samples.txt")).expect("read");
    let carried =
        samples.replace("model Flat n\n", "model Flat n\nfit Flat absolute, robust none, accept 0.05\n");
    fs::write(at.join("carried.txt"), &carried).expect("written");
    assert_eq!(mode(&["fit", "carried.txt"]), both("relative", "absolute"));
    assert_eq!(mode(&["fit", "carried.txt", "--absolute"]), both("absolute", "absolute"));
    let by_spec = expect(0, &["fit", "samples.txt", "--spec", "job.spec", "--json"], at).0;
    let flat = |out: &str| serde_json::from_str::<Value>(out).expect("JSON")["models"][1].clone();
    assert_eq!(flat(&by_spec)["terms"], flat(&expect(0, &["fit", "carried.txt", "--json"], at).0)["terms"]);
    let plain = expect(0, &["fit", "carried.txt", "--json", "--no-constant"], at).0;
    assert_ne!(flat(&by_spec)["terms"], flat(&plain)["terms"], "the command line counts more");
    fs::write(at.join("odd.txt"), carried.replace("robust none", "robust nonesuch")).expect("written");
    let (_, err) = expect(1, &["fit", "odd.txt"], at);
    assert!(err.contains("`Flat`") && err.contains("nonesuch"), "{err}");
}

/// Of sorted keys `few` is faster everywhere, of random ones up to 571.
#[test]
fn a_kind_has_coefficients_and_choices_of_its_own() {
    let folder = project();
    let spec = "model Few(n, kind in {random, sorted}) ~ n\nmodel Many(n, kind in {random, sorted}) ~ n\n\
                library either(n, kind in {random, sorted}) {\n    candidate few = Few(n, kind)\n    \
                candidate many = Many(n, kind)\n}\n";
    fs::write(folder.path().join("either.spec"), spec).unwrap();
    let mut text = String::from("model,n,kind,time\n");
    for (place, n) in (3..=10).map(|e| 1 << e).flat_map(|n| [n, n + 3]).enumerate() {
        let noise = if place % 2 == 0 { 1.003 } else { 0.997 };
        for (kind, slope) in [("random", 10.0), ("sorted", 1.0)] {
            let n = f64::from(n);
            let [few, many] = [1000.0 + slope * n, 5000.0 + 3.0 * n].map(|ns| ns * noise * 1e-9);
            text += &format!("Few,{n},{kind},{few:e}\nMany,{n},{kind},{many:e}\n");
        }
    }
    fs::write(folder.path().join("times.csv"), &text).unwrap();
    let fit = ["fit", "times.csv", "--spec", "either.spec", "--hold-out", "20%", "-o", "out"];
    let (out, err) = expect(0, &fit, folder.path());
    assert!(out.contains("kind random   few < 57") && out.contains("kind sorted   few\n"), "{out}\n{err}");
    assert!(out.contains("one candidate for every `kind` loses "), "{out}");
    let choose = |kind| ["choose", "out/models.toml", "either", "n=1000", kind];
    for (kind, way) in [("kind=random", "either: many"), ("kind=sorted", "either: few")] {
        let (out, _) = expect(0, &choose(kind), folder.path());
        assert!(out.starts_with(way), "{out}");
    }
    for (kind, why) in [("kind=srted", "`kind` is one of random, sorted, not `srted`"), ("kind=2", "not `2`")]
    {
        let (_, err) = expect(2, &choose(kind), folder.path());
        assert!(err.contains(why), "{err}");
    }
    let (out, _) = expect(0, &["show", "out/models.toml", "Few"], folder.path());
    assert!(out.contains("n*random") && out.contains("kind in {random, sorted}"), "{out}");
    for (asked, names) in [
        (&["map", "out/models.toml", "--grid"][..], &["│ random   ┆", "│ sorted   ┆"][..]),
        (&["map", "out/models.toml", "--json"], &["\"values\":[\"random\",\"sorted\"]", "\"at\":\"sorted\""]),
        (&["crossovers", "out/models.toml", "--json"], &["\"at\":\"random\""]),
        (&["compare", "out", "out"], &["kind = sorted: "]),
    ] {
        let (out, _) = expect(0, asked, folder.path());
        assert!(names.iter().all(|name| out.contains(name)), "{asked:?} {out}");
    }
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("kind = sorted") && !page.contains("kind = 1"), "names on the page");
    let rust = fs::read_to_string(folder.path().join("out/models.rs")).unwrap();
    assert!(
        rust.contains("inputs EitherInput { n: usize, kind: EitherKind in [Random, Sorted] };"),
        "{rust}"
    );
    let random: Vec<&str> = text.lines().filter(|line| !line.contains("sorted")).collect();
    fs::write(folder.path().join("times.csv"), random.join("\n")).unwrap();
    let (_, err) = expect(0, &fit, folder.path());
    assert!(err.contains("no sample has kind = sorted") && !err.contains("is zero"), "{err}");
    fs::write(folder.path().join("times.csv"), text.replace("sorted", "srted")).unwrap();
    let (_, err) = expect(1, &fit, folder.path());
    assert!(err.contains("times.csv:4:7: `kind` is one of random, sorted, not `srted`"), "{err}");
}

/// Each name has its own cell of a table, also where the samples of another program do not say that
/// an input is whole.
#[test]
fn thresholds_tell_the_names_of_a_kind_apart() {
    let folder = project();
    let spec = "model Base(n, kind in {a, b}) ~ n\nmodel Twice(n, kind in {a, b}) = 2*Base(n, kind)\n\
                library x(n, kind in {a, b}) {\n    candidate one = Base(n, kind) require kind != b\n    \
                candidate two = Twice(n, kind)\n}\n";
    fs::write(folder.path().join("x.spec"), spec).unwrap();
    let mut text = String::from("model,n,kind,time\n");
    for n in [8, 16, 32, 64, 128, 256] {
        text += &format!("Base,{n},a,{:e}\nBase,{n},b,{:e}\n", 1e-6 + 1e-8 * f64::from(n), 1e-6);
    }
    fs::write(folder.path().join("times.csv"), text).unwrap();
    expect(0, &["fit", "times.csv", "--spec", "x.spec", "-o", "out"], folder.path());
    let (out, _) = expect(0, &["export", "out/models.toml", "--to", "thresholds"], folder.path());
    assert!(out.contains("(kind as f64) >= 1.0") && out.contains("pub enum Kind { A, B }"), "{out}");
    let (_, err) = expect(2, &["show", "out/models.toml", "n=64"], folder.path());
    assert!(err.contains("nothing crosses along `kind`"), "{err}");
}
