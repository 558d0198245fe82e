//! Compares two texts line by line, as `diff` does: what is common stays, what is not was removed or added.
//!
//! The work is bounded: beyond a number of lines that differ, the old ones are removed and the new ones added as a whole.

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineChange {
    Same,
    Removed,
    Added,
}

/// The lines of both texts in one order, at most `most` of each compared one with another.
pub(crate) fn line_diff<'a>(old: &[&'a str], new: &[&'a str], most: usize) -> Vec<(LineChange, &'a str)> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_mid, same) = old_rest.split_at(old_rest.len().saturating_sub(tail));
    let (new_mid, _) = new_rest.split_at(new_rest.len().saturating_sub(tail));
    let mut lines: Vec<_> = old.iter().take(head).map(|line| (LineChange::Same, *line)).collect();
    if old_mid.len() > most || new_mid.len() > most {
        lines.extend(old_mid.iter().map(|line| (LineChange::Removed, *line)));
        lines.extend(new_mid.iter().map(|line| (LineChange::Added, *line)));
    } else {
        compare(old_mid, new_mid, &mut lines);
    }
    lines.extend(same.iter().map(|line| (LineChange::Same, *line)));
    lines
}

/// By the longest common subsequence.
fn compare<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<(LineChange, &'a str)>) {
    let width = new.len() + 1;
    // The length of what is common from a line of each to the end.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or_default();
    for (i, old_line) in old.iter().enumerate().rev() {
        for (j, new_line) in new.iter().enumerate().rev() {
            let length = if old_line == new_line {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(i * width + j) {
                *cell = length;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    loop {
        match (old.get(i), new.get(j)) {
            (Some(before), Some(after)) if before == after => {
                lines.push((LineChange::Same, before));
                (i, j) = (i + 1, j + 1);
            }
            (Some(before), after) if after.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                lines.push((LineChange::Removed, before));
                i += 1;
            }
            (_, Some(after)) => {
                lines.push((LineChange::Added, after));
                j += 1;
            }
            (Some(_) | None, None) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(old: &str, new: &str, most: usize) -> String {
        let split = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        let (old, new) = (split(String::from(old).leak()), split(String::from(new).leak()));
        let sign = |change| match change {
            LineChange::Same => ' ',
            LineChange::Removed => '-',
            LineChange::Added => '+',
        };
        line_diff(&old, &new, most).into_iter().map(|(change, line)| format!("{}{line}", sign(change))).collect()
    }

    #[test]
    fn common_lines_stay_and_the_others_are_removed_or_added_in_order() {
        assert_eq!(signs("a b c", "a b c", 10), " a b c");
        assert_eq!(signs("a b c d", "a x c e d", 10), " a-b+x c+e d");
        assert_eq!(signs("a", "b", 10), "-a+b");
        assert_eq!(signs("a b c d e", "a c b d e", 10), " a-b c+b d e");
    }

    #[test]
    fn beyond_the_limit_the_difference_is_told_as_a_whole() {
        assert_eq!(signs("a b c d e f", "a x c y e f", 2), " a-b-c-d+x+c+y e f");
    }
}
