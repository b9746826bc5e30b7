//! Spelling suggestions: the known name that is closest to an unknown one.

/// Returns `did you mean ...?` if a candidate is close enough. A third of the longer name may
/// differ, but not all of a short one. A difference of case alone is always close.
pub fn suggest<'a>(unknown: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    candidates
        .into_iter()
        .filter(|c| *c != unknown)
        .map(|c| (distance(unknown, c), c))
        .filter(|(d, c)| *d <= unknown.len().max(c.len()) / 3 || c.eq_ignore_ascii_case(unknown))
        .min()
        .map(|(_, c)| format!("did you mean `{c}`?"))
}

/// The names as a list for a help line, or nothing if there are none.
pub fn list<'a>(what: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let names: Vec<String> = names.into_iter().map(|n| format!("`{n}`")).collect();
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}

/// Suggests the closest name if one is close enough, else lists all names.
pub fn suggest_or_list<'a>(
    unknown: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    suggest(unknown, candidates.clone()).or_else(|| list(what, candidates))
}

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
/// Only the first 64 bytes of longer names are compared, so that the cost stays bounded.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (&a.as_bytes()[..a.len().min(64)], &b.as_bytes()[..b.len().min(64)]);
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            rows[i][j] = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
            }
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(suggest("serach", ["search", "insert"]), Some("did you mean `search`?".into()));
        assert_eq!(suggest("PORT", ["port"]), Some("did you mean `port`?".into()));
        assert_eq!(suggest("x", ["y", "z"]), None);
        assert_eq!(suggest("route", ["checksum"]), None);
    }

    #[test]
    fn a_swap_of_neighbours_counts_once() {
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
