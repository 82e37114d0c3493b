//! The site of a measurement.

use strata_model::Platform;
use strata_model::platform::MACHINE;

use crate::lang::checked::Model;
use crate::lang::machine::is_plausible;

/// The site of a measurement: the number of nodes, and the machine.
#[derive(Clone, Debug)]
pub struct Site {
    nodes: usize,
    platform: Option<Platform>,
}

impl From<usize> for Site {
    /// This number of nodes of an unknown machine.
    fn from(nodes: usize) -> Self {
        Self { nodes, platform: None }
    }
}

impl From<Platform> for Site {
    /// This machine with its number of nodes.
    fn from(platform: Platform) -> Self {
        Self { nodes: platform.nodes.max(1), platform: Some(platform) }
    }
}

impl Site {
    /// The same machine with another number of nodes.
    pub(super) fn with_nodes(&self, nodes: usize) -> Self {
        let platform = self.platform.clone().map(|platform| Platform { nodes, ..platform });
        Self { nodes, platform }
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The machine, if known.
    pub(crate) fn platform(&self) -> Option<&Platform> {
        self.platform.as_ref()
    }

    /// Whether nodes are processes, each with its own memory.
    pub(super) fn has_processes(&self) -> bool {
        self.platform.as_ref().is_some_and(Platform::has_processes)
    }

    /// The number of a machine name here; `None` if the machine lacks it.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.platform.as_ref()?.machine_number(name).filter(|value| is_plausible(name, *value))
    }

    /// The machine names that a model's loops, values and requirements read, with their numbers
    /// here.
    ///
    /// # Errors
    /// The machine lacks one of the numbers.
    pub(super) fn numbers(&self, model: &Model) -> Result<Vec<(&'static str, f64)>, String> {
        let number =
            |name| self.number(name).map(|value| (name, value)).ok_or_else(|| self.unknown(model, name));
        model.machine().into_iter().map(number).collect()
    }

    fn unknown(&self, model: &Model, name: &str) -> String {
        let platform = self.platform.as_ref().map_or("there is none".to_owned(), |p| format!("`{p}`"));
        let told: Vec<String> = MACHINE
            .into_iter()
            .filter(|name| self.number(name).is_some())
            .map(|name| format!("`{name}`"))
            .collect();
        let instead = match told.as_slice() {
            [] => "a number".to_owned(),
            told => format!("a number, or what it tells: {}", told.join(", ")),
        };
        format!(
            "model `{}`: what it measures depends on `{name}`, which the machine's platform does not tell \
             ({platform}); write {instead}",
            model.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::CheckedSpec;
    use crate::points::{plan, spaces};
    use strata_model::{Plan, Points, SpecId};

    const SPEC: &str = "model Copy(bytes) { for bytes in 1024..=4*cache2 step *4 task { f(bytes) } verify 5 }
        model Share(n, t) { for n in 1..=2 for t in 1..=cores let half = cores/2 task { f(n, t, half) } }
        model Plain(n) { for n in 1..=3 task { f(n) } }
        library work(n) { candidate copy = Copy(n) require P >= 2 candidate plain = Plain(n) }";

    fn spec() -> CheckedSpec {
        crate::lang::load("work.spec", SPEC).unwrap_or_else(|errors| panic!("{}", errors.render(false)))
    }

    fn machine(transport: &str, nodes: usize, cores: usize, cache: &str) -> Site {
        let text = format!(
            "{transport} nodes={nodes} cores={cores} cpu=\"\" cache=\"{cache}\" os=linux arch=x86_64"
        );
        text.parse::<Platform>().unwrap().into()
    }

    #[test]
    fn loops_and_values_follow_the_machine_and_the_plan_names_it() {
        let spec = spec();
        for (cache, cores, last) in [("L1d:32K L2:256K", 3, 1 << 20), ("L1d:48K L2:2M L3:32M", 8, 1 << 23)] {
            let (run, notes) =
                plan(&spec, machine("threads", 2, cores, cache), 1, &Points::default()).unwrap();
            assert_eq!(notes.len(), 0);
            let fitted = |model: usize| run.models[model].points.iter().filter(|point| !point.verify);
            assert_eq!(fitted(0).map(|point| point.at[0]).max(), Some(last));
            let drawn = run.models[0].points.iter().filter(|point| point.verify);
            assert!(drawn.clone().count() == 5 && drawn.clone().all(|point| point.at[0] <= 4 * last));
            assert_eq!(fitted(1).count(), 2 * cores);
            assert_eq!(fitted(1).next().unwrap().bound, [cores as f64 / 2.0]);
            let words: Vec<&str> = run.machine.iter().map(|(word, _)| word.as_str()).collect();
            assert_eq!((words, run.machine[1].1), (vec!["cache2", "cores"], cores as f64));
            let plan =
                Plan { spec: SpecId { path: "work.spec".into(), sha256: "ab".into() }, runs: vec![run] };
            assert_eq!(Plan::parse(&plan.to_text(), "plan").unwrap(), plan);
        }
    }

    /// `threads in 1..=cores`: models are measured, or left out where a range is empty.
    #[test]
    fn ranges_and_requirements_follow_the_machine() {
        let text = "model Par(n, t) { for n in 1..=4 for t in 1..=64 require n*t <= 64*cores
                task { f(n, t) } verify 30 }
            model Pool(n, t) { for n in 1..=4 for t in 2..=cores task { f(n, t) } }
            model Alone(n) { for n in 1..=4 task { f(n) } }
            model Large(n) { for n in 1..=4 require cores >= 4 task { f(n) } }
            library work(n) { candidate par = Par(n, t) for t in 1..=min(cores, 8+n/2) step *2
                candidate pool = Pool(n, t) for t in 2..=cores candidate alone = Alone(n) }
            library named(cores) { candidate alone = Alone(cores) require cores >= 4 }";
        let spec = crate::lang::load("work.spec", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let planned = |cores| plan(&spec, machine("threads", 1, cores, ""), 1, &Points::default()).unwrap();
        let (run, notes) = planned(8);
        let names: Vec<&str> = run.models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!((names, notes.len()), (vec!["Par", "Pool", "Alone", "Large"], 0));
        let drawn = run.models[0].points.iter().filter(|point| point.verify);
        assert!(drawn.clone().count() == 30 && drawn.clone().all(|p| [1, 2, 4, 8].contains(&p.at[1])));
        assert_eq!(run.machine, [("cores".to_owned(), 8.0)]);
        let (run, notes) = planned(1);
        let names: Vec<&str> = run.models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names, ["Par", "Alone"]);
        assert!(run.models[0].points.iter().all(|p| !p.verify || p.at[1] == 1), "the one value there is");
        assert_eq!(
            notes,
            [
                "model Pool is not measured on 1 node: `pool` of library `work` has no value of `t` in 2..=cores here",
                "model Large is not measured on 1 node: it requires cores>=4"
            ]
        );
    }

    #[test]
    fn what_is_empty_on_this_machine_is_told_with_a_way_out() {
        let fault = |text: &str| {
            let spec = crate::lang::load("work.spec", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
            plan(&spec, machine("threads", 1, 1, "L1d:32K"), 1, &Points::default()).unwrap_err().join(" | ")
        };
        let loops = fault("model Pool(n, t) { for n in 1..=4 for t in 2..=cores task { f(n, t) } }");
        assert!(
            loops.contains("`Pool`") && loops.contains("on 1 node: `t` in 2..=cores runs from 2 to 1"),
            "{loops}"
        );
        assert!(loops.contains("with cores = 1; begin lower"), "{loops}");
        let require = fault("model Few(n) { for n in 1..=4 require n < cores task { f(n) } }");
        assert!(require.contains("excludes all 4 points on 1 node with cores = 1; widen"), "{require}");
        let range = fault(
            "model Pool(n, t) { for n in 1..=4 for t in 2..=cores task { f(n, t) } }
             library work(n) { candidate pool = Pool(n, t) for t in 2..=cores }",
        );
        assert!(range.contains("has no value of `t` in 2..=cores here"), "{range}");
        assert!(range.ends_with("change what the candidates require"), "{range}");
    }

    #[test]
    fn a_word_that_a_needed_model_reads_and_the_machine_does_not_tell_is_an_error() {
        let spec = spec();
        let plan = |site: Site| plan(&spec, site, 1, &Points::default());
        let simulated = || machine("sim:cm5", 4, 1, "");
        let faults = plan(simulated()).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("`Copy`") && faults[0].contains("`cache2`"), "{faults:?}");
        assert!(
            faults[0].contains("sim:cm5") && faults[0].ends_with("tells: `cores`, `hosts`"),
            "{faults:?}"
        );
        assert_eq!(spaces(&spec, simulated()).err(), Some(faults[0].clone()));
        let mut given = Points::default();
        given.add("Copy", &[1024]);
        let faults = super::super::plan(&spec, simulated(), 1, &given).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        let faults = plan(2.into()).unwrap_err();
        assert!(faults.len() == 2 && faults[1].contains("write a number"), "{faults:?}");
        // On one node only `plain` competes.
        let (run, notes) = plan(machine("sim:cm5", 1, 1, "")).unwrap();
        assert_eq!(run.models.iter().map(|m| m.points.len()).collect::<Vec<_>>(), [22, 23]);
        assert!(notes.len() == 1 && notes[0].contains("Copy"), "{notes:?}");
        assert_eq!(run.machine, [("cores".to_owned(), 1.0)], "each node has a processor");
        for strange in ["L2:0", "L2:12", "L2:999999999999G", "L2:99999999999999999999999999999999999K"] {
            assert!(plan(machine("threads", 2, 4, strange)).is_err(), "{strange}");
        }
    }
}
