//! Choosing on nodes: where models come from, what is refused, what is told.

use crate::stderr;
use std::path::Path;
use std::process::{Command, Output};

use strata_model::set::Nodes;
use strata_model::{ModelSet, Platform, install};
use strata_runtime::prelude::*;
use strata_runtime::select::{Options, SelectError};
use strata_select::{
    Choice, Library, Pin, Row, Table,
    table::{Domain, Entry, Model, Parameter, Prediction, Verdict},
};

/// Two ways of doing nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Idle {
    Wait,
    Spin { turns: i64 },
}

/// Measured on 3 nodes of a machine that nobody has: waiting is best for few.
static IDLE: Table = Table {
    library: "idle",
    spec: "specs/idle",
    platform: "threads nodes=3 cores=1 cpu=\"Abacus\" cache=\"\" os=linux arch=x86_64",
    digest: "0123456789abcdef",
    inputs: &["n"],
    domain: Domain { nodes: (3, 3), inputs: &[(16.0, 1e6)] },
    entries: &[
        Entry::new("wait", Verdict::Verified, 1.0, &WAIT),
        Entry::new("spin", Verdict::Verified, 1.0, &SPIN).with(&[Parameter::new("turns", 1, 64).times(4)]),
    ],
};

static WAIT: Model =
    Model::Computed { seconds: |_, x| Some(1e-6 * x[0]), predict: |_, x| Prediction::new(1e-6 * x[0], 1e-7) };
static SLOW: Model = Model::Computed { seconds: |_, _| Some(1.0), predict: |_, _| Prediction::new(1.0, 0.0) };
static SPIN: Model =
    Model::Computed { seconds: |_, x| Some(1e-3 / x[1]), predict: |_, x| Prediction::new(1e-3 / x[1], 1e-7) };

impl Library for Idle {
    type Rows = [Row; 2];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&IDLE];

    fn candidate(index: usize, parameters: &[i64]) -> Option<Self> {
        match (index, parameters) {
            (0, []) => Some(Self::Wait),
            (1, &[turns]) => Some(Self::Spin { turns }),
            _ => None,
        }
    }
}

/// The other way round: spinning is best for few.
const SET: &str = include_str!("idle.toml");

fn here(nodes: usize) -> Platform {
    Machine::threads(nodes).unwrap().run(|node| Ok(node.platform())).unwrap().remove(0)
}

/// The set above as if it had been measured on 3 nodes of this machine, with some of it changed.
fn write(path: &Path, change: impl FnOnce(&mut ModelSet)) {
    let mut set = ModelSet::read(SET).unwrap();
    set.platform = Some(here(3));
    change(&mut set);
    std::fs::write(path, set.to_text()).unwrap();
}

fn choose(nodes: usize, n: f64, options: &Options) -> Result<(Idle, Choice<[Row; 2]>), String> {
    let chosen = Machine::threads(nodes).unwrap().run(|node| {
        let chosen = node.choose::<Idle>(n, options)?;
        let again = node.choose::<Idle>(n, options)?;
        assert_eq!(chosen.choice, again.choice);
        Ok((chosen.candidate, *chosen.choice))
    });
    let chosen = chosen.map_err(|error| error.to_string())?;
    assert!(chosen.iter().all(|other| *other == chosen[0]), "all nodes choose alike");
    Ok(chosen[0])
}

#[test]
fn models_of_another_machine_only_rank() {
    for (nodes, n, candidate, why) in [
        (
            3,
            15.0,
            Idle::Spin { turns: 64 },
            "another machine, the nearest: Abacus, 1 core (another processor); calibrate with `specc calibrate specs/idle -o DIR`",
        ),
        (3, 1000.0, Idle::Spin { turns: 64 }, "another machine"),
        (2, 1.0, Idle::Spin { turns: 64 }, "another number of nodes"),
        (1, 1e9, Idle::Spin { turns: 64 }, "another number of nodes"),
    ] {
        let (chosen, choice) = choose(nodes, n, &Options::default()).unwrap();
        assert_eq!((chosen, choice.predicted), (candidate, None));
        // On lines of 80 columns.
        let words: Vec<String> = choice.to_string().split_whitespace().map(str::to_owned).collect();
        assert!(words.join(" ").contains(why), "{choice}");
    }
}

#[test]
fn a_file_of_this_machine_predicts_and_beyond_it_ranks() {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.path(), |_| ());
    let options = Options::default().models(file.path());
    let (chosen, choice) = choose(3, 10.0, &options).unwrap();
    assert_eq!(chosen, Idle::Spin { turns: 1 });
    assert!(choice.predicted.is_some() && choice.note.is_none());
    assert_eq!(choose(3, 900.0, &options).unwrap().0, Idle::Wait);
    let (chosen, choice) = choose(3, 1e7, &options).unwrap();
    assert_eq!((chosen, choice.predicted), (Idle::Wait, None));
    assert!(choice.to_string().contains("ranked at the nearest point that was"), "{choice}");
}

#[test]
fn a_named_file_of_another_machine_or_program_is_refused() {
    let refusal = |nodes, change: fn(&mut ModelSet)| {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), change);
        choose(nodes, 10.0, &Options::default().models(file.path())).unwrap_err()
    };
    for (text, parts) in [
        (refusal(2, |_| ()), ["they are for 3 nodes, and here are 2", "--on threads --nodes 2"]),
        (
            refusal(3, |set| set.platform.as_mut().unwrap().cpu = "Abacus".into()),
            ["the processor differs: `Abacus`", "calibrate specs/idle"],
        ),
        (refusal(3, |set| set.libraries.clear()), ["no library `idle`", "calibrate specs/idle"]),
        (refusal(3, |set| set.libraries[0].inputs[0] = "m".into()), ["over m, but", "over n"]),
        (refusal(3, |set| set.libraries[0].candidates[0].name = "run".into()), ["`run`", "not one of this"]),
        (
            refusal(3, |set| set.libraries[0].candidates[0].parameters[0].max = 32),
            ["`spin`", "other parameters"],
        ),
    ] {
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn a_candidate_that_could_not_be_fitted_is_left_out() {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.path(), |set| drop(set.libraries[0].candidates.remove(0)));
    let (chosen, choice) = choose(3, 10.0, &Options::default().models(file.path())).unwrap();
    assert_eq!(chosen, Idle::Wait);
    assert!(choice.to_string().contains("spin  not taken: excluded by its model's range"), "{choice}");
}

#[test]
fn nodes_that_would_choose_differently_are_told_so() {
    let errors = Machine::threads(3).unwrap().run(|node| {
        let pin = if node.rank() == 1 { "idle=wait" } else { "idle=spin" };
        let options = Options::default().pin(Pin::parse(pin).unwrap());
        Ok(matches!(node.choose::<Idle>(1.0, &options), Err(SelectError::Unlike)))
    });
    assert_eq!(errors.unwrap(), [true; 3]);
}

/// What the tests below start as a program of its own: settings are read from the environment.
#[test]
#[ignore = "a part of others"]
fn program() {
    let nodes = std::env::var("NODES").map_or(3, |nodes| nodes.parse().unwrap());
    match choose(nodes, 10.0, &Options::default()) {
        Ok((_, choice)) => println!("{choice}"),
        Err(error) => println!("refused: {error}"),
    }
}

/// As if the hosts of the nodes had different models installed.
#[test]
#[ignore = "a part of another"]
fn program_on_unlike_hosts() {
    let options = Options::default();
    let words = Machine::threads(3).unwrap().run(|node| {
        let installed = node.selector::<Idle>(&options)?.word();
        // Pins that differ leave what is installed alone.
        assert!(node.must_compare_again(false));
        assert!(!node.must_compare_again(false));
        assert_eq!(node.selector::<Idle>(&options)?.word(), installed);

        assert!(node.must_compare_again(false));
        let compiled = node.selector::<Idle>(&options)?.word();
        assert!(!node.must_compare_again(true));
        // From now on they differ by something else.
        assert!(!node.must_compare_again(false));
        assert_eq!(node.choose::<Idle>(10.0, &options)?.candidate, Idle::Spin { turns: 64 });
        Ok((installed, compiled))
    });
    let words = words.unwrap();
    assert!(words.iter().all(|word| *word == words[0]) && words[0].0 != words[0].1, "{words:?}");
    println!("as compiled in");
}

fn start(test: &str, settings: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("select::{test}"), "--ignored", "--nocapture"])
        .envs(settings.iter().copied())
        .output()
        .unwrap()
}

/// What `specc calibrate --install` does, for a change of the models of `idle`.
#[test]
#[ignore = "a part of others"]
fn installer() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let nodes = std::env::var("NODES").unwrap();
    write(file.path(), |set| {
        let (min, max) = nodes.split_once('-').unwrap();
        for model in &mut set.models {
            model.nodes = Nodes { min: min.parse().unwrap(), max: max.parse().unwrap() };
        }
        if let Ok(candidate) = std::env::var("CANDIDATE") {
            set.libraries[0].candidates[0].name = candidate;
        }
    });
    let set = ModelSet::read(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
    match install(&set) {
        Ok(files) => files.iter().for_each(|file| println!("file {}", file.display())),
        Err(error) => println!("refused: {error}"),
    }
}

#[test]
fn installed_models_go_before_those_compiled_in() {
    let folder = tempfile::tempdir().unwrap();
    let cache = ("XDG_CACHE_HOME", folder.path().to_str().unwrap());
    let start = |test, settings: &[(&str, &str)]| {
        let output = start(test, &[settings, &[cache]].concat());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let run = || start("program", &[("STRATA_EXPLAIN", "1")]);
    let (out, err) = run();
    assert!(out.contains("idle: spin (turns = 64), outside what was measured"), "{out}");
    assert!(err.contains("by the models that are compiled in"), "{err}");
    // The program has three nodes. Nearest, then covering, then covering least decides.
    for (nodes, candidate) in [("9-9", "9"), ("8-8", "8"), ("1-5", "1-5"), ("3-3", "3"), ("2-2", "3")] {
        let (out, _) = start("installer", &[("NODES", nodes)]);
        assert!(out.contains("file "), "{out}");
        let (out, err) = run();
        let covers = ["3", "1-5"].contains(&candidate);
        assert_eq!(out.contains("idle: spin (turns = 1), predicted 10.0 µs"), covers, "{out}");
        assert!(err.contains(&format!("/idle/{candidate}.toml\n")), "{candidate}: {err}");
    }
    // Named models go before installed ones.
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.path(), |_| ());
    let named = file.path().to_str().unwrap();
    let (_, err) = start("program", &[("STRATA_EXPLAIN", "1"), ("STRATA_MODELS", named)]);
    assert!(err.contains(&format!("by the models in {named}\n")), "{err}");
    let (out, err) = start("program_on_unlike_hosts", &[]);
    assert!(out.contains("as compiled in"), "{out}{err}");
    assert_eq!(err.matches("strata: the hosts of the nodes have different models").count(), 1, "{err}");
    // Of an older program: not used, with the place and the way out.
    start("installer", &[("NODES", "3-3"), ("CANDIDATE", "run")]);
    let (out, err) = run();
    assert!(out.contains("idle: spin (turns = 64), outside what was measured"), "{out}");
    for part in ["idle/3.toml: ", "`run` is not one of this program", ": remove the file, or install"] {
        assert!(err.contains(part), "{err}");
    }
}

/// Puts something else in place of an installed file.
type Damage = fn(&Path, &str);

#[test]
fn a_damaged_file_in_the_cache_stops_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let cache = ("XDG_CACHE_HOME", folder.path().to_str().unwrap());
    let start = |test, settings: &[(&str, &str)]| {
        let output = start(test, &[settings, &[cache]].concat());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (out, _) = start("installer", &[("NODES", "1-3")]);
    let file = out.lines().find_map(|line| line.split("file ").nth(1)).unwrap();
    let whole = std::fs::read_to_string(file).unwrap();
    let damages: [(&str, Damage); 9] = [
        ("torn", |file, whole| std::fs::write(file, &whole[..whole.len() / 2]).unwrap()),
        ("torn in its first line", |file, whole| std::fs::write(file, &whole[..5]).unwrap()),
        ("empty", |file, _| std::fs::write(file, "").unwrap()),
        ("zeros", |file, whole| std::fs::write(file, vec![0; whole.len()]).unwrap()),
        ("binary", |file, _| std::fs::write(file, [0x7f, b'E', 0xff, 0xfe, 0x1b, b'[']).unwrap()),
        ("newer", |file, whole| {
            std::fs::write(file, whole.replace("strata-models = 1", "strata-models = 2")).unwrap();
        }),
        ("of another library", |file, whole| {
            std::fs::write(file, whole.replace("name = \"idle\"", "name = \"busy\"")).unwrap();
        }),
        ("a folder", |file, _| {
            std::fs::remove_file(file).unwrap();
            std::fs::create_dir(file).unwrap();
        }),
        // Also where the tests run as root, who may read everything.
        #[cfg(unix)]
        ("unreadable", |file, _| {
            std::fs::remove_dir(file).unwrap();
            std::os::unix::fs::symlink("nowhere", file).unwrap();
        }),
    ];
    for (what, damage) in damages {
        damage(Path::new(file), &whole);
        for nodes in ["1", "2", "3"] {
            let (out, err) = start("program", &[("NODES", nodes), ("STRATA_EXPLAIN", "1")]);
            assert!(out.contains("idle: spin (turns = 64), outside what"), "{what}, {nodes}: {out}{err}");
            assert!(err.contains("by the models that are compiled in"), "{what}: {err}");
            let told: Vec<&str> = err.lines().filter(|line| line.starts_with("strata: ")).collect();
            let [told] = told[..] else { panic!("{what}, {nodes}: not one line: {err}") };
            assert!(told.starts_with(&format!("strata: {file}: ")) && told.len() < 700, "{what}: {told}");
            assert!(told.ends_with("install others with `specc calibrate specs/idle --install`"), "{told}");
            // Nor does a terminal have to bear what the file holds.
            assert!(!err.contains(['\0', '\u{1b}']), "{what}: {err}");
        }
        // A file that the user names is another thing.
        let (out, _) = start("program", &[("STRATA_MODELS", file)]);
        let named = format!("cannot read the models in {file}");
        assert!(out.contains("refused: ") && out.contains(&named), "{what}: {out}");
    }
}

#[test]
fn what_cannot_be_installed_says_why() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let out = |cache: &str| {
        let output = start("installer", &[("NODES", "3-3"), ("XDG_CACHE_HOME", cache)]);
        String::from_utf8(output.stdout).unwrap()
    };
    let (blocked, below) = (file.path().to_str().unwrap(), "refused: cannot install models in");
    assert!(out(blocked).contains(below) && out(blocked).contains(blocked), "{}", out(blocked));
    let refusal = |change: fn(&mut ModelSet)| {
        write(file.path(), change);
        let set = ModelSet::read(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
        install(&set).unwrap_err().to_string()
    };
    let simulated: fn(&mut ModelSet) = |set| set.platform.as_mut().unwrap().transport = "sim:cm5".into();
    for (change, why) in [
        (simulated, "name the models with STRATA_MODELS"),
        (|set| set.platform = None, "do not say where they were taken"),
        (|set| set.libraries.clear(), "no library"),
    ] {
        assert!(refusal(change).contains(why), "{}", refusal(change));
    }
}

#[test]
fn no_pin_is_ignored() {
    let run = |pin: &str| {
        let output = start("program", &[("STRATA_PIN", pin)]);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (out, err) = run("idle=wait");
    assert!(
        out.contains("idle: wait") && out.contains("(pinned)") && !err.contains("STRATA_PIN"),
        "{out}{err}"
    );
    let (out, _) = run("idel=wait");
    assert!(out.contains("refused") && out.contains("did you mean `idle`?"), "{out}");
    let (out, _) = run("idle=wiat");
    assert!(out.contains("did you mean `wait`?"), "{out}");
    let (_, err) = run("stencil=strips");
    let told =
        "`stencil=strips` had no effect: this program chose nothing of library `stencil`; it chose of idle";
    assert_eq!(err.matches(told).count(), 1, "{err}");
    let (_, err) = run("copy=memcpy, copy_strided=moves, local_sort=radix");
    assert!(!err.contains("STRATA_PIN"), "no library of nodes: {err}");
    let (_, err) = run("copy_stridde=moves");
    assert!(err.contains("did you mean `copy_strided`?"), "{err}");
    let (out, _) = run("idle");
    assert!(out.contains("refused") && out.contains("there is no `=`"), "{out}");
}

#[test]
fn an_explanation_that_cannot_be_written_ends_no_program() {
    for how in stderr::UNWRITABLE {
        // A pin, so that there is a choice.
        let settings = [("STRATA_EXPLAIN", "1"), ("STRATA_PIN", "idle=wait")];
        let Some(end) = stderr::run("select::program", &settings, how) else { continue };
        end.is("idle: wait", how);
    }
}

/// Measured on 2 to 4 nodes of MPI, and on 5 threads, where waiting is best.
const OTHERS: [&Table; 2] = [
    &Table { platform: "mpi nodes=4", digest: "1", domain: Domain { nodes: (2, 4), ..IDLE.domain }, ..IDLE },
    &Table {
        platform: "threads nodes=5",
        digest: "2",
        domain: Domain { nodes: (5, 5), ..IDLE.domain },
        entries: &[IDLE.entries[0], Entry { model: &SLOW, ..IDLE.entries[1] }],
        ..IDLE
    },
];

/// The same with models of several platforms.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Several(Idle);

impl Library for Several {
    type Rows = [Row; 2];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&IDLE, OTHERS[0], OTHERS[1]];

    fn candidate(index: usize, parameters: &[i64]) -> Option<Self> {
        Idle::candidate(index, parameters).map(Self)
    }
}

#[test]
fn of_several_models_compiled_in_those_that_fit_are_taken() {
    fn ask<L: Library<Input = f64> + Send>(nodes: usize) -> L {
        let asked = Machine::threads(nodes).unwrap().run(|node| {
            let chosen = node.choose::<L>(16.0, &Options::default())?;
            Ok(chosen.candidate)
        });
        asked.unwrap()[0]
    }
    let spin = Idle::Spin { turns: 64 };
    for (nodes, of_several, of_one) in [(3, spin, spin), (5, Idle::Wait, spin), (8, Idle::Wait, spin)] {
        assert_eq!(ask::<Several>(nodes), Several(of_several), "{nodes}");
        assert_eq!(ask::<Idle>(nodes), of_one, "{nodes}");
    }
    let fitting = |transport, nodes| Table::fitting(OTHERS, transport, nodes).unwrap().digest;
    assert_eq!((fitting("mpi", 9), fitting("threads", 2), fitting("sim:cm5", 4)), ("1", "2", "1"));
}
