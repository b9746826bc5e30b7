//! `exact` searches a hash table in memory. The routines of keyed.s find, order and remove entries;
//! the code of a call reads and writes values.

use std::any::Any;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::kinds::exact::{self, Aged, State};
use wireloom_offloads::time::NEVER;
use wireloom_offloads::{Config, Instance};

use super::keyed::{self, Entry, KEY, Shape};
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use super::lanes;
use super::ticks::{ChipMemory, Ticks};
use crate::code::{Code, NOTHING, Operand, Register, ZERO};
use crate::frame;
use crate::lower::Lower;
use crate::memory::{Memory, value_at};
use crate::words::{self, Words};

pub struct Exact;

impl KindOnTiles for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        let any: &dyn Any = instance;
        let table = any.downcast_ref::<exact::Exact>().ok_or("it has no entries")?;
        let State { time_ns, fixed, ageing } = table.state();
        let entry = |key: &Bits, value: &Bits, touched_ns, duration_ns| Entry {
            touched_ns,
            key: keyed::words_of_width(key),
            value: keyed::words_of_width(value),
            duration_ns,
        };
        let static_duration = config.has_ticks().then_some(0);
        let fixed = fixed.iter().map(|(key, value)| entry(key, value, None, static_duration));
        let ageing = ageing
            .iter()
            .map(|aged| entry(&aged.key, &aged.value, Some(aged.touched_ns), aged.duration_ns));
        let entries: Vec<Entry> = fixed.chain(ageing).collect();
        let shape = shape(config, table);
        let base = shape.place(config, time_ns, &entries, memory)?;
        let (_, width) = table.widths();
        let duration = shape.value() + 4 * words::count(width) as u32;
        Ok(Arc::new(Table { base, ticks: Ticks::of(config, base, duration, memory)? }))
    }

    fn routines(&self) -> &'static [&'static str] {
        &[keyed::ROUTINES]
    }

    fn names(&self) -> &'static [(&'static str, u32)] {
        &keyed::NAMES
    }
}

#[derive(Debug)]
struct Table {
    base: u32,
    ticks: Option<Ticks>,
}

impl Placed for Table {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        let (table, args) = (Operand::Number(self.base), call.args);
        if call.method.name == "expire" {
            return Ok(Some(keyed::expire(lower, table, args[0])));
        }
        let given: Words = args.get(1).map(|value| lower.get(*value)).unwrap_or_default();
        let search = Search::of(lower, call, table, self.ticks);
        let has_ages = self.ticks.is_none() && !call.config.param("age").is_zero();
        Ok(Some(match call.method.name {
            "lookup" if !has_ages => search.value(lower, "table_find", None),
            "lookup" => search.value(lower, "table_age", None),
            "touch" => search.value(lower, "table_begin", Some("table_touch")),
            "remove" => search.value(lower, "table_begin", Some("table_remove")),
            "age" => search.age(lower),
            "update" => search.change(lower, |code, entry| search.store(code, entry, &given)),
            "keep" => {
                let ticks = self.ticks.ok_or(Unsupported)?;
                search.change(lower, |code, entry| ticks.set_duration(code, entry, &given))
            }
            "claim" => search.claim(lower, self.ticks.ok_or(Unsupported)?),
            "compare_swap" => {
                let value = lower.get(args[2]);
                search.compare_swap(lower, &given, &value)
            }
            "insert" => search.insert(lower, &given, |_, _, before| before),
            "accumulate" => search.insert(lower, &given, |lower, entry, before| {
                let after = lanes::add(lower, &before, &given, search.width, search.fields);
                search.store(&mut lower.code, entry, &after);
                after
            }),
            _ => return Err(Unsupported),
        }))
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        word: &mut dyn FnMut(u32) -> u32,
    ) {
        let any: &mut dyn Any = instance;
        let Some(table) = any.downcast_mut::<exact::Exact>() else { return };
        let shape = shape(config, table);
        let (key_width, value_width) = table.widths();
        let pair = |entry: u32, word: &mut dyn FnMut(u32) -> u32| {
            let key = value_at(entry + KEY, key_width, word);
            (key, value_at(entry + shape.value(), value_width, word))
        };
        let mut state = State { time_ns: keyed::time_ns(self.base, word), ..State::default() };
        for entry in shape.fixed(self.base, word) {
            state.fixed.push(pair(entry, word));
        }
        let mut ageing = keyed::by_age(self.base, word);
        ageing.extend(self.ticks.map_or_else(Vec::new, |ticks| ticks.ended(word)));
        for entry in ageing {
            let (key, value) = pair(entry, word);
            let touched_ns = keyed::touched_ns(entry, word);
            let duration_ns = self.ticks.map(|ticks| ticks.duration_ns(entry, word));
            state.ageing.push(Aged { key, value, touched_ns, duration_ns });
        }
        state.ageing.sort_by_key(|aged| aged.touched_ns);
        // The table in memory has no more entries than the size, in the order of their times.
        let _ = table.set_state(&state);
    }

    fn pass_tick(&self, now_ns: u64, memory: &mut dyn ChipMemory) {
        if let Some(ticks) = self.ticks {
            ticks.pass(now_ns, memory);
        }
    }

    fn next_due(&self, config: &Config, word: &mut dyn FnMut(u32) -> u32) -> Option<u64> {
        self.ticks.filter(|_| config.has_step())?.next_end(word)
    }
}

fn shape(config: &Config, table: &exact::Exact) -> Shape {
    let (_, value_width) = table.widths();
    Shape::of(config, 4 * words::count(value_width) as u32)
}

/// A search for a key, which is in the frame's work area.
struct Search<'a> {
    table: Operand,
    /// Bytes of an entry before its value.
    value: i32,
    /// The bits of a value.
    width: u32,
    fields: &'a [(String, u32)],
    /// The duration of a new entry, in a table whose entries end at ticks.
    duration: Option<(Ticks, u64)>,
}

impl<'a> Search<'a> {
    fn of(lower: &mut Lower<'_>, call: &Call<'a>, table: Operand, ticks: Option<Ticks>) -> Self {
        let fields = call.config.value.as_ref().map_or(&[][..], |value| &value.fields);
        let width = fields.iter().map(|(_, width)| width).sum();
        let key = lower.get(call.args[0]);
        lower.store(frame::WORK, &key);
        let age_ns = call.config.param("age").low_u64();
        let duration = ticks.map(|ticks| (ticks, if age_ns == 0 { NEVER } else { age_ns }));
        Self { table, value: KEY as i32 + 4 * key.len() as i32, width, fields, duration }
    }

    fn load(&self, code: &mut Code, entry: Register) -> Words {
        let word = |word| code.load(entry, self.value + 4 * word as i32).into();
        (0..words::count(self.width)).map(word).collect()
    }

    fn store(&self, code: &mut Code, entry: Register, words: &[Operand]) {
        for (place, word) in words.iter().enumerate() {
            code.store(*word, entry, self.value + 4 * place as i32);
        }
    }

    /// Returns whether there is an entry, and its value. The routine `find` searches the entry, and
    /// the routine `then` changes it.
    fn value(
        &self,
        lower: &mut Lower<'_>,
        find: &'static str,
        then: Option<&'static str>,
    ) -> Words {
        let entry = lower.code.call(find, &[self.table], 1)[0];
        let words = lower.or_zero(words::count(self.width), |lower, done| {
            lower.unless(entry, done);
            let entry = lower.code.in_register(entry);
            let words = self.load(&mut lower.code, entry);
            if let Some(then) = then {
                lower.code.call(then, &[self.table, entry.into()], 0);
            }
            Some(words)
        });
        let is_found = lower.code.is_set(entry);
        lower.code.concat(&[(vec![is_found], 1), (words, self.width)])
    }

    /// Returns whether there is an entry, and its age.
    fn age(&self, lower: &mut Lower<'_>) -> Words {
        let entry = lower.code.call("table_age", &[self.table], 1)[0];
        let words = lower.or_zero(2, |lower, done| {
            lower.unless(entry, done);
            Some(lower.load(frame::WORK, 2))
        });
        let is_found = lower.code.is_set(entry);
        lower.code.concat(&[(vec![is_found], 1), (words, 64)])
    }

    /// Removes the entry if its time is over. Returns whether it was, and the value.
    fn claim(&self, lower: &mut Lower<'_>, ticks: Ticks) -> Words {
        let entry = lower.code.call("table_begin", &[self.table], 1)[0];
        let mut words = lower.or_zero(1 + words::count(self.width), |lower, done| {
            lower.unless(entry, done);
            let entry = lower.code.in_register(entry);
            let is_over = ticks.is_over(&mut lower.code, entry);
            lower.unless(is_over, done);
            let words = self.load(&mut lower.code, entry);
            lower.code.call("table_remove", &[self.table, entry.into()], 0);
            Some([vec![Operand::Number(1)], words].concat())
        });
        let is_found = words.remove(0);
        lower.code.concat(&[(vec![is_found], 1), (words, self.width)])
    }

    /// Changes an entry and touches it. Returns whether there is one.
    fn change(&self, lower: &mut Lower<'_>, change: impl FnOnce(&mut Code, Register)) -> Words {
        let entry = lower.code.call("table_begin", &[self.table], 1)[0];
        lower.or_zero(0, |lower, done| {
            lower.unless(entry, done);
            let entry = lower.code.in_register(entry);
            change(&mut lower.code, entry);
            lower.code.call("table_touch", &[self.table, entry.into()], 0);
            None
        });
        vec![lower.code.is_set(entry)]
    }

    /// Writes the value of an entry that has the expected value. Returns whether there is an entry,
    /// whether its value was written, and the value before.
    fn compare_swap(
        &self,
        lower: &mut Lower<'_>,
        expected: &[Operand],
        given: &[Operand],
    ) -> Words {
        let entry = lower.code.call("table_begin", &[self.table], 1)[0];
        let mut words = lower.or_zero(1 + words::count(self.width), |lower, done| {
            lower.unless(entry, done);
            let entry = lower.code.in_register(entry);
            let before = self.load(&mut lower.code, entry);
            let is_expected = lower.code.is_equal(&before, expected);
            lower.code.call("table_touch", &[self.table, entry.into()], 0);
            let kept = lower.code.label();
            lower.unless(is_expected, &kept);
            self.store(&mut lower.code, entry, given);
            lower.code.place(&kept);
            Some([vec![is_expected], before].concat())
        });
        let swapped = words.remove(0);
        let is_found = lower.code.is_set(entry);
        lower.code.concat(&[(vec![is_found], 1), (vec![swapped], 1), (words, self.width)])
    }

    /// Creates an entry if there is none. For an existing entry, `change` returns the new value
    /// after storing it. Returns whether there is an entry now, whether there was one, and its
    /// value.
    fn insert(
        &self,
        lower: &mut Lower<'_>,
        given: &[Operand],
        change: impl FnOnce(&mut Lower<'_>, Register, Words) -> Words,
    ) -> Words {
        let found = lower.code.call("table_begin", &[self.table], 2);
        let (there, end) = (lower.code.in_register(found[0]), found[1]);
        let entry = lower.code.fresh(there);
        let words: Vec<_> =
            (0..words::count(self.width)).map(|_| lower.code.fresh(NOTHING)).collect();
        let (absent, done) = (lower.code.label(), lower.code.label());
        lower.code.branch(Do::Beq, there, ZERO, &absent);
        let before = self.load(&mut lower.code, there);
        let after = change(lower, there, before);
        copy(&mut lower.code, &words, &after);
        lower.code.call("table_touch", &[self.table, there.into()], 0);
        lower.code.jump(&done);
        lower.code.place(&absent);
        let made = lower.code.call("table_enter", &[self.table, end], 1)[0];
        lower.code.copy(entry, made);
        lower.unless(made, &done);
        self.store(&mut lower.code, entry, given);
        if let Some((ticks, ns)) = self.duration {
            let duration = [ns as u32, (ns >> 32) as u32].map(Operand::Number);
            ticks.set_duration(&mut lower.code, entry, &duration);
        }
        copy(&mut lower.code, &words, given);
        lower.code.place(&done);
        let words = words.into_iter().map(Operand::from).collect();
        let [is_there, existed] = [entry, there].map(|entry| vec![lower.code.is_set(entry.into())]);
        lower.code.concat(&[(is_there, 1), (existed, 1), (words, self.width)])
    }
}

fn copy(code: &mut Code, to: &[Register], words: &[Operand]) {
    to.iter().zip(words).for_each(|(to, word)| code.copy(*to, *word));
}
