//! Values of a step in registers, in the frame, in the scratchpad and in local memory.

use wireloom_ir::{Op, Value};

use super::lower::{Lower, Place};
use super::operand::{Operand, Register};
use super::spill_slots::bytes;
use super::step_facts::{computes, is_exit};
use super::words::{self, MOST, Words};

/// The most words that one command reads.
const READ: u32 = 8;

impl Lower<'_> {
    /// Writes words of the frame, of the scratchpad, or of local memory.
    pub(super) fn store(&mut self, first: u32, all: &[Operand]) {
        if let Some(local) = self.homes.local(first) {
            for (word, value) in (local..).zip(all) {
                self.code.store_local(word, *value);
            }
            return;
        }
        for (index, part) in all.chunks(8).enumerate() {
            let at = Operand::Number(first + 8 * index as u32);
            self.state.store(self.code, at, part);
        }
    }

    /// Writes a value to its bytes of a word that it shares with others.
    pub(super) fn store_part(&mut self, word: u32, byte: u32, value: Value) {
        let size = bytes(self.width(value));
        let part = self.get(value)[0];
        let part = self.in_register(part);
        let all = self.load(word, 1)[0];
        self.code.load_field(all, byte..byte + size, part);
        self.store(word, &[all.into()]);
    }

    /// Reads words of the frame, of the scratchpad, or of local memory.
    pub(super) fn load(&mut self, first: u32, count: usize) -> Vec<Register> {
        if let Some(local) = self.homes.local(first) {
            return (local..local + count as u32).map(|word| self.code.load_local(word)).collect();
        }
        let transfer = match self.code.here().and_then(|here| here.transfer_of(first, count as u32))
        {
            Some(transfer) => transfer,
            None if count <= 8 => {
                // The command also reads nearby words that the next operations read.
                let (from, words) = self.with_near(first, count as u32);
                self.state.fetch(self.code, from, words) + (first - from) as u8
            }
            None => {
                let parts =
                    (0..count).step_by(8).map(|at| (first + at as u32, (count - at).min(8)));
                return parts.flat_map(|(at, part)| self.load(at, part)).collect();
            }
        };
        let registers = (transfer..transfer + count as u8).map(Operand::Transfer);
        registers.map(|register| self.code.copy(register)).collect()
    }

    /// The words of a value.
    pub fn get(&mut self, value: Value) -> Words {
        let place = self.values.get(&value).cloned().unwrap_or_default();
        if let Some(words) = place.words {
            return words;
        }
        let count = words::count(self.width(value));
        let words = words::of(&self.load(place.slot.unwrap_or_default(), count));
        self.values.entry(value).or_default().words = Some(words.clone());
        self.take_near();
        words
    }

    /// Returns the words of a value, read from the frame again, since a routine has been called.
    pub fn again(&mut self, value: Value) -> Words {
        if let Some(place) = self.values.get_mut(&value)
            && place.slot.is_some()
        {
            place.words = None;
        }
        self.get(value)
    }

    /// Returns a word in a register.
    pub fn in_register(&mut self, word: Operand) -> Register {
        match word {
            Operand::Register(register) => register,
            other => self.code.copy(other),
        }
    }

    pub(super) fn define(&mut self, op: &Op, words: Words) {
        if let Some(result) = op.results.first() {
            self.values.insert(*result, Place { words: Some(words), ..Place::default() });
        }
    }

    /// Returns the words of the frame to read together with these: words of values that the next
    /// operations use before any command or branch, as far as one command reads them.
    fn with_near(&self, first: u32, count: u32) -> (u32, u32) {
        let (mut first, mut end) = (first, first + count);
        for op in &self.ops[self.at..] {
            if !computes(op) && !is_exit(op) {
                break;
            }
            for value in op.kind.operands() {
                let Some(place) = self.values.get(&value) else { continue };
                let (None, Some(slot)) = (&place.words, place.slot) else { continue };
                let count = words::count(self.width(value)) as u32;
                let (low, high) = (first.min(slot), end.max(slot + count));
                if high - low <= READ {
                    (first, end) = (low, high);
                }
            }
        }
        // Add words of values that are used later, as far as registers are free.
        let mut room = self.room_for(count);
        for (_, slot, count) in self.wanted_later() {
            let (low, high) = (first.min(slot), end.max(slot + count));
            if high - low <= READ && count <= room {
                (first, end) = (low, high);
                room -= count;
            }
        }
        (first, end - first)
    }

    /// Returns the values in the frame or in the scratchpad that are used later, with the first
    /// word and the number of words of each.
    fn wanted_later(&self) -> Vec<(Value, u32, u32)> {
        if !self.reads_first {
            return Vec::new();
        }
        let is_later = |value: &Value| {
            self.uses.get(value).is_some_and(|uses| uses.iter().any(|used| *used > self.at))
        };
        let mut wanted: Vec<_> = self
            .values
            .iter()
            .filter(|(value, place)| place.words.is_none() && is_later(value))
            .filter_map(|(value, place)| {
                let count = words::count(self.width(*value)) as u32;
                Some((*value, place.slot?, count)).filter(|_| count as usize <= MOST)
            })
            .collect();
        wanted.sort_unstable_by_key(|(value, ..)| value.index());
        wanted
    }

    /// Returns the number of free registers for values, if `more` words are read as well.
    fn room_for(&self, more: u32) -> u32 {
        let all: usize = self.values.values().map(Place::registers).sum();
        (self.kept / 2).saturating_sub(all + more as usize) as u32
    }

    /// Copies values that the last command has also read to registers, as far as registers are
    /// free.
    fn take_near(&mut self) {
        let mut room = self.room_for(0);
        for (value, slot, count) in self.wanted_later() {
            let here = self.code.here().and_then(|here| here.transfer_of(slot, count));
            let Some(first) = here.filter(|_| count <= room) else { continue };
            room -= count;
            let words = (first..first + count as u8).map(Operand::Transfer);
            let words = words.map(|word| self.code.copy(word).into()).collect();
            self.values.entry(value).or_default().words = Some(words);
        }
    }
}
