//! Suggestions for names that do not exist.

/// More names than this are not considered.
const CONSIDERED: usize = 2000;

/// Longer names are not compared.
const LONGEST: usize = 64;

/// The name among `known` that `name` probably stands for: the one with the least edit distance,
/// ignoring case, if that is at most a third of the length (at least one) and less than the whole
/// name. Does not allocate.
#[must_use]
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let allowed = (length / 3 + 1).min(length.saturating_sub(1));
    let close = known.into_iter().take(CONSIDERED).filter_map(|other| Some((distance(name, other)?, other)));
    close
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, other)| other)
}

/// The number of characters to insert, delete or replace, or of neighbours to exchange (optimal
/// string alignment: Wagner and Fischer 1974, and Damerau's exchanges).
fn distance(a: &str, b: &str) -> Option<usize> {
    fn lower(text: &str) -> impl Iterator<Item = char> {
        text.chars().flat_map(char::to_lowercase)
    }
    let length = lower(b).count();
    if length > LONGEST {
        return None;
    }
    // The rows of the table for the last two characters of `a` and for the current one.
    let (mut before, mut last) = ([0; LONGEST + 1], core::array::from_fn(|place| place));
    let mut previous = None;
    for (i, x) in lower(a).take(LONGEST + 1).enumerate() {
        let mut row = [i + 1; LONGEST + 1];
        let mut left = None;
        for (j, y) in lower(b).enumerate() {
            let replaced: usize = last[j] + usize::from(x != y);
            row[j + 1] = replaced.min(row[j] + 1).min(last[j + 1] + 1);
            if left == Some(x) && previous == Some(y) {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
            left = Some(y);
        }
        (before, last, previous) = (last, row, Some(x));
    }
    last.get(length).copied()
}

#[cfg(test)]
mod tests {
    use super::closest;
    use proptest::prelude::*;

    #[test]
    fn slips_are_understood_and_other_words_are_not() {
        let known = ["fat-tree", "mesh", "torus"];
        assert_eq!(closest("fattree", known), Some("fat-tree"));
        assert_eq!(closest("Mseh", known), Some("mesh"));
        assert_eq!(closest("dragonfly", known), None);
        assert_eq!(closest("sm", ["n", "ms"]), Some("ms"));
        assert_eq!(closest("F", ["A", "B"]), None, "another letter is another name");
        assert_eq!(closest("f", ["A", "F"]), Some("F"));
        assert_eq!(closest("", []), None);
    }

    proptest! {
        #[test]
        fn any_text_is_compared(a in ".{0,80}", b in ".{0,80}") {
            let found = closest(&a, [b.as_str()]);
            prop_assert!(a != b || found.is_some() || b.to_lowercase().chars().count() > 64);
        }
    }
}
