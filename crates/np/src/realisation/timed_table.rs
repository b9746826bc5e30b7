//! Entries of a `hash-table` that end at ticks: `wl_timed_table`, for timers and for tables with a
//! tick.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::sv::short::{clocked, int};
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_offloads::kinds::exact::{Aged, Exact, State};
use wireloom_offloads::kinds::timer::{self, Timer};
use wireloom_offloads::{Config, Instance};

use super::entries::{typed, typed_mut};
use super::hash_table::{AGES, FLAGS, READ_TOGETHER, SEED, TIME, TIME_BITS, chains, seed_bits};
use super::interface::DueKeys;
use super::wiring::{Ends, cuts, on_bus};
use crate::control::bus::{ControlBus, ControlError};
use crate::processor::contents::{Contents, Seed, leaves_of, packed};
use crate::processor::{Plan, Service};
use crate::simulation::Fault;

/// The number of the first method of `timer` in `wl_timed_table`.
const TIMER_METHODS: u64 = 16;
/// The address of the time up to which entries are looked for.
const DUE: u32 = TIME | 1;
/// The address of the duration of the next entry that is restored.
const KEPT: u32 = TIME | 2;
/// The address of the write that empties the table.
const CLEAR: u32 = TIME | 3;
/// The address at which the first entry is read whose time is over; with [`NEXT`], the next one.
const FIND: u32 = 1 << 30;
const NEXT: u32 = 1;
/// The number of entries that are looked for together.
const FOUND_TOGETHER: usize = 16;
/// Cycles in which `wl_timed_table` tests an entry, and removes it: 3, then 6 and 2 for each entry
/// of its chain up to it, rarely more than six entries.
const REMOVAL_CYCLES: usize = 20;

fn is_timer(config: &Config) -> bool {
    config.value.is_none()
}

/// Returns the bits of a value: timers have one, which is zero.
fn value_bits(config: &Config) -> u32 {
    config.value.as_ref().map_or(1, |layout| layout.width())
}

/// Returns the bit that tells whether an entry was found.
fn found_bit(service: &Service) -> u32 {
    TIME_BITS.max(service.key_bits() as u32)
}

fn tick_ns(service: &Service) -> u64 {
    service.config.param("tick").low_u64()
}

pub(super) fn items(plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
    let config = &service.config;
    let base = if is_timer(config) { TIMER_METHODS } else { 0 };
    let methods = service.port.methods.iter().rev();
    let methods = methods.map(|method| Expr::number(5, base + method.method as u64)).collect();
    // A time that is set stays until the step claims it, and so does an entry with a step.
    let is_claimed = is_timer(config) || config.has_step();
    let age = if is_timer(config) { Bits::zero(TIME_BITS) } else { config.param("age").clone() };
    let cuts = if is_timer(config) { Bits::zero(1) } else { cuts(service) };
    let table = clocked("wl_timed_table", format!("i_{}", service.name))
        .parameter("KeyBits", int(service.key_bits()))
        .parameter("ValueBits", int(value_bits(config) as usize))
        .parameter("Size", int(service.elements()))
        .parameter("MethodCount", int(service.port.methods.len()))
        .parameter("Methods", Expr::Concat(methods))
        .parameter("ArgumentBits", Expr::int(u64::from(service.port.argument_bits)))
        .parameter("ReplyBits", int(service.reply_bits))
        .parameter("Tick", Expr::Number(config.param("tick").resize(TIME_BITS)))
        .parameter("Age", Expr::Number(age.resize(TIME_BITS)))
        .parameter("Claimed", Expr::number(1, u64::from(is_claimed)))
        .parameter("Cuts", Expr::Number(cuts))
        .parameter("Chains", int(chains(service)))
        .parameter("TagBits", int(tag_bits))
        .parameter("CtlTarget", Expr::number(8, target as u64));
    on_bus(plan, service, Ends::behind_tree(service).whole(table))
}

pub(super) fn control_bits(service: &Service) -> usize {
    let entry = FLAGS.len() + service.key_bits() + value_bits(&service.config) as usize;
    let found = found_bit(service) as usize + 1;
    entry.max(seed_bits(service) as usize).max(found).max(2 * TIME_BITS as usize)
}

pub(super) fn contents(service: &Service) -> Contents {
    let config = &service.config;
    let flag = |name: &str| (name.to_owned(), 1);
    let value = match is_timer(config) {
        true => vec![flag("zero")],
        false => leaves_of("value", config.value.as_ref()),
    };
    let entry = [leaves_of("key", config.key.as_ref()), value].concat();
    let written = packed([flag("remove")].into_iter().chain(entry.clone()));
    let read = packed(FLAGS.map(flag).into_iter().chain(entry));
    let address = "to be read: number of an entry; to be written: any, the key says which; bits 31 \
                   and 30 select the seed, entries whose times are over, and times \
                   (wl_timed_table)";
    let seed = Seed { address: SEED, address_bits: 0, data_bits: seed_bits(service) };
    Contents::new("entries", address, service.elements() as u64, written).reading(read).seeded(seed)
}

/// Returns the most cycles of an operation: all entries are tested and removed, or a time is
/// divided by the tick.
pub(super) fn longest_pause(service: &Service) -> usize {
    REMOVAL_CYCLES * (service.elements() + TIME_BITS as usize)
}

/// Returns the data of the write that inserts or removes an entry.
pub(super) fn entry(config: &Config, key: &Bits, value: Option<&Bits>) -> Bits {
    let removes = Bits::bool(value.is_none());
    let value = value.cloned().unwrap_or_else(|| Bits::zero(value_bits(config)));
    removes.concat(key).concat(&value)
}

/// The state of a table, or of timers as a table without values.
fn state(service: &Service, instance: &dyn Instance) -> State {
    if !is_timer(&service.config) {
        return typed::<Exact>(instance).state();
    }
    let timer::State { time_ns, set } = typed::<Timer>(instance).state();
    let aged = |(key, touched_ns, duration_ns)| Aged {
        key,
        value: Bits::zero(1),
        touched_ns,
        duration_ns: Some(duration_ns),
    };
    State { time_ns, fixed: Vec::new(), ageing: set.into_iter().map(aged).collect() }
}

/// Empties the table, then inserts the entries, each at the time at which it was touched.
pub(super) fn restore(
    service: &Service,
    old: &dyn Instance,
    new: &dyn Instance,
) -> Vec<(u32, Bits)> {
    let (old, new) = (state(service, old), state(service, new));
    if old == new {
        return Vec::new();
    }
    let time = |ns: u64| Bits::new(TIME_BITS, ns.into());
    let insert = |key: &Bits, value: &Bits| entry(&service.config, key, Some(value));
    let mut writes = vec![(CLEAR, time(0))];
    writes.extend(new.fixed.iter().map(|(key, value)| (0, insert(key, value))));
    for aged in &new.ageing {
        writes.push((TIME, time(aged.touched_ns)));
        writes.extend(aged.duration_ns.map(|duration_ns| (KEPT, time(duration_ns))));
        writes.push((AGES, insert(&aged.key, &aged.value)));
    }
    writes.push((TIME, time(new.time_ns)));
    writes
}

/// Reads entries by number, up to the first one that has never been used.
pub(super) fn read_back(
    service: &Service,
    target: u8,
    bus: &mut dyn ControlBus,
    instance: &mut dyn Instance,
) -> Result<(), ControlError> {
    let (key_bits, value_bits) = (service.key_bits() as u32, value_bits(&service.config));
    let time = |entry: &Bits, number: u32| entry.slice(number * TIME_BITS, TIME_BITS).low_u64();
    let time_ns = time(&bus.read_entries(target, &[TIME])?[0], 0);
    let mut state = State { time_ns, ..State::default() };
    let size = service.elements() as u32;
    'all: for first in (0..size).step_by(READ_TOGETHER) {
        let numbers: Vec<u32> = (first..size).take(READ_TOGETHER).collect();
        let ages: Vec<u32> = numbers.iter().map(|number| AGES | number).collect();
        let times = bus.read_entries(target, &ages)?;
        for (entry, times) in bus.read_entries(target, &numbers)?.iter().zip(&times) {
            let flag = |number: u32| entry.slice(value_bits + key_bits + number, 1).low_u64() == 1;
            let [is_static, is_live, is_used] = [0, 1, 2].map(flag);
            if !is_used {
                break 'all;
            }
            let (key, value) = (entry.slice(value_bits, key_bits), entry.slice(0, value_bits));
            if is_static && is_live {
                state.fixed.push((key, value));
            } else if is_live {
                let (touched_ns, duration_ns) = (time(times, 0), Some(time(times, 1)));
                state.ageing.push(Aged { key, value, touched_ns, duration_ns });
            }
        }
    }
    state.ageing.sort_by_key(|aged| aged.touched_ns);
    let set = match is_timer(&service.config) {
        true => {
            let set = state.ageing.into_iter();
            let set = set.map(|aged| (aged.key, aged.touched_ns, aged.duration_ns.unwrap_or(0)));
            typed_mut::<Timer>(instance)
                .set_state(&timer::State { time_ns: state.time_ns, set: set.collect() })
        }
        false => typed_mut::<Exact>(instance).set_state(&state),
    };
    set.map_err(|refused| ControlError::Refused(refused.0))
}

/// Returns the keys whose times are over at `by_ns`, and when the next one is due.
pub(super) fn due(
    service: &Service,
    target: u8,
    by_ns: u64,
    bus: &mut dyn ControlBus,
) -> Result<DueKeys, Fault> {
    let (tick_ns, found_bit) = (tick_ns(service), found_bit(service));
    let last_tick = by_ns - by_ns % tick_ns;
    bus.write_entry(target, DUE, &Bits::new(TIME_BITS, last_tick.into()))?;
    let mut due = DueKeys::default();
    let mut addresses = vec![FIND];
    loop {
        for entry in bus.read_entries(target, &addresses)? {
            if entry.slice(found_bit, 1).is_zero() {
                let end_ns = entry.slice(0, TIME_BITS).low_u64();
                let tick = (end_ns != u64::MAX).then(|| end_ns.div_ceil(tick_ns));
                due.next_ns = tick.and_then(|tick| tick.checked_mul(tick_ns));
                due.keys.sort_unstable();
                return Ok(due);
            }
            due.keys.push(entry.slice(0, service.key_bits() as u32));
        }
        addresses = vec![FIND | NEXT; FOUND_TOGETHER];
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use wireloom_offloads::instantiate;

    use super::*;
    use crate::description::NpSpec;
    use crate::processor::{self, Processor};

    const SOURCE: &str = "
    header Ask { u80 key; };
    engine ask() {
        offload later : timer<u12, size = 8, tick = 1000>;
        offload kept : exact<u80, u8, size = 8, age = 5000, tick = 300>;
        Ask ask @ 0;
        step take {
            later.set(packet.ingress[11:0], 5);
            kept.insert(ask.key, 1);
            finish;
        }
        step over on later(u12 key) { done; }
        step gone on kept(u80 key, u8 value) { done; }
    }
    ";

    fn processor() -> Processor {
        let checked =
            wireloom_lang::check_source("ask.loom", SOURCE, &wireloom_lang::Options::default());
        let mut program =
            wireloom_compile::lower(&checked.program.expect("a program without errors"));
        let machine = NpSpec::find("np-1-1-2").expect("a machine");
        wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
        processor::assemble(&program, &machine).unwrap_or_else(|error| panic!("{error}"))
    }

    fn service<'a>(processor: &'a Processor, name: &str) -> &'a Service {
        let mut services = processor.plan.services.iter();
        services.find(|service| service.offload == name).expect("the program calls it")
    }

    /// A table that answers reads in this order, and the last one again and again.
    struct Answers {
        entries: VecDeque<Bits>,
        read: Vec<u32>,
        written: Vec<(u32, Bits)>,
    }

    impl ControlBus for Answers {
        fn read_entries(&mut self, _target: u8, addresses: &[u32]) -> Result<Vec<Bits>, Fault> {
            self.read.extend(addresses);
            let answer = |_: &u32| match self.entries.len() {
                1 => self.entries[0].clone(),
                _ => self.entries.pop_front().expect("an answer"),
            };
            Ok(addresses.iter().map(answer).collect())
        }

        fn write_entry(&mut self, _target: u8, address: u32, value: &Bits) -> Result<(), Fault> {
            self.written.push((address, value.clone()));
            Ok(())
        }
    }

    /// Returns the keys of an offload that are due, if its table answers so, and the number of the
    /// tick up to which it looks.
    fn found(name: &str, by_ns: u64, entries: Vec<Bits>) -> (DueKeys, u64) {
        let processor = processor();
        let service = service(&processor, name);
        let mut bus = Answers { entries: entries.into(), read: Vec::new(), written: Vec::new() };
        let due = due(service, 1, by_ns, &mut bus).expect("it answers");
        assert_eq!((bus.read[0], bus.written[0].0), (1 << 30, 3 << 30 | 1));
        assert!(bus.read[1..].iter().all(|address| *address == 1 << 30 | 1));
        (due, bus.written[0].1.low_u64())
    }

    #[test]
    fn keys_come_in_their_order_and_the_next_one_is_due_at_a_tick() {
        let key = |key: u128| Bits::new(128, 1 << 64 | key);
        let none = |end: u64| Bits::new(128, end.into());
        let (due, until) = found("later", 4321, vec![key(9), key(3), none(6001)]);
        let keys = vec![Bits::new(12, 3), Bits::new(12, 9)];
        assert_eq!((due, until), (DueKeys { keys, next_ns: Some(7000) }, 4000));
        let (due, _) = found("later", 999, vec![none(u64::MAX)]);
        assert_eq!(due, DueKeys::default(), "no time is set");
        let (due, _) = found("later", 999, vec![none(u64::MAX - 1)]);
        assert_eq!(due.next_ns, None, "no tick comes after it");
    }

    #[test]
    fn a_long_key_has_its_flag_above_it() {
        let key = Bits::new(80, 0xabcd_0000_0000_0000_1234);
        let found_key = Bits::bool(true).concat(&key).resize(128);
        let (due, until) = found("kept", 1000, vec![found_key, Bits::new(128, 1201)]);
        assert_eq!((due, until), (DueKeys { keys: vec![key], next_ns: Some(1500) }, 900));
    }

    #[test]
    fn a_table_is_restored_entry_by_entry_after_it_is_emptied() {
        let processor = processor();
        let later = service(&processor, "later");
        let old = instantiate(&later.config).expect("timers");
        let mut new = instantiate(&later.config).expect("timers");
        let set = vec![(Bits::new(12, 7), 50, 600), (Bits::new(12, 2), 70, 0)];
        typed_mut::<Timer>(new.as_mut())
            .set_state(&timer::State { time_ns: 90, set })
            .expect("it fits");
        let time = |ns: u128| Bits::new(64, ns);
        let entry = |key: u128| Bits::new(14, key << 1);
        let expected = vec![
            (CLEAR, time(0)),
            (TIME, time(70)),
            (KEPT, time(0)),
            (AGES, entry(2)),
            (TIME, time(50)),
            (KEPT, time(600)),
            (AGES, entry(7)),
            (TIME, time(90)),
        ];
        assert_eq!(restore(later, old.as_ref(), new.as_ref()), expected);
        assert_eq!(restore(later, old.as_ref(), old.as_ref()), vec![]);
    }
}
