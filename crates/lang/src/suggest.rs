//! Spelling suggestions: the known name that is closest to an unknown name.

/// Returns `did you mean ...?` if a candidate is close enough: at most a third of the letters of
/// the longer name differ, but not all letters of a short name. Names that differ only in case are
/// always close. The order of the candidates does not matter.
pub fn suggest<'a>(unknown: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    candidates
        .into_iter()
        .filter(|c| *c != unknown)
        .filter_map(|c| {
            let most = unknown.len().max(c.len()) / 3;
            let close = if unknown.len().abs_diff(c.len()) <= most
                && least_distance(letters(unknown), letters(c)) <= most
            {
                Some(distance(unknown, c)).filter(|d| *d <= most)
            } else {
                None
            };
            let cased = || c.eq_ignore_ascii_case(unknown).then(|| distance(unknown, c));
            close.or_else(cased).map(|d| (d, c))
        })
        .min()
        .map(|(_, c)| format!("did you mean `{c}`?"))
}

/// Lists the names for a help line; returns `None` if there are no names.
pub fn list<'a>(what: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let names: Vec<String> = names.into_iter().map(|n| format!("`{n}`")).collect();
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}

/// Suggests the closest name if it is close enough, else lists all names.
pub fn suggest_or_list<'a>(
    unknown: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    suggest(unknown, candidates.clone()).or_else(|| list(what, candidates))
}

/// The number of bytes of a name that are compared. It bounds the cost.
const COMPARED: usize = 64;

/// Returns the set of bytes that occur in a name. Several bytes share a bit of the result.
fn letters(name: &str) -> u64 {
    name.bytes().take(COMPARED).fold(0, |letters, byte| letters | 1 << (byte % 64))
}

/// Returns a lower bound of the distance of two names with these sets of bytes: an edit adds at
/// most one byte that the other name lacks. The bound avoids the complete comparison for most
/// names.
fn least_distance(a: u64, b: u64) -> usize {
    (a & !b).count_ones().max((b & !a).count_ones()) as usize
}

/// Computes the optimal string alignment distance: the number of insertions, deletions,
/// replacements and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (&a.as_bytes()[..a.len().min(COMPARED)], &b.as_bytes()[..b.len().min(COMPARED)]);
    // Three rows are used in turn: the current row, the last one and the one before it.
    let mut rows = [[0u8; COMPARED + 1]; 3];
    for (j, cost) in rows[0][..=b.len()].iter_mut().enumerate() {
        *cost = j as u8;
    }
    for i in 1..=a.len() {
        let (row, last, before) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        rows[row][0] = i as u8;
        for j in 1..=b.len() {
            let replace = rows[last][j - 1] + u8::from(a[i - 1] != b[j - 1]);
            let mut cost = replace.min(rows[last][j] + 1).min(rows[row][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(rows[before][j - 2] + 1);
            }
            rows[row][j] = cost;
        }
    }
    usize::from(rows[a.len() % 3][b.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        assert_eq!(suggest("serach", ["search", "insert"]), Some("did you mean `search`?".into()));
        assert_eq!(suggest("PORT", ["port"]), Some("did you mean `port`?".into()));
        assert_eq!(suggest("x", ["y", "z"]), None);
        assert_eq!(suggest("LIM", ["lims", "lim", "lie"]), Some("did you mean `lim`?".into()));
        assert_eq!(suggest("route", ["routf", "routd"]), Some("did you mean `routd`?".into()));
        assert_eq!(suggest("route", ["checksum"]), None);
    }

    #[test]
    fn a_swap_of_neighbours_counts_once() {
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(least_distance(letters("kitten"), letters("sitting")), 2);
        assert_eq!(least_distance(letters("abab"), letters("baba")), 0);
        assert_eq!(distance(&"ab".repeat(50), &"ba".repeat(50)), 2);
    }
}
