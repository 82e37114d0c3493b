//! Inputs in the names of benchmarks.

use super::{Input, Results};

/// Units in names with their factors, the longer first. In names `KB` means 1,024 bytes more often
/// than 1,000; a lower case `kB` is the unit of the SI.
const UNITS: [(&str, f64); 14] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("KB", 1024.0),
    ("MB", 1_048_576.0),
    ("GB", 1_073_741_824.0),
    ("kB", 1e3),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
];

/// A number in a name, and where it stands.
struct Number {
    start: usize,
    end: usize,
    value: f64,
    unit: &'static str,
}

impl Results<'_> {
    /// The benchmark and its inputs, from the parts of its name. `n:1024`, `n=1024` and `n=1024,b=1`
    /// are inputs, and so are plain numbers, named in the order of `--inputs`, else `n`, or `n1`, `n2`
    /// if there are several. If fewer parts are numbers than `--inputs` names, numbers are taken
    /// wherever they stand: those behind their input's name, then the last ones of the name.
    pub(super) fn named<'a>(
        &mut self,
        pieces: impl IntoIterator<Item = &'a str>,
        separator: &str,
    ) -> (String, Vec<Input>) {
        let pieces: Vec<&str> = pieces.into_iter().collect();
        self.first_name.get_or_insert_with(|| pieces.join(separator));
        let (mut inputs, mut others, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for piece in pieces {
            match self.pairs(piece) {
                Some(pairs) => inputs.extend(pairs),
                None => {
                    bare.extend(
                        whole(piece).filter(|number| number.unit.is_empty()).map(|number| number.value),
                    );
                    others.push(piece);
                }
            }
        }
        let names: Vec<String> = self
            .inputs
            .iter()
            .filter(|name| inputs.iter().all(|(known, _)| known != *name))
            .cloned()
            .collect();
        if names.is_empty() || bare.len() >= names.len() {
            others.retain(|piece| whole(piece).is_none_or(|number| !number.unit.is_empty()));
            let one = bare.len() == 1;
            for (place, value) in bare.into_iter().enumerate() {
                let usual = || if one { "n".to_owned() } else { format!("n{}", place + 1) };
                inputs.push((names.get(place).cloned().unwrap_or_else(usual), value));
            }
            return (others.join(separator), inputs);
        }
        let mut all: Vec<Vec<Number>> = others.iter().map(|piece| numbers(piece)).collect();
        // The name of the input that a number belongs to, `n512`, if there is one.
        let own = |piece: &str, number: &Number| -> Option<usize> {
            let before = piece[..number.start].trim_end_matches(is_between);
            names.iter().position(|name| {
                let begin = before.len().checked_sub(name.len());
                begin.and_then(|begin| before.get(begin..)).is_some_and(|end| end.eq_ignore_ascii_case(name))
            })
        };
        let is_part_of_word = |piece: &str, number: &Number| {
            piece[..number.start].ends_with(char::is_alphabetic) && own(piece, number).is_none()
        };
        let count = |all: &[Vec<Number>]| all.iter().map(Vec::len).sum::<usize>();
        let free = others
            .iter()
            .zip(&all)
            .flat_map(|(piece, found)| found.iter().filter(|number| !is_part_of_word(piece, number)));
        // Those of `md5` and `avx512` are taken only if there are too few others.
        if free.count() >= names.len() {
            for (piece, found) in others.iter().zip(&mut all) {
                found.retain(|number| !is_part_of_word(piece, number));
            }
        }
        let Some(mut left_over) = count(&all).checked_sub(names.len()) else {
            return (others.join(separator), inputs);
        };
        let mut unnamed: Vec<usize> = (0..names.len()).collect();
        let mut path = Vec::new();
        for (piece, found) in others.iter().zip(&all) {
            for name in found.iter().filter_map(|number| own(piece, number)) {
                unnamed.retain(|other| *other != name);
            }
        }
        let mut unnamed = unnamed.into_iter();
        for (piece, found) in others.iter().zip(&all) {
            let mut text = String::new();
            let mut at = 0;
            for number in found {
                let of =
                    own(piece, number).filter(|name| inputs.iter().all(|(known, _)| *known != names[*name]));
                if of.is_none() && left_over > 0 {
                    left_over -= 1;
                    continue;
                }
                let Some(name) = of.or_else(|| unnamed.next()) else { continue };
                self.note_unit(number.unit);
                let before = piece[at..number.start].trim_end_matches(is_between);
                text += if of.is_some() { &before[..before.len() - names[name].len()] } else { before };
                at = number.end;
                inputs.push((names[name].clone(), number.value));
            }
            text += &piece[at..];
            let text = text.trim_matches(is_between);
            if !text.is_empty() {
                path.push(text.to_owned());
            }
        }
        inputs.sort_by_key(|(name, _)| self.inputs.iter().position(|known| known == name));
        (path.join(separator), inputs)
    }

    /// The inputs of a part that consists of them, `n=512,b=1`.
    fn pairs(&mut self, piece: &str) -> Option<Vec<Input>> {
        let pair = |text: &str| {
            let (name, value) = text.split_once([':', '='])?;
            Some((name.trim().to_owned(), whole(value)?))
        };
        let pairs: Vec<(String, Number)> = piece.split(',').map(pair).collect::<Option<_>>()?;
        pairs.iter().for_each(|(_, number)| self.note_unit(number.unit));
        Some(pairs.into_iter().map(|(name, number)| (name, number.value)).collect())
    }

    /// A number in a parameter, with or without a unit.
    pub(super) fn value(&mut self, text: &str) -> Option<f64> {
        let number = whole(text)?;
        self.note_unit(number.unit);
        Some(number.value)
    }

    fn note_unit(&mut self, unit: &str) {
        if let Some((_, factor)) = UNITS.iter().find(|(known, _)| *known == unit) {
            self.note(format!("`{unit}` in a name is taken as {factor}"));
        }
    }
}

/// A name with its numbers left out, and the numbers, if it has any.
#[must_use]
pub fn without_numbers(name: &str) -> Option<(String, Vec<f64>)> {
    let numbers = numbers(name);
    let starts = std::iter::once(0).chain(numbers.iter().map(|number| number.end));
    let ends = numbers.iter().map(|number| number.start).chain([name.len()]);
    let rest = starts.zip(ends).map(|(start, end)| &name[start..end]).collect();
    (!numbers.is_empty()).then(|| (rest, numbers.iter().map(|number| number.value).collect()))
}

/// What separates numbers from each other and from names.
fn is_between(c: char) -> bool {
    matches!(c, '_' | '-' | ',' | 'x' | '/' | '(' | ')' | '[' | ']' | '^' | ':' | '=' | ' ' | '.')
}

fn whole(text: &str) -> Option<Number> {
    let text = text.trim();
    let plain = text.parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some(value) = plain {
        return Some(Number { start: 0, end: text.len(), value, unit: "" });
    }
    numbers(text).pop().filter(|number| number.start == 0 && number.end == text.len())
}

/// The numbers in a text: digits with a fraction, a power (`2^9`) and a unit, which no other letter
/// follows but an `x` before the next number.
fn numbers(text: &str) -> Vec<Number> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if !is_digit(at) {
            at += 1;
            continue;
        }
        let start = at;
        at = digits(at);
        if bytes.get(at) == Some(&b'.') && is_digit(at + 1) {
            at = digits(at + 1);
        }
        let Ok(mut value) = text[start..at].parse::<f64>() else { continue };
        if matches!(bytes.get(at), Some(b'e' | b'E')) && is_digit(at + 1) {
            let end = digits(at + 1);
            value = text[start..end].parse::<f64>().unwrap_or(value);
            at = end;
        }
        if bytes.get(at) == Some(&b'^') && is_digit(at + 1) {
            let end = digits(at + 1);
            value = text[at + 1..end].parse::<f64>().map_or(value, |power| value.powf(power));
            at = end;
        }
        let rest = &text[at..];
        let unit = UNITS.iter().find(|(unit, _)| {
            rest.strip_prefix(unit).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
        });
        at += unit.map_or(0, |(unit, _)| unit.len());
        let ends = match text[at..].chars().next() {
            Some('x') => is_digit(at + 1),
            Some(next) => !next.is_alphanumeric(),
            None => true,
        };
        if ends && value.is_finite() {
            let (unit, factor) = unit.copied().unwrap_or(("", 1.0));
            found.push(Number { start, end: at, value: value * factor, unit });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn numbers_are_found_wherever_they_stand() {
        let of = |text: &str| numbers(text).iter().map(|number| number.value).collect::<Vec<f64>>();
        for (text, values) in [
            ("random_100k", &[1e5][..]),
            ("1024x64", &[1024.0, 64.0]),
            ("512_1", &[512.0, 1.0]),
            ("(512, 1)", &[512.0, 1.0]),
            ("n512_b1", &[512.0, 1.0]),
            ("512KiB", &[524_288.0]),
            ("2^9", &[512.0]),
            ("0.5/1.5e", &[0.5]),
            ("Sort_1e3", &[1e3]),
            ("10E3_4", &[1e4, 4.0]),
            ("fft2d_64bit", &[]),
            ("größe=7ß", &[]),
            ("", &[]),
            ("x8x", &[]),
        ] {
            assert_eq!(of(text), values, "{text}");
        }
    }
}
