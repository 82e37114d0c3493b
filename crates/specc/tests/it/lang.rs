//! Golden tests of the spec language: what passes, and how what does not is reported.
use std::fmt::Write as _;
use std::path::Path;

use specc::lang::checked::{CheckedSpec, ModelKind, Parameter, Timed};
use specc::lang::{CheckErrors, load, load_all, parse};
use specc::points::{Site, Space};
use strata_model::Platform;
use strata_model::expr::MAX_NESTING;

fn load_file(path: &Path) -> Result<CheckedSpec, CheckErrors> {
    let text = std::fs::read_to_string(path).unwrap();
    load(&path.file_name().unwrap().to_string_lossy(), &text)
}

/// A machine that tells all its caches but the third.
fn server(nodes: usize) -> Site {
    let text = format!("threads nodes={nodes} cores=8 cpu=\"\" cache=\"L1d:32K L2:1M\" os=linux arch=x86_64");
    text.parse::<Platform>().unwrap().into()
}

/// A plan in a few lines a model.
fn outline(spec: &CheckedSpec) -> String {
    let mut text = String::new();
    for model in &spec.models {
        let inputs: Vec<&str> = model.inputs.iter().map(|input| input.name.as_str()).collect();
        writeln!(text, "model {}({})", model.name, inputs.join(", ")).unwrap();
        match &model.kind {
            ModelKind::Factored(expr) => writeln!(text, "  = {expr}").unwrap(),
            ModelKind::Unmeasured => writeln!(text, "  measured elsewhere").unwrap(),
            ModelKind::Measured(measured) => {
                for plan in &measured.loops {
                    let (operator, by) = (plan.step.operator, plan.step.by);
                    let number = plan.number.rust_type();
                    writeln!(
                        text,
                        "  for {}: {number} from {} to {}, {operator:?} {by}",
                        plan.name, plan.first, plan.last
                    )
                    .unwrap();
                }
                for binding in &measured.bindings {
                    let number = binding.number.rust_type();
                    writeln!(
                        text,
                        "  let {}: {number} = {} = {}",
                        binding.name, binding.value, binding.reduced
                    )
                    .unwrap();
                }
                match &measured.work {
                    Timed::Task { repeated, hot, code } => {
                        let hot = if *hot { " hot" } else { "" };
                        writeln!(text, "  task {repeated:?}{hot} {:?}", code.text).unwrap()
                    }
                    Timed::Sample { gives, code } if gives.is_empty() => {
                        writeln!(text, "  sample {:?}", code.text).unwrap();
                    }
                    Timed::Sample { gives, code } => {
                        writeln!(text, "  sample {} {:?}", gives.join(", "), code.text).unwrap();
                    }
                }
                let count =
                    |nodes| Space::new(spec, model, server(nodes)).unwrap().unwrap().nest().unwrap().len();
                let points = [count(1), count(4)];
                writeln!(text, "  points on 1 and 4 nodes: {points:?}").unwrap();
            }
        }
        for expr in &model.requires {
            writeln!(text, "  require {expr}").unwrap();
        }
        let columns: Vec<String> = model.columns().iter().map(ToString::to_string).collect();
        writeln!(text, "  columns {columns:?}").unwrap();
        let terms: Vec<String> = model.terms.iter().map(|term| term.value.to_string()).collect();
        writeln!(text, "  terms {terms:?}\n  {:?}", model.options).unwrap();
    }
    for library in &spec.libraries {
        writeln!(text, "library {}({})", library.name, library.inputs.join(", ")).unwrap();
        for candidate in &library.candidates {
            let arguments: Vec<String> = candidate.arguments.iter().map(ToString::to_string).collect();
            let model = &spec.models[candidate.model].name;
            let parameter = |p: &Parameter| {
                let root = p.root.as_ref().map_or(String::new(), |root| format!(", root of {root}"));
                format!(" {} in {}..={} step {}{root}", p.name, p.min, p.max, p.step)
            };
            let parameters: Vec<String> = candidate.parameters.iter().map(parameter).collect();
            let (arguments, parameters) = (arguments.join(", "), parameters.join(";"));
            writeln!(text, "  {} = {model}({arguments}){parameters}", candidate.name).unwrap();
        }
    }
    text
}

#[test]
fn what_is_right_passes() {
    insta::glob!("../pass", "*.spec", |path| {
        let checked = load_file(path).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
        insta::assert_snapshot!(outline(&checked));
    });
}

#[test]
fn diagnostics_read_well() {
    insta::glob!("../ui", "*.spec", |path| {
        insta::assert_snapshot!(load_file(path).expect_err("it has errors").render(false));
    });
}

#[test]
fn the_specs_of_this_repository_are_formatted() {
    insta::glob!("../../../../specs", "**/*.spec", |file| {
        let text = std::fs::read_to_string(file).unwrap();
        let printed =
            specc::lang::format("spec", &text).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
        assert_eq!(printed, text, "run `specc check --fmt {}`", file.display());
    });
}

#[test]
fn specs_are_printed_canonically() {
    insta::glob!("../fmt", "*.spec", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let printed = specc::lang::format("fmt.spec", &text)
            .unwrap_or_else(|errors| panic!("{}", errors.render(false)));
        insta::assert_snapshot!(printed);
    });
}

/// The kinds of machines that files are measured on together.
#[test]
fn files_of_one_folder_are_measured_on_what_all_take() {
    let model = |name: &str| format!("model {name}(n) {{ for n in 1..=8 task {{ work(n) }} }}\n");
    let words = |files: &[(&str, &str)]| {
        let spec = load_all(files).map_err(|errors| errors.render(false))?;
        Ok::<_, String>(spec.on().iter().map(|kind| kind.word()).collect::<Vec<_>>())
    };
    let (plain, both) = (model("A"), format!("on mpi, threads\n{}", model("B")));
    let (one, other) = (format!("on threads, sim\n{}", model("C")), format!("on sim\n{}", model("D")));
    assert_eq!(words(&[("a", &plain)]).unwrap(), ["threads", "mpi", "sim"]);
    assert_eq!(words(&[("a", &plain), ("b", &both)]).unwrap(), ["mpi", "threads"]);
    assert_eq!(words(&[("b", &both), ("c", &one)]).unwrap(), ["threads"]);
    let told = words(&[("b", &both), ("d", &other)]).unwrap_err();
    assert!(told.contains("measured on threads, mpi alone") && told.contains("[d:1:1]"), "{told}");
    // What is measured is the same, so what knows the spec by its hash stays valid.
    let spec = |text: &str| load("a", text).unwrap();
    let hash = |text: &str| specc::profiling_program::identity(&spec(text)).unwrap().sha256;
    assert_eq!(hash(&plain), hash(&format!("on mpi\n{plain}")));
    assert!(spec(&format!("on mpi\n{plain}")).written_out().starts_with("on mpi\n"));
}

/// The grammar recurses at parentheses, and has no guard of the stack.
#[test]
fn what_nests_too_deep_is_an_error() {
    let nested = |deep: usize| {
        let (open, close) = ("(".repeat(deep), ")".repeat(deep));
        let closed = |open: &str| format!("{}n{close}", open.repeat(deep));
        [closed("("), closed("min(1, "), closed("-(!"), closed("n+(1*"), open.clone(), format!("{open}n}}}}")]
    };
    for place in [
        "let x = @",
        "terms x = (1, n) by @",
        "model M(n) { for n in @..=4 task { f(n) } }",
        "model M(n) { for n in 1..=4 let m = @ require @ task { f(n) } terms @ }",
        "model M(n) = @",
        "model M(n) ~ (n, @) by (@, 1)",
        "library l(n) { candidate a = M(@) for k in @..=4, p = root(0..=9, @) require @ }",
        "{{ i 1 @ ++ @@ f(i) @@ n:@ @@ m:@ }}",
    ] {
        for deep in [MAX_NESTING, MAX_NESTING + 1, 10_000] {
            for text in nested(deep) {
                let spec = place.replace("@@", "\0").replace('@', &text).replace('\0', "@");
                // Whether less is in order depends on the place.
                let is_refused = !parse(&spec).errors.is_empty();
                assert!(is_refused || deep == MAX_NESTING, "{deep} deep in {place}");
            }
        }
    }
}
