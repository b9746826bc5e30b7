//! `counter`: the numbers of packets and of bytes, 64 bits each.
//!
//! ```text
//! word  0        1      2             3
//!       packets  bytes  packets high  bytes high
//! ```
//!
//! Counts of overlapping packets commute. Version 1 locks the address in SRAM while it changes the
//! low words. The memories of version 2 add to a word and return its old value, so nothing is
//! locked there. The high words are accessed only after a low word has wrapped around.

use wireloom_codegen::refused::Refused;
use wireloom_isa::microengine::Version;
use wireloom_offloads::{Config, Instance};

use super::indexed::Indexed;
use crate::calls::{Call, Methods};
use crate::code::{Code, Label};
use crate::kind::{KindOnMicroengines, Wanted};
use crate::operand::{Operand, Register, Target};
use crate::unit::{Region, Unit};
use crate::words::Words;

pub struct Counter;

/// The distance of the high words from the low words.
const HIGH: u32 = 2;

/// The first of two transfer registers of version 2 that nothing else uses.
const FIRST: u8 = 12;

const PAIRS: Indexed = Indexed { words: 4, width: 128 };

impl KindOnMicroengines for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn wanted(
        &self,
        config: &Config,
        _: &mut dyn Instance,
        _: u32,
    ) -> Result<Option<Wanted>, String> {
        PAIRS.wanted(config, &[Unit::Sram])
    }

    /// The scratchpad of version 1 has no locks. It adds 1 to a word, but does not return the old
    /// value, so a program cannot know that the low half of a number wraps around.
    fn scratchpad_words(&self, config: &Config, version: Version) -> Option<u64> {
        PAIRS.all(config).filter(|_| version == Version::Two)
    }

    fn image(
        &self,
        _: &Config,
        instance: &mut dyn Instance,
        region: Region,
        _: u64,
    ) -> Result<Vec<u32>, String> {
        Ok(PAIRS.image(instance, region, |words| {
            words.rotate_left(2);
            words.swap(1, 2);
        }))
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        word: &dyn Fn(u32) -> u32,
    ) {
        PAIRS.read_back(config, instance, region, word, |words| {
            words.swap(1, 2);
            words.rotate_left(2);
        });
    }

    fn is_atomic(&self) -> bool {
        true
    }

    fn keeps_registers(&self, method: &str) -> bool {
        method == "count"
    }
}

impl Methods for Counter {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "count" => count(call),
            _ => return Err(call.unsupported()),
        }
        Ok(None)
    }
}

/// Counts a packet and its bytes.
fn count(call: &mut Call<'_, '_>) {
    let elements = PAIRS.elements(call.config, call.region());
    let Call { lower, args, .. } = call;
    let (index, bytes) = (lower.get(args[0]), lower.get(args[1]));
    let adds = lower.layout.adds;
    let code = &mut *lower.code;
    let outside = code.label();
    let at = elements.offset(code, &index, outside);
    let bytes = code.copy(bytes[0]);
    match adds {
        false => locked(code, elements.base, at, bytes),
        true => added(code, elements.unit, elements.base, at, bytes, outside),
    }
    code.place(outside);
}

/// Adds one to the number of packets and the bytes to the number of bytes. Branches to `none` if
/// neither low word wraps around; otherwise returns the carries.
fn sums(
    code: &mut Code,
    to: [Target; 2],
    old: [Operand; 2],
    bytes: Register,
    none: Label,
) -> [Register; 2] {
    let carries = [code.register(), code.register()];
    let zero = Operand::Number(0);
    let more = [Operand::Number(1), bytes.into()];
    for (((to, old), more), carry) in to.into_iter().zip(old).zip(more).zip(carries) {
        code.chain(&[to, carry.into()], "+", "+carry", &[old, zero], &[more, zero]);
    }
    code.alu(Target::None, carries[0].into(), "OR", carries[1].into());
    code.branch("br=0", none);
    carries
}

fn locked(code: &mut Code, base: u32, at: Register, bytes: Register) {
    let base = Operand::from(code.copy(Operand::Number(base)));
    code.command("sram[read_lock", "$0", base, at.into(), HIGH);
    let old = [0, 1].map(|word| code.copy(Operand::Transfer(word)).into());
    let (sum, done) = ([code.register(), code.register()], code.label());
    let carries = sums(code, sum.map(Target::from), old, bytes, done);
    let high = code.register();
    code.alu(high, at.into(), "+", Operand::Number(HIGH));
    code.command("sram[read", "$0", base, high.into(), HIGH);
    for (word, carry) in (0..).zip(carries) {
        let old = code.copy(Operand::Transfer(word));
        code.alu(Target::Transfer(word), old.into(), "+", carry.into());
    }
    code.command("sram[write", "$0", base, high.into(), HIGH);
    code.place(done);
    for (word, sum) in (0..).zip(sum) {
        code.set(Target::Transfer(word), sum.into());
    }
    code.command("sram[write_unlock", "$0", base, at.into(), HIGH);
}

fn added(code: &mut Code, unit: Unit, base: u32, at: Register, bytes: Register, done: Label) {
    let word = code.register();
    code.alu(word, at.into(), "+", Operand::Number(base));
    let transfers = [FIRST, FIRST + 1];
    let [packet, length] = transfers.map(Target::Transfer);
    code.set(packet, Operand::Number(1));
    code.set(length, bytes.into());
    code.add(unit.name(), transfers, word);
    let carries = sums(code, [Target::None; 2], transfers.map(Operand::Transfer), bytes, done);
    code.alu(word, word.into(), "+", Operand::Number(HIGH));
    for (target, carry) in [packet, length].into_iter().zip(carries) {
        code.set(target, carry.into());
    }
    code.add(unit.name(), transfers, word);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wireloom_bits::Bits;
    use wireloom_isa::microengine::Version;
    use wireloom_offloads::kinds::instantiate;
    use wireloom_offloads::{Entry, EntryKey};

    use super::super::tests::{config, round_trip, stored};
    use super::Counter;
    use crate::kind::KindOnMicroengines;

    fn entry(index: u64, packets: u64, bytes: u64) -> Entry {
        let value = Bits::new(64, packets.into()).concat(&Bits::new(64, bytes.into()));
        Entry { key: EntryKey::Index(index), value }
    }

    proptest! {
        #[test]
        fn counts_come_back_from_every_memory(
            counts in prop::collection::vec((0_u64..6, any::<u64>(), any::<u64>()), 0..10),
        ) {
            let config = config("counter", None, None, &[("size", 6)]);
            let mut instance = instantiate(&config).expect("a valid declaration");
            for (index, packets, bytes) in counts {
                instance.load(entry(index, packets, bytes)).expect("an element");
            }
            round_trip(&config, instance.as_mut(), |_, _| {});
        }
    }

    /// The methods change the low words of both numbers by one command.
    #[test]
    fn the_low_words_come_first() {
        let config = config("counter", None, None, &[("size", 2)]);
        let mut instance = instantiate(&config).expect("a valid declaration");
        instance.load(entry(1, 0x0a_0000_0001, 0x0b_0000_0002)).expect("an element");
        for memory in stored(&config, instance.as_mut()) {
            let words = &memory.words[memory.region.first as usize..][..8];
            assert_eq!(words, [0, 0, 0, 0, 1, 2, 0x0a, 0x0b]);
        }
    }

    #[test]
    fn only_version_2_has_counters_in_the_scratchpad() {
        let config = config("counter", None, None, &[("size", 6)]);
        assert_eq!(Counter.scratchpad_words(&config, Version::One), None);
        assert_eq!(Counter.scratchpad_words(&config, Version::Two), Some(24));
    }
}
