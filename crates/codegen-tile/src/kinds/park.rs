//! `park` keeps whole packets in a table in memory.
//!
//! ```text
//! value of an entry
//!       0         4        8        12       16..20    26
//!       | ingress | egress | length | window | arrival | bytes
//! ```

use std::any::Any;
use std::sync::Arc;

use wireloom_net::packet::MAX_LENGTH;
use wireloom_net::{Frame, PacketInHand};
use wireloom_offloads::kinds::park::{self, Parked, State};
use wireloom_offloads::{Config, Instance, Method};

use super::keyed::{self, Entry, KEY, Shape};
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::{NOTHING, Operand};
use crate::frame;
use crate::lower::Lower;
use crate::memory::{Memory, value_at};
use crate::words::Words;

/// The bytes of a value before its packet. The last two align the packet.
const PACKET: u32 = 26;

pub struct Park;

impl KindOnTiles for Park {
    fn name(&self) -> &'static str {
        "park"
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        let any: &dyn Any = instance;
        let park = any.downcast_ref::<park::Park>().ok_or("it has no packets")?;
        let State { time_ns, packets } = park.state();
        let entries: Vec<Entry> = packets.iter().map(entry).collect();
        let base = shape(config).place(config, time_ns, &entries, memory)?;
        Ok(Arc::new(Table { base }))
    }

    fn routines(&self) -> &'static [&'static str] {
        &[keyed::ROUTINES, include_str!("park.s")]
    }

    fn names(&self) -> &'static [(&'static str, u32)] {
        &keyed::NAMES
    }

    fn replaces_packet(&self, method: &Method) -> bool {
        method.writes_packet
    }

    fn refuses_state_owner(&self) -> Option<&'static str> {
        Some(
            "parks packets, and a state owner does not support them: an engine with it needs one \
             chain, whose mapping has no `state_owner`",
        )
    }
}

#[derive(Debug)]
struct Table {
    base: u32,
}

impl Placed for Table {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        let table = Operand::Number(self.base);
        let is_keep = match call.method.name {
            "expire" => return Ok(Some(keyed::expire(lower, table, call.args[0]))),
            "keep" => true,
            "take" => false,
            _ => return Err(Unsupported),
        };
        if lower.instance.reply_width.is_some() {
            // A called engine has no packet.
            lower.code.call("table_advance", &[table], 0);
            return Ok(Some(vec![NOTHING]));
        }
        let key = lower.get(call.args[0]);
        lower.store(frame::WORK, &key);
        let entry = if is_keep {
            lower.code.call("table_advance", &[table], 0);
            let end = lower.code.call("table_tail", &[table], 2)[1];
            lower.code.call("table_enter", &[table, end], 1)[0]
        } else {
            lower.code.call("table_begin", &[table], 1)[0]
        };
        lower.or_zero(0, |lower, done| {
            lower.unless(entry, done);
            lower.code.call(if is_keep { "park_keep" } else { "park_take" }, &[table, entry], 0);
            if !is_keep {
                lower.code.call("table_remove", &[table, entry], 0);
            }
            None
        });
        Ok(Some(vec![lower.code.is_set(entry)]))
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        word: &mut dyn FnMut(u32) -> u32,
    ) {
        let any: &mut dyn Any = instance;
        let Some(park) = any.downcast_mut::<park::Park>() else { return };
        let (shape, key_width) = (shape(config), keyed::key_width(config));
        let parked = keyed::by_age(self.base, word).into_iter().map(|entry| Parked {
            key: value_at(entry + KEY, key_width, word),
            since_ns: keyed::touched_ns(entry, word),
            packet: packet(entry + shape.value(), word),
        });
        let packets = parked.collect();
        // The table in memory has no more packets than the size, in the order of their times.
        let _ = park.set_state(State { time_ns: keyed::time_ns(self.base, word), packets });
    }
}

/// Returns the sizes of a table whose entries have room for the longest packets.
fn shape(config: &Config) -> Shape {
    Shape::of(config, (PACKET + MAX_LENGTH as u32).next_multiple_of(4))
}

fn entry(parked: &Parked) -> Entry {
    let packet = &parked.packet;
    let belongs = [
        u32::from(packet.ingress),
        packet.egress.into(),
        packet.len() as u32,
        packet.window_len() as u32,
        packet.arrival_ns as u32,
        (packet.arrival_ns >> 32) as u32,
    ];
    // Two bytes align the packet.
    let bytes = [&[0; 2], packet.bytes()].concat();
    let word = |chunk: &[u8]| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_be_bytes(word)
    };
    let value = belongs.into_iter().chain(bytes.chunks(4).map(word)).collect();
    let key = keyed::words_of_width(&parked.key);
    Entry { touched_ns: Some(parked.since_ns), key, value, duration_ns: None }
}

/// Returns the packet of the value at an address.
fn packet(at: u32, word: &mut dyn FnMut(u32) -> u32) -> PacketInHand {
    let [ingress, egress, length, window] = [0, 4, 8, 12].map(|field| word(at + field));
    let arrival_ns = keyed::long(at + 16, word);
    let end = PACKET + length;
    let bytes = (PACKET - 2..end).step_by(4).flat_map(|byte| word(at + byte).to_be_bytes());
    let bytes: Vec<u8> = bytes.skip(2).take(length as usize).collect();
    let (window, payload) = bytes.split_at(window as usize);
    let frame = Frame { ingress: ingress as u16, arrival_ns, bytes: &[] };
    let mut packet = PacketInHand::arrive(frame, 0);
    packet.egress = egress as u16;
    packet.assign(window, payload);
    packet
}
