//! Ways to a service of a pipe. A table that takes several requests in a cycle has a way for each
//! request: a request tree of some of the clusters, and a path back to them.

use super::plan::{Plan, Service};
use super::wires::bits;

/// A way to a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    pub number: usize,
    /// The prefix of the names of its nets: the name of the service if there is only one way.
    pub prefix: String,
    /// The first cluster of the way.
    pub first: usize,
    /// The number of clusters of the way.
    pub clusters: usize,
    /// Bits of a request's tag at the end of the tree: cluster, engine and thread.
    pub tag_bits: usize,
}

impl Plan {
    /// Returns the ways to a service of a pipe: one, or several that share the clusters evenly.
    pub fn ways(&self, service: &Service) -> Vec<Way> {
        let clusters = self.machine.clusters_a_pipe();
        let ways = service.rule.requests.min(clusters);
        let way = |number: usize| {
            let (first, end) = (clusters * number / ways, clusters * (number + 1) / ways);
            let name = &service.name;
            Way {
                number,
                prefix: if ways == 1 { name.clone() } else { format!("{name}_way{number}") },
                first,
                clusters: end - first,
                tag_bits: bits(end - first) as usize + self.cluster_tag_bits(),
            }
        };
        (0..ways).map(way).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::description::NpSpec;
    use crate::processor;

    #[test]
    fn each_cluster_has_one_way_to_a_table() {
        let source = "engine e() { offload labels : array<u16, size = 1000000>;
             step only { packet.egress = labels.read(packet.length); finish; } }";
        let checked =
            wireloom_lang::check_source("e.loom", source, &wireloom_lang::Options::default());
        let program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
        let ways = |clusters: usize, requests: usize| {
            let text = format!(
                "extends = \"np\"\nclusters = {clusters}\n[offload.labels]\nrequests = {requests}"
            );
            let machine = NpSpec::parse("mine", &text).expect("a machine");
            let plan = processor::assemble(&program, &machine).expect("a processor").plan;
            let ways = plan.ways(&plan.services[0]);
            ways.iter().map(|way| (way.prefix.clone(), way.first, way.clusters)).collect::<Vec<_>>()
        };
        let way = |prefix: &str, first, clusters| (prefix.to_owned(), first, clusters);
        assert_eq!(ways(7, 1), [way("labels", 0, 7)]);
        assert_eq!(
            ways(7, 3),
            [way("labels_way0", 0, 2), way("labels_way1", 2, 2), way("labels_way2", 4, 3)]
        );
        assert_eq!(ways(1, 3), [way("labels", 0, 1)]);
    }
}
