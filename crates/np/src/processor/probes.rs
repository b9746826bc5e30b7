//! The probes of a processor's clusters and pipes, and the names of their bits in reports.

use super::plan::{Plan, Service};
use super::probe_port::{Part, ProbePort};
use crate::description::Place;
use crate::simulation::Probe;

/// The kind of the probes that count the use of engines.
pub const RUNS: &str = "engine runs a step";

/// Returns the probes of a cluster.
pub(super) fn of_cluster(plan: &Plan) -> Vec<ProbePort> {
    let machine = &plan.machine;
    let port = |name: &str, width, part, doc, kind: &str| ProbePort {
        name: format!("{name}_o"),
        width,
        doc,
        kind: kind.to_owned(),
        part,
    };
    let mut ports = vec![
        port("slots", machine.engines, Part::Engine, "Statistics: this engine runs a step.", RUNS),
        port(
            "waits",
            machine.engines,
            Part::Engine,
            "This engine runs none, but waits for replies.",
            "engine waits for replies",
        ),
    ];
    // The places of a pipeline are not threads.
    if !plan.is_pipelined() {
        let threads = machine.engines * machine.threads;
        let doc = "In simulation: this thread has a packet.";
        ports.push(port("threads", threads, Part::Thread, doc, "thread has a packet"));
    }
    for service in &plan.services {
        let s = &service.name;
        ports.extend(service.rule.realisation.cluster_probes(service));
        if is_in_cluster(service) {
            ports.push(used(s, Part::Cluster));
        }
    }
    ports
}

/// Returns the probes of a pipe, without the probes of its clusters.
fn of_pipe(plan: &Plan) -> Vec<ProbePort> {
    let single = |name: &str, doc, kind: &str| ProbePort {
        name: format!("{name}_o"),
        width: 1,
        doc,
        kind: kind.to_owned(),
        part: Part::Pipe,
    };
    let mut ports = vec![
        single("malformed", "A packet came with holes.", "malformed packet"),
        single("oversize", "A packet was too long and is cut.", "packet cut"),
    ];
    ports.extend(plan.services.iter().filter(|s| s.leaves_cluster()).map(|s| {
        match plan.ways(s).len() {
            1 => used(&s.name, Part::Pipe),
            ways => ProbePort { width: ways, ..used(&s.name, Part::Slot) },
        }
    }));
    ports.extend(plan.channels.iter().map(|channel| ProbePort {
        name: format!("{}_reads_o", channel.name),
        width: channel.slots,
        doc: "A word is read.",
        kind: format!("memory reads of {}", channel.name),
        part: if channel.slots > 1 { Part::Slot } else { Part::Pipe },
    }));
    ports
}

/// Returns all probes of a pipe, including the probes of its clusters.
pub(super) fn of_whole_pipe(plan: &Plan) -> Vec<ProbePort> {
    let clusters = plan.machine.clusters_a_pipe();
    let mut ports = of_cluster(plan);
    ports.iter_mut().for_each(|port| port.width *= clusters);
    ports.extend(of_pipe(plan));
    ports
}

/// Returns whether a service is placed in the cluster and replies there.
pub(super) fn is_in_cluster(service: &Service) -> bool {
    service.rule.place == Place::Cluster
}

fn used(service: &str, part: Part) -> ProbePort {
    ProbePort {
        name: format!("{service}_used_o"),
        width: 1,
        doc: "A request is taken.",
        kind: format!("requests to {service}"),
        part,
    }
}

/// Returns the meaning of the bits of `probe_o`.
pub(super) fn names(plan: &Plan) -> Vec<Probe> {
    let machine = &plan.machine;
    let mut probes = Vec::new();
    for lane in 0..machine.lanes() {
        for port in of_whole_pipe(plan) {
            for index in 0..port.width {
                let (threads, engines) = (machine.threads, machine.engines);
                let engine = |index| {
                    format!("pipe{lane}.cluster{}.engine{}", index / engines, index % engines)
                };
                let name = match port.part {
                    Part::Engine => engine(index),
                    Part::Thread => {
                        format!("{}.thread{}", engine(index / threads), index % threads)
                    }
                    Part::Cluster => format!("pipe{lane}.cluster{index}"),
                    Part::Pipe => format!("pipe{lane}"),
                    Part::Slot => format!("pipe{lane}.slot{index}"),
                };
                probes.push(Probe { name, kind: port.kind.clone(), bits: 1, most: 1 });
            }
        }
        probes.push(Probe {
            name: format!("pipe{lane}"),
            kind: "input waits".into(),
            bits: 1,
            most: 1,
        });
    }
    probes
}
