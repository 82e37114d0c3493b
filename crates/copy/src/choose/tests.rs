use strata_select::{
    Table,
    choice::Note,
    models::Models,
    table::{Domain, Entry},
};

use super::*;

/// A candidate that takes `$time` times a byte's time, with a deviation of `$deviation` of it.
macro_rules! entry {
    ($name:literal, $time:expr, $deviation:expr) => {
        strata_select::table::Entry::new(
            $name,
            strata_select::table::Verdict::Unverified,
            1.0,
            &strata_select::table::Model::Fitted(strata_select::table::Fitted {
                terms: |_, x, to| strata_select::table::fill(to, &[x[0]]),
                coefficients: &[1e-10 * $time],
                quantile: 0.0,
                noise: strata_select::table::Variance::Absolute(0.0),
                own: strata_select::table::Variance::Relative($deviation * $deviation),
                factor: &[],
            }),
        )
    };
}
pub(crate) use entry;

/// A library of these candidates over two inputs.
pub(crate) const fn table_of(inputs: &'static [&'static str], entries: &'static [Entry]) -> Table {
    let domain = Domain { nodes: (1, 1), inputs: &[(1.0, 1e6), (0.0, 1e4)] };
    Table { library: "copy", spec: "", platform: "", digest: "", inputs, domain, entries }
}

/// Models by which `rep_movsb`, `sse2_forward` and a routine that does not exist take these times;
/// `memcpy` takes 1.
macro_rules! table {
    ($rep:expr, $sse:expr, $deviation:expr) => {{
        static TABLE: Table = table_of(
            &["bytes", "shift"],
            &[
                entry!("memcpy", 1.0, $deviation),
                entry!("rep_movsb", $rep, $deviation),
                entry!("sse2_forward", $sse, $deviation),
                entry!("of_another_machine", 0.1, 0.0),
            ],
        );
        &TABLE
    }};
}

/// Models of this machine in all situations.
pub(crate) fn here(table: &'static Table) -> Situation {
    Situation { table, models: Models { source: table, file: None, note: None } }
}

fn chosen(situation: impl Fn(Measured) -> Situation, hint: Hint) -> &'static str {
    decide(situation, hint, Class::of(100_000), true).name()
}

#[test]
fn every_length_has_a_class_that_holds_it() {
    let mut last = 0;
    for bytes in (SHORT..40_000).chain((5..50).map(|power| SHORT << power)).chain([usize::MAX]) {
        let class = Class::of(bytes);
        assert!(class.0 < Class::COUNT && class.0 >= last, "{bytes}");
        last = class.0;
        let [low, middle, high] = class.lengths();
        assert!(low < middle && middle < high);
        if bytes < 1 << 28 {
            let bytes = bytes as f64;
            assert!(bytes >= low * 0.99 && bytes <= high * 1.01, "{bytes} not in {low}..{high}");
        }
    }
    assert_eq!(last, Class::COUNT - 1);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn only_what_is_significantly_better_replaces_memcpy() {
    let hint = Hint::default();
    assert_eq!(chosen(|_| here(table!(0.8, 0.9, 0.02)), hint), "rep_movsb");
    assert_eq!(chosen(|_| here(table!(0.9, 0.8, 0.02)), hint), "sse2_forward");
    assert_eq!(chosen(|_| here(table!(0.8, 0.9, 0.20)), hint), "memcpy", "within noise");
    assert_eq!(chosen(|_| here(table!(0.99, 1.1, 0.0)), hint), "memcpy", "not worth it");
    assert_eq!(chosen(|_| here(table!(1.5, 2.0, 0.0)), hint), "memcpy");
    assert_eq!(chosen(|_| here(table!(f64::NAN, f64::NEG_INFINITY, 0.0)), hint), "memcpy", "no predictions");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn by_models_of_another_machine_memcpy_stays_but_for_great_gains() {
    let elsewhere = |table: &'static Table| {
        let note = Some(Note::OtherMachine { spec: "specs/copy", platform: "", differs: "" });
        Situation { table, models: Models { source: table, file: None, note } }
    };
    assert_eq!(chosen(|_| elsewhere(table!(0.5, 0.9, 0.02)), Hint::default()), "memcpy");
    assert_eq!(chosen(|_| elsewhere(table!(0.05, 0.9, 0.02)), Hint::default()), "rep_movsb");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_hint_leaves_out_what_it_excludes() {
    let (good, bad): (&Table, &Table) = (table!(0.5, 1.0, 0.01), table!(1.2, 1.0, 0.01));
    let slower_in = |places: &'static [Measured]| {
        move |measured: Measured| here(if places.contains(&measured) { bad } else { good })
    };
    // Much faster from a hot source, slower from a cold one.
    let models = slower_in(&[Measured::Cold, Measured::ColdRead]);
    assert_eq!(chosen(models, Hint::default().hot()), "rep_movsb");
    assert_eq!(chosen(models, Hint::default().cold()), "memcpy");
    assert_eq!(chosen(models, Hint::default()), "memcpy", "it may be cold");
    // Both sides change together.
    for side in [Hint::SEND, Hint::RECEIVE, Hint::RECEIVE.left(), Hint::RECEIVE.read()] {
        assert_eq!(chosen(models, side), "rep_movsb");
        assert_eq!(chosen(slower_in(&[Measured::ExchangeUsed]), side), "memcpy");
    }
    assert_eq!(sides("sse2_forward_to_rep_movsb"), ["sse2_forward", "rep_movsb"]);
    assert_eq!(sides("rep_movsb"), ["rep_movsb"; 2]);
}

#[test]
fn short_copies_are_memcpy_and_choices_stay() {
    for hint in [Hint::default(), Hint::SEND, Hint::RECEIVE.read(), Hint::default().cold().left()] {
        for bytes in [0, 1, 100, SHORT - 1] {
            assert!(routine_for(hint, bytes, false).is_default());
        }
        for bytes in [SHORT, 1 << 14, 1 << 20, 1 << 40, usize::MAX] {
            for aligned in [false, true] {
                assert_eq!(routine_for(hint, bytes, aligned), routine_for(hint, bytes, aligned));
            }
        }
    }
}

#[test]
fn a_row_tells_its_hint() {
    for source in [Source::Unknown, Source::Hot, Source::Cold, Source::Remote] {
        for target in [Target::Unknown, Target::Left, Target::Read, Target::Remote] {
            let hint = Hint { source, target };
            assert_eq!(Hint::of(hint.row()), hint);
        }
    }
}
