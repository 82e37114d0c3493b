//! What is written once means the same as what is written out.
use proptest::prelude::*;
use specc::lang::load;
use std::cell::Cell;

fn meaning(text: &str) -> String {
    load("any.spec", text).unwrap_or_else(|errors| panic!("{text}\n{}", errors.render(false))).written_out()
}

/// `RepMovsb` as functions are named.
fn snake(word: &str) -> String {
    let mut out = String::new();
    for (at, c) in word.chars().enumerate() {
        if c.is_ascii_uppercase() && at > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Factors that are no sums or products, so that they can be written next to each other.
const FACTORS: [&str; 6] = ["n", "m", "max(0, n-64)", "log2(n+m)", "(n > 8)", "ceil(m/3)"];

fn factors() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(&FACTORS[..], 1..=3)
}

fn listed(factors: &[&str]) -> String {
    if factors.len() == 1 { factors.concat() } else { format!("({})", factors.join(", ")) }
}

proptest! {
    #[test]
    fn a_family_is_its_members(
        first in proptest::sample::subsequence(vec!["Memcpy", "RepMovsb", "Avx2", "B"], 1..=4),
        second in proptest::sample::subsequence(vec!["Hot", "ColdRead", "X"], 1..=3),
        (left, right) in (factors(), factors()),
        cores in "max\\(1, P/cores\\)|min\\(P, cores\\)",
    ) {
        let short = format!(
            "let share = {cores}\n\
             terms both = {l} by {r}\n\
             model {{{}}}{{{}}} as one, two (n, m) {{\n\
             for n in 1..=64 step *2\nfor m in 1..=9\nlet scaled = n*share\n\
             require scaled >= 1\n\
             setup {{ let v = Vec::<One>::new(); }}\n\
             task {{ one::run(Two::new(\"{{one}}\", \"{{Two}}{{x}}\"), n, m) /* one */ }}\n\
             terms scaled, n/share, both by (1, sqrtP)\n}}\n\
             library best_{{{}}} as two (n, m) {{ candidate {{{}}} as one = {{One}}{{Two}}(n, m) }}\n",
            first.join(", "),
            second.join(", "),
            second.iter().map(|word| snake(word)).collect::<Vec<_>>().join(", "),
            first.iter().map(|word| snake(word)).collect::<Vec<_>>().join(", "),
            l = listed(&left),
            r = listed(&right),
        );
        let products: Vec<String> = left
            .iter()
            .flat_map(|l| right.iter().map(move |r| format!("{l}*{r}")))
            .flat_map(|product| [product.clone(), format!("{product}*sqrtP")])
            .collect();
        let mut long = String::new();
        for one in &first {
            for two in &second {
                long += &format!(
                    "model {one}{two}(n, m) {{\n\
                     for n in 1..=64 step *2\nfor m in 1..=9\n\
                     require n*{cores} >= 1\n\
                     setup {{ let v = Vec::<{one}>::new(); }}\n\
                     task {{ {s}::run({two}::new(\"{s}\", \"{two}{{x}}\"), n, m) /* one */ }}\n\
                     terms n*{cores}, n/{cores}, {}\nfit eliminate aicc, search never\n}}\n",
                    products.join(", "),
                    s = snake(one),
                );
            }
        }
        for two in &second {
            let candidates: String = first
                .iter()
                .map(|one| format!("candidate {} = {one}{two}(n, m)\n", snake(one)))
                .collect();
            long += &format!("library best_{}(n, m) {{ {candidates} }}\n", snake(two));
        }
        prop_assert_eq!(meaning(&short), meaning(&long), "{}", short);
    }
}

#[test]
fn the_specs_of_this_repository_mean_what_they_mean_written_out() {
    let (compared, all) = (Cell::new(0), Cell::new(0));
    insta::glob!("../../../../specs", "**/*.spec", |file| {
        let text = std::fs::read_to_string(file).unwrap();
        all.set(all.get() + 1);
        // One that calls models of other files is none by itself.
        let Ok(spec) = load("any.spec", &text) else { return };
        compared.set(compared.get() + 1);
        let once = spec.written_out();
        assert!(meaning(&once) == once, "{}", file.display());
    });
    let (compared, all) = (compared.get(), all.get());
    assert!(2 * compared > all && all > 20, "{compared} of {all}");
}

#[test]
fn where_the_nodes_count_is_seen() {
    let uses = |code: &str, terms: &str| {
        let text = format!(
            "model A(n) {{ for e in 0..=9 let n = pow(2, e) task {{ {code} }} terms {terms} }}\n\
             library a(n) {{ candidate a = A(n) }}\n"
        );
        let spec =
            load("any.spec", &text).unwrap_or_else(|errors| panic!("{text}\n{}", errors.render(false)));
        (spec.uses_nodes(), spec.uses_project())
    };
    assert_eq!(uses("work(n, the_node, nodes);", "n"), (false, false));
    assert_eq!(uses("work(n, node);", "n"), (true, false));
    assert_eq!(uses("work(n);", "n/P"), (true, false));
    assert_eq!(uses("strata_sort::sort(n);", "n"), (false, true));
}

#[test]
fn values_of_a_parameter_are_counted_by_its_step() {
    let loads = |range: &str| {
        let text = format!(
            "model A(n, g) {{ for n in 1..=9 for g in 1..=9 task {{ work(n, g); }} terms n, g }}\n\
             library a(n) {{ candidate a = A(n, g) for g in {range} }}\n"
        );
        load("any.spec", &text).map_err(|errors| errors.render(false))
    };
    for range in ["1024..=1048576 step *4", "1..=10000000 step +1000", "1..=1000000 step <<1"] {
        assert!(loads(range).is_ok(), "{range}: {:?}", loads(range).err());
    }
    for range in ["1..=1000001", "1..=2000001 step +2"] {
        assert!(loads(range).is_err_and(|why| why.contains("more than 1000000 values")), "{range}");
    }
}
