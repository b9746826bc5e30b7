//! Tables of entries with keys: `exact` and `park`. The routines of tables.s find and order
//! entries; values are read and written in line.

use wireloom_ir::Value;
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::Config;

use super::super::code::{Code, NOTHING, Operand, Register, ZERO};
use super::super::frame;
use super::super::layout::keyed::KEY;
use super::super::lower::Lower;
use super::super::words::{self, Words};
use super::array;

/// A method of an `exact` table at an address.
pub fn exact(
    lower: &mut Lower<'_>,
    base: u32,
    config: &Config,
    method: &str,
    args: &[Value],
) -> Words {
    let table = Operand::Number(base);
    if method == "expire" {
        return expire(lower, table, args[0]);
    }
    let fields = config.value.as_ref().map_or(&[][..], |layout| &layout.fields);
    let width: u32 = fields.iter().map(|(_, width)| width).sum();
    let count = words::count(width);
    let at = KEY as i32 + 4 * lower.get(args[0]).len() as i32;
    let value = |code: &mut Code, entry: Register| -> Words {
        (0..count).map(|word| code.load(entry, at + 4 * word as i32).into()).collect()
    };
    let given: Words = args.get(1).map(|value| lower.get(*value)).unwrap_or_default();
    let key = lower.get(args[0]);
    lower.store(frame::WORK, &key);
    match method {
        "lookup" | "touch" | "remove" => {
            let routine = match method {
                "lookup" if config.param("age").is_zero() => "table_find",
                "lookup" => "table_age",
                _ => "table_begin",
            };
            let entry = lower.code.call(routine, &[table], 1)[0];
            let words = lower.or_zero(count, |lower, done| {
                lower.unless(entry, done);
                let entry = lower.code.in_register(entry);
                let words = value(&mut lower.code, entry);
                match method {
                    "touch" => _ = lower.code.call("table_touch", &[table, entry.into()], 0),
                    "remove" => _ = lower.code.call("table_remove", &[table, entry.into()], 0),
                    _ => {}
                }
                Some(words)
            });
            let is_found = lower.code.is_set(entry);
            lower.code.concat(&[(vec![is_found], 1), (words, width)])
        }
        "age" => {
            let entry = lower.code.call("table_age", &[table], 1)[0];
            let words = lower.or_zero(2, |lower, done| {
                lower.unless(entry, done);
                Some(lower.load(frame::WORK, 2))
            });
            let is_found = lower.code.is_set(entry);
            lower.code.concat(&[(vec![is_found], 1), (words, 64)])
        }
        "update" => {
            let entry = lower.code.call("table_begin", &[table], 1)[0];
            lower.or_zero(0, |lower, done| {
                lower.unless(entry, done);
                let entry = lower.code.in_register(entry);
                store(&mut lower.code, entry, at, &given);
                lower.code.call("table_touch", &[table, entry.into()], 0);
                None
            });
            vec![lower.code.is_set(entry)]
        }
        _ => {
            // `insert`, or `accumulate`.
            let found = lower.code.call("table_begin", &[table], 2);
            let (there, end) = (lower.code.in_register(found[0]), found[1]);
            let entry = lower.code.fresh(there);
            let words: Vec<_> = (0..count).map(|_| lower.code.fresh(NOTHING)).collect();
            let (absent, done) = (lower.code.label(), lower.code.label());
            lower.code.branch(Do::Beq, there, ZERO, &absent);
            let before = value(&mut lower.code, there);
            let after = match method {
                "insert" => before,
                _ => {
                    let after = array::add(lower, &before, &given, width, fields);
                    store(&mut lower.code, there, at, &after);
                    after
                }
            };
            copy(&mut lower.code, &words, &after);
            lower.code.call("table_touch", &[table, there.into()], 0);
            lower.code.jump(&done);
            lower.code.place(&absent);
            let made = lower.code.call("table_enter", &[table, end], 1)[0];
            lower.code.copy(entry, made);
            lower.unless(made, &done);
            store(&mut lower.code, entry, at, &given);
            copy(&mut lower.code, &words, &given);
            lower.code.place(&done);
            let words = words.into_iter().map(Operand::from).collect();
            let [is_there, existed] =
                [entry, there].map(|entry| vec![lower.code.is_set(entry.into())]);
            lower.code.concat(&[(is_there, 1), (existed, 1), (words, width)])
        }
    }
}

fn store(code: &mut Code, entry: Register, at: i32, words: &[Operand]) {
    for (place, word) in words.iter().enumerate() {
        code.store(*word, entry, at + 4 * place as i32);
    }
}

fn copy(code: &mut Code, to: &[Register], words: &[Operand]) {
    to.iter().zip(words).for_each(|(to, word)| code.copy(*to, *word));
}

/// Removes what is older than an age; returns the number.
fn expire(lower: &mut Lower<'_>, table: Operand, older_than: Value) -> Words {
    let age = lower.get(older_than);
    lower.code.call("table_advance", &[table], 0);
    lower.code.call("table_sweep", &[table, age[0], age[1]], 1)
}

/// A method of parked packets at an address.
pub fn park(lower: &mut Lower<'_>, base: u32, method: &str, args: &[Value]) -> Words {
    let table = Operand::Number(base);
    if method == "expire" {
        return expire(lower, table, args[0]);
    }
    if lower.instance.reply_width.is_some() {
        // A called engine has no packet.
        lower.code.call("table_advance", &[table], 0);
        return vec![NOTHING];
    }
    let key = lower.get(args[0]);
    lower.store(frame::WORK, &key);
    let is_keep = method == "keep";
    let entry = if is_keep {
        lower.code.call("table_advance", &[table], 0);
        let end = lower.code.call("table_tail", &[table], 2)[1];
        lower.code.call("table_enter", &[table, end], 1)[0]
    } else {
        lower.code.call("table_begin", &[table], 1)[0]
    };
    lower.or_zero(0, |lower, done| {
        lower.unless(entry, done);
        lower.code.call(if is_keep { "park_keep" } else { "park_take" }, &[table, entry], 0);
        if !is_keep {
            lower.code.call("table_remove", &[table, entry], 0);
        }
        None
    });
    vec![lower.code.is_set(entry)]
}
