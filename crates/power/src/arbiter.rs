//! Matrix and round-robin arbiters, modelled after Orion (Wang, Zhu, Peh and Malik, MICRO 2002).

use wireloom_sim::Energy;

use crate::joules;
use crate::process::{Channel, Process, RangeError, within};

/// The widths of the n and p transistors of a two-input gate, in um of the 0.8 um process
/// (assumed).
const GATE_UM: [f64; 2] = [4.0, 8.0];
/// The total width of the gates that a flip-flop switches when it changes, in um (assumed: eight
/// inverters).
const FLIP_FLOP_UM: f64 = 8.0 * 6.0;
/// The distance between the lines of two requesters, in um of the 0.8 um process (assumed).
const PITCH_UM: f64 = 40.0;
/// The total width of the off transistors of a gate, and of a flip-flop, in um (assumed).
const GATE_LEAKS_UM: f64 = 6.0;
const FLIP_FLOP_LEAKS_UM: f64 = 24.0;

/// The arbitration policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Matrix,
    RoundRobin,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arbiter {
    process: Process,
    requesters: u32,
    policy: Policy,
}

impl Arbiter {
    /// Creates a matrix arbiter for 1 to 256 requesters. A flip-flop for each pair of requesters
    /// stores which one has priority.
    ///
    /// # Errors
    /// If the number is out of its range.
    pub fn matrix(process: Process, requesters: u32) -> Result<Self, RangeError> {
        within("requesters", requesters, 1..=256)?;
        Ok(Self { process, requesters, policy: Policy::Matrix })
    }

    /// Creates a round-robin arbiter for 1 to 256 requesters. A token passes from requester to
    /// requester.
    ///
    /// # Errors
    /// If the number is out of its range.
    pub fn round_robin(process: Process, requesters: u32) -> Result<Self, RangeError> {
        within("requesters", requesters, 1..=256)?;
        Ok(Self { process, requesters, policy: Policy::RoundRobin })
    }

    /// The energy of an arbitration among `requests` requests, one of which is granted.
    pub fn grant(&self, requests: u32) -> Energy {
        let process = &self.process;
        let others = f64::from(self.requesters - 1);
        let input: f64 = GATE_UM.iter().map(|um| process.gate(*um)).sum();
        let output = process.drain(GATE_UM[0], Channel::N) + process.drain(GATE_UM[1], Channel::P);
        let wire = process.wire(f64::from(self.requesters) * PITCH_UM * process.scale());
        let flip = process.gate(FLIP_FLOP_UM);
        let (request, grant, flips) = match self.policy {
            // A request drives a gate for each other requester. A grant gives its requester the
            // lowest priority.
            Policy::Matrix => (others * input + wire, others * (input + output) + wire, others),
            // The token moves from one flip-flop to another.
            Policy::RoundRobin => (2.0 * input + output, input + output + wire, 2.0),
        };
        let farads = f64::from(requests) * request + grant + flips * flip;
        joules(process.switch(farads))
    }

    /// The total width of the transistors that leak, in micrometres of this process.
    pub fn leaking_um(&self) -> f64 {
        let count = f64::from(self.requesters);
        let (gates, flip_flops) = match self.policy {
            Policy::Matrix => (count * count, count * (count - 1.0) / 2.0),
            Policy::RoundRobin => (3.0 * count, count),
        };
        (gates * GATE_LEAKS_UM + flip_flops * FLIP_FLOP_LEAKS_UM) * self.process.scale()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process() -> Process {
        Process::new(800, 5000).unwrap()
    }

    #[test]
    fn a_matrix_arbiter_of_two_has_the_energy_of_its_gates() {
        // In fF: a gate is 12 um at 1.56 plus twice 0.4 of wiring; a flip-flop is 48 um.
        let input = 12.0 * 1.56 + 0.8;
        let drain_n = 4.0 * 0.3288 + 8.8 * 0.275 + 4.0 * 0.401;
        let drain_p = 8.0 * 0.8232 + 12.8 * 0.275 + 8.0 * 0.476;
        let wire = 80.0 * 0.275;
        let flip = 48.0 * 1.56 + 0.4;
        let femtojoules = ((input + wire) + (input + drain_n + drain_p) + wire + flip) * 25.0;
        let found = Arbiter::matrix(process(), 2).unwrap().grant(1).as_picojoules() * 1e3;
        assert!((found / femtojoules - 1.0).abs() < 1e-9, "{found} of {femtojoules}");
    }

    #[test]
    fn more_requests_and_more_requesters_cost_more() {
        for arbiter in [Arbiter::matrix, Arbiter::round_robin] {
            let of = |requesters| arbiter(process(), requesters).unwrap();
            assert!(of(8).grant(3) > of(8).grant(1));
            assert!(of(16).grant(1) > of(8).grant(1));
            assert!(of(16).leaking_um() > of(8).leaking_um());
        }
        assert!(Arbiter::matrix(process(), 0).is_err());
    }
}
