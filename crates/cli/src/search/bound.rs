//! What no machine of a shape can exceed: enough threads, slots and ports must be there for what a packet asks for.

use wireloom_rtl::machine::Machine;

use super::{Shape, Wanted};
use crate::failure::Outcome;
use crate::progress::Working;
use crate::rig::{Demand, Rig};

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

    /// Million packets a second that a machine of this shape cannot exceed, whichever the traffic.
    pub fn mpps(&self, shape: Shape, machine: &Machine) -> f64 {
        let (engines, lanes) = ((shape.clusters * shape.engines) as f64, machine.lanes() as f64);
        let of = |demand: &Demand| {
            let threads = engines * shape.threads as f64 / demand.residency;
            let slots = engines / demand.slots;
            // A service of a pipe takes one request a cycle.
            let requests = lanes / demand.requests;
            threads.min(slots).min(requests).min(lanes)
        };
        let least = self.demands.iter().map(of).fold(f64::INFINITY, f64::min);
        least * f64::from(machine.clock.core_mhz)
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
            (Bound { demands: demands.to_vec() }.mpps(shape, &machine) * 1000.0).round() / 1000.0
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
