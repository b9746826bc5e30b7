//! Packets of all routers of a chip with their arrival cycles, and the outputs of golden machines
//! with one router each.

use wireloom_compile::share::PORT_BITS;
use wireloom_ir::{Execute, Golden, Output, Verdict};
use wireloom_net::Packet;

use super::lanes::{Evaluator, Lane, interleaved};
use wireloom_machine::Result;

/// Bytes of a beat of a lane.
const BEAT: usize = 64;

/// An output: its packet, its verdict, and its bytes unless it is a drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    pub number: u64,
    verdict: Verdict,
    bytes: Vec<u8>,
}

impl Departure {
    /// Copies an output.
    pub fn of(output: &Output<'_>) -> Self {
        let bytes = match output.verdict {
            Verdict::Dropped(_) => Vec::new(),
            _ => output.bytes.to_vec(),
        };
        Self { number: output.sequence, verdict: output.verdict, bytes }
    }

    /// Returns the output as machines report it, without the place and time of arrival.
    pub fn output(&self) -> Output<'_> {
        Output {
            sequence: self.number,
            arrival_ns: 0,
            ingress: 0,
            verdict: self.verdict,
            bytes: &self.bytes,
        }
    }

    /// Returns the output as it leaves the chip: by a port that includes the router's number.
    fn tagged(self, router: usize) -> Self {
        let verdict = match self.verdict {
            Verdict::Sent { port } => Verdict::Sent { port: port_of(router, port) },
            other => other,
        };
        Self { verdict, ..self }
    }
}

/// Returns the chip's port for a router's own port: the router's number in the upper byte.
fn port_of(router: usize, port: u16) -> u16 {
    port % (1 << PORT_BITS) + ((router as u16) << PORT_BITS)
}

/// A packet with its router and the cycle in which it arrives.
struct Scheduled {
    cycle: u64,
    router: usize,
    packet: Packet,
}

/// Packets of all routers in order of arrival. The number of a packet is its position.
pub struct Schedule {
    scheduled: Vec<Scheduled>,
    lanes: Vec<Lane>,
}

impl Schedule {
    /// Creates packets of all routers of some processors, each router at its own rate. One router
    /// may be overloaded: it sends as long as the others do.
    ///
    /// # Errors
    /// If a router forwards too few packets.
    pub fn new(
        evaluator: &Evaluator<'_>,
        lanes: &[Lane],
        overload: Option<Overload>,
    ) -> Result<Self> {
        let mhz = evaluator.lane_mpps();
        let mut scheduled: Vec<Scheduled> = Vec::new();
        let mut overloaded = None;
        for lane in lanes {
            let (alone, _) = evaluator.loaded(&lane.routers, &lane.protocols)?;
            let all = interleaved(evaluator.traffic(&lane.routers, &lane.protocols, &alone)?);
            for (place, &router) in lane.routers.iter().enumerate() {
                let own: Vec<Packet> = all
                    .iter()
                    .filter(|p| usize::from(p.ingress >> PORT_BITS) == place)
                    .cloned()
                    .collect();
                match &overload {
                    Some(Overload { router: it, .. }) if *it == router => overloaded = Some(own),
                    _ => scheduled.extend(paced(
                        router,
                        own.into_iter(),
                        mhz / evaluator.rate(router),
                        mhz,
                        u64::MAX,
                    )),
                }
            }
        }
        if let (Some(own), Some(Overload { router, mpps })) = (overloaded, overload) {
            let end =
                scheduled.iter().map(|scheduled| scheduled.cycle).max().unwrap_or(own.len() as u64);
            scheduled.extend(paced(router, own.into_iter().cycle(), mhz / mpps, mhz, end));
        }
        // The sort is stable, so packets of one router keep their order.
        scheduled.sort_by_key(|scheduled| scheduled.cycle);
        Ok(Self { scheduled, lanes: lanes.to_vec() })
    }

    /// Keeps only the first packets.
    pub fn truncate(&mut self, packets: usize) {
        self.scheduled.truncate(packets);
    }

    /// Returns the packets. The upper byte of a packet's port is the router's number.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.scheduled.iter().map(|scheduled| &scheduled.packet)
    }

    /// Returns the packets with their arrival cycles.
    pub fn arrivals(&self) -> impl Iterator<Item = (u64, &Packet)> {
        self.scheduled.iter().map(|scheduled| (scheduled.cycle, &scheduled.packet))
    }

    /// Returns the router of a packet.
    pub fn router(&self, number: u64) -> Option<usize> {
        self.scheduled.get(number as usize).map(|scheduled| scheduled.router)
    }

    /// Returns the number of packets of a router.
    pub fn count(&self, router: usize) -> usize {
        self.scheduled.iter().filter(|scheduled| scheduled.router == router).count()
    }

    /// Returns golden's outputs for all packets, in the order of the packets. The packets of each
    /// router run alone, with the program of its group.
    ///
    /// # Errors
    /// If a table is refused.
    pub fn expected(&self, evaluator: &Evaluator<'_>) -> Result<Vec<Departure>> {
        let mut expected = Vec::new();
        for lane in &self.lanes {
            let (alone, _) = evaluator.loaded(&lane.routers, &lane.protocols)?;
            for &router in &lane.routers {
                let mut numbers = Vec::new();
                let mut own = Vec::new();
                for (number, scheduled) in self.scheduled.iter().enumerate() {
                    if scheduled.router == router {
                        numbers.push(number as u64);
                        let ingress = scheduled.packet.ingress % (1 << PORT_BITS);
                        own.push(Packet { ingress, ..scheduled.packet.clone() });
                    }
                }
                let mut golden =
                    Golden::new(alone.optimised.clone(), evaluator.store(&alone, router)?);
                golden.execute(&own, &mut |output| {
                    let number = numbers[output.sequence as usize];
                    expected.push(Departure { number, ..Departure::of(&output) }.tagged(router));
                });
            }
        }
        expected.sort_by_key(|left| left.number);
        Ok(expected)
    }
}

/// A router that sends more than its rate.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    pub router: usize,
    /// The rate at which it sends, in million packets of 64 bytes a second.
    pub mpps: f64,
}

/// Returns packets of a router until a cycle: one beat of 64 bytes at a fixed interval of cycles.
fn paced(
    router: usize,
    packets: impl Iterator<Item = Packet>,
    cycles: f64,
    mhz: f64,
    end: u64,
) -> impl Iterator<Item = Scheduled> {
    let mut at = 0.0;
    let scheduled = packets.map(move |packet| {
        let cycle = at as u64;
        at += packet.bytes.len().div_ceil(BEAT).max(1) as f64 * cycles;
        let arrival_ns = (cycle as f64 * 1000.0 / mhz) as u64;
        let ingress = port_of(router, packet.ingress);
        Scheduled { cycle, router, packet: Packet { ingress, arrival_ns, ..packet } }
    });
    scheduled.take_while(move |scheduled| scheduled.cycle <= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_at_their_routers_rate_and_carry_its_number() {
        let packet = |ingress, length| Packet { ingress, arrival_ns: 0, bytes: vec![0; length] };
        let packets =
            [packet(0x0105, 64), packet(0x0106, 65), packet(0x0107, 64), packet(0x0108, 64)];
        let scheduled: Vec<_> = paced(3, packets.into_iter(), 4.0, 100.0, 12)
            .map(|scheduled| {
                (scheduled.cycle, scheduled.packet.ingress, scheduled.packet.arrival_ns)
            })
            .collect();
        assert_eq!(scheduled, [(0, 0x0305, 0), (4, 0x0306, 40), (12, 0x0307, 120)]);
    }

    #[test]
    fn what_a_router_sends_carries_its_number() {
        let left = |port| Departure { number: 0, verdict: Verdict::Sent { port }, bytes: vec![9] };
        assert_eq!(left(0x0103).tagged(2), left(0x0203));
    }
}
