//! Parsers of command line values.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value, json};
use strata_model::expr::is_name;
use strata_model::{Kinds, Seconds, Unit, did_you_mean, kind_text, number_text};
use strata_screen::Failure;

/// An input with its value, `keys=1000`, or `kind=sorted`.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    /// The input's name.
    pub(super) name: String,
    /// Its value, as text.
    text: String,
}

impl Binding {
    pub(super) fn new(name: &str, value: f64) -> Self {
        Self { name: name.to_owned(), text: number_text(value) }
    }

    /// Its value: a number, or the place of a name of one of the `kinds`.
    ///
    /// # Errors
    /// The value is neither.
    pub(super) fn value(&self, kinds: &Kinds) -> Result<f64, Failure> {
        let Self { name, text } = self;
        let names = kinds.get(name);
        if let Some(place) = names.and_then(|names| names.iter().position(|one| one == text)) {
            return Ok(place as f64);
        }
        let number = text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite());
        let is_known = |number: &f64| {
            let place = number.fract() == 0.0 && *number >= 0.0;
            names.is_none_or(|names| place && *number < names.len() as f64)
        };
        number.filter(is_known).ok_or_else(|| {
            Failure::Usage(match names {
                Some(names) => {
                    let meant = did_you_mean(text, names.iter().map(String::as_str));
                    format!("`{name}` is one of {}, not `{text}`{meant}", names.join(", "))
                }
                None => format!("`{text}` is not a number, in `{name}={text}`"),
            })
        })
    }
}

impl FromStr for Binding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not of the form NAME=VALUE"))?;
        if value.is_empty() {
            return Err(format!("`{text}` has no value"));
        }
        Ok(Self { name: name.trim().to_owned(), text: value.trim().to_owned() })
    }
}

/// The file of a model set: of a folder its `models.toml`.
pub(super) fn model_set(path: &str) -> Result<PathBuf, Infallible> {
    let path = PathBuf::from(path);
    Ok(if path.is_dir() { path.join("models.toml") } else { path })
}

/// A value of an input as JSON: the name of its kind, or a number.
pub(super) fn json_value(kinds: &Kinds, input: &str, value: f64) -> Value {
    if kinds.contains_key(input) { json!(kind_text(kinds, input, value)) } else { json!(value) }
}

/// Values of inputs as JSON.
pub(super) fn json_values<'a>(
    kinds: &Kinds,
    inputs: impl IntoIterator<Item = (&'a str, f64)>,
) -> Map<String, Value> {
    let one = |(input, value): (&str, f64)| (input.to_owned(), json_value(kinds, input, value));
    inputs.into_iter().map(one).collect()
}

/// A cost and what it is multiplied by, `Send.bytes*=0.5`.
#[derive(Clone, Debug)]
pub(super) struct Scaling {
    /// A model, or one of its terms.
    pub(super) cost: String,
    /// The factor, above zero.
    pub(super) factor: f64,
}

impl FromStr for Scaling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (cost, factor) =
            text.rsplit_once("*=").ok_or_else(|| format!("`{text}` is not of the form COST*=FACTOR"))?;
        match factor.trim().parse::<f64>() {
            Ok(factor) if factor.is_finite() && factor > 0.0 => {
                Ok(Self { cost: cost.trim().to_owned(), factor })
            }
            _ => Err(format!("`{factor}` is not a number above zero, in `{text}`")),
        }
    }
}

/// Reads `60s`, `500ms`, `1.5m` or `2h`; a bare number is in seconds.
///
/// # Errors
/// The text is not a time above zero.
pub fn duration(text: &str) -> Result<Duration, String> {
    let time: Seconds = text.parse()?;
    match Duration::try_from_secs_f64(time.get()) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("a budget is longer than zero".into()),
    }
}

/// The nodes of a run, and the hosts that they are to run on: `16`, or `2x8` for 8 nodes on each of
/// 2 hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    nodes: u32,
    hosts: Option<u32>,
}

/// The most nodes that can be asked for.
const MOST_NODES: u32 = 4096;

impl Layout {
    /// The number of nodes.
    #[must_use]
    pub fn nodes(self) -> usize {
        self.nodes as usize
    }

    /// The number of hosts, if one was asked for.
    #[must_use]
    pub fn hosts(self) -> Option<usize> {
        self.hosts.map(|hosts| hosts as usize)
    }

    /// This many nodes on this many hosts, as models' platforms name them.
    pub(super) fn known(nodes: usize, hosts: Option<usize>) -> Option<Self> {
        let number = |number: usize| u32::try_from(number).ok();
        let nodes = number(nodes)?;
        let hosts = hosts.and_then(number).filter(|hosts| *hosts > 0 && nodes.is_multiple_of(*hosts));
        Some(Self { nodes, hosts })
    }
}

impl From<u32> for Layout {
    /// Wherever the machine places them.
    fn from(nodes: u32) -> Self {
        Self { nodes, hosts: None }
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.hosts {
            Some(hosts) => write!(f, "{hosts}x{}", self.nodes / hosts),
            None => write!(f, "{}", self.nodes),
        }
    }
}

/// Reads the nodes of a run.
///
/// # Errors
/// The text is neither a number of nodes nor `HOSTSxNODES`, or these are too many.
pub fn layout(text: &str) -> Result<Layout, String> {
    let number = |part: &str| match part.parse::<u32>() {
        Ok(number) if (1..=MOST_NODES).contains(&number) => Ok(number),
        _ => Err(format!(
            "{}: say how many nodes, as in `16`, or on how many hosts how many each, as in `2x8`",
            match part {
                "" => "a number is missing".to_owned(),
                part => format!("`{part}` is not in 1..={MOST_NODES}"),
            }
        )),
    };
    let Some((hosts, each)) = text.split_once('x') else { return Ok(number(text)?.into()) };
    let (hosts, each) = (number(hosts)?, number(each)?);
    match hosts.checked_mul(each).filter(|nodes| *nodes <= MOST_NODES) {
        Some(nodes) => Ok(Layout { nodes, hosts: Some(hosts) }),
        None => Err(format!("{hosts} times {each} nodes are more than {MOST_NODES}")),
    }
}

/// Reads a number of nodes.
#[must_use]
pub fn node_count() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=4096)
}

/// Accepts a valid beginning of a name in C.
pub(super) fn prefix(text: &str) -> Result<String, String> {
    if is_name(text) && !text.starts_with('_') {
        Ok(text.to_owned())
    } else {
        Err("a letter, then letters, digits and `_`".into())
    }
}

/// Reads `0.2%` as a fraction.
///
/// # Errors
/// The text is not a percentage above 0 % and up to 100 %.
pub fn percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|digits| digits.trim().parse::<f64>().ok());
    match number {
        Some(number) if number > 0.0 && number <= 100.0 => Ok(number / 100.0),
        _ => Err("a percentage above 0% and up to 100%, for example `0.2%`".into()),
    }
}

/// Reads `99%`, the share of samples below an upper bound, as a fraction.
///
/// # Errors
/// The text is not a percentage between 0 % and 100 %: no finite bound is above all samples.
pub fn share(text: &str) -> Result<f64, String> {
    let below_all = |share: &f64| *share < 1.0;
    percentage(text)
        .ok()
        .filter(below_all)
        .ok_or_else(|| "a percentage between 0% and 100%, for example `99%`".into())
}

/// The unit of prices: a unit of time, with its known factor to seconds, or any other.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceUnit {
    /// Its name.
    pub unit: Unit,
    /// The number of these units in one of the model's own units.
    pub factor: f64,
}

impl FromStr for PriceUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((unit, factor)) = text.split_once('=') {
            let factor = factor.parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor > 0.0);
            let factor = factor.ok_or("a unit's factor is a number above zero, as in `gas=2.5e9`")?;
            return Ok(Self { unit: unit.parse()?, factor });
        }
        let times = [("ps", 1e12), ("ns", 1e9), ("us", 1e6), ("µs", 1e6), ("ms", 1e3), ("s", 1.0)];
        match times.iter().find(|(name, _)| *name == text) {
            Some((_, factor)) => Ok(Self { unit: text.parse()?, factor: *factor }),
            None => Err(format!("say how many of it one of the model's own unit is: `{text}=2.5e9`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_with_their_units() {
        assert_eq!(duration("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("20"), Ok(Duration::from_secs(20)));
        for bad in ["", "s", "0", "-1s", "5 parsecs", "nan", "1e400", "µ"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percentages_become_fractions() {
        assert_eq!(percentage("0.5%"), Ok(0.005));
        assert_eq!(percentage("100 %"), Ok(1.0));
        for bad in ["", "%", "0.5", "0%", "-1%", "101%", "nan%", "inf%"] {
            assert!(percentage(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_bound_is_above_all_samples() {
        assert_eq!(share("99%"), Ok(0.99));
        for bad in ["100%", "0%", "99"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bindings_are_finite_numbers_or_names_of_kinds() {
        let kinds = Kinds::from([("kind".to_owned(), vec!["few".to_owned(), "many".to_owned()])]);
        let value = |text: &str| text.parse::<Binding>().ok()?.value(&kinds).ok();
        let known = [("keys=65_536", 65_536.0), ("kind=many", 1.0), ("kind=0", 0.0)];
        assert!(known.iter().all(|(text, expected)| value(text) == Some(*expected)));
        for bad in ["keys", "keys=", "keys=many", "keys=inf", "kind=none", "kind=2", "kind=-1", "kind=0.5"] {
            assert_eq!(value(bad), None, "{bad}");
        }
    }
}
