//! No text makes the language panic, run out of stack or take long; and the printer keeps what it
//! prints. The workspace's `fuzz` damages specs.
use std::fmt::Write as _;

use crate::any_spec::try_everything;
use specc::lang::{format, load, load_all, read_spec};

/// Well-formed specs.
const SEEDS: [&str; 9] = [
    include_str!("../pass/design.spec"),
    include_str!("../pass/thesis.spec"),
    include_str!("../pass/typed.spec"),
    include_str!("../fmt/comments.spec"),
    include_str!("../pass/fit.spec"),
    include_str!("../fmt/fit.spec"),
    include_str!("../pass/machine.spec"),
    include_str!("../pass/families.spec"),
    include_str!("../fmt/families.spec"),
];

#[test]
fn whole_specs_are_printed_stably() {
    for text in SEEDS {
        try_everything(text);
        try_everything(&text.replace('\n', "\r\n"));
    }
}

#[test]
fn deep_and_long_text_is_survived() {
    let n = 30_000;
    let many = |piece: &str| piece.repeat(n);
    let model = |task: &str| std::format!("model A(x) {{ for x in 1..=4 task {{ {task} }} }}");
    let cases = [
        String::new(),
        "\u{FEFF}".to_owned(),
        "\0".to_owned(),
        many("{"),
        many("}"),
        many("("),
        many("{{"),
        many("model A("),
        many("task {\""),
        std::format!("model A() {{\n{}", many("task { /*\n")),
        std::format!("model A() {{\n{}", many("foo {\n")),
        many("@"),
        many("\""),
        many("/*"),
        many("r#"),
        many("let x = 1\n"),
        (0..2000).map(|i| std::format!("let x{} = x{i}+x{i}\n", i + 1)).collect(),
        (0..2000).map(|i| std::format!("terms x{} = x{i}, x{i}\n", i + 1)).collect(),
        std::format!("terms x = y{}\n", many(" by (1, y)")),
        std::format!("model {{{}}}(x) = x", many("A, ")),
        std::format!("model A{}(x) = x", many("{A, B}")),
        std::format!("model A{}", many("{")),
        std::format!("library a(x) {{ candidate {}b = A(x) }}", many("{a, b}")),
        std::format!("model A(x) {{ {} }}", many("let x = 1\n")),
        std::format!("model A(x) = {}x", many("(")),
        std::format!("model A(x) = {}x{}", many("("), many(")")),
        std::format!("model A(x) = {}x", many("-")),
        std::format!("model A(x) = x{}", many("+x")),
        std::format!("model A(x) = x{}", many("^x")),
        std::format!("model A(x) {{ for x in 1..=4 terms x{} task {{}} }}", many(", x")),
        model(&std::format!("{}{}", many("{"), many("}"))),
        model(&std::format!("{}{}", many("("), many(")"))),
        model(&many("!")),
        model(&std::format!("{}1", "!".repeat(32_000))),
        model(&std::format!("{}1", "&".repeat(32_000))),
        model(&std::format!("{}1", "|| ".repeat(10_000))),
        model(&std::format!("{}1", "a=".repeat(16_000))),
        model(&std::format!("x{}", "?".repeat(32_000))),
        model(&std::format!("x{}", "+1".repeat(16_000))),
        model(&std::format!("{}x", "return ".repeat(4600))),
        model(&std::format!("if a {{}} {}", "else if a {} ".repeat(2400))),
        model(&std::format!("let x: {}u8", "V<".repeat(16_000))),
        model(&std::format!("let x: {}u8", "&".repeat(32_000))),
        model(&std::format!("let {}x = 1", "&".repeat(32_000))),
        model(&std::format!("x{}", ".a".repeat(16_000))),
        std::format!("use {};", "a::".repeat(10_000)),
        std::format!("use {}a{};", "a::{".repeat(n), many("}")),
    ];
    for text in cases {
        let _ = load("deep.spec", &text).map_err(|errors| errors.render(false));
        let _ = format("deep.spec", &text);
    }
}

#[test]
fn values_that_grow_without_bound_are_refused() {
    let mut text = "model A(v60) {\n for v0 in 1..=4\n".to_owned();
    for i in 1..=60 {
        writeln!(text, "let v{i} = v{0} + v{0}", i - 1).unwrap();
    }
    text.push_str("task { f() }\n}\n");
    assert!(load("a.spec", &text).unwrap_err().render(false).contains("too large"));

    let mut text = "model M0(x) = x\n".to_owned();
    for i in 1..=60 {
        writeln!(text, "model M{i}(x) = M{0}(x) + M{0}(x)", i - 1).unwrap();
    }
    assert!(load("m.spec", &text).unwrap_err().render(false).contains("too large"));
}

#[test]
fn long_chains_of_models_are_survived() {
    let mut text = String::new();
    for i in 0..20_000 {
        writeln!(text, "model M{i}(x) ~ M{}(x)", (i + 1) % 20_000).unwrap();
    }
    let errors = load("chain.spec", &text).unwrap_err();
    assert_eq!(errors.errors().len(), 1, "{}", errors.render(false));
}

#[test]
fn a_thousand_models_are_checked() {
    let mut text = "use strata_runtime::prelude::*;\n".to_owned();
    for i in 0..1000 {
        writeln!(
            text,
            "/// Number {i}.\nmodel Model{i}(length, width) {{\n    for i in 1..=4096 step *2\n    for width in 1..=64 step *2\n    \
             let length = i * {}\n    require length >= 1 && length * width < 1e9\n    setup {{ let mut v = vec![1i64; length]; \
             node.barrier(); }}\n    task {{ node.scan_add(&mut v[..width]) }}\n    cleanup {{ drop(v); }}\n    \
             terms length, logP, length*logP, width*length, width*logP\n}}",
            i + 1
        )
        .unwrap();
    }
    let spec = load("thousand.spec", &text).unwrap();
    assert_eq!(spec.models.len(), 1000);
    let broken = load("thousand.spec", &text.replace("scan_add(", "scan_add(]"));
    assert!(broken.unwrap_err().errors().len() >= 1000);
}

#[test]
fn files_see_each_other() {
    let a = ("a.spec", "library l(n) { candidate one = One(n) }\nmodel Two(n) = 2*One(n)\n");
    let b = ("b.spec", "model One(n) { for n in 1..=4 task { f(n) } }\n");
    let spec = load_all(&[a, b]).unwrap();
    assert_eq!(spec.order, [1, 0]);
    let twice = load_all(&[b, ("c.spec", b.1)]).unwrap_err().render(false);
    assert!(twice.contains("the first stands in b.spec, line 1"), "{twice}");
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.spec");
    std::fs::write(&path, b"// fine\n// \xFF\n").unwrap();
    let text = read_spec(&path).unwrap_err().render(false);
    assert!(text.contains("line 2: byte 11 is not UTF-8"), "{text}");
    assert!(read_spec(&folder.path().join("none.spec")).unwrap_err().render(false).contains("cannot read"));
    assert!(specc::lang::find_specs(folder.path()).unwrap() == [path]);
}
