//! `timer`: times at which a step runs, one for each key. They are kept as a table without values,
//! with the layout and the routines of [`super::exact`].

use std::any::Any;

use wireloom_codegen::refused::Refused;
use wireloom_offloads::kinds::timer::{State, Timer as Times};
use wireloom_offloads::{Config, Instance};

use super::declared::size;
use super::exact::contents::{self, Entry};
use super::exact::routines::{Enter, Find, Over, TOUCHED, Touch, Unlink, duration, set_duration};
use super::exact::ticks;
use super::exact::{LATER, bucket, constant, find, spaced, spacing, table, wanted};
use super::hash;
use crate::calls::{Call, Methods};
use crate::code::Code;
use crate::kind::{HashUnit, KindOnMicroengines, Wanted};
use crate::lower::Lower;
use crate::memory::{branch_zero, read};
use crate::operand::{Operand, Register, Target};
use crate::routines::{Divide, Multiply, both, give};
use crate::unit::{Region, Unit};
use crate::words::{self, Words};

pub struct Timer;

impl KindOnMicroengines for Timer {
    fn name(&self) -> &'static str {
        "timer"
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
        let any: &dyn Any = instance;
        let State { time_ns, set } = any.downcast_ref::<Times>().ok_or("it has no times")?.state();
        let entry = |(key, set_ns, duration_ns)| Entry {
            key,
            value: None,
            touched_ns: Some(set_ns),
            duration_ns: Some(duration_ns),
        };
        let entries = set.iter().map(|(key, set_ns, duration)| entry((key, *set_ns, *duration)));
        let words = contents::table_of(config, time_ns, entries.collect(), base, multiplier);
        Ok(spaced(unit, words))
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        word: &dyn Fn(u32) -> u32,
    ) {
        let any: &mut dyn Any = instance;
        let Some(times) = any.downcast_mut::<Times>() else { return };
        let (unit, base) = table(region);
        let spacing = spacing(unit) as u32;
        let (time_ns, entries) = contents::read(config, base, &|at| word(spacing * at));
        let set = entries.into_iter();
        let set = set.map(|entry| (entry.key, entry.touched_ns, entry.duration_ns.unwrap_or(0)));
        // The chip sets no more times than the declaration allows, and none in the future.
        let _ = times.set_state(&State { time_ns, set: set.collect() });
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

impl Methods for Timer {
    fn before_turn(&self, call: &mut Call<'_, '_>) {
        let (_, base) = table(call.region());
        let buckets = (size(call.config) as u32).next_power_of_two();
        bucket(call.lower, call.args[0], base, buckets);
    }

    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        let place = table(call.region());
        match call.method {
            "set" => Ok(Some(set(call, place))),
            "cancel" | "claim" => Ok(Some(end(call, place))),
            "left" => Ok(Some(left(call, place))),
            _ => Err(call.unsupported()),
        }
    }
}

/// Sets the time of a key. Returns whether it is set.
fn set(call: &mut Call<'_, '_>, place: (Unit, u32)) -> Words {
    let unit = place.0;
    let Call { lower, args, .. } = call;
    find(lower, place, true);
    let Find { entry, .. } = Find::of(lower.code);
    let given = lower.again(args[1]);
    let state = lower.state;
    let is_set = lower.code.register();
    let [missing, full, end] = [(); 3].map(|()| lower.code.label());
    branch_zero(lower.code, entry, missing);
    set_duration(lower.code, unit, entry, &given);
    lower.code.call(&Touch::routine(unit));
    lower.code.set(is_set, Operand::Number(1));
    lower.code.branch("br", end);
    lower.code.place(missing);
    lower.store(LATER, &given);
    let code = &mut *lower.code;
    code.call(&Enter::routine(unit));
    branch_zero(code, entry, full);
    let given = state.load(code, Operand::Number(LATER), 2);
    set_duration(code, unit, entry, &words::of(&given));
    code.set(is_set, Operand::Number(1));
    code.branch("br", end);
    code.place(full);
    code.set(is_set, Operand::Number(0));
    code.place(end);
    vec![is_set.into()]
}

/// Ends the time of a key, for `claim` only if it is over. Returns whether it did.
fn end(call: &mut Call<'_, '_>, place: (Unit, u32)) -> Words {
    let unit = place.0;
    find(call.lower, place, true);
    let code = &mut *call.lower.code;
    if call.method == "claim" {
        code.call(&Over::routine(unit));
    }
    let Find { entry, .. } = Find::of(code);
    let has_ended = code.register();
    let [none, end] = [(); 2].map(|()| code.label());
    branch_zero(code, entry, none);
    code.call(&Unlink::routine(unit));
    code.set(has_ended, Operand::Number(1));
    code.branch("br", end);
    code.place(none);
    code.set(has_ended, Operand::Number(0));
    code.place(end);
    vec![has_ended.into()]
}

/// The words of the frame with the time at which the timer was set, with the time of the call, and
/// with a number of ticks.
const SET: u32 = LATER;
const NOW: u32 = LATER + 2;
const TICKS: u32 = LATER + 4;

/// Returns whether a key has a time, and how long it is until its tick. The tick is the later one
/// of the first that is not before the end, and of the first after the time was set.
fn left(call: &mut Call<'_, '_>, place: (Unit, u32)) -> Words {
    let unit = place.0;
    let tick = call.config.param("tick").low_u64();
    let lower: &mut Lower<'_> = call.lower;
    find(lower, place, false);
    let state = lower.state;
    let code = &mut *lower.code;
    let number = Operand::Number;
    let Find { entry, age, .. } = Find::of(code);
    let [found, end_0, end_1, left_0, left_1] = [(); 5].map(|()| code.register());
    let (end, left) = ([end_0, end_1], [left_0, left_1]);
    let [none, never, known, exact, later, there, done] = [(); 7].map(|()| code.label());
    branch_zero(code, entry, none);
    let touched = read(code, unit, entry, TOUCHED, 2);
    let duration = duration(code, unit, entry);
    let now = words::sum(code, "+", &words::of(&touched), &both(age).to_vec(), 64);
    state.store(code, number(SET), &[words::of(&touched), now].concat());
    code.chain(&end.map(Target::from), "+", "+carry", &words::of(&touched), &words::of(&duration));
    code.branch("br=cout", never);
    // An end at the last nanosecond never comes.
    let all = code.register();
    code.alu(all, end[0].into(), "AND", end[1].into());
    code.alu(Target::None, all.into(), "+", number(1));
    code.branch("br=0", never);
    let rest = divide(code, &words::of(&end), tick);
    let Divide { a: ticks, .. } = Divide::of(code);
    code.alu(Target::None, rest[0].into(), "OR", rest[1].into());
    code.branch("br=0", exact);
    add_one(code, ticks);
    code.place(exact);
    state.store(code, number(TICKS), &both(ticks));
    let touched = state.load(code, number(SET), 2);
    divide(code, &words::of(&touched), tick);
    add_one(code, ticks);
    let first = state.load(code, number(TICKS), 2);
    words::compare(code, &both(ticks).to_vec(), &words::of(&first));
    code.branch("br=cout", later);
    ticks.iter().zip(&first).for_each(|(to, word)| code.set(*to, (*word).into()));
    code.place(later);
    words::compare(code, &constant(u64::MAX / tick), &both(ticks).to_vec());
    code.branch("br!=cout", never);
    let Multiply { a, b, product } = Multiply::of(code);
    give(code, a, &both(ticks).to_vec());
    give(code, b, &constant(tick));
    code.call(&Multiply::ROUTINE);
    code.branch("br", known);
    code.place(never);
    product.iter().for_each(|word| code.set(*word, number(u32::MAX)));
    code.place(known);
    let now = state.load(code, number(NOW), 2);
    code.chain(&left.map(Target::from), "-", "-carry", &both(product), &words::of(&now));
    code.branch("br=cout", there);
    left.iter().for_each(|word| code.set(*word, number(0)));
    code.place(there);
    code.set(found, number(1));
    code.branch("br", done);
    code.place(none);
    code.set(found, number(0));
    left.iter().for_each(|word| code.set(*word, number(0)));
    code.place(done);
    words::concat(code, &[(vec![found.into()], 1), (words::of(&left), 64)])
}

/// Divides by a constant. The quotient is in the registers of [`Divide`]. Returns the remainder.
fn divide(code: &mut Code, dividend: &Words, by: u64) -> [Register; 2] {
    let divide = Divide::of(code);
    give(code, divide.a, dividend);
    give(code, divide.b, &constant(by));
    code.set(divide.bits, Operand::Number(64));
    code.call(&Divide::ROUTINE);
    divide.rest
}

fn add_one(code: &mut Code, number: [Register; 2]) {
    let one = [Operand::Number(1), Operand::Number(0)];
    code.chain(&number.map(Target::from), "+", "+carry", &both(number), &one);
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use proptest::prelude::*;
    use wireloom_bits::Bits;
    use wireloom_offloads::Instance;
    use wireloom_offloads::kinds::instantiate;
    use wireloom_offloads::kinds::timer::{State, Timer as Golden};

    use super::super::tests::{Stored, call, config, round_trip, stored, value};
    use super::Timer;
    use crate::kind::KindOnMicroengines;

    fn state(instance: &dyn Instance) -> State {
        let any: &dyn Any = instance;
        any.downcast_ref::<Golden>().expect("timers").state()
    }

    proptest! {
        #[test]
        fn times_come_back_from_every_memory(
            key_width in 1_u32..400,
            calls in prop::collection::vec((0_u64..20, any::<u32>(), 0_u64..20), 0..30),
        ) {
            let params = [("size", 11), ("tick", 10), ("step", 1)];
            let config = config("timer", Some(key_width), None, &params);
            let mut instance = instantiate(&config).expect("a valid declaration");
            let mut now_ns = 1 << 40;
            for (seed, duration, later) in calls {
                now_ns += later;
                let args = [value(key_width, seed), Bits::new(64, duration.into())];
                call(&config, instance.as_mut(), "set", &args, now_ns, None);
            }
            let first = state(instance.as_ref()).set.into_iter();
            let first = first.map(|(_, set, duration)| (set + duration).max(set + 1)).min();
            let first = first.map(|end| end.div_ceil(10) * 10);
            for Stored { region, words } in stored(&config, instance.as_mut()) {
                let next = Timer.next_due(&config, region, &|at| words[at as usize]);
                prop_assert_eq!(next, first);
            }
            round_trip(&config, instance.as_mut(), |instance, fresh| {
                assert_eq!(state(fresh), state(instance));
            });
        }
    }
}
