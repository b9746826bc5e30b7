//! Packets that a virtual router forwards, made from its own tables.

use wireloom_bits::Bits;
use wireloom_ir::{Execute, Golden, Program, Verdict};
use wireloom_net::Packet;
use wireloom_net::tables::{Family, Prefix};
use wireloom_net::traffic::{Generator, Labels, Order, PrefixPool, Sizes, Spec};
use wireloom_offloads::{Content, EntryKey, StateRow, Store};

use super::description::{Protocol, Router};
use wireloom_machine::{Error, Result};

/// Packets generated for each packet wanted. Enough of them must be forwarded.
const TRIES: usize = 16;

/// Returns this number of packets of a protocol that golden forwards with these tables. A packet
/// has 64 bytes, or the length of its headers if they are longer.
///
/// # Errors
/// If too few of the generated packets are forwarded.
pub fn packets(
    router: &Router,
    protocol: Protocol,
    program: &Program,
    store: Store,
    count: usize,
    seed: u64,
) -> Result<Vec<Packet>> {
    let mix = match protocol {
        Protocol::Ipv4 => "ipv4",
        Protocol::Ipv6 => "ipv6",
        // A single label, as in the paper.
        Protocol::Mpls => "mpls1/ipv4",
    };
    let ports =
        rows(&store, |name, _| name == "ports").iter().filter_map(index).max().unwrap_or(0) + 1;
    let labels: Vec<u64> =
        rows(&store, |name, _| name == "labels").iter().filter_map(index).collect();
    let labels = match (labels.iter().min(), labels.iter().max()) {
        (Some(&first), Some(&last)) => Labels { first: first as u32, last: last as u32 },
        _ => Labels::default(),
    };
    let spec = Spec {
        count: None,
        seed,
        sizes: Sizes::Fixed(64),
        mix: mix.parse().expect("a mix of one"),
        order: Order::Turn,
        labels,
        ports: ports as u16,
        ..Spec::default()
    };
    let prefixes: PrefixPool = prefixes(&store).collect();
    let generator = match Generator::with_prefixes(&spec, prefixes.clone(), prefixes) {
        Ok(generator) => generator,
        // Without prefixes of the protocol the addresses are arbitrary, as under a label that is
        // swapped.
        Err(_) => Generator::new(&spec).map_err(Error::new)?,
    };
    let made: Vec<Packet> = generator.take(TRIES * count).collect();
    let mut sent = Vec::new();
    Golden::new(program.clone(), store).execute(&made, &mut |output| {
        if matches!(output.verdict, Verdict::Sent { .. }) {
            sent.push(output.sequence as usize);
        }
    });
    let chosen: Vec<Packet> = sent.iter().take(count).map(|&number| made[number].clone()).collect();
    if chosen.len() < count {
        return Err(Error::new(format!(
            "router '{}': of {} {} packets to addresses and labels of its tables, it forwards {}, too few to size a machine by",
            router.name,
            made.len(),
            protocol.name(),
            sent.len()
        ))
        .with_help("its tables need ports that take any MAC address, routes or labels, and next hops for them"));
    }
    Ok(chosen)
}

/// Returns the rows of the offloads with a matching name and key width.
fn rows(store: &Store, suits: impl Fn(&str, u32) -> bool) -> Vec<StateRow> {
    let mut rows = Vec::new();
    for slot in &store.slots {
        if let Content::Kind { config, instance } = &slot.content
            && suits(&slot.name, config.key.as_ref().map_or(0, |key| key.width()))
        {
            rows.extend(instance.rows());
        }
    }
    rows
}

fn index(row: &StateRow) -> Option<u64> {
    match row.key {
        EntryKey::Index(index) => Some(index),
        _ => None,
    }
}

/// Returns the bits of an address as a number.
fn number(bits: &Bits) -> u128 {
    bits.to_bytes().iter().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// Returns the address prefixes in prefix tables.
fn prefixes(store: &Store) -> impl Iterator<Item = Prefix> {
    let of = move |family: Family| {
        let width = family.width();
        rows(store, |_, key| key == width).into_iter().filter_map(move |row| match row.key {
            EntryKey::Prefix { bits, length } => Prefix::new(family, number(&bits), length),
            _ => None,
        })
    };
    of(Family::V4).chain(of(Family::V6))
}
