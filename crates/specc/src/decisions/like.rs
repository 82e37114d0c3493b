//! The inputs of a program's own calls, in place of inputs drawn evenly over what was measured.

use std::collections::BTreeMap;
use std::path::Path;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_model::set::ModelSet;
use strata_model::{Kinds, count, percent};
use strata_select::transfer::fnv;

use crate::competition::Competition;
use crate::lang::checked::CheckedSpec;

/// The calls of libraries, by their names; of others inputs are drawn evenly.
#[derive(Debug, Default)]
pub struct Like(BTreeMap<String, Calls>);

/// The calls of a library.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The file's name.
    pub(crate) file: String,
    /// The inputs of each row in the library's order, and how many calls the rows up to it have.
    rows: Vec<(Vec<f64>, f64)>,
}

impl Like {
    /// Reads a table with a header (CSV), whose columns are inputs and perhaps `count`, or the tables
    /// of a folder, each named after its library.
    ///
    /// # Errors
    /// A file cannot be read, it lacks an input of its library, is of none, or a value is no number.
    pub fn read(path: &Path, spec: &CheckedSpec) -> Result<Self, String> {
        let mut all = BTreeMap::new();
        for library in &spec.libraries {
            let of_folder = path.join(format!("{}.csv", library.name));
            let file = if path.is_dir() { &*of_folder } else { path };
            if path.is_dir() && !file.exists() {
                continue;
            }
            let table = Table::read(file)?;
            match table.calls(&library.inputs, &spec.kinds)? {
                Some(calls) => drop(all.insert(library.name.clone(), calls)),
                None if path.is_dir() => {
                    return Err(format!("{}: {}", file.display(), table.lacks(&library.inputs)));
                }
                None => {}
            }
        }
        if all.is_empty() {
            let takes = |library: &crate::lang::checked::Library| {
                format!("`{}` takes {}", library.name, library.inputs.join(", "))
            };
            let takes: Vec<String> = spec.libraries.iter().map(takes).collect();
            return Err(format!("{}: no calls of a library: {}", path.display(), takes.join("; ")));
        }
        Ok(Self(all))
    }

    pub(crate) fn of(&self, library: &str) -> Option<&Calls> {
        self.0.get(library)
    }

    /// What is said of calls outside of what was measured, for each library that has some.
    pub fn outside(&self, set: &ModelSet) -> Vec<String> {
        let one = |(library, calls): (&String, &Calls)| {
            let competition = Competition::new(set, library).ok()?;
            let is_measured = |inputs: &[f64]| {
                let ranges =
                    inputs.iter().enumerate().map(|(place, value)| (competition.range(place), value));
                { ranges }.all(|((low, high), value)| (low..=high).contains(value))
            };
            let (mut before, mut outside) = (0.0, 0.0);
            for (inputs, up_to) in &calls.rows {
                outside += if is_measured(inputs) { 0.0 } else { up_to - before };
                before = *up_to;
            }
            (outside > 0.0).then(|| {
                let share = percent(outside / before);
                format!("{}: {share} of the calls of `{library}` lie outside what was measured", calls.file)
            })
        };
        self.0.iter().filter_map(one).collect()
    }
}

impl Calls {
    /// The inputs of a call; `number` counts draws.
    pub(crate) fn draw(&self, seed: u64, number: u64) -> Option<Vec<f64>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ fnv(self.file.bytes()));
        random.set_stream(number);
        let call = random.random::<f64>() * self.rows.last()?.1;
        let row = self.rows.partition_point(|(_, up_to)| *up_to <= call);
        self.rows.get(row).map(|(inputs, _)| inputs.clone())
    }
}

/// A table with the line of each row.
struct Table {
    file: String,
    columns: Vec<String>,
    rows: Vec<(usize, Vec<String>)>,
}

impl Table {
    fn read(path: &Path) -> Result<Self, String> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{file}: {error}"))?;
        let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect();
        let mut lines = text.trim_start_matches('\u{FEFF}').lines().enumerate();
        let columns = lines.next().map(|(_, line)| cells(line)).unwrap_or_default();
        let rows = lines.filter(|(_, line)| !line.trim().is_empty());
        let rows = rows.map(|(line, text)| (line + 1, cells(text))).collect();
        Ok(Self { file, columns, rows })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    fn lacks(&self, inputs: &[String]) -> String {
        let lacking: Vec<&str> =
            inputs.iter().map(String::as_str).filter(|input| self.column(input).is_none()).collect();
        format!("its first line lacks {}", lacking.join(", "))
    }

    /// The calls of a library with these inputs; `None` if it lacks one.
    fn calls(&self, inputs: &[String], kinds: &Kinds) -> Result<Option<Calls>, String> {
        let Some(places) = inputs.iter().map(|input| self.column(input)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let (mut rows, mut up_to) = (Vec::new(), 0.0);
        for (line, cells) in &self.rows {
            let number = |place: usize| {
                let cell = cells.get(place).map_or("", String::as_str);
                let names = kinds.get(&self.columns[place]);
                let name = names.and_then(|names| names.iter().position(|name| name == cell));
                let number = name.map(|place| place as f64).or_else(|| cell.parse().ok());
                number.filter(|number| number.is_finite()).ok_or_else(|| match names {
                    Some(names) => format!("{}:{line}: `{cell}` is none of {}", self.file, names.join(", ")),
                    None => format!("{}:{line}: `{cell}` is no number", self.file),
                })
            };
            let values = places.iter().map(|place| number(*place)).collect::<Result<_, _>>()?;
            let calls = self.column("count").map_or(Ok(1.0), number)?;
            if calls < 0.0 {
                return Err(format!("{}:{line}: `count` is below zero", self.file));
            }
            up_to += calls;
            rows.push((values, up_to));
        }
        match up_to > 0.0 {
            true => Ok(Some(Calls { file: self.file.clone(), rows })),
            false => Err(format!("{}: {}", self.file, count(0, "call", "calls"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(text: &str, inputs: &[&str]) -> Result<Option<Calls>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.csv");
        std::fs::write(&path, text).unwrap();
        let inputs: Vec<String> = inputs.iter().map(|&input| input.to_owned()).collect();
        let kinds = Kinds::from([("kind".to_owned(), vec!["few".to_owned(), "many".to_owned()])]);
        Table::read(&path)?.calls(&inputs, &kinds).map_err(|why| why.replace(path.to_str().unwrap(), "FILE"))
    }

    #[test]
    fn each_call_is_drawn_as_often() {
        let calls =
            calls("m,count,n\r\n1,30,64\r\n2,0,65\r\n\r\n3, 10, 1000\n", &["n", "m"]).unwrap().unwrap();
        let drawn: Vec<_> = (0..4000).map(|number| calls.draw(7, number).unwrap()).collect();
        let share = |inputs: [f64; 2]| drawn.iter().filter(|one| **one == inputs).count();
        assert!((2900..3100).contains(&share([64.0, 1.0])));
        assert_eq!((share([65.0, 2.0]), share([64.0, 1.0]) + share([1000.0, 3.0])), (0, 4000));
        assert_eq!(calls.draw(7, 5), calls.draw(7, 5));
        let named = self::calls("n,kind\n5,many\n", &["n", "kind"]).unwrap().unwrap();
        assert_eq!(named.draw(7, 1), Some(vec![5.0, 1.0]));
    }

    #[test]
    fn what_is_wrong_names_its_place() {
        assert!(calls("n\n5\n", &["n", "m"]).unwrap().is_none());
        for (text, why) in [
            ("n\n5\nmany\n", "FILE:3: `many` is no number"),
            ("n,m\n5\n", "FILE:2: `` is no number"),
            ("n,m,count\n5,1,-1\n", "FILE:2: `count` is below zero"),
            ("n,m,count\n5,1,0\n", "FILE: 0 calls"),
            ("n,m\n", "FILE: 0 calls"),
            ("n,m\n1e999,1\n", "FILE:2: `1e999` is no number"),
        ] {
            let inputs: &[&str] = if text.starts_with("n\n") { &["n"] } else { &["n", "m"] };
            assert_eq!(calls(text, inputs).unwrap_err(), why);
        }
    }
}
