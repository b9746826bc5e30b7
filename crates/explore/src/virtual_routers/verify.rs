//! Simulates a chip of virtual routers and compares it with golden. Each router's packets must
//! leave in order, and as from the program alone with that router's tables. No packet may be lost
//! of a router that keeps to its rate.

use serde::Serialize;
use wireloom_files::TemporaryFolder;
use wireloom_np::simulation::{Arrival, Resolved, Settings};

use super::joined::Joined;
use super::lanes::Evaluator;
use super::schedule::{Departure, Overload, Schedule};
use wireloom_console::Working;
use wireloom_machine::{Error, Result};
use wireloom_np::machine;

/// Cycles between two checks of the output.
const CHUNK: u64 = 4096;

/// The result of the comparison of a router.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// Number of the router in the description.
    pub router: usize,
    /// Packets sent to the router.
    pub packets: usize,
    /// Whether the router was sent more than its rate.
    pub overloaded: bool,
    /// Packets that were lost on the chip.
    pub lost: usize,
    /// Number of the first packet of the router, among all sent packets, that leaves otherwise than
    /// from golden. Lost packets are skipped.
    pub differs: Option<u64>,
}

impl Verified {
    /// Returns whether there is no violation.
    pub fn is_fine(&self) -> bool {
        self.differs.is_none() && (self.overloaded || self.lost == 0)
    }
}

impl Evaluator<'_> {
    /// Runs packets of all routers through a chip, each router at its own rate, and compares each
    /// router's outputs with golden. One router may be overloaded: it sends at the full remaining
    /// rate of its lane.
    ///
    /// # Errors
    /// If a tool is missing or the simulation fails.
    pub fn verify(&self, joined: &Joined, overloaded: Option<usize>) -> Result<Vec<Verified>> {
        let routers = self.description().routers.len();
        let lane_of =
            joined.chip.geometry.routers.as_ref().map_or(&[][..], |routers| &routers.lanes);
        let overload = overloaded.map(|router| {
            let others =
                (0..routers).filter(|&other| other != router && lane_of[other] == lane_of[router]);
            Overload {
                router,
                mpps: self.lane_mpps() - others.map(|other| self.rate(other)).sum::<f64>(),
            }
        });
        let schedule = Schedule::new(self, &joined.lanes, overload)?;
        let folder = TemporaryFolder::new()
            .map_err(|error| Error::new(format!("a temporary folder: {error}")))?;
        let settings = Settings { clock_mhz: self.lane_mpps() as u32, ..Settings::default() };
        let working = Working::on("building the chip");
        let mut simulation = machine::simulate(
            &joined.chip.source(),
            &joined.images,
            folder.path(),
            settings,
            &|what| {
                working.now(what);
            },
        )?;
        working.now("simulating the chip");
        for (cycle, packet) in schedule.arrivals() {
            simulation.offer(packet.frame(), Arrival::At(cycle));
        }
        let mut got: Vec<Vec<Departure>> = vec![Vec::new(); routers];
        loop {
            simulation.run(CHUNK)?;
            while let Some(left) = simulation.take() {
                let number = left.number;
                let router = schedule.router(number).expect("the packet was offered");
                let resolved =
                    Resolved { number, ingress: 0, arrival_ns: 0, left: Some(vec![left]) };
                got[router].extend(resolved.outputs().map(|output| Departure::of(&output)));
            }
            let state = simulation.state();
            if state.waiting == 0 && state.inside == 0 {
                break;
            }
            working.now(&format!("simulating the chip: cycle {}", state.now));
        }
        drop(working);
        let mut lost: Vec<Vec<u64>> = vec![Vec::new(); routers];
        while let Some(number) = simulation.take_lost() {
            lost[schedule.router(number).expect("the packet was offered")].push(number);
        }
        let mut expected: Vec<Vec<Departure>> = vec![Vec::new(); routers];
        for left in schedule.expected(self)? {
            expected[schedule.router(left.number).expect("golden was given no others")].push(left);
        }
        let verified = expected.iter_mut().enumerate().map(|(router, expected)| {
            expected.retain(|left| lost[router].binary_search(&left.number).is_err());
            Verified {
                router,
                packets: schedule.count(router),
                overloaded: overloaded == Some(router),
                lost: lost[router].len(),
                differs: first_difference(expected, &got[router]),
            }
        });
        Ok(verified.collect())
    }
}

/// Returns the number of the first packet that leaves otherwise than expected.
fn first_difference(expected: &[Departure], got: &[Departure]) -> Option<u64> {
    let different = expected.iter().zip(got).find(|(expected, got)| expected != got);
    match different {
        Some((expected, _)) => Some(expected.number),
        None if expected.len() == got.len() => None,
        None => expected.get(got.len()).or(got.get(expected.len())).map(|left| left.number),
    }
}

#[cfg(test)]
mod tests {
    use wireloom_ir::{Output, Verdict};

    use super::*;

    #[test]
    fn the_first_packet_that_differs_is_told() {
        let sent = |sequence, port| {
            let verdict = Verdict::Sent { port };
            Departure::of(&Output { sequence, arrival_ns: 0, ingress: 0, verdict, bytes: &[1, 2] })
        };
        let expected = [sent(4, 1), sent(6, 2), sent(9, 3)];
        assert_eq!(first_difference(&expected, &[sent(4, 1), sent(6, 2), sent(9, 3)]), None);
        assert_eq!(first_difference(&expected, &[sent(4, 1), sent(6, 3), sent(9, 3)]), Some(6));
        assert_eq!(first_difference(&expected, &[sent(4, 1), sent(6, 2)]), Some(9));
        assert_eq!(first_difference(&expected[..1], &[sent(4, 1), sent(6, 2)]), Some(6));
    }

    #[test]
    fn only_an_overloaded_router_may_lose_packets() {
        let verified =
            |overloaded, lost| Verified { router: 0, packets: 9, overloaded, lost, differs: None };
        assert!(verified(false, 0).is_fine() && verified(true, 3).is_fine());
        assert!(!verified(false, 1).is_fine());
    }
}
