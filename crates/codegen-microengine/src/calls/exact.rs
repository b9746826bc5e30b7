//! Tables from keys to values: `exact`. Routines find, make and remove entries.

use wireloom_codegen::refused::Refused;
use wireloom_ir::{Op, Value};
use wireloom_offloads::Config;

use super::super::code::{Operand, Register, Target};
use super::super::layout::Unit;
use super::super::lower::Lower;
use super::super::routines::table::{ENTRY, Find, Sweep, branch_zero, padded, read, write};
use super::super::routines::{Routine, give};
use super::super::wide::is_wide;
use super::super::words::{self, Words};
use super::array::{add, lanes};

/// A method of a table.
pub fn call(
    lower: &mut Lower<'_>,
    op: &Op,
    config: &Config,
    method: &str,
    (unit, base): (Unit, u32),
    args: &[Value],
) -> Result<Option<Words>, Refused> {
    let age = config.param("age").low_u64();
    let width = config.value.as_ref().map_or(0, |value| value.width());
    if method == "expire" {
        return Ok(Some(expire(lower, (unit, base), age, args[0])));
    }
    let value_at = ENTRY + padded(lower.width(args[0]));
    let changes = !matches!(method, "lookup" | "age");
    find(lower, (unit, base), changes);
    let Find { entry, age: passed, .. } = Find::of(lower.code);
    let zero = Operand::Number(0);
    // What a branch uses comes from the frame before it.
    let given = args.get(1).map(|value| lower.again(*value)).unwrap_or_default();
    let code = &mut *lower.code;
    let (found, done) = (code.register(), code.label());
    if method == "age" {
        // An entry that is too old has an age, and is not there.
        let known = [code.copy(zero), code.copy(zero)];
        code.set(found, zero);
        branch_zero(code, entry, done);
        known.iter().zip(passed).for_each(|(known, word)| code.set(*known, word.into()));
        code.set(found, Operand::Number(1));
        code.place(done);
        let parts = [(vec![found.into()], 1), (words::of(&known), 64)];
        return Ok(Some(words::concat(code, &parts)));
    }
    let value = words::registers(code, width);
    if matches!(method, "insert" | "accumulate") {
        let reply = insert(lower, unit, config, method, &value, (&given, value_at));
        return Ok(answer(lower, op, reply));
    }
    branch_zero(code, entry, done);
    match method {
        "update" => {
            write(code, unit, entry, value_at, &given);
            code.call(&Routine::Touch(unit));
        }
        _ => {
            if method != "lookup" {
                let routine =
                    if method == "touch" { Routine::Touch(unit) } else { Routine::Unlink(unit) };
                code.call(&routine);
            }
            for (to, word) in
                value.iter().zip(read(code, unit, entry, value_at, value.len() as u32))
            {
                code.set(*to, word.into());
            }
        }
    }
    // A routine keeps no register of its caller.
    code.set(found, Operand::Number(1));
    let end = code.label();
    code.branch("br", end);
    code.place(done);
    code.set(found, zero);
    value.iter().for_each(|word| code.set(*word, zero));
    code.place(end);
    let parts = [(vec![found.into()], 1), (words::of(&value), width)];
    let reply = match method {
        "update" => vec![found.into()],
        _ => words::concat(code, &parts),
    };
    Ok(answer(lower, op, reply))
}

/// A reply that may be too wide for registers: then it goes to the frame.
fn answer(lower: &mut Lower<'_>, op: &Op, reply: Words) -> Option<Words> {
    let width = op.results.first().map_or(0, |result| lower.width(*result));
    if !is_wide(width) {
        return Some(reply);
    }
    let slot = lower.slot(op)?;
    lower.store(slot, &reply);
    None
}

/// Finds the key in the arguments, whose bucket is known. It stays there.
fn find(lower: &mut Lower<'_>, (unit, base): (Unit, u32), changes: bool) {
    let find = Find::of(lower.code);
    lower.code.set(find.table, Operand::Number(base));
    if changes {
        lower.code.call(&Routine::Advance(unit));
    }
    lower.code.call(&Routine::Find(unit));
}

/// Removes what is older, but so many entries at most.
fn sweep(lower: &mut Lower<'_>, unit: Unit, limit: &Words, most: u32) -> Register {
    let sweep = Sweep::of(lower.code);
    lower.code.set(sweep.most, Operand::Number(most));
    give(lower.code, sweep.limit, limit);
    lower.code.call(&Routine::Sweep(unit));
    sweep.count
}

fn constant(number: u64) -> Words {
    vec![Operand::Number(number as u32), Operand::Number((number >> 32) as u32)]
}

/// `expire`: entries that have expired by themselves do not count.
fn expire(lower: &mut Lower<'_>, (unit, base): (Unit, u32), age: u64, older: Value) -> Words {
    let find = Find::of(lower.code);
    lower.code.set(find.table, Operand::Number(base));
    lower.code.call(&Routine::Advance(unit));
    if age != 0 {
        sweep(lower, unit, &constant(age), u32::MAX);
    }
    let older = lower.again(older);
    let count = sweep(lower, unit, &older, u32::MAX);
    vec![lower.code.copy(count.into()).into()]
}

/// `insert` and `accumulate`: ok, existed and the value.
fn insert(
    lower: &mut Lower<'_>,
    unit: Unit,
    config: &Config,
    method: &str,
    value: &[Register],
    (given, value_at): (&Words, u32),
) -> Words {
    let zero = Operand::Number(0);
    let one = Operand::Number(1);
    let width = config.value.as_ref().map_or(0, |value| value.width());
    let age = config.param("age").low_u64();
    let find = Find::of(lower.code);
    let entry = find.entry;
    let count = value.len() as u32;
    let [ok, existed] = [(); 2].map(|()| lower.code.register());
    let [missing, full, end] = [(); 3].map(|()| lower.code.label());
    branch_zero(lower.code, entry, missing);
    let old = read(lower.code, unit, entry, value_at, count);
    if method == "accumulate" {
        let lanes = config.value.as_ref().map_or_else(Vec::new, lanes);
        let sum = add(lower, &words::of(&old), given, &lanes);
        write(lower.code, unit, entry, value_at, &sum);
    }
    let code = &mut *lower.code;
    code.call(&Routine::Touch(unit));
    for (to, word) in value.iter().zip(read(code, unit, entry, value_at, count)) {
        code.set(*to, word.into());
    }
    code.set(ok, one);
    code.set(existed, one);
    code.branch("br", end);
    code.place(missing);
    // The value waits in the frame, after the longest key.
    const LATER: u32 = super::super::frame::ARGUMENTS + 40;
    lower.store(LATER, given);
    let code = &mut *lower.code;
    code.call(&Routine::Enter(unit));
    if age != 0 {
        let there = code.label();
        code.alu(Target::None, Operand::None, "B", entry.into());
        code.branch("br!=0", there);
        // One is enough, so that others do not wait for long.
        sweep(lower, unit, &constant(age), 1);
        let code = &mut *lower.code;
        code.set(find.old, zero);
        code.call(&Routine::Enter(unit));
        code.place(there);
    }
    branch_zero(lower.code, entry, full);
    let state = lower.state;
    let given = state.load(lower.code, Operand::Number(LATER), count as usize);
    let code = &mut *lower.code;
    write(code, unit, entry, value_at, &words::of(&given));
    value.iter().zip(given).for_each(|(to, word)| code.set(*to, word.into()));
    code.set(ok, one);
    code.set(existed, zero);
    code.branch("br", end);
    code.place(full);
    value.iter().for_each(|word| code.set(*word, zero));
    code.set(ok, zero);
    code.set(existed, zero);
    code.place(end);
    let parts = [(vec![ok.into()], 1), (vec![existed.into()], 1), (words::of(value), width)];
    words::concat(code, &parts)
}
