//! Changes that people, editors, disks and other programs make to files, at random.

use std::ops::Range;

/// Marsaglia (2003), *Xorshift RNGs*: mutations need no better, and the same on every machine.
pub(crate) struct Chance(u64);

/// Longer inputs are cut: what is wrong with a long file is wrong with a short one, sooner.
pub(crate) const LONGEST: usize = 24 << 10;

/// In place of numbers: the ends of integers and floats, and what is almost a number.
const EXTREMES: [&str; 28] = [
    "0", "1", "-1", "2", "3", "-0.0", "0.5", "255", "256", "1000001", "2147483648", "4294967296",
    "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616", "1e-320", "5e-324", "1e308",
    "1e999", "-1e308", "nan", "inf", "0x10", "1_0",
];

/// What most formats give a meaning to.
const MARKS: [&str; 32] = [
    "\n", "\r\n", "\t", " ", "\0", "\u{feff}", "é", "€", "\\", "\"", "'", "#", "//", "/*", "(", ")", "[",
    "]", "{", "}", "<", ">", ",", ";", ":", "=", ".", "..", "-", "@", "null", "true",
];

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        // Zero would stay zero; equal bits in small seeds would begin alike.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A short piece mostly, sometimes a long one.
    fn piece(&mut self, length: usize) -> Range<usize> {
        let most = if self.below(8) == 0 { length } else { 24 };
        let start = self.below(length + 1);
        start..(start + self.below(most + 1)).min(length)
    }
}

/// Changes `bytes` in one to eight ways, mostly in few. `others` are of the same format, `words`
/// those that it knows.
pub(crate) fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], words: &[String], chance: &mut Chance) {
    loop {
        once(bytes, others, words, chance);
        bytes.truncate(LONGEST);
        if chance.below(8) < 4 {
            return;
        }
    }
}

fn once(bytes: &mut Vec<u8>, others: &[Vec<u8>], words: &[String], chance: &mut Chance) {
    let piece = chance.piece(bytes.len());
    match chance.below(16) {
        0 if !bytes.is_empty() => {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
        }
        1 if !bytes.is_empty() => {
            let at = chance.below(bytes.len());
            bytes[at] = chance.below(256) as u8;
        }
        2 => drop(bytes.drain(piece)),
        3 => {
            let again = bytes[piece].to_vec();
            insert(bytes, chance.below(bytes.len() + 1), &again);
        }
        4 => bytes.truncate(piece.start),
        5 => {
            let other = chance.of(others);
            let from = chance.piece(other.len());
            bytes.splice(piece, other[from].iter().copied());
        }
        6 => {
            let word = if words.is_empty() { *chance.of(&MARKS) } else { chance.of(words).as_str() };
            insert(bytes, piece.start, word.as_bytes());
        }
        7 => insert(bytes, piece.start, chance.of(&MARKS).as_bytes()),
        8 => {
            let line = line_at(bytes, piece.start);
            let again = bytes[line.clone()].to_vec();
            insert(bytes, line.end, &again);
        }
        9 => drop(bytes.drain(line_at(bytes, piece.start))),
        10 => {
            // Lines change places.
            let line: Vec<u8> = bytes.drain(line_at(bytes, piece.start)).collect();
            let to = line_at(bytes, chance.below(bytes.len() + 1)).start;
            insert(bytes, to, &line);
        }
        11 => {
            let token = token_at(bytes, piece.start);
            let again = bytes[token.clone()].to_vec();
            insert(bytes, token.end, &again);
        }
        12 => drop(bytes.drain(token_at(bytes, piece.start))),
        13 => {
            let other = chance.of(others);
            let from = token_at(other, chance.below(other.len() + 1));
            let token = token_at(bytes, piece.start);
            bytes.splice(token, other[from].iter().copied());
        }
        _ => {
            let extreme = chance.of(&EXTREMES).as_bytes();
            match number_after(bytes, piece.start) {
                Some(number) => drop(bytes.splice(number, extreme.iter().copied())),
                None => insert(bytes, piece.start, extreme),
            }
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

/// The line around a place, with its end.
fn line_at(bytes: &[u8], at: usize) -> Range<usize> {
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
    start..end
}

/// The word, number or mark around a place.
fn token_at(bytes: &[u8], at: usize) -> Range<usize> {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let start = bytes[..at].iter().rposition(|byte| !inside(byte)).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|byte| !inside(byte)).map_or(bytes.len(), |after| at + after);
    if start < end { start..end } else { at..(at + 1).min(bytes.len()) }
}

/// The first number that begins at or after a place.
fn number_after(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + bytes[at..].iter().position(u8::is_ascii_digit)?;
    let inside = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E');
    let end = bytes[start..].iter().position(|byte| !inside(byte)).map_or(bytes.len(), |end| start + end);
    Some(start..end)
}
