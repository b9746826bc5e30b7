//! The hand-written IPv4 forwarders of both versions, `programs/microcode/ipv4.uc` and
//! `ipv4_version2.uc`, with a small routing table. They are the load for figures over several
//! chips, and for tests that need no other program.

use std::path::Path;

use wireloom_sim::{EnergySink, Rng};

use crate::benchmarks::{NextHop, PortAddress, Route, RouteKind, included, routes};
use crate::engine::Program;
use crate::options::Options;
use crate::processor::Processor;
use crate::spec::Spec;
use crate::units::Refused;

/// The source texts for versions 1 and 2.
const TEXT: &str = include_str!("../../../programs/microcode/ipv4.uc");
const TEXT_2: &str = include_str!("../../../programs/microcode/ipv4_version2.uc");
/// The engines of version 1 that run it. They have sixteen threads, one for each element of the
/// receive FIFO.
const ENGINES: usize = 4;
/// The elements of RBUF and TBUF that the version 2 program expects.
const ELEMENTS_2: u32 = 128;

// Word addresses in SRAM.
const PORTS_AT: u32 = 0x100;
const NEXT_HOPS_AT: u32 = 0x200;
const TRIE_AT: u32 = 0x1_0000;

/// The MAC address of station 0. The port number is added to it.
const STATION: u64 = 0x0200_0000_0001;

/// Creates a chip that forwards with engines 0 to 3 of version 1, or with all engines of version 2.
/// The network 10.N.0.0/16 is reachable through port N modulo the number of ports, and all sources
/// are known.
///
/// # Errors
/// If the chip lacks a part that the program needs, or if a number of the description is out of
/// range.
pub fn processor<E: EnergySink>(
    spec: &Spec,
    options: &Options,
    energy: E,
) -> Result<Processor<E>, Refused> {
    let ports = spec.ports.count;
    let [receive, transmit] = spec.elements();
    let mut places = vec![("PORTS", PORTS_AT), ("TRIE", TRIE_AT), ("NEXT_HOPS", NEXT_HOPS_AT)];
    let (text, engines, contexts) = if spec.has_msf() {
        if spec.msf.element_bytes != 64 || receive != ELEMENTS_2 || transmit != ELEMENTS_2 {
            return Err(Refused(
                "the forwarder takes 128 elements of 64 bytes in RBUF and TBUF".into(),
            ));
        }
        (TEXT_2, spec.engines as usize, u8::MAX)
    } else {
        if !ports.is_power_of_two()
            || (spec.engines as usize) < ENGINES
            || receive.min(transmit) < 16
        {
            return Err(Refused(
                "the forwarder takes a power of two of ports, four engines and sixteen elements in \
                 each FIFO"
                    .into(),
            ));
        }
        places.push(("PORT_MASK", ports - 1));
        (TEXT, ENGINES, 0b1111)
    };
    let read = &mut |path: &Path| included(path);
    let image = wireloom_microcode::assemble("ipv4.uc", text, &Default::default(), read);
    let mut image = image.map_err(|refused| Refused(refused.render(false)))?;
    wireloom_microcode::supply(&mut image, &places)
        .map_err(|name| Refused(format!("the program imports {name}")))?;
    let program = Program::load(image, spec.engine.control_store)?;
    let programs = vec![(program, contexts); engines];
    let processor = Processor::with_energy(spec, programs, options, energy);
    let mut processor = processor.map_err(|error| Refused(error.to_string()))?;
    let sram = processor.chip.sram.words_mut();
    if sram.len() <= TRIE_AT as usize + 0x1_0000 {
        return Err(Refused("the forwarder takes 512 KB of SRAM".into()));
    }
    let mut put = |at: u32, words: &[u32]| {
        sram[at as usize..][..words.len()].copy_from_slice(words);
    };
    for port in 0..ports {
        let mac = STATION + u64::from(port);
        put(PORTS_AT + 2 * port, &routes::port(&PortAddress { mac, any_station: false }));
        let neighbour = 0x0200_0000_0100 + u64::from(port);
        let hop = NextHop { port: port as u16, neighbour, own: mac, mtu: 1500 };
        put(NEXT_HOPS_AT + 4 * port, &routes::next_hop(&hop));
    }
    let network = |network: u8| Route {
        address: [10, network, 0, 0],
        length: 16,
        kind: RouteKind::Forward,
        next_hop: u16::from(network) % ports as u16,
    };
    let networks: Vec<Route> = (0..=u8::MAX).map(network).collect();
    put(TRIE_AT, &routes::trie(TRIE_AT, &networks).map_err(Refused)?);
    Ok(processor)
}

/// A 60-byte frame for a port, addressed to a random network.
pub fn frame(port: u16, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; 60];
    bytes[..6].copy_from_slice(&(STATION + u64::from(port)).to_be_bytes()[2..]);
    bytes[6..14].copy_from_slice(&[2, 0, 0, 0, 9, 9, 8, 0]);
    let header = &mut bytes[14..34];
    header[..4].copy_from_slice(&[0x45, 0, 0, 46]);
    (header[8], header[9]) = (64, 17);
    header[12..16].copy_from_slice(&[10, rng.below(256) as u8, 0, 1]);
    header[16..20].copy_from_slice(&[10, rng.below(256) as u8, 0, 2]);
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes
}
