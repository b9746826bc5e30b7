//! Inputs of a program: table entries and packets, drawn from a seed.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wireloom_bits::Bits;
use wireloom_ir::store;
use wireloom_net::Packet;
use wireloom_net::traffic::{Generator, Sizes, Spec};
use wireloom_offloads::registry::{self, TableKey};
use wireloom_offloads::{Config, Content, Entry, EntryKey, Store};

/// The possible numbers of packets. They cover less than one batch and several batches of the
/// native engine.
const PACKETS: [usize; 5] = [4, 16, 24, 70, 150];
/// The possible numbers of packets of a sequel.
const FEW_PACKETS: [usize; 4] = [2, 4, 9, 20];
/// The length of the longest packet, in bytes.
const JUMBO: usize = 2_000;

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Input {
    /// Pairs of an offload's path and an entry.
    pub entries: Vec<(String, Entry)>,
    /// The packets in order of arrival.
    pub packets: Vec<Packet>,
    /// What happens between packets, in order: each with the number of the packet before which it
    /// happens.
    pub events: Vec<(usize, Event)>,
}

/// Something that happens between two packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The control plane writes an entry of the offload at a path.
    Write(String, Entry),
    /// The control plane removes an entry.
    Remove(String, EntryKey),
    /// Time advances, in nanoseconds.
    Advance(u64),
}

impl Event {
    /// Applies a change by the control plane. Every machine ignores changes that an offload refuses.
    fn apply(&self, store: &mut Store) {
        let (Self::Write(path, _) | Self::Remove(path, _)) = self else { return };
        if let Some(slot) = store.find_mut(path)
            && let Content::Kind { instance, .. } = &mut slot.content
        {
            // A refusal depends only on the entry and the state.
            let _ = match self {
                Self::Write(_, entry) => instance.load(entry.clone()),
                Self::Remove(_, key) => instance.unload(key).map(|_| ()),
                Self::Advance(_) => Ok(()),
            };
        }
    }
}

impl Input {
    /// Draws entries that suit the program's offloads, and packets.
    pub fn random(program: &wireloom_ir::Program, seed: u64) -> Self {
        Self::of_length(program, seed, &PACKETS)
    }

    /// Draws a short log for a machine that has run others before: it begins with writes of entries,
    /// and its times follow `after_ns`.
    pub fn sequel(program: &wireloom_ir::Program, seed: u64, after_ns: u64) -> Self {
        let mut input = Self::of_length(program, seed, &FEW_PACKETS);
        let writes = input.entries.drain(..).map(|(path, entry)| (0, Event::Write(path, entry)));
        let later = input.events.drain(..).map(|(at, event)| match event {
            Event::Advance(time_ns) => (at, Event::Advance(after_ns + time_ns)),
            change => (at, change),
        });
        let events = writes.chain(later).collect();
        let mut packets = input.packets;
        packets.iter_mut().for_each(|packet| packet.arrival_ns += after_ns);
        Self { entries: Vec::new(), packets, events }
    }

    /// Returns the latest time in the log.
    pub fn end_ns(&self) -> u64 {
        let packets = self.packets.iter().map(|packet| packet.arrival_ns);
        let advances = self.events.iter().map(|(_, event)| match event {
            Event::Advance(time_ns) => *time_ns,
            Event::Write(..) | Event::Remove(..) => 0,
        });
        packets.chain(advances).max().unwrap_or(0)
    }

    fn of_length(program: &wireloom_ir::Program, seed: u64, lengths: &[usize]) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x7ab1e5);
        let mut entries = Vec::new();
        if let Ok(store) = store(program) {
            for path in store.paths() {
                if let Some(slot) = store.find(&path)
                    && let Content::Kind { config, .. } = &slot.content
                {
                    let made = table(&mut rng, config);
                    entries.extend(made.into_iter().map(|entry| (path.clone(), entry)));
                }
            }
        }
        let packets = packets(&mut rng, seed, lengths);
        let events = events(&mut rng, program, &packets);
        Self { entries, packets, events }
    }

    /// Passes the log to a machine: packets, changes of its offloads, and times.
    pub fn replay<M>(
        &self,
        machine: &mut M,
        mut offer: impl FnMut(&mut M, &[Packet]),
        mut change: impl FnMut(&mut M, &dyn Fn(&mut Store)),
        mut advance: impl FnMut(&mut M, u64),
    ) {
        let mut done = 0;
        for (at, event) in &self.events {
            let at = (*at).clamp(done, self.packets.len());
            offer(machine, &self.packets[done..at]);
            done = at;
            match event {
                Event::Advance(time_ns) => advance(machine, *time_ns),
                change_ => change(machine, &|store| change_.apply(store)),
            }
        }
        offer(machine, &self.packets[done..]);
    }

    /// Loads the entries. Every machine ignores the entries that an offload refuses.
    pub fn load(&self, store: &mut Store) {
        for (path, entry) in &self.entries {
            if let Some(slot) = store.find_mut(path)
                && let Content::Kind { instance, .. } = &mut slot.content
            {
                // A refusal depends only on the entry and those before it.
                let _ = instance.load(entry.clone());
            }
        }
    }
}

/// Draws changes of tables and times between packets. The last event lets timers run.
fn events(
    rng: &mut ChaCha8Rng,
    program: &wireloom_ir::Program,
    packets: &[Packet],
) -> Vec<(usize, Event)> {
    let mut places: Vec<usize> =
        (0..rng.random_range(0..12)).map(|_| rng.random_range(0..=packets.len())).collect();
    places.sort_unstable();
    let store = store(program).unwrap_or_default();
    let paths = store.paths();
    let mut out = Vec::new();
    for at in places {
        let now = at.checked_sub(1).map_or(0, |before| packets[before].arrival_ns);
        if rng.random_bool(0.3) {
            out.push((at, Event::Advance(now + rng.random_range(0..4_000_000))));
            continue;
        }
        let Some(path) = paths.choose(rng) else { continue };
        let Some(Content::Kind { config, .. }) = store.find(path).map(|slot| &slot.content) else {
            continue;
        };
        let is_removed = rng.random_bool(0.5);
        for Entry { key, value } in table(rng, config).into_iter().take(3) {
            let event = match is_removed {
                true => Event::Remove(path.clone(), key),
                false => Event::Write(path.clone(), Entry { key, value }),
            };
            out.push((at, event));
        }
        // The keys of these kinds are no keys of a table.
        let has_other_keys = |kind: &registry::OffloadKind| {
            kind.table.is_none_or(|form| form.key == TableKey::Pattern)
        };
        if config.key.is_some() && registry::kind(&config.kind).is_some_and(has_other_keys) {
            let width = config.key.as_ref().map_or(1, |key| key.width());
            let key = EntryKey::Exact(small_or_random(rng, width));
            out.push((at, Event::Remove(path.clone(), key)));
        }
    }
    let last = packets.last().map_or(0, |packet| packet.arrival_ns);
    out.push((packets.len(), Event::Advance(last + rng.random_range(0..10_000_000))));
    out
}

fn table(rng: &mut ChaCha8Rng, config: &Config) -> Vec<Entry> {
    let key_width = config.key.as_ref().map_or(32, |k| k.width());
    let Some(form) = registry::kind(&config.kind).and_then(|kind| kind.table) else {
        return Vec::new();
    };
    let value_width = (form.value)(config).0.width().max(1);
    let count = rng.random_range(0..8);
    let mut out = Vec::new();
    for index in 0..count {
        let key = match form.key {
            TableKey::Prefix => {
                let length = rng.random_range(0..=key_width);
                let bits = small_or_random(rng, key_width);
                let bits = bits.lshr(key_width - length).shl(key_width - length);
                EntryKey::Prefix { bits, length }
            }
            TableKey::Whole => EntryKey::Exact(small_or_random(rng, key_width)),
            TableKey::Index => EntryKey::Index(index),
            TableKey::Pattern => {
                let length = rng.random_range(1..4);
                let byte = |_| *[0u8, 1, 8, 64, 69, 255].choose(rng).expect("there are bytes");
                EntryKey::Pattern((0..length).map(byte).collect())
            }
        };
        out.push(Entry { key, value: small_or_random(rng, value_width) });
    }
    out
}

fn small_or_random(rng: &mut ChaCha8Rng, width: u32) -> Bits {
    if rng.random_bool(0.5) {
        return Bits::new(width, rng.random_range(0..16));
    }
    let words: Vec<u64> = (0..width.div_ceil(64)).map(|_| rng.random()).collect();
    Bits::from_words(width, &words)
}

/// Generates valid packets of many protocols, of which some are damaged, packets of random bytes,
/// and long packets.
fn packets(rng: &mut ChaCha8Rng, seed: u64, lengths: &[usize]) -> Vec<Packet> {
    let sizes = [64, 64, 128, 200, 1_518].map(Sizes::Fixed);
    let spec = Spec {
        seed,
        sizes: *sizes.choose(rng).expect("there are sizes"),
        mix: Spec::parse_mix("ipv4=4,ipv6=3,mpls1..4=2").expect("the mix is well-formed"),
        transport: "udp=1,tcp=1".parse().expect("the mix is well-formed"),
        ports: 4,
        start_ns: 1_000,
        ..Spec::default()
    };
    let valid = Generator::new(&spec).expect("the specification is well-formed");
    let mut now = 0u64;
    valid
        .take(*lengths.choose(rng).expect("there are counts"))
        .map(|mut packet| {
            match rng.random_range(0..10) {
                0 => packet.bytes.truncate(rng.random_range(0..64)),
                1 => {
                    let length = rng.random_range(0..160);
                    packet.bytes = (0..length).map(|_| rng.random()).collect();
                }
                2 => packet.bytes.resize(rng.random_range(100..=JUMBO), rng.random()),
                3 => {
                    packet.bytes = vec![[0, 0xff][rng.random_range(0..2)]; rng.random_range(0..300)]
                }
                4..=6 => {
                    for _ in 0..rng.random_range(1..6) {
                        let at = rng.random_range(0..packet.bytes.len());
                        packet.bytes[at] = rng.random();
                    }
                }
                _ => {}
            }
            now += [0, 1, 1_000, 1_000_000][rng.random_range(0..4)];
            // Some packets come late.
            let late = if rng.random_bool(0.05) { rng.random_range(0..3_000_000) } else { 0 };
            packet.arrival_ns = now.saturating_sub(late);
            packet
        })
        .collect()
}
