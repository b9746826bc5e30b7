//! Counters: the numbers of packets and of bytes, 64 bits each.
//!
//! ```text
//! word  0        1      2             3
//!       packets  bytes  packets high  bytes high
//! ```
//!
//! Counts of packets that overlap may come in any order. Version 1 locks the address in SRAM while it changes the
//! low words. The memories of version 2 add to a word and return it as it was, so nothing is locked there. The high
//! words are touched only after a low one has wrapped around.

use wireloom_ir::Value;

use super::super::code::{Code, Label, Operand, Register, Target};
use super::super::layout::{Place, Unit};
use super::super::lower::Lower;
use super::element;

/// Words from the low ones to the high ones.
const HIGH: u32 = 2;

/// Transfer registers of version 2 that nothing else uses.
const FIRST: u8 = 12;

/// Counts a packet and its bytes.
pub fn count(lower: &mut Lower<'_>, place: Place, index: Value, bytes: Value) {
    let Place::Elements { unit, base, shift, size } = place else { return };
    let (index, bytes) = (lower.get(index), lower.get(bytes));
    let adds = lower.layout.adds;
    let code = &mut *lower.code;
    let outside = code.label();
    let at = element(code, &index, size, shift, outside);
    let bytes = code.copy(bytes[0]);
    match adds {
        false => locked(code, base, at, bytes),
        true => added(code, unit, base, at, bytes, outside),
    }
    code.place(outside);
}

/// Adds one and the bytes to two words. Branches if neither wraps around; returns the carries otherwise.
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
