//! Tables whose entries end at ticks. The machine works on them between packets, when the chip is
//! empty: it writes the time of the last tick, and removes entries that have ended if no step claims
//! them.
//!
//! A removed entry goes to the free entries and is marked. The control plane still shows it until
//! the time of the table, which is that of the last call that changed it, has reached its end.

use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::Config;
use wireloom_offloads::time::{NEVER, deadline};

use super::keyed::{BACK, NEWER, OLDER, TOUCHED, by_age, long, time_ns};
use crate::code::{Code, NOTHING, Operand, Register};
use crate::memory::Memory;
use crate::words::Words;

/// Bytes of a duration.
pub const DURATION: u32 = 8;

/// The mark of a free entry that has ended, in the word with the address of the newer entry.
const ENDED: u32 = 1;

/// The memory of a chip without packets.
pub trait ChipMemory {
    /// Returns the word at an address.
    fn get(&self, address: u32) -> u32;

    /// Changes the word at an address.
    fn set(&mut self, address: u32, word: u32);
}

/// The parts of a table whose entries end at ticks.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    /// The address of the table.
    base: u32,
    /// Bytes of an entry before its duration.
    duration: u32,
    /// The address of the time of the last tick.
    last: u32,
    pub tick_ns: u64,
    /// Whether entries end without a step that claims them.
    expires: bool,
}

impl Ticks {
    /// Returns the parts of a table at an address, if its entries end at ticks. `duration` is the
    /// offset of the duration in an entry.
    ///
    /// # Errors
    /// If the memory is too small.
    pub fn of(
        config: &Config,
        base: u32,
        duration: u32,
        memory: &mut Memory,
    ) -> Result<Option<Self>, String> {
        if !config.has_ticks() {
            return Ok(None);
        }
        let last = memory.put(vec![0, 0])?;
        let tick_ns = config.param("tick").low_u64();
        // Timers have no values, and stay until a step claims them.
        let expires = !config.has_step() && config.value.is_some();
        Ok(Some(Self { base, duration, last, tick_ns, expires }))
    }

    /// Loads the duration of an entry.
    pub fn duration(&self, code: &mut Code, entry: Register) -> Words {
        let at = self.duration as i32;
        vec![code.load(entry, at).into(), code.load(entry, at + 4).into()]
    }

    /// Stores the duration of an entry.
    pub fn set_duration(&self, code: &mut Code, entry: Register, duration: &[Operand]) {
        for (place, word) in (0..).zip(duration) {
            code.store(*word, entry, self.duration as i32 + 4 * place);
        }
    }

    /// Returns whether the time of an entry is over: its end is not after the last tick, and its
    /// last touch is before that tick.
    pub fn is_over(&self, code: &mut Code, entry: Register) -> Operand {
        let older = code.load(entry, OLDER as i32);
        let ages = code.two(Do::Xor, older.into(), entry.into());
        let ages = code.is_set(ages);
        let (touched, end) = self.end(code, entry);
        let last = code.in_register(Operand::Number(self.last));
        let tick: Words = [0, 4].map(|at| code.load(last, at).into()).to_vec();
        let is_later = code.is_less(&[tick[0], tick[1], NOTHING], &end);
        let is_before = code.is_zero(is_later);
        let was_before = code.is_less(&touched, &tick);
        let over = code.two(Do::And, is_before, was_before);
        code.two(Do::And, over, ages)
    }

    /// Returns the last touch of an entry, and in three words its end.
    pub fn end(&self, code: &mut Code, entry: Register) -> (Words, Words) {
        let at = TOUCHED as i32;
        let touched: Words = [at, at + 4].map(|at| code.load(entry, at).into()).to_vec();
        let duration = self.duration(code, entry);
        let long = |words: &[Operand]| [words, &[NOTHING]].concat();
        let end = code.sum(&long(&touched), &long(&duration), 96, NOTHING);
        (touched, end)
    }

    /// Advances the table to engine time.
    pub fn pass(&self, now_ns: u64, memory: &mut dyn ChipMemory) {
        // No entry ends at the last nanosecond.
        let tick = (now_ns / self.tick_ns * self.tick_ns).min(NEVER - 1);
        memory.set(self.last, tick as u32);
        memory.set(self.last + 4, (tick >> 32) as u32);
        if !self.expires {
            return;
        }
        let mut word = |at: u32| memory.get(at);
        let mut entries = by_age(self.base, &mut word);
        entries.retain(|entry| self.end_ns(*entry, &mut word) <= now_ns);
        entries.into_iter().for_each(|entry| self.remove(entry, memory));
    }

    /// Returns the earliest time at which an entry ends, in nanoseconds; `None` if all stay.
    pub fn next_end(&self, word: &mut dyn FnMut(u32) -> u32) -> Option<u64> {
        let entries = by_age(self.base, word).into_iter();
        entries.map(|entry| self.end_ns(entry, word)).min().filter(|end| *end != NEVER)
    }

    /// Returns the addresses of removed entries that end after the time of the table.
    pub fn ended(&self, word: &mut dyn FnMut(u32) -> u32) -> Vec<u32> {
        let (mut all, time_ns) = (Vec::new(), time_ns(self.base, word));
        let mut entry = if self.expires { word(self.base) } else { 0 };
        while entry != 0 {
            if word(entry + NEWER) == ENDED && self.end_ns(entry, word) > time_ns {
                all.push(entry);
            }
            entry = word(entry);
        }
        all
    }

    /// Returns the duration of an entry, in nanoseconds.
    pub fn duration_ns(&self, entry: u32, word: &mut dyn FnMut(u32) -> u32) -> u64 {
        long(entry + self.duration, word)
    }

    fn end_ns(&self, entry: u32, word: &mut dyn FnMut(u32) -> u32) -> u64 {
        deadline(self.tick_ns, long(entry + TOUCHED, word), self.duration_ns(entry, word))
    }

    /// Takes an entry out of its bucket and out of the list by age, and adds it to the free
    /// entries.
    fn remove(&self, entry: u32, memory: &mut dyn ChipMemory) {
        let [older, newer, back, next] = [OLDER, NEWER, BACK, 0].map(|at| memory.get(entry + at));
        memory.set(older + NEWER, newer);
        memory.set(newer + OLDER, older);
        memory.set(back, next);
        if next != 0 {
            memory.set(next + BACK, back);
        }
        memory.set(entry, memory.get(self.base));
        memory.set(entry + BACK, 0);
        memory.set(entry + NEWER, ENDED);
        memory.set(self.base, entry);
    }
}
