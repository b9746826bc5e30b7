//! The memory layout of a program: the places and initial contents of its tables.

mod room;
pub(super) mod scratchpad;
mod slot;

use std::fmt::Write as _;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_codegen::context;
use wireloom_codegen::refused::Refused;
use wireloom_codegen::steps::first_user;
use wireloom_ir::{Engine, OpKind, Program, Step};
use wireloom_isa::microengine::Version;
use wireloom_offloads::{Config, Store};

use self::room::Room;
use super::check::Check;
use super::kind::{HashUnit, KindOnMicroengines, Kinds};
use super::memory::Elements;
use super::order::Order;
use super::unit::{Image, Region, Unit};
use super::words;

pub use slot::{Slot, slots};

/// The number of words of SDRAM in a thread's packet buffer.
const BUFFER: u32 = 32_768;

/// The number of words of SRAM between the frames of threads on version 2. It is the interleave of
/// the channels, so that consecutive frames begin in different channels (`thread.uc`).
const BETWEEN: u32 = 32;

/// The sizes of the memories in words, and the threads that share them.
#[derive(Clone, Copy, Debug)]
pub struct Memories {
    pub sram: u32,
    pub sdram: u32,
    pub scratch: u32,
    pub version: Version,
    /// The number of threads that process packets.
    pub threads: u32,
    /// The number of words of SRAM in the frame of each thread.
    pub frame: u32,
}

/// The places of all offloads and constant arrays of the engine that takes packets.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The kinds of the offloads.
    pub(super) kinds: Kinds,
    /// Whether the memories can add to a word and return its old value.
    pub adds: bool,
    /// For each offload, the words that it has, if it needs memory.
    pub regions: Vec<Option<Region>>,
    /// The constant arrays and their places.
    pub tables: Vec<(Arc<[Bits]>, Elements)>,
    /// The first word of the table of each `Check`, if it is needed.
    pub checks: [Option<u32>; Check::COUNT],
    /// The multipliers of the hash unit for 48 and 64 bits, if it is needed.
    pub multiplier: Option<[u64; 2]>,
    /// The first of two words of SRAM with the number to be added to the number of a packet on the
    /// chip for its sequence number, if timers have numbers of their own.
    pub numbers: Option<u32>,
    /// Contents of the memories, other than offloads, that never change.
    pub fixed: Vec<Image>,
    /// The number of words of SRAM in the frame of each thread.
    pub frame: u32,
    /// The number of order gates.
    pub gates: u32,
    /// The number of words of the scratchpad in each gate, and the first word of all gates.
    pub ring: u32,
    pub first_gate: u32,
    /// The number of words of the scratchpad of each thread of version 1, and the first word of all
    /// threads.
    pub near: u32,
    pub first_near: u32,
}

impl Layout {
    /// Returns microcode that sets the multipliers of the hash unit.
    pub fn multipliers(&self) -> String {
        let Some(multipliers) = self.multiplier else { return String::new() };
        let mut text = String::from("    .begin\n    .reg half\n");
        for (bits, multiplier) in [48, 64].into_iter().zip(multipliers) {
            for (half, value) in [("lo", multiplier as u32), ("hi", (multiplier >> 32) as u32)] {
                let _ = write!(
                    text,
                    "    immed32[half, {value:#x}]\n    alu[$0, --, B, half]\n    \
                     csr[write, $0, hash_multiplier_{bits}_{half}], ctx_swap\n"
                );
            }
        }
        text + "    .end\n"
    }

    /// Returns the contents of the offload with this number, or `None` if it needs no memory.
    ///
    /// # Errors
    /// If the contents are larger than the region of the offload.
    pub fn image(&self, number: usize, slot: &mut Slot<'_>) -> Result<Option<Image>, String> {
        let Some(region) = self.regions.get(number).copied().flatten() else { return Ok(None) };
        let multiplier = self.multiplier.map_or(0, |[_, long]| long);
        let Some(kind) = self.kinds.get(number) else { return Ok(None) };
        let words = kind.image(slot.config, slot.instance, region, multiplier)?;
        match words.len() > region.words as usize {
            true => Err(format!("its {} words are more than its {}", words.len(), region.words)),
            false => Ok(Some(Image { unit: region.unit, first: region.first, words })),
        }
    }

    /// Copies state that packets have changed into the offload with this number. `word` reads a
    /// word of a memory.
    pub fn read_back(&self, number: usize, slot: &mut Slot<'_>, word: impl Fn(Unit, u32) -> u32) {
        let region = self.regions.get(number).copied().flatten();
        if let Some((region, kind)) = region.zip(self.kinds.get(number)) {
            let word = |at| word(region.unit, at);
            kind.read_back(slot.config, slot.instance, region, &word);
        }
    }

    /// Returns the memory of the offload with this number, if its times end at ticks.
    pub fn ticks_in(&self, number: usize, config: &Config) -> Option<Unit> {
        let region = self.regions.get(number).copied().flatten();
        region.filter(|_| config.has_ticks()).map(|region| region.unit)
    }

    /// Advances the offload with this number to engine time. `words` are all words of its memory,
    /// and no packet is in the chip.
    pub fn pass_tick(&self, number: usize, config: &Config, now_ns: u64, words: &mut [u32]) {
        let region = self.regions.get(number).copied().flatten();
        if let Some((region, kind)) = region.zip(self.kinds.get(number)) {
            kind.pass_tick(config, region, now_ns, words);
        }
    }

    /// Returns when the next time of the offload with this number ends for which a step runs, in
    /// nanoseconds. `word` reads a word of a memory.
    pub fn next_due(
        &self,
        number: usize,
        config: &Config,
        word: impl Fn(Unit, u32) -> u32,
    ) -> Option<u64> {
        let region = self.regions.get(number).copied().flatten()?;
        self.kinds.get(number)?.next_due(config, region, &|at| word(region.unit, at))
    }

    /// Returns the place of a constant array.
    pub fn table(&self, elements: &[Bits]) -> Option<Elements> {
        let found = self.tables.iter().find(|(table, _)| **table == *elements);
        found.map(|(_, place)| *place)
    }
}

/// Places the offloads of a program, with their contents. Its engine must not call engines. The
/// scratchpad is filled first. Offloads whose contents can grow come last in a memory, and share
/// the rest of it. `kinds` are the kinds of the offloads.
///
/// # Errors
/// The offloads that do not fit or are not supported.
pub fn place(
    program: &Program,
    store: &mut Store,
    memories: Memories,
    kinds: Kinds,
) -> Result<Layout, Vec<Refused>> {
    let between = if memories.version == Version::Two { BETWEEN } else { 0 };
    let frames = u64::from(memories.threads) * u64::from(memories.frame + between);
    if frames > memories.sram.into() {
        let message = format!(
            "the context and its values do not fit: {} threads take {} words of SRAM each, and it has \
             {}",
            memories.threads, memories.frame, memories.sram
        );
        return Err(vec![Refused { offload: None, step: None, message }]);
    }
    let engine = &program.engines[program.main.index()];
    // Each thread has one packet in hand, and the numbers of these packets are consecutive.
    let ring = memories.threads.next_power_of_two();
    let first_gate = scratchpad::first_gate(memories.version);
    let order = Order::of(
        engine,
        &kinds,
        Order::most(memories.scratch, first_gate, ring),
        ring,
        first_gate,
    );
    let near = match memories.version {
        Version::One => {
            scratchpad::words(engine, memories.scratch - order.words(), memories.threads)
        }
        Version::Two => 0,
    };
    let taken = order.words() + near * memories.threads;
    let mut room = Room {
        next: [frames as u32, memories.threads * BUFFER, taken],
        promised: [0; 3],
        most: [memories.sram, memories.sdram, memories.scratch],
    };
    let mut layout = Layout {
        kinds,
        frame: memories.frame,
        adds: memories.version == Version::Two,
        gates: order.gates(),
        ring,
        first_gate,
        near,
        first_near: order.words(),
        ..Layout::default()
    };
    let mut refused = Vec::new();
    let mut growing = Vec::new();
    let mut slots = slots(store);
    layout.regions =
        scratchpad::regions(engine, &layout.kinds, &slots, memories.version, &mut room);
    for (number, slot) in slots.iter_mut().enumerate() {
        let Some(kind) = layout.kinds.get(number) else {
            refused.push(unsupported(engine, number, &slot.config.kind));
            continue;
        };
        let placed = shared(kind, slot.config, &mut room, &mut layout).and_then(|()| {
            if layout.regions[number].is_some() {
                return Ok(());
            }
            let most = memories.sram.max(memories.sdram);
            let Some(wanted) = kind.wanted(slot.config, slot.instance, most)? else {
                return Ok(());
            };
            let words = &wanted.words;
            let none = words.last().map_or_else(String::new, |(unit, words)| {
                let left = room.left(*unit);
                let unit = if *unit == Unit::Sram { "SRAM" } else { "SDRAM" };
                format!("it needs {words} words of {unit}, and {left} are left")
            });
            if wanted.grows {
                let (unit, words) = room.promise(words).ok_or(none)?;
                growing.push((number, unit, words));
            } else {
                layout.regions[number] = Some(room.take(words).ok_or(none)?);
            }
            Ok(())
        });
        refused.extend(placed.err().map(|why| refuse(engine, number, &why)));
    }
    let numbers_packets = |kind: &dyn KindOnMicroengines| kind.numbers_packets();
    let mut kinds = (0..slots.len()).filter_map(|number| layout.kinds.get(number));
    if context::has_timers(engine) && kinds.any(numbers_packets) {
        match room.take(&[(Unit::Sram, 2)]) {
            Some(region) => layout.numbers = Some(region.first),
            None => refused.push(Refused::engine(engine, "does not fit: SRAM is full")),
        }
    }
    for op in engine.steps.iter().flat_map(Step::ops) {
        if let OpKind::Table { elements, .. } = &op.kind
            && layout.table(elements).is_none()
        {
            constant(elements, &mut room, &mut layout);
        }
    }
    let spare = [Unit::Sram, Unit::Sdram].map(|unit| {
        let sharing = growing.iter().filter(|(_, other, _)| *other == unit).count() as u32;
        room.left(unit) / sharing.max(1) / unit.aligned() * unit.aligned()
    });
    room.promised = [0; 3];
    for (number, unit, words) in growing {
        let words = words + spare[unit as usize];
        layout.regions[number] = room.take(&[(unit, words.into())]);
    }
    for (number, slot) in slots.iter().enumerate() {
        let unit = layout.kinds.get(number).map(|kind| kind.hash_unit(slot.config));
        if let Some(HashUnit::Prefers(multipliers)) = unit {
            layout.multiplier.get_or_insert(multipliers);
        }
    }
    if refused.is_empty() { Ok(layout) } else { Err(refused) }
}

/// Places a constant array, if there is room.
fn constant(elements: &Arc<[Bits]>, room: &mut Room, layout: &mut Layout) {
    let own = words::count(elements.first().map_or(0, Bits::width));
    let stride = own.next_power_of_two();
    let count = elements.len() * stride;
    let region = room.take(&[Unit::Sram, Unit::Sdram].map(|unit| (unit, count as u64)));
    let Some(Region { unit, first, .. }) = region else { return };
    let mut image = vec![0; count];
    for (element, words) in elements.iter().zip(image.chunks_exact_mut(stride)) {
        let halves = element.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
        words.iter_mut().zip(halves).for_each(|(word, half)| *word = half);
    }
    let (shift, size) = (stride.trailing_zeros(), elements.len() as u32);
    layout.tables.push((elements.clone(), Elements { unit, base: first, shift, size }));
    layout.fixed.push(Image { unit, first, words: image });
}

/// Refuses an offload that does not fit, with the first step that uses it.
fn refuse(engine: &Engine, offload: usize, why: &str) -> Refused {
    let name = &engine.offloads[offload].name;
    refusal(engine, offload, format!("offload `{name}` does not fit: {why}"))
}

/// Refuses an offload of a kind that microengines do not have.
fn unsupported(engine: &Engine, offload: usize, kind: &str) -> Refused {
    let name = &engine.offloads[offload].name;
    refusal(
        engine,
        offload,
        format!("offload `{name}` (kind `{kind}`) is not supported on ixp yet"),
    )
}

fn refusal(engine: &Engine, offload: usize, message: String) -> Refused {
    let name = engine.offloads[offload].name.clone();
    Refused { offload: Some(name), step: first_user(engine, offload), message }
}

/// Places what offloads share: the tables of checks, and the multipliers of the hash unit.
fn shared(
    kind: &dyn KindOnMicroengines,
    config: &Config,
    room: &mut Room,
    layout: &mut Layout,
) -> Result<(), String> {
    for check in kind.checks() {
        let first = &mut layout.checks[*check as usize];
        if first.is_none() {
            let place = room.take(&[(Unit::Sram, 256)]);
            let place = place.ok_or("the table of a check does not fit into SRAM")?;
            *first = Some(place.first);
            let words = check.table();
            layout.fixed.push(Image { unit: place.unit, first: place.first, words });
        }
    }
    if let HashUnit::Requires(own) = kind.hash_unit(config)
        && *layout.multiplier.get_or_insert(own) != own
    {
        return Err("the hash unit has one multiplier for each width, and another offload has \
                    others"
            .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
