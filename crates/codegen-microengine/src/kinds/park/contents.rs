//! The contents of `park` in SDRAM, in the layout of the routines that work on them.

use std::any::Any;
use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_net::{Frame, PacketInHand};
use wireloom_offloads::kinds::park::{Park, Parked, State};
use wireloom_offloads::{Config, Instance};

use super::super::declared::{key_width, size};
use super::super::exact::bucket_hash;
use super::super::exact::routines::{ENTRY, HEADER, NEWER, OLDER, RING, key_words, padded};
use super::routines::{PAYLOAD_QUADS, QUADS, STATE_QUADS, WORDS};
use crate::frame::{AREA, END};
use crate::words;

/// The sizes of the parts of a park, in quad words.
struct Shape {
    /// The number of packets.
    size: u64,
    buckets: u64,
    /// The quad words of an entry, and of its part up to the end of the key.
    stride: u64,
    at: u32,
}

impl Shape {
    fn of(config: &Config) -> Self {
        let size = size(config);
        let at = ENTRY + padded(key_width(config));
        Self { size, buckets: size.next_power_of_two(), stride: u64::from(at + WORDS), at }
    }

    /// Returns the number of quad words before the buffers.
    fn table(&self) -> u64 {
        u64::from(HEADER) + self.buckets + self.size * self.stride
    }
}

/// Returns the number of words of SDRAM of a park.
pub fn wanted(config: &Config) -> u64 {
    let shape = Shape::of(config);
    2 * (shape.table() + shape.size * u64::from(QUADS))
}

/// Returns the words of a park with its packets, from quad word `base` on. The words after the last
/// packet are undefined, so the image ends there.
///
/// # Errors
/// If the instance is not a park.
pub fn image(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
    multiplier: u64,
) -> Result<Vec<u32>, String> {
    let any: &dyn Any = instance;
    let State { time_ns, packets } = any.downcast_ref::<Park>().ok_or("it has no packets")?.state();
    let shape = Shape::of(config);
    let first = HEADER + shape.buckets as u32;
    let entry = |number: usize| base + first + number as u32 * shape.stride as u32;
    let buffer = |number: usize| base + shape.table() as u32 + number as u32 * QUADS;
    let pair = |number: u64| [number as u32, (number >> 32) as u32];
    // The low halves of quad words.
    let mut table = vec![0; shape.table() as usize];
    let set = |table: &mut Vec<u32>, quad: u32, word: u32| table[(quad - base) as usize] = word;
    let ring = base + RING;
    let mut newest = ring;
    set(&mut table, ring + NEWER, ring);
    // The oldest entry and the newest entry of each key.
    let mut queues: HashMap<&Bits, (u32, u32)> = HashMap::new();
    for (number, parked) in packets.iter().enumerate() {
        let own = entry(number);
        let head =
            base + HEADER + (bucket_hash(multiplier, &parked.key) & (shape.buckets as u32 - 1));
        let mut next = 0;
        match queues.get_mut(&parked.key) {
            Some((oldest, last)) => {
                set(&mut table, *last + shape.at, own);
                set(&mut table, *oldest + shape.at + 1, own);
                *last = own;
            }
            None => {
                next = std::mem::replace(&mut table[(head - base) as usize], own);
                queues.insert(&parked.key, (own, own));
            }
        }
        set(&mut table, newest + NEWER, own);
        let older = std::mem::replace(&mut newest, own);
        let [low, high] = pair(parked.since_ns);
        let begin = [next, 0, low, high, older, ring, head];
        let end = [0, own, buffer(number)];
        let all = begin.into_iter().chain(key_words(&parked.key)).chain(end);
        (own..).zip(all).for_each(|(quad, word)| set(&mut table, quad, word));
    }
    set(&mut table, ring + OLDER, newest);
    let mut free = 0;
    for number in (packets.len()..shape.size as usize).rev() {
        let own = entry(number);
        let words = [(0, free), (OLDER, own), (NEWER, own), (shape.at + 2, buffer(number))];
        words.into_iter().for_each(|(at, word)| set(&mut table, own + at, word));
        free = own;
    }
    let ([time, later], age) = (pair(time_ns), pair(config.param("age").low_u64()));
    let header = [free, time, later, age[0], age[1]];
    table[..header.len()].copy_from_slice(&header);
    let mut image: Vec<u32> = table.into_iter().flat_map(|word| [word, 0]).collect();
    for (number, parked) in packets.iter().enumerate() {
        image.resize(2 * (buffer(number) - base) as usize, 0);
        image.extend(packed(&parked.packet));
    }
    Ok(image)
}

/// Returns the words of a buffer with a packet.
fn packed(packet: &PacketInHand) -> Vec<u32> {
    let window = packet.window_len();
    let (head, payload) = packet.bytes().split_at(window);
    // The window ends where the payload begins.
    let front = END as usize - window;
    let arrival = packet.arrival_ns;
    let mut all = vec![
        window as u32,
        front as u32,
        payload.len() as u32,
        packet.egress.into(),
        packet.ingress.into(),
        0,
        arrival as u32,
        (arrival >> 32) as u32,
    ];
    let mut bytes = vec![0; front - AREA as usize];
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let word = |four: &[u8]| u32::from_be_bytes([four[0], four[1], four[2], four[3]]);
    all.extend(bytes.chunks_exact(4).map(word));
    all
}

/// Copies the packets into the instance. `word` reads a word of SDRAM.
pub fn read_back(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
    word: &dyn Fn(u32) -> u32,
) {
    let any: &mut dyn Any = instance;
    let Some(park) = any.downcast_mut::<Park>() else { return };
    let shape = Shape::of(config);
    let key_width = key_width(config);
    let low = |quad: u32| word(2 * quad);
    let long = |quad: u32| u64::from(low(quad)) | u64::from(low(quad + 1)) << 32;
    let key = |entry: u32| {
        let count = words::count(key_width) as u32;
        let half = |index| if index < count { low(entry + ENTRY + index) } else { 0 };
        let all = (0..count).step_by(2);
        let all = all.map(|index| u64::from(half(index)) | u64::from(half(index + 1)) << 32);
        Bits::from_words(key_width, &all.collect::<Vec<_>>())
    };
    let ring = base + RING;
    let mut state = State { time_ns: long(base + 1), packets: Vec::new() };
    let mut entry = low(ring + NEWER);
    while entry != ring {
        state.packets.push(Parked {
            key: key(entry),
            since_ns: long(entry + 2),
            packet: unpacked(2 * low(entry + shape.at + 2), word),
        });
        entry = low(entry + NEWER);
    }
    // The chip keeps the packets in the order of their times, and no more than the park's size.
    let _ = park.set_state(state);
}

/// Returns the packet in the buffer that begins at this word.
fn unpacked(buffer: u32, word: &dyn Fn(u32) -> u32) -> PacketInHand {
    let [window, front, payload, egress, ingress] = [0, 1, 2, 3, 4].map(|at| word(buffer + at));
    let arrival_ns = u64::from(word(buffer + 6)) | u64::from(word(buffer + 7)) << 32;
    let bytes = |first: u32, count: u32| -> Vec<u8> {
        let byte = |at: u32| (word(buffer + at / 4) >> (24 - 8 * (at % 4))) as u8;
        (first..first + count).map(byte).collect()
    };
    let head = bytes(8 * STATE_QUADS + front - AREA, window);
    let rest = bytes(8 * PAYLOAD_QUADS, payload);
    // A packet gets its sequence number when it is taken.
    let frame = Frame { ingress: ingress as u16, arrival_ns, bytes: &[] };
    let mut packet = PacketInHand::arrive(frame, 0);
    packet.assign(&head, &rest);
    packet.egress = egress as u16;
    packet
}
