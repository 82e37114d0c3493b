//! What somebody probably meant who wrote a name that does not exist.

/// More names than this are not looked at for a suggestion.
const CONSIDERED: usize = 2000;

/// The name among `known` that `name` was probably meant to be: the one that takes
/// the fewest changes, if these are not more than a third of it, and one.
#[must_use]
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = name.chars().count() / 3 + 1;
    known
        .into_iter()
        .take(CONSIDERED)
        .filter_map(|other| Some((distance(name, other, allowed)?, other)))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, other)| other)
}

/// How many characters must be inserted, dropped or replaced (Wagner and Fischer 1974), if at most `allowed`.
fn distance(a: &str, b: &str, allowed: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    if a.len().abs_diff(b.len()) > allowed || a.len() > 64 {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().filter(|&distance| distance <= allowed)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn slips_are_understood_and_other_words_are_not() {
        let known = ["fat-tree", "mesh", "torus"];
        assert_eq!(closest("fattree", known), Some("fat-tree"));
        assert_eq!(closest("Mseh", known), Some("mesh"));
        assert_eq!(closest("dragonfly", known), None);
        assert_eq!(closest("", []), None);
    }
}
