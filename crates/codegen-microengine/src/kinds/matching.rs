//! `match`: patterns in the packet, found by an automaton in SRAM.

mod automaton;
mod scan;

use wireloom_codegen::refused::Refused;
use wireloom_offloads::{Config, Instance};

use self::automaton::{CLASSES, automaton};
use self::scan::Scan;
use super::declared::value_width;
use super::packet;
use crate::calls::{Call, Methods};
use crate::kind::{KindOnMicroengines, Wanted};
use crate::operand::{Operand, Target};
use crate::unit::{Region, Unit};
use crate::words::{self, Words};

pub struct Match;

impl KindOnMicroengines for Match {
    fn name(&self) -> &'static str {
        "match"
    }

    fn wanted(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        _: u32,
    ) -> Result<Option<Wanted>, String> {
        let words = automaton(config, instance, 0)?.len();
        Ok(Some(Wanted::growing(&[Unit::Sram], words)))
    }

    fn image(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        _: u64,
    ) -> Result<Vec<u32>, String> {
        automaton(config, instance, region.first)
    }

    fn reaches_packet(&self, _: &str) -> bool {
        true
    }
}

impl Methods for Match {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "scan" => Ok(Some(scan(call))),
            _ => Err(call.unsupported()),
        }
    }
}

/// Scans for the leftmost match. The reply is whether there is one, its offset and its value, which
/// has at most 128 bits.
fn scan(call: &mut Call<'_, '_>) -> Words {
    let classes = call.region().first;
    let width = value_width(call.config);
    let Call { lower, args, .. } = call;
    let (offset, length) = (lower.get(args[0])[0], lower.get(args[1])[0]);
    let routine = Scan::of(lower.code);
    lower.code.set(routine.at, offset);
    lower.code.set(routine.classes, Operand::Number(classes));
    lower.code.set(routine.row, Operand::Number(classes + CLASSES));
    packet::end(lower, routine.end, offset, length);
    lower.code.call(&Scan::ROUTINE);
    let code = &mut *lower.code;
    let (found, at) = (code.register(), code.register());
    let value = words::registers(code, width);
    let done = code.label();
    code.set(found, Operand::Number(0));
    code.set(at, Operand::Number(0));
    value.iter().for_each(|word| code.set(*word, Operand::Number(0)));
    code.alu(Target::None, Operand::None, "B", routine.record.into());
    code.branch("br=0", done);
    let count = value.len() as u32 + 1;
    code.command("sram[read", "$0", routine.record.into(), Operand::Number(0), count);
    code.alu(at, routine.after.into(), "-", Operand::Transfer(0));
    for (index, word) in value.iter().enumerate() {
        code.set(*word, Operand::Transfer(index as u8 + 1));
    }
    code.set(found, Operand::Number(1));
    code.place(done);
    let parts = [(vec![found.into()], 1), (vec![at.into()], 16), (words::of(&value), width)];
    words::concat(code, &parts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wireloom_bits::Bits;
    use wireloom_net::{Frame, PacketInHand};
    use wireloom_offloads::kinds::instantiate;
    use wireloom_offloads::{Entry, EntryKey};

    use super::super::tests::{Stored, call, config, stored, value};
    use super::{CLASSES, Match};
    use crate::kind::KindOnMicroengines;
    use crate::words::{self, bits};

    /// Scans as the microcode does. Returns the offset and the value of a match.
    fn scan(memory: &Stored, text: &[u8], width: u32) -> Option<(u32, Bits)> {
        let word = |at: u32| memory.words[at as usize];
        let classes = memory.region.first;
        let (mut row, mut found) = (classes + CLASSES, None);
        for (at, byte) in (1..).zip(text) {
            let next = word(row + word(classes + u32::from(*byte)));
            row = next & !(1 << 31);
            if next == 0 {
                break;
            }
            if next != row {
                found = Some((word(row), at));
            }
        }
        let (record, after) = found?;
        let first = record as usize + 1;
        let value = bits(width, &memory.words[first..first + words::count(width)]);
        Some((after - word(record), value))
    }

    proptest! {
        #[test]
        fn the_automaton_finds_what_golden_finds(
            width in prop::sample::select(vec![1_u32, 32, 33, 128]),
            patterns in prop::collection::vec("[a-c]{1,5}", 0..8),
            text in "[a-d]{0,40}",
        ) {
            let config = config("match", None, Some(width), &[]);
            let mut instance = instantiate(&config).expect("a valid declaration");
            for (number, pattern) in (0..).zip(patterns) {
                let key = EntryKey::Pattern(pattern.into_bytes());
                let entry = Entry { key, value: value(width, number) };
                instance.load(entry).expect("there is room");
            }
            let frame = Frame { ingress: 0, arrival_ns: 0, bytes: text.as_bytes() };
            let mut packet = PacketInHand::arrive(frame, 0);
            let args = [0, text.len() as u128].map(|number| Bits::new(16, number));
            let reply =
                call(&config, instance.as_mut(), "scan", &args, 0, Some(&mut packet));
            let golden = reply.bit(16 + width).then(|| {
                (reply.slice(width, 16).low_u64() as u32, reply.slice(0, width))
            });
            for memory in stored(&config, instance.as_mut()) {
                assert_eq!(scan(&memory, text.as_bytes(), width), golden);
            }
        }
    }

    #[test]
    fn values_wider_than_128_bits_are_refused() {
        let config = config("match", None, Some(129), &[]);
        let mut instance = instantiate(&config).expect("a valid declaration");
        let refused = Match.wanted(&config, instance.as_mut(), 1 << 20).err();
        assert_eq!(refused.as_deref(), Some("values of more than 128 bits are not supported"));
    }
}
