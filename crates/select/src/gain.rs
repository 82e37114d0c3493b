//! The criterion of choices that have a default: another candidate must be significantly better.

use std::fmt;

use crate::wrapping::Wrapped;
use crate::{Library, MAX_INPUTS, Models, Table};

/// The probability with which a candidate must be faster than the default, in standard deviations:
/// 95 %, one-sided.
const SURE: f64 = 1.645;

/// The least gain: a smaller one is not worth a call through a pointer.
const LEAST_GAIN: f64 = 1.02;

/// The uncertainty of models of another machine, as a [distance](crate::Choice::distance): a factor
/// of two is plausible.
const ELSEWHERE: f64 = 1.0;

/// Models of one library in which a default competes with others, in one situation. A program may
/// not know its situation, for example whether the data are in a cache.
#[derive(Clone, Copy)]
pub struct Situation {
    /// The library's candidates and inputs.
    pub table: &'static Table,
    /// The models in use.
    pub models: Models<'static>,
}

impl Situation {
    /// The situation of a library on `nodes` nodes, by the models in use; see [`Models::of`].
    pub fn of<L: Library>(nodes: usize) -> Self {
        Self { table: L::TABLE, models: *Models::of::<L>(nodes) }
    }

    /// The logarithm of the default's time over the candidate's, and its standard deviation; `None`
    /// without a model of both. Outside the measured range, at the nearest measured point.
    fn gain(&self, default: &str, name: &str, inputs: &[f64], extra: f64) -> Option<(f64, f64)> {
        let source = self.models.source;
        // A library may have fewer inputs than another: exchanges are of aligned blocks.
        let given = inputs.get(..self.table.inputs.len())?;
        let mut inputs = [0.0; MAX_INPUTS];
        let inputs = inputs.get_mut(..given.len())?;
        inputs.copy_from_slice(given);
        let (nodes, _) = source.info().domain.nearest(1, inputs);
        let elsewhere = if self.models.note.is_some() { ELSEWHERE } else { 0.0 };
        let predict = |wanted: &str| {
            let candidate = self.table.entries.iter().position(|entry| entry.name == wanted)?;
            let found = source.predict(candidate, nodes, inputs, &[])?;
            let found = found.times(source.about(candidate).expected_ratio)?;
            let extra = if wanted == default { 0.0 } else { extra };
            let seconds = found.seconds.get() + extra;
            let deviation = (found.deviation.get() / seconds).hypot(elsewhere);
            (seconds > 0.0).then_some((seconds.ln(), deviation))
        };
        let (default, candidate) = (predict(default)?, predict(name)?);
        Some((default.0 - candidate.0, default.1.hypot(candidate.1)))
    }
}

/// The candidate with the greatest mean gain over `default` at these inputs, among the candidates
/// that all these situations have, that are expected to lose in no situation, and that gain
/// significantly; `None`: the default stays. `extra` is the seconds that a candidate takes beyond
/// its model; `of` returns a candidate by its name if it can be taken.
///
/// Models of another machine rank with a wider spread, so hardly any of their gains is significant.
/// `STRATA_EXPLAIN=1` prints the choice to standard error, under the name `what`. Nothing is
/// allocated.
pub fn better_than<T>(
    what: fmt::Arguments<'_>,
    default: &str,
    situations: &[Situation],
    inputs: &[&[f64]],
    extra: f64,
    of: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let mut best: Option<(f64, f64, &str, T)> = None;
    let names = situations.first().map_or(&[][..], |first| first.table.entries);
    for name in names.iter().map(|entry| entry.name).filter(|name| *name != default) {
        let Some(candidate) = of(name) else { continue };
        let (mut gains, mut deviations, mut least) = (0.0, 0.0, f64::INFINITY);
        for situation in situations {
            let mut here = 0.0;
            for inputs in inputs {
                let gain = situation.gain(default, name, inputs, extra);
                let (gain, deviation) = gain.unwrap_or((f64::NEG_INFINITY, 0.0));
                here += gain;
                deviations += deviation;
            }
            least = least.min(here);
            gains += here;
        }
        let count = (situations.len() * inputs.len()) as f64;
        let (gain, deviation) = (gains / count, deviations / count);
        let sure = least >= 0.0 && gain >= LEAST_GAIN.ln().max(SURE * deviation);
        if sure && best.as_ref().is_none_or(|(most, ..)| gain > *most) {
            best = Some((gain, deviation, name, candidate));
        }
    }
    if crate::explains() {
        let by = Origin(situations);
        match &best {
            Some((gain, deviation, name, _)) => {
                let (gain, least) = (gain.exp(), (gain - SURE * deviation).exp());
                let faster = format_args!("{name}, {gain:.2} times as fast as {default}");
                let text =
                    format_args!("{what}: {faster}, at least {least:.2} with 95 %\n  by the models {by}");
                crate::say!("{}", Wrapped(text));
            }
            None => {
                let why = "as nothing else is significantly faster";
                crate::say!("{}", Wrapped(format_args!("{what}: {default}, {why}\n  by the models {by}")));
            }
        }
    }
    best.map(|(.., candidate)| candidate)
}

/// Where the models of situations are from.
struct Origin<'a>(&'a [Situation]);

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iter().find_map(|situation| situation.models.file) {
            Some(file) => write!(f, "in {file}")?,
            None => f.write_str("that are compiled in")?,
        }
        let elsewhere = self.0.iter().any(|situation| situation.models.note.is_some());
        if elsewhere { f.write_str(", of another machine") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Entry, Fitted, Model, Note, Variance, Verdict, fill};

    const fn takes(share: &'static [f64; 1], deviation: f64) -> Model {
        let own = Variance::Relative(deviation * deviation);
        let (quantile, noise, factor): (_, _, &[f32]) = (0.0, Variance::Absolute(0.0), &[]);
        Model::Fitted(Fitted {
            terms: |_, x, to| fill(to, &[x[0]]),
            coefficients: share,
            quantile,
            noise,
            own,
            factor,
        })
    }
    static USUAL: Model = takes(&[1.0], 0.02);
    static QUICK: Model = takes(&[0.5], 0.02);
    static VAGUE: Model = takes(&[0.4], 0.9);
    static SLOW: Model = takes(&[1.1], 0.0);
    const fn entry(name: &'static str, model: &'static Model) -> Entry {
        Entry::new(name, Verdict::Verified, 1.0, model)
    }
    const fn table(entries: &'static [Entry]) -> Table {
        let domain = Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 10.0)] };
        Table { library: "any", spec: "", platform: "", digest: "", inputs: &["n"], domain, entries }
    }
    static GOOD: Table = table(&[entry("usual", &USUAL), entry("vague", &VAGUE), entry("quick", &QUICK)]);
    static BAD: Table = table(&[entry("usual", &USUAL), entry("quick", &SLOW)]);

    fn chosen(situations: &[Situation]) -> Option<String> {
        better_than(format_args!("any"), "usual", situations, &[&[2.0], &[99.0]], 0.0, |name| {
            Some(name.to_owned())
        })
    }

    fn here(table: &'static Table) -> Situation {
        Situation { table, models: Models { source: table, file: None, note: None } }
    }

    #[test]
    fn what_is_surely_better_and_nowhere_worse_replaces_the_default() {
        assert_eq!(chosen(&[here(&GOOD)]).as_deref(), Some("quick"), "the vague one may be slower");
        assert_eq!(chosen(&[here(&GOOD), here(&BAD)]), None);
        assert_eq!(chosen(&[here(&BAD)]).or(chosen(&[])), None);
        let mut elsewhere = here(&GOOD);
        elsewhere.models.note = Some(Note::OtherMachine { spec: "", platform: "", differs: "" });
        assert_eq!(chosen(&[elsewhere]), None, "by models of another machine twice as fast is not sure");
    }
}
