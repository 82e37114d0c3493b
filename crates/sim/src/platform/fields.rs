//! Tables of a platform file, key by key: each key has its unit and its range, and unknown keys are
//! rejected.
//!
//! A fault does not stop the reading: it is recorded, the field is `None`, and the reader
//! continues.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use strata_model::closest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::KernelTime;
use super::error::{Fault, FaultKind};
use crate::Time;

/// The longest time of one step, in seconds: sums of thousands of them stay within [`Time`].
pub(super) const LONGEST: f64 = 1000.0;
/// Bandwidths in MB/s: from a byte in a millisecond to one in a picosecond, the resolution of
/// [`Time`].
const BANDWIDTHS: RangeInclusive<f64> = 0.001..=1e6;
/// Cycles of a kernel's call, or of a unit of its input.
const CYCLES: RangeInclusive<f64> = 0.0..=1e9;
/// An example of a kernel's cycles.
const KERNEL: &str = "[0, 9.8]";
/// Suffixes of keys of times, each with its factor to seconds; that of cycles depends on the
/// processor.
const UNITS: [(&str, Option<f64>); 3] = [("cycles", None), ("ns", Some(1e-9)), ("us", Some(1e-6))];

/// The position of a key, and its value.
type Found<'a> = (Range<usize>, &'a Spanned<DeValue<'a>>);

/// A value of fields that are read from a table, all of them before the first that is missing ends
/// it: every fault is reported.
/// `checks` are about fields together.
macro_rules! record {
    ($table:ident => $type:ident { $($field:ident: $read:expr),+ $(,)? } $($checks:block)?) => {{
        $(let $field = $read;)+
        $($checks)?
        $table.finish();
        Some($type { $($field: $field?),+ })
    }};
}
pub(super) use record;

/// One table of the file.
pub(super) struct Fields<'a> {
    /// Its name in messages: "`[link]`".
    title: String,
    /// Its position, used for faults about missing keys.
    head: Range<usize>,
    /// Its keys that have not been read yet.
    entries: BTreeMap<&'a str, Found<'a>>,
    /// The keys that have been read.
    known: Vec<String>,
    /// Cycles a second.
    frequency: f64,
    faults: &'a RefCell<Vec<Fault>>,
}

impl<'a> Fields<'a> {
    /// The file itself.
    pub(super) fn of_file(table: &'a DeTable<'a>, faults: &'a RefCell<Vec<Fault>>) -> Self {
        Self::new("the file".into(), 0..0, table, 1.0, faults)
    }

    fn new(
        title: String,
        head: Range<usize>,
        table: &'a DeTable<'a>,
        frequency: f64,
        faults: &'a RefCell<Vec<Fault>>,
    ) -> Self {
        let entries =
            table.iter().map(|(key, value)| (key.get_ref().as_ref(), (key.span(), value))).collect();
        Self { title, head, entries, known: Vec::new(), frequency, faults }
    }

    /// Sets the length of a cycle in the tables that are read from here on.
    pub(super) fn set_frequency(&mut self, frequency: f64) {
        self.frequency = frequency;
    }

    /// A mandatory table; `example` is one of its lines.
    pub(super) fn table(&mut self, key: &str, example: &str) -> Option<Self> {
        match self.take(key) {
            Some(found) => self.open(key, found),
            None => {
                self.missing(
                    &format!("the table `[{key}]`"),
                    &format!("[{key}]` with lines such as `{example}"),
                );
                None
            }
        }
    }

    pub(super) fn optional_table(&mut self, key: &str) -> Option<Self> {
        let found = self.take(key)?;
        self.open(key, found)
    }

    fn open(&self, key: &str, (at, value): Found<'a>) -> Option<Self> {
        let DeValue::Table(table) = value.get_ref() else {
            let help = format!("write `[{key}]` on a line of its own, and its keys below");
            self.wrong_type(value, &format!("`{key}` has to be a table"), &help);
            return None;
        };
        Some(Self::new(format!("`[{key}]`"), at, table, self.frequency, self.faults))
    }

    /// A time of at most [`LONGEST`]; its key ends in a unit: `NAME_cycles`, `NAME_ns` or
    /// `NAME_us`.
    pub(super) fn time(&mut self, name: &str, example: &str) -> Option<Time> {
        let mut found: Vec<_> = Vec::new();
        for (unit, size) in UNITS {
            let key = format!("{name}_{unit}");
            if let Some(entry) = self.take(&key) {
                found.push((key, entry, size.unwrap_or(1.0 / self.frequency)));
            }
        }
        if let [(first, ..), (second, (at, _), _), ..] = found.as_slice() {
            let message = format!("`{second}` says again what `{first}` says");
            let said = [&message, "the second key for one time", "leave one of them out"];
            self.fault(FaultKind::Conflict, at.clone(), said);
            return None;
        }
        let Some((key, (_, value), unit)) = found.pop() else {
            self.missing(
                &format!("`{name}_cycles`"),
                &format!("{name}_cycles = {example}` or, as time, `{name}_ns = 100"),
            );
            return None;
        };
        let most = LONGEST / unit;
        let number = self.in_range(&key, value, 0.0..=most, "a time is not negative, and at most 1000 s")?;
        Some(Time::from_seconds(number * unit))
    }

    /// A time that may be omitted; it is then zero.
    pub(super) fn optional_time(&mut self, name: &str, example: &str) -> Option<Time> {
        let keys = UNITS.map(|(unit, _)| format!("{name}_{unit}"));
        if keys.iter().any(|key| self.entries.contains_key(key.as_str())) {
            return self.time(name, example);
        }
        self.known.extend(keys);
        Some(Time::ZERO)
    }

    /// What `read` makes of a key that may be absent; absent it is `value`, and counts as known.
    pub(super) fn or<T>(
        &mut self,
        key: &str,
        value: T,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.entries.contains_key(key) {
            return read(self);
        }
        self.known.push(key.to_owned());
        Some(value)
    }

    /// All keys of the table, each a factor in `factors`, or a list: the cycles of a call, and of a
    /// unit of the first input.
    pub(super) fn kernels(mut self, factors: RangeInclusive<f64>) -> Option<BTreeMap<String, KernelTime>> {
        let keys: Vec<&str> = self.entries.keys().copied().collect();
        let mut read = |key: &str| match self.entries.get(key)?.1.get_ref() {
            DeValue::Array(_) => {
                let found = self.take(key)?;
                let read = self.list(key, found.clone(), KERNEL, |fields, value| {
                    fields.in_range(key, value, CYCLES, "take 0 to 1e9")
                })?;
                let [call, each] = read[..] else {
                    self.out_of_range(key, found.1, format_args!("two numbers: `{key} = {KERNEL}`"));
                    return None;
                };
                Some(KernelTime::Cycles { call, each })
            }
            _ => self.number(key, factors.clone(), "100").map(KernelTime::Factor),
        };
        let read: Vec<_> = keys.into_iter().map(|key| Some((key.to_owned(), read(key)?))).collect();
        read.into_iter().collect()
    }

    pub(super) fn number(&mut self, key: &str, range: RangeInclusive<f64>, example: &str) -> Option<f64> {
        let (_, value) = self.require(key, example)?;
        let help = format!(
            "take a number from {} to {}, for example `{key} = {example}`",
            range.start(),
            range.end()
        );
        self.in_range(key, value, range, &help)
    }

    /// A whole number in `range`.
    pub(super) fn count(&mut self, key: &str, range: RangeInclusive<usize>, example: &str) -> Option<usize> {
        let (_, value) = self.require(key, example)?;
        self.whole(key, value, &range)
    }

    pub(super) fn counts(
        &mut self,
        key: &str,
        range: RangeInclusive<usize>,
        example: &str,
    ) -> Option<Vec<usize>> {
        let found = self.require(key, example)?;
        self.list(key, found, example, |fields, value| fields.whole(key, value, &range))
    }

    /// A bandwidth in bytes a second; the file has MB/s (1e6 bytes).
    pub(super) fn bandwidth(&mut self, key: &str, example: &str) -> Option<f64> {
        let (_, value) = self.require(key, example)?;
        self.megabytes(key, value)
    }

    /// Bandwidths in bytes a second, at least one.
    pub(super) fn bandwidths(&mut self, key: &str, example: &str) -> Option<Vec<f64>> {
        let found = self.require(key, example)?;
        self.list(key, found, example, |fields, value| fields.megabytes(key, value))
    }

    pub(super) fn text(&mut self, key: &str, example: &str) -> Option<(&'a str, Range<usize>)> {
        let (_, value) = self.require(key, example)?;
        let DeValue::String(text) = value.get_ref() else {
            let help = format!("write it in quotes: `{key} = {example}`");
            self.wrong_type(value, &format!("`{key}` has to be a text"), &help);
            return None;
        };
        Some((text, value.span()))
    }

    /// One of the texts `words`.
    pub(super) fn word<T: Copy>(&mut self, key: &str, words: &[(&'static str, T)]) -> Option<T> {
        let example = words.first().map_or(String::new(), |(word, _)| format!("\"{word}\""));
        let (text, at) = self.text(key, &example)?;
        let known = || words.iter().map(|(word, _)| *word);
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let all: Vec<String> = known().map(|word| format!("\"{word}\"")).collect();
            let help = match closest(text, known()) {
                Some(meant) => format!("did you mean \"{meant}\"? There are {}", all.join(", ")),
                None => format!("take one of {}", all.join(", ")),
            };
            let message = format!("there is no `{key}` of this name");
            self.fault(FaultKind::Unknown, at, [&message, "not known", &help]);
        }
        found
    }

    pub(super) fn flag(&mut self, key: &str, example: &str) -> Option<bool> {
        let (_, value) = self.require(key, example)?;
        let DeValue::Boolean(flag) = value.get_ref() else {
            let help = format!("for example `{key} = {example}`");
            self.wrong_type(value, &format!("`{key}` has to be true or false"), &help);
            return None;
        };
        Some(*flag)
    }

    /// The position of the value of a key that has not been read yet.
    pub(super) fn place(&self, key: &str) -> Option<Range<usize>> {
        self.entries.get(key).map(|(_, value)| value.span())
    }

    /// The position of the table's beginning.
    pub(super) fn head(&self) -> Range<usize> {
        self.head.clone()
    }

    /// Records a fault with its message, its label and its help.
    pub(super) fn fault(&self, kind: FaultKind, span: Range<usize>, said: [&str; 3]) {
        let [message, label, help] = said.map(str::to_owned);
        self.faults.borrow_mut().push(Fault { kind, message, span, label, help });
    }

    /// Rejects the keys that were not read.
    pub(super) fn finish(self) {
        for (key, (at, _)) in &self.entries {
            let message = format!("{} has no key `{key}`", self.title);
            self.fault(FaultKind::Unknown, at.clone(), [&message, "not known", &self.instead_of(key)]);
        }
    }

    /// Suggests a replacement for a key that does not exist.
    fn instead_of(&self, key: &str) -> String {
        let known = || self.known.iter().map(String::as_str);
        let stem = key.rsplit_once('_').map_or(key, |(stem, _)| stem);
        let is_time = |stem: &str| known().any(|known| known.strip_suffix("_cycles") == Some(stem));
        let without_unit =
            known().find(|known| known.strip_prefix(key).is_some_and(|rest| rest.starts_with('_')));
        let time = match without_unit {
            _ if is_time(key) => Some(key),
            Some(meant) => return format!("did you mean `{meant}`?"),
            None => is_time(stem).then_some(stem),
        };
        if let Some(time) = time {
            return format!("a time says its unit: `{time}_cycles`, `{time}_ns` or `{time}_us`");
        }
        let other_unit = |key: &&str| key.ends_with("_ns") || key.ends_with("_us");
        let all: Vec<&str> = known().filter(|key| !other_unit(key)).collect();
        let all = format!("{} has {}", self.title, all.join(", "));
        match closest(key, known()) {
            Some(meant) => format!("did you mean `{meant}`? {all}"),
            None => format!("leave it out: {all}"),
        }
    }

    /// The entry of a key, which then counts as known.
    fn take(&mut self, key: &str) -> Option<Found<'a>> {
        self.known.push(key.to_owned());
        self.entries.remove(key)
    }

    fn require(&mut self, key: &str, example: &str) -> Option<Found<'a>> {
        let found = self.take(key);
        if found.is_none() {
            self.missing(&format!("`{key}`"), &format!("{key} = {example}"));
        }
        found
    }

    fn missing(&self, what: &str, example: &str) {
        let (message, help) = (format!("{} lacks {what}", self.title), format!("add `{example}`"));
        self.fault(FaultKind::Missing, self.head.clone(), [&message, "it belongs here", &help]);
    }

    fn wrong_type(&self, value: &Spanned<DeValue<'_>>, message: &str, help: &str) {
        let label = format!("this is {}", article(value.get_ref().type_str()));
        self.fault(FaultKind::Type, value.span(), [message, &label, help]);
    }

    fn out_of_range(&self, key: &str, value: &Spanned<DeValue<'_>>, help: impl Display) {
        let message = format!("`{key}` is out of range");
        self.fault(FaultKind::Range, value.span(), [&message, "this number", &help.to_string()]);
    }

    fn in_range(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        range: RangeInclusive<f64>,
        help: &str,
    ) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => {
                let message = format!("`{key}` has to be a number");
                self.wrong_type(value, &message, "write a number, without quotes");
                return None;
            }
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.out_of_range(key, value, help);
        }
        number
    }

    fn megabytes(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let help = format!("a bandwidth in MB/s is from {} to {}", BANDWIDTHS.start(), BANDWIDTHS.end());
        self.in_range(key, value, BANDWIDTHS, &help).map(|megabytes| megabytes * 1e6)
    }

    fn whole(&self, key: &str, value: &Spanned<DeValue<'_>>, range: &RangeInclusive<usize>) -> Option<usize> {
        let DeValue::Integer(number) = value.get_ref() else {
            let message = format!("`{key}` has to be a whole number");
            self.wrong_type(value, &message, "write digits, without quotes or a point");
            return None;
        };
        let number = usize::from_str_radix(number.as_str(), number.radix()).ok();
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.out_of_range(key, value, format_args!("take {} to {}", range.start(), range.end()));
        }
        number
    }

    fn list<T>(
        &self,
        key: &str,
        (_, value): Found<'a>,
        example: &str,
        one: impl Fn(&Self, &Spanned<DeValue<'_>>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let DeValue::Array(values) = value.get_ref() else {
            let help = format!("for example `{key} = {example}`");
            self.wrong_type(value, &format!("`{key}` has to be a list"), &help);
            return None;
        };
        if values.is_empty() {
            let help = format!("name at least one, for example `{key} = {example}`");
            let message = format!("`{key}` is empty");
            self.fault(FaultKind::Range, value.span(), [&message, "no number in it", &help]);
            return None;
        }
        // Each invalid one is reported.
        let read: Vec<Option<T>> = values.iter().map(|value| one(self, value)).collect();
        read.into_iter().collect()
    }
}

fn article(name: &str) -> String {
    format!("{} {name}", if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" })
}
