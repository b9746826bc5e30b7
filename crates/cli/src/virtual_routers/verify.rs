//! Processors of virtual routers, simulated and held to golden: each router's packets leave in their order and as from the program alone with
//! that router's tables.

use std::sync::Arc;

use serde::Serialize;
use wireloom_compile::share::PORT_BITS;
use wireloom_ir::{Execute, Golden, Output, Verdict};
use wireloom_net::Packet;

use super::lanes::{Evaluator, Lane};
use crate::failure::Outcome;
use crate::machine::Np;
use crate::progress::Working;
use crate::simulation::SimulationArgs;

/// What the comparison of a router came to.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// Number of the router in the description.
    pub router: usize,
    /// Packets that it was sent.
    pub packets: usize,
    /// Number of its first packet, from 0, that leaves otherwise than from golden alone.
    pub differs: Option<usize>,
}

/// Something that left: how, and its bytes if it is no drop.
type Left = (Verdict, Vec<u8>);

fn left(output: &Output<'_>) -> Left {
    match output.verdict {
        Verdict::Dropped(_) => (output.verdict, Vec::new()),
        _ => (output.verdict, output.bytes.to_vec()),
    }
}

impl Evaluator<'_> {
    /// Runs packets of all routers of a lane through its processor, as fast as that takes them, and compares each router's with golden.
    ///
    /// # Errors
    /// If a tool is missing or the simulation fails.
    pub fn verify(&self, lane: &Lane) -> Outcome<Vec<Verified>> {
        let (alone, loaded) = self.loaded(&lane.routers, &lane.protocols)?;
        let packets = self.traffic(&lane.routers, &lane.protocols, &alone)?.concat();
        let (program, store) = loaded.into_parts();
        let machine = Arc::new(lane.machine.clone());
        let mut processor = Np::build(&machine, &program, store, &SimulationArgs::default())?;
        let mut got: Vec<Vec<Left>> = vec![Vec::new(); lane.routers.len()];
        let working = Working::on(format!("simulating {}", lane.machine.name));
        let mut keep = |output: Output<'_>| {
            let place = usize::from(output.ingress >> PORT_BITS);
            got[place].push(left(&output));
        };
        processor.execute(&packets, &mut keep)?;
        processor.finish(&mut keep)?;
        drop(working);
        let mut verified = Vec::new();
        for (place, &router) in lane.routers.iter().enumerate() {
            let own: Vec<Packet> = of(&packets, place);
            let mut expected = Vec::new();
            let mut golden = Golden::new(alone.optimised.clone(), self.store(&alone, router)?);
            golden
                .execute(&own, &mut |output| expected.push((output.sequence, tagged(left(&output), place))));
            let differs = first_difference(&expected, &got[place]);
            verified.push(Verified { router, packets: own.len(), differs });
        }
        Ok(verified)
    }
}

/// The packets of a router, with its own ports.
fn of(packets: &[Packet], place: usize) -> Vec<Packet> {
    let own = packets.iter().filter(|packet| usize::from(packet.ingress >> PORT_BITS) == place);
    own.map(|packet| Packet { ingress: packet.ingress % (1 << PORT_BITS), ..packet.clone() }).collect()
}

/// As it leaves the processor: by a port that carries the router's number.
fn tagged((verdict, bytes): Left, place: usize) -> Left {
    match verdict {
        Verdict::Sent { port } => {
            (Verdict::Sent { port: port % (1 << PORT_BITS) + ((place as u16) << PORT_BITS) }, bytes)
        }
        other => (other, bytes),
    }
}

/// The number of the first packet that leaves otherwise than expected.
fn first_difference(expected: &[(u64, Left)], got: &[Left]) -> Option<usize> {
    let different = expected.iter().zip(got).find(|((_, expected), got)| expected != *got);
    match different {
        Some(((number, _), _)) => Some(*number as usize),
        None if expected.len() == got.len() => None,
        None => Some(expected.get(got.len()).map_or(expected.len(), |(number, _)| *number as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_that_differs_is_told() {
        let sent = |port| (Verdict::Sent { port }, vec![1, 2]);
        let expected = [(0, sent(1)), (1, sent(2)), (2, sent(3))];
        assert_eq!(first_difference(&expected, &[sent(1), sent(2), sent(3)]), None);
        assert_eq!(first_difference(&expected, &[sent(1), sent(3), sent(3)]), Some(1));
        assert_eq!(first_difference(&expected, &[sent(1), sent(2)]), Some(2));
        assert_eq!(first_difference(&expected[..1], &[sent(1), sent(2)]), Some(1));
    }

    #[test]
    fn packets_of_a_router_have_its_own_ports_inside_and_its_number_outside() {
        let packet = |ingress| Packet { ingress, ..Packet::default() };
        let ports: Vec<u16> =
            of(&[packet(0x0105), packet(0x0005), packet(0x0107)], 1).iter().map(|p| p.ingress).collect();
        assert_eq!(ports, [5, 7]);
        assert_eq!(
            tagged((Verdict::Sent { port: 3 }, vec![9]), 2),
            (Verdict::Sent { port: 0x0203 }, vec![9])
        );
    }
}
