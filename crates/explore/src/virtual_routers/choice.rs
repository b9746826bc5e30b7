//! The choice of virtual routers that share a processor (the Gorilla paper, section 5).

use std::collections::BTreeMap;

use serde::Serialize;

use super::description::Protocols;

/// The assignment of virtual routers to processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A processor for each router
    Isolated,
    /// One processor for all routers, with all protocols
    Merged,
    /// The paper's heuristic: routers with a common protocol share a processor if that saves area
    Consolidated,
}

impl Method {
    pub const ALL: [Self; 3] = [Self::Isolated, Self::Merged, Self::Consolidated];

    pub fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Merged => "merged",
            Self::Consolidated => "consolidated",
        }
    }
}

/// Divides routers into groups that share a processor, by protocols alone. `area` returns the area
/// of a group of routers; it is called once for each group.
///
/// Consolidation: routers with the same protocols form one group if that is smaller than separate
/// processors. Then, repeatedly, two groups with a common protocol are merged: the pair that saves
/// most area, or costs least. This ends when no two groups have a common protocol. The result is
/// the smallest division on this path. (Stopping when no pair saves area would miss three groups
/// that save only together.)
///
/// # Errors
/// If `area` fails.
pub fn choose<E>(
    method: Method,
    protocols: &[Protocols],
    area: impl FnMut(&[usize]) -> Result<u64, E>,
) -> Result<Vec<Vec<usize>>, E> {
    let all: Vec<usize> = (0..protocols.len()).collect();
    let alone = |group: &[usize]| group.iter().map(|&router| vec![router]).collect::<Vec<_>>();
    match method {
        Method::Isolated => return Ok(alone(&all)),
        Method::Merged => return Ok(vec![all]),
        Method::Consolidated => {}
    }
    let mut areas = Areas { area, known: BTreeMap::new() };
    let mut classes: BTreeMap<&Protocols, Vec<usize>> = BTreeMap::new();
    for &router in &all {
        classes.entry(&protocols[router]).or_default().push(router);
    }
    let mut groups = Vec::new();
    for class in classes.into_values() {
        let mut parts = 0;
        for router in &class {
            parts += areas.of(&[*router])?;
        }
        if class.len() > 1 && areas.of(&class)? < parts {
            groups.push(class);
        } else {
            groups.extend(alone(&class));
        }
    }
    let of = |group: &[usize]| {
        group.iter().fold(Protocols::default(), |sum, &router| sum.with(&protocols[router]))
    };
    let mut total = 0;
    for group in &groups {
        total += areas.of(group)?;
    }
    let mut smallest = (total, groups.clone());
    loop {
        // The growth of the area, and the groups to merge.
        let mut best: Option<(i64, usize, usize)> = None;
        for one in 0..groups.len() {
            for other in one + 1..groups.len() {
                if !of(&groups[one]).meets(&of(&groups[other])) {
                    continue;
                }
                let apart = areas.of(&groups[one])? + areas.of(&groups[other])?;
                let growth = areas.of(&joined(&groups[one], &groups[other]))?.cast_signed()
                    - apart.cast_signed();
                if best.is_none_or(|(least, ..)| growth < least) {
                    best = Some((growth, one, other));
                }
            }
        }
        let Some((growth, one, other)) = best else { break };
        let second = groups.remove(other);
        groups[one] = joined(&groups[one], &second);
        total = total.saturating_add_signed(growth);
        if total < smallest.0 {
            smallest = (total, groups.clone());
        }
    }
    let (_, mut groups) = smallest;
    groups.sort();
    Ok(groups)
}

/// Returns the union of two groups, sorted.
fn joined(one: &[usize], other: &[usize]) -> Vec<usize> {
    let mut group = [one, other].concat();
    group.sort_unstable();
    group
}

/// A cache of the areas of groups.
struct Areas<F> {
    area: F,
    known: BTreeMap<Vec<usize>, u64>,
}

impl<E, F: FnMut(&[usize]) -> Result<u64, E>> Areas<F> {
    fn of(&mut self, group: &[usize]) -> Result<u64, E> {
        if let Some(known) = self.known.get(group) {
            return Ok(*known);
        }
        let area = (self.area)(group)?;
        self.known.insert(group.to_vec(), area);
        Ok(area)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::super::description::Protocol::{self, Ipv4, Ipv6, Mpls};
    use super::*;

    fn protocols(lists: &[&[Protocol]]) -> Vec<Protocols> {
        lists.iter().map(|list| list.iter().copied().collect()).collect()
    }

    /// Returns the groups if the area of a group is `base`, plus for each router a cost for each
    /// protocol of the group.
    fn chosen(
        method: Method,
        routers: &[&[Protocol]],
        base: u64,
        cost: impl Fn(Protocol) -> u64,
    ) -> Vec<Vec<usize>> {
        let routers = protocols(routers);
        let area = |group: &[usize]| {
            let all =
                group.iter().fold(Protocols::default(), |sum, &router| sum.with(&routers[router]));
            let each: u64 = all.0.iter().map(|&protocol| cost(protocol)).sum();
            Ok::<_, Infallible>(base + group.len() as u64 * each)
        };
        choose(method, &routers, area).expect("nothing fails")
    }

    fn cost(protocol: Protocol) -> u64 {
        match protocol {
            Mpls => 3,
            Ipv4 => 5,
            Ipv6 => 7,
        }
    }

    #[test]
    fn isolated_and_merged_do_not_ask() {
        let routers = protocols(&[&[Ipv4], &[Mpls]]);
        let never = |_: &[usize]| -> Result<u64, Infallible> { panic!("the area does not matter") };
        assert_eq!(choose(Method::Isolated, &routers, never), Ok(vec![vec![0], vec![1]]));
        assert_eq!(choose(Method::Merged, &routers, never), Ok(vec![vec![0, 1]]));
    }

    #[test]
    fn routers_without_a_common_protocol_stay_apart() {
        let groups =
            chosen(Method::Consolidated, &[&[Ipv4], &[Mpls], &[Ipv4], &[Mpls]], 1000, cost);
        assert_eq!(groups, [vec![0, 2], vec![1, 3]]);
    }

    #[test]
    fn a_router_with_both_brings_groups_together_where_the_base_is_dear() {
        let routers: &[&[Protocol]] = &[&[Mpls], &[Mpls], &[Ipv4], &[Mpls, Ipv4]];
        assert_eq!(chosen(Method::Consolidated, routers, 1000, cost), [vec![0, 1, 2, 3]]);
        // Protocols that a router does not need cost more than a processor, so the many MPLS
        // routers keep their own processor.
        assert_eq!(chosen(Method::Consolidated, routers, 9, cost), [vec![0, 1], vec![2, 3]]);
    }

    #[test]
    fn what_saves_only_together_is_found() {
        let routers = protocols(&[&[Mpls], &[Ipv4], &[Mpls, Ipv4]]);
        let groups = |all: u64| {
            let area = |group: &[usize]| Ok::<_, Infallible>([0, 100, 210, all][group.len()]);
            choose(Method::Consolidated, &routers, area)
        };
        assert_eq!(groups(290), Ok(vec![vec![0, 1, 2]]));
        assert_eq!(groups(300), Ok(vec![vec![0], vec![1], vec![2]]));
    }

    #[test]
    fn what_is_no_smaller_is_not_merged() {
        assert_eq!(
            chosen(Method::Consolidated, &[&[Ipv6], &[Ipv6], &[Ipv6]], 0, cost),
            [[0], [1], [2]]
        );
    }

    #[test]
    fn each_group_is_asked_for_once_and_failures_end_it() {
        let routers = protocols(&[&[Ipv4], &[Ipv4], &[Ipv4, Mpls]]);
        let mut asked = Vec::new();
        let groups = choose(Method::Consolidated, &routers, |group| {
            asked.push(group.to_vec());
            Ok::<_, Infallible>(100)
        });
        assert_eq!(groups, Ok(vec![vec![0, 1, 2]]));
        let total = asked.len();
        asked.sort();
        asked.dedup();
        assert_eq!(asked.len(), total);
        assert_eq!(choose(Method::Consolidated, &routers, |_| Err("no tool")), Err("no tool"));
    }
}
