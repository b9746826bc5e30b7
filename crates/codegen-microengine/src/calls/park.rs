//! Parked packets: `park`. Routines make and remove entries, and copy packets.

use wireloom_codegen::refused::Refused;
use wireloom_ir::Value;
use wireloom_offloads::Config;

use super::super::code::{Operand, Register};
use super::super::layout::Unit;
use super::super::lower::Lower;
use super::super::routines::park::Parking;
use super::super::routines::table::{ENTRY, Find, Sweep, branch_zero, padded};
use super::super::routines::{Routine, give};
use super::super::words::Words;

/// A method of a park whose header is at this quad word.
pub fn call(
    lower: &mut Lower<'_>,
    config: &Config,
    method: &str,
    base: u32,
    args: &[Value],
) -> Result<Words, Refused> {
    let key = config.key.as_ref().map_or(0, |key| key.width());
    let age = config.param("age").low_u64();
    if method == "expire" {
        advance(lower, key, base, age);
        let older = lower.again(args[0]);
        let count = sweep(lower, &older);
        return Ok(vec![lower.code.copy(count.into()).into()]);
    }
    let Find { entry, .. } = Find::of(lower.code);
    advance(lower, key, base, age);
    lower.code.call(&Routine::Find(Unit::Sdram));
    if method == "keep" {
        lower.code.call(&Routine::Enqueue);
    }
    // It is 0 if no packet has the key, or no other has room.
    let code = &mut *lower.code;
    let (none, done, is_done) = (code.label(), code.label(), code.register());
    branch_zero(code, entry, none);
    Parking::of(code).find_buffer(code, entry);
    if method == "keep" {
        code.call(&Routine::Keep);
    } else {
        code.call(&Routine::Dequeue);
        code.call(&Routine::Take);
    }
    code.set(is_done, Operand::Number(1));
    code.branch("br", done);
    code.place(none);
    code.set(is_done, Operand::Number(0));
    code.place(done);
    Ok(vec![is_done.into()])
}

/// Sets the time of the park to that of the packet, and removes what has grown too old.
fn advance(lower: &mut Lower<'_>, key: u32, base: u32, age: u64) {
    let code = &mut *lower.code;
    let (at, table) = (Parking::of(code).at, Find::of(code).table);
    code.set(at, Operand::Number(ENTRY + padded(key)));
    code.set(table, Operand::Number(base));
    code.call(&Routine::Advance(Unit::Sdram));
    if age != 0 {
        let age = [age as u32, (age >> 32) as u32].map(Operand::Number);
        sweep(lower, &age.to_vec());
    }
}

/// Removes what is older. Returns the number of packets.
fn sweep(lower: &mut Lower<'_>, limit: &Words) -> Register {
    let sweep = Sweep::of(lower.code);
    lower.code.set(sweep.most, Operand::Number(u32::MAX));
    give(lower.code, sweep.limit, limit);
    lower.code.call(&Routine::SweepParked);
    sweep.count
}
