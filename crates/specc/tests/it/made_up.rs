//! Files made up from known formulas, so that what must come out of them is known.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::screens::long_names;
use crate::{compare, guidelines, rules, thresholds};

pub(crate) const JOB: &str = include_str!("job.spec");

/// The text of a file, by the words of its name; `None` where there is none of this name.
pub(crate) fn file(name: &str) -> Option<String> {
    let number = |word: &str| word.parse::<f64>().ok();
    let whole = |word: &str| word.parse::<usize>().ok();
    Some(match name.split(' ').collect::<Vec<_>>()[..] {
        ["job.spec"] => JOB.to_owned(),
        ["steps"] => steps(),
        ["pair.spec"] => include_str!("pair.spec").to_owned(),
        ["pair", "one"] => pair((50, 1000.0, |n| 1e-6 * n), (1, 500.0, |n| 1e-7 * n)),
        ["pair", "alike"] => pair((50, 1000.0, |n| 1e-6 * n), (50, 1000.0, |n| 1e-6 * n)),
        ["pair", "corner"] => pair((50, 1000.0, |n| 1e-6 * n), (50, 20.0, |n| 5e-7 * n)),
        ["bent"] => bent(),
        ["calls"] => calls(),
        ["axes"] => axes(),
        ["flags"] => flags(),
        ["columns"] => columns(),
        ["kinds"] => kinds(),
        ["sum.spec"] => include_str!("sum.spec").to_owned(),
        ["round", slower] => round(number(slower)?),
        ["meet", nodes, cpu] => meet(whole(nodes)?, cpu),
        ["sweep"] => sweep(),
        ["impact.toml"] => include_str!("impact.toml").to_owned(),
        ["machine", nodes, ref primitives @ ..] => machine(whole(nodes)?, primitives)?,
        ["new"] => machine(4, &["Send:bytes:3e-9", "Point:n:1e-9"])?,
        ["application"] => application()?,
        ["three"] => thresholds::three(),
        ["plane"] => thresholds::plane(),
        ["real"] => thresholds::real(),
        ["never", "crossing"] => thresholds::never(),
        ["collectives", nodes, own_error] => rules::set(whole(nodes)?, number(own_error)?),
        ["mpich", "tree"] => rules::mpich_tree(),
        ["launches", ref what @ ..] => guidelines::made_up(what)?,
        ["scan", seed, "same"] => compare::samples(seed.parse().ok()?, compare::same),
        ["scan", seed, "tenth"] => {
            compare::samples(seed.parse().ok()?, |n, _| if n >= 1024.0 { 1.1 } else { 1.0 })
        }
        ["sum", "of", "those", "samples"] => {
            let samples = strata_model::sha256_hex(compare::sums(3_600.0, 0.0).as_bytes());
            compare::set(3_600.0, "", &samples)
        }
        ["sum", start, code] => {
            compare::set(number(start)?, &format!("code_sha256 = \"{}\"\n", code.repeat(64)), "")
        }
        ["sums", start, shift] => compare::sums(number(start)?, number(shift)?),
        ["repeats", seed, count, factor] => {
            compare::repeats(seed.parse().ok()?, whole(count)?, number(factor)?)
        }
        ["few", seed, ref factors @ ..] => {
            compare::few(seed.parse().ok()?, factors.iter().filter_map(|factor| number(factor)))
        }
        ["long", "spec"] => long_names()[0].clone(),
        ["long", "samples"] => long_names()[1].clone(),
        ["bench.sh"] => include_str!("bench.sh").to_owned(),
        _ => return None,
    })
}

/// A folder with these files: path and name each.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, name) in files {
        fs::write(folder.path().join(path), file(name).expect(name)).unwrap();
    }
    folder
}

/// A spec and samples of it.
pub(crate) fn project() -> tempfile::TempDir {
    folder(&[("job.spec", "job.spec"), ("samples.txt", "steps")])
}

/// The JSON that a command prints, words with blanks between them.
pub(crate) fn json(folder: &Path, command: &str) -> serde_json::Value {
    let (status, out, err) = crate::specc(folder, "1000", &command.split(' ').collect::<Vec<_>>());
    assert_eq!(status, Some(0), "{command}\n{out}\n{err}");
    serde_json::from_str(&out).expect(command)
}

/// `Steps` takes 1 µs + 1 ns·n + 10 ns·width and `Flat` takes 1.2 µs + 0.5 ns·n.
fn steps() -> String {
    let mut samples = String::from(
        "strata-samples 1\nplatform threads nodes=2 cores=2 cpu=\"made up\" cache=\"\" os=linux arch=x86_64\n\
         model Steps n width n*width\nmodel Flat n\n",
    );
    let noise = |i: usize| 1.0 + 1e-4 * ((i * 7919 % 13) as f64 - 6.0);
    for (i, exponent) in (0..=12).enumerate() {
        let n = f64::from(1 << exponent);
        for (j, width) in [1.0, 4.0, 16.0, 64.0].into_iter().enumerate() {
            let seconds = (1e-6 + 1e-9 * n + 1e-8 * width) * noise(4 * i + j);
            for mark in ["", "@"] {
                writeln!(samples, "{mark}Steps {seconds:e} {n} {width} {}", n * width).unwrap();
            }
        }
        let seconds = (1.2e-6 + 0.5e-9 * n) * noise(100 + i);
        for mark in ["", "@"] {
            writeln!(samples, "{mark}Flat {seconds:e} {n}").unwrap();
        }
    }
    samples
}

/// So many sizes up to the greatest, and what each takes.
type Sizes = (usize, f64, fn(f64) -> f64);

/// Samples of models `A` and `B`, a quarter of them held out, with 2 % of noise.
pub(crate) fn pair(a: Sizes, b: Sizes) -> String {
    let mut all = String::new();
    for (model, (count, greatest, seconds)) in [("A", a), ("B", b)] {
        writeln!(all, "{model} n").unwrap();
        for i in 0..count {
            let n = greatest.powf((i + 1) as f64 / count as f64).round();
            let noise = 1.0 + 0.02 * ((i * 7919 % 13) as f64 - 6.0) / 6.0;
            let mark = if i % 4 == 3 && i + 1 < count { "@" } else { "" };
            writeln!(all, "{mark}{model} {:e} {n}", seconds(n) * noise).unwrap();
        }
    }
    all
}

/// A curve that no line in `n` follows, and a line.
fn bent() -> String {
    let mut csv = "way,n,time\n".to_owned();
    for n in
        [20.0, 30.0, 45.0, 60.0, 100.0, 150.0, 200.0, 300.0, 450.0, 700.0, 1000.0, 1500.0, 2000.0, 3000.0_f64]
    {
        for noise in [0.99, 1.0, 1.01] {
            let (a, b) = ((3e-7 + 2e-9 * n.powf(1.5)) * noise, (2e-6 + 3e-8 * n) * noise);
            csv += &format!("a,{n},{a:e}\nb,{n},{b:e}\n");
        }
    }
    csv
}

/// Time and instructions of 800 calls at 200 values, alternately 0 to 9 % above `900 + 3·n` ns.
fn calls() -> String {
    let mut csv = String::from("n,elapsed,cost\n");
    for i in 0..800 {
        let (n, noise) = (1 + i * 7 % 200, 1.0 + 0.01 * f64::from(i * 37 % 10));
        writeln!(csv, "{n},{:.3},{}", f64::from(900 + 3 * n) * noise, 2000 + 9 * n).unwrap();
    }
    csv
}

/// Measured along both axes, never far out on both at once.
fn axes() -> String {
    let mut samples = String::from("model M a b a*b\n");
    for (i, n) in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].into_iter().enumerate() {
        let noise = 1.0 + 0.01 * (i % 3) as f64;
        for (a, b) in [(n, 1.0), (1.0, n), (n, 2.0), (2.0, n)] {
            writeln!(samples, "M {:e} {a} {b} {}", (1e-6 + 1e-8 * a * b) * noise, a * b).unwrap();
        }
    }
    samples
}

/// 1 µs + 10 ns·n - 1 ns·m, a term that is nothing, an outlier, and the variance of each time.
fn flags() -> String {
    let mut samples = String::from("model M n m k (v)\n");
    for i in 1..=40 {
        let (n, m, k) = (f64::from(i), f64::from(i * 7 % 11), f64::from(i * 5 % 3));
        let noise = 1.0 + 0.01 * (f64::from(i * 13 % 7) / 3.0 - 1.0);
        let outlier = if i == 20 { 3.0 } else { 1.0 };
        let seconds = (1e-6 + 1e-8 * n - 1e-9 * m) * noise * outlier;
        let mark = if i % 5 == 0 && i != 20 { "@" } else { "" };
        writeln!(samples, "{mark}M {seconds:e} {n} {m} {k} {:e}", (0.01 * seconds).powi(2)).unwrap();
    }
    samples
}

/// The models of the job in milliseconds, with a column of text.
fn columns() -> String {
    let mut csv = String::from("variant,n,width,host,ms\n");
    for n in (0..=12).map(|exponent| f64::from(1 << exponent)) {
        for width in [1.0, 4.0, 16.0] {
            let ms = 1e3 * (1e-6 + 1e-9 * n + 1e-8 * width);
            writeln!(csv, "Steps,{n},{width},here,{ms}").unwrap();
        }
        writeln!(csv, "Flat,{n},1,there,{}", 1e3 * (1.2e-6 + 0.5e-9 * n)).unwrap();
    }
    csv
}

/// Random keys take `Few` 1 µs + 10 ns·n, sorted ones 1 ns·n, and `Many` 5 µs + 3 ns·n.
fn kinds() -> String {
    let mut csv = String::from("model,n,kind,time\n");
    for (place, n) in (3..=10).map(|e| 1 << e).flat_map(|n| [n, n + 3]).enumerate() {
        let noise = if place % 2 == 0 { 1.003 } else { 0.997 };
        for (kind, slope) in [("random", 10.0), ("sorted", 1.0)] {
            let n = f64::from(n);
            let [few, many] = [1000.0 + slope * n, 5000.0 + 3.0 * n].map(|ns| ns * noise * 1e-9);
            csv += &format!("Few,{n},{kind},{few:e}\nMany,{n},{kind},{many:e}\n");
        }
    }
    csv
}

/// Squares of `n`, of which `Rows` takes by so much longer at round values.
fn round(slower: f64) -> String {
    let collides = |n: u64| [64, 128, 256, 512].iter().filter(|step| n.is_multiple_of(**step)).count() as f64;
    let fitted =
        [17, 40, 90, 64, 65, 128, 129, 192, 193, 256, 257, 384, 385, 512, 513, 768, 769, 900, 1023, 1024];
    let held_out = [21, 33, 75, 100, 150, 200, 301, 320, 444, 448, 555, 666, 777, 960];
    let mut text = String::from("strata-samples 1\n");
    for (model, factor, slower) in [("Rows", 1.0, slower), ("Lines", 1.3, 0.0)] {
        text += &format!("model {model} n n*n\n");
        for (mark, n) in fitted.map(|n| ("", n)).into_iter().chain(held_out.map(|n| ("@", n))) {
            let noise = 1.0 + 0.002 * (n % 7) as f64;
            let seconds = 1e-9 * factor * (n * n) as f64 * (1.0 + slower * collides(n).powi(2)) * noise;
            text += &format!("{mark}{model} {seconds:e} {n} {}\n", n * n);
        }
    }
    text
}

/// `Meet` takes 5 µs and 3 µs for each doubling of the nodes, and 2 ns for each of its `n` words.
fn meet(nodes: usize, cpu: &str) -> String {
    let machine = format!("platform threads nodes={nodes} cores=8 cpu=\"{cpu}\" cache=\"\" os=any arch=any");
    let mut text = format!("strata-samples 1\n{machine}\nmodel Meet n logP\n");
    let logarithm = (nodes as f64).log2();
    for (number, n) in [1, 500, 1000, 2000, 4000, 8000, 700, 3000].into_iter().enumerate() {
        let ripple = 1.0 + 0.002 * f64::from([1, -1, -1, 1][(number + nodes) % 4]);
        let seconds = (5e-6 + 3e-6 * logarithm + 2e-9 * f64::from(n)) * ripple;
        text += &format!("{}Meet {seconds:e} {n} {logarithm}\n", if number > 5 { "@" } else { "" });
    }
    text
}

/// `Sweep` takes 2 µs on each node and 3 ns a cell, shared by the nodes; its terms name no number
/// of nodes.
fn sweep() -> String {
    let mut text = String::from("strata-samples 1\n");
    for nodes in [1, 2, 4, 8] {
        text += &format!(
            "platform threads nodes={nodes} cores=8 cpu=\"x\" cache=\"\" os=any arch=any\nmodel Sweep n\n"
        );
        for (number, n) in (0..24).map(|number| (number, 500 + 700 * ((number * 7) % 24))) {
            let ripple = 1.0 + 0.01 * f64::from([1, -1, -1, 1, 1, -1][(number + nodes) as usize % 6]);
            let seconds = (2e-6 * f64::from(nodes) + 3e-9 * f64::from(n) / f64::from(nodes)) * ripple;
            text += &format!("{}Sweep {seconds:e} {n}\n", if number % 4 == 3 { "@" } else { "" });
        }
    }
    text
}

/// What a set of models begins with.
pub(crate) fn head(transport: &str, nodes: usize, cores: usize) -> String {
    format!(
        "strata-models = 1\n[platform]\ntransport = \"{transport}\"\nnodes = {nodes}\ncpu = \"made up\"\n\
         cores = {cores}\ncache = \"\"\nos = \"linux\"\narch = \"x86_64\"\n"
    )
}

/// A model whose time is the sum of these terms, in nanoseconds.
pub(crate) fn model(name: &str, inputs: &str, terms: &[(&str, f64)]) -> String {
    let mut model = format!("[[models]]\nname = \"{name}\"\ninputs = [{inputs}]\nterms = [\n");
    for (term, nanoseconds) in terms {
        let coefficient = nanoseconds * 1e-9;
        writeln!(model, "  {{ term = \"{term}\", coefficient = {coefficient:e}, relevant = true }},")
            .unwrap();
    }
    model + "]\nt_quantile = 2.0\nmean_time = 1e-6\n"
}

/// A library of candidates without parameters.
pub(crate) fn library(name: &str, inputs: &[&str], candidates: &[(&str, &str)]) -> String {
    let mut library = format!("[[libraries]]\nname = \"{name}\"\ninputs = {inputs:?}\n");
    for (candidate, model) in candidates {
        let head = "[[libraries.candidates]]";
        writeln!(library, "{head}\nname = \"{candidate}\"\nmodel = \"{model}\"\narguments = {inputs:?}")
            .unwrap();
    }
    library
}

/// A set of `nodes` nodes with these primitives: `name:input:seconds each`.
fn machine(nodes: usize, primitives: &[&str]) -> Option<String> {
    let mut text = head("threads", nodes, 8);
    for primitive in primitives {
        let [name, input, each] = primitive.split(':').collect::<Vec<_>>()[..] else { return None };
        let _ = write!(
            text,
            "[[models]]\nname = \"{name}\"\ninputs = [{{ name = \"{input}\", min = 1.0, max = 1e9 }}]\n\
             terms = [{{ term = \"{input}\", coefficient = {:e}, relevant = true }}]\nmean_time = 1e-5\n\
             nodes = [1, {nodes}]\n",
            each.parse::<f64>().ok()?
        );
    }
    Some(text)
}

/// Models over `Send` and `Point`: composed, with a coefficient of the old machine, and a choice of
/// all points on each node or a part of them with a message.
fn application() -> Option<String> {
    let mut text = machine(4, &["Send:bytes:1e-9", "Point:n:5e-9", "Other:n:1e-3"])?;
    let any = "{ name = \"n\", min = -inf, max = inf }";
    for (name, rest) in [
        ("Iterate", "expression = \"Point(n/P)+2*Send(8*n)\"\n"),
        ("Alone", "expression = \"Point(n)\"\n"),
        (
            "Whole",
            "terms = [{ term = \"Iterate(n)\", coefficient = 1.5, relevant = true }]\nmean_time = 1e-5\n\
             nodes = [4, 4]\n",
        ),
    ] {
        text += &format!("[[models]]\nname = \"{name}\"\ninputs = [{any}]\n{rest}");
    }
    Some(text + &library("way", &["n"], &[("alone", "Alone"), ("shared", "Iterate")]))
}
