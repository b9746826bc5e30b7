//! `exact`: tables from keys to values in SRAM or SDRAM. Routines find, make and remove entries.

mod bucket;
pub mod contents;
pub mod routines;
pub mod ticks;

use wireloom_codegen::refused::Refused;
use wireloom_ir::Op;
use wireloom_offloads::time::NEVER;
use wireloom_offloads::{Config, Instance};

use self::routines::{
    Advance, ENTRY, Enter, Find, Over, Sweep, Touch, Unlink, padded, set_duration,
};
use super::array::{add, lanes};
use super::declared::{size, value_width};
use super::hash;
use crate::calls::{Call, Methods};
use crate::frame::ARGUMENTS;
use crate::kind::{HashUnit, KindOnMicroengines, Wanted};
use crate::lower::Lower;
use crate::memory::{branch_zero, read, write};
use crate::operand::{Operand, Register, Target};
use crate::routines::give;
use crate::unit::{Region, Unit};
use crate::words::{self, Words, is_wide};

pub use bucket::{bucket, hash as bucket_hash};

/// The first word of the frame after the longest key. A call stores values there before it calls a
/// routine.
pub const LATER: u32 = ARGUMENTS + 40;

pub struct Exact;

impl KindOnMicroengines for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn wanted(
        &self,
        config: &Config,
        _: &mut dyn Instance,
        _: u32,
    ) -> Result<Option<Wanted>, String> {
        Ok(Some(wanted(contents::wanted(config)?)))
    }

    fn hash_unit(&self, _: &Config) -> HashUnit {
        HashUnit::Prefers(hash::default_multipliers())
    }

    fn image(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        multiplier: u64,
    ) -> Result<Vec<u32>, String> {
        let (unit, base) = table(region);
        Ok(spaced(unit, contents::image(config, instance, base, multiplier)?))
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        word: &dyn Fn(u32) -> u32,
    ) {
        let (unit, base) = table(region);
        let spacing = spacing(unit) as u32;
        contents::read_back(config, instance, base, &|at| word(spacing * at));
    }

    fn pass_tick(&self, config: &Config, region: Region, now_ns: u64, words: &mut [u32]) {
        ticks::pass_tick(config, region, now_ns, words);
    }

    fn next_due(&self, config: &Config, region: Region, word: &dyn Fn(u32) -> u32) -> Option<u64> {
        let (unit, base) = table(region);
        let spacing = spacing(unit) as u32;
        config.has_step().then(|| ticks::next_end(config, base, &|at| word(spacing * at)))?
    }
}

impl Methods for Exact {
    fn before_turn(&self, call: &mut Call<'_, '_>) {
        if call.method != "expire" {
            let (_, base) = table(call.region());
            let buckets = (size(call.config) as u32).next_power_of_two();
            bucket(call.lower, call.args[0], base, buckets);
        }
    }

    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "expire" => Ok(Some(expire(call))),
            "lookup" | "touch" | "insert" | "update" | "accumulate" | "remove" | "age"
            | "compare_swap" | "keep" | "claim" => Ok(access(call)),
            _ => Err(call.unsupported()),
        }
    }
}

/// Returns the words of memory for each word of a table. Tables are spaced.
pub fn spacing(unit: Unit) -> u64 {
    if unit == Unit::Sdram { 2 } else { 1 }
}

/// Returns the memory that a table of `words` words needs.
pub fn wanted(words: u64) -> Wanted {
    let words = [Unit::Sram, Unit::Sdram].map(|unit| (unit, spacing(unit) * words));
    Wanted { words: words.to_vec(), grows: false }
}

/// Returns the words of a table as they are in a memory.
pub fn spaced(unit: Unit, words: Vec<u32>) -> Vec<u32> {
    match unit {
        Unit::Sdram => words.into_iter().flat_map(|word| [word, 0]).collect(),
        _ => words,
    }
}

/// Returns the memory of a table, and the first word of its header, or quad word of SDRAM.
pub fn table(region: Region) -> (Unit, u32) {
    (region.unit, region.first / spacing(region.unit) as u32)
}

/// Finds the entry of a key, and changes it.
fn access(call: &mut Call<'_, '_>) -> Option<Words> {
    let (unit, base) = table(call.region());
    let Call { lower, op, config, method, args, .. } = call;
    let (op, config, method, args) = (*op, *config, *method, *args);
    let width = value_width(config);
    let value_at = ENTRY + padded(lower.width(args[0]));
    let changes = !matches!(method, "lookup" | "age");
    find(lower, (unit, base), changes);
    if method == "claim" {
        lower.code.call(&Over::routine(unit));
    }
    let Find { entry, age: passed, .. } = Find::of(lower.code);
    let zero = Operand::Number(0);
    // A routine keeps no register, so what a branch uses is read from the frame before the branch.
    let given: Vec<Words> = args.iter().skip(1).map(|value| lower.again(*value)).collect();
    let state = lower.state;
    let code = &mut *lower.code;
    let [found, swapped] = [(); 2].map(|()| code.register());
    let done = code.label();
    if method == "age" {
        // An expired entry has an age, but does not count as found.
        let known = [code.copy(zero), code.copy(zero)];
        code.set(found, zero);
        branch_zero(code, entry, done);
        known.iter().zip(passed).for_each(|(known, word)| code.set(*known, word.into()));
        code.set(found, Operand::Number(1));
        code.place(done);
        let parts = [(vec![found.into()], 1), (words::of(&known), 64)];
        return Some(words::concat(code, &parts));
    }
    let value = words::registers(code, width);
    if matches!(method, "insert" | "accumulate") {
        let reply = insert(lower, unit, config, method, &value, (&given[0], value_at));
        return answer(lower, op, reply);
    }
    branch_zero(code, entry, done);
    match method {
        "update" => {
            write(code, unit, entry, value_at, &given[0]);
            code.call(&Touch::routine(unit));
        }
        "keep" => {
            set_duration(code, unit, entry, &given[0]);
            code.call(&Touch::routine(unit));
        }
        "compare_swap" => {
            let count = value.len();
            let kept = [LATER, LATER + count as u32].map(Operand::Number);
            for (at, words) in kept.iter().zip(&given) {
                state.store(code, *at, words);
            }
            code.call(&Touch::routine(unit));
            let expected = words::of(&state.load(code, kept[0], count));
            for (to, word) in value.iter().zip(read(code, unit, entry, value_at, count as u32)) {
                code.set(*to, word.into());
            }
            let is_equal = words::equal(code, &words::of(&value), &expected);
            code.set(swapped, is_equal[0]);
            let stays = code.label();
            code.branch_clear(swapped, 0, stays);
            let new = words::of(&state.load(code, kept[1], count));
            write(code, unit, entry, value_at, &new);
            code.place(stays);
        }
        _ => {
            if method != "lookup" {
                let is_touch = method == "touch";
                code.call(&if is_touch { Touch::routine(unit) } else { Unlink::routine(unit) });
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
    code.set(swapped, zero);
    value.iter().for_each(|word| code.set(*word, zero));
    code.place(end);
    let parts = [(vec![found.into()], 1), (words::of(&value), width)];
    let reply = match method {
        "update" | "keep" => vec![found.into()],
        "compare_swap" => {
            let swapped = (vec![swapped.into()], 1);
            words::concat(code, &[parts[0].clone(), swapped, parts[1].clone()])
        }
        _ => words::concat(code, &parts),
    };
    answer(lower, op, reply)
}

/// Returns a reply in registers. A reply that is too wide for registers goes to the frame.
fn answer(lower: &mut Lower<'_>, op: &Op, reply: Words) -> Option<Words> {
    let width = op.results.first().map_or(0, |result| lower.width(*result));
    if !is_wide(width) {
        return Some(reply);
    }
    let slot = lower.slot(op)?;
    lower.store(slot, &reply);
    None
}

/// Finds the entry of the key in the arguments, whose bucket is known. The key stays there.
pub fn find(lower: &mut Lower<'_>, (unit, base): (Unit, u32), changes: bool) {
    let find = Find::of(lower.code);
    lower.code.set(find.table, Operand::Number(base));
    if changes {
        lower.code.call(&Advance::routine(unit));
    }
    lower.code.call(&Find::routine(unit));
}

/// Removes at most `most` entries that were touched longer ago than the limit. Returns the register
/// with their number.
fn sweep(lower: &mut Lower<'_>, unit: Unit, limit: &Words, most: u32) -> Register {
    let sweep = Sweep::of(lower.code);
    lower.code.set(sweep.most, Operand::Number(most));
    give(lower.code, sweep.limit, limit);
    lower.code.call(&Sweep::routine(unit));
    sweep.count
}

/// Returns the age in nanoseconds after which entries of a table without ticks expire, or 0.
pub fn age(config: &Config) -> u64 {
    if config.has_ticks() { 0 } else { config.param("age").low_u64() }
}

pub fn constant(number: u64) -> Words {
    vec![Operand::Number(number as u32), Operand::Number((number >> 32) as u32)]
}

/// Writes `expire`. Entries that have expired by their age are removed first and do not count.
fn expire(call: &mut Call<'_, '_>) -> Words {
    let (unit, base) = table(call.region());
    let age = age(call.config);
    let lower = &mut *call.lower;
    let find = Find::of(lower.code);
    lower.code.set(find.table, Operand::Number(base));
    lower.code.call(&Advance::routine(unit));
    if age != 0 {
        sweep(lower, unit, &constant(age), u32::MAX);
    }
    let older = lower.again(call.args[0]);
    let count = sweep(lower, unit, &older, u32::MAX);
    vec![lower.code.copy(count.into()).into()]
}

/// Writes `insert` or `accumulate`. The reply is whether it worked, whether the entry existed, and
/// the value.
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
    let width = value_width(config);
    let age = age(config);
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
    code.call(&Touch::routine(unit));
    for (to, word) in value.iter().zip(read(code, unit, entry, value_at, count)) {
        code.set(*to, word.into());
    }
    code.set(ok, one);
    code.set(existed, one);
    code.branch("br", end);
    code.place(missing);
    lower.store(LATER, given);
    let code = &mut *lower.code;
    code.call(&Enter::routine(unit));
    if age != 0 {
        let there = code.label();
        code.alu(Target::None, Operand::None, "B", entry.into());
        code.branch("br!=0", there);
        // One removal is enough. More would keep other threads waiting.
        sweep(lower, unit, &constant(age), 1);
        let code = &mut *lower.code;
        code.set(find.old, zero);
        code.call(&Enter::routine(unit));
        code.place(there);
    }
    branch_zero(lower.code, entry, full);
    if config.has_ticks() {
        let duration = match config.param("age").low_u64() {
            0 => NEVER,
            age => age,
        };
        set_duration(lower.code, unit, entry, &constant(duration));
    }
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

#[cfg(test)]
mod tests {
    use std::any::Any;

    use proptest::prelude::*;
    use wireloom_bits::Bits;
    use wireloom_offloads::kinds::exact::Exact as Golden;
    use wireloom_offloads::kinds::instantiate;
    use wireloom_offloads::{Entry, EntryKey, Instance};

    use super::super::tests::{Stored, call, config, round_trip, stored, value};
    use super::Exact;
    use crate::kind::KindOnMicroengines;

    /// Returns everything that packets can change. Entries of equal times are in the order of their
    /// keys.
    fn state(instance: &dyn Instance) -> impl PartialEq + std::fmt::Debug {
        let any: &dyn Any = instance;
        let mut state = any.downcast_ref::<Golden>().expect("a table").state();
        state.fixed.sort();
        let ageing = state.ageing.into_iter();
        let mut ageing: Vec<_> =
            ageing.map(|aged| (aged.touched_ns, aged.key, aged.value, aged.duration_ns)).collect();
        ageing.sort();
        (state.time_ns, state.fixed, ageing)
    }

    proptest! {
        #[test]
        fn entries_and_their_ages_come_back_from_every_memory(
            key_width in 1_u32..400,
            value_width in 1_u32..=128,
            age in prop::sample::select(vec![0_u64, 30]),
            tick in prop::sample::select(vec![0_u64, 7, 100]),
            fixed in prop::collection::vec(0_u64..20, 0..4),
            inserts in prop::collection::vec((0_u64..20, any::<u32>(), 0_u64..20), 0..30),
        ) {
            let params = [("size", 11), ("age", age), ("tick", tick)];
            let config = config("exact", Some(key_width), Some(value_width), &params);
            let mut instance = instantiate(&config).expect("a valid declaration");
            for seed in fixed {
                let key = EntryKey::Exact(value(key_width, seed));
                let entry = Entry { key, value: value(value_width, seed) };
                instance.load(entry).expect("there is room");
            }
            let mut now_ns = 1 << 40;
            for (seed, other, later) in inserts {
                now_ns += later;
                let args = [value(key_width, seed), value(value_width, other.into())];
                call(&config, instance.as_mut(), "insert", &args, now_ns, None);
                if tick != 0 && other % 2 == 0 {
                    let args = [value(key_width, seed), Bits::new(64, (other % 90).into())];
                    call(&config, instance.as_mut(), "keep", &args, now_ns, None);
                }
            }
            round_trip(&config, instance.as_mut(), |instance, fresh| {
                assert_eq!(state(fresh), state(instance));
            });
        }
    }

    /// The core removes what golden removes, and not before the time of the table has reached its
    /// end.
    #[test]
    fn entries_that_have_ended_stay_visible_until_the_table_changes() {
        let config = config("exact", Some(16), Some(8), &[("size", 4), ("age", 9), ("tick", 10)]);
        let mut instance = instantiate(&config).expect("a valid declaration");
        for (seed, duration, at) in [(1, 5, 3), (2, 25, 4), (3, u64::MAX, 4), (4, 0, 8)] {
            let [key, held] = [value(16, seed), value(8, seed)];
            call(&config, instance.as_mut(), "insert", &[key.clone(), held], at, None);
            call(
                &config,
                instance.as_mut(),
                "keep",
                &[key, Bits::new(64, duration.into())],
                at,
                None,
            );
        }
        for Stored { region, mut words } in stored(&config, instance.as_mut()) {
            let mut ages = |now_ns: u64, time_ns: Option<u64>| {
                Exact.pass_tick(&config, region, now_ns, &mut words);
                if let Some(time_ns) = time_ns {
                    let (unit, base) = super::table(region);
                    let at = super::spacing(unit) as u32 * (base + super::routines::TIME);
                    words[at as usize] = time_ns as u32;
                }
                let mut fresh = instantiate(&config).expect("a valid declaration");
                Exact.read_back(&config, fresh.as_mut(), region, &|at| words[at as usize]);
                fresh.rows().len()
            };
            assert_eq!(ages(9, None), 4);
            assert_eq!(ages(19, None), 4, "the table has changed at 8 for the last time");
            assert_eq!(ages(19, Some(12)), 2);
            assert_eq!(ages(31, None), 2);
            assert_eq!(ages(31, Some(31)), 1, "a time of all ones never ends");
        }
    }

    #[test]
    fn values_wider_than_128_bits_are_refused() {
        let config = config("exact", Some(32), Some(129), &[("size", 11)]);
        let mut instance = instantiate(&config).expect("a valid declaration");
        let refused = Exact.wanted(&config, instance.as_mut(), 1 << 20).err();
        assert_eq!(refused.as_deref(), Some("values of more than 128 bits are not supported"));
    }
}
