//! Figures of the RAW router paper: hand-written programs on the chip of 4 x 4 tiles.

pub mod ablations;
mod captures;
pub mod causes;
pub mod cold;
mod cycles;
pub mod engines;
pub mod ipv4;
pub mod layouts;
pub mod load;
pub mod null;
pub mod power;
pub mod queues;
mod rig;
pub mod sizes;
pub mod stages;
mod task_tiles;
pub mod tasks;
pub mod traffic;
pub mod waits;

use wireloom_machine::{Error, Result};
use wireloom_machines::REGISTRY;
use wireloom_raw::asm::{Program, assemble};
use wireloom_raw::board::{Board, Played};
use wireloom_raw::device::LineRate;
use wireloom_raw::dir24::Route;
use wireloom_raw::mapper::MachineSpec;
use wireloom_sim::Rng;

/// The clock of the chip, in MHz (the paper).
const MHZ: u64 = 425;
/// The number of input and of output ports.
const PORTS: usize = 4;
/// The number of source and of destination addresses in a random trace (the paper).
const ADDRESSES: u64 = 128;
/// After this number of quiet cycles, no packet is inside any more.
const INSIDE: u64 = 20_000;
/// The most cycles of a run.
const MOST: u64 = 50_000_000;

/// Finds a machine of tiles by its name.
fn tiled(name: &str) -> Result<MachineSpec> {
    let machine = REGISTRY.find(name)?;
    let spec = machine.downcast_ref::<MachineSpec>();
    spec.cloned().ok_or_else(|| Error::new(format!("machine {name} has no tiles")))
}

/// Assembles a program of this repository.
fn program(name: &str, text: &str) -> Result<Program> {
    assemble(name, text).map_err(|refused| Error::new(refused.render()))
}

/// Plays the packets of a board to their end.
fn play(board: &mut Board) -> Result<Played> {
    board.play(INSIDE, MOST).map_err(Error::new)
}

/// Returns the line rate at which a packet of `bytes` takes this number of cycles.
fn line(bytes: usize, cycles: f64) -> LineRate {
    let clock_hertz = MHZ * 1_000_000;
    let bits_per_second = (8.0 * bytes as f64 * clock_hertz as f64 / cycles).round() as u64;
    LineRate { bits_per_second, clock_hertz }
}

/// Converts packets per cycle to million packets per second.
fn mpps(packets_a_cycle: f64) -> f64 {
    packets_a_cycle * MHZ as f64
}

/// Converts bytes per cycle to gigabits per second.
fn gbps(bytes_a_cycle: f64) -> f64 {
    bytes_a_cycle * 8.0 * MHZ as f64 / 1000.0
}

/// Returns a UDP packet over IPv4, without a link header. The identification is its number.
fn udp(number: u16, source: u32, destination: u32, bytes: usize) -> Vec<u8> {
    let length = bytes as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend(number.to_be_bytes());
    packet.extend([0, 0, 64, 17, 0, 0]);
    packet.extend(source.to_be_bytes());
    packet.extend(destination.to_be_bytes());
    let halves = packet.chunks(2).map(|half| u32::from(half[0]) << 8 | u32::from(half[1]));
    let sum: u32 = halves.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
    packet.extend([0x12, 0x34, 0, 53]);
    packet.extend((length - 20).to_be_bytes());
    packet.extend([0, 0]);
    packet.resize(bytes, 0);
    packet
}

/// A random trace of the paper: UDP packets with 128 source and 128 destination addresses. Every
/// destination has its own route to a random port.
struct Trace {
    /// The packets of each input.
    packets: Vec<Vec<Vec<u8>>>,
    routes: Vec<Route>,
}

impl Trace {
    fn new(seed: u64, packets: usize, bytes: usize) -> Self {
        let mut rng = Rng::new(seed, "raw trace");
        let mut addresses = || -> Vec<u32> {
            (0..ADDRESSES)
                .map(|_| rng.below(0xe000_0000 - 0x0100_0000) as u32 + 0x0100_0000)
                .collect()
        };
        let (sources, destinations) = (addresses(), addresses());
        let inputs: Vec<usize> = sources.iter().map(|_| rng.below(PORTS as u64) as usize).collect();
        let route = |prefix: &u32| Route { prefix: *prefix, length: 32, port: 0 };
        let mut routes: Vec<Route> = destinations.iter().map(route).collect();
        routes.iter_mut().for_each(|route| route.port = rng.below(PORTS as u64) as u16);
        let mut trace = Self { packets: vec![Vec::new(); PORTS], routes };
        for number in 0..packets {
            let source = rng.below(ADDRESSES) as usize;
            let destination = destinations[rng.below(ADDRESSES) as usize];
            let packet = udp(number as u16, sources[source], destination, bytes);
            trace.packets[inputs[source]].push(packet);
        }
        trace
    }

    /// Restricts the trace to cards at these ports. Packets of other inputs, and routes to other
    /// ports, move to these ports in turn.
    fn on(mut self, ports: &[u8]) -> Self {
        let mut packets = vec![Vec::new(); ports.len()];
        for (input, of_input) in self.packets.into_iter().enumerate() {
            packets[input % ports.len()].extend(of_input);
        }
        for route in &mut self.routes {
            route.port = ports[usize::from(route.port) % ports.len()].into();
        }
        self.packets = packets;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_traces_have_right_checksums_and_numbers_of_their_own() {
        let trace = Trace::new(3, 4000, 64);
        let mut numbers = Vec::new();
        for packet in trace.packets.iter().flatten() {
            let halves = packet[..20].chunks(2);
            let sum: u32 = halves.map(|half| u32::from(half[0]) << 8 | u32::from(half[1])).sum();
            assert_eq!(sum % 0xffff, 0);
            assert_eq!(packet.len(), 64);
            numbers.push(u16::from_be_bytes([packet[4], packet[5]]));
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..4000));
        assert_eq!(trace.routes.len(), 128);
    }
}
