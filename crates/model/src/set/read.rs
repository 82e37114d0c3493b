//! TOML to model set.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use strata_select::table::StepError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    Axis, Bound, Constant, Contrast, Correction, Incumbent, Input, Kind, Library, LibraryCandidate, Mode,
    Model, ModelSet, Named, Nodes, ParameterRange, Quantiles, Regret, SetError, Step, Term, VERSION, Verdict,
};
use crate::{Hosts, Platform, SpecId, Unit, did_you_mean};

const KEY: &str = "strata-models";
const VERDICTS: [Verdict; 5] =
    [Verdict::Verified, Verdict::WithinNoise, Verdict::Doubtful, Verdict::Unverified, Verdict::Failed];

impl ModelSet {
    /// Reads a model set.
    ///
    /// # Errors
    /// Text that is not TOML or not a model set (with line and column), and sets of another
    /// version. [`resolve`](Self::resolve) checks the content (names, expressions, cycles).
    pub fn read(text: &str) -> Result<Self, SetError> {
        let table = DeTable::parse(text)
            .map_err(|error| SetError::Form { message: error.to_string().trim_end().to_owned() })?;
        let mut fields = Table::new(text, 0, table.get_ref());
        let Some(version) = fields.take(KEY) else {
            return Err(SetError::Form { message: format!("the line `{KEY} = {VERSION}` is missing") });
        };
        if version.whole::<u32>().ok() != Some(VERSION) {
            return Err(SetError::Version { found: text[version.span()].to_owned() });
        }
        Ok(Self {
            platform: fields.optional("platform", platform)?,
            spec: fields.optional("spec", spec)?,
            samples_sha256: fields.or_default("samples_sha256", Value::text)?,
            code_sha256: fields.or_default("code_sha256", Value::text)?,
            busy: fields.or_default("busy", Value::float)?,
            kinds: fields.list("kinds", kind)?.into_iter().collect(),
            models: fields.list("models", model)?,
            libraries: fields.list("libraries", library)?,
        })
    }
}

fn kind(value: &Value<'_>) -> Result<(String, Vec<String>), SetError> {
    let mut table = value.table()?;
    let input = table.required("input", Value::text)?;
    let names = table.list("names", Value::text)?;
    table.finish((input, names))
}

fn platform(value: &Value<'_>) -> Result<Platform, SetError> {
    let mut table = value.table()?;
    let read = Platform {
        transport: table.required("transport", Value::text)?,
        nodes: table.required("nodes", Value::whole)?,
        hosts: table.optional("hosts", hosts)?,
        cpu: table.required("cpu", Value::text)?,
        cores: table.required("cores", Value::whole)?,
        cache: table.required("cache", Value::text)?,
        os: table.required("os", Value::text)?,
        arch: table.required("arch", Value::text)?,
    };
    table.finish(read)
}

fn hosts(value: &Value<'_>) -> Result<Hosts, SetError> {
    value.text()?.parse().map_err(|message| value.wrong(message))
}

fn spec(value: &Value<'_>) -> Result<SpecId, SetError> {
    let mut table = value.table()?;
    let read =
        SpecId { path: table.required("path", Value::text)?, sha256: table.required("sha256", Value::text)? };
    table.finish(read)
}

fn model(value: &Value<'_>) -> Result<Model, SetError> {
    let mut table = value.table()?;
    let read = Model {
        name: table.required("name", Value::text)?,
        inputs: table.list("inputs", input)?,
        requires: table.list("requires", Value::text)?,
        follows: table.list("follows", named)?,
        names: table.list("names", named)?,
        kind: match (table.optional("expression", Value::text)?, table.or_default("unmeasured", Value::flag)?)
        {
            (Some(expression), _) => Kind::Factored { expression },
            (None, true) => Kind::Unmeasured,
            (None, false) => Kind::Fitted,
        },
        unit: table.or_default("unit", unit)?,
        bound: table.optional("upper", bound)?,
        mode: table.or_default("mode", |mode| mode.one_of(&[Mode::Relative, Mode::Absolute]))?,
        terms: table.list("terms", term)?,
        correction: table.optional("correction", correction)?,
        contrast: table.optional("contrast", contrast)?,
        covariance: table.list("covariance", |row| row.list(Value::float))?,
        noise_variance: table.or_default("noise_variance", Value::float)?,
        mean_time: table.or_default("mean_time", Value::float)?,
        t_quantile: table.or_default("t_quantile", Value::float)?,
        r2: table.or_default("r2", Value::float)?,
        mre_fit: table.or_default("mre_fit", Value::float)?,
        mre_verify: table.optional("mre_verify", Value::float)?,
        verify_quantiles: table.optional("verify_quantiles", quantiles)?,
        coverage: table.optional("coverage", Value::float)?,
        leverage_limit: table.or_default("leverage_limit", Value::float)?,
        samples: table.or_default("samples", Value::whole)?,
        verify_samples: table.or_default("verify_samples", Value::whole)?,
        noise: table.optional("noise", Value::float)?,
        own_error: table.or_default("own_error", Value::float)?,
        verdict: table.or_default("verdict", |verdict| verdict.one_of(&VERDICTS))?,
        reason: table.or_default("reason", Value::text)?,
        doubts: table.list("doubts", Value::text)?,
        rank: table.or_default("rank", Value::whole)?,
        condition: table.or_default("condition", Value::float)?,
        nodes: table.or_default("nodes", nodes)?,
    };
    table.finish(read)
}

fn named(value: &Value<'_>) -> Result<Named, SetError> {
    let mut table = value.table()?;
    let (name, value) = (table.required("name", Value::text)?, table.required("value", Value::text)?);
    table.finish(Named { name, value })
}

fn correction(value: &Value<'_>) -> Result<Correction, SetError> {
    let axis = |value: &Value<'_>| {
        let mut table = value.table()?;
        let input = table.required("input", Value::text)?;
        let round = table.or_default("round", Value::flag)?;
        let knots = table.required("knots", |knots| knots.list(Value::float))?;
        table.finish(Axis { input, round, knots })
    };
    let mut table = value.table()?;
    let read = Correction {
        samples: table.or_default("samples", Value::whole)?,
        axes: table.required("axes", |axes| axes.list(axis))?,
        factors: table.required("factors", |factors| factors.list(Value::float))?,
    };
    table.finish(read)
}

fn contrast(value: &Value<'_>) -> Result<Contrast, SetError> {
    let mut table = value.table()?;
    let deviation = table.required("deviation", Value::float)?;
    let reach = table.required("reach", Value::float)?;
    table.finish(Contrast { deviation, reach })
}

fn unit(value: &Value<'_>) -> Result<Unit, SetError> {
    value.text()?.parse().map_err(|error| value.wrong(error))
}

fn bound(value: &Value<'_>) -> Result<Bound, SetError> {
    let mut table = value.table()?;
    let read = Bound {
        share: table.required("share", Value::float)?,
        confidence: table.required("confidence", Value::float)?,
        samples: table.required("samples", Value::whole)?,
        points: table.required("points", Value::whole)?,
        covered: table.required("covered", Value::float)?,
        fresh: table.required("fresh", Value::float)?,
        above: table.required("above", Value::float)?,
    };
    table.finish(read)
}

fn quantiles(value: &Value<'_>) -> Result<Quantiles, SetError> {
    let mut table = value.table()?;
    let mut quantile = |name| table.required(name, Value::float);
    let read = Quantiles {
        p50: quantile("p50")?,
        p90: quantile("p90")?,
        p95: quantile("p95")?,
        max: quantile("max")?,
    };
    table.finish(read)
}

fn input(value: &Value<'_>) -> Result<Input, SetError> {
    let mut table = value.table()?;
    let read = Input {
        name: table.required("name", Value::text)?,
        min: table.required("min", Value::float)?,
        max: table.required("max", Value::float)?,
        integer: table.or_default("integer", Value::flag)?,
    };
    table.finish(read)
}

fn term(value: &Value<'_>) -> Result<Term, SetError> {
    let mut table = value.table()?;
    let read = Term {
        term: table.required("term", Value::text)?,
        coefficient: table.required("coefficient", Value::float)?,
        std_error: table.or_default("std_error", Value::float)?,
        half_width: table.or_default("half_width", Value::float)?,
        relevant: table.required("relevant", Value::flag)?,
    };
    table.finish(read)
}

fn library(value: &Value<'_>) -> Result<Library, SetError> {
    let mut table = value.table()?;
    let read = Library {
        name: table.required("name", Value::text)?,
        inputs: table.required("inputs", |inputs| inputs.list(Value::text))?,
        candidates: table.list("candidates", candidate)?,
        incumbent: table.optional("incumbent", incumbent)?,
        equal: table.list("equal", |group| group.list(Value::text))?,
        regret: table.optional("regret", regret)?,
    };
    table.finish(read)
}

fn incumbent(value: &Value<'_>) -> Result<Incumbent, SetError> {
    let mut table = value.table()?;
    let share = |value: &Value<'_>| match value.float()? {
        gain if (0.0..=1.0).contains(&gain) => Ok(gain),
        _ => Err(value.expected("a share from 0 to 1")),
    };
    let read = Incumbent {
        candidate: table.required("candidate", Value::text)?,
        parameters: table.list("parameters", Value::whole)?,
        gain: table.required("gain", share)?,
    };
    table.finish(read)
}

fn regret(value: &Value<'_>) -> Result<Regret, SetError> {
    let mut table = value.table()?;
    let mut way = |name, mean| {
        let (name, mean) = (table.optional(name, Value::text)?, table.optional(mean, Value::float)?);
        Ok(name.zip(mean).map(|(name, mean)| Constant { name, mean }))
    };
    let (constant, before) = (way("constant", "constant_mean")?, way("before", "before_mean")?);
    let read = Regret {
        inputs: table.required("inputs", Value::whole)?,
        like: table.optional("like", Value::text)?,
        mean: table.required("mean", Value::float)?,
        interval: (table.required("low", Value::float)?, table.required("high", Value::float)?),
        worst: table.required("worst", Value::float)?,
        worst_at: table.required("worst_at", Value::text)?,
        constant,
        before,
    };
    table.finish(read)
}

fn candidate(value: &Value<'_>) -> Result<LibraryCandidate, SetError> {
    let mut table = value.table()?;
    let read = LibraryCandidate {
        name: table.required("name", Value::text)?,
        model: table.required("model", Value::text)?,
        arguments: table.list("arguments", Value::text)?,
        parameters: table.list("parameters", parameter)?,
        requires: table.list("requires", Value::text)?,
    };
    table.finish(read)
}

fn parameter(value: &Value<'_>) -> Result<ParameterRange, SetError> {
    let mut table = value.table()?;
    let read = ParameterRange {
        name: table.required("name", Value::text)?,
        min: table.required("min", Value::whole)?,
        max: table.required("max", Value::whole)?,
        step: table.optional("step", step)?.unwrap_or(Step::ONE),
        root: table.optional("root", Value::text)?,
        first: table.optional("first", Value::text)?,
        last: table.optional("last", Value::text)?,
    };
    table.finish(read)
}

fn step(value: &Value<'_>) -> Result<Step, SetError> {
    value.text()?.parse().map_err(|error: StepError| value.wrong(error.to_string()))
}

fn nodes(value: &Value<'_>) -> Result<Nodes, SetError> {
    if let Ok(nodes) = value.whole() {
        return Ok(Nodes::known(nodes));
    }
    match value.list(Value::whole)?[..] {
        [min, max] if 1 <= min && min <= max => Ok(Nodes { min, max }),
        [min, max] => Err(value.wrong(format!("there are no numbers of nodes from {min} to {max}"))),
        _ => Err(value.expected("a number of nodes, or the least and the greatest")),
    }
}

/// A value and its place in the text.
struct Value<'a> {
    text: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    fn span(&self) -> Range<usize> {
        self.value.span()
    }

    fn wrong(&self, message: String) -> SetError {
        fault(self.text, self.span().start, &message)
    }

    fn expected(&self, what: &str) -> SetError {
        self.wrong(format!("expected {what}, found `{}`", &self.text[self.span()]))
    }

    fn text(&self) -> Result<String, SetError> {
        self.value.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.expected("a text in quotes"))
    }

    fn flag(&self) -> Result<bool, SetError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.expected("true or false"))
    }

    fn float(&self) -> Result<f64, SetError> {
        let number = match self.value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(_) => self.whole::<i64>().ok().map(|number| number as f64),
            _ => None,
        };
        number.ok_or_else(|| self.expected("a number"))
    }

    fn whole<T: TryFrom<i64>>(&self) -> Result<T, SetError> {
        let number = match self.value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.expected("a whole number in its range"))
    }

    /// The item of `all` with this text.
    fn one_of<T: Copy + Display>(&self, all: &[T]) -> Result<T, SetError> {
        let text = self.text()?;
        let expected = || {
            let all: Vec<String> = all.iter().map(|word| format!("\"{word}\"")).collect();
            self.expected(&format!("one of {}", all.join(", ")))
        };
        all.iter().find(|word| word.to_string() == text).copied().ok_or_else(expected)
    }

    fn list<T>(&self, one: impl Fn(&Self) -> Result<T, SetError>) -> Result<Vec<T>, SetError> {
        let values = self.value.get_ref().as_array().ok_or_else(|| self.expected("a list"))?;
        values.iter().map(|value| one(&Self { text: self.text, value })).collect()
    }

    fn table(&self) -> Result<Table<'a>, SetError> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.expected("a table"))?;
        Ok(Table::new(self.text, self.span().start, table))
    }
}

/// A table whose keys are read one by one.
struct Table<'a> {
    text: &'a str,
    at: usize,
    entries: BTreeMap<&'a str, (usize, Value<'a>)>,
    known: Vec<&'static str>,
}

impl<'a> Table<'a> {
    fn new(text: &'a str, at: usize, table: &'a DeTable<'a>) -> Self {
        let entry = |key: &'a Spanned<Cow<'a, str>>, value| {
            (key.get_ref().as_ref(), (key.span().start, Value { text, value }))
        };
        let entries = table.iter().map(|(key, value)| entry(key, value)).collect();
        Self { text, at, entries, known: Vec::new() }
    }

    fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.known.push(key);
        self.entries.remove(key).map(|(_, value)| value)
    }

    fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'a>) -> Result<T, SetError>,
    ) -> Result<Option<T>, SetError> {
        self.take(key).map(|value| read(&value)).transpose()
    }

    fn or_default<T: Default>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'a>) -> Result<T, SetError>,
    ) -> Result<T, SetError> {
        self.optional(key, read).map(Option::unwrap_or_default)
    }

    fn list<T>(
        &mut self,
        key: &'static str,
        one: impl Fn(&Value<'a>) -> Result<T, SetError>,
    ) -> Result<Vec<T>, SetError> {
        self.or_default(key, |value| value.list(one))
    }

    fn required<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'a>) -> Result<T, SetError>,
    ) -> Result<T, SetError> {
        let missing = |this: &Self| {
            let meant = did_you_mean(key, this.entries.keys().copied());
            fault(this.text, this.at, &format!("the key `{key}` is missing here{meant}"))
        };
        self.optional(key, read)?.ok_or_else(|| missing(self))
    }

    /// Returns `read`, unless the table has other keys.
    fn finish<T>(self, read: T) -> Result<T, SetError> {
        let Some((key, (at, _))) = self.entries.first_key_value() else { return Ok(read) };
        let meant = did_you_mean(key, self.known.iter().copied());
        Err(fault(self.text, *at, &format!("there is no key `{key}` here{meant}")))
    }
}

/// An error at a byte of the text.
fn fault(text: &str, at: usize, message: &str) -> SetError {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    SetError::Form { message: format!("line {line}, column {column}: {message}") }
}
