//! `hash-table`: keys and values in block RAM, with chains of entries.
//!
//! [`super::timed_table`] has the part for entries that end at ticks.

use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::sv::short::{clocked, int};
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_offloads::kinds::exact::{Aged, Exact, State};
use wireloom_offloads::{Config, EntryKey, Instance};

use super::entries::{refused, typed, typed_mut};
use super::interface::{DueKeys, Realisation};
use super::timed_table;
use super::wiring::{Ends, cuts, methods, on_bus};
use crate::control::bus::{ControlBus, ControlError};
use crate::processor::contents::{Contents, Seed, leaves_of, packed};
use crate::processor::wires::bits;
use crate::processor::{Plan, Service};

/// Number of entries that are read together.
pub(super) const READ_TOGETHER: usize = 64;
/// Bits of a timestamp.
pub(super) const TIME_BITS: u32 = 64;
/// The address at which the seed of the hash is written.
pub(super) const SEED: u32 = 1 << 30;
/// The address bits that access ages: a read returns the time at which the entry was last touched,
/// and a write stores the entry as if packets had touched it at the table's present time.
pub(super) const AGES: u32 = 2 << 30;
/// The address of the table's time.
pub(super) const TIME: u32 = 3 << 30;
/// Cycles in which `wl_exact_table` removes an expired entry: 3, and 2 for each entry of its chain
/// up to it, rarely more than six entries.
const EXPIRY_CYCLES: usize = 16;
/// One-bit flags above the key of an entry that is read from `wl_exact_table`.
pub(super) const FLAGS: [&str; 3] = ["used", "live", "static"];

pub(super) fn chains(service: &Service) -> usize {
    service.elements().next_power_of_two().max(2)
}

/// Returns the bits of the seed of the table's hash.
pub(super) fn seed_bits(service: &Service) -> u32 {
    service.key_bits() as u32 + bits(chains(service)) - 1
}

/// A hash table of keys and values.
pub(super) struct HashTable;

impl Realisation for HashTable {
    fn name(&self) -> &'static str {
        "hash-table"
    }

    fn about(&self) -> &'static str {
        "chains of keys in block RAM"
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        matches!(kind, "exact" | "timer")
    }

    fn varies(&self) -> Option<&'static str> {
        Some("chains of keys are of different lengths")
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        if service.config.has_ticks() {
            return timed_table::items(plan, service, tag_bits, target);
        }
        let table = clocked("wl_exact_table", format!("i_{}", service.name))
            .parameter("KeyBits", int(service.key_bits()))
            .parameter("ValueBits", int(service.value_bits()))
            .parameter("Size", int(service.elements()))
            .parameter("MethodCount", int(service.port.methods.len()))
            .parameter("Methods", methods(service, 4))
            .parameter("ArgumentBits", Expr::int(u64::from(service.port.argument_bits)))
            .parameter("ReplyBits", int(service.reply_bits))
            .parameter("HasTime", Expr::number(1, u64::from(service.port.arrival)))
            .parameter("Age", Expr::Number(service.config.param("age").resize(64)))
            .parameter("Cuts", Expr::Number(cuts(service)))
            .parameter("Chains", int(chains(service)));
        let table = table
            .parameter("TagBits", int(tag_bits))
            .parameter("CtlTarget", Expr::number(8, target as u64));
        on_bus(plan, service, Ends::behind_tree(service).whole(table))
    }

    fn control_bits(&self, service: &Service) -> usize {
        if service.config.has_ticks() {
            return timed_table::control_bits(service);
        }
        let entry = FLAGS.len() + service.key_bits() + service.value_bits();
        let entry = entry.max(seed_bits(service) as usize);
        if service.port.arrival { entry.max(TIME_BITS as usize) } else { entry }
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        if service.config.has_ticks() {
            return vec![(service.offload.clone(), timed_table::contents(service))];
        }
        let config = &service.config;
        let flag = |name: &str| (name.to_owned(), 1);
        let entry =
            [leaves_of("key", config.key.as_ref()), leaves_of("value", config.value.as_ref())]
                .concat();
        let written = packed([flag("remove")].into_iter().chain(entry.clone()));
        let read = packed(FLAGS.map(flag).into_iter().chain(entry));
        let address = "to be read: number of an entry; to be written: any, the key says which; \
                       bits 31 and 30 select the seed and ages (wl_exact_table)";
        let seed = Seed { address: SEED, address_bits: 0, data_bits: seed_bits(service) };
        let contents = Contents::new("entries", address, service.elements() as u64, written)
            .reading(read)
            .seeded(seed);
        vec![(service.offload.clone(), contents)]
    }

    fn after_reset(&self, service: &Service) -> Option<(&'static str, usize)> {
        Some(("empty, with the standard seed", chains(service)))
    }

    // All entries may expire in one operation.
    fn longest_pause(&self, service: &Service) -> usize {
        if service.config.has_ticks() {
            return chains(service).max(timed_table::longest_pause(service));
        }
        let expiring = if service.port.arrival { EXPIRY_CYCLES * service.elements() } else { 0 };
        chains(service).max(expiring)
    }

    fn is_changed(&self, _service: &Service) -> bool {
        true
    }

    fn entry(
        &self,
        _path: &str,
        config: &Config,
        key: &EntryKey,
        value: Option<&Bits>,
    ) -> Result<(u32, Bits), String> {
        let EntryKey::Exact(key) = key else { return Err(refused(config)) };
        if config.has_ticks() {
            return Ok((0, timed_table::entry(config, key, value)));
        }
        let width = config.value.as_ref().map_or(0, |layout| layout.width());
        let removes = Bits::bool(value.is_none());
        let value = value.cloned().unwrap_or_else(|| Bits::zero(width));
        Ok((0, removes.concat(key).concat(&value)))
    }

    /// Removes entries, then inserts those that age in the order of their times.
    fn restore(
        &self,
        service: &Service,
        old: &dyn Instance,
        new: &dyn Instance,
    ) -> Result<Vec<(u32, Bits)>, String> {
        if service.config.has_ticks() {
            return Ok(timed_table::restore(service, old, new));
        }
        let (old, new) = (typed::<Exact>(old).state(), typed::<Exact>(new).state());
        let (is_old, is_new): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (old.fixed.iter().cloned().collect(), new.fixed.iter().cloned().collect());
        let write =
            |remove: bool, key: &Bits, value: &Bits| Bits::bool(remove).concat(key).concat(value);
        let gone = old.fixed.iter().filter(|(key, _)| !is_new.contains_key(key));
        let gone = gone.map(|(key, value)| (key, value));
        let aged = old.ageing.iter().map(|aged| (&aged.key, &aged.value));
        let mut writes: Vec<(u32, Bits)> =
            gone.chain(aged).map(|(key, value)| (0, write(true, key, value))).collect();
        let changed = new.fixed.iter().filter(|(key, value)| is_old.get(key) != Some(value));
        writes.extend(changed.map(|(key, value)| (0, write(false, key, value))));
        let time = |ns: u64| (TIME, Bits::new(TIME_BITS, ns.into()));
        for aged in &new.ageing {
            writes.extend(service.port.arrival.then(|| time(aged.touched_ns)));
            writes.push((AGES, write(false, &aged.key, &aged.value)));
        }
        writes.extend(service.port.arrival.then(|| time(new.time_ns)));
        Ok(writes)
    }

    /// Reads entries by number, up to the first one that has never been used. A table without a
    /// time input has no ages: they are zero in the instance, and no method returns them.
    fn read_back(
        &self,
        service: &Service,
        targets: &[u8],
        _indices: &[u64],
        bus: &mut dyn ControlBus,
        instance: &mut dyn Instance,
    ) -> Result<(), ControlError> {
        let Some(&target) = targets.first() else { return Ok(()) };
        if service.config.has_ticks() {
            return timed_table::read_back(service, target, bus, instance);
        }
        let (key_bits, value_bits) = (service.key_bits() as u32, service.value_bits() as u32);
        let has_time = service.port.arrival;
        let time_of = |entry: &Bits| entry.slice(0, TIME_BITS).low_u64();
        let mut state = State::default();
        if has_time {
            state.time_ns = time_of(&bus.read_entries(target, &[TIME])?[0]);
        }
        let size = service.elements() as u32;
        'all: for first in (0..size).step_by(READ_TOGETHER) {
            let numbers: Vec<u32> = (first..size).take(READ_TOGETHER).collect();
            let times = match has_time {
                true => {
                    let addresses: Vec<u32> = numbers.iter().map(|number| AGES | number).collect();
                    bus.read_entries(target, &addresses)?.iter().map(time_of).collect()
                }
                false => vec![0; numbers.len()],
            };
            for (entry, touched_ns) in bus.read_entries(target, &numbers)?.iter().zip(times) {
                let flag =
                    |number: u32| entry.slice(value_bits + key_bits + number, 1).low_u64() == 1;
                let [is_static, is_live, is_used] = [0, 1, 2].map(flag);
                if !is_used {
                    break 'all;
                }
                let (key, value) = (entry.slice(value_bits, key_bits), entry.slice(0, value_bits));
                match (is_live, is_static) {
                    (false, _) => {}
                    (true, true) => state.fixed.push((key, value)),
                    (true, false) => {
                        state.ageing.push(Aged { key, value, touched_ns, duration_ns: None })
                    }
                }
            }
        }
        state.ageing.sort_by_key(|aged| aged.touched_ns);
        let set = typed_mut::<Exact>(instance).set_state(&state);
        set.map_err(|refused| ControlError::Refused(refused.0))
    }

    fn due(
        &self,
        service: &Service,
        targets: &[u8],
        by_ns: u64,
        bus: &mut dyn ControlBus,
    ) -> Result<DueKeys, ControlError> {
        match targets.first() {
            Some(&target) if service.config.has_step() => {
                Ok(timed_table::due(service, target, by_ns, bus)?)
            }
            _ => Ok(DueKeys::default()),
        }
    }
}
