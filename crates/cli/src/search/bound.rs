//! What no machine of a shape can exceed: enough threads, slots and ports must be there for what a packet asks for.

use wireloom_rtl::machine::Machine;

use super::{Shape, Wanted};
use crate::failure::Outcome;
use crate::progress::Working;
use crate::rig::{Demand, Rig};

/// What a machine cannot exceed, in million packets a second, whichever the traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// By threads and slots, of which larger machines have more.
    pub engines: f64,
    /// By lanes, and services that there is one of in a pipe.
    pub lanes: f64,
}

impl Limits {
    /// The lower one.
    pub fn mpps(self) -> f64 {
        self.engines.min(self.lanes)
    }
}

/// What packets of each traffic ask for.
pub struct Bound {
    demands: Vec<Demand>,
}

impl Bound {
    /// Measures it on a machine of one thread, where nothing waits for anything else.
    pub(super) fn measure(wanted: &Wanted<'_>) -> Outcome<Self> {
        let machine = Shape { clusters: 1, engines: 1, threads: 1 }.of(wanted.like)?;
        let _working = Working::on(format!("simulating {}", machine.name));
        let mut rig = Rig::new(&machine, wanted.loaded)?;
        let demands = wanted.traffic.iter().map(|packets| rig.demand(packets)).collect::<Outcome<_>>()?;
        Ok(Self { demands })
    }

    /// What a machine of this shape cannot exceed.
    pub fn limits(&self, shape: Shape, machine: &Machine) -> Limits {
        let (engines, lanes) = ((shape.clusters * shape.engines) as f64, machine.lanes() as f64);
        let by_engines = |demand: &Demand| {
            let threads = engines * shape.threads as f64 / demand.residency;
            threads.min(engines / demand.slots)
        };
        // A service of a pipe takes one request a cycle.
        let by_lanes = |demand: &Demand| (lanes / demand.requests).min(lanes);
        let least = |of: &dyn Fn(&Demand) -> f64| {
            let all = self.demands.iter().map(of);
            all.fold(f64::INFINITY, f64::min) * f64::from(machine.clock.core_mhz)
        };
        Limits { engines: least(&by_engines), lanes: least(&by_lanes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_thing_decides() {
        let bound = |demands: &[Demand], clusters, engines, threads| {
            let shape = Shape { clusters, engines, threads };
            let like = Machine::find("np").expect("a machine");
            let machine = like.shaped(clusters, engines, threads).expect("a machine");
            let limits = Bound { demands: demands.to_vec() }.limits(shape, &machine);
            (limits.mpps() * 1000.0).round() / 1000.0
        };
        let demand = Demand { residency: 100.0, slots: 8.0, requests: 1.0 };
        // 4 engines of 2 threads: 8 threads, each with a packet for 100 cycles.
        assert_eq!(bound(&[demand], 2, 2, 2), 8.0);
        // 4 engines of 32 threads: 4 slots a cycle for 8 of each packet.
        assert_eq!(bound(&[demand], 2, 2, 32), 50.0);
        // So many that the lane is full; two lanes.
        assert_eq!(bound(&[demand], 8, 8, 8), 100.0);
        assert_eq!(bound(&[demand], 16, 8, 8), 200.0);
        // A table that is asked twice.
        let twice = Demand { requests: 2.0, ..demand };
        assert_eq!(bound(&[demand, twice], 8, 8, 8), 50.0);
    }
}
