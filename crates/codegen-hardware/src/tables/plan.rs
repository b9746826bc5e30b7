//! Plans the contents of blocks and trees for the prefixes below one entry of the first level,
//! independently of their addresses.

use super::shape::{KEY_BITS, Key, Shape, bits};

/// A prefix and the number of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// Left-aligned.
    pub(super) key: Key,
    pub(super) length: u32,
    pub(super) value: u32,
}

/// The contents of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Leaf(u32),
    /// A block of the next level.
    Block(Block),
    /// A tree of ranges.
    Tail(Ranges),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The index of the level.
    pub(super) level: usize,
    /// The leading bits that all keys that reach this block have in common.
    pub(super) covers: Key,
    pub(super) cells: Vec<Cell>,
}

/// Ranges of the key bits after the bits that the trie covers: the beginning of each range and the
/// number of its value. The first range begins at 0, and neighbours have different values.
pub(super) type Ranges = Vec<(u64, u32)>;

/// Plans the entry of the first level for keys with the leading bits `covers`.
///
/// `routes` are the prefixes below it that are longer than the first level's stride, sorted by
/// their bits, then by length. `inherited` is the value of the longest prefix that is not longer.
pub(super) fn plan(shape: &Shape, routes: &[Route], covers: Key, inherited: u32) -> Cell {
    cell(shape, routes, shape.root_bits(), covers, inherited, 1)
}

/// Plans the entry that leads to `level`, for prefixes longer than `at` bits.
fn cell(
    shape: &Shape,
    routes: &[Route],
    at: u32,
    covers: Key,
    inherited: u32,
    level: usize,
) -> Cell {
    if routes.is_empty() {
        return Cell::Leaf(inherited);
    }
    let Some(stride) = shape.levels.get(level).map(|level| level.stride) else {
        return Cell::Tail(ranges(routes, at, inherited));
    };
    let end = at + stride;
    // Prefixes that end in this block are expanded to entries; longer ones overwrite shorter ones.
    let mut values = vec![inherited; 1 << stride];
    let mut ending: Vec<&Route> = routes.iter().filter(|route| route.length <= end).collect();
    ending.sort_by_key(|route| route.length);
    for route in ending {
        let first = bits(route.key, at, stride) as usize;
        values[first..][..1 << (end - route.length)].fill(route.value);
    }
    let mut rest = routes;
    let cells = values.into_iter().enumerate().map(|(index, value)| {
        let count =
            rest.iter().take_while(|route| bits(route.key, at, stride) as usize == index).count();
        let (own, behind) = rest.split_at(count);
        rest = behind;
        // The prefixes in `own` share all bits up to `end`, so the ones that end here come first.
        let short = own.iter().take_while(|route| route.length <= end).count();
        cell(
            shape,
            &own[short..],
            end,
            covers | Key::from(index as u64) << (KEY_BITS - end),
            value,
            level + 1,
        )
    });
    Cell::Block(Block { level, covers, cells: cells.collect() })
}

/// Returns the ranges into which prefixes longer than `at` bits divide the remaining bits. The
/// prefixes agree in the first `at` bits.
fn ranges(routes: &[Route], at: u32, inherited: u32) -> Ranges {
    let begin = |route: &Route| (route.key << at >> (KEY_BITS - 64)).as_u64();
    let end = |route: &Route| {
        begin(route).checked_add(u64::MAX.checked_shr(route.length - at).map_or(1, |x| x + 1))
    };
    let mut ranges = Ranges::new();
    let mut note = |from: u64, value: u32| {
        // If several ranges begin at the same position, the last one counts. Neighbours with equal
        // values merge.
        while ranges.last().is_some_and(|&(last, _)| last == from) {
            ranges.pop();
        }
        if ranges.last().is_none_or(|&(_, last)| last != value) {
            ranges.push((from, value));
        }
    };
    note(0, inherited);
    // The prefixes that contain the current position, outermost first.
    let mut open: Vec<&Route> = Vec::new();
    let close = |open: &mut Vec<&Route>, until: Option<u64>, note: &mut dyn FnMut(u64, u32)| {
        while let Some(last) = open.last() {
            let ended = end(last);
            match (ended, until) {
                (None, _) => break,
                (Some(ended), Some(until)) if ended > until => break,
                (Some(ended), _) => {
                    open.pop();
                    note(ended, open.last().map_or(inherited, |outer| outer.value));
                }
            }
        }
    };
    for route in routes {
        close(&mut open, Some(begin(route)), &mut note);
        note(begin(route), route.value);
        open.push(route);
    }
    close(&mut open, None, &mut note);
    ranges
}

/// A node of a tree of ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The index of the level; the root has level 0.
    pub(super) level: u32,
    /// Up to four parts: the beginning and the contents of each.
    pub(super) parts: Vec<(u64, Part)>,
}

/// A part of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Leaf(u32),
    Node(Node),
}

/// Returns the tree of at least two ranges.
pub(super) fn tree(ranges: &[(u64, u32)], level: u32) -> Node {
    // The number of ranges in a part: as many as the remaining levels of a tree of minimum depth
    // can hold.
    let mut share = 1;
    while share * 4 < ranges.len() {
        share *= 4;
    }
    let parts = ranges.chunks(share).map(|part| match part {
        [(from, value)] => (*from, Part::Leaf(*value)),
        _ => (part[0].0, Part::Node(tree(part, level + 1))),
    });
    Node { level, parts: parts.collect() }
}

/// Returns the number of levels of a tree of `ranges` ranges.
pub(super) fn tree_levels(ranges: usize) -> u32 {
    (1..).find(|&levels| 4usize.pow(levels) >= ranges).expect("some power of four is large enough")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(key: u64, length: u32, value: u32) -> Route {
        Route { key: Key::from(key) << 128, length: 64 + length, value }
    }

    #[test]
    fn nested_prefixes_divide_into_ranges() {
        let top = 1 << 63;
        let cases: [(&[Route], Ranges); 5] = [
            (&[route(5, 64, 1)], vec![(0, 9), (5, 1), (6, 9)]),
            (&[route(u64::MAX, 64, 1)], vec![(0, 9), (u64::MAX, 1)]),
            (&[route(0, 1, 1), route(0, 64, 2), route(1, 64, 2)], vec![(0, 2), (2, 1), (top, 9)]),
            (
                &[route(top, 1, 1), route(top, 2, 9), route(top, 64, 1)],
                vec![(0, 9), (top, 1), (top + 1, 9), (3 << 62, 1)],
            ),
            (
                &[route(8, 61, 1), route(12, 62, 2), route(14, 63, 3)],
                vec![(0, 9), (8, 1), (12, 2), (14, 3), (16, 9)],
            ),
        ];
        for (routes, expected) in cases {
            assert_eq!(ranges(routes, 64, 9), expected, "{routes:?}");
        }
    }

    #[test]
    fn trees_are_as_flat_as_can_be() {
        fn depth(node: &Node) -> u32 {
            let below = node.parts.iter().filter_map(|(_, part)| match part {
                Part::Leaf(_) => None,
                Part::Node(node) => Some(depth(node)),
            });
            1 + below.max().unwrap_or(0)
        }
        for (count, levels) in [(2, 1), (4, 1), (5, 2), (16, 2), (17, 3), (64, 3), (1024, 5)] {
            let ranges: Ranges = (0..count).map(|i| (i * 10, i as u32)).collect();
            let tree = tree(&ranges, 0);
            assert_eq!(
                (depth(&tree), tree_levels(ranges.len())),
                (levels, levels),
                "{count} ranges"
            );
            assert!(tree.parts.len() <= 4 && tree.parts[0].0 == 0);
        }
    }
}
