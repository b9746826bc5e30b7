//! Upper bounds of a machine's rate: threads, slots and ports must suffice for the demands of
//! packets.

use wireloom_np::description::NpSpec;

use super::{MachineShapes, Shape, Wanted};
use crate::rig::{Demand, Rig};
use wireloom_console::Working;
use wireloom_machine::Result;

/// The upper bounds of a machine, in million packets a second, each the minimum over all traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The bound by threads, slots and clusters, which rises with the size of the machine.
    pub engines: f64,
    /// The bound by slots alone. An engine has one slot a cycle, and a packet needs the same slots
    /// on any machine, so no machine exceeds this bound.
    pub slots: f64,
    /// The bound by lanes, and by services of which a pipe has one.
    pub lanes: f64,
}

impl Limits {
    /// Returns the lower bound of engines and lanes.
    pub fn mpps(self) -> f64 {
        self.engines.min(self.lanes)
    }
}

/// The demands of packets of each traffic.
pub struct Bound {
    demands: Vec<Demand>,
    /// Packets a cycle that the largest cluster accepts.
    cluster: f64,
}

impl Bound {
    /// Measures the demands on two machines: one with a single thread, in which nothing waits for
    /// anything else, and one with the largest cluster of the kind's shapes, whose engines may wait
    /// for shared parts.
    pub(super) fn measure(wanted: &Wanted<'_>, kind: &MachineShapes) -> Result<Self> {
        let like = kind.like.with_lanes(1);
        let rig = |engines, threads| -> Result<(Working, Rig)> {
            let machine = Shape { clusters: 1, engines, threads }.of(&like)?;
            Ok((
                Working::on(format!("simulating {}", machine.name)),
                Rig::new(&machine, wanted.loaded)?,
            ))
        };
        let (working, mut least) = rig(1, 1)?;
        let demands =
            wanted.traffic.iter().map(|packets| least.demand(packets)).collect::<Result<_>>()?;
        drop(working);
        let most = |of: fn(&Shape) -> usize| kind.shapes.iter().map(of).max().unwrap_or(1);
        let (_working, mut largest) =
            rig(most(|shape| shape.engines), most(|shape| shape.threads))?;
        let mhz = f64::from(largest.machine().clock.core_mhz);
        let mut cluster = f64::INFINITY;
        for packets in wanted.traffic {
            cluster = cluster.min(largest.offered(packets, mhz)?.mpps / mhz);
        }
        Ok(Self { demands, cluster })
    }

    /// Returns the upper bounds of a machine of this shape.
    pub fn limits(&self, shape: Shape, machine: &NpSpec) -> Limits {
        let (engines, lanes) = ((shape.clusters * shape.engines) as f64, machine.lanes() as f64);
        let by_slots = |demand: &Demand| engines / demand.slots;
        let by_engines = |demand: &Demand| {
            let threads = engines * shape.threads as f64 / demand.residency;
            threads.min(by_slots(demand))
        };
        // A service of a pipe takes one request a cycle.
        let by_lanes = |demand: &Demand| (lanes / demand.requests).min(lanes);
        let least = |of: &dyn Fn(&Demand) -> f64| {
            let all = self.demands.iter().map(of);
            all.fold(f64::INFINITY, f64::min) * f64::from(machine.clock.core_mhz)
        };
        let clusters = shape.clusters as f64 * self.cluster * f64::from(machine.clock.core_mhz);
        Limits {
            engines: least(&by_engines).min(clusters),
            slots: least(&by_slots),
            lanes: least(&by_lanes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_thing_decides() {
        let limits = |demands: &[Demand], clusters, engines, threads| {
            let shape = Shape { clusters, engines, threads };
            let like = NpSpec::find("np").expect("a machine");
            let machine = like.shaped(clusters, engines, threads).expect("a machine");
            Bound { demands: demands.to_vec(), cluster: 0.25 }.limits(shape, &machine)
        };
        let bound = |demands: &[Demand], clusters, engines, threads| {
            (limits(demands, clusters, engines, threads).mpps() * 1000.0).round() / 1000.0
        };
        let demand = Demand { residency: 100.0, slots: 8.0, requests: 1.0 };
        // 4 engines of 2 threads: 8 threads, each with a packet for 100 cycles.
        assert_eq!(bound(&[demand], 2, 2, 2), 8.0);
        // 4 engines of 32 threads: 4 slots a cycle for 8 of each packet.
        assert_eq!(bound(&[demand], 2, 2, 32), 50.0);
        // The slots do not depend on the number of threads.
        assert_eq!(limits(&[demand], 2, 2, 2).slots, 50.0);
        // One cluster with the same engines, which accepts a packet every four cycles.
        assert_eq!(bound(&[demand], 1, 4, 32), 25.0);
        // Enough engines to fill the lane, then two lanes.
        assert_eq!(bound(&[demand], 8, 8, 8), 100.0);
        assert_eq!(bound(&[demand], 16, 8, 8), 200.0);
        // One of the traffics makes two requests a packet to a table.
        let twice = Demand { requests: 2.0, ..demand };
        assert_eq!(bound(&[demand, twice], 8, 8, 8), 50.0);
    }
}
