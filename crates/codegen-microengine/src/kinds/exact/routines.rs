//! Routines of tables from keys to values in SRAM or SDRAM. If any call changes a table, its calls
//! come in the order of packets.
//!
//! ```text
//! word  0     1..2  3..4  7       8       10                     10 + buckets
//!       | free | time | age | newest | oldest | first of each bucket | entries ...
//!
//! entry 0     1         2..3      4      5      6     7     7 + words of a key
//!       | next | is static | touched | older | newer | head | key | value
//! ```
//!
//! Words of SDRAM are quad words here. `first`, `next`, `older` and `newer` are addresses of
//! entries, and `head` is the address of `first` of the entry's bucket. `free` begins the list of
//! entries without a key. The list of a bucket ends with 0. The list by age is a ring through word
//! 3 of the header, as if that were an entry; a static entry or a free one is a ring of its own.
//!
//! A key has an even number of words; if needed, a 0 is added. Its hash modulo the number of
//! buckets is the bucket. Expired entries stay in their buckets until their key returns or an entry
//! is needed, and searches skip them until then.
//!
//! A table whose entries end at ticks has no age. The two words before each entry are its duration
//! in nanoseconds, and words 5 and 6 of the header are the time of the last tick. Between packets
//! the core removes entries that have ended, unless a step claims them ([`super::ticks`]).

use wireloom_bits::Bits;

use crate::code::{Code, Label};
use crate::frame::{ARGUMENTS, ARRIVAL};
use crate::memory::{branch_zero, read, read_at, write, write_at};
use crate::operand::{Operand, Register, Target};
use crate::routine::Routine;
use crate::state::State;
use crate::unit::Unit;
use crate::words::{self, halves};

/// The words of a table before its buckets.
pub const HEADER: u32 = 10;
/// The words of an entry before its key.
pub const ENTRY: u32 = 7;
/// The word of a header that acts as an entry in the list by age.
pub const RING: u32 = 3;

/// Words of a header, and words of an entry.
pub const TIME: u32 = 1;
pub const TICK: u32 = 5;
pub const STATIC: u32 = 1;
pub const TOUCHED: u32 = 2;
pub const OLDER: u32 = 4;
pub const NEWER: u32 = 5;
/// The word of an entry with the address of its bucket's first entry.
pub const HEAD: u32 = 6;
/// The words before an entry with its duration, in a table whose entries end at ticks.
pub const DURATION: u32 = 2;

/// Returns the number of words of a key of `width` bits in the arguments and in an entry.
pub fn padded(width: u32) -> u32 {
    (words::count(width) as u32).next_multiple_of(2)
}

/// Returns the words of a key in an entry.
pub fn key_words(key: &Bits) -> Vec<u32> {
    let mut all: Vec<u32> = halves(key).collect();
    all.resize(padded(key.width()) as usize, 0);
    all
}

/// Reads the duration of an entry, in a table whose entries end at ticks.
pub fn duration(code: &mut Code, unit: Unit, entry: Register) -> Vec<Register> {
    let at = code.register();
    code.alu(at, entry.into(), "-", Operand::Number(DURATION));
    read(code, unit, at, 0, DURATION)
}

/// Writes the duration of an entry, in a table whose entries end at ticks.
pub fn set_duration(code: &mut Code, unit: Unit, entry: Register, duration: &[Operand]) {
    let at = code.register();
    code.alu(at, entry.into(), "-", Operand::Number(DURATION));
    write(code, unit, at, 0, duration);
}

fn difference(code: &mut Code, a: &[Register], b: &[Register]) -> [Register; 2] {
    let result = [code.register(), code.register()];
    code.chain(&result.map(Target::from), "-", "-carry", &words::of(a), &words::of(b));
    result
}

/// Takes an entry out of the list by age.
fn leave(code: &mut Code, unit: Unit, entry: Register) {
    let near = read(code, unit, entry, OLDER, 2);
    leave_between(code, unit, &near);
}

/// Makes the entries before and after an entry neighbours in the list by age.
fn leave_between(code: &mut Code, unit: Unit, near: &[Register]) {
    write(code, unit, near[0], NEWER, &[near[1].into()]);
    write(code, unit, near[1], OLDER, &[near[0].into()]);
}

/// Makes an entry the newest of the list by age.
fn join(code: &mut Code, unit: Unit, table: Register, entry: Register) {
    let ring = code.register();
    code.alu(ring, table.into(), "+", Operand::Number(RING));
    let newest = read(code, unit, ring, OLDER, 1)[0];
    join_after(code, unit, ring, entry, newest);
}

/// Makes an entry the newest of the list by age. `newest` is the entry that was the newest.
fn join_after(code: &mut Code, unit: Unit, ring: Register, entry: Register, newest: Register) {
    write(code, unit, entry, OLDER, &[newest.into(), ring.into()]);
    write(code, unit, newest, NEWER, &[entry.into()]);
    write(code, unit, ring, OLDER, &[entry.into()]);
}

/// Takes a free entry. If there is none, sets `entry` to 0 and branches.
pub fn take_free(code: &mut Code, unit: Unit, table: Register, entry: Register, none: Label) {
    let free = read(code, unit, table, 0, 1)[0];
    code.set(entry, free.into());
    branch_zero(code, entry, none);
    let next = read(code, unit, entry, 0, 1)[0];
    write(code, unit, table, 0, &[next.into()]);
}

/// Adds an entry that is in no bucket to the free entries.
pub fn give_back(code: &mut Code, unit: Unit, table: Register, entry: Register) {
    let free = read(code, unit, table, 0, 1)[0];
    write(code, unit, entry, 0, &[free.into()]);
    write(code, unit, table, 0, &[entry.into()]);
}

/// Takes an entry out of the list by age and makes it a ring of its own.
pub fn alone(code: &mut Code, unit: Unit, entry: Register) {
    leave(code, unit, entry);
    write(code, unit, entry, OLDER, &[entry.into(), entry.into()]);
}

/// Writes the key in the arguments to an entry.
pub fn key_in(code: &mut Code, state: State, unit: Unit, entry: Register) {
    let number = Operand::Number;
    let key = code.label();
    let words = Find::of(code).words;
    let [at, place] = [(); 2].map(|()| code.register());
    code.set(at, number(0));
    code.place(key);
    code.set(place, number(ARGUMENTS));
    code.alu(place, place.into(), "+", at.into());
    let pair = state.load(code, place.into(), 2);
    code.alu(place, at.into(), "+", number(ENTRY));
    write_at(code, unit, entry, place.into(), &words::of(&pair));
    code.alu(at, at.into(), "+", number(2));
    code.alu(Target::None, at.into(), "-", words.into());
    code.branch("br!=0", key);
}

/// Makes an entry the newest of the entries that age.
pub fn begin(code: &mut Code, unit: Unit, table: Register, entry: Register) {
    let time = read(code, unit, table, TIME, 2);
    let zero = Operand::Number(0);
    write(code, unit, entry, STATIC, &[zero, time[0].into(), time[1].into()]);
    leave(code, unit, entry);
    join(code, unit, table, entry);
}

/// Finds the entry of the key in the arguments.
pub struct Find {
    /// The first word of the table.
    pub table: Register,
    /// Words of the key, an even number.
    pub words: Register,
    /// The address of the word with the first entry of the key's bucket.
    pub head: Register,
    /// The address of the word with the address of the entry.
    pub before: Register,
    /// The entry that was found, or 0.
    pub entry: Register,
    /// The entry of the key if it has expired, or 0.
    pub old: Register,
    /// Nanoseconds since the entry was touched.
    pub age: [Register; 2],
}

impl Find {
    /// Returns the routine for tables in this memory.
    pub fn routine(unit: Unit) -> Routine {
        Routine::in_memory(60, "Find", unit, |code, state, unit| {
            Self::of(code).write(code, state, unit);
        })
    }

    pub fn of(code: &mut Code) -> Self {
        Self {
            table: code.shared("find_table", true),
            words: code.shared("find_words", false),
            head: code.shared("find_head", true),
            before: code.shared("find_before", true),
            entry: code.shared("find_entry", false),
            old: code.shared("find_old", false),
            age: [code.shared("find_age_0", true), code.shared("find_age_1", true)],
        }
    }

    fn write(&self, code: &mut Code, state: State, unit: Unit) {
        let Self { table, words, head, before, entry, old, age } = *self;
        let number = Operand::Number;
        let [next, pair, differs, done, is_later, live] = [(); 6].map(|()| code.label());
        code.set(before, head.into());
        code.set(old, number(0));
        age.iter().for_each(|word| code.set(*word, number(0)));
        let [at, wanted, place] = [(); 3].map(|()| code.register());
        code.place(next);
        let first = read(code, unit, before, 0, 1)[0];
        code.set(entry, first.into());
        branch_zero(code, entry, done);
        code.set(at, number(0));
        code.place(pair);
        code.alu(place, at.into(), "+", number(ENTRY));
        code.set(wanted, number(ARGUMENTS));
        code.alu(wanted, wanted.into(), "+", at.into());
        let wanted = state.load(code, wanted.into(), 2);
        let own = read_at(code, unit, entry, place.into(), 2);
        for (own, wanted) in own.iter().zip(wanted) {
            code.alu(Target::None, (*own).into(), "-", wanted.into());
            code.branch("br!=0", differs);
        }
        code.alu(at, at.into(), "+", number(2));
        code.alu(Target::None, at.into(), "-", words.into());
        code.branch("br!=0", pair);
        // The time is the later of the table's time and the packet's arrival.
        let times = read(code, unit, table, TIME, 4);
        let stamp = read(code, unit, entry, STATIC, 3);
        // Static entries do not age.
        code.alu(Target::None, Operand::None, "B", stamp[0].into());
        code.branch("br!=0", done);
        let arrival = state.load(code, number(ARRIVAL), 2);
        words::compare(code, &words::of(&times[..2]), &words::of(&arrival));
        code.branch("br=cout", is_later);
        for (time, arrival) in times.iter().zip(&arrival) {
            code.set(*time, (*arrival).into());
        }
        code.place(is_later);
        let passed = difference(code, &times[..2], &stamp[1..]);
        for (age, passed) in age.iter().zip(passed) {
            code.set(*age, passed.into());
        }
        let limit = &times[2..];
        code.alu(Target::None, limit[0].into(), "OR", limit[1].into());
        code.branch("br=0", live);
        words::compare(code, &words::of(limit), &words::of(&age));
        code.branch("br=cout", live);
        code.set(old, entry.into());
        code.set(entry, number(0));
        code.place(live);
        code.branch("br", done);
        code.place(differs);
        code.set(before, entry.into());
        code.branch("br", next);
        code.place(done);
    }
}

/// Sets the time of the table to the arrival of the packet, if that is later.
pub struct Advance;

impl Advance {
    /// Returns the routine for tables in this memory.
    pub fn routine(unit: Unit) -> Routine {
        Routine::in_memory(61, "Advance", unit, Self::write)
    }

    fn write(code: &mut Code, state: State, unit: Unit) {
        let table = Find::of(code).table;
        let done = code.label();
        let arrival = state.load(code, Operand::Number(ARRIVAL), 2);
        let time = read(code, unit, table, TIME, 2);
        words::compare(code, &words::of(&time), &words::of(&arrival));
        code.branch("br=cout", done);
        write(code, unit, table, TIME, &words::of(&arrival));
        code.place(done);
    }
}

/// Touches the entry that was found, unless it is static.
pub struct Touch;

impl Touch {
    /// Returns the routine for tables in this memory.
    pub fn routine(unit: Unit) -> Routine {
        Routine::in_memory(62, "Touch", unit, |code, _, unit| Self::write(code, unit))
    }

    fn write(code: &mut Code, unit: Unit) {
        let Find { table, entry, .. } = Find::of(code);
        let done = code.label();
        let ring = code.register();
        code.alu(ring, table.into(), "+", Operand::Number(RING));
        let is_static = read(code, unit, entry, STATIC, 1)[0];
        let time = read(code, unit, table, TIME, 2);
        let near = read(code, unit, entry, OLDER, 2);
        let newest = read(code, unit, ring, OLDER, 1)[0];
        code.alu(Target::None, Operand::None, "B", is_static.into());
        code.branch("br!=0", done);
        write(code, unit, entry, TOUCHED, &words::of(&time));
        // The newest entry keeps its place in the list.
        code.alu(Target::None, newest.into(), "-", entry.into());
        code.branch("br=0", done);
        leave_between(code, unit, &near);
        join_after(code, unit, ring, entry, newest);
        code.place(done);
    }
}

/// Takes an entry out of its bucket. `before` is the address of the word with its address.
pub struct Unlink;

impl Unlink {
    /// Returns the routine for tables in this memory.
    pub fn routine(unit: Unit) -> Routine {
        Routine::in_memory(63, "Unlink", unit, |code, _, unit| Self::write(code, unit))
    }

    fn write(code: &mut Code, unit: Unit) {
        let Find { table, before, entry, .. } = Find::of(code);
        let next = read(code, unit, entry, 0, 1)[0];
        write(code, unit, before, 0, &[next.into()]);
        give_back(code, unit, table, entry);
        alone(code, unit, entry);
    }
}

/// Makes an entry for the key in the arguments, which was not found: the expired entry of the key,
/// or a free entry. Sets `entry` to 0 if there is none.
pub struct Enter;

impl Enter {
    /// Returns the routine for tables in this memory.
    pub fn routine(unit: Unit) -> Routine {
        Routine::in_memory(64, "Enter", unit, Self::write)
    }

    fn write(code: &mut Code, state: State, unit: Unit) {
        let Find { table, head, entry, old, .. } = Find::of(code);
        let [fresh, done] = [(); 2].map(|()| code.label());
        code.set(entry, old.into());
        code.alu(Target::None, Operand::None, "B", old.into());
        code.branch("br!=0", fresh);
        take_free(code, unit, table, entry, done);
        let first = read(code, unit, head, 0, 1)[0];
        write(code, unit, entry, 0, &[first.into()]);
        write(code, unit, head, 0, &[entry.into()]);
        write(code, unit, entry, HEAD, &[head.into()]);
        key_in(code, state, unit, entry);
        code.place(fresh);
        begin(code, unit, table, entry);
        code.place(done);
    }
}

/// Removes entries that were touched longer ago than a limit, the oldest first. Static entries
/// stay. It uses the registers of [`Find`], and keeps `head` and `table`.
pub struct Sweep {
    /// The limit in nanoseconds.
    pub limit: [Register; 2],
    /// The largest number of entries to remove.
    pub most: Register,
    /// The number of entries that were removed.
    pub count: Register,
}

impl Sweep {
    /// Returns the routine for tables in this memory.
    pub fn routine(unit: Unit) -> Routine {
        Routine::in_memory(65, "Sweep", unit, |code, _, unit| {
            Self::of(code).write(code, unit, |code| Unlink::write(code, unit));
        })
    }

    pub fn of(code: &mut Code) -> Self {
        Self {
            limit: [code.shared("sweep_0", false), code.shared("sweep_1", false)],
            most: code.shared("sweep_most", false),
            count: code.shared("sweep_count", true),
        }
    }

    /// Writes the routine. `remove` writes the removal of an entry, whose address is in the word at
    /// `before`.
    pub fn write(&self, code: &mut Code, unit: Unit, remove: impl FnOnce(&mut Code)) {
        let Self { limit, most, count } = *self;
        let Find { table, before, entry, .. } = Find::of(code);
        let number = Operand::Number;
        let [next, chain, found, all] = [(); 4].map(|()| code.label());
        code.set(count, number(0));
        code.place(next);
        code.alu(Target::None, count.into(), "-", most.into());
        code.branch("br=0", all);
        let ring = code.register();
        code.alu(ring, table.into(), "+", number(RING));
        let oldest = read(code, unit, ring, NEWER, 1)[0];
        code.set(entry, oldest.into());
        code.alu(Target::None, ring.into(), "-", entry.into());
        code.branch("br=0", all);
        let stamp = read(code, unit, entry, TOUCHED, 2);
        let time = read(code, unit, table, TIME, 2);
        let passed = difference(code, &time, &stamp);
        words::compare(code, &words::of(&limit), &words::of(&passed));
        code.branch("br=cout", all);
        let head = read(code, unit, entry, HEAD, 1)[0];
        code.set(before, head.into());
        code.place(chain);
        let at = read(code, unit, before, 0, 1)[0];
        code.alu(Target::None, at.into(), "-", entry.into());
        code.branch("br=0", found);
        code.set(before, at.into());
        code.branch("br", chain);
        code.place(found);
        remove(code);
        code.alu(count, count.into(), "+", number(1));
        code.branch("br", next);
        code.place(all);
    }
}

/// Sets the entry that was found to 0 unless its time is over, in a table whose entries end at
/// ticks. It is over if its end is not after the last tick and its last touch is before that tick.
pub struct Over;

impl Over {
    /// Returns the routine for tables in this memory.
    pub fn routine(unit: Unit) -> Routine {
        Routine::in_memory(66, "Over", unit, |code, _, unit| Self::write(code, unit))
    }

    fn write(code: &mut Code, unit: Unit) {
        let Find { table, entry, .. } = Find::of(code);
        let [stays, done] = [(); 2].map(|()| code.label());
        branch_zero(code, entry, done);
        let stamp = read(code, unit, entry, STATIC, 3);
        let duration = duration(code, unit, entry);
        let tick = words::of(&read(code, unit, table, TICK, 2));
        code.alu(Target::None, Operand::None, "B", stamp[0].into());
        code.branch("br!=0", stays);
        let touched = words::of(&stamp[1..]);
        let end = [code.register(), code.register()];
        code.chain(&end.map(Target::from), "+", "+carry", &touched, &words::of(&duration));
        code.branch("br=cout", stays);
        words::compare(code, &tick, &words::of(&end));
        code.branch("br!=cout", stays);
        words::compare(code, &touched, &tick);
        code.branch("br!=cout", done);
        code.place(stays);
        code.set(entry, Operand::Number(0));
        code.place(done);
    }
}
