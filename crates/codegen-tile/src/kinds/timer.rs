//! `timer`: times at which a step runs, one for each key. They are the entries of a table without
//! values, with the routines of keyed.s.

use std::any::Any;
use std::sync::Arc;

use wireloom_ir::BinaryOp;
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::kinds::timer::{State, Timer as Times};
use wireloom_offloads::{Config, Instance};

use super::keyed::{self, Entry, KEY, Shape};
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use super::ticks::{ChipMemory, Ticks};
use crate::code::{NOTHING, Operand, ZERO};
use crate::frame;
use crate::lower::Lower;
use crate::memory::{Memory, value_at};
use crate::words::Words;

pub struct Timer;

impl KindOnTiles for Timer {
    fn name(&self) -> &'static str {
        "timer"
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        let any: &dyn Any = instance;
        let State { time_ns, mut set } =
            any.downcast_ref::<Times>().ok_or("it has no times")?.state();
        set.sort_by_key(|(_, set_ns, _)| *set_ns);
        let entries = set.iter().map(|(key, set_ns, duration_ns)| Entry {
            touched_ns: Some(*set_ns),
            key: keyed::words_of_width(key),
            value: Vec::new(),
            duration_ns: Some(*duration_ns),
        });
        let shape = Shape::of(config, 0);
        let base = shape.place(config, time_ns, &entries.collect::<Vec<_>>(), memory)?;
        let ticks = Ticks::of(config, base, shape.value(), memory)?.ok_or("it has no ticks")?;
        Ok(Arc::new(Table { base, ticks }))
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
    ticks: Ticks,
}

impl Placed for Table {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        let key = lower.get(call.args[0]);
        lower.store(frame::WORK, &key);
        Ok(Some(match call.method.name {
            "set" => {
                let given = lower.get(call.args[1]);
                self.set(lower, &given)
            }
            "cancel" => self.end(lower, false),
            "claim" => self.end(lower, true),
            "left" => self.left(lower),
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
        let Some(times) = any.downcast_mut::<Times>() else { return };
        let mut state = State { time_ns: keyed::time_ns(self.base, word), set: Vec::new() };
        for entry in keyed::by_age(self.base, word) {
            let key = value_at(entry + KEY, keyed::key_width(config), word);
            let set_ns = keyed::touched_ns(entry, word);
            state.set.push((key, set_ns, self.ticks.duration_ns(entry, word)));
        }
        // The table in memory has no more times than the size, and none in the future.
        let _ = times.set_state(&state);
    }

    fn pass_tick(&self, now_ns: u64, memory: &mut dyn ChipMemory) {
        self.ticks.pass(now_ns, memory);
    }

    fn next_due(&self, config: &Config, word: &mut dyn FnMut(u32) -> u32) -> Option<u64> {
        if config.has_step() { self.ticks.next_end(word) } else { None }
    }
}

impl Table {
    fn table(&self) -> Operand {
        Operand::Number(self.base)
    }

    /// Sets the time of a key. Returns whether it is set.
    fn set(&self, lower: &mut Lower<'_>, given: &[Operand]) -> Words {
        let found = lower.code.call("table_begin", &[self.table()], 2);
        let (there, end) = (lower.code.in_register(found[0]), found[1]);
        let is_set = lower.code.fresh(NOTHING);
        let (absent, done) = (lower.code.label(), lower.code.label());
        lower.code.branch(Do::Beq, there, ZERO, &absent);
        self.ticks.set_duration(&mut lower.code, there, given);
        lower.code.call("table_touch", &[self.table(), there.into()], 0);
        lower.code.copy(is_set, Operand::Number(1));
        lower.code.jump(&done);
        lower.code.place(&absent);
        let made = lower.code.call("table_enter", &[self.table(), end], 1)[0];
        lower.unless(made, &done);
        let made = lower.code.in_register(made);
        self.ticks.set_duration(&mut lower.code, made, given);
        lower.code.copy(is_set, Operand::Number(1));
        lower.code.place(&done);
        vec![is_set.into()]
    }

    /// Ends the time of a key, or only a time that is over. Returns whether it did.
    fn end(&self, lower: &mut Lower<'_>, only_over: bool) -> Words {
        let entry = lower.code.call("table_begin", &[self.table()], 1)[0];
        lower.or_zero(1, |lower, done| {
            lower.unless(entry, done);
            let entry = lower.code.in_register(entry);
            if only_over {
                let is_over = self.ticks.is_over(&mut lower.code, entry);
                lower.unless(is_over, done);
            }
            lower.code.call("table_remove", &[self.table(), entry.into()], 0);
            Some(vec![Operand::Number(1)])
        })
    }

    /// Returns whether a key has a time, and how long it is until its tick. The tick is the later
    /// one of the first that is not before the end, and of the first after the time was set.
    fn left(&self, lower: &mut Lower<'_>) -> Words {
        let tick_ns = self.ticks.tick_ns;
        let [tick, most, never] = [tick_ns, u64::MAX / tick_ns, u64::MAX].map(long);
        let entry = lower.code.call("table_age", &[self.table()], 1)[0];
        let words = lower.or_zero(2, |lower, done| {
            lower.unless(entry, done);
            let entry = lower.code.in_register(entry);
            let age = lower.load(frame::WORK, 2);
            let (touched, end) = self.ticks.end(&mut lower.code, entry);
            let now = lower.code.sum(&touched, &age, 64, NOTHING);
            let ends = lower.code.is_less(&end, &[never[0], never[1], NOTHING]);
            let quotient = lower.division(&end[..2], &tick, 64, BinaryOp::Udiv);
            let whole = lower.code.product(&quotient, &tick, 64);
            let is_exact = lower.code.is_equal(&whole, &end[..2]);
            let is_after = lower.code.is_zero(is_exact);
            let at_end = lower.code.sum(&quotient, &long(0), 64, is_after);
            let begun = lower.division(&touched, &tick, 64, BinaryOp::Udiv);
            let code = &mut lower.code;
            let next = code.sum(&begun, &long(0), 64, Operand::Number(1));
            let is_early = code.is_less(&at_end, &next);
            let pairs = next.iter().zip(&at_end);
            let ticks: Words =
                pairs.map(|(next, end)| code.choose(is_early, *next, *end)).collect();
            let is_beyond = code.is_less(&most, &ticks);
            let fits = code.is_zero(is_beyond);
            let comes = code.two(Do::And, ends, fits);
            let tick = code.product(&ticks, &tick, 64);
            let pairs = tick.iter().zip(&never);
            let tick: Words = pairs.map(|(tick, no)| code.choose(comes, *tick, *no)).collect();
            let left = code.difference(&tick, &now, 64);
            let is_past = code.is_less(&tick, &now);
            Some(left.iter().map(|word| code.choose(is_past, NOTHING, *word)).collect())
        });
        let is_found = lower.code.is_set(entry);
        lower.code.concat(&[(vec![is_found], 1), (words, 64)])
    }
}

fn long(number: u64) -> Words {
    [number as u32, (number >> 32) as u32].map(Operand::Number).to_vec()
}
