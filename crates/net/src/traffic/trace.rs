//! The data that a generator takes from a capture: sizes and the order of addresses.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::Path;

use super::error::SpecError;
use crate::capture::Reader;
use crate::packet::Packet;
use crate::wire::{ethernet, ipv4, ipv6, vlan};

/// Maximum number of packets read from a capture. It bounds the memory, at 12 bytes per packet.
const MAX_PACKETS: usize = 1 << 24;

/// A packet of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracePacket {
    /// Size in bytes, with frame check sequence.
    pub(super) size: u32,
    /// Numbers of the source and destination address among the distinct addresses.
    pub(super) src: u32,
    pub(super) dst: u32,
}

/// Reads the packets of a capture, in order. Packets that are not IP contribute only their size,
/// and take the addresses of the previous packet.
pub(super) fn read(path: &Path) -> Result<Vec<TracePacket>, SpecError> {
    let mut reader = Reader::open(path)?;
    let mut packet = Packet::default();
    let mut trace = Vec::new();
    let (mut sources, mut destinations) = (HashMap::new(), HashMap::new());
    let (mut src, mut dst) = (0, 0);
    while trace.len() < MAX_PACKETS && reader.read_into(&mut packet)? {
        if let Some((source, destination)) = addresses(&packet.bytes) {
            src = number(&mut sources, source);
            dst = number(&mut destinations, destination);
        }
        trace.push(TracePacket { size: reader.original_length() + ethernet::FCS as u32, src, dst });
    }
    if trace.is_empty() {
        return Err(SpecError(format!(
            "{}: the capture has no packets to take sizes or addresses from",
            path.display()
        )));
    }
    Ok(trace)
}

fn number<T: Hash + Eq>(known: &mut HashMap<T, u32>, value: T) -> u32 {
    let next = known.len() as u32;
    *known.entry(value).or_insert(next)
}

/// Returns source and destination address of an IP packet, also after VLAN tags. (IPv4 addresses
/// are in the low bits.)
fn addresses(frame: &[u8]) -> Option<(u128, u128)> {
    let mut at = ethernet::LEN - 2;
    loop {
        let ethertype = u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?);
        let ip = at + 2;
        let value = |offset: usize, length: usize| {
            let bytes = frame.get(ip + offset..ip + offset + length)?;
            Some(bytes.iter().fold(0, |acc: u128, &b| acc << 8 | u128::from(b)))
        };
        match ethertype {
            ethernet::VLAN | ethernet::SERVICE_VLAN => at += vlan::LEN,
            ethernet::IPV4 => return Some((value(ipv4::SRC, 4)?, value(ipv4::DST, 4)?)),
            ethernet::IPV6 => return Some((value(ipv6::SRC, 16)?, value(ipv6::DST, 16)?)),
            _ => return None,
        }
    }
}
