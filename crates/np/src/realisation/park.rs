//! `park`: kept packets in QDR SRAM, their keys and times in block RAM (`wl_park`).

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::core::port::PLACE_BITS;
use wireloom_codegen_hardware::pipelined::Lookup;
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_net::{Frame, PacketInHand};
use wireloom_offloads::kinds::park::{Park as Golden, Parked, State};
use wireloom_offloads::kinds::park_in_parts::{FIELDS, FIELDS_BITS, WORD_BITS, fields_of, parted};
use wireloom_offloads::{Config, EntryKey, Instance};

use super::body::{BUFFER, turn};
use super::entries::{typed, typed_mut};
use super::hash_table::{chains, seed_bits};
use super::interface::Realisation;
use super::wiring::{channel_of_bursts, off_chip};
use crate::control::bus::{ControlBus, ControlError};
use crate::description::{LANE_BYTES, NpSpec};
use crate::processor::contents::{Contents, Seed, leaves_of, packed};
use crate::processor::wires::bits;
use crate::processor::{Channel, Plan, Service};

/// Bits of a word of a kept packet.
const BITS: u32 = 64;
/// Bytes of a word.
const BYTES: usize = 8;
/// Words for a window.
const WINDOW_WORDS: usize = 32;
/// The address of the time, the number of packets and the oldest slot; a write there sets the seed.
const HEAD: u32 = 1 << 30;
/// The address of the write that sets the time.
const TIME: u32 = HEAD | 1;
/// The address of the write that empties the park.
const EMPTY: u32 = HEAD | 2;
/// The address bits of the words of packets.
const WORDS: u32 = 2 << 30;
/// The address of the write that appends a packet.
const APPEND: u32 = 3 << 30;
/// Bits of an entry without its key.
const ENTRY_BITS: u32 = FIELDS_BITS + BITS;
/// Cycles in which `wl_park` discards a packet, or passes over one.
const CYCLES_A_PACKET: usize = 16;

/// Packets in QDR SRAM.
pub(super) struct Park;

impl Realisation for Park {
    fn name(&self) -> &'static str {
        "park"
    }

    fn about(&self) -> &'static str {
        "packets in QDR SRAM, their keys and times in block RAM"
    }

    fn describe(&self, service: &Service) -> String {
        let (size, longest) = (service.elements(), body_bytes(service));
        format!("{} of {size} packets of {longest} bytes: {}", service.config.kind, self.about())
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "park"
    }

    fn only_in_pipe(&self) -> Option<&'static str> {
        Some(BUFFER)
    }

    fn varies(&self) -> Option<&'static str> {
        Some("packets are of different lengths")
    }

    fn channels(
        &self,
        service: &Service,
        _lookups: &[Lookup],
        machine: &NpSpec,
    ) -> Result<Vec<Channel>, String> {
        let needs = service.elements().next_power_of_two() << word_bits(service);
        channel_of_bursts(service, (1, needs), machine).map_err(|why| {
            format!("{why}, or keep fewer or shorter packets (`size` and `longest`)")
        })
    }

    fn writes_channels(&self) -> bool {
        true
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        let (ends, access) = turn(plan, service);
        let net = |what: &str| name(format!("{access}_{what}"));
        let mut park = clocked("wl_park", format!("i_{}", service.name))
            .parameter("KeyBits", int(service.key_bits()))
            .parameter("Size", int(service.elements()))
            .parameter("Age", Expr::Number(service.config.param("age").resize(BITS)))
            .parameter("BodyBytes", int(body_bytes(service)))
            .parameter("DataBytes", int(plan.data_bytes))
            .parameter("PlaceBits", Expr::int(u64::from(PLACE_BITS)))
            .parameter("Buckets", int(chains(service)))
            .parameter("TagBits", int(tag_bits))
            .parameter("CtlTarget", Expr::number(8, target as u64))
            .port("access_data_i", name("access_data"));
        for what in ["read", "address", "write", "write_address", "write_data"] {
            park = park.port(format!("access_{what}_o"), net(what));
        }
        off_chip(plan, service, vec![ends.whole(park)])
    }

    fn control_bits(&self, service: &Service) -> usize {
        let entry = ENTRY_BITS as usize + service.key_bits() + slot_bits(service) as usize;
        entry.max(WORD_BITS as usize).max(seed_bits(service) as usize)
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        let field = |(name, bits): (&str, u32)| (name.to_owned(), bits);
        let key = leaves_of("key", service.config.key.as_ref());
        let entry = [key.clone(), vec![field(("kept", BITS))], FIELDS.map(field).to_vec()].concat();
        let read = [vec![field(("next", slot_bits(service)))], entry].concat();
        let address = "to be read: number of a packet's slot; to be written: any, to discard the \
                       packets of a key; bits 31 and 30 select times, words of packets, and \
                       packets to append (wl_park)";
        let contents = Contents::new("packets", address, service.elements() as u64, packed(key))
            .reading(packed(read))
            .seeded(Seed { address: HEAD, address_bits: 0, data_bits: seed_bits(service) });
        vec![(service.offload.clone(), contents)]
    }

    fn after_reset(&self, service: &Service) -> Option<(&'static str, usize)> {
        Some(("empty, with the standard seed", chains(service)))
    }

    fn longest_pause(&self, service: &Service) -> usize {
        chains(service) + CYCLES_A_PACKET * service.elements() + 2 * body_words(service)
    }

    fn is_changed(&self, _service: &Service) -> bool {
        true
    }

    /// Discards the packets of a key.
    fn entry(
        &self,
        _path: &str,
        _config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        match (key, value) {
            (EntryKey::Exact(key), None) => Ok((0, key.clone())),
            (_, None) => Err("the key is not a whole key".to_owned()),
            (_, Some(_)) => Err("`park` holds packets, not entries".to_owned()),
        }
    }

    /// Empties the park, then keeps each packet: its words, and then the packet as the newest one.
    fn restore(
        &self,
        service: &Service,
        old: &dyn Instance,
        new: &dyn Instance,
    ) -> Result<Vec<(u32, Bits)>, String> {
        let (old, new) = (typed::<Golden>(old).state(), typed::<Golden>(new).state());
        if old == new {
            return Ok(Vec::new());
        }
        let word = |value: u64| Bits::new(BITS, value.into());
        let mut writes = vec![(EMPTY, word(0))];
        for (slot, kept) in (0..).zip(&new.packets) {
            let first = WORDS | slot << word_bits(service);
            let words = words(&kept.packet);
            writes.extend(words.into_iter().map(|(at, value)| (first + at, word(value))));
            let fields = fields_of(&kept.packet);
            writes.push((APPEND, kept.key.concat(&word(kept.since_ns)).concat(&fields)));
        }
        writes.push((TIME, word(new.time_ns)));
        Ok(writes)
    }

    fn read_back(
        &self,
        service: &Service,
        targets: &[u8],
        _indices: &[u64],
        bus: &mut dyn ControlBus,
        instance: &mut dyn Instance,
    ) -> Result<(), ControlError> {
        let Some(&target) = targets.first() else { return Ok(()) };
        let head = &bus.read_entries(target, &[HEAD])?[0];
        let half = |number: u32| head.slice(32 * number, 32).low_u64() as u32;
        let [mut slot, count] = [0, 1].map(half);
        let mut state = State { time_ns: head.slice(BITS, BITS).low_u64(), packets: Vec::new() };
        for _ in 0..count {
            let entry = &bus.read_entries(target, &[slot])?[0];
            let packet = packet(service, slot, &entry.slice(0, FIELDS_BITS), target, bus)?;
            let key_bits = service.key_bits() as u32;
            state.packets.push(Parked {
                key: entry.slice(ENTRY_BITS, key_bits),
                since_ns: entry.slice(FIELDS_BITS, BITS).low_u64(),
                packet,
            });
            slot = entry.slice(ENTRY_BITS + key_bits, slot_bits(service)).low_u64() as u32;
        }
        let set = typed_mut::<Golden>(instance).set_state(state);
        set.map_err(|refused| ControlError::Refused(refused.0))
    }
}

/// Reads a packet.
fn packet(
    service: &Service,
    slot: u32,
    fields: &Bits,
    target: u8,
    bus: &mut dyn ControlBus,
) -> Result<PacketInHand, ControlError> {
    let [length, window, ingress, egress, arrival_ns] = parted(fields);
    let (window, body) = (window as usize, (length - window) as usize);
    let first = WORDS | slot << word_bits(service);
    let mut read = |from: usize, count: usize| {
        let addresses: Vec<u32> = (from..from + count).map(|at| first + at as u32).collect();
        bus.read_entries(target, &addresses)
    };
    let bytes = |words: Vec<Bits>, to_bytes: fn(u64) -> [u8; BYTES]| -> Vec<u8> {
        words.iter().flat_map(|word| to_bytes(word.slice(0, BITS).low_u64())).collect()
    };
    let head = bytes(read(0, window.div_ceil(BYTES))?, u64::to_be_bytes);
    let rest = bytes(read(WINDOW_WORDS, body.div_ceil(BYTES))?, u64::to_le_bytes);
    let frame = Frame { ingress: ingress as u16, arrival_ns, bytes: &[] };
    let mut packet = PacketInHand::arrive(frame, 0);
    packet.assign(&head[..window], &rest[..body]);
    packet.egress = egress as u16;
    Ok(packet)
}

/// Returns the words of a packet, each with its number in the packet's slot.
fn words(packet: &PacketInHand) -> Vec<(u32, u64)> {
    let (head, body) = packet.bytes().split_at(packet.window_len());
    let word = |bytes: &[u8], value: fn([u8; BYTES]) -> u64| {
        let mut whole = [0; BYTES];
        whole[..bytes.len()].copy_from_slice(bytes);
        value(whole)
    };
    let head = head.chunks(BYTES).map(|bytes| word(bytes, u64::from_be_bytes));
    let body = body.chunks(BYTES).map(|bytes| word(bytes, u64::from_le_bytes));
    (0..).zip(head).chain((WINDOW_WORDS as u32..).zip(body)).collect()
}

/// Returns the bytes of the longest body: at most the whole packet is outside the window.
fn body_bytes(service: &Service) -> usize {
    service.config.param("longest").low_u64() as usize
}

/// Returns the words for a body.
fn body_words(service: &Service) -> usize {
    body_bytes(service).next_multiple_of(LANE_BYTES) / BYTES
}

/// Returns the bits of the number of a word in a packet's slot.
fn word_bits(service: &Service) -> u32 {
    bits(WINDOW_WORDS + body_words(service))
}

fn slot_bits(service: &Service) -> u32 {
    bits(service.elements())
}
