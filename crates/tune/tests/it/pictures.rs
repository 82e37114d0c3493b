//! The picture of `docs/tuning.md` is what the tuner draws of the program of that page.
//!
//! `INSTA_UPDATE=always cargo test -p strata-tune --test it pictures` draws it again.

use crate::common::{Program, tune};
use std::panic::Location;
use strata_tune::{Knob, SizeClass};

/// Picks at the caller's place, and works for as long as the option takes.
#[track_caller]
fn call(program: &mut Program, knob: &Knob<f64>) {
    let now = Some(program.now);
    let option = program.tuner.option_at(Location::caller(), knob, SizeClass::Any, now);
    program.work(*knob.value(option));
}

#[test]
fn the_picture_is_what_the_tuner_draws() {
    let options = |name, times: [f64; 3]| {
        let [default, forward, stream] = times;
        Knob::named(name, ("memcpy", default), [("forward", forward), ("stream", stream)])
    };
    let send = options("send", [2e4, 2.2e4, 1.6e4]);
    let receive = options("receive", [2e4, 1.9e4, 3e4]);
    let all_reduce = Knob::named("all_reduce", ("only", 4e4), []);
    let mut program = Program::new(tune(1));
    for _ in 0..2000 {
        for _ in 0..4 {
            call(&mut program, &send);
            call(&mut program, &receive);
        }
        call(&mut program, &all_reduce);
    }
    let drawn = program.tuner.graph_svg();
    assert!(drawn.contains("interval 1: adopted stream") && drawn.contains(">6000<"), "{drawn}");
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures/tuning.svg");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(&file, &drawn).unwrap();
    }
    // A package of this crate alone has no docs.
    match std::fs::read_to_string(&file) {
        Ok(kept) => assert_eq!(kept, drawn, "{}: draw it again", file.display()),
        Err(error) => println!("skipped: {}: {error}", file.display()),
    }
}
