//! "Did you mean": the known name closest to a mistyped one.
//!
//! Compares by edit distance with a small limit. It never corrects anything by itself.

/// Compared at most this many characters of a name. Judgement: longer names differ visibly by themselves.
const COMPARED_CHARS: usize = 60;

/// A sentence that names the nearest known name, if one is near enough.
pub fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wrong, known).map(|name| format!("Did you mean `{name}`?"))
}

/// The nearest known name, if one is near enough: a third of its characters may differ, or it holds the given text.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    known
        .into_iter()
        .filter_map(|name| {
            let candidate = name.to_lowercase();
            let most = lower.chars().count().max(candidate.chars().count()).div_ceil(3);
            let apart = distance(&lower, &candidate);
            if apart <= most {
                Some((apart, name))
            } else if lower.len() >= 3 && candidate.contains(&lower) {
                Some((most.saturating_add(1), name))
            } else {
                None
            }
        })
        .min_by_key(|(apart, _)| *apart)
        .map(|(_, name)| name)
}

/// Insertions, removals and replacements that turn one text into the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(COMPARED_CHARS).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, from) in left.chars().take(COMPARED_CHARS).enumerate() {
        let mut diagonal = above;
        let mut before = above.saturating_add(1);
        let mut next = vec![before];
        for (to, old) in right.iter().zip(row.iter().skip(1)) {
            let change = diagonal.saturating_add(usize::from(*to != from));
            before = change.min(old.saturating_add(1)).min(before.saturating_add(1));
            diagonal = *old;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_finds_the_one_that_was_meant() {
        let known = ["index_folder", "hash_tree", "runaway"];
        assert_eq!(nearest("hash_tre", known), Some("hash_tree"));
        assert_eq!(nearest("Runawy", known), Some("runaway"));
        assert_eq!(nearest("index", known), Some("index_folder"), "a beginning is near enough");
        assert_eq!(nearest("completely-else", known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
