//! Prices: whole numbers never below the model, and the files of others.

use std::process::Command;

use serde_json::Value;
use strata_interchange::emit::prices::{self, Prices, Pricing};
use strata_model::set::{ModelSet, Term};
use strata_model::{Program, expr::parse};

/// A set of one model of `n`.
fn one(unit: &str, terms: &[(&str, f64)]) -> ModelSet {
    let terms: String = (terms.iter())
        .map(|(term, by)| format!("{{ term = {term:?}, coefficient = {by:?}, relevant = true }}, "))
        .collect();
    let head = "strata-models = 1
[[models]]
name = \"f\"
inputs = [{ name = \"n\", min = 0, max = 1000, integer = true }]
upper = { share = 0.99, confidence = 0.95, samples = 600, points = 60, covered = 0.995, fresh = 0.99, above = 1.1 }";
    ModelSet::read(&format!("{head}\nunit = {unit:?}\nterms = [{terms}]\n")).unwrap()
}

fn set() -> ModelSet {
    ModelSet::read(include_str!("../sets/prices.toml")).unwrap()
}

fn whole() -> Prices {
    Prices::new(&set(), &Pricing { unit: None, round_up: true }).unwrap()
}

/// The true sums in the unit of the prices, at some inputs.
fn truths() -> Vec<(String, Vec<u64>, f64)> {
    let mut all = Vec::new();
    for model in &set().models {
        let names: Vec<&str> = model.inputs.iter().map(|input| &*input.name).collect();
        let factor = if model.unit.is_seconds() { 1e12 } else { 1.0 };
        for at in [[1_u64, 1], [2, 7], [299, 300], [300, 3], [401, 0], [1000, 1000]] {
            let values: Vec<f64> = at.iter().take(names.len()).map(|v| *v as f64).collect();
            let value = |term: &Term| {
                term.coefficient
                    * Program::compile(&parse(&term.term).unwrap(), &names).unwrap().eval(&values)
            };
            let sum: f64 = model.terms.iter().map(value).sum();
            all.push((model.name.clone(), at[..names.len()].to_vec(), factor * sum));
        }
    }
    all
}

/// Compiles and runs a program that prints a price a line; `None` where there is no compiler.
fn run(compiler: &str, name: &str, program: &str) -> Option<Vec<u64>> {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join(name), folder.path().join("prices"));
    std::fs::write(&source, program).unwrap();
    let built = Command::new(compiler).arg(&source).arg("-o").arg(&binary).output().ok()?;
    assert!(built.status.success(), "{}\n{program}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&binary).output().unwrap();
    assert!(ran.status.success());
    Some(String::from_utf8(ran.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect())
}

/// Prices are at least the sums, and above them by little: rounding adds less than one for each
/// coefficient, times its term.
fn check(found: &[u64]) {
    let truths = truths();
    assert_eq!(found.len(), truths.len() + 1);
    for ((name, at, truth), found) in truths.iter().zip(found) {
        let found = *found as f64;
        assert!(found >= truth * (1.0 - 1e-15), "{name} {at:?}: {found} below {truth}");
        // The logarithm and the places of hinges are rounded up too.
        let most = if name == "tree" { 1.6 } else { 1.02 };
        assert!(found <= truth * most + 4000.0, "{name} {at:?}: {found} far above {truth}");
    }
    assert_eq!(*found.last().unwrap(), u64::MAX, "what is too great stays there");
}

#[test]
fn rust_never_prices_too_little() {
    let mut program = prices::rust(&whole()).unwrap();
    let call = |(name, at, _): &(String, Vec<u64>, f64)| {
        let at: Vec<String> = at.iter().map(u64::to_string).collect();
        format!("    println!(\"{{}}\", {name}({}));\n", at.join(", "))
    };
    let calls: String = truths().iter().map(call).collect();
    program += &format!("\nfn main() {{\n{calls}    println!(\"{{}}\", verify(u64::MAX / 3, 5));\n}}\n");
    check(&run("rustc", "prices.rs", &program).unwrap());
}

#[test]
fn c_never_prices_too_little() {
    let mut program = prices::c(&whole(), "gas").unwrap() + "#include <stdio.h>\n";
    let call = |(name, at, _): &(String, Vec<u64>, f64)| {
        let at: Vec<String> = at.iter().map(|at| format!("UINT64_C({at})")).collect();
        format!("    printf(\"%llu\\n\", (unsigned long long)gas_{name}({}));\n", at.join(", "))
    };
    let calls: String = truths().iter().map(call).collect();
    let last = "    printf(\"%llu\\n\", (unsigned long long)gas_verify(UINT64_MAX / 3, 5));\n";
    program += &format!("int main(void) {{\n{calls}{last}    return 0;\n}}\n");
    match run("cc", "prices.c", &program) {
        Some(found) => check(&found),
        None => println!("skipped: there is no cc"),
    }
}

#[test]
fn a_model_may_be_called_like_a_helper() {
    for name in ["log2_up", "greatest", "least"] {
        let mut set = one("s", &[("max(n,3)", 1e-9)]);
        set.models[0].name = name.to_owned();
        let prices = Prices::new(&set, &Pricing { unit: None, round_up: true }).unwrap();
        assert!(prices::rust(&prices).unwrap().contains(&format!("pub const fn {name}_2(n: u64)")), "{name}");
    }
}

#[test]
fn a_small_price_says_what_rounding_costs() {
    // 0.004 gas a unit is 1 for the whole unit, and 4 in a unit of a thousandth.
    let set = one("gas", &[("1", 20.0), ("n", 0.004)]);
    let prices = Prices::new(&set, &Pricing { unit: None, round_up: true }).unwrap();
    assert_eq!(prices.rows[0].terms[0].coefficient, 1.0);
    assert!(prices.warnings[0].contains("makes `n` 250.0 times as dear"), "{:?}", prices.warnings);
    let unit = Some(("milligas".parse().unwrap(), 1000.0));
    let prices = Prices::new(&set, &Pricing { unit, round_up: true }).unwrap();
    assert_eq!((prices.rows[0].base, prices.rows[0].terms[0].coefficient), (20_000.0, 4.0));
    assert!(prices.warnings.is_empty());
}

#[test]
fn what_is_no_whole_number_is_told() {
    let wrong = |terms: &[(&str, f64)]| {
        let prices = Prices::new(&one("s", terms), &Pricing { unit: None, round_up: true });
        prices.and_then(|prices| prices::rust(&prices)).unwrap_err()
    };
    for (terms, say) in [
        (&[("n", -1e-9)][..], "the coefficient of `n` is negative"),
        (&[("n", 1e9)], "too great for a whole number"),
        (&[("sqrt(n)", 1e-9)], "the term `sqrt(n)` is not computed in whole numbers"),
        (&[("n*0.3", 1e-9)], "would be rounded before it multiplies"),
        (&[("n*P", 1e-9)], "`P` is no input"),
    ] {
        assert!(wrong(terms).contains(say), "{}", wrong(terms));
    }
}

/// `shape` has what Cardano's files take, `benchmarks` what Substrate's templates do: neither has
/// products, logarithms and hinges.
#[test]
fn files_of_others_are_made_of_the_data() {
    insta::assert_snapshot!("prices_csv", prices::csv(&whole()).unwrap());
    let data: Value = serde_json::from_str(&prices::json(&whole())).unwrap();
    let shapes = data["models"].as_array().unwrap().iter().flat_map(|row| {
        let others = row["others"].as_object().unwrap().iter();
        let others = others.map(|(of, other)| format!("    {of} {}\n", other["shape"]));
        std::iter::once(format!("{} {}\n", row["name"], row["shape"])).chain(others)
    });
    let benchmarks = data["benchmarks"].as_array().unwrap().iter().map(|one| format!("{one}\n"));
    insta::assert_snapshot!("prices_json", shapes.chain(benchmarks).collect::<String>());
}

/// The program of the guide, if there is Python.
#[test]
fn a_program_of_yours_makes_a_file_of_them() {
    let page = include_str!("../../../../docs/bounds.md");
    let (_, rest) = page.split_once("```python prices.py\n").unwrap();
    let (program, _) = rest.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("prices.json"), prices::json(&whole())).unwrap();
    let python = Command::new("python3").args(["-c", program]).current_dir(folder.path()).output();
    let Ok(output) = python else { return eprintln!("skipped: there is no python3") };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("\nhash = 900400 + 3101 * n ps\n"), "{text}");
}
