//! The criterion for leaving what is in use: another way must be faster beyond doubt.

use std::fmt;

use crate::wrapping::Wrapped;
use crate::{Library, Table, choice::MAX_INPUTS, learn::Predicted, models::Models};

/// How sure it must be that another way is the faster one: the more, the more often it is asked and
/// the more is known of the way in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// 84 %, one standard deviation: as much speaks for one as for the other, such as models of
    /// another machine and their fit to this one.
    Likely,
    /// 95 %: the way in use is a default that is known to be good.
    Sure,
    /// 99.9 %: one of many timings, each followed by a decision, which together must not leave the
    /// better way by chance. A tuner's default, 99 % two-sided in four looks, is as much.
    SureEachTime,
}

impl Confidence {
    /// The one-sided quantile of the normal distribution, and the least gain, a logarithm: a default
    /// is not left for what may cost as much elsewhere, such as a call through a pointer.
    const fn asks(self) -> (f64, f64) {
        match self {
            Self::Likely => (1.0, 0.0),
            Self::Sure => (1.645, 0.02),
            Self::SureEachTime => (3.0, 0.02),
        }
    }
}

/// What another way gains over the one in use: the logarithm of the ratio of their times, above 0
/// where the other is faster, and its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The logarithm of the time of the way in use over that of the other.
    pub log: f64,
    /// Its standard deviation.
    pub deviation: f64,
}

impl Gain {
    /// The gain of one way over another by their predictions; `None` where one has none.
    #[must_use]
    pub fn between(used: Predicted, other: Predicted) -> Option<Self> {
        let ((used, used_deviation), (other, deviation)) = (used?, other?);
        Some(Self { log: used - other, deviation: used_deviation.hypot(deviation) })
    }

    /// The mean of several gains, whose errors may be the same one.
    #[must_use]
    pub fn mean(gains: impl IntoIterator<Item = Self>) -> Self {
        let (mut log, mut deviation, mut count) = (0.0, 0.0, 0.0);
        for gain in gains {
            (log, deviation, count) = (log + gain.log, deviation + gain.deviation, count + 1.0);
        }
        Self { log: log / count, deviation: deviation / count }
    }

    /// The least gain that this confidence leaves possible, a logarithm.
    fn least(self, confidence: Confidence) -> f64 {
        self.log - confidence.asks().0 * self.deviation
    }

    /// Whether the other way replaces the one in use: it is faster at this confidence, and by 2 % if it
    /// replaces a default or what was chosen before. All choices that leave one way for another have
    /// this criterion.
    #[must_use]
    pub fn suffices(self, confidence: Confidence) -> bool {
        self.log >= confidence.asks().1 && self.log > 0.0 && self.least(confidence) >= 0.0
    }
}

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

    /// The gain of a candidate over the default; `None` without a model of both. Outside the measured
    /// range, at the nearest measured point.
    fn gain(&self, default: &str, name: &str, inputs: &[f64], extra: f64) -> Option<Gain> {
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
        Gain::between(predict(default), predict(name))
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
    let mut best: Option<(Gain, &str, T)> = None;
    let names = situations.first().map_or(&[][..], |first| first.table.entries);
    for name in names.iter().map(|entry| entry.name).filter(|name| *name != default) {
        let Some(candidate) = of(name) else { continue };
        let in_one = |situation: &Situation| {
            let none = Gain { log: f64::NEG_INFINITY, deviation: 0.0 };
            let gain = |inputs: &&[f64]| situation.gain(default, name, inputs, extra).unwrap_or(none);
            Gain::mean(inputs.iter().map(gain))
        };
        let gain = Gain::mean(situations.iter().map(in_one));
        let sure = gain.suffices(Confidence::Sure)
            && situations.iter().all(|situation| in_one(situation).log >= 0.0);
        if sure && best.as_ref().is_none_or(|(most, ..)| gain.log > most.log) {
            best = Some((gain, name, candidate));
        }
    }
    if crate::models::explains() {
        let by = Origin(situations);
        match &best {
            Some((gain, name, _)) => {
                let (gain, least) = (gain.log.exp(), gain.least(Confidence::Sure).exp());
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
    use crate::{
        choice::Note,
        table::{Domain, Entry, Fitted, Model, Variance, Verdict, fill},
    };

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
    fn the_more_must_be_proved_the_more_a_gain_must_exceed_its_error() {
        use Confidence::{Likely, Sure, SureEachTime};
        for (log, deviation, expected) in [
            (0.10, 0.11, None),
            (0.10, 0.09, Some(Likely)),
            (0.10, 0.06, Some(Sure)),
            (0.10, 0.03, Some(SureEachTime)),
            (0.01, 0.0, Some(Likely)),
            (0.0, 0.0, None),
            (-0.1, 0.0, None),
            (f64::NAN, 0.0, None),
        ] {
            let most = [SureEachTime, Sure, Likely];
            let found = most.into_iter().find(|confidence| Gain { log, deviation }.suffices(*confidence));
            assert_eq!(found, expected, "{log} {deviation}");
        }
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
