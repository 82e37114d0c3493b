//! What holds for every text that might be a spec.

use specc::lang::{format, load, parse};

/// Everything that can be done with a text. True if it is a spec.
pub(crate) fn try_everything(text: &str) -> bool {
    let loaded = load("any.spec", text).map_err(|errors| errors.render(false));
    let parsed = parse(text);
    match format("any.spec", text) {
        Ok(once) => {
            assert_eq!(
                format("any.spec", &once).expect("what was printed can be read"),
                once,
                "printed twice"
            );
            let again = parse(&once);
            assert_eq!(bare(&parsed.file.items), bare(&again.file.items), "{text}\n---\n{once}");
            assert_eq!(bare(&parsed.file.uses), bare(&again.file.uses));
            assert_eq!(parsed.file.comments.len(), again.file.comments.len(), "{text}\n---\n{once}");
        }
        Err(errors) => assert!(!errors.errors().is_empty()),
    }
    if let Ok(spec) = &loaded {
        let text = spec.written_out();
        match load("any.spec", &text) {
            Ok(again) => assert_eq!(again.written_out(), text, "written out twice"),
            Err(errors) => panic!("{text}\n---\n{}", errors.render(false)),
        }
    }
    loaded.is_ok()
}

/// A tree as text without places and blanks.
fn bare(tree: &impl std::fmt::Debug) -> String {
    let text = std::format!("{tree:?}");
    let mut out = String::new();
    for (at, part) in text.split("Span { start: ").enumerate() {
        out.push_str(if at == 0 { part } else { part.split_once('}').map_or("", |(_, rest)| rest) });
    }
    out.replace("\\r", "").replace("\\n", "").replace("\\t", "").replace(' ', "")
}
