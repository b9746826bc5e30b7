//! `bloom`: a Bloom filter in block RAM.

use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::OffloadPort;
use wireloom_codegen_hardware::sv::short::{clocked, int};
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_offloads::kinds::bloom::{WORD_BITS, positions};
use wireloom_offloads::{Config, EntryKey, Instance, Store, Update};

use super::entries::instance;
use super::entries::{load, values};
use super::interface::{Realisation, Updater};
use super::meter::ONE_REQUEST;
use super::wiring::{Ends, methods, on_bus};
use crate::control::bus::{ControlBus, ControlError};
use crate::processor::contents::{Contents, packed};
use crate::processor::memory_map::targets;
use crate::processor::{Plan, Service};
use crate::simulation::Operation;

/// The bit of an address at which a write replaces a word.
const REPLACE: u32 = 1 << 31;

/// A Bloom filter.
pub(super) struct Bloom;

impl Realisation for Bloom {
    fn name(&self) -> &'static str {
        "bloom"
    }

    fn about(&self) -> &'static str {
        "a Bloom filter in block RAM"
    }

    fn describe(&self, service: &Service) -> String {
        let config = &service.config;
        let [size, hashes] = ["size", "hashes"].map(|name| config.param(name).low_u64());
        format!("{} of {size} bits and {hashes} hashes: {}", config.kind, self.about())
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "bloom"
    }

    fn varies(&self) -> Option<&'static str> {
        Some(ONE_REQUEST)
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        let config = &service.config;
        let ends = Ends::behind_tree(service);
        let filter = clocked("wl_bloom", format!("i_{}", service.name))
            .parameter("KeyBits", int(service.key_bits()))
            .parameter("Size", int(service.elements()))
            .parameter("Hashes", int(config.param("hashes").low_u64() as usize))
            .parameter("MethodCount", int(service.port.methods.len()))
            .parameter("Methods", methods(service, 1))
            .parameter("TagBits", int(tag_bits))
            .parameter("CtlTarget", Expr::number(8, target as u64));
        // A program that only adds keys does not use replies.
        let filter =
            if service.reply_bits > 0 { ends.whole(filter) } else { ends.requests(filter) };
        on_bus(plan, service, filter)
    }

    fn control_bits(&self, _service: &Service) -> usize {
        WORD_BITS as usize
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        let word = packed([("bits".to_owned(), WORD_BITS)]);
        let contents = Contents::new(
            "bits; a write sets those that are one",
            "number of a word; with bit 31 set, a write replaces the word",
            words(service),
            word,
        );
        vec![(service.offload.clone(), contents)]
    }

    fn is_changed(&self, _service: &Service) -> bool {
        true
    }

    fn indices(&self, service: &Service) -> u64 {
        words(service)
    }

    /// Replaces the words that differ.
    fn restore(
        &self,
        service: &Service,
        old: &dyn Instance,
        new: &dyn Instance,
    ) -> Result<Vec<(u32, Bits)>, String> {
        let (old, new) = (values(old), values(new));
        let mut writes = Vec::new();
        for index in 0..words(service) {
            let word = |words: &BTreeMap<EntryKey, Bits>| {
                let word = words.get(&EntryKey::Index(index)).cloned();
                word.unwrap_or_else(|| Bits::zero(WORD_BITS))
            };
            let word_then = word(&new);
            if word(&old) != word_then {
                writes.push((REPLACE | index as u32, word_then));
            }
        }
        Ok(writes)
    }

    /// Combines the copies with a bitwise OR.
    fn read_back(
        &self,
        _service: &Service,
        targets: &[u8],
        indices: &[u64],
        bus: &mut dyn ControlBus,
        instance: &mut dyn Instance,
    ) -> Result<(), ControlError> {
        let addresses: Vec<u32> = indices.iter().map(|&index| index as u32).collect();
        let mut words = vec![Bits::zero(WORD_BITS); indices.len()];
        for &target in targets {
            for (word, entry) in words.iter_mut().zip(bus.read_entries(target, &addresses)?) {
                *word = word.or(&entry.resize(WORD_BITS));
            }
        }
        for (&index, word) in indices.iter().zip(words) {
            load(instance, EntryKey::Index(index), word)?;
        }
        Ok(())
    }

    fn updater(
        &self,
        _plan: &Plan,
        service: &Service,
        store: &Store,
    ) -> Result<Option<Box<dyn Updater>>, String> {
        Ok(instance(store, &service.offload).map(|(config, _)| Box::new(Keys(config.clone())) as _))
    }
}

/// An updater of a filter. Each added key sets its bits.
struct Keys(Config);

impl Updater for Keys {
    fn plan(&mut self, plan: &Plan, update: &Update) -> Result<Vec<Operation>, String> {
        let is_added = update.value.as_ref().is_some_and(|value| !value.is_zero());
        let (EntryKey::Exact(key), true) = (&update.key, is_added) else {
            return Err("a key cannot be taken out of a Bloom filter".to_owned());
        };
        let [size, hashes] = ["size", "hashes"].map(|name| self.0.param(name).low_u64());
        let mut operations = Vec::new();
        for position in positions(key, size, hashes as u32) {
            let (word, bit) = (position / u64::from(WORD_BITS), position % u64::from(WORD_BITS));
            operations.extend(targets(plan, &update.offload).into_iter().map(|target| {
                Operation::Write {
                    target,
                    address: word as u32,
                    value: Bits::new(WORD_BITS, 1 << bit),
                }
            }));
        }
        Ok(operations)
    }
}

/// Returns the number of words of a filter.
fn words(service: &Service) -> u64 {
    (service.elements() as u64).div_ceil(WORD_BITS.into())
}
